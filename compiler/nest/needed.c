/* SPDX-License-Identifier: MIT */
/* needed.c: ranges of a nest of which a run needs only the first values (Buf.needed of the buffer that the nest stores to).
 *
 * needs: a nest   gives: the values of its ranges that a run needs   keeps: the nest   breaks: nothing */
#include "nest.h"

/* The size that says how many of the first values of range r hold needed elements in a run. If others hold some, too, its rule is
 * TGCRT_SIZE_RULES. The range may be the axis or a part of it, or also count what lies inside
 * of the axis. */
static tgcrt_size values_needed(IR *ir, const Need *is, Ref index, Ref r) {
  const Node *x = node(ir, r);
  const int64_t extent = range_extent(x);
  const tgcrt_size none = { .rule = TGCRT_SIZE_RULES };
  int64_t coef, all = is->extent, inner = is->inner;
  Ref rest;
  if (range_limit(x) || range_kind(x) != RK_LOOP || !ix_split(ir, index, r, &coef, &rest) || coef <= 0) return none;
  if (coef < inner && inner % coef == 0) all *= inner / coef, inner = coef;
  const Ref at = ix_mod(ir, ix_div(ir, index, inner), all);
  if (!ix_split(ir, at, r, &coef, &rest) || coef <= 0) return none;
  const int64_t first = node(ir, rest)->vmin, last = node(ir, rest)->vmax;
  if (extent % is->extent == 0 && first >= 0 && last < coef && coef * extent == all) return size_all(extent / is->extent, is->of);
  const int64_t entry = all / is->extent; /* values of the range for each entry */
  if (is->of < ir->symbols.n || coef != 1 || first != last || first < 0 || first % entry || extent % entry || first + extent > all)
    return none;
  const Extent part = { .of = is->of, .times = 1, .plus = -first / entry, .over = 1, .most = extent / entry };
  return size_all(entry, extent_make(ir, part));
}

/* r is a tile of a range that has become a loop over one tile at most: such a loop is not in the index. part: the range is not
 * the whole axis, so it may be a tile of any height */
static bool is_tile(const IR *ir, const Nest *n, Ref r, int symbol, bool part) {
  bool yes = false;
  for (int k = 0; k < n->n; k++) {
    const Node *x = node(ir, n->ranges[k]);
    if (!range_limit(x)) continue;
    const tgcrt_size *s = &ir->sizes.p[range_limit(x) - 1];
    if (ir->extents.p[s->of].symbol != symbol) continue;
    yes |= part && s->of >= ir->symbols.n;
    if (range_extent(x) != 1) continue;
    yes |= (s->rule == TGCRT_SIZE_TILES || s->rule == TGCRT_SIZE_WHOLE || s->rule == TGCRT_SIZE_FULL) &&
           s->tile == range_extent(node(ir, r));
    yes |= s->rule == TGCRT_SIZE_COVER && s->height == range_extent(node(ir, r));
  }
  return yes;
}

const Needed *nest_needed(const IR *ir, Ref nest) {
  static const Needed all = { 0 };
  const Node *store = node(ir, nest_body(node(ir, nest)));
  return ir->symbols.n && store->op == OP_STORE ? &ir->bufs.p[buffer_id(node(ir, store_buffer(store)))].needed : &all;
}

Ref sized_range(IR *ir, Ref nest, int condition, tgcrt_size *values) {
  const Nest n = nest_open(ir, nest);
  const Needed *needed = nest_needed(ir, nest);
  for (int k = 0; k < n.n && condition < needed->n; k++) {
    const Need *is = &needed->is[condition];
    *values = values_needed(ir, is, store_index(node(ir, n.store)), n.ranges[k]);
    const bool part = range_extent(node(ir, n.ranges[k])) % is->extent;
    if (values->rule == TGCRT_SIZE_ALL && !is_tile(ir, &n, n.ranges[k], ir->extents.p[is->of].symbol, part)) return n.ranges[k];
  }
  return 0;
}

bool range_ends_early(IR *ir, Ref nest, Ref r) {
  tgcrt_size values;
  bool yes = range_limit(node(ir, r)) > 0;
  for (int i = 0; i < nest_needed(ir, nest)->n && !yes; i++) yes = sized_range(ir, nest, i, &values) == r;
  return yes;
}

Ref index_at_most(IR *ir, Ref at, int64_t most) {
  if (node(ir, at)->vmax <= most) return at;
  return node_make(ir, OP_MIN, DT_I64, 1, 2, (Ref[]){ at, ix_const(ir, most) }, 0, NULL, 0, NULL);
}

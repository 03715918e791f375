/* SPDX-License-Identifier: MIT */
/* needed.c: ranges of a nest of which a run needs only the first values (Buf.needed of the buffer that the nest stores to).
 *
 * needs: a nest   gives: the values of its ranges that a run needs   keeps: the nest   breaks: nothing */
#include "nest.h"

/* times, if a run of size n stores needed elements for the first n * times values of range r, and no others; else 0. The range may
 * be the axis or a part of it, or also count what lies inside of the axis. */
static int64_t values_needed(IR *ir, Need c, Ref index, Ref r) {
  const Node *x = node(ir, r);
  const int64_t extent = range_extent(x), high = need_high(ir, c);
  int64_t coef, inner = c.inner, all = high;
  Ref rest;
  if (range_limit(x) || range_kind(x) != RK_LOOP || extent % high || !ix_split(ir, index, r, &coef, &rest) || coef <= 0) return 0;
  if (coef < inner && inner % coef == 0) all *= inner / coef, inner = coef;
  const Ref at = ix_mod(ir, ix_div(ir, index, inner), all);
  const bool counts = ix_split(ir, at, r, &coef, &rest) && coef > 0 && node(ir, rest)->vmin >= 0 && node(ir, rest)->vmax < coef &&
                      coef * extent == all;
  return counts ? extent / high : 0;
}

/* r is a tile of a range that has become a loop over one tile at most: such a loop is not in the index. */
static bool is_tile(const IR *ir, const Nest *n, Ref r, int symbol) {
  bool yes = false;
  for (int k = 0; k < n->n; k++) {
    const Node *x = node(ir, n->ranges[k]);
    if (!range_limit(x) || range_extent(x) != 1) continue;
    const tgcrt_size *s = &ir->sizes.p[range_limit(x) - 1];
    yes |= (s->rule == TGCRT_SIZE_TILES || s->rule == TGCRT_SIZE_WHOLE) && s->tile == range_extent(node(ir, r)) &&
           s->symbol == symbol;
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
    const Need c = needed->of[condition];
    *values = size_row(c.symbol, values_needed(ir, c, store_index(node(ir, n.store)), n.ranges[k]));
    if (values->times && !is_tile(ir, &n, n.ranges[k], c.symbol)) return n.ranges[k];
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

/* SPDX-License-Identifier: MIT */
/* needed.c: ranges of a nest of which a run needs only the first values (Buf.needed of the buffer that the nest stores to).
 *
 * needs: a nest   gives: the values of its ranges that a run needs   keeps: the nest   breaks: nothing */
#include "nest.h"

int64_t need_most(const IR *ir, const Need *is) {
  const int64_t most = extent_most(ir, is->of);
  return most < 1 ? 1 : most < is->extent ? most : is->extent;
}

/* The gate compares an entry with a size: it says that `entry` of the condition is below the run's. Several entries of the
 * gate may be one entry of the condition, as in joined axes. */
static bool compares_entry(IR *ir, const Node *gate, const tgcrt_size *s, Ref entry, const Need *is) {
  const int64_t most = extent_most(ir, s->of), together = most > is->extent && most % is->extent == 0 ? most / is->extent : 1;
  if (ix_mod(ir, ix_div(ir, lhs(gate), together), is->extent) != entry) return false;
  const Extent all = { .of = is->of, .times = together, .over = 1, .most = together * is->extent };
  return extent_at_most(ir, s->of, together > 1 ? extent_make(ir, all) : is->of);
}

bool gate_ends(IR *ir, Ref gate, Ref entry, const Need *is) {
  const Node *g = node(ir, gate);
  if (g->op == OP_AND) return gate_ends(ir, lhs(g), entry, is) || gate_ends(ir, rhs(g), entry, is);
  const Node *size = g->op == OP_CMPLT ? node(ir, rhs(g)) : NULL;
  const tgcrt_size *s = size && size->op == OP_SIZE ? &ir->sizes.p[size_id(size)] : NULL;
  return s && s->rule == TGCRT_SIZE_ALL && s->times == 1 && compares_entry(ir, g, s, entry, is);
}

/* A value is loaded from memory below the index, at an index that uses r. */
static bool index_from_memory(IR *ir, Ref index, Ref r) {
  Refs all = { 0 };
  bool any = false;
  ir_toposort(ir, &index, 1, &all);
  for (size_t i = 0; i < all.n && !any; i++) any = node(ir, all.p[i])->op == OP_LOAD && ix_uses(ir, all.p[i], r);
  VEC_FREE(&all);
  return any;
}

/* If the access is to memory of the caller, its gate says that entries along r are below the run's size. */
static bool stays_in_memory(IR *ir, const Node *x, Ref r) {
  const Buf *b = &ir->bufs.p[buffer_id(node(ir, access_buffer(x)))];
  bool stays = true;
  for (int k = 0; k < b->needed.n && buf_ends_early(b) && stays; k++) {
    const Need *is = &b->needed.is[k];
    const Ref entry = ix_mod(ir, ix_div(ir, access_index(x), is->inner), is->extent);
    stays = !ix_uses(ir, entry, r) || (access_gate(x) && gate_ends(ir, access_gate(x), entry, is));
  }
  return stays;
}

bool may_go_on(IR *ir, Ref root, Ref r) {
  Refs all = { 0 };
  bool may = true;
  ir_toposort(ir, &root, 1, &all);
  for (size_t i = 0; i < all.n && may; i++) {
    const Node *x = node(ir, all.p[i]);
    if (x->op == OP_REPEAT || (x->op == OP_RANGE && range_kind(x) == RK_SERIAL)) may = false;
    if (!is_access(x)) continue;
    const Ref gate = access_gate(x);
    const bool along = ix_uses(ir, access_index(x), r) || (gate && ix_uses(ir, gate, r));
    may = !along || (!index_from_memory(ir, access_index(x), r) && stays_in_memory(ir, x, r));
  }
  VEC_FREE(&all);
  return may;
}

/* The size that says how many of the first values of range r hold needed elements in a run. If others hold some, too, its rule is
 * TGCRT_SIZE_RULES. The range may be the axis or a part of it, or also count what lies inside
 * of the axis. */
static tgcrt_size values_needed(IR *ir, const Need *is, Ref index, Ref r) {
  const Node *x = node(ir, r);
  const int64_t extent = range_extent(x);
  const tgcrt_size none = { .rule = TGCRT_SIZE_RULES };
  int64_t coef, all = is->extent, inner = is->inner;
  Ref rest;
  if (range_limit(x) || range_kind(x) != RK_LOOP) return none;
  if (ix_split(ir, index, r, &coef, &rest)) { /* else a place from data, as in a scatter, may still lie inside of an entry */
    if (coef <= 0) return none;
    if (coef < inner && inner % coef == 0) all *= inner / coef, inner = coef;
  }
  const Ref at = ix_mod(ir, ix_div(ir, index, inner), all);
  if (!ix_split(ir, at, r, &coef, &rest) || coef <= 0) return none;
  const int64_t first = node(ir, rest)->vmin, last = node(ir, rest)->vmax;
  if (extent % is->extent == 0 && first >= 0 && last < coef && coef * extent == all) return size_all(extent / is->extent, is->of);
  const int64_t entry = all / is->extent, most = need_most(ir, is); /* values of the range for each entry, if it has steps of 1 */
  if (extent % most == 0 && first >= 0 && last < coef && coef * (extent / most) == entry) return size_all(extent / most, is->of);
  if (is->of < ir->symbols.n || coef != 1 || first != last || first < 0 || first % entry || extent % entry ||
      first + extent > all)
    return none;
  const int64_t behind = first + extent <= all - is->behind * entry ? is->behind : 0; /* entries in front of the padding */
  const Extent part = { .of = is->of, .times = 1, .plus = -first / entry - behind, .over = 1, .most = extent / entry };
  return size_all(entry, extent_make(ir, part));
}

/* r is a tile of a range that has become a loop over one tile at most: such a loop is not in the index. The loop stands directly
 * in front of its tile: another axis of the same symbol may be as long as the tile. A loop that runs a rest at all has none
 * (tile = height). part: the range is not the whole axis, so it may be a tile of any height */
static bool is_tile(const IR *ir, const Nest *n, Ref r, int symbol, bool part) {
  bool yes = false;
  for (int k = 0; k < n->n; k++) {
    const Node *x = node(ir, n->ranges[k]);
    if (!range_limit(x)) continue;
    const tgcrt_size *s = &ir->sizes.p[range_limit(x) - 1];
    if (ir->extents.p[s->of].symbol != symbol) continue;
    yes |= part && s->of >= ir->symbols.n;
    if (range_extent(x) != 1 || k + 1 == n->n || n->ranges[k + 1] != r) continue;
    yes |= (s->rule == TGCRT_SIZE_TILES || s->rule == TGCRT_SIZE_WHOLE) && s->tile == range_extent(node(ir, r));
    yes |= s->rule == TGCRT_SIZE_HIGH;
    yes |= s->rule == TGCRT_SIZE_COVER && s->height == range_extent(node(ir, r)) && s->tile != s->height;
  }
  return yes;
}

bool nest_has_low_tiles(const IR *ir, const Nest *n) {
  bool any = false;
  for (int k = 0; k < n->n; k++) any |= range_limit(node(ir, n->ranges[k])) && range_extent(node(ir, n->ranges[k])) == 1;
  return any;
}

const Needed *nest_needed(const IR *ir, Ref nest) {
  static const Needed all = { 0 };
  const Node *store = node(ir, nest_body(node(ir, nest)));
  return ir->symbols.n && store->op == OP_STORE ? &ir->bufs.p[buffer_id(node(ir, store_buffer(store)))].needed : &all;
}

/* Range r counts groups of entries, which another range of the nest counts. A run needs those that hold a needed entry. It
 * computes all entries of them, so that the nest may have to go on behind the run's size. */
static tgcrt_size groups_needed(IR *ir, Ref nest, const Need *is, Ref index, Ref r) {
  const tgcrt_size none = { .rule = TGCRT_SIZE_RULES };
  const Ref at = ix_mod(ir, ix_div(ir, index, is->inner), is->extent);
  const int64_t extent = range_extent(node(ir, r));
  int64_t group;
  Ref rest;
  Refs inside = { 0 };
  if (range_limit(node(ir, r)) || range_kind(node(ir, r)) != RK_LOOP || !ix_split(ir, at, r, &group, &rest)) return none;
  const int64_t first = node(ir, rest)->vmin;
  if (group < 2 || first < 0 || first + group * extent > is->extent || node(ir, rest)->vmax != first + group - 1) return none;
  bool may = may_go_on(ir, nest, r);
  collect_ranges(ir, rest, &inside);
  for (size_t k = 0; k < inside.n; k++) may = may && may_go_on(ir, nest, inside.p[k]);
  VEC_FREE(&inside);
  const Extent groups = { .of = is->of, .times = 1, .plus = group - 1 - first, .over = group, .most = extent };
  return may ? size_all(1, extent_make(ir, groups)) : none;
}

Ref sized_range(IR *ir, Ref nest, int condition, tgcrt_size *values) {
  const Nest n = nest_open(ir, nest);
  const Needed *needed = nest_needed(ir, nest);
  for (int k = 0; k < 2 * n.n && condition < needed->n; k++) { /* groups only if no range counts entries */
    const Need *is = &needed->is[condition];
    const Ref r = n.ranges[k % n.n], index = store_index(node(ir, n.store));
    *values = k < n.n ? values_needed(ir, is, index, r) : groups_needed(ir, nest, is, index, r);
    const bool part = range_extent(node(ir, r)) % is->extent;
    if (values->rule == TGCRT_SIZE_ALL && !is_tile(ir, &n, r, ir->extents.p[is->of].symbol, part)) return r;
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

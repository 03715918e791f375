/* SPDX-License-Identifier: MIT */
/* sized_single.c: a nest of its own for runs in which a dimension is one entry.
 *
 * In such a run, a vector along the dimension has one value that counts. A reduction in lanes over the dimension combines lanes
 * of which one counts, and a reduction of one term is that term. The softmax of an attention consists of such nests. So a nest
 * without any loop along the dimension serves these runs, and no other run. The nests for all other runs take no values there:
 * their number of values along one range is n * min(n - 1, 1).
 * needs: canonical nests   gives: nests without loops along a dimension, as Remnants   keeps: each element that a run needs
 * breaks: nothing */
#include "opts.h"

/* Range r of the nest has one value for each entry of the dimension. */
static bool counts_entries(IR *ir, Ref nest, Ref r, int dimension) {
  tgcrt_size values;
  bool yes = false;
  for (int i = 0; i < nest_needed(ir, nest)->n && !yes; i++)
    yes = sized_range(ir, nest, i, &values) == r && values.times == 1 && values.of == dimension;
  return yes;
}

/* A reduction over r has one term for each entry of the dimension. */
static bool adds_entries(const IR *ir, Ref r, int dimension) {
  const int64_t limit = range_limit(node(ir, r));
  const tgcrt_size *s = limit ? &ir->sizes.p[limit - 1] : NULL;
  return s && range_kind(node(ir, r)) == RK_REDUCE && s->rule == TGCRT_SIZE_ALL && s->times == 1 && s->of == dimension;
}

/* A dimension whose least size is 1, and along which the nest has lanes; -1: there is none */
static int dimension_in_lanes(IR *ir, Ref nest, const Opts *o) {
  int found = -1;
  for (int d = 0; d < ir->symbols.n && found < 0; d++)
    for (int k = 0; k < o->n && ir->symbols.p[d].low == 1; k++) {
      const Ref r = o->opt[k].range;
      const bool inner = adds_entries(ir, r, d), outer = !inner && counts_entries(ir, nest, r, d) && may_go_on(ir, nest, r);
      if (o->opt[k].lanes > 1 && (inner || outer)) found = d;
    }
  return found;
}

/* No loop of the nest ends at a size of the dimension yet, or computes values that no run needs. And no sum reads weights: those
 * are packed for the nest's tiles. */
static bool may_be_single(IR *ir, Ref nest, const Opts *o, int dimension) {
  const Nest n = nest_open(ir, nest);
  Refs all = { 0 };
  bool may = node(ir, n.store)->op == OP_STORE && !o->staged && !o->grouped;
  for (int k = 0; k < o->n; k++) may &= !o->opt[k].rows;
  for (int k = 0; k < n.n && may; k++) {
    const int64_t limit = range_limit(node(ir, n.ranges[k]));
    int size;
    may = !limit || ir->extents.p[ir->sizes.p[limit - 1].of].symbol != dimension;
    may &= !padding_along(ir, nest, n.ranges[k], &size);
  }
  ir_toposort(ir, &nest, 1, &all);
  for (size_t i = 0; i < all.n && may; i++) {
    const Node *x = node(ir, all.p[i]);
    may = x->op != OP_LOAD || ir->bufs.p[buffer_id(node(ir, load_buffer(x)))].kind != BUF_WEIGHT;
  }
  VEC_FREE(&all);
  return may;
}

/* The nest for a run of one entry; *first: the outermost of the ranges that count entries, 0: there is none */
static Ref with_single(IR *ir, Ref nest, int dimension, Ref *first) {
  Refs ranges = { 0 };
  Ref single = nest;
  nest_ranges(ir, nest, &ranges);
  *first = 0;
  for (size_t i = 0; i < ranges.n; i++) {
    const bool outer = counts_entries(ir, nest, ranges.p[i], dimension);
    if (outer && !*first) *first = ranges.p[i];
    if (!outer && !adds_entries(ir, ranges.p[i], dimension)) continue;
    single = range_replace(ir, single, ranges.p[i], ix_const(ir, 0), 0, NULL);
  }
  VEC_FREE(&ranges);
  return single;
}

Ref sized_without(IR *ir, Ref nest, int dimension) {
  static const Opts none = { 0 };
  Ref first;
  const Ref single = may_be_single(ir, nest, &none, dimension) ? with_single(ir, nest, dimension, &first) : 0;
  return single && first ? single : 0;
}

int sized_several(IR *ir, int dimension) {
  const Extent more = { .of = dimension, .times = 1, .plus = -1, .over = 1, .most = 1 };
  return extent_times(ir, dimension, extent_make(ir, more));
}

Ref sized_if_single(IR *ir, Ref nest, int dimension) {
  const tgcrt_size one = { 1, (int)extent_most(ir, dimension) + 1, 1, TGCRT_SIZE_LEFT, dimension };
  return sized_only_if(ir, nest, size_number(ir, one), 0);
}

Ref sized_single(IR *ir, Ref nest, const Opts *o, int *several, Remnants *parts) {
  const int d = tunable(ir->ctx, sized_single) ? dimension_in_lanes(ir, nest, o) : -1;
  Ref first;
  if (d < 0 || !may_be_single(ir, nest, o, d)) return 0;
  const Ref single = with_single(ir, nest, d, &first);
  if (!first || reductions_below(ir, single)) return 0; /* other sums would have lanes along the dimension again */
  *several = sized_several(ir, d);
  VEC_PUSH(parts, ((Remnant){ .nest = sized_if_single(ir, single, d) }));
  return first;
}

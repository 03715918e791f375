/* SPDX-License-Identifier: MIT */
/* thread_sums.c: where the threads of a group find each other's values in shared memory. A group is the threads whose values one
 * sum adds.
 *
 * needs: a nest with reductions over ranges of threads   gives: indices, as nodes of the nest   keeps: the nest */
#include "../opt/opts.h"
#include "thread_sums.h"

static bool has_source(const Node *x, Ref r) {
  for (int k = 1; k < x->nsrc; k++)
    if (x->src[k] == r) return true;
  return false;
}

static Ref append_digit(IR *ir, Ref number, Ref range) {
  return ix_add(ir, ix_mul(ir, number, range_extent(node(ir, range))), range);
}

/* Neighbouring threads have neighbouring elements. So the stride of a group's elements is that of
 * its threads, unless another range is between its ranges. */
Group group_of(IR *ir, const Node *red, const Ref *all, int n) {
  Group g = { .threads = 1, .size = 1, .step = 1 };
  Ref mine = ix_const(ir, 0), outer = mine, inner = mine;
  bool ended = false, parted = false;
  for (int k = 0; k < n; k++) {
    if (!range_is_thread(range_kind(node(ir, all[k])))) continue;
    parted |= ended && has_source(red, all[k]);
    ended |= g.size > 1 && !has_source(red, all[k]);
    if (has_source(red, all[k])) g.size *= range_extent(node(ir, all[k]));
  }
  for (int k = 0, seen = 0; k < n; k++) {
    const Node *r = node(ir, all[k]);
    if (!range_is_thread(range_kind(r))) continue;
    const bool member = has_source(red, all[k]), inside = seen && !parted;
    g.threads *= range_extent(r);
    seen |= member;
    Ref *to = member ? &mine : inside ? &inner : &outer;
    *to = append_digit(ir, *to, all[k]);
    if (to == &inner) g.step *= range_extent(r);
  }
  g.beside = !parted && g.step == 1;
  g.firsts = group_firsts(g.size);
  g.part = ix_add(ir, ix_mul(ir, ix_add(ir, ix_mul(ir, outer, g.size), mine), g.step), inner);
  g.sums = ix_add(ir, ix_mul(ir, outer, g.firsts * g.step), inner);
  g.sum = ix_add(ir, ix_mul(ir, ix_add(ir, ix_mul(ir, outer, g.firsts), mine), g.step), inner);
  g.first = ix_lt(ir, mine, ix_const(ir, g.firsts));
  return g;
}

Ref part_place(IR *ir, const Group *g, int64_t k) { return ix_add(ir, g->part, ix_const(ir, k * g->firsts * g->step)); }
Ref sum_place(IR *ir, const Group *g, int64_t k) { return ix_add(ir, g->sums, ix_const(ir, k * g->step)); }

bool in_warp(const Group *g, int warp) { return g->beside && g->size <= warp && !(g->size & (g->size - 1)); }

void list_places(IR *ir, const Group *g, int warp, Refs *out) {
  if (in_warp(g, warp)) return;
  const Ref place[] = { g->part, g->sum, g->first };
  for (int k = 0; k < 3; k++) VEC_PUSH(out, place[k]);
  for (int64_t k = 0; k < g->size / g->firsts; k++) VEC_PUSH(out, part_place(ir, g, k));
  for (int64_t k = 0; k < g->firsts; k++) VEC_PUSH(out, sum_place(ir, g, k));
}

void group_places(IR *ir, Ref nest, int warp, Refs *out) {
  const Node *x = node(ir, nest);
  Refs all = { 0 };
  ir_toposort(ir, &nest, 1, &all);
  for (size_t i = 0; i < all.n; i++) {
    const Node *red = node(ir, all.p[i]);
    if (red->op != OP_RED || !range_is_thread(range_kind(node(ir, red_range(red, 0))))) continue;
    const Group g = group_of(ir, red, x->src + 1, x->nsrc - 1);
    list_places(ir, &g, warp, out);
  }
  VEC_FREE(&all);
}

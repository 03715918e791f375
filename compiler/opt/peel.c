/* SPDX-License-Identifier: MIT */
/* peel.c: the opt PEEL(range) separates the interior of a range, where all conditions hold for any values of the other ranges.
 *
 * Padding that is not stored needs a gate at each load, and so a comparison for each element. For most values of a range, the
 * gates are open in the whole window. A nest of these values has plain loads. The values before and behind them become nests
 * with gates, which are scheduled on their own. Each peeled range is cut from the interior that the ranges before it left, so a
 * picture has four borders and not eight.
 *
 * needs: canonical nests with opts   gives: states of borders, scheduled on their own; interiors
 * keeps: the value of every element   breaks: the opts PEEL, which are applied by then */
#include "opts.h"
#include <string.h>

/* Comparisons of indices that decide whether to load, or which of two values to take. Gates of constants do not count: packing
 * resolves them. */
static void conditions(const IR *ir, Ref nest, Refs *out) {
  Refs all = { 0 };
  ir_toposort(ir, &nest, 1, &all);
  for (size_t i = 0; i < all.n; i++) {
    const Node *x = node(ir, all.p[i]);
    const bool gated = x->op == OP_LOAD && load_gate(x) && ir->bufs.p[buffer_id(node(ir, load_buffer(x)))].kind != BUF_WEIGHT;
    if (gated || x->op == OP_WHERE) ir_toposort(ir, (Ref[]){ gated ? load_gate(x) : where_cond(x) }, 1, out);
  }
  VEC_FREE(&all);
}

/* The values of r for which all gates are open. False if the interior is empty, a single value or the whole range. */
static bool interior(IR *ir, Ref nest, Ref r, int64_t *begin, int64_t *end) {
  const int64_t extent = range_extent(node(ir, r));
  Refs all = { 0 };
  *begin = 0;
  *end = extent;
  conditions(ir, nest, &all);
  for (size_t i = 0; i < all.n; i++) {
    const Node *x = node(ir, all.p[i]);
    int64_t coef, from = *begin, to = *end;
    Ref rest;
    if (x->op != OP_CMPLT || node(ir, lhs(x))->dt != DT_I64 ||
        !ix_split(ir, ix_sub(ir, rhs(x), lhs(x)), r, &coef, &rest) || !coef)
      continue;
    const int64_t least = node(ir, rest)->vmin; /* coef * r + rest > 0 is the condition */
    if (least < -(INT64_C(1) << 40) || least > INT64_C(1) << 40) continue;
    if (coef > 0 && i64_floor_div(-least, coef) + 1 > from) from = i64_floor_div(-least, coef) + 1;
    if (coef < 0 && i64_floor_div(least - 1, -coef) + 1 < to) to = i64_floor_div(least - 1, -coef) + 1;
    if (from < to) *begin = from, *end = to;
  }
  VEC_FREE(&all);
  return *end - *begin > 1 && *end - *begin < extent;
}

const char *peel_refuses(IR *ir, Ref nest, Ref r) {
  int64_t begin, end;
  if (!opens_range(ir, nest, r) || node(ir, r)->op != OP_RANGE || range_kind(node(ir, r)) != RK_LOOP)
    return "only a loop of the nest can be peeled";
  if (range_ends_early(ir, nest, r)) return "the range ends at a size of the run";
  if (reduction_repeats(ir, nest, r)) return "its border would repeat a reduction";
  return interior(ir, nest, r, &begin, &end) ? NULL : "the range has no interior in which all gates are open";
}

Ref peel_apply(IR *ir, Ref nest, Opts *o, Refs *borders) {
  for (int i = 0; i < o->npeeled; i++) {
    const Ref r = o->peeled[i];
    int64_t begin, end, extent = range_extent(node(ir, r));
    Ref part;
    if (!interior(ir, nest, r, &begin, &end)) continue; /* peeling an earlier range has opened all gates */
    if (begin) VEC_PUSH(borders, range_part(ir, nest, r, 0, begin, &part));
    if (end < extent) VEC_PUSH(borders, range_part(ir, nest, r, end, extent, &part));
    nest = range_part(ir, nest, r, begin, end, &part);
    opts_replace(o, r, part);
  }
  o->npeeled = 0;
  return nest;
}

void peel_state(Plan *p, Kernel *k, size_t at) {
  Refs borders = { 0 };
  Opts *o = k->states.p[at].opts;
  k->states.p[at].nest = peel_apply(p->ir, k->states.p[at].nest, o, &borders);
  CHECK((int)borders.n == o->nborders);
  for (int i = 0; i < o->nborders; i++) rest_add(p, k, at, borders.p[i], o->part[i]);
  o->nparts -= o->nborders;
  memmove(o->part, o->part + o->nborders, (size_t)o->nparts * sizeof *o->part);
  o->nborders = 0;
  VEC_FREE(&borders);
}

void step_peel(Plan *p, Kernel *k) {
  for (size_t i = 0; i < k->states.n; i++) { /* the loop also meets borders of borders */
    p->ir->origin = node(p->ir, k->states.p[i].nest)->origin;
    peel_state(p, k, i);
  }
}

/* SPDX-License-Identifier: MIT */
/* shared_packing.c: reads a weight in the order in which an earlier entry of the pipeline packed it.
 *
 * Entries of one model read the same weights, often by other tiles. Two packed copies would double the bundle. A packed order is
 * a mixed radix: the digits of an element's number, permuted. So the place of any element is a sum of quotients and remainders of
 * its number. Lanes must stay neighbours: the order's innermost digit is a whole number of vectors, and vectors are aligned in
 * it. Quotients of unrolled ranges vanish where copies are made, and others are computed once per loop.
 *
 * Not shared: an order that has some elements twice or not at all. It may have padding, or be one piece of a weight.
 *
 * needs: split ranges; the plan of earlier entries   gives: a packed order and an index in it   breaks: nothing */
#include "lower.h"
#include <stdlib.h>
#include <string.h>

static bool same_tensor(const IR *ir, int64_t a, int64_t b) {
  const Tensor *x = &ir->tensors.p[a], *y = &ir->tensors.p[b];
  return x->dt == y->dt && x->elems == y->elems && x->data && y->data &&
         (x->data == y->data || !memcmp(x->data, y->data, (size_t)(x->elems * dt_bytes(x->dt))));
}

static int by_coef(const void *a, const void *b, void *arg) {
  const Packed *k = arg;
  const int64_t x = k->coef[*(const int *)a], y = k->coef[*(const int *)b];
  return (x < y) - (x > y);
}

/* Orders the digits from the largest coefficient on; false: the packed copy does not have each element once. */
static bool digits_of(const IR *ir, const Packed *k, int *digit) {
  if (!k->n || k->base || k->closed != -1) return false;
  for (int i = 0; i < k->n; i++) digit[i] = i;
  qsort_r(digit, (size_t)k->n, sizeof *digit, by_coef, (void *)(uintptr_t)k);
  int64_t whole = ir->tensors.p[k->tensor].elems;
  for (int i = 0; i < k->n; i++) {
    if (k->gate[i] || k->coef[digit[i]] < 1 || k->coef[digit[i]] * k->extent[digit[i]] != whole) return false;
    whole = k->coef[digit[i]];
  }
  return whole == 1;
}

/* The place of element e in the packed order */
static Ref place_of(IR *ir, const Packed *k, const int *digit, Ref e) {
  Ref at = ix_const(ir, 0);
  int64_t step[sizeof k->extent / sizeof *k->extent];
  for (int i = k->n - 1, next = 1; i >= 0; i--, next = 0) step[i] = next ? 1 : step[i + 1] * k->extent[i + 1];
  for (int i = 0; i < k->n; i++) {
    const int d = digit[i];
    const Ref q = ix_div(ir, e, k->coef[d]);
    at = ix_add(ir, at, ix_mul(ir, i ? ix_mod(ir, q, k->extent[d]) : q, step[d]));
  }
  return at;
}

/* Whether lanes read neighbours, with any copies of unrolled ranges */
static bool lanes_stay(IR *ir, const Packed *k, Ref e, Ref at) {
  Refs ranges = { 0 };
  bool ok = true;
  collect_ranges(ir, e, &ranges);
  Ref lanes = 0, rest = e;
  for (size_t i = 0; i < ranges.n; i++) {
    const RangeKind kind = range_kind(node(ir, ranges.p[i]));
    if (kind == RK_VEC) ok &= !lanes, lanes = ranges.p[i];
    else ok &= kind == RK_LOOP || kind == RK_REDUCE || kind == RK_UNROLL || kind == RK_PARTIAL || kind == RK_THREAD;
    if (kind == RK_UNROLL || kind == RK_PARTIAL) at = ix_subst(ir, at, 1, &ranges.p[i], (const Ref[]){ ix_const(ir, 0) });
  }
  VEC_FREE(&ranges);
  if (!lanes || !ok) return ok;
  const int64_t width = range_extent(node(ir, lanes));
  int64_t coef, placed;
  return k->coef[k->n - 1] == 1 && k->extent[k->n - 1] % width == 0 && ix_split(ir, e, lanes, &coef, &rest) && coef == 1 &&
         ix_is_multiple(ir, rest, width) && ix_split(ir, at, lanes, &placed, &rest) && placed == 1;
}

Ref shared_order(Plan *p, int64_t tensor, Ref index, Packed *order) {
  const Plan *whole = p->whole;
  int digit[sizeof order->extent / sizeof *order->extent];
  for (size_t i = 0; whole && i < whole->weights.packed.n; i++) {
    const Packed *k = &whole->weights.packed.p[i];
    if (!same_tensor(p->ir, k->tensor, tensor) || !digits_of(p->ir, k, digit)) continue;
    const Ref at = place_of(p->ir, k, digit, index);
    if (!lanes_stay(p->ir, k, index, at)) continue;
    *order = *k;
    order->tensor = tensor;
    return at;
  }
  return 0;
}

/* Whether lanes of the load read neighbours, or there are none */
static bool lanes_in_order(IR *ir, Ref index) {
  Refs ranges = { 0 };
  Ref rest;
  bool ok = true;
  collect_ranges(ir, index, &ranges);
  for (size_t i = 0; i < ranges.n && ok; i++) {
    int64_t coef;
    if (range_kind(node(ir, ranges.p[i])) == RK_VEC) ok = ix_split(ir, index, ranges.p[i], &coef, &rest) && coef == 1;
  }
  VEC_FREE(&ranges);
  return ok;
}

bool shared_plain(const Plan *p, int64_t tensor, Ref index) {
  const Plan *whole = p->whole;
  for (size_t k = 0; whole && k < whole->kernels.n; k++)
    for (size_t i = 0; i < whole->kernels.p[k].bufs.n; i++) {
      const Buf *b = &p->ir->bufs.p[whole->kernels.p[k].bufs.p[i]];
      if (b->kind == BUF_WEIGHT && !b->packed && same_tensor(p->ir, b->slot, tensor)) return lanes_in_order(p->ir, index);
    }
  return false;
}

/* SPDX-License-Identifier: MIT */
/* varying.c: dependence of each node of a nest on ranges and on memory. A reduction's result does not vary with the ranges that
 * the reduction opens.
 *
 * needs: a nest with at most 63 ranges   gives: a set of ranges for each node   breaks: nothing */
#include "nest.h"
#include <stdlib.h>

static int add_range(Varying *v, RefMap *bit, Ref r) { /* its bit + 1; 0: no bit left */
  if (!refmap_get(bit, r) && v->ranges.n < 63) {
    VEC_PUSH(&v->ranges, r);
    refmap_set(bit, r, (Ref)v->ranges.n);
  }
  return (int)refmap_get(bit, r);
}

void varying_open(const IR *ir, Ref nest, Varying *v) {
  const Node *own = node(ir, nest);
  RefMap bit = { 0 };
  *v = (Varying){ 0 };
  ir_toposort(ir, &nest, 1, &v->nodes);
  v->by = xmalloc((v->nodes.n + 1) * sizeof *v->by);
  for (int k = 1; k < own->nsrc; k++) add_range(v, &bit, own->src[k]);
  for (size_t i = 0; i < v->nodes.n; i++) {
    const Node *x = node(ir, v->nodes.p[i]);
    const int range = x->op == OP_RANGE ? add_range(v, &bit, v->nodes.p[i]) : 0;
    v->by[i] = range ? UINT64_C(1) << (range - 1) : x->op == OP_LOAD ? VARIES_DATA : 0;
    refmap_set(&v->at, v->nodes.p[i], (Ref)i + 1);
    for (int k = 0; k < x->nsrc; k++) {
      const uint64_t of = varying_of(v, x->src[k]);
      v->by[i] = x->op == OP_RED && k ? v->by[i] & ~of : v->by[i] | of;
    }
  }
  refmap_free(&bit);
}

uint64_t varying_of(const Varying *v, Ref r) { return v->by[refmap_get(&v->at, r) - 1]; }

void varying_free(Varying *v) {
  VEC_FREE(&v->nodes);
  VEC_FREE(&v->ranges);
  refmap_free(&v->at);
  free(v->by);
}

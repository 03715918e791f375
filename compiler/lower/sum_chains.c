/* SPDX-License-Identifier: MIT */
/* sum_chains.c: into how many chains the terms of a sum are divided, if no loop is left of them.
 *
 * A core starts instructions in order, and runs ahead of waiting ones no further than its window. A result that is one long
 * chain, such as a window's sum and an activation after it, fills the window with few results. Then ports idle. Shorter chains
 * take more additions. So the number of chains is the one for which the slower of ports and waiting takes the least time.
 *
 * needs: a nest before its ranges are expanded    gives: a number of chains    keeps: the nest */
#include "lower.h"
#include <math.h>

/* The only reduction of a nest, if it is a sum of floats; else 0 */
static Ref only_sum(const IR *ir, const Refs *all) {
  Ref found = 0;
  for (size_t i = 0; i < all->n; i++) {
    const Node *x = node(ir, all->p[i]);
    if (x->op != OP_RED) continue;
    if (found || red_op(x) != OP_ADD || !dt_float((DType)x->dt)) return 0;
    found = all->p[i];
  }
  return found;
}

/* Terms of a sum whose ranges are all unrolled; 0: some are not */
static double unrolled_terms(const IR *ir, const Node *sum) {
  double n = 1;
  for (int k = 1; k < sum->nsrc; k++) {
    const Node *r = node(ir, sum->src[k]);
    if (range_kind(r) != RK_UNROLL) return 0;
    n *= (double)range_extent(r);
  }
  return n;
}

static double data_instructions(const Target *t, const Node *x) {
  const bool data = x->dt != DT_I64 && x->dt != DT_NONE && x->dt != DT_BOOL;
  return data ? op_instructions(t, BY_TILE, (Op)x->op) : 0;
}

/* Instructions after the sum: all of them, and those of the longest path */
typedef struct After { double all, path; } After;

static After after_sum(const IR *ir, const Target *t, const Refs *all, Ref sum) {
  After a = { 0, 0 };
  double *path = xmalloc(all->n * sizeof *path); /* from the sum to a node; below 0: no path */
  RefMap place = { 0 };
  for (size_t i = 0; i < all->n; i++) {
    const Node *x = node(ir, all->p[i]);
    refmap_set(&place, all->p[i], (uint32_t)i + 1);
    path[i] = all->p[i] == sum ? 0 : -1;
    for (int k = 0; k < x->nsrc && all->p[i] != sum; k++) {
      const uint32_t at = refmap_get(&place, x->src[k]);
      if (at && path[at - 1] > path[i]) path[i] = path[at - 1];
    }
    if (path[i] < 0 || all->p[i] == sum) continue;
    path[i] += data_instructions(t, x);
    a.all += data_instructions(t, x);
    if (path[i] > a.path) a.path = path[i];
  }
  refmap_free(&place);
  free(path);
  return a;
}

int sum_chains(IR *ir, Ref nest, const Target *t) {
  Refs all = { 0 };
  int best = 1;
  double least = 0;
  if (!t->vector_bytes || t->pointer_bits < 64 || t->in_order) return 1; /* small cores have no window */
  ir_toposort(ir, &nest, 1, &all);
  const Ref sum = only_sum(ir, &all);
  const double terms = sum ? unrolled_terms(ir, node(ir, sum)) : 0;
  const After after = terms > 1 ? after_sum(ir, t, &all, sum) : (After){ 0, 0 };
  const int most = tunable(ir->ctx, sum_chains_most);
  for (int n = 1; n <= most && 2 * n <= terms; n++) {
    const double instructions = terms + n - 1 + after.all, chain = ceil(terms / n) + n - 1 + after.path;
    const double waits = chain * rate(t, LATENCY, TILE) * instructions / rate(t, WINDOW, TILE);
    const double cycles = fmax(instructions / rate(t, ISSUE, TILE), waits);
    if (n == 1 || cycles < least) least = cycles, best = n;
  }
  VEC_FREE(&all);
  return best;
}

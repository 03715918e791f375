/* SPDX-License-Identifier: MIT */
/* multiplications.c: how many multiplications a run of given sizes does, counted in the programs of its kernels.
 *
 * A loop that ends at a size has as many iterations as that size says. Lanes behind the values that a run needs count, too, and
 * so do copies of values that two nests compute. Calls of functions such as exp do not count.
 *
 * needs: programs    gives: a number    breaks: nothing */
#include "lower.h"
#include <stdlib.h>

/* Products of one execution of a micro-op */
static double products_of(const IR *ir, const Node *x) {
  const bool data = x->dt != DT_I64 && x->dt != DT_BOOL;
  switch ((Op)x->op) {
  case OP_MUL: return dt_float((DType)x->dt) ? x->lanes : 0;
  case OP_MULACC: return data ? x->lanes : 0;
  case OP_DOT: return node(ir, dot_x(x))->lanes;
  case OP_MMA: return (double)x->lanes * (double)mma_depth(x);
  default: return 0;
  }
}

/* The condition is false in each iteration of the run. */
static bool never_holds(const IR *ir, Ref gate, const int64_t *run) {
  const Node *x = node(ir, gate);
  int64_t a[2], b[2];
  if (x->op == OP_AND) return never_holds(ir, lhs(x), run) || never_holds(ir, rhs(x), run);
  if (x->op == OP_OR) return never_holds(ir, lhs(x), run) && never_holds(ir, rhs(x), run);
  return x->op == OP_CMPLT && index_in_run(ir, lhs(x), run, 0, &a[0], &a[1]) && index_in_run(ir, rhs(x), run, 0, &b[0], &b[1]) &&
         a[0] >= b[1];
}

static double executed_in(const IR *ir, const Refs *prog, const int64_t *run) {
  double times[64] = { 1 }, sum = 0;
  size_t depth = 0;
  for (size_t i = 0; i < prog->n; i++) {
    const Node *x = node(ir, prog->p[i]);
    if (x->op == OP_LOOP) {
      const Node *r = node(ir, loop_range(x));
      const int64_t trips = range_limit(r) ? size_in_run(ir, (int)range_limit(r) - 1, run) : range_extent(r);
      CHECK(depth + 1 < sizeof times / sizeof *times);
      const bool never = loop_gate(x) && never_holds(ir, loop_gate(x), run);
      times[depth + 1] = never ? 0 : times[depth] * (double)trips;
      depth++;
    } else if (x->op == OP_END) depth--;
    else sum += times[depth] * products_of(ir, x);
  }
  return sum;
}

/* Iterations that a run omits, of a loop whose calls are kernels first .. end - 1: kernels from here on do not run */
static size_t last_call(const Plan *p, size_t first, size_t end, const int64_t *run) {
  const Kernel *k = &p->kernels.p[first];
  if (!k->loop || !k->limit || k->trips < 1) return end;
  return first + (end - first) / (size_t)k->trips * (size_t)size_in_run(p->ir, k->limit - 1, run);
}

double plan_multiplications(const Plan *p, const int64_t *run) {
  const Kernel *x = p->kernels.p;
  double *known = xcalloc(p->kernels.n + 1, sizeof *known), sum = 0;
  for (size_t k = 0; k < p->kernels.n; k++)
    if (!x[k].as) known[k] = executed_in(p->ir, &x[k].prog, run);
  for (size_t k = 0, end; k < p->kernels.n; k = end) {
    for (end = k + 1; end < p->kernels.n && x[k].loop && x[end].loop == x[k].loop;) end++;
    const size_t last = last_call(p, k, end, run);
    for (size_t i = k; i < last; i++) sum += known[x[i].as ? (size_t)x[i].as - 1 : i];
  }
  free(known);
  return sum;
}

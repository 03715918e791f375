/* SPDX-License-Identifier: MIT */
/* plan_entries.c: joins the plans of a graph's entries into one.
 *
 * Each entry was planned on its own, in one IR: nodes, buffers and weights have numbers that no other entry uses. Inputs,
 * outputs and states have the numbers of the entry's graph, and get those of the whole graph here. The kernels of the entries
 * stand one behind the other. So the memory plan, which follows, lets intermediate values of different entries share memory.
 *
 * The entry with most work is planned first. The others then read weights in the order that is best for it (shared_packing.c).
 *
 * needs: plans before the memory plan    gives: one plan; Kernel.entry    breaks: nothing */
#include "plan_entries.h"
#include <string.h>

static void number_buffer(const GEntry *e, int packed, Buf *b) {
  switch (b->kind) {
  case BUF_INPUT: b->slot = e->input[b->slot]; break;
  case BUF_OUTPUT: b->slot = e->output[b->slot]; break;
  case BUF_STATE: case BUF_NEXT: b->slot = e->state[b->slot]; break;
  default: break;
  }
  if (b->packed) b->packed += packed;
}

static void join_kernels(Plan *p, const Plan *q, int e) {
  for (size_t k = 0; k < q->kernels.n; k++) {
    Kernel x = q->kernels.p[k];
    CHECK(!x.as && x.code < 0); /* it names no other kernel, whose number would change */
    x.entry = e;
    VEC_PUSH(&p->kernels, x);
  }
}

static void join_layouts(Plan *p, const Plan *q) {
  const size_t n = p->layouts.n;
  Layout *all = ARENA_NEW(&p->ir->ctx->model, Layout, n + q->layouts.n + 1);
  if (n) memcpy(all, p->layouts.p, n * sizeof *all);
  if (q->layouts.n) memcpy(all + n, q->layouts.p, q->layouts.n * sizeof *all);
  p->layouts.p = all;
  p->layouts.n += q->layouts.n;
  for (int i = 0; i < 2; i++) p->layouts.cost[i] += q->layouts.cost[i];
}

void plan_join(Plan *p, const Plan *q, int e, size_t first_buffer) {
  const int packed = (int)p->weights.packed.n;
  for (size_t i = first_buffer; i < p->ir->bufs.n; i++) number_buffer(&p->g->entries.p[e], packed, &p->ir->bufs.p[i]);
  for (size_t i = 0; i < q->weights.packed.n; i++) VEC_PUSH(&p->weights.packed, q->weights.packed.p[i]);
  join_kernels(p, q, e);
  join_layouts(p, q);
}

/* ---- order ---- */
/* Elements of all values, which is about the number of operations */
static double work_of(const Graph *g) {
  Refs roots = { 0 }, order = { 0 };
  double work = 0;
  for (size_t i = 0; i < g->outputs.n; i++) VEC_PUSH(&roots, g->outputs.p[i].ref);
  ir_toposort(g->ir, roots.p, roots.n, &order);
  for (size_t i = 0; i < order.n; i++) work += (double)dims_elems(node(g->ir, order.p[i])->dims, node(g->ir, order.p[i])->rank);
  VEC_FREE(&roots);
  VEC_FREE(&order);
  return work;
}

int *plan_order(const Graph *g) {
  Arena *m = &g->ir->ctx->model;
  int *order = ARENA_NEW(m, int, g->entries.n + 1);
  double *work = ARENA_NEW(m, double, g->entries.n + 1);
  for (size_t e = 0; e < g->entries.n; e++) {
    size_t at = e;
    work[e] = work_of(g->entries.p[e].g);
    for (; at && work[order[at - 1]] < work[e]; at--) order[at] = order[at - 1];
    order[at] = (int)e;
  }
  return order;
}

void plan_sort(Plan *p) {
  Kernel *all = ARENA_NEW(&p->ir->ctx->model, Kernel, p->kernels.n + 1);
  size_t n = 0;
  for (int e = 0; e < (int)p->g->entries.n; e++)
    for (size_t k = 0; k < p->kernels.n; k++)
      if (p->kernels.p[k].entry == e) all[n++] = p->kernels.p[k];
  if (n) memcpy(p->kernels.p, all, n * sizeof *all);
}

/* SPDX-License-Identifier: MIT */
/* unroll_loops.c: replaces loops by copies of their bodies, where they have few iterations, or where the target runs a fixed list
 * of launches. Other loops stay: their bodies become kernels that run again and again (schedule/, loop_calls.c).
 *
 * needs: a graph    gives: an equal graph; loops that stay have at least loop_trips iterations    breaks: nothing */
#include "../cost/tunable.h"
#include "graph.h"
#include <stdlib.h>

/* A device runs a fixed list of launches. */
static void refuse_early(const Graph *g, const Ref *roots, const Target *t) {
  Refs all = { 0 };
  ir_toposort(g->ir, roots, g->outputs.n, &all);
  for (size_t i = 0; i < all.n && t->dev; i++)
    if (node(g->ir, all.p[i])->op == OP_ITERATE)
      fail_at(g->ir->ctx, EX_BADMODEL, ir_pos(g->ir, all.p[i]),
              "the loop has %lld iterations, over the limit of %d for a device",
              (long long)iterate_trips(node(g->ir, all.p[i])), EARLY_COPIES);
  VEC_FREE(&all);
}

void graph_loops(Graph *g, const Target *t) {
  Ref *roots = xmalloc((g->outputs.n + 1) * sizeof *roots);
  for (size_t i = 0; i < g->outputs.n; i++) roots[i] = g->outputs.p[i].ref;
  ir_unroll(g->ir, roots, g->outputs.n, t->dev ? INT64_MAX : tunable(g->ir->ctx, loop_trips));
  if (g->ir->loops) refuse_early(g, roots, t);
  for (size_t i = 0; i < g->outputs.n; i++) g->outputs.p[i].ref = roots[i];
  free(roots);
}

/* SPDX-License-Identifier: MIT */
/* unroll_loops.c: replaces loops by copies of their bodies, where they have few iterations, or where the target runs a fixed list
 * of launches. Other loops stay: their bodies become kernels that run again and again (schedule/, loop_calls.c). Branches become
 * selections where both sides are short, and where a run cannot skip kernels.
 *
 * needs: a graph    gives: an equal graph; loops that stay have at least loop_trips iterations, and branches that stay have a
 * side of at least branch_ops operations    breaks: nothing */
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

/* Fails where the copies that ir_unroll makes for a device would exceed --max-unroll. Front ends count copies that they make. */
static void limit_copies(const Graph *g, const Ref *roots) {
  const IR *ir = g->ir;
  int64_t nodes[GRAPH_LOOPS + 1] = { 0 }, copies = 0;
  Refs all = { 0 };
  ir_toposort(ir, roots, g->outputs.n, &all);
  for (size_t i = 0; i < all.n; i++) nodes[node(ir, all.p[i])->loop]++;
  for (size_t i = 0; i < all.n; i++) {
    const Node *x = node(ir, all.p[i]);
    const bool stays = x->op == OP_ITERATE && iterate_while(x) && iterate_trips(x) > EARLY_COPIES;
    if (x->op == OP_ITERATE && !stays) copies += iterate_trips(x) * nodes[iterate_loop(x) + 1]; /* at most 2^31 times 2^32 */
    if (copies > ir->ctx->limits.unroll)
      fail_at(ir->ctx, EX_BADMODEL, ir_pos(ir, all.p[i]),
              "a device has no loops, and copies for all iterations of this one have more than %lld nodes; --max-unroll=N sets "
              "this limit",
              (long long)ir->ctx->limits.unroll);
  }
  VEC_FREE(&all);
}

/* Operations that a node adds to a run, roughly; movement costs nothing. */
static double ops_of(const IR *ir, const Node *x) {
  const Node *over = x->op == OP_REDUCE ? node(ir, operand(x)) : x;
  const bool counts = op_info[x->op].level == L_EXPR || x->op == OP_REDUCE || x->op == OP_GATHER || x->op == OP_SCATTER;
  if (x->op == OP_WALK) return (double)walk_steps(x) * (double)dims_elems(x->dims, x->rank);
  return counts && x->varies ? (double)dims_elems(over->dims, over->rank) : 0;
}

/* trips: by loop, its iterations */
static void read_trips(const IR *ir, const Refs *order, double *trips) {
  for (int k = 0; k <= GRAPH_LOOPS; k++) trips[k] = 1;
  for (size_t i = 0; i < order->n; i++)
    if (node(ir, order->p[i])->op == OP_ITERATE)
      trips[iterate_loop(node(ir, order->p[i])) + 1] = (double)iterate_trips(node(ir, order->p[i]));
}

/* Marks branches of which a side is worth skipping. */
static void find_long_sides(const IR *ir, const Ref *roots, size_t n, bool *stays) {
  Refs order = { 0 };
  double trips[GRAPH_LOOPS + 1];
  ir_toposort(ir, roots, n, &order);
  read_trips(ir, &order, trips);
  Guards g = find_guards(ir, &order, roots, n);
  double *ops = xcalloc(g.list.n + 1, sizeof *ops); /* by guard: of its side, with those inside */
  for (size_t i = 0; i < order.n; i++) {
    const Node *x = node(ir, order.p[i]);
    for (int at = g.of[order.p[i]]; at; at = g.list.p[at - 1].in) ops[at] += ops_of(ir, x) * trips[body_of(x)];
  }
  for (size_t k = 0; k < g.list.n; k++) stays[g.list.p[k].branch] |= ops[k + 1] >= tunable(ir->ctx, branch_ops);
  free(ops);
  guards_free(&g);
  VEC_FREE(&order);
}

/* A device runs a fixed list of launches, and so do steps and entries. Kernels for a range of sizes have no branches yet. */
static void select_sides(Graph *g, Ref *roots, bool skips) {
  bool *stays = xcalloc(g->ir->n, sizeof *stays);
  if (skips) find_long_sides(g->ir, roots, g->outputs.n, stays);
  ir_select(g->ir, roots, g->outputs.n, stays);
  free(stays);
}

void graph_loops(Graph *g, const Target *t, bool fixed) {
  Ref *roots = xmalloc((g->outputs.n + 1) * sizeof *roots);
  for (size_t i = 0; i < g->outputs.n; i++) roots[i] = g->outputs.p[i].ref;
  if (t->dev && g->ir->loops) limit_copies(g, roots);
  ir_unroll(g->ir, roots, g->outputs.n, t->dev ? INT64_MAX : tunable(g->ir->ctx, loop_trips));
  if (g->ir->loops) refuse_early(g, roots, t);
  if (g->ir->branches) select_sides(g, roots, !t->dev && !fixed && !g->ir->symbols.n);
  for (size_t i = 0; i < g->outputs.n; i++) g->outputs.p[i].ref = roots[i];
  free(roots);
}

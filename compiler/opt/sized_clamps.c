/* SPDX-License-Identifier: MIT */
/* sized_clamps.c: leaves out clamps of indices that no run needs.
 *
 * A reversed sequence reads entry MAX(n - 1 - i, 0). Bounds of nodes hold for all sizes at once. They do not say that n - 1 - i
 * is at least 0. A run has few sizes, however: for each size of a dimension, a loop that ends at it has known iterations. A
 * clamp that changes nothing in any of these runs goes. A run in which a loop of the nest has no iteration does not count. A
 * clamp stays where a comparison, another clamp or a quotient uses it: its bounds decide these for all runs. It also stays in
 * an access to memory of the caller. There the bounds show that the access ends with that memory, also in a run in which the
 * loops around a hoisted load have no iteration. And lower/caller_rows.c makes quotients of such an index.
 * needs: canonical nests whose ranges have limits   gives: the same nests with fewer MIN and MAX
 * keeps: each element that a run needs   breaks: nothing */
#include "opts.h"

/* Each loop of the nest has iterations, as far as the run is known. Reductions do not count: a sum without terms is stored. */
static bool runs_in(const IR *ir, const Nest *n, const int64_t *run) {
  bool all = true;
  for (int i = 0; i < n->n && all; i++) {
    int64_t least, most;
    all = !index_in_run(ir, n->ranges[i], run, 0, &least, &most) || most >= 0;
  }
  return all;
}

/* a <= b for each size of the symbol */
static bool ordered_along(const IR *ir, const Nest *n, int symbol, Ref a, Ref b) {
  const Symbol *s = &ir->symbols.p[symbol];
  RunSizes run = { 0 }; /* other sizes are any */
  bool all = true;
  for (run[symbol] = s->low; run[symbol] <= s->high && all; run[symbol] += s->step) {
    int64_t x[2], y[2];
    if (!runs_in(ir, n, run)) continue;
    all = index_in_run(ir, a, run, 0, &x[0], &x[1]) && index_in_run(ir, b, run, 0, &y[0], &y[1]) && x[1] <= y[0];
  }
  return all;
}

typedef struct Clamps {
  Nest n;
  RefMap used; /* nodes below comparisons, clamps, quotients and accesses to the caller's memory */
} Clamps;

static Ref without_clamp(IR *ir, Ref r, void *arg) {
  const Clamps *c = arg;
  const Node *x = node(ir, r);
  const bool least = x->op == OP_MIN;
  if (x->dt != DT_I64 || x->lanes > 1 || x->rank || refmap_get(&c->used, r)) return 0;
  for (int symbol = 0; symbol < ir->symbols.n; symbol++) {
    if (ordered_along(ir, &c->n, symbol, lhs(x), rhs(x))) return least ? lhs(x) : rhs(x);
    if (ordered_along(ir, &c->n, symbol, rhs(x), lhs(x))) return least ? rhs(x) : lhs(x);
  }
  return 0;
}

static bool uses_bounds(const Node *x) {
  return x->op == OP_MIN || x->op == OP_MAX || x->op == OP_CMPLT || x->op == OP_CMPLE || x->op == OP_FLDIV || x->op == OP_FLMOD;
}

static void note_used(IR *ir, Ref nest, RefMap *used) {
  Refs all = { 0 };
  ir_toposort(ir, &nest, 1, &all);
  for (size_t i = all.n; i-- > 0;) { /* users come before their sources */
    const Node *x = node(ir, all.p[i]);
    const Buf *b = is_access(x) ? &ir->bufs.p[buffer_id(node(ir, access_buffer(x)))] : NULL;
    if (b && buf_ends_early(b)) refmap_set(used, access_index(x), 1);
    for (int k = 0; k < x->nsrc && (uses_bounds(x) || refmap_get(used, all.p[i])); k++) refmap_set(used, x->src[k], 1);
  }
  VEC_FREE(&all);
}

Ref sized_clamps(IR *ir, Ref nest) {
  static const Rule rules[] = { { OP_MIN, "leave out a clamp that changes no run", without_clamp },
                                { OP_MAX, "leave out a clamp that changes no run", without_clamp }, { OP_NONE, NULL, NULL } };
  Clamps c = { .n = nest_open(ir, nest) };
  if (!ir->symbols.n) return nest;
  note_used(ir, nest, &c.used);
  ir_rewrite(ir, rules, &c, &nest, 1, NULL);
  refmap_free(&c.used);
  return nest;
}

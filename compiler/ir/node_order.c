/* SPDX-License-Identifier: MIT */
/* node_order.c: the order of nodes by structure.
 *
 * Terms of sums and parts of conditions are sorted by it, so equal ones are the same node. Refs would not do: they depend on
 * which node was made first. Reading a text, or running steps in another order, makes nodes in another order, but must give the
 * same code.
 *
 * The order first compares the newest range below a node. Ranges are numbered from the outside inwards. So the terms of a sum
 * that an inner loop does not change come first, and linearize.c hoists them. Then it compares op, type and arguments, then the
 * first source that differs. Nodes of equal structure are one Ref, so there is such a source. The comparison follows one path
 * down and needs no memory. */
#include "ir.h"

#define SIGN(a, b) (((a) > (b)) - ((a) < (b)))

/* Memory of the caller is ordered by its number, other memory by the order in which the schedule creates it. Packed weights and
 * panels come from different steps, but are of different kinds, so the order of steps does not matter. */
static int buffer_order(const IR *ir, int64_t a, int64_t b) {
  const int64_t n = (int64_t)ir->bufs.n;
  if (a < 0 || b < 0 || a >= n || b >= n) return SIGN(a, b);
  const Buf *x = &ir->bufs.p[a], *y = &ir->bufs.p[b];
  if (x->kind != y->kind) return SIGN(x->kind, y->kind);
  const bool numbered = x->kind != BUF_WEIGHT && x->kind != BUF_ARENA && !buf_is_own(x->kind);
  return numbered && x->slot != y->slot ? SIGN(x->slot, y->slot) : SIGN(a, b);
}

static int words_order(const int64_t *a, int na, const int64_t *b, int nb) {
  if (na != nb) return SIGN(na, nb);
  for (int i = 0; i < na; i++)
    if (a[i] != b[i]) return SIGN(a[i], b[i]);
  return 0;
}

/* A range comes before nodes that contain it. */
static int op_order(Op a, Op b) { return a == OP_RANGE ? -1 : b == OP_RANGE ? 1 : SIGN(a, b); }

/* Compares everything but the sources */
static int heads_order(const IR *ir, const Node *x, const Node *y) {
  int by;
  if (x->newest_range != y->newest_range) return SIGN(x->newest_range, y->newest_range);
  if (x->op != y->op) return op_order((Op)x->op, (Op)y->op);
  if (x->dt != y->dt) return SIGN(x->dt, y->dt);
  if (x->lanes != y->lanes) return SIGN(x->lanes, y->lanes);
  if (x->op == OP_BUFFER) return buffer_order(ir, x->arg[0], y->arg[0]);
  if ((by = words_order(x->arg, x->narg, y->arg, y->narg))) return by;
  if ((by = words_order(x->dims, x->rank, y->dims, y->rank))) return by;
  return SIGN(x->nsrc, y->nsrc);
}

int node_order(const IR *ir, Ref a, Ref b) {
  while (a != b) {
    const Node *x = node(ir, a), *y = node(ir, b);
    const int by = heads_order(ir, x, y);
    if (by) return by;
    int i = 0;
    while (i < x->nsrc && x->src[i] == y->src[i]) i++;
    CHECK(i < x->nsrc); /* equal nodes would be one */
    a = x->src[i];
    b = y->src[i];
  }
  return 0;
}

int node_order_r(const void *a, const void *b, void *ir) { return node_order(ir, *(const Ref *)a, *(const Ref *)b); }

/* SPDX-License-Identifier: MIT */
/* layout_seed.c: the first guess for the innermost axis of a stored value, from the op that makes it. layout_pbqp.c starts from
 * it.
 *
 * For convolutions it is the axis that only the weights have, the output channels. Stores, pooling and depthwise steps are then
 * contiguous in the vector axis, and activations are read as scalars, for which any layout will do. Values that no contraction
 * makes follow the values they read. */
#include "sched.h"
#include "../ir/refmap.h"
#include <stdlib.h>
#include <string.h>

/* Finds the axis of u that moves with a given axis of a stored value v, from the index expressions of the loads. It is the axis
 * of u whose range alone is in v's index on that axis. */
typedef struct Follow {
  Sched *s;
  Ref u;                       /* the value to lay out */
  const Ref *ranges;           /* one range per axis of u */
  Ref only;                    /* the only value that votes, as if it were in memory; 0: all stored values vote */
  int only_inner;              /* innermost axis of `only` */
  double votes[MAX_RANK];      /* by axis of u: elements read that move with it */
  RefMap seen;                 /* values that have voted; each votes once */
} Follow;

static int axis_of_range(const IR *ir, const Ref *ranges, int rank, Ref e) {
  for (int a = 0; a < rank; a++)
    if (ranges[a] && node(ir, ranges[a])->op == OP_RANGE && ix_uses(ir, e, ranges[a])) return a;
  return -1;
}

/* Walks the expression of u down to stored values and counts votes. It follows views by their index maps, as kernelize.c does,
 * but builds no arithmetic. */
static void vote(Follow *f, Ref r, const Ref *idx, bool top) {
  Sched *s = f->s;
  IR *ir = s->ir;
  const Node *x = node(ir, r), *u = node(ir, f->u);
  Place *p = &s->place[r];
  if (p->reads_halo) p = &s->place[pad_data(x)];
  if (!top && (p->materialized || x->op == OP_PARAM || x->op == OP_WEIGHT || r == f->only)) {
    if (f->only && f->only != r) return;
    double elems = (double)dims_elems(x->dims, x->rank);
    /* row-major: the last axis with an extent above 1 */
    int inner = r == f->only ? f->only_inner : p->materialized && p->inner >= 0 ? p->inner : x->rank - 1;
    while (inner > 0 && x->dims[inner] == 1 && r != f->only && p->inner < 0) inner--;
    if (inner < 0 || x->dims[inner] == 1) return;
    int a = axis_of_range(ir, f->ranges, u->rank, idx[inner]);
    if (a >= 0 && u->dims[a] > 1) f->votes[a] += elems;
    return;
  }
  if (refmap_get(&f->seen, r)) return;
  refmap_set(&f->seen, r, r);
  Ref at[MAX_RANK];
  for (int k = 0; k < x->nsrc; k++) {
    if (x->op == OP_PAD && k == 1) continue;
    const Node *y = node(ir, x->src[k]);
    switch ((Op)x->op) {
    case OP_PERMUTE:
      for (int i = 0; i < x->rank; i++) at[permute_perm(x, i)] = idx[i];
      break;
    case OP_WINDOW:
      for (int i = 0; i < y->rank; i++) at[i] = idx[i]; /* the index within the window does not matter here */
      break;
    case OP_REDUCE:
      for (int i = 0; i < y->rank; i++) at[i] = (reduce_axes(x) >> i & 1) ? ix_const(ir, 0) : idx[i];
      break;
    case OP_EXPAND:
      for (int i = 0; i < y->rank; i++) at[i] = y->dims[i] == 1 ? ix_const(ir, 0) : idx[i];
      break;
    case OP_RESHAPE: { /* an axis moves with the axis that contains its step */
      int64_t inner_x = 1;
      for (int i = 0; i < y->rank; i++) at[i] = ix_const(ir, 0);
      for (int i = x->rank - 1; i >= 0; inner_x *= x->dims[i], i--) {
        int64_t inner_y = 1;
        for (int j = y->rank - 1; j >= 0; inner_y *= y->dims[j], j--)
          if (y->dims[j] > 1 && inner_x <= inner_y && inner_y < inner_x * x->dims[i]) at[j] = idx[i];
      }
      break;
    }
    default:
      for (int i = 0; i < y->rank; i++) at[i] = idx[i];
      break;
    }
    if (y->rank != x->rank && x->op != OP_RESHAPE && x->op != OP_WINDOW) continue;
    vote(f, x->src[k], at, false);
  }
}

/* The contraction inlined into r, at most one (materialize.c); 0: none. */
static Ref contraction_of(Sched *s, Ref r) {
  RefMap seen = { 0 };
  Refs todo = { 0 };
  Ref found = 0;
  VEC_PUSH(&todo, r);
  while (todo.n && !found) {
    Ref q = todo.p[--todo.n];
    const Node *x = node(s->ir, q);
    if (is_contraction(s->ir, q)) found = q;
    for (int k = 0; k < x->nsrc; k++) {
      const Place *p = &s->place[x->src[k]];
      if (p->materialized || p->reads_halo || refmap_get(&seen, x->src[k])) continue;
      refmap_set(&seen, x->src[k], x->src[k]);
      VEC_PUSH(&todo, x->src[k]);
    }
  }
  VEC_FREE(&todo);
  refmap_free(&seen);
  return found;
}

static bool from_weight(Sched *s, Ref r) { return !node(s->ir, r)->varies; }

/* Whether element r depends on axis a of its own index. Follows views only. */
static bool varies(const IR *ir, Ref r, int a) {
  for (;;) {
    const Node *x = node(ir, r), *y = x->nsrc ? node(ir, x->src[0]) : NULL;
    switch ((Op)x->op) {
    case OP_EXPAND:
      if (y->dims[a] == 1 && x->dims[a] != 1) return false;
      break;
    case OP_PERMUTE: a = (int)permute_perm(x, a); break;
    case OP_WINDOW:
      if (a == y->rank) return true;
      break;
    case OP_SHRINK: case OP_CAST: break;
    case OP_RESHAPE: {
      int64_t inner = 1;
      int j = y->rank - 1;
      for (int i = x->rank - 1; i > a; i--) inner *= x->dims[i];
      for (int64_t in = 1; j >= 0; in *= y->dims[j], j--)
        if (in == inner && y->dims[j] == x->dims[a]) break;
      if (j < 0) return true;
      a = j;
      break;
    }
    case OP_CONST: return false;
    default: return x->rank > a && x->dims[a] != 1;
    }
    r = operand(x);
  }
}

/* The axis of contraction c's result that the weights have and the activations lack; -1: none, as in depthwise steps.
 * *weighted: one operand is constant. */
static int weight_axis(Sched *s, Ref c, bool *weighted) {
  IR *ir = s->ir;
  const Node *x = node(ir, c);
  Ref m = operand(x);
  *weighted = false;
  if (node(ir, m)->op != OP_MUL) return -1;
  Ref a = lhs(node(ir, m)), w = rhs(node(ir, m));
  if (!from_weight(s, w)) { Ref t = a; a = w; w = t; }
  if (!from_weight(s, w)) return -1;
  *weighted = true;
  int best = -1;
  for (int i = 0; i < x->rank; i++)
    if (x->dims[i] >= 4 && !varies(ir, a, i) && (best < 0 || x->dims[i] > x->dims[best])) best = i;
  return best;
}

void sched_layout_seed(Sched *s, Ref r) {
  IR *ir = s->ir;
  const Node *x = node(ir, r);
  Place *p = &s->place[r];
  p->inner = -1;
  if (x->rank < 3 || op_is_of_loops((Op)x->op)) return;
  Ref c = contraction_of(s, r), ranges[MAX_RANK];
  bool weighted = true;
  int w = c ? weight_axis(s, c, &weighted) : -1;
  if (!weighted) return; /* both operands are activations; their own order is as good as any */
  if (c == r && w >= 0) p->inner = w;
  else {
    Follow f = { .s = s, .u = r, .ranges = ranges, .only = w >= 0 ? c : 0, .only_inner = w };
    for (int a = 0; a < x->rank; a++)
      ranges[a] = x->dims[a] > 1
                      ? node_make(ir, OP_RANGE, DT_I64, 1, 0, NULL, 3, (int64_t[]){ x->dims[a], -1 - a, RK_LOOP }, 0, NULL)
                      : ix_const(ir, 0);
    vote(&f, r, ranges, true);
    for (int a = 0; a < x->rank; a++)
      if (f.votes[a] > 0 && (p->inner < 0 || f.votes[a] > f.votes[p->inner])) p->inner = a;
    refmap_free(&f.seen);
  }
  if (p->inner == x->rank - 1 || (s->needs && p->inner >= 0 && need_lies_in(x, &s->needs[r], p->inner))) p->inner = -1;
}

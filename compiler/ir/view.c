/* SPDX-License-Identifier: MIT */
/* view.c: passes an index through movement: the element of the source that element idx of a view is. */
#include "ir.h"
#include <string.h>

bool op_is_movement(Op op) { return op_info[op].algebra & MOVE && op != OP_CAT && op != OP_PAD; }

Ref view_base(const IR *ir, Ref r) {
  while (op_is_movement((Op)node(ir, r)->op)) r = operand(node(ir, r));
  return r;
}

Ref view_over(IR *ir, Ref r, Ref base, Ref other) {
  if (r == base) return other;
  const Node *x = node(ir, r);
  Ref src[3] = { view_over(ir, x->src[0], base, other) };
  CHECK(x->nsrc <= 3);
  memcpy(src + 1, x->src + 1, (x->nsrc - 1u) * sizeof *src);
  return node_with_src(ir, r, src);
}

/* row-major index in a shape, and back */
static Ref flatten(IR *ir, const int64_t *dims, int rank, const Ref *idx) {
  Ref flat = ix_const(ir, 0);
  for (int a = 0; a < rank; a++) flat = ix_add(ir, ix_mul(ir, flat, dims[a]), idx[a]);
  return flat;
}

static void unflatten(IR *ir, Ref flat, const int64_t *dims, int rank, Ref *idx) {
  int64_t inner = 1;
  for (int a = rank - 1; a >= 0; inner *= dims[a], a--) {
    Ref q = ix_div(ir, flat, inner ? inner : 1);
    idx[a] = a ? ix_mod(ir, q, dims[a] ? dims[a] : 1) : q;
  }
}

/* Groups of axes with equal products map onto each other separately, so indices stay small and affine. */
static void reshape_index(IR *ir, const Node *x, const Node *y, const Ref *idx, Ref *at) {
  int i = 0, j = 0;
  while (j < y->rank) {
    int i0 = i, j0 = j;
    int64_t pi = 1, pj = 1;
    do {
      if (pi <= pj && i < x->rank) pi *= x->dims[i++];
      else if (j < y->rank) pj *= y->dims[j++];
      else break;
    } while (pi != pj || j == j0);
    while (i < x->rank && x->dims[i] == 1) i++;
    if (i == x->rank) while (j < y->rank) j++;
    unflatten(ir, flatten(ir, x->dims + i0, i - i0, idx + i0), y->dims + j0, j - j0, at + j0);
  }
}

void view_index(IR *ir, Ref view, const Ref *idx, Ref *at) {
  const Node *x = node(ir, view), *y = node(ir, operand(x));
  switch ((Op)x->op) {
  case OP_RESHAPE: reshape_index(ir, x, y, idx, at); return;
  case OP_EXPAND:
    for (int a = 0; a < x->rank; a++) at[a] = y->dims[a] == 1 ? ix_const(ir, 0) : idx[a];
    return;
  case OP_PERMUTE:
    for (int a = 0; a < x->rank; a++) at[permute_perm(x, a)] = idx[a];
    return;
  case OP_SHRINK:
    for (int a = 0; a < x->rank; a++) at[a] = ix_add(ir, ix_mul(ir, idx[a], shrink_step(x, a)), ix_const(ir, shrink_begin(x, a)));
    return;
  case OP_WINDOW:
    for (int a = 0; a < y->rank; a++) at[a] = idx[a];
    at[window_axis(x)] = ix_add(ir, ix_mul(ir, idx[window_axis(x)], window_stride(x)),
                                ix_mul(ir, idx[y->rank], window_dilation(x)));
    return;
  default: BUG("%s is not a view", op_info[x->op].name);
  }
}

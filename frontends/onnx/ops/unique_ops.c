/* SPDX-License-Identifier: MIT */
/* unique_ops.c: Unique. The number of unique elements depends on the data; for data that is not constant, the result has
 * --capacity entries. Each element, or slice along an axis, is compared with each other: quadratic, but all of it is
 * elementwise work and sums. */
#include "../core/build.h"

#define MOST_COMPARED ((int64_t)1 << 32)

static Ref sum_over(Build *b, Ref flags, int axis) {
  return without_axes(b->ir, g_reduce(b->ir, OP_ADD, g_cast(b->ir, flags, DT_I64), 1u << axis), 1u << axis);
}

static Ref least_over(Build *b, Ref x, int axis) {
  return without_axes(b->ir, g_reduce(b->ir, OP_MIN, x, 1u << axis), 1u << axis);
}

/* Whether row i of [n, m] precedes row j, at [i, j]: the first differing column decides */
static Ref rows_before(Build *b, Ref rows) {
  IR *ir = b->ir;
  const int64_t n = node(ir, rows)->dims[0], m = node(ir, rows)->dims[1];
  Ref i = g_reshape(ir, rows, 3, (int64_t[]){ n, 1, m }), j = g_reshape(ir, rows, 3, (int64_t[]){ 1, n, m });
  Ref less = greater(ir, j, i), column = iota_axis(ir, DT_I64, m, 2, 3);
  Ref differs = g_reduce(ir, OP_MIN, g_where(ir, g_binary(ir, OP_OR, less, greater(ir, i, j)), column, integer(b, m)), 4u);
  Ref decides = both(b, less, g_binary(ir, OP_CMPEQ, column, differs));
  return g_binary(ir, OP_CMPNE, sum_over(b, decides, 2), integer(b, 0));
}

/* The slices of x along the axis, as rows */
static Ref rows_of(Build *b, Ref x, int axis) {
  const Node *n = node(b->ir, x);
  int64_t perm[MAX_RANK] = { axis };
  for (int i = 0, to = 1; i < n->rank; i++)
    if (i != axis) perm[to++] = i;
  const int64_t rows = n->dims[axis], columns = dims_elems(n->dims, n->rank) / rows;
  return g_reshape(b->ir, g_permute(b->ir, x, perm), 2, (int64_t[]){ rows, columns });
}

/* By row: its index among the unique rows, i64[n], in sorted order or in order of first occurrence. *total: number of unique
 * rows */
static Ref places(Build *b, Ref before, bool sorted, Ref *total) {
  IR *ir = b->ir;
  const int64_t n = node(ir, before)->dims[0];
  Ref i = iota_axis(ir, DT_I64, n, 0, 2);
  Ref either = g_binary(ir, OP_OR, before, g_permute(ir, before, (int64_t[]){ 1, 0 }));
  Ref first_like = least_over(b, g_where(ir, either, integer(b, n), i), 0); /* by row j */
  Ref is_first = g_reshape(ir, g_binary(ir, OP_CMPEQ, first_like, g_iota(ir, DT_I64, n)), 2, (int64_t[]){ n, 1 });
  Ref earlier = sorted ? before : g_binary(ir, OP_CMPLT, i, g_reshape(ir, first_like, 2, (int64_t[]){ 1, n }));
  *total = g_reshape(ir, sum_over(b, is_first, 0), 0, NULL);
  return sum_over(b, both(b, is_first, earlier), 0);
}

void op_unique(Build *b) {
  IR *ir = b->ir;
  const Node *x = in_node(b, 0);
  const int64_t elems = dims_elems(x->dims, x->rank);
  const int axis = attr_set(b, "axis") ? axis_of(b, attr_int(b, "axis"), x->rank) : 0;
  Ref data = attr_set(b, "axis") ? b->in[0] : g_reshape(ir, b->in[0], 1, &elems), total, there = 0;
  const Node *d = node(ir, data);
  Tensor known;
  int64_t n, dims[MAX_RANK];
  if (!elems) bad(b, "the input is empty");
  if (elems_mul(b, d->dims[axis], elems) > MOST_COMPARED)
    bad(b, "finding equal elements among %lld takes more than 2^32 comparisons", (long long)d->dims[axis]);
  Ref place = places(b, rows_before(b, rows_of(b, data, axis)), attr_int(b, "sorted"), &total);
  if (const_tensor(b, total, &known)) n = tensor_int(&known, 0);
  else {
    n = need_capacity(b);
    there = counted_rows(b, total);
  }
  const int64_t all = d->dims[axis];
  Ref hit = g_binary(ir, OP_CMPEQ, g_reshape(ir, place, 2, (int64_t[]){ 1, all }), iota_axis(ir, DT_I64, n, 0, 2));
  Ref at = least_over(b, g_where(ir, hit, iota_axis(ir, DT_I64, all, 1, 2), integer(b, all - 1)), 1);
  Ref counts = sum_over(b, hit, 1);
  for (int i = 0; i < d->rank; i++) dims[i] = i == axis ? n : 1;
  Ref y = g_gather(ir, data, g_reshape(ir, at, d->rank, dims), axis);
  b->out[0] = there ? g_where(ir, g_reshape(ir, there, d->rank, dims), y, c_int(ir, in_dt(b, 0), 0)) : y;
  if (b->nout > 1) b->out[1] = there ? g_where(ir, there, at, integer(b, -1)) : at;
  if (b->nout > 2) b->out[2] = place;
  if (b->nout > 3) b->out[3] = there ? g_where(ir, there, counts, integer(b, 0)) : counts;
}

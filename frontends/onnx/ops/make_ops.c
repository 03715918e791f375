/* SPDX-License-Identifier: MIT */
/* make_ops.c: operators that make values: Constant, Shape, Range, OneHot, triangles; and running sums, which reduce a window
 * over all previous elements. */
#include "../core/build.h"
#include <math.h>

static Ref shape_of(Build *b, int64_t from, int64_t to) {
  const Node *x = in_node(b, 0);
  return ints_ref(b, (int)(to - from), x->dims ? x->dims + from : (const int64_t[]){ 0 });
}

void op_shape(Build *b) {
  int64_t rank = in_node(b, 0)->rank, from = attr_int(b, "start"), to = attr_set(b, "end") ? attr_int(b, "end") : rank;
  from = clamp(from < 0 ? from + rank : from, 0, rank);
  to = clamp(to < 0 ? to + rank : to, 0, rank);
  check_counts(b, b->in[0], from, to);
  b->out[0] = shape_of(b, from, to > from ? to : from);
}

void op_size(Build *b) {
  check_counts(b, b->in[0], 0, in_node(b, 0)->rank);
  b->out[0] = c_int(b->ir, DT_I64, dims_elems(in_node(b, 0)->dims, in_node(b, 0)->rank));
}

static Ref constant_attr(Build *b, const Tensor *t) {
  b->result_narrow = t->narrow;
  return g_weight(b->ir, ir_tensor(b->ir, t));
}

void op_constant(Build *b) {
  static const char *const names[] = { "value", "value_float", "value_floats", "value_int", "value_ints" };
  const AttrVal *v = NULL;
  for (int i = 0; i < 5; i++) {
    const AttrVal *a = attr_find(b, names[i]);
    if (a->set && v) bad(b, "more than one attribute gives a value");
    if (a->set) v = a;
  }
  if (!v) bad(b, "no attribute gives a value of a supported kind");
  if (v->kind == 't') b->out[0] = constant_attr(b, v->tensor);
  else if (v->kind == 'i') b->out[0] = c_int(b->ir, DT_I64, v->i);
  else if (v->kind == 'f') b->out[0] = c_float(b->ir, DT_F32, v->f);
  else if (v->kind == 'I') b->out[0] = ints_ref(b, (int)v->n, v->ints);
  else b->out[0] = tensor_ref(b, DT_F32, 1, (int64_t[]){ (int64_t)v->n }, v->floats);
}

void op_constant_of_shape(Build *b) {
  int n;
  const int64_t *dims = const_ints(b, 0, "input", &n);
  const Tensor *t = attr_find(b, "value")->tensor;
  if (t && t->elems != 1) bad(b, "attribute 'value' has %lld elements, expected 1", (long long)t->elems);
  check_dims(b, n, dims);
  Ref v = t ? g_reshape(b->ir, constant_attr(b, t), 0, NULL) : c_float(b->ir, DT_F32, 0);
  b->out[0] = g_expand(b->ir, v, n, dims);
}

void op_range(Build *b) {
  IR *ir = b->ir;
  static const char *const names[] = { "start", "limit", "delta" };
  double v[3], count;
  int n;
  DType d = in_dt(b, 0), acc = acc_type(d);
  for (int k = 0; k < 3; k++) {
    v[k] = *const_floats(b, k, names[k], &n);
    if (n != 1) bad(b, "input '%s' is not a scalar", names[k]);
  }
  count = ceil((v[1] - v[0]) / v[2]);
  if (isfinite(count) && v[2] != 0 && count > (double)MAX_ELEMS)
    bad(b, "a range from %g to %g in steps of %g has more than %lld elements", v[0], v[1], v[2], (long long)MAX_ELEMS);
  if (v[2] == 0 || isnan(count) || count > (double)MAX_ELEMS)
    bad(b, "a range from %g to %g in steps of %g has no end", v[0], v[1], v[2]);
  Ref at = g_iota(ir, acc, count > 0 ? (int64_t)count : 0);
  at = g_binary(ir, OP_MUL, at, g_cast(ir, g_reshape(ir, b->in[2], 0, NULL), acc));
  b->out[0] = g_cast(ir, g_binary(ir, OP_ADD, at, g_cast(ir, g_reshape(ir, b->in[0], 0, NULL), acc)), d);
}

/* com.microsoft: the step is optional, 1 by default */
void op_ms_range(Build *b) {
  if (!has_in(b, 2)) b->in[2] = num(b, b->in[0], 1);
  b->nin = 3;
  build_newest(b);
}

/* An index outside of -depth .. depth - 1 gives a row of off values. */
void op_one_hot(Build *b) {
  IR *ir = b->ir;
  const Node *idx = in_node(b, 0);
  int n, rank = idx->rank + 1, from = 0, axis = axis_of(b, attr_int(b, "axis"), rank);
  const double *depth = const_floats(b, 1, "depth", &n);
  if (n != 1 || !(*depth >= 0 && *depth <= (double)MAX_ELEMS)) bad(b, "input 'depth' must be one number from 0 to 2^40");
  if (in_node(b, 2)->rank != 1 || in_node(b, 2)->dims[0] != 2) bad(b, "input 'values' must be a vector of 2 elements");
  int64_t dims[MAX_RANK], size = (int64_t)*depth;
  for (int i = 0; i < rank; i++) dims[i] = i == axis ? 1 : idx->dims[from++];
  Ref at = g_reshape(ir, g_cast(ir, b->in[0], DT_I64), rank, dims);
  dims[axis] = size;
  check_dims(b, rank, dims);
  at = g_where(ir, g_binary(ir, OP_CMPLT, at, c_int(ir, DT_I64, 0)), g_binary(ir, OP_ADD, at, c_int(ir, DT_I64, size)), at);
  Ref value[2];
  for (int k = 0; k < 2; k++) value[k] = g_reshape(ir, shrink_axis(ir, b->in[2], 0, k, 1, 1), 0, NULL);
  b->out[0] = g_where(ir, g_binary(ir, OP_CMPEQ, at, iota_axis(ir, DT_I64, size, axis, rank)), value[1], value[0]);
}

/* column - row over the last two axes, as i64 */
static Ref diagonal(IR *ir, int rank, const int64_t *dims) {
  return g_binary(ir, OP_SUB, iota_axis(ir, DT_I64, dims[rank - 1], rank - 1, rank),
                  iota_axis(ir, DT_I64, dims[rank - 2], rank - 2, rank));
}

void op_eye_like(Build *b) {
  IR *ir = b->ir;
  const Node *x = in_node(b, 0);
  if (x->rank != 2) bad(b, "the input has rank %d, expected 2", x->rank);
  DType d = attr_set(b, "dtype") ? dtype_from_onnx((int)clamp(attr_int(b, "dtype"), 0, 99)) : in_dt(b, 0);
  if (!d) bad(b, "type %lld is not supported", (long long)attr_int(b, "dtype"));
  b->out[0] = g_cast(ir, g_binary(ir, OP_CMPEQ, diagonal(ir, 2, x->dims), c_int(ir, DT_I64, attr_int(b, "k"))), d);
}

void op_trilu(Build *b) {
  IR *ir = b->ir;
  const Node *x = in_node(b, 0);
  int n;
  int64_t k = has_in(b, 1) ? *const_ints(b, 1, "k", &n) : 0;
  if (x->rank < 2) bad(b, "the input has rank %d, expected at least 2", x->rank);
  Ref at = diagonal(ir, x->rank, x->dims), limit = c_int(ir, DT_I64, k);
  Ref keep = attr_int(b, "upper") ? g_binary(ir, OP_CMPLE, limit, at) : g_binary(ir, OP_CMPLE, at, limit);
  b->out[0] = g_where(ir, keep, b->in[0], c_int(ir, in_dt(b, 0), 0));
}

/* Running sums and products: each result reduces a window over all elements before it. */
void op_cumulative(Build *b) {
  IR *ir = b->ir;
  const Node *x = in_node(b, 0);
  Op op = (Op)b->row->arg;
  int n, axis = axis_of(b, *const_ints(b, 1, "axis", &n), x->rank);
  int64_t extent = x->dims[axis];
  DType acc = acc_type(in_dt(b, 0));
  if (!extent) {
    b->out[0] = b->in[0];
    return;
  }
  bool reverse = attr_int(b, "reverse"), exclusive = attr_int(b, "exclusive");
  int64_t before = extent - 1 + exclusive, lo = reverse ? 0 : before, hi = reverse ? before : 0;
  Ref all = pad_axes(ir, g_cast(ir, b->in[0], acc), axis, 1, &lo, &hi, c_int(ir, acc, op == OP_MUL));
  if (exclusive) all = shrink_axis(ir, all, axis, reverse, 1, 2 * extent - 1);
  Ref r = g_reduce(ir, op, g_window(ir, all, axis, extent, extent, 1, 1), 1u << x->rank);
  b->out[0] = g_cast(ir, without_axes(ir, r, 1u << x->rank), in_dt(b, 0));
}

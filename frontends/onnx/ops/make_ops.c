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

/* One string, or a vector of strings */
static Ref constant_strings(Build *b, const AttrVal *v) {
  const Bytes one = { (const uint8_t *)v->s, v->s ? strlen(v->s) : 0 };
  const bool list = v->kind == 'S';
  Ref table = string_table(b, list ? v->strings : &one, list ? (int64_t)v->n : 1);
  const int64_t width = string_width(b, table);
  b->result_narrow = ONNX_STRING;
  return list ? table : g_reshape(b->ir, table, 1, &width);
}

void op_constant(Build *b) {
  static const char *const names[] = { "value",      "value_float",  "value_floats", "value_int",
                                       "value_ints", "value_string", "value_strings" };
  const AttrVal *v = NULL;
  for (int i = 0; i < 7; i++) {
    const AttrVal *a = attr_find(b, names[i]);
    if (a->set && v) bad(b, "more than one attribute gives a value");
    if (a->set) v = a;
  }
  if (!v) bad(b, "no attribute gives a value of a supported kind");
  if (v->kind == 't') b->out[0] = constant_attr(b, v->tensor);
  else if (v->kind == 'i') b->out[0] = c_int(b->ir, DT_I64, v->i);
  else if (v->kind == 'f') b->out[0] = c_float(b->ir, DT_F32, v->f);
  else if (v->kind == 's' || v->kind == 'S') b->out[0] = constant_strings(b, v);
  else if (v->kind == 'I') b->out[0] = ints_ref(b, (int)v->n, v->ints);
  else b->out[0] = tensor_ref(b, DT_F32, 1, (int64_t[]){ (int64_t)v->n }, v->floats);
}

void op_constant_of_shape(Build *b) {
  int n;
  const int64_t *dims = shape_ints(b, 0, "input", &n, WILD_NONE);
  const Tensor *t = attr_find(b, "value")->tensor;
  const bool string = t && t->narrow == ONNX_STRING;
  const int64_t entries = !t ? 1 : string ? dims_elems(t->dims, t->rank - 1) : t->elems;
  if (entries != 1) bad(b, "attribute 'value' has %lld elements, expected 1", (long long)entries);
  check_dims(b, n, dims);
  if (string) {
    int64_t wide[MAX_RANK];
    for (int i = 0; i < n; i++) wide[i] = dims[i];
    wide[n] = t->elems;
    b->out[0] = g_expand(b->ir, g_reshape(b->ir, constant_attr(b, t), 1, &t->elems), n + 1, wide);
    return;
  }
  Ref v = t ? g_reshape(b->ir, constant_attr(b, t), 0, NULL) : c_float(b->ir, DT_F32, 0);
  b->out[0] = g_expand(b->ir, v, n, dims);
}

/* Range by data, of as many elements as the model declares; false: its inputs are constant, or it does not declare them */
static bool range_by_data(Build *b) {
  IR *ir = b->ir;
  int rank;
  if (is_known(b, 0) && is_known(b, 1) && is_known(b, 2)) return false;
  const int64_t *dims = declared_dims(b, 0, &rank);
  if (!dims || rank != 1 || !b->wrong) return false;
  Ref v[3], wide[3];
  const DType d = in_dt(b, 0), acc = acc_type(d);
  for (int k = 0; k < 3; k++) v[k] = g_cast(ir, scalar_in(b, k), acc), wide[k] = g_cast(ir, v[k], DT_F64);
  Ref count = g_unary(ir, OP_CEIL, g_binary(ir, OP_DIV, sub(b, wide[1], wide[0]), wide[2]));
  wrong_if(b, g_binary(ir, OP_CMPNE, at_least(b, count, 0), num(b, count, (double)dims[0])));
  b->out[0] = g_cast(ir, add(b, mul(b, g_iota(ir, acc, dims[0]), v[2]), v[0]), d);
  return true;
}

void op_range(Build *b) {
  if (range_by_data(b)) return;
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
  const double implied = is_known(b, 1) ? 0 : (double)*extent_int(b, 1, "depth", &n, axis);
  const double *depth = is_known(b, 1) ? const_floats(b, 1, "depth", &n) : &implied;
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
  const bool known = !has_in(b, 1) || is_known(b, 1);
  int64_t k = has_in(b, 1) && known ? *const_ints(b, 1, "k", &n) : 0;
  if (x->rank < 2) bad(b, "the input has rank %d, expected at least 2", x->rank);
  Ref at = diagonal(ir, x->rank, x->dims), limit = known ? c_int(ir, DT_I64, k) : g_cast(ir, scalar_in(b, 1), DT_I64);
  Ref keep = attr_int(b, "upper") ? g_binary(ir, OP_CMPLE, limit, at) : g_binary(ir, OP_CMPLE, at, limit);
  b->out[0] = g_where(ir, keep, b->in[0], c_int(ir, in_dt(b, 0), 0));
}

/* Running sums and products: each result reduces a window over all elements before it. */
/* ---- CumSum, CumProd ---- */
/* Along an axis of length up to here, each element adds all before it; a longer axis is cut into blocks of this length.
 * ALONG: where the axis fills vectors, a vector of f32 on the widest machines. ACROSS: where the axes behind it do. */
enum { ALONG = 16, ACROSS = 4 };

/* x shifted by one along the axis, with the neutral element in front */
static Ref shifted(Build *b, Op op, Ref x, int axis) {
  const Node *n = node(b->ir, x);
  const int64_t lo = 1, hi = 0, extent = n->dims[axis];
  return shrink_axis(b->ir, pad_axes(b->ir, x, axis, 1, &lo, &hi, c_int(b->ir, (DType)n->dt, op == OP_MUL)), axis, 0, 1, extent);
}

/* x where the mask is true, else the neutral element, by operations on bits. A selection would become the condition of a
 * load, and each lane would have its own. */
static Ref chosen(Build *b, Ref mask, Ref x, Ref neutral) {
  static const DType by_bytes[] = { [1] = DT_I8, [2] = DT_I16, [4] = DT_I32, [8] = DT_I64 };
  IR *ir = b->ir;
  const DType d = (DType)node(ir, x)->dt, bits = by_bytes[dt_bytes(d)];
  Ref none = c_int(ir, bits, 0), y = g_binary(ir, OP_AND, bitcast(b, x, bits), g_where(ir, mask, c_int(ir, bits, -1), none));
  int64_t zero;
  if (!node_is_const(ir, neutral, &zero) || zero) y = g_binary(ir, OP_OR, y, g_where(ir, mask, none, bitcast(b, neutral, bits)));
  return bitcast(b, y, d);
}

/* The same for an axis of any length: a loop that carries what it has combined so far */
static Ref running_loop(Build *b, Op op, Ref x, int axis, bool exclusive, int loop) {
  IR *ir = b->ir;
  const Node *n = node(ir, x);
  const int64_t extent = n->dims[axis];
  const Ref part = g_slice(ir, loop, g_stored(ir, x), axis, false), neutral = c_int(ir, (DType)n->dt, op == OP_MUL);
  const Node *p = node(ir, part);
  const Ref before = g_carried(ir, loop, 0, g_expand(ir, neutral, p->rank, p->dims)), all = g_binary(ir, op, before, part);
  const Ref yield[] = { g_yield(ir, loop, 0, all), g_yield_slice(ir, loop, exclusive ? before : all, axis, false, extent) };
  loop_spend(b, extent);
  loop_end(b);
  return g_result(ir, g_iterate(ir, loop, extent, 0, 2, yield), 1);
}

/* Element i of the result combines elements 0 to i along the axis. */
static Ref running(Build *b, Op op, Ref x, int axis) {
  IR *ir = b->ir;
  const Node *n = node(ir, x);
  const int64_t inner = dims_elems(n->dims + axis + 1, n->rank - axis - 1), block = inner < ALONG ? ALONG : ACROSS;
  const int64_t extent = n->dims[axis], blocks = (extent + block - 1) / block, lo = 0, hi = blocks * block - extent;
  const Ref neutral = c_int(ir, (DType)n->dt, op == OP_MUL);
  int64_t dims[MAX_RANK], cut[MAX_RANK];
  const int rank = n->rank;
  for (int a = 0; a < rank; a++) dims[a + (a > axis)] = cut[a + (a > axis)] = n->dims[a];
  if (extent <= block) {
    dims[axis] = 1; /* elements i on the next axis, j on this one */
    dims[axis + 1] = extent;
    int64_t terms[MAX_RANK];
    memcpy(terms, dims, sizeof terms);
    terms[axis] = extent;
    terms[axis + 1] = 1;
    Ref j = iota_axis(ir, DT_I32, extent, axis, rank + 1), i = iota_axis(ir, DT_I32, extent, axis + 1, rank + 1);
    Ref y = chosen(b, g_binary(ir, OP_CMPLE, j, i), g_reshape(ir, x, rank + 1, terms), neutral);
    return without_axes(ir, g_reduce(ir, op, y, 1u << axis), 1u << axis);
  }
  cut[axis] = blocks;
  cut[axis + 1] = block;
  Ref inside = stored(b, running(b, op, g_reshape(ir, pad_axes(ir, x, axis, 1, &lo, &hi, neutral), rank + 1, cut), axis + 1));
  Ref totals = without_axes(ir, shrink_axis(ir, inside, axis + 1, block - 1, 1, 1), 2u << axis);
  Ref before = stored(b, shifted(b, op, running(b, op, totals, axis), axis));
  cut[axis + 1] = 1;
  Ref y = g_binary(ir, op, inside, g_reshape(ir, before, rank + 1, cut));
  for (int a = 0; a < rank; a++) dims[a] = a == axis ? blocks * block : n->dims[a];
  return shrink_axis(ir, g_reshape(ir, y, rank, dims), axis, 0, 1, extent);
}

Ref cumulative(Build *b, Op op, Ref x, int axis, bool exclusive, bool reverse) {
  if (!node(b->ir, x)->dims[axis]) return x;
  if (reverse) x = g_flip(b->ir, x, 1u << axis);
  const int loop = b->sized ? loop_begin(b, node(b->ir, x)->dims[axis]) : -1;
  x = loop < 0 ? running(b, op, x, axis) : running_loop(b, op, x, axis, exclusive, loop);
  if (exclusive && loop < 0) x = shifted(b, op, x, axis);
  return reverse ? g_flip(b->ir, x, 1u << axis) : x;
}

/* Along an axis that data give: along all, of which one is selected */
static void cumulative_by_data(Build *b, bool exclusive, bool reverse) {
  IR *ir = b->ir;
  const int rank = in_node(b, 0)->rank;
  if (!rank) bad(b, "the input is a scalar");
  Ref axis = g_cast(ir, scalar_in(b, 1), DT_I64), y = 0;
  wrong_if(b,
           g_binary(ir, OP_OR, g_binary(ir, OP_CMPLT, axis, integer(b, -rank)), g_binary(ir, OP_CMPLE, integer(b, rank), axis)));
  for (int a = 0; a < rank; a++) {
    Ref one = cumulative(b, (Op)b->row->arg, widen(b, b->in[0]), a, exclusive, reverse);
    Ref chosen = g_binary(ir, OP_OR, g_binary(ir, OP_CMPEQ, axis, integer(b, a)),
                          g_binary(ir, OP_CMPEQ, axis, integer(b, a - rank)));
    y = y ? g_where(ir, chosen, one, y) : one;
  }
  b->out[0] = g_cast(ir, y, in_dt(b, 0));
}

void op_cumulative(Build *b) {
  const Node *x = in_node(b, 0);
  const bool exclusive = attr_int(b, "exclusive"), reverse = attr_int(b, "reverse");
  if (!is_known(b, 1)) {
    cumulative_by_data(b, exclusive, reverse);
    return;
  }
  int n, axis = axis_of(b, *const_ints(b, 1, "axis", &n), x->rank);
  b->out[0] = g_cast(b->ir, cumulative(b, (Op)b->row->arg, widen(b, b->in[0]), axis, exclusive, reverse), in_dt(b, 0));
}

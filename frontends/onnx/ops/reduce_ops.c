/* SPDX-License-Identifier: MIT */
/* reduce_ops.c: operators that reduce over axes: Reduce*, ArgMax, the softmax family, normalisations. Sums of f16 and bf16 are
 * accumulated in f32 and rounded once at the end. Variances take two passes and use differences to the mean, because E[x^2] -
 * E[x]^2 cancels. */
#include "../core/build.h"
#include <math.h>

static int64_t reduced_count(const Node *x, uint32_t axes) {
  int64_t n = 1;
  for (int i = 0; i < x->rank; i++)
    if (axes >> i & 1) n *= x->dims[i];
  return n;
}

static Ref reduce_mean(IR *ir, Ref x, uint32_t axes) {
  DType d = (DType)node(ir, x)->dt;
  int64_t n = reduced_count(node(ir, x), axes);
  Ref sum = g_reduce(ir, OP_ADD, g_cast(ir, x, acc_type(d)), axes);
  return g_cast(ir, g_binary(ir, OP_DIV, sum, c_int(ir, acc_type(d), n)), d);
}

/* ---- Reduce*: axes come from the second input; without it, all axes ---- */
static uint32_t axes_to_reduce(Build *b) {
  int rank = in_node(b, 0)->rank, n = 0;
  const int64_t *axes = has_in(b, 1) ? const_ints(b, 1, "axes", &n) : NULL;
  if (n) return axes_of(b, axes, n, rank);
  return attr_int(b, "noop_with_empty_axes") ? 0 : (1u << rank) - 1;
}

static Ref keep_or_drop(Build *b, Ref x, uint32_t axes) { return attr_int(b, "keepdims") ? x : without_axes(b->ir, x, axes); }

static void reduce_with(Build *b, Op op, Op before, Op after) {
  IR *ir = b->ir;
  uint32_t axes = axes_to_reduce(b);
  DType d = in_dt(b, 0);
  Ref x = op == OP_ADD || op == OP_MUL ? widen(b, b->in[0]) : b->in[0];
  if (before == OP_MUL) x = mul(b, x, x);
  else if (before) x = g_unary(ir, before, x);
  x = g_reduce(ir, op, x, axes);
  if (after)
    x = dt_float((DType)node(ir, x)->dt) ? g_unary(ir, after, x) : g_cast(ir, g_unary(ir, after, g_cast(ir, x, DT_F64)), d);
  b->out[0] = keep_or_drop(b, g_cast(ir, x, d), axes);
}

void op_reduce(Build *b) { reduce_with(b, (Op)b->row->arg, OP_NONE, OP_NONE); }
void op_reduce_l1(Build *b) { reduce_with(b, OP_ADD, OP_ABS, OP_NONE); }
void op_reduce_l2(Build *b) { reduce_with(b, OP_ADD, OP_MUL, OP_SQRT); }
void op_reduce_sum_square(Build *b) { reduce_with(b, OP_ADD, OP_MUL, OP_NONE); }
void op_reduce_log_sum(Build *b) { reduce_with(b, OP_ADD, OP_NONE, OP_LOG); }

void op_reduce_mean(Build *b) {
  uint32_t axes = axes_to_reduce(b);
  b->out[0] = keep_or_drop(b, axes ? reduce_mean(b->ir, b->in[0], axes) : b->in[0], axes);
}

/* max + log(sum(exp(x - max))); an infinite max counts as 0, since inf - inf is NaN */
void op_reduce_log_sum_exp(Build *b) {
  IR *ir = b->ir;
  uint32_t axes = axes_to_reduce(b);
  DType d = in_dt(b, 0);
  Ref x = dt_float(d) ? widen(b, b->in[0]) : g_cast(ir, b->in[0], DT_F64), max = g_reduce(ir, OP_MAX, x, axes);
  Ref infinite = g_binary(ir, OP_CMPEQ, g_unary(ir, OP_ABS, max), num(b, x, INFINITY));
  max = g_where(ir, infinite, num(b, x, 0), max);
  Ref sum = g_reduce(ir, OP_ADD, g_unary(ir, OP_EXP, g_binary(ir, OP_SUB, x, max)), axes);
  b->out[0] = keep_or_drop(b, g_cast(ir, add(b, g_unary(ir, OP_LOG, sum), max), d), axes);
}

void op_global_pool(Build *b) {
  const Node *x = in_node(b, 0);
  if (x->rank < 2) bad(b, "the input has rank %d, expected at least 2", x->rank);
  uint32_t axes = ((1u << x->rank) - 1) & ~3u;
  b->out[0] = b->row->arg == OP_ADD ? reduce_mean(b->ir, b->in[0], axes) : g_reduce(b->ir, (Op)b->row->arg, b->in[0], axes);
}

/* ---- ArgMax, ArgMin: the first index of the extreme, or the last; NaN counts as extreme ---- */
static Ref arg_extreme(Build *b, Ref x, Op op, int axis, bool last) {
  IR *ir = b->ir;
  const Node *n = node(ir, x);
  if (!n->dims[axis]) bad(b, "axis %d of the input is empty", axis);
  DType place = n->dims[axis] < INT32_MAX ? DT_I32 : DT_I64;
  Ref hit = g_binary(ir, OP_CMPEQ, x, g_reduce(ir, op, x, 1u << axis));
  if (dt_float((DType)n->dt)) hit = g_binary(ir, OP_OR, hit, g_binary(ir, OP_CMPNE, x, x));
  Ref at = iota_axis(ir, place, n->dims[axis], axis, n->rank), none = c_int(ir, place, last ? -1 : n->dims[axis]);
  return g_cast(ir, g_reduce(ir, last ? OP_MAX : OP_MIN, g_where(ir, hit, at, none), 1u << axis), DT_I64);
}

void op_arg_extreme(Build *b) {
  if (!in_node(b, 0)->rank) bad(b, "the input is a scalar");
  int axis = axis_of(b, attr_int(b, "axis"), in_node(b, 0)->rank);
  Ref at = arg_extreme(b, b->in[0], (Op)b->row->arg, axis, attr_int(b, "select_last_index"));
  b->out[0] = keep_or_drop(b, at, 1u << axis);
}

void op_hardmax(Build *b) {
  IR *ir = b->ir;
  const Node *x = in_node(b, 0);
  int axis = axis_of(b, attr_int(b, "axis"), x->rank);
  Ref at = arg_extreme(b, b->in[0], OP_MAX, axis, false);
  b->out[0] = g_cast(ir, g_binary(ir, OP_CMPEQ, iota_axis(ir, DT_I64, x->dims[axis], axis, x->rank), at), in_dt(b, 0));
}

/* ---- Softmax, LogSoftmax: subtract the maximum, so that exp does not overflow ---- */
Ref softmax(Build *b, Ref x, int axis, bool log) {
  IR *ir = b->ir;
  uint32_t along = 1u << axis;
  x = g_binary(ir, OP_SUB, x, g_reduce(ir, OP_MAX, x, along));
  Ref e = g_unary(ir, OP_EXP, x), sum = g_reduce(ir, OP_ADD, e, along);
  return log ? g_binary(ir, OP_SUB, x, g_unary(ir, OP_LOG, sum)) : mul(b, e, g_unary(ir, OP_RECIP, sum));
}

void op_softmax(Build *b) {
  if (!in_node(b, 0)->rank) bad(b, "the input is a scalar");
  b->out[0] = softmax(b, b->in[0], axis_of(b, attr_int(b, "axis"), in_node(b, 0)->rank), b->row->arg == OP_LOG);
}

/* ---- normalisations ---- */
/* (x - mean) / sqrt(variance + epsilon) over axes. *mean and *recip get the mean and the reciprocal deviation, for operators
 * that return them */
static Ref normalize(Build *b, Ref x, uint32_t axes, double epsilon, Ref *mean, Ref *recip) {
  IR *ir = b->ir;
  *mean = reduce_mean(ir, x, axes);
  Ref d = g_binary(ir, OP_SUB, x, *mean), var = reduce_mean(ir, mul(b, d, d), axes);
  *recip = g_unary(ir, OP_RECIP, g_unary(ir, OP_SQRT, add(b, var, num(b, var, epsilon))));
  return mul(b, d, *recip);
}

/* Input k, a vector over x's channels (axis 1), reshaped to broadcast with x */
static Ref per_channel(Build *b, Ref x, int k, const char *name) {
  const Node *n = node(b->ir, x), *v = in_node(b, k);
  int64_t dims[MAX_RANK], channels = n->rank < 2 ? 1 : n->dims[1]; /* rank 1: a batch of scalars */
  if (!n->rank || v->rank != 1 || v->dims[0] != channels)
    bad(b, "input '%s' must be a vector of %lld elements, one for each channel", name, (long long)channels);
  for (int i = 0; i < n->rank; i++) dims[i] = i == 1 ? n->dims[1] : 1;
  return g_reshape(b->ir, b->in[k], n->rank, dims);
}

/* x * scale' + bias' with scale' = scale / sqrt(var + epsilon) and bias' = B - mean * scale'. Both are constants. A factor per
 * channel can move into the weights of the preceding convolution. */
/* Mean and variance of x by channel take the place of those in v. Outputs 1 and 2 are the running ones, which approach them. */
static void batch_statistics(Build *b, Ref x, Ref v[4]) {
  IR *ir = b->ir;
  const uint32_t axes = ((1u << node(ir, x)->rank) - 1) & ~2u;
  const int64_t channels = node(ir, x)->dims[1], n = dims_elems(node(ir, x)->dims, node(ir, x)->rank) / (channels ? channels : 1);
  const double keep = attr_float(b, "momentum");
  if (!n || !channels) bad(b, "the input is empty, so it has no mean");
  Ref mean = times(b, g_reduce(ir, OP_ADD, x, axes), 1.0 / (double)n), apart = sub(b, x, mean);
  Ref now[2] = { mean, times(b, g_reduce(ir, OP_ADD, mul(b, apart, apart), axes), 1.0 / (double)n) };
  for (int k = 0; k < 2; k++) {
    Ref running = add(b, times(b, v[2 + k], keep), times(b, now[k], 1 - keep));
    if (b->nout > 1 + k) b->out[1 + k] = g_cast(ir, g_reshape(ir, running, 1, &channels), in_dt(b, 3 + k));
    v[2 + k] = now[k];
  }
}

void op_batch_norm(Build *b) {
  IR *ir = b->ir;
  static const char *const names[] = { "scale", "B", "mean", "var" };
  Ref v[4], x = widen(b, b->in[0]);
  for (int k = 0; k < 4; k++) v[k] = g_cast(ir, per_channel(b, b->in[0], k + 1, names[k]), (DType)node(ir, x)->dt);
  if (attr_int(b, "training_mode")) batch_statistics(b, x, v);
  Ref s = g_binary(ir, OP_DIV, v[0], g_unary(ir, OP_SQRT, add(b, v[3], num(b, x, attr_float(b, "epsilon")))));
  Ref shift = g_binary(ir, OP_SUB, v[1], mul(b, v[2], s));
  b->out[0] = g_cast(ir, add(b, mul(b, x, s), shift), in_dt(b, 0));
}

void op_instance_norm(Build *b) {
  const Node *n = in_node(b, 0);
  if (n->rank < 3) bad(b, "the input has rank %d, expected at least 3", n->rank);
  Ref mean, recip, s = per_channel(b, b->in[0], 1, "scale"), t = per_channel(b, b->in[0], 2, "B");
  Ref y = normalize(b, b->in[0], ((1u << n->rank) - 1) & ~3u, attr_float(b, "epsilon"), &mean, &recip);
  b->out[0] = add(b, mul(b, y, s), t);
}

void op_group_norm(Build *b) {
  const Node *n = in_node(b, 0);
  int64_t groups = attr_int(b, "num_groups"), dims[MAX_RANK];
  if (n->rank < 2) bad(b, "the input has rank %d, expected at least 2", n->rank);
  if (n->dims[1] % groups)
    bad(b, "attribute 'num_groups' is %lld, which does not divide %lld channels", (long long)groups, (long long)n->dims[1]);
  for (int i = 2; i < n->rank; i++) dims[i + 1] = n->dims[i];
  dims[0] = n->dims[0];
  dims[1] = groups;
  dims[2] = n->dims[1] / groups;
  Ref mean, recip, s = per_channel(b, b->in[0], 1, "scale"), t = per_channel(b, b->in[0], 2, "bias");
  Ref y = normalize(b, widen(b, g_reshape(b->ir, b->in[0], n->rank + 1, dims)), ((2u << n->rank) - 1) & ~3u,
                    attr_float(b, "epsilon"), &mean, &recip);
  y = g_cast(b->ir, g_reshape(b->ir, y, n->rank, n->dims), in_dt(b, 0));
  b->out[0] = add(b, mul(b, y, s), t);
}

static uint32_t axes_from(Build *b, int rank) {
  int axis = axis_of(b, attr_int(b, "axis"), rank);
  return ((1u << rank) - 1) & ~((1u << axis) - 1);
}

/* Scale and bias apply after the normalised value is rounded to the type of x, as the standard defines. *mean and *recip are
 * optional results of the operators. */
static Ref layer_norm_parts(Build *b, Ref x, uint32_t axes, Ref scale, Ref bias, Ref *mean, Ref *recip) {
  const Node *n = node(b->ir, x);
  Ref y = normalize(b, widen(b, x), axes, attr_float(b, "epsilon"), mean, recip);
  y = mul(b, g_cast(b->ir, y, (DType)n->dt), to_shape(b, scale, n->rank, n->dims));
  return bias ? add(b, y, to_shape(b, bias, n->rank, n->dims)) : y;
}

Ref layer_norm(Build *b, Ref x, Ref scale, Ref bias) {
  Ref mean, recip;
  return layer_norm_parts(b, x, 1u << (node(b->ir, x)->rank - 1), scale, bias, &mean, &recip);
}

void op_layer_norm(Build *b) {
  Ref mean, recip;
  b->out[0] = layer_norm_parts(b, b->in[0], axes_from(b, in_node(b, 0)->rank), b->in[1], has_in(b, 2) ? b->in[2] : 0, &mean,
                               &recip);
  if (b->nout > 1) b->out[1] = mean;
  if (b->nout > 2) b->out[2] = recip;
}

/* The result has the type of the scale. */
static Ref rms_norm_over(Build *b, Ref input, uint32_t axes, Ref scale) {
  IR *ir = b->ir;
  const Node *n = node(ir, input);
  Ref x = widen(b, input), square = reduce_mean(ir, mul(b, x, x), axes);
  Ref recip = g_unary(ir, OP_RECIP, g_unary(ir, OP_SQRT, add(b, square, num(b, x, attr_float(b, "epsilon")))));
  return mul(b, g_cast(ir, mul(b, x, recip), (DType)node(ir, scale)->dt), to_shape(b, scale, n->rank, n->dims));
}

Ref rms_norm(Build *b, Ref x, Ref scale) { return rms_norm_over(b, x, 1u << (node(b->ir, x)->rank - 1), scale); }
void op_rms_norm(Build *b) { b->out[0] = rms_norm_over(b, b->in[0], axes_from(b, in_node(b, 0)->rank), b->in[1]); }

void op_mean_variance_norm(Build *b) {
  static const int64_t usual[] = { 0, 2, 3 };
  int n;
  const int64_t *axes = attr_ints(b, "axes", &n);
  uint32_t mask = axes_of(b, axes ? axes : usual, axes ? n : 3, in_node(b, 0)->rank);
  Ref mean, recip;
  b->out[0] = normalize(b, b->in[0], mask, 1e-9, &mean, &recip);
}

/* A row of zeros stays zero. */
void op_lp_norm(Build *b) {
  IR *ir = b->ir;
  uint32_t axis = 1u << axis_of(b, attr_int(b, "axis"), in_node(b, 0)->rank);
  Ref x = b->in[0], norm;
  if (attr_int(b, "p") == 1) norm = g_reduce(ir, OP_ADD, g_unary(ir, OP_ABS, x), axis);
  else if (attr_int(b, "p") == 2) norm = g_unary(ir, OP_SQRT, g_reduce(ir, OP_ADD, mul(b, x, x), axis));
  else bad(b, "attribute 'p' is %lld, expected 1 or 2", (long long)attr_int(b, "p"));
  Ref zero = num(b, x, 0), none = g_binary(ir, OP_CMPEQ, norm, zero);
  b->out[0] = g_where(ir, none, zero, g_binary(ir, OP_DIV, x, norm));
}

/* x / (bias + alpha / size * sum of squares of the neighbouring channels)^beta. The usual beta of 0.75 is computed by two
 * square roots: exact and cheap, which pow is not. */
void op_lrn(Build *b) {
  IR *ir = b->ir;
  const Node *n = in_node(b, 0);
  int64_t size = attr_int(b, "size"), lo = (size - 1) / 2, hi = size / 2;
  double beta = attr_float(b, "beta");
  if (n->rank < 2) bad(b, "the input has rank %d, expected at least 2", n->rank);
  if (size > MAX_ELEMS) bad(b, "attribute 'size' is %lld, expected at most 2^40", (long long)size);
  Ref x = b->in[0], zero = num(b, x, 0);
  Ref near = g_window(ir, pad_axes(ir, mul(b, x, x), 1, 1, &lo, &hi, zero), 1, n->dims[1], size, 1, 1);
  Ref sum = without_axes(ir, g_reduce(ir, OP_ADD, near, 1u << n->rank), 1u << n->rank);
  Ref base = add(b, mul(b, sum, num(b, x, attr_float(b, "alpha") / (double)size)), num(b, x, attr_float(b, "bias")));
  Ref root = g_unary(ir, OP_SQRT, base);
  Ref power = beta == 0.75  ? mul(b, root, g_unary(ir, OP_SQRT, root))
              : beta == 0.5 ? root
              : beta == 1   ? base
                            : g_binary(ir, OP_POW, base, num(b, x, beta));
  b->out[0] = g_binary(ir, OP_DIV, x, power);
}

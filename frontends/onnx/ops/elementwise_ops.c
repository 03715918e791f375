/* SPDX-License-Identifier: MIT */
/* elementwise_ops.c: elementwise operators: unary, binary, variadic, comparisons, activations. Each becomes a few primitive
 * ops. NaN passes through all of them: MAX, MIN and arithmetic propagate it, and every WHERE keeps x when its comparison is
 * false. */
#include "../core/build.h"
#include <math.h>

static Ref scale(Build *b, Ref x, double k) { return k == 1 ? x : times(b, x, k); }
static Ref offset(Build *b, Ref x, double k) { return k == 0 ? x : plus(b, x, k); }
static Ref less(Build *b, Ref x, double k) { return g_binary(b->ir, OP_CMPLT, x, num(b, x, k)); }

/* ---- plain ops ---- */
void op_identity(Build *b) { b->out[0] = b->in[0]; }
void op_unary(Build *b) { b->out[0] = g_unary(b->ir, (Op)b->row->arg, b->in[0]); }

/* Integers are converted to f64. */
void op_erf(Build *b) {
  DType d = in_dt(b, 0);
  b->out[0] = g_cast(b->ir, g_unary(b->ir, OP_ERF, g_cast(b->ir, b->in[0], dt_float(d) ? d : DT_F64)), d);
}

void op_binary(Build *b) {
  check_broadcast(b, 2, b->in);
  b->out[0] = g_binary(b->ir, (Op)b->row->arg, b->in[0], b->in[1]);
}

static bool all_are(Build *b, Ref r, bool value) {
  const Node *x = node(b->ir, r);
  Tensor t;
  if (dims_elems(x->dims, x->rank) > FOLD_ELEMS || !const_tensor(b, r, &t)) return false;
  for (int64_t i = 0; i < (t.data ? t.elems : 1); i++)
    if ((tensor_int(&t, i) != 0) != value) return false;
  return true;
}

/* And, Or: one constant side may decide alone. So a loop ends at a known iteration if its condition is
 * `data and count < limit`. */
void op_and_or(Build *b) {
  const bool decides = b->row->arg == OP_OR;
  op_binary(b);
  const Node *y = node(b->ir, b->out[0]);
  for (int k = 0; k < 2; k++)
    if (all_are(b, b->in[k], decides)) b->out[0] = g_expand(b->ir, c_int(b->ir, DT_BOOL, decides), y->rank, y->dims);
}

void op_binary_swapped(Build *b) {
  check_broadcast(b, 2, b->in);
  b->out[0] = g_binary(b->ir, (Op)b->row->arg, b->in[1], b->in[0]);
}

void op_not_equal_self(Build *b) { b->out[0] = g_binary(b->ir, OP_CMPNE, b->in[0], b->in[0]); }

/* Max, Min, Sum, Mean */
void op_variadic(Build *b) {
  check_broadcast(b, b->nin, b->in);
  Ref x = b->in[0];
  for (int k = 1; k < b->nin; k++) x = g_binary(b->ir, (Op)b->row->arg, x, b->in[k]);
  b->out[0] = x;
}

void op_mean(Build *b) {
  op_variadic(b);
  b->out[0] = g_binary(b->ir, OP_DIV, b->out[0], num(b, b->out[0], b->nin));
}

static void refuse_constant_zero(Build *b) {
  Tensor t;
  if (dt_float(in_dt(b, 1)) || !const_tensor(b, b->in[1], &t)) return;
  for (int64_t i = 0; i < (t.data ? t.elems : t.elems > 0); i++)
    if (!tensor_int(&t, i)) bad(b, "integer division by the constant 0");
}

void op_div(Build *b) {
  refuse_constant_zero(b);
  op_binary(b);
}

/* fmod takes the sign of the dividend; otherwise the result has the sign of the divisor. */
void op_mod(Build *b) {
  IR *ir = b->ir;
  refuse_constant_zero(b);
  check_broadcast(b, 2, b->in);
  bool is_float = dt_float(in_dt(b, 0));
  if (attr_int(b, "fmod") || !is_float) {
    b->out[0] = g_binary(ir, attr_int(b, "fmod") ? OP_MOD : OP_FLMOD, b->in[0], b->in[1]);
    return;
  }
  if (b->n->opset < 28) bad(b, "attribute 'fmod' is 0, but the inputs are %s; floats need fmod=1", dtype_info[in_dt(b, 0)].text);
  Ref r = g_binary(ir, OP_MOD, b->in[0], b->in[1]), y = b->in[1], zero = num(b, r, 0);
  Ref other_sign = g_binary(ir, OP_CMPNE, g_binary(ir, OP_CMPLT, r, zero), g_binary(ir, OP_CMPLT, y, zero));
  Ref nothing = g_where(ir, g_binary(ir, OP_CMPLT, y, zero), num(b, r, -0.0), zero); /* a zero with the divisor's sign */
  b->out[0] = g_where(ir, g_binary(ir, OP_CMPEQ, r, zero), nothing, g_where(ir, other_sign, add(b, r, y), r));
}

/* The result has the type of the base. Integer powers are computed in f64. Small constant exponents become products: exact for
 * 1 and 2, and far cheaper than a logarithm for 3. */
void op_pow(Build *b) {
  IR *ir = b->ir;
  check_broadcast(b, 2, b->in);
  Ref x = b->in[0], y = b->in[1];
  DType d = in_dt(b, 0), work = dt_float(d) ? d : DT_F64;
  int64_t bits;
  double e = node_is_const(ir, y, &bits) ? bits_to_double(in_dt(b, 1), bits) : 0;
  bool scalar = dims_elems(node(ir, y)->dims, node(ir, y)->rank) == 1 && node(ir, y)->rank <= node(ir, x)->rank;
  if (scalar && dt_float(d) && (e == 1 || e == 2 || e == 3)) {
    b->out[0] = x;
    for (int i = 1; i < (int)e; i++) b->out[0] = mul(b, b->out[0], x);
    return;
  }
  b->out[0] = g_cast(ir, g_binary(ir, OP_POW, g_cast(ir, x, work), g_cast(ir, y, work)), d);
}

void op_shift(Build *b) {
  check_broadcast(b, 2, b->in);
  b->out[0] = g_binary(b->ir, attr_is(b, "direction", "LEFT") ? OP_SHL : OP_SHR, b->in[0], b->in[1]);
}

void op_where(Build *b) {
  check_broadcast(b, 3, b->in);
  b->out[0] = g_where(b->ir, b->in[0], b->in[1], b->in[2]);
}

void op_sign(Build *b) {
  IR *ir = b->ir;
  Ref x = b->in[0], zero = num(b, x, 0), one = num(b, x, 1);
  Ref below = dtype_info[in_dt(b, 0)].cls == 'u' ? x : g_where(ir, g_binary(ir, OP_CMPLT, x, zero), num(b, x, -1), x);
  b->out[0] = g_where(ir, g_binary(ir, OP_CMPLT, zero, x), one, below);
}

void op_isinf(Build *b) {
  IR *ir = b->ir;
  Ref x = b->in[0], r = 0;
  if (attr_int(b, "detect_positive")) r = g_binary(ir, OP_CMPEQ, x, num(b, x, INFINITY));
  if (attr_int(b, "detect_negative")) {
    Ref n = g_binary(ir, OP_CMPEQ, x, num(b, x, -INFINITY));
    r = r ? g_binary(ir, OP_OR, r, n) : n;
  }
  b->out[0] = r ? r : g_expand(ir, c_int(ir, DT_BOOL, 0), in_node(b, 0)->rank, in_node(b, 0)->dims);
}

static DType cast_target(Build *b, int64_t onnx) {
  DType d = onnx > 0 && onnx < 100 ? dtype_from_onnx((int)onnx) : DT_NONE;
  if (!d) bad(b, "casting to type %lld of TensorProto.DataType is not supported", (long long)onnx);
  return d;
}

/* x, forced to be rounded to its half-precision type. This matters where x is observable: later arithmetic must not use
 * unrounded digits. */
static Ref pinned(Build *b, Ref x) {
  const Node *n = node(b->ir, x);
  if ((n->dt != DT_F16 && n->dt != DT_BF16) || !n->nsrc) return x;
  return bitcast(b, bitcast(b, x, DT_U16), (DType)n->dt);
}

/* Converts to or from strings. False: neither is one */
static bool cast_strings(Build *b, int64_t onnx) {
  const bool from = in_narrow(b, 0) == ONNX_STRING, to = onnx == ONNX_STRING;
  if (from) b->out[0] = to ? b->in[0] : numbers_of_text(b, b->in[0], cast_target(b, onnx));
  else if (to) b->out[0] = text_of_numbers(b, b->in[0]);
  if (to) b->result_narrow = ONNX_STRING;
  return from || to;
}

/* Converts to a type of ONNX, which DType may lack */
static void cast_to(Build *b, int64_t onnx) {
  if (cast_strings(b, onnx)) return;
  const SmallType *t = onnx > 0 && onnx < 100 ? small_type((int)onnx) : NULL;
  const Ref x = pinned(b, b->in[0]);
  if (t && t->special == SMALL_POWERS) b->out[0] = narrowed_power(b, x, attr_int(b, "saturate"));
  else if (t) b->out[0] = narrowed(b, t, x, attr_int(b, "saturate"));
  else b->out[0] = pinned(b, g_cast(b->ir, x, cast_target(b, onnx)));
  b->result_narrow = t ? t->onnx : 0;
}

void op_cast(Build *b) { cast_to(b, attr_int(b, "to")); }
void op_cast_like(Build *b) { cast_to(b, in_narrow(b, 1) ? in_narrow(b, 1) : dtype_info[in_dt(b, 1)].onnx); }

void op_bitcast(Build *b) {
  DType d = cast_target(b, attr_int(b, "to")), from = in_dt(b, 0);
  if (dtype_info[d].bits != dtype_info[from].bits)
    bad(b, "the bits of %s cannot be read as %s: the types differ in width", dtype_info[from].text, dtype_info[d].text);
  b->out[0] = bitcast(b, b->in[0], d);
}

/* For inference: returns the data, and a mask that keeps everything. */
void op_dropout(Build *b) {
  int n;
  if (has_in(b, 2) && *const_ints(b, 2, "training_mode", &n) && (!has_in(b, 1) || *const_floats(b, 1, "ratio", &n) > 0))
    bad(b, "input 'training_mode' is true and the ratio is not 0, so the results are random");
  b->out[0] = b->in[0];
  if (b->nout > 1) b->out[1] = g_expand(b->ir, c_int(b->ir, DT_BOOL, 1), in_node(b, 0)->rank, in_node(b, 0)->dims);
}

/* min > max gives max; NaN is propagated. */
void op_clip(Build *b) {
  Ref x = b->in[0];
  for (int k = 1; k <= 2; k++)
    if (has_in(b, k)) x = g_binary(b->ir, k == 1 ? OP_MAX : OP_MIN, x, scalar_in(b, k));
  b->out[0] = x;
}

/* ---- activations: x to y, by the attributes of the node ---- */
/* e^-|x|, which cannot overflow */
static Ref decay(Build *b, Ref x) { return g_unary(b->ir, OP_EXP, g_unary(b->ir, OP_NEG, g_unary(b->ir, OP_ABS, x))); }

/* 1 / (1 + e^-x), computed as c - c e / (1 + e) with e = e^-|x|; c is e for x < 0, else 1. So the rounding errors of sum and
 * quotient count half at most, and vanish as e does. */
static Ref sigmoid(Build *b, Ref x) {
  Ref e = decay(b, x), c = g_where(b->ir, less(b, x, 0), e, num(b, x, 1));
  return g_binary(b->ir, OP_SUB, c, mul(b, c, g_binary(b->ir, OP_DIV, e, offset(b, e, 1))));
}

/* x * sigmoid(k x), computed as x / (1 + e^-kx): fewer roundings, no selection. It gives -0 where e^-kx overflows; in half
 * precision that is too early. */
static Ref swish(Build *b, Ref x, double k) {
  Ref y = scale(b, x, k);
  if (dt_bytes((DType)node(b->ir, x)->dt) < 4) return mul(b, x, sigmoid(b, y));
  return g_binary(b->ir, OP_DIV, x, offset(b, g_unary(b->ir, OP_EXP, g_unary(b->ir, OP_NEG, y)), 1));
}

/* log(1 + e^x) without overflow: max(x, 0) + log(1 + e^-|x|) */
static Ref softplus(Build *b, Ref x) {
  return add(b, at_least(b, x, 0), g_unary(b->ir, OP_LOG, offset(b, decay(b, x), 1)));
}

static Ref hard_sigmoid(Build *b, Ref x, double alpha, double beta) {
  return at_least(b, at_most(b, offset(b, scale(b, x, alpha), beta), 1), 0);
}
static Ref exp_less_1(Build *b, Ref x) { return offset(b, g_unary(b->ir, OP_EXP, x), -1); }

void op_relu(Build *b) { b->out[0] = at_least(b, b->in[0], 0); }
void op_sigmoid(Build *b) { b->out[0] = sigmoid(b, b->in[0]); }
void op_softplus(Build *b) { b->out[0] = softplus(b, b->in[0]); }
void op_swish(Build *b) { b->out[0] = swish(b, b->in[0], attr_float(b, "alpha")); }
void op_scaled_silu(Build *b) {
  b->out[0] = swish(b, has_in(b, 1) ? mul(b, b->in[0], scalar_in(b, 1)) : scale(b, b->in[0], attr_float(b, "alpha")), 1);
}
void op_mish(Build *b) { b->out[0] = mul(b, b->in[0], g_unary(b->ir, OP_TANH, softplus(b, b->in[0]))); }
void op_hard_swish(Build *b) { b->out[0] = mul(b, b->in[0], hard_sigmoid(b, b->in[0], 1.0 / 6, 0.5)); }
void op_hard_sigmoid(Build *b) { b->out[0] = hard_sigmoid(b, b->in[0], attr_float(b, "alpha"), attr_float(b, "beta")); }

void op_mul(Build *b) {
  op_binary(b);
  for (int k = 0; k < 2; k++) {
    Ref x = b->in[!k];
    if (dt_float(in_dt(b, k)) && in_node(b, k)->op == OP_SUB && b->in[k] == sigmoid(b, x)) b->out[0] = swish(b, x, 1);
  }
}

/* ---- operators of the first opsets that never became part of the standard ---- */
void op_scale(Build *b) { b->out[0] = scale(b, b->in[0], attr_float(b, "scale")); }
void op_affine(Build *b) { b->out[0] = offset(b, scale(b, b->in[0], attr_float(b, "alpha")), attr_float(b, "beta")); }

/* alpha * f(beta * x). The row's argument: 1 for f = tanh, else softplus */
void op_scaled(Build *b) {
  Ref x = scale(b, b->in[0], attr_float(b, "beta"));
  b->out[0] = scale(b, b->row->arg ? g_unary(b->ir, OP_TANH, x) : softplus(b, x), attr_float(b, "alpha"));
}

void op_image_scaler(Build *b) {
  const AttrVal *bias = attr_find(b, "bias");
  const Node *x = in_node(b, 0);
  if (x->rank != 4) bad(b, "the input has rank %d, expected 4", x->rank);
  const int64_t channels = x->dims[1];
  if ((size_t)channels != bias->n)
    bad(b, "attribute 'bias' has %zu entries, but the input has %lld channels", bias->n, (long long)channels);
  double *v = ARENA_NEW(&b->c->model, double, bias->n + 1);
  for (size_t i = 0; i < bias->n; i++) v[i] = (double)bias->floats[i];
  b->out[0] = add(b, scale(b, b->in[0], attr_float(b, "scale")), floats_ref(b, in_dt(b, 0), 3, (int64_t[]){ channels, 1, 1 }, v));
}

/* ---- further activations ---- */
void op_leaky_relu(Build *b) {
  Ref x = b->in[0];
  b->out[0] = g_where(b->ir, less(b, x, 0), scale(b, x, attr_float(b, "alpha")), x);
}

void op_prelu(Build *b) {
  const Node *x = in_node(b, 0);
  Ref slope = to_shape(b, b->in[1], x->rank, x->dims), zero = num(b, b->in[0], 0);
  b->out[0] = g_where(b->ir, g_binary(b->ir, OP_CMPLT, b->in[0], zero), mul(b, b->in[0], slope), b->in[0]);
}

void op_elu(Build *b) {
  Ref x = b->in[0];
  b->out[0] = g_where(b->ir, less(b, x, 0), scale(b, exp_less_1(b, x), attr_float(b, "alpha")), x);
}

void op_selu(Build *b) {
  op_elu(b);
  b->out[0] = scale(b, b->out[0], attr_float(b, "gamma"));
}

void op_celu(Build *b) {
  double alpha = attr_float(b, "alpha");
  Ref x = b->in[0], e = exp_less_1(b, g_binary(b->ir, OP_DIV, x, num(b, x, alpha)));
  b->out[0] = add(b, at_least(b, x, 0), at_most(b, scale(b, e, alpha), 0));
}

void op_thresholded_relu(Build *b) {
  Ref x = b->in[0];
  b->out[0] = g_where(b->ir, g_binary(b->ir, OP_CMPLE, x, num(b, x, attr_float(b, "alpha"))), num(b, x, 0), x);
}

void op_shrink(Build *b) {
  double lambda = attr_float(b, "lambd"), bias = attr_float(b, "bias");
  Ref x = b->in[0], middle = g_binary(b->ir, OP_CMPLE, x, num(b, x, lambda));
  Ref right = g_where(b->ir, middle, num(b, x, 0), offset(b, x, -bias));
  b->out[0] = g_where(b->ir, less(b, x, -lambda), offset(b, x, bias), right);
}

void op_softsign(Build *b) {
  Ref x = b->in[0];
  b->out[0] = g_binary(b->ir, OP_DIV, x, offset(b, g_unary(b->ir, OP_ABS, x), 1));
}

void op_gelu(Build *b) {
  IR *ir = b->ir;
  Ref x = b->in[0], inner;
  if (attr_is(b, "approximate", "tanh")) {
    Ref cube = mul(b, mul(b, x, x), x);
    inner = g_unary(ir, OP_TANH, scale(b, add(b, x, scale(b, cube, 0.044715)), sqrt(2 / M_PI)));
  } else {
    inner = g_unary(ir, OP_ERF, scale(b, x, M_SQRT1_2));
  }
  b->out[0] = mul(b, scale(b, x, 0.5), offset(b, inner, 1));
}

/* com.microsoft: a bias may be added first */
void op_bias_gelu(Build *b) {
  if (has_in(b, 1)) {
    check_broadcast(b, 2, b->in);
    b->in[0] = add(b, b->in[0], b->in[1]);
  }
  op_gelu(b);
}

/* SwiGLU(A, B) = A * sigmoid(alpha * A) * B */
void op_swiglu(Build *b) {
  check_broadcast(b, 2, b->in);
  op_swish(b);
  b->out[0] = mul(b, b->out[0], b->in[1]);
}

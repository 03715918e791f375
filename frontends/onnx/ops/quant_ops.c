/* SPDX-License-Identifier: MIT */
/* quant_ops.c: operators on quantised integers: value = (q - zero point) * scale. Scales and zero points are scalars, vectors
 * along an axis, or blocks along an axis. Quantising divides by the scale, as a product with its reciprocal would round
 * differently. It then rounds halves to even, adds the zero point and saturates, as CAST does. Products of quantised tensors
 * are summed exactly in i32. */
#include "../core/build.h"
#include <string.h>

/* Input k, a scale or zero point of x, reshaped to broadcast with x */
static Ref parameter(Build *b, int k, const Node *x, int64_t axis, int64_t block) {
  IR *ir = b->ir;
  const Node *p = in_node(b, k);
  if (dims_elems(p->dims, p->rank) == 1 && !block) return g_reshape(ir, b->in[k], 0, NULL);
  int a = axis_of(b, axis, x->rank);
  int64_t dims[MAX_RANK];
  if (!block) {
    if (p->rank != 1 || p->dims[0] != x->dims[a])
      bad(b, "input %d must be a vector of %lld elements, as many as axis %d has", k, (long long)x->dims[a], a);
    for (int i = 0; i < x->rank; i++) dims[i] = i == a ? p->dims[0] : 1;
    return g_reshape(ir, b->in[k], x->rank, dims);
  }
  int64_t extent = x->dims[a];
  if (block > extent) block = extent > 0 ? extent : 1;
  bool fits = p->rank == x->rank;
  for (int i = 0; fits && i < x->rank; i++) fits = p->dims[i] == (i == a ? (extent + block - 1) / block : x->dims[i]);
  if (!fits) bad(b, "the shape of input %d does not fit blocks of %lld along axis %d", k, (long long)block, a);
  return shrink_axis(ir, repeat_axis(ir, b->in[k], a, block, true), a, 0, 1, extent);
}

/* A scale and its zero point must have one shape; shapes with one element count as scalars */
static void check_zero_point(Build *b) {
  if (!has_in(b, 2)) return;
  const Node *s = in_node(b, 1), *z = in_node(b, 2);
  bool fits = s->rank == z->rank && (!s->rank || !memcmp(s->dims, z->dims, (size_t)s->rank * sizeof *s->dims));
  if (!fits && (dims_elems(s->dims, s->rank) != 1 || dims_elems(z->dims, z->rank) != 1))
    bad(b, "the zero point has shape %s, but the scale has %s", dims_text(b, z->dims, z->rank), dims_text(b, s->dims, s->rank));
}

static DType wanted_type(Build *b, DType otherwise) {
  int64_t onnx = attr_int(b, "output_dtype");
  DType d = onnx > 0 && onnx < 100 ? dtype_from_onnx((int)onnx) : DT_NONE;
  if (onnx && !d) bad(b, "type %lld of the result is not supported", (long long)onnx);
  return onnx ? d : otherwise;
}

/* x is a float. zero: of any type; 0: none */
static Ref quantize(IR *ir, Ref x, Ref scale, Ref zero, DType d) {
  Ref q = g_unary(ir, OP_ROUND, g_binary(ir, OP_DIV, x, scale));
  if (zero) q = g_binary(ir, OP_ADD, q, g_cast(ir, zero, (DType)node(ir, x)->dt));
  return g_cast(ir, q, d);
}

/* The result has the type of the zero point, or of the attribute */
void op_quantize(Build *b) {
  IR *ir = b->ir;
  const Node *x = in_node(b, 0);
  int64_t axis = attr_int(b, "axis"), block = attr_int(b, "block_size"), wanted = attr_int(b, "output_dtype");
  const SmallType *t = small_type(has_in(b, 2) ? in_narrow(b, 2) : wanted == ONNX_STRING ? 0 : (int)clamp(wanted, 0, 99));
  check_zero_point(b);
  if (has_in(b, 2) && !t && dt_float(in_dt(b, 2)))
    bad(b, "input 2 is %s, expected an integer type", dtype_info[in_dt(b, 2)].text);
  DType d = t ? t->kept : wanted_type(b, has_in(b, 2) ? in_dt(b, 2) : DT_U8);
  Ref scale = g_cast(ir, parameter(b, 1, x, axis, block), DT_F32), zero = has_in(b, 2) ? parameter(b, 2, x, axis, block) : 0;
  Ref floats = g_cast(ir, b->in[0], DT_F32);
  b->result_narrow = t ? t->onnx : 0;
  if (t && dt_float(t->kept)) b->out[0] = narrowed(b, t, g_binary(ir, OP_DIV, floats, scale), attr_int(b, "saturate"));
  else if (t) b->out[0] = g_cast(ir, narrow_range(b, t, quantize(ir, floats, scale, zero, DT_I32)), d);
  else b->out[0] = quantize(ir, floats, scale, zero, d);
}

void op_dequantize(Build *b) {
  IR *ir = b->ir;
  const Node *x = in_node(b, 0);
  int64_t axis = attr_int(b, "axis"), block = attr_int(b, "block_size");
  const bool floats = dt_float(in_dt(b, 0)); /* float types have the zero point 0 */
  check_zero_point(b);
  if (floats && !in_narrow(b, 0)) bad(b, "input 0 is %s, expected an integer type", dtype_info[in_dt(b, 0)].text);
  Ref q = floats ? b->in[0] : g_cast(ir, b->in[0], DT_I32), scale = parameter(b, 1, x, axis, block);
  if (has_in(b, 2) && !floats) q = g_binary(ir, OP_SUB, q, g_cast(ir, parameter(b, 2, x, axis, block), DT_I32));
  b->out[0] = g_cast(ir, g_binary(ir, OP_MUL, g_cast(ir, q, DT_F32), g_cast(ir, scale, DT_F32)), wanted_type(b, in_dt(b, 1)));
}

/* The range always includes 0, so that 0 is exact. A tensor of zeros has scale 1. Results: values, scale, zero point */
static void dynamic_quantize(IR *ir, Ref x, Ref *out) {
  uint32_t all = (1u << node(ir, x)->rank) - 1;
  x = g_cast(ir, x, DT_F32);
  Ref zero = c_int(ir, DT_F32, 0), top = c_int(ir, DT_F32, 255);
  Ref hi = g_binary(ir, OP_MAX, without_axes(ir, g_reduce(ir, OP_MAX, x, all), all), zero);
  Ref lo = g_binary(ir, OP_MIN, without_axes(ir, g_reduce(ir, OP_MIN, x, all), all), zero);
  Ref scale = g_binary(ir, OP_DIV, g_binary(ir, OP_SUB, hi, lo), top);
  scale = g_where(ir, g_binary(ir, OP_CMPEQ, scale, zero), c_int(ir, DT_F32, 1), scale);
  out[2] = quantize(ir, g_unary(ir, OP_NEG, lo), scale, 0, DT_U8);
  out[1] = scale;
  out[0] = quantize(ir, x, scale, out[2], DT_U8);
}

void op_dynamic_quantize(Build *b) { dynamic_quantize(b->ir, b->in[0], b->out); }

/* ---- integer products: zero points are subtracted first ---- */
static Ref less_zero(Build *b, Ref q, Ref zero) { return sub(b, g_cast(b->ir, q, DT_I32), g_cast(b->ir, zero, DT_I32)); }

/* Input x minus its zero point: a scalar, one per row (rows) or per column, or of x's rank */
static Ref centred(Build *b, int x, int zero, bool rows) {
  IR *ir = b->ir;
  Ref q = g_cast(ir, b->in[x], DT_I32);
  if (!has_in(b, zero)) return q;
  const Node *z = in_node(b, zero);
  Ref p = b->in[zero];
  if (dims_elems(z->dims, z->rank) == 1) p = g_reshape(ir, p, 0, NULL);
  else if (z->rank == 1 && rows) p = g_reshape(ir, p, 2, (int64_t[]){ z->dims[0], 1 });
  return sub(b, q, to_shape(b, g_cast(ir, p, DT_I32), node(ir, q)->rank, node(ir, q)->dims));
}

/* The same for filters of a convolution; the zero point is a scalar or one per filter */
static Ref centred_filters(Build *b, int w, int zero) {
  if (!has_in(b, zero)) return g_cast(b->ir, b->in[w], DT_I32);
  return less_zero(b, b->in[w], parameter(b, zero, in_node(b, w), 0, 0));
}

void op_matmul_integer(Build *b) { b->out[0] = matmul(b, centred(b, 0, 2, true), centred(b, 1, 3, false)); }
void op_conv_integer(Build *b) { b->out[0] = conv(b, centred(b, 0, 2, false), centred_filters(b, 1, 3)); }

/* Requantises sums of products by one factor: the product of the input scales over the result's scale. ONNX Runtime rounds this
 * way. The standard divides sum * scales by the result's scale, which differs by one step in a few of a hundred thousand
 * values. */
static Ref requantize(Build *b, Ref sum, Ref scales, int scale, int zero) {
  IR *ir = b->ir;
  Ref to = g_cast(ir, parameter(b, scale, node(ir, sum), -1, 0), DT_F32), z = parameter(b, zero, node(ir, sum), -1, 0);
  Ref q = g_unary(ir, OP_ROUND, mul(b, g_cast(ir, sum, DT_F32), g_binary(ir, OP_DIV, g_cast(ir, scales, DT_F32), to)));
  return g_cast(ir, add(b, q, g_cast(ir, z, DT_F32)), in_dt(b, zero));
}

/* inputs: a, its scale and zero point; b, its scale and zero point; the result's scale and zero point */
void op_qlinear_matmul(Build *b) {
  IR *ir = b->ir;
  const Node *a = in_node(b, 1);
  Ref row = a->rank == 1 && a->dims[0] > 1 ? g_reshape(ir, b->in[1], 2, (int64_t[]){ a->dims[0], 1 }) : b->in[1];
  Ref sum = matmul(b, centred(b, 0, 2, true), centred(b, 3, 5, false)), scales[] = { row, b->in[4] };
  check_broadcast(b, 2, scales);
  Ref product = g_binary(ir, OP_MUL, g_cast(ir, row, DT_F32), g_cast(ir, b->in[4], DT_F32));
  if (dims_elems(node(ir, product)->dims, node(ir, product)->rank) == 1) product = g_reshape(ir, product, 0, NULL);
  b->out[0] = requantize(b, sum, to_shape(b, product, node(ir, sum)->rank, node(ir, sum)->dims), 6, 7);
}

/* inputs: x, its scale and zero point; w, its scale and zero point, optionally per filter; the result's; a bias */
void op_qlinear_conv(Build *b) {
  IR *ir = b->ir;
  Ref sum = conv(b, centred(b, 0, 2, false), centred_filters(b, 3, 5));
  if (has_in(b, 8)) sum = add_bias(b, sum, 8);
  Ref x_scale = g_cast(ir, parameter(b, 1, node(ir, sum), 1, 0), DT_F32),
      w_scale = g_cast(ir, parameter(b, 4, node(ir, sum), 1, 0), DT_F32);
  b->out[0] = requantize(b, sum, g_binary(ir, OP_MUL, x_scale, w_scale), 6, 7);
}

/* ---- com.microsoft: quantised forms of float operators ---- */
static Ref dequantized(Build *b, int x, int scale, int zero) {
  IR *ir = b->ir;
  Ref q = g_cast(ir, b->in[x], DT_I32);
  if (has_in(b, zero)) q = g_binary(ir, OP_SUB, q, g_cast(ir, parameter(b, zero, in_node(b, x), 0, 0), DT_I32));
  return g_binary(ir, OP_MUL, g_cast(ir, q, DT_F32), g_cast(ir, parameter(b, scale, in_node(b, x), 0, 0), DT_F32));
}

static Ref quantized(Build *b, Ref y, int scale, int zero, DType d) {
  Ref to = g_cast(b->ir, parameter(b, scale, node(b->ir, y), 0, 0), (DType)node(b->ir, y)->dt);
  return quantize(b->ir, y, to, has_in(b, zero) ? parameter(b, zero, node(b->ir, y), 0, 0) : 0, d);
}

/* QLinearNAME dequantises its inputs, applies NAME and quantises the result. Inputs: each tensor with scale and zero point,
 * then those of the result; zero points are optional. The row's argument: number of tensors */
void op_qlinear(Build *b) {
  Ref in[2];
  int n = (int)b->row->arg;
  for (int k = 0; k <= n; k++) {
    const int scale = k < n ? 3 * k + 1 : 3 * n;
    if (!has_in(b, scale) || !has_in(b, k < n ? 3 * k : 0)) bad(b, "input %d, or its scale, is required, but omitted", 3 * k);
  }
  for (int k = 0; k < n; k++) in[k] = dequantized(b, 3 * k, 3 * k + 1, 3 * k + 2);
  b->out[0] = quantized(b, apply_op(b, b->row->name + strlen("QLinear"), n, in, b->nattr, b->attr), 3 * n, 3 * n + 1,
                        in_dt(b, 0));
}

/* inputs: a condition; two tensors with scales and zero points; the result's scale and zero point */
void op_qlinear_where(Build *b) {
  Ref in[3] = { b->in[0], dequantized(b, 1, 2, 3), dequantized(b, 4, 5, 6) };
  b->out[0] = quantized(b, apply_op(b, "Where", 3, in, 0, NULL), 7, 8, in_dt(b, 1));
}

/* Before opset 13, all axes from the given one on count as one. The result is the softmax in whole steps, halves rounded up.
 * The number of steps per 1 is rounded down. */
void op_qlinear_softmax(Build *b) {
  IR *ir = b->ir;
  const Node *x = in_node(b, 0);
  const int axis = axis_of(b, attr_int(b, "axis"), x->rank);
  const bool flat = attr_int(b, "opset") < 13;
  if (!has_in(b, 1) || !has_in(b, 3)) bad(b, "a scale, input 1 or 3, is required, but omitted");
  Ref y = dequantized(b, 0, 1, 2);
  if (flat) y = g_reshape(ir, y, 2, (int64_t[]){ dims_elems(x->dims, axis), dims_elems(x->dims + axis, x->rank - axis) });
  y = softmax(b, y, flat ? 1 : axis, false);
  Ref steps = g_unary(ir, OP_FLOOR, g_unary(ir, OP_RECIP, g_cast(ir, scalar_in(b, 3), DT_F32)));
  y = g_unary(ir, OP_FLOOR, plus(b, mul(b, y, steps), 0.5));
  if (has_in(b, 4)) y = add(b, y, g_cast(ir, scalar_in(b, 4), DT_F32));
  b->out[0] = g_cast(ir, g_reshape(ir, y, x->rank, x->dims), in_dt(b, 0));
}

/* The scale and zero point of the result come first. */
void op_qlinear_concat(Build *b) {
  int n = (b->nin - 2) / 3;
  if (b->nin != 3 * n + 2 || n < 1)
    bad(b, "there are %d inputs, expected a scale, a zero point, and three more for each part", b->nin);
  Ref *in = ARENA_NEW(&b->c->model, Ref, n);
  for (int k = 0; k < n; k++) {
    if (in_dt(b, 3 * k + 2) != in_dt(b, 1))
      bad(b, "input %d is %s, but the result is %s", 3 * k + 2, dtype_info[in_dt(b, 3 * k + 2)].text,
          dtype_info[in_dt(b, 1)].text);
    in[k] = dequantized(b, 3 * k + 2, 3 * k + 3, 3 * k + 4);
  }
  b->out[0] = quantized(b, apply_op(b, "Concat", n, in, b->nattr, b->attr), 0, 1, in_dt(b, 1));
}

static void with_channels_last(Build *b, bool last, BuildFn build) {
  if (last) b->in[0] = moved_channels(b, b->in[0], true);
  build(b);
  if (last) b->out[0] = moved_channels(b, b->out[0], false);
}

void op_qlinear_pool(Build *b) { with_channels_last(b, attr_int(b, "channels_last"), op_qlinear); }
void op_ms_qlinear_conv(Build *b) { with_channels_last(b, attr_int(b, "channels_last"), op_qlinear_conv); }
void op_nhwc_max_pool(Build *b) { with_channels_last(b, true, op_max_pool); }

/* Integer sums of products, times the scales of both factors; a scale is one number or one per column */
static Ref in_floats(Build *b, Ref sum, Ref a_scale, Ref w_scale) {
  IR *ir = b->ir;
  Ref scales[] = { g_cast(ir, a_scale, DT_F32), g_cast(ir, w_scale, DT_F32) };
  for (int k = 0; k < 2; k++)
    if (dims_elems(node(ir, scales[k])->dims, node(ir, scales[k])->rank) == 1) scales[k] = g_reshape(ir, scales[k], 0, NULL);
  check_broadcast(b, 2, scales);
  const Node *n = node(ir, sum);
  return mul(b, g_cast(ir, sum, DT_F32), to_shape(b, mul(b, scales[0], scales[1]), n->rank, n->dims));
}

/* y plus input k, if it is given */
static Ref with_bias(Build *b, Ref y, int k) {
  const Node *n = node(b->ir, y);
  return has_in(b, k) ? add(b, y, to_shape(b, g_cast(b->ir, b->in[k], (DType)n->dt), n->rank, n->dims)) : y;
}

Ref integer_product(Build *b, int a, int az, Ref a_scale, int w, int wz, Ref w_scale, int bias) {
  Ref sum = matmul(b, centred(b, a, az, true), centred(b, w, wz, false));
  return with_bias(b, in_floats(b, sum, a_scale, w_scale), bias);
}

/* inputs: a, w, their scales, their zero points, a bias */
void op_matmul_integer_to_float(Build *b) {
  b->out[0] = g_cast(b->ir, integer_product(b, 0, 4, b->in[2], 1, 5, b->in[3], 6), in_dt(b, 2));
}

/* x, quantised here, times integers w from which the zero point is already subtracted */
static Ref quantised_product(Build *b, Ref x, Ref w, Ref scale) {
  Ref q[3];
  dynamic_quantize(b->ir, x, q);
  return in_floats(b, matmul(b, less_zero(b, q[0], q[2]), w), q[1], scale);
}

Ref dynamic_product(Build *b, Ref x, Ref w, Ref scale, Ref zero) { return quantised_product(b, x, less_zero(b, w, zero), scale); }

/* inputs: x, floats; w, its scale and zero point; a bias */
void op_dynamic_quantize_matmul(Build *b) {
  b->out[0] = with_bias(b, quantised_product(b, b->in[0], centred(b, 1, 3, false), b->in[2]), 4);
}

/* inputs: a, its scale and zero point; w, its scale and zero point; an integer bias; scale and zero point of the result (none:
 * it is float) */
void op_qgemm(Build *b) {
  for (int k = 0; k <= 3; k += 3)
    if (in_node(b, k)->rank != 2) bad(b, "input %d has rank %d, expected 2", k, in_node(b, k)->rank);
  b->in[0] = turned(b, b->in[0], "transA");
  b->in[3] = turned(b, b->in[3], "transB");
  Ref sum = with_bias(b, matmul(b, centred(b, 0, 2, false), centred(b, 3, 5, false)), 6);
  Ref y = in_floats(b, sum, times(b, g_cast(b->ir, b->in[1], DT_F32), attr_float(b, "alpha")), b->in[4]);
  b->out[0] = has_in(b, 7) ? quantized(b, y, 7, 8, has_in(b, 8) ? in_dt(b, 8) : DT_U8) : y;
}

/* ---- weights of few bits ---- */
/* Unpacks q[n, bytes] into [n, count] values of `bits` bits each, lowest bits first */
Ref unpack_bits(IR *ir, Ref q, int64_t n, int64_t count, int64_t bits) {
  Ref part[8];
  int per = (int)(8 / bits);
  int64_t bytes = (count + per - 1) / per;
  for (int i = 0; i < per; i++) {
    Ref high = g_binary(ir, OP_SHR, q, c_int(ir, DT_U8, i * bits));
    part[i] = g_reshape(ir, g_binary(ir, OP_AND, high, c_int(ir, DT_U8, (1 << bits) - 1)), 3, (int64_t[]){ n, bytes, 1 });
  }
  Ref all = g_reshape(ir, g_cat(ir, per, part, 2), 2, (int64_t[]){ n, bytes * per });
  return shrink_axis(ir, all, 1, 0, 1, count);
}

static Ref of_size(Build *b, int k, int64_t n, int64_t m) {
  const Node *x = in_node(b, k);
  int64_t elems = dims_elems(x->dims, x->rank);
  if (elems != n * m)
    bad(b, "input %d has %lld elements, expected %lld times %lld", k, (long long)elems, (long long)n, (long long)m);
  return g_reshape(b->ir, b->in[k], 2, (int64_t[]){ n, m });
}

/* Block of each of the k columns, from input `at`; NULL: blocks follow one another */
static const int64_t *order_of_blocks(Build *b, int at, int64_t k, int64_t block, int64_t blocks) {
  int n;
  const int64_t *order = has_in(b, at) ? const_ints(b, at, "g_idx", &n) : NULL;
  bool plain = true;
  if (order && n < k) bad(b, "input 'g_idx' has %d entries for %lld columns", n, (long long)k);
  for (int64_t i = 0; i < k && order; i++) {
    if (order[i] < 0 || order[i] >= blocks)
      bad(b, "entry %lld of 'g_idx' is %lld, but there are %lld blocks", (long long)i, (long long)order[i], (long long)blocks);
    plain = plain && order[i] == i / block;
  }
  return plain ? NULL : order;
}

/* x[n, blocks] expanded for the k columns of w[n, k], or reshaped to [n, blocks, 1] for w[n, blocks, block] */
static Ref each_column(Build *b, Ref x, int64_t n, int64_t blocks, const int64_t *order, int64_t k) {
  return order ? take(b, x, 1, order, k) : g_reshape(b->ir, x, 3, (int64_t[]){ n, blocks, 1 });
}

/* a times the transpose of w[N, K]; blocks of w along K have a scale and a zero point each. The attribute accuracy_level says
 * how coarsely an engine may round a; it does not change the result here. */
void op_matmul_nbits(Build *b) {
  IR *ir = b->ir;
  int64_t k = attr_int(b, "K"), n = attr_int(b, "N"), bits = attr_int(b, "bits"), block = attr_int(b, "block_size"),
          blocks = k / block + (k % block != 0);
  const Node *a = in_node(b, 0);
  DType acc = acc_type(in_dt(b, 0));
  if (bits != 2 && bits != 4 && bits != 8) bad(b, "attribute 'bits' is %lld, expected 2, 4 or 8", (long long)bits);
  if (block % (8 / bits))
    bad(b, "blocks of %lld elements of %lld bits do not fill whole bytes", (long long)block, (long long)bits);
  elems_mul(b, n, elems_mul(b, blocks, block));
  if (attr_int(b, "weight_prepacked"))
    bad(b, "attribute 'weight_prepacked' is set: weights packed for another engine are not supported");
  if (!a->rank || a->dims[a->rank - 1] != k) bad(b, "the last axis of input 0 must have %lld elements", (long long)k);
  const int64_t *order = order_of_blocks(b, 4, k, block, blocks);
  Ref q = g_cast(ir, unpack_bits(ir, of_size(b, 1, n, blocks * block * bits / 8), n, blocks * block, bits), acc),
      zero = c_int(ir, acc, (int64_t)1 << (bits - 1));
  q = order ? shrink_axis(ir, q, 1, 0, 1, k) : g_reshape(ir, q, 3, (int64_t[]){ n, blocks, block });
  if (has_in(b, 3)) {
    bool packed = in_dt(b, 3) == DT_U8;
    zero = packed ? unpack_bits(ir, of_size(b, 3, n, (blocks * bits + 7) / 8), n, blocks, bits) : of_size(b, 3, n, blocks);
    zero = each_column(b, g_cast(ir, zero, acc), n, blocks, order, k);
  }
  Ref scale = each_column(b, g_cast(ir, of_size(b, 2, n, blocks), acc), n, blocks, order, k);
  Ref w = g_binary(ir, OP_MUL, g_binary(ir, OP_SUB, q, zero), scale);
  if (!order) w = shrink_axis(ir, g_reshape(ir, w, 2, (int64_t[]){ n, blocks * block }), 1, 0, 1, k);
  Ref y = matmul(b, g_cast(ir, b->in[0], acc), g_permute(ir, w, (int64_t[]){ 1, 0 }));
  if (has_in(b, 5)) y = g_binary(ir, OP_ADD, y, to_shape(b, g_cast(ir, b->in[5], acc), node(ir, y)->rank, node(ir, y)->dims));
  b->out[0] = g_cast(ir, y, in_dt(b, 0));
}

/* a times w[N, K] or its transpose. The rows of w are one after another, in blocks with an absolute maximum each. A byte has
 * two elements, the first in the high bits; each element is an index into a table of fractions of the maximum. */
void op_matmul_bnb4(Build *b) {
  IR *ir = b->ir;
  static const double table[2][16] = {
    { 0, 0.00520833333, 0.66666667, 1, 0.33333333, 0.5, 0.16666667, 0.25, 0, -0.00520833333, -0.66666667, -1, -0.33333333, -0.5,
      -0.16666667, -0.25 },
    { -1, -0.6961928009986877, -0.5250730514526367, -0.39491748809814453, -0.28444138169288635, -0.18477343022823334,
      -0.09105003625154495, 0, 0.07958029955625534, 0.16093020141124725, 0.24611230194568634, 0.33791524171829224,
      0.44070982933044434, 0.5626170039176941, 0.7229568362236023, 1 },
  };
  int64_t k = attr_int(b, "K"), n = attr_int(b, "N"), block = attr_int(b, "block_size"), type = attr_int(b, "quant_type");
  if (type > 1) bad(b, "attribute 'quant_type' is %lld, expected 0 (FP4) or 1 (NF4)", (long long)type);
  if (n > MAX_ELEMS / k || block > MAX_ELEMS) bad(b, "the weights are too large");
  int64_t count = n * k, bytes = (count + 1) / 2, blocks = (count + block - 1) / block;
  DType acc = acc_type(in_dt(b, 0));
  Ref q = of_size(b, 1, bytes, 1),
      half[2] = { g_binary(ir, OP_SHR, q, c_int(ir, DT_U8, 4)), g_binary(ir, OP_AND, q, c_int(ir, DT_U8, 15)) };
  Ref at = g_cast(ir, g_reshape(ir, g_cat(ir, 2, half, 1), 2, (int64_t[]){ bytes * 2, 1 }), DT_I64);
  Ref w = g_gather(ir, floats_ref(b, acc, 2, (int64_t[]){ 16, 1 }, table[type]), at, 0);
  Ref size = repeat_axis(ir, g_cast(ir, of_size(b, 2, blocks, 1), acc), 0, block, true);
  w = mul(b, shrink_axis(ir, w, 0, 0, 1, count), shrink_axis(ir, size, 0, 0, 1, count));
  w = g_reshape(ir, w, 2, (int64_t[]){ n, k });
  if (attr_int(b, "transB")) w = g_permute(ir, w, (int64_t[]){ 1, 0 });
  b->out[0] = g_cast(ir, matmul(b, g_cast(ir, b->in[0], acc), w), in_dt(b, 0));
}

/* Unpacks integers of few bits along the last axis into `columns` bytes */
static Ref unpacked(Build *b, Ref x, int64_t columns, int64_t bits) {
  const Node *n = node(b->ir, x);
  int64_t rows = dims_elems(n->dims, n->rank - 1), dims[MAX_RANK];
  for (int i = 0; i < n->rank - 1; i++) dims[i] = n->dims[i];
  dims[n->rank - 1] = columns;
  Ref flat = g_reshape(b->ir, x, 2, (int64_t[]){ rows, n->dims[n->rank - 1] });
  return g_reshape(b->ir, unpack_bits(b->ir, flat, rows, columns, bits), node(b->ir, x)->rank, dims);
}

/* Gathers from a table whose blocks along an axis have a scale and a zero point each. Only the gathered elements become floats.
 * But if blocks lie along the gathered axis, the whole table does. */
void op_gather_block_quantized(Build *b) {
  enum { TABLE, INDEX, SCALES, ZEROS };
  IR *ir = b->ir;
  const Node *q = in_node(b, TABLE), *scale = in_node(b, SCALES);
  const bool bytes = !in_narrow(b, TABLE); /* a byte holds several integers, if these have few bits */
  const int64_t bits = bytes ? attr_int(b, "bits") : 8, block = attr_int(b, "block_size");
  if (bytes && (in_dt(b, TABLE) != DT_U8 || (bits != 2 && bits != 4 && bits != 8)))
    bad(b, "a table of bytes must be u8, with attribute 'bits' 2, 4 or 8");
  if (!q->rank || scale->rank != q->rank)
    bad(b, "inputs 'data' and 'scales' have rank %d and %d, expected the same above 0", q->rank, scale->rank);
  const int along = axis_of(b, attr_int(b, "quantize_axis"), q->rank), last = q->rank - 1;
  const int from = axis_of(b, attr_int(b, "gather_axis"), q->rank);
  if (bits < 8 && (along != last || from == last))
    bad(b, "a table with several elements per byte needs blocks along its last axis, and a gather along another one");
  const int64_t extent = elems_mul(b, q->dims[along], 8 / bits), blocks = extent / block + (extent % block != 0);
  for (int i = 0; i <= last; i++)
    if (scale->dims[i] != (i == along ? blocks : q->dims[i])) bad(b, "input 'scales' must have one element for each block");
  for (int i = 0; i <= last && has_in(b, ZEROS); i++) {
    const Node *zero = in_node(b, ZEROS);
    const int64_t want = i == last && bits < 8 ? (blocks * bits + 7) / 8 : scale->dims[i];
    if (zero->rank != q->rank || zero->dims[i] != want) bad(b, "input 'zero_points' must have one element for each block");
  }
  const AttrVal axis = int_attr("axis", from);
  Ref part[] = { b->in[TABLE], b->in[SCALES], has_in(b, ZEROS) ? b->in[ZEROS] : 0 };
  for (int i = 0; i < 3 && from != along; i++)
    if (part[i]) part[i] = apply_op(b, "Gather", 2, (Ref[]){ part[i], b->in[INDEX] }, 1, &axis);
  if (bits < 8) part[0] = unpacked(b, part[0], extent, bits);
  if (bits < 8 && part[2]) part[2] = unpacked(b, part[2], blocks, bits);
  const int to = along > from ? along + in_node(b, INDEX)->rank - 1 : along; /* index of the axis of blocks after the gather */
  for (int i = 1; i < 3; i++)
    if (part[i]) part[i] = shrink_axis(ir, repeat_axis(ir, part[i], to, block, true), to, 0, 1, extent);
  Ref w = g_cast(ir, part[0], DT_I32), zero = c_int(ir, DT_I32, bytes ? 1 << (bits - 1) : 0);
  if (part[2]) zero = g_cast(ir, part[2], DT_I32);
  Ref y = g_binary(ir, OP_MUL, g_cast(ir, g_binary(ir, OP_SUB, w, zero), in_dt(b, SCALES)), part[1]);
  b->out[0] = from == along ? apply_op(b, "Gather", 2, (Ref[]){ y, b->in[INDEX] }, 1, &axis) : y;
}

/* b_quant.c: operators on quantised integers: value = (q - zero point) * scale. Scales and zero points
 * are scalars, vectors along an axis, or blocks along an axis. Quantising divides by the scale (times
 * its reciprocal is another number), rounds halves to even, adds the zero point and saturates, which
 * is what CAST does. Products of quantised tensors are summed exactly in i32. */
#include "build.h"

/* Input k, a scale or zero point of x, in a shape that broadcasts with x */
static Ref parameter(Build *b, int k, const Node *x, int64_t axis, int64_t block) {
  IR *ir = b->ir;
  const Node *p = in_node(b, k);
  if (dims_elems(p->dims, p->rank) == 1 && !block) return g_reshape(ir, b->in[k], 0, NULL);
  int a = axis_of(b, axis, x->rank);
  int64_t dims[MAX_RANK];
  if (!block) {
    if (p->rank != 1 || p->dims[0] != x->dims[a])
      bad(b, "input %d is not a vector of the %lld elements of axis %d", k, (long long)x->dims[a], a);
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

static DType wanted_type(Build *b, DType otherwise) {
  int64_t onnx = attr_int(b, "output_dtype");
  DType d = onnx > 0 && onnx < 100 ? dtype_from_onnx((int)onnx) : DT_NONE;
  if (onnx && !d) bad(b, "type %lld of the result is not supported", (long long)onnx);
  return onnx ? d : otherwise;
}

/* x is a float; zero is 0 or of any type */
static Ref quantize(IR *ir, Ref x, Ref scale, Ref zero, DType d) {
  Ref q = g_unary(ir, OP_ROUND, g_binary(ir, OP_DIV, x, scale));
  if (zero) q = g_binary(ir, OP_ADD, q, g_cast(ir, zero, (DType)node(ir, x)->dt));
  return g_cast(ir, q, d);
}

void op_quantize(Build *b) {
  IR *ir = b->ir;
  const Node *x = in_node(b, 0);
  int64_t axis = attr_int(b, "axis"), block = attr_int(b, "block_size");
  DType d = wanted_type(b, has_in(b, 2) ? in_dt(b, 2) : DT_U8);
  Ref scale = g_cast(ir, parameter(b, 1, x, axis, block), DT_F32), zero = has_in(b, 2) ? parameter(b, 2, x, axis, block) : 0;
  b->out[0] = quantize(ir, g_cast(ir, b->in[0], DT_F32), scale, zero, d);
}

void op_dequantize(Build *b) {
  IR *ir = b->ir;
  const Node *x = in_node(b, 0);
  int64_t axis = attr_int(b, "axis"), block = attr_int(b, "block_size");
  Ref q = g_cast(ir, b->in[0], DT_I32), scale = parameter(b, 1, x, axis, block);
  if (has_in(b, 2)) q = g_binary(ir, OP_SUB, q, g_cast(ir, parameter(b, 2, x, axis, block), DT_I32));
  b->out[0] = g_cast(ir, g_binary(ir, OP_MUL, g_cast(ir, q, DT_F32), g_cast(ir, scale, DT_F32)), wanted_type(b, in_dt(b, 1)));
}

/* The range always includes 0, so that 0 is exact; a tensor of zeros has scale 1. */
void op_dynamic_quantize(Build *b) {
  IR *ir = b->ir;
  const Node *n = in_node(b, 0);
  uint32_t all = (1u << n->rank) - 1;
  Ref x = g_cast(ir, b->in[0], DT_F32), zero = c_int(ir, DT_F32, 0), top = c_int(ir, DT_F32, 255);
  Ref hi = g_binary(ir, OP_MAX, without_axes(ir, g_reduce(ir, OP_MAX, x, all), all), zero);
  Ref lo = g_binary(ir, OP_MIN, without_axes(ir, g_reduce(ir, OP_MIN, x, all), all), zero);
  Ref scale = g_binary(ir, OP_DIV, g_binary(ir, OP_SUB, hi, lo), top);
  scale = g_where(ir, g_binary(ir, OP_CMPEQ, scale, zero), c_int(ir, DT_F32, 1), scale);
  b->out[2] = quantize(ir, g_unary(ir, OP_NEG, lo), scale, 0, DT_U8);
  b->out[1] = scale;
  b->out[0] = quantize(ir, x, scale, b->out[2], DT_U8);
}

/* ---- integer products: the zero point comes off first ---- */
/* A zero point of a matrix: a scalar, one per row (rows) or column, or already of its rank */
static Ref centred(Build *b, int x, int zero, bool rows) {
  IR *ir = b->ir;
  Ref q = g_cast(ir, b->in[x], DT_I32);
  if (!has_in(b, zero)) return q;
  const Node *z = in_node(b, zero);
  Ref p = b->in[zero];
  if (dims_elems(z->dims, z->rank) == 1) p = g_reshape(ir, p, 0, NULL);
  else if (z->rank == 1 && rows) p = g_reshape(ir, p, 2, (int64_t[]){ z->dims[0], 1 });
  return g_binary(ir, OP_SUB, q, to_shape(b, g_cast(ir, p, DT_I32), node(ir, q)->rank, node(ir, q)->dims));
}

/* The same for the filters of a convolution: a scalar or one per filter */
static Ref centred_filters(Build *b, int w, int zero) {
  if (!has_in(b, zero)) return g_cast(b->ir, b->in[w], DT_I32);
  Ref z = g_cast(b->ir, parameter(b, zero, in_node(b, w), 0, 0), DT_I32);
  return g_binary(b->ir, OP_SUB, g_cast(b->ir, b->in[w], DT_I32), z);
}

void op_matmul_integer(Build *b) { b->out[0] = matmul(b, centred(b, 0, 2, true), centred(b, 1, 3, false)); }
void op_conv_integer(Build *b) { b->out[0] = conv(b, centred(b, 0, 2, false), centred_filters(b, 1, 3)); }

/* Sums of products as quantised values again: times the scales of both factors, over the result's */
static Ref requantize(Build *b, Ref sum, Ref scales, int scale, int zero) {
  IR *ir = b->ir;
  Ref to = g_cast(ir, parameter(b, scale, node(ir, sum), -1, 0), DT_F32), z = parameter(b, zero, node(ir, sum), -1, 0);
  return quantize(ir, g_binary(ir, OP_MUL, g_cast(ir, sum, DT_F32), g_cast(ir, scales, DT_F32)), to, z, in_dt(b, zero));
}

/* inputs: a, its scale and zero point, b, its own, the result's */
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

/* inputs: x, its scale and zero point, w, its own (one per filter if wanted), the result's, a bias */
void op_qlinear_conv(Build *b) {
  IR *ir = b->ir;
  Ref sum = conv(b, centred(b, 0, 2, false), centred_filters(b, 3, 5));
  if (has_in(b, 8)) sum = add_bias(b, sum, 8);
  Ref x_scale = g_cast(ir, parameter(b, 1, node(ir, sum), 1, 0), DT_F32),
      w_scale = g_cast(ir, parameter(b, 4, node(ir, sum), 1, 0), DT_F32);
  b->out[0] = requantize(b, sum, g_binary(ir, OP_MUL, x_scale, w_scale), 6, 7);
}

/* ---- weights of few bits ---- */
/* q[n, bytes] as [n, count] of `bits` each, lowest bits first */
static Ref unpacked(IR *ir, Ref q, int64_t n, int64_t count, int64_t bits) {
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
  if (dims_elems(x->dims, x->rank) != n * m) bad(b, "input %d has not %lld elements for each of %lld columns", k, (long long)m, (long long)n);
  return g_reshape(b->ir, b->in[k], 2, (int64_t[]){ n, m });
}

/* a times the transpose of w[N, K], whose blocks along K have a scale and a zero point each */
void op_matmul_nbits(Build *b) {
  IR *ir = b->ir;
  int64_t k = attr_int(b, "K"), n = attr_int(b, "N"), bits = attr_int(b, "bits"), block = attr_int(b, "block_size"), blocks = (k + block - 1) / block;
  const Node *a = in_node(b, 0);
  DType acc = acc_type(in_dt(b, 0));
  if (bits != 2 && bits != 4 && bits != 8) bad(b, "attribute 'bits' is %lld, expected 2, 4 or 8", (long long)bits);
  if (block % (8 / bits)) bad(b, "blocks of %lld elements are no whole bytes", (long long)block);
  if (n > MAX_ELEMS / (blocks * block)) bad(b, "the weights are too large");
  if (has_in(b, 4)) bad(b, "input 4, an order of groups, is not supported");
  if (attr_int(b, "weight_prepacked")) bad(b, "the weights are packed for another engine");
  if (!a->rank || a->dims[a->rank - 1] != k) bad(b, "the last axis of input 0 has not %lld elements", (long long)k);
  Ref q = g_cast(ir, unpacked(ir, of_size(b, 1, n, blocks * block * bits / 8), n, blocks * block, bits), acc), zero = c_int(ir, acc, (int64_t)1 << (bits - 1));
  if (has_in(b, 3)) {
    bool packed = in_dt(b, 3) == DT_U8;
    zero = packed ? unpacked(ir, of_size(b, 3, n, (blocks * bits + 7) / 8), n, blocks, bits) : of_size(b, 3, n, blocks);
    zero = g_reshape(ir, g_cast(ir, zero, acc), 3, (int64_t[]){ n, blocks, 1 });
  }
  Ref scale = g_reshape(ir, g_cast(ir, of_size(b, 2, n, blocks), acc), 3, (int64_t[]){ n, blocks, 1 });
  Ref w = g_binary(ir, OP_MUL, g_binary(ir, OP_SUB, g_reshape(ir, q, 3, (int64_t[]){ n, blocks, block }), zero), scale);
  w = shrink_axis(ir, g_reshape(ir, w, 2, (int64_t[]){ n, blocks * block }), 1, 0, 1, k);
  Ref y = matmul(b, g_cast(ir, b->in[0], acc), g_permute(ir, w, (int64_t[]){ 1, 0 }));
  if (has_in(b, 5)) y = g_binary(ir, OP_ADD, y, to_shape(b, g_cast(ir, b->in[5], acc), node(ir, y)->rank, node(ir, y)->dims));
  b->out[0] = g_cast(ir, y, in_dt(b, 0));
}

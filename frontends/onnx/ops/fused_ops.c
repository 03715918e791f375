/* SPDX-License-Identifier: MIT */
/* fused_ops.c: operators of com.microsoft that optimisers fuse from several of ONNX: sums with normalisations, products and
 * convolutions with activations, embeddings, and parts of diffusion models. */
#include "../core/build.h"
#include <string.h>

/* ---- x + skip + bias, normalised. The row's argument: 1 for RMS norm, which does not subtract the mean ---- */
void op_skip_norm(Build *b) {
  bool rms = b->row->arg == 1;
  int bias = rms ? 3 : 4;
  const Node *n = in_node(b, 0);
  if (!n->rank) bad(b, "the input is a scalar");
  Ref sum = add(b, b->in[0], to_shape(b, b->in[1], n->rank, n->dims));
  if (has_in(b, bias)) sum = add(b, sum, to_shape(b, b->in[bias], n->rank, n->dims));
  b->out[0] = rms ? rms_norm(b, sum, b->in[2]) : layer_norm(b, sum, b->in[2], has_in(b, 3) ? b->in[3] : 0);
  if (b->nout > 3) b->out[3] = sum;
}

/* ---- embeddings of words, positions and segments, normalised. The row's argument: 1 if tables, gamma and beta are integers;
 * the last inputs are then their scales and zero points, in the same order ---- */
enum { WORDS, SEGMENTS, WORD_TABLE, PLACE_TABLE, SEGMENT_TABLE, GAMMA, BETA, MASK, PLACES, SCALES = PLACES, ZEROS = 13 };

static Ref in_floats(Build *b, Ref x, int k) {
  IR *ir = b->ir;
  int scale = SCALES + k - WORD_TABLE, zero = ZEROS + k - WORD_TABLE;
  if (!b->row->arg) return x;
  if (!has_in(b, scale) || !has_in(b, zero))
    bad(b, "input %d needs a scale, input %d, and a zero point, input %d", k, scale, zero);
  x = g_binary(ir, OP_SUB, g_cast(ir, x, DT_I32), g_cast(ir, scalar_in(b, zero), DT_I32));
  return mul(b, g_cast(ir, x, in_dt(b, scale)), scalar_in(b, scale));
}

/* Rows of the table at i64[B or 1, S], as [B or 1, S, columns] */
static Ref rows_at(Build *b, int table, Ref index) {
  IR *ir = b->ir;
  const Node *t = in_node(b, table), *x = node(ir, index);
  if (t->rank != 2 || x->rank != 2) bad(b, "input %d and the indices into it must have rank 2", table);
  int64_t n = x->dims[0] * x->dims[1], dims[3] = { x->dims[0], x->dims[1], t->dims[1] };
  Ref rows = g_gather(ir, b->in[table], g_reshape(ir, wrap_index(b, index, t->dims[0]), 2, (int64_t[]){ n, 1 }), 0);
  return g_reshape(ir, in_floats(b, rows, table), 3, dims);
}

void op_embed_layer_norm(Build *b) {
  IR *ir = b->ir;
  const Node *x = in_node(b, WORDS);
  for (int k = WORDS; k <= BETA; k++)
    if (!has_in(b, k) && k != SEGMENTS && k != SEGMENT_TABLE) bad(b, "input %d is required, but omitted", k);
  if (x->rank != 2) bad(b, "input 'input_ids' has rank %d, expected 2", x->rank);
  Ref places = !b->row->arg && has_in(b, PLACES) ? b->in[PLACES] : iota_axis(ir, DT_I64, x->dims[1], 1, 2);
  Ref parts[3] = { rows_at(b, WORD_TABLE, b->in[WORDS]), rows_at(b, PLACE_TABLE, places) };
  if (has_in(b, SEGMENTS) && has_in(b, SEGMENT_TABLE)) parts[2] = rows_at(b, SEGMENT_TABLE, b->in[SEGMENTS]);
  check_broadcast(b, parts[2] ? 3 : 2, parts);
  Ref sum = add(b, parts[0], parts[1]);
  if (parts[2]) sum = add(b, sum, parts[2]);
  b->out[0] = layer_norm(b, sum, in_floats(b, b->in[GAMMA], GAMMA), in_floats(b, b->in[BETA], BETA));
  if (b->nout > 1) { /* number of words */
    Ref count = g_expand(ir, c_int(ir, DT_I32, 0), 1, x->dims);
    if (has_in(b, MASK)) count = without_axes(ir, g_reduce(ir, OP_ADD, g_cast(ir, b->in[MASK], DT_I32), 2u), 2u);
    b->out[1] = count;
  }
  if (b->nout > 2) b->out[2] = sum;
}

/* ---- activations by name ---- */
/* Applies the operator op. attr: its attributes; for Clip its bounds. */
static Ref activated(Build *b, Ref y, const char *op, int n, const AttrVal *attr) {
  static const char *const known[] = { "Relu", "Tanh", "Sigmoid",  "LeakyRelu", "HardSigmoid",     "Clip",
                                       "Elu",  "Selu", "Softplus", "Softsign",  "ThresholdedRelu", "HardSwish" };
  bool found = !*op;
  Ref in[3] = { y };
  DType d = (DType)node(b->ir, y)->dt;
  for (size_t i = 0; i < sizeof known / sizeof *known; i++) found |= !strcmp(op, known[i]);
  if (!found) bad(b, "the activation '%s' is not supported", op);
  if (!*op) return y;
  if (strcmp(op, "Clip")) return apply_op(b, op, 1, in, n, attr);
  for (int i = 0; i < n && i < 2; i++) in[1 + i] = c_float(b->ir, d, attr[i].f);
  return apply_op(b, op, 1 + (n < 2 ? n : 2), in, 0, NULL);
}

/* Conv, plus another tensor, then an activation */
void op_fused_conv(Build *b) {
  DType d = in_dt(b, 0), acc = acc_type(d);
  const AttrVal *given = attr_find(b, "activation_params");
  AttrVal attr[2];
  int n = given->n < 2 ? (int)given->n : 2;
  Ref y = conv(b, g_cast(b->ir, b->in[0], acc), g_cast(b->ir, b->in[1], acc));
  if (has_in(b, 2)) y = add_bias(b, y, 2);
  if (has_in(b, 3)) y = add(b, y, to_shape(b, g_cast(b->ir, b->in[3], acc), node(b->ir, y)->rank, node(b->ir, y)->dims));
  for (int i = 0; i < n; i++) attr[i] = float_attr(i ? "beta" : "alpha", (double)given->floats[i]);
  b->out[0] = g_cast(b->ir, activated(b, y, attr_find(b, "activation")->s, n, attr), d);
}

void op_fused_gemm(Build *b) {
  static const char *const names[] = { "activation_alpha", "activation_beta", "activation_gamma" };
  const char *op = attr_find(b, "activation")->s;
  AttrVal attr[3];
  int n = 0;
  for (int i = 0; i < 3; i++)
    if (attr_set(b, names[i])) attr[n++] = float_attr(names[i] + strlen("activation_"), attr_float(b, names[i]));
  op_gemm(b);
  b->out[0] = activated(b, b->out[0], op, n, attr);
}

/* Channels are the last axis, also in the added tensor. */
void op_nhwc_conv(Build *b) {
  b->in[0] = moved_channels(b, b->in[0], true);
  if (has_in(b, 3)) b->in[3] = moved_channels(b, b->in[3], true);
  op_fused_conv(b);
  b->out[0] = moved_channels(b, b->out[0], false);
}

void op_gemm_fast_gelu(Build *b) {
  b->in[0] = matmul(b, b->in[0], b->in[1]);
  b->in[1] = has_in(b, 2) ? to_shape(b, b->in[2], in_node(b, 0)->rank, in_node(b, 0)->dims) : 0;
  op_bias_gelu(b);
}

/* Normalises groups of columns, as many as the scale has, then multiplies by the activated gate */
void op_gated_rms_norm(Build *b) {
  IR *ir = b->ir;
  const Node *x = in_node(b, 0), *s = in_node(b, 1);
  if (!x->rank || s->rank != 1 || !s->dims[0] || x->dims[x->rank - 1] % s->dims[0])
    bad(b, "input 'scale' must be a vector whose length divides the columns of the input");
  const int64_t groups[2] = { dims_elems(x->dims, x->rank) / s->dims[0], s->dims[0] };
  Ref y = g_reshape(ir, rms_norm(b, g_reshape(ir, b->in[0], 2, groups), b->in[1]), x->rank, x->dims);
  Ref gate = to_shape(b, b->in[2], x->rank, x->dims);
  b->out[0] = mul(b, y, apply_op(b, attr_is(b, "activation", "sigmoid") ? "Sigmoid" : "Swish", 1, &gate, 0, NULL));
}

/* ---- diffusion models ---- */
/* With y = x + bias: the left half of y's columns times the GELU of the right half */
void op_bias_split_gelu(Build *b) {
  IR *ir = b->ir;
  const Node *n = in_node(b, 0);
  const int axis = n->rank - 1;
  if (!n->rank || n->dims[axis] % 2) bad(b, "the input's last axis must have an even number of elements");
  Ref x = add(b, b->in[0], to_shape(b, b->in[1], n->rank, n->dims));
  const int64_t half = n->dims[axis] / 2;
  Ref right = shrink_axis(ir, x, axis, half, 1, half);
  b->out[0] = mul(b, shrink_axis(ir, x, axis, 0, 1, half), apply_op(b, "Gelu", 1, &right, 0, NULL));
}

enum { GROUP_SKIP = 3, GROUP_BIAS };

/* Group norm with channels last or second, then optionally SiLU. The row's argument: 1 if a skip and a bias are added first,
 * with their sum as a further result */
void op_ms_group_norm(Build *b) {
  const Node *n = in_node(b, 0);
  const bool last = attr_int(b, "channels_last");
  const AttrVal attrs[] = { int_attr("num_groups", attr_int(b, "groups")), float_attr("epsilon", attr_float(b, "epsilon")) };
  Ref x = b->in[0];
  if (n->rank != 4) bad(b, "the input has rank %d, expected 4", n->rank);
  if (b->row->arg) {
    if (!last) bad(b, "attribute 'channels_last' is 0, which is not supported");
    const Node *s = in_node(b, GROUP_SKIP);
    Ref skip = s->rank == 2 ? g_reshape(b->ir, b->in[GROUP_SKIP], 4, (int64_t[]){ s->dims[0], 1, 1, s->dims[1] })
                            : b->in[GROUP_SKIP];
    x = add(b, x, to_shape(b, skip, 4, n->dims));
    if (has_in(b, GROUP_BIAS)) x = add(b, x, to_shape(b, b->in[GROUP_BIAS], 4, n->dims));
    b->out[1] = x;
  }
  Ref in[3] = { last ? moved_channels(b, x, true) : x };
  for (int k = 1; k <= 2; k++) in[k] = g_cast(b->ir, b->in[k], in_dt(b, 0));
  Ref y = apply_op(b, "GroupNormalization", 3, in, 2, attrs);
  if (attr_int(b, "activation")) y = apply_op(b, "Swish", 1, &y, 0, NULL);
  b->out[0] = last ? moved_channels(b, y, false) : y;
}

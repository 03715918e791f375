/* SPDX-License-Identifier: MIT */
/* experts_ops.c: mixtures of experts (MoE and QMoE of com.microsoft). Each row of x goes through the k experts with the
 * greatest scores: two layers with an activation in between. The results are summed with weights from the scores. Only chosen
 * experts are computed: their weights are gathered, row by row. */
#include "../core/build.h"

enum { X, SCORES, MIX = 14 };            /* MIX, of QMoE: weights of the results, if they do not come from the scores */
enum { PLAIN, QUANTIZED };               /* argument of the row */
enum { FIRST, SECOND, GATE, LAYERS };    /* GATE: a factor on the activated values */

/* Inputs of a layer: weights [experts, result columns, columns of x], biases, scales, zero points */
typedef struct Layer { int weights, bias, scale, zero; } Layer;
static const Layer layers[][LAYERS] = { [PLAIN] = { { 2, 3, 0, 0 }, { 4, 5, 0, 0 }, { 6, 7, 0, 0 } },
                                        [QUANTIZED] = { { 2, 4, 3, 11 }, { 5, 7, 6, 12 }, { 8, 10, 9, 13 } } };

typedef struct Chosen {
  Ref at;                                /* i64[n, 1, 1]: k experts for each row of x */
  int64_t n, experts;
} Chosen;

/* Input k reduced to the chosen experts; the other axes are merged to rows and columns */
static Ref of_chosen(Build *b, const Chosen *c, int k, int64_t rows, int64_t columns) {
  const Node *x = in_node(b, k);
  if (dims_elems(x->dims, x->rank) != c->experts * rows * columns)
    bad(b, "input %d must have %lld x %lld elements for each of %lld experts", k, (long long)rows, (long long)columns,
        (long long)c->experts);
  return g_gather(b->ir, g_reshape(b->ir, b->in[k], 3, (int64_t[]){ c->experts, rows, columns }), c->at, 0);
}

static int64_t bits_of(Build *b, int layer) {
  static const char *const own[LAYERS] = { "fc1_expert_weight_bits", "fc2_expert_weight_bits", "fc3_expert_weight_bits" };
  int64_t bits = attr_int(b, attr_set(b, own[layer]) ? own[layer] : "expert_weight_bits");
  if (bits != 2 && bits != 4 && bits != 8) bad(b, "weights of %lld bits, expected 2, 4 or 8", (long long)bits);
  return bits;
}

/* Integers [n, rows, columns], unpacked from bytes that are packed along the columns */
static Ref unpacked(Build *b, const Chosen *c, int k, int64_t rows, int64_t columns, int64_t bits) {
  Ref x = of_chosen(b, c, k, rows, (columns * bits + 7) / 8);
  x = unpack_bits(b->ir, g_reshape(b->ir, x, 2, (int64_t[]){ c->n * rows, (columns * bits + 7) / 8 }), c->n * rows, columns,
                  bits);
  return g_reshape(b->ir, x, 3, (int64_t[]){ c->n, rows, columns });
}

static Ref dequantized(Build *b, const Chosen *c, int layer, int64_t rows, int64_t columns) {
  IR *ir = b->ir;
  const Layer *l = &layers[QUANTIZED][layer];
  int64_t bits = bits_of(b, layer), block = attr_int(b, "block_size") > 0 ? attr_int(b, "block_size") : columns,
          blocks = columns / block;
  if (!has_in(b, l->scale)) bad(b, "input %d is required, but omitted", l->scale);
  if (columns % block || columns * bits % 8)
    bad(b, "%lld columns do not divide into blocks of %lld, or do not fill whole bytes", (long long)columns, (long long)block);
  Ref q = g_reshape(ir, g_cast(ir, unpacked(b, c, l->weights, rows, columns, bits), DT_F32), 4,
                    (int64_t[]){ c->n, rows, blocks, block });
  Ref zero = c_int(ir, DT_F32, (int64_t)1 << (bits - 1)), scale = g_cast(ir, of_chosen(b, c, l->scale, rows, blocks), DT_F32);
  if (has_in(b, l->zero)) { /* without blocks, one row packs all rows' values; else each row has whole bytes */
    bool flat = attr_int(b, "block_size") <= 0;
    zero = unpacked(b, c, l->zero, flat ? 1 : rows, flat ? rows : blocks, bits);
    zero = g_reshape(ir, g_cast(ir, zero, DT_F32), 4, (int64_t[]){ c->n, rows, blocks, 1 });
  }
  Ref w = mul(b, sub(b, q, zero), g_reshape(ir, scale, 4, (int64_t[]){ c->n, rows, blocks, 1 }));
  return g_reshape(ir, w, 3, (int64_t[]){ c->n, rows, columns });
}

/* x[n, 1, columns] through one layer of each chosen expert */
static Ref through(Build *b, const Chosen *c, int layer, Ref x) {
  IR *ir = b->ir;
  const Layer *l = &layers[b->row->arg][layer];
  const Node *w = in_node(b, l->weights);
  int64_t rows = w->rank == 3 ? w->dims[1] : 0, columns = node(ir, x)->dims[2];
  if (w->rank != 3 || w->dims[0] != c->experts)
    bad(b, "input %d must have rank 3, with a matrix for each of %lld experts", l->weights, (long long)c->experts);
  Ref weights = b->row->arg == QUANTIZED ? dequantized(b, c, layer, rows, columns) : of_chosen(b, c, l->weights, rows, columns);
  Ref y = matmul(b, x, g_permute(ir, g_cast(ir, weights, (DType)node(ir, x)->dt), (int64_t[]){ 0, 2, 1 }));
  return has_in(b, l->bias) ? add(b, y, g_cast(ir, of_chosen(b, c, l->bias, 1, rows), (DType)node(ir, y)->dt)) : y;
}

static Ref limited(Build *b, Ref x, bool below) {
  if (!attr_set(b, "swiglu_limit")) return x;
  double limit = attr_float(b, "swiglu_limit");
  x = at_most(b, x, limit);
  return below ? at_least(b, x, -limit) : x;
}

/* g * sigmoid(alpha g) * (l + beta). l comes from the gate, or is every second column, or one half, of the first layer's result
 */
static Ref swiglu(Build *b, Ref g, Ref l) {
  const AttrVal alpha = float_attr("alpha", attr_float(b, "activation_alpha"));
  int64_t fusion = attr_int(b, "swiglu_fusion"), half = node(b->ir, g)->dims[2] / 2;
  if (fusion < 0 || fusion > 2 || (fusion != 0) == (l != 0))
    bad(b, "attribute 'swiglu_fusion' is %lld, expected %s a third layer", (long long)fusion, l ? "0 with" : "1 or 2 without");
  if (fusion && node(b->ir, g)->dims[2] % 2)
    bad(b, "the first layer must have an even number of columns, since swiglu pairs them");
  if (fusion) {
    l = shrink_axis(b->ir, g, 2, fusion == 1 ? 1 : half, fusion == 1 ? 2 : 1, half);
    g = shrink_axis(b->ir, g, 2, 0, fusion == 1 ? 2 : 1, half);
  }
  g = limited(b, g, false);
  l = limited(b, l, true);
  return mul(b, apply_op(b, "Swish", 1, &g, 1, &alpha), plus(b, l, attr_float(b, "activation_beta")));
}

static Ref activated(Build *b, Ref x, Ref gate) {
  const AttrVal tanh = string_attr("approximate", "tanh");
  if (attr_is(b, "activation_type", "swiglu")) return swiglu(b, x, gate);
  if (attr_is(b, "activation_type", "relu")) x = apply_op(b, "Relu", 1, &x, 0, NULL);
  if (attr_is(b, "activation_type", "silu")) x = apply_op(b, "Swish", 1, &x, 0, NULL);
  if (attr_is(b, "activation_type", "gelu")) x = apply_op(b, "Gelu", 1, &x, 1, &tanh);
  return gate ? mul(b, x, gate) : x;
}

/* Weights of the chosen experts' results, [tokens, k]. QMoE normalises over the chosen scores only. */
static Ref mixed(Build *b, Ref scores, Ref at) {
  IR *ir = b->ir;
  const bool whole = attr_int(b, "normalize_routing_weights") != 0;
  if (b->row->arg == QUANTIZED && has_in(b, MIX)) {
    const Node *m = in_node(b, MIX), *s = node(ir, scores);
    if (m->rank != 2 || m->dims[0] != s->dims[0] || m->dims[1] != s->dims[1])
      bad(b, "inputs 'router_probs' and 'router_weights' differ in shape");
    Ref w = g_gather(ir, g_cast(ir, b->in[MIX], DT_F32), at, 1);
    return whole ? g_binary(ir, OP_DIV, w, g_reduce(ir, OP_ADD, w, 2u)) : w;
  }
  if (b->row->arg == QUANTIZED || whole) return softmax(b, g_gather(ir, scores, at, 1), 1, false);
  return g_gather(ir, softmax(b, scores, 1, false), at, 1);
}

void op_experts(Build *b) {
  IR *ir = b->ir;
  const Node *x = in_node(b, X), *s = in_node(b, SCORES);
  const Layer *l = layers[b->row->arg];
  int64_t k = attr_int(b, "k"), columns = x->rank ? x->dims[x->rank - 1] : 0,
          tokens = columns ? dims_elems(x->dims, x->rank) / columns : 0;
  for (int i = FIRST; i <= SECOND; i++)
    if (!has_in(b, l[i].weights)) bad(b, "input %d is required, but omitted", l[i].weights);
  if (s->rank != 2 || s->dims[0] != tokens || k > s->dims[1])
    bad(b, "input 'router_probs' must be a matrix of %lld rows, with scores of at least %lld experts", (long long)tokens,
        (long long)k);
  if (attr_int(b, "use_sparse_mixer")) bad(b, "attribute 'use_sparse_mixer' is set, which is not supported");
  if (b->row->arg == QUANTIZED && attr_int(b, "weights_prepacked") > 0)
    bad(b, "attribute 'weights_prepacked' is set: weights packed for another engine are not supported");
  Ref scores = g_cast(ir, b->in[SCORES], DT_F32), top[2];
  Ref order[2] = { scores, ints_ref(b, 1, &k) };
  apply_op_outs(b, "TopK", 2, order, 0, NULL, 2, top);
  Chosen c = { .at = g_reshape(ir, top[1], 3, (int64_t[]){ tokens * k, 1, 1 }), .n = tokens * k, .experts = s->dims[1] };
  Ref mix = g_reshape(ir, mixed(b, scores, top[1]), 3, (int64_t[]){ tokens, k, 1 });
  Ref rows = g_expand(ir, g_reshape(ir, g_cast(ir, b->in[X], acc_type(in_dt(b, X))), 3, (int64_t[]){ tokens, 1, columns }), 3,
                      (int64_t[]){ tokens, k, columns });
  rows = g_reshape(ir, rows, 3, (int64_t[]){ c.n, 1, columns });
  Ref gate = has_in(b, l[GATE].weights) ? through(b, &c, GATE, rows) : 0;
  Ref y = through(b, &c, SECOND, activated(b, through(b, &c, FIRST, rows), gate));
  int64_t width = node(ir, y)->dims[2];
  if (width != columns) bad(b, "the second layer has %lld columns, but the input has %lld", (long long)width, (long long)columns);
  y = mul(b, g_reshape(ir, y, 3, (int64_t[]){ tokens, k, width }), g_cast(ir, mix, (DType)node(ir, y)->dt));
  b->out[0] = g_cast(ir, g_reshape(ir, g_reduce(ir, OP_ADD, y, 2u), x->rank, x->dims), in_dt(b, X));
}

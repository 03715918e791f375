/* SPDX-License-Identifier: MIT */
/* bf16_split.c: splits sums of products of floats into longer sums of products of bf16, for instructions that multiply bf16.
 * needs: weights folded    gives: both factors as terms of bf16, with the products of terms as a further summed axis
 * breaks: roundings, within the bound of docs/numerics.md
 *
 * A float is the sum of three bf16, each of which rounds the rest that the previous ones leave: x = x0 + x1 + x2. This is exact
 * unless a term is a denormal. Two such sums have nine products of terms. The six largest suffice: the error is at most 2^-23
 * of the product. With two terms and three products it is 2^-14. An instruction that multiplies bf16 and accumulates in single
 * precision has exact products. If it is more than six (three) times as fast as multiply-adds of floats, it computes the same
 * sum sooner. Source: Henry, Tang and Heinecke, Leveraging the bfloat16 artificial intelligence datatype for higher-precision
 * computations, 2019.
 *
 * The products are a new first axis. Product p selects a plane of each factor by a quotient without remainder. So each term is
 * stored once, for weights and for values:
 *
 *   planes of x   0   0   1   1   2   0*      3 p / 5
 *             w   2   1   1   0   0   0       (2 p + 4) / 5
 *
 * These are all six, and consecutive products share a factor. Plane 0* holds values that are not finite; the other planes hold
 * 0 for them. Otherwise infinity times a rest of a weight would be NaN, if that rest is 0 or has another sign. */
#include "../ir/decisions.h"
#include "contraction.h"
#include "graph.h"
#include <math.h>
#include <string.h>

enum { MAX_TERMS = 3, MAX_PLANES = 4, AXES = 1 };
/* product p takes the term plane[(from + step p) / wide] */
typedef struct Stair { int n, plane[MAX_PLANES], from, step, wide; } Stair;
typedef struct Scheme {
  int terms, products;
  Stair x, w;                     /* x's last plane also holds values that are not finite */
} Scheme;
static const Scheme exact = { 3, 6, { 4, { 0, 1, 2, 0 }, 0, 3, 5 }, { 3, { 2, 1, 0 }, 4, 2, 5 } };
static const Scheme fast = { 2, 3, { 3, { 0, 1, 0 }, 0, 1, 1 }, { 2, { 1, 0 }, 1, 1, 2 } };

#define LARGEST 0x1.fep127 /* greatest bf16 */
#define LEAST 0x1p-102f    /* least weight: below it the last term could be a denormal, which instructions take for 0 */

/* ---- terms of constants ---- */
static float bf16_float(uint16_t b) {
  const uint32_t bits = (uint32_t)b << 16;
  float f;
  memcpy(&f, &bits, sizeof f);
  return f;
}

/* v is finite. Rounds as double_to_bits does, which would take a quarter of a network's compile time here. */
static uint16_t nearest_bf16(float v) {
  uint32_t bits;
  if (fabsf(v) > (float)LARGEST) v = copysignf((float)LARGEST, v);
  memcpy(&bits, &v, sizeof bits);
  return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

/* planes (a factor's terms, by Stair) expanded to the factor of each product: [products, dims of the factor] */
static Ref down_stairs(IR *ir, Ref planes, const Stair *stair, int n) {
  const Node *x = node(ir, planes);
  const int rank = x->rank + 1;
  int64_t dims[MAX_RANK] = { stair->n, 1 }, begin[MAX_RANK] = { stair->from }, step[MAX_RANK] = { stair->step };
  memcpy(dims + 2, x->dims + 1, (size_t)(rank - 2) * sizeof *dims);
  Ref r = g_reshape(ir, planes, rank, dims);
  dims[1] = stair->wide;
  r = g_expand(ir, r, rank, dims);
  dims[1] = (int64_t)stair->n * stair->wide;
  r = g_reshape(ir, r, rank - 1, dims + 1);
  for (int a = 1; a < rank - 1; a++) step[a] = 1;
  dims[1] = n;
  return g_cast(ir, g_shrink(ir, r, begin, step, dims + 1), DT_F32);
}

/* w as the factor of each product; 0: its terms would not add up to w */
static Ref weight_terms(IR *ir, Ref w, const Scheme *s) {
  const Tensor *from = &ir->tensors.p[weight_id(node(ir, w))];
  Tensor to = { .dt = DT_BF16, .rank = from->rank + 1, .elems = s->terms * from->elems, .name = from->name };
  to.dims[0] = s->terms;
  memcpy(to.dims + 1, from->dims, (size_t)from->rank * sizeof *to.dims);
  uint16_t *out = arena_alloc(&ir->ctx->model, size_mul((size_t)to.elems, sizeof *out));
  for (int64_t i = 0; i < from->elems; i++) {
    float v;
    memcpy(&v, (const char *)from->data + i * (int64_t)sizeof v, sizeof v); /* data may be misaligned */
    if (!isfinite(v) || (v != 0 && fabsf(v) < LEAST)) return 0;
    uint16_t term[MAX_TERMS];
    for (int k = 0; k < s->terms; k++) v -= bf16_float(term[k] = nearest_bf16(v));
    for (int k = 0; k < s->terms; k++) out[k * from->elems + i] = term[s->w.plane[k]];
  }
  to.data = out;
  return down_stairs(ir, g_weight(ir, ir_tensor(ir, &to)), &s->w, s->products);
}

/* ---- terms of values ---- */
static Ref bf16(IR *ir, Ref x) { return g_cast(ir, x, DT_BF16); }

static Ref without(IR *ir, Ref x, Ref term) { return g_binary(ir, OP_SUB, x, g_cast(ir, term, DT_F32)); }

/* [planes, dims of x]: a concatenation that one kernel computes side by side */
static Ref planes_of(IR *ir, Ref x, const Scheme *s) {
  const Node *n = node(ir, x);
  const Ref largest = c_float(ir, DT_F32, LARGEST), zero = c_int(ir, DT_F32, 0);
  int64_t dims[MAX_RANK] = { 1 };
  memcpy(dims + 1, n->dims, n->rank * sizeof *dims);
  x = g_reshape(ir, x, n->rank + 1, dims);
  Ref wild = g_unary(ir, OP_NOT, g_binary(ir, OP_CMPLT, g_unary(ir, OP_ABS, x), c_float(ir, DT_F32, INFINITY))),
      rest = g_where(ir, wild, zero, x);
  /* so that rounding does not make it infinite */
  Ref capped = g_binary(ir, OP_MIN, g_binary(ir, OP_MAX, rest, c_float(ir, DT_F32, -LARGEST)), largest);
  Ref term[MAX_TERMS] = { bf16(ir, capped) }, whole = bf16(ir, g_where(ir, wild, x, capped)), part[MAX_PLANES];
  for (int k = 1; k < s->terms; k++) term[k] = bf16(ir, rest = without(ir, rest, term[k - 1]));
  for (int k = 0; k < s->x.n; k++) part[k] = term[s->x.plane[k]];
  part[s->x.n - 1] = whole;
  return g_cat(ir, s->x.n, part, 0);
}

/* x as the factor of each product. Padding is applied to the terms, so that the halo consists of terms */
static Ref value_terms(IR *ir, Ref x, const Scheme *s) {
  const Node *n = node(ir, x);
  int64_t fill, lo[MAX_RANK] = { 0 }, hi[MAX_RANK] = { 0 };
  bool padded = n->op == OP_PAD && node_is_const(ir, pad_fill(n), &fill) && !fill;
  Ref planes = planes_of(ir, padded ? pad_data(n) : x, s);
  if (padded) {
    memcpy(lo + 1, n->arg, n->rank * sizeof *lo);
    memcpy(hi + 1, n->arg + n->rank, n->rank * sizeof *hi);
    planes = g_pad(ir, planes, lo, hi, c_int(ir, DT_BF16, 0));
  }
  return down_stairs(ir, planes, &s->x, s->products);
}

/* ---- the new axis ---- */

/* The views between r and base, applied to `to`, which is base with a new first axis */
static Ref views_over(IR *ir, Ref r, Ref base, Ref to) {
  if (r == base) return to;
  const Node *x = node(ir, r);
  Ref below = views_over(ir, operand(x), base, to);
  const int rank = x->rank, from = node(ir, operand(x))->rank;
  int64_t dims[MAX_RANK], a[MAX_RANK] = { 0 }, b[MAX_RANK] = { 1 };
  memcpy(dims, node(ir, to)->dims, AXES * sizeof *dims);
  memcpy(dims + AXES, x->dims, (size_t)rank * sizeof *dims);
  switch ((Op)x->op) {
  case OP_RESHAPE: return g_reshape(ir, below, rank + AXES, dims);
  case OP_EXPAND: return g_expand(ir, below, rank + AXES, dims);
  case OP_PERMUTE:
    for (int i = 0; i < rank; i++) a[i + AXES] = permute_perm(x, i) + AXES;
    return g_permute(ir, below, a);
  case OP_SHRINK:
    memcpy(a + AXES, x->arg, (size_t)rank * sizeof *a);
    memcpy(b + AXES, x->arg + rank, (size_t)rank * sizeof *b);
    return g_shrink(ir, below, a, b, dims);
  case OP_WINDOW:
    return g_window(ir, below, (int)window_axis(x) + AXES, x->dims[window_axis(x)], x->dims[from], window_stride(x),
                    window_dilation(x));
  default: BUG("%s is no view", op_info[x->op].name);
  }
}

static Ref rewritten(IR *ir, const Contraction *c, int w, const Scheme *s) {
  const Node *sum = node(ir, c->sum), *product = node(ir, view_base(ir, operand(sum)));
  Ref to[2], terms = weight_terms(ir, c->base[w], s);
  if (!terms) return 0;
  to[w] = views_over(ir, product->src[w], c->base[w], terms);
  to[!w] = views_over(ir, product->src[!w], c->base[!w], value_terms(ir, c->base[!w], s));
  Ref all = views_over(ir, operand(sum), view_base(ir, operand(sum)), g_binary(ir, OP_MUL, to[0], to[1]));
  return g_reshape(ir, g_reduce(ir, OP_ADD, all, reduce_axes(sum) << AXES | 1), sum->rank, sum->dims);
}

/* ---- cost in cycles of one core ---- */
static double elements(const IR *ir, Ref r) { return (double)dims_elems(node(ir, r)->dims, node(ir, r)->rank); }

/* Weights are read once, from memory. Values are read and written near the core, as floats and as terms. */
static bool pays(const IR *ir, const Contraction *c, int w, const Scheme *s, const Target *t) {
  double macs = 1, weights = elements(ir, c->base[w]), values = elements(ir, c->base[!w]);
  for (int i = 0; i < c->n; i++) macs *= (double)c->range[i].extent;
  const double busy = macs / multiply_adds(t, BY_SPLIT), far = rate(t, FAR_BYTES, SPLIT);
  double direct = overlapped(t, BY_SPLIT, 4 * weights / far, busy);
  double split = overlapped(t, BY_SPLIT, 2 * s->terms * weights / far, busy * s->products / bf16_rate(t));
  split += (4 + 4 * s->x.n) * values / rate(t, L2_BYTES, SPLIT);
  return split < tunable(ir->ctx, bf16_split_gain) * direct;
}

/* faster: the split is faster for all sums */
typedef struct How { const Scheme *scheme; const Target *target; bool always, faster; } How;

/* Winograd tiles amplify the error of the omitted products, so they need three terms. */
static const Scheme *scheme_for(const Contraction *c, const How *how) { return contraction_batched(c) ? &exact : how->scheme; }

static Ref rule_split(IR *ir, Ref r, void *arg) {
  const How *how = arg;
  Contraction c;
  if (node(ir, r)->dt != DT_F32 || !contraction_find(ir, r, &c) || node(ir, operand(node(ir, r)))->rank > MAX_RANK - AXES)
    return 0;
  for (int w = 0; w < 2; w++) {
    const Node *n = node(ir, c.base[w]);
    if (n->op != OP_WEIGHT || n->dt != DT_F32 || !ir->tensors.p[weight_id(n)].data || !node(ir, c.base[!w])->varies) continue;
    if (node(ir, c.base[w])->rank > MAX_RANK - 2 || node(ir, c.base[!w])->rank > MAX_RANK - 2 || !contraction_pairs(&c, !w))
      continue;
    const Scheme *s = scheme_for(&c, how);
    const Question q = ask_node(ir, w ? "bf16_split" : "bf16_split-first", r);
    if (how->always || answer_yes(ir, &q, how->faster && pays(ir, &c, w, s, how->target))) return rewritten(ir, &c, w, s);
  }
  return 0;
}

static const Scheme *scheme_of(Precision p) {
  return p == PREC_FP32 || p == PREC_BF16X6 ? &exact : p == PREC_FAST || p == PREC_BF16X3 ? &fast : NULL;
}

bool split_faster(Precision p, const Target *t) { return scheme_of(p) && bf16_rate(t) > scheme_of(p)->products; }

double product_time(Precision p, const Target *t) {
  return narrow_pairs(p, t) ? 1 / bf16_rate(t) : split_faster(p, t) ? scheme_of(p)->products / bf16_rate(t) : 1;
}

double product_bytes(Precision p, const Target *t) {
  return narrow_pairs(p, t) ? 2 : split_faster(p, t) ? 2.0 * scheme_of(p)->terms : 4;
}

bool graph_bf16_split(Graph *g, Precision p, const Target *t, bool keep_denormals) {
  static const Rule rules[] = { { OP_REDUCE, "split", rule_split }, { OP_NONE, NULL, NULL } };
  How how = { scheme_of(p), t, p == PREC_BF16X6 || p == PREC_BF16X3, split_faster(p, t) };
  if (!how.always && (keep_denormals || !how.scheme || !bf16_rate(t))) return false;
  if (!how.always && !how.faster && !g->ir->decisions) return false;
  return ir_rewrite_graph(g, rules, &how);
}

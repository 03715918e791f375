/* SPDX-License-Identifier: MIT */
/* weights_to_half.c: the words of --precision, and the use of half-precision weights in sums of products.
 * needs: a folded graph    gives: constant factors in the type, followed by a cast; for a machine that multiplies pairs of
 * bf16, the other factors as well    breaks: roundings of those factors
 *
 * A weight in two bytes is read in half the time where memory is the limit, and takes half the space in the bundle. The sum
 * stays in single precision. Weights of Winograd tiles stay in four bytes, since the transform would amplify their rounding. So
 * do weights that the type cannot represent, and small ones, which cause no traffic.
 *
 * The cast counts as movement: a kernel widens its loads. Values with other readers besides products, such as sums over skip
 * connections, are stored in both types. If all readers got the rounded value, errors would grow for little gain in time. */
#include "../ir/decisions.h"
#include "contraction.h"
#include "graph.h"
#include "rules.h"
#include <math.h>
#include <string.h>

const char *const precision_name[PREC_COUNT] = {
#define PRECISION(id, name, gloss) [PREC_##id] = name,
#include "precision.h"
};

Precision precision_named(const char *s) {
  return (Precision)word_index(precision_name, PREC_COUNT, s);
}

Ref half_weight(IR *ir, Ref w, DType d) {
  const Tensor *from = &ir->tensors.p[weight_id(node(ir, w))];
  Tensor to = *from;
  uint16_t *out = arena_alloc(&ir->ctx->model, size_mul((size_t)from->elems, sizeof *out));
  to.dt = d;
  to.data = out;
  for (int64_t i = 0; i < from->elems; i++) {
    const float v = data_f32(from->data, i);
    out[i] = (uint16_t)double_to_bits(d, (double)v);
    if (v != 0 && !(out[i] & 0x7fff)) out[i] |= 1; /* infinity times 0 would be NaN */
    if (isfinite(v) && !isfinite(bits_to_double(d, out[i]))) return 0;
  }
  return g_cast(ir, g_weight(ir, ir_tensor(ir, &to)), DT_F32);
}

/* x rounded to bf16 below its padding, so that the halo has that type, too */
static Ref rounded(IR *ir, Ref x) {
  const Node *n = node(ir, x);
  int64_t fill;
  if (n->op != OP_PAD || !node_is_const(ir, pad_fill(n), &fill) || fill) return g_cast(ir, g_cast(ir, x, DT_BF16), DT_F32);
  Ref padded = g_pad(ir, g_cast(ir, pad_data(n), DT_BF16), n->arg, n->arg + n->rank, c_int(ir, DT_BF16, 0));
  return g_cast(ir, padded, DT_F32);
}

typedef struct Narrow { DType type; bool unit, pairs; } Narrow; /* unit: the machine multiplies pairs; pairs: and gains time by
                                                                   it */

/* Products of each element of factor f */
static double products_each(const Contraction *c, int f) {
  double n = 1;
  for (int i = 0; i < c->n; i++) n *= c->range[i].in[f] ? 1 : (double)c->range[i].extent;
  return n;
}

/* Whether the weight, factor f, should have two bytes. If floats are multiplied although there is an instruction for pairs, the
 * loop widens it once for each tile of rows. */
static bool worth_half(const Ctx *ctx, const Narrow *how, const Contraction *c, int f, int64_t elems, bool pairs) {
  const bool declined = how->unit && !how->pairs && !pairs;
  return elems >= (pairs ? tunable(ctx, half_least_dot) : tunable(ctx, half_least)) &&
         !(declined && products_each(c, f) > tunable(ctx, half_uses_most));
}

static Ref rule_narrow(IR *ir, Ref r, void *arg) {
  const Narrow *how = arg;
  const DType d = how->type;
  Contraction c;
  if (node(ir, r)->dt != DT_F32 || !contraction_find(ir, r, &c)) return 0;
  Ref product = view_base(ir, operand(node(ir, r)));
  const Node *p = node(ir, product);
  for (int f = 0; f < 2; f++) {
    const Node *w = node(ir, c.base[f]);
    if (contraction_batched(&c) || w->op != OP_WEIGHT || w->dt != DT_F32 || !ir->tensors.p[weight_id(w)].data ||
        !node(ir, c.base[!f])->varies)
      continue;
    const Question by_two = ask_node(ir, "pairs", r), worth = ask_node(ir, "half", r);
    const bool pairs = how->unit && contraction_pairs(&c, !f) && answer_yes(ir, &by_two, how->pairs);
    const bool large = worth_half(ir->ctx, how, &c, f, dims_elems(w->dims, w->rank), pairs);
    Ref src[2] = { lhs(p), rhs(p) },
        narrow = answer_yes(ir, &worth, large) ? half_weight(ir, c.base[f], d) : 0;
    if (!narrow) return 0;
    src[f] = view_over(ir, p->src[f], c.base[f], narrow);
    if (pairs) src[!f] = view_over(ir, p->src[!f], c.base[!f], rounded(ir, c.base[!f]));
    return view_over(ir, r, product, node_with_src(ir, product, src));
  }
  return 0;
}

bool narrow_pairs(Precision p, const Target *t) { return p == PREC_BF16 && bf16_rate(t) > 1; }

bool graph_weights_to_half(Graph *g, Precision p, const Target *t) {
  static const Rule rules[] = { { OP_REDUCE, "narrow", rule_narrow }, { OP_NONE, NULL, NULL } };
  Narrow how = { p == PREC_BF16 ? DT_BF16 : DT_F16, p == PREC_BF16 && bf16_rate(t) > 0, narrow_pairs(p, t) };
  return (p == PREC_BF16 || p == PREC_FP16) && ir_rewrite_graph(g, rules, &how);
}

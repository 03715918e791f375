/* SPDX-License-Identifier: MIT */
/* half_sums.c: sums of products in half precision, in parts of few terms, which are added in single precision.
 * needs: a folded graph    gives: sums of casts of sums of halves, of at most MOST products each
 * breaks: roundings of both factors, and of sums of products, within the bounds of docs/numerics.md
 *
 * Some CPUs multiply and add twice as many halves as floats in a cycle. A long sum of halves would lose terms that are small
 * beside it. So an axis of the sum is divided into parts:
 *
 *   sum over k of x * w  ->  sum over i of float(sum over j of half(x) * half(w)),  k = MOST i + j
 *
 * Each product is exact, and each step of the inner sum rounds to a half. Sums with weights only are divided: others have factors
 * whose range is not known. Weights of Winograd tiles stay floats, since the transform would amplify roundings. The inner sum is
 * never stored (schedule/materialize.c), and the machine's instruction keeps its type (lower/legalize.c). */
#include "../ir/decisions.h"
#include "contraction.h"
#include "graph.h"
#include "rules.h"

enum { MOST = 32 }; /* terms of a part: docs/numerics.md bounds their error */
/* Products of halves in the time of one of floats. At 1.45 networks took 1.1 to 1.6 times as long as in floats. Source:
 * docs/benchmarks-amx.md */
#define GAIN 1.7

bool half_sums(Precision p, const Target *t) { return p == PREC_FP16_ARITH && halves_rate(t) >= GAIN; }

/* The most terms, at most MOST, that divide an extent */
static int64_t part_of(int64_t extent) {
  int64_t n = MOST;
  while (extent % n) n--;
  return n;
}

/* The summed axis of the product that both factors have and whose parts have most terms; -1: none is long enough. No taps of
 * windows over factor f */
static int axis_of(const Ctx *ctx, const Contraction *c, int f) {
  int best = -1;
  int64_t terms = tunable(ctx, half_sums_least) - 1;
  for (int i = 0; i < c->n; i++) {
    const CRange *r = &c->range[i];
    bool tap = false;
    for (int k = 0; k < c->nwindows; k++) tap |= c->window[k].factor == f && c->window[k].tap == i;
    if (tap || !r->summed || !r->in[0] || !r->in[1] || part_of(r->extent) <= terms) continue;
    terms = part_of(r->extent);
    best = r->axis;
  }
  return best;
}

/* x as halves, and padding below it, so that a halo has that type, too */
static Ref as_half(IR *ir, Ref x) {
  const Node *n = node(ir, x);
  int64_t fill;
  if (n->op != OP_PAD || !node_is_const(ir, pad_fill(n), &fill) || fill) return g_cast(ir, x, DT_F16);
  return g_pad(ir, g_cast(ir, pad_data(n), DT_F16), n->arg, n->arg + n->rank, c_int(ir, DT_F16, 0));
}

/* The views from `to`, a factor's base as halves, up to the factor r */
static Ref views_of_half(IR *ir, Ref r, Ref base, Ref to) {
  Refs views = { 0 };
  for (; r != base; r = operand(node(ir, r))) VEC_PUSH(&views, r);
  for (size_t i = views.n; i-- > 0;) {
    const Node *x = node(ir, views.p[i]);
    to = node_make(ir, (Op)x->op, DT_F16, 1, 1, &to, x->narg, x->arg, x->rank, x->dims);
  }
  VEC_FREE(&views);
  return to;
}

/* x with an axis divided into parts */
static Ref divided(IR *ir, Ref r, int axis, int64_t part) {
  const Node *x = node(ir, r);
  int64_t dims[MAX_RANK];
  memcpy(dims, x->dims, (size_t)(axis + 1) * sizeof *dims);
  memcpy(dims + axis + 1, x->dims + axis, (size_t)(x->rank - axis) * sizeof *dims);
  dims[axis] /= part;
  dims[axis + 1] = part;
  return g_reshape(ir, r, x->rank + 1, dims);
}

/* The sum r, of a product of these halves, divided along an axis */
static Ref in_parts(IR *ir, Ref r, const Ref *factor, int axis) {
  const Node *x = node(ir, factor[0]);
  const int rank = x->rank;
  const int64_t part = part_of(x->dims[axis]);
  int64_t dims[MAX_RANK];
  Ref half[2];
  memcpy(dims, x->dims, (size_t)rank * sizeof *dims);
  dims[axis] /= part;
  for (int f = 0; f < 2; f++) half[f] = divided(ir, factor[f], axis, part);
  const Ref parts = g_reduce(ir, OP_ADD, g_binary(ir, OP_MUL, half[0], half[1]), 1u << (axis + 1));
  return g_reduce(ir, OP_ADD, g_cast(ir, g_reshape(ir, parts, rank, dims), DT_F32), reduce_axes(node(ir, r)));
}

static Ref rule_halves(IR *ir, Ref r, void *arg) {
  Contraction c;
  (void)arg;
  if (node(ir, r)->dt != DT_F32 || !contraction_find(ir, r, &c) || contraction_batched(&c)) return 0;
  const Ref product = operand(node(ir, r));
  const Node *p = node(ir, product);
  if (p->op != OP_MUL || p->rank == MAX_RANK) return 0;
  for (int f = 0; f < 2; f++) {
    const Node *w = node(ir, c.base[f]);
    if (w->op != OP_WEIGHT || w->dt != DT_F32 || !ir->tensors.p[weight_id(w)].data || !node(ir, c.base[!f])->varies) continue;
    const int axis = axis_of(ir->ctx, &c, !f);
    if (axis < 0) return 0;
    const Question q = ask_node(ir, "half_sums", r);
    const Ref narrow = answer_yes(ir, &q, true) ? half_weight(ir, c.base[f], DT_F16) : 0;
    if (!narrow) return 0;
    Ref factor[2] = { lhs(p), rhs(p) };
    factor[f] = views_of_half(ir, factor[f], c.base[f], operand(node(ir, narrow)));
    factor[!f] = views_of_half(ir, node(ir, product)->src[!f], c.base[!f], as_half(ir, c.base[!f]));
    return in_parts(ir, r, factor, axis);
  }
  return 0;
}

bool graph_half_sums(Graph *g, Precision p, const Target *t) {
  static const Rule rules[] = { { OP_REDUCE, "halves", rule_halves }, { OP_NONE, NULL, NULL } };
  return half_sums(p, t) && ir_rewrite_graph(g, rules, NULL);
}

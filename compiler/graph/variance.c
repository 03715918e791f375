/* SPDX-License-Identifier: MIT */
/* variance.c: a graph that estimates the rounding errors of a graph's values.
 *
 * Error model: every operation rounds its result with a relative error of mean 0, independent of all others. Its standard
 * deviation is at most the unit roundoff u of the type, or 4 u for functions of the C library. A sum of n terms in any order
 * passes through n partial sums, none of which exceeds the sum of the terms' magnitudes. So to first order the variances V are:
 *
 *   x + y, x - y    V(x) + V(y)                               + (u z)^2, where z is the result
 *   x y             y^2 V(x) + x^2 V(y)                       + (u z)^2
 *   x / y           (V(x) + z^2 V(y)) / y^2                   + (u z)^2
 *   sum(x)          sum(V(x))                                 + n u^2 sum(|x|)^2
 *   f(x)            ((f(x + 4 s) - f(x - 4 s)) / 4)^2         + (4 u z)^2, where s^2 = V(x)
 *   a selection     V of the selected value; where the choice is within 4 s of the other one, plus their distance squared
 *
 * These are large exactly where a sum cancels. Source: Higham and Mary, A new approach to probabilistic rounding error
 * analysis, 2019; errors grow with the square root of n. Movement moves variances. Functions that jump, such as rounding to
 * integers, are covered by the formula for f. Weights count as rounded once, since passes compute with them.
 *
 * The nodes are floats, to be evaluated in double, where squares neither overflow nor underflow. Most of the work is one
 * further contraction for each contraction.
 *
 * needs: a graph    gives: further nodes    breaks: nothing */
#include "graph.h"
#include "rules.h"
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SIGMAS = 4 };       /* standard deviations within which other outcomes are considered */

typedef struct Variance {
  IR *ir;
  double product;          /* relative error of a product in a sum, besides u */
  Ref *of;                 /* by node: its variance; 0: it is exact */
  bool unknown;            /* an op without a rule was met */
} Variance;

static Ref number(IR *ir, double v) { return c_float(ir, DT_F32, v); }
static Ref add(IR *ir, Ref a, Ref b) { return !a || !b ? a + b : g_binary(ir, OP_ADD, a, b); } /* 0: exact */
static Ref mul(IR *ir, Ref a, Ref b) { return g_binary(ir, OP_MUL, a, b); }
static Ref square(IR *ir, Ref a) { return mul(ir, a, a); }
static Ref real(IR *ir, Ref r) { return g_cast(ir, r, DT_F32); }
static Ref given(Variance *w, Ref r) { return w->of[r]; }

static double roundoff(DType d) {
  return d == DT_F64 ? 0x1p-53 : d == DT_F16 ? 0x1p-11 : d == DT_BF16 ? 0x1p-8 : dt_float(d) ? 0x1p-24 : 0;
}

/* variance from rounding r itself; denormals may be flushed */
static Ref own(IR *ir, Ref r, double c) {
  const double u = c * roundoff((DType)node(ir, r)->dt);
  if (!u) return 0;
  return add(ir, square(ir, mul(ir, real(ir, r), number(ir, u))), number(ir, FLT_MIN * (double)FLT_MIN));
}

static Ref zeros(IR *ir, Ref like) {
  const Node *x = node(ir, like);
  return g_expand(ir, number(ir, 0), x->rank, x->dims);
}

/* V, or zeros, in the shape of r */
static Ref full(Variance *w, Ref r) { return given(w, r) ? given(w, r) : zeros(w->ir, r); }

static Ref apply(IR *ir, const Node *x, Ref a, Ref b) { /* x with another first source, in single precision */
  Ref v = x->op == OP_CAST ? g_cast(ir, a, (DType)x->dt)
          : x->nsrc == 1   ? g_unary(ir, (Op)x->op, a)
                           : g_binary(ir, (Op)x->op, a, b);
  return real(ir, v);
}

/* ((f(x + 4 s) - f(x)) + (f(x) - f(x - 4 s)))^2 / 16, each difference as a magnitude */
static Ref by_differences(Variance *w, Ref r) {
  IR *ir = w->ir;
  const Node *x = node(ir, r);
  Ref v = given(w, x->src[0]), a = real(ir, x->src[0]);
  if (!v) return 0;
  Ref s = mul(ir, g_unary(ir, OP_SQRT, v), number(ir, SIGMAS)), low = g_binary(ir, OP_SUB, a, s), high = add(ir, a, s);
  Ref b = x->nsrc > 1 ? real(ir, x->src[1]) : 0, z = real(ir, r);
  if (x->op == OP_SQRT || x->op == OP_LOG || x->op == OP_LOG2 || x->op == OP_POW)
    low = g_where(ir, g_binary(ir, OP_CMPLT, a, number(ir, 0)), low, g_binary(ir, OP_MAX, low, number(ir, 0)));
  Ref up = g_unary(ir, OP_ABS, g_binary(ir, OP_SUB, apply(ir, x, high, b), z));
  Ref down = g_unary(ir, OP_ABS, g_binary(ir, OP_SUB, z, apply(ir, x, low, b)));
  return mul(ir, square(ir, add(ir, up, down)), number(ir, 1.0 / (SIGMAS * SIGMAS)));
}

/* 1 where a and b are so close that a comparison may have another result */
static Ref near(Variance *w, Ref a, Ref b) {
  IR *ir = w->ir;
  Ref v = add(ir, given(w, a), given(w, b));
  if (!v) return 0;
  Ref d = square(ir, g_binary(ir, OP_SUB, real(ir, a), real(ir, b)));
  return real(ir, g_binary(ir, OP_CMPLE, d, mul(ir, v, number(ir, SIGMAS * SIGMAS))));
}

static Ref of_where(Variance *w, Ref r) {
  IR *ir = w->ir;
  const Node *x = node(ir, r);
  Ref a = given(w, where_yes(x)), b = given(w, where_no(x)), v = 0, c = given(w, where_cond(x));
  if (a || b) v = g_where(ir, where_cond(x), full(w, where_yes(x)), full(w, where_no(x)));
  if (!c) return v;
  Ref d = mul(ir, c, square(ir, g_binary(ir, OP_SUB, real(ir, where_yes(x)), real(ir, where_no(x)))));
  d = g_where(ir, g_binary(ir, OP_CMPEQ, c, number(ir, 0)), zeros(ir, r), d); /* infinities that are not selected */
  return add(ir, v, d);
}

static Ref moved(Variance *w, Ref r) {
  IR *ir = w->ir;
  const Node *x = node(ir, r);
  Ref src[2] = { given(w, x->src[0]), x->nsrc > 1 ? x->src[1] : 0 };
  if (x->op == OP_CAT) {
    bool any = false;
    for (int k = 0; k < x->nsrc; k++) any |= given(w, x->src[k]) != 0;
    Ref *part = ARENA_NEW(&ir->ctx->model, Ref, x->nsrc);
    for (int k = 0; k < x->nsrc; k++) part[k] = full(w, x->src[k]);
    return any ? g_cat(ir, x->nsrc, part, (int)cat_axis(x)) : 0;
  }
  if (x->nsrc > 1 && given(w, x->src[1]) && node(ir, x->src[1])->varies)
    w->unknown = true; /* an index, or the fill of a border */
  if (!src[0]) return 0;
  if (x->op == OP_PAD) src[1] = number(ir, 0);
  return node_make(ir, (Op)x->op, DT_F32, 1, x->nsrc, src, x->narg, x->arg, x->rank, x->dims);
}

static Ref reduced(IR *ir, const Node *x, Ref product, Ref other) { /* sum over x's axes of the views of another product */
  return g_reduce(ir, OP_ADD, view_over(ir, operand(x), product, other), reduce_axes(x));
}

static Ref of_sum(Variance *w, Ref r) {
  IR *ir = w->ir;
  const Node *x = node(ir, r), *all = node(ir, operand(x));
  const Ref p = view_base(ir, operand(x));
  const Node *y = node(ir, p);
  const int64_t elems = dims_elems(x->dims, x->rank);
  const double n = elems ? (double)dims_elems(all->dims, all->rank) / (double)elems : 0, u = roundoff((DType)x->dt);
  const bool gathers = y->op == OP_MUL && dt_float((DType)y->dt);
  Ref v = 0, size;
  if (gathers && lhs(y) != rhs(y)) {
    Ref a = real(ir, lhs(y)), b = real(ir, rhs(y)), va = given(w, lhs(y)), vb = given(w, rhs(y));
    if (va) v = reduced(ir, x, p, mul(ir, va, square(ir, b)));
    if (vb) v = add(ir, v, reduced(ir, x, p, mul(ir, square(ir, a), vb)));
    size = reduced(ir, x, p, mul(ir, g_unary(ir, OP_ABS, a), g_unary(ir, OP_ABS, b)));
  } else {
    if (given(w, operand(x))) v = g_reduce(ir, OP_ADD, given(w, operand(x)), reduce_axes(x));
    size = g_reduce(ir, OP_ADD, g_unary(ir, OP_ABS, real(ir, operand(x))), reduce_axes(x));
  }
  if (!u) return v; /* integers */
  const double c = (n + 1) * u * u + (gathers ? w->product * w->product : 0);
  return add(ir, v, add(ir, mul(ir, square(ir, size), number(ir, c)), number(ir, n * (double)FLT_MIN * (double)FLT_MIN)));
}

static Ref of_reduce(Variance *w, Ref r) {
  IR *ir = w->ir;
  const Node *x = node(ir, r);
  Ref v = given(w, operand(x));
  if (reduce_op(x) == OP_ADD) return of_sum(w, r);
  if (reduce_op(x) == OP_MUL) {
    const Node *s = node(ir, operand(x));
    const int64_t elems = dims_elems(x->dims, x->rank), n = elems ? dims_elems(s->dims, s->rank) / elems : 0;
    Ref rel = v ? g_reduce(ir, OP_ADD, g_binary(ir, OP_DIV, v, square(ir, real(ir, operand(x)))), reduce_axes(x)) : 0;
    return add(ir, rel ? mul(ir, rel, square(ir, real(ir, r))) : 0, own(ir, r, sqrt((double)n)));
  }
  return v ? g_reduce(ir, OP_MAX, v, reduce_axes(x)) : 0;
}

static Ref of_scatter(Variance *w, Ref r) {
  IR *ir = w->ir;
  const Node *x = node(ir, r);
  if (given(w, scatter_index(x)) || scatter_op(x) == OP_MUL) w->unknown = true;
  if (!given(w, scatter_data(x)) && !given(w, scatter_updates(x)) && scatter_op(x) != OP_ADD) return 0;
  Ref v = g_scatter(ir, scatter_op(x) == OP_MIN ? OP_MAX : scatter_op(x), full(w, scatter_data(x)), scatter_index(x),
                    full(w, scatter_updates(x)), (int)scatter_axis(x));
  if (scatter_op(x) != OP_ADD) return v;
  Ref size = g_scatter(ir, OP_ADD, g_unary(ir, OP_ABS, real(ir, scatter_data(x))), scatter_index(x),
                       g_unary(ir, OP_ABS, real(ir, scatter_updates(x))), (int)scatter_axis(x));
  const Node *u = node(ir, scatter_updates(x));
  const double c = sqrt((double)u->dims[scatter_axis(x)]) * roundoff((DType)x->dt);
  return c ? add(ir, v, square(ir, mul(ir, size, number(ir, c)))) : v;
}

static Ref variance_of(Variance *w, Ref r) {
  IR *ir = w->ir;
  const Node *x = node(ir, r);
  Ref a = x->nsrc > 0 ? given(w, x->src[0]) : 0, b = x->nsrc > 1 ? given(w, x->src[1]) : 0, v = 0;
  switch ((Op)x->op) {
  case OP_CONST: case OP_WEIGHT: return own(ir, r, 1);
  case OP_PARAM: case OP_IOTA: case OP_SIZE: return 0;
  case OP_NEG: case OP_ABS: return a;
  case OP_ADD: case OP_SUB:
    if (x->dt == DT_BOOL) break;
    return add(ir, add(ir, a, b), own(ir, r, 1));
  case OP_MUL:
    if (x->dt == DT_BOOL) break;
    if (a) v = mul(ir, a, square(ir, real(ir, rhs(x))));
    if (b) v = add(ir, v, mul(ir, b, square(ir, real(ir, lhs(x)))));
    return add(ir, v, own(ir, r, 1));
  case OP_DIV:
    if (!dt_float((DType)x->dt)) break;
    v = add(ir, a, b ? mul(ir, b, square(ir, real(ir, r))) : 0);
    if (v) v = g_binary(ir, OP_DIV, v, square(ir, real(ir, rhs(x))));
    return add(ir, v, own(ir, r, 1));
  case OP_MAX: case OP_MIN:
    if (x->dt == DT_BOOL) break;
    return a && b ? g_binary(ir, OP_MAX, a, b) : add(ir, a, b);
  case OP_CMPLT: case OP_CMPLE: case OP_CMPEQ: case OP_CMPNE: return near(w, lhs(x), rhs(x));
  case OP_WHERE: return of_where(w, r);
  case OP_SIN: case OP_COS: return add(ir, a, own(ir, r, 4));
  case OP_CAST:
    if (x->dt == DT_BOOL)
      return a ? real(ir, g_binary(ir, OP_CMPLE, square(ir, real(ir, operand(x))), mul(ir, a, number(ir, SIGMAS * SIGMAS)))) : 0;
    if (!dt_float((DType)x->dt)) return by_differences(w, r);
    return add(ir, a,
               roundoff((DType)x->dt) > roundoff((DType)node(ir, operand(x))->dt) || !dt_float((DType)node(ir, operand(x))->dt)
                   ? own(ir, r, 1)
                   : 0);
  case OP_TRUNC: case OP_FLOOR: case OP_CEIL: case OP_ROUND: return by_differences(w, r);
  case OP_RECIP: case OP_SQRT: return add(ir, by_differences(w, r), own(ir, r, 1));
  case OP_EXP: case OP_EXP2: case OP_LOG: case OP_LOG2: case OP_TAN: case OP_ASIN: case OP_ACOS: case OP_ATAN: case OP_SINH:
  case OP_COSH:
  case OP_TANH: case OP_ASINH: case OP_ACOSH: case OP_ATANH: case OP_ERF: return add(ir, by_differences(w, r), own(ir, r, 4));
  case OP_POW:
    if (b && node(ir, rhs(x))->varies) w->unknown = true; /* constant exponents are exact */
    return add(ir, by_differences(w, r), own(ir, r, 4));
  case OP_REDUCE: return of_reduce(w, r);
  case OP_SCATTER: return of_scatter(w, r);
  case OP_GATHER: return moved(w, r);
  default:
    if (op_info[x->op].algebra & MOVE) return moved(w, r);
    break;
  }
  for (int k = 0; k < x->nsrc; k++)
    v = !v ? given(w, x->src[k]) : given(w, x->src[k]) ? g_binary(ir, OP_MAX, v, given(w, x->src[k])) : v;
  if (v && x->dt != DT_BOOL) w->unknown = true;
  return v; /* for bools: any of them may change */
}

bool graph_variance(IR *ir, const Ref *roots, int n, double product, Ref *out) {
  Refs order = { 0 };
  ir_toposort(ir, roots, (size_t)n, &order);
  const size_t nodes = ir->n;
  Variance w = { .ir = ir, .product = product, .of = xmalloc(nodes * sizeof(Ref)) };
  memset(w.of, 0, nodes * sizeof(Ref));
  for (size_t i = 0; i < order.n; i++) w.of[order.p[i]] = variance_of(&w, order.p[i]);
  for (int i = 0; i < n; i++) out[i] = full(&w, roots[i]);
  free(w.of);
  VEC_FREE(&order);
  return !w.unknown;
}

/* SPDX-License-Identifier: MIT */
/* scale.c: moves constant factors and addends to constants with which they can be merged.
 *
 *   sum(a * w) * s   ->  sum(a * (w * s))      s does not vary over what is summed
 *   (y + b) * s      ->  y * s + b * s         when y * s becomes the line above
 *   (y + b) + c      ->  y + (b + c)           y such a sum, or integers
 *   (y * b) * c      ->  y * (b * c)           y such a sum, or integers
 *   erf(x / c)       ->  erf(x * (1 / c))
 *
 * w, s, b and c depend only on constants, so the right side costs nothing at run time. This folds batch normalisation into the
 * weights of the preceding convolution. The rules look through movement between the ops. They change the order in which floats
 * are rounded, so they have names. They apply only to sums, whose order is not promised either. They never apply to y * b * c
 * or y + b + c in general: quantisation, and rounding by a large addend, are written that way.
 *
 * Infinities and NaN in y, a and w must stay. So s must be finite, and w * s must neither overflow nor become 0 unless w or s
 * is 0, since infinity * 0 is NaN. A product that would become 0 becomes the least normal number instead. */
#include "../interp/interp.h"
#include "../cost/tunable.h"
#include "rules.h"
#include <float.h>
#include <math.h>
#include <string.h>

enum { MAX_PATH = 16 }; /* nodes between a factor and the constant that absorbs it */
typedef struct Step { Ref node, second; } Step; /* second: the new second source, if the node has one */

static Ref bare(const IR *ir, Ref r) { return node(ir, r)->op == OP_EXPAND ? operand(node(ir, r)) : r; }

static int64_t elems(const IR *ir, Ref r) { return dims_elems(node(ir, r)->dims, node(ir, r)->rank); }

/* ---- sizes of the elements of a constant ---- */
/* least and most: bounds of the magnitudes of finite elements other than 0 */
typedef struct Sizes { double least, most; bool zero, finite; } Sizes;

static Sizes sizes_of_tensor(const Tensor *t) {
  Sizes s = { INFINITY, 0, false, true };
  for (int64_t i = 0; i < (t->data ? t->elems : 1); i++) {
    float f;
    double v;
    if (t->data && t->dt == DT_F32) memcpy(&f, (const char *)t->data + i * 4, 4), v = fabsf(f); /* data may be misaligned */
    else v = fabs(bits_to_double(t->dt, tensor_bits(t, i)));
    if (!(v <= DBL_MAX)) s.finite = false;
    else if (v == 0) s.zero = true;
    else {
      if (v < s.least) s.least = v;
      if (v > s.most) s.most = v;
    }
  }
  return s;
}

/* false: not known */
static bool sizes(IR *ir, Ref r, Sizes *s) {
  const Node *x = node(ir, r);
  Sizes b;
  Tensor t;
  if (x->op == OP_RESHAPE || x->op == OP_EXPAND || x->op == OP_PERMUTE) return sizes(ir, operand(x), s);
  if (x->op != OP_MUL) {
    if (!interp_const(ir, r, &t)) return false;
    *s = sizes_of_tensor(&t);
    return true;
  }
  if (!sizes(ir, lhs(x), s) || !sizes(ir, rhs(x), &b)) return false;
  *s = (Sizes){ s->least * b.least, s->most * b.most, s->zero || b.zero, s->finite && b.finite };
  return true;
}

typedef struct Normal { double least, most; } Normal; /* least and greatest normal number */
static Normal normal(DType d) {
  switch (d) {
  case DT_F16: return (Normal){ 0x1p-14, 65504 };
  case DT_F64: return (Normal){ DBL_MIN, DBL_MAX };
  case DT_BF16: return (Normal){ FLT_MIN, 0x1.fep127 };
  default: return (Normal){ FLT_MIN, FLT_MAX };
  }
}

/* r = op(c, f), a product or quotient. If r underflows though neither c nor f is 0: the least normal number with r's sign */
static Ref not_vanished(IR *ir, Ref r, Ref c, Ref f, double least) {
  DType d = (DType)node(ir, r)->dt;
  Ref zero = c_int(ir, d, 0), tiny = g_binary(ir, OP_CMPLT, g_unary(ir, OP_ABS, r), c_float(ir, d, least));
  Ref some = g_binary(ir, OP_AND, g_binary(ir, OP_CMPNE, c, zero), g_binary(ir, OP_CMPNE, f, zero));
  Ref below = g_binary(ir, OP_XOR, g_binary(ir, OP_CMPLT, c, zero), g_binary(ir, OP_CMPLT, f, zero));
  Ref other = g_where(ir, below, c_float(ir, d, -least), c_float(ir, d, least));
  return g_where(ir, g_binary(ir, OP_AND, tiny, some), other, r);
}

/* op(c, f), such that op(sum, f) keeps its infinities and NaN when c becomes part of the sum; 0: not possible */
static Ref merged(IR *ir, Op op, Ref c, Ref f) {
  const DType d = (DType)node(ir, c)->dt;
  const Normal l = normal(d);
  Sizes a, b;
  Ref r = g_binary(ir, op, c, f);
  if (!dt_float(d)) return r;
  if (!sizes(ir, c, &a) || !sizes(ir, f, &b)) return 0;
  if (op == OP_ADD) return a.most + b.most <= l.most ? r : 0;
  if (!b.finite || (op == OP_DIV && b.zero)) return 0;
  if (op == OP_DIV) b = (Sizes){ 1 / b.most, 1 / b.least, b.zero, true };
  if (b.most > 0 && a.most * b.most > l.most) return 0;
  return a.least * b.least < l.least ? not_vanished(ir, r, c, f, l.least) : r;
}

/* op(c, f) in c's shape, computed before c and f are broadcast; 0: it would need a larger constant than both, or change the
 * value */
static Ref combine(IR *ir, Op op, Ref c, Ref f) {
  const Node *x = node(ir, c);
  Ref r = g_binary(ir, op, bare(ir, c), f);
  if (elems(ir, r) > elems(ir, bare(ir, c)) && elems(ir, r) > elems(ir, f)) return 0;
  r = merged(ir, op, bare(ir, c), f);
  return r ? g_expand(ir, r, x->rank, x->dims) : 0;
}

static bool is_sum(const IR *ir, Ref r) {
  const Node *x = node(ir, r);
  while (x->op == OP_RESHAPE || x->op == OP_PERMUTE) x = node(ir, operand(x));
  return x->op == OP_REDUCE && reduce_op(x) == OP_ADD;
}

/* f, over y's axes, moved to the axes of the source of y, a reshape. Axes that the source has merged, and that f varies over in
 * part, are expanded. */
static Ref before_reshape(IR *ir, const Node *y, const Node *s, Ref f) {
  int64_t part[MAX_RANK], dims[MAX_RANK];
  memcpy(part, node(ir, f)->dims, y->rank * sizeof *part);
  if (!reshape_part(y->rank, y->dims, s->rank, s->dims, part, dims, true)) return 0;
  return g_reshape(ir, g_expand(ir, f, y->rank, part), s->rank, dims);
}

/* The factor or addend f of y, as one of y's source, through movement. Each extent of f is y's or 1. */
static Ref before_movement(IR *ir, const Node *y, Ref f, Op op) {
  if (!(op_info[y->op].algebra & MOVE) || y->op == OP_CAT || y->op == OP_WINDOW) return 0;
  const Node *s = node(ir, operand(y)), *n = node(ir, f);
  int64_t dims[MAX_RANK], fill;
  if (y->op == OP_RESHAPE) return before_reshape(ir, y, s, f);
  if (y->op == OP_PAD && (op == OP_ADD || !node_is_const(ir, pad_fill(y), &fill) || fill)) return 0; /* 0 stays 0 */
  for (int i = 0; i < y->rank; i++) {
    if (y->op == OP_PERMUTE) {
      dims[permute_perm(y, i)] = i;
    } else if (n->dims[i] != 1) { /* the axis must not change */
      if (s->dims[i] != n->dims[i] || (y->op == OP_SHRINK && (shrink_begin(y, i) || shrink_step(y, i) != 1))) return 0;
    }
  }
  return y->op == OP_PERMUTE ? g_permute(ir, f, dims) : f;
}

/* y op f with f merged into a constant inside y, or 0. Every node on the way must have a single use, or y would be computed
 * twice. */
static Ref sink(const RefMap *users, IR *ir, Ref y, Ref f, Op op) {
  Step path[MAX_PATH];
  int n = 0;
  bool summed = false, floats = dt_float((DType)node(ir, y)->dt);
  Ref r = 0;
  while (!r) {
    const Node *x = node(ir, y);
    if (n == tunable(ir->ctx, scale_path) || refmap_get(users, y) > 1 || !elems(ir, y)) return 0;
    Step step = { y, x->nsrc > 1 ? x->src[1] : 0 };
    if (x->op == OP_ADD && is_constant(ir, rhs(x))) {
      Ref c = combine(ir, op, rhs(x), f);
      if (!c || (op == OP_ADD && floats && !is_sum(ir, lhs(x)))) return 0;
      if (op == OP_ADD) r = g_binary(ir, OP_ADD, lhs(x), c);
      step.second = c;
    } else if (op == OP_ADD && x->op == OP_REDUCE) {
      return 0;
    } else if (x->op == OP_REDUCE && reduce_op(x) == OP_ADD) {
      summed = true;
    } else if (x->op == OP_MUL && op != OP_ADD && (summed || !floats || is_sum(ir, lhs(x))) && is_constant(ir, rhs(x))) {
      Ref w = combine(ir, op, rhs(x), f);
      if (!w) return 0;
      r = g_binary(ir, OP_MUL, lhs(x), w);
    } else {
      f = before_movement(ir, x, f, op);
      if (!f) return 0;
    }
    path[n++] = step;
    y = x->src[0];
  }
  for (n--; n-- > 0;) r = node_with_src(ir, path[n].node, (Ref[]){ r, path[n].second });
  return r;
}

Ref rule_scale_into_constant(IR *ir, Ref r, void *users) {
  const Node *x = node(ir, r);
  if (!is_constant(ir, rhs(x)) || is_constant(ir, lhs(x))) return 0;
  if (x->op == OP_DIV && !dt_float((DType)x->dt)) return 0;
  return sink(users, ir, lhs(x), bare(ir, rhs(x)), (Op)x->op);
}

/* f(x / c) -> f(x * (1 / c)), for functions that do not enlarge a relative error of their argument. It adds only the rounding
 * of the reciprocal. */
Ref rule_divided_argument(IR *ir, Ref r, void *users) {
  const Node *x = node(ir, r), *y = node(ir, operand(x));
  int64_t bits;
  (void)users;
  if (y->op != OP_DIV || !dt_float((DType)y->dt) || !node_is_const(ir, rhs(y), &bits)) return 0;
  const double c = fabs(bits_to_double((DType)y->dt, bits));
  if (!(c >= 0x1p-12 && c <= 0x1p12)) return 0; /* the reciprocal is a normal number in all types */
  const Ref factor = c_float(ir, (DType)y->dt, 1 / bits_to_double((DType)y->dt, bits));
  const Ref product = g_binary(ir, OP_MUL, lhs(y), factor);
  return node_with_src(ir, r, &product);
}

/* x * c - max(x * c) -> (x - max(x)) * c; for c < 0, min(x). A multiply-add would subtract the maximum from an unrounded
 * product, so the greatest x would not give 0. With scores near 1e30, that rounding error would be the whole result of a
 * softmax. */
Ref rule_scaled_extreme(IR *ir, Ref r, void *users) {
  const Node *x = node(ir, r), *y = node(ir, lhs(x)), *e = node(ir, bare(ir, rhs(x)));
  int64_t bits;
  (void)users;
  if (y->op != OP_MUL || e->op != OP_REDUCE || operand(e) != lhs(x) || (reduce_op(e) != OP_MAX && reduce_op(e) != OP_MIN))
    return 0;
  if (!dt_float((DType)y->dt) || !node_is_const(ir, rhs(y), &bits)) return 0;
  const double c = bits_to_double((DType)y->dt, bits);
  if (!(fabs(c) > 0 && fabs(c) <= FLT_MAX)) return 0;
  const Op op = (c > 0) == (reduce_op(e) == OP_MAX) ? OP_MAX : OP_MIN;
  const Ref extreme = g_expand(ir, g_reduce(ir, op, lhs(y), reduce_axes(e)), x->rank, x->dims);
  return g_binary(ir, OP_MUL, g_binary(ir, OP_SUB, lhs(y), extreme), rhs(y));
}

Ref rule_merge_addends(IR *ir, Ref r, void *users) {
  const Node *x = node(ir, r);
  if (!is_constant(ir, rhs(x)) || is_constant(ir, lhs(x))) return 0;
  return sink(users, ir, lhs(x), bare(ir, rhs(x)), OP_ADD);
}

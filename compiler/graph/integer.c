/* SPDX-License-Identifier: MIT */
/* integer.c: turns sums over quantised values into sums over integers.
 *
 * Quantised models write every tensor as (q - zero) * scale. If scales do not vary over the summed axes, and q, w have 8 bits:
 *
 *   sum((q - z) * sq  *  w * sw)           ->  float(sum(q * w) - z * sum(w)) * (sq * sw)
 *   float(p) * s + float(b) * s            ->  float(p + b) * s                      a bias
 *   round(float(p) * s / t)                ->  round(float(p) * (s / t))             requantisation
 *   quantise(max over windows of x)        ->  max over windows of quantise(x)       and all movement
 *   quantise((q - z) * s) by s and z       ->  q
 *
 * So a quantised network computes on bytes between its contractions. Sums must be known to fit i32. No operator is special
 * here: a value is scaled if it is an integer times a constant, through movement, sums and a comparison with 0. Sums are exact,
 * while the original's were rounded. The third line rounds once less, as engines for quantised models do. Quantised values
 * become unsigned: signed ones are unsigned ones minus 128, because dot-product instructions multiply unsigned by signed bytes.
 *
 * If the machine only has an instruction for signed bytes, unsigned factors become signed again, and the sum gets a constant
 * correction:
 *
 *   sum(u * w)  ->  sum((u - 128) * w) + 128 * sum(w)
 *
 * needs: the graph of a front end    keeps: shapes and types of inputs and outputs
 * breaks: roundings; there are fewer */
#include "../interp/interp.h"
#include "graph.h"
#include "rules.h"
#include <math.h>
#include <string.h>

enum { MAX_DEPTH = 64, SMALL = 1 << 16 };

/* r = float(q) * s or r = i32(q) - s. q has r's shape; extents of s are 1 or r's */
typedef struct Parts { Ref q, s; } Parts;

static Ref bare(const IR *ir, Ref r) { return node(ir, r)->op == OP_EXPAND ? operand(node(ir, r)) : r; }
static Ref spread(IR *ir, Ref s, const Node *x) { return g_expand(ir, s, x->rank, x->dims); }
static int64_t elems(const Node *x) { return dims_elems(x->dims, x->rank); }

/* a number with as many axes as x, all of extent 1 */
static Ref number(IR *ir, Ref c, const Node *x) {
  int64_t ones[MAX_RANK];
  for (int i = 0; i < x->rank; i++) ones[i] = 1;
  return g_reshape(ir, c, x->rank, ones);
}

/* Least and greatest element of a constant of moderate size */
static bool extremes(IR *ir, Ref r, double *lo, double *hi) {
  Tensor t;
  r = bare(ir, r);
  if (node(ir, r)->varies || !elems(node(ir, r)) || elems(node(ir, r)) > SMALL || !interp_const(ir, r, &t)) return false;
  *lo = INFINITY;
  *hi = -INFINITY;
  for (int64_t i = 0; i < t.elems; i++) {
    double v = bits_to_double(t.dt, tensor_bits(&t, i));
    if (!(v >= *lo)) *lo = v; /* also for NaN */
    if (!(v <= *hi)) *hi = v;
    if (!t.data) break;
  }
  return true;
}

static bool uniform(IR *ir, Ref r, double *v) {
  double hi;
  return extremes(ir, r, v, &hi) && *v == hi;
}
static bool is_value(IR *ir, Ref r, double v) {
  double c;
  return uniform(ir, r, &c) && c == v;
}
static bool positive(IR *ir, Ref r) {
  double lo, hi;
  return extremes(ir, r, &lo, &hi) && lo > 0 && isfinite(hi);
}

static bool is_finite(IR *ir, Ref r) {
  double lo, hi;
  return extremes(ir, r, &lo, &hi) && isfinite(lo) && isfinite(hi);
}

static int64_t magnitude(IR *ir, Ref r);

/* magnitude from the sources */
static int64_t magnitude_below(IR *ir, const Node *x) {
  int64_t a, b, n = 1;
  bool fits = true;
  switch ((Op)x->op) {
  case OP_ADD: case OP_SUB: case OP_MUL: case OP_MAX: case OP_MIN: case OP_PAD:
    a = magnitude(ir, x->src[0]);
    b = magnitude(ir, x->src[1]);
    if (x->op == OP_MUL) fits = i64_mul(a, b, &a);
    else if (x->op == OP_ADD || x->op == OP_SUB) fits = i64_add(a, b, &a);
    else if (b > a) a = b;
    return fits ? a : INT64_MAX;
  case OP_REDUCE:
    a = magnitude(ir, operand(x));
    if (reduce_op(x) == OP_ADD && elems(x)) n = elems(node(ir, operand(x))) / elems(x);
    return reduce_op(x) == OP_MUL || !i64_mul(a, n, &a) ? INT64_MAX : a;
  case OP_CAST:
    if (dt_int((DType)node(ir, operand(x))->dt)) return magnitude(ir, operand(x));
    break;
  case OP_RESHAPE: case OP_EXPAND: case OP_PERMUTE: case OP_SHRINK: case OP_WINDOW: return magnitude(ir, operand(x));
  default: break;
  }
  if (x->vmin == INT64_MIN || x->vmax == INT64_MAX) return INT64_MAX;
  return -x->vmin > x->vmax ? -x->vmin : x->vmax;
}

/* Greatest absolute value of an integer if no sum wraps; INT64_MAX: not known */
static int64_t magnitude(IR *ir, Ref r) {
  const Node *x = node(ir, r);
  double lo, hi;
  if (!x->varies && extremes(ir, r, &lo, &hi)) return (int64_t)fmax(fabs(lo), fabs(hi));
  int64_t a = magnitude_below(ir, x), own = x->vmin == INT64_MIN ? INT64_MAX : -x->vmin > x->vmax ? -x->vmin : x->vmax;
  return a <= INT32_MAX && own < a ? own : a; /* bounds hold if nothing wraps */
}

/* ---- movement ---- */
/* s, which broadcasts with the source of the movement x, over the axes of x; 0: x mixes elements that s treats differently */
static Ref moved_part(IR *ir, const Node *x, Ref s) {
  const Node *y = node(ir, operand(x)), *n = node(ir, s);
  int64_t part[MAX_RANK], dims[MAX_RANK], begin[MAX_RANK], step[MAX_RANK];
  if (!elems(x) || !elems(y)) return 0;
  memcpy(part, n->dims, n->rank * sizeof *part);
  switch ((Op)x->op) {
  case OP_RESHAPE:
    if (!reshape_part(y->rank, y->dims, x->rank, x->dims, part, dims, false)) return 0;
    return g_reshape(ir, s, x->rank, dims);
  case OP_EXPAND: return s;
  case OP_PERMUTE: return g_permute(ir, s, x->arg);
  case OP_SHRINK:
    for (int i = 0; i < x->rank; i++) {
      begin[i] = part[i] == 1 ? 0 : shrink_begin(x, i);
      step[i] = part[i] == 1 ? 1 : shrink_step(x, i);
      dims[i] = part[i] == 1 ? 1 : x->dims[i];
    }
    return g_shrink(ir, s, begin, step, dims);
  case OP_WINDOW:
    if (part[window_axis(x)] != 1) return 0;
    part[y->rank] = 1;
    return g_reshape(ir, s, x->rank, part);
  case OP_PAD:
    for (int i = 0; i < x->rank; i++)
      if (part[i] != 1 && (pad_lo(x, i) || pad_hi(x, i))) return 0;
    return s;
  default: return 0;
  }
}

/* the movement x of another source; fill: for a PAD */
static Ref moved(IR *ir, const Node *x, Ref q, Ref fill) {
  return node_make(ir, (Op)x->op, (DType)node(ir, q)->dt, 1, x->nsrc, (Ref[]){ q, fill }, x->narg, x->arg, x->rank, x->dims);
}

static bool is_move(const Node *x) { return op_info[x->op].algebra & MOVE && x->op != OP_CAT; }

/* ---- r = float(q) * s, with q in i32 and s constant ---- */
static bool scaled(IR *ir, Ref r, int depth, Parts *o);

/* float(p) * s + float(b) * t with constant b, where t = s except for the last bits */
static bool scaled_sum(IR *ir, const Node *x, int depth, Parts *o) {
  Parts b;
  int k = node(ir, rhs(x))->varies;
  double lo, hi;
  if (node(ir, x->src[k])->varies == node(ir, x->src[!k])->varies) return false;
  if (!scaled(ir, x->src[k], depth, o) || !scaled(ir, x->src[!k], depth, &b)) return false;
  if (!extremes(ir, g_binary(ir, OP_DIV, b.s, o->s), &lo, &hi) || !(lo > 1 - 0x1p-20 && hi < 1 + 0x1p-20)) return false;
  o->q = g_binary(ir, OP_ADD, o->q, b.q);
  return magnitude(ir, o->q) <= INT32_MAX;
}

static bool scaled(IR *ir, Ref r, int depth, Parts *o) {
  const Node *x = node(ir, r), *y = x->nsrc ? node(ir, x->src[0]) : NULL;
  if (x->dt != DT_F32 || depth > MAX_DEPTH || !x->nsrc) return false;
  if (is_move(x)) {
    Ref zero = c_int(ir, DT_I32, 0);
    if (x->op == OP_PAD && !is_value(ir, pad_fill(x), 0)) return false;
    if (!scaled(ir, operand(x), depth + 1, o) || !(o->s = moved_part(ir, x, o->s))) return false;
    o->q = moved(ir, x, o->q, zero);
    return true;
  }
  switch ((Op)x->op) {
  case OP_CAST:
    if (!dt_int((DType)y->dt) || dtype_info[y->dt].bits > 32 || y->dt == DT_U32) return false;
    *o = (Parts){ g_cast(ir, operand(x), DT_I32), number(ir, c_float(ir, DT_F32, 1), x) };
    return true;
  case OP_MUL:
    for (int k = 1; k >= 0; k--)
      if (!node(ir, x->src[k])->varies && scaled(ir, x->src[!k], depth + 1, o)) {
        o->s = g_binary(ir, OP_MUL, o->s, bare(ir, x->src[k]));
        return true;
      }
    return false;
  case OP_DIV:
    if (node(ir, rhs(x))->varies || !scaled(ir, lhs(x), depth + 1, o)) return false;
    o->s = g_binary(ir, OP_DIV, o->s, bare(ir, rhs(x)));
    return true;
  case OP_MAX:
    if (!is_value(ir, rhs(x), 0) || !scaled(ir, lhs(x), depth + 1, o) || !positive(ir, o->s)) return false;
    o->q = g_binary(ir, OP_MAX, o->q, c_int(ir, DT_I32, 0));
    return true;
  case OP_ADD: return scaled_sum(ir, x, depth + 1, o);
  default: return false;
  }
}

static Ref unscaled(IR *ir, Ref q, Ref s) { return g_binary(ir, OP_MUL, g_cast(ir, q, DT_F32), spread(ir, s, node(ir, q))); }

static bool same_over(const IR *ir, Ref s, uint32_t axes) {
  for (int i = 0; i < node(ir, s)->rank; i++)
    if (axes >> i & 1 && node(ir, s)->dims[i] != 1) return false;
  return true;
}

/* sum(float(q) * s), and sum(float(a) * sa * float(w) * sw) of bytes, with one side constant */
static Ref sum_of_scaled(IR *ir, Ref r, void *arg) {
  (void)arg;
  const Node *x = node(ir, r), *m = node(ir, operand(x));
  uint32_t axes = reduce_axes(x);
  Parts a, w;
  if (reduce_op(x) != OP_ADD || x->dt != DT_F32 || !x->varies || !elems(m)) return 0;
  if (m->op == OP_MUL && node(ir, lhs(m))->varies != node(ir, rhs(m))->varies && scaled(ir, lhs(m), 0, &a) &&
      scaled(ir, rhs(m), 0, &w)) {
    if (!same_over(ir, a.s, axes) || !same_over(ir, w.s, axes) || !is_finite(ir, a.s) || !is_finite(ir, w.s)) return 0;
    if (magnitude(ir, a.q) > 255 || magnitude(ir, w.q) > 255) return 0;
    Ref sum = g_reduce(ir, OP_ADD, g_binary(ir, OP_MUL, a.q, w.q), axes);
    return magnitude(ir, sum) <= INT32_MAX ? unscaled(ir, sum, g_binary(ir, OP_MUL, a.s, w.s)) : 0;
  }
  if (m->op == OP_CAST || !scaled(ir, operand(x), 0, &a) || !same_over(ir, a.s, axes) || !is_finite(ir, a.s)) return 0;
  Ref sum = g_reduce(ir, OP_ADD, a.q, axes);
  return magnitude(ir, sum) <= INT32_MAX ? unscaled(ir, sum, a.s) : 0;
}

/* ---- r = i32(q) - s, with q of 8 bits ---- */
static Ref as_unsigned(IR *ir, Ref q) {
  return g_cast(ir, g_binary(ir, OP_ADD, g_cast(ir, q, DT_I32), c_int(ir, DT_I32, 128)), DT_U8);
}

/* zero: s is not 0 everywhere */
static bool narrow(IR *ir, Ref r, int depth, Parts *o, bool *zero) {
  const Node *x = node(ir, r), *y = x->nsrc ? node(ir, x->src[0]) : NULL;
  double fill = 0;
  if (x->dt != DT_I32 || depth > MAX_DEPTH || !x->nsrc) return false;
  if (is_move(x)) {
    if (!narrow(ir, operand(x), depth + 1, o, zero) || !(o->s = moved_part(ir, x, o->s))) return false;
    DType d = (DType)node(ir, o->q)->dt;
    if (x->op == OP_PAD) {
      double least = d == DT_U8 ? 0 : -128;
      if (!is_value(ir, pad_fill(x), 0) || (*zero && !uniform(ir, o->s, &fill)) || fill < least || fill > least + 255)
        return false;
    }
    o->q = moved(ir, x, o->q, c_int(ir, d, (int64_t)fill));
    return true;
  }
  switch ((Op)x->op) {
  case OP_CAST:
    if (y->op == OP_CAST && node(ir, operand(y))->dt == DT_I32) { /* converted back, within bounds */
      const Node *v = node(ir, operand(y));
      int64_t least = y->dt == DT_I8 ? -128 : 0;
      if ((y->dt == DT_I8 || y->dt == DT_U8) && v->vmin >= least && v->vmax <= least + 255 &&
          narrow(ir, operand(y), depth + 1, o, zero))
        return true;
    }
    if (y->dt != DT_U8 && y->dt != DT_I8) return false;
    *zero = y->dt == DT_I8 && y->varies;
    *o = (Parts){ *zero ? as_unsigned(ir, operand(x)) : operand(x), number(ir, c_int(ir, DT_I32, *zero ? 128 : 0), x) };
    return true;
  case OP_SUB: case OP_ADD: {
    if (!narrow(ir, lhs(x), depth + 1, o, zero)) return false;
    if (is_value(ir, rhs(x), 0)) return true;
    Ref s = bare(ir, rhs(x));
    o->s = x->op == OP_SUB ? g_binary(ir, OP_ADD, o->s, s) : g_binary(ir, OP_SUB, o->s, s);
    *zero = !is_value(ir, o->s, 0);
    return true;
  }
  default: return false;
  }
}

/* a constant as signed bytes minus its zero point */
static Ref signed_bytes(IR *ir, Ref w) {
  Tensor t;
  Parts p;
  bool zero;
  if (narrow(ir, w, 0, &p, &zero) && !zero && node(ir, p.q)->dt == DT_I8) return p.q;
  Ref b = bare(ir, w);
  if (!interp_const(ir, b, &t) || t.dt != DT_I32) return 0;
  for (int64_t i = 0; i < t.elems; i++) {
    const int64_t v = tensor_bits(&t, i);
    if (v < -128 || v > 127) return 0;
  }
  return spread(ir, g_cast(ir, b, DT_I8), node(ir, w));
}

/* Sum of w over the axes of the product m */
static Ref sum_of_weights(IR *ir, const Node *m, Ref w, uint32_t axes) {
  const Node *b = node(ir, bare(ir, w));
  int64_t repeats = 1;
  for (int i = 0; i < m->rank; i++)
    if (axes >> i & 1 && b->dims[i] == 1) repeats *= m->dims[i];
  return g_binary(ir, OP_MUL, g_reduce(ir, OP_ADD, g_cast(ir, bare(ir, w), DT_I32), axes), c_int(ir, DT_I32, repeats));
}

/* sum((u - z) * w) = sum(u * w) - z * sum(w) */
static Ref sum_of_bytes(IR *ir, Ref r, void *arg) {
  (void)arg;
  const Node *x = node(ir, r), *m = node(ir, operand(x));
  uint32_t axes = reduce_axes(x);
  Parts a;
  bool zero;
  if (reduce_op(x) != OP_ADD || x->dt != DT_I32 || m->op != OP_MUL || !elems(m)) return 0;
  int k = node(ir, rhs(m))->varies;
  if (node(ir, m->src[k])->varies == node(ir, m->src[!k])->varies) return 0;
  if (!narrow(ir, m->src[k], 0, &a, &zero) || !same_over(ir, a.s, axes)) return 0;
  Ref w = signed_bytes(ir, m->src[!k]);
  if (!w || node(ir, a.q)->dt != DT_U8) return 0;
  Ref sum = g_reduce(ir, OP_ADD, g_binary(ir, OP_MUL, g_cast(ir, a.q, DT_I32), g_cast(ir, w, DT_I32)), axes);
  if (!zero) return sum == r ? 0 : sum;
  return g_binary(ir, OP_SUB, sum, spread(ir, g_binary(ir, OP_MUL, a.s, sum_of_weights(ir, m, w, axes)), x));
}

/* u, unsigned bytes, minus 128 */
static Ref as_signed(IR *ir, Ref u) {
  const Node *x = node(ir, u);
  if (!is_move(x)) return g_cast(ir, g_binary(ir, OP_SUB, g_cast(ir, u, DT_I32), c_int(ir, DT_I32, 128)), DT_I8);
  return moved(ir, x, as_signed(ir, operand(x)), x->op == OP_PAD ? as_signed(ir, pad_fill(x)) : 0);
}

/* sum(u * w) = sum((u - 128) * w) + 128 * sum(w) */
static Ref sum_of_signed(IR *ir, Ref r, void *arg) {
  (void)arg;
  const Node *x = node(ir, r), *m = node(ir, operand(x));
  uint32_t axes = reduce_axes(x);
  if (reduce_op(x) != OP_ADD || x->dt != DT_I32 || m->op != OP_MUL || !elems(m)) return 0;
  int k = node(ir, rhs(m))->varies;
  const Node *u = node(ir, m->src[k]), *w = node(ir, m->src[!k]);
  if (u->op != OP_CAST || node(ir, operand(u))->dt != DT_U8 || !u->varies || w->op != OP_CAST ||
      node(ir, operand(w))->dt != DT_I8 || w->varies)
    return 0;
  Ref product = g_binary(ir, OP_MUL, g_cast(ir, as_signed(ir, operand(u)), DT_I32), m->src[!k]);
  Ref more = g_binary(ir, OP_MUL, sum_of_weights(ir, m, operand(w), axes), c_int(ir, DT_I32, 128));
  return g_binary(ir, OP_ADD, g_reduce(ir, OP_ADD, product, axes), spread(ir, more, x));
}

/* ---- u8(round(x / by) + zero), saturated ---- */
typedef struct Quantiser { Ref by; double zero; } Quantiser;

static bool quantiser(IR *ir, const Node *x, Ref *value, Quantiser *k) {
  const Node *y = node(ir, operand(x));
  double zero = 0, by;
  if ((x->dt != DT_U8 && x->dt != DT_I8) || y->dt != DT_F32) return false;
  if (y->op == OP_ADD) {
    if (!uniform(ir, rhs(y), &zero) || zero != rint(zero) || fabs(zero) > 255) return false;
    y = node(ir, lhs(y));
  }
  if (y->op != OP_ROUND) return false;
  y = node(ir, operand(y));
  if (y->op != OP_DIV || !uniform(ir, rhs(y), &by) || !(by > 0)) return false;
  *value = lhs(y);
  *k = (Quantiser){ c_float(ir, DT_F32, by), zero };
  return true;
}

/* x / by without a division of varying values, or 0 */
static Ref divided(IR *ir, Ref r, Ref by, int depth) {
  const Node *x = node(ir, r);
  Parts p;
  if (depth > MAX_DEPTH) return 0;
  if (scaled(ir, r, depth, &p)) return unscaled(ir, p.q, g_binary(ir, OP_DIV, p.s, by));
  Ref a = x->op == OP_ADD || x->op == OP_MAX || x->op == OP_MIN ? divided(ir, lhs(x), by, depth + 1) : 0, b = 0;
  if (a) b = node(ir, rhs(x))->varies ? divided(ir, rhs(x), by, depth + 1) : g_binary(ir, OP_DIV, rhs(x), by);
  return b ? g_binary(ir, (Op)x->op, a, b) : 0;
}

/* a maximum with 0, which saturation does anyway */
static Ref without_floor(IR *ir, Ref r, double zero) {
  const Node *x = node(ir, r);
  return x->op == OP_MAX && zero == 0 && is_value(ir, rhs(x), 0) ? lhs(x) : r;
}

static Ref quantised(IR *ir, Ref t, double zero) {
  Ref q = g_unary(ir, OP_ROUND, t);
  return g_cast(ir, zero != 0 ? g_binary(ir, OP_ADD, q, c_float(ir, DT_F32, zero)) : q, DT_U8);
}

/* Quantises r at its origin, below movement and maxima; 0: r is not made of scaled values */
static Ref quantise(IR *ir, Ref r, const Quantiser *k, int depth) {
  const Node *x = node(ir, r);
  Parts p;
  if (depth > MAX_DEPTH || !x->varies) return 0;
  if (is_move(x) || (x->op == OP_REDUCE && (reduce_op(x) == OP_MAX || reduce_op(x) == OP_MIN))) {
    Ref q = quantise(ir, operand(x), k, depth + 1);
    if (!q) return 0;
    Ref fill = x->op == OP_PAD ? quantised(ir, g_binary(ir, OP_DIV, pad_fill(x), k->by), k->zero) : 0;
    return moved(ir, x, q, fill);
  }
  if (x->op == OP_CAT) {
    Ref *src = ARENA_NEW(&ir->ctx->model, Ref, x->nsrc);
    for (int i = 0; i < x->nsrc; i++)
      if (!(src[i] = quantise(ir, x->src[i], k, depth + 1))) return 0;
    return g_cat(ir, x->nsrc, src, (int)cat_axis(x));
  }
  if (scaled(ir, r, depth, &p) && is_value(ir, g_binary(ir, OP_DIV, p.s, k->by), 1)) {
    Ref q = g_binary(ir, OP_ADD, p.q, c_int(ir, DT_I32, (int64_t)k->zero)), least = c_int(ir, DT_I32, 0),
        most = c_int(ir, DT_I32, 255);
    return g_cast(ir, g_binary(ir, OP_MIN, g_binary(ir, OP_MAX, q, least), most), DT_U8);
  }
  if (scaled(ir, r, depth, &p))
    return quantised(ir, unscaled(ir, without_floor(ir, p.q, k->zero), g_binary(ir, OP_DIV, p.s, k->by)), k->zero);
  Ref t = divided(ir, r, k->by, depth);
  return t ? quantised(ir, without_floor(ir, t, k->zero), k->zero) : 0;
}

static Ref requantise(IR *ir, Ref r, void *arg) {
  (void)arg;
  const Node *x = node(ir, r);
  Ref value;
  Quantiser k;
  if (!x->varies || !quantiser(ir, x, &value, &k)) return 0;
  if (x->dt == DT_U8) return quantise(ir, value, &k, 0);
  Ref u = quantised(ir, g_binary(ir, OP_DIV, value, k.by), k.zero + 128), less = c_int(ir, DT_I32, 128);
  return g_cast(ir, g_binary(ir, OP_SUB, g_cast(ir, u, DT_I32), less), DT_I8);
}

bool graph_integer(Graph *g, const Target *t) {
  static const Rule rules[] = { { OP_REDUCE, "sum-of-scaled", sum_of_scaled },
                                { OP_REDUCE, "sum-of-bytes", sum_of_bytes },
                                { OP_CAST, "requantise", requantise },
                                { OP_NONE, NULL, NULL } };
  static const Rule to_signed[] = { { OP_REDUCE, "sum-of-signed", sum_of_signed }, { OP_NONE, NULL, NULL } };
  bool changed = ir_rewrite_graph(g, rules, NULL);
  if ((t->features & (FEAT_DOTPROD | FEAT_I8MM)) == FEAT_DOTPROD || t->features & FEAT_MVE)
    changed |= ir_rewrite_graph(g, to_signed, NULL);
  return changed;
}

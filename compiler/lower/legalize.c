/* SPDX-License-Identifier: MIT */
/* legalize.c: the steps that rewrite what a backend has no text for.
 *
 * legalize: half precision is computed in single and rounded after each op; an op without a vector form runs lane by lane;
 * sums in two lanes of x86 are the first half of four. Functions that libm.c writes as arithmetic stay.
 * Integers are added to the innermost of unrolled products, so that instructions which multiply and add need no other sum.
 * libm: these functions become arithmetic, where the backend has no text for them. The arithmetic is legalized in turn.
 *
 * needs: nests with only loops left (expand.c)   gives: ops that Backend.supports, for so many lanes
 * breaks: roundings of functions, within the bounds of libm.c */
#include "../interp/interp.h"
#include "lower.h"
#include <stdlib.h>

enum { MAX_CHAIN = 64 }; /* products that are added to each other one after another: bounds recursion */

static Ref make(IR *ir, Op op, DType d, int lanes, int n, const Ref *src, int narg, const int64_t *arg) {
  return node_make(ir, op, d, lanes, n, src, narg, arg, 0, NULL);
}

typedef struct Machine {
  const Backend *backend;
  const Target *target;
  bool functions;          /* functions become arithmetic; else they stay */
} Machine;

static bool small_float(DType d) { return d == DT_F16 || d == DT_BF16; }

/* The machine multiplies, or adds, halves in vectors. */
static bool keeps_halves(const Target *t, Op op, DType d, int lanes) {
  return d == DT_F16 && (op == OP_MUL || op == OP_ADD || op == OP_MULACC) && lanes > 1 && target_sums_halves(t, lanes);
}

static Ref wide_half(IR *ir, const Node *x, const Target *t) {
  Ref src[MAX_RANGES];
  bool any = false;
  if (keeps_halves(t, (Op)x->op, (DType)x->dt, x->lanes)) return 0;
  if (x->op == OP_CAST || x->op == OP_BITCAST || op_info[x->op].level != L_EXPR || x->nsrc > 3) return 0;
  for (int k = 0; k < x->nsrc; k++) {
    const Node *y = node(ir, x->src[k]);
    src[k] = x->src[k];
    if (!small_float((DType)y->dt)) continue;
    any = true;
    src[k] = make(ir, OP_CAST, DT_F32, y->lanes, 1, &src[k], 0, NULL);
  }
  if (!any || x->op == OP_WHERE) return 0; /* a select moves bits */
  DType d = small_float((DType)x->dt) ? DT_F32 : (DType)x->dt;
  Ref r = make(ir, (Op)x->op, d, x->lanes, x->nsrc, src, x->narg, x->arg);
  return d == x->dt ? r : make(ir, OP_CAST, (DType)x->dt, x->lanes, 1, &r, 0, NULL);
}

/* Casts between half precision and anything but f32 go through f32. */
static Ref half_cast(IR *ir, const Node *x) {
  if (x->op != OP_CAST) return 0;
  DType from = (DType)node(ir, operand(x))->dt, to = (DType)x->dt;
  if (!(small_float(from) && to != DT_F32) && !(small_float(to) && from != DT_F32)) return 0;
  Ref r = make(ir, OP_CAST, DT_F32, x->lanes, 1, x->src, 0, NULL);
  return make(ir, OP_CAST, to, x->lanes, 1, &r, 0, NULL);
}

static Ref by_lane(IR *ir, const Node *x) {
  Ref lane[64];
  CHECK(x->lanes <= 64);
  for (int64_t i = 0; i < x->lanes; i++) {
    Ref src[3];
    for (int k = 0; k < x->nsrc; k++) {
      const Node *y = node(ir, x->src[k]);
      src[k] = y->op == OP_BCAST ? operand(y)
               : y->op == OP_VEC ? y->src[i]
                                 : make(ir, OP_LANE, (DType)y->dt, 1, 1, &x->src[k], 1, &i);
    }
    lane[i] = make(ir, (Op)x->op, (DType)x->dt, 1, x->nsrc, src, x->narg, x->arg);
  }
  return make(ir, OP_VEC, (DType)x->dt, x->lanes, x->lanes, lane, 0, NULL);
}

/* Reductions of half precision accumulate in single, but for sums that the machine computes. */
static Ref wide_reduction(IR *ir, Ref r, void *arg) {
  const Machine *m = arg;
  const Node *x = node(ir, r);
  Ref src[MAX_RANGES + 1];
  if (!small_float((DType)x->dt)) return 0;
  if (red_op(x) == OP_ADD && keeps_halves(m->target, OP_ADD, (DType)x->dt, x->lanes)) return 0;
  for (int k = 0; k < x->nsrc; k++) src[k] = x->src[k];
  src[0] = make(ir, OP_CAST, DT_F32, node(ir, src[0])->lanes, 1, src, 0, NULL);
  Ref wide = make(ir, (Op)x->op, DT_F32, x->lanes, x->nsrc, src, x->narg, x->arg);
  return make(ir, OP_CAST, (DType)x->dt, x->lanes, 1, &wide, 0, NULL);
}

/* Functions of a constant are constants, in one lane or in all. */
static Ref fold_constant(IR *ir, const Node *x) {
  const Node *c = node(ir, x->src[0]);
  if (x->nsrc != 1) return 0;
  if (c->op == OP_BCAST) c = node(ir, operand(c));
  if (c->op != OP_CONST) return 0;
  Ref v = c_bits(ir, (DType)x->dt, interp_scalar((Op)x->op, (DType)x->dt, (DType)c->dt, c->arg));
  return x->lanes == 1 ? v : make(ir, OP_BCAST, (DType)x->dt, x->lanes, 1, &v, 0, NULL);
}

/* Products of a group one after another, for a backend without the instruction. */
static Ref by_product(IR *ir, Ref r, void *arg) {
  const Machine *m = arg;
  const Node *x = node(ir, r), *a = node(ir, dot_x(x)), *b = node(ir, dot_y(x));
  Ref sum = dot_sum(x), lane[64];
  const int n = x->lanes, group = b->lanes / n;
  if (m->backend->supports(m->target, OP_DOT, (DType)x->dt, (DType)a->dt, n)) return 0;
  CHECK(n <= 64);
  for (int k = 0; k < group; k++) {
    Ref factor[2];
    for (int s = 0; s < 2; s++) {
      const Node *y = s ? b : a;
      for (int i = 0; i < n; i++)
        lane[i] = make(ir, OP_LANE, (DType)y->dt, 1, 1, &x->src[1 + s], 1,
                       (int64_t[]){ (y->lanes == group ? 0 : i * group) + k });
      Ref v = n == 1 ? lane[0] : make(ir, OP_VEC, (DType)y->dt, n, n, lane, 0, NULL);
      factor[s] = make(ir, OP_CAST, (DType)x->dt, n, 1, &v, 0, NULL);
    }
    Ref product = make(ir, OP_MUL, (DType)x->dt, n, 2, factor, 0, NULL);
    sum = make(ir, OP_ADD, (DType)x->dt, n, 2, (Ref[]){ sum, product }, 0, NULL);
  }
  return sum;
}

/* f32 to integers of less than 32 bits: clamped, so that the conversion to i32 cannot saturate; and back. A rounding is the last
 * step of that, so that the conversion may do it; it keeps the order of values, and bounds are integers. */
static Ref narrow_cast(IR *ir, const Node *x) {
  const Node *s = node(ir, x->src[0]);
  DType d = (DType)x->dt;
  if (x->op == OP_CAST && d == DT_F32 && x->lanes > 1 && dt_int((DType)s->dt) && dtype_info[s->dt].bits < 32) {
    Ref wide = make(ir, OP_CAST, DT_I32, x->lanes, 1, x->src, 0, NULL);
    return make(ir, OP_CAST, d, x->lanes, 1, &wide, 0, NULL);
  }
  if (x->op != OP_CAST || s->dt != DT_F32 || !dt_int(d) || dtype_info[d].bits >= 32 || x->lanes == 1) return 0;
  const int bits = dtype_info[d].bits - (dtype_info[d].cls == 'i');
  double limit[2] = { dtype_info[d].cls == 'i' ? -(double)(1 << bits) : 0, (double)((1 << bits) - 1) };
  const bool rounds = s->op == OP_ROUND;
  Ref r = rounds ? operand(s) : operand(x);
  for (int k = 0; k < 2; k++) {
    Ref c = c_float(ir, DT_F32, limit[k]);
    r = make(ir, k ? OP_MIN : OP_MAX, DT_F32, x->lanes, 2, (Ref[]){ r, make(ir, OP_BCAST, DT_F32, x->lanes, 1, &c, 0, NULL) }, 0,
             NULL);
  }
  if (rounds) r = make(ir, OP_ROUND, DT_F32, x->lanes, 1, &r, 0, NULL);
  r = make(ir, OP_CAST, DT_I32, x->lanes, 1, &r, 0, NULL);
  return make(ir, OP_CAST, d, x->lanes, 1, &r, 0, NULL);
}

static bool is_zero(const IR *ir, Ref r) {
  int64_t bits;
  if (node(ir, r)->op == OP_BCAST) r = operand(node(ir, r));
  return node_is_const(ir, r, &bits) && !bits;
}

bool multiplies_words(const IR *ir, const Target *t, const Node *x) {
  if ((x->op != OP_MUL && x->op != OP_MULACC) || x->dt != DT_I32 || !target_adds_words(t, x->lanes)) return false;
  const bool adds = x->op == OP_MULACC;
  const Node *a = node(ir, adds ? mulacc_x(x) : lhs(x)), *b = node(ir, adds ? mulacc_y(x) : rhs(x));
  const bool words = a->vmin >= INT16_MIN && a->vmax <= INT16_MAX && b->vmin >= INT16_MIN && b->vmax <= INT16_MAX;
  return words && (a->vmin >= 0 || b->vmin >= 0);
}

/* `products` with `sum` added to the innermost of them; 0: they are something else. Compilers in LLVM find products of words
 * themselves. */
static Ref add_innermost(IR *ir, const Machine *m, Ref products, Ref sum, int depth) {
  const Node *x = node(ir, products);
  const bool dot = x->op == OP_DOT, words = m->backend->dialect && !m->target->dev;
  if (depth > MAX_CHAIN || dt_float((DType)x->dt)) return 0;
  if (words && x->op == OP_MUL && multiplies_words(ir, m->target, x))
    return make(ir, OP_MULACC, (DType)x->dt, x->lanes, 3, (Ref[]){ lhs(x), rhs(x), sum }, 0, NULL);
  if (!dot && x->op != OP_MULACC) return 0;
  const Ref below = dot ? dot_sum(x) : mulacc_sum(x);
  sum = dot && is_zero(ir, below) ? sum : add_innermost(ir, m, below, sum, depth + 1);
  if (!sum) return 0;
  return node_with_src(ir, products, dot ? (Ref[]){ sum, dot_x(x), dot_y(x) } : (Ref[]){ mulacc_x(x), mulacc_y(x), sum });
}

/* sum + (products + product): all are added to the sum one after another, by instructions that multiply and add */
static Ref sum_of_products(IR *ir, Ref r, void *arg) {
  const Node *x = node(ir, r);
  const Ref found = add_innermost(ir, arg, rhs(x), lhs(x), 0);
  return found ? found : add_innermost(ir, arg, lhs(x), rhs(x), 0);
}

/* ---- vectors of floats beside vectors of as many halves, which take two registers ---- */
static Ref shuffled(IR *ir, Ref a, Ref b, int first, int n) {
  int64_t lane[64];
  for (int i = 0; i < n; i++) lane[i] = first + i;
  return make(ir, OP_SHUFFLE, (DType)node(ir, a)->dt, n, 2, (Ref[]){ a, b }, n, lane);
}

/* Half of the lanes of r; which: 0 or 1 */
static Ref half_vector(IR *ir, Ref r, int which) {
  const Node *x = node(ir, r);
  const int n = x->lanes / 2;
  Ref of = x->op == OP_BCAST ? operand(x) : 0;
  if (of) return make(ir, OP_BCAST, (DType)x->dt, n, 1, &of, 0, NULL);
  if (x->op == OP_SHUFFLE && node(ir, lhs(x))->lanes == n && !shuffle_lanes(x, 0) && shuffle_lanes(x, n) == n)
    return which ? rhs(x) : lhs(x); /* two vectors that by_halves has joined */
  return shuffled(ir, r, r, which * n, n);
}

/* x, in lanes of more bytes than a register has, as two vectors. Compilers split sums and products of such vectors well, but
 * other ops lane by lane. */
static Ref by_halves(IR *ir, const Node *x, const Target *t) {
  Ref src[3], part[2];
  int bytes = dt_bytes((DType)x->dt);
  if (!target_sums_halves(t, 0) || x->lanes < 2 || x->nsrc > 3 || x->op == OP_BCAST || x->op == OP_VEC) return 0;
  for (int k = 0; k < x->nsrc; k++) {
    if (node(ir, x->src[k])->lanes != x->lanes) return 0;
    if (dt_bytes((DType)node(ir, x->src[k])->dt) > bytes) bytes = dt_bytes((DType)node(ir, x->src[k])->dt);
  }
  const bool plain = x->op == OP_ADD || x->op == OP_SUB || x->op == OP_MUL || x->op == OP_MULACC;
  if (bytes > 4 || x->lanes * bytes <= t->vector_bytes || x->lanes * bytes > 2 * t->vector_bytes || plain) return 0;
  for (int which = 0; which < 2; which++) {
    for (int k = 0; k < x->nsrc; k++) src[k] = half_vector(ir, x->src[k], which);
    part[which] = make(ir, (Op)x->op, (DType)x->dt, x->lanes / 2, x->nsrc, src, x->narg, x->arg);
  }
  return shuffled(ir, part[0], part[1], 0, x->lanes);
}

static bool is_supported(const Machine *m, const IR *ir, const Node *x) {
  return m->backend->supports(m->target, (Op)x->op, (DType)x->dt, (DType)node(ir, x->src[x->op == OP_WHERE])->dt, x->lanes);
}

static Ref legal(IR *ir, Ref r, void *arg) {
  const Machine *m = arg;
  const Node *x = node(ir, r);
  if (op_info[x->op].level != L_EXPR) return 0;
  Ref wide = fold_constant(ir, x);
  if (wide || (wide = by_halves(ir, x, m->target))) return wide;
  wide = wide_half(ir, x, m->target);
  if (wide || (wide = half_cast(ir, x)) || (wide = narrow_cast(ir, x))) return wide;
  if (is_supported(m, ir, x)) return 0;
  if (!m->functions && libm_has((Op)x->op, (DType)x->dt)) return 0;
  Ref d = libm_expr(ir, r, function_ops(m->backend, m->target, x->lanes));
  return d || x->lanes == 1 ? d : by_lane(ir, x);
}

/* ---- pairs ---- */
enum { PAIR = 2, WHOLE = 4 };

/* x86 has instructions for whole registers only: for two floats gcc 12 has half of the registers, no operands from memory and
 * no maximum. Nothing else must have two lanes then, but what is loaded and stored. */
static bool pairs_widen(const IR *ir, const Refs *all) {
  bool sums = false;
  for (size_t i = 0; i < all->n; i++) {
    const Node *x = node(ir, all->p[i]);
    bool reads = false; /* a pair */
    for (int k = 0; k < x->nsrc; k++) reads |= node(ir, x->src[k])->lanes == PAIR;
    sums |= x->lanes == PAIR && x->op == OP_RED;
    if (x->lanes != PAIR ? reads && x->op != OP_STORE && x->op != OP_LANE : x->dt != DT_F32 && x->dt != DT_BOOL) return false;
    if (x->lanes == PAIR && x->op != OP_LOAD && x->op != OP_BCAST && x->op != OP_VEC && x->op != OP_RED &&
        op_info[x->op].level != L_EXPR)
      return false;
  }
  return sums;
}

static Ref resized(IR *ir, Ref r, int lanes) { /* the first lanes of r, and zeros */
  const DType d = (DType)node(ir, r)->dt;
  Ref lane[WHOLE];
  for (int64_t i = 0; i < lanes; i++) lane[i] = i < PAIR ? make(ir, OP_LANE, d, 1, 1, &r, 1, &i) : c_int(ir, d, 0);
  return make(ir, OP_VEC, d, lanes, lanes, lane, 0, NULL);
}

static Ref widen_pairs(IR *ir, Ref nest, const Target *t) {
  Refs all = { 0 };
  RefMap wide = { 0 };
  if (t->arch != ARCH_X86_64) return nest;
  ir_toposort(ir, &nest, 1, &all);
  const bool can = pairs_widen(ir, &all);
  for (size_t i = 0; i < all.n && can; i++) {
    const Ref r = all.p[i];
    const Node *x = node(ir, r);
    const bool pair = x->lanes == PAIR;
    Ref *src = xmalloc((x->nsrc + 1u) * sizeof *src), out;
    for (int k = 0; k < x->nsrc; k++) src[k] = refmap_get(&wide, x->src[k]);
    if (x->op == OP_STORE && node(ir, store_value(x))->lanes == PAIR) src[2] = resized(ir, src[2], PAIR);
    x = node(ir, r);
    if (pair && x->op == OP_LOAD) out = resized(ir, r, WHOLE);
    else if (pair && x->op == OP_VEC) out = resized(ir, node_with_src(ir, r, src), WHOLE);
    else if (pair) out = make(ir, (Op)x->op, (DType)x->dt, WHOLE, x->nsrc, src, x->narg, x->arg);
    else out = node_with_src(ir, r, src);
    refmap_set(&wide, r, out);
    free(src);
  }
  if (can) nest = refmap_get(&wide, nest);
  refmap_free(&wide);
  VEC_FREE(&all);
  return nest;
}

/* ---- the steps ---- */
static Ref legalize_ops(IR *ir, Ref nest, Machine m) {
  Rule rules[OP_COUNT + 5];
  int n = 0;
  for (int op = 1; op < OP_COUNT; op++)
    if (op_info[op].level == L_EXPR) rules[n++] = (Rule){ (Op)op, "legalize", legal };
  rules[n++] = (Rule){ OP_RED, "widen", wide_reduction };
  rules[n++] = (Rule){ OP_HRED, "widen", wide_reduction };
  rules[n++] = (Rule){ OP_DOT, "products", by_product };
  rules[n++] = (Rule){ OP_ADD, "products", sum_of_products };
  rules[n] = (Rule){ OP_NONE, NULL, NULL };
  ir_rewrite(ir, rules, &m, &nest, 1, NULL);
  return nest;
}

static void legalize(Plan *p, NestState *s) {
  s->nest = legalize_ops(p->ir, widen_pairs(p->ir, s->nest, p->in->target), (Machine){ p->in->backend, p->in->target, false });
}

void step_legalize(Plan *p, Kernel *k) { each_state(p, k, legalize); }

static bool lacks_function(const IR *ir, Ref nest, const Machine *m) {
  Refs all = { 0 };
  bool lacks = false;
  ir_toposort(ir, &nest, 1, &all);
  for (size_t i = 0; i < all.n && !lacks; i++) {
    const Node *x = node(ir, all.p[i]);
    lacks = libm_has((Op)x->op, (DType)x->dt) && !is_supported(m, ir, x);
  }
  VEC_FREE(&all);
  return lacks;
}

static void expand_functions(Plan *p, NestState *s) {
  const Machine m = { p->in->backend, p->in->target, true };
  if (lacks_function(p->ir, s->nest, &m)) s->nest = legalize_ops(p->ir, s->nest, m);
}

void step_libm(Plan *p, Kernel *k) { each_state(p, k, expand_functions); }

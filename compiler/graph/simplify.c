/* SPDX-License-Identifier: MIT */
/* simplify.c: the table of rules on graphs of tensors.
 *
 * Rules are exact: every result keeps its bits, including infinities and signs of zeros. NaN stays NaN, but perhaps another
 * one. So x * 0, x - x, x / x and x + 0 stay for floats, and chains of casts shrink only if the middle type loses nothing. The
 * exceptions have names, and the reason is given at their definition: constant-power (power.c), scale-into-constant,
 * merge-addends, divided-argument and scaled-extreme (scale.c).
 *
 * needs: any graph    gives: an equal graph; outputs keep names, shapes and types    breaks: nothing */
#include "../interp/interp.h"
#include "graph.h"
#include "rules.h"
#include <math.h>

#define RULE(name) static Ref name(IR *ir, Ref r, __attribute__((unused)) void *users)

/* ---- all elementwise ops ---- */
RULE(fold_constants) {
  const Node *x = node(ir, r);
  int64_t bits[3];
  for (int i = 0; i < x->nsrc; i++)
    if (!node_is_const(ir, x->src[i], &bits[i])) return 0;
  DType operand = (DType)node(ir, x->src[x->nsrc - 1])->dt;
  return splat(ir, x, interp_scalar((Op)x->op, (DType)x->dt, operand, bits));
}

RULE(bounds_decide) {
  const Node *x = node(ir, r);
  return !dt_float((DType)x->dt) && x->vmin == x->vmax ? splat(ir, x, x->vmin) : 0;
}

/* ---- constants among sources ---- */
static bool is_number(const IR *ir, Ref r, double v) { /* r is the number v, with the same sign for 0 */
  int64_t bits;
  DType d = (DType)node(ir, r)->dt;
  if (!node_is_const(ir, r, &bits)) return false;
  if (!dt_float(d)) return bits == (int64_t)dt_wrap(d, (uint64_t)(int64_t)v);
  double c = bits_to_double(d, bits);
  return c == v && signbit(c) == signbit(v);
}

static bool is_float(const IR *ir, Ref r) { return dt_float((DType)node(ir, r)->dt); }
static Ref source(const IR *ir, Ref r, Op op) { return node(ir, r)->op == op ? operand(node(ir, r)) : 0; }
static Ref with(IR *ir, Ref r, Ref a, Ref b) { return node_with_src(ir, r, (Ref[]){ a, b }); }

/* Constants are the second source in ops that commute. */
RULE(constant_second) {
  const Node *x = node(ir, r);
  bool swap = is_constant(ir, lhs(x)) && !is_constant(ir, rhs(x));
  return swap ? with(ir, r, rhs(x), lhs(x)) : 0;
}

/* op(op(x, a), b) with constants a, b; only where grouping does not matter */
RULE(merge_constants) {
  const Node *x = node(ir, r), *y = node(ir, lhs(x));
  bool select = x->op == OP_MAX || x->op == OP_MIN;
  if (y->op != x->op || (is_float(ir, r) && !select)) return 0;
  if (!node_is_const(ir, rhs(x), NULL) || !node_is_const(ir, rhs(y), NULL)) return 0;
  return with(ir, r, lhs(y), g_binary(ir, (Op)x->op, rhs(y), rhs(x)));
}

/* ---- arithmetic ---- */
/* r is a sum with +0, possibly moved; such a sum is never -0 */
static bool has_plus_zero(const IR *ir, Ref r) {
  while (op_is_movement((Op)node(ir, r)->op)) r = operand(node(ir, r));
  const Node *x = node(ir, r);
  return x->op == OP_ADD && is_float(ir, r) && is_number(ir, rhs(x), 0);
}

/* r + 0, if r already has that form, or if some part of a concatenation does. Else 0. Exporters write + 0 for a copy, also of
 * all results of a loop. */
static Ref plus_zero(IR *ir, Ref r) {
  const Node *x = node(ir, r);
  if (has_plus_zero(ir, r)) return r;
  if (x->op == OP_RESHAPE) {
    Ref y = plus_zero(ir, operand(x));
    return y ? g_reshape(ir, y, x->rank, x->dims) : 0;
  }
  bool any = false;
  for (int k = 0; x->op == OP_CAT && k < x->nsrc; k++) any |= has_plus_zero(ir, x->src[k]);
  if (!any) return 0;
  Ref *part = ARENA_NEW(&ir->ctx->model, Ref, x->nsrc);
  for (int k = 0; k < x->nsrc; k++)
    part[k] = has_plus_zero(ir, x->src[k]) ? x->src[k] : g_binary(ir, OP_ADD, x->src[k], splat(ir, node(ir, x->src[k]), 0));
  return g_cat(ir, x->nsrc, part, (int)cat_axis(x));
}

RULE(sum) {
  const Node *x = node(ir, r);
  Ref a = lhs(x), b = rhs(x), y;
  if (is_number(ir, b, is_float(ir, r) ? -0.0 : 0)) return a;
  if (is_number(ir, b, 0) && (y = plus_zero(ir, a))) return y;
  if (is_constant(ir, b)) return 0; /* the difference rule wrote that */
  if ((y = source(ir, b, OP_NEG))) return g_binary(ir, OP_SUB, a, y);
  if ((y = source(ir, a, OP_NEG))) return g_binary(ir, OP_SUB, b, y);
  return 0;
}

RULE(difference) {
  const Node *x = node(ir, r);
  Ref a = lhs(x), b = rhs(x), y;
  if (is_number(ir, b, 0)) return a;
  if (a == b && !is_float(ir, r)) return splat(ir, x, 0);
  if ((y = source(ir, b, OP_NEG))) return g_binary(ir, OP_ADD, a, y);
  if (is_constant(ir, b) && !is_constant(ir, a))
    return g_binary(ir, OP_ADD, a, g_unary(ir, OP_NEG, b)); /* so that constants merge */
  return 0;
}

RULE(product) {
  const Node *x = node(ir, r);
  Ref a = lhs(x), b = rhs(x), y;
  if (is_number(ir, b, 1)) return a;
  if (x->dt != DT_BOOL && is_number(ir, b, -1)) return g_unary(ir, OP_NEG, a);
  if (!is_float(ir, r) && is_number(ir, b, 0)) return splat(ir, x, 0);
  if ((y = source(ir, a, OP_NEG)) && is_constant(ir, b)) return g_binary(ir, OP_MUL, y, g_unary(ir, OP_NEG, b));
  return 0;
}

/* x / c is x * (1 / c) if 1 / c is exact, and normal, so that flushing of subnormals does not matter */
RULE(quotient) {
  const Node *x = node(ir, r);
  Ref a = lhs(x), b = rhs(x);
  int64_t bits;
  int e;
  if (is_number(ir, b, 1)) return a;
  if (dtype_info[x->dt].cls != 'u' && x->dt != DT_BOOL && is_number(ir, b, -1)) return g_unary(ir, OP_NEG, a);
  if (!is_float(ir, r) || !node_is_const(ir, b, &bits)) return 0;
  double c = bits_to_double((DType)x->dt, bits);
  if (!isfinite(c) || fabs(frexp(c, &e)) != 0.5) return 0;
  int least = x->dt == DT_F64 ? -1022 : x->dt == DT_F16 ? -14 : -126; /* least exponent of normal numbers */
  if (1 - e < least || e - 1 < least) return 0;
  return g_binary(ir, OP_MUL, a, c_float(ir, (DType)x->dt, 1 / c));
}

RULE(integer_mod) {
  const Node *x = node(ir, r), *a = node(ir, lhs(x)), *b = node(ir, rhs(x));
  if (is_float(ir, r)) return 0;
  if (is_number(ir, rhs(x), 1)) return splat(ir, x, 0);
  return a->vmin >= 0 && a->vmax < b->vmin && a->vmax != INT64_MAX ? lhs(x) : 0;
}

RULE(floor_div) {
  const Node *x = node(ir, r);
  return is_number(ir, rhs(x), 1) ? lhs(x) : 0;
}

RULE(negation) {
  return source(ir, operand(node(ir, r)), OP_NEG);
}

RULE(abs_of) {
  Ref a = operand(node(ir, r)), y = source(ir, a, OP_NEG);
  if (source(ir, a, OP_ABS) || dtype_info[node(ir, r)->dt].cls == 'u' || (!is_float(ir, r) && node(ir, a)->vmin >= 0)) return a;
  return y ? g_unary(ir, OP_ABS, y) : 0;
}

RULE(round_of) { /* a value without a fraction */
  Ref a = operand(node(ir, r));
  const Node *x = node(ir, a);
  bool whole = x->op == OP_TRUNC || x->op == OP_FLOOR || x->op == OP_CEIL || x->op == OP_ROUND ||
               (x->op == OP_CAST && !is_float(ir, operand(x))) || !is_float(ir, a);
  return whole ? a : 0;
}

RULE(max_min) {
  const Node *x = node(ir, r), *a = node(ir, lhs(x)), *b = node(ir, rhs(x));
  bool max = x->op == OP_MAX;
  if (lhs(x) == rhs(x)) return lhs(x);
  if (is_float(ir, r)) return is_number(ir, rhs(x), max ? -INFINITY : INFINITY) ? lhs(x) : 0;
  if (x->dt == DT_U64) return 0; /* its bounds are one-sided */
  if (a->vmax <= b->vmin) return x->src[max];
  if (b->vmax <= a->vmin) return x->src[!max];
  return 0;
}

/* ---- logic and selection ---- */
RULE(negated) {
  Ref a = operand(node(ir, r)), y = source(ir, a, OP_NOT);
  const Node *x = node(ir, a);
  if (y || node(ir, r)->dt != DT_BOOL) return y;
  if (x->op == OP_CMPEQ) return g_binary(ir, OP_CMPNE, lhs(x), rhs(x));
  if (x->op == OP_CMPNE) return g_binary(ir, OP_CMPEQ, lhs(x), rhs(x));
  if (op_info[x->op].type[0] != 'b' || is_float(ir, lhs(x))) return 0; /* for NaN both comparisons are false */
  return g_binary(ir, x->op == OP_CMPLT ? OP_CMPLE : OP_CMPLT, rhs(x), lhs(x));
}

RULE(and_or) {
  const Node *x = node(ir, r);
  bool all = x->op == OP_AND;
  if (lhs(x) == rhs(x)) return lhs(x);
  Ref a = lhs(x), b = rhs(x);
  bool zero = is_number(ir, b, 0), ones = is_number(ir, b, -1);
  if (all ? ones : zero) return a;
  return (all ? zero : ones) ? b : 0;
}

RULE(xor) {
  const Node *x = node(ir, r);
  if (lhs(x) == rhs(x)) return splat(ir, x, 0);
  return is_number(ir, rhs(x), 0) ? lhs(x) : 0;
}

RULE(shift) {
  const Node *x = node(ir, r);
  return is_number(ir, rhs(x), 0) ? lhs(x) : 0;
}

RULE(compare_same) { /* floats: NaN differs from itself */
  const Node *x = node(ir, r);
  if (lhs(x) != rhs(x)) return 0;
  bool holds = x->op == OP_CMPEQ || x->op == OP_CMPLE;
  return is_float(ir, lhs(x)) && x->op != OP_CMPLT ? 0 : splat(ir, x, holds);
}

RULE(where) {
  const Node *x = node(ir, r), *c = node(ir, where_cond(x));
  Ref y = source(ir, where_cond(x), OP_NOT);
  int64_t a, b;
  if (where_yes(x) == where_no(x)) return where_yes(x);
  if (c->vmin == c->vmax) return c->vmin ? where_yes(x) : where_no(x);
  if (y) return g_where(ir, y, where_no(x), where_yes(x));
  if (x->dt != DT_BOOL || !node_is_const(ir, where_yes(x), &a) || !node_is_const(ir, where_no(x), &b)) return 0;
  return a ? where_cond(x) : g_unary(ir, OP_NOT, where_cond(x));
}

/* ---- conversions ---- */

/* every value of a is a value of b */
static bool includes(DType b, DType a) {
  static const int digits[DT_COUNT] = { [DT_F16] = 11, [DT_BF16] = 8, [DT_F32] = 24, [DT_F64] = 53 };
  static const int before_point[DT_COUNT] = { [DT_F16] = 16, [DT_BF16] = 128, [DT_F32] = 128, [DT_F64] = 1024 };
  if (a == b || a == DT_BOOL) return true;
  if (b == DT_BOOL) return false;
  bool sign = dtype_info[a].cls == 'i';
  int bits = dtype_info[a].bits - sign;
  if (dt_float(a)) return dt_float(b) && digits[b] >= digits[a] && before_point[b] >= before_point[a];
  if (dt_float(b)) return digits[b] >= bits;
  return (!sign || dtype_info[b].cls == 'i') && dtype_info[b].bits - (dtype_info[b].cls == 'i') >= bits;
}

/* a -> b -> c without b, if b loses nothing. Conversions between integers wrap, but floats saturate; so through a float, the
 * values of a must fit c as well. */
RULE(cast) {
  const Node *x = node(ir, r), *y = node(ir, operand(x));
  if (x->dt == y->dt) return operand(x);
  if (y->op != OP_CAST) return 0;
  DType a = (DType)node(ir, operand(y))->dt, b = (DType)y->dt, c = (DType)x->dt;
  if (!includes(b, a)) return 0;
  if (!dt_float(a) && dt_float(b) && !dt_float(c) && !includes(c, a)) return 0;
  return g_cast(ir, operand(y), c);
}

/* promote_half.c makes two bitcasts around a computed half, so that it rounds. */
RULE(bitcast) {
  const Node *x = node(ir, r);
  Ref y = source(ir, operand(x), OP_BITCAST);
  if (node(ir, operand(x))->dt == x->dt) return operand(x);
  if (y && node(ir, y)->nsrc && (node(ir, y)->dt == DT_F16 || node(ir, y)->dt == DT_BF16)) return 0;
  if (!y || x->dt == DT_BOOL || node(ir, operand(x))->dt == DT_BOOL) return 0;
  return node(ir, y)->dt == x->dt ? y : node_with_src(ir, r, &y);
}

/* a value without elements needs no computation */
RULE(no_elements) {
  const Node *x = node(ir, r);
  return dims_elems(x->dims, x->rank) ? 0 : splat(ir, x, 0);
}

/* clang-format off */
#define ON_EXPR(op) \
  { op, "fold-constants", fold_constants }, { op, "bounds-decide", bounds_decide }, { op, "hoist-expand", rule_hoist_expand },
#define ON_GRAPH(op)
#define ON_VALUE(op)
#define ON_KERNEL(op)
#define ON_PROG(op)
static const Rule rules[] = {
#define OP(name, level, ...) ON_##level(OP_##name)
#include "../ir/ops.h"
#undef OP
  { OP_ADD, "constant-second", constant_second }, { OP_MUL, "constant-second", constant_second },
  { OP_MAX, "constant-second", constant_second }, { OP_MIN, "constant-second", constant_second },
  { OP_AND, "constant-second", constant_second }, { OP_OR, "constant-second", constant_second },
  { OP_XOR, "constant-second", constant_second }, { OP_CMPEQ, "constant-second", constant_second },
  { OP_CMPNE, "constant-second", constant_second },
  { OP_ADD, "merge-constants", merge_constants }, { OP_MUL, "merge-constants", merge_constants },
  { OP_MAX, "merge-constants", merge_constants }, { OP_MIN, "merge-constants", merge_constants },
  { OP_AND, "merge-constants", merge_constants }, { OP_OR, "merge-constants", merge_constants },
  { OP_XOR, "merge-constants", merge_constants },
  { OP_ADD, "add", sum }, { OP_SUB, "sub", difference }, { OP_MUL, "mul", product }, { OP_DIV, "div", quotient },
  { OP_MOD, "mod", integer_mod }, { OP_FLMOD, "flmod", integer_mod }, { OP_FLDIV, "fldiv", floor_div },
  { OP_NEG, "neg", negation }, { OP_ABS, "abs", abs_of },
  { OP_TRUNC, "trunc", round_of }, { OP_FLOOR, "floor", round_of },
  { OP_CEIL, "ceil", round_of }, { OP_ROUND, "round", round_of },
  { OP_MAX, "max", max_min }, { OP_MIN, "min", max_min },
  { OP_NOT, "not", negated }, { OP_AND, "and", and_or }, { OP_OR, "or", and_or }, { OP_XOR, "xor", xor },
  { OP_SHL, "shl", shift }, { OP_SHR, "shr", shift },
  { OP_CMPLT, "compare-same", compare_same }, { OP_CMPLE, "compare-same", compare_same },
  { OP_CMPEQ, "compare-same", compare_same }, { OP_CMPNE, "compare-same", compare_same },
  { OP_WHERE, "where", where }, { OP_CAST, "cast", cast }, { OP_BITCAST, "bitcast", bitcast },
  { OP_POW, "constant-power", rule_constant_power },
  { OP_MUL, "scale-into-constant", rule_scale_into_constant }, { OP_DIV, "scale-into-constant", rule_scale_into_constant },
  { OP_ADD, "merge-addends", rule_merge_addends },
  { OP_ERF, "divided-argument", rule_divided_argument }, { OP_TANH, "divided-argument", rule_divided_argument },
  { OP_SUB, "scaled-extreme", rule_scaled_extreme },
  { OP_RESHAPE, "reshape", rule_reshape }, { OP_EXPAND, "expand", rule_expand }, { OP_PERMUTE, "permute", rule_permute },
  { OP_SHRINK, "no-elements", no_elements }, { OP_WINDOW, "no-elements", no_elements }, { OP_GATHER, "no-elements", no_elements },
  { OP_SCATTER, "no-elements", no_elements },
  { OP_SHRINK, "shrink", rule_shrink }, { OP_WINDOW, "window", rule_window }, { OP_PAD, "pad", rule_pad },
  { OP_CAT, "cat", rule_cat }, { OP_GATHER, "gather", rule_gather }, { OP_REDUCE, "reduce", rule_reduce },
  { OP_REDUCE, "reduce-windows", rule_reduce_windows },
  { 0 },
};
/* clang-format on */

enum { NRULES = sizeof rules / sizeof *rules };

/* With -v: how often each rule applied; rules of one name are added up. */
static void print_hits(FILE *err, const Rule *use, int n, const int *hits) {
  for (int i = 0; i < n; i++) {
    int first = 0, total = 0;
    while (strcmp(use[first].name, use[i].name)) first++;
    for (int k = i; first == i && k < n; k++) total += strcmp(use[k].name, use[i].name) ? 0 : hits[k];
    if (total) fprintf(err, "simplify: %s %d\n", use[i].name, total);
  }
}

static bool rounds_anew(const Rule *r) {
  return r->fn == rule_scale_into_constant || r->fn == rule_merge_addends || r->fn == rule_divided_argument ||
         r->fn == rule_scaled_extreme;
}

bool graph_simplify(Graph *g, bool merge) {
  Rule use[NRULES];
  int n = 0;
  int hits[NRULES] = { 0 };
  RefMap users = { 0 };
  Refs roots = { 0 };
  for (size_t i = 0; i < g->outputs.n; i++) VEC_PUSH(&roots, g->outputs.p[i].ref);
  for (int i = 0; i < NRULES; i++)
    if (merge || !rounds_anew(&rules[i])) use[n++] = rules[i];
  bool changed = ir_rewrite_users(g->ir, use, &users, roots.p, roots.n, hits, &users);
  if (g->ir->ctx->verbose) print_hits(g->ir->ctx->err, use, n - 1, hits);
  for (size_t i = 0; i < g->outputs.n; i++) g->outputs.p[i].ref = roots.p[i];
  refmap_free(&users);
  VEC_FREE(&roots);
  return changed;
}

bool graph_is_same(IR *ir, Ref a, Ref b) {
  Graph g = { .ir = ir };
  VEC_PUSH(&g.outputs, ((GIO){ .ref = a }));
  while (g.outputs.p[0].ref != b && graph_simplify(&g, false)) {}
  const bool same = g.outputs.p[0].ref == b;
  VEC_FREE(&g.outputs);
  return same;
}

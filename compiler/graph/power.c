/* SPDX-License-Identifier: MIT */
/* power.c: turns powers with constant exponents into products and roots.
 *
 * Errors are given in units in the last place (ULP): the greatest one over all f32 of four binades. After these the roots
 * repeat, since products and roots are correctly rounded.
 *
 * pow and the roots differ only in special cases. pow(-0, e) is +0 (or +inf), but roots keep -0. pow(-inf, e) is +inf (or +0),
 * but roots give NaN. x + 0 changes -0 to +0 and nothing else; a comparison handles -inf. Neither is needed for an x that
 * cannot be negative or -0, such as a variance. */
#include "rules.h"
#include <math.h>

/* r is NaN, or at least +0 and not -0. Limited depth. */
static bool not_negative(const IR *ir, Ref r, int depth) {
  const Node *x = node(ir, r);
  int64_t bits;
  if (node_is_const(ir, r, &bits)) return !signbit(bits_to_double((DType)x->dt, bits));
  if (depth == 12) return false;
  switch ((Op)x->op) {
  case OP_ABS: case OP_EXP: case OP_EXP2: return true;
  case OP_MUL:
    return lhs(x) == rhs(x) || (not_negative(ir, lhs(x), depth + 1) && not_negative(ir, rhs(x), depth + 1));
  case OP_ADD: case OP_DIV: case OP_MAX: case OP_MIN: case OP_PAD:
    return not_negative(ir, x->src[0], depth + 1) && not_negative(ir, x->src[1], depth + 1);
  case OP_SQRT: case OP_RECIP: case OP_RESHAPE: case OP_EXPAND: case OP_PERMUTE: case OP_SHRINK: case OP_WINDOW:
    return not_negative(ir, operand(x), depth + 1);
  case OP_REDUCE: return reduce_op(x) == OP_ADD && not_negative(ir, operand(x), depth + 1);
  case OP_CAST: {
    const Node *s = node(ir, operand(x));
    return dt_float((DType)s->dt) ? not_negative(ir, operand(x), depth + 1) : s->vmin >= 0;
  }
  default: return false;
  }
}

static Ref sqrt_of(IR *ir, Ref x) { return g_unary(ir, OP_SQRT, x); }
static Ref times(IR *ir, Ref x, Ref y) { return g_binary(ir, OP_MUL, x, y); }

static Ref root(IR *ir, Ref x, double e) {
  Ref s = sqrt_of(ir, x);
  if (e == 0.5) return s;                         /* 0.5 ULP */
  if (e == -0.5) return g_unary(ir, OP_RECIP, s); /* 1.5 */
  if (e == 0.25) return sqrt_of(ir, s);           /* 0.9 */
  if (e == 1.5) return times(ir, x, s);           /* 1.3 */
  if (e == 0.75)                                  /* 1.6; the product of both roots has 2.3. 0, 1 and inf are their own roots */
    return g_where(ir, g_binary(ir, OP_CMPEQ, s, x), x, g_binary(ir, OP_DIV, x, sqrt_of(ir, s)));
  return 0;
}

Ref rule_constant_power(IR *ir, Ref r, void *users) {
  const Node *n = node(ir, r);
  DType d = (DType)n->dt;
  Ref x = lhs(n);
  int64_t bits;
  (void)users;
  if (!dt_float(d) || !node_is_const(ir, rhs(n), &bits)) return 0;
  double e = bits_to_double(d, bits);
  if (e == 0) return splat(ir, n, double_to_bits(d, 1)); /* also for NaN */
  if (e == 1) return x;
  if (e == -1) return g_unary(ir, OP_RECIP, x);
  if (e == 2) return times(ir, x, x);                               /* 0.5 ULP */
  if (e == 3) return times(ir, times(ir, x, x), x);                 /* 1.3 */
  if (e == 4) return times(ir, times(ir, x, x), times(ir, x, x));   /* 2 */
  bool plain = not_negative(ir, x, 0);
  Ref y = root(ir, plain ? x : g_binary(ir, OP_ADD, x, c_float(ir, d, 0)), e);
  if (!y || plain) return y;
  return g_where(ir, g_binary(ir, OP_CMPEQ, x, c_float(ir, d, -INFINITY)), c_float(ir, d, e > 0 ? INFINITY : 0), y);
}

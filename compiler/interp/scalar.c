/* SPDX-License-Identifier: MIT */
/* scalar.c: the meaning of every elementwise op on one element.
 *
 * Floats are computed in double and rounded once to their type. For + - * / and the square root this is the correctly rounded
 * result, because a double has more than twice the bits of an f32, plus two. For functions it is the C library's double result.
 * Integers are computed in 64 bits, unsigned, and wrapped to their type. Nothing traps: x / 0 is 0, and shifts beyond the width
 * and INT_MIN / -1 are defined. */
#include "interp.h"
#include <math.h>
#include <string.h>

static double double_of(uint64_t bits) {
  double v;
  memcpy(&v, &bits, 8);
  return v;
}

static uint64_t bits_of(double v) {
  uint64_t bits;
  memcpy(&bits, &v, 8);
  return bits;
}

/* Rounds to p significant bits, halves to even; infinity above max. Below tiny, the least normal value, the step is fixed, so
 * adding and subtracting `magic`, a number of that step, rounds. Above it, adding just under half a step to the bits rounds. */
static double round_to_format(double v, int p, double tiny, double magic, double max) {
  if (!(fabs(v) < INFINITY)) return v;
  if (fabs(v) < tiny) return copysign(v + magic - magic, v);
  uint64_t u = bits_of(v), step = (uint64_t)1 << (53 - p);
  v = double_of((u + step / 2 - 1 + (u / step & 1)) & ~(step - 1));
  return fabs(v) > max ? copysign(INFINITY, v) : v;
}

double round_to_type(DType d, double v) {
  switch (d) {
  case DT_F32: return (float)v;
  case DT_F16: return round_to_format(v, 11, 0x1p-14, 0x1.8p28, 65504);
  case DT_BF16: return round_to_format(v, 8, 0x1p-126, 0x1.8p-81, 0x1.fep127);
  default: return v;
  }
}

/* Greater of two; NaN wins, and +0 is above -0, so the order of arguments does not matter. */
static double maximum(double x, double y) {
  if (isnan(x) || isnan(y)) return isnan(x) ? x : y;
  return x > y || (x == y && !signbit(x)) ? x : y;
}

/* The libm functions in ops.h, by number of operands */
#define FN(f) f
#define NO NULL
#define OP(name, level, in, type, operands, args, alg, takes, cost, c, libm, gloss) HAS_##in(name, libm)
#define HAS_0(name, libm)
#define HAS_1(name, libm) [OP_##name] = libm,
#define HAS_2(name, libm)
#define HAS_3(name, libm)
#define HAS_5(name, libm)
#define HAS_S(name, libm)
#define HAS_V(name, libm)
static double (*const unary[OP_COUNT])(double) = {
#include "../ir/ops.h"
};
#undef HAS_1
#undef HAS_2
#define HAS_1(name, libm)
#define HAS_2(name, libm) [OP_##name] = libm,
static double (*const binary[OP_COUNT])(double, double) = {
#include "../ir/ops.h"
};
#undef OP
#undef FN
#undef NO

double interp_float(Op op, DType d, const double *x) {
  double a = x[0], b = op_info[op].arity > 1 ? x[1] : 0;
  switch (op) {
  case OP_NEG: return -a;
  case OP_ABS: return fabs(a);
  case OP_RECIP: a = 1 / a; break;
  case OP_SQRT: a = sqrt(a); break;
  case OP_TRUNC: return trunc(a);
  case OP_FLOOR: return floor(a);
  case OP_CEIL: return ceil(a);
  case OP_ROUND: return nearbyint(a);
  case OP_ADD: a = a + b; break;
  case OP_SUB: a = a - b; break;
  case OP_MUL: a = a * b; break;
  case OP_DIV: a = a / b; break;
  case OP_MAX: return maximum(a, b);
  case OP_MIN: return -maximum(-a, -b);
  case OP_CMPLT: return a < b;
  case OP_CMPLE: return a <= b;
  case OP_CMPEQ: return a == b;
  case OP_CMPNE: return a != b;
  case OP_WHERE: return a != 0 ? b : x[2];
  case OP_SCALB: a = isnan(b) ? b : ldexp(a, (int)b); break;
  case OP_MULACC: a = d == DT_F32 ? (double)fmaf((float)a, (float)b, (float)x[2]) : fma(a, b, x[2]); break;
  default:
    if (unary[op]) a = unary[op](a);
    else if (binary[op]) a = binary[op](a, b);
    else BUG("%s is not defined on %s", op_info[op].name, dtype_info[d].text);
  }
  return round_to_type(d, a);
}

static int64_t divide(bool is_signed, int64_t x, int64_t y) {
  if (!y) return 0;
  if (!is_signed) return (int64_t)((uint64_t)x / (uint64_t)y);
  return y == -1 ? (int64_t)-(uint64_t)x : x / y;
}

static int64_t integer(Op op, DType d, const int64_t *x) {
  bool is_signed = dtype_info[d].cls == 'i';
  int width = dtype_info[d].bits;
  int64_t a = x[0], b = op_info[op].arity > 1 ? x[1] : 0;
  uint64_t ua = (uint64_t)a, ub = (uint64_t)b, r;
  bool less = is_signed ? a < b : ua < ub;
  switch (op) {
  case OP_NEG: r = -ua; break;
  case OP_ABS: r = is_signed && a < 0 ? -ua : ua; break;
  case OP_NOT: r = d == DT_BOOL ? !ua : ~ua; break;
  case OP_RECIP: r = (uint64_t)divide(is_signed, 1, a); break;
  case OP_TRUNC: case OP_FLOOR: case OP_CEIL: case OP_ROUND: return a;
  case OP_ADD: r = ua + ub; break;
  case OP_SUB: r = ua - ub; break;
  case OP_MUL: r = ua * ub; break;
  case OP_DIV: r = (uint64_t)divide(is_signed, a, b); break;
  case OP_MOD: r = b ? ua - ub * (uint64_t)divide(is_signed, a, b) : 0; break;
  case OP_FLDIV: case OP_FLMOD: {
    uint64_t q = (uint64_t)divide(is_signed, a, b), rest = ua - ub * q;
    bool down = is_signed && rest && ((int64_t)rest < 0) != (b < 0);
    if (!b) r = 0;
    else r = op == OP_FLDIV ? q - down : rest + (down ? ub : 0);
    break;
  }
  case OP_MAX: return less ? b : a;
  case OP_MIN: return less ? a : b;
  case OP_CMPLT: return less;
  case OP_CMPLE: return less || a == b;
  case OP_CMPEQ: return a == b;
  case OP_CMPNE: return a != b;
  case OP_AND: r = ua & ub; break;
  case OP_OR: r = ua | ub; break;
  case OP_XOR: r = ua ^ ub; break;
  case OP_SHL: r = ub < (uint64_t)width ? ua << ub : 0; break;
  case OP_SHR: r = is_signed ? (uint64_t)(a >> (ub < 63 ? ub : 63)) : ub < (uint64_t)width ? ua >> ub : 0; break;
  case OP_MULACC: r = ua * ub + (uint64_t)x[2]; break;
  default: { /* a real function: computed by C in double, converted as CAST does */
    double v[2] = { bits_to_double(d, a), bits_to_double(d, b) };
    return double_to_bits(d, interp_float(op, DT_F64, v));
  }
  }
  return (int64_t)dt_wrap(d, r);
}

/* A 64-bit integer as a double that rounds to narrower floats as the integer would: bits that do not fit become one sticky bit.
 */
static double sticky_double(DType from, int64_t v) {
  bool wide = from == DT_U64 ? (uint64_t)v >> 53 : (v < 0 ? -(uint64_t)v : (uint64_t)v) >> 53;
  if (!wide) return bits_to_double(from, v);
  int64_t top = (from == DT_U64 ? (int64_t)((uint64_t)v >> 11) : v >> 11) | ((v & 2047) != 0);
  return (double)top * 2048;
}

static int64_t cast(DType to, DType from, int64_t v) {
  if (dt_float(from)) return double_to_bits(to, bits_to_double(from, v));
  if (!dt_float(to)) return (int64_t)dt_wrap(to, (uint64_t)v);
  return double_to_bits(to, to == DT_F64 ? bits_to_double(from, v) : sticky_double(from, v));
}

int64_t interp_scalar(Op op, DType result, DType operand, const int64_t *x) {
  switch (op) {
  case OP_CAST: return cast(result, operand, x[0]);
  case OP_BITCAST: return (int64_t)dt_wrap(result, (uint64_t)x[0]);
  case OP_WHERE: return x[0] ? x[1] : x[2];
  default: break;
  }
  if (!dt_float(operand)) return integer(op, operand, x);
  double v[3];
  for (int i = 0; i < op_info[op].arity; i++) v[i] = bits_to_double(operand, x[i]);
  double r = interp_float(op, operand, v);
  return result == DT_BOOL ? r != 0 : double_to_bits(result, r);
}

/* decomp.c: functions on f32 as arithmetic, for every lane alike.
 *
 * Each is a reduction to a short interval, a polynomial there and a reconstruction, for the full
 * range: denormals, infinities, overflow and NaN give what the function gives. tests/unit/decomp.c
 * measures the greatest error of each, with multiply-adds that round once and that round twice, and
 * holds it to 2 ULP; on 2^16 floats of every exponent it found at most: exp 1.0, exp2 1.2, log 0.9,
 * log2 1.5, tanh 1.4, erf 1.3. The polynomials come from tools/minimax.py.
 *
 * Sine and cosine stay calls of libm: reducing any f32 by pi/2 takes 192 bits of 2/pi, and without
 * tables that is more arithmetic, lane for lane, than the call.
 *
 * Rounding to an integer n is done by adding 1.5 * 2^23, after which the low bits of the sum are n:
 * shifted into the exponent's place they make 2^n without a conversion. */
#include "kernel.h"

typedef struct Make { IR *ir; int lanes; } Make;

static Ref node_of(const Make *m, Op op, DType d, int n, const Ref *src) {
  return node_make(m->ir, op, d, m->lanes, n, src, 0, NULL, 0, NULL);
}

static Ref spread(const Make *m, Ref scalar) {
  return m->lanes == 1 ? scalar : node_of(m, OP_BCAST, (DType)node(m->ir, scalar)->dt, 1, &scalar);
}
static Ref real(const Make *m, double v) { return spread(m, c_float(m->ir, DT_F32, v)); }
static Ref word(const Make *m, uint32_t v) { return spread(m, c_bits(m->ir, DT_U32, v)); }

static Ref unary(const Make *m, Op op, Ref x) { return node_of(m, op, (DType)node(m->ir, x)->dt, 1, &x); }
static Ref binary(const Make *m, Op op, Ref x, Ref y) {
  return node_of(m, op, op_info[op].type[0] == 'b' ? DT_BOOL : (DType)node(m->ir, x)->dt, 2, (Ref[]){ x, y });
}
static Ref add(const Make *m, Ref x, Ref y) { return binary(m, OP_ADD, x, y); }
static Ref sub(const Make *m, Ref x, Ref y) { return binary(m, OP_SUB, x, y); }
static Ref mul(const Make *m, Ref x, Ref y) { return binary(m, OP_MUL, x, y); }
static Ref less(const Make *m, Ref x, Ref y) { return binary(m, OP_CMPLT, x, y); }
static Ref muladd(const Make *m, Ref x, Ref y, Ref z) { return node_of(m, OP_MULACC, DT_F32, 3, (Ref[]){ x, y, z }); }
static Ref where(const Make *m, Ref c, Ref x, Ref y) {
  return node_of(m, OP_WHERE, (DType)node(m->ir, x)->dt, 3, (Ref[]){ c, x, y });
}
static Ref as(const Make *m, DType d, Ref x) { return node_of(m, OP_BITCAST, d, 1, &x); }

/* c[0] + c[1] * x + ... */
static Ref polynomial(const Make *m, const float *c, int n, Ref x) {
  Ref r = real(m, c[n - 1]);
  for (int i = n - 2; i >= 0; i--) r = muladd(m, r, x, real(m, c[i]));
  return r;
}
#define POLYNOMIAL(m, c, x) polynomial(m, c, (int)(sizeof c / sizeof *c), x)

/* comparisons are false for NaN, which therefore stays */
static Ref at_most(const Make *m, Ref x, double hi) { return where(m, less(m, real(m, hi), x), real(m, hi), x); }
static Ref at_least(const Make *m, Ref x, double lo) { return where(m, less(m, x, real(m, lo)), real(m, lo), x); }

/* clang-format off */
static const float exp_tail[] = { /* (e^r - 1 - r) / r^2 */
  0x1.fffffcp-2f, 0x1.55548cp-3f, 0x1.555858p-5f, 0x1.123dep-7f, 0x1.6ac74ep-10f };
static const float exp2_tail[] = { /* (2^r - 1) / r */
  0x1.62e43p-1f, 0x1.ebfb94p-3f, 0x1.c6af9ep-5f, 0x1.3b6816p-7f, 0x1.5ef4dep-10f, 0x1.179a4p-13f };
static const float log_tail[] = { /* (log(1 + f) - f + f^2 / 2) / f^3 */
  0x1.555554p-2f, -0x1.ffffdp-3f, 0x1.999ab4p-3f, -0x1.5564d6p-3f, 0x1.2479eap-3f, -0x1.fc9d86p-4f, 0x1.c63048p-4f,
  -0x1.bf5928p-4f, 0x1.aa05d8p-4f, -0x1.c0f138p-5f };
static const float tanh_tail[] = { /* (tanh(x) / x - 1) / x^2, in x^2 */
  -0x1.555534p-2f, 0x1.11075ep-3f, -0x1.b842c4p-5f, 0x1.524c4p-6f, -0x1.767a14p-8f };
static const float erf_tail[] = { /* erf(x) / x - 1, in x^2 */
  0x1.06eba8p-3f, -0x1.81274p-2f, 0x1.ce2d6p-4f, -0x1.b80044p-6f, 0x1.54292p-8f, -0x1.a39ce8p-11f, 0x1.427be6p-14f };
static const float erfc_log[] = { /* log(1 - erf(x)) */
  0x1.3bdbfp-13f, -0x1.211f2ap+0f, -0x1.446f8ap-1f, -0x1.b9c932p-4f, 0x1.95e66cp-6f, -0x1.05be8cp-8f, 0x1.8d2ee6p-12f,
  -0x1.7b2d2ap-17f, -0x1.8c5844p-21f };
/* clang-format on */

static const double ROUNDER = 0x1.8p23, LOG2_E = 0x1.715476p+0;
/* ln 2 in two parts, the first short enough for exact products with exponents */
static const double LN2_HI = 0x1.63p-1, LN2_LO = -0x1.bd0105c610ca8p-13;

/* 2^n for the n in the low bits of t; n within the exponents of normal numbers */
static Ref power(const Make *m, Ref shifted) { return as(m, DT_F32, add(m, shifted, word(m, 0x3f800000))); }

typedef struct Split { Ref t, value; } Split; /* e^x = value * 2^(low bits of t) */

static Split exp_parts(const Make *m, Ref x) {
  Ref t = muladd(m, x, real(m, LOG2_E), real(m, ROUNDER)), n = sub(m, t, real(m, ROUNDER));
  Ref r = muladd(m, n, real(m, -LN2_LO), muladd(m, n, real(m, -LN2_HI), x));
  return (Split){ t, add(m, muladd(m, mul(m, r, r), POLYNOMIAL(m, exp_tail, r), r), real(m, 1)) };
}

/* value * 2^n in two steps, so that n may exceed the exponents of normal numbers */
static Ref scaled(const Make *m, Split s) {
  Ref i = as(m, DT_U32, s.t), all = binary(m, OP_SHL, i, word(m, 23));
  Ref half = binary(m, OP_SHL, binary(m, OP_SHR, i, word(m, 1)), word(m, 23));
  return mul(m, mul(m, s.value, power(m, half)), power(m, sub(m, all, half)));
}

static Ref exp_small(const Make *m, Ref x) { /* |x| < 80 */
  Split s = exp_parts(m, x);
  return mul(m, s.value, power(m, binary(m, OP_SHL, as(m, DT_U32, s.t), word(m, 23))));
}

static Ref make_exp(const Make *m, Ref x) { return scaled(m, exp_parts(m, at_least(m, at_most(m, x, 89), -104))); }

static Ref make_exp2(const Make *m, Ref x) {
  x = at_least(m, at_most(m, x, 129), -151);
  Ref t = add(m, x, real(m, ROUNDER)), r = sub(m, x, sub(m, t, real(m, ROUNDER)));
  return scaled(m, (Split){ t, muladd(m, r, POLYNOMIAL(m, exp2_tail, r), real(m, 1)) });
}

/* x = 2^e (1 + f) with sqrt(1/2) <= 1 + f < sqrt(2); tail is log(1 + f) - f */
typedef struct Mantissa { Ref e, f, tail; } Mantissa;

static Mantissa log_parts(const Make *m, Ref x) {
  enum { SQRT_HALF = 0x3f3504f3 };
  Ref tiny = less(m, x, real(m, 0x1p-126));
  x = where(m, tiny, mul(m, x, real(m, 0x1p23)), x);
  Ref i = sub(m, as(m, DT_U32, x), word(m, SQRT_HALF)), by = spread(m, c_int(m->ir, DT_I32, 23));
  Ref e = node_of(m, OP_CAST, DT_F32, 1, (Ref[]){ binary(m, OP_SHR, as(m, DT_I32, i), by) });
  Ref f = sub(m, as(m, DT_F32, add(m, binary(m, OP_AND, i, word(m, 0x7fffff)), word(m, SQRT_HALF))), real(m, 1));
  Ref square = mul(m, f, f), cube = mul(m, mul(m, square, f), POLYNOMIAL(m, log_tail, f));
  return (Mantissa){ sub(m, e, where(m, tiny, real(m, 23), real(m, 0))), f, muladd(m, square, real(m, -0.5), cube) };
}

/* the logarithms of what is not a positive finite number */
static Ref log_special(const Make *m, Ref x, Ref y) {
  Ref zero = real(m, 0), inf = real(m, 1.0 / 0.0), nan = spread(m, c_bits(m->ir, DT_F32, 0x7fc00000));
  Ref other = where(m, less(m, x, zero), nan, where(m, binary(m, OP_CMPEQ, x, zero), real(m, -1.0 / 0.0), x));
  return where(m, binary(m, OP_AND, less(m, zero, x), less(m, x, inf)), y, other);
}

static Ref make_log(const Make *m, Ref x) {
  Mantissa p = log_parts(m, x);
  Ref low = add(m, p.f, muladd(m, p.e, real(m, LN2_LO), p.tail));
  return log_special(m, x, muladd(m, p.e, real(m, LN2_HI), low));
}

static Ref make_log2(const Make *m, Ref x) { /* (f + tail) * (1 + c), small terms first */
  Mantissa p = log_parts(m, x);
  Ref c = real(m, LOG2_E - 1), low = muladd(m, p.f, c, mul(m, p.tail, c));
  return log_special(m, x, add(m, p.e, add(m, p.f, add(m, p.tail, low))));
}

/* y >= 0 with the sign of x */
static Ref with_sign(const Make *m, Ref y, Ref x) {
  Ref sign = binary(m, OP_AND, as(m, DT_U32, x), word(m, 0x80000000));
  return as(m, DT_F32, binary(m, OP_OR, as(m, DT_U32, y), sign));
}

static Ref make_tanh(const Make *m, Ref x) { /* beyond 0.625: 1 - 2 / (e^2x + 1) */
  Ref a = unary(m, OP_ABS, x), square = mul(m, a, a), c = at_most(m, a, 9.1);
  Ref near = muladd(m, mul(m, a, square), POLYNOMIAL(m, tanh_tail, square), a);
  Ref e = exp_small(m, add(m, c, c)), far = sub(m, real(m, 1), binary(m, OP_DIV, real(m, 2), add(m, e, real(m, 1))));
  return with_sign(m, where(m, less(m, a, real(m, 0.625)), near, far), x);
}

static Ref make_erf(const Make *m, Ref x) { /* beyond 0.9: 1 - e^(log(1 - erf)), a polynomial in the exponent */
  Ref a = unary(m, OP_ABS, x), near = muladd(m, a, POLYNOMIAL(m, erf_tail, mul(m, a, a)), a), c = at_most(m, a, 3.95);
  Ref far = sub(m, real(m, 1), exp_small(m, POLYNOMIAL(m, erfc_log, c)));
  return with_sign(m, where(m, less(m, a, real(m, 0.9)), near, far), x);
}

Ref decomp_expr(IR *ir, Ref r) {
  const Node *x = node(ir, r);
  const Make m = { ir, x->lanes };
  if (x->dt != DT_F32) return 0;
  switch ((Op)x->op) {
  case OP_EXP: return make_exp(&m, x->src[0]);
  case OP_EXP2: return make_exp2(&m, x->src[0]);
  case OP_LOG: return make_log(&m, x->src[0]);
  case OP_LOG2: return make_log2(&m, x->src[0]);
  case OP_TANH: return make_tanh(&m, x->src[0]);
  case OP_ERF: return make_erf(&m, x->src[0]);
  default: return 0;
  }
}

/* SPDX-License-Identifier: MIT */
/* libm.c: writes functions on f32 as arithmetic that is the same in every lane.
 *
 * Each function consists of a reduction to a short interval, a polynomial there and a reconstruction. It covers the full range:
 * denormals, infinities, overflow and NaN give the function's own values. tests/unit/libm.c measures the greatest error of each
 * function, with multiply-adds that round once and with those that round twice. The limit is 2 ULP. tests/ulp does so for
 * bundles, with `make ulp` on all 2^32 floats. The polynomials come from tools/minimax.py.
 *
 * Sine and cosine reduce by pi/2 after Payne and Hanek, in f64 and without a branch. They hold 2/pi in words of 24 bits; each
 * argument needs five of them, by its exponent. Products of such words and a mantissa are exact.
 *
 * An integer n is rounded by adding 1.5 * 2^23. The low bits of the sum are n then; shifted into the exponent's place they make
 * 2^n without a conversion.
 *
 * needs: one op on f32 in lanes   gives: arithmetic instead   breaks: its rounding, by 2 ULP at most */
#include "lower.h"

typedef struct Make { IR *ir; int lanes; FunctionOps has; } Make;

static Ref node_of(const Make *m, Op op, DType d, int n, const Ref *src) {
  return node_make(m->ir, op, d, m->lanes, n, src, 0, NULL, 0, NULL);
}

static Ref spread(const Make *m, Ref scalar) {
  return m->lanes == 1 ? scalar : node_of(m, OP_BCAST, (DType)node(m->ir, scalar)->dt, 1, &scalar);
}
static Ref real(const Make *m, double v) { return spread(m, c_float(m->ir, DT_F32, v)); }
static Ref wide(const Make *m, double v) { return spread(m, c_float(m->ir, DT_F64, v)); }
static Ref word(const Make *m, uint32_t v) { return spread(m, c_bits(m->ir, DT_U32, v)); }

static Ref binary(const Make *m, Op op, Ref x, Ref y) {
  return node_of(m, op, op_info[op].type[0] == 'b' ? DT_BOOL : (DType)node(m->ir, x)->dt, 2, (Ref[]){ x, y });
}
static Ref add(const Make *m, Ref x, Ref y) { return binary(m, OP_ADD, x, y); }
static Ref sub(const Make *m, Ref x, Ref y) { return binary(m, OP_SUB, x, y); }
static Ref mul(const Make *m, Ref x, Ref y) { return binary(m, OP_MUL, x, y); }
static Ref less(const Make *m, Ref x, Ref y) { return binary(m, OP_CMPLT, x, y); }
static Ref muladd(const Make *m, Ref x, Ref y, Ref z) {
  return node_of(m, OP_MULACC, (DType)node(m->ir, x)->dt, 3, (Ref[]){ x, y, z });
}
static Ref where(const Make *m, Ref c, Ref x, Ref y) {
  return node_of(m, OP_WHERE, (DType)node(m->ir, x)->dt, 3, (Ref[]){ c, x, y });
}
static Ref cast(const Make *m, DType d, Ref x) { return node_of(m, OP_CAST, d, 1, &x); }
static Ref as(const Make *m, DType d, Ref x) { return node_of(m, OP_BITCAST, d, 1, &x); }

/* c[0] + c[1] * x + ... */
static Ref polynomial(const Make *m, const float *c, int n, Ref x) {
  Ref r = real(m, c[n - 1]);
  for (int i = n - 2; i >= 0; i--) r = muladd(m, r, x, real(m, c[i]));
  return r;
}
#define POLYNOMIAL(m, c, x) polynomial(m, c, (int)(sizeof c / sizeof *c), x)

/* NaN stays */
static Ref at_most(const Make *m, Ref x, double hi) { return binary(m, OP_MIN, x, real(m, hi)); }
static Ref at_least(const Make *m, Ref x, double lo) { return binary(m, OP_MAX, x, real(m, lo)); }

enum { PIECES = 16 }; /* polynomials in a table: lanes of the table of OP_LOOKUP */

/* clang-format off */
static const float exp_near[] = { /* e^r */
  1, 1, 0x1.fffffcp-2f, 0x1.55548cp-3f, 0x1.555858p-5f, 0x1.123dep-7f, 0x1.6ac74ep-10f };
static const float exp2_tail[] = { /* (2^r - 1) / r */
  0x1.62e43p-1f, 0x1.ebfb94p-3f, 0x1.c6af9ep-5f, 0x1.3b6816p-7f, 0x1.5ef4dep-10f, 0x1.179a4p-13f };
static const float log_tail[] = { /* (log(1 + f) - f + f^2 / 2) / f^3 */
  0x1.555554p-2f, -0x1.ffffdp-3f, 0x1.999ab4p-3f, -0x1.5564d6p-3f, 0x1.2479eap-3f, -0x1.fc9d86p-4f, 0x1.c63048p-4f,
  -0x1.bf5928p-4f, 0x1.aa05d8p-4f, -0x1.c0f138p-5f };
static const float expm1_tail[] = { /* (e^r - 1 - r) / r^2 */
  0.5f, 0x1.55552cp-3f, 0x1.555502p-5f, 0x1.1155a8p-7f, 0x1.6d2e4ep-10f, 0x1.3b8aap-13f };
static const float tanh_tail[] = { /* (tanh(x) / x - 1) / x^2, in x^2 */
  -0x1.555534p-2f, 0x1.11075ep-3f, -0x1.b842c4p-5f, 0x1.524c4p-6f, -0x1.767a14p-8f };
static const float erfc_log[] = { /* log(1 - erf(-x)) / x - 1, for x < 0 */
  0x1.06eba8p-3f, -0x1.45f3p-1f, 0x1.a4f8c4p-4f, 0x1.39b7cep-6f, -0x1.636f46p-13f, -0x1.b74256p-10f, -0x1.4e25d6p-11f,
  -0x1.f280aap-14f, -0x1.3af87p-17f };
static const float erf_pieces[][PIECES] = { /* erf(i / 4 + t), for |t| <= 1/8, but erf(t) - t for i = 0: factors of t^0 to t^5 */
  { 0, 0x1.1af54ep-2f, 0x1.0a7ef6p-1f, 0x1.6c1c98p-1f, 0x1.af767ap-1f, 0x1.d8865ep-1f, 0x1.eea556p-1f, 0x1.f92d08p-1f,
    0x1.fd9ae2p-1f, 0x1.ff4048p-1f, 0x1.ffcaa8p-1f, 0x1.fff2dp-1f, 0x1.fffd1ap-1f, 0x1.ffff7p-1f, 0x1.ffffe8p-1f,
    0x1.fffffep-1f },
  { 0x1.06eba8p-3f, 0x1.0f5d18p+0f, 0x1.c1efccp-1f, 0x1.492e44p-1f, 0x1.a911f2p-2f, 0x1.e4653p-3f, 0x1.e72372p-4f,
    0x1.b0552ep-5f, 0x1.529b9cp-6f, 0x1.d41438p-8f, 0x1.1d831ap-9f, 0x1.3360dcp-11f, 0x1.24091p-13f, 0x1.e9b67p-16f,
    0x1.6a5a2ap-18f, 0x1.d938bep-21f },
  { 0x1.df6f6ep-23f, -0x1.0f5baap-2f, -0x1.c1eep-2f, -0x1.edc46ep-2f, -0x1.a9121ap-2f, -0x1.2ecp-2f, -0x1.6d5bfap-3f,
    -0x1.7a4bd6p-4f, -0x1.529bc2p-5f, -0x1.0749b8p-6f, -0x1.64dd6ep-8f, -0x1.a695dp-10f, -0x1.b5f20cp-12f, -0x1.8dbca8p-14f,
    -0x1.3cdfeep-16f, -0x1.bb4778p-19f },
  { -0x1.812ab8p-2f, -0x1.3c9c9ep-2f, -0x1.2bfcdcp-3f, 0x1.b6c25p-6f, 0x1.1b5f34p-3f, 0x1.571ce4p-3f, 0x1.1c2aeap-3f,
    0x1.714aaep-4f, 0x1.8b0cep-5f, 0x1.63f032p-6f, 0x1.119c52p-7f, 0x1.69c902p-9f, 0x1.9da814p-11f, 0x1.9a89f6p-13f,
    0x1.62a866p-15f, 0x1.0b417cp-17f },
  { 0x1.0e1adap-12f, 0x1.022274p-3f, 0x1.748e8ep-3f, 0x1.3351f2p-3f, 0x1.1bcff8p-4f, -0x1.731864p-8f, -0x1.69a6b6p-5f,
    -0x1.885486p-5f, -0x1.1a14ep-5f, -0x1.39c52ap-6f, -0x1.1caef2p-7f, -0x1.b024b6p-9f, -0x1.1654fap-10f, -0x1.33009cp-12f,
    -0x1.23bb8ap-14f, -0x1.dfc02p-17f },
  { 0x1.c70546p-4f, 0x1.4b162ap-4f, 0x1.0b6122p-7f, -0x1.ade42cp-5f, -0x1.1986dcp-4f, -0x1.81ec9ep-5f, -0x1.ec92cep-7f,
    0x1.a5841p-8f, 0x1.a97cd2p-7f, 0x1.5c8aaep-7f, 0x1.920264p-8f, 0x1.6bd9a8p-9f, 0x1.0daf28p-10f, 0x1.4ea12ep-12f,
    0x1.6017e8p-14f, 0x1.3cd1d8p-16f } };
static const float sin_tail[] = { /* (sin(x) / x - 1) / x^2, in x^2 */
  -0x1.555546p-3f, 0x1.11077ep-7f, -0x1.9956b6p-13f };
static const float cos_tail[] = { /* (cos(x) - 1 + x^2 / 2) / x^4, in x^2 */
  0x1.55554ap-5f, -0x1.6c0c1ap-10f, 0x1.99e0eep-16f };
static const float two_over_pi[] = { /* in digits of 24 bits, the first being the integer part */
  0, 0xa2f983, 0x6e4e44, 0x1529fc, 0x2757d1, 0xf534dd, 0xc0db62, 0x95993c, 0x439041, 0xfe5163 };
/* clang-format on */

static const double ROUNDER = 0x1.8p23, LOG2_E = 0x1.715476p+0;
/* ln 2 in two parts, the first short enough for exact products with exponents */
static const double LN2_HI = 0x1.63p-1, LN2_LO = -0x1.bd0105c610ca8p-13;

/* 2^n for the n in the low bits of t; n within the exponents of normal numbers */
static Ref power(const Make *m, Ref shifted) { return as(m, DT_F32, add(m, shifted, word(m, 0x3f800000))); }

typedef struct Split { Ref n, t, r; } Split; /* x = n ln 2 + r, n being the low bits of t */

static Split split(const Make *m, Ref x) {
  Ref t = muladd(m, x, real(m, LOG2_E), real(m, ROUNDER)), n = sub(m, t, real(m, ROUNDER));
  return (Split){ n, t, muladd(m, n, real(m, -LN2_LO), muladd(m, n, real(m, -LN2_HI), x)) };
}

/* value * 2^n, where n is in the low bits of t. n may exceed the exponents of normal numbers, so there are two multiplications;
 * only the second one rounds */
static Ref scaled(const Make *m, Ref value, Ref n, Ref t) {
  if (m->has.scalb) return binary(m, OP_SCALB, value, n);
  Ref i = as(m, DT_U32, t), all = binary(m, OP_SHL, i, word(m, 23));
  Ref half = binary(m, OP_SHL, binary(m, OP_SHR, i, word(m, 1)), word(m, 23));
  return mul(m, mul(m, value, power(m, half)), power(m, sub(m, all, half)));
}

static Ref small_power(const Make *m, Ref t) { return power(m, binary(m, OP_SHL, as(m, DT_U32, t), word(m, 23))); }

static Ref exp_small(const Make *m, Ref x) { /* |x| < 80 */
  Split s = split(m, x);
  return mul(m, POLYNOMIAL(m, exp_near, s.r), small_power(m, s.t));
}

static Ref expm1_small(const Make *m, Ref x) { /* e^x - 1 without cancellation */
  Split s = split(m, x);
  Ref scale = small_power(m, s.t), p = muladd(m, mul(m, s.r, s.r), POLYNOMIAL(m, expm1_tail, s.r), s.r);
  return muladd(m, scale, p, sub(m, scale, real(m, 1)));
}

static Ref make_exp(const Make *m, Ref x) {
  Split s = split(m, at_least(m, at_most(m, x, 89), -104));
  return scaled(m, POLYNOMIAL(m, exp_near, s.r), s.n, s.t);
}

static Ref make_exp2(const Make *m, Ref x) {
  x = at_least(m, at_most(m, x, 129), -151);
  Ref t = add(m, x, real(m, ROUNDER)), n = sub(m, t, real(m, ROUNDER)), r = sub(m, x, n);
  return scaled(m, muladd(m, r, POLYNOMIAL(m, exp2_tail, r), real(m, 1)), n, t);
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

/* the logarithms of values that are not positive and finite */
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

static Ref magnitude(const Make *m, Ref x) { return as(m, DT_F32, binary(m, OP_AND, as(m, DT_U32, x), word(m, 0x7fffffff))); }

/* y >= 0 with the sign of x */
static Ref with_sign(const Make *m, Ref y, Ref x) {
  Ref sign = binary(m, OP_AND, as(m, DT_U32, x), word(m, 0x80000000));
  return as(m, DT_F32, binary(m, OP_OR, as(m, DT_U32, y), sign));
}

static Ref make_tanh(const Make *m, Ref x) { /* beyond 0.625: 1 - 2 / (e^2x + 1) */
  Ref a = magnitude(m, x), square = mul(m, a, a), c = at_most(m, a, 9.1);
  Ref near = muladd(m, mul(m, a, square), POLYNOMIAL(m, tanh_tail, square), a);
  Ref e = exp_small(m, add(m, c, c)), far = sub(m, real(m, 1), binary(m, OP_DIV, real(m, 2), add(m, e, real(m, 1))));
  return with_sign(m, where(m, less(m, a, real(m, 0.625)), near, far), x);
}

static Ref looked_up(const Make *m, const float c[PIECES], Ref piece) {
  Ref lane[PIECES];
  for (int i = 0; i < PIECES; i++) lane[i] = c_float(m->ir, DT_F32, c[i]);
  const Ref table = node_make(m->ir, OP_VEC, DT_F32, PIECES, PIECES, lane, 0, NULL, 0, NULL);
  return node_of(m, OP_LOOKUP, DT_F32, 2, (Ref[]){ table, piece });
}

/* A short polynomial for each quarter. |x| + 1.5 * 2^21 is rounded to quarters, so their number is in its low bits. Near 0 the
 * factor of |x| is more than 1, and its 1 is not rounded. */
static Ref erf_by_pieces(const Make *m, Ref x) {
  const double QUARTERS = 0x1.8p21;
  static const float first[PIECES] = { 1 };
  Ref a = at_most(m, magnitude(m, x), 3.87), t = add(m, a, real(m, QUARTERS)), piece = as(m, DT_U32, t);
  Ref near = sub(m, a, sub(m, t, real(m, QUARTERS)));
  Ref base = muladd(m, looked_up(m, first, piece), near, looked_up(m, erf_pieces[0], piece)), r = 0;
  for (int k = (int)(sizeof erf_pieces / sizeof *erf_pieces) - 1; k > 0; k--) {
    const Ref c = looked_up(m, erf_pieces[k], piece);
    r = r ? muladd(m, r, near, c) : c;
  }
  return with_sign(m, muladd(m, r, near, base), x);
}

static Ref make_erf(const Make *m, Ref x) { /* 1 - e^(log(1 - erf)), a polynomial in the exponent */
  if (m->has.lookup) return erf_by_pieces(m, x);
  Ref a = at_least(m, as(m, DT_F32, binary(m, OP_OR, as(m, DT_U32, x), word(m, 0x80000000))), -3.95);
  return with_sign(m, magnitude(m, expm1_small(m, muladd(m, a, POLYNOMIAL(m, erfc_log, a), a))), x);
}

/* The digits of 2 / pi from number `first` on, which is 0 to 5. */
enum { DIGITS = sizeof two_over_pi / sizeof *two_over_pi, WINDOW = 5 };
static void digits_from(const Make *m, Ref first, Ref digit[DIGITS]) {
  for (int i = 0; i < DIGITS; i++) digit[i] = real(m, two_over_pi[i]);
  for (int by = 4; by; by /= 2) { /* first < 2 * by before each step */
    Ref far = binary(m, OP_CMPNE, binary(m, OP_AND, first, word(m, (uint32_t)by)), word(m, 0));
    for (int i = 0; i < by - 1 + WINDOW && i + by < DIGITS; i++) digit[i] = where(m, far, digit[i + by], digit[i]);
  }
}

/* |x| = (quadrant + 4 k) pi/2 + r with |r| <= pi/4 (and a little) */
typedef struct Angle { Ref quadrant, r; } Angle;

/* x| = y * 2^24j with y < 2^25. Modulo 4, |x| * 2/pi is y times the digits from number j on, because earlier digits give
 * multiples of 4. The first two products may exceed 4, so the nearest multiple of 4 is subtracted. The sum of the other three
 * is less than 2. */
static Angle angle(const Make *m, Ref x) {
  const double FOURS = 0x1.8p54, ONES = 0x1.8p52; /* adding and subtracting one of them rounds to a multiple of 4, or of 1 */
  Ref a = magnitude(m, x), bits = as(m, DT_U32, at_least(m, a, 2));
  Ref j = binary(m, OP_SHR, mul(m, sub(m, binary(m, OP_SHR, bits, word(m, 23)), word(m, 128)), word(m, 171)), word(m, 12));
  Ref y = cast(m, DT_F64, as(m, DT_F32, sub(m, as(m, DT_U32, a), mul(m, j, word(m, 24u << 23)))));
  Ref d[DIGITS], part[2];
  digits_from(m, j, d);
  for (int i = 0; i < WINDOW; i++) d[i] = cast(m, DT_F64, d[i]);
  for (int i = 0; i < 2; i++) {
    Ref p = mul(m, i ? mul(m, y, wide(m, 0x1p-24)) : y, d[i]);
    part[i] = sub(m, p, sub(m, add(m, p, wide(m, FOURS)), wide(m, FOURS)));
  }
  Ref top = add(m, part[0], part[1]);
  Ref rest = mul(m, mul(m, y, wide(m, 0x1p-48)), muladd(m, muladd(m, d[4], wide(m, 0x1p-24), d[3]), wide(m, 0x1p-24), d[2]));
  Ref n = sub(m, add(m, add(m, top, rest), wide(m, ONES)), wide(m, ONES));
  Ref r = mul(m, add(m, sub(m, top, n), rest), wide(m, 0x1.921fb54442d18p+0));
  Ref quadrant = as(m, DT_U32, add(m, cast(m, DT_F32, n), real(m, ROUNDER)));
  return (Angle){ quadrant, muladd(m, a, real(m, 0), cast(m, DT_F32, r)) }; /* NaN if x is not finite */
}

static Ref sin_near(const Make *m, Ref r, Ref square) { return muladd(m, mul(m, r, square), POLYNOMIAL(m, sin_tail, square), r); }
static Ref cos_near(const Make *m, Ref square) {
  Ref tail = muladd(m, square, POLYNOMIAL(m, cos_tail, square), real(m, -0.5));
  return muladd(m, square, tail, real(m, 1));
}

/* sin(r + quadrant pi/2), negated where the top bit of `sign` is set */
static Ref sin_of(const Make *m, Ref quadrant, Ref r, Ref sign) {
  Ref square = mul(m, r, r), odd = binary(m, OP_CMPNE, binary(m, OP_AND, quadrant, word(m, 1)), word(m, 0));
  Ref value = where(m, odd, cos_near(m, square), sin_near(m, r, square));
  Ref turn = binary(m, OP_SHL, binary(m, OP_AND, quadrant, word(m, 2)), word(m, 30));
  return as(m, DT_F32, binary(m, OP_XOR, as(m, DT_U32, value), binary(m, OP_XOR, turn, sign)));
}

static Ref make_sin(const Make *m, Ref x) {
  Angle a = angle(m, x);
  return sin_of(m, a.quadrant, a.r, binary(m, OP_AND, as(m, DT_U32, x), word(m, 0x80000000)));
}

static Ref make_cos(const Make *m, Ref x) {
  Angle a = angle(m, x);
  return sin_of(m, add(m, a.quadrant, word(m, 1)), a.r, word(m, 0));
}

/* functions of f32 that every backend computes by arithmetic */
static Ref (*const makers[OP_COUNT])(const Make *, Ref) = {
  [OP_EXP] = make_exp,   [OP_EXP2] = make_exp2, [OP_LOG] = make_log, [OP_LOG2] = make_log2, [OP_TANH] = make_tanh,
  [OP_ERF] = make_erf,   [OP_SIN] = make_sin,   [OP_COS] = make_cos,
};

bool libm_has(Op op, DType d) { return d == DT_F32 && makers[op]; }

FunctionOps function_ops(const Backend *b, const Target *t, int lanes) {
  return (FunctionOps){ .scalb = b->supports(t, OP_SCALB, DT_F32, DT_F32, lanes),
                        .lookup = b->supports(t, OP_LOOKUP, DT_F32, DT_F32, lanes) };
}

Ref libm_expr(IR *ir, Ref r, FunctionOps has) {
  const Node *x = node(ir, r);
  const Make m = { ir, x->lanes, has };
  return libm_has((Op)x->op, (DType)x->dt) ? makers[x->op](&m, operand(x)) : 0;
}

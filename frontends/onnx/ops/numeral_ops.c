/* SPDX-License-Identifier: MIT */
/* numeral_ops.c: Cast between strings and numbers. All is arithmetic on 64-bit integers, element by element.
 *
 * * Floats and doubles have 8 significant digits, as ONNX Runtime prints them. A table gives powers of ten with mantissas of 128
 *   bits. The mantissa of a double times that of the power is exact enough to round correctly. The error is below 2^-60 of the
 *   last digit. Values nearer than that to the middle of two numbers are in the middle.
 * * A numeral is read in the other direction: its first 19 digits times a power of ten give the mantissa of a float. */
#include "../core/build.h"
#include <math.h>

enum {
  POWER_LOW = -345, /* exponents of the table of powers */
  POWER_HIGH = 345,
  POWERS = POWER_HIGH - POWER_LOW + 1,
  WORDS = 88,            /* words of 32 bits of a number in fixed point */
  POINT = 44,            /* words behind its point */
  SNAP = 8,              /* units of 2^-64: a fraction this near to 1/2 is 1/2 */
  DIGITS = 8,            /* significant digits of a float */
  TEN_DIGITS = 10000000, /* 10^(DIGITS - 1) */
  FLOAT_WIDTH = 15       /* bytes of "-1.2345678e-308" */
};

/* ---- powers of ten ---- */
/* 10^p = top * 2^exponent, top of 128 bits in words of 32 bits, the lowest first */
typedef struct Power {
  uint32_t top[4];
  int exponent;
  bool exact;
} Power;

static int bits_of(const uint32_t *w) {
  int i = WORDS * 32 - 1;
  while (!(w[i / 32] >> i % 32 & 1)) i--;
  return i;
}

static Power power_from(const uint32_t *w) {
  const int high = bits_of(w), low = high - 127;
  Power p = { { 0 }, low - POINT * 32, true };
  for (int i = 0; i < 128; i++) p.top[i / 32] |= (w[(low + i) / 32] >> (low + i) % 32 & 1u) << i % 32;
  for (int i = 0; i < low; i++) p.exact &= !(w[i / 32] >> i % 32 & 1);
  return p;
}

static void powers_of_ten(Power *to) {
  uint32_t w[WORDS] = { [POINT] = 1 };
  for (int p = 0; p <= POWER_HIGH; p++) {
    uint64_t carry = 0;
    to[p - POWER_LOW] = power_from(w);
    for (int i = 0; i < WORDS; i++) carry += (uint64_t)w[i] * 10, w[i] = (uint32_t)carry, carry >>= 32;
  }
  memset(w, 0, sizeof w);
  w[POINT] = 1;
  for (int p = -1; p >= POWER_LOW; p--) {
    uint64_t rest = 0;
    for (int i = WORDS - 1; i >= 0; i--) rest = rest << 32 | w[i], w[i] = (uint32_t)(rest / 10), rest %= 10;
    to[p - POWER_LOW] = power_from(w);
    to[p - POWER_LOW].exact = false;
  }
}

/* The bits of the least double that is no less than the power */
static int64_t least_double(const Power *p) {
  const uint64_t top = (uint64_t)p->top[3] << 32 | p->top[2];
  const bool rest = !p->exact || (top & 0x7ff) || p->top[1] || p->top[0];
  return (int64_t)(((uint64_t)(p->exponent + 127 + 1022) << 52) + (top >> 11) + rest);
}

/* ---- words ---- */
static Ref u64(Build *b, uint64_t v) { return c_int(b->ir, DT_U64, (int64_t)v); }
static Ref less(Build *b, Ref x, Ref y) { return g_binary(b->ir, OP_CMPLT, x, y); }
static Ref equal(Build *b, Ref x, Ref y) { return g_binary(b->ir, OP_CMPEQ, x, y); }
static Ref either(Build *b, Ref x, Ref y) { return g_binary(b->ir, OP_OR, x, y); }
static Ref not(Build * b, Ref x) { return g_unary(b->ir, OP_NOT, x); }
static Ref shl(Build *b, Ref x, Ref n) { return g_binary(b->ir, OP_SHL, x, n); }
static Ref shr(Build *b, Ref x, Ref n) { return g_binary(b->ir, OP_SHR, x, n); }
static Ref low32(Build *b, Ref x) { return g_binary(b->ir, OP_AND, x, u64(b, UINT32_MAX)); }
static Ref high32(Build *b, Ref x) { return shr(b, x, u64(b, 32)); }
static Ref signed_of(Build *b, Ref x) { return g_cast(b->ir, x, DT_I64); }
static Ref unsigned_of(Build *b, Ref x) { return g_cast(b->ir, x, DT_U64); }

/* Elements of a table of numbers, by places i64[n] */
static Ref looked_up(Build *b, const int64_t *table, int n, Ref at) {
  return g_gather(b->ir, ints_ref(b, n, table), clamp_index(b, at, n), 0);
}

typedef struct Product {
  Ref word[6];  /* u64, 32 bits each, the lowest first */
  Ref exponent; /* i64: the product is that many powers of two */
} Product;

/* x times 10^power, for x u64[n] and power i64[n] */
static Product times_power(Build *b, Ref x, Ref power) {
  Power *all = ARENA_NEW(&b->c->model, Power, POWERS);
  int64_t *column = ARENA_NEW(&b->c->model, int64_t, POWERS);
  const Ref row = stored(b, clamped(b, plus(b, power, -POWER_LOW), 0, POWERS - 1)), half[2] = { low32(b, x), high32(b, x) };
  Ref part[2][4], carry = u64(b, 0);
  Product p;
  powers_of_ten(all);
  for (int k = 0; k < 4; k++) {
    for (int i = 0; i < POWERS; i++) column[i] = all[i].top[k];
    const Ref word = unsigned_of(b, looked_up(b, column, POWERS, row));
    for (int h = 0; h < 2; h++) part[h][k] = mul(b, half[h], word);
  }
  for (int i = 0; i < POWERS; i++) column[i] = all[i].exponent;
  p.exponent = looked_up(b, column, POWERS, row);
  for (int c = 0; c < 6; c++) {
    Ref sum = carry;
    for (int h = 0; h < 2; h++) {
      if (c - h >= 0 && c - h < 4) sum = add(b, sum, low32(b, part[h][c - h]));
      if (c - h >= 1 && c - h < 5) sum = add(b, sum, high32(b, part[h][c - h - 1]));
    }
    p.word[c] = stored(b, low32(b, sum));
    carry = high32(b, sum);
  }
  return p;
}

/* Rounds whole + fraction / 2^64 to the nearest integer; in the middle, to the even one. */
static Ref rounded(Build *b, Ref whole, Ref fraction) {
  const Ref half = u64(b, (uint64_t)1 << 63), one = u64(b, 1);
  const Ref middle = less(b, sub(b, add(b, fraction, u64(b, SNAP)), half), u64(b, 2 * SNAP));
  const Ref odd = equal(b, g_binary(b->ir, OP_AND, whole, one), one);
  const Ref up = g_where(b->ir, middle, odd, less(b, half, fraction));
  return add(b, whole, unsigned_of(b, up));
}

/* ---- digits ---- */
/* The decimal digits of x u64[n, 1], the first of `count` ones in front: i64[n, count] */
static Ref digits_of(Build *b, Ref x, int count) {
  int64_t power[20] = { 0 };
  for (int i = count - 1, first = 1; i >= 0; i--, first = 0) power[i] = first ? 1 : (int64_t)((uint64_t)power[i + 1] * 10);
  const Ref powers = tensor_ref(b, DT_U64, 2, (int64_t[]){ 1, count }, power);
  return signed_of(b, g_binary(b->ir, OP_MOD, g_binary(b->ir, OP_DIV, x, powers), u64(b, 10)));
}

/* Elements of x [n, width] along the last axis */
static Ref along(Build *b, Ref x, Ref at) { return g_gather(b->ir, x, clamp_index(b, at, node(b->ir, x)->dims[1]), 1); }

/* Where a flag of [n, width] is true first; `none` where none is: i64[n, 1] */
static Ref first_true(Build *b, Ref flags, int64_t none) {
  const Ref at = iota_axis(b->ir, DT_I64, node(b->ir, flags)->dims[1], 1, 2);
  return g_reduce(b->ir, OP_MIN, g_where(b->ir, flags, at, integer(b, none)), 2u);
}

/* The digits of an integer x [n, 1], with a sign: u8[n, 20] */
static Ref integer_text(Build *b, Ref x) {
  enum { MOST = 20 };
  IR *ir = b->ir;
  const bool may_sign = dtype_info[node(ir, x)->dt].cls == 'i';
  const Ref wide = may_sign ? signed_of(b, x) : 0, bits = unsigned_of(b, may_sign ? wide : x);
  const Ref minus = may_sign ? less(b, wide, integer(b, 0)) : c_int(ir, DT_BOOL, 0);
  const Ref digits = stored(b, digits_of(b, g_where(ir, minus, sub(b, u64(b, 0), bits), bits), MOST));
  const Ref first = at_most(b, first_true(b, g_binary(ir, OP_CMPNE, digits, integer(b, 0)), MOST), MOST - 1);
  const Ref place = sub(b, iota_axis(ir, DT_I64, MOST, 1, 2), signed_of(b, minus)), at = add(b, first, place);
  const Ref digit = plus(b, along(b, digits, at), '0');
  const Ref text = g_where(ir, less(b, at, integer(b, MOST)), digit, integer(b, 0));
  return g_cast(ir, g_where(ir, less(b, place, integer(b, 0)), integer(b, '-'), text), DT_U8);
}

/* ---- floats to text ---- */
/* digits: i64[n, DIGITS]. used: i64[n, 1], how many there are without zeros at the end. power: i64[n, 1]; 10^power is the weight
 * of the first */
typedef struct Decimal {
  Ref digits, used, power;
} Decimal;

/* bits: of the absolute values of doubles, u64[n] */
static Decimal decimal_of(Build *b, Ref bits) {
  IR *ir = b->ir;
  Power *all = ARENA_NEW(&b->c->model, Power, POWERS);
  int64_t *low = ARENA_NEW(&b->c->model, int64_t, 2048), *next = ARENA_NEW(&b->c->model, int64_t, 2048);
  powers_of_ten(all);
  for (int e = 0; e < 2048; e++) { /* 10^low is no more than 2^(e - 1023), and `next` are the bits of the next power */
    low[e] = (int64_t)floor((e - 1023) * 0.30102999566398119521);
    next[e] = least_double(&all[low[e] + 1 - POWER_LOW]);
  }
  const Ref e = stored(b, signed_of(b, shr(b, bits, u64(b, 52)))), fraction = u64(b, ((uint64_t)1 << 52) - 1);
  const Ref mantissa = either(b, g_binary(ir, OP_AND, bits, fraction), u64(b, (uint64_t)1 << 52));
  const Ref above = not(b, less(b, signed_of(b, bits), looked_up(b, next, 2048, e)));
  const Ref power = stored(b, add(b, looked_up(b, low, 2048, e), signed_of(b, above)));
  const Product p = times_power(b, mantissa, sub(b, integer(b, DIGITS - 1), power));
  /* word 5, shifted by 3 to 7 bits, is the integer */
  const Ref shift = unsigned_of(b, clamped(b, plus(b, add(b, p.exponent, e), 160 - 1075), 0, 32)),
            back = sub(b, u64(b, 32), shift);
  const Ref below = add(b, shl(b, p.word[4], u64(b, 32)), p.word[3]);
  Ref whole = rounded(b, either(b, shl(b, p.word[5], shift), shr(b, p.word[4], back)),
                      either(b, shl(b, below, shift), shr(b, p.word[2], back)));
  const Ref over = equal(b, whole, u64(b, 10 * TEN_DIGITS)), zero = equal(b, e, integer(b, 0));
  whole = g_where(ir, zero, u64(b, 0), g_where(ir, over, u64(b, TEN_DIGITS), whole));
  const int64_t rows[2] = { node(ir, bits)->dims[0], 1 };
  const Ref digits = stored(b, digits_of(b, g_reshape(ir, stored(b, whole), 2, rows), DIGITS));
  const Ref nth = g_where(ir, g_binary(ir, OP_CMPNE, digits, integer(b, 0)), iota_axis(ir, DT_I64, DIGITS, 1, 2), integer(b, 0));
  const Ref last = g_where(ir, zero, integer(b, 0), add(b, power, signed_of(b, over)));
  return (Decimal){ digits, stored(b, plus(b, g_reduce(ir, OP_MAX, nth, 2u), 1)), stored(b, g_reshape(ir, last, 2, rows)) };
}

/* The bytes of `text` at the places `at`; 0 outside */
static Ref text_at(Build *b, const char *text, Ref at) {
  int64_t byte[16] = { 0 };
  const int n = (int)strlen(text) + 1;
  for (int i = 0; i < n; i++) byte[i] = text[i];
  const Node *x = node(b->ir, at);
  const int64_t all = dims_elems(x->dims, x->rank);
  const Ref in_range = g_where(b->ir, less(b, at, integer(b, 0)), integer(b, n - 1), at);
  return g_reshape(b->ir, looked_up(b, byte, n, g_reshape(b->ir, in_range, 1, &all)), x->rank, x->dims);
}

/* 0.00123, 12.3, 1200: bytes at the places `at` */
static Ref plain_text(Build *b, const Decimal *d, Ref at) {
  IR *ir = b->ir;
  const Ref zero = integer(b, 0), small = less(b, d->power, zero);
  const Ref dot = g_where(ir, small, integer(b, 1), plus(b, d->power, 1)); /* the place of the point */
  const Ref skipped = g_where(ir, small, sub(b, integer(b, 1), d->power), signed_of(b, less(b, dot, at)));
  const Ref k = sub(b, at, skipped), shown = g_binary(ir, OP_MAX, d->used, plus(b, d->power, 1));
  const Ref digit = g_where(ir, less(b, k, zero), integer(b, '0'), plus(b, along(b, d->digits, k), '0'));
  const Ref dotted = both(b, equal(b, at, dot), either(b, small, less(b, dot, d->used)));
  return g_where(ir, dotted, integer(b, '.'), g_where(ir, less(b, k, shown), digit, zero));
}

/* 1.23e-05: bytes at the places `at` */
static Ref scientific_text(Build *b, const Decimal *d, Ref at) {
  IR *ir = b->ir;
  const Ref one = integer(b, 1), more = less(b, one, d->used), size = g_unary(ir, OP_ABS, d->power);
  const Ref end = g_where(ir, more, plus(b, d->used, 1), one),
            past = sub(b, at, plus(b, end, 2)); /* past the sign of the power */
  const Ref wide = signed_of(b, less(b, integer(b, 99), size)), from = sub(b, plus(b, past, 1), wide);
  const Ref power = plus(b, along(b, digits_of(b, unsigned_of(b, size), 3), from), '0');
  const Ref k = sub(b, at, signed_of(b, less(b, integer(b, 0), at)));
  Ref y = g_where(ir, both(b, more, equal(b, at, one)), integer(b, '.'), plus(b, along(b, d->digits, k), '0'));
  y = g_where(ir, equal(b, at, end), integer(b, 'e'), y);
  const Ref sign = g_where(ir, less(b, d->power, integer(b, 0)), integer(b, '-'), integer(b, '+'));
  y = g_where(ir, equal(b, past, integer(b, -1)), sign, y);
  y = g_where(ir, less(b, integer(b, -1), past), power, y);
  return g_where(ir, less(b, integer(b, 2), from), integer(b, 0), y);
}

/* A float x [n, 1] as "%.8g" of C prints it: u8[n, FLOAT_WIDTH] */
static Ref float_text(Build *b, Ref x) {
  IR *ir = b->ir;
  const int64_t n = node(ir, x)->dims[0], one[2] = { n, 1 };
  const Ref raw = g_reshape(ir, bitcast(b, stored(b, g_cast(ir, x, DT_F64)), DT_U64), 1, &n), top = u64(b, (uint64_t)1 << 63);
  const Ref size = stored(b, g_binary(ir, OP_AND, raw, sub(b, top, u64(b, 1)))), inf = u64(b, (uint64_t)0x7ff << 52);
  const Ref is_nan = g_reshape(ir, less(b, inf, size), 2, one), is_inf = g_reshape(ir, equal(b, size, inf), 2, one);
  const Ref minus = both(b, g_reshape(ir, not(b, less(b, raw, top)), 2, one), not(b, is_nan));
  const Decimal d = decimal_of(b, size);
  const Ref at = sub(b, iota_axis(ir, DT_I64, FLOAT_WIDTH, 1, 2), signed_of(b, minus));
  const Ref plain = both(b, less(b, integer(b, -5), d.power), less(b, d.power, integer(b, DIGITS)));
  Ref y = g_where(ir, plain, plain_text(b, &d, at), scientific_text(b, &d, at));
  y = g_where(ir, is_inf, text_at(b, "INF", at), g_where(ir, is_nan, text_at(b, "NaN", at), y));
  return g_cast(ir, g_where(ir, less(b, at, integer(b, 0)), integer(b, '-'), y), DT_U8);
}

Ref text_of_numbers(Build *b, Ref x) {
  IR *ir = b->ir;
  int64_t dims[MAX_RANK];
  const int rank = node(ir, x)->rank;
  const int64_t n = dims_elems(node(ir, x)->dims, rank);
  for (int a = 0; a < rank; a++) dims[a] = node(ir, x)->dims[a];
  const Ref column = g_reshape(ir, x, 2, (int64_t[]){ n, 1 });
  const Ref text = dt_float((DType)node(ir, x)->dt) ? float_text(b, column) : integer_text(b, column);
  dims[rank] = node(ir, text)->dims[1];
  return g_reshape(ir, text, rank + 1, dims);
}

/* ---- text to numbers ---- */
/* A numeral: sign, digits with a point, and a power. Places are i64[n, 1], bytes i64[n, width]. */
typedef struct Numeral {
  Ref bytes, at, digit, begin, minus;
  int64_t width;
} Numeral;

static Ref is_byte(Build *b, Ref x, int v) { return equal(b, x, integer(b, v)); }

/* Whether bytes are '-' or '+'; *minus: the first */
static Ref is_sign(Build *b, Ref x, Ref *minus) { return either(b, *minus = is_byte(b, x, '-'), is_byte(b, x, '+')); }

/* The byte at a place; 0 behind the end */
static Ref byte_at(Build *b, const Numeral *s, Ref at) {
  return g_where(b->ir, less(b, at, integer(b, s->width)), along(b, s->bytes, at), integer(b, 0));
}

static Numeral numeral_in(Build *b, Ref x) { /* x: u8[n, width] */
  IR *ir = b->ir;
  Numeral s = { .bytes = stored(b, signed_of(b, x)), .width = node(ir, x)->dims[1] };
  s.at = iota_axis(ir, DT_I64, s.width, 1, 2);
  s.digit = both(b, less(b, integer(b, '0' - 1), s.bytes), less(b, s.bytes, integer(b, '9' + 1)));
  const Ref space = either(b, is_byte(b, s.bytes, ' '),
                           both(b, less(b, integer(b, 8), s.bytes), less(b, s.bytes, integer(b, 14))));
  const Ref start = first_true(b, not(b, space), s.width);
  const Ref sign = is_sign(b, byte_at(b, &s, start), &s.minus);
  s.begin = stored(b, add(b, start, signed_of(b, sign)));
  return s;
}

/* The first place from `from` on where the flag is false */
static Ref run_end(Build *b, const Numeral *s, Ref flag, Ref from) {
  return stored(b, first_true(b, both(b, not(b, flag), not(b, less(b, s->at, from))), s->width));
}

/* Sum of digits times 10^exponent; both [n, width]. Exponents outside of 0 to 19 add nothing. */
static Ref digit_sum(Build *b, const Numeral *s, Ref exponent) {
  int64_t power[20] = { 1 };
  IR *ir = b->ir;
  const Node *x = node(ir, exponent);
  const int64_t all = dims_elems(x->dims, x->rank);
  for (int i = 1; i < 20; i++) power[i] = (int64_t)((uint64_t)power[i - 1] * 10);
  const Ref scale = g_reshape(ir, looked_up(b, power, 20, g_reshape(ir, exponent, 1, &all)), 2, x->dims);
  const Ref counts = both(b, s->digit, both(b, less(b, integer(b, -1), exponent), less(b, exponent, integer(b, 20))));
  const Ref digit = g_where(ir, counts, plus(b, s->bytes, -'0'), integer(b, 0));
  return g_reduce(ir, OP_ADD, mul(b, unsigned_of(b, digit), unsigned_of(b, scale)), 2u);
}

static Ref negated_if(Build *b, Ref minus, Ref x) { return g_where(b->ir, minus, sub(b, integer(b, 0), x), x); }

/* i64[n, 1]. *wrong: there is no digit */
static Ref integer_value(Build *b, const Numeral *s, Ref *wrong) {
  const Ref end = run_end(b, s, s->digit, s->begin), place = sub(b, sub(b, end, integer(b, 1)), s->at);
  const Ref here = g_where(b->ir, less(b, s->at, s->begin), integer(b, -1), place);
  *wrong = equal(b, end, s->begin);
  return negated_if(b, s->minus, signed_of(b, digit_sum(b, s, here)));
}

/* The power behind the digits, which end at `end` */
static Ref power_value(Build *b, const Numeral *s, Ref end) {
  Numeral p = *s;
  Ref none;
  const Ref mark = byte_at(b, s, end), sign = is_sign(b, byte_at(b, s, plus(b, end, 1)), &p.minus);
  p.begin = add(b, plus(b, end, 1), signed_of(b, sign));
  const Ref v = clamped(b, integer_value(b, &p, &none), -9999, 9999);
  return g_where(b->ir, either(b, is_byte(b, mark, 'e'), is_byte(b, mark, 'E')), v, integer(b, 0));
}

/* Whether the bytes from s->begin on are the word, in any case of letters */
static Ref has_word(Build *b, const Numeral *s, const char *word) {
  Ref all = 0;
  for (int i = 0; word[i]; i++) {
    const Ref x = byte_at(b, s, plus(b, s->begin, i));
    all = both(b, all, either(b, is_byte(b, x, word[i]), is_byte(b, x, word[i] - 32)));
  }
  return all;
}

/* Bits of the float nearest to digits * 10^power, digits u64[n] from 10^18 to 10^19 - 1. kept: bits of its mantissa; bias: of its
 * exponent */
static Ref nearest_bits(Build *b, Ref digits, Ref power, int kept, int bias) {
  IR *ir = b->ir;
  const Product p = times_power(b, digits, power);
  const Ref top = stored(b, add(b, shl(b, p.word[5], u64(b, 32)), p.word[4]));
  const Ref below = add(b, shl(b, p.word[3], u64(b, 32)), p.word[2]);
  Ref used = integer(b, 58);
  for (int i = 58; i < 64; i++) used = add(b, used, signed_of(b, not(b, less(b, top, u64(b, (uint64_t)1 << i)))));
  const Ref drop = unsigned_of(b, plus(b, used, -kept)), back = sub(b, u64(b, 64), drop);
  const Ref whole = signed_of(b, rounded(b, shr(b, top, drop), either(b, shl(b, top, back), shr(b, below, drop))));
  const Ref exponent = plus(b, add(b, p.exponent, used), 128 - 1 + bias), one = integer(b, (int64_t)1 << (kept - 1));
  const Ref bits = add(b, mul(b, exponent, one), sub(b, whole, one)), inf = integer(b, (int64_t)(2 * bias + 1) << (kept - 1));
  const Ref tiny = less(b, exponent, integer(b, 1)), huge = less(b, integer(b, 2 * bias), exponent);
  return g_where(ir, tiny, integer(b, 0), g_where(ir, huge, inf, g_binary(ir, OP_MIN, bits, inf)));
}

/* d[n, 1]. *wrong: the text is no number */
static Ref float_value(Build *b, const Numeral *s, DType d, Ref *wrong) {
  IR *ir = b->ir;
  const Ref from = not(b, less(b, s->at, s->begin)),
            dot = stored(b, first_true(b, both(b, from, is_byte(b, s->bytes, '.')), s->width));
  const Ref end = run_end(b, s, either(b, s->digit, equal(b, s->at, dot)), s->begin), point = g_binary(ir, OP_MIN, dot, end);
  const Ref inside = both(b, from, less(b, s->at, end)), digit = both(b, inside, s->digit);
  const Ref lead = stored(b,
                          first_true(b, both(b, digit, not(b, is_byte(b, s->bytes, '0'))), s->width)); /* the first digit but 0 */
  const Ref zero = not(b, less(b, lead, end)), crossed = both(b, less(b, point, s->at), less(b, lead, point));
  const Ref rank = sub(b, sub(b, s->at, lead), signed_of(b, crossed)), early = less(b, s->at, lead);
  const Ref place = g_where(ir, both(b, inside, not(b, early)), sub(b, integer(b, 18), rank), integer(b, -1));
  const Ref first = sub(b, sub(b, point, lead), signed_of(b, less(b, lead, point))); /* 10^first is the leading digit's weight */
  const Ref power = add(b, plus(b, first, -18), power_value(b, s, end)), tens = u64(b, 1000000000000000000u);
  const int64_t n = node(ir, end)->dims[0], one[2] = { n, 1 };
  const Ref digits = g_where(ir, zero, tens, digit_sum(b, s, place));
  const bool wide = d == DT_F64;
  Ref bits = nearest_bits(b, g_reshape(ir, stored(b, digits), 1, &n), g_reshape(ir, stored(b, power), 1, &n), wide ? 53 : 24,
                          wide ? 1023 : 127);
  bits = g_where(ir, zero, integer(b, 0), g_reshape(ir, bits, 2, one));
  const DType kept = wide ? DT_F64 : DT_F32;
  Ref y = bitcast(b, g_cast(ir, stored(b, bits), wide ? DT_U64 : DT_U32), kept);
  const Ref is_inf = has_word(b, s, "inf"), is_nan = has_word(b, s, "nan");
  const Ref some = less(b, first_true(b, digit, s->width), integer(b, s->width));
  *wrong = not(b, either(b, some, either(b, is_inf, is_nan)));
  y = g_where(ir, is_inf, c_float(ir, kept, INFINITY), y);
  y = g_where(ir, s->minus, g_unary(ir, OP_NEG, y), y);
  return g_cast(ir, g_where(ir, either(b, is_nan, *wrong), c_float(ir, kept, NAN), y), d);
}

Ref numbers_of_text(Build *b, Ref x, DType d) {
  IR *ir = b->ir;
  int64_t dims[MAX_RANK];
  const int rank = node(ir, x)->rank - 1;
  for (int a = 0; a < rank; a++) dims[a] = node(ir, x)->dims[a];
  const int64_t n = dims_elems(dims, rank);
  if (!n) return g_expand(ir, c_float(ir, d, 0), rank, dims);
  const Numeral s = numeral_in(b, g_reshape(ir, x, 2, (int64_t[]){ n, string_width(b, x) }));
  Ref wrong, y = dt_float(d) ? float_value(b, &s, d, &wrong) : g_cast(ir, integer_value(b, &s, &wrong), d);
  wrong_if(b, wrong);
  return g_reshape(ir, y, rank, dims);
}

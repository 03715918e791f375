/* SPDX-License-Identifier: MIT */
/* literal.c: scalar constants as text and back, for every element type: bit-exact, and the same in every locale.
 *
 * Floats print with the fewest digits that read back to the same bits. Reading rounds once, to nearest even. f32 and f64 use
 * strtof and strtod. The 16-bit types use a double that was rounded to odd; it keeps enough bits to make the second rounding
 * exact. */
#include "ir.h"
#include <errno.h>
#include <fenv.h>
#include <locale.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LITERAL_MAX = 1100 }; /* characters; the longest exact double has 767 digits */

typedef struct FloatForm {
  int mantissa;    /* explicit significand bits */
  int least, most; /* decimal digits that always survive a round trip through binary; digits that always suffice for one
                      through text */
} FloatForm;

static FloatForm float_form(DType d) {
  switch (d) {
  case DT_F16: return (FloatForm){ 10, 3, 5 };
  case DT_BF16: return (FloatForm){ 7, 2, 4 };
  case DT_F32: return (FloatForm){ 23, 6, 9 };
  default: return (FloatForm){ 52, 15, 17 };
  }
}

static uint64_t type_mask(DType d) { return ~(uint64_t)0 >> (64 - dtype_info[d].bits); }

/* glibc has the "C" locale as a constant, so this is cheap */
static locale_t c_locale(void) { return newlocale(LC_ALL_MASK, "C", (locale_t)0); }

void literal_put(Sb *out, DType d, int64_t value) {
  if (d == DT_BOOL) {
    sb_puts(out, value ? "true" : "false");
    return;
  }
  if (!dt_float(d)) {
    if (dtype_info[d].cls == 'u') sb_printf(out, "%llu", (unsigned long long)value);
    else sb_printf(out, "%lld", (long long)value);
    return;
  }
  FloatForm f = float_form(d);
  uint64_t bits = (uint64_t)value & type_mask(d), sign = bits >> (dtype_info[d].bits - 1),
           fraction = bits & (((uint64_t)1 << f.mantissa) - 1);
  uint64_t infinity = type_mask(d) >> 1 & ~(((uint64_t)1 << f.mantissa) - 1);
  if ((bits & infinity) == infinity) {
    if (!fraction) sb_puts(out, sign ? "-inf" : "inf");
    else if (fraction == (uint64_t)1 << (f.mantissa - 1)) sb_puts(out, sign ? "-nan" : "nan");
    else sb_printf(out, "nan:0x%llx", (unsigned long long)bits);
    return;
  }
  char text[40];
  locale_t keep = uselocale(c_locale());
  for (int digits = f.least; digits <= f.most; digits++) {
    int64_t back;
    snprintf(text, sizeof text, "%.*g", digits, bits_to_double(d, value));
    if (!literal_parse(d, text, strlen(text), &back) && ((uint64_t)back & type_mask(d)) == bits) break;
  }
  uselocale(keep);
  sb_puts(out, text);
  if (!strpbrk(text, ".e")) sb_puts(out, ".0");
}

static const char *parse_integer(DType d, const char *s, int64_t *bits) {
  bool minus = *s == '-';
  const char *digits = s + (*s == '-' || *s == '+');
  int base = digits[0] == '0' && (digits[1] == 'x' || digits[1] == 'X') ? 16 : 10;
  char *end;
  if (*digits < '0' || *digits > '9') return "is not an integer";
  errno = 0;
  uint64_t v = strtoull(digits, &end, base), max = d == DT_BOOL ? 1 : type_mask(d);
  if (*end) return "is not an integer";
  if (dtype_info[d].cls == 'i') max = (max >> 1) + minus;
  else if (minus) max = 0;
  if (errno == ERANGE || v > max) return "is out of range";
  *bits = (int64_t)(minus ? 0 - v : v);
  return NULL;
}

/* The double next to the decimal; its last bit is set if the decimal is between two doubles. */
static double round_to_odd(const char *s, char **end, locale_t loc) {
  int keep = fegetround();
  fesetround(FE_UPWARD);
  double up = strtod_l(s, end, loc);
  fesetround(FE_DOWNWARD);
  double down = strtod_l(s, end, loc);
  fesetround(keep);
  if (up == down) return up;
  uint64_t bits;
  memcpy(&bits, &down, sizeof bits);
  return bits & 1 ? down : up; /* one of two neighbours is odd */
}

static const char *parse_float(DType d, const char *s, int64_t *bits) {
  FloatForm f = float_form(d);
  const char *body = s + (*s == '-' || *s == '+');
  uint64_t sign = (uint64_t)(*s == '-') << (dtype_info[d].bits - 1),
           infinity = type_mask(d) >> 1 & ~(((uint64_t)1 << f.mantissa) - 1);
  char *end;
  if (!strcmp(body, "inf")) {
    *bits = (int64_t)(sign | infinity);
    return NULL;
  }
  if (!strcmp(body, "nan")) {
    *bits = (int64_t)(sign | infinity | (uint64_t)1 << (f.mantissa - 1));
    return NULL;
  }
  if (!strncmp(s, "nan:0x", 6)) {
    errno = 0;
    uint64_t v = strtoull(s + 4, &end, 16);
    if (*end || errno || v > type_mask(d) || (v & infinity) != infinity || v << (64 - f.mantissa) == 0)
      return "does not have the bits of a NaN";
    *bits = (int64_t)v;
    return NULL;
  }
  if ((*body < '0' || *body > '9') && *body != '.') return "is not a number";
  locale_t loc = c_locale();
  if (d == DT_F32) {
    float v = strtof_l(s, &end, loc);
    *bits = double_to_bits(d, (double)v);
  } else *bits = double_to_bits(d, d == DT_F64 ? strtod_l(s, &end, loc) : round_to_odd(s, &end, loc));
  if (*end) return "is not a number";
  return ((uint64_t)*bits & infinity) == infinity ? "is out of range" : NULL;
}

const char *literal_parse(DType d, const char *s, size_t n, int64_t *bits) {
  char text[LITERAL_MAX + 1];
  if (n > LITERAL_MAX) return "has too many digits";
  memcpy(text, s, n);
  text[n] = 0;
  if (d == DT_BOOL && (!strcmp(text, "true") || !strcmp(text, "false"))) {
    *bits = text[0] == 't';
    return NULL;
  }
  return dt_float(d) ? parse_float(d, text, bits) : parse_integer(d, text, bits);
}

/* Whether a literal may stand for a source, and where its type comes from */
LiteralType literal_type(Op op, int i) {
  const char *sig = op_info[op].type;
  switch (op) {
  case OP_CAST:
  case OP_BITCAST: return LIT_NONE;
  case OP_PAD: return i == 1 ? LIT_RESULT : LIT_NONE;
  case OP_LOAD: return i == 1 ? LIT_I64 : i == 2 ? LIT_BOOL : i == 3 ? LIT_RESULT : LIT_NONE;
  case OP_STORE: return i == 1 ? LIT_I64 : i == 2 ? LIT_PEER : i == 3 ? LIT_BOOL : LIT_NONE;
  case OP_TILE:
  case OP_PREFETCH:
  case OP_PART: return i == 1 ? LIT_I64 : LIT_NONE;
  case OP_SET: return i == 1 ? LIT_PEER : LIT_NONE;
  case OP_RED: return i == 0 ? LIT_RESULT : LIT_NONE;
  case OP_BCAST:
  case OP_VEC:
  case OP_ACC: return LIT_RESULT;
  default:
    if (op_info[op].level != L_EXPR) return LIT_NONE;
    return sig[2 + 2 * i] == 'b' ? LIT_BOOL : sig[0] == 'b' ? LIT_PEER : LIT_RESULT;
  }
}

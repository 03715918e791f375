/* SPDX-License-Identifier: MIT */
/* small_types.c: types of ONNX with fewer bits than any DType: floats of 8 and 4 bits, integers of 4 and 2 bits. Values are kept
 * in the smallest type that holds them all, and rounded where a model makes them. At a bundle's interface an element is a byte.
 * A string is a row of bytes that ends at the first zero; "string" is the type of such a byte.
 * Within a graph only the front end knows of these types. Build.narrow records them, and operators that do not change values
 * pass them on (builder.c). */
#include "ir.h"
#include <math.h>
#include <string.h>

static const SmallType types[] = {
  /* name, ONNX type, kept in, bits, mantissa, least exponent of a normal number, greatest, special values */
  { "string", ONNX_STRING, DT_U8, 8, 0, 0, 255, SMALL_NONE },
  { "float8e4m3fn", 17, DT_F16, 8, 3, -6, 448, SMALL_NAN },
  { "float8e4m3fnuz", 18, DT_F16, 8, 3, -7, 240, SMALL_UNSIGNED },
  { "float8e5m2", 19, DT_F16, 8, 2, -14, 57344, SMALL_INF },
  { "float8e5m2fnuz", 20, DT_F16, 8, 2, -15, 57344, SMALL_UNSIGNED },
  { "uint4", 21, DT_U8, 4, 0, 0, 15, SMALL_NONE },
  { "int4", 22, DT_I8, 4, 0, 0, 7, SMALL_NONE },
  { "float4e2m1", 23, DT_F16, 4, 1, 0, 6, SMALL_NONE },
  { "float8e8m0", 24, DT_F32, 8, 0, -127, 0x1p127, SMALL_POWERS },
  { "uint2", 25, DT_U8, 2, 0, 0, 3, SMALL_NONE },
  { "int2", 26, DT_I8, 2, 0, 0, 1, SMALL_NONE },
};

const SmallType *small_type_named(const char *s, size_t n) {
  for (size_t i = 0; i < sizeof types / sizeof *types; i++)
    if (strlen(types[i].name) == n && !memcmp(types[i].name, s, n)) return &types[i];
  return NULL;
}

const SmallType *small_type(int onnx) {
  for (size_t i = 0; i < sizeof types / sizeof *types; i++)
    if (types[i].onnx == onnx) return &types[i];
  return NULL;
}

DType small_bytes(const SmallType *t) { return dt_float(t->kept) ? DT_U8 : t->kept; }

double small_value(const SmallType *t, unsigned bits) {
  const int sign = bits >> (t->bits - 1) & 1;
  if (t->kept == DT_U8) return bits;
  if (t->special == SMALL_POWERS) return bits == 255 ? NAN : ldexp(1, (int)bits - 127);
  if (t->kept == DT_I8) return (double)bits - (sign ? 1 << t->bits : 0);
  const int fraction = (int)(bits & ((1u << t->mantissa) - 1)), top = (1 << (t->bits - 1 - t->mantissa)) - 1;
  const int exponent = (int)(bits >> t->mantissa) & top;
  if (t->special == SMALL_UNSIGNED && sign && !exponent && !fraction) return NAN;
  if (t->special == SMALL_INF && exponent == top) return fraction ? NAN : sign ? -INFINITY : INFINITY;
  if (t->special == SMALL_NAN && exponent == top && fraction == (1 << t->mantissa) - 1) return NAN;
  double v = ldexp(exponent ? fraction + (1 << t->mantissa) : fraction, t->least + (exponent ? exponent - 1 : 0) - t->mantissa);
  return sign ? -v : v;
}

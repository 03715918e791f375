/* small_types.c: types of ONNX with fewer bits than any type of tgc: floats of 8 and 4 bits, integers of 4 and 2 bits. Values
 * are kept in the smallest type that holds them all, and rounded where a model makes them. Only the front end knows of these
 * types. Build.narrow records them, and operators that do not change values pass them on (builder.c). */
#include "onnx.h"
#include <math.h>

static const Narrow types[] = {
  /* ONNX type, kept in, bits, mantissa, least exponent of a normal number, greatest, special values */
  { 17, DT_F16, 8, 3, -6,  448,   NARROW_NAN },       /* float8e4m3fn */
  { 18, DT_F16, 8, 3, -7,  240,   NARROW_UNSIGNED },  /* float8e4m3fnuz */
  { 19, DT_F16, 8, 2, -14, 57344, NARROW_INF },       /* float8e5m2 */
  { 20, DT_F16, 8, 2, -15, 57344, NARROW_UNSIGNED },  /* float8e5m2fnuz */
  { 21, DT_U8,  4, 0, 0,   15,    NARROW_NONE },      /* uint4 */
  { 22, DT_I8,  4, 0, 0,   7,     NARROW_NONE },      /* int4 */
  { 23, DT_F16, 4, 1, 0,   6,     NARROW_NONE },      /* float4e2m1 */
  { 25, DT_U8,  2, 0, 0,   3,     NARROW_NONE },      /* uint2 */
  { 26, DT_I8,  2, 0, 0,   1,     NARROW_NONE },      /* int2 */
};

const Narrow *narrow_type(int onnx) {
  for (size_t i = 0; i < sizeof types / sizeof *types; i++)
    if (types[i].onnx == onnx) return &types[i];
  return NULL;
}

double narrow_value(const Narrow *t, unsigned bits) {
  const int sign = bits >> (t->bits - 1) & 1;
  if (t->kept == DT_U8) return bits;
  if (t->kept == DT_I8) return (double)bits - (sign ? 1 << t->bits : 0);
  const int fraction = (int)(bits & ((1u << t->mantissa) - 1)), top = (1 << (t->bits - 1 - t->mantissa)) - 1;
  const int exponent = (int)(bits >> t->mantissa) & top;
  if (t->special == NARROW_UNSIGNED && sign && !exponent && !fraction) return NAN;
  if (t->special == NARROW_INF && exponent == top) return fraction ? NAN : sign ? -INFINITY : INFINITY;
  if (t->special == NARROW_NAN && exponent == top && fraction == (1 << t->mantissa) - 1) return NAN;
  double v = ldexp(exponent ? fraction + (1 << t->mantissa) : fraction, t->least + (exponent ? exponent - 1 : 0) - t->mantissa);
  return sign ? -v : v;
}


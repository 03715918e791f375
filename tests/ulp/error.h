/* SPDX-License-Identifier: MIT */
/* error.h: the error of a float in units in the last place (ULP) of the exact result. */
#ifndef TESTS_ULP_ERROR_H
#define TESTS_ULP_ERROR_H
#include <math.h>
#include <stdint.h>
#include <string.h>

static float as_float(uint32_t bits) { /* the float that has these bits */
  float f;
  memcpy(&f, &bits, 4);
  return f;
}

/* Returns the error of `got` in ULP. want: the exact result. Special cases:
 * - If `want` is a NaN, the error of a NaN is 0, and the error of all other floats is infinite.
 * - If `want` is 0, the error of a zero of the same sign is 0, and the error of all other floats is infinite.
 * - If `want` rounds to an infinity, the error of this infinity is 0. The error of the finite float next to this infinity is 1.
 *   The error of all other floats is infinite.
 * - If |want| is larger than G, the largest finite float, but `want` rounds to G or -G, the error of the infinity of the same
 *   sign as `want` is 1.
 * In all other cases, the error of a NaN and of an infinity is infinite. */
static double error_in_ulp(float got, double want) {
  if (isnan(want)) return isnan(got) ? 0 : INFINITY;
  if (isnan(got)) return INFINITY;
  if (isinf((float)want)) return (got < 0) != (want < 0) || fabsf(got) < 0x1.fffffep127f ? INFINITY : !isinf(got);
  if (isinf(got)) return fabs(want) > 0x1.fffffep127 && (got < 0) == (want < 0) ? 1 : INFINITY;
  if (want == 0) return got == 0 && !signbit(got) == !signbit(want) ? 0 : INFINITY;
  int e = ilogb(want);
  return fabs((double)got - want) / ldexp(1, (e < -126 ? -126 : e) - 23);
}

#endif

/* SPDX-License-Identifier: MIT */
/* error.h: the error of a float in units in the last place of the exact result. The error is infinite if an infinity, a NaN or a
 * zero stands in place of another value, or has the wrong sign. */
#ifndef TESTS_ULP_ERROR_H
#define TESTS_ULP_ERROR_H
#include <math.h>
#include <stdint.h>
#include <string.h>

static float as_float(uint32_t bits) {
  float f;
  memcpy(&f, &bits, 4);
  return f;
}

static double error_in_ulp(float got, double want) {
  if (isnan(want)) return isnan(got) ? 0 : INFINITY;
  if (isnan(got)) return INFINITY;
  if (isinf((float)want)) return (got < 0) != (want < 0) || fabsf(got) < 0x1.fffffep127f ? INFINITY : !isinf(got);
  if (isinf(got)) return fabs(want) > 0x1.fffffep127 ? 1 : INFINITY;
  if (want == 0) return got == 0 && !signbit(got) == !signbit(want) ? 0 : INFINITY;
  int e = ilogb(want);
  return fabs((double)got - want) / ldexp(1, (e < -126 ? -126 : e) - 23);
}

#endif

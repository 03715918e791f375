/* SPDX-License-Identifier: MIT */
/* error.h: the error of a float in units in the last place (ULP) of the exact result. The error is infinite in three cases. Only
 * the float or only the exact result is a NaN. Only one of them is an infinity, except for the overflows that error_in_ulp
 * describes. The exact result is 0, and the float is not a zero of the same sign. */
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

/* want: the exact result. Overflows have a finite error. If `want` rounds to an infinity, this infinity has the error 0, and the
 * greatest float of the same sign has the error 1. If `want` is beyond the greatest float but does not round to an infinity, an
 * infinity has the error 1. */
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

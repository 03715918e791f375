/* SPDX-License-Identifier: MIT */
/* paired.c: how sure a ratio of times is. A process may be some percent faster or slower for its whole life. So one life of each
 * side makes a pair, and pairs are independent. */
#include "tune.h"
#include <math.h>

enum { DEGREES = 12 };
/* quantiles at 0.95 of Student's t distribution, by degrees of freedom; the last one for all further ones */
static const double student[DEGREES + 1] = { INFINITY, 6.314, 2.920, 2.353, 2.132, 2.015, 1.943,
                                             1.895,    1.860, 1.833, 1.812, 1.796, 1.782 };

Paired paired_of(const double *log_ratio, size_t n) {
  double sum = 0, squares = 0;
  if (!n) return (Paired){ 1, 0, INFINITY, 0 };
  for (size_t i = 0; i < n; i++) sum += log_ratio[i];
  const double mean = sum / (double)n;
  for (size_t i = 0; i < n; i++) squares += (log_ratio[i] - mean) * (log_ratio[i] - mean);
  if (n == 1) return (Paired){ exp(mean), 0, INFINITY, 1 };
  const double t = student[n - 1 < DEGREES ? n - 1 : DEGREES], off = t * sqrt(squares / (double)(n - 1) / (double)n);
  return (Paired){ exp(mean), exp(mean - off), exp(mean + off), n };
}

/* SPDX-License-Identifier: MIT */
/* paired.c: how sure a ratio of times is. A process may be some percent faster or slower for its whole life. So one life of each
 * side makes a pair, and pairs are independent. */
#include "tune.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { DEGREES = 12 };
/* quantiles at 0.95 of Student's t distribution, by degrees of freedom; the last one for all further ones */
static const double student[DEGREES + 1] = { INFINITY, 6.314, 2.920, 2.353, 2.132, 2.015, 1.943,
                                             1.895,    1.860, 1.833, 1.812, 1.796, 1.782 };

static double quantile_of(size_t degrees) { return student[degrees < DEGREES ? degrees : DEGREES]; }

Paired paired_of(const double *log_ratio, size_t n) {
  double sum = 0, squares = 0;
  if (!n) return (Paired){ 1, 0, INFINITY, 0 };
  for (size_t i = 0; i < n; i++) sum += log_ratio[i];
  const double mean = sum / (double)n;
  for (size_t i = 0; i < n; i++) squares += (log_ratio[i] - mean) * (log_ratio[i] - mean);
  if (n == 1) return (Paired){ exp(mean), 0, INFINITY, 1 };
  const double off = quantile_of(n - 1) * sqrt(squares / (double)(n - 1) / (double)n);
  return (Paired){ exp(mean), exp(mean - off), exp(mean + off), n };
}

/* Yuen's interval (Biometrika 61, 1974): the mean leaves out `cut` pairs at each end, and the variance takes the next ones in
 * their place. Its degrees of freedom are those of the pairs that are left. */
Paired paired_trimmed(const double *log_ratio, size_t n) {
  enum { LEAST = 6, PART = 8, MOST = 256 };
  const size_t cut = n > PART ? n / PART : 1, left = n - 2 * cut;
  double s[MOST], sum = 0, squares = 0, all = 0;
  if (n < LEAST || n > MOST) return paired_of(log_ratio, n);
  memcpy(s, log_ratio, n * sizeof *s);
  qsort(s, n, sizeof *s, by_double);
  for (size_t i = 0; i < cut; i++) s[i] = s[cut], s[n - 1 - i] = s[n - 1 - cut];
  for (size_t i = 0; i < n; i++) all += s[i];
  for (size_t i = cut; i < n - cut; i++) sum += s[i];
  for (size_t i = 0; i < n; i++) squares += (s[i] - all / (double)n) * (s[i] - all / (double)n);
  const double mean = sum / (double)left, off = quantile_of(left - 1) * sqrt(squares / (double)(left * (left - 1)));
  return (Paired){ exp(mean), exp(mean - off), exp(mean + off), n };
}

/* Half of the interval, in logarithms */
static double width(Paired x) { return x.n && x.low > 0 ? log(x.high / x.low) / 2 : INFINITY; }

static Paired about(double log_ratio, double off, size_t n) {
  return (Paired){ exp(log_ratio), exp(log_ratio - off), exp(log_ratio + off), n };
}

Paired paired_pooled(Paired x, Paired y) {
  const double a = width(x), b = width(y);
  if (!isfinite(a) || !(b > 0)) return y;
  if (!isfinite(b) || !(a > 0)) {
    x.n = y.n;
    return x;
  }
  const double wx = 1 / (a * a), wy = 1 / (b * b);
  return about((wx * log(x.ratio) + wy * log(y.ratio)) / (wx + wy), 1 / sqrt(wx + wy), y.n);
}

Paired paired_product(Paired x, Paired y) {
  return about(log(x.ratio * y.ratio), hypot(width(x), width(y)), x.n < y.n ? x.n : y.n);
}

Paired paired_widened(Paired x, double by) { return about(log(x.ratio), hypot(width(x), log(1 + by)), x.n); }

/* SPDX-License-Identifier: MIT */
/* paired.c (unit test): the interval of a ratio of times has the values of the formula. It is as sure as it says, and decides
 * nothing by one pair. */
#include "../../compiler/tune/tune.h"
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

static void is_near(double a, double b) { assert_true(fabs(a - b) < 1e-4); }

static void has_the_values_of_the_formula(void **state) {
  const Paired x = paired_of((double[]){ -0.1, -0.2, -0.15, -0.12, -0.18 }, 5);
  (void)state;
  is_near(log(x.ratio), -0.15);
  is_near(log(x.high), -0.15 + 2.132 * 0.0412311 / sqrt(5));
  is_near(log(x.low), -0.15 - 2.132 * 0.0412311 / sqrt(5));
  assert_int_equal(x.n, 5);
}

static void one_pair_decides_nothing(void **state) {
  const Paired one = paired_of((double[]){ -3 }, 1), none = paired_of(NULL, 0);
  (void)state;
  is_near(log(one.ratio), -3);
  assert_true(isinf(one.high) && one.low == 0);
  assert_true(isinf(none.high) && none.low == 0);
}

/* About normal: a sum of 12 uniform values */
static double noise(uint64_t *seed) {
  double sum = -6;
  for (int i = 0; i < 12; i++) {
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    sum += (double)(*seed >> 33) / 2147483648.0;
  }
  return sum;
}

static void an_outlier_decides_nothing(void **state) {
  const double at[] = { -0.020, -0.021, 0.3, -0.019, -0.022, -0.020, -0.018, -0.021 };
  (void)state;
  assert_true(paired_of(at, 8).high > 1);
  assert_true(paired_trimmed(at, 8).high < 0.99);
  is_near(paired_trimmed(at, 5).high, paired_of(at, 5).high);
}

static void nine_of_ten_intervals_have_the_mean(void **state) {
  enum { DRAWS = 20000, MOST = 20 };
  uint64_t seed = 7;
  (void)state;
  for (size_t n = 2; n <= MOST; n += n < 8 ? 1 : 6) {
    int inside = 0, trimmed = 0;
    for (int i = 0; i < DRAWS; i++) {
      double at[MOST];
      for (size_t k = 0; k < n; k++) at[k] = 0.02 + 0.01 * noise(&seed);
      const Paired x = paired_of(at, n), y = paired_trimmed(at, n);
      inside += log(x.low) <= 0.02 && 0.02 <= log(x.high);
      trimmed += log(y.low) <= 0.02 && 0.02 <= log(y.high);
    }
    assert_true(fabs((double)trimmed / DRAWS - 0.9) < 0.02);
    assert_true(fabs((double)inside / DRAWS - 0.9) < 0.012);
  }
}

/* Two estimates of one ratio: the more exact one counts more, and both are surer than each. */
static void estimates_are_pooled_by_precision(void **state) {
  const Paired sure = { 0.97, 0.97 / 1.002, 0.97 * 1.002, 8 }, vague = { 1, 1 / 1.02, 1.02, 20 }, none = { 1, 0, INFINITY, 0 };
  const Paired both = paired_pooled(sure, vague);
  (void)state;
  assert_true(both.ratio > 0.97 && both.ratio < 0.9705);
  assert_true(log(both.high / both.low) < log(sure.high / sure.low));
  assert_int_equal(both.n, 20);
  is_near(paired_pooled(none, vague).high, 1.02);
  is_near(paired_pooled(sure, none).ratio, 0.97);
  is_near(paired_pooled((Paired){ 0 }, vague).low, vague.low);
}

static void a_product_of_ratios_is_less_sure(void **state) {
  const Paired x = { 0.97, 0.97 / 1.03, 0.97 * 1.03, 8 }, same = { 1, 1, 1, SIZE_MAX };
  const Paired both = paired_product(x, (Paired){ 0.9, 0.9 / 1.04, 0.9 * 1.04, 4 });
  (void)state;
  is_near(both.ratio, 0.873);
  is_near(log(both.high / both.ratio), hypot(log(1.03), log(1.04)));
  assert_int_equal(both.n, 4);
  is_near(paired_product(same, x).high, x.high);
  is_near(log(paired_widened(same, 0.005).high), log(1.005));
  assert_true(isinf(paired_product(x, (Paired){ 1, 0, INFINITY, 0 }).high));
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(has_the_values_of_the_formula),
    cmocka_unit_test(an_outlier_decides_nothing),
    cmocka_unit_test(estimates_are_pooled_by_precision),
    cmocka_unit_test(a_product_of_ratios_is_less_sure),
    cmocka_unit_test(one_pair_decides_nothing),
    cmocka_unit_test(nine_of_ten_intervals_have_the_mean),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

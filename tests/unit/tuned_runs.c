/* SPDX-License-Identifier: MIT */
/* the runs in which candidates for ranges of sizes are timed and compared; means of their times; elements that a run needs */
#include "../../compiler/tune/tune.h"
#include <setjmp.h>
#include <cmocka.h>
#include "fixture.h"

static void with_ranges(IR *ir, const Symbol *s, int n) {
  Symbols all = { .n = n };
  for (int i = 0; i < n; i++) all.p[i] = s[i];
  ir_set_symbols(ir, &all);
}

static void candidates_are_timed_at_the_least_the_typical_and_the_greatest_size(void **state) {
  IR *ir = *state;
  with_ranges(ir, (Symbol[]){ { .name = "seq", .low = 1, .high = 512, .step = 1, .typical = 128 } }, 1);
  const TunedRuns r = tuned_runs(ir->ctx, ir);
  assert_int_equal(r.timed, 3);
  assert_string_equal(r.run[0].text, "seq=1");
  assert_string_equal(r.run[1].text, "seq=128");
  assert_string_equal(r.run[2].text, "seq=512");
  assert_int_equal(main_run(&r), 1);
  assert_true(r.run[1].weight > r.run[0].weight && r.run[0].weight == r.run[2].weight);
  assert_int_equal(r.n, TUNED_RUNS);
  for (int i = 0; i < r.n; i++) {
    assert_true(size_is_allowed(&ir->symbols.p[0], r.run[i].sizes[0]));
    for (int k = 0; k < i; k++) assert_int_not_equal(r.run[i].sizes[0], r.run[k].sizes[0]);
  }
}

static void without_a_typical_size_the_middle_one_counts_as_much_as_others(void **state) {
  IR *ir = *state;
  const Symbol two[] = { { .name = "b", .low = 0, .high = 8, .step = 2 }, { .name = "n", .low = 4, .high = 64, .step = 1 } };
  with_ranges(ir, two, 2);
  const TunedRuns r = tuned_runs(ir->ctx, ir);
  assert_string_equal(r.run[0].text, "b=2,n=4"); /* a run without entries takes no time */
  assert_string_equal(r.run[1].text, "b=4,n=16");
  assert_string_equal(r.run[2].text, "b=8,n=64");
  for (int i = 0; i < 3; i++) assert_true(r.run[i].weight > 0.333 && r.run[i].weight < 0.334);
  assert_int_equal(main_run(&r), 1);
}

static void equal_sizes_are_one_run(void **state) {
  IR *ir = *state;
  with_ranges(ir, (Symbol[]){ { .name = "n", .low = 1, .high = 2, .step = 1, .typical = 2 } }, 1);
  const TunedRuns r = tuned_runs(ir->ctx, ir);
  assert_int_equal(r.timed, 2);
  assert_int_equal(r.n, 2);
  assert_int_equal(main_run(&r), 1);
  assert_true(r.run[0].weight + r.run[1].weight > 0.999 && r.run[1].weight > 0.7);
}

static void a_model_for_one_size_has_no_such_runs(void **state) {
  IR *ir = *state;
  const TunedRuns r = tuned_runs(ir->ctx, ir);
  assert_int_equal(r.n + r.timed, 0);
}

static void times_are_compared_by_their_mean_and_in_each_run(void **state) {
  IR *ir = *state;
  with_ranges(ir, (Symbol[]){ { .name = "n", .low = 1, .high = 100, .step = 1, .typical = 10 } }, 1);
  const TunedRuns r = tuned_runs(ir->ctx, ir);
  const double base[TIMED_RUNS] = { 1, 10, 100 }, other[TIMED_RUNS] = { 1.2, 5, 100 };
  assert_true(mean_of_runs(&r, base) > 9.99 && mean_of_runs(&r, base) < 10.01);
  assert_true(mean_of_runs(&r, other) < mean_of_runs(&r, base));
  assert_int_equal(run_that_loses(&r, other, base, 1.05), 0);
  assert_int_equal(run_that_loses(&r, other, base, 1.25), -1);
  assert_int_equal(run_that_loses(&r, (double[TIMED_RUNS]){ 0 }, base, 1.05), -1);
  assert_string_equal(times_of_runs(ir->ctx, &r, base), "n=1 1 us, n=10 10 us, n=100 100 us");
}

static void elements_that_a_run_does_not_need_are_not_compared(void **state) {
  IR *ir = *state;
  with_ranges(ir, (Symbol[]){ { .name = "n", .low = 1, .high = 4, .step = 1 } }, 1);
  Buf b = { .kind = BUF_ARENA, .dt = DT_F32, .elems = 24, .needed = { 1, { { .inner = 3, .extent = 4, .of = 0 } } } };
  const RunSizes run = { 2 };
  assert_int_equal(needed_elems(ir, &b, run), 12);
  assert_int_equal(needed_elems(ir, &b, NULL), 24);
  for (int i = 0; i < 24; i++) assert_int_equal(element_counts(ir, &b, i, run), i % 12 < 6); /* rows of the greatest size */
  b.kind = BUF_OUTPUT;
  for (int i = 0; i < 24; i++) assert_int_equal(element_counts(ir, &b, i, run), i < 12); /* rows of the run */
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test_setup_teardown(candidates_are_timed_at_the_least_the_typical_and_the_greatest_size, setup, teardown),
    cmocka_unit_test_setup_teardown(without_a_typical_size_the_middle_one_counts_as_much_as_others, setup, teardown),
    cmocka_unit_test_setup_teardown(equal_sizes_are_one_run, setup, teardown),
    cmocka_unit_test_setup_teardown(a_model_for_one_size_has_no_such_runs, setup, teardown),
    cmocka_unit_test_setup_teardown(times_are_compared_by_their_mean_and_in_each_run, setup, teardown),
    cmocka_unit_test_setup_teardown(elements_that_a_run_does_not_need_are_not_compared, setup, teardown),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

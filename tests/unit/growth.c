/* SPDX-License-Identifier: MIT */
/* growth.c (unit test): which forms of layers are allowed by a goal, and which are withdrawn where a limit is exceeded */
#include "../../compiler/cost/growth.h"
#include <setjmp.h>
#include <cmocka.h>

static Growth form(uint32_t origin, double weights, double arena, double gain) {
  return (Growth){ .form = "tiles", .origin = origin, .weights = weights, .arena = arena, .gain = gain };
}

static bool allowed(MemoryGoal *m, Growth g) { return growth_allowed(&(IR){ .memory = m }, &g); }
static void grant(MemoryGoal *m, Growth g) { growth_granted(&(IR){ .memory = m }, &g); }

static void goals_allow_what_they_say(void **state) {
  (void)state;
  static const bool may[OPTIMIZE_COUNT][2] = { /* weights, arena */
    [OPTIMIZE_SPEED] = { true, true }, [OPTIMIZE_SIZE] = { false, true }, [OPTIMIZE_RAM] = { true, false }
  };
  for (int o = OPTIMIZE_SPEED; o < OPTIMIZE_COUNT; o++) {
    MemoryGoal m = { .optimize = (Optimize)o };
    assert_int_equal(optimize_named(optimize_name[o]), o);
    assert_int_equal(allowed(&m, form(1, 8, 0, 1)), may[o][0]);
    assert_int_equal(allowed(&m, form(1, 0, 8, 1)), may[o][1]);
    assert_int_equal(allowed(&m, form(1, 8, 8, 1)), may[o][0] && may[o][1]);
    assert_true(allowed(&m, form(1, -8, 0, 1))); /* less memory is always allowed */
  }
  assert_true(allowed(NULL, form(1, 8, 8, 1)));
  assert_int_equal(optimize_named(NULL), OPTIMIZE_AUTO);
  assert_int_equal(optimize_named("fast"), OPTIMIZE_COUNT);
}

static void the_least_worthy_weights_go_first(void **state) {
  (void)state;
  MemoryGoal m = { .optimize = OPTIMIZE_SPEED };
  grant(&m, form(1, 100, 0, 500));
  grant(&m, form(2, 100, 0, 100));
  assert_true(growth_withdraw(&m, 60, 0, WITHDRAW_SIZE));
  assert_true(allowed(&m, form(1, 100, 0, 500)));
  assert_false(allowed(&m, form(2, 100, 0, 100)));
  assert_true(allowed(&m, form(2, 99, 0, 100))); /* a smaller form of the layer */
  grant(&m, form(2, 99, 0, 100));
  assert_true(growth_withdraw(&m, 60, 0, WITHDRAW_LAYER));
  assert_false(allowed(&m, form(2, 1, 0, 100)));
  assert_true(allowed(&m, form(1, 100, 0, 500)));
  growth_free(&m);
}

static void the_largest_of_the_arena_go_first(void **state) {
  (void)state;
  MemoryGoal m = { .optimize = OPTIMIZE_SPEED };
  grant(&m, form(1, 5, 1000, 1));
  grant(&m, form(2, 5, 600, 1));
  grant(&m, form(3, 5, 400, 1));
  assert_true(growth_withdraw(&m, 0, 10, WITHDRAW_SIZE));
  assert_false(allowed(&m, form(1, 5, 1000, 1)));
  assert_false(allowed(&m, form(2, 5, 600, 1))); /* more than half of it */
  assert_true(allowed(&m, form(2, 5, 500, 1)));
  assert_true(allowed(&m, form(3, 5, 400, 1)));
  growth_free(&m);
}

static void in_the_end_nothing_grows(void **state) {
  (void)state;
  MemoryGoal m = { .optimize = OPTIMIZE_SPEED };
  assert_false(growth_withdraw(&m, 10, 10, WITHDRAW_ALL)); /* nothing was granted, so nothing would help */
  grant(&m, form(1, 5, 0, 1));
  assert_false(growth_withdraw(&m, 0, 10, WITHDRAW_ALL)); /* it takes no arena */
  grant(&m, form(1, 5, 0, 1));
  assert_true(growth_withdraw(&m, 10, 0, WITHDRAW_ALL));
  assert_false(allowed(&m, form(9, 1, 0, 1)));
  growth_free(&m);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(goals_allow_what_they_say),
    cmocka_unit_test(the_least_worthy_weights_go_first),
    cmocka_unit_test(the_largest_of_the_arena_go_first),
    cmocka_unit_test(in_the_end_nothing_grows),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

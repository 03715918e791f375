/* SPDX-License-Identifier: MIT */
/* decisions.c (unit test): questions of passes: what names a node, who is told apart, and what becomes of answers. */
#include "fixture.h"
#include "../../compiler/ir/decisions.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>

static Ref weight(IR *ir, const float *data) {
  Tensor t = { .dt = DT_F32, .rank = 1, .dims = { 4 }, .elems = 4, .data = data };
  return g_weight(ir, ir_tensor(ir, &t));
}

static void nothing_is_kept_without_decisions(void **state) {
  IR *ir = *state;
  const Ref r = g_unary(ir, OP_EXP, g_param(ir, DT_F32, 1, (int64_t[]){ 4 }, 0));
  const Question q = ask_node(ir, "materialize", r);
  assert_null(q.given);
  answer_with(ir, &q, "stored");
  assert_true(answer_yes(ir, &q, true));
}

/* Two sums with weights of other values are alike, and two different nodes all the same */
static void equal_nodes_are_numbered(void **state) {
  IR *ir = *state;
  static const float a[4] = { 1, 2, 3, 4 }, b[4] = { 5, 6, 7, 8 };
  const Ref x = g_param(ir, DT_F32, 1, (int64_t[]){ 4 }, 0), one = g_binary(ir, OP_MUL, x, weight(ir, a)),
            two = g_binary(ir, OP_MUL, x, weight(ir, b)), other = g_binary(ir, OP_ADD, x, weight(ir, b));
  ir->decisions = decisions_new(ir->ctx);
  const Question first = ask_node(ir, "materialize", one), second = ask_node(ir, "materialize", two),
                 again = ask_node(ir, "materialize", one), elsewhere = ask_node(ir, "layout", two),
                 third = ask_node(ir, "materialize", other);
  assert_int_equal(strlen(first.key), 16);
  assert_string_equal(first.key, again.key);
  assert_string_equal(first.key, elsewhere.key); /* the first of its pass */
  assert_memory_equal(first.key, second.key, 16);
  assert_string_equal(second.key + 16, ".2");
  assert_memory_not_equal(first.key, third.key, 16);
  decisions_free(ir->decisions);
}

static void answers_are_given_again(void **state) {
  IR *ir = *state;
  const Ref r = g_unary(ir, OP_EXP, g_param(ir, DT_F32, 1, (int64_t[]){ 4 }, 0));
  Decisions *d = ir->decisions = decisions_new(ir->ctx);
  size_t n;
  const Question q = ask_node(ir, "materialize", r);
  assert_true(answer_yes(ir, &q, true));
  assert_true(answer_yes(ir, &q, true)); /* the same question again is kept once */
  const Decision x = decisions_made(d, &n)[0];
  assert_int_equal(n, 1);
  assert_string_equal(x.value, "yes");
  assert_true(decisions_give(d, &(Decision){ .pass = "materialize", .key = x.key, .value = "no" }));
  assert_false(decisions_give(d, &x));
  assert_false(decisions_given(d, &n)[0].used);
  decisions_begin(d);
  decisions_made(d, &n);
  assert_int_equal(n, 0);
  const Question later = ask_node(ir, "materialize", r);
  assert_string_equal(later.given, "no");
  assert_false(answer_yes(ir, &later, true));
  assert_true(decisions_given(d, &n)[0].used);
  assert_string_equal(decisions_made(d, &n)[0].value, "no");
  decisions_free(d);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test_setup_teardown(nothing_is_kept_without_decisions, setup, teardown),
    cmocka_unit_test_setup_teardown(equal_nodes_are_numbered, setup, teardown),
    cmocka_unit_test_setup_teardown(answers_are_given_again, setup, teardown),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

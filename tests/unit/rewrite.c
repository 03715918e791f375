/* SPDX-License-Identifier: MIT */
/* rewrite.c (unit test): order, fixed point, sharing, hit counts, origins and the step budget. */
#include "../../compiler/ir/ir.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>
#include "fixture.h"

static Ref input(IR *ir, int slot) { return g_param(ir, DT_F32, 1, (int64_t[]){ 4 }, slot); }

static Ref double_neg(IR *ir, Ref r, void *arg) {
  const Node *x = node(ir, node(ir, r)->src[0]);
  (void)arg;
  return x->op == OP_NEG ? x->src[0] : 0;
}

static Ref sub_to_add(IR *ir, Ref r, void *arg) { /* a - b -> a + -b: makes work for double_neg */
  const Node *x = node(ir, r);
  (void)arg;
  return g_binary(ir, OP_ADD, x->src[0], g_unary(ir, OP_NEG, x->src[1]));
}

static Ref count(IR *ir, Ref r, void *arg) {
  (void)ir;
  (void)r;
  ++*(int *)arg;
  return 0;
}

static Ref grow(IR *ir, Ref r, void *arg) {
  (void)arg;
  return g_unary(ir, OP_ABS, g_unary(ir, OP_NEG, r));
}

static const Rule some_rules[] = {
  { OP_SUB, "sub-to-add", sub_to_add },
  { OP_NEG, "double-neg", double_neg },
  { OP_SIN, "count", count },
  { 0 },
};

static void results_are_rewritten(void **state) {
  IR *ir = *state;
  int hits[3] = { 0 }, seen = 0;
  Ref a = input(ir, 0), b = input(ir, 1);
  Ref roots[2] = { g_binary(ir, OP_SUB, a, g_unary(ir, OP_NEG, b)), g_unary(ir, OP_NEG, g_unary(ir, OP_NEG, a)) };
  assert_true(ir_rewrite(ir, some_rules, &seen, roots, 2, hits));
  assert_int_equal(roots[0], g_binary(ir, OP_ADD, a, b));
  assert_int_equal(roots[1], a);
  assert_int_equal(hits[0], 1);
  assert_int_equal(hits[1], 2);
  assert_false(ir_rewrite(ir, some_rules, &seen, roots, 2, NULL));
}

static void shared_nodes_are_seen_once(void **state) {
  IR *ir = *state;
  int seen = 0;
  Ref x = g_unary(ir, OP_SIN, input(ir, 0));
  for (int i = 0; i < 100; i++) x = g_binary(ir, OP_MUL, x, x);
  assert_false(ir_rewrite(ir, some_rules, &seen, &x, 1, NULL));
  assert_int_equal(seen, 1);
}

static void depth_is_not_stack(void **state) {
  IR *ir = *state;
  int seen = 0;
  Ref a = input(ir, 0), x = a;
  for (int i = 0; i < 200000; i++) x = node_make(ir, OP_NEG, DT_F32, 1, 1, &x, 0, NULL, 1, (int64_t[]){ 4 });
  assert_true(ir_rewrite(ir, some_rules, &seen, &x, 1, NULL));
  assert_int_equal(x, a);
}

static void origins_are_inherited(void **state) {
  IR *ir = *state;
  int seen = 0;
  ir->origin = ir_origin(ir, "node 3 'sub'", 3);
  Ref x = g_binary(ir, OP_SUB, input(ir, 0), input(ir, 7));
  ir->origin = 0;
  ir_rewrite(ir, some_rules, &seen, &x, 1, NULL);
  assert_string_equal(ir_pos(ir, x).node, "node 3 'sub'");
  assert_int_equal(ir->origin, 0);
}

static void endless_rules_are_a_bug(void **state) {
  IR *ir = *state;
  static const Rule endless[] = { { OP_NEG, "grow", grow }, { 0 } };
  pid_t pid = fork();
  assert_true(pid >= 0);
  if (!pid) {
    Ref x = g_unary(ir, OP_NEG, input(ir, 0));
    fclose(stderr);
    ir_rewrite(ir, endless, NULL, &x, 1, NULL);
    _exit(0);
  }
  int status;
  assert_int_equal(waitpid(pid, &status, 0), pid);
  assert_false(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(results_are_rewritten),
    cmocka_unit_test(shared_nodes_are_seen_once),
    cmocka_unit_test(depth_is_not_stack),
    cmocka_unit_test(origins_are_inherited),
    cmocka_unit_test(endless_rules_are_a_bug),
  };
  return cmocka_run_group_tests_name("rewrite", tests, setup, teardown);
}

/* SPDX-License-Identifier: MIT */
/* operands.c (unit test): operands by name, those that are absent, and what make san checks of them. */
#include "../../compiler/ir/ir.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>
#include "fixture.h"

typedef struct Nodes { Ref buffer, index, open, value; } Nodes;

static Nodes some_nodes(IR *ir) {
  return (Nodes){ node_make(ir, OP_BUFFER, DT_F32, 1, 0, NULL, 1, (int64_t[]){ 0 }, 0, NULL), ix_const(ir, 3),
                  c_bits(ir, DT_BOOL, 1), c_float(ir, DT_F32, 2) };
}

static const Node *op_over(IR *ir, Op op, int n, const Ref *src) {
  return node(ir, node_make(ir, op, DT_F32, 1, n, src, 0, NULL, 0, NULL));
}

static void optional_operands(void **state) {
  IR *ir = *state;
  const Nodes s = some_nodes(ir);
  const Node *plain = op_over(ir, OP_LOAD, 2, (Ref[]){ s.buffer, s.index });
  const Node *gated = op_over(ir, OP_LOAD, 4, (Ref[]){ s.buffer, s.index, s.open, s.value });
  const Node *stored = op_over(ir, OP_STORE, 3, (Ref[]){ s.buffer, s.index, s.value });
  const Node *where = op_over(ir, OP_STORE, 4, (Ref[]){ s.buffer, s.index, s.value, s.open });
  assert_int_equal(load_buffer(plain), s.buffer);
  assert_int_equal(load_index(plain), s.index);
  assert_int_equal(load_gate(plain), 0);
  assert_int_equal(load_else(plain), 0);
  assert_int_equal(load_gate(gated), s.open);
  assert_int_equal(load_else(gated), s.value);
  assert_int_equal(store_value(stored), s.value);
  assert_int_equal(store_gate(stored), 0);
  assert_int_equal(store_gate(where), s.open);
}

static void operands_of_several_ops(void **state) {
  IR *ir = *state;
  const Nodes s = some_nodes(ir);
  const Node *load = op_over(ir, OP_LOAD, 4, (Ref[]){ s.buffer, s.index, s.open, s.value });
  const Node *store = op_over(ir, OP_STORE, 4, (Ref[]){ s.buffer, s.index, s.value, s.open });
  assert_int_equal(access_buffer(load), access_buffer(store));
  assert_int_equal(access_index(load), access_index(store));
  assert_int_equal(access_gate(load), access_gate(store));
  assert_int_equal(operand(op_over(ir, OP_NEG, 1, &s.value)), s.value);
  assert_int_equal(operand(op_over(ir, OP_PAD, 2, (Ref[]){ s.value, s.index })), s.value);
  assert_int_equal(rhs(op_over(ir, OP_ADD, 2, (Ref[]){ s.index, s.value })), s.value);
}

static void lists_of_operands(void **state) {
  IR *ir = *state;
  const Nodes s = some_nodes(ir);
  const Ref range[2] = { range_make(ir, 4, RK_REDUCE), range_make(ir, 5, RK_REDUCE) };
  const Node *red = op_over(ir, OP_RED, 3, (Ref[]){ s.value, range[0], range[1] });
  const Node *cat = op_over(ir, OP_CAT, 2, (Ref[]){ s.value, s.open });
  assert_int_equal(red_value(red), s.value);
  assert_int_equal(red_range(red, 0), range[0]);
  assert_int_equal(red_range(red, 1), range[1]);
  assert_int_equal(cat_part(cat, 1), s.open);
}

/* does the check refuse operand i of x by that name? */
static bool refuses(const Node *x, int i, const char *name) {
  pid_t pid = fork();
  int status;
  assert_true(pid >= 0);
  if (!pid) {
    fclose(stderr);
    check_operand(x, i, name);
    _exit(0);
  }
  assert_int_equal(waitpid(pid, &status, 0), pid);
  return !(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static void wrong_names_are_bugs(void **state) {
  IR *ir = *state;
  const Nodes s = some_nodes(ir);
  const Node *load = op_over(ir, OP_LOAD, 2, (Ref[]){ s.buffer, s.index });
  const Node *add = op_over(ir, OP_ADD, 2, (Ref[]){ s.index, s.value });
  assert_false(refuses(load, 1, "index"));
  assert_true(refuses(load, 0, "index"));
  assert_true(refuses(load, 2, "gate"));
  assert_true(refuses(load, 0, "buf"));
  assert_true(refuses(load, 0, NULL));
  assert_false(refuses(add, 1, NULL));
  assert_true(refuses(add, 1, "index"));
  assert_true(refuses(add, 0, "data"));
  assert_false(refuses(op_over(ir, OP_LOOP, 1, &s.index), 0, "data"));
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(optional_operands),
    cmocka_unit_test(operands_of_several_ops),
    cmocka_unit_test(lists_of_operands),
    cmocka_unit_test(wrong_names_are_bugs),
  };
  return cmocka_run_group_tests_name("operands", tests, setup, teardown);
}

/* SPDX-License-Identifier: MIT */
/* where kernels find their data in a run of the model, with emulated caches */
#include "../../compiler/tune/batch.h"
#include <setjmp.h>
#include <cmocka.h>
#include <string.h>
#include "fixture.h"

enum { KB = 1024 };

static int buffer(IR *ir, BufKind kind, int64_t kb, int64_t offset_kb) {
  VEC_PUSH(&ir->bufs, ((Buf){ .kind = kind, .dt = DT_F32, .elems = kb * KB / 4, .offset = offset_kb * KB }));
  return (int)ir->bufs.n - 1;
}

/* a kernel with these buffers, of which none is -1 */
static void kernel(Plan *p, int in, int weight, int out) {
  Kernel k = { 0 };
  const int all[] = { in, weight, out };
  for (int i = 0; i < 3; i++)
    if (all[i] >= 0) VEC_PUSH(&k.bufs, all[i]);
  VEC_PUSH(&p->kernels, k);
}

static void plan_free(Plan *p) {
  for (size_t i = 0; i < p->kernels.n; i++) VEC_FREE(&p->kernels.p[i].bufs);
  VEC_FREE(&p->kernels);
}

static const Target caches = { .l1_bytes = 32 * KB, .l2_bytes = 256 * KB, .l3_bytes = 4096 * KB };

static void weights_of_a_small_model_stay_and_those_of_a_large_one_do_not(void **state) {
  static const struct { int64_t weight; MemoryLevel level; } cases[] = {
    { 1, LEVEL_L1 }, { 20, LEVEL_L2 }, { 200, LEVEL_L3 }, { 1300, LEVEL_L3 }, { 1400, LEVEL_MEMORY }, { 20000, LEVEL_MEMORY }
  };
  IR *ir = *state;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    Plan p = { .ir = ir, .memory.arena_bytes = 4 * KB };
    const int x = buffer(ir, BUF_ARENA, 2, 0), y = buffer(ir, BUF_ARENA, 2, 2), z = buffer(ir, BUF_ARENA, 2, 0);
    const int in = buffer(ir, BUF_INPUT, 2, -1);
    int w[3];
    for (int k = 0; k < 3; k++) w[k] = buffer(ir, BUF_WEIGHT, cases[i].weight, 0);
    kernel(&p, in, w[0], x), kernel(&p, x, w[1], y), kernel(&p, y, w[2], z);
    MemoryLevel **level = cache_levels(&p, &caches, NULL);
    for (int k = 0; k < 3; k++) assert_int_equal(level[k][1], cases[i].level);
    plan_free(&p);
  }
}

/* kernel 0 writes a and kernel 3 reads it; kernels 1 and 2 access `between` KB of weights in the meantime */
static void a_value_is_as_far_as_what_runs_in_between(void **state) {
  static const struct { int64_t between; MemoryLevel a, c; } cases[] = { /* c: kernel 2 has written it */
    { 8, LEVEL_L1, LEVEL_L1 }, { 60, LEVEL_L2, LEVEL_L2 }, { 500, LEVEL_L3, LEVEL_L3 }, { 6000, LEVEL_MEMORY, LEVEL_L3 }
  };
  IR *ir = *state;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    Plan p = { .ir = ir, .memory.arena_bytes = 16 * KB };
    const int a = buffer(ir, BUF_ARENA, 4, 0), b = buffer(ir, BUF_ARENA, 4, 4), c = buffer(ir, BUF_ARENA, 4, 8);
    kernel(&p, -1, -1, a);
    kernel(&p, -1, buffer(ir, BUF_WEIGHT, cases[i].between / 2, 0), b);
    kernel(&p, b, buffer(ir, BUF_WEIGHT, cases[i].between / 2, 0), c);
    kernel(&p, a, -1, c);
    MemoryLevel **level = cache_levels(&p, &caches, NULL);
    assert_int_equal(level[3][0], cases[i].a);
    assert_int_equal(level[3][1], cases[i].c);
    plan_free(&p);
  }
}

/* a result has the memory of a value that was accessed shortly before, and another one memory of its own */
static void a_result_lies_where_an_earlier_value_was(void **state) {
  IR *ir = *state;
  Plan p = { .ir = ir, .memory.arena_bytes = 1024 * KB };
  const int a = buffer(ir, BUF_ARENA, 8, 0), b = buffer(ir, BUF_ARENA, 8, 8), over_a = buffer(ir, BUF_ARENA, 8, 0);
  const int own = buffer(ir, BUF_ARENA, 8, 16), big = buffer(ir, BUF_ARENA, 800, 24);
  kernel(&p, -1, -1, a), kernel(&p, a, -1, b), kernel(&p, b, -1, over_a), kernel(&p, over_a, -1, own), kernel(&p, own, -1, big);
  MemoryLevel **level = cache_levels(&p, &caches, NULL);
  assert_int_equal(level[2][1], LEVEL_L1);
  assert_int_equal(level[3][1], LEVEL_L3); /* one run ago, and `big` came in between */
  plan_free(&p);
}

/* the caller has written the input before the first kernel, and nothing else */
static void the_caller_writes_inputs(void **state) {
  IR *ir = *state;
  Plan p = { .ir = ir, .memory.arena_bytes = 8 * KB };
  const int in = buffer(ir, BUF_INPUT, 8, -1), a = buffer(ir, BUF_ARENA, 8, 0), out = buffer(ir, BUF_OUTPUT, 8, -1);
  kernel(&p, in, -1, a), kernel(&p, a, buffer(ir, BUF_WEIGHT, 9000, 0), out);
  MemoryLevel **level = cache_levels(&p, &caches, NULL);
  assert_int_equal(level[0][0], LEVEL_L1);
  assert_int_equal(level[0][1], LEVEL_MEMORY);
  assert_int_equal(level[1][0], LEVEL_L1);
  plan_free(&p);
}

static void a_machine_without_a_third_level_has_memory_there(void **state) {
  IR *ir = *state;
  const Target two = { .l1_bytes = 32 * KB, .l2_bytes = 256 * KB };
  Plan p = { .ir = ir };
  kernel(&p, -1, buffer(ir, BUF_WEIGHT, 300, 0), -1);
  assert_int_equal(cache_levels(&p, &two, NULL)[0][0], LEVEL_MEMORY);
  plan_free(&p);
}

/* Data keep their contents when they are placed, at each level. */
static void placing_keeps_contents(void **state) {
  enum { BYTES = 100001 };
  char *other = xmalloc((size_t)caches_other(&caches));
  char *mem[LEVELS];
  Placed x[LEVELS];
  (void)state;
  memset(other, 0, (size_t)caches_other(&caches));
  for (int l = LEVEL_L1; l < LEVELS; l++) {
    mem[l] = xmalloc(BYTES);
    for (int i = 0; i < BYTES; i++) mem[l][i] = (char)(i * 7 + l);
    x[l - 1] = (Placed){ mem[l], BYTES, (MemoryLevel)l, l % 2 };
  }
  caches_place(&caches, other, x, LEVELS - 1);
  for (int l = LEVEL_L1; l < LEVELS; l++) {
    for (int i = 0; i < BYTES; i++) assert_int_equal(mem[l][i], (char)(i * 7 + l));
    free(mem[l]);
  }
  free(other);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test_setup_teardown(weights_of_a_small_model_stay_and_those_of_a_large_one_do_not, setup, teardown),
    cmocka_unit_test_setup_teardown(a_value_is_as_far_as_what_runs_in_between, setup, teardown),
    cmocka_unit_test_setup_teardown(a_result_lies_where_an_earlier_value_was, setup, teardown),
    cmocka_unit_test_setup_teardown(the_caller_writes_inputs, setup, teardown),
    cmocka_unit_test_setup_teardown(a_machine_without_a_third_level_has_memory_there, setup, teardown),
    cmocka_unit_test(placing_keeps_contents),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

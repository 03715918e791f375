/* SPDX-License-Identifier: MIT */
/* predicted times: what a loop touches, what a cache keeps of it, and which port is the slowest */
#include "../../compiler/cost/program_time.h"
#include <setjmp.h>
#include <cmocka.h>
#include <string.h>

typedef struct World {
  Ctx c;
  IR *ir;
  Refs prog;
  Walks w;
} World;

/* Sums a row of 4096 vectors 8 times, as one variable */
static const char rows[] = "tgc 1 program\n"
                           "b0 = buffer input f32[65536] id=0 slot=0\n"
                           "b1 = buffer output f32[16] id=1 slot=0\n"
                           "r0 = range extent=8 id=0 kind=loop : i64\n"
                           "r1 = range extent=4096 id=1 kind=reduce : i64\n"
                           "v0 = bcast 0.0 : f32x16\n"
                           "loop r0\n"
                           "  v1 = acc v0 id=2 : f32x16\n"
                           "  loop r1\n"
                           "    v2 = get v1 : f32x16\n"
                           "    v3 = mul r1, 16 : i64\n"
                           "    v4 = load b0, v3 : f32x16\n"
                           "    v5 = add v2, v4 : f32x16\n"
                           "    set v1, v5 : f32x16\n"
                           "  end r1\n"
                           "  v6 = get v1 : f32x16\n"
                           "  store b1, 0, v6 : f32\n"
                           "end r0\n";

static void open_world(World *w) {
  memset(w, 0, sizeof *w);
  ctx_init(&w->c);
  w->ir = ir_new(&w->c);
  ir_parse_program(w->ir, rows, sizeof rows - 1, &w->prog);
  walks_read(w->ir, &w->prog, &w->w);
}

static void close_world(World *w) {
  walks_free(&w->w);
  VEC_FREE(&w->prog);
  ir_free(w->ir);
  ctx_free(&w->c);
}

static void a_small_cache_misses_each_turn(void **state) {
  (void)state;
  World w;
  open_world(&w);
  assert_int_equal(w.w.loops.n, 3);
  assert_int_equal(w.w.list.n, 2);
  const Walk *load = &w.w.list.p[0];
  assert_true(walk_bytes(w.ir, &w.w, load, 2, false) == 4 * 65536); /* the inner loop */
  assert_true(walk_bytes(w.ir, &w.w, load, 2, true) == 64);
  assert_true(walk_bytes(w.ir, &w.w, load, 1, false) == 4 * 65536); /* the outer loop reads the same again */
  assert_true(walk_missed(w.ir, &w.w, load, 32768, false) == 8 * 4 * 65536);
  assert_true(walk_missed(w.ir, &w.w, load, 1 << 20, false) == 4 * 65536);
  assert_true(walk_missed(w.ir, &w.w, load, 1 << 20, true) == 0); /* it was there before */
  close_world(&w);
}

static double far_away(void *arg, int buf) { return (void)arg, (void)buf, 1e18; }
static double just_now(void *arg, int buf) { return (void)arg, (void)buf, 0; }
static void nothing(void *arg, int buf, double bytes) { (void)arg, (void)buf, (void)bytes; }

static void the_slowest_part_counts(void **state) {
  (void)state;
  World w;
  Arena a = { 0 };
  const char *why;
  open_world(&w);
  const CpuFacts *zen = cpu_named(&a, "zen5");
  const Target *t = target_find(&a, zen->isa, &why);
  const Residence far = { far_away, nothing, NULL }, near = { just_now, nothing, NULL };
  const ProgramTime cold = program_time(w.ir, &w.prog, t, zen, &far), warm = program_time(w.ir, &w.prog, t, zen, &near);
  const double adds = 8 * 4096, chain = adds * zen->at[FACT_LATENCY];
  assert_true(warm.issue >= chain && warm.issue < 1.01 * chain); /* one variable: each sum waits for the last one */
  assert_true(warm.issue == cold.issue && warm.memory < cold.memory);
  assert_true(cold.total >= cold.memory && cold.total >= cold.issue && cold.total < cold.memory + cold.issue);
  CpuFacts slow = *zen;
  slow.at[FACT_L2_READ] /= 100; /* the row is larger than the first level and smaller than the second */
  assert_true(program_time(w.ir, &w.prog, t, &slow, &near).total > 5 * warm.total);
  arena_free(&a);
  close_world(&w);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(a_small_cache_misses_each_turn),
    cmocka_unit_test(the_slowest_part_counts),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

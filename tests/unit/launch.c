/* SPDX-License-Identifier: MIT */
/* the geometry of device programs, their parts, and the facts of a device that stand against them */
#include "../../compiler/target/launch.h"
#include "fixture.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#define HEAD                                   \
  "tgc 1 program\n"                            \
  "b0 = buffer output f32[4096] id=0 slot=0\n" \
  "b1 = buffer shared f32[3] id=1 slot=0\n"    \
  "b2 = buffer shared f16[20] id=2 slot=0\n"   \
  "g = range extent=5 id=0 kind=grid\n"        \
  "h = range extent=3 id=1 kind=grid\n"        \
  "t = range extent=4 id=2 kind=local\n"       \
  "u = range extent=8 id=3 kind=group\n"       \
  "q = range extent=32 id=4 kind=local\n"      \
  "a = range extent=2 id=5 kind=grid\n"        \
  "b = range extent=2 id=6 kind=grid\n"

static Launch launch(IR *ir, const char *text) {
  Refs list = { 0 };
  ir_parse_program(ir, text, strlen(text), &list);
  ir_verify_program(ir, list.p, list.n);
  return launch_of(ir, list);
}

static void expect(const Launch *l, int64_t gx, int64_t gy, int64_t gz, int64_t bx, int64_t by, int64_t bz) {
  const int64_t is[6] = { l->grid[0], l->grid[1], l->grid[2], l->block[0], l->block[1], l->block[2] };
  const int64_t want[6] = { gx, gy, gz, bx, by, bz };
  for (int i = 0; i < 6; i++) assert_int_equal(is[i], want[i]);
}

static void places(void **state) {
  IR *ir = *state;
  Launch l = launch(ir, HEAD "loop g\nloop h\nloop t\nloop u\nend u\nend t\nend h\nend g\n");
  LaunchPart p;
  int64_t at[MAX_RANGES];
  expect(&l, 3, 5, 1, 8, 4, 1);
  assert_true(launch_part(ir, l.prog.p, l.prog.n, 0, &p));
  assert_int_equal(p.nblocks, 2);
  assert_int_equal(p.nthreads, 2);
  launch_place(ir, &p, 7, 19, at); /* 7 = 2 * 3 + 1, 19 = 2 * 8 + 3 */
  assert_int_equal(at[0], 2);
  assert_int_equal(at[1], 1);
  assert_int_equal(at[2], 2);
  assert_int_equal(at[3], 3);
  assert_false(launch_part(ir, l.prog.p, l.prog.n, p.last + 1, &p));
  VEC_FREE(&l.prog);
}

static void parts_are_one_grid(void **state) {
  IR *ir = *state;
  Launch l = launch(ir, HEAD "loop g\nloop h\nloop t\nloop u\nend u\nend t\nend h\nend g\nloop a\nloop q\nend q\nend a\n");
  LaunchPart p;
  expect(&l, 17, 1, 1, 32, 1, 1);
  assert_true(launch_part(ir, l.prog.p, l.prog.n, 0, &p));
  assert_true(launch_part(ir, l.prog.p, l.prog.n, p.last + 1, &p));
  assert_int_equal(p.blocks, 2);
  assert_int_equal(p.threads, 32);
  VEC_FREE(&l.prog);
}

static void more_than_three_loops(void **state) {
  IR *ir = *state;
  Launch l = launch(ir, HEAD "loop g\nloop h\nloop a\nloop b\nloop q\nend q\nend b\nend a\nend h\nend g\n");
  expect(&l, 60, 1, 1, 32, 1, 1);
  VEC_FREE(&l.prog);
}

static void refuses(IR *ir, Device d, const Launch *l, const char *want) {
  Sb why = { 0 };
  assert_int_equal(device_takes(&d, ir, l, &why), !want);
  assert_int_equal(device_takes(&d, ir, l, NULL), !want);
  if (want) assert_string_equal(why.p, want);
  sb_free(&why);
}

static void facts_stand_against_it(void **state) {
  IR *ir = *state;
  Launch l = launch(ir, HEAD "loop g\nloop q\nv = mul g, 32\nw = add v, q\nx = cmplt q, 3\nstore b1, q, 1.0, x\ny = cmplt q, 20\n"
                             "store b2, q, 1.0, y\nstore b0, w, 1.0\nend q\nend g\n");
  const Device *any = device_target("gpu-any")->dev;
  Device d = *any;
  assert_int_equal(l.shared_bytes, 16 + 48); /* each begins at a multiple of 16 */
  refuses(ir, d, &l, NULL);
  d.max_threads = 31;
  refuses(ir, d, &l, "a block has 32 threads, but the device permits 31");
  d = *any;
  d.max_grid[0] = 4;
  refuses(ir, d, &l, "5 blocks along x, but the device permits 4");
  d = *any;
  d.shared_bytes = 63;
  refuses(ir, d, &l, "a block needs 64 bytes of shared memory, but the device has 63");
  d = *any;
  d.max_args = 0;
  refuses(ir, d, &l, "buffers: 1, but the device permits 0");
  VEC_FREE(&l.prog);
  assert_null(device_target("gpu"));
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test_setup_teardown(places, setup, teardown),
    cmocka_unit_test_setup_teardown(parts_are_one_grid, setup, teardown),
    cmocka_unit_test_setup_teardown(more_than_three_loops, setup, teardown),
    cmocka_unit_test_setup_teardown(facts_stand_against_it, setup, teardown),
  };
  return cmocka_run_group_tests_name("launch", tests, NULL, NULL);
}

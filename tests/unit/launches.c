/* SPDX-License-Identifier: MIT */
/* the step `launches`: nests as parts of launches, tails, what must wait for what, reductions and serial loops in threads */
#include "device_fixture.h"

#define HEAD                                              \
  "tgc 1 kernel\n"                                        \
  "b0 = buffer input f32[300] id=0 slot=0\n"              \
  "b1 = buffer arena f32[300] id=1 slot=-1 offset=0\n"    \
  "b2 = buffer output f32[300] id=2 slot=0\n"             \
  "i = range extent=300 id=0 kind=loop\n"                 \
  "j = range extent=300 id=1 kind=loop\n"                 \
  "n = range extent=3 id=2 kind=loop\n"                   \
  "s = range extent=100 id=3 kind=serial\n"               \
  "k = range extent=300 id=4 kind=reduce\n"               \
  "z = range extent=0 id=5 kind=loop\n"

static Kernel made(IR *ir, const char *text) {
  Plan p = device_plan(ir);
  return device_kernel(&p, text);
}

static void fill(float *x) {
  for (int i = 0; i < 300; i++) x[i] = (float)(i % 37);
}

#define TWICE "v = load b0, i\nw = mul v, 2.0\na = store b1, i, w\nn0 = nest a, i\n"

static void waits_for_what_it_loads(void **state) {
  IR *ir = *state;
  float x[300], mid[300] = { 0 }, y[300] = { 0 };
  void *mem[] = { x, mid, y };
  LaunchReport r = { 0 };
  Kernel k = made(ir, HEAD TWICE
                  "m = mul j, -1\nf = add m, 299\nu = load b1, f\nc = store b2, j, u\nn1 = nest c, j\nk0 = sink n0, n1\n");
  fill(x);
  device_run(ir, &k.prog, 2, mem, &r);
  assert_int_equal(launch_faults(&r), 0);
  for (int i = 0; i < 300; i++) assert_true(y[i] == 2 * x[299 - i]);
  size_t at = 0; /* as one launch, its blocks race */
  for (int depth = 0; node(ir, k.prog.p[at])->op != OP_BARRIER || depth; at++) {
    const Op op = (Op)node(ir, k.prog.p[at])->op;
    depth += (op == OP_LOOP) - (op == OP_END);
  }
  memmove(k.prog.p + at, k.prog.p + at + 1, (--k.prog.n - at) * sizeof *k.prog.p);
  device_run(ir, &k.prog, 1, mem, &r);
  assert_true(r.fault[FAULT_BLOCKS] > 0);
  launch_report_free(&r);
  device_kernel_free(&k);
}

static void independent_nests_are_one_grid(void **state) {
  IR *ir = *state;
  float x[300], mid[300] = { 0 }, y[300] = { 0 };
  void *mem[] = { x, mid, y };
  LaunchReport r = { 0 };
  Launches l = { 0 };
  Kernel k = made(ir, HEAD TWICE "u = load b0, j\ng = neg u\nc = store b2, j, g\nn1 = nest c, j\nk0 = sink n0, n1\n");
  fill(x);
  device_run(ir, &k.prog, 1, mem, &r);
  assert_int_equal(launch_faults(&r), 0);
  for (int i = 0; i < 300; i++) assert_true(mid[i] == 2 * x[i] && y[i] == -x[i]);
  launches_of(ir, k.prog.p, k.prog.n, &l);
  assert_int_equal(l.p[0].grid[0], 4); /* two blocks each */
  assert_int_equal(l.p[0].block[0], 256);
  launches_free(&l);
  launch_report_free(&r);
  device_kernel_free(&k);
}

/* Columns of one buffer: what one nest loads the other does not store. */
static void columns_do_not_meet(void **state) {
  IR *ir = *state;
  float x[300], mid[300], y[300] = { 0 };
  void *mem[] = { x, mid, y };
  LaunchReport r = { 0 };
  Kernel k = made(ir, HEAD
                  "a = range extent=10 id=6 kind=loop\nb = range extent=10 id=7 kind=loop\nrow = mul a, 30\nat = add row, b\n"
                  "from = add at, 20\nv = load b1, from\ns0 = store b1, at, v\nn0 = nest s0, a, b\n"
                  "mid = add at, 10\ns1 = store b1, mid, 0.0\nn1 = nest s1, a, b\nk0 = sink n0, n1\n");
  fill(x);
  fill(mid);
  device_run(ir, &k.prog, 1, mem, &r);
  if (r.text.n) fail_msg("%s", r.text.p);
  for (int i = 0; i < 300; i++) assert_true(mid[i] == (i % 30 < 10 ? x[i + 20] : i % 30 < 20 ? 0 : x[i]));
  launch_report_free(&r);
  device_kernel_free(&k);
}

static void loops_of_a_thread(void **state) {
  IR *ir = *state;
  float x[300], mid[300] = { 0 }, y[300] = { 0 };
  void *mem[] = { x, mid, y };
  LaunchReport r = { 0 };
  /* running maxima of rows of 100, each by one thread; then the sum of all, which no range varies with, in all elements */
  Kernel k = made(ir, HEAD "row = mul n, 100\nat = add row, s\nv = load b0, at\nfirst = cmplt 0, s\nb = sub at, 1\n"
                           "was = load b1, b, first, -1.0\nw = max v, was\na = store b1, at, w\nn0 = nest a, n, s\n"
                           "t = load b0, k\nsum = red t, k op=add\nc = store b2, j, sum\nn1 = nest c, j\nk0 = sink n0, n1\n");
  float most = 0, sum = 0;
  fill(x);
  device_run(ir, &k.prog, 1, mem, &r);
  if (r.text.n) fail_msg("%s", r.text.p);
  for (int i = 0; i < 300; i++) sum += x[i];
  for (int i = 0; i < 300; i++) {
    most = i % 100 && most > x[i] ? most : x[i];
    assert_true(mid[i] == most && y[i] == sum);
  }
  launch_report_free(&r);
  device_kernel_free(&k);
}

static void no_elements(void **state) {
  IR *ir = *state;
  float x[300], mid[300] = { 0 }, y[300] = { 0 };
  void *mem[] = { x, mid, y };
  LaunchReport r = { 0 };
  Kernel k = made(ir, HEAD "v = load b0, z\na = store b1, z, v\nn0 = nest a, z\nk0 = sink n0\n");
  fill(x);
  device_run(ir, &k.prog, 1, mem, &r);
  for (int i = 0; i < 300; i++) assert_true(mid[i] == 0);
  assert_int_equal(launch_faults(&r), 0);
  launch_report_free(&r);
  device_kernel_free(&k);
}

/* A sum by groups of 8 threads and elements by blocks of 32, in one launch: each block of the sum has 32 threads, too. */
static void parts_have_the_same_threads(void **state) {
  IR *ir = *state;
  float x[300], mid[300] = { 0 }, y[300] = { 0 };
  void *mem[302] = { x, mid, y };
  LaunchReport r = { 0 };
  Launches l = { 0 };
  Kernel k = made(
      ir,
      HEAD "g = range extent=30 id=6 kind=grid\nt = range extent=8 id=7 kind=group\nh = range extent=5 id=8 kind=grid\n"
           "e = range extent=32 id=9 kind=local\n"
           "row = mul g, 8\nat = add row, t\nv = load b0, at\nsum = red v, t op=add\na = store b1, g, sum\nn0 = nest a, g\n"
           "b = mul h, 32\nf = add b, e\nu = load b0, f\nw = neg u\nc = store b2, f, w\nn1 = nest c, h, e\nk0 = sink n0, n1\n");
  fill(x);
  device_run(ir, &k.prog, 1, mem, &r);
  if (r.text.n) fail_msg("%s", r.text.p);
  launches_of(ir, k.prog.p, k.prog.n, &l);
  assert_int_equal(launch_threads(&l.p[0]), 32);
  assert_int_equal(launch_blocks(&l.p[0]), 35);
  for (int i = 0; i < 30; i++) {
    float sum = 0;
    for (int j = 0; j < 8; j++) sum += x[8 * i + j];
    assert_true(mid[i] == sum);
  }
  for (int i = 0; i < 160; i++) assert_true(y[i] == -x[i]);
  launches_free(&l);
  launch_report_free(&r);
  device_kernel_free(&k);
}

/* Elements by blocks of 8 beside a sum by groups of 32: four of the blocks are one, and the last one has threads with no
 * element. */
static void small_blocks_are_joined(void **state) {
  IR *ir = *state;
  float x[300], mid[300] = { 0 }, y[300] = { 0 };
  void *mem[302] = { x, mid, y };
  LaunchReport r = { 0 };
  Launches l = { 0 };
  Kernel k = made(
      ir,
      HEAD "g = range extent=3 id=6 kind=grid\nt = range extent=32 id=7 kind=group\nh = range extent=37 id=8 kind=grid\n"
           "e = range extent=8 id=9 kind=local\n"
           "row = mul g, 32\nat = add row, t\nv = load b0, at\nsum = red v, t op=add\na = store b1, g, sum\nn0 = nest a, g\n"
           "b = mul h, 8\nf = add b, e\nu = load b0, f\nw = neg u\nc = store b2, f, w\nn1 = nest c, h, e\nk0 = sink n0, n1\n");
  fill(x);
  device_run(ir, &k.prog, 1, mem, &r);
  if (r.text.n) fail_msg("%s", r.text.p);
  launches_of(ir, k.prog.p, k.prog.n, &l);
  assert_int_equal(launch_threads(&l.p[0]), 32);
  assert_int_equal(launch_blocks(&l.p[0]), 3 + 10);
  for (int i = 0; i < 300; i++) assert_true(y[i] == (i < 296 ? -x[i] : 0));
  launches_free(&l);
  launch_report_free(&r);
  device_kernel_free(&k);
}

/* More blocks than a dimension has are rows of blocks, and a nest with so many is a launch of its own. */
static void many_blocks_are_rows(void **state) {
  IR *ir = *state;
  Launches l = { 0 };
  Kernel k = made(ir,
                  "tgc 1 kernel\nb0 = buffer input f32[33554433] id=0 slot=0\nb1 = buffer output f32[33554433] id=1 slot=0\n"
                  "b2 = buffer output f32[1] id=2 slot=1\ni = range extent=33554433 id=0 kind=loop\nv = load b0, i\nw = neg v\n"
                  "a = store b1, i, w\nn0 = nest a, i\nu = load b0, 0\nc = store b2, 0, u\nn1 = nest c\nk0 = sink n0, n1\n");
  launches_of(ir, k.prog.p, k.prog.n, &l);
  assert_int_equal(l.n, 2);
  assert_int_equal(l.p[0].grid[1], 3);
  assert_true(launch_blocks(&l.p[0]) >= 131073);
  for (size_t i = 0; i < l.n; i++) assert_true(device_takes(device_target("gpu-any")->dev, ir, &l.p[i], NULL));
  launches_free(&l);
  device_kernel_free(&k);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test_setup_teardown(waits_for_what_it_loads, setup, teardown),
    cmocka_unit_test_setup_teardown(independent_nests_are_one_grid, setup, teardown),
    cmocka_unit_test_setup_teardown(columns_do_not_meet, setup, teardown),
    cmocka_unit_test_setup_teardown(loops_of_a_thread, setup, teardown),
    cmocka_unit_test_setup_teardown(no_elements, setup, teardown),
    cmocka_unit_test_setup_teardown(parts_have_the_same_threads, setup, teardown),
    cmocka_unit_test_setup_teardown(small_blocks_are_joined, setup, teardown),
    cmocka_unit_test_setup_teardown(many_blocks_are_rows, setup, teardown),
  };
  return cmocka_run_group_tests_name("launches", tests, NULL, NULL);
}

/* SPDX-License-Identifier: MIT */
/* interp_program.c (unit test): the program interpreter on programs built by hand. */
#include "../../compiler/interp/interp.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

typedef struct World {
  Ctx ctx;
  IR *ir;
  Refs prog;
} World;

static int setup(void **state) {
  World *w = xmalloc(sizeof *w);
  memset(w, 0, sizeof *w);
  ctx_init(&w->ctx);
  w->ir = ir_new(&w->ctx);
  *state = w;
  return 0;
}

static int teardown(void **state) {
  World *w = *state;
  VEC_FREE(&w->prog);
  ir_free(w->ir);
  ctx_free(&w->ctx);
  free(w);
  return 0;
}

static Ref put(World *w, Op op, DType d, int lanes, int n, const Ref *src, int narg, const int64_t *arg) {
  Ref r = node_make(w->ir, op, d, lanes, n, src, narg, arg, 0, NULL);
  VEC_PUSH(&w->prog, r);
  return r;
}
#define PUT(op, d, lanes, ...) \
  put(w, op, d, lanes, (int)(sizeof((Ref[]){ __VA_ARGS__ }) / sizeof(Ref)), (Ref[]){ __VA_ARGS__ }, 0, NULL)

static Ref buffer(World *w, DType d, int64_t elems) {
  int64_t id = (int64_t)w->ir->bufs.n;
  VEC_PUSH(&w->ir->bufs, ((Buf){ .kind = BUF_ARENA, .dt = d, .elems = elems }));
  return node_make(w->ir, OP_BUFFER, d, 1, 0, NULL, 1, &id, 0, NULL);
}

static Ref range(World *w, int64_t extent) {
  int64_t arg[3] = { extent, w->ir->next_range++, RK_LOOP };
  return node_make(w->ir, OP_RANGE, DT_I64, 1, 0, NULL, 3, arg, 0, NULL);
}

static Ref integer(World *w, int64_t v) { return c_bits(w->ir, DT_I64, v); }

static void execute(World *w, void *const *mem) {
  ir_verify_program(w->ir, w->prog.p, w->prog.n);
  interp_program(w->ir, w->prog.p, w->prog.n, mem);
}

static void a_dot_product_in_lanes(void **state) {
  World *w = *state;
  float x[40], y[40], sum = 0, want = 0;
  for (int i = 0; i < 40; i++) x[i] = (float)i, y[i] = (float)(i % 7), want += x[i] * y[i];
  Ref bx = buffer(w, DT_F32, 40), by = buffer(w, DT_F32, 40), out = buffer(w, DT_F32, 1), r = range(w, 5);
  Ref zero = c_float(w->ir, DT_F32, 0), zeros = PUT(OP_BCAST, DT_F32, 8, zero),
      acc = put(w, OP_ACC, DT_F32, 8, 1, &zeros, 1, (int64_t[]){ 0 });
  PUT(OP_LOOP, DT_NONE, 1, r);
  Ref at = PUT(OP_MUL, DT_I64, 1, r, integer(w, 8));
  Ref a = PUT(OP_LOAD, DT_F32, 8, bx, at), b = PUT(OP_LOAD, DT_F32, 8, by, at), now = PUT(OP_GET, DT_F32, 8, acc);
  PUT(OP_SET, DT_F32, 8, acc, PUT(OP_MULACC, DT_F32, 8, a, b, now));
  PUT(OP_END, DT_NONE, 1, r);
  Ref total = PUT(OP_GET, DT_F32, 8, acc);
  total = put(w, OP_HRED, DT_F32, 1, 1, &total, 1, (int64_t[]){ OP_ADD });
  PUT(OP_STORE, DT_NONE, 1, out, integer(w, 0), total);
  execute(w, (void *[]){ x, y, &sum });
  assert_true(sum == want);
}

static void groups_of_products(void **state) {
  World *w = *state;
  uint8_t x[8] = { 255, 255, 255, 255, 1, 2, 3, 4 };
  int8_t y[8] = { -128, -128, -128, -128, 127, -1, 0, 5 };
  int32_t out[4] = { 0 }, first[2] = { INT32_MIN, 100 };
  Ref bx = buffer(w, DT_U8, 8), by = buffer(w, DT_I8, 8), bf = buffer(w, DT_I32, 2), bo = buffer(w, DT_I32, 4),
      zero = integer(w, 0);
  Ref all = PUT(OP_LOAD, DT_U8, 8, bx, zero), one = PUT(OP_LOAD, DT_U8, 4, bx, integer(w, 4)),
      b = PUT(OP_LOAD, DT_I8, 8, by, zero);
  Ref sum = PUT(OP_LOAD, DT_I32, 2, bf, zero);
  PUT(OP_STORE, DT_NONE, 1, bo, zero, PUT(OP_DOT, DT_I32, 2, sum, all, b));
  PUT(OP_STORE, DT_NONE, 1, bo, integer(w, 2), PUT(OP_DOT, DT_I32, 2, sum, one, b)); /* one group for both lanes */
  execute(w, (void *[]){ x, y, first, out });
  assert_int_equal(out[0], INT32_MAX - 4 * 255 * 128 + 1); /* wraps */
  assert_int_equal(out[1], 100 + 127 - 2 + 20);
  assert_int_equal(out[2], INT32_MAX - 10 * 128 + 1);
  assert_int_equal(out[3], 100 + 127 - 2 + 20);
}

static void products_of_tiles(void **state) { /* 3 rows by 2 columns, a depth of 2 groups of 4, every other row of x */
  World *w = *state;
  uint8_t x[6][8];
  int8_t y[2][2][4]; /* group, column, element of the group */
  int32_t out[6] = { 0 };
  for (int i = 0; i < 48; i++) x[i / 8][i % 8] = (uint8_t)(i * 37);
  for (int i = 0; i < 16; i++) y[i / 8][i / 4 % 2][i % 4] = (int8_t)(i * 53);
  Ref bx = buffer(w, DT_U8, 48), by = buffer(w, DT_I8, 16), bo = buffer(w, DT_I32, 6), zero = integer(w, 0);
  Ref sum = PUT(OP_BCAST, DT_I32, 6, c_int(w->ir, DT_I32, 5));
  put(w, OP_TILES, DT_NONE, 1, 0, NULL, 1, (int64_t[]){ 0 });
  Ref a = put(w, OP_TILE, DT_U8, 24, 2, (Ref[]){ bx, zero }, 2, (int64_t[]){ 3, 16 });
  Ref b = put(w, OP_TILE, DT_I8, 16, 2, (Ref[]){ by, zero }, 2, (int64_t[]){ 2, 8 });
  Ref all = PUT(OP_SPILL, DT_I32, 6, put(w, OP_MMA, DT_I32, 6, 3, (Ref[]){ sum, a, b }, 2, (int64_t[]){ 3, 2 }));
  for (int i = 0; i < 3; i++) PUT(OP_STORE, DT_NONE, 1, bo, integer(w, 2 * i), PUT(OP_PART, DT_I32, 2, all, integer(w, 2 * i)));
  execute(w, (void *[]){ x, y, out });
  for (int i = 0; i < 6; i++) {
    int want = 5;
    for (int k = 0; k < 8; k++) want += x[i / 2 * 2][k] * y[k / 4][i % 2][k % 4];
    assert_int_equal(out[i], want);
  }
}

static void gates_keep_accesses_inside(void **state) { /* y[i] = x[i - 2], or 7 outside, for even i */
  World *w = *state;
  int32_t x[4] = { 1, 2, 3, 4 }, y[8];
  memset(y, 0x55, sizeof y);
  Ref bx = buffer(w, DT_I32, 4), by = buffer(w, DT_I32, 8), r = range(w, 8), seven = c_int(w->ir, DT_I32, 7);
  PUT(OP_LOOP, DT_NONE, 1, r);
  Ref at = PUT(OP_SUB, DT_I64, 1, r, integer(w, 2)), lo = PUT(OP_CMPLE, DT_BOOL, 1, integer(w, 0), at);
  Ref in = PUT(OP_AND, DT_BOOL, 1, lo, PUT(OP_CMPLT, DT_BOOL, 1, at, integer(w, 4)));
  Ref v = PUT(OP_LOAD, DT_I32, 1, bx, at, in, seven), odd = PUT(OP_FLMOD, DT_I64, 1, r, integer(w, 2));
  PUT(OP_STORE, DT_NONE, 1, by, r, v, PUT(OP_CMPEQ, DT_BOOL, 1, odd, integer(w, 0)));
  PUT(OP_END, DT_NONE, 1, r);
  execute(w, (void *[]){ x, y });
  int32_t want[8] = { 7, 0x55555555, 1, 0x55555555, 3, 0x55555555, 7, 0x55555555 };
  assert_memory_equal(y, want, sizeof y);
}

static void lanes_gather_and_scatter(void **state) { /* y[2 * l] = x[3 - l] for the lanes l whose gate is set */
  World *w = *state;
  uint8_t x[4] = { 10, 20, 30, 40 }, y[8] = { 0 }, z = 0;
  Ref bx = buffer(w, DT_U8, 4), by = buffer(w, DT_U8, 8), bz = buffer(w, DT_U8, 1), i[4], g[4], o[4];
  for (int l = 0; l < 4; l++) {
    i[l] = integer(w, 3 - l);
    o[l] = l == 3 ? integer(w, 1000) : integer(w, 2 * l); /* lane 3 is gated off */
    g[l] = c_bits(w->ir, DT_BOOL, l < 3);
  }
  Ref index = put(w, OP_VEC, DT_I64, 4, 4, i, 0, NULL), to = put(w, OP_VEC, DT_I64, 4, 4, o, 0, NULL),
      gate = put(w, OP_VEC, DT_BOOL, 4, 4, g, 0, NULL);
  Ref v = PUT(OP_LOAD, DT_U8, 4, bx, index);
  PUT(OP_STORE, DT_NONE, 1, by, to, v, gate);
  PUT(OP_STORE, DT_NONE, 1, bz, integer(w, 0), put(w, OP_LANE, DT_U8, 1, 1, &v, 1, (int64_t[]){ 3 }));
  execute(w, (void *[]){ x, y, &z });
  assert_memory_equal(y, ((uint8_t[]){ 40, 0, 30, 0, 20, 0, 0, 0 }), 8);
  assert_int_equal(z, 10);
}

static void lanes_of_two_are_picked(void **state) {
  World *w = *state;
  int32_t x[4] = { 1, 2, 3, 4 }, y[6] = { 0 };
  Ref bx = buffer(w, DT_I32, 4), by = buffer(w, DT_I32, 6), a = PUT(OP_LOAD, DT_I32, 2, bx, integer(w, 0)),
      b = PUT(OP_LOAD, DT_I32, 2, bx, integer(w, 2));
  PUT(OP_STORE, DT_NONE, 1, by, integer(w, 0),
      put(w, OP_SHUFFLE, DT_I32, 6, 2, (Ref[]){ a, b }, 6, (int64_t[]){ 3, 0, 0, 2, 1, 3 }));
  execute(w, (void *[]){ x, y });
  assert_memory_equal(y, ((int32_t[]){ 4, 1, 1, 3, 2, 4 }), sizeof y);
}

static void lanes_are_looked_up(void **state) { /* by their number modulo the lanes of the table */
  World *w = *state;
  int32_t x[4] = { 5, 6, 7, 8 }, y[2] = { 0 };
  uint32_t at[2] = { 3, 0xfffffffd };
  Ref bx = buffer(w, DT_I32, 4), bi = buffer(w, DT_U32, 2), by = buffer(w, DT_I32, 2);
  Ref table = PUT(OP_LOAD, DT_I32, 4, bx, integer(w, 0)), index = PUT(OP_LOAD, DT_U32, 2, bi, integer(w, 0));
  PUT(OP_STORE, DT_NONE, 1, by, integer(w, 0), PUT(OP_LOOKUP, DT_I32, 2, table, index));
  execute(w, (void *[]){ x, at, y });
  assert_memory_equal(y, ((int32_t[]){ 8, 6 }), sizeof y);
}

static void across_lanes_the_tree_is_fixed(void **state) { /* halves first: (x0 + x2) + (x1 + x3) */
  World *w = *state;
  float x[4] = { 1e8f, 1, -1e8f, 3 }, sum = 0;
  Ref bx = buffer(w, DT_F32, 4), out = buffer(w, DT_F32, 1), v = PUT(OP_LOAD, DT_F32, 4, bx, integer(w, 0));
  PUT(OP_STORE, DT_NONE, 1, out, integer(w, 0), put(w, OP_HRED, DT_F32, 1, 1, &v, 1, (int64_t[]){ OP_ADD }));
  execute(w, (void *[]){ x, &sum });
  assert_true(sum == 4);
}

static void inner_loops_start_anew(void **state) { /* y[i] = sum of x[i][0..3); a loop of no turns does nothing */
  World *w = *state;
  int64_t x[6] = { 1, 2, 3, 40, 50, 60 }, y[2] = { 0 };
  Ref bx = buffer(w, DT_I64, 6), by = buffer(w, DT_I64, 2), i = range(w, 2), j = range(w, 3), never = range(w, 0),
      zero = integer(w, 0);
  PUT(OP_LOOP, DT_NONE, 1, i);
  Ref acc = put(w, OP_ACC, DT_I64, 1, 1, &zero, 1, (int64_t[]){ 0 });
  PUT(OP_LOOP, DT_NONE, 1, j);
  Ref at = PUT(OP_ADD, DT_I64, 1, PUT(OP_MUL, DT_I64, 1, i, integer(w, 3)), j), v = PUT(OP_LOAD, DT_I64, 1, bx, at);
  PUT(OP_SET, DT_I64, 1, acc, PUT(OP_ADD, DT_I64, 1, PUT(OP_GET, DT_I64, 1, acc), v));
  PUT(OP_END, DT_NONE, 1, j);
  PUT(OP_LOOP, DT_NONE, 1, never);
  PUT(OP_SET, DT_I64, 1, acc, zero);
  PUT(OP_END, DT_NONE, 1, never);
  PUT(OP_STORE, DT_NONE, 1, by, i, PUT(OP_GET, DT_I64, 1, acc));
  PUT(OP_END, DT_NONE, 1, i);
  execute(w, (void *[]){ x, y });
  assert_int_equal(y[0], 6);
  assert_int_equal(y[1], 150);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test_setup_teardown(a_dot_product_in_lanes, setup, teardown),
    cmocka_unit_test_setup_teardown(groups_of_products, setup, teardown),
    cmocka_unit_test_setup_teardown(products_of_tiles, setup, teardown),
    cmocka_unit_test_setup_teardown(gates_keep_accesses_inside, setup, teardown),
    cmocka_unit_test_setup_teardown(lanes_gather_and_scatter, setup, teardown),
    cmocka_unit_test_setup_teardown(lanes_of_two_are_picked, setup, teardown),
    cmocka_unit_test_setup_teardown(lanes_are_looked_up, setup, teardown),
    cmocka_unit_test_setup_teardown(across_lanes_the_tree_is_fixed, setup, teardown),
    cmocka_unit_test_setup_teardown(inner_loops_start_anew, setup, teardown),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

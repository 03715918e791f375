/* SPDX-License-Identifier: MIT */
/* matrix units of devices: what their rows say of who holds which element, what WMMA means, and the rules of such programs */
#include "../../compiler/interp/interp_threads.h"
#include "../../compiler/target/matrix_units.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

/* ---- rows ---- */
static void check_order(const MatrixUnit *u, Matrix x) {
  const char *of = matrix_dimensions(x);
  const int rows = unit_extent(u, of[0]), columns = unit_extent(u, of[1]), n = unit_elements(u, x);
  int *held = calloc((size_t)(rows * columns), sizeof *held);
  assert_int_equal(n * u->threads, rows * columns);
  for (int t = 0; t < u->threads; t++)
    for (int e = 0; e < n; e++) {
      const int i = unit_place(u, x, of[0], t, e), k = unit_place(u, x, of[1], t, e);
      assert_in_range(i, 0, rows - 1);
      assert_in_range(k, 0, columns - 1);
      held[i * columns + k]++;
    }
  for (int i = 0; i < rows * columns; i++) assert_int_equal(held[i], 1); /* by exactly one thread */
  free(held);
}

static void each_element_is_held_once(void **state) {
  (void)state;
  int orders = 0;
  for (const MatrixUnit *u = matrix_unit_table; u->name; u++)
    for (Matrix x = 0; x < MATRICES; x++) {
      if (!u->order[x].threads) continue;
      check_order(u, x);
      orders++;
    }
  assert_true(orders > 4);
}

/* Indices of programs say the same as places. */
static void indices_are_places(void **state) {
  (void)state;
  Ctx c;
  ctx_init(&c);
  IR *ir = ir_new(&c);
  for (const MatrixUnit *u = matrix_unit_table; u->name; u++)
    for (Matrix x = 0; x < MATRICES; x++)
      for (int d = 0; d < 2 && u->order[x].threads; d++) {
        const char dimension = matrix_dimensions(x)[d];
        const Ref thread = range_new(ir, u->threads, RK_LOCAL), element = range_new(ir, unit_elements(u, x), RK_UNROLL);
        const Ref index = unit_index(ir, u, x, dimension, thread, element);
        for (int t = 0; t < u->threads; t++)
          for (int e = 0; e < unit_elements(u, x); e++) {
            int64_t at;
            const Ref values[2] = { ix_const(ir, t), ix_const(ir, e) };
            assert_true(node_is_const(ir, ix_subst(ir, index, 2, (Ref[]){ thread, element }, values), &at));
            assert_int_equal(at, unit_place(u, x, dimension, t, e));
          }
      }
  ir_free(ir);
  ctx_free(&c);
}

/* The order of PTX ISA 8.5, 9.7.14.5.8, in its own words: groups of four threads, and pairs of elements along k */
static void order_of_ptx(void **state) {
  (void)state;
  const MatrixUnit *u = matrix_unit_named("mma_16816f16", strlen("mma_16816f16"));
  for (int t = 0; t < 32; t++) {
    const int group = t >> 2, in_group = t % 4;
    for (int i = 0; i < 8; i++) {
      assert_int_equal(unit_place(u, MATRIX_A, 'm', t, i), i % 4 < 2 ? group : group + 8);
      assert_int_equal(unit_place(u, MATRIX_A, 'k', t, i), in_group * 2 + i % 2 + (i >= 4 ? 8 : 0));
    }
    for (int i = 0; i < 4; i++) {
      assert_int_equal(unit_place(u, MATRIX_B, 'k', t, i), in_group * 2 + i % 2 + (i >= 2 ? 8 : 0));
      assert_int_equal(unit_place(u, MATRIX_B, 'n', t, i), group);
      assert_int_equal(unit_place(u, MATRIX_C, 'm', t, i), i < 2 ? group : group + 8);
      assert_int_equal(unit_place(u, MATRIX_C, 'n', t, i), in_group * 2 + i % 2);
    }
  }
}

/* ---- what they compute ---- */
enum { MOST = 16 * 16 };
typedef struct Numbers { int64_t of[MATRICES][MOST]; } Numbers; /* whole matrices, row by row */

static void fill(const MatrixUnit *u, Numbers *x, unsigned seed) {
  for (Matrix i = 0; i < MATRICES; i++)
    for (int k = 0; k < MOST; k++) {
      seed = seed * 1103515245 + 12345;
      x->of[i][k] = double_to_bits(unit_type(u, i), (double)(int)(seed >> 16 & 31) - 16);
    }
}

static double expected(const MatrixUnit *u, const Numbers *x, int i, int j) {
  double sum = bits_to_double(u->c, x->of[MATRIX_C][i * u->n + j]);
  for (int k = 0; k < u->k; k++)
    sum += bits_to_double(u->a, x->of[MATRIX_A][i * u->k + k]) * bits_to_double(u->b, x->of[MATRIX_B][k * u->n + j]);
  return sum;
}

typedef struct World { Ctx ctx; IR *ir; Refs prog; void *mem[MATRICES + 1]; Ref thread; } World;

static Ref put(World *w, Op op, DType d, int lanes, int n, const Ref *src, int narg, const int64_t *arg) {
  const Ref r = node_make(w->ir, op, d, lanes, n, src, narg, arg, 0, NULL);
  VEC_PUSH(&w->prog, r);
  return r;
}

static Ref put_index(World *w, Ref r) { /* with all that it is made of */
  Refs all = { 0 };
  ir_toposort(w->ir, &r, 1, &all);
  for (size_t i = 0; i < all.n; i++) {
    const Op op = (Op)node(w->ir, all.p[i])->op;
    bool there = op == OP_CONST || op == OP_RANGE;
    for (size_t k = 0; k < w->prog.n; k++) there |= w->prog.p[k] == all.p[i];
    if (!there) VEC_PUSH(&w->prog, all.p[i]);
  }
  VEC_FREE(&all);
  return r;
}

static Ref buffer(World *w, BufKind kind, DType d, int64_t elems) {
  const int64_t id = (int64_t)w->ir->bufs.n;
  VEC_PUSH(&w->ir->bufs, ((Buf){ .kind = kind, .dt = d, .elems = elems }));
  w->mem[id] = calloc((size_t)elems, (size_t)dt_bytes(d));
  return node_make(w->ir, OP_BUFFER, d, 1, 0, NULL, 1, &id, 0, NULL);
}

/* Where element (i, k) of a matrix lies in its buffer: of a unit with orders thread by thread, else row by row with gaps */
enum { GAP = 3 };
static int64_t place(const MatrixUnit *u, Matrix x, int i, int k) {
  const char *of = matrix_dimensions(x);
  const int n = unit_elements(u, x);
  if (unit_is_whole(u)) return (int64_t)i * (unit_extent(u, of[1]) + GAP) + k;
  for (int t = 0; t < u->threads; t++)
    for (int e = 0; e < n; e++)
      if (unit_place(u, x, of[0], t, e) == i && unit_place(u, x, of[1], t, e) == k) return (int64_t)t * n + e;
  fail_msg("nobody has element %d, %d of matrix %d of %s", i, k, (int)x, u->name);
  return 0;
}

static Ref fragment(World *w, const MatrixUnit *u, Matrix x, Ref buf) {
  const int n = unit_elements(u, x);
  Ref lane[64];
  for (int e = 0; e < n; e++) {
    const Ref at = put_index(w, ix_add(w->ir, ix_mul(w->ir, w->thread, n), ix_const(w->ir, e)));
    lane[e] = put(w, OP_LOAD, unit_type(u, x), 1, 2, (Ref[]){ buf, at }, 0, NULL);
  }
  return put(w, OP_VEC, unit_type(u, x), n, n, lane, 0, NULL);
}

static Ref whole(World *w, const MatrixUnit *u, Matrix x, Ref buf) {
  const char *of = matrix_dimensions(x);
  const int rows = unit_extent(u, of[0]), columns = unit_extent(u, of[1]);
  const Ref at = put_index(w, ix_const(w->ir, 0));
  return put(w, OP_TILE, unit_type(u, x), rows * columns, 2, (Ref[]){ buf, at }, 2, (int64_t[]){ rows, columns + GAP });
}

/* A block of one warp, whose threads store their elements of the sum by the place of the element */
static void product(World *w, const MatrixUnit *u) {
  IR *ir = w->ir;
  const Ref grid = range_new(ir, 1, RK_GRID);
  const bool by_order = !unit_is_whole(u);
  Ref buf[MATRICES], part[MATRICES];
  w->thread = range_new(ir, u->threads, RK_LOCAL);
  for (Matrix x = 0; x < MATRICES; x++) buf[x] = buffer(w, BUF_INPUT, unit_type(u, x), MOST + 16 * GAP);
  const Ref out = buffer(w, BUF_OUTPUT, u->c, (int64_t)u->m * u->n);
  put(w, OP_LOOP, DT_NONE, 1, 1, &grid, 0, NULL);
  put(w, OP_LOOP, DT_NONE, 1, 1, &w->thread, 0, NULL);
  for (Matrix x = 0; x < MATRICES; x++) part[x] = (by_order ? fragment : whole)(w, u, x, buf[x]);
  const int64_t name = intern(&w->ctx, u->name, strlen(u->name)), shape[4] = { u->m, u->n, u->k, name };
  const Ref src[3] = { part[MATRIX_C], part[MATRIX_A], part[MATRIX_B] };
  const int lanes = by_order ? unit_elements(u, MATRIX_C) : u->m * u->n;
  Ref sum = by_order ? put(w, OP_WMMA, u->c, lanes, 3, src, 4, shape)
                     : put(w, OP_MMA, u->c, lanes, 3, src, 2, (int64_t[]){ u->m, u->k });
  if (!by_order) sum = put(w, OP_SPILL, u->c, lanes, 1, &sum, 0, NULL);
  for (int64_t e = 0; e < unit_elements(u, MATRIX_C); e++) {
    const Ref element = ix_const(ir, e), i = unit_index(ir, u, MATRIX_C, 'm', w->thread, element),
              j = unit_index(ir, u, MATRIX_C, 'n', w->thread, element), at = put_index(w, ix_add(ir, ix_mul(ir, i, u->n), j));
    const Ref value = by_order ? put(w, OP_LANE, u->c, 1, 1, &sum, 1, &e)
                               : put(w, OP_PART, u->c, 1, 2, (Ref[]){ sum, at }, 0, NULL);
    put(w, OP_STORE, u->c, 1, 3, (Ref[]){ out, at, value }, 0, NULL);
  }
  put(w, OP_END, DT_NONE, 1, 1, &w->thread, 0, NULL);
  put(w, OP_END, DT_NONE, 1, 1, &grid, 0, NULL);
}

static void sums_are_plain_sums(void **state) {
  (void)state;
  int units = 0;
  for (const MatrixUnit *u = matrix_unit_table; u->name; u++, units++) {
    World w = { .prog = { 0 } };
    Numbers x;
    LaunchReport r = { 0 };
    ctx_init(&w.ctx);
    w.ir = ir_new(&w.ctx);
    product(&w, u);
    fill(u, &x, 17u + (unsigned)units);
    for (Matrix i = 0; i < MATRICES; i++) {
      const char *of = matrix_dimensions(i);
      const int columns = unit_extent(u, of[1]), bytes = dt_bytes(unit_type(u, i));
      for (int k = 0; k < unit_extent(u, of[0]) * columns; k++)
        memcpy((char *)w.mem[i] + place(u, i, k / columns, k % columns) * bytes, &x.of[i][k], (size_t)bytes);
    }
    ir_verify_program(w.ir, w.prog.p, w.prog.n);
    Launch l = launch_of(w.ir, w.prog);
    if (!interp_launch_orders(w.ir, &l, device_target("gpu-any+mma")->dev, w.mem, 0, &r)) fail_msg("%s: %s", u->name, r.text.p);
    for (int i = 0; i < u->m; i++)
      for (int j = 0; j < u->n; j++) {
        int64_t bits = 0;
        memcpy(&bits, (char *)w.mem[MATRICES] + (i * u->n + j) * dt_bytes(u->c), (size_t)dt_bytes(u->c));
        assert_true(bits_to_double(u->c, bits) == expected(u, &x, i, j));
      }
    for (int i = 0; i <= MATRICES; i++) free(w.mem[i]);
    launch_report_free(&r);
    VEC_FREE(&l.prog);
    ir_free(w.ir);
    ctx_free(&w.ctx);
  }
  assert_true(units > 2);
}

/* ---- rules ---- */
typedef struct Job { IR *ir; const char *text; Refs list; } Job;

static void check(Ctx *c, void *arg) {
  Job *j = arg;
  (void)c;
  ir_parse_program(j->ir, j->text, strlen(j->text), &j->list);
  ir_verify_program(j->ir, j->list.p, j->list.n);
}

static void judge(const char *text, const char *what) { /* the message has the part `what`; NULL: there is none */
  Ctx c;
  const Pos line = { 0 };
  char *said = NULL;
  size_t n;
  ctx_init(&c);
  Job j = { .ir = ir_new(&c), .text = text };
  c.err = open_memstream(&said, &n);
  j.ir->dump = &line; /* a message in place of a bug */
  const int code = ctx_try(&c, check, &j);
  fclose(c.err);
  if (what ? !code || !strstr(said, what) : code) fail_msg("%s in place of '%s'\n%s", said, what ? what : "nothing", text);
  free(said);
  VEC_FREE(&j.list);
  ir_free(j.ir);
  ctx_free(&c);
}

#define HEAD(threads) \
  "tgc 1 program\nb0 = buffer input f16[256] id=0 slot=0\nb1 = buffer output f32[256] id=1 slot=0\n" \
  "b2 = buffer shared f16[256] id=2 slot=0\ng = range extent=1 id=0 kind=grid\nt = range extent=" threads " id=1 kind=local\n" \
  "c = range extent=1 id=2 kind=loop\nx = load b0, 0 : f16\na = bcast x : f16x8\nb = bcast x : f16x4\ns = bcast 0.0 : f32x4\n" \
  "loop g\nloop t\n"
#define MMA " m=16 n=8 k=16 unit=\"mma_16816f16\""
#define ENDS "y = lane p lane=0 : f32\nstore b1, t, y\nend t\nend g\n"
#define CLOSED(gate) "h = " gate " : bool\nloop c, h\np = wmma s, a, b" MMA " : f32x4\ny = lane p lane=0 : f32\nstore b1, t, y\nend c\n" \
               "end t\nend g\n"

static void rules(void **state) {
  (void)state;
  judge(HEAD("64") "p = wmma s, a, b" MMA " : f32x4\n" ENDS, NULL);
  judge(HEAD("48") "p = wmma s, a, b" MMA " : f32x4\n" ENDS, "a block of parts of warps");
  judge(HEAD("32") "p = wmma s, b, a" MMA " : f32x4\n" ENDS, "fragments of matrices that do not fit each other");
  judge(HEAD("32") CLOSED("cmplt g, 1"), NULL); /* the same for all threads */
  judge(HEAD("32") CLOSED("cmplt t, 31"), "a matrix product that not all threads of a warp reach");
  judge("tgc 1 program\nb1 = buffer output f32[4] id=1 slot=0\na = bcast 1.0 : f16x8\nb = bcast 1.0 : f16x4\ns = bcast 0.0 : "
        "f32x4\n"
        "p = wmma s, a, b" MMA " : f32x4\nstore b1, 0, p\n",
        "in a program of no blocks");
  judge(HEAD("32") "store b2, t, x\nbarrier id=3\nq = tile b2, t rows=8 stride=8 : f16x64\nend t\nend g\n",
        "elsewhere for each of its threads");
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(each_element_is_held_once),
    cmocka_unit_test(indices_are_places),
    cmocka_unit_test(order_of_ptx),
    cmocka_unit_test(sums_are_plain_sums),
    cmocka_unit_test(rules),
  };
  return cmocka_run_group_tests_name("matrix_units", tests, NULL, NULL);
}

/* SPDX-License-Identifier: MIT */
/* the step `narrow`: indices in 32 bits, casts where the widths meet, values that stay in 64 bits, and equal stores */
#include "device_fixture.h"
#include "../../compiler/interp/interp.h"

/* The program of a kernel's text before and after the step; it prints as it reads. */
static void make_both(IR *ir, const char *text, Refs *wide, Kernel *k) {
  Plan p = device_plan(ir);
  *k = device_kernel(&p, text);
  for (size_t i = 0; i < k->prog.n; i++) VEC_PUSH(wide, k->prog.p[i]);
  step_narrow(&p, k);
  ir_verify_program(ir, k->prog.p, k->prog.n);
  Sb once = { 0 }, twice = { 0 };
  Refs list = { 0 };
  ir_print_program(ir, k->prog.p, k->prog.n, &once);
  Ctx c;
  ctx_init(&c);
  IR *other = ir_new(&c);
  ir_parse_program(other, once.p, once.n, &list);
  ir_verify_program(other, list.p, list.n);
  ir_print_program(other, list.p, list.n, &twice);
  assert_string_equal(once.p, twice.p);
  VEC_FREE(&list);
  ir_free(other);
  ctx_free(&c);
  sb_free(&once);
  sb_free(&twice);
}

static void done(Kernel *k, Refs *wide) {
  device_kernel_free(k);
  VEC_FREE(wide);
}

static void run(IR *ir, const Refs *prog, void *const *mem) {
  LaunchReport r = { 0 };
  assert_true(device_run(ir, prog, 1, mem, &r));
  launch_report_free(&r);
}

/* Number of a program's ops with results of a type; ranges count */
static int count(const IR *ir, const Refs *prog, Op op, DType d) {
  int n = 0;
  for (size_t i = 0; i < prog->n; i++) n += node(ir, prog->p[i])->op == op && node(ir, prog->p[i])->dt == d;
  return n;
}

static void indices_are_narrow(void **state) {
  IR *ir = *state;
  float x[600], wide_y[600] = { 0 }, y[600] = { 0 };
  Refs wide = { 0 };
  Kernel k;
  make_both(ir, "tgc 1 kernel\nb0 = buffer input f32[600] id=0 slot=0\nb1 = buffer output f32[600] id=1 slot=0\n"
                "i = range extent=20 id=0 kind=loop\nj = range extent=30 id=1 kind=loop\n"
                "p = mul j, 20\nq = add p, i\ng = cmplt j, 29\nv = load b0, q, g, 0.5\n"
                "s = mul i, 30\nt = add s, j\na = store b1, t, v\nn0 = nest a, i, j\nk0 = sink n0\n", &wide, &k);
  assert_true(count(ir, &wide, OP_FLMOD, DT_I64) > 0);
  for (size_t i = 0; i < k.prog.n; i++) assert_int_not_equal(node(ir, k.prog.p[i])->dt, DT_I64);
  assert_int_equal(count(ir, &k.prog, OP_CAST, DT_I32), 0);
  for (int i = 0; i < 600; i++) x[i] = (float)i;
  run(ir, &wide, (void *[]){ x, wide_y });
  run(ir, &k.prog, (void *[]){ x, y });
  assert_memory_equal(y, wide_y, sizeof y);
  assert_true(y[1] == 20 && y[29] == 0.5f);
  done(&k, &wide);
}

/* Elements of i64 are data: they are loaded and stored as such. An index from data becomes i32. */
static void data_stays_wide(void **state) {
  IR *ir = *state;
  int64_t at[8] = { 3, -5, 100, 0, 1, 2, INT64_MAX, INT64_MIN }, seen[8], y[2][16] = { { 0 } };
  Refs wide = { 0 };
  Kernel k;
  for (int i = 0; i < 8; i++) seen[i] = (INT64_C(1) << 40) + i;
  make_both(ir, "tgc 1 kernel\nb0 = buffer input i64[8] id=0 slot=0\nb1 = buffer input i64[8] id=1 slot=1\n"
                "b2 = buffer output i64[16] id=2 slot=0\n"
                "i = range extent=8 id=0 kind=loop\nj = range extent=2 id=1 kind=loop\n"
                "a = load b0, i\nb = max a, 0\nc = min b, 3\nd = mul c, 2\ne = add d, j\nv = load b1, e\nw = add v, j\n"
                "s = mul i, 2\nt = add s, j\nz = store b2, t, w\nn0 = nest z, i, j\nk0 = sink n0\n", &wide, &k);
  assert_int_equal(count(ir, &k.prog, OP_LOAD, DT_I64), 2);
  assert_int_equal(count(ir, &k.prog, OP_MIN, DT_I64), 1);
  assert_int_equal(count(ir, &k.prog, OP_CAST, DT_I32), 1); /* the clamped index */
  assert_int_equal(count(ir, &k.prog, OP_CAST, DT_I64), 1); /* a value that is added to an element */
  assert_int_equal(count(ir, &k.prog, OP_MUL, DT_I64), 0);
  run(ir, &wide, (void *[]){ at, seen, y[0] });
  run(ir, &k.prog, (void *[]){ at, seen, y[1] });
  assert_memory_equal(y[0], y[1], sizeof y[0]);
  assert_true(y[1][0] == (INT64_C(1) << 40) + 6 && y[1][1] == (INT64_C(1) << 40) + 7 + 1);
  done(&k, &wide);
}

/* A range's value that is stored as i64, or becomes a float */
static void values_of_ranges(void **state) {
  IR *ir = *state;
  int64_t y[2][40] = { { 0 } };
  float f[2][40] = { { 0 } };
  Refs wide = { 0 };
  Kernel k;
  make_both(ir, "tgc 1 kernel\nb0 = buffer output i64[40] id=0 slot=0\nb1 = buffer output f32[40] id=1 slot=1\n"
                "i = range extent=40 id=0 kind=loop\nj = range extent=40 id=1 kind=loop\n"
                "u = mul i, 3\na = store b0, i, u\nn0 = nest a, i\n"
                "c = cast j : f32\nb = store b1, j, c\nn1 = nest b, j\nk0 = sink n0, n1\n", &wide, &k);
  assert_int_equal(count(ir, &k.prog, OP_CAST, DT_I64), 1);
  assert_int_equal(count(ir, &k.prog, OP_CAST, DT_F32), 1);
  assert_int_equal(count(ir, &k.prog, OP_RANGE, DT_I64), 0);
  run(ir, &wide, (void *[]){ y[0], f[0] });
  run(ir, &k.prog, (void *[]){ y[1], f[1] });
  assert_memory_equal(y[0], y[1], sizeof y[0]);
  assert_memory_equal(f[0], f[1], sizeof f[0]);
  assert_true(y[1][39] == 117 && f[1][39] == 39);
  done(&k, &wide);
}

/* If an index may exceed 32 bits, each op up to there has 64, and a cast is below. */
static void what_does_not_fit_stays(void **state) {
  IR *ir = *state;
  Refs wide = { 0 };
  Kernel k;
  make_both(ir, "tgc 1 kernel\nb0 = buffer output u8[6000000000] id=0 slot=0\n"
                "i = range extent=200000 id=0 kind=loop\nj = range extent=30000 id=1 kind=loop\n"
                "p = mul i, 30000\nq = add p, j\na = store b0, q, 1\nn0 = nest a, i, j\nk0 = sink n0\n", &wide, &k);
  for (size_t i = 0; i < k.prog.n; i++) {
    const Node *x = node(ir, k.prog.p[i]);
    if (x->op == OP_STORE) assert_int_equal(node(ir, store_index(x))->dt, DT_I64);
    if (x->dt == DT_I32) assert_true(x->vmin >= INT32_MIN && x->vmax <= INT32_MAX);
    if (x->op == OP_RANGE) assert_int_equal(x->dt, DT_I32);
  }
  assert_true(count(ir, &k.prog, OP_CAST, DT_I64) > 0);
  done(&k, &wide);
}

/* The program of a text for a CPU, before and after the step, with the same elements stored by all chunks one after another */
static void on_cpu(IR *ir, const char *isa, int chunks, const char *text, void *const *mem, void *const *mem_narrow, Kernel *k) {
  const char *why = "";
  PlanInputs *in = ARENA_NEW(&ir->ctx->model, PlanInputs, 1);
  *in = (PlanInputs){ .target = target_find(&ir->ctx->model, isa, &why) };
  Plan p = { .in = in, .ir = ir };
  Refs read = { 0 };
  *k = (Kernel){ .chunks = chunks };
  ir_parse_program(ir, text, strlen(text), &read);
  for (size_t i = 0; i < read.n; i++) { /* a text's ranges are in no list, those of linearize.c are before their loops */
    if (node(ir, read.p[i])->op == OP_LOOP) VEC_PUSH(&k->prog, loop_range(node(ir, read.p[i])));
    VEC_PUSH(&k->prog, read.p[i]);
  }
  VEC_FREE(&read);
  ir_verify_program(ir, k->prog.p, k->prog.n);
  for (int c = 0; c < chunks && mem; c++) interp_chunks(ir, k->prog.p, k->prog.n, mem, NULL, c, c + 1, chunks);
  step_narrow(&p, k);
  ir_verify_program(ir, k->prog.p, k->prog.n);
  for (int c = 0; c < chunks && mem; c++) interp_chunks(ir, k->prog.p, k->prog.n, mem_narrow, NULL, c, c + 1, chunks);
}

#define SHARED                                                                                                 \
  "tgc 1 program\nb0 = buffer input f32[140] id=0 slot=0\nb1 = buffer output f32[140] id=1 slot=0\n"           \
  "i = range extent=7 id=0 kind=thread\nj = range extent=20 id=1 kind=loop\nloop i\nv = mul i, 20\nloop j\n"   \
  "w = add v, j\nd = flmod w, 7\nq = fldiv w, 7\nm = mul d, 20\ne = add m, q\nprefetch b0, e near=1\n"         \
  "x = load b0, e\nstore b1, w, x\nend j\nend i\n"

/* CPUs with pointers of 32 bits count in 32 bits, others do not. */
static void cpus(void **state) {
  IR *ir = *state;
  static const char *const isa[] = { "cortex-m4", "cortex-m7", "armv7", "wasm32", "wasm-simd",
                                     "portable",  "x86-64-v3", "neon",  "rv64gc" };
  float x[140], y[2][140];
  for (int i = 0; i < 140; i++) x[i] = (float)i;
  for (size_t i = 0; i < sizeof isa / sizeof *isa; i++) {
    Kernel k;
    memset(y, 0, sizeof y);
    on_cpu(ir, isa[i], 3, SHARED, (void *[]){ x, y[0] }, (void *[]){ x, y[1] }, &k);
    int wide = 0, narrow = 0;
    for (size_t n = 0; n < k.prog.n; n++) {
      wide += node(ir, k.prog.p[n])->dt == DT_I64 && node(ir, k.prog.p[n])->op != OP_CONST;
      narrow += node(ir, k.prog.p[n])->dt == DT_I32;
    }
    assert_int_equal(i < 5 ? wide : narrow, 0);
    assert_memory_equal(y[0], y[1], sizeof y[0]);
    assert_true(y[0][139] == 6 * 20 + 19 && y[0][1] == 20);
    device_kernel_free(&k);
  }
}

/* Chunk c of n begins at c * extent / n, so the extent times n must fit. */
static void shared_loops(void **state) {
  IR *ir = *state;
  for (int fits = 0; fits < 2; fits++) {
    Kernel k;
    char text[512];
    snprintf(text, sizeof text, "tgc 1 program\nb0 = buffer output u8[2000000000] id=0 slot=0\n"
             "i = range extent=%d id=0 kind=thread\nloop i\nstore b0, i, 1\nend i\n", INT32_MAX / 12 + !fits);
    on_cpu(ir, "armv7", 12, text, NULL, NULL, &k);
    const Node *range = NULL, *store = NULL;
    for (size_t n = 0; n < k.prog.n; n++) {
      const Node *l = node(ir, k.prog.p[n]);
      if (l->op == OP_LOOP) range = node(ir, loop_range(l));
      if (l->op == OP_STORE) store = l;
    }
    assert_int_equal(range->dt, fits ? DT_I32 : DT_I64);
    assert_int_equal(node(ir, store_index(store))->dt, fits ? DT_I32 : DT_I64);
    device_kernel_free(&k);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test_setup_teardown(indices_are_narrow, setup, teardown),
    cmocka_unit_test_setup_teardown(data_stays_wide, setup, teardown),
    cmocka_unit_test_setup_teardown(values_of_ranges, setup, teardown),
    cmocka_unit_test_setup_teardown(what_does_not_fit_stays, setup, teardown),
    cmocka_unit_test_setup_teardown(cpus, setup, teardown),
    cmocka_unit_test_setup_teardown(shared_loops, setup, teardown),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

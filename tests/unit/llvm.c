/* SPDX-License-Identifier: MIT */
/* llvm.c (unit test): the LLVM backend against the interpreter. Each op of a program is compiled for the CPU at hand,
 * run on values chosen for their edges, and must give the interpreter's bits; functions of libm may be 2 ULP off. */
#include "../../backends/llvm.h"
#include "../../compiler/interp/interp.h"
#include "../../compiler/schedule/schedule.h"
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#if defined __SSE2__
#include <xmmintrin.h>
#endif

enum { N = 64 }; /* elements of every buffer */

typedef struct World {
  Ctx ctx;
  IR *ir;
  Plan plan;
  Refs *prog;
  bool flush;              /* run with denormals as zero, as bundles do */
} World;

static int setup(void **state) {
  World *w = xmalloc(sizeof *w);
  memset(w, 0, sizeof *w);
  ctx_init(&w->ctx);
  w->ir = ir_new(&w->ctx);
  w->plan.ir = w->ir;
  VEC_PUSH(&w->plan.kernels, ((Kernel){ 0 }));
  w->prog = &w->plan.kernels.p[0].prog;
  *state = w;
  return 0;
}

static int teardown(void **state) {
  World *w = *state;
  Kernel *k = &w->plan.kernels.p[0];
  VEC_FREE(&k->prog);
  VEC_FREE(&k->bufs);
  VEC_FREE(&k->written);
  VEC_FREE(&w->plan.kernels);
  ir_free(w->ir);
  ctx_free(&w->ctx);
  free(w);
  return 0;
}

static const Target *machine(World *w, const char *isa) {
  const char *why;
  const Target *t = target_find(&w->ctx.model, isa, &why);
  assert_non_null(t);
  return t;
}

static Ref put(World *w, Op op, DType d, int lanes, int n, const Ref *src, int narg, const int64_t *arg) {
  Ref r = node_make(w->ir, op, d, lanes, n, src, narg, arg, 0, NULL);
  VEC_PUSH(w->prog, r);
  return r;
}
#define PUT(op, d, lanes, ...) \
  put(w, op, d, lanes, (int)(sizeof((Ref[]){ __VA_ARGS__ }) / sizeof(Ref)), (Ref[]){ __VA_ARGS__ }, 0, NULL)

static Ref constant(World *w, DType d, int64_t bits) {
  Ref r = c_bits(w->ir, d, bits);
  VEC_PUSH(w->prog, r);
  return r;
}

static Ref buffer(World *w, DType d, bool written) {
  int64_t id = (int64_t)w->ir->bufs.n;
  Kernel *k = &w->plan.kernels.p[0];
  VEC_PUSH(&w->ir->bufs, ((Buf){ .kind = BUF_ARENA, .dt = d, .elems = N }));
  VEC_PUSH(&k->bufs, (int)id);
  if (written) VEC_PUSH(&k->written, (int)id);
  return put(w, OP_BUFFER, d, 1, 0, NULL, 1, &id);
}

static void start(World *w) { /* another program */
  Kernel *k = &w->plan.kernels.p[0];
  k->prog.n = k->bufs.n = k->written.n = w->ir->bufs.n = 0;
}

/* Runs the program both ways on the same memory; got and want are the last buffer's. */
static void run_both(World *w, const Target *t, void **mem, void *got, void *want, size_t bytes) {
  size_t n = w->ir->bufs.n;
  Sb text = { 0 };
  ir_verify_program(w->ir, w->prog->p, w->prog->n);
  memset(mem[n - 1], 0x5a, bytes);
  interp_program(w->ir, w->prog->p, w->prog->n, mem);
  memcpy(want, mem[n - 1], bytes);
  memset(mem[n - 1], 0x5a, bytes);
  llvm_kernels(&w->plan, t, &text);
  LoadedCode *j = llvm_jit_load(&w->ctx, t, text.p, text.n, false);
  void (*run)(void *const *);
  *(void **)&run = llvm_jit_symbol(j, "c0");
#if defined __SSE2__
  const unsigned was = _mm_getcsr();
  if (w->flush) _mm_setcsr(0x9fc0);
  run(mem);
  _mm_setcsr(was);
#else
  run(mem);
#endif
  memcpy(got, mem[n - 1], bytes);
  llvm_jit_free(j);
  sb_free(&text);
}

/* ---- values ---- */
static double edge(int i) {
  static const double v[] = { 0,     -0.0,  1,     -1,    0.5,          -0.5,          1.5,          2.5,      -2.5,      3,
                              7,     -7,    100,   127,   128,          -128,          -129,         255,      256,       32767.5,
                              65535, 65536, 1e9,   -1e9,  2147483648.0, -2147483648.0, 4294967296.0, 9.3e18,   -9.3e18,   1.9e19,
                              1e30,  -1e30, 1e-30, 6e-5,  5e-8,         -3e-8,         1e-41,        INFINITY, -INFINITY, NAN,
                              0.1,   65504, 65519, 65520, 2049,         0x1.002p0,     0x1.006p0,    0x1.01p0, 0x1.03p0 };
  return v[i % (int)(sizeof v / sizeof *v)];
}

static uint64_t bits_at(DType d, int i, int stride) {
  static const uint64_t ints[] = { 0,
                                   1,
                                   2,
                                   3,
                                   7,
                                   8,
                                   31,
                                   32,
                                   33,
                                   63,
                                   64,
                                   127,
                                   128,
                                   255,
                                   256,
                                   0x7fff,
                                   0x8000,
                                   0xffff,
                                   0x7fffffff,
                                   0x80000000,
                                   0xffffffff,
                                   0x7fffffffffffffff,
                                   0x8000000000000000,
                                   0xffffffffffffffff,
                                   0xfffffffffffffff9,
                                   12345,
                                   0x1000001,
                                   0x20000000000001 };
  int at = i * stride;
  if (d == DT_BOOL) return (uint64_t)at / 3 & 1;
  if (dt_float(d)) return (uint64_t)double_to_bits(d, edge(at));
  return ints[at % (int)(sizeof ints / sizeof *ints)];
}

static void *values(World *w, DType d, int stride) {
  char *p = arena_alloc(&w->ctx.model, N * 8 + 64);
  p += 64 - (uintptr_t)p % 64;
  for (int i = 0; i < N; i++) {
    uint64_t b = bits_at(d, i, stride);
    memcpy(p + i * dt_bytes(d), &b, (size_t)dt_bytes(d));
  }
  return p;
}

/* r[i] = op(x[i], y[i], z[i]), lanes at a time; element types of the sources and of the result */
static void elementwise(World *w, Op op, DType result, const DType *from, int n, int lanes) {
  Ref x[4], at, range;
  start(w);
  for (int k = 0; k < n; k++) x[k] = buffer(w, from[k], false);
  x[n] = buffer(w, result, true);
  int64_t arg[3] = { N / lanes, w->ir->next_range++, RK_LOOP };
  range = node_make(w->ir, OP_RANGE, DT_I64, 1, 0, NULL, 3, arg, 0, NULL);
  VEC_PUSH(w->prog, range);
  Ref by = constant(w, DT_I64, lanes);
  PUT(OP_LOOP, DT_NONE, 1, range);
  at = PUT(OP_MUL, DT_I64, 1, range, by);
  Ref v[3];
  for (int k = 0; k < n; k++) v[k] = PUT(OP_LOAD, from[k], lanes, x[k], at);
  Ref r = put(w, op, result, lanes, n, v, 0, NULL);
  PUT(OP_STORE, DT_NONE, 1, x[n], at, r);
  PUT(OP_END, DT_NONE, 1, range);
}

static int64_t distance(DType d, uint64_t a, uint64_t b) { /* in units in the last place */
  double x = bits_to_double(d, (int64_t)a), y = bits_to_double(d, (int64_t)b);
  if (isnan(x) || isnan(y)) return isnan(x) && isnan(y) ? 0 : INT64_MAX;
  uint64_t sign = (uint64_t)1 << (dtype_info[d].bits - 1);
  int64_t p = a & sign ? -(int64_t)(a & (sign - 1)) : (int64_t)a, q = b & sign ? -(int64_t)(b & (sign - 1)) : (int64_t)b;
  return p > q ? p - q : q - p;
}

static void compare(DType d, const char *got, const char *want, int64_t ulp, const char *what, DType from, int lanes) {
  for (int i = 0; i < N; i++) {
    uint64_t a = 0, b = 0;
    memcpy(&a, got + i * dt_bytes(d), (size_t)dt_bytes(d));
    memcpy(&b, want + i * dt_bytes(d), (size_t)dt_bytes(d));
    bool same = a == b || (dt_float(d) && (distance(d, a, b) <= ulp && (ulp || isnan(bits_to_double(d, (int64_t)a)))));
    if (!same)
      fail_msg("%s of %s to %s x %d, element %d: %llx for %llx", what, dtype_info[from].text, dtype_info[d].text, lanes, i,
               (unsigned long long)a, (unsigned long long)b);
  }
}

static void try_op(World *w, const Target *t, Op op, DType result, const DType *from, int n, int lanes, int64_t ulp) {
  char got[N * 8], want[N * 8];
  void *mem[4];
  DType operand = from[op == OP_WHERE];
  if (!llvm_backend.supports(t, op, result, operand, lanes)) return;
  elementwise(w, op, result, from, n, lanes);
  for (int k = 0; k < n; k++) mem[k] = values(w, from[k], k == 0 ? 1 : k == 1 ? 5 : 11);
  mem[n] = values(w, result, 1);
  run_both(w, t, mem, got, want, (size_t)N * (size_t)dt_bytes(result));
  compare(result, got, want, ulp, op_info[op].name, operand, lanes);
}

static void for_machines(World *w, void (*test)(World *w, const Target *t, int lanes)) {
  static const char *const isa[] = { "native", "x86-64" }; /* the second without half precision and multiply-add */
  static const int lanes[] = { 1, 8 };
  if (!llvm_available()) skip();
  for (int i = 0; i < (host_arch() == ARCH_X86_64 ? 2 : 1); i++)
    for (int k = 0; k < 2; k++) test(w, machine(w, isa[i]), lanes[k]);
}

/* Half precision is computed in single (legalize.c). */
static bool takes(Op op, DType d) { return op_takes(op, d) && d != DT_F16 && d != DT_BF16; }

static void elementwise_ops(World *w, const Target *t, int lanes) {
  for (int op = 1; op < OP_COUNT; op++) {
    if (op_info[op].level != L_EXPR || op == OP_CAST || op == OP_BITCAST || op == OP_WHERE) continue;
    for (int d = 1; d < DT_COUNT; d++) {
      if (!takes((Op)op, (DType)d)) continue;
      DType from[3] = { (DType)d, (DType)d, (DType)d }, result = op_info[op].type[0] == 'b' ? DT_BOOL : (DType)d;
      int n = op_info[op].arity;
      if (op == OP_MULACC && dt_float((DType)d) && !t->fma) continue; /* the interpreter rounds once */
      bool function = dt_float((DType)d) && (op >= OP_EXP && op <= OP_ERF);
      function |= dt_float((DType)d) && (op == OP_POW || op == OP_ATAN2 || op == OP_MOD);
      try_op(w, t, (Op)op, result, from, n, lanes, function ? 2 : 0);
    }
  }
}

static void conversions(World *w, const Target *t, int lanes) {
  for (int d = 1; d < DT_COUNT; d++)
    for (int e = 1; e < DT_COUNT; e++) {
      DType from = (DType)d, to = (DType)e;
      bool half = from == DT_F16 || from == DT_BF16 || to == DT_F16 || to == DT_BF16;
      if (half && from != DT_F32 && to != DT_F32) continue;
      w->flush = half; /* subnormals of f16 are normal in f32 */
      try_op(w, t, OP_CAST, to, &from, 1, lanes, 0);
      w->flush = false;
      if (dtype_info[d].bits == dtype_info[e].bits && from != DT_BOOL && to != DT_BOOL)
        try_op(w, t, OP_BITCAST, to, &from, 1, lanes, 0);
    }
}

static void selects(World *w, const Target *t, int lanes) {
  for (int d = 1; d < DT_COUNT; d++) try_op(w, t, OP_WHERE, (DType)d, (DType[]){ DT_BOOL, (DType)d, (DType)d }, 3, lanes, 0);
}

static void every_elementwise_op(void **state) { for_machines(*state, elementwise_ops); }
static void every_conversion(void **state) { for_machines(*state, conversions); }
static void every_select(void **state) { for_machines(*state, selects); }

/* ---- the rest of a program ---- */
static void gates_lanes_and_reductions(void **state) {
  World *w = *state;
  static const Op ops[] = { OP_ADD, OP_MUL, OP_MAX, OP_MIN };
  if (!llvm_available()) skip();
  const Target *t = machine(w, "native");
  for (int k = 0; k < 4; k++) {
    char got[N * 8], want[N * 8];
    start(w);
    Ref x = buffer(w, DT_F32, false), y = buffer(w, DT_F32, true);
    int64_t arg[3] = { N / 8, w->ir->next_range++, RK_LOOP }, op = ops[k], id = w->ir->next_range++;
    Ref r = node_make(w->ir, OP_RANGE, DT_I64, 1, 0, NULL, 3, arg, 0, NULL), one = constant(w, DT_F32, 0x3f800000);
    Ref ones = PUT(OP_BCAST, DT_F32, 8, one), acc = put(w, OP_ACC, DT_F32, 8, 1, &ones, 1, &id);
    VEC_PUSH(w->prog, r);
    Ref eight = constant(w, DT_I64, 8), two = constant(w, DT_I64, 2), zero = constant(w, DT_I64, 0);
    PUT(OP_LOOP, DT_NONE, 1, r);
    Ref at = PUT(OP_MUL, DT_I64, 1, r, eight), odd = PUT(OP_FLMOD, DT_I64, 1, r, two),
        gate = PUT(OP_CMPEQ, DT_BOOL, 1, odd, zero);
    Ref v = PUT(OP_LOAD, DT_F32, 8, x, at, gate, ones), now = PUT(OP_GET, DT_F32, 8, acc);
    PUT(OP_SET, DT_F32, 8, acc, PUT((Op)op, DT_F32, 8, now, v));
    Ref lane = put(w, OP_LANE, DT_F32, 1, 1, &v, 1, (int64_t[]){ 3 });
    PUT(OP_STORE, DT_NONE, 1, y, at, lane, gate);
    PUT(OP_END, DT_NONE, 1, r);
    Ref all = PUT(OP_GET, DT_F32, 8, acc), h = put(w, OP_HRED, DT_F32, 1, 1, &all, 1, &op);
    PUT(OP_STORE, DT_NONE, 1, y, constant(w, DT_I64, N - 1), h);
    float *from = values(w, DT_F32, 1);
    for (int i = 0; i < N; i++) from[i] = (float)(i % 13) * 0.25f + 0.5f;
    run_both(w, t, (void *[]){ from, values(w, DT_F32, 1) }, got, want, N * sizeof(float));
    compare(DT_F32, got, want, 0, op_info[op].name, DT_F32, 8);
  }
}

/* two vectors as one, half of one, lanes of both */
static void shuffles(void **state) {
  World *w = *state;
  static const DType types[] = { DT_F32, DT_F64, DT_F16, DT_U8, DT_I32 };
  int64_t lane[3][8] = { { 0, 1, 2, 3, 4, 5, 6, 7 }, { 2, 3 }, { 7, 0, 5, 2 } };
  if (!llvm_available()) skip();
  for (size_t k = 0; k < sizeof types / sizeof *types; k++) {
    const DType d = types[k];
    char got[N * 8], want[N * 8];
    start(w);
    Ref x = buffer(w, d, false), y = buffer(w, d, true), at[4];
    for (int i = 0; i < 4; i++) at[i] = constant(w, DT_I64, i * 8);
    Ref a = PUT(OP_LOAD, d, 4, x, at[0]), b = PUT(OP_LOAD, d, 4, x, at[1]);
    for (int i = 0; i < 3; i++) {
      const int n = i == 0 ? 8 : i == 1 ? 2 : 4;
      PUT(OP_STORE, DT_NONE, 1, y, at[i], put(w, OP_SHUFFLE, d, n, 2, (Ref[]){ a, b }, n, lane[i]));
    }
    run_both(w, machine(w, "native"), (void *[]){ values(w, d, 1), values(w, d, 1) }, got, want, N * (size_t)dt_bytes(d));
    assert_memory_equal(got, want, N * (size_t)dt_bytes(d));
  }
}

/* lanes of a vector, by the low bits of their numbers */
static void lookups(void **state) {
  World *w = *state;
  const Target *t = machine(w, "native");
  char got[64], want[64];
  if (!llvm_available() || !llvm_backend.supports(t, OP_LOOKUP, DT_F32, DT_F32, 16)) skip();
  start(w);
  Ref x = buffer(w, DT_F32, false), i = buffer(w, DT_U32, false), y = buffer(w, DT_F32, true), zero = constant(w, DT_I64, 0);
  Ref table = PUT(OP_LOAD, DT_F32, 16, x, zero), index = PUT(OP_LOAD, DT_U32, 16, i, zero);
  PUT(OP_STORE, DT_NONE, 1, y, zero, PUT(OP_LOOKUP, DT_F32, 16, table, index));
  run_both(w, t, (void *[]){ values(w, DT_F32, 1), values(w, DT_U32, 1), values(w, DT_F32, 1) }, got, want, sizeof got);
  assert_memory_equal(got, want, sizeof got);
}

/* s[i] + the products of four bytes of x, for each lane its own or the same for all, and of y */
static void dot_products(void **state) {
  World *w = *state;
  static const char *const isa[] = { "x86-64", "native-avx512", "native-vnni", "native" };
  if (!llvm_available()) skip();
  for (int m = host_arch() == ARCH_X86_64 ? 0 : 3; m < 4; m++)
    for (int lanes = 4; lanes <= 16; lanes *= 2)
      for (int own = 0; own < 2; own++) {
        const Target *t = machine(w, isa[m]);
        char got[N * 4], want[N * 4];
        if (!llvm_backend.supports(t, OP_DOT, DT_I32, DT_U8, lanes)) continue;
        start(w);
        Ref x = buffer(w, DT_U8, false), y = buffer(w, DT_I8, false), s = buffer(w, DT_I32, false), out = buffer(w, DT_I32, true);
        Ref at = constant(w, DT_I64, 0), a = PUT(OP_LOAD, DT_U8, own ? 4 * lanes : 4, x, at),
            b = PUT(OP_LOAD, DT_I8, 4 * lanes, y, at);
        PUT(OP_STORE, DT_NONE, 1, out, at, PUT(OP_DOT, DT_I32, lanes, PUT(OP_LOAD, DT_I32, lanes, s, at), a, b));
        _Alignas(64) uint8_t bytes[2][N];
        for (int i = 0; i < N; i++)
          bytes[0][i] = (uint8_t)(i < 16 ? 255 : 37 * i), bytes[1][i] = (uint8_t)(i < 8 ? 128 : i < 16 ? 127 : 91 * i);
        run_both(w, t, (void *[]){ bytes[0], bytes[1], values(w, DT_I32, 7), values(w, DT_I32, 1) }, got, want, sizeof got);
        compare(DT_I32, got, want, 0, "DOT", DT_U8, lanes);
      }
}

/* min(max(x, -2), 3) where x is NaN, a zero or beyond */
static void bounds(void **state) {
  World *w = *state;
  if (!llvm_available()) skip();
  for (int lanes = 1; lanes <= 8; lanes *= 8) {
    char got[N * 4], want[N * 4];
    start(w);
    Ref x = buffer(w, DT_F32, false), y = buffer(w, DT_F32, true), at = constant(w, DT_I64, 0),
        lo = constant(w, DT_F32, 0xc0000000), hi = constant(w, DT_F32, 0x40400000);
    if (lanes > 1) lo = PUT(OP_BCAST, DT_F32, lanes, lo), hi = PUT(OP_BCAST, DT_F32, lanes, hi);
    for (int64_t i = 0; i < N; i += lanes) {
      if (i) at = constant(w, DT_I64, i);
      Ref v = PUT(OP_LOAD, DT_F32, lanes, x, at);
      PUT(OP_STORE, DT_NONE, 1, y, at, PUT(OP_MIN, DT_F32, lanes, PUT(OP_MAX, DT_F32, lanes, v, lo), hi));
    }
    run_both(w, machine(w, "native"), (void *[]){ values(w, DT_F32, 1), values(w, DT_F32, 1) }, got, want, sizeof got);
    compare(DT_F32, got, want, 0, "MAX", DT_F32, lanes);
  }
}

static void the_same_bytes_each_time(void **state) {
  World *w = *state;
  if (!llvm_available()) skip();
  const Target *t = machine(w, "native");
  elementwise(w, OP_FLDIV, DT_I32, (DType[]){ DT_I32, DT_I32 }, 2, 1);
  Sb text = { 0 };
  llvm_kernels(&w->plan, t, &text);
  Code code = { .text = text.p, .n = text.n };
  Bytes a = llvm_generate(&w->ctx, t, &code, false), b = llvm_generate(&w->ctx, t, &code, false);
  assert_int_equal(a.n, b.n);
  assert_memory_equal(a.p, b.p, a.n);
  sb_free(&text);
}

/* LLVM makes code of every op on every type; it ends the process where it cannot */
static void every_op_for_other_machines(void **state) {
  World *w = *state;
  static const char *const isa[] = { "cortex-m7", "neon", "rv64gc", "wasm32" };
  if (!llvm_available()) skip();
  for (size_t m = 0; m < sizeof isa / sizeof *isa; m++) {
    const Target *t = machine(w, isa[m]);
    for (int op = 1; op < OP_COUNT; op++) {
      if (op_info[op].level != L_EXPR || op == OP_CAST || op == OP_BITCAST || op == OP_WHERE) continue;
      for (int d = 1; d < DT_COUNT; d++) {
        const DType from[3] = { (DType)d, (DType)d, (DType)d }, result = op_info[op].type[0] == 'b' ? DT_BOOL : (DType)d;
        if (!takes((Op)op, (DType)d) || !llvm_backend.supports(t, (Op)op, result, (DType)d, 1)) continue;
        elementwise(w, (Op)op, result, from, op_info[op].arity, 1);
        Sb text = { 0 };
        llvm_kernels(&w->plan, t, &text);
        const Code code = { .text = text.p, .n = text.n };
        assert_true(llvm_generate(&w->ctx, t, &code, false).n > 0);
        sb_free(&text);
      }
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test_setup_teardown(every_elementwise_op, setup, teardown),
    cmocka_unit_test_setup_teardown(every_op_for_other_machines, setup, teardown),
    cmocka_unit_test_setup_teardown(every_conversion, setup, teardown),
    cmocka_unit_test_setup_teardown(every_select, setup, teardown),
    cmocka_unit_test_setup_teardown(gates_lanes_and_reductions, setup, teardown),
    cmocka_unit_test_setup_teardown(shuffles, setup, teardown),
    cmocka_unit_test_setup_teardown(lookups, setup, teardown),
    cmocka_unit_test_setup_teardown(dot_products, setup, teardown),
    cmocka_unit_test_setup_teardown(bounds, setup, teardown),
    cmocka_unit_test_setup_teardown(the_same_bytes_each_time, setup, teardown),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

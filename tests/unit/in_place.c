/* SPDX-License-Identifier: MIT */
/* in_place.c (unit test): programs of kernels with their result in the memory of a value that they read. If the proof says yes,
 * the result is the same as in memory of its own. The test also counts how often results differ, so that the proof is not idle.
 * Loads one iteration ahead change no result. */
#include "fixture.h"
#include "../../backends/backends.h"
#include "../../compiler/driver.h"
#include "../../compiler/interp/interp.h"
#include "../../compiler/lower/lower.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>

#define ROWS(b, n) "tgc 1 graph\nx = input f32[" b "," n "]\ny = input f32[" b "," n "]\n"
#define SOFTMAX(b, n) "m = reduce x op=max axes=[1]\nme = expand m : [" b "," n "]\nd = sub x, me\ne = exp d\n" \
  "s = reduce e op=add axes=[1]\nse = expand s : [" b "," n "]\nz = div e, se\noutput z\n"
#define NORM(b, n) "m = reduce x op=add axes=[1]\nme = expand m : [" b "," n "]\nd = sub x, me\nz = mul d, y\noutput z\n"
#define COLUMNS(b, n) "m = reduce x op=max axes=[0]\nme = expand m : [" b "," n "]\nz = sub y, me\noutput z\n"
#define TURNED(n) "m = reduce x op=add axes=[1]\nme = expand m : [" n "," n "]\nt = permute x perm=[1,0]\nz = sub t, me\noutput z\n"

static const char *const graphs[] = {
  ROWS("5", "100") SOFTMAX("5", "100"), ROWS("7", "48") SOFTMAX("7", "48"), ROWS("40", "1000") SOFTMAX("40", "1000"),
  ROWS("1", "37") SOFTMAX("1", "37"), ROWS("6", "100") NORM("6", "100"), ROWS("64", "19") NORM("64", "19"),
  ROWS("6", "100") COLUMNS("6", "100"), ROWS("20", "20") TURNED("20"),
};
static const char *const isas[] = { "portable", "x86-64-v3", "x86-64-v4" };

typedef struct Count { int proved, ahead, differs; } Count;

static float value_of(int64_t i, int buf) { return (float)((i * 37 + buf * 101) % 1009) * 1e-3f; }

/* Runs the program by chunks, from the last one on. Buffer `out` has the memory of `in` if `over`. */
static float *run(IR *ir, const Kernel *k, const Refs *prog, int in, int out, bool over) {
  void **at = ARENA_NEW(&ir->ctx->model, void *, ir->bufs.n + 1);
  for (size_t b = 0; b < ir->bufs.n; b++) {
    const int64_t n = ir->bufs.p[b].elems;
    float *p = ARENA_NEW(&ir->ctx->model, float, n + 1);
    for (int64_t i = 0; i < n; i++) p[i] = value_of(i, (int)b);
    at[b] = p;
  }
  if (over) at[out] = at[in];
  const int64_t chunks = k->chunks > 1 ? k->chunks : 1;
  for (int64_t c = chunks; c-- > 0;) interp_chunks(ir, prog->p, prog->n, at, NULL, c, c + 1, chunks);
  return at[out];
}

static void try_pair(IR *ir, Kernel *k, int in, int out, const char *name, Count *count) {
  const size_t bytes = (size_t)ir->bufs.p[out].elems * 4;
  Refs ahead = { 0 };
  const float *right = run(ir, k, &k->prog, in, out, false);
  const bool same = !memcmp(right, run(ir, k, &k->prog, in, out, true), bytes);
  if (program_in_place(ir, &k->prog, k->chunks, in, out)) {
    if (!same) fail_msg("%s: the proof is wrong", name);
    count->proved++;
  } else if (program_load_ahead(ir, &k->prog, in, out, &ahead)) {
    ir_verify_program(ir, ahead.p, ahead.n);
    if (memcmp(right, run(ir, k, &ahead, in, out, false), bytes)) fail_msg("%s: loads ahead change results", name);
    if (program_in_place(ir, &ahead, k->chunks, in, out)) {
      if (memcmp(right, run(ir, k, &ahead, in, out, true), bytes)) fail_msg("%s: the proof is wrong with loads ahead", name);
      count->ahead++;
    }
  }
  count->differs += !same;
  VEC_FREE(&ahead);
}

static void proofs_are_right(void **state) {
  Count all = { 0 };
  (void)state;
  for (size_t g = 0; g < sizeof graphs / sizeof *graphs; g++)
    for (size_t t = 0; t < sizeof isas / sizeof *isas; t++) {
      Ctx c;
      const char *why = NULL;
      ctx_init(&c);
      const Target *target = target_find(&c.model, isas[t], &why);
      Graph *graph = ir_parse_graph(&c, graphs[g], strlen(graphs[g]), "test");
      Plan *p = compile_graph(graph, &(CompileOptions){ .target = target, .backend = backends[0], .precision = PREC_STRICT });
      for (size_t k = 0; k < p->kernels.n; k++)
        for (size_t i = 0; i < p->kernels.p[k].bufs.n; i++) {
          Kernel *kn = &p->kernels.p[k];
          const int in = kn->bufs.p[i], out = kn->written.p[0];
          if (kn->written.n == 1 && in != out && p->ir->bufs.p[in].elems >= p->ir->bufs.p[out].elems)
            try_pair(p->ir, kn, in, out, graphs[g], &all);
        }
      ir_free(p->ir);
      ctx_free(&c);
    }
  print_message("in place: %d proved, %d with loads ahead; %d programs give other results in place\n", all.proved, all.ahead,
                all.differs);
  assert_true(all.proved > 15 && all.ahead > 3 && all.differs > 10);
}

/* ---- programs that no nest makes today ---- */
typedef struct Made { IR *ir; Refs prog; Ref buffer[2]; } Made; /* buffer: in, out */

static Made made_open(Ctx *c) {
  Made m = { .ir = ir_new(c) };
  for (int64_t k = 0; k < 2; k++) {
    VEC_PUSH(&m.ir->bufs, ((Buf){ .kind = BUF_ARENA, .dt = DT_F32, .elems = 64, .offset = -1 }));
    m.buffer[k] = node_make(m.ir, OP_BUFFER, DT_F32, 1, 0, NULL, 1, &k, 0, NULL);
  }
  return m;
}

static void put(Made *m, Op op, Ref range) { VEC_PUSH(&m->prog, node_make(m->ir, op, DT_NONE, 1, 1, &range, 0, NULL, 0, NULL)); }
static void load(Made *m, Ref index) {
  VEC_PUSH(&m->prog, node_make(m->ir, OP_LOAD, DT_F32, 1, 2, (Ref[]){ m->buffer[0], index }, 0, NULL, 0, NULL));
}
static void store(Made *m, Ref index) {
  const Ref src[] = { m->buffer[1], index, c_float(m->ir, DT_F32, 1) };
  VEC_PUSH(&m->prog, node_make(m->ir, OP_STORE, DT_F32, 1, 3, src, 0, NULL, 0, NULL));
}

/* Row j of the result lies in elements 16j to 16j + 15, and needs elements 8a + 4j + l. Row 1 needs what row 0 has stored. */
static void rows_that_lie_elsewhere_are_not_proved(void **state) {
  Ctx c;
  (void)state;
  ctx_init(&c);
  Made m = made_open(&c);
  IR *ir = m.ir;
  const Ref j = range_new(ir, 2, RK_LOOP), a = range_new(ir, 4, RK_REDUCE), l = range_new(ir, 4, RK_REDUCE);
  const Ref x = range_new(ir, 16, RK_LOOP);
  put(&m, OP_LOOP, j);
  put(&m, OP_LOOP, a);
  put(&m, OP_LOOP, l);
  load(&m, ix_add(ir, ix_add(ir, ix_mul(ir, a, 8), ix_mul(ir, j, 4)), l));
  put(&m, OP_END, l);
  put(&m, OP_END, a);
  put(&m, OP_LOOP, x);
  store(&m, ix_add(ir, ix_mul(ir, j, 16), x));
  put(&m, OP_END, x);
  put(&m, OP_END, j);
  assert_false(program_in_place(ir, &m.prog, 1, 0, 1));
  VEC_FREE(&m.prog);
  ir_free(ir);
  ctx_free(&c);
}

/* Two loops, one after the other, may have one range. The first one stores what the second one loads. */
static void loops_of_one_range_are_two_loops(void **state) {
  Ctx c;
  (void)state;
  ctx_init(&c);
  Made m = made_open(&c);
  const Ref r = range_new(m.ir, 4, RK_LOOP);
  put(&m, OP_LOOP, r);
  store(&m, r);
  put(&m, OP_END, r);
  put(&m, OP_LOOP, r);
  load(&m, ix_add(m.ir, r, ix_const(m.ir, 1)));
  put(&m, OP_END, r);
  assert_false(program_in_place(m.ir, &m.prog, 1, 0, 1));
  VEC_FREE(&m.prog);
  ir_free(m.ir);
  ctx_free(&c);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(proofs_are_right),
    cmocka_unit_test(rows_that_lie_elsewhere_are_not_proved),
    cmocka_unit_test(loops_of_one_range_are_two_loops),
  };
  return cmocka_run_group_tests_name("in_place", tests, NULL, NULL);
}

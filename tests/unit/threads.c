/* SPDX-License-Identifier: MIT */
/* threads.c (unit test): chunks of kernels. Run in any order they compute what the whole kernel computes. No two of them write
 * the same byte, and none writes a byte that another reads. */
#include "fixture.h"
#include "../../backends/backends.h"
#include "../../compiler/driver.h"
#include "../../compiler/interp/interp.h"
#include "../../compiler/group/group.h"
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>

/* extents that nothing divides; rows whose last tile overlaps; a border and parts of a
 * concatenation; columns; such rows turned; sums beside each other; rows and elements stored where data says; one sum for all */
static const char *const graphs[] = {
  "tgc 1 graph\na = input f32[67,131]\nb = input f32[131,145]\nar = reshape a : [67,131,1]\nae = expand ar : [67,131,145]\nbr = "
  "reshape b : [1,131,145]\n"
  "be = expand br : [67,131,145]\np = mul ae, be\ns = reduce p op=add axes=[1]\nm = max s, 0.0\noutput m\n",
  "tgc 1 graph\nx = input f32[103,119]\nm = reduce x op=max axes=[1]\nme = expand m : [103,119]\nd = sub x, me\ne = exp d\n"
  "s = reduce e op=add axes=[1]\nse = expand s : [103,119]\ny = div e, se\noutput y\n",
  "tgc 1 graph\nx = input f32[3,127,127]\np = pad x, 0.0 lo=[0,1,1] hi=[0,1,1]\nw = window p axis=1 stride=1 dilation=1 : "
  "[3,127,129,3]\n"
  "v = window w axis=2 stride=1 dilation=1 : [3,127,127,3,3]\nm = reduce v op=max axes=[3,4]\nr = reshape m : [3,127,127]\nc = "
  "cat r, x axis=0\nt = tanh c\n"
  "q = pad t, 0.0 lo=[0,1,1] hi=[0,1,1]\nqw = window q axis=1 stride=2 dilation=1 : [6,64,129,3]\nqs = reduce qw op=add "
  "axes=[3]\noutput qs\n",
  "tgc 1 graph\nx = input f32[300,277]\ny = permute x perm=[1,0]\nz = exp y\noutput z\n",
  "tgc 1 graph\nx = input f32[103,119]\nm = reduce x op=max axes=[1]\nme = expand m : [103,119]\nd = sub x, me\ne = exp d\n"
  "t = permute e perm=[1,0]\noutput t\n",
  "tgc 1 graph\nx = input f32[19,20001]\ns = reduce x op=add axes=[0]\nr = reshape s : [20001]\noutput r\n",
  "tgc 1 graph\nx = input f32[200,96]\ni = input f32[900,1]\nu = input f32[900,96]\nj = mul i, 1e4\nk = cast j : i64\nl = flmod "
  "k, 200\n"
  "y = scatter x, l, u op=none axis=0\noutput y\n",
  "tgc 1 graph\nx = input f32[64,30]\ni = input f32[64,900]\nj = mul i, 1e4\nk = cast j : i64\nl = flmod k, 30\n"
  "y = scatter x, l, i op=none axis=1\noutput y\n",
  "tgc 1 graph\nx = input f32[20001]\ne = abs x\ns = reduce e op=add axes=[0]\nse = expand s : [20001]\ny = div e, se\noutput "
  "y\n",
};

typedef struct Memory {
  void **p;
  int64_t n;
} Memory;

/* Inputs and intermediate values count up, so all differ; outputs of a kernel start as `fill`. */
static Memory memory(IR *ir, const Kernel *k, int fill) {
  Memory m = { ARENA_NEW(&ir->ctx->model, void *, ir->bufs.n), (int64_t)ir->bufs.n };
  for (size_t i = 0; i < ir->bufs.n; i++) {
    const Buf *b = &ir->bufs.p[i];
    size_t bytes = (size_t)(b->elems * dt_bytes(b->dt));
    m.p[i] = arena_alloc(&ir->ctx->model, bytes + 1);
    memset(m.p[i], fill, bytes);
    bool written = false;
    for (size_t w = 0; w < k->written.n; w++) written |= k->written.p[w] == (int)i;
    if (written) continue;
    assert_true(b->dt == DT_F32);
    if (b->kind == BUF_WEIGHT) memcpy(m.p[i], ir->tensors.p[b->slot].data, bytes);
    else for (int64_t e = 0; e < b->elems; e++) ((float *)m.p[i])[e] = (float)((e * 37 + (int64_t)i) % 1009) * 1e-3f;
  }
  return m;
}

static size_t bytes_of(const IR *ir, int buf) { return (size_t)(ir->bufs.p[buf].elems * dt_bytes(ir->bufs.p[buf].dt)); }

/* Which bytes of what the kernel writes chunk i writes: those that are the same after two fills. */
static void mark(IR *ir, const Kernel *k, int i, uint8_t **owner) {
  Memory a = memory(ir, k, 0x11), b = memory(ir, k, 0xee);
  interp_chunks(ir, k->prog.p, k->prog.n, a.p, NULL, i, i + 1, k->chunks);
  interp_chunks(ir, k->prog.p, k->prog.n, b.p, NULL, i, i + 1, k->chunks);
  for (size_t w = 0; w < k->written.n; w++) {
    const uint8_t *x = a.p[k->written.p[w]], *y = b.p[k->written.p[w]];
    for (size_t at = 0; at < bytes_of(ir, k->written.p[w]); at++) {
      if (x[at] != y[at]) continue;
      if (owner[w][at]) fail_msg("chunks %d and %d write byte %zu of buffer %d", owner[w][at] - 1, i, at, k->written.p[w]);
      owner[w][at] = (uint8_t)(i + 1);
    }
  }
}

static int check_kernel(IR *ir, const Kernel *k) {
  if (k->chunks < 2) return 0;
  Memory whole = memory(ir, k, 0x5a), parts = memory(ir, k, 0x5a);
  interp_program(ir, k->prog.p, k->prog.n, whole.p);
  for (int i = k->chunks; i-- > 0;) interp_chunks(ir, k->prog.p, k->prog.n, parts.p, NULL, i, i + 1, k->chunks);
  for (size_t w = 0; w < k->written.n; w++)
    assert_memory_equal(whole.p[k->written.p[w]], parts.p[k->written.p[w]], bytes_of(ir, k->written.p[w]));
  uint8_t **owner = ARENA_NEW(&ir->ctx->model, uint8_t *, k->written.n + 1);
  for (size_t w = 0; w < k->written.n; w++) owner[w] = ARENA_NEW(&ir->ctx->model, uint8_t, bytes_of(ir, k->written.p[w]));
  for (int i = 0; i < k->chunks; i++) mark(ir, k, i, owner);
  return 1;
}

static void chunks_are_apart(void **state) {
  static const char *const isas[] = { "portable", "x86-64-v3", "x86-64-v4" };
  (void)state;
  for (size_t g = 0; g < sizeof graphs / sizeof *graphs; g++)
    for (size_t t = 0; t < sizeof isas / sizeof *isas; t++) {
      Ctx c;
      ctx_init(&c);
      const char *why = NULL;
      const Target *target = target_find(&c.model, isas[t], &why);
      assert_non_null(target);
      Graph *graph = ir_parse_graph(&c, graphs[g], strlen(graphs[g]), "test");
      Plan *p = compile_graph(graph, &(CompileOptions){ .target = target, .backend = backends[0] });
      int shared = 0;
      for (size_t k = 0; k < p->kernels.n; k++) shared += check_kernel(p->ir, &p->kernels.p[k]);
      /* its sum is one for all elements, which no chunk should find again */
      bool single = g == sizeof graphs / sizeof *graphs - 1;
      if (!shared != single) fail_msg("graph %zu for %s: %d kernels are shared", g, isas[t], shared);
      ir_free(graph->ir);
      ctx_free(&c);
    }
}

/* A product, of whose columns another kernel finds the sums. Threads that share columns find there what they stored, those
 * that shared rows half of it; who reads everything finds all of it in two caches, and nobody finds so again. */
static void lines_have_owners(void **state) {
  enum { ROWS = 67, COLUMNS = 145, ALL = ROWS * COLUMNS };
  static const char text[] = "tgc 1 graph\na = input f32[67,131]\nb = input f32[131,145]\nar = reshape a : [67,131,1]\nae = "
                             "expand ar : [67,131,145]\nbr = reshape b : [1,131,145]\n"
                             "be = expand br : [67,131,145]\np = mul ae, be\ns = reduce p op=add axes=[1]\nm = max s, 0.0\nt = "
                             "reduce m op=add axes=[0]\nc = reshape t : [145]\noutput c\n";
  const char *why = NULL;
  Ctx c;
  (void)state;
  ctx_init(&c);
  Graph *graph = ir_parse_graph(&c, text, strlen(text), "test");
  Plan *p = compile_graph(graph, &(CompileOptions){ .target = target_find(&c.model, "x86-64-v3", &why), .backend = backends[0] });
  assert_int_equal(p->kernels.n, 2);
  const int product = p->kernels.p[0].written.p[0];
  assert_true(affinity_reading(p, product, ALL) < 0 && affinity_storing(p, product, ALL) < 0);
  step_affinity(p, NULL);
  for (size_t b = 0; b < p->ir->bufs.n; b++) /* the caller wrote its inputs */
    assert_true(affinity_reading(p, (int64_t)b, COLUMNS) == (p->ir->bufs.p[b].kind == BUF_INPUT ? 0 : -1));
  assert_true(affinity_storing(p, product, COLUMNS) == 0 && affinity_storing(p, product, ALL) == 0.5);
  affinity_note(p, product, true, ALL);
  assert_true(affinity_reading(p, product, ALL) == 0 && affinity_reading(p, product, COLUMNS) == 0.5 &&
              affinity_reading(p, product, SPAN_ONE) == 0.5);
  assert_true(fabs(affinity_reading(p, product, ALL - 7 * COLUMNS) - 7.0 / ROWS) < 1e-9); /* tiles that leave a rest */
  assert_true(affinity_reading(p, product, SPAN_NONE) == 1);
  affinity_note(p, product, false, COLUMNS);
  assert_true(affinity_reading(p, product, 1) == 0 && affinity_reading(p, product, SPAN_NONE) == 0.5);
  affinity_note(p, product, true, SPAN_ONE);
  assert_true(affinity_reading(p, product, ALL) == 0 && affinity_reading(p, product, SPAN_NONE) == 0.5);
  affinity_end(p);
  ir_free(graph->ir);
  ctx_free(&c);
}

int main(void) {
  const struct CMUnitTest tests[] = { cmocka_unit_test(chunks_are_apart), cmocka_unit_test(lines_have_owners) };
  return cmocka_run_group_tests_name("threads", tests, NULL, NULL);
}

/* SPDX-License-Identifier: MIT */
/* group.c (unit test): kernels that run chunk by chunk. Addresses that are said to be independent are so, which a look at all of
 * them shows. It tests which kernels of graphs are grouped. Groups compute what their kernels compute one after another: with
 * their shares in any order, and in pieces of memory that held other values before. */
#include "fixture.h"
#include "../../backends/backends.h"
#include "../../compiler/driver.h"
#include "../../compiler/interp/interp.h"
#include "../../compiler/group/group.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>

/* ---- addresses ---- */
enum { SPACE = 4096 };

static uint32_t seed = 1;
static int64_t pick(int64_t n) {
  seed = seed * 1664525u + 1013904223u;
  return (seed >> 8) % n;
}

static Addresses random_addresses(int64_t chunk) {
  static const int64_t steps[] = { 1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 96 };
  Addresses a = { .base = pick(40), .chunk = chunk, .chunked = chunk != 0, .n = (int)pick(4) };
  for (int i = 0; i < a.n; i++) a.term[i] = (Term){ steps[pick(12)], 2 + pick(4) };
  return a;
}

static void visit(const Addresses *a, int term, int64_t at, uint8_t *seen) {
  if (term == a->n) {
    assert_in_range(at, 0, SPACE - 1);
    seen[at] = 1;
    return;
  }
  for (int64_t k = 0; k < a->term[term].n; k++) visit(a, term + 1, at + k * a->term[term].step, seen);
}

static bool meet(const Addresses *a, const Addresses *b, int64_t chunks) {
  static uint8_t x[SPACE], y[SPACE];
  bool any = false;
  for (int64_t c = 0; c < chunks && !any; c++)
    for (int64_t d = 0; d < chunks && !any; d++) {
      if (c == d) continue;
      memset(x, 0, sizeof x);
      memset(y, 0, sizeof y);
      visit(a, 0, 500 + a->base + c * a->chunk, x);
      visit(b, 0, 500 + b->base + d * b->chunk, y);
      for (int i = 0; i < SPACE && !any; i++) any = x[i] && y[i];
    }
  return any;
}

static void independent_is_independent(void **state) {
  static const int64_t chunk[] = { 0, 1, 2, 4, 6, 8, 12, 16, 24, 48, 96, -8, -24 };
  int proved = 0, missed = 0;
  (void)state;
  for (int i = 0; i < 6000; i++) {
    const int64_t chunks = 2 + pick(3), step = chunk[pick(13)];
    Addresses a = random_addresses(step), b = random_addresses(pick(8) ? step : chunk[pick(13)]);
    if (!pick(3)) b = a, b.base += pick(3);
    const bool independent = addresses_independent(&a, &b, chunks), truth = !meet(&a, &b, chunks);
    assert_true(!independent || truth);
    proved += independent;
    missed += truth && !independent;
  }
  assert_true(proved > 800);
  assert_true(missed < 2 * proved);
}

/* a batch of rows of channels, cut along the rows: within a batch, and with a border that is read beyond */
static void rows_of_batches(void **state) {
  (void)state;
  Addresses whole = { .chunk = 4 * 10, .chunked = true, .n = 3, .term = { { 160, 3 }, { 10, 4 }, { 1, 10 } } };
  Addresses border = { .base = 10, .chunk = 4 * 10, .chunked = true, .n = 2, .term = { { 10, 4 }, { 1, 10 } } };
  Addresses other = { .chunk = 10, .chunked = true, .n = 2, .term = { { 40, 4 }, { 1, 10 } } };
  assert_true(addresses_independent(&whole, &whole, 4));
  assert_false(addresses_independent(&whole, &border, 4));
  assert_false(addresses_independent(&whole, &other, 4));
}

/* ---- graphs ---- */
#define PRODUCT(name, from, rows, depth, columns, weight)                                                                        \
  name "1 = reshape " from " : [" rows "," depth ",1]\n" name "2 = expand " name "1 : [" rows "," depth "," columns "]\n" name   \
       "3 = reshape " weight " : [1," depth "," columns "]\n" name "4 = expand " name "3 : [" rows "," depth "," columns         \
       "]\n" name "5 = mul " name "2, " name "4\n" name "6 = reduce " name "5 op=add axes=[1]\n" name " = reshape " name         \
       "6 : [" rows "," columns "]\n"

#define DEPTHWISE(name, from, h, w, c) /* padded rows, channels last; the sum of a window of 3 by 1 along the columns */               \
  name "1 = window " from " axis=1 stride=1 dilation=1 : [" h "," w "," c ",3]\n" name " = reduce " name "1 op=max axes=[3]\n"

static const struct Case {
  const char *name, *text;
  int grouped; /* kernels that are in groups; -1: all */
} cases[] = {
  { "products of rows",
    "tgc 1 graph\nx = input f32[96,24]\nu = input f32[24,32]\nv = input f32[32,24]\nw = input f32[24,8]\n" PRODUCT(
        "a", "x", "96", "24", "32", "u") PRODUCT("b", "a", "96", "32", "24", "v")
        PRODUCT("c", "b", "96", "24", "8", "w") "output c\n",
    3 },
  { "a value that is an output, too",
    "tgc 1 graph\nx = input f32[96,24]\nu = input f32[24,32]\nv = input f32[32,24]\n" PRODUCT("a", "x", "96", "24", "32", "u")
        PRODUCT("b", "a", "96", "32", "24", "v") "output a\noutput b\n",
    -1 },
  { "a second product reads the first one turned",
    "tgc 1 graph\nx = input f32[96,24]\nu = input f32[24,96]\nv = input f32[96,24]\n" PRODUCT(
        "a", "x", "96", "24", "96", "u") "t = permute a perm=[1,0]\n" PRODUCT("b", "t", "96", "96", "24", "v") "output b\n",
    0 },
  { "rows that read their neighbours",
    "tgc 1 graph\nx = input f32[98,24]\nu = input f32[24,32]\nv = input f32[32,24]\n" PRODUCT(
        "a", "x", "98", "24", "32", "u") "w1 = window a axis=0 stride=1 dilation=1 : [96,32,3]\nm = reduce w1 op=max axes=[2]\n"
                                         "n = reshape m : [96,32]\n" PRODUCT("b", "n", "96", "32", "24", "v") "output b\n",
    2 },
  { "a sum over the rows in between",
    "tgc 1 graph\nx = input f32[96,24]\nu = input f32[24,32]\n" PRODUCT(
        "a", "x", "96", "24", "32", "u") "s = reduce a op=add axes=[0]\nr = reshape s : [32]\noutput r\n",
    0 },
  { "scores, softmax, mix",
    "tgc 1 graph\nq = input f32[8,16,12]\nk = input f32[8,12,16]\nv = input f32[8,16,12]\n"
    "q1 = reshape q : [8,16,12,1]\nq2 = expand q1 : [8,16,12,16]\nk1 = reshape k : [8,1,12,16]\nk2 = expand k1 : [8,16,12,16]\np "
    "= mul q2, k2\n"
    "s = reduce p op=add axes=[2]\ns1 = reshape s : [8,16,16]\nm = reduce s1 op=max axes=[2]\nme = expand m : [8,16,16]\nd = sub "
    "s1, me\ne = exp d\n"
    "t = reduce e op=add axes=[2]\nte = expand t : [8,16,16]\ny = div e, te\ny1 = reshape y : [8,16,16,1]\ny2 = expand y1 : "
    "[8,16,16,12]\n"
    "v1 = reshape v : [8,1,16,12]\nv2 = expand v1 : [8,16,16,12]\nz = mul y2, v2\no = reduce z op=add axes=[2]\no1 = reshape o : "
    "[8,16,12]\noutput o1\n",
    -1 },
  { "rows of windows along the columns",
    "tgc 1 graph\nx = input f32[96,18,8]\nx1 = reshape x : [1728,8]\nu = input f32[8,24]\nv = input f32[24,8]\n" PRODUCT(
        "a", "x1", "1728", "8", "24",
        "u") "a0 = reshape a : [96,18,24]\n" DEPTHWISE("d", "a0", "96", "16",
                                                       "24") "e = reshape d : [1536,24]\n" PRODUCT("b", "e", "1536", "24", "8",
                                                                                                   "v") "output b\n",
    3 },
  { "what a kernel of many nests reads, too",
    "tgc 1 graph\nx = input f32[96,24]\nu = input f32[24,32]\nw = input f32[3,8]\n" PRODUCT(
        "a", "x", "96", "24", "32",
        "u") "p = pad a, 0.0 lo=[0,1] hi=[0,1] : [96,34]\np1 = window p axis=1 stride=1 dilation=1 : [96,32,3]\n"
             "p2 = reshape p1 : [96,32,3,1]\np3 = expand p2 : [96,32,3,8]\nw1 = reshape w : [1,1,3,8]\nw2 = expand w1 : "
             "[96,32,3,8]\n"
             "q = mul p3, w2\ns = reduce q op=add axes=[2]\nt = reshape s : [96,32,8]\n"
             "c = cat a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a, a axis=1\noutput t\noutput c\n",
    2 },
};

typedef struct Memory { void **p; } Memory;

static size_t bytes_of(const IR *ir, size_t buf) { return (size_t)(ir->bufs.p[buf].elems * dt_bytes(ir->bufs.p[buf].dt)); }

static Memory memory(IR *ir, int fill) {
  Memory m = { ARENA_NEW(&ir->ctx->model, void *, ir->bufs.n) };
  for (size_t i = 0; i < ir->bufs.n; i++) {
    const Buf *b = &ir->bufs.p[i];
    m.p[i] = arena_alloc(&ir->ctx->model, bytes_of(ir, i) + 1);
    memset(m.p[i], fill, bytes_of(ir, i));
    assert_true(b->dt == DT_F32);
    for (int64_t e = 0; e < b->elems && b->kind == BUF_INPUT; e++)
      ((float *)m.p[i])[e] = (float)((e * 37 + b->slot * 11) % 1009) * 1e-3f;
  }
  return m;
}

/* As run_kernel of a bundle: the kernels of a group for chunks of shares [begin, end), in the piece of share begin. */
static void run_shares(const Plan *p, size_t first, const Memory *m, int64_t begin, int64_t end) {
  const IR *ir = p->ir;
  void **at = ARENA_NEW(&p->ir->ctx->model, void *, ir->bufs.n);
  const Kernel *head = &p->kernels.p[first];
  for (size_t i = 0; i < ir->bufs.n; i++) at[i] = (char *)m->p[i] + begin * ir->bufs.p[i].piece;
  for (int64_t c = begin * head->chunks_per_task; c < end * head->chunks_per_task; c++)
    for (size_t k = first; k < first + (size_t)head->group_size; k++)
      interp_chunks(p->ir, p->kernels.p[k].prog.p, p->kernels.p[k].prog.n, at, NULL, c, c + 1, p->kernels.p[k].chunks);
}

static void run_plan(const Plan *p, const Memory *m) {
  for (size_t k = 0; k < p->kernels.n; k++) {
    const Kernel *kn = &p->kernels.p[k];
    if (kn->group_size == 1) interp_program(p->ir, kn->prog.p, kn->prog.n, m->p);
    if (kn->group_size < 2) continue;
    const int shares = kn->chunks / kn->chunks_per_task;
    for (int end = shares, begin; end; end = begin) { /* from the back, by ones and twos */
      begin = end - (end > 1 && end % 3 == 0 ? 2 : 1);
      run_shares(p, k, m, begin, end);
    }
  }
}

static Plan *compile(Ctx *c, const char *text, const char *isa, Groups groups) {
  const char *why = NULL;
  const Target *t = target_find(&c->model, isa, &why);
  Graph *g = ir_parse_graph(c, text, strlen(text), "test");
  return compile_graph(g, &(CompileOptions){ .target = t, .backend = backends[0], .precision = PREC_STRICT, .groups = groups });
}

static void groups_compute_the_same(void **state) {
  static const char *const isas[] = { "portable", "x86-64-v3", "x86-64-v4" };
  (void)state;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
    for (size_t t = 0; t < sizeof isas / sizeof *isas; t++) {
      Ctx c, d;
      ctx_init(&c);
      ctx_init(&d);
      Plan *grouped = compile(&c, cases[i].text, isas[t], GROUPS_ALL), *plain = compile(&d, cases[i].text, isas[t], GROUPS_NONE);
      int n = 0;
      for (size_t k = 0; k < grouped->kernels.n; k++) n += grouped->kernels.p[k].group_size != 1;
      const int want = cases[i].grouped < 0 ? (int)grouped->kernels.n : cases[i].grouped;
      if (n != want) fail_msg("%s for %s: %d kernels are grouped, not %d", cases[i].name, isas[t], n, want);
      for (size_t k = 0; k < plain->kernels.n; k++) assert_int_equal(plain->kernels.p[k].group_size, 1);
      Memory x = memory(grouped->ir, 0x77), y = memory(plain->ir, 0x77);
      run_plan(grouped, &x);
      run_plan(plain, &y);
      for (size_t b = 0; b < plain->ir->bufs.n; b++)
        if (plain->ir->bufs.p[b].kind == BUF_OUTPUT && memcmp(x.p[b], y.p[b], bytes_of(plain->ir, b)))
          fail_msg("%s for %s: output %zu differs", cases[i].name, isas[t], b);
      ir_free(grouped->ir);
      ir_free(plain->ir);
      ctx_free(&c);
      ctx_free(&d);
    }
}

int main(void) {
  const struct CMUnitTest tests[] = { cmocka_unit_test(independent_is_independent), cmocka_unit_test(rows_of_batches),
                                      cmocka_unit_test(groups_compute_the_same) };
  return cmocka_run_group_tests_name("group", tests, NULL, NULL);
}

/* SPDX-License-Identifier: MIT */
/* prefetch.c (unit test): requests of programs for memory ahead. Every line of weights behind the first panel is requested before
 * it is loaded. Each requested line is loaded later, or lies behind the weights. */
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

enum { LINE = 64, MAX_LINES = 1 << 16, MAX_RANGE_ID = 1 << 12 };

typedef struct Trace {
  const IR *ir;
  const Refs *prog;
  int64_t range[MAX_RANGE_ID]; /* values, by the ids of ranges */
  int lines, now;              /* lines of the weights; events so far */
  int loaded[MAX_LINES], last[MAX_LINES], asked[MAX_LINES]; /* events: first and last load, first request; 0: none */
  int behind, requests;        /* requests for what lies behind the weights, and all */
} Trace;

static int64_t value(const Trace *t, Ref r) {
  const Node *x = node(t->ir, r);
  int64_t v[3] = { 0 };
  if (x->op == OP_CONST) return x->arg[0];
  if (x->op == OP_RANGE) return t->range[x->arg[1]];
  assert_true(x->nsrc <= 3);
  for (int i = 0; i < x->nsrc; i++) v[i] = value(t, x->src[i]);
  return interp_scalar((Op)x->op, DT_I64, DT_I64, v);
}

static void event(Trace *t, const Node *x) {
  const Buf *b = &t->ir->bufs.p[node(t->ir, x->src[0])->arg[0]];
  const int bytes = dt_bytes(b->dt);
  if (b->kind != BUF_WEIGHT || b->elems * bytes <= 32768) {
    assert_true(x->op == OP_LOAD);
    return;
  }
  const int64_t from = value(t, x->src[1]) * bytes;
  t->lines = (int)((b->elems * bytes + LINE - 1) / LINE);
  t->now++;
  if (x->op == OP_PREFETCH) {
    assert_true(from >= 0);
    t->requests++;
    if (from / LINE >= t->lines) t->behind++;
    else if (!t->asked[from / LINE]) t->asked[from / LINE] = t->now;
    return;
  }
  for (int64_t at = from / LINE; at <= (from + bytes * x->lanes - 1) / LINE; at++) {
    assert_true(at < t->lines);
    if (!t->loaded[at]) t->loaded[at] = t->now;
    t->last[at] = t->now;
  }
}

static void run(Trace *t, size_t from, size_t to) {
  for (size_t i = from; i < to; i++) {
    const Node *x = node(t->ir, t->prog->p[i]);
    if (x->op == OP_LOAD || x->op == OP_PREFETCH) event(t, x);
    if (x->op != OP_LOOP) continue;
    const Node *r = node(t->ir, x->src[0]);
    size_t end = i;
    while (node(t->ir, t->prog->p[end])->op != OP_END || node(t->ir, t->prog->p[end])->src[0] != x->src[0]) end++;
    assert_true(r->arg[1] < MAX_RANGE_ID);
    for (int64_t v = 0; v < r->arg[0]; v++) {
      t->range[r->arg[1]] = v;
      run(t, i + 1, end);
    }
    i = end;
  }
}

/* rows x depth by depth x columns, the weights read as they come */
static void product(Sb *s, int rows, int depth, int columns) {
  sb_printf(s, "tgc 1 graph\nx = input f32[%d,%d]\ni = iota : i64[%d]\nc = cast i : f32\nw = reshape c : [1,%d,%d]\n", rows,
            depth, depth * columns, columns, depth);
  sb_printf(s, "xr = reshape x : [%d,1,%d]\nxe = expand xr : [%d,%d,%d]\nwe = expand w : [%d,%d,%d]\n", rows, depth, rows,
            columns, depth, rows, columns, depth);
  sb_puts(s, "p = mul xe, we\ny = reduce p op=add axes=[2]\noutput y\n");
}

/* a 3 by 3 convolution with strides of 2 of rows of channels */
static void window(Sb *s, int size, int channels, int maps) {
  const int in = 2 * size + 1;
  sb_printf(s, "tgc 1 graph\nx = input f32[%d,%d,%d]\nr = window x axis=0 stride=2 dilation=1 : [%d,%d,%d,3]\n", in, in, channels,
            size, in, channels);
  sb_printf(s, "v = window r axis=1 stride=2 dilation=1 : [%d,%d,%d,3,3]\nvr = reshape v : [%d,%d,%d,3,3,1]\n", size, size,
            channels, size, size, channels);
  sb_printf(s, "e = expand vr : [%d,%d,%d,3,3,%d]\ni = iota : i64[%d]\nc = cast i : f32\n", size, size, channels, maps,
            9 * channels * maps);
  sb_printf(s, "w = reshape c : [1,1,%d,3,3,%d]\nwe = expand w : [%d,%d,%d,3,3,%d]\n", channels, maps, size, size, channels,
            maps);
  sb_puts(s, "p = mul e, we\ny = reduce p op=add axes=[2,3,4]\noutput y\n");
}

/* The requests of a graph's kernel; *t is the caller's, because it is large. */
static void trace(Trace *t, const char *text, const char *isa) {
  Ctx c;
  const char *why;
  ctx_init(&c);
  c.quiet = true;
  Graph *g = ir_parse_graph(&c, text, strlen(text), "test.tg");
  Plan *p = compile_graph(g, &(CompileOptions){ .target = target_find(&c.model, isa, &why), .backend = backends[0] });
  assert_non_null(p);
  assert_int_equal(p->kernels.n, 1);
  memset(t, 0, sizeof *t);
  t->ir = p->ir;
  t->prog = &p->kernels.p[0].prog;
  run(t, 0, t->prog->n);
  ir_free(g->ir);
  ctx_free(&c);
}

static void lines_are_asked_for_before_they_are_loaded(void **state) {
  static const int rows[] = { 24, 30, 49 };
  static const char *const isas[] = { "x86-64-v3", "x86-64-v4" };
  Trace *t = xmalloc(sizeof *t);
  (void)state;
  for (size_t i = 0; i < 4; i++)
    for (size_t k = 0; k < 2; k++) {
      Sb s = { 0 };
      if (i < 3) product(&s, rows[i], 128, 256);
      else window(&s, 14, 16, 128);
      trace(t, s.p, isas[k]);
      int first = 0, unasked = 0;
      /* the panel that begins; a remnant's low tile requests some of its lines, too, but later */
      while (first < t->lines && !(t->asked[first] && t->asked[first] < t->loaded[first])) first++;
      if (!(first > 0 && first <= t->lines / 2))
        fail_msg("graph %zu for %s: of %d lines the first that is asked for is %d", i, isas[k], t->lines, first);
      for (int at = 0; at < t->lines; at++) {
        assert_true(t->loaded[at]);
        unasked += at >= first && !(t->asked[at] && t->asked[at] < t->loaded[at]);
        assert_true(!t->asked[at] || t->asked[at] < t->last[at]);
      }
      assert_int_equal(unasked, 0);
      assert_true(t->behind > 0 && t->behind < t->requests / 2);
      sb_free(&s);
    }
  free(t);
}

static void nothing_is_asked_for_in_vain(void **state) {
  static const struct { int rows, depth, columns; const char *isa; } none[] = {
    { 1, 128, 256, "x86-64-v4" },    /* each panel is walked once */
    { 30, 16, 64, "x86-64-v4" },     /* the nearest cache keeps all of them */
    { 30, 128, 256, "portable" },    /* no vectors, no caches worth it */
  };
  Trace *t = xmalloc(sizeof *t);
  (void)state;
  for (size_t i = 0; i < sizeof none / sizeof *none; i++) {
    Sb s = { 0 };
    product(&s, none[i].rows, none[i].depth, none[i].columns);
    trace(t, s.p, none[i].isa);
    assert_int_equal(t->requests, 0);
    sb_free(&s);
  }
  free(t);
}

/* Panels c, tiles i, and a loop inside of them on which the sum does not depend and which is not around it. */
static void loops_that_are_not_around_the_sum_do_not_count(void **state) {
  IR *ir = *state;
  const char *why;
  Ref buf[3], c = range_make(ir, 8, RK_LOOP), i = range_make(ir, 4, RK_LOOP), z = range_make(ir, 5, RK_LOOP),
              k = range_make(ir, 256, RK_REDUCE);
  for (int64_t b = 0; b < 3; b++) {
    VEC_PUSH(&ir->bufs, ((Buf){ .kind = b == 1 ? BUF_WEIGHT : BUF_ARENA, .dt = DT_F32, .elems = 8 * 256 * 16 }));
    buf[b] = node_make(ir, OP_BUFFER, DT_F32, 1, 0, NULL, 1, &b, 0, NULL);
  }
  Ref x = node_make(ir, OP_LOAD, DT_F32, 1, 2, (Ref[]){ buf[0], ix_add(ir, ix_mul(ir, i, 256), k) }, 0, NULL, 0, NULL);
  Ref all = node_make(ir, OP_BCAST, DT_F32, 16, 1, &x, 0, NULL, 0, NULL);
  Ref y = node_make(ir, OP_LOAD, DT_F32, 16, 2, (Ref[]){ buf[1], ix_add(ir, ix_mul(ir, c, 256 * 16), ix_mul(ir, k, 16)) }, 0,
                    NULL, 0, NULL);
  Ref mul = node_make(ir, OP_MUL, DT_F32, 16, 2, (Ref[]){ all, y }, 0, NULL, 0, NULL);
  Ref sum = node_make(ir, OP_RED, DT_F32, 16, 2, (Ref[]){ mul, k }, 1, (int64_t[]){ OP_ADD }, 0, NULL);
  Ref to = ix_add(ir, ix_mul(ir, ix_add(ir, ix_mul(ir, c, 4), i), 80), ix_mul(ir, z, 16));
  Ref store = node_make(ir, OP_STORE, DT_NONE, 1, 3, (Ref[]){ buf[2], to, sum }, 0, NULL, 0, NULL),
      nest = node_make(ir, OP_NEST, DT_NONE, 1, 4, (Ref[]){ store, c, i, z }, 0, NULL, 0, NULL);
  const char *given = NULL;
  Sb made = { 0 };
  const Node *parts = node(
      ir, node(ir, prefetch_nest(ir, nest, target_find(&ir->ctx->model, "x86-64-v4", &why), &given, &made))->src[0]);
  assert_string_equal(made.p, "1");
  sb_free(&made);
  assert_int_equal(parts->op, OP_SINK);
  assert_int_equal(parts->nsrc, 2);
  const Node *ask = node(ir, parts->src[1]);
  Ref want = ix_add(ir, ix_add(ir, ix_mul(ir, ix_add(ir, c, ix_const(ir, 1)), 256 * 16), ix_mul(ir, i, 256 * 16 / 4)),
                    ix_mul(ir, k, 16 / 4));
  assert_int_equal(ask->op, OP_PREFETCH);
  assert_int_equal(ask->src[0], buf[1]);
  assert_int_equal(ask->src[1], want);
  assert_int_equal(ask->arg[0], 1);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(lines_are_asked_for_before_they_are_loaded),
    cmocka_unit_test(nothing_is_asked_for_in_vain),
    cmocka_unit_test_setup_teardown(loops_that_are_not_around_the_sum_do_not_count, setup, teardown),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

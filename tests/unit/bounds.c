/* SPDX-License-Identifier: MIT */
/* bounds.c (unit test): the proof that accesses lie inside their buffers, held against every value of every loop. An access
 * that is proved never leaves its buffer; an access whose gate is taken away is proved just where it does not need the gate;
 * an access that is not proved is clamped. */
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

/* Graphs whose loads need conditions of several selections, or of selections behind views. */
static const char *const graphs[] = {
  /* a window over padding that a function keeps from being folded away */
  "x = input f32[7,9]\ne = exp x\np = pad e, 1.0 lo=[1,2] hi=[2,1]\nw = window p axis=0 stride=1 dilation=2 : [6,12,3]\n"
  "v = window w axis=1 stride=2 dilation=1 : [6,5,3,3]\ny = reduce v op=max axes=[2,3]\noutput y\n",
  /* padding of padding, with other values */
  "x = input f32[5,6]\nn = neg x\np = pad n, 1.0 lo=[1,0] hi=[0,2]\ns = sin p\n"
  "q = pad s, 2.0 lo=[0,3] hi=[2,0]\ny = exp q\noutput y\n",
  /* the middle of three parts, beneath padding */
  "a = input f32[3,5]\nb = input f32[4,5]\nc = input f32[2,5]\nea = exp a\neb = neg b\nk = cat ea, eb, c axis=0\n"
  "p = pad k, 0 lo=[2,1] hi=[1,2]\ns = abs p\nt = shrink s begin=[1,0] step=[2,1] : [5,8]\noutput t\n",
  /* a clamped index, and padding that moves what it points to */
  "x = input f32[6]\ni = input i64[8]\ne = exp x\np = pad e, 0 lo=[3] hi=[2]\ny = gather p, i axis=0\noutput y\n",
  /* the same, padded and selected once more */
  "x = input f32[6]\ni = input i64[8]\nz = input f32[5]\np = pad x, 0 lo=[3] hi=[2]\ng = gather p, i axis=0\nn = neg g\n"
  "c = cat z, n, z axis=0\nq = pad c, 1.0 lo=[1] hi=[1]\ny = sqrt q\noutput y\n",
  /* rows that reshapes take apart: quotients and remainders */
  "x = input f32[4,6]\ne = exp x\np = pad e, 0 lo=[1,1] hi=[0,1]\nr = reshape p : [8,5]\n"
  "s = shrink r begin=[1,0] step=[1,1] : [6,5]\n"
  "t = reshape s : [5,6]\nq = pad t, 0 lo=[1,0] hi=[0,3]\nf = reshape q : [54]\ny = neg f\noutput y\n",
  /* rows and columns that overlap are summed, as Col2Im does */
  "x = input f32[4,9,4]\np = pad x, 0 lo=[0,0,2] hi=[0,0,2]\nr = reshape p : [4,72]\nq = pad r, 0 lo=[0,1] hi=[0,0]\n"
  "w = window q axis=1 stride=7 dilation=3 : [4,9,6]\ny = reduce w op=add axes=[2]\noutput y\n",
};
static const char *const isas[] = { "portable", "x86-64", "x86-64-v3", "x86-64-v4", "neon", "cortex-m7" };

static Plan *compile(Ctx *c, const char *body, const char *isa) {
  const char *why;
  char *text = arena_printf(&c->model, "tgc 1 graph\n%s", body);
  Graph *g = ir_parse_graph(c, text, strlen(text), "test.tg");
  return compile_graph(g, &(CompileOptions){ .target = target_find(&c->model, isa, &why), .backend = backends[0] });
}

/* ---- all values of all loops ---- */

enum { MAX_RANGE_ID = 1 << 14 };
typedef struct World { const IR *ir; int64_t range[MAX_RANGE_ID]; bool data; } World;

static int64_t value(World *w, Ref r) {
  const Node *x = node(w->ir, r);
  int64_t v[3] = { 0 };
  if (x->op == OP_CONST) return x->arg[0];
  if (x->op == OP_RANGE) return w->range[x->arg[1]];
  if (x->op == OP_LOAD) {
    w->data = true;
    return 0;
  }
  assert_true(x->nsrc <= 3);
  for (int i = 0; i < x->nsrc; i++) v[i] = value(w, x->src[i]);
  return interp_scalar((Op)x->op, (DType)x->dt, (DType)node(w->ir, x->src[x->nsrc - 1])->dt, v);
}

/* Where its gate is open the access is inside, whatever values the loops have; data: it depends on what is loaded. */
static bool stays_inside(World *w, const Node *x, bool *data) {
  const int64_t elems = w->ir->bufs.p[node(w->ir, x->src[0])->arg[0]].elems;
  const int lanes = x->op == OP_STORE ? node(w->ir, x->src[2])->lanes : x->lanes;
  const Ref gate = x->op == OP_STORE ? (x->nsrc == 4 ? x->src[3] : 0) : x->nsrc == 4 ? x->src[2] : 0;
  Refs ranges = { 0 }, more = { 0 };
  bool inside = true, done = false;
  collect_ranges(w->ir, x->src[1], &ranges);
  if (gate) collect_ranges(w->ir, gate, &more);
  for (size_t i = 0; i < more.n; i++)
    if (range_place(&ranges, more.p[i]) < 0) VEC_PUSH(&ranges, more.p[i]);
  for (size_t i = 0; i < ranges.n; i++) {
    assert_true(node(w->ir, ranges.p[i])->arg[1] < MAX_RANGE_ID);
    w->range[node(w->ir, ranges.p[i])->arg[1]] = 0;
  }
  w->data = false;
  while (!done && inside) {
    const bool open = !gate || value(w, gate);
    const int64_t at = open ? value(w, x->src[1]) : 0;
    inside = !open || (at >= 0 && at + lanes <= elems);
    done = true;
    for (size_t i = 0; i < ranges.n && done; i++) {
      int64_t *now = &w->range[node(w->ir, ranges.p[i])->arg[1]];
      done = ++*now == range_extent(node(w->ir, ranges.p[i]));
      if (done) *now = 0;
    }
  }
  VEC_FREE(&ranges);
  VEC_FREE(&more);
  *data = w->data;
  return inside;
}

static void the_proof_agrees_with_all_values(void **state) {
  World *w = xcalloc(1, sizeof *w);
  int gates = 0, needed = 0;
  (void)state;
  for (size_t i = 0; i < sizeof graphs / sizeof *graphs; i++)
    for (size_t k = 0; k < sizeof isas / sizeof *isas; k++) {
      Ctx c;
      ctx_init(&c);
      c.quiet = true;
      Plan *p = compile(&c, graphs[i], isas[k]);
      IR *ir = p->ir;
      Bounds *b = bounds_open(p);
      w->ir = ir;
      for (size_t n = 0; n < p->kernels.n; n++) {
        const Refs *prog = &p->kernels.p[n].prog;
        assert_int_equal(p->kernels.p[n].bounds.clamped, 0);
        bounds_note(b, &p->kernels.p[n]);
        for (size_t j = 0; j < prog->n; j++) {
          const Node *x = node(ir, prog->p[j]);
          bool data;
          if (x->op != OP_LOAD && x->op != OP_STORE) continue;
          assert_int_not_equal(bounds_of(b, prog->p[j]), PROOF_NONE);
          const bool inside = stays_inside(w, x, &data);
          assert_true(inside || data);
          if (x->op != OP_LOAD || x->nsrc != 4) continue;
          /* without its gate */
          const Ref bare = node_make(ir, OP_LOAD, (DType)x->dt, x->lanes, 2, x->src, 0, NULL, 0, NULL);
          const bool proved = bounds_of(b, bare) != PROOF_NONE, fits = stays_inside(w, node(ir, bare), &data);
          if (!data && proved != fits)
            fail_msg("graph %zu for %s: an access without its gate: proved %d, inside %d", i, isas[k], proved, fits);
          gates++;
          needed += !fits;
        }
      }
      bounds_close(b);
      ir_free(ir);
      ctx_free(&c);
    }
  if (gates < 150 || needed < 80) fail_msg("%d gates, %d of them needed", gates, needed);
  free(w);
}

/* ---- by hand ---- */

/* y[r] = x[index], for r in 0 .. 9; x has elems elements */
static Refs copy_program(IR *ir, Ref r, Ref index, int64_t elems) {
  Refs prog = { 0 };
  Ref buf[2];
  for (int64_t i = 0; i < 2; i++) {
    const int64_t id = (int64_t)ir->bufs.n;
    VEC_PUSH(&ir->bufs, ((Buf){ .kind = BUF_ARENA, .dt = DT_F32, .elems = i ? 10 : elems }));
    buf[i] = node_make(ir, OP_BUFFER, DT_F32, 1, 0, NULL, 1, &id, 0, NULL);
    VEC_PUSH(&prog, buf[i]);
  }
  VEC_PUSH(&prog, r);
  VEC_PUSH(&prog, node_make(ir, OP_LOOP, DT_NONE, 1, 1, &r, 0, NULL, 0, NULL));
  Refs all = { 0 };
  ir_toposort(ir, &index, 1, &all);
  for (size_t i = 0; i < all.n; i++)
    if (all.p[i] != r) VEC_PUSH(&prog, all.p[i]);
  VEC_FREE(&all);
  const Ref load = node_make(ir, OP_LOAD, DT_F32, 1, 2, (Ref[]){ buf[0], index }, 0, NULL, 0, NULL);
  VEC_PUSH(&prog, load);
  VEC_PUSH(&prog, node_make(ir, OP_STORE, DT_F32, 1, 3, (Ref[]){ buf[1], r, load }, 0, NULL, 0, NULL));
  VEC_PUSH(&prog, node_make(ir, OP_END, DT_NONE, 1, 1, &r, 0, NULL, 0, NULL));
  return prog;
}

static void what_is_not_proved_is_clamped(void **state) {
  IR *ir = *state;
  const Ref r = range_make(ir, 10, RK_LOOP);
  Kernel k = { .prog = copy_program(ir, r, ix_add(ir, r, ix_const(ir, -2)), 6) };
  Plan p = { .ir = ir };
  Bounds *b = bounds_open(&p);
  kernel_bounds(b, &k);
  bounds_close(b);
  assert_int_equal(k.bounds.accesses, 2);
  assert_int_equal(k.bounds.clamped, 1);
  ir_verify_program(ir, k.prog.p, k.prog.n);
  float x[6] = { 10, 11, 12, 13, 14, 15 }, y[10];
  interp_program(ir, k.prog.p, k.prog.n, (void *[]){ x, y });
  for (int i = 0; i < 10; i++) assert_true(y[i] == (i < 2 ? 10 : i > 7 ? 15 : (float)(8 + i)));
  VEC_PUSH(&p.kernels, k);
  Sb why = { 0 };
  assert_true(plan_in_bounds(&p, &why));
  VEC_FREE(&p.kernels);
  VEC_FREE(&k.prog);
}

/* y[index .. index + 3] = x[index .. index + 3]: lanes outside of buffers of 6 elements move no other lane */
static void lanes_outside_move_no_others(void **state) {
  IR *ir = *state;
  for (int wide = 0; wide < 2; wide++)
    for (int64_t at = -6; at <= 9; at++) {
      Refs prog = { 0 };
      Ref buf[2];
      const Ref index = c_int(ir, wide ? DT_I64 : DT_I32, at);
      ir->bufs.n = 0;
      for (int64_t i = 0; i < 2; i++) {
        const int64_t id = (int64_t)ir->bufs.n;
        VEC_PUSH(&ir->bufs, ((Buf){ .kind = BUF_ARENA, .dt = DT_F32, .elems = 6 }));
        buf[i] = node_make(ir, OP_BUFFER, DT_F32, 1, 0, NULL, 1, &id, 0, NULL);
        VEC_PUSH(&prog, buf[i]);
      }
      VEC_PUSH(&prog, index);
      const Ref load = node_make(ir, OP_LOAD, DT_F32, 4, 2, (Ref[]){ buf[0], index }, 0, NULL, 0, NULL);
      VEC_PUSH(&prog, load);
      VEC_PUSH(&prog, node_make(ir, OP_STORE, DT_F32, 1, 3, (Ref[]){ buf[1], index, load }, 0, NULL, 0, NULL));
      Kernel k = { .prog = prog };
      Plan p = { .ir = ir };
      Bounds *b = bounds_open(&p);
      kernel_bounds(b, &k);
      bounds_close(b);
      assert_int_equal(k.bounds.clamped, at < 0 || at > 2 ? 2 : 0);
      ir_verify_program(ir, k.prog.p, k.prog.n);
      float x[6] = { 10, 11, 12, 13, 14, 15 }, y[6] = { 0 };
      interp_program(ir, k.prog.p, k.prog.n, (void *[]){ x, y });
      for (int64_t i = 0; i < 6; i++) assert_true(y[i] == (i >= at && i < at + 4 ? x[i] : 0));
      VEC_PUSH(&p.kernels, k);
      Sb why = { 0 };
      assert_true(plan_in_bounds(&p, &why));
      VEC_FREE(&p.kernels);
      VEC_FREE(&k.prog);
    }
}

static void an_access_outside_is_named(void **state) {
  IR *ir = *state;
  const Ref r = range_make(ir, 10, RK_LOOP);
  Kernel k = { .prog = copy_program(ir, r, ix_mul(ir, r, 2), 18) };
  Plan p = { .ir = ir };
  Sb why = { 0 };
  VEC_PUSH(&p.kernels, k);
  assert_false(plan_in_bounds(&p, &why));
  assert_non_null(strstr(why.p, "kernel 0: LOAD"));
  sb_free(&why);
  VEC_FREE(&p.kernels);
  VEC_FREE(&k.prog);
}

/* An expression that intervals say nothing about is run at every value: (r * r) % 7 is at most 4. */
static void ranges_are_run_where_intervals_end(void **state) {
  IR *ir = *state;
  const Ref r = range_make(ir, 10, RK_LOOP);
  const Ref square = node_make(ir, OP_MUL, DT_I64, 1, 2, (Ref[]){ r, r }, 0, NULL, 0, NULL);
  const Ref rest = node_make(ir, OP_FLMOD, DT_I64, 1, 2, (Ref[]){ square, ix_const(ir, 7) }, 0, NULL, 0, NULL);
  for (int64_t elems = 4; elems <= 5; elems++) {
    Kernel k = { .prog = copy_program(ir, r, rest, elems) };
    Plan p = { .ir = ir };
    Bounds *b = bounds_open(&p);
    kernel_bounds(b, &k);
    bounds_close(b);
    assert_int_equal(k.bounds.by_ranges, elems == 5);
    assert_int_equal(k.bounds.clamped, elems == 4);
    VEC_FREE(&k.prog);
  }
}

/* The same of an index that data gives: v * v % 7 + v is at most 9 for v in 0 .. 8, and 13 for v = 9. */
static void values_of_clamped_data_are_tried(void **state) {
  IR *ir = *state;
  const Ref i = ix_const(ir, 0);
  for (int most = 8; most <= 9; most++) {
    const int64_t id = (int64_t)ir->bufs.n;
    VEC_PUSH(&ir->bufs, ((Buf){ .kind = BUF_INPUT, .dt = DT_I64, .elems = 1 }));
    const Ref r = range_make(ir, 1, RK_LOOP), data = node_make(ir, OP_BUFFER, DT_I64, 1, 0, NULL, 1, &id, 0, NULL);
    const Ref load = node_make(ir, OP_LOAD, DT_I64, 1, 2, (Ref[]){ data, i }, 0, NULL, 0, NULL);
    const Ref low = node_make(ir, OP_MAX, DT_I64, 1, 2, (Ref[]){ load, i }, 0, NULL, 0, NULL);
    const Ref v = node_make(ir, OP_MIN, DT_I64, 1, 2, (Ref[]){ low, ix_const(ir, most) }, 0, NULL, 0, NULL);
    const Ref square = node_make(ir, OP_MUL, DT_I64, 1, 2, (Ref[]){ v, v }, 0, NULL, 0, NULL);
    const Ref rest = node_make(ir, OP_FLMOD, DT_I64, 1, 2, (Ref[]){ square, ix_const(ir, 7) }, 0, NULL, 0, NULL);
    Kernel k = { .prog = copy_program(ir, r, node_make(ir, OP_ADD, DT_I64, 1, 2, (Ref[]){ rest, v }, 0, NULL, 0, NULL), 10) };
    Plan p = { .ir = ir };
    Bounds *b = bounds_open(&p);
    kernel_bounds(b, &k);
    bounds_close(b);
    assert_int_equal(k.bounds.by_ranges, most == 8);
    assert_int_equal(k.bounds.clamped, most == 9);
    VEC_FREE(&k.prog);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(the_proof_agrees_with_all_values),
    cmocka_unit_test_setup_teardown(what_is_not_proved_is_clamped, setup, teardown),
    cmocka_unit_test_setup_teardown(lanes_outside_move_no_others, setup, teardown),
    cmocka_unit_test_setup_teardown(an_access_outside_is_named, setup, teardown),
    cmocka_unit_test_setup_teardown(ranges_are_run_where_intervals_end, setup, teardown),
    cmocka_unit_test_setup_teardown(values_of_clamped_data_are_tried, setup, teardown),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: MIT */
/* opts.c (unit test): schedules as text. Every schedule that opts_check lets pass computes what the empty one
 * does, also with another schedule for a rest or a border; the text of every schedule reads back with all that it leaves, and no
 * text harms. */
#include "fixture.h"
#include "../../backends/backends.h"
#include "../../compiler/interp/interp.h"
#include "../../compiler/driver.h"
#include "../../compiler/opt/opts.h"
#include "../../compiler/tune/tune.h"
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>

enum { TRIES = 600 };

/* shapes that no tile divides, reductions of all kinds, rows, gathers, windows, padding, half precision */
#define NINE " -7, 120, 3, 0, -128, 127, 55, -1, 9,"
#define WEIGHTS                                                                                                                  \
  NINE NINE NINE NINE NINE NINE NINE NINE NINE NINE NINE NINE NINE NINE NINE NINE NINE NINE NINE NINE                            \
      " -7, 120, 3, 0, -128, 127, 55, -1, 9"
static const char *const graphs[] = {
  "tgc 1 graph\na = input f32[13,9]\nb = input f32[9,11]\nar = reshape a : [13,9,1]\nae = expand ar : [13,9,11]\nbr = reshape b "
  ": [1,9,11]\n"
  "be = expand br : [13,9,11]\np = mul ae, be\ns = reduce p op=add axes=[1]\nm = max s, 0.0\noutput m\n",
  "tgc 1 graph\nx = input f32[5,19]\nm = reduce x op=max axes=[1]\nme = expand m : [5,19]\nd = sub x, me\ne = exp d\n"
  "s = reduce e op=add axes=[1]\nse = expand s : [5,19]\ny = div e, se\noutput y\n",
  "tgc 1 graph\nx = input f32[3,10,10]\np = pad x, 0.0 lo=[0,1,1] hi=[0,1,1]\nw = window p axis=1 stride=1 dilation=1 : "
  "[3,10,12,3]\n"
  "v = window w axis=2 stride=1 dilation=1 : [3,10,10,3,3]\nm = reduce v op=max axes=[3,4]\noutput m\n",
  "tgc 1 graph\nx = input f16[7,6]\ny = permute x perm=[1,0]\nz = add y, y\noutput z\n",
  "tgc 1 graph\nx = input u8[4,33]\nc = cast x : i32\ns = reduce c op=add axes=[1]\noutput s\n",
  "tgc 1 graph\nx = input f32[5,6,7]\ns = reduce x op=add axes=[1,2]\nm = reduce x op=max axes=[0,1]\nsr = reshape s : [5,1]\n"
  "mr = reshape m : [1,7]\nse = expand sr : [5,7]\nme = expand mr : [5,7]\ny = mul se, me\noutput y\n",
  "tgc 1 graph\nx = input f32[3,9,9]\nw = window x axis=1 stride=1 dilation=1 : [3,5,9,5]\nv = window w axis=2 stride=1 "
  "dilation=1 : [3,5,5,5,5]\n"
  "s = reduce v op=add axes=[0,3,4]\noutput s\n",
  /* borders: of a picture that is only read, of a window, and a part of a concatenation */
  "tgc 1 graph\nx = input f32[7,11]\np = pad x, 1.0 lo=[1,2] hi=[2,1]\nz = add p, p\noutput z\n",
  "tgc 1 graph\nx = input f32[6,23]\np = pad x, 0.0 lo=[0,1] hi=[0,1]\nw = window p axis=1 stride=1 dilation=1 : [6,23,3]\n"
  "s = reduce w op=add axes=[2]\noutput s\n",
  "tgc 1 graph\nx = input f32[40]\ns = reduce x op=mul axes=[0]\noutput s\n",
  "tgc 1 graph\na = input u8[6,9]\nw = weight i8[9,21] {" WEIGHTS
  "}\nai = cast a : i32\nwi = cast w : i32\nar = reshape ai : [6,9,1]\n"
  "p = mul ar, wi\ns = reduce p op=add axes=[1]\noutput s\n",
  "tgc 1 graph\nx = input u8[7,12]\na = shrink x begin=[0,0] step=[1,1] : [6,9]\nw = weight i8[9,21] {" WEIGHTS
  "}\nai = cast a : i32\nwi = cast w : i32\n"
  "ar = reshape ai : [6,9,1]\np = mul ar, wi\ns = reduce p op=add axes=[1]\noutput s\n",
  /* lanes at strides: planes interleaved, steps, columns of few and of many rows, backwards, wider and narrower elements */
  "tgc 1 graph\nx = input f32[3,7,11]\ny = permute x perm=[1,2,0]\nz = add y, y\noutput z\n",
  "tgc 1 graph\nx = input f32[5,67]\na = shrink x begin=[0,0] step=[1,2] : [5,33]\nb = shrink x begin=[0,1] step=[1,2] : "
  "[5,33]\ny = sub a, b\noutput y\n",
  "tgc 1 graph\nx = input f32[70]\na = shrink x begin=[0] step=[3] : [23]\nb = shrink x begin=[69] step=[-3] : [23]\ny = sub a, "
  "b\noutput y\n",
  "tgc 1 graph\nx = input f32[7,20,6]\ny = permute x perm=[2,0,1]\nz = add y, y\noutput z\n",
  "tgc 1 graph\nx = input f64[6,21]\ny = permute x perm=[1,0]\nz = add y, y\noutput z\n",
  "tgc 1 graph\nx = input f16[9,40]\ny = permute x perm=[1,0]\noutput y\n",
  "tgc 1 graph\nx = input u8[40,34]\ny = permute x perm=[1,0]\noutput y\n",
  /* groups, whose results lie side by side: of so many as are summed, of more, of fewer; constant and not */
  "tgc 1 graph\nx = input f32[5,4,2]\nw = input f32[4,2,2]\nxr = reshape x : [5,4,2,1]\nxe = expand xr : [5,4,2,2]\np = mul xe, "
  "w\ns = reduce p op=add axes=[2]\noutput s\n",
  "tgc 1 graph\nx = input f32[3,5,4]\nw = input f32[5,4,4]\nxr = reshape x : [3,5,4,1]\nxe = expand xr : [3,5,4,4]\np = mul xe, "
  "w\ns = reduce p op=add axes=[2]\noutput s\n",
  "tgc 1 graph\nx = input f32[3,5,12]\nw = input f32[5,12,4]\nxr = reshape x : [3,5,12,1]\nxe = expand xr : [3,5,12,4]\np = mul "
  "xe, w\ns = reduce p op=add axes=[2]\noutput s\n",
  "tgc 1 graph\nx = input f32[3,9,1]\nw = input f32[9,1,4]\nxe = expand x : [3,9,4]\nwr = reshape w : [1,9,4]\np = mul xe, wr\ny "
  "= max p, 0.0\noutput y\n",
  "tgc 1 graph\na = input u8[6,3,4]\nw = weight i8[3,4,4] {" NINE NINE NINE NINE NINE
  " -7, 120, 3}\nai = cast a : i32\nwi = cast w : i32\nar = reshape ai : [6,3,4,1]\nae = expand ar : [6,3,4,4]\n"
  "p = mul ae, wi\ns = reduce p op=add axes=[2]\noutput s\n",
  /* scatters: of rows, of columns by an index of their own each, one place again and again, places known to be there */
  "tgc 1 graph\nx = input f32[13,19]\ni = input i64[23,1]\nu = input f32[23,19]\ny = scatter x, i, u op=add axis=0\noutput y\n",
  "tgc 1 graph\nx = input f32[5,9]\ni = input i64[5,31]\nu = input f32[5,31]\nv = neg u\ny = scatter x, i, v op=none "
  "axis=1\noutput y\n",
  "tgc 1 graph\nx = input f32[3,4,18]\ni = input i64[3,1,1]\nu = input f32[3,11,18]\ny = scatter x, i, u op=add axis=1\noutput "
  "y\n",
  "tgc 1 graph\nx = input f32[7,21]\nj = iota : i64[12]\nk = fldiv j, 2\ni = reshape k : [12,1]\nu = input f32[12,21]\nr = "
  "reshape u : [4,3,21]\n"
  "s = reduce r op=max axes=[1]\nse = expand s : [4,3,21]\nd = reshape se : [12,21]\nv = sub u, d\ny = scatter x, i, v op=none "
  "axis=0\noutput y\n",
  /* copies of a product whose gate is closed: their sums vary with fewer loops than the others' */
  "tgc 1 graph\nx = input f32[9,6]\nw = input f32[9,5,2]\np = pad w, 0.0 lo=[0,0,1] hi=[0,0,1] : [9,5,4]\na = reshape p : "
  "[9,5,4,1]\nb = expand a : [9,5,4,6]\n"
  "c = reshape x : [9,1,1,6]\nd = expand c : [9,5,4,6]\ne = mul b, d\ns = reduce e op=add axes=[0]\noutput s\n",
};

static uint32_t seed = 1;
static int roll(int n) { return (int)((seed = seed * 1664525u + 1013904223u) >> 16) % n; }

static const Target *target(Ctx *c, const char *isa) {
  const char *why = NULL;
  const Target *t = target_find(&c->model, isa, &why);
  if (!t) fail_msg("%s: %s", isa, why);
  return t;
}

static const char *current;
static const char *find(ScheduleSource *s, const char *key, bool *partial) {
  (void)s, (void)key, (void)partial;
  return current;
}

static void random_text(Sb *s) {
  static const char *const word[] = { "vec", "unroll", "unroll", "partial" };
  static const int number[] = { 2, 2, 3, 4, 4, 5, 8, 16 };
  sb_puts(s, "{");
  for (int n = roll(5); n > 0; n--) {
    int w = roll(10), r = roll(5);
    if (w == 9) {
      sb_printf(s, " peel(r%d)", roll(3));
      continue;
    }
    if (w > 6) sb_printf(s, w > 7 ? " outer(r%d)" : " tile(r%d,%d)", r, number[roll(8)] * (1 + roll(2)));
    else if (w == 6) sb_printf(s, roll(2) ? " outer(r%d) stage(r%d)" : " stage(r%d)", r, r);
    else if (w == 5) sb_printf(s, roll(2) ? " tc(r%d,vpmaddwd)" : " tc(r%d,vpmaddwd) stage(r0)", r);
    else if (w == 4) sb_printf(s, " outer(r%d)", r);
    else sb_printf(s, " %s(r%d,%d)", word[w], r, number[roll(8)]);
  }
  sb_puts(s, " }");
}

/* packed: from this number on, weights are packed as the plan says */
static void **memory(const Plan *plan, size_t packed) {
  IR *ir = plan->ir;
  void **mem = ARENA_NEW(&ir->ctx->model, void *, ir->bufs.n);
  for (size_t i = 0; i < ir->bufs.n; i++) {
    const Buf *b = &ir->bufs.p[i];
    size_t bytes = (size_t)(b->elems * dt_bytes(b->dt));
    char *p = mem[i] = arena_alloc(&ir->ctx->model, bytes + 1);
    if (b->packed && i >= packed) packed_gather(ir, &plan->weights.packed.p[b->packed - 1], p);
    else if (b->kind == BUF_WEIGHT && !b->packed) memcpy(p, ir->tensors.p[b->slot].data, bytes);
    for (int64_t k = 0; k < b->elems && b->kind != BUF_WEIGHT; k++) {
      int64_t v = double_to_bits(b->dt, (double)((k * 7 + k / 5) % 5 - 2 + (b->dt == DT_U8 ? 2 : 0)));
      memcpy(p + k * dt_bytes(b->dt), &v, (size_t)dt_bytes(b->dt));
    }
  }
  for (size_t i = 0; i < plan->weights.packed.n; i++)
    packed_gather(ir, &plan->weights.packed.p[i], mem[plan->weights.packed.p[i].buf]);
  return mem;
}

static void same(const IR *ir, const Kernel *k, void **got, void **want) {
  for (size_t i = 0; i < k->written.n; i++) {
    const Buf *b = &ir->bufs.p[k->written.p[i]];
    for (int64_t at = 0; at < b->elems; at++) {
      int64_t x = 0, y = 0;
      memcpy(&x, (char *)got[k->written.p[i]] + at * dt_bytes(b->dt), (size_t)dt_bytes(b->dt));
      memcpy(&y, (char *)want[k->written.p[i]] + at * dt_bytes(b->dt), (size_t)dt_bytes(b->dt));
      double p = dt_float(b->dt) ? bits_to_double(b->dt, x) : (double)x,
             q = dt_float(b->dt) ? bits_to_double(b->dt, y) : (double)y;
      if (!(fabs(p - q) <= 1e-5 * fabs(q))) fail_msg("%s: element %lld is %g, not %g", current, (long long)at, p, q);
    }
  }
}

/* Lowers kernel k of p by the schedule `current` and runs it. */
static Kernel lowered(Plan *p, int k, void ***mem) {
  ScheduleSource given = { .name = "test", .find = find };
  PlanInputs in = *p->in;
  in.schedules = &given;
  Plan one = { .in = &in, .g = p->g, .ir = p->ir };
  size_t bufs = p->ir->bufs.n;
  VEC_PUSH(&one.kernels, ((Kernel){ .sink = p->kernels.p[k].sink }));
  kernel_lower(&one, 0);
  Kernel out = one.kernels.p[0];
  *mem = memory(&one, bufs);
  VEC_FREE(&one.kernels);
  ir_verify_program(p->ir, out.prog.p, out.prog.n);
  VEC_FREE(&one.weights.packed);
  interp_program(p->ir, out.prog.p, out.prog.n, *mem);
  return out;
}

/* The schedule with another one for one of its rests or borders, at any depth; NULL: it has none */
static const char *with_other_part(Ctx *c, const char *opts, const char *part) {
  const char *at[64];
  int n = 0;
  for (const char *p = opts + 1; n < 64 && (p = strchr(p, '{')); p++) at[n++] = p;
  if (!n) return NULL;
  const char *from = at[roll(n)];
  return arena_printf(&c->model, "%.*s%s%s", (int)(from - opts), opts, part, opts_end(from, opts + strlen(opts)));
}

/* The text of applied opts is complete: it reads back, legal, as the same text. */
static void complete_text_reads_back(Plan *p, const NestSchedule *s) {
  const Target *t = p->in->target;
  Opts o;
  Sb text[2] = { { 0 } };
  const char *wrong = opts_parse(p->ir, s->nest, t, s->opts, strlen(s->opts), &o);
  if (wrong) fail_msg("%s of %s: %s", s->opts, current, wrong);
  for (int i = 0; i < 2; i++) {
    opts_print(p->ir, s->nest, &o, &text[i]);
    opts_complete(p->ir, s->nest, t, &o);
  }
  assert_string_equal(text[0].p, s->opts);
  assert_string_equal(text[1].p, s->opts);
  for (int i = 0; i < 2; i++) sb_free(&text[i]);
}

static void legal_schedules_compute_the_same(void **state) {
  (void)state;
  int applied = 0, staged = 0, grouped = 0, shuffled = 0, tiled = 0, peeled = 0, nested = 0;
  for (size_t i = 0; i < sizeof graphs / sizeof *graphs; i++) {
    Ctx c;
    ctx_init(&c);
    c.quiet = true;
    Graph *g = ir_parse_graph(&c, graphs[i], strlen(graphs[i]), "test.tg");
    Plan *p = compile_graph(g, &(CompileOptions){ .target = target(&c, "x86-64-v3"), .backend = backends[0] });
    assert_non_null(p);
    for (int k = 0; k < (int)p->kernels.n; k++) {
      void **want, **got;
      current = "{ }";
      lowered(p, k, &want);
      for (int n = 0; n < TRIES; n++) {
        Sb text = { 0 };
        random_text(&text);
        current = text.p;
        Kernel x = lowered(p, k, &got);
        peeled += !strcmp(x.nests.p[0].from, "test") && strstr(current, "peel");
        tiled += !strcmp(x.nests.p[0].from, "test") && strstr(current, "tile");
        same(p->ir, &x, got, want);
        applied += !strcmp(x.nests.p[0].from, "test") && strlen(current) > 3;
        complete_text_reads_back(p, &x.nests.p[0]);
        staged += x.locals.n > 0;
        for (size_t r = 0; r < x.prog.n; r++) {
          shuffled += node(p->ir, x.prog.p[r])->op == OP_SHUFFLE;
          grouped += node(p->ir, x.prog.p[r])->op == OP_DOT && x.locals.n > 0;
        }
        const uint32_t next = seed;
        Sb other = { 0 };
        random_text(&other);
        current = n % 4 ? NULL : with_other_part(&c, x.nests.p[0].opts, other.p);
        if (current) {
          x = lowered(p, k, &got);
          same(p->ir, &x, got, want);
          nested += !strcmp(x.nests.p[0].from, "test");
        }
        seed = next;
        sb_free(&other);
        sb_free(&text);
      }
    }
    ir_free(g->ir);
    ctx_free(&c);
  }
  assert_true(applied > 100 && staged > 10 && grouped > 0 && shuffled > 1000 && tiled > 50 && peeled > 10 && nested > 100);
}

typedef VEC(const char *) Texts;
typedef struct Around { Plan *p; Texts all; } Around;

static void take_text(void *arg, const char *text) {
  Around *a = arg;
  Opts o;
  assert_null(opts_parse(a->p->ir, a->p->kernels.p[0].nests.p[0].nest, a->p->in->target, text, strlen(text), &o));
  VEC_PUSH(&a->all, arena_str(&a->p->ir->ctx->model, text, strlen(text)));
}

static bool is_among(const Texts *all, const char *text) {
  for (size_t i = 0; i < all->n; i++)
    if (!strcmp(all->p[i], text)) return true;
  return false;
}

/* The tuner tries tiles that divide 15 rows, and tiles of as many sums as there are registers; they compute what the empty
 * schedule does. */
static void tiles_fill_the_registers(void **state) {
  static const char text[] = "tgc 1 graph\na = input f32[15,7]\nb = input f32[7,96]\nar = reshape a : [15,7,1]\n"
                             "ae = expand ar : [15,7,96]\nbr = reshape b : [1,7,96]\nbe = expand br : [15,7,96]\np = mul ae, be\n"
                             "s = reduce p op=add axes=[1]\noutput s\n";
  static const char from[] = "{ unroll(r0,2) vec(r1,16) }";
  static const char *const near[] = { "{ unroll(r0,15) vec(r1,16) }", "{ unroll(r0,8) vec(r1,16) }" };
  static const char *const full[] = { "{ unroll(r0,15) vec(r1,16) unroll(r1,2) }", "{ unroll(r0,5) vec(r1,16) unroll(r1,5) }",
                                      "{ unroll(r0,3) vec(r1,16) unroll(r1,6) }" };
  (void)state;
  Ctx c;
  ctx_init(&c);
  c.quiet = true;
  Graph *g = ir_parse_graph(&c, text, strlen(text), "test.tg");
  Around a = { .p = compile_graph(g, &(CompileOptions){ .target = target(&c, "x86-64-v4"), .backend = backends[0] }) };
  const Ref nest = a.p->kernels.p[0].nests.p[0].nest;
  Opts o;
  void **want, **got;
  assert_null(opts_parse(a.p->ir, nest, a.p->in->target, from, strlen(from), &o));
  opts_neighbours(a.p->ir, nest, a.p->in->target, &o, take_text, &a);
  for (size_t i = 0; i < sizeof near / sizeof *near; i++)
    if (!is_among(&a.all, near[i])) fail_msg("%s is no neighbour of %s", near[i], from);
  a.all.n = 0;
  opts_full_tiles(a.p->ir, nest, a.p->in->target, &o, take_text, &a);
  for (size_t i = 0; i < sizeof full / sizeof *full; i++)
    if (!is_among(&a.all, full[i])) fail_msg("%s is no full tile", full[i]);
  current = "{ }";
  lowered(a.p, 0, &want);
  for (size_t i = 0; i < a.all.n; i++) {
    current = a.all.p[i];
    const Kernel x = lowered(a.p, 0, &got);
    assert_string_equal(x.nests.p[0].from, "test");
    same(a.p->ir, &x, got, want);
  }
  VEC_FREE(&a.all);
  ir_free(g->ir);
  ctx_free(&c);
}

/* a 6 x 8 by 8 x 16 product */
static Ref product(IR *ir, bool turned) {
  int64_t id[3] = { 0, 1, 2 };
  Ref buf[3], i = range_make(ir, 6, RK_LOOP), j = range_make(ir, 16, RK_LOOP), k = range_make(ir, 40, RK_REDUCE);
  for (int b = 0; b < 3; b++) {
    VEC_PUSH(&ir->bufs, ((Buf){ .kind = b == 1 ? BUF_WEIGHT : BUF_ARENA, .dt = DT_F32, .elems = 640 }));
    buf[b] = node_make(ir, OP_BUFFER, DT_F32, 1, 0, NULL, 1, &id[b], 0, NULL);
  }
  Ref at = turned ? ix_add(ir, ix_mul(ir, j, 40), k) : ix_add(ir, ix_mul(ir, k, 16), j);
  Ref x = node_make(ir, OP_LOAD, DT_F32, 1, 2, (Ref[]){ buf[0], ix_add(ir, ix_mul(ir, i, 40), k) }, 0, NULL, 0, NULL);
  Ref y = node_make(ir, OP_LOAD, DT_F32, 1, 2, (Ref[]){ buf[1], at }, 0, NULL, 0, NULL);
  Ref mul = node_make(ir, OP_MUL, DT_F32, 1, 2, turned ? (Ref[]){ y, x } : (Ref[]){ x, y }, 0, NULL, 0, NULL);
  Ref red = node_make(ir, OP_RED, DT_F32, 1, 2, (Ref[]){ mul, k }, 1, (int64_t[]){ OP_ADD }, 0, NULL);
  Ref store = node_make(ir, OP_STORE, DT_NONE, 1, 3, (Ref[]){ buf[2], ix_add(ir, ix_mul(ir, i, 16), j), red }, 0, NULL, 0, NULL);
  return node_make(ir, OP_NEST, DT_NONE, 1, 3, (Ref[]){ store, i, j }, 0, NULL, 0, NULL);
}

static void texts_read_back(void **state) {
  IR *ir = *state;
  Ref nest = product(ir, false);
  const Target *t = target(ir->ctx, "x86-64-v3");
  static const char *const good[] = { "{ }",
                                      "{ vec(r1,8) unroll(r0,3) outer(r1) }",
                                      "{ outer(r1) outer(r0) }",
                                      "{ vec(r1,8) tile(r0,4) outer(r1) tile(r2,20) }",
                                      "{ vec(r2,8) }",
                                      "{ vec(r1,8) threads(6) }",
                                      "{ vec(r0,2) vec(r1,4) unroll(r2,3) }",
                                      "{ vec(r1,2) vec(r0,4) }",
                                      "{ threads(1) }",
                                      "{ unroll(r0,2) vec(r1,4) unroll(r1,2) partial(r2,4) }",
                                      "{ partial(r2,3) }",
                                      "{ unroll(r0,4) rest { unroll(r0,2) } }",
                                      "{ unroll(r0,4) rest { vec(r1,8) } }",
                                      "{ unroll(r0,4) unroll(r1,5) rest { unroll(r1,5) rest { } } rest { } }" };
  for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
    Opts o;
    Sb s = { 0 };
    const char *wrong = opts_parse(ir, nest, t, good[i], strlen(good[i]), &o);
    if (wrong) fail_msg("%s: %s", good[i], wrong);
    opts_print(ir, nest, &o, &s);
    assert_string_equal(s.p, good[i]);
    for (size_t n = 0; n < s.n; n++) assert_non_null(opts_parse(ir, nest, t, s.p, n, &o)); /* cut short */
    sb_free(&s);
  }
}

/* y[x[j], i] = j: nothing splits or moves j */
static void serial_loops_stay(void **state) {
  IR *ir = *state;
  Ref j = range_make(ir, 6, RK_SERIAL), i = range_make(ir, 16, RK_LOOP), buf[2];
  for (int b = 0; b < 2; b++) {
    const DType d = b ? DT_F32 : DT_I64;
    buf[b] = node_make(ir, OP_BUFFER, d, 1, 0, NULL, 1, &(int64_t){ (int64_t)ir->bufs.n }, 0, NULL);
    VEC_PUSH(&ir->bufs, ((Buf){ .kind = BUF_ARENA, .dt = d, .elems = 96 }));
  }
  Ref place = node_make(ir, OP_LOAD, DT_I64, 1, 2, (Ref[]){ buf[0], j }, 0, NULL, 0, NULL),
      value = node_make(ir, OP_CAST, DT_F32, 1, 1, &j, 0, NULL, 0, NULL);
  Ref store = node_make(ir, OP_STORE, DT_NONE, 1, 3, (Ref[]){ buf[1], ix_add(ir, ix_mul(ir, place, 16), i), value }, 0, NULL, 0,
                        NULL);
  Ref nest = node_make(ir, OP_NEST, DT_NONE, 1, 3, (Ref[]){ store, j, i }, 0, NULL, 0, NULL);
  static const char *const bad[] = { "{ unroll(r0,2) }", "{ vec(r0,2) }", "{ outer(r0) }", "{ tile(r0,3) }" }, *const good[] = {
    "{ vec(r1,8) unroll(r1,2) }", "{ outer(r1) }"
  };
  const Target *t = target(ir->ctx, "x86-64-v3");
  Opts o;
  for (size_t k = 0; k < sizeof bad / sizeof *bad; k++)
    assert_string_equal(opts_parse(ir, nest, t, bad[k], strlen(bad[k]), &o),
                        "the range is a serial loop, which may store to one element twice");
  for (size_t k = 0; k < sizeof good / sizeof *good; k++) assert_null(opts_parse(ir, nest, t, good[k], strlen(good[k]), &o));
}

static void wrong_texts_are_refused(void **state) {
  IR *ir = *state;
  Ref nest = product(ir, false);
  static const struct { const char *isa, *text, *why; } bad[] = {
    { "x86-64-v3", "{ vec(r3,8) }", "the nest has no such range" },
    { "x86-64-v3", "{ vec(r1,16) }", "the target has no such vectors" },
    { "portable", "{ vec(r1,4) }", "the target has no such vectors" },
    { "x86-64-v3", "{ vec(r1,3) }", "the number of lanes is not a power of two" },
    { "x86-64-v3", "{ vec(r1,8) vec(r1,4) }", "it splits a range twice" },
    { "x86-64-v3", "{ vec(r1,8) vec(r0,4) }", "the target has no such vectors" },
    { "x86-64-v3", "{ vec(r1,8) vec(r2,4) }", "lanes inside of lanes" },
    { "x86-64-v3", "{ unroll(r0,7) }", "a tile is larger than its range" },
    { "x86-64-v3", "{ unroll(r0,1) }", "a number is out of range" },
    { "x86-64-v3", "{ unroll(r0,-1) }", "an opt is malformed" },
    { "x86-64-v3", "{ unroll(r0,99999999999999999999) }", "an opt is malformed" },
    { "x86-64-v3", "{ unroll(r99999999999999999999,2) }", "an opt is malformed" },
    { "x86-64-v3", "{ unroll(r0,2 }", "an opt is malformed" },
    { "x86-64-v3", "{ partial(r0,2) }", "only a reduction has partial results" },
    { "x86-64-v3", "{ partial(r2,33) }", "there are more than 32 partial results" },
    { "x86-64-v3", "{ outer(r0) outer(r0) }", "a range is moved twice" },
    { "x86-64-v3", "{ tile(r0,2) tile(r0,3) }", "a range is in blocks twice" },
    { "x86-64-v3", "{ tile(r0,6) }", "a block is as long as its range, or longer" },
    { "x86-64-v3", "{ tile(r0,1) }", "a number is out of range" },
    { "x86-64-v3", "{ tile(r0) }", "an opt is malformed" },
    { "x86-64-v3", "{ vec(r1,8) tile(r1,4) }", "a tile does not divide its block" },
    { "x86-64-v3", "{ tile(r2,16) }", "blocks do not divide their range" },
    { "x86-64-v3", "{ peel(r0) }", "the range has no interior in which all gates are open" },
    { "x86-64-v3", "{ peel(r2) }", "only a loop of the nest can be peeled" },
    { "x86-64-v3", "{ peel(r0) peel(r0) }", "a range is peeled twice" },
    { "x86-64-v3", "{ tile(r0,4) stage(r1) }", "the range of panels is not the outermost" },
    { "x86-64-v3", "{ stage(r2) }", "the range of panels is not a range of the nest" },
    { "x86-64-v3", "{ stage(r1) }", "the range of panels is not the outermost" },
    { "x86-64-v3", "{ outer(r1) stage(r0) }", "the range of panels is not the outermost" },
    { "x86-64-v3", "{ stage(r0) stage(r0) }", "panels of two ranges are copied" },
    { "x86-64-v3", "{ swizzle(r0,2) }", "an opt is unknown" },
    { "x86-64-v3", "{ tc(r2,abacus) }", "there is no such instruction" },
    { "x86-64-v3", "{ tc(r2) }", "an opt is malformed" },
    { "x86-64-v3", "{ threads(r0,2) }", "an opt is malformed" },
    { "x86-64-v3", "{ threads(0) }", "a number is out of range" },
    { "x86-64-v3", "{ threads(65) }", "a number is out of range" },
    { "x86-64-v3", "{ threads(2) threads(2) }", "it sets the number of chunks twice" },
    { "x86-64-v3", "{ tc(r2,vpdpbusd) }", "the target has no such instruction" },
    { "x86-64-v3", "{ tc(r2,vpmaddwd) }", "the instruction cannot do this reduction" },
    { "x86-64-v3", "{ tc(r2,vpmaddwd) tc(r2,vpmaddwd) }", "two ranges are taken in groups" },
    { "x86-64-v3", "{ rest { } }", "its borders and rests do not match the schedules given for them" },
    { "x86-64-v3", "{ unroll(r0,4) rest { } rest { } }", "its borders and rests do not match the schedules given for them" },
    { "x86-64-v3", "{ unroll(r0,4) border { } }", "its borders and rests do not match the schedules given for them" },
    { "x86-64-v3", "{ unroll(r0,4) rest { } border { } }", "a border must stand before all rests" },
    { "x86-64-v3", "{ unroll(r0,4) rest { unroll(r0,3) } }", "a tile is larger than its range" },
    { "x86-64-v3", "{ unroll(r0,4) rest { threads(2) } }", "a rest has no chunks of its own" },
    { "x86-64-v3", "{ unroll(r0,4) rest }", "an opt is malformed" },
    { "x86-64-v3", "{ unroll(r0,4) rest { }", "it does not end with ' }'" },
    { "x86-64-v3", "vec(r1,8)", "it does not begin with '{'" },
    { "x86-64-v3", "{ vec(r1,8) } ", "it does not end with ' }'" },
    { "x86-64-v3", "{}", "it does not end with ' }'" },
    { "x86-64-v3", "", "it does not begin with '{'" },
  };
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    Opts o;
    const char *wrong = opts_parse(ir, nest, target(ir->ctx, bad[i].isa), bad[i].text, strlen(bad[i].text), &o);
    assert_string_equal(wrong ? wrong : "legal", bad[i].why);
  }
}

static void sums_in_order_keep_it(void **state) {
  IR *ir = *state;
  Ref nest = product(ir, false);
  const Target *t = target_in_order(&ir->ctx->model, target(ir->ctx, "x86-64-v3"));
  Opts o;
  static const char *const moved[] = { "{ outer(r2) }", "{ tile(r2,20) }" };
  for (int i = 0; i < 2; i++)
    assert_string_equal(opts_parse(ir, nest, t, moved[i], strlen(moved[i]), &o), "the terms of a sum must be added in order");
  assert_null(opts_parse(ir, nest, t, "{ tile(r0,2) }", 14, &o));
}

static void chunks_of_a_group_are_given(void **state) {
  IR *ir = *state;
  Nest n = nest_open(ir, product(ir, false));
  Opts o;
  n.ranges[n.n++] = range_make(ir, 4, RK_THREAD);
  const char *wrong = opts_parse(ir, nest_close(ir, &n), target(ir->ctx, "x86-64-v3"), "{ threads(2) }", 14, &o);
  assert_string_equal(wrong, "the kernels of a group share their chunks");
}

static void keys_name_what_is_computed(void **state) {
  IR *ir = *state;
  char key[65], same_key[65], other[65];
  const Target *v3 = target(ir->ctx, "x86-64-v3"), *v4 = target(ir->ctx, "x86-64-v4");
  nest_key(ir, product(ir, false), v3, backends[0], key);
  ir->bufs.n = 0;
  range_make(ir, 4, RK_LOOP);
  nest_key(ir, product(ir, true), v3, backends[0], same_key); /* other ranges, operands turned, the weight stored transposed */
  assert_string_equal(key, same_key);
  ir->bufs.n = 0;
  nest_key(ir, product(ir, false), v4, backends[0], other);
  assert_string_not_equal(key, other);
  ir->bufs.n = 0;
  Ref nest = product(ir, false), store = node(ir, nest)->src[0];
  Ref order[3] = { store, node(ir, nest)->src[2], node(ir, nest)->src[1] };
  nest_key(ir, node_with_src(ir, nest, order), v3, backends[0], other);
  assert_string_not_equal(key, other);
  ir->bufs.p[1].kind = BUF_ARENA;
  nest_key(ir, nest, v3, backends[0], other);
  assert_string_not_equal(key, other);
}

/* Machines without vectors hold tiles of floats in as many registers as they have. */
static void floats_have_tiles(void **state) {
  IR *ir = *state;
  Nest n = nest_open(ir, product(ir, false));
  static const struct {
    const char *isa;
    int registers;
  } machine[] = { { "rv64gc", 32 }, { "cortex-m4", 32 }, { "portable", 16 } };
  for (size_t i = 0; i < sizeof machine / sizeof *machine; i++) {
    const Opts o = heuristic_opts(ir, &n, target(ir->ctx, machine[i].isa));
    int copies = 1, sides = 0;
    for (int k = 0; k < o.n; k++) {
      assert_int_equal(o.opt[k].lanes, 1);
      copies *= o.opt[k].unroll;
      sides += o.opt[k].unroll > 1;
    }
    assert_true(sides == 2 && copies < machine[i].registers && copies > machine[i].registers / 2);
  }
}

static Ref transposition(IR *ir, int64_t n) {
  Ref buf[2], i = range_make(ir, n, RK_LOOP), j = range_make(ir, n, RK_LOOP);
  for (int b = 0; b < 2; b++) {
    VEC_PUSH(&ir->bufs, ((Buf){ .kind = BUF_ARENA, .dt = DT_F32, .elems = n * n }));
    buf[b] = node_make(ir, OP_BUFFER, DT_F32, 1, 0, NULL, 1, &(int64_t){ (int64_t)ir->bufs.n - 1 }, 0, NULL);
  }
  Ref x = node_make(ir, OP_LOAD, DT_F32, 1, 2, (Ref[]){ buf[0], ix_add(ir, ix_mul(ir, j, n), i) }, 0, NULL, 0, NULL);
  Ref store = node_make(ir, OP_STORE, DT_NONE, 1, 3, (Ref[]){ buf[1], ix_add(ir, ix_mul(ir, i, n), j), x }, 0, NULL, 0, NULL);
  return node_make(ir, OP_NEST, DT_NONE, 1, 3, (Ref[]){ store, i, j }, 0, NULL, 0, NULL);
}

/* Lanes whose lines crowd a few sets of a cache are walked in blocks. */
static void far_lanes_have_blocks(void **state) {
  IR *ir = *state;
  static const struct { int64_t n; int block; } size[] = { { 2048, 128 }, { 4096, 128 }, { 2000, 0 }, { 512, 0 } };
  for (size_t k = 0; k < sizeof size / sizeof *size; k++) {
    const Nest n = nest_open(ir, transposition(ir, size[k].n));
    const Opts o = heuristic_opts(ir, &n, target(ir->ctx, "x86-64-v4"));
    assert_int_equal(o.nmoved ? o.moved[0].block : 0, size[k].block);
  }
}

/* x + places minus its mean along the row: store out[i * n + j]. Lanes run along j, and the mean does not depend on j */
static Ref centred(IR *ir, int64_t rows, int64_t n) {
  Ref buf[3], i = range_make(ir, rows, RK_LOOP), j = range_make(ir, n, RK_LOOP), k = range_make(ir, n, RK_LOOP),
              row = ix_mul(ir, i, n);
  const BufKind kind[] = { BUF_INPUT, BUF_WEIGHT, BUF_OUTPUT };
  for (int64_t b = 0; b < 3; b++) {
    VEC_PUSH(&ir->bufs, ((Buf){ .kind = kind[b], .dt = DT_F32, .elems = rows * n }));
    buf[b] = node_make(ir, OP_BUFFER, DT_F32, 1, 0, NULL, 1, &b, 0, NULL);
  }
  Ref at[2] = { j, k }, sum[2];
  for (int a = 0; a < 2; a++) {
    Ref x = node_make(ir, OP_LOAD, DT_F32, 1, 2, (Ref[]){ buf[0], ix_add(ir, row, at[a]) }, 0, NULL, 0, NULL);
    Ref w = node_make(ir, OP_LOAD, DT_F32, 1, 2, (Ref[]){ buf[1], ix_add(ir, row, at[a]) }, 0, NULL, 0, NULL);
    sum[a] = node_make(ir, OP_ADD, DT_F32, 1, 2, (Ref[]){ x, w }, 0, NULL, 0, NULL);
  }
  Ref mean = node_make(ir, OP_RED, DT_F32, 1, 2, (Ref[]){ sum[1], k }, 1, (int64_t[]){ OP_ADD }, 0, NULL);
  Ref value = node_make(ir, OP_SUB, DT_F32, 1, 2, (Ref[]){ sum[0], mean }, 0, NULL, 0, NULL);
  Ref store = node_make(ir, OP_STORE, DT_NONE, 1, 3, (Ref[]){ buf[2], ix_add(ir, row, j), value }, 0, NULL, 0, NULL);
  return node_make(ir, OP_NEST, DT_NONE, 1, 3, (Ref[]){ store, i, j }, 0, NULL, 0, NULL);
}

/* However large the weights: a row is reduced once, not for each of its vectors. */
static void rows_are_reduced_once(void **state) {
  IR *ir = *state;
  const Nest n = nest_open(ir, centred(ir, 128, 768));
  const Opts o = heuristic_opts(ir, &n, target(ir->ctx, "x86-64-v4"));
  assert_true(o.n > 0);
  assert_int_equal(o.nmoved, 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test_setup_teardown(far_lanes_have_blocks, setup, teardown),
    cmocka_unit_test_setup_teardown(floats_have_tiles, setup, teardown),
    cmocka_unit_test_setup_teardown(rows_are_reduced_once, setup, teardown),
    cmocka_unit_test(tiles_fill_the_registers),
    cmocka_unit_test(legal_schedules_compute_the_same),
    cmocka_unit_test_setup_teardown(texts_read_back, setup, teardown),
    cmocka_unit_test_setup_teardown(serial_loops_stay, setup, teardown),
    cmocka_unit_test_setup_teardown(wrong_texts_are_refused, setup, teardown),
    cmocka_unit_test_setup_teardown(sums_in_order_keep_it, setup, teardown),
    cmocka_unit_test_setup_teardown(chunks_of_a_group_are_given, setup, teardown),
    cmocka_unit_test_setup_teardown(keys_name_what_is_computed, setup, teardown),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: MIT */
/* device_opts.c (unit test): schedules of devices. A schedule that opts_check accepts gives the results of the empty schedule,
 * without a race, for any order of threads. Refusals say why, and the text of every schedule reads back. Each barrier counts. */
#include "fixture.h"
#include "../../backends/backends.h"
#include "../../compiler/driver.h"
#include "../../compiler/interp/interp_threads.h"
#include "../../compiler/opt/opts.h"
#include "../../compiler/tune/tune.h"
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>

enum { TRIES = 140 };

/* sums along rows, columns and both, nested sums, sums of integers and halves; softmax; index of the largest element; a window;
 * transposes; scatters */
#define SOFTMAX "tgc 1 graph\nx = input f32[5,19]\nm = reduce x op=max axes=[1]\nme = expand m : [5,19]\nd = sub x, me\ne = exp d\n" \
  "s = reduce e op=add axes=[1]\nse = expand s : [5,19]\ny = div e, se\noutput y\n"
#define ROWS "tgc 1 graph\nx = input f32[7,45]\ns = reduce x op=add axes=[1]\noutput s\n"
static const char softmax[] = SOFTMAX;
static const char *const graphs[] = {
  SOFTMAX,
  ROWS,
  "tgc 1 graph\na = input f32[13,9]\nb = input f32[9,11]\nar = reshape a : [13,9,1]\nae = expand ar : [13,9,11]\nbr = reshape b "
  ": [1,9,11]\n"
  "be = expand br : [13,9,11]\np = mul ae, be\ns = reduce p op=add axes=[1]\nm = max s, 0.0\noutput m\n",
  "tgc 1 graph\nx = input f32[3,10,10]\np = pad x, 0.0 lo=[0,1,1] hi=[0,1,1]\nw = window p axis=1 stride=1 dilation=1 : "
  "[3,10,12,3]\n"
  "v = window w axis=2 stride=1 dilation=1 : [3,10,10,3,3]\nm = reduce v op=max axes=[3,4]\noutput m\n",
  "tgc 1 graph\nx = input f16[7,6]\ny = permute x perm=[1,0]\nz = add y, y\noutput z\n",
  "tgc 1 graph\nx = input u8[4,33]\nc = cast x : i32\ns = reduce c op=add axes=[1]\noutput s\n",
  "tgc 1 graph\nx = input f32[5,6,7]\ns = reduce x op=add axes=[1,2]\nm = reduce x op=max axes=[0,1]\nsr = reshape s : [5,1]\n"
  "mr = reshape m : [1,7]\nse = expand sr : [5,7]\nme = expand mr : [5,7]\ny = mul se, me\noutput y\n",
  "tgc 1 graph\nx = input f32[6,21]\nm = reduce x op=max axes=[1]\nme = expand m : [6,21]\nq = cmpeq x, me\nj = iota : "
  "i64[21]\njr = reshape j : [1,21]\n"
  "je = expand jr : [6,21]\nw = where q, je, 99\nf = reduce w op=min axes=[1]\noutput f\n",
  "tgc 1 graph\nx = input f32[6,23]\np = pad x, 0.0 lo=[0,1] hi=[0,1]\nw = window p axis=1 stride=1 dilation=1 : [6,23,3]\n"
  "s = reduce w op=add axes=[2]\noutput s\n",
  "tgc 1 graph\nx = input f32[40]\ns = reduce x op=mul axes=[0]\noutput s\n",
  /* batches of matrix products, and a convolution of 3 channels with stride 2 */
  "tgc 1 graph\na = input f32[3,7,8,1]\nb = input f32[3,1,8,9]\nae = expand a : [3,7,8,9]\nbe = expand b : [3,7,8,9]\np = mul "
  "ae, be\n"
  "s = reduce p op=add axes=[2]\nm = max s, 0.0\noutput m\n",
  "tgc 1 graph\nx = input f32[3,9,11]\nk = input f32[5,3,1,1,3,3]\np = pad x, 0.0 lo=[0,1,1] hi=[0,1,1]\nw = window p axis=1 "
  "stride=2 dilation=1 : [3,5,13,3]\n"
  "v = window w axis=2 stride=2 dilation=1 : [3,5,6,3,3]\nvr = reshape v : [1,3,5,6,3,3]\nve = expand vr : [5,3,5,6,3,3]\nke = "
  "expand k : [5,3,5,6,3,3]\n"
  "q = mul ve, ke\ns = reduce q op=add axes=[1,4,5]\noutput s\n",
  /* the variance of rows; whether any element of a plane holds; a column whose index a row says */
  "tgc 1 graph\nx = input f64[6,21]\ns = reduce x op=add axes=[1]\nm = div s, 21.0\nme = expand m : [6,21]\nd = sub x, me\nq = "
  "mul d, d\n"
  "v = reduce q op=add axes=[1]\noutput v\n",
  "tgc 1 graph\nx = input f32[3,4,9]\nq = cmplt x, -1.0\na = reduce q op=max axes=[1,2]\noutput a\n",
  "tgc 1 graph\nx = input i64[5,17]\nd = input f32[5,40]\nm = reduce x op=max axes=[1]\nn = add m, 3\ny = gather d, n "
  "axis=1\noutput y\n",
  "tgc 1 graph\nx = input f32[3,20]\np = pad x, 1.0 lo=[0,3] hi=[0,2]\ns = reduce p op=add axes=[1]\nse = expand s : [3,25]\n"
  "y = sub p, se\noutput y\n",
/* products of bytes: unsigned and signed, in either order, both signed, both unsigned; windows of bytes */
#define BYTES(x, w) "tgc 1 graph\nx = input " x "[13,24]\nw = input " w "[24,11]\nxi = cast x : i32\nwi = cast w : i32\n" \
  "xr = reshape xi : [13,24,1]\nxe = expand xr : [13,24,11]\nwr = reshape wi : [1,24,11]\nwe = expand wr : [13,24,11]\n" \
  "p = mul xe, we\ns = reduce p op=add axes=[1]\noutput s\n"
  BYTES("u8", "i8"),
  BYTES("i8", "u8"),
  BYTES("i8", "i8"),
  BYTES("u8", "u8"),
  "tgc 1 graph\nx = input u8[3,9,11]\nk = input i8[5,3,1,1,3,3]\np = pad x, 7 lo=[0,1,1] hi=[0,1,1]\nw = window p axis=1 "
  "stride=2 dilation=1 : [3,5,13,3]\n"
  "v = window w axis=2 stride=2 dilation=1 : [3,5,6,3,3]\nvi = cast v : i32\nki = cast k : i32\nvr = reshape vi : [1,3,5,6,3,3]\n"
  "ve = expand vr : [5,3,5,6,3,3]\nke = expand ki : [5,3,5,6,3,3]\nq = mul ve, ke\ns = reduce q op=add axes=[1,4,5]\noutput s\n",
  /* elements: contiguous, transposed, gated by padding, of two types, with an index from data */
  "tgc 1 graph\nx = input f32[6,20]\nb = input f32[1,20]\nbe = expand b : [6,20]\ny = add x, be\nq = cmplt y, 0.5\nz = where q, "
  "y, 2.0\n"
  "h = cast z : f16\noutput z\noutput h\n",
  "tgc 1 graph\nx = input f32[12,8]\nt = permute x perm=[1,0]\np = pad t, 1.0 lo=[0,2] hi=[0,2]\ny = mul p, p\noutput y\n",
  "tgc 1 graph\nx = input f32[5,24]\ni = input u8[5,16]\nj = cast i : i64\ng = gather x, j axis=1\noutput g\n",
  "tgc 1 graph\nx = input f32[13,19]\ni = input i64[23,1]\nu = input f32[23,19]\ny = scatter x, i, u op=add axis=0\noutput y\n",
};

static uint32_t seed = 1;
static int roll(int n) { return (int)((seed = seed * 1664525u + 1013904223u) >> 16) % n; }

static const char *current;
static const char *find(ScheduleSource *s, const char *key, bool *partial) {
  (void)s, (void)key, (void)partial;
  return current;
}

/* Mostly legal: threads for ranges of the nest, groups of one size for those of its reductions */
static void random_text(const IR *ir, Ref nest, Sb *s) {
  static const int number[] = { 2, 2, 3, 4, 5, 8, 8, 16 }, group[] = { 2, 4, 8, 16 };
  const int same = group[roll(4)], outer = node(ir, nest)->nsrc - 1;
  const bool panels = !roll(3); /* only of an unsplit reduction */
  Refs ranges = { 0 };
  nest_ranges(ir, nest, &ranges);
  sb_puts(s, "{");
  for (int r = 0; r < (int)ranges.n; r++) {
    const bool mine = roll(9) ? r < outer : r >= outer;
    if (mine && roll(2)) sb_printf(s, " grid(r%d)", r);
    if (panels && r >= outer) continue;
    if (roll(3)) sb_printf(s, " %s(r%d,%d)", mine ? "local" : "group", r, roll(3) ? same : number[roll(8)]);
    if (outer == (int)ranges.n && !roll(3)) sb_printf(s, " vec(r%d,%d)", r, roll(3) ? 4 : 2);
    if (!roll(4)) sb_printf(s, " %s(r%d,%d)", mine || roll(2) ? "unroll" : "partial", r, number[roll(8)]);
    if (!roll(9)) sb_printf(s, " outer(r%d)", r);
  }
  const int sum = (int)ranges.n > outer ? outer + roll((int)ranges.n - outer) : 0;
  if (panels) sb_printf(s, " stage(r%d,%d)", sum, 2 + roll(9));
  if (!roll(5)) sb_printf(s, " split(r%d,%d)", sum, 2 + roll(3));
  sb_puts(s, " }");
  VEC_FREE(&ranges);
}

static void **memory(const Plan *plan) {
  IR *ir = plan->ir;
  void **mem = ARENA_NEW(&ir->ctx->model, void *, ir->bufs.n);
  for (size_t i = 0; i < ir->bufs.n; i++) {
    const Buf *b = &ir->bufs.p[i];
    char *p = mem[i] = arena_alloc(&ir->ctx->model, (size_t)(b->elems * dt_bytes(b->dt)) + 1);
    for (int64_t k = 0; k < b->elems; k++) {
      const int64_t v = double_to_bits(b->dt, (double)((k * 7 + k / 5) % 5 - 2 + (b->dt == DT_U8 ? 2 : 0)));
      memcpy(p + k * dt_bytes(b->dt), &v, (size_t)dt_bytes(b->dt));
    }
  }
  return mem;
}

/* known: number of buffers without the schedule, which may add some */
static void same(const IR *ir, const Kernel *k, void **got, void **want, int known) {
  for (size_t i = 0; i < k->written.n; i++) {
    const Buf *b = &ir->bufs.p[k->written.p[i]];
    if (k->written.p[i] >= known) continue;
    for (int64_t at = 0; at < b->elems; at++) {
      int64_t x = 0, y = 0;
      memcpy(&x, (char *)got[k->written.p[i]] + at * dt_bytes(b->dt), (size_t)dt_bytes(b->dt));
      memcpy(&y, (char *)want[k->written.p[i]] + at * dt_bytes(b->dt), (size_t)dt_bytes(b->dt));
      const double p = dt_float(b->dt) ? bits_to_double(b->dt, x) : (double)x,
                   q = dt_float(b->dt) ? bits_to_double(b->dt, y) : (double)y;
      if (p != q && !(isnan(p) && isnan(q)) && !(fabs(p - q) <= 1e-5 * fabs(q)))
        fail_msg("%s: element %lld is %g, not %g", current, (long long)at, p, q);
    }
  }
}

/* Kernel k of p, lowered by the schedule `current` */
static Kernel lowered(const Plan *p, int k, void ***mem) {
  ScheduleSource given = { .name = "test", .find = find };
  PlanInputs in = *p->in;
  in.schedules = &given;
  Plan one = { .in = &in, .g = p->g, .ir = p->ir };
  VEC_PUSH(&one.kernels, ((Kernel){ .sink = p->kernels.p[k].sink }));
  kernel_lower(&one, 0);
  const Kernel out = one.kernels.p[0];
  *mem = memory(&one);
  VEC_FREE(&one.kernels);
  ir_verify_program(p->ir, out.prog.p, out.prog.n);
  return out;
}

/* Runs its launches; -> the number of faults */
static int64_t run(const Plan *p, const Ref *prog, size_t n, void **mem, Sb *said) {
  LaunchReport r = { 0 };
  Launches l = { 0 };
  int64_t faults;
  launches_of(p->ir, prog, n, &l);
  for (size_t i = 0; i < l.n; i++) {
    Sb why = { 0 };
    if (!device_takes(p->in->target->dev, p->ir, &l.p[i], &why)) fail_msg("%s: %s", current, why.p);
    if (!interp_launch_orders(p->ir, &l.p[i], p->in->target->dev, mem, 0, &r) && said) sb_put(said, r.text.p, r.text.n);
  }
  faults = launch_faults(&r) + (r.text.n > 0);
  launches_free(&l);
  launch_report_free(&r);
  return faults;
}

static uint32_t with; /* features of gpu-any */

static Plan *compiled(Ctx *c, const char *graph) {
  ctx_init(c);
  c->quiet = true;
  Graph *g = ir_parse_graph(c, graph, strlen(graph), "test.tg");
  const Target *t = device_with(&c->model, device_target("gpu-any"), with);
  Plan *p = compile_graph(g, &(CompileOptions){ .target = t, .backend = &opencl_backend });
  assert_non_null(p);
  return p;
}

static void text_reads_back(const Plan *p, const NestSchedule *s) {
  Opts o;
  Sb text = { 0 };
  const char *wrong = opts_parse(p->ir, s->nest, p->in->target, s->opts, strlen(s->opts), &o);
  if (wrong) fail_msg("%s of %s: %s", s->opts, current, wrong);
  opts_print(p->ir, s->nest, &o, &text);
  assert_string_equal(text.p, s->opts);
  sb_free(&text);
}

static void legal_schedules_compute_the_same(void **state) {
  (void)state;
  int dots = 0, exchanges = 0, applied = 0, groups = 0, staged = 0, parts = 0, lanes = 0;
  for (size_t i = 0; i < sizeof graphs / sizeof *graphs; i++) {
    Ctx c;
    Plan *p = compiled(&c, graphs[i]);
    for (int k = 0; k < (int)p->kernels.n; k++) {
      void **want, **got;
      current = "{ }";
      Kernel x = lowered(p, k, &want);
      const int known = (int)p->ir->bufs.n;
      assert_int_equal(run(p, x.prog.p, x.prog.n, want, NULL), 0);
      for (int n = 0; n < TRIES; n++) {
        Sb text = { 0 }, said = { 0 };
        random_text(p->ir, p->kernels.p[k].nests.p[0].nest, &text);
        current = text.p;
        x = lowered(p, k, &got);
        if (strcmp(x.nests.p[0].from, "test")) continue;
        if (run(p, x.prog.p, x.prog.n, got, &said)) fail_msg("graph %zu, %s: %s", i, current, said.p);
        same(p->ir, &x, got, want, known);
        text_reads_back(p, &x.nests.p[0]);
        applied++;
        groups += strstr(x.nests.p[0].opts, "group") && x.locals.n;
        staged += strstr(x.nests.p[0].opts, "stage") != NULL;
        parts += strstr(x.nests.p[0].opts, "split") != NULL;
        lanes += strstr(x.nests.p[0].opts, "vec") != NULL;
        exchanges += launch_exchange(p->ir, &x.prog) > 0;
        for (size_t at = 0; at < x.prog.n; at++) dots += node(p->ir, x.prog.p[at])->op == OP_DOT;
        sb_free(&text);
        sb_free(&said);
      }
    }
    ir_free(p->ir);
    ctx_free(&c);
  }
  printf("# %d schedules, %d with groups, %d with panels, %d of sums in parts, %d with lanes\n", applied, groups, staged, parts,
         lanes);
  assert_true(with & DEVF_SUBGROUPS ? exchanges > 60 : !exchanges);
  assert_true(with & DEVF_INT_DOT ? dots > 10 : !dots);
  assert_true(applied > 100 && groups > 30 && staged > 20 && parts > 20 && lanes > 20);
}

/* A sum inside of the terms of another one, both with groups. */
static void sums_in_terms_of_sums(void **state) {
  static const char *const cases[] = {
    "{ group(r1,4) group(r2,4) local(r0,4) }", "{ group(r1,4) group(r2,4) }", "{ group(r1,4) group(r2,8) }",
    "{ group(r1,4) local(r0,4) }", "{ group(r2,4) local(r0,4) }", "{ group(r2,4) }",
  };
  static const char kernel[] =
    "tgc 1 kernel\nb0 = buffer input f32[5] id=0 slot=0\nb1 = buffer output f32[9] id=1 slot=0\n"
    "r0 = range extent=9 id=0 kind=loop\nr1 = range extent=5 id=1 kind=reduce\nr2 = range extent=8 id=2 kind=reduce\n"
    "v0 = load b0, r1\nv1 = red v0, r2 op=add : f32\nv2 = max v1, 1.0\nv3 = red v2, r1 op=add : f32\n"
    "v4 = store b1, r0, v3\nn0 = nest v4, r0\nk0 = sink n0\n";
  IR *ir = *state;
  PlanInputs in = { .target = device_target("gpu-any"), .backend = &opencl_backend };
  Plan p = { .in = &in, .ir = ir };
  void **want, **got;
  VEC_PUSH(&p.kernels, ((Kernel){ .sink = ir_parse_kernel(ir, kernel, strlen(kernel)) }));
  current = "{ }";
  Kernel x = lowered(&p, 0, &want);
  assert_int_equal(run(&p, x.prog.p, x.prog.n, want, NULL), 0);
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    Sb said = { 0 };
    current = cases[i];
    x = lowered(&p, 0, &got);
    assert_string_equal(x.nests.p[0].from, "test");
    if (run(&p, x.prog.p, x.prog.n, got, &said)) fail_msg("%s: %s", current, said.p);
    same(ir, &x, got, want, 2);
    sb_free(&said);
  }
  VEC_FREE(&p.kernels);
}

static void features_compute_the_same(void **state) {
  with = DEVF_SUBGROUPS | DEVF_INT_DOT;
  legal_schedules_compute_the_same(state);
  with = 0;
}

/* The greatest of eight sums, for all elements of a row. The threads that compare sums have different sums, so each sum has a
 * group of its own. */
static void groups_inside_of_groups(void **state) {
  static const char text[] =
      "tgc 1 kernel\nb0 = buffer input f32[480] id=0 slot=0\nb1 = buffer output f32[48] id=1 slot=0\ni = range extent=3 id=0 "
      "kind=loop\n"
      "j = range extent=16 id=1 kind=loop\nk = range extent=8 id=2 kind=reduce\nl = range extent=20 id=3 kind=reduce\nplane = "
      "mul i, 160\n"
      "row = mul k, 20\nfrom = add plane, row\nat = add from, l\nx = load b0, at\ns = red x, l op=add\nm = red s, k op=max\n"
      "to0 = mul i, 16\nto = add to0, j\ny = store b1, to, m\nn0 = nest y, i, j\nk0 = sink n0\n";
  static const char *const opts[] = {
    "{ grid(r0) local(r1,8) group(r2,8) group(r3,8) }", "{ local(r0,2) group(r2,4) unroll(r2,2) group(r3,4) grid(r1) }",
    "{ grid(r0) group(r2,8) group(r3,2) local(r1,2) }", "{ grid(r0) local(r1,4) group(r2,2) group(r3,4) }",
  };
  enum { FIXED = sizeof opts / sizeof *opts };
  Ctx c;
  Plan *any = compiled(&c, ROWS);
  (void)state;
  IR *ir = ir_new(&c);
  Plan p = { .in = any->in, .g = any->g, .ir = ir };
  void **want, **got;
  VEC_PUSH(&p.kernels, ((Kernel){ .sink = ir_parse_kernel(ir, text, strlen(text)) }));
  current = "{ }";
  Kernel x = lowered(&p, 0, &want);
  run(&p, x.prog.p, x.prog.n, want, NULL);
  Sb chosen = { 0 };
  const Opts o = device_opts(ir, x.nests.p[0].nest, p.in->target);
  opts_print(ir, x.nests.p[0].nest, &o, &chosen);
  assert_string_equal(chosen.p, "{ grid(r0) group(r3,8) local(r1,8) unroll(r1,2) }"); /* one thread sums the 20 terms */
  sb_free(&chosen);
  for (size_t i = 0; i < FIXED + TRIES; i++) {
    Sb said = { 0 }, other = { 0 };
    random_text(ir, x.nests.p[0].nest, &other);
    current = i < FIXED ? opts[i] : other.p;
    x = lowered(&p, 0, &got);
    if (i < FIXED) assert_string_equal(x.nests.p[0].from, "test");
    if (run(&p, x.prog.p, x.prog.n, got, &said)) fail_msg("%s: %s", current, said.p);
    same(ir, &x, got, want, 2);
    sb_free(&other);
    sb_free(&said);
  }
  VEC_FREE(&p.kernels);
  ir_free(ir);
  ir_free(any->ir);
  ctx_free(&c);
}

/* Without any one of its barriers, each program of the heuristic races. */
static void each_barrier_counts(void **state) {
  int barriers = 0;
  (void)state;
  for (size_t i = 0; i < sizeof graphs / sizeof *graphs; i++) {
    Ctx c;
    Plan *p = compiled(&c, graphs[i]);
    for (size_t k = 0; k < p->kernels.n; k++) {
      const Refs *prog = &p->kernels.p[k].prog;
      for (size_t at = 0; at < prog->n; at++) {
        Refs without = { 0 };
        for (size_t j = 0; j < prog->n; j++)
          if (j != at) VEC_PUSH(&without, prog->p[j]);
        if (node(p->ir, prog->p[at])->op == OP_BARRIER) {
          barriers++;
          if (!run(p, without.p, without.n, memory(p), NULL)) fail_msg("graph %zu: nobody misses the barrier at %zu", i, at);
        }
        VEC_FREE(&without);
      }
    }
    ir_free(p->ir);
    ctx_free(&c);
  }
  assert_true(barriers > 10);
}

/* opts_parse refuses the text for kernel 0 with that message; NULL: it accepts the text */
static void refused(const Plan *p, const Target *t, const char *text, const char *why) {
  Opts o;
  const char *said = opts_parse(p->ir, p->kernels.p[0].nests.p[0].nest, t, text, strlen(text), &o);
  if (!said != !why || (why && strcmp(said, why))) fail_msg("%s: %s", text, said ? said : "it is legal");
}

static void refusals_say_why(void **state) {
  static const struct { const char *text, *why; } cases[] = { /* r0: 5 rows; r1: 19; r2, r3: the maximum, the sum */
    { "{ grid(r0) local(r1,16) group(r2,16) group(r3,16) }", NULL },
    { "{ grid(r0) grid(r1) local(r0,4) local(r1,8) unroll(r1,2) }", NULL },
    { "{ group(r2,8) group(r3,8) }", NULL },
    { "{ grid(r0) local(r1,16) group(r2,16) group(r3,8) }", NULL }, /* 8 own threads for each of the 16 */
    { "{ unroll(r0,5) outer(r1) }", NULL },
    { "{ grid(r0) grid(r0) }", "a range is split over blocks twice" },
    { "{ local(r1,4) local(r1,4) }", "a range is split over threads twice" },
    { "{ local(r2,4) }", "only a range of the nest can be local" },
    { "{ group(r1,4) }", "only a range of a reduction can be split over a group" },
    { "{ grid(r2) }", "only a range of the nest can be split over blocks" },
    { "{ group(r2,12) }", "the number of threads of a group is not a power of two" },
    { "{ local(r0,10) }", "there are more threads than values of the range" },
    { "{ local(r0,4) unroll(r0,3) }", "a copy would be empty" },
    { "{ vec(r1,3) }", "the number of lanes is not a power of two" },
    { "{ vec(r1,4) }", "lanes do not divide their range" },
    { "{ vec(r2,2) }", "on a device only a range of the nest can be in lanes" },
    { "{ rows(r1,2) }", "on a device there are no tiles with rows" },
    { "{ partial(r0,2) }", "only a reduction has partial results" },
    { "{ peel(r0) }", "a schedule for a device has gates in place of borders and rests" },
    { "{ unroll(r0,2) rest { } }", "a schedule for a device has gates in place of borders and rests" },
    { "{ threads(4) }", "a device has no chunks" },
    { "{ tile(r1,4) }", "blocks of a device are made of threads and copies" },
    { "{ local(r0,8) local(r1,32) group(r2,4) group(r3,4) }", "it makes more threads of a block than the device permits" },
  };
  static const struct { const char *text, *why; } elements[] = { /* r0: 12, r1: 8 */
    { "{ grid(r0) local(r1,2) vec(r1,4) }", NULL },
    { "{ vec(r0,4) local(r0,4) unroll(r0,2) }", "a copy would be empty" }, /* three vectors */
    { "{ vec(r1,8) }", "the device cannot load such vectors" },
    { "{ vec(r0,2) vec(r1,2) }", "two ranges are in lanes" },
  };
  static const struct { const char *text, *why; } long_rows[] = {
    { "{ local(r0,256) group(r1,4) }", "it makes more threads of a block than the device permits" },
    { "{ grid(r0) local(r0,2) }", "it makes more blocks than the device permits" },
    { "{ grid(r0) local(r0,256) }", NULL },
  };
  (void)state;
  Ctx c, d, e, f;
  Plan *p = compiled(&c, SOFTMAX);
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) refused(p, p->in->target, cases[i].text, cases[i].why);
  refused(p, target_in_order(&c.model, p->in->target), "{ group(r3,8) }", "the terms of a sum must be added in order");
  refused(p, target_in_order(&c.model, p->in->target), "{ group(r2,8) }", NULL); /* a maximum has no order */
  Target small = *p->in->target;
  Device little = *small.dev;
  small.dev = &little;
  little.shared_bytes = 128;
  refused(p, &small, "{ grid(r0) local(r1,16) group(r2,16) group(r3,16) }",
          "its groups take more shared memory than the device has");
  const char *why = NULL;
  refused(p, target_find(&c.model, "x86-64-v3", &why), "{ grid(r0) }", "the target has no blocks of threads");
  ir_free(p->ir);
  ctx_free(&c);
  p = compiled(&d, "tgc 1 graph\nx = input f32[200000,4]\ns = reduce x op=add axes=[1]\noutput s\n");
  for (size_t i = 0; i < sizeof long_rows / sizeof *long_rows; i++)
    refused(p, p->in->target, long_rows[i].text, long_rows[i].why);
  ir_free(p->ir);
  ctx_free(&d);
  p = compiled(&e, "tgc 1 graph\nx = input f32[12,8]\nb = input f32[1,8]\nbe = expand b : [12,8]\ny = add x, be\noutput y\n");
  for (size_t i = 0; i < sizeof elements / sizeof *elements; i++) refused(p, p->in->target, elements[i].text, elements[i].why);
  ir_free(p->ir);
  ctx_free(&e);
  p = compiled(
      &f, "tgc 1 graph\nx = input f32[5,16]\ns = reduce x op=add axes=[1]\nse = expand s : [5,16]\ny = sub x, se\noutput y\n");
  refused(p, p->in->target, "{ grid(r0) vec(r1,4) }", "on a device a nest with reductions cannot have lanes");
  ir_free(p->ir);
  ctx_free(&f);
}

/* The heuristic's choice for a nest follows the device's facts */
static void heuristic_reads_facts(void **state) {
  static const struct { const char *graph; int units; const char *opts;
  } cases[] = {
    { softmax, 32, "{ grid(r0) group(r2,32) group(r3,32) local(r1,32) }" },
    { ROWS, 1, "{ group(r1,8) grid(r0) local(r0,4) }" },
    { "tgc 1 graph\nx = input f32[4000,45]\ns = reduce x op=add axes=[1]\noutput s\n", 1, "{ }" }, /* enough rows */
    { "tgc 1 graph\nx = input f32[4000,45]\ns = reduce x op=add axes=[1]\noutput s\n", 64,
      "{ group(r1,8) grid(r0) local(r0,32) }" },
    { "tgc 1 graph\nx = input f32[40000,128]\ns = reduce x op=add axes=[1]\noutput s\n", 1,
      "{ group(r1,32) grid(r0) local(r0,8) }" },
    { "tgc 1 graph\nx = input f32[128,40000]\ns = reduce x op=add axes=[0]\noutput s\n", 1, "{ }" },
    { "tgc 1 graph\nx = input f32[65536]\ny = exp x\noutput y\n", 32, "{ grid(r0) local(r0,256) vec(r0,4) }" },
    /* no vectors of this type */
    { "tgc 1 graph\nx = input f64[65536]\ny = mul x, x\noutput y\n", 32, "{ grid(r0) local(r0,256) unroll(r0,4) }" },
    { "tgc 1 graph\nx = input f32[65540]\ny = shrink x begin=[3] step=[1] : [65536]\nz = exp y\noutput z\n", 32,
      "{ grid(r0) local(r0,256) unroll(r0,4) }" },                             /* vectors would not be aligned */
    { "tgc 1 graph\nx = input f32[65536]\ny = exp x\noutput y\n", 64, "{ }" }, /* too few for copies */
    { "tgc 1 graph\nx = input f32[6,1,64]\ne = expand x : [6,5,64]\nz = input f32[6,5,64]\ny = add e, z\noutput y\n", 32,
      "{ grid(r0) grid(r1) grid(r2) local(r2,64) }" },
  };
  (void)state;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    Ctx c;
    Plan *p = compiled(&c, cases[i].graph);
    Target t = *p->in->target;
    Device d = *t.dev;
    Sb text = { 0 };
    t.dev = &d;
    d.units = cases[i].units;
    const Ref nest = p->kernels.p[0].nests.p[0].nest;
    Opts o = device_opts(p->ir, nest, &t);
    opts_print(p->ir, nest, &o, &text);
    assert_string_equal(text.p, cases[i].opts);
    if (cases[i].graph == softmax) { /* ordered sum: a thread has a row */
      text.n = 0;
      o = device_opts(p->ir, nest, target_in_order(&c.model, &t));
      opts_print(p->ir, nest, &o, &text);
      assert_string_equal(text.p, "{ grid(r0) local(r0,8) }");
    }
    sb_free(&text);
    ir_free(p->ir);
    ctx_free(&c);
  }
}

/* ---- the tuner's steps ---- */
typedef struct Around {
  Ctx *c;
  VEC(const char *) text;
} Around;

static void take_note(void *arg, const char *text) {
  Around *a = arg;
  VEC_PUSH(&a->text, arena_str(&a->c->model, text, strlen(text)));
}

/* Neighbouring schedules are legal, and differ from their origin; some of them run. */
static void neighbours_are_legal(void **state) {
  enum { PRODUCT = 2, ROWS_OF_20 = sizeof graphs / sizeof *graphs - 4, SOME = 23 };
  static const struct { int graph; const char *from, *wants[8];
  } cases[] = {
    { PRODUCT,
      "{ grid(r0) local(r0,4) grid(r1) local(r1,4) unroll(r1,2) }",
      { "{ grid(r0) local(r0,4) grid(r1) local(r1,4) unroll(r1,2) stage(r2,4) }", /* panels */
        "{ grid(r0) local(r0,4) grid(r1) local(r1,8) unroll(r1,2) }",             /* threads */
        "{ grid(r0) local(r0,4) grid(r1) local(r1,8) }",                          /* copies become threads */
        "{ grid(r0) local(r0,8) grid(r1) local(r1,2) unroll(r1,2) }",             /* threads move */
        "{ grid(r0) local(r0,4) grid(r1) local(r1,4) unroll(r1,2) split(r2,3) }",
        "{ grid(r0) local(r0,4) grid(r1) local(r1,4) unroll(r1,2) group(r2,2) }",
        "{ grid(r0) local(r0,4) grid(r1) local(r1,4) unroll(r1,2) partial(r2,3) }",
        "{ grid(r0) local(r0,4) grid(r1) local(r1,4) unroll(r1,2) outer(r1) }" } },
    { PRODUCT,
      "{ grid(r0) local(r0,4) grid(r1) local(r1,4) stage(r2,2) split(r2,3) }",
      { "{ grid(r0) local(r0,4) grid(r1) local(r1,4) split(r2,3) }",
        "{ grid(r0) local(r0,4) grid(r1) local(r1,4) stage(r2,2) }" } },
    { 0, "{ grid(r0) local(r1,8) group(r2,8) group(r3,8) }", { "{ grid(r0) local(r1,8) group(r2,8) }" } },
    { 0, "{ }", { "{ grid(r0) grid(r1) local(r1,16) }" } },
    { ROWS_OF_20,
      "{ grid(r0) grid(r1) local(r1,8) }",
      { "{ grid(r0) grid(r1) local(r1,8) vec(r1,2) }", "{ grid(r0) grid(r1) local(r1,2) vec(r1,4) }" } },
  };
  (void)state;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    Ctx c;
    Plan *p = compiled(&c, graphs[cases[i].graph]);
    const Ref nest = p->kernels.p[0].nests.p[0].nest;
    Around a = { .c = &c };
    Opts o;
    void **want, **got;
    const char *wrong = opts_parse(p->ir, nest, p->in->target, cases[i].from, strlen(cases[i].from), &o);
    if (wrong) fail_msg("%s: %s", cases[i].from, wrong);
    opts_neighbours(p->ir, nest, p->in->target, &o, take_note, &a);
    for (int k = 0; k < 8 && cases[i].wants[k]; k++) {
      bool found = false;
      for (size_t j = 0; j < a.text.n; j++) found |= !strcmp(a.text.p[j], cases[i].wants[k]);
      if (!found) fail_msg("%s is no neighbour of %s", cases[i].wants[k], cases[i].from);
    }
    current = "{ }";
    Kernel x = lowered(p, 0, &want);
    run(p, x.prog.p, x.prog.n, want, NULL);
    for (size_t j = 0; j < a.text.n; j++) {
      Sb said = { 0 };
      assert_null(opts_parse(p->ir, nest, p->in->target, a.text.p[j], strlen(a.text.p[j]), &o));
      if (j % SOME) continue;
      current = a.text.p[j];
      x = lowered(p, 0, &got);
      if (run(p, x.prog.p, x.prog.n, got, &said)) fail_msg("%s: %s", current, said.p);
      same(p->ir, &x, got, want, 2);
      sb_free(&said);
    }
    VEC_FREE(&a.text);
    ir_free(p->ir);
    ctx_free(&c);
  }
}

/* Each byte is requested once, in whole segments, and no request uses a bank twice. */
static void warps_ask_for_neighbours(void **state) {
  static const struct { const char *graph; int64_t elems; } cases[] = { /* elems: loaded and stored elements */
    { "tgc 1 graph\nx = input f32[8,256]\nm = reduce x op=max axes=[1]\nme = expand m : [8,256]\nd = sub x, me\ne = exp d\n"
      "s = reduce e op=add axes=[1]\nse = expand s : [8,256]\ny = div e, se\noutput y\n", 2 * 8 * 256 },
    { "tgc 1 graph\nx = input f32[64,256]\ns = reduce x op=add axes=[1]\noutput s\n", 64 * 256 + 64 },
    { "tgc 1 graph\nx = input f32[256,64]\ns = reduce x op=add axes=[0]\noutput s\n", 256 * 64 + 64 },
    { "tgc 1 graph\nx = input f32[32768]\ny = exp x\noutput y\n", 2 * 32768 },
    { "tgc 1 graph\nx = input f32[6,64]\nb = input f32[6,64]\ny = add x, b\noutput y\n", 3 * 6 * 64 },
  };
  (void)state;
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    Ctx c;
    Plan *p = compiled(&c, cases[i].graph);
    LaunchReport r = { 0 };
    int64_t sectors = 0, conflicts = 0;
    assert_int_equal(p->kernels.n, 1);
    Refs prog = { 0 };
    for (size_t k = 0; k < p->kernels.p[0].prog.n; k++) VEC_PUSH(&prog, p->kernels.p[0].prog.p[k]);
    Launch l = launch_of(p->ir, prog);
    interp_launch(p->ir, &l, p->in->target->dev, memory(p), (ThreadOrder){ .warp = p->in->target->dev->warp }, 0, &r);
    for (size_t k = 0; k < r.traffic.n; k++) sectors += r.traffic.p[k].sectors, conflicts += r.traffic.p[k].conflicts;
    if (conflicts || sectors * p->in->target->dev->segment > cases[i].elems * 4 * 11 / 10)
      fail_msg("graph %zu: %lld sectors for %lld elements, %lld conflicts", i, (long long)sectors, (long long)cases[i].elems,
               (long long)conflicts);
    launch_report_free(&r);
    VEC_FREE(&l.prog);
    ir_free(p->ir);
    ctx_free(&c);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(neighbours_are_legal), cmocka_unit_test(warps_ask_for_neighbours),
    cmocka_unit_test(legal_schedules_compute_the_same),
    cmocka_unit_test(features_compute_the_same),
    cmocka_unit_test_setup_teardown(sums_in_terms_of_sums, setup, teardown),
    cmocka_unit_test(groups_inside_of_groups),
    cmocka_unit_test(each_barrier_counts),
    cmocka_unit_test(refusals_say_why),
    cmocka_unit_test(heuristic_reads_facts),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

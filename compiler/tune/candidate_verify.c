/* SPDX-License-Identifier: MIT */
/* candidate_verify.c: does a schedule compute what the empty one does? */
#include "batch.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Memory of every buffer two kernels name, the weights with the model's own data. */
static void **whole_memory(const Lab *b, const Plan *p, int seed, bool hard) {
  const IR *ir = b->ir;
  void **mem = ARENA_NEW(&b->ctx->model, void *, ir->bufs.n);
  for (size_t k = 0; k < p->kernels.n; k++)
    for (size_t i = 0; i < p->kernels.p[k].bufs.n; i++) {
      int at = p->kernels.p[k].bufs.p[i];
      const Buf *x = &ir->bufs.p[at];
      if (mem[at]) continue;
      mem[at] = memory(x->elems * dt_bytes(x->dt));
      const void *data = x->kind == BUF_WEIGHT ? ir->tensors.p[x->slot].data : NULL;
      if (x->packed) packed_gather(ir, &p->weights.packed.p[x->packed - 1], mem[at]);
      else if (data) memcpy(mem[at], data, (size_t)(x->elems * dt_bytes(x->dt)));
      else fill(mem[at], x->dt, x->elems, (uint64_t)(seed * 1000 + at), hard);
    }
  return mem;
}

static void free_memory(const IR *ir, void **mem) {
  for (size_t i = 0; i < ir->bufs.n; i++)
    if (mem[i]) memory_free(mem[i], ir->bufs.p[i].elems * dt_bytes(ir->bufs.p[i].dt));
}

static void run_on(Batch *b, int kernel, int run, void *const *mem) {
  const Kernel *k = &b->plan.kernels.p[kernel];
  void **args = ARENA_NEW(&b->lab->ctx->model, void *, k->bufs.n + 1);
  for (size_t i = 0; i < k->bufs.n; i++) args[i] = mem[k->bufs.p[i]];
  args[k->bufs.n] = (void *)(uintptr_t)sizes_in_run(b, kernel, run);
  b->run.p[kernel](args);
}

static double value_at(const Buf *b, const void *p, int64_t i) {
  uint64_t bits = 0;
  if (b->dt == DT_F32) { /* the most frequent */
    float v;
    memcpy(&v, (const char *)p + 4 * i, sizeof v);
    return (double)v;
  }
  memcpy(&bits, (const char *)p + i * dt_bytes(b->dt), (size_t)dt_bytes(b->dt));
  int64_t v = (int64_t)dt_wrap(b->dt, bits);
  return dt_float(b->dt) ? bits_to_double(b->dt, v) : (double)v;
}

typedef struct Difference { int64_t at; double got, want; } Difference; /* at: number of the element */

/* Sums in another order differ by rounding; everything else must not differ. sizes: of the run; NULL: the greatest ones */
static bool differs(const IR *ir, const Buf *b, const int64_t *sizes, const void *want, const void *got, Difference *d) {
  double unit = b->dt == DT_F64 ? 1e-13 : b->dt == DT_F32 ? 2e-5 : dt_float(b->dt) ? 2e-2 : 0, scale = 0;
  if (!memcmp(want, got, (size_t)(b->elems * dt_bytes(b->dt)))) return false;
  for (int64_t i = 0; i < b->elems; i++) {
    double v = fabs(value_at(b, want, i));
    if (isfinite(v) && v > scale && element_counts(ir, b, i, sizes)) scale = v;
  }
  for (int64_t i = 0; i < b->elems; i++) {
    double x = value_at(b, want, i), y = value_at(b, got, i);
    if (x == y || (isnan(x) && isnan(y)) || fabs(x - y) <= unit * scale || !element_counts(ir, b, i, sizes)) continue;
    *d = (Difference){ i, y, x };
    return true;
  }
  return false;
}

/* The memory that both kernels leave, which begin with the same numbers */
static void run_both(Batch *b, void *session, int run, int seed, bool hard, void ***mem) {
  for (int i = 0; i < 2; i++) {
    mem[i] = session ? ARENA_NEW(&b->lab->ctx->model, void *, b->lab->ir->bufs.n) : whole_memory(b->lab, &b->plan, seed, hard);
    if (session) device_outputs(b, session, i, seed, hard, mem[i]);
    else run_on(b, i, run, mem[i]);
  }
}

static bool agree(Batch *b, void *session, int run, const int64_t *sizes, int seed, bool hard, Difference *d) {
  const IR *ir = b->lab->ir;
  void **mem[2];
  bool same = true;
  run_both(b, session, run, seed, hard, mem);
  for (size_t i = 0; i < b->plan.kernels.p[0].written.n && same; i++) {
    const int at = b->plan.kernels.p[0].written.p[i];
    same = !differs(ir, &ir->bufs.p[at], sizes, mem[0][at], mem[1][at], d);
  }
  for (int i = 0; i < 2 && !session; i++) free_memory(ir, mem[i]);
  return same;
}

/* In one run; run -1: the nest's time depends on no size. Returns false, and says why, if results differ. A sum of few terms may
 * cancel, and its rounding is all that is left. So where a run has few entries, further inputs must differ, too. */
static bool compare_in(Batch *b, void *session, int run, double cycles) {
  static const char *const inputs[] = { "random", "other random", "hard" };
  enum { ROUNDS = sizeof inputs / sizeof *inputs, TRIES = 4 };
  const TunedRun *at = run < 0 ? NULL : &b->lab->runs.run[run];
  for (int round = 0; round < ROUNDS; round++) {
    Difference d;
    bool same = false;
    /* one random input says enough of so many elements */
    if (round == 1 && cycles > tunable(b->lab->ctx, tune_long_reference)) continue;
    for (int i = 0; i < (at ? TRIES : 1) && !same; i++)
      same = agree(b, session, at ? run : 0, at ? at->sizes : NULL, round + ROUNDS * i, round == 2, &d);
    if (same) continue;
    tell("differs on %s inputs%s%s: element %lld is %g and should be %g", inputs[round], at ? " with " : "", at ? at->text : "",
         (long long)d.at, d.got, d.want);
    return false;
  }
  return true;
}

static _Noreturn void compare(Batch *b) {
  void *session = b->plan.in->backend->driver ? device_compare_open(b) : NULL;
  if (!session) load_libraries(b);
  const bool sized = b->lab->runs.n && nest_is_sized(b->lab->ir, b->task->nest);
  const int runs = sized ? b->lab->runs.n : 1;
  const double cycles = runs * program_cycles(b->lab, &b->plan.kernels.p[0].prog, NULL, sized);
  for (int run = 0; run < runs; run++)
    if (!compare_in(b, session, sized ? run : -1, cycles)) _exit(0);
  tell("equal");
  _exit(0);
}

const char *lab_verify(Lab *lab, Ref nest, const char *key, const char *opts, bool *late) {
  read_headers(lab);
  Ctx *c = lab->ctx;
  Task task = { .nest = nest, .key = key };
  Batch b = {
    .lab = lab, .task = &task, .compares = true, .stem = arena_printf(&c->model, "%s/v%d", lab->scratch, lab->batches++)
  };
  Sb line = { 0 };
  bool ended = false;
  const char *why = NULL;
  VEC_PUSH(&task.cand, ((Candidate){ .opts = "{ }" }));
  VEC_PUSH(&task.cand, ((Candidate){ .opts = opts }));
  if (child_begin(c, &b.child, arena_printf(&c->model, "%s.err", b.stem))) {
    for (int i = 0; i < 2; i++) {
      const Backend *of = i || !lab->screen ? lab->backend : lab->screen; /* the screen compiles the reference faster */
      if (!i) plan_begin(lab, of, &b.given, &b.plan);
      b.given.in.backend = of;
      plan_add(&b.plan, nest, task.cand.p[i].opts);
      VEC_PUSH(&b.kept, i);
      VEC_PUSH(&b.which, i);
    }
    build_all(&b);
    compare(&b);
  }
  /* a driver may compile each of the two when it first runs */
  const double driver = lab->backend->driver ? 2 * driver_limit(&b, true) : 0;
  const double now = tune_clock();
  for (double end = now + fmin(tunable(lab->ctx, tune_verify) + driver, fmax(lab->deadline - now, 0) + lab->grace);
       !line.n && !ended && tune_clock() < end && !lab->interrupted(lab->interrupted_arg);)
    if (child_line(&b.child, 0.1, &line, &ended) && take_built(&b, line.p)) line.n = 0;
  int status = child_end(&b.child);
  *late = !line.n && !ended;
  if (!line.n)
    why = lab->interrupted(lab->interrupted_arg) ? "interrupted"
          : ended                                ? why_ended(c, status)
                                                 : "it could not be compared in time";
  else if (starts_with(line.p, "gone ")) why = lab->gone = arena_str(&c->model, line.p + 5, strlen(line.p + 5));
  else if (starts_with(line.p, "lost ")) why = arena_str(&c->model, line.p + 5, strlen(line.p + 5));
  else if (strcmp(line.p, "equal")) why = arena_str(&c->model, line.p, strlen(line.p));
  if (why && lab->backend->driver && !lab->gone) lab->gone = device_missing(c, lab->backend, lab->device);
  sb_free(&line);
  VEC_FREE(&task.cand);
  return why;
}

/* SPDX-License-Identifier: MIT */
/* sides.c: builds variants of a model and runs them in turn.
 *
 * The addresses of its memory make a process some percent faster or slower for its whole life, and affect each kernel
 * differently. So a side gets several processes, one after another. The time of a kernel is the 10th percentile of all its
 * runs. The sum of these is the model's time. */
#include "sides.h"
#include <math.h>
#include <stdarg.h>
#include <string.h>

/* seconds of a block. Runs of small models vary less than their processes, so that their blocks are shorter */
static const double BLOCK_SECONDS = 0.02, BLOCK_LEAST = 0.004;
/* blocks of each process; most runs of a block, and those that are enough; runs of each process, and the most time for these,
 * in times of its share */
enum { ROUNDS_LEAST = 2, BLOCK_RUNS = 1000, BLOCK_ENOUGH = 64, RUNS_LEAST = 8, SHARES_MOST = 3 };
static const double QUANTILE = 0.1;
static const double LONGER = 1.3; /* times the run time of a side that many processes may take */

const Plan *plan_quietly(Ctx *c, Races *r, const char *schedule, const char *lock) {
  Options o = *r->o;
  const bool quiet = c->quiet;
  const double begin = clock_ms();
  o.schedule = schedule;
  o.lock = lock;
  o.no_store = o.quiet = c->quiet = true;
  const Plan *p = plan_of(&o, load_graph(c, &o, NULL), r->target, NULL);
  c->quiet = quiet;
  c->file = NULL;
  r->plan = (clock_ms() - begin) * 1e-3;
  return p;
}

/* Room for the times of n kernels */
static void times_open(Ctx *c, Side *x, size_t n) {
  x->stamps = (Stamps){ .n = (int)n + 1,
                        .at = shared_memory(c, BLOCK_RUNS * (n + 1) * sizeof(double)),
                        .room = BLOCK_RUNS,
                        .spans = shared_memory(c, sizeof(Spans)) };
  x->kernels = ARENA_NEW(&c->model, Reals, n + 1);
  x->of_life = ARENA_NEW(&c->model, Reals, n + 1);
}

static Tensor *inputs_of(Ctx *c, const Races *r, const Plan *p, const int64_t *sizes) {
  const size_t n = p->g->inputs.n;
  const GIO *in = sizes ? values_of_run(c, p->ir, p->g->inputs.p, n, sizes) : p->g->inputs.p;
  Tensor *out = ARENA_NEW(&c->model, Tensor, n + 1);
  feed_inputs(c, &(Feed){ 0 }, in, (int)n, r->o->seed, out);
  return out;
}

/* A side for each timed run of a model with ranges of sizes */
static void open_runs(Ctx *c, Races *r, Side *x, const Plan *p) {
  if (!r->runs || !r->runs->n) return;
  x->timed = r->runs;
  x->in_run = ARENA_NEW(&c->model, Side, TIMED_RUNS);
  for (int i = 0; i < x->timed->timed; i++) {
    Options o = *r->o;
    o.run_size = x->timed->run[i].text;
    if (!r->in_run[i]) r->in_run[i] = inputs_of(c, r, p, x->timed->run[i].sizes);
    x->in_run[i] = (Side){ .dir = x->dir, .so = x->so, .f = interface_read(c, &o, x->dir), .in = r->in_run[i] };
    times_open(c, &x->in_run[i], p->kernels.n);
  }
}

/* begin: when the bundle began to be written, by clock_ms */
static Side open_at(Ctx *c, Races *r, const Plan *p, const char *dir, double begin) {
  const size_t n = p->kernels.n;
  const bool device = p->in->backend->device;
  Side x = { .dir = dir };
  const double put = clock_ms();
  x.f = interface_read(c, r->o, x.dir);
  times_open(c, &x, n);
  if (device) x.stamps.kernel = kernel_of_launches(p, &x.stamps.launches);
  if (!r->in) r->in = inputs_of(c, r, p, NULL);
  x.so = side_build(c, r, x.dir, &x.f, device || r->bare ? NULL : hooks_write(c, r->scratch, (int)n + 1));
  const double built = clock_ms();
  open_runs(c, r, &x, p);
  r->build = (built - begin) * 1e-3;
  if (!r->again) r->whole = r->build;
  if (r->jobs && !r->again) r->build = (put - begin + tunable(c, tune_build_again) * (built - put)) * 1e-3;
  r->quickest = r->again ? fmin(r->quickest, r->build) : r->build;
  r->again = true;
  races_note(r, "the model, %zu kernels, was built in %.2f s", n, (built - begin) * 1e-3);
  return x;
}

Side side_open(Ctx *c, Races *r, const Plan *p) {
  const double begin = clock_ms();
  return open_at(c, r, p, plan_put(c, r->o, p, r->scratch), begin);
}

Side side_open_at(Ctx *c, Races *r, const Plan *p, const char *dir) { return open_at(c, r, p, dir, clock_ms()); }

void side_close(Side *x) {
  if (!x->kernels) return;
  for (int i = 0; x->in_run && i < side_runs(x); i++) side_close(&x->in_run[i]);
  worker_end(&x->worker);
  interface_free(&x->f);
  VEC_FREE(&x->runs);
  for (int k = 0; k < x->stamps.n; k++) {
    VEC_FREE(&x->kernels[k]);
    VEC_FREE(&x->of_life[k]);
  }
  *x = (Side){ 0 };
}

static double block_seconds(const Side *x) {
  return x->runs.n ? fmax(BLOCK_LEAST, fmin(BLOCK_SECONDS, BLOCK_ENOUGH * 1e-3 * x->runs.p[x->runs.n / 2])) : BLOCK_SECONDS;
}

static void block(Ctx *c, Side *x) {
  const size_t before = x->runs.n;
  worker_block(c, &x->worker, block_seconds(x), BLOCK_RUNS, &x->runs);
  for (size_t r = before; r < x->runs.n; r++) {
    const double *at = x->stamps.at + x->stamped++ % BLOCK_RUNS * (size_t)x->stamps.n;
    for (int k = 0; k + 1 < x->stamps.n; k++) VEC_PUSH(&x->kernels[k], at[k + 1] - at[k]);
  }
}

/* The number of times that were taken of kernel k; the last one: of runs */
static const Reals *times_of(const Side *x, int k) { return k + 1 < x->stamps.n ? &x->kernels[k] : &x->runs; }

/* Notes the times of a life. had: the number of times before it, for each kernel and for runs */
static void end_life(Side *x, const size_t *had) {
  for (int k = 0; k < x->stamps.n; k++) {
    const Reals *all = times_of(x, k);
    Reals own = { 0 };
    for (size_t i = had[k]; i < all->n; i++) VEC_PUSH(&own, all->p[i]);
    reals_sort(&own);
    VEC_PUSH(&x->of_life[k], own.n ? quantile(&own, QUANTILE) : 0);
    VEC_FREE(&own);
  }
}

/* Some runs may be disturbed. So a life has enough of them, even if it takes longer than its share. */
static void live_once(Ctx *c, Side *const *side, int n, double end, Races *r, double begin) {
  const size_t had = side[0]->runs.n;
  bool enough = false;
  for (int k = 1; !enough || clock_ms() < end; k++) {
    for (int i = 0; i < n; i++) block(c, side[i]);
    const bool was = enough, runs = side[0]->runs.n - had >= RUNS_LEAST || clock_ms() > begin + SHARES_MOST * (end - begin);
    enough = k >= ROUNDS_LEAST && runs;
    if (enough && !was) r->life = (clock_ms() - begin) * 1e-3 / n;
  }
}

static int timed_runs(const Races *r) { return r->runs && r->runs->n ? r->runs->timed : 1; }

/* Sides with lives of their own */
typedef VEC(Side *) SideList;
static SideList with_lives(Side *const *side, int n) {
  SideList all = { 0 };
  for (int i = 0; i < n; i++)
    for (int k = 0; k < side_runs(side[i]); k++) VEC_PUSH(&all, side[i]->in_run ? &side[i]->in_run[k] : side[i]);
  return all;
}

/* Runs the sides in turn, for a life of each. */
static void live(Ctx *c, Races *r, Side *const *side, int n, int lives, int threads) {
  const double begin = clock_ms(), end = begin + r->seconds / timed_runs(r) / lives * 1e3 * n;
  VEC(size_t) had = { 0 };
  for (int i = 0; i < n; i++) {
    Side *x = side[i];
    worker_end(&x->worker);
    model_renew(x->dir, x->so, &x->f);
    worker_model(c, &x->worker, x->dir, x->so, &x->f, threads, x->in ? x->in : r->in, &x->stamps);
    x->stamped = 0;
    for (int k = 0; k < x->stamps.n; k++) VEC_PUSH(&had, times_of(x, k)->n);
  }
  live_once(c, side, n, end, r, begin);
  for (int i = 0, at = 0; i < n; at += side[i++]->stamps.n) end_life(side[i], had.p + at);
  VEC_FREE(&had);
}

void sides_measure(Ctx *c, Races *r, Side *const *side, int n, Lives lives, int threads) {
  SideList all = with_lives(side, n);
  for (size_t i = 0; i < all.n; i++) {
    Side *x = all.p[i];
    x->runs.n = 0;
    for (int k = 0; k < x->stamps.n; k++) x->kernels[k].n = x->of_life[k].n = 0;
  }
  VEC_FREE(&all);
  sides_go_on(c, r, side, n, lives, threads);
}

void sides_go_on(Ctx *c, Races *r, Side *const *side, int n, Lives lives, int threads) {
  const double begin = clock_ms();
  SideList all = with_lives(side, n);
  int lived = 0;
  for (double last = 0; lived < lives.most && (lived < lives.least || clock_ms() + last < lives.end); lived++) {
    const double start = clock_ms();
    live(c, r, all.p, (int)all.n, lives.most, threads);
    last = clock_ms() - start;
  }
  for (size_t i = 0; i < all.n; i++) {
    Side *x = all.p[i];
    worker_end(&x->worker);
    reals_sort(&x->runs);
    for (int k = 0; k < x->stamps.n; k++) reals_sort(&x->kernels[k]);
  }
  VEC_FREE(&all);
  races_note(r, "%d side%s, %d processes each, %d thread%s: %.2f s", n, n > 1 ? "s" : "", lived, threads, threads > 1 ? "s" : "",
             (clock_ms() - begin) * 1e-3);
}

double side_life_seconds(const Races *r) { return timed_runs(r) * r->life; }

double sides_seconds(const Races *r, int n, int lives, int most) {
  return n * lives * fmax(r->seconds / most, side_life_seconds(r));
}

int sides_lives(const Races *r, int few, int many) {
  const double fit = r->life > 0 ? LONGER * r->seconds / r->life : 0;
  return (int)fmax(few, fmin(many, fit));
}

double races_left(const Races *r) { return (r->end - clock_ms()) * 1e-3; }

void races_note(const Races *r, const char *fmt, ...) {
  va_list ap;
  if (!r->o->verbose) return;
  fprintf(stderr, "at %.1f s: ", (clock_ms() - r->begin) * 1e-3);
  va_start(ap, fmt);
  vfprintf(stderr, fmt, ap);
  va_end(ap);
  fputc('\n', stderr);
}

int side_runs(const Side *x) { return x->in_run ? x->timed->timed : 1; }

const Side *side_in_run(const Side *x, int run) { return x->in_run ? &x->in_run[run] : x; }

/* Kernels may have no work in a run. The clock does not tell such times apart. */
static double mean_ms(const Side *x, const double *at) {
  const double clock = 2e-5;
  double more[TIMED_RUNS];
  for (int i = 0; i < side_runs(x); i++) more[i] = fmax(at[i], clock);
  return mean_of_runs(x->timed, more);
}

double side_kernel_ms(const Side *x, size_t k) {
  double at[TIMED_RUNS];
  if (!x->in_run) return quantile(&x->kernels[k], QUANTILE);
  for (int i = 0; i < side_runs(x); i++) at[i] = side_kernel_ms(&x->in_run[i], k);
  return mean_ms(x, at);
}

bool side_stamped(const Side *x) {
  if (x->in_run) return side_stamped(&x->in_run[side_runs(x) - 1]);
  for (int k = 0; k + 1 < x->stamps.n; k++)
    if (side_kernel_ms(x, (size_t)k) > 0) return true;
  return false;
}

size_t side_lives(const Side *x) { return side_in_run(x, 0)->of_life[0].n; }

double side_kernel_life_ms(const Side *x, size_t k, size_t life) {
  double at[TIMED_RUNS];
  if (!x->in_run) return x->of_life[k].p[life];
  for (int i = 0; i < side_runs(x); i++) at[i] = side_kernel_life_ms(&x->in_run[i], k, life);
  return mean_ms(x, at);
}

double side_life_ms(const Side *x, size_t life) {
  double ms = 0;
  if (!side_stamped(x)) return side_kernel_life_ms(x, (size_t)x->stamps.n - 1, life);
  for (int k = 0; k + 1 < x->stamps.n; k++) ms += side_kernel_life_ms(x, (size_t)k, life);
  return ms;
}

static double whole_ms(const Side *x) {
  double at[TIMED_RUNS];
  if (!x->in_run) return quantile((Reals *)(uintptr_t)&x->runs, QUANTILE);
  for (int i = 0; i < side_runs(x); i++) at[i] = whole_ms(&x->in_run[i]);
  return mean_ms(x, at);
}

double side_ms(const Side *x) {
  double ms = 0;
  if (!side_stamped(x)) return whole_ms(x);
  for (int k = 0; k + 1 < x->stamps.n; k++) ms += side_kernel_ms(x, (size_t)k);
  return ms;
}

Paired sides_paired(const Side *without, const Side *with) {
  Reals logs = { 0 };
  for (size_t i = 0; i < side_lives(without); i++) VEC_PUSH(&logs, log(side_life_ms(with, i) / side_life_ms(without, i)));
  const Paired x = paired_trimmed(logs.p, logs.n);
  VEC_FREE(&logs);
  return x;
}

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

static const double BLOCK_SECONDS = 0.02;
enum { ROUNDS_LEAST = 2, BLOCK_RUNS = 1000 }; /* blocks of each process; runs of a block */
static const double QUANTILE = 0.1;
static const double AGAIN = 0.3; /* share of the first compilation that the next one takes, which has most kernels already */

Side side_open(Ctx *c, Races *r, const Plan *p) {
  const size_t n = p->kernels.n;
  const double begin = clock_ms();
  const bool device = p->in->backend->device;
  Side x = { .dir = plan_put(c, r->o, p, r->scratch) };
  const double put = clock_ms();
  x.f = interface_read(c, r->o, x.dir);
  x.stamps = (Stamps){ .n = (int)n + 1,
                       .at = shared_memory(c, BLOCK_RUNS * (n + 1) * sizeof(double)),
                       .room = BLOCK_RUNS,
                       .spans = shared_memory(c, sizeof(Spans)) };
  if (device) x.stamps.kernel = kernel_of_launches(p, &x.stamps.launches);
  x.kernels = ARENA_NEW(&c->model, Reals, n + 1);
  if (!r->in) {
    r->in = ARENA_NEW(&c->model, Tensor, p->g->inputs.n + 1);
    feed_inputs(c, &(Feed){ 0 }, p->g->inputs.p, (int)p->g->inputs.n, r->o->seed, r->in);
  }
  x.so = side_build(c, r, x.dir, &x.f, device ? NULL : hooks_write(c, r->scratch, (int)n + 1));
  const double built = clock_ms();
  r->build = (built - begin) * 1e-3;
  if (r->jobs && !r->again) r->build = (put - begin + AGAIN * (built - put)) * 1e-3;
  r->again = true;
  races_note(r, "the model, %zu kernels, was built in %.2f s", n, (built - begin) * 1e-3);
  return x;
}

void side_close(Side *x) {
  if (!x->kernels) return;
  worker_end(&x->worker);
  interface_free(&x->f);
  VEC_FREE(&x->runs);
  for (int k = 0; k < x->stamps.n; k++) VEC_FREE(&x->kernels[k]);
  *x = (Side){ 0 };
}

static void block(Ctx *c, Side *x) {
  const size_t before = x->runs.n;
  worker_block(c, &x->worker, BLOCK_SECONDS, BLOCK_RUNS, &x->runs);
  for (size_t r = before; r < x->runs.n; r++) {
    const double *at = x->stamps.at + x->stamped++ % BLOCK_RUNS * (size_t)x->stamps.n;
    for (int k = 0; k + 1 < x->stamps.n; k++) VEC_PUSH(&x->kernels[k], at[k + 1] - at[k]);
  }
}

/* Runs the sides in turn, for a life of each. */
static void live(Ctx *c, Races *r, Side *const *side, int n, int lives, int threads) {
  const double begin = clock_ms(), end = begin + r->seconds / lives * 1e3 * n;
  for (int i = 0; i < n; i++) {
    Side *x = side[i];
    worker_end(&x->worker);
    worker_model(c, &x->worker, x->dir, x->so, &x->f, threads, r->in, &x->stamps);
    x->stamped = 0;
  }
  for (int k = 0; k < ROUNDS_LEAST || clock_ms() < end; k++) {
    for (int i = 0; i < n; i++) block(c, side[i]);
    if (k + 1 == ROUNDS_LEAST) r->life = (clock_ms() - begin) * 1e-3 / n;
  }
}

void sides_measure(Ctx *c, Races *r, Side *const *side, int n, Lives lives, int threads) {
  const double begin = clock_ms();
  int lived = 0;
  for (int i = 0; i < n; i++) {
    side[i]->runs.n = 0;
    for (int k = 0; k < side[i]->stamps.n; k++) side[i]->kernels[k].n = 0;
  }
  for (double last = 0; lived < lives.most && (lived < lives.least || clock_ms() + last < lives.end); lived++) {
    const double start = clock_ms();
    live(c, r, side, n, lives.most, threads);
    last = clock_ms() - start;
  }
  for (int i = 0; i < n; i++) {
    worker_end(&side[i]->worker);
    reals_sort(&side[i]->runs);
    for (int k = 0; k < side[i]->stamps.n; k++) reals_sort(&side[i]->kernels[k]);
  }
  races_note(r, "%d side%s, %d processes each, %d thread%s: %.2f s", n, n > 1 ? "s" : "", lived, threads, threads > 1 ? "s" : "",
             (clock_ms() - begin) * 1e-3);
}

double sides_seconds(const Races *r, int n, int lives, int most) { return n * lives * fmax(r->seconds / most, r->life); }

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

double side_kernel_ms(const Side *x, size_t k) { return quantile(&x->kernels[k], QUANTILE); }

bool side_stamped(const Side *x) {
  for (int k = 0; k + 1 < x->stamps.n; k++)
    if (side_kernel_ms(x, (size_t)k) > 0) return true;
  return false;
}

double side_ms(const Side *x) {
  double ms = 0;
  if (!side_stamped(x)) return quantile((Reals *)(uintptr_t)&x->runs, QUANTILE);
  for (int k = 0; k + 1 < x->stamps.n; k++) ms += side_kernel_ms(x, (size_t)k);
  return ms;
}

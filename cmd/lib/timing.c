/* SPDX-License-Identifier: MIT */
/* timing.c: the time of each kernel of a run. The bundle is compiled with a header for its hooks (docs/bundle.md) that records
 * when each kernel begins. Each kernel's median is compared with the machine's peak. Multiply-adds count at the rate of
 * registers, bytes at the rate of repeatedly reading as many bytes as the model has. Both rates are measured just before. On a
 * device the driver takes the times of launches, and the peak is not known. */
#include "../cmd.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { RUNS = 1000, STAMPS_MOST = 1 << 23 };

const double *stamps_of(const Timing *t, size_t run) { return t->stamps.at + run * (size_t)t->stamps.n; }

static void fill_rows(Ctx *c, Timing *t) {
  const size_t n = t->layers.n;
  Reals times = { 0 };
  t->rows = ARENA_NEW(&c->model, KernelTime, n + 1);
  for (size_t k = 0; k <= n; k++) { /* the last one: the whole run */
    times.n = 0;
    for (size_t r = 0; r < t->runs; r++) {
      const double *s = stamps_of(t, r);
      VEC_PUSH(&times, k < n ? s[k + 1] - s[k] : s[n] - s[0]);
    }
    reals_sort(&times);
    double ms = quantile(&times, 0.5);
    if (k == n) {
      t->total = ms;
      continue;
    }
    const Layer *x = &t->layers.p[k];
    double bytes = (double)(x->read + x->written), flops = (double)x->flops;
    double least = t->peak.gflops > 0 ? fmax(flops / t->peak.gflops, bytes / t->peak.read_gbs) * 1e-6 : 0;
    const double per_ms = ms > 0 ? 1 / ms : 0; /* 0: a kernel that no run took */
    t->rows[k] = (KernelTime){ (int)k, ms, flops * per_ms * 1e-6, bytes * per_ms * 1e-6, least * per_ms, times.p[0] };
  }
  VEC_FREE(&times);
}

/* The kernel of each launch: launches follow one another in the order of kernels. */
static const int *kernels_of_launches(Ctx *c, const Layers *l, size_t *n) {
  *n = 0;
  for (size_t k = 0; k < l->n; k++) *n += l->p[k].launches;
  int *list = ARENA_NEW(&c->model, int, *n + 1);
  for (size_t k = 0, at = 0; k < l->n; k++)
    for (size_t i = 0; i < l->p[k].launches; i++) list[at++] = (int)k;
  return list;
}

void timing_run(Ctx *c, const Options *o, Timing *t, const char *dir, const char *scratch, const Tensor *in) {
  const int threads = o->threads ? (int)o->threads : 1;
  size_t n = t->layers.n + 1, runs = o->runs ? (size_t)o->runs : RUNS;
  if (runs > STAMPS_MOST / n) runs = STAMPS_MOST / n + 1;
  t->stamps = (Stamps){ .n = (int)n,
                        .at = shared_memory(c, (runs + TIMING_EXTRA) * n * sizeof(double)),
                        .spans = shared_memory(c, sizeof(Spans)) };
  if (t->device) t->stamps.kernel = kernels_of_launches(c, &t->layers, &t->stamps.launches);
  const char *hooks = t->device ? NULL : hooks_write(c, scratch, t->stamps.n);
  const char *so = bundle_build(c, o, dir, scratch, &t->f, hooks);
  if (!t->device) t->peak = peak_measure(c, o, scratch, t->f.target, threads, t->f.arena_bytes + t->f.weight_bytes);
  worker_model(c, &t->worker, dir, so, &t->f, threads, in, &t->stamps);
  Reals times = { 0 };
  Load from = load_now((Worker *[]){ &t->worker }, 1);
  worker_block(c, &t->worker, o->runs ? 1e9 : o->seconds, (int64_t)runs, &times);
  Load to = load_now((Worker *[]){ &t->worker }, 1);
  t->runs = times.n;
  t->foreign = load_foreign(&from, &to);
  VEC_FREE(&times);
  fill_rows(c, t);
}

void timing_end(Timing *t) {
  worker_end(&t->worker);
  interface_free(&t->f);
}

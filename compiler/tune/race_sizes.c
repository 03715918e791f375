/* SPDX-License-Identifier: MIT */
/* race_sizes.c: times candidates in several runs, with other sizes of the model's ranges. A sample has a time of each run, taken
 * as for a model without ranges (race.c). The race compares candidates by the mean of these times. At its end, the typical times
 * of single runs are told, too.
 *
 * needs: functions of candidates, sizes of the timed runs    gives: times in each run, and their mean */
#include "batch.h"
#include <math.h>

/* first: seconds of an early run. sample: n numbers of seconds, in ascending order */
typedef struct RunMeter { double first, sample[SAMPLES_MOST]; int n; } RunMeter;

typedef struct Sized {
  const TunedRuns *runs;
  const Course *course;    /* runs candidates in one run */
  void *here;              /* `self` of its functions */
  int kernels;
  RunMeter *m;             /* by kernel, and by run */
  double seconds;          /* length of a sample with warm caches, in one run */
} Sized;

static RunMeter *meter(const Sized *s, int kernel, int run) { return &s->m[kernel * TIMED_RUNS + run]; }

static void *sizes_begin(Batch *b) {
  Sized *s = ARENA_NEW(&b->lab->ctx->model, Sized, 1);
  *s = (Sized){ .runs = &b->lab->runs, .course = b->course, .here = b->course->begin(b), .kernels = (int)b->plan.kernels.n };
  s->m = ARENA_NEW(&b->lab->ctx->model, RunMeter, (size_t)s->kernels * TIMED_RUNS + 1);
  s->seconds = tunable(b->lab->ctx, tune_sample) / s->runs->timed;
  return s;
}

/* The batch needs the time of all runs: how long it waits depends on it. */
static double sizes_once(void *self, int kernel, int repeat) {
  Sized *s = self;
  double at[TIMED_RUNS], all = 0;
  for (int i = 0; i < s->runs->timed; i++) {
    s->course->set_run(s->here, i);
    all += at[i] = meter(s, kernel, i)->first = s->course->once(s->here, kernel, repeat);
  }
  tell("whole %d %.9f", kernel, all);
  return mean_of_runs(s->runs, at);
}

static void add_sample(RunMeter *m, double seconds) {
  int at = m->n;
  if (m->n == SAMPLES_MOST) return;
  for (m->n++; at > 0 && m->sample[at - 1] > seconds; at--) m->sample[at] = m->sample[at - 1];
  m->sample[at] = seconds;
}

/* The number of repetitions depends on the run, so `repeat` is not used. If the race drops a sample, it stays here. */
static void sizes_sample(void *self, int kernel, int repeat, double *warm, double *cold) {
  Sized *s = self;
  double near[TIMED_RUNS], far[TIMED_RUNS];
  (void)repeat;
  for (int i = 0; i < s->runs->timed; i++) {
    RunMeter *m = meter(s, kernel, i);
    const int times = (int)fmin(s->seconds / fmax(m->first, 1e-9), 1e6);
    s->course->set_run(s->here, i);
    s->course->sample(s->here, kernel, times > 1 ? times : 1, &near[i], &far[i]);
    add_sample(m, (near[i] + far[i]) / 2);
  }
  *warm = mean_of_runs(s->runs, near);
  *cold = mean_of_runs(s->runs, far);
}

/* The lower quartile, as race_typical takes */
static void sizes_end(void *self) {
  const Sized *s = self;
  for (int k = 0; k < s->kernels; k++) {
    double at[TIMED_RUNS] = { 0 };
    for (int i = 0; i < s->runs->timed; i++) {
      const RunMeter *m = meter(s, k, i);
      if (m->n) at[i] = 1e6 * m->sample[m->n / 4];
    }
    if (at[0] > 0) tell("sizes %d %.4f %.4f %.4f", k, at[0], at[1], at[2]);
  }
}

const Course sizes_course = { .begin = sizes_begin, .once = sizes_once, .sample = sizes_sample, .end = sizes_end };

/* SPDX-License-Identifier: MIT */
/* hooks.h: measures the times of kernels in a bundle that tgc runs. The bundle includes this text by TGC_HOOKS (docs/bundle.md).
 * A span is a time in which one thread ran chunks of one kernel. tgc writes definitions of three constants before this text.
 * STEPS is the number of kernels plus one. LANES is the greatest number of threads that are recorded. SPANS is the greatest
 * number of spans that are recorded for a thread. After a run, tgc_steps and tgc_spans have the times of this run, in ms. */
#include <time.h>

/* tgc_steps[0]: the time at which the latest run began. tgc_steps[k + 1]: tgc_steps[k] plus the time that kernel k took */
double tgc_steps[STEPS];
struct {
  int lanes, n[LANES]; /* lanes: number of threads that have run chunks, perhaps more than LANES; n: by thread, number of
                          recorded spans of the latest run */
  struct {
    double begin, end;
    int kernel;
  } span[LANES][SPANS]; /* by thread */
} tgc_spans;
static __thread int tgc_lane = -1; /* index of this thread in tgc_spans.n and tgc_spans.span; -1: not set yet */

static double tgc_clock(void) { /* ms */
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

static double tgc_spent[LANES][STEPS]; /* by thread and kernel: ms spent since the last call of tgc_step */

static double tgc_all_spent(int k) { /* sum of tgc_spent for kernel k over the threads */
  double all = 0;
  for (int i = 0; i < LANES; i++) all += tgc_spent[i][k];
  return all;
}

/* The bundle calls this function before kernel k, and with k = STEPS - 1 after the last kernel. Between two calls, one kernel
 * runs, or the kernels of a group run, or a branch skips some kernels. The time since the previous call is divided among the
 * kernels that ran, in proportion to the times that threads spent in them. If a loop runs a kernel several times, the kernel's
 * times are added up. */
static void tgc_step(int k) {
  static int last;
  static double before, took[STEPS];
  const double now = tgc_clock();
  const int end = k > last ? k : last + 1;
  double all = 0;
  for (int j = last; k && j < end; j++) all += tgc_all_spent(j);
  /* If no span was recorded, because there were too many, the kernels of a group get equal parts of the time. */
  for (int j = last; k && j < end; j++) took[j] += (now - before) * (all > 0 ? tgc_all_spent(j) / all : 1.0 / (end - last));
  for (int i = 0; i < LANES; i++) {
    if (!k) tgc_spans.n[i] = 0;
    for (int j = k ? last : 0; j < (k ? end : STEPS); j++) tgc_spent[i][j] = 0;
  }
  if (!k) tgc_steps[0] = now;
  for (int j = 0; !k && j < STEPS; j++) took[j] = 0;
  for (int j = 0; k == STEPS - 1 && j < k; j++) tgc_steps[j + 1] = tgc_steps[j] + took[j];
  before = now;
  last = k;
}

static void tgc_span(int k, double begin) { /* records a span: this thread ran chunks of kernel k from `begin` to now */
  if (tgc_lane < 0) tgc_lane = __atomic_fetch_add(&tgc_spans.lanes, 1, __ATOMIC_RELAXED);
  if (tgc_lane >= LANES || tgc_spans.n[tgc_lane] == SPANS) return;
  const int i = tgc_spans.n[tgc_lane];
  if (i && tgc_spans.span[tgc_lane][i - 1].begin >= begin) return; /* spans inside of this span are recorded already */
  tgc_spans.n[tgc_lane]++;
  tgc_spans.span[tgc_lane][i].begin = begin;
  tgc_spans.span[tgc_lane][i].end = tgc_clock();
  tgc_spans.span[tgc_lane][i].kernel = k;
  tgc_spent[tgc_lane][k] += tgc_spans.span[tgc_lane][i].end - begin;
}

#define TGC_STEP(k) tgc_step(k);
#define TGC_BEGIN(k) const double tgc_began = tgc_clock();
#define TGC_END(k) tgc_span(k, tgc_began);

/* hooks.h: the clock of tgc profile, for TGC_HOOKS of a bundle. STEPS, the number of kernels and one more, LANES and
 * SPANS are defined above it. What the last run did stays in tgc_steps and tgc_spans. */
#include <time.h>

double tgc_steps[STEPS];
struct {
  int lanes, n[LANES]; /* threads, and parts of each */
  struct {
    double begin, end;
    int kernel;
  } span[LANES][SPANS];
} tgc_spans;
static __thread int tgc_lane = -1;

static double tgc_clock(void) { /* ms */
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

static void tgc_step(int k) {
  for (int i = 0; !k && i < LANES; i++) tgc_spans.n[i] = 0;
  tgc_steps[k] = tgc_clock();
}

static void tgc_span(int k, double begin) {
  if (tgc_lane < 0) tgc_lane = __atomic_fetch_add(&tgc_spans.lanes, 1, __ATOMIC_RELAXED);
  if (tgc_lane >= LANES || tgc_spans.n[tgc_lane] == SPANS) return;
  const int i = tgc_spans.n[tgc_lane]++;
  tgc_spans.span[tgc_lane][i].begin = begin;
  tgc_spans.span[tgc_lane][i].end = tgc_clock();
  tgc_spans.span[tgc_lane][i].kernel = k;
}

#define TGC_STEP(k) tgc_step(k);
#define TGC_BEGIN(k) const double tgc_began = tgc_clock();
#define TGC_END(k) tgc_span(k, tgc_began);

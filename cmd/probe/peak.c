/* SPDX-License-Identifier: MIT */
/* peak.c: measures the machine's peak under the flags of a bundle. CHAINS vectors stay in registers. All threads work at the same
 * time. A result is the best of a few rounds. */
#include "probe.h"

double peak_gflops(int threads);
double peak_read_gbs(int threads, size_t bytes);

enum { ROUNDS = 12, STREAMS = 4 };
static const double ROUND_SECONDS = 0.004;

typedef struct Work {
  long repeat;
  const Words *from; /* data of this thread; NULL: compute */
  size_t n;          /* number of vectors in it */
  pthread_barrier_t *gate;
  double seconds;    /* time of a round for the slowest thread, as this thread measured it; the best of all rounds */
} Work;

static volatile float sink;

/* Independent chains hide the latency. */
static void compute(long n) {
  Vec a[CHAINS], vx = x - (Vec){ 0 }, vy = y - (Vec){ 0 }, sum = { 0 };
  for (int i = 0; i < CHAINS; i++) a[i] = vx + (float)i;
  for (long k = 0; k < n; k++)
#pragma GCC unroll 24
    for (int i = 0; i < CHAINS; i++) a[i] = a[i] * vx + vy;
  for (int i = 0; i < CHAINS; i++) sum += a[i];
  float first;
  memcpy(&first, &sum, sizeof first);
  sink = first;
}

/* Several streams at once, as many as the hardware prefetches. */
static void read_all(const Words *p, size_t n, long repeat) {
  Words a = { 0 }, b = { 0 }, c = { 0 }, d = { 0 };
  const size_t part = n / STREAMS;
  for (; repeat-- > 0;) {
    for (size_t i = 0; i + 1 < part; i += 2) {
      a |= p[i] | p[i + 1];
      b |= p[part + i] | p[part + i + 1];
      c |= p[2 * part + i] | p[2 * part + i + 1];
      d |= p[3 * part + i] | p[3 * part + i + 1];
    }
    __asm__ volatile("" ::: "memory");
  }
  a |= b | c | d;
  float first;
  memcpy(&first, &a, sizeof first);
  sink = first;
}

static void *work(void *arg) {
  Work *w = arg;
  for (int r = 0; r < ROUNDS; r++) {
    pthread_barrier_wait(w->gate);
    double start = now();
    if (w->from) read_all(w->from, w->n, w->repeat);
    else compute(w->repeat);
    pthread_barrier_wait(w->gate);
    double seconds = now() - start;
    if (!r || seconds < w->seconds) w->seconds = seconds;
  }
  return NULL;
}

/* seconds of the best round */
static double measure(int threads, long repeat, const Words *from, size_t n) {
  pthread_barrier_t gate;
  pthread_t *t = malloc((size_t)threads * sizeof *t);
  Work *w = malloc((size_t)threads * sizeof *w);
  double best = 0;
  pthread_barrier_init(&gate, NULL, (unsigned)threads);
  for (int i = 0; i < threads; i++) {
    w[i] = (Work){ repeat, from ? from + (size_t)i * n : NULL, n, &gate, 0 };
    if (i) pthread_create(&t[i], NULL, work, &w[i]);
  }
  work(&w[0]);
  for (int i = 1; i < threads; i++) pthread_join(t[i], NULL);
  best = w[0].seconds;
  pthread_barrier_destroy(&gate);
  free(t);
  free(w);
  return best;
}

/* Uses rounds so long that their start does not matter; returns repeats per second. */
static double rate(int threads, const Words *from, size_t n) {
  long repeat = 1;
  double seconds = measure(threads, repeat, from, n);
  while (seconds < ROUND_SECONDS) {
    double times = 1.2 * ROUND_SECONDS / (seconds > 1e-7 ? seconds : 1e-7);
    repeat = (long)((double)repeat * (times < 2 ? 2 : times > 100 ? 100 : times));
    seconds = measure(threads, repeat, from, n);
  }
  return (double)repeat / seconds;
}

double peak_gflops(int threads) { return rate(threads, NULL, 0) * 2 * LANES * CHAINS * threads * 1e-9; }

double peak_read_gbs(int threads, size_t bytes) {
  const size_t unit = STREAMS * 2 * sizeof(Words); /* bytes per step of all streams */
  size_t n = bytes / (size_t)threads / unit * unit;
  void *p;
  if (n < unit * 16) n = unit * 16;
  if (posix_memalign(&p, 4096, n * (size_t)threads)) return 0;
  memset(p, 1, n * (size_t)threads);
  double gbs = rate(threads, p, n / sizeof(Words)) * (double)n * threads * 1e-9;
  free(p);
  return gbs;
}

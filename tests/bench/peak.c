/* Measures what one core can do at most: fused multiply-adds of f32 on vectors held in registers, GFLOP/s,
 * as the best of a few short rounds. It speaks the protocol of bench.py: for each line "SECONDS" on standard
 * input, work that long and print one number. Compiled with -O3 -march=native -ffp-contract=fast. */
#define _POSIX_C_SOURCE 199309L
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#if defined __AVX512F__
enum { LANES = 16, CHAINS = 24 }; /* 32 registers */
#elif defined __AVX__
enum { LANES = 8, CHAINS = 12 };
#else
enum { LANES = 4, CHAINS = 12 };
#endif
typedef float Vec __attribute__((vector_size(LANES * sizeof(float))));

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* independent chains hide the latency; x and y come from outside, so nothing folds */
static float chains(long n, float x, float y) {
  Vec a[CHAINS], vx = x - (Vec){ 0 }, vy = y - (Vec){ 0 };
  for (int i = 0; i < CHAINS; i++) a[i] = vx + (float)i;
  for (long k = 0; k < n; k++)
#pragma GCC unroll 24
    for (int i = 0; i < CHAINS; i++) a[i] = a[i] * vx + vy;
  float sum = 0;
  for (int i = 0; i < CHAINS; i++)
    for (int l = 0; l < LANES; l++) sum += a[i][l];
  return sum;
}

int main(void) {
  const long n = 1000000;
  volatile float sink = 0, x = 0.9999f, y = 0.0001f;
  char line[64];
  while (fgets(line, sizeof line, stdin)) {
    double end = now() + atof(line), best = 0;
    do {
      double start = now();
      sink = sink + chains(n, x, y);
      double rate = 2.0 * LANES * CHAINS * (double)n / (now() - start) * 1e-9;
      if (rate > best) best = rate;
    } while (now() < end);
    printf("%.6g\n", best);
    fflush(stdout);
  }
  return 0;
}

/* SPDX-License-Identifier: MIT */
/* sizes.c WEIGHTS: a bundle of sizes.tg for b=0:3 and n=1:9, at 25 sizes that go up and down. Memory of the caller ends with the
 * entries of the run, and bytes behind it must not change. AddressSanitizer sees what is read there. */
#include "net.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { IN = 12, OUT = 40, BEHIND = 64 };
static net_ctx ctx;
static float w[IN * OUT];
static int failed;

static void fail(const char *what, int b, int n) {
  if (failed++ < 9) printf("b=%d n=%d: %s\n", b, n, what);
}

static float some(unsigned *seed) {
  *seed = *seed * 1664525u + 1013904223u;
  return (float)(*seed >> 8) / (float)(1 << 23) - 1;
}

/* exactly `bytes` of memory, then bytes that must stay */
static float *take(size_t bytes) {
  unsigned char *p = malloc(bytes + BEHIND);
  if (!p) exit(2);
  memset(p, 0xa5, bytes + BEHIND);
  return (float *)(void *)p;
}

static int kept(const float *p, size_t bytes) {
  int same = 1;
  for (size_t i = 0; i < BEHIND; i++) same &= ((const unsigned char *)p)[bytes + i] == 0xa5;
  return same;
}

static void compare(const float *x, const float *y, const float *t, int b, int n) {
  for (int i = 0; i < b; i++)
    for (int k = 0; k < OUT; k++) {
      double h[16], most = -INFINITY, sum = 0;
      for (int j = 0; j < n; j++) {
        h[j] = 0;
        for (int r = 0; r < IN; r++) h[j] += (double)x[(i * n + j) * IN + r] * (double)w[r * OUT + k];
        most = fmax(most, h[j]);
      }
      for (int j = 0; j < n; j++) sum += exp(h[j] - most);
      if (!(fabs((double)t[i * OUT + k] - sum) <= 1e-5 * sum)) fail("a sum is wrong", b, n);
      for (int j = 0; j < n; j++)
        if (!(fabs((double)y[(i * n + j) * OUT + k] - exp(h[j] - most) / sum) <= 1e-5)) fail("an element is wrong", b, n);
    }
}

static void run(int b, int n) {
  const size_t nx = (size_t)b * (size_t)n * IN * sizeof(float), ny = (size_t)b * (size_t)n * OUT * sizeof(float),
               nt = (size_t)b * OUT * sizeof(float);
  float *x = take(nx), *y = take(ny), *t = take(nt);
  const net_sizes sizes = { b, n };
  int64_t dims[3] = { 0, 0, 0 };
  unsigned seed = (unsigned)(b * 100 + n);
  for (size_t i = 0; i < nx / sizeof *x; i++) x[i] = some(&seed);
  if (net_set_sizes(&ctx, &sizes)) fail("the sizes are refused", b, n);
  if (net_output_dims(&ctx, 0, dims) || dims[0] != b || dims[1] != n || dims[2] != OUT) fail("another shape", b, n);
  const int status = net_run(&ctx, &(net_inputs){ .x = x, .w = w }, &(net_outputs){ .y = y, .t = t });
  if (status) fail(tgcrt_strerror(status), b, n);
  else compare(x, y, t, b, n);
  if (!kept(x, nx) || !kept(y, ny) || !kept(t, nt)) fail("memory behind a value has changed", b, n);
  free(x);
  free(y);
  free(t);
}

/* Sizes outside of their ranges change nothing. */
static void refused(void) {
  static const net_sizes bad[] = { { 4, 1 }, { -1, 1 }, { 1, 0 }, { 1, 10 } };
  net_sizes now = { 2, 3 };
  net_set_sizes(&ctx, &now);
  for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
    if (net_set_sizes(&ctx, &bad[i]) != TGCRT_SIZE) fail("a bad size is taken", (int)bad[i].b, (int)bad[i].n);
    if (net_bad_size(&bad[i]) != (i < 2 ? 0 : 1)) fail("another field is bad", (int)bad[i].b, (int)bad[i].n);
  }
  if (net_get_sizes(&ctx, &now) || now.b != 2 || now.n != 3) fail("a bad size has changed the sizes", (int)now.b, (int)now.n);
}

int main(int argc, char **argv) {
  static _Alignas(64) unsigned char arena[NET_ARENA_BYTES];
  const void *weights = NULL;
  unsigned seed = 7;
  int status = argc < 2 ? TGCRT_ARGUMENT : tgcrt_map(argv[1], NET_WEIGHTS_BYTES, &weights);
  if (!status) status = net_init(&ctx, arena, sizeof arena, weights, NET_WEIGHTS_BYTES);
  if (status) printf("net_init: %s\n", tgcrt_strerror(status));
  if (status) return 1;
  for (int i = 0; i < IN * OUT; i++) w[i] = some(&seed);
  refused();
  for (int n = 1; n <= 9; n++) run(3, n);
  for (int b = 2; b >= 0; b--)
    for (int n = 9; n > 0; n -= 2) run(b, n);
  run(3, 9);
  status = net_close(&ctx);
  printf("%d runs, %d failed\n", 25, failed);
  return status || failed;
}

/* SPDX-License-Identifier: MIT */
/* race.c: times a bundle for a range of sizes ("net") at one size beside a bundle for that size ("fix"), in turns. Arguments:
 * the library and weights of each, the size, threads, pairs of turns. Prints the medians in microseconds, and that of the
 * ratios. With states that grow, each run of "net" begins at the size again. */
#define _GNU_SOURCE
#include "tgcrt.h"
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MOST = 32, TURN_US = 300 };

typedef struct Side {
  void *so, *ctx, *in[MOST], *out[MOST];
  const char *name;
  int (*run)(void *ctx, const void *const *in, void *const *out);
  int (*set_sizes)(void *ctx, const int64_t *n);
  const int64_t *again; /* sizes to set before each run; NULL: none */
} Side;

static void *symbol(const Side *s, const char *suffix) {
  char full[64];
  snprintf(full, sizeof full, "%s_%s", s->name, suffix);
  return dlsym(s->so, full);
}

static size_t call(const Side *s, const char *suffix) {
  size_t (*f)(void);
  *(void **)&f = symbol(s, suffix);
  return f();
}

static void *block(size_t bytes) {
  void *p = aligned_alloc(64, (bytes + 127) / 64 * 64);
  if (!p) exit(2);
  memset(p, 0, bytes);
  return p;
}

static void open_side(Side *s, const char *name, const char *so, const char *weights) {
  int (*init)(void *, void *, size_t, const void *, size_t);
  size_t (*bytes)(size_t);
  int (*type)(size_t);
  *s = (Side){ .so = dlopen(so, RTLD_NOW | RTLD_LOCAL), .name = name };
  FILE *f = fopen(weights, "rb");
  if (!s->so || !f) exit(3);
  const size_t n = call(s, "weights_bytes"), arena = call(s, "arena_bytes");
  void *w = block(n);
  if (fread(w, 1, n, f) != n) exit(3);
  fclose(f);
  s->ctx = block(call(s, "ctx_bytes"));
  *(void **)&init = symbol(s, "init");
  *(void **)&s->run = symbol(s, "run_v");
  if (init(s->ctx, block(arena), arena, w, n)) exit(4);
  *(void **)&bytes = symbol(s, "input_bytes");
  *(void **)&type = symbol(s, "input_type");
  for (size_t i = 0; i < call(s, "input_count"); i++) {
    float *x = s->in[i] = block(bytes(i));
    int64_t *ids = s->in[i];
    for (size_t k = 0; k < bytes(i) / 4; k++) x[k] = (float)(k * 7919 % 2001) / 1000 - 1;
    for (size_t k = 0; k < bytes(i) / 8 && type(i) == TGCRT_I64; k++) ids[k] = 1;
  }
  *(void **)&bytes = symbol(s, "output_bytes");
  for (size_t i = 0; i < call(s, "output_count"); i++) s->out[i] = block(bytes(i));
}

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e6 + (double)t.tv_nsec * 1e-3;
}

static double turn(const Side *s, int runs) {
  const double start = now();
  for (int i = 0; i < runs; i++)
    if ((s->again && s->set_sizes(s->ctx, s->again)) || s->run(s->ctx, (const void *const *)s->in, s->out)) exit(5);
  return (now() - start) / runs;
}

static int ascending(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static void share(const Side *s, int threads) {
  int (*start)(tgcrt_pool **, void *, size_t, const tgcrt_pool_options *);
  const tgcrt_executor *(*executor)(const tgcrt_pool *);
  int (*set)(void *, const tgcrt_executor *);
  tgcrt_pool *pool;
  const tgcrt_pool_options options = { threads, 0, NULL };
  *(void **)&start = dlsym(s->so, "tgcrt_pool_start");
  *(void **)&executor = dlsym(s->so, "tgcrt_pool_executor");
  *(void **)&set = symbol(s, "set_executor");
  if (start(&pool, block(TGCRT_POOL_BYTES(threads)), TGCRT_POOL_BYTES(threads), &options)) exit(6);
  set(s->ctx, executor(pool));
}

int main(int argc, char **argv) {
  enum { PAIRS = 256 };
  static double time[2][PAIRS], ratio[PAIRS];
  Side side[2];
  if (argc != 8) return 1;
  int64_t n[8] = { 0 };
  const char *at = argv[5];
  for (int k = 0; k < 8 && at; k++, at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL) n[k] = atoll(at);
  const int threads = atoi(argv[6]), pairs = atoi(argv[7]) < PAIRS ? atoi(argv[7]) : PAIRS;
  open_side(&side[0], "net", argv[1], argv[2]);
  open_side(&side[1], "fix", argv[3], argv[4]);
  *(void **)&side[0].set_sizes = symbol(&side[0], "set_sizes");
  if (side[0].set_sizes(side[0].ctx, n)) return 7;
  if (symbol(&side[0], "state_count")) side[0].again = n;
  for (int i = 0; i < 2 && threads > 1; i++) share(&side[i], threads);
  for (int i = 0; i < 2; i++) turn(&side[i], 3);
  const int runs = 1 + (int)(TURN_US / turn(&side[1], 3));
  for (int k = 0; k < pairs; k++) {
    for (int i = 0; i < 2; i++) time[i ^ (k & 1)][k] = turn(&side[i ^ (k & 1)], runs);
    ratio[k] = time[0][k] / time[1][k];
  }
  qsort(ratio, (size_t)pairs, sizeof *ratio, ascending);
  for (int i = 0; i < 2; i++) qsort(time[i], (size_t)pairs, sizeof **time, ascending);
  printf("%.2f %.2f %.3f\n", time[0][pairs / 2], time[1][pairs / 2], ratio[pairs / 2]);
  return 0;
}

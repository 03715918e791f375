/* SPDX-License-Identifier: MIT */
/* model.c: runs the bundle of case.h RUNS times in every way in which its chunks may be shared. It compares all outputs bit by
 * bit with those of one thread. Prints nothing when all is well. usage: model WEIGHTS RUNS */
#include "case.h"
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#if defined __SSE2__
#include <xmmintrin.h>
#endif

enum { INPUTS = NET_INPUTS, OUTPUTS = NET_OUTPUTS };

static void fail(const char *what) {
  fprintf(stderr, "%s\n", what);
  exit(1);
}

static void *allocate(size_t bytes) {
  void *p;
  if (posix_memalign(&p, TGCRT_ALIGN, bytes ? bytes : 1)) fail("no memory");
  return p;
}

/* ---- executors that no pool is ---- */
static void backwards(void *self, tgcrt_task *task, void *job, int64_t chunks) {
  (void)self;
  for (int64_t i = chunks; i-- > 0;) task(job, i, i + 1);
}

static void in_pieces(void *self, tgcrt_task *task, void *job, int64_t chunks) { /* their sizes change */
  unsigned *state = (unsigned *)self;
  for (int64_t i = 0; i < chunks;) {
    *state = *state * 1664525u + 1013904223u;
    int64_t n = 1 + (*state >> 16) % 5, end = i + n < chunks ? i + n : chunks;
    task(job, i, end);
    i = end;
  }
}

/* ---- one context ---- */
static const void *weights;
static void *input[INPUTS + 1], *expected[OUTPUTS + 1];

typedef struct Runner {
  const tgcrt_executor *executor;
  const char *name;
  int runs;
} Runner;

static void open_model(net_ctx *ctx) {
  void *arena = allocate(NET_ARENA_BYTES);
  memset(arena, 0xa5, NET_ARENA_BYTES);
  if (net_init(ctx, arena, NET_ARENA_BYTES, weights, NET_WEIGHTS_BYTES)) fail("init");
}

static void run_model(net_ctx *ctx, void **output) {
  net_inputs in;
  net_outputs out;
  memcpy(&in, input, sizeof in); /* structs of pointers, in order */
  memcpy(&out, output, sizeof out);
  for (int i = 0; i < OUTPUTS; i++) memset(output[i], 0x5a, output_bytes[i]);
#if defined __SSE2__
  const unsigned mode = 0x3f80; /* rounding down: a run must not see it, and must leave it */
  _mm_setcsr(mode);
#endif
  if (net_run(ctx, &in, &out)) fail("run");
#if defined __SSE2__
  if ((_mm_getcsr() & ~0x3fu) != mode) fail("the caller's floating-point mode is gone");
  _mm_setcsr(0x1f80);
#endif
}

static void *run_many(void *arg) {
  const Runner *r = (const Runner *)arg;
  net_ctx ctx;
  void *output[OUTPUTS + 1];
  open_model(&ctx);
  for (int i = 0; i < OUTPUTS; i++) output[i] = allocate(output_bytes[i]);
  if (net_set_executor(&ctx, r->executor)) fail("set_executor");
  for (int n = 0; n < r->runs; n++) {
    run_model(&ctx, output);
    for (int i = 0; i < OUTPUTS; i++) {
      if (!memcmp(output[i], expected[i], output_bytes[i])) continue;
      fprintf(stderr, "%s: run %d: output %d has other bits\n", r->name, n, i);
      exit(1);
    }
  }
  return NULL;
}

int main(int argc, char **argv) {
  int runs = argc > 2 ? atoi(argv[2]) : 1;
  unsigned state = 1;
  if (tgcrt_map(argv[1], NET_WEIGHTS_BYTES, &weights)) fail("weights");
  if (!weights) weights = allocate(1);
  for (int i = 0; i < INPUTS; i++) {
    input[i] = allocate(input_bytes[i]);
    for (size_t k = 0; k < input_bytes[i] / sizeof(float); k++) {
      state = state * 1664525u + 1013904223u;
      ((float *)input[i])[k] = (float)(state >> 8) / 8388608.0f - 1.0f;
    }
  }
  for (int i = 0; i < OUTPUTS; i++) expected[i] = allocate(output_bytes[i]);
  net_ctx ctx;
  open_model(&ctx);
  run_model(&ctx, expected);

  tgcrt_executor back = { backwards, NULL }, pieces = { in_pieces, &state };
  run_many(&(Runner){ NULL, "one thread", 2 });
  run_many(&(Runner){ &back, "backwards", 2 });
  run_many(&(Runner){ &pieces, "in pieces", 8 });
  for (int threads = 1; threads <= 4; threads++) {
    tgcrt_pool *pool;
    tgcrt_pool_options options = { threads, threads == 3 ? -1 : 0, NULL };
    char name[40];
    snprintf(name, sizeof name, "a pool of %d", threads);
    if (tgcrt_pool_start(&pool, allocate(TGCRT_POOL_BYTES(threads)), TGCRT_POOL_BYTES(threads), &options)) fail("pool");
    Runner all = { tgcrt_pool_executor(pool), name, runs };
    run_many(&all);
    pthread_t other; /* two contexts share the pool */
    all.runs = (runs + 9) / 10;
    if (pthread_create(&other, NULL, run_many, &all)) fail("no thread");
    run_many(&all);
    pthread_join(other, NULL);
    tgcrt_pool_stop(pool);
  }
  return 0;
}

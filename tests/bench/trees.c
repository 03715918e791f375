/* SPDX-License-Identifier: MIT */
/* trees.c: runs a bundle of a model with one input and one output on rows that change from run to run. trees.py loads it. */
#include "net.h"
#include <time.h>

static net_ctx ctx;
static _Alignas(TGCRT_ALIGN) unsigned char arena[NET_ARENA_BYTES + 1];

int trees_open(const void *weights, size_t n) { return net_init(&ctx, arena, sizeof arena, weights, n); }

/* Seconds of this thread for `runs` runs. Run i reads batch i modulo `batches`, each of so many bytes. A wrong status gives
 * -1. */
double trees_run(const char *rows, size_t bytes, long batches, long runs, void *out) {
  struct timespec from, to;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &from);
  for (long i = 0; i < runs; i++)
    if (net_run_v(&ctx, (const void *[]){ rows + (size_t)(i % batches) * bytes }, (void *[]){ out })) return -1;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &to);
  return (double)(to.tv_sec - from.tv_sec) + (double)(to.tv_nsec - from.tv_nsec) * 1e-9;
}

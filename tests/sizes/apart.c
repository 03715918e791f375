/* SPDX-License-Identifier: MIT */
/* apart.c: runs a bundle for ranges of sizes ("net") at given sizes, with a thread for each chunk of a kernel. Arguments: the
 * weights, then the sizes of each run, separated by commas. Prints the number of kernels' calls that were shared.
 *
 * No chunk is ordered before another one. So ThreadSanitizer sees each byte that two chunks touch, however the threads are
 * scheduled. Inputs and outputs have the bytes of the run's sizes, so AddressSanitizer sees accesses behind them. */
#include "net.h"
#include "bytes.h"
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 64, RANGES = sizeof(net_sizes) / sizeof(int64_t) };

typedef struct Chunk {
  tgcrt_task *task;
  void *job;
  int64_t at;
  pthread_t thread;
} Chunk;

static long shared;

static void *one(void *arg) {
  Chunk *c = (Chunk *)arg;
  c->task(c->job, c->at, c->at + 1);
  return NULL;
}

static void apart(void *self, tgcrt_task *task, void *job, int64_t chunks) {
  Chunk *all = (Chunk *)calloc((size_t)chunks, sizeof *all);
  (void)self;
  if (!all) exit(2);
  for (int64_t i = 0; i < chunks; i++) {
    all[i] = (Chunk){ .task = task, .job = job, .at = i };
    if (pthread_create(&all[i].thread, NULL, one, &all[i])) exit(2);
  }
  for (int64_t i = 0; i < chunks; i++) pthread_join(all[i].thread, NULL);
  free(all);
  shared++;
}

int main(int argc, char **argv) {
  static net_ctx ctx;
  const void *weights = NULL;
  void *arena = NULL;
  static const tgcrt_executor executor = { apart, NULL };
  if (net_weights_bytes() && tgcrt_map(argv[1], net_weights_bytes(), &weights)) return 4;
  if (posix_memalign(&arena, 64, net_arena_bytes() + 64)) return 4;
  if (net_init(&ctx, arena, net_arena_bytes(), weights, net_weights_bytes())) return 5;
  net_set_executor(&ctx, &executor);
  for (int k = 2; k < argc; k++) {
    int64_t n[RANGES] = { 0 };
    net_sizes s;
    const char *at = argv[k];
    for (int i = 0; i < RANGES && at; i++, at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL) n[i] = atoll(at);
    memcpy(&s, n, sizeof s);
    if (net_set_sizes(&ctx, &s)) return 6;
    void *in[MOST] = { NULL }, *out[MOST] = { NULL };
    for (size_t i = 0; i < net_input_count(); i++) {
      const size_t b = bytes_at(&ctx, i, 0);
      if (!(in[i] = calloc(b ? b : 1, 1))) return 4;
      for (size_t j = 0; j < b / 4 && net_input_type(i) == TGCRT_F32; j++) ((float *)in[i])[j] = (float)(j % 17) / 8 - 1;
    }
    for (size_t i = 0; i < net_output_count(); i++) out[i] = malloc(bytes_at(&ctx, i, 1) + !bytes_at(&ctx, i, 1));
    if (net_run_v(&ctx, (const void *const *)in, out)) return 7;
    for (size_t i = 0; i < MOST; i++) free(in[i]), free(out[i]);
  }
  free(arena);
  printf("%ld\n", shared);
  return 0;
}

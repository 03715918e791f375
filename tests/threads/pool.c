/* SPDX-License-Identifier: MIT */
/* pool.c: the pool of tgcrt_pool.c under load. pool THREADS SPIN_US JOBS; prints nothing when all is well. With
 * "fork" as fourth argument a child runs jobs on its parent's pool. */
#define _POSIX_C_SOURCE 200809L
#include "tgcrt.h"
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { MOST = 300 };

typedef struct Count {
  int seen[MOST]; /* plain: two threads at one chunk are a race that ThreadSanitizer reports */
  const tgcrt_executor *nested;
} Count;

static void fail(const char *what) {
  fprintf(stderr, "%s\n", what);
  exit(1);
}

static void count(void *job, int64_t begin, int64_t end) {
  Count *c = (Count *)job;
  if (begin >= end) fail("an empty range");
  for (int64_t i = begin; i < end; i++) c->seen[i]++;
  if (!c->nested) return;
  Count inner;
  memset(&inner, 0, sizeof inner);
  c->nested->run(c->nested->self, count, &inner, 7);
  for (int i = 0; i < 7; i++)
    if (inner.seen[i] != 1) fail("a job inside of a job is not done");
}

static void check(const tgcrt_executor *e, int chunks, int nested) {
  Count c;
  memset(&c, 0, sizeof c);
  c.nested = nested ? e : NULL;
  e->run(e->self, count, &c, chunks);
  for (int i = 0; i < MOST; i++)
    if (c.seen[i] != (i < chunks)) fail("a chunk is not run once");
}

static void load(const tgcrt_executor *e, int jobs) {
  unsigned state = 7;
  for (int j = 0; j < jobs; j++) {
    state = state * 1664525u + 1013904223u;
    check(e, 1 + (int)(state >> 16) % (MOST - 1), j % 8 == 7);
    if (j % 64 == 63) nanosleep(&(struct timespec){ 0, 300000 }, NULL); /* long enough for workers to fall asleep */
  }
}

typedef struct Caller {
  const tgcrt_executor *e;
  int jobs;
} Caller;
static void *beside(void *arg) {
  Caller *c = (Caller *)arg;
  load(c->e, c->jobs);
  return NULL;
}

int main(int argc, char **argv) {
  int threads = atoi(argv[1]), jobs = atoi(argv[3]);
  tgcrt_pool_options options = { threads, atoi(argv[2]), NULL };
  size_t bytes = TGCRT_POOL_BYTES(threads);
  char *memory = (char *)malloc(bytes + 1); /* at an odd address: the pool aligns what it needs */
  tgcrt_pool *pool = NULL;
  if (tgcrt_pool_start(&pool, memory + 1, bytes - 1, &options) != TGCRT_ARENA || pool) fail("too little memory is accepted");
  if (tgcrt_pool_start(&pool, NULL, bytes, &options) != TGCRT_ARGUMENT) fail("no memory is accepted");
  for (int round = 0; round < 20; round++) { /* starts and stops, with and without work in between */
    if (tgcrt_pool_start(&pool, memory + 1, bytes, &options)) fail("does not start");
    const tgcrt_executor *e = tgcrt_pool_executor(pool);
    load(e, round % 2 ? jobs / 20 : 0);
    tgcrt_pool_stop(pool);
  }
  if (tgcrt_pool_start(&pool, memory + 1, bytes, &options)) fail("does not start");
  Caller caller = { tgcrt_pool_executor(pool), jobs };
  pthread_t other;
  if (argc > 4) {
    load(caller.e, 100);
    pid_t child = fork();
    int status;
    if (!child) {
      load(caller.e, 100);
      tgcrt_pool_stop(pool);
      _exit(0);
    }
    if (waitpid(child, &status, 0) != child || status) fail("a forked child cannot run jobs");
  } else {
    if (pthread_create(&other, NULL, beside, &caller)) fail("no thread");
    beside(&caller);
    pthread_join(other, NULL);
  }
  tgcrt_pool_stop(pool);
  free(memory);
  return 0;
}

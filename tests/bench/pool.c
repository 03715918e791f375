/* SPDX-License-Identifier: MIT */
/* pool.c: the cost of a job for the threads of tgcrt_pool.c. It times two things for a job without work: from the call until
 * another thread begins with its chunk, and the whole call. Each is timed while threads look for work, and after they fell
 * asleep. It also measures how much faster several threads of this machine are: at multiply-adds in registers, and at reading
 * memory. Prints one line of JSON, times in nanoseconds (medians). Arguments: threads, jobs. */
#define _GNU_SOURCE
#include "tgcrt.h"
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

static int64_t now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

typedef struct Job {
  pthread_t caller;
  int64_t met; /* when another thread began; 0: none did yet */
} Job;

static void nothing(void *job, int64_t begin, int64_t end) { (void)job, (void)begin, (void)end; }

/* The caller holds its chunks until another thread has come. */
static void meet(void *arg, int64_t begin, int64_t end) {
  Job *j = arg;
  (void)begin, (void)end;
  if (!pthread_equal(pthread_self(), j->caller)) {
    int64_t none = 0, t = now();
    __atomic_compare_exchange_n(&j->met, &none, t, 0, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
    return;
  }
  while (!__atomic_load_n(&j->met, __ATOMIC_ACQUIRE)) {}
}

enum { CHUNKS = 64, LINE = 64, SUMS = 24 };
static char lines[1 << 28];
static volatile double kept;

static void multiply_add(void *job, int64_t begin, int64_t end) {
  (void)job;
  double sums[SUMS] = { 0 }, x = kept;
  for (int64_t i = begin * 40000; i < end * 40000; i++)
    for (int k = 0; k < SUMS; k++) sums[k] = sums[k] * 0.5 + x;
  for (int k = 0; k < SUMS; k++) x += sums[k];
  if (x > 1e300) kept = x;
}

static void read_lines(void *job, int64_t begin, int64_t end) {
  (void)job;
  const char *last = lines + end * (int64_t)(sizeof lines / CHUNKS);
  unsigned sum = 0;
  for (const char *p = lines + begin * (int64_t)(sizeof lines / CHUNKS); p < last; p += LINE) sum += (unsigned char)*p;
  if (sum == 1) kept = sum;
}

static int ascending(const void *a, const void *b) {
  return (*(const int64_t *)a > *(const int64_t *)b) - (*(const int64_t *)a < *(const int64_t *)b);
}

static int64_t median(int64_t *v, int n) {
  qsort(v, (size_t)n, sizeof *v, ascending);
  return v[n / 2];
}

/* how many times faster the executor does a job than its caller alone */
static double gain(const tgcrt_executor *e, tgcrt_task *task) {
  enum { ROUNDS = 9 };
  int64_t alone[ROUNDS], together[ROUNDS];
  for (int i = 0; i < ROUNDS; i++) {
    int64_t start = now();
    task(NULL, 0, CHUNKS);
    int64_t middle = now();
    e->run(e->self, task, NULL, CHUNKS);
    alone[i] = middle - start, together[i] = now() - middle;
  }
  return (double)median(alone, ROUNDS) / (double)median(together, ROUNDS);
}

int main(int argc, char **argv) {
  int threads = argc > 1 ? atoi(argv[1]) : 2, n = argc > 2 ? atoi(argv[2]) : 2000;
  static char memory[TGCRT_POOL_BYTES(64)];
  if (threads < 2 || threads > 64 || n < 1) return 2;
  tgcrt_pool *pool;
  tgcrt_pool_options o = { .threads = threads };
  if (tgcrt_pool_start(&pool, memory, sizeof memory, &o)) return 1;
  const tgcrt_executor *e = tgcrt_pool_executor(pool);
  int64_t *wake = malloc((size_t)n * sizeof *wake), *call = malloc((size_t)n * sizeof *call), result[2][2];
  if (!wake || !call) return 1;
  for (int cold = 0; cold < 2; cold++) {
    int rounds = cold ? n / 100 + 1 : n;
    for (int i = 0; i < rounds; i++) {
      Job j = { pthread_self(), 0 };
      if (cold) usleep(3000); /* threads look for work for 0.2 ms */
      int64_t start = now();
      e->run(e->self, meet, &j, threads);
      wake[i] = j.met - start;
      if (cold) usleep(3000);
      start = now();
      e->run(e->self, nothing, &j, threads);
      call[i] = now() - start;
    }
    result[cold][0] = median(wake, rounds);
    result[cold][1] = median(call, rounds);
  }
  for (size_t i = 0; i < sizeof lines; i += LINE) lines[i] = 1; /* memory of its own, not one page of zeros */
  double arithmetic = gain(e, multiply_add), reading = gain(e, read_lines);
  printf("{\"threads\": %d, \"wake_ns\": %lld, \"call_ns\": %lld, \"asleep_wake_ns\": %lld, \"asleep_call_ns\": %lld, "
         "\"multiply_add_gain\": %.3f, \"reading_gain\": %.3f}\n", threads, (long long)result[0][0], (long long)result[0][1],
         (long long)result[1][0], (long long)result[1][1], arithmetic, reading);
  tgcrt_pool_stop(pool);
  free(wake);
  free(call);
  return 0;
}

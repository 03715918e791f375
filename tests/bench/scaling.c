/* SPDX-License-Identifier: MIT */
/* scaling.c: how much two threads gain in bundles, beside what the machine itself gives at that moment. scaling.py builds it.
 * Each round takes a bundle and measures:
 * - a run on one thread,
 * - a run that two threads share,
 * - two runs side by side, on one thread each, with weights of their own,
 * - before, between and after: how long a cache line takes from one core to the other and back. A guest's cores may come to
 *   share a third-level cache, or to share none, as the host moves them.
 * A time is the least of a few runs. Linux only. Arguments: seconds, folders with net.so and net_weights.bin. Prints a line
 * for each round: number of the folder, nanoseconds of the line (least and greatest), then microseconds of one, shared, side
 * by side. */
#define _GNU_SOURCE
#include "tgcrt.h"
#include <dlfcn.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MOST = 16, VALUES = 16, RUNS = 3, LINE = 128, TURNS = 20, TRIES = 20, ASLEEP_US = 500 }; /* workers spin for 200 us */

typedef int Run(void *ctx, const void *const *in, void *const *out);
typedef int SetExecutor(void *ctx, const tgcrt_executor *executor);
typedef int Init(void *ctx, void *arena, size_t arena_bytes, const void *weights, size_t weights_bytes);

typedef struct Net { /* a bundle with two contexts */
  Run *run;
  SetExecutor *set_executor;
  void *ctx[2], *in[VALUES], *out[2][VALUES];
} Net;

static double now(void) { /* us */
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e6 + (double)t.tv_nsec * 1e-3;
}

static void fail(const char *what, const char *why) {
  fprintf(stderr, "scaling: %s: %s\n", what, why ? why : "fails");
  exit(1);
}

static void *memory(size_t bytes) {
  void *p;
  if (posix_memalign(&p, 4096, bytes + 4096)) fail("memory", "there is not enough");
  memset(p, 0, bytes + 4096);
  return p;
}

/* ---- bundles ---- */
static void find(void *so, const char *name, void *function) {
  void *at = dlsym(so, name);
  if (!at) fail(name, dlerror());
  memcpy(function, &at, sizeof at);
}

static size_t asked(void *so, const char *name) {
  size_t (*function)(void);
  find(so, name, &function);
  return function();
}

static void *weights_of(const char *folder, size_t bytes) {
  char path[4096];
  void *p = memory(bytes);
  snprintf(path, sizeof path, "%s/net_weights.bin", folder);
  FILE *f = fopen(path, "rb");
  if (f && fread(p, 1, bytes, f) != bytes) fail(path, "is too short");
  if (f) fclose(f);
  return p;
}

static void net_open(Net *x, const char *folder) {
  char path[4096];
  Init *init;
  size_t (*in_bytes)(size_t), (*out_bytes)(size_t);
  snprintf(path, sizeof path, "%s/net.so", folder);
  void *so = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (!so) fail(path, dlerror());
  find(so, "net_init", &init);
  find(so, "net_run_v", &x->run);
  find(so, "net_set_executor", &x->set_executor);
  find(so, "net_input_bytes", &in_bytes);
  find(so, "net_output_bytes", &out_bytes);
  const size_t inputs = asked(so, "net_input_count"), outputs = asked(so, "net_output_count");
  const size_t arena = asked(so, "net_arena_bytes"), weights = asked(so, "net_weights_bytes");
  if (inputs > VALUES || outputs > VALUES) fail(folder, "has too many inputs or outputs");
  for (size_t i = 0; i < inputs; i++) x->in[i] = memory(in_bytes(i));
  for (int k = 0; k < 2; k++) {
    x->ctx[k] = memory(asked(so, "net_ctx_bytes"));
    for (size_t i = 0; i < outputs; i++) x->out[k][i] = memory(out_bytes(i));
    if (init(x->ctx[k], memory(arena), arena, weights_of(folder, weights), weights)) fail(folder, "net_init");
  }
}

/* Microseconds of the fastest of a few runs */
static double fastest(const Net *x, int ctx) {
  double least = 1e18;
  for (int i = 0; i < RUNS; i++) {
    const double began = now();
    if (x->run(x->ctx[ctx], (const void *const *)x->in, x->out[ctx])) fail("net_run_v", NULL);
    const double took = now() - began;
    if (took < least) least = took;
  }
  return least;
}

/* ---- the second core ---- */
enum { IDLE, ANSWER, BESIDE };
static sem_t work;
static int job, ready, start; /* atomic */
static _Alignas(LINE) unsigned long line[LINE / sizeof(long)];
static const Net *beside;
static double beside_us;

static int get(const int *p) { return __atomic_load_n(p, __ATOMIC_ACQUIRE); }
static void put(int *p, int x) { __atomic_store_n(p, x, __ATOMIC_RELEASE); }

static void pin(int cpu) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET((size_t)cpu, &set);
  if (pthread_setaffinity_np(pthread_self(), sizeof set, &set)) fail("two CPUs", "this machine has one");
}

static void *second(void *unused) {
  (void)unused;
  pin(1);
  for (;;) {
    sem_wait(&work);
    const int mine = get(&job);
    put(&ready, 1);
    while (mine == ANSWER && get(&job) == ANSWER) {
      const unsigned long seen = __atomic_load_n(line, __ATOMIC_ACQUIRE);
      if (seen & 1) __atomic_store_n(line, seen + 1, __ATOMIC_RELEASE);
    }
    while (mine == BESIDE && !get(&start)) {}
    if (mine == BESIDE) beside_us = fastest(beside, 1);
    put(&ready, 0);
  }
  return NULL;
}

static void begin(int what) {
  put(&start, 0);
  put(&job, what);
  sem_post(&work);
  while (!get(&ready)) {}
}

static void end(void) {
  while (get(&job) == BESIDE && get(&ready)) {}
  put(&job, IDLE);
  while (get(&ready)) {}
}

/* Nanoseconds of a line from this core to the other one and back */
static double round_trip(void) {
  double least = 1e18;
  begin(ANSWER);
  for (int k = 0; k < TRIES; k++) {
    const double began = now();
    for (int i = 0; i < TURNS; i++) {
      const unsigned long sent = *line + 1;
      __atomic_store_n(line, sent, __ATOMIC_RELEASE);
      while (__atomic_load_n(line, __ATOMIC_ACQUIRE) != sent + 1) {}
    }
    const double took = (now() - began) * 1e3 / TURNS;
    if (took < least) least = took;
  }
  end();
  return least;
}

static void round_of(const Net *x, int number, const tgcrt_executor *both) {
  double far[3], least, most;
  far[0] = round_trip();
  x->set_executor(x->ctx[0], both);
  const double shared = fastest(x, 0);
  x->set_executor(x->ctx[0], NULL);
  nanosleep(&(struct timespec){ 0, ASLEEP_US * 1000 }, NULL);
  far[1] = round_trip();
  const double one = fastest(x, 0);
  beside = x;
  begin(BESIDE);
  put(&start, 1);
  const double mine = fastest(x, 0);
  end();
  far[2] = round_trip();
  least = most = far[0];
  for (int i = 1; i < 3; i++) {
    if (far[i] < least) least = far[i];
    if (far[i] > most) most = far[i];
  }
  printf("%d %.0f %.0f %.2f %.2f %.2f\n", number, least, most, one, shared, (mine + beside_us) / 2);
}

int main(int argc, char **argv) {
  static Net net[MOST];
  const int nets = argc - 2, cpus[2] = { 0, 1 };
  const tgcrt_pool_options options = { .threads = 2, .cpus = cpus };
  pthread_t thread;
  tgcrt_pool *pool;
  if (nets < 1 || nets > MOST) fail("arguments", "SECONDS FOLDER...");
  for (int i = 0; i < nets; i++) net_open(&net[i], argv[2 + i]);
  pin(0);
  if (sem_init(&work, 0, 0) || pthread_create(&thread, NULL, second, NULL)) fail("a thread", NULL);
  if (tgcrt_pool_start(&pool, memory(TGCRT_POOL_BYTES(2)), TGCRT_POOL_BYTES(2), &options)) fail("the pool", NULL);
  for (const double until = now() + atof(argv[1]) * 1e6; now() < until;)
    for (int i = 0; i < nets; i++) round_of(&net[i], i, tgcrt_pool_executor(pool));
  return 0; /* ends the other threads, too */
}

/* SPDX-License-Identifier: 0BSD */
/* tgcrt_pool.c: threads that share the chunks of one job after another. See tgcrt.h.
 *
 * Every member, including the caller, has a share of the chunks: a word with its first remaining chunk and its end. A member
 * takes halves of its share from the front. A member without work takes halves of other shares from the back. A take is one
 * compare-and-swap, and its chunks belong to the job of that share. So a late member finds no work, or work of the next job,
 * and nobody waits for it. Workers first spin on the job's number, then sleep on it. The caller does the same on the number of
 * finished chunks. */
#if !defined _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "tgcrt.h"
#if !defined TGCRT_FREESTANDING && !defined TGCRT_SINGLE
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
#if defined __linux__
#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#endif

enum { LINE = 64, GLANCES = 64, DEFAULT_SPIN = 200 }; /* bytes; looks at a word for each look at the clock; microseconds */

typedef struct Member {
  uint64_t left; /* its remaining share: first chunk, and end << 32 */
  struct tgcrt_pool *pool;
  pthread_t thread;
  char pad[LINE - 2 * sizeof(uint64_t) - sizeof(pthread_t)];
} Member;

struct tgcrt_pool {
  tgcrt_executor executor;
  int threads, pinned;
  int cpu;      /* CPU on which the caller woke others */
  int64_t spin; /* ns */
  pid_t owner;
  tgcrt_task *task; /* current job; both stay valid while a member holds a chunk of it */
  void *job;
  uint32_t busy;
#if !defined __linux__
  pthread_mutex_t mutex;
  pthread_cond_t changed;
#endif
  char line0[LINE];
  uint32_t epoch, sleepers, quit; /* number of jobs begun */
  char line1[LINE];
  uint32_t done, waits; /* finished chunks of the job; whether the caller sleeps */
  char line2[LINE];
};
typedef char pool_fits[sizeof(struct tgcrt_pool) + 2 * LINE <= TGCRT_POOL_BYTES(0) && sizeof(Member) == LINE ? 1 : -1];

static Member *members(tgcrt_pool *p) {
  uintptr_t end = (uintptr_t)(p + 1);
  return (Member *)((end + LINE - 1) / LINE * LINE);
}

/* ---- waiting ---- */
static void glance(void) {
#if defined __x86_64__ || defined __i386__
  __builtin_ia32_pause();
#elif defined __aarch64__
  __asm__ volatile("isb");
#endif
}

static int64_t now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

/* Looks at *word until it is not `old`, or the pool's time is over; -> its value. */
static uint32_t watch(const tgcrt_pool *p, const uint32_t *word, uint32_t old) {
  int64_t until = 0;
  for (;;) {
    for (int i = 0; i < GLANCES; i++) {
      uint32_t x = __atomic_load_n(word, __ATOMIC_ACQUIRE);
      if (x != old) return x;
      glance();
    }
    int64_t t = now();
    if (!until) until = t + p->spin;
    if (t >= until) return old;
  }
}

#if defined __linux__
static void sleep_on(tgcrt_pool *p, uint32_t *word, uint32_t old) { /* sleeps until a wake, unless *word has changed */
  (void)p;
  syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, old, NULL, NULL, 0);
}
static void wake(tgcrt_pool *p, uint32_t *word) {
  (void)p;
  syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, 0x7fffffff, NULL, NULL, 0);
}
#else
static void sleep_on(tgcrt_pool *p, uint32_t *word, uint32_t old) {
  pthread_mutex_lock(&p->mutex);
  if (__atomic_load_n(word, __ATOMIC_SEQ_CST) == old) pthread_cond_wait(&p->changed, &p->mutex);
  pthread_mutex_unlock(&p->mutex);
}
static void wake(tgcrt_pool *p, uint32_t *word) {
  (void)word;
  pthread_mutex_lock(&p->mutex);
  pthread_cond_broadcast(&p->changed);
  pthread_mutex_unlock(&p->mutex);
}
#endif

/* A woken thread may find itself on the processor of the thread that woke it, which is busy, while others are idle. It would
 * stay there for milliseconds. */
static void leave_caller(const tgcrt_pool *p) {
#if defined __linux__
  cpu_set_t all, others;
  int cpu = sched_getcpu();
  if (p->pinned || cpu < 0 || cpu != __atomic_load_n(&p->cpu, __ATOMIC_RELAXED) || sched_getaffinity(0, sizeof all, &all)) return;
  others = all;
  CPU_CLR((size_t)cpu, &others);
  if (CPU_COUNT(&others) && !sched_setaffinity(0, sizeof others, &others)) sched_setaffinity(0, sizeof all, &all);
#else
  (void)p;
#endif
}

/* ---- work ---- */
static uint64_t share(uint32_t first, uint32_t end) { return (uint64_t)end << 32 | first; }

/* Takes half of a share's remaining chunks, rounded up: its owner from the front, a thief from the back. */
static int take(Member *from, int own, uint32_t *begin, uint32_t *end) {
  uint64_t left = __atomic_load_n(&from->left, __ATOMIC_ACQUIRE);
  for (;;) {
    uint32_t first = (uint32_t)left, last = (uint32_t)(left >> 32), n = (last - first + 1) / 2;
    if (first >= last) return 0;
    *begin = own ? first : last - n;
    *end = *begin + n;
    if (__atomic_compare_exchange_n(&from->left, &left, own ? share(*end, last) : share(first, *begin), 0, __ATOMIC_ACQ_REL,
                                    __ATOMIC_ACQUIRE))
      return 1;
  }
}

static void work(tgcrt_pool *p, int me) {
  uint32_t begin, end, did = 0;
  for (int k = 0; k < p->threads; k++) {
    Member *from = &members(p)[(me + k) % p->threads];
    while (take(from, !k, &begin, &end)) {
      p->task(p->job, begin, end);
      did += end - begin;
    }
  }
  if (!did) return;
  __atomic_fetch_add(&p->done, did, __ATOMIC_SEQ_CST);
  if (__atomic_load_n(&p->waits, __ATOMIC_SEQ_CST)) wake(p, &p->done);
}

static void *worker(void *arg) {
  Member *me = (Member *)arg;
  tgcrt_pool *p = me->pool;
  for (uint32_t seen = 0;;) {
    uint32_t epoch = watch(p, &p->epoch, seen);
    if (epoch == seen) {
      __atomic_fetch_add(&p->sleepers, 1, __ATOMIC_SEQ_CST);
      sleep_on(p, &p->epoch, seen);
      __atomic_fetch_sub(&p->sleepers, 1, __ATOMIC_SEQ_CST);
      leave_caller(p);
      continue;
    }
    seen = epoch;
    if (__atomic_load_n(&p->quit, __ATOMIC_ACQUIRE)) return NULL;
    work(p, (int)(me - members(p)));
  }
}

static void announce(tgcrt_pool *p) {
#if defined __linux__
  __atomic_store_n(&p->cpu, sched_getcpu(), __ATOMIC_RELAXED);
#endif
  __atomic_fetch_add(&p->epoch, 1, __ATOMIC_SEQ_CST);
  if (__atomic_load_n(&p->sleepers, __ATOMIC_SEQ_CST)) wake(p, &p->epoch);
}

static void pool_run(void *self, tgcrt_task *task, void *job, int64_t chunks) {
  tgcrt_pool *p = (tgcrt_pool *)self;
  int n = p->threads;
  if (chunks < 2 || chunks > INT32_MAX || n < 2 || __atomic_exchange_n(&p->busy, 1, __ATOMIC_ACQUIRE)) {
    task(job, 0, chunks); /* a run inside or beside another one uses this thread only */
    return;
  }
  p->task = task;
  p->job = job;
  __atomic_store_n(&p->done, 0, __ATOMIC_RELAXED);
  for (int i = 0; i < n; i++)
    __atomic_store_n(&members(p)[i].left, share((uint32_t)(chunks * i / n), (uint32_t)(chunks * (i + 1) / n)), __ATOMIC_RELEASE);
  announce(p);
  work(p, 0);
  for (uint32_t done; (done = __atomic_load_n(&p->done, __ATOMIC_ACQUIRE)) != (uint32_t)chunks;) {
    if (watch(p, &p->done, done) != done) continue;
    __atomic_store_n(&p->waits, 1, __ATOMIC_SEQ_CST);
    if (__atomic_load_n(&p->done, __ATOMIC_SEQ_CST) == done) sleep_on(p, &p->done, done);
    __atomic_store_n(&p->waits, 0, __ATOMIC_SEQ_CST);
  }
  __atomic_store_n(&p->busy, 0, __ATOMIC_RELEASE);
}

/* ---- start and stop ---- */
static void finish(tgcrt_pool *p, int started) { /* ends the workers 1 .. started - 1 */
  __atomic_store_n(&p->quit, 1, __ATOMIC_RELEASE);
  announce(p);
  for (int i = 1; i < started; i++) pthread_join(members(p)[i].thread, NULL);
#if !defined __linux__
  pthread_cond_destroy(&p->changed);
  pthread_mutex_destroy(&p->mutex);
#endif
}

static void pin(pthread_t thread, int cpu) {
#if defined __linux__
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET((size_t)cpu, &set);
  pthread_setaffinity_np(thread, sizeof set, &set);
#else
  (void)thread;
  (void)cpu;
#endif
}

int tgcrt_pool_start(tgcrt_pool **pool, void *memory, size_t bytes, const tgcrt_pool_options *o) {
  if (!pool || !memory || !o || o->threads < 1) return TGCRT_ARGUMENT;
  *pool = NULL;
  if (bytes < TGCRT_POOL_BYTES(o->threads)) return TGCRT_ARENA;
  tgcrt_pool *p = (tgcrt_pool *)(((uintptr_t)memory + LINE - 1) / LINE * LINE);
  memset(p, 0, sizeof *p);
  p->executor.run = pool_run;
  p->executor.self = p;
  p->threads = o->threads;
  p->pinned = o->cpus != NULL;
  p->spin = (int64_t)(o->spin_us < 0 ? 0 : o->spin_us ? o->spin_us : DEFAULT_SPIN) * 1000;
  p->owner = getpid();
#if !defined __linux__
  pthread_mutex_init(&p->mutex, NULL);
  pthread_cond_init(&p->changed, NULL);
#endif
  static const int raised[] = { SIGILL, SIGTRAP, SIGBUS, SIGFPE, SIGSEGV };
  sigset_t all, old; /* signals are for the program's own threads, except those that a thread raises itself */
  sigfillset(&all);
  for (size_t i = 0; i < sizeof raised / sizeof *raised; i++) sigdelset(&all, raised[i]);
  pthread_sigmask(SIG_SETMASK, &all, &old);
  int n = 1;
  for (int i = 0; i < o->threads; i++) {
    members(p)[i].pool = p;
    members(p)[i].left = 0;
  }
  while (n < o->threads && !pthread_create(&members(p)[n].thread, NULL, worker, &members(p)[n])) n++;
  pthread_sigmask(SIG_SETMASK, &old, NULL);
  for (int i = 1; i < n && o->cpus; i++) pin(members(p)[i].thread, o->cpus[i]);
  if (n < o->threads) {
    finish(p, n);
    return TGCRT_THREADS;
  }
  *pool = p;
  return TGCRT_OK;
}

void tgcrt_pool_stop(tgcrt_pool *p) {
  if (p && p->owner == getpid()) finish(p, p->threads); /* after a fork the child has no workers to end */
}

const tgcrt_executor *tgcrt_pool_executor(const tgcrt_pool *p) { return p ? &p->executor : NULL; }

int tgcrt_cpus(void) {
#if defined __linux__
  cpu_set_t set;
  if (!sched_getaffinity(0, sizeof set, &set)) return CPU_COUNT(&set);
#endif
  long n = sysconf(_SC_NPROCESSORS_ONLN);
  return n < 1 ? 1 : (int)n;
}
#endif

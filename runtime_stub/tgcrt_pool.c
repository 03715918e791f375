/* SPDX-License-Identifier: 0BSD */
/* tgcrt_pool.c: threads that share the chunks of one job after another. See tgcrt.h.
 *
 * Every member, including the caller, has a share of the chunks: a word with its first remaining chunk and its end. A member
 * takes halves of its share from the front. A member without work takes halves of other shares from the back. A take is one
 * compare-and-swap, and its chunks belong to the job of that share. So a late member finds no work, or work of the next job,
 * and nobody waits for it. Workers first spin on the job's number, then sleep on it. The caller does the same on the number of
 * finished chunks. First the parts of systems: Windows, Linux, and others with POSIX threads. */
#if !defined _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "tgcrt.h"
#if !defined TGCRT_FREESTANDING && !defined TGCRT_SINGLE
#if defined _WIN32
#include <windows.h>
#else
#include <pthread.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>
#endif
#include <string.h>
#if defined __linux__
#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#endif

#if defined _WIN32
typedef HANDLE Thread;
typedef struct Bell { /* wakes those that sleep */
  SRWLOCK mutex;
  CONDITION_VARIABLE changed;
} Bell;
#else
typedef pthread_t Thread;
typedef struct Bell { /* wakes those that sleep */
#if defined __linux__
  int none; /* a futex needs nothing */
#else
  pthread_mutex_t mutex;
  pthread_cond_t changed;
#endif
} Bell;
#endif

enum { LINE = 64, GLANCES = 64, DEFAULT_SPIN = 200 }; /* bytes; looks at a word for each look at the clock; microseconds */

typedef struct Member {
  uint64_t left; /* its remaining share: first chunk, and end << 32 */
  struct tgcrt_pool *pool;
  Thread thread;
  char pad[LINE - 2 * sizeof(uint64_t) - sizeof(Thread)];
} Member;

struct tgcrt_pool {
  tgcrt_executor executor;
  int threads, pinned;
  uint32_t cpu; /* CPU on which the caller woke others */
  int64_t spin; /* ns */
  int owner; /* the process that started the workers */
  tgcrt_task *task; /* current job; both stay valid while a member holds a chunk of it */
  void *job;
  uint32_t busy;
  Bell bell;
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

/* ---- atomic words ---- */
#if defined _WIN32
static uint32_t load(uint32_t *p) { return (uint32_t)InterlockedCompareExchange((volatile LONG *)p, 0, 0); }
static uint32_t swap(uint32_t *p, uint32_t x) { return (uint32_t)InterlockedExchange((volatile LONG *)p, (LONG)x); }
static void store(uint32_t *p, uint32_t x) { (void)swap(p, x); }
static void add(uint32_t *p, uint32_t x) { (void)InterlockedExchangeAdd((volatile LONG *)p, (LONG)x); }
static uint64_t exchange_if(uint64_t *p, uint64_t old, uint64_t x) {
  return (uint64_t)InterlockedCompareExchange64((volatile LONG64 *)p, (LONG64)x, (LONG64)old);
}
static uint64_t load_wide(uint64_t *p) { return exchange_if(p, 0, 0); }
static void store_wide(uint64_t *p, uint64_t x) { (void)InterlockedExchange64((volatile LONG64 *)p, (LONG64)x); }
static int replace_wide(uint64_t *p, uint64_t *old, uint64_t x) {
  const uint64_t was = exchange_if(p, *old, x), wanted = *old;
  *old = was;
  return was == wanted;
}
#else
static uint32_t load(uint32_t *p) { return __atomic_load_n(p, __ATOMIC_SEQ_CST); }
static uint32_t swap(uint32_t *p, uint32_t x) { return __atomic_exchange_n(p, x, __ATOMIC_SEQ_CST); }
static void store(uint32_t *p, uint32_t x) { __atomic_store_n(p, x, __ATOMIC_RELEASE); }
static void add(uint32_t *p, uint32_t x) { __atomic_fetch_add(p, x, __ATOMIC_SEQ_CST); }
static uint64_t load_wide(uint64_t *p) { return __atomic_load_n(p, __ATOMIC_ACQUIRE); }
static void store_wide(uint64_t *p, uint64_t x) { __atomic_store_n(p, x, __ATOMIC_RELEASE); }
static int replace_wide(uint64_t *p, uint64_t *old, uint64_t x) { /* *old: what was there */
  return __atomic_compare_exchange_n(p, old, x, 0, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
}
#endif

/* ---- waiting ---- */
static void glance(void) {
#if defined _WIN32
  YieldProcessor();
#elif defined __x86_64__ || defined __i386__
  __builtin_ia32_pause();
#elif defined __aarch64__
  __asm__ volatile("isb");
#endif
}

static int64_t now(void) {
#if defined _WIN32
  LARGE_INTEGER t, f;
  QueryPerformanceCounter(&t);
  QueryPerformanceFrequency(&f);
  return t.QuadPart / f.QuadPart * 1000000000 + t.QuadPart % f.QuadPart * 1000000000 / f.QuadPart;
#else
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
#endif
}

/* Looks at *word until it is not `old`, or the pool's time is over; -> its value. */
static uint32_t watch(const tgcrt_pool *p, uint32_t *word, uint32_t old) {
  int64_t until = 0;
  for (;;) {
    for (int i = 0; i < GLANCES; i++) {
      uint32_t x = load(word);
      if (x != old) return x;
      glance();
    }
    int64_t t = now();
    if (!until) until = t + p->spin;
    if (t >= until) return old;
  }
}

/* sleep_on sleeps until a wake, unless *word has changed */
#if defined _WIN32
static void sleep_on(tgcrt_pool *p, uint32_t *word, uint32_t old) {
  AcquireSRWLockExclusive(&p->bell.mutex);
  if (load(word) == old) SleepConditionVariableSRW(&p->bell.changed, &p->bell.mutex, INFINITE, 0);
  ReleaseSRWLockExclusive(&p->bell.mutex);
}
static void wake(tgcrt_pool *p, uint32_t *word) {
  (void)word;
  AcquireSRWLockExclusive(&p->bell.mutex);
  WakeAllConditionVariable(&p->bell.changed);
  ReleaseSRWLockExclusive(&p->bell.mutex);
}
#elif defined __linux__
static void sleep_on(tgcrt_pool *p, uint32_t *word, uint32_t old) {
  (void)p;
  syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, old, NULL, NULL, 0);
}
static void wake(tgcrt_pool *p, uint32_t *word) {
  (void)p;
  syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, 0x7fffffff, NULL, NULL, 0);
}
#else
static void sleep_on(tgcrt_pool *p, uint32_t *word, uint32_t old) {
  pthread_mutex_lock(&p->bell.mutex);
  if (load(word) == old) pthread_cond_wait(&p->bell.changed, &p->bell.mutex);
  pthread_mutex_unlock(&p->bell.mutex);
}
static void wake(tgcrt_pool *p, uint32_t *word) {
  (void)word;
  pthread_mutex_lock(&p->bell.mutex);
  pthread_cond_broadcast(&p->bell.changed);
  pthread_mutex_unlock(&p->bell.mutex);
}
#endif

/* A woken thread may find itself on the processor of the thread that woke it, which is busy, while others are idle. It would
 * stay there for milliseconds. */
static void leave_caller(tgcrt_pool *p) {
#if defined __linux__
  cpu_set_t all, others;
  int cpu = sched_getcpu();
  if (p->pinned || cpu < 0 || cpu != (int)load(&p->cpu) || sched_getaffinity(0, sizeof all, &all)) return;
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
  uint64_t left = load_wide(&from->left);
  for (;;) {
    uint32_t first = (uint32_t)left, last = (uint32_t)(left >> 32), n = (last - first + 1) / 2;
    if (first >= last) return 0;
    *begin = own ? first : last - n;
    *end = *begin + n;
    if (replace_wide(&from->left, &left, own ? share(*end, last) : share(first, *begin))) return 1;
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
  add(&p->done, did);
  if (load(&p->waits)) wake(p, &p->done);
}

static void serve(Member *me) {
  tgcrt_pool *p = me->pool;
  for (uint32_t seen = 0;;) {
    uint32_t epoch = watch(p, &p->epoch, seen);
    if (epoch == seen) {
      add(&p->sleepers, 1);
      sleep_on(p, &p->epoch, seen);
      add(&p->sleepers, UINT32_MAX);
      leave_caller(p);
      continue;
    }
    seen = epoch;
    if (load(&p->quit)) return;
    work(p, (int)(me - members(p)));
  }
}

static void announce(tgcrt_pool *p) {
#if defined __linux__
  store(&p->cpu, (uint32_t)sched_getcpu());
#endif
  add(&p->epoch, 1);
  if (load(&p->sleepers)) wake(p, &p->epoch);
}

static void pool_run(void *self, tgcrt_task *task, void *job, int64_t chunks) {
  tgcrt_pool *p = (tgcrt_pool *)self;
  int n = p->threads;
  if (chunks < 2 || chunks > INT32_MAX || n < 2 || swap(&p->busy, 1)) {
    task(job, 0, chunks); /* a run inside or beside another one uses this thread only */
    return;
  }
  p->task = task;
  p->job = job;
  store(&p->done, 0);
  for (int i = 0; i < n; i++)
    store_wide(&members(p)[i].left, share((uint32_t)(chunks * i / n), (uint32_t)(chunks * (i + 1) / n)));
  announce(p);
  work(p, 0);
  for (uint32_t done; (done = load(&p->done)) != (uint32_t)chunks;) {
    if (watch(p, &p->done, done) != done) continue;
    (void)swap(&p->waits, 1); /* before the next look at done, which store would not promise */
    if (load(&p->done) == done) sleep_on(p, &p->done, done);
    (void)swap(&p->waits, 0);
  }
  store(&p->busy, 0);
}

/* ---- threads ---- */
#if defined _WIN32
static DWORD WINAPI worker(void *me) {
  serve((Member *)me);
  return 0;
}
static int thread_start(Member *m) { return (m->thread = CreateThread(NULL, 0, worker, m, 0, NULL)) != NULL; }
static void thread_join(Thread t) {
  WaitForSingleObject(t, INFINITE);
  CloseHandle(t);
}
static void pin(Thread t, int cpu) { SetThreadAffinityMask(t, (DWORD_PTR)1 << cpu); }
static int this_process(void) { return (int)GetCurrentProcessId(); }
static void bell_begin(Bell *s) {
  InitializeSRWLock(&s->mutex);
  InitializeConditionVariable(&s->changed);
}
static void bell_end(Bell *s) { (void)s; }
#else
static void *worker(void *me) {
  serve((Member *)me);
  return NULL;
}
/* Signals are for the program's own threads, except those that a thread raises itself. */
static int thread_start(Member *m) {
  static const int raised[] = { SIGILL, SIGTRAP, SIGBUS, SIGFPE, SIGSEGV };
  sigset_t all, old;
  sigfillset(&all);
  for (size_t i = 0; i < sizeof raised / sizeof *raised; i++) sigdelset(&all, raised[i]);
  pthread_sigmask(SIG_SETMASK, &all, &old);
  const int failed = pthread_create(&m->thread, NULL, worker, m);
  pthread_sigmask(SIG_SETMASK, &old, NULL);
  return !failed;
}
static void thread_join(Thread t) { pthread_join(t, NULL); }
static void pin(Thread t, int cpu) {
#if defined __linux__
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET((size_t)cpu, &set);
  pthread_setaffinity_np(t, sizeof set, &set);
#else
  (void)t;
  (void)cpu;
#endif
}
static int this_process(void) { return (int)getpid(); }
static void bell_begin(Bell *s) {
#if defined __linux__
  (void)s;
#else
  pthread_mutex_init(&s->mutex, NULL);
  pthread_cond_init(&s->changed, NULL);
#endif
}
static void bell_end(Bell *s) {
#if defined __linux__
  (void)s;
#else
  pthread_cond_destroy(&s->changed);
  pthread_mutex_destroy(&s->mutex);
#endif
}
#endif

/* ---- start and stop ---- */
static void finish(tgcrt_pool *p, int started) { /* ends the workers 1 .. started - 1 */
  store(&p->quit, 1);
  announce(p);
  for (int i = 1; i < started; i++) thread_join(members(p)[i].thread);
  bell_end(&p->bell);
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
  p->owner = this_process();
  bell_begin(&p->bell);
  int n = 1;
  for (int i = 0; i < o->threads; i++) {
    members(p)[i].pool = p;
    members(p)[i].left = 0;
  }
  while (n < o->threads && thread_start(&members(p)[n])) n++;
  for (int i = 1; i < n && o->cpus; i++) pin(members(p)[i].thread, o->cpus[i]);
  if (n < o->threads) {
    finish(p, n);
    return TGCRT_THREADS;
  }
  *pool = p;
  return TGCRT_OK;
}

void tgcrt_pool_stop(tgcrt_pool *p) {
  if (p && p->owner == this_process()) finish(p, p->threads); /* after a fork the child has no workers to end */
}

const tgcrt_executor *tgcrt_pool_executor(const tgcrt_pool *p) { return p ? &p->executor : NULL; }

int tgcrt_cpus(void) {
#if defined _WIN32
  DWORD_PTR mine = 0, all;
  int n = 0;
  if (GetProcessAffinityMask(GetCurrentProcess(), &mine, &all))
    for (; mine; mine &= mine - 1) n++;
  return n < 1 ? 1 : n;
#else
#if defined __linux__
  cpu_set_t set;
  if (!sched_getaffinity(0, sizeof set, &set)) return CPU_COUNT(&set);
#endif
  long n = sysconf(_SC_NPROCESSORS_ONLN);
  return n < 1 ? 1 : (int)n;
#endif
}
#endif

/* SPDX-License-Identifier: MIT */
/* facts.c: measures a CPU under the flags of a bundle: the facts of compiler/target/facts.h. The text before this one numbers
 * them as FACT_name. A value is the best of many short rounds, so that other processes matter
 * little. A fact that cannot be measured stays 0. */
#include "probe.h"
#include <sched.h>
#ifdef __linux__
#include <sys/syscall.h>
#endif
#include <unistd.h>

void facts_measure(double *fact, int cores, double seconds);

typedef struct Test {
  void (*run)(const struct Test *, long repeat);
  Words *at;         /* memory; NULL: none */
  size_t n;          /* vectors in it */
  double of_all;     /* share of the whole time that this test may take */
} Test;

static volatile uint64_t sink;
static double budget; /* seconds */

/* Repeats per second in the best round. Rounds take half a millisecond, so that some are undisturbed. */
static double best(const Test *t) {
  const double end = now() + budget * t->of_all, round = 0.0005;
  double rate = 0;
  for (long repeat = 1;;) {
    const double start = now();
    t->run(t, repeat);
    const double took = now() - start;
    if (repeat / took > rate) rate = (double)repeat / took;
    if (now() > end) return rate;
    if (took < round) repeat = took < round / 64 ? repeat * 64 : (long)((double)repeat * round / took) + 1;
  }
}

static double repeats(void (*run)(const Test *, long)) { return best(&(Test){ run, NULL, 0, 0.025 }); }

static void keep(const Vec *a, int n) {
  uint64_t bits = 0;
  for (int i = 0; i < n; i++) {
    uint32_t first;
    memcpy(&first, &a[i], sizeof first);
    bits += first;
  }
  sink = bits;
}

/* ---- arithmetic ---- */
enum { CHAINS = 12, STEPS = 24 };

/* A chain of STEPS instructions of one cycle each, beside vector arithmetic that takes less time */
static void run_clock(const Test *t, long n) {
  Vec a[CHAINS], vx = x - (Vec){ 0 }, vy = y - (Vec){ 0 };
  uintptr_t chain = 1, with = 12345;
  (void)t;
  for (int i = 0; i < CHAINS; i++) a[i] = vx + (float)i;
  __asm__ volatile("" : "+r"(with));
  for (long k = 0; k < n; k++) {
#pragma GCC unroll 24
    for (int i = 0; i < STEPS; i++) {
      chain ^= with;
      __asm__ volatile("" : "+r"(chain));
      if (LANES > 1 && i % 4 == 0) a[i / 4] = a[i / 4] * vx + vy;
    }
  }
  sink = chain;
  keep(a, CHAINS);
}

static void run_fma(const Test *t, long n) {
  Vec a[CHAINS], vx = x - (Vec){ 0 }, vy = y - (Vec){ 0 };
  (void)t;
  for (int i = 0; i < CHAINS; i++) a[i] = vx + (float)i;
  for (long k = 0; k < n; k++)
#pragma GCC unroll 12
    for (int i = 0; i < CHAINS; i++) a[i] = a[i] * vx + vy;
  keep(a, CHAINS);
}

static void run_latency(const Test *t, long n) {
  Vec a = x - (Vec){ 0 }, vx = a, vy = y - (Vec){ 0 };
  (void)t;
  for (long k = 0; k < n; k++)
#pragma GCC unroll 12
    for (int i = 0; i < CHAINS; i++) a = a * vx + vy;
  keep(&a, 1);
}

static void run_add_latency(const Test *t, long n) {
  Vec a = x - (Vec){ 0 }, vy = y - (Vec){ 0 };
  (void)t;
  for (long k = 0; k < n; k++)
#pragma GCC unroll 12
    for (int i = 0; i < CHAINS; i++) a = a + vy;
  keep(&a, 1);
}

/* A chain of multiply-adds in each iteration, all of which are independent. As many iterations overlap as the core runs ahead.
 * Besides the chain an iteration has a load, two sums, and the instructions of the loop. */
enum { CHAIN = 32, BESIDE = 5 };
static void run_window(const Test *t, long n) {
  Vec vx = x - (Vec){ 0 }, vy = y - (Vec){ 0 }, sum = vx;
  (void)t;
  for (long k = 0; k < n; k++) {
    Vec a = x - (Vec){ 0 };
#pragma GCC unroll 32
    for (int i = 0; i < CHAIN; i++) a = a * vx + vy;
    sum += a;
  }
  keep(&sum, 1);
}

#define NOPS "nop\n nop\n nop\n nop\n nop\n nop\n nop\n nop\n nop\n nop\n nop\n nop\n"
enum { NOPS_OF_TURN = 96 };
static void run_width(const Test *t, long n) {
  (void)t;
  for (long k = 0; k < n; k++) __asm__ volatile(NOPS NOPS NOPS NOPS NOPS NOPS NOPS NOPS);
}

static void run_divide(const Test *t, long n) {
  Vec a[CHAINS], vx = x - (Vec){ 0 };
  (void)t;
  for (int i = 0; i < CHAINS; i++) a[i] = vx + (float)i;
  for (long k = 0; k < n; k++)
#pragma GCC unroll 12
    for (int i = 0; i < CHAINS; i++) a[i] = vx / a[i];
  keep(a, CHAINS);
}

/* A loop of one instruction on 12 sums; %0 is the sum, %1 and %2 are the factors. An array of sums would lie in memory. */
#if defined __aarch64__
#define IN "w"
#else
#define IN "v"
#endif
#define ONE(text, sum) __asm__ volatile(text : "+" IN(sum) : IN(b), IN(c));
#define INSTRUCTION(name, text) \
  static void name(const Test *t, long n) { \
    Vec b = x - (Vec){ 0 }, c = b, s0 = b, s1 = b, s2 = b, s3 = b, s4 = b, s5 = b; \
    Vec s6 = b, s7 = b, s8 = b, s9 = b, s10 = b, s11 = b; \
    (void)t; \
    for (long k = 0; k < n; k++) { \
      ONE(text, s0) ONE(text, s1) ONE(text, s2) ONE(text, s3) ONE(text, s4) ONE(text, s5) \
      ONE(text, s6) ONE(text, s7) ONE(text, s8) ONE(text, s9) ONE(text, s10) ONE(text, s11) \
    } \
    s0 += s1 + s2 + s3 + s4 + s5 + s6 + s7 + s8 + s9 + s10 + s11; \
    keep(&s0, 1); \
  }
#if defined __AVX512BF16__ && LANES == 16
INSTRUCTION(run_bf16, "vdpbf16ps %1, %2, %0")
#define BF16_PRODUCTS 32
#elif defined __ARM_FEATURE_BF16_VECTOR_ARITHMETIC && LANES == 4
INSTRUCTION(run_bf16, "bfmmla %0.4s, %1.8h, %2.8h")
#define BF16_PRODUCTS 16
#endif
#if defined __AVX512FP16__ && LANES == 16
/* A half of memory is spread to all lanes for three products, as in a kernel: it takes an instruction on a port of
 * multiply-adds. */
static void run_fp16(const Test *t, long n) {
  static const uint16_t half = 0x3bff;
  Vec b = { 0 }, c, s0 = b, s1 = b, s2 = b, s3 = b, s4 = b, s5 = b, s6 = b, s7 = b, s8 = b, s9 = b, s10 = b, s11 = b;
  (void)t;
#define THREE(x, y, z) \
  __asm__ volatile("vpbroadcastw %1, %0" : "=v"(c) : "m"(half)); \
  ONE("vfmadd231ph %1, %2, %0", x) ONE("vfmadd231ph %1, %2, %0", y) ONE("vfmadd231ph %1, %2, %0", z)
  for (long k = 0; k < n; k++) { THREE(s0, s1, s2) THREE(s3, s4, s5) THREE(s6, s7, s8) THREE(s9, s10, s11) }
  s0 += s1 + s2 + s3 + s4 + s5 + s6 + s7 + s8 + s9 + s10 + s11;
  keep(&s0, 1);
}
#define FP16_PRODUCTS 32
#elif defined __ARM_FEATURE_FP16_VECTOR_ARITHMETIC && LANES == 4
INSTRUCTION(run_fp16, "fmla %0.8h, %1.8h, %2.8h")
#define FP16_PRODUCTS 8
#endif
#if defined __AVX512VNNI__ && LANES == 16
INSTRUCTION(run_int8, "vpdpbusd %1, %2, %0")
#define INT8_PRODUCTS 64
#elif defined __AVXVNNI__ && LANES == 8
INSTRUCTION(run_int8, "%{vex%} vpdpbusd %1, %2, %0")
#define INT8_PRODUCTS 32
#elif defined __ARM_FEATURE_DOTPROD && LANES == 4
INSTRUCTION(run_int8, "sdot %0.4s, %1.16b, %2.16b")
#define INT8_PRODUCTS 16
#endif
#if defined __AMX_BF16__ && defined __linux__
#define TILE_PRODUCTS (16 * 16 * 32)
enum { PERMIT = 0x1023, TILE_DATA = 18, TILE_BYTES = 1024 }; /* a request of arch_prctl, and the state that it asks for */

/* A block of two by two sums, as kernels of the unit have them: four tiles are loaded for four products. */
static void run_tiles(const Test *t, long n) {
  static const struct { uint8_t palette, start, rest[14]; uint16_t row_bytes[16]; uint8_t rows[16]; } shapes = {
    1, 0, { 0 }, { 64, 64, 64, 64, 64, 64, 64, 64 }, { 16, 16, 16, 16, 16, 16, 16, 16 }
  };
  const char *at = (const char *)t->at;
  __asm__ volatile("ldtilecfg %0" : : "m"(shapes));
  for (; n-- > 0;)
    __asm__ volatile("tileloadd (%0,%1,1), %%tmm4\n tileloadd 1024(%0,%1,1), %%tmm5\n tdpbf16ps %%tmm5, %%tmm4, %%tmm0\n"
                     "tileloadd 2048(%0,%1,1), %%tmm6\n tdpbf16ps %%tmm6, %%tmm4, %%tmm1\n"
                     "tileloadd 3072(%0,%1,1), %%tmm7\n tdpbf16ps %%tmm5, %%tmm7, %%tmm2\n tdpbf16ps %%tmm6, %%tmm7, %%tmm3"
                     : : "r"(at), "r"(64L) : "memory");
  __asm__ volatile("tilerelease");
}

/* Products per second; 0: the system refuses the unit */
static double tile_rate(void) {
  static _Alignas(64) char tiles[4 * TILE_BYTES];
  if (syscall(SYS_arch_prctl, PERMIT, TILE_DATA)) return 0;
  return best(&(Test){ run_tiles, (Words *)(void *)tiles, 0, 0.025 }) * 4 * TILE_PRODUCTS;
}
#endif
#if defined __AVX2__ && LANES >= 8
INSTRUCTION(run_shuffle, "vpermps %1, %2, %0")
#define SHUFFLES
#elif defined __aarch64__ && LANES == 4
INSTRUCTION(run_shuffle, "zip1 %0.4s, %1.4s, %2.4s")
#define SHUFFLES
#endif

/* ---- memory ---- */
static void run_read(const Test *t, long n) {
  enum { STREAMS = 4 }; /* as many as hardware prefetches */
  Words a[2 * STREAMS];
  memset(a, 0, sizeof a);
  const size_t part = t->n / STREAMS;
  for (; n-- > 0;) {
    for (size_t i = 0; i + 1 < part; i += 2) {
#pragma GCC unroll 4
      for (int k = 0; k < STREAMS; k++) {
        a[2 * k] |= t->at[(size_t)k * part + i];
        a[2 * k + 1] |= t->at[(size_t)k * part + i + 1];
      }
    }
    __asm__ volatile("" ::: "memory");
  }
  for (int k = 1; k < 2 * STREAMS; k++) a[0] |= a[k];
  keep((const Vec *)(const void *)a, 1);
}

static void run_write(const Test *t, long n) {
  Words v = { 0 };
  for (; n-- > 0;) {
    for (size_t i = 0; i + 3 < t->n; i += 4) {
#pragma GCC unroll 4
      for (size_t k = 0; k < 4; k++) t->at[i + k] = v;
      __asm__ volatile("" ::: "memory"); /* not a call of memset */
    }
  }
}

/* Walks the whole memory in slices. A slice is so short that some are undisturbed, and comes again after all others. */
static double slices_rate(void (*run)(const Test *, long), char *at, size_t bytes, double of_all) {
  const size_t slice = bytes / 8;
  const double end = now() + budget * of_all;
  double rate = 0;
  for (size_t from = 0;; from = from + 2 * slice > bytes ? 0 : from + slice) {
    const Test t = { run, (Words *)(void *)(at + from), slice / sizeof(Words), 0 };
    const double start = now();
    run(&t, 1);
    const double took = now() - start;
    if ((double)slice / took > rate) rate = (double)slice / took;
    if (now() > end) return rate;
  }
}

static double bytes_rate(void (*run)(const Test *, long), void *at, size_t bytes, double of_all) {
  const Test t = { run, at, bytes / sizeof(Words), of_all };
  if (bytes > (size_t)8 << 20) return slices_rate(run, at, bytes, of_all);
  return best(&t) * (double)bytes; /* per second */
}

/* The largest set that is still read faster than halfway, in ratio, from the third level to memory; 0: there is none */
static size_t third_level(void *at, size_t l2, size_t most, double memory, double *near) {
  size_t found = 0;
  *near = bytes_rate(run_read, at, 4 * l2, 0.03);
  if (*near < 1.3 * memory) return 0;
  for (size_t n = 4 * l2; n <= most; n *= 2)
    if (bytes_rate(run_read, at, n, 0.03) > memory * __builtin_sqrt(*near / memory)) found = n;
    else break;
  return found;
}

/* ---- all cores ---- */
typedef struct Core { Test test; pthread_barrier_t *gate; double rate; } Core;

static void *on_core(void *arg) {
  Core *c = arg;
  pthread_barrier_wait(c->gate);
  c->rate = bytes_rate(c->test.run, c->test.at, c->test.n * sizeof(Words), c->test.of_all) / (double)(c->test.n * sizeof(Words));
  return NULL;
}

/* The share of a core in bytes per second, while all work; alone: the rate of one core */
static double shared_rate(void (*run)(const Test *, long), char *at, size_t bytes, int cores, double alone) {
  enum { MOST = 64 };
  pthread_t thread[MOST];
  Core core[MOST];
  pthread_barrier_t gate;
  double sum = 0;
  if (cores > MOST) cores = MOST;
  const size_t part = bytes / (size_t)cores / 4096 * 4096;
  pthread_barrier_init(&gate, NULL, (unsigned)cores);
  for (int i = 0; i < cores; i++) {
    core[i] = (Core){ { run, (Words *)(void *)(at + (size_t)i * part), part / sizeof(Words), 0.08 }, &gate, 0 };
    if (i && pthread_create(&thread[i], NULL, on_core, &core[i])) exit(1);
  }
  on_core(&core[0]);
  for (int i = 1; i < cores; i++) pthread_join(thread[i], NULL);
  for (int i = 0; i < cores; i++) sum += core[i].rate * (double)part;
  pthread_barrier_destroy(&gate);
  return sum / cores < alone ? sum / cores : alone; /* the best of each may have been at different times */
}

/* ---- two threads ---- */
static struct { _Alignas(64) volatile long asked; _Alignas(64) volatile long answered; } flag;
static volatile int over;

/* The two threads are on two cores, or a spinning one would keep the other from its core. */
static void go_to_core(int number) {
  cpu_set_t may, one;
  CPU_ZERO(&one);
  if (sched_getaffinity(0, sizeof may, &may)) return;
  for (int i = 0; i < CPU_SETSIZE; i++)
    if (CPU_ISSET(i, &may) && !number--) CPU_SET(i, &one);
  sched_setaffinity(0, sizeof one, &one);
}

static void *answer(void *arg) {
  (void)arg;
  go_to_core(1);
  for (long seen = 0; !over;) {
    const long asked = __atomic_load_n(&flag.asked, __ATOMIC_ACQUIRE);
    if (asked != seen) __atomic_store_n(&flag.answered, seen = asked, __ATOMIC_RELEASE);
  }
  return NULL;
}

/* Microseconds until the other thread has answered */
static double asked(int n) {
  const double start = now();
  for (int i = 0; i < n; i++) {
    const long number = flag.asked + 1;
    __atomic_store_n(&flag.asked, number, __ATOMIC_RELEASE);
    while (__atomic_load_n(&flag.answered, __ATOMIC_ACQUIRE) != number)
      ;
  }
  return (now() - start) * 1e6 / n;
}

static void two_threads(double *barrier) {
  pthread_t t;
  double least = 1e9;
  cpu_set_t may;
  sched_getaffinity(0, sizeof may, &may);
  over = 0;
  flag.asked = flag.answered = 0;
  if (pthread_create(&t, NULL, answer, NULL)) exit(1);
  go_to_core(0);
  for (double end = now() + 0.1 * budget; now() < end;) {
    const double took = asked(20);
    if (took < least) least = took;
  }
  over = 1;
  pthread_join(t, NULL);
  sched_setaffinity(0, sizeof may, &may);
  if (least < 100) *barrier = least; /* else they never ran at the same time */
}

/* ---- all facts ---- */
static void measure_arithmetic(double *fact) {
  double hz = repeats(run_clock) * STEPS;
  const double chain = repeats(run_latency) * CHAINS, latency = __builtin_round(hz / chain); /* a whole number of cycles */
  if (latency * chain > hz) hz = latency * chain;
  fact[FACT_latency] = latency;
  fact[FACT_clock] = hz * 1e-9;
  fact[FACT_fma] = repeats(run_fma) * CHAINS * LANES / hz;
  fact[FACT_add_latency] = __builtin_round(hz / (repeats(run_add_latency) * CHAINS));
  fact[FACT_width] = repeats(run_width) * (NOPS_OF_TURN + 2) / hz; /* with the loop's own */
  fact[FACT_window] = repeats(run_window) * CHAIN * latency * (CHAIN + BESIDE) / hz;
  fact[FACT_divide] = repeats(run_divide) * CHAINS * LANES / hz;
#ifdef BF16_PRODUCTS
  fact[FACT_bf16] = repeats(run_bf16) * CHAINS * BF16_PRODUCTS / hz;
#endif
#ifdef TILE_PRODUCTS
  fact[FACT_bf16_tiles] = tile_rate() / hz;
#endif
#ifdef FP16_PRODUCTS
  fact[FACT_fp16] = repeats(run_fp16) * CHAINS * FP16_PRODUCTS / hz;
#endif
#ifdef INT8_PRODUCTS
  fact[FACT_int8] = repeats(run_int8) * CHAINS * INT8_PRODUCTS / hz;
#endif
#ifdef SHUFFLES
  fact[FACT_shuffle] = repeats(run_shuffle) * CHAINS * LANES / hz;
#endif
}

/* fact has the sizes of the first two levels. */
static void measure_memory(double *fact, int cores, void *at, size_t all) {
  const size_t l1 = (size_t)(fact[FACT_l1] * 1024), l2 = (size_t)(fact[FACT_l2] * 1024);
  const double hz = fact[FACT_clock] * 1e9;
  double near;
  fact[FACT_l1_read] = bytes_rate(run_read, at, l1 / 2, 0.025) / hz;
  fact[FACT_l1_write] = bytes_rate(run_write, at, l1 / 2, 0.025) / hz;
  fact[FACT_l2_read] = bytes_rate(run_read, at, l2 / 2, 0.04) / hz;
  fact[FACT_l2_write] = bytes_rate(run_write, at, l2 / 2, 0.04) / hz;
  const double memory = bytes_rate(run_read, at, all, 0.08);
  fact[FACT_memory_read] = memory / hz;
  fact[FACT_memory_write] = bytes_rate(run_write, at, all, 0.08) / hz;
  const size_t l3 = third_level(at, l2, all / 2, memory, &near);
  fact[FACT_l3] = (double)(l3 / 1024);
  if (l3) fact[FACT_l3_read] = near / hz, fact[FACT_l3_write] = bytes_rate(run_write, at, 4 * l2, 0.03) / hz;
  fact[FACT_all_read] = shared_rate(run_read, at, all, cores, memory) / hz;
}

static int by_size(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

/* In several passes, so that a neighbour who is busy for a second disturbs only some of them */
void facts_measure(double *fact, int cores, double seconds) {
  enum { PASSES = 5 };
  double third[PASSES];
  const size_t all = (size_t)256 << 20;
  void *at;
  if (posix_memalign(&at, 4096, all)) exit(1);
  memset(at, 1, all);
  budget = seconds / PASSES;
  for (int pass = 0; pass < PASSES; pass++) {
    double now_fact[FACT_COUNT] = { [FACT_l1] = fact[FACT_l1], [FACT_l2] = fact[FACT_l2] };
    measure_arithmetic(now_fact);
    measure_memory(now_fact, cores, at, all);
    if (cores > 1) two_threads(&now_fact[FACT_barrier]);
    third[pass] = now_fact[FACT_l3];
    for (int i = 0; i < FACT_COUNT; i++) {
      /* these are times; the others are rates and sizes */
      const int less = i == FACT_barrier || i == FACT_latency || i == FACT_add_latency;
      if (!fact[i] || (now_fact[i] && (less ? now_fact[i] < fact[i] : now_fact[i] > fact[i]))) fact[i] = now_fact[i];
    }
  }
  qsort(third, PASSES, sizeof *third, by_size);
  fact[FACT_l3] = third[PASSES / 2]; /* a disturbed pass finds another size */
  free(at);
}

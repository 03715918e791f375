/* SPDX-License-Identifier: MIT */
/* candidate_caches.c: brings the data of a candidate to given levels of cache, before it is timed.
 *
 * Lines that shall be in memory are flushed. The first two levels are emptied by accesses to other memory, so that lines stay in
 * the third. Data that shall be near are accessed last. Values are written, as another kernel has just written them; weights
 * are read.
 *
 * needs: memory of a candidate, a level for each buffer    gives: lines in the caches    keeps: the contents */
#include "batch.h"

typedef volatile char *Bytes64;

static void read_lines(Bytes64 p, int64_t bytes) {
  for (int64_t i = 0; i < bytes; i += LINE_BYTES) (void)p[i];
}

static void write_lines(Bytes64 p, int64_t bytes) {
  for (int64_t i = 0; i < bytes; i += LINE_BYTES) p[i] = p[i];
}

#if defined __x86_64__ || defined __aarch64__
enum { CAN_FLUSH = 1 };
static void flush_lines(Bytes64 p, int64_t bytes) {
  for (int64_t i = 0; i < bytes; i += LINE_BYTES)
#ifdef __x86_64__
    __builtin_ia32_clflush((const void *)(uintptr_t)&p[i]);
  __builtin_ia32_mfence();
#else
    __asm__ volatile("dc civac, %0" ::"r"(&p[i]) : "memory");
  __asm__ volatile("dsb ish" ::: "memory");
#endif
}
#else
enum { CAN_FLUSH = 0 };
static void flush_lines(Bytes64 p, int64_t bytes) { (void)p, (void)bytes; }
#endif

/* Memory that fills a level twice. Without an instruction that flushes, the last level must be filled. */
int64_t caches_other(const Target *t) {
  const int64_t last = CAN_FLUSH || t->l3_bytes < t->l2_bytes ? t->l2_bytes : t->l3_bytes;
  return 2 * (last > t->l1_bytes ? last : t->l1_bytes);
}

static void pass_level(const Placed *x, int n, MemoryLevel level, void (*f)(Bytes64 p, int64_t bytes)) {
  for (int i = 0; i < n; i++)
    if (x[i].level == level) (f ? f : x[i].written ? write_lines : read_lines)(x[i].p, x[i].bytes);
}

static bool any_at(const Placed *x, int n, MemoryLevel level) {
  for (int i = 0; i < n; i++)
    if (x[i].level == level) return true;
  return false;
}

void caches_place(const Target *t, void *other, const Placed *x, int n) {
  pass_level(x, n, LEVEL_MEMORY, flush_lines);
  if (!CAN_FLUSH && any_at(x, n, LEVEL_MEMORY)) {
    write_lines(other, caches_other(t));
    pass_level(x, n, LEVEL_L3, NULL);
  }
  if (any_at(x, n, LEVEL_L3)) write_lines(other, 2 * (int64_t)t->l2_bytes);
  pass_level(x, n, LEVEL_L2, NULL);
  if (any_at(x, n, LEVEL_L2)) read_lines(other, 2 * (int64_t)t->l1_bytes);
  pass_level(x, n, LEVEL_L1, NULL);
}

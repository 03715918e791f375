/* SPDX-License-Identifier: MIT */
/* candidate_memory.c: memory for candidates, and numbers in it. */
#include "batch.h"
#include <math.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static uint64_t next_random(uint64_t *s) {
  *s ^= *s << 13;
  *s ^= *s >> 7;
  return *s ^= *s << 17;
}

/* Numbers between -1 and 1; wide integers, which may be indices, 0 or 1; others any bits. hard: now and then what
 * arithmetic trips over; but no product of two overflows, as one that is rounded with a sum may then differ from one that is
 * before it. */
static int64_t any_value(DType d, uint64_t *s, bool hard) {
  static const double trap[] = { 0, -0.0, 1e-40, -1e-40, 1e18, -1e18, 1e-30, INFINITY, -INFINITY, NAN };
  uint64_t r = next_random(s);
  if (!dt_float(d)) return d == DT_BOOL || dtype_info[d].bits >= 32 ? (int64_t)(r & 1) : (int64_t)dt_wrap(d, r >> 20);
  double v = (double)(int64_t)(r >> 11) * 0x1p-52 - 1;
  if (hard && (r & 15) == 0) v = trap[(r >> 5) % ((r >> 9 & 63) ? 7 : 10)];
  return double_to_bits(d, v);
}

void fill(void *p, DType d, int64_t elems, uint64_t seed, bool hard) {
  enum { PERIOD = 1 << 16 };
  int bytes = dt_bytes(d);
  int64_t n = elems < PERIOD ? elems : PERIOD;
  seed = seed * 0x9e3779b97f4a7c15u + 1;
  for (int64_t i = 0; i < n; i++) {
    int64_t v = any_value(d, &seed, hard);
    memcpy((char *)p + i * bytes, &v, (size_t)bytes);
  }
  for (int64_t i = n; i < elems; i += n) memcpy((char *)p + i * bytes, p, (size_t)((elems - i < n ? elems - i : n) * bytes));
}

void *memory(int64_t bytes) {
  void *p = mmap(NULL, (size_t)(bytes ? bytes : 1), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (p == MAP_FAILED) _exit(3);
  return p;
}

void memory_free(void *p, int64_t bytes) { munmap(p, (size_t)(bytes ? bytes : 1)); }

/* SPDX-License-Identifier: MIT */
/* requests.c: counts transactions with global memory and conflicts in shared memory, by two rules that vendors publish. A
 * request moves each segment that it touches once. Shared memory serves one word of each bank at a time, to any number of
 * threads. If threads access more words than there are banks, as by vectors, the rounds that this needs anyway are no
 * conflicts.
 *
 * needs: the elements that the threads of a warp access by one micro-op    gives: counts    breaks: nothing */
#include "requests.h"

void request_begin(Request *q, bool shared) {
  q->shared = shared;
  q->unit.n = 0;
}

void request_add(Request *q, int64_t at, int bytes) {
  const int64_t width = q->shared ? BANK_BYTES : q->d->segment;
  for (int64_t u = at * bytes / width; u <= (at * bytes + bytes - 1) / width; u++) VEC_PUSH(&q->unit, u);
}

/* Largest number of distinct words in one bank */
static int64_t rounds(const Request *q, size_t words) {
  int64_t most = 0;
  for (size_t i = 0; i < words; i++) {
    int64_t same = 1;
    for (size_t k = 0; k < i; k++) same += q->unit.p[k] % q->d->shared_banks == q->unit.p[i] % q->d->shared_banks;
    most = same > most ? same : most;
  }
  return most;
}

void request_end(Request *q, Traffic *t) {
  size_t units = 0; /* number of distinct units */
  if (!q->unit.n) return;
  VEC_SORT(&q->unit, by_int64);
  for (size_t i = 0; i < q->unit.n; i++)
    if (!i || q->unit.p[i] != q->unit.p[i - 1]) q->unit.p[units++] = q->unit.p[i];
  t->requests++;
  if (!q->shared) t->sectors += (int64_t)units;
  else if (q->d->shared_banks > 1)
    t->conflicts += rounds(q, units) - ((int64_t)units + q->d->shared_banks - 1) / q->d->shared_banks;
}

void request_free(Request *q) { VEC_FREE(&q->unit); }

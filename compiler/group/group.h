/* SPDX-License-Identifier: MIT */
/* group.h: functions for kernels that run chunk by chunk, for loops whose iterations threads share, and for data affinity. */
#ifndef TGC_GROUP_H
#define TGC_GROUP_H
#include "../nest/nest.h"

/* ---- dependence.c ---- */
/* A term of an address. The term has one of the values 0, step, ..., (n - 1) * step; step > 0. */
typedef struct Term { int64_t step, n; } Term;
/* The addresses, counted in elements, that an access has in a kernel of several chunks. In chunk number c, an address is
 * base + c * chunk, plus one value of each term. */
typedef struct Addresses {
  int64_t base, chunk;
  bool chunked;            /* false: each chunk may access all of these addresses; then `chunk` is 0 */
  int n;                   /* number of terms */
  Term term[MAX_RANGES + 1];
} Addresses;
/* Returns true if the function can prove that no address of a in one chunk equals an address of b in another chunk. Otherwise
 * returns false. chunks: number of chunks */
bool addresses_independent(const Addresses *a, const Addresses *b, int64_t chunks);

/* ---- group.c ---- */
/* The addresses of a load or store: base + the sum of coef[i] * range[i], for i < n. If an address does not have this form, n is
 * 0. Then the least address is base, and the greatest address is base + spread. */
typedef struct Touch {
  int buf, nest;             /* buf: row of IR.bufs. nest: number that the caller of touch_of gives */
  bool write;                /* a store */
  int64_t base, spread;
  int n;
  Ref range[MAX_RANGES];
  int64_t coef[MAX_RANGES];
} Touch;
Touch touch_of(IR *ir, const Node *access, int nest);

/* A share consists of the consecutive chunks that a thread takes at a time. Returns whether a kernel may have `shares` shares.
 * This number must keep all threads busy, must not exceed the limit, and must be even or large, so that threads get about equal
 * work. */
static inline bool shares_even(const Tunables *u, const Target *t, int64_t shares) {
  const int64_t wanted = t->cores > 1 ? 2 * t->cores : u->group_shares_wanted; /* if t->cores is 1, the number is not known */
  return shares >= wanted && shares <= u->group_shares_most && (shares % 2 == 0 || shares >= u->group_shares_odd);
}

/* ---- strips.c ---- */
void strips_join(Plan *p); /* joins kernels that convert inputs of the caller with the kernels that read the results */

/* ---- affinity.c: which thread's cache holds which elements of a buffer ---- */
typedef struct Affinity Affinity;
/* Let threads share the iterations of a loop, and let one iteration move the index of an access by `step` elements. The span of
 * the access is the number of iterations times `step`. A buffer consists of stretches of this length, and the threads divide each
 * stretch in the same way. SPAN_NONE: each thread accesses the whole buffer. SPAN_ONE: a single thread accesses the whole
 * buffer */
enum { SPAN_NONE = 0, SPAN_ONE = -1 };
/* Returns the span of an access with this index, if threads share the loop over `range`. Returns SPAN_NONE if the index does not
 * vary with `range`, and 1 if the index is not affine in `range`. */
int64_t affinity_span(IR *ir, Ref index, Ref range);
void affinity_end(Plan *p); /* frees p->affinity; afterwards nothing is known about p's buffers */
/* Estimates the fraction of buffer `buf` that comes into the caches of two threads when a kernel reads the buffer with this span.
 * Elements that are already in two caches do not count. Returns -1 if the fraction is not known */
double affinity_reading(const Plan *p, int64_t buf, int64_t span);
/* Let a kernel store buffer `buf` with this span. Each kernel that then reads the buffer brings a fraction of the buffer into the
 * caches of two threads. In each reading kernel, threads share the loop for which this fraction is least. Returns the greatest
 * of these fractions; -1 if p->affinity is NULL or lacks the buffer */
double affinity_storing(const Plan *p, int64_t buf, int64_t span);
/* Records that a kernel accesses buffer `buf` with this span. store: true for a store, false for a read */
void affinity_note(const Plan *p, int64_t buf, bool store, int64_t span);
#endif

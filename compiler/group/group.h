/* SPDX-License-Identifier: MIT */
/* group.h: steps on several kernels at once: groups that run chunk by chunk, loops shared among threads, data affinity. */
#ifndef TGC_GROUP_H
#define TGC_GROUP_H
#include "../nest/nest.h"

/* ---- dependence.c: the addresses of an access, in elements. An address is `base`, plus `chunk` times the number of the chunk,
 * plus one value of each term ---- */
typedef struct Term { int64_t step, n; } Term; /* the values 0, step, ..., (n - 1) * step; step > 0 */
typedef struct Addresses {
  int64_t base, chunk;
  bool chunked;            /* false: any chunk may make the access, and chunk is 0 */
  int n;
  Term term[MAX_RANGES + 1];
} Addresses;
/* True: it is proved that no address of a in one chunk equals an address of b in another chunk. */
bool addresses_independent(const Addresses *a, const Addresses *b, int64_t chunks);

/* Whether this number of shares is enough for all threads, not too large, and balanced among the threads. A share is consecutive
 * chunks that a thread takes at a time. */
static inline bool shares_even(const Tunables *u, const Target *t, int64_t shares) {
  const int64_t wanted = t->cores > 1 ? 2 * t->cores : u->group_shares_wanted; /* cores 1: not known */
  return shares >= wanted && shares <= u->group_shares_most && (shares % 2 == 0 || shares >= u->group_shares_odd);
}

/* ---- strips.c ---- */
void strips_join(Plan *p); /* joins kernels that convert the caller's inputs with the kernels that read the converted values */

/* ---- affinity.c: in which thread's cache values are. The span of a shared loop is the number of iterations, times the elements
 * by which an iteration moves an index. A buffer consists of stretches as long as the span, and threads divide each stretch in
 * the same way. SPAN_NONE: each thread accesses the whole buffer. SPAN_ONE: a single thread accesses the buffer ---- */
typedef struct Affinity Affinity;
enum { SPAN_NONE = 0, SPAN_ONE = -1 };
/* The span of the loop over `range` for this index. SPAN_NONE: the index does not vary with `range`. 1: the index is not affine
 * in `range` */
int64_t affinity_span(IR *ir, Ref index, Ref range);
void affinity_end(Plan *p); /* frees p->affinity; then nothing is known about p's buffers */
/* Share of a buffer that a read with this span would copy to the cache of a second thread; -1: not known */
double affinity_reading(const Plan *p, int64_t buf, int64_t span);
/* Share of a buffer, stored with this span, that a later kernel would copy to the cache of a second thread. Each later kernel is
 * assumed to share the loop with which it copies least. The result is the greatest such share; -1: not known */
double affinity_storing(const Plan *p, int64_t buf, int64_t span);
/* Records an access to a buffer with this span. store: a store; else a read */
void affinity_note(const Plan *p, int64_t buf, bool store, int64_t span);
#endif

/* SPDX-License-Identifier: MIT */
/* group.h: several kernels at once: groups that run chunk by chunk, loops shared among threads, data affinity. */
#ifndef TGC_GROUP_H
#define TGC_GROUP_H
#include "../nest/nest.h"

/* ---- dependence.c: the addresses of an access: base + chunk * number of the chunk + the sum of its terms' values ---- */
typedef struct Term { int64_t step, n; } Term; /* values 0, step, .. (n - 1) * step; step > 0 */
typedef struct Addresses {
  int64_t base, chunk;
  bool chunked;            /* false: any chunk may make the access, and chunk is 0 */
  int n;
  Term term[MAX_RANGES + 1];
} Addresses;
/* True if proved: no address of a in one chunk equals an address of b in another. */
bool addresses_independent(const Addresses *a, const Addresses *b, int64_t chunks);

/* Whether the number of shares is enough for the threads that there may be, and balanced among them. */
static inline bool shares_even(const Tunables *u, const Target *t, int64_t shares) {
  const int64_t wanted = t->cores > 1 ? 2 * t->cores : u->group_shares_wanted; /* 1: not known */
  return shares >= wanted && shares <= u->group_shares_most && (shares % 2 == 0 || shares >= u->group_shares_odd);
}

/* ---- strips.c ---- */
void strips_join(Plan *p); /* joins kernels that convert the caller's inputs with the kernels that read the converted values */

/* ---- affinity.c: in which thread's cache values are. A span is the number of elements that one
 * full run of a shared loop passes over. A buffer consists of stretches of so many elements, and the threads divide
 * each of them in the same way ---- */
typedef struct Affinity Affinity;
enum { SPAN_NONE = 0, SPAN_ONE = -1 };      /* every thread's cache has the whole buffer; one thread's cache has it */
int64_t affinity_span(IR *ir, Ref index, Ref range); /* elements; SPAN_NONE: the index does not vary with the loop */
void affinity_end(Plan *p);
/* Share of a buffer that a read with this span would copy to the cache of a second thread; -1: not known */
double affinity_reading(const Plan *p, int64_t buf, int64_t span);
/* The same for a store with this span. For each kernel that reads the buffer, the smallest share over its loops counts. The
 * result is the largest of these shares. */
double affinity_storing(const Plan *p, int64_t buf, int64_t span);
void affinity_note(const Plan *p, int64_t buf, bool store, int64_t span);
#endif

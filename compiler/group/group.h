/* SPDX-License-Identifier: MIT */
/* group.h: several kernels at once: groups that run chunk by chunk, loops shared among threads, data affinity. */
#ifndef TGC_GROUP_H
#define TGC_GROUP_H
#include "../nest/nest.h"

/* ---- dependence.c: the addresses of an access, in elements. An address is `base`, plus `chunk` times the chunk's number, plus
 * one value of each term ---- */
typedef struct Term { int64_t step, n; } Term; /* values 0, step, .. (n - 1) * step; step > 0 */
typedef struct Addresses {
  int64_t base, chunk;
  bool chunked;            /* false: any chunk may make the access, and chunk is 0 */
  int n;
  Term term[MAX_RANGES + 1];
} Addresses;
/* True if proved: no address of a in one chunk equals an address of b in another. */
bool addresses_independent(const Addresses *a, const Addresses *b, int64_t chunks);

/* ---- group.c ---- */
typedef struct Touch {       /* the address of a load or store: base + sum of coef * range */
  int buf, nest;
  bool write;
  int64_t base, spread;      /* spread: for an address of another form; its least value is base, and it may exceed base by
                                spread */
  int n;
  Ref range[MAX_RANGES];
  int64_t coef[MAX_RANGES];
} Touch;
Touch touch_of(IR *ir, const Node *access, int nest);

/* Whether `shares` shares are enough for all threads, and balanced among them. A share is consecutive chunks that a thread takes
 * at a time. */
static inline bool shares_even(const Tunables *u, const Target *t, int64_t shares) {
  const int64_t wanted = t->cores > 1 ? 2 * t->cores : u->group_shares_wanted; /* cores 1: not known */
  return shares >= wanted && shares <= u->group_shares_most && (shares % 2 == 0 || shares >= u->group_shares_odd);
}

/* ---- strips.c ---- */
void strips_join(Plan *p); /* joins kernels that convert the caller's inputs with the kernels that read the converted values */

/* ---- affinity.c: in which thread's cache values are. A span is the number of elements that one full run of a shared loop passes
 * over. A buffer consists of stretches as long as the span, and threads divide each stretch in the same way ---- */
typedef struct Affinity Affinity;
enum { SPAN_NONE = 0, SPAN_ONE = -1 };      /* the whole buffer is in every thread's cache; it is in one thread's cache */
/* The span of the loop over `range`, in elements; SPAN_NONE: the index does not vary with `range`; 1: the index is not
 * affine in it */
int64_t affinity_span(IR *ir, Ref index, Ref range);
void affinity_end(Plan *p); /* forgets all about p's buffers */
/* Share of a buffer that a read with this span would copy to the cache of a second thread; -1: not known */
double affinity_reading(const Plan *p, int64_t buf, int64_t span);
/* Share of a buffer, stored with this span, that a later kernel would copy to the cache of a second thread. Each later kernel is
 * taken to share the loop with which it copies least. The kernel that then copies most decides. -1: not known */
double affinity_storing(const Plan *p, int64_t buf, int64_t span);
void affinity_note(const Plan *p, int64_t buf, bool store, int64_t span); /* records a store, or a read, with this span */
#endif

/* group.h: kernels beside each other: groups that run chunk by chunk, loops shared among threads, values in caches. */
#ifndef TGC_GROUP_H
#define TGC_GROUP_H
#include "../nest/nest.h"

/* ---- dependence.c: the addresses of an access: base + c * chunk in chunk c, and the sum of its terms' values ---- */
typedef struct Term { int64_t step, n; } Term; /* step > 0; values 0 .. n - 1 of it */
typedef struct Addresses {
  int64_t base, chunk;
  bool chunked;            /* else any chunk may make it, and chunk is 0 */
  int n;
  Term term[MAX_RANGES + 1];
} Addresses;
/* proved: no address of a in a chunk is one of b in another */
bool addresses_independent(const Addresses *a, const Addresses *b, int64_t chunks);

/* ---- affinity.c: in whose cache values are. A shared loop walks a buffer in spans, which it divides among threads ---- */
typedef struct Affinity Affinity;
enum { SPAN_NONE = 0, SPAN_ONE = -1 };      /* each thread has all of it; one thread has it */
int64_t affinity_span(IR *ir, Ref index, Ref range); /* elements; SPAN_NONE: the index does not vary with the loop */
void affinity_end(Plan *p);
/* the part of a buffer that comes to be in two caches by reading it so; -1: not known */
double affinity_reading(const Plan *p, int64_t buf, int64_t span);
double affinity_storing(const Plan *p, int64_t buf, int64_t span); /* or by what reads it, at best, where it is stored so */
void affinity_note(const Plan *p, int64_t buf, bool store, int64_t span);
#endif

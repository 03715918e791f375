/* requests.h: internal to interp/: what the accesses of a warp cost (requests.c). */
#ifndef TGC_REQUESTS_H
#define TGC_REQUESTS_H
#include "interp_threads.h"

/* What the threads of a warp ask for by one micro-op. Begin, add each element that a thread touches, end. */
typedef struct Request {
  const Device *d;
  bool shared;
  VEC(int64_t) unit;       /* segments, of shared memory words, as often as they were touched */
} Request;
void request_begin(Request *q, bool shared);
void request_add(Request *q, int64_t at, int bytes); /* element at of its buffer, which begins at a segment */
void request_end(Request *q, Traffic *t);            /* adds to t, unless nothing was touched */
void request_free(Request *q);
#endif

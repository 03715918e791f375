/* SPDX-License-Identifier: MIT */
/* requests.h: internal to interp/: the cost of a warp's accesses (requests.c). */
#ifndef TGC_REQUESTS_H
#define TGC_REQUESTS_H
#include "interp_threads.h"

/* The accesses of a warp by one micro-op. Call request_begin, then request_add for each element that a thread accesses, then
 * request_end. shared: in shared memory, else in global memory */
typedef struct Request {
  const Device *d;
  bool shared;
  VEC(int64_t) unit;       /* numbers of the accessed segments of Device.segment bytes; in shared memory, of the accessed words */
} Request;
void request_begin(Request *q, bool shared);
void request_add(Request *q, int64_t at, int bytes); /* element `at`, of this size, of a buffer that begins at a segment */
void request_end(Request *q, Traffic *t);            /* adds the request and its cost to t, if elements were added to q */
void request_free(Request *q);
#endif

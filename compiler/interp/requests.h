/* SPDX-License-Identifier: MIT */
/* requests.h: counts the memory traffic of a warp's accesses (requests.c). Only files of interp/ include this header. */
#ifndef TGC_REQUESTS_H
#define TGC_REQUESTS_H
#include "interp_threads.h"

/* The accesses that the threads of a warp make with one micro-op. Call request_begin, then request_add for each element that a
 * thread accesses, then request_end. */
typedef struct Request {
  const Device *d;
  bool shared;             /* true: accesses to shared memory; false: accesses to global memory */
  VEC(int64_t) unit;       /* numbers of the accessed words of shared memory, or of the accessed segments of global memory; a
                              segment has Device.segment bytes */
} Request;
void request_begin(Request *q, bool shared);
void request_add(Request *q, int64_t at, int bytes); /* adds element number `at` of a buffer; bytes: size of an element */
void request_end(Request *q, Traffic *t);            /* adds the counts of this request to t, if q has elements */
void request_free(Request *q);
#endif

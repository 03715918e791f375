/* SPDX-License-Identifier: MIT */
/* requests.h: counts the memory traffic of a warp's accesses (requests.c). Only files of interp/ include this header. */
#ifndef TGC_REQUESTS_H
#define TGC_REQUESTS_H
#include "interp_threads.h"

/* The accesses of the threads of a warp when they run one micro-op. Set `d` once. For each request, call request_begin, then
 * request_add for each element that a thread accesses, then request_end. */
typedef struct Request {
  const Device *d;
  bool shared;             /* true: accesses to shared memory; false: accesses to global memory */
  VEC(int64_t) unit;       /* shared memory: numbers of the accessed words. Global memory: numbers of the accessed segments; a
                              segment has Device.segment bytes */
} Request;
void request_begin(Request *q, bool shared);
void request_add(Request *q, int64_t at, int bytes); /* adds element number `at` of a buffer; bytes: size of an element */
void request_end(Request *q, Traffic *t);            /* adds the counts of q to t; adds nothing if q has no elements */
void request_free(Request *q);
#endif

/* SPDX-License-Identifier: MIT */
/* interp_threads.h: an interpreter of device programs, which defines what these programs mean. It also finds races between the
 * threads of a launch, and counts the memory traffic of their accesses. */
#ifndef TGC_INTERP_THREADS_H
#define TGC_INTERP_THREADS_H
#include "../target/launch.h"

/* Faults of a launch. A report names ops and threads, and for an access its buffer and element. */
typedef enum {
  FAULT_RACE,              /* two threads of a block access an element, one access is a store, and no barrier orders the
                              accesses */
  FAULT_BLOCKS,            /* threads of two blocks access an element, and one access is a store */
  FAULT_DIVERGENT,         /* threads of a block wait at different barriers or in different iterations of a loop, or some have
                              ended */
  FAULT_UNWRITTEN,         /* a load of shared memory that the block has not written */
  FAULT_OUTSIDE,           /* an access outside its buffer; a load gives 0, a store does nothing */
  FAULT_KINDS
} FaultKind;
extern const char *const fault_name[FAULT_KINDS];

/* Memory traffic of an op. A request is all that the threads of a warp access at one time. */
typedef struct Traffic {
  Ref access;              /* LOAD, STORE or TILE */
  int64_t requests;
  int64_t sectors;         /* global memory: segments of Device.segment bytes that the requests access */
  int64_t conflicts;       /* shared memory: further rounds of requests, because words lie in the same bank */
} Traffic;

typedef struct LaunchReport {
  int64_t fault[FAULT_KINDS]; /* number of faults of each kind */
  Sb text;                 /* a line about the first fault of each kind, op and buffer, and about the first barrier that some
                              threads miss. Behind each such line, a line for each op involved */
  VEC(Traffic) traffic;    /* one for each access, in program order */
  int64_t steps;           /* micro-ops run by all threads */
  bool sampled;            /* the launch exceeds the limit: of each part, only the first block, the last one and up to eight
                              others were run */
  bool ends_at_fault;      /* set by the caller: stop at the first fault; memory stays as it is then */
  uint8_t **stored;        /* given by the caller: a store to element e of buffer i makes stored[i][e] 1; NULL: not recorded */
} LaunchReport;
void launch_report_free(LaunchReport *r);
int64_t launch_faults(const LaunchReport *r);          /* sum over all kinds */

/* Order in which blocks, warps of a block and threads of a warp run. warp: number of threads of a warp. Threads of a warp run in
 * lockstep: all threads at the same micro-op run it, one after another, before any of them goes on. If `warp` is 1, each thread
 * runs up to the next barrier, or to the next exchange with its device warp (SHFLXOR, WMMA). */
typedef enum { ORDER_ASCENDING, ORDER_DESCENDING, ORDER_SHUFFLED } OrderKind;
typedef struct ThreadOrder { OrderKind kind; uint64_t seed; int warp; } ThreadOrder;

/* Runs a launch. mem[i] is the storage of buffer i of ir->bufs; the function itself allocates shared and local buffers. most:
 * limit of micro-ops, above which the launch is sampled; 0: no limit. Adds to the report. */
void interp_launch(const IR *ir, const Launch *l, const Device *d, void *const *mem, ThreadOrder o, int64_t most,
                   LaunchReport *r);

/* Traffic of a launch, all blocks together. The traffic is extrapolated from some blocks of each part, and from a few iterations
 * of the loops. Values are not computed: an index that depends on loaded data counts as 0. */
typedef struct LaunchTraffic {
  int warp;                /* threads per request; 32 if the device does not say */
  double requests, sectors, bytes;   /* global memory; bytes: size of the sectors */
  double shared, conflicts;          /* shared memory: requests, and further rounds */
} LaunchTraffic;
LaunchTraffic interp_traffic(const IR *ir, const Launch *l, const Device *d);

/* Runs a launch in several orders and warp sizes, each from the memory as it is now. Traffic and the final memory are those of
 * the run in ascending order with Device.warp. A sampled launch runs in two orders only. False: a fault, or two orders gave
 * different bits; r->text tells. */
bool interp_launch_orders(const IR *ir, const Launch *l, const Device *d, void *const *mem, int64_t most, LaunchReport *r);
#endif

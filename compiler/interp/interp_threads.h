/* SPDX-License-Identifier: MIT */
/* interp_threads.h: an interpreter of device programs, which defines what these programs mean. It also finds races between the
 * threads of a launch, and counts the memory traffic of their accesses. */
#ifndef TGC_INTERP_THREADS_H
#define TGC_INTERP_THREADS_H
#include "../target/launch.h"

/* Kinds of faults of a launch. */
typedef enum {
  FAULT_RACE,              /* two threads of one block access the same element, at least one of them stores, and no barrier
                              orders the accesses */
  FAULT_BLOCKS,            /* threads of two different blocks access the same element, and at least one of them stores */
  FAULT_DIVERGENT,         /* a thread waits at a barrier. Another thread of its block has ended, or waits at another barrier or
                              in another iteration of a loop */
  FAULT_UNWRITTEN,         /* a load of an element of shared memory to which no thread of the block has stored */
  FAULT_OUTSIDE,           /* an access outside its buffer; a load gives 0, a store does nothing */
  FAULT_KINDS
} FaultKind;
extern const char *const fault_name[FAULT_KINDS];

/* Memory traffic of an op. A request is all elements that the threads of a warp access at one time. */
typedef struct Traffic {
  Ref access;              /* LOAD, STORE or TILE */
  int64_t requests;
  int64_t sectors;         /* global memory: number of segments that requests access. A segment has Device.segment bytes */
  int64_t conflicts;       /* shared memory: number of additional rounds that requests need because words lie in the same bank */
} Traffic;

typedef struct LaunchReport {
  int64_t fault[FAULT_KINDS]; /* number of faults of each kind */
  Sb text;                 /* lines about faults: about the first FAULT_DIVERGENT, and for the other kinds about the first fault
                              of each op and buffer. Each of these lines is followed by lines with the ops involved */
  VEC(Traffic) traffic;    /* for each op that accesses memory, in program order */
  int64_t steps;           /* number of micro-ops that all threads together ran */
  bool sampled;            /* true: the launch exceeds the limit of micro-ops. Only some blocks of each part (launch.h) were run:
                              the first one, the last one and up to eight others */
  bool ends_at_fault;      /* set by the caller: the run stops at the first fault, and leaves memory as it is at this moment */
  uint8_t **stored;        /* set by the caller: a store to element e of buffer i sets stored[i][e] to 1; NULL: no record of
                              stores */
} LaunchReport;
void launch_report_free(LaunchReport *r);
int64_t launch_faults(const LaunchReport *r);          /* sum over all kinds */

/* The order in which blocks, the warps of a block and the threads of a warp run. `warp` is the number of threads of a warp in
 * this run; it may differ from Device.warp. Threads of a warp run in lockstep: all threads at the same micro-op run this
 * micro-op, one after another, before any of them goes on. If `warp` is 1, each thread runs up to the next barrier or to the next
 * exchange of values among Device.warp threads (SHFLXOR, WMMA). Then the next thread runs. */
typedef enum { ORDER_ASCENDING, ORDER_DESCENDING, ORDER_SHUFFLED } OrderKind;
typedef struct ThreadOrder { OrderKind kind; uint64_t seed; int warp; } ThreadOrder;

/* Runs a launch and adds the results to *r. mem[i] is the memory of buffer i of ir->bufs; the function itself allocates shared
 * and local buffers. most: limit of the number of micro-ops; a launch above this limit is sampled. 0: no limit */
void interp_launch(const IR *ir, const Launch *l, const Device *d, void *const *mem, ThreadOrder o, int64_t most,
                   LaunchReport *r);

/* Memory traffic of all blocks of a launch together. interp_traffic runs at most 8 blocks of each part, and at most 64 iterations
 * of each loop, and extrapolates. It does not compute values, so an index that depends on loaded data counts as 0. */
typedef struct LaunchTraffic {
  int warp;                /* number of threads that make a request together: Device.warp, or 32 if that is not known */
  double requests, sectors, bytes;   /* global memory: requests, sectors as in Traffic; bytes: size of these sectors */
  double shared, conflicts;          /* shared memory: number of requests; conflicts as in Traffic */
} LaunchTraffic;
LaunchTraffic interp_traffic(const IR *ir, const Launch *l, const Device *d);

/* Runs a launch several times, with different orders and warp sizes. Each run begins with the same contents of memory.
 * Afterwards, memory and r->traffic are those of the run in ascending order with warps of Device.warp threads. A sampled launch
 * runs only twice. Returns false if a run had a fault, or if the results of two runs differ in any bit. Then r->text describes
 * the faults or the difference. */
bool interp_launch_orders(const IR *ir, const Launch *l, const Device *d, void *const *mem, int64_t most, LaunchReport *r);
#endif

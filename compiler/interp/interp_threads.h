/* SPDX-License-Identifier: MIT */
/* interp_threads.h: an interpreter of device programs, which defines what these programs mean. The interpreter also finds races
 * between the threads of a launch, and counts the memory traffic of a launch. */
#ifndef TGC_INTERP_THREADS_H
#define TGC_INTERP_THREADS_H
#include "../target/launch.h"

/* Kinds of faults of a launch. */
typedef enum {
  FAULT_RACE,              /* two threads of one block access the same element, at least one of them stores, and no barrier
                              orders the accesses */
  FAULT_BLOCKS,            /* threads of two different blocks access the same element, and at least one of them stores */
  FAULT_DIVERGENT,         /* a thread waits for another thread of the block at a BARRIER, a SHFLXOR or a WMMA. The other
                              thread has ended, or waits at another op or in another iteration of a loop */
  FAULT_UNWRITTEN,         /* a load of an element of shared memory to which no thread of the block has stored */
  FAULT_OUTSIDE,           /* an access outside of the buffer. Such a load gives 0, and such a store does nothing */
  FAULT_KINDS
} FaultKind;
extern const char *const fault_name[FAULT_KINDS];

/* Memory traffic of an op. A request consists of the elements that the threads of a warp access when they run the op once. */
typedef struct Traffic {
  Ref access;              /* LOAD, STORE or TILE */
  int64_t requests;
  int64_t sectors;         /* global memory: the sum, over all requests, of the number of segments that a request accesses. A
                              segment has Device.segment bytes */
  int64_t conflicts;       /* shared memory: number of additional rounds that requests need because words share a bank */
} Traffic;

typedef struct LaunchReport {
  int64_t fault[FAULT_KINDS]; /* number of faults of each kind */
  Sb text;                 /* lines about faults. One line is about the first FAULT_DIVERGENT. For each other kind of fault,
                              there is a line for each op and buffer, about the first fault. After each of these lines, lines
                              give the ops that access or wait */
  VEC(Traffic) traffic;    /* for each op that accesses memory, in program order */
  int64_t steps;           /* number of micro-ops that all threads together ran */
  bool sampled;            /* true: the launch exceeds the limit of micro-ops. Only some blocks of each part (launch.h) were run:
                              the first one, the last one and up to eight others */
  bool ends_at_fault;      /* set by the caller. true: the run stops at the first fault, and memory stays as it is then */
  uint8_t **stored;        /* set by the caller: a store to element e of buffer i sets stored[i][e] to 1. If stored is
                              NULL or stored[i] is NULL, stores are not recorded */
} LaunchReport;
void launch_report_free(LaunchReport *r);
int64_t launch_faults(const LaunchReport *r);          /* the number of faults of all kinds */

/* The order in which blocks, the warps of a block and the threads of a warp run. `warp` is the number of threads of a warp in
 * this run. This number may differ from Device.warp. Threads of a warp run in lockstep: all threads at one micro-op run this
 * micro-op, one after another, before any of them goes on. If `warp` is 1, each thread runs up to the next barrier or to the next
 * exchange of values among Device.warp threads (SHFLXOR, WMMA). Then the next thread runs. seed: for the random order
 * ORDER_SHUFFLED */
typedef enum { ORDER_ASCENDING, ORDER_DESCENDING, ORDER_SHUFFLED } OrderKind;
typedef struct ThreadOrder { OrderKind kind; uint64_t seed; int warp; } ThreadOrder;

/* Runs a launch, and adds its faults, traffic and steps to *r. mem[i] is the memory of buffer i of ir->bufs; the function itself
 * allocates shared and local buffers. most: a launch that needs more micro-ops is sampled (LaunchReport.sampled); 0: no limit */
void interp_launch(const IR *ir, const Launch *l, const Device *d, void *const *mem, ThreadOrder o, int64_t most,
                   LaunchReport *r);

/* Memory traffic of all blocks of a launch together. interp_traffic runs at most 8 blocks of each part, and at most 64 iterations
 * of each loop, and extrapolates. interp_traffic does not access memory: each load gives 0, also a load on which an index
 * depends. */
typedef struct LaunchTraffic {
  int warp;                /* number of threads that make a request together: Device.warp, or 32 if Device.warp is not known */
  double requests, sectors, bytes;   /* global memory: requests, sectors as in Traffic; bytes: size of these sectors */
  double shared, conflicts;          /* shared memory: number of requests; conflicts as in Traffic */
} LaunchTraffic;
LaunchTraffic interp_traffic(const IR *ir, const Launch *l, const Device *d);

/* Runs a launch several times, with different orders and warp sizes. Before each run, memory has the contents that the caller
 * gave. The first run has ascending order and warps of Device.warp threads. In the end, memory and r->traffic are as after the
 * first run. A sampled launch runs only twice. Returns false if a run had a fault, or if the results of two runs differ in any
 * bit. In both cases, r->text describes the reason. */
bool interp_launch_orders(const IR *ir, const Launch *l, const Device *d, void *const *mem, int64_t most, LaunchReport *r);
#endif

/* interp_threads.h: the executable definition of device programs, and a judge of them: what the threads of a launch do to each
 * other, and what their accesses cost. */
#ifndef TGC_INTERP_THREADS_H
#define TGC_INTERP_THREADS_H
#include "../target/launch.h"

/* What a launch must not do. Each is reported with the op, the buffer and its element, and the threads. */
typedef enum {
  FAULT_RACE,              /* threads of a block meet at an element, one stores, and no barrier is between them */
  FAULT_BLOCKS,            /* threads of two blocks meet at an element, and one stores */
  FAULT_DIVERGENT,         /* threads of a block wait at different barriers, or in different rounds of a loop, or have ended */
  FAULT_UNWRITTEN,         /* shared memory is read that the block has not stored to */
  FAULT_OUTSIDE,           /* an access outside of its buffer; a load gives 0, a store does nothing */
  FAULT_KINDS
} FaultKind;
extern const char *const fault_name[FAULT_KINDS];

/* What the accesses of an op cost. A request is what the threads of a warp ask for at the same time. */
typedef struct Traffic {
  Ref access;              /* LOAD, STORE or TILE */
  int64_t requests;
  int64_t sectors;         /* global memory: segments of Device.segment bytes that the requests touch */
  int64_t conflicts;       /* shared memory: rounds beyond the first, for words that lie in the same bank */
} Traffic;

typedef struct LaunchReport {
  int64_t fault[FAULT_KINDS]; /* how many times */
  Sb text;                 /* a line for the first one of each kind, op and buffer */
  VEC(Traffic) traffic;    /* of all accesses, in the order of the program */
  int64_t steps;           /* micro-ops that all threads ran */
  bool sampled;            /* there were too many: of each part only the first block, the last one and eight others were run */
  bool ends_at_fault;      /* the caller's: nothing is run behind the first fault, and memory is what it is by then */
  uint8_t **stored;        /* the caller's, by buffer: a byte for each element, set where a store went; NULL: nobody asks */
} LaunchReport;
void launch_report_free(LaunchReport *r);
int64_t launch_faults(const LaunchReport *r);          /* all kinds together */

/* In which order blocks, warps of a block and threads of a warp go on. Threads of a warp run in lockstep: all that stand at the
 * same micro-op run it, one after another, before any goes on. With a warp of 1, each thread runs up to the next barrier. */
typedef enum { ORDER_ASCENDING, ORDER_DESCENDING, ORDER_SHUFFLED } OrderKind;
typedef struct ThreadOrder { OrderKind kind; uint64_t seed; int warp; } ThreadOrder;

/* Runs a launch. mem[i] is the storage of buffer i of ir->bufs, but for shared and local ones, whose memory it makes.
 * most: micro-ops; a launch of more is sampled; 0: no limit. The report is added to. */
void interp_launch(const IR *ir, const Launch *l, const Device *d, void *const *mem, ThreadOrder o, int64_t most,
                   LaunchReport *r);

/* The cost of a launch's accesses, all blocks together. The interpreter counts some blocks of each part, and a few rounds of
 * their loops, and multiplies. It computes no values: a place that depends on data counts as 0. */
typedef struct LaunchTraffic {
  int warp;                /* threads whose accesses were counted as one request; 32 where the device says nothing */
  double requests, sectors, bytes;   /* of global memory; bytes that the sectors hold */
  double shared, conflicts;          /* requests of shared memory, and rounds beyond the first */
} LaunchTraffic;
LaunchTraffic interp_traffic(const IR *ir, const Launch *l, const Device *d);

/* A launch in several orders and widths of warps, each from the memory as it is now. The traffic is that of Device.warp,
 * ascending; memory is left as that order left it. A launch that is sampled is run in two orders only. False: there was a fault,
 * or two orders left different bits, which r->text says. */
bool interp_launch_orders(const IR *ir, const Launch *l, const Device *d, void *const *mem, int64_t most, LaunchReport *r);
#endif

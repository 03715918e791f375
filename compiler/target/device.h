/* SPDX-License-Identifier: MIT */
/* device.h: facts about devices. A device is a machine that a driver controls. The driver takes kernels, as text or as compiled
 * code, and lists of launches. Like a Target, a Device is a row of facts. The compiler decides by these facts, never by the name
 * of a device.
 *
 * A device is a GPU or a CPU. On a GPU, many threads run a program (docs/ir.md, "Device programs"). On a CPU behind a driver, a
 * block is a single thread, which may use vectors. Programs for such a CPU look like programs for a CPU without a driver; each
 * block runs one chunk. */
#ifndef TGC_DEVICE_H
#define TGC_DEVICE_H
#include "../../runtime_stub/tgcrt_device.h"
#include <stdbool.h>
#include <stdint.h>

enum { /* bits of features, with the same values as in bundles (TGCRT_NEEDS_) */
#define DEVICE_FEATURE(id, name, gloss) DEVF_##id = TGCRT_NEEDS_##id,
#include "device_features.h"
#undef DEVICE_FEATURE
};

/* Costs in instructions. The first four costs are numbers of instructions of one thread. copy: copying an element into a panel.
 * request: a thread's share of a request for a whole segment. barrier: passing a barrier of 256 threads. term: the loop around
 * one term of a sum. The costs memory and launch are numbers of instructions that all threads of a unit together could run in the
 * same time. memory: loading or storing an element of global memory. launch: the start of an additional launch. doubt is not a
 * cost but a factor. A sum is computed in parts only if this is more than device_parts_gain (a tunable) * doubt times as fast.
 * doubt is above 1 where the cost of parts is only estimated. */
typedef struct DeviceCosts { double copy, request, barrier, term, memory, launch, doubt; } DeviceCosts;

typedef struct Device {
  int warp;                /* number of threads that run in lockstep. Accesses of these threads are combined into one request. 1:
                              each thread runs by itself */
  int max_threads;         /* most threads of a block; 1: a CPU behind a driver */
  int64_t max_grid[3];     /* most blocks of a launch, by dimension, x first */
  int64_t shared_bytes;    /* most bytes of shared memory of a block */
  int shared_banks;        /* number of banks of shared memory, which one request can access in parallel; 1: no banks */
  int segment;             /* bytes of global memory that one transaction moves, from an address that is a multiple of
                              `segment` */
  int max_args;            /* most buffers of one launch */
  int units, unit_threads; /* units: number of units (multiprocessors), which run blocks in parallel. unit_threads: number of
                              threads that a unit needs to hide the latency of memory */
  const char *interface;   /* interface of the device's driver, as in Backend.device; NULL: any interface */
  int arch;                /* CUDA: the compute capability, such as 90 for 9.0; other interfaces: 0 */
  int gigabytes, gigaflops; /* for reports only: GB/s of memory, and GFLOP/s in f32; 0: unknown */
  const char *matrix_units; /* names of MatrixUnits, separated by spaces, better units first; NULL: none */
  int load_bytes;          /* bytes of a thread's widest vector load or store; 0: a thread loads and stores single elements */
  int sums, sums_long;     /* limits of the number of sums that a thread computes at a time. sums_long: for sums with many terms.
                              sums: for other sums */
  int registers;           /* number of 32-bit registers that the threads of a unit share; 0: unknown */
  DeviceCosts costs;       /* zeros if max_threads is 1 */
  bool shared_is_fast;     /* true: shared memory is faster than a cache. False: copies to shared memory gain nothing */
  uint32_t features;       /* DEVF_ bits: features that code may use beyond the interface's minimum */
  uint32_t may_have;       /* DEVF_ bits: features that --isa can add */
  bool no_f64;             /* true: no device of this kind has doubles */
} Device;
enum { BANK_BYTES = 4 };   /* width of a bank of shared memory */

typedef struct DeviceFeature { uint32_t bit; const char *name, *gloss; } DeviceFeature;
extern const DeviceFeature device_features[];         /* .name NULL ends the list */
#endif

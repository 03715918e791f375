/* SPDX-License-Identifier: MIT */
/* device.h: facts about machines that a driver controls. The driver takes kernels as text or compiled, and lists of launches.
 * Like a Target, a Device is a row of facts; the compiler never decides by a device's name.
 *
 * A machine behind a driver is a GPU or a CPU. On a GPU, many threads run a program (docs/ir.md, "Device programs"). On a CPU
 * behind a driver, a block is a single thread, which may use vectors. A program for a CPU behind a driver has the form of
 * programs for a CPU without a driver, and each block runs one chunk. */
#ifndef TGC_DEVICE_H
#define TGC_DEVICE_H
#include "../../runtime_stub/tgcrt_device.h"
#include <stdbool.h>
#include <stdint.h>

enum { /* bits of features; bundles use the same values */
#define DEVICE_FEATURE(id, name, gloss) DEVF_##id = TGCRT_NEEDS_##id,
#include "device_features.h"
#undef DEVICE_FEATURE
};

/* Costs in instructions. copy, request, barrier and term count instructions of a thread. copy: copying an element into a panel.
 * request: a thread's share of a request for a whole segment. barrier: a barrier of 256 threads. term: loop overhead for one term
 * of a sum. memory and launch count instructions that the threads of a unit could run meanwhile. memory: loading or storing an
 * element in global memory. launch: the start of a further launch. doubt is no cost but a factor: a sum is computed in parts only
 * if this is `doubt` times as fast. doubt is above 1 where the cost of parts is only estimated. */
typedef struct DeviceCosts { double copy, request, barrier, term, memory, launch, doubt; } DeviceCosts;

typedef struct Device {
  int warp;                /* threads in lockstep, whose accesses are combined into one request; 1: each thread by itself */
  int max_threads;         /* most threads of a block; 1: a CPU behind a driver */
  int64_t max_grid[3];     /* most blocks of a launch, by dimension, x first */
  int64_t shared_bytes;    /* most bytes of shared memory of a block */
  int shared_banks;        /* banks of shared memory, BANK_BYTES wide, that one request can access in parallel; 1: no banks */
  int segment;             /* bytes of global memory that one transaction moves; their address is a multiple of `segment` */
  int max_args;            /* most buffers of one launch */
  int units, unit_threads; /* units: number of units (multiprocessors), which run blocks in parallel. unit_threads: threads that a
                              unit needs to hide the latency of memory */
  const char *interface;   /* interface of the device's driver, as in Backend.device; NULL: any */
  int arch;                /* CUDA: the compute capability, 90 for 9.0; else 0 */
  int gigabytes, gigaflops; /* for reports only: GB/s of memory, and GFLOP/s in f32; 0: unknown */
  const char *matrix_units; /* names of MatrixUnits, separated by spaces, better units first; NULL: none */
  int load_bytes;          /* bytes of a thread's widest vector load or store; 0: single elements only */
  int sums, sums_long;     /* most sums that a thread computes at a time; sums_long: for sums with many terms */
  int registers;           /* number of 32-bit registers that the threads of a unit share; 0: unknown */
  DeviceCosts costs;       /* zeros if max_threads is 1 */
  bool shared_is_fast;     /* shared memory is faster than a cache. False: copies to shared memory gain nothing */
  uint32_t features;       /* DEVF_ bits: features that code may use beyond the interface's minimum */
  /* DEVF_ bits that --isa can add; none for CUDA and Metal so far. A CPU behind a driver can have neither SUBGROUPS nor
   * INT_DOT */
  uint32_t may_have;
  bool no_f64;             /* no device of this kind has doubles */
} Device;
enum { BANK_BYTES = 4 };

typedef struct DeviceFeature { uint32_t bit; const char *name, *gloss; } DeviceFeature;
extern const DeviceFeature device_features[];         /* .name NULL ends the list */
#endif

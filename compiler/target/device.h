/* SPDX-License-Identifier: MIT */
/* device.h: facts about machines that a driver controls. The driver takes kernels as text or compiled, and lists of launches.
 * Like a Target, a Device is a row of facts; the compiler never asks for its name.
 *
 * There are two kinds of such machines. On a GPU many threads run a program (docs/ir.md, "Device programs"). On a CPU behind a
 * driver, a block is the task of one core: a single thread, which may use vectors. Such a program has the form of programs for a
 * CPU without a driver, and each block runs one chunk. */
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

/* Costs in instructions. The first four count instructions of a thread. copy: copying an element into a panel. request: a
 * thread's share of a request for a whole segment. barrier: a barrier of 256 threads. term: loop overhead for one term of a sum.
 * The last two count instructions that the threads of a unit could run meanwhile. memory: loading or storing an element in global
 * memory. launch: the start of a further launch. doubt is a factor: sums in parts must be so many times as fast. It is above 1
 * where their cost is only estimated. */
typedef struct DeviceCosts { double copy, request, barrier, term, memory, launch, doubt; } DeviceCosts;

typedef struct Device {
  int warp;                /* threads in lockstep, whose accesses are combined into one request; 1: each thread by itself */
  int max_threads;         /* most threads of a block; 1: a block is the task of a core */
  int64_t max_grid[3];     /* most blocks of a launch, by dimension, x first */
  int64_t shared_bytes;    /* most shared memory of a block */
  int shared_banks;        /* banks of shared memory, BANK_BYTES wide, that one request can access in parallel; 1: no banks */
  int segment;             /* bytes of global memory that one transaction moves; their address is a multiple of this number */
  int max_args;            /* most buffers of one launch */
  int units, unit_threads; /* units (multiprocessors) that run blocks in parallel; threads that a unit needs to hide latency of
                              memory */
  const char *interface;   /* interface of the device's driver, as in Backend.device; NULL: any */
  int arch;                /* CUDA: the compute capability, 90 for 9.0; else 0 */
  int gigabytes, gigaflops; /* for reports only: 1e9 bytes from memory per second, 1e9 f32 operations per second; 0: unknown */
  const char *matrix_units; /* names in matrix_units.h, separated by blanks, better ones first; NULL: none */
  int load_bytes;          /* bytes of a thread's widest vector load or store; 0: single elements only */
  int sums, sums_long;     /* most sums that a thread computes at a time; sums_long: if they have many terms */
  int registers;           /* 32-bit registers of a unit, which its threads share; 0: unknown */
  DeviceCosts costs;       /* only of devices with threads */
  bool shared_is_fast;     /* shared memory is faster than a cache; if not, copies to it gain nothing */
  uint32_t features;       /* DEVF_ bits: features that code may use beyond the interface's minimum */
  /* DEVF_ bits that --isa can add; none for CUDA and Metal so far. They include SUBGROUPS only if the warp's size is known,
   * and INT_DOT only if panels can be copied to shared memory */
  uint32_t may_have;
  bool no_f64;             /* no device of this kind has doubles */
} Device;
enum { BANK_BYTES = 4 };

typedef struct DeviceFeature { uint32_t bit; const char *name, *gloss; } DeviceFeature;
extern const DeviceFeature device_features[];         /* .name NULL ends it */
#endif

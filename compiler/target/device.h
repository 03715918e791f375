/* SPDX-License-Identifier: MIT */
/* device.h: facts about machines that a driver controls. The driver takes kernels as text, and lists of launches. Like a Target,
 * a Device is a row of facts; the compiler never asks for its name.
 *
 * There are two kinds of such machines. On GPUs many threads run a program (docs/ir.md, "Device programs"). On CPUs a block is
 * the task of one core: a single thread with vectors. Programs have the same form as for a CPU without a driver, and each block
 * runs one chunk. */
#ifndef TGC_DEVICE_H
#define TGC_DEVICE_H
#include "../../runtime_stub/tgcrt_device.h"
#include <stdbool.h>
#include <stdint.h>

enum { /* values as in bundles */
#define DEVICE_FEATURE(id, name, gloss) DEVF_##id = TGCRT_NEEDS_##id,
#include "device_features.h"
#undef DEVICE_FEATURE
};

/* Costs in instructions of a thread. copy: one element into a panel. request: a thread's share of a request for a whole segment.
 * barrier: one barrier of 256 threads. term: loop overhead around the products of a term. memory: one element from or to memory; launch: the
 * start of another launch. The last two count instructions that the threads of a unit could run meanwhile. */
typedef struct DeviceCosts { double copy, request, barrier, term, memory, launch; } DeviceCosts;

typedef struct Device {
  int warp;                /* threads in lockstep whose accesses are combined into one request; 1: none are */
  int max_threads;         /* threads of a block; 1: a block is the task of a core */
  int64_t max_grid[3];     /* blocks of a launch, by dimension, x first */
  int64_t shared_bytes;    /* most shared memory of a block */
  int shared_banks;        /* banks of shared memory, BANK_BYTES wide, that one request can access in parallel; 1: no banks */
  int segment;             /* bytes of one transaction with global memory */
  int max_args;            /* most buffers of one launch */
  int units, unit_threads; /* units that run blocks in parallel; threads of a unit that hide the latency of memory */
  const char *interface;   /* the device's driver, as in Backend.device; NULL: any */
  int arch;                /* CUDA: the compute capability, 90 for 9.0; else 0 */
  int gigabytes, gigaflops; /* per second: GB from memory, f32 operations in 1e9; 0: unknown. For reports only */
  const char *matrix_units; /* names in matrix_units.h, separated by blanks, better ones first; NULL: none */
  int load_bytes;          /* bytes of a thread's widest vector load or store; 0: single elements only */
  int sums, sums_long;     /* registers of a thread for sums; sums_long: for sums of many terms, where latency matters less */
  int registers;           /* 32-bit registers of a unit, which its threads share; 0: unknown */
  DeviceCosts costs;       /* only of devices with threads */
  bool shared_is_fast;     /* shared memory is faster than a cache; false: copies to it gain nothing */
  uint32_t features;       /* DEVF_ bits: features that code may use beyond the interface's minimum */
  /* DEVF_ bits that --isa can add; none for CUDA and Metal so far. SUBGROUPS: only where the warp's size is
   * known. INT_DOT: only where panels are copied to shared memory */
  uint32_t may_have;
  bool no_f64;             /* no device of this kind has doubles */
} Device;
enum { BANK_BYTES = 4 };

typedef struct DeviceFeature { uint32_t bit; const char *name, *gloss; } DeviceFeature;
extern const DeviceFeature device_features[];         /* .name NULL ends it */
#endif

/* device.h: what the compiler knows of a machine that a driver stands before: it takes text of kernels and lists of launches. Like
 * Target, it is a row of facts that the compiler asks; it never asks a name.
 *
 * Two kinds of machines have such drivers. On GPUs many threads run a program (docs/ir.md, "Device programs"). On CPUs a block is
 * the task of a core: one thread, which has vectors. Its programs are those of CPUs, and a block is a chunk. */
#ifndef TGC_DEVICE_H
#define TGC_DEVICE_H
#include "../../runtime_stub/tgcrt_device.h"
#include <stdbool.h>
#include <stdint.h>

enum { /* as in bundles */
#define DEVICE_FEATURE(id, name, gloss) DEVF_##id = TGCRT_NEEDS_##id,
#include "device_features.h"
#undef DEVICE_FEATURE
};

/* What things take, in instructions of a thread: to copy an element into a panel, and its share of a request for a segment; to wait at
 * a barrier; around the products of a term; and those that a unit's threads would run while an element goes to memory or comes
 * from there, and while another launch begins */
typedef struct DeviceCosts { double copy, request, barrier, term, memory, launch; } DeviceCosts;

typedef struct Device {
  int warp;                /* threads that go on in lockstep and whose accesses are one request; 1: each by itself */
  int max_threads;         /* of a block; 1: a block is the task of a core */
  int64_t max_grid[3];     /* blocks of a launch, by dimension, x first */
  int64_t shared_bytes;    /* of a block, at most */
  int shared_banks;        /* of shared memory, each BANK_BYTES wide, which one request can reach side by side; 1: no banks */
  int segment;             /* bytes that one transaction with global memory moves */
  int max_args;            /* buffers that one launch may be given */
  int units, unit_threads; /* that run blocks beside each other; threads that fill one, so that it need not wait for memory */
  const char *interface;   /* of its driver, as Backend.device; NULL: any */
  int arch;                /* CUDA: the compute capability, 90 for 9.0; else 0 */
  int gigabytes, gigaflops; /* a second: from memory, and of f32; 0: not known. Only reports show them */
  const char *matrix_units; /* names in matrix_units.h, separated by blanks, better ones first; NULL: none */
  int load_bytes;          /* of the widest load or store of one thread, by lanes; 0: elements only */
  int sums, sums_long;     /* registers for sums of a thread; of one with much to do, which waits less for others */
  DeviceCosts costs;       /* only of devices with many threads */
  bool shared_is_fast;     /* shared memory is nearer than a cache; false: what is copied there was as near before */
  uint32_t features;       /* DEVF_ bits: what code may use above the least of the interface */
  uint32_t may_have;       /* DEVF_ bits that --isa can add: where warps are not known, no thread can exchange values; products of
                              bytes need panels; CUDA and Metal use none of them so far */
  bool no_f64;             /* it has no doubles, and neither has any device of the kind */
} Device;
enum { BANK_BYTES = 4 };

typedef struct DeviceFeature { uint32_t bit; const char *name, *gloss; } DeviceFeature;
extern const DeviceFeature device_features[];         /* .name NULL ends it */
#endif

/* SPDX-License-Identifier: MIT */
/* launch.h: a launch on a device: a device program with its number of blocks and its number of threads. Barriers outside of all
 * loops divide a program into several launches. */
#ifndef TGC_LAUNCH_H
#define TGC_LAUNCH_H
#include "target.h"

/* One part of a device program: a loop nest whose loops run over blocks, then over threads of a block. */
typedef struct LaunchPart {
  size_t first, last;      /* indices in the program of the part's outermost LOOP and of its END */
  int nblocks, nthreads;   /* number of loops over blocks; number of loops over threads */
  Ref place[MAX_RANGES];   /* ranges of these loops: blocks, then threads, each outermost first */
  int64_t blocks, threads; /* number of blocks, and of threads in each */
} LaunchPart;
/* Finds the first part of a program that begins at list[from] or later; false: there is none */
bool launch_part(const IR *ir, const Ref *list, size_t n, size_t from, LaunchPart *out);
/* Values of the part's ranges, in the order of place[], for thread number `thread` of the part's block number `block`.
 * The innermost range changes fastest, so threads with adjacent values are in one warp. */
void launch_place(const IR *ir, const LaunchPart *p, int64_t block, int64_t thread, int64_t *values);

enum { SCRATCH_WARP = 32 };  /* threads of a warp, for matrix units that read and write whole matrices (matrix_units.h) */

typedef struct Launch {
  Refs prog;
  /* Numbers of blocks and threads by dimension, x first. x is the innermost loop. With more than three loops, or several parts,
   * x counts all blocks or threads, and y and z are 1. */
  int64_t grid[3], block[3];
  int64_t shared_bytes;    /* shared memory of a block */
} Launch;
/* Bytes of shared memory for a buffer, rounded up to a multiple of 16 */
static inline int64_t shared_bytes(DType d, int64_t elems) { return (elems * dt_bytes(d) + 15) & ~(int64_t)15; }
/* Elements of shared memory that a block needs for the op SPILL, by which a warp writes a matrix of a matrix unit. Each warp has
 * room for one matrix. *d: the type of the elements */
int64_t launch_scratch(const IR *ir, const Refs *prog, int64_t threads, DType *d);
/* The launches of a device program in their order. Barriers outside of all loops separate them. */
typedef VEC(Launch) Launches;
void launches_of(const IR *ir, const Ref *list, size_t n, Launches *out);
void launches_free(Launches *l);
Launch launch_of(const IR *ir, Refs prog);  /* the launch of a program that the verifier accepts; takes ownership of prog */
static inline int64_t launch_blocks(const Launch *l) { return l->grid[0] * l->grid[1] * l->grid[2]; }
static inline int64_t launch_threads(const Launch *l) { return l->block[0] * l->block[1] * l->block[2]; }
/* Whether the device can run the launch. If not, appends the reason to `why`, unless `why` is NULL */
bool device_takes(const Device *d, const IR *ir, const Launch *l, Sb *why);

/* Size of the largest group of adjacent threads of a warp that exchange values among themselves (SHFLXOR); 0: none */
int launch_exchange(const IR *ir, const Refs *prog);

bool program_sized(const IR *ir, const Refs *prog); /* it asks for sizes of the run */

/* By buffer: 1 if the program loads from it, 2 if it stores to it, 3 for both. The caller frees it */
uint8_t *buffer_uses(const IR *ir, const Ref *list, size_t n);
#endif

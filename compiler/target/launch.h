/* SPDX-License-Identifier: MIT */
/* launch.h: the launches of a device program. A launch runs a number of blocks with equally many threads each. Barriers outside
 * of all loops separate the launches of a program. */
#ifndef TGC_LAUNCH_H
#define TGC_LAUNCH_H
#include "target.h"

/* A part of a launch: a loop nest. The outer loops of the nest run over blocks, then over threads of a block. */
typedef struct LaunchPart {
  size_t first, last;      /* first: index of the part's outermost LOOP in the program. last: index of this loop's END */
  int nblocks, nthreads;   /* nblocks: number of loops over blocks. nthreads: number of loops over threads */
  Ref place[MAX_RANGES];   /* ranges of loops: first of the loops over blocks, then of the loops over threads; outer loops come
                              before inner loops */
  int64_t blocks, threads; /* blocks: number of blocks. threads: number of threads of a block */
} LaunchPart;
/* list: a program of n ops. Finds the first part that begins at list[from] or later. Returns false if there is no such part. */
bool launch_part(const IR *ir, const Ref *list, size_t n, size_t from, LaunchPart *out);
/* Sets values[i] to the value of the range p->place[i] in a thread. block: the number of the thread's block in the part. thread:
 * the number of the thread in its block. The value of the innermost range changes fastest from thread to thread. */
void launch_place(const IR *ir, const LaunchPart *p, int64_t block, int64_t thread, int64_t *values);

enum { SCRATCH_WARP = 32 };  /* number of threads of a warp, for matrix units that read and write whole matrices
                                (matrix_units.h) */

typedef struct Launch {
  Refs prog;               /* the ops of the launch */
  /* grid: number of blocks by dimension, as x, y, z. block: number of threads of a block by dimension. Each loop over blocks is
   * a dimension of the grid, and each loop over threads is a dimension of the block. x is the innermost loop. If there are more
   * than three loops over blocks, or several parts, grid is { number of all blocks, 1, 1 }. If there are more than three loops
   * over threads, or several parts, block is { number of threads of a block, 1, 1 }. */
  int64_t grid[3], block[3];
  int64_t shared_bytes;    /* bytes of shared memory of a block */
} Launch;
/* Returns the bytes of shared memory for a buffer, rounded up to a multiple of 16. */
static inline int64_t shared_bytes(DType d, int64_t elems) { return (elems * dt_bytes(d) + 15) & ~(int64_t)15; }
/* With the op SPILL, a warp writes a matrix of a matrix unit to shared memory. For this, each warp has room for one matrix there.
 * Returns the number of elements in the room of all warps of a block of `threads` threads, and sets *d to the elements' type.
 * Returns 0 if prog has no SPILL. */
int64_t launch_scratch(const IR *ir, const Refs *prog, int64_t threads, DType *d);
typedef VEC(Launch) Launches;
void launches_of(const IR *ir, const Ref *list, size_t n, Launches *out); /* appends the launches of a program of n ops */
void launches_free(Launches *l);
Launch launch_of(const IR *ir, Refs prog);  /* the launch with the ops in prog; the result owns prog */
static inline int64_t launch_blocks(const Launch *l) { return l->grid[0] * l->grid[1] * l->grid[2]; }
static inline int64_t launch_threads(const Launch *l) { return l->block[0] * l->block[1] * l->block[2]; }
/* Returns whether the device can run the launch. If not, appends the reason to *why. why may be NULL. */
bool device_takes(const Device *d, const IR *ir, const Launch *l, Sb *why);

/* Adjacent threads of a warp can exchange values (op SHFLXOR). Returns the number of threads in the largest group of threads that
 * do so; 0 if no threads exchange values. */
int launch_exchange(const IR *ir, const Refs *prog);

bool program_sized(const IR *ir, const Refs *prog); /* whether the program uses sizes of the run */

/* Returns an array with a number for each buffer. Bit 0 is set if the program loads from the buffer, bit 1 if the program stores
 * to the buffer. The caller frees the array. */
uint8_t *buffer_uses(const IR *ir, const Ref *list, size_t n);
#endif

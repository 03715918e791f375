/* SPDX-License-Identifier: MIT */
/* launch.h: the launches of a device program. A launch runs a number of blocks with equally many threads each. Barriers outside
 * of all loops separate the launches of a program. */
#ifndef TGC_LAUNCH_H
#define TGC_LAUNCH_H
#include "target.h"

/* A part of a launch: a loop nest. The outer loops of the nest run over blocks, then over threads of a block. */
typedef struct LaunchPart {
  size_t first, last;      /* indices in the program of the part's outermost LOOP and of its END */
  int nblocks, nthreads;   /* number of loops over blocks; number of loops over threads */
  Ref place[MAX_RANGES];   /* ranges of the loops over blocks, then of those over threads, outer loops before inner loops */
  int64_t blocks, threads; /* number of blocks; number of threads of a block */
} LaunchPart;
/* list: a program of n ops. Finds the first part that begins at list[from] or later. Returns false if there is none. */
bool launch_part(const IR *ir, const Ref *list, size_t n, size_t from, LaunchPart *out);
/* Sets values[i] to the value of the range p->place[i] in a thread. block: the number of the thread's block in the part. thread:
 * the number of the thread in its block. The value of the innermost range changes fastest from thread to thread. */
void launch_place(const IR *ir, const LaunchPart *p, int64_t block, int64_t thread, int64_t *values);

enum { SCRATCH_WARP = 32 };  /* threads of a warp if its matrix unit reads and writes whole matrices (matrix_units.h) */

typedef struct Launch {
  Refs prog;               /* the ops of the launch */
  /* grid: number of blocks by dimension, as x, y, z. block: number of threads of a block by dimension. Each loop over blocks or
   * threads is a dimension, and x is the innermost loop. If there are more than three loops, or several parts, x is the number of
   * all blocks or threads, and y and z are 1. */
  int64_t grid[3], block[3];
  int64_t shared_bytes;    /* bytes of shared memory of a block */
} Launch;
/* Bytes of shared memory for a buffer, rounded up to a multiple of 16 */
static inline int64_t shared_bytes(DType d, int64_t elems) { return (elems * dt_bytes(d) + 15) & ~(int64_t)15; }
/* By the op SPILL, a warp writes a matrix of a matrix unit to shared memory, where each warp has room for one matrix. Returns the
 * number of elements of this memory in a block of `threads` threads, and sets *d to their type. Returns 0 if prog has no
 * SPILL. */
int64_t launch_scratch(const IR *ir, const Refs *prog, int64_t threads, DType *d);
typedef VEC(Launch) Launches;
void launches_of(const IR *ir, const Ref *list, size_t n, Launches *out); /* appends the launches of a program of n ops */
void launches_free(Launches *l);
Launch launch_of(const IR *ir, Refs prog);  /* the launch with the ops in prog; the result owns prog */
static inline int64_t launch_blocks(const Launch *l) { return l->grid[0] * l->grid[1] * l->grid[2]; }
static inline int64_t launch_threads(const Launch *l) { return l->block[0] * l->block[1] * l->block[2]; }
/* Whether the device can run the launch. If it cannot, the function appends the reason to *why. why may be NULL. */
bool device_takes(const Device *d, const IR *ir, const Launch *l, Sb *why);

/* Size of the largest group of adjacent threads of a warp that exchange values (op SHFLXOR); 0: threads exchange no values */
int launch_exchange(const IR *ir, const Refs *prog);

bool program_sized(const IR *ir, const Refs *prog); /* whether the program asks for sizes of the run */

/* Returns an array with a number for each buffer. Bit 0 is set if the program loads from the buffer, bit 1 if the program stores
 * to the buffer. The caller frees the array. */
uint8_t *buffer_uses(const IR *ir, const Ref *list, size_t n);
#endif

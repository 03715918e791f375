/* launch.h: one launch of a device: a device program and how many blocks and threads run it. */
#ifndef TGC_LAUNCH_H
#define TGC_LAUNCH_H
#include "target.h"

/* One part of a device program: a loop nest of blocks. */
typedef struct LaunchPart {
  size_t first, last;      /* in the list: its outermost loop, and the end of that */
  int nblocks, nthreads;   /* loops over blocks, over threads */
  Ref place[MAX_RANGES];   /* their ranges, outermost first: blocks, then threads */
  int64_t blocks, threads; /* how many: threads of each block */
} LaunchPart;
/* The first part of a program that begins at list[from] or behind it; false: there is none */
bool launch_part(const IR *ir, const Ref *list, size_t n, size_t from, LaunchPart *out);
/* Values of the part's ranges, in the order of place[], in one block of the part and one thread of the block. The innermost
 * loop runs fastest, so neighbours are in one warp. */
void launch_place(const IR *ir, const LaunchPart *p, int64_t block, int64_t thread, int64_t *values);

enum { SCRATCH_WARP = 32 };  /* threads that hold a matrix together, in all units whose rows say nothing of who holds what */

typedef struct Launch {
  Refs prog;
  int64_t grid[3], block[3]; /* x first. x is the innermost loop; more than three loops, or several parts: all in x */
  int64_t shared_bytes;    /* of a block */
} Launch;
/* What a buffer takes of shared memory */
static inline int64_t shared_bytes(DType d, int64_t elems) { return (elems * dt_bytes(d) + 15) & ~(int64_t)15; }
/* Elements that threads of a block need of shared memory for SPILLs: each warp has one of them at a time */
int64_t launch_scratch(const IR *ir, const Refs *prog, int64_t threads, DType *d);
/* The launches of a device program, one behind another: barriers outside of all blocks part them */
typedef VEC(Launch) Launches;
void launches_of(const IR *ir, const Ref *list, size_t n, Launches *out);
void launches_free(Launches *l);
Launch launch_of(const IR *ir, Refs prog);  /* of a device program that the verifier lets pass; prog becomes the launch's */
static inline int64_t launch_blocks(const Launch *l) { return l->grid[0] * l->grid[1] * l->grid[2]; }
static inline int64_t launch_threads(const Launch *l) { return l->block[0] * l->block[1] * l->block[2]; }
/* Whether the device can run it; false: *why says which fact stands against it. NULL: it may not be asked */
bool device_takes(const Device *d, const IR *ir, const Launch *l, Sb *why);

int launch_exchange(const IR *ir, const Refs *prog); /* threads of a warp that exchange values (SHFLXOR); 0: they do not */

/* By buffer: 1 where the program loads from it, 2 where it stores to it, 3 for both; to be freed */
uint8_t *buffer_uses(const IR *ir, const Ref *list, size_t n);
#endif

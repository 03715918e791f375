/* SPDX-License-Identifier: MIT */
/* races.h: internal to interp/: finds accesses of different threads that nothing orders. An epoch begins with a block, or at a
 * barrier, and ends where the next epoch begins. */
#ifndef TGC_RACES_H
#define TGC_RACES_H
#include "interp_threads.h"

/* An access. step: number of the micro-op. epoch: number of the epoch; 0: there was no access yet */
typedef struct Mark { uint32_t epoch, step; int32_t block, thread; } Mark;
typedef struct Races Races;

/* list: a program of n micro-ops. mem[i]: the memory of buffer i, which must stay valid; races_close frees the result */
Races *races_open(const IR *ir, const Ref *list, size_t n, void *const *mem);
void races_close(Races *r);
void races_block(Races *r, int64_t block);  /* starts a block, whose shared memory is not written yet */
void races_barrier(Races *r);               /* to be called when all threads of the block have reached a barrier */
/* Records an access to element `at` by a thread of the block. Returns FAULT_KINDS if there is no fault. Otherwise sets *other
 * to the earlier access that conflicts with this access; for FAULT_UNWRITTEN, to this access. */
FaultKind races_touch(Races *r, int64_t buffer, int64_t at, bool store, int32_t thread, uint32_t step, Mark *other);
#endif

/* SPDX-License-Identifier: MIT */
/* races.h: internal to interp/: finds races. In a race, two threads access one element, at least one of the two accesses is a
 * store, and no barrier orders the accesses. An epoch begins with a block, or at a barrier, and ends where the next epoch
 * begins. */
#ifndef TGC_RACES_H
#define TGC_RACES_H
#include "interp_threads.h"

/* An access to an element by a micro-op. step: index of the micro-op in the program. epoch: number of the epoch; 0: there is no
 * access */
typedef struct Mark { uint32_t epoch, step; int32_t block, thread; } Mark;
typedef struct Races Races;

/* list: a program of n micro-ops. mem[i]: the memory of buffer i. The array mem and the memory must stay valid until races_close,
 * which frees the result. */
Races *races_open(const IR *ir, const Ref *list, size_t n, void *const *mem);
void races_close(Races *r);
void races_block(Races *r, int64_t block);  /* begins block number `block`; all shared memory counts as not written */
void races_barrier(Races *r);               /* must be called when all threads of the block have reached a barrier */
/* Records an access to element `at` of a buffer by a thread of the current block. Returns FAULT_KINDS if there is no fault.
 * Otherwise returns the kind of the fault, and sets *other to the earlier access with which the recorded access conflicts. For
 * FAULT_UNWRITTEN, sets *other to the recorded access. */
FaultKind races_touch(Races *r, int64_t buffer, int64_t at, bool store, int32_t thread, uint32_t step, Mark *other);
#endif

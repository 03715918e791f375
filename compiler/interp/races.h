/* SPDX-License-Identifier: MIT */
/* races.h: internal to interp/: the last accesses of each element of memory (races.c). */
#ifndef TGC_RACES_H
#define TGC_RACES_H
#include "interp_threads.h"

/* An access. step: number of the micro-op. epoch: number of the epoch, which begins with a block or at a barrier and ends where
 * the next epoch begins; 0: no access yet */
typedef struct Mark { uint32_t epoch, step; int32_t block, thread; } Mark;
typedef struct Races Races;

Races *races_open(const IR *ir, const Ref *list, size_t n, void *const *mem); /* for a program over this memory, by buffer */
void races_close(Races *r);
void races_block(Races *r, int64_t block);  /* starts a block, whose shared memory is not written yet */
void races_barrier(Races *r);               /* all threads of the block have arrived */
/* Records an access to element `at` by a thread of the block. Returns FAULT_KINDS if there is no fault. Otherwise *other is the
 * earlier access that conflicts with this one; for FAULT_UNWRITTEN there is none, and *other is this access. */
FaultKind races_touch(Races *r, int64_t buffer, int64_t at, bool store, int32_t thread, uint32_t step, Mark *other);
#endif

/* races.h: internal to interp/: who has touched an element of memory (races.c). */
#ifndef TGC_RACES_H
#define TGC_RACES_H
#include "interp_threads.h"

typedef struct Mark { uint32_t epoch, step; int32_t block, thread; } Mark; /* epoch 0: nobody */
typedef struct Races Races;

Races *races_open(const IR *ir, const Ref *list, size_t n, void *const *mem);
void races_close(Races *r);
void races_block(Races *r, int64_t block);  /* a block begins: its shared memory holds nothing */
void races_barrier(Races *r);               /* all threads of the block have arrived */
/* A thread of the block touches an element. FAULT_KINDS: nothing is wrong; else *other is who it meets */
FaultKind races_touch(Races *r, int64_t buffer, int64_t at, bool store, int32_t thread, uint32_t step, Mark *other);
#endif

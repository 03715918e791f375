/* SPDX-License-Identifier: MIT */
/* program_time.h: the time of a program on one core of a CPU, from its micro-ops and the CPU's facts. A place is an index in the
 * program. */
#ifndef TGC_PROGRAM_TIME_H
#define TGC_PROGRAM_TIME_H
#include "cost.h"
#include "../target/cpu_facts.h"

/* ---- walks.c: the memory that a program accesses, loop by loop ---- */
enum { WALK_TERMS = 10, WALK_COPIES = 64, CACHE_LEVELS = 3 };
/* A term of an index. While the loop runs, the term takes the values 0, coef, .. (count - 1) * coef. If the index divides the
 * loop's range, several terms have this loop. */
typedef struct WalkTerm { int loop; double coef, count; } WalkTerm;
/* An index as base + the sum of n terms. data: the index also depends on loaded values, or has more
 * than WALK_TERMS terms */
typedef struct WalkIndex { int n; bool data; double base; WalkTerm term[WALK_TERMS]; } WalkIndex;
/* All loads of one loop from one buffer, or all its stores to one, whose indices differ only in their constants. */
typedef struct Walk {
  int buf, loop, bytes;     /* numbers of the buffer and of the loop; bytes of an element */
  bool store;
  WalkIndex at;             /* the index in elements; its constant is that of the first access */
  double width, copies;     /* bytes of one access; number of accesses in one iteration */
  int n;                    /* number of constants in `base` */
  double base[WALK_COPIES]; /* the constants of the first WALK_COPIES indices, in elements */
} Walk;
/* A loop; number 0 stands for the whole program, and has the parent -1. trips: iterations. touched: bytes that one iteration
 * accesses */
typedef struct LoopWalked { int parent; double trips, touched; } LoopWalked;
typedef struct Walks {
  VEC(LoopWalked) loops;
  VEC(Walk) list;
  int *loop_of;             /* by place: number of the innermost loop around the node there */
} Walks;
void walks_read(const IR *ir, const Refs *prog, Walks *w);
void walks_free(Walks *w);
int walk_bases(const Walk *x, double at[WALK_COPIES]); /* x's constants, sorted, each once; -> their number */
int walk_outermost(const Walks *w, int loop); /* the outermost loop around `loop`; number 0, the program, does not count */
/* Distinct bytes, in whole cache lines, that x accesses while `loop` runs. body: during only one iteration of `loop` */
double walk_bytes(const IR *ir, const Walks *w, const Walk *x, int loop, bool body);
/* Bytes of x that a cache of `bytes` bytes does not have when they are accessed. known: the cache held x's buffer before the
 * loops around x began */
double walk_missed(const IR *ir, const Walks *w, const Walk *x, double bytes, bool known);

/* ---- program_time.c ---- */
/* Callbacks about the contents of the caches. since: bytes accessed since the last access to the buffer, plus the buffer's bytes.
 * touch: notes that the program accesses `bytes` bytes of the buffer */
typedef struct Residence {
  double (*since)(void *arg, int buf);
  void (*touch)(void *arg, int buf, double bytes);
  void *arg;
} Residence;
/* Cycles. issue: if all data were in the first-level cache. memory: for data beyond that cache. total: for both together */
typedef struct ProgramTime { double issue, memory, total; } ProgramTime;
ProgramTime program_time(const IR *ir, const Refs *prog, const Target *t, const CpuFacts *f, const Residence *r);
#endif

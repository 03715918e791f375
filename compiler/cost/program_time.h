/* SPDX-License-Identifier: MIT */
/* program_time.h: predicts the time of a program on one core of a CPU, from the program's micro-ops and the CPU's facts. */
#ifndef TGC_PROGRAM_TIME_H
#define TGC_PROGRAM_TIME_H
#include "cost.h"
#include "../target/cpu_facts.h"

/* ---- walks.c: the memory that a program accesses, loop by loop ---- */
/* WALK_TERMS: most terms of an index. WALK_COPIES: most constants that a Walk keeps. CACHE_LEVELS: number of cache levels */
enum { WALK_TERMS = 10, WALK_COPIES = 64, CACHE_LEVELS = 3 };
/* A term of an index. While loop number `loop` runs, the term takes the values 0, coef, .. (count - 1) * coef. Several terms may
 * name the same loop, for instance a term for a quotient and a term for a remainder of the loop's range. */
typedef struct WalkTerm { int loop; double coef, count; } WalkTerm;
/* An index: the constant `base` plus the sum of n terms. data: the index has further terms that are not known, such as loaded
 * values */
typedef struct WalkIndex { int n; bool data; double base; WalkTerm term[WALK_TERMS]; } WalkIndex;
/* Accesses of one loop to one buffer: all loads, or all stores. Only the constants of their indices may differ */
typedef struct Walk {
  int buf, loop, bytes;     /* number of the buffer; number of the loop; bytes of an element */
  bool store;               /* the accesses are stores */
  WalkIndex at;             /* the index of the first access, in elements */
  double width, copies;     /* bytes of one access; number of accesses in one iteration */
  int n;                    /* number of constants in `base` */
  double base[WALK_COPIES]; /* the constants of the indices, in elements; at most WALK_COPIES of them */
} Walk;
/* A loop. parent: number of the loop around this loop. trips: number of iterations. touched[1]: bytes that one iteration
 * accesses. touched[0]: bytes of a first-level cache that keeps them: more, if the lines lie at few places of their pages.
 * Loop number 0 stands for the whole program; its parent is -1 */
typedef struct LoopWalked { int parent; double trips, touched[2]; } LoopWalked;
typedef struct Walks {
  VEC(LoopWalked) loops;    /* in the order in which they begin */
  VEC(Walk) list;
  int *loop_of;             /* by index of a micro-op in the program: number of the innermost loop around this micro-op */
} Walks;
void walks_read(const IR *ir, const Refs *prog, Walks *w); /* fills in *w */
void walks_free(Walks *w);
/* Writes the distinct constants of x to at[], in ascending order. Returns their number */
int walk_bases(const Walk *x, double at[WALK_COPIES]);
/* Returns the number of the outermost loop around `loop`, or `loop` itself if no loop is around it. Here, number 0, the whole
 * program, is no loop */
int walk_outermost(const Walks *w, int loop);
/* Returns how many distinct bytes, in whole cache lines, x accesses while `loop` runs. body: counts only one iteration of
 * `loop` */
double walk_bytes(const IR *ir, const Walks *w, const Walk *x, int loop, bool body);
/* Returns how many bytes of x's accesses miss in a cache of `bytes` bytes. level: 0 for the first level. known: the cache held
 * x's buffer before the outermost loop around x began */
double walk_missed(const IR *ir, const Walks *w, const Walk *x, int level, double bytes, bool known);

/* ---- program_time.c ---- */
/* Callbacks about the contents of the caches. since: returns the least size, in bytes, of a cache that still holds buffer
 * number `buf`. This size follows from the data accessed since the last access to the buffer. touch: notes that the program
 * accesses `bytes` bytes of the buffer */
typedef struct Residence {
  double (*since)(void *arg, int buf);
  void (*touch)(void *arg, int buf, double bytes);
  void *arg;
} Residence;
/* Times in cycles. issue: the program's time if all data were in the first-level cache. memory: the time to move data
 * between the first-level cache and the levels beyond it. total: the program's time, in which these times overlap partly */
typedef struct ProgramTime { double issue, memory, total; } ProgramTime;
ProgramTime program_time(const IR *ir, const Refs *prog, const Target *t, const CpuFacts *f, const Residence *r);
#endif

/* SPDX-License-Identifier: MIT */
/* program_time.h: the time of a program on one core of a CPU, from its micro-ops and the CPU's facts. */
#ifndef TGC_PROGRAM_TIME_H
#define TGC_PROGRAM_TIME_H
#include "cost.h"
#include "../target/cpu_facts.h"

/* ---- walks.c: what a program does to memory ---- */
enum { WALK_TERMS = 10, WALK_COPIES = 64, CACHE_LEVELS = 3 };
/* While the loop runs, the term adds 0, coef, .. (count - 1) * coef to the index. A divided range gives several terms. */
typedef struct WalkTerm { int loop; double coef, count; } WalkTerm;
typedef struct WalkIndex { int n; bool data; double base; WalkTerm term[WALK_TERMS]; } WalkIndex; /* data: from loaded values */
/* Loads of a loop from one buffer, or stores of a loop to one. Their indices differ in their constants only. */
typedef struct Walk {
  int buf, loop, bytes;     /* bytes of an element */
  bool store;
  WalkIndex at;
  double width, copies;     /* bytes of one access; accesses */
  int n;
  double base[WALK_COPIES]; /* the constants of the index, in elements; as many as there is room for */
} Walk;
/* Number 0 is the whole program, and has no parent: -1. touched: bytes of one iteration */
typedef struct LoopWalked { int parent; double trips, touched; } LoopWalked;
typedef struct Walks {
  VEC(LoopWalked) loops;
  VEC(Walk) list;
  int *loop_of;             /* by place in the program */
} Walks;
void walks_read(const IR *ir, const Refs *prog, Walks *w);
void walks_free(Walks *w);
int walk_bases(const Walk *x, double at[WALK_COPIES]); /* the constants of its indices, sorted, each once; -> their number */
int walk_outermost(const Walks *w, int loop); /* the outermost loop around `loop`; number 0, the program, does not count */
/* Distinct bytes, in whole lines, that x touches while `loop` runs; body: during one iteration of it */
double walk_bytes(const IR *ir, const Walks *w, const Walk *x, int loop, bool body);
/* Bytes of x that come from beyond a cache of `bytes`. known: the cache had x's buffer before the loops around x began */
double walk_missed(const IR *ir, const Walks *w, const Walk *x, double bytes, bool known);

/* ---- program_time.c ---- */
/* Contents of the caches. since: bytes touched since the buffer was last touched, plus the buffer's bytes */
typedef struct Residence {
  double (*since)(void *arg, int buf);
  void (*touch)(void *arg, int buf, double bytes);
  void *arg;
} Residence;
typedef struct ProgramTime { double issue, memory, total; } ProgramTime; /* cycles */
ProgramTime program_time(const IR *ir, const Refs *prog, const Target *t, const CpuFacts *f, const Residence *r);
#endif

/* SPDX-License-Identifier: MIT */
/* machine.h: internal to interp/: a program as steps over an array of values, Machine.v. interp_program.c runs it for one thread,
 * interp_threads.c for the threads of a launch. */
#ifndef TGC_MACHINE_H
#define TGC_MACHINE_H
#include "../ir/refmap.h"
#include "interp.h"

typedef struct Step {
  const Node *x;
  Ref r;
  uint32_t to;             /* index of the result in Machine.v */
  uint32_t first;          /* index in Machine.from of the first source */
  uint32_t match;          /* index in Machine.step; for a LOOP: that of its END; for an END: that of its LOOP */
} Step;

typedef struct Machine Machine;
struct Machine {
  const IR *ir;
  void *const *mem;
  const int64_t *shift;    /* as in interp_chunks */
  VEC(Step) step;
  VEC(uint32_t) from;      /* for each source of each step, step after step: its index in v */
  RefMap place;            /* maps a node to 1 + the index in v of its first lane; 0: it has no place yet */
  uint32_t places;         /* elements of v */
  int64_t *v;              /* the values of all lanes, as bits of a CONST */
  const int64_t *run;      /* the sizes of this run by symbol, from which size_in_run computes all sizes */
  int64_t begin, end, chunks; /* the part of ranges of kind thread that is run, as in interp_chunks */
  /* Address of element `at` of buffer `id`, which step s is about to access; NULL: the access must not happen. If touch is NULL,
   * an access outside of the buffer is a BUG. */
  void *(*touch)(Machine *m, const Step *s, int64_t id, int64_t at, bool store);
};

void machine_open(Machine *m, const Ref *list, size_t n); /* makes the steps of a list of nodes; m->v then holds the constants */
void machine_close(Machine *m);
static inline int64_t *machine_source(const Machine *m, const Step *s, int k) { return &m->v[m->from.p[s->first + (uint32_t)k]]; }
void machine_step(Machine *m, const Step *s);             /* runs a step of any op but LOOP, END, BARRIER, SHFLXOR and WMMA */
int64_t machine_product(DType d, DType ta, const int64_t *a, DType tb, const int64_t *b); /* product of two factors in type d */
/* ---- warp_mma.c: runs a WMMA for all threads of a warp. v[t]: the array Machine.v of thread t. Returns NULL, or why it cannot
 * run ---- */
const char *machine_wmma(const Machine *m, const Step *s, int64_t *const *v);
#endif

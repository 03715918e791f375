/* SPDX-License-Identifier: MIT */
/* machine.h: internal to interp/: a program as a list of steps, which read and write an array of values, Machine.v.
 * interp_program.c runs the steps for one thread, and interp_threads.c runs the steps for the threads of a launch. */
#ifndef TGC_MACHINE_H
#define TGC_MACHINE_H
#include "../ir/refmap.h"
#include "interp.h"

typedef struct Step {
  const Node *x;           /* the node of the step */
  Ref r;                   /* the Ref of x */
  uint32_t to;             /* index in Machine.v of the first lane of the result */
  uint32_t first;          /* index in Machine.from of the entry of the first source */
  uint32_t match;          /* for a LOOP: index in Machine.step of the END of this loop; for an END: index of the LOOP */
} Step;

typedef struct Machine Machine;
struct Machine {
  const IR *ir;
  void *const *mem;        /* as in interp_chunks */
  const int64_t *shift;    /* as in interp_chunks */
  VEC(Step) step;
  VEC(uint32_t) from;      /* an entry for each source of each step, step after step: index in v of the source's first lane */
  RefMap place;            /* maps a node to 1 + the index in v of the node's first lane; 0: the node has no place in v yet */
  uint32_t places;         /* number of elements of v */
  int64_t *v;              /* the values of all lanes of all nodes. Each value has the form of a CONST (c_bits in ir.h) */
  const int64_t *run;      /* the RunSizes (ir.h) of this run */
  int64_t begin, end, chunks; /* as in interp_chunks */
  /* Is called before step s accesses element `at` of buffer `id`. Returns the address of the element, or NULL if the access must
   * not take place. If `touch` is NULL, elements are accessed in `mem`, and an access outside of the buffer is a BUG. */
  void *(*touch)(Machine *m, const Step *s, int64_t id, int64_t at, bool store);
};

/* Makes the steps of a list of n nodes. Allocates m->v, and stores the values of the constants there. m->ir must be set, and
 * step, from, place and places must be zero. */
void machine_open(Machine *m, const Ref *list, size_t n);
void machine_close(Machine *m);
/* Returns the values of source k of step s, lane after lane. */
static inline int64_t *machine_source(const Machine *m, const Step *s, int k) { return &m->v[m->from.p[s->first + (uint32_t)k]]; }
void machine_step(Machine *m, const Step *s);             /* runs a step of any op but LOOP, END, BARRIER, SHFLXOR and WMMA */
/* Converts *a from type ta to type d, and *b from type tb to type d. Returns the product of the two converted values, as type d.
 * All values have the form of a CONST. */
int64_t machine_product(DType d, DType ta, const int64_t *a, DType tb, const int64_t *b);
/* ---- warp_mma.c ---- */
/* Runs step s, a WMMA, for all threads of a warp. v[t]: the array Machine.v of thread t. Returns NULL, or the reason why the step
 * cannot run. */
const char *machine_wmma(const Machine *m, const Step *s, int64_t *const *v);
#endif

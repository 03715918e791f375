/* machine.h: internal to interp/: programs as steps over an array of values. interp_program.c runs them for one thread,
 * interp_threads.c for those of a launch. */
#ifndef TGC_MACHINE_H
#define TGC_MACHINE_H
#include "../ir/refmap.h"
#include "interp.h"

typedef struct Step {
  const Node *x;
  Ref r;
  uint32_t to;             /* place of the result */
  uint32_t first;          /* of its sources' places */
  uint32_t match;          /* LOOP: step of its END; END: of its LOOP */
} Step;

typedef struct Machine Machine;
struct Machine {
  const IR *ir;
  void *const *mem;
  const int64_t *shift;    /* as interp_chunks has it */
  VEC(Step) step;
  VEC(uint32_t) from;      /* places of sources, all steps one after another */
  RefMap place;            /* node to place + 1 */
  uint32_t places;
  int64_t *v;              /* by place */
  int64_t begin, end, chunks; /* of ranges of kind thread */
  /* element at of buffer id, which step s is about to touch; NULL: it must not. The function NULL: one outside is a bug */
  void *(*touch)(Machine *m, const Step *s, int64_t id, int64_t at, bool store);
};

void machine_open(Machine *m, const Ref *list, size_t n); /* m->v holds the constants then */
void machine_close(Machine *m);
static inline int64_t *machine_source(const Machine *m, const Step *s, int k) { return &m->v[m->from.p[s->first + (uint32_t)k]]; }
void machine_step(Machine *m, const Step *s);             /* any but LOOP, END and BARRIER */
#endif

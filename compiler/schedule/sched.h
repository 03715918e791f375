/* sched.h: internal to schedule/. The passes run in this order, each a file:
 * materialize.c (which values are stored), layout.c (where each stored value lies; layout_seed.c and layout_pbqp.c: in what
 * order), kernelize.c (kernels of scalar expressions over ranges), state_plan.c (memory kept between runs), memplan.c (offsets in
 * the arena). */
#ifndef TGC_SCHED_H
#define TGC_SCHED_H
#include "../cost/tunable.h"
#include "schedule.h"

/* Where the elements of a stored value lie: element idx of the value is element
 * offset + sum(idx[a] * stride[a]) of the buffer. */
typedef struct Place {
  bool materialized;             /* materialize.c: the value has memory */
  bool select;             /* materialize.c: a CAT in one nest, which selects the part: the parts have one source */
  bool reads_halo;         /* materialize.c: a PAD that is its source's memory with the halo */
  bool has_halo;
  Ref inside;              /* the CAT this value is written into; 0: none */
  int64_t inside_at;       /* begin on the CAT's axis */
  int state;               /* 1 + number of the state whose window this CAT is; 0: none */
  int inner;               /* axis to lie innermost; -1: row-major */
  int buf;                 /* IR.bufs index; -1: none */
  int64_t offset;          /* elements */
  int64_t lo[MAX_RANK], hi[MAX_RANK]; /* the halo, in elements of each axis */
  Ref fill;                /* what the halo holds: a CONST */
  int64_t stride[MAX_RANK];
} Place;

typedef struct Sched {
  Graph *g;
  IR *ir;
  Plan *plan;
  Place *place;            /* by Ref of the graph; nplace entries */
  uint32_t nplace;
  Refs order;              /* graph nodes, sources first */
} Sched;

bool is_contraction(const IR *ir, Ref r);   /* REDUCE(ADD) of a product of two values, of which one is read again and again */

void sched_materialize(Sched *s);                  /* needs: a folded graph; gives: materialized, select, reads_halo */
void sched_layout_seed(Sched *s, Ref r);         /* needs: stored, inner of what r reads; gives: inner of r */
void sched_layout_pbqp(Sched *s);                /* needs: stored, inside, halos; gives: inner, layout_cost */
void sched_layout(Sched *s);                /* needs: stored; gives: buffers, offsets, strides, plan->layouts */
void sched_layouts(Sched *s);               /* needs: buffers, offsets, strides; gives: plan->layouts, for reports */
void sched_lower(Sched *s);                 /* needs: layout; gives: plan->kernels with sinks */
BufKind sched_output_kind(const Graph *g, size_t i, int64_t *slot); /* of the buffer of output i (layout.c) */
void sched_states(Plan *p);                 /* needs: kernels with final buffers; gives: states, which are updated in place */
bool kernel_in_place(const IR *ir, const Kernel *k, int in, int out); /* memplan.c: k may compute buffer out where in lies */
void sched_memplan(Plan *p);                /* needs: kernels with final buffers; gives: offsets, arena_bytes */
bool memplan_check(const Plan *p, Sb *why); /* the independent checker: no two live buffers overlap */
#endif

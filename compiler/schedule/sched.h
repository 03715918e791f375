/* SPDX-License-Identifier: MIT */
/* sched.h: internal to schedule/. The files work in this order: materialize.c chooses which values are stored. layout.c places
 * each stored value; layout_seed.c and layout_pbqp.c choose the order of the value's axes. kernelize.c makes kernels of scalar
 * expressions over ranges. state_plan.c plans memory that is kept between runs. memplan.c assigns offsets in the arena. */
#ifndef TGC_SCHED_H
#define TGC_SCHED_H
#include "../cost/tunable.h"
#include "../graph/graph.h"
#include "schedule.h"

/* Placement of a stored value. In the buffer, the element with indices idx[] is element number offset + the sum of
 * idx[a] * stride[a]. */
typedef struct Place {
  bool materialized;             /* materialize.c: the value has memory */
  bool select;             /* materialize.c: a CAT of parts with extent 1. A single nest computes the values of all parts, and
                              selects the value of one part for each element */
  bool reads_halo;         /* materialize.c: a PAD that is read from its source's memory, whose halo is the padding */
  bool has_halo;
  Ref inside;              /* the CAT, or the window of a state, into which this value is written; 0: none */
  int64_t inside_at;       /* begin of this value on the CAT's axis; 0 in a window */
  int state;               /* 1 + number of the state whose window this value is; 0: none */
  int inner;               /* the axis that is innermost in memory; -1: row-major order */
  int buf;                 /* index into IR.bufs; -1: none */
  int64_t offset;          /* elements */
  int64_t lo[MAX_RANK], hi[MAX_RANK]; /* by axis: elements before and behind the value, of the halo or of the window's room */
  int64_t pad[MAX_RANK];   /* by axis: elements of memory behind those of the greatest size. Nothing accesses them (layout.c) */
  Ref fill;                /* the CONST that the halo holds */
  int64_t stride[MAX_RANK]; /* elements */
  int odd;                 /* 1 + number of a size of the run: if that is 1 in place of 0, all elements lie `odd_step` later */
  int64_t odd_step;        /* elements */
} Place;

typedef struct Sched {
  Graph *g;
  IR *ir;
  Plan *plan;
  Place *place;            /* by Ref of the graph; nplace entries */
  uint32_t nplace;
  const Needed *needs;     /* by Ref: the elements that a run needs (graph/needs.c), from sched_layout on; NULL: all sizes are
                              constants */
  Refs order;              /* nodes of the graph, sources first */
  Guards guards;
} Sched;

bool is_contraction(const IR *ir, Ref r);   /* REDUCE(ADD) of a product of two different values, of which one or both are read
                                               repeatedly */

void sched_materialize(Sched *s);                  /* needs: a folded graph; gives: Place.materialized, .select, .reads_halo */
void sched_layout_seed(Sched *s, Ref r);         /* needs: .materialized, and .inner of r's sources; gives: .inner of r */
void sched_layout_pbqp(Sched *s);                /* needs: .materialized, .inside, halos; gives: .inner, plan->layouts.cost */
void sched_layout(Sched *s);                /* needs: sched_materialize; gives: buffers, offsets, strides, plan->layouts */
void sched_layouts(Sched *s);               /* needs: buffers, offsets, strides; gives: plan->layouts */
void sched_lower(Sched *s);                 /* needs: layout; gives: plan->kernels with sinks */
BufKind sched_output_kind(const Graph *g, size_t i, int64_t *slot); /* kind of the buffer of output i; *slot: its Buf.slot */
void sched_states(Plan *p);                 /* needs: kernels with final buffers; gives: memory of states, offsets in it */
bool kernel_in_place(const IR *ir, const Kernel *k, int in, int out); /* memplan.c: k may write buffer `out` into the memory of
                                                                         buffer `in` */
void sched_memplan(Plan *p);                /* needs: sched_states; gives: the other offsets, the rest of MemoryPlan */
bool memplan_check(const Plan *p, Sb *why); /* true: buffers in use overlap only where a kernel computes in place;
                                               false: *why gets the reason */
#endif

/* SPDX-License-Identifier: MIT */
/* sched.h: shared by the files of schedule/. These files work one after another. materialize.c chooses which values are stored.
 * layout.c places each stored value in memory; layout_seed.c and layout_pbqp.c choose the order of the value's axes. kernelize.c
 * makes kernels of scalar expressions over ranges. state_plan.c plans the memory of states. memplan.c chooses offsets in the
 * arena. */
#ifndef TGC_SCHED_H
#define TGC_SCHED_H
#include "../cost/tunable.h"
#include "../graph/graph.h"
#include "schedule.h"

/* Where a value is stored. An element of the value has an index idx[a] along each axis a. The element's index in the buffer is
 * `offset` + the sum of idx[a] * stride[a]. */
typedef struct Place {
  bool materialized;             /* materialize.c: the value has memory */
  bool select;             /* materialize.c: the value is a CAT of parts with extent 1. A single nest computes the values of all
                              parts, and selects the value of one part for each element */
  bool reads_halo;         /* materialize.c: the value is a PAD that is read from the memory of its source. The source has a halo,
                              which is the padding */
  bool has_halo;
  Ref inside;              /* this value is stored in the memory of the value `inside`, a CAT or the window of a state; 0: in
                              memory of its own */
  int64_t inside_at;       /* if `inside` is a CAT: index on the CAT's axis at which this value begins; else 0 */
  int state;               /* if the value is the window of a state: 1 + number of this state; else 0 */
  int inner;               /* the axis that is innermost in memory; -1: row-major order */
  int across;              /* materialize.c: 1 + the axis that must be innermost; 0: any may be */
  int buf;                 /* index into IR.bufs; -1: none */
  int64_t offset;          /* in elements */
  int64_t lo[MAX_RANK], hi[MAX_RANK]; /* by axis: numbers of elements of the halo before the value and behind it. For a window:
                                         elements of the window's memory before and behind the value */
  int64_t pad[MAX_RANK];   /* by axis: number of unused elements of memory behind the value (layout.c) */
  Ref fill;                /* the CONST that the halo holds */
  int64_t stride[MAX_RANK]; /* in elements */
  int odd;                 /* 1 + index of a row of IR.sizes; 0: none. In a run, this row gives 0 or 1. If the row gives 1,
                              all elements of the value lie `odd_step` elements later */
  int64_t odd_step;        /* in elements */
} Place;

typedef struct Sched {
  Graph *g;
  IR *ir;
  Plan *plan;
  Place *place;            /* by Ref of a node of the graph; length nplace */
  uint32_t nplace;
  const Needed *needs;     /* by Ref: the elements that a run needs (graph/needs.c). Set by sched_layout; NULL if all sizes are
                              constants */
  Refs order;              /* nodes of the graph, sources first */
  Guards guards;
} Sched;

bool is_contraction(const IR *ir, Ref r);   /* whether r is a REDUCE(ADD) of a product of two different values, and elements of at
                                               least one of these values are read repeatedly */

void sched_materialize(Sched *s);                  /* needs: a folded graph; gives: Place.materialized, .select, .reads_halo */
void sched_layout_seed(Sched *s, Ref r);         /* needs: .materialized, and .inner of r's sources; gives: .inner of r */
void sched_layout_pbqp(Sched *s);                /* needs: .materialized, .inside, halos; gives: .inner, plan->layouts.cost */
void sched_layout(Sched *s);                /* needs: sched_materialize; gives: buffers, offsets, strides, plan->layouts */
void sched_layouts(Sched *s);               /* needs: buffers, offsets, strides; gives: plan->layouts */
void sched_lower(Sched *s);                 /* needs: layout; gives: plan->kernels with sinks */
BufKind sched_output_kind(const Graph *g, size_t i, int64_t *slot); /* returns the kind of the buffer of output i, and
                                                                       sets *slot to Buf.slot of this buffer */
void sched_states(Plan *p);                 /* needs: kernels with final buffers; gives: memory of states, and offsets in this
                                               memory */
bool kernel_in_place(const IR *ir, const Kernel *k, int in, int out); /* memplan.c: whether buffer `out` of k may be in the same
                                                                         memory as buffer `in` */
int64_t *sched_live_bytes(const Plan *p);   /* by kernel: bytes of the arena that hold values while it runs; the caller calls
                                               free */
void sched_memplan(Plan *p);                /* needs: sched_states; gives: the other offsets, the rest of MemoryPlan */
bool memplan_check(const Plan *p, Sb *why); /* returns true if the memory plan is correct: buffers in use at the same time
                                               overlap only where a kernel computes in place. Otherwise sets *why to the reason */
#endif

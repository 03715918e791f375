/* nest.h: nests of a kernel as its steps see them: taken apart, brought into canonical form, named, counted. group/ joins
 * kernels, opt/ chooses and applies schedules, lower/ makes programs; all of them stand on this. */
#ifndef TGC_NEST_H
#define TGC_NEST_H
#include "../cost/tunable.h"
#include "../ir/decisions.h"
#include "../ir/refmap.h"
#include "../schedule/schedule.h"

/* A nest taken apart. ranges[] are outermost first; those that reductions open are inside value. */
typedef struct Nest {
  Ref store;
  int n;
  Ref ranges[MAX_RANGES];
} Nest;

/* ---- nest.c ---- */
Nest nest_open(const IR *ir, Ref nest);
Ref nest_close(IR *ir, const Nest *n);
bool opens_range(const IR *ir, Ref r, Ref range); /* of a NEST or a RED: it is one of its own */
/* root with range r replaced by expr; lists of ranges get by[0..n) in r's place */
Ref range_replace(IR *ir, Ref root, Ref r, Ref expr, int n, const Ref *by);
/* root where r runs over [begin, end), by a range from 0 on */
Ref range_part(IR *ir, Ref root, Ref r, int64_t begin, int64_t end, Ref *part);
void collect_ranges(const IR *ir, Ref root, Refs *out); /* every RANGE below root, in node_order */
void nest_ranges(const IR *ir, Ref nest, Refs *out);    /* the nest's, then its reductions': schedules name them by place */
int range_place(const Refs *ranges, Ref r);             /* -1: not there */
/* the place of a range among the loops, tiles and lanes of a nest, whose nodes are all */
int walk_order(const IR *ir, const Refs *all, Ref nest, Ref range);
bool keeps_order(const IR *ir, Ref red, const Target *t); /* its terms may not be taken in another order */
bool range_selects(IR *ir, Ref root, Ref r); /* r is short and decides which of several values is computed */
/* a reduction below root does not vary along r, a range of its nest: the rest of a tile along r is no nest of its own */
bool reduction_repeats(IR *ir, Ref root, Ref r);

/* ---- canon.c ---- */
int nest_batch(IR *ir, const Nest *n);      /* how many outer ranges count products of matrices */

/* ---- floordivs.c: an index with quotients of ranges that are 0 or more, as ranges in their place: what a range walks one by
 * one is then affine, and memory is that of the steps. ---- */
typedef struct FloorDivs { int n; Ref term[MAX_RANGES], range[MAX_RANGES], step[MAX_RANGES]; } FloorDivs; /* step for term */
Ref floordivs_open(IR *ir, Ref index, FloorDivs *s); /* the index with the steps; itself where it has no quotients */

/* ---- varying.c: what each node of a nest varies with: bit k for ranges.p[k], the nest's own first, outermost first; and
 * data ---- */
#define VARIES_DATA (UINT64_C(1) << 63)
typedef struct Varying {
  Refs nodes, ranges;      /* nodes: users last; ranges: those beyond 63 are left out */
  uint64_t *by;            /* of each node */
  RefMap at;               /* node to its place + 1 */
} Varying;
void varying_open(const IR *ir, Ref nest, Varying *v);
uint64_t varying_of(const Varying *v, Ref r);
void varying_free(Varying *v);

/* ---- nestkey.c: 64 hex digits that name a canonical nest on a target; equal ones can share a schedule ---- */
void nest_key(IR *ir, Ref nest, const Target *t, const Backend *b, char out[65]);
/* a question about a kernel (ir/decisions.h), by the keys of all of its canonical nests */
Question ask_kernel(const Plan *p, const char *pass, const Kernel *k);

/* ---- states.c: every nest of a kernel by f ---- */
void each_state(Plan *p, Kernel *k, void (*f)(Plan *p, NestState *s));
void states_nests(const Kernel *k, Refs *out);
void states_put(Kernel *k, Refs *nests);    /* in the same order; frees nests */

/* ---- the steps of steps.h, all of them; k is NULL for those of scope SCOPE_PLAN. Each is in the file of its name, but even and
 * number (canon.c), cost (work.c), schedule (opt/choose.c), dot_groups (dot_ops.c), reorder, rests and tile (opts.c), groups
 * (group.c), match and reuse (dedup.c), libm (legalize.c), programs (linearize.c), variants (compiler/steps.c). ---- */
#define STEP(letter, name, scope, kinds, level, needs, gives, gloss) void step_##name(Plan *p, Kernel *k);
#include "steps.h"
#undef STEP
#endif

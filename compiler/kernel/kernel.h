/* kernel.h: internal to kernel/. steps.h lists the steps of a kernel in order, each in the file of its name or in one that
 * stands beside their prototypes. steps.c runs them. model.c and heuristic.c choose schedules, with
 * cost/tile.c, mma.c for matrix instructions and varying.c: what varies with what. states.c has what steps share.
 * functions.c writes the result, with rebase.c. */
#ifndef TGC_KERNEL_H
#define TGC_KERNEL_H
#include "../cost/tile.h"
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

Nest nest_open(const IR *ir, Ref nest);
Ref nest_close(IR *ir, const Nest *n);
bool opens_range(const IR *ir, Ref r, Ref range); /* of a NEST or a RED: it is one of its own */

/* One opt: split a range into loop x copies x lanes. A nest's schedule is a list of these. */
typedef struct Opt {
  Ref range;
  int unroll;              /* copies, in order */
  int lanes;
  bool partial;            /* copies of a reduction have accumulators of their own: PARTIAL */
  bool rows;               /* lanes are the rows of a matrix unit's tile: ROWS */
} Opt;
/* A range's loop taken outside of the others, of the nest or of its reduction: ORDER; or the loop over blocks of so many of its
 * values: TILE. */
typedef struct Move { Ref range; int block; } Move; /* block 0: the range's own loop */
enum { MAX_MOVES = 8, MAX_PEELED = 4, MAX_PARTS = 16 };
typedef struct Opts {
  int n;
  Opt opt[MAX_RANGES];
  int nmoved;
  Move moved[MAX_MOVES];    /* the outermost first */
  int npeeled;
  Ref peeled[MAX_PEELED];  /* ranges that are cut into borders and an interior, which the rest is about: PEEL */
  Ref staged;              /* range of whose tiles panels of operands are copied: STAGE; 0: none */
  Ref grouped;             /* range whose values go to a unit in groups, before all else: its opt means the groups; 0: none */
  const struct IsaOp *unit; /* units.h; NULL: none */
  int threads;             /* chunks that the nest wants its kernel shared in; 0: as many as the model says */
  int nparts, nborders;    /* schedules of the nests that it leaves (Remnant), in their order, the borders first */
  const char *part[MAX_PARTS]; /* in text, each in terms of its own nest; complete: as many as there are such nests */
} Opts;

/* A nest that a schedule leaves beside its tiles: a border of a peeled range, or a rest. */
typedef struct Remnant {
  Ref nest;
  bool border, own;        /* own: it has a schedule of its own; else the schedule follows from the one that leaves it */
  Opts opts;               /* unless own */
} Remnant;
typedef VEC(Remnant) Remnants;

/* canon.c */
/* root with range r replaced by expr; lists of ranges get by[0..n) in r's place */
Ref range_replace(IR *ir, Ref root, Ref r, Ref expr, int n, const Ref *by);
/* root where r runs over [begin, end), by a range from 0 on */
Ref range_part(IR *ir, Ref root, Ref r, int64_t begin, int64_t end, Ref *part);
int nest_batch(IR *ir, const Nest *n);      /* how many outer ranges count products of matrices */
void collect_ranges(const IR *ir, Ref root, Refs *out); /* every RANGE below root, in node_order */

/* varying.c: what each node of a nest varies with: bit k for ranges.p[k], the nest's own first, outermost first; and data */
#define VARIES_DATA (UINT64_C(1) << 63)
typedef struct Varying {
  Refs nodes, ranges;      /* nodes: users last; ranges: those beyond 63 are left out */
  uint64_t *by;            /* of each node */
  RefMap at;               /* node to its place + 1 */
} Varying;
void varying_open(const IR *ir, Ref nest, Varying *v);
uint64_t varying_of(const Varying *v, Ref r);
void varying_free(Varying *v);

bool keeps_order(const IR *ir, Ref red, const Target *t); /* its terms may not be taken in another order */
bool range_selects(IR *ir, Ref root, Ref r); /* r is short and decides which of several values is computed */

/* heuristic.c: the schedule of a nest by the analytic model of cost/tile.c; microseconds */
Opts heuristic_opts(IR *ir, const Nest *n, const Target *t);
enum { HEURISTIC_MOST = 16 };
/* the best few that are not alike, the cheapest first; room <= HEURISTIC_MOST */
int heuristic_best(IR *ir, const Nest *n, const Target *t, int room, Opts *out);

/* schedules for what o leaves, where it has none: by the model, unless they follow from o */
void opts_complete(IR *ir, Ref nest, const Target *t, Opts *o);

/* opts.c: adds the nests that o leaves */
void opts_parts(IR *ir, Ref nest, const Opts *o, Remnants *parts);
/* k has nest `nest` as a state behind the one at `at` and its rests, with that schedule; its place */
size_t rest_add(Plan *p, Kernel *k, size_t at, Ref nest, const char *opts);
void opts_replace(Opts *o, Ref r, Ref now);  /* what o says of range r, it says of another one */

/* a reduction below root does not vary along r, a range of its nest: the rest of a tile along r is no nest of its own */
bool reduction_repeats(IR *ir, Ref root, Ref r);

/* peel.c */
const char *peel_refuses(IR *ir, Ref nest, Ref r);          /* NULL: r may be peeled */
Ref peel_apply(IR *ir, Ref nest, Opts *o, Refs *borders);   /* the interior, which o is about then */
void peel_state(Plan *p, Kernel *k, size_t at);             /* leaves the interior at its place, borders behind it */

/* opts_text.c: schedules as text. A range's name is its place among the nest's and then its reductions' */
void nest_ranges(const IR *ir, Ref nest, Refs *out);
int range_place(const Refs *ranges, Ref r);                       /* -1: not there */
void opts_print(const IR *ir, Ref nest, const Opts *o, Sb *out);  /* "{ vec(r1,8) }" */
const char *opts_parse(IR *ir, Ref nest, const Target *t, const char *text, size_t n, Opts *o); /* NULL, or what is wrong */
const char *opts_end(const char *text, const char *end); /* behind the brace that ends the schedule; NULL: there is none */
Opts opts_read(IR *ir, Ref nest, const char *text);               /* one that has been checked */
double opts_statements(IR *ir, Ref nest, const Opts *o);          /* after expansion, at most */
const char *opts_check(IR *ir, Ref nest, const Target *t, const Opts *o); /* NULL: it may be applied */

/* nestkey.c: 64 hex digits that name a canonical nest on a target; equal ones can share a schedule */
void nest_key(IR *ir, Ref nest, const Target *t, const Backend *b, char out[65]);
/* a question about a kernel (ir/decisions.h), by the keys of all of its canonical nests */
Question ask_kernel(const Plan *p, const char *pass, const Kernel *k);

/* pack.c: an index with stairs, quotients of a range that are 0 or more, as ranges in their place: what a range walks one by
 * one is then affine, and memory is that of the steps. */
typedef struct FloorDivs { int n; Ref term[MAX_RANGES], range[MAX_RANGES], step[MAX_RANGES]; } FloorDivs; /* step for term */
Ref floordivs_open(IR *ir, Ref index, FloorDivs *s); /* the index with the steps; itself where it has no stairs */
/* the place of a range among the loops, tiles and lanes of a nest, whose nodes are all */
int walk_order(const IR *ir, const Refs *all, Ref nest, Ref range);

/* stage.c: panels of operands in memory of the kernel's own */
const char *stage_refuses(IR *ir, Ref nest, const Target *t, const Opts *o); /* NULL: the panels of o->staged may be copied */
/* prefetch.c. Digits for the panels of all nests of a kernel in turn: 1 for those to ask for. *given: moves on, at its end all
 * are 0; NULL: by the facts of the target. made: those that count */
Ref prefetch_nest(IR *ir, Ref nest, const Target *t, const char **given, Sb *made);

/* dependence.c: the addresses of an access: base + c * chunk in chunk c, and the sum of its terms' values */
typedef struct Term { int64_t step, n; } Term; /* step > 0; values 0 .. n - 1 of it */
typedef struct Addresses {
  int64_t base, chunk;
  bool chunked;            /* else any chunk may make it, and chunk is 0 */
  int n;
  Term term[MAX_RANGES + 1];
} Addresses;
/* proved: no address of a in a chunk is one of b in another */
bool addresses_independent(const Addresses *a, const Addresses *b, int64_t chunks);

/* affinity.c: in whose cache values are. A loop that is shared walks a buffer in spans, which it divides among threads */
typedef struct Affinity Affinity;
enum { SPAN_NONE = 0, SPAN_ONE = -1 };      /* each thread has all of it; one thread has it */
int64_t affinity_span(IR *ir, Ref index, Ref range); /* elements; SPAN_NONE: the index does not vary with the loop */
void affinity_end(Plan *p);
/* the part of a buffer that comes to be in two caches by reading it so; -1: not known */
double affinity_reading(const Plan *p, int64_t buf, int64_t span);
double affinity_storing(const Plan *p, int64_t buf, int64_t span); /* or by what reads it, at best, where it is stored so */
void affinity_note(const Plan *p, int64_t buf, bool store, int64_t span);


/* bounds.c: proofs that accesses lie inside their buffers */
typedef enum { PROOF_NONE, PROOF_ALGEBRA, PROOF_RANGES } Proof; /* by bounds and linear inequalities; by running loops' values */
typedef struct Bounds Bounds;
Bounds *bounds_open(const Plan *p);         /* the caller closes it */
void bounds_close(Bounds *b);
Proof bounds_of(Bounds *b, Ref access);     /* of a LOAD, STORE, TILE or PART of a program, with its gate */
void bounds_note(Bounds *b, const Refs *prog); /* what its stores leave in buffers of integers, for programs that load it */
/* the program with the pointers to k's buffers moved on by so many elements; k's own has been noted */
bool bounds_moved(Bounds *b, const Kernel *k, const Refs *prog, const int64_t *shift);
void kernel_bounds(Bounds *b, Kernel *k);   /* gives k->bounds; clamps what is not proved. Kernels in order of execution */
void plan_bounds(Plan *p);                  /* all kernels */
bool plan_in_bounds(const Plan *p, Sb *why); /* changes nothing; false: *why names the first access that is not proved */

/* libm.c: a function as arithmetic, or 0; scalb: the machine has SCALB for so many lanes */
void kernel_functions(Plan *p); /* functions.c */
/* rebase.c: the program with its buffers counted from where it begins to touch them, and that, in elements; false: from the
 * first element on, all of them */
bool kernel_rebase(IR *ir, const Kernel *k, Refs *prog, int64_t *shift);
Ref libm_expr(IR *ir, Ref r, bool scalb);
bool libm_has(Op op, DType d);           /* whether it is one of those */

/* retile.c: a schedule for other vectors with the same tiles, false: there is none */
bool opts_retile(IR *ir, Ref nest, const Target *from, const Target *to, Opts *o);

void variants_make(Plan *p); /* variants.c: p->variants, one for each machine of a fat target */

/* ---- the steps (steps.h); k is NULL for those of scope SCOPE_PLAN ----
 * In files of other names are even and number (canon.c), cost, schedule and locals (lower.c), groups (group.c), affinity
 * (affinity.c), dot_groups (dot_ops.c), reorder, rests and tile (opts.c), match and reuse (dedup.c), programs (linearize.c),
 * variants (steps.c). */
#define STEP(letter, name, scope, kinds, level, needs, gives, gloss) void step_##name(Plan *p, Kernel *k);
#include "steps.h"
#undef STEP
enum {
#define STEP(letter, name, scope, kinds, level, needs, gives, gloss) STEP_##name,
#include "steps.h"
#undef STEP
  STEP_COUNT
};
typedef enum { SCOPE_NEST, SCOPE_KERNEL, SCOPE_PLAN } Scope;
typedef enum { KIND_ANY, KIND_CPU } TargetKind; /* what a step serves: any target, or one of cores with caches and vectors */
typedef struct KernelStep {
  char letter;
  const char *name;
  void (*run)(Plan *p, Kernel *k);
  Scope scope;
  TargetKind kind;
  Level level;             /* of the text after it */
  const char *needs, *gives, *gloss;
} KernelStep;
extern const KernelStep step_table[STEP_COUNT]; /* steps.c */
extern const char *const scope_name[], *const kind_name[];
/* One step, over all kernels or the plan; kernels that the plan does not have in code are left out */
void step_run(Plan *p, const KernelStep *s, void (*progress)(void *arg, const char *stage, int done, int total), void *arg);
void kernel_lower(Plan *p, int k);          /* all steps but those of the plan: a kernel by itself, .sink to .prog */
void kernel_buffers(const IR *ir, Kernel *k); /* linearize.c: those that its program names, in the order in which it does */
void steps_end(Plan *p);                    /* frees what steps hand to each other */
/* k's nests are nests, and opts are about ranges of theirs; bug() if not. known: nests that were verified before */
void step_verify(const Plan *p, const KernelStep *s, const Kernel *k, RefMap *known);
void step_print(const Plan *p, int k, Sb *out); /* kernel k's nests, and what is still to be done to them */
/* states.c: every nest of a kernel by f */
void each_state(Plan *p, Kernel *k, void (*f)(Plan *p, NestState *s));
void states_nests(const Kernel *k, Refs *out);
void states_put(Kernel *k, Refs *nests);    /* in the same order; frees nests */
#endif

/* SPDX-License-Identifier: MIT */
/* opts.h: schedules of nests. A schedule is a list of opts. Declared here: its text, its legality, the heuristics that choose
 * it, and the passes that apply it. */
#ifndef TGC_OPTS_H
#define TGC_OPTS_H
#include "../cost/tile.h"
#include "../nest/nest.h"
#include "../target/matrix_units.h"

/* One opt: split a range into loop x copies x lanes. A nest's schedule is a list of these. */
typedef struct Opt {
  Ref range;
  int unroll;              /* consecutive copies in the innermost loop */
  int lanes;
  bool partial;            /* PARTIAL: each copy of a reduction has an accumulator */
  bool rows;               /* ROWS: the lanes are the rows of a matrix unit's tile */
  bool grid;               /* GRID, on a device: the remaining loop over the range becomes blocks */
  int threads;             /* threads of a block that share the range: LOCAL in a nest, GROUP in a reduction; 0: none */
} Opt;
/* OUTER moves a range's loop outside the other loops of its nest or reduction. TILE does so with a loop over blocks of `block`
 * values. */
typedef struct Move { Ref range; int block; } Move; /* block 0: the range's own loop */
enum { MAX_TILE = 1024, MAX_CHUNKS = 64 }; /* most values of a tile; most chunks of a kernel */
enum { MAX_DEPTH = 16, MAX_BRACES = 256 }; /* most levels of nested schedules in a text; most schedules in it */
enum { SPLIT_MOST = 1 << 24 }; /* most parts of the sums of a nest */
enum { MAX_MOVES = 8, MAX_PEELED = 4, MAX_PARTS = 24 };
typedef struct Opts {
  int n;
  Opt opt[MAX_RANGES];
  int nmoved;
  Move moved[MAX_MOVES];    /* outermost first */
  int npeeled;
  Ref peeled[MAX_PEELED];  /* PEEL: ranges cut into borders and an interior; the other opts apply to the interior */
  Ref staged;              /* STAGE: operands are copied in panels, one for each tile of this range; 0: none */
  Ref split;               /* SPLIT, on a device: range of a reduction; a block of its own sums each part; 0: none */
  int sum_parts;           /* number of parts of each sum; `part` then has one schedule, for the nest that adds the parts */
  int depth;               /* on a device: terms in a round of the reduction that `staged` belongs to; 0 on a CPU */
  Ref grouped;             /* range whose values an instruction takes in groups; its opts split groups, not values; 0: none */
  const struct IsaOp *isa_op; /* dot_ops.h; NULL: none */
  const MatrixUnit *unit;  /* MMA, on a device: the unit that multiplies panels; NULL: each thread does */
  Ref side[2];             /* ranges of the nest for the rows and the columns of the unit's matrices */
  int threads;             /* chunks that the nest asks for in its kernel; 0: the cost model decides */
  int nparts, nborders;    /* number of schedules in `part`; the first ones are for borders */
  const char *part[MAX_PARTS]; /* a schedule for each remnant, as text; ranges have their places in the remnant's nest. nparts is 0 until
                              the schedules are chosen */
} Opts;

/* A nest that a schedule leaves beside its tiles: a border of a peeled range, or the rest of a tile or block. */
typedef struct Remnant {
  Ref nest;
  bool border, own;        /* own: its schedule is chosen separately; else it follows from that of the main nest */
  Opts opts;               /* set unless own */
} Remnant;
typedef VEC(Remnant) Remnants;

/* ---- opts_list.c ---- */
void opts_replace(Opts *o, Ref r, Ref now);  /* replaces range r by `now` wherever o names it */
int unit_side(const Opts *o, Ref range);      /* extent of the range in a matrix of o->unit; 1: it is no side of one */
/* adds `nest` with the schedule `opts` to k->states, behind entry `at` and its rests; -> its index */
size_t rest_add(Plan *p, Kernel *k, size_t at, Ref nest, const char *opts);

/* ---- opts_text.c: schedules as text. A range's name is its place (nest_ranges) ---- */
void opts_print(const IR *ir, Ref nest, const Opts *o, Sb *out);  /* "{ vec(r1,8) }" */
const char *opts_scan(IR *ir, Ref nest, const char *text, size_t n, Opts *o); /* parses only; NULL, or an error message */
const char *opts_end(const char *text, const char *end); /* text behind the schedule's last brace; NULL: there is none */
Opts opts_read(IR *ir, Ref nest, const char *text);               /* parses a schedule that has been checked */

/* ---- legality.c ---- */
const char *opts_check(IR *ir, Ref nest, const Target *t, const Opts *o); /* NULL: it is legal; otherwise why not */
const char *opts_parse(IR *ir, Ref nest, const Target *t, const char *text, size_t n, Opts *o); /* NULL, or an error message */
double opts_statements(IR *ir, Ref nest, const Opts *o);          /* upper bound of statements after expansion */

/* ---- sized.c: ranges that end at a size of the run ---- */
void sized_opts(IR *ir, Ref nest, Opts *o);        /* removes panels, and blocks of sized ranges */
/* Gives the nest's sized ranges limits, and adds nests for the rests of their tiles. Changes o to name the new ranges. */
Ref sized_cut(IR *ir, Ref nest, Opts *o, Remnants *parts);
/* Splits each reduction over a range with a limit into whole tiles, vectors and single terms. */
Ref sized_sum(IR *ir, Ref root, const Opt *o);
void sized_check(IR *ir, Ref nest);                /* fails if a run would reach past memory of the caller */

/* ---- opts.c ---- */
void opts_parts(IR *ir, Ref nest, const Opts *o, Remnants *parts); /* appends the nests that o leaves */
Ref device_tile(IR *ir, Ref nest, const Opts *o);   /* on a device: splits all ranges and adds gates */

/* ---- device_opts.c: schedules for devices ---- */
const char *device_refuses(IR *ir, Ref nest, const Target *t, const Opts *o); /* why opts of ranges are illegal; NULL: legal */
/* for a nest with its opts applied: NULL, or the limit of the device that it exceeds; panels: bytes of its panels */
const char *block_refuses(IR *ir, Ref nest, const Device *d, int64_t panels);
/* splits a range into blocks or loops, copies, threads, and matrices of `side` values; gates skip values past its end */
Ref device_split(IR *ir, Ref nest, const Opt *o, int side);
bool unit_turned(const IR *ir, Ref nest, const Opts *o); /* the loop over columns is outside of the loop over rows */
/* puts the sides of matrices innermost and adds the threads of a warp as a range; u: may be NULL */
Ref device_warp(IR *ir, Ref nest, const MatrixUnit *u, bool turned);
Ref device_order(IR *ir, Ref nest);                 /* blocks outermost, then threads; a thread's sum inside its group's */

/* The threads of a block, for a nest over blocks and threads. Threads of a group share a result of a reduction. They are the
 * threads of nest ranges on which the result does not depend, or additional threads. */
typedef struct BlockThreads {
  int n;
  Ref range[MAX_RANGES];   /* LOCAL ranges as in the nest, and GROUP ranges whose groups have additional threads */
  int64_t threads, blocks; /* products of extents */
  int64_t shared_bytes;    /* shared memory for sums of groups and for panels */
} BlockThreads;
/* the nest in which ranges of groups are threads. A group uses the threads of other ranges if these fit, else additional ones */
Ref block_threads(IR *ir, Ref nest, BlockThreads *b);
/* A group is summed in two steps: each of `firsts` threads adds an equal share, then all threads add the results. */
static inline int group_firsts(int64_t group) { int n = 1; while ((int64_t)n * n * 4 <= group) n *= 2; return n; }

/* ---- device_contraction.c: tiles for sums of products, by the device's facts; the best few, best first ---- */
int device_contraction_best(IR *ir, Ref nest, const Target *t, int room, Opts *out); /* number of schedules; 0: no tile pays */

/* ---- device_heuristic.c: schedules by the device's facts ---- */
Opts device_opts(IR *ir, Ref nest, const Target *t);
int device_best(IR *ir, Ref nest, const Target *t, int room, Opts *out); /* first the schedule of device_opts, if not empty */

/* ---- peel.c ---- */
const char *peel_refuses(IR *ir, Ref nest, Ref r);          /* NULL: r may be peeled */
Ref peel_apply(IR *ir, Ref nest, Opts *o, Refs *borders);   /* returns the interior; changes o to name the interior's ranges */
void peel_state(Plan *p, Kernel *k, size_t at);             /* puts the interior in place of state `at`, borders behind it */

/* ---- stage.c: panels of operands, copied into memory of the kernel ---- */
const char *stage_refuses(IR *ir, Ref nest, const Target *t, const Opts *o); /* NULL: panels of o->staged may be copied */

/* ---- split_sums.c: sums in parts ---- */
const char *split_refuses(IR *ir, Ref nest, const Target *t, const Opts *o); /* NULL: sums over o->split may be in parts */
int64_t split_elems(IR *ir, Ref nest, const Opts *o, DType *d); /* elements of the buffer of parts; their type */
/* returns the nest that computes the parts, and changes o to name its ranges; *adds: the nest that adds the parts */
Ref split_sums(IR *ir, Ref nest, Opts *o, Ref buffer, Ref *adds);

/* ---- stage_shared.c: panels in shared memory of a block ---- */
/* Elements of a vector that a thread can load from a panel, if so many of its copies are contiguous: 4, 2 or 1 */
int staged_vector(int64_t copies);
/* Elements from one term of a panel to the next, if neighbours store contiguous terms of one element: they meet different banks.
 * width: elements of a term. beside: elements of a vector, which the pitch keeps aligned; 4, 2 or 1 */
int64_t staged_pitch(const Device *d, int64_t width, int64_t depth, int64_t beside);
typedef struct StagedSum {
  Ref red;
  Ref factor[2];
  bool shared[2];          /* several threads or copies read the same element */
} StagedSum;
const char *staged_product(IR *ir, Ref nest, Ref r, StagedSum *p); /* NULL: range r's reduction sums products */
enum { BYTES_SUMMED = 4 }; /* products of 8-bit integers that one instruction sums (DEVF_INT_DOT) */
/* Whether the device can sum the products in fours, because it has the instruction and both factors are 8-bit integers. The
 * instruction is used only if both factors are in panels. */
bool sums_bytes(const IR *ir, const Device *d, const StagedSum *p);
/* the factor as a value of type d: itself, or the value from which it is converted; 0: neither has type d */
Ref unit_factor(const IR *ir, Ref factor, DType d);
/* by how many elements the index grows when the range goes from 0 to 1 and all other ranges are 0; INT64_MAX: unknown */
int64_t memory_step(IR *ir, Ref index, Ref range);
Ref main_load(IR *ir, Ref factor);          /* the load whose index has the most ranges; 0: there is no load */
/* NULL: the reduction over o->staged may run in rounds of o->depth terms; *bytes: shared memory for its panels */
const char *stage_shared_refuses(IR *ir, Ref nest, const Opts *o, int64_t *bytes);
/* for a nest over threads and copies; u: the unit that multiplies the panels, or NULL */
Ref stage_shared(IR *ir, Ref nest, const Target *t, Ref range, int depth, const MatrixUnit *u);

/* ---- heuristic.c: schedules by the analytic model of cost/tile.c; takes microseconds ---- */
Opts heuristic_opts(IR *ir, const Nest *n, const Target *t);
enum { HEURISTIC_MOST = 16 };
/* The best few schedules, cheapest first; room <= HEURISTIC_MOST. Schedules that differ only in copies of a range count once. */
int heuristic_best(IR *ir, const Nest *n, const Target *t, int room, Opts *out);
Opts default_opts(IR *ir, Ref nest, const Target *t); /* heuristic_opts; device_opts for devices */
int default_best(IR *ir, Ref nest, const Target *t, int room, Opts *out); /* heuristic_best; device_best for devices */
/* adds schedules for remnants, if o has none: those that follow from o, else the cost model's choice */
void opts_complete(IR *ir, Ref nest, const Target *t, Opts *o);

/* ---- retile.c: rewrites a schedule for the vectors of another target, with tiles of the same size; false: impossible ---- */
bool opts_retile(IR *ir, Ref nest, const Target *from, const Target *to, Opts *o);
#endif

/* SPDX-License-Identifier: MIT */
/* opts.h: schedules of nests. A schedule is a list of opts. Declared here: its text, its legality, the heuristics that choose
 * it, and the functions that apply it. */
#ifndef TGC_OPTS_H
#define TGC_OPTS_H
#include "../cost/tile.h"
#include "../nest/nest.h"
#include "../target/matrix_units.h"

/* The opts of one range. They split it into a loop, copies of its body, and lanes. */
typedef struct Opt {
  Ref range;
  int unroll;              /* copies of the body in the innermost loop; 1: none but the body itself */
  int lanes;               /* lanes of vectors; 1: no vectors */
  bool partial;            /* PARTIAL: each copy of a reduction has an accumulator */
  bool rows;               /* ROWS: the lanes are the rows of a matrix unit's tile */
  bool grid;               /* GRID, on a device: the iterations of the remaining loop become blocks of threads */
  int threads;             /* threads of a block that share the range: LOCAL in a nest, GROUP in a reduction; 0: none */
} Opt;
/* OUTER moves the loop of a range outside of the other loops of its nest or reduction, and `block` is 0. TILE moves only a loop
 * over blocks of `block` values. */
typedef struct Move { Ref range; int block; } Move;
enum { MAX_TILE = 1024, MAX_CHUNKS = 64 }; /* most values of a range in one tile; most chunks of a kernel */
enum { MAX_DEPTH = 16, MAX_BRACES = 256 }; /* most levels of nested schedules in a text; most schedules in it */
enum { SPLIT_MOST = 1 << 24 }; /* most parts of the sums of a nest */
enum { MAX_MOVES = 8, MAX_PEELED = 4, MAX_PARTS = 24 }; /* lengths of arrays in Opts */
typedef struct Opts {      /* a schedule */
  int n;                   /* number of ranges with opts */
  Opt opt[MAX_RANGES];
  int nmoved;
  Move moved[MAX_MOVES];    /* outermost first */
  int npeeled;
  Ref peeled[MAX_PEELED];  /* PEEL: ranges cut into borders and an interior; the other opts apply to the interior */
  Ref staged;              /* STAGE: operands are copied in panels, one for each tile of this range; 0: none */
  Ref split;               /* SPLIT, on a device: range of a reduction whose parts are summed by different blocks; 0: none */
  int sum_parts;           /* number of these parts; if `split` is set, `part` has one schedule, for the nest that adds them */
  int depth;               /* on a device: terms that panels hold, and that a round of the reduction over `staged` sums; else 0 */
  Ref grouped;             /* range whose values an instruction takes in groups; its Opt splits groups, not values; 0: none */
  const struct IsaOp *isa_op; /* this instruction (dot_ops.h); NULL: none */
  const MatrixUnit *unit;  /* MMA, on a device: the unit that multiplies panels; NULL: each thread does */
  Ref side[2];             /* with `unit`: the ranges of the nest that are the rows and the columns of its matrices */
  int threads;             /* THREADS: number of chunks of the kernel; 0: the cost model decides */
  int nparts, nborders;    /* schedules in `part`, 0 until they are chosen; the first nborders of them are for borders */
  const char *part[MAX_PARTS]; /* a schedule for each remnant, as text; it names ranges by places in the remnant's nest */
} Opts;

/* A nest that a schedule leaves beside its tiles: a border of a peeled range, or the rest of a tile or block. */
typedef struct Remnant {
  Ref nest;
  bool border, own;        /* own: its schedule is chosen separately; else it follows from the main nest's schedule */
  Opts opts;               /* its schedule, unless `own` is set */
} Remnant;
typedef VEC(Remnant) Remnants;

/* ---- opts_list.c ---- */
void opts_replace(Opts *o, Ref r, Ref now);  /* replaces range r by `now` in o, but not in o->split and o->grouped */
int unit_side(const Opts *o, Ref range);      /* values of the range in one matrix of o->unit; 1: the range is none of o->side */
/* Inserts `nest` with the schedule `opts` into k->states, behind entry `at` and all remnants of that entry. Returns its index */
size_t rest_add(Plan *p, Kernel *k, size_t at, Ref nest, const char *opts);

/* ---- opts_text.c: schedules as text. A range's name is its place (nest_ranges) ---- */
void opts_print(const IR *ir, Ref nest, const Opts *o, Sb *out);  /* "{ vec(r1,8) }" */
const char *opts_scan(IR *ir, Ref nest, const char *text, size_t n, Opts *o); /* does not check it; NULL, or an error message */
const char *opts_end(const char *text, const char *end); /* end of the schedule at `text`; NULL: no brace closes it */
Opts opts_read(IR *ir, Ref nest, const char *text);               /* parses a schedule that was checked before */

/* ---- legality.c ---- */
const char *opts_check(IR *ir, Ref nest, const Target *t, const Opts *o); /* NULL: it is legal; otherwise why not */
const char *opts_parse(IR *ir, Ref nest, const Target *t, const char *text, size_t n, Opts *o); /* opts_scan and opts_check */
double opts_statements(IR *ir, Ref nest, const Opts *o);          /* upper bound of the nest's statements after expansion */

/* ---- sized.c: ranges that end at a size of the run ---- */
void sized_opts(IR *ir, Ref nest, Opts *o);        /* if the nest has sized ranges: removes panels, and blocks of these ranges */
/* Gives limits to the nest's sized ranges, and adds nests for the rests of their tiles to `parts`. Changes o to name the new
 * ranges. */
Ref sized_cut(IR *ir, Ref nest, Opts *o, Remnants *parts);
/* Splits each reduction over o->range, which has a limit, into reductions over whole tiles, vectors and single terms. */
Ref sized_sum(IR *ir, Ref root, const Opt *o);
Ref less_i32(IR *ir, Ref a, Ref b);                /* a < b, of indices as i32: vectors of i32 are compared by one instruction */
void sized_check(IR *ir, Ref nest);                /* fails if a run would reach past memory of the caller */

/* ---- opts.c ---- */
void opts_parts(IR *ir, Ref nest, const Opts *o, Remnants *parts); /* appends the nests that o leaves beside the tiles */
Ref device_tile(IR *ir, Ref nest, const Opts *o);   /* on a device: device_split for all ranges of o */

/* ---- device_opts.c: schedules for devices ---- */
const char *device_refuses(IR *ir, Ref nest, const Target *t, const Opts *o); /* why opts of ranges are illegal; NULL: legal */
/* For a nest with its opts applied: NULL, or which limit of the device it exceeds. panels: bytes of its panels */
const char *block_refuses(IR *ir, Ref nest, const Device *d, int64_t panels);
/* Splits the range of o into blocks or a loop, copies, threads, lanes, and matrices with a side of `side` values. Gates skip
 * values past the range's end. */
Ref device_split(IR *ir, Ref nest, const Opt *o, int side);
bool unit_turned(const IR *ir, Ref nest, const Opts *o); /* for o->unit: the loop over columns is outside of the loop over rows */
/* Moves the loops over sides of the unit's matrices inside of the others, and adds a range for the threads of a warp. If u is
 * NULL, nothing changes. turned: as unit_turned says */
Ref device_warp(IR *ir, Ref nest, const MatrixUnit *u, bool turned);
Ref device_order(IR *ir, Ref nest);                 /* moves loops over blocks outermost, then those over threads; each sum of a
                                                       group becomes the sum of its threads' sums */

/* The threads of a block, for a nest over blocks and threads. The threads of a group compute one result of a reduction together.
 * They are the threads of ranges of the nest on which the result does not depend, those of another group, or additional ones. */
typedef struct BlockThreads {
  int n;
  Ref range[MAX_RANGES];   /* the nest's ranges of kind LOCAL, and the ranges of kind GROUP that have additional threads */
  int64_t threads, blocks; /* products of extents */
  int64_t shared_bytes;    /* shared memory for sums of groups and for panels */
} BlockThreads;
/* The nest with threads for the ranges of kind GROUP. A group uses the threads of other ranges if their number fits, else
 * additional ones. Fills in *b. */
Ref block_threads(IR *ir, Ref nest, BlockThreads *b);
/* The results of a group's threads are added in two steps. In the first step, this number of threads add an equal share each.
 * Then all threads of the group add up the results of the first step. */
static inline int group_firsts(int64_t group) { int n = 1; while ((int64_t)n * n * 4 <= group) n *= 2; return n; }

/* ---- device_contraction.c: tiles for sums of products, by the device's facts ---- */
/* Fills out with the best schedules, at most `room`, best first. Returns their number; 0: no tile pays */
int device_contraction_best(IR *ir, Ref nest, const Target *t, int room, Opts *out);

/* ---- device_heuristic.c: schedules by the device's facts ---- */
Opts device_opts(IR *ir, Ref nest, const Target *t);
/* Several good schedules, at most `room`; the first is that of device_opts, unless it is empty. Returns their number */
int device_best(IR *ir, Ref nest, const Target *t, int room, Opts *out);

/* ---- peel.c ---- */
const char *peel_refuses(IR *ir, Ref nest, Ref r);          /* NULL: r may be peeled */
Ref peel_apply(IR *ir, Ref nest, Opts *o, Refs *borders);   /* returns the interior; changes o to name the interior's ranges */
void peel_state(Plan *p, Kernel *k, size_t at);             /* replaces k->states.p[at] by the interior, with borders behind it */

/* ---- stage.c: panels of operands, copied into memory of the kernel ---- */
const char *stage_refuses(IR *ir, Ref nest, const Target *t, const Opts *o); /* NULL: panels of o->staged may be copied */

/* ---- split_sums.c: sums in parts ---- */
const char *split_refuses(IR *ir, Ref nest, const Target *t, const Opts *o); /* NULL: sums over o->split may be in parts */
int64_t split_elems(IR *ir, Ref nest, const Opts *o, DType *d); /* elements of the buffer for the parts; *d: their type */
/* Returns the nest that stores the parts to `buffer`, and changes o to name its ranges. *adds: the nest that adds the parts */
Ref split_sums(IR *ir, Ref nest, Opts *o, Ref buffer, Ref *adds);

/* ---- stage_shared.c: panels in shared memory of a block ---- */
/* Elements that a thread can load from a panel as one vector: 4, 2 or 1. copies: number of contiguous elements that the thread's
 * copies read */
int staged_vector(int64_t copies);
/* Pitch of a panel: elements from one term to the next. Neighbouring threads may store the same element of consecutive terms.
 * With this pitch they access different banks. width: elements of a term. depth: terms of the panel. beside: elements of a vector
 * (4, 2 or 1), which the pitch keeps aligned */
int64_t staged_pitch(const Device *d, int64_t width, int64_t depth, int64_t beside);
typedef struct StagedSum { /* a sum of products whose factors may be in panels */
  Ref red;
  Ref factor[2];
  bool shared[2];          /* by factor: several threads or copies read the same element */
} StagedSum;
const char *staged_product(IR *ir, Ref nest, Ref r, StagedSum *p); /* NULL: range r's reduction is a sum of products, *p */
enum { BYTES_SUMMED = 4 }; /* products of 8-bit integers that one instruction sums (DEVF_INT_DOT) */
/* Whether the device can sum the products in fours, because it has the instruction and both factors are 8-bit integers. The
 * instruction is used only if both factors are in panels. */
bool sums_bytes(const IR *ir, const Device *d, const StagedSum *p);
/* The factor as a value of type d: the factor itself, or the value from which it is converted; 0: neither has type d */
Ref unit_factor(const IR *ir, Ref factor, DType d);
/* Number of elements by which the index moves, up or down, when the range goes from 0 to 1. All other ranges are 0. INT64_MAX:
 * unknown */
int64_t memory_step(IR *ir, Ref index, Ref range);
Ref main_load(IR *ir, Ref factor);          /* the load whose index has the most ranges; 0: there is no load */
/* NULL: the reduction over o->staged may run in rounds of o->depth terms, and *bytes is the shared memory for its panels.
 * Otherwise why not */
const char *stage_shared_refuses(IR *ir, Ref nest, const Opts *o, int64_t *bytes);
/* Applies STAGE to a nest over threads and copies. range: Opts.staged; u: the unit that multiplies the panels, or NULL */
Ref stage_shared(IR *ir, Ref nest, const Target *t, Ref range, int depth, const MatrixUnit *u);

/* ---- heuristic.c: schedules by the analytic model of cost/tile.c; takes microseconds ---- */
Opts heuristic_opts(IR *ir, const Nest *n, const Target *t);
enum { HEURISTIC_MOST = 16 };
/* The best schedules, at most `room`, cheapest first; room <= HEURISTIC_MOST. If schedules differ only in copies of
 * a range, only the best one is among them. Returns their number. */
int heuristic_best(IR *ir, const Nest *n, const Target *t, int room, Opts *out);
Opts default_opts(IR *ir, Ref nest, const Target *t); /* device_opts for devices with threads; else heuristic_opts. For
                                                         a long sized range it may be the schedule of a shorter one */
int default_best(IR *ir, Ref nest, const Target *t, int room, Opts *out); /* device_best for devices with
                                                                             threads; else heuristic_best */
/* Removes opts that sized ranges forbid (sized_opts). Then adds schedules for remnants, if o has none: they follow from o, or the
 * cost model chooses them (Remnant.own). On a device with threads it changes only schedules with SPLIT. */
void opts_complete(IR *ir, Ref nest, const Target *t, Opts *o);

/* ---- retile.c: rewrites a schedule for the vectors of the target `to`, with tiles of the same size, and removes the schedules
 * of its remnants; false: impossible ---- */
bool opts_retile(IR *ir, Ref nest, const Target *from, const Target *to, Opts *o);
#endif

/* SPDX-License-Identifier: MIT */
/* opts.h: schedules of nests. A schedule is a list of opts. Functions here read and print schedules, check whether they are
 * legal, choose them by heuristics, and apply them. */
#ifndef TGC_OPTS_H
#define TGC_OPTS_H
#include "../cost/tile.h"
#include "../nest/nest.h"
#include "../target/matrix_units.h"

/* The opts of one range. They split the range into a loop, copies of the loop's body, and lanes. */
typedef struct Opt {
  Ref range;
  int unroll;              /* copies of the body in the innermost loop; 1: none but the body itself */
  int lanes;               /* lanes of vectors; 1: no vectors */
  bool partial;            /* PARTIAL: each copy of a reduction has an accumulator */
  bool rows;               /* ROWS: the lanes are the rows of a matrix unit's tile */
  bool grid;               /* GRID, on a device: the iterations of the remaining loop become blocks of threads */
  int threads;             /* threads of a block that share the range: LOCAL in a nest, GROUP in a reduction; 0: none */
} Opt;
/* The opt OUTER (`block` is 0) moves the loop of a range outside of the other loops of its nest or reduction. The opt TILE moves
 * only a loop over blocks of `block` values. */
typedef struct Move { Ref range; int block; } Move;
enum { MAX_TILE = 1024, MAX_CHUNKS = 64 }; /* most values of a range in one tile; most chunks of a kernel */
enum { MAX_DEPTH = 16, MAX_BRACES = 256 }; /* most levels of nested schedules in a text; most schedules in a text */
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
  int sum_parts;           /* if `split` is set: number of parts of a sum. Then `part` has one schedule: of the nest that adds the
                              parts */
  int depth;               /* on a device: terms of a panel, which one round of the reduction over `staged` sums; else 0 */
  Ref grouped;             /* range whose values an instruction takes in groups; its Opt splits groups, not values; 0: none */
  const struct IsaOp *isa_op; /* the instruction that takes the values of `grouped` (dot_ops.h); NULL: none */
  const MatrixUnit *unit;  /* MMA, on a device: the unit that multiplies panels; NULL: each thread does */
  Ref side[2];             /* if `unit` is set: the ranges of the nest that are the rows and the columns of the unit's matrices */
  int threads;             /* THREADS: number of chunks of the kernel; 0: the cost model decides */
  int nparts, nborders;    /* schedules in `part`, 0 until they are chosen; the first nborders of them are for borders */
  const char *part[MAX_PARTS]; /* a schedule for each remnant, as text with the names of the remnant's ranges */
} Opts;

/* A nest that a schedule leaves beside its tiles: a border of a peeled range, or the rest of a tile or block. With SPLIT, the
 * only remnant is the nest that adds the parts. */
typedef struct Remnant {
  Ref nest;
  bool border, own;        /* own: the remnant's schedule is chosen separately; else it follows from the main nest's schedule */
  Opts opts;               /* if `own` is false: the schedule that follows */
} Remnant;
typedef VEC(Remnant) Remnants;

/* ---- opts_list.c ---- */
void opts_replace(Opts *o, Ref r, Ref now);  /* replaces range r by `now` in o, but not in o->split and o->grouped */
int unit_side(const Opts *o, Ref range);      /* values of the range in one matrix of o->unit; 1: the range is none of o->side */
/* Inserts `nest` with the schedule `opts` into k->states, behind k->states.p[at] and all remnants of that nest. Returns the index
 * of the inserted nest */
size_t rest_add(Plan *p, Kernel *k, size_t at, Ref nest, const char *opts);

/* ---- opts_text.c: schedules as text. r0 is the first range of nest_ranges, r1 the next one ---- */
void opts_print(const IR *ir, Ref nest, const Opts *o, Sb *out);  /* "{ vec(r1,8) }" */
/* Parses a schedule, which may be illegal. Returns NULL, or a message if the text is malformed */
const char *opts_scan(IR *ir, Ref nest, const char *text, size_t n, Opts *o);
const char *opts_end(const char *text, const char *end); /* end of the schedule that begins at `text`; NULL: it has no end */
Opts opts_read(IR *ir, Ref nest, const char *text);               /* parses a schedule that was checked before */

/* ---- legality.c ---- */
const char *opts_check(IR *ir, Ref nest, const Target *t, const Opts *o); /* NULL: o is legal; otherwise the reason why not */
/* opts_scan, then opts_check. Returns the first message of the two functions, or NULL */
const char *opts_parse(IR *ir, Ref nest, const Target *t, const char *text, size_t n, Opts *o);
double opts_statements(IR *ir, Ref nest, const Opts *o);          /* upper bound of the nest's statements after expansion */

/* ---- sized.c: ranges that end at a size of the run ---- */
void sized_opts(IR *ir, Ref nest, Opts *o);        /* if the nest has sized ranges: removes panels, and blocks of these ranges */
void opts_drop(Opts *o, int i);                    /* removes tile number i */
bool shares_weights(IR *ir, Ref nest, Ref r); /* whether a sum of the nest has terms with weights that do not vary with r */
/* Gives limits to the nest's sized ranges, and adds nests for the rests of their tiles to `parts`. Returns the nest of the tiles,
 * and changes o to name its ranges. */
Ref sized_cut(IR *ir, Ref nest, Opts *o, Remnants *parts);
/* Splits each reduction over o->range, which has a limit, into a reduction over whole tiles and reductions over the rest. */
Ref sized_sum(IR *ir, Ref root, const Opt *o);
void sized_check(IR *ir, Ref nest);                /* fails if a run might reach past memory of the caller */

/* ---- opts.c ---- */
void opts_parts(IR *ir, Ref nest, const Opts *o, Remnants *parts); /* appends to `parts` the remnants that o leaves */
Ref device_tile(IR *ir, Ref nest, const Opts *o);   /* on a device: splits all ranges of o, and puts the loops in order */

/* ---- device_opts.c: schedules for devices ---- */
/* Why the opts of o are illegal; NULL: they are legal. Does not check STAGE and SPLIT, for which there are stage_shared_refuses
 * and split_refuses */
const char *device_refuses(IR *ir, Ref nest, const Target *t, const Opts *o);
/* For a nest with its opts applied: which limit of the device the nest exceeds, or NULL. panels: bytes of the nest's panels */
const char *block_refuses(IR *ir, Ref nest, const Device *d, int64_t panels);
/* Splits the range of o into blocks or a loop, copies, threads, lanes, and matrices with a side of `side` values. Gates skip
 * values past the range's end. */
Ref device_split(IR *ir, Ref nest, const Opt *o, int side);
bool unit_turned(const IR *ir, Ref nest, const Opts *o); /* for o->unit: the loop over columns is outside of the loop over rows */
/* Moves the loops over sides of the unit's matrices inside of the others, and adds a range for the threads of a warp. If u is
 * NULL, nothing changes. turned: as unit_turned says */
Ref device_warp(IR *ir, Ref nest, const MatrixUnit *u, bool turned);
/* Moves loops over blocks outermost, and loops over threads next. Each sum of a group becomes the sum of its threads' sums. */
Ref device_order(IR *ir, Ref nest);

/* The threads of a block, for a nest over blocks and threads. The threads of a group compute one result of a reduction together.
 * A group may consist of the threads of those ranges of the nest on which the result does not depend. Or it has the threads of
 * another group, or additional threads. */
typedef struct BlockThreads {
  int n;
  Ref range[MAX_RANGES];   /* the nest's ranges of kind LOCAL, and the ranges of kind GROUP that have additional threads */
  int64_t threads, blocks; /* products of extents */
  int64_t shared_bytes;    /* shared memory for sums of groups and for panels */
} BlockThreads;
/* Returns the nest with threads for the ranges of kind GROUP, and fills in *b. A group uses the threads of other ranges if their
 * number fits, else additional threads. */
Ref block_threads(IR *ir, Ref nest, BlockThreads *b);
/* The results of a group's threads are added in two steps. In the first step, this number of threads add an equal share each.
 * Then all threads of the group add up the results of the first step. */
static inline int group_firsts(int64_t group) { int n = 1; while ((int64_t)n * n * 4 <= group) n *= 2; return n; }

/* ---- device_contraction.c: tiles for sums of products, by the device's facts ---- */
/* Writes the best schedules to `out`, at most `room`, best first. Returns their number; 0: no tile pays */
int device_contraction_best(IR *ir, Ref nest, const Target *t, int room, Opts *out);

/* ---- device_heuristic.c: schedules by the device's facts ---- */
Opts device_opts(IR *ir, Ref nest, const Target *t);
/* Writes good schedules to `out`, at most `room`. The first one is that of device_opts. Returns their number; 0: device_opts
 * gives the empty schedule */
int device_best(IR *ir, Ref nest, const Target *t, int room, Opts *out);

/* ---- peel.c ---- */
const char *peel_refuses(IR *ir, Ref nest, Ref r);          /* why r may not be peeled; NULL: r may be peeled */
/* Returns the interior, and changes o to name the interior's ranges. Appends the nests of the borders to `borders` */
Ref peel_apply(IR *ir, Ref nest, Opts *o, Refs *borders);
void peel_state(Plan *p, Kernel *k, size_t at);             /* replaces k->states.p[at] by the interior, with borders behind it */

/* ---- stage.c: panels of operands, copied into memory of the kernel ---- */
const char *stage_refuses(IR *ir, Ref nest, const Target *t, const Opts *o); /* why STAGE is illegal; NULL: it is legal */

/* ---- split_sums.c: sums in parts ---- */
const char *split_refuses(IR *ir, Ref nest, const Target *t, const Opts *o); /* why SPLIT is illegal; NULL: it is legal */
int64_t split_elems(IR *ir, Ref nest, const Opts *o, DType *d); /* elements of the buffer for the parts; *d: their type */
/* Returns the nest that stores the parts to `buffer`, and changes o to name the ranges of this nest. *adds gets the nest that
 * adds the parts. */
Ref split_sums(IR *ir, Ref nest, Opts *o, Ref buffer, Ref *adds);

/* ---- stage_shared.c: panels in shared memory of a block ---- */
/* Number of elements that a thread can load from a panel as one vector: 4, 2 or 1. copies: number of contiguous elements that the
 * thread's copies read */
int staged_vector(int64_t copies);
/* Pitch of a panel: number of elements from one term to the next. Neighbouring threads may store the same element of consecutive
 * terms. With this pitch the threads access different banks, if there are enough. width: elements of a term. depth: terms of the
 * panel. beside: elements of a vector (4, 2 or 1). The pitch keeps vectors aligned. */
int64_t staged_pitch(const Device *d, int64_t width, int64_t depth, int64_t beside);
typedef struct StagedSum { /* a sum of products whose factors may be in panels */
  Ref red;
  Ref factor[2];
  bool shared[2];          /* by factor: several threads or copies read the same element; staged_product leaves it false */
} StagedSum;
/* Finds the reduction over range r. NULL: the reduction is a sum of products, which *p describes; otherwise why it is not */
const char *staged_product(IR *ir, Ref nest, Ref r, StagedSum *p);
enum { BYTES_SUMMED = 4 }; /* products of 8-bit integers that one instruction sums (DEVF_INT_DOT) */
/* Whether the device has an instruction that sums four products, and both factors are 8-bit integers that are converted to i32.
 * The instruction is used only if both factors are in panels. */
bool sums_bytes(const IR *ir, const Device *d, const StagedSum *p);
/* The factor as a value of type d: the factor itself, or the value from which it is converted; 0: neither has type d */
Ref unit_factor(const IR *ir, Ref factor, DType d);
/* Number of elements by which the index moves, up or down, when the range goes from 0 to 1 and all other ranges are 0. INT64_MAX:
 * unknown */
int64_t memory_step(IR *ir, Ref index, Ref range);
Ref main_load(IR *ir, Ref factor);          /* the load whose index has the most ranges; 0: there is no load */
/* Why the reduction over o->staged may not run in rounds of o->depth terms; NULL: it may. Adds the shared memory for the panels
 * to *bytes */
const char *stage_shared_refuses(IR *ir, Ref nest, const Opts *o, int64_t *bytes);
/* Applies STAGE to a nest over threads and copies. range: Opts.staged; depth: Opts.depth; u: the unit that multiplies the panels,
 * or NULL */
Ref stage_shared(IR *ir, Ref nest, const Target *t, Ref range, int depth, const MatrixUnit *u);

/* ---- heuristic.c: schedules by the analytic model of cost/tile.c ---- */
Opts heuristic_opts(IR *ir, const Nest *n, const Target *t);
enum { HEURISTIC_MOST = 16 };
/* Writes the best schedules to `out`, at most `room`, cheapest first; room <= HEURISTIC_MOST. If schedules differ only in the
 * number of copies of a range, only the best one is among them. Returns their number. */
int heuristic_best(IR *ir, const Nest *n, const Target *t, int room, Opts *out);
/* device_opts for devices with threads; else heuristic_opts. If the nest has a long sized range, the result may be the schedule
 * for a shorter range. */
Opts default_opts(IR *ir, Ref nest, const Target *t);
int default_best(IR *ir, Ref nest, const Target *t, int room, Opts *out); /* device_best for devices with
                                                                             threads; else heuristic_best */
/* Removes opts that sized ranges forbid (sized_opts). Then adds schedules for remnants, if o has none. A remnant's schedule
 * follows from o, or the cost model chooses it (Remnant.own). On a device with threads, only schedules with SPLIT change. */
void opts_complete(IR *ir, Ref nest, const Target *t, Opts *o);

/* ---- retile.c ---- */
/* Rewrites a schedule for the vectors of the target `to`, and removes the schedules of remnants. Tiles keep their sizes, except
 * along one range on which no weight depends. Returns false if this is impossible; then o is of no use. */
bool opts_retile(IR *ir, Ref nest, const Target *from, const Target *to, Opts *o);
#endif

/* SPDX-License-Identifier: MIT */
/* opts.h: schedules of nests. A schedule is a list of opts. The functions read, print, check, choose and apply
 * schedules. */
#ifndef TGC_OPTS_H
#define TGC_OPTS_H
#include "../cost/tile.h"
#include "../nest/nest.h"
#include "../target/matrix_units.h"

/* The opts of one range. The opts split the range into a loop, copies of the loop's body, and lanes. */
typedef struct Opt {
  Ref range;
  int unroll;              /* UNROLL: number of copies of the loop's body; 1: the loop has one body */
  int lanes;               /* VEC: number of lanes of the vectors; 1: no vectors */
  bool partial;            /* PARTIAL, for a range of a reduction: each copy has an accumulator of its own */
  bool rows;               /* ROWS: the lanes are the rows of a matrix instruction's tile */
  bool grid;               /* GRID, on a device: the iterations of the loop become blocks of threads */
  int threads;             /* on a device: number of threads of a block that share the range; 0: the threads do not share it. The
                              opt is LOCAL for a range of the nest, and GROUP for a range of a reduction */
} Opt;
/* The opt OUTER (`block` is 0) moves the loop of a range outside of the other loops of the nest or reduction. The opt TILE moves
 * only a loop over blocks of `block` values. */
typedef struct Move { Ref range; int block; } Move;
enum { MAX_TILE = 1024, MAX_CHUNKS = 64 }; /* MAX_TILE: most values of a range in one tile; MAX_CHUNKS: most chunks of a kernel */
enum { MAX_DEPTH = 16, MAX_BRACES = 256 }; /* limits of the text of a schedule, which may have other
                                              schedules inside: MAX_DEPTH levels, MAX_BRACES schedules */
enum { SPLIT_MOST = 1 << 24 }; /* most partial sums of a nest with SPLIT: number of sums, times number of parts of a sum */
enum { MAX_MOVES = 8, MAX_PEELED = 4, MAX_PARTS = 24 }; /* lengths of arrays in Opts */
typedef struct Opts {      /* a schedule */
  int n;                   /* number of ranges with opts */
  Opt opt[MAX_RANGES];
  int nmoved;
  Move moved[MAX_MOVES];    /* outermost first */
  int npeeled;
  Ref peeled[MAX_PEELED];  /* PEEL: ranges that are cut into borders and an interior. The other opts apply to the interior */
  Ref staged;              /* STAGE: operands are copied in panels. On a CPU, there is one panel for each tile of this range. On a
                              device, this is a range of a reduction (see `depth`). 0: no panels */
  Ref split;               /* SPLIT, on a device: a range of a reduction. The range is cut into parts, and different blocks sum
                              the parts. 0: no range is cut */
  int sum_parts;           /* if `split` is set: number of parts into which each sum is cut. Then `part` has only the schedule of
                              the nest that adds the parts */
  int depth;               /* if `staged` is set, on a device: number of terms of a panel. One round of the reduction over
                              `staged` sums these terms. In all other cases, `depth` is 0 */
  Ref grouped;             /* TC: range whose values an instruction takes in groups. Applying TC makes a new range, whose values
                              are the groups. If opt[i].range is `grouped`, opt[i] then applies to the new range. 0: none */
  const struct IsaOp *isa_op; /* the instruction that takes the values of `grouped` (dot_ops.h); NULL: none */
  const MatrixUnit *unit;  /* MMA, on a device: the matrix unit that multiplies panels; NULL: each thread multiplies */
  Ref side[2];             /* if `unit` is set, two ranges of the nest: their values are the rows and the columns of the unit's
                              matrices */
  int threads;             /* THREADS: number of chunks of the kernel; 0: the cost model decides */
  int nparts, nborders;    /* nparts: number of schedules in `part`; 0 until these are chosen. The first nborders schedules
                              are for borders */
  const char *part[MAX_PARTS]; /* a schedule for each remnant, as text with the names of the remnant's ranges */
} Opts;

/* A nest that a schedule leaves beside the tiles of the main nest: a border of a peeled range, or the rest of a range. With
 * SPLIT, the only remnant is the nest that adds the parts. */
typedef struct Remnant {
  Ref nest;
  bool border, own;        /* border: the remnant is a border. own: the remnant's schedule is chosen separately; false: the
                              schedule follows from the main nest's schedule */
  Opts opts;               /* if `own` is false: the remnant's schedule */
} Remnant;
typedef VEC(Remnant) Remnants;

/* Returns the element of o->opt for range r, or NULL if there is none */
static inline const Opt *opt_along(const Opts *o, Ref r) {
  for (int i = 0; i < o->n; i++)
    if (o->opt[i].range == r) return &o->opt[i];
  return NULL;
}

/* ---- opts_list.c ---- */
void opts_replace(Opts *o, Ref r, Ref now);  /* replaces range r by `now` in all fields of o except `split` and
                                                `grouped` */
void opts_drop(Opts *o, int i);               /* removes o->opt[i] */
int unit_side(const Opts *o, Ref range);      /* number of rows of a matrix of sums of o->unit if `range` is o->side[0]; number of
                                                 columns if `range` is o->side[1]; otherwise 1 */
/* Inserts `nest`, with the schedule `opts`, into k->states: behind element `at` and behind the remnants of that element's nest.
 * Returns the index of the inserted nest. */
size_t rest_add(Plan *p, Kernel *k, size_t at, Ref nest, const char *opts);

/* ---- opts_text.c: schedules as text. In a text, rK names range number K of nest_ranges (nest.h), counted from 0 ---- */
void opts_print(const IR *ir, Ref nest, const Opts *o, Sb *out);  /* "{ vec(r1,8) }" */
/* Parses the n characters at `text` into *o. Returns NULL, or a message if the text is malformed. Does not check whether the
 * schedule is legal. */
const char *opts_scan(IR *ir, Ref nest, const char *text, size_t n, Opts *o);
/* Returns the end of the schedule that begins at `text`, or NULL if the schedule does not end before `end`. */
const char *opts_end(const char *text, const char *end);
Opts opts_read(IR *ir, Ref nest, const char *text);               /* parses a schedule that was checked before */

/* ---- legality.c ---- */
const char *opts_check(IR *ir, Ref nest, const Target *t, const Opts *o); /* returns why o is illegal, or NULL if o is legal */
/* Calls opts_scan, then opts_check. Returns the message of the first function that has one, or NULL. */
const char *opts_parse(IR *ir, Ref nest, const Target *t, const char *text, size_t n, Opts *o);
double opts_statements(IR *ir, Ref nest, const Opts *o);          /* upper bound of the number of the nest's statements after
                                                                     expansion */

/* ---- sized.c: sized ranges, which end at a size of the run ---- */
void sized_opts(IR *ir, Ref nest, Opts *o);        /* if the nest has sized ranges: removes from o STAGE, and TILE of sized
                                                      ranges */
bool shares_weights(IR *ir, Ref nest, Ref r); /* whether a reduction of the nest loads weights at indices that do not depend on
                                                 r */
/* Returns the nest for the whole tiles, in which sized ranges have limits (RANGE in ops.h). Adds the nests for the rests and the
 * padding of sized ranges to `parts`. Changes o to name the ranges of the returned nest. */
Ref sized_cut(IR *ir, Ref nest, const Target *t, Opts *o, Remnants *parts);

/* The gate may say that a lower tile of the nest has a given row. Then the function sets *row and returns a gate with the same
 * value. This gate says that the number of the tile is less than the number of tiles with the row. Otherwise, it returns 0,
 * and *row is undefined. */
Ref sized_row_gate(IR *ir, const Nest *n, Ref gate, int *row);
/* Returns `root` after splitting each reduction over o->range into a reduction over whole tiles and reductions over the rest.
 * o->range must have a limit. */
Ref sized_sum(IR *ir, Ref root, const Opt *o);
/* Returns the node for a < b. The indices a and b are compared as i32. */
Ref less_i32(IR *ir, Ref a, Ref b);
void sized_check(IR *ir, Ref nest);                /* fails if the nest might access elements past the end of a caller's buffer */

/* ---- sized_single.c ---- */
/* If the nest has lanes along a dimension that may be one entry, appends a nest to `parts` that serves the runs of one entry.
 * Then returns a range of `nest` that must have no values in these runs. Sets *several to the extent with the number of its
 * values: 0 in these runs, and as before in others. Returns 0 if it appends no nest. */
Ref sized_single(IR *ir, Ref nest, const Opts *o, int *several, Remnants *parts);
/* Returns the nest without loops along the dimension, which is right for runs in which the dimension is one entry. Returns 0 if
 * there is no such nest. */
Ref sized_without(IR *ir, Ref nest, int dimension);
int sized_several(IR *ir, int dimension); /* an extent: the dimension's size, but 0 if it is one entry. -1: too many extents */
Ref sized_if_single(IR *ir, Ref nest, int dimension); /* the nest, which only runs if the dimension is one entry */

/* ---- sized_inside.c ---- */
/* Returns the nest with one more loop. The body of this loop runs once, or not at all if row `number` of IR.sizes is 0. The new
 * loop is just outside of the loop over range `before`; if `before` is 0, it is the outermost loop. */
Ref sized_only_if(IR *ir, Ref nest, int number, Ref before);
/* Some nests store a constant, called padding, wherever the value of range r is at least a certain size of the run. Returns this
 * constant, and sets *size to the row of IR.sizes with this size. Returns 0 if the nest stores no padding along r. */
Ref padding_along(const IR *ir, Ref nest, Ref r, int *size);
/* Returns the nest without the conditions that compare r with row `size` of IR.sizes. The returned nest is right only for values
 * of r for which these conditions hold. */
Ref sized_inside(IR *ir, Ref nest, Ref r, int size);
/* values: how many values of r a run needs. Returns how many of these values come before the padding of padding_along. Returns
 * `values` if there is no padding, or if the number is not known. */
tgcrt_size sized_front(const IR *ir, Ref nest, Ref r, tgcrt_size values);
/* Returns the nest for which a schedule is to be chosen: `nest` without conditions for padding that sized_cut will remove */
Ref sized_scheduled(IR *ir, Ref nest);
/* For a range r that counts groups of n indices: value r stands for the indices r * n to r * n + n - 1. Conditions in the nest
 * test whether an index is below a size of the run. This function cuts r, and returns the nest for the groups whose indices are
 * all below the size. The returned nest has no such conditions. Adds the nests for the other groups to `parts`, and changes o to
 * name the ranges of the returned nest. Returns 0 if r does not count groups, or if r cannot be cut in this way.
 * values: how many values of r a run needs */
Ref sized_groups(IR *ir, Ref nest, Opts *o, Ref r, const tgcrt_size *values, Remnants *parts);

/* ---- sized_pairs.c ---- */
/* Returns the nest for the rows behind tiles of `tile` rows, of which r counts `values`, two at a time. Range `beside` counts
 * `others` sequences, which all have such rows. The rows of two sequences follow one another; *inside is the range over the two
 * rows of a tile. */
Ref sized_pairs(IR *ir, Ref nest, Ref r, const tgcrt_size *values, int tile, Ref beside, const tgcrt_size *others, Ref *inside);
/* Number of the size that counts the values of whole tiles, if a rest follows. The last value is not counted. So the bounds are
 * those of a rest, also for a run without one. */
int sized_rows_before(IR *ir, const tgcrt_size *values, int tile);
/* Whether the gate says that a tile of sized_pairs has a given row; sets *row: 1 or 2 */
bool sized_pair_gate(const IR *ir, Ref gate, int *row);

/* ---- opts.c ---- */
/* Appends to `parts` the remnants that o leaves */
void opts_parts(IR *ir, Ref nest, const Target *t, const Opts *o, Remnants *parts);
/* Behind the step `rests`, for a nest that rest_add has inserted as the last one of k->states: applies the steps up to `rests` */
void rest_cut(Plan *p, Kernel *k, size_t at);
Ref device_tile(IR *ir, Ref nest, const Opts *o);   /* on a device: splits all ranges of o, calls device_warp and
                                                       device_order, and returns the new nest */

/* ---- device_opts.c: schedules for devices ---- */
/* Returns why the opts of o are illegal, or NULL if they are legal. Does not check STAGE and SPLIT: stage_shared_refuses and
 * split_refuses check these opts. */
const char *device_refuses(IR *ir, Ref nest, const Target *t, const Opts *o);
/* Returns a message if the nest exceeds a limit of the device, or NULL. nest: a result of device_tile, before STAGE is applied.
 * panels: number of bytes of shared memory that STAGE will add */
const char *block_refuses(IR *ir, Ref nest, const Device *d, int64_t panels);
/* Splits o->range into several ranges: a loop or blocks, copies, threads and lanes. If `side` is above 1, the innermost new range
 * has `side` values: the rows or the columns of a unit's matrix. If the new ranges have more values together than o->range, gates
 * skip the additional values. Returns the nest with the new ranges. */
Ref device_split(IR *ir, Ref nest, const Opt *o, int side);
bool unit_turned(const IR *ir, Ref nest, const Opts *o); /* whether the loop over o->side[1] is outside of the loop over
                                                            o->side[0] */
/* Moves the loops over the rows and columns of one matrix of unit u inside of all other loops. Adds a range for the threads of a
 * warp, too. Returns the new nest; if u is NULL, returns `nest`. turned: result of unit_turned */
Ref device_warp(IR *ir, Ref nest, const MatrixUnit *u, bool turned);
/* Returns the nest with the loops over blocks outermost, and the loops over threads just inside of the loops over blocks. Also
 * splits each reduction that the threads of a group share: each thread reduces its own values, and an outer reduction combines
 * the threads' results. */
Ref device_order(IR *ir, Ref nest);

/* The threads of a block, in a nest with ranges over blocks and threads. The threads of a group (opt GROUP) compute one result of
 * a reduction together. Each group belongs to a range of kind GROUP, and has as many threads as this range has values. */
typedef struct BlockThreads {
  int n;
  Ref range[MAX_RANGES];   /* the nest's ranges of kind LOCAL, and some ranges of kind GROUP. A range of kind GROUP is here if
                              its group has threads of its own (see block_threads) */
  int64_t threads, blocks; /* number of threads of a block; number of blocks */
  int64_t shared_bytes;    /* bytes of shared memory for the sums of groups, and for panels that the nest already has */
} BlockThreads;
/* Decides which threads form each group, and fills in *b. If possible, a group uses threads that the block has anyway. These
 * threads belong to another group, or to ranges of the nest on which the group's result does not depend. Otherwise the block gets
 * additional threads. Returns the nest. If a group uses existing threads, the ranges of these threads replace the group's
 * range. */
Ref block_threads(IR *ir, Ref nest, BlockThreads *b);
/* The results of a group's threads are added in two steps. In the first step, some of the threads each add a part of the results.
 * In the second step, each thread of the group adds up the sums of the first step. This function returns how many threads add in
 * the first step. group: number of threads of the group */
static inline int group_firsts(int64_t group) { int n = 1; while ((int64_t)n * n * 4 <= group) n *= 2; return n; }

/* ---- device_contraction.c: tiles for sums of products, by the device's facts ---- */
/* Writes at most `room` schedules to `out`, best first. Returns the number of schedules, or 0 if no tiles save time */
int device_contraction_best(IR *ir, Ref nest, const Target *t, int room, Opts *out);

/* ---- device_heuristic.c: schedules by the device's facts ---- */
Opts device_opts(IR *ir, Ref nest, const Target *t);
/* Writes at most `room` good schedules to `out`. The first schedule is the one that device_opts returns. Returns the number of
 * schedules, or 0 if device_opts returns an empty schedule */
int device_best(IR *ir, Ref nest, const Target *t, int room, Opts *out);

/* ---- peel.c ---- */
const char *peel_refuses(IR *ir, Ref nest, Ref r);          /* returns why r may not be peeled, or NULL if it may */
/* Peels the ranges o->peeled. Returns the interior, and changes o to name the ranges of the interior. Appends the nests of the
 * borders to `borders` */
Ref peel_apply(IR *ir, Ref nest, Opts *o, Refs *borders);
void peel_state(Plan *p, Kernel *k, size_t at);             /* replaces k->states.p[at] by the interior, with the borders
                                                               behind the interior */

/* ---- stage.c: panels of operands, copied into memory of the kernel ---- */
const char *stage_refuses(IR *ir, Ref nest, const Target *t, const Opts *o); /* returns why STAGE is illegal, or NULL */

/* ---- split_sums.c: sums in parts ---- */
const char *split_refuses(IR *ir, Ref nest, const Target *t, const Opts *o); /* returns why SPLIT is illegal, or NULL */
int64_t split_elems(IR *ir, Ref nest, const Opts *o, DType *d); /* number of elements of the buffer that gets the sums of the
                                                                   parts; sets *d to the type of an element */
/* Returns the nest that stores the sums of the parts to `buffer`, and changes o to name the ranges of this nest. Sets *adds to
 * the nest that adds these sums. */
Ref split_sums(IR *ir, Ref nest, Opts *o, Ref buffer, Ref *adds);

/* ---- stage_shared.c: panels in shared memory of a block ---- */
/* Returns how many elements a thread can load from a panel as one vector: 4, 2 or 1. copies: number of copies of the loop's body
 * that load neighbouring elements of the panel. Each of these copies loads one element. */
int staged_vector(int64_t copies);
/* A panel has one row of elements for each term of a round. Returns the pitch of the panel: the number of elements
 * from the start of one row to the start of the next row. With this pitch, vectors are aligned. Threads that store element
 * number i of consecutive rows access different banks of shared memory, if there are enough banks. width: number of elements of
 * a row. depth: number of rows of the panel. beside: result of staged_vector */
int64_t staged_pitch(const Device *d, int64_t width, int64_t depth, int64_t beside);
typedef struct StagedSum { /* a sum of products whose factors may be in panels */
  Ref red;
  Ref factor[2];
  bool shared[2];          /* by factor: whether several threads or copies read one element of the factor. staged_product leaves
                              this false; stage_shared.c finds it out later */
} StagedSum;
/* If the reduction over range r is a sum of products, describes this sum in *p and returns NULL. Otherwise returns a text that
 * says why the reduction is none. */
const char *staged_product(IR *ir, Ref nest, Ref r, StagedSum *p);
enum { BYTES_SUMMED = 4 }; /* number of products of 8-bit integers that one instruction sums (DEVF_INT_DOT) */
/* Returns whether the device has an instruction that sums four products, and both factors of *p are 8-bit integers that are
 * converted to i32. */
bool sums_bytes(const IR *ir, const Device *d, const StagedSum *p);
/* Returns `factor` if it has the type d. If `factor` is converted from a value of type d, returns this value. Otherwise returns
 * 0. */
Ref unit_factor(const IR *ir, Ref factor, DType d);
/* Returns by how many elements the index grows or shrinks when `range` goes from 0 to 1 and all other ranges are 0. The result
 * is never negative. Returns INT64_MAX if this number of elements is unknown. */
int64_t memory_step(IR *ir, Ref index, Ref range);
Ref main_load(IR *ir, Ref factor);          /* returns the load whose index has the most ranges, or 0 if there is no load */
/* Returns why the reduction over o->staged may not run in rounds of o->depth terms, or NULL if it may. Increases *bytes by the
 * number of bytes of shared memory for panels, and for the sums of a unit that writes whole matrices (unit_is_whole). */
const char *stage_shared_refuses(IR *ir, Ref nest, const Opts *o, int64_t *bytes);
/* Returns the nest after applying STAGE. The nest must have ranges over threads and copies. range: Opts.staged. depth:
 * Opts.depth. u: Opts.unit */
Ref stage_shared(IR *ir, Ref nest, const Target *t, Ref range, int depth, const MatrixUnit *u);

/* ---- heuristic.c: schedules by the analytic model of cost/tile.c ---- */
Opts heuristic_opts(IR *ir, const Nest *n, const Target *t);
enum { HEURISTIC_MOST = 16 };
/* Writes at most `room` schedules to `out`, cheapest first; room <= HEURISTIC_MOST. If schedules differ only in the number of
 * copies of a range, only the best of these schedules is written. Returns the number of schedules. */
int heuristic_best(IR *ir, const Nest *n, const Target *t, int room, Opts *out);
/* ---- sized_tiles.c: tiles for ranges of sizes. Each returns the schedule unchanged if no size of a run ends its tiles ---- */
Opts sized_default(IR *ir, Ref nest, const Target *t, Opts most); /* suits small and typical sizes; most: the heuristic's */
Opts sized_spread_rows(IR *ir, Ref nest, const Target *t, Opts o); /* most rows of the tile along a range of constant extent */
Opts sized_fewer_rows(IR *ir, Ref nest, const Target *t, Opts o);       /* no more rows than keep the multipliers busy */

/* ---- complete.c: schedules of nests for which none is given, and of remnants ---- */
/* Returns the result of device_opts for devices with threads, and of heuristic_opts for other targets. If the nest has sized
 * ranges, the tiles of heuristic_opts may be changed so that they suit shorter ranges, too. */
Opts default_opts(IR *ir, Ref nest, const Target *t);
int default_best(IR *ir, Ref nest, const Target *t, int room, Opts *out); /* calls device_best for devices with threads, and
                                                                             heuristic_best for other targets */
/* Adds the schedules of remnants to o, if o lacks these schedules. The schedule of a remnant follows from o, or the cost model
 * chooses this schedule (Remnant.own). If the target is no device with threads, calls sized_opts first. On a device with threads,
 * changes only schedules with SPLIT. */
void opts_complete(IR *ir, Ref nest, const Target *t, Opts *o);

/* ---- retile.c ---- */
/* Changes o, a schedule for the target `from`, to fit the vectors of the target `to`. Removes the schedules of remnants from o.
 * Tiles keep their sizes, except along one range on which no weight depends. Returns false if the changed schedule is illegal;
 * then o is not usable. */
bool opts_retile(IR *ir, Ref nest, const Target *from, const Target *to, Opts *o);
#endif

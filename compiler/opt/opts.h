/* opts.h: the schedule of a nest: a list of opts, their text, whether they are legal, who chooses them, who applies them. */
#ifndef TGC_OPTS_H
#define TGC_OPTS_H
#include "../cost/tile.h"
#include "../nest/nest.h"
#include "../target/matrix_units.h"

/* One opt: split a range into loop x copies x lanes. A nest's schedule is a list of these. */
typedef struct Opt {
  Ref range;
  int unroll;              /* copies, in order */
  int lanes;
  bool partial;            /* copies of a reduction have accumulators of their own: PARTIAL */
  bool rows;               /* lanes are the rows of a matrix unit's tile: ROWS */
  bool grid;               /* of a device: the loop over what remains of the range is over blocks: GRID */
  int threads;             /* of a block that share the range: LOCAL of a nest's, GROUP of a reduction's; 0: none */
} Opt;
/* A range's loop taken outside of the others, of the nest or of its reduction: ORDER; or the loop over blocks of so many of its
 * values: TILE. */
typedef struct Move { Ref range; int block; } Move; /* block 0: the range's own loop */
enum { MAX_TILE = 1024, MAX_CHUNKS = 64 }; /* what a schedule may say of a range, and of a kernel */
enum { MAX_DEPTH = 16, MAX_BRACES = 256 }; /* of schedules inside of schedules; of them in all */
enum { SPLIT_MOST = 1 << 24 }; /* parts of sums of a nest */
enum { MAX_MOVES = 8, MAX_PEELED = 4, MAX_PARTS = 16 };
typedef struct Opts {
  int n;
  Opt opt[MAX_RANGES];
  int nmoved;
  Move moved[MAX_MOVES];    /* the outermost first */
  int npeeled;
  Ref peeled[MAX_PEELED];  /* ranges that are cut into borders and an interior, which the rest is about: PEEL */
  Ref staged;              /* range of whose tiles panels of operands are copied: STAGE; 0: none */
  Ref split;               /* of a device: range of a reduction whose sums are made in parts by blocks of their own: SPLIT; 0: none */
  int sum_parts;           /* so many; the one part of the schedule is that of the nest that adds them */
  int depth;               /* of a device: staged is of a reduction, whose terms go in rounds of so many; 0: of a CPU */
  Ref grouped;             /* range whose values an instruction takes in groups, before all else: its opt means these; 0: none */
  const struct IsaOp *isa_op; /* dot_ops.h; NULL: none */
  const MatrixUnit *unit;  /* of a device: it multiplies the panels of staged: MMA; NULL: threads do, one by one */
  Ref side[2];             /* ranges of the nest that are the rows and the columns of its matrices */
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

/* ---- opts_list.c ---- */
void opts_replace(Opts *o, Ref r, Ref now);  /* what o says of range r, it says of another one */
int unit_side(const Opts *o, Ref range);      /* values of the range in a matrix of o->unit; 1: it is no side of one */
/* k has nest `nest` as a state behind the one at `at` and its rests, with that schedule; its place */
size_t rest_add(Plan *p, Kernel *k, size_t at, Ref nest, const char *opts);

/* ---- opts_text.c: schedules as text. A range's name is its place (nest_ranges) ---- */
void opts_print(const IR *ir, Ref nest, const Opts *o, Sb *out);  /* "{ vec(r1,8) }" */
const char *opts_scan(IR *ir, Ref nest, const char *text, size_t n, Opts *o); /* not checked; NULL, or what is wrong */
const char *opts_end(const char *text, const char *end); /* behind the brace that ends the schedule; NULL: there is none */
Opts opts_read(IR *ir, Ref nest, const char *text);               /* one that has been checked */

/* ---- legality.c ---- */
const char *opts_check(IR *ir, Ref nest, const Target *t, const Opts *o); /* NULL: it may be applied */
const char *opts_parse(IR *ir, Ref nest, const Target *t, const char *text, size_t n, Opts *o); /* NULL, or what is wrong */
double opts_statements(IR *ir, Ref nest, const Opts *o);          /* after expansion, at most */

/* ---- opts.c ---- */
void opts_parts(IR *ir, Ref nest, const Opts *o, Remnants *parts); /* adds the nests that o leaves */
Ref device_tile(IR *ir, Ref nest, const Opts *o);   /* of a device: ranges over blocks, threads and copies, and gates */

/* ---- device_opts.c: schedules of devices ---- */
const char *device_refuses(IR *ir, Ref nest, const Target *t, const Opts *o); /* what o says of ranges; NULL: that is legal */
/* when o has been applied: what the device has too little of; panels: bytes of shared memory beside those of groups */
const char *block_refuses(IR *ir, Ref nest, const Device *d, int64_t panels);
/* a range as blocks or loops, copies, threads and sides of matrices of so many values; gates if it is uneven */
Ref device_split(IR *ir, Ref nest, const Opt *o, int side);
bool unit_turned(const IR *ir, Ref nest, const Opts *o); /* the columns' range stands outside of the rows' */
/* The nest with the ranges of rows and columns of matrices in this order, and then the threads of a warp as a range. u: may be NULL */
Ref device_warp(IR *ir, Ref nest, const MatrixUnit *u, bool turned);
Ref device_order(IR *ir, Ref nest);                 /* loops over blocks outermost, then over threads; a group's sum by itself */

/* The threads of a block that run a nest whose ranges are over blocks and threads. A group of a reduction is of threads that
 * have its result in common: those along ranges of the nest that it does not vary with, or threads of its own. */
typedef struct BlockThreads {
  int n;
  Ref range[MAX_RANGES];   /* LOCAL ranges in the order of the nest, and GROUP ranges of groups with threads of their own */
  int64_t threads, blocks; /* products */
  int64_t shared_bytes;    /* what the groups' sums take */
} BlockThreads;
/* The nest with the threads of its groups in place of their ranges: ranges of RED that are over threads */
Ref block_threads(IR *ir, Ref nest, BlockThreads *b);
/* How the threads of a group add their parts: each of `firsts` threads adds so many, then all add what the firsts have */
static inline int group_firsts(int64_t group) { int n = 1; while ((int64_t)n * n * 4 <= group) n *= 2; return n; }

/* ---- device_contraction.c: tiles of sums of products, by the facts of the device: the best few, the first one first ---- */
int device_contraction_best(IR *ir, Ref nest, const Target *t, int room, Opts *out); /* how many; 0: the nest gains by none */

/* ---- device_heuristic.c: by the facts of the device ---- */
Opts device_opts(IR *ir, Ref nest, const Target *t);
int device_best(IR *ir, Ref nest, const Target *t, int room, Opts *out); /* the first one is device_opts's, if that has opts */

/* ---- peel.c ---- */
const char *peel_refuses(IR *ir, Ref nest, Ref r);          /* NULL: r may be peeled */
Ref peel_apply(IR *ir, Ref nest, Opts *o, Refs *borders);   /* the interior, which o is about then */
void peel_state(Plan *p, Kernel *k, size_t at);             /* leaves the interior at its place, borders behind it */

/* ---- stage.c: panels of operands in memory of the kernel's own ---- */
const char *stage_refuses(IR *ir, Ref nest, const Target *t, const Opts *o); /* NULL: the panels of o->staged may be copied */

/* ---- split_sums.c: sums in parts ---- */
const char *split_refuses(IR *ir, Ref nest, const Target *t, const Opts *o); /* NULL: the sums over o->split may be in parts */
int64_t split_elems(IR *ir, Ref nest, const Opts *o, DType *d); /* elements of the buffer of parts, and their type */
/* the nest that makes the parts, which o is about then; *adds: the one that adds them */
Ref split_sums(IR *ir, Ref nest, Opts *o, Ref buffer, Ref *adds);

/* ---- stage_shared.c: panels in memory that the threads of a block share ---- */
typedef struct StagedSum {
  Ref red;
  Ref factor[2];
  bool shared[2];          /* threads or copies have its elements in common */
} StagedSum;
const char *staged_product(IR *ir, Ref nest, Ref r, StagedSum *p); /* NULL: the reduction over range r sums products; else why not */
enum { BYTES_SUMMED = 4 }; /* bytes whose products an instruction sums (DEVF_INT_DOT) */
/* The factors are integers of 8 bits, whose products the device sums by fours: where both go through panels of such a depth */
bool sums_bytes(const IR *ir, const Device *d, const StagedSum *p);
Ref unit_factor(const IR *ir, Ref factor, DType d); /* the factor as it is of type d, which it may be converted from; 0: it is not */
int64_t memory_step(IR *ir, Ref index, Ref range); /* elements from its value 0 to 1, others being 0; INT64_MAX: not known */
Ref main_load(IR *ir, Ref factor);          /* the load that varies with most of its ranges; 0: there is none */
/* NULL: the reduction over o->staged may go in rounds of o->depth terms; *bytes: what its panels take of shared memory */
const char *stage_shared_refuses(IR *ir, Ref nest, const Opts *o, int64_t *bytes);
/* of a nest over threads and copies; u: the unit that multiplies the panels, or NULL */
Ref stage_shared(IR *ir, Ref nest, const Target *t, Ref range, int depth, const MatrixUnit *u);

/* ---- heuristic.c: the schedule of a nest by the analytic model of cost/tile.c; microseconds ---- */
Opts heuristic_opts(IR *ir, const Nest *n, const Target *t);
enum { HEURISTIC_MOST = 16 };
/* the best few that are not alike, the cheapest first; room <= HEURISTIC_MOST */
int heuristic_best(IR *ir, const Nest *n, const Target *t, int room, Opts *out);
Opts default_opts(IR *ir, Ref nest, const Target *t); /* heuristic_opts, or device_opts where a device runs many threads */
int default_best(IR *ir, Ref nest, const Target *t, int room, Opts *out); /* likewise */
/* schedules for what o leaves, where it has none: by the model, unless they follow from o */
void opts_complete(IR *ir, Ref nest, const Target *t, Opts *o);

/* ---- retile.c: a schedule for other vectors with the same tiles, false: there is none ---- */
bool opts_retile(IR *ir, Ref nest, const Target *from, const Target *to, Opts *o);
#endif

/* SPDX-License-Identifier: MIT */
/* nest.h: operations on a kernel's nests: taking them apart, making them canonical, computing their keys, counting their work.
 * group/, opt/ and lower/ use these operations. In a canonical nest, ranges are split where that removes quotients. Two ranges
 * are merged where every access treats them as one. Ranges are ordered by their strides. */
#ifndef TGC_NEST_H
#define TGC_NEST_H
#include "../cost/tunable.h"
#include "../ir/decisions.h"
#include "../ir/refmap.h"
#include "../schedule/schedule.h"

/* A nest taken apart: its store, and its n ranges, outermost first. The ranges of reductions are not in `ranges`, but below the
 * store. */
typedef struct Nest {
  Ref store;
  int n;
  Ref ranges[MAX_RANGES];
} Nest;

/* ---- nest.c ---- */
Nest nest_open(const IR *ir, Ref nest);
Ref nest_close(IR *ir, const Nest *n);      /* the NEST of this store and these ranges */
bool opens_range(const IR *ir, Ref r, Ref range); /* r, a NEST or a RED, has `range` in its own list of ranges */
/* root with range r replaced by expr, an expression of the n ranges by[]. Lists of ranges get by[] in place of r. */
Ref range_replace(IR *ir, Ref root, Ref r, Ref expr, int n, const Ref *by);
/* root with r restricted to [begin, end): *part + begin replaces r. *part: a new range; if end is begin + 1, the constant 0 */
Ref range_part(IR *ir, Ref root, Ref r, int64_t begin, int64_t end, Ref *part);
/* Some terms of a reduction over a range. at: the value of the range for each term, an expression of the n ranges by[]. only: a
 * condition that terms must satisfy to count; 0: all these terms count. */
typedef struct TermsPart { Ref at, by[3], only; int n; } TermsPart;
/* Replaces every reduction over r below root by n reductions, each over one piece of r, and combines their results. lanes: a
 * range that `at` of each piece uses, and over which the combined results are reduced at the end; 0: there is no such range */
Ref reduce_pieces(IR *ir, Ref root, Ref r, const TermsPart *piece, int n, Ref lanes);
void collect_ranges(const IR *ir, Ref root, Refs *out); /* all RANGEs below root, in node_order */
void nest_ranges(const IR *ir, Ref nest, Refs *out);    /* ranges of the nest, then ranges of the nest's reductions; schedules
                                                           name ranges by their places in this list */
int range_place(const Refs *ranges, Ref r);             /* index of r in the list; -1: the list lacks r */
/* A number by which to sort ranges: loops of the nest first, then loops of reductions, then copies, then tiles and lanes. all:
 * every node of the nest */
int walk_order(const IR *ir, const Refs *all, Ref nest, Ref range);
bool keeps_order(const IR *ir, Ref red, const Target *t); /* the target requires that the terms of red are combined in order */
bool range_selects(IR *ir, Ref root, Ref r); /* r has few values, and a WHERE below root selects by a bound of r */
int reductions_below(const IR *ir, Ref root); /* number of reductions in the expression `root`, which may be one itself */
/* Whether a reduction below root does not depend on r, a range of the nest. If r is tiled, the nest of the rest would compute
 * this reduction again. */
bool reduction_repeats(IR *ir, Ref root, Ref r);

/* ---- needed.c: ranges of which a run needs only the first values ---- */
const Needed *nest_needed(const IR *ir, Ref nest); /* the elements of the stored buffer that a run needs */
/* The condition nest_needed(ir, nest)->is[condition] says how many entries along an axis a run needs. Returns the range of the
 * nest that counts these entries, or groups of them; 0: there is no such range, or the range has a limit already. *values: the
 * number of first values of the range that a run needs */
Ref sized_range(IR *ir, Ref nest, int condition, tgcrt_size *values);
bool range_ends_early(IR *ir, Ref nest, Ref r); /* r is a sized_range of the nest, or has a limit */
/* Whether root may also be computed for values of r that a run does not need. The caller's memory may end before these values, so
 * accesses to it must have gates. No index may be loaded at a place that depends on r, since memory behind the needed values
 * is undefined. root must have no REPEAT and no serial range. */
bool may_go_on(IR *ir, Ref root, Ref r);
bool nest_has_low_tiles(const IR *ir, const Nest *n); /* tiles of few rows: in a loop that runs at most once, as sizes decide */
int64_t need_most(const IR *ir, const Need *is); /* how many entries a run of the greatest size needs; memory may have more */
/* True: in each run, the gate holds only if `entry` is below the value of row is->of of IR.extents */
bool gate_ends(IR *ir, Ref gate, Ref entry, const Need *is);
Ref index_at_most(IR *ir, Ref at, int64_t most); /* min(at, most), which is `at` in all iterations that a run executes */

/* ---- ends.c: on a device, gates in place of limits of ranges ---- */
/* The load or store x with a further gate; src: its sources. A load without a gate gives 0 where the gate is false. */
Ref gated_access(IR *ir, const Node *x, const Ref *src, Ref gate);
void end_accesses(IR *ir, Ref *root);       /* gives a gate to each access to memory of the caller that ends at a run's size */
/* The nest, whose store gets a gate: condition `condition` of nest_needed. Without a sized_range the nest stays as it is. */
Ref end_store(IR *ir, Ref nest, int condition);
/* The condition under which a nest with ranges of blocks has work: an element that a run needs. of_block: in a block; else for
 * one value of its ranges. It uses no data, and of_block no other ranges than those of blocks. 0: always */
Ref run_gate(IR *ir, Ref nest, bool of_block);

/* ---- canon.c ---- */
int nest_batch(IR *ir, const Nest *n);      /* number of outermost ranges that count the matrix products of a batch */

/* ---- join_rows.c ---- */
Ref join_rows(IR *ir, Ref nest, const Target *t); /* the nest, in which two rows of a product may be one */

/* ---- floordivs.c: makes an index affine. Each quotient of a range by a constant becomes a range of its own, if the quotient is
 * never negative ---- */
/* n quotients: the new range step[i] replaces term[i], a quotient of range[i] */
typedef struct FloorDivs { int n; Ref term[MAX_RANGES], range[MAX_RANGES], step[MAX_RANGES]; } FloorDivs;
Ref floordivs_open(IR *ir, Ref index, FloorDivs *s); /* the index with ranges in place of quotients */

/* ---- varying.c: the ranges on which each node of a nest depends, as a mask. Bit k stands for Varying.ranges.p[k]. The nest's
 * own ranges come first, outermost first. Bit VARIES_DATA: the node depends on a LOAD ---- */
#define VARIES_DATA (UINT64_C(1) << 63)
typedef struct Varying {
  Refs nodes, ranges;      /* nodes: sources first; ranges: at most 63 */
  uint64_t *by;            /* by index in nodes: the node's mask */
  RefMap at;               /* by node: its index in nodes + 1 */
} Varying;
void varying_open(const IR *ir, Ref nest, Varying *v);
uint64_t varying_of(const Varying *v, Ref r);       /* the mask of r */
void varying_free(Varying *v);

/* ---- nestkey.c: 64 hex digits that identify a canonical nest on a target; equal nests can share a schedule ---- */
void nest_key(IR *ir, Ref nest, const Target *t, const Backend *b, char out[65]);
/* A question about a kernel (ir/decisions.h), by the keys of all its canonical nests. */
Question ask_kernel(const Plan *p, const char *pass, const Kernel *k);

/* ---- work.c: the work that a run cannot avoid, however fast its code is ---- */
typedef enum MultiplyType { MULTIPLY_F32, MULTIPLY_F64, MULTIPLY_BF16, MULTIPLY_INT8, MULTIPLY_INT16, MULTIPLY_TYPES } MultiplyType;
/* multiplies: number of products that are added up, by type. bytes: distinct bytes of weights, inputs and states that are read */
typedef struct LeastWork { double multiplies[MULTIPLY_TYPES], bytes; } LeastWork;
LeastWork plan_least_work(const Plan *p);

/* ---- states.c: the current nests of a kernel (Kernel.states) ---- */
void each_state(Plan *p, Kernel *k, void (*f)(Plan *p, NestState *s)); /* calls f for each state */
void states_nests(const Kernel *k, Refs *out); /* appends the current nests of k */
void states_put(Kernel *k, Refs *nests);    /* replaces the current nests of k, in order; frees the list */

/* ---- the steps of steps.h. k is NULL if the scope is PLAN. A step is in the file of its name, except these:
 *   canon.c     even, number
 *   work.c      cost
 *   choose.c    schedule
 *   dot_ops.c   dot_groups
 *   fuse_adds.c adds
 *   pack.c      panels
 *   opts.c      reorder, rests, tile
 *   group.c     groups
 *   dedup.c     match, reuse
 *   legalize.c  libm
 *   linearize.c programs
 *   steps.c     variants ---- */
#define STEP(letter, name, scope, kinds, level, needs, gives, gloss) void step_##name(Plan *p, Kernel *k);
#include "steps.h"
#undef STEP
#endif

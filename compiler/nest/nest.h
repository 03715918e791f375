/* SPDX-License-Identifier: MIT */
/* nest.h: operations on nests, for group/, opt/ and lower/. The operations take nests apart, make them canonical, compute their
 * keys and count their work. To make a nest canonical, canon.c splits a range if a quotient in an index then disappears. Two
 * ranges are merged if each access treats them as one range. Ranges are ordered by the strides of accesses. */
#ifndef TGC_NEST_H
#define TGC_NEST_H
#include "../cost/tunable.h"
#include "../ir/decisions.h"
#include "../ir/refmap.h"
#include "../schedule/schedule.h"

/* A nest taken apart: its store, and its n ranges, outermost first. The ranges of reductions are not in `ranges`; they
 * are operands of REDs below the store. */
typedef struct Nest {
  Ref store;
  int n;
  Ref ranges[MAX_RANGES];
} Nest;

/* ---- nest.c ---- */
Nest nest_open(const IR *ir, Ref nest);
Ref nest_close(IR *ir, const Nest *n);      /* returns the NEST of this store and these ranges */
bool opens_range(const IR *ir, Ref r, Ref range); /* whether `range` is an operand of r, which is a NEST or a RED */
/* Returns `root` after replacing range r by `expr`, an expression of the n ranges by[]. In the operands of a NEST or RED, the
 * ranges by[] take the place of r. */
Ref range_replace(IR *ir, Ref root, Ref r, Ref expr, int n, const Ref *by);
/* Returns `root` with r restricted to values from `begin` to end - 1: *part + begin replaces r. *part becomes a new range, or the
 * constant 0 if there is only one value. */
Ref range_part(IR *ir, Ref root, Ref r, int64_t begin, int64_t end, Ref *part);
/* Some terms of a reduction over a range. The new ranges by[0], ..., by[n - 1] number the terms. at: an expression of these
 * ranges, which gives the value of the reduction's range for each term. only: condition under which a term counts; 0: all terms
 * count. counted: whether other TermsParts of the reduction have the terms for which `only` is false. If so, a maximum or minimum
 * ignores `only` */
typedef struct TermsPart { Ref at, by[3], only; int n; bool counted; } TermsPart;
/* Returns `root` with each reduction over r divided into n reductions. Reduction k has the terms of piece[k], and the n results
 * are combined. lanes: 0, or a range that all piece[k].at use; then the combined results are reduced over this range */
Ref reduce_pieces(IR *ir, Ref root, Ref r, const TermsPart *piece, int n, Ref lanes);
void collect_ranges(const IR *ir, Ref root, Refs *out); /* all RANGEs below root, in node_order */
void nest_ranges(const IR *ir, Ref nest, Refs *out);    /* ranges of the nest, then ranges of the nest's reductions; schedules
                                                           name a range by its index in this list */
int range_place(const Refs *ranges, Ref r);             /* index of r in `ranges`; -1: r is not in the list */
/* Returns a number by which to sort ranges: loops of the nest first, then loops of reductions, then copies, then tiles and lanes.
 * all: all nodes of the nest */
int walk_order(const IR *ir, const Refs *all, Ref nest, Ref range);
bool keeps_order(const IR *ir, Ref red, const Target *t); /* whether t requires that the terms of `red` are combined in order */
bool range_selects(IR *ir, Ref root, Ref r); /* whether r has few values, and a WHERE below root has a condition r < constant */
int reductions_below(const IR *ir, Ref root); /* number of reductions in the expression `root`; `root` itself may be a
                                                 reduction */
/* Whether there is a reduction below root that does not depend on r, a range of the nest. If r were tiled, the nest of the rest
 * would compute this reduction a second time. */
bool reduction_repeats(IR *ir, Ref root, Ref r);

/* ---- needed.c: ranges of which a run needs only the first values ---- */
const Needed *nest_needed(const IR *ir, Ref nest); /* the elements of the stored buffer that a run needs, as conditions */
/* Condition number `condition` of nest_needed says how many entries along an axis a run needs. Returns the range of the nest that
 * counts these entries, or groups of these entries. A run needs only the first values of this range; sets *values to the number
 * of these values. Returns 0 if no range counts the entries, or if the range already has a limit. */
Ref sized_range(IR *ir, Ref nest, int condition, tgcrt_size *values);
bool range_ends_early(IR *ir, Ref nest, Ref r); /* whether r is a result of sized_range for this nest, or has a limit */
/* Whether root may also be computed for values of r that a run does not need. This has three conditions. Accesses to
 * memory of the caller have gates if the accesses depend on r, because this memory may end early. No index is loaded from a place
 * that depends on r, because memory behind the needed values is undefined. root has no REPEAT and no serial range. */
bool may_go_on(IR *ir, Ref root, Ref r);
/* Whether a range of the nest has the extent 1 and a limit. At some sizes, the loop of this range does not run at all. An example
 * is a loop over at most one lower tile (tgcrt_sizes.h). */
bool nest_has_low_tiles(const IR *ir, const Nest *n);
int64_t need_most(const IR *ir, const Need *is); /* how many entries a run of the greatest size needs; memory may have more */
/* Whether this is proved for each run: if `gate` is true, `entry` is below the value of row is->of of IR.extents. */
bool gate_ends(IR *ir, Ref gate, Ref entry, const Need *is);
Ref index_at_most(IR *ir, Ref at, int64_t most); /* min(at, most); `at` itself if bounds of nodes prove at <= most */

/* ---- ends.c: on a device, gates in place of limits of ranges ---- */
/* Returns the load or store x with the sources src[], and with `gate`. If x has a gate, the result has the AND of `gate` and the
 * gate in src[]. If x is a load without a value for a false gate, this value is 0 in the result. */
Ref gated_access(IR *ir, const Node *x, const Ref *src, Ref gate);
/* Inputs and outputs may be shorter in a run than at the greatest sizes. Adds gates to accesses below *root, so that the run does
 * not access memory behind inputs and outputs. */
void end_accesses(IR *ir, Ref *root);
/* Returns the nest with a gate for the store. The gate is condition number `condition` of nest_needed. Returns `nest` if
 * sized_range finds no range for this condition. */
Ref end_store(IR *ir, Ref nest, int condition);
/* Returns a condition that has no LOADs, or 0 if no condition is known. With of_block, the condition uses only ranges of
 * blocks. If the condition is false for a block, the run needs no element that this block stores. Without of_block, the condition
 * may use all ranges of the nest. If the condition is false for some values of the ranges, the run needs no element that the nest
 * stores for these values. */
Ref run_gate(IR *ir, Ref nest, bool of_block);

/* ---- canon.c ---- */
int nest_batch(IR *ir, const Nest *n);      /* for a batch of matrix products: how many of the outermost ranges number the
                                               products */

/* ---- join_rows.c ---- */
/* If rows of a matrix product end with half a vector, may join each pair of rows into one row. Returns the new nest, or `nest`
 * if no rows are joined. */
Ref join_rows(IR *ir, Ref nest, const Target *t);

/* ---- floordivs.c: makes an index affine, by new ranges in place of quotients of ranges by constants ---- */
/* The n replaced quotients: the new range step[i] stands for the quotient term[i]. The only range in this quotient is
 * range[i]. */
typedef struct FloorDivs { int n; Ref term[MAX_RANGES], range[MAX_RANGES], step[MAX_RANGES]; } FloorDivs;
Ref floordivs_open(IR *ir, Ref index, FloorDivs *s); /* returns the index with the new ranges, and fills in *s. Quotients that
                                                        may be negative stay */

/* ---- varying.c: for each node of a nest, a mask of the ranges on which the node depends. Bit k stands for Varying.ranges.p[k].
 * Bit VARIES_DATA: the node depends on a LOAD ---- */
#define VARIES_DATA (UINT64_C(1) << 63)
typedef struct Varying {
  Refs nodes, ranges;      /* nodes: all nodes, sources first. ranges: at most 63. The ranges of the NEST itself come first,
                              outermost first */
  uint64_t *by;            /* by[i] is the mask of nodes.p[i] */
  RefMap at;               /* by node: 1 + index of the node in `nodes` */
} Varying;
void varying_open(const IR *ir, Ref nest, Varying *v);
uint64_t varying_of(const Varying *v, Ref r);       /* the mask of r */
void varying_free(Varying *v);

/* ---- nestkey.c: keys. A key is 64 hex digits that identify a canonical nest on a target. Nests with equal keys can have the
 * same schedule ---- */
void nest_key(IR *ir, Ref nest, const Target *t, const Backend *b, char out[65]);
/* Writes a key that nests have in common if they differ only in values of floating-point constants */
void nest_form(IR *ir, Ref nest, const Target *t, const Backend *b, char out[65]);
/* Opens a question about a kernel (ir/decisions.h). The kernel's key follows from the keys of all canonical
 * nests of the kernel. */
Question ask_kernel(const Plan *p, const char *pass, const Kernel *k);

/* ---- work.c: the work that a run cannot avoid, however fast the code is ---- */
typedef enum MultiplyType { MULTIPLY_F32, MULTIPLY_F64, MULTIPLY_BF16, MULTIPLY_INT8, MULTIPLY_INT16, MULTIPLY_TYPES } MultiplyType;
/* multiplies: for each type, the number of products that are terms of sums. bytes: distinct bytes of weights, inputs and states
 * that a run reads */
typedef struct LeastWork { double multiplies[MULTIPLY_TYPES], bytes; } LeastWork;
LeastWork plan_least_work(const Plan *p);

/* ---- states.c: the current nests of a kernel (Kernel.states) ---- */
void each_state(Plan *p, Kernel *k, void (*f)(Plan *p, NestState *s)); /* calls f for each state */
void states_nests(const Kernel *k, Refs *out); /* appends the current nests of k */
void states_put(Kernel *k, Refs *nests);    /* replaces the current nests of k by `nests`, in order; frees this list */

/* ---- the steps of steps.h. k is NULL if the scope is PLAN. The file of a step has the name of the step, with these exceptions:
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
 *   sized_copy.c originals
 *   steps.c     variants ---- */
#define STEP(letter, name, scope, kinds, level, needs, gives, gloss) void step_##name(Plan *p, Kernel *k);
#include "steps.h"
#undef STEP
#endif

/* SPDX-License-Identifier: MIT */
/* nest.h: operations on a kernel's nests: taking them apart, making them canonical, computing their keys, counting their work.
 * group/, opt/ and lower/ build on it: they join kernels, choose and apply schedules, and make programs. In a canonical nest,
 * ranges are split where that removes quotients. Two ranges are merged where every access treats them as one. Ranges are ordered
 * by their strides. */
#ifndef TGC_NEST_H
#define TGC_NEST_H
#include "../cost/tunable.h"
#include "../ir/decisions.h"
#include "../ir/refmap.h"
#include "../schedule/schedule.h"

/* A nest taken apart: its store, and its n ranges, outermost first. Ranges of reductions are not among them; they stand below the
 * store. */
typedef struct Nest {
  Ref store;
  int n;
  Ref ranges[MAX_RANGES];
} Nest;

/* ---- nest.c ---- */
Nest nest_open(const IR *ir, Ref nest);
Ref nest_close(IR *ir, const Nest *n);      /* the NEST of these parts */
bool opens_range(const IR *ir, Ref r, Ref range); /* r, a NEST or a RED, has `range` in its own list of ranges */
/* root with range r replaced by expr, an expression of the n ranges by[]. These replace r in lists of ranges. */
Ref range_replace(IR *ir, Ref root, Ref r, Ref expr, int n, const Ref *by);
/* root with r restricted to [begin, end): *part + begin replaces r, where *part is a new range */
Ref range_part(IR *ir, Ref root, Ref r, int64_t begin, int64_t end, Ref *part);
/* Some terms of a reduction over a range: those at index `at`, an expression of the n ranges by[]. `only` is a condition: other
 * terms do not count. only = 0: all count. counted: other pieces have the terms that do not count, so a maximum or minimum may
 * take them again */
typedef struct TermsPart { Ref at, by[3], only; int n; bool counted; } TermsPart;
/* Replaces every reduction over r below root by n reductions, each over one piece of r, whose results are combined. lanes: a
 * range on which `at` of each piece depends; the combined results are reduced over it at the end. 0: there is none */
Ref reduce_pieces(IR *ir, Ref root, Ref r, const TermsPart *piece, int n, Ref lanes);
void collect_ranges(const IR *ir, Ref root, Refs *out); /* all RANGEs below root, in node_order */
void nest_ranges(const IR *ir, Ref nest, Refs *out);    /* ranges of the nest, then those of its reductions; schedules name
                                                           ranges by this order */
int range_place(const Refs *ranges, Ref r);             /* index; -1: not in the list */
/* A number by which to sort ranges: loops of the nest first, then loops of reductions, then copies, then tiles and lanes. all:
 * every node of the nest */
int walk_order(const IR *ir, const Refs *all, Ref nest, Ref range);
bool keeps_order(const IR *ir, Ref red, const Target *t); /* the terms of red must be taken in order */
bool range_selects(IR *ir, Ref root, Ref r); /* r is short, and its value selects which of several values is computed */
int reductions_below(const IR *ir, Ref root); /* number of reductions in the expression root, itself included */
/* Whether a reduction below root does not depend on r, a range of the nest. The rest of a tile along r, which is a nest of its
 * own, would compute this reduction again. */
bool reduction_repeats(IR *ir, Ref root, Ref r);

/* ---- needed.c: ranges of which a run needs only the first values ---- */
const Needed *nest_needed(const IR *ir, Ref nest); /* the elements of the stored buffer that a run needs */
/* The condition is nest_needed(ir, nest)->is[condition]: it says how many entries a run needs. Returns the range of the nest that
 * counts these entries, or groups of them. *values: how many first values of the range a run needs. 0: there is no such range,
 * or it has a limit already */
Ref sized_range(IR *ir, Ref nest, int condition, tgcrt_size *values);
bool range_ends_early(IR *ir, Ref nest, Ref r); /* r is a sized_range of the nest, or has a limit */
/* Whether root may also be computed for values of r that a run does not need. Memory of the caller may end before these values,
 * so accesses to it need gates. Memory of the plan has room for the values, but their contents are undefined: no index may be
 * loaded there. False also if root has a REPEAT or a serial range. */
bool may_go_on(IR *ir, Ref root, Ref r);
bool gate_ends(IR *ir, Ref gate, Ref entry, const Need *is); /* the gate is false unless `entry` < IR.extents[is->of] */
Ref index_at_most(IR *ir, Ref at, int64_t most); /* min(at, most), which is `at` in all iterations that a run executes */

/* ---- canon.c ---- */
int nest_batch(IR *ir, const Nest *n);      /* number of outer ranges that index batches of matrix products */

/* ---- floordivs.c: makes an index affine. Each quotient of a range by a constant becomes a range of its own, if the quotient is
 * never negative ---- */
/* n quotients: the new range step[i] stands for term[i], the quotient of range[i] */
typedef struct FloorDivs { int n; Ref term[MAX_RANGES], range[MAX_RANGES], step[MAX_RANGES]; } FloorDivs;
Ref floordivs_open(IR *ir, Ref index, FloorDivs *s); /* the index with ranges in place of quotients; unchanged if it has none */

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
/* multiplies: products that are added up. bytes: distinct bytes of weights, inputs and states that are read */
typedef struct LeastWork { double multiplies[MULTIPLY_TYPES], bytes; } LeastWork;
LeastWork plan_least_work(const Plan *p);

/* ---- states.c: the current nests of a kernel (Kernel.states). each_state applies f to each ---- */
void each_state(Plan *p, Kernel *k, void (*f)(Plan *p, NestState *s));
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

/* SPDX-License-Identifier: MIT */
/* nest.h: operations on a kernel's nests: taking apart, canonical form, keys, counting work. group/, opt/ and lower/ build on
 * it: they join kernels, choose and apply schedules, and make programs. */
#ifndef TGC_NEST_H
#define TGC_NEST_H
#include "../cost/tunable.h"
#include "../ir/decisions.h"
#include "../ir/refmap.h"
#include "../schedule/schedule.h"

/* A nest taken apart. ranges[] are outermost first. Ranges of reductions are not among them; they stand below the store. */
typedef struct Nest {
  Ref store;
  int n;
  Ref ranges[MAX_RANGES];
} Nest;

/* ---- nest.c ---- */
Nest nest_open(const IR *ir, Ref nest);
Ref nest_close(IR *ir, const Nest *n);
bool opens_range(const IR *ir, Ref r, Ref range); /* r, a NEST or a RED, has `range` in its own list of ranges */
/* root with range r replaced by expr. In lists of ranges, by[0..n) replaces r. */
Ref range_replace(IR *ir, Ref root, Ref r, Ref expr, int n, const Ref *by);
/* root with r restricted to [begin, end), by a new range that starts at 0 */
Ref range_part(IR *ir, Ref root, Ref r, int64_t begin, int64_t end, Ref *part);
/* Some terms of a reduction over a range: the terms at index `at`, an expression in the n ranges `by` */
typedef struct TermsPart { Ref at, by[3]; int n; } TermsPart;
/* Replaces every reduction over r below root by a combination of n reductions, each over one piece of r. */
Ref reduce_pieces(IR *ir, Ref root, Ref r, const TermsPart *piece, int n);
void collect_ranges(const IR *ir, Ref root, Refs *out); /* all RANGEs below root, in node_order */
void nest_ranges(const IR *ir, Ref nest, Refs *out);    /* ranges of the nest, then those of its reductions; schedules name
                                                           ranges by this order */
int range_place(const Refs *ranges, Ref r);             /* index; -1: not in the list */
/* A number by which to sort ranges: loops of the nest first, then loops of reductions, copies, tiles and lanes. all: every node
 * of the nest */
int walk_order(const IR *ir, const Refs *all, Ref nest, Ref range);
bool keeps_order(const IR *ir, Ref red, const Target *t); /* the terms of red must be taken in order */
bool range_selects(IR *ir, Ref root, Ref r); /* r is short, and its value selects which of several values is computed */
/* Whether a reduction below root does not vary with r, a range of the nest. The rest of a tile along r is a nest of its own,
 * and would compute this reduction again. */
bool reduction_repeats(IR *ir, Ref root, Ref r);

/* ---- needed.c: ranges of which a run needs only the first values ---- */
const Needed *nest_needed(const IR *ir, Ref nest);
/* The range that counts the entries of a condition (Needed) of the nest. *values says how many of its first values a run needs.
 * 0: there is none, or it has a limit */
Ref sized_range(IR *ir, Ref nest, int condition, tgcrt_size *values);
bool range_ends_early(IR *ir, Ref nest, Ref r); /* r is a sized_range of the nest, or has a limit */
Ref index_at_most(IR *ir, Ref at, int64_t most); /* min(at, most), which is `at` in all iterations that a run executes */

/* ---- canon.c ---- */
int nest_batch(IR *ir, const Nest *n);      /* number of outer ranges that index batches of matrix products */

/* ---- floordivs.c: opens quotients in an index. Each quotient of a range by a constant becomes a range of its own, if the quotient
 * is never negative. The index is then affine ---- */
/* step[i] is a new range for the quotient term[i] of range[i] */
typedef struct FloorDivs { int n; Ref term[MAX_RANGES], range[MAX_RANGES], step[MAX_RANGES]; } FloorDivs;
Ref floordivs_open(IR *ir, Ref index, FloorDivs *s); /* the index with ranges in place of quotients; unchanged if it has none */

/* ---- varying.c: the ranges on which each node of a nest depends. Bit k of a mask stands for ranges.p[k]; the nest's own ranges
 * come first, outermost first. VARIES_DATA: the node depends on a LOAD ---- */
#define VARIES_DATA (UINT64_C(1) << 63)
typedef struct Varying {
  Refs nodes, ranges;      /* nodes: sources first; ranges: at most 63 */
  uint64_t *by;            /* mask of each node */
  RefMap at;               /* node to its index + 1 */
} Varying;
void varying_open(const IR *ir, Ref nest, Varying *v);
uint64_t varying_of(const Varying *v, Ref r);
void varying_free(Varying *v);

/* ---- nestkey.c: 64 hex digits that identify a canonical nest on a target; equal nests can share a schedule ---- */
void nest_key(IR *ir, Ref nest, const Target *t, const Backend *b, char out[65]);
/* A question about a kernel (ir/decisions.h), by the keys of all its canonical nests. */
Question ask_kernel(const Plan *p, const char *pass, const Kernel *k);

/* ---- work.c: what a run does at least, however fast its code is ---- */
typedef enum MultiplyType { MULTIPLY_F32, MULTIPLY_F64, MULTIPLY_BF16, MULTIPLY_INT8, MULTIPLY_TYPES } MultiplyType;
/* multiplies: products that are added up. bytes: distinct ones of weights, inputs and states that are read */
typedef struct LeastWork { double multiplies[MULTIPLY_TYPES], bytes; } LeastWork;
LeastWork plan_least_work(const Plan *p);

/* ---- states.c: applies f to every nest of a kernel ---- */
void each_state(Plan *p, Kernel *k, void (*f)(Plan *p, NestState *s));
void states_nests(const Kernel *k, Refs *out);
void states_put(Kernel *k, Refs *nests);    /* nests in the order of states_nests; frees the list */

/* ---- the steps of steps.h. k is NULL for scope PLAN. Each step is in the file of its name, except these:
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

/* SPDX-License-Identifier: MIT */
/* graph.h: passes on the graph of tensors. */
#ifndef TGC_GRAPH_H
#define TGC_GRAPH_H
#include "../cost/tunable.h"
#include "precision.h"
#include "storage.h"

typedef struct StateSpec {  /* options of a state, or of several states by a pattern with one * */
  const char *past, *present; /* names of the state's input and output */
  int axis;                 /* the axis along which the user expects runs to append; -1: any. graph_states fails if the graph
                               appends along another one */
  int64_t capacity;         /* elements of the state's memory along this axis; 0: the default */
  bool grow;                /* a new state has no valid positions along the axis; each run appends some */
  const Tensor *init;       /* NULL: zeros */
} StateSpec;
/* Turns the pairs of inputs and outputs that specs name into states. Runs once, before other passes; fails with EX_USAGE_. */
void graph_states(Graph *g, const StateSpec *specs, int n);
/* The part of a name that the * of a pattern matches; NULL: no match. A pattern without * matches itself, with the part "". */
const char *star_matched(Ctx *c, const char *pattern, const char *name);
const char *star_filled(Ctx *c, const char *pattern, const char *with); /* the pattern with `with` in place of its * */
/* grow.c: hides invalid positions of growing states from reductions; grows[k]: state k grows */
void graph_grow(Graph *g, const bool *grows);

/* ---- needs.c: for graphs with ranges of sizes. A run needs only some elements of each value: a Needed (ir.h) ---- */
/* Both functions return an array by Ref, in the model's arena. graph_open: the elements that a value has in a run, as far as the
 * sizes of inputs decide this. graph_needs: the elements that a run needs. An input holds only the elements of the run's sizes.
 * If others are needed, graph_needs fails, and names the input or the node that needs them. */
const Needed *graph_open(const Graph *g);
const Needed *graph_needs(const Graph *g, const Needed *open);
/* The need of source k of r. n: the need of r; open: the element of graph_open for the source */
Needed graph_need_of_source(IR *ir, Ref r, int k, const Needed *n, const Needed *open);
Needed graph_need_of_value(IR *ir, const GIO *v); /* the elements that an input or output has in a run */
/* The axis of x whose index the condition *is limits; -1: none. *within: is->inner (ir.h), counted in entries of this axis */
int need_axis(const Node *x, const Need *is, int64_t *within);
bool need_lies_in(const Node *x, const Needed *n, int axis); /* a condition of n limits the index of this axis of x */
/* The row of IR.extents that says how many first entries along an axis of x satisfy n; -1: n sets no such limit */
int need_along(IR *ir, const Node *x, const Needed *n, int axis);
/* Sets dims to the shape of the part of x that a run needs. n: the need of x; run: the run's sizes by symbol */
void need_dims(const IR *ir, const Node *x, const Needed *n, const int64_t *run, int64_t *dims);
/* Whether condition r is true for exactly the elements of a Need. *is: set to this Need */
bool graph_first_entries(const IR *ir, Ref r, Need *is);
/* Whether r is a size mask: WHERE(condition, value, a constant). *is: set to the Need of the elements that keep the value */
bool graph_size_mask(const IR *ir, Ref r, Need *is);
/* A size mask of x along an axis. extent: row of IR.extents, the number of entries that keep their values; fill: bits of the
 * constant */
Ref graph_masked(IR *ir, Ref x, int axis, int extent, int64_t fill);
/* The positions first + i * step, i = 0 .. n - 1, along an axis of `rank` axes; the value of an extent plus a constant */
Ref graph_positions(IR *ir, Ref first, int64_t step, int64_t n, int axis, int rank);
Ref graph_size_plus(IR *ir, int extent, int64_t plus);
/* Joins b behind the entries of a that a run has: positions below the extent are from a, and the others from b. Both have their
 * greatest extents. of: the extent of b; -1: it is constant */
Ref graph_joined(IR *ir, Ref a, Ref b, int axis, int extent, int of);

/* unroll_loops.c: unrolls short loops, and turns branches that gain little into selections. If the target is a device, it unrolls
 * all loops and turns all branches into selections. All branches also become selections if the graph has ranges of sizes, or if
 * `fixed` is set. fixed: a run has to make all calls, in order */
void graph_loops(Graph *g, const Target *t, bool fixed);
/* Each of the passes below returns whether it changed the graph. */
bool graph_integer(Graph *g, const Target *t);  /* sums over quantised values become integer sums */
/* Rewrites the graph by rules that are exact, except for power.c. merge: it also applies the rules of scale.c, which change
 * roundings */
bool graph_simplify(Graph *g, bool merge);
bool graph_is_same(IR *ir, Ref a, Ref b); /* simplify.c: node a becomes node b if it is simplified */
/* f16 and bf16 values between inputs and outputs become f32. every: each op's result is still rounded to f16 or bf16, as the IR
 * defines. Otherwise values between ops stay unrounded. dev: a device, for whose matrix units factors of sums of products stay
 * rounded; NULL: a CPU */
bool graph_promote_half(Graph *g, bool every, const Device *dev);
bool graph_half_factors(Graph *g, const Device *dev); /* factors for matrix units of dev are stored as halves, padding included */
/* Values that depend only on constants become tensors; weights for matrix units of dev, which may be NULL, stay halves. */
bool graph_fold(Graph *g, const Device *dev);
bool graph_sink_concat(Graph *g);    /* movement of a concatenation becomes movement of its parts */
bool graph_merge_gemms(Graph *g);    /* sums of products that share a factor become one */
/* product_time: the time of one term of a sum of products at precision p, relative to a multiply-add of floats. product_bytes:
 * the bytes that the term's weight takes */
double product_time(Precision p, const Target *t);
double product_bytes(Precision p, const Target *t);
/* Precision p may split factors into bf16, and all products of the parts take less time than one product of floats. */
bool split_faster(Precision p, const Target *t);
/* Splits factors into sums of bf16, if p asks for this. If p only allows it, factors are split where that is faster and denormals
 * may be flushed. */
bool graph_bf16_split(Graph *g, Precision p, const Target *t, bool keep_denormals);
/* Stores weights in half precision, if p asks for it. */
bool graph_weights_to_half(Graph *g, Precision p, const Target *t);
bool half_sums(Precision p, const Target *t); /* p asks for sums of halves, and they are faster than sums of floats */
/* If half_sums(p, t) holds, splits sums of products with weights into short parts. Each part is summed in halves, and the parts
 * are added in f32. */
bool graph_half_sums(Graph *g, Precision p, const Target *t);
bool graph_quantize_weights(Graph *g, Storage how); /* stores weights in fewer bits, if a run reads them only a few times */
/* p rounds to bf16, and an instruction multiplies pairs of bf16 in less time than floats */
bool narrow_pairs(Precision p, const Target *t);
bool graph_winograd(Graph *g, Precision p, const Target *t); /* convolutions by Winograd tiles, where that costs less */
/* Splits convolutions so that no part has taps that meet only padding, where that is less work. */
bool graph_padding_split(Graph *g, const Target *t);
/* variance.c: for each of n roots, makes a node out[i] that computes the variance of the rounding error of each element. The node
 * has type f32 and the root's shape. The caller evaluates it in double, where squares neither overflow nor underflow. product:
 * relative error of products in sums, besides the rounding to their type. False: the variance is not known. */
bool graph_variance(IR *ir, const Ref *roots, int n, double product, Ref *out);
#endif

/* SPDX-License-Identifier: MIT */
/* graph.h: passes on the graph of tensors. */
#ifndef TGC_GRAPH_H
#define TGC_GRAPH_H
#include "../cost/tunable.h"
#include "precision.h"
#include "storage.h"

typedef struct StateSpec {  /* options of a state, or of all states whose names match patterns */
  const char *past, *present; /* names of the state's input and output, or patterns with one * for these names */
  int axis;                 /* the axis along which the user expects runs to append; -1: any axis. graph_states fails if the graph
                               appends along another axis */
  int64_t capacity;         /* number of positions of the state's memory along the axis; 0: the default */
  bool grow;                /* before the first run, no position along the axis is valid; each run appends some positions */
  const Tensor *init;       /* value before the first run; NULL: zeros */
} StateSpec;
/* Turns the pairs of inputs and outputs that specs name into states. Must run once, before other passes. Fails with EX_USAGE_ if
 * a spec does not fit the graph. */
void graph_states(Graph *g, const StateSpec *specs, int n);
/* Returns the part of a name that the * of a pattern matches; NULL if the name does not match. A pattern without * matches only
 * the equal name; then the part is "". */
const char *star_matched(Ctx *c, const char *pattern, const char *name);
const char *star_filled(Ctx *c, const char *pattern, const char *with); /* the pattern with `with` in place of the * */
/* grow.c: hides invalid positions of growing states from reductions; grows[k]: state k has StateSpec.grow */
void graph_grow(Graph *g, const bool *grows);

/* ---- needs.c: for graphs with symbols. A symbol is a dimension whose size differs from run to run (--dim NAME=LOW:HIGH). A run
 * needs only some elements of each value. The need of a value, a Needed (ir.h), describes these elements by conditions. Each
 * condition is a Need ---- */
/* graph_open: returns the elements that each value has in a run, as far as the sizes of inputs decide this. graph_needs: returns
 * the elements of each value that a run needs. open: the result of graph_open. In a run, an input has only the elements that the
 * run's sizes give it. If a run needs further elements of an input, graph_needs fails with a message about the input, or about
 * the node that needs these elements. The results of both functions are arrays by Ref, in the model's arena. */
const Needed *graph_open(const Graph *g);
const Needed *graph_needs(const Graph *g, const Needed *open);
/* Returns the need of source k of r, if *n is the need of r. open: the element of graph_open's result for the source */
Needed graph_need_of_source(IR *ir, Ref r, int k, const Needed *n, const Needed *open);
Needed graph_need_of_value(IR *ir, const GIO *v); /* the elements that an input or output has in a run */
/* Returns the axis of x that the condition *is limits; -1 if there is none. *within gets the number of consecutive entries of
 * this axis that the condition counts as one entry */
int need_axis(const Node *x, const Need *is, int64_t *within);
bool need_lies_in(const Node *x, const Needed *n, int axis); /* whether a condition of *n limits this axis of x */
/* If *n limits an axis of x to its first entries, returns the row of IR.extents that has the number of these entries. Otherwise
 * returns -1 */
int need_along(IR *ir, const Node *x, const Needed *n, int axis);
/* Sets dims to the shape of the part of x that a run needs. n: the need of x; run: the run's sizes, by symbol */
void need_dims(const IR *ir, const Node *x, const Needed *n, const int64_t *run, int64_t *dims);
/* Whether the node r, of type bool, is true exactly for the elements that satisfy some condition. *is gets this condition */
bool graph_first_entries(const IR *ir, Ref r, Need *is);
/* Whether r is a size mask: WHERE(condition, value, constant). *is gets the condition */
bool graph_size_mask(const IR *ir, Ref r, Need *is);
/* Returns whether all indices of a gather are below the extent of row all_of_run, in every run. count: the row with the extent of
 * the result along the gather's axis; -1: it is constant, or not known */
bool graph_gathers_inside(const IR *ir, Ref index, int all_of_run, int count);
/* A size mask may give a scatter indices that it ignores, for the updates that a run does not have. Returns the mask; 0: there is
 * none. The index is the mask, or the mask expanded. Sets *mask to the condition on elements of the index. */
Ref graph_masked_index(const IR *ir, const Node *scatter, Need *mask);
/* Returns x under a size mask along an axis. extent: the row of IR.extents with the number of entries that keep their values;
 * fill: bits of the mask's constant */
Ref graph_masked(IR *ir, Ref x, int axis, int extent, int64_t fill);
/* graph_positions: returns a node with `rank` axes that has the positions first + i * step, i = 0 .. n - 1, along `axis`.
 * graph_size_plus: returns a node with the value of a row of IR.extents, plus a constant */
Ref graph_positions(IR *ir, Ref first, int64_t step, int64_t n, int axis, int rank);
Ref graph_size_plus(IR *ir, int extent, int64_t plus);
/* Returns the entries of a that a run has, followed by the entries of b, along an axis. extent: the row of IR.extents with the
 * number of these entries of a. The row `of` has the number of entries of b; -1: this number is constant. The nodes a, b and the
 * result have the shapes for the greatest sizes */
Ref graph_joined(IR *ir, Ref a, Ref b, int axis, int extent, int of);

/* unroll_loops.c: unrolls short loops, and turns branches that gain little into selections. A selection computes both sides. For
 * a device, all loops are unrolled, and all branches become selections. graph_loops fails if a device would need too many copies
 * of a loop's body. All branches also become selections if the graph has symbols, or if `fixed` is set. fixed: all runs must make
 * the same calls in the same order */
void graph_loops(Graph *g, const Target *t, bool fixed);
/* Each pass below returns whether it changed the graph. */
bool graph_integer(Graph *g, const Target *t);  /* sums over quantised values become integer sums */
/* Rewrites the graph by a table of rules. The rule of power.c may change roundings. merge: also uses the rules of scale.c, which
 * change roundings. All other rules are exact */
bool graph_simplify(Graph *g, bool merge);
bool graph_is_same(IR *ir, Ref a, Ref b); /* simplify.c: whether calls of graph_simplify turn node a into node b */
/* f16 and bf16 values between inputs and outputs become f32. every: each op's result is still rounded to f16 or bf16, as the IR
 * defines. Otherwise values between ops stay unrounded. dev: the device of the target; NULL if the target is a CPU. Factors of
 * sums of products stay rounded if a matrix unit of the device can multiply them */
bool graph_promote_half(Graph *g, bool every, const Device *dev);
bool graph_half_factors(Graph *g, const Device *dev); /* factors for matrix units of dev are stored as halves, padding included */
/* Values that depend only on constants become tensors. Weights for matrix units of dev stay halves; dev may be NULL */
bool graph_fold(Graph *g, const Device *dev);
bool graph_sink_concat(Graph *g);    /* movement of a concatenation becomes movement of its parts */
bool graph_merge_gemms(Graph *g);    /* sums of products that share a factor become one sum of products */
/* product_time: the time of one term of a sum of products at precision p, relative to a multiply-add of floats. product_bytes:
 * the bytes of a weight in a sum of products at precision p */
double product_time(Precision p, const Target *t);
double product_bytes(Precision p, const Target *t);
/* Whether precision p may split factors into sums of bf16, and a split product takes less time than a product of floats. */
bool split_faster(Precision p, const Target *t);
/* Splits factors into sums of bf16, if p asks for this. If p only allows this, splits only where the split is faster, and only if
 * keep_denormals is false. */
bool graph_bf16_split(Graph *g, Precision p, const Target *t, bool keep_denormals);
/* Stores weights in half precision, if p asks for this. */
bool graph_weights_to_half(Graph *g, Precision p, const Target *t);
/* Whether p asks for sums of halves, and t computes sums of halves faster than sums of floats */
bool half_sums(Precision p, const Target *t);
/* If half_sums(p, t) holds, splits sums of products with weights into short parts. The terms of a part are added in halves, and
 * the parts are added in f32. */
bool graph_half_sums(Graph *g, Precision p, const Target *t);
bool graph_quantize_weights(Graph *g, Storage how); /* stores weights in fewer bits, if a run reads them only a few times */
/* Whether p rounds factors to bf16, and t multiplies pairs of bf16 in less time than floats */
bool narrow_pairs(Precision p, const Target *t);
bool graph_winograd(Graph *g, Precision p, const Target *t); /* computes convolutions by Winograd tiles, where that costs less */
/* Splits convolutions so that no part has taps that meet only padding, where that is less work. */
bool graph_padding_split(Graph *g, const Target *t);
/* variance.c: makes a node out[i] for each of n roots. The node computes, for each element of the root, the variance of the
 * element's rounding error. The node has type f32 and the root's shape. The caller evaluates the node in double, where squares
 * neither overflow nor underflow. product: relative error of products in sums, besides the rounding to the type of the products.
 * Returns false if a variance is not known. */
bool graph_variance(IR *ir, const Ref *roots, int n, double product, Ref *out);
#endif

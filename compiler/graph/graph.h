/* SPDX-License-Identifier: MIT */
/* graph.h: passes on the graph of tensors. */
#ifndef TGC_GRAPH_H
#define TGC_GRAPH_H
#include "../cost/tunable.h"
#include "precision.h"
#include "storage.h"

typedef struct StateSpec {  /* options of a state, or of several states by a pattern with one * */
  const char *past, *present; /* names of the state's input and output */
  int axis;                 /* -1: from the graph */
  int64_t capacity;         /* 0: the default */
  bool grow;                /* a new state has no valid positions; each run appends some */
  const Tensor *init;       /* NULL: zeros */
} StateSpec;
/* Turns the pairs of inputs and outputs that specs name into states. Runs once, before other passes; fails with EX_USAGE_. */
void graph_states(Graph *g, const StateSpec *specs, int n);
/* The part of a name that the * of a pattern matches; NULL: no match. A pattern without * matches itself, with the part "". */
const char *star_matched(Ctx *c, const char *pattern, const char *name);
const char *star_filled(Ctx *c, const char *pattern, const char *with); /* the pattern with `with` in place of its * */
void graph_grow(Graph *g, const bool *grows); /* grow.c: hides invalid positions from reductions; grows: StateSpec.grow by state */

/* needs.c: the elements of each value that a run of a size needs, by Ref, in the model's arena. Elements are counted in row-major
 * order. Each condition lies in one axis. Inputs hold only the elements of the run's sizes. If others are needed, graph_needs
 * fails, and names the node that needs them, or the input. graph_open: the elements that a value has in a run, as far as inputs
 * decide about them */
const Needed *graph_open(const Graph *g);
const Needed *graph_needs(const Graph *g, const Needed *open);
/* need of source k of r; n: the need of r; open: what the source has in a run */
Needed graph_need_of_source(IR *ir, Ref r, int k, const Needed *n, const Needed *open);
Needed graph_need_of_value(IR *ir, const GIO *v); /* the elements that an input or output has in a run */
/* The axis of x in which a condition lies, and its `inner` in that axis; -1: it lies in none */
int need_axis(const Node *x, const Need *is, int64_t *within);
bool need_lies_in(const Node *x, const Needed *n, int axis); /* a condition of n lies in that axis */
int need_along(IR *ir, const Node *x, const Needed *n, int axis); /* the extent of the needed first entries; -1: no condition */
/* shape of the part that a run of these sizes needs */
void need_dims(const IR *ir, const Node *x, const Needed *n, const int64_t *run, int64_t *dims);
/* Whether r is a size mask: WHERE(condition, value, a constant), with a condition *is on the numbers of its elements */
bool graph_size_mask(const IR *ir, Ref r, Need *is);
Ref graph_masked(IR *ir, Ref x, int axis, int extent, int64_t fill); /* such a WHERE along an axis; fill: bits of the constant */

/* unroll_loops.c: unrolls short loops, and all where the target is a device. Branches become selections where they gain little, and
 * all where the target is a device. fixed: a run takes all calls in their order, so all branches do */
void graph_loops(Graph *g, const Target *t, bool fixed);
/* Each of the passes below returns whether it changed the graph. */
bool graph_integer(Graph *g, const Target *t);  /* sums over quantised values become integer sums */
/* Exact rewrites. merge: also the rules of scale.c, which change roundings. */
bool graph_simplify(Graph *g, bool merge);
/* f16 and bf16 values between inputs and outputs become f32. every: each op's result is still rounded, as the IR defines. dev: a
 * device, for whose matrix units factors of sums of products stay rounded; NULL: a CPU */
bool graph_promote_half(Graph *g, bool every, const Device *dev);
bool graph_half_factors(Graph *g, const Device *dev); /* factors for matrix units are stored as halves, padding included */
/* Values that depend only on constants become tensors; weights for matrix units of dev, which may be NULL, stay halves. */
bool graph_fold(Graph *g, const Device *dev);
bool graph_sink_concat(Graph *g);    /* movement of a concatenation becomes movement of its parts */
bool graph_merge_gemms(Graph *g); /* sums of products that share a factor become one */
double product_time(Precision p, const Target *t); /* time of a term of a sum of products, relative to a multiply-add of floats */
double product_bytes(Precision p, const Target *t); /* bytes per weight in such a sum */
/* Some instruction multiplies p's terms in less time than a multiply-add of floats. */
bool split_faster(Precision p, const Target *t);
/* Splits factors into sums of bf16: if p asks for it, or if that is faster and denormals may be flushed. */
bool graph_bf16_split(Graph *g, Precision p, const Target *t, bool keep_denormals);
/* Stores weights in half precision, if p asks for it. */
bool graph_weights_to_half(Graph *g, Precision p, const Target *t);
bool half_sums(Precision p, const Target *t); /* p asks for sums of halves, and the machine computes them faster than of floats */
bool graph_half_sums(Graph *g, Precision p, const Target *t); /* sums of products of halves, in short parts */
bool graph_quantize_weights(Graph *g, Storage how); /* stores weights in fewer bits, if a run reads them only a few times */
bool narrow_pairs(Precision p, const Target *t); /* the machine has an instruction for pairs of the type that p rounds to */
bool graph_winograd(Graph *g, Precision p, const Target *t); /* convolutions by Winograd tiles, where that costs less */
/* Splits convolutions so that no part has taps that meet only padding, where that is less work. */
bool graph_padding_split(Graph *g, const Target *t);
/* variance.c: makes nodes that compute the variance of the rounding errors of each element of roots. They have type f32 and the
 * root's shape. The caller evaluates them in double, where squares neither overflow nor underflow.
 * product: relative error of products in sums, besides the rounding to their type. False: the variance is not known. */
bool graph_variance(IR *ir, const Ref *roots, int n, double product, Ref *out);
#endif

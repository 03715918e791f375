/* SPDX-License-Identifier: MIT */
/* sized.h: loads a model in which some dimensions have ranges of sizes (LoadOptions.ranges): their sizes may differ from run to
 * run. The graph is built for the greatest size of each range. An array `run` has the sizes in one run: run[k] is a size from
 * range number k. */
#ifndef TGC_SIZED_H
#define TGC_SIZED_H
#include "../compiler/graph/graph.h"
#include "frontends.h"

/* A replaced node. In the model it was a CAT, a SHRINK or a PAD in which the places of elements depend on the sizes of the run. */
typedef struct Placed {
  Ref now;                             /* the node that replaces `was` */
  const Node *was;                     /* the replaced node, as the front end built it */
  Ref *src;                            /* the sources of `was`, as nodes of the graph for the greatest sizes */
  int begin[MAX_RANK];                 /* for a SHRINK, by axis: the row of IR.extents whose value in a run is the begin; -1: the
                                          begin is that of `was` */
  signed char front[MAX_RANK];         /* for a PAD, by axis: PAD_FIXED, or k if (width + k) / 2 elements of it are in front */
} Placed;
/* PAD_FIXED: the front is that of `was`, and the rest is behind. PAD_MOST: greatest absolute value of other k */
enum { PAD_FIXED = -128, PAD_MOST = 16 };
typedef VEC(Placed) Placeds;

/* The graph for the greatest sizes. needs, open: the results of graph_needs and graph_open (compiler/graph/graph.h) */
typedef struct SizedGraph {
  const Graph *g;
  const Placeds *placed;
  const Needed *needs, *open;
} SizedGraph;
/* sized_proof.c: proves that a run with the sizes `run` computes the values of `want`, the graph that the front end builds for
 * these sizes alone. Fails if it finds no proof. */
void sized_prove(Ctx *c, const SizedGraph *s, Graph *want, const int64_t *run);
/* Loads the model at path. Returns the graph for the greatest sizes. IR.symbols has the ranges, and GIO.open names the extents
 * that depend on sizes. Fails if runs with smaller sizes would need another graph. */
Graph *sized_load(Ctx *c, const char *path, const LoadOptions *o);
#endif

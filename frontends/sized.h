/* SPDX-License-Identifier: MIT */
/* sized.h: loads a model whose open dimensions have ranges of sizes (LoadOptions.ranges), so that the size differs from run to
 * run. The graph is built for the greatest size of each range. `run` is an array with the sizes of a run, by range. */
#ifndef TGC_SIZED_H
#define TGC_SIZED_H
#include "../compiler/graph/graph.h"
#include "frontends.h"

/* A replaced node. In the model it was a CAT or a SHRINK in which the places of elements depend on the sizes of the run. */
typedef struct Placed {
  Ref now;                             /* the node that has taken its place */
  const Node *was;                     /* the node as the front end built it */
  Ref *src;                            /* the nodes that are now the sources of `was` */
  int begin[MAX_RANK];                 /* by axis of a SHRINK: it begins at this extent; -1: where that of the model did */
} Placed;
typedef VEC(Placed) Placeds;

/* The graph for the greatest sizes. needs, open: the results of graph_needs and graph_open (compiler/graph/graph.h) */
typedef struct SizedGraph {
  const Graph *g;
  const Placeds *placed;
  const Needed *needs, *open;
} SizedGraph;
/* sized_proof.c: proves that a run with these sizes computes the values of `want`, the graph that the front end builds for just
 * these sizes. Fails otherwise. */
void sized_prove(Ctx *c, const SizedGraph *s, Graph *want, const int64_t *run);
/* Loads the model at path. The result is the graph for the greatest sizes; IR.symbols has the ranges, and GIO.open the extents
 * that depend on sizes. Fails if runs of other sizes would need another graph. */
Graph *sized_load(Ctx *c, const char *path, const LoadOptions *o);
#endif

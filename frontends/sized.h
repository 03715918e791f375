/* SPDX-License-Identifier: MIT */
/* sized.h: loads a model in which some dimensions have ranges of sizes (LoadOptions.ranges). The sizes of these dimensions may
 * differ from run to run. The graph is built for the greatest size of each range. A parameter `run` has the sizes of one run:
 * run[k] is a size from range number k. */
#ifndef TGC_SIZED_H
#define TGC_SIZED_H
#include "../compiler/graph/graph.h"
#include "frontends.h"

/* A node that sized_nodes.c or sized_joined.c has replaced: a CAT, a SHRINK, a PAD or a RESHAPE. The places of the elements of
 * `was` depend on a run's sizes. */
typedef struct Placed {
  Ref now;                             /* the node that replaces `was` */
  const Node *was;                     /* the replaced node, as the front end built it */
  Ref *src;                            /* by source of `was`: the node that replaces this source */
  int begin[MAX_RANK];                 /* for a SHRINK, by axis: the row of IR.extents whose value is, in a run, the index of the
                                          first element; -1: this index is shrink_begin of `was` */
  signed char front[MAX_RANK];         /* for a PAD, by axis: PAD_FIXED, or a number k. If the PAD adds w elements along the axis
                                          in a run, (w + k) / 2 of these elements stand in front */
  int extent[MAX_RANK];                /* for a RESHAPE, by axis of its source: the row of IR.extents with the number of entries
                                          that `now` reads along this axis in a run; -1: all entries */
} Placed;
/* PAD_FIXED: the number of elements in front is pad_lo of `was`. PAD_MOST: greatest absolute value of k */
enum { PAD_FIXED = -128, PAD_MOST = 16 };
typedef VEC(Placed) Placeds;

/* The graph g for the greatest sizes. needs, open: the results of graph_needs and graph_open for g (compiler/graph/graph.h) */
typedef struct SizedGraph {
  const Graph *g;
  const Placeds *placed;
  const Needed *needs, *open;
} SizedGraph;
/* sized_proof.c: proves that s->g computes the outputs of the graph `want` in a run with the sizes `run`. The front end has built
 * `want` for these sizes alone. Fails if there is no proof. Frees `want`. */
void sized_prove(Ctx *c, const SizedGraph *s, Graph *want, const int64_t *run);
/* Loads the model at path. Returns the graph for the greatest sizes. The symbols of the graph's IR have the ranges. GIO.open of
 * inputs and outputs says which extents depend on sizes. Fails if runs with smaller sizes would need another graph. */
Graph *sized_load(Ctx *c, const char *path, const LoadOptions *o);
#endif

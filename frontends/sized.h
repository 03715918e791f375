/* SPDX-License-Identifier: MIT */
/* sized.h: loads a model for ranges of sizes (LoadOptions.ranges). */
#ifndef TGC_SIZED_H
#define TGC_SIZED_H
#include "../compiler/graph/graph.h"
#include "frontends.h"
/* A node in place of a CAT or SHRINK of the model, which has entries at places that a run decides */
typedef struct Placed {
  Ref now; /* the node */
  const Node *was;
  Ref *src;                            /* the sources of `was` now */
  int begin[MAX_RANK], plus[MAX_RANK]; /* a SHRINK begins at this extent + plus; begin -1: where it did */
} Placed;
typedef VEC(Placed) Placeds;

/* The graph of the greatest sizes. needs, open: from graph_needs and graph_open */
typedef struct SizedGraph {
  const Graph *g;
  const Placeds *placed;
  const Needed *needs, *open;
} SizedGraph;
/* sized_proof.c: fails unless a run of these sizes computes what the graph `want` does, which the front end builds for them. */
void sized_prove(Ctx *c, const SizedGraph *s, Graph *want, const int64_t *run);
/* The graph of the greatest sizes, with IR.symbols and GIO.open. Fails if runs of other sizes would need another graph. */
Graph *sized_load(Ctx *c, const char *path, const LoadOptions *o);
#endif

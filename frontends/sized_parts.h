/* SPDX-License-Identifier: MIT */
/* sized_parts.h: what the files sized*.c share. sized.c loads graphs for several sizes, sized_fit.c finds the extents, and
 * sized_nodes.c replaces nodes. */
#ifndef TGC_SIZED_PARTS_H
#define TGC_SIZED_PARTS_H
#include "../compiler/graph/graph.h"
#include "../compiler/ir/refmap.h"
#include "sized.h"

/* PROBES: other sizes of a symbol with which the greatest one is compared */
enum { PROBES = 8, PROBES_MOST = SYMBOLS_MOST * PROBES };
typedef struct Probe { int symbol; int64_t size; } Probe; /* all other symbols have their greatest size */
typedef const Node *Peers[PROBES_MOST];
/* By source of a node: what a constant there is at a probe. NULL: the node has no constants there */
typedef struct Operand { bool known; int64_t bits; } Operand;
typedef const Operand *Operands[PROBES_MOST];

typedef int64_t ValueDims[MAX_RANK];

/* The model at the greatest sizes, and what its nodes are at other sizes */
typedef struct Sizing {
  Graph *g;
  IR *ir;
  Probe probe[PROBES_MOST];
  int n;              /* number of probes */
  Peers *peer;        /* by Ref: nodes of the other graphs; NULL: the graph has another form there */
  Operands *operand;  /* by Ref: of those nodes */
  ValueDims *input[PROBES_MOST]; /* by input: its shape in the other graphs */
  const Needed *open; /* graph_open of the model */
  Placeds placed;
  Ref *now; /* by Ref: the node that replaces it */
  Ref *pad; /* by Ref: the first padding of a value whose end depends on a size; 0: none */
  RefMap carried; /* place_key, to the CARRIED */
} Sizing;

/* ---- sized_fit.c ---- */
/* Values of something at the greatest sizes and at the probes. known: bits of probes */
typedef struct Samples {
  int64_t most, at[PROBES_MOST];
  uint32_t known;
} Samples;
uint32_t samples_vary(const Sizing *z, const Samples *s);   /* the symbols with which the samples vary, as bits */
int64_t greatest_extent(const IR *ir, int extent);          /* its value at the greatest sizes */
int64_t extent_at_probe(const Sizing *z, int extent, int p);
/* Finds an extent whose multiple the samples are, or one that differs from them by a constant. */
bool fit_samples(const Sizing *z, const Samples *s, int *extent, int64_t *times, int64_t *plus);
int extent_of_samples(const Sizing *z, const Samples *s);   /* the row of IR.extents that the samples are; -1: there is none */
int sum_of_extents(const Sizing *z, int a, int b);          /* the row of their sum; -1: no formula is known */
Samples samples_of_axis(const Sizing *z, Ref r, int axis);
Samples samples_of_pad(const Sizing *z, Ref r, int axis, bool front); /* the width of the padding on one side */
bool pad_varies(const Sizing *z, Ref r, int axis);          /* whether this width depends on a size */
int extent_along(const Sizing *z, Ref r, int axis);         /* the extent of a value in a run; -1: it is constant, or not known */
static inline Ref place_key(int64_t loop, int64_t place) { return (Ref)(1 + loop * 4096 + place); }
void find_extents(Sizing *z); /* finds open axes and the iterations of loops: Sizing.open, IR.opened, IR.loop_extent */

/* ---- sized_nodes.c ---- */
void put_sizes(Sizing *z);    /* puts masks and sizes into the graph */
#endif

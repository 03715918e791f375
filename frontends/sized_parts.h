/* SPDX-License-Identifier: MIT */
/* sized_parts.h: what the files sized*.c share, but for the proof. sized.c loads the model for several sizes, sized_fit.c finds
 * formulas for the extents that depend on sizes, and sized_nodes.c replaces nodes. For elements of constants, sized_numbers.c
 * finds the formulas and makes the nodes. For reshapes, sized_joined.c does. */
#ifndef TGC_SIZED_PARTS_H
#define TGC_SIZED_PARTS_H
#include "../compiler/graph/graph.h"
#include "../compiler/ir/refmap.h"
#include "sized.h"

/* For each probe, the model is loaded once more. In a probe, one symbol does not have its greatest size. PROBES: most probes of
 * one symbol. PROBES_MOST: most probes of a model */
enum { PROBES = 8, PROBES_MOST = SYMBOLS_MOST * PROBES };
/* symbol: number of the symbol that has the size `size`. All other symbols have their greatest sizes */
typedef struct Probe { int symbol; int64_t size; } Probe;
/* The peers of a node of the graph for the greatest sizes. Element p is the node of probe p's graph that corresponds to this
 * node; NULL: there is no such node */
typedef const Node *Peers[PROBES_MOST];
/* A source of a peer. n: number of elements, if the source is a constant with at most ELEMENTS_MOST elements; 0: the source is no
 * such constant. bits: the bits of each element */
enum { ELEMENTS_MOST = 64 };
struct Part;
typedef struct Operand {
  int64_t n;
  const int64_t *bits;
  struct Part *parts; /* if Sizing.mixed has the source: its nodes, from the source down to the leaves. A node comes before its
                         sources, and once for each path to it. NULL: there are none, or more than PARTS_MOST */
} Operand;
enum { PARTS_MOST = 256 };
typedef struct Part { const Node *peer; Operand of; } Part; /* the peer of a node, and its elements as in Operand */
/* For a node of the graph for the greatest sizes. Element p is an array with an Operand for each source of the peer in probe p;
 * NULL: none of these sources is known to be a constant */
typedef const Operand *Operands[PROBES_MOST];

typedef int64_t ValueDims[MAX_RANK]; /* a shape */

/* The graph g for the greatest sizes, and what the probes say about the nodes of g */
typedef struct Sizing {
  Graph *g;
  IR *ir;             /* g->ir */
  Probe probe[PROBES_MOST];
  int n;              /* number of probes */
  bool dense;         /* true: some reshapes become copies that move elements. See has_joined. */
  Peers *peer;        /* by Ref: the peers of the node */
  bool *mixed;        /* by Ref: a constant that nodes compute, and whose peer differs by user. An example is h - 1 and w - 1 if
                         h and w have equal greatest sizes. So its peers are noted by user. */
  bool any_mixed;
  Operands *operand;  /* by Ref: the sources of the node's peers */
  Operands result;    /* result[p][i]: the Operand for output i of probe p's graph */
  ValueDims *input[PROBES_MOST]; /* input[p][i]: the shape of input i in probe p */
  const Needed *open; /* the result of graph_open for g */
  Placeds placed;
  Ref *now; /* by Ref: the node that replaces this node */
  Ref *pad; /* by Ref: a PAD of this node that adds elements at the end of an axis; 0: there is none. If there are several, the
               first one in the order of ir_toposort */
  bool *lost; /* by Ref: IR.opened has a row for the node, or for a node below it */
  RefMap carried; /* from place_key(loop, place) to the CARRIED with this loop and place */
} Sizing;

/* ---- sized_fit.c ---- */
/* The values that a number, such as an extent, has in several graphs. most: the value in the graph for the greatest sizes. at[p]:
 * the value in probe p. Bit p of `known` is set if at[p] is known */
typedef struct Samples {
  int64_t most, at[PROBES_MOST];
  uint32_t known;
} Samples;
uint32_t samples_vary(const Sizing *z, const Samples *s);   /* bit k of the result is set if a sample of a probe of
                                                               symbol k differs from s->most */
/* The value of row `extent` of IR.extents: greatest_extent for the greatest sizes, extent_at_probe for the sizes of probe p */
int64_t greatest_extent(const IR *ir, int extent);
int64_t extent_at_probe(const Sizing *z, int extent, int p);
/* Sets *extent, *times and *plus so that each sample is *times * e + *plus. Here, e is the value of row *extent of IR.extents.
 * May add a row to IR.extents. Returns false if no such numbers are found. */
bool fit_samples(const Sizing *z, const Samples *s, int *extent, int64_t *times, int64_t *plus);
/* Returns a row of IR.extents whose values are the samples. Returns -1 if all samples are equal, or no formula fits. */
int extent_of_samples(const Sizing *z, const Samples *s);
/* As extent_of_samples, for the index of a slice's first element. This index may fall as a size rises. */
int place_of_samples(const Sizing *z, const Samples *s);
/* Returns the row of IR.extents whose value is the sum of the values of rows a and b. Adds this row if necessary. Returns -1 if
 * IR.extents cannot express the sum, or has too many sums. */
int sum_of_extents(const Sizing *z, int a, int b);
Samples samples_of_axis(const Sizing *z, Ref r, int axis);  /* returns the extents of this axis of r */
/* Returns the numbers of elements that the PAD r adds to the axis: at the front if `front` is true, else at the end */
Samples samples_of_pad(const Sizing *z, Ref r, int axis, bool front);
/* Returns whether the PAD r adds elements to the axis, at the front or at the end, whose number depends on sizes */
bool pad_varies(const Sizing *z, Ref r, int axis);
/* Returns the row of IR.extents with the extent of this axis of r; -1: the extent is constant, or no formula is known. */
int extent_along(const Sizing *z, Ref r, int axis);
static inline Ref place_key(int64_t loop, int64_t place) { return (Ref)(1 + loop * 4096 + place); }
bool is_opened(const IR *ir, Ref r, int axis);              /* whether IR.opened has a row for this axis of r */
/* Adds a row for this axis of r to IR.opened. Adds nothing if is_opened returns true, or if `extent` is -1. Returns whether the
 * function has added a row. extent: the row of IR.extents with the extent of the axis */
bool open_axis(IR *ir, Ref r, int axis, int extent);
/* Finds the extents of axes, and the numbers of iterations of loops, that depend on sizes. Sets Sizing.open, Sizing.carried,
 * IR.opened and IR.loop_extent. */
void find_extents(Sizing *z);

/* ---- sized_joined.c ---- */
/* Some axes of the reshape r result from joining or splitting axes of r's source. If the extent of such an axis depends on sizes,
 * finds a formula for the extent and calls open_axis. Returns whether IR.opened has got more rows. Call this function only if
 * Sizing.dense is true. */
bool find_joined(const Sizing *z, Ref r);
/* Returns the node that replaces the reshape r: a copy, or a reshape of src[0]. src[0]: the node that replaces the source of r */
Ref sized_reshape(Sizing *z, Ref r, Ref *src);
/* Returns whether the model has a reshape that joins or splits axes so that the elements of a smaller run are not adjacent. If
 * Sizing.dense is true, such a reshape becomes a copy, whose elements are adjacent. Does not read Sizing.dense. */
bool has_joined(const Sizing *z);

/* ---- sized_numbers.c ---- */
/* Returns a value that is an element of a constant at all sizes. The element is a share of a number of entries, such as the
 * divisor of a mean, or h - 0.5. Returns 0 if the element is the same everywhere, or if no formula fits. d: its type. bits: its
 * bits at the greatest sizes, and then at the probes in `known` */
Ref sized_element(const Sizing *z, DType d, const int64_t *bits, uint32_t known);

/* ---- sized_nodes.c ---- */
/* Replaces nodes of the graph that would be wrong for smaller sizes. Size masks hide elements that a run does not have, and SIZEs
 * replace constants that depend on sizes. Sets Sizing.placed. */
void put_sizes(Sizing *z);
/* Makes a copy of an output's value if the value is the result of a scatter. Makes a copy, too, if other nodes read elements of
 * the value that the run does not have. A copy has only the elements of the run, and it becomes the output. Returns whether it
 * has made a copy. needs: by node, the need of its value */
bool copy_outputs(const Sizing *z, const Needed *needs);
#endif

/* SPDX-License-Identifier: MIT */
/* bounds.h: internal to the proof that accesses lie inside their buffers (bounds.c). An access is a list of items.
 * bounds_spans.c has their intervals over a box. clamp.c clamps accesses that are not proved. */
#ifndef TGC_BOUNDS_H
#define TGC_BOUNDS_H
#include "../ir/span.h"
#include "lower.h"

enum {
  MAX_LINEAR = 24, /* most terms of an index or conjunct that can cancel */
  MAX_CONJUNCTS = 24
};

typedef struct Item {        /* a node below an index or a gate */
  const Node *x;
  Ref r;
  int first;                 /* index of its first source in Bounds.from; -1: a leaf */
  bool hard;                 /* to be halved: a range, or a value that depends on data */
  bool wraps;                /* its result may wrap in its type over the box, so it is no sum of its sources */
  Span now;                  /* its values over the box */
  Span part;                 /* the part of its values that the box includes */
} Item;

typedef struct Linear {      /* sum of k * item, plus c */
  int n;
  int64_t c;
  struct { int item; int64_t k; } t[MAX_LINEAR];
} Linear;

struct Bounds {
  const Plan *p;
  IR *ir;
  Span *content;             /* by buffer: the integers that its elements may be; empty: nothing is stored yet */
  size_t nbufs;
  RefMap stored;             /* buffers + 1 that the kernel stores to */
  RefMap variable;           /* ACC of the kernel to its values in values + 1 */
  VEC(Span) values;
  RefMap place;              /* node to its item + 1 */
  VEC(Item) item;            /* nodes of the current access, sources first */
  VEC(int) from;             /* items of sources */
  int64_t boxes, all_boxes;
  int gate, index;           /* evaluated boxes of the current access, and of all */
  Ref around;                /* conjunction of the gates of loops around the access; 0: none */
  VEC(Ref) outer;            /* its value outside of each open loop */
  int64_t first, last;       /* offsets from the index to the first and the last touched element */
  int64_t begin, end;        /* valid indices of the buffer; begin is 0 unless its pointer is moved */
  const Kernel *moved;       /* the kernel whose pointers are moved by `shift`; NULL: none */
  const int64_t *shift;
  bool linear;               /* `sum` is the index */
  Linear sum, conjunct[MAX_CONJUNCTS]; /* each <= 0 where the gate is open */
  int conjuncts;
};

/* ---- bounds_spans.c: intervals ---- */
/* Returns the item of r, and appends the items of all nodes below r that are not listed. Sources come before their users. Leaves
 * end the expression: a load is one. */
int bounds_item(Bounds *b, Ref r);
void bounds_clear(Bounds *b);                 /* removes all items */
void bounds_evaluate(Bounds *b);              /* sets Item.now and .wraps of all items that are no leaves */
/* Sets the valid indices of the buffer, or of the tile, and the elements that the access x touches around its index. */
void bounds_reach(Bounds *b, const Node *x);

/* ---- clamp.c ---- */
/* Clamps the accesses in `bad`, lane by lane. */
void clamp_accesses(Bounds *b, const RefMap *bad, Refs *prog);
#endif

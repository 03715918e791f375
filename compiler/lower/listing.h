/* SPDX-License-Identifier: MIT */
/* listing.h: builds lists of micro-ops. A node without sources, or a value that lowering adds, must be in the list before each
 * use of the node. So the caller calls listing_once before each use. listing_once appends the node if the node is invisible, and
 * makes the node visible. A barrier makes all nodes invisible. The end of a loop makes all nodes invisible that were appended
 * inside of this loop. */
#ifndef TGC_LISTING_H
#define TGC_LISTING_H
#include "../ir/refmap.h"

typedef struct Listing {
  const IR *ir;
  Refs *out;               /* the list */
  Refs visible;            /* the visible nodes, in the order of the list. An element 0 marks the start of a loop. An element
                              UINT32_MAX stands for a node that a barrier has made invisible */
  RefMap place;            /* by node: 1 + the node's index in `visible`. If `visible` has another node at this index, the node is
                              not visible */
} Listing;

/* Appends r to the list if r is not visible */
static inline void listing_once(Listing *l, Ref r) {
  const size_t at = refmap_get(&l->place, r);
  if (at && at <= l->visible.n && l->visible.p[at - 1] == r) return;
  VEC_PUSH(&l->visible, r);
  refmap_set(&l->place, r, (Ref)l->visible.n);
  VEC_PUSH(l->out, r);
}

/* Makes all nodes invisible. Necessary after a barrier, because a node may have another value then. */
static inline void listing_forget(Listing *l) {
  for (size_t i = 0; i < l->visible.n; i++)
    if (l->visible.p[i]) l->visible.p[i] = UINT32_MAX;
}

/* Appends micro-op r to the list, even if r was listed before. An END or a BARRIER makes nodes invisible, as described above */
static inline void listing_put(Listing *l, Ref r) {
  const Op op = (Op)node(l->ir, r)->op;
  if (op == OP_END)
    while (l->visible.p[--l->visible.n]) {}
  VEC_PUSH(l->out, r);
  if (op == OP_LOOP) VEC_PUSH(&l->visible, 0);
  if (op == OP_BARRIER) listing_forget(l);
}

static inline void listing_free(Listing *l) {
  VEC_FREE(&l->visible);
  refmap_free(&l->place);
}
#endif

/* SPDX-License-Identifier: MIT */
/* listing.h: builds lists of micro-ops. Some nodes may have to be in the list several times: nodes without sources, and values
 * that lowering adds. The caller calls listing_once for such a node before each use. listing_once appends the node if it is not
 * visible, and so makes the node visible. The node stays visible up to the end of the loop around it, or up to the next barrier.
 * The caller appends all other micro-ops, and barriers, by listing_put. */
#ifndef TGC_LISTING_H
#define TGC_LISTING_H
#include "../ir/refmap.h"

typedef struct Listing {
  const IR *ir;
  Refs *out;               /* the list */
  Refs visible;            /* the visible nodes, in the order of the list. An element 0 marks the start of a loop. An element
                              UINT32_MAX stands for a node whose visibility a barrier has ended */
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

/* Ends the visibility of all nodes. This is necessary after a barrier, because a node may have another value then. */
static inline void listing_forget(Listing *l) {
  for (size_t i = 0; i < l->visible.n; i++)
    if (l->visible.p[i]) l->visible.p[i] = UINT32_MAX;
}

/* Appends micro-op r to the list. Does not test whether the list has r already. Does not make r visible. If r is an END or a
 * BARRIER, the visibility of nodes ends, as described above. */
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

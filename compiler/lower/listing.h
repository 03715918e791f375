/* SPDX-License-Identifier: MIT */
/* listing.h: builds lists of micro-ops. listing_once is for nodes without sources, and for values that lowering adds: it lists
 * such a node before its first use. From then on the node is visible. A barrier ends this, and so does the end of the loop in
 * which the node was listed. The next use after that lists the node again. */
#ifndef TGC_LISTING_H
#define TGC_LISTING_H
#include "../ir/refmap.h"

typedef struct Listing {
  const IR *ir;
  Refs *out;               /* the list */
  Refs visible;            /* nodes that listing_once has listed and that are visible now; a 0 marks the start of a loop */
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

/* Makes all nodes invisible. After a barrier this is necessary, since a node may have a new value then. */
static inline void listing_forget(Listing *l) {
  for (size_t i = 0; i < l->visible.n; i++)
    if (l->visible.p[i]) l->visible.p[i] = UINT32_MAX;
}

/* Appends micro-op r to the list, even if r was listed before. An END or a BARRIER makes nodes invisible */
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

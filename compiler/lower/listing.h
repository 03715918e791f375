/* SPDX-License-Identifier: MIT */
/* listing.h: builds lists of micro-ops. A leaf is a node without sources. A leaf, or a value that lowering adds, is listed before
 * its first use. The next use after a barrier lists the leaf or value again. So does the next use after the end of the loop in
 * which the leaf or value was listed. */
#ifndef TGC_LISTING_H
#define TGC_LISTING_H
#include "../ir/refmap.h"

typedef struct Listing {
  const IR *ir;
  Refs *out;               /* the list */
  Refs visible;            /* values that listing_once has added in loops that have not ended; 0 marks the start of a loop */
  RefMap place;            /* by node: 1 + the node's index in `visible`; outdated if `visible` has another node there */
} Listing;

/* Appends r if `visible` does not have r */
static inline void listing_once(Listing *l, Ref r) {
  const size_t at = refmap_get(&l->place, r);
  if (at && at <= l->visible.n && l->visible.p[at - 1] == r) return;
  VEC_PUSH(&l->visible, r);
  refmap_set(&l->place, r, (Ref)l->visible.n);
  VEC_PUSH(l->out, r);
}

/* Forgets all values that listing_once has added: after a barrier the same node has a new value, and is listed again. */
static inline void listing_forget(Listing *l) {
  for (size_t i = 0; i < l->visible.n; i++)
    if (l->visible.p[i]) l->visible.p[i] = UINT32_MAX;
}

/* Appends a micro-op, even if it was listed before. An END or a BARRIER takes values out of `visible` */
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

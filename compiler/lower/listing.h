/* listing.h: lists of micro-ops while they are made: a leaf, or a value that a step adds, is listed once where it is seen. */
#ifndef TGC_LISTING_H
#define TGC_LISTING_H
#include "../ir/refmap.h"

typedef struct Listing {
  const IR *ir;
  Refs *out;
  Refs visible;            /* added by listing_once in blocks that are open; 0 where one begins */
  RefMap place;            /* in visible, and 1; stale where another node is there */
} Listing;

static inline void listing_once(Listing *l, Ref r) {
  const size_t at = refmap_get(&l->place, r);
  if (at && at <= l->visible.n && l->visible.p[at - 1] == r) return;
  VEC_PUSH(&l->visible, r);
  refmap_set(&l->place, r, (Ref)l->visible.n);
  VEC_PUSH(l->out, r);
}

/* Behind a barrier a value may be listed again, and is another one then: nothing that was added before it counts any more. */
static inline void listing_forget(Listing *l) {
  for (size_t i = 0; i < l->visible.n; i++)
    if (l->visible.p[i]) l->visible.p[i] = UINT32_MAX;
}

/* What the program has itself, and where blocks begin and end by it */
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

/* SPDX-License-Identifier: MIT */
/* clamp.c: clamps accesses that are not proved to lie inside their buffers, lane by lane. For a lane outside, a load takes the
 * nearest element of the buffer, and a store omits the lane. Lanes inside keep their elements, so the clamp never moves one.
 *
 * needs: a program, and its accesses that bounds.c cannot prove   gives: a program whose accesses all lie inside
 * keeps: the value of every element, if no access was outside */
#include "bounds.h"
#include "listing.h"
#include <stdlib.h>

static Ref listed(IR *ir, Listing *l, Op op, DType d, Ref x, Ref y) {
  const Ref r = node_make(ir, op, d, 1, 2, (Ref[]){ x, y }, 0, NULL, 0, NULL);
  listing_once(l, r);
  return r;
}

static Ref listed_const(IR *ir, Listing *l, Ref index, int64_t c) {
  const Ref r = c_int(ir, (DType)node(ir, index)->dt, c);
  listing_once(l, r);
  return r;
}

/* The index, or the nearest one in low .. high. An index of 32 bits is below INT32_MAX anyway. */
static Ref listed_clamp(IR *ir, Listing *l, Ref index, int64_t low, int64_t high) {
  const DType d = (DType)node(ir, index)->dt;
  const Ref r = listed(ir, l, OP_MAX, d, index, listed_const(ir, l, index, low));
  return d == DT_I64 || high < INT32_MAX ? listed(ir, l, OP_MIN, d, r, listed_const(ir, l, index, high)) : r;
}

/* The indices of an access are `first` + lane, where `first` is too far out at most by the number of lanes. */
static Ref listed_first(const Bounds *b, Listing *l, Ref index, int lanes) {
  return lanes > 1 ? listed_clamp(b->ir, l, index, b->begin - lanes, b->end) : index;
}

static Ref listed_index(IR *ir, Listing *l, Ref first, int lane) {
  return lane ? listed(ir, l, OP_ADD, (DType)node(ir, first)->dt, first, listed_const(ir, l, first, lane)) : first;
}

static Ref listed_lane(IR *ir, Listing *l, Ref v, int lane) {
  const int64_t arg = lane;
  if (node(ir, v)->lanes == 1) return v;
  const Ref r = node_make(ir, OP_LANE, (DType)node(ir, v)->dt, 1, 1, &v, 1, &arg, 0, NULL);
  listing_once(l, r);
  return r;
}

/* Loads each lane by itself, from the nearest element of the buffer: a lane outside moves no other lane. */
static Ref clamped_load(const Bounds *b, Listing *l, const Node *x, const Ref *src) {
  IR *ir = b->ir;
  const int lanes = x->lanes, n = x->nsrc;
  const DType d = (DType)x->dt;
  const Ref first = listed_first(b, l, src[1], lanes);
  Ref *lane = xcalloc((size_t)lanes, sizeof *lane);
  for (int k = 0; k < lanes; k++) {
    Ref own[4] = { src[0], listed_clamp(ir, l, listed_index(ir, l, first, k), b->begin, b->end - 1) };
    for (int i = 2; i < n; i++) own[i] = listed_lane(ir, l, src[i], k);
    lane[k] = node_make(ir, OP_LOAD, d, 1, n, own, 0, NULL, 0, NULL);
    listing_put(l, lane[k]);
  }
  const Ref all = lanes > 1 ? node_make(ir, OP_VEC, d, lanes, lanes, lane, 0, NULL, 0, NULL) : lane[0];
  if (lanes > 1) listing_put(l, all);
  free(lane);
  return all;
}

/* Stores each lane by itself, if it lies inside. */
static void gated_store(const Bounds *b, Listing *l, const Node *x, const Ref *src) {
  IR *ir = b->ir;
  const int lanes = node(ir, src[2])->lanes, n = x->nsrc;
  const DType d = (DType)x->dt;
  const Ref first = listed_first(b, l, src[1], lanes);
  for (int k = 0; k < lanes; k++) {
    const Ref at = listed_index(ir, l, first, k);
    const Ref above = listed(ir, l, OP_CMPLT, DT_BOOL, listed_const(ir, l, at, b->begin - 1), at);
    const Ref below = listed(ir, l, OP_CMPLT, DT_BOOL, at, listed_const(ir, l, at, b->end));
    Ref gate = listed(ir, l, OP_AND, DT_BOOL, above, below);
    if (n > 3) gate = listed(ir, l, OP_AND, DT_BOOL, listed_lane(ir, l, src[3], k), gate);
    const Ref own[4] = { src[0], listed_clamp(ir, l, at, b->begin, b->end - 1), listed_lane(ir, l, src[2], k), gate };
    listing_put(l, node_make(ir, OP_STORE, d, 1, 4, own, 0, NULL, 0, NULL));
  }
}

/* Ops that the functions above list, too: a program may hold the same node */
static bool listed_here(const Node *x) {
  switch ((Op)x->op) {
  case OP_CONST: case OP_MAX: case OP_MIN: case OP_AND: case OP_CMPLT: case OP_LANE: return true;
  case OP_ADD: return dt_int((DType)x->dt) && x->lanes == 1;
  default: return false;
  }
}

void clamp_accesses(Bounds *b, const RefMap *bad, Refs *prog) {
  Refs out = { 0 }, src = { 0 };
  RefMap now = { 0 };      /* changed nodes: accesses and their users */
  Listing l = { .ir = b->ir, .out = &out };
  for (size_t i = 0; i < prog->n; i++) {
    const Ref r = prog->p[i];
    const Node x = *node(b->ir, r);
    src.n = 0;
    for (int k = 0; k < x.nsrc; k++) VEC_PUSH(&src, refmap_get(&now, x.src[k]) ? refmap_get(&now, x.src[k]) : x.src[k]);
    if (refmap_get(bad, r)) {
      bounds_reach(b, &x);
      const bool whole = x.op == OP_TILE || x.op == OP_PART; /* such an access has no lanes: it moves as a whole */
      if (node(b->ir, src.p[1])->lanes > 1 || b->end - b->begin <= (whole ? b->last - b->first : 0))
        ir_wrong(b->ir, "%s %u is not proved to lie inside its buffer", op_info[x.op].name, r);
      if (x.op == OP_LOAD) refmap_set(&now, r, clamped_load(b, &l, &x, src.p));
      if (x.op == OP_STORE) gated_store(b, &l, &x, src.p);
      if (!whole) continue;
      src.p[1] = listed_clamp(b->ir, &l, src.p[1], b->begin - b->first, b->end - 1 - b->last);
    }
    const Ref to = x.nsrc ? node_with_src(b->ir, r, src.p) : r;
    if (to != r) refmap_set(&now, r, to);
    if (listed_here(&x)) listing_once(&l, to);
    else listing_put(&l, to);
  }
  VEC_FREE(prog);
  *prog = out;
  VEC_FREE(&src);
  listing_free(&l);
  refmap_free(&now);
}

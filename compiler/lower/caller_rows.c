/* SPDX-License-Identifier: MIT */
/* caller_rows.c: indices of the caller's memory, whose rows are as long as a run's size says.
 *
 * Up to here an index counts elements of the greatest size. If the dimension of the run is not outermost, the rows of a smaller
 * size are shorter. An entry of the dimension has `inner` elements. So index / (inner * extent) is the number of the row, and a row
 * has inner * size elements.
 *
 * needs: nests of loops only   gives: nests that access inputs and outputs as the caller lays them out
 * keeps: the value of every element */
#include "lower.h"
#include <stdlib.h>

/* The entries of rows that follow one another in the buffer; NULL: there is one row */
static const Need *entries_of_rows(const Buf *b) {
  return buf_ends_early(b) && b->needed.is[0].inner * b->needed.is[0].extent < b->elems ? &b->needed.is[0] : NULL;
}

static Ref caller_index(IR *ir, Ref index, const Need *is) {
  const Node *x = node(ir, index);
  if (x->op == OP_VEC) {
    Ref *lane = ARENA_NEW(&ir->ctx->model, Ref, x->nsrc);
    for (int k = 0; k < x->nsrc; k++) lane[k] = caller_index(ir, x->src[k], is);
    return node_with_src(ir, index, lane);
  }
  CHECK(x->lanes == 1);
  const int64_t row = is->inner * is->extent;
  const Ref length = size_value(ir, size_number(ir, size_all(is->inner, is->of)));
  const Ref begin = node_make(ir, OP_MUL, DT_I64, 1, 2, (Ref[]){ ix_div(ir, index, row), length }, 0, NULL, 0, NULL);
  return ix_add(ir, begin, ix_mod(ir, index, row));
}

Ref caller_rows(IR *ir, Ref nest) {
  Refs all = { 0 };
  RefMap now = { 0 };
  bool any = false;
  for (size_t i = 0; i < ir->bufs.n && !any && ir->symbol.name; i++) any = entries_of_rows(&ir->bufs.p[i]) != NULL;
  if (any) ir_toposort(ir, &nest, 1, &all);
  for (size_t i = 0; i < all.n; i++) {
    const Node *x = node(ir, all.p[i]);
    Ref *src = ARENA_NEW(&ir->ctx->model, Ref, x->nsrc);
    for (int k = 0; k < x->nsrc; k++) src[k] = refmap_get(&now, x->src[k]);
    const bool touches = is_access(x) || x->op == OP_PREFETCH;
    const Need *is = touches ? entries_of_rows(&ir->bufs.p[buffer_id(node(ir, access_buffer(x)))]) : NULL;
    if (is) src[1] = caller_index(ir, src[1], is);
    refmap_set(&now, all.p[i], x->nsrc ? node_with_src(ir, all.p[i], src) : all.p[i]);
  }
  if (any) nest = refmap_get(&now, nest);
  refmap_free(&now);
  VEC_FREE(&all);
  return nest;
}

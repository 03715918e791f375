/* SPDX-License-Identifier: MIT */
/* caller_rows.c: indices of the caller's memory, whose rows are as long as a run's sizes say.
 *
 * Up to here an index counts elements of the greatest sizes. If a dimension of the run is not outermost, the rows of a smaller
 * size are shorter. An entry of the dimension has `inner` elements. So index / (inner * extent) is the number of the row, and a
 * row has inner * size elements. If rows lie along a further dimension of the run, their numbers change in the same way.
 *
 * needs: nests of loops only   gives: nests that access inputs and outputs as the caller lays them out
 * keeps: the value of every element */
#include "lower.h"
#include <stdlib.h>

/* The conditions of a buffer along which rows of entries follow one another in it, from the inner ones on outwards */
static Needed entries_of_rows(const Buf *b) {
  Needed rows = { 0 };
  int64_t before = 0;
  while (buf_ends_early(b)) {
    const Need *next = NULL;
    for (int k = 0; k < b->needed.n; k++) {
      const Need *c = &b->needed.is[k];
      if (c->inner > before && c->inner * c->extent < b->elems && (!next || c->inner < next->inner)) next = c;
    }
    if (!next) break;
    rows.is[rows.n++] = *next;
    before = next->inner;
  }
  return rows;
}

int64_t buf_row(const Buf *b) {
  const Needed rows = entries_of_rows(b);
  return rows.n ? rows.is[0].inner * rows.is[0].extent : 0;
}

/* The index of an element whose place is index * unit + a number below `unit`, among rows along conditions `from` and up */
static Ref row_index(IR *ir, Ref index, const Needed *rows, int from, int64_t unit) {
  if (from == rows->n) return index;
  const Need c = rows->is[from];
  const int64_t inner = c.inner / unit, row = inner * c.extent;
  const Ref number = row_index(ir, ix_div(ir, index, row), rows, from + 1, unit * row);
  const Ref length = size_value(ir, size_number(ir, size_all(inner, c.of)));
  const Ref begin = node_make(ir, OP_MUL, DT_I64, 1, 2, (Ref[]){ number, length }, 0, NULL, 0, NULL);
  return ix_add(ir, begin, ix_mod(ir, index, row));
}

static Ref caller_index(IR *ir, Ref index, const Needed *rows) {
  const Node *x = node(ir, index);
  if (x->op == OP_VEC) {
    Ref *lane = ARENA_NEW(&ir->ctx->model, Ref, x->nsrc);
    for (int k = 0; k < x->nsrc; k++) lane[k] = caller_index(ir, x->src[k], rows);
    return node_with_src(ir, index, lane);
  }
  CHECK(x->lanes == 1);
  return row_index(ir, index, rows, 0, 1);
}

Ref caller_rows(IR *ir, Ref nest) {
  Refs all = { 0 };
  RefMap now = { 0 };
  bool any = false;
  for (size_t i = 0; i < ir->bufs.n && !any && ir->symbols.n; i++) any = buf_row(&ir->bufs.p[i]) > 0;
  if (any) ir_toposort(ir, &nest, 1, &all);
  for (size_t i = 0; i < all.n; i++) {
    const Node *x = node(ir, all.p[i]);
    Ref *src = ARENA_NEW(&ir->ctx->model, Ref, x->nsrc);
    for (int k = 0; k < x->nsrc; k++) src[k] = refmap_get(&now, x->src[k]);
    const bool touches = is_access(x) || x->op == OP_PREFETCH;
    const Needed rows = touches ? entries_of_rows(&ir->bufs.p[buffer_id(node(ir, access_buffer(x)))]) : (Needed){ 0 };
    if (rows.n) src[1] = caller_index(ir, src[1], &rows);
    refmap_set(&now, all.p[i], x->nsrc ? node_with_src(ir, all.p[i], src) : all.p[i]);
  }
  if (any) nest = refmap_get(&now, nest);
  refmap_free(&now);
  VEC_FREE(&all);
  return nest;
}

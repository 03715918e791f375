/* SPDX-License-Identifier: MIT */
/* join_rows.c: two rows of a matrix product become one where a row ends with half a vector.
 *
 * A row of 24 columns takes as many multiply-adds of 16 lanes as one of 32. Two such rows side by side are three whole vectors.
 * The second vector has the end of one row and the beginning of the other. It needs a factor of each row, and one shuffle joins
 * these (shuffle.c). So a range of pairs of rows and a range of both rows' columns replace the two ranges. Weights are packed
 * twice, once for each row of a pair (pack.c).
 *
 * needs: a canonical nest   gives: ranges of row pairs and of their columns   keeps: the value of every element, order of sums */
#include "../cost/cost.h"
#include "../cost/growth.h"
#include "nest.h"

typedef struct Product {
  Ref store, red, row, column;
  int64_t weights;         /* elements of the weights, which two rows have twice */
} Product;

/* The reduction reads weights along the columns only, and other values along the rows only; no gate depends on either. */
static bool shares_rows(IR *ir, Product *p) {
  Refs all = { 0 };
  bool yes = true, weights = false, values = false;
  const Ref value = red_value(node(ir, p->red));
  ir_toposort(ir, &value, 1, &all);
  for (size_t i = 0; i < all.n && yes; i++) {
    const Node *x = node(ir, all.p[i]);
    int64_t coef;
    Ref rest;
    if (x->op != OP_LOAD) continue;
    const Buf *b = &ir->bufs.p[buffer_id(node(ir, load_buffer(x)))];
    const bool weight = b->kind == BUF_WEIGHT;
    const bool by_row = ix_uses(ir, all.p[i], p->row), by_column = ix_uses(ir, all.p[i], p->column);
    yes = weight ? !by_row : !by_column && ix_split(ir, load_index(x), p->row, &coef, &rest);
    yes &= b->dt != DT_BF16; /* dot instructions and matrix units take these in groups of terms */
    yes &= !load_gate(x) || !(ix_uses(ir, load_gate(x), p->row) || ix_uses(ir, load_gate(x), p->column));
    if (weight && by_column) weights = true, p->weights += b->elems;
    values |= !weight && by_row;
  }
  VEC_FREE(&all);
  return yes && weights && values;
}

/* Whether rows of n columns end with half a vector, so that at least an eighth of the lanes would be idle */
static bool ends_with_half(const IR *ir, int64_t n, int lanes) {
  return n > lanes && n % lanes == lanes / 2 && 2 * n / lanes <= tunable(ir->ctx, join_vectors);
}

static bool is_product(IR *ir, Ref nest, const Nest *n, Product *p) {
  const Node *s = node(ir, n->store);
  Refs all = { 0 };
  p->store = n->store;
  p->red = 0;
  p->weights = 0;
  if (s->op != OP_STORE || store_gate(s) || reductions_below(ir, n->store) != 1) return false;
  ir_toposort(ir, &n->store, 1, &all);
  for (size_t i = 0; i < all.n; i++)
    if (node(ir, all.p[i])->op == OP_RED) p->red = all.p[i];
  VEC_FREE(&all);
  return p->red && node(ir, p->red)->dt == DT_F32 && red_op(node(ir, p->red)) == OP_ADD && shares_rows(ir, p) &&
         !range_ends_early(ir, nest, p->row) && !range_ends_early(ir, nest, p->column);
}

/* The stored elements of consecutive rows are adjacent. */
static bool rows_adjacent(IR *ir, Ref store, Ref row, Ref column) {
  int64_t by_row, by_column;
  Ref rest;
  const Ref index = store_index(node(ir, store));
  return ix_split(ir, index, column, &by_column, &rest) && by_column == 1 && ix_split(ir, index, row, &by_row, &rest) &&
         by_row == range_extent(node(ir, column));
}

/* The weights twice, for the time of half a vector in each row and term */
static Growth growth_of(const IR *ir, const Product *p, const Target *t) {
  const Node *x = node(ir, p->red);
  double terms = (double)range_extent(node(ir, p->row));
  for (int k = 1; k < x->nsrc; k++) terms *= (double)range_extent(node(ir, x->src[k]));
  return (Growth){ .form = "rows in pairs",
                   .origin = ir->origin,
                   .weights = (double)p->weights * dt_bytes(DT_F32),
                   .gain = terms / 2 / rate(t, ISSUE, TILE) };
}

Ref join_rows(IR *ir, Ref nest, const Target *t) {
  const Nest n = nest_open(ir, nest);
  const int lanes = t->vector_bytes / dt_bytes(DT_F32);
  const bool wide = lanes >= tunable(ir->ctx, join_lanes) && t->vector_regs >= tunable(ir->ctx, join_registers);
  if (t->dev || !wide || node(ir, n.store)->op != OP_STORE) return nest;
  for (int i = 0; i < n.n; i++)
    for (int k = 0; k < n.n; k++) {
      Product p = { .row = n.ranges[i], .column = n.ranges[k] };
      const int64_t rows = range_extent(node(ir, p.row)), columns = range_extent(node(ir, p.column));
      if (i == k || !ends_with_half(ir, columns, lanes) || rows % 2 || rows < tunable(ir->ctx, join_rows) ||
          range_kind(node(ir, p.row)) != RK_LOOP || range_kind(node(ir, p.column)) != RK_LOOP ||
          !rows_adjacent(ir, n.store, p.row, p.column) || !is_product(ir, nest, &n, &p))
        continue;
      const Growth more = growth_of(ir, &p, t);
      if (!growth_allowed(ir, &more)) continue;
      growth_granted(ir, &more);
      const Ref by[2] = { range_make(ir, rows / 2, RK_LOOP), range_make(ir, 2 * columns, RK_LOOP) };
      nest = range_replace(ir, nest, p.row, ix_add(ir, ix_mul(ir, by[0], 2), ix_div(ir, by[1], columns)), 2, by);
      return range_replace(ir, nest, p.column, ix_mod(ir, by[1], columns), 0, NULL);
    }
  return nest;
}

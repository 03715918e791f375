/* SPDX-License-Identifier: MIT */
/* sized_pairs.c: rows that tiles leave, two at a time, also of two sequences.
 *
 * A batch has sequences of the same length. Whole tiles leave up to tile - 1 rows of each, which tiles of two rows take. If their
 * number is odd, a tile has the last rows of two sequences. So a single nest serves two rows of a sequence and rows of two
 * sequences. The distance of its rows is a number of the run. The last tile of the last sequence may have one row. In each second
 * sequence the last tile may have none: it does nothing.
 * needs: canonical nests   gives: a nest whose ranges have limits   keeps: each element that a run needs */
#include "opts.h"

static Ref as_number(IR *ir, Ref condition) { return node_make(ir, OP_CAST, DT_I64, 1, 1, &condition, 0, NULL, 0, NULL); }

static Ref close_store(IR *ir, Ref store, void *arg) {
  const Ref gate = *(const Ref *)arg;
  return ix_uses(ir, store, gate) ? 0 : gated_access(ir, node(ir, store), node(ir, store)->src, gate);
}

/* The size that `rule` makes of a number of values, with tiles of `tile` values and parts of `height` of them */
static int size_by(IR *ir, const tgcrt_size *values, int tile, int height, tgcrt_size_rule rule) {
  return size_number(ir, (tgcrt_size){ values->times, tile, height, rule, values->of });
}

int sized_rows_before(IR *ir, const tgcrt_size *values, int tile) {
  const int64_t most = greatest_size(ir, size_number(ir, *values));
  const Extent but_last = { .of = values->of, .times = values->times, .plus = -1, .over = 1, .most = most - 1 };
  const tgcrt_size all = size_all(1, extent_make(ir, but_last));
  return size_by(ir, &all, tile, 1, TGCRT_SIZE_BEGIN);
}

Ref sized_pairs(IR *ir, Ref nest, Ref r, const tgcrt_size *values, int tile, Ref beside, const tgcrt_size *others, Ref *inside) {
  static const Rule rules[] = { { OP_STORE, "store rows that a tile has", close_store }, { OP_NONE, NULL, NULL } };
  const int64_t extent = range_extent(node(ir, r));
  const Ref rows = size_value(ir, size_by(ir, values, tile, 1, TGCRT_SIZE_PARTS)), one = ix_const(ir, 1);
  const int tiles = size_by(ir, values, tile, 2, TGCRT_SIZE_COVER);
  Ref by[2] = { range_limited(ir, greatest_size(ir, tiles), tiles, RK_LOOP), range_make(ir, 2, RK_LOOP) };
  Ref sequence = range_limited(ir, range_extent(node(ir, beside)), size_number(ir, *others), RK_LOOP);
  const Ref first = ix_mul(ir, by[0], 2), second = ix_add(ir, first, one), odd = ix_mod(ir, sequence, 2);
  const Ref later = ix_lt(ir, ix_const(ir, 0), by[1]), own = ix_lt(ir, second, rows); /* the second row is of this sequence */
  const Ref next = ix_lt(ir, ix_add(ir, sequence, one), size_value(ir, size_number(ir, *others)));
  const Ref shared[2] = { own, ix_and(ir, ix_lt(ir, odd, one), next) };
  const Ref either = node_make(ir, OP_OR, DT_BOOL, 1, 2, shared, 0, NULL, 0, NULL);
  const Ref has[3] = { later, either, ix_lt(ir, ix_add(ir, first, odd), rows) };
  Ref gate = node_make(ir, OP_WHERE, DT_BOOL, 1, 3, has, 0, NULL, 0, NULL);
  const Ref same = as_number(ir, ix_and(ir, later, own));
  const Ref other = node_make(ir, OP_NOT, DT_BOOL, 1, 1, &own, 0, NULL, 0, NULL);
  const Ref crosses = as_number(ir, ix_and(ir, later, other)); /* if there is no such row, its condition keeps it from memory */
  const Ref before = size_value(ir, sized_rows_before(ir, values, tile)), at = ix_add(ir, before, ix_add(ir, first, same));
  ir_rewrite(ir, rules, &gate, &nest, 1, NULL);
  nest = range_replace(ir, nest, r, index_at_most(ir, at, extent - 1), 2, by);
  *inside = by[1];
  return range_replace(ir, nest, beside, ix_add(ir, sequence, crosses), 1, &sequence);
}

bool sized_pair_gate(const IR *ir, Ref gate, int *row) {
  const Node *x = node(ir, gate);
  *row = x->op == OP_OR ? 2 : 1;
  if (x->op == OP_OR) x = node(ir, lhs(x))->op == OP_CMPLT ? node(ir, lhs(x)) : node(ir, rhs(x));
  if (x->op != OP_CMPLT) return false;
  const Node *rows = node(ir, rhs(x));
  if (rows->op == OP_ADD) rows = node(ir, lhs(rows));
  return rows->op == OP_SIZE && ir->sizes.p[size_id(rows)].rule == TGCRT_SIZE_PARTS && ir->sizes.p[size_id(rows)].height == 1;
}

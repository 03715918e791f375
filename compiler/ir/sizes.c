/* SPDX-License-Identifier: MIT */
/* sizes.c: the table of sizes that a run of a range of sizes has, and ranges that end at one of them.
 *
 * A size is a formula of the number n that a run is told (runtime_stub/tgcrt_sizes.h). In kernels it is the leaf SIZE, whose
 * bounds hold for every n, or the limit of a RANGE. The extent of such a range is its greatest limit, so proofs stay valid. */
#include "ir.h"

int size_number(IR *ir, tgcrt_size s) {
  for (size_t i = 0; i < ir->sizes.n; i++) {
    const tgcrt_size *x = &ir->sizes.p[i];
    if (x->rule == s.rule && x->times == s.times && x->tile == s.tile && x->height == s.height) return (int)i;
  }
  if (ir->sizes.n == SIZES_MOST) fail(ir->ctx, EX_BADMODEL, "the model needs more than %d sizes in a run", SIZES_MOST);
  VEC_PUSH(&ir->sizes, s);
  return (int)ir->sizes.n - 1;
}

int64_t greatest_size(const IR *ir, int number) {
  int64_t most = 0;
  for (int64_t n = ir->symbol.low; n <= ir->symbol.high; n++)
    if (size_in_run(ir, number, n) > most) most = size_in_run(ir, number, n);
  return most;
}

Ref size_value(IR *ir, int number) {
  const int64_t arg[2] = { number, greatest_size(ir, number) };
  return node_make(ir, OP_SIZE, DT_I64, 1, 0, NULL, 2, arg, 0, NULL);
}

bool needed_has(const Needed *all, int64_t inner) {
  for (int k = 0; k < all->n; k++)
    if (all->inner[k] == inner) return true;
  return false;
}

bool needed_add(Needed *to, int64_t inner) {
  if (to->n == NEEDED_MOST || needed_has(to, inner)) return false;
  to->inner[to->n++] = inner;
  return true;
}

Needed needed_both(const Needed *a, const Needed *b) {
  Needed both = { 0 };
  for (int k = 0; k < a->n; k++)
    if (needed_has(b, a->inner[k])) needed_add(&both, a->inner[k]);
  return both;
}

Ref range_limited(IR *ir, int64_t extent, int number, RangeKind kind) {
  const int64_t arg[4] = { extent, ir->next_range++, kind, number + 1 };
  return node_make(ir, OP_RANGE, DT_I64, 1, 0, NULL, 4, arg, 0, NULL);
}

Ref range_again(IR *ir, const Node *range) {
  const int64_t limit = range_limit(range);
  return limit ? range_limited(ir, range_extent(range), (int)limit - 1, range_kind(range))
               : range_new(ir, range_extent(range), range_kind(range));
}

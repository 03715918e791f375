/* SPDX-License-Identifier: MIT */
/* sizes.c: the table of sizes that a run of a range of sizes has, and ranges that end at one of them.
 *
 * A size is a formula of the size of a symbol, which a run is told (runtime_stub/tgcrt_sizes.h). In kernels it is the leaf SIZE,
 * whose bounds hold for every run, or the limit of a RANGE. The extent of such a range is its greatest limit, so proofs stay
 * valid. */
#include "ir.h"

bool size_is_allowed(const Symbol *s, int64_t size) {
  return size >= s->low && size <= s->high && (size - s->low) % s->step == 0;
}

void greatest_sizes(const Symbols *s, int64_t *run) {
  for (int k = 0; k < s->n; k++) run[k] = s->p[k].high;
}

int size_number(IR *ir, tgcrt_size s) {
  for (size_t i = 0; i < ir->sizes.n; i++) {
    const tgcrt_size *x = &ir->sizes.p[i];
    if (x->rule == s.rule && x->times == s.times && x->tile == s.tile && x->height == s.height && x->symbol == s.symbol)
      return (int)i;
  }
  if (ir->sizes.n == SIZES_MOST) fail(ir->ctx, EX_BADMODEL, "the model needs more than %d sizes in a run", SIZES_MOST);
  VEC_PUSH(&ir->sizes, s);
  return (int)ir->sizes.n - 1;
}

int64_t greatest_size(const IR *ir, int number) {
  const tgcrt_size *x = &ir->sizes.p[number];
  const Symbol *s = &ir->symbols.p[x->symbol];
  int64_t most = 0;
  for (int64_t n = s->low; n <= s->high; n += s->step) {
    const int64_t size = tgcrt_size_of(x, n);
    if (size > most) most = size;
  }
  return most;
}

Ref size_value(IR *ir, int number) {
  const int64_t arg[2] = { number, greatest_size(ir, number) };
  return node_make(ir, OP_SIZE, DT_I64, 1, 0, NULL, 2, arg, 0, NULL);
}

bool needed_has(const Needed *all, Need c) {
  for (int k = 0; k < all->n; k++)
    if (all->of[k].inner == c.inner && all->of[k].symbol == c.symbol) return true;
  return false;
}

bool needed_add(Needed *to, Need c) {
  for (int k = 0; k < to->n; k++)
    if (to->of[k].inner == c.inner) return false; /* an axis ends at one size */
  if (to->n == NEEDED_MOST) return false;
  to->of[to->n++] = c;
  return true;
}

Needed needed_both(const Needed *a, const Needed *b) {
  Needed both = { 0 };
  for (int k = 0; k < a->n; k++)
    if (needed_has(b, a->of[k])) needed_add(&both, a->of[k]);
  return both;
}

Needed needed_of_value(const GIO *v) {
  Needed n = { 0 };
  int64_t inner = 1;
  for (int a = v->rank - 1; a >= 0; inner *= v->dims[a--])
    if (v->open[a]) needed_add(&n, (Need){ inner, v->open[a] - 1 });
  return n;
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

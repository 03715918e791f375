/* SPDX-License-Identifier: MIT */
/* walk.c: a schedule that a walk has found. */
#include "walk.h"

/* Each height of a tile of rows that ends at a size has code of its own (opt/sized.c). */
static bool too_many_heights(const Walk *w, const Opts *o) {
  bool many = false;
  for (int i = 0; i < o->n && w->ir->symbols.n; i++)
    many |= o->opt[i].unroll > tunable(w->ir->ctx, unroll_most) && o->opt[i].lanes == 1 &&
            range_ends_early(w->ir, w->nest, o->opt[i].range);
  return many;
}

void walk_offer(const Walk *w, const Opts *o) {
  Sb text = { 0 };
  if (too_many_heights(w, o) || opts_check(w->ir, w->nest, w->t, o)) return;
  if (opts_statements(w->ir, w->nest, o) > tunable(w->ir->ctx, tune_variant_statements)) return;
  opts_print(w->ir, w->nest, o, &text);
  w->each(w->arg, text.p);
  sb_free(&text);
}

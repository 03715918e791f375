/* SPDX-License-Identifier: MIT */
/* walk.c: a schedule that a walk has found. */
#include "walk.h"

void walk_offer(const Walk *w, const Opts *o) {
  Sb text = { 0 };
  if (opts_check(w->ir, w->nest, w->t, o)) return;
  if (opts_statements(w->ir, w->nest, o) > tunable(w->ir->ctx, tune_variant_statements)) return;
  opts_print(w->ir, w->nest, o, &text);
  w->each(w->arg, text.p);
  sb_free(&text);
}

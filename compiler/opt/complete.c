/* SPDX-License-Identifier: MIT */
/* complete.c: the schedule of a nest for which none is given, and the schedules of the remnants that a schedule leaves. With
 * these a schedule is complete: it is applied without further choices.
 *
 * needs: a canonical nest   gives: schedules that opts_check accepts, with one for each remnant */
#include "opts.h"

Opts default_opts(IR *ir, Ref nest, const Target *t) {
  const Nest n = nest_open(ir, nest);
  if (target_has_threads(t)) return device_opts(ir, nest, t);
  return sized_fewer_rows(ir, nest, t, sized_spread_rows(ir, nest, t, sized_default(ir, nest, t, heuristic_opts(ir, &n, t))));
}

int default_best(IR *ir, Ref nest, const Target *t, int room, Opts *out) {
  const Nest n = nest_open(ir, nest);
  return target_has_threads(t) ? device_best(ir, nest, t, room, out) : heuristic_best(ir, &n, t, room, out);
}

/* ---- schedules of remnants ---- */
/* The schedule as its text reads back: rests in the order of its ranges. */
static Opts in_order(IR *ir, Ref nest, const Opts *o) {
  Sb text = { 0 };
  opts_print(ir, nest, o, &text);
  const Opts again = opts_read(ir, nest, text.p);
  sb_free(&text);
  return again;
}

/* Sums are not in parts (sized.c). */
static void add_in_order(Opts *o) {
  int n = 0;
  for (int i = 0; i < o->n; i++)
    if (!o->opt[i].partial) o->opt[n++] = o->opt[i];
  o->n = n;
}

static void complete(IR *ir, Ref nest, const Target *t, int depth, Opts *o) {
  Remnants parts = { 0 };
  CHECK(depth < 16);
  if (target_has_threads(t) && !o->split) return; /* devices have gates in place of borders and rests */
  if (!target_has_threads(t)) sized_opts(ir, nest, o);
  *o = in_order(ir, nest, o);
  opts_parts(ir, nest, t, o, &parts);
  const bool given = o->nparts == (int)parts.n;
  o->nparts = o->nborders = 0;
  for (size_t i = 0; i < parts.n; i++) {
    const Remnant *p = &parts.p[i];
    Opts part = given ? opts_read(ir, p->nest, o->part[i]) : p->own ? default_opts(ir, p->nest, t) : p->opts;
    Sb text = { 0 };
    if (!given && t->in_order) add_in_order(&part);
    complete(ir, p->nest, t, depth + 1, &part);
    opts_print(ir, p->nest, &part, &text);
    CHECK(o->nparts < MAX_PARTS);
    o->part[o->nparts++] = sb_keep(&text, &ir->ctx->model);
    o->nborders += p->border;
  }
  VEC_FREE(&parts);
}

void opts_complete(IR *ir, Ref nest, const Target *t, Opts *o) { complete(ir, nest, t, 0, o); }

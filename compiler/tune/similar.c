/* SPDX-License-Identifier: MIT */
/* similar.c: nests of a model that do the same work with other constants, such as layers that repeat. One is searched for all of
 * them. The others try its best schedules when the whole model is timed.
 *
 * needs: goals, some of them searched    gives: rivals of goals that were not searched    keeps: measurements */
#include "tune.h"
#include <string.h>

int goal_kind(const Tuner *t, Goal *g) {
  nest_form(t->lab.ir, g->nest, t->lab.target, t->lab.backend, g->form);
  for (size_t i = 0; i < t->goals.n; i++)
    if (!strcmp(t->goals.p[i].form, g->form) && !strcmp(t->goals.p[i].base, g->base)) return t->goals.p[i].kind;
  return (int)t->goals.n;
}

bool goals_similar(const Goal *x, const Goal *y) { return x->kind == y->kind; }

/* Goals wait for the first of their kind that was begun; if none was, for the first one. */
double goal_waiting_us(const Tuner *t, const Goal *g) {
  double us = 0;
  for (size_t i = 0; i < t->goals.n; i++) {
    const Goal *x = &t->goals.p[i];
    if (x == g || !goals_similar(g, x)) continue;
    if (x->begun ? !g->begun || x < g : !g->begun && x < g) return 0;
    if (!x->begun && !x->done) us += x->count * x->best_us;
  }
  return us;
}

static bool has_rival(const Goal *g, const char *opts) {
  bool has = !strcmp(opts, g->base) || !strcmp(opts, g->best);
  for (int k = 0; k < g->nrivals; k++) has |= !strcmp(opts, g->rival[k]);
  return has;
}

/* Lends a schedule, and estimates its time from that of the lender. */
static void lend(Tuner *t, Goal *g, const Goal *from, const char *opts) {
  const Trial *x = goal_trial(from, opts), *old = goal_trial(g, opts);
  Opts o;
  if (!x || x->failed || (old && (old->failed || old->rejected)) || has_rival(g, opts)) return;
  if (g->nrivals >= tunable(t->lab.ctx, tune_similar_rivals)) return;
  const double scale = g->base_us / from->base_us;
  if (opts_parse(t->lab.ir, g->nest, t->lab.target, opts, strlen(opts), &o)) return;
  if (!old) VEC_PUSH(&g->screened, ((Trial){ .opts = opts, .warm = x->warm * scale, .cold = x->cold * scale }));
  g->rival[g->nrivals++] = opts;
}

void goal_borrow_rivals(Tuner *t, Goal *g) {
  for (size_t i = 0; i < t->goals.n; i++) {
    const Goal *x = &t->goals.p[i];
    if (x == g || (!x->begun && !x->done) || !goals_similar(g, x)) continue;
    lend(t, g, x, x->best);
    for (int k = 0; k < x->nrivals; k++) lend(t, g, x, x->rival[k]);
  }
}

/* A schedule computes in a goal what it computes in others like it. */
bool goal_is_known_right(const Tuner *t, const Goal *g, const char *opts) {
  for (size_t i = 0; i < t->goals.n; i++) {
    const Goal *x = &t->goals.p[i];
    if (goals_similar(g, x) && x->right && !strcmp(x->right, opts)) return true;
  }
  return false;
}

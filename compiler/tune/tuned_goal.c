/* SPDX-License-Identifier: MIT */
/* tuned_goal.c: goals of nests whose time depends on the sizes of a run. It finds where their data are in each timed run. It keeps
 * times in single runs in the store, and finds schedules that lose in one of the runs.
 *
 * needs: goals, timed runs (tuned_runs.c)    gives: states of goals, trials with times in single runs */
#include "tune.h"
#include <string.h>

/* ---- states ---- */
Goal *goal_of(const Tuner *t, const char *key) {
  for (size_t i = 0; i < t->goals.n; i++)
    if (!strcmp(t->goals.p[i].key, key)) return &t->goals.p[i];
  return NULL;
}

static void see_run(Tuner *t, const Plan *p, int run) {
  const TunedRuns *r = &t->lab.runs;
  MemoryLevel **level = cache_levels(p, t->lab.target, r->n ? r->run[run].sizes : NULL);
  for (size_t k = 0; k < p->kernels.n; k++)
    for (size_t i = 0; i < p->kernels.p[k].nests.n; i++) {
      const NestSchedule *n = &p->kernels.p[k].nests.p[i];
      Goal *g = goal_of(t, n->key);
      if (g->sized) cache_state_see(&g->state_in[run], p, (int)k, n->nest, level[k]);
      else if (!r->n || run == main_run(r)) cache_state_see(&g->state, p, (int)k, n->nest, level[k]);
    }
}

/* "seq=1: inputs L1, results L1; seq=512: inputs L2, results L2" */
static void close_states(Tuner *t, Goal *g) {
  const TunedRuns *r = &t->lab.runs;
  Ctx *c = t->lab.ctx;
  Sb text = { 0 };
  if (!g->sized) {
    cache_state_close(c, &g->state);
    return;
  }
  for (int i = 0; i < r->timed; i++) {
    cache_state_close(c, &g->state_in[i]);
    sb_printf(&text, "%s%s: %s", i ? "; " : "", r->run[i].text, g->state_in[i].text);
  }
  g->state.text = sb_keep(&text, &c->model);
}

void goals_see_states(Tuner *t, const Plan *p) {
  for (int run = 0; run < t->lab.runs.timed || !run; run++) see_run(t, p, run);
  for (size_t i = 0; i < t->goals.n; i++) close_states(t, &t->goals.p[i]);
}

void goal_free(Goal *g) {
  VEC_FREE(&g->trials);
  VEC_FREE(&g->screened);
  VEC_FREE(&g->dropped);
  VEC_FREE(&g->state.seen);
  for (int i = 0; i < TIMED_RUNS; i++) VEC_FREE(&g->state_in[i].seen);
}

/* ---- the store ---- */
static Place place_in_run(const Tuner *t, const Goal *g, int run) {
  Ctx *c = t->lab.ctx;
  return place_with(c, &t->place, arena_printf(&c->model, "%s; in run %s", g->state.text, t->lab.runs.run[run].text));
}

static int timed_runs(const Tuner *t, const Goal *g) { return g->sized ? t->lab.runs.timed : 0; }

void goal_read_trials(Tuner *t, Goal *g) {
  store_trials(t->store, g->key, &g->place, &g->trials);
  for (int run = 0; run < timed_runs(t, g); run++) {
    const Place at = place_in_run(t, g, run);
    Trials rows = { 0 };
    store_trials(t->store, g->key, &at, &rows);
    for (size_t i = 0; i < rows.n; i++)
      for (size_t k = 0; k < g->trials.n; k++)
        if (!strcmp(g->trials.p[k].opts, rows.p[i].opts)) g->trials.p[k].at[run] = rows.p[i].warm;
    VEC_FREE(&rows);
  }
}

void goal_put_trial(Tuner *t, const Goal *g, const Trial *x) {
  store_put_trial(t->store, g->key, &g->place, x);
  for (int run = 0; run < timed_runs(t, g) && !x->failed; run++) {
    Trial one = *x;
    const Place at = place_in_run(t, g, run);
    one.warm = one.cold = x->at[run];
    if (one.warm > 0) store_put_trial(t->store, g->key, &at, &one);
  }
}

/* ---- schedules that lose at a size ---- */
bool goal_loses_at_size(const Tuner *t, const Goal *g, const Trial *x, const Trial *base) {
  return g->sized && base && run_that_loses(&t->lab.runs, x->at, base->at, tunable(t->lab.ctx, tune_size_loss)) >= 0;
}

const char *goal_times(const Tuner *t, const Goal *g) {
  for (size_t i = 0; i < g->trials.n && g->sized; i++) {
    const Trial *x = &g->trials.p[i];
    if (!x->failed && x->at[0] > 0 && !strcmp(x->opts, g->best)) return times_of_runs(t->lab.ctx, &t->lab.runs, x->at);
  }
  return NULL;
}

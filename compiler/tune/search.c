/* SPDX-License-Identifier: MIT */
/* search.c: the beam over schedules of the nests of a model.
 *
 * A nest starts with the heuristic's best few schedules, what was found for other nests and what the store knows of it.
 * From then on a generation varies the best few that were not varied yet, and measures what is new. The next nest to get
 * a generation is the one that wastes most of the model's time, less for each generation that brought nothing; four of
 * those in a row, or nothing left to vary, end the search of a nest. A new best is compared with the
 * empty schedule's results before anyone may use it.
 *
 * needs: nests with a schedule of the heuristic    gives: the best schedule found for each    keeps: results of the nests */
#include "tune.h"
#include <math.h>
#include <string.h>

static double mean(const Trial *t) { return (t->warm + t->cold) / 2; }

static Trial *trial_of(const Goal *g, const char *opts) { return trial_find(&g->trials, opts); }

/* A schedule's name among the trials: its text without schedules of remnants, which the cost model derives from it. */
static const char *text_of(IR *ir, Ref nest, const Opts *given) {
  Sb s = { 0 };
  Opts o = *given;
  o.nparts = o.nborders = 0;
  opts_print(ir, nest, &o, &s);
  const char *t = arena_str(&ir->ctx->model, s.p, s.n);
  sb_free(&s);
  return t;
}

/* The schedule with those of its remnants, as it is stored */
static const char *complete_text(const Tuner *t, const Goal *g, const char *opts) {
  IR *ir = t->lab.ir;
  Sb s = { 0 };
  Opts o;
  if (opts_parse(ir, g->nest, t->lab.target, opts, strlen(opts), &o)) return opts;
  opts_complete(ir, g->nest, t->lab.target, &o);
  opts_print(ir, g->nest, &o, &s);
  return sb_keep(&s, &ir->ctx->model);
}

/* ---- goals ---- */
static void take_best(Goal *g, const char *opts, double warm, double cold) {
  g->best = opts;
  g->best_warm = warm;
  g->best_cold = cold;
  g->best_us = (warm + cold) / 2;
}

static Goal *add_goal(Tuner *t, Ref nest, const char *key) {
  IR *ir = t->lab.ir;
  Goal *known = goal_of(t, key), g = { .nest = nest };
  if (known) return known;
  memcpy(g.key, key, sizeof g.key);
  const Opts o = default_opts(ir, nest, t->lab.target);
  g.base = g.best = text_of(ir, nest, &o);
  g.cycles = nest_cycles(&t->lab, nest, g.base);
  g.base_us = g.best_us = g.cycles * rate(t->lab.target, CLOCK, TUNER);
  g.kind = goal_kind(t, &g);
  VEC_PUSH(&t->goals, g);
  return &t->goals.p[t->goals.n - 1];
}

/* The schedule that won at a place; NULL: none that is legal */
static const char *winner_at(const Tuner *t, const Goal *g, const Place *at, Winner *w) {
  IR *ir = t->lab.ir;
  Opts o;
  if (!store_winner(t->store, g->key, at, w)) return NULL;
  return opts_parse(ir, g->nest, t->lab.target, w->opts, strlen(w->opts), &o) ? NULL : text_of(ir, g->nest, &o);
}

static size_t count_trials(const Tuner *t, const Goal *g, const Place *at) {
  Trials rows = { 0 };
  store_trials(t->store, g->key, at, &rows);
  const size_t n = rows.n;
  VEC_FREE(&rows);
  return n;
}

/* Rows of the store for the state of the goal's data. A winner in another state is a candidate: an older tgc has found it, or a
 * search for another model. */
static void read_rows(Tuner *t, Goal *g) {
  Ctx *c = t->lab.ctx;
  Winner w;
  const char *won;
  g->place = t->stateful ? place_with(c, &t->place, g->state.text) : t->place;
  g->screened_place = t->stateful && t->lab.screen ? place_with(c, &t->screened, g->state.text) : t->screened;
  if (t->stateful) g->ignored = count_trials(t, g, &t->place);
  goal_read_trials(t, g);
  if (t->lab.screen) store_trials(t->store, g->key, &g->screened_place, &g->screened);
  const Trial *base = trial_of(g, g->base);
  if (base && !base->failed) g->base_us = mean(base), take_best(g, g->base, base->warm, base->cold), g->measured = true;
  if ((won = winner_at(t, g, &g->place, &w))) {
    take_best(g, won, w.warm, w.cold);
    g->done = w.beam >= t->beam;
  } else if (t->stateful) g->elsewhere = winner_at(t, g, &t->place, &w);
  g->proven = g->best;
}

void tune_goals(Tuner *t, const Plan *p) {
  for (size_t k = 0; k < p->kernels.n; k++)
    for (size_t i = 0; i < p->kernels.p[k].nests.n; i++) {
      const NestSchedule *n = &p->kernels.p[k].nests.p[i];
      Goal *g = add_goal(t, n->nest, n->key);
      g->count++;
      g->sized = t->stateful && t->lab.runs.n && nest_is_sized(p->ir, n->nest);
    }
  if (t->stateful) goals_see_states(t, p);
  for (size_t i = 0; i < t->goals.n; i++) read_rows(t, &t->goals.p[i]);
}

/* Nests of a kernel share by their predicted times. */
void tune_slack(Tuner *t, const Plan *p, const double *us) {
  for (size_t k = 0; k < p->kernels.n; k++) {
    const Kernel *x = &p->kernels.p[k];
    double all = 0;
    for (size_t i = 0; i < x->nests.n; i++) {
      const Goal *g = goal_of(t, x->nests.p[i].key);
      all += g ? g->cycles : 0;
    }
    for (size_t i = 0; i < x->nests.n; i++) {
      Goal *g = goal_of(t, x->nests.p[i].key);
      if (g) g->slack += us[k] * g->cycles / all;
    }
  }
}

double tune_total(const Tuner *t, bool base) {
  double us = 0;
  for (size_t i = 0; i < t->goals.n; i++) us += t->goals.p[i].count * (base ? t->goals.p[i].base_us : t->goals.p[i].best_us);
  return us;
}

void tuner_free(Tuner *t) {
  for (size_t i = 0; i < t->goals.n; i++) goal_free(&t->goals.p[i]);
  VEC_FREE(&t->goals);
  VEC_FREE(&t->lab.built);
  VEC_FREE(&t->lab.ready);
}

/* ---- a generation ---- */
typedef struct Fresh {
  Tuner *t;
  Goal *g;
  Task *task;
  uint32_t seen, random; /* new ones so far; all of them are as likely to be among those that are taken, */
  uint32_t stay;         /* but the first so many stay */
} Fresh;

static bool is_known(const Fresh *f, const char *opts) {
  for (size_t i = 0; i < f->task->cand.n; i++)
    if (!strcmp(f->task->cand.p[i].opts, opts)) return true;
  for (size_t i = 0; i < f->g->dropped.n; i++)
    if (!strcmp(f->g->dropped.p[i], opts)) return true;
  return goal_trial(f->g, opts) != NULL;
}

static void add_fresh(void *arg, const char *text) {
  Fresh *f = arg;
  Task *k = f->task;
  if (is_known(f, text)) return;
  Candidate x = { .opts = arena_str(&f->t->lab.ctx->model, text, strlen(text)) };
  const size_t most = (size_t)tunable(f->t->lab.ctx, tune_new);
  f->seen++;
  if (k->cand.n < most) {
    VEC_PUSH(&k->cand, x);
    return;
  }
  f->random = f->random * 1664525u + 1013904223u;
  uint32_t at = (uint32_t)((uint64_t)f->random * f->seen >> 32);
  if (at >= f->stay && at < most) k->cand.p[at] = x;
}

static int by_mean(const void *a, const void *b) {
  const Trial *x = a, *y = b;
  if (x->failed != y->failed) return x->failed - y->failed;
  if (x->rejected != y->rejected) return x->rejected - y->rejected;
  return mean(x) < mean(y) ? -1 : mean(x) > mean(y);
}

/* Tries schedules that were found for other nests, where they are legal: the nests of a model are similar. */
static void borrow(Fresh *f) {
  IR *ir = f->t->lab.ir;
  for (size_t i = 0; i < f->t->goals.n && f->task->cand.n < (size_t)tunable(ir->ctx, tune_lent); i++) {
    const Goal *other = &f->t->goals.p[i];
    Opts o;
    if (other != f->g && other->verified && !opts_parse(ir, f->g->nest, f->t->lab.target, other->best, strlen(other->best), &o))
      add_fresh(f, text_of(ir, f->g->nest, &o));
  }
}

/* Where nothing was measured yet: the heuristic may be wrong about which of its best is best. It also leaves out tiles that need
 * the last register, which may be better. */
static void begin(Fresh *f) {
  IR *ir = f->t->lab.ir;
  const Target *t = f->t->lab.target;
  Opts o[HEURISTIC_MOST], base;
  const int given = default_best(ir, f->g->nest, t, HEURISTIC_MOST, o);
  for (int i = 0; i < given; i++)
    if (!opts_check(ir, f->g->nest, t, &o[i])) add_fresh(f, text_of(ir, f->g->nest, &o[i]));
  if (!opts_parse(ir, f->g->nest, t, f->g->base, strlen(f->g->base), &base))
    opts_full_tiles(ir, f->g->nest, t, &base, add_fresh, f);
}

static int by_mean_at(const void *a, const void *b) { return by_mean(*(Trial *const *)a, *(Trial *const *)b); }

static void vary(Fresh *f, const char *opts) {
  IR *ir = f->t->lab.ir;
  Opts o;
  if (!opts_parse(ir, f->g->nest, f->t->lab.target, opts, strlen(opts), &o))
    opts_neighbours(ir, f->g->nest, f->t->lab.target, &o, add_fresh, f);
}

/* Adds the neighbours of the best trials, by either backend's code. If all neighbours of one are known, the next best takes its
 * place. */
static void vary_best(Fresh *f) {
  Goal *g = f->g;
  VEC(Trial *) best = { 0 };
  for (size_t i = 0; i < g->trials.n; i++)
    if (!g->trials.p[i].failed) VEC_PUSH(&best, &g->trials.p[i]);
  for (size_t i = 0; i < g->screened.n; i++) VEC_PUSH(&best, &g->screened.p[i]);
  if (best.n) VEC_SORT(&best, by_mean_at);
  else vary(f, g->best);
  for (size_t i = 0; i < best.n && (int)i < f->t->beam; i++) {
    const uint32_t before = f->seen;
    if (best.p[i]->varied) continue;
    vary(f, best.p[i]->opts);
    best.p[i]->varied = f->seen == before;
  }
  VEC_FREE(&best);
}

/* New candidates; the incumbent first. enough: so many need no neighbours beside them */
static void expand(Tuner *t, Goal *g, Task *task, size_t enough) {
  Fresh f = { .t = t, .g = g, .task = task, .random = (uint32_t)(g->trials.n + g->screened.n + g->dropped.n) };
  VEC_PUSH(&task->cand, ((Candidate){ .opts = g->best }));
  add_fresh(&f, g->base);
  if (g->elsewhere) add_fresh(&f, g->elsewhere);
  borrow(&f);
  if (!g->begun) begin(&f);
  g->begun = true;
  if (task->cand.n >= enough) return;
  add_fresh(&f, "{ }");
  f.stay = (uint32_t)task->cand.n;
  vary_best(&f);
}

static Task task_of(const Tuner *t, const Goal *g) {
  return (Task){ .nest = g->nest,
                 .key = g->key,
                 .best = g->measured ? g->best_us : 0,
                 .sized = g->sized,
                 .state = g->sized ? g->state_in : t->stateful ? &g->state : NULL };
}

static Trial trial_from(const Candidate *x) {
  Trial trial = {
    .opts = x->opts, .failed = x->outcome == OUT_FAILED, .warm = x->warm, .cold = x->cold, .spread = x->spread, .why = x->why
  };
  memcpy(trial.at, x->at, sizeof trial.at);
  return trial;
}

static void acknowledge(Tuner *t, Goal *g, const Trial *x, bool screened) {
  t->tried++;
  g->tried++;
  if (t->acknowledged) t->acknowledged(t->progress_arg, g, x, screened);
}

/* Adds timed candidates to the trials, here and in the store; then acknowledges them. */
static void keep(Tuner *t, Goal *g, const Task *task) {
  const size_t known = g->trials.n, screened = g->screened.n;
  store_begin(t->store, false);
  for (size_t i = 0; i < task->cand.n; i++) {
    const Candidate *x = &task->cand.p[i];
    Trial trial = trial_from(x), *old = trial_of(g, x->opts);
    if (x->outcome == OUT_DROPPED) VEC_PUSH(&g->dropped, x->opts);
    if (x->outcome == OUT_SCREENED) {
      VEC_PUSH(&g->screened, trial);
      store_put_trial(t->store, g->key, &g->screened_place, &trial);
    }
    if (x->outcome < OUT_MEASURED) continue;
    trial.varied = old && old->varied;
    trial.rejected = old && old->rejected;
    if (old) *old = trial;
    else VEC_PUSH(&g->trials, trial);
    goal_put_trial(t, g, &trial);
  }
  store_commit(t->store);
  for (size_t i = known; i < g->trials.n; i++) {
    t->failed += g->trials.p[i].failed;
    acknowledge(t, g, &g->trials.p[i], false);
  }
  for (size_t i = screened; i < g->screened.n; i++) {
    t->left_out++;
    acknowledge(t, g, &g->screened.p[i], true);
  }
}

/* The best of the trials, if it computes what the empty schedule does; one that does not is out. */
static void promote(Tuner *t, Goal *g) {
  for (;;) {
    VEC_SORT(&g->trials, by_mean);
    Trial *x = g->trials.n ? &g->trials.p[0] : NULL, *base = trial_of(g, g->base);
    if (!x || x->failed || x->rejected) return;
    if (base && !base->failed && mean(x) > tunable(t->lab.ctx, tune_gain) * mean(base)) x = base;
    if (x != base && goal_loses_at_size(t, g, x, base)) {
      x->rejected = true;
      continue;
    }
    if (g->verified && !strcmp(x->opts, g->best)) {
      take_best(g, g->best, x->warm, x->cold);
      return;
    }
    const double start = tune_work();
    bool late = false;
    /* compile uses the heuristic's schedule in any case; on a device the driver may be wrong */
    const bool known = !strcmp(x->opts, "{ }") || t->compared || (x == base && !t->lab.backend->driver);
    const char *why = known ? NULL : lab_verify(&t->lab, g->nest, g->key, x->opts, &late);
    t->lab.spent[SPENT_CHECKING] += tune_work() - start;
    if (t->lab.gone || (!t->compared && t->lab.interrupted(t->lab.interrupted_arg))) return;
    if (late && tune_clock() >= t->lab.deadline) return; /* nothing is known about it */
    if (!why) {
      take_best(g, x->opts, x->warm, x->cold);
      g->verified = g->dirty = true;
      g->right = x->opts;
      return;
    }
    if (t->wrong && !late) t->wrong(t->progress_arg, g, x->opts, why);
    x->failed = true;
    x->why = why;
    store_begin(t->store, true);
    store_put_trial(t->store, g->key, &g->place, x);
    store_commit(t->store);
  }
}

static void save_winner(Tuner *t, Goal *g) {
  if (!g->dirty || !g->verified) return;
  const Winner w = { complete_text(t, g, g->best), g->best_warm, g->best_cold, g->done ? t->beam : 0 };
  store_begin(t->store, true);
  store_put_winner(t->store, g->key, &t->place, &w); /* for compile, which knows no state */
  if (t->stateful) store_put_winner(t->store, g->key, &g->place, &w);
  store_commit(t->store);
  g->dirty = false;
}

static bool may_rival(const Tuner *t, const Goal *g, const Trial *x) {
  const bool other = !x->failed && !x->rejected && strcmp(x->opts, g->best) && strcmp(x->opts, g->base) && strcmp(x->opts, "{ }");
  return other && mean(x) < tunable(t->lab.ctx, tune_rival) * g->best_us;
}

static void find_rivals(const Tuner *t, Goal *g) {
  VEC(Trial) all = { 0 };
  for (size_t i = 0; i < g->trials.n; i++)
    if (may_rival(t, g, &g->trials.p[i])) VEC_PUSH(&all, g->trials.p[i]);
  for (size_t i = 0; i < g->screened.n; i++)
    if (may_rival(t, g, &g->screened.p[i]) && !trial_of(g, g->screened.p[i].opts)) VEC_PUSH(&all, g->screened.p[i]);
  VEC_SORT(&all, by_mean);
  for (size_t i = 0; i < all.n && g->nrivals < RIVALS; i++) g->rival[g->nrivals++] = all.p[i].opts;
  VEC_FREE(&all);
}

void tune_rivals(Tuner *t) {
  const double least = tunable(t->lab.ctx, tune_rival_share) * tune_total(t, false);
  for (size_t i = 0; i < t->goals.n; i++) {
    Goal *g = &t->goals.p[i];
    g->nrivals = 0;
    if (g->begun && g->count * g->best_us > least) find_rivals(t, g);
  }
  for (size_t i = 0; i < t->goals.n; i++) {
    Goal *g = &t->goals.p[i];
    if (!g->begun && !g->done && g->count * g->best_us > least) goal_borrow_rivals(t, g);
  }
}

bool goal_is_right(Tuner *t, Goal *g, const char *opts) {
  Trial *x = goal_trial(g, opts);
  bool late = false;
  if (!strcmp(opts, g->best) || !strcmp(opts, g->base) || !x || goal_is_known_right(t, g, opts)) return true;
  t->lab.deadline = fmax(t->lab.deadline, tune_clock() + t->lab.grace);
  const char *why = lab_verify(&t->lab, g->nest, g->key, opts, &late);
  if (!why) g->right = opts;
  x->rejected |= why != NULL;
  if (why && !late && t->wrong && !t->lab.interrupted(t->lab.interrupted_arg)) t->wrong(t->progress_arg, g, opts, why);
  return !why;
}

void goal_validated(Tuner *t, Goal *g, const char *opts) {
  const Trial *x = goal_trial(g, opts);
  Trial *old = goal_trial(g, g->best);
  for (int i = 0; i < g->nrivals; i++) {
    Trial *rival = goal_trial(g, g->rival[i]);
    const bool is = !strcmp(opts, g->rival[i]);
    if (is) g->verified = g->measured = true;
    else if (rival) rival->rejected = true;
  }
  g->nrivals = 0;
  if (!strcmp(opts, g->best)) {
    g->proven = opts;
    return;
  }
  if (old && strcmp(g->best, g->base)) old->rejected = true;
  if (x && !x->failed) take_best(g, opts, x->warm, x->cold);
  g->verified |= (x && !x->failed && !strcmp(opts, g->base)) || !strcmp(opts, g->proven);
  g->best = g->proven = opts;
  g->dirty = true;
  save_winner(t, g);
}

/* The compiler's first time of a nest: until then, trials of the screen had the scale of the screen's code. */
static void rescale_screened(Goal *g, double us) {
  for (size_t i = 0; i < g->screened.n && g->screen_us > 0; i++) {
    g->screened.p[i].warm *= us / g->screen_us;
    g->screened.p[i].cold *= us / g->screen_us;
  }
  g->screen_us = 0;
}

/* Takes the times of a task's incumbent. Returns microseconds with which a new best is to be compared. */
static double take_incumbent(Goal *g, const Task *task, double before) {
  const Trial *base = trial_of(g, g->base), *best = trial_of(g, g->best);
  const bool first = !g->measured;
  if (base && !base->failed) g->base_us = mean(base);
  if (best && !best->failed) g->measured = true;
  if (!first) return before;
  if (g->measured) {
    rescale_screened(g, mean(best));
    return mean(best);
  }
  if (g->screen_us <= 0) g->screen_us = task->screen_us;
  if (g->screen_us > 0) g->base_us = g->best_us = g->screen_us;
  return g->best_us;
}

static bool generation(Tuner *t, Goal *g) {
  Task task = task_of(t, g);
  double before = g->best_us;
  bool first = !g->measured;
  expand(t, g, &task, (size_t)(t->lab.screen ? tunable(t->lab.ctx, tune_few_screened) : tunable(t->lab.ctx, tune_few)));
  bool fresh = task.cand.n > 1 || first, go_on = true;
  task.insists = task.cand.n == 1 || g->stale + 1 >= tunable(t->lab.ctx, tune_patience); /* the search of the nest ends */
  if (fresh) {
    go_on = lab_run(&t->lab, &task);
    keep(t, g, &task);
    before = take_incumbent(g, &task, before);
    promote(t, g);
  }
  if (go_on) {
    g->stale = fresh && g->best_us < before * tunable(t->lab.ctx, tune_progress) ? 0 : g->stale + 1;
    if (!fresh || g->stale >= tunable(t->lab.ctx, tune_patience)) g->done = g->dirty = true;
  }
  save_winner(t, g);
  VEC_FREE(&task.cand);
  return go_on;
}

/* Microseconds of a run of the model that might be gained, in goals like this one, too. */
static double hope(const Tuner *t, const Goal *g) {
  const double share = g->count * g->best_us, gained = g->count * (g->base_us - g->best_us);
  const double own = g->slack > 0 ? fmax(g->slack - gained, tunable(t->lab.ctx, tune_hope) * share) : share;
  return share > 0 && !t->lab.backend->driver ? own * (1 + goal_waiting_us(t, g) / share) : own;
}

static Goal *next_goal(Tuner *t) {
  Goal *best = NULL;
  double most = 0;
  for (size_t i = 0; i < t->goals.n; i++) {
    Goal *g = &t->goals.p[i];
    const double hopes = hope(t, g) / pow(tunable(t->lab.ctx, tune_stale), g->stale);
    if (!g->done && !g->taken && hopes >= most) most = hopes, best = g;
  }
  return best;
}

static bool over(const Tuner *t) {
  return t->lab.gone || t->lab.interrupted(t->lab.interrupted_arg) || tune_clock() >= t->lab.deadline || (t->trials && t->tried >= t->trials);
}

/* If no candidate has passed the screen in the whole search: the compiler's time of the nest that takes most of the model's */
static void measure_one(Tuner *t) {
  Goal *most = NULL;
  for (size_t i = 0; i < t->goals.n; i++) {
    Goal *g = &t->goals.p[i];
    if (g->measured) return;
    if (g->begun && (!most || g->count * g->best_us > most->count * most->best_us)) most = g;
  }
  if (!most || !t->lab.screen || t->lab.gone || t->lab.interrupted(t->lab.interrupted_arg)) return;
  Task task = task_of(t, most);
  task.insists = true;
  t->lab.deadline = fmax(t->lab.deadline, tune_clock() + t->lab.grace);
  VEC_PUSH(&task.cand, ((Candidate){ .opts = most->best }));
  lab_run(&t->lab, &task);
  keep(t, most, &task);
  take_incumbent(most, &task, 0);
  promote(t, most);
  save_winner(t, most);
  VEC_FREE(&task.cand);
}

bool tune_run(Tuner *t) {
  for (Goal *g; !over(t) && (g = next_goal(t));) {
    const double start = tune_work();
    generation(t, g);
    g->worked += tune_work() - start;
    if (t->progress) t->progress(t->progress_arg, t);
  }
  measure_one(t);
  return !t->lab.interrupted(t->lab.interrupted_arg);
}

Goal *tune_take(Tuner *t, Task *task) {
  Goal *g = over(t) ? NULL : next_goal(t);
  if (!g) return NULL;
  *task = task_of(t, g);
  expand(t, g, task, (size_t)tunable(t->lab.ctx, tune_new));
  g->taken = true;
  return g;
}

void tune_imported(Tuner *t) {
  t->compared = true;
  for (size_t i = 0; i < t->goals.n; i++) {
    Goal *g = &t->goals.p[i];
    if (g->trials.n) promote(t, g), save_winner(t, g);
    if (g->verified) g->measured = true;
  }
}

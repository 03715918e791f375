/* SPDX-License-Identifier: MIT */
/* validate.c: measures the whole model, before the search and after it.
 *
 * Before: how much longer each kernel takes than the machine's peak allows, so that the search begins where most can be gained.
 *
 * After: tests the schedules that were found in the whole model (A/B). A nest is timed alone; between other kernels it finds
 * other data in the caches. So the model is built without schedules and with them, and both alternate. The time of each
 * kernel comes from the bundles' hooks (docs/bundle.md), or from the events of a device's driver. A schedule that does not win
 * there is dropped. Without these times all stay or all are dropped. To win is to take less time in the mean, and at the upper end
 * of the interval of that ratio (paired.c), too. The remaining schedules together are judged by the kernels that they change.
 *
 * With threads there are more sides: all kernels in the same number of chunks, from which each nest takes the best. The
 * remaining schedules are built again and must beat the model without schedules. If they do not, schedules that do not win a
 * second time are dropped, and the rest is tried again. A bundle may run on any number of threads, and neither the store nor a
 * lock file depends on it. So on another number, 1 or 2, the model with schedules must not be slower either.
 *
 * Builds and runs that were measured tell what the rest will take. Comparisons that are still to come share the time that is
 * left. */
#include "graph_choices.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* processes of a side: after the search, then those of a small model, at least, before the search, on a device. Models built from
 * remaining schedules */
enum { LIVES = 8, MOST_LIVES = 32, LEAST_LIVES = 4, FIRST_LIVES = 2, DEVICE_LIVES = 3, TRIES = 3 };

static const int chunk_counts[] = { 1, 2, 4, 8, 24 };
enum { SIDES = 3 + sizeof chunk_counts / sizeof *chunk_counts }; /* none, as found, each number of chunks, the choice */

struct Validation {
  Races *r;
  Tuner *t;
  Validated *result;
  const GraphChoices *choices; /* decisions for all sides */
  Side side[SIDES];
  const Plan *plan_of[SIDES]; /* schedules may change which nests are one kernel */
  int sides, threads, other; /* other: another number of threads that users may have; 0: none */
  int lives;       /* most processes of a side after the search */
  bool measured;   /* the first side was, before the survey */
  bool stamped;    /* bundles record the times of kernels; bundles of objects have no hooks for it */
  const Plan *plan; /* the plan without schedules: tells the nests of a kernel */
  VEC(const char *) choice; /* a schedule for each goal */
  VEC(int) side_of;         /* the side from which it comes */
  VEC(double) ratio;        /* its time in the model, as a part of the time without schedules */
  const Decision *decision; /* ndecisions of the first side, which hold on all sides; see is_common */
  size_t ndecisions;
  VEC(const char *) passed; /* the schedules with which the model was faster in the last test; at first the heuristic's */
};

static const char *with_chunks(Ctx *c, const char *opts, int chunks) {
  const char *old = strstr(opts, " threads(");
  int n = (int)(old ? (size_t)(old - opts) : strlen(opts) - 2);
  return chunks ? arena_printf(&c->model, "%.*s threads(%d) }", n, opts, chunks) : arena_printf(&c->model, "%.*s }", n, opts);
}

static bool has_found(const Goal *g) { return g->measured && strcmp(g->best, g->base); }

/* The schedule of a goal's nest on a side. */
static const char *schedule_on(Ctx *c, const Validation *s, const Goal *g, int side) {
  const char *found = has_found(g) ? g->best : g->base, *text;
  Opts o;
  if (side < 2) return side ? found : g->base;
  if (s->threads == 1) return side - 2 < g->nrivals ? g->rival[side - 2] : found;
  text = with_chunks(c, found, chunk_counts[side - 2]);
  /* chunks of a group are fixed */
  return opts_parse(s->t->lab.ir, g->nest, s->t->lab.target, text, strlen(text), &o) ? found : text;
}

/* ---- sides ---- */

/* Decisions about loops and panels belong to a schedule. With the others, all sides have the same kernels and groups, whatever
 * the schedules cost. */
static bool is_common(const Decision *d) { return strcmp(d->pass, "chunks") && strcmp(d->pass, "prefetch"); }

/* The decisions in a lock file, but those that belong to schedules */
static void take_decisions(Ctx *c, Validation *s, const char *lock) {
  size_t n;
  const Decision *all = decisions_given(lock_read(c, lock)->decisions, &n);
  Decision *own = ARENA_NEW(&c->model, Decision, n + 1);
  s->ndecisions = 0;
  for (size_t i = 0; i < n; i++)
    if (is_common(&all[i])) own[s->ndecisions++] = all[i];
  s->decision = own;
}

/* Makes a plan from a lock file with the choice. */
static const Plan *plan_by_pbqp(Ctx *c, Validation *s, int number) {
  Lock l = { .chosen = s->decision, .nchosen = s->ndecisions };
  const char *made = s->decision ? NULL : arena_printf(&c->model, "%s/decided.tgc-lock", s->r->scratch);
  if (made) l.chosen = s->choices->chosen, l.nchosen = s->choices->n;
  const char *path = arena_printf(&c->model, "%s/side%d.tgc-lock", s->r->scratch, number);
  for (size_t i = 0; i < s->t->goals.n; i++) {
    LockLine x = { .opts = s->choice.p[i], .note = "" };
    memcpy(x.key, s->t->goals.p[i].key, sizeof x.key);
    VEC_PUSH(&l.lines, x);
  }
  lock_write(c, &l, path);
  VEC_FREE(&l.lines);
  const Plan *p = plan_quietly(c, s->r, path, made);
  if (made) take_decisions(c, s, made);
  return p;
}

static void open_side(Ctx *c, Validation *s, int number) {
  const Plan *p = plan_by_pbqp(c, s, number);
  if (!number) s->plan = p;
  s->plan_of[number] = p;
  s->side[number] = side_open(c, s->r, p);
}

void validate_close(Validation *s) {
  for (int i = 0; i < SIDES; i++) side_close(&s->side[i]);
  VEC_FREE(&s->choice);
  VEC_FREE(&s->side_of);
  VEC_FREE(&s->ratio);
  VEC_FREE(&s->passed);
}

/* The first side has no schedules. */
static void measure(Ctx *c, Validation *s, const int *sides, int n, Lives lives, int threads) {
  Side *side[SIDES];
  for (int i = 0; i < n; i++) side[i] = &s->side[sides[i]];
  sides_measure(c, s->r, side, n, lives, threads);
  s->stamped |= side_stamped(&s->side[0]);
}

static double build_seconds(const Validation *s) { return s->r->plan + s->r->build; }

/* All kernels of the choice are compiled already. */
static double choice_seconds(const Validation *s) { return s->r->plan + s->r->quickest; }

/* A comparison that is followed by so many others, and by builds. At the end, the lock file needs a plan. */
static Lives share_of_rest(const Validation *s, int others, int builds) {
  const double rest = races_left(s->r) - s->r->plan - builds * choice_seconds(s);
  return (Lives){ s->lives, LEAST_LIVES, clock_ms() + 1e3 * rest / (1 + others) };
}

/* ---- choosing ---- */

/* Time of all kernels that have the nest, on a side. life -1: in all lives. run -1: the mean of all timed runs */
static double nest_ms_at(const Validation *s, const Goal *g, int side, int life, int run) {
  double ms = 0;
  const Plan *p = s->plan_of[side];
  const Side *with = run < 0 ? &s->side[side] : side_in_run(&s->side[side], run);
  for (size_t k = 0; k < p->kernels.n; k++) {
    const Kernel *x = &p->kernels.p[k];
    bool has = false;
    for (size_t i = 0; i < x->nests.n; i++) has |= !strcmp(x->nests.p[i].key, g->key);
    if (has) ms += life < 0 ? side_kernel_ms(with, k) : side_kernel_life_ms(with, k, (size_t)life);
  }
  return ms;
}

static double nest_ms_in(const Validation *s, const Goal *g, int side, int life) { return nest_ms_at(s, g, side, life, -1); }

static double nest_ms(const Validation *s, const Goal *g, int side) { return nest_ms_in(s, g, side, -1); }

/* The schedule of a goal's nest on a side that was built; the last side has the choice. */
static const char *schedule_built(Ctx *c, const Validation *s, const Goal *g, int side) {
  return side == SIDES - 1 ? s->choice.p[g - s->t->goals.p] : schedule_on(c, s, g, side);
}

/* Time on side `with` of this nest and of nests like it that have the same schedule on `side`. Each kernel's time has accidents
 * of its own. */
static double similar_ms_in(Ctx *c, const Validation *s, const Goal *g, int side, int with, int life) {
  const char *text = schedule_built(c, s, g, side);
  double ms = 0;
  for (size_t i = 0; i < s->t->goals.n; i++) {
    const Goal *x = &s->t->goals.p[i];
    const bool same = x == g || (goals_similar(g, x) && !strcmp(schedule_built(c, s, x, side), text));
    if (same) ms += nest_ms_in(s, x, with, life);
  }
  return ms;
}

/* The nest, and those like it, take less time on the side than without schedules, and this is no accident. */
static bool surely_faster(Ctx *c, const Validation *s, const Goal *g, int side) {
  Reals logs = { 0 };
  for (size_t i = 0; i < side_lives(&s->side[0]); i++) {
    const double before = similar_ms_in(c, s, g, side, 0, (int)i), after = similar_ms_in(c, s, g, side, side, (int)i);
    VEC_PUSH(&logs, before > 0 && after > 0 ? log(after / before) : 0);
  }
  const bool is = paired_trimmed(logs.p, logs.n).high < 1;
  VEC_FREE(&logs);
  return is;
}

/* For ranges of sizes: the nest takes much longer on the side than without schedules, in one of the timed runs. */
static bool loses_in_run(Ctx *c, const Validation *s, const Goal *g, int side) {
  bool loses = false;
  for (int run = 0; run < side_runs(&s->side[0]) && s->side[0].in_run; run++)
    loses |= nest_ms_at(s, g, side, -1, run) > tunable(c, tune_size_loss) * nest_ms_at(s, g, 0, -1, run);
  return loses;
}

/* The same about the whole model */
static bool model_loses_in_run(Ctx *c, const Validation *s, int side) {
  bool loses = false;
  for (int run = 0; run < side_runs(&s->side[0]) && s->side[0].in_run; run++)
    loses |= side_ms(side_in_run(&s->side[side], run)) > tunable(c, tune_size_loss) * side_ms(side_in_run(&s->side[0], run));
  return loses;
}

static double model_ms(const Validation *s, int side) { return side_ms(&s->side[side]); }

static int fastest_side(Validation *s) {
  int best = 0;
  for (int k = 1; k < s->sides; k++)
    if (model_ms(s, k) < model_ms(s, best)) best = k;
  return best;
}

static void print_nest(const Validation *s, const Goal *g, int best) {
  const double base = nest_ms(s, g, 0) * 1e3;
  const bool kept = best && (best == 1 || s->threads > 1);
  if (has_found(g))
    fprintf(stderr, "validated %.16s x %d: alone %.2f us, was %.2f; in the model %.2f us, was %.2f: %s %s\n", g->key, g->count,
            g->best_us * g->count, g->base_us * g->count, nest_ms(s, g, 1) * 1e3, base, kept ? "kept" : "not", g->best);
  else if (g->measured && s->threads == 1)
    fprintf(stderr, "timed %.16s x %d: alone %.2f us, in the model %.2f\n", g->key, g->count, g->base_us * g->count, base);
  for (int k = 2; k < s->sides && k - 2 < g->nrivals; k++)
    fprintf(stderr, "rival %.16s x %d: in the model %.2f us, was %.2f: %s %s\n", g->key, g->count, nest_ms(s, g, k) * 1e3, base,
            best == k ? "kept" : "not", g->rival[k - 2]);
}

/* Chooses each nest's best side, or the best for all. Returns how many nests differ from the first side. */
static int choose(Ctx *c, Validation *s, bool for_all) {
  const Tunables *u = tunables_of(c);
  const int all = for_all ? fastest_side(s) : -1;
  int kept = 0;
  for (size_t i = 0; i < s->t->goals.n; i++) {
    Goal *g = &s->t->goals.p[i];
    int best = 0;
    const double base = nest_ms(s, g, 0);
    double ms = base;
    for (int k = 1; k < s->sides && all < 0; k++) {
      double other = nest_ms(s, g, k);
      const bool chunks = s->threads > 1 && k > 1, differs = k == 1 ? has_found(g) : chunks || k - 2 < g->nrivals;
      const double worth = chunks ? u->validate_chunks_gain : u->validate_gain;
      const bool faster = other < (ms < base ? ms : worth * ms) && surely_faster(c, s, g, k);
      if (differs && faster && !loses_in_run(c, s, g, k)) best = k, ms = other;
    }
    if (best > 1 && s->threads == 1 && !goal_is_right(s->t, g, schedule_on(c, s, g, best))) best = 0;
    if (all >= 0 && strcmp(schedule_on(c, s, g, all), g->base)) best = all;
    s->choice.p[i] = schedule_on(c, s, g, best);
    s->side_of.p[i] = best;
    s->ratio.p[i] = base > 0 ? ms / base : 1;
    kept += best > 0;
    if (s->r->o->verbose) print_nest(s, g, best);
  }
  return kept;
}

/* A choice passes on a number of threads if its kernels make the model take less than `worth` of its time without schedules. The
 * upper end of this ratio's interval must be below `most`, and the whole model must not surely be slower. Each schedule of the
 * choice has won before. */
typedef struct Asked { double worth, sure, most; } Asked; /* sure: below it, the comparison need not go on */

static bool holds(Ctx *c, Validation *s, int side, int threads, Asked asked, ValidatedAt *at, Paired *changed) {
  const SidePair pair = {
    .without = &s->side[0], .with = &s->side[side], .plan = s->plan_of[0], .changed = s->plan_of[side]
  };
  const Lives lives = share_of_rest(s, threads == s->threads && s->other, 0);
  const Paired own = *changed = sides_decide(c, s->r, &pair, lives, threads, asked.worth, asked.sure);
  const Paired x = sides_paired(pair.without, pair.with);
  s->stamped |= side_stamped(pair.without);
  *at = (ValidatedAt){ .threads = threads, .untuned = model_ms(s, 0), .tuned = model_ms(s, side), .low = x.low, .high = x.high };
  if (s->r->o->verbose)
    fprintf(stderr,
            "the model with schedules, %d thread%s: %.4g ms, %.4g without; times %.4f, from %.4f to %.4f in %zu pairs; by the "
            "changed kernels %.4f, from %.4f to %.4f\n",
            threads, threads > 1 ? "s" : "", at->tuned, at->untuned, x.ratio, x.low, x.high, x.n, own.ratio, own.low, own.high);
  return own.ratio < asked.worth && own.high < asked.most && x.low <= fmax(asked.worth, 1) && !model_loses_in_run(c, s, side);
}

/* Keeps the schedules of the choice that won again on a side; on another number of threads, those that did not lose. Returns
 * their number; 0: none, or no change. */
static int choose_again(Ctx *c, Validation *s, int side, double worth) {
  int left = 0, gone = 0;
  bool *wins = ARENA_NEW(&c->model, bool, s->t->goals.n + 1); /* the choice must not change while it is compared */
  for (size_t i = 0; i < s->t->goals.n; i++) {
    const Goal *g = &s->t->goals.p[i];
    const bool faster = s->stamped && nest_ms(s, g, side) < worth * nest_ms(s, g, 0);
    wins[i] = strcmp(s->choice.p[i], g->base) && faster && (worth >= 1 || surely_faster(c, s, g, side));
  }
  for (size_t i = 0; i < s->t->goals.n; i++) {
    const Goal *g = &s->t->goals.p[i];
    if (!strcmp(s->choice.p[i], g->base)) continue;
    if (!wins[i]) s->choice.p[i] = g->base;
    left += wins[i];
    gone += !wins[i];
  }
  return gone ? left : 0;
}

/* Whether the choice is what a side has. Side 1 has all schedules as found, so they need no further build if all are kept. */
static bool is_side(Ctx *c, const Validation *s, int side) {
  for (size_t i = 0; i < s->t->goals.n; i++)
    if (strcmp(s->choice.p[i], schedule_on(c, s, &s->t->goals.p[i], side))) return false;
  return true;
}

/* Runs of the choice beside the model without schedules, on each number of threads */
static double runs_seconds(const Validation *s, int lives) {
  return (s->other ? 2 : 1) * sides_seconds(s->r, 2, lives, s->lives);
}

/* The choice must be built and run, and the lock file planned. */
static double least_seconds(const Validation *s) { return choice_seconds(s) + runs_seconds(s, LEAST_LIVES) + s->r->plan; }

static bool has_time(const Validation *s) { return least_seconds(s) < races_left(s->r); }

/* Number of nests with another schedule on a side than on sides 0 and 1 */
static int number_new(Ctx *c, const Validation *s, int side) {
  int n = 0;
  for (size_t i = 0; i < s->t->goals.n; i++) {
    const Goal *g = &s->t->goals.p[i];
    const char *opts = schedule_on(c, s, g, side);
    n += strcmp(opts, g->base) && (side == 1 || strcmp(opts, schedule_on(c, s, g, 1)));
  }
  return n;
}

/* Whether a further side can be built beside k others, so that the rest has enough time */
static bool has_time_for_side(Ctx *c, const Validation *s, int k) {
  const double runs = sides_seconds(s->r, k + 1, LEAST_LIVES, s->lives), last = fmax(1, number_new(c, s, k - 1));
  const double build = choice_seconds(s) + (s->r->build - s->r->quickest) * number_new(c, s, k) / last;
  return build + (s->other && s->threads == 1 ? 2 : 1) * runs + least_seconds(s) < races_left(s->r);
}

/* The first side, and those with a schedule of the choice. Returns their number. */
static int sides_of_choice(const Validation *s, int *order) {
  int n = 0;
  for (int k = 0; k < s->sides; k++) {
    bool has = !k;
    for (size_t i = 0; i < s->side_of.n; i++) has |= s->side_of.p[i] == k;
    if (has) order[n++] = k;
  }
  return n;
}

/* Drops schedules with which nests lose more on the other number of threads than they gain on this one. A larger tile leaves fewer
 * parts to share. Returns how many are left. */
static int keep_for_threads(Ctx *c, Validation *s, int kept) {
  int order[SIDES];
  const int n = sides_of_choice(s, order);
  measure(c, s, order, n, share_of_rest(s, 2, 1), s->other);
  for (size_t i = 0; i < s->t->goals.n; i++) {
    const Goal *g = &s->t->goals.p[i];
    const double before = nest_ms(s, g, 0), after = nest_ms(s, g, s->side_of.p[i]);
    if (!strcmp(s->choice.p[i], g->base) || after * s->ratio.p[i] <= before) continue;
    if (s->r->o->verbose)
      fprintf(stderr, "on %d threads %.16s takes %.2f us, was %.2f: not %s\n", s->other, g->key, after * 1e3, before * 1e3,
              s->choice.p[i]);
    s->choice.p[i] = g->base;
    kept--;
  }
  return kept;
}

static int number_found(const Validation *s) {
  int found = 0;
  for (size_t i = 0; i < s->t->goals.n; i++) found += has_found(&s->t->goals.p[i]);
  return found;
}

static int number_of_rivals_only(const Validation *s) { /* nests with rivals, and without a schedule that was found alone */
  int n = 0;
  for (size_t i = 0; i < s->t->goals.n && s->sides > 2 && s->threads == 1; i++)
    n += !has_found(&s->t->goals.p[i]) && s->t->goals.p[i].nrivals;
  return n;
}

static int most_rivals(const Validation *s) {
  int most = 0;
  for (size_t i = 0; i < s->t->goals.n; i++)
    if (s->t->goals.p[i].nrivals > most) most = s->t->goals.p[i].nrivals;
  return most;
}

bool validate_needed(const Validation *s) { return s->threads > 1 || number_found(s); }

static void take_choice(Validation *s, int kept) {
  for (size_t i = 0; i < s->t->goals.n; i++) {
    if (kept) s->passed.p[i] = s->choice.p[i];
    goal_validated(s->t, &s->t->goals.p[i], s->passed.p[i]);
  }
}

static void give_result(Validation *s, int found, const Validated *now) {
  Validated *v = s->result;
  if (now->kept || !v->kept) *v = *now; /* else the last result holds */
  v->decision = s->decision;
  v->ndecisions = s->ndecisions;
  v->done = true;
  v->found = found;
}

static void try_schedules(Ctx *c, void *arg) {
  Validation *s = arg;
  int order[SIDES], last = SIDES - 1, side = 0;
  int found = number_found(s);
  if (s->threads == 1 && !s->t->lab.backend->device) {
    const double more = build_seconds(s) + sides_seconds(s->r, s->other ? 2 : 1, LEAST_LIVES, s->lives);
    const double fit = (races_left(s->r) - validate_seconds(s, true)) / fmax(more, 1e-3);
    s->sides = 2;
    if (fit >= 1) tune_rivals(s->t);
    if (fit >= 1) s->sides += (int)fmin(fit, most_rivals(s));
  }
  if (!validate_needed(s) && s->sides == 2) return;
  for (int k = 0; k < s->sides; k++) {
    if (k > 1 && !has_time_for_side(c, s, k)) s->sides = k;
    if (k == s->sides) break;
    for (size_t i = 0; i < s->t->goals.n; i++) s->choice.p[i] = schedule_on(c, s, &s->t->goals.p[i], k);
    if (k) side_close(&s->side[k]), open_side(c, s, k);
    order[k] = k;
  }
  for (size_t i = 0; i < s->t->goals.n && s->threads == 1; i++) { /* rivals without a side were not tried */
    Goal *g = &s->t->goals.p[i];
    if (g->nrivals > s->sides - 2) g->nrivals = s->sides - 2;
  }
  found += number_of_rivals_only(s);
  measure(c, s, order, s->sides, share_of_rest(s, s->other ? 3 : 1, 1), s->threads);
  Validated now = { .at = { .threads = s->threads, .untuned = model_ms(s, 0) } };
  Paired slack;
  int kept = choose(c, s, !s->stamped);
  if (kept && s->other && s->threads == 1 && s->stamped && has_time(s)) kept = keep_for_threads(c, s, kept);
  for (int i = 0; kept; i++) {
    side = is_side(c, s, 1) ? 1 : last;
    if (side == last) side_close(&s->side[last]), open_side(c, s, last);
    const Tunables *u = tunables_of(c);
    const Asked gain = { u->validate_model_gain, 1, s->stamped ? u->validate_model_end : 1 };
    double worth = u->validate_gain;
    if (holds(c, s, side, s->threads, gain, &now.at, &now.changed)) {
      if (!s->other || holds(c, s, side, s->other, (Asked){ u->validate_slack, INFINITY, INFINITY }, &now.other, &slack)) break;
      worth = 1;
    }
    kept = i < TRIES - 1 && has_time(s) ? choose_again(c, s, side, worth) : 0;
  }
  if (!kept) now = (Validated){ .at = { s->threads, now.at.untuned, now.at.untuned, 1, 1 } };
  now.kept = kept;
  now.plan = s->plan_of[kept ? side : 0];
  give_result(s, found, &now);
  take_choice(s, kept);
}

static void survey(Ctx *c, void *arg) {
  Validation *s = arg;
  if (!s->plan) open_side(c, s, 0);
  if (!s->decision) take_decisions(c, s, s->choices->made);
  const double end = s->r->begin + tunable(c, tune_choice_share) * (s->r->end - s->r->begin);
  if (!s->measured) measure(c, s, (int[]){ 0 }, 1, (Lives){ FIRST_LIVES, 1, end }, s->threads);
  s->stamped |= side_stamped(&s->side[0]);
  if (!s->t->lab.backend->device) s->lives = sides_lives(s->r, LIVES, MOST_LIVES);
  if (!s->stamped || s->side[0].in_run) return; /* operations of kernels are those of the greatest sizes */
  const Side *x = &s->side[0];
  Peak peak = { INFINITY, INFINITY }; /* a device: its peak is not known */
  if (!s->plan->in->backend->device)
    peak = peak_measure(c, s->r->o, s->r->scratch, s->plan->in->target, s->threads, x->f.arena_bytes + x->f.weight_bytes);
  double *us = ARENA_NEW(&c->model, double, s->plan->kernels.n + 1);
  for (size_t k = 0; k < s->plan->kernels.n; k++) {
    const Kernel *kernel = &s->plan->kernels.p[k];
    const double bytes = (double)(kernel->bytes_read + kernel->bytes_written);
    const double least = fmax((double)kernel->flops / peak.gflops, bytes / peak.read_gbs) * 1e-3;
    us[k] = fmax(0, side_kernel_ms(x, k) * 1e3 - least);
  }
  tune_slack(s->t, s->plan, us);
}

double validate_seconds(const Validation *s, bool least) {
  const int lives = least ? LEAST_LIVES : s->lives;
  const bool one = s->threads == 1 && !s->t->lab.backend->device;
  const int n = one ? least ? 2 : 2 + RIVALS : s->sides; /* further sides have rivals */
  const double first = (n - 1) * build_seconds(s) + sides_seconds(s->r, n, lives, s->lives) +
                       (s->other && one ? sides_seconds(s->r, n, lives, s->lives) : 0);
  const double choice = (least ? 0 : build_seconds(s)) + runs_seconds(s, lives);
  return first + choice + s->r->plan; /* the sides as found, the choice, the lock file */
}

Validation *validate_open(Ctx *c, Races *r, Tuner *t, GraphChoices *choices, Validated *result) {
  Validation *s = ARENA_NEW(&c->model, Validation, 1);
  *s = (Validation){ .r = r, .t = t, .result = result, .choices = choices };
  s->threads = r->o->threads ? (int)r->o->threads : 1;
  s->other = s->threads > 1 ? 1 : t->lab.jobs > 1 ? 2 : 0;
  s->lives = t->lab.backend->device ? DEVICE_LIVES : LIVES;
  if (choices->plan) {
    s->plan = s->plan_of[0] = choices->plan;
    s->side[0] = choices->side;
    s->measured = !choices->kept && side_stamped(&s->side[0]); /* else the last runs may have had other threads */
  }
  choices->side = (Side){ 0 };
  s->sides = s->threads > 1 ? SIDES - 1 : 2;
  for (size_t i = 0; i < t->goals.n; i++) {
    VEC_PUSH(&s->choice, t->goals.p[i].base);
    VEC_PUSH(&s->side_of, 0);
    VEC_PUSH(&s->ratio, 1);
    VEC_PUSH(&s->passed, t->goals.p[i].base);
  }
  return s;
}

int validate_survey(Ctx *c, Validation *s) { return ctx_try(c, survey, s); }
int validate_model(Ctx *c, Validation *s) { return ctx_try(c, try_schedules, s); }

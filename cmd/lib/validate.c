/* SPDX-License-Identifier: MIT */
/* validate.c: measures the whole model, before the search and after it.
 *
 * Before: how much longer each kernel takes than the machine's peak allows, so that the search begins where most can be gained.
 *
 * After: tests the schedules that were found in the whole model (A/B). A nest is timed alone; between other kernels it finds
 * other data in the caches. So the model is built without schedules and with them, and both alternate. The time of each
 * kernel comes from the bundles' hooks (docs/bundle.md), or from the events of a device's driver. A schedule that does not win
 * there is dropped. Without these times all stay or all are dropped.
 *
 * With threads there are more sides: all kernels in the same number of chunks, from which each nest takes the best. The
 * remaining schedules are built again and must beat the model without schedules. If they do not, schedules that do not win a
 * second time are dropped, and the rest is tried again. A bundle may run on any number of threads, and neither the store nor a
 * lock file depends on it. So on another number, 1 or 2, the model with schedules must not be slower either. */
#include "graph_choices.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* processes of a side, after the search, before it, and after it on a device; models built from remaining schedules */
enum { LIVES = 8, FIRST_LIVES = 2, DEVICE_LIVES = 3, TRIES = 3 };

static const int chunk_counts[] = { 1, 2, 4, 8, 24 };
enum { SIDES = 3 + sizeof chunk_counts / sizeof *chunk_counts }; /* none, as found, each number of chunks, the choice */

struct Validation {
  Races r;
  Tuner *t;
  Validated *result;
  const GraphChoices *choices; /* decisions for all sides */
  Side side[SIDES];
  int sides, threads, other; /* other: another number of threads that users may have; 0: none */
  int lives;       /* processes of a side after the search */
  double build;    /* seconds that the build of a side takes */
  double end;      /* when all shall be done, by clock_ms */
  bool stamped;    /* bundles record the times of kernels; bundles of objects have no hooks for it */
  const Plan *plan; /* the plan without schedules: tells the nests of a kernel */
  VEC(const char *) choice; /* a schedule for each goal */
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
  text = with_chunks(c, found, chunk_counts[side - 2]);
  /* chunks of a group are fixed */
  return opts_parse(s->t->lab.ir, g->nest, s->t->lab.target, text, strlen(text), &o) ? found : text;
}

/* ---- sides ---- */

/* Makes a plan from a lock file with the choice. */
static const Plan *plan_by_pbqp(Ctx *c, const Validation *s, int number) {
  Options o = *s->r.o;
  Lock l = { .chosen = s->choices->chosen, .nchosen = s->choices->n };
  const bool quiet = c->quiet;
  const char *path = arena_printf(&c->model, "%s/side%d.tgc-lock", s->r.scratch, number);
  for (size_t i = 0; i < s->t->goals.n; i++) {
    LockLine x = { .opts = s->choice.p[i], .note = "" };
    memcpy(x.key, s->t->goals.p[i].key, sizeof x.key);
    VEC_PUSH(&l.lines, x);
  }
  lock_write(c, &l, path);
  VEC_FREE(&l.lines);
  o.schedule = path;
  o.no_store = o.quiet = true;
  c->quiet = true;
  const Plan *p = plan_of(&o, load_graph(c, &o, NULL), target_of(c, &o), NULL);
  c->quiet = quiet;
  return p;
}

static void open_side(Ctx *c, Validation *s, int number) {
  const Plan *p = plan_by_pbqp(c, s, number);
  if (!number) s->plan = p;
  s->side[number] = side_open(c, &s->r, p);
}

void validate_close(Validation *s) {
  for (int i = 0; i < SIDES; i++) side_close(&s->side[i]);
  VEC_FREE(&s->choice);
}

/* The first side has no schedules. */
static void measure(Ctx *c, Validation *s, const int *sides, int n, int lives, int threads) {
  Side *side[SIDES];
  for (int i = 0; i < n; i++) side[i] = &s->side[sides[i]];
  sides_measure(c, &s->r, side, n, lives, threads);
  s->stamped |= side_stamped(&s->side[0]);
}

/* ---- choosing ---- */

/* Time of all kernels that have the nest, on a side. */
static double nest_ms(const Validation *s, const Goal *g, int side) {
  double ms = 0;
  for (size_t k = 0; k < s->plan->kernels.n; k++) {
    const Kernel *x = &s->plan->kernels.p[k];
    bool has = false;
    for (size_t i = 0; i < x->nests.n; i++) has |= !strcmp(x->nests.p[i].key, g->key);
    if (has) ms += side_kernel_ms(&s->side[side], k);
  }
  return ms;
}

static double model_ms(const Validation *s, int side) { return side_ms(&s->side[side]); }

static int fastest_side(Validation *s) {
  int best = 0;
  for (int k = 1; k < s->sides; k++)
    if (model_ms(s, k) < model_ms(s, best)) best = k;
  return best;
}

/* Chooses each nest's best side, or the best for all. Returns how many nests differ from the first side. */
static int choose(Ctx *c, Validation *s) {
  const Tunables *u = tunables_of(c);
  const int all = s->stamped ? -1 : fastest_side(s);
  int kept = 0;
  for (size_t i = 0; i < s->t->goals.n; i++) {
    const Goal *g = &s->t->goals.p[i];
    int best = 0;
    double ms = nest_ms(s, g, 0);
    for (int k = 1; k < s->sides && all < 0; k++) {
      double other = nest_ms(s, g, k);
      if ((k > 1 || has_found(g)) && other < (k > 1 ? u->validate_chunks_gain : u->validate_gain) * ms) best = k, ms = other;
    }
    if (all >= 0 && strcmp(schedule_on(c, s, g, all), g->base)) best = all;
    s->choice.p[i] = schedule_on(c, s, g, best);
    kept += best > 0;
    if (s->r.o->verbose && has_found(g))
      fprintf(stderr, "validated %.16s x %d: alone %.2f us, was %.2f; in the model %.2f us, was %.2f: %s %s\n", g->key, g->count,
              g->best_us, g->base_us, nest_ms(s, g, 1) * 1e3, nest_ms(s, g, 0) * 1e3, best ? "kept" : "not", g->best);
  }
  return kept;
}

/* Whether the choice on a side takes at most `worth` of the time without schedules, on this number of threads */
static bool holds(Ctx *c, Validation *s, int side, int threads, double worth, ValidatedAt *at) {
  measure(c, s, (int[]){ 0, side }, 2, s->lives, threads);
  *at = (ValidatedAt){ .threads = threads, .untuned = model_ms(s, 0), .tuned = model_ms(s, side) };
  if (s->r.o->verbose)
    fprintf(stderr, "the model with schedules, %d thread%s: %.4g ms, %.4g without\n", threads, threads > 1 ? "s" : "", at->tuned,
            at->untuned);
  return at->tuned < worth * at->untuned;
}

/* Keeps the schedules of the choice that won again on a side. Returns their number; 0: none, or no change. */
static int choose_again(Validation *s, int side, double worth) {
  int left = 0, gone = 0;
  for (size_t i = 0; i < s->t->goals.n; i++) {
    const Goal *g = &s->t->goals.p[i];
    if (!strcmp(s->choice.p[i], g->base)) continue;
    const bool wins = s->stamped && nest_ms(s, g, side) < worth * nest_ms(s, g, 0);
    if (!wins) s->choice.p[i] = g->base;
    left += wins;
    gone += !wins;
  }
  return gone ? left : 0;
}

/* Whether the choice is what a side has. Side 1 has all schedules as found, so they need no further build if all are kept. */
static bool is_side(Ctx *c, const Validation *s, int side) {
  for (size_t i = 0; i < s->t->goals.n; i++)
    if (strcmp(s->choice.p[i], schedule_on(c, s, &s->t->goals.p[i], side))) return false;
  return true;
}

/* The build of the choice, and its runs beside the model without schedules, on each number of threads */
static double comparison_seconds(const Validation *s) { return s->build + 2 * s->r.seconds * (s->other ? 2 : 1); }

static void try_schedules(Ctx *c, void *arg) {
  Validation *s = arg;
  int order[SIDES], last = SIDES - 1, found = 0;
  for (size_t i = 0; i < s->t->goals.n; i++) found += has_found(&s->t->goals.p[i]);
  if (!found && s->threads < 2) return;
  for (int k = 0; k < s->sides; k++) {
    for (size_t i = 0; i < s->t->goals.n; i++) s->choice.p[i] = schedule_on(c, s, &s->t->goals.p[i], k);
    if (!s->side[k].kernels) open_side(c, s, k);
    order[k] = k;
  }
  measure(c, s, order, s->sides, s->lives, s->threads);
  ValidatedAt at = { .threads = s->threads, .untuned = model_ms(s, 0) }, other = { 0 };
  int kept = choose(c, s);
  for (int i = 0; kept; i++) {
    const int side = is_side(c, s, 1) ? 1 : last;
    if (side == last) side_close(&s->side[last]), open_side(c, s, last);
    double worth = tunable(c, validate_gain);
    if (holds(c, s, side, s->threads, worth, &at)) {
      worth = tunable(c, validate_slack);
      if (!s->other || holds(c, s, side, s->other, worth, &other)) break;
    }
    const bool time = clock_ms() + 1e3 * comparison_seconds(s) < s->end;
    kept = time && i < TRIES - 1 ? choose_again(s, side, worth) : 0;
  }
  if (!kept) at.tuned = at.untuned, other = (ValidatedAt){ 0 };
  *s->result = (Validated){ .done = true, .kept = kept, .found = found, .at = at, .other = other };
  for (size_t i = 0; i < s->t->goals.n; i++)
    goal_validated(s->t, &s->t->goals.p[i], kept ? s->choice.p[i] : s->t->goals.p[i].base);
}

static void survey(Ctx *c, void *arg) {
  Validation *s = arg;
  const double begin = clock_ms();
  if (!s->plan) {
    open_side(c, s, 0);
    s->build = (clock_ms() - begin) * 1e-3;
  }
  measure(c, s, (int[]){ 0 }, 1, FIRST_LIVES, s->threads);
  if (!s->stamped) return;
  const Side *x = &s->side[0];
  Peak peak = { INFINITY, INFINITY }; /* a device: its peak is not known */
  if (!s->plan->in->backend->device)
    peak = peak_measure(c, s->r.o, s->r.scratch, s->plan->in->target, s->threads, x->f.arena_bytes + x->f.weight_bytes);
  double *us = ARENA_NEW(&c->model, double, s->plan->kernels.n + 1);
  for (size_t k = 0; k < s->plan->kernels.n; k++) {
    const Kernel *kernel = &s->plan->kernels.p[k];
    const double bytes = (double)(kernel->bytes_read + kernel->bytes_written);
    const double least = fmax((double)kernel->flops / peak.gflops, bytes / peak.read_gbs) * 1e-3;
    us[k] = fmax(0, side_kernel_ms(x, k) * 1e3 - least);
  }
  tune_slack(s->t, s->plan, us);
}

double validate_seconds(const Validation *s) {
  return s->build + 2 * s->r.seconds + comparison_seconds(s); /* the side as found, its comparison, the choice and its own */
}

Validation *validate_open(Ctx *c, const Options *o, Tuner *t, const char *scratch, double seconds, GraphChoices *choices,
                          Validated *result) {
  Validation *s = ARENA_NEW(&c->model, Validation, 1);
  *s = (Validation){ .r = { .o = o, .scratch = scratch }, .t = t, .result = result, .choices = choices };
  s->threads = o->threads ? (int)o->threads : 1;
  s->other = s->threads > 1 ? 1 : t->lab.jobs > 1 ? 2 : 0;
  s->lives = t->lab.backend->device ? DEVICE_LIVES : LIVES;
  s->r.seconds = fmin(tunable(c, validate_seconds), seconds * tunable(c, validate_share));
  s->end = 1e3 * t->lab.deadline;
  if (choices->plan) {
    s->plan = choices->plan;
    s->side[0] = choices->side;
    s->build = choices->build;
    s->r.in = choices->in;
  }
  choices->side = (Side){ 0 };
  s->sides = s->threads > 1 ? SIDES - 1 : 2;
  for (size_t i = 0; i < t->goals.n; i++) VEC_PUSH(&s->choice, t->goals.p[i].base);
  return s;
}

int validate_survey(Ctx *c, Validation *s) { return ctx_try(c, survey, s); }
int validate_model(Ctx *c, Validation *s) { return ctx_try(c, try_schedules, s); }

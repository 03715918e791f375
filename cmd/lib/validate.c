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
 * lock file depends on it. So on another number, 1 or 2, the model with schedules must not be slower either.
 *
 * The addresses of its memory make a process some percent faster or slower for its whole life, and affect each kernel
 * differently. So a side gets several processes, one after another. The time of a kernel is the 10th percentile of all its
 * runs. The sum of these is the model's time. */
#include "../cmd.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double BLOCK_SECONDS = 0.02;
/* LIVES, FIRST_LIVES: processes of a side, after and before the search; DEVICE_LIVES: after it on a device. ROUNDS_LEAST,
 * BLOCK_RUNS: blocks of each process, runs of a block. TRIES: models built from remaining schedules */
enum { LIVES = 8, FIRST_LIVES = 2, DEVICE_LIVES = 3, ROUNDS_LEAST = 2, BLOCK_RUNS = 1000, TRIES = 3 };
static const double QUANTILE = 0.1;

static const int chunk_counts[] = { 1, 2, 4, 8, 24 };
enum { SIDES = 3 + sizeof chunk_counts / sizeof *chunk_counts }; /* none, as found, each number of chunks, the choice */

typedef struct Side {
  const char *dir, *so;
  Interface f;
  Worker worker;
  Stamps stamps;
  size_t stamped;
  Reals runs, *kernels; /* ms; runs: whole runs; kernels: each kernel */
} Side;

struct Validation {
  const Options *o;
  Tuner *t;
  const char *scratch;
  Validated *result;
  Side side[SIDES];
  int sides, threads, other; /* other: another number of threads that users may have; 0: none */
  int lives;       /* processes of a side after the search */
  double build;    /* seconds that the build of a side takes */
  double seconds;  /* run time of each side of a comparison */
  double end;      /* when all shall be done, by clock_ms */
  bool stamped;    /* bundles record the times of kernels; bundles of objects have no hooks for it */
  const Plan *plan; /* the plan without schedules: tells the nests of a kernel */
  Tensor *in;
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
  Options o = *s->o;
  Lock l = { 0 };
  const char *path = arena_printf(&c->model, "%s/side%d.tgc-lock", s->scratch, number);
  for (size_t i = 0; i < s->t->goals.n; i++) {
    LockLine x = { .opts = s->choice.p[i], .note = "" };
    memcpy(x.key, s->t->goals.p[i].key, sizeof x.key);
    VEC_PUSH(&l.lines, x);
  }
  lock_write(c, &l, path);
  VEC_FREE(&l.lines);
  o.schedule = path;
  o.no_store = o.quiet = true;
  return plan_of(&o, load_graph(c, &o, NULL), target_of(c, &o, "native"), NULL);
}

static void open_side(Ctx *c, Validation *s, int number) {
  Side *x = &s->side[number];
  const Plan *p = plan_by_pbqp(c, s, number);
  const size_t n = p->kernels.n;
  if (!number) s->plan = p;
  x->dir = plan_put(c, s->o, p, s->scratch);
  x->f = interface_read(c, s->o, x->dir);
  x->stamps = (Stamps){ .n = (int)n + 1,
                        .at = shared_memory(c, BLOCK_RUNS * (n + 1) * sizeof(double)),
                        .room = BLOCK_RUNS,
                        .spans = shared_memory(c, sizeof(Spans)) };
  const bool device = p->in->backend->device;
  if (device) x->stamps.kernel = kernel_of_launches(p, &x->stamps.launches);
  x->kernels = ARENA_NEW(&c->model, Reals, n + 1);
  if (!s->in) {
    s->in = ARENA_NEW(&c->model, Tensor, p->g->inputs.n + 1);
    feed_inputs(c, &(Feed){ 0 }, p->g->inputs.p, (int)p->g->inputs.n, s->o->seed, s->in);
  }
  x->so = bundle_build(c, s->o, x->dir, x->dir, &x->f, device ? NULL : hooks_write(c, s->scratch, (int)n + 1));
}

static void close_side(Side *x) {
  if (!x->kernels) return;
  worker_end(&x->worker);
  interface_free(&x->f);
  VEC_FREE(&x->runs);
  for (int k = 0; k < x->stamps.n; k++) VEC_FREE(&x->kernels[k]);
  *x = (Side){ 0 };
}

void validate_close(Validation *s) {
  for (int i = 0; i < SIDES; i++) close_side(&s->side[i]);
  VEC_FREE(&s->choice);
}

/* ---- measuring ---- */
static void block(Ctx *c, Side *x) {
  const size_t before = x->runs.n;
  worker_block(c, &x->worker, BLOCK_SECONDS, BLOCK_RUNS, &x->runs);
  for (size_t r = before; r < x->runs.n; r++) {
    const double *at = x->stamps.at + x->stamped++ % BLOCK_RUNS * (size_t)x->stamps.n;
    for (int k = 0; k + 1 < x->stamps.n; k++) VEC_PUSH(&x->kernels[k], at[k + 1] - at[k]);
  }
}

/* Runs the given sides in turn, for a life of each. */
static void live(Ctx *c, Validation *s, const int *sides, int n, int threads) {
  const double end = clock_ms() + s->seconds / s->lives * 1e3 * n;
  (void)c;
  for (int i = 0; i < n; i++) {
    Side *x = &s->side[sides[i]];
    worker_end(&x->worker);
    worker_model(c, &x->worker, x->dir, x->so, &x->f, threads, s->in, &x->stamps);
    x->stamped = 0;
  }
  for (int r = 0; r < ROUNDS_LEAST || clock_ms() < end; r++)
    for (int i = 0; i < n; i++) block(c, &s->side[sides[i]]);
}

/* Measures from scratch, with `lives` processes per side. The first side has no schedules. */
static void measure(Ctx *c, Validation *s, const int *sides, int n, int lives, int threads) {
  for (int i = 0; i < n; i++) {
    Side *x = &s->side[sides[i]];
    x->runs.n = 0;
    for (int k = 0; k < x->stamps.n; k++) x->kernels[k].n = 0;
  }
  for (int i = 0; i < lives; i++) live(c, s, sides, n, threads);
  for (int i = 0; i < n; i++) {
    Side *x = &s->side[sides[i]];
    worker_end(&x->worker);
    reals_sort(&x->runs);
    for (int k = 0; k < x->stamps.n; k++) reals_sort(&x->kernels[k]);
  }
  for (int k = 0; k + 1 < s->side[0].stamps.n; k++) s->stamped |= quantile(&s->side[0].kernels[k], QUANTILE) > 0;
}

/* ---- choosing ---- */

/* Time of all kernels that have the nest, on a side. */
static double nest_ms(const Validation *s, const Goal *g, int side) {
  double ms = 0;
  for (size_t k = 0; k < s->plan->kernels.n; k++) {
    const Kernel *x = &s->plan->kernels.p[k];
    bool has = false;
    for (size_t i = 0; i < x->nests.n; i++) has |= !strcmp(x->nests.p[i].key, g->key);
    if (has) ms += quantile(&s->side[side].kernels[k], QUANTILE);
  }
  return ms;
}

static double model_ms(Validation *s, int side) {
  Side *x = &s->side[side];
  double ms = 0;
  if (!s->stamped) return quantile(&x->runs, QUANTILE);
  for (int k = 0; k + 1 < x->stamps.n; k++) ms += quantile(&x->kernels[k], QUANTILE);
  return ms;
}

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
    if (s->o->verbose && has_found(g))
      fprintf(stderr, "validated %.16s x %d: alone %.2f us, was %.2f; in the model %.2f us, was %.2f: %s %s\n", g->key, g->count,
              g->best_us, g->base_us, nest_ms(s, g, 1) * 1e3, nest_ms(s, g, 0) * 1e3, best ? "kept" : "not", g->best);
  }
  return kept;
}

/* Whether the choice on a side takes at most `worth` of the time without schedules, on this number of threads */
static bool holds(Ctx *c, Validation *s, int side, int threads, double worth, ValidatedAt *at) {
  measure(c, s, (int[]){ 0, side }, 2, s->lives, threads);
  *at = (ValidatedAt){ .threads = threads, .untuned = model_ms(s, 0), .tuned = model_ms(s, side) };
  if (s->o->verbose)
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
static double comparison_seconds(const Validation *s) { return s->build + 2 * s->seconds * (s->other ? 2 : 1); }

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
    if (side == last) close_side(&s->side[last]), open_side(c, s, last);
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
  open_side(c, s, 0);
  s->build = (clock_ms() - begin) * 1e-3;
  measure(c, s, (int[]){ 0 }, 1, FIRST_LIVES, s->threads);
  if (!s->stamped) return;
  const Side *x = &s->side[0];
  Peak peak = { INFINITY, INFINITY }; /* a device: its peak is not known */
  if (!s->plan->in->backend->device)
    peak = peak_measure(c, s->o, s->scratch, s->plan->in->target, s->threads, x->f.arena_bytes + x->f.weight_bytes);
  double *us = ARENA_NEW(&c->model, double, s->plan->kernels.n + 1);
  for (size_t k = 0; k < s->plan->kernels.n; k++) {
    const Kernel *kernel = &s->plan->kernels.p[k];
    const double bytes = (double)(kernel->bytes_read + kernel->bytes_written);
    const double least = fmax((double)kernel->flops / peak.gflops, bytes / peak.read_gbs) * 1e-3;
    us[k] = fmax(0, quantile(&x->kernels[k], QUANTILE) * 1e3 - least);
  }
  tune_slack(s->t, s->plan, us);
}

double validate_seconds(const Validation *s) {
  return s->build + 2 * s->seconds + comparison_seconds(s); /* the side as found, its comparison, the choice and its own */
}

Validation *validate_open(Ctx *c, const Options *o, Tuner *t, const char *scratch, double seconds, Validated *result) {
  Validation *s = ARENA_NEW(&c->model, Validation, 1);
  *s = (Validation){ .o = o, .t = t, .scratch = scratch, .result = result, .threads = o->threads ? (int)o->threads : 1 };
  s->other = s->threads > 1 ? 1 : t->lab.jobs > 1 ? 2 : 0;
  s->lives = t->lab.backend->device ? DEVICE_LIVES : LIVES;
  s->seconds = fmin(tunable(c, validate_seconds), seconds * tunable(c, validate_share));
  s->end = clock_ms() + 1e3 * seconds;
  s->sides = s->threads > 1 ? SIDES - 1 : 2;
  for (size_t i = 0; i < t->goals.n; i++) VEC_PUSH(&s->choice, t->goals.p[i].base);
  return s;
}

int validate_survey(Ctx *c, Validation *s) { return ctx_try(c, survey, s); }
int validate_model(Ctx *c, Validation *s) { return ctx_try(c, try_schedules, s); }

/* SPDX-License-Identifier: MIT */
/* final_check.c: the last comparison of `tgc tune`.
 *
 * Schedules and decisions have won in comparisons of kernels, many at a time. Some of them have won by chance, and the bundles
 * there had hooks, which a user's bundle lacks. So at last two bundles are measured as `tgc bench --vs-untuned --pairs` would:
 * one with all that is kept, and the one that `tgc compile` makes without schedules. Whole runs are measured, in new processes.
 * If a whole build is quick enough, the C compiler gets each bundle as one file, as a user's build does; code in other places may
 * take a few percent longer.
 *
 * Processes differ by several percent, since their memory has other addresses. So whole runs alone do not show a gain of two
 * percent in a few seconds. The comparison of kernels before was more exact, since it left out kernels that are the same in
 * both bundles. It had processes of its own, other than those by which the schedules were chosen. Its result and that of whole
 * runs are pooled, each by its precision. The earlier one may be wrong about the bundle by tune_final_trust. So a small gain must
 * show in whole runs, too.
 *
 * needs: two plans    gives: whether the tuned one is surely faster */
#include "final_check.h"
#include "../../compiler/cost/tunable.h"
#include <math.h>

enum { LEAST_LIVES = 4, MOST_LIVES = 64 };

static double allowed(const Races *r) { return (r->end - r->begin) * 1e-3; }

/* Seconds for two builds of whole bundles. The first side was compiled by `jobs` compilers side by side. */
static double whole_builds(const Races *r) { return 2 * r->whole * fmax(1, r->jobs); }

static bool builds_whole(Ctx *c, const Races *r) {
  return r->jobs && whole_builds(r) <= tunable(c, tune_final_build) * allowed(r);
}

static double run_seconds(Ctx *c, const Races *r) {
  return fmin(tunable(c, tune_final_share) * allowed(r), tunable(c, tune_final_seconds)) / 2;
}

/* Most processes of a side. A first comparison has so many; an undecided one goes on. */
static int lives_of(Ctx *c, const Races *r) {
  const double fit = run_seconds(c, r) / fmax(side_life_seconds(r), 1e-3);
  return fit < LEAST_LIVES ? LEAST_LIVES : fit > MOST_LIVES ? MOST_LIVES : (int)fit;
}

double final_seconds(Ctx *c, const Races *r) {
  const double builds = builds_whole(c, r) ? whole_builds(r) : 2 * r->quickest;
  return 3 * r->plan + builds + 2 * fmax(run_seconds(c, r), LEAST_LIVES * side_life_seconds(r));
}

typedef struct Final {
  Races *r;
  const FinalAsk *ask;
  Side side[2];            /* untuned, tuned */
  FinalCheck *out;
} Final;

static void check(Ctx *c, void *arg) {
  Final *f = arg;
  Races *r = f->r;
  FinalCheck *out = f->out;
  const char *dir[2];
  const Plan *const plan[] = { f->ask->untuned, f->ask->tuned };
  for (int i = 0; i < 2; i++) dir[i] = plan_put(c, r->o, plan[i], r->scratch);
  out->done = out->same = out->passed = bundles_equal(c, dir[0], dir[1]);
  if (out->same) return;
  for (int i = 0; i < 2; i++) f->side[i] = side_open_at(c, r, plan[i], dir[i]);
  const double worth = tunable(c, validate_model_gain), most = tunable(c, tune_final_end);
  const SidePair pair = { .without = &f->side[0],
                          .with = &f->side[1],
                          .earlier = paired_widened(f->ask->earlier, tunable(c, tune_final_trust)) };
  out->all = sides_decide(c, r, &pair, (Lives){ lives_of(c, r), LEAST_LIVES, f->ask->end }, out->threads, worth, most);
  out->times = sides_paired(&f->side[0], &f->side[1]);
  out->passed = out->all.ratio < worth && out->all.high < most && out->times.low <= 1;
  out->untuned = side_ms(&f->side[0]);
  out->tuned = side_ms(&f->side[1]);
  out->done = true;
}

static void print_ratios(const FinalAsk *ask, const FinalCheck *x) {
  fprintf(stderr, "all that is kept, %d thread%s: %.4g ms, %.4g without; times %.4f, from %.4f to %.4f in %zu pairs",
          ask->threads, ask->threads > 1 ? "s" : "", x->tuned, x->untuned, x->times.ratio, x->times.low, x->times.high, x->times.n);
  if (ask->earlier.n)
    fprintf(stderr, "; by kernels before %.4f, from %.4f to %.4f; both %.4f, from %.4f to %.4f", ask->earlier.ratio,
            ask->earlier.low, ask->earlier.high, x->all.ratio, x->all.low, x->all.high);
  fprintf(stderr, ": %s\n", x->passed ? "kept" : "not");
}

int final_check(Ctx *c, Races *r, const FinalAsk *ask, FinalCheck *out) {
  const Races before = *r;
  Final *f = ARENA_NEW(&c->model, Final, 1);
  *f = (Final){ .r = r, .ask = ask, .out = out };
  *out = (FinalCheck){ .threads = ask->threads };
  r->seconds = run_seconds(c, r);
  r->bare = true;
  if (builds_whole(c, r)) r->jobs = 0;
  const int code = ctx_try(c, check, f);
  for (int i = 0; i < 2; i++) side_close(&f->side[i]);
  r->seconds = before.seconds;
  r->bare = before.bare;
  r->jobs = before.jobs;
  if (r->o->verbose && !code && !out->same) print_ratios(ask, out);
  return code;
}

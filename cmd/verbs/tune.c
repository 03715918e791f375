/* SPDX-License-Identifier: MIT */
/* tune.c: tgc tune: searches schedules for the kernels of a model on this machine's CPU or one of its devices. Results go to
 * the store, and to a lock file beside the model. */
#include "../lib/tuning.h"
#include <math.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MOST_BUILD 0.5 /* share of the time that is left; if a build may take more, the model is not built */
#define FINAL_MOST 0.3 /* share of --time; the last comparison gets at most so much before the end */
enum { SECONDS = 60, BEAM = 4, KEEP = 64, DEVICE_KEEP = 24, JOB_KEEP = 16 };
#define CC_SECONDS        10.0
#define CANDIDATE_SECONDS 5.0 /* one run of a candidate whose best time is not known yet */

/* The first signal stops the search in order. After it, a second one ends the program at once. */
static int interrupted(void *arg) {
  Tuning *u = arg;
  if (u->signal || !(u->signal = interrupt_pending())) return u->signal;
  signals_restore(&u->signals);
  return u->signal;
}

/* ---- while it runs ---- */
static void progress(void *arg, const Tuner *t) {
  Tuning *u = arg;
  char text[120];
  const double spent = tune_clock() - u->start, all = t->lab.deadline - u->start;
  const double by_trials = t->trials ? (double)t->tried / (double)t->trials : 0;
  if (!terminal_has_progress(u->o)) return;
  snprintf(text, sizeof text, "%.1f µs (was %.1f µs), %lld candidate%s", tune_total(t, false), tune_total(t, true),
           (long long)t->tried, t->tried == 1 ? "" : "s");
  progress_show(u->o, text, fmax(by_trials, all > 0 ? spent / all : 0), (int64_t)spent);
  u->shown = true;
}

static void acknowledged(void *arg, const Goal *g, const Trial *x, bool screened) {
  Tuning *u = arg;
  if (!u->o->verbose) return;
  if (x->failed) {
    fprintf(stderr, "failed %.16s %s: %s\n", g->key, x->opts, x->why);
    return;
  }
  fprintf(stderr, "%s %.16s %s: %.3f us", screened ? "screened" : "measured", g->key, x->opts, x->warm);
  if (!u->t.stateful) fprintf(stderr, " warm, %.3f us cold", x->cold);
  if (screened) fputc('\n', stderr);
  else fprintf(stderr, ", spread %.0f %%\n", x->spread * 100);
}

/* Where each nest finds its data in a run of the model, and so in the times of its candidates */
static void print_states(const Tuner *t) {
  for (size_t i = 0; i < t->goals.n; i++) {
    const Goal *g = &t->goals.p[i];
    fprintf(stderr, "state %.16s x %d: %s", g->key, g->count, g->state.text);
    if (g->ignored) fprintf(stderr, "; %zu older measurements are not used, because they do not name the state", g->ignored);
    fputc('\n', stderr);
  }
}

/* The options --dim of a model with a range, for a command: " --dim=n=1:8" */
static const char *dims_text(Ctx *c, const Options *o) {
  Sb s = { 0 };
  for (size_t i = 0; i < o->dims.n && first_range(o); i++) sb_printf(&s, " --dim=%s", o->dims.p[i]);
  return sb_keep(&s, &c->model);
}

/* Reports a schedule that passed the checks but computes something else. A lock file is left for the user to send with the
 * report. */
static void wrong(void *arg, const Goal *g, const char *opts, const char *why) {
  Tuning *u = arg;
  Ctx *c = u->t.lab.ctx;
  const Backend *b = u->t.lab.backend;
  Lock *l = ARENA_NEW(&c->model, Lock, 1);
  LockLine x = { .opts = opts, .micros = 0, .note = why };
  const char *path = arena_printf(&c->model, "tgc-bug-%.16s.tgc-lock", g->key);
  memcpy(x.key, g->key, sizeof x.key);
  VEC_PUSH(&l->lines, x);
  lock_write(c, l, path);
  warn_at(c, (Pos){ 0 },
          "a bug in %s, please report it: schedule '%s' of nest %.16s %s; see it with `tgc verify %s%s%s%s --isa=%s --schedule=%s`",
          b->driver ? "tgc or in the device's driver" : "tgc", opts, g->key, why, u->o->model, dims_text(c, u->o), b->driver ? " --backend=" : "",
          b->driver ? b->name : "", u->t.lab.target->isa, path);
}

/* ---- results ---- */
static void write_log(Ctx *c, Store *s, const char *path) {
  Sb text = { 0 };
  store_export(s, &text);
  const size_t n = text.n;
  file_replace(c, path, sb_keep(&text, &c->model), n);
}

/* Decisions of passes change the nests, so they come before the search. */
static void choose_decisions(Ctx *c, Tuning *u) {
  const Tuner *t = &u->t;
  if (!t->stateful || !t->lab.backend->is_c || t->lab.runs.n) return; /* only C has hooks */
  const int threads = u->o->threads ? (int)u->o->threads : 1;
  const GraphAsk ask = { .r = &u->races,
                         .store = t->store,
                         .place = place_for(c, &t->place, decisions_wanted(c, u->o, t->lab.target)),
                         .end = u->races.begin + tunable(c, tune_choice_share) * (u->races.end - u->races.begin),
                         .threads = threads,
                         .other = threads > 1 ? 1 : t->lab.jobs > 1 ? 2 : 0 };
  const int code = graph_choices(c, &ask, &u->choices);
  if (code && code != EX_FAILED) fail_silent(c, code); /* a variant that cannot be built or run is none */
  u->chosen = (Lock){ .chosen = u->choices.chosen, .nchosen = u->choices.n };
}

/* The plan with the decisions that were chosen */
static const Plan *plan_chosen(Ctx *c, Tuning *u) {
  const char *path = arena_printf(&c->model, "%s/chosen.tgc-lock", u->t.lab.scratch);
  Lock l = u->chosen;
  lock_write(c, &l, path);
  return plan_quietly(c, &u->races, path, NULL);
}

static void find_goals(Ctx *c, Tuning *u, bool whole) {
  Tuner *t = &u->t;
  if (whole) choose_decisions(c, u);
  if (u->choices.plan) u->plan = u->choices.plan;
  else if (u->chosen.nchosen) u->plan = plan_chosen(c, u);
  t->lab.ir = u->plan->ir;
  t->lab.target = u->plan->in->target;
  tune_goals(t, u->plan);
  if (u->o->verbose && t->stateful) print_states(t);
}

/* Estimates the first build of the whole model and its runs. The compiler's time grows with the statements, and with the load of
 * the machine: the plan tells how much of a CPU it has got. */
static double whole_seconds(Ctx *c, const Tuning *u) {
  size_t statements = 0;
  for (size_t k = 0; k < u->plan->kernels.n; k++)
    if (u->plan->kernels.p[k].code == (int)k) statements += u->plan->kernels.p[k].prog.n;
  const double slower = fmax(1, u->races.plan / fmax(u->planned, 1e-3));
  const double s = 2 * u->races.plan + slower * tunable(c, tune_build_statement) * (double)statements;
  races_note(&u->races, "the plan took %.2f s; a build of %zu statements may take %.1f s", u->races.plan, statements, s);
  return s;
}

static void survey(Ctx *c, Tuning *u) {
  u->validation = validate_open(c, &u->races, &u->t, &u->choices, &u->model);
  const int code = validate_survey(c, u->validation);
  if (code && code != EX_FAILED) fail_silent(c, code); /* if the model cannot be built, no candidate can */
}

/* Sets the end of the search, so that there is time to test its schedules in the whole model. False: there is too little time for
 * both. */
static bool leave_time(Ctx *c, Tuning *u) {
  const double all = (u->races.end - u->races.begin) * 1e-3, left = races_left(&u->races);
  const double least = validate_seconds(u->validation, true), full = validate_seconds(u->validation, false);
  const double wanted = fmax(least, fmin(full, left - tunable(c, tune_search_share) * all)) + u->t.lab.grace;
  if (left - wanted < tunable(c, tune_least_share) * all) return false;
  races_note(&u->races, "the test of schedules in the model will take %.1f s", wanted);
  u->t.lab.deadline = tune_clock() + left - wanted;
  return true;
}

static void search(Tuning *u) {
  const double start = tune_clock(), work = tune_work();
  tune_run(&u->t);
  u->searched += tune_clock() - start;
  u->worked += tune_work() - work;
}

/* At the end, the lock file needs a plan. */
static void search_to_end(Tuning *u) {
  u->t.lab.deadline = u->races.end * 1e-3 - u->races.plan - u->t.lab.grace;
  search(u);
}

static bool over(const Tuning *u) {
  const Tuner *t = &u->t;
  bool open = false;
  for (size_t i = 0; i < t->goals.n; i++) open |= !t->goals.p[i].done;
  return !open || u->signal || t->lab.gone || (t->trials && t->tried >= t->trials);
}

/* Searches, and tests the schedules in the whole model, as often as there is time. If no schedule needs a test, its time is for a
 * further search. Returns an exit code. */
static int search_and_test(Ctx *c, Tuning *u) {
  const Validation *s = u->validation;
  int code = 0;
  for (bool again = false; !code; again = true) {
    if (!leave_time(c, u)) {
      u->untested = true;
      search_to_end(u);
      break;
    }
    search(u);
    if (!over(u) && !validate_needed(s)) {
      u->t.lab.deadline = u->races.end * 1e-3 - validate_seconds(s, true);
      search(u);
    }
    if (u->signal || u->t.lab.gone) break;
    if (!again) tune_write_lock(u, false); /* in case that the test is ended */
    code = validate_model(c, u->validation);
    if (over(u)) break;
  }
  return code;
}

/* A schedule that wins alone may lose in the model, so what could not be tested there is not used. */
static void drop_untested(Ctx *c, Tuning *u) {
  int dropped = 0;
  for (size_t i = 0; i < u->t.goals.n; i++) {
    Goal *g = &u->t.goals.p[i];
    dropped += strcmp(g->best, g->proven) != 0;
    goal_validated(&u->t, g, g->proven);
  }
  if (dropped)
    warn_at(c, (Pos){ 0 },
            "%d %s not used, because --time is too short for tests in the whole model; measured times are kept", dropped,
            dropped == 1 ? "schedule is" : "schedules are");
}

/* Runs of the whole model end by themselves at a signal. Their exit code names it. */
static int take_interrupt(Tuning *u, int code) {
  if (code <= EX_SIGNAL) return code;
  if (!u->signal) signals_restore(&u->signals);
  u->signal = code - EX_SIGNAL;
  return 0;
}

static void run(Ctx *c, void *arg) {
  Tuning *u = arg;
  Tuner *t = &u->t;
  const char *log = u->o->tune_log;
  const double seconds = t->lab.deadline - u->start;
  const bool wanted = seconds > 0 && !u->o->no_validate;
  const bool whole = wanted && whole_seconds(c, u) < MOST_BUILD * races_left(&u->races);
  u->untested = wanted && !whole;
  u->races.seconds = fmin(tunable(c, validate_seconds), seconds * tunable(c, validate_share));
  t->lab.grace = fmin(tunable(c, tune_last_race), tunable(c, tune_last_share) * seconds);
  find_goals(c, u, whole);
  if (whole) survey(c, u);
  int code = 0;
  if (whole) u->races.end -= fmin(final_seconds(c, &u->races), FINAL_MOST * seconds) * 1e3;
  if (whole) code = take_interrupt(u, search_and_test(c, u));
  else search_to_end(u);
  if (u->shown) progress_show(u->o, NULL, -1, 0);
  c->file = NULL;
  if (log) write_log(c, t->store, log);
  if (u->untested) drop_untested(c, u);
  u->races.end = u->end;
  if (whole && !code && !u->signal && !t->lab.gone) code = take_interrupt(u, tune_check(c, u));
  if (u->model.kept && !u->signal) tune_store_validated(c, u);
  const char *lock = tune_write_lock(u, !u->signal);
  c->file = NULL;
  tune_report(u, lock);
  if (code) fail(c, code, "the schedules could not be tested in the whole model");
  if (t->lab.gone) fail(c, EX_MISSING, "the search has ended early: %s; measurements so far are kept", t->lab.gone);
  if (u->signal) fail(c, EX_SIGNAL + u->signal, "interrupted; measurements so far are kept");
}

/* ---- jobs ---- */

/* The command that reads a job's log: this one with other words for what it does. */
static const char *import_command(Ctx *c, const Options *o) {
  static const char *const ours[] = { "--job", "--import", "--time", "--trials", "--json" };
  Sb s = { 0 };
  bool skip = false, plain = true;
  sb_puts(&s, "tgc");
  for (char *const *at = o->words + 1; *at; at++) {
    bool other = !skip;
    skip = false;
    for (size_t i = 0; i < sizeof ours / sizeof *ours; i++) {
      const size_t n = strlen(ours[i]);
      if (strncmp(*at, ours[i], n) || ((*at)[n] && (*at)[n] != '=')) continue;
      other = false;
      skip = !(*at)[n] && i < 4;
    }
    if (!other) continue;
    sb_printf(&s, " %s", *at);
    plain = plain && !(*at)[strspn(*at, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_./=+-:,@")];
  }
  sb_puts(&s, " --import=log");
  const char *text = sb_keep(&s, &c->model);
  return plain ? text : "tgc tune MODEL --import=log, with the other options that --job had";
}

static void run_job(Ctx *c, void *arg) {
  Tuning *u = arg;
  Tuner *t = &u->t;
  const Options *o = u->o;
  Imported imported = { 0 };
  JobSize size = { 0 };
  const char *lock = NULL;
  c->file = NULL;
  if (o->import) {
    imported = job_import(c, t->store, u->plan, o->import);
    if (!imported.place.text) fail(c, EX_BADMODEL, "'%s' has no line that can be used for this model", o->import);
    t->place = imported.place;
  }
  tune_goals(t, u->plan);
  if (o->import) {
    tune_imported(t);
    lock = tune_write_lock(u, true);
    c->file = NULL;
  }
  if (o->job)
    size = job_write(t, &(JobOptions){ .dir = o->job, .command = import_command(c, o) });
  if (u->signal) fail(c, EX_SIGNAL + u->signal, "interrupted; there is no job");
  tune_report_job(c, u, &imported, &size, lock);
}

/* A backend that compiles in this process, if the bundle's backend does not. */
static const Backend *find_screen(Ctx *c, const Plan *p) {
  for (int i = 0; backends[i] && p->in->backend->is_c; i++)
    if (backends[i]->load && *p->in->target->triple && backends[i]->version(c)) return backends[i];
  return NULL;
}

/* A device must have what the model needs: else none of its candidates would run, and the store would say so for good. */
static Place find_place(Ctx *c, const Options *o, const Plan *p) {
  Place place;
  const char *why;
  if (!p->in->backend->driver) return place_here(c, p->in->backend, NULL);
  const int code = device_for_plan(c, p, o->archs, o->device, &place, &why);
  c->file = NULL;
  if (code) fail(c, code, "the device cannot run the model: %s", why);
  return place;
}

static void refuse_range(Ctx *c, const Options *o, const Backend *b) {
  const char *range = first_range(o);
  if (range && (o->job || o->import))
    fail(c, EX_USAGE_, "--dim %s: a job tunes kernels for one size; give one number", range);
  if (range && b->driver)
    fail(c, EX_USAGE_, "--dim %s: tune serves a range on CPUs only; for --backend=%s give one number", range, b->name);
}

int verb_tune(Ctx *c, const Options *o) {
  double seconds = o->time ? duration(o->time) : SECONDS;
  cpu_set_t cpus;
  Options plain = *o;
  Tuning u = { .o = o, .plain = &plain, .start = tune_clock() };
  Tuner *t = &u.t;
  const bool job = o->job || o->import;
  Linking tools = { .o = o };
  if (!job) machine_prepare(c, o);
  const Target *target = target_of(c, o);
  if (!job) native_only(c, target);
  else if (target_is_bare(target))
    fail(c, EX_USAGE_, "--isa '%s' has no operating system that could run a job", o->isa);
  plain.schedule = "none";
  plain.no_store = true;
  const double begin = clock_ms(), work = tune_work();
  Graph *g = load_graph(c, o, NULL);
  const Plan *p = plan_of(&plain, g, target, NULL);
  u.planned = tune_work() - work;
  u.races = (Races){
    .o = &plain, .target = target, .begin = u.start * 1e3, .end = (u.start + seconds) * 1e3, .plan = (clock_ms() - begin) * 1e-3
  };
  u.end = u.races.end;
  t->beam = o->beam ? (int)o->beam : BEAM;
  t->trials = job ? 0 : o->trials;
  refuse_range(c, o, p->in->backend);
  if (!job) t->place = find_place(c, o, p);
  u.plan = p;
  t->store = store_open(c, store_path(c, o->tune_db), true);
  if (o->tune_log && !access(o->tune_log, F_OK)) store_import(t->store, c, o->tune_log);
  t->progress = progress;
  t->acknowledged = acknowledged;
  t->wrong = wrong;
  t->progress_arg = &u;
  t->lab = (Lab){ .ctx = c,
                  .ir = p->ir,
                  .target = p->in->target,
                  .backend = p->in->backend,
                  .keep = job                      ? 1 + (o->trials ? (int)o->trials : JOB_KEEP)
                          : p->in->backend->driver ? DEVICE_KEEP
                                                   : KEEP,
                  .room = tunable(c, tune_batch_statements),
                  .device = o->device,
                  .keep_denormals = keeps_denormals(o),
                  .archs = o->archs,
                  .compiler = { compile_text, &tools },
                  .limit = CANDIDATE_SECONDS,
                  .cc_limit = o->cc_limit ? duration(o->cc_limit) : CC_SECONDS,
                  .deadline = u.start + seconds };
  if (!job && (t->lab.screen = find_screen(c, p))) t->screened = place_here(c, t->lab.screen, NULL);
  /* all candidates of a round are one program of a driver */
  t->lab.jobs = t->lab.backend->driver || sched_getaffinity(0, sizeof cpus, &cpus) ? 1 : CPU_COUNT(&cpus);
  u.races.jobs = t->lab.jobs;
  t->lab.runs = tuned_runs(c, p->ir);
  u.races.runs = &t->lab.runs;
  t->lab.interrupted = interrupted;
  t->lab.interrupted_arg = &u;
  t->stateful = !job && !t->lab.backend->driver;
  u.races.scratch = tools.scratch = t->lab.scratch = scratch_new(c);
  u.signals = signals_hold();
  int code = ctx_try(c, job ? run_job : run, &u);
  if (u.validation) validate_close(u.validation);
  side_close(&u.choices.side);
  sides_close(&u.races);
  scratch_remove(t->lab.scratch);
  signals_restore(&u.signals);
  store_close(t->store);
  tuner_free(t);
  return code;
}

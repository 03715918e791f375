/* SPDX-License-Identifier: MIT */
/* tune.c: tgc tune: searches schedules for the kernels of a model on this machine's CPU or one of its devices. Results go to
 * the store, and to a lock file beside the model. */
#include "../lib/graph_choices.h"
#include <math.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SECONDS = 60, BEAM = 4, KEEP = 64, DEVICE_KEEP = 24, JOB_KEEP = 16 };
#define CC_SECONDS        10.0
#define CANDIDATE_SECONDS 5.0 /* one run of a candidate whose best time is not known yet */

typedef struct Tuning {
  Tuner t;
  const Options *o, *plain; /* plain: for plans without schedules and decisions of the store or of a lock file */
  const Plan *plan;        /* with the heuristic's schedules */
  double start;
  double searched, worked; /* seconds of the search; CPU seconds of all its processes */
  int signal; /* the signal that asked to stop; 0: none */
  sigset_t signals; /* signal mask without tune, which handles the first signal itself */
  bool shown;
  GraphChoices choices;    /* decisions of passes */
  Lock chosen;             /* for lock files: the decisions */
  Validation *validation; /* NULL: not requested */
  Validated model;
} Tuning;

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
          "a bug in %s, please report it: schedule '%s' of nest %.16s %s; see it with `tgc verify %s%s%s --isa=%s --schedule=%s`",
          b->driver ? "tgc or in the device's driver" : "tgc", opts, g->key, why, u->o->model, b->driver ? " --backend=" : "",
          b->driver ? b->name : "", u->t.lab.target->isa, path);
}

/* ---- results ---- */
static void print_goals(Ctx *c, const Tuning *u) {
  const Tuner *t = &u->t;
  double total = tune_total(t, false);
  Table table = { c, u->o, "<>>>><", .headed = true };
  for (size_t i = 0; i < t->goals.n; i++) {
    const Goal *g = &t->goals.p[i];
    if (!g->measured || (g->count * g->best_us < 0.01 * total && !u->o->verbose)) continue;
    if (!table.cells.n) table_row(&table, "nest", "uses", "share", "time", "before", "schedule");
    table_row(&table, arena_printf(&c->model, "%.16s", g->key), arena_printf(&c->model, "%d", g->count),
              arena_printf(&c->model, "%.1f %%", 100 * g->count * g->best_us / total), time_text(c, g->best_us / 1e3),
              time_text(c, g->base_us / 1e3), arena_printf(&c->model, "%s%s", g->best, g->done ? "" : " ..."));
  }
  table_print(&table);
}

static json_t *goals_json(const Tuner *t) {
  json_t *j = json_array();
  for (size_t i = 0; i < t->goals.n; i++) {
    const Goal *g = &t->goals.p[i];
    json_array_append_new(j, json_pack("{s:s, s:i, s:s, s:f, s:s, s:f, s:b, s:b}", "key", g->key, "count", g->count, "base_opts",
                                       g->base, "base_us", g->base_us, "opts", g->best, "us", g->best_us, "measured", g->measured,
                                       "done", g->done));
  }
  return j;
}

static void print_rate(const Tuning *u) {
  static const char *const names[SPENT_KINDS] = { "lowering", "compiling", "timing", "checking" };
  const Tuner *t = &u->t;
  double rest = u->worked;
  Sb s = { 0 };
  if (!t->tried || u->worked <= 0 || u->searched <= 0) return;
  sb_printf(&s, "%.0f candidates a second, %.0f a CPU second:", (double)t->tried / u->searched, (double)t->tried / u->worked);
  for (int i = 0; i < SPENT_KINDS; i++) {
    sb_printf(&s, " %s %.0f %%,", names[i], 100 * t->lab.spent[i] / u->worked);
    rest -= t->lab.spent[i];
  }
  sb_printf(&s, " the rest %.0f %%", 100 * fmax(rest, 0) / u->worked);
  if (t->lab.screen)
    sb_printf(&s, "; %s timed all of them, %s the best %lld", t->lab.screen->name, t->lab.backend->name,
              (long long)(t->tried - t->left_out));
  print_words(s.p, 2, -1, terminal_width(stdout));
  sb_free(&s);
}

static void print_check(Ctx *c, const Tuning *u, const ValidatedAt *x) {
  if (u->t.lab.backend->driver) printf("the model on the device");
  else printf("the model, %d thread%s", x->threads, x->threads > 1 ? "s" : "");
  printf(": tuned %s, untuned %s", time_text(c, x->tuned), time_text(c, x->untuned));
}

static void print_sum(Ctx *c, const Tuner *t) {
  printf("sum of kernels: %s, was %s\n", time_text(c, tune_total(t, false) / 1e3), time_text(c, tune_total(t, true) / 1e3));
}

static void print_choices(Ctx *c, const Tuning *u) {
  const GraphChoices *g = &u->choices;
  printf("%s of passes tried in %s of the model: changed %d", count_noun(&c->model, g->tried, "decision"),
         count_noun(&c->model, g->sides, "variant"), g->kept);
  if (g->kept) printf("; the model %s, was %s", time_text(c, g->with), time_text(c, g->without));
  putchar('\n');
}

static void report(Tuning *u, const char *lock) {
  const Tuner *t = &u->t;
  Ctx *c = t->lab.ctx;
  const Validated *m = &u->model;
  int open = 0;
  double seconds = tune_clock() - u->start;
  for (size_t i = 0; i < t->goals.n; i++) open += !t->goals.p[i].done;
  if (u->o->json) {
    json_t *j = json_report("tune", u->o->model);
    json_object_update_new(j, json_pack("{s:s, s:s, s:f, s:f, s:I, s:I, s:f, s:f, s:b, s:o}", "isa", t->lab.target->isa, "place",
                                        t->place.text, "seconds", seconds, "busy_seconds", u->worked, "candidates",
                                        (json_int_t)t->tried, "failed", (json_int_t)t->failed, "base_us", tune_total(t, true),
                                        "us", tune_total(t, false), "partial", open > 0, "nests", goals_json(t)));
    if (u->choices.sides)
      json_object_set_new(j, "decisions", json_pack("{s:i, s:i, s:i}", "variants", u->choices.sides, "tried", u->choices.tried,
                                                    "changed", u->choices.kept));
    if (m->done)
      json_object_set_new(j, "model_check",
                          json_pack("{s:i, s:f, s:f, s:i, s:i}", "threads", m->at.threads, "untuned_ms", m->at.untuned,
                                    "tuned_ms", m->at.tuned, "kept", m->kept, "found", m->found));
    if (m->other.threads)
      json_object_set_new(
          j, "other_check",
          json_pack("{s:i, s:f, s:f}", "threads", m->other.threads, "untuned_ms", m->other.untuned, "tuned_ms", m->other.tuned));
    json_print(j);
    return;
  }
  print_goals(c, u);
  printf("%s, %d still open; %s in %.1f s, of which %lld failed\n", count_noun(&c->model, (int64_t)t->goals.n, "nest"), open,
         count_noun(&c->model, t->tried, "candidate"), seconds, (long long)t->failed);
  print_rate(u);
  if (u->choices.sides) print_choices(c, u);
  print_sum(c, t);
  if (m->done) {
    print_check(c, u, &m->at);
    printf("; kept %d of %s\n", m->kept, count_noun(&c->model, m->found, "schedule"));
  }
  if (m->other.threads) print_check(c, u, &m->other), putchar('\n');
  if (lock) printf("schedules: %s\n", lock);
}

/* Adds the model's other schedules and all decisions to the lock file. */
static void complete_lock(Ctx *c, const Options *given, const char *path) {
  Options o = *given;
  o.schedule = o.lock = path;
  o.no_store = o.quiet = true;
  const bool quiet = c->quiet;
  c->quiet = true; /* a decision may leave nothing to decide for another one */
  plan_of(&o, load_graph(c, &o, NULL), target_of(c, &o), NULL);
  c->quiet = quiet;
  c->file = NULL;
}

/* Writes the best schedule of every measured nest. If the model's folder is not writable, schedules are in the store only. If
 * the search was interrupted, the lock file has only these; else it is completed. */
static const char *write_lock(Tuning *u, bool complete) {
  const Tuner *t = &u->t;
  Ctx *c = t->lab.ctx;
  Lock l = u->chosen;
  l.path = u->o->out ? u->o->out : arena_printf(&c->model, "%s.tgc-lock", u->o->model);
  const char *slash = strrchr(l.path, '/'), *folder = slash ? arena_str(&c->model, l.path, (size_t)(slash - l.path + 1)) : ".";
  if (u->o->out && !strcmp(u->o->out, "none")) return NULL;
  for (size_t i = 0; i < t->goals.n; i++) {
    const Goal *g = &t->goals.p[i];
    if (!g->measured && !strcmp(g->best, g->base)) continue;
    LockLine x = { .opts = g->best, .micros = g->best_us, .partial = !g->done, .note = t->place.text };
    memcpy(x.key, g->key, sizeof x.key);
    VEC_PUSH(&l.lines, x);
  }
  bool skip = (!l.lines.n && !l.nchosen) || (!u->o->out && access(folder, W_OK));
  if (skip && l.lines.n)
    warn_at(c, (Pos){ 0 }, "'%s' cannot be written; the schedules are in the store only (-o names another file)", l.path);
  if (!skip) lock_write(c, &l, l.path);
  VEC_FREE(&l.lines);
  if (!skip && complete) complete_lock(c, u->o, l.path);
  return skip ? NULL : l.path;
}

static void write_log(Ctx *c, Store *s, const char *path) {
  Sb text = { 0 };
  store_export(s, &text);
  const size_t n = text.n;
  file_replace(c, path, sb_keep(&text, &c->model), n);
}

/* Decisions of passes change the nests, so they come before the search. */
static void choose_decisions(Ctx *c, Tuning *u) {
  const Tuner *t = &u->t;
  const double seconds = t->lab.deadline - u->start;
  if (!t->stateful || !t->lab.backend->is_c || u->o->no_validate || seconds <= 0) return; /* only C has hooks */
  const int threads = u->o->threads ? (int)u->o->threads : 1;
  const GraphAsk ask = { .o = u->plain,
                         .scratch = t->lab.scratch,
                         .store = t->store,
                         .place = place_for(c, &t->place, decisions_wanted(c, u->o, t->lab.target)),
                         .seconds = seconds * tunable(c, tune_choice_share),
                         .run_seconds = fmin(tunable(c, validate_seconds), seconds * tunable(c, validate_share)),
                         .threads = threads,
                         .other = threads > 1 ? 1 : t->lab.jobs > 1 ? 2 : 0 };
  const int code = graph_choices(c, &ask, &u->choices);
  if (code && code != EX_FAILED) fail_silent(c, code); /* a variant that cannot be built or run is none */
  u->chosen = (Lock){ .chosen = u->choices.chosen, .nchosen = u->choices.n };
}

/* The plan with the decisions that were chosen */
static const Plan *plan_chosen(Ctx *c, const Tuning *u) {
  Options plain = *u->plain;
  const char *path = arena_printf(&c->model, "%s/chosen.tgc-lock", u->t.lab.scratch);
  const bool quiet = c->quiet;
  Lock l = u->chosen;
  lock_write(c, &l, path);
  plain.schedule = path;
  c->quiet = true;
  const Plan *p = plan_of(&plain, load_graph(c, &plain, NULL), target_of(c, &plain), NULL);
  c->quiet = quiet;
  return p;
}

static void find_goals(Ctx *c, Tuning *u) {
  Tuner *t = &u->t;
  choose_decisions(c, u);
  if (u->chosen.nchosen) {
    u->plan = plan_chosen(c, u);
    t->lab.ir = u->plan->ir;
    t->lab.target = u->plan->in->target;
  }
  tune_goals(t, u->plan);
  if (u->o->verbose && t->stateful) print_states(t);
}

static void run(Ctx *c, void *arg) {
  Tuning *u = arg;
  Tuner *t = &u->t;
  const char *log = u->o->tune_log;
  const double seconds = t->lab.deadline - u->start;
  find_goals(c, u);
  if (seconds > 0 && !u->o->no_validate)
    u->validation = validate_open(c, u->o, t, t->lab.scratch, seconds, &u->choices, &u->model);
  const int surveyed = u->validation ? validate_survey(c, u->validation) : 0;
  if (surveyed && surveyed != EX_FAILED) fail_silent(c, surveyed); /* if the model cannot be built, no candidate can */
  if (u->validation) /* the runs of the whole model are part of the time */
    t->lab.deadline = fmax(t->lab.deadline - validate_seconds(u->validation),
                           tune_clock() + tunable(c, tune_search_share) * seconds);
  u->searched = -tune_clock();
  u->worked = -tune_work();
  tune_run(t);
  u->searched += tune_clock();
  u->worked += tune_work();
  if (u->shown) progress_show(u->o, NULL, -1, 0);
  c->file = NULL;
  if (log) write_log(c, t->store, log);
  const bool whole = !u->signal && !t->lab.gone;
  const char *lock = write_lock(u, !u->signal && (t->lab.gone || !u->validation));
  int code = 0;
  if (whole && u->validation && !(code = validate_model(c, u->validation))) lock = write_lock(u, true);
  c->file = NULL;
  report(u, lock);
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

static void report_job(Ctx *c, const Tuning *u, const Imported *m, const JobSize *size, const char *lock) {
  const Tuner *t = &u->t;
  const Options *o = u->o;
  if (o->json) {
    json_t *j = json_report("tune", o->model);
    json_object_set_new(j, "isa", json_string(t->lab.target->isa));
    if (o->import)
      json_object_update_new(j, json_pack("{s:s, s:I, s:I, s:I, s:f, s:f, s:o}", "place", t->place.text, "candidates",
                                          (json_int_t)m->trials, "failed", (json_int_t)m->failed, "left_out",
                                          (json_int_t)m->wrong, "base_us", tune_total(t, true), "us", tune_total(t, false), "nests",
                                          goals_json(t)));
    if (o->job)
      json_object_set_new(j, "job", json_pack("{s:s, s:i, s:i}", "folder", o->job, "nests", size->nests, "no_time", size->left));
    json_print(j);
    return;
  }
  if (o->import) {
    print_goals(c, u);
    printf("%s: %s measured, %lld failed, %s left out\n", o->import, count_noun(&c->model, m->trials, "candidate"),
           (long long)m->failed, count_noun(&c->model, m->wrong, "line"));
    printf("place: %s\n", t->place.text);
    print_sum(c, t);
    if (lock) printf("schedules: %s\n", lock);
  }
  if (o->job && !size->nests) printf("nothing %s to try, so there is no job\n", size->left ? "was found in time" : "is left");
  else if (o->job)
    printf("job: %s, candidates for %s; build and run it on the other machine: make -C %s run\n", o->job,
           count_noun(&c->model, size->nests, "nest"), o->job);
  if (o->job && size->left)
    printf("there was no time for %s (--time allows more)\n", count_noun(&c->model, size->left, "nest"));
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
    lock = write_lock(u, true);
    c->file = NULL;
  }
  if (o->job)
    size = job_write(t, &(JobOptions){ .dir = o->job, .command = import_command(c, o) });
  if (u->signal) fail(c, EX_SIGNAL + u->signal, "interrupted; there is no job");
  report_job(c, u, &imported, &size, lock);
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
  if (range_of_dims(o, &(int64_t){ 0 }, &(int64_t){ 0 }))
    fail(c, EX_USAGE_, "--dim %s: tune measures kernels for one size; its schedules do not serve a range",
         range_of_dims(o, &(int64_t){ 0 }, &(int64_t){ 0 }));
  Graph *g = load_graph(c, o, NULL);
  plain.schedule = "none";
  plain.no_store = true;
  const Plan *p = plan_of(&plain, g, target, NULL);
  t->beam = o->beam ? (int)o->beam : BEAM;
  t->trials = job ? 0 : o->trials;
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
  t->lab.interrupted = interrupted;
  t->lab.interrupted_arg = &u;
  t->stateful = !job && !t->lab.backend->driver;
  tools.scratch = t->lab.scratch = scratch_new(c);
  u.signals = signals_hold();
  int code = ctx_try(c, job ? run_job : run, &u);
  if (u.validation) validate_close(u.validation);
  side_close(&u.choices.side);
  scratch_remove(t->lab.scratch);
  signals_restore(&u.signals);
  store_close(t->store);
  tuner_free(t);
  return code;
}

/* SPDX-License-Identifier: MIT */
/* batch.c: lowers, compiles and times many schedules of a nest.
 *
 * A batch is a child process that does steps when it is told to. It lowers its candidates, predicts the time of each from its
 * linear program, and makes code of the promising ones. One backend may load code into the process while the bundles'
 * backend cannot. Then the first one is the screen, which compiles many times faster. Its code is timed briefly, and one batch
 * has the compiler make the best of all batches.
 *
 * Batches make code side by side, and time it one after another, while the tuner has no other process running.
 *
 * needs: schedules of one nest    gives: times of schedules that compute what the empty one does, or why a schedule failed */
#include "batch.h"
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void tell_spent(Spent on, double since) { tell("spent %d %.6f", (int)on, tune_work() - since); }

/* ---- choosing ---- */
typedef struct Order { /* the work of a batch */
  int step;
  double known;             /* microseconds of the incumbent by the compiler's code; 0: unknown */
  int compile[SCREENED_KEEP]; /* places of candidates for the compiler, after the screen; 0: none */
  int number;               /* number of the nest in a job */
} Order;

typedef struct Price {
  double cycles;
  int at;
} Price;

static int by_cycles(const void *a, const void *b) {
  const Price *x = a, *y = b;
  return x->cycles != y->cycles ? (x->cycles < y->cycles ? -1 : 1) : x->at - y->at;
}

/* Schedules may come to the same: a range of one tile, a loop that is alone. */
static bool same_code(const Lab *lab, const Plan *p, int x, int y) {
  Sb text[2] = { { 0 }, { 0 } };
  p->in->backend->kernel(p, x, lab->target, &text[0]);
  p->in->backend->kernel(p, y, lab->target, &text[1]);
  bool same = !strcmp(strchr(text[0].p, '('), strchr(text[1].p, '('));
  sb_free(&text[0]);
  sb_free(&text[1]);
  return same;
}

static double task_cycles(const Batch *b, const Kernel *k) {
  return program_cycles(b->lab, &k->prog, b->task->state, b->task->sized);
}

/* Lowers candidates, and drops those that are not among the cheapest, that became too long, or that equal another one. Long
 * candidates take as long to lower as to compile, so no more are lowered than the choice needs; the others stay open. */
static void choose(Batch *b) {
  const Lab *lab = b->lab;
  VEC(Price) price = { 0 };
  const Ready *ready = find_ready(b);
  Plan all;
  plan_begin(lab, lab->screen ? lab->screen : lab->backend, &b->given, &all);
  const Tunables *u = tunables_of(lab->ctx);
  const bool driver = lab->backend->driver;
  const size_t room = driver ? (size_t)lab->room : (size_t)(lab->screen ? u->tune_screen_statements : u->tune_batch_statements);
  size_t statements = 0;
  for (size_t i = 0; i < b->which.n && (driver || i < 2 || (double)statements < u->tune_lowered * (double)room); i++) {
    tell("at %d", b->which.p[i]);
    if (!i && ready) VEC_PUSH(&all.kernels, ready->kernel);
    else plan_add(&all, b->task->nest, b->task->cand.p[b->which.p[i]].opts);
    const Kernel *k = &all.kernels.p[i];
    double n = (double)k->prog.n,
           cycles = n > u->tune_statements ? INFINITY : task_cycles(b, k) * (1 + n / u->tune_long);
    if (i) statements += k->prog.n;
    VEC_PUSH(&price, ((Price){ i ? cycles : 0, (int)i })); /* the incumbent stays */
  }
  VEC_SORT(&price, by_cycles);
  b->plan = all;
  b->plan.kernels.p = NULL;
  b->plan.kernels.n = b->plan.kernels.cap = 0;
  statements = 0;
  for (size_t i = 0; i < price.n; i++) {
    size_t own = all.kernels.p[price.p[i].at].prog.n;
    if (driver && i > 1 && !isinf(price.p[i].cycles) && statements + own > room) continue; /* a later round may have it */
    if ((int)b->plan.kernels.n >= lab->keep || isinf(price.p[i].cycles) || (i > 1 && statements + own > room) ||
        (i && price.p[i].cycles == price.p[i - 1].cycles && same_code(lab, &all, price.p[i].at, price.p[i - 1].at))) {
      tell("drop %d", b->which.p[price.p[i].at]);
      continue;
    }
    statements += own;
    Kernel k = all.kernels.p[price.p[i].at];
    k.code = (int)b->plan.kernels.n;
    VEC_PUSH(&b->plan.kernels, k);
    VEC_PUSH(&b->kept, price.p[i].at);
  }
  if (driver) tell("raced %zu", statements);
}

static void take_for_compiler(Batch *b, int place) {
  tell("at %d", place);
  plan_add(&b->plan, b->task->nest, b->task->cand.p[place].opts);
  b->plan.kernels.p[b->plan.kernels.n - 1].code = (int)b->plan.kernels.n - 1;
  VEC_PUSH(&b->kept, (int)b->which.n);
  VEC_PUSH(&b->which, place);
}

/* Takes the incumbent and the best of all batches' screens, which may be from another batch. */
static void take_screened(Batch *b, const Order *o) {
  b->which.n = b->kept.n = 0;
  plan_begin(b->lab, b->lab->backend, &b->given, &b->plan);
  take_for_compiler(b, 0);
  for (int i = 0; i < SCREENED_KEEP; i++)
    if (o->compile[i]) take_for_compiler(b, o->compile[i]);
}

static double mean_us(const Batch *b, int kernel) { return (b->time[kernel].warm + b->time[kernel].cold) / 2; }

/* The incumbent's time in this batch; INFINITY: it was not timed. */
static double incumbent_us(const Batch *b) {
  for (int i = 0; i < (int)b->plan.kernels.n; i++)
    if (!b->kept.p[i] && !b->bad[i]) return mean_us(b, i);
  return INFINITY;
}

/* ---- the steps of a batch ---- */
static void step_make(Batch *b, const Order *o) {
  double start = tune_work();
  if (b->kept.n) take_screened(b, o);
  else choose(b);
  tell("at -1");
  tell_spent(SPENT_LOWERING, start);
  start = tune_work();
  build_all(b);
  tell_spent(SPENT_COMPILING, start);
}

/* For ranges of sizes: the candidate takes much longer than the incumbent in one of the runs. */
static bool loses_at_size(const Batch *b, int kernel) {
  for (int i = 0; i < (int)b->plan.kernels.n && b->task->sized; i++)
    if (!b->kept.p[i] && !b->bad[i])
      return run_that_loses(&b->lab->runs, b->time[kernel].at, b->time[i].at, tunable(b->lab->ctx, tune_size_loss)) >= 0;
  return false;
}

/* By the screen: times as parts of the incumbent's in the same race, and what the compiler should see. */
static void tell_screened(const Batch *b, const Order *o) {
  const double raced = incumbent_us(b), incumbent = isfinite(raced) ? raced : o->known,
               worth = tunable(b->lab->ctx, tune_screened_gain) * fmax(incumbent, o->known);
  if (isfinite(raced)) tell("incumbent %.4f", raced);
  for (int i = 0; i < (int)b->plan.kernels.n && incumbent > 0; i++) {
    const Time *x = &b->time[i];
    if (b->bad[i] || !b->kept.p[i]) continue;
    tell("screened %d %.6f %.6f %.4f", place_in_task(b, i), x->warm / incumbent, x->cold / incumbent, x->spread);
    if (mean_us(b, i) < worth && !loses_at_size(b, i)) tell("worth %d %.6f", place_in_task(b, i), mean_us(b, i) / incumbent);
  }
}

/* The machine may be slower for a while, and the whole race with it. So times are scaled as if the incumbent had taken the time
 * of its first race. */
static void tell_times(const Batch *b, const Order *o) {
  const double incumbent = incumbent_us(b), scale = o->known > 0 && isfinite(incumbent) ? o->known / incumbent : 1;
  for (int i = 0; i < (int)b->plan.kernels.n; i++) {
    const Time *x = &b->time[i];
    if (!b->bad[i])
      tell("time %d %.4f %.4f %.4f %.4f %.4f %.4f", place_in_task(b, i), x->warm * scale, x->cold * scale, x->spread,
           x->at[0] * scale, x->at[1] * scale, x->at[2] * scale);
  }
}

static void step_time(Batch *b, const Order *o) {
  const double start = tune_work();
  const bool quick = b->plan.in->backend != b->lab->backend;
  race_all(b, quick);
  if (quick) tell_screened(b, o);
  else tell_times(b, o);
  tell_spent(SPENT_TIMING, start);
}

/* For a job: nothing to write where only the incumbent is left */
static void step_write(Batch *b, const Order *o) {
  choose(b);
  tell("at -1");
  if (b->plan.kernels.n > 1) job_put(b, o->number);
}

enum { STEP_MAKE, STEP_TIME, STEPS, STEP_WRITE = STEPS, ALL_STEPS }; /* STEP_WRITE takes the place of the others */
static const struct Step {
  void (*run)(Batch *b, const Order *o);
  bool alone; /* while no other batch does anything */
} steps[ALL_STEPS] = {
  [STEP_MAKE] = { step_make, false }, [STEP_TIME] = { step_time, true }, [STEP_WRITE] = { step_write, true }
};

static _Noreturn void batch_main(Batch *b) {
  for (Order o; read(0, &o, sizeof o) == sizeof o || errno == EINTR;) {
    steps[o.step].run(b, &o);
    tell("done");
  }
  exit(0);
}

/* ---- batches side by side, in the tuner ---- */
static void start_batch(Lab *lab, Batch *b) {
  Ctx *c = lab->ctx;
  b->lab = lab;
  b->stem = arena_printf(&c->model, "%s/b%d", lab->scratch, lab->batches++);
  if (child_begin(c, &b->child, arena_printf(&c->model, "%s.err", b->stem))) batch_main(b);
}

/* Reads a line about a candidate; *at is the current one. */
static void take_line(Lab *lab, Batch *b, Task *t, const char *line, int *at) {
  int i, used = 0;
  double warm, cold, wide, run[TIMED_RUNS] = { 0 };
  if (sscanf(line, "at %d", at) == 1 || take_built(b, line)) return;
  if (sscanf(line, "worth %d %lf", &i, &warm) == 2 && i > 0 && i < (int)t->cand.n) {
    Quick x = { i, warm };
    for (int k = 0; k < SCREENED_KEEP; k++)
      if (!t->quickest[k].place || x.relative < t->quickest[k].relative) {
        const Quick slower = t->quickest[k];
        t->quickest[k] = x;
        x = slower;
      }
  } else if (sscanf(line, "time %d %lf %lf %lf %lf %lf %lf", &i, &warm, &cold, &wide, &run[0], &run[1], &run[2]) >= 4 && i >= 0 &&
             i < (int)t->cand.n) {
    Candidate *x = &t->cand.p[i];
    if (x->outcome == OUT_MEASURED && x->warm + x->cold <= warm + cold) return; /* the incumbent, faster in another batch */
    *x = (Candidate){ .opts = x->opts, .outcome = OUT_MEASURED, .warm = warm, .cold = cold, .spread = wide };
    memcpy(x->at, run, sizeof run);
    if (!i && t->best <= 0) t->best = (warm + cold) / 2;
  } else if (sscanf(line, "screened %d %lf %lf %lf", &i, &warm, &cold, &wide) == 4 && i > 0 && i < (int)t->cand.n) {
    t->cand.p[i] = (Candidate){ .opts = t->cand.p[i].opts, .outcome = OUT_SCREENED, .warm = warm, .cold = cold, .spread = wide };
  } else if (sscanf(line, "short %d %n", &i, &used) == 1 && used && i >= 0 && i < (int)t->cand.n) {
    if (i) t->cand.p[i].outcome = OUT_DROPPED; /* for now: the store is told nothing */
    if (!lab->short_of_memory)
      warn_at(lab->ctx, (Pos){ 0 }, "the device has no memory for a schedule, which is left out: %s", line + used);
    lab->short_of_memory = true;
  } else if (starts_with(line, "gone ")) {
    lab->gone = arena_str(&lab->ctx->model, line + 5, strlen(line + 5));
  } else if (sscanf(line, "incumbent %lf", &warm) == 1) {
    if (t->screen_us <= 0) t->screen_us = warm;
  } else if (sscanf(line, "raced %d", &i) == 1) {
    lab->raced = i;
  } else if (sscanf(line, "spent %d %lf", &i, &warm) == 2 && i >= 0 && i < SPENT_KINDS) {
    lab->spent[i] += warm;
  } else if (sscanf(line, "drop %d", &i) == 1 && i > 0 && i < (int)t->cand.n) {
    t->cand.p[i].outcome = OUT_DROPPED;
  } else if (sscanf(line, "fail %d %n", &i, &used) == 1 && used && i >= 0 && i < (int)t->cand.n) {
    t->cand.p[i].outcome = OUT_FAILED;
    t->cand.p[i].why = arena_str(&lab->ctx->model, line + used, strlen(line + used));
  }
}

/* Lines until the batch has done its step; false when it is over, interrupted or out of time. */
static bool wait_done(Lab *lab, Batch *b, Task *t, double grace) {
  Sb line = { 0 };
  bool ended = false, done = false;
  int at = -1;
  while (!done && !ended && !lab->interrupted(lab->interrupted_arg) && tune_clock() < lab->deadline + grace) {
    if (!child_line(&b->child, 0.1, &line, &ended)) continue;
    done = !strcmp(line.p, "done");
    if (!done) take_line(lab, b, t, line.p, &at);
  }
  sb_free(&line);
  if (ended && at >= 0 && at < (int)t->cand.n) { /* lowering it ended the batch */
    t->cand.p[at].outcome = OUT_FAILED;
    t->cand.p[at].why = "tgc cannot lower it";
  }
  return done;
}

static bool begin_step(Batch *b, int step) {
  Order o = { .step = step, .known = b->task->best, .number = b->task->number };
  for (int k = 0; k < SCREENED_KEEP; k++) o.compile[k] = b->task->quickest[k].place;
  return write(b->child.to, &o, sizeof o) == sizeof o;
}

static void end_batch(Batch *b) {
  child_end(&b->child);
  VEC_FREE(&b->which);
}

/* Candidates of a task dealt to so many batches, the incumbent to each. */
static void deal(Task *t, Batch *b, int n) {
  for (int k = 0; k < n; k++) {
    b[k] = (Batch){ .task = t, .best = t->sized ? 0 : t->best * 1e-6 }; /* the mean of runs is no time of a step */
    VEC_PUSH(&b[k].which, 0);
  }
  for (int i = 1; i < (int)t->cand.n; i++) VEC_PUSH(&b[i % n].which, i);
}

/* All steps of those batches that are still good. */
static void run_steps(Lab *lab, Task *t, Batch *b, bool *good, int n) {
  for (int s = 0; s < STEPS; s++) {
    for (int k = 0; k < n && !steps[s].alone; k++) good[k] = good[k] && begin_step(&b[k], s);
    for (int k = 0; k < n; k++)
      good[k] = good[k] && (!steps[s].alone || begin_step(&b[k], s)) &&
                wait_done(lab, &b[k], t, steps[s].alone ? lab->grace : 0);
  }
}

/* Converts times of the screen to times of the compiler's code, if the incumbent's is known. */
static void scale_screened(Task *t) {
  const double incumbent = t->best > 0 ? t->best : t->screen_us;
  for (size_t i = 0; i < t->cand.n; i++) {
    Candidate *x = &t->cand.p[i];
    if (x->outcome != OUT_SCREENED) continue;
    x->warm *= incumbent;
    x->cold *= incumbent;
    if (incumbent <= 0) x->outcome = OUT_OPEN; /* without an incumbent the times say nothing */
  }
}

/* A driver may take seconds for a long kernel, and a round of many would leave no time for other nests. */
static void size_round(Lab *lab) {
  enum { ROUNDS_LEFT = 20, LEAST = 300, FIRST = 1500 }; /* statements */
  const double most = tunable(lab->ctx, tune_batch_statements), left = fmax(0, lab->deadline - tune_clock());
  const double room = lab->statement_seconds > 0 ? fmax(LEAST, left / ROUNDS_LEFT / lab->statement_seconds) : FIRST;
  lab->room = (int)fmin(room, most);
  lab->raced = 0;
}

static void note_round(Lab *lab, double begun) {
  if (lab->raced) lab->statement_seconds = (tune_clock() - begun) / lab->raced;
}

enum { MORE_NODES = 1 << 18 }; /* some ten for each statement of a batch */

bool lab_run(Lab *lab, Task *t) {
  const double begun = tune_clock();
  int n = lab->jobs, maker = 0; /* the batch that compiles what the screens of all found */
  read_headers(lab);
  ready_incumbent(lab, t);
  ir_reserve(lab->ir, MORE_NODES);
  if (lab->backend->driver) size_round(lab);
  if (n > (int)t->cand.n / 2) n = (int)t->cand.n / 2;
  if (n < 1) n = 1;
  Batch *b = ARENA_NEW(&lab->ctx->model, Batch, n);
  bool *good = ARENA_NEW(&lab->ctx->model, bool, n);
  deal(t, b, n);
  for (int k = 0; k < n; k++) start_batch(lab, &b[k]), good[k] = true;
  run_steps(lab, t, b, good, n);
  for (int k = 0; k < SCREENED_KEEP; k++) {
    Quick *x = &t->quickest[k];
    if (x->relative > tunable(lab->ctx, tune_second) * t->quickest[0].relative) x->place = 0;
    if (x->place) t->cand.p[x->place].outcome = OUT_OPEN; /* until the compiler's code is timed */
  }
  while (maker < n - 1 && !good[maker]) maker++;
  const bool unknown = t->best <= 0 && (t->insists || t->screen_us <= 0);
  if (lab->screen && (t->quickest[0].place || unknown)) run_steps(lab, t, &b[maker], &good[maker], 1);
  for (int k = 0; k < n; k++) end_batch(&b[k]);
  scale_screened(t);
  note_round(lab, begun);
  return !lab->gone && !lab->interrupted(lab->interrupted_arg) && tune_clock() < lab->deadline;
}

bool lab_write(Lab *lab, Task *t) {
  Batch b;
  deal(t, &b, 1);
  start_batch(lab, &b);
  const bool good = begin_step(&b, STEP_WRITE) && wait_done(lab, &b, t, tunable(lab->ctx, tune_verify));
  end_batch(&b);
  return good;
}

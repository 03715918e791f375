/* batch.c: many schedules of a nest, lowered, compiled and timed.
 *
 * A batch is a child process that goes through steps, each when it is told to. It lowers its candidates, prices each
 * by counting what the linear program does, and makes code of the promising ones. Where a backend can load code into
 * the process and the one that bundles are made by cannot, the first one is the screen: it compiles many times
 * faster, its code is timed briefly, and only the best of it goes through the compiler.
 *
 * Batches make code side by side, and time it one after another, while nothing else of ours runs. */
#include "batch.h"
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LONG 6000.0 /* statements that cost as much as running twice: they are to be fetched, and compiled */
enum { MAX_STATEMENTS = 4000, BATCH_STATEMENTS = 5000, SCREEN_STATEMENTS = 12000 }; /* of a candidate, of a batch */
#define SCREENED_WORTH 0.97 /* of the incumbent's time, by either's code: more is not worth the compiler */

/* ---- what a batch says to its parent: a line each; candidates by their place in the task ---- */
void tell(const char *fmt, ...) {
  char line[512];
  va_list ap;
  va_start(ap, fmt);
  int n = vsnprintf(line, sizeof line - 1, fmt, ap);
  va_end(ap);
  if (n > (int)sizeof line - 2) n = (int)sizeof line - 2;
  line[n] = '\n';
  if (write(1, line, (size_t)n + 1) < 0) _exit(1); /* whole: shorter than PIPE_BUF */
}

static void tell_spent(Spent on, double since) { tell("spent %d %.6f", (int)on, tune_work() - since); }

/* ---- choosing ---- */
typedef struct Order { /* what a batch is to do */
  int step;
  double known;            /* microseconds of the incumbent by the compiler's code; 0: not known */
  double cut;              /* of the incumbent's time by the screen's code: what takes longer is left out */
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
  p->backend->kernel(p, x, lab->target, &text[0]);
  p->backend->kernel(p, y, lab->target, &text[1]);
  bool same = !strcmp(strchr(text[0].p, '('), strchr(text[1].p, '('));
  sb_free(&text[0]);
  sb_free(&text[1]);
  return same;
}

/* Lowers all; what is not among the cheapest is dropped, and so is what became too long, or is there already. */
static void choose(Batch *b) {
  const Lab *lab = b->lab;
  VEC(Price) price = { 0 };
  Plan all;
  plan_begin(lab, lab->screen ? lab->screen : lab->backend, &b->given, &all);
  const size_t room = lab->screen ? SCREEN_STATEMENTS : BATCH_STATEMENTS;
  for (size_t i = 0; i < b->which.n; i++) {
    tell("at %d", b->which.p[i]);
    const Kernel *k = plan_add(&all, b->task->nest, b->task->cand.p[b->which.p[i]].opts);
    double n = (double)k->prog.n,
           cycles = n > MAX_STATEMENTS ? INFINITY : program_cycles(lab->ir, &k->prog, lab->target) * (1 + n / LONG);
    VEC_PUSH(&price, ((Price){ i ? cycles : 0, (int)i })); /* the incumbent stays */
  }
  qsort(price.p, price.n, sizeof *price.p, by_cycles);
  b->plan = all;
  b->plan.kernels.p = NULL;
  b->plan.kernels.n = b->plan.kernels.cap = 0;
  size_t statements = 0;
  for (size_t i = 0; i < price.n; i++) {
    size_t own = all.kernels.p[price.p[i].at].prog.n;
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
}

/* Of what the screen timed the best, for the compiler. Kernels are in the order of their price. */
static int by_time(const void *a, const void *b) {
  const Price *x = a, *y = b;
  return (x->cycles > y->cycles) - (x->cycles < y->cycles);
}

static double mean_us(const Batch *b, int kernel) { return (b->time[kernel].warm + b->time[kernel].cold) / 2; }

/* As it was timed in this batch; INFINITY: it was not. */
static double incumbent_us(const Batch *b) {
  for (int i = 0; i < (int)b->plan.kernels.n; i++)
    if (!b->kept.p[i] && !b->bad[i]) return mean_us(b, i);
  return INFINITY;
}

static void choose_screened(Batch *b, const Order *o) {
  const Lab *lab = b->lab;
  VEC(Price) price = { 0 };
  VEC(int) kept = { 0 };
  const double incumbent = incumbent_us(b), worth = SCREENED_WORTH * fmax(incumbent, o->known), cut = fmin(o->cut * incumbent, worth);
  for (int i = 0; i < (int)b->plan.kernels.n; i++)
    VEC_PUSH(&price, ((Price){ !b->kept.p[i] ? 0 : b->bad[i] ? INFINITY : mean_us(b, i), i }));
  if (price.n) qsort(price.p, price.n, sizeof *price.p, by_time);
  Plan next;
  plan_begin(lab, lab->backend, &b->given, &next);
  for (size_t i = 0; i < price.n; i++) {
    const int k = price.p[i].at, place = place_in_task(b, k);
    if (b->bad[k]) continue;
    if (b->kept.p[k] && price.p[i].cycles > cut) {
      tell("screened %d %.4f %.4f %.4f", place, b->time[k].warm, b->time[k].cold, b->time[k].spread);
      continue;
    }
    tell("at %d", place);
    plan_add(&next, b->task->nest, b->task->cand.p[place].opts);
    next.kernels.p[next.kernels.n - 1].code = (int)next.kernels.n - 1;
    VEC_PUSH(&kept, b->kept.p[k]);
  }
  if (kept.n == 1 && b->task->best > 0) next.kernels.n = kept.n = 0; /* the incumbent alone, which is known */
  b->plan = next;
  b->kept.n = 0;
  for (size_t i = 0; i < kept.n; i++) VEC_PUSH(&b->kept, kept.p[i]);
  VEC_FREE(&kept);
  VEC_FREE(&price);
}

/* ---- the steps of a batch ---- */
static void step_make(Batch *b, const Order *o) {
  double start = tune_work();
  if (b->kept.n) choose_screened(b, o);
  else choose(b);
  tell("at -1");
  tell_spent(SPENT_LOWERING, start);
  start = tune_work();
  build_all(b);
  tell_spent(SPENT_COMPILING, start);
}

/* The machine may be slower for a while, and all of a race with it: times are as if the incumbent had taken what it took
 * when it was first timed. */
static void step_time(Batch *b, const Order *o) {
  const double start = tune_work();
  const bool quick = b->plan.backend != b->lab->backend;
  race_all(b, quick);
  const double incumbent = incumbent_us(b), scale = o->known > 0 && isfinite(incumbent) ? o->known / incumbent : 1;
  for (int i = 0; i < (int)b->plan.kernels.n; i++) {
    if (b->bad[i]) continue;
    if (!quick) tell("time %d %.4f %.4f %.4f", place_in_task(b, i), b->time[i].warm * scale, b->time[i].cold * scale, b->time[i].spread);
    else if (b->kept.p[i]) tell("quick %.17g", mean_us(b, i) / incumbent);
  }
  tell_spent(SPENT_TIMING, start);
}

static const struct Step {
  void (*run)(Batch *b, const Order *o);
  bool alone; /* while no other batch does anything */
  bool screen; /* for and by the screen */
} steps[] = { { step_make, false, true }, { step_time, true, true }, { step_make, false, false }, { step_time, true, false } };
enum { STEPS = sizeof steps / sizeof *steps };

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

/* What a line says about a candidate; *at is the one in work. */
static void take_line(Lab *lab, Batch *b, Task *t, const char *line, int *at) {
  int i, used = 0;
  double warm, cold, wide;
  if (sscanf(line, "at %d", at) == 1 || take_built(b, line)) return;
  if (sscanf(line, "quick %lf", &warm) == 1) {
    for (int k = 0; k < SCREENED_KEEP; k++)
      if (warm < t->quickest[k]) {
        const double slower = t->quickest[k];
        t->quickest[k] = warm;
        warm = slower;
      }
  } else if (sscanf(line, "time %d %lf %lf %lf", &i, &warm, &cold, &wide) == 4 && i >= 0 && i < (int)t->cand.n) {
    Candidate *x = &t->cand.p[i];
    if (x->outcome == OUT_MEASURED && x->warm + x->cold <= warm + cold) return; /* the incumbent, in another batch */
    *x = (Candidate){ .opts = x->opts, .outcome = OUT_MEASURED, .warm = warm, .cold = cold, .spread = wide };
    if (!i && t->best <= 0) t->best = (warm + cold) / 2;
  } else if (sscanf(line, "screened %d %lf %lf %lf", &i, &warm, &cold, &wide) == 4 && i > 0 && i < (int)t->cand.n) {
    t->cand.p[i] = (Candidate){ .opts = t->cand.p[i].opts, .outcome = OUT_SCREENED, .warm = warm, .cold = cold, .spread = wide };
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
  const Order o = { step, b->task->best, b->task->quickest[SCREENED_KEEP - 1] };
  return write(b->child.to, &o, sizeof o) == sizeof o;
}

static void end_batch(Batch *b) {
  child_end(&b->child);
  VEC_FREE(&b->which);
}

/* Candidates of a task dealt to so many batches, the incumbent to each. */
static void deal(Task *t, Batch *b, int n) {
  for (int k = 0; k < n; k++) {
    b[k] = (Batch){ .task = t, .best = t->best * 1e-6 };
    VEC_PUSH(&b[k].which, 0);
  }
  for (int i = 1; i < (int)t->cand.n; i++) VEC_PUSH(&b[i % n].which, i);
}

bool lab_run(Lab *lab, Task *t) {
  enum { GRACE = 3 }; /* seconds a last race may take */
  int n = lab->jobs;
  read_headers(lab);
  if (n > (int)t->cand.n / 2) n = (int)t->cand.n / 2;
  if (n < 1) n = 1;
  Batch *b = ARENA_NEW(&lab->ctx->model, Batch, n);
  bool *good = ARENA_NEW(&lab->ctx->model, bool, n);
  for (int k = 0; k < SCREENED_KEEP; k++) t->quickest[k] = INFINITY;
  deal(t, b, n);
  for (int k = 0; k < n; k++) start_batch(lab, &b[k]), good[k] = true;
  for (int s = 0; s < STEPS; s++) {
    if (steps[s].screen && !lab->screen) continue;
    for (int k = 0; k < n && !steps[s].alone; k++) good[k] = good[k] && begin_step(&b[k], s);
    for (int k = 0; k < n; k++)
      good[k] = good[k] && (!steps[s].alone || begin_step(&b[k], s)) && wait_done(lab, &b[k], t, steps[s].alone ? GRACE : 0);
  }
  for (int k = 0; k < n; k++) end_batch(&b[k]);
  return !lab->interrupted(lab->interrupted_arg) && tune_clock() < lab->deadline;
}

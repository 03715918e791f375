/* SPDX-License-Identifier: MIT */
/* race.c: times candidates in a child of their batch, so that a candidate can end only that child. tune_race.h says how they take
 * turns. A sample in which the system took the CPU away is taken again.
 *
 * needs: functions of candidates, memory of their buffers    gives: their times, with data where a run of the model finds
 * them, or with warm and with cold caches */
#include "batch.h"
#include "../../runtime_stub/tune_race.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

/* buffers of a model do not all begin where a page does, which costs more than a schedule gains */
enum { PAGE = 4096, STAGGER = 11 * 64 };
_Static_assert(SAMPLES_MOST == RACE_ROUNDS + RACE_FINALS, "a race may take more samples than race_sizes.c keeps");

/* ---- memory of candidates ---- */

/* Candidates share regions: the k-th buffer of a type and size of one is the k-th of the others. */
typedef struct Region {
  DType dt;
  int64_t elems;
  int nth;
  void *p;
} Region;
typedef VEC(Region) Regions;

static void *region_of(Regions *all, const Buf *b, int nth) {
  for (size_t i = 0; i < all->n; i++)
    if (all->p[i].dt == b->dt && all->p[i].elems == b->elems && all->p[i].nth == nth) return all->p[i].p;
  char *p = (char *)memory(b->elems * dt_bytes(b->dt) + PAGE) + all->n * STAGGER % PAGE;
  fill(p, b->dt, b->elems, all->n + 1, false);
  VEC_PUSH(all, ((Region){ b->dt, b->elems, nth, p }));
  return p;
}

static void **memory_of(const Batch *b, int kernel, Regions *all) {
  const IR *ir = b->lab->ir;
  const Kernel *k = &b->plan.kernels.p[kernel];
  void **out = ARENA_NEW(&b->lab->ctx->model, void *, k->bufs.n + 1);
  for (size_t i = 0; i < k->bufs.n; i++) {
    const Buf *x = &ir->bufs.p[k->bufs.p[i]];
    int nth = 0;
    for (size_t j = 0; j < i; j++) nth += ir->bufs.p[k->bufs.p[j]].dt == x->dt && ir->bufs.p[k->bufs.p[j]].elems == x->elems;
    out[i] = region_of(all, x, nth);
  }
  return out;
}

/* ---- timing, in a child of the batch ---- */

/* Code in this process */
typedef struct Here {
  Batch *b;
  Regions all;
  void ***mem;             /* by kernel; NULL: it has not run */
  Placed **placed;         /* by kernel, and by timed run: levels of its buffers; NULL: there is no state, or all are in the first
                              level */
  int run;                 /* number of the run in Lab.runs; 0 without ranges of sizes */
  char *junk;
  int64_t bytes;           /* size of junk in bytes */
  double clock;            /* seconds that the clock takes */
} Here;

/* The least of some readings */
static double clock_cost(void) {
  double least = INFINITY;
  for (int i = 0; i < 20; i++) {
    const double start = tune_clock();
    least = fmin(least, tune_clock() - start);
  }
  return least;
}

static void *here_begin(Batch *b) {
  Here *h = ARENA_NEW(&b->lab->ctx->model, Here, 1);
  load_libraries(b);
  *h = (Here){ .b = b, .bytes = caches_other(b->lab->target), .clock = clock_cost() };
  h->mem = ARENA_NEW(&b->lab->ctx->model, void **, b->plan.kernels.n + 1);
  h->placed = ARENA_NEW(&b->lab->ctx->model, Placed *, (b->plan.kernels.n + 1) * TIMED_RUNS);
  h->junk = memory(h->bytes);
  return h;
}

static void here_set_run(void *self, int run) { ((Here *)self)->run = run; }

static Placed *placed_in(const Here *h, int kernel) { return h->placed[kernel * TIMED_RUNS + h->run]; }

static void place_memory(Here *h, int kernel) {
  const Batch *b = h->b;
  const Kernel *k = &b->plan.kernels.p[kernel];
  Placed *x = ARENA_NEW(&b->lab->ctx->model, Placed, k->bufs.n + 1);
  const int64_t *run = b->task->sized ? b->lab->runs.run[h->run].sizes : NULL;
  bool far = false;
  for (size_t i = 0; i < k->bufs.n && b->task->state; i++) {
    const Buf *buf = &b->lab->ir->bufs.p[k->bufs.p[i]];
    x[i] = (Placed){ .p = h->mem[kernel][i],
                     .bytes = buf->piece ? buf->piece : needed_elems(b->lab->ir, buf, run) * dt_bytes(buf->dt),
                     .level = cache_state_level(&b->task->state[h->run], b->lab->ir, k->bufs.p[i]),
                     .written = buf->kind != BUF_WEIGHT };
    far |= x[i].level > LEVEL_L1;
  }
  if (far) h->placed[kernel * TIMED_RUNS + h->run] = x;
}

static void make_memory(Here *h, int kernel) {
  const int runs = h->b->task->sized ? h->b->lab->runs.timed : 1, now = h->run;
  h->mem[kernel] = memory_of(h->b, kernel, &h->all);
  for (h->run = 0; h->run < runs; h->run++) place_memory(h, kernel);
  h->run = now;
}

static double here_once(void *self, int kernel, int repeat) {
  Here *h = self;
  if (!h->mem[kernel]) make_memory(h, kernel);
  const RunFn run = h->b->run.p[kernel];
  void **mem = h->mem[kernel];
  mem[h->b->plan.kernels.p[kernel].bufs.n] = (void *)(uintptr_t)sizes_in_run(h->b, kernel, h->run);
  double start = tune_clock();
  for (int i = 0; i < repeat; i++) run(mem);
  return (tune_clock() - start) / repeat;
}

/* Reads and writes more than the second level of cache holds. Then a kernel's data are further away, as after the other kernels
 * of a large model. */
static void flush(volatile char *p, int64_t bytes) {
  for (int64_t i = 0; i < bytes; i += 64) p[i]++;
}

static long interruptions(void) {
  struct rusage u;
  return getrusage(RUSAGE_SELF, &u) ? 0 : u.ru_nivcsw;
}

enum { LEAST_CLOCKS = 20 };

/* Runs with the data where the state says */
static double in_state(Here *h, int kernel, int repeat) {
  const int most = tunable(h->b->lab->ctx, tune_placed_runs), n = repeat < most ? repeat : most;
  double all = 0;
  if (!placed_in(h, kernel)) {
    const double once = here_once(h, kernel, repeat), least = LEAST_CLOCKS * h->clock; /* else the clock is measured */
    return once * repeat >= least ? once : here_once(h, kernel, (int)fmin(least / fmax(once, 1e-9), 1e6) + 1);
  }
  for (int i = 0; i < n; i++) {
    caches_place(h->b->lab->target, h->junk, placed_in(h, kernel), (int)h->b->plan.kernels.p[kernel].bufs.n);
    all += here_once(h, kernel, 1) - h->clock;
  }
  return fmax(all / n, 1e-9);
}

/* Without a state of the data: in the caches, and after a flush. */
static void here_sample(void *self, int kernel, int repeat, double *warm, double *cold) {
  Here *h = self;
  *warm = *cold = INFINITY;
  for (int i = 0; i < tunable(h->b->lab->ctx, tune_retries); i++) {
    const long before = interruptions();
    if (h->b->task->state) {
      *warm = *cold = fmin(*warm, in_state(h, kernel, repeat));
    } else {
      *warm = fmin(*warm, here_once(h, kernel, repeat));
      flush(h->junk, h->bytes);
      *cold = fmin(*cold, here_once(h, kernel, 1));
    }
    if (interruptions() == before) break;
  }
}

static const Course here_course = { .begin = here_begin, .once = here_once, .sample = here_sample, .set_run = here_set_run };

static _Noreturn void race(Batch *b, bool quick) {
  const Tunables *u = tunables_of(b->lab->ctx);
  const Course *course = b->plan.in->backend->driver ? &device_course : b->task->sized ? &sizes_course : &here_course;
  const int n = (int)b->plan.kernels.n;
  b->course = &here_course;
  Race r = { .n = n,
             .bad = b->bad,
             .m = ARENA_NEW(&b->lab->ctx->model, Meter, n + 1),
             .rounds = quick ? u->tune_quick_rounds : RACE_ROUNDS,
             .finals = quick ? u->tune_quick_finals : RACE_FINALS,
             .finalists = quick ? SCREENED_KEEP : u->tune_finalists,
             .worth = quick ? u->tune_screened_gain : 0,
             .close = quick ? u->tune_close : INFINITY,
             .hopeless = quick ? fmin(u->tune_hopeless, u->tune_quick_hopeless) : u->tune_hopeless,
             .sample = u->tune_sample,
             .once = course->once,
             .take = course->sample };
  r.self = course->begin(b);
  race_run(&r, ARENA_NEW(&b->lab->ctx->model, Meter *, n + 1));
  if (course->end) course->end(r.self);
  tell("over");
  _exit(0);
}

/* ---- the batch as its own parent sees it ---- */
/* How long the race may be silent. Memory is filled before its first line. A device's driver makes its program before that, and
 * may compile a kernel once more when it first runs. */
static double patience(const Batch *b, bool began, bool first, int at) {
  Ctx *c = b->lab->ctx;
  const double run = b->best > 0 ? 3 * b->best + tunable(c, tune_grace) : b->lab->limit;
  double limit = run < b->lab->limit ? run : b->lab->limit;
  if (!began) limit += tunable(c, tune_fill);
  return (!began || first) && b->plan.in->backend->driver ? limit + driver_limit(b, began && !at) : limit;
}

static void take_sizes(Batch *b, const char *line) {
  double at[TIMED_RUNS] = { 0 };
  int kernel;
  if (sscanf(line, "sizes %d %lf %lf %lf", &kernel, &at[0], &at[1], &at[2]) >= 2) memcpy(b->time[kernel].at, at, sizeof at);
}

/* One race: false when a candidate ended it, which is out then; or when a driver did not take all of their code. */
static bool supervise(Batch *b, bool quick) {
  Ctx *c = b->lab->ctx;
  Child racer;
  Sb line = { 0 };
  int at = 0;
  bool ended = false, done = false, began = false, first = false, refused = false;
  const char *why = NULL;
  if (child_begin(c, &racer, arena_printf(&c->model, "%s.log", b->stem))) {
    child_limits(600, 0);
    race(b, quick);
  }
  while (!done && !why) {
    const double limit = patience(b, began, first, at);
    double once, warm, cold, wide;
    const bool got = child_line(&racer, limit, &line, &ended);
    if (got) device_pass_on(line.p);
    refused = !began && b->plan.in->backend->driver && (!got || starts_with(line.p, "refused "));
    began = true;
    if (!got)
      why = ended ? "" : arena_printf(&c->model, first ? "the driver's compiler and a run took more than %.1f s" : "it ran past %.1f s", limit);
    first = got && b->plan.in->backend->driver && sscanf(line.p, "first %d", &at) == 1;
    if (!got || sscanf(line.p, "first %d", &at) == 1 || sscanf(line.p, "at %d", &at) == 1) continue;
    if (sscanf(line.p, b->task->sized ? "whole %d %lf" : "ran %d %lf", &at, &once) == 2)
      b->best = b->best > 0 && b->best < once ? b->best : once;
    else if (sscanf(line.p, "time %d %lf %lf %lf", &at, &warm, &cold, &wide) == 4)
      b->time[at] = (Time){ .warm = warm, .cold = cold, .spread = wide };
    else if (starts_with(line.p, "sizes ")) take_sizes(b, line.p);
    else if (starts_with(line.p, "lost ")) why = arena_str(&c->model, line.p + 5, strlen(line.p + 5));
    else if (refused) why = arena_str(&c->model, line.p + 8, strlen(line.p + 8));
    else done = !strcmp(line.p, "over");
  }
  int status = child_end(&racer);
  sb_free(&line);
  if (done) return true;
  if (!*why) why = why_ended(c, status);
  if (refused) {
    device_refused(b, why);
    return false;
  }
  device_ask(b);
  tell("fail %d %s", place_in_task(b, at), why);
  b->bad[at] = true;
  return false;
}

static bool any_good(const Batch *b) {
  bool any = false;
  for (size_t i = 0; i < b->plan.kernels.n; i++) any |= !b->bad[i];
  return any;
}

void race_all(Batch *b, bool quick) {
  while (any_good(b) && !supervise(b, quick)) {}
}

/* race.c: candidates timed, in a child of their batch: whatever one does, only that child dies of it.
 *
 * Each runs once, then they take turns, the incumbent among them, so that a change of the machine's speed hits all
 * alike; every one runs with its data in the caches and then after they were flushed. Who falls behind is out, and
 * medians count. A sample in which the system took the CPU away is taken again.
 *
 * needs: functions of candidates, memory of their buffers    gives: their times, with warm and with cold caches */
#include "batch.h"
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ROUNDS = 5, FINAL_ROUNDS = 6 };
/* buffers of a model do not all begin where a page does, which costs more than a schedule gains */
enum { PAGE = 4096, STAGGER = 11 * 64 };

/* ---- memory of candidates ---- */

/* Candidates share regions: the k-th buffer of a type and size of one is the k-th of the others. */
typedef struct Region {
  DType dt;
  int64_t elems;
  int nth;
  void *p;
} Region;
typedef VEC(Region) Regions;

static uint64_t next_random(uint64_t *s) {
  *s ^= *s << 13;
  *s ^= *s >> 7;
  return *s ^= *s << 17;
}

/* Numbers between -1 and 1; wide integers, which may be indices, 0 or 1; others any bits. hard: now and then what
 * arithmetic trips over; but no product of two overflows, as one that is rounded with a sum may then differ from one that is
 * before it. */
static int64_t any_value(DType d, uint64_t *s, bool hard) {
  static const double trap[] = { 0, -0.0, 1e-40, -1e-40, 1e18, -1e18, 1e-30, INFINITY, -INFINITY, NAN };
  uint64_t r = next_random(s);
  if (!dt_float(d)) return d == DT_BOOL || dtype_info[d].bits >= 32 ? (int64_t)(r & 1) : (int64_t)dt_wrap(d, r >> 20);
  double v = (double)(int64_t)(r >> 11) * 0x1p-52 - 1;
  if (hard && (r & 15) == 0) v = trap[(r >> 5) % ((r >> 9 & 63) ? 7 : 10)];
  return double_to_bits(d, v);
}

void fill(void *p, DType d, int64_t elems, uint64_t seed, bool hard) {
  enum { PERIOD = 1 << 16 };
  int bytes = dt_bytes(d);
  int64_t n = elems < PERIOD ? elems : PERIOD;
  seed = seed * 0x9e3779b97f4a7c15u + 1;
  for (int64_t i = 0; i < n; i++) {
    int64_t v = any_value(d, &seed, hard);
    memcpy((char *)p + i * bytes, &v, (size_t)bytes);
  }
  for (int64_t i = n; i < elems; i += n) memcpy((char *)p + i * bytes, p, (size_t)((elems - i < n ? elems - i : n) * bytes));
}

void *memory(int64_t bytes) {
  void *p = mmap(NULL, (size_t)(bytes ? bytes : 1), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (p == MAP_FAILED) _exit(3);
  return p;
}

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
typedef struct Meter {
  RunFn run;
  void **mem;
  int repeat, n;
  double warm[ROUNDS + FINAL_ROUNDS], cold[ROUNDS + FINAL_ROUNDS];
  bool out; /* of the race */
} Meter;

static int ascending(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static void sorted(const double *v, int n, double *out) {
  memcpy(out, v, (size_t)n * sizeof *out);
  qsort(out, (size_t)n, sizeof *out, ascending);
}

/* The median; of two samples the shorter: what disturbs one makes it longer. */
static double typical(const double *v, int n) {
  double s[ROUNDS + FINAL_ROUNDS];
  sorted(v, n, s);
  return n == 2 ? s[0] : n % 2 ? s[n / 2] : (s[n / 2 - 1] + s[n / 2]) / 2;
}

static double spread(const double *v, int n) { /* of the middle half, relative */
  double s[ROUNDS + FINAL_ROUNDS];
  sorted(v, n, s);
  return (s[n * 3 / 4] - s[n / 4]) / s[n / 2];
}

static double score(const Meter *m) { return (typical(m->warm, m->n) + typical(m->cold, m->n)) / 2; }

static double run_once(const Meter *m, int repeat) {
  double start = tune_clock();
  for (int i = 0; i < repeat; i++) m->run(m->mem);
  return (tune_clock() - start) / repeat;
}

/* Reads and writes more than the second level of cache holds: what a kernel wants is further away then, as after
 * the other kernels of a large model. */
static void flush(volatile char *p, int64_t bytes) {
  for (int64_t i = 0; i < bytes; i += 64) p[i]++;
}

static long interruptions(void) {
  struct rusage u;
  return getrusage(RUSAGE_SELF, &u) ? 0 : u.ru_nivcsw;
}

static void sample(const Tunables *u, Meter *m, char *junk, int64_t bytes) {
  double *warm = &m->warm[m->n], *cold = &m->cold[m->n];
  *warm = *cold = INFINITY;
  for (int i = 0; i < u->tune_retries; i++) {
    const long before = interruptions();
    *warm = fmin(*warm, run_once(m, m->repeat));
    flush(junk, bytes);
    *cold = fmin(*cold, run_once(m, 1));
    if (interruptions() == before) break;
  }
  m->n++;
}

static int by_score(const void *a, const void *b) {
  double x = score(*(Meter *const *)a), y = score(*(Meter *const *)b);
  return (x > y) - (x < y);
}

/* All once, in order, the incumbent first; who takes much longer than the fastest so far does not take part. */
static int line_up(Batch *b, Meter *m, Regions *all) {
  const Tunables *u = tunables_of(b->lab->ctx);
  const int n = (int)b->plan.kernels.n;
  double best = INFINITY;
  int left = 0;
  for (int i = 0; i < n; i++) {
    if (!b->run.p[i]) continue;
    m[i] = (Meter){ .run = b->run.p[i], .mem = memory_of(b, i, all) };
    tell("at %d", i);
    run_once(&m[i], 1);
    tell("at %d", i);
    double once = run_once(&m[i], 1);
    tell("ran %d %.9f", i, once);
    if (once < best) best = once;
    m[i].repeat = once < u->tune_sample ? (int)(u->tune_sample / (once + 1e-9)) : 1;
    m[i].warm[0] = m[i].cold[0] = once;
    m[i].out = i && once > u->tune_hopeless * best + 1e-6;
    m[i].n = m[i].out;
    left++;
  }
  return left;
}

/* A round of all that are in; those that are `behind` times as slow as the leader leave it. */
static void take_turns(const Tunables *u, Meter *m, int n, double behind, char *junk, int64_t bytes) {
  double lead = INFINITY;
  for (int i = 0; i < n; i++) {
    if (!m[i].run || m[i].out) continue;
    tell("at %d", i);
    sample(u, &m[i], junk, bytes);
    lead = fmin(lead, score(&m[i]));
  }
  for (int i = 1; i < n; i++) m[i].out |= m[i].run && score(&m[i]) > behind * lead;
}

static _Noreturn void race(Batch *b, bool quick) {
  const Tunables *u = tunables_of(b->lab->ctx);
  static const double behind[ROUNDS] = { 1.5, 1.3, 1.2, 1.15, 1.15 };
  const int n = (int)b->plan.kernels.n, rounds = quick ? u->tune_quick_rounds : ROUNDS;
  const int64_t bytes = 2 * (int64_t)b->lab->target->l2_bytes;
  Meter *m = ARENA_NEW(&b->lab->ctx->model, Meter, n), **order = ARENA_NEW(&b->lab->ctx->model, Meter *, n);
  Regions all = { 0 };
  char *junk = memory(bytes);
  int left = line_up(b, m, &all);
  /* the first sample after a flush takes up to three times as long */
  if (!m[0].out && m[0].run) sample(u, &m[0], junk, bytes), m[0].n = 0;
  for (int r = 0; r < rounds; r++) take_turns(u, m, n, behind[r], junk, bytes);
  for (int i = 0, k = 0; i < n; i++)
    if (m[i].run) order[k++] = &m[i];
  qsort(order, (size_t)left, sizeof *order, by_score);
  for (int r = 0; r < FINAL_ROUNDS && !quick; r++)
    for (int i = 0; i < left; i++) {
      if ((i >= u->tune_finalists && order[i] != m) || order[i]->out) continue;
      tell("at %d", (int)(order[i] - m));
      sample(u, order[i], junk, bytes);
    }
  for (int i = 0; i < left; i++)
    tell("time %d %.4f %.4f %.4f", (int)(order[i] - m), typical(order[i]->warm, order[i]->n) * 1e6,
         typical(order[i]->cold, order[i]->n) * 1e6, spread(order[i]->warm, order[i]->n));
  tell("end");
  _exit(0);
}

/* ---- the batch as its own parent sees it ---- */
const char *why_ended(Ctx *c, int status) {
  if (WIFSIGNALED(status)) return strsignal(WTERMSIG(status));
  return WEXITSTATUS(status) == 3   ? "no memory"
         : WEXITSTATUS(status) == 4 ? "it cannot be loaded"
                                    : arena_printf(&c->model, "it exits with %d", WEXITSTATUS(status));
}

/* One race: false when a candidate ended it, which is out then. */
static bool supervise(Batch *b, bool quick) {
  Ctx *c = b->lab->ctx;
  Child racer;
  Sb line = { 0 };
  int at = 0;
  bool ended = false, done = false, began = false;
  const char *why = NULL;
  if (child_begin(c, &racer, arena_printf(&c->model, "%s.log", b->stem))) {
    child_limits(600, 0);
    load_libraries(b);
    race(b, quick);
  }
  while (!done && !why) {
    double limit = b->best > 0 ? 3 * b->best + tunable(c, tune_grace) : b->lab->limit, once, warm, cold, wide;
    if (limit > b->lab->limit) limit = b->lab->limit;
    if (!began) limit += tunable(c, tune_fill); /* memory is filled first */
    began = true;
    if (!child_line(&racer, limit, &line, &ended)) why = ended ? "" : arena_printf(&c->model, "it ran past %.1f s", limit);
    else if (sscanf(line.p, "at %d", &at) == 1) continue;
    else if (sscanf(line.p, "ran %d %lf", &at, &once) == 2) b->best = b->best > 0 && b->best < once ? b->best : once;
    else if (sscanf(line.p, "time %d %lf %lf %lf", &at, &warm, &cold, &wide) == 4) b->time[at] = (Time){ warm, cold, wide };
    else done = !strcmp(line.p, "end");
  }
  int status = child_end(&racer);
  sb_free(&line);
  if (done) return true;
  tell("fail %d %s", place_in_task(b, at), *why ? why : why_ended(c, status));
  b->bad[at] = true;
  return false;
}

void race_all(Batch *b, bool quick) {
  while (b->plan.kernels.n && !supervise(b, quick)) {}
}

/* SPDX-License-Identifier: MIT */
/* bench.c: tgc bench: the latency of a bundle on this machine. --vs-ort alternates with ONNX Runtime, --vs-untuned with the
 * bundle without tuned schedules, in blocks so short that all see the same machine. Windows disturbed by other processes are
 * measured again; where that does not help, the result says so. */
#include "../cmd.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { REPEAT = 3 }; /* default of --repeat */

typedef struct Side {
  Worker worker;
  Reals times, window; /* ms; window: of the current window */
  double spent;        /* seconds in times */
} Side;
typedef struct Bench {
  const Options *o;
  const char *scratch;
  Plan *plan; /* NULL: the argument is a bundle */
  const char *dir;
  Interface f;
  Plan *untuned; /* NULL: not requested */
  Interface untuned_f;
  Tensor *in;
  Side side[3];       /* tgc, then the competitors */
  Side *ort, *plain;  /* ONNX Runtime; the untuned bundle; NULL: takes no part */
  int sides, threads;
  double tgc_s, cc_s, foreign; /* foreign: load of other processes in the kept windows, in CPUs */
  int disturbed;               /* disturbed windows that were kept */
  Measures limits, old;        /* from --limit and --baseline */
  int repeated;                /* measurements of the latency: more than one if it was too long */
  Checks checks;
  Pace pace;
  bool paced; /* with a rate or cold caches */
  Reals late; /* by run: ms after its time, with --rate */
  const Floor *floor; /* NULL: not known */
  const char *so, *untuned_dir, *untuned_so; /* processes of --pairs open them again */
  bool same;                                 /* both bundles have the same files, but for the manifest */
  Reals pairs;                               /* by pair of processes: the logarithm of the time with schedules over that without */
} Bench;

/* ---- competitors ---- */
static void start_ort(Ctx *c, Bench *b) {
  if (first_change(b->o))
    fail(c, EX_USAGE_, "--vs-ort has no effect with --%s: ONNX Runtime has other inputs or outputs then", first_change(b->o));
  ort_needs_onnx(c, b->o->model, "vs-ort");
  const char *python = getenv("TGC_PYTHON");
  Texts argv = { 0 };
  VEC_PUSH(&argv, python && *python ? python : "python3");
  VEC_PUSH(&argv, "-c");
  VEC_PUSH(&argv, ort_script(c, "ort.py"));
  VEC_PUSH(&argv, b->o->model);
  VEC_PUSH(&argv, arena_printf(&c->model, "%d", b->threads));
  for (size_t i = 0; i < b->plan->g->inputs.n; i++) { /* states too: ONNX Runtime takes and returns them */
    const GIO *in = &b->plan->g->inputs.p[i];
    const Tensor *t = &b->in[i];
    const char *path = arena_printf(&c->model, "%s/input_%zu", b->scratch, i);
    if (in->narrow == ONNX_STRING) fail(c, EX_USAGE_, "'%s' has strings, which bench does not pass to ONNX Runtime", in->name);
    file_put(c, path, t->data, (size_t)(t->elems * dt_bytes(t->dt)));
    VEC_PUSH(&argv, in->name);
    VEC_PUSH(&argv, arena_printf(&c->model, "%s:%s", ort_type(c, in), path));
  }
  VEC_PUSH(&argv, NULL);
  b->ort = &b->side[b->sides++];
  worker_program(c, &b->ort->worker, "ONNX Runtime", &argv);
  VEC_FREE(&argv);
}

static void start_untuned(Ctx *c, Bench *b) {
  const char *dir = b->untuned_dir = plan_put(c, b->o, b->untuned, b->scratch);
  b->untuned_f = interface_read(c, b->o, dir);
  b->same = bundles_equal(c, b->dir, dir);
  b->untuned_so = bundle_build(c, b->o, dir, dir, &b->untuned_f, NULL);
  b->plain = &b->side[b->sides++];
  worker_model(c, &b->plain->worker, dir, b->untuned_so, &b->untuned_f, b->threads, b->in, NULL);
}

/* New processes for the bundle and the one without schedules */
static void restart(Ctx *c, Bench *b) {
  for (int i = 0; i < b->sides; i++) worker_end(&b->side[i].worker);
  if (b->plan) model_renew(b->dir, b->so, &b->f);
  model_renew(b->untuned_dir, b->untuned_so, &b->untuned_f);
  worker_paced(c, &b->side[0].worker, b->dir, b->so, &b->f, b->threads, b->in, NULL, &b->pace);
  worker_model(c, &b->plain->worker, b->untuned_dir, b->untuned_so, &b->untuned_f, b->threads, b->in, NULL);
}

static void start_all(Ctx *c, Bench *b) {
  if (b->plan) {
    b->dir = plan_put(c, b->o, b->plan, b->scratch);
    b->f = interface_read(c, b->o, b->dir);
  }
  double start = clock_ms();
  b->so = bundle_build(c, b->o, b->dir, b->scratch, &b->f, NULL);
  b->cc_s = (clock_ms() - start) * 1e-3;
  worker_paced(c, &b->side[b->sides++].worker, b->dir, b->so, &b->f, b->threads, b->in, NULL, &b->pace);
  if (b->o->vs_ort) start_ort(c, b);
  if (b->untuned) start_untuned(c, b);
}

/* ---- measuring ---- */
static bool enough(const Ctx *c, const Bench *b) {
  for (int i = 0; i < b->sides; i++) {
    const Side *s = &b->side[i];
    if (b->o->runs ? (int64_t)s->times.n < b->o->runs
                   : s->spent < b->o->seconds || s->times.n < (size_t)tunable(c, bench_runs_least))
      return false;
  }
  return true;
}

/* The part of the measurement that is done: by runs, or by seconds */
static double share(const Bench *b) {
  double least = 1;
  for (int i = 0; i < b->sides; i++) {
    const Side *s = &b->side[i];
    const double part = b->o->runs ? (double)s->times.n / (double)b->o->runs : s->spent / b->o->seconds;
    if (part < least) least = part;
  }
  return least;
}

/* One window of alternating blocks; returns the load of other processes. */
static double window(Ctx *c, Bench *b) {
  Worker *own[] = { &b->side[0].worker, &b->side[1].worker, &b->side[2].worker };
  Load from = load_now(own, b->sides), to;
  for (int i = 0; i < b->sides; i++) b->side[i].window.n = 0;
  do {
    for (int i = 0; i < b->sides; i++) {
      Side *s = &b->side[i];
      int64_t had = (int64_t)(s->times.n + s->window.n), left = b->o->runs ? b->o->runs - had : INT64_MAX;
      if (left > 0) worker_block(c, &s->worker, tunable(c, bench_block), left, &s->window);
    }
    to = load_now(own, b->sides);
  } while (to.at - from.at < tunable(c, bench_window) && !b->o->runs);
  return load_foreign(&from, &to);
}

/* One block of runs with their lateness. Runs in order are written to --csv. */
static void measure_paced(Ctx *c, Bench *b) {
  Reals both = { 0 };
  Sb csv = { 0 };
  Side *s = &b->side[0];
  Worker *own[] = { &s->worker };
  const Load from = load_now(own, 1);
  worker_block(c, &s->worker, b->o->runs ? 1e9 : b->o->seconds, b->o->runs ? b->o->runs : INT32_MAX, &both);
  const Load to = load_now(own, 1);
  b->foreign = load_foreign(&from, &to);
  b->late.n = 0;
  sb_puts(&csv, "run,ms,late_ms\n");
  for (size_t i = 0; i + 1 < both.n; i += 2) {
    VEC_PUSH(&s->times, both.p[i]);
    VEC_PUSH(&b->late, both.p[i + 1]);
    sb_printf(&csv, "%zu,%.6f,%.6f\n", i / 2, both.p[i], both.p[i + 1]);
  }
  VEC_FREE(&both);
  reals_sort(&s->times);
  reals_sort(&b->late);
  c->file = NULL; /* the model is not to blame */
  if (b->o->csv) file_replace(c, b->o->csv, csv.p, csv.n);
  c->file = b->o->model;
  sb_free(&csv);
}

static void measure_once(Ctx *c, Bench *b) {
  int windows = 0, repeats = 0;
  double foreign = 0, start = clock_ms();
  for (int64_t shown = 1; !enough(c, b); windows++) {
    double load = window(c, b);
    while (load > tunable(c, bench_disturbed) && repeats++ < tunable(c, bench_repeats) && !b->o->runs) load = window(c, b);
    b->disturbed += load > tunable(c, bench_disturbed);
    foreign += load;
    for (int i = 0; i < b->sides; i++)
      for (size_t k = 0; k < b->side[i].window.n; k++) {
        VEC_PUSH(&b->side[i].times, b->side[i].window.p[k]);
        b->side[i].spent += b->side[i].window.p[k] * 1e-3;
      }
    int64_t seconds = (int64_t)((clock_ms() - start) * 1e-3);
    if (seconds > shown) progress_show(b->o, "measuring", share(b), shown = seconds);
  }
  progress_show(b->o, NULL, -1, 0);
  b->foreign = foreign / (windows ? windows : 1);
  for (int i = 0; i < b->sides; i++) reals_sort(&b->side[i].times);
}

/* A process may be some percent faster or slower for its whole life, so only the median of a pair of processes counts. */
static void measure_pairs(Ctx *c, Bench *b) {
  Reals all[2] = { { 0 } };
  double foreign = 0;
  b->pairs.n = 0;
  for (int64_t k = 0; k < b->o->pairs; k++) {
    if (k) restart(c, b);
    measure_once(c, b);
    foreign += b->foreign / (double)b->o->pairs;
    VEC_PUSH(&b->pairs, log(quantile(&b->side[0].times, 0.5) / quantile(&b->side[1].times, 0.5)));
    for (int i = 0; i < b->sides; i++) {
      Side *s = &b->side[i];
      for (size_t r = 0; r < s->times.n; r++) VEC_PUSH(&all[i], s->times.p[r]);
      s->times.n = 0, s->spent = 0;
    }
  }
  b->foreign = foreign;
  for (int i = 0; i < b->sides; i++) {
    VEC_FREE(&b->side[i].times);
    b->side[i].times = all[i];
    reals_sort(&all[i]);
  }
}

static void measure(Ctx *c, Bench *b) {
  if (b->paced) measure_paced(c, b);
  else if (b->o->pairs) measure_pairs(c, b);
  else measure_once(c, b);
}

/* ---- reporting ---- */
static size_t overruns(const Bench *b) {
  size_t n = 0;
  for (size_t i = 0; i < b->side[0].times.n; i++) n += b->side[0].times.p[i] > 1e3 / b->o->rate;
  return n;
}

static double ratio(Bench *b, Side *other) { return quantile(&other->times, 0.5) / quantile(&b->side[0].times, 0.5); }

static const struct {
  const char *name, *key;
  double q;
} columns[] = { { "min", "min_ms", 0 }, { "median", "median_ms", 0.5 }, { "p90", "p90_ms", 0.9 }, { "p99", "p99_ms", 0.99 } };
enum { COLUMNS = sizeof columns / sizeof *columns };
_Static_assert(COLUMNS == 4, "rows of the table have a cell for each");

static void add_latency(Ctx *c, Table *t, Side *s, const char *name) {
  const char *cell[COLUMNS];
  for (int i = 0; i < COLUMNS; i++) cell[i] = time_text(c, quantile(&s->times, columns[i].q));
  table_row(t, name, cell[0], cell[1], cell[2], cell[3], arena_printf(&c->model, "%zu", s->times.n));
}

/* Times of paced runs: the greatest, the jitter, runs that missed the next one's time, and how many took how long */
static void print_paced(Ctx *c, Bench *b) {
  enum { BINS = 12, BAR = 50 };
  Reals *t = &b->side[0].times;
  const double lo = quantile(t, 0), hi = quantile(t, 1), width = (hi - lo) / BINS;
  size_t count[BINS] = { 0 }, most = 1;
  printf("max       %s, jitter %s (99 %% of runs: %s)\n", time_text(c, hi), time_text(c, hi - lo),
         time_text(c, quantile(t, 0.99) - lo));
  if (b->o->rate > 0)
    printf("start     late by %s in the median, at most %s; %zu of %s took longer than their %s\n",
           time_text(c, quantile(&b->late, 0.5)), time_text(c, quantile(&b->late, 1)), overruns(b),
           count_noun(&c->model, (int64_t)t->n, "run"),
           time_text(c, 1e3 / b->o->rate));
  for (size_t i = 0; i < t->n; i++) {
    const size_t bin = width > 0 ? (size_t)((t->p[i] - lo) / width) : 0;
    size_t *n = &count[bin < BINS ? bin : BINS - 1];
    if (++*n > most) most = *n;
  }
  for (int i = 0; i < BINS && width > 0; i++)
    printf("%10s  %6zu %.*s\n", time_text(c, lo + width * i), count[i], (int)(count[i] * BAR / most),
           "##################################################");
}

/* How many times a side's median is the floor */
static double over_floor(Bench *b, Side *s) { return quantile(&s->times, 0.5) / b->floor->ms; }

static void print_floor(Ctx *c, Bench *b) {
  const Floor *f = b->floor;
  printf("floor     %s on '%s': %s for multiply-adds, %s to read weights; the bundle takes %.2f times that", time_text(c, f->ms),
         f->machine, time_text(c, f->multiply_ms), time_text(c, f->read_ms), over_floor(b, &b->side[0]));
  if (b->ort) printf(", ONNX Runtime %.2f times", over_floor(b, b->ort));
  putchar('\n');
}

static void print_bench(Ctx *c, Bench *b) {
  const double *at = b->side[0].worker.ready.p;
  Table t = { c, b->o, "<>>>>>", .headed = true };
  printf("compile   ");
  if (b->plan)
    printf("%s to C: %zu kernel%s for %s, optimised for %s; ", time_text(c, b->tgc_s * 1e3), b->plan->kernels.n,
           b->plan->kernels.n == 1 ? "" : "s", b->plan->in->target->isa, optimize_name[b->plan->in->optimize]);
  printf("%s by the C compiler\n", time_text(c, b->cc_s * 1e3));
  printf("size      code %s, arena %s, weights %s\n", bytes_text(c, (int64_t)at[3]), bytes_text(c, b->f.arena_bytes),
         bytes_text(c, b->f.weight_bytes));
  printf("start     map %s, init %s, first run %s\n", time_text(c, at[0]), time_text(c, at[1]), time_text(c, at[2]));
  if (b->ort) {
    const double *ort = b->ort->worker.ready.p;
    printf("ort       ONNX Runtime %s: session %s, first run %s\n", b->ort->worker.version, time_text(c, ort[0]),
           time_text(c, ort[1]));
  }
  table_row(&t, "", columns[0].name, columns[1].name, columns[2].name, columns[3].name, "runs");
  add_latency(c, &t, &b->side[0], "latency");
  if (b->ort) add_latency(c, &t, b->ort, "ort");
  if (b->plain) add_latency(c, &t, b->plain, "untuned");
  table_print(&t);
  if (b->paced) print_paced(c, b);
  if (b->ort)
    printf("ratio     %.2f: median of ONNX Runtime over the bundle's, with %d thread%s each\n", ratio(b, b->ort), b->threads,
           b->threads > 1 ? "s" : "");
  if (b->pairs.n) {
    const Paired x = paired_of(b->pairs.p, b->pairs.n);
    printf("gain      %.3f: time without searched schedules over that with them, mean of %s of processes; 90 %% interval %.3f to "
           "%.3f\n",
           1 / x.ratio, count_noun(&c->model, (int64_t)x.n, "pair"), 1 / x.high, 1 / x.low);
  } else if (b->plain) printf("gain      %.2f: median without searched schedules over the one with them\n", ratio(b, b->plain));
  if (b->same) puts("same      both bundles have the same code and weights: the true gain is 1");
  if (b->floor) print_floor(c, b);
  printf("load      other processes kept %.2f CPUs busy%s\n", b->foreign,
         b->disturbed ? paint(b->o, stdout, PAINT_WARNING, ": disturbed", &c->model) : "");
}

static json_t *floor_json(Bench *b) {
  const Floor *f = b->floor;
  json_t *j = json_pack("{s:f, s:o, s:f, s:f, s:f, s:f, s:f}", "ms", f->ms, "machine", json_text(f->machine), "multiply_ms",
                        f->multiply_ms, "read_ms", f->read_ms, "multiply_adds", f->multiply_adds, "bytes_read", f->bytes, "times",
                        over_floor(b, &b->side[0]));
  if (b->ort) json_object_set_new(j, "ort_times", json_real(over_floor(b, b->ort)));
  return j;
}

static json_t *latency_json(Side *s) {
  json_t *j = json_pack("{s:I}", "runs", (json_int_t)s->times.n);
  for (int i = 0; i < COLUMNS; i++) json_object_set_new(j, columns[i].key, json_real(quantile(&s->times, columns[i].q)));
  return j;
}

static json_t *pairs_json(Bench *b) {
  const Paired x = paired_of(b->pairs.p, b->pairs.n);
  json_t *gains = json_array();
  for (size_t i = 0; i < b->pairs.n; i++) json_array_append_new(gains, json_real(exp(-b->pairs.p[i])));
  return json_pack("{s:o, s:f, s:f, s:o}", "gains", gains, "gain", 1 / x.ratio, "low", 1 / x.high, "high",
                   json_number(x.low > 0 ? 1 / x.low : INFINITY));
}

static json_t *bench_json(Ctx *c, Bench *b) {
  const double *at = b->side[0].worker.ready.p;
  json_t *j = json_report("bench", b->o->model);
  json_object_update_new(
      j, json_pack("{s:o, s:i, s:f, s:f, s:f, s:f, s:I, s:I, s:I, s:f, s:b}", "latency", latency_json(&b->side[0]), "threads",
                   b->threads, "cc_s", b->cc_s, "map_ms", at[0], "init_ms", at[1], "first_ms", at[2], "code_bytes",
                   (json_int_t)at[3], "arena_bytes", (json_int_t)b->f.arena_bytes, "weight_bytes",
                   (json_int_t)b->f.weight_bytes, "foreign_cpus", b->foreign, "disturbed", b->disturbed > 0));
  json_object_update_new(j, json_pack("{s:I, s:s, s:o, s:i, s:o}", "kernels", (json_int_t)b->f.kernels, "isa", b->f.target->isa,
                                      "machine", json_text(cpu_identity(&c->model)), "repeated", b->repeated, "checks",
                                      checks_json(&b->checks)));
  if (b->paced) {
    Reals *r = &b->side[0].times;
    json_object_set_new(j, "paced",
                        json_pack("{s:f, s:b, s:f, s:f, s:f, s:f, s:I}", "rate", b->o->rate, "cold", b->o->cold, "max_ms",
                                  quantile(r, 1), "jitter_ms", quantile(r, 1) - quantile(r, 0), "late_median_ms",
                                  quantile(&b->late, 0.5), "late_max_ms", quantile(&b->late, 1), "overruns",
                                  (json_int_t)(b->o->rate > 0 ? overruns(b) : 0)));
  }
  if (b->plan)
    json_object_update_new(j, json_pack("{s:f, s:s}", "tgc_s", b->tgc_s, "optimize", optimize_name[b->plan->in->optimize]));
  if (b->ort)
    json_object_update_new(j, json_pack("{s:{s:s, s:f, s:f, s:o}, s:f}", "ort", "version", b->ort->worker.version, "session_ms",
                                        b->ort->worker.ready.p[0], "first_ms", b->ort->worker.ready.p[1], "latency",
                                        latency_json(b->ort), "ratio", ratio(b, b->ort)));
  if (b->floor) json_object_set_new(j, "floor", floor_json(b));
  if (b->plain)
    json_object_update_new(j, json_pack("{s:{s:o}, s:f, s:b}", "untuned", "latency", latency_json(b->plain), "gain",
                                        ratio(b, b->plain), "same", b->same));
  if (b->pairs.n) json_object_set_new(j, "pairs", pairs_json(b));
  return j;
}

/* ---- budgets ---- */
static Measures measures_of(Ctx *c, Bench *b) {
  Measures m = { .note = "" };
  const double value[LIMIT_COUNT] = { [LIMIT_LATENCY] = quantile(&b->side[0].times, 0.5),
                                      [LIMIT_ARENA] = (double)b->f.arena_bytes,
                                      [LIMIT_WEIGHTS] = (double)b->f.weight_bytes,
                                      [LIMIT_CODE] = b->side[0].worker.ready.p[3],
                                      [LIMIT_KERNELS] = (double)b->f.kernels };
  memcpy(m.value, value, sizeof value);
  for (int i = 0; i < LIMIT_COUNT; i++) m.known[i] = true;
  m.note = arena_printf(&c->model, ", median of %s, %s", count_noun(&c->model, (int64_t)b->side[0].times.n, "run"),
                        b->repeated > 1 ? arena_printf(&c->model, "least of %d measurements", b->repeated) : "measured once");
  return m;
}

/* Another process may have slowed the measurement. So a latency above its limit is measured again, and the least one counts. */
static void measure_again(Ctx *c, Bench *b) {
  const int64_t most = b->o->repeat ? b->o->repeat : REPEAT;
  for (b->repeated = 1; b->repeated < most; b->repeated++) {
    const Measures m = measures_of(c, b);
    if (limits_hold(c, b->o, &m, &b->limits, &b->old, LIMIT_LATENCY)) return;
    Reals best = { 0 };
    for (size_t i = 0; i < b->side[0].times.n; i++) VEC_PUSH(&best, b->side[0].times.p[i]);
    for (int i = 0; i < b->sides; i++) b->side[i].times.n = 0, b->side[i].spent = 0;
    measure(c, b);
    if (quantile(&best, 0.5) < quantile(&b->side[0].times, 0.5)) {
      b->side[0].times.n = 0;
      for (size_t i = 0; i < best.n; i++) VEC_PUSH(&b->side[0].times, best.p[i]);
    }
    VEC_FREE(&best);
  }
}

static void check_limits(Ctx *c, Bench *b, const char *machine) {
  const Measures m = measures_of(c, b);
  if (machine && b->old.known[LIMIT_LATENCY] && strcmp(machine, cpu_identity(&c->model)))
    warn_at(c, (Pos){ 0 }, "the baseline '%s' was measured on another machine: its latency may not compare", b->o->baseline);
  limits_check(c, b->o, &m, &b->limits, &b->old, &b->checks);
}

static void check_cpus(Ctx *c, const Bench *b) { /* before the C compiler runs */
  const long n = sysconf(_SC_NPROCESSORS_CONF);
  for (long i = n; n > 0 && i < PACE_CPUS; i++)
    if (b->pace.cpus[i])
      fail(c, EX_USAGE_, "--cpus %s: this machine has no CPU %ld; its CPUs are 0 to %ld", b->o->cpus, i, n - 1);
}

static void run_bench(Ctx *c, void *arg) {
  Bench *b = arg;
  const char *machine;
  const bool limited = limits_read(c, b->o, &b->limits, &b->old, &machine);
  const double start = clock_ms();
  b->pace = (Pace){ .rate = b->o->rate, .cold = b->o->cold };
  if (b->o->cpus && !pace_cpus(b->o->cpus, &b->pace)) BUG("--cpus was not checked");
  check_cpus(c, b);
  b->paced = b->o->rate > 0 || b->o->cold;
  start_all(c, b);
  measure(c, b);
  if (limited) measure_again(c, b);
  if (limited) check_limits(c, b, machine);
  if (b->o->json) json_print(bench_json(c, b));
  else print_bench(c, b);
  if (!b->o->json) checks_print(c, b->o, &b->checks, 0);
  checks_write(c, b->o, &b->checks, (clock_ms() - start) * 1e-3);
}

static int bench_once(Ctx *c, const Options *given) {
  Feed feed = { 0 };
  Options then = *given;
  const Options *o = &then;
  Bench b = { .o = o, .threads = o->threads ? (int)o->threads : 1, .dir = o->model };
  const GIO *in;
  size_t n;
  double start = clock_ms();
  RunSizes run;
  feed_read(c, o, &feed);
  if (is_bundle(o->model)) {
    if (o->vs_ort || o->vs_untuned)
      fail(c, EX_USAGE_, "--vs-%s needs a model, and '%s' is a bundle", o->vs_ort ? "ort" : "untuned", o->model);
    b.f = interface_read(c, o, o->model);
    native_only(c, b.f.target);
    weights_check(c, o->model, &b.f);
    if (feed_size(c, o, &b.f.symbols, &feed, b.f.inputs.p, b.f.inputs.n, run)) interface_at(&b.f, run);
    in = b.f.inputs.p, n = b.f.inputs.n;
  } else {
    machine_prepare(c, o);
    const Target *t = target_of(c, o);
    native_only(c, t);
    b.plan = plan_of(o, load_graph(c, o, &feed), t, NULL);
    n = b.plan->g->inputs.n;
    then.run_size = feed_size(c, o, &b.plan->ir->symbols, &feed, b.plan->g->inputs.p, graph_nin(b.plan->g), run);
    in = values_of_run(c, b.plan->ir, b.plan->g->inputs.p, n, run);
    b.tgc_s = (clock_ms() - start) * 1e-3;
    b.floor = floor_of(c, o, b.plan, b.threads, run);
    if (o->vs_untuned) {
      Options plain = *o;
      plain.schedule = "none";
      plain.no_store = plain.quiet = true;
      b.untuned = plan_of(&plain, load_graph(c, &plain, &feed), t, NULL);
    }
  }
  b.in = ARENA_NEW(&c->model, Tensor, n + 1);
  feed_inputs(c, &feed, in, (int)n, o->seed, b.in);
  b.scratch = scratch_new(c);
  int code = ctx_try(c, run_bench, &b);
  for (int i = 0; i < b.sides; i++) {
    worker_end(&b.side[i].worker);
    VEC_FREE(&b.side[i].times);
    VEC_FREE(&b.side[i].window);
  }
  scratch_remove(b.scratch);
  if (!code && b.checks.failed) code = EX_FAILED;
  checks_free(&b.checks);
  VEC_FREE(&b.late);
  VEC_FREE(&b.pairs);
  interface_free(&b.f);
  interface_free(&b.untuned_f);
  feed_free(&feed);
  return code;
}

int verb_bench(Ctx *c, const Options *o) { return over_sizes(c, o, bench_once); }

/* SPDX-License-Identifier: MIT */
/* bench.c: tgc bench: the latency of a bundle on this machine. --vs-ort alternates with ONNX Runtime, --vs-untuned with the
 * bundle without tuned schedules, in blocks so short that all see the same machine. Windows disturbed by other processes are
 * measured again; where that does not help, the result says so. */
#include "../cmd.h"
#include <stdlib.h>
#include <string.h>

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
} Bench;

/* ---- competitors ---- */
static void start_ort(Ctx *c, Bench *b) {
  if (first_change(b->o))
    fail(c, EX_USAGE_, "--vs-ort has no effect with --%s: ONNX Runtime has other inputs or outputs then", first_change(b->o));
  const char *python = getenv("TGC_PYTHON");
  const Embedded *script = embedded_file("ort.py");
  Texts argv = { 0 };
  VEC_PUSH(&argv, python && *python ? python : "python3");
  VEC_PUSH(&argv, "-c");
  VEC_PUSH(&argv, arena_str(&c->model, script->p, script->n));
  VEC_PUSH(&argv, b->o->model);
  VEC_PUSH(&argv, arena_printf(&c->model, "%d", b->threads));
  for (size_t i = 0; i < b->plan->g->inputs.n; i++) { /* states too: ONNX Runtime takes and returns them */
    const Tensor *t = &b->in[i];
    const char *path = arena_printf(&c->model, "%s/input_%zu", b->scratch, i);
    file_put(c, path, t->data, (size_t)(t->elems * dt_bytes(t->dt)));
    Sb s = { 0 };
    sb_printf(&s, "%s:", dtype_info[t->dt].text);
    for (int k = 0; k < t->rank; k++) sb_printf(&s, "%s%lld", k ? "," : "", (long long)t->dims[k]);
    sb_printf(&s, ":%s", path);
    VEC_PUSH(&argv, b->plan->g->inputs.p[i].name);
    VEC_PUSH(&argv, sb_keep(&s, &c->model));
  }
  VEC_PUSH(&argv, NULL);
  b->ort = &b->side[b->sides++];
  worker_program(c, &b->ort->worker, "ONNX Runtime", &argv);
  VEC_FREE(&argv);
}

static void start_untuned(Ctx *c, Bench *b) {
  const char *dir = plan_put(c, b->o, b->untuned, b->scratch);
  b->untuned_f = interface_read(c, b->o, dir);
  b->plain = &b->side[b->sides++];
  worker_model(c, &b->plain->worker, dir, bundle_build(c, b->o, dir, dir, &b->untuned_f, NULL), &b->untuned_f, b->threads, b->in,
               NULL);
}

static void start_all(Ctx *c, Bench *b) {
  if (b->plan) {
    b->dir = plan_put(c, b->o, b->plan, b->scratch);
    b->f = interface_read(c, b->o, b->dir);
  }
  double start = clock_ms();
  const char *so = bundle_build(c, b->o, b->dir, b->scratch, &b->f, NULL);
  b->cc_s = (clock_ms() - start) * 1e-3;
  worker_model(c, &b->side[b->sides++].worker, b->dir, so, &b->f, b->threads, b->in, NULL);
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

static void measure(Ctx *c, Bench *b) {
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

/* ---- reporting ---- */
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
  if (b->ort)
    printf("ratio     %.2f: median of ONNX Runtime over the bundle's, with %d thread%s each\n", ratio(b, b->ort), b->threads,
           b->threads > 1 ? "s" : "");
  if (b->plain) printf("gain      %.2f: median without searched schedules over the one with them\n", ratio(b, b->plain));
  printf("load      other processes kept %.2f CPUs busy%s\n", b->foreign,
         b->disturbed ? paint(b->o, stdout, PAINT_WARNING, ": disturbed", &c->model) : "");
}

static json_t *latency_json(Side *s) {
  json_t *j = json_pack("{s:I}", "runs", (json_int_t)s->times.n);
  for (int i = 0; i < COLUMNS; i++) json_object_set_new(j, columns[i].key, json_real(quantile(&s->times, columns[i].q)));
  return j;
}

static json_t *bench_json(Bench *b) {
  const double *at = b->side[0].worker.ready.p;
  json_t *j = json_report("bench", b->o->model);
  json_object_update_new(
      j, json_pack("{s:o, s:i, s:f, s:f, s:f, s:f, s:I, s:I, s:I, s:f, s:b}", "latency", latency_json(&b->side[0]), "threads",
                   b->threads, "cc_s", b->cc_s, "map_ms", at[0], "init_ms", at[1], "first_ms", at[2], "code_bytes",
                   (json_int_t)at[3], "arena_bytes", (json_int_t)b->f.arena_bytes, "weight_bytes",
                   (json_int_t)b->f.weight_bytes, "foreign_cpus", b->foreign, "disturbed", b->disturbed > 0));
  if (b->plan)
    json_object_update_new(
        j, json_pack("{s:f, s:i, s:s, s:s}", "tgc_s", b->tgc_s, "kernels", (int)b->plan->kernels.n, "isa",
                     b->plan->in->target->isa, "optimize", optimize_name[b->plan->in->optimize]));
  if (b->ort)
    json_object_update_new(j, json_pack("{s:{s:s, s:f, s:f, s:o}, s:f}", "ort", "version", b->ort->worker.version, "session_ms",
                                        b->ort->worker.ready.p[0], "first_ms", b->ort->worker.ready.p[1], "latency",
                                        latency_json(b->ort), "ratio", ratio(b, b->ort)));
  if (b->plain)
    json_object_update_new(j,
                           json_pack("{s:{s:o}, s:f}", "untuned", "latency", latency_json(b->plain), "gain", ratio(b, b->plain)));
  return j;
}

static void run_bench(Ctx *c, void *arg) {
  Bench *b = arg;
  start_all(c, b);
  measure(c, b);
  if (b->o->json) json_print(bench_json(b));
  else print_bench(c, b);
}

static int bench_once(Ctx *c, const Options *given) {
  Feed feed = { 0 };
  Options then = *given;
  const Options *o = &then;
  Bench b = { .o = o, .threads = o->threads ? (int)o->threads : 1, .dir = o->model };
  const GIO *in;
  size_t n;
  double start = clock_ms();
  feed_read(c, o, &feed);
  if (is_bundle(o->model)) {
    if (o->vs_ort || o->vs_untuned)
      fail(c, EX_USAGE_, "--vs-%s needs a model, and '%s' is a bundle", o->vs_ort ? "ort" : "untuned", o->model);
    b.f = interface_read(c, o, o->model);
    native_only(c, b.f.target);
    weights_check(c, o->model, &b.f);
    if (b.f.size) interface_at(&b.f, feed_size(c, o, &b.f.symbol, &feed, b.f.inputs.p, b.f.inputs.n));
    in = b.f.inputs.p, n = b.f.inputs.n;
  } else {
    native_only(c, target_of(c, o, "native"));
    b.plan = plan_of(o, load_graph(c, o, &feed), target_of(c, o, "native"), NULL);
    n = b.plan->g->inputs.n;
    then.run_size = feed_size(c, o, &b.plan->ir->symbol, &feed, b.plan->g->inputs.p, graph_nin(b.plan->g));
    in = values_of_run(c, b.plan->g->inputs.p, n, then.run_size);
    b.tgc_s = (clock_ms() - start) * 1e-3;
    if (o->vs_untuned) {
      Options plain = *o;
      plain.schedule = "none";
      plain.no_store = plain.quiet = true;
      b.untuned = plan_of(&plain, load_graph(c, &plain, &feed), target_of(c, o, "native"), NULL);
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
  interface_free(&b.f);
  interface_free(&b.untuned_f);
  feed_free(&feed);
  return code;
}

int verb_bench(Ctx *c, const Options *o) { return over_sizes(c, o, bench_once); }

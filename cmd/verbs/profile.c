/* SPDX-License-Identifier: MIT */
/* profile.c: tgc profile: where the time of a run goes. The bundle is compiled with a header for its hooks (docs/bundle.md)
 * that records when each kernel begins. Each kernel's median is compared with the machine's peak. Multiply-adds count at the
 * rate of registers, bytes at the rate of repeatedly reading as many bytes as the model has. Both rates are measured just
 * before. On a device the driver takes the times of launches, and the peak is not known. */
#include "../cmd.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { RUNS = 1000, TRIES = 20,  STAMPS_MOST = 1 << 23, NODES_SHOWN = 4 };

typedef struct Row {
  int kernel;
  double ms, gflops, gbs, roof; /* roof: least time that the machine allows, divided by the time taken */
} Row;
typedef struct Profile {
  const Options *o;
  Plan *plan;
  const char *scratch;
  Interface f;
  Worker worker;
  Tensor *in;
  Stamps stamps;
  size_t runs;
  Row *rows;
  double total, foreign; /* ms; CPUs */
  Peak peak;
  const KernelOrigins *from;
} Profile;

static const double *stamps_of(const Profile *p, size_t run) { return p->stamps.at + run * (size_t)p->stamps.n; }

static int slowest_first(const void *a, const void *b) {
  const Row *x = a, *y = b;
  return x->ms != y->ms ? (x->ms < y->ms) - (x->ms > y->ms) : x->kernel - y->kernel;
}

static void fill_rows(Ctx *c, Profile *p) {
  size_t n = p->plan->kernels.n;
  Reals times = { 0 };
  p->rows = ARENA_NEW(&c->model, Row, n + 1);
  for (size_t k = 0; k <= n; k++) { /* the last one: the whole run */
    times.n = 0;
    for (size_t r = 0; r < p->runs; r++) {
      const double *s = stamps_of(p, r);
      VEC_PUSH(&times, k < n ? s[k + 1] - s[k] : s[n] - s[0]);
    }
    reals_sort(&times);
    double ms = quantile(&times, 0.5);
    if (k == n) {
      p->total = ms;
      continue;
    }
    const Kernel *x = &p->plan->kernels.p[k];
    double bytes = (double)(x->bytes_read + x->bytes_written), flops = (double)x->flops;
    double least = p->peak.gflops > 0 ? fmax(flops / p->peak.gflops, bytes / p->peak.read_gbs) * 1e-6 : 0;
    p->rows[k] = (Row){ (int)k, ms, flops / ms * 1e-6, bytes / ms * 1e-6, least / ms };
  }
  VEC_FREE(&times);
  qsort(p->rows, n, sizeof *p->rows, slowest_first);
}

/* ---- reporting ---- */
/* The nodes of a kernel. Their opsets are left out, as lines are short. */
static const char *origins_text(Ctx *c, const Profile *p, const KernelOrigins *from) {
  Sb s = { 0 };
  for (int j = 0; j < from->n && j < NODES_SHOWN; j++) {
    const char *text = p->plan->ir->origins.p[from->origin[j]].text, *opset = strstr(text, ", opset ");
    const size_t n = opset ? (size_t)(opset - text) : strlen(text);
    sb_printf(&s, "%s%.*s%s", j ? "; " : "", (int)n, text, opset ? ")" : "");
  }
  if (from->n > NODES_SHOWN) sb_printf(&s, "; and %d more", from->n - NODES_SHOWN);
  return s.n ? sb_keep(&s, &c->model) : "";
}

static void print_profile(Ctx *c, const Profile *p) {
  const size_t n = p->plan->kernels.n;
  const bool peak = p->peak.gflops > 0;
  Table t = { c, p->o, ">>>>><<", .headed = true };
  printf("%zu kernel%s, %s for %s\n", n, n == 1 ? "" : "s", time_text(c, p->total), p->plan->in->target->isa);
  if (peak) printf("peak %.4g GFLOP/s, reads %.4g GB/s; ", p->peak.gflops, p->peak.read_gbs);
  else printf("times by its driver; ");
  printf("other processes kept %.2f CPUs busy\n", p->foreign);
  table_row(&t, "time", "share", "GFLOP/s", "GB/s", "roof", "kernel", "nodes (next line: schedule)");
  for (size_t i = 0; i < n; i++) {
    const Row *r = &p->rows[i];
    const char *schedule = p->plan->kernels.p[r->kernel].schedule;
    const KernelOrigins *from = &p->from[r->kernel];
    table_row(&t, time_text(c, r->ms), arena_printf(&c->model, "%.1f %%", r->ms / p->total * 100),
              arena_printf(&c->model, "%.1f", r->gflops), arena_printf(&c->model, "%.1f", r->gbs),
              peak ? arena_printf(&c->model, "%.0f %%", r->roof * 100) : "-", arena_printf(&c->model, "k%d", r->kernel),
              from->n ? origins_text(c, p, from) : schedule);
    if (from->n && schedule && *schedule) table_under(&t, schedule + (*schedule == ' '));
  }
  table_print(&t);
}

static json_t *origins_json(const Profile *p, int kernel) {
  json_t *j = json_array();
  for (int i = 0; i < p->from[kernel].n; i++)
    json_array_append_new(j, json_text(p->plan->ir->origins.p[p->from[kernel].origin[i]].text));
  return j;
}

static json_t *profile_json(const Profile *p) {
  json_t *j = json_report("profile", p->o->model), *list = json_array();
  for (size_t i = 0; i < p->plan->kernels.n; i++) {
    const Row *r = &p->rows[i];
    const Kernel *k = &p->plan->kernels.p[r->kernel];
    json_array_append_new(
        list, json_pack("{s:i, s:f, s:f, s:f, s:f, s:f, s:I, s:I, s:I, s:o, s:o}", "kernel", r->kernel, "ms", r->ms, "share",
                        r->ms / p->total, "gflops", r->gflops, "gbs", r->gbs, "roofline", r->roof, "flops",
                        (json_int_t)k->flops, "bytes_read", (json_int_t)k->bytes_read, "bytes_written",
                        (json_int_t)k->bytes_written, "schedule", json_text(k->schedule), "nodes", origins_json(p, r->kernel)));
  }
  json_object_update_new(j, json_pack("{s:s, s:f, s:I, s:f, s:f, s:f, s:o}", "isa", p->plan->in->target->isa, "ms", p->total,
                                      "runs", (json_int_t)p->runs, "peak_gflops", p->peak.gflops, "read_gbs", p->peak.read_gbs,
                                      "foreign_cpus", p->foreign, "kernels", list));
  return j;
}

static void add_event(json_t *events, const char *name, int lane, double begin, double end, json_t *args) {
  json_array_append_new(events, json_pack("{s:s, s:s, s:i, s:i, s:f, s:f, s:o}", "name", name, "ph", "X", "pid", 1, "tid", lane,
                                          "ts", begin * 1e3, "dur", (end - begin) * 1e3, "args", args));
}

/* Writes one more run, of about median length, in the format of chrome://tracing and Perfetto. Lane 0 has the kernels, further
 * lanes the chunks of each thread. */
static void write_trace(Ctx *c, Profile *p) {
  size_t n = p->plan->kernels.n, best = p->runs;
  Spans *spans = ARENA_NEW(&c->model, Spans, 1);
  Reals times = { 0 };
  double off = INFINITY;
  for (size_t r = p->runs; r < p->runs + TRIES && off > 0.02 * p->total; r++) {
    worker_block(c, &p->worker, 0, 1, &times);
    double d = fabs(stamps_of(p, r)[n] - stamps_of(p, r)[0] - p->total);
    if (d < off) off = d, best = r, *spans = *p->stamps.spans;
  }
  VEC_FREE(&times);
  const double *s = stamps_of(p, best);
  json_t *events = json_array();
  for (size_t i = 0; i < n; i++) {
    const Row *r = &p->rows[i];
    json_t *args = json_pack("{s:f, s:f, s:f, s:o, s:o}", "gflops", r->gflops, "gbs", r->gbs, "roofline", r->roof, "schedule",
                             json_text(p->plan->kernels.p[r->kernel].schedule), "nodes", origins_json(p, r->kernel));
    add_event(events, arena_printf(&c->model, "k%d", r->kernel), 0, s[r->kernel] - s[0], s[r->kernel + 1] - s[0], args);
  }
  for (int lane = 0; lane < spans->lanes && lane < LANES; lane++)
    for (int i = 0; i < spans->n[lane]; i++) {
      const Span *x = &spans->span[lane][i];
      add_event(events, arena_printf(&c->model, "k%d", x->kernel), lane + 1, x->begin - s[0], x->end - s[0], json_object());
    }
  json_t *j = json_pack("{s:s, s:o}", "displayTimeUnit", "ms", "traceEvents", events);
  int bad = json_dump_file(j, p->o->trace, JSON_INDENT(1));
  json_decref(j);
  if (bad) fail(c, EX_NOWRITE, "cannot write '%s'", p->o->trace);
}

static void run_profile(Ctx *c, void *arg) {
  Profile *p = arg;
  const char *dir = plan_put(c, p->o, p->plan, p->scratch);
  int threads = p->o->threads ? (int)p->o->threads : 1;
  p->f = interface_read(c, p->o, dir);
  size_t n = p->plan->kernels.n + 1, runs = p->o->runs ? (size_t)p->o->runs : RUNS;
  if (runs > STAMPS_MOST / n) runs = STAMPS_MOST / n + 1;
  p->stamps = (Stamps){ .n = (int)n,
                        .at = shared_memory(c, (runs + TRIES) * n * sizeof(double)),
                        .spans = shared_memory(c, sizeof(Spans)) };
  const bool device = p->plan->in->backend->device;
  if (device) p->stamps.kernel = kernel_of_launches(p->plan, &p->stamps.launches);
  const char *hooks = device ? NULL : hooks_write(c, p->scratch, p->stamps.n);
  const char *so = bundle_build(c, p->o, dir, p->scratch, &p->f, hooks);
  if (!device) p->peak = peak_measure(c, p->o, p->scratch, p->plan->in->target, threads, p->f.arena_bytes + p->f.weight_bytes);
  worker_model(c, &p->worker, dir, so, &p->f, threads, p->in, &p->stamps);
  Reals times = { 0 };
  Load from = load_now((Worker *[]){ &p->worker }, 1);
  worker_block(c, &p->worker, p->o->runs ? 1e9 : p->o->seconds, (int64_t)runs, &times);
  Load to = load_now((Worker *[]){ &p->worker }, 1);
  p->runs = times.n;
  p->foreign = load_foreign(&from, &to);
  VEC_FREE(&times);
  p->from = kernel_origins(p->plan);
  fill_rows(c, p);
  if (p->o->json) json_print(profile_json(p));
  else print_profile(c, p);
  if (p->o->trace) write_trace(c, p);
}

static int profile_once(Ctx *c, const Options *given) {
  Feed feed = { 0 };
  Options then = *given;
  const Options *o = &then;
  Profile p = { .o = o };
  native_only(c, target_of(c, o, "native"));
  feed_read(c, o, &feed);
  p.plan = plan_of(o, load_graph(c, o, &feed), target_of(c, o, "native"), NULL);
  size_t n = p.plan->g->inputs.n;
  p.in = ARENA_NEW(&c->model, Tensor, n + 1);
  then.run_size = feed_size(c, o, &p.plan->ir->symbol, &feed, p.plan->g->inputs.p, graph_nin(p.plan->g));
  feed_inputs(c, &feed, values_of_run(c, p.plan->g->inputs.p, n, then.run_size), (int)n, o->seed, p.in);
  p.scratch = scratch_new(c);
  int code = ctx_try(c, run_profile, &p);
  worker_end(&p.worker);
  scratch_remove(p.scratch);
  interface_free(&p.f);
  feed_free(&feed);
  return code;
}

int verb_profile(Ctx *c, const Options *o) { return over_sizes(c, o, profile_once); }

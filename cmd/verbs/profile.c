/* SPDX-License-Identifier: MIT */
/* profile.c: tgc profile: where the time of a run goes, kernel by kernel (cmd/lib/timing.c measures). */
#include "../cmd.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { NODES_SHOWN = 4 };

typedef struct Profile {
  const Options *o;
  Plan *plan; /* NULL: the argument is a bundle */
  const char *scratch;
  const Tensor *in;
  Timing t;
  const ProgramTime *predicted; /* by kernel; NULL: not asked for */
} Profile;

static int slowest_first(const void *a, const void *b) {
  const KernelTime *x = a, *y = b;
  return x->ms != y->ms ? (x->ms < y->ms) - (x->ms > y->ms) : x->kernel - y->kernel;
}

/* ---- reporting ---- */
static void print_profile(Ctx *c, const Profile *p) {
  const Timing *m = &p->t;
  const size_t n = m->layers.n;
  const bool peak = m->peak.gflops > 0, also = p->o->predict;
  Table t = { c, p->o, also ? ">>>>>><<" : ">>>>><<", .headed = true };
  printf("%zu kernel%s, %s for %s\n", n, n == 1 ? "" : "s", time_text(c, m->total), m->f.target->isa);
  if (peak) printf("peak %.4g GFLOP/s, reads %.4g GB/s; ", m->peak.gflops, m->peak.read_gbs);
  else printf("times by its driver; ");
  printf("other processes kept %.2f CPUs busy\n", m->foreign);
  if (also) printf("predicted for one thread of the machine '%s'\n", predict_facts(c, p->plan->in->target)->name);
  table_row(&t, "time", "share", "GFLOP/s", "GB/s", "roof", also ? "predicted" : "kernel",
            also ? "kernel" : "nodes (next line: schedule)", "nodes (next line: schedule)");
  for (size_t i = 0; i < n; i++) {
    const KernelTime *r = &m->rows[i];
    const Layer *x = &m->layers.p[r->kernel];
    const char *name = arena_printf(&c->model, "k%d", r->kernel),
               *nodes = x->nnodes ? layer_nodes(c, x, NODES_SHOWN) : x->schedule;
    table_row(&t, time_text(c, r->ms), arena_printf(&c->model, "%.1f %%", r->ms / m->total * 100),
              arena_printf(&c->model, "%.1f", r->gflops), arena_printf(&c->model, "%.1f", r->gbs),
              peak ? arena_printf(&c->model, "%.0f %%", r->roof * 100) : "-",
              also ? time_text(c, p->predicted[r->kernel].total) : name, also ? name : nodes, nodes);
    if (x->nnodes && *x->schedule) table_under(&t, x->schedule);
  }
  table_print(&t);
}

static json_t *profile_json(const Profile *p) {
  const Timing *m = &p->t;
  json_t *j = json_report("profile", p->o->model), *list = json_array();
  for (size_t i = 0; i < m->layers.n; i++) {
    const KernelTime *r = &m->rows[i];
    const Layer *k = &m->layers.p[r->kernel];
    json_t *row = json_pack("{s:i, s:f, s:f, s:f, s:f, s:f, s:I, s:I, s:I, s:o, s:o}", "kernel", r->kernel, "ms", r->ms,
                                    "share", r->ms / m->total, "gflops", r->gflops, "gbs", r->gbs, "roofline", r->roof, "flops",
                                    (json_int_t)k->flops, "bytes_read", (json_int_t)k->read, "bytes_written",
                                    (json_int_t)k->written, "schedule", json_text(k->schedule), "nodes", layer_nodes_json(k));
    if (p->predicted) {
      json_object_set_new(row, "least_ms", json_real(r->least));
      json_object_set_new(row, "predicted", predicted_json(&p->predicted[r->kernel]));
    }
    json_array_append_new(list, row);
  }
  json_object_update_new(j, json_pack("{s:s, s:f, s:I, s:f, s:f, s:f, s:o}", "isa", m->f.target->isa, "ms", m->total, "runs",
                                      (json_int_t)m->runs, "peak_gflops", m->peak.gflops, "read_gbs", m->peak.read_gbs,
                                      "foreign_cpus", m->foreign, "kernels", list));
  return j;
}

static void add_event(json_t *events, const char *name, int lane, double begin, double end, json_t *args) {
  json_array_append_new(events, json_pack("{s:s, s:s, s:i, s:i, s:f, s:f, s:o}", "name", name, "ph", "X", "pid", 1, "tid", lane,
                                          "ts", begin * 1e3, "dur", (end - begin) * 1e3, "args", args));
}

/* Writes one more run, of about median length, in the format of chrome://tracing and Perfetto. Lane 0 has the kernels, further
 * lanes the chunks of each thread. */
static void write_trace(Ctx *c, Profile *p) {
  Timing *m = &p->t;
  size_t n = m->layers.n, best = m->runs;
  Spans *spans = ARENA_NEW(&c->model, Spans, 1);
  Reals times = { 0 };
  double off = INFINITY;
  for (size_t r = m->runs; r < m->runs + TIMING_EXTRA && off > 0.02 * m->total; r++) {
    worker_block(c, &m->worker, 0, 1, &times);
    double d = fabs(stamps_of(m, r)[n] - stamps_of(m, r)[0] - m->total);
    if (d < off) off = d, best = r, *spans = *m->stamps.spans;
  }
  VEC_FREE(&times);
  const double *s = stamps_of(m, best);
  json_t *events = json_array();
  for (size_t i = 0; i < n; i++) {
    const KernelTime *r = &m->rows[i];
    json_t *args = json_pack("{s:f, s:f, s:f, s:o, s:o}", "gflops", r->gflops, "gbs", r->gbs, "roofline", r->roof, "schedule",
                             json_text(m->layers.p[r->kernel].schedule), "nodes", layer_nodes_json(&m->layers.p[r->kernel]));
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
  const char *dir = p->plan ? plan_put(c, p->o, p->plan, p->scratch) : p->o->model;
  if (p->plan) p->t.f = interface_read(c, p->o, dir);
  timing_run(c, p->o, &p->t, dir, p->scratch, p->in);
  qsort(p->t.rows, p->t.layers.n, sizeof *p->t.rows, slowest_first);
  if (p->o->json) json_print(profile_json(p));
  else print_profile(c, p);
  if (p->o->trace) write_trace(c, p);
}

/* Reads a bundle. Its kernels are timed by hooks, which its C code calls. */
static void open_bundle(Ctx *c, Profile *p) {
  p->t.f = interface_read(c, p->o, p->o->model);
  json_t *manifest = manifest_read(c, p->o->model);
  p->t.layers = layers_of_manifest(c, manifest);
  p->t.device = json_object_get(manifest, "device") != NULL;
  json_decref(manifest);
  native_only(c, p->t.f.target);
  weights_check(c, p->o->model, &p->t.f);
  const char *end = strrchr(p->t.f.code, '.');
  if (!p->t.device && strcmp(end, ".c"))
    fail(c, EX_USAGE_, "'%s' has no C code, whose kernels could be timed; profile its model", p->o->model);
  if (p->t.layers.loops) fail(c, EX_USAGE_, "'%s' has kernels in loops; profile its model", p->o->model);
}

static int profile_once(Ctx *c, const Options *given) {
  Feed feed = { 0 };
  Options then = *given;
  const Options *o = &then;
  Profile p = { .o = o };
  const GIO *in;
  size_t n;
  RunSizes run;
  feed_read(c, o, &feed);
  if (is_bundle(o->model)) {
    open_bundle(c, &p);
    if (feed_size(c, o, &p.t.f.symbols, &feed, p.t.f.inputs.p, p.t.f.inputs.n, run)) interface_at(&p.t.f, run);
    in = p.t.f.inputs.p, n = p.t.f.inputs.n;
  } else {
    machine_prepare(c, o);
    const Target *t = target_of(c, o);
    native_only(c, t);
    p.plan = plan_of(o, load_graph(c, o, &feed), t, NULL);
    if (o->predict) p.predicted = predict_ms(c, p.plan);
    p.t.layers = layers_of_plan(p.plan);
    p.t.device = p.plan->in->backend->device != NULL;
    n = p.plan->g->inputs.n;
    then.run_size = feed_size(c, o, &p.plan->ir->symbols, &feed, p.plan->g->inputs.p, graph_nin(p.plan->g), run);
    in = values_of_run(c, p.plan->ir, p.plan->g->inputs.p, n, run);
  }
  Tensor *tensors = ARENA_NEW(&c->model, Tensor, n + 1);
  feed_inputs(c, &feed, in, (int)n, o->seed, tensors);
  p.in = tensors;
  p.scratch = scratch_new(c);
  int code = ctx_try(c, run_profile, &p);
  timing_end(&p.t);
  scratch_remove(p.scratch);
  feed_free(&feed);
  return code;
}

int verb_profile(Ctx *c, const Options *o) { return over_sizes(c, o, profile_once); }

/* SPDX-License-Identifier: MIT */
/* report.c: tgc report: one page of HTML about a model, which needs no other file. It has the graph with fused kernels, the
 * roofline, the memory of the arena, a table of kernels and the error of outputs. Graphviz's dot draws the graph. Times and
 * errors are measured on this machine, if it can run the code. The errors of a quantised model's layers come from the report of
 * tgc quantize. */
#include "../cmd.h"
#include "../../runtime_stub/tgcrt.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Larger graphs take dot minutes, and nobody can read them. */
enum { MOST_KERNELS = 250, MOST_NODES = 300 };

typedef struct Page {
  const Options *o;
  const Target *target;
  Plan *plan;
  const Tensor *in;
  const Sample *sample; /* NULL: the exact outputs take too long */
  const char *scratch;
  bool timed; /* this machine runs the code */
  Timing t;
  NodeEdges edges;
  const Tensor *got; /* outputs of a run; NULL: not made */
  json_t *quantised; /* report of tgc quantize; NULL: not given */
  Sb html;
} Page;

/* ---- pieces of HTML ---- */
static void put(Page *p, const char *tag, const char *text) {
  sb_printf(&p->html, "<%s>", tag);
  xml_text(&p->html, text);
  sb_printf(&p->html, "</%s>\n", tag);
}

static void put_note(Page *p, const char *text) {
  sb_puts(&p->html, "<p class=\"note\">");
  xml_text(&p->html, text);
  sb_puts(&p->html, "</p>\n");
}

static void put_fact(Page *p, const char *name, const char *value) {
  sb_puts(&p->html, "<div><b>");
  xml_text(&p->html, name);
  sb_puts(&p->html, "</b>");
  xml_text(&p->html, value);
  sb_puts(&p->html, "</div>\n");
}

/* A cell whose column sorts by v; NaN: a text */
static void put_cell(Page *p, double v, const char *text) {
  if (isnan(v)) sb_puts(&p->html, "<td class=\"text\">");
  else sb_printf(&p->html, "<td data-v=\"%.9g\">", v);
  xml_text(&p->html, text);
  sb_puts(&p->html, "</td>");
}

/* ---- the graph ---- */

/* The drawing of dot, from its element svg on */
static bool put_drawing(Ctx *c, Page *p, const char *text, size_t n, const char *id) {
  const char *in = arena_printf(&c->model, "%s/graph.dot", p->scratch),
             *out = arena_printf(&c->model, "%s/graph.svg", p->scratch), *why;
  file_put(c, in, text, n);
  const int code = graph_draw(c, p->o, p->scratch, in, out, &why);
  if (code) {
    if (code != EX_MISSING) warn_at(c, (Pos){ 0 }, "the graph is not drawn: %s", why);
    put_note(p, arena_printf(&c->model, "The graph is not drawn: %s.", why));
    return false;
  }
  const Bytes b = file_read(c, out, (size_t)1 << 30);
  const char *svg = arena_str(&c->model, (const char *)b.p, b.n), *at = strstr(svg, "<svg");
  if (!at) fail(c, EX_MISSING, "dot wrote no SVG");
  sb_printf(&p->html, "<div class=\"graph\" id=\"%s\">", id);
  sb_puts(&p->html, at);
  sb_puts(&p->html, "</div>\n");
  return true;
}

static size_t count_nodes(const Layers *l) {
  size_t n = 0;
  for (size_t k = 0; k < l->n; k++) n += l->p[k].nnodes;
  return n;
}

static void put_graphs(Ctx *c, Page *p) {
  double *ms = p->timed ? ARENA_NEW(&c->model, double, p->plan->kernels.n + 1) : NULL;
  for (size_t k = 0; ms && k < p->plan->kernels.n; k++) ms[k] = p->t.rows[k].ms;
  put(p, "h2", "Graph");
  for (int nodes = 0; nodes < 2; nodes++) {
    Sb text = { 0 };
    const size_t size = nodes ? count_nodes(&p->t.layers) : p->plan->kernels.n, most = nodes ? MOST_NODES : MOST_KERNELS;
    sb_printf(&p->html, "<details%s><summary>%s</summary>\n", nodes ? "" : " open",
              nodes ? "Kernels with the nodes that they were fused from" : "Kernels");
    dot_print(p->plan, &p->edges, ms, nodes, &text);
    if (size > most) put_note(p, arena_printf(&c->model, "%zu boxes are too many for a drawing; --dot writes the graph.", size));
    else put_drawing(c, p, text.p, text.n, nodes ? "nodes" : "kernels");
    if (p->o->dot && nodes) file_replace(c, p->o->dot, text.p, text.n);
    sb_puts(&p->html, "</details>\n");
    sb_free(&text);
  }
}

/* ---- the table ---- */

/* Bytes of the arena in use while a kernel runs, and bytes of the weights that it reads */
typedef struct Uses {
  int64_t ram, flash;
} Uses;
static Uses uses_of(const Plan *p, const Life *l, size_t k) {
  Uses u = { 0, 0 };
  for (size_t i = 0; i < p->ir->bufs.n; i++) {
    const Buf *b = &p->ir->bufs.p[i];
    if (b->kind == BUF_ARENA && !b->of && l[i].first >= 0 && l[i].first <= (int)k && l[i].last >= (int)k)
      u.ram += b->elems * dt_bytes(b->dt);
  }
  for (size_t i = 0; i < p->kernels.p[k].bufs.n; i++) {
    const Buf *b = &p->ir->bufs.p[p->kernels.p[k].bufs.p[i]];
    if (b->kind == BUF_WEIGHT) u.flash += b->elems * dt_bytes(b->dt);
  }
  return u;
}

static void put_row(Ctx *c, Page *p, const Life *l, size_t k) {
  const Layer *x = &p->t.layers.p[k];
  const Uses u = uses_of(p->plan, l, k);
  const double macs = (double)x->flops / 2;
  sb_printf(&p->html, "<tr id=\"k%zu\" data-kernel=\"k%zu\">", k, k);
  put_cell(p, (double)k, arena_printf(&c->model, "k%zu", k));
  put_cell(p, NAN, layer_nodes(c, x, 8));
  if (p->timed) {
    const KernelTime *r = &p->t.rows[k];
    put_cell(p, r->ms, time_text(c, r->ms));
    put_cell(p, r->ms / p->t.total, arena_printf(&c->model, "%.1f %%", 100 * r->ms / p->t.total));
    put_cell(p, r->gflops, arena_printf(&c->model, "%.1f", r->gflops));
    put_cell(p, r->roof, p->t.peak.gflops > 0 ? arena_printf(&c->model, "%.0f %%", 100 * r->roof) : "-");
  }
  put_cell(p, macs, count_text(c, macs, "MAC"));
  put_cell(p, (double)u.ram, bytes_text(c, u.ram));
  put_cell(p, (double)u.flash, bytes_text(c, u.flash));
  sb_puts(&p->html, "<td class=\"text\"><code>");
  xml_text(&p->html, x->schedule);
  sb_puts(&p->html, "</code></td></tr>\n");
}

static void put_table(Ctx *c, Page *p) {
  static const struct {
    const char *name;
    bool timed, text;
  } columns[] = {
    { "kernel", false, false },  { "nodes", false, true },    { "time", true, false },  { "share", true, false },
    { "GFLOP/s", true, false },  { "of roof", true, false },  { "MACs", false, false }, { "RAM", false, false },
    { "weights", false, false }, { "schedule", false, true },
  };
  const Life *l = buffer_lives(p->plan);
  put(p, "h2", "Kernels");
  sb_puts(&p->html, "<table class=\"sorted\" id=\"layers\"><thead><tr>");
  for (size_t i = 0; i < sizeof columns / sizeof *columns; i++)
    if (p->timed || !columns[i].timed)
      sb_printf(&p->html, "<th%s>%s</th>", columns[i].text ? " class=\"text\"" : "", columns[i].name);
  sb_puts(&p->html, "</tr></thead><tbody>\n");
  for (size_t k = 0; k < p->plan->kernels.n; k++) put_row(c, p, l, k);
  sb_puts(&p->html, "</tbody></table>\n");
  put_note(p, "MACs: half of the arithmetic operations. RAM: bytes of the arena in use while the kernel runs. Weights: bytes of "
              "constants that it reads, which lie in flash on a microcontroller.");
}

/* ---- the error ---- */
static void put_accuracy(Ctx *c, Page *p) {
  put(p, "h2", "Accuracy");
  if (!p->got) {
    put_note(p, "Not measured: the exact result takes too long, or this machine cannot run the code; `tgc verify` compares.");
    return;
  }
  sb_puts(&p->html, "<table id=\"accuracy\"><thead><tr><th class=\"text\">output</th>");
  for (int m = 0; m < METRIC_COUNT; m++) sb_printf(&p->html, "<th>%s</th>", metric_name(m));
  sb_puts(&p->html, "</tr></thead><tbody>\n");
  for (size_t i = 0; i < graph_nout(p->plan->g); i++) {
    double metric[METRIC_COUNT];
    const Diff d = tensor_compare(&p->got[i], &p->sample->exact[i], p->o->rtol, p->o->atol);
    metrics_measure(&p->got[i], &p->sample->exact[i], 1, 1, &d, metric);
    sb_puts(&p->html, "<tr>");
    put_cell(p, NAN, p->plan->g->outputs.p[i].name);
    for (int m = 0; m < METRIC_COUNT; m++) put_cell(p, metric[m], arena_printf(&c->model, "%.6g", metric[m]));
    sb_puts(&p->html, "</tr>\n");
  }
  sb_puts(&p->html, "</tbody></table>\n");
  put_note(p, "Compared with the exact result on the inputs of this report. snr is in dB; outside counts elements outside of the "
              "tolerances.");
}

/* ---- the layers of a quantised model ---- */
static json_t *quantised_read(Ctx *c, const char *path) {
  const Bytes b = file_read(c, path, (size_t)1 << 30);
  json_t *report = json_loadb((const char *)b.p, b.n, 0, NULL);
  const char *verb = json_string_value(json_object_get(report, "verb"));
  c->file = NULL;
  if (!verb || strcmp(verb, "quantize") || !json_array_size(json_object_get(report, "layers")))
    fail(c, EX_NOINPUT_, "'%s' is not a report that `tgc quantize --json` printed", path);
  return report;
}

static double number_at(const json_t *j, const char *key) {
  const json_t *x = json_object_get(j, key);
  return json_is_number(x) ? json_number_value(x) : NAN;
}

static const char *text_at(const json_t *j, const char *key) {
  const char *s = json_string_value(json_object_get(j, key));
  return s ? s : "";
}

/* A number that may be missing */
static void put_number(Ctx *c, Page *p, double v) { put_cell(p, v, isnan(v) ? "-" : arena_printf(&c->model, "%.4g", v)); }

static const char *why_in_floats(Ctx *c, const json_t *layer) {
  const char *kept = text_at(layer, "kept");
  return !strcmp(kept, "drop")          ? arena_printf(&c->model, "in 8 bits: drop %.3g", number_at(layer, "drop_in_8_bits"))
         : !strcmp(kept, "built model") ? "the built model needs it"
         : !strcmp(kept, "file")        ? "chosen by --layers"
                                        : "";
}

static void put_layer(Ctx *c, Page *p, const json_t *layer) {
  sb_puts(&p->html, "<tr>");
  put_cell(p, NAN, text_at(layer, "name"));
  put_cell(p, NAN, text_at(layer, "op"));
  put_number(c, p, number_at(layer, "weights"));
  put_cell(p, number_at(layer, "bits"), number_at(layer, "bits") > 8 ? "float" : "int8");
  put_number(c, p, number_at(layer, "error_alone"));
  put_number(c, p, number_at(layer, "drop_alone"));
  put_cell(p, NAN, why_in_floats(c, layer));
  sb_puts(&p->html, "</tr>\n");
}

static void put_quantised(Ctx *c, Page *p) {
  const json_t *layers = json_object_get(p->quantised, "layers"), *held = json_object_get(p->quantised, "held_out");
  if (!p->quantised) return;
  put(p, "h2", "Quantisation");
  sb_puts(&p->html, "<table class=\"sorted\" id=\"quantised\"><thead><tr><th class=\"text\">layer</th><th class=\"text\">op</th>"
                    "<th>weights</th><th>computed in</th><th>error alone</th><th>drop alone</th>"
                    "<th class=\"text\">why in floats</th></tr></thead><tbody>\n");
  for (size_t i = 0; i < json_array_size(layers); i++) put_layer(c, p, json_array_get(layers, i));
  sb_puts(&p->html, "</tbody></table>\n");
  if (held)
    put_note(p, arena_printf(
                    &c->model,
                    "Layers of %s. Error alone: the relative error of the outputs, against the float model's, if only "
                    "this layer is in 8 bits. Drop alone: how much worse the metric %s then is. The metric is %.6g in floats, "
                    "%.6g with all layers in 8 bits, and %.6g for the model that was written.",
                    text_at(p->quantised, "model"), text_at(held, "metric"), number_at(held, "float"),
                    number_at(json_object_get(held, "all"), "metric"), number_at(json_object_get(held, "written"), "metric")));
  else put_note(p, "The errors were not measured; tgc quantize measures them with --holdout.");
}

/* ---- the page ---- */
static void put_head(Ctx *c, Page *p) {
  const Embedded *css = embedded_file("report.css");
  const Plan *plan = p->plan;
  const char *slash = strrchr(p->o->model, '/'), *name = slash ? slash + 1 : p->o->model;
  int64_t flops = 0;
  for (size_t k = 0; k < p->t.layers.n; k++) flops += p->t.layers.p[k].flops;
  sb_puts(&p->html,
          "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><link rel=\"icon\" href=\"data:,\"><title>");
  xml_text(&p->html, name);
  sb_printf(&p->html, "</title><style>\n%.*s</style></head><body>\n", (int)css->n, css->p);
  put(p, "h1", name);
  sb_puts(&p->html, "<div class=\"facts\">\n");
  put_fact(p, "kernels", arena_printf(&c->model, "%zu for %s", plan->kernels.n, plan->in->target->isa));
  if (p->timed) put_fact(p, "time", arena_printf(&c->model, "%s, median of %s", time_text(c, p->t.total),
                                           count_noun(&c->model, (int64_t)p->t.runs, "run")));
  put_fact(p, "work", count_text(c, (double)flops / 2, "MAC"));
  put_fact(p, "arena", bytes_text(c, plan->memory.arena_bytes));
  put_fact(p, "weights", bytes_text(c, plan->weights.bytes));
  put_fact(p, "precision", precision_name[plan->in->precision]);
  put_fact(p, "tgc", TGC_VERSION);
  sb_puts(&p->html, "</div>\n<div class=\"facts\">\n");
  for (int k = 0; k < 2; k++)
    for (size_t i = 0; i < (k ? graph_nout(plan->g) : graph_nin(plan->g)); i++) {
      const GIO *v = k ? &plan->g->outputs.p[i] : &plan->g->inputs.p[i];
      put_fact(p, k ? "output" : "input", arena_printf(&c->model, "%s %s", v->name, type_text(c, v->dt, v->rank, v->dims)));
    }
  sb_puts(&p->html, "</div>\n");
}

static void measure(Ctx *c, Page *p) {
  const char *dir = plan_put(c, p->o, p->plan, p->scratch);
  p->t.f = interface_read(c, p->o, dir);
  timing_run(c, p->o, &p->t, dir, p->scratch, p->in);
  if (!p->sample) return;
  Tensor *got = ARENA_NEW(&c->model, Tensor, p->plan->g->outputs.n + 1);
  const int status = bundle_execute(c, p->o, dir, p->scratch, &p->t.f, 1, 1, p->t.f.inputs.n, p->in, got);
  if (status) fail(c, EX_FAILED, "the model returned status %d: %s", status, tgcrt_strerror(status));
  p->got = got;
}

static void write_page(Ctx *c, void *arg) {
  Page *p = arg;
  const Embedded *js = embedded_file("report.js");
  if (p->timed) measure(c, p);
  put_head(c, p);
  put_graphs(c, p);
  put(p, "h2", "Roofline");
  if (p->timed && p->t.peak.gflops > 0) {
    plot_roofline(c, &p->t, &p->html);
    put_note(
        p,
        "A point for each kernel with arithmetic, larger for a larger share of the run. The lines are the peaks of this machine, "
        "measured just before.");
  } else put_note(p, "Not measured: this machine cannot run the code, or its peak is not known.");
  put(p, "h2", "Memory of the arena");
  plot_memory(c, p->plan, &p->html);
  put_table(c, p);
  put_accuracy(c, p);
  put_quantised(c, p);
  sb_printf(&p->html, "<script>\n%.*s</script>\n</body></html>\n", (int)js->n, js->p);
  c->file = NULL; /* later errors are not about the model */
  file_replace(c, p->o->out, p->html.p, p->html.n);
}

int verb_report(Ctx *c, const Options *o) {
  Feed feed = { 0 };
  Page p = { .o = o, .target = target_of(c, o) };
  Sample sample = { 0 };
  if (!o->out) fail(c, EX_USAGE_, "report needs a file for the page: -o FILE.html");
  if (o->layers) p.quantised = quantised_read(c, o->layers);
  feed_read(c, o, &feed);
  Graph *g = load_graph(c, o, &feed);
  node_edges(g, &p.edges); /* before passes change the graph */
  const size_t n = g->inputs.n;
  const bool exact = error_sample(c, o, g, &feed, &sample);
  p.plan = plan_of(o, g, p.target, NULL);
  const Backend *b = p.plan->in->backend;
  p.timed = b->device ? b->driver != NULL : b->is_c && !is_foreign(p.target);
  p.t.layers = layers_of_plan(p.plan);
  p.t.device = p.plan->in->backend->device != NULL;
  p.sample = exact ? &sample : NULL;
  Tensor *in = exact ? sample.in : ARENA_NEW(&c->model, Tensor, n + 1);
  if (!exact) feed_inputs(c, &feed, p.plan->g->inputs.p, (int)n, o->seed, in);
  p.in = in;
  p.scratch = scratch_new(c);
  int code = ctx_try(c, write_page, &p);
  timing_end(&p.t);
  scratch_remove(p.scratch);
  feed_free(&feed);
  sb_free(&p.html);
  VEC_FREE(&p.edges);
  json_decref(p.quantised);
  return code;
}

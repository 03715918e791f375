/* SPDX-License-Identifier: MIT */
/* quantize.c: tgc quantize: makes an 8-bit ONNX model from a float model and sample inputs. The model is compiled with the
 * values to be quantised as its outputs, and run on every sample. Their least and greatest elements become the ranges. If there
 * are held-out samples, the new model is measured on them. With --max-drop, layers stay in floats until its limit holds. */
#include "../lib/quantize.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct Quantize {
  const Options *o;
  const char *scratch;
  OnnxQuant *q;
  Samples samples;
  size_t values;
  const char *const *names;
  float (*range)[2];           /* least and greatest element of each value; in memory shared with the child */
  LayerChoice layers;
  HeldOut held;
  Sb model;                    /* the new model */
  size_t quantised;            /* its values in 8 bits */
  Checks checks;
} Quantize;

/* ---- ranges ---- */
static int by_value(const void *a, const void *b) {
  float x = *(const float *)a, y = *(const float *)b;
  return x < y ? -1 : x > y;
}

/* Widens r to the range of v, without the part beyond the percentile on each side. NaN and infinities do not count. */
static void widen(float r[2], float *v, int64_t n, double percentile) {
  int64_t finite = 0;
  for (int64_t i = 0; i < n; i++)
    if (v[i] - v[i] == 0) v[finite++] = v[i];
  if (!finite) return;
  int64_t beyond = (int64_t)((double)finite * (1 - percentile / 100));
  if (beyond) qsort(v, (size_t)finite, sizeof *v, by_value);
  if (beyond > (finite - 1) / 2) beyond = (finite - 1) / 2;
  for (int64_t i = beyond ? beyond : 0; i < (beyond ? beyond + 1 : finite); i++) r[0] = v[i] < r[0] ? v[i] : r[0];
  for (int64_t i = beyond ? finite - 1 - beyond : 0; i < (beyond ? finite - beyond : finite); i++)
    r[1] = v[i] > r[1] ? v[i] : r[1];
}

typedef struct Observing {
  const Quantize *k;
  const Interface *f;
} Observing;

static void widen_all(void *arg, void *const *out) {
  const Observing *x = arg;
  const double percentile = x->k->o->percentile > 0 ? x->k->o->percentile : 100;
  for (size_t i = 0; i < x->f->outputs.n; i++)
    widen(x->k->range[i], out[i], dims_elems(x->f->outputs.p[i].dims, x->f->outputs.p[i].rank), percentile);
}

static void calibrate(Ctx *c, Quantize *k) {
  Sb text = { 0 };
  const Texts *folders = &k->samples.calibrate;
  onnx_quant_observe(k->q, &text);
  QuantModel m = quant_model(c, k->o, k->scratch, "observing", &text, folders->p[0]);
  sb_free(&text);
  const size_t nin = m.f.inputs.n, nout = m.f.outputs.n;
  CHECK(nout == k->values);
  void **out = ARENA_NEW(&c->model, void *, nout + 1);
  for (size_t i = 0; i < nout; i++) {
    const GIO *v = &m.f.outputs.p[i];
    if (v->dt != DT_F32)
      fail(c, EX_BADMODEL, "value '%s' is %s; only f32 can be quantised", k->names[i], dtype_info[v->dt].text);
    out[i] = arena_alloc(&c->model, size_mul((size_t)dims_elems(v->dims, v->rank), sizeof(float)) + 1);
  }
  Tensor *given = ARENA_NEW(&c->model, Tensor, size_mul(folders->n, nin + 1));
  const void **in = ARENA_NEW(&c->model, const void *, size_mul(folders->n, nin + 1));
  const SampleShape shape = { .in = m.g->inputs.p, .nin = nin };
  for (size_t s = 0; s < folders->n; s++) sample_read(c, k->o, folders->p[s], &shape, given + s * nin, NULL);
  for (size_t i = 0; i < folders->n * nin; i++) in[i] = given[i].data;
  k->range = shared_memory(c, k->values * sizeof *k->range);
  samples_run(c, k->o,
              &(SampleRuns){ .m = &m, .n = folders->n, .in = in, .out = out, .after = widen_all, .arg = &(Observing){ k, &m.f } },
              "running the samples");
  interface_free(&m.f);
}

/* ---- the new model ---- */
static void write_model(Quantize *k) {
  k->model.n = 0;
  k->quantised = onnx_quant_write(k->q, (const float (*)[2])k->range, k->layers.in8, &k->model);
}

/* The switched model sums in another order. So the model that is written has the last word: while it drops too much, more layers
 * stay in floats, twice as many each time. */
static void measure(Ctx *c, Quantize *k) {
  const bool limited = option_given(k->o, "max-drop"), chosen = k->o->layers;
  const double most = k->o->max_drop;
  k->held = (HeldOut){ .o = k->o, .scratch = k->scratch, .q = k->q, .folders = k->samples.held_out };
  held_out_open(c, &k->held, (const float (*)[2])k->range);
  layers_measure(c, &k->layers, &k->held);
  if (limited && !chosen) layers_search(c, &k->layers, &k->held);
  size_t more = 1;
  bool left = layers_kept(&k->layers) < k->layers.n;
  for (int number = 0; left; number++, more *= 2) {
    write_model(k);
    k->layers.written = held_out_model(c, &k->held, &k->model, number);
    if (!limited || chosen || k->layers.written.drop <= most) break;
    left = layers_keep_more(&k->layers, more);
  }
  if (!limited) return;
  const Score *s = &k->layers.written;
  if (left) checks_add(c, &k->checks, s->drop <= most, "drop", "%.4g, limit %.4g", s->drop, most);
  else checks_add(c, &k->checks, false, "drop", "above %.4g with any layer in 8 bits", most);
}

static void quantise(Ctx *c, void *arg) {
  Quantize *k = arg;
  calibrate(c, k);
  if (k->samples.held_out.n) measure(c, k);
  else write_model(k);
}

/* ---- the report ---- */
static const char *metric_text(const Options *o) { return o->metric ? o->metric : "cosine"; }

static json_t *score_json(const Score *s) {
  return json_pack("{s:o, s:o, s:o}", "metric", json_number(s->metric), "drop", json_number(s->drop), "error",
                   json_number(s->error));
}

static json_t *held_json(const Quantize *k) {
  json_t *folders = json_array();
  for (size_t i = 0; i < k->samples.held_out.n; i++) json_array_append_new(folders, json_text(k->samples.held_out.p[i]));
  const bool none = layers_kept(&k->layers) == k->layers.n; /* nothing is written */
  return json_pack("{s:o, s:s, s:o, s:f, s:o, s:o}", "samples", folders, "reference", k->held.from_data ? "data" : "float model",
                   "metric", json_text(metric_text(k->o)), "float", k->held.best, "all", score_json(&k->layers.all), "written",
                   none ? json_null() : score_json(&k->layers.written));
}

static void print_json(const Quantize *k, bool passed) {
  json_t *values = json_array(), *report = json_report("quantize", k->o->model);
  for (size_t i = 0; i < k->values; i++)
    json_array_append_new(values, json_pack("{s:o, s:f, s:f}", "name", json_text(k->names[i]), "least", (double)k->range[i][0],
                                            "greatest", (double)k->range[i][1]));
  json_object_update_new(
      report, json_pack("{s:I, s:I, s:o, s:o, s:b, s:o}", "samples", (json_int_t)k->samples.calibrate.n, "bytes",
                        (json_int_t)k->model.n, "values", values, "layers", layers_json(&k->layers), "passed", passed, "checks",
                        checks_json(&k->checks)));
  if (k->samples.held_out.n) json_object_set_new(report, "held_out", held_json(k));
  json_print(report);
}

static void print_measured(Ctx *c, const Quantize *k) {
  const size_t n = k->samples.held_out.n, kept = layers_kept(&k->layers);
  layers_print(c, k->o, &k->layers);
  const char *last = kept == k->layers.n ? "" : arena_printf(&c->model, ", %.6g as written", k->layers.written.metric);
  const char *line = arena_printf(
      &c->model, "%s %.6g in floats, %.6g with all %zu layers in 8 bits%s; %zu held-out sample%s, reference: %s",
      metric_text(k->o), k->held.best, k->layers.all.metric, k->layers.n, last, n, n == 1 ? "" : "s",
      k->held.from_data ? "data" : "the float model");
  print_lines(line, 2);
  checks_print(c, k->o, &k->checks, 0);
}

static void print_text(Ctx *c, const Quantize *k, bool passed) {
  const size_t n = k->samples.calibrate.n;
  if (k->samples.held_out.n) print_measured(c, k);
  if (!passed) return;
  printf("%zu values quantised after %zu sample%s, %s written to ", k->quantised, n, n == 1 ? "" : "s",
         bytes_text(c, (int64_t)k->model.n));
  print_name(k->o->out);
  putchar('\n');
}

int verb_quantize(Ctx *c, const Options *o) {
  Quantize k = { .o = o };
  if (!o->data) fail(c, EX_USAGE_, "quantize needs sample inputs: --data=DIR");
  if (!o->out) fail(c, EX_USAGE_, "quantize needs a file for the new model: -o OUT.onnx");
  k.samples = samples_find(c, o);
  k.q = onnx_quant_open(c, o->model, o->hardlinks);
  k.values = onnx_quant_values(k.q, &k.names);
  k.layers = layers_open(c, o, k.q);
  k.scratch = scratch_new(c);
  int code = ctx_try(c, quantise, &k);
  scratch_remove(k.scratch);
  const bool passed = !k.checks.failed;
  if (!code && passed) file_replace(c, o->out, k.model.p, k.model.n);
  if (!code && passed && o->save_layers) layers_save(c, &k.layers, o->save_layers);
  if (!code && o->json) print_json(&k, passed);
  else if (!code) print_text(c, &k, passed);
  held_out_close(&k.held);
  onnx_quant_close(k.q);
  sb_free(&k.model);
  checks_free(&k.checks);
  VEC_FREE(&k.samples.calibrate);
  VEC_FREE(&k.samples.held_out);
  return code ? code : passed ? EX_DONE : EX_FAILED;
}

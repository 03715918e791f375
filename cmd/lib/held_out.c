/* SPDX-License-Identifier: MIT */
/* held_out.c: measures choices of layers in 8 bits, on samples that calibration has not seen.
 *
 * One model is compiled that computes each layer in both forms. Its switches make every choice, so a choice costs a run and no
 * compilation. The float model is the choice without layers. The reference is in the samples, or else it is the outputs of the
 * float model. */
#include "quantize.h"
#include <math.h>
#include <string.h>

/* --metric */
static void take_metric(Ctx *c, HeldOut *h) {
  const char *text = h->o->metric ? h->o->metric : "cosine", *at = strchr(text, '@');
  h->metric = strchr(text, '=') ? METRIC_COUNT : metric_named(text, strcspn(text, "@"));
  if (h->metric == METRIC_COUNT || !at) return;
  Names names = { 0 };
  for (size_t i = 0; i < h->shape.nout; i++) {
    names_add(c, &names, h->shape.out[i].name);
    if (!strcmp(at + 1, h->shape.out[i].name)) h->output = at + 1;
  }
  if (!h->output)
    fail(c, EX_USAGE_, "--metric '%s': the model has no output '%s'; there are%s%s", text, at + 1, names_text(c, &names),
         names_near(c, &names, at + 1));
  VEC_FREE(&names.p);
}

/* All built-in metrics of output i */
static void measure(Ctx *c, const HeldOut *h, size_t i, const Tensor *want, double out[METRIC_COUNT]) {
  const size_t n = h->folders.n, stride = h->shape.nout;
  Diff *d = ARENA_NEW(&c->model, Diff, n * stride);
  for (size_t s = 0; s < n; s++)
    d[s * stride] = tensor_compare(&h->got[s * stride + i], &want[s * stride + i], h->o->rtol, h->o->atol);
  metrics_measure(h->got + i, want + i, n, stride, d, out);
}

static double metric_of(Ctx *c, const HeldOut *h, size_t i) {
  double all[METRIC_COUNT];
  if (h->metric == METRIC_COUNT)
    return metric_command(c, h->o, h->scratch, h->o->metric, h->shape.out[i].name, h->got + i, h->want + i, h->folders.n,
                          h->shape.nout);
  measure(c, h, i, h->want, all);
  return all[h->metric];
}

/* By the ratio of signal to noise, which is the same in dB */
static double relative_error(Ctx *c, const HeldOut *h, size_t i) {
  double all[METRIC_COUNT];
  measure(c, h, i, h->floats, all);
  return pow(10, -all[METRIC_SNR] / 20);
}

/* The outputs in h->got */
static Score score(Ctx *c, const HeldOut *h) {
  const bool falls = metric_falls(h->metric);
  Score s = { .metric = falls ? -INFINITY : INFINITY };
  for (size_t i = 0; i < h->shape.nout; i++) {
    if (h->output && strcmp(h->output, h->shape.out[i].name)) continue;
    const double m = metric_of(c, h, i), e = relative_error(c, h, i);
    if (isnan(m) || (falls ? m > s.metric : m < s.metric)) s.metric = m;
    s.error = fmax(s.error, isnan(e) ? INFINITY : e);
    if (isnan(m)) break;
  }
  s.drop = isnan(s.metric) ? INFINITY : falls ? s.metric - h->best : h->best - s.metric;
  return s;
}

/* Runs a model on the samples. more: values of its further inputs, nmore bytes */
static void run(Ctx *c, HeldOut *h, const QuantModel *m, const bool *more, const char *stage) {
  const size_t all = m->f.inputs.n, nin = h->shape.nin;
  const void **in = ARENA_NEW(&c->model, const void *, h->folders.n * all + 1);
  for (size_t i = 0; i < h->folders.n * all; i++)
    in[i] = i % all < nin ? h->in[i / all * nin + i % all].data : &more[i % all - nin];
  samples_run(c, h->o, &(SampleRuns){ .m = m, .n = h->folders.n, .in = in, .out = h->out, .out_stride = h->shape.nout }, stage);
}

static void run_choice(Ctx *c, HeldOut *h, const bool *in8, const char *stage) {
  bool *switches = ARENA_NEW(&c->model, bool, h->layers + h->values);
  onnx_quant_switches(h->q, in8, switches);
  run(c, h, &h->model, switches, stage);
}

static void read_samples(Ctx *c, HeldOut *h) {
  const SampleShape *s = &h->shape;
  const size_t n = h->folders.n;
  h->in = ARENA_NEW(&c->model, Tensor, size_mul(n, s->nin + 1));
  h->want = ARENA_NEW(&c->model, Tensor, size_mul(n, s->nout + 1));
  h->floats = ARENA_NEW(&c->model, Tensor, size_mul(n, s->nout + 1));
  h->got = ARENA_NEW(&c->model, Tensor, size_mul(n, s->nout + 1));
  h->out = ARENA_NEW(&c->model, void *, size_mul(n, s->nout + 1));
  h->from_data = true;
  for (size_t k = 0; k < n; k++)
    h->from_data &= sample_read(c, h->o, h->folders.p[k], s, h->in + k * s->nin, h->want + k * s->nout);
}

/* Memory for the outputs of all samples */
static void place_outputs(Ctx *c, HeldOut *h) {
  size_t bytes = 0, at = 0;
  for (size_t i = 0; i < h->shape.nout; i++) bytes += value_room(&h->shape.out[i]);
  char *data = shared_memory(c, size_mul(bytes, h->folders.n));
  for (size_t i = 0; i < h->folders.n * h->shape.nout; i++) {
    const GIO *v = &h->shape.out[i % h->shape.nout];
    h->got[i] = tensor_like(v);
    h->got[i].data = h->out[i] = data + at;
    at += value_room(v);
  }
}

void held_out_open(Ctx *c, HeldOut *h, const float (*range)[2]) {
  Sb text = { 0 };
  const char *const *names;
  const QuantLayer *rows;
  h->values = onnx_quant_values(h->q, &names);
  h->layers = onnx_quant_layers(h->q, &rows);
  onnx_quant_switched(h->q, range, &text);
  h->model = quant_model(c, h->o, h->scratch, "switched", &text, h->folders.p[0]);
  sb_free(&text);
  h->shape = (SampleShape){ h->model.g->inputs.p, h->model.f.outputs.p, h->model.f.inputs.n - h->layers - h->values,
                            h->model.f.outputs.n };
  take_metric(c, h);
  read_samples(c, h);
  place_outputs(c, h);
  run_choice(c, h, ARENA_NEW(&c->model, bool, h->layers), "running the float model");
  for (size_t i = 0; i < h->folders.n * h->shape.nout; i++) {
    h->floats[i] = h->got[i];
    h->floats[i].data = arena_dup(&c->model, h->got[i].data, (size_t)gio_bytes(&h->shape.out[i % h->shape.nout]));
  }
  if (!h->from_data) h->want = h->floats;
  h->best = score(c, h).metric;
  if (!isfinite(h->best))
    fail(c, EX_USAGE_, "--metric=%s is %g for the float model, so it cannot drop; choose another metric",
         h->o->metric ? h->o->metric : "cosine", h->best);
}

Score held_out_score(Ctx *c, HeldOut *h, const bool *in8) {
  run_choice(c, h, in8, "measuring layers");
  return score(c, h);
}

Score held_out_model(Ctx *c, HeldOut *h, const Sb *model, int number) {
  const char *name = arena_printf(&c->model, "written%d", number);
  QuantModel m = quant_model(c, h->o, h->scratch, name, model, h->folders.p[0]);
  run(c, h, &m, NULL, "running the quantised model");
  interface_free(&m.f);
  return score(c, h);
}

void held_out_close(HeldOut *h) {
  if (h->model.so) interface_free(&h->model.f);
}

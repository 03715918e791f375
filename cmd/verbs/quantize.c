/* SPDX-License-Identifier: MIT */
/* quantize.c: tgc quantize: makes an 8-bit ONNX model from a float model and sample inputs. The model is compiled with the
 * values to be quantised as its outputs, and run on every sample. Their least and greatest elements become the ranges. */
#include "../cmd.h"
#include "../../runtime_stub/tgcrt.h"
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

typedef struct Found {        /* in memory shared with the child */
  int status;
  char why[252];
  float range[][2];
} Found;

typedef struct Calibration {
  const Options *o;
  Texts folders;               /* folders of samples */
  Sb observing;                /* the model with the observed values as outputs */
  size_t values;
  const char *const *names;
  const char *scratch;
  Found *found;
} Calibration;

/* ---- samples ---- */
static int by_name(const void *a, const void *b) { return strcmp(*(const char *const *)a, *(const char *const *)b); }

static bool has_sample(Ctx *c, const char *dir) {
  return !access(arena_printf(&c->model, "%s/input_0.npy", dir), F_OK) ||
         !access(arena_printf(&c->model, "%s/input_0.pb", dir), F_OK);
}

/* The folder itself if it contains inputs; else its subfolders that do */
static void find_samples(Ctx *c, const char *path, Texts *out) {
  if (has_sample(c, path)) {
    VEC_PUSH(out, path);
    return;
  }
  DIR *d = opendir(path);
  if (!d) fail(c, EX_NOINPUT_, "cannot open '%s': %s", path, strerror(errno));
  for (struct dirent *e; (e = readdir(d));) {
    const char *p = arena_printf(&c->model, "%s/%s", path, e->d_name);
    if (*e->d_name != '.' && has_sample(c, p)) VEC_PUSH(out, p);
  }
  closedir(d);
  if (!out->n) fail(c, EX_NOINPUT_, "neither '%s' nor its subfolders contain input_0.npy or input_0.pb", path);
  VEC_SORT(out, by_name);
}

static void read_sample(Ctx *c, const Options *o, const char *folder, const GIO *in, size_t nin, Tensor *given) {
  Feed feed = { 0 };
  Options one = *o;
  one.data = folder;
  feed_read(c, &one, &feed);
  int seeded = feed_inputs(c, &feed, in, (int)nin, 0, given);
  if (seeded) fail(c, EX_NOINPUT_, "'%s' lacks %d of %zu inputs", folder, seeded, nin);
  feed_free(&feed);
}

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

static void run_samples(const Calibration *k, const char *dir, const char *so, const Interface *f, const Tensor *given) {
  Loaded m;
  const Options *o = k->o;
  void **out = xmalloc((f->outputs.n + 1) * sizeof *out);
  const void **in = xmalloc((f->inputs.n + 1) * sizeof *in);
  for (size_t i = 0; i < f->outputs.n; i++)
    out[i] = xmalloc((size_t)dims_elems(f->outputs.p[i].dims, f->outputs.p[i].rank) * sizeof(float) + 1);
  k->found->status = model_open(dir, so, f, (int)o->threads, &m, k->found->why);
  for (size_t s = 0; s < k->folders.n && !k->found->status; s++) {
    for (size_t i = 0; i < f->inputs.n; i++) in[i] = given[s * f->inputs.n + i].data;
    k->found->status = m.run(m.ctx, in, out);
    if (run_is_complete(k->found->status)) k->found->status = 0;
    for (size_t i = 0; i < f->outputs.n && !k->found->status; i++)
      widen(k->found->range[i], out[i], dims_elems(f->outputs.p[i].dims, f->outputs.p[i].rank),
            o->percentile > 0 ? o->percentile : 100);
  }
  _exit(0);
}

static void calibrate(Ctx *c, void *arg) {
  Calibration *k = arg;
  Options o = *k->o;
  Feed first = { 0 };
  o.data = k->folders.p[0];
  o.model = arena_printf(&c->model, "%s/observing.onnx", k->scratch);
  file_put(c, o.model, k->observing.p, k->observing.n);
  feed_read(c, &o, &first); /* its shapes fix the model's dynamic dimensions */
  Plan *p = plan_of(&o, load_graph(c, &o, &first), target_of(c, &o), NULL);
  feed_free(&first);
  c->file = k->o->model;
  const char *dir = plan_put(c, &o, p, k->scratch);
  Interface f = interface_read(c, &o, dir);
  CHECK(f.outputs.n == k->values);
  for (size_t i = 0; i < f.outputs.n; i++)
    if (f.outputs.p[i].dt != DT_F32)
      fail(c, EX_BADMODEL, "value '%s' is %s; only f32 can be quantised", k->names[i],
           dtype_info[f.outputs.p[i].dt].text);
  Tensor *given = ARENA_NEW(&c->model, Tensor, size_mul(k->folders.n, f.inputs.n + 1));
  for (size_t s = 0; s < k->folders.n; s++)
    read_sample(c, &o, k->folders.p[s], p->g->inputs.p, f.inputs.n, given + s * f.inputs.n);
  const char *so = bundle_build(c, &o, dir, k->scratch, &f, NULL);
  k->found = shared_memory(c, sizeof *k->found + k->values * sizeof *k->found->range);
  pid_t pid = child_start(c);
  if (!pid) run_samples(k, dir, so, &f, given);
  int ended = child_wait(c, &o, pid, "running the samples");
  interface_free(&f);
  if (!WIFEXITED(ended) || WEXITSTATUS(ended)) child_died(c, ended, "the compiled model");
  if (k->found->status) model_failed(c, k->found->status, k->found->why);
}

int verb_quantize(Ctx *c, const Options *o) {
  Calibration k = { .o = o };
  if (!o->data) fail(c, EX_USAGE_, "quantize needs sample inputs: --data=DIR");
  if (!o->out) fail(c, EX_USAGE_, "quantize needs a file for the new model: -o OUT.onnx");
  find_samples(c, o->data, &k.folders);
  OnnxQuant *q = onnx_quant_open(c, o->model, o->hardlinks);
  k.values = onnx_quant_values(q, &k.names);
  onnx_quant_observe(q, &k.observing);
  k.scratch = scratch_new(c);
  int code = ctx_try(c, calibrate, &k);
  scratch_remove(k.scratch);
  sb_free(&k.observing);
  if (code) {
    onnx_quant_close(q);
    return code;
  }
  Sb model = { 0 };
  onnx_quant_write(q, (const float (*)[2])k.found->range, &model);
  file_replace(c, o->out, model.p, model.n);
  json_t *values = json_array();
  for (size_t i = 0; i < k.values; i++)
    json_array_append_new(values, json_pack("{s:o, s:f, s:f}", "name", json_text(k.names[i]), "least",
                                            (double)k.found->range[i][0], "greatest", (double)k.found->range[i][1]));
  json_t *report = json_report("quantize", o->model);
  json_object_update_new(
      report, json_pack("{s:I, s:I, s:o}", "samples", (json_int_t)k.folders.n, "bytes", (json_int_t)model.n, "values", values));
  if (o->json) json_print(report);
  else {
    printf("%zu values quantised after %zu sample%s, %s written to ", k.values, k.folders.n, k.folders.n == 1 ? "" : "s",
           bytes_text(c, (int64_t)model.n));
    print_name(o->out);
    putchar('\n');
    json_decref(report);
  }
  onnx_quant_close(q);
  sb_free(&model);
  VEC_FREE(&k.folders);
  return EX_DONE;
}

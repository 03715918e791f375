/* SPDX-License-Identifier: MIT */
/* verify.c: tgc verify: builds and runs a real bundle and compares its outputs with reference data, or with the graph
 * interpreter on seeded inputs. The bundle is made from a model here, or was made before. After a failure it runs the graph
 * again with inner values as outputs, to find the node where it first goes wrong. The verb is here because libtgc
 * verifies, too. */
#include "../cmd.h"
#include "../../compiler/graph/graph.h"
#include "../../runtime_stub/tgcrt.h"
#include <math.h>
#include <string.h>

typedef struct Verify {
  const Options *o;
  const Target *target;
  Graph *g;         /* NULL: a bundle without its model */
  Interface bundle; /* .name NULL: the bundle is made here */
  Graph *range;     /* the graph of a range of sizes, which is compiled in place of g; NULL: no range */
  const char *scratch;
  Texts sets;               /* a folder for each data set, or one entry NULL */
  const GIO *out;           /* outputs of a run */
  size_t steps, runs, nout; /* steps of a data set; runs of all sets; outputs per run */
  size_t stride;            /* inputs of a run, with the states */
  Tensor *in, *want, *got;  /* tensors of all runs; in includes the states */
  bool from_data;           /* want comes from the user or ONNX Runtime, not from the interpreter */
  bool judged;              /* the tolerances decide; else only requirements do */
  bool strict;              /* the user gave the tolerances: an error outside of them has no excuse */
  Tensor *exact;   /* the interpreter's outputs; NULL: not computed yet */
  double *excused; /* by output of a run: error of the data that explains a difference; 0: none */
  double *amplified; /* by output of a run: the limit of errors that roundings explain, if one of them exceeds it; else 0 */
  json_t *report;
  Checks checks;
  int failed; /* number of failed outputs */
  bool faulty; /* threads race in the interpreter */
  size_t first_failed;
  const Graph *compiled; /* after the passes; NULL: the outputs came from elsewhere */
  Resumed *from;         /* the dump with the plan; NULL: a model */
} Verify;

static json_t *real_json(double v) { return isfinite(v) ? json_real(v) : json_string(isnan(v) ? "nan" : "inf"); }

/* Largest error that the error model allows for an element, among those outside the tolerance but inside the model's limit. 0:
 * some element is outside of both. Sets v->amplified. */
static double allowed(const Verify *v, size_t output, const Tensor *variance, double fallback) {
  const Tensor *got = &v->got[output], *want = &v->want[output];
  const double cap = rounding_cap(want, fallback);
  double most = 0;
  bool inside = true;
  for (int64_t i = 0; i < want->elems; i++) {
    const double x = tensor_at(got, i), y = tensor_at(want, i), d = fabs(x - y);
    const double room = rounding_room(variance, i, cap);
    if (x == y || (isnan(x) && isnan(y)) || d <= v->o->atol + v->o->rtol * fabs(y)) continue;
    if (!(d <= rounding_room(variance, i, INFINITY)) && !(d <= room)) return 0;
    inside &= d <= room;
    most = fmax(most, room);
  }
  v->amplified[output] = inside ? 0 : cap;
  return inside ? most : 0;
}

/* Evaluates the model for all data sets. */
static void interpret_sets(Ctx *c, const Verify *v, bool exact, Tensor *in, Tensor *out) {
  for (size_t k = 0; k < v->sets.n; k++)
    interpret(c, v->o, v->g, v->steps, exact, in + k * v->steps * v->stride, out + k * v->steps * v->nout);
}

/* Copies the first entries along each axis between two arrays, as many as `part` says. */
static void copy_entries(DType d, int rank, const int64_t *part, char *to, const int64_t *to_dims, const char *from,
                         const int64_t *from_dims) {
  const int64_t elems = dims_elems(part, rank), row = rank ? part[rank - 1] : 1;
  const size_t bytes = (size_t)(row * dt_bytes(d));
  for (int64_t i = 0; i < elems; i += row) {
    int64_t at = i / row, to_at = 0, from_at = 0, to_step = rank ? to_dims[rank - 1] : 1,
            from_step = rank ? from_dims[rank - 1] : 1;
    for (int a = rank - 2; a >= 0; at /= part[a--]) {
      to_at += at % part[a] * to_step;
      from_at += at % part[a] * from_step;
      to_step *= to_dims[a];
      from_step *= from_dims[a];
    }
    memcpy(to + to_at * dt_bytes(d), from + from_at * dt_bytes(d), bytes);
  }
}

/* Evaluates the graph as passes made it. For ranges its inputs have the greatest sizes, with zeros behind the run's entries. */
static void interpret_compiled(Ctx *c, const Verify *v, Tensor *in, Tensor *out) {
  const Graph *g = v->compiled;
  RunSizes run = { 0 };
  if (v->range) sizes_of_inputs(g->ir, g->inputs.p, in, g->inputs.n, run);
  for (size_t i = 0; i < g->inputs.n; i++) {
    const GIO *x = &g->inputs.p[i];
    if (!v->range || !gio_is_open(x)) continue;
    Tensor whole = tensor_like(x);
    char *data = arena_alloc(&c->model, (size_t)(whole.elems * dt_bytes(whole.dt)));
    memset(data, 0, (size_t)(whole.elems * dt_bytes(whole.dt)));
    copy_entries(x->dt, x->rank, in[i].dims, data, x->dims, in[i].data, in[i].dims);
    whole.data = data;
    in[i] = whole;
  }
  g->ir->run = g->ir->symbols.n ? run : NULL;
  interpret(c, v->o, g, 1, false, in, out);
  g->ir->run = NULL;
  for (size_t i = 0; i < v->nout; i++) {
    const GIO *x = &g->outputs.p[i];
    if (v->range && gio_is_open(x) && out[i].data) {
      char *data = arena_alloc(&c->model, (size_t)(v->want[i].elems * dt_bytes(out[i].dt)));
      copy_entries(x->dt, x->rank, v->want[i].dims, data, v->want[i].dims, out[i].data, x->dims);
      out[i].data = data;
    }
    memcpy(out[i].dims, v->want[i].dims, sizeof out[i].dims);
    out[i].elems = v->want[i].elems;
  }
}

/* Data has rounding errors of its own. Where large terms cancel, even the exact result is outside a relative tolerance of the
 * data. So a failure is examined again. Outputs are right if they are about as close to the exact result (the interpreter's, in
 * double) as the data is. The data must be close at all. Without data, each element may be off by eight standard deviations of
 * its rounding error (variance.c). For several steps, and for weights in few bits, that is not known. There, outputs may be off
 * by four times the error of the rounding interpreter. */
static void judge(Ctx *c, Verify *v, Diff *d) {
  size_t n = v->runs * v->nout;
  bool any = false;
  for (size_t i = 0; i < n; i++) {
    d[i] = tensor_compare(&v->got[i], &v->want[i], v->o->rtol, v->o->atol);
    any |= d[i].bad > 0;
  }
  if (!any || v->strict || !v->judged || !v->g) return;
  if (!v->from_data) { /* want is exact; a graph that amplifies errors does so for any arithmetic */
    const Tensor *variance = v->runs > 1 || v->from ? NULL : rounding_variances(c, v->o, v->g, v->target, v->in);
    Tensor *rounded = ARENA_NEW(&c->model, Tensor, n);
    Tensor *in = arena_dup(&c->model, v->in, v->runs * v->stride * sizeof *in);
    interpret_sets(c, v, false, in, rounded);
    Tensor *chosen = rounded; /* arithmetic that a pass chose, which may round more, within limits */
    if (v->compiled && v->runs == 1) interpret_compiled(c, v, in, chosen = ARENA_NEW(&c->model, Tensor, n));
    for (size_t i = 0; i < n; i++) {
      double more = d[i].bad ? reference_error(&chosen[i], &v->want[i], rounding_type(v->o, v->want[i].dt)) : 0;
      double room = d[i].bad ? fmax(rounding_cost(&rounded[i], &v->want[i]), isfinite(more) ? 4 * more : 0) : 0;
      if (d[i].bad && variance) v->excused[i] = allowed(v, i, &variance[i], room);
      else if (d[i].bad && !tensor_compare(&v->got[i], &v->want[i], v->o->rtol, fmax(v->o->atol, room)).bad) v->excused[i] = room;
    }
    return;
  }
  v->exact = ARENA_NEW(&c->model, Tensor, n);
  interpret_sets(c, v, true, v->in, v->exact);
  for (size_t i = 0; i < n; i++) {
    double error = d[i].bad ? reference_error(&v->want[i], &v->exact[i], v->want[i].dt) : 0;
    if (d[i].bad && isfinite(error) && !tensor_compare(&v->got[i], &v->exact[i], v->o->rtol, fmax(v->o->atol, 2 * error)).bad)
      v->excused[i] = error;
  }
}

/* "test_data_set_3 2 ", the data set and the step of an output; "": there is one of them */
static const char *run_text(Ctx *c, const Verify *v, size_t run) {
  const char *set = v->sets.p[run / v->steps], *slash = set ? strrchr(set, '/') : NULL;
  return arena_printf(&c->model, "%s%s%s", v->sets.n > 1 ? slash + 1 : "", v->sets.n > 1 ? " " : "",
                      v->steps > 1 ? arena_printf(&c->model, "%zu: ", run % v->steps) : "");
}

/* string[3]  2 of 3 differ, first [1] 'abc' for 'abd' */
static const char *strings_diff_text(Ctx *c, const Tensor *got, const Tensor *want, const Diff *d) {
  Arena *m = &c->model;
  const long long n = dims_elems(want->dims, want->rank - 1);
  const char *text = strings_text(c, want->rank, want->dims);
  if (!d->bad) return arena_printf(m, "%s  equal", text);
  return arena_printf(m, "%s  %lld of %lld differ, first [%lld] %s for %s", text, (long long)d->bad, n, (long long)d->worst,
                      string_text(c, got, d->worst), string_text(c, want, d->worst));
}

/* How far an output is from its reference */
static const char *diff_text(Ctx *c, const Verify *v, size_t i, const Diff *d, bool passed) {
  const GIO *out = &v->out[i % v->nout];
  Sb s = { 0 };
  if (v->want[i].narrow == ONNX_STRING) return strings_diff_text(c, &v->got[i], &v->want[i], d);
  sb_printf(&s, "%s  max ULP %.6g  max relative %.3g  max absolute %.3g", type_text(c, out->dt, out->rank, out->dims), d->max_ulp,
            d->max_rel, d->max_abs);
  if (d->bad) sb_printf(&s, "  %lld of %lld outside", (long long)d->bad, (long long)v->want[i].elems);
  if (d->bad && !passed)
    sb_printf(&s, ", worst [%lld] %.9g for %.9g", (long long)d->worst, tensor_at(&v->got[i], d->worst),
              tensor_at(&v->want[i], d->worst));
  if (v->amplified[i] > 0) sb_printf(&s, "; roundings may cost as much here, but no more than %.3g is allowed", v->amplified[i]);
  if (d->bad && v->excused[i] > 0 && v->from_data)
    sb_printf(&s, ", but near the exact result; the data differs from it by up to %.3g", v->excused[i]);
  if (d->bad && v->excused[i] > 0 && !v->from_data)
    sb_printf(&s, ", but by less than the %.3g that roundings may cost", v->excused[i]);
  return sb_keep(&s, &c->model);
}

/* Numbers or strings of t */
static int64_t compared(const Tensor *t) {
  return t->narrow == ONNX_STRING ? dims_elems(t->dims, t->rank - 1) : t->elems;
}

static void report_output(Ctx *c, Verify *v, size_t i, const Diff *d, json_t *list) {
  const GIO *out = &v->out[i % v->nout];
  bool passed = !d->bad || v->excused[i] > 0;
  const OutputError e = output_error(&v->got[i], &v->want[i]);
  json_t *j = json_pack("{s:o, s:b, s:I, s:I, s:o, s:o, s:o, s:o, s:o, s:o}", "name", json_text(out->name), "passed", passed,
                        "elements", (json_int_t)compared(&v->want[i]), "outside", (json_int_t)d->bad, "max_ulp",
                        real_json(d->max_ulp), "max_relative", real_json(d->max_rel), "max_absolute", real_json(d->max_abs),
                        "rms", real_json(e.rms), "largest", real_json(e.largest), "reference_error", real_json(v->excused[i]));
  if (v->sets.n > 1) json_object_set_new(j, "set", json_text(v->sets.p[i / v->nout / v->steps]));
  json_array_append_new(list, j);
  const char *run = run_text(c, v, i / v->nout), *text = diff_text(c, v, i, d, passed || !v->judged);
  if (v->judged) checks_add(c, &v->checks, passed, arena_printf(&c->model, "%s%s", run, out->name), "%s", text);
  if (v->o->json) return;
  enum { AT = 7 }; /* the column after the verdict */
  const char *verdict = passed ? "ok    " : v->judged ? "FAILED" : "off   ";
  printf("%s ", paint(v->o, stdout, passed ? PAINT_OK : v->judged ? PAINT_ERROR : PAINT_WARNING, verdict, &c->model));
  print_words(arena_printf(&c->model, "%s%s %s", run, out->name, text), AT, AT, terminal_width(stdout));
  if (v->o->precision && v->g) error_print_one(out->name, &e);
}

/* ---- requirements ---- */

/* Checks one requirement for one output. */
static void require(Ctx *c, Verify *v, const RequireParts *r, const char *text, size_t output, const double *metric) {
  const char *name = v->out[output].name;
  if (r->output && (strlen(name) != r->output_n || memcmp(name, r->output, r->output_n))) return;
  double value = NAN;
  for (int m = 0; m < METRIC_COUNT; m++)
    if (strlen(metric_name(m)) == r->metric_n && !memcmp(metric_name(m), text, r->metric_n)) value = metric[m];
  for (size_t m = 0; m < v->o->metrics.n; m++)
    if (!strncmp(v->o->metrics.p[m], text, r->metric_n) && v->o->metrics.p[m][r->metric_n] == '=')
      value = metric[METRIC_COUNT + m];
  checks_add(c, &v->checks, r->least ? value >= r->limit : value <= r->limit, arena_printf(&c->model, "%s %s", name, text),
             "%.6g over %s", value, count_noun(&c->model, (int64_t)v->runs, "run"));
}

/* Computes the metrics of each output, and compares them with --require. */
static void measure_metrics(Ctx *c, Verify *v, const Diff *d, json_t *list) {
  const Options *o = v->o;
  const size_t before = v->checks.list.n;
  double *metric = ARENA_NEW(&c->model, double, METRIC_COUNT + o->metrics.n + 1);
  Names names = { 0 };
  for (size_t i = 0; i < v->nout; i++) {
    json_t *j = json_pack("{s:o}", "name", json_text(v->out[i].name));
    names_add(c, &names, v->out[i].name);
    metrics_measure(v->got + i, v->want + i, v->runs, v->nout, d + i, metric);
    for (int m = 0; m < METRIC_COUNT; m++) json_object_set_new(j, metric_name(m), real_json(metric[m]));
    for (size_t m = 0; m < o->metrics.n; m++) {
      const double value = metric_command(c, o, v->scratch, o->metrics.p[m], v->out[i].name, v->got + i, v->want + i, v->runs,
                                          v->nout);
      metric[METRIC_COUNT + m] = value;
      json_object_set_new(j, arena_str(&c->model, o->metrics.p[m], strcspn(o->metrics.p[m], "=")), real_json(value));
    }
    json_array_append_new(list, j);
    for (size_t k = 0; k < o->requires.n; k++) {
      RequireParts r;
      if (!requirement_parse(o->requires.p[k], &r)) BUG("a requirement was not checked");
      require(c, v, &r, o->requires.p[k], i, metric);
    }
  }
  for (size_t k = 0; k < o->requires.n; k++) { /* each must be about some output */
    RequireParts r;
    requirement_parse(o->requires.p[k], &r);
    const char *output = r.output ? arena_str(&c->model, r.output, r.output_n) : NULL;
    bool found = !output;
    for (size_t i = 0; i < v->nout && !found; i++) found = !strcmp(output, v->out[i].name);
    if (!found)
      fail(c, EX_USAGE_, "--require %s: there is no output '%s'; there are%s%s", o->requires.p[k], output, names_text(c, &names),
           names_near(c, &names, output));
  }
  VEC_FREE(&names.p);
  if (!o->json) checks_print(c, o, &v->checks, before);
}

/* find_suspects compiles the model again. If that is right, the fault is in the bundle's files. */
static void tell_rebuilt(const Verify *v) {
  const json_t *at = json_object_get(v->report, "fused_at");
  const bool right = at && json_is_null(at);
  json_object_set_new(v->report, "rebuilt_is_right", json_boolean(right));
  if (right && !v->o->json)
    print_lines("compiled again with the bundle's options, the model is right: files of the bundle were changed, or it was made "
                "from another model, with other options or by another version",
                2);
}

static void blame(Ctx *c, Verify *v) {
  bool import = false;
  for (size_t i = 0; v->exact && i < v->runs * v->nout; i++)
    import |= tensor_compare(&v->exact[i], &v->want[i], v->o->rtol, v->o->atol).bad &&
              isinf(reference_error(&v->want[i], &v->exact[i], v->want[i].dt));
  if (v->exact) json_object_set_new(v->report, "interpreter_agrees", json_boolean(!import));
  if (import && !v->o->json)
    print_lines("the interpreter disagrees with the data as well: tgc read the model wrongly, or the data belongs to another "
                "model", 2);
  if (v->g->entries.n) {
    if (!v->o->json) print_lines("--entry=NAME looks for the node of one entry that goes wrong", 2);
    return;
  }
  if (v->range || v->bundle.symbols.n) { /* find_suspects compiles for one size, where kernels are others */
    if (!v->o->json)
      print_lines("--dim NAME=SIZE for each range tells whether the model is right if compiled for this size alone", 2);
    return;
  }
  if (!import) find_suspects(c, v->o, v->g, v->target, v->scratch, v->in + v->first_failed / v->nout * v->stride, v->report);
  if (v->bundle.name && !import) tell_rebuilt(v);
}

/* Outputs from another machine, for all steps: raw, dense, one behind the other. */
static void read_outputs(Ctx *c, Verify *v) {
  size_t at = 0;
  const Bytes b = file_read(c, v->o->outputs, 0);
  for (size_t i = 0; i < v->runs * v->nout; i++) {
    const GIO *io = &v->out[i % v->nout];
    Tensor *t = &v->got[i];
    *t = tensor_like(io);
    size_t n = (size_t)t->elems * (size_t)dt_bytes(t->dt);
    if (n > b.n - at) fail(c, EX_NOINPUT_, "'%s' ends inside output %zu", v->o->outputs, i);
    t->data = b.p + at;
    at += n;
  }
  if (at != b.n) fail(c, EX_NOINPUT_, "'%s' has more bytes than all outputs", v->o->outputs);
}

/* Runs the plan's kernels in the interpreter, and reports races */
static void run_interpreted(Ctx *c, Verify *v, const Plan *p) {
  json_t *reports = plan_interpret(c, v->o, p, v->steps, v->in, v->got), *text;
  size_t i;
  json_array_foreach(reports, i, text)
    if (!v->o->json) print_lines(json_string_value(text), 4);
  v->faulty = json_array_size(reports) > 0;
  json_object_set_new(v->report, "faults", reports);
}

/* Fills got: from a file, from the bundle, or from the model as it is compiled here */
static void produce(Ctx *c, Verify *v) {
  int status = 0;
  if (v->o->outputs) {
    read_outputs(c, v);
    return;
  }
  if (v->bundle.name)
    status = bundle_execute(c, v->o, v->o->model, v->scratch, &v->bundle, v->runs, v->steps, v->stride, v->in, v->got);
  else {
    Plan *p = plan_from(v->o, v->range ? v->range : v->from ? v->g : graph_copy(c, v->g), v->target, v->from, NULL, NULL);
    v->compiled = p->g;
    if (v->o->interpret) run_interpreted(c, v, p);
    else status = plan_execute(c, v->o, p, v->scratch, v->runs, v->steps, v->in, v->got);
  }
  if (status) fail(c, EX_FAILED, "the model returned status %d: %s", status, tgcrt_strerror(status));
}

static void build_and_compare(Ctx *c, void *arg) {
  Verify *v = arg;
  size_t n = v->runs * v->nout;
  if (v->o->ort)
    ort_references(c, v->o, v->o->original ? v->o->original : v->o->model, v->scratch,
                   &(Steps){ v->g->inputs.p, v->out, v->stride, v->nout, v->stride, v->in, v->want, true }, v->runs);
  produce(c, v);
  Diff *d = ARENA_NEW(&c->model, Diff, n + 1);
  json_t *list = json_array(), *metrics = json_array();
  v->excused = ARENA_NEW(&c->model, double, n + 1);
  v->amplified = ARENA_NEW(&c->model, double, n + 1);
  judge(c, v, d);
  for (size_t i = 0; i < n; i++) {
    report_output(c, v, i, &d[i], list);
    if (d[i].bad && !v->excused[i] && v->judged && !v->failed++) v->first_failed = i;
  }
  json_object_set_new(v->report, "outputs", list);
  json_object_set_new(v->report, "metrics", metrics);
  measure_metrics(c, v, d, metrics);
  fflush(stdout); /* the search for suspects takes a while */
  const bool same_code = !v->o->outputs && !v->o->interpret && !v->from && !v->range; /* in bundles that end at inner values */
  for (size_t i = 0; i < n && !v->failed && v->checks.failed; i++)       /* a requirement fails: the worst output is examined */
    if (d[i].bad > d[v->first_failed].bad) v->first_failed = i;
  if (v->checks.failed && same_code && v->g) blame(c, v);
}

/* ---- the data ---- */

/* Reads the inputs and references of all sets. Returns the number of inputs made from the seed. */
static int read_sets(Ctx *c, Verify *v, Steps *s) {
  int seeded = 0;
  bool wanted = true;
  for (size_t k = 0; k < v->sets.n; k++) {
    Feed feed = { 0 };
    Options one = *v->o;
    Steps part = *s;
    one.data = v->sets.p[k];
    part.given += k * v->steps * s->stride;
    part.want += k * v->steps * s->nout;
    feed_read(c, &one, &feed);
    seeded += feed_steps(c, &one, &feed, &part);
    wanted &= part.wanted;
    feed_free(&feed);
  }
  s->wanted = wanted;
  return seeded;
}

/* ---- a bundle ---- */

/* The options of a bundle, as far as a model that is compiled again needs them */
static void take_options(Ctx *c, Options *o) {
  json_t *all = manifest_read(c, o->model);
  const json_t *options = json_object_get(all, "options");
  const struct {
    const char *key, **field, *none;
  } taken[] = {
    { "isa", &o->isa, "" },
    { "backend", &o->backend, "" },
    { "precision", &o->precision, "fp32" },
    { "weights_as", &o->weights, "fp32" },
    { "optimize", &o->optimize, "" },
    { "denormals", &o->denormals, "flush" },
  };
  for (size_t i = 0; i < sizeof taken / sizeof *taken; i++) {
    const char *text = json_string_value(json_object_get(options, taken[i].key));
    if (text && strcmp(text, taken[i].none)) *taken[i].field = arena_str(&c->model, text, strlen(text));
  }
  const char *made = json_string_value(json_object_get(json_object_get(all, "source"), "sha256"));
  if (made && o->original) {
    const Bytes m = file_read(c, o->original, (size_t)1 << 40);
    char digest[65];
    sha256_hex(m.p, m.n, digest);
    if (strcmp(digest, made)) warn_at(c, (Pos){ 0 }, "the bundle was made from another file than '%s'", o->original);
  }
  json_decref(all);
}

static void check_same(Ctx *c, const char *kind, const GIO *bundle, size_t n, const GIO *model, size_t m) {
  if (n != m) fail(c, EX_NOINPUT_, "the bundle has %s, and the model has %zu", count_noun(&c->model, (int64_t)n, kind), m);
  for (size_t i = 0; i < n; i++) {
    const GIO *x = &bundle[i], *y = &model[i];
    if (x->dt != y->dt || x->rank != y->rank || memcmp(x->dims, y->dims, (size_t)x->rank * sizeof *x->dims))
      fail(c, EX_NOINPUT_, "the bundle's %s '%s' is %s, and the model's '%s' is %s", kind, x->name,
           type_text(c, x->dt, x->rank, x->dims), y->name, type_text(c, y->dt, y->rank, y->dims));
  }
}

/* The model's options for the sizes of the bundle's runs */
static Options sized_options(Ctx *c, const Verify *v, const Options *o) {
  const Symbols *all = &v->bundle.symbols;
  if (!all->n) return *o;
  Options then = *o;
  if (!o->dims.n) {
    then.dims.p = ARENA_NEW(&c->model, const char *, all->n);
    for (int k = 0; k < all->n; k++)
      then.dims.p[k] = arena_printf(&c->model, "%s=%lld", all->p[k].name, (long long)v->bundle.sizes[k]);
    then.dims.n = (size_t)all->n;
  }
  return one_size(c, &then, all, v->bundle.sizes);
}

/* Refuses options that are about the bundle's model, which is not given. */
static void refuse_of_model(Ctx *c, const Options *o, const Symbols *ranges) {
  static const char *const names[] = { "dim", "result", "capacity", "state", "ort" };
  const char *given = first_change(o);
  for (size_t i = 0; i < sizeof names / sizeof *names && !given; i++)
    if (option_given(o, names[i])) given = names[i];
  if (!given) return;
  if (strcmp(given, "dim")) fail(c, EX_USAGE_, "--%s needs the bundle's model: --model=MODEL", given);
  if (!ranges->n) fail(c, EX_USAGE_, "--dim has no effect on '%s': its sizes were fixed when it was compiled", o->model);
  fail(c, EX_USAGE_, "--dim has no effect on '%s', which is for sizes from %lld to %lld: --size=N chooses one", o->model,
       (long long)ranges->p[0].low, (long long)ranges->p[0].high);
}

/* The reference for a run is the model for its sizes. States that grow have other sizes in the next step. */
static void check_steps(Ctx *c, const Options *o, const Symbols *all) {
  for (int k = 0; k < all->n; k++)
    if (all->p[k].appended && steps_of(o) > 1)
      fail(c, EX_USAGE_, "--steps=%lld: '%s' is another size in each step, and a run is compared at one size: --size",
           (long long)steps_of(o), all->p[k].name);
}

/* Opens a bundle and, with --model, the model it was made from. */
static void open_bundle(Ctx *c, Verify *v, Options *o) {
  v->bundle = interface_read(c, o, o->model);
  if (!o->original) refuse_of_model(c, o, &v->bundle.symbols);
  weights_check(c, o->model, &v->bundle);
  if (v->bundle.symbols.n) { /* the data decide about the sizes */
    RunSizes run;
    Feed first = { 0 };
    Options one = *o;
    one.data = v->sets.p[0];
    feed_read(c, &one, &first);
    feed_size(c, o, &v->bundle.symbols, &first, v->bundle.inputs.p, v->bundle.inputs.n, run);
    interface_at(&v->bundle, run);
    feed_free(&first);
  }
  files_compare(c, o->model);
  take_options(c, o);
  v->target = v->bundle.target;
  v->out = v->bundle.outputs.p;
  v->nout = v->bundle.outputs.n;
  v->stride = v->bundle.inputs.n;
  if (!o->original) return;
  check_steps(c, o, &v->bundle.symbols);
  Feed shapes = { 0 };
  Options then = sized_options(c, v, o);
  then.model = o->original;
  feed_shapes(&v->bundle, &shapes);
  v->g = load_graph(c, &then, &shapes);
  feed_free(&shapes);
  check_same(c, "input", v->bundle.inputs.p, v->bundle.inputs.n, v->g->inputs.p, graph_nin(v->g));
  check_same(c, "output", v->bundle.outputs.p, v->bundle.outputs.n, v->g->outputs.p, graph_nout(v->g));
  v->stride = v->g->inputs.n;
}

/* A bundle for a range of sizes is compiled; its reference is the graph of one size. */
static void take_one_size(Ctx *c, Verify *v, Options *o, const Feed *feed) {
  const Symbols *all = &v->g->ir->symbols;
  RunSizes run;
  o->run_size = feed_size(c, o, all, feed, v->g->inputs.p, graph_nin(v->g), run);
  v->range = v->g;
  check_steps(c, o, all);
  const Options one = one_size(c, o, all, run);
  v->g = load_graph(c, &one, feed);
}

/* Opens a model or a dump. */
static void open_model(Ctx *c, Verify *v, Options *o) {
  Feed feed = { 0 };
  Options first = *o;
  if (o->original) fail(c, EX_USAGE_, "--model has no effect with '%s', which is no bundle", o->model);
  v->from = o->start_after ? resume_read(c, o) : NULL;
  v->target = target_of(c, o);
  if (o->interpret && !v->target->dev)
    fail(c, EX_USAGE_, "--interpret is for kernels of devices, and --isa '%s' is a CPU", v->target->isa);
  first.data = v->sets.p[0];
  feed_read(c, &first, &feed);
  v->g = v->from ? resumed_graph(v->from) : load_graph(c, o, &feed);
  if (v->g->ir->symbols.n || o->run_size) take_one_size(c, v, o, &feed);
  feed_free(&feed);
  v->out = v->g->outputs.p;
  v->nout = graph_nout(v->g);
  v->stride = v->g->inputs.n;
}

static void say_reference(const Verify *v) {
  if (v->g || v->o->json || v->o->quiet) return;
  print_lines(
      "only tolerances are checked: without --model it is not known whether the data or the bundle is nearer to the exact "
      "result",
      2);
}

int verify_model(Ctx *c, const Options *given, json_t **report) {
  Options then = *given;
  const Options *o = &then;
  Verify v = { .o = o, .steps = steps_of(o) };
  const double start = clock_ms();
  v.strict = option_given(o, "rtol") || option_given(o, "atol");
  v.judged = v.strict || !o->requires.n;
  if (o->ort && first_change(o))
    fail(c, EX_USAGE_, "--ort has no effect with --%s: ONNX Runtime has other inputs or outputs then", first_change(o));
  if (o->ort) ort_needs_onnx(c, o->original ? o->original : o->model, "ort");
  find_sets(c, o, &v.sets);
  v.runs = size_mul(v.steps, v.sets.n);
  const bool is_built = is_bundle(o->model);
  if (is_built) open_bundle(c, &v, &then);
  else open_model(c, &v, &then);
  if (o->ort && v.stride > (is_built ? v.bundle.inputs.n : graph_nin(v.g)))
    fail(c, EX_USAGE_, "--ort makes no references for a model with states");
  Steps s = { .in = is_built ? v.bundle.inputs.p : v.g->inputs.p,
              .nin = is_built ? v.bundle.inputs.n : graph_nin(v.g),
              .out = v.out,
              .nout = v.nout,
              .stride = v.stride };
  s.given = v.in = ARENA_NEW(&c->model, Tensor, size_mul(v.runs, s.stride + 1));
  s.want = v.want = ARENA_NEW(&c->model, Tensor, size_mul(v.runs, v.nout + 1));
  v.got = ARENA_NEW(&c->model, Tensor, size_mul(v.runs, v.nout + 1));
  const int seeded = read_sets(c, &v, &s);
  v.from_data = s.wanted || o->ort;
  if (v.from_data && !o->ort && seeded)
    fail(c, EX_NOINPUT_, "the data has outputs but lacks %d of %s", seeded,
         count_noun(&c->model, (int64_t)(v.runs * s.nin), "input"));
  if (!v.from_data && !v.g)
    fail(c, EX_USAGE_, "no reference for '%s': give outputs with --data, or its model with --model", o->model);
  if (!v.from_data) interpret_sets(c, &v, true, v.in, v.want);
  v.report = json_report("verify", o->model);
  v.scratch = scratch_new(c);
  int code = ctx_try(c, build_and_compare, &v);
  scratch_remove(v.scratch);
  if (!code) say_reference(&v);
  if (!code) checks_write(c, o, &v.checks, (clock_ms() - start) * 1e-3);
  if (!code && (v.failed || v.faulty || v.checks.failed)) code = EX_FAILED;
  json_object_update_new(v.report, json_pack("{s:s, s:s, s:f, s:f, s:b, s:i, s:i, s:o}", "reference",
                                             o->ort        ? "onnxruntime"
                                             : v.from_data ? "data"
                                                           : "interpreter",
                                             "isa", v.target->isa, "rtol", o->rtol, "atol", o->atol, "passed", !code, "status",
                                             code, "sets", (int)v.sets.n, "checks", checks_json(&v.checks)));
  *report = v.report;
  checks_free(&v.checks);
  if (is_built) interface_free(&v.bundle);
  VEC_FREE(&v.sets);
  return code;
}

static int verify_once(Ctx *c, const Options *o) {
  json_t *report;
  const int code = verify_model(c, o, &report);
  if (o->json) json_print(report);
  else json_decref(report);
  return code;
}

/* Unless data or --size choose, the usual sizes of a bundle's ranges are tested, as of a model's. */
static Options with_sizes(Ctx *c, const Options *o) {
  Options then = *o;
  if (o->sizes.n || o->json || o->data || o->inputs.n || o->outputs || !is_bundle(o->model)) return then;
  Interface f = interface_read(c, o, o->model);
  memset(&then.sizes, 0, sizeof then.sizes);
  if (f.symbols.n) usual_runs(c, &f.symbols, &then.sizes);
  interface_free(&f);
  return then;
}

int verb_verify(Ctx *c, const Options *o) {
  const Options then = with_sizes(c, o);
  return over_sizes(c, &then, verify_once);
}

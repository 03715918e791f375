/* SPDX-License-Identifier: MIT */
/* verify.c: tgc verify: builds and runs a real bundle and compares its outputs with reference data, or with the graph
 * interpreter on seeded inputs. After a failure it runs the graph again with inner values as outputs, to find the node where it
 * first goes wrong. The verb is here because libtgc verifies, too. */
#include "../cmd.h"
#include "../../compiler/graph/graph.h"
#include "../../runtime_stub/tgcrt.h"
#include <math.h>
#include <string.h>

enum { SIGMAS = 8 };     /* standard deviations by which an element may be off */
#define CAP 0x1p-3       /* share of the largest value; larger errors are not small */

typedef struct Verify {
  const Options *o;
  const Target *target;
  Graph *g;
  Graph *range;    /* the graph of a range of sizes, which is compiled in place of g; NULL: no range */
  const char *scratch;
  size_t steps, nout;       /* number of runs; outputs per run */
  Tensor *in, *want, *got;  /* tensors of all runs; in includes the states */
  bool from_data;  /* want comes from the user, not from the interpreter */
  Tensor *exact;   /* the interpreter's outputs; NULL: not computed yet */
  double *excused; /* by output of a run: error of the data that explains a difference; 0: none */
  json_t *report;
  int failed; /* number of failed outputs */
  bool faulty; /* threads race in the interpreter */
  size_t first_failed;
  const Graph *compiled; /* after the passes; NULL: the outputs came from elsewhere */
  Resumed *from;         /* the dump with the plan; NULL: a model */
} Verify;

/* The worst error from rounding to the graph's own types, over the elements of one output. */
static double rounding_cost(const Tensor *rounded, const Tensor *exact) {
  double cost = 0;
  for (int64_t i = 0; i < exact->elems; i++) {
    double d = fabs(tensor_at(rounded, i) - tensor_at(exact, i));
    if (isfinite(d)) cost = fmax(cost, d);
  }
  return cost;
}

static json_t *real_json(double v) { return isfinite(v) ? json_real(v) : json_string(isnan(v) ? "nan" : "inf"); }

static DType computed_in(const Verify *v, size_t output) {
  Precision p = v->o->precision ? precision_named(v->o->precision) : PREC_FP32;
  const Storage w = v->o->weights ? storage_named(v->o->weights) : STORE_FP32;
  return p == PREC_BF16 || w == STORE_BF16 || w == STORE_INT8 || w == STORE_INT4 ? DT_BF16
         : p == PREC_FP16 || w == STORE_FP16                                     ? DT_F16
                                                                                 : v->want[output].dt;
}

/* Compiling may change the list of outputs, but the search for suspects needs the original one. */
static Graph *same_graph(Ctx *c, const Graph *g) {
  Graph *h = arena_dup(&c->model, g, sizeof *g);
  h->inputs.p = arena_dup(&c->model, g->inputs.p, g->inputs.n * sizeof *g->inputs.p);
  h->outputs.p = arena_dup(&c->model, g->outputs.p, g->outputs.n * sizeof *g->outputs.p);
  return h;
}

/* The relative error that a precision adds to each product in a sum; docs/numerics.md has the bounds. */
static double product_error(const Verify *v) {
  const Precision p = v->o->precision ? precision_named(v->o->precision) : PREC_FP32;
  const double split = p == PREC_STRICT ? 0 : p == PREC_FAST || p == PREC_BF16X3 ? 0x1p-14 : 0x1p-23;
  const double narrow = p == PREC_BF16 ? 0x1p-7 : p == PREC_FP16 ? 0x1p-11 : 0;
  return split + narrow;
}

/* By output of a run: the variance of each element from roundings, in the graph as passes made it, since their transforms
 * amplify errors. The graph is taken before sums are split into bf16, whose roundings cancel; product_error stands for those.
 * NULL: not known. */
static Tensor *variances(Ctx *c, const Verify *v) {
  Options o = *v->o;
  o.stop_after = "padding_split";
  o.quiet = true;
  o.dump = NULL;
  if (v->steps > 1 || o.weights || v->from) return NULL;
  Graph *g = same_graph(c, v->g);
  plan_of(&o, g, v->target, NULL);
  const Tensor **params = ARENA_NEW(&c->model, const Tensor *, g->inputs.n + 1);
  Ref *refs = ARENA_NEW(&c->model, Ref, g->outputs.n + 1);
  Tensor *out = ARENA_NEW(&c->model, Tensor, g->outputs.n + 1);
  for (size_t i = 0; i < g->inputs.n; i++) params[i] = &v->in[i];
  for (size_t i = 0; i < v->nout; i++) refs[i] = g->outputs.p[i].ref;
  if (!graph_variance(g->ir, refs, (int)v->nout, product_error(v), refs)) return NULL;
  return interp_graph(g->ir, refs, (int)v->nout, params, &c->model, true, 0, out) ? out : NULL;
}

/* Largest error that the error model allows for an element, among those outside the tolerance but inside the model's limit. 0:
 * some element is outside of both. To first order the model is right for errors that are small beside the values. A recurrence,
 * or a root near 0, may amplify without limit; so above CAP of the largest value, only the error of the rounding interpreter
 * itself is allowed. */
static double allowed(const Verify *v, size_t output, const Tensor *variance, double fallback) {
  const Tensor *got = &v->got[output], *want = &v->want[output];
  double most = 0, largest = 0;
  for (int64_t i = 0; i < want->elems; i++)
    if (isfinite(tensor_at(want, i))) largest = fmax(largest, fabs(tensor_at(want, i)));
  const double cap = fmax(CAP * largest, fallback);
  for (int64_t i = 0; i < want->elems; i++) {
    const double x = tensor_at(got, i), y = tensor_at(want, i), d = fabs(x - y);
    const double room = fmin(cap, SIGMAS * sqrt(tensor_at(variance, i)));
    if (x == y || (isnan(x) && isnan(y)) || d <= v->o->atol + v->o->rtol * fabs(y)) continue;
    if (!(d <= room)) return 0;
    most = fmax(most, room);
  }
  return most;
}

/* Data has rounding errors of its own. Where large terms cancel, even the exact result is outside a relative tolerance of the
 * data. So a failure is examined again. Outputs are right if they are about as close to the exact result (the interpreter's, in
 * double) as the data is. The data must be close at all. Without data, each element may be off by eight standard deviations of
 * its rounding error (variance.c). For several steps, and for weights in few bits, that is not known. There, outputs may be off
 * by four times the error of the rounding interpreter. */
static void judge(Ctx *c, Verify *v, Diff *d) {
  size_t n = v->steps * v->nout;
  bool any = false;
  for (size_t i = 0; i < n; i++) {
    d[i] = tensor_compare(&v->got[i], &v->want[i], v->o->rtol, v->o->atol);
    any |= d[i].bad > 0;
  }
  if (!any) return;
  if (!v->from_data) { /* want is exact; a graph that amplifies errors does so for any arithmetic */
    const Tensor *variance = variances(c, v);
    Tensor *rounded = ARENA_NEW(&c->model, Tensor, n);
    Tensor *in = arena_dup(&c->model, v->in, v->steps * v->g->inputs.n * sizeof *in);
    interpret(c, v->o, v->g, v->steps, false, in, rounded);
    Tensor *chosen = rounded; /* arithmetic that a pass chose, which may round more, within limits */
    if (v->compiled && v->steps == 1) interpret(c, v->o, v->compiled, 1, false, in, chosen = ARENA_NEW(&c->model, Tensor, n));
    for (size_t i = 0; i < n; i++) {
      double more = d[i].bad ? reference_error(&chosen[i], &v->want[i], computed_in(v, i)) : 0;
      double room = d[i].bad ? 4 * fmax(rounding_cost(&rounded[i], &v->want[i]), isfinite(more) ? more : 0) : 0;
      if (d[i].bad && variance) v->excused[i] = allowed(v, i, &variance[i], room);
      else if (d[i].bad && !tensor_compare(&v->got[i], &v->want[i], v->o->rtol, fmax(v->o->atol, room)).bad) v->excused[i] = room;
    }
    return;
  }
  v->exact = ARENA_NEW(&c->model, Tensor, n);
  interpret(c, v->o, v->g, v->steps, true, v->in, v->exact);
  for (size_t i = 0; i < n; i++) {
    double error = d[i].bad ? reference_error(&v->want[i], &v->exact[i], v->want[i].dt) : 0;
    if (d[i].bad && isfinite(error) && !tensor_compare(&v->got[i], &v->exact[i], v->o->rtol, fmax(v->o->atol, 2 * error)).bad)
      v->excused[i] = error;
  }
}

static void report_output(Ctx *c, const Verify *v, size_t i, const Diff *d, json_t *list) {
  const GIO *out = &v->g->outputs.p[i % v->nout];
  bool passed = !d->bad || v->excused[i] > 0;
  const OutputError e = output_error(&v->got[i], &v->want[i]);
  json_array_append_new(list, json_pack("{s:o, s:b, s:I, s:I, s:o, s:o, s:o, s:o, s:o, s:o}", "name", json_text(out->name),
                                        "passed", passed, "elements", (json_int_t)v->want[i].elems, "outside", (json_int_t)d->bad,
                                        "max_ulp", real_json(d->max_ulp), "max_relative", real_json(d->max_rel), "max_absolute",
                                        real_json(d->max_abs), "rms", real_json(e.rms), "largest", real_json(e.largest),
                                        "reference_error", real_json(v->excused[i])));
  if (v->o->json) return;
  enum { AT = 7 }; /* the column after the verdict */
  Sb s = { 0 };
  printf("%s ", paint(v->o, stdout, passed ? PAINT_OK : PAINT_ERROR, passed ? "ok    " : "FAILED", &c->model));
  if (v->steps > 1) sb_printf(&s, "%zu: ", i / v->nout);
  sb_printf(&s, "%s %s  max ULP %.6g  max relative %.3g  max absolute %.3g", out->name,
            type_text(c, out->dt, out->rank, out->dims), d->max_ulp, d->max_rel, d->max_abs);
  if (d->bad) sb_printf(&s, "  %lld of %lld outside", (long long)d->bad, (long long)v->want[i].elems);
  if (d->bad && !passed)
    sb_printf(&s, ", worst [%lld] %.9g for %.9g", (long long)d->worst, tensor_at(&v->got[i], d->worst),
              tensor_at(&v->want[i], d->worst));
  if (d->bad && passed && v->from_data)
    sb_printf(&s, ", but near the exact result; the data differs from it by up to %.3g", v->excused[i]);
  if (d->bad && passed && !v->from_data)
    sb_printf(&s, ", but by less than the %.3g that roundings may cost", v->excused[i]);
  print_words(s.p, AT, AT, terminal_width(stdout));
  sb_free(&s);
  if (v->o->precision) error_print_one(out->name, &e);
}

static void blame(Ctx *c, Verify *v) {
  bool import = false;
  for (size_t i = 0; v->exact && i < v->steps * v->nout; i++)
    import |= tensor_compare(&v->exact[i], &v->want[i], v->o->rtol, v->o->atol).bad &&
              isinf(reference_error(&v->want[i], &v->exact[i], v->want[i].dt));
  if (v->exact) json_object_set_new(v->report, "interpreter_agrees", json_boolean(!import));
  if (import && !v->o->json)
    print_lines("the interpreter disagrees with the data as well: tgc read the model wrongly, or the data belongs to another "
                "model", 2);
  if (!import) find_suspects(c, v->o, v->g, v->target, v->scratch, v->in + v->first_failed / v->nout * v->g->inputs.n, v->report);
}

/* Outputs from another machine, for all steps: raw, dense, one behind the other. */
static void read_outputs(Ctx *c, Verify *v) {
  size_t at = 0;
  const Bytes b = file_read(c, v->o->outputs, 0);
  for (size_t i = 0; i < v->steps * v->nout; i++) {
    const GIO *io = &v->g->outputs.p[i % v->nout];
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

static void build_and_compare(Ctx *c, void *arg) {
  Verify *v = arg;
  size_t n = v->steps * v->nout;
  if (v->o->outputs) read_outputs(c, v);
  else {
    Plan *p = plan_from(v->o, v->range ? v->range : v->from ? v->g : same_graph(c, v->g), v->target, v->from, NULL, NULL);
    v->compiled = v->range ? NULL : p->g;
    int status = 0;
    if (v->o->interpret) run_interpreted(c, v, p);
    else status = plan_execute(c, v->o, p, v->scratch, v->steps, v->in, v->got);
    if (status) fail(c, EX_FAILED, "the model returned status %d: %s", status, tgcrt_strerror(status));
  }
  Diff *d = ARENA_NEW(&c->model, Diff, n + 1);
  json_t *list = json_array();
  v->excused = ARENA_NEW(&c->model, double, n + 1);
  judge(c, v, d);
  for (size_t i = 0; i < n; i++) {
    report_output(c, v, i, &d[i], list);
    if (d[i].bad && !v->excused[i] && !v->failed++) v->first_failed = i;
  }
  json_object_set_new(v->report, "outputs", list);
  fflush(stdout); /* the search for suspects takes a while */
  const bool same_code = !v->o->outputs && !v->o->interpret && !v->from && !v->range; /* in bundles that end at inner values */
  if (v->failed && same_code) blame(c, v);
}

int verify_model(Ctx *c, const Options *given, json_t **report) {
  Feed feed = { 0 };
  Options then = *given;
  const Options *o = &then;
  Verify v = { .o = o, .from = o->start_after ? resume_read(c, &then) : NULL };
  v.target = target_of(c, o, "native");
  if (o->interpret && !v.target->dev)
    fail(c, EX_USAGE_, "--interpret is for kernels of devices, and --isa '%s' is a CPU", v.target->isa);
  feed_read(c, o, &feed);
  v.g = v.from ? resumed_graph(v.from) : load_graph(c, o, &feed);
  const Symbol *symbol = &v.g->ir->symbol;
  if (symbol->name || o->run_size) { /* the reference is the graph of one size */
    then.run_size = feed_size(c, o, symbol, &feed, v.g->inputs.p, graph_nin(v.g));
    v.range = v.g;
    const Options one = one_size(c, o, symbol, then.run_size);
    v.g = load_graph(c, &one, &feed);
  }
  Steps s = { .in = v.g->inputs.p, .out = v.g->outputs.p, .nin = graph_nin(v.g), .stride = v.g->inputs.n };
  v.steps = steps_of(o);
  s.nout = v.nout = graph_nout(v.g);
  s.given = v.in = ARENA_NEW(&c->model, Tensor, size_mul(v.steps, s.stride + 1));
  s.want = v.want = ARENA_NEW(&c->model, Tensor, size_mul(v.steps, v.nout + 1));
  v.got = ARENA_NEW(&c->model, Tensor, size_mul(v.steps, v.nout + 1));
  const int seeded = feed_steps(c, o, &feed, &s);
  v.from_data = s.wanted;
  if (v.from_data && seeded) fail(c, EX_NOINPUT_, "the data has outputs but lacks %d of %zu inputs", seeded, v.steps * s.nin);
  if (!v.from_data) interpret(c, o, v.g, v.steps, true, v.in, v.want);
  v.report = json_report("verify", o->model);
  v.scratch = scratch_new(c);
  int code = ctx_try(c, build_and_compare, &v);
  scratch_remove(v.scratch);
  feed_free(&feed);
  if (!code && (v.failed || v.faulty)) code = EX_FAILED;
  json_object_update_new(v.report,
                         json_pack("{s:s, s:s, s:f, s:f, s:b, s:i}", "reference", v.from_data ? "data" : "interpreter", "isa",
                                   v.target->isa, "rtol", o->rtol, "atol", o->atol, "passed", !code, "status", code));
  *report = v.report;
  return code;
}

static int verify_once(Ctx *c, const Options *o) {
  json_t *report;
  const int code = verify_model(c, o, &report);
  if (o->json) json_print(report);
  else json_decref(report);
  return code;
}

int verb_verify(Ctx *c, const Options *o) { return over_sizes(c, o, verify_once); }

/* SPDX-License-Identifier: MIT */
/* run.c: tgc run: runs a model or a bundle on this machine. */
#include "../cmd.h"
#include "../../runtime_stub/tgcrt.h"
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

typedef struct Run {
  const Options *o;
  const char *scratch;
  Plan *plan; /* NULL: the argument is a bundle */
  Interface bundle;
  const Tensor *in;
  Tensor *out;
  int status;
} Run;

static void execute(Ctx *c, void *arg) {
  Run *r = arg;
  size_t n = steps_of(r->o);
  if (r->plan) r->status = plan_execute(c, r->o, r->plan, r->scratch, n, n, r->in, r->out);
  else r->status = bundle_execute(c, r->o, r->o->model, r->scratch, &r->bundle, n, n, r->bundle.inputs.n, r->in, r->out);
}

/* saves each of several steps into its own folder */
static void save_all(Ctx *c, const Options *o, const char *dir, const GIO *v, const Tensor *t, size_t n) {
  const char *format = o->format ? o->format : "npy";
  if (mkdir(dir, 0777) && errno != EEXIST) fail(c, EX_NOWRITE, "cannot create '%s': %s", dir, strerror(errno));
  for (size_t i = 0; i < n; i++)
    tensor_save(c, arena_printf(&c->model, "%s/output_%zu.%s", dir, i, format), format, v[i].name, &t[i]);
}

static int run_once(Ctx *c, const Options *given) {
  Feed feed = { 0 };
  Options then = *given;
  const Options *o = &then;
  Run r = { .o = o };
  RunSizes run;
  feed_read(c, o, &feed);
  Steps s = { 0 };
  const size_t steps = steps_of(o);
  if (is_bundle(o->model)) {
    r.bundle = interface_read(c, o, o->model);
    weights_check(c, o->model, &r.bundle);
    if (feed_size(c, o, &r.bundle.symbols, &feed, r.bundle.inputs.p, r.bundle.inputs.n, run)) interface_at(&r.bundle, run);
    s.in = r.bundle.inputs.p, s.nin = s.stride = r.bundle.inputs.n;
    s.out = r.bundle.outputs.p, s.nout = r.bundle.outputs.n;
  } else {
    const Target *t = target_of(c, o);
    machine_tell_default(c, o);
    r.plan = plan_of(o, load_graph(c, o, &feed), t, NULL);
    then.run_size = feed_size(c, o, &r.plan->ir->symbols, &feed, r.plan->g->inputs.p, graph_nin(r.plan->g), run);
    s.in = values_of_run(c, r.plan->ir, r.plan->g->inputs.p, r.plan->g->inputs.n, run), s.nin = graph_nin(r.plan->g);
    s.stride = r.plan->g->inputs.n;
    s.out = r.plan->g->outputs.p, s.nout = graph_nout(r.plan->g);
  }
  const GIO *out = s.out;
  const size_t nout = s.nout;
  r.in = s.given = ARENA_NEW(&c->model, Tensor, size_mul(steps, s.stride + 1));
  const int seeded = feed_steps(c, o, &feed, &s);
  if (seeded)
    warn_at(c, (Pos){ 0 }, "%d of %s %s random, from seed %lld; --input and --data give values", seeded,
            count_noun(&c->model, (int64_t)(steps * s.nin), "input"), seeded == 1 ? "is" : "are", (long long)o->seed);
  r.out = ARENA_NEW(&c->model, Tensor, size_mul(steps, nout + 1));
  r.scratch = scratch_new(c);
  int code = ctx_try(c, execute, &r);
  scratch_remove(r.scratch);
  if (code) return code;
  if (r.status) fail(c, EX_FAILED, "the model returned status %d: %s", r.status, tgcrt_strerror(r.status));
  if (o->out && steps == 1) save_all(c, o, o->out, out, r.out, nout);
  if (o->out && steps > 1 && mkdir(o->out, 0777) && errno != EEXIST)
    fail(c, EX_NOWRITE, "cannot create '%s': %s", o->out, strerror(errno));
  for (size_t i = 0; o->out && i < steps && steps > 1; i++)
    save_all(c, o, arena_printf(&c->model, "%s/step_%zu", o->out, i), out, r.out + i * nout, nout);
  json_t *list = json_array();
  for (size_t i = 0; i < steps * nout; i++) {
    if (!o->json && (!o->out || o->verbose)) tensor_summary(c, out[i % nout].name, &r.out[i]);
    json_array_append_new(list, tensor_json(out[i % nout].name, &r.out[i]));
  }
  json_t *report = json_report("run", o->model);
  json_object_set_new(report, "seeded_inputs", json_integer(seeded));
  json_object_set_new(report, "outputs", list);
  if (o->json) json_print(report);
  else json_decref(report);
  interface_free(&r.bundle);
  feed_free(&feed);
  return EX_DONE;
}

int verb_run(Ctx *c, const Options *o) { return over_sizes(c, o, run_once); }

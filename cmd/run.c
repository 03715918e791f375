/* run.c: tgc run: a model or a bundle, once, on this machine. */
#include "cmd.h"
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
  if (r->plan) r->status = plan_execute(c, r->o, r->plan, r->scratch, r->in, r->out);
  else r->status = bundle_execute(c, r->o, r->o->model, r->scratch, &r->bundle, r->in, r->out);
}

static void save_all(Ctx *c, const Options *o, const GIO *v, const Tensor *t, size_t n) {
  const char *format = o->format ? o->format : "npy";
  if (mkdir(o->out, 0777) && errno != EEXIST) fail(c, EX_NOWRITE, "cannot create '%s': %s", o->out, strerror(errno));
  for (size_t i = 0; i < n; i++)
    tensor_save(c, arena_printf(&c->model, "%s/output_%zu.%s", o->out, i, format), format, v[i].name, &t[i]);
}

int verb_run(Ctx *c, const Options *o) {
  Feed feed = { 0 };
  Run r = { .o = o };
  feed_read(c, o, &feed);
  const GIO *in, *out;
  size_t nin, nout;
  if (is_bundle(o->model)) {
    r.bundle = interface_read(c, o->model);
    in = r.bundle.inputs.p, nin = r.bundle.inputs.n;
    out = r.bundle.outputs.p, nout = r.bundle.outputs.n;
  } else {
    const Target *t = target_of(c, o, "native");
    r.plan = plan_of(o, load_graph(c, o, &feed), t, NULL);
    in = r.plan->g->inputs.p, nin = r.plan->g->inputs.n;
    out = r.plan->g->outputs.p, nout = r.plan->g->outputs.n;
  }
  Tensor *given = ARENA_NEW(&c->model, Tensor, nin + 1);
  int seeded = feed_inputs(c, &feed, in, (int)nin, o->seed, given);
  if (seeded) warn_at(c, (Pos){ 0 }, "%d of %zu inputs come from seed %lld (--input, --data)", seeded, nin, (long long)o->seed);
  r.in = given;
  r.out = ARENA_NEW(&c->model, Tensor, nout + 1);
  r.scratch = scratch_new(c);
  int code = ctx_try(c, execute, &r);
  scratch_remove(r.scratch);
  if (code) return code;
  if (r.status) fail(c, EX_FAILED, "the model returned status %d", r.status);
  if (o->out) save_all(c, o, out, r.out, nout);
  json_t *list = json_array();
  for (size_t i = 0; i < nout; i++) {
    if (!o->json && (!o->out || o->verbose)) tensor_summary(c, out[i].name, &r.out[i]);
    json_array_append_new(list, tensor_json(out[i].name, &r.out[i]));
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

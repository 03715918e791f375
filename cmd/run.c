/* run.c: tgc run: a model or a bundle, once, on this machine. */
#include "cmd.h"
#include "../runtime_stub/tgcrt.h"
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
  if (r->plan) r->status = plan_execute(c, r->o, r->plan, r->scratch, n, r->in, r->out);
  else r->status = bundle_execute(c, r->o, r->o->model, r->scratch, &r->bundle, n, r->bundle.inputs.n, r->in, r->out);
}

/* of several steps, each into a folder of its own */
static void save_all(Ctx *c, const Options *o, const char *dir, const GIO *v, const Tensor *t, size_t n) {
  const char *format = o->format ? o->format : "npy";
  if (mkdir(dir, 0777) && errno != EEXIST) fail(c, EX_NOWRITE, "cannot create '%s': %s", dir, strerror(errno));
  for (size_t i = 0; i < n; i++)
    tensor_save(c, arena_printf(&c->model, "%s/output_%zu.%s", dir, i, format), format, v[i].name, &t[i]);
}

int verb_run(Ctx *c, const Options *o) {
  Feed feed = { 0 };
  Run r = { .o = o };
  feed_read(c, o, &feed);
  const GIO *in, *out;
  size_t nin, nout, stride, steps = steps_of(o);
  if (is_bundle(o->model)) {
    r.bundle = interface_read(c, o->model);
    in = r.bundle.inputs.p, nin = stride = r.bundle.inputs.n;
    out = r.bundle.outputs.p, nout = r.bundle.outputs.n;
  } else {
    const Target *t = target_of(c, o, "native");
    r.plan = plan_of(o, load_graph(c, o, &feed), t, NULL);
    in = r.plan->g->inputs.p, nin = graph_nin(r.plan->g), stride = r.plan->g->inputs.n;
    out = r.plan->g->outputs.p, nout = graph_nout(r.plan->g);
  }
  Tensor *given = ARENA_NEW(&c->model, Tensor, size_mul(steps, stride + 1));
  bool wanted;
  int seeded = feed_steps(c, o, &feed, in, nin, stride, given, out, nout, NULL, &wanted);
  if (seeded)
    warn_at(c, (Pos){ 0 }, "%d of %zu inputs come from seed %lld (--input, --data)", seeded, steps * nin, (long long)o->seed);
  r.in = given;
  r.out = ARENA_NEW(&c->model, Tensor, size_mul(steps, nout + 1));
  r.scratch = scratch_new(c);
  int code = ctx_try(c, execute, &r);
  scratch_remove(r.scratch);
  if (code) return code;
  if (r.status) fail(c, EX_FAILED, "the model returned status %d: %s", r.status, tgcrt_strerror(r.status));
  if (o->out && steps == 1) save_all(c, o, o->out, out, r.out, nout);
  if (o->out && steps > 1 && mkdir(o->out, 0777) && errno != EEXIST)
    fail(c, EX_NOWRITE, "cannot create '%s': %s", o->out, strerror(errno));
  for (size_t s = 0; o->out && s < steps && steps > 1; s++)
    save_all(c, o, arena_printf(&c->model, "%s/step_%zu", o->out, s), out, r.out + s * nout, nout);
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

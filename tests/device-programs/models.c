/* Models as device programs: models MODEL [NAME=SIZE...] compiles the model for gpu-any, runs all of its launches in the
 * interpreter, and compares the outputs with those of its graph. Prints "ok", "fail" or "refused" with counts, on one line:
 * kernels, launches, parts of these, accesses, those proved by the values of loops, those clamped
 * as unproved, steps. */
#include "../../backends/backends.h"
#include "../../compiler/driver.h"
#include "../../compiler/interp/interp.h"
#include "../../compiler/interp/interp_threads.h"
#include "../../compiler/lower/lower.h"
#include "../../frontends/frontends.h"
#include "../case/outputs.h"
#include <stdlib.h>

/* What rounding may change, as a part of the largest element: sums in another order, and halves that are computed with in f32 */
static double tolerance(DType d) { return d == DT_F16 ? 2e-3 : d == DT_BF16 ? 1.6e-2 : 1e-4; }

typedef struct Job {
  const char *path;
  LoadOptions load;
  Sb said;                 /* what is wrong; empty: nothing */
  int64_t kernels, launches, parts, accesses, by_ranges, clamped, steps;
} Job;

/* Small numbers; whole ones of integers, which are often indices, and not negative */
static Tensor example(Ctx *c, const GIO *io) {
  Tensor t = { .dt = io->dt, .rank = io->rank, .elems = dims_elems(io->dims, io->rank) };
  char *p = arena_alloc(&c->model, (size_t)t.elems * (size_t)dt_bytes(t.dt) + 1);
  for (int64_t i = 0; i < t.elems; i++) {
    const double v = dt_float(t.dt) ? (double)(i * 7919 % 23 - 11) / 8 : (double)(i * 7 % 3);
    const int64_t bits = double_to_bits(t.dt, v);
    memcpy(p + i * dt_bytes(t.dt), &bits, (size_t)dt_bytes(t.dt));
  }
  memcpy(t.dims, io->dims, sizeof t.dims);
  t.data = p;
  return t;
}

static void compare(Job *j, size_t output, const Tensor *want, const char *got) {
  const int64_t i = outputs_differ(want, got, tolerance(want->dt), 1e-3);
  if (i >= 0)
    sb_printf(&j->said, "output %zu[%lld] is %g in place of %g; ", output, (long long)i, output_element(want, got, i),
              output_element(want, want->data, i));
}

static void run_launch(Job *j, const Plan *p, const Launch *l, size_t kernel, void *const *mem) {
  const Device *d = p->in->target->dev;
  LaunchReport r = { 0 };
  Sb why = { 0 };
  bool good = device_takes(d, p->ir, l, &why);
  if (!good) sb_printf(&j->said, "kernel %zu: %s; ", kernel, why.p);
  good = interp_launch_orders(p->ir, l, d, mem, 0, &r);
  if (!good) sb_printf(&j->said, "kernel %zu: %s; ", kernel, r.text.p);
  j->steps += r.steps;
  j->launches++;
  LaunchPart part;
  for (size_t from = 0; launch_part(p->ir, l->prog.p, l->prog.n, from, &part); from = part.last + 1) j->parts++;
  launch_report_free(&r);
  sb_free(&why);
}

static void run_plan(Job *j, const Plan *p, void *const *mem) {
  for (size_t k = 0; k < p->kernels.n; k++) {
    const Kernel *x = &p->kernels.p[k];
    Launches launches = { 0 };
    ir_verify_program(p->ir, x->prog.p, x->prog.n);
    launches_of(p->ir, x->prog.p, x->prog.n, &launches);
    for (size_t i = 0; i < launches.n; i++) run_launch(j, p, &launches.p[i], k, mem);
    launches_free(&launches);
    j->kernels++;
    j->accesses += x->bounds.accesses;
    j->by_ranges += x->bounds.by_ranges;
    j->clamped += x->bounds.clamped;
  }
}

static void run_model(Ctx *c, void *arg) {
  Job *j = arg;
  Graph *g = model_load(c, j->path, &j->load);
  const size_t nin = g->inputs.n, nout = g->outputs.n;
  Tensor *in = ARENA_NEW(&c->model, Tensor, nin + 1), *want = ARENA_NEW(&c->model, Tensor, nout + 1);
  const Tensor **given = ARENA_NEW(&c->model, const Tensor *, nin + 1);
  Ref *roots = ARENA_NEW(&c->model, Ref, nout + 1);
  void **out = ARENA_NEW(&c->model, void *, nout + 1);
  if (g->states.n) fail(c, EX_BADMODEL, "states are not run here");
  for (size_t i = 0; i < nin; i++) in[i] = example(c, &g->inputs.p[i]), given[i] = &in[i];
  for (size_t i = 0; i < nout; i++) {
    roots[i] = g->outputs.p[i].ref;
    out[i] = arena_alloc(&c->model, (size_t)dims_elems(g->outputs.p[i].dims, g->outputs.p[i].rank) *
                                      (size_t)dt_bytes(g->outputs.p[i].dt) + 1);
  }
  CHECK(interp_graph(g->ir, roots, (int)nout, given, &c->model, false, 0, want));
  const Plan *p = compile_graph(g, &(CompileOptions){ .target = device_target("gpu-any"), .backend = backends[0] });
  char *arena = arena_alloc(&c->model, (size_t)p->memory.arena_bytes + 1);
  void **mem = ARENA_NEW(&c->model, void *, p->ir->bufs.n + 1);
  for (size_t b = 0; b < p->ir->bufs.n; b++) mem[b] = buffer_memory(p, &p->ir->bufs.p[b], in, out, arena);
  if (!plan_in_bounds(p, &j->said)) sb_puts(&j->said, "; ");
  run_plan(j, p, mem);
  for (size_t i = 0; i < graph_nout(g); i++) compare(j, i, &want[i], out[i]);
}

int main(int argc, char **argv) {
  DimValue dim[32];
  Job j = { .path = argv[1], .load = { .dims = dim } };
  Ctx c;
  for (int i = 2; i < argc && i < 34; i++) {
    char *equals = strrchr(argv[i], '=');
    if (!equals) return 64;
    *equals = 0;
    dim[j.load.ndims++] = (DimValue){ argv[i], strtoll(equals + 1, NULL, 10) };
  }
  ctx_init(&c);
  const int code = ctx_try(&c, run_model, &j);
  if (j.said.n)
    for (char *s = j.said.p; *s; s++) *s = *s == '\n' ? ' ' : *s;
  printf("%s %lld kernels, %lld launches, %lld parts, %lld accesses, %lld by ranges, %lld clamped, %lld steps %s\n",
         code == EX_BADMODEL ? "refused" : code || j.said.n ? "fail" : "ok", (long long)j.kernels, (long long)j.launches,
         (long long)j.parts,
         (long long)j.accesses, (long long)j.by_ranges, (long long)j.clamped, (long long)j.steps, j.said.n ? j.said.p : "");
  ctx_free(&c);
  return 0;
}

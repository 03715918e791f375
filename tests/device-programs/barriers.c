/* Barriers that count: barriers MODEL [NAME=SIZE...] compiles the model for gpu-any and runs each launch again and again, each time
 * without one of its barriers. What is missing must be reported, else the barrier stands there for nothing. Memory holds small
 * numbers. Prints "N barriers, N reported", and the kernels of those that are not. */
#include "../../backends/backends.h"
#include "../../compiler/driver.h"
#include "../../compiler/interp/interp_threads.h"
#include "../../frontends/frontends.h"
#include <stdlib.h>

enum { MOST_STEPS = 200000 };  /* of a launch; of a longer one some blocks run */

typedef struct Job {
  const char *path;
  LoadOptions load;
  int barriers, reported;
  Sb unreported;
} Job;

static void **fill_memory(const Plan *p) {
  const IR *ir = p->ir;
  void **mem = ARENA_NEW(&ir->ctx->model, void *, ir->bufs.n + 1);
  for (size_t i = 0; i < ir->bufs.n; i++) {
    const Buf *b = &ir->bufs.p[i];
    if (buf_is_own(b->kind)) continue;
    char *to = mem[i] = arena_alloc(&ir->ctx->model, (size_t)(b->elems * dt_bytes(b->dt)) + 1);
    for (int64_t k = 0; k < b->elems; k++) {
      const int64_t bits = double_to_bits(b->dt, (double)(k * 7919 % 5 + (dt_float(b->dt) ? 1 : 0)));
      memcpy(to + k * dt_bytes(b->dt), &bits, (size_t)dt_bytes(b->dt));
    }
  }
  return mem;
}

static bool reported(const Plan *p, Refs prog, void **mem) {
  const Launch l = launch_of(p->ir, prog);
  const Device *d = p->in->target->dev;
  LaunchReport r = { 0 };
  interp_launch(p->ir, &l, d, mem, (ThreadOrder){ .warp = d->warp }, MOST_STEPS, &r);
  const bool any = launch_faults(&r) > 0;
  launch_report_free(&r);
  return any;
}

static void delete_each(Job *j, const Plan *p, const Launch *l, size_t kernel, void **mem) {
  for (size_t i = 0; i < l->prog.n; i++) {
    if (node(p->ir, l->prog.p[i])->op != OP_BARRIER) continue;
    Refs without = { 0 };
    for (size_t k = 0; k < l->prog.n; k++)
      if (k != i) VEC_PUSH(&without, l->prog.p[k]);
    const bool said = reported(p, without, mem);
    j->barriers++;
    j->reported += said;
    if (!said) sb_printf(&j->unreported, " kernel %zu, step %zu;", kernel, i);
    VEC_FREE(&without);
  }
}

static void run_model(Ctx *c, void *arg) {
  Job *j = arg;
  Graph *g = model_load(c, j->path, &j->load);
  const Plan *p = compile_graph(g, &(CompileOptions){ .target = device_target("gpu-any"), .backend = backends[0] });
  void **mem = fill_memory(p);
  for (size_t k = 0; k < p->kernels.n; k++) {
    Launches launches = { 0 };
    launches_of(p->ir, p->kernels.p[k].prog.p, p->kernels.p[k].prog.n, &launches);
    for (size_t i = 0; i < launches.n; i++) delete_each(j, p, &launches.p[i], k, mem);
    launches_free(&launches);
  }
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
  printf("%d barriers, %d reported;%s\n", j.barriers, j.reported, j.unreported.n ? j.unreported.p : "");
  sb_free(&j.unreported);
  ctx_free(&c);
  return code;
}

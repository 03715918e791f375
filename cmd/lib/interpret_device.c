/* SPDX-License-Identifier: MIT */
/* interpret_device.c: runs the kernels of a plan for a device in the interpreter, launch by launch, as the runtime would on the
 * device. The interpreter takes several orders of threads and reports races between them.
 *
 * needs: a plan after all passes    gives: outputs and reports    breaks: nothing */
#include "../cmd.h"
#include "../../compiler/interp/interp_threads.h"
#include "../../runtime_stub/tgcrt.h"
#include <string.h>

typedef struct DeviceRun {
  Ctx *c;
  const Plan *p;
  const Tensor *in;        /* inputs of the current run */
  void **out;
  unsigned char *arena;
  void **mem;              /* by buffer */
  tgcrt_state *states;
  json_t *reports;         /* strings */
  size_t done, all;        /* kernels: run so far, and in all steps */
} DeviceRun;

static void *aligned(Ctx *c, int64_t bytes) {
  const uintptr_t at = (uintptr_t)arena_alloc(&c->model, (size_t)bytes + 2 * TGCRT_ALIGN);
  return (void *)((at + TGCRT_ALIGN - 1) / TGCRT_ALIGN * TGCRT_ALIGN);
}

static unsigned char *state_memory(const DeviceRun *r) { return r->arena + r->p->memory.state_at; }

static void open_states(DeviceRun *r) {
  const size_t n = r->p->memory.states.n;
  r->states = ARENA_NEW(&r->c->model, tgcrt_state, n + 1);
  for (size_t k = 0; k < n; k++) r->states[k] = state_row(&r->p->memory.states.p[k]);
  tgcrt_state_reset(r->states, n, state_memory(r), r->p->weights.p);
}

static void place_buffers(DeviceRun *r) {
  const IR *ir = r->p->ir;
  for (size_t i = 0; i < ir->bufs.n; i++) r->mem[i] = buffer_memory(r->p, &ir->bufs.p[i], r->in, r->out, (char *)r->arena);
}

static void run_launch(DeviceRun *r, const Launch *l, size_t kernel) {
  LaunchReport report = { 0 };
  if (!interp_launch_orders(r->p->ir, l, r->p->in->target->dev, r->mem, 0, &report)) {
    const char *text = arena_printf(&r->c->model, "kernel %zu:\n%s", kernel, report.text.p ? report.text.p : "");
    json_array_append_new(r->reports, json_string(text));
  }
  launch_report_free(&report);
}

static void run_kernel(DeviceRun *r, size_t kernel) {
  const Kernel *k = &r->p->kernels.p[kernel];
  Launches launches = { 0 };
  ctx_progress(r->c, "", (double)r->done++ / (double)r->all);
  launches_of(r->p->ir, k->prog.p, k->prog.n, &launches);
  for (size_t i = 0; i < launches.n; i++) run_launch(r, &launches.p[i], kernel);
  launches_free(&launches);
}

/* An output of a run: its elements are the first ones of the memory for the greatest sizes */
static Tensor output_of_run(const IR *ir, const GIO *v, const int64_t *run) {
  Tensor t = tensor_like(v);
  for (int a = 0; a < v->rank; a++)
    if (v->open[a]) t.dims[a] = extent_of_formulas(&ir->extents, ir->symbols.n, v->open[a] - 1, run);
  t.elems = dims_elems(t.dims, t.rank);
  return t;
}

json_t *plan_interpret(Ctx *c, const Options *o, const Plan *p, size_t steps, const Tensor *in, Tensor *out) {
  const size_t nout = graph_nout(p->g), nstates = p->memory.states.n;
  DeviceRun r = { .c = c, .p = p, .in = in, .reports = json_array(), .all = steps * p->kernels.n };
  r.arena = aligned(c, p->memory.arena_bytes);
  r.mem = ARENA_NEW(&c->model, void *, p->ir->bufs.n + 1);
  r.out = ARENA_NEW(&c->model, void *, p->g->outputs.n + 1);
  RunSizes run = { 0 };
  if (p->ir->symbols.n) { /* results must not depend on what lies behind the entries of a run */
    memset(r.arena, 0xff, (size_t)p->memory.arena_bytes);
    greatest_sizes(&p->ir->symbols, run);
    sizes_of_inputs(p->ir, p->g->inputs.p, in, graph_nin(p->g), run);
    p->ir->run = run;
  }
  open_states(&r);
  work_begin(c, o, "interpreting kernels");
  for (size_t s = 0; s < steps; s++, r.in += p->g->inputs.n) {
    for (size_t i = 0; i < p->g->outputs.n; i++) {
      const GIO *v = &p->g->outputs.p[i];
      Tensor t = p->ir->symbols.n ? output_of_run(p->ir, v, run) : tensor_like(v);
      t.data = r.out[i] = aligned(c, tensor_like(v).elems * dt_bytes(t.dt));
      if (i < nout) out[s * nout + i] = t;
    }
    place_buffers(&r);
    for (size_t k = 0; k < p->kernels.n; k++) run_kernel(&r, k);
    tgcrt_state_advance(r.states, nstates, state_memory(&r));
  }
  p->ir->run = NULL;
  work_end(c);
  return r.reports;
}

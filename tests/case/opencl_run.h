/* opencl_run.h: a graph compiled for a machine of OpenCL and run in this process, by the runtime file of bundles. */
#ifndef TGC_TESTS_OPENCL_RUN_H
#define TGC_TESTS_OPENCL_RUN_H
#include "../../backends/backends.h"
#include "../../compiler/bundle/bundle.h"
#include "../../compiler/driver.h"
#include <stdio.h>
#include <string.h>

/* The runtime's word of what is wrong, once; why has 512 bytes */
static void opencl_note(void *why, const char *text) {
  if (!*(char *)why) snprintf(why, 512, "%.400s", text);
}

static const char *opencl_kernels(const Bundle *b) {
  for (size_t i = 0; i < b->files.n; i++)
    if (!strcmp(b->files.p[i].name, "net.cl")) return b->files.p[i].p;
  BUG("a bundle of OpenCL without kernels");
}

/* Takes the device for all graphs of this process and of its children, and lets its compiler read what it needs once: a library
 * of functions, of which PoCL's takes longer than most kernels. The device must have no threads of its own, which a child lacks. */
static tgcrt_device opencl_device;

static int opencl_warm(char *why) {
  static const char *const text = "__kernel void k(__global float *x, ulong at) { x[at] = exp(x[at]); }", *const name = "k";
  static const tgcrt_launch launch = { 0, 0, 1, { 1, 1, 1 }, { 1, 1, 1 } };
  static const tgcrt_place place = { TGCRT_PLACE_WORK, 0, 0 };
  static const tgcrt_net net = { .variable = "NET_DEVICE", .text = &text, .ntext = 1, .options = "-cl-std=CL1.2",
                                 .functions = &name, .nfunctions = 1, .launches = &launch, .nlaunches = 1, .places = &place,
                                 .work_bytes = 4, .guard_at = (size_t)-1, .max_block = 1 };
  static _Alignas(TGCRT_ALIGN) unsigned char arena[TGCRT_OPENCL_BYTES(1, 0, 0, 0)];
  int status = tgcrt_opencl_open(&net, &(tgcrt_device){ .log = opencl_note, .log_arg = why }, &opencl_device);
  if (!status) status = tgcrt_opencl_init(&net, &opencl_device, arena, "");
  if (!status) status = tgcrt_opencl_run(&net, arena, NULL, NULL);
  return status;
}

/* in: of the graph's inputs, in order; got gets elements in c->model, dt, rank and dims. *why says what is wrong; "": nothing */
static void opencl_run_graph(Ctx *c, Graph *g, const char *isa, const Tensor *const *in, Tensor *got, char *why, size_t n) {
  const size_t nin = graph_nin(g), nout = graph_nout(g);
  const Plan *p = compile_graph(g, &(CompileOptions){ .target = device_target(isa), .backend = &opencl_backend });
  Bundle files = { 0 };
  bundle_render(p, &(BundleOptions){ .backend = &opencl_backend, .name = "net", .keep_denormals = true }, &files);
  DeviceTables t = device_tables(p);
  const char *text = opencl_kernels(&files);
  size_t *in_bytes = ARENA_NEW(&c->model, size_t, nin + 1), *out_bytes = ARENA_NEW(&c->model, size_t, nout + 1);
  const void **src = ARENA_NEW(&c->model, const void *, nin + 1);
  void **dst = ARENA_NEW(&c->model, void *, nout + 1);
  for (size_t i = 0; i < nin; i++) {
    in_bytes[i] = (size_t)(in[i]->elems * dt_bytes(in[i]->dt));
    src[i] = in[i]->data ? in[i]->data : "";
  }
  for (size_t i = 0; i < nout; i++) {
    const GIO *v = &g->outputs.p[i];
    got[i] = (Tensor){ .dt = v->dt, .rank = v->rank, .elems = dims_elems(v->dims, v->rank) };
    memcpy(got[i].dims, v->dims, sizeof got[i].dims);
    out_bytes[i] = (size_t)(got[i].elems * dt_bytes(v->dt));
    got[i].data = dst[i] = arena_alloc(&c->model, out_bytes[i] + 1);
  }
  const tgcrt_net net = {
    "NET_DEVICE", &text, 1, device_options(p, true), t.functions.p, t.functions.n, t.launches.p, t.launches.n, t.places.p,
    (size_t)p->memory.arena_bytes, (size_t)p->weights.bytes, in_bytes, out_bytes, nin, nout, NULL, 0, 0,
    g->guarded ? (size_t)p->memory.guard_at : (size_t)-1, t.needs, (uint32_t)t.block, (uint32_t)t.shared_bytes,
    NULL, 0,
  };
  char *arena = arena_alloc(&c->model, TGCRT_OPENCL_BYTES(t.launches.n, nin, nout, 0) + TGCRT_ALIGN);
  arena += (TGCRT_ALIGN - (uintptr_t)arena % TGCRT_ALIGN) % TGCRT_ALIGN;
  tgcrt_device device, wanted = opencl_device;
  wanted.log_arg = why;
  int status = tgcrt_opencl_open(&net, &wanted, &device);
  if (!status) status = tgcrt_opencl_init(&net, &device, arena, p->weights.p);
  if (!status) status = tgcrt_opencl_run(&net, arena, src, dst);
  if (status && status != TGCRT_INDEX && !*why) snprintf(why, n, "status %d: %s", status, tgcrt_strerror(status));
  device_tables_free(&t);
  bundle_free(&files);
}
#endif

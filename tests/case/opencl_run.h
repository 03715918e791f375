/* SPDX-License-Identifier: MIT */
/* opencl_run.h: runs compiled graphs on an OpenCL device, by functions of the runtime file tgcrt_opencl.c. A program that
 * includes this header must also contain tgcrt_opencl.c. Each parameter `why` is a buffer of 512 bytes for the first message. The
 * buffer must hold "" before the call. */
#ifndef TGC_TESTS_OPENCL_RUN_H
#define TGC_TESTS_OPENCL_RUN_H
#include "../../backends/backends.h"
#include "../../compiler/bundle/bundle.h"
#include "../../compiler/driver.h"
#include <stdio.h>
#include <string.h>

/* For tgcrt_device.log, with `why` as tgcrt_device.log_arg: keeps the first message */
static void opencl_note(void *why, const char *text) {
  if (!*(char *)why) snprintf(why, 512, "%.400s", text);
}

static const char *opencl_kernels(const Bundle *b) { /* returns the source of the bundle's kernels */
  for (size_t i = 0; i < b->files.n; i++)
    if (!strcmp(b->files.p[i].name, "net.cl")) return b->files.p[i].p;
  BUG("a bundle of OpenCL without kernels");
}

/* The device for all graphs of this process and of its child processes. opencl_warm opens the device and runs a kernel. For this
 * kernel, the driver's compiler reads its library of functions. A child process begins with a copy of this process's memory, so
 * the compiler does not read the library again. The driver must not use threads, because a fork does not copy them. */
static tgcrt_device opencl_device;

static int opencl_warm(char *why) { /* returns a status of tgcrt.h */
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

/* ---- many graphs as one program ----
 *
 * For each source, a driver's compiler first processes a thousand functions of its own, which takes long. So a batch joins many
 * graphs: their tables become one tgcrt_net (tgcrt_device.h), and the sources of their kernels become one source. In this source,
 * the names of a graph's kernels and helpers begin with the number of the graph, as in g3_k0. */
typedef struct OpenclBatch {
  Ctx *c;                  /* the arena c->model owns the options, the names of functions and the memory of a run */
  Sb text, weights;        /* source of all kernels; weights of all graphs */
  const char *options;     /* options for the driver's compiler, equal for all graphs; NULL: the batch has no graphs yet */
  VEC(const char *) functions;
  VEC(tgcrt_launch) launches;
  VEC(tgcrt_place) places;
  VEC(size_t) in_bytes, out_bytes;
  VEC(const void *) in;
  VEC(void *) out;
  size_t work_bytes, graphs; /* work_bytes: as in tgcrt_net. graphs: number of graphs so far */
  uint32_t needs, block, shared_bytes; /* the fields needs, max_block and shared_bytes of the tgcrt_net */
} OpenclBatch;

/* Alignment in bytes of each graph's part of the work memory, and of its part of the weights. No device needs more. */
enum { OPENCL_ALIGN = 256 };

static size_t opencl_name(const char *at) { /* returns the length of the name or number that begins at `at`; 0 if none begins */
  return strspn(at, "_0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ");
}

/* Returns whether other graphs may use the name of n bytes at `name`, too. This holds for names of helpers and for names of
 * kernels' functions. The name of a helper begins with "tgc_". The name of a kernel's function begins with "k" and the number of
 * the kernel. "_" and the number of a launch may follow. Then "_w" and a number of threads may follow. */
static bool opencl_is_shared(const char *name, size_t n) {
  if (n > 4 && !memcmp(name, "tgc_", 4)) return true;
  return n > 1 && *name == 'k' && strspn(name + 1, "0123456789_w") >= n - 1;
}

static void opencl_put_text(OpenclBatch *b, const char *text) { /* adds the source `text` of the next graph */
  for (const char *at = text; *at;) {
    const size_t n = opencl_name(at);
    const bool shared = opencl_is_shared(at, n);
    if (shared) sb_printf(&b->text, "g%zu_", b->graphs); /* in front, since the runtime reads the end of a kernel's name */
    sb_put(&b->text, at, n ? n : 1);
    at += n ? n : 1;
  }
}

static size_t opencl_bytes(const GIO *v) { return (size_t)(dims_elems(v->dims, v->rank) * dt_bytes(v->dt)); }

static uint64_t opencl_place(size_t *end, int64_t bytes) { /* makes room for `bytes` bytes at *end; returns the room's offset */
  const size_t at = *end;
  *end += ((size_t)bytes + OPENCL_ALIGN - 1) / OPENCL_ALIGN * OPENCL_ALIGN;
  return at;
}

static void opencl_put_tables(OpenclBatch *b, const Plan *p, const DeviceTables *t) {
  const uint32_t functions = (uint32_t)b->functions.n, places = (uint32_t)b->places.n;
  size_t end = b->weights.n;
  const uint64_t base[] = { [TGCRT_PLACE_WORK] = opencl_place(&b->work_bytes, p->memory.arena_bytes),
                            [TGCRT_PLACE_WEIGHTS] = opencl_place(&end, p->weights.bytes),
                            [TGCRT_PLACE_INPUT] = 0, [TGCRT_PLACE_OUTPUT] = 0 };
  if (p->weights.bytes) sb_put(&b->weights, (const char *)p->weights.p, (size_t)p->weights.bytes);
  while (b->weights.n < end) sb_put(&b->weights, "", 1);
  for (size_t i = 0; i < t->functions.n; i++)
    VEC_PUSH(&b->functions, arena_printf(&b->c->model, "g%zu_%s", b->graphs, t->functions.p[i]));
  for (size_t i = 0; i < t->launches.n; i++) {
    tgcrt_launch l = t->launches.p[i];
    l.function += functions, l.first += places;
    VEC_PUSH(&b->launches, l);
  }
  for (size_t i = 0; i < t->places.n; i++) {
    tgcrt_place x = t->places.p[i];
    if (x.memory > TGCRT_PLACE_OUTPUT) BUG("graphs of a batch have no states");
    x.at += base[x.memory];
    x.number += (uint32_t)(x.memory == TGCRT_PLACE_INPUT ? b->in.n : x.memory == TGCRT_PLACE_OUTPUT ? b->out.n : 0);
    VEC_PUSH(&b->places, x);
  }
  b->needs |= t->needs;
  b->block = t->block > b->block ? (uint32_t)t->block : b->block;
  b->shared_bytes = t->shared_bytes > b->shared_bytes ? (uint32_t)t->shared_bytes : b->shared_bytes;
}

/* Adds a plan for an OpenCL device to the batch. in[i], out[i]: the memory of input i and of output i. This memory must stay
 * valid until opencl_run has returned. */
static void opencl_add(OpenclBatch *b, const Plan *p, const void *const *in, void *const *out) {
  const Graph *g = p->g;
  Bundle files = { 0 };
  bundle_render(p, &(BundleOptions){ .backend = &opencl_backend, .name = "net", .keep_denormals = true }, &files);
  DeviceTables t = device_tables(p);
  const char *options = device_options(p, true);
  if (b->options && strcmp(b->options, options)) BUG("graphs of a batch ask the driver's compiler for one thing");
  if (!b->options) b->options = arena_printf(&b->c->model, "%s", options);
  opencl_put_text(b, opencl_kernels(&files));
  opencl_put_tables(b, p, &t);
  for (size_t i = 0; i < graph_nin(g); i++) {
    VEC_PUSH(&b->in_bytes, opencl_bytes(&g->inputs.p[i]));
    VEC_PUSH(&b->in, in[i]);
  }
  for (size_t i = 0; i < graph_nout(g); i++) {
    VEC_PUSH(&b->out_bytes, opencl_bytes(&g->outputs.p[i]));
    VEC_PUSH(&b->out, out[i]);
  }
  b->graphs++;
  device_tables_free(&t);
  bundle_free(&files);
}

/* Runs all graphs of the batch. If the run succeeds, `why` stays "". */
static void opencl_run(const OpenclBatch *b, char *why) {
  const char *text = b->text.p ? b->text.p : "";
  const tgcrt_net net = {
    "NET_DEVICE", &text, 1, b->options, b->functions.p, b->functions.n, b->launches.p, b->launches.n, b->places.p,
    b->work_bytes, b->weights.n, b->in_bytes.p, b->out_bytes.p, b->in.n, b->out.n, NULL, 0, 0, (size_t)-1, b->needs, b->block,
    b->shared_bytes, NULL, 0,
  };
  char *arena = arena_alloc(&b->c->model, TGCRT_OPENCL_BYTES(b->launches.n, b->in.n, b->out.n, 0) + TGCRT_ALIGN);
  arena += (TGCRT_ALIGN - (uintptr_t)arena % TGCRT_ALIGN) % TGCRT_ALIGN;
  tgcrt_device device, wanted = opencl_device;
  wanted.log_arg = why;
  int status = tgcrt_opencl_open(&net, &wanted, &device);
  if (!status) status = tgcrt_opencl_init(&net, &device, arena, b->weights.p);
  if (!status) status = tgcrt_opencl_run(&net, arena, b->in.p, b->out.p);
  if (status && !*why) snprintf(why, 512, "status %d: %s", status, tgcrt_strerror(status));
}

static void opencl_batch_free(OpenclBatch *b) {
  sb_free(&b->text);
  sb_free(&b->weights);
  VEC_FREE(&b->functions);
  VEC_FREE(&b->launches);
  VEC_FREE(&b->places);
  VEC_FREE(&b->in_bytes);
  VEC_FREE(&b->out_bytes);
  VEC_FREE(&b->in);
  VEC_FREE(&b->out);
}
#endif

/* SPDX-License-Identifier: MIT */
/* vectors.c: kernels of a model in vectors of four lanes, in Metal Shading Language, against the graph interpreter:
 * vectors MODEL SHIM FOLDER [DIM=N...]. The machines with a Metal have schedules without vectors today, so kernels are those for
 * a CPU whose vectors have 16 bytes. One thread runs a kernel's whole program; shim.py compiles it. All memory of the plan is
 * one buffer. It prints "ok" or "fail", and why. */
#include "../case/one_buffer.h"
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

typedef struct Shim { const char *script, *folder; } Shim;

static void *build(Case *k, const Plan *p, const Sb *source) { /* the library of kernels; NULL: it does not compile */
  const Shim *s = k->arg;
  Arena *m = &p->ir->ctx->model;
  const char *kernels = arena_printf(m, "%s/kernels.metal", s->folder), *library = arena_printf(m, "%s/kernels.so", s->folder);
  file_put(p->ir->ctx, kernels, source->p, source->n);
  const char *command = arena_printf(m, "python3 '%s' '%s' '%s' >&2", s->script, kernels, library);
  void *lib = system(command) ? NULL : dlopen(library, RTLD_NOW | RTLD_LOCAL);
  if (!lib) case_fail(k, "%s does not compile", kernels);
  return lib;
}

static void symbol(void *lib, const char *name, void *to) {
  void *f = dlsym(lib, name);
  CHECK(f);
  memcpy(to, &f, sizeof f);
}

static void run(Case *k, const Plan *p, const Tensor *in, void *const *out) {
  const void *(*find)(const char *name);
  const char *(*launch)(const void *kernel, const unsigned *grid, const unsigned *block, void **params), *why = NULL;
  const unsigned one[3] = { 1, 1, 1 };
  const Places m = places_of(p);
  Sb source = { 0 };
  put_source(p, &m, "kernel void ", "device uchar *m [[buffer(0)]]", &source);
  void *lib = build(k, p, &source), *memory = xmalloc(m.end);
  sb_free(&source);
  if (!lib) return;
  symbol(lib, "shim_find", &find);
  symbol(lib, "shim_launch", &launch);
  for (size_t i = 0; i < graph_nin(p->g); i++)
    if (in[i].data) memcpy((char *)memory + m.in[i], in[i].data, (size_t)value_bytes(&p->g->inputs.p[i]));
  if (p->weights.bytes) memcpy((char *)memory + m.weights, p->weights.p, (size_t)p->weights.bytes);
  for (size_t i = 0; i < p->kernels.n && !why; i++) {
    char name[32];
    snprintf(name, sizeof name, "call%zu", i);
    if (p->kernels.p[i].group_size) why = launch(find(name), one, one, &memory);
  }
  if (why) case_fail(k, "%s", why);
  for (size_t i = 0; i < graph_nout(p->g); i++)
    memcpy(out[i], (char *)memory + m.out[i], (size_t)value_bytes(&p->g->outputs.p[i]));
  free(memory);
}

int main(int argc, char **argv) {
  static const char *const isa[] = { "x86-64", NULL };
  DimValue dims[16];
  Backend functions = metal_backend; /* as for CPUs: other functions call them */
  if (argc < 4 || argc > 19) return 64;
  Shim s = { argv[2], argv[3] };
  Dialect words = *metal_backend.dialect;
  words.kernel = "static void ";
  functions.dialect = &words;
  functions.kernel = clike_kernel;
  functions.device = NULL;
  Case k = { .path = argv[1], .isa = isa, .dims = dims, .seed = 1, .most = 4e8, .backend = &functions, .run = run, .arg = &s };
  for (int i = 4; i < argc; i++) {
    char *value = strrchr(argv[i], '=');
    if (!value) return 64;
    *value = 0, dims[k.ndims++] = (DimValue){ argv[i], strtoll(value + 1, NULL, 10), NULL };
  }
  case_run(&k);
  const bool good = !k.failed.n && k.ran == 1;
  if (good) puts("ok");
  else printf("fail %s\n", k.failed.n ? k.failed.p : k.refused.n ? k.refused.p : "the model is too large to be interpreted");
  case_free(&k);
  return !good;
}

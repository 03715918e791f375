/* SPDX-License-Identifier: MIT */
/* opencl.c: kernels of a model in a second dialect of the C family, OpenCL C, against the graph interpreter:
 * opencl MODEL ISA... [hard] [DIM=N...]. With "hard", NaN and infinities are among the inputs, and arithmetic is strict.
 *
 * The test proves that a table holds all that C spells in its own way. One work item runs a kernel's whole program, in vectors
 * of each machine's width. All memory of the plan is one buffer. The program opens the loader of OpenCL itself, so it builds
 * without headers of OpenCL. It prints "ok", "skip" or "fail", and why. */
#include "../case/one_buffer.h"
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

/* ---- the loader: of OpenCL 1.2, what is called here ---- */
enum { CL_DEVICE_TYPE_ALL = -1, CL_MEM_READ_WRITE = 1, CL_TRUE = 1, CL_PROGRAM_BUILD_LOG = 0x1183, CL_DEVICE_NAME = 0x102b };
typedef struct Loader {
  int (*clGetPlatformIDs)(unsigned n, void **platforms, unsigned *found);
  int (*clGetDeviceIDs)(void *platform, uint64_t type, unsigned n, void **devices, unsigned *found);
  int (*clGetDeviceInfo)(void *device, unsigned what, size_t n, void *value, size_t *size);
  void *(*clCreateContext)(const void *properties, unsigned n, void *const *devices, void *notify, void *arg, int *status);
  void *(*clCreateCommandQueue)(void *context, void *device, uint64_t properties, int *status);
  void *(*clCreateProgramWithSource)(void *context, unsigned n, const char **text, const size_t *length, int *status);
  int (*clBuildProgram)(void *program, unsigned n, void *const *devices, const char *options, void *notify, void *arg);
  int (*clGetProgramBuildInfo)(void *program, void *device, unsigned what, size_t n, void *value, size_t *size);
  void *(*clCreateBuffer)(void *context, uint64_t flags, size_t n, void *host, int *status);
  void *(*clCreateKernel)(void *program, const char *name, int *status);
  int (*clSetKernelArg)(void *kernel, unsigned i, size_t n, const void *value);
  int (*clEnqueueWriteBuffer)(void *queue, void *buffer, unsigned wait, size_t at, size_t n, const void *p, unsigned events,
                              const void *list, void *event);
  int (*clEnqueueReadBuffer)(void *queue, void *buffer, unsigned wait, size_t at, size_t n, void *p, unsigned events,
                             const void *list, void *event);
  int (*clEnqueueNDRangeKernel)(void *queue, void *kernel, unsigned dims, const size_t *offset, const size_t *global,
                                const size_t *local, unsigned events, const void *list, void *event);
  int (*clFinish)(void *queue);
  int (*clReleaseKernel)(void *kernel);
  int (*clReleaseProgram)(void *program);
  int (*clReleaseMemObject)(void *buffer);
} Loader;

typedef struct ClDevice { Loader f; void *device, *context, *queue; char name[200]; } ClDevice;

/* NULL: a device is open; else why there is none */
static const char *device_open(ClDevice *d) {
  static const char *const names[] = {
    "clGetPlatformIDs", "clGetDeviceIDs", "clGetDeviceInfo", "clCreateContext", "clCreateCommandQueue",
    "clCreateProgramWithSource", "clBuildProgram", "clGetProgramBuildInfo", "clCreateBuffer", "clCreateKernel",
    "clSetKernelArg", "clEnqueueWriteBuffer", "clEnqueueReadBuffer", "clEnqueueNDRangeKernel", "clFinish",
    "clReleaseKernel", "clReleaseProgram", "clReleaseMemObject"
  };
  void *lib = dlopen("libOpenCL.so.1", RTLD_NOW | RTLD_LOCAL), *platform;
  unsigned n = 0;
  int status;
  if (!lib) return "no libOpenCL.so.1";
  _Static_assert(sizeof names / sizeof *names * sizeof(void *) == sizeof d->f, "a name for each function");
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    if (!(((void **)&d->f)[i] = dlsym(lib, names[i]))) return "libOpenCL.so.1 lacks functions of OpenCL 1.2";
  if (d->f.clGetPlatformIDs(1, &platform, &n) || !n) return "no OpenCL platform";
  if (d->f.clGetDeviceIDs(platform, (uint64_t)(uint32_t)CL_DEVICE_TYPE_ALL, 1, &d->device, &n) || !n) return "no OpenCL device";
  d->f.clGetDeviceInfo(d->device, CL_DEVICE_NAME, sizeof d->name - 1, d->name, NULL);
  d->context = d->f.clCreateContext(NULL, 1, &d->device, NULL, NULL, &status);
  if (d->context) d->queue = d->f.clCreateCommandQueue(d->context, d->device, 0, &status);
  return d->queue ? NULL : "the OpenCL device cannot be opened";
}

/* ---- a run ---- */
static void *build(Case *k, const ClDevice *d, const Sb *source) {
  const char *text = source->p;
  const size_t n = source->n;
  char log[4000] = "";
  int status;
  void *program = d->f.clCreateProgramWithSource(d->context, 1, &text, &n, &status);
  if (program && !(status = d->f.clBuildProgram(program, 1, &d->device, "-cl-std=CL1.2", NULL, NULL))) return program;
  if (program) d->f.clGetProgramBuildInfo(program, d->device, CL_PROGRAM_BUILD_LOG, sizeof log - 1, log, NULL);
  case_fail(k, "the program does not build: status %d: %.600s", status, log);
  return NULL;
}

static int call(const ClDevice *d, void *program, void *memory, size_t index) {
  const size_t one = 1;
  char name[32];
  int status;
  snprintf(name, sizeof name, "call%zu", index);
  void *kernel = d->f.clCreateKernel(program, name, &status);
  if (!kernel) return status;
  status = d->f.clSetKernelArg(kernel, 0, sizeof memory, &memory);
  if (!status) status = d->f.clEnqueueNDRangeKernel(d->queue, kernel, 1, NULL, &one, &one, 0, NULL, NULL);
  d->f.clReleaseKernel(kernel);
  return status;
}

static int write_memory(const ClDevice *d, void *memory, size_t at, const void *p, int64_t n) {
  return n ? d->f.clEnqueueWriteBuffer(d->queue, memory, CL_TRUE, at, (size_t)n, p, 0, NULL, NULL) : 0;
}

static void run(Case *k, const Plan *p, const Tensor *in, void *const *out) {
  const ClDevice *d = k->arg;
  const Places m = places_of(p);
  Sb source = { 0 };
  int status = 0;
  put_source(p, &m, "__kernel void ", "__global uchar *m", &source);
  if (getenv("OPENCL_SOURCE")) file_put(p->ir->ctx, getenv("OPENCL_SOURCE"), source.p, source.n);
  void *program = build(k, d, &source), *memory = d->f.clCreateBuffer(d->context, CL_MEM_READ_WRITE, m.end, NULL, &status);
  if (program && !memory) case_fail(k, "no buffer of %zu bytes: status %d", m.end, status);
  if (!program || !memory) return;
  for (size_t i = 0; i < graph_nin(p->g); i++)
    status |= write_memory(d, memory, m.in[i], in[i].data, value_bytes(&p->g->inputs.p[i]));
  status |= write_memory(d, memory, m.weights, p->weights.p, p->weights.bytes);
  for (size_t i = 0; i < p->kernels.n && !status; i++)
    if (p->kernels.p[i].group_size) status = call(d, program, memory, i);
  if (!status) status = d->f.clFinish(d->queue);
  for (size_t i = 0; i < graph_nout(p->g) && !status; i++)
    if (value_bytes(&p->g->outputs.p[i]))
      status = d->f.clEnqueueReadBuffer(d->queue, memory, CL_TRUE, m.out[i], (size_t)value_bytes(&p->g->outputs.p[i]), out[i], 0,
                                        NULL, NULL);
  if (status) case_fail(k, "OpenCL gives status %d", status);
  d->f.clReleaseProgram(program);
  d->f.clReleaseMemObject(memory);
  sb_free(&source);
}

int main(int argc, char **argv) {
  const char *isa[16] = { NULL };
  DimValue dims[16];
  int n = 0;
  ClDevice d = { .device = NULL };
  Backend functions = opencl_backend; /* functions of CPUs, which other functions call */
  functions.kernel = clike_kernel;
  functions.device = NULL;
  Case k = { .path = argv[1], .isa = isa, .dims = dims, .seed = 1, .most = 4e8, .backend = &functions, .run = run, .arg = &d };
  if (argc < 3 || argc > 16) return 64;
  for (int i = 2; i < argc; i++) {
    char *value = strrchr(argv[i], '=');
    if (!strcmp(argv[i], "hard")) k.hard = 64, k.strict = true;
    else if (!value) isa[n++] = argv[i];
    else *value = 0, dims[k.ndims++] = (DimValue){ argv[i], strtoll(value + 1, NULL, 10), NULL };
  }
  const char *why = device_open(&d);
  if (why) printf("skip %s\n", why);
  if (why) return 0;
  case_run(&k);
  const bool good = !k.failed.n && k.ran == n;
  if (good) printf("ok %s\n", d.name);
  else printf("fail %s\n", k.failed.n ? k.failed.p : k.refused.n ? k.refused.p : "the model is too large to be interpreted");
  case_free(&k);
  return !good;
}

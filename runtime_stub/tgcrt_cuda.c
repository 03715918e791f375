/* SPDX-License-Identifier: 0BSD */
/* tgcrt_cuda.c: runs a model's launches by the driver API of CUDA; see tgcrt_device.h.
 *
 * The driver's library is opened when it is needed, and its functions are declared here. So neither headers nor a library of CUDA
 * are needed to build. All pageable memory of the host is the caller's: a session lies at its beginning, then the handles. The
 * driver gives two blocks of the device's memory, one for the weights and one for all else. It also gives a block of pinned
 * memory, through which values of the program go to the device and back.
 *
 * The launches are recorded once, as a graph. A run replays it. Where a run has other addresses than the last one, the nodes with
 * these addresses change first. Without graphs a run is the same launches one by one, in the same order.
 *
 * Every public function makes the session's context the current one of its thread, and gives the caller's back at its end. */
#define API(name) tgcrt_cuda_##name
#include "tgcrt_session.h"

/* ---- what is used of CUDA: declarations and numbers are those of its version 11.3, which later drivers keep ---- */
typedef struct Copy2D { /* CUDA_MEMCPY2D */
  size_t from_x, from_y;
  int from_type;
  const void *from_host;
  uint64_t from_device;
  void *from_array;
  size_t from_pitch, to_x, to_y;
  int to_type;
  void *to_host;
  uint64_t to_device;
  void *to_array;
  size_t to_pitch, width, height;
} Copy2D;
typedef struct NodeParams { /* CUDA_KERNEL_NODE_PARAMS */
  void *function;
  uint32_t grid[3], block[3], shared;
  void **params, **extra;
} NodeParams;
#define CU_FUNCTIONS(F) \
  F(cuInit, (uint32_t flags)) \
  F(cuDriverGetVersion, (int *version)) \
  F(cuDeviceGetCount, (int *n)) \
  F(cuDeviceGet, (int *device, int number)) \
  F(cuDeviceGetName, (char *name, int n, int device)) \
  F(cuDeviceGetAttribute, (int *value, int what, int device)) \
  F(cuDeviceTotalMem, (size_t *bytes, int device)) \
  F(cuDevicePrimaryCtxRetain, (void **context, int device)) \
  F(cuDevicePrimaryCtxRelease, (int device)) \
  F(cuCtxPushCurrent, (void *context)) \
  F(cuCtxPopCurrent, (void **context)) \
  F(cuCtxGetDevice, (int *device)) \
  F(cuStreamGetCtx, (void *stream, void **context)) \
  F(cuStreamCreate, (void **stream, uint32_t flags)) \
  F(cuStreamDestroy, (void *stream)) \
  F(cuModuleLoadDataEx, (void **module, const void *image, uint32_t n, int *options, void **values)) \
  F(cuModuleUnload, (void *module)) \
  F(cuModuleGetFunction, (void **function, void *module, const char *name)) \
  F(cuFuncGetAttribute, (int *value, int what, void *function)) \
  F(cuMemAlloc, (uint64_t *memory, size_t n)) \
  F(cuMemFree, (uint64_t memory)) \
  F(cuMemHostAlloc, (void **memory, size_t n, uint32_t flags)) \
  F(cuMemFreeHost, (void *memory)) \
  F(cuMemGetAddressRange, (uint64_t *base, size_t *n, uint64_t memory)) \
  F(cuPointerGetAttribute, (void *value, int what, uint64_t memory)) \
  F(cuMemsetD8Async, (uint64_t memory, unsigned char value, size_t n, void *stream)) \
  F(cuMemsetD32Async, (uint64_t memory, uint32_t value, size_t n, void *stream)) \
  F(cuMemcpyHtoDAsync, (uint64_t to, const void *from, size_t n, void *stream)) \
  F(cuMemcpyDtoHAsync, (void *to, uint64_t from, size_t n, void *stream)) \
  F(cuMemcpy2DAsync, (const Copy2D *copy, void *stream)) \
  F(cuLaunchKernel, \
    (void *function, uint32_t gx, uint32_t gy, uint32_t gz, uint32_t bx, uint32_t by, uint32_t bz, uint32_t shared, \
     void *stream, void **params, void **extra)) \
  F(cuEventCreate, (void **event, uint32_t flags)) \
  F(cuEventDestroy, (void *event)) \
  F(cuEventRecord, (void *event, void *stream)) \
  F(cuEventQuery, (void *event)) \
  F(cuEventElapsedTime, (float *ms, void *begin, void *end))

/* Graphs. Where one of these functions is missing, launches are not recorded. */
#define GRAPH_FUNCTIONS(F) \
  F(cuStreamBeginCapture, (void *stream, int mode)) \
  F(cuStreamGetCaptureInfo, (void *stream, int *state, uint64_t *id, void **graph, void *const **last, size_t *nlast)) \
  F(cuStreamEndCapture, (void *stream, void **graph)) \
  F(cuGraphInstantiate, (void **made, void *graph, void **node, char *log, size_t n)) \
  F(cuGraphDestroy, (void *graph)) \
  F(cuGraphExecDestroy, (void *made)) \
  F(cuGraphExecKernelNodeSetParams, (void *made, void *node, const NodeParams *params)) \
  F(cuGraphLaunch, (void *made, void *stream))

typedef struct Cu {
#define DECLARE(name, parameters) int32_t (DRIVER_CALL *name) parameters;
  CU_FUNCTIONS(DECLARE)
  GRAPH_FUNCTIONS(DECLARE)
#undef DECLARE
  int graphs; /* it has their functions */
} Cu;

enum { /* results */
  CUDA_ERROR_OUT_OF_MEMORY = 2,
  CUDA_ERROR_NO_DEVICE = 100,
  CUDA_ERROR_NOT_READY = 600
};
enum { /* questions */
  MAX_THREADS_PER_BLOCK = 1,
  MAX_BLOCK_DIM_X = 2,
  MAX_GRID_DIM_X = 5,
  MAX_SHARED_MEMORY_PER_BLOCK = 8,
  MULTIPROCESSOR_COUNT = 16,
  COMPUTE_CAPABILITY_MAJOR = 75,
  COMPUTE_CAPABILITY_MINOR = 76,
  POINTER_MEMORY_TYPE = 2,
  POINTER_DEVICE_ORDINAL = 9,
  FUNC_MAX_THREADS_PER_BLOCK = 0
};
enum { JIT_ERROR_LOG_BUFFER = 5, JIT_ERROR_LOG_BYTES = 6, STREAM_NON_BLOCKING = 1, CAPTURE_THREAD_LOCAL = 1,
       EVENT_DISABLE_TIMING = 2, HOST = 1, DEVICE = 2, LEGACY_STREAM = 1, CUDA_VERSION = 11030 };

/* ---- the driver's library ---- */
static const char *const libraries[] = {
#ifdef _WIN32
  "nvcuda.dll",
#else
  "libcuda.so.1", "libcuda.so",
#endif
};

typedef struct Session {
  Core core;
  Cu cu;
  void *stream, *module, *event;
  uint64_t memory, weights;  /* addresses on the device; memory: work, inputs, outputs */
  uint64_t begin;            /* while launches are timed: the event before the first */
  uint64_t values;           /* where the inputs begin */
  size_t in_bytes, out_bytes, stage_bytes;
  unsigned char *pinned;     /* a guard's byte of each run, then the stage */
  unsigned char *stage;      /* inputs and outputs, as on the device */
  void *graph, *made;        /* all launches, and that ready to run; NULL: there is none */
  void **functions, **nodes; /* one for each launch */
  uint64_t *own, *bound, *next; /* addresses of inputs, then outputs: the session's, those that nodes have, those of this run */
  void **out;                /* outputs of the run that is staged */
  const tgcrt_net *net;
} Session;
enum { SESSION = 1024, LEAST_STAGE = 1 << 20, MOST_BUFFERS = 512 /* 4096 bytes of parameters */ };
typedef char session_fits[sizeof(Session) <= SESSION && sizeof(void *) <= 8 ? 1 : -1];

typedef int32_t (DRIVER_CALL *ErrorName)(int32_t result, const char **name);

static int refused(const tgcrt_device *d, int32_t result, const char *function, int other) {
  char what[120];
  const char *name = NULL;
  ErrorName name_of = NULL;
  void *library;
  if (!result) return TGCRT_OK;
  library = first_library(libraries, sizeof libraries / sizeof *libraries);
  if (library) library_find(library, "cuGetErrorName", &name_of);
  if (name_of && name_of(result, &name)) name = NULL;
  snprintf(what, sizeof what, "CUDA error %d%s%.80s%s", (int)result, name ? " (" : "", name ? name : "", name ? ")" : "");
  say(d, function, what);
  return result == CUDA_ERROR_OUT_OF_MEMORY ? TGCRT_MEMORY : other;
}

typedef int32_t (DRIVER_CALL *GetProcAddress_)(const char *name, void *function, int version, uint64_t flags);

static int load(Cu *cu, const tgcrt_device *d) {
  GetProcAddress_ find = NULL;
  void *library = first_library(libraries, sizeof libraries / sizeof *libraries);
  if (!library) {
    say(d, libraries[0], "this library cannot be opened: no driver of CUDA is installed");
    return TGCRT_DRIVER;
  }
  library_find(library, "cuGetProcAddress", &find);
  if (!find) {
    say(d, "cuGetProcAddress", "the driver's library lacks this function of CUDA 11.3");
    return TGCRT_DRIVER;
  }
  memset(cu, 0, sizeof *cu);
#define FIND(name, parameters) \
  if (find(#name, &cu->name, CUDA_VERSION, LEGACY_STREAM) || !cu->name) { \
    say(d, #name, "the driver's library lacks this function of CUDA 11.3"); \
    return TGCRT_DRIVER; \
  }
  CU_FUNCTIONS(FIND)
#undef FIND
  cu->graphs = 1;
#define FIND(name, parameters) \
  if (find(#name, &cu->name, CUDA_VERSION, LEGACY_STREAM) || !cu->name) cu->graphs = 0;
  GRAPH_FUNCTIONS(FIND)
#undef FIND
  return TGCRT_OK;
}

/* The library, ready to be asked for devices */
static int load_ready(Cu *cu, const tgcrt_device *d) {
  const int status = load(cu, d);
  const int32_t result = status ? 0 : cu->cuInit(0);
  if (result == CUDA_ERROR_NO_DEVICE) say(d, "CUDA", "there is no device");
  else if (result) return refused(d, result, "cuInit", TGCRT_DRIVER);
  return status ? status : result ? TGCRT_DEVICE : TGCRT_OK;
}

/* ---- devices ---- */
static int attribute(const Cu *cu, int device, int what) { /* 0: it does not say */
  int value = 0;
  return cu->cuDeviceGetAttribute(&value, what, device) ? 0 : value;
}

static uint32_t capability(const Cu *cu, int device) { /* 90: 9.0 */
  return (uint32_t)(attribute(cu, device, COMPUTE_CAPABILITY_MAJOR) * 10 + attribute(cu, device, COMPUTE_CAPABILITY_MINOR));
}

static uint64_t total_memory(const Cu *cu, int device) {
  size_t bytes = 0;
  return cu->cuDeviceTotalMem(&bytes, device) ? 0 : bytes;
}

static void device_name(const Cu *cu, int device, char *name, int n) {
  memset(name, 0, (size_t)n);
  if (cu->cuDeviceGetName(name, n - 1, device)) name[0] = 0;
}

/* wanted NULL: the first device */
static int choose(const Cu *cu, const tgcrt_device *d, const char *wanted, int *device) {
  int n = 0, i;
  char name[256];
  int32_t result = cu->cuDeviceGetCount(&n);
  if (result) return refused(d, result, "cuDeviceGetCount", TGCRT_DEVICE);
  for (i = 0; i < n; i++) {
    result = cu->cuDeviceGet(device, i);
    if (result) return refused(d, result, "cuDeviceGet", TGCRT_DEVICE);
    if (wanted) device_name(cu, *device, name, sizeof name);
    if (!wanted || is_wanted(wanted, (unsigned long)i, name)) return TGCRT_OK;
  }
  if (!n) say(d, "CUDA", "there is no device");
  else say(d, wanted, "no device has this number or name");
  return TGCRT_DEVICE;
}

/* An image that a device of this capability may run; rank 0 is the best kind. A cubin is for devices of its major capability. */
static const tgcrt_image *image_of(const tgcrt_net *net, uint32_t capable, int rank) {
  static const uint32_t kinds[] = { TGCRT_IMAGE_CUBIN, TGCRT_IMAGE_FATBIN, TGCRT_IMAGE_PTX };
  const tgcrt_image *best = NULL;
  size_t i;
  for (i = 0; i < net->nimages; i++) {
    const tgcrt_image *t = &net->images[i];
    if (t->kind != kinds[rank] || t->arch > capable) continue;
    if (t->kind == TGCRT_IMAGE_CUBIN && t->arch / 10 != capable / 10) continue;
    if (!best || t->arch > best->arch) best = t;
  }
  return best;
}
enum { RANKS = 3 };

/* A need of the model that the device does not meet; NULL: none */
static const char *lacks(const Cu *cu, const tgcrt_net *net, int device) {
  const uint32_t capable = capability(cu, device);
  size_t i;
  int k;
  for (k = 0; k < RANKS && !image_of(net, capable, k);) k++;
  if (k == RANKS && net->nlaunches) return "the bundle has no kernels for the device's compute capability: compile it with --arch for this device";
  if (net->needs & TGCRT_NEEDS_F16 && capable < 53) return "the model needs arithmetic of half precision (sm_53)";
  if (net->needs & TGCRT_NEEDS_INT_DOT && capable < 61) return "the model needs sums of products of bytes (sm_61)";
  if (net->max_block > (uint32_t)attribute(cu, device, MAX_THREADS_PER_BLOCK)) return "the model needs larger blocks";
  if (net->shared_bytes > (uint32_t)attribute(cu, device, MAX_SHARED_MEMORY_PER_BLOCK)) return "the model needs more shared memory";
  for (k = 0; k < 3; k++) {
    const uint32_t block = (uint32_t)attribute(cu, device, MAX_BLOCK_DIM_X + k);
    const uint32_t grid = (uint32_t)attribute(cu, device, MAX_GRID_DIM_X + k);
    for (i = 0; i < net->nlaunches; i++)
      if (net->launches[i].block[k] > block || net->launches[i].grid[k] > grid)
        return "the model needs larger blocks, or more of them, in one direction";
  }
  return NULL;
}

static int fits(const Cu *cu, const tgcrt_net *net, const tgcrt_device *d, int device) {
  char name[256];
  const char *why = lacks(cu, net, device);
  device_name(cu, device, name, sizeof name);
  if (why) say(d, name, why);
  if (why) return TGCRT_DEVICE;
  if (!too_large(net, 0, total_memory(cu, device))) return TGCRT_OK;
  say(d, name, "the model needs more memory than the device has");
  return TGCRT_MEMORY;
}

static int32_t push(const Cu *cu, void *context) { return cu->cuCtxPushCurrent(context); }

static int32_t pop(const Cu *cu) {
  void *old;
  return cu->cuCtxPopCurrent(&old);
}

/* The device of the caller's stream or context */
static int ask_context(const Cu *cu, tgcrt_device *d, int *device) {
  int32_t result = 0, popped;
  if (d->queue) result = cu->cuStreamGetCtx(d->queue, &d->context);
  if (result) return refused(d, result, "cuStreamGetCtx", TGCRT_DEVICE);
  result = push(cu, d->context);
  if (result) return refused(d, result, "the context", TGCRT_DEVICE);
  result = cu->cuCtxGetDevice(device);
  popped = pop(cu);
  return refused(d, result ? result : popped, "the context", TGCRT_DEVICE);
}

enum { OWN_CONTEXT = 1, OWN_STREAM = 2 };

static int32_t make_stream(const Cu *cu, tgcrt_device *d) {
  int32_t result = push(cu, d->context), popped;
  if (result) return result;
  result = cu->cuStreamCreate(&d->queue, STREAM_NON_BLOCKING);
  if (!result) d->own |= OWN_STREAM;
  popped = pop(cu);
  return result ? result : popped;
}

static void give_back(const Cu *cu, const tgcrt_device *d) { /* the stream and the context of make_stream and take */
  const int pushed = !push(cu, d->context);
  if (pushed && d->own & OWN_STREAM) cu->cuStreamDestroy(d->queue);
  if (pushed) pop(cu);
  if (d->own & OWN_CONTEXT) cu->cuDevicePrimaryCtxRelease((int)(intptr_t)d->device);
}

static int take(const Cu *cu, tgcrt_device *d, int device) {
  int32_t result = 0;
  d->device = (void *)(intptr_t)device;
  if (!d->context) {
    result = cu->cuDevicePrimaryCtxRetain(&d->context, device);
    if (result) return refused(d, result, "cuDevicePrimaryCtxRetain", TGCRT_DEVICE);
    d->own |= OWN_CONTEXT;
  }
  if (!d->queue) result = make_stream(cu, d);
  if (result) give_back(cu, d);
  return refused(d, result, "the stream", TGCRT_DEVICE);
}

static int open_device(const tgcrt_net *net, tgcrt_device *d, const char *name) {
  Cu cu;
  int device = 0, status = load_ready(&cu, d);
  if (status) return status;
  status = d->queue || d->context ? ask_context(&cu, d, &device) : choose(&cu, d, name, &device);
  if (!status) status = fits(&cu, net, d, device);
  return status ? status : take(&cu, d, device);
}

static void ask_facts(const Cu *cu, int device, tgcrt_device_facts *f) {
  int version = 0;
  f->arch = capability(cu, device);
  device_name(cu, device, f->name, sizeof f->name);
  if (cu->cuDriverGetVersion(&version)) version = 0;
  snprintf(f->driver, sizeof f->driver, "CUDA %d.%d", version / 1000, version % 1000 / 10);
  snprintf(f->version, sizeof f->version, "compute capability %u.%u", (unsigned)f->arch / 10, (unsigned)f->arch % 10);
  f->is_gpu = 1;
  f->units = (uint32_t)attribute(cu, device, MULTIPROCESSOR_COUNT);
  f->max_threads = (uint32_t)attribute(cu, device, MAX_THREADS_PER_BLOCK);
  f->shared_bytes = (uint64_t)attribute(cu, device, MAX_SHARED_MEMORY_PER_BLOCK);
  f->shared_is_fast = 1;
  f->memory = f->largest = total_memory(cu, device);
  f->abilities = TGCRT_NEEDS_F64 | TGCRT_NEEDS_SUBGROUPS | (f->arch >= 53 ? TGCRT_NEEDS_F16 : 0) |
                 (f->arch >= 61 ? TGCRT_NEEDS_INT_DOT : 0);
}

static int ask_device(const tgcrt_device *d, unsigned long number, tgcrt_device_facts *f) {
  Cu cu;
  tgcrt_device silent = *d;
  char text[24];
  int device = 0, status = load_ready(&cu, d);
  silent.log = NULL; /* no such device: the end of the list */
  snprintf(text, sizeof text, "%lu", number);
  if (!status) status = choose(&cu, &silent, text, &device);
  if (!status) ask_facts(&cu, device, f);
  return status;
}

int tgcrt_cuda_describe(const tgcrt_device *open, tgcrt_device_facts *facts) {
  Cu cu;
  const int status = load(&cu, open);
  memset(facts, 0, sizeof *facts);
  if (!status) ask_facts(&cu, (int)(intptr_t)open->device, facts);
  return status;
}

/* ---- the session ---- */
static int32_t enter(Core *core) { return push(&((Session *)core)->cu, core->device.context); }
static int32_t leave(Core *core) { return pop(&((Session *)core)->cu); }

static int32_t mark_end(Core *core) {
  Session *s = (Session *)core;
  return s->cu.cuEventRecord(s->event, s->stream);
}

static int32_t ask(Core *core, int *done) {
  Session *s = (Session *)core;
  const int32_t result = s->cu.cuEventQuery(s->event);
  size_t i;
  if (result == CUDA_ERROR_NOT_READY) return 0;
  *done = 1;
  for (i = 0; i < s->net->noutputs && core->staged && !result; i++)
    if (fetched(core, s->net, i))
      memcpy(s->out[i], s->stage + (s->own[s->net->ninputs + i] - s->values), fetched(core, s->net, i));
  core->staged = 0;
  return result;
}

/* ---- the kernels ---- */
static int load_module(Session *s, const tgcrt_image *image) {
  enum { LOG = 8192 };
  char *log = (char *)pages_take(LOG);
  int options[2] = { JIT_ERROR_LOG_BUFFER, JIT_ERROR_LOG_BYTES };
  void *values[2];
  int32_t result;
  values[0] = log, values[1] = (void *)(uintptr_t)(LOG - 1);
  result = s->cu.cuModuleLoadDataEx(&s->module, image->bytes, log ? 2 : 0, options, values);
  if (result) s->module = NULL;
  if (result && log && *log && s->core.device.log) s->core.device.log(s->core.device.log_arg, log);
  pages_give(log, LOG);
  return refused(&s->core.device, result, "cuModuleLoadDataEx", TGCRT_BUILD);
}

/* The driver may refuse a kind of image, for instance because PTX is newer than the driver; then it is given the next. */
static int load_kernels(Session *s, const tgcrt_net *net) {
  const uint32_t capable = capability(&s->cu, (int)(intptr_t)s->core.device.device);
  int status = TGCRT_BUILD, tried = 0, rank;
  size_t k;
  if (!net->nlaunches) return TGCRT_OK;
  for (rank = 0; rank < RANKS && status == TGCRT_BUILD; rank++) {
    const tgcrt_image *image = image_of(net, capable, rank);
    if (image) status = load_module(s, image), tried = 1;
  }
  if (!tried) say(&s->core.device, "the device", "it does not say its compute capability");
  if (status) return tried ? status : TGCRT_DEVICE;
  for (k = 0; k < net->nlaunches; k++) {
    const tgcrt_launch *l = &net->launches[k];
    const char *name = net->functions[l->function];
    int most = 0;
    int32_t result = s->cu.cuModuleGetFunction(&s->functions[k], s->module, name);
    if (result) return refused(&s->core.device, result, name, TGCRT_BUILD);
    result = s->cu.cuFuncGetAttribute(&most, FUNC_MAX_THREADS_PER_BLOCK, s->functions[k]);
    if (result) return refused(&s->core.device, result, name, TGCRT_DEVICE);
    if ((uint64_t)l->block[0] * l->block[1] * l->block[2] > (uint64_t)most || l->n > MOST_BUFFERS) {
      say(&s->core.device, name, "the device runs this kernel in smaller blocks, or with fewer buffers, only");
      return TGCRT_DEVICE;
    }
  }
  return TGCRT_OK;
}

typedef struct Params { /* a launch's: the address of each buffer */
  uint64_t value[MOST_BUFFERS];
  void *pointer[MOST_BUFFERS];
} Params;

static void fill_params(const Session *s, const tgcrt_net *net, size_t k, const uint64_t *values, Params *p) {
  const tgcrt_launch *l = &net->launches[k];
  uint32_t i;
  for (i = 0; i < l->n; i++) {
    const tgcrt_place *at = &net->places[l->first + i];
    const uint64_t base = at->memory == TGCRT_PLACE_INPUT     ? values[at->number]
                          : at->memory == TGCRT_PLACE_OUTPUT  ? values[net->ninputs + at->number]
                          : at->memory == TGCRT_PLACE_WEIGHTS ? s->weights
                                                              : s->memory;
    p->value[i] = base + place_at(&s->core, net, at);
    p->pointer[i] = &p->value[i];
  }
}

static int32_t launch(const Session *s, const tgcrt_net *net, size_t k, void *stream) {
  const tgcrt_launch *l = &net->launches[k];
  Params p;
  fill_params(s, net, k, s->bound, &p);
  return s->cu.cuLaunchKernel(s->functions[k], l->grid[0], l->grid[1], l->grid[2], l->block[0], l->block[1], l->block[2], 0, stream,
                              p.pointer, NULL);
}

/* ---- the graph ---- */
static void drop_graph(Session *s) { /* from now on launches are handed over one by one */
  if (s->made) s->cu.cuGraphExecDestroy(s->made);
  if (s->graph) s->cu.cuGraphDestroy(s->graph); /* until then the driver knows its nodes */
  s->made = s->graph = NULL;
}

/* Launch k of runs to come has these addresses of inputs and outputs, and its states are where the cursors say. */
static void change_node(Session *s, const tgcrt_net *net, size_t k, const uint64_t *values) {
  const tgcrt_launch *l = &net->launches[k];
  NodeParams node;
  Params p;
  int i;
  if (!s->made) return;
  fill_params(s, net, k, values, &p);
  memset(&node, 0, sizeof node);
  node.function = s->functions[k];
  for (i = 0; i < 3; i++) node.grid[i] = l->grid[i], node.block[i] = l->block[i];
  node.params = p.pointer;
  if (s->cu.cuGraphExecKernelNodeSetParams(s->made, s->nodes[k], &node)) drop_graph(s);
}

static int32_t capture_launches(Session *s, const tgcrt_net *net, void *stream) {
  int32_t result = 0;
  size_t k;
  for (k = 0; k < net->nlaunches && !result; k++) {
    int state = 0;
    uint64_t id;
    void *const *last = NULL;
    size_t n = 0;
    result = launch(s, net, k, stream);
    if (!result) result = s->cu.cuStreamGetCaptureInfo(stream, &state, &id, NULL, &last, &n);
    if (!result && n != 1) result = CUDA_ERROR_NOT_READY; /* not a list */
    if (!result) s->nodes[k] = last[0];
  }
  return result;
}

/* Where something is missing, or fails, runs hand over the launches one by one. A stream of its own is captured: the caller's
 * may be one that cannot be. */
static void record(Session *s, const tgcrt_net *net) {
  void *stream, *node = NULL;
  int32_t result, ended;
  if (!net->nlaunches || !s->cu.graphs || s->core.device.replay < 0) return;
  if (s->cu.cuStreamCreate(&stream, STREAM_NON_BLOCKING)) return;
  result = s->cu.cuStreamBeginCapture(stream, CAPTURE_THREAD_LOCAL);
  if (!result) {
    result = capture_launches(s, net, stream);
    ended = s->cu.cuStreamEndCapture(stream, &s->graph);
    if (!result) result = ended;
  }
  if (!result && s->cu.cuGraphInstantiate(&s->made, s->graph, &node, NULL, 0)) s->made = NULL;
  if (!s->made) drop_graph(s);
  s->cu.cuStreamDestroy(stream);
}

static int has_changed(const Session *s, const tgcrt_net *net, size_t k) {
  uint32_t i;
  for (i = 0; i < net->launches[k].n; i++) {
    const tgcrt_place *p = &net->places[net->launches[k].first + i];
    const size_t value = p->number + (p->memory == TGCRT_PLACE_OUTPUT ? net->ninputs : 0);
    if ((p->memory == TGCRT_PLACE_INPUT || p->memory == TGCRT_PLACE_OUTPUT) && s->next[value] != s->bound[value]) return 1;
  }
  return 0;
}

static int32_t bind(Core *core, const tgcrt_net *net, void *const *in, void *const *out) {
  Session *s = (Session *)core;
  const size_t n = net->ninputs + net->noutputs;
  size_t i;
  for (i = 0; i < n; i++) {
    void *const of_caller = !in ? NULL : i < net->ninputs ? in[i] : out[i - net->ninputs];
    s->next[i] = of_caller ? (uint64_t)(uintptr_t)of_caller : s->own[i];
  }
  if (!n || !memcmp(s->next, s->bound, n * sizeof *s->next)) return 0;
  for (i = 0; i < net->nlaunches && s->made; i++)
    if (has_changed(s, net, i)) change_node(s, net, i, s->next);
  memcpy(s->bound, s->next, n * sizeof *s->next);
  return 0;
}

static int has_moved(const tgcrt_net *net, size_t k) { /* a state of it */
  uint32_t i;
  for (i = 0; i < net->launches[k].n; i++)
    if (moves(net, &net->places[net->launches[k].first + i])) return 1;
  return 0;
}

/* So many launches from the first on, one by one; events: one for each of them, or NULL. Another event, s->begin, comes before
 * the first: copies of inputs, which come earlier, take no part of a launch's time. */
static int32_t launch_some(Session *s, const tgcrt_net *net, size_t first, size_t n, const uint64_t *events) {
  int32_t result = events ? s->cu.cuEventRecord((void *)(uintptr_t)s->begin, s->stream) : 0;
  size_t k;
  for (k = 0; k < n && !result; k++) {
    result = launch(s, net, first + k, s->stream);
    if (!result && events) result = s->cu.cuEventRecord((void *)(uintptr_t)events[k], s->stream);
  }
  return result;
}

static int32_t launch_all(Core *core, const tgcrt_net *net, uint64_t *events) {
  Session *s = (Session *)core;
  size_t k;
  for (k = 0; k < net->nlaunches && s->made && !events; k++)
    if (has_moved(net, k)) change_node(s, net, k, s->bound);
  if (s->made && !events) return s->cu.cuGraphLaunch(s->made, s->stream);
  return launch_some(s, net, 0, net->nlaunches, events);
}

/* ---- memory ---- */
static int32_t read_guard(Core *core, const tgcrt_net *net, unsigned char *guard) {
  const Session *s = (const Session *)core;
  return s->cu.cuMemcpyDtoHAsync(guard, s->memory + net->guard_at, 1, s->stream);
}

/* All inputs are one copy to the device, and all outputs one copy from it. At sizes of a run, each value is a copy by itself. */
static int32_t feed(Core *core, const tgcrt_net *net, const void *const *in) {
  const Session *s = (const Session *)core;
  const size_t *bytes = input_bytes(core, net);
  int32_t result = 0;
  size_t i;
  for (i = 0; i < net->ninputs; i++) {
    unsigned char *const stage = s->stage + (s->own[i] - s->values);
    if (bytes[i]) memcpy(stage, in[i], bytes[i]);
    if (bytes[i] && core->sizes && !result) result = s->cu.cuMemcpyHtoDAsync(s->own[i], stage, bytes[i], s->stream);
  }
  return core->sizes || !s->in_bytes ? result : s->cu.cuMemcpyHtoDAsync(s->values, s->stage, s->in_bytes, s->stream);
}

static int32_t fetch_each(const Session *s, const tgcrt_net *net) {
  int32_t result = 0;
  size_t i;
  for (i = 0; i < net->noutputs && !result; i++) {
    const size_t n = fetched(&s->core, net, i);
    const uint64_t from = s->own[net->ninputs + i];
    if (n) result = s->cu.cuMemcpyDtoHAsync(s->stage + (from - s->values), from, n, s->stream);
  }
  return result;
}

static int32_t fetch(Core *core, const tgcrt_net *net, void *const *out) {
  Session *s = (Session *)core;
  core->staged = 1;
  if (!s->out_bytes) return 0;
  memcpy(s->out, out, net->noutputs * sizeof *out);
  note_fetched(core, net);
  if (core->sizes) return fetch_each(s, net);
  return s->cu.cuMemcpyDtoHAsync(s->stage + s->in_bytes, s->values + s->in_bytes, s->out_bytes, s->stream);
}

static int32_t fill_zeros(Core *core, size_t at, size_t n) {
  const Session *s = (const Session *)core;
  return n ? s->cu.cuMemsetD8Async(s->memory + at, 0, n, s->stream) : 0;
}

static int32_t put_numbers(Core *core, size_t at, const int64_t *numbers, size_t n) {
  const Session *s = (const Session *)core;
  int32_t result = 0;
  size_t i;
  for (i = 0; i < 2 * n && !result; i++) /* the driver's longest values have 32 bits */
    result = s->cu.cuMemsetD32Async(s->memory + at + 4 * i, (uint32_t)((uint64_t)numbers[i / 2] >> (i % 2 * 32)), 1, s->stream);
  return result;
}

static int32_t copy_rows(Core *core, int from_weights, size_t from_at, size_t from_row, size_t to_at, const tgcrt_state *t,
                         size_t bytes) {
  const Session *s = (const Session *)core;
  Copy2D c;
  if (!bytes || !t->outer) return 0;
  memset(&c, 0, sizeof c);
  c.from_type = c.to_type = DEVICE;
  c.from_device = (from_weights ? s->weights : s->memory) + from_at, c.from_pitch = t->outer > 1 ? from_row : bytes;
  c.to_device = s->memory + to_at, c.to_pitch = t->outer > 1 ? t->block : bytes;
  c.width = bytes, c.height = t->outer;
  return s->cu.cuMemcpy2DAsync(&c, s->stream);
}

/* Rows of the device's memory that fit into the stage, to it or from it */
static int move_piece(Session *s, int to_device, uint64_t at, size_t row, size_t bytes, size_t rows) {
  Copy2D c;
  int32_t result;
  memset(&c, 0, sizeof c);
  c.width = bytes, c.height = rows;
  if (to_device) {
    c.from_type = HOST, c.from_host = s->stage, c.from_pitch = bytes;
    c.to_type = DEVICE, c.to_device = at, c.to_pitch = row;
  } else {
    c.from_type = DEVICE, c.from_device = at, c.from_pitch = row;
    c.to_type = HOST, c.to_host = s->stage, c.to_pitch = bytes;
  }
  if (rows > 1) result = s->cu.cuMemcpy2DAsync(&c, s->stream);
  else if (to_device) result = s->cu.cuMemcpyHtoDAsync(at, s->stage, bytes, s->stream);
  else result = s->cu.cuMemcpyDtoHAsync(s->stage, at, bytes, s->stream);
  return finish(&s->core, result, "a copy");
}

/* One of from and to is memory of the program, without gaps; the other is NULL. */
static int move_rows(Session *s, uint64_t at, size_t row, size_t bytes, size_t rows, const unsigned char *from, unsigned char *to) {
  size_t r, done, k, n, part;
  int status = TGCRT_OK;
  for (r = 0; r < rows && bytes && !status; r += k) {
    k = bytes > s->stage_bytes ? 1 : s->stage_bytes / bytes < rows - r ? s->stage_bytes / bytes : rows - r;
    for (done = 0; done < bytes && !status; done += n) {
      n = bytes - done < s->stage_bytes ? bytes - done : s->stage_bytes;
      part = r * bytes + done;
      if (from) memcpy(s->stage, from + part, n * k);
      status = move_piece(s, from != NULL, at + r * row + done, row, n, k);
      if (to && !status) memcpy(to + part, s->stage, n * k);
    }
  }
  return status;
}

static int read_rows(Core *core, size_t at, size_t row, size_t bytes, size_t rows, void *p) {
  Session *s = (Session *)core;
  return move_rows(s, s->memory + at, row, bytes, rows, NULL, (unsigned char *)p);
}

static int write_rows(Core *core, size_t at, size_t row, size_t bytes, size_t rows, const void *p) {
  Session *s = (Session *)core;
  return move_rows(s, s->memory + at, row, bytes, rows, (const unsigned char *)p, NULL);
}

/* Memory that this device reads, and large enough as far as the driver knows */
static int check_buffer(const Session *s, size_t bytes, uint64_t p, uint64_t bound) {
  uint64_t base = 0;
  size_t has = 0;
  uint32_t type = 0;
  int device = -1;
  if (!bytes || (p == bound && !s->core.sizes)) return TGCRT_OK; /* it was checked before */
  if (s->cu.cuPointerGetAttribute(&type, POINTER_MEMORY_TYPE, p) || !type) return TGCRT_ARGUMENT;
  if (s->cu.cuPointerGetAttribute(&device, POINTER_DEVICE_ORDINAL, p) || device != (int)(intptr_t)s->core.device.device)
    return TGCRT_ARGUMENT;
  if (!s->cu.cuMemGetAddressRange(&base, &has, p) && (p - base > has || has - (p - base) < bytes)) return TGCRT_ARGUMENT;
  return TGCRT_OK;
}

static int check_buffers(Core *core, const tgcrt_net *net, void *const *in, void *const *out) {
  const Session *s = (const Session *)core;
  size_t i;
  int status = TGCRT_OK;
  for (i = 0; i < net->ninputs && !status; i++)
    status = check_buffer(s, input_bytes(core, net)[i], (uint64_t)(uintptr_t)in[i], s->bound[i]);
  for (i = 0; i < net->noutputs && !status; i++)
    status = check_buffer(s, output_bytes(core, net)[i], (uint64_t)(uintptr_t)out[i], s->bound[net->ninputs + i]);
  return status;
}

/* ---- profiles ---- */
static int32_t make_event(const Session *s, uint64_t *event) {
  void *p = NULL;
  const int32_t result = s->cu.cuEventCreate(&p, 0);
  *event = (uint64_t)(uintptr_t)p;
  return result;
}

/* Nanoseconds from the events that are in the same places, and from the one before the first; they are destroyed. */
static int32_t read_times(const Session *s, size_t n, uint64_t before, uint64_t *times, int done) {
  int32_t result = 0;
  size_t k;
  for (k = 0; k < n; k++) {
    const uint64_t event = times[k];
    float ms = 0;
    if (done && !result) result = s->cu.cuEventElapsedTime(&ms, (void *)(uintptr_t)before, (void *)(uintptr_t)event);
    s->cu.cuEventDestroy((void *)(uintptr_t)before);
    times[k] = done && !result ? (uint64_t)((double)ms * 1e6) : 0;
    before = event;
  }
  s->cu.cuEventDestroy((void *)(uintptr_t)before);
  return result;
}

static int enqueue_part(Session *s, const tgcrt_net *net, size_t first, size_t n, const uint64_t *events) {
  const int32_t result = launch_some(s, net, first, n, events);
  return result ? lose(&s->core, result, "a launch") : mark(&s->core);
}

/* A run with these values, or, where in is NULL, so many launches from the first on */
static int profile_some(Session *s, const tgcrt_net *net, const void *const *in, void *const *out, size_t first, size_t n,
                        uint64_t *times) {
  int32_t result;
  size_t made = 0;
  int status = settle_all(&s->core);
  if (status) return status;
  memset(times, 0, n * sizeof *times);
  result = make_event(s, &s->begin);
  if (result) return refused(&s->core.device, result, "an event that measures", TGCRT_DEVICE);
  while (made < n && !(result = make_event(s, &times[made]))) made++;
  status = refused(&s->core.device, result, "an event that measures", TGCRT_DEVICE);
  if (!status) status = in ? enqueue_values(&s->core, net, in, out, times) : enqueue_part(s, net, first, n, times);
  if (!status) status = settle_all(&s->core);
  result = read_times(s, made, s->begin, times, !status);
  return status ? status : lose(&s->core, result, "cuEventElapsedTime");
}

int tgcrt_cuda_profile(const tgcrt_net *net, void *m, const void *const *in, void *const *out, uint64_t *nanoseconds) {
  static const void *const none[] = { NULL };
  Session *s = (Session *)m;
  int status = check_all(&s->core, net, in, out);
  if (!status) status = entered(&s->core);
  if (status) return status;
  status = profile_some(s, net, in ? in : none, out, 0, net->nlaunches, nanoseconds);
  return left(&s->core, status ? status : sync_runs(&s->core, -1));
}

int tgcrt_cuda_profile_part(const tgcrt_net *net, void *m, size_t first, size_t n, uint64_t *nanoseconds) {
  Session *s = (Session *)m;
  const int status = entered(&s->core);
  return status ? status : left(&s->core, profile_some(s, net, NULL, NULL, first, n, nanoseconds));
}

/* ---- begin and end ---- */
static void release(Session *s) {
  drop_graph(s);
  if (s->event) s->cu.cuEventDestroy(s->event);
  if (s->module) s->cu.cuModuleUnload(s->module);
  if (s->memory) s->cu.cuMemFree(s->memory);
  if (s->weights) s->cu.cuMemFree(s->weights);
  if (s->pinned) s->cu.cuMemFreeHost(s->pinned);
}

static size_t work_bytes(const tgcrt_net *net) { return (net->work_bytes + 255) / 256 * 256; }

static int make_memory(Session *s, const tgcrt_net *net) {
  const tgcrt_device *d = &s->core.device;
  size_t i, at = 0;
  int32_t result;
  void *pinned = NULL;
  for (i = 0; i < net->ninputs; i++) at += buffer_bytes(net->input_bytes[i]);
  s->in_bytes = at;
  for (i = 0; i < net->noutputs; i++) at += buffer_bytes(net->output_bytes[i]);
  s->out_bytes = at - s->in_bytes;
  s->stage_bytes = at > LEAST_STAGE ? at : LEAST_STAGE;
  result = s->cu.cuMemAlloc(&s->memory, buffer_bytes(work_bytes(net) + at));
  if (result) return s->memory = 0, refused(d, result, "cuMemAlloc", TGCRT_MEMORY);
  result = s->cu.cuMemAlloc(&s->weights, buffer_bytes(net->weight_bytes));
  if (result) return s->weights = 0, refused(d, result, "cuMemAlloc", TGCRT_MEMORY);
  result = s->cu.cuMemHostAlloc(&pinned, TGCRT_DEVICE_RUNS + s->stage_bytes, 0);
  if (result) return refused(d, result, "cuMemHostAlloc", TGCRT_MEMORY);
  s->pinned = (unsigned char *)pinned;
  s->core.guards = s->pinned;
  s->stage = s->pinned + TGCRT_DEVICE_RUNS;
  s->values = s->memory + work_bytes(net);
  for (i = 0, at = 0; i < net->ninputs + net->noutputs; i++) {
    s->own[i] = s->bound[i] = s->values + at;
    at += buffer_bytes(i < net->ninputs ? net->input_bytes[i] : net->output_bytes[i - net->ninputs]);
  }
  return TGCRT_OK;
}

static int begin(Session *s, const tgcrt_net *net, const void *weights) {
  const size_t n = net->weight_bytes;
  int status = move_rows(s, s->weights, n, n, 1, (const unsigned char *)weights, NULL);
  if (!status) status = lose(&s->core, fill_zeros(&s->core, 0, work_bytes(net) + s->in_bytes + s->out_bytes), "memory");
  if (!status) status = reset(&s->core, net);
  if (!status) status = mark(&s->core);
  return status ? status : settle_all(&s->core);
}

static int make(Session *s, const tgcrt_net *net, const void *weights) {
  int32_t result;
  int status = load_kernels(s, net);
  if (!status) status = make_memory(s, net);
  if (status) return status;
  result = s->cu.cuEventCreate(&s->event, EVENT_DISABLE_TIMING);
  if (result) return s->event = NULL, refused(&s->core.device, result, "cuEventCreate", TGCRT_DEVICE);
  status = begin(s, net, weights);
  if (!status) record(s, net);
  return status;
}

int tgcrt_cuda_init(const tgcrt_net *net, const tgcrt_device *open, void *m, const void *weights) {
  Session *s = (Session *)m;
  const size_t nvalues = net->ninputs + net->noutputs;
  int status, popped;
  memset(m, 0, TGCRT_CUDA_BYTES(net->nlaunches, net->ninputs, net->noutputs, net->nstates));
  s->core.device = *open;
  s->core.ask_us = 2000;
  s->stream = open->queue;
  s->net = net;
  s->core.cursors = (uint64_t *)(void *)((unsigned char *)m + SESSION);
  s->own = s->core.cursors + net->nstates;
  s->bound = s->own + nvalues;
  s->next = s->bound + nvalues;
  s->functions = (void **)(s->next + nvalues);
  s->nodes = s->functions + net->nlaunches;
  s->out = s->nodes + net->nlaunches;
  status = load(&s->cu, open);
  if (!status) status = entered(&s->core);
  if (status) return status;
  status = make(s, net, weights);
  if (status) release(s);
  popped = left(&s->core, TGCRT_OK);
  if (popped && !status && !push(&s->cu, open->context)) {
    release(s);
    pop(&s->cu);
  }
  return status ? status : popped;
}

int tgcrt_cuda_close(const tgcrt_net *net, tgcrt_device *open, void *m) {
  Session *s = (Session *)m;
  Cu cu;
  int status;
  (void)net;
  if (s && !entered(&s->core) && left(&s->core, settle_all(&s->core)) == TGCRT_BUSY) return TGCRT_BUSY;
  status = load(&cu, open);
  if (status) return status;
  if (s && !push(&cu, open->context)) { /* else the context is gone, with all that was in it */
    release(s);
    pop(&cu);
  }
  give_back(&cu, open);
  memset(open, 0, sizeof *open);
  return TGCRT_OK;
}

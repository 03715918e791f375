/* SPDX-License-Identifier: 0BSD */
/* tgcrt_opencl.c: runs a model's launches by OpenCL 1.2; see tgcrt_device.h.
 *
 * The driver's library is opened on first use, and this file declares the functions it calls. So a build needs neither headers
 * nor a library of OpenCL. The caller owns all host memory: it begins with a session, then the handles. Each launch has its own
 * kernel object. Its arguments are set when the session begins, so a run does little more than enqueue all kernels in order.
 * There is one queue. A wait polls an event up to a time limit: while commands run, no function is called that could block for
 * ever. tgcrt_session.h has the parts that all interfaces share. */
#define API(name) tgcrt_opencl_##name
#include "tgcrt_session.h"

/* ---- declarations of OpenCL; numbers are those of its specification ---- */
#define EVENTS uint32_t events, void *const *list, void **event
#define RECT \
  const size_t *at, const size_t *host_at, const size_t *region, size_t row, size_t slice, size_t host_row, size_t host_slice
#define CL_FUNCTIONS(F) \
  F(int32_t, clGetPlatformIDs, (uint32_t n, void **platforms, uint32_t *found)) \
  F(int32_t, clGetDeviceIDs, (void *platform, uint64_t type, uint32_t n, void **devices, uint32_t *found)) \
  F(int32_t, clGetDeviceInfo, (void *device, uint32_t what, size_t n, void *value, size_t *size)) \
  F(void *, clCreateContext, \
    (const intptr_t *properties, uint32_t n, void *const *devices, void (DRIVER_CALL *notify)(void), void *arg, int32_t *status)) \
  F(int32_t, clRetainContext, (void *context)) \
  F(int32_t, clReleaseContext, (void *context)) \
  F(int32_t, clGetContextInfo, (void *context, uint32_t what, size_t n, void *value, size_t *size)) \
  F(void *, clCreateCommandQueue, (void *context, void *device, uint64_t properties, int32_t *status)) \
  F(int32_t, clRetainCommandQueue, (void *queue)) \
  F(int32_t, clReleaseCommandQueue, (void *queue)) \
  F(int32_t, clGetCommandQueueInfo, (void *queue, uint32_t what, size_t n, void *value, size_t *size)) \
  F(void *, clCreateBuffer, (void *context, uint64_t flags, size_t n, void *host, int32_t *status)) \
  F(int32_t, clReleaseMemObject, (void *buffer)) \
  F(int32_t, clGetMemObjectInfo, (void *buffer, uint32_t what, size_t n, void *value, size_t *size)) \
  F(void *, clCreateProgramWithSource, (void *context, uint32_t n, const char **text, const size_t *length, int32_t *status)) \
  F(void *, clCreateProgramWithBinary, \
    (void *context, uint32_t n, void *const *devices, const size_t *length, const unsigned char **binary, int32_t *each, \
     int32_t *status)) \
  F(int32_t, clReleaseProgram, (void *program)) \
  F(int32_t, clBuildProgram, \
    (void *program, uint32_t n, void *const *devices, const char *options, void (DRIVER_CALL *notify)(void *, void *), void *arg)) \
  F(int32_t, clGetProgramInfo, (void *program, uint32_t what, size_t n, void *value, size_t *size)) \
  F(int32_t, clGetProgramBuildInfo, (void *program, void *device, uint32_t what, size_t n, void *value, size_t *size)) \
  F(void *, clCreateKernel, (void *program, const char *name, int32_t *status)) \
  F(int32_t, clReleaseKernel, (void *kernel)) \
  F(int32_t, clSetKernelArg, (void *kernel, uint32_t i, size_t n, const void *value)) \
  F(int32_t, clGetKernelWorkGroupInfo, (void *kernel, void *device, uint32_t what, size_t n, void *value, size_t *size)) \
  F(int32_t, clEnqueueWriteBuffer, (void *queue, void *buffer, uint32_t wait, size_t at, size_t n, const void *p, EVENTS)) \
  F(int32_t, clEnqueueReadBuffer, (void *queue, void *buffer, uint32_t wait, size_t at, size_t n, void *p, EVENTS)) \
  F(int32_t, clEnqueueWriteBufferRect, (void *queue, void *buffer, uint32_t wait, RECT, const void *p, EVENTS)) \
  F(int32_t, clEnqueueReadBufferRect, (void *queue, void *buffer, uint32_t wait, RECT, void *p, EVENTS)) \
  F(int32_t, clEnqueueCopyBufferRect, (void *queue, void *from, void *to, RECT, EVENTS)) /* host: of `to` */ \
  F(int32_t, clEnqueueFillBuffer, (void *queue, void *buffer, const void *pattern, size_t unit, size_t at, size_t n, EVENTS)) \
  F(int32_t, clEnqueueNDRangeKernel, \
    (void *queue, void *kernel, uint32_t dims, const size_t *offset, const size_t *global, const size_t *local, EVENTS)) \
  F(int32_t, clEnqueueMarkerWithWaitList, (void *queue, EVENTS)) \
  F(int32_t, clFlush, (void *queue)) \
  F(int32_t, clGetEventInfo, (void *event, uint32_t what, size_t n, void *value, size_t *size)) \
  F(int32_t, clGetEventProfilingInfo, (void *event, uint32_t what, size_t n, void *value, size_t *size)) \
  F(int32_t, clWaitForEvents, (uint32_t n, void *const *events)) \
  F(int32_t, clReleaseEvent, (void *event))

typedef struct Cl {
#define DECLARE(result, name, parameters) result (DRIVER_CALL *name) parameters;
  CL_FUNCTIONS(DECLARE)
#undef DECLARE
  void *(DRIVER_CALL *clGetExtensionFunctionAddressForPlatform)(void *platform, const char *name); /* these two may be missing */
  int32_t (DRIVER_CALL *clGetKernelSubGroupInfo)(void *kernel, void *device, uint32_t what, size_t n, const void *input,
                                                 size_t size, void *value, size_t *got);
} Cl;

/* cl_khr_command_buffer, version 0.9 */
#define RECORD_FUNCTIONS(F) \
  F(void *, clCreateCommandBufferKHR, (uint32_t n, void *const *queues, const uint64_t *properties, int32_t *status)) \
  F(int32_t, clCommandNDRangeKernelKHR, \
    (void *recorded, void *queue, const uint64_t *properties, void *kernel, uint32_t dims, const size_t *offset, \
     const size_t *global, const size_t *local, uint32_t points, const uint32_t *list, uint32_t *point, void **handle)) \
  F(int32_t, clFinalizeCommandBufferKHR, (void *recorded)) \
  F(int32_t, clEnqueueCommandBufferKHR, (uint32_t n, void *const *queues, void *recorded, EVENTS)) \
  F(int32_t, clReleaseCommandBufferKHR, (void *recorded))

typedef struct Record {
#define DECLARE(result, name, parameters) result (DRIVER_CALL *name) parameters;
  RECORD_FUNCTIONS(DECLARE)
#undef DECLARE
} Record;

enum { /* results */
  CL_MEM_OBJECT_ALLOCATION_FAILURE = -4,
  CL_OUT_OF_RESOURCES = -5,
  CL_OUT_OF_HOST_MEMORY = -6,
  CL_INVALID_BUFFER_SIZE = -61
};
#define CL_DEVICE_TYPE_CPU ((uint64_t)1 << 1)
#define CL_DEVICE_TYPE_GPU ((uint64_t)1 << 2)
#define CL_DEVICE_TYPE_ALL 0xffffffffu
enum { /* properties to ask for */
  CL_DEVICE_TYPE = 0x1000,
  CL_DEVICE_MAX_COMPUTE_UNITS = 0x1002,
  CL_DEVICE_MAX_WORK_GROUP_SIZE = 0x1004,
  CL_DEVICE_MAX_WORK_ITEM_SIZES = 0x1005,
  CL_DEVICE_MAX_MEM_ALLOC_SIZE = 0x1010,
  CL_DEVICE_GLOBAL_MEM_SIZE = 0x101f,
  CL_DEVICE_LOCAL_MEM_TYPE = 0x1022,
  CL_DEVICE_LOCAL_MEM_SIZE = 0x1023,
  CL_DEVICE_ENDIAN_LITTLE = 0x1026,
  CL_DEVICE_AVAILABLE = 0x1027,
  CL_DEVICE_COMPILER_AVAILABLE = 0x1028,
  CL_DEVICE_NAME = 0x102b,
  CL_DRIVER_VERSION = 0x102d,
  CL_DEVICE_VERSION = 0x102f,
  CL_DEVICE_EXTENSIONS = 0x1030,
  CL_DEVICE_PLATFORM = 0x1031,
  CL_DEVICE_DOUBLE_FP_CONFIG = 0x1032,
  CL_CONTEXT_DEVICES = 0x1081,
  CL_QUEUE_CONTEXT = 0x1090,
  CL_QUEUE_DEVICE = 0x1091,
  CL_QUEUE_PROPERTIES = 0x1093,
  CL_MEM_SIZE = 0x1102,
  CL_MEM_CONTEXT = 0x1106,
  CL_PROGRAM_NUM_DEVICES = 0x1162,
  CL_PROGRAM_BINARY_SIZES = 0x1165,
  CL_PROGRAM_BINARIES = 0x1166,
  CL_PROGRAM_BUILD_LOG = 0x1183,
  CL_KERNEL_WORK_GROUP_SIZE = 0x11b0,
  CL_KERNEL_MAX_SUB_GROUP_SIZE_FOR_NDRANGE = 0x2033,
  CL_EVENT_COMMAND_EXECUTION_STATUS = 0x11d3,
  CL_PROFILING_COMMAND_START = 0x1282,
  CL_PROFILING_COMMAND_END = 0x1283,
  CL_DEVICE_COMMAND_BUFFER_REQUIRED_QUEUE_PROPERTIES = 0x12aa
};
enum { CL_LOCAL = 1, CL_QUEUE_OUT_OF_ORDER = 1, CL_QUEUE_PROFILING = 2, CL_MEM_READ_WRITE = 1, CL_MEM_READ_ONLY = 4 };

/* ---- the driver's library ---- */
static const char *const libraries[] = {
#if defined _WIN32
  "OpenCL.dll",
#elif defined __APPLE__
  "/System/Library/Frameworks/OpenCL.framework/OpenCL",
#elif defined __ANDROID__
  "libOpenCL.so", "/vendor/lib64/libOpenCL.so", "/system/vendor/lib64/libOpenCL.so", "/system/lib64/libOpenCL.so",
  "/vendor/lib64/egl/libGLES_mali.so", "/vendor/lib/libOpenCL.so", "/system/vendor/lib/libOpenCL.so",
  "/vendor/lib/egl/libGLES_mali.so",
#else
  "libOpenCL.so.1", "libOpenCL.so",
#endif
};

/* ---- the session ---- */
typedef struct Session {
  Core core;
  Cl cl;
  Record record;
  void *queue;               /* the device's; another one while a run is profiled */
  void *program, *work, *weights;
  void *recorded;            /* all launches on this session's buffers; NULL: not recorded */
  void *event;               /* behind all enqueued commands; NULL: all are done */
  void **kernels, **inputs, **outputs; /* kernels: one for each launch */
  int bound;                 /* the kernels use the buffers of this session, not the caller's */
  unsigned char guards[TGCRT_DEVICE_RUNS];
} Session;
enum { SESSION = 1024 };
typedef char session_fits[sizeof(Session) <= SESSION && sizeof(void *) <= 8 ? 1 : -1];

/* The status for a result that is not 0. */
static int status_of(int32_t result, int other) {
  switch (result) {
  case CL_MEM_OBJECT_ALLOCATION_FAILURE:
  case CL_OUT_OF_RESOURCES:
  case CL_OUT_OF_HOST_MEMORY:
  case CL_INVALID_BUFFER_SIZE: return TGCRT_MEMORY;
  }
  return other;
}

static int refused(const tgcrt_device *d, int32_t result, const char *function, int other) {
  char what[60];
  if (!result) return TGCRT_OK;
  snprintf(what, sizeof what, "OpenCL error %d", (int)result);
  say(d, function, what);
  return status_of(result, other);
}

static int load(Cl *cl, const tgcrt_device *d) {
  void *library = first_library(libraries, sizeof libraries / sizeof *libraries);
  if (!library) {
    say(d, libraries[0], "this library cannot be opened: no OpenCL loader or driver is installed");
    return TGCRT_DRIVER;
  }
#define FIND(result, name, parameters) \
  library_find(library, #name, &cl->name); \
  if (!cl->name) { \
    say(d, #name, "the driver's library lacks this function of OpenCL 1.2"); \
    return TGCRT_DRIVER; \
  }
  CL_FUNCTIONS(FIND)
#undef FIND
  library_find(library, "clGetExtensionFunctionAddressForPlatform", &cl->clGetExtensionFunctionAddressForPlatform);
  library_find(library, "clGetKernelSubGroupInfo", &cl->clGetKernelSubGroupInfo);
  return TGCRT_OK;
}

/* ---- devices ---- */
static uint64_t device_number(const Cl *cl, void *device, uint32_t what) { /* 0: the driver does not say */
  uint64_t value = 0;
  return cl->clGetDeviceInfo(device, what, sizeof value, &value, NULL) ? 0 : value;
}

static void device_text(const Cl *cl, void *device, uint32_t what, char *text, size_t n) {
  memset(text, 0, n);
  if (cl->clGetDeviceInfo(device, what, n - 1, text, NULL)) text[0] = 0;
}

enum { MOST_PLATFORMS = 16, MOST_DEVICES = 32 };

/* wanted NULL: the first GPU, else the first device */
static int choose(const Cl *cl, const tgcrt_device *d, const char *wanted, void **device) {
  void *platforms[MOST_PLATFORMS], *devices[MOST_DEVICES], *first = NULL;
  uint32_t nplatforms = 0, ndevices, i, k;
  unsigned long number = 0;
  char name[256];
  int32_t result = cl->clGetPlatformIDs(MOST_PLATFORMS, platforms, &nplatforms);
  if (result == CL_OUT_OF_HOST_MEMORY) return refused(d, result, "clGetPlatformIDs", TGCRT_MEMORY);
  if (result) nplatforms = 0; /* the loader found no driver */
  for (i = 0; i < nplatforms && i < MOST_PLATFORMS; i++) {
    /* another platform may have devices */
    if (cl->clGetDeviceIDs(platforms[i], CL_DEVICE_TYPE_ALL, MOST_DEVICES, devices, &ndevices)) continue;
    for (k = 0; k < ndevices && k < MOST_DEVICES; k++, number++) {
      *device = devices[k];
      if (wanted) device_text(cl, devices[k], CL_DEVICE_NAME, name, sizeof name);
      if (wanted && is_wanted(wanted, number, name)) return TGCRT_OK;
      if (!wanted && device_number(cl, devices[k], CL_DEVICE_TYPE) & CL_DEVICE_TYPE_GPU) return TGCRT_OK;
      if (!first) first = devices[k];
    }
  }
  *device = wanted ? NULL : first;
  if (*device) return TGCRT_OK;
  if (!first) say(d, "OpenCL", "no platform has a device");
  else say(d, wanted, "no device has this number or name");
  return TGCRT_DEVICE;
}

static int has_word(const char *text, const char *word) {
  const size_t n = strlen(word);
  const char *at = text;
  for (; (at = strstr(at, word)); at += n)
    if ((at == text || at[-1] == ' ') && (!at[n] || at[n] == ' ')) return 1;
  return 0;
}

static const struct {
  uint32_t bit;
  const char *extension, *what;
} needed[] = {
  { TGCRT_NEEDS_F16, "cl_khr_fp16", "the model needs arithmetic of half precision (cl_khr_fp16)" },
  { TGCRT_NEEDS_SUBGROUPS, "cl_khr_subgroup_shuffle", "the model needs subgroups that exchange values (cl_khr_subgroup_shuffle)" },
  { TGCRT_NEEDS_INT_DOT, "cl_khr_integer_dot_product", "the model needs sums of products of bytes (cl_khr_integer_dot_product)" },
};

/* The model's need that the device does not meet; NULL: it meets all */
static const char *lacks(const Cl *cl, const tgcrt_net *net, void *device) {
  char version[128], extensions[16384];
  size_t sizes[8] = { 0 }, i, k;
  device_text(cl, device, CL_DEVICE_VERSION, version, sizeof version); /* "OpenCL 1.2 ..." */
  device_text(cl, device, CL_DEVICE_EXTENSIONS, extensions, sizeof extensions);
  if (!device_number(cl, device, CL_DEVICE_AVAILABLE)) return "the device is not available";
  if (!device_number(cl, device, CL_DEVICE_COMPILER_AVAILABLE)) return "the driver has no compiler";
  if (!device_number(cl, device, CL_DEVICE_ENDIAN_LITTLE)) return "the device is big-endian";
  if (strncmp(version, "OpenCL ", 7) || strcmp(version + 7, "1.2") < 0) return "the device has no OpenCL 1.2";
  if (net->needs & TGCRT_NEEDS_F64 && !device_number(cl, device, CL_DEVICE_DOUBLE_FP_CONFIG)) return "the model needs doubles";
  for (i = 0; i < sizeof needed / sizeof *needed; i++)
    if (net->needs & needed[i].bit && !has_word(extensions, needed[i].extension)) return needed[i].what;
  if (net->max_block > device_number(cl, device, CL_DEVICE_MAX_WORK_GROUP_SIZE)) return "the model needs larger work groups";
  if (net->shared_bytes > device_number(cl, device, CL_DEVICE_LOCAL_MEM_SIZE)) return "the model needs more local memory";
  if (cl->clGetDeviceInfo(device, CL_DEVICE_MAX_WORK_ITEM_SIZES, sizeof sizes, sizes, NULL))
    return "the device does not say how large work groups may be";
  for (i = 0; i < net->nlaunches; i++)
    for (k = 0; k < 3; k++)
      if (net->launches[i].block[k] > sizes[k]) return "the model needs larger work groups in one direction";
  return NULL;
}

static int fits(const Cl *cl, const tgcrt_net *net, const tgcrt_device *d) {
  char name[256];
  const char *why = lacks(cl, net, d->device);
  device_text(cl, d->device, CL_DEVICE_NAME, name, sizeof name);
  if (why) say(d, name, why);
  if (why) return TGCRT_DEVICE;
  if (!too_large(net, device_number(cl, d->device, CL_DEVICE_MAX_MEM_ALLOC_SIZE),
                 device_number(cl, d->device, CL_DEVICE_GLOBAL_MEM_SIZE)))
    return TGCRT_OK;
  say(d, name, "the model needs more memory than the device has, or than one buffer of it may have");
  return TGCRT_MEMORY;
}

/* Sets context and device of the caller's queue */
static int ask_queue(const Cl *cl, tgcrt_device *d) {
  uint64_t properties = 0;
  int32_t result = cl->clGetCommandQueueInfo(d->queue, CL_QUEUE_CONTEXT, sizeof d->context, &d->context, NULL);
  if (!result) result = cl->clGetCommandQueueInfo(d->queue, CL_QUEUE_DEVICE, sizeof d->device, &d->device, NULL);
  if (!result) result = cl->clGetCommandQueueInfo(d->queue, CL_QUEUE_PROPERTIES, sizeof properties, &properties, NULL);
  if (result) return refused(d, result, "clGetCommandQueueInfo", TGCRT_DEVICE);
  if (!(properties & CL_QUEUE_OUT_OF_ORDER)) return TGCRT_OK;
  say(d, "the queue", "it runs commands out of order");
  return TGCRT_DEVICE;
}

static int ask_context(const Cl *cl, tgcrt_device *d) {
  void *devices[MOST_DEVICES];
  const int32_t result = cl->clGetContextInfo(d->context, CL_CONTEXT_DEVICES, sizeof devices, devices, NULL);
  if (!result) d->device = devices[0];
  return refused(d, result, "clGetContextInfo", TGCRT_DEVICE);
}

/* Takes or makes the queue, and makes the context if the caller has none. The objects in `d` are released by its close. */
static int take_queue(const Cl *cl, tgcrt_device *d) {
  int32_t result = 0;
  if (d->context) result = cl->clRetainContext(d->context);
  else d->context = cl->clCreateContext(NULL, 1, &d->device, NULL, NULL, &result);
  if (result) return refused(d, result, "the context", TGCRT_DEVICE);
  if (d->queue) result = cl->clRetainCommandQueue(d->queue);
  else d->queue = cl->clCreateCommandQueue(d->context, d->device, 0, &result);
  if (result) cl->clReleaseContext(d->context);
  return refused(d, result, "the queue", TGCRT_DEVICE);
}

static int open_device(const tgcrt_net *net, tgcrt_device *d, const char *name) {
  Cl cl;
  int status = load(&cl, d);
  if (!status && d->queue) status = ask_queue(&cl, d);
  else if (!status && d->context && !d->device) status = ask_context(&cl, d);
  else if (!status && !d->device) status = choose(&cl, d, name, &d->device);
  if (!status) status = fits(&cl, net, d);
  return status ? status : take_queue(&cl, d);
}

static void ask_facts(const Cl *cl, void *device, tgcrt_device_facts *f) {
  char extensions[16384];
  const uint64_t type = device_number(cl, device, CL_DEVICE_TYPE);
  size_t i;
  device_text(cl, device, CL_DEVICE_NAME, f->name, sizeof f->name);
  device_text(cl, device, CL_DRIVER_VERSION, f->driver, sizeof f->driver);
  device_text(cl, device, CL_DEVICE_VERSION, f->version, sizeof f->version);
  device_text(cl, device, CL_DEVICE_EXTENSIONS, extensions, sizeof extensions);
  f->is_gpu = (type & CL_DEVICE_TYPE_GPU) != 0;
  f->is_cpu = (type & CL_DEVICE_TYPE_CPU) != 0;
  f->units = (uint32_t)device_number(cl, device, CL_DEVICE_MAX_COMPUTE_UNITS);
  f->max_threads = (uint32_t)device_number(cl, device, CL_DEVICE_MAX_WORK_GROUP_SIZE);
  f->shared_bytes = device_number(cl, device, CL_DEVICE_LOCAL_MEM_SIZE);
  f->shared_is_fast = device_number(cl, device, CL_DEVICE_LOCAL_MEM_TYPE) == CL_LOCAL;
  f->memory = device_number(cl, device, CL_DEVICE_GLOBAL_MEM_SIZE);
  f->largest = device_number(cl, device, CL_DEVICE_MAX_MEM_ALLOC_SIZE);
  f->abilities = device_number(cl, device, CL_DEVICE_DOUBLE_FP_CONFIG) ? TGCRT_NEEDS_F64 : 0;
  for (i = 0; i < sizeof needed / sizeof *needed; i++)
    if (has_word(extensions, needed[i].extension)) f->abilities |= needed[i].bit;
}

static int ask_device(const tgcrt_device *d, unsigned long number, tgcrt_device_facts *facts) {
  tgcrt_device silent = *d;
  Cl cl;
  void *device;
  char text[24];
  int status = load(&cl, d);
  silent.log = NULL; /* a missing device ends the list */
  snprintf(text, sizeof text, "%lu", number);
  if (!status) status = choose(&cl, &silent, text, &device);
  if (!status) ask_facts(&cl, device, facts);
  return status;
}

int tgcrt_opencl_describe(const tgcrt_device *open, tgcrt_device_facts *facts) {
  Cl cl;
  const int status = load(&cl, open);
  memset(facts, 0, sizeof *facts);
  if (!status) ask_facts(&cl, open->device, facts);
  return status;
}

/* ---- waiting ---- */
static int32_t enter(Core *s) { return (void)s, 0; } /* OpenCL has no state of threads */
static int32_t leave(Core *s) { return (void)s, 0; }

static int32_t mark_end(Core *core) {
  Session *s = (Session *)core;
  void *event = NULL;
  int32_t result = s->cl.clEnqueueMarkerWithWaitList(s->queue, 0, NULL, &event);
  if (!result && s->event) result = s->cl.clReleaseEvent(s->event);
  if (event) s->event = event;
  return result ? result : s->cl.clFlush(s->queue);
}

static int32_t ask(Core *core, int *done) {
  Session *s = (Session *)core;
  int32_t state = 1, result = s->cl.clGetEventInfo(s->event, CL_EVENT_COMMAND_EXECUTION_STATUS, sizeof state, &state, NULL);
  if (!result && state > 0) return 0;
  /* the event is done, but the host sees the device's results only after this wait */
  if (!result && state == 0) result = s->cl.clWaitForEvents(1, &s->event);
  if (!result && state < 0) result = state;
  s->cl.clReleaseEvent(s->event);
  s->event = NULL;
  *done = 1;
  return result;
}

/* ---- the program ---- */
#ifdef _WIN32
static unsigned long process(void) { return GetCurrentProcessId(); }
static int replace_file(const char *from, const char *to) { return !MoveFileExA(from, to, MOVEFILE_REPLACE_EXISTING); }
#else
static unsigned long process(void) { return (unsigned long)getpid(); }
static int replace_file(const char *from, const char *to) { return rename(from, to); }
#endif

enum { DIGEST = 64 };

/* Replaces the digest by that of itself and of these bytes */
static void digest_add(char digest[DIGEST + 1], const void *p, size_t n) {
  char both[2 * DIGEST + 1];
  memcpy(both, digest, DIGEST);
  tgcrt_sha256(p, n, both + DIGEST);
  tgcrt_sha256(both, 2 * DIGEST, digest);
}

static void program_digest(const Session *s, const tgcrt_net *net, char digest[DIGEST + 1]) {
  static const uint32_t of[] = { CL_DEVICE_NAME, CL_DEVICE_VERSION, CL_DRIVER_VERSION };
  char about[256];
  size_t i;
  memset(digest, '0', DIGEST);
  for (i = 0; i < net->ntext; i++) digest_add(digest, net->text[i], strlen(net->text[i]));
  digest_add(digest, net->options, strlen(net->options));
  for (i = 0; i < sizeof of / sizeof *of; i++) {
    device_text(&s->cl, s->core.device.device, of[i], about, sizeof about);
    digest_add(digest, about, strlen(about));
  }
}

static void build_log(const Session *s) {
  size_t n = 0;
  char *log;
  void *device = s->core.device.device;
  if (!s->core.device.log || s->cl.clGetProgramBuildInfo(s->program, device, CL_PROGRAM_BUILD_LOG, 0, NULL, &n)) return;
  log = (char *)pages_take(n + 1);
  if (log && !s->cl.clGetProgramBuildInfo(s->program, device, CL_PROGRAM_BUILD_LOG, n, log, NULL))
    s->core.device.log(s->core.device.log_arg, log);
  pages_give(log, n + 1);
}

/* Head of a file with a built program; the binary follows. A file of another form or program, or one that the driver refuses,
 * counts as missing. */
typedef struct CacheHead {
  char magic[8], program[DIGEST], binary[DIGEST]; /* digests */
  uint64_t bytes;
} CacheHead;
#define CACHE_MAGIC "tgcrtcl1"

static int binary_good(const CacheHead *h, const void *binary) {
  char digest[DIGEST + 1];
  tgcrt_sha256(binary, (size_t)h->bytes, digest);
  return !memcmp(digest, h->binary, DIGEST);
}

static void binary_build(Session *s, const tgcrt_net *net, const unsigned char *binary, size_t n) {
  int32_t result = 0, each = 0;
  s->program = s->cl.clCreateProgramWithBinary(s->core.device.context, 1, &s->core.device.device, &n, &binary, &each, &result);
  if (!s->program) return;
  if (!result && !each) result = s->cl.clBuildProgram(s->program, 1, &s->core.device.device, net->options, NULL, NULL);
  if (!result && !each) return;
  s->cl.clReleaseProgram(s->program);
  s->program = NULL;
}

static void cache_read(Session *s, const tgcrt_net *net, const char *digest) {
  CacheHead h;
  FILE *f = fopen(s->core.device.cache, "rb");
  if (!f) return;
  if (fread(&h, sizeof h, 1, f) == 1 && !memcmp(h.magic, CACHE_MAGIC, sizeof h.magic) && !memcmp(h.program, digest, DIGEST) &&
      h.bytes && h.bytes <= (uint64_t)1 << 30) {
    const size_t n = (size_t)h.bytes;
    unsigned char *binary = (unsigned char *)pages_take(n);
    if (binary && fread(binary, 1, n, f) == n && binary_good(&h, binary)) binary_build(s, net, binary, n);
    pages_give(binary, n);
  }
  fclose(f);
}

static void cache_put(const Session *s, const CacheHead *h, const void *binary) {
  char path[1024];
  const int n = snprintf(path, sizeof path, "%s.%lu-%lx", s->core.device.cache, process(), (unsigned long)(uintptr_t)s);
  FILE *f = n > 0 && (size_t)n < sizeof path ? fopen(path, "wb") : NULL;
  int bad;
  if (!f) return;
  bad = fwrite(h, sizeof *h, 1, f) != 1 || fwrite(binary, 1, (size_t)h->bytes, f) != h->bytes;
  bad |= fclose(f) != 0;
  if (bad || replace_file(path, s->core.device.cache)) remove(path);
}

static void cache_write(const Session *s, const char *digest) {
  CacheHead h;
  uint32_t devices = 0;
  size_t n = 0;
  unsigned char *binary;
  char hex[DIGEST + 1];
  if (s->cl.clGetProgramInfo(s->program, CL_PROGRAM_NUM_DEVICES, sizeof devices, &devices, NULL) || devices != 1) return;
  if (s->cl.clGetProgramInfo(s->program, CL_PROGRAM_BINARY_SIZES, sizeof n, &n, NULL) || !n) return;
  binary = (unsigned char *)pages_take(n);
  if (binary && !s->cl.clGetProgramInfo(s->program, CL_PROGRAM_BINARIES, sizeof binary, &binary, NULL)) {
    memset(&h, 0, sizeof h);
    memcpy(h.magic, CACHE_MAGIC, sizeof h.magic);
    memcpy(h.program, digest, DIGEST);
    tgcrt_sha256(binary, n, hex);
    memcpy(h.binary, hex, DIGEST);
    h.bytes = n;
    cache_put(s, &h, binary);
  }
  pages_give(binary, n);
}

static int build(Session *s, const tgcrt_net *net) {
  char digest[DIGEST + 1];
  int32_t result = 0;
  if (s->core.device.cache) program_digest(s, net, digest);
  if (s->core.device.cache) cache_read(s, net, digest);
  if (s->program) return TGCRT_OK;
  s->program = s->cl.clCreateProgramWithSource(s->core.device.context, (uint32_t)net->ntext, (const char **)(uintptr_t)net->text, NULL,
                                               &result);
  if (result) return refused(&s->core.device, result, "clCreateProgramWithSource", TGCRT_BUILD);
  result = s->cl.clBuildProgram(s->program, 1, &s->core.device.device, net->options, NULL, NULL);
  if (result) build_log(s);
  if (result) return refused(&s->core.device, result, "clBuildProgram", TGCRT_BUILD);
  if (s->core.device.cache) cache_write(s, digest);
  return TGCRT_OK;
}

/* ---- arguments ---- */
/* Sets argument i of a launch's buffers: the memory, unless it is NULL, and the offset in bytes. */
static int32_t set_buffer(const Session *s, const tgcrt_net *net, size_t launch, uint32_t i, void *memory) {
  const uint64_t at = place_at(&s->core, net, &net->places[net->launches[launch].first + i]);
  int32_t result = 0;
  if (memory) result = s->cl.clSetKernelArg(s->kernels[launch], 2 * i, sizeof memory, &memory);
  return result ? result : s->cl.clSetKernelArg(s->kernels[launch], 2 * i + 1, sizeof at, &at);
}

/* Sets the inputs and outputs of all launches */
static int32_t set_values(Session *s, const tgcrt_net *net, void *const *in, void *const *out) {
  int32_t result = 0;
  size_t k;
  uint32_t i;
  for (k = 0; k < net->nlaunches; k++)
    for (i = 0; i < net->launches[k].n && !result; i++) {
      const tgcrt_place *p = &net->places[net->launches[k].first + i];
      void *buffer;
      if (p->memory != TGCRT_PLACE_INPUT && p->memory != TGCRT_PLACE_OUTPUT) continue;
      buffer = p->memory == TGCRT_PLACE_INPUT ? in[p->number] : out[p->number];
      if (!buffer) buffer = (p->memory == TGCRT_PLACE_INPUT ? s->inputs : s->outputs)[p->number]; /* a value without elements */
      result = set_buffer(s, net, k, i, buffer);
    }
  return result;
}

static int32_t bind(Core *core, const tgcrt_net *net, void *const *in, void *const *out) {
  Session *s = (Session *)core;
  int32_t result;
  if (!in && s->bound) return 0;
  s->bound = 0;
  result = set_values(s, net, in ? in : s->inputs, out ? out : s->outputs);
  s->bound = !in && !result;
  return result;
}

/* Whether threads that exchange values are in one subgroup. A function's name ends with their number: "k7_w32". */
static int exchanges(Session *s, const tgcrt_launch *l, const char *name, void *kernel) {
  const char *end = strrchr(name, '_');
  const size_t block[3] = { l->block[0], l->block[1], l->block[2] }, want = end && end[1] == 'w' ? strtoul(end + 2, NULL, 10) : 0;
  size_t has = 0;
  if (!want) return TGCRT_OK;
  if (s->cl.clGetKernelSubGroupInfo)
    s->cl.clGetKernelSubGroupInfo(kernel, s->core.device.device, CL_KERNEL_MAX_SUB_GROUP_SIZE_FOR_NDRANGE, sizeof block, block,
                                  sizeof has, &has, NULL);
  if (has >= want && !(has & (has - 1))) return TGCRT_OK;
  say(&s->core.device, name, "the device's subgroups have too few threads for this kernel, or it does not say how many");
  return TGCRT_DEVICE;
}

static int make_kernels(Session *s, const tgcrt_net *net) {
  size_t k;
  uint32_t i;
  for (k = 0; k < net->nlaunches; k++) {
    const tgcrt_launch *l = &net->launches[k];
    const char *name = net->functions[l->function];
    int32_t result = 0;
    size_t most = 0;
    s->kernels[k] = s->cl.clCreateKernel(s->program, name, &result);
    if (result) return refused(&s->core.device, result, name, TGCRT_BUILD);
    result = s->cl.clGetKernelWorkGroupInfo(s->kernels[k], s->core.device.device, CL_KERNEL_WORK_GROUP_SIZE, sizeof most, &most,
                                            NULL);
    if (result) return refused(&s->core.device, result, name, TGCRT_DEVICE);
    if ((size_t)l->block[0] * l->block[1] * l->block[2] > most) {
      say(&s->core.device, name, "the device runs this kernel in smaller work groups only");
      return TGCRT_DEVICE;
    }
    if (exchanges(s, l, name, s->kernels[k])) return TGCRT_DEVICE;
    for (i = 0; i < l->n && !result; i++) {
      const tgcrt_place *p = &net->places[l->first + i];
      void *const memory = p->memory == TGCRT_PLACE_INPUT     ? s->inputs[p->number]
                           : p->memory == TGCRT_PLACE_OUTPUT  ? s->outputs[p->number]
                           : p->memory == TGCRT_PLACE_WEIGHTS ? s->weights
                                                              : s->work;
      result = set_buffer(s, net, k, i, memory);
    }
    if (result) return refused(&s->core.device, result, name, TGCRT_BUILD);
  }
  s->bound = 1;
  return TGCRT_OK;
}

/* ---- memory of the device ---- */
static int make_buffer(Session *s, size_t n, uint64_t flags, void **buffer) {
  int32_t result = 0;
  *buffer = s->cl.clCreateBuffer(s->core.device.context, flags, buffer_bytes(n), NULL, &result);
  return refused(&s->core.device, result, "clCreateBuffer", TGCRT_MEMORY);
}

static int make_buffers(Session *s, const tgcrt_net *net) {
  size_t i;
  int status = make_buffer(s, net->work_bytes, CL_MEM_READ_WRITE, &s->work);
  if (!status) status = make_buffer(s, net->weight_bytes, CL_MEM_READ_ONLY, &s->weights);
  for (i = 0; i < net->ninputs && !status; i++) status = make_buffer(s, net->input_bytes[i], CL_MEM_READ_WRITE, &s->inputs[i]);
  for (i = 0; i < net->noutputs && !status; i++) status = make_buffer(s, net->output_bytes[i], CL_MEM_READ_WRITE, &s->outputs[i]);
  return status;
}

static int32_t put_bytes(const Session *s, void *buffer, size_t at, const void *p, size_t n) {
  return n ? s->cl.clEnqueueWriteBuffer(s->queue, buffer, 0, at, n, p, 0, NULL, NULL) : 0;
}

static int32_t get_bytes(const Session *s, void *buffer, size_t at, void *p, size_t n) {
  return n ? s->cl.clEnqueueReadBuffer(s->queue, buffer, 0, at, n, p, 0, NULL, NULL) : 0;
}

static int32_t fill_buffer(const Session *s, void *buffer, size_t at, size_t n) {
  static const uint32_t zeros[4] = { 0, 0, 0, 0 };
  const size_t unit = (at | n) % sizeof zeros ? 1 : sizeof zeros;
  return n ? s->cl.clEnqueueFillBuffer(s->queue, buffer, zeros, unit, at, n, 0, NULL, NULL) : 0;
}

static int32_t fill_zeros(Core *s, size_t at, size_t n) {
  return fill_buffer((Session *)s, ((Session *)s)->work, at, n);
}

static int32_t put_numbers(Core *s, size_t at, const int64_t *numbers, size_t n) {
  const Session *session = (const Session *)s;
  const size_t unit = sizeof *numbers;
  int32_t result = 0;
  size_t i;
  for (i = 0; i < n && !result; i++)
    result = session->cl.clEnqueueFillBuffer(session->queue, session->work, &numbers[i], unit, at + i * unit, unit, 0, NULL, NULL);
  return result;
}

static int32_t copy_rows(Core *core, int from_weights, size_t from_at, size_t from_row, size_t to_at, const tgcrt_state *t,
                         size_t bytes) {
  Session *s = (Session *)core;
  const size_t at[3] = { from_at, 0, 0 }, to[3] = { to_at, 0, 0 }, region[3] = { bytes, t->outer, 1 };
  if (!bytes || !t->outer) return 0;
  return s->cl.clEnqueueCopyBufferRect(s->queue, from_weights ? s->weights : s->work, s->work, at, to, region, from_row, 0,
                                       t->block, 0, 0, NULL, NULL);
}

static int read_rows(Core *core, size_t at, size_t row, size_t bytes, size_t rows, void *p) {
  Session *s = (Session *)core;
  const size_t from[3] = { at, 0, 0 }, host[3] = { 0, 0, 0 }, region[3] = { bytes, rows, 1 };
  int32_t result = 0;
  if (rows == 1) result = get_bytes(s, s->work, at, p, bytes);
  else if (bytes && rows)
    result = s->cl.clEnqueueReadBufferRect(s->queue, s->work, 0, from, host, region, row, 0, bytes, 0, p, 0, NULL, NULL);
  return finish(core, result, "a state");
}

static int write_rows(Core *core, size_t at, size_t row, size_t bytes, size_t rows, const void *p) {
  Session *s = (Session *)core;
  const size_t to[3] = { at, 0, 0 }, host[3] = { 0, 0, 0 }, region[3] = { bytes, rows, 1 };
  int32_t result = 0;
  if (rows == 1) result = put_bytes(s, s->work, at, p, bytes);
  else if (bytes && rows)
    result = s->cl.clEnqueueWriteBufferRect(s->queue, s->work, 0, to, host, region, row, 0, bytes, 0, p, 0, NULL, NULL);
  return finish(core, result, "a state");
}

/* ---- runs ---- */
static void sizes_of(const tgcrt_launch *l, size_t global[3], size_t local[3]) {
  int i;
  for (i = 0; i < 3; i++) local[i] = l->block[i], global[i] = local[i] * l->grid[i];
}

static int32_t launch(Session *s, const tgcrt_net *net, size_t k, void **event) {
  const tgcrt_launch *l = &net->launches[k];
  size_t global[3], local[3];
  uint32_t b;
  int32_t result = 0;
  for (b = 0; b < l->n && !result; b++)
    if (moves(net, &net->places[l->first + b])) result = set_buffer(s, net, k, b, NULL);
  sizes_of(l, global, local);
  return result ? result : s->cl.clEnqueueNDRangeKernel(s->queue, s->kernels[k], 3, NULL, global, local, 0, NULL, event);
}

static int32_t record_launches(Session *s, const tgcrt_net *net) {
  uint32_t point = 0;
  int32_t result = 0;
  size_t global[3], local[3], k;
  for (k = 0; k < net->nlaunches && !result; k++) {
    const uint32_t before = point;
    sizes_of(&net->launches[k], global, local);
    result = s->record.clCommandNDRangeKernelKHR(s->recorded, NULL, NULL, s->kernels[k], 3, NULL, global, local, k ? 1 : 0,
                                                 k ? &before : NULL, &point, NULL);
  }
  return result ? result : s->record.clFinalizeCommandBufferKHR(s->recorded);
}

/* Records all launches. If a function is missing or fails, runs enqueue the launches one by one. */
static void record(Session *s, const tgcrt_net *net) {
  char extensions[16384];
  void *platform = NULL, *device = s->core.device.device;
  int32_t result = 0;
  size_t k;
  for (k = 0; k < net->nstates; k++)
    if (net->states[k].slots > 1) return; /* recorded arguments cannot change */
  device_text(&s->cl, device, CL_DEVICE_EXTENSIONS, extensions, sizeof extensions);
  if (!net->nlaunches || !has_word(extensions, "cl_khr_command_buffer")) return;
  if (!s->cl.clGetExtensionFunctionAddressForPlatform) return;
  if (device_number(&s->cl, device, CL_DEVICE_COMMAND_BUFFER_REQUIRED_QUEUE_PROPERTIES)) return;
  if (s->cl.clGetDeviceInfo(device, CL_DEVICE_PLATFORM, sizeof platform, &platform, NULL)) return;
#define FIND(result, name, parameters) { \
    void *p = s->cl.clGetExtensionFunctionAddressForPlatform(platform, #name); \
    if (!p) return; \
    memcpy(&s->record.name, &p, sizeof p); \
  }
  RECORD_FUNCTIONS(FIND)
#undef FIND
  s->recorded = s->record.clCreateCommandBufferKHR(1, &s->queue, NULL, &result);
  if (!result) result = record_launches(s, net);
  if (result && s->recorded) s->record.clReleaseCommandBufferKHR(s->recorded);
  if (result) s->recorded = NULL;
}

/* Enqueues n launches from `first` on; events: one for each of them, or NULL */
static int32_t enqueue_launches(Session *s, const tgcrt_net *net, size_t first, size_t n, uint64_t *events) {
  int32_t result = 0;
  size_t k;
  for (k = 0; k < n && !result; k++) {
    void *event = NULL;
    result = launch(s, net, first + k, events ? &event : NULL);
    if (events) events[k] = (uint64_t)(uintptr_t)event;
  }
  return result;
}

static int32_t launch_all(Core *core, const tgcrt_net *net, uint64_t *events) {
  Session *s = (Session *)core;
  /* a recording must be done before it is enqueued again */
  if (s->bound && !events && s->recorded && !s->event)
    return s->record.clEnqueueCommandBufferKHR(0, NULL, s->recorded, 0, NULL, NULL);
  return enqueue_launches(s, net, 0, net->nlaunches, events);
}

static int32_t read_guard(Core *core, const tgcrt_net *net, unsigned char *guard) {
  const Session *s = (const Session *)core;
  return get_bytes(s, s->work, net->guard_at, guard, 1);
}

static int32_t feed(Core *core, const tgcrt_net *net, const void *const *in) {
  const Session *s = (const Session *)core;
  int32_t result = 0;
  size_t i;
  for (i = 0; i < net->ninputs && !result; i++) result = put_bytes(s, s->inputs[i], 0, in[i], input_bytes(core, net)[i]);
  return result;
}

static int32_t fetch(Core *core, const tgcrt_net *net, void *const *out) {
  const Session *s = (const Session *)core;
  int32_t result = 0;
  size_t i;
  note_fetched(core, net);
  for (i = 0; i < net->noutputs && !result; i++) result = get_bytes(s, s->outputs[i], 0, out[i], fetched(core, net, i));
  return result;
}

/* Checks that each is a buffer of this context, and large enough. */
static int check_list(const Session *s, const size_t *bytes, size_t n, void *const *p) {
  size_t i;
  for (i = 0; i < n; i++) {
    size_t has = 0;
    void *context = NULL;
    if (!bytes[i]) continue;
    if (s->cl.clGetMemObjectInfo(p[i], CL_MEM_SIZE, sizeof has, &has, NULL) || has < bytes[i]) return TGCRT_ARGUMENT;
    if (s->cl.clGetMemObjectInfo(p[i], CL_MEM_CONTEXT, sizeof context, &context, NULL) || context != s->core.device.context)
      return TGCRT_ARGUMENT;
  }
  return TGCRT_OK;
}

static int check_buffers(Core *s, const tgcrt_net *net, void *const *in, void *const *out) {
  const int status = check_list((const Session *)s, input_bytes(s, net), net->ninputs, in);
  return status ? status : check_list((const Session *)s, output_bytes(s, net), net->noutputs, out);
}

/* Replaces events by their times in nanoseconds; gaps: including the time since the launch before ended */
static int read_times(Session *s, size_t n, uint64_t *times, int gaps) {
  int32_t result = 0;
  uint64_t last = 0;
  size_t k;
  for (k = 0; k < n; k++) {
    void *event = (void *)(uintptr_t)times[k];
    uint64_t begin = 0, end = 0;
    if (event && !s->core.lost && !result)
      result = s->cl.clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_START, sizeof begin, &begin, NULL);
    if (event && !s->core.lost && !result)
      result = s->cl.clGetEventProfilingInfo(event, CL_PROFILING_COMMAND_END, sizeof end, &end, NULL);
    if (event) s->cl.clReleaseEvent(event);
    times[k] = end - (gaps && k ? last : begin);
    last = end;
  }
  return lose(&s->core, result, "clGetEventProfilingInfo");
}

/* For one run, a queue that measures replaces the session's own. */
static int begin_times(Session *s) {
  int32_t result = 0;
  const int status = settle_all(&s->core);
  if (status) return status;
  s->queue = s->cl.clCreateCommandQueue(s->core.device.context, s->core.device.device, CL_QUEUE_PROFILING, &result);
  if (result) s->queue = s->core.device.queue;
  return refused(&s->core.device, result, "a queue that measures", TGCRT_DEVICE);
}

/* status: of the commands for that queue; events: of n launches, which become their times */
static int end_times(Session *s, int status, size_t n, uint64_t *events, int gaps) {
  int times;
  if (!status) status = settle_all(&s->core);
  if (status) s->core.lost = 1; /* the session's own queue would not wait for this one */
  times = read_times(s, n, events, gaps);
  s->cl.clReleaseCommandQueue(s->queue);
  s->queue = s->core.device.queue;
  return status ? status : times;
}

int tgcrt_opencl_profile(const tgcrt_net *net, void *m, const void *const *in, void *const *out, uint64_t *nanoseconds) {
  Session *s = (Session *)m;
  int status = check_all(&s->core, net, in, out);
  if (!status) status = begin_times(s);
  if (status) return status;
  memset(nanoseconds, 0, net->nlaunches * sizeof *nanoseconds);
  status = end_times(s, enqueue_values(&s->core, net, in, out, nanoseconds), net->nlaunches, nanoseconds, 0);
  return status ? status : tgcrt_opencl_sync(net, m, -1);
}

int tgcrt_opencl_profile_part(const tgcrt_net *net, void *m, size_t first, size_t n, uint64_t *nanoseconds) {
  Session *s = (Session *)m;
  int32_t result;
  int status = begin_times(s);
  if (status) return status;
  memset(nanoseconds, 0, n * sizeof *nanoseconds);
  result = enqueue_launches(s, net, first, n, nanoseconds);
  return end_times(s, result ? lose(&s->core, result, "a launch") : mark(&s->core), n, nanoseconds, 1);
}

/* ---- begin and end ---- */
static void release(Session *s, const tgcrt_net *net) {
  size_t i;
  if (s->event) s->cl.clReleaseEvent(s->event);
  if (s->recorded) s->record.clReleaseCommandBufferKHR(s->recorded);
  for (i = 0; i < net->nlaunches; i++)
    if (s->kernels[i]) s->cl.clReleaseKernel(s->kernels[i]);
  if (s->program) s->cl.clReleaseProgram(s->program);
  for (i = 0; i < net->ninputs; i++)
    if (s->inputs[i]) s->cl.clReleaseMemObject(s->inputs[i]);
  for (i = 0; i < net->noutputs; i++)
    if (s->outputs[i]) s->cl.clReleaseMemObject(s->outputs[i]);
  if (s->work) s->cl.clReleaseMemObject(s->work);
  if (s->weights) s->cl.clReleaseMemObject(s->weights);
}

/* Fills all buffers, so that a device that allocates on first use does so before the first run. */
static int begin(Session *s, const tgcrt_net *net, const void *weights) {
  int32_t result = put_bytes(s, s->weights, 0, weights, net->weight_bytes);
  size_t i;
  int status;
  if (!result) result = fill_buffer(s, s->work, 0, buffer_bytes(net->work_bytes));
  for (i = 0; i < net->ninputs && !result; i++) result = fill_buffer(s, s->inputs[i], 0, buffer_bytes(net->input_bytes[i]));
  for (i = 0; i < net->noutputs && !result; i++) result = fill_buffer(s, s->outputs[i], 0, buffer_bytes(net->output_bytes[i]));
  status = lose(&s->core, result, "memory");
  if (!status) status = reset(&s->core, net);
  if (!status) status = mark(&s->core);
  return status ? status : settle_all(&s->core);
}

int tgcrt_opencl_init(const tgcrt_net *net, const tgcrt_device *open, void *m, const void *weights) {
  Session *s = (Session *)m;
  int status;
  memset(m, 0, TGCRT_OPENCL_BYTES(net->nlaunches, net->ninputs, net->noutputs, net->nstates));
  s->core.device = *open;
  s->queue = open->queue;
  s->core.guards = s->guards;
  s->core.cursors = (uint64_t *)(void *)((unsigned char *)m + SESSION);
  s->kernels = (void **)(s->core.cursors + net->nstates);
  s->inputs = s->kernels + net->nlaunches;
  s->outputs = s->inputs + net->ninputs;
  status = load(&s->cl, open);
  if (status) return status;
  s->core.ask_us = device_number(&s->cl, open->device, CL_DEVICE_TYPE) & CL_DEVICE_TYPE_CPU ? 100 : 2000;
  status = build(s, net);
  if (!status) status = make_buffers(s, net);
  if (!status) status = make_kernels(s, net);
  if (!status) status = begin(s, net, weights);
  if (!status && s->core.device.replay > 0) record(s, net);
  if (status) release(s, net);
  return status;
}

int tgcrt_opencl_close(const tgcrt_net *net, tgcrt_device *open, void *m) {
  Session *s = (Session *)m;
  Cl cl;
  int status;
  if (s && !s->core.lost && settle_all(&s->core) == TGCRT_BUSY) return TGCRT_BUSY;
  status = load(&cl, open);
  if (status) return status;
  if (s) release(s, net);
  cl.clReleaseCommandQueue(open->queue);
  cl.clReleaseContext(open->context);
  memset(open, 0, sizeof *open);
  return TGCRT_OK;
}

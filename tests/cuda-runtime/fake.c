/* SPDX-License-Identifier: MIT */
/* fake.c: a libcuda that counts calls and objects, lets one call fail, and writes a log. It stops a program that uses CUDA
 * wrongly: objects that are not there, a context that is not current, accesses outside of memory. Streams do at once what they
 * are given. FAKE_CUDA_KERNELS names a library of shim.py, which runs the kernels; an image that says "library PATH" brings its
 * own; without them kernels do nothing. FAKE_CUDA_LOG names a file that is told each call.
 *
 * FAKE_CUDA_CLOCK=SEED: a launch takes a time that depends on this number and on its blocks, else all take the same.
 * FAKE_CUDA_FAIL=FUNCTION: each call of it fails. FAKE_CUDA_LOST=KERNEL: a launch of it fails, and all that this process calls
 * after that. FAKE_CUDA_GONE=FILE: then the launch makes this file; where it is, no process finds the device any more. */
#include "fake.h"
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

Fake fake;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER, kernels_mutex = PTHREAD_MUTEX_INITIALIZER;
static FILE *log_file;
static const char *failing, *losing, *gone; /* FAKE_CUDA_FAIL, FAKE_CUDA_LOST, FAKE_CUDA_GONE */
static int broken;                          /* the process has lost its device */
static uint64_t seed, device_clock;         /* nanoseconds; seed 0: each event is 500 later than the one before */
enum { NOT_INITIALIZED = 3, LAUNCH_FAILED = 719, UNKNOWN = 999 };

void fake_defaults(void) {
  const int live = fake.live;
  memset(&fake, 0, sizeof fake);
  fake.live = live;
  fake.devices = 1, fake.capability = 86, fake.max_threads = fake.max_dim = fake.kernel_threads = 1024;
  fake.shared_bytes = 49152, fake.memory = 1 << 30, fake.name = "Fake GPU";
}

__attribute__((constructor)) static void begin(void) {
  const char *path = getenv("FAKE_CUDA_LOG"), *capability = getenv("FAKE_CUDA_CAPABILITY"),
             *devices = getenv("FAKE_CUDA_DEVICES");
  fake_defaults();
  if (path) log_file = fopen(path, "a");
  if (log_file) setvbuf(log_file, NULL, _IOLBF, 0);
  if (capability) fake.capability = atoi(capability);
  if (devices) fake.devices = atoi(devices);
  failing = getenv("FAKE_CUDA_FAIL"), losing = getenv("FAKE_CUDA_LOST"), gone = getenv("FAKE_CUDA_GONE");
  if (getenv("FAKE_CUDA_CLOCK")) seed = strtoull(getenv("FAKE_CUDA_CLOCK"), NULL, 10);
  if (getenv("FAKE_CUDA_MEMORY")) fake.memory = strtoull(getenv("FAKE_CUDA_MEMORY"), NULL, 10);
}

void fake_note(const char *text) {
  pthread_mutex_lock(&mutex);
  if (log_file) fprintf(log_file, "%s\n", text);
  pthread_mutex_unlock(&mutex);
}

__attribute__((noreturn)) static void wrong(const char *function, const char *what) {
  fprintf(stderr, "fake libcuda: %s: %s\n", function, what);
  _Exit(99);
}

static int32_t count(const char *function) { /* the result that is asked for */
  int32_t result = 0;
  pthread_mutex_lock(&mutex);
  if (log_file) fprintf(log_file, "%s\n", function);
  if (++fake.calls == fake.fail_at) fake.failed = function, result = fake.error;
  else if (broken) result = LAUNCH_FAILED;
  else if (failing && !strcmp(function, failing)) result = UNKNOWN;
  pthread_mutex_unlock(&mutex);
  return result;
}
#define CALL do { const int32_t injected = count(__func__); if (injected) return injected; } while (0)

/* ---- objects ---- */
enum { CONTEXT = 0x71, STREAM, MODULE, FUNCTION, EVENT, GRAPH, NODE, MADE };
enum { MOST_NODES = 4096, MOST_PARAMS = 256 };
typedef struct Kernel { const char *name; void (*call)(void **); size_t nparams; int barriers; } Kernel; /* ShimKernel of shim.h */
typedef struct Node {
  int kind, number;
  struct Object *function;
  unsigned grid[3], block[3];
  uint64_t params[MOST_PARAMS];
  struct Object *graph;
} Node;
typedef struct Object {
  int kind, refs, device, recorded;
  struct Object *of;             /* the context, of a function the module, of what is made of a graph the graph */
  struct Object *capture;        /* a stream's: the graph it is captured into */
  const Kernel *kernel;
  const char *name;              /* a function's */
  uint64_t at;                   /* an event's, by the device's clock */
  void *library;
  Node **nodes;
  int nnodes;
  struct Object *before, *behind; /* in the list of all that are alive */
} Object;
static Object all = { .before = &all, .behind = &all };
static Object primary[8];
static _Thread_local Object *stack[8];
static _Thread_local int depth;

static Object *is(void *p, int kind, const char *function) {
  Object *o = p;
  if (!o || o->kind != kind) wrong(function, "no such object");
  return o;
}
#define IS(p, kind) is(p, kind, __func__)

static Object *now(const char *function) { /* the current context */
  if (!depth) wrong(function, "no context is current");
  return is(stack[depth - 1], CONTEXT, function);
}
#define NOW now(__func__)

static void *here(void *p, int kind, const char *function) { /* an object of the current context */
  Object *o = is(p, kind, function);
  if (o->of != now(function)) wrong(function, "it belongs to another context");
  return o;
}
#define HERE(p, kind) ((Object *)here(p, kind, __func__))

static Object *make(int kind, Object *of) {
  Object *o = calloc(1, sizeof *o);
  o->kind = kind, o->of = of;
  pthread_mutex_lock(&mutex);
  fake.live++;
  o->before = &all, o->behind = all.behind;
  o->behind->before = all.behind = o;
  pthread_mutex_unlock(&mutex);
  return o;
}

static void drop_locked(Object *o) {
  for (int i = 0; i < o->nnodes; i++) o->nodes[i]->kind = 0, free(o->nodes[i]);
  free(o->nodes);
  o->before->behind = o->behind, o->behind->before = o->before;
  o->kind = 0;
  free(o);
  fake.live--;
}

static void drop(Object *o) {
  pthread_mutex_lock(&mutex);
  drop_locked(o);
  pthread_mutex_unlock(&mutex);
}

static void tick(int *counter) {
  pthread_mutex_lock(&mutex);
  ++*counter;
  pthread_mutex_unlock(&mutex);
}

/* ---- memory ---- */
typedef struct Block { unsigned char *p; size_t n; int host; Object *of; } Block;
static Block blocks[256];

static void reset_locked(const Object *context) { /* nothing of it stays */
  for (Object *o = all.behind, *next; o != &all; o = next) {
    next = o->behind;
    if (o->of == context) drop_locked(o);
  }
  for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++)
    if (blocks[i].p && blocks[i].of == context) free(blocks[i].p), blocks[i].p = NULL, fake.live--;
}

static Block *block_of(uint64_t p, const char *function) {
  Block *found = NULL;
  pthread_mutex_lock(&mutex);
  for (size_t i = 0; i < sizeof blocks / sizeof *blocks && !found; i++)
    if (blocks[i].p && p >= (uint64_t)(uintptr_t)blocks[i].p && p < (uint64_t)(uintptr_t)blocks[i].p + blocks[i].n)
      found = &blocks[i];
  pthread_mutex_unlock(&mutex);
  if (!found && function) wrong(function, "no memory of the device");
  return found;
}

static unsigned char *part(uint64_t p, size_t n, int host, const char *function) {
  const Block *b = block_of(p, function);
  const size_t at = (size_t)(p - (uint64_t)(uintptr_t)b->p);
  if (b->host != host || n > b->n - at || !n) wrong(function, "outside of the memory");
  return b->p + at;
}

static void *block_make(size_t n, int host) {
  unsigned char *p = malloc(n);
  memset(p, 0xa5, n);
  pthread_mutex_lock(&mutex);
  size_t i = 0;
  while (i < sizeof blocks / sizeof *blocks && blocks[i].p) i++;
  if (i == sizeof blocks / sizeof *blocks) wrong(__func__, "too many");
  blocks[i] = (Block){ p, n, host, stack[depth - 1] };
  fake.live++;
  pthread_mutex_unlock(&mutex);
  return p;
}

static void block_free(uint64_t p, int host, const char *function) {
  Block *b = block_of(p, function);
  if (p != (uint64_t)(uintptr_t)b->p || b->host != host || b->of != now(function)) wrong(function, "not what was given");
  free(b->p);
  pthread_mutex_lock(&mutex);
  b->p = NULL;
  fake.live--;
  pthread_mutex_unlock(&mutex);
}

/* ---- devices and contexts ---- */
/* After a fork the driver does not work in the child of a process that has called cuInit. A file without a name has the number of
 * that process. It has a number of its own, which outlives this library, and is closed by a program that is started. */
static int forked(void) {
  enum { NUMBER = 777 };
  pid_t pid = 0;
  pthread_mutex_lock(&mutex);
  if (pread(NUMBER, &pid, sizeof pid, 0) != sizeof pid) {
    const int fd = memfd_create("fake libcuda", MFD_CLOEXEC);
    pid = getpid();
    if (fd < 0 || write(fd, &pid, sizeof pid) != sizeof pid || dup3(fd, NUMBER, O_CLOEXEC) < 0) abort();
    close(fd);
  }
  pthread_mutex_unlock(&mutex);
  return pid != getpid();
}

int32_t cuInit(uint32_t flags) {
  CALL;
  if (forked()) return NOT_INITIALIZED;
  if (flags) wrong(__func__, "not expected");
  if (gone && !access(gone, F_OK)) return UNKNOWN;
  return fake.init;
}

int32_t cuDriverGetVersion(int *version) {
  CALL;
  *version = 12040;
  return 0;
}

int32_t cuGetErrorName(int32_t result, const char **name) {
  *name = result == 2     ? "CUDA_ERROR_OUT_OF_MEMORY"
          : result == NOT_INITIALIZED ? "CUDA_ERROR_NOT_INITIALIZED"
          : result == 700 ? "CUDA_ERROR_ILLEGAL_ADDRESS"
          : result == 719 ? "CUDA_ERROR_LAUNCH_FAILED"
          : result == UNKNOWN ? "CUDA_ERROR_UNKNOWN"
                              : NULL;
  return *name ? 0 : 1;
}

int32_t cuDeviceGetCount(int *n) {
  CALL;
  *n = fake.devices;
  return 0;
}

int32_t cuDeviceGet(int *device, int number) {
  CALL;
  if (number < 0 || number >= fake.devices) return 101;
  *device = number;
  return 0;
}

static void check_device(int device, const char *function) {
  if (device < 0 || device >= fake.devices) wrong(function, "no such device");
}

int32_t cuDeviceGetName(char *name, int n, int device) {
  CALL;
  check_device(device, __func__);
  snprintf(name, (size_t)n, "%s no. %d", fake.name, device);
  return 0;
}

int32_t cuDeviceGetAttribute(int *value, int what, int device) {
  CALL;
  check_device(device, __func__);
  switch (what) {
  case 1: *value = fake.max_threads; return 0;
  case 2: case 3: case 4: *value = fake.max_dim; return 0;
  case 5: *value = 0x7fffffff; return 0;
  case 6: case 7: *value = 65535; return 0;
  case 8: *value = fake.shared_bytes; return 0;
  case 16: *value = 1 + device; return 0;
  case 75: *value = fake.capability / 10; return 0;
  case 76: *value = fake.capability % 10; return 0;
  }
  wrong(__func__, "not known");
}

int32_t cuDeviceTotalMem(size_t *bytes, int device) {
  CALL;
  check_device(device, __func__);
  *bytes = (size_t)fake.memory;
  return 0;
}

int32_t cuDevicePrimaryCtxRetain(void **context, int device) {
  CALL;
  check_device(device, __func__);
  Object *o = &primary[device];
  pthread_mutex_lock(&mutex);
  if (!o->kind) o->kind = CONTEXT, o->device = device;
  o->refs++, fake.live++;
  pthread_mutex_unlock(&mutex);
  *context = o;
  return 0;
}

int32_t cuDevicePrimaryCtxRelease(int device) {
  check_device(device, __func__);
  pthread_mutex_lock(&mutex);
  if (--primary[device].refs < 0) wrong(__func__, "too often");
  if (!primary[device].refs) reset_locked(&primary[device]);
  fake.live--;
  pthread_mutex_unlock(&mutex);
  CALL;
  return 0;
}

int32_t cuCtxCreate(void **context, uint32_t flags, int device) { /* for callers; it is current then */
  CALL;
  check_device(device, __func__);
  if (flags) wrong(__func__, "not expected");
  Object *o = make(CONTEXT, NULL);
  o->device = device;
  stack[depth++] = o;
  *context = o;
  return 0;
}

int32_t cuCtxDestroy(void *context) {
  Object *o = IS(context, CONTEXT);
  if (depth && stack[depth - 1] == o) depth--;
  pthread_mutex_lock(&mutex);
  reset_locked(o);
  drop_locked(o);
  pthread_mutex_unlock(&mutex);
  CALL;
  return 0;
}

int32_t cuCtxGetCurrent(void **context) {
  CALL;
  *context = depth ? stack[depth - 1] : NULL;
  return 0;
}

int32_t cuCtxPushCurrent(void *context) {
  CALL;
  if (depth == 8) wrong(__func__, "too many");
  stack[depth++] = IS(context, CONTEXT);
  return 0;
}

int32_t cuCtxPopCurrent(void **context) { /* also where it fails, so that the next call finds what the caller had */
  *context = NOW;
  depth--;
  CALL;
  return 0;
}

int32_t cuCtxGetDevice(int *device) {
  CALL;
  *device = NOW->device;
  return 0;
}

/* ---- streams and events ---- */
int32_t cuStreamCreate(void **stream, uint32_t flags) {
  CALL;
  if (flags > 1) wrong(__func__, "not expected");
  *stream = make(STREAM, NOW);
  return 0;
}

int32_t cuStreamDestroy(void *stream) {
  drop(HERE(stream, STREAM));
  CALL;
  return 0;
}

int32_t cuStreamGetCtx(void *stream, void **context) {
  CALL;
  *context = IS(stream, STREAM)->of;
  return 0;
}

static Object *idle(void *stream, const char *function) { /* a stream that does what it is given */
  Object *o = here(stream, STREAM, function);
  if (o->capture) wrong(function, "the stream is captured");
  return o;
}
#define IDLE(stream) idle(stream, __func__)

int32_t cuEventCreate(void **event, uint32_t flags) {
  CALL;
  Object *o = make(EVENT, NOW);
  o->device = (int)flags;
  *event = o;
  return 0;
}

int32_t cuEventDestroy(void *event) {
  drop(HERE(event, EVENT));
  CALL;
  return 0;
}

static uint64_t pass(uint64_t nanoseconds) { /* -> the device's clock after them */
  pthread_mutex_lock(&mutex);
  const uint64_t now = device_clock += nanoseconds;
  pthread_mutex_unlock(&mutex);
  return now;
}

int32_t cuEventRecord(void *event, void *stream) {
  CALL;
  IDLE(stream);
  Object *o = HERE(event, EVENT);
  o->recorded = 1;
  o->at = pass(seed ? 0 : 500);
  return 0;
}

int32_t cuEventQuery(void *event) {
  CALL;
  HERE(event, EVENT);
  return fake.event_state;
}

int32_t cuEventElapsedTime(float *ms, void *from, void *to) {
  CALL;
  if (HERE(from, EVENT)->device || HERE(to, EVENT)->device) wrong(__func__, "an event without time");
  if (!IS(from, EVENT)->recorded || !IS(to, EVENT)->recorded) wrong(__func__, "an event that was not recorded");
  *ms = (float)((double)(IS(to, EVENT)->at - IS(from, EVENT)->at) * 1e-6);
  return 0;
}

/* ---- memory ---- */
int32_t cuMemAlloc(uint64_t *memory, size_t n) {
  CALL;
  NOW;
  if (!n) wrong(__func__, "no bytes");
  *memory = (uint64_t)(uintptr_t)block_make(n, 0);
  return 0;
}

int32_t cuMemFree(uint64_t memory) {
  block_free(memory, 0, __func__);
  CALL;
  return 0;
}

int32_t cuMemHostAlloc(void **memory, size_t n, uint32_t flags) {
  CALL;
  NOW;
  if (!n || flags) wrong(__func__, "not expected");
  *memory = block_make(n, 1);
  return 0;
}

int32_t cuMemFreeHost(void *memory) {
  block_free((uint64_t)(uintptr_t)memory, 1, __func__);
  CALL;
  return 0;
}

int32_t cuMemGetAddressRange(uint64_t *base, size_t *n, uint64_t memory) {
  CALL;
  NOW;
  const Block *b = block_of(memory, NULL);
  if (!b) return 1;
  *base = (uint64_t)(uintptr_t)b->p, *n = b->n;
  return 0;
}

int32_t cuPointerGetAttribute(void *value, int what, uint64_t memory) {
  CALL;
  NOW;
  const Block *b = block_of(memory, NULL);
  if (!b) return 1;
  const uint32_t type = b->host ? 1 : 2;
  if (what == 2) memcpy(value, &type, sizeof type);
  else if (what == 9) memcpy(value, &b->of->device, sizeof b->of->device);
  else wrong(__func__, "not known");
  return 0;
}

int32_t cuMemsetD8Async(uint64_t memory, unsigned char value, size_t n, void *stream) {
  CALL;
  IDLE(stream);
  memset(part(memory, n, 0, __func__), value, n);
  return 0;
}

int32_t cuMemsetD32Async(uint64_t memory, uint32_t value, size_t n, void *stream) {
  CALL;
  IDLE(stream);
  unsigned char *to = part(memory, n * sizeof value, 0, __func__);
  if (memory % sizeof value) wrong(__func__, "not aligned");
  for (size_t i = 0; i < n; i++) memcpy(to + i * sizeof value, &value, sizeof value);
  return 0;
}

static int runs_kernels(void) {
  const char *library = getenv("FAKE_CUDA_KERNELS");
  return library && *library;
}

int32_t cuMemcpyHtoDAsync(uint64_t to, const void *from, size_t n, void *stream) {
  CALL;
  IDLE(stream);
  memcpy(part(to, n, 0, __func__), part((uint64_t)(uintptr_t)from, n, 1, __func__), n); /* from pinned memory only: else it may wait */
  return 0;
}

int32_t cuMemcpyDtoHAsync(void *to, uint64_t from, size_t n, void *stream) {
  CALL;
  IDLE(stream);
  memcpy(part((uint64_t)(uintptr_t)to, n, 1, __func__), part(from, n, 0, __func__), n);
  if (n == 1 && !runs_kernels()) *(unsigned char *)to = fake.guard;
  return 0;
}

int32_t cuMemcpyHtoD(uint64_t to, const void *from, size_t n) { /* for callers */
  CALL;
  NOW;
  memcpy(part(to, n, 0, __func__), from, n);
  return 0;
}

int32_t cuMemcpyDtoH(void *to, uint64_t from, size_t n) {
  CALL;
  NOW;
  memcpy(to, part(from, n, 0, __func__), n);
  return 0;
}

typedef struct Copy2D {
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

int32_t cuMemcpy2DAsync(const Copy2D *c, void *stream) {
  CALL;
  IDLE(stream);
  const size_t n = (c->height - 1) * c->from_pitch + c->width, m = (c->height - 1) * c->to_pitch + c->width;
  if (!c->height || !c->width || c->from_x || c->from_y || c->to_x || c->to_y || c->from_array || c->to_array ||
      c->from_pitch < c->width || c->to_pitch < c->width)
    wrong(__func__, "not expected");
  const unsigned char *from = part(c->from_type == 1 ? (uint64_t)(uintptr_t)c->from_host : c->from_device, n, c->from_type == 1,
                                   __func__);
  unsigned char *to = part(c->to_type == 1 ? (uint64_t)(uintptr_t)c->to_host : c->to_device, m, c->to_type == 1, __func__);
  for (size_t i = 0; i < c->height; i++)
    for (size_t k = 0; k < c->height; k++) {
      const unsigned char *x = from + i * c->from_pitch, *y = to + k * c->to_pitch;
      if (x < y + c->width && y < x + c->width) wrong(__func__, "the parts overlap");
    }
  for (size_t i = 0; i < c->height; i++) memcpy(to + i * c->to_pitch, from + i * c->from_pitch, c->width);
  return 0;
}

/* ---- kernels ---- */
static void find_symbol(void *library, const char *name, void *to) {
  void *p = dlsym(library, name);
  if (!p) wrong(__func__, name);
  memcpy(to, &p, sizeof p);
}

int32_t cuModuleLoadDataEx(void **module, const void *image, uint32_t n, int *options, void **values) {
  const int32_t injected = count(__func__);
  Object *of = NOW;
  if (n != 2 || options[0] != 5 || options[1] != 6 || (uintptr_t)values[1] < 1000) wrong(__func__, "not expected");
  pthread_mutex_lock(&mutex);
  snprintf(fake.image, sizeof fake.image, "%s", (const char *)image);
  pthread_mutex_unlock(&mutex);
  if (injected) snprintf(values[0], (size_t)(uintptr_t)values[1], "net.cu:1: the fake compiler refuses this");
  if (injected) return injected;
  if (fake.refused && fake.image[0] != '.') return fake.refused; /* no PTX */
  Object *o = make(MODULE, of);
  const char *own = strncmp(image, "library ", 8) ? getenv("FAKE_CUDA_KERNELS") : (const char *)image + 8;
  if (own && *own && !(o->library = dlopen(own, RTLD_NOW))) wrong(__func__, dlerror());
  *module = o;
  return 0;
}

int32_t cuModuleUnload(void *module) {
  Object *o = HERE(module, MODULE);
  if (o->library) dlclose(o->library);
  drop(o); /* and its functions */
  CALL;
  return 0;
}

int32_t cuModuleGetFunction(void **function, void *module, const char *name) {
  CALL;
  Object *o = HERE(module, MODULE), *f = calloc(1, sizeof *f);
  if (!*name) wrong(__func__, "no name");
  f->kind = FUNCTION, f->of = o, f->name = name; /* it is a constant of the program */
  o->nodes = realloc(o->nodes, (size_t)(o->nnodes + 1) * sizeof *o->nodes); /* so that the module frees it */
  o->nodes[o->nnodes++] = (Node *)(void *)f;
  if (o->library) {
    const Kernel *(*find)(const char *);
    find_symbol(o->library, "shim_find", &find);
    f->kernel = find(name);
    if (!f->kernel) return 500;
  }
  *function = f;
  return 0;
}

int32_t cuFuncGetAttribute(int *value, int what, void *function) {
  CALL;
  if (what || IS(function, FUNCTION)->of->of != NOW) wrong(__func__, "not expected");
  *value = fake.kernel_threads;
  return 0;
}

static int32_t lose(void) {
  FILE *f = gone ? fopen(gone, "w") : NULL;
  if (f) fclose(f);
  broken = 1;
  return LAUNCH_FAILED;
}

/* From one to nine microseconds */
static uint64_t time_of(const Node *n) {
  uint64_t x = seed;
  if (!seed) return 0;
  for (int i = 0; i < 3; i++) x = (x * 1000003u + n->grid[i]) * 1000003u + n->block[i];
  x ^= x >> 31;
  return 1000 + x * 0x9e3779b97f4a7c15u % 8000;
}

static int32_t execute(const Node *n) {
  const char *(*run)(const Kernel *, const unsigned *, const unsigned *, void **), *why;
  void *params[MOST_PARAMS];
  uint64_t values[MOST_PARAMS];
  tick(&fake.launches);
  if (losing && !strcmp(n->function->name, losing)) return lose();
  pass(time_of(n));
  if (!n->function->kernel) return 0;
  for (size_t i = 0; i < n->function->kernel->nparams; i++) {
    values[i] = n->params[i], params[i] = &values[i];
    if (block_of(values[i], __func__)->host) wrong(__func__, "memory of the host");
  }
  find_symbol(n->function->of->library, "shim_launch", &run);
  pthread_mutex_lock(&kernels_mutex);
  why = run(n->function->kernel, n->grid, n->block, params);
  if (why) fprintf(stderr, "fake libcuda: %s: %s\n", n->function->kernel->name, why);
  pthread_mutex_unlock(&kernels_mutex);
  return why ? 719 : 0;
}

static void fill_node(Node *n, Object *function, const unsigned grid[3], const unsigned block[3], void **params) {
  n->function = function;
  memcpy(n->grid, grid, sizeof n->grid);
  memcpy(n->block, block, sizeof n->block);
  for (size_t i = 0; function->kernel && i < function->kernel->nparams; i++) memcpy(&n->params[i], params[i], 8);
}

int32_t cuLaunchKernel(void *function, uint32_t gx, uint32_t gy, uint32_t gz, uint32_t bx, uint32_t by, uint32_t bz,
                       uint32_t shared, void *stream, void **params, void **extra) {
  Object *f = IS(function, FUNCTION), *s = HERE(stream, STREAM);
  const int32_t injected = count(s->capture ? "cuLaunchKernel captured" : __func__);
  const unsigned grid[3] = { gx, gy, gz }, block[3] = { bx, by, bz };
  Node *n = calloc(1, sizeof *n);
  int32_t result = 0;
  if (injected) return free(n), injected;
  if (f->of->of != NOW || shared || extra || !gx || !gy || !gz || !bx || !by || !bz) wrong(__func__, "not expected");
  n->kind = NODE;
  fill_node(n, f, grid, block, params);
  if (s->capture) {
    Object *g = s->capture;
    n->number = g->nnodes, n->graph = g;
    g->nodes = realloc(g->nodes, (size_t)(g->nnodes + 1) * sizeof *g->nodes);
    g->nodes[g->nnodes++] = n;
    tick(&fake.captured);
  } else {
    result = execute(n);
    free(n);
  }
  return result;
}

/* ---- graphs ---- */
int32_t cuStreamBeginCapture(void *stream, int mode) {
  CALL;
  Object *s = IDLE(stream);
  if (mode != 1) wrong(__func__, "not expected");
  s->capture = make(GRAPH, NOW);
  return 0;
}

int32_t cuStreamGetCaptureInfo(void *stream, int *state, uint64_t *id, void **graph, void *const **last, size_t *nlast) {
  CALL;
  Object *g = HERE(stream, STREAM)->capture;
  if (!g || graph) wrong(__func__, "not expected");
  *state = 1, *id = 1;
  *last = g->nnodes ? (void *const *)&g->nodes[g->nnodes - 1] : NULL, *nlast = g->nnodes > 0;
  return 0;
}

int32_t cuStreamEndCapture(void *stream, void **graph) { /* where it fails, there is no graph */
  Object *s = HERE(stream, STREAM), *g = s->capture;
  if (!g) wrong(__func__, "not captured");
  s->capture = NULL;
  *graph = NULL;
  const int32_t injected = count(__func__);
  if (injected) drop(g);
  if (injected) return injected;
  *graph = g;
  return 0;
}

int32_t cuGraphInstantiate(void **made, void *graph, void **node, char *log, size_t n) {
  CALL;
  Object *g = HERE(graph, GRAPH), *m = make(MADE, NOW);
  if (log || n || !g->nnodes) wrong(__func__, "not expected");
  m->nodes = calloc((size_t)g->nnodes, sizeof *m->nodes);
  for (; m->nnodes < g->nnodes; m->nnodes++) {
    m->nodes[m->nnodes] = malloc(sizeof **m->nodes);
    *m->nodes[m->nnodes] = *g->nodes[m->nnodes];
  }
  m->capture = g; /* it is that of its nodes */
  *node = NULL;
  *made = m;
  return 0;
}

int32_t cuGraphDestroy(void *graph) {
  drop(HERE(graph, GRAPH));
  CALL;
  return 0;
}

int32_t cuGraphExecDestroy(void *made) {
  drop(HERE(made, MADE));
  CALL;
  return 0;
}

typedef struct NodeParams { void *function; unsigned grid[3], block[3], shared; void **params, **extra; } NodeParams;

int32_t cuGraphExecKernelNodeSetParams(void *made, void *node, const NodeParams *p) {
  CALL;
  Object *m = HERE(made, MADE);
  const Node *n = node;
  if (IS(m->capture, GRAPH) != n->graph || n->kind != NODE || p->shared || p->extra) wrong(__func__, "no node of this graph");
  if (p->function != m->nodes[n->number]->function) wrong(__func__, "another function");
  fill_node(m->nodes[n->number], IS(p->function, FUNCTION), p->grid, p->block, p->params);
  tick(&fake.changes);
  return 0;
}

int32_t cuGraphLaunch(void *made, void *stream) {
  CALL;
  Object *m = HERE(made, MADE);
  int32_t result = 0;
  IDLE(stream);
  tick(&fake.replays);
  for (int i = 0; i < m->nnodes && !result; i++) result = execute(m->nodes[i]);
  return result;
}

/* NVRTC asks the driver of the machine that it runs on for a table of functions, and how large that is. */
int32_t cuGetExportTable(const void **table, const void *which) {
  static const uint64_t none[] = { sizeof(uint64_t) };
  (void)which;
  *table = none;
  return 0;
}

int32_t cuGetProcAddress(const char *name, void **function, int version, uint64_t flags) {
  void *self = dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
  if (version != 11030 || flags != 1) wrong(__func__, "not expected");
  *function = fake.no_function && !strcmp(fake.no_function, name) ? NULL : dlsym(self, name);
  return *function ? 0 : 500;
}

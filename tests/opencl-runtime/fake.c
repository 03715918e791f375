/* SPDX-License-Identifier: MIT */
/* fake.c: a libOpenCL that counts calls and objects, and lets one call fail. It stops the program if OpenCL is used wrongly:
 * missing objects, accesses outside of buffers, overlapping copies. Buffers are memory; kernels do nothing. */
#include "fake.h"
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

Fake fake;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

void fake_defaults(void) {
  const int live = fake.live;
  memset(&fake, 0, sizeof fake);
  fake.live = live;
  fake.platforms = 1, fake.devices = 1, fake.gpu = -1, fake.program_devices = 1;
  fake.max_group = fake.max_size = fake.kernel_group = 256, fake.subgroup = 32, fake.local_bytes = 32768;
  fake.max_alloc = 1 << 28, fake.global_bytes = 1 << 30, fake.little = fake.available = fake.compiler = fake.doubles = 1;
  fake.name = "Fake 9000", fake.version = "OpenCL 1.2 fake", fake.driver = "1.0", 
  fake.extensions = "cl_khr_command_buffer cl_khr_subgroup_shuffle cl_khr_fp16 cl_khr_integer_dot_product";
}

__attribute__((noreturn)) static void wrong(const char *function, const char *what) {
  fprintf(stderr, "fake libOpenCL: %s: %s\n", function, what);
  _Exit(99);
}

enum { PLATFORM = 0x70, DEVICE, CONTEXT, QUEUE, BUFFER, PROGRAM, KERNEL, EVENT, RECORDED };
typedef struct Object {
  int kind, refs, replayed;
  struct Object *of; /* a queue's and a buffer's context */
  uint64_t properties;
  size_t n;
  unsigned char *bytes;
} Object;
static Object platforms[4] = { { .kind = PLATFORM }, { .kind = PLATFORM }, { .kind = PLATFORM }, { .kind = PLATFORM } };
static Object devices[8] = { { .kind = DEVICE }, { .kind = DEVICE }, { .kind = DEVICE }, { .kind = DEVICE },
                             { .kind = DEVICE }, { .kind = DEVICE }, { .kind = DEVICE }, { .kind = DEVICE } };

static int32_t count(const char *function) { /* the chosen result of the call */
  int32_t result = 0;
  pthread_mutex_lock(&mutex);
  snprintf(fake.last, sizeof fake.last, "%s", function);
  if (++fake.calls == fake.fail_at) fake.failed = function, result = fake.error;
  pthread_mutex_unlock(&mutex);
  return result;
}
#define CALL do { const int32_t injected = count(__func__); if (injected) return injected; } while (0)
#define CREATE do { *status = count(__func__); if (*status) return NULL; } while (0)

static Object *is(void *p, int kind, const char *function) {
  Object *o = p;
  if (!o || o->kind != kind) wrong(function, "no such object");
  return o;
}
#define IS(p, kind) is(p, kind, __func__)

static Object *make(int kind, Object *of) {
  Object *o = calloc(1, sizeof *o);
  o->kind = kind, o->refs = 1, o->of = of;
  pthread_mutex_lock(&mutex);
  fake.live++;
  if (of) of->refs++;
  pthread_mutex_unlock(&mutex);
  return o;
}

static void drop(Object *o) {
  pthread_mutex_lock(&mutex);
  const int last = !--o->refs;
  fake.live -= last;
  pthread_mutex_unlock(&mutex);
  if (!last) return;
  if (o->of) drop(o->of);
  free(o->bytes);
  o->kind = 0;
  free(o);
}

static int32_t answer(const void *from, size_t n, size_t most, void *value, size_t *size) {
  if (size) *size = n;
  if (value && most < n) return -30;
  if (value) memcpy(value, from, n);
  return 0;
}
#define ANSWER(x) answer(&(x), sizeof(x), n, value, size)
#define ANSWER_TEXT(s) answer(s, strlen(s) + 1, n, value, size)

int32_t clGetPlatformIDs(uint32_t n, void **to, uint32_t *found) {
  CALL;
  *found = (uint32_t)fake.platforms;
  for (uint32_t i = 0; i < n && i < *found; i++) to[i] = &platforms[i];
  return fake.platforms ? 0 : -1001;
}

int32_t clGetDeviceIDs(void *platform, uint64_t type, uint32_t n, void **to, uint32_t *found) {
  CALL;
  const int first = (int)(IS(platform, PLATFORM) - platforms) * fake.devices;
  *found = (uint32_t)fake.devices;
  if (type != 0xffffffffu) wrong(__func__, "another type");
  for (uint32_t i = 0; i < n && i < *found; i++) to[i] = &devices[first + (int)i];
  return fake.devices ? 0 : -1;
}

int32_t clGetDeviceInfo(void *device, uint32_t what, size_t n, void *value, size_t *size) {
  CALL;
  const int number = (int)(IS(device, DEVICE) - devices);
  const uint64_t type = number == fake.gpu ? 4 : 2;
  const size_t sizes[3] = { (size_t)fake.max_size, (size_t)fake.max_size, (size_t)fake.max_size };
  const uint32_t little = (uint32_t)fake.little, available = (uint32_t)fake.available, compiler = (uint32_t)fake.compiler;
  const size_t max_group = (size_t)fake.max_group;
  const uint32_t units = 1 + (uint32_t)number;
  void *platform = &platforms[number / fake.devices];
  char name[200];
  snprintf(name, sizeof name, "%s no. %d", fake.name, number);
  switch (what) {
  case 0x1000: return ANSWER(type);
  case 0x1002: return ANSWER(units);
  case 0x1022: return ANSWER(units); /* 1: separate memory */
  case 0x1004: return ANSWER(max_group);
  case 0x1005: return ANSWER(sizes);
  case 0x1010: return ANSWER(fake.max_alloc);
  case 0x101f: return ANSWER(fake.global_bytes);
  case 0x1023: return ANSWER(fake.local_bytes);
  case 0x1026: return ANSWER(little);
  case 0x1027: return ANSWER(available);
  case 0x1028: return ANSWER(compiler);
  case 0x102b: return ANSWER_TEXT(name);
  case 0x102d: return ANSWER_TEXT(fake.driver);
  case 0x102f: return ANSWER_TEXT(fake.version);
  case 0x1030: return ANSWER_TEXT(fake.extensions);
  case 0x1031: return ANSWER(platform);
  case 0x1032: return ANSWER(fake.doubles);
  case 0x12aa: return ANSWER(fake.queue_needs);
  }
  wrong(__func__, "not known");
}

void *clCreateContext(const intptr_t *properties, uint32_t n, void *const *of, void (*notify)(void), void *arg, int32_t *status) {
  CREATE;
  if (properties || n != 1 || notify || arg) wrong(__func__, "not expected");
  Object *o = make(CONTEXT, NULL);
  o->properties = (uint64_t)(IS(of[0], DEVICE) - devices);
  return o;
}

int32_t clRetainContext(void *context) {
  CALL;
  pthread_mutex_lock(&mutex);
  IS(context, CONTEXT)->refs++;
  pthread_mutex_unlock(&mutex);
  return 0;
}

int32_t clGetContextInfo(void *context, uint32_t what, size_t n, void *value, size_t *size) {
  CALL;
  void *device = &devices[IS(context, CONTEXT)->properties];
  if (what != 0x1081) wrong(__func__, "not known");
  return ANSWER(device);
}

void *clCreateCommandQueue(void *context, void *device, uint64_t properties, int32_t *status) {
  CREATE;
  Object *o = make(QUEUE, IS(context, CONTEXT));
  if ((uint64_t)(IS(device, DEVICE) - devices) != o->of->properties) wrong(__func__, "not the context's device");
  o->properties = properties;
  return o;
}

int32_t clRetainCommandQueue(void *queue) {
  CALL;
  pthread_mutex_lock(&mutex);
  IS(queue, QUEUE)->refs++;
  pthread_mutex_unlock(&mutex);
  return 0;
}

int32_t clGetCommandQueueInfo(void *queue, uint32_t what, size_t n, void *value, size_t *size) {
  CALL;
  const Object *q = IS(queue, QUEUE);
  void *device = &devices[q->of->properties];
  switch (what) {
  case 0x1090: return ANSWER(q->of);
  case 0x1091: return ANSWER(device);
  case 0x1093: return ANSWER(q->properties);
  }
  wrong(__func__, "not known");
}

void *clCreateBuffer(void *context, uint64_t flags, size_t n, void *host, int32_t *status) {
  CREATE;
  if ((flags != 1 && flags != 4) || host || !n) wrong(__func__, "not expected");
  Object *o = make(BUFFER, IS(context, CONTEXT));
  o->bytes = malloc(n);
  memset(o->bytes, 0xa5, n);
  o->n = n;
  return o;
}

int32_t clGetMemObjectInfo(void *buffer, uint32_t what, size_t n, void *value, size_t *size) {
  CALL;
  const Object *o = IS(buffer, BUFFER);
  if (what == 0x1102) return ANSWER(o->n);
  if (what == 0x1106) return ANSWER(o->of);
  wrong(__func__, "not known");
}

void *clCreateProgramWithSource(void *context, uint32_t n, const char **text, const size_t *length, int32_t *status) {
  CREATE;
  __atomic_fetch_add(&fake.sources, 1, __ATOMIC_RELAXED);
  if (!n || !strlen(text[n - 1]) || length) wrong(__func__, "not expected");
  return make(PROGRAM, IS(context, CONTEXT));
}

static const char binary[] = "what the fake driver built";

void *clCreateProgramWithBinary(void *context, uint32_t n, void *const *of, const size_t *length, const unsigned char **p,
                                int32_t *each, int32_t *status) {
  CREATE;
  __atomic_fetch_add(&fake.binaries, 1, __ATOMIC_RELAXED);
  if (n != 1 || *length != sizeof binary || memcmp(*p, binary, sizeof binary)) wrong(__func__, "not what was built");
  IS(of[0], DEVICE);
  *each = fake.each_binary;
  return make(PROGRAM, IS(context, CONTEXT));
}

int32_t clBuildProgram(void *program, uint32_t n, void *const *of, const char *options, void (*notify)(void *, void *),
                       void *arg) {
  CALL;
  IS(program, PROGRAM);
  IS(of[0], DEVICE);
  if (n != 1 || strcmp(options, "-cl-std=CL1.2") || notify || arg) wrong(__func__, "not expected");
  return 0;
}

int32_t clGetProgramInfo(void *program, uint32_t what, size_t n, void *value, size_t *size) {
  CALL;
  const uint32_t count_of = (uint32_t)fake.program_devices;
  const size_t bytes = sizeof binary;
  IS(program, PROGRAM);
  switch (what) {
  case 0x1162: return ANSWER(count_of);
  case 0x1165: return ANSWER(bytes);
  case 0x1166: memcpy(*(void **)value, binary, sizeof binary); return 0;
  }
  wrong(__func__, "not known");
}

int32_t clGetProgramBuildInfo(void *program, void *device, uint32_t what, size_t n, void *value, size_t *size) {
  static char log[9000]; /* more than a page */
  CALL;
  IS(program, PROGRAM);
  IS(device, DEVICE);
  if (what != 0x1183) wrong(__func__, "not known");
  memset(log, '.', sizeof log - 1);
  memcpy(log, "net.cl:1: the fake compiler refuses this", 40);
  return ANSWER_TEXT(log);
}

void *clCreateKernel(void *program, const char *name, int32_t *status) {
  CREATE;
  if (!*name) wrong(__func__, "no name");
  return make(KERNEL, IS(program, PROGRAM));
}

int32_t clGetKernelSubGroupInfo(void *kernel, void *device, uint32_t what, size_t n, const void *input, size_t got, void *value,
                                size_t *size);
int32_t clGetKernelSubGroupInfo(void *kernel, void *device, uint32_t what, size_t n, const void *input, size_t got, void *value,
                                size_t *size) {
  CALL;
  IS(kernel, KERNEL);
  IS(device, DEVICE);
  (void)size;
  if (what != 0x2033 || n != 3 * sizeof(size_t) || got != sizeof(size_t)) wrong(__func__, "not known");
  if (!((const size_t *)input)[2]) wrong(__func__, "no threads");
  *(size_t *)value = (size_t)fake.subgroup;
  return 0;
}

int32_t clGetKernelWorkGroupInfo(void *kernel, void *device, uint32_t what, size_t n, void *value, size_t *size) {
  CALL;
  const size_t most = (size_t)fake.kernel_group;
  IS(kernel, KERNEL);
  IS(device, DEVICE);
  if (what != 0x11b0) wrong(__func__, "not known");
  return ANSWER(most);
}

int32_t clSetKernelArg(void *kernel, uint32_t i, size_t n, const void *value) {
  void *p;
  CALL;
  Object *o = IS(kernel, KERNEL);
  if (n != (i % 2 ? 8 : sizeof p)) wrong(__func__, "another size");
  memcpy(&p, value, sizeof p);
  if (i % 2 == 0) IS(p, BUFFER);
  o->properties |= (uint64_t)1 << i;
  return 0;
}

static Object *part(void *buffer, size_t at, size_t n, const char *function) {
  Object *o = is(buffer, BUFFER, function);
  if (at > o->n || n > o->n - at || !n) wrong(function, "outside of the buffer");
  return o;
}

static int32_t done(void *queue, uint32_t events, void *const *list, void **event, const char *function) {
  is(queue, QUEUE, function);
  if (events || list) wrong(function, "events to wait for");
  if (event) *event = make(EVENT, NULL);
  return 0;
}
#define DONE done(queue, events, list, event, __func__)
#define EVENTS uint32_t events, void *const *list, void **event

int32_t clEnqueueWriteBuffer(void *queue, void *buffer, uint32_t wait, size_t at, size_t n, const void *p, EVENTS) {
  CALL;
  if (wait) wrong(__func__, "it would wait");
  memcpy(part(buffer, at, n, __func__)->bytes + at, p, n);
  return DONE;
}

int32_t clEnqueueReadBuffer(void *queue, void *buffer, uint32_t wait, size_t at, size_t n, void *p, EVENTS) {
  CALL;
  if (wait) wrong(__func__, "it would wait");
  memcpy(p, part(buffer, at, n, __func__)->bytes + at, n);
  if (n == 1) *(unsigned char *)p = fake.guard;
  return DONE;
}

int32_t clEnqueueWriteBufferRect(void *queue, void *buffer, uint32_t wait, const size_t *at, const size_t *host,
                                 const size_t *region, size_t row, size_t slice, size_t host_row,
                                 size_t host_slice, const void *p, EVENTS) {
  CALL;
  Object *o = part(buffer, at[0], (region[1] - 1) * row + region[0], __func__);
  if (wait || at[1] || at[2] || host[0] || host[1] || host[2] || region[2] != 1 || slice || host_slice || row < region[0] ||
      host_row < region[0])
    wrong(__func__, "not expected");
  for (size_t i = 0; i < region[1]; i++) memcpy(o->bytes + at[0] + i * row, (const char *)p + i * host_row, region[0]);
  return DONE;
}

int32_t clEnqueueReadBufferRect(void *queue, void *buffer, uint32_t wait, const size_t *at, const size_t *host,
                                 const size_t *region, size_t row, size_t slice, size_t host_row,
                                size_t host_slice, void *p, EVENTS) {
  CALL;
  Object *o = part(buffer, at[0], (region[1] - 1) * row + region[0], __func__);
  if (wait || at[1] || at[2] || host[0] || host[1] || host[2] || region[2] != 1 || slice || host_slice || row < region[0] ||
      host_row < region[0])
    wrong(__func__, "not expected");
  for (size_t i = 0; i < region[1]; i++) memcpy((char *)p + i * host_row, o->bytes + at[0] + i * row, region[0]);
  return DONE;
}

int32_t clEnqueueCopyBufferRect(void *queue, void *from, void *to, const size_t *from_at, const size_t *to_at,
                                const size_t *region, size_t from_row, size_t from_slice, size_t to_row,
                                size_t to_slice, EVENTS) {
  CALL;
  Object *a = part(from, from_at[0], (region[1] - 1) * from_row + region[0], __func__);
  Object *b = part(to, to_at[0], (region[1] - 1) * to_row + region[0], __func__);
  if (from_slice || to_slice || region[2] != 1 || from_row < region[0] || to_row < region[0]) wrong(__func__, "not expected");
  for (size_t i = 0; i < region[1] && a == b; i++)
    for (size_t k = 0; k < region[1]; k++) {
      const size_t x = from_at[0] + i * from_row, y = to_at[0] + k * to_row;
      if (x < y + region[0] && y < x + region[0]) wrong(__func__, "the parts overlap");
    }
  for (size_t i = 0; i < region[1]; i++)
    memcpy(b->bytes + to_at[0] + i * to_row, a->bytes + from_at[0] + i * from_row, region[0]);
  return DONE;
}

int32_t clEnqueueFillBuffer(void *queue, void *buffer, const void *pattern, size_t unit, size_t at, size_t n, EVENTS) {
  CALL;
  Object *o = part(buffer, at, n, __func__);
  if (at % unit || n % unit) wrong(__func__, "no multiple of the pattern");
  for (size_t i = 0; i < n; i += unit) memcpy(o->bytes + at + i, pattern, unit);
  return DONE;
}

int32_t clEnqueueNDRangeKernel(void *queue, void *kernel, uint32_t dims, const size_t *offset, const size_t *global,
                               const size_t *local, EVENTS) {
  CALL;
  const uint64_t args = IS(kernel, KERNEL)->properties;
  if (dims != 3 || offset || args & (args + 1)) wrong(__func__, "an argument is missing");
  for (int i = 0; i < 3; i++)
    if (!local[i] || global[i] % local[i]) wrong(__func__, "no multiple of the work group");
  pthread_mutex_lock(&mutex);
  fake.launches++;
  pthread_mutex_unlock(&mutex);
  return DONE;
}

int32_t clEnqueueMarkerWithWaitList(void *queue, EVENTS) {
  CALL;
  return DONE;
}

int32_t clFlush(void *queue) {
  CALL;
  IS(queue, QUEUE);
  return 0;
}

int32_t clGetEventInfo(void *event, uint32_t what, size_t n, void *value, size_t *size) {
  CALL;
  IS(event, EVENT);
  if (what != 0x11d3) wrong(__func__, "not known");
  return ANSWER(fake.event_state);
}

int32_t clGetEventProfilingInfo(void *event, uint32_t what, size_t n, void *value, size_t *size) {
  CALL;
  const uint64_t time = what == 0x1282 ? 1000 : 1500;
  IS(event, EVENT);
  return ANSWER(time);
}

int32_t clWaitForEvents(uint32_t n, void *const *list) {
  CALL;
  if (n != 1 || IS(list[0], EVENT)->refs < 1) wrong(__func__, "not expected");
  if (fake.event_state) wrong(__func__, "it would wait");
  pthread_mutex_lock(&mutex);
  fake.waits++;
  pthread_mutex_unlock(&mutex);
  return 0;
}

#define RELEASE(name, kind) \
  int32_t name(void *p); \
  int32_t name(void *p) { \
    drop(IS(p, kind)); \
    CALL; \
    return 0; \
  }
RELEASE(clReleaseContext, CONTEXT)
RELEASE(clReleaseCommandQueue, QUEUE)
RELEASE(clReleaseMemObject, BUFFER)
RELEASE(clReleaseProgram, PROGRAM)
#ifndef WITHOUT_KERNELS
RELEASE(clReleaseKernel, KERNEL)
#endif
RELEASE(clReleaseEvent, EVENT)

/* ---- cl_khr_command_buffer ---- */
static void *create_recorded(uint32_t n, void *const *queues, const uint64_t *properties, int32_t *status) {
  *status = count("clCreateCommandBufferKHR");
  if (*status) return NULL;
  if (n != 1 || properties) wrong(__func__, "not expected");
  return make(RECORDED, IS(queues[0], QUEUE));
}

static int32_t record_launch(void *recorded, void *queue, const uint64_t *properties, void *kernel, uint32_t dims,
                             const size_t *offset, const size_t *global, const size_t *local, uint32_t points,
                             const uint32_t *list, uint32_t *point, void **handle) {
  const int32_t injected = count("clCommandNDRangeKernelKHR");
  Object *o = IS(recorded, RECORDED);
  const uint64_t args = IS(kernel, KERNEL)->properties;
  if (injected) return injected;
  if (o->properties || queue || properties || dims != 3 || offset || handle || args & (args + 1)) wrong(__func__, "not expected");
  if (points != (o->n > 0) || (points && *list != o->n)) wrong(__func__, "it does not follow the last one");
  for (int i = 0; i < 3; i++)
    if (!local[i] || global[i] % local[i]) wrong(__func__, "no multiple of the work group");
  *point = (uint32_t)++o->n;
  return 0;
}

static int32_t finalize(void *recorded) {
  const int32_t injected = count("clFinalizeCommandBufferKHR");
  Object *o = IS(recorded, RECORDED);
  if (injected) return injected;
  if (o->properties) wrong(__func__, "twice");
  o->properties = 1;
  return 0;
}

static int32_t replay(uint32_t n, void *const *queues, void *recorded, EVENTS) {
  const int32_t injected = count("clEnqueueCommandBufferKHR");
  Object *o = IS(recorded, RECORDED);
  if (injected) return injected;
  if (n || queues || !o->properties || events || list || event) wrong(__func__, "not expected");
  if (o->replayed == 1 + fake.waits) wrong(__func__, "it may still run");
  o->replayed = 1 + fake.waits;
  fake.replays++, fake.launches += (int)o->n;
  return 0;
}

static int32_t release_recorded(void *recorded) {
  drop(IS(recorded, RECORDED));
  return count("clReleaseCommandBufferKHR");
}

void *clGetExtensionFunctionAddressForPlatform(void *platform, const char *name);
void *clGetExtensionFunctionAddressForPlatform(void *platform, const char *name) {
  static const struct { const char *name; void (*function)(void); } all[] = {
    { "clCreateCommandBufferKHR", (void (*)(void))create_recorded },
    { "clCommandNDRangeKernelKHR", (void (*)(void))record_launch },
    { "clFinalizeCommandBufferKHR", (void (*)(void))finalize }, { "clEnqueueCommandBufferKHR", (void (*)(void))replay },
    { "clReleaseCommandBufferKHR", (void (*)(void))release_recorded },
  };
  void *p;
  IS(platform, PLATFORM);
  if (count(__func__) || (fake.no_function && !strcmp(name, fake.no_function))) return NULL;
  for (size_t i = 0; i < sizeof all / sizeof *all; i++)
    if (!strcmp(name, all[i].name)) return memcpy(&p, &all[i].function, sizeof p), p;
  wrong(__func__, name);
}

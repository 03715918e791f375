/* SPDX-License-Identifier: 0BSD */
/* tgcrt_metal.c: runs a model's launches by Metal; see tgcrt_device.h.
 *
 * It is C, and needs neither headers nor frameworks of Apple to build. It opens the runtime of Objective-C and the frameworks
 * when a program opens a device, and sends messages by objc_msgSend. All memory of the host is the caller's: a session lies at
 * its beginning, then the objects. A run is one command buffer with one encoder, whose dispatches take place one after another. So
 * do the command buffers of a queue where they use the same memory. The device's memory is the host's, too: the host copies
 * values before a command buffer is committed and after it is done. Every wait asks for the status of command buffers again and
 * again, until a limit: waitUntilCompleted is never called. tgcrt_session.h has what other interfaces do in the same way. */
#define API(name) tgcrt_metal_##name
#include "tgcrt_session.h"

/* ---- what is used of Objective-C and Metal ---- */
#define SELECTORS(S) \
  /* objects, text, errors */ \
  S(new_, "new") S(retain, "retain") S(release, "release") S(respondsToSelector, "respondsToSelector:") \
  S(stringWithUTF8String, "stringWithUTF8String:") S(UTF8String, "UTF8String") S(fileURLWithPath, "fileURLWithPath:") \
  S(count, "count") S(objectAtIndex, "objectAtIndex:") S(localizedDescription, "localizedDescription") S(code, "code") \
  /* devices */ \
  S(name, "name") S(device, "device") S(maxBufferLength, "maxBufferLength") \
  S(recommendedMaxWorkingSetSize, "recommendedMaxWorkingSetSize") S(supportsFamily, "supportsFamily:") \
  S(maxThreadgroupMemoryLength, "maxThreadgroupMemoryLength") S(maxThreadsPerThreadgroup, "maxThreadsPerThreadgroup") \
  S(newCommandQueueWithMaxCommandBufferCount, "newCommandQueueWithMaxCommandBufferCount:") \
  S(newBufferWithLength, "newBufferWithLength:options:") \
  S(newBufferWithBytesNoCopy, "newBufferWithBytesNoCopy:length:options:deallocator:") \
  /* kernels */ \
  S(newLibraryWithSource, "newLibraryWithSource:options:error:") S(newLibraryWithURL, "newLibraryWithURL:error:") \
  S(setMathMode, "setMathMode:") S(setMathFloatingPointFunctions, "setMathFloatingPointFunctions:") \
  S(setFastMathEnabled, "setFastMathEnabled:") S(newFunctionWithName, "newFunctionWithName:") \
  S(setComputeFunction, "setComputeFunction:") \
  S(setMaxTotalThreadsPerThreadgroup, "setMaxTotalThreadsPerThreadgroup:") \
  S(newComputePipelineState, "newComputePipelineStateWithDescriptor:options:reflection:error:") \
  S(maxTotalThreadsPerThreadgroup, "maxTotalThreadsPerThreadgroup") \
  /* buffers and commands */ \
  S(length, "length") S(contents, "contents") S(commandBuffer, "commandBuffer") \
  S(computeCommandEncoder, "computeCommandEncoder") S(setComputePipelineState, "setComputePipelineState:") \
  S(setBuffer, "setBuffer:offset:atIndex:") S(setBytes, "setBytes:length:atIndex:") \
  S(dispatchThreadgroups, "dispatchThreadgroups:threadsPerThreadgroup:") S(endEncoding, "endEncoding") S(commit, "commit") \
  S(status, "status") S(error, "error") S(GPUStartTime, "GPUStartTime") S(GPUEndTime, "GPUEndTime")

typedef struct Size { size_t n[3]; } Size; /* MTLSize */
enum { /* numbers of Metal */
  FAMILY_APPLE1 = 1001,
  FAMILY_APPLE10 = 1010,
  STORAGE_SHARED = 0,
  MATH_SAFE = 0,
  FUNCTIONS_PRECISE = 1,
  STATUS_COMPLETED = 4,
  STATUS_ERROR = 5,
  ERROR_OUT_OF_MEMORY = 8
};
enum { WARP = 32 }; /* threads in lockstep of every device */

typedef struct Metal {
  void *(*objc_getClass)(const char *name);
  void *(*sel_registerName)(const char *name);
  void (*objc_msgSend)(void);
  void (*objc_msgSend_stret)(void); /* x86-64: of messages that return structures */
  void *(*objc_autoreleasePoolPush)(void);
  void (*objc_autoreleasePoolPop)(void *pool);
  void *(*MTLCreateSystemDefaultDevice)(void);
  void *(*MTLCopyAllDevices)(void); /* macOS has it; NULL: there is only the default device */
#define DECLARE(name, text) void *name;
  struct { SELECTORS(DECLARE) } sel;
#undef DECLARE
} Metal;

/* The first path is Apple's. The second is for what stands in for it, in the search path of libraries. */
static const char *const objc_library[] = { "/usr/lib/libobjc.A.dylib", "libobjc.A.dylib" };
static const char *const foundation_library[] = { "/System/Library/Frameworks/Foundation.framework/Foundation",
                                                  "libFoundation.dylib" };
static const char *const metal_library[] = { "/System/Library/Frameworks/Metal.framework/Metal", "libMetal.dylib" };
/* without it there is no default device in programs without windows */
static const char *const graphics_library[] = { "/System/Library/Frameworks/CoreGraphics.framework/CoreGraphics" };

static int open_library(const tgcrt_device *d, const char *const names[2], void **library) {
  *library = first_library(names, 2);
  if (*library) return TGCRT_OK;
  say(d, names[0], "this library cannot be opened: only systems of Apple have Metal");
  return TGCRT_DRIVER;
}

static int load(Metal *m, const tgcrt_device *d) {
  void *objc, *foundation, *metal;
  int status = open_library(d, objc_library, &objc);
  if (!status) status = open_library(d, foundation_library, &foundation);
  if (!status) status = open_library(d, metal_library, &metal);
  if (status) return status;
  first_library(graphics_library, 1);
  memset(m, 0, sizeof *m);
#define FIND(library, name) \
  library_find(library, #name, &m->name); \
  if (!m->name) { \
    say(d, #name, "the system's libraries lack this function"); \
    return TGCRT_DRIVER; \
  }
  FIND(objc, objc_getClass)
  FIND(objc, sel_registerName)
  FIND(objc, objc_msgSend)
#if defined __x86_64__
  FIND(objc, objc_msgSend_stret)
#endif
  FIND(objc, objc_autoreleasePoolPush)
  FIND(objc, objc_autoreleasePoolPop)
  FIND(metal, MTLCreateSystemDefaultDevice)
#undef FIND
  library_find(metal, "MTLCopyAllDevices", &m->MTLCopyAllDevices);
#define REGISTER(name, text) m->sel.name = m->sel_registerName(text);
  SELECTORS(REGISTER)
#undef REGISTER
  return TGCRT_OK;
}

/* ---- messages, by the types of their arguments ---- */
#define MESSAGE(result, types) ((result (*) types)m->objc_msgSend)
static void *ask_object(const Metal *m, void *object, void *selector) {
  return MESSAGE(void *, (void *, void *))(object, selector);
}
static size_t ask_number(const Metal *m, void *object, void *selector) {
  return MESSAGE(size_t, (void *, void *))(object, selector);
}
static double ask_double(const Metal *m, void *object, void *selector) {
  return MESSAGE(double, (void *, void *))(object, selector);
}
static void tell(const Metal *m, void *object, void *selector) { MESSAGE(void, (void *, void *))(object, selector); }
static void *ask_with(const Metal *m, void *object, void *selector, void *with) {
  return MESSAGE(void *, (void *, void *, void *))(object, selector, with);
}
static void *ask_with_number(const Metal *m, void *object, void *selector, size_t n) {
  return MESSAGE(void *, (void *, void *, size_t))(object, selector, n);
}
static void tell_number(const Metal *m, void *object, void *selector, size_t n) {
  MESSAGE(void, (void *, void *, size_t))(object, selector, n);
}
static void tell_object(const Metal *m, void *object, void *selector, void *with) {
  MESSAGE(void, (void *, void *, void *))(object, selector, with);
}
static Size ask_size(const Metal *m, void *object, void *selector) {
#if defined __x86_64__
  Size size;
  ((void (*)(Size *, void *, void *))m->objc_msgSend_stret)(&size, object, selector);
  return size;
#else
  return MESSAGE(Size, (void *, void *))(object, selector);
#endif
}

static int responds(const Metal *m, void *object, void *selector) {
  return MESSAGE(signed char, (void *, void *, void *))(object, m->sel.respondsToSelector, selector) != 0;
}

static void drop(const Metal *m, void *object) {
  if (object) tell(m, object, m->sel.release);
}

static void *string(const Metal *m, const char *text) { /* it belongs to the pool; NULL: there is no memory */
  void *class = m->objc_getClass("NSString");
  return class ? MESSAGE(void *, (void *, void *, const char *))(class, m->sel.stringWithUTF8String, text) : NULL;
}

static const char *text_of(const Metal *m, void *string) {
  const char *text = string ? (const char *)ask_object(m, string, m->sel.UTF8String) : NULL;
  return text ? text : "";
}

static void *new_object(const Metal *m, const char *name) {
  void *class = m->objc_getClass(name);
  return class ? ask_object(m, class, m->sel.new_) : NULL;
}

/* ---- results: 0, or what Metal did not give ---- */
enum { REFUSED = 1, NO_MEMORY = 2, TOO_LATE = 3 };

static int refused(const tgcrt_device *d, int32_t result, const char *function, int other) {
  switch (result) {
  case 0: return TGCRT_OK;
  case NO_MEMORY: say(d, function, "Metal has no memory for it"); return TGCRT_MEMORY;
  case TOO_LATE: say(d, function, "the time limit has passed"); return TGCRT_BUSY;
  }
  say(d, function, "Metal refuses it");
  return other;
}

static void say_error(const Metal *m, const tgcrt_device *d, const char *subject, void *error) { /* the whole text */
  if (!error || !d->log) return;
  say(d, subject, "Metal says:");
  d->log(d->log_arg, text_of(m, ask_object(m, error, m->sel.localizedDescription)));
}

/* ---- the session ---- */
enum { MOST_SENT = TGCRT_DEVICE_RUNS + 8 };
typedef struct Session {
  Core core;                 /* the first member */
  Metal metal;
  const tgcrt_net *net;
  void *pool;                /* holds objects until a function ends */
  void *work, *weights, *guards;
  void **pipelines;          /* by function, NULL: none yet */
  void *copy, *zero;         /* pipelines for what no model says */
  void **inputs, **outputs;  /* buffers of this session */
  void *const *in, *const *out; /* the buffers for the run in hand */
  void **results;            /* where the host wants the outputs of the run that is not done; its memory */
  int fetching;
  void *commands, *encoder;  /* open: launches are still added */
  void *sent[MOST_SENT];     /* committed, in order, and not known to be done */
  int nsent;
} Session;
enum { SESSION = 2048 };
typedef char session_fits[sizeof(Session) <= SESSION && sizeof(void *) <= 8 && TGCRT_DEVICE_RUNS <= 64 ? 1 : -1];

static int32_t enter(Core *core) {
  Session *s = (Session *)core;
  s->pool = s->metal.objc_autoreleasePoolPush();
  return 0;
}

static int32_t leave(Core *core) { /* an encoder that is not through must end before it goes */
  Session *s = (Session *)core;
  if (s->encoder) tell(&s->metal, s->encoder, s->metal.sel.endEncoding);
  s->commands = s->encoder = NULL;
  s->metal.objc_autoreleasePoolPop(s->pool);
  return 0;
}

/* ---- devices ---- */
/* The device of this number or name, or the default one; it is the caller's to release. NULL: there is none */
static void *find_device(const Metal *m, const char *wanted) {
  void *all, *found = NULL;
  size_t n, i;
  if (!wanted) return m->MTLCreateSystemDefaultDevice();
  all = m->MTLCopyAllDevices ? m->MTLCopyAllDevices() : NULL;
  n = all ? ask_number(m, all, m->sel.count) : 0;
  if (!m->MTLCopyAllDevices) {
    found = m->MTLCreateSystemDefaultDevice();
    if (found && !is_wanted(wanted, 0, text_of(m, ask_object(m, found, m->sel.name)))) drop(m, found), found = NULL;
  }
  for (i = 0; i < n && !found; i++) {
    void *device = ask_with_number(m, all, m->sel.objectAtIndex, i);
    if (is_wanted(wanted, (unsigned long)i, text_of(m, ask_object(m, device, m->sel.name))))
      found = ask_object(m, device, m->sel.retain);
  }
  drop(m, all);
  return found;
}

static uint64_t working_set(const Metal *m, void *device) { /* 0: it does not say */
  const int says = responds(m, device, m->sel.recommendedMaxWorkingSetSize);
  return says ? MESSAGE(uint64_t, (void *, void *))(device, m->sel.recommendedMaxWorkingSetSize) : 0;
}

static const char *lacks(const Metal *m, const tgcrt_net *net, void *device) { /* NULL: nothing */
  const Size most = ask_size(m, device, m->sel.maxThreadsPerThreadgroup);
  size_t i, k;
  if (net->needs) return "the model needs what Metal has not";
  if (net->shared_bytes > ask_number(m, device, m->sel.maxThreadgroupMemoryLength))
    return "the model needs more threadgroup memory";
  for (i = 0; i < net->nlaunches; i++)
    for (k = 0; k < 3; k++)
      if (net->launches[i].block[k] > most.n[k]) return "the model needs larger threadgroups";
  return NULL;
}

static int fits(const Metal *m, const tgcrt_net *net, const tgcrt_device *d) {
  const char *name = text_of(m, ask_object(m, d->device, m->sel.name)), *why = lacks(m, net, d->device);
  if (why) say(d, name, why);
  if (why) return TGCRT_DEVICE;
  if (!too_large(net, ask_number(m, d->device, m->sel.maxBufferLength), working_set(m, d->device))) return TGCRT_OK;
  say(d, name, "the model needs more memory than the device has, or than one buffer of it may have");
  return TGCRT_MEMORY;
}

/* d->device is held then. A queue of the caller's brings its device. */
static int take_device(const Metal *m, tgcrt_device *d, const char *name) {
  if (d->queue) d->device = ask_object(m, d->queue, m->sel.device);
  if (d->queue || d->device) {
    if (d->device) ask_object(m, d->device, m->sel.retain);
    return refused(d, d->device ? 0 : REFUSED, "the queue's device", TGCRT_DEVICE);
  }
  d->device = find_device(m, name);
  if (d->device) return TGCRT_OK;
  say(d, name ? name : "Metal", name ? "no device has this number or name" : "there is no device");
  return TGCRT_DEVICE;
}

static int open_device(const tgcrt_net *net, tgcrt_device *d, const char *name) {
  Metal metal, *m = &metal;
  void *pool;
  int status = load(m, d);
  if (status) return status;
  pool = m->objc_autoreleasePoolPush();
  d->context = NULL;
  status = take_device(m, d, name);
  if (!status) {
    status = fits(m, net, d);
    if (!status && d->queue) ask_object(m, d->queue, m->sel.retain);
    else if (!status) {
      /* asking for one more command buffer than this would wait */
      d->queue = ask_with_number(m, d->device, m->sel.newCommandQueueWithMaxCommandBufferCount, MOST_SENT + 1);
      status = refused(d, d->queue ? 0 : REFUSED, "the queue", TGCRT_DEVICE);
    }
    if (status) drop(m, d->device);
  }
  m->objc_autoreleasePoolPop(pool);
  return status;
}

static void note_facts(const Metal *m, void *device, tgcrt_device_facts *f) {
  size_t family = FAMILY_APPLE10;
  snprintf(f->name, sizeof f->name, "%s", text_of(m, ask_object(m, device, m->sel.name)));
  while (family >= FAMILY_APPLE1 && !MESSAGE(signed char, (void *, void *, size_t))(device, m->sel.supportsFamily, family))
    family--;
  if (family >= FAMILY_APPLE1) snprintf(f->version, sizeof f->version, "Metal, Apple%d", (int)(family - FAMILY_APPLE1 + 1));
  else snprintf(f->version, sizeof f->version, "Metal");
  f->is_gpu = f->shared_is_fast = 1;
  f->max_threads = (uint32_t)ask_size(m, device, m->sel.maxThreadsPerThreadgroup).n[0];
  f->shared_bytes = ask_number(m, device, m->sel.maxThreadgroupMemoryLength);
  f->largest = ask_number(m, device, m->sel.maxBufferLength);
  f->memory = working_set(m, device);
}

static int ask_device(const tgcrt_device *d, unsigned long number, tgcrt_device_facts *facts) {
  Metal metal, *m = &metal;
  char wanted[24];
  void *pool, *device;
  const int status = load(m, d);
  if (status) return status;
  pool = m->objc_autoreleasePoolPush();
  snprintf(wanted, sizeof wanted, "%lu", number);
  device = find_device(m, wanted);
  if (device) note_facts(m, device, facts);
  drop(m, device);
  m->objc_autoreleasePoolPop(pool);
  return device ? TGCRT_OK : TGCRT_DEVICE;
}

int API(describe)(const tgcrt_device *open, tgcrt_device_facts *facts) {
  Metal metal, *m = &metal;
  void *pool;
  const int status = load(m, open);
  memset(facts, 0, sizeof *facts);
  if (status) return status;
  pool = m->objc_autoreleasePoolPush();
  note_facts(m, open->device, facts);
  m->objc_autoreleasePoolPop(pool);
  return TGCRT_OK;
}

/* ---- command buffers ---- */
/* The result of a command buffer that is committed, if it is done */
static int32_t outcome(const Session *s, void *commands, int *done) {
  const Metal *m = &s->metal;
  const size_t status = ask_number(m, commands, m->sel.status);
  void *error;
  *done = status >= STATUS_COMPLETED;
  if (status != STATUS_ERROR) return 0;
  error = ask_object(m, commands, m->sel.error);
  say_error(m, &s->core.device, "a command buffer", error);
  return error && ask_number(m, error, m->sel.code) == ERROR_OUT_OF_MEMORY ? NO_MEMORY : REFUSED;
}

/* Releases those that are done. They are done in order. */
static int32_t sweep(Session *s) {
  int32_t result = 0;
  int n, i, done = 1;
  for (n = 0; n < s->nsent && !result; n++) {
    result = outcome(s, s->sent[n], &done);
    if (!done) break;
    drop(&s->metal, s->sent[n]);
  }
  for (i = n; i < s->nsent; i++) s->sent[i - n] = s->sent[i];
  s->nsent -= n;
  return result;
}

/* Until fewer than `most` of them are not done */
static int32_t wait_for_room(Session *s, int most) {
  const uint64_t begun = now_us();
  int32_t result = s->nsent < most ? 0 : sweep(s);
  while (!result && s->nsent >= most) {
    if (now_us() - begun >= (uint64_t)s->core.device.wait_ms * 1000) return TOO_LATE;
    sleep_us(50);
    result = sweep(s);
  }
  return result;
}

static int32_t encode(Session *s) { /* there is an encoder then */
  const Metal *m = &s->metal;
  int32_t result;
  if (s->encoder) return 0;
  result = wait_for_room(s, MOST_SENT);
  if (result) return result;
  s->commands = ask_object(m, s->core.device.queue, m->sel.commandBuffer);
  s->encoder = s->commands ? ask_object(m, s->commands, m->sel.computeCommandEncoder) : NULL;
  return s->encoder ? 0 : REFUSED;
}

static int32_t mark_end(Core *core) {
  Session *s = (Session *)core;
  const Metal *m = &s->metal;
  if (!s->encoder) return 0; /* nothing was encoded */
  tell(m, s->encoder, m->sel.endEncoding);
  s->sent[s->nsent++] = ask_object(m, s->commands, m->sel.retain);
  tell(m, s->commands, m->sel.commit);
  s->commands = s->encoder = NULL;
  return 0;
}

static int32_t ask(Core *core, int *done) {
  Session *s = (Session *)core;
  const int32_t result = sweep(s);
  size_t i;
  *done = !s->nsent;
  if (result || !*done) return result;
  for (i = 0; i < s->net->noutputs && s->fetching; i++)
    if (fetched(core, s->net, i))
      memcpy(s->results[i], ask_object(&s->metal, s->outputs[i], s->metal.sel.contents), fetched(core, s->net, i));
  s->fetching = core->staged = 0;
  return 0;
}

static void set_buffer(const Session *s, void *buffer, size_t at, size_t i) {
  const Metal *m = &s->metal;
  MESSAGE(void, (void *, void *, void *, size_t, size_t))(s->encoder, m->sel.setBuffer, buffer, at, i);
}

static void dispatch(const Session *s, Size grid, Size block) {
  const Metal *m = &s->metal;
  MESSAGE(void, (void *, void *, Size, Size))(s->encoder, m->sel.dispatchThreadgroups, grid, block);
}

/* Rows of bytes by one of the kernels of head.metal.in; from NULL: zeros. n: bytes of a row, distances of rows */
static int32_t move(Session *s, void *to, size_t to_at, void *from, size_t from_at, const uint64_t n[3], size_t rows) {
  const Metal *m = &s->metal;
  Size grid = { { 0, 1, 1 } }, block = { { 256, 1, 1 } };
  const int32_t result = n[0] && rows ? encode(s) : 0;
  if (result || !n[0] || !rows) return result;
  tell_object(m, s->encoder, m->sel.setComputePipelineState, from ? s->copy : s->zero);
  set_buffer(s, to, to_at, 0);
  if (from) set_buffer(s, from, from_at, 1);
  MESSAGE(void, (void *, void *, const void *, size_t, size_t))(s->encoder, m->sel.setBytes, n, 3 * sizeof *n, from ? 2 : 1);
  grid.n[0] = (size_t)((n[0] + block.n[0] - 1) / block.n[0]), grid.n[1] = rows;
  dispatch(s, grid, block);
  return 0;
}

static int32_t fill_zeros(Core *core, size_t at, size_t n) {
  Session *s = (Session *)core;
  const uint64_t row[3] = { n, 0, 0 };
  return move(s, s->work, at, NULL, 0, row, 1);
}

/* The encoder keeps a copy of at most 4096 bytes. */
static int32_t put_numbers(Core *core, size_t at, const int64_t *numbers, size_t n) {
  enum { MOST = 512 };
  Session *s = (Session *)core;
  const Metal *m = &s->metal;
  const int32_t result = n ? encode(s) : 0;
  const Size block = { { 256, 1, 1 } };
  Size grid = { { 0, 1, 1 } };
  size_t i;
  for (i = 0; i < n && !result; i += MOST) {
    const uint64_t row[3] = { (n - i < MOST ? n - i : MOST) * sizeof *numbers, 0, 0 };
    tell_object(m, s->encoder, m->sel.setComputePipelineState, s->copy);
    set_buffer(s, s->work, at + i * sizeof *numbers, 0);
    MESSAGE(void, (void *, void *, const void *, size_t, size_t))(s->encoder, m->sel.setBytes, numbers + i, (size_t)row[0], 1);
    MESSAGE(void, (void *, void *, const void *, size_t, size_t))(s->encoder, m->sel.setBytes, row, sizeof row, 2);
    grid.n[0] = (size_t)((row[0] + block.n[0] - 1) / block.n[0]);
    dispatch(s, grid, block);
  }
  return result;
}

static int32_t copy_rows(Core *core, int from_weights, size_t from_at, size_t from_row, size_t to_at, const tgcrt_state *t,
                         size_t bytes) {
  Session *s = (Session *)core;
  const uint64_t row[3] = { bytes, from_row, t->block };
  return move(s, s->work, to_at, from_weights ? s->weights : s->work, from_at, row, t->outer);
}

static int32_t read_guard(Core *core, const tgcrt_net *net, unsigned char *guard) {
  Session *s = (Session *)core;
  static const uint64_t row[3] = { 1, 0, 0 };
  return move(s, s->guards, (size_t)(guard - core->guards), s->work, net->guard_at, row, 1);
}

/* ---- the device's memory, where no commands are left ---- */
static unsigned char *work_bytes(Session *s) { return (unsigned char *)ask_object(&s->metal, s->work, s->metal.sel.contents); }

static int read_rows(Core *core, size_t at, size_t row, size_t bytes, size_t rows, void *p) {
  const unsigned char *from = work_bytes((Session *)core) + at;
  size_t i;
  for (i = 0; i < rows && bytes; i++) memcpy((unsigned char *)p + i * bytes, from + i * row, bytes);
  return TGCRT_OK;
}

static int write_rows(Core *core, size_t at, size_t row, size_t bytes, size_t rows, const void *p) {
  unsigned char *to = work_bytes((Session *)core) + at;
  size_t i;
  for (i = 0; i < rows && bytes; i++) memcpy(to + i * row, (const unsigned char *)p + i * bytes, bytes);
  return TGCRT_OK;
}

/* ---- runs ---- */
static int takes(const Session *s, size_t bytes, void *buffer) { /* large enough, and of this device */
  const Metal *m = &s->metal;
  if (!bytes) return 1;
  return ask_number(m, buffer, m->sel.length) >= bytes && ask_object(m, buffer, m->sel.device) == s->core.device.device;
}

static int check_buffers(Core *core, const tgcrt_net *net, void *const *in, void *const *out) {
  const Session *s = (const Session *)core;
  size_t i;
  for (i = 0; i < net->ninputs; i++)
    if (!takes(s, input_bytes(core, net)[i], in[i])) return TGCRT_ARGUMENT;
  for (i = 0; i < net->noutputs; i++)
    if (!takes(s, output_bytes(core, net)[i], out[i])) return TGCRT_ARGUMENT;
  return TGCRT_OK;
}

static int32_t bind(Core *core, const tgcrt_net *net, void *const *in, void *const *out) {
  Session *s = (Session *)core;
  (void)net;
  s->in = in ? in : s->inputs;
  s->out = out ? out : s->outputs;
  return 0;
}

static int32_t feed(Core *core, const tgcrt_net *net, const void *const *in) {
  Session *s = (Session *)core;
  const size_t *bytes = input_bytes(core, net);
  size_t i;
  core->staged = 1;
  for (i = 0; i < net->ninputs; i++)
    if (bytes[i]) memcpy(ask_object(&s->metal, s->inputs[i], s->metal.sel.contents), in[i], bytes[i]);
  return 0;
}

static int32_t fetch(Core *core, const tgcrt_net *net, void *const *out) { /* when the run is done */
  Session *s = (Session *)core;
  size_t i;
  for (i = 0; i < net->noutputs; i++) s->results[i] = out[i];
  note_fetched(core, net);
  s->fetching = 1;
  return 0;
}

static void *memory_of(const Session *s, const tgcrt_place *p) {
  void *buffer;
  switch (p->memory) {
  case TGCRT_PLACE_WEIGHTS: return s->weights;
  case TGCRT_PLACE_INPUT: buffer = s->in[p->number]; return buffer ? buffer : s->inputs[p->number]; /* NULL: no elements */
  case TGCRT_PLACE_OUTPUT: buffer = s->out[p->number]; return buffer ? buffer : s->outputs[p->number];
  }
  return s->work;
}

static void launch(Session *s, const tgcrt_net *net, const tgcrt_launch *l) {
  const Metal *m = &s->metal;
  Size grid, block;
  uint32_t i;
  for (i = 0; i < 3; i++) grid.n[i] = l->grid[i], block.n[i] = l->block[i];
  tell_object(m, s->encoder, m->sel.setComputePipelineState, s->pipelines[l->function]);
  for (i = 0; i < l->n; i++) {
    const tgcrt_place *p = &net->places[l->first + i];
    set_buffer(s, memory_of(s, p), place_at(&s->core, net, p), i);
  }
  dispatch(s, grid, block);
}

/* A launch by itself: its time on the device */
static int32_t measure(Session *s, uint64_t *nanoseconds) {
  const Metal *m = &s->metal;
  void *commands = s->commands;
  double begin, end;
  int32_t result = mark_end(&s->core);
  if (!result) result = wait_for_room(s, 1);
  if (result) return result;
  begin = ask_double(m, commands, m->sel.GPUStartTime);
  end = ask_double(m, commands, m->sel.GPUEndTime);
  *nanoseconds = end > begin ? (uint64_t)((end - begin) * 1e9 + 0.5) : 0;
  return 0;
}

static int32_t launch_some(Session *s, const tgcrt_net *net, size_t first, size_t n, uint64_t *events) {
  int32_t result = 0;
  size_t k;
  for (k = 0; k < n && !result; k++) {
    result = encode(s);
    if (!result) launch(s, net, &net->launches[first + k]);
    if (!result && events) result = measure(s, &events[k]);
  }
  return result;
}

static int32_t launch_all(Core *core, const tgcrt_net *net, uint64_t *events) {
  return launch_some((Session *)core, net, 0, net->nlaunches, events);
}

static int profile(Session *s, const tgcrt_net *net, const void *const *in, void *const *out, uint64_t *nanoseconds) {
  int status = settle_all(&s->core);
  if (!status) status = enqueue_values(&s->core, net, in, out, nanoseconds);
  return status ? status : sync_runs(&s->core, -1);
}

int API(profile)(const tgcrt_net *net, void *m, const void *const *in, void *const *out, uint64_t *nanoseconds) {
  Core *s = (Core *)m;
  int status = check_all(s, net, in, out);
  if (!status) status = entered(s);
  if (status) return status;
  memset(nanoseconds, 0, net->nlaunches * sizeof *nanoseconds);
  return left(s, profile((Session *)m, net, in, out, nanoseconds));
}

int API(profile_part)(const tgcrt_net *net, void *m, size_t first, size_t n, uint64_t *nanoseconds) {
  Core *s = (Core *)m;
  int status = entered(s);
  if (status) return status;
  memset(nanoseconds, 0, n * sizeof *nanoseconds);
  status = settle_all(s);
  if (!status) status = lose(s, bind(s, net, NULL, NULL), "a launch");
  if (!status) status = lose(s, launch_some((Session *)m, net, first, n, nanoseconds), "a launch");
  return left(s, status);
}

/* ---- kernels ---- */
static char *whole_text(const tgcrt_net *net, size_t *bytes) { /* pages; NULL: there is no memory */
  size_t i, n = 0, at = 0;
  char *text;
  for (i = 0; i < net->ntext; i++) n += strlen(net->text[i]);
  *bytes = n + 1;
  text = (char *)pages_take(n + 1);
  for (i = 0; i < net->ntext && text; i++) {
    const size_t part = strlen(net->text[i]);
    memcpy(text + at, net->text[i], part);
    at += part;
  }
  return text;
}

static void *find_function(const Metal *m, void *library, const char *name) {
  void *text = string(m, name);
  return text ? ask_with(m, library, m->sel.newFunctionWithName, text) : NULL;
}

/* The library that build.sh made of this very text, which it names; NULL: there is none */
static void *read_library(const Session *s, const char *text) {
  const Metal *m = &s->metal;
  const tgcrt_device *d = &s->core.device;
  char name[80] = "text_";
  void *class = m->objc_getClass("NSURL"), *path = string(m, d->cache), *library = NULL, *function = NULL, *error = NULL;
  void *url = class && path ? ask_with(m, class, m->sel.fileURLWithPath, path) : NULL;
  if (url) library = MESSAGE(void *, (void *, void *, void *, void **))(d->device, m->sel.newLibraryWithURL, url, &error);
  if (!library) {
    say_error(m, d, d->cache, error);
    return NULL;
  }
  tgcrt_sha256(text, strlen(text), name + 5);
  function = find_function(m, library, name);
  if (function) {
    drop(m, function);
    return library;
  }
  say(d, d->cache, "this library was not made of the kernels of this bundle: build.sh makes it anew");
  drop(m, library);
  return NULL;
}

static void *compile_library(const Session *s, const char *text) {
  const Metal *m = &s->metal;
  const tgcrt_device *d = &s->core.device;
  void *options = new_object(m, "MTLCompileOptions"), *source = string(m, text), *library = NULL, *error = NULL;
  if (options && responds(m, options, m->sel.setMathMode) && responds(m, options, m->sel.setMathFloatingPointFunctions)) {
    tell_number(m, options, m->sel.setMathMode, MATH_SAFE);
    tell_number(m, options, m->sel.setMathFloatingPointFunctions, FUNCTIONS_PRECISE);
  } else if (options) {
    MESSAGE(void, (void *, void *, signed char))(options, m->sel.setFastMathEnabled, 0);
  }
  if (options && source)
    library = MESSAGE(void *, (void *, void *, void *, void *, void **))(d->device, m->sel.newLibraryWithSource, source, options,
                                                                         &error);
  if (!library) say_error(m, d, "newLibraryWithSource", error);
  drop(m, options);
  return library;
}

static int make_pipeline(Session *s, void *library, const char *name, size_t threads, void **pipeline) {
  const Metal *m = &s->metal;
  const tgcrt_device *d = &s->core.device;
  void *function = find_function(m, library, name), *error = NULL;
  void *wanted = function ? new_object(m, "MTLComputePipelineDescriptor") : NULL;
  if (wanted) {
    tell_object(m, wanted, m->sel.setComputeFunction, function);
    tell_number(m, wanted, m->sel.setMaxTotalThreadsPerThreadgroup, (threads + WARP - 1) / WARP * WARP);
    *pipeline = MESSAGE(void *, (void *, void *, void *, size_t, void *, void **))(
        d->device, m->sel.newComputePipelineState, wanted, 0, NULL, &error);
    if (!*pipeline) say_error(m, d, name, error);
  }
  drop(m, wanted);
  drop(m, function);
  if (!*pipeline) return refused(d, REFUSED, name, TGCRT_BUILD);
  if (ask_number(m, *pipeline, m->sel.maxTotalThreadsPerThreadgroup) >= threads) return TGCRT_OK;
  say(d, name, "the device runs this kernel in smaller threadgroups only");
  return TGCRT_DEVICE;
}

static size_t most_threads(const tgcrt_net *net, uint32_t function) { /* the largest block of its launches */
  size_t most = 0, i;
  for (i = 0; i < net->nlaunches; i++) {
    const tgcrt_launch *l = &net->launches[i];
    const size_t n = (size_t)l->block[0] * l->block[1] * l->block[2];
    if (l->function == function && n > most) most = n;
  }
  return most;
}

static int make_pipelines(Session *s, const tgcrt_net *net, void *library) {
  int status = make_pipeline(s, library, "tgc_copy", 256, &s->copy);
  size_t i;
  if (!status) status = make_pipeline(s, library, "tgc_zero", 256, &s->zero);
  for (i = 0; i < net->nfunctions && !status; i++)
    status = make_pipeline(s, library, net->functions[i], most_threads(net, (uint32_t)i), &s->pipelines[i]);
  return status;
}

static int build(Session *s, const tgcrt_net *net) {
  size_t bytes;
  char *text = whole_text(net, &bytes);
  void *library = NULL;
  int status;
  if (!text) return refused(&s->core.device, NO_MEMORY, "the kernels' text", TGCRT_MEMORY);
  if (s->core.device.cache) library = read_library(s, text);
  if (!library) library = compile_library(s, text);
  pages_give(text, bytes);
  status = refused(&s->core.device, library ? 0 : REFUSED, "the kernels", TGCRT_BUILD);
  if (!status) status = make_pipelines(s, net, library);
  drop(&s->metal, library);
  return status;
}

/* ---- memory of the device ---- */
static int make_buffer(const Session *s, size_t n, void **buffer) {
  const Metal *m = &s->metal;
  *buffer = MESSAGE(void *, (void *, void *, size_t, size_t))(s->core.device.device, m->sel.newBufferWithLength, buffer_bytes(n),
                                                              STORAGE_SHARED);
  if (*buffer) memset(ask_object(m, *buffer, m->sel.contents), 0, buffer_bytes(n)); /* it is there before the first run */
  return refused(&s->core.device, *buffer ? 0 : NO_MEMORY, "newBufferWithLength", TGCRT_MEMORY);
}

/* Weights that begin with a page are used where they are; others are copied. */
static int make_weights(Session *s, const tgcrt_net *net, const void *weights) {
  const Metal *m = &s->metal;
  const size_t n = net->weight_bytes, page = (size_t)sysconf(_SC_PAGESIZE);
  int status;
  if (n && (uintptr_t)weights % page == 0)
    s->weights = MESSAGE(void *, (void *, void *, const void *, size_t, size_t, void *))(
        s->core.device.device, m->sel.newBufferWithBytesNoCopy, weights, (n + page - 1) / page * page, STORAGE_SHARED, NULL);
  if (s->weights) return TGCRT_OK;
  status = make_buffer(s, n, &s->weights);
  if (!status && n) memcpy(ask_object(m, s->weights, m->sel.contents), weights, n);
  return status;
}

static int make_buffers(Session *s, const tgcrt_net *net, const void *weights) {
  size_t i;
  int status = make_buffer(s, net->work_bytes, &s->work);
  if (!status) status = make_buffer(s, TGCRT_DEVICE_RUNS, &s->guards);
  if (!status) s->core.guards = (unsigned char *)ask_object(&s->metal, s->guards, s->metal.sel.contents);
  if (!status) status = make_weights(s, net, weights);
  for (i = 0; i < net->ninputs && !status; i++) status = make_buffer(s, net->input_bytes[i], &s->inputs[i]);
  for (i = 0; i < net->noutputs && !status; i++) status = make_buffer(s, net->output_bytes[i], &s->outputs[i]);
  return status;
}

/* ---- begin and end ---- */
static void release(Session *s, const tgcrt_net *net) {
  const Metal *m = &s->metal;
  size_t i;
  int k;
  for (k = 0; k < s->nsent; k++) drop(m, s->sent[k]);
  for (i = 0; i < net->nfunctions; i++) drop(m, s->pipelines[i]);
  for (i = 0; i < net->ninputs; i++) drop(m, s->inputs[i]);
  for (i = 0; i < net->noutputs; i++) drop(m, s->outputs[i]);
  drop(m, s->copy);
  drop(m, s->zero);
  drop(m, s->work);
  drop(m, s->weights);
  drop(m, s->guards);
}

static int begin(Session *s, const tgcrt_net *net) {
  const int status = reset(&s->core, net);
  return status ? status : finish(&s->core, 0, "memory");
}

int API(init)(const tgcrt_net *net, const tgcrt_device *open, void *m, const void *weights) {
  Session *s = (Session *)m;
  int status;
  memset(m, 0, TGCRT_METAL_BYTES(net->nlaunches, net->ninputs, net->noutputs, net->nstates));
  s->core.device = *open;
  s->core.ask_us = 2000;
  s->net = net;
  s->core.cursors = (uint64_t *)(void *)((unsigned char *)m + SESSION);
  s->pipelines = (void **)(s->core.cursors + net->nstates);
  s->inputs = s->pipelines + net->nlaunches; /* there are no more functions than launches */
  s->outputs = s->inputs + net->ninputs;
  s->results = s->outputs + net->noutputs;
  status = load(&s->metal, open);
  if (status) return status;
  enter(&s->core);
  status = build(s, net);
  if (!status) status = make_buffers(s, net, weights);
  if (!status) status = begin(s, net);
  leave(&s->core);
  if (status) release(s, net);
  return status;
}

int API(close)(const tgcrt_net *net, tgcrt_device *open, void *m) {
  Session *s = (Session *)m;
  Metal metal;
  int status;
  if (s && !s->core.lost) {
    enter(&s->core);
    status = settle_all(&s->core);
    leave(&s->core);
    if (status == TGCRT_BUSY) return TGCRT_BUSY;
  }
  status = load(&metal, open);
  if (status) return status;
  if (s) release(s, net);
  drop(&metal, open->queue);
  drop(&metal, open->device);
  memset(open, 0, sizeof *open);
  return TGCRT_OK;
}

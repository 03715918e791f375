/* SPDX-License-Identifier: MIT */
/* fake.c: a runtime of Objective-C and a Metal in one library, as much as tgcrt_metal.c uses. Kernels run on the CPU (shim.py).
 *
 * It counts calls and objects, and lets one call fail. It stops the program where Metal is used wrongly. Examples are objects
 * that are gone, messages that nobody knows, encoders that do not end, missing arguments, and waits without end.
 *
 * Environment: METAL_SHIM, the path of shim.py; METAL_CACHE, a folder for what it makes. */
#include "fake.h"
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

Fake fake;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER, execution = PTHREAD_MUTEX_INITIALIZER;

void fake_defaults(void) {
  const int live = fake.live;
  memset(&fake, 0, sizeof fake);
  fake.live = live;
  fake.devices = 1, fake.family = 1007, fake.max_threads = 1024, fake.shared_bytes = 32768, fake.max_buffer = (uint64_t)1 << 34;
  fake.working_set = (uint64_t)1 << 34, fake.kernel_threads = 1024, fake.name = "Fake M1";
}
__attribute__((constructor)) static void begin(void) { fake_defaults(); }

__attribute__((noreturn)) static void wrong(const char *where, const char *what) {
  fprintf(stderr, "fake Metal: %s: %s\n", where, what);
  _Exit(99);
}

static int fails(const char *function) {
  pthread_mutex_lock(&mutex);
  const int is = ++fake.calls == fake.fail_at;
  if (is) fake.failed = function;
  pthread_mutex_unlock(&mutex);
  return is;
}

/* ---- objects ---- */
typedef struct Size { size_t n[3]; } Size;
typedef struct Method { const char *name; void (*function)(void); } Method;
typedef struct Class { const char *name; const Method *of_class, *of_objects; } Class;
enum { ARGUMENTS = 31, DISPATCHES = 65536 };

typedef struct Object Object;
typedef struct Argument { Object *buffer; size_t at, n; unsigned char bytes[4096]; } Argument;
typedef struct Dispatch { Object *pipeline; Argument args[ARGUMENTS]; Size grid, block; } Dispatch;
struct Object {
  const Class *of;
  int refs, state, number;   /* state: encoders: 0 open, 1 ended; commands: 0 open, 1 committed */
  Object *parent;            /* a buffer's and a queue's device, a command buffer's queue, an encoder's commands */
  char *text;
  unsigned char *bytes;
  size_t n, most;
  int borrowed;              /* bytes are the program's */
  void *library;             /* made by shim.py */
  const void *kernel;        /* a function's, and a pipeline's */
  size_t nparams;
  Dispatch *list, now;
  size_t dispatches;
};

static void give_up(Object *o);
static int is_device(const Object *o);

static void hold(Object *o);

static Object *make(const Class *of, Object *parent) {
  Object *o = calloc(1, sizeof *o);
  o->of = of, o->refs = 1, o->parent = parent;
  pthread_mutex_lock(&mutex);
  fake.live++;
  pthread_mutex_unlock(&mutex);
  if (parent) hold(parent);
  return o;
}

static void hold(Object *o) {
  pthread_mutex_lock(&mutex);
  if (o->refs < 1) wrong(o->of->name, "it is gone");
  o->refs++;
  fake.live += is_device(o); /* devices stay: those who hold them count */
  pthread_mutex_unlock(&mutex);
}

static void drop(Object *o) {
  pthread_mutex_lock(&mutex);
  if (o->refs < 1) wrong(o->of->name, "it is gone");
  const int last = !--o->refs;
  fake.live -= last || is_device(o);
  pthread_mutex_unlock(&mutex);
  if (last) give_up(o);
}

void fake_release(void *object) { drop(object); }

/* ---- pools: of each thread, a list in which NULL begins a pool ---- */
enum { POOLED = 4096 };
static __thread Object *pooled[POOLED];
static __thread int npooled;

void *objc_autoreleasePoolPush(void);
void *objc_autoreleasePoolPush(void) {
  pooled[npooled++] = NULL;
  return &pooled[npooled - 1];
}

void objc_autoreleasePoolPop(void *pool);
void objc_autoreleasePoolPop(void *pool) {
  if (!npooled || pool < (void *)pooled || pool > (void *)&pooled[npooled - 1]) wrong(__func__, "it is not open");
  while (&pooled[npooled - 1] != pool) {
    if (!pooled[npooled - 1]) wrong(__func__, "a pool within it is open");
    drop(pooled[--npooled]);
  }
  npooled--;
}

static Object *later(Object *o) { /* autoreleased */
  if (!npooled) wrong(o->of->name, "there is no pool");
  if (npooled == POOLED) wrong(o->of->name, "too many in a pool");
  pooled[npooled++] = o;
  return o;
}

/* ---- messages ---- */
#define SELF Object *self, void *selector
#define UNUSED (void)self, (void)selector
static const Method nothing[] = { { NULL, NULL } };
#define METHOD(name, function) { name, (void (*)(void))function }
static const Class string_class, error_class, array_class, device_class, queue_class, library_class, function_class,
    options_class, descriptor_class, pipeline_class, buffer_class, commands_class, encoder_class, url_class;

static Object *object_retain(SELF) { return (void)selector, hold(self), self; }
static void object_release(SELF) { (void)selector, drop(self); }

static Object *make_string(const char *text) {
  Object *o = make(&string_class, NULL);
  o->text = strdup(text);
  return later(o);
}

static Object *string_with(SELF, const char *text) {
  UNUSED;
  return fails("an object: stringWithUTF8String:") ? NULL : make_string(text);
}
static const char *string_text(SELF) { return (void)selector, self->text; }

static Object *url_with(SELF, Object *path) {
  UNUSED;
  if (fails("an object: fileURLWithPath:")) return NULL;
  Object *o = make(&url_class, NULL);
  o->text = strdup(path->text);
  return later(o);
}

static Object *make_error(const char *text, size_t code) {
  Object *o = make(&error_class, NULL);
  o->text = strdup(text), o->n = code;
  return later(o);
}
static Object *error_text(SELF) { return (void)selector, make_string(self->text); }
static size_t number_n(SELF) { return (void)selector, self->n; }

static Object *array_at(SELF, size_t i);

/* ---- devices ---- */
static Object *all[8];

static Object *device_number(int i) {
  pthread_mutex_lock(&mutex);
  if (!all[i]) {
    all[i] = calloc(1, sizeof **all);
    all[i]->of = &device_class, all[i]->refs = 1, all[i]->number = i;
  }
  pthread_mutex_unlock(&mutex);
  return all[i];
}

static int is_device(const Object *o) { return o->of == &device_class; }

int fake_pools(void) { return npooled; }
int fake_number(const void *device) { return ((const Object *)device)->number; }

void *MTLCreateSystemDefaultDevice(void);
void *MTLCreateSystemDefaultDevice(void) {
  if (fails(__func__) || !fake.devices) return NULL;
  hold(device_number(0));
  return all[0];
}

#ifndef WITHOUT_ALL
void *MTLCopyAllDevices(void);
void *MTLCopyAllDevices(void) {
  if (fails(__func__)) return NULL;
  Object *o = make(&array_class, NULL);
  o->n = (size_t)fake.devices;
  return o;
}
#endif

static Object *array_at(SELF, size_t i) {
  (void)selector;
  if (i >= self->n) wrong("objectAtIndex:", "outside of the array");
  return device_number((int)i);
}

static Object *device_name(SELF) {
  char text[200];
  (void)selector;
  snprintf(text, sizeof text, "%s no. %d", fake.name, self->number);
  return make_string(text);
}
static size_t device_most(SELF) { return UNUSED, fake.max_buffer; }
static uint64_t device_memory(SELF) { return UNUSED, fake.working_set; }
static size_t device_shared(SELF) { return UNUSED, fake.shared_bytes; }
static signed char device_family(SELF, size_t family) { return UNUSED, (int)family <= fake.family; }
static Size device_threads(SELF) {
  UNUSED;
  return (Size){ { fake.max_threads, fake.max_threads, fake.max_threads } };
}

static Object *device_queue(SELF, size_t n) {
  (void)selector;
  if (fails("newCommandQueueWithMaxCommandBufferCount:")) return NULL;
  Object *o = make(&queue_class, self);
  o->most = n;
  return o;
}
void *fake_queue(void) {
  Object *o = make(&queue_class, device_number(0));
  o->most = 1000;
  return o;
}

static Object *device_buffer(SELF, size_t n, size_t options) {
  (void)selector;
  if (!n || options) wrong("newBufferWithLength:options:", "not expected");
  if (fails("newBufferWithLength:options:")) return NULL;
  Object *o = make(&buffer_class, self);
  o->bytes = malloc(n);
  memset(o->bytes, 0xa5, n);
  o->n = n;
  return o;
}
void *fake_buffer(uint64_t n) {
  Object *o = make(&buffer_class, device_number(0));
  o->bytes = calloc(1, n), o->n = n;
  return o;
}

static Object *device_no_copy(SELF, void *p, size_t n, size_t options, void *deallocator) {
  const size_t page = (size_t)sysconf(_SC_PAGESIZE);
  (void)selector;
  if ((uintptr_t)p % page || n % page || !n || options || deallocator) wrong("newBufferWithBytesNoCopy:", "not expected");
  if (fails("newBufferWithBytesNoCopy:")) return NULL;
  Object *o = make(&buffer_class, self);
  o->bytes = p, o->n = n, o->borrowed = 1;
  fake.no_copy++;
  return o;
}
static void *buffer_bytes(SELF) { return (void)selector, self->bytes; }
void *fake_contents(void *buffer) { return ((Object *)buffer)->bytes; }
static Object *parent_of(SELF) { return (void)selector, self->parent; }

/* ---- kernels ---- */
static uint64_t digest(const char *s) {
  uint64_t h = 14695981039346656037u;
  for (; *s; s++) h = (h ^ (unsigned char)*s) * 1099511628211u;
  return h;
}

/* The library of a text: made once. NULL: the compiler refuses it */
static void *compile(const char *text) {
  const char *shim = getenv("METAL_SHIM"), *folder = getenv("METAL_CACHE");
  char base[1000], made[1100], whole[1100], command[8000];
  if (!shim || !folder) wrong("newLibraryWithSource:", "METAL_SHIM or METAL_CACHE is not set");
  snprintf(base, sizeof base, "%s/%016llx", folder, (unsigned long long)digest(text));
  snprintf(whole, sizeof whole, "%s.so", base);
  if (access(whole, R_OK)) {
    snprintf(made, sizeof made, "%s-%d.metal", base, (int)getpid());
    FILE *f = fopen(made, "w");
    if (!f || fputs(text, f) < 0 || fclose(f)) wrong("newLibraryWithSource:", "the text cannot be written");
    snprintf(command, sizeof command, "env -u LD_LIBRARY_PATH -u LD_PRELOAD python3 '%s' '%s' '%s-%d.so' && mv '%s-%d.so' '%s'",
             shim, made, base, (int)getpid(), base, (int)getpid(), whole);
    if (system(command)) return NULL;
  }
  return dlopen(whole, RTLD_NOW | RTLD_LOCAL);
}

static Object *make_library(Object *device, void *library) {
  Object *o = make(&library_class, device);
  o->library = library;
  return o;
}

static Object *device_library(SELF, Object *text, Object *options, Object **error) {
  (void)selector;
  if (options->of != &options_class) wrong("newLibraryWithSource:", "no options");
  __atomic_fetch_add(&fake.sources, 1, __ATOMIC_RELAXED);
  __atomic_store_n(&fake.safe, options->number, __ATOMIC_RELAXED);
  if (fails("newLibraryWithSource:")) {
    char *whole = calloc(1, 9001);
    memset(whole, '.', 9000);
    memcpy(whole, "net.metal:1: the fake compiler refuses this", 43);
    *error = make_error(whole, 3);
    free(whole);
    return NULL;
  }
  pthread_mutex_lock(&execution);
  void *library = compile(text->text);
  pthread_mutex_unlock(&execution);
  if (!library) *error = make_error("the shim's compiler refuses the kernels", 3);
  return library ? make_library(self, library) : NULL;
}

static Object *device_file(SELF, Object *url, Object **error) {
  (void)selector;
  __atomic_fetch_add(&fake.libraries, 1, __ATOMIC_RELAXED);
  void *library = fails("newLibraryWithURL:") ? NULL : dlopen(url->text, RTLD_NOW | RTLD_LOCAL);
  if (!library) *error = make_error("this is no library", 1);
  return library ? make_library(self, library) : NULL;
}

typedef struct ShimKernel { const char *name; void (*call)(void **params); size_t nparams; int barriers; } ShimKernel;

static void *symbol(void *library, const char *name) {
  void *p = dlsym(library, name);
  if (!p) wrong(name, "the library of kernels lacks it");
  return p;
}

static Object *library_function(SELF, Object *name) {
  const ShimKernel *(*find)(const char *name), *kernel;
  (void)selector;
  if (fails("newFunctionWithName:")) return NULL;
  void *p = symbol(self->library, "shim_find");
  memcpy(&find, &p, sizeof p);
  kernel = find(name->text);
  if (!kernel) return NULL;
  Object *o = make(&function_class, self);
  o->kernel = kernel, o->nparams = kernel->nparams, o->library = self->library;
  return o;
}

static Object *make_new(const char *name, const Class *of) { return fails(name) ? NULL : make(of, NULL); }
static Object *options_new(SELF) { return UNUSED, make_new("MTLCompileOptions", &options_class); }
static Object *descriptor_new(SELF) { return UNUSED, make_new("MTLComputePipelineDescriptor", &descriptor_class); }
static void options_mode(SELF, size_t mode) { (void)selector, self->number |= mode == 0 ? 1 : 0; }
static void options_functions(SELF, size_t functions) { (void)selector, self->number |= functions == 1 ? 2 : 0; }
static void options_fast(SELF, signed char fast) { (void)selector, self->number |= fast ? 0 : 3; }
static signed char options_responds(SELF, const char *to) {
  UNUSED;
  return !fake.old && (!strcmp(to, "setMathMode:") || !strcmp(to, "setMathFloatingPointFunctions:"));
}
static signed char device_responds(SELF, const char *to) {
  UNUSED;
  return fake.working_set && !strcmp(to, "recommendedMaxWorkingSetSize");
}
static void descriptor_function(SELF, Object *function) {
  (void)selector;
  if (function->of != &function_class || self->parent) wrong("setComputeFunction:", "not expected");
  hold(function);
  self->parent = function;
}
static void descriptor_threads(SELF, size_t n) {
  (void)selector;
  if (n % 32 || !n || n > 1024) wrong("setMaxTotalThreadsPerThreadgroup:", "no multiple of the warp");
  self->n = n;
}

static Object *device_pipeline(SELF, Object *wanted, size_t options, void *reflection, Object **error) {
  (void)selector;
  if (wanted->of != &descriptor_class || !wanted->parent || options || reflection)
    wrong("newComputePipelineState", "not expected");
  if (fails("newComputePipelineState")) {
    *error = make_error("the fake driver makes no pipeline", 2);
    return NULL;
  }
  Object *o = make(&pipeline_class, self);
  o->kernel = wanted->parent->kernel, o->nparams = wanted->parent->nparams, o->library = wanted->parent->library;
  o->n = wanted->n < fake.kernel_threads ? wanted->n : fake.kernel_threads;
  return o;
}

/* ---- commands ---- */
static Object *queue_commands(SELF) {
  (void)selector;
  if ((size_t)self->number >= self->most) wrong("commandBuffer", "it would wait");
  if (fails("commandBuffer")) return NULL;
  return later(make(&commands_class, self));
}

static Object *commands_encoder(SELF) {
  (void)selector;
  if (self->state) wrong("computeCommandEncoder", "the commands are committed");
  return fails("computeCommandEncoder") ? NULL : later(make(&encoder_class, self));
}

static void encoder_pipeline(SELF, Object *pipeline) {
  (void)selector;
  if (pipeline->of != &pipeline_class || self->state) wrong("setComputePipelineState:", "not expected");
  self->now.pipeline = pipeline;
  memset(self->now.args, 0, sizeof self->now.args);
}

static void encoder_buffer(SELF, Object *buffer, size_t at, size_t i) {
  (void)selector;
  if (buffer->of != &buffer_class || i >= ARGUMENTS || at > buffer->n) wrong("setBuffer:offset:atIndex:", "not expected");
  if (buffer->refs < 1) wrong("setBuffer:offset:atIndex:", "it is gone");
  self->now.args[i] = (Argument){ .buffer = buffer, .at = at };
}

static void encoder_bytes(SELF, const void *p, size_t n, size_t i) {
  (void)selector;
  if (i >= ARGUMENTS || n > sizeof self->now.args->bytes) wrong("setBytes:length:atIndex:", "not expected");
  self->now.args[i] = (Argument){ .n = n };
  memcpy(self->now.args[i].bytes, p, n);
}

static void encoder_dispatch(SELF, Size grid, Size block) {
  Object *commands = self->parent;
  (void)selector;
  if (self->state || !self->now.pipeline) wrong("dispatchThreadgroups:", "no pipeline");
  if (block.n[0] * block.n[1] * block.n[2] > self->now.pipeline->n) wrong("dispatchThreadgroups:", "too many threads");
  for (int i = 0; i < 3; i++)
    if (!grid.n[i] || !block.n[i]) wrong("dispatchThreadgroups:", "nothing");
  for (size_t i = 0; i < self->now.pipeline->nparams; i++)
    if (!self->now.args[i].buffer && !self->now.args[i].n) wrong("dispatchThreadgroups:", "an argument is missing");
  self->now.grid = grid, self->now.block = block;
  commands->list = realloc(commands->list, (commands->dispatches + 1) * sizeof *commands->list);
  commands->list[commands->dispatches++] = self->now;
  hold(self->now.pipeline);
  for (int i = 0; i < ARGUMENTS; i++)
    if (self->now.args[i].buffer) hold(self->now.args[i].buffer);
  __atomic_fetch_add(&fake.launches, 1, __ATOMIC_RELAXED);
}

static void encoder_end(SELF) {
  (void)selector;
  if (self->state++) wrong("endEncoding", "twice");
}

static void run(const Dispatch *d) {
  const char *(*launch)(const void *k, const unsigned *grid, const unsigned *block, void **params), *why;
  void *params[ARGUMENTS] = { NULL };
  unsigned grid[3], block[3];
  for (size_t i = 0; i < d->pipeline->nparams; i++)
    params[i] = d->args[i].buffer ? d->args[i].buffer->bytes + d->args[i].at : (void *)(uintptr_t)d->args[i].bytes;
  for (int i = 0; i < 3; i++) grid[i] = (unsigned)d->grid.n[i], block[i] = (unsigned)d->block.n[i];
  void *p = symbol(d->pipeline->library, "shim_launch");
  memcpy(&launch, &p, sizeof p);
  why = launch(d->pipeline->kernel, grid, block, params);
  if (why) wrong(((const ShimKernel *)d->pipeline->kernel)->name, why);
}

static void forget(Object *commands) { /* its dispatches, and the objects that they hold */
  for (size_t k = 0; k < commands->dispatches; k++) {
    drop(commands->list[k].pipeline);
    for (int i = 0; i < ARGUMENTS; i++)
      if (commands->list[k].args[i].buffer) drop(commands->list[k].args[i].buffer);
  }
  free(commands->list);
  commands->list = NULL, commands->dispatches = 0;
}

static void commands_commit(SELF) {
  (void)selector;
  if (self->state++) wrong("commit", "twice");
  __atomic_fetch_add(&fake.commits, 1, __ATOMIC_RELAXED);
  __atomic_fetch_add(&self->parent->number, 1, __ATOMIC_RELAXED);
  pthread_mutex_lock(&execution);
  for (size_t k = 0; k < self->dispatches && !fake.broken; k++) run(&self->list[k]);
  pthread_mutex_unlock(&execution);
  forget(self);
}

static size_t commands_status(SELF) {
  (void)selector;
  if (!self->state) wrong("status", "of commands that are not committed");
  if (fails("status")) self->n = (size_t)fake.error;
  if (fake.broken) self->n = (size_t)fake.broken;
  if (fake.hang) return 3;
  if (self->state == 1) self->state = 2, __atomic_fetch_sub(&self->parent->number, 1, __ATOMIC_RELAXED);
  return self->n ? 5 : 4;
}
static Object *commands_error(SELF) {
  (void)selector;
  return self->n ? make_error("the fake device has failed", self->n) : NULL;
}
static double commands_start(SELF) { return UNUSED, 1.0; }
static double commands_stop(SELF) { return UNUSED, 1.0 + 500e-9; }

static void give_up(Object *o) {
  if (o->of == &encoder_class && !o->state) wrong("an encoder", "it goes before it has ended");
  if (o->of == &commands_class) {
    if (o->state == 1) __atomic_fetch_sub(&o->parent->number, 1, __ATOMIC_RELAXED);
    forget(o);
  }
  if (o->parent) drop(o->parent);
  if (!o->borrowed) free(o->bytes);
  free(o->text);
  o->of = NULL;
  free(o);
}

/* ---- classes ---- */
#define COMMON METHOD("retain", object_retain), METHOD("release", object_release), { NULL, NULL }
#define CLASS(id, text, class_methods, ...) \
  static const Method id##_methods[] = { __VA_ARGS__ COMMON }; \
  __attribute__((unused)) static const Class id##_class = { text, class_methods, id##_methods };
static const Method string_makers[] = { METHOD("stringWithUTF8String:", string_with), { NULL, NULL } };
static const Method url_makers[] = { METHOD("fileURLWithPath:", url_with), { NULL, NULL } };
static const Method options_makers[] = { METHOD("new", options_new), { NULL, NULL } };
static const Method descriptor_makers[] = { METHOD("new", descriptor_new), { NULL, NULL } };
CLASS(string, "NSString", string_makers, METHOD("UTF8String", string_text), )
CLASS(url, "NSURL", url_makers, )
CLASS(error, "NSError", nothing, METHOD("localizedDescription", error_text), METHOD("code", number_n), )
CLASS(array, "NSArray", nothing, METHOD("count", number_n), METHOD("objectAtIndex:", array_at), )
CLASS(device, "a device", nothing, METHOD("name", device_name), METHOD("maxBufferLength", device_most),
      METHOD("recommendedMaxWorkingSetSize", device_memory), METHOD("supportsFamily:", device_family),
      METHOD("maxThreadgroupMemoryLength", device_shared), METHOD("maxThreadsPerThreadgroup", device_threads),
      METHOD("newCommandQueueWithMaxCommandBufferCount:", device_queue), METHOD("newBufferWithLength:options:", device_buffer),
      METHOD("newBufferWithBytesNoCopy:length:options:deallocator:", device_no_copy),
      METHOD("newLibraryWithSource:options:error:", device_library), METHOD("newLibraryWithURL:error:", device_file),
      METHOD("newComputePipelineStateWithDescriptor:options:reflection:error:", device_pipeline),
      METHOD("respondsToSelector:", device_responds), )
CLASS(queue, "a queue", nothing, METHOD("device", parent_of), METHOD("commandBuffer", queue_commands), )
CLASS(library, "a library", nothing, METHOD("newFunctionWithName:", library_function), )
CLASS(function, "a function", nothing, )
CLASS(options, "MTLCompileOptions", options_makers, METHOD("respondsToSelector:", options_responds),
      METHOD("setMathMode:", options_mode),
      METHOD("setMathFloatingPointFunctions:", options_functions), METHOD("setFastMathEnabled:", options_fast), )
CLASS(descriptor, "MTLComputePipelineDescriptor", descriptor_makers, METHOD("setComputeFunction:", descriptor_function),
      METHOD("setMaxTotalThreadsPerThreadgroup:", descriptor_threads), )
CLASS(pipeline, "a pipeline", nothing, METHOD("maxTotalThreadsPerThreadgroup", number_n), )
CLASS(buffer, "a buffer", nothing, METHOD("length", number_n), METHOD("contents", buffer_bytes), METHOD("device", parent_of), )
CLASS(commands, "a command buffer", nothing, METHOD("computeCommandEncoder", commands_encoder), METHOD("commit", commands_commit),
      METHOD("status", commands_status), METHOD("error", commands_error), METHOD("GPUStartTime", commands_start),
      METHOD("GPUEndTime", commands_stop), )
CLASS(encoder, "an encoder", nothing, METHOD("setComputePipelineState:", encoder_pipeline),
      METHOD("setBuffer:offset:atIndex:", encoder_buffer), METHOD("setBytes:length:atIndex:", encoder_bytes),
      METHOD("dispatchThreadgroups:threadsPerThreadgroup:", encoder_dispatch), METHOD("endEncoding", encoder_end), )

static const Class meta = { "a class", nothing, nothing };
static Object classes[] = { { .of = &meta, .text = (char *)(uintptr_t)&string_class },
                            { .of = &meta, .text = (char *)(uintptr_t)&url_class },
                            { .of = &meta, .text = (char *)(uintptr_t)&options_class },
                            { .of = &meta, .text = (char *)(uintptr_t)&descriptor_class } };

void *objc_getClass(const char *name);
void *objc_getClass(const char *name) {
  for (size_t i = 0; i < sizeof classes / sizeof *classes; i++)
    if (!strcmp(((const Class *)(const void *)classes[i].text)->name, name))
      return fails("an object: objc_getClass") ? NULL : &classes[i];
  wrong(__func__, name);
}

void *sel_registerName(const char *name); /* names live as long as the program, which has them as literals */
void *sel_registerName(const char *name) { return (void *)(uintptr_t)name; }

static size_t of_nil(void) { return 0; }

/* ends up in registers and on the stack as the caller has put them: this only says where to go */
void (*fake_method(const Object *self, const char *selector))(void);
void (*fake_method(const Object *self, const char *selector))(void) {
  if (!self) return (void (*)(void))of_nil;
  if (!self->of) wrong(selector, "to an object that is gone");
  const Method *m = self->of == &meta ? ((const Class *)(const void *)self->text)->of_class : self->of->of_objects;
  while (m->name && strcmp(m->name, selector)) m++;
  if (!m->name) wrong(self->of->name, selector);
  return m->function;
}

#if !defined __x86_64__
#error "fake.c knows how x86-64 passes arguments, and no other machine"
#endif
__asm__(".text\n.globl objc_msgSend\n.type objc_msgSend, @function\nobjc_msgSend:\n"
        "  push %rdi\n  push %rsi\n  push %rdx\n  push %rcx\n  push %r8\n  push %r9\n  sub $8, %rsp\n"
        "  call fake_method@PLT\n"
        "  add $8, %rsp\n  pop %r9\n  pop %r8\n  pop %rcx\n  pop %rdx\n  pop %rsi\n  pop %rdi\n  jmp *%rax\n"
        ".size objc_msgSend, . - objc_msgSend\n"
#ifndef WITHOUT_STRUCTURES
        ".globl objc_msgSend_stret\n.type objc_msgSend_stret, @function\nobjc_msgSend_stret:\n"
        "  push %rdi\n  push %rsi\n  push %rdx\n  push %rcx\n  push %r8\n  push %r9\n  sub $8, %rsp\n"
        "  mov %rsi, %rdi\n  mov %rdx, %rsi\n  call fake_method@PLT\n"
        "  add $8, %rsp\n  pop %r9\n  pop %r8\n  pop %rcx\n  pop %rdx\n  pop %rsi\n  pop %rdi\n  jmp *%rax\n"
        ".size objc_msgSend_stret, . - objc_msgSend_stret\n"
#endif
);

/* SPDX-License-Identifier: MIT */
/* errors.c: a bundle for Metal on the Metal of fake.c. Each call fails once: functions return the documented status, no object
 * stays, and nothing waits for ever.
 * errors calls | queue | unfit | names | facts | limits | logs | weights | library FILE | threads | open */
#include "fake.h"
#define LIBRARY "libMetal.dylib"
#include "scenario.h"
#include <sys/mman.h>
#include <unistd.h>

static void *call(const char *name) { /* a function of the driver's; nothing else has two results */
  void *p;
  symbol(dlopen(LIBRARY, RTLD_NOW), name, &p);
  return p;
}

static void *caller_buffer(void) {
  void *(*make)(uint64_t), *p = call("fake_buffer");
  memcpy(&make, &p, sizeof p);
  return make(64);
}

static void caller_release(void *object) {
  void (*release)(void *), *p = call("fake_release");
  memcpy(&release, &p, sizeof p);
  release(object);
}

static void check_caller(void) { /* all pools of autoreleased objects are closed */
  int (*pools)(void);
  void *p = call("fake_pools");
  memcpy(&pools, &p, sizeof p);
  CHECK(!pools());
}

static int computes(void) { return 1; }

static const Row rows[] = {
  { "MTLCreateSystemDefaultDevice", "open", TGCRT_DEVICE, TGCRT_DEVICE, 0, "Metal: there is no device" },
  { "newCommandQueue", "open", TGCRT_DEVICE, TGCRT_DEVICE, 0, "the queue: " },
  { "an object", NULL, TGCRT_BUILD, TGCRT_BUILD, 0, ": Metal refuses it" }, /* a class, or a string */
  { "MTLCompileOptions", "init", TGCRT_BUILD, TGCRT_BUILD, 0, "the kernels: Metal refuses it" },
  { "MTLComputePipelineDescriptor", "init", TGCRT_BUILD, TGCRT_BUILD, 0, ": Metal refuses it" },
  { "newLibraryWithURL", NULL, -1, -1, 0, NULL },
  { "newLibraryWithSource", "init", TGCRT_BUILD, TGCRT_BUILD, 0, "the fake compiler refuses this" },
  { "newFunctionWithName", "init", TGCRT_BUILD, TGCRT_BUILD, 0, ": Metal refuses it" },
  { "newComputePipelineState", "init", TGCRT_BUILD, TGCRT_BUILD, 0, "the fake driver makes no pipeline" },
  { "newBufferWithLength", "init", TGCRT_MEMORY, TGCRT_MEMORY, 0, "newBufferWithLength: Metal has no memory" },
  { "status", NULL, TGCRT_MEMORY, TGCRT_LOST, 1, "the fake device has failed" },
  { "c", NULL, TGCRT_LOST, TGCRT_LOST, 1, ": Metal refuses it" }, /* a command buffer, or an encoder */
};
static const int32_t errors[] = { 8, 1, 3 };

static void calls(void) { each_call(NULL, 0, rows, errors, "an object"); }

static void queue(void) { /* on the caller's queue */
  void *(*make)(void), *p = call("fake_queue");
  memcpy(&make, &p, sizeof p);
  void *q = make();
  const int live = driver->live;
  each_call(q, live, rows, errors, "an object");
  caller_release(q);
  CHECK(!driver->live);
}

/* ---- devices that do not fit, limits of time, logs ---- */
static void unfit(void) {
#define UNFIT(field, value, status) defaults(); driver->field = value; CHECK(opened(NULL) == (status))
  UNFIT(devices, 0, TGCRT_DEVICE);
  UNFIT(max_threads, 7, TGCRT_DEVICE);
  UNFIT(max_threads, 8, TGCRT_OK);
  UNFIT(kernel_threads, 7, TGCRT_DEVICE);
  UNFIT(shared_bytes, 15, TGCRT_DEVICE);
  UNFIT(max_buffer, 383, TGCRT_MEMORY);
  UNFIT(max_buffer, 384, TGCRT_OK);
  UNFIT(working_set, NET_DEVICE_BYTES - 1, TGCRT_MEMORY);
  UNFIT(working_set, NET_DEVICE_BYTES, TGCRT_OK);
  UNFIT(working_set, 0, TGCRT_OK); /* it does not say */
  UNFIT(old, 0, TGCRT_OK);
  CHECK(driver->safe == 3);
  UNFIT(old, 1, TGCRT_OK);
  CHECK(driver->safe == 3);
}

static int number_of(const char *name) { /* the opened device's */
  tgcrt_device d = *asked();
  int (*number)(void *);
  void *p = call("fake_number");
  d.name = name;
  memcpy(&number, &p, sizeof p);
  if (net_open(&m.ctx, &d)) return -1;
  const int n = number(m.ctx.device.device);
  CHECK(!net_close(&m.ctx) && !driver->live);
  return n;
}

static void names(void) {
  defaults();
  model_prepare(&m);
  driver->devices = 6;
  CHECK(number_of(NULL) == 0 && number_of("") == 0 && number_of("0") == 0 && number_of("5") == 5 && number_of("6") == -1);
  CHECK(number_of("fAKE m1 NO. 3") == 3 && number_of("9000") == -1 && number_of("fake") == 0 && number_of("fake m2") == -1);
  setenv("NET_DEVICE", "no. 2", 1);
  CHECK(number_of(NULL) == 2 && number_of("1") == 1 && number_of("") == 2);
  setenv("NET_DEVICE", "", 1);
  CHECK(number_of(NULL) == 0);
  unsetenv("NET_DEVICE");
}

static void facts(void) { /* all devices', without a model */
  tgcrt_device_facts f;
  defaults();
  model_prepare(&m);
  driver->devices = 3, driver->family = 1009;
  for (size_t i = 0; i < 3; i++) {
    CHECK(!tgcrt_metal_facts(i, &f, keep_log, m.log) && f.is_gpu && !f.is_cpu && f.shared_is_fast && !f.abilities);
    CHECK(f.name[strlen(f.name) - 1] == (char)('0' + i) && !strcmp(f.version, "Metal, Apple9"));
    CHECK(f.max_threads == 1024 && f.shared_bytes == 32768 && f.memory == (uint64_t)1 << 34 && f.largest == (uint64_t)1 << 34);
  }
  CHECK(tgcrt_metal_facts(3, &f, keep_log, m.log) == TGCRT_DEVICE && !*m.log);
  driver->family = 0, driver->working_set = 0;
  CHECK(!tgcrt_metal_facts(0, &f, keep_log, m.log) && !strcmp(f.version, "Metal") && !f.memory && !driver->live);
  const int calls = driver->calls;
  for (int at = 1; at <= calls; at++) {
    defaults();
    driver->fail_at = at;
    const int status = tgcrt_metal_facts(0, &f, NULL, NULL);
    CHECK((!status || status == TGCRT_DEVICE) && !driver->live);
  }
}

static void limits(void) {
  float total[N];
  uint64_t times[NET_LAUNCHES];
  const int failed[] = { 8, 1, 9 };
  void *buffers[5], *in[3] = { NULL, NULL, NULL };
  tgcrt_device d = *asked();
  defaults();
  model_prepare(&m);
  driver->hang = 1; /* the device hangs */
  CHECK(!net_open(&m.ctx, &d) && model_init(&m) == TGCRT_BUSY && !net_close(&m.ctx) && !driver->live);
  driver->hang = 0;
  CHECK(!net_open(&m.ctx, &d) && !model_init(&m) && !net_run_v(&m.ctx, m.in, m.out));
  driver->hang = 1;
  m.at = 99; /* this run clamps an index */
  CHECK(net_run_v(&m.ctx, m.in, m.out) == TGCRT_BUSY && net_sync(&m.ctx, 0) == TGCRT_BUSY && net_sync(&m.ctx, 5) == TGCRT_BUSY);
  CHECK(net_run_v(&m.ctx, m.in, m.out) == TGCRT_BUSY); /* its inputs would be where those of the first run are */
  CHECK(net_state_get(&m.ctx, 0, total) == TGCRT_BUSY && !net_state_reset(&m.ctx) && net_close(&m.ctx) == TGCRT_BUSY);
  driver->hang = 0;
  m.at = 0;
  CHECK(net_sync(&m.ctx, 0) == TGCRT_INDEX && !net_sync(&m.ctx, 0) && !net_run_v(&m.ctx, m.in, m.out));
  for (int i = 0; i < 5; i++) buffers[i] = caller_buffer();
  in[0] = buffers[3], in[1] = buffers[4];
  driver->hang = 1;
  for (int i = 0; i < TGCRT_DEVICE_RUNS; i++) CHECK(!net_run_on(&m.ctx, in, buffers));
  const int launches = driver->launches;
  CHECK(net_run_on(&m.ctx, in, buffers) == TGCRT_BUSY && driver->launches == launches);
  driver->hang = 0;
  CHECK(!net_sync(&m.ctx, 0) && !net_run_on(&m.ctx, in, buffers));
  driver->hang = 1; /* commands that nobody waits for: the last one waits, and gives up */
  int status = 0, resets = 0;
  while (!status && resets < 1000) status = net_state_reset(&m.ctx), resets++;
  CHECK(status == TGCRT_BUSY && resets > TGCRT_DEVICE_RUNS && net_run_v(&m.ctx, m.in, m.out) == TGCRT_LOST);
  driver->hang = 0;
  CHECK(!net_close(&m.ctx));
  for (int i = 0; i < 5; i++) caller_release(buffers[i]);
  CHECK(!driver->live);
  for (int i = 0; i < 3; i++) {
    defaults();
    model_prepare(&m);
    CHECK(!net_open(&m.ctx, asked()) && !model_init(&m));
    driver->broken = failed[i]; /* the command buffer fails when it runs */
    CHECK(net_run_v(&m.ctx, m.in, m.out) == (i ? TGCRT_LOST : TGCRT_MEMORY) && strstr(m.log, "the fake device has failed"));
    driver->broken = 0;
    check_lost();
  }
  defaults();
  CHECK(!net_open(&m.ctx, asked()) && !model_init(&m));
  driver->hang = 1;
  CHECK(net_profile(&m.ctx, m.in, m.out, times) == TGCRT_BUSY);
  driver->hang = 0;
  CHECK(net_run_v(&m.ctx, m.in, m.out) == TGCRT_LOST && !net_close(&m.ctx) && !driver->live);
  check_caller();
}

static void logs(void) { /* the whole of what the compiler says */
  for (int at = 1;; at++) {
    defaults();
    driver->fail_at = at;
    const int status = opened(NULL);
    if (!driver->failed || strcmp(driver->failed, "newLibraryWithSource:")) continue;
    CHECK(status == TGCRT_BUILD && strstr(m.log, "net.metal:1: the fake compiler refuses this") && strlen(m.log) > 9000);
    return;
  }
}

/* ---- weights that begin with a page, and libraries that were built before ---- */
static void weights(void) {
  const size_t page = (size_t)sysconf(_SC_PAGESIZE);
  unsigned char *p = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  CHECK(p != MAP_FAILED);
  for (int fails = 0; fails < 2; fails++) {
    defaults();
    model_prepare(&m);
    memcpy(p, m.weights, NET_WEIGHTS_BYTES);
    m.weights = p;
    for (int at = 1; fails && at < 1000; at++) { /* without a buffer of these pages they are copied */
      driver->calls = 0, driver->fail_at = at;
      CHECK(net_open(&m.ctx, asked()) || !model_init(&m) || 1);
      const int found = driver->failed && !strcmp(driver->failed, "newBufferWithBytesNoCopy:");
      driver->fail_at = 0;
      if (found) break;
      CHECK(!net_close(&m.ctx) && driver->failed);
      driver->failed = NULL;
    }
    if (!fails) CHECK(!net_open(&m.ctx, asked()) && !model_init(&m));
    expect_reset(&m.e);
    for (int i = 0; i < 3; i++) model_run(&m, i);
    if (!fails) CHECK(driver->no_copy == 1);
    CHECK(!net_close(&m.ctx) && !driver->live);
  }
  munmap(p, page);
}

static int built(const char *path) { /* whether from the text */
  tgcrt_device d = *asked();
  driver->sources = driver->libraries = 0;
  model_prepare(&m);
  d.cache = path;
  CHECK(!net_open(&m.ctx, &d) && !model_init(&m));
  model_run(&m, 0);
  CHECK(driver->libraries == 1 && !net_close(&m.ctx) && !driver->live);
  return driver->sources;
}

static void library(const char *path, const char *other) {
  defaults();
  CHECK(built(path) == 0 && !*m.log);
  CHECK(built("/nowhere/at/all") == 1 && strstr(m.log, "this is no library"));
  CHECK(built(other) == 1 && strstr(m.log, "was not made of the kernels of this bundle")); /* made from another text */
}

int main(int argc, char **argv) {
  static const Part list[] = {
    { "calls", calls }, { "queue", queue }, { "unfit", unfit }, { "names", names }, { "facts", facts },
    { "limits", limits }, { "logs", logs }, { "weights", weights }, { "threads", threads }, { NULL, NULL },
  };
  const char *what = argc > 1 ? argv[1] : "";
  if (!strcmp(what, "open")) return open_only();
  find_driver();
  if (!strcmp(what, "library") && argc == 4) return library(argv[2], argv[3]), 0;
  return run_part(list, what);
}

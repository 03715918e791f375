/* SPDX-License-Identifier: MIT */
/* errors.c: a device bundle on the driver of fake.c, in which each call fails once. It checks the functions' results. No object
 * of the driver may remain, and nothing may wait for ever. errors calls | queue | unfit | names | facts | limits | logs |
 * recorded | cache FILE | threads | open */
#include "fake.h"
#define LIBRARY "libOpenCL.so.1"
#include "scenario.h"
#include <signal.h>
#include <sys/resource.h>

static void *caller_buffer(void) {
  void *(*create)(void *, uint64_t, size_t, void *, int32_t *);
  int32_t result;
  symbol(dlopen(LIBRARY, RTLD_NOW), "clCreateBuffer", &create);
  return create(m.ctx.device.context, 1, 64, NULL, &result);
}

static void caller_release(void *buffer) {
  int32_t (*release)(void *);
  symbol(dlopen(LIBRARY, RTLD_NOW), "clReleaseMemObject", &release);
  release(buffer);
}

static void check_caller(void) {} /* nothing of OpenCL belongs to a thread */
static int computes(void) { return 0; }

static const Row rows[] = {
  { "clGetPlatformIDs", "open", TGCRT_DEVICE, TGCRT_DEVICE, 0, NULL },
  { "clGetDeviceIDs", "open", TGCRT_DEVICE, TGCRT_DEVICE, 0, NULL },
  { "clGetDeviceInfo", NULL, TGCRT_DEVICE, TGCRT_DEVICE, 0, NULL },
  { "clGetCommandQueueInfo", "open", TGCRT_MEMORY, TGCRT_DEVICE, 0, NULL },
  { "clRetainContext", "open", TGCRT_MEMORY, TGCRT_DEVICE, 0, NULL },
  { "clRetainCommandQueue", "open", TGCRT_MEMORY, TGCRT_DEVICE, 0, NULL },
  { "clCreateContext", "open", TGCRT_MEMORY, TGCRT_DEVICE, 0, NULL },
  { "clCreateCommandQueue", "open profile", TGCRT_MEMORY, TGCRT_DEVICE, 0, NULL },
  { "clCreateProgramWithSource", "init", TGCRT_MEMORY, TGCRT_BUILD, 0, NULL },
  { "clBuildProgram", "init", TGCRT_MEMORY, TGCRT_BUILD, 0, NULL },
  { "clGetProgramInfo", NULL, -1, -1, 0, NULL },
  { "clCreateBuffer", "init", TGCRT_MEMORY, TGCRT_MEMORY, 0, NULL },
  { "clCreateKernel", "init", TGCRT_MEMORY, TGCRT_BUILD, 0, NULL },
  { "clGetKernelWorkGroupInfo", "init", TGCRT_MEMORY, TGCRT_DEVICE, 0, NULL },
  { "clGetMemObjectInfo", "run_on", TGCRT_ARGUMENT, TGCRT_ARGUMENT, 0, NULL },
  { "clRelease", NULL, -1, -1, 0, NULL },
  { "clGetExtensionFunctionAddressForPlatform", NULL, -1, -1, 0, NULL }, /* launches are enqueued one by one then */
  { "clCreateCommandBufferKHR", NULL, -1, -1, 0, NULL },
  { "clCommandNDRangeKernelKHR", NULL, -1, -1, 0, NULL },
  { "clFinalizeCommandBufferKHR", NULL, -1, -1, 0, NULL },
  { "clSetKernelArg", "init", TGCRT_MEMORY, TGCRT_BUILD, 0, NULL },
  { "c", NULL, TGCRT_MEMORY, TGCRT_LOST, 1, NULL }, /* in a run, or for a state; after init no run follows */
};

static const int32_t errors[] = { -5, -36, -9999 };
/* these questions about a device may fail: its name, its type, its memory */
#define MAY "clGetDeviceInfo"

static void calls(void) { each_call(NULL, 0, rows, errors, MAY); }

/* on the caller's queue */
static void queue(void) {
  void *(*create)(void *, void *, uint64_t, int32_t *);
  int32_t result, (*release)(void *), (*release_context)(void *);
  void *lib = dlopen("libOpenCL.so.1", RTLD_NOW);
  static Model mine;
  model_prepare(&mine);
  CHECK(!net_open(&mine.ctx, NULL));
  symbol(lib, "clCreateCommandQueue", &create);
  symbol(lib, "clReleaseCommandQueue", &release);
  symbol(lib, "clReleaseContext", &release_context);
  void *q = create(mine.ctx.device.context, mine.ctx.device.device, 0, &result);
  CHECK(!net_close(&mine.ctx) && driver->live == 2);
  each_call(q, 2, rows, errors, MAY);
  release(q);
  CHECK(!driver->live);
}

/* ---- devices that do not fit, limits of time, logs ---- */
static void unfit(void) {
#define UNFIT(field, value, status) defaults(); driver->field = value; CHECK(opened(NULL) == (status))
  UNFIT(platforms, 0, TGCRT_DEVICE);
  UNFIT(devices, 0, TGCRT_DEVICE);
  UNFIT(version, "OpenCL 1.1 fake", TGCRT_DEVICE);
  UNFIT(version, "OpenCL 3.0 fake", TGCRT_OK);
  UNFIT(version, "", TGCRT_DEVICE);
  UNFIT(max_group, 7, TGCRT_DEVICE);
  UNFIT(max_size, 7, TGCRT_DEVICE);
  UNFIT(kernel_group, 7, TGCRT_DEVICE);
  UNFIT(local_bytes, 15, TGCRT_DEVICE);
  UNFIT(little, 0, TGCRT_DEVICE);
  UNFIT(available, 0, TGCRT_DEVICE);
  UNFIT(compiler, 0, TGCRT_DEVICE);
  UNFIT(max_alloc, 383, TGCRT_MEMORY);
  UNFIT(max_alloc, 384, TGCRT_OK);
  UNFIT(global_bytes, NET_DEVICE_BYTES - 1, TGCRT_MEMORY);
  UNFIT(global_bytes, NET_DEVICE_BYTES, TGCRT_OK);
  const int needs = NEEDS; /* needs of this net */
  UNFIT(doubles, 0, needs ? TGCRT_DEVICE : TGCRT_OK);
  UNFIT(extensions, "cl_khr_subgroup_shuffle cl_khr_fp16 cl_khr_integer_dot_product_not", needs ? TGCRT_DEVICE : TGCRT_OK);
  UNFIT(extensions, "cl_khr_integer_dot_product cl_khr_fp16 cl_khr_fp16", needs ? TGCRT_DEVICE : TGCRT_OK);
  UNFIT(extensions, "cl_khr_subgroup_shuffle cl_khr_fp16_more cl_khr_integer_dot_product", needs ? TGCRT_DEVICE : TGCRT_OK);
  UNFIT(extensions, "cl_khr_subgroup_shuffle cl_khr_fp16 cl_khr_integer_dot_product", TGCRT_OK);
  UNFIT(subgroup, 8, TGCRT_OK);
  UNFIT(subgroup, 4, needs ? TGCRT_DEVICE : TGCRT_OK); /* 8 threads exchange values */
  UNFIT(subgroup, 24, needs ? TGCRT_DEVICE : TGCRT_OK); /* such a subgroup may lack some of the 8 */
  UNFIT(subgroup, 0, needs ? TGCRT_DEVICE : TGCRT_OK);
}

static int number_of(const char *name) { /* the opened device's number */
  tgcrt_device d = *asked();
  int (*info)(void *, uint32_t, size_t, void *, size_t *);
  char text[200] = "";
  d.name = name;
  if (net_open(&m.ctx, &d)) return -1;
  symbol(dlopen("libOpenCL.so.1", RTLD_NOW), "clGetDeviceInfo", &info);
  CHECK(!info(m.ctx.device.device, 0x102b, sizeof text, text, NULL) && !net_close(&m.ctx));
  return atoi(strrchr(text, ' '));
}

static void names(void) {
  defaults();
  model_prepare(&m);
  driver->platforms = 3, driver->devices = 2;
  CHECK(number_of(NULL) == 0 && number_of("") == 0 && number_of("0") == 0 && number_of("5") == 5 && number_of("6") == -1);
  CHECK(number_of("fAKE 9000 NO. 3") == 3 && number_of("9000") == -1 && number_of("fake") == 0 && number_of("fake 9001") == -1);
  driver->gpu = 4;
  CHECK(number_of(NULL) == 4 && number_of("1") == 1);
  setenv("NET_DEVICE", "no. 2", 1);
  CHECK(number_of(NULL) == 2 && number_of("1") == 1 && number_of("") == 2);
  setenv("NET_DEVICE", "", 1);
  CHECK(number_of(NULL) == 4);
  unsetenv("NET_DEVICE");
}

static void facts(void) { /* facts about all devices, without a model */
  static const tgcrt_net nothing = { .variable = "NET_DEVICE", .guard_at = (size_t)-1 };
  tgcrt_device_facts f;
  tgcrt_device open;
  defaults();
  model_prepare(&m);
  driver->platforms = 2, driver->devices = 2, driver->gpu = 3, driver->doubles = 0;
  for (size_t i = 0; i < 4; i++) {
    CHECK(!tgcrt_opencl_facts(i, &f, keep_log, m.log) && f.units == i + 1 && f.is_gpu == (i == 3) && f.is_cpu == (i != 3));
    CHECK(f.abilities == (TGCRT_NEEDS_F16 | TGCRT_NEEDS_SUBGROUPS | TGCRT_NEEDS_INT_DOT) && f.shared_is_fast == (i == 0));
    CHECK(f.name[strlen(f.name) - 1] == (char)('0' + i) && !strcmp(f.version, "OpenCL 1.2 fake") && !strcmp(f.driver, "1.0"));
    CHECK(f.max_threads == 256 && f.shared_bytes == 32768 && f.memory == 1 << 30 && f.largest == 1 << 28);
  }
  CHECK(tgcrt_opencl_facts(4, &f, keep_log, m.log) == TGCRT_DEVICE && !*m.log);
  CHECK(!tgcrt_opencl_open(&nothing, NULL, &open) && !tgcrt_opencl_describe(&open, &f) && f.is_gpu && f.units == 4);
  CHECK(!strcmp(f.driver, "1.0") && !tgcrt_opencl_close(&nothing, &open, NULL));
  const int calls = driver->calls;
  for (int at = 1; at <= calls; at++) {
    defaults();
    driver->fail_at = at, driver->error = -6;
    const int status = tgcrt_opencl_facts(0, &f, NULL, NULL);
    CHECK(!status || status == TGCRT_DEVICE || status == TGCRT_MEMORY);
  }
}

static void limits(void) {
  float total[N];
  uint64_t times[NET_LAUNCHES];
  const int32_t failed[] = { -5, -14, -9999 };
  tgcrt_device d = *asked();
  defaults();
  model_prepare(&m);
  driver->event_state = 1; /* the device hangs */
  CHECK(!net_open(&m.ctx, &d) && model_init(&m) == TGCRT_BUSY && !net_close(&m.ctx) && !driver->live);
  driver->event_state = 0;
  CHECK(!driver->waits && !net_open(&m.ctx, &d) && !model_init(&m) && driver->waits == 1);
  CHECK(!net_run_v(&m.ctx, m.in, m.out) && driver->waits == 2); /* waits after the command is done: only then the host may read */
  driver->event_state = 1;
  CHECK(net_run_v(&m.ctx, m.in, m.out) == TGCRT_BUSY && net_sync(&m.ctx, 0) == TGCRT_BUSY && net_sync(&m.ctx, 5) == TGCRT_BUSY);
  CHECK(net_state_get(&m.ctx, 0, total) == TGCRT_BUSY && !net_state_reset(&m.ctx) && net_close(&m.ctx) == TGCRT_BUSY);
  driver->event_state = 0;
  CHECK(!net_sync(&m.ctx, 0) && !net_run_v(&m.ctx, m.in, m.out));
  driver->event_state = 1, driver->guard = 1;
  for (int i = 0; i < TGCRT_DEVICE_RUNS; i++) {
    CHECK(net_run_v(&m.ctx, m.in, m.out) == TGCRT_BUSY);
    driver->guard = 0; /* only the first run has clamped an index */
  }
  const int launches = driver->launches;
  CHECK(net_run_v(&m.ctx, m.in, m.out) == TGCRT_BUSY && driver->launches == launches);
  driver->event_state = 0;
  CHECK(net_sync(&m.ctx, 0) == TGCRT_INDEX && !net_sync(&m.ctx, 0) && !net_run_v(&m.ctx, m.in, m.out));
  driver->guard = 7;
  CHECK(net_run_v(&m.ctx, m.in, m.out) == TGCRT_INDEX && !net_close(&m.ctx) && !driver->live);
  for (int i = 0; i < 3; i++) {
    defaults();
    CHECK(!net_open(&m.ctx, asked()) && !model_init(&m));
    driver->event_state = failed[i]; /* the command fails when it runs */
    CHECK(net_run_v(&m.ctx, m.in, m.out) == (i ? TGCRT_LOST : TGCRT_MEMORY));
    driver->event_state = 0;
    check_lost();
  }
  defaults();
  CHECK(!net_open(&m.ctx, asked()) && !model_init(&m));
  driver->event_state = 1;
  CHECK(net_profile(&m.ctx, m.in, m.out, times) == TGCRT_BUSY);
  driver->event_state = 0;
  CHECK(net_run_v(&m.ctx, m.in, m.out) == TGCRT_LOST && !net_close(&m.ctx) && !driver->live);
}

static int replays(void) { /* number of replays in three runs */
  model_prepare(&m);
  CHECK(!net_open(&m.ctx, asked()) && !model_init(&m));
  driver->launches = 0;
  for (int i = 0; i < 3; i++) CHECK(!net_run_v(&m.ctx, m.in, m.out));
  CHECK(driver->launches == 3 * NET_LAUNCHES);
  driver->event_state = 1; /* while a run is pending, the next one is enqueued launch by launch */
  for (int i = 0; i < 2; i++) CHECK(net_run_v(&m.ctx, m.in, m.out) == TGCRT_BUSY);
  CHECK(driver->launches == 5 * NET_LAUNCHES);
  driver->event_state = 0;
  CHECK(!net_close(&m.ctx) && !driver->live);
  return driver->replays;
}

static void recorded(void) {
  defaults();
  CHECK(replays() == 4 * REPLAY); /* not with states that move */
  defaults();
  driver->extensions = "cl_khr_command_buffer_mutable_dispatch";
  CHECK(replays() == 0);
  driver->extensions = "cl_khr_command_buffer", driver->queue_needs = 1;
  CHECK(replays() == 0);
  driver->queue_needs = 0, driver->no_function = "clFinalizeCommandBufferKHR";
  CHECK(replays() == 0);
}

static void logs(void) { /* the compiler's whole message */
  for (int at = 1;; at++) {
    defaults();
    driver->fail_at = at, driver->error = -11;
    const int status = opened(NULL);
    if (!driver->failed || strcmp(driver->failed, "clBuildProgram")) continue;
    CHECK(status == TGCRT_BUILD && strstr(m.log, "net.cl:1: the fake compiler refuses this") && strlen(m.log) > 9000);
    CHECK(strstr(m.log, "OpenCL error -11"));
    return;
  }
}

/* ---- built programs in a file ---- */
static int built(const char *path) { /* 1: from the source, 0: from the file, 2: from the source after the file */
  tgcrt_device d = *asked();
  driver->sources = driver->binaries = 0;
  model_prepare(&m);
  d.cache = path;
  CHECK(!net_open(&m.ctx, &d) && !model_init(&m) && !net_run_v(&m.ctx, m.in, m.out) && !net_close(&m.ctx) && !driver->live);
  CHECK(driver->sources + driver->binaries == 1 || (driver->sources && driver->binaries));
  return driver->sources + (driver->sources && driver->binaries);
}

static size_t file_bytes(const char *path) {
  FILE *f = fopen(path, "rb");
  long n = -1;
  if (f && !fseek(f, 0, SEEK_END)) n = ftell(f);
  if (f) fclose(f);
  return (size_t)n;
}

static void spoil(const char *path, long at, size_t bytes) { /* changes a byte, or shortens the file */
  FILE *f = fopen(path, "rb");
  unsigned char all[4096];
  const size_t n = fread(all, 1, sizeof all, f);
  fclose(f);
  if (at >= 0) all[at] ^= 0x40;
  f = fopen(path, "wb");
  CHECK(fwrite(all, 1, at >= 0 ? n : bytes, f) && !fclose(f));
}

static void cache(const char *path) {
  defaults();
  remove(path);
  CHECK(built(path) == 1 && built(path) == 0 && built(path) == 0);
  const size_t bytes = file_bytes(path);
  for (long at = 0; at < (long)bytes; at++) { /* each wrong byte makes it build and write the file again */
    spoil(path, at, 0);
    CHECK(built(path) == 1 && built(path) == 0);
  }
  for (size_t n = 1; n < bytes; n++) {
    spoil(path, -1, n);
    CHECK(built(path) == 1 && file_bytes(path) == bytes);
  }
  driver->driver = "1.1";
  CHECK(built(path) == 1 && built(path) == 0);
  driver->name = "Fake 9001";
  CHECK(built(path) == 1 && built(path) == 0);
  driver->version = "OpenCL 2.0 fake";
  CHECK(built(path) == 1 && built(path) == 0);
  driver->each_binary = -42; /* the driver refuses it */
  CHECK(built(path) == 2);
  driver->each_binary = 0;
  CHECK(built(path) == 0);
  CHECK(!remove(path));
  driver->program_devices = 2;
  CHECK(built(path) == 1 && file_bytes(path) == (size_t)-1);
  driver->program_devices = 1;
  CHECK(built("/nowhere/at/all") == 1 && built("") == 1);
  struct rlimit was, full = { 100, 100 }; /* a full file system: no part of a file remains */
  CHECK(!getrlimit(RLIMIT_FSIZE, &was) && signal(SIGXFSZ, SIG_IGN) != SIG_ERR);
  full.rlim_max = was.rlim_max;
  CHECK(!setrlimit(RLIMIT_FSIZE, &full) && built(path) == 1 && file_bytes(path) == (size_t)-1);
  CHECK(!setrlimit(RLIMIT_FSIZE, &was));
  for (int at = 1;; at++) { /* each call fails while there is a file */
    static const char *const may[] = { "clCreateProgramWithBinary", "clBuildProgram", "clReleaseProgram" };
    defaults();
    CHECK(built(path) <= 1 && built(path) == 0);
    driver->calls = 0;
    CHECK(built(path) == 0);
    const int calls = driver->calls;
    if (at > calls) return;
    driver->calls = 0, driver->fail_at = at, driver->error = -5;
    tgcrt_device d = *asked();
    model_prepare(&m);
    d.cache = path;
    int status = net_open(&m.ctx, &d);
    if (!status) status = model_init(&m);
    driver->fail_at = 0;
    for (int i = 0; i < 3; i++) CHECK(!driver->failed || strcmp(driver->failed, may[i]) || !status);
    CHECK(!net_close(&m.ctx) && !driver->live);
  }
}

int main(int argc, char **argv) {
  static const Part list[] = {
    { "calls", calls }, { "queue", queue }, { "unfit", unfit }, { "names", names }, { "facts", facts },
    { "limits", limits }, { "logs", logs }, { "recorded", recorded }, { "threads", threads }, { NULL, NULL },
  };
  const char *what = argc > 1 ? argv[1] : "";
  if (!strcmp(what, "open")) return open_only();
  find_driver();
  if (!strcmp(what, "cache") && argc == 3) return cache(argv[2]), 0;
  return run_part(list, what);
}

/* SPDX-License-Identifier: MIT */
/* errors.c: a device bundle on the driver of fake.c, each of whose calls fails once. The functions return the right status, and
 * the log says why. Nothing of the driver's stays behind, the caller's context is current again, and nothing waits for ever.
 * errors calls | stream | unfit | names | facts | parts | limits | images | graphs | threads | open */
#include "fake.h"
#define LIBRARY "libcuda.so.1"
#include "scenario.h"

/* ---- what a caller uses of CUDA ---- */
static struct {
  int32_t (*create_context)(void **context, uint32_t flags, int device), (*destroy_context)(void *context);
  int32_t (*current)(void **context), (*push)(void *context), (*pop)(void **context);
  int32_t (*create_stream)(void **stream, uint32_t flags), (*destroy_stream)(void *stream);
  int32_t (*alloc)(uint64_t *memory, size_t n), (*release)(uint64_t memory);
} cu;
static void *mine; /* the context that is current while the bundle's functions are called */

static void find_caller(void) {
  void *lib = dlopen(LIBRARY, RTLD_NOW);
  symbol(lib, "cuCtxCreate", &cu.create_context);
  symbol(lib, "cuCtxDestroy", &cu.destroy_context);
  symbol(lib, "cuCtxGetCurrent", &cu.current);
  symbol(lib, "cuCtxPushCurrent", &cu.push);
  symbol(lib, "cuCtxPopCurrent", &cu.pop);
  symbol(lib, "cuStreamCreate", &cu.create_stream);
  symbol(lib, "cuStreamDestroy", &cu.destroy_stream);
  symbol(lib, "cuMemAlloc", &cu.alloc);
  symbol(lib, "cuMemFree", &cu.release);
}

static void *caller_buffer(void) {
  uint64_t p = 0;
  void *old;
  CHECK(!cu.push(m.ctx.device.context) && !cu.alloc(&p, 64) && !cu.pop(&old));
  memset((void *)(uintptr_t)p, 0, 64); /* it is memory of the host */
  return (void *)(uintptr_t)p;
}

static void caller_release(void *buffer) {
  void *old;
  CHECK(!cu.push(m.ctx.device.context) && !cu.release((uint64_t)(uintptr_t)buffer) && !cu.pop(&old));
}

static void check_caller(void) {
  const int calls = driver->calls, fail_at = driver->fail_at;
  void *now = &now;
  driver->fail_at = 0;
  CHECK(!cu.current(&now) && now == mine);
  driver->calls = calls, driver->fail_at = fail_at;
}

static int computes(void) { return getenv("FAKE_CUDA_KERNELS") != NULL; }

/* ---- one call fails ---- */
static const Row rows[] = {
  { "cuInit", "open", TGCRT_MEMORY, TGCRT_DRIVER, 0, "cuInit: CUDA error" },
  { "cuDeviceGetCount", "open", TGCRT_MEMORY, TGCRT_DEVICE, 0, "cuDeviceGetCount: CUDA error" },
  { "cuDeviceGetName", NULL, -1, -1, 0, NULL },
  { "cuDeviceGetAttribute", NULL, TGCRT_DEVICE, TGCRT_DEVICE, 0, ": " },
  { "cuDeviceGet", "open", TGCRT_MEMORY, TGCRT_DEVICE, 0, "cuDeviceGet: CUDA error" },
  { "cuDeviceTotalMem", NULL, -1, -1, 0, NULL },
  { "cuDevicePrimaryCtxRetain", "open", TGCRT_MEMORY, TGCRT_DEVICE, 0, "cuDevicePrimaryCtxRetain: CUDA error" },
  { "cuDevicePrimaryCtxRelease", NULL, -1, -1, 0, NULL },
  { "cuStreamGetCtx", "open", TGCRT_MEMORY, TGCRT_DEVICE, 0, "cuStreamGetCtx: CUDA error" },
  { "cuCtxGetDevice", "open", TGCRT_MEMORY, TGCRT_DEVICE, 0, "the context: CUDA error" },
  { "cuCtxPushCurrent", "open", TGCRT_MEMORY, TGCRT_DEVICE, 0, ": CUDA error" },
  { "cuCtxPopCurrent", "open", TGCRT_MEMORY, TGCRT_DEVICE, 0, ": CUDA error" },
  { "cuStreamCreate", "open", TGCRT_MEMORY, TGCRT_DEVICE, 0, "the stream: CUDA error" },
  { "cuStreamCreate", NULL, -1, -1, 0, NULL }, /* launches that are not recorded are handed over one by one */
  { "cuStreamBeginCapture", NULL, -1, -1, 0, NULL },
  { "cuStreamGetCaptureInfo", NULL, -1, -1, 0, NULL },
  { "cuStreamEndCapture", NULL, -1, -1, 0, NULL },
  { "cuGraphInstantiate", NULL, -1, -1, 0, NULL },
  { "cuGraphExecKernelNodeSetParams", NULL, -1, -1, 0, NULL },
  { "cuGraphLaunch", NULL, TGCRT_MEMORY, TGCRT_LOST, 1, "a run: CUDA error" },
  { "cuGraph", NULL, -1, -1, 0, NULL },
  { "cuModuleLoadDataEx", NULL, TGCRT_MEMORY, -1, 0, "cuModuleLoadDataEx: CUDA error 2 (CUDA_ERROR_OUT_OF_MEMORY)" }, /* then PTX */
  { "cuModuleGetFunction", "init", TGCRT_MEMORY, TGCRT_BUILD, 0, ": CUDA error" },
  { "cuFuncGetAttribute", "init", TGCRT_MEMORY, TGCRT_DEVICE, 0, ": CUDA error" },
  { "cuMemAlloc", "init", TGCRT_MEMORY, TGCRT_MEMORY, 0, "cuMemAlloc: CUDA error" },
  { "cuMemHostAlloc", "init", TGCRT_MEMORY, TGCRT_MEMORY, 0, "cuMemHostAlloc: CUDA error" },
  { "cuMemFree", NULL, -1, -1, 0, NULL },
  { "cuMemGetAddressRange", NULL, -1, -1, 0, NULL },
  { "cuModuleUnload", NULL, -1, -1, 0, NULL },
  { "cuStreamDestroy", NULL, -1, -1, 0, NULL },
  { "cuEventDestroy", NULL, -1, -1, 0, NULL },
  { "cuPointerGetAttribute", "run_on", TGCRT_ARGUMENT, TGCRT_ARGUMENT, 0, NULL },
  { "cuEventCreate", "init profile", TGCRT_MEMORY, TGCRT_DEVICE, 0, ": CUDA error" },
  { "cuLaunchKernel captured", NULL, -1, -1, 0, NULL },
  { "c", NULL, TGCRT_MEMORY, TGCRT_LOST, 1, ": CUDA error" }, /* in a run, or for a state; in init there is no run after it */
};
static const int32_t failures[] = { 2, 700, 999 };
/* some questions about a device need no answer, as long as its capability is known */
#define MAY "cuDeviceGetAttribute"

static void calls(void) {
  each_call(NULL, 0, rows, failures, MAY); /* no context is current */
  CHECK(!cu.create_context(&mine, 0, 0));  /* the caller's, of its own */
  each_call(NULL, 1, rows, failures, MAY);
  CHECK(!cu.destroy_context(mine) && !(mine = NULL) && !driver->live);
}

/* on the caller's stream */
static void stream(void) {
  void *queue, *old;
  CHECK(!cu.create_context(&mine, 0, 0) && !cu.create_stream(&queue, 0));
  each_call(queue, 2, rows, failures, MAY);
  CHECK(!cu.pop(&old) && !(mine = NULL));
  each_call(queue, driver->live, rows, failures, MAY);
  CHECK(!cu.push(old) && !cu.destroy_stream(queue) && !cu.destroy_context(old) && !driver->live);
}

/* ---- devices that do not fit, limits of time ---- */
static void unfit(void) {
#define UNFIT(field, value, status) defaults(); driver->field = value; CHECK(opened(NULL) == (status))
  UNFIT(devices, 0, TGCRT_DEVICE);
  CHECK(strstr(m.log, "CUDA: there is no device"));
  UNFIT(init, 100, TGCRT_DEVICE);
  CHECK(strstr(m.log, "CUDA: there is no device"));
  UNFIT(init, 803, TGCRT_DRIVER);
  CHECK(strstr(m.log, "cuInit: CUDA error 803"));
  UNFIT(capability, 61, TGCRT_DEVICE);
  CHECK(strstr(m.log, "Fake GPU no. 0: the bundle has no kernels for the device's compute capability"));
  UNFIT(max_threads, 7, TGCRT_DEVICE);
  UNFIT(max_dim, 7, TGCRT_DEVICE);
  UNFIT(kernel_threads, 7, TGCRT_DEVICE);
  UNFIT(shared_bytes, 15, TGCRT_DEVICE);
  UNFIT(memory, NET_DEVICE_BYTES - 1, TGCRT_MEMORY);
  UNFIT(memory, NET_DEVICE_BYTES, TGCRT_OK);
}

static int number_of(const char *name) { /* the device's that is opened */
  tgcrt_device d = *asked();
  d.name = name;
  if (net_open(&m.ctx, &d)) return -1;
  const int number = (int)(intptr_t)m.ctx.device.device;
  CHECK(!net_close(&m.ctx) && !driver->live);
  return number;
}

static void names(void) {
  model_prepare(&m);
  driver->devices = 6;
  CHECK(number_of(NULL) == 0 && number_of("") == 0 && number_of("0") == 0 && number_of("5") == 5 && number_of("6") == -1);
  CHECK(number_of("fAKE gpu NO. 3") == 3 && number_of("9000") == -1 && number_of("fake") == 0 && number_of("fake 9001") == -1);
  CHECK(strstr(m.log, "fake 9001: no device has this number or name"));
  setenv("NET_DEVICE", "no. 2", 1);
  CHECK(number_of(NULL) == 2 && number_of("1") == 1 && number_of("") == 2);
  unsetenv("NET_DEVICE");
}

static void facts(void) { /* all devices', without a model */
  static const tgcrt_net nothing = { .variable = "NET_DEVICE", .guard_at = (size_t)-1 };
  tgcrt_device_facts f;
  tgcrt_device open;
  model_prepare(&m);
  driver->devices = 3, driver->capability = 90;
  for (size_t i = 0; i < 3; i++) {
    CHECK(!tgcrt_cuda_facts(i, &f, keep_log, m.log) && f.units == i + 1 && f.is_gpu && !f.is_cpu && f.arch == 90);
    CHECK(f.name[strlen(f.name) - 1] == (char)('0' + i) && !strcmp(f.version, "compute capability 9.0") &&
          !strcmp(f.driver, "CUDA 12.4"));
    CHECK(f.max_threads == 1024 && f.shared_bytes == 49152 && f.memory == 1 << 30 && f.largest == 1 << 30 && f.shared_is_fast);
  }
  CHECK(tgcrt_cuda_facts(3, &f, keep_log, m.log) == TGCRT_DEVICE && !*m.log);
  CHECK(!tgcrt_cuda_open(&nothing, &(tgcrt_device){ .name = "no. 2" }, &open) && !tgcrt_cuda_describe(&open, &f) && f.units == 3);
  CHECK(f.arch == 90 && !tgcrt_cuda_close(&nothing, &open, NULL) && !driver->live);
  const int n = driver->calls;
  for (int at = 1; at <= n; at++) {
    defaults();
    driver->fail_at = at, driver->error = 999;
    const int status = tgcrt_cuda_facts(0, &f, NULL, NULL);
    CHECK(!status || status == TGCRT_DEVICE || status == TGCRT_DRIVER);
  }
}

/* Some launches alone, of a model that is no bundle */
static void parts(void) {
  static const unsigned char image[] = "cubin of sm_80";
  static const tgcrt_image images[] = { { TGCRT_IMAGE_CUBIN, 80, image, sizeof image } };
  static const tgcrt_launch launches[] = { { 0, 0, 0, { 1, 1, 1 }, { 1, 1, 1 } }, { 0, 0, 0, { 2, 1, 1 }, { 1, 1, 1 } },
                                           { 0, 0, 0, { 3, 1, 1 }, { 1, 1, 1 } } };
  static const char *const functions[] = { "k0" };
  static const tgcrt_net net = { .variable = "NET_DEVICE", .functions = functions, .nfunctions = 1, .launches = launches,
                                 .nlaunches = 3, .work_bytes = 64, .guard_at = (size_t)-1, .images = images, .nimages = 1 };
  static uint64_t memory[TGCRT_CUDA_BYTES(3, 0, 0, 0) / 8];
  uint64_t times[4] = { 1, 1, 1, 1 };
  tgcrt_device open;
  model_prepare(&m);
  CHECK(!tgcrt_cuda_open(&net, asked(), &open) && !tgcrt_cuda_init(&net, &open, memory, NULL));
  driver->launches = 0;
  CHECK(!tgcrt_cuda_profile_part(&net, memory, 1, 2, times) && driver->launches == 2 && !driver->replays);
  CHECK(times[0] == 500 && times[1] == 500 && times[2] == 1);
  const int calls = driver->calls;
  CHECK(!tgcrt_cuda_profile_part(&net, memory, 0, 1, times));
  const int n = driver->calls - calls;
  for (int at = 1; at <= n; at++) { /* a call that fails before anything is enqueued does no harm */
    driver->calls = 0, driver->fail_at = at, driver->error = 700, driver->failed = NULL;
    const int status = tgcrt_cuda_profile_part(&net, memory, 0, 1, times);
    driver->fail_at = 0;
    const int ends = !strcmp(driver->failed, "cuEventDestroy"), begins = !strcmp(driver->failed, "cuEventCreate");
    CHECK(status == (ends ? TGCRT_OK : begins ? TGCRT_DEVICE : TGCRT_LOST));
    if (status != TGCRT_LOST) continue;
    CHECK(tgcrt_cuda_profile_part(&net, memory, 0, 1, times) == TGCRT_LOST && !tgcrt_cuda_close(&net, &open, memory) &&
          !driver->live);
    CHECK(!tgcrt_cuda_open(&net, asked(), &open) && !tgcrt_cuda_init(&net, &open, memory, NULL));
  }
  CHECK(!tgcrt_cuda_close(&net, &open, memory) && !driver->live);
}

static void limits(void) {
  float total[N];
  uint64_t times[NET_LAUNCHES];
  const int32_t failed[] = { 2, 700, 999 };
  tgcrt_device d = *asked();
  model_prepare(&m);
  driver->event_state = 600; /* the device hangs */
  CHECK(!net_open(&m.ctx, &d) && model_init(&m) == TGCRT_BUSY && !net_close(&m.ctx) && !driver->live);
  driver->event_state = 0;
  CHECK(!net_open(&m.ctx, &d) && !model_init(&m) && !net_run_v(&m.ctx, m.in, m.out));
  driver->event_state = 600;
  memset(m.y, 0x55, sizeof m.y);
  float before[N];
  memcpy(before, m.y, sizeof before);
  CHECK(net_run_v(&m.ctx, m.in, m.out) == TGCRT_BUSY && net_sync(&m.ctx, 0) == TGCRT_BUSY && net_sync(&m.ctx, 5) == TGCRT_BUSY);
  CHECK(!memcmp(m.y, before, sizeof before)); /* outputs come when the run is done */
  const int replays = driver->replays;
  CHECK(net_run_v(&m.ctx, m.in, m.out) == TGCRT_BUSY && driver->replays == replays); /* the first one uses the pinned memory */
  CHECK(net_state_get(&m.ctx, 0, total) == TGCRT_BUSY && !net_state_reset(&m.ctx) && net_close(&m.ctx) == TGCRT_BUSY);
  driver->event_state = 0;
  CHECK(!net_sync(&m.ctx, 0) && memcmp(m.y, before, sizeof before) && !net_run_v(&m.ctx, m.in, m.out));
  void *buffers[5], *in[3] = { NULL, NULL, NULL };
  for (int i = 0; i < 5; i++) buffers[i] = caller_buffer();
  in[0] = buffers[3], in[1] = buffers[4];
  driver->event_state = 600, driver->guard = 1;
  for (int i = 0; i < TGCRT_DEVICE_RUNS; i++) {
    CHECK(!net_run_on(&m.ctx, in, buffers));
    driver->guard = 0; /* only the first one has clamped an index */
  }
  const int launches = driver->launches;
  CHECK(net_run_on(&m.ctx, in, buffers) == TGCRT_BUSY && driver->launches == launches);
  driver->event_state = 0;
  if (!computes()) CHECK(net_sync(&m.ctx, 0) == TGCRT_INDEX);
  CHECK(!net_sync(&m.ctx, 0) && !net_run_v(&m.ctx, m.in, m.out));
  /* memory that is not the device's, or too little */
  in[0] = m.x;
  CHECK(net_run_on(&m.ctx, in, buffers) == TGCRT_ARGUMENT);
  in[0] = (unsigned char *)buffers[3] + 32;
  CHECK(net_run_on(&m.ctx, in, buffers) == TGCRT_ARGUMENT);
  in[0] = buffers[3];
  CHECK(!net_run_on(&m.ctx, in, buffers) && !net_sync(&m.ctx, -1));
  for (int i = 0; i < 5; i++) caller_release(buffers[i]);
  CHECK(!net_close(&m.ctx) && !driver->live);
  for (int i = 0; i < 3; i++) {
    defaults();
    CHECK(!net_open(&m.ctx, asked()) && !model_init(&m));
    driver->event_state = failed[i]; /* the command fails when it runs */
    CHECK(net_run_v(&m.ctx, m.in, m.out) == (i ? TGCRT_LOST : TGCRT_MEMORY));
    driver->event_state = 0;
    check_lost();
  }
  CHECK(strstr(m.log, "a command: CUDA error 700 (CUDA_ERROR_ILLEGAL_ADDRESS)"));
  defaults();
  CHECK(!net_open(&m.ctx, asked()) && !model_init(&m));
  driver->event_state = 600;
  CHECK(net_profile(&m.ctx, m.in, m.out, times) == TGCRT_BUSY);
  driver->event_state = 0;
  CHECK(!net_sync(&m.ctx, 0) && !net_run_v(&m.ctx, m.in, m.out) && !net_close(&m.ctx) && !driver->live);
}

/* ---- which image, and graphs ---- */
static const char *image_for(int capability) {
  defaults();
  driver->capability = capability;
  CHECK(!opened(NULL));
  return driver->image;
}

static void images(void) {
  CHECK(!strcmp(image_for(80), "cubin of sm_80") && !strcmp(image_for(86), "cubin of sm_86") &&
        !strcmp(image_for(87), "cubin of sm_86"));
  CHECK(!strcmp(image_for(89), "cubin of sm_89") && !strcmp(image_for(75), "cubin of sm_70"));
  CHECK(!strcmp(image_for(90), ".ptx of sm_75") && !strcmp(image_for(120), ".ptx of sm_75"));
  defaults();
  driver->refused = 209; /* no cubin is for this device */
  CHECK(!opened(NULL) && !strcmp(driver->image, ".ptx of sm_75"));
  for (int at = 1;; at++) { /* nor is the PTX */
    defaults();
    driver->refused = 209, driver->fail_at = at, driver->error = 218;
    const int status = opened(NULL);
    if (!driver->failed || strcmp(driver->failed, "cuModuleLoadDataEx") || !status) continue; /* the cubin fails */
    CHECK(status == TGCRT_BUILD && strstr(m.log, "net.cu:1: the fake compiler refuses this") && strstr(m.log, "CUDA error 218"));
    return;
  }
}

/* The driver's counts in three runs with the program's memory and three with the device's; the last one has other buffers */
static void counted(int replays, int launches, int changes) {
  void *buffers[6], *in[3] = { NULL, NULL, NULL };
  tgcrt_device d = *asked();
  d.replay = driver->capability == 80 ? -1 : 0;
  model_prepare(&m);
  CHECK(!net_open(&m.ctx, &d) && !model_init(&m));
  for (int i = 0; i < 6; i++) buffers[i] = caller_buffer();
  driver->launches = driver->replays = driver->changes = 0;
  for (int i = 0; i < 3; i++) CHECK(!net_run_v(&m.ctx, m.in, m.out));
  in[0] = buffers[3], in[1] = buffers[4];
  for (int i = 0; i < 2; i++) CHECK(!net_run_on(&m.ctx, in, buffers));
  in[0] = buffers[5];
  CHECK(!net_run_on(&m.ctx, in, buffers) && !net_sync(&m.ctx, -1));
  if (driver->launches != launches || driver->replays != replays || driver->changes != changes)
    fprintf(stderr, "%d launches, %d replays, %d changes\n", driver->launches, driver->replays, driver->changes), exit(1);
  for (int i = 0; i < 6; i++) caller_release(buffers[i]);
  CHECK(!net_close(&m.ctx) && !driver->live);
}

static void graphs(void) {
  static const char *const functions[] = {
    "cuStreamBeginCapture", "cuStreamGetCaptureInfo",         "cuStreamEndCapture", "cuGraphInstantiate", "cuGraphDestroy",
    "cuGraphExecDestroy",   "cuGraphExecKernelNodeSetParams", "cuGraphLaunch"
  };
  defaults();
  /* other addresses: all four launches, then the first; and in each run the launches of two states where they move */
  counted(6, 24, MOVES ? 5 + 2 * 6 : 5);
  for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
    defaults();
    driver->no_function = functions[i];
    counted(0, 24, 0);
  }
  defaults();
  driver->capability = 80; /* the caller wants none */
  counted(0, 24, 0);
}

int main(int argc, char **argv) {
  static const Part list[] = {
    { "calls", calls }, { "stream", stream }, { "unfit", unfit }, { "names", names }, { "facts", facts },
    { "parts", parts }, { "limits", limits }, { "images", images }, { "graphs", graphs }, { "threads", threads },
    { NULL, NULL },
  };
  const char *what = argc > 1 ? argv[1] : "";
  if (!strcmp(what, "open")) return open_only();
  find_driver();
  find_caller();
  return run_part(list, what);
}

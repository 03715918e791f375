/* SPDX-License-Identifier: MIT */
/* host.c: compares the functions of a device bundle (net.h, made by fill.py) on a real OpenCL device with the same arithmetic
 * here. host run | threads | cache FILE | device [NAME] */
#include "host.h"

/* ---- the caller's context, queue and buffers ---- */
typedef struct Driver { /* OpenCL functions for a caller */
  void *(*create_buffer)(void *context, uint64_t flags, size_t n, void *host, int32_t *status);
  int32_t (*release)(void *buffer);
  int32_t (*write)(void *queue, void *buffer, uint32_t wait, size_t at, size_t n, const void *p, uint32_t, const void *, void *);
  int32_t (*read)(void *queue, void *buffer, uint32_t wait, size_t at, size_t n, void *p, uint32_t, const void *, void *);
  void *(*create_queue)(void *context, void *device, uint64_t properties, int32_t *status);
  int32_t (*release_queue)(void *queue);
} Driver;

static Driver driver(void) {
  void *lib = dlopen("libOpenCL.so.1", RTLD_NOW);
  Driver d;
  CHECK(lib);
  symbol(lib, "clCreateBuffer", &d.create_buffer);
  symbol(lib, "clReleaseMemObject", &d.release);
  symbol(lib, "clEnqueueWriteBuffer", &d.write);
  symbol(lib, "clEnqueueReadBuffer", &d.read);
  symbol(lib, "clCreateCommandQueue", &d.create_queue);
  symbol(lib, "clReleaseCommandQueue", &d.release_queue);
  return d;
}

static void buffers(void) {
  static Model m, other;
  const size_t in_bytes[3] = { sizeof m.x, sizeof m.at, 0 }, out_bytes[3] = { sizeof m.y, sizeof m.h, sizeof m.v };
  void *in[3] = { NULL, NULL, NULL }, *out[3];
  int32_t status;
  tgcrt_device d;
  Driver cl;
  model_prepare(&m);
  CHECK(!net_open(&m.ctx, NULL));
  cl = driver(); /* after the library was found */
  memset(&d, 0, sizeof d);
  d.log = keep_log, d.log_arg = m.log;
  d.queue = cl.create_queue(m.ctx.device.context, m.ctx.device.device, 0, &status);
  CHECK(!status && !net_close(&m.ctx) && !net_open(&m.ctx, &d) && m.ctx.device.context && m.ctx.device.device);
  CHECK(!model_init(&m));
  for (int i = 0; i < 2; i++) in[i] = cl.create_buffer(m.ctx.device.context, 1, in_bytes[i], NULL, &status);
  for (int i = 0; i < 3; i++) out[i] = cl.create_buffer(m.ctx.device.context, 1, out_bytes[i], NULL, &status);
  for (int i = 0; i < RUNS; i++) {
    model_fill(&m, i % 3); /* no index is out of range */
    expect_run(&m.e, m.x, m.at);
    for (int k = 0; k < 2; k++) CHECK(!cl.write(d.queue, in[k], 0, 0, in_bytes[k], m.in[k], 0, NULL, NULL));
    CHECK(!net_run_on(&m.ctx, in, out));
    for (int k = 0; k < 3; k++) CHECK(!cl.read(d.queue, out[k], 1, 0, out_bytes[k], m.out[k], 0, NULL, NULL));
    CHECK(!net_sync(&m.ctx, i % 2 ? -1 : 1000));
    model_same(&m);
    if (i == 2 || i == 5) model_run(&m, i), model_run(&m, 0); /* alternating */
  }
  m.at = 16; /* one of many runs */
  CHECK(!cl.write(d.queue, in[1], 1, 0, in_bytes[1], m.in[1], 0, NULL, NULL) && !net_run_on(&m.ctx, in, out));
  m.at = 1;
  CHECK(!cl.write(d.queue, in[1], 1, 0, in_bytes[1], m.in[1], 0, NULL, NULL));
  for (int i = 0; i < 300; i++) {
    status = net_run_on(&m.ctx, in, out);
    CHECK(!status || status == TGCRT_BUSY);
    if (status) CHECK(net_sync(&m.ctx, 1000) == (m.at ? TGCRT_INDEX : TGCRT_OK) && !(m.at = 0));
  }
  status = net_sync(&m.ctx, 1000);
  CHECK(status == (m.at ? TGCRT_INDEX : TGCRT_OK) && !net_sync(&m.ctx, 0));

  CHECK(net_run_on(&m.ctx, NULL, out) == TGCRT_ARGUMENT && net_run_on(&m.ctx, out, in) == TGCRT_ARGUMENT);
  void *small = out[2];
  out[2] = out[0], out[0] = small;
  CHECK(net_run_on(&m.ctx, in, out) == TGCRT_ARGUMENT);
  out[0] = out[2], out[2] = small;
  model_prepare(&other); /* a buffer of another context */
  CHECK(!model_init(&other) && net_run_on(&other.ctx, in, out) == TGCRT_ARGUMENT && !net_close(&other.ctx));

  /* two contexts of one queue, and of one context */
  CHECK(!net_open(&other.ctx, &d) && !model_init(&other));
  model_run(&other, 1);
  CHECK(!net_close(&m.ctx));
  model_prepare(&m);
  void *queue = d.queue;
  d.queue = NULL, d.context = other.ctx.device.context;
  CHECK(!net_open(&m.ctx, &d) && !model_init(&m) && m.ctx.device.queue != other.ctx.device.queue);
  model_run(&m, 1), model_run(&other, 2), model_run(&m, 2);
  CHECK(!net_close(&m.ctx));
  d.queue = cl.create_queue(d.context, other.ctx.device.device, 1 /* out of order */, &status);
  d.log = keep_log, d.log_arg = m.log;
  CHECK(!status && net_open(&m.ctx, &d) == TGCRT_DEVICE && strstr(m.log, "out of order"));
  for (int i = 0; i < 3; i++) CHECK((!in[i] || !cl.release(in[i])) && !cl.release(out[i]));
  CHECK(!net_close(&other.ctx) && !cl.release_queue(d.queue) && !cl.release_queue(queue));
}

/* ---- the rest ---- */
static void cache(const char *path) {
  static Model m;
  tgcrt_device d;
  model_prepare(&m);
  memset(&d, 0, sizeof d);
  d.cache = path;
  CHECK(!net_open(&m.ctx, &d) && !model_init(&m));
  for (int i = 0; i < 3; i++) model_run(&m, i);
  CHECK(!net_close(&m.ctx));
}

int main(int argc, char **argv) {
  const char *what = argc > 1 ? argv[1] : "";
  if (!strcmp(what, "run")) runs(), buffers();
  else if (!strcmp(what, "threads")) threads();
  else if (!strcmp(what, "cache") && argc == 3) cache(argv[2]);
  else if (!strcmp(what, "device")) device(argc == 3 ? argv[2] : NULL);
  else return 64;
  return 0;
}

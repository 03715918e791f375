/* SPDX-License-Identifier: MIT */
/* host.c: the functions of a device bundle (net.h, made by fill.py) on a libcuda that runs kernels, against the same
 * arithmetic here. host run | threads | device [NAME] */
#include "host.h"

static struct { /* the functions that a caller uses */
  int32_t (*push)(void *context), (*pop)(void **context), (*current)(void **context);
  int32_t (*create_context)(void **context, uint32_t flags, int device), (*destroy_context)(void *context);
  int32_t (*create_stream)(void **stream, uint32_t flags), (*destroy_stream)(void *stream);
  int32_t (*alloc)(uint64_t *memory, size_t n), (*release)(uint64_t memory);
  int32_t (*alloc_host)(void **memory, size_t n, uint32_t flags), (*release_host)(void *memory);
  int32_t (*write)(uint64_t to, const void *from, size_t n, void *stream),
      (*read)(void *to, uint64_t from, size_t n, void *stream);
} cu;

static void find(void) {
  void *lib = dlopen("libcuda.so.1", RTLD_NOW);
  CHECK(lib);
  symbol(lib, "cuCtxPushCurrent", &cu.push);
  symbol(lib, "cuCtxPopCurrent", &cu.pop);
  symbol(lib, "cuCtxGetCurrent", &cu.current);
  symbol(lib, "cuCtxCreate", &cu.create_context);
  symbol(lib, "cuCtxDestroy", &cu.destroy_context);
  symbol(lib, "cuStreamCreate", &cu.create_stream);
  symbol(lib, "cuStreamDestroy", &cu.destroy_stream);
  symbol(lib, "cuMemAlloc", &cu.alloc);
  symbol(lib, "cuMemFree", &cu.release);
  symbol(lib, "cuMemHostAlloc", &cu.alloc_host);
  symbol(lib, "cuMemFreeHost", &cu.release_host);
  symbol(lib, "cuMemcpyHtoDAsync", &cu.write);
  symbol(lib, "cuMemcpyDtoHAsync", &cu.read);
}

/* ---- the caller's context, stream and buffers ---- */
static void buffers(void) {
  static Model m, other;
  const size_t in_bytes[3] = { sizeof m.x, sizeof m.at, 0 }, out_bytes[3] = { sizeof m.y, sizeof m.h, sizeof m.v };
  void *context, *stream, *in[3] = { NULL, NULL, NULL }, *out[3], *second[3], *pinned, *now;
  int32_t bad = 0;
  tgcrt_device d;
  memset(&d, 0, sizeof d);
  find();
  CHECK(!cu.create_context(&context, 0, 0) && !cu.create_stream(&stream, 0) && !cu.alloc_host(&pinned, 64, 0));
  uint64_t p;
  for (int i = 0; i < 2; i++) bad |= cu.alloc(&p, in_bytes[i]), in[i] = (void *)(uintptr_t)p;
  for (int i = 0; i < 3; i++) bad |= cu.alloc(&p, out_bytes[i]), out[i] = (void *)(uintptr_t)p;
  for (int i = 0; i < 3; i++) bad |= cu.alloc(&p, out_bytes[i]), second[i] = (void *)(uintptr_t)p;
  CHECK(!bad);
  d.queue = stream, d.log = keep_log, d.log_arg = m.log;
  model_prepare(&m);
  CHECK(!net_open(&m.ctx, &d) && m.ctx.device.context == context && !model_init(&m));
  CHECK(!cu.current(&now) && now == context);
  for (int i = 0; i < RUNS; i++) {
    void **const to = i % 3 == 2 ? second : out; /* other pointers than the last time */
    model_fill(&m, i % 3); /* no index is out of range */
    expect_run(&m.e, m.x, m.at);
    for (int k = 0; k < 2; k++)
      memcpy(pinned, m.in[k], in_bytes[k]), bad |= cu.write((uint64_t)(uintptr_t)in[k], pinned, in_bytes[k], stream);
    CHECK(!bad && !net_run_on(&m.ctx, in, to));
    for (int k = 0; k < 3; k++)
      bad |= cu.read(pinned, (uint64_t)(uintptr_t)to[k], out_bytes[k], stream), memcpy(m.out[k], pinned, out_bytes[k]);
    CHECK(!bad && !net_sync(&m.ctx, i % 2 ? -1 : 1000));
    model_same(&m);
    if (i == 2 || i == 5) model_run(&m, i), model_run(&m, 0); /* in turns */
  }
  m.at = 16; /* one of many runs */
  memcpy(pinned, &m.at, sizeof m.at);
  CHECK(!cu.write((uint64_t)(uintptr_t)in[1], pinned, sizeof m.at, stream) && !net_run_on(&m.ctx, in, out));
  m.at = 1;
  memcpy(pinned, &m.at, sizeof m.at);
  CHECK(!cu.write((uint64_t)(uintptr_t)in[1], pinned, sizeof m.at, stream));
  for (int i = 0; i < 20; i++) CHECK(!net_run_on(&m.ctx, in, out));
  CHECK(net_sync(&m.ctx, 1000) == TGCRT_INDEX && !net_sync(&m.ctx, 0));
  CHECK(net_run_on(&m.ctx, NULL, out) == TGCRT_ARGUMENT);

  /* two contexts of one stream, and of one context */
  model_prepare(&other);
  CHECK(!net_open(&other.ctx, &d) && !model_init(&other));
  model_run(&other, 1);
  CHECK(!net_close(&m.ctx));
  model_prepare(&m);
  d.queue = NULL, d.context = context;
  CHECK(!net_open(&m.ctx, &d) && !model_init(&m) && m.ctx.device.queue != stream && m.ctx.device.context == context);
  model_run(&m, 1), model_run(&other, 2), model_run(&m, 2);
  CHECK(!net_close(&m.ctx) && !net_close(&other.ctx));
  for (int i = 0; i < 2; i++) bad |= cu.release((uint64_t)(uintptr_t)in[i]);
  for (int i = 0; i < 3; i++) bad |= cu.release((uint64_t)(uintptr_t)out[i]), bad |= cu.release((uint64_t)(uintptr_t)second[i]);
  CHECK(!bad && !cu.release_host(pinned) && !cu.destroy_stream(stream) && !cu.destroy_context(context));
}

int main(int argc, char **argv) {
  const char *what = argc > 1 ? argv[1] : "";
  if (!strcmp(what, "run")) runs(), buffers();
  else if (!strcmp(what, "threads")) threads();
  else if (!strcmp(what, "device")) device(argc == 3 ? argv[2] : NULL);
  else return 64;
  return 0;
}

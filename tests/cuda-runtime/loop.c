/* SPDX-License-Identifier: MIT */
/* loop.c: ten runs of a bundle with memory of the program, and ten with memory of the device, on a libcuda that runs kernels. The
 * outputs of run i are the same bits both times. The driver's log is told where each run begins.
 * loop FOLDER-WITH-WEIGHTS; compiled with -DSTATES where the model has some. */
#include "net.h"
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { RUNS = 10, MOST = 64 };

static void check(int good, const char *what) {
  if (!good) printf("not so: %s\n", what), exit(1);
}
#define CHECK(x) check(x, #x)

static struct {
  int32_t (*push)(void *context), (*pop)(void **context), (*alloc)(uint64_t *memory, size_t n);
  void (*note)(const char *text);
} cu;

static void find(void) {
  static const char *const names[] = { "cuCtxPushCurrent", "cuCtxPopCurrent", "cuMemAlloc", "fake_note" };
  void *lib = dlopen("libcuda.so.1", RTLD_NOW), *p[4];
  CHECK(lib != NULL);
  for (int i = 0; i < 4; i++) p[i] = dlsym(lib, names[i]), check(p[i] != NULL, names[i]);
  memcpy(&cu, p, sizeof cu);
}

static void *device_memory(const net_ctx *ctx, size_t n) {
  uint64_t p;
  void *old;
  CHECK(!cu.push(ctx->device.context) && !cu.alloc(&p, n ? n : 1) && !cu.pop(&old));
  return (void *)(uintptr_t)p;
}

/* A value that differs from run to run; whole numbers are small, because they may be indices */
static void fill(void *p, int type, size_t bytes, int run) {
  unsigned char *at = p;
  memset(p, 0, bytes);
  if (type == TGCRT_F32)
    for (size_t i = 0; i + 4 <= bytes; i += 4) {
      const float x = (float)((i / 4 * 7 + (size_t)run * 5) % 23) * 0.05f - 0.5f;
      memcpy(at + i, &x, 4);
    }
  else if (type == TGCRT_I64 || type == TGCRT_I32)
    for (size_t i = 0; i < bytes; i += type == TGCRT_I64 ? 8 : 4) at[i] = (unsigned char)(1 + run % 2);
}

static void note(const char *what, int run) {
  char line[40];
  snprintf(line, sizeof line, "%s %d", what, run);
  cu.note(line);
}

int main(int argc, char **argv) {
  static net_ctx ctx;
  char path[4096];
  const void *weights = NULL, *in[MOST];
  void *out[MOST], *device_in[MOST], *device_out[MOST], *kept[RUNS][MOST];
  void *arena = aligned_alloc(TGCRT_ALIGN, (net_arena_bytes() + TGCRT_ALIGN - 1) / TGCRT_ALIGN * TGCRT_ALIGN);
  const size_t nin = net_input_count(), nout = net_output_count();
  CHECK(argc == 2 && nin < MOST && nout < MOST);
  snprintf(path, sizeof path, "%s/net_weights.bin", argv[1]);
  CHECK(!tgcrt_map(path, net_weights_bytes(), &weights));
  CHECK(!net_init(&ctx, arena, net_arena_bytes(), weights, net_weights_bytes()));
  find();
  for (size_t i = 0; i < nin; i++) in[i] = malloc(net_input_bytes(i) + 1), device_in[i] = device_memory(&ctx, net_input_bytes(i));
  for (size_t i = 0; i < nout; i++)
    out[i] = malloc(net_output_bytes(i) + 1), device_out[i] = device_memory(&ctx, net_output_bytes(i));
  for (int r = 0; r < RUNS; r++) {
    for (size_t i = 0; i < nin; i++) fill((void *)(uintptr_t)in[i], net_input_type(i), net_input_bytes(i), r);
    note("run", r);
    const int status = net_run_v(&ctx, in, out);
    CHECK(!status || status == TGCRT_INDEX);
    for (size_t i = 0; i < nout; i++) kept[r][i] = memcpy(malloc(net_output_bytes(i) + 1), out[i], net_output_bytes(i));
  }
#ifdef STATES
  CHECK(!net_state_reset(&ctx));
#endif
  for (int r = 0; r < RUNS; r++) {
    for (size_t i = 0; i < nin; i++) fill(device_in[i], net_input_type(i), net_input_bytes(i), r); /* it is memory of the host */
    note("run_on", r);
    CHECK(!net_run_on(&ctx, device_in, device_out));
    const int status = net_sync(&ctx, -1);
    CHECK(!status || status == TGCRT_INDEX);
    for (size_t i = 0; i < nout; i++) CHECK(!memcmp(device_out[i], kept[r][i], net_output_bytes(i)));
  }
  note("end", 0);
  CHECK(!net_close(&ctx));
  return 0;
}

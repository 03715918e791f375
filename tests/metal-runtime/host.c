/* SPDX-License-Identifier: MIT */
/* host.c: the functions of a bundle for Metal (net.h, made by fill.py) on a device that runs kernels, against the same arithmetic
 * here.
 * host run | threads | device [NAME] */
#include "host.h"
#include "fake.h"

static void *driver(const char *name) {
  void *p;
  symbol(dlopen("libMetal.dylib", RTLD_NOW), name, &p);
  return p;
}

/* ---- the caller's device, queue and buffers ---- */
static void buffers(void) {
  static Model m;
  void *(*make_queue)(void), *(*make_buffer)(uint64_t), (*release)(void *);
  void *p[3] = { driver("fake_queue"), driver("fake_buffer"), driver("fake_release") };
  memcpy(&make_queue, &p[0], sizeof *p), memcpy(&make_buffer, &p[1], sizeof *p), memcpy(&release, &p[2], sizeof *p);
  Fake *seen = driver("fake");
  void *queue = make_queue(), *in[3] = { make_buffer(64), make_buffer(4), NULL };
  void *out[3] = { make_buffer(64), make_buffer(8), make_buffer(4) };
  tgcrt_device d;
  void *c = driver("fake_contents");
  void *(*bytes)(void *);
  memcpy(&bytes, &c, sizeof c);
  memset(&d, 0, sizeof d);
  model_prepare(&m);
  d.queue = queue;
  const int live = seen->live;
  CHECK(!net_open(&m.ctx, &d) && m.ctx.device.queue == queue && m.ctx.device.device && !model_init(&m));
  for (int i = 0; i < 5; i++) {
    const int commits = seen->commits;
    model_fill(&m, i);
    expect_run(&m.e, m.x, m.at);
    memcpy(bytes(in[0]), m.x, sizeof m.x), memcpy(bytes(in[1]), &m.at, sizeof m.at);
    CHECK(!net_run_on(&m.ctx, in, out) && seen->commits == commits + 1); /* one command buffer */
    CHECK(net_sync(&m.ctx, -1) == (m.at > 15 ? TGCRT_INDEX : TGCRT_OK));
    memcpy(m.y, bytes(out[0]), sizeof m.y), memcpy(m.h, bytes(out[1]), sizeof m.h), memcpy(&m.v, bytes(out[2]), sizeof m.v);
    model_same(&m);
  }
  model_run(&m, 7); /* and on the context's own buffers */
  void *swap = out[0];
  out[0] = in[1]; /* too small */
  CHECK(net_run_on(&m.ctx, in, out) == TGCRT_ARGUMENT);
  out[0] = NULL;
  CHECK(net_run_on(&m.ctx, in, out) == TGCRT_ARGUMENT);
  out[0] = swap;
  model_states_same(&m);
  CHECK(!net_close(&m.ctx) && seen->live == live);
  for (int i = 0; i < 3; i++) release(out[i]);
  release(in[0]), release(in[1]), release(queue);
  CHECK(!seen->live);
}

int main(int argc, char **argv) {
  const char *what = argc > 1 ? argv[1] : "";
  if (!strcmp(what, "run")) runs(), buffers();
  else if (!strcmp(what, "threads")) threads();
  else if (!strcmp(what, "device")) device(argc > 2 ? argv[2] : NULL);
  else return 64;
  return 0;
}

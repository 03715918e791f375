/* SPDX-License-Identifier: MIT */
/* model.h: for tests of a bundle whose kernels run on a device. net.h is the bundle's header. A Model has a context of the bundle
 * and the context's memory. A Model also has the expected results, which functions of this file compute on the host.
 *
 * The bundle's network has the inputs x, `at` and `none`; `at` is an index, and `none` has no elements. The outputs are y, h and
 * v. The network has two states, `total` and `past`. A run adds x[i] * weight(i) to total[i]. The state `past` is a window of two
 * rows with three elements each. A run appends x[k] * weight(k) to row k, for k = 0 and k = 1. */
#include "net.h"
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(x) do if (!(x)) check_failed(__FILE__, __LINE__, #x); while (0)
static void check_failed(const char *file, int line, const char *what) {
  fprintf(stderr, "%s:%d: not so: %s\n", file, line, what);
  _Exit(1); /* other threads may run */
}

enum { N = 16, RUNS = 7 }; /* N: number of elements of x, of y and of `total`. RUNS: number of runs that some tests make */

/* The states and outputs that the network should have, computed on the host */
typedef struct Expected {
  float total[N], past[2][3];
  float y[N], h[2], v;
} Expected;

/* The network's weights are weight(0) to weight(N - 1), then first(0) to first(N - 1). first(i) is the value of total[i] before
 * the first run. */
static float weight(int i) { return (float)(i + 1); }
static float first(int i) { return 0.5f * (float)i; }

static void expect_reset(Expected *e) { /* sets the states to their first values */
  for (int i = 0; i < N; i++) e->total[i] = first(i);
  memset(e->past, 0, sizeof e->past);
}

static void expect_run(Expected *e, const float *x, int at) { /* computes the states and outputs after a run on these inputs */
  for (int i = 0; i < N; i++) e->total[i] += x[i] * weight(i), e->y[i] = 2.0f * e->total[i];
  for (int k = 0; k < 2; k++) {
    e->past[k][0] = e->past[k][1], e->past[k][1] = e->past[k][2], e->past[k][2] = x[k] * weight(k);
    e->h[k] = e->past[k][0] + 10.0f * e->past[k][1] + 100.0f * e->past[k][2];
  }
  e->v = first(at < 0 ? 0 : at > 15 ? 15 : at);
}

/* A context, the context's memory, the inputs and outputs of a run, and the expected results */
typedef struct Model {
  union { double align; unsigned char bytes[NET_ARENA_BYTES + TGCRT_ALIGN]; } memory;
  union { double align; unsigned char bytes[NET_WEIGHTS_BYTES + TGCRT_ALIGN]; } weight_memory;
  unsigned char *arena, *weights;
  net_ctx ctx;
  Expected e;
  float x[N], y[N], h[2], v, none;
  int32_t at;
  const void *in[3];
  void *out[3];
  char log[20000];
} Model;

static unsigned char *aligned(unsigned char *p) { return p + (TGCRT_ALIGN - (uintptr_t)p % TGCRT_ALIGN) % TGCRT_ALIGN; }

static void model_prepare(Model *m) { /* sets the weights, the pointers and the expected states, for net_open and model_init */
  memset(m, 0, sizeof *m);
  m->arena = aligned(m->memory.bytes);
  m->weights = aligned(m->weight_memory.bytes);
  for (int i = 0; i < N; i++) {
    const float w[2] = { weight(i), first(i) };
    memcpy(m->weights + 4 * i, &w[0], 4);
    memcpy(m->weights + 4 * (N + i), &w[1], 4);
  }
  m->in[0] = m->x, m->in[1] = &m->at, m->in[2] = NULL;
  m->out[0] = m->y, m->out[1] = m->h, m->out[2] = &m->v;
  expect_reset(&m->e);
}

#ifndef REPLAY
#define REPLAY 0 /* 1: model_init opens a context that is not open yet, with tgcrt_device.replay 1 */
#endif
static int model_init(Model *m) { /* returns the status of net_init, or of net_open if that fails */
  tgcrt_device d;
  memset(&d, 0, sizeof d);
  d.replay = 1;
  if (REPLAY && !m->ctx.device.queue && m->ctx.tag != NET_INTERFACE) {
    const int status = net_open(&m->ctx, &d);
    if (status) return status;
  }
  return net_init(&m->ctx, m->arena, NET_ARENA_BYTES, m->weights, NET_WEIGHTS_BYTES);
}

static void model_fill(Model *m, int run) { /* sets the inputs for run number `run`. In every fourth run, `at` is out of range */
  for (int i = 0; i < N; i++) m->x[i] = (float)((run * 7 + i * 3) % 11 - 5);
  m->at = run % 4 == 3 ? 99 : run % 16;
}

static void model_same(const Model *m) { /* checks that the outputs equal the expected outputs */
  CHECK(!memcmp(m->y, m->e.y, sizeof m->y) && !memcmp(m->h, m->e.h, sizeof m->h) && m->v == m->e.v);
}

/* Runs the network with the inputs for run number `run`. Checks the status and the outputs. */
static inline void model_run(Model *m, int run) {
  model_fill(m, run);
  expect_run(&m->e, m->x, m->at);
  CHECK(net_run_v(&m->ctx, m->in, m->out) == (m->at > 15 ? TGCRT_INDEX : TGCRT_OK));
  model_same(m);
}

static inline void model_states_same(const Model *m) { /* checks that the states equal the expected states */
  float total[N], past[2][3];
  CHECK(!net_state_get(&m->ctx, 0, total) && !net_state_get(&m->ctx, 1, past));
  CHECK(!memcmp(total, m->e.total, sizeof total) && !memcmp(past, m->e.past, sizeof past));
}

/* For tgcrt_device.log: appends a line to the Model.log at `arg`. */
static void keep_log(void *arg, const char *text) {
  char *log = (char *)arg;
  const size_t n = strlen(log);
  snprintf(log + n, 20000 - n, "%s\n", text);
}

/* Writes the address of the symbol `name` of the library `lib` to *to. `to` points to a pointer. */
static void symbol(void *lib, const char *name, void *to) {
  void *p = dlsym(lib, name);
  CHECK(p);
  memcpy(to, &p, sizeof p);
}

/* SPDX-License-Identifier: MIT */
/* host.h: tests of the functions of a bundle whose kernels run on a device. fill.py makes this bundle, with its header net.h. The
 * kernels really run: on a device, or in a library that takes the place of the driver. model.h computes the network on the host.
 * The tests compare the device's results with the host's results. */
#include "model.h"
#include <pthread.h>

/* ---- runs and states ---- */
static void runs(void) {
  static Model m;
  unsigned char saved[NET_STATE_BYTES];
  uint64_t times[NET_LAUNCHES];
  Expected kept;
  float some[N];
  model_prepare(&m);
  CHECK(net_run_v(&m.ctx, m.in, m.out) == TGCRT_UNREADY && net_sync(&m.ctx, 0) == TGCRT_UNREADY);
  CHECK(!net_close(&m.ctx) && !net_close(&m.ctx) && net_close(NULL) == TGCRT_ARGUMENT);
  CHECK(net_init(NULL, m.arena, NET_ARENA_BYTES, m.weights, NET_WEIGHTS_BYTES) == TGCRT_ARGUMENT);
  CHECK(net_init(&m.ctx, m.arena, NET_ARENA_BYTES - 1, m.weights, NET_WEIGHTS_BYTES) == TGCRT_ARENA);
  CHECK(net_init(&m.ctx, m.arena, NET_ARENA_BYTES, m.weights, NET_WEIGHTS_BYTES - 1) == TGCRT_WEIGHTS);
  CHECK(!model_init(&m));
  CHECK(net_arena_bytes() == NET_ARENA_BYTES && net_device_bytes() == NET_DEVICE_BYTES && net_ctx_bytes() == sizeof m.ctx);
  CHECK(net_interface() == NET_INTERFACE && net_input_count() == 3 && net_input_bytes(2) == 0 && net_state_count() == 2);
  CHECK(!net_check_weights(m.weights, NET_WEIGHTS_BYTES) && !net_set_executor(&m.ctx, NULL));
  CHECK(net_run_v(&m.ctx, NULL, m.out) == TGCRT_ARGUMENT && net_run_v(&m.ctx, m.in, NULL) == TGCRT_ARGUMENT);
  m.in[0] = NULL;
  CHECK(net_run_v(&m.ctx, m.in, m.out) == TGCRT_ARGUMENT);
  m.in[0] = m.x;
  model_states_same(&m);
  for (int i = 0; i < RUNS; i++) model_run(&m, i), model_states_same(&m);

  const net_inputs in = { m.x, &m.at, NULL };
  const net_outputs out = { m.y, m.h, &m.v };
  model_fill(&m, RUNS + 1);
  expect_run(&m.e, m.x, m.at);
  CHECK(!net_run(&m.ctx, &in, &out) && net_run(&m.ctx, NULL, &out) == TGCRT_ARGUMENT);
  model_same(&m);

  CHECK(net_state_get(&m.ctx, 2, some) == TGCRT_STATE && net_state_put(&m.ctx, 2, some) == TGCRT_STATE);
  CHECK(net_state_get(&m.ctx, 0, NULL) == TGCRT_ARGUMENT && net_saved_bytes() == NET_STATE_BYTES);
  model_run(&m, 1); /* after this run, the cursors are not 0 */
  CHECK(!net_state_save(&m.ctx, saved) && (REPLAY || (saved[0] == 1 && saved[8] == 1)));
  kept = m.e;
  for (int i = 0; i < 3; i++) model_run(&m, i);
  CHECK(!net_state_load(&m.ctx, saved));
  m.e = kept;
  model_states_same(&m);
  for (int i = 0; i < 4; i++) model_run(&m, i);
  saved[0] = 2; /* a cursor that is too large */
  CHECK(net_state_load(&m.ctx, saved) == TGCRT_STATE);
  for (int i = 0; i < N; i++) m.e.total[i] = (float)(100 + i);
  for (int i = 0; i < 6; i++) m.e.past[i / 3][i % 3] = (float)(i + 1);
  CHECK(!net_state_put(&m.ctx, 0, m.e.total) && !net_state_put(&m.ctx, 1, m.e.past));
  model_states_same(&m);
  for (int i = 0; i < 3; i++) model_run(&m, i);
  CHECK(!net_state_reset(&m.ctx));
  expect_reset(&m.e);
  for (int i = 0; i < 3; i++) model_run(&m, i);

  model_fill(&m, 1);
  expect_run(&m.e, m.x, m.at);
  CHECK(!net_profile(&m.ctx, m.in, m.out, times));
  model_same(&m);
  for (int i = 0; i < NET_LAUNCHES; i++) CHECK(times[i] > 0 && times[i] < 1000000000u);
  model_run(&m, 2);

  /* After net_close, net_init begins afresh, even if net_open was called in between. If net_init fails, the device stays open. */
  CHECK(!net_close(&m.ctx) && net_run_v(&m.ctx, m.in, m.out) == TGCRT_UNREADY && !net_close(&m.ctx));
  CHECK(!net_open(&m.ctx, NULL));
  CHECK(net_init(&m.ctx, m.arena, 1, m.weights, NET_WEIGHTS_BYTES) == TGCRT_ARENA);
  CHECK(net_run_v(&m.ctx, m.in, m.out) == TGCRT_UNREADY);
  CHECK(!model_init(&m));
  expect_reset(&m.e);
  for (int i = 0; i < 3; i++) model_run(&m, i);
  CHECK(!net_close(&m.ctx));
  CHECK(!net_open(&m.ctx, NULL) && !net_close(&m.ctx) && !net_close(&m.ctx));
}

/* ---- threads and devices ---- */
static void *thread(void *arg) {
  Model *m = (Model *)arg;
  model_prepare(m);
  for (int k = 0; k < 3; k++) {
    CHECK(!model_init(m));
    expect_reset(&m->e);
    for (int i = 0; i < 20; i++) model_run(m, i);
    model_states_same(m);
    CHECK(!net_close(&m->ctx));
  }
  return NULL;
}

static void threads(void) {
  static Model m[3];
  pthread_t t[3];
  for (int i = 0; i < 3; i++) CHECK(!pthread_create(&t[i], NULL, thread, &m[i]));
  for (int i = 0; i < 3; i++) CHECK(!pthread_join(t[i], NULL));
}

/* Opens the device `name`, initialises a context and makes a run. Prints a status and the log, and returns the status. This is
 * the status of net_open if net_open fails, else the status of net_init. */
static int device(const char *name) {
  static Model m;
  tgcrt_device d;
  int status;
  model_prepare(&m);
  memset(&d, 0, sizeof d);
  d.name = name, d.log = keep_log, d.log_arg = m.log;
  status = net_open(&m.ctx, &d);
  if (!status) status = model_init(&m);
  if (!status) model_run(&m, 0);
  printf("%d %s\n", status, m.log);
  fflush(stdout);
  CHECK(!net_close(&m.ctx));
  return status;
}

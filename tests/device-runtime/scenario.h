/* SPDX-License-Identifier: MIT */
/* scenario.h: a scenario calls one function after another of a bundle. The bundle's kernels are for a device. A library takes the
 * place of the device's driver. The scenario is repeated. In each repetition, one call of the driver fails, with one of three
 * errors.
 *
 * A test must first include the fake.h of its own folder, and define LIBRARY, the name of the library. Then the test includes
 * this file, defines the functions that are only declared here, and defines a table of Rows. */
#include "model.h"
#include <pthread.h>

static Fake *driver;           /* the variable `fake` of the library */
static void (*defaults)(void); /* the function fake_defaults of the library */
static Model m;

static void *caller_buffer(void);              /* makes a buffer of 64 bytes on the device of m, without the bundle's help */
static void caller_release(void *buffer);      /* frees a buffer that caller_buffer has made */
static void check_caller(void);                /* fails if this thread's current context has changed (CUDA), or if a pool
                                                   of autoreleased objects is open (Metal) */
static int computes(void);                     /* returns whether the library runs kernels */

static void find_driver(void) { /* loads the library, and sets `driver` and `defaults` */
  void *lib = dlopen(LIBRARY, RTLD_NOW);
  CHECK(lib);
  symbol(lib, "fake", &driver);
  symbol(lib, "fake_defaults", &defaults);
  defaults();
}

static const tgcrt_device *asked(void) { /* returns an argument for net_open, with a log and a short time limit */
  static tgcrt_device d;
  memset(&d, 0, sizeof d);
  d.replay = REPLAY, d.wait_ms = 3, d.log = keep_log, d.log_arg = m.log;
  return &d;
}

/* ---- one call fails ---- */
static const char *step; /* name of the current step of the scenario, such as "init" for net_init, or "get" for net_state_get */
static int after;        /* the status of the run that the scenario makes after a failure; TGCRT_UNREADY: there was no such run */

/* Calls the functions of the bundle except net_close, one after another, until a function fails. Returns the status of the
 * function that failed, or TGCRT_OK if none failed. If a function after net_init fails, the scenario makes another run, and sets
 * `after` to the status of this run. queue: a queue for tgcrt_device.queue; NULL: the bundle makes a queue */
static int scenario(void *queue) {
  unsigned char saved[NET_STATE_BYTES];
  float total[N];
  uint64_t times[NET_LAUNCHES];
  tgcrt_device d = *asked();
  int status;
  model_prepare(&m);
  after = TGCRT_UNREADY;
  d.queue = queue;
  d.cache = "/nowhere/at/all";
  step = "open", status = net_open(&m.ctx, &d);
  check_caller();
  if (status) return status;
  step = "init", status = model_init(&m);
  check_caller();
  if (status) return status;
#define STEP(name, call) step = name, status = call; check_caller(); if (status) goto end
  STEP("run", net_run_v(&m.ctx, m.in, m.out));
  STEP("run", net_run_v(&m.ctx, m.in, m.out)); /* this run moves the window from the end of its memory to the start */
  STEP("get", net_state_get(&m.ctx, 1, total));
  STEP("put", net_state_put(&m.ctx, 0, total));
  STEP("save", net_state_save(&m.ctx, saved));
  STEP("load", net_state_load(&m.ctx, saved));
  STEP("reset", net_state_reset(&m.ctx));
  STEP("profile", net_profile(&m.ctx, m.in, m.out, times));
  for (int i = 0; i < NET_LAUNCHES; i++) CHECK(times[i] == 500);
  int32_t unused = driver->fail_at; /* the test itself makes the next calls of the driver, and these must succeed */
  void *buffers[5], *in[3] = { NULL, NULL, NULL };
  driver->fail_at = 0;
  const int calls = driver->calls;
  for (int i = 0; i < 5; i++) buffers[i] = caller_buffer();
  driver->calls = calls, driver->fail_at = unused;
  in[0] = buffers[3], in[1] = buffers[4];
  step = "run_on";
  status = net_run_on(&m.ctx, in, buffers);
  if (!status) status = net_run_on(&m.ctx, in, buffers);
  step = status ? step : "sync";
  if (!status) status = net_sync(&m.ctx, 20);
  check_caller();
  const int called = driver->calls;
  unused = status ? 0 : driver->fail_at; /* if no call has failed so far, a call that net_close makes is to fail */
  driver->fail_at = 0;
  if (status) after = net_run_v(&m.ctx, m.in, m.out);
  for (int i = 0; i < 5; i++) caller_release(buffers[i]);
  driver->calls = called, driver->fail_at = unused;
  return status;
end:
  driver->fail_at = 0;
  after = net_run_v(&m.ctx, m.in, m.out);
  return status;
}

/* The effect that is expected if a function of the driver fails in a step. call: beginning of the function's name. steps: names
 * of the steps for which the row holds; NULL: all steps. memory: the status that the step must return if the error is a lack of
 * memory. other: the status that the step must return for other errors. If `memory` or `other` is -1, the step must succeed.
 * lost: 1 if the device is lost afterwards. log: a text that the messages must contain; NULL: no message is needed */
typedef struct Row { const char *call, *steps; int memory, other, lost; const char *log; } Row;

/* Returns the first row for the driver's function `call` in the current step. The table must have such a row. */
static const Row *row_of(const Row *r, const char *call) {
  while (strncmp(call, r->call, strlen(r->call)) || (r->steps && !strstr(r->steps, step))) r++;
  return r;
}

/* Checks that a new context works. queue: as for `scenario` */
static void second_run(void *queue) {
  tgcrt_device d = *asked();
  defaults();
  model_prepare(&m);
  d.queue = queue;
  CHECK(!net_open(&m.ctx, &d) && !model_init(&m));
  if (computes()) model_run(&m, 1), model_run(&m, 2);
  else CHECK(!net_run_v(&m.ctx, m.in, m.out));
  CHECK(!net_close(&m.ctx));
  check_caller();
}

/* Repeats the scenario for each pair of a call and an error: the call of the driver fails with the error. Checks the effects by
 * the table `rows`. queue: as for `scenario`. errors[0] is a lack of memory. live: number of the driver's objects that exist
 * before the scenario, and must exist afterwards. may: the Row.call of functions whose failure need not change the status */
static void each_call(void *queue, int live, const Row *rows, const int32_t errors[3], const char *may) {
  int calls;
  defaults();
  CHECK(!scenario(queue) && !net_close(&m.ctx) && driver->live == live);
  calls = driver->calls;
  for (int at = 1; at <= calls; at++)
    for (int e = 0; e < 3; e++) {
      defaults();
      driver->fail_at = at, driver->error = errors[e];
      const int status = scenario(queue), closing = at > driver->calls, closed = net_close(&m.ctx);
      const Row *r = row_of(rows, driver->failed ? driver->failed : "c");
      const int want = closing ? -1 : e ? r->other : r->memory;
      const int harmless = !strcmp(r->call, may) && !status, told = !status || !r->log || strstr(m.log, r->log);
      check_caller();
      if (closing && !strcmp(driver->failed, "cuCtxPushCurrent")) live = driver->live; /* one object stays */
      if (!driver->failed || (status != (want < 0 ? 0 : want) && !harmless) || closed || driver->live != live || !told ||
          (after == TGCRT_LOST) != (status && r->lost && strcmp(step, "init"))) {
        fprintf(stderr, "call %d, %s, fails with %d: %s returns %d, %d expected; the next run %d, close %d, %d objects stay; ",
                at, driver->failed, errors[e], step, status, want, after, closed, driver->live - live);
        fputs(m.log, stderr);
        exit(1);
      }
      second_run(queue);
      CHECK(driver->live == live);
    }
  printf("%d calls\n", calls);
}

/* Opens the device `name`, initialises the context, makes a run, and closes the context. Returns the status of the first step
 * that fails, or TGCRT_OK. */
static int opened(const char *name) {
  tgcrt_device d = *asked();
  int status;
  model_prepare(&m);
  d.name = name;
  status = net_open(&m.ctx, &d);
  if (!status) status = model_init(&m);
  if (!status) status = net_run_v(&m.ctx, m.in, m.out);
  if (status) CHECK(*m.log);
  CHECK(!net_close(&m.ctx) && !driver->live);
  return status;
}

/* A run of m.ctx must have lost the device. Checks that functions then return TGCRT_LOST, and that the context can be closed. */
static void check_lost(void) {
  float total[N];
  uint64_t times[NET_LAUNCHES];
  CHECK(net_run_v(&m.ctx, m.in, m.out) == TGCRT_LOST && net_sync(&m.ctx, 0) == TGCRT_LOST);
  CHECK(net_state_get(&m.ctx, 0, total) == TGCRT_LOST && net_state_put(&m.ctx, 0, total) == TGCRT_LOST);
  CHECK(net_state_reset(&m.ctx) == TGCRT_LOST && net_profile(&m.ctx, m.in, m.out, times) == TGCRT_LOST);
  CHECK(!net_close(&m.ctx) && !driver->live);
}

/* ---- threads ---- */
static void *thread(void *arg) {
  Model *x = (Model *)arg;
  float total[N];
  for (int k = 0; k < 20; k++) {
    model_prepare(x);
    CHECK(!model_init(x));
    for (int i = 0; i < 20; i++) CHECK(!net_run_v(&x->ctx, x->in, x->out));
    CHECK(!net_state_get(&x->ctx, 0, total) && !net_close(&x->ctx));
  }
  return NULL;
}

static void threads(void) {
  static Model x[3];
  pthread_t t[3];
  for (int i = 0; i < 3; i++) CHECK(!pthread_create(&t[i], NULL, thread, &x[i]));
  for (int i = 0; i < 3; i++) CHECK(!pthread_join(t[i], NULL));
  CHECK(!driver->live);
}

/* For a driver that is missing, or that lacks a function: tries to open the device. Prints the status and the log. Returns 0. */
static int open_only(void) {
  model_prepare(&m);
  const int status = net_open(&m.ctx, asked());
  printf("%d %s\n", status, m.log);
  CHECK(model_init(&m) == status && !net_close(&m.ctx));
  return 0;
}

/* ---- the parts of a test program. The program runs the part that its argument names ---- */
typedef struct Part { const char *name; void (*run)(void); } Part;

/* Runs the part `name`, and returns 0. Returns 64 if no part has this name. p: all parts; a Part with the name NULL ends the
 * list */
static int run_part(const Part *p, const char *name) {
  while (p->name && strcmp(p->name, name)) p++;
  if (p->name) p->run();
  return p->name ? 0 : 64;
}

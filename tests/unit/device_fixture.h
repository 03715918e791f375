/* SPDX-License-Identifier: MIT */
/* device_fixture.h: for tests of device programs. The functions make programs from texts, for the device gpu-any, and run the
 * launches of these programs in the interpreter. */
#ifndef TGC_TEST_DEVICE_FIXTURE_H
#define TGC_TEST_DEVICE_FIXTURE_H
#include "../../compiler/interp/interp_threads.h"
#include "../../compiler/lower/lower.h"
#include "fixture.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

/* Returns facts about the device gpu-any. */
static inline const Device *device_of_tests(void) { return device_target("gpu-any")->dev; }

static inline Plan device_plan(IR *ir) { /* returns a plan for the device gpu-any, without kernels */
  PlanInputs *in = ARENA_NEW(&ir->ctx->model, PlanInputs, 1);
  *in = (PlanInputs){ .target = device_target("gpu-any") };
  return (Plan){ .in = in, .ir = ir };
}

/* Reads a kernel from `text`. Then applies the step `launches`, which makes the kernel's program. The caller frees the returned
 * kernel by device_kernel_free. */
static inline Kernel device_kernel(Plan *p, const char *text) {
  Kernel k = { .sink = ir_parse_kernel(p->ir, text, strlen(text)) };
  const Node *sink = node(p->ir, k.sink);
  for (int i = 0; i < sink->nsrc; i++) VEC_PUSH(&k.states, ((NestState){ .nest = sink->src[i] }));
  step_launches(p, &k);
  ir_verify_program(p->ir, k.prog.p, k.prog.n);
  assert_int_equal(k.states.n, 0);
  return k;
}

static inline void device_kernel_free(Kernel *k) {
  VEC_FREE(&k->prog);
  VEC_FREE(&k->bufs);
  VEC_FREE(&k->written);
  VEC_FREE(&k->locals);
}

/* Runs each launch of a program by interp_launch_orders. launches: number of launches that the program must have. mem[i]: the
 * memory of buffer i. Adds the reports on all launches to *r. Returns false if a launch has a fault, or if the result of a launch
 * depends on the order of threads. */
static inline bool device_run(IR *ir, const Refs *prog, size_t launches, void *const *mem, LaunchReport *r) {
  Launches l = { 0 };
  bool good = true;
  launches_of(ir, prog->p, prog->n, &l);
  assert_int_equal(l.n, launches);
  for (size_t i = 0; i < l.n; i++) good &= interp_launch_orders(ir, &l.p[i], device_of_tests(), mem, 0, r);
  launches_free(&l);
  return good;
}

/* Reads a program with one launch from `text`, and appends the program's micro-ops to *list, which must be empty. Returns the
 * launch, which uses the memory of *list. The caller frees *list. */
static inline Launch device_launch(IR *ir, const char *text, Refs *list) {
  ir_parse_program(ir, text, strlen(text), list);
  return launch_of(ir, *list);
}
#endif

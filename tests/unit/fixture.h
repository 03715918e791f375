/* SPDX-License-Identifier: MIT */
/* fixture.h: functions for cmocka, which calls setup before each unit test and teardown afterwards. So each test has an IR of its
 * own. *state points to the IR. */
#ifndef TGC_TEST_FIXTURE_H
#define TGC_TEST_FIXTURE_H
#include "../../compiler/ir/ir.h"
#include <stdlib.h>

static inline int setup(void **state) {
  Ctx *c = xmalloc(sizeof *c);
  ctx_init(c);
  *state = ir_new(c);
  return 0;
}

static inline int teardown(void **state) {
  IR *ir = *state;
  Ctx *c = ir->ctx;
  ir_free(ir);
  ctx_free(c);
  free(c);
  return 0;
}
#endif

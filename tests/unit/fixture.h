/* SPDX-License-Identifier: MIT */
/* fixture.h: the setup and teardown functions that give each unit test an IR of its own. *state of cmocka points to the IR. */
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

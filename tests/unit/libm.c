/* SPDX-License-Identifier: MIT */
/* libm.c (unit test): the greatest error of every function that is arithmetic. Inputs are floats of every exponent and both
 * signs, with multiply-adds of one and of two roundings. An argument gives the number of floats per exponent as a power of
 * two: 16 for the full measurement. */
#include "../../compiler/interp/interp.h"
#include "../../compiler/lower/lower.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <math.h>
#include "../ulp/error.h"

enum { BATCH = 1024 };
static int samples = 10;

typedef struct Function { Op op; double (*exact)(double); FunctionOps has; } Function;

/* value of every node of the expansion for a batch of arguments */
static void evaluate(const IR *ir, const Refs *order, Ref x, const uint32_t *in, bool fused, int64_t (*v)[BATCH], uint32_t *out) {
  for (size_t k = 0; k < order->n; k++) {
    const Node *e = node(ir, order->p[k]);
    const int64_t *s[3] = { 0 };
    for (int i = 0; i < e->nsrc && e->op != OP_VEC; i++) {
      size_t j = 0;
      while (order->p[j] != e->src[i]) j++;
      s[i] = v[j];
    }
    for (int b = 0; b < BATCH; b++) {
      if (order->p[k] == x) v[k][b] = in[b];
      else if (e->op == OP_CONST) v[k][b] = e->arg[0];
      else if (e->op == OP_VEC) v[k][b] = 0; /* a table, which LOOKUP reads */
      else {
        int64_t a[3] = { s[0][b], s[1] ? s[1][b] : 0, s[2] ? s[2][b] : 0 };
        DType from = (DType)node(ir, e->src[e->nsrc - 1])->dt;
        if (e->op == OP_MULACC && !fused) {
          a[0] = interp_scalar(OP_MUL, from, from, a);
          a[1] = a[2];
          v[k][b] = interp_scalar(OP_ADD, from, from, a);
        } else if (e->op == OP_LOOKUP) {
          const Node *table = node(ir, lookup_table(e));
          v[k][b] = const_value(node(ir, table->src[(uint32_t)a[1] % table->lanes]));
        } else {
          v[k][b] = interp_scalar((Op)e->op, (DType)e->dt, from, a);
        }
      }
    }
  }
  for (int b = 0; b < BATCH; b++) out[b] = (uint32_t)v[order->n - 1][b];
}

static void error_is_at_most_2_ulp(void **state) {
  const Function *f = *state;
  Ctx c;
  ctx_init(&c);
  IR *ir = ir_new(&c);
  Ref x = node_make(ir, OP_RANGE, DT_F32, 1, 0, NULL, 0, NULL, 0, NULL);
  Ref r = libm_expr(ir, node_make(ir, f->op, DT_F32, 1, 1, &x, 0, NULL, 0, NULL), f->has);
  Refs order = { 0 };
  assert_true(r);
  ir_toposort(ir, &r, 1, &order);
  int64_t(*v)[BATCH] = xmalloc(order.n * sizeof *v);
  uint32_t in[BATCH], out[BATCH], seed = 1;
  for (int fused = 0; fused < 2; fused++) {
    double worst = 0;
    float worst_at = 0;
    for (uint32_t e = 0; e < 512; e++)
      for (int n = 0; n < 1 << samples; n += BATCH) {
        for (int b = 0; b < BATCH; b++) {
          seed = seed * 1664525 + 1013904223;
          in[b] = e << 23 | (b == 0 ? 0 : b == 1 ? 0x7fffff : b == 2 ? 1 : seed >> 9);
        }
        evaluate(ir, &order, x, in, fused, v, out);
        for (int b = 0; b < BATCH; b++) {
          double err = error_in_ulp(as_float(out[b]), f->exact(as_float(in[b])));
          if (err > worst) worst = err, worst_at = as_float(in[b]);
        }
      }
    print_message("# %s%s: %zu ops, %s multiply-add: %.2f ULP at %a\n", op_info[f->op].name,
                  f->has.scalb    ? " with scalb"
                  : f->has.lookup ? " with lookup"
                                  : "",
                  order.n, fused ? "fused" : "plain", worst, worst_at);
    assert_true(worst <= 2);
  }
  free(v);
  VEC_FREE(&order);
  ir_free(ir);
  ctx_free(&c);
}

static void lanes_follow_the_operand(void **state) {
  (void)state;
  Ctx c;
  ctx_init(&c);
  IR *ir = ir_new(&c);
  Ref x = node_make(ir, OP_BCAST, DT_F32, 8, 1, (Ref[]){ c_float(ir, DT_F32, 1) }, 0, NULL, 0, NULL);
  Ref r = libm_expr(ir, node_make(ir, OP_ERF, DT_F32, 8, 1, &x, 0, NULL, 0, NULL), (FunctionOps){ 0 });
  Refs order = { 0 };
  ir_toposort(ir, &r, 1, &order);
  for (size_t i = 0; i < order.n; i++)
    assert_int_equal(node(ir, order.p[i])->lanes, node(ir, order.p[i])->op == OP_CONST ? 1 : 8);
  assert_false(libm_expr(ir, node_make(ir, OP_EXP, DT_F64, 1, 1, (Ref[]){ c_float(ir, DT_F64, 1) }, 0, NULL, 0, NULL),
                         (FunctionOps){ 0 }));
  VEC_FREE(&order);
  ir_free(ir);
  ctx_free(&c);
}

int main(int argc, char **argv) {
  const FunctionOps none = { 0 }, scalb = { .scalb = true }, lookup = { .lookup = true };
  Function f[] = { { OP_EXP, exp, none }, { OP_EXP2, exp2, none }, { OP_LOG, log, none }, { OP_LOG2, log2, none },
                   { OP_TANH, tanh, none }, { OP_ERF, erf, none }, { OP_SIN, sin, none }, { OP_COS, cos, none },
                   { OP_EXP, exp, scalb }, { OP_EXP2, exp2, scalb }, { OP_ERF, erf, lookup } };
  const struct CMUnitTest tests[] = {
    { "exp", error_is_at_most_2_ulp, NULL, NULL, &f[0] },
    { "exp2", error_is_at_most_2_ulp, NULL, NULL, &f[1] },
    { "log", error_is_at_most_2_ulp, NULL, NULL, &f[2] },
    { "log2", error_is_at_most_2_ulp, NULL, NULL, &f[3] },
    { "tanh", error_is_at_most_2_ulp, NULL, NULL, &f[4] },
    { "erf", error_is_at_most_2_ulp, NULL, NULL, &f[5] },
    { "sin", error_is_at_most_2_ulp, NULL, NULL, &f[6] },
    { "cos", error_is_at_most_2_ulp, NULL, NULL, &f[7] },
    { "exp with scalb", error_is_at_most_2_ulp, NULL, NULL, &f[8] },
    { "exp2 with scalb", error_is_at_most_2_ulp, NULL, NULL, &f[9] },
    { "erf with lookup", error_is_at_most_2_ulp, NULL, NULL, &f[10] },
    cmocka_unit_test(lanes_follow_the_operand),
  };
  if (argc > 1) samples = atoi(argv[1]);
  return cmocka_run_group_tests(tests, NULL, NULL);
}

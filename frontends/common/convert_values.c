/* SPDX-License-Identifier: MIT */
/* convert_values.c: pieces that the builders of --convert share: numbers of keys as constants, normalising, rounding,
 * refusals. */
#include "convert.h"
#include "pieces.h"
#include <stdarg.h>
#include <stdio.h>

_Noreturn void refuse_at(Ctx *c, const char *what, const char *fmt, ...) {
  char text[400];
  va_list ap;
  va_start(ap, fmt);
  vsnprintf(text, sizeof text, fmt, ap);
  va_end(ap);
  fail(c, EX_USAGE_, "%s: %s", what, text);
}

Ref f32_const(IR *ir, double v) { return c_float(ir, DT_F32, v); }

Ref along(const Spec *s, IR *ir, const Numbers *n, double otherwise, const char *key, Ref x, int axis) {
  const Node *xn = node(ir, x);
  int64_t dims[MAX_RANK];
  if (n->n < 2) return f32_const(ir, n->n ? n->v[0] : otherwise);
  if (axis < 0) refuse(s, "%s has %d values, which needs a layout: nhwc or nchw", key, n->n);
  if (xn->dims[axis] != n->n) refuse(s, "%s has %d values for %lld channels", key, n->n, (long long)xn->dims[axis]);
  for (int i = 0; i < xn->rank; i++) dims[i] = i == axis ? n->n : 1;
  return g_floats(ir, DT_F32, xn->rank, dims, n->v);
}

static bool is_float(IR *ir, Ref r, double v) {
  int64_t bits;
  return node_is_const(ir, r, &bits) && bits_to_double(DT_F32, bits) == v;
}

Ref normalised(const Spec *s, IR *ir, Ref x, int axis) {
  Numbers recip = s->std;
  for (int i = 0; i < recip.n; i++) recip.v[i] = 1 / recip.v[i];
  const Ref mean = along(s, ir, &s->mean, s->form->mean, "mean", x, axis);
  const Ref scale = along(s, ir, &recip, 1 / s->form->std, "std", x, axis);
  if (!is_float(ir, mean, 0)) x = g_binary(ir, OP_SUB, x, mean);
  return is_float(ir, scale, 1) ? x : g_binary(ir, OP_MUL, x, scale);
}

Ref rounded_to(IR *ir, Ref x, DType d) { return g_cast(ir, dt_float(d) ? x : g_unary(ir, OP_ROUND, x), d); }

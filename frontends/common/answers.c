/* SPDX-License-Identifier: MIT */
/* answers.c: outputs in the form in which a program uses them, for --convert. They are the position of the greatest value, the k
 * greatest values, masks, and dequantised values. */
#include "convert.h"
#include "pieces.h"
#include <math.h>

enum { TOP_MOST = 64 }; /* values of topk: each is one more pass over the axis */

static Ref answer_input(const Spec *s, Graph *g, const GIO *v) {
  const Ref x = graph_input(g, v, v->name);
  g->ir->origin = ir_origin(g->ir, arena_printf(&s->c->model, "output '%s'", v->name), 0);
  return x;
}

static int whole_key(const Spec *s, const Numbers *n, const char *key, int otherwise, int least, int most) {
  const double x = n->n ? n->v[0] : otherwise;
  if (!(x >= least && x <= most && x == floor(x)))
    refuse(s, "%s is %g, expected a whole number from %d to %d", key, x, least, most);
  return (int)x;
}

/* The axis along which positions count; negative ones count from the end */
static int axis_of_answer(const Spec *s, const GIO *v) {
  if (!v->rank) refuse(s, "'%s' has no axis", v->name);
  const int axis = whole_key(s, &s->axis, "axis", -1, -v->rank, v->rank - 1);
  const int at = axis < 0 ? axis + v->rank : axis;
  if (!v->dims[at] || v->dims[at] > INT32_MAX)
    refuse(s, "axis %d of '%s' has %lld elements", at, v->name, (long long)v->dims[at]);
  return at;
}

/* The first position along the axis whose value is the greatest, among those that are not taken. With NaN, the last one. The axis
 * keeps extent 1. */
static Ref first_greatest(IR *ir, Ref x, Ref greatest, Ref taken, int axis) {
  const Node *n = node(ir, x);
  const int64_t extent = n->dims[axis];
  const Ref place = iota_axis(ir, DT_I32, extent, axis, n->rank), last = c_int(ir, DT_I32, extent - 1);
  Ref is = g_binary(ir, OP_CMPEQ, x, greatest);
  if (taken) is = g_binary(ir, OP_AND, is, g_unary(ir, OP_NOT, taken));
  return g_reduce(ir, OP_MIN, g_where(ir, is, place, last), 1u << axis);
}

Ref answer_argmax(const Spec *s, Graph *g, const GIO *v) {
  IR *ir = g->ir;
  const int axis = axis_of_answer(s, v);
  const Ref x = answer_input(s, g, v);
  return without_axes(ir, first_greatest(ir, x, g_reduce(ir, OP_MAX, x, 1u << axis), 0, axis), 1u << axis);
}

/* Two outputs: NAME_values and NAME_indices, along the axis from the greatest value on */
Ref answer_topk(const Spec *s, Graph *g, const GIO *v) {
  IR *ir = g->ir;
  const int axis = axis_of_answer(s, v), extent = (int)v->dims[axis];
  const int k = whole_key(s, &s->k, "k", 5, 1, extent < TOP_MOST ? extent : TOP_MOST);
  const Ref x = answer_input(s, g, v), place = iota_axis(ir, DT_I32, extent, axis, v->rank);
  const Ref least = c_float(ir, v->dt, -INFINITY);
  Ref value[TOP_MOST], index[TOP_MOST], taken = 0;
  for (int i = 0; i < k; i++) {
    value[i] = g_reduce(ir, OP_MAX, taken ? g_where(ir, taken, least, x) : x, 1u << axis);
    index[i] = first_greatest(ir, x, value[i], taken, axis);
    const Ref now = g_binary(ir, OP_CMPEQ, place, index[i]);
    taken = taken ? g_binary(ir, OP_OR, taken, now) : now;
  }
  graph_output(g, g_cat(ir, k, value, axis), arena_printf(&s->c->model, "%s_values", v->name));
  graph_output(g, g_cat(ir, k, index, axis), arena_printf(&s->c->model, "%s_indices", v->name));
  return 0;
}

Ref answer_mask(const Spec *s, Graph *g, const GIO *v) {
  IR *ir = g->ir;
  const int high = whole_key(s, &s->high, "high", 1, 1, 255);
  const Ref x = answer_input(s, g, v);
  const double limit = s->threshold.n ? s->threshold.v[0] : 0.5;
  const Ref above = g_binary(ir, OP_CMPLT, c_float(ir, v->dt, dt_float(v->dt) ? limit : floor(limit)), x);
  return g_where(ir, above, c_int(ir, DT_U8, high), c_int(ir, DT_U8, 0));
}

/* (y - zero) * scale */
Ref answer_float(const Spec *s, Graph *g, const GIO *v) {
  IR *ir = g->ir;
  Ref x = g_cast(ir, answer_input(s, g, v), DT_F32);
  if (s->zero.n) x = g_binary(ir, OP_SUB, x, f32_const(ir, s->zero.v[0]));
  return s->scale.n ? g_binary(ir, OP_MUL, x, f32_const(ir, s->scale.v[0])) : x;
}

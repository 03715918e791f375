/* SPDX-License-Identifier: MIT */
/* promote_half.c: half precision is a storage format. f16 and bf16 values between the inputs and outputs of a graph become f32.
 * CPUs convert in a few instructions, but have no arithmetic for halves.
 *
 * With `every`, each op rounds, as the IR defines. An op on halves is computed in f32, and its result is converted to a half
 * and back to f32. f32 has more than twice the bits of both formats, plus two. So for + - * / and the square root this gives
 * the correctly rounded half. Some ops need no rounding, since their results are halves: movement, selection, signs, whole
 * numbers. A product that is only summed stays unrounded, as interp.h defines.
 *
 * Otherwise values between ops stay f32, as in ONNX Runtime and C's FLT_EVAL_METHOD: more exact, with a larger range, and
 * faster. A rounding stays where the user can see it: at outputs, in BITCAST, and in a CAST from an original f32 or f64. So f32
 * -> f16 -> f32 remains two conversions. A CAST back from arithmetic on widened halves is dropped, since front ends write it
 * around sums. Around a conversion that the model requests they write two BITCASTs, so that it rounds.
 *
 * Factors of sums of products stay rounded for a matrix unit that multiplies halves (half_factors.c).
 *
 * A window that is kept between runs keeps its type. The appended part is rounded now, as later runs will read it rounded.
 *
 * needs: any graph    keeps: shapes, types of inputs and outputs
 * breaks: without `every`, roundings; there are fewer */
#include "../target/matrix_units.h"
#include "graph.h"
#include <stdlib.h>
#include <string.h>

typedef struct Widen {
  IR *ir;
  Ref *as_is;              /* by old Ref: the node in its own type; 0: converted from wide on request */
  Ref *wide;               /* by old Ref of a half: its value in f32 */
  bool *window;            /* by old Ref: a state that grows by appending */
  bool *halves;            /* by old Ref of an f32: computed from halves and constants only */
  bool *rounds;            /* by old Ref of a half: its op must round */
} Widen;

static bool is_half(const Node *x) { return x->dt == DT_F16 || x->dt == DT_BF16; }

static Ref own_type(Widen *w, Ref r) {
  if (!w->as_is[r]) w->as_is[r] = g_cast(w->ir, w->wide[r], (DType)node(w->ir, r)->dt);
  return w->as_is[r];
}

static Ref over(Widen *w, const Node *x, DType d) { /* x with widened sources, of type d */
  Ref *src = xmalloc((x->nsrc + 1u) * sizeof *src);
  for (int k = 0; k < x->nsrc; k++)
    src[k] = is_half(node(w->ir, x->src[k])) && x->op != OP_BITCAST ? w->wide[x->src[k]] : own_type(w, x->src[k]);
  Ref r = node_make(w->ir, (Op)x->op, d, 1, x->nsrc, src, x->narg, x->arg, x->rank, x->dims);
  free(src);
  return r;
}

static Ref own_types(Widen *w, Ref r) { /* r with sources of their own types */
  const Node *x = node(w->ir, r);
  Ref *src = xmalloc((x->nsrc + 1u) * sizeof *src);
  for (int k = 0; k < x->nsrc; k++) src[k] = own_type(w, x->src[k]);
  Ref same = node_with_src(w->ir, r, src);
  free(src);
  return same;
}

/* For halves, the result of x is a half, so computing it in f32 needs no rounding */
static bool is_exact(const Node *x) {
  if (op_info[x->op].algebra & MOVE) return true;
  switch ((Op)x->op) {
  case OP_NEG: case OP_ABS: case OP_TRUNC: case OP_FLOOR: case OP_CEIL: case OP_ROUND: case OP_MAX: case OP_MIN: case OP_WHERE:
  case OP_GATHER:
    return true;
  case OP_REDUCE: case OP_SCATTER: return x->arg[0] == OP_MAX || x->arg[0] == OP_MIN || x->arg[0] == OP_NONE;
  default: return false;
  }
}

/* Halves with further users than a sum, whose ops are not exact. */
static void find_roundings(Widen *w, const Refs *order, const Refs *roots) {
  for (size_t i = 0; i < order->n; i++) {
    const Node *x = node(w->ir, order->p[i]);
    for (int k = 0; k < x->nsrc; k++) {
      const Node *s = node(w->ir, x->src[k]);
      if (is_half(s) && !is_exact(s)) w->rounds[x->src[k]] |= x->op != OP_REDUCE || reduce_op(x) != OP_ADD || s->op != OP_MUL;
    }
  }
  for (size_t i = 0; i < roots->n; i++)
    w->rounds[roots->p[i]] |= is_half(node(w->ir, roots->p[i])) && !is_exact(node(w->ir, roots->p[i]));
}

/* Marks factors of summed products, and the movement below them, which the model has in half precision: a matrix unit takes
 * halves. */
static void find_factors(Widen *w, const Refs *order, const Device *dev) {
  bool *factor = xcalloc(w->ir->n, 1);
  for (size_t i = order->n; i-- > 0;) { /* users first */
    const Node *x = node(w->ir, order->p[i]);
    if (x->op == OP_REDUCE && reduce_op(x) == OP_ADD) {
      const Node *product = node(w->ir, view_base(w->ir, operand(x)));
      for (int k = 0; k < 2 && product->op == OP_MUL; k++) factor[product->src[k]] = true;
    }
    if (!factor[order->p[i]]) continue;
    const bool passes = op_info[x->op].algebra & MOVE || (x->op == OP_CAST && is_half(node(w->ir, operand(x))));
    for (int k = 0; k < x->nsrc && passes; k++) factor[x->src[k]] = true;
    w->rounds[order->p[i]] |= is_half(x) && !passes && device_multiplies(dev, (DType)x->dt);
  }
  free(factor);
}

static void widen_half(Widen *w, Ref r) {
  IR *ir = w->ir;
  const Node *x = node(ir, r), *s = x->nsrc ? node(ir, x->src[0]) : NULL;
  switch ((Op)x->op) {
  case OP_CONST:
    w->as_is[r] = r;
    w->wide[r] = c_float(ir, DT_F32, bits_to_double((DType)x->dt, const_value(x)));
    return;
  case OP_PARAM: case OP_WEIGHT: case OP_BITCAST:
    if (x->nsrc && s->op == OP_BITCAST && node(ir, operand(s))->dt == x->dt) w->as_is[r] = own_type(w, operand(s));
    else w->as_is[r] = x->nsrc ? over(w, x, (DType)x->dt) : r;
    w->wide[r] = g_cast(ir, w->as_is[r], DT_F32);
    return;
  case OP_CAST:
    if (!w->rounds[r] && s->dt == DT_F32 && w->halves[operand(x)]) w->wide[r] = own_type(w, operand(x));
    else {
      w->as_is[r] = g_cast(ir, own_type(w, operand(x)), (DType)x->dt);
      w->wide[r] = g_cast(ir, w->as_is[r], DT_F32);
    }
    return;
  default:
    if (w->window[r]) {
      w->as_is[r] = own_types(w, r);
      w->wide[r] = g_cast(ir, w->as_is[r], DT_F32);
    } else w->wide[r] = over(w, x, DT_F32);
    if (w->window[r] || !w->rounds[r]) return;
    w->as_is[r] = g_cast(ir, w->wide[r], (DType)x->dt);
    w->wide[r] = g_cast(ir, w->as_is[r], DT_F32);
  }
}

/* The window, and where its size is one of a run the two values between which it selects */
static void keep_window(Widen *w, Ref r) {
  const Node *x = node(w->ir, r);
  w->window[r] = true;
  for (int k = 1; k < x->nsrc && x->op == OP_WHERE; k++) w->window[x->src[k]] = true;
}

bool graph_promote_half(Graph *g, bool every, const Device *dev) {
  IR *ir = g->ir;
  Refs order = { 0 }, roots = { 0 };
  bool any = false;
  for (size_t i = 0; i < g->outputs.n; i++) VEC_PUSH(&roots, g->outputs.p[i].ref);
  ir_toposort(ir, roots.p, roots.n, &order);
  for (size_t i = 0; i < order.n; i++) any |= is_half(node(ir, order.p[i]));
  if (any) {
    size_t n = ir->n; /* old nodes only */
    Widen w = { ir, xmalloc(n * sizeof(Ref)), xmalloc(n * sizeof(Ref)), xmalloc(n), xmalloc(n), xmalloc(n) };
    memset(w.as_is, 0, n * sizeof(Ref));
    memset(w.wide, 0, n * sizeof(Ref));
    memset(w.halves, 0, n);
    memset(w.window, 0, n);
    memset(w.rounds, 0, n);
    for (size_t k = 0; k < g->states.n; k++)
      if (g->states.p[k].axis >= 0) keep_window(&w, g->outputs.p[graph_nout(g) + k].ref);
    if (every) find_roundings(&w, &order, &roots);
    if (device_multiplies(dev, DT_F16) || device_multiplies(dev, DT_BF16)) find_factors(&w, &order, dev);
    for (size_t i = 0; i < order.n; i++) {
      Ref r = order.p[i];
      const Node *x = node(ir, r);
      ir->origin = x->origin;
      if (is_half(x)) {
        widen_half(&w, r);
        continue;
      }
      bool from_half = x->op == OP_CAST && is_half(node(ir, operand(x)));
      w.as_is[r] = from_half ? g_cast(ir, w.wide[operand(x)], (DType)x->dt) : x->nsrc ? over(&w, x, (DType)x->dt) : r;
      bool pure = x->dt == DT_F32 && (x->nsrc || x->op == OP_CONST || x->op == OP_WEIGHT);
      for (int k = 0; k < x->nsrc && pure && !from_half; k++)
        pure = !dt_float((DType)node(ir, x->src[k])->dt) || w.halves[x->src[k]];
      w.halves[r] = pure;
    }
    for (size_t i = 0; i < g->outputs.n; i++) g->outputs.p[i].ref = own_type(&w, g->outputs.p[i].ref);
    free(w.as_is);
    free(w.wide);
    free(w.halves);
    free(w.window);
    free(w.rounds);
  }
  VEC_FREE(&order);
  VEC_FREE(&roots);
  return any;
}

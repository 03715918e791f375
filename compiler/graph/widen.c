/* widen.c: half precision is a format of memory, not of arithmetic. f16 and bf16 values between the
 * inputs and the outputs of a graph become f32, as ONNX Runtime and C's FLT_EVAL_METHOD do it: more
 * exact, and faster on CPUs, which convert in a few instructions but compute in none.
 *
 * A rounding stays where the user can see it: at outputs, in BITCAST, and in a CAST from a value
 * that was f32 or f64 in its own right, so that f32 -> f16 -> f32 remains two conversions. A CAST
 * back from arithmetic on widened halves is dropped. A window that is kept between runs stays one in its
 * own type: what is appended is rounded, and read as it will be read in later runs.
 *
 * needs: any graph    keeps: shapes, types of inputs and outputs    breaks: roundings, of which there are fewer */
#include "graph.h"
#include <stdlib.h>
#include <string.h>

typedef struct Widen {
  IR *ir;
  Ref *as_is;              /* by old Ref: the node of its own type; 0: made from wide when asked for */
  Ref *wide;               /* by old Ref of a half: the same value in f32 */
  bool *window;            /* by old Ref: a state to which something is appended */
  bool *halves;            /* by old Ref of an f32: made of halves and constants only */
} Widen;

static bool is_half(const Node *x) { return x->dt == DT_F16 || x->dt == DT_BF16; }

static Ref own_type(Widen *w, Ref r) {
  if (!w->as_is[r]) w->as_is[r] = g_cast(w->ir, w->wide[r], (DType)node(w->ir, r)->dt);
  return w->as_is[r];
}

static Ref over(Widen *w, const Node *x, DType d) { /* x over widened sources, of type d */
  Ref *src = xmalloc((x->nsrc + 1u) * sizeof *src);
  for (int k = 0; k < x->nsrc; k++)
    src[k] = is_half(node(w->ir, x->src[k])) && x->op != OP_BITCAST ? w->wide[x->src[k]] : own_type(w, x->src[k]);
  Ref r = node_make(w->ir, (Op)x->op, d, 1, x->nsrc, src, x->narg, x->arg, x->rank, x->dims);
  free(src);
  return r;
}

static Ref own_types(Widen *w, Ref r) { /* r over sources of their own type */
  const Node *x = node(w->ir, r);
  Ref *src = xmalloc((x->nsrc + 1u) * sizeof *src);
  for (int k = 0; k < x->nsrc; k++) src[k] = own_type(w, x->src[k]);
  Ref same = node_with_src(w->ir, r, src);
  free(src);
  return same;
}

static void widen_half(Widen *w, Ref r) {
  IR *ir = w->ir;
  const Node *x = node(ir, r), *s = x->nsrc ? node(ir, x->src[0]) : NULL;
  switch ((Op)x->op) {
  case OP_CONST:
    w->as_is[r] = r;
    w->wide[r] = c_float(ir, DT_F32, bits_to_double((DType)x->dt, x->arg[0]));
    return;
  case OP_PARAM: case OP_WEIGHT: case OP_BITCAST:
    w->as_is[r] = x->nsrc ? over(w, x, (DType)x->dt) : r;
    w->wide[r] = g_cast(ir, w->as_is[r], DT_F32);
    return;
  case OP_CAST:
    if (s->dt == DT_F32 && w->halves[x->src[0]]) w->wide[r] = own_type(w, x->src[0]);
    else {
      w->as_is[r] = g_cast(ir, own_type(w, x->src[0]), (DType)x->dt);
      w->wide[r] = g_cast(ir, w->as_is[r], DT_F32);
    }
    return;
  default:
    if (w->window[r]) {
      w->as_is[r] = own_types(w, r);
      w->wide[r] = g_cast(ir, w->as_is[r], DT_F32);
    } else w->wide[r] = over(w, x, DT_F32);
  }
}

bool graph_widen(Graph *g) {
  IR *ir = g->ir;
  Refs order = { 0 }, roots = { 0 };
  bool any = false;
  for (size_t i = 0; i < g->outputs.n; i++) VEC_PUSH(&roots, g->outputs.p[i].ref);
  ir_toposort(ir, roots.p, roots.n, &order);
  for (size_t i = 0; i < order.n; i++) any |= is_half(node(ir, order.p[i]));
  if (any) {
    size_t n = ir->n; /* old nodes only */
    Widen w = { ir, xmalloc(n * sizeof(Ref)), xmalloc(n * sizeof(Ref)), xmalloc(n), xmalloc(n) };
    memset(w.as_is, 0, n * sizeof(Ref));
    memset(w.wide, 0, n * sizeof(Ref));
    memset(w.halves, 0, n);
    memset(w.window, 0, n);
    for (size_t k = 0; k < g->states.n; k++) w.window[g->outputs.p[graph_nout(g) + k].ref] = g->states.p[k].axis >= 0;
    for (size_t i = 0; i < order.n; i++) {
      Ref r = order.p[i];
      const Node *x = node(ir, r);
      ir->origin = x->origin;
      if (is_half(x)) {
        widen_half(&w, r);
        continue;
      }
      bool from_half = x->op == OP_CAST && is_half(node(ir, x->src[0]));
      w.as_is[r] = from_half ? g_cast(ir, w.wide[x->src[0]], (DType)x->dt) : x->nsrc ? over(&w, x, (DType)x->dt) : r;
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
  }
  VEC_FREE(&order);
  VEC_FREE(&roots);
  return any;
}

/* promote_half.c: half precision is a format of memory, not of arithmetic. f16 and bf16 values between the inputs and
 * the outputs of a graph become f32: CPUs convert in a few instructions but compute in none.
 *
 * Where each op is to round, as the IR says, an op on halves is done in f32, and its result becomes a half and an
 * f32 again. f32 has more than twice the bits of both formats, plus two. So for + - * / and the square root this is
 * the correctly rounded half. Ops whose results are halves already need no rounding: movement, selection, signs,
 * whole numbers. A product that is only summed stays unrounded, as interp.h has it.
 *
 * Else values between ops stay f32, as ONNX Runtime and C's FLT_EVAL_METHOD do it: more exact, of a larger range, and
 * faster. A rounding stays where the user can see it: at outputs, in BITCAST, and in a CAST from a value that was
 * f32 or f64 in its own right, so that f32 -> f16 -> f32 remains two conversions. A CAST back from arithmetic on
 * widened halves is dropped: front ends write it around sums. Around a conversion that the model asks for they
 * write two BITCASTs, so that it rounds.
 *
 * A window that is kept between runs stays one in its own type: what is appended is rounded, and read as it will be
 * read in later runs.
 *
 * needs: any graph    keeps: shapes, types of inputs and outputs
 * breaks: without `every`, roundings, of which there are fewer */
#include "graph.h"
#include <stdlib.h>
#include <string.h>

typedef struct Widen {
  IR *ir;
  Ref *as_is;              /* by old Ref: the node of its own type; 0: made from wide when asked for */
  Ref *wide;               /* by old Ref of a half: the same value in f32 */
  bool *window;            /* by old Ref: a state to which something is appended */
  bool *halves;            /* by old Ref of an f32: made of halves and constants only */
  bool *rounds;            /* by old Ref of a half: its op is to round */
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

/* x over halves is a half: computing it in f32 rounds nothing */
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

/* Halves that more than a sum uses, and that are not exact anyway. */
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

bool graph_promote_half(Graph *g, bool every) {
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
    for (size_t k = 0; k < g->states.n; k++) w.window[g->outputs.p[graph_nout(g) + k].ref] = g->states.p[k].axis >= 0;
    if (every) find_roundings(&w, &order, &roots);
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

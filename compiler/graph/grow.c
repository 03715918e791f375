/* SPDX-License-Identifier: MIT */
/* grow.c: windows that start empty.
 *
 * In a growing window only the last positions are valid: those from extent of the past - length on. The length is a state of
 * its own, which counts. Values at earlier positions may be anything, in the window and in all that is computed from it
 * position by position. Only a reduction along the axis must not see them. So the walk follows the axis from the windows to
 * reductions. There it replaces invalid positions by the neutral number, such as minus infinity for a maximum. Any value is
 * allowed there, so the replacement serves all users, and is followed on. For instance, the exponential of minus infinity is 0,
 * and a sum of such values needs no mask. One mask serves a softmax and the product behind it.
 *
 * needs: states at the ends of the lists    gives: an equal graph for full windows    breaks: nothing */
#include "graph.h"
#include "../interp/interp.h"
#include "rules.h"
#include <math.h>
#include <string.h>

/* Facts about a value along the axis that grows. */
typedef struct Along {
  int axis;                /* -1: no axis of the value grows */
  int64_t past;            /* positions from past - length on are valid */
  bool known;              /* the other positions hold `fill` */
  int64_t fill;
} Along;

typedef struct Grow {
  Graph *g;
  IR *ir;
  RefMap now;              /* old node to new node */
  RefMap whole;            /* old node to its new node without the mask */
  VEC(Along) along;        /* by row of an old node */
  RefMap row;              /* old node to its row + 1 */
  Ref length;
} Grow;

static Along along_of(const Grow *w, Ref old) {
  Ref row = refmap_get(&w->row, old);
  return row ? w->along.p[row - 1] : (Along){ .axis = -1 };
}

static void set_along(Grow *w, Ref old, Along a) {
  if (a.axis < 0) return;
  VEC_PUSH(&w->along, a);
  refmap_set(&w->row, old, (Ref)w->along.n);
}

static Along refuse(const Grow *w, Ref r, const char *why) {
  fail_at(w->ir->ctx, EX_USAGE_, ir_pos(w->ir, r),
          "--state: %s the axis along which a state grows, so its result would depend on missing positions", why);
}

/* ---- one op ---- */
static bool is_value(const Along *a, DType d, double v) { return a->known && a->fill == double_to_bits(d, v); }

/* Elementwise; sources that do not grow may have any value but infinity. */
static Along elementwise(const Grow *w, Ref r) {
  const Node *x = node(w->ir, r);
  Along a = { .axis = -1 }, from[3];
  bool all = true;
  int64_t bits[3] = { 0 };
  DType d = (DType)x->dt;
  for (int k = 0; k < x->nsrc; k++) {
    from[k] = along_of(w, x->src[k]);
    all &= from[k].known || node_is_const(w->ir, x->src[k], &bits[k]);
    if (from[k].known) bits[k] = from[k].fill;
    if (from[k].axis < 0) continue;
    if (a.axis >= 0 && (a.axis != from[k].axis || a.past != from[k].past))
      return refuse(w, r, "it combines windows that differ in");
    a = from[k];
  }
  a.known = true;
  if (all) a.fill = interp_scalar((Op)x->op, d, (DType)node(w->ir, x->src[x->nsrc - 1])->dt, bits);
  else if ((x->op == OP_ADD || x->op == OP_SUB) && dt_float(d) && is_value(&from[0], d, -INFINITY)) a.fill = from[0].fill;
  else if ((x->op == OP_MUL || x->op == OP_DIV) && is_value(&from[0], d, 0)) a.fill = from[0].fill;
  else if (x->op == OP_MUL && is_value(&from[1], d, 0)) a.fill = from[1].fill;
  else a.known = false;
  return a;
}

static Along moved(const Grow *w, Ref r, Along a) {
  const Node *x = node(w->ir, r), *s = node(w->ir, operand(x));
  int axis = a.axis;
  switch ((Op)x->op) {
  case OP_RESHAPE:
    a.axis = reshape_axis(x, s, axis);
    return a.axis < 0 ? refuse(w, r, "it merges or splits") : a;
  case OP_PERMUTE:
    for (int i = 0; i < x->rank; i++)
      if (permute_perm(x, i) == axis) a.axis = i;
    return a;
  case OP_SHRINK:
    /* a part that is always valid */
    if (shrink_begin(x, axis) >= a.past && shrink_step(x, axis) > 0) return (Along){ .axis = -1 };
    if (shrink_begin(x, axis) || shrink_step(x, axis) != 1 || x->dims[axis] != s->dims[axis])
      return refuse(w, r, "it takes a part along");
    return a;
  case OP_WINDOW: return window_axis(x) == axis ? refuse(w, r, "it is a window along") : a;
  default: return a; /* EXPAND: of other axes */
  }
}

/* x with invalid positions replaced by v; *a: what is then known of it */
static Ref masked(Grow *w, Ref x, Along *a, double v) {
  IR *ir = w->ir;
  const Node *n = node(ir, x);
  int64_t dims[MAX_RANK];
  for (int i = 0; i < n->rank; i++) dims[i] = i == a->axis ? n->dims[i] : 1;
  Ref at = g_reshape(ir, g_iota(ir, DT_I64, n->dims[a->axis]), n->rank, dims);
  Ref first = g_binary(ir, OP_SUB, c_int(ir, DT_I64, a->past), w->length);
  DType d = (DType)n->dt;
  a->known = true;
  a->fill = double_to_bits(d, v);
  return g_where(ir, g_binary(ir, OP_CMPLE, first, at), x, c_bits(ir, d, a->fill));
}

static double neutral(Op op, DType d) {
  bool real = dt_float(d);
  switch (op) {
  case OP_MAX: return real ? -INFINITY : -ldexp(1, 63); /* saturates */
  case OP_MIN: return real ? INFINITY : ldexp(1, 63);
  case OP_MUL: return 1;
  default: return 0;
  }
}

/* Chooses the value to mask. In a sum of products it is a factor that is not just a view of the window. A mask costs nothing
 * where such a factor is computed. */
static Ref to_mask(const Grow *w, const Node *x) {
  const Node *m = node(w->ir, operand(x));
  if (reduce_op(x) != OP_ADD || m->op != OP_MUL || lhs(m) == rhs(m)) return operand(x);
  for (int k = 0; k < 2; k++) {
    Ref base = m->src[k];
    while (op_info[node(w->ir, base)->op].algebra & MOVE) base = node(w->ir, base)->src[0];
    if (along_of(w, m->src[k]).axis >= 0 && node(w->ir, base)->op != OP_PARAM) return m->src[k];
  }
  return operand(x);
}

static void rebuild(Grow *w, Ref r) {
  const Node *x = node(w->ir, r);
  Ref src[8], *s = x->nsrc > 8 ? xmalloc(x->nsrc * sizeof *s) : src;
  for (int k = 0; k < x->nsrc; k++) s[k] = refmap_get(&w->now, x->src[k]);
  refmap_set(&w->now, r, x->nsrc ? node_with_src(w->ir, r, s) : r);
  if (s != src) free(s);
}

static Along reduced(Grow *w, Ref r, Along a) {
  const Node *x = node(w->ir, r);
  DType d = (DType)x->dt;
  Op op = reduce_op(x);
  if (!(reduce_axes(x) >> a.axis & 1)) {
    a.known &= op == OP_MAX || op == OP_MIN || (op == OP_ADD && is_value(&a, d, 0));
    return a;
  }
  if (!is_value(&a, d, neutral(op, d))) {
    Ref old = to_mask(w, x);
    Along to = along_of(w, old);
    if (!refmap_get(&w->whole, old)) refmap_set(&w->whole, old, refmap_get(&w->now, old));
    refmap_set(&w->now, old, masked(w, refmap_get(&w->now, old), &to, neutral(op, d)));
    w->along.p[refmap_get(&w->row, old) - 1] = to;
    if (old != operand(x)) rebuild(w, operand(x));
  }
  return (Along){ .axis = -1 };
}

static Along concatenated(const Grow *w, Ref r) {
  const Node *x = node(w->ir, r);
  Along a = { .axis = -1 };
  for (int k = 0; k < x->nsrc; k++) {
    Along s = along_of(w, x->src[k]);
    if (s.axis < 0) continue;
    if (s.axis == cat_axis(x)) return refuse(w, r, "it concatenates along");
    if (a.axis >= 0 && (a.axis != s.axis || a.past != s.past)) return refuse(w, r, "it combines windows that differ in");
    a = s;
  }
  a.known = false;
  return a;
}

static Along follow(Grow *w, Ref r) {
  const Node *x = node(w->ir, r);
  Along a = { .axis = -1 }, s = x->nsrc ? along_of(w, x->src[0]) : a;
  bool any = false;
  for (int k = 0; k < x->nsrc; k++) any |= along_of(w, x->src[k]).axis >= 0;
  if (!any) return a;
  switch ((Op)x->op) {
  case OP_CAT: return concatenated(w, r);
  case OP_REDUCE: return reduced(w, r, s);
  case OP_PAD: return pad_lo(x, s.axis) || pad_hi(x, s.axis) ? refuse(w, r, "it pads") : s;
  case OP_GATHER: case OP_SCATTER: return refuse(w, r, "it looks up values of");
  default: return op_info[x->op].algebra & MOVE ? moved(w, r, s) : elementwise(w, r);
  }
}

/* ---- the graph ---- */
static Ref add_length(Graph *g, int64_t taken, int64_t most) {
  IR *ir = g->ir;
  uint32_t origin = ir->origin;
  ir->origin = 0;
  Ref length = g_param(ir, DT_I64, 0, NULL, (int)g->inputs.n);
  Ref next = g_binary(ir, OP_MIN, g_binary(ir, OP_ADD, length, c_int(ir, DT_I64, taken)), c_int(ir, DT_I64, most));
  ir->origin = origin;
  VEC_PUSH(&g->inputs, ((GIO){ .ref = length, .name = "length", .dt = DT_I64 }));
  VEC_PUSH(&g->outputs, ((GIO){ .ref = next, .name = "length", .dt = DT_I64 }));
  if (g->guarded) { /* the guard stays last */
    GIO *last = &g->outputs.p[g->outputs.n - 1], length_out = *last;
    last[0] = last[-1];
    last[-1] = length_out;
  }
  VEC_PUSH(&g->states, ((GState){ .axis = -1 }));
  g->grows = true;
  return length;
}

void graph_grow(Graph *g, const bool *grows) {
  Ctx *c = g->ir->ctx;
  Grow w = { .g = g, .ir = g->ir };
  Refs roots = { 0 }, order = { 0 };
  size_t n = g->states.n, nin = graph_nin(g), nout = graph_nout(g);
  int64_t taken = 0, most = 0;
  for (size_t k = 0; k < n; k++) {
    if (!grows[k]) continue;
    const GState *s = &g->states.p[k];
    const GIO *past = &g->inputs.p[nin + k];
    if (taken && taken != s->taken)
      fail(c, EX_USAGE_, "--state: '%s' grows by %lld per run, but another state by %lld", past->name, (long long)s->taken,
           (long long)taken);
    taken = s->taken;
    if (past->dims[s->axis] > most) most = past->dims[s->axis];
    Along a = { .axis = s->axis, .past = past->dims[s->axis] };
    set_along(&w, past->ref, a);
    set_along(&w, g->outputs.p[nout + k].ref, a);
  }
  if (!taken) return;
  for (size_t i = 0; i < g->outputs.n; i++) VEC_PUSH(&roots, g->outputs.p[i].ref);
  ir_toposort(g->ir, roots.p, roots.n, &order);
  w.length = add_length(g, taken, most);
  for (size_t i = 0; i < order.n; i++) {
    Ref r = order.p[i];
    g->ir->origin = node(g->ir, r)->origin;
    if (!refmap_get(&w.row, r)) set_along(&w, r, follow(&w, r));
    rebuild(&w, r);
  }
  for (size_t i = 0; i < roots.n; i++) {
    const bool guard = i == nout + n, window = i >= nout && !guard && grows[i - nout];
    GIO *out = &g->outputs.p[guard ? g->outputs.n - 1 : i]; /* the length stands before the guard now */
    if (!window && along_of(&w, roots.p[i]).axis >= 0)
      fail(c, EX_USAGE_, "--state: output '%s' runs along the axis along which a state grows", out->name);
    Ref whole = refmap_get(&w.whole, roots.p[i]);
    out->ref = whole ? whole : refmap_get(&w.now, roots.p[i]);
  }
  g->ir->origin = 0;
  VEC_FREE(&roots);
  VEC_FREE(&order);
  VEC_FREE(&w.along);
  refmap_free(&w.now);
  refmap_free(&w.whole);
  refmap_free(&w.row);
}

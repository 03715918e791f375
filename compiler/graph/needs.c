/* SPDX-License-Identifier: MIT */
/* needs.c: how much of each value a run needs, if a run sets the outermost extent n of inputs and outputs.
 *
 * All shapes have the greatest n. A run needs the first n entries of such outputs. The walk goes from users to sources. A rule per
 * op says from which entries of a source the needed entries are computed. So the other entries have no effect on a needed one.
 * Along a merged axis, n entries become n * per. Where an op mixes entries along the axis, all of the source is needed. If that is
 * an input with the extent n, there is no such bundle.
 *
 * needs: any graph, GIO.open    gives: a Need for each node below the outputs    keeps: the graph */
#include "../ir/refmap.h"
#include "graph.h"
#include <stdlib.h>

typedef struct Needs {
  const Graph *g;
  const IR *ir;
  Need *of;                /* by Ref */
  Ref *cause;              /* by Ref, where all is needed: the node because of which; 0: an output without the axis */
  Refs order;
  RefMap yields;           /* 1 + loop * 4096 + place, to the YIELD */
  bool changed;
} Needs;

static const Need all = { NEED_ALL, 0 };

/* Adds a need of r because of node `cause` */
static void need(Needs *w, Ref r, Need n, Ref cause) {
  Need *had = &w->of[r];
  if (n.axis == NEED_NOTHING || had->axis == NEED_ALL || (had->axis == n.axis && had->per == n.per)) return;
  const bool first = had->axis == NEED_NOTHING;
  *had = first || n.axis == NEED_ALL ? n : all;
  if (had->axis == NEED_ALL) w->cause[r] = cause;
  w->changed = true;
}

static int64_t product(const int64_t *dims, int from, int to) {
  int64_t n = 1;
  for (int a = from; a < to; a++) n *= dims[a];
  return n;
}

/* The source's axis that begins with the same entries as the result's */
static Need through_reshape(const IR *ir, const Node *x, const Node *y, Need n) {
  const int64_t outer = product(x->dims, 0, n.axis), most = ir->symbol.high;
  for (int a = 0; a < y->rank; a++)
    if (product(y->dims, 0, a) == outer && y->dims[a] != 1)
      return y->dims[a] % most ? all : (Need){ a, y->dims[a] / most };
  return all;
}

Need graph_need_of_source(const IR *ir, const Node *x, int k, Need n) {
  if (n.axis < 0) return n;
  const Node *y = node(ir, x->src[k]);
  const int axis = n.axis;
  const bool same = axis < y->rank && y->dims[axis] == x->dims[axis];
  switch ((Op)x->op) {
  case OP_RESHAPE: return through_reshape(ir, x, y, n);
  case OP_PERMUTE: return (Need){ (int)permute_perm(x, axis), n.per };
  case OP_EXPAND: case OP_STORED: case OP_CARRIED: return same ? n : all;
  case OP_SHRINK: return same && shrink_begin(x, axis) == 0 && shrink_step(x, axis) == 1 ? n : all;
  case OP_WINDOW: return same && axis != window_axis(x) ? n : all;
  case OP_PAD: return !k && same ? n : all;
  case OP_CAT: return axis != cat_axis(x) && same ? n : all;
  case OP_REDUCE: return same ? n : all;
  case OP_GATHER: return same && (k || axis != gather_axis(x)) ? n : all;
  case OP_SCATTER: return same && axis != scatter_axis(x) ? n : all;
  case OP_WALK: return !k && !axis && same ? n : all;
  case OP_SLICE: return (Need){ axis < slice_axis(x) ? axis : axis + 1, n.per };
  case OP_YIELD:
    if (yield_place(x) >= 0) return n;
    return axis == yield_axis(x) ? all : (Need){ axis < yield_axis(x) ? axis : axis - 1, n.per };
  default: return op_info[x->op].level == L_EXPR && same ? n : all;
  }
}

static Ref yield_key(int64_t loop, int64_t place) { return (Ref)(1 + loop * 4096 + place); }

static void visit(Needs *w, Ref r) {
  const Node *x = node(w->ir, r);
  const Need n = w->of[r];
  if (n.axis == NEED_NOTHING || x->op == OP_ITERATE) return;
  if (x->op == OP_RESULT) {
    need(w, node(w->ir, operand(x))->src[result_at(x)], n, n.axis == NEED_ALL ? w->cause[r] : r);
    need(w, operand(x), all, w->cause[r]);
    return;
  }
  for (int k = 0; k < x->nsrc; k++)
    need(w, x->src[k], graph_need_of_source(w->ir, x, k, n), n.axis == NEED_ALL ? w->cause[r] : r);
  const Ref next = x->op == OP_CARRIED ? refmap_get(&w->yields, yield_key(carried_loop(x), carried_place(x))) : 0;
  if (next) need(w, next, n, w->cause[r]);
}

/* A carried value and what replaces it are one value, so both are needed alike. */
static void tie(Needs *w, Ref yield) {
  const Node *x = node(w->ir, yield);
  if (x->op != OP_YIELD || yield_place(x) < 0) return;
  for (size_t i = 0; i < w->order.n; i++) {
    const Node *y = node(w->ir, w->order.p[i]);
    if (y->op == OP_CARRIED && carried_loop(y) == yield_loop(x) && carried_place(y) == yield_place(x))
      need(w, w->order.p[i], w->of[yield], w->cause[yield]);
  }
}

static void refuse(const Needs *w, const GIO *in, Ref cause) {
  Ctx *c = w->ir->ctx;
  if (!cause)
    fail(c, EX_BADMODEL, "--dim %s: all of input '%s' goes into an output without that dimension, so its size must be one number",
         w->ir->symbol.name, in->name);
  fail_at(c, EX_BADMODEL, ir_pos(w->ir, cause),
          "--dim %s: the node combines entries along that dimension, so its size must be one number", w->ir->symbol.name);
}

const Need *graph_needs(const Graph *g) {
  const IR *ir = g->ir;
  Needs w = { .g = g, .ir = ir };
  Refs roots = { 0 };
  w.of = ARENA_NEW(&ir->ctx->model, Need, ir->n);
  w.cause = xcalloc(ir->n, sizeof *w.cause);
  for (uint32_t i = 0; i < ir->n; i++) w.of[i].axis = NEED_NOTHING;
  for (size_t i = 0; i < g->outputs.n; i++) {
    const GIO *o = &g->outputs.p[i];
    VEC_PUSH(&roots, o->ref);
    need(&w, o->ref, o->open ? (Need){ o->open - 1, 1 } : all, 0);
  }
  ir_toposort(ir, roots.p, roots.n, &w.order);
  for (size_t i = 0; i < w.order.n; i++) {
    const Node *x = node(ir, w.order.p[i]);
    if (x->op == OP_YIELD && yield_place(x) >= 0) refmap_set(&w.yields, yield_key(yield_loop(x), yield_place(x)), w.order.p[i]);
  }
  do { /* once, but for carried values */
    w.changed = false;
    for (size_t i = w.order.n; i-- > 0;) {
      visit(&w, w.order.p[i]);
      tie(&w, w.order.p[i]);
    }
  } while (w.changed && w.yields.n);
  for (size_t i = 0; i < g->inputs.n; i++) {
    const GIO *in = &g->inputs.p[i];
    const Need n = in->ref < ir->n ? w.of[in->ref] : all;
    if (in->open && n.axis != NEED_NOTHING && (n.axis != in->open - 1 || n.per != 1)) refuse(&w, in, w.cause[in->ref]);
  }
  refmap_free(&w.yields);
  free(w.cause);
  VEC_FREE(&w.order);
  VEC_FREE(&roots);
  return w.of;
}

/* SPDX-License-Identifier: MIT */
/* needs.c: how much of each value a run needs, if a run sets extents of inputs and outputs.
 *
 * All shapes have the greatest sizes. A run of size n needs the first n entries of an output along the axis with that extent. The
 * walk goes from users to sources. A rule per op says from which entries of a source the needed entries are computed. So the other
 * entries have no effect on a needed one. A need is a list of conditions (Needed). The scores of an attention have two: the
 * first n rows, and in each row the first n entries. A reduction along the axis needs the first n entries if its source is a
 * size mask: WHERE(position < n, value, identity). The front end puts it there (frontends/sized.c). Where an op mixes entries
 * along the axis otherwise, all of the source is needed. If this is an input with the extent n, there is no such bundle.
 *
 * needs: any graph, GIO.open    gives: the need of each node below the outputs    keeps: the graph */
#include "../ir/refmap.h"
#include "graph.h"
#include <stdlib.h>
#include <string.h>

typedef struct Needs {
  const Graph *g;
  const IR *ir;
  Needed *of;              /* by Ref */
  Needed *open;            /* by Ref: conditions on axes whose extent a run sets because an input has it */
  Ref *cause;              /* by Ref: the node because of which a condition was dropped last; 0: an output without the axis */
  Refs order;
  RefMap yields;           /* 1 + loop * 4096 + place, to the YIELD */
  bool changed;
} Needs;

static const Needed all = { 0 };

/* Adds a need of r because of node `cause`. Conditions stay only if all users have them. */
static void need(Needs *w, Ref r, Needed n, Ref cause) {
  Needed *had = &w->of[r];
  if (n.n == NEED_NOTHING) return;
  const Needed both = had->n == NEED_NOTHING ? n : needed_both(had, &n);
  if (both.n == had->n) return;
  *had = both;
  w->cause[r] = cause;
  w->changed = true;
}

/* ---- conditions and axes ---- */
static int64_t product(const int64_t *dims, int from, int to) {
  int64_t n = 1;
  for (int a = from; a < to; a++) n *= dims[a];
  return n;
}

int need_axis(const IR *ir, const Node *x, Need c, int64_t *within) {
  int64_t stride = 1;
  for (int a = x->rank - 1; a >= 0 && stride; stride *= x->dims[a--]) {
    if (x->dims[a] == 1 || c.inner % stride) continue;
    *within = c.inner / stride;
    if (x->dims[a] && x->dims[a] % (*within * need_high(ir, c)) == 0) return a;
  }
  return -1;
}

bool need_lies_in(const IR *ir, const Node *x, const Needed *n, int axis) {
  int64_t within;
  bool any = false;
  for (int k = 0; k < n->n; k++) any |= need_axis(ir, x, n->of[k], &within) == axis;
  return any;
}

void need_dims(const IR *ir, const Node *x, const Needed *n, const int64_t *run, int64_t *dims) {
  int64_t within;
  for (int a = 0; a < x->rank; a++) dims[a] = x->dims[a];
  for (int k = 0; k < n->n; k++) {
    const int a = need_axis(ir, x, n->of[k], &within), symbol = n->of[k].symbol;
    if (a >= 0) dims[a] = dims[a] / ir->symbols.p[symbol].high * run[symbol];
  }
}

/* ---- masks ---- */
enum { VIEWS_MOST = 24 }; /* most ops between a mask and its positions */

/* The symbol whose size r is; -1: it is none */
static int symbol_of(const IR *ir, Ref r) {
  const Node *x = node(ir, view_base(ir, r));
  const tgcrt_size *s = x->op == OP_SIZE ? &ir->sizes.p[size_id(x)] : NULL;
  return s && s->rule == TGCRT_SIZE_ALL && s->times == 1 ? s->symbol : -1;
}

static Ref compared(const Node *x) { return x->op == OP_CMPLT ? lhs(x) : operand(x); }

/* The condition that holds for the elements for which r is true, and for no others; inner 0: there is none */
static Need first_entries(const IR *ir, Ref r) {
  static const Need none = { 0 };
  Ref chain[VIEWS_MOST];
  int n = 0, compares = 0;
  int64_t within;
  Need c = { 1, 0 };
  for (; node(ir, r)->op != OP_IOTA; r = compared(node(ir, r))) {
    const Node *x = node(ir, r);
    const int symbol = x->op == OP_CMPLT ? symbol_of(ir, rhs(x)) : -1;
    if (n == VIEWS_MOST || (symbol < 0 && x->op != OP_RESHAPE && x->op != OP_EXPAND && x->op != OP_PERMUTE)) return none;
    if (symbol >= 0) compares++, c.symbol = symbol;
    chain[n++] = r;
  }
  if (compares != 1 || node(ir, r)->dims[0] != need_high(ir, c)) return none;
  while (n--) {
    const Node *x = node(ir, chain[n]), *y = node(ir, compared(x));
    int axis = need_axis(ir, y, c, &within), to = 0;
    if (axis < 0) return none;
    if (x->op == OP_RESHAPE) {
      if (need_axis(ir, x, c, &within) < 0) return none;
      continue;
    }
    while (x->op == OP_PERMUTE && permute_perm(x, to) != axis) to++;
    if (x->op == OP_PERMUTE) axis = to;
    c.inner = within * product(x->dims, axis + 1, x->rank);
  }
  return c;
}

Need graph_size_mask(const IR *ir, Ref r) {
  const Node *x = node(ir, r);
  const bool may = ir->symbols.n && x->op == OP_WHERE && node_is_const(ir, where_no(x), NULL);
  return may ? first_entries(ir, where_cond(x)) : (Need){ 0 };
}

Ref graph_masked(IR *ir, Ref x, int axis, int symbol, Op reduction) {
  const DType d = (DType)node(ir, x)->dt;
  const int rank = node(ir, x)->rank;
  int64_t dims[MAX_RANK];
  for (int a = 0; a < rank; a++) dims[a] = a == axis ? node(ir, x)->dims[a] : 1;
  const Ref size = size_value(ir, size_number(ir, size_row(symbol, 1)));
  const Ref below = g_binary(ir, OP_CMPLT, g_iota(ir, DT_I64, dims[axis]), size);
  return g_where(ir, g_reshape(ir, below, rank, dims), x, c_bits(ir, d, reduce_identity(reduction, d)));
}

/* ---- rules ---- */
/* The axis of source k with the same entries as `axis` of x; -1: there is none */
static int source_axis(const Node *x, const Node *y, int k, int axis) {
  int at = axis;
  bool same = true;
  switch ((Op)x->op) {
  case OP_PERMUTE: at = (int)permute_perm(x, axis); break;
  case OP_EXPAND: case OP_STORED: case OP_CARRIED: case OP_REDUCE: break;
  case OP_SHRINK: same = shrink_begin(x, axis) == 0 && shrink_step(x, axis) == 1; break;
  case OP_WINDOW: same = axis != window_axis(x); break;
  case OP_PAD: same = !k; break;
  case OP_CAT: same = axis != cat_axis(x); break;
  case OP_GATHER: same = k || axis != gather_axis(x); break;
  case OP_SCATTER: same = axis != scatter_axis(x); break;
  case OP_WALK: same = !k && !axis; break;
  case OP_SLICE: at = axis < slice_axis(x) ? axis : axis + 1; break;
  case OP_YIELD:
    if (yield_place(x) >= 0) break;
    same = axis != yield_axis(x);
    at = axis < yield_axis(x) ? axis : axis - 1;
    break;
  default: same = op_info[x->op].level == L_EXPR; break;
  }
  return same && at < y->rank && y->dims[at] == x->dims[axis] ? at : -1;
}

/* Adds the conditions of the size masks that a reduction takes its terms from. */
static void add_masks(const IR *ir, const Node *reduce, Needed *to) {
  int64_t other;
  for (Ref r = operand(reduce); node(ir, r)->op == OP_WHERE; r = where_yes(node(ir, r))) {
    const Need mask = graph_size_mask(ir, r);
    if (!mask.inner || !node_is_const(ir, where_no(node(ir, r)), &other) ||
        other != reduce_identity(reduce_op(reduce), (DType)reduce->dt))
      return;
    needed_add(to, mask);
  }
}

Needed graph_need_of_source(const IR *ir, Ref r, int k, const Needed *n) {
  const Node *x = node(ir, r), *y = node(ir, x->src[k]);
  Needed out = { n->n == NEED_NOTHING ? NEED_NOTHING : 0, { { 0 } } };
  int64_t within;
  for (int i = 0; i < n->n; i++) {
    int axis = need_axis(ir, x, n->of[i], &within);
    if (x->op == OP_RESHAPE) { /* elements keep their numbers */
      if (need_axis(ir, y, n->of[i], &within) >= 0) needed_add(&out, n->of[i]);
      continue;
    }
    axis = axis < 0 ? -1 : source_axis(x, y, k, axis);
    if (axis >= 0) needed_add(&out, (Need){ within * product(y->dims, axis + 1, y->rank), n->of[i].symbol });
  }
  const bool value = x->op == OP_WHERE && k == 1;
  const Need mask = n->n >= 0 && value ? graph_size_mask(ir, r) : (Need){ 0 };
  if (mask.inner) needed_add(&out, mask);
  if (n->n >= 0 && x->op == OP_REDUCE) add_masks(ir, x, &out);
  return out;
}

/* The conditions of a value from those of its sources */
static Needed open_of(const Needs *w, Ref r) {
  const IR *ir = w->ir;
  const Node *x = node(ir, r);
  Needed out = { 0 };
  int64_t within;
  if (x->op == OP_PARAM) out = needed_of_value(&w->g->inputs.p[param_slot(x)]);
  for (int k = 0; k < x->nsrc && x->op != OP_ITERATE && x->op != OP_RESULT; k++) {
    const Node *y = node(ir, x->src[k]);
    const Needed *from = &w->open[x->src[k]];
    for (int i = 0; i < from->n; i++) {
      const Need c = from->of[i];
      if (x->op == OP_RESHAPE && need_axis(ir, x, c, &within) >= 0) needed_add(&out, c);
      const int axis = need_axis(ir, y, c, &within);
      for (int a = 0; a < x->rank && x->op != OP_RESHAPE; a++)
        if (axis >= 0 && source_axis(x, y, k, a) == axis)
          needed_add(&out, (Need){ within * product(x->dims, a + 1, x->rank), c.symbol });
    }
  }
  return out;
}

/* A part of an axis that every run has: its source is needed as far as the run's size. */
static void add_common_part(const Needs *w, Ref r, Needed *of) {
  const Node *x = node(w->ir, r), *y = node(w->ir, operand(x));
  const Needed *open = &w->open[operand(x)];
  int64_t within;
  for (int i = 0; i < open->n; i++) {
    const Symbol *s = &w->ir->symbols.p[open->of[i].symbol];
    const int a = need_axis(w->ir, y, open->of[i], &within);
    const int64_t first = shrink_begin(x, a), last = first + (x->dims[a] - 1) * shrink_step(x, a);
    if (y->dims[a] == within * s->high && (first > last ? first : last) < within * s->low) needed_add(of, open->of[i]);
  }
}

static Ref yield_key(int64_t loop, int64_t place) { return (Ref)(1 + loop * 4096 + place); }

static void visit(Needs *w, Ref r) {
  const Node *x = node(w->ir, r);
  const Needed n = w->of[r];
  if (n.n == NEED_NOTHING || x->op == OP_ITERATE) return;
  if (x->op == OP_RESULT) {
    need(w, node(w->ir, operand(x))->src[result_at(x)], n, n.n ? r : w->cause[r]);
    need(w, operand(x), all, w->cause[r]);
    return;
  }
  for (int k = 0; k < x->nsrc; k++) {
    Needed of = graph_need_of_source(w->ir, r, k, &n);
    if (x->op == OP_SHRINK) add_common_part(w, r, &of);
    need(w, x->src[k], of, of.n < n.n ? r : w->cause[r]);
  }
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

static void refuse(const Needs *w, const GIO *in, const Symbol *s, Ref cause) {
  Ctx *c = w->ir->ctx;
  if (!cause)
    fail(c, EX_BADMODEL, "--dim %s: all of input '%s' goes into an output without that dimension, so its size must be one number",
         s->name, in->name);
  fail_at(c, EX_BADMODEL, ir_pos(w->ir, cause),
          "--dim %s: the node combines entries along that dimension, so its size must be one number", s->name);
}

const Needed *graph_needs(const Graph *g) {
  const IR *ir = g->ir;
  Needs w = { .g = g, .ir = ir };
  Refs roots = { 0 };
  w.of = ARENA_NEW(&ir->ctx->model, Needed, ir->n);
  w.cause = xcalloc(ir->n, sizeof *w.cause);
  w.open = xcalloc(ir->n, sizeof *w.open);
  for (uint32_t i = 0; i < ir->n; i++) w.of[i].n = NEED_NOTHING;
  for (size_t i = 0; i < g->outputs.n; i++) {
    const GIO *o = &g->outputs.p[i];
    VEC_PUSH(&roots, o->ref);
    need(&w, o->ref, needed_of_value(o), 0);
  }
  ir_toposort(ir, roots.p, roots.n, &w.order);
  for (size_t i = 0; i < w.order.n; i++) {
    const Node *x = node(ir, w.order.p[i]);
    if (x->op == OP_YIELD && yield_place(x) >= 0) refmap_set(&w.yields, yield_key(yield_loop(x), yield_place(x)), w.order.p[i]);
  }
  for (size_t i = 0; i < w.order.n; i++) w.open[w.order.p[i]] = open_of(&w, w.order.p[i]);
  do { /* once, but for carried values */
    w.changed = false;
    for (size_t i = w.order.n; i-- > 0;) {
      visit(&w, w.order.p[i]);
      tie(&w, w.order.p[i]);
    }
  } while (w.changed && w.yields.n);
  for (size_t i = 0; i < g->inputs.n; i++) {
    const GIO *in = &g->inputs.p[i];
    const Needed n = w.of[in->ref], has = needed_of_value(in);
    for (int k = 0; k < has.n; k++)
      if (n.n != NEED_NOTHING && !needed_has(&n, has.of[k])) refuse(&w, in, &ir->symbols.p[has.of[k].symbol], w.cause[in->ref]);
  }
  refmap_free(&w.yields);
  free(w.cause);
  free(w.open);
  VEC_FREE(&w.order);
  VEC_FREE(&roots);
  return w.of;
}

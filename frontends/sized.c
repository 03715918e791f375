/* SPDX-License-Identifier: MIT */
/* sized.c: a graph for a range of sizes of one dimension, and the proof that it is one.
 *
 * The front ends build a graph for one size. So the graph of the greatest size is built, and what runs of n need of each value
 * (graph/needs.c). For each n of the range, the graph is cut to the needs of n. The result must be what the front end builds for
 * n. A model whose arithmetic depends on the size in another way, such as a mean over the batch, differs and is
 * refused.
 *
 * needs: a model with an open dimension    gives: the graph of the greatest size, with IR.symbol and GIO.open   breaks: nothing */
#include "../compiler/graph/graph.h"
#include "../compiler/interp/interp.h"
#include "../compiler/ir/refmap.h"
#include "sized.h"
#include <stdlib.h>
#include <string.h>

/* ---- the graph of n ---- */
typedef struct Cut {
  const IR *from;
  IR *to;
  const Need *needs;
  int64_t n;
  Ref *now;                /* by Ref of `from` */
} Cut;

static const int64_t *cut_dims(const Cut *w, Ref r, int64_t *dims) {
  const Node *x = node(w->from, r);
  for (int a = 0; a < x->rank; a++) dims[a] = a == w->needs[r].axis ? w->n * w->needs[r].per : x->dims[a];
  return dims;
}

/* The first elements of a tensor along the axis that is cut */
static Tensor cut_tensor(const Cut *w, const Tensor *t, int axis, const int64_t *dims) {
  Tensor part = *t;
  int64_t outer = 1, inner = dt_bytes(t->dt);
  memcpy(part.dims, dims, (size_t)t->rank * sizeof *dims);
  part.elems = dims_elems(dims, t->rank);
  if (axis < 0 || !t->data) return part;
  for (int a = 0; a < axis; a++) outer *= dims[a];
  for (int a = axis + 1; a < t->rank; a++) inner *= dims[a];
  char *p = arena_alloc(&w->to->ctx->model, (size_t)(part.elems * dt_bytes(t->dt)));
  for (int64_t i = 0; i < outer; i++)
    memcpy(p + i * inner * dims[axis], (const char *)t->data + i * inner * t->dims[axis], (size_t)(inner * dims[axis]));
  part.data = p;
  return part;
}

/* Source k of a node. If another user needs more of the source, it is larger, and the node takes the first of its entries. */
static Ref cut_source(const Cut *w, Ref r, int k) {
  const Node *x = node(w->from, r);
  const Ref now = w->now[x->src[k]];
  const Need had = w->needs[x->src[k]], n = graph_need_of_source(w->from, x, k, w->needs[r]);
  if (had.axis != NEED_ALL || n.axis < 0) return now;
  const Node *y = node(w->to, now);
  int64_t begin[MAX_RANK] = { 0 }, step[MAX_RANK], dims[MAX_RANK];
  for (int a = 0; a < y->rank; a++) step[a] = 1, dims[a] = a == n.axis ? w->n * n.per : y->dims[a];
  return g_shrink(w->to, now, begin, step, dims);
}

static Ref cut_node(const Cut *w, Ref r) {
  IR *ir = w->to;
  const Node *x = node(w->from, r);
  int64_t dims[MAX_RANK], arg[2 * MAX_RANK];
  Ref *src = ARENA_NEW(&ir->ctx->model, Ref, x->nsrc);
  for (int k = 0; k < x->nsrc; k++) src[k] = cut_source(w, r, k);
  cut_dims(w, r, dims);
  memcpy(arg, x->arg, (size_t)(x->narg < 2 * MAX_RANK ? x->narg : 2 * MAX_RANK) * sizeof *arg);
  switch ((Op)x->op) {
  case OP_RESHAPE: return g_reshape(ir, src[0], x->rank, dims);
  case OP_EXPAND: return g_expand(ir, src[0], x->rank, dims);
  case OP_PERMUTE: return g_permute(ir, src[0], arg);
  case OP_SHRINK: return g_shrink(ir, src[0], arg, arg + x->rank, dims);
  case OP_ITERATE: return g_iterate(ir, (int)iterate_loop(x), iterate_trips(x), (int)iterate_while(x), x->nsrc, src);
  case OP_REDUCE: return g_reduce(ir, reduce_op(x), src[0], reduce_axes(x));
  case OP_WEIGHT: {
    const Tensor t = cut_tensor(w, &w->from->tensors.p[weight_id(x)], w->needs[r].axis, dims);
    arg[0] = ir_tensor(ir, &t);
    break;
  }
  default: break;
  }
  return node_make(ir, (Op)x->op, (DType)x->dt, 1, x->nsrc, src, x->narg, x->op == OP_WEIGHT ? arg : x->arg, x->rank, dims);
}

static void cut_values(const Cut *w, const GIO *from, size_t n, Graph *h, bool out) {
  for (size_t i = 0; i < n; i++) {
    GIO v = from[i];
    v.ref = w->now[v.ref];
    if (out) VEC_PUSH(&h->outputs, v);
    else VEC_PUSH(&h->inputs, v);
  }
}

/* The graph cut to what runs of n need; c: where it lives */
static Graph *graph_cut(Ctx *c, const Graph *g, const Need *needs, int64_t n) {
  Graph h = { .ir = ir_new(c), .name = g->name };
  Cut w = { g->ir, h.ir, needs, n, xcalloc(g->ir->n, sizeof(Ref)) };
  Refs roots = { 0 }, order = { 0 };
  for (size_t i = 0; i < g->inputs.n; i++) VEC_PUSH(&roots, g->inputs.p[i].ref);
  for (size_t i = 0; i < g->outputs.n; i++) VEC_PUSH(&roots, g->outputs.p[i].ref);
  ir_toposort(g->ir, roots.p, roots.n, &order);
  for (size_t i = 0; i < order.n; i++) w.now[order.p[i]] = cut_node(&w, order.p[i]);
  cut_values(&w, g->inputs.p, g->inputs.n, &h, false);
  cut_values(&w, g->outputs.p, g->outputs.n, &h, true);
  Graph *compact = ir_compact(&h);
  VEC_FREE(&roots);
  VEC_FREE(&order);
  VEC_FREE(&h.inputs);
  VEC_FREE(&h.outputs);
  free(w.now);
  ir_free(h.ir);
  return compact;
}

/* ---- comparing ---- */
static bool same_tensor(const Tensor *a, const Tensor *b) {
  if (a->dt != b->dt || a->rank != b->rank || memcmp(a->dims, b->dims, (size_t)a->rank * sizeof *a->dims)) return false;
  if (!a->data || !b->data) return a->data == b->data && a->splat == b->splat;
  return a->data == b->data || !memcmp(a->data, b->data, (size_t)(a->elems * dt_bytes(a->dt)));
}

/* op, type, shape and arguments */
static bool same_op(const IR *a, const Node *x, const IR *b, const Node *y) {
  if (x->op != y->op || x->dt != y->dt || x->rank != y->rank || x->nsrc != y->nsrc || x->narg != y->narg ||
      (x->rank && memcmp(x->dims, y->dims, x->rank * sizeof *x->dims)))
    return false;
  if (x->op == OP_WEIGHT) return same_tensor(&a->tensors.p[weight_id(x)], &b->tensors.p[weight_id(y)]);
  return !x->narg || !memcmp(x->arg, y->arg, x->narg * sizeof *x->arg);
}

static size_t place_in(const Refs *list, Ref r) {
  size_t i = 0;
  while (list->p[i] != r) i++;
  return i;
}

/* Two values that depend on no input are computed alike. */
static bool computed_alike(const IR *a, Ref r, const IR *b, Ref s) {
  Refs all[2] = { { 0 }, { 0 } };
  ir_toposort(a, &r, 1, &all[0]);
  ir_toposort(b, &s, 1, &all[1]);
  bool same = all[0].n == all[1].n;
  for (size_t i = 0; i < all[0].n && same; i++) {
    const Node *x = node(a, all[0].p[i]), *y = node(b, all[1].p[i]);
    same = same_op(a, x, b, y);
    for (int k = 0; k < x->nsrc && same; k++) same = place_in(&all[0], x->src[k]) == place_in(&all[1], y->src[k]);
  }
  VEC_FREE(&all[0]);
  VEC_FREE(&all[1]);
  return same;
}

/* Front ends choose the form of a constant by its shape; its elements count. */
static bool same_constant(IR *a, Ref r, IR *b, Ref s) {
  Tensor x, y;
  return computed_alike(a, r, b, s) || (interp_const(a, r, &x) && interp_const(b, s, &y) && same_tensor(&x, &y));
}

/* 0: the graphs compute the same; else the node of g at which they differ first on the way from the outputs */
static Ref difference(Graph *g, Graph *h) {
  RefMap peer = { 0 };     /* node of g to the node of h that computes the same, if their sources do */
  Refs todo = { 0 };
  Ref wrong = g->outputs.n == h->outputs.n ? 0 : 1;
  for (size_t i = 0; i < g->outputs.n && !wrong; i++) {
    VEC_PUSH(&todo, g->outputs.p[i].ref);
    VEC_PUSH(&todo, h->outputs.p[i].ref);
  }
  while (todo.n && !wrong) {
    const Ref s = todo.p[--todo.n], r = todo.p[--todo.n];
    const Node *x = node(g->ir, r), *y = node(h->ir, s);
    if (refmap_get(&peer, r) == s) continue;
    const bool constant = !x->varies && !y->varies;
    if (constant ? !same_constant(g->ir, r, h->ir, s) : refmap_get(&peer, r) || !same_op(g->ir, x, h->ir, y)) wrong = r;
    refmap_set(&peer, r, s);
    for (int k = 0; k < x->nsrc && !constant && !wrong; k++) {
      VEC_PUSH(&todo, x->src[k]);
      VEC_PUSH(&todo, y->src[k]);
    }
  }
  refmap_free(&peer);
  VEC_FREE(&todo);
  return wrong;
}

static Graph *simplified(Graph *g) {
  graph_simplify(g, false);
  return ir_compact(g);
}

/* ---- the sizes of the range ---- */
typedef struct Trial {     /* the model at one size, in a context of its own */
  const char *path;
  const LoadOptions *given;
  Graph *most;             /* the graph of the greatest size */
  const Need *needs;       /* NULL: only its inputs and outputs are compared */
  int64_t n;
} Trial;

static Graph *load_at(Ctx *c, const char *path, const LoadOptions *o, int64_t n) {
  LoadOptions at = *o;
  DimValue *dims = arena_dup(&c->model, o->dims, (size_t)o->ndims * sizeof *dims);
  dims[o->range - o->dims].value = n;
  at.dims = dims;
  at.unguarded = true; /* the guard of indices asks all of them */
  return model_load(c, path, &at);
}

static void find_open(Ctx *c, const char *name, GIO *v, const GIO *w) {
  for (int a = 0; a < v->rank; a++) {
    if (v->dims[a] == w->dims[a]) continue;
    bool outermost = !v->open && v->dims[a] == w->dims[a] + 1;
    for (int k = 0; k < a; k++) outermost &= v->dims[k] == 1;
    if (!outermost)
      fail(c, EX_BADMODEL, "--dim %s: '%s' must have that dimension outermost, and no other extent may depend on it; give one number",
           name, v->name);
    v->open = a + 1;
  }
}

static void find_all_open(Ctx *c, Graph *g, const Graph *less) {
  const char *name = g->ir->symbol.name;
  bool same = g->inputs.n == less->inputs.n && g->outputs.n == less->outputs.n, any = false;
  for (size_t i = 0; i < g->inputs.n && same; i++) same = g->inputs.p[i].rank == less->inputs.p[i].rank;
  for (size_t i = 0; i < g->outputs.n && same; i++) same = g->outputs.p[i].rank == less->outputs.p[i].rank;
  if (!same) fail(c, EX_BADMODEL, "--dim %s: the number of inputs, of outputs or of their axes depends on the size", name);
  for (size_t i = 0; i < g->inputs.n; i++) {
    find_open(c, name, &g->inputs.p[i], &less->inputs.p[i]);
    any |= g->inputs.p[i].open > 0;
  }
  for (size_t i = 0; i < g->outputs.n; i++) find_open(c, name, &g->outputs.p[i], &less->outputs.p[i]);
  if (!any) fail(c, EX_USAGE_, "--dim %s: no extent of an input is that dimension", name);
}

static void try_size(Ctx *c, void *arg) {
  Trial *t = arg;
  Graph *g = load_at(c, t->path, t->given, t->n);
  if (!t->needs) {
    find_all_open(c, t->most, g);
    return;
  }
  Graph *cut = graph_cut(c, t->most, t->needs, t->n);
  Ref differs = difference(g, cut);
  if (differs) {
    g = simplified(g);
    differs = difference(g, simplified(cut));
  }
  if (!differs) return;
  const Symbol *s = &t->most->ir->symbol;
  fail_at(c, EX_BADMODEL, ir_pos(g->ir, differs),
          "--dim %s: the node depends on the size in a way that one bundle cannot serve; size %lld does not compute a part of "
          "what size %lld computes; give one number", s->name, (long long)t->n, (long long)s->high);
}

/* Runs try_size in a context of its own, whose memory is then free again. */
static void at_size(Ctx *c, Trial *t) {
  Ctx own;
  ctx_init(&own);
  own.limits = c->limits;
  own.file = c->file;
  own.quiet = true;
  own.err = c->err;
  own.colored = c->colored;
  own.tunables = c->tunables;
  const int code = ctx_try(&own, try_size, t);
  ctx_free(&own);
  if (code) fail_silent(c, code);
}

Graph *sized_load(Ctx *c, const char *path, const LoadOptions *o) {
  const DimValue *range = o->range;
  Trial t = { path, o, load_at(c, path, o, range->value), NULL, range->value - 1 };
  Graph *g = t.most;
  g->ir->symbol = (Symbol){ range->name, o->low, range->value };
  at_size(c, &t);
  t.needs = graph_needs(g);
  for (t.n = o->low; t.n < range->value; t.n++) {
    ctx_progress(c, "sizes", (double)(t.n - o->low) / (double)(range->value - o->low));
    at_size(c, &t);
  }
  return g;
}

/* SPDX-License-Identifier: MIT */
/* sized.c: a graph for a range of sizes of one dimension, and the proof that it is one.
 *
 * The front ends build a graph for one size. So the graph of the greatest size is built, and compared with that of the next
 * smaller size. If a reduction takes fewer entries there, a size mask hides entries that a run does not have. A constant that
 * is a number of entries becomes a SIZE. graph/needs.c says which entries of each value a run needs. For each n of the range,
 * the graph is cut to the needs of n. The result must be what the front end builds for n. A model whose arithmetic depends on
 * the size in another way differs and is refused.
 *
 * needs: a model with an open dimension    gives: the graph of the greatest size, with IR.symbol and GIO.open   breaks: nothing */
#include "../compiler/graph/graph.h"
#include "../compiler/interp/interp.h"
#include "../compiler/ir/refmap.h"
#include "sized.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- the graph of n ---- */
typedef struct Cut {
  const IR *from;
  IR *to;
  const Needed *needs;
  int64_t n;
  Ref *now;                /* by Ref of `from` */
} Cut;

/* The elements of a tensor that are needed */
static Tensor cut_tensor(const Cut *w, const Tensor *t, const Needed *n, const int64_t *dims) {
  const size_t size = (size_t)dt_bytes(t->dt);
  Tensor part = *t;
  memcpy(part.dims, dims, (size_t)t->rank * sizeof *dims);
  part.elems = dims_elems(dims, t->rank);
  if (!t->data || part.elems == t->elems) return part;
  char *p = arena_alloc(&w->to->ctx->model, (size_t)part.elems * size);
  part.data = p;
  for (int64_t i = 0; i < t->elems; i++) {
    bool needed = true;
    for (int k = 0; k < n->n && needed; k++) needed = i / n->inner[k] % w->from->symbol.high < w->n;
    if (!needed) continue;
    memcpy(p, (const char *)t->data + (size_t)i * size, size);
    p += size;
  }
  return part;
}

/* The axes of a value, split so that each condition has an axis of its own */
typedef struct Split { int n; int64_t extent[MAX_RANK]; bool open[MAX_RANK]; } Split;

/* The condition on axis a with the greatest `within` below `before`; 0: there is none */
static int64_t next_within(const IR *ir, const Node *y, const Needed *n, int a, int64_t before) {
  int64_t within, most = 0;
  for (int k = 0; k < n->n; k++)
    if (need_axis(ir, y, n->inner[k], &within) == a && within < before && within > most) most = within;
  return most;
}

/* had: conditions along which the value is cut already, to entries of size n. False: there are too many axes */
static bool split_axes(const Cut *w, const Node *y, const Needed *n, const Needed *had, Split *s) {
  const int64_t high = w->from->symbol.high;
  int64_t inner = dims_elems(y->dims, y->rank);
  s->n = 0;
  for (int a = 0; a < y->rank; a++) {
    int64_t left = y->dims[a];
    inner /= y->dims[a] ? y->dims[a] : 1;
    for (int64_t in = INT64_MAX; (in = next_within(w->from, y, n, a, in)); left = in) {
      if (s->n + 3 > MAX_RANK) return false;
      if (left > in * high) s->extent[s->n] = left / (in * high), s->open[s->n++] = false;
      s->extent[s->n] = needed_has(had, in * inner) ? w->n : high;
      s->open[s->n++] = true;
    }
    if (s->n + 1 > MAX_RANK) return false;
    s->extent[s->n] = left, s->open[s->n++] = false;
  }
  return true;
}

/* Source k of a node. If another user needs more of the source, it is larger, and the node takes the entries that it needs. */
static Ref cut_source(const Cut *w, Ref r, int k) {
  IR *ir = w->to;
  const Ref source = node(w->from, r)->src[k], now = w->now[source];
  const Node *y = node(w->from, source);
  const Needed n = graph_need_of_source(w->from, r, k, &w->needs[r]);
  const int64_t none[MAX_RANK] = { 0 };
  int64_t dims[MAX_RANK];
  Split s;
  if (n.n <= 0 || w->needs[source].n >= n.n) return now;
  if (!split_axes(w, y, &n, &w->needs[source], &s))
    fail_at(ir->ctx, EX_BADMODEL, ir_pos(w->from, r), "--dim %s: the node has too many axes for a range of sizes; give one number",
            w->from->symbol.name);
  Ref part = g_reshape(ir, now, s.n, s.extent);
  for (int i = 0; i < s.n; i++)
    if (s.open[i]) s.extent[i] = w->n;
  part = g_shrink(ir, part, none, NULL, s.extent);
  need_dims(w->from, y, &n, w->n, dims);
  return g_reshape(ir, part, y->rank, dims);
}

static Ref cut_node(const Cut *w, Ref r) {
  IR *ir = w->to;
  const Node *x = node(w->from, r);
  int64_t dims[MAX_RANK], arg[2 * MAX_RANK];
  Ref *src = ARENA_NEW(&ir->ctx->model, Ref, x->nsrc);
  for (int k = 0; k < x->nsrc; k++) src[k] = cut_source(w, r, k);
  const int64_t mask = graph_size_mask(w->from, r);
  if (mask && needed_has(&w->needs[r], mask)) return src[1];
  need_dims(w->from, x, &w->needs[r], w->n, dims);
  memcpy(arg, x->arg, (size_t)(x->narg < 2 * MAX_RANK ? x->narg : 2 * MAX_RANK) * sizeof *arg);
  switch ((Op)x->op) {
  case OP_SIZE: return c_int(ir, DT_I64, size_in_run(w->from, (int)size_id(x), w->n));
  case OP_RESHAPE: return g_reshape(ir, src[0], x->rank, dims);
  case OP_EXPAND: return g_expand(ir, src[0], x->rank, dims);
  case OP_PERMUTE: return g_permute(ir, src[0], arg);
  case OP_SHRINK: return g_shrink(ir, src[0], arg, arg + x->rank, dims);
  case OP_ITERATE: return g_iterate(ir, (int)iterate_loop(x), iterate_trips(x), (int)iterate_while(x), x->nsrc, src);
  case OP_REDUCE: return g_reduce(ir, reduce_op(x), src[0], reduce_axes(x));
  case OP_WEIGHT: {
    const Tensor t = cut_tensor(w, &w->from->tensors.p[weight_id(x)], &w->needs[r], dims);
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
static Graph *graph_cut(Ctx *c, const Graph *g, const Needed *needs, int64_t n) {
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

/* ---- what depends on the size ---- */
/* A reduction and its axes along which it takes fewer entries at the smaller size, or a constant that is `times` times the size */
typedef struct Sized { Ref r; uint32_t axes; int64_t times; bool inverse; } Sized;
typedef VEC(Sized) Sizeds;

static void note_reduction(const IR *a, Ref r, const IR *b, Ref s, Sizeds *out) {
  const Node *x = node(a, operand(node(a, r))), *y = node(b, operand(node(b, s)));
  Sized found = { .r = r };
  for (int k = 0; k < x->rank && x->rank == y->rank; k++)
    if (reduce_axes(node(a, r)) >> k & 1 && x->dims[k] == a->symbol.high && y->dims[k] == a->symbol.high - 1)
      found.axes |= 1u << k;
  if (found.axes) VEC_PUSH(out, found);
}

/* A constant that differs: a number of entries, such as the divisor of a mean, or its inverse. The proof tries all sizes. */
static void note_constant(const IR *a, Ref r, const IR *b, Ref s, Sizeds *out) {
  const Node *x = node(a, r), *y = node(b, s);
  const double high = (double)a->symbol.high, one = bits_to_double((DType)x->dt, const_value(x)),
               two = bits_to_double((DType)y->dt, const_value(y));
  if (x->dt != y->dt || one == two || x->dt == DT_BOOL) return;
  for (int inverse = 0; inverse < 2; inverse++) {
    if (inverse && !dt_float((DType)x->dt)) continue;
    const double times = nearbyint((inverse ? 1 / one : one) / high), now = times * high, then = times * (high - 1);
    if (!(times >= 1 && times < 1e6)) continue;
    if (double_to_bits((DType)x->dt, inverse ? 1 / now : now) == const_value(x) &&
        double_to_bits((DType)x->dt, inverse ? 1 / then : then) == const_value(y)) {
      VEC_PUSH(out, ((Sized){ .r = r, .times = (int64_t)times, .inverse = inverse }));
      return;
    }
  }
}

/* Walks both graphs from their outputs, as long as they have the same form; h is that of the next smaller size. */
static void find_sized(const Graph *g, const Graph *h, Sizeds *out) {
  RefMap peer = { 0 };
  Refs todo = { 0 };
  for (size_t i = 0; i < g->outputs.n; i++) {
    VEC_PUSH(&todo, g->outputs.p[i].ref);
    VEC_PUSH(&todo, h->outputs.p[i].ref);
  }
  while (todo.n) {
    const Ref s = todo.p[--todo.n], r = todo.p[--todo.n];
    const Node *x = node(g->ir, r), *y = node(h->ir, s);
    if (refmap_get(&peer, r) || x->op != y->op || x->nsrc != y->nsrc) continue;
    refmap_set(&peer, r, s);
    if (x->op == OP_REDUCE) note_reduction(g->ir, r, h->ir, s, out);
    if (x->op == OP_CONST) note_constant(g->ir, r, h->ir, s, out);
    for (int k = 0; k < x->nsrc; k++) {
      VEC_PUSH(&todo, x->src[k]);
      VEC_PUSH(&todo, y->src[k]);
    }
  }
  refmap_free(&peer);
  VEC_FREE(&todo);
}

static Ref masked_reduction(IR *ir, Ref r, uint32_t axes, const Ref *src) {
  const Node *x = node(ir, r);
  Ref value = src[0];
  for (int a = 0; a < x->rank; a++)
    if (axes >> a & 1) value = graph_masked(ir, value, a, reduce_op(x));
  return g_reduce(ir, reduce_op(x), value, reduce_axes(x));
}

static Ref sized_constant(IR *ir, const Sized *s) {
  const Ref size = size_value(ir, size_number(ir, (tgcrt_size){ s->times, 1, 1, TGCRT_SIZE_ALL }));
  const Ref value = g_cast(ir, size, (DType)node(ir, s->r)->dt);
  return s->inverse ? g_unary(ir, OP_RECIP, value) : value;
}

/* Masks the sources of reductions, and replaces constants. */
static void put_sizes(Graph *g, const Sizeds *all) {
  IR *ir = g->ir;
  Refs roots = { 0 }, order = { 0 };
  RefMap now = { 0 }, which = { 0 };
  for (size_t i = 0; i < all->n; i++) refmap_set(&which, all->p[i].r, (Ref)i + 1);
  for (size_t i = 0; i < g->outputs.n; i++) VEC_PUSH(&roots, g->outputs.p[i].ref);
  ir_toposort(ir, roots.p, roots.n, &order);
  for (size_t i = 0; i < order.n; i++) {
    const Ref r = order.p[i];
    const Node *x = node(ir, r);
    const Sized *s = refmap_get(&which, r) ? &all->p[refmap_get(&which, r) - 1] : NULL;
    Ref *src = ARENA_NEW(&ir->ctx->model, Ref, x->nsrc);
    for (int k = 0; k < x->nsrc; k++) src[k] = refmap_get(&now, x->src[k]);
    ir->origin = x->origin;
    refmap_set(&now, r, s && s->axes ? masked_reduction(ir, r, s->axes, src) : s ? sized_constant(ir, s)
                                     : x->nsrc ? node_with_src(ir, r, src) : r);
  }
  ir->origin = 0;
  for (size_t i = 0; i < g->outputs.n; i++) g->outputs.p[i].ref = refmap_get(&now, g->outputs.p[i].ref);
  refmap_free(&now);
  refmap_free(&which);
  VEC_FREE(&order);
  VEC_FREE(&roots);
}

/* ---- the sizes of the range ---- */
typedef struct Trial {     /* the model at one size, in a context of its own */
  const char *path;
  const LoadOptions *given;
  Graph *most;             /* the graph of the greatest size */
  const Needed *needs;     /* NULL: what depends on the size is found */
  Sizeds sized;
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
    if (v->open || v->dims[a] != w->dims[a] + 1)
      fail(c, EX_BADMODEL, "--dim %s: '%s' must have that dimension once, and no other extent may depend on it; give one number",
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
    find_sized(t->most, g, &t->sized);
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
  Trial t = { .path = path, .given = o, .most = load_at(c, path, o, range->value), .n = range->value - 1 };
  Graph *g = t.most;
  g->ir->symbol = (Symbol){ range->name, o->low, range->value, 0 };
  at_size(c, &t);
  if (t.sized.n) put_sizes(g, &t.sized);
  VEC_FREE(&t.sized);
  t.needs = graph_needs(g);
  for (t.n = o->low; t.n < range->value; t.n++) {
    ctx_progress(c, "sizes", (double)(t.n - o->low) / (double)(range->value - o->low));
    at_size(c, &t);
  }
  return g;
}

/* SPDX-License-Identifier: MIT */
/* sized.c: a graph for ranges of sizes of some dimensions, and the proof that it is one.
 *
 * The front ends build a graph for one size of each dimension. So the graph of the greatest sizes is built. For each dimension it
 * is compared with that of another size. If a reduction takes more or fewer entries there, a size mask hides entries that a run
 * does not have. A constant that is a number of entries becomes a SIZE. graph/needs.c says which entries of each value a run
 * needs. For each combination of sizes, the graph is cut to the needs of that run. The result must be what the front end builds
 * for these sizes. A model whose arithmetic depends on the sizes in another way differs and is refused.
 *
 * Above TRIES_MOST combinations, not all are tried. In those that are tried, all sizes but one are the least, a middle, or the
 * greatest of their range. Some others are tried, too. Shapes of the cut graph are products of sizes. The front end computes
 * shapes from sizes, too. Values that follow from one size are tried for each value of it. A polynomial of degree two in each
 * size is known from three values of each. A comparison of values that are monotone in each size comes out alike everywhere if
 * it does so at all corners.
 *
 * needs: a model with open dimensions    gives: the graph of the greatest sizes, with IR.symbols and GIO.open   breaks: nothing */
#include "../compiler/graph/graph.h"
#include "../compiler/interp/interp.h"
#include "../compiler/ir/refmap.h"
#include "sized.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- the graph of a run ---- */
typedef struct Cut {
  const IR *from;
  IR *to;
  const Needed *needs;
  const int64_t *run;      /* its sizes */
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
    for (int k = 0; k < n->n && needed; k++) needed = i / n->of[k].inner % need_high(w->from, n->of[k]) < w->run[n->of[k].symbol];
    if (!needed) continue;
    memcpy(p, (const char *)t->data + (size_t)i * size, size);
    p += size;
  }
  return part;
}

/* The axes of a value, split so that each condition has an axis of its own. symbol: whose size that axis ends at; -1: none */
typedef struct Split {
  int n;
  int64_t extent[MAX_RANK];
  int symbol[MAX_RANK];
} Split;

static void put_axis(Split *s, int64_t extent, int symbol) {
  s->extent[s->n] = extent;
  s->symbol[s->n++] = symbol;
}

/* Finds the condition on axis a with the greatest `inner` in that axis below *within. */
static bool next_condition(const IR *ir, const Node *y, const Needed *n, int a, int64_t *within, Need *c) {
  int64_t in, most = 0;
  for (int k = 0; k < n->n; k++)
    if (need_axis(ir, y, n->of[k], &in) == a && in < *within && in > most) most = in, *c = n->of[k];
  *within = most;
  return most > 0;
}

/* had: conditions along which the value is cut already. False: there are too many axes */
static bool split_axes(const Cut *w, const Node *y, const Needed *n, const Needed *had, Split *s) {
  s->n = 0;
  for (int a = 0; a < y->rank; a++) {
    int64_t left = y->dims[a];
    Need c;
    for (int64_t in = INT64_MAX; next_condition(w->from, y, n, a, &in, &c); left = in) {
      const int64_t high = need_high(w->from, c);
      if (s->n + 3 > MAX_RANK) return false;
      if (left > in * high) put_axis(s, left / (in * high), -1);
      put_axis(s, needed_has(had, c) ? w->run[c.symbol] : high, c.symbol);
    }
    if (s->n + 1 > MAX_RANK) return false;
    put_axis(s, left, -1);
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
    fail_at(ir->ctx, EX_BADMODEL, ir_pos(w->from, r),
            "--dim %s: the node has too many axes for a range of sizes; give one number",
            w->from->symbols.p[n.of[n.n - 1].symbol].name);
  Ref part = g_reshape(ir, now, s.n, s.extent);
  for (int i = 0; i < s.n; i++)
    if (s.symbol[i] >= 0) s.extent[i] = w->run[s.symbol[i]];
  part = g_shrink(ir, part, none, NULL, s.extent);
  need_dims(w->from, y, &n, w->run, dims);
  return g_reshape(ir, part, y->rank, dims);
}

static Ref cut_node(const Cut *w, Ref r) {
  IR *ir = w->to;
  const Node *x = node(w->from, r);
  int64_t dims[MAX_RANK], arg[2 * MAX_RANK];
  Ref *src = ARENA_NEW(&ir->ctx->model, Ref, x->nsrc);
  for (int k = 0; k < x->nsrc; k++) src[k] = cut_source(w, r, k);
  const Need mask = graph_size_mask(w->from, r);
  if (mask.inner && needed_has(&w->needs[r], mask)) return src[1];
  need_dims(w->from, x, &w->needs[r], w->run, dims);
  memcpy(arg, x->arg, (size_t)(x->narg < 2 * MAX_RANK ? x->narg : 2 * MAX_RANK) * sizeof *arg);
  switch ((Op)x->op) {
  case OP_SIZE: return c_int(ir, DT_I64, size_in_run(w->from, (int)size_id(x), w->run));
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

/* The graph cut to what a run of these sizes needs; c: where it lives */
static Graph *graph_cut(Ctx *c, const Graph *g, const Needed *needs, const int64_t *run) {
  Graph h = { .ir = ir_new(c), .name = g->name };
  Cut w = { g->ir, h.ir, needs, run, xcalloc(g->ir->n, sizeof(Ref)) };
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

/* ---- what depends on sizes ---- */
/* A reduction and, by symbol, its axes along which it takes other entries at the other size. Or a constant that is a multiple of
 * the sizes of some symbols, or the inverse of one */
typedef struct Sized {
  Ref r;
  uint32_t axes[SYMBOLS_MOST], symbols;
  bool inverse;
} Sized;
typedef struct Sizeds {
  VEC(Sized) list;
  RefMap at;
} Sizeds; /* at: 1 + place in the list */

/* The size whose graph is compared with that of the greatest one: the next smaller one, unless axes of one entry vanish there */
static int64_t other_size(const Symbol *s) { return s->high - s->step > 1 ? s->high - s->step : s->high + s->step; }

static Sized *sized_of(Sizeds *all, Ref r) {
  if (!refmap_get(&all->at, r)) {
    VEC_PUSH(&all->list, (Sized){ .r = r });
    refmap_set(&all->at, r, (Ref)all->list.n);
  }
  return &all->list.p[refmap_get(&all->at, r) - 1];
}

static void note_reduction(const IR *a, Ref r, const IR *b, Ref s, int symbol, Sizeds *out) {
  const Node *x = node(a, operand(node(a, r))), *y = node(b, operand(node(b, s)));
  const Symbol *of = &a->symbols.p[symbol];
  for (int k = 0; k < x->rank && x->rank == y->rank; k++)
    if (reduce_axes(node(a, r)) >> k & 1 && x->dims[k] == of->high && y->dims[k] == other_size(of))
      sized_of(out, r)->axes[symbol] |= 1u << k;
}

/* A constant that differs: a number of entries, such as the divisor of a mean, or its inverse. The proof tries all sizes. */
static void note_constant(const IR *a, Ref r, const IR *b, Ref s, int symbol, Sizeds *out) {
  const Node *x = node(a, r), *y = node(b, s);
  const Symbol *of = &a->symbols.p[symbol];
  const double high = (double)of->high, one = bits_to_double((DType)x->dt, const_value(x)),
               two = bits_to_double((DType)y->dt, const_value(y));
  if (x->dt != y->dt || one == two || x->dt == DT_BOOL) return;
  for (int inverse = 0; inverse < 2; inverse++) {
    if (inverse && !dt_float((DType)x->dt)) continue;
    const double times = nearbyint((inverse ? 1 / one : one) / high), now = times * high, then = times * (double)other_size(of);
    if (!(times >= 1 && times < 1e12)) continue;
    if (double_to_bits((DType)x->dt, inverse ? 1 / now : now) == const_value(x) &&
        double_to_bits((DType)x->dt, inverse ? 1 / then : then) == const_value(y)) {
      Sized *found = sized_of(out, r);
      found->symbols |= 1u << symbol;
      found->inverse = inverse;
      return;
    }
  }
}

/* Walks both graphs from their outputs, as long as they have the same form; h is that of the other size of the symbol. */
static void find_sized(const Graph *g, const Graph *h, int symbol, Sizeds *out) {
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
    if (x->op == OP_REDUCE) note_reduction(g->ir, r, h->ir, s, symbol, out);
    if (x->op == OP_CONST) note_constant(g->ir, r, h->ir, s, symbol, out);
    for (int k = 0; k < x->nsrc; k++) {
      VEC_PUSH(&todo, x->src[k]);
      VEC_PUSH(&todo, y->src[k]);
    }
  }
  refmap_free(&peer);
  VEC_FREE(&todo);
}

static Ref masked_reduction(IR *ir, const Sized *s, const Ref *src) {
  const Node *x = node(ir, s->r);
  Ref value = src[0];
  for (int k = 0; k < ir->symbols.n; k++)
    for (int a = 0; a < x->rank; a++)
      if (s->axes[k] >> a & 1) value = graph_masked(ir, value, a, k, reduce_op(x));
  return g_reduce(ir, reduce_op(x), value, reduce_axes(x));
}

/* The constant as a product of sizes; the constant itself, if it is none */
static Ref sized_constant(IR *ir, const Sized *s) {
  const DType d = (DType)node(ir, s->r)->dt;
  const double value = bits_to_double(d, const_value(node(ir, s->r)));
  double all = 1;
  for (int k = 0; k < ir->symbols.n; k++)
    if (s->symbols >> k & 1) all *= (double)ir->symbols.p[k].high;
  const double times = nearbyint((s->inverse ? 1 / value : value) / all);
  if (!(times >= 1 && times < 1e6) ||
      double_to_bits(d, s->inverse ? 1 / (times * all) : times * all) != const_value(node(ir, s->r)))
    return s->r;
  Ref product = 0;
  for (int k = 0; k < ir->symbols.n; k++) {
    if (!(s->symbols >> k & 1)) continue;
    const Ref size = size_value(ir, size_number(ir, size_row(k, product ? 1 : (int64_t)times)));
    product = product ? g_binary(ir, OP_MUL, product, size) : size;
  }
  product = g_cast(ir, product, d);
  return s->inverse ? g_unary(ir, OP_RECIP, product) : product;
}

/* Masks the sources of reductions, and replaces constants. */
static void put_sizes(Graph *g, const Sizeds *all) {
  IR *ir = g->ir;
  Refs roots = { 0 }, order = { 0 };
  RefMap now = { 0 };
  for (size_t i = 0; i < g->outputs.n; i++) VEC_PUSH(&roots, g->outputs.p[i].ref);
  ir_toposort(ir, roots.p, roots.n, &order);
  for (size_t i = 0; i < order.n; i++) {
    const Ref r = order.p[i];
    const Node *x = node(ir, r);
    const Sized *s = refmap_get(&all->at, r) ? &all->list.p[refmap_get(&all->at, r) - 1] : NULL;
    Ref *src = ARENA_NEW(&ir->ctx->model, Ref, x->nsrc);
    for (int k = 0; k < x->nsrc; k++) src[k] = refmap_get(&now, x->src[k]);
    ir->origin = x->origin;
    refmap_set(&now, r,
               s && s->symbols ? sized_constant(ir, s)
               : s             ? masked_reduction(ir, s, src)
               : x->nsrc       ? node_with_src(ir, r, src)
                               : r);
  }
  ir->origin = 0;
  for (size_t i = 0; i < g->outputs.n; i++) g->outputs.p[i].ref = refmap_get(&now, g->outputs.p[i].ref);
  refmap_free(&now);
  VEC_FREE(&order);
  VEC_FREE(&roots);
}

/* ---- the sizes of the ranges ---- */
typedef struct Trial { /* the model at some sizes, in a context of its own */
  const char *path;
  const LoadOptions *given;
  Graph *most;         /* the graph of the greatest sizes */
  const Needed *needs; /* NULL: what depends on the size of `symbol` is found */
  int symbol;
  Sizeds sized;
  RunSizes run;
} Trial;

static Graph *load_at(Ctx *c, const char *path, const LoadOptions *o, const int64_t *run) {
  LoadOptions at = *o;
  DimValue *dims = arena_dup(&c->model, o->dims, (size_t)o->ndims * sizeof *dims);
  for (int k = 0; k < o->nranges; k++) dims[o->ranges[k].dim].value = run[k];
  at.dims = dims;
  at.unguarded = true; /* the guard of indices asks all of them */
  Graph *g = model_load(c, path, &at);
  Refs roots = { 0 };
  for (size_t i = 0; i < g->outputs.n; i++) VEC_PUSH(&roots, g->outputs.p[i].ref);
  ir_select(g->ir, roots.p, roots.n, NULL); /* a range of sizes has no branches */
  for (size_t i = 0; i < g->outputs.n; i++) g->outputs.p[i].ref = roots.p[i];
  VEC_FREE(&roots);
  return g;
}

static void find_open(Ctx *c, const IR *ir, int symbol, GIO *v, const GIO *w) {
  const Symbol *s = &ir->symbols.p[symbol];
  for (int a = 0; a < v->rank; a++) {
    if (v->dims[a] == w->dims[a]) continue;
    if (v->open[a] || v->dims[a] != s->high || w->dims[a] != other_size(s))
      fail(c, EX_BADMODEL, "--dim %s: axis %d of '%s' depends on that dimension, but is not that dimension; give one number",
           s->name, a, v->name);
    v->open[a] = (unsigned char)(symbol + 1);
  }
}

static void find_all_open(Ctx *c, Graph *g, int symbol, const Graph *less) {
  const char *name = g->ir->symbols.p[symbol].name;
  bool same = g->inputs.n == less->inputs.n && g->outputs.n == less->outputs.n, any = false;
  for (size_t i = 0; i < g->inputs.n && same; i++) same = g->inputs.p[i].rank == less->inputs.p[i].rank;
  for (size_t i = 0; i < g->outputs.n && same; i++) same = g->outputs.p[i].rank == less->outputs.p[i].rank;
  if (!same) fail(c, EX_BADMODEL, "--dim %s: the number of inputs, of outputs or of their axes depends on the size", name);
  for (size_t i = 0; i < g->inputs.n; i++) {
    find_open(c, g->ir, symbol, &g->inputs.p[i], &less->inputs.p[i]);
    for (int a = 0; a < g->inputs.p[i].rank; a++) any |= g->inputs.p[i].open[a] == symbol + 1;
  }
  for (size_t i = 0; i < g->outputs.n; i++) find_open(c, g->ir, symbol, &g->outputs.p[i], &less->outputs.p[i]);
  if (!any) fail(c, EX_USAGE_, "--dim %s: no extent of an input is that dimension", name);
}

/* "batch=4, seq=100" */
static const char *run_text(Ctx *c, const Symbols *all, const int64_t *run) {
  Sb s = { 0 };
  for (int k = 0; k < all->n; k++) sb_printf(&s, "%s%s=%lld", k ? ", " : "", all->p[k].name, (long long)run[k]);
  return sb_keep(&s, &c->model);
}

static void try_sizes(Ctx *c, void *arg) {
  Trial *t = arg;
  Graph *g = load_at(c, t->path, t->given, t->run);
  if (!t->needs) {
    find_all_open(c, t->most, t->symbol, g);
    find_sized(t->most, g, t->symbol, &t->sized);
    return;
  }
  Graph *cut = graph_cut(c, t->most, t->needs, t->run);
  Ref differs = difference(g, cut);
  if (differs) {
    g = simplified(g);
    differs = difference(g, simplified(cut));
  }
  if (!differs) return;
  const Symbols *s = &t->most->ir->symbols;
  RunSizes most = { 0 };
  int k = 0;
  greatest_sizes(s, most);
  while (k + 1 < s->n && t->run[k] == most[k]) k++;
  fail_at(c, EX_BADMODEL, ir_pos(g->ir, differs),
          "--dim %s: the node depends on the size in a way that one bundle cannot serve; a run of %s is no part of that of %s; "
          "give one number",
          s->p[k].name, run_text(c, s, t->run), run_text(c, s, most));
}

/* Runs try_sizes in a context of its own, whose memory is then free again. */
static void at_sizes(Ctx *c, Trial *t) {
  Ctx own;
  ctx_init(&own);
  own.limits = c->limits;
  own.file = c->file;
  own.quiet = true;
  own.err = c->err;
  own.colored = c->colored;
  own.tunables = c->tunables;
  const int code = ctx_try(&own, try_sizes, t);
  ctx_free(&own);
  if (code) fail_silent(c, code);
}

/* ---- combinations of sizes ---- */
/* TRIES_MOST: up to so many combinations, all are tried. FURTHER: about so many are tried besides, where not all of them are.
 * COMBINATIONS_MOST: a limit of time */
enum { TRIES_MOST = 4096, FURTHER = 512, COMBINATIONS_MOST = 1 << 26 };

static int64_t sizes_of(const Symbol *s) { return (s->high - s->low) / s->step + 1; }

/* Size number i of a symbol, from its greatest size on down */
static int64_t nth_size(const Symbol *s, int64_t i) { return s->high - i * s->step; }

/* Sets the sizes of combination number i. Returns how many of them are neither the least, nor the middle, nor the greatest one. */
static int set_combination(const Symbols *all, int64_t i, int64_t *run) {
  int between = 0;
  for (int k = 0; k < all->n; k++) {
    const int64_t n = sizes_of(&all->p[k]), at = i % n;
    run[k] = nth_size(&all->p[k], at);
    between += at && at != n - 1 && at != n / 2;
    i /= n;
  }
  return between;
}

/* A number below `n` that looks random */
static uint64_t scattered(uint64_t i, uint64_t n) { return (i * UINT64_C(0x9e3779b97f4a7c15) >> 20) % n; }

static void prove(Ctx *c, Trial *t) {
  const Symbols *all = &t->most->ir->symbols;
  int64_t n = 1;
  for (int k = 0; k < all->n; k++) n *= sizes_of(&all->p[k]); /* at most 2^48 */
  if (n > COMBINATIONS_MOST)
    fail(c, EX_USAGE_, "--dim: the ranges have %lld combinations of sizes; give steps (LOW:HIGH:STEP), or fewer ranges",
         (long long)n);
  for (int64_t i = 1; i < n; i++) { /* number 0 is the graph itself */
    const int between = set_combination(all, i, t->run);
    if (n > TRIES_MOST && between > 1 && scattered((uint64_t)i, (uint64_t)(n / FURTHER))) continue;
    ctx_progress(c, "sizes", (double)i / (double)n);
    at_sizes(c, t);
  }
}

Graph *sized_load(Ctx *c, const char *path, const LoadOptions *o) {
  Trial t = { .path = path, .given = o };
  Symbols all = { .n = o->nranges };
  for (int k = 0; k < all.n; k++) {
    const DimRange *r = &o->ranges[k];
    all.p[k] = (Symbol){ o->dims[r->dim].name, r->low, o->dims[r->dim].value, r->step, r->typical };
  }
  greatest_sizes(&all, t.run);
  Graph *g = t.most = load_at(c, path, o, t.run);
  g->ir->symbols = all;
  for (t.symbol = 0; t.symbol < all.n; t.symbol++) {
    greatest_sizes(&all, t.run);
    t.run[t.symbol] = other_size(&all.p[t.symbol]);
    at_sizes(c, &t);
  }
  if (t.sized.list.n) put_sizes(g, &t.sized);
  VEC_FREE(&t.sized.list);
  refmap_free(&t.sized.at);
  t.needs = graph_needs(g);
  prove(c, &t);
  return g;
}

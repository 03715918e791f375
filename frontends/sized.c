/* SPDX-License-Identifier: MIT */
/* sized.c: a graph for a range of sizes of one dimension, and the proof that it is one.
 *
 * The front ends build a graph for one size. So the graph of the greatest size is built, and compared with those of a few smaller
 * sizes. Where a reduction or a padding takes fewer entries there, a size mask hides entries that a run does not have. A
 * concatenation behind such entries becomes a selection, and a constant that follows from a number of entries becomes a SIZE.
 * graph/needs.c says which entries of each value a run needs. For each n of the range, the graph is cut to the needs of n. The
 * result must be what the front end builds for n. A model whose arithmetic depends on the size in another way differs and is
 * refused.
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
  IR *from, *to;
  const Needed *needs, *open; /* of graph_needs and graph_open */
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
    for (int k = 0; k < n->n && needed; k++)
      needed = i / n->is[k].inner % n->is[k].extent < extent_in_run(w->from, n->is[k].of, w->n);
    if (!needed) continue;
    memcpy(p, (const char *)t->data + (size_t)i * size, size);
    p += size;
  }
  return part;
}

/* The axes of a value, split so that each condition has an axis of its own. now, then: extents before and after cutting */
typedef struct Split { int n; int64_t now[MAX_RANK], then[MAX_RANK]; } Split;

/* The condition on axis a with the greatest `within` below `before`; NULL: there is none */
static const Need *next_within(const Node *y, const Needed *n, int a, int64_t before, int64_t *most) {
  const Need *next = NULL;
  int64_t within;
  *most = 0;
  for (int k = 0; k < n->n; k++)
    if (need_axis(y, &n->is[k], &within) == a && within < before && within > *most) *most = within, next = &n->is[k];
  return next;
}

/* Entries of a condition that a value cut by the conditions `had` still has */
static int64_t entries_left(const Cut *w, const Needed *had, const Need *is) {
  for (int k = 0; k < had->n; k++)
    if (had->is[k].inner == is->inner && had->is[k].extent == is->extent) return extent_in_run(w->from, had->is[k].of, w->n);
  return is->extent;
}

static void add_axis(Split *s, int64_t now, int64_t then) { s->now[s->n] = now, s->then[s->n++] = then; }

/* had: conditions by which the value is cut already. False: there are too many axes */
static bool split_axes(const Cut *w, const Node *y, const Needed *n, const Needed *had, Split *s) {
  s->n = 0;
  for (int a = 0; a < y->rank; a++) {
    int64_t left = y->dims[a], within = INT64_MAX;
    for (const Need *is; (is = next_within(y, n, a, within, &within)); left = within) {
      if (s->n + 3 > MAX_RANK) return false;
      const int64_t outer = left / (within * is->extent);
      if (outer > 1) add_axis(s, outer, outer);
      add_axis(s, entries_left(w, had, is), extent_in_run(w->from, is->of, w->n));
    }
    if (s->n + 1 > MAX_RANK) return false;
    add_axis(s, left, left);
  }
  return true;
}

/* Source k of a node. If another user needs more of the source, it is larger, and the node takes the entries that it needs. */
static Ref cut_source(const Cut *w, Ref r, int k) {
  IR *ir = w->to;
  const Ref source = node(w->from, r)->src[k], now = w->now[source];
  const Node *y = node(w->from, source);
  const Needed n = graph_need_of_source(w->from, r, k, &w->needs[r], &w->open[source]), *had = &w->needs[source];
  const int64_t none[MAX_RANK] = { 0 };
  int64_t dims[MAX_RANK];
  Need mask;
  Split s;
  if (n.n <= 0 || needed_same(&n, had) || graph_size_mask(w->from, source, &mask)) return now;
  if (!split_axes(w, y, &n, had, &s))
    fail_at(ir->ctx, EX_BADMODEL, ir_pos(w->from, r), "--dim %s: the node has too many axes for a range of sizes; give one number",
            w->from->symbol.name);
  if (!memcmp(s.now, s.then, (size_t)s.n * sizeof *s.now)) return now;
  need_dims(w->from, y, &n, w->n, dims);
  if (dims_elems(s.now, s.n) != dims_elems(node(ir, now)->dims, node(ir, now)->rank)) return now; /* the graphs will differ */
  Ref part = g_reshape(ir, now, s.n, s.now);
  part = g_shrink(ir, part, none, NULL, s.then);
  return g_reshape(ir, part, y->rank, dims);
}

_Noreturn static void differs(Ctx *c, Pos at, const Symbol *s, int64_t n) {
  fail_at(c, EX_BADMODEL, at,
          "--dim %s: the node depends on the size in a way that one bundle cannot serve; size %lld does not compute a part of "
          "what size %lld computes; give one number", s->name, (long long)n, (long long)s->high);
}

static bool same_shape(const Node *x, const int64_t *dims, int but) {
  bool same = true;
  for (int a = 0; a < x->rank && same; a++) same = a == but || x->dims[a] == dims[a];
  return same;
}

/* Whether sources of these shapes give a result of shape dims; rules of builders fail otherwise */
static bool shape_follows(const IR *ir, const Node *x, const Ref *src, const int64_t *dims) {
  const Node *y = x->nsrc ? node(ir, src[0]) : NULL;
  bool good = true;
  int64_t sum = 0;
  switch ((Op)x->op) {
  case OP_RESHAPE: return dims_elems(dims, x->rank) == dims_elems(y->dims, y->rank);
  case OP_EXPAND:
    for (int a = 0; a < x->rank && good; a++) good = y->dims[a] == dims[a] || y->dims[a] == 1;
    return good;
  case OP_SHRINK:
    for (int a = 0; a < x->rank && good; a++) {
      const int64_t first = shrink_begin(x, a), last = first + (dims[a] - 1) * shrink_step(x, a);
      good = dims[a] > 0 && first < y->dims[a] && last >= 0 && last < y->dims[a];
    }
    return good;
  case OP_PAD:
    for (int a = 0; a < x->rank && good; a++) good = dims[a] == y->dims[a] + pad_lo(x, a) + pad_hi(x, a);
    return good;
  case OP_WINDOW: {
    const int a = (int)window_axis(x);
    const int64_t last = (dims[a] - 1) * window_stride(x) + (dims[y->rank] - 1) * window_dilation(x);
    return dims[a] > 0 && last < y->dims[a] && same_shape(y, dims, a);
  }
  case OP_CAT:
    for (int k = 0; k < x->nsrc && good; k++) {
      good = same_shape(node(ir, src[k]), dims, (int)cat_axis(x));
      sum += node(ir, src[k])->dims[cat_axis(x)];
    }
    return good && sum == dims[cat_axis(x)];
  default:
    for (int k = 0; k < x->nsrc && good && op_info[x->op].level == L_EXPR; k++) good = same_shape(node(ir, src[k]), dims, -1);
    return good;
  }
}

static Ref cut_node(const Cut *w, Ref r) {
  IR *ir = w->to;
  const Node *x = node(w->from, r);
  int64_t dims[MAX_RANK], arg[2 * MAX_RANK];
  Ref *src = ARENA_NEW(&ir->ctx->model, Ref, x->nsrc);
  Need mask;
  for (int k = 0; k < x->nsrc; k++) src[k] = cut_source(w, r, k);
  if (graph_size_mask(w->from, r, &mask)) return src[1];
  need_dims(w->from, x, &w->needs[r], w->n, dims);
  if (!shape_follows(ir, x, src, dims)) differs(ir->ctx, ir_pos(w->from, r), &w->from->symbol, w->n);
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
static Graph *graph_cut(Ctx *c, const Graph *g, const Needed *needs, const Needed *open, int64_t n) {
  Graph h = { .ir = ir_new(c), .name = g->name };
  Cut w = { g->ir, h.ir, needs, open, n, xcalloc(g->ir->n, sizeof(Ref)) };
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
enum { PROBES = 5 };       /* smaller sizes with which the greatest one is compared */
typedef const Node *Peers[PROBES];

/* The model at the greatest size, and what its nodes are at the smaller sizes */
typedef struct Sizing {
  Graph *g;
  IR *ir;
  int64_t size[PROBES];
  int n;                   /* number of probes */
  Peers *peer;             /* by Ref: nodes of smaller graphs; NULL: the graph has another form there */
  const Needed *open;      /* graph_open of the model */
  Ref *now;                /* by Ref: the node that replaces it */
  Ref *pad;                /* by Ref: the first padding of a value whose end depends on the size; 0: none */
} Sizing;

/* A copy of a node that outlives its graph. Its sources do not. */
static const Node *kept_node(IR *ir, const Node *x) {
  Node *copy = arena_dup(&ir->ctx->model, x, sizeof *x);
  copy->dims = arena_dup(&ir->ctx->model, x->dims, x->rank * sizeof *x->dims + 1);
  copy->arg = arena_dup(&ir->ctx->model, x->arg, x->narg * sizeof *x->arg + 1);
  return copy;
}

/* Walks both graphs from their outputs, as long as they have the same form; h is that of probe p. */
static void note_peers(Sizing *z, const Graph *h, int p) {
  const Graph *g = z->g;
  Refs todo = { 0 };
  for (size_t i = 0; i < g->outputs.n; i++) {
    VEC_PUSH(&todo, g->outputs.p[i].ref);
    VEC_PUSH(&todo, h->outputs.p[i].ref);
  }
  while (todo.n) {
    const Ref s = todo.p[--todo.n], r = todo.p[--todo.n];
    const Node *x = node(g->ir, r), *y = node(h->ir, s);
    if (z->peer[r][p] || x->op != y->op || x->nsrc != y->nsrc || x->rank != y->rank || x->dt != y->dt) continue;
    z->peer[r][p] = kept_node(z->ir, y);
    for (int k = 0; k < x->nsrc; k++) {
      VEC_PUSH(&todo, x->src[k]);
      VEC_PUSH(&todo, y->src[k]);
    }
  }
  VEC_FREE(&todo);
}

/* Values of something at the greatest size and at the probes. known: bits of probes */
typedef struct Samples { int64_t most, at[PROBES]; uint32_t known; } Samples;

static bool samples_vary(const Sizing *z, const Samples *s) {
  bool any = false;
  for (int p = 0; p < z->n; p++) any |= (s->known >> p & 1) && s->at[p] != s->most;
  return any;
}

/* Whether the samples are times * extent + plus */
static bool samples_are(const Sizing *z, const Samples *s, int extent, int64_t times, int64_t plus) {
  bool all = s->most == times * extent_in_run(z->ir, extent, z->ir->symbol.high) + plus;
  for (int p = 0; p < z->n && all; p++)
    all = !(s->known >> p & 1) || s->at[p] == times * extent_in_run(z->ir, extent, z->size[p]) + plus;
  return all;
}

/* Finds an extent whose multiple the samples are, or one that differs from them by a constant. */
static bool fit_samples(const Sizing *z, const Samples *s, int *extent, int64_t *times, int64_t *plus) {
  const int64_t high = z->ir->symbol.high;
  for (int shifted = 0; shifted < 2; shifted++)
    for (size_t e = 0; e < z->ir->extents.n; e++) {
      const int64_t most = extent_in_run(z->ir, (int)e, high);
      if (extent_is_constant(z->ir, (int)e)) continue;
      *extent = (int)e;
      *times = shifted || !most ? 1 : s->most / most;
      *plus = shifted ? s->most - most : 0;
      for (int p = 0; p < z->n && shifted; p++) {
        const int64_t less = most - extent_in_run(z->ir, (int)e, z->size[p]);
        if (!less || !(s->known >> p & 1) || (s->most - s->at[p]) % less) continue;
        *times = (s->most - s->at[p]) / less;
        *plus = s->most - *times * most;
        break;
      }
      if (*times && samples_are(z, s, (int)e, *times, *plus)) return true;
    }
  return false;
}

static Samples samples_of_axis(const Sizing *z, Ref r, int axis) {
  Samples s = { .most = node(z->ir, r)->dims[axis] };
  for (int p = 0; p < z->n; p++) {
    if (!z->peer[r][p]) continue;
    s.at[p] = z->peer[r][p]->dims[axis];
    s.known |= 1u << p;
  }
  return s;
}

/* The extent of a value along an axis in a run; -1: it is a constant, or not known */
static int extent_along(const Sizing *z, Ref r, int axis) {
  const Node *x = node(z->ir, r);
  const Samples s = samples_of_axis(z, r, axis);
  int extent = need_along(z->ir, x, &z->open[r], axis);
  int64_t times, plus;
  if (extent >= 0 && samples_are(z, &s, extent, 1, 0)) return extent;
  if (!samples_vary(z, &s) || !fit_samples(z, &s, &extent, &times, &plus)) return -1;
  return extent_make(z->ir, (Extent){ .of = extent, .times = times, .plus = plus, .over = 1, .most = x->dims[axis] });
}

static Ref mask_axes(const Sizing *z, Ref r, Ref value, uint32_t axes, int64_t fill) {
  for (int a = 0; a < node(z->ir, r)->rank; a++) {
    const int extent = axes >> a & 1 ? extent_along(z, r, a) : -1;
    if (extent >= 0) value = graph_masked(z->ir, value, a, extent, fill);
  }
  return value;
}

/* Axes with padding behind the entries */
static uint32_t padded_axes(const Node *pad) {
  uint32_t axes = 0;
  for (int a = 0; a < pad->rank; a++) axes |= (uint32_t)(pad_hi(pad, a) > 0) << a;
  return axes;
}

/* The source of a padding: a run's entries, and then the padding. All users of the source can take them from there. */
static Ref padded_source(const Sizing *z, Ref pad, Ref value) {
  const Node *x = node(z->ir, pad);
  int64_t fill;
  return node_is_const(z->ir, pad_fill(x), &fill) ? mask_axes(z, pad_data(x), value, padded_axes(x), fill) : value;
}

static Ref sized_pad(const Sizing *z, Ref r, Ref *src) {
  const Ref first = z->pad[pad_data(node(z->ir, r))];
  int64_t fill, other;
  const bool same = first && node_is_const(z->ir, pad_fill(node(z->ir, r)), &fill) &&
                    node_is_const(z->ir, pad_fill(node(z->ir, first)), &other) && fill == other &&
                    padded_axes(node(z->ir, r)) == padded_axes(node(z->ir, first));
  if (!same) src[0] = padded_source(z, r, src[0]);
  return node_with_src(z->ir, r, src);
}

static Ref sized_reduction(const Sizing *z, Ref r, Ref *src) {
  const Node *x = node(z->ir, r);
  const int64_t identity = reduce_identity(reduce_op(x), (DType)x->dt);
  return g_reduce(z->ir, reduce_op(x), mask_axes(z, operand(x), src[0], reduce_axes(x), identity), reduce_axes(x));
}

/* A number of entries or its inverse, such as the divisor of a mean. The proof tries all sizes. */
static Ref sized_constant(const Sizing *z, Ref r) {
  IR *ir = z->ir;
  const DType d = (DType)node(ir, r)->dt;
  for (int inverse = 0; inverse < 2 && d != DT_BOOL; inverse++) {
    Samples s = { 0 };
    bool good = !inverse || dt_float(d);
    for (int p = -1; p < z->n && good; p++) {
      const Node *x = p < 0 ? node(ir, r) : z->peer[r][p];
      if (!x) continue;
      const double value = bits_to_double(d, const_value(x)), whole = nearbyint(inverse ? 1 / value : value);
      good = fabs(whole) < 1e15 && double_to_bits(d, inverse ? 1 / whole : whole) == const_value(x);
      if (!good) break;
      if (p < 0) s.most = (int64_t)whole;
      else s.at[p] = (int64_t)whole, s.known |= 1u << p;
    }
    int extent;
    int64_t times, plus;
    if (!good || !samples_vary(z, &s)) continue;
    if (!fit_samples(z, &s, &extent, &times, &plus)) continue;
    Ref size = size_value(ir, size_number(ir, size_all(times > 0 ? times : 1, extent)));
    if (times < 0) size = g_binary(ir, OP_MUL, size, c_int(ir, DT_I64, times));
    if (plus) size = g_binary(ir, OP_ADD, size, c_int(ir, DT_I64, plus));
    const Ref value = g_cast(ir, size, d);
    return inverse ? g_unary(ir, OP_RECIP, value) : value;
  }
  return r;
}

/* Puts masks and sizes into the graph. */
static void put_sizes(Sizing *z) {
  Graph *g = z->g;
  IR *ir = z->ir;
  Refs roots = { 0 }, order = { 0 };
  for (size_t i = 0; i < g->outputs.n; i++) VEC_PUSH(&roots, g->outputs.p[i].ref);
  ir_toposort(ir, roots.p, roots.n, &order);
  for (size_t i = 0; i < order.n; i++) {
    const Node *x = node(ir, order.p[i]);
    if (x->op == OP_PAD && padded_axes(x) && !z->pad[pad_data(x)]) z->pad[pad_data(x)] = order.p[i];
  }
  for (size_t i = 0; i < order.n; i++) {
    const Ref r = order.p[i];
    const Node *x = node(ir, r);
    Ref *src = ARENA_NEW(&ir->ctx->model, Ref, x->nsrc), now;
    for (int k = 0; k < x->nsrc; k++) src[k] = z->now[x->src[k]];
    ir->origin = x->origin;
    now = x->op == OP_REDUCE ? sized_reduction(z, r, src) : x->op == OP_PAD ? sized_pad(z, r, src) : x->op == OP_CONST
          ? sized_constant(z, r) : x->nsrc ? node_with_src(ir, r, src) : r;
    z->now[r] = z->pad[r] ? padded_source(z, z->pad[r], now) : now;
  }
  ir->origin = 0;
  for (size_t i = 0; i < g->outputs.n; i++) g->outputs.p[i].ref = z->now[g->outputs.p[i].ref];
  VEC_FREE(&order);
  VEC_FREE(&roots);
}

/* ---- the sizes of the range ---- */
typedef struct Trial {     /* the model at one size, in a context of its own */
  const char *path;
  const LoadOptions *given;
  Sizing sizing;
  const Needed *needs, *open; /* NULL: what depends on the size is found */
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

/* Finds the axis of an input or output whose extent differs at a smaller size n. */
static void find_open(Ctx *c, const Symbol *s, GIO *v, const GIO *w, int64_t n, bool input) {
  for (int a = 0; a < v->rank; a++) {
    if (v->dims[a] == w->dims[a] || v->open == a + 1) continue;
    if (v->open)
      fail(c, EX_BADMODEL, "--dim %s: two extents of '%s' depend on that dimension, and one may; give one number", s->name, v->name);
    if (input && (v->dims[a] != s->high || w->dims[a] != n))
      fail(c, EX_BADMODEL, "--dim %s: input '%s' must have that dimension as an extent, without other factors or terms; give one number",
           s->name, v->name);
    v->open = a + 1;
  }
}

static void find_all_open(Ctx *c, Graph *g, const Graph *less, int64_t n) {
  const Symbol *s = &g->ir->symbol;
  bool same = g->inputs.n == less->inputs.n && g->outputs.n == less->outputs.n, any = false;
  for (size_t i = 0; i < g->inputs.n && same; i++) same = g->inputs.p[i].rank == less->inputs.p[i].rank;
  for (size_t i = 0; i < g->outputs.n && same; i++) same = g->outputs.p[i].rank == less->outputs.p[i].rank;
  if (!same) fail(c, EX_BADMODEL, "--dim %s: the number of inputs, of outputs or of their axes depends on the size", s->name);
  for (size_t i = 0; i < g->inputs.n; i++) {
    find_open(c, s, &g->inputs.p[i], &less->inputs.p[i], n, true);
    any |= g->inputs.p[i].open > 0;
  }
  for (size_t i = 0; i < g->outputs.n; i++) find_open(c, s, &g->outputs.p[i], &less->outputs.p[i], n, false);
  if (!any) fail(c, EX_USAGE_, "--dim %s: no extent of an input is that dimension", s->name);
}

static void try_size(Ctx *c, void *arg) {
  Trial *t = arg;
  Sizing *z = &t->sizing;
  Graph *g = load_at(c, t->path, t->given, t->n);
  if (!t->needs) {
    find_all_open(c, z->g, g, t->n);
    note_peers(z, g, z->n);
    return;
  }
  Graph *cut = graph_cut(c, z->g, t->needs, t->open, t->n);
  Ref wrong = difference(g, cut);
  if (wrong) {
    g = simplified(g);
    wrong = difference(g, simplified(cut));
  }
  if (wrong) differs(c, ir_pos(g->ir, wrong), &z->ir->symbol, t->n);
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

/* Compares the greatest size with the next smaller ones, and with the least one. Extents behind steps differ not at all of them. */
static void probe(Ctx *c, Trial *t) {
  Sizing *z = &t->sizing;
  const Symbol *s = &z->ir->symbol;
  for (int64_t n = s->high - 1; n >= s->low && z->n < PROBES; n--) {
    t->n = z->size[z->n] = z->n + 1 < PROBES ? n : s->low;
    at_size(c, t);
    z->n++;
  }
}

/* The extents of outputs */
static void settle_outputs(Ctx *c, Sizing *z) {
  for (size_t i = 0; i < z->g->outputs.n; i++) {
    GIO *v = &z->g->outputs.p[i];
    v->extent = v->open ? extent_along(z, v->ref, v->open - 1) : 0;
    if (v->extent < 0)
      fail(c, EX_BADMODEL, "--dim %s: output '%s' has an extent that depends on that dimension in a way that one bundle cannot serve; "
           "give one number", z->ir->symbol.name, v->name);
    if (v->extent) v->formula = extent_text(c, z->ir, v->extent);
  }
}

Graph *sized_load(Ctx *c, const char *path, const LoadOptions *o) {
  const DimValue *range = o->range;
  Trial t = { .path = path, .given = o };
  Sizing *z = &t.sizing;
  Graph *g = z->g = load_at(c, path, o, range->value);
  IR *ir = z->ir = g->ir;
  const uint32_t nodes = ir->n;
  ir_set_symbol(ir, (Symbol){ range->name, o->low, range->value, 0 });
  z->peer = ARENA_NEW(&c->model, Peers, nodes);
  z->now = ARENA_NEW(&c->model, Ref, nodes);
  z->pad = ARENA_NEW(&c->model, Ref, nodes);
  memset(z->peer, 0, nodes * sizeof *z->peer);
  memset(z->pad, 0, nodes * sizeof *z->pad);
  probe(c, &t);
  z->open = graph_open(g);
  settle_outputs(c, z);
  put_sizes(z);
  t.open = graph_open(g);
  t.needs = graph_needs(g, t.open);
  for (t.n = o->low; t.n < range->value; t.n++) {
    ctx_progress(c, "sizes", (double)(t.n - o->low) / (double)(range->value - o->low));
    at_size(c, &t);
  }
  return g;
}

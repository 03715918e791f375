/* SPDX-License-Identifier: MIT */
/* sized_proof.c: the proof that the graph for ranges of sizes serves a run of some sizes.
 *
 * The graph of the greatest sizes is cut to what a run needs (graph/needs.c). Extents become those of the run, size masks vanish,
 * and sizes become numbers. The result must be what the front end builds for these sizes. Constants are compared by their
 * elements.
 *
 * needs: the graph with its needs, and that of the run    gives: nothing, or an error that names the node that differs */
#include "../compiler/graph/graph.h"
#include "../compiler/interp/interp.h"
#include "../compiler/ir/refmap.h"
#include "common/compose.h"
#include "sized.h"
#include <stdlib.h>
#include <string.h>

/* ---- the graph of a run ---- */
typedef struct Cut {
  IR *from, *to;
  const Placeds *placed;
  const Needed *needs, *open; /* from graph_needs and graph_open */
  const int64_t *run;          /* its sizes */
  Ref *now; /* by Ref of `from` */
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
      needed = i / n->is[k].inner % n->is[k].extent < extent_in_run(w->from, n->is[k].of, w->run);
    if (!needed) continue;
    memcpy(p, (const char *)t->data + (size_t)i * size, size);
    p += size;
  }
  return part;
}

/* The axes of a value, split so that each condition has an axis of its own. now, then: extents before and after cutting */
typedef struct Split {
  int n;
  int64_t now[MAX_RANK], then[MAX_RANK];
} Split;

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
    if (had->is[k].inner == is->inner && had->is[k].extent == is->extent) return extent_in_run(w->from, had->is[k].of, w->run);
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
      add_axis(s, entries_left(w, had, is), extent_in_run(w->from, is->of, w->run));
    }
    if (s->n + 1 > MAX_RANK) return false;
    add_axis(s, left, left);
  }
  return true;
}

/* Each condition is on the first entries of an axis. */
static bool of_whole_axes(const Node *y, const Needed *n) {
  int64_t within;
  bool all = true;
  for (int k = 0; k < n->n && all; k++) {
    const int a = need_axis(y, &n->is[k], &within);
    all = a >= 0 && within * n->is[k].extent == y->dims[a];
  }
  return all;
}

static bool ends_inside(const Node *y, const int64_t *dims) {
  bool all = true;
  for (int a = 0; a < y->rank && all; a++) all = dims[a] <= y->dims[a];
  return all;
}

/* The symbol of the last condition */
static const Symbol *symbol_of(const IR *ir, const Needed *n) {
  return &ir->symbols.p[ir->extents.p[n->is[n->n - 1].of].symbol];
}

/* "batch=4, seq=100" */
static const char *run_text(Ctx *c, const Symbols *all, const int64_t *run) {
  Sb s = { 0 };
  for (int k = 0; k < all->n; k++) sb_printf(&s, "%s%s=%lld", k ? ", " : "", all->p[k].name, (long long)run[k]);
  return sb_keep(&s, &c->model);
}

_Noreturn static void differs(Ctx *c, Pos at, const Symbols *s, const int64_t *run) {
  RunSizes most = { 0 };
  int k = 0;
  greatest_sizes(s, most);
  while (k + 1 < s->n && run[k] == most[k]) k++;
  fail_at(c, EX_BADMODEL, at,
          "--dim %s: the node depends on the size in a way that one bundle cannot serve; the node's result with %s is not a part "
          "of its result with %s; give one number, or a smaller range",
          s->p[k].name, run_text(c, s, run), run_text(c, s, most));
}

static const Placed *placed_at(const Cut *w, Ref r) {
  const Placed *found = NULL;
  for (size_t i = 0; i < w->placed->n && !found; i++)
    if (w->placed->p[i].now == r) found = &w->placed->p[i];
  return found;
}

/* Source k of a node. If another user needs more of the source, it is larger, and the node takes the entries that it needs. The
 * positions in joined axes, of which an inner one ends early, are other numbers than those of a run. A placed node has only the
 * entries of a run, so no user may take others. */
static Ref cut_source(const Cut *w, Ref r, int k) {
  IR *ir = w->to;
  const Ref source = node(w->from, r)->src[k], now = w->now[source];
  const Node *y = node(w->from, source);
  const Needed n = graph_need_of_source(w->from, r, k, &w->needs[r], &w->open[source]), *had = &w->needs[source];
  const int64_t none[MAX_RANK] = { 0 };
  int64_t dims[MAX_RANK];
  Need mask;
  Split s;
  need_dims(w->from, y, &n, w->run, dims);
  if (n.n >= 0 && placed_at(w, source) && !ends_inside(node(ir, now), dims))
    differs(ir->ctx, ir_pos(w->from, r), &w->from->symbols, w->run);
  if (n.n <= 0 || (needed_same(&n, had) && y->op != OP_IOTA) || graph_size_mask(w->from, source, &mask)) return now;
  if (y->op == OP_IOTA && !of_whole_axes(y, &n)) differs(ir->ctx, ir_pos(w->from, r), &w->from->symbols, w->run);
  if (y->op == OP_IOTA) return g_iota(ir, (DType)y->dt, dims[0]);
  if (of_whole_axes(y, &n) && of_whole_axes(y, had))
    return ends_inside(node(ir, now), dims) ? g_shrink(ir, now, none, NULL, dims) : now;
  if (!split_axes(w, y, &n, had, &s))
    fail_at(ir->ctx, EX_BADMODEL, ir_pos(w->from, r),
            "--dim %s: the node has too many axes for a range of sizes; give one number",
            symbol_of(w->from, &n)->name);
  if (!memcmp(s.now, s.then, (size_t)s.n * sizeof *s.now)) return now;
  if (dims_elems(s.now, s.n) != dims_elems(node(ir, now)->dims, node(ir, now)->rank)) return now; /* the graphs will differ */
  Ref part = g_reshape(ir, now, s.n, s.now);
  part = g_shrink(ir, part, none, NULL, s.then);
  return g_reshape(ir, part, y->rank, dims);
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
      good = !dims[a] || (dims[a] > 0 && first >= 0 && first < y->dims[a] && last >= 0 && last < y->dims[a]);
    }
    return good;
  case OP_PAD:
    for (int a = 0; a < x->rank && good; a++) {
      const int64_t lo = pad_lo(x, a), hi = pad_hi(x, a);
      good = lo >= 0 && hi >= 0 && dims[a] == y->dims[a] + lo + hi;
    }
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

/* The source of a copy. Constants have all their entries, since inputs tell no extent of theirs. */
static Ref copied_entries(const Cut *w, const Placed *p, Ref source) {
  const int64_t none[MAX_RANK] = { 0 };
  int64_t dims[MAX_RANK];
  const Node *y = node(w->to, source);
  for (int a = 0; a < y->rank; a++) {
    dims[a] = p->extent[a] < 0 ? y->dims[a] : extent_in_run(w->from, p->extent[a], w->run);
    if (dims[a] > y->dims[a]) dims[a] = y->dims[a];
  }
  return g_shrink(w->to, source, none, NULL, dims);
}

/* A placed node becomes the node that the front end builds. */
static Ref cut_placed(const Cut *w, Ref r, const Placed *p) {
  IR *ir = w->to;
  const Node *x = p->was;
  Ref *src = ARENA_NEW(&ir->ctx->model, Ref, x->nsrc);
  int64_t dims[MAX_RANK], arg[2 * MAX_RANK];
  for (int k = 0; k < x->nsrc; k++) src[k] = w->now[p->src[k]];
  if (x->op == OP_RESHAPE) src[0] = copied_entries(w, p, src[0]);
  memcpy(arg, x->arg, x->narg * sizeof *arg);
  need_dims(w->from, node(w->from, r), &w->needs[r], w->run, dims);
  if (x->op == OP_CAT) {
    dims[cat_axis(x)] = 0;
    for (int k = 0; k < x->nsrc; k++) dims[cat_axis(x)] += node(ir, src[k])->dims[cat_axis(x)];
  }
  for (int a = 0; a < x->rank && x->op == OP_SHRINK; a++)
    if (p->begin[a] >= 0) arg[a] = extent_in_run(w->from, p->begin[a], w->run);
  for (int a = 0; a < x->rank && x->op == OP_PAD; a++) {
    const int64_t width = dims[a] - node(ir, src[0])->dims[a];
    if (p->front[a] != PAD_FIXED) arg[a] = (width + p->front[a]) / 2;
    arg[x->rank + a] = width - arg[a];
  }
  Node now = *x;
  now.arg = arg;
  if (!shape_follows(ir, &now, src, dims)) differs(ir->ctx, ir_pos(w->from, r), &w->from->symbols, w->run);
  if (x->op == OP_PAD) return g_pad(ir, src[0], arg, arg + x->rank, src[1]);
  if (x->op == OP_RESHAPE) return g_reshape(ir, src[0], x->rank, dims);
  return x->op == OP_SHRINK ? g_shrink(ir, src[0], arg, arg + x->rank, dims) : g_cat(ir, x->nsrc, src, (int)cat_axis(x));
}

static Ref cut_node(const Cut *w, Ref r) {
  IR *ir = w->to;
  const Node *x = node(w->from, r);
  int64_t dims[MAX_RANK], arg[2 * MAX_RANK];
  Ref *src = ARENA_NEW(&ir->ctx->model, Ref, x->nsrc);
  Need mask;
  const Placed *placed = placed_at(w, r);
  if (placed) return cut_placed(w, r, placed);
  for (int k = 0; k < x->nsrc; k++) src[k] = cut_source(w, r, k);
  if (graph_size_mask(w->from, r, &mask) || is_held(w->from, r)) return src[1];
  need_dims(w->from, x, &w->needs[r], w->run, dims);
  if (!shape_follows(ir, x, src, dims)) differs(ir->ctx, ir_pos(w->from, r), &w->from->symbols, w->run);
  memcpy(arg, x->arg, (size_t)(x->narg < 2 * MAX_RANK ? x->narg : 2 * MAX_RANK) * sizeof *arg);
  switch ((Op)x->op) {
  case OP_SIZE: return c_int(ir, DT_I64, size_in_run(w->from, (int)size_id(x), w->run));
  case OP_RESHAPE: return g_reshape(ir, src[0], x->rank, dims);
  case OP_EXPAND: return g_expand(ir, src[0], x->rank, dims);
  case OP_PERMUTE: return g_permute(ir, src[0], arg);
  case OP_SHRINK: return g_shrink(ir, src[0], arg, arg + x->rank, dims);
  case OP_ITERATE: {
    const int trips = loop_extent(w->from, iterate_loop(x));
    return g_iterate(ir, (int)iterate_loop(x), trips < 0 ? iterate_trips(x) : extent_in_run(w->from, trips, w->run),
                     (int)iterate_while(x), x->nsrc, src);
  }
  case OP_REDUCE: return g_reduce(ir, reduce_op(x), src[0], reduce_axes(x));
  case OP_CAT: return g_cat(ir, x->nsrc, src, (int)cat_axis(x)); /* without empty parts, as the front end builds it */
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

/* Nodes below the roots, without those that only a placed node uses. The caller frees the array. */
static bool *mark_used(const Cut *w, const Refs *roots) {
  bool *used = xcalloc(w->from->n, sizeof *used);
  Refs todo = { 0 };
  for (size_t i = 0; i < roots->n; i++) VEC_PUSH(&todo, roots->p[i]);
  while (todo.n) {
    const Ref r = todo.p[--todo.n];
    if (used[r]) continue;
    used[r] = true;
    const Placed *p = placed_at(w, r);
    const Node *x = node(w->from, r);
    for (int k = 0; k < (p ? p->was->nsrc : x->nsrc); k++) VEC_PUSH(&todo, p ? p->src[k] : x->src[k]);
  }
  VEC_FREE(&todo);
  return used;
}

/* The graph cut to what a run of these sizes needs; c: where it lives */
static Graph *graph_cut(Ctx *c, const Graph *g, const Placeds *placed, const Needed *needs, const Needed *open,
                        const int64_t *run) {
  Graph h = { .ir = ir_new(c), .name = g->name };
  Cut w = { g->ir, h.ir, placed, needs, open, run, xcalloc(g->ir->n, sizeof(Ref)) };
  Refs roots = { 0 }, order = { 0 };
  for (size_t i = 0; i < g->inputs.n; i++) VEC_PUSH(&roots, g->inputs.p[i].ref);
  for (size_t i = 0; i < g->outputs.n; i++) VEC_PUSH(&roots, g->outputs.p[i].ref);
  ir_toposort(g->ir, roots.p, roots.n, &order);
  bool *used = mark_used(&w, &roots);
  for (size_t i = 0; i < order.n; i++)
    if (used[order.p[i]]) w.now[order.p[i]] = cut_node(&w, order.p[i]);
  free(used);
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
  if (a->data && b->data) return a->data == b->data || !memcmp(a->data, b->data, (size_t)(a->elems * dt_bytes(a->dt)));
  if (!a->data && !b->data) return a->splat == b->splat;
  bool same = true;
  for (int64_t i = 0; i < a->elems && same; i++) same = tensor_bits(a, i) == tensor_bits(b, i);
  return same;
}

/* op, type, shape and arguments */
static bool same_op(const IR *a, const Node *x, const IR *b, const Node *y) {
  if (x->op != y->op || x->nsrc != y->nsrc || x->narg != y->narg || !nodes_alike(x, y)) return false;
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

/* The source that a selection by a constant takes, if the condition is alike for all elements */
static Ref selected(IR *ir, Ref r) {
  for (const Node *x = node(ir, r); x->op == OP_WHERE && !node(ir, where_cond(x))->varies; x = node(ir, r)) {
    Tensor t;
    if (!interp_const(ir, where_cond(x), &t) || !t.elems) return r;
    for (int64_t i = 1; i < t.elems; i++)
      if (tensor_bits(&t, i) != tensor_bits(&t, 0)) return r;
    r = tensor_bits(&t, 0) ? where_yes(x) : where_no(x);
  }
  return r;
}

enum { VISITS = 8 }; /* at most so many comparisons for each node */

/* 0: the graphs compute the same; else the node of g at which they differ first on the way from the outputs. A node of g may have
 * several peers, because constants of other forms may have the same elements. */
static Ref difference(Graph *g, Graph *h) {
  RefMap peer = { 0 }; /* node of h to the node of g that computes the same, if their sources do */
  uint64_t left = VISITS * ((uint64_t)g->ir->n + h->ir->n);
  Refs todo = { 0 };
  Ref wrong = g->outputs.n == h->outputs.n ? 0 : 1;
  for (size_t i = 0; i < g->outputs.n && !wrong; i++) {
    VEC_PUSH(&todo, g->outputs.p[i].ref);
    VEC_PUSH(&todo, h->outputs.p[i].ref);
  }
  while (todo.n && !wrong) {
    Ref s = todo.p[--todo.n], r = todo.p[--todo.n];
    if (node(g->ir, r)->op != node(h->ir, s)->op) r = selected(g->ir, r), s = selected(h->ir, s);
    const Node *x = node(g->ir, r), *y = node(h->ir, s);
    if (refmap_get(&peer, s) == r) continue;
    const bool constant = !x->varies && !y->varies;
    if (constant ? !same_constant(g->ir, r, h->ir, s) : !left-- || !same_op(g->ir, x, h->ir, y)) wrong = r;
    refmap_set(&peer, s, r);
    for (int k = 0; k < x->nsrc && !constant && !wrong; k++) {
      VEC_PUSH(&todo, x->src[k]);
      VEC_PUSH(&todo, y->src[k]);
    }
  }
  refmap_free(&peer);
  VEC_FREE(&todo);
  return wrong;
}

/* A window takes the elements that it covers, and no padding behind them: ceil_mode pads only where a size needs it. */
static Ref tight_window(IR *ir, Ref r, void *arg) {
  (void)arg;
  const Node *x = node(ir, r), *y = node(ir, operand(x));
  const int a = (int)window_axis(x);
  const int64_t taps = x->dims[y->rank], covered = (x->dims[a] - 1) * window_stride(x) + (taps - 1) * window_dilation(x) + 1;
  const int64_t none[MAX_RANK] = { 0 };
  int64_t dims[MAX_RANK];
  if (covered >= y->dims[a] || !x->dims[a]) return 0;
  memcpy(dims, y->dims, y->rank * sizeof *dims);
  dims[a] = covered;
  return g_window(ir, g_shrink(ir, operand(x), none, NULL, dims), a, x->dims[a], taps, window_stride(x), window_dilation(x));
}

/* A gather that takes each entry once, in order: at some size nothing stands in front of them. */
static Ref gather_of_all(IR *ir, Ref r, void *arg) {
  (void)arg;
  const Node *x = node(ir, r), *y = node(ir, gather_data(x));
  const int axis = (int)gather_axis(x);
  Tensor t;
  if (node(ir, gather_index(x))->varies || !nodes_alike(x, y) || !interp_const(ir, gather_index(x), &t)) return 0;
  int64_t inner = 1;
  for (int a = axis + 1; a < x->rank; a++) inner *= x->dims[a];
  for (int64_t i = 0; i < t.elems; i++)
    if (tensor_bits(&t, i) != i / inner % x->dims[axis]) return 0;
  return t.elems == dims_elems(x->dims, x->rank) ? gather_data(x) : 0;
}

static const Rule tight_windows[] = { { OP_WINDOW, "tight window", tight_window }, { OP_NONE, NULL, NULL } };
static const Rule no_gathers_of_all[] = { { OP_GATHER, "gather of all", gather_of_all }, { OP_NONE, NULL, NULL } };

/* Frees g */
static Graph *simplified(Graph *g, const Rule *rules) {
  ir_rewrite_graph(g, rules, NULL);
  graph_simplify(g, false);
  Graph *h = ir_compact(g);
  graph_free(g);
  return h;
}

void sized_prove(Ctx *c, const SizedGraph *s, Graph *want, const int64_t *run) {
  Graph *cut = graph_cut(c, s->g, s->placed, s->needs, s->open, run);
  Ref wrong = difference(want, cut);
  if (wrong) {
    want = simplified(want, tight_windows), cut = simplified(cut, tight_windows);
    wrong = difference(want, cut);
  }
  if (wrong) {
    want = simplified(want, no_gathers_of_all), cut = simplified(cut, no_gathers_of_all);
    wrong = difference(want, cut);
  }
  if (wrong) differs(c, ir_pos(want->ir, wrong), &s->g->ir->symbols, run);
  graph_free(cut);
  graph_free(want);
}

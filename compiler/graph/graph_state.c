/* SPDX-License-Identifier: MIT */
/* graph_state.c: states, which are pairs of an output and an input that the bundle keeps from one run to the next.
 *
 * The pairs move to the ends of both lists. The graph tells their kind. The output may be the input with something appended (a
 * cache of keys), or the last part of that (a history of samples). Then it is a window that moves along memory, and only the
 * new part is written. Any other output of the same shape takes the place of its input.
 *
 * grow.c handles windows that start empty.
 *
 * needs: any graph    gives: Graph.states    breaks: the order of inputs and outputs */
#include "graph.h"
#include "../ir/refmap.h"
#include "rules.h"
#include <string.h>

enum { SLACK = 4 }; /* default capacity: the window plus 1/SLACK of it, or plus one run; then the window moves back */

/* ---- pairs by name ---- */
static int find(const GIO *v, size_t n, const char *name) {
  for (size_t i = 0; i < n; i++)
    if (v[i].name && !strcmp(v[i].name, name)) return (int)i;
  return -1;
}

const char *star_matched(Ctx *c, const char *pattern, const char *s) {
  const char *star = strchr(pattern, '*');
  if (!star) return strcmp(pattern, s) ? NULL : "";
  size_t head = (size_t)(star - pattern), tail = strlen(star + 1), n = strlen(s);
  if (n < head + tail || strncmp(s, pattern, head) || strcmp(s + n - tail, star + 1)) return NULL;
  return arena_str(&c->model, s + head, n - head - tail);
}

const char *star_filled(Ctx *c, const char *pattern, const char *with) {
  const char *star = strchr(pattern, '*');
  return star ? arena_printf(&c->model, "%.*s%s%s", (int)(star - pattern), pattern, with, star + 1) : pattern;
}

static const char *names_of(Ctx *c, const GIO *v, size_t n) {
  Sb s = { 0 };
  for (size_t i = 0; i < n && i < 12; i++) sb_printf(&s, "%s '%.100s'", i ? "," : "", v[i].name ? v[i].name : "");
  if (n > 12) sb_printf(&s, " and %zu more", n - 12);
  return sb_keep(&s, &c->model);
}

static const char *near(Ctx *c, const char *name, const GIO *v, size_t n) {
  const char **names = ARENA_NEW(&c->model, const char *, n + 1);
  for (size_t i = 0; i < n; i++) names[i] = v[i].name ? v[i].name : "";
  return did_you_mean(&c->model, name, names, n);
}

typedef struct Pair { int in, out; const StateSpec *spec; } Pair;
typedef VEC(Pair) Pairs;

static void find_pairs(Graph *g, const StateSpec *s, Pairs *pairs) {
  Ctx *c = g->ir->ctx;
  size_t before = pairs->n;
  bool pattern = strchr(s->past, '*') != NULL;
  for (size_t i = 0; i < g->inputs.n; i++) {
    const char *with = g->inputs.p[i].name ? star_matched(c, s->past, g->inputs.p[i].name) : NULL;
    if (!with) continue;
    const char *name = star_filled(c, s->present, with);
    int out = find(g->outputs.p, g->outputs.n, name);
    if (out < 0 && pattern) continue; /* p* may match more than the caches */
    if (out < 0)
      fail(c, EX_USAGE_, "--state: the model has no output '%s'; there are%s%s", name, names_of(c, g->outputs.p, g->outputs.n),
           near(c, name, g->outputs.p, g->outputs.n));
    for (size_t k = 0; k < pairs->n; k++)
      if (pairs->p[k].in == (int)i || pairs->p[k].out == out)
        fail(c, EX_USAGE_, "--state: '%s' or '%s' is part of two pairs", g->inputs.p[i].name, name);
    VEC_PUSH(pairs, ((Pair){ (int)i, out, s }));
  }
  if (pairs->n == before)
    fail(c, EX_USAGE_, "--state: the model has no input '%s'%s; there are%s%s", s->past, pattern ? " with its output" : "",
         names_of(c, g->inputs.p, g->inputs.n), near(c, s->past, g->inputs.p, g->inputs.n));
}

/* ---- kinds of pairs ---- */
static bool is_param(const IR *ir, Ref r, int slot) { return node(ir, r)->op == OP_PARAM && param_slot(node(ir, r)) == slot; }

/* The concatenation of input slot and an appended part that the output is, or whose last part of the input's extents it is; 0:
 * the output is something else. */
static Ref appended(const IR *ir, Ref out, int slot) {
  const Node *x = node(ir, out), *cat = x;
  Ref r = out;
  if (x->op == OP_SHRINK) r = operand(x), cat = node(ir, r);
  if (cat->op != OP_CAT || !is_param(ir, cat_part(cat, 0), slot)) return 0;
  const Node *past = node(ir, cat_part(cat, 0));
  int axis = (int)cat_axis(cat);
  for (int a = 0; a < x->rank && x != cat; a++) {
    int64_t begin = a == axis ? cat->dims[a] - past->dims[a] : 0;
    if (shrink_begin(x, a) != begin || shrink_step(x, a) != 1 || x->dims[a] != past->dims[a]) return 0;
  }
  return r;
}

/* The same for a range of sizes (frontends/sized.c): positions below the size are from the input, and others from the appended
 * part. */
static bool appended_behind_size(const IR *ir, Ref out, int slot) {
  const Node *x = node(ir, out);
  Need below;
  if (x->op != OP_WHERE || !ir->symbols.n || !graph_first_entries(ir, where_cond(x), &below)) return false;
  const Node *yes = node(ir, where_yes(x)), *no = node(ir, where_no(x));
  return yes->op == OP_PAD && is_param(ir, pad_data(yes), slot) && no->op == OP_GATHER &&
         pad_hi(yes, gather_axis(no)) == node(ir, gather_data(no))->dims[gather_axis(no)];
}

/* ---- stacked caches ---- */
/* Some models keep keys and values in one tensor: they take both apart, append to each, and stack the results. */
typedef struct Stack { /* a tree of movements and concatenations above the places where a model appends */
  IR *ir;
  int slot;   /* number of the input */
  bool fresh; /* builds the tree of the appended parts, else the tree of what the input has */
  int axis;   /* along which the node built last grows */
} Stack;

/* A part of the input with something appended. Sets the source that `fresh` asks for, and the axis. */
static Ref leaf_of_stack(Stack *s, const Node *x) {
  const IR *ir = s->ir;
  Need below;
  Ref old = 0, fresh = 0;
  if (x->op == OP_CAT && x->nsrc == 2) {
    s->axis = (int)cat_axis(x), old = cat_part(x, 0), fresh = cat_part(x, 1);
  } else if (x->op == OP_WHERE && ir->symbols.n && graph_first_entries(ir, where_cond(x), &below)) {
    const Node *yes = node(ir, where_yes(x)), *no = node(ir, where_no(x));
    if (yes->op != OP_PAD || no->op != OP_GATHER) return 0;
    s->axis = (int)gather_axis(no), old = pad_data(yes), fresh = gather_data(no);
  }
  for (Ref r = old; r; r = op_is_movement((Op)node(ir, r)->op) ? operand(node(ir, r)) : 0)
    if (is_param(ir, r, s->slot)) return s->fresh ? fresh : old;
  return 0;
}

/* The tree with other extents along the axis; 0: it has another node. depth: limits the calls in each other */
static Ref grown_part(Stack *s, Ref r, int depth) {
  IR *ir = s->ir;
  const Node *x = node(ir, r);
  const Ref leaf = leaf_of_stack(s, x);
  int64_t dims[MAX_RANK];
  if (leaf || !depth) return leaf;
  if (x->op == OP_CAT) {
    Ref *part = ARENA_NEW(&ir->ctx->model, Ref, x->nsrc);
    for (int k = 0; k < x->nsrc; k++)
      if (!(part[k] = grown_part(s, x->src[k], depth - 1)) || s->axis == cat_axis(x)) return 0;
    return g_cat(ir, x->nsrc, part, (int)cat_axis(x));
  }
  const Ref of = x->op == OP_PERMUTE || x->op == OP_RESHAPE ? grown_part(s, operand(x), depth - 1) : 0;
  if (!of) return 0;
  const int64_t n = node(ir, of)->dims[s->axis];
  if (x->op == OP_PERMUTE) {
    int to = 0;
    while (permute_perm(x, to) != s->axis) to++;
    s->axis = to;
    return g_permute(ir, of, x->arg);
  }
  s->axis = reshape_axis(x, node(ir, operand(x)), s->axis);
  memcpy(dims, x->dims, x->rank * sizeof *dims);
  if (s->axis < 0) return 0;
  dims[s->axis] = n;
  return g_reshape(ir, of, x->rank, dims);
}

/* The output as the input with one part appended, if it is a stack of parts that each get something appended; else the output */
static Ref unstacked(const Graph *g, Ref out, int slot) {
  enum { DEPTH = 16 };
  IR *ir = g->ir;
  const GIO *past = &g->inputs.p[slot];
  Stack s = { ir, slot, false, -1 };
  const Op op = (Op)node(ir, out)->op;
  const Ref old = op == OP_CAT || op == OP_RESHAPE || op == OP_PERMUTE ? grown_part(&s, out, DEPTH) : 0;
  if (!old || !graph_is_same(ir, old, past->ref)) return out;
  s.fresh = true;
  const Ref fresh = grown_part(&s, out, DEPTH);
  if (!fresh) return out;
  if (!past->open[s.axis]) return g_cat(ir, 2, (Ref[]){ past->ref, fresh }, s.axis);
  return graph_joined(ir, past->ref, fresh, s.axis, past->open[s.axis] - 1, -1);
}

static bool same_shape(const GIO *a, const GIO *b) {
  return a->dt == b->dt && a->rank == b->rank && !memcmp(a->dims, b->dims, (size_t)a->rank * sizeof *a->dims);
}

static const Tensor *initial(Ctx *c, const StateSpec *s, const GIO *past) {
  const Tensor *t = s->init;
  if (!t) return NULL;
  if (t->dt != past->dt || t->rank != past->rank || memcmp(t->dims, past->dims, (size_t)t->rank * sizeof *t->dims))
    fail(c, EX_USAGE_, "--state: the initial value of '%s' must have the type and shape of the input", past->name);
  return t;
}

/* A window of a range of sizes: elements as many as its symbol says, and behind them those that a run appends */
static GState sized_window(Graph *g, const Pair *p) {
  Ctx *c = g->ir->ctx;
  const GIO *past = &g->inputs.p[p->in];
  const Node *x = node(g->ir, g->outputs.p[p->out].ref);
  const int axis = (int)gather_axis(node(g->ir, where_no(x)));
  const int64_t taken = x->dims[axis] - past->dims[axis];
  if (!past->open[axis])
    fail(c, EX_USAGE_, "--state: the axis along which '%s' grows has no size of its own in the ranges of --dim", past->name);
  Symbol *s = &g->ir->symbols.p[past->open[axis] - 1];
  if (p->spec->capacity || p->spec->grow || p->spec->init || (p->spec->axis >= 0 && p->spec->axis != axis))
    fail(c, EX_USAGE_, "--state: '%s' has as many elements as '%s' says, so IN=OUT has no KEY=VALUE", past->name,
         s->name);
  if (taken % s->step)
    fail(c, EX_USAGE_, "--state: '%s' grows by %lld per run, but '%s' has steps of %lld", past->name, (long long)taken, s->name,
         (long long)s->step);
  if (s->appended && s->appended != taken)
    fail(c, EX_USAGE_, "--state: '%s' grows by %lld per run, but another state by %lld", past->name, (long long)taken,
         (long long)s->appended);
  s->appended = taken;
  return (GState){ .axis = axis, .taken = taken, .step = taken, .most = taken, .capacity = x->dims[axis],
                   .symbol = past->open[axis] };
}

static GState classify(Graph *g, const Pair *p) {
  Ctx *c = g->ir->ctx;
  const StateSpec *s = p->spec;
  const GIO *past = &g->inputs.p[p->in];
  GIO *out = &g->outputs.p[p->out];
  out->ref = unstacked(g, out->ref, p->in);
  if (appended_behind_size(g->ir, out->ref, p->in)) return sized_window(g, p);
  GState st = { .axis = -1, .init = initial(c, s, past) };
  Ref cat = appended(g->ir, out->ref, p->in);
  if (cat) {
    const Node *x = node(g->ir, cat);
    int64_t kept;
    st.axis = (int)cat_axis(x);
    kept = past->dims[st.axis];
    st.taken = st.step = st.most = x->dims[st.axis] - kept;
    if (!st.taken || !dims_elems(past->dims, past->rank))
      fail(c, EX_USAGE_, "--state: '%s' or the part appended to it is empty", past->name);
    st.capacity = s->capacity ? s->capacity : x->dims[st.axis] + (kept / SLACK > st.taken ? kept / SLACK : st.taken);
    if (s->axis >= 0 && s->axis != st.axis)
      fail(c, EX_USAGE_, "--state: '%s' grows along axis %d, not %d", out->name, st.axis, s->axis);
    if (st.capacity < x->dims[st.axis] || st.capacity > INT32_MAX)
      fail(c, EX_USAGE_, "--state: capacity %lld of '%s' is too small; a run needs %lld", (long long)st.capacity, past->name,
           (long long)x->dims[st.axis]);
    out->ref = cat;
    memcpy(out->dims, x->dims, x->rank * sizeof *out->dims);
    return st;
  }
  if (s->axis >= 0 || s->capacity || s->grow)
    fail(c, EX_USAGE_, "--state: output '%s' is not input '%s' with something appended", out->name, past->name);
  if (!same_shape(past, out))
    fail(c, EX_USAGE_, "--state: output '%s' must have the type and shape of input '%s', or be it with something appended",
         out->name, past->name);
  return st;
}

/* ---- order ---- */

/* Copies the graph with the replacements in `now`, which has an entry for each PARAM. */
static void replace(Graph *g, RefMap *now) {
  Refs roots = { 0 }, order = { 0 }, src = { 0 };
  for (size_t i = 0; i < g->outputs.n; i++) VEC_PUSH(&roots, g->outputs.p[i].ref);
  ir_toposort(g->ir, roots.p, roots.n, &order);
  for (size_t i = 0; i < order.n; i++) {
    const Node *x = node(g->ir, order.p[i]);
    if (refmap_get(now, order.p[i])) continue;
    src.n = 0;
    for (int k = 0; k < x->nsrc; k++) VEC_PUSH(&src, refmap_get(now, x->src[k]));
    g->ir->origin = x->origin;
    refmap_set(now, order.p[i], x->nsrc ? node_with_src(g->ir, order.p[i], src.p) : order.p[i]);
  }
  for (size_t i = 0; i < g->outputs.n; i++) g->outputs.p[i].ref = refmap_get(now, g->outputs.p[i].ref);
  VEC_FREE(&roots);
  VEC_FREE(&order);
  VEC_FREE(&src);
}

static void move_last(GIO *v, size_t n, const Pairs *pairs, bool out) {
  GIO *old = xmalloc((n + 1) * sizeof *old);
  size_t at = 0;
  memcpy(old, v, n * sizeof *old);
  for (size_t i = 0; i < n; i++) {
    bool paired = false;
    for (size_t k = 0; k < pairs->n && !paired; k++) paired = (out ? pairs->p[k].out : pairs->p[k].in) == (int)i;
    if (!paired) v[at++] = old[i];
  }
  for (size_t k = 0; k < pairs->n; k++) v[at++] = old[out ? pairs->p[k].out : pairs->p[k].in];
  free(old);
}

static void reorder(Graph *g, const Pairs *pairs) {
  RefMap now = { 0 };
  move_last(g->inputs.p, g->inputs.n, pairs, false);
  move_last(g->outputs.p, g->outputs.n - g->guarded, pairs, true);
  for (size_t i = 0; i < g->inputs.n; i++) {
    GIO *in = &g->inputs.p[i];
    g->ir->origin = node(g->ir, in->ref)->origin;
    Ref to = g_param(g->ir, in->dt, in->rank, in->dims, (int)i);
    refmap_set(&now, in->ref, to);
    in->ref = to;
  }
  replace(g, &now);
  refmap_free(&now);
}

void graph_states(Graph *g, const StateSpec *specs, int n) {
  Pairs pairs = { 0 };
  for (int i = 0; i < n; i++) find_pairs(g, &specs[i], &pairs);
  for (size_t k = 0; k < pairs.n; k++) VEC_PUSH(&g->states, classify(g, &pairs.p[k]));
  bool *grows = ARENA_NEW(&g->ir->ctx->model, bool, pairs.n + 1);
  for (size_t k = 0; k < pairs.n; k++) grows[k] = pairs.p[k].spec->grow;
  if (pairs.n) {
    reorder(g, &pairs);
    graph_grow(g, grows);
  }
  VEC_FREE(&pairs);
}

/* SPDX-License-Identifier: MIT */
/* merge_gemms.c: merges sums of products that share a factor into one.
 *
 * The projections of attention multiply the same values with different weights. Their weights are concatenated along the axis
 * that only weights have. Elementwise ops that follow with constants of their own, such as biases and activations, are merged
 * too. One kernel then reads the values once. Each user gets its part of the result, which is a view.
 *
 * Nothing is gained where a part would have to be copied to its own memory, with a halo, in a concatenation or as an output.
 * The same holds where more elementwise ops would follow that the kernel of the sum now contains. Such sums stay apart.
 *
 * needs: a folded graph    gives: an equal graph    breaks: nothing */
#include "../ir/decisions.h"
#include "graph.h"
#include "rules.h"
#include <string.h>

enum { MAX_GEMMS = 8 };

typedef struct Group {
  Ref x;                       /* the shared factor, before it is expanded */
  int axis, n;                 /* axis of the product that only the weights have */
  Ref sum[MAX_GEMMS], last[MAX_GEMMS]; /* sum: the REDUCE; last: the last op merged with it */
  int64_t extent[MAX_GEMMS];
  Ref merged;                  /* node of the new graph; 0: not built yet */
  int end_axis;                /* the axis in the result */
} Group;

typedef struct Gemms {
  Graph *g;
  IR *ir;
  Refs order;
  RefMap user;                 /* node to its only user */
  RefMap part;                 /* last op of a sum to 1 + group * MAX_GEMMS + index in the group */
  RefMap first;                /* sum to 1 + its group */
  RefMap newest;               /* shared factor to 1 + its newest group */
  RefMap alone;                /* values that need their own memory */
  VEC(Group) groups;
} Gemms;

static Ref below_expand(const IR *ir, Ref r) { return node(ir, r)->op == OP_EXPAND ? operand(node(ir, r)) : r; }

/* The factors of a sum of products, one of which is constant: x, and the constant w, before they are expanded. */
static bool factors(const IR *ir, Ref r, Ref *x, Ref *w) {
  const Node *sum = node(ir, r), *m = sum->op == OP_REDUCE ? node(ir, operand(sum)) : NULL;
  if (!m || reduce_op(sum) != OP_ADD || m->op != OP_MUL) return false;
  int k = node(ir, lhs(m))->varies ? 1 : 0;
  Ref chain[MAX_GROUP];
  if (quantised_factor(ir, r, k, chain)) return false; /* concatenated, they would become floats */
  *w = below_expand(ir, m->src[k]);
  *x = below_expand(ir, m->src[!k]);
  return node(ir, *x)->varies && !node(ir, *w)->varies;
}

/* The axis along which only the weights vary, the last of several; -1: none */
static int own_axis(const IR *ir, Ref r, Ref x, Ref w) {
  const Node *sum = node(ir, r);
  for (int a = sum->rank - 1; a >= 0; a--)
    if (sum->dims[a] > 1 && node(ir, x)->dims[a] == 1 && node(ir, w)->dims[a] == sum->dims[a]) return a;
  return -1;
}

static bool same_but(const Node *a, const Node *b, int axis) {
  if (a->op != b->op || a->dt != b->dt || a->rank != b->rank) return false;
  for (int i = 0; i < a->rank; i++)
    if (i != axis && a->dims[i] != b->dims[i]) return false;
  return true;
}

static bool alike(const IR *ir, const Group *g, Ref r, Ref w, int axis) {
  Ref x0, w0;
  const Node *a = node(ir, g->sum[0]), *b = node(ir, r);
  factors(ir, g->sum[0], &x0, &w0);
  const Node *wa = node(ir, w0), *wb = node(ir, w);
  bool shapes = wa->rank == wb->rank && wa->dt == wb->dt;
  for (int i = 0; shapes && i < wa->rank; i++) shapes = i == axis || wa->dims[i] == wb->dims[i];
  return shapes && g->axis == axis && reduce_axes(a) == reduce_axes(b) && same_but(a, b, axis);
}

/* ---- following ops ---- */
/* Whether u is an elementwise op on r, with constants otherwise; *at: operand index of r. */
static bool with_constants(const IR *ir, Ref u, Ref r, int *at) {
  const Node *x = node(ir, u);
  *at = -1;
  if (op_info[x->op].level != L_EXPR) return false;
  for (int k = 0; k < x->nsrc; k++) {
    if (x->src[k] == r && *at < 0) *at = k;
    else if (node(ir, x->src[k])->varies) return false;
  }
  return *at >= 0;
}

/* Moves on to the next op, for all sums of a group together; false: their next ops differ. */
static bool advance(const Gemms *s, Group *g) {
  const IR *ir = s->ir;
  Ref next[MAX_GEMMS];
  int axis = -1, place = -1;
  for (int i = 0; i < g->n; i++) {
    Ref u = next[i] = refmap_get(&s->user, g->last[i]);
    int a = g->end_axis, at = 0;
    if (!u) return false;
    const Node *x = node(ir, u);
    if (x->op == OP_RESHAPE) a = reshape_axis(x, node(ir, g->last[i]), g->end_axis);
    else if (!with_constants(ir, u, g->last[i], &at)) return false;
    if (a < 0 || (i && (a != axis || at != place || !same_but(node(ir, next[0]), x, a)))) return false;
    axis = a;
    place = at;
  }
  g->end_axis = axis;
  memcpy(g->last, next, sizeof next);
  return true;
}

/* Finds values that must not be a part of a larger one. Their users need them in their own memory, or apply ops that would
 * otherwise join the sum's kernel. Reductions and products may read from anywhere. */
static void find_wanted_alone(Gemms *s) {
  RefMap product = { 0 };
  for (size_t i = 0; i < s->g->outputs.n; i++) refmap_set(&s->alone, s->g->outputs.p[i].ref, 1);
  for (size_t i = s->order.n; i-- > 0;) {
    Ref r = s->order.p[i];
    const Node *x = node(s->ir, r);
    Need is;
    const bool mask = graph_size_mask(s->ir, r, &is);
    if (x->op == OP_REDUCE) refmap_set(&product, view_base(s->ir, operand(x)), r);
    if (mask && refmap_get(&product, r)) refmap_set(&product, view_base(s->ir, where_yes(x)), r); /* the end of a loop */
    bool reads = x->op == OP_REDUCE || (mask && refmap_get(&product, r)) || (x->op == OP_MUL && refmap_get(&product, r)) ||
                 (op_is_movement((Op)x->op) && !refmap_get(&s->alone, r));
    for (int k = 0; k < x->nsrc && !reads; k++) refmap_set(&s->alone, x->src[k], 1);
  }
  refmap_free(&product);
}

/* ---- groups ---- */
static void find_groups(Gemms *s) {
  IR *ir = s->ir;
  for (size_t i = 0; i < s->order.n; i++) {
    Ref r = s->order.p[i], x, w;
    int axis = factors(ir, r, &x, &w) ? own_axis(ir, r, x, w) : -1;
    if (axis < 0) continue;
    Ref known = refmap_get(&s->newest, x);
    Group *found = known ? &s->groups.p[known - 1] : NULL;
    if (!found || found->n == tunable(s->ir->ctx, merged_gemms) || !alike(ir, found, r, w, axis)) {
      VEC_PUSH(&s->groups, ((Group){ .x = x, .axis = axis, .end_axis = axis }));
      found = &s->groups.p[s->groups.n - 1];
      refmap_set(&s->newest, x, (Ref)s->groups.n);
    }
    found->extent[found->n] = node(ir, r)->dims[axis];
    found->sum[found->n] = found->last[found->n] = r;
    found->n++;
  }
  for (size_t k = 0; k < s->groups.n; k++) {
    Group *g = &s->groups.p[k];
    if (g->n < 2) continue;
    for (int i = 0; i < tunable(s->ir->ctx, merged_epilogue) && advance(s, g); i++) continue;
    bool apart = false;
    for (int i = 0; i < g->n; i++) apart |= refmap_get(&s->alone, g->last[i]) != 0;
    const Question q = ask_node(ir, "merge_gemms", g->sum[0]);
    if (!answer_yes(ir, &q, !apart)) g->n = 0;
    for (int i = 0; i < g->n; i++) {
      refmap_set(&s->first, g->sum[i], (Ref)k + 1);
      refmap_set(&s->part, g->last[i], (Ref)(k * MAX_GEMMS) + (Ref)i + 1);
    }
  }
}

/* ---- the new graph ---- */
static int64_t total(const Group *g) {
  int64_t n = 0;
  for (int i = 0; i < g->n; i++) n += g->extent[i];
  return n;
}

/* x's shape with the extents of all sums along the axis */
static void widened(const Group *g, const Node *x, int axis, int64_t *dims) {
  memcpy(dims, x->dims, x->rank * sizeof *dims);
  dims[axis] = total(g);
}

/* One constant for all sums: each covers its own part of the axis */
static Ref side_by_side(IR *ir, const Group *g, const Ref *c, int axis) {
  Ref part[MAX_GEMMS] = { 0 };
  int64_t dims[MAX_RANK] = { 0 };
  int rank = node(ir, c[0])->rank;
  bool same = true;
  for (int i = 0; i < g->n; i++) {
    part[i] = below_expand(ir, c[i]);
    const Node *x = node(ir, part[i]);
    same &= part[i] == part[0] && x->dims[axis] == 1;
    for (int a = 0; a < rank; a++)
      if (x->dims[a] > dims[a]) dims[a] = x->dims[a];
  }
  if (same) return part[0];
  for (int i = 0; i < g->n; i++) {
    dims[axis] = g->extent[i];
    part[i] = g_expand(ir, part[i], rank, dims);
  }
  return g_cat(ir, g->n, part, axis);
}

/* The op after last[], for all sums at once */
static Ref follow(IR *ir, const Group *g, const Ref *last, const Ref *next, Ref merged, int *axis) {
  const Node *x = node(ir, next[0]);
  int64_t dims[MAX_RANK];
  if (x->op == OP_RESHAPE) {
    *axis = reshape_axis(x, node(ir, last[0]), *axis);
    widened(g, x, *axis, dims);
    return g_reshape(ir, merged, x->rank, dims);
  }
  Ref src[3], c[MAX_GEMMS];
  int place;
  with_constants(ir, next[0], last[0], &place);
  widened(g, x, *axis, dims);
  for (int k = 0; k < x->nsrc; k++) {
    for (int i = 0; i < g->n; i++) c[i] = node(ir, next[i])->src[k];
    src[k] = k == place ? merged : g_expand(ir, side_by_side(ir, g, c, *axis), x->rank, dims);
  }
  return node_make(ir, (Op)x->op, (DType)x->dt, 1, x->nsrc, src, x->narg, x->arg, x->rank, dims);
}

static void merge(Gemms *s, Group *g, const RefMap *now) {
  IR *ir = s->ir;
  Ref x, w[MAX_GEMMS], at[MAX_GEMMS], next[MAX_GEMMS];
  Sb names = { 0 };
  int axis = g->axis;
  for (int i = 0; i < g->n; i++) {
    const char *from = ir->origins.p[node(ir, g->sum[i])->origin].text;
    factors(ir, g->sum[i], &x, &w[i]);
    sb_printf(&names, "%s%s", i ? "; " : "", from ? from : "");
    at[i] = g->sum[i];
  }
  Origin o = ir->origins.p[node(ir, g->sum[0])->origin];
  ir->origin = ir_origin(ir, arena_str(&ir->ctx->model, names.p, names.n), o.index);
  sb_free(&names);
  Ref product = g_binary(ir, OP_MUL, refmap_get(now, g->x), side_by_side(ir, g, w, axis));
  g->merged = g_reduce(ir, OP_ADD, product, reduce_axes(node(ir, g->sum[0])));
  while (at[0] != g->last[0]) {
    for (int i = 0; i < g->n; i++) next[i] = refmap_get(&s->user, at[i]);
    g->merged = follow(ir, g, at, next, g->merged, &axis);
    memcpy(at, next, sizeof at);
  }
}

static Ref part_of(IR *ir, const Group *g, int k) {
  const Node *x = node(ir, g->merged);
  int64_t begin[MAX_RANK] = { 0 }, dims[MAX_RANK];
  memcpy(dims, x->dims, x->rank * sizeof *dims);
  dims[g->end_axis] = g->extent[k];
  for (int i = 0; i < k; i++) begin[g->end_axis] += g->extent[i];
  return g_shrink(ir, g->merged, begin, NULL, dims);
}

static void rebuild(Gemms *s, RefMap *now) {
  IR *ir = s->ir;
  Refs src = { 0 };
  for (size_t i = 0; i < s->order.n; i++) {
    Ref r = s->order.p[i], group = refmap_get(&s->first, r), part = refmap_get(&s->part, r);
    const Node *x = node(ir, r);
    ir->origin = x->origin;
    src.n = 0;
    for (int k = 0; k < x->nsrc; k++) VEC_PUSH(&src, refmap_get(now, x->src[k]));
    Ref to = x->nsrc ? node_with_src(ir, r, src.p) : r;
    if (group && !s->groups.p[group - 1].merged) merge(s, &s->groups.p[group - 1], now);
    if (part) to = part_of(ir, &s->groups.p[(part - 1) / MAX_GEMMS], (int)((part - 1) % MAX_GEMMS));
    refmap_set(now, r, to);
  }
  VEC_FREE(&src);
}

bool graph_merge_gemms(Graph *g) {
  Gemms s = { .g = g, .ir = g->ir };
  Refs roots = { 0 };
  RefMap now = { 0 };
  for (size_t i = 0; i < g->outputs.n; i++) VEC_PUSH(&roots, g->outputs.p[i].ref);
  ir_toposort(g->ir, roots.p, roots.n, &s.order);
  ir_only_users(g->ir, &s.order, &roots, &s.user); /* an output is not merged into an epilogue */
  find_wanted_alone(&s);
  find_groups(&s);
  bool changed = s.part.n > 0;
  if (changed) {
    rebuild(&s, &now);
    for (size_t i = 0; i < roots.n; i++) g->outputs.p[i].ref = refmap_get(&now, roots.p[i]);
  }
  g->ir->origin = 0;
  VEC_FREE(&roots);
  VEC_FREE(&s.order);
  VEC_FREE(&s.groups);
  refmap_free(&s.user);
  refmap_free(&s.part);
  refmap_free(&s.first);
  refmap_free(&s.newest);
  refmap_free(&s.alone);
  refmap_free(&now);
  return changed;
}

/* SPDX-License-Identifier: MIT */
/* loops.c: ops of loops in graphs: their builders, their unrolling, and the order of their bodies.
 *
 * needs: a graph    gives: an equal graph with fewer loops (ir_unroll); an order in which bodies are contiguous (order_bodies)
 * breaks: nothing */
#include "refmap.h"
#include <stdlib.h>
#include <string.h>

static Ref like(IR *ir, Op op, Ref x, int narg, const int64_t *arg) {
  const Node *n = node(ir, x);
  return node_make(ir, op, (DType)n->dt, 1, 1, &x, narg, arg, n->rank, n->dims);
}

Ref g_stored(IR *ir, Ref x) { return node(ir, x)->op == OP_STORED ? x : like(ir, OP_STORED, x, 0, NULL); }

Ref g_slice(IR *ir, int loop, Ref stored, int axis, bool reverse) {
  const Node *n = node(ir, stored);
  const int64_t arg[] = { loop, axis, reverse };
  int64_t dims[MAX_RANK];
  for (int a = 0, k = 0; a < n->rank; a++)
    if (a != axis) dims[k++] = n->dims[a];
  return node_make(ir, OP_SLICE, (DType)n->dt, 1, 1, &stored, 3, arg, n->rank - 1, dims);
}

Ref g_carried(IR *ir, int loop, int place, Ref init) {
  return like(ir, OP_CARRIED, init, 2, (int64_t[]){ loop, place });
}

Ref g_yield(IR *ir, int loop, int place, Ref x) { return like(ir, OP_YIELD, x, 4, (int64_t[]){ loop, place, 0, 0 }); }

Ref g_yield_slice(IR *ir, int loop, Ref x, int axis, bool reverse, int64_t trips) {
  const Node *n = node(ir, x);
  const int64_t arg[] = { loop, -1, axis, reverse };
  int64_t dims[MAX_RANK];
  for (int a = 0, k = 0; a <= n->rank; a++) dims[a] = a == axis ? trips : n->dims[k++];
  return node_make(ir, OP_YIELD, (DType)n->dt, 1, 1, &x, 4, arg, n->rank + 1, dims);
}

Ref g_iterate(IR *ir, int loop, int64_t trips, int ends, int n, const Ref *yields) {
  const Node *x = node(ir, yields[0]);
  return node_make(ir, OP_ITERATE, (DType)x->dt, 1, n, yields, ends ? 3 : 2, (int64_t[]){ loop, trips, ends }, x->rank, x->dims);
}

/* The CARRIED for the place of a YIELD, among the nodes below it; 0: there is none */
static Ref carried_for(const IR *ir, const Refs *below, const Node *yield) {
  for (size_t i = 0; i < below->n; i++) {
    const Node *x = node(ir, below->p[i]);
    if (x->op == OP_CARRIED && carried_loop(x) == yield_loop(yield) && carried_place(x) == yield_place(yield)) return below->p[i];
  }
  return 0;
}

const char *g_hold_yields(IR *ir, int ends, int n, Ref *yields) {
  Refs below = { 0 };
  const char *wrong = ends < 1 || ends > n ? "there is no such yield" : NULL;
  ir_toposort(ir, yields, (size_t)n, &below);
  const Ref on = wrong ? 0 : carried_for(ir, &below, node(ir, yields[ends - 1]));
  if (!wrong && (!on || node(ir, on)->dt != DT_BOOL || node(ir, on)->rank))
    wrong = "the yield that ends a loop must be a carried bool without axes";
  for (int k = 0; k < n && !wrong; k++) {
    const Node *y = node(ir, yields[k]);
    const Ref old = carried_for(ir, &below, y);
    if (!old) wrong = "each yield of a loop that may end early needs a carried value";
    else {
      const Ref x = old == on ? g_binary(ir, OP_AND, on, operand(y)) : g_where(ir, on, operand(y), old);
      yields[k] = g_yield(ir, (int)yield_loop(y), (int)yield_place(y), x);
    }
  }
  VEC_FREE(&below);
  return wrong;
}

Ref g_live(IR *ir, int loop, int64_t trips) {
  const Ref n = size_value(ir, size_number(ir, size_all(1, loop_extent(ir, loop))));
  return g_slice(ir, loop, g_stored(ir, g_binary(ir, OP_CMPLT, g_iota(ir, DT_I64, trips), n)), 0, false);
}

bool is_live(const IR *ir, Ref r) {
  const Node *x = node(ir, r), *below = x->op == OP_SLICE && !slice_reverse(x) ? node(ir, operand(node(ir, operand(x)))) : NULL;
  if (!below || below->op != OP_CMPLT || node(ir, lhs(below))->op != OP_IOTA) return false;
  const Node *n = node(ir, view_base(ir, rhs(below)));
  const tgcrt_size *s = n->op == OP_SIZE ? &ir->sizes.p[size_id(n)] : NULL;
  return s && s->rule == TGCRT_SIZE_ALL && s->times == 1 && s->of == loop_extent(ir, slice_loop(x));
}

bool is_held(const IR *ir, Ref r) {
  const Node *x = node(ir, r);
  return x->op == OP_WHERE && is_live(ir, view_base(ir, where_cond(x))) && node(ir, where_no(x))->op == OP_CARRIED;
}

Ref g_result(IR *ir, Ref iterate, int at) {
  const Node *y = node(ir, node(ir, iterate)->src[at]);
  return node_make(ir, OP_RESULT, (DType)y->dt, 1, 1, &iterate, 1, (int64_t[]){ at }, y->rank, y->dims);
}

static const char *yield_refuses(const IR *ir, const Node *y, int64_t loop, int64_t trips) {
  if (y->op != OP_YIELD || yield_loop(y) != loop) return "an operand is no yield of this loop";
  if (yield_place(y) < 0 && y->dims[yield_axis(y)] != trips)
    return "a result has another number of slices than the loop has trips";
  return node(ir, operand(y))->loop && node(ir, operand(y))->loop != y->loop ? "a yield belongs to two loops" : NULL;
}

/* A loop that may end early runs its iterations by twos, which differ in the places of carried values only. */
static const char *end_refuses(const IR *ir, const Node *loop) {
  const int64_t ends = iterate_while(loop);
  if (ends < 0 || ends > loop->nsrc) return "there is no such yield";
  if (ends && iterate_trips(loop) % 2) return "a loop that may end early needs an even number of trips";
  for (int k = 0; k < loop->nsrc && ends; k++)
    if (yield_place(node(ir, loop->src[k])) < 0) return "a loop that may end early has no slices";
  const Node *y = ends ? node(ir, loop->src[ends - 1]) : NULL;
  return y && (y->dt != DT_BOOL || y->rank) ? "the yield that ends a loop must be a carried bool without axes" : NULL;
}

static const char *body_refuses(const IR *ir, const Node *x, const Node *loop) {
  if (x->op == OP_ITERATE || x->op == OP_RESULT || x->op == OP_STORED) return "a loop is inside of another one";
  if (x->op == OP_SLICE && node(ir, operand(x))->dims[slice_axis(x)] != iterate_trips(loop))
    return "a sliced axis has another extent than the loop has trips";
  if (x->op == OP_SLICE && iterate_while(loop)) return "a loop that may end early has no slices";
  if (x->op == OP_SLICE || x->op == OP_CARRIED) return node(ir, operand(x))->loop ? "a loop is inside of another one" : NULL;
  for (int k = 0; k < x->nsrc; k++)
    if (node(ir, x->src[k])->loop && node(ir, x->src[k])->loop != x->loop) return "a value belongs to two loops";
  return NULL;
}

/* Each place has one yield of its type, and one initial value. given: by yield, whether its place has had one */
static const char *place_refuses(const IR *ir, const Node *x, const Node *loop, bool *given) {
  int found = 0, at = 0;
  for (int k = 0; k < loop->nsrc; k++)
    if (yield_place(node(ir, loop->src[k])) == carried_place(x)) found++, at = k;
  if (found != 1) return "a carried value needs one yield for its place";
  const Node *y = node(ir, loop->src[at]);
  if (given[at]) return "a place has two initial values";
  given[at] = true;
  if (nodes_alike(x, y)) return NULL;
  return "a carried value and its next value differ in type or shape";
}

const char *g_iterate_refuses(const IR *ir, Ref iterate) {
  const Node *loop = node(ir, iterate);
  const int64_t trips = iterate_trips(loop);
  const char *wrong = !loop->nsrc || trips < 1 || trips > INT32_MAX ? "a loop needs yields and trips" : NULL;
  Refs all = { 0 };
  bool *given = xcalloc(loop->nsrc + 1u, sizeof *given);
  for (int k = 0; k < loop->nsrc && !wrong; k++)
    wrong = yield_refuses(ir, node(ir, loop->src[k]), iterate_loop(loop), trips);
  if (!wrong) wrong = end_refuses(ir, loop);
  if (!wrong) ir_toposort(ir, &iterate, 1, &all);
  for (size_t i = 0; i < all.n && !wrong; i++) {
    const Node *x = node(ir, all.p[i]);
    if (x->loop != iterate_loop(loop) + 1) continue;
    wrong = body_refuses(ir, x, loop);
    if (!wrong && x->op == OP_CARRIED) wrong = place_refuses(ir, x, loop, given);
  }
  VEC_FREE(&all);
  free(given);
  return wrong;
}

/* ---- unrolling ---- */
typedef struct Unroll {
  IR *ir;
  Refs order;
  Ref *to;                 /* by node: what replaces it, in the current iteration; 0: nothing yet */
  Ref **results;           /* by ITERATE: its results; NULL: it stays */
} Unroll;

static Ref rebuilt(const Unroll *u, Ref r) {
  const Node *x = node(u->ir, r);
  Ref *src = xmalloc((x->nsrc + 1u) * sizeof *src);
  for (int k = 0; k < x->nsrc; k++) src[k] = u->to[x->src[k]];
  const Ref y = node_with_src(u->ir, r, src);
  free(src);
  return y;
}

static Ref sliced(const Unroll *u, const Node *x, int64_t trip) {
  const Ref from = u->to[operand(node(u->ir, operand(x)))];
  const Node *n = node(u->ir, from);
  const int axis = (int)slice_axis(x);
  int64_t begin[MAX_RANK] = { 0 }, dims[MAX_RANK];
  memcpy(dims, n->dims, n->rank * sizeof *dims);
  begin[axis] = slice_reverse(x) ? dims[axis] - 1 - trip : trip;
  dims[axis] = 1;
  return g_reshape(u->ir, g_shrink(u->ir, from, begin, NULL, dims), x->rank, x->dims);
}

static Ref with_axis(IR *ir, Ref r, int axis) {
  const Node *n = node(ir, r);
  int64_t dims[MAX_RANK];
  for (int a = 0, k = 0; a <= n->rank; a++) dims[a] = a == axis ? 1 : n->dims[k++];
  return g_reshape(ir, r, n->rank + 1, dims);
}

/* Each copy of a branch has a number of its own. An arm that no iteration changes is no node of the body, but is copied, too. */
static Ref copied_branch(const Unroll *u, const Node *x, int64_t by) {
  Ref *arm = xmalloc((x->nsrc + 1u) * sizeof *arm);
  for (int k = 0; k < x->nsrc; k++)
    arm[k] = g_arm(u->ir, branch_branch(x) + by, k, u->to[operand(node(u->ir, branch_arm(x, k)))]);
  const Ref made = branch_of_arms(u->ir, branch_branch(x) + by, x->nsrc, arm);
  free(arm);
  return made;
}

/* The body's nodes in one iteration. now: by place, the carried values. branches: number of those before the first copy */
static void copy_body(const Unroll *u, int loop, int64_t trip, int64_t branches, const Ref *now) {
  for (size_t i = 0; i < u->order.n; i++) {
    const Ref r = u->order.p[i];
    const Node *x = node(u->ir, r);
    if (x->loop != loop + 1) continue;
    u->to[r] = x->op == OP_SLICE     ? sliced(u, x, trip)
               : x->op == OP_CARRIED ? (trip ? now[carried_place(x)] : u->to[operand(x)])
               : x->op == OP_YIELD   ? u->to[operand(x)]
               : x->op == OP_BRANCH  ? copied_branch(u, x, trip * branches)
               : x->op == OP_ARM     ? 0
                                     : rebuilt(u, r);
  }
}

static Ref *copies(const Unroll *u, const Node *x) {
  IR *ir = u->ir;
  const int64_t trips = iterate_trips(x), branches = ir->branches;
  Ref *out = ARENA_NEW(&ir->ctx->model, Ref, x->nsrc + 1), *now = xcalloc(x->nsrc + 1u, sizeof *now),
      *part = xmalloc(size_mul((size_t)trips, x->nsrc * sizeof *part) + 1);
  for (int64_t t = 0; t < trips; t++) {
    copy_body(u, (int)iterate_loop(x), t, branches, now);
    for (int k = 0; k < x->nsrc; k++) {
      const Node *y = node(ir, x->src[k]);
      const Ref value = u->to[x->src[k]];
      if (yield_place(y) >= 0) now[yield_place(y)] = out[k] = value;
      else part[k * trips + (yield_reverse(y) ? trips - 1 - t : t)] = with_axis(ir, value, (int)yield_axis(y));
    }
  }
  for (int k = 0; k < x->nsrc; k++) {
    const Node *y = node(ir, x->src[k]);
    if (yield_place(y) < 0) out[k] = g_cat(ir, (int)trips, part + k * trips, (int)yield_axis(y));
  }
  free(now);
  free(part);
  return out;
}

bool ir_unroll(IR *ir, Ref *roots, size_t n, int64_t least) {
  Unroll u = { .ir = ir };
  bool any = false, stays[GRAPH_LOOPS + 1] = { false };
  if (!ir->loops) return false;
  ir_toposort(ir, roots, n, &u.order);
  for (size_t i = 0; i < u.order.n; i++) {
    const Node *x = node(ir, u.order.p[i]);
    if (x->op != OP_ITERATE) continue;
    const bool ends = least < INT64_MAX && loop_extent(ir, iterate_loop(x)) >= 0; /* copies would read slices that a run lacks */
    const bool stay = ends || iterate_trips(x) >= least || (iterate_while(x) && iterate_trips(x) > EARLY_COPIES);
    stays[iterate_loop(x)] = stay;
    any |= !stay;
  }
  const uint32_t size = ir->n;
  u.to = xcalloc(any ? size : 1, sizeof *u.to);
  u.results = xcalloc(any ? size : 1, sizeof *u.results);
  for (size_t i = 0; i < u.order.n && any; i++) {
    const Ref r = u.order.p[i];
    const Node *x = node(ir, r);
    if (x->loop && !stays[x->loop - 1]) continue;
    if (x->op == OP_ITERATE && !stays[iterate_loop(x)]) u.results[r] = copies(&u, x), u.to[r] = r;
    else u.to[r] = x->op == OP_RESULT && u.results[operand(x)] ? u.results[operand(x)][result_at(x)] : rebuilt(&u, r);
  }
  for (size_t i = 0; i < n && any; i++) roots[i] = u.to[roots[i]];
  VEC_FREE(&u.order);
  free(u.to);
  free(u.results);
  return any;
}

/* ---- order ---- */
/* Values of a body are used by the body and its ITERATE alone, so they may wait. */
void order_bodies(const IR *ir, Refs *order) {
  Refs all = { 0 };
  if (!ir->loops) return;
  Refs *waiting = xcalloc(GRAPH_LOOPS + 1, sizeof *waiting);
  for (size_t i = 0; i < order->n; i++) {
    const Node *x = node(ir, order->p[i]);
    if (body_of(x)) VEC_PUSH(&waiting[body_of(x)], order->p[i]);
    Refs *body = x->op == OP_ITERATE ? &waiting[iterate_loop(x) + 1] : NULL;
    for (size_t k = 0; body && k < body->n; k++) VEC_PUSH(&all, body->p[k]);
    if (!body_of(x)) VEC_PUSH(&all, order->p[i]);
  }
  CHECK(all.n == order->n);
  memcpy(order->p, all.p, all.n * sizeof *all.p);
  for (int k = 0; k <= GRAPH_LOOPS; k++) VEC_FREE(&waiting[k]);
  free(waiting);
  VEC_FREE(&all);
}

/* ---- buffers ---- */
bool *sliced_buffers(const IR *ir) {
  bool *sliced = xcalloc(ir->bufs.n + 1, sizeof *sliced);
  for (size_t b = 0; b < ir->bufs.n; b++)
    if (ir->bufs.p[b].of) sliced[ir->bufs.p[b].of - 1] = true;
  return sliced;
}

/* SPDX-License-Identifier: MIT */
/* layout_pbqp.c: chooses the innermost axis of every stored value, for all values together.
 *
 * The kernels that access a value determine the cost of its layout. If lanes run along the innermost axis, an access is a
 * vector. Along another axis it goes element by element, and along none it is a broadcast. So there are two kinds of choices:
 * an axis for each value, and a range in lanes for each loop body. The cost of an access depends on one of each. The cost of
 * passing on the result of a reduction depends on the bodies on both sides. So every cost is one of a pair, and pbqp.c finds
 * the least sum. It is compared with the cost of the axes that layout_seed.c finds value by value; these stay unless the new
 * choice is clearly better, for all values or for one beside the inputs.
 *
 * No kernel exists only to change an order: any kernel can load and store any order, at a price that is part of the sum.
 * Blocked axes, as in [N, C/16, H, W, 16], are not among the choices; docs/why.md gives the reason. */
#include "sched.h"
#include "../ir/decisions.h"
#include "../ir/refmap.h"
#include "../support/pbqp.h"
#include <stdlib.h>
#include <string.h>

enum { MAX_LOOPS = 2 * MAX_RANK, PAGE = 4096 }; /* PAGE: bytes; prefetchers stop at its end */

typedef struct Access {
  Ref value;
  Ref idx[MAX_RANK];
  uint32_t by[MAX_RANK];   /* by axis: mask of the body's ranges that the index depends on */
} Access;

typedef struct Body {      /* a loop body: the part of a kernel, or of one of its reductions, that is evaluated repeatedly */
  struct Body *around;     /* the body around this reduction; NULL: the kernel's own body */
  Ref result[MAX_RANK];    /* index of the reduction's element that is requested */
  int rank;
  int node;                /* PBQP node: alternative 0 is no lanes, i + 1 is lanes along range[i] */
  int n, outer;            /* number of ranges; the first `outer` belong to the body around it */
  Ref range[MAX_LOOPS];
  double times, work;      /* evaluations; operations per evaluation */
  bool contraction;
  VEC(Access) access;
  RefMap seen;
} Body;

typedef struct Problem {
  Sched *s;
  IR *ir;
  Pbqp *c;
  int *var;                /* by Ref of a value with its own layout: PBQP node + 1 */
  bool *transposes;        /* by Ref of a value: its kernel only moves and combines elements of inputs */
  int lanes;
  VEC(Body *) bodies;      /* bodies of the current kernel */
} Problem;

/* ---- values ---- */

/* The value whose layout r shares: the concatenation it is part of */
static Ref whole(const Sched *s, Ref r) {
  while (s->place[r].inside) r = s->place[r].inside;
  return r;
}

static int last_axis(const Node *x) {
  int a = x->rank - 1;
  while (a > 0 && x->dims[a] == 1) a--;
  return a;
}

/* Axes that may be innermost, the row-major choice first; returns their number. An axis that a run needs in part stays outside:
 * lanes along it would have rests. */
static int axes_of(const Sched *s, Ref r, int *axis) {
  const Node *x = node(s->ir, r);
  int n = 1;
  const int across = s->place[r].across;
  axis[0] = across ? across - 1 : last_axis(x);
  for (int a = 0; a < axis[0] && !across; a++)
    if (x->dims[a] > 1 && !(s->needs && need_lies_in(x, &s->needs[r], a))) axis[n++] = a;
  return n;
}

static int alternative_of(const Sched *s, Ref r, int inner) {
  int axis[MAX_RANK], n = axes_of(s, r, axis);
  for (int i = 0; i < n; i++)
    if (axis[i] == inner) return i;
  return 0;
}

static void make_variables(Problem *o) {
  Sched *s = o->s;
  for (size_t i = 0; i < s->g->outputs.n; i++) o->var[s->g->outputs.p[i].ref] = -1; /* row-major */
  for (size_t i = 0; i < s->order.n; i++) {
    Ref r = s->order.p[i];
    const Node *x = node(o->ir, r);
    const Place *p = &s->place[r];
    int axis[MAX_RANK];
    if (!p->materialized || p->inside || p->state || x->rank < 3) continue;
    if ((o->var[r] && !p->has_halo) || op_is_of_loops((Op)x->op)) continue;
    o->var[r] = pbqp_node(o->c, axes_of(s, r, axis)) + 1;
  }
}

/* ---- accesses of a body ---- */
static double extent(const IR *ir, Ref range) { return (double)range_extent(node(ir, range)); }

/* The ranges that an index depends on; loop() numbers them. */
static uint32_t ranges_of(const IR *ir, Ref e) {
  Refs all = { 0 };
  uint32_t set = 0;
  ir_toposort(ir, &e, 1, &all);
  for (size_t i = 0; i < all.n; i++)
    if (node(ir, all.p[i])->op == OP_RANGE) set |= UINT32_C(1) << (-1 - range_id(node(ir, all.p[i])));
  VEC_FREE(&all);
  return set;
}

static uint32_t ranges_of_all(const IR *ir, const Ref *idx, int rank) {
  uint32_t set = 0;
  for (int a = 0; a < rank; a++) set |= ranges_of(ir, idx[a]);
  return set;
}

/* number of distinct elements that a set of b's ranges walks */
static double elements(const Problem *o, const Body *b, uint32_t set) {
  double n = 1;
  for (int i = 0; i < b->n; i++)
    if (set >> i & 1) n *= extent(o->ir, b->range[i]);
  return n;
}

static Ref loop(Problem *o, Body *b, int64_t n) {
  if (n == 1 || b->n == MAX_LOOPS) return ix_const(o->ir, 0);
  /* numbers below 0, which no kernel uses */
  Ref r = node_make(o->ir, OP_RANGE, DT_I64, 1, 0, NULL, 3, (int64_t[]){ n, -1 - b->n, RK_LOOP }, 0, NULL);
  b->range[b->n++] = r;
  return r;
}

static void element(Problem *o, Body *b, Ref r, const Ref *idx, bool top);

static Body *body(Problem *o) {
  Body *b = xmalloc(sizeof *b);
  memset(b, 0, sizeof *b);
  VEC_PUSH(&o->bodies, b);
  return b;
}

static void reduction(Problem *o, Body *around, Ref r, const Ref *idx) {
  const Node *x = node(o->ir, r), *y = node(o->ir, operand(x));
  Body *b = body(o);
  Ref at[MAX_RANK];
  b->around = around;
  b->contraction = is_contraction(o->ir, r);
  b->work = 1;
  b->rank = x->rank;
  memcpy(b->result, idx, x->rank * sizeof *idx);
  b->n = b->outer = around->n;
  memcpy(b->range, around->range, sizeof b->range);
  b->times = elements(o, around, ranges_of_all(o->ir, idx, x->rank));
  for (int a = 0; a < y->rank; a++) {
    at[a] = (reduce_axes(x) >> a & 1) ? loop(o, b, y->dims[a]) : idx[a];
    if (reduce_axes(x) >> a & 1) b->times *= (double)y->dims[a];
  }
  b->node = pbqp_node(o->c, b->n + 1);
  element(o, b, operand(x), at, false);
}

static void take_access(const IR *ir, Body *b, Ref value, const Ref *idx, int rank) {
  Access a = { .value = value };
  if (b->access.n == (size_t)tunable(ir->ctx, layout_accesses)) return;
  memcpy(a.idx, idx, (size_t)rank * sizeof *idx);
  for (int d = 0; d < rank; d++) a.by[d] = ranges_of(ir, idx[d]);
  VEC_PUSH(&b->access, a);
}

/* Stands for the index that element idx of r holds. Its value is unknown, but not the ranges it varies with. For the index
 * algebra it is a load, which never folds. */
static Ref looked_up(IR *ir, Ref r, const Ref *idx) {
  Ref src[MAX_RANK + 1] = { node_make(ir, OP_BUFFER, DT_I64, 1, 0, NULL, 1, (int64_t[]){ 0 }, 0, NULL) }, *at = src + 1,
                     below[MAX_RANK];
  memcpy(at, idx, node(ir, r)->rank * sizeof *at);
  for (; op_is_movement((Op)node(ir, r)->op); r = operand(node(ir, r))) {
    view_index(ir, r, at, below);
    memcpy(at, below, node(ir, operand(node(ir, r)))->rank * sizeof *at);
  }
  return node_make(ir, OP_LOAD, DT_I64, 1, node(ir, r)->rank + 1, src, 0, NULL, 0, NULL);
}

/* Walks down from an element to the stored values it is computed from, as kernelize.c does. */
static void element(Problem *o, Body *b, Ref r, const Ref *idx, bool top) {
  IR *ir = o->ir;
  const Node *x = node(ir, r);
  const Place *p = &o->s->place[r];
  Ref at[MAX_RANK];
  if (refmap_get(&b->seen, r)) return;
  refmap_set(&b->seen, r, r);
  if (!x->varies) return; /* packed, or not in memory at all */
  if ((p->materialized && !top) || x->op == OP_PARAM || p->reads_halo) {
    take_access(ir, b, p->reads_halo ? pad_data(x) : r, idx, x->rank);
    return;
  }
  switch ((Op)x->op) {
  case OP_RESHAPE: case OP_EXPAND: case OP_PERMUTE: case OP_SHRINK: case OP_WINDOW:
    view_index(ir, r, idx, at);
    element(o, b, operand(x), at, false);
    return;
  case OP_PAD:
    for (int a = 0; a < x->rank; a++) at[a] = ix_sub(ir, idx[a], ix_const(ir, pad_lo(x, a)));
    element(o, b, pad_data(x), at, false);
    return;
  case OP_CAT: /* a selection: a part for each value of a short range */
    memcpy(at, idx, x->rank * sizeof *at);
    at[cat_axis(x)] = ix_const(ir, 0);
    for (int k = 0; k < x->nsrc; k++) element(o, b, x->src[k], at, false);
    return;
  case OP_GATHER:
    element(o, b, gather_index(x), idx, false);
    memcpy(at, idx, x->rank * sizeof *at);
    at[gather_axis(x)] = looked_up(ir, gather_index(x), idx);
    element(o, b, gather_data(x), at, false);
    return;
  case OP_WALK:
    at[0] = idx[0];
    at[1] = looked_up(ir, r, idx);
    element(o, b, walk_data(x), at, false);
    return;
  case OP_REDUCE: reduction(o, b, r, idx); return;
  default:
    b->work++;
    for (int k = 0; k < x->nsrc; k++) element(o, b, x->src[k], idx, false);
  }
}

/* ---- cost in instructions ---- */

/* Evaluates an index with one range at v and all others at 0; false: not known */
static bool index_at(const IR *ir, Ref e, Ref range, int64_t v, int64_t *out) {
  const Node *x = node(ir, e);
  int64_t a, b;
  if (x->op == OP_RANGE || x->op == OP_CONST) return *out = e == range ? v : x->op == OP_CONST ? const_value(x) : 0, true;
  if (x->nsrc != 2 || !index_at(ir, x->src[0], range, v, &a) || !index_at(ir, x->src[1], range, v, &b)) return false;
  switch ((Op)x->op) {
  case OP_ADD: *out = a + b; return true;
  case OP_SUB: *out = a - b; return true;
  case OP_MUL: *out = a * b; return true;
  case OP_FLDIV: *out = b > 0 && a >= 0 ? a / b : 0; return b > 0 && a >= 0;
  case OP_FLMOD: *out = b > 0 && a >= 0 ? a % b : 0; return b > 0 && a >= 0;
  default: return false;
  }
}

/* The axis along which an access moves when a range goes from 0 to v; -1: none; -2: several, or by another step */
static int moved_axis(const Problem *o, const Body *b, const Access *a, int rank, int r, int64_t v) {
  int moved = -1;
  Ref range = b->range[r];
  for (int i = 0; i < rank; i++) {
    int64_t from, to;
    if (!(a->by[i] >> r & 1)) continue;
    if (!index_at(o->ir, a->idx[i], range, 0, &from) || !index_at(o->ir, a->idx[i], range, v, &to)) return -2;
    if (to == from) continue;
    if (moved != -1 || to - from != v) return -2;
    moved = i;
  }
  return moved;
}

/* Whether access a walks ranges i and k either both as whole axes without a halo, or not at all */
static bool walks_as_one(const Problem *o, const Body *b, const Access *a, int i, int k) {
  const Node *x = node(o->ir, a->value);
  const Place *p = &o->s->place[a->value];
  int found = 0;
  for (int d = 0; d < x->rank; d++) {
    Ref e = a->idx[d];
    bool own = e == b->range[i] || e == b->range[k];
    if (own && x->dims[d] == range_extent(node(o->ir, e)) && !p->lo[d] && !p->hi[d]) found++;
    else if ((a->by[d] >> i | a->by[d] >> k) & 1) return false;
  }
  return found != 1;
}

/* Two ranges merge into one loop if all accesses of the kernel walk them as one. */
static bool loops_merge(const Problem *o, const Body *b, int i, int k) {
  for (size_t j = 0; j < o->bodies.n; j++) {
    const Body *other = o->bodies.p[j];
    if (i >= b->outer && other != b) continue; /* a range of the reduction alone */
    for (size_t n = 0; n < other->access.n; n++)
      if (!walks_as_one(o, b, &other->access.p[n], i, k)) return false;
  }
  return true;
}

/* Vectors needed for an extent (with the rest in ever smaller vectors), relative to full vectors. Ranges that merge with it,
 * outside of it in memory, make it longer. */
static double waste(const Problem *o, const Body *b, int i) {
  double n = extent(o->ir, b->range[i]);
  int first = i < b->outer ? 0 : b->outer, end = i < b->outer ? b->outer : b->n;
  for (int k = end - 1; k >= first; k--) {
    if (k == i) continue;
    if (!loops_merge(o, b, i, k)) break;
    n *= extent(o->ir, b->range[k]);
  }
  int64_t all = (int64_t)n;
  return ((double)(all / o->lanes) + __builtin_popcountll((uint64_t)(all % o->lanes))) * o->lanes / n;
}

/* Loads of an operand that a contraction's register tile saves: a range that does not index the operand repeats them */
static double repeated(const Problem *o, const Body *b, uint32_t set) {
  return (~set & ((UINT32_C(1) << b->outer) - 1)) ? tunable(o->ir->ctx, layout_tile) : 1;
}

/* Whether lanes along range i stay on the innermost axis, a few elements apart */
static bool moves_near(const Problem *o, const Body *b, const Access *a, int rank, int i, int inner) {
  for (int d = 0; d < rank; d++) {
    int64_t from, to;
    if (!(a->by[d] >> i & 1)) continue;
    if (!index_at(o->ir, a->idx[d], b->range[i], 0, &from) || !index_at(o->ir, a->idx[d], b->range[i], 1, &to)) return false;
    if (d == inner ? llabs(to - from) > tunable(o->ir->ctx, layout_near) : to != from) return false;
  }
  return true;
}

/* Small elements are multiplied in groups along the sum, so they must be adjacent. */
static bool group_lies_apart(const Problem *o, const Body *b, const Access *a, int rank, int inner) {
  const Node *x = node(o->ir, a->value);
  if (!b->contraction || dtype_info[x->dt].bits > 16) return false;
  for (int i = b->outer; i < b->n; i++)
    if (moved_axis(o, b, a, rank, i, 1) == inner) return false;
  return true;
}

/* Sums with lanes side by side go from row to row of their operand. Are there many rows, on different pages, of data larger
 * than the caches? Contractions do not count: they read panels repeatedly, and pack them where the order is bad. */
static bool turns_pages(const Problem *o, const Body *b, const Access *a, uint32_t set, int i, int inner) {
  const Node *x = node(o->ir, a->value);
  const double bytes = dtype_info[x->dt].bits / 8.0;
  return i < b->outer && !b->contraction && (double)x->dims[inner] * bytes >= PAGE &&
         elements(o, b, set & ~((UINT32_C(1) << b->outer) - 1)) >= tunable(o->ir->ctx, layout_pages) &&
         elements(o, b, set) * bytes > tunable(o->ir->ctx, layout_far) * o->s->plan->in->target->l2_bytes;
}

/* Instructions of one access, with lanes along range i (-1: none) and axis `inner` innermost */
static double access_cost(const Problem *o, const Body *b, const Access *a, int i, double wasted, int inner) {
  const Node *x = node(o->ir, a->value);
  const Target *t = o->s->plan->in->target;
  uint32_t set = 0;
  for (int d = 0; d < x->rank; d++) set |= a->by[d];
  double n = b->contraction ? b->times / repeated(o, b, set) : elements(o, b, set);
  if (i < 0) return n * rate(t, ONE_BY_ONE, LAYOUT);
  int64_t run = range_extent(node(o->ir, b->range[i])) < o->lanes ? range_extent(node(o->ir, b->range[i])) : o->lanes;
  double vectors = n / o->lanes * wasted;
  if (!(set >> i & 1)) {
    double group = group_lies_apart(o, b, a, x->rank, inner) ? (int)(rate(t, ONE_BY_ONE, LAYOUT) * 32) / dtype_info[x->dt].bits
                                                             : rate(t, BROADCAST, LAYOUT);
    return (b->contraction ? vectors : n) * group;
  }
  int one = moved_axis(o, b, a, x->rank, i, 1), all = moved_axis(o, b, a, x->rank, i, run - 1);
  if (all == -1) return vectors * rate(t, BROADCAST, LAYOUT); /* the same element for all lanes */
  if (one == inner && all == inner)
    return vectors * (b->contraction                        ? rate(t, UNALIGNED, LAYOUT)
                      : turns_pages(o, b, a, set, i, inner) ? rate(t, PAGE_TURN, LAYOUT)
                                                            : 1);
  return vectors * o->lanes * (moves_near(o, b, a, x->rank, i, inner) ? rate(t, ONE_BY_ONE, LAYOUT) : rate(t, FAR_APART, LAYOUT));
}

static void price_access(Problem *o, const Body *b, const Access *a, const double *wasted) {
  const Node *w = node(o->ir, whole(o->s, a->value));
  int axis[MAX_RANK], var = o->var[whole(o->s, a->value)], n = var > 0 ? axes_of(o->s, whole(o->s, a->value), axis) : 1;
  double cost[(MAX_LOOPS + 1) * MAX_RANK];
  if (var <= 0) axis[0] = last_axis(w);
  for (int i = -1; i < b->n; i++)
    for (int k = 0; k < n; k++) cost[(i + 1) * n + k] = access_cost(o, b, a, i, i < 0 ? 1 : wasted[i], axis[k]);
  if (var > 0) pbqp_edge(o->c, b->node, var - 1, cost);
  else
    for (int i = 0; i <= b->n; i++) pbqp_cost(o->c, b->node, i, cost[i]);
}

/* Adds the body's choice of lanes, with an edge to each value that it loads or stores */
static void price_body(Problem *o, Body *b) {
  double wasted[MAX_LOOPS];
  pbqp_cost(o->c, b->node, 0, b->times * b->work);
  for (int i = 0; i < b->n; i++) {
    wasted[i] = waste(o, b, i);
    pbqp_cost(o->c, b->node, i + 1, b->times * b->work / o->lanes * wasted[i]);
  }
  for (size_t i = 0; i < b->access.n; i++) price_access(o, b, &b->access.p[i], wasted);
}

/* Prices the lanes of a reduction beside those of the body around it. Results are passed on in the same lanes, or one by one.
 * They are added up first if lanes run along the sum. */
static void price_result(Problem *o, const Body *b) {
  const Body *around = b->around;
  const Target *t = o->s->plan->in->target;
  double cost[(MAX_LOOPS + 1) * (MAX_LOOPS + 1)], results;
  uint32_t set = ranges_of_all(o->ir, b->result, b->rank);
  results = elements(o, around, set);
  for (int i = 0; i <= b->n; i++)
    for (int k = 0; k <= around->n; k++) {
      bool varies = k && (set >> (k - 1) & 1), summed = i > b->outer;
      cost[i * (around->n + 1) + k] = summed                      ? results * rate(t, COMBINE, LAYOUT)
                                      : i == k || (!i && !varies) ? 0
                                                                  : results * rate(t, ONE_BY_ONE, LAYOUT);
    }
  pbqp_edge(o->c, b->node, around->node, cost);
}

/* ---- kernels, as kernelize.c will make them ---- */

static void price_bodies(Problem *o) {
  for (size_t i = 0; i < o->bodies.n; i++) {
    price_body(o, o->bodies.p[i]);
    if (o->bodies.p[i]->around) price_result(o, o->bodies.p[i]);
  }
  for (size_t i = 0; i < o->bodies.n; i++) {
    VEC_FREE(&o->bodies.p[i]->access);
    refmap_free(&o->bodies.p[i]->seen);
    free(o->bodies.p[i]);
  }
  o->bodies.n = 0;
}

/* Whether the body of a kernel without reductions reads inputs only: their order is the caller's */
static bool reads_inputs(const Problem *o, const Body *b) {
  bool only = b->access.n && o->bodies.n == 1;
  for (size_t i = 0; i < b->access.n; i++) only &= node(o->ir, b->access.p[i].value)->op == OP_PARAM;
  return only;
}

/* A nest that computes element idx of `value` for each element of x's shape and stores it as `to` */
static void nest(Problem *o, Ref to, Ref value, const Node *x, bool top) {
  Ref idx[MAX_RANK];
  if (!dims_elems(x->dims, x->rank)) return;
  Body *b = body(o);
  b->times = (double)dims_elems(x->dims, x->rank);
  for (int a = 0; a < x->rank; a++) idx[a] = loop(o, b, x->dims[a]);
  b->outer = b->n;
  b->node = pbqp_node(o->c, b->n + 1);
  element(o, b, value, idx, top);
  o->transposes[to] = top && reads_inputs(o, b);
  take_access(o->ir, b, to, idx, x->rank);
  price_bodies(o);
}

/* The nest for the updates of a scatter */
static void updates_nest(Problem *o, Ref r) {
  const Node *x = node(o->ir, r), *u = node(o->ir, scatter_updates(x));
  Ref idx[MAX_RANK];
  Body *b = body(o);
  b->times = (double)dims_elems(u->dims, u->rank);
  for (int a = 0; a < u->rank; a++) idx[a] = loop(o, b, u->dims[a]);
  b->outer = b->n;
  b->node = pbqp_node(o->c, b->n + 1);
  for (int k = 1; k < 3; k++) element(o, b, x->src[k], idx, false);
  idx[scatter_axis(x)] = looked_up(o->ir, scatter_index(x), idx);
  take_access(o->ir, b, r, idx, x->rank);
  price_bodies(o);
}

static void kernel(Problem *o, Ref r) {
  const Node *x = node(o->ir, r);
  const Place *p = &o->s->place[r];
  if (op_is_of_loops((Op)x->op)) return; /* row-major, and one element after another */
  if (x->op == OP_CAT && !p->select) {
    for (int k = 0; k < x->nsrc; k++)
      if (o->s->place[x->src[k]].inside != r) nest(o, r, x->src[k], node(o->ir, x->src[k]), false);
  } else if (x->op == OP_SCATTER) {
    nest(o, r, scatter_data(x), x, false);
    if (dims_elems(x->dims, x->rank)) updates_nest(o, r);
  } else if (x->op == OP_PAD && node(o->ir, pad_fill(x))->op == OP_CONST)
    nest(o, r, pad_data(x), node(o->ir, pad_data(x)), false);
  else
    nest(o, r, r, x, true);
}

/* ---- the choice ---- */
static void apply(const Problem *o, const int *alternative) {
  Sched *s = o->s;
  for (size_t i = 0; i < s->order.n; i++) {
    Ref r = s->order.p[i];
    int axis[MAX_RANK];
    if (o->var[r] <= 0) continue;
    axes_of(s, r, axis);
    int l = alternative[o->var[r] - 1];
    s->place[r].inner = l ? axis[l] : -1;
  }
}

/* Values of kernels that only read inputs take the axis that the solution `wish` gives them, if the kernels around them then cost
 * clearly less. Such a kernel transposes if its result has another order than the inputs, which layout_seed.c does not see. For
 * other values such gains were often losses when they were timed. `axis` has the axes that are taken, by PBQP node, and -1 for
 * nodes of bodies; returns the whole cost. */
static double choose_beside_inputs(const Problem *o, const int *wish, double cost, int *axis, int *alternative) {
  const Sched *s = o->s;
  const double least = 1 - tunable(o->ir->ctx, layout_gain);
  for (size_t i = 0; i < s->order.n; i++) {
    const int v = o->var[s->order.p[i]] - 1;
    if (v < 0 || wish[v] == axis[v] || !o->transposes[s->order.p[i]]) continue;
    const int before = axis[v];
    pbqp_solve(o->c, axis, alternative);
    const double around = pbqp_cost_around(o->c, alternative, v);
    axis[v] = wish[v];
    const double changed = pbqp_solve(o->c, axis, alternative);
    if (cost - changed > least * around) cost = changed;
    else axis[v] = before;
  }
  pbqp_solve(o->c, axis, alternative);
  return cost;
}

/* Uses given axes in place of the model's. Axes are chosen for all values together, so a given one may cost more than the model
 * would accept by itself. */
static void decide_orders(Sched *s, const int *var) {
  IR *ir = s->ir;
  for (size_t i = 0; i < s->order.n && ir->decisions; i++) {
    const Ref r = s->order.p[i];
    const Node *x = node(ir, r);
    Place *p = &s->place[r];
    int axis[MAX_RANK], at = 0;
    if (!p->materialized || p->inside || x->rank < 3 || op_is_of_loops((Op)x->op) || (var && var[r] <= 0)) continue;
    const Question q = ask_node(ir, "layout", r);
    const int n = axes_of(s, r, axis), alternative = alternative_of(s, r, p->inner < 0 ? axis[0] : p->inner);
    const char *name[MAX_RANK];
    for (int k = 0; k < n; k++) name[k] = arena_printf(&ir->ctx->model, "axis-%d", axis[k]);
    at = q.given ? word_index(name, n, q.given) : alternative;
    if (at == n) answer_refused(ir, &q, "the value has no such axis"), at = alternative;
    if (at != alternative) p->inner = at ? axis[at] : -1;
    answer_with(ir, &q, name[at]);
  }
}

void sched_layout_pbqp(Sched *s) {
  Problem o = { .s = s, .ir = s->ir, .lanes = s->plan->in->target->vector_bytes / 4 };
  for (size_t i = 0; i < s->order.n; i++)
    if (s->place[s->order.p[i]].materialized) sched_layout_seed(s, s->order.p[i]);
  if (o.lanes < 2) { /* without vectors all orders cost the same */
    decide_orders(s, NULL);
    return;
  }
  o.c = pbqp_new();
  o.var = xmalloc(s->nplace * sizeof *o.var);
  memset(o.var, 0, s->nplace * sizeof *o.var);
  o.transposes = xcalloc(s->nplace, sizeof *o.transposes);
  make_variables(&o);
  for (size_t i = 0; i < s->order.n; i++)
    if (s->place[s->order.p[i]].materialized) kernel(&o, s->order.p[i]);

  int nodes = pbqp_size(o.c), *fixed = xmalloc(size_mul(nodes + 1, sizeof *fixed)),
      *alternative = xmalloc(size_mul(nodes + 1, sizeof *alternative)),
      *wish = xmalloc(size_mul(nodes + 1, sizeof *wish));
  for (int v = 0; v < nodes; v++) fixed[v] = -1;
  for (size_t i = 0; i < s->order.n; i++) {
    Ref r = s->order.p[i];
    const Place *p = &s->place[r];
    if (o.var[r] > 0) fixed[o.var[r] - 1] = p->inner < 0 ? 0 : alternative_of(s, r, p->inner);
  }
  double *cost = s->plan->layouts.cost;
  cost[0] = pbqp_solve(o.c, fixed, alternative);
  cost[1] = pbqp_solve(o.c, NULL, wish);
  if (cost[1] < tunable(s->ir->ctx, layout_gain) * cost[0]) apply(&o, wish);
  else {
    cost[1] = choose_beside_inputs(&o, wish, cost[0], fixed, alternative);
    apply(&o, alternative);
  }
  decide_orders(s, o.var);
  for (size_t i = 0; i < s->order.n; i++)
    if (s->place[s->order.p[i]].across) s->place[s->order.p[i]].inner = s->place[s->order.p[i]].across - 1;
  VEC_FREE(&o.bodies);
  free(fixed);
  free(alternative);
  free(wish);
  free(o.var);
  free(o.transposes);
  pbqp_free(o.c);
}

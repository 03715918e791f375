/* SPDX-License-Identifier: MIT */
/* sized.c: a graph for ranges of sizes of some dimensions.
 *
 * The front ends build a graph for one size of each dimension. So the graph of the greatest sizes is built. For each dimension it
 * is compared with those of a few other sizes. Where a reduction or a padding takes other entries there, a size mask hides
 * entries that a run does not have. A concatenation behind such entries becomes a selection, and a constant that follows from
 * numbers of entries becomes a SIZE. Entries at the end of the dimension, and reversals, become gathers. graph/needs.c says which
 * entries of each value a run needs, and sized_proof.c proves it for each combination of sizes. A model whose arithmetic depends
 * on the sizes in another way is refused.
 *
 * Above TRIES_MOST combinations, not all are tried. In those that are tried, all sizes but one are the least, a middle, or the
 * greatest of their range. Some others are tried, too. Shapes of the cut graph are products of numbers that follow from one size
 * each. The front end computes shapes from sizes, too. Values that follow from one size are tried for each value of it. A
 * polynomial of degree two in each size is known from three values of each. A comparison of values that are monotone in each size
 * comes out alike everywhere if it does so at all corners.
 *
 * needs: a model with open dimensions    gives: the graph of the greatest sizes, with IR.symbols and GIO.open   breaks: nothing */
#include "../compiler/graph/graph.h"
#include "../compiler/graph/rules.h"
#include "sized.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- what depends on sizes ---- */
/* PROBES: other sizes of a symbol with which the greatest one is compared */
enum { PROBES = 6, PROBES_MOST = SYMBOLS_MOST * PROBES };
typedef struct Probe { int symbol; int64_t size; } Probe; /* all other symbols have their greatest size */
typedef const Node *Peers[PROBES_MOST];
/* By source of a node: what a constant there is at a probe. NULL: the node has no constants there */
typedef struct Operand { bool known; int64_t bits; } Operand;
typedef const Operand *Operands[PROBES_MOST];

/* The model at the greatest sizes, and what its nodes are at other sizes */
typedef struct Sizing {
  Graph *g;
  IR *ir;
  Probe probe[PROBES_MOST];
  int n;              /* number of probes */
  Peers *peer;        /* by Ref: nodes of the other graphs; NULL: the graph has another form there */
  Operands *operand;  /* by Ref: of those nodes */
  const Needed *open; /* graph_open of the model */
  Placeds placed;
  Ref *now; /* by Ref: the node that replaces it */
  Ref *pad; /* by Ref: the first padding of a value whose end depends on a size; 0: none */
  RefMap carried; /* place_key, to the CARRIED */
} Sizing;

/* A copy of a node that outlives its graph. Its sources do not. */
static const Node *kept_node(IR *ir, const Node *x) {
  Node *copy = arena_dup(&ir->ctx->model, x, sizeof *x);
  if (x->rank) copy->dims = arena_dup(&ir->ctx->model, x->dims, x->rank * sizeof *x->dims);
  if (x->narg) copy->arg = arena_dup(&ir->ctx->model, x->arg, x->narg * sizeof *x->arg);
  return copy;
}

/* Equal constants are one node, although they may mean something else for each user. So their values are noted by user. x, y: the
 * user and its peer */
static const Operand *kept_operands(IR *ir, const Node *x, const IR *other, const Node *y) {
  Operand *all = NULL;
  for (int k = 0; k < x->nsrc; k++) {
    const Node *s = node(ir, view_base(ir, x->src[k])), *t = node(other, view_base(other, y->src[k]));
    if (s->op != OP_CONST || t->op != OP_CONST || s->dt != t->dt) continue;
    if (!all) memset(all = ARENA_NEW(&ir->ctx->model, Operand, x->nsrc), 0, x->nsrc * sizeof *all);
    all[k] = (Operand){ true, const_value(t) };
  }
  return all;
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
    z->operand[r][p] = kept_operands(z->ir, x, h->ir, y);
    for (int k = 0; k < x->nsrc; k++) {
      VEC_PUSH(&todo, x->src[k]);
      VEC_PUSH(&todo, y->src[k]);
    }
  }
  VEC_FREE(&todo);
}

/* Values of something at the greatest sizes and at the probes. known: bits of probes */
typedef struct Samples {
  int64_t most, at[PROBES_MOST];
  uint32_t known;
} Samples;

/* The symbols with which the samples vary, as bits */
static uint32_t samples_vary(const Sizing *z, const Samples *s) {
  uint32_t symbols = 0;
  for (int p = 0; p < z->n; p++)
    if ((s->known >> p & 1) && s->at[p] != s->most) symbols |= 1u << z->probe[p].symbol;
  return symbols;
}

/* An extent for a size above the range */
static int64_t extent_beyond(const IR *ir, int extent, int64_t size) {
  int chain[64], n = 0;
  for (; extent >= ir->symbols.n && n < 64; extent = ir->extents.p[extent].of) chain[n++] = extent;
  while (n--) {
    const Extent *e = &ir->extents.p[chain[n]];
    size = tgcrt_extent_of(&(tgcrt_extent){ e->times, e->plus, e->over, INT64_MAX, e->of, 0 }, size);
  }
  return size;
}

static int64_t greatest_extent(const IR *ir, int extent) {
  RunSizes run = { 0 };
  greatest_sizes(&ir->symbols, run);
  return extent_in_run(ir, extent, run);
}

static int64_t extent_at_probe(const Sizing *z, int extent, int p) {
  const Probe *at = &z->probe[p];
  RunSizes run = { 0 };
  greatest_sizes(&z->ir->symbols, run);
  if (z->ir->extents.p[extent].symbol == at->symbol && at->size > run[at->symbol]) return extent_beyond(z->ir, extent, at->size);
  run[at->symbol] = at->size;
  return extent_in_run(z->ir, extent, run);
}

/* Whether the samples are times * extent + plus */
static bool samples_are(const Sizing *z, const Samples *s, int extent, int64_t times, int64_t plus) {
  bool all = s->most == times * greatest_extent(z->ir, extent) + plus;
  for (int p = 0; p < z->n && all; p++)
    all = !(s->known >> p & 1) || s->at[p] == times * extent_at_probe(z, extent, p) + plus;
  return all;
}

/* Finds an extent of which a quotient gives the samples: (extent * times + plus) / over */
static int fit_quotient(const Sizing *z, const Samples *s) {
  enum { OVER_MOST = 8 };
  const size_t n = z->ir->extents.n;
  for (int64_t over = 2; over <= OVER_MOST; over++)
    for (size_t e = 0; e < n; e++) {
      const int64_t most = z->ir->extents.p[e].by ? 0 : greatest_extent(z->ir, (int)e);
      int64_t least = most, low = s->most;
      for (int p = 0; p < z->n && most; p++) {
        const int64_t at = extent_at_probe(z, (int)e, p);
        if ((s->known >> p & 1) && at < least) least = at, low = s->at[p];
      }
      if (least == most || extent_is_constant(z->ir, (int)e)) continue;
      const int64_t times = ((s->most - low) * over + (most - least) / 2) / (most - least);
      for (int64_t i = 0; i < over && times > 0; i++) {
        const int64_t plus = s->most * over - times * most + i;
        const Extent f = { .of = (int)e, .times = times, .plus = plus, .over = over, .most = s->most };
        bool all = true;
        for (int p = 0; p < z->n && all; p++) {
          const int64_t sum = extent_at_probe(z, (int)e, p) * f.times + f.plus;
          const bool beyond = extent_at_probe(z, (int)e, p) > most;
          all = !(s->known >> p & 1) || (sum >= 0 && s->at[p] == (sum / over > s->most && !beyond ? s->most : sum / over));
        }
        if (all) return extent_make(z->ir, f);
      }
    }
  return -1;
}

/* Finds an extent whose multiple the samples are, or one that differs from them by a constant. */
static bool fit_samples(const Sizing *z, const Samples *s, int *extent, int64_t *times, int64_t *plus) {
  for (int shifted = 0; shifted < 2; shifted++)
    for (size_t e = 0; e < z->ir->extents.n; e++) {
      if (z->ir->extents.p[e].by) continue;
      const int64_t most = greatest_extent(z->ir, (int)e);
      if (extent_is_constant(z->ir, (int)e)) continue;
      *extent = (int)e;
      *times = shifted || !most ? 1 : s->most / most;
      *plus = shifted ? s->most - most : 0;
      for (int p = 0; p < z->n && shifted; p++) {
        const int64_t less = most - extent_at_probe(z, (int)e, p);
        if (!less || !(s->known >> p & 1) || (s->most - s->at[p]) % less) continue;
        *times = (s->most - s->at[p]) / less;
        *plus = s->most - *times * most;
        break;
      }
      if (*times && samples_are(z, s, (int)e, *times, *plus)) return true;
    }
  *extent = fit_quotient(z, s);
  *times = 1;
  *plus = 0;
  return *extent >= 0;
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

/* A multiple of the sizes of several symbols; 0: the samples are none */
static Ref product_of_sizes(const Sizing *z, const Samples *s, uint32_t symbols) {
  IR *ir = z->ir;
  int64_t all = 1;
  for (int k = 0; k < ir->symbols.n; k++)
    if (symbols >> k & 1) all *= ir->symbols.p[k].high;
  bool good = s->most >= all && s->most % all == 0;
  for (int p = 0; p < z->n && good; p++) {
    const Probe *at = &z->probe[p];
    if (s->known >> p & 1 & symbols >> at->symbol) good = s->at[p] == s->most / ir->symbols.p[at->symbol].high * at->size;
  }
  Ref product = 0;
  for (int k = 0; k < ir->symbols.n && good; k++) {
    if (!(symbols >> k & 1)) continue;
    const Ref size = size_value(ir, size_number(ir, size_all(product ? 1 : s->most / all, k)));
    product = product ? g_binary(ir, OP_MUL, product, size) : size;
  }
  return product;
}

/* Source k of a user, a number of entries or its inverse, such as the divisor of a mean. The proof tries all sizes. */
static Ref sized_constant(const Sizing *z, Ref user, int k) {
  IR *ir = z->ir;
  const Ref r = view_base(ir, node(ir, user)->src[k]);
  const DType d = (DType)node(ir, r)->dt;
  for (int inverse = 0; inverse < 2 && d != DT_BOOL; inverse++) {
    Samples s = { 0 };
    bool good = !inverse || dt_float(d);
    for (int p = -1; p < z->n && good; p++) {
      const Operand *x = p < 0 ? NULL : z->operand[user][p];
      if (p >= 0 && (!x || !x[k].known)) continue;
      const int64_t bits = p < 0 ? const_value(node(ir, r)) : x[k].bits;
      const double value = bits_to_double(d, bits), whole = nearbyint(inverse ? 1 / value : value);
      good = fabs(whole) < 1e15 && double_to_bits(d, inverse ? 1 / whole : whole) == bits;
      if (!good) break;
      if (p < 0) s.most = (int64_t)whole;
      else s.at[p] = (int64_t)whole, s.known |= 1u << p;
    }
    int extent;
    int64_t times, plus;
    const uint32_t symbols = good ? samples_vary(z, &s) : 0;
    if (!symbols) continue;
    if (symbols & (symbols - 1)) {
      const Ref product = product_of_sizes(z, &s, symbols);
      if (!product) continue;
      const Ref of_type = g_cast(ir, product, d);
      return inverse ? g_unary(ir, OP_RECIP, of_type) : of_type;
    }
    if (!fit_samples(z, &s, &extent, &times, &plus)) continue;
    Ref size = size_value(ir, size_number(ir, size_all(times > 0 ? times : 1, extent)));
    if (times < 0) size = g_binary(ir, OP_MUL, size, c_int(ir, DT_I64, times));
    if (plus) size = g_binary(ir, OP_ADD, size, c_int(ir, DT_I64, plus));
    const Ref value = g_cast(ir, size, d);
    return inverse ? g_unary(ir, OP_RECIP, value) : value;
  }
  return r;
}

/* The positions first + i * step, i = 0 .. n - 1, along an axis */
static Ref positions(IR *ir, Ref first, int64_t step, int64_t n, int axis, int rank) {
  int64_t dims[MAX_RANK];
  for (int a = 0; a < rank; a++) dims[a] = a == axis ? n : 1;
  const Ref steps = g_binary(ir, OP_MUL, g_iota(ir, DT_I64, n), c_int(ir, DT_I64, step));
  return g_reshape(ir, g_binary(ir, OP_ADD, steps, first), rank, dims);
}

static Ref size_plus(IR *ir, int extent, int64_t plus) {
  const Ref size = size_value(ir, size_number(ir, size_all(1, extent)));
  return plus ? g_binary(ir, OP_ADD, size, c_int(ir, DT_I64, plus)) : size;
}

/* A part of an axis that begins at a place which depends on the size, such as the last entry: a gather by positions */
static Ref sized_shrink(Sizing *z, Ref r, Ref *src) {
  IR *ir = z->ir;
  const Node *x = node(ir, r);
  Placed p = { .was = x, .src = src };
  int64_t begin[MAX_RANK], step[MAX_RANK], dims[MAX_RANK], times, plus;
  Ref value = src[0];
  bool any = false;
  for (int a = 0; a < x->rank; a++) {
    Samples s = { .most = shrink_begin(x, a) };
    p.begin[a] = -1;
    begin[a] = shrink_begin(x, a), step[a] = shrink_step(x, a), dims[a] = x->dims[a];
    for (int i = 0; i < z->n; i++)
      if (z->peer[r][i]) s.at[i] = shrink_begin(z->peer[r][i], a), s.known |= 1u << i;
    int of;
    if (!samples_vary(z, &s) || !fit_samples(z, &s, &of, &times, &plus)) continue;
    p.begin[a] = extent_make(ir, (Extent){ .of = of, .times = times, .plus = plus, .over = 1, .most = s.most });
    begin[a] = 0, step[a] = 1;
    value = g_gather(ir, value, positions(ir, size_plus(ir, p.begin[a], 0), shrink_step(x, a), dims[a], a, x->rank), a);
    any = true;
  }
  if (!any) return node_with_src(ir, r, src);
  p.now = g_shrink(ir, value, begin, step, dims);
  VEC_PUSH(&z->placed, p);
  return p.now;
}

/* Joins b behind the entries of a that a run has: positions below the extent are from a, and the others from b. Both have their
 * greatest extents. */
static Ref joined(IR *ir, Ref a, Ref b, int axis, int extent) {
  const Node *x = node(ir, a), *y = node(ir, b);
  const int rank = x->rank;
  const int64_t m = x->dims[axis], all = m + y->dims[axis];
  int64_t none[MAX_RANK] = { 0 }, hi[MAX_RANK] = { 0 }, dims[MAX_RANK];
  for (int k = 0; k < rank; k++) dims[k] = k == axis ? all : 1;
  hi[axis] = y->dims[axis];
  const Ref before = g_pad(ir, a, none, hi, c_int(ir, (DType)x->dt, 0));
  const Ref size = size_value(ir, size_number(ir, size_all(1, extent)));
  const Ref behind = g_gather(ir, b, positions(ir, g_binary(ir, OP_MUL, size, c_int(ir, DT_I64, -1)), 1, all, axis, rank), axis);
  const Ref below = g_reshape(ir, g_binary(ir, OP_CMPLT, g_iota(ir, DT_I64, all), size), rank, dims);
  return g_where(ir, below, before, behind);
}

/* A concatenation behind entries whose number depends on the size */
static Ref sized_cat(Sizing *z, Ref r, Ref *src) {
  IR *ir = z->ir;
  const Node *x = node(ir, r);
  const int axis = (int)cat_axis(x);
  int extent = -1;    /* the extent of the parts so far; -1: it is constant */
  int64_t before = 0; /* entries in front, if it does not */
  Ref value = 0;
  for (int k = 0; k < x->nsrc; k++) {
    const int64_t n = node(ir, x->src[k])->dims[axis];
    const int of = extent_along(z, x->src[k], axis);
    if (extent >= 0 && of >= 0) return node_with_src(ir, r, src); /* two parts depend on it */
    if (!value) value = src[k];
    else if (extent < 0) value = g_cat(ir, 2, (Ref[]){ value, src[k] }, axis);
    else value = joined(ir, value, src[k], axis, extent);
    if (of >= 0) extent = extent_make(ir, (Extent){ .of = of, .times = 1, .plus = before, .over = 1, .most = before + n });
    else if (extent >= 0)
      extent = extent_make(ir, (Extent){ .of = extent, .times = 1, .plus = n, .over = 1, .most = node(ir, value)->dims[axis] });
    before += n;
  }
  const bool last = extent < 0 || extent_along(z, x->src[x->nsrc - 1], axis) >= 0;
  if (last) return node_with_src(ir, r, src);
  VEC_PUSH(&z->placed, ((Placed){ .now = value, .was = x, .src = src }));
  return value;
}

/* ---- loops ---- */
static Ref place_key(int64_t loop, int64_t place) { return (Ref)(1 + loop * 4096 + place); }

/* The extent that the number of iterations is in a run; -1: it is constant, or not known */
static int extent_of_trips(const Sizing *z, Ref r) {
  Samples s = { .most = iterate_trips(node(z->ir, r)) };
  int extent;
  int64_t times, plus;
  for (int p = 0; p < z->n; p++) {
    if (!z->peer[r][p]) continue;
    s.at[p] = iterate_trips(z->peer[r][p]);
    s.known |= 1u << p;
  }
  if (!samples_vary(z, &s) || !fit_samples(z, &s, &extent, &times, &plus)) return -1;
  return extent_make(z->ir, (Extent){ .of = extent, .times = times, .plus = plus, .over = 1, .most = s.most });
}

/* Finds loops whose number of iterations follows from a size. Returns whether there is one more. */
static bool find_trips(const Sizing *z, const Refs *order) {
  IR *ir = z->ir;
  bool more = false, backwards[GRAPH_LOOPS] = { false };
  for (size_t i = 0; i < order->n; i++) {
    const Node *x = node(ir, order->p[i]);
    if (x->op == OP_SLICE) backwards[slice_loop(x)] |= slice_reverse(x);
    if (x->op == OP_YIELD) backwards[yield_loop(x)] |= yield_place(x) < 0 && yield_reverse(x);
    if (x->op != OP_ITERATE || iterate_while(x) || backwards[iterate_loop(x)] || ir->loop_extent[iterate_loop(x)]) continue;
    const int extent = extent_of_trips(z, order->p[i]);
    if (extent < 0 || extent >= UINT16_MAX) continue;
    ir->loop_extent[iterate_loop(x)] = (unsigned short)(1 + extent);
    more = true;
  }
  return more;
}

/* Finds extents that do not follow from those of sources: of gathers. Returns whether there is one more. */
static bool find_opened(const Sizing *z, const Refs *order) {
  IR *ir = z->ir;
  bool more = false;
  for (size_t i = 0; i < order->n; i++) {
    const Ref r = order->p[i];
    const Node *x = node(ir, r);
    const int axis = x->op == OP_GATHER ? (int)gather_axis(x) : -1;
    if (axis < 0 || need_along(ir, x, &z->open[r], axis) >= 0) continue;
    const int extent = extent_along(z, r, axis);
    if (extent < 0) continue;
    VEC_PUSH(&ir->opened, ((OpenAxis){ r, axis, extent }));
    more = true;
  }
  return more;
}

/* Finds open axes, and the iterations of loops. Extents behind a loop follow from its iterations. */
static void find_loops(Sizing *z) {
  Refs roots = { 0 }, order = { 0 };
  for (size_t i = 0; i < z->g->outputs.n; i++) VEC_PUSH(&roots, z->g->outputs.p[i].ref);
  ir_toposort(z->ir, roots.p, roots.n, &order);
  for (size_t i = 0; i < order.n; i++) {
    const Node *x = node(z->ir, order.p[i]);
    if (x->op == OP_CARRIED) refmap_set(&z->carried, place_key(carried_loop(x), carried_place(x)), order.p[i]);
  }
  if (z->ir->loops) {
    z->ir->loop_extent = ARENA_NEW(&z->ir->ctx->model, unsigned short, GRAPH_LOOPS);
    memset(z->ir->loop_extent, 0, GRAPH_LOOPS * sizeof *z->ir->loop_extent);
  }
  do z->open = graph_open(z->g);
  while (find_opened(z, &order) || (z->ir->loops && find_trips(z, &order)));
  VEC_FREE(&order);
  VEC_FREE(&roots);
}

/* The next value of a place, kept from iteration n on if a run has n of them */
static Ref sized_yield(Sizing *z, Ref r, Ref *src) {
  IR *ir = z->ir;
  const Node *x = node(ir, r);
  const int loop = (int)yield_loop(x), extent = loop_extent(ir, loop);
  if (extent < 0 || yield_place(x) < 0) return node_with_src(ir, r, src);
  const Ref old = refmap_get(&z->carried, place_key(loop, yield_place(x)));
  const Ref none = g_expand(ir, c_int(ir, (DType)x->dt, 0), x->rank, x->dims);
  const Ref before = old ? z->now[old] : g_carried(ir, loop, (int)yield_place(x), none);
  if (!before) ir->loop_extent[loop] = 0; /* the proof will refuse it */
  if (!before) return node_with_src(ir, r, src);
  return g_yield(ir, loop, (int)yield_place(x), g_where(ir, g_live(ir, loop, greatest_extent(ir, extent)), src[0], before));
}

static Ref sized_node(Sizing *z, Ref r, Ref *src) {
  const Node *x = node(z->ir, r);
  switch ((Op)x->op) {
  case OP_REDUCE: return sized_reduction(z, r, src);
  case OP_PAD: return sized_pad(z, r, src);
  case OP_SHRINK: return sized_shrink(z, r, src);
  case OP_CAT: return sized_cat(z, r, src);
  case OP_YIELD: return sized_yield(z, r, src);
  default: return x->nsrc ? node_with_src(z->ir, r, src) : r;
  }
}

/* Puts masks and sizes into the graph. */
static void put_sizes(Sizing *z) {
  Graph *g = z->g;
  IR *ir = z->ir;
  Refs roots = { 0 }, order = { 0 };
  for (size_t i = 0; i < g->outputs.n; i++) VEC_PUSH(&roots, g->outputs.p[i].ref);
  ir_toposort(ir, roots.p, roots.n, &order);
  memset(z->now, 0, ir->n * sizeof *z->now);
  for (size_t i = 0; i < order.n; i++) {
    const Node *x = node(ir, order.p[i]);
    if (x->op == OP_PAD && padded_axes(x) && !z->pad[pad_data(x)]) z->pad[pad_data(x)] = order.p[i];
  }
  for (size_t i = 0; i < order.n; i++) {
    const Ref r = order.p[i];
    const Node *x = node(ir, r);
    Ref *src = ARENA_NEW(&ir->ctx->model, Ref, x->nsrc), now;
    ir->origin = x->origin;
    for (int k = 0; k < x->nsrc; k++) {
      const Ref base = view_base(ir, x->src[k]);
      const bool constant = node(ir, base)->op == OP_CONST && !op_is_movement((Op)x->op);
      src[k] = constant ? view_over(ir, x->src[k], base, sized_constant(z, r, k)) : z->now[x->src[k]];
    }
    now = sized_node(z, r, src);
    z->now[r] = z->pad[r] ? padded_source(z, z->pad[r], now) : now;
  }
  for (size_t i = 0, n = ir->opened.n; i < n; i++) {
    const OpenAxis o = ir->opened.p[i];
    VEC_PUSH(&ir->opened, ((OpenAxis){ z->now[o.value], o.axis, o.extent }));
  }
  ir->origin = 0;
  for (size_t i = 0; i < g->outputs.n; i++) g->outputs.p[i].ref = z->now[g->outputs.p[i].ref];
  VEC_FREE(&order);
  VEC_FREE(&roots);
}

/* ---- the sizes of the ranges ---- */
typedef struct Trial { /* the model at some sizes, in a context of its own */
  const char *path;
  const LoadOptions *given;
  Sizing sizing;
  const Needed *needs, *open; /* NULL: what depends on sizes is found */
  RunSizes run;
} Trial;

/* Loops take slices of what they read by the iteration's number. */
static Graph *load_at(Ctx *c, const char *path, const LoadOptions *o, const int64_t *run) {
  static const Rule slices[] = { { OP_GATHER, "slice of an iteration", rule_slice_of_iteration }, { OP_NONE, NULL, NULL } };
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
  if (g->ir->loops) ir_rewrite_graph(g, slices, NULL);
  return g;
}

/* Finds the axes of an input or output whose extents differ at the other size of a symbol. */
static void find_open(Ctx *c, const IR *ir, const Probe *p, GIO *v, const GIO *w, bool input) {
  const Symbol *s = &ir->symbols.p[p->symbol];
  for (int a = 0; a < v->rank; a++) {
    if (v->dims[a] == w->dims[a]) continue;
    if (input && v->open[a] && v->open[a] != p->symbol + 1)
      fail(c, EX_BADMODEL, "--dim %s: axis %d of '%s' depends on that dimension and on another one; give one number", s->name, a,
           v->name);
    if (input && (v->dims[a] != s->high || w->dims[a] != p->size))
      fail(c, EX_BADMODEL,
           "--dim %s: input '%s' must have that dimension as an extent, without other factors or terms; give one number", s->name,
           v->name);
    v->open[a] = (unsigned short)(p->symbol + 1);
  }
}

static void find_all_open(Ctx *c, Graph *g, const Probe *p, const Graph *other) {
  const char *name = g->ir->symbols.p[p->symbol].name;
  bool same = g->inputs.n == other->inputs.n && g->outputs.n == other->outputs.n, any = false;
  for (size_t i = 0; i < g->inputs.n && same; i++) same = g->inputs.p[i].rank == other->inputs.p[i].rank;
  for (size_t i = 0; i < g->outputs.n && same; i++) same = g->outputs.p[i].rank == other->outputs.p[i].rank;
  if (!same) fail(c, EX_BADMODEL, "--dim %s: the number of inputs, of outputs or of their axes depends on the size", name);
  for (size_t i = 0; i < g->inputs.n; i++) {
    find_open(c, g->ir, p, &g->inputs.p[i], &other->inputs.p[i], true);
    for (int a = 0; a < g->inputs.p[i].rank; a++) any |= g->inputs.p[i].open[a] == p->symbol + 1;
  }
  for (size_t i = 0; i < g->outputs.n; i++) find_open(c, g->ir, p, &g->outputs.p[i], &other->outputs.p[i], false);
  if (!any) fail(c, EX_USAGE_, "--dim %s: no extent of an input is that dimension", name);
}

static void try_sizes(Ctx *c, void *arg) {
  Trial *t = arg;
  Sizing *z = &t->sizing;
  Graph *g = load_at(c, t->path, t->given, t->run);
  if (!t->needs) {
    find_all_open(c, z->g, &z->probe[z->n], g);
    note_peers(z, g, z->n);
    return;
  }
  sized_prove(c, &(SizedGraph){ z->g, &z->placed, t->needs, t->open }, g, t->run);
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

static void probe(Ctx *c, Trial *t, int symbol, int64_t size) {
  Sizing *z = &t->sizing;
  greatest_sizes(&z->ir->symbols, t->run);
  t->run[symbol] = size;
  z->probe[z->n] = (Probe){ symbol, size };
  at_sizes(c, t);
  z->n++;
}

/* Compares the greatest size of a symbol with the next smaller ones, and with the least one. Extents behind steps differ not at
 * all of them. Axes of one entry vanish, so sizes of one tell little, and a size above the range is compared instead. */
static void probe_symbol(Ctx *c, Trial *t, int symbol) {
  const Symbol *s = &t->sizing.ir->symbols.p[symbol];
  if (s->high - s->step <= 1) probe(c, t, symbol, s->high + s->step);
  for (int i = 1; i < PROBES - 1 && s->high - i * s->step > s->low; i++) probe(c, t, symbol, s->high - i * s->step);
  probe(c, t, symbol, s->low);
}

static int64_t product_at_probe(const Sizing *z, int extent, int p) {
  const Extent *e = &z->ir->extents.p[extent];
  return e->by ? extent_at_probe(z, e->of, p) * extent_at_probe(z, e->by - 1, p) : extent_at_probe(z, extent, p);
}

/* The extent of an axis by the conditions on its entries; -1: it differs. An axis may have joined two others. */
static int extent_within(const Sizing *z, Ref r, int axis) {
  const Node *x = node(z->ir, r);
  const Samples s = samples_of_axis(z, r, axis);
  int64_t within, times = x->dims[axis];
  int of[2], n = 0;
  for (int k = 0; k < z->open[r].n; k++) {
    const Need *is = &z->open[r].is[k];
    if (need_axis(x, is, &within) != axis) continue;
    if (n == 2) return -1;
    of[n++] = is->of;
    times /= is->extent;
  }
  if (!n) return -1;
  int extent = extent_make(z->ir, (Extent){ .of = of[0], .times = times, .over = 1, .most = x->dims[axis] });
  if (n == 2) extent = extent_product(z->ir, extent, of[1]);
  for (int p = 0; p < z->n; p++)
    if ((s.known >> p & 1) && s.at[p] != product_at_probe(z, extent, p)) return -1;
  return extent;
}

/* The elements of an output that a run has, if the conditions on them say so */
static bool settle_elements(const Sizing *z, GIO *v) {
  const Node *x = node(z->ir, v->ref);
  const Needed *open = &z->open[v->ref];
  int extent[MAX_RANK];
  int64_t within;
  bool all = open->n > 0;
  for (int k = 0; k < open->n && all; k++) {
    const int axis = need_axis(x, &open->is[k], &within);
    all = axis >= 0 && v->open[axis];
  }
  for (int a = 0; a < v->rank && all; a++) {
    extent[a] = v->open[a] ? extent_within(z, v->ref, a) : 0;
    all = extent[a] >= 0 && extent[a] < UINT16_MAX;
  }
  for (int a = 0; a < v->rank && all; a++) {
    if (!v->open[a]) continue;
    v->open[a] = (unsigned short)(extent[a] + 1);
    if (extent[a] >= z->ir->symbols.n) v->formula[a] = extent_text(z->ir->ctx, z->ir, extent[a]);
  }
  if (all) v->is = *open;
  return all;
}

/* The extents of outputs */
static void settle_outputs(Ctx *c, Sizing *z) {
  for (size_t i = 0; i < z->g->outputs.n; i++) {
    GIO *v = &z->g->outputs.p[i];
    const bool settled = settle_elements(z, v);
    for (int a = 0; a < v->rank && !settled; a++) {
      if (!v->open[a]) continue;
      const int extent = extent_along(z, v->ref, a);
      if (extent < 0 || extent > UINT16_MAX - 1)
        fail(c, EX_BADMODEL,
             "--dim %s: output '%s' has an extent that depends on that dimension in a way that one bundle cannot serve; "
             "give one number",
             z->ir->symbols.p[v->open[a] - 1].name, v->name);
      v->open[a] = (unsigned short)(extent + 1);
      if (extent >= z->ir->symbols.n) v->formula[a] = extent_text(c, z->ir, extent);
    }
  }
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
  const Symbols *all = &t->sizing.ir->symbols;
  int64_t n = 1;
  for (int k = 0; k < all->n; k++) n *= sizes_of(&all->p[k]); /* at most 2^48 */
  if (n > COMBINATIONS_MOST)
    fail(c, EX_USAGE_, "--dim: the ranges have %lld combinations of sizes, which are too many; give steps (LOW:HIGH:STEP), or "
                       "fewer ranges", (long long)n);
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
  Sizing *z = &t.sizing;
  for (int k = 0; k < all.n; k++) {
    const DimRange *r = &o->ranges[k];
    all.p[k] = (Symbol){ o->dims[r->dim].name, r->low, o->dims[r->dim].value, r->step, r->typical, 0 };
  }
  greatest_sizes(&all, t.run);
  Graph *g = z->g = load_at(c, path, o, t.run);
  IR *ir = z->ir = g->ir;
  const uint32_t nodes = ir->n;
  ir_set_symbols(ir, &all);
  z->peer = ARENA_NEW(&c->model, Peers, nodes);
  z->operand = ARENA_NEW(&c->model, Operands, nodes);
  memset(z->operand, 0, nodes * sizeof *z->operand);
  z->now = ARENA_NEW(&c->model, Ref, nodes);
  z->pad = ARENA_NEW(&c->model, Ref, nodes);
  memset(z->peer, 0, nodes * sizeof *z->peer);
  memset(z->pad, 0, nodes * sizeof *z->pad);
  for (int k = 0; k < all.n; k++) probe_symbol(c, &t, k);
  find_loops(z);
  settle_outputs(c, z);
  put_sizes(z);
  t.open = graph_open(g);
  t.needs = graph_needs(g, t.open);
  prove(c, &t);
  VEC_FREE(&z->placed);
  refmap_free(&z->carried);
  return g;
}

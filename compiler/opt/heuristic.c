/* SPDX-License-Identifier: MIT */
/* heuristic.c: chooses the schedule of a nest by the model of cost/tile.c: that of its cheapest tile (tile_search.c). Nests whose
 * reduction alone has lanes, lanes of two ranges, peeled borders, and walks of trees have rules here.
 *
 * needs: a canonical nest   gives: schedules that opts_check accepts */
#include "tile_search.h"
#include <math.h>
#include <string.h>

enum { WORD = 32 }; /* longest range, in values, that may select bits within a word */

/* Number of accumulators for a reduction along r when `rows` rows are reduced at a time. Several accumulators hide the latency
 * of an addition. A short row that is reduced alone stays whole in registers. */
static int parts_of(const IR *ir, const Target *t, Ref r, int lanes, int rows) {
  const int64_t vectors = range_extent(node(ir, r)) / lanes;
  if (range_limit(node(ir, r))) return rows == 1 && vectors >= 8 ? 4 : 1; /* most runs have fewer terms */
  const int flying = sums_in_flight(t), most = flying >= 2 * rows ? flying / rows : 2;
  if (vectors <= (rows > 1 ? most : ROW_VECTORS)) return vectors > 1 ? (int)vectors : 1;
  for (int parts = most; parts > most / 4; parts--)
    if (vectors % parts == 0) return parts;
  return most / 2;
}

/* Whether the terms of all reductions are so cheap to recompute that a row need not stay in registers. */
static bool cheap_terms(const IR *ir, const Target *t, Ref store) {
  Refs all = { 0 }, body = { 0 };
  double cost = 0;
  ir_toposort(ir, &store, 1, &all);
  for (size_t i = 0; i < all.n; i++)
    if (node(ir, all.p[i])->op == OP_RED) ir_toposort(ir, (Ref[]){ red_value(node(ir, all.p[i])) }, 1, &body);
  for (size_t i = 0; i < body.n; i++)
    if (node(ir, body.p[i])->dt != DT_I64) cost += op_instructions(t, BY_TILE, (Op)node(ir, body.p[i])->op);
  VEC_FREE(&all);
  VEC_FREE(&body);
  return cost <= tunable(ir->ctx, cheap_terms);
}

/* The innermost range of the nest that counts rows of the reduction, if it is long enough to tile; else -1. */
static int rows_range(const Model *m, int v) {
  for (int i = m->nout - 1; i >= 0; i--)
    if (i != v && !m->selects[i] && ix_uses(m->ir, m->red, m->range[i]))
      return m->extent[i] >= 2 * tunable(m->ir->ctx, row_tile) ? i : -1;
  return -1;
}

/* Adds lanes for a reduction without a vector range of the nest: along its most contiguous range. */
static void reduction_lanes(IR *ir, const Nest *n, const Target *t, Ref vec, int rows, Opts *o) {
  Refs all = { 0 };
  ir_toposort(ir, &n->store, 1, &all);
  for (size_t i = 0; i < all.n && o->n < MAX_RANGES; i++) {
    const Node *x = node(ir, all.p[i]);
    if (x->op != OP_RED || keeps_order(ir, all.p[i], t) || (vec && ix_uses(ir, red_value(x), vec))) continue;
    Model m;
    Refs body = { 0 };
    memset(&m, 0, sizeof m);
    m.ir = ir;
    m.t = t;
    int widest = widest_datum(ir, red_value(x));
    bool nested = false;
    for (int k = 1; k < x->nsrc; k++) {
      m.range[m.n++] = x->src[k];
      nested |= range_kind(node(ir, x->src[k])) == RK_DOT; /* taken */
    }
    ir_toposort(ir, (Ref[]){ red_value(x) }, 1, &body);
    for (size_t j = 0; j < body.n; j++) {
      const Node *y = node(ir, body.p[j]);
      if (y->op == OP_LOAD) model_access(&m, body.p[j], load_index(y), load_buffer(y), true, 1, 1);
      for (int k = 1; k < x->nsrc && y->op == OP_RED; k++) nested |= ix_uses(ir, body.p[j], x->src[k]);
      if (y->dt != DT_I64 && dt_bytes((DType)y->dt) > widest) widest = dt_bytes((DType)y->dt);
    }
    int lanes = t->vector_bytes / (widest < 4 ? 4 : widest), best = -1;
    double cost = 1e30, scalar = 0;
    for (size_t a = 0; a < m.access.n; a++) scalar += 1;
    for (int k = 0; k < m.n && lanes > 1 && !nested; k++) {
      double c = 0;
      if (range_extent(node(ir, m.range[k])) < lanes) continue;
      for (size_t a = 0; a < m.access.n; a++) c += access_cost(&m.access.p[a], t, k, lanes);
      if (c < cost) cost = c, best = k;
    }
    if (best >= 0 && cost < scalar * lanes && m.access.n) {
      o->opt[o->n++] = (Opt){ .range = m.range[best], .unroll = parts_of(ir, t, m.range[best], lanes, rows), .lanes = lanes,
                               .partial = true };
    }
    model_free(&m);
    VEC_FREE(&body);
  }
  VEC_FREE(&all);
}

/* Whether unrolling the range turns variable shifts into shifts by constants: the range selects bits within a word. */
static bool shifts_by(const IR *ir, Ref value, Ref range) {
  Refs all = { 0 };
  bool yes = false;
  ir_toposort(ir, &value, 1, &all);
  for (size_t i = 0; i < all.n && !yes; i++) {
    const Node *x = node(ir, all.p[i]);
    yes = (x->op == OP_SHL || x->op == OP_SHR) && ix_uses(ir, rhs(x), range);
  }
  VEC_FREE(&all);
  return yes;
}

/* A reduction whose lanes go along a range that ends at a size has code for several pieces of it, in each row (sized.c). Rows
 * that share no terms only hide the latency of sums, so sized_row_tile of them suffice. */
static void limit_rows(const Model *m, Tile *tile) {
  const bool sized = tile->v >= m->nout && range_limit(node(m->ir, m->range[tile->v]));
  const int most = tunable(m->ir->ctx, sized_row_tile);
  bool shares = tile->q >= 0 && tile->uq > 1;
  for (size_t k = 0; k < m->access.n && tile->p >= 0; k++) shares |= m->access.p[k].hot && !m->access.p[k].depends[tile->p];
  if (!sized || shares || tile->p < 0 || tile->up <= most) return;
  tile->up = most;
  while (m->extent[tile->p] % tile->up) tile->up--;
}

Opts opts_of_tile(Model *m, const Nest *n, Tile best) {
  IR *ir = m->ir;
  const Target *t = m->t;
  const uint32_t brief = tile_brief_ranges(m);
  Opts o = { 0 };
  limit_rows(m, &best);
  int rows = 1;
  if (t->vector_bytes && best.v < m->nout && m->red && (best.v < 0 || !ix_uses(ir, m->red, m->range[best.v]))) {
    /* The lanes go along the reduction. Several rows at a time are better if their terms are cheap. Sums of one row wait for
     * each other while those of another proceed, and factors that rows share are loaded once. Otherwise a short row stays in
     * registers from its reductions to its stores */
    int64_t vectors = best.v >= 0 ? (m->extent[best.v] + best.lanes - 1) / best.lanes : 0;
    int counts = best.v >= 0 && cheap_terms(ir, t, n->store) ? rows_range(m, best.v) : -1;
    const bool sized = best.v >= 0 && range_ends_early(ir, nest_close(ir, n), m->range[best.v]);
    bool whole = counts < 0 && vectors > 1 && vectors <= ROW_VECTORS && !sized;
    rows = counts < 0 ? 1 : sized ? tunable(ir->ctx, sized_row_tile) : tunable(ir->ctx, row_tile);
    best.p = whole ? best.v : counts;
    best.up = whole ? (int)vectors : rows;
    best.q = -1;
    best.uq = 1;
    Finds finds = { .room = 1, .gain = tunable(ir->ctx, tile_gain) };
    Tile tile = best;
    for (tile.whole = 0; tile.whole <= brief; tile.whole += 1u << m->nout) {
      if (tile.whole & ~brief || !tile_unrolls(m, tile.whole, tile.v)) continue;
      tile.terms = tile_terms(m, tile.whole);
      tile_consider(m, tile, &finds);
    }
    if (finds.n) best = finds.tile[0];
  }
  for (int i = 0; i < m->nout; i++) {
    const int l = i == best.v ? best.lanes : 1;
    const int u = m->selects[i] ? (int)m->extent[i] : i == best.p ? best.up : i == best.q ? best.uq : 1;
    if (u > 1 || l > 1) o.opt[o.n++] = (Opt){ .range = m->range[i], .unroll = u, .lanes = l };
  }
  int parts = best.v >= m->nout && best.up * best.uq == 1 ? parts_of(ir, t, m->range[best.v], best.lanes, 1) : 1;
  if (best.v >= m->nout) o.opt[o.n++] =
    (Opt){ .range = m->range[best.v], .unroll = parts, .lanes = best.lanes, .partial = parts > 1 };
  else if (t->vector_bytes) reduction_lanes(ir, n, t, best.v >= 0 ? m->range[best.v] : 0, rows, &o);

  /* unrolled so that neighbours share loads, or shifts are by constants */
  for (int i = m->n - 1; i >= m->nout && o.n < MAX_RANGES; i--) {
    bool taken = false;
    for (int k = 0; k < o.n; k++) taken |= o.opt[k].range == m->range[i];
    bool word = m->extent[i] <= WORD && !taken && shifts_by(ir, red_value(node(ir, m->red)), m->range[i]);
    if (!taken && (word || best.whole >> i & 1)) o.opt[o.n++] =
      (Opt){ .range = m->range[i], .unroll = (int)m->extent[i], .lanes = 1 };
  }
  if (best.outer) o.moved[o.nmoved++] = (Move){ m->range[best.v], 0 };
  if (best.stage) o.staged = m->range[best.v];
  const int block = lane_block(m, &best);
  if (block) o.moved[o.nmoved++] = (Move){ m->range[best.v], block };
  return o;
}

/* The cheapest schedules of a nest, the best first */
typedef struct Ranking {
  int room, n;
  Opts opts[HEURISTIC_MOST];
  double cost[HEURISTIC_MOST];
} Ranking;

static void rank(Ranking *k, const Opts *o, double cost) {
  int at = k->n < k->room ? k->n++ : k->room;
  for (; at && k->cost[at - 1] > cost; at--)
    if (at < k->room) k->opts[at] = k->opts[at - 1], k->cost[at] = k->cost[at - 1];
  if (at == k->room) return;
  k->opts[at] = *o;
  k->cost[at] = cost;
}

static void rank_vectors(Model *m, const Nest *n, bool stages, Ranking *ranking) {
  Finds finds = tile_find(m, stages, ranking->room);
  if (!finds.n) finds.tile[finds.n++] = (Tile){ -1, 1, -1, -1, 1, 1, false, 0, 1, false };
  for (int i = 0; i < finds.n; i++) {
    Opts o = opts_of_tile(m, n, finds.tile[i]);
    if (!o.staged || !stage_refuses(m->ir, nest_close(m->ir, n), m->t, &o)) rank(ranking, &o, finds.cost[i]);
  }
}

/* ---- lanes of two ranges ---- */

/* Whether lanes along two ranges pay: for each value of `outer` they take all values of `inner`. Both ranges are contiguous in
 * the stored data, and vectors along the inner one alone would be short. Constants vary with the inner range; the values they
 * multiply vary with the outer one only. */
static bool pairs_lanes(const Model *m, int outer, int inner) {
  const int64_t n = m->extent[inner], lanes = m->t->vector_bytes / m->lane_bytes;
  bool shared = false, own = false;
  if (n < 2 || 2 * n > lanes || n & (n - 1) || m->extent[outer] < lanes / n || m->selects[outer] || m->selects[inner])
    return false;
  for (size_t k = 0; k < m->access.n; k++) {
    const Access *a = &m->access.p[k];
    own |= a->hot && a->weight && a->depends[inner];
    shared |= a->hot && !a->weight && a->depends[outer] && !a->depends[inner];
    const bool rows = a->affine[inner] && a->coef[inner] == 1 && a->affine[outer] && a->coef[outer] == n;
    if (a->gated || (!a->weight && a->depends[inner] && !rows)) return false;
  }
  return own && shared;
}

/* A long range of the reduction along which the data that are spread over lanes are contiguous; 0: none. *part: how many of its
 * values are a row */
static Ref spread_range(const Model *m, int outer, int inner, int64_t *part) {
  for (size_t k = 0; k < m->access.n; k++) {
    const Access *a = &m->access.p[k];
    for (int i = m->nout; i < m->n; i++) {
      if (!a->hot || a->weight || !a->depends[outer] || a->depends[inner] || !a->affine[i] || a->coef[i] != 1 ||
          range_limit(node(m->ir, m->range[i])))
        continue;
      *part = shuffle_row(a->bytes, (int)m->extent[inner], m->extent[i]);
      if (m->extent[i] > *part && m->extent[i] % *part == 0) return m->range[i];
    }
  }
  return 0;
}

/* Ranks schedules of a nest in which one range replaces the two, with rows of the spread data. The schedules are in terms of
 * the two. */
static void rank_pairs(const Model *from, const Nest *n, int outer, int inner, Ranking *ranking) {
  IR *ir = from->ir;
  Model m;
  int64_t part;
  Ref given[2] = { from->range[outer], from->range[inner] }, rows = spread_range(from, outer, inner, &part);
  Finds finds = { .room = ranking->room, .gain = tunable(ir->ctx, tile_gain) };
  const int64_t each = from->extent[inner];
  const Ref both = range_make(ir, from->extent[outer] * each, RK_LOOP);
  Ref nest = range_replace(ir, nest_close(ir, n), given[0], ix_div(ir, both, each), 1, &both), by[2] = { 0 };
  nest = range_replace(ir, nest, given[1], ix_mod(ir, both, each), 0, NULL);
  if (rows) {
    by[0] = range_make(ir, range_extent(node(ir, rows)) / part, RK_REDUCE);
    by[1] = range_make(ir, part, RK_REDUCE);
    nest = range_replace(ir, nest, rows, ix_add(ir, ix_mul(ir, by[0], part), by[1]), 2, by);
  }
  Nest merged = nest_open(ir, nest);
  model_build(&m, ir, &merged, from->t);
  uint32_t brief = tile_brief_ranges(&m);
  int v = 0;
  while (m.range[v] != both) v++;
  for (int i = m.nout; i < m.n && rows; i++)
    if (m.range[i] == by[0]) brief &= ~(1u << i); /* only one row of the spread range is unrolled */
  for (uint32_t whole = 0; whole <= brief; whole += 1u << m.nout)
    if (!(whole & ~brief)) tile_search_lanes(&m, v, whole, &finds);
  for (int i = 0; i < finds.n; i++) {
    Opts o = opts_of_tile(&m, &merged, finds.tile[i]);
    for (int k = 0; k < o.n; k++) {
      Opt *p = &o.opt[k];
      if (p->range == by[1]) p->range = rows;
      if (p->range != both) continue;
      memmove(p + 2, p + 1, (size_t)(o.n++ - k - 1) * sizeof *p);
      p[1] = (Opt){ .range = given[1], .unroll = 1, .lanes = (int)each };
      p[0].range = given[0];
      p[0].lanes /= (int)each;
    }
    for (int k = 0; k < o.nmoved; k++)
      if (o.moved[k].range == both) o.moved[k].range = given[0], o.moved[k].block /= (int)each;
    if (!opts_check(ir, nest_close(ir, n), from->t, &o)) rank(ranking, &o, finds.cost[i]);
  }
  model_free(&m);
}

/* The cheapest schedules first; *cycles: the cost of the first one. */
static int vector_opts(IR *ir, const Nest *n, const Target *t, bool stages, int room, Opts *out, double *cycles) {
  Ranking ranking; /* its arrays are set as they are used: 12 kB for each nest */
  Model m;
  ranking.room = room;
  ranking.n = 0;
  model_build(&m, ir, n, t);
  rank_vectors(&m, n, stages, &ranking);
  if (!ranking.n && stages) rank_vectors(&m, n, false, &ranking);
  for (int i = 0; i < m.nout && t->vector_bytes; i++)
    for (int k = i + 1; k < m.nout; k++)
      if (pairs_lanes(&m, i, k)) rank_pairs(&m, n, i, k, &ranking);
  *cycles = ranking.n ? ranking.cost[0] * m.steps : INFINITY;
  model_free(&m);
  memcpy(out, ranking.opts, (size_t)ranking.n * sizeof *out);
  return ranking.n;
}

/* Schedules that peel ranges, if the interior and its borders take less than *cycles, the cost of the nest with all of its
 * gates; else 0. Inner ranges are peeled first, so that borders of outer ranges still have vectors. */
static int interior_opts(IR *ir, const Nest *n, const Target *t, int room, Opts *out, double *cycles) {
  Opts cut = { 0 };
  Opts inner[HEURISTIC_MOST], one;
  Refs borders = { 0 };
  double c, total;
  const Ref nest = nest_close(ir, n);
  for (int i = n->n - 1; i >= 0 && cut.npeeled < MAX_PEELED; i--) {
    if (peel_refuses(ir, nest, n->ranges[i])) continue;
    cut.peeled[cut.npeeled++] = n->ranges[i];
    cut.opt[cut.n++] = (Opt){ .range = n->ranges[i] };
  }
  if (!cut.n) return 0;
  const Opts whole = cut;
  const Nest core = nest_open(ir, peel_apply(ir, nest, &cut, &borders));
  const int given = vector_opts(ir, &core, t, true, room, inner, &total);
  for (size_t i = 0; i < borders.n; i++) {
    const Nest border = nest_open(ir, borders.p[i]);
    vector_opts(ir, &border, t, false, 1, &one, &c);
    total += c + start_cycles(t, BY_TILE, 1);
  }
  VEC_FREE(&borders);
  if (total >= *cycles) return 0;
  *cycles = total;
  for (int k = 0; k < given; k++) {
    out[k] = inner[k];
    memcpy(out[k].peeled, whole.peeled, sizeof whole.peeled);
    out[k].npeeled = whole.npeeled;
    for (int r = 0; r < whole.n; r++) opts_replace(&out[k], cut.opt[r].range, whole.opt[r].range);
  }
  return given;
}

/* Walks wait for one load after another, so several alternate. If there are several rows, these are walks of one tree, whose
 * tables stay in the nearest cache. Otherwise they are trees that a reduction combines. false: the nest has no walks */
static bool walk_opts(IR *ir, const Nest *n, const Target *t, Opts *out) {
  Refs all = { 0 };
  Ref trees = 0, rows = 0, walk = 0;
  ir_toposort(ir, &n->store, 1, &all);
  for (size_t i = 0; i < all.n; i++) {
    const Node *x = node(ir, all.p[i]);
    if (x->op == OP_REPEAT) walk = all.p[i];
    for (int k = 1; k < x->nsrc && x->op == OP_RED && walk && !keeps_order(ir, all.p[i], t); k++)
      if (ix_uses(ir, walk, x->src[k])) trees = x->src[k];
  }
  for (int k = 0; k < n->n && walk; k++)
    if (ix_uses(ir, walk, n->ranges[k])) rows = n->ranges[k];
  VEC_FREE(&all);
  *out = (Opts){ 0 };
  if (!walk) return false;
  const int along_rows = tunable(ir->ctx, walk_rows), along_trees = tunable(ir->ctx, walk_trees);
  const Ref range = rows && (!trees || range_extent(node(ir, rows)) >= along_trees) ? rows : trees;
  const int64_t extent = range ? range_extent(node(ir, range)) : 1, most = range == trees ? along_trees : along_rows;
  const int copies = (int)(extent < most ? extent : most);
  if (copies > 1) out->opt[out->n++] = (Opt){ .range = range, .unroll = copies, .lanes = 1, .partial = range == trees };
  return walk;
}

/* The machine as tiles of an instruction see it: those of an instruction with one sum have no lanes. */
static const Target *seen_by(const IR *ir, const Target *t, const IsaOp *u) {
  if (u->lanes > 1 || !t->vector_bytes) return t;
  Target *scalar = arena_dup(&ir->ctx->model, t, sizeof *t);
  scalar->vector_bytes = 0;
  return scalar;
}

/* If an instruction for groups fits, the tile is one of groups. */
int heuristic_best(IR *ir, const Nest *n, const Target *t, int room, Opts *out) {
  if (walk_opts(ir, n, t, out)) return 1;
  Ref nest = nest_close(ir, n), range, rest;
  const IsaOp *u = isa_op_choose(ir, nest, t, &range);
  if (tile_opts(ir, nest, t, u, out)) return 1;
  double cycles;
  if (!u) {
    const int whole = vector_opts(ir, n, t, true, room, out, &cycles), core = interior_opts(ir, n, t, room, out, &cycles);
    return core ? core : whole;
  }
  Nest grouped = nest_open(ir, isa_op_group(ir, nest, u, range, &rest));
  const int given = vector_opts(ir, &grouped, seen_by(ir, t, u), false, room, out, &cycles);
  for (int k = 0; k < given; k++) {
    opts_replace(&out[k], rest, range);
    out[k].grouped = range;
    out[k].isa_op = u;
  }
  return given;
}

Opts heuristic_opts(IR *ir, const Nest *n, const Target *t) {
  Opts o;
  heuristic_best(ir, n, t, 1, &o);
  return o;
}

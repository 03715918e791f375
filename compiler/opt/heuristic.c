/* SPDX-License-Identifier: MIT */
/* heuristic.c: chooses the schedule of a nest by the model of cost/tile.c. A tile has vector lanes along one range and copies
 * of up to two ranges. Short ranges of the reduction may be unrolled in it. Every combination that fits the register file is
 * priced, and the cheapest one wins.
 *
 * needs: a canonical nest   gives: schedules that opts_check accepts */
#include "tile_model.h"
#include <math.h>
#include <string.h>

enum { WORD = 32 }; /* longest range, in values, that may select bits within a word */

/* The cheapest tiles found. Tiles that differ only in the copies of one range are alike, and the cheapest of them is kept. */
typedef struct Finds {
  int room, n;
  double gain; /* a new tile replaces one only if it takes less than this share of its cycles */
  Tile tile[HEURISTIC_MOST];
  double cost[HEURISTIC_MOST];
} Finds;

static bool alike(const Tile *a, const Tile *b) {
  return a->v == b->v && a->lanes == b->lanes && a->p == b->p && a->q == b->q && a->uq == b->uq && a->whole == b->whole &&
         a->stage == b->stage;
}

static void keep_find(Finds *f, Tile t, double cost) {
  int at = f->room == 1 && f->n ? 0 : f->n, worst = 0;
  for (int i = 0; i < f->n; i++) {
    if (alike(&f->tile[i], &t)) at = i;
    if (f->cost[i] > f->cost[worst]) worst = i;
  }
  if (at == f->room) at = worst;
  if (at < f->n && cost >= f->cost[at] * f->gain) return;
  f->n += at == f->n;
  f->cost[at] = cost;
  f->tile[at] = t;
}

static int most_copied(const Model *m, const Tile *t) {
  const Tunables *u = tunables_of(m->ir->ctx);
  if (!m->t->vector_bytes) return u->scalar_instructions;
  return !t->whole ? u->tile_instructions : model_spreads(m, t->v) ? u->spread_instructions : u->body_instructions;
}

static void consider(const Model *m, Tile t, Finds *finds) {
  if (!t.stage && tile_copies(m, &t)) {
    Tile s = t;
    s.stage = s.outer = true;
    consider(m, s, finds);
  }
  if (m->t->vector_regs && cost_registers(m, &t) > model_registers(m)) return;
  if (cuts_rows(m, &t)) return;
  if (m->ops * t.up * t.uq * t.terms > most_copied(m, &t)) return;
  keep_find(finds, t, tile_cycles(m, t) * (t.stage ? tunable(m->ir->ctx, stage_gain) : 1));
}

static int terms_of(const Model *m, uint32_t whole) {
  int terms = 1;
  for (int i = m->nout; i < m->n; i++)
    if (whole >> i & 1) terms *= (int)m->extent[i];
  return terms;
}

/* Whether copies n values apart along range i pay in a nest without a reduction. They do where lanes along v access values one
 * by one: copies turn these into rows. */
static bool makes_rows(const Model *m, int v, int i, int64_t n) {
  bool any = false;
  for (size_t k = 0; k < m->access.n; k++) any |= !m->access.p[k].weight && lies_beside(&m->access.p[k], v, i, n);
  return any;
}

static void search_tiles(Model *m, int v, int lanes, uint32_t whole, Finds *finds) {
  const bool outer = walks_outermost(m, v);
  const int terms = terms_of(m, whole), most = tunable(m->ir->ctx, unroll_most);
  model_lanes(m, v, lanes);
  consider(m, (Tile){ v, lanes, -1, -1, 1, 1, outer, whole, terms, false }, finds);
  for (int p = m->nout - 1; p >= 0; p--) { /* inner ranges first, so that of equal tiles the one with smaller strides wins */
    int max_p = p == v ? (int)(m->extent[p] / lanes) : (int)(m->extent[p] < most ? m->extent[p] : most);
    if (max_p > most) max_p = most;
    if (m->red ? !m->varies[p] : !makes_rows(m, v, p, 1)) max_p = 1; /* copies share no operand and hide no latency */
    for (int up = 2; up <= max_p; up++) {
      consider(m, (Tile){ v, lanes, p, -1, up, 1, outer, whole, terms, false }, finds);
      for (int q = p - 1; q >= 0; q--) {
        if (m->red ? !m->varies[q] : !makes_rows(m, v, q, up)) continue;
        int max_q = q == v ? (int)(m->extent[q] / lanes) : (int)(m->extent[q] < most ? m->extent[q] : most);
        if (max_q > most) max_q = most;
        for (int uq = 2; uq <= max_q; uq++) consider(m, (Tile){ v, lanes, p, q, up, uq, outer, whole, terms, false }, finds);
      }
    }
  }
}

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

/* Whether ranges of the reduction may be unrolled whole: they are short and innermost, or copies share the vectors that are
 * read along them. */
static bool may_unroll(const Model *m, uint32_t whole, int v) {
  bool inner = true; /* all ranges inside of i are unrolled */
  for (int i = m->n - 1; i >= m->nout; i--) {
    bool shared = inner;
    for (size_t k = 0; k < m->access.n; k++) {
      const Access *a = &m->access.p[k];
      shared |= !m->ordered && a->hot && a->depends[i] && a->along[i] >= 0 && (v < 0 || a->depends[v]);
    }
    if (whole >> i & 1 && !shared) return false;
    inner &= whole >> i & 1;
  }
  return true;
}

static uint32_t brief_ranges(const Model *m) { /* bits: short ranges of the reduction */
  uint32_t brief = 0;
  for (int i = m->nout; i < m->n; i++)
    brief |= (uint32_t)(m->extent[i] <= tunable(m->ir->ctx, whole_terms) && !range_limit(node(m->ir, m->range[i]))) << i;
  return brief;
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

static Opts opts_of(Model *m, const Nest *n, Tile best) {
  IR *ir = m->ir;
  const Target *t = m->t;
  const uint32_t brief = brief_ranges(m);
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
      if (tile.whole & ~brief || !may_unroll(m, tile.whole, tile.v)) continue;
      tile.terms = terms_of(m, tile.whole);
      consider(m, tile, &finds);
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

static void search_lanes(Model *m, int v, uint32_t whole, Finds *finds) {
  for (int lanes = m->t->vector_bytes / m->lane_bytes; lanes >= 2; lanes /= 2) {
    if (lanes * 4 < target_least_vector(m->t) || (m->lane_bytes == 2 && !target_sums_halves(m->t, lanes))) return;
    if (m->extent[v] < lanes || m->selects[v] || whole >> v & 1 || !may_unroll(m, whole, v)) continue;
    search_tiles(m, v, lanes, whole, finds);
    return;
  }
}

static Finds find_tiles(Model *m, bool stages, int room) {
  const int nv = m->ordered ? m->nout : m->n; /* ranges that may be lanes */
  const uint32_t brief = brief_ranges(m);
  Finds finds = { .room = room, .gain = tunable(m->ir->ctx, tile_gain) };
  m->stages = stages;
  for (uint32_t whole = 0; whole <= brief; whole += 1u << m->nout) {
    if (whole & ~brief) continue;
    if (may_unroll(m, whole, -1)) search_tiles(m, -1, 1, whole, &finds);
    for (int v = 0; v < nv && m->t->vector_bytes; v++) search_lanes(m, v, whole, &finds);
  }
  return finds;
}

static void rank_vectors(Model *m, const Nest *n, bool stages, Ranking *ranking) {
  Finds finds = find_tiles(m, stages, ranking->room);
  if (!finds.n) finds.tile[finds.n++] = (Tile){ -1, 1, -1, -1, 1, 1, false, 0, 1, false };
  for (int i = 0; i < finds.n; i++) {
    Opts o = opts_of(m, n, finds.tile[i]);
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
  uint32_t brief = brief_ranges(&m);
  int v = 0;
  while (m.range[v] != both) v++;
  for (int i = m.nout; i < m.n && rows; i++)
    if (m.range[i] == by[0]) brief &= ~(1u << i); /* only one row of the spread range is unrolled */
  for (uint32_t whole = 0; whole <= brief; whole += 1u << m.nout)
    if (!(whole & ~brief)) search_lanes(&m, v, whole, &finds);
  for (int i = 0; i < finds.n; i++) {
    Opts o = opts_of(&m, &merged, finds.tile[i]);
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

/* The longest range that a tile of the schedule is along, and that ends at a size of the run; 0: there is none. values: how many
 * of its values a run needs */
static Ref tiled_range(IR *ir, Ref nest, const Opts *o, tgcrt_size *values) {
  const Needed *needed = nest_needed(ir, nest);
  uint32_t seen = 0;
  Ref longest = 0;
  for (int i = 0; i < needed->n; i++) {
    tgcrt_size any;
    const int symbol = ir->extents.p[needed->is[i].of].symbol;
    const Ref r = seen >> symbol & 1 ? 0 : sized_range(ir, nest, i, &any);
    seen |= 1u << symbol;
    if (!r || !opt_along(o, r) || (longest && range_extent(node(ir, r)) <= range_extent(node(ir, longest)))) continue;
    longest = r;
    *values = sized_front(ir, nest, r, any);
  }
  return longest;
}

/* The nest with one value along each range but r that ends at a size of the run, as the least sizes leave it */
static Ref along_one(IR *ir, Ref nest, Ref r) {
  tgcrt_size values;
  Ref part;
  for (int i = 0; i < nest_needed(ir, nest)->n; i++) {
    const Ref other = sized_range(ir, nest, i, &values);
    if (other && other != r && range_extent(node(ir, other)) > 1) nest = range_part(ir, nest, other, 0, 1, &part);
  }
  return nest;
}

/* ---- a tile for several sizes ---- */
enum { SIZES_TRIED = 5 };

/* The cheapest tile of a run, and how to price tiles there */
typedef struct SizeTried {
  int64_t values;          /* number of values that the run needs */
  Ref part;
  Nest nest;
  Model m;
  Tile best;
} SizeTried;

static bool try_size(IR *ir, Ref nest, const Target *t, Ref r, int64_t values, SizeTried *x) {
  *x = (SizeTried){ .values = values };
  x->nest = nest_open(ir, range_part(ir, nest, r, 0, values, &x->part));
  model_build(&x->m, ir, &x->nest, t);
  const Finds finds = find_tiles(&x->m, false, 1);
  x->best = finds.n ? finds.tile[0] : (Tile){ 0 };
  return finds.n > 0;
}

/* Cycles of the run with the tile */
static double cycles_at(SizeTried *x, const Tile *tile) {
  if (tile->v >= 0) model_lanes(&x->m, tile->v, tile->lanes);
  return tile_cycles(&x->m, *tile);
}

/* The tile of those that are cheapest at single sizes which loses least beside these, in the mean of all sizes tried */
static int least_loss(SizeTried *at, int n) {
  int best = 0;
  double least = INFINITY;
  for (int i = 0; i < n; i++) {
    double loss = 0;
    for (int k = 0; k < n; k++) loss += cycles_at(&at[k], &at[i].best) / cycles_at(&at[k], &at[k].best);
    if (loss < least) least = loss, best = i;
  }
  return best;
}

/* The schedule of a range without few values in any run: all sizes count alike, or the typical one alone. most: that of HIGH */
static Opts tile_for_sizes(IR *ir, Ref nest, const Target *t, Ref r, const tgcrt_size *values, const Opts *most) {
  const Extent *e = &ir->extents.p[values->of];
  const Symbol *s = &ir->symbols.p[e->symbol];
  const int64_t count = symbol_sizes(s);
  const int n = s->typical ? 1 : count < SIZES_TRIED ? (int)count : SIZES_TRIED;
  SizeTried at[SIZES_TRIED];
  Opts o = *most;
  int tried = 0;
  bool all = true;
  for (int i = 0; i < n && all; i++) {
    const int64_t row = s->typical ? (s->typical - s->low) / s->step : n > 1 ? i * (count - 1) / (n - 1) : 0;
    const int64_t now = e->at[row] * values->times;
    if (now < 2) continue;
    all = try_size(ir, nest, t, r, now, &at[tried++]);
  }
  if (all && tried) {
    const SizeTried *best = &at[least_loss(at, tried)];
    o = opts_of((Model *)&best->m, &best->nest, best->best);
    const Opt *rows = opt_along(&o, best->part);
    const bool fits = !rows || rows->lanes == 1;
    opts_replace(&o, best->part, r);
    if (!fits || opts_check(ir, nest, t, &o)) o = *most;
  }
  for (int i = 0; i < tried; i++) model_free(&at[i].m);
  return o;
}

/* The nest only moves elements that lie side by side along `row`, and apart along r. */
static bool transposes(IR *ir, Ref nest, Ref row, Ref r) {
  const Node *x = node(ir, store_value(node(ir, nest_body(node(ir, nest)))));
  int64_t step = 0, across = 1;
  Ref rest;
  if (x->op != OP_LOAD || load_gate(x) || !opens_range(ir, nest, row)) return false;
  const Ref at = load_index(x);
  return ix_split(ir, at, row, &step, &rest) && step == 1 && ix_split(ir, at, r, &across, &rest) && across > 1;
}

/* Shuffles transpose blocks. Larger blocks take less time for each element, but have more code, and at a small size most of their
 * elements are not needed. most: the schedule for HIGH, whose lanes go along r. false: the nest is no such copy */
static bool small_blocks(IR *ir, Ref nest, const Target *t, Ref r, const Opts *most, Opts *blocks) {
  Opts o = *most;
  bool any = false;
  for (int i = 0; i < o.n; i++) {
    if (o.opt[i].range == r || o.opt[i].lanes > 1 || !transposes(ir, nest, o.opt[i].range, r)) continue;
    Opt *lanes = &o.opt[opt_along(&o, r) - o.opt];
    const int64_t extent = range_extent(node(ir, o.opt[i].range));
    while (lanes->lanes > tunable(ir->ctx, sized_narrow) && lanes->lanes % 2 == 0) lanes->lanes /= 2;
    const int row = shuffle_row(dt_bytes((DType)node(ir, nest_body(node(ir, nest)))->dt), lanes->lanes, extent);
    if (row > 1 && o.opt[i].unroll > row) o.opt[i].unroll = row;
    any = true;
  }
  *blocks = o;
  return any && !opts_check(ir, nest, t, &o);
}

/* For a range of sizes, one schedule serves all of them, and its tiles' other side is the width of the packed weights. The
 * cheapest tile for the greatest size may have few rows. Then a run with a few more rows reads all weights twice. So the
 * schedule is that of a nest with as many rows as a square tile has. The rows of the typical size count if they are more. If
 * the greatest size has lanes along the range, a smaller one may fill none. Then lanes go along another range, if there is one.
 * With two ranges of sizes, all rows of a product's tile are along one of them: the other may have the size 1. */
static Opts sized_default(IR *ir, Ref nest, const Target *t, Opts most) {
  tgcrt_size values;
  const Ref r = tiled_range(ir, nest, &most, &values);
  if (!r) return most;
  const Extent *e = &ir->extents.p[values.of];
  const Symbol *s = &ir->symbols.p[e->symbol];
  const Opt *rows = opt_along(&most, r);
  Opts o;
  if (rows->lanes > 1 && small_blocks(ir, nest, t, r, &most, &o)) return o;
  const bool lanes = rows->lanes > 1 && values.times < (int64_t)rows->lanes * rows->unroll;
  const int64_t square = t->vector_regs >= 32 ? tunable(ir->ctx, sized_rows_many) : tunable(ir->ctx, sized_rows);
  const int64_t usual = s->typical ? e->at[(s->typical - s->low) / s->step] * values.times : 0;
  const int64_t few = lanes ? 2 : usual > square ? usual : square;
  if ((rows->lanes > 1 && !lanes) || rows->rows || most.isa_op) return most;
  if (e->at[0] * values.times >= few || range_extent(node(ir, r)) < 2 * few)
    return lanes ? most : tile_for_sizes(ir, nest, t, r, &values, &most);
  Ref part;
  const Ref alone = shares_weights(ir, nest, r) ? along_one(ir, nest, r) : nest;
  const Nest n = nest_open(ir, range_part(ir, alone, r, 0, few, &part));
  o = heuristic_opts(ir, &n, t);
  rows = opt_along(&o, part);
  if (rows ? rows->lanes > 1 : !lanes) return most;
  opts_replace(&o, part, r);
  return opts_check(ir, nest, t, &o) ? most : o;
}

/* The range along which a tile of `tile` rows has its other rows, and how many. Its extent is constant, and the weights do not
 * vary with it. An example is the height of a picture whose width is a size. .range 0: there is none */
static Opt rows_apart(IR *ir, Ref nest, const Opts *o, Ref r, int tile) {
  const Nest n = nest_open(ir, nest);
  Opt best = { .unroll = 1, .lanes = 1 };
  for (int k = 0; k < n.n; k++) {
    const Ref other = n.ranges[k];
    const int64_t extent = range_extent(node(ir, other));
    if (other == r || opt_along(o, other) || range_ends_early(ir, nest, other) || reduction_repeats(ir, nest, other) ||
        !shares_weights(ir, nest, other))
      continue;
    for (int rows = best.unroll + 1; rows <= tile && rows <= extent; rows++)
      if (extent % rows == 0 && 5 * (tile / rows * rows) >= 4 * tile) best.range = other, best.unroll = rows;
  }
  return best;
}

/* How many of `rows` rows a tile along r has: if possible, tiles of the typical size are whole. */
static int typical_rows(IR *ir, Ref nest, Ref r, int rows) {
  tgcrt_size values;
  for (int i = 0; i < nest_needed(ir, nest)->n; i++) {
    if (sized_range(ir, nest, i, &values) != r) continue;
    values = sized_front(ir, nest, r, values);
    const Extent *e = &ir->extents.p[values.of];
    const Symbol *s = &ir->symbols.p[e->symbol];
    const int64_t typical = s->typical ? e->at[(s->typical - s->low) / s->step] * values.times : 0;
    for (int n = rows; typical && 2 * n > rows; n--)
      if (typical % n == 0) return n;
  }
  return rows;
}

/* A tile with rows along two ranges that end at sizes would leave rests of both. It gets all of them along the longer one. */
static void rows_along_one(IR *ir, Ref nest, Opts *o) {
  int first = -1;
  for (int i = 0; i < o->n; i++) {
    const Opt *p = &o->opt[i];
    if (p->lanes > 1 || p->rows || p->unroll < 2 || !opens_range(ir, nest, p->range)) continue;
    if (!range_ends_early(ir, nest, p->range)) continue;
    if (first < 0) {
      first = i;
      continue;
    }
    const bool later = range_extent(node(ir, p->range)) > range_extent(node(ir, o->opt[first].range));
    Opt *keep = &o->opt[later ? i : first];
    keep->unroll *= o->opt[later ? first : i].unroll;
    const int64_t extent = range_extent(node(ir, keep->range));
    if (keep->unroll > extent) keep->unroll = (int)extent;
    keep->unroll = typical_rows(ir, nest, keep->range, keep->unroll);
    opts_drop(o, later ? first : i);
    first = later ? i - 1 : first;
    i--;
  }
}

/* A size of the run may leave few rows of a tile. So the tile has most of its rows along another range, if it can. Then it is
 * full at small sizes, and fewer heights of it are left. */
static Opts spread_rows(IR *ir, Ref nest, const Target *t, Opts o) {
  tgcrt_size values;
  if (!ir->symbols.n) return o;
  if (!o.isa_op && !o.grouped && !o.staged) rows_along_one(ir, nest, &o);
  const Ref r = tiled_range(ir, nest, &o, &values);
  const Opt *tile = r ? opt_along(&o, r) : NULL;
  Opts spread = o;
  const bool other = o.isa_op || o.grouped || o.staged;
  if (!tile || tile->lanes > 1 || tile->rows || tile->unroll < 4 || other || o.n == MAX_RANGES) return o;
  const Opt apart = rows_apart(ir, nest, &o, r, tile->unroll);
  if (!apart.range) return o;
  spread.opt[spread.n++] = apart;
  spread.opt[tile - o.opt].unroll = tile->unroll / apart.unroll;
  if (tile->unroll / apart.unroll == 1) spread.opt[tile - o.opt] = spread.opt[--spread.n];
  return opts_check(ir, nest, t, &spread) ? o : spread;
}

/* A product of two computed values may have rows and lanes along ranges that end at sizes, such as the scores of attention. Each
 * height of its tiles then has code for several widths. Such values are mostly in the nearest cache, so a tile has no more rows
 * than keep the multipliers busy. */
static Opts fewer_rows(IR *ir, Ref nest, const Target *t, Opts o) {
  const Opts most = o;
  Opt *rows = NULL;
  int vectors = 1;
  bool wide = false;
  if (!ir->symbols.n || o.isa_op || o.grouped || o.staged || !reductions_below(ir, nest)) return o;
  for (int k = 0; k < o.n; k++) {
    Opt *p = &o.opt[k];
    if (!opens_range(ir, nest, p->range)) continue;
    const bool ends = range_ends_early(ir, nest, p->range);
    if (ends && p->lanes == 1 && !p->rows && !rows) rows = p;
    else vectors *= p->unroll;
    wide |= ends && p->lanes > 1;
  }
  if (!rows || !wide || shares_weights(ir, nest, rows->range)) return o;
  while (rows->unroll % 2 == 0 && rows->unroll / 2 * vectors >= sums_in_flight(t)) rows->unroll /= 2;
  return opts_check(ir, nest, t, &o) ? most : o;
}

Opts default_opts(IR *ir, Ref nest, const Target *t) {
  const Nest n = nest_open(ir, nest);
  if (target_has_threads(t)) return device_opts(ir, nest, t);
  return fewer_rows(ir, nest, t, spread_rows(ir, nest, t, sized_default(ir, nest, t, heuristic_opts(ir, &n, t))));
}

int default_best(IR *ir, Ref nest, const Target *t, int room, Opts *out) {
  const Nest n = nest_open(ir, nest);
  return target_has_threads(t) ? device_best(ir, nest, t, room, out) : heuristic_best(ir, &n, t, room, out);
}

/* ---- schedules of remnants ---- */
/* The schedule as its text reads back: rests in the order of its ranges. */
static Opts in_order(IR *ir, Ref nest, const Opts *o) {
  Sb text = { 0 };
  opts_print(ir, nest, o, &text);
  const Opts again = opts_read(ir, nest, text.p);
  sb_free(&text);
  return again;
}

/* Sums are not in parts (sized.c). */
static void add_in_order(Opts *o) {
  int n = 0;
  for (int i = 0; i < o->n; i++)
    if (!o->opt[i].partial) o->opt[n++] = o->opt[i];
  o->n = n;
}

static void complete(IR *ir, Ref nest, const Target *t, int depth, Opts *o) {
  Remnants parts = { 0 };
  CHECK(depth < 16);
  if (target_has_threads(t) && !o->split) return; /* devices have gates in place of borders and rests */
  if (!target_has_threads(t)) sized_opts(ir, nest, o);
  *o = in_order(ir, nest, o);
  opts_parts(ir, nest, t, o, &parts);
  const bool given = o->nparts == (int)parts.n;
  o->nparts = o->nborders = 0;
  for (size_t i = 0; i < parts.n; i++) {
    const Remnant *p = &parts.p[i];
    Opts part = given ? opts_read(ir, p->nest, o->part[i]) : p->own ? default_opts(ir, p->nest, t) : p->opts;
    Sb text = { 0 };
    if (!given && t->in_order) add_in_order(&part);
    complete(ir, p->nest, t, depth + 1, &part);
    opts_print(ir, p->nest, &part, &text);
    CHECK(o->nparts < MAX_PARTS);
    o->part[o->nparts++] = sb_keep(&text, &ir->ctx->model);
    o->nborders += p->border;
  }
  VEC_FREE(&parts);
}

void opts_complete(IR *ir, Ref nest, const Target *t, Opts *o) { complete(ir, nest, t, 0, o); }

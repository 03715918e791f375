/* heuristic.c: the schedule of a nest by the model of cost.c: tiles are priced for every range that could run in vector
 * lanes, every register tile of up to two ranges and every choice of short reduction ranges to unroll with it. The
 * cheapest tile that fits the register file wins. */
#include "cost.h"
#include <string.h>

enum { MAX_UNROLL = 16, MAX_COPIES = 400 };
enum { IN_FLIGHT = LATENCY * PORTS, ROWS = 4, CHEAP = 8 }; /* accumulators that hide the latency; rows at a time, the cost of terms that permits it */
enum { MAX_TERMS = 7, MAX_BODY = 130 };        /* of a range unrolled whole; instructions of what is unrolled with it */
#define SURE 1.4             /* times better must copies of panels be, as the model does not see all that they cost */

static void consider(const Model *m, Tile t, Tile *best, double *cost) {
  if (!t.stage && tile_copies(m, &t)) {
    Tile s = t;
    s.stage = s.outer = true;
    consider(m, s, best, cost);
  }
  if (m->t->vector_regs && cost_registers(m, &t) > m->t->vector_regs) return;
  if (m->ops * t.up * t.uq * t.terms > (t.whole ? MAX_BODY : MAX_COPIES)) return;
  double c = tile_cycles(m, t) * (t.stage ? SURE : 1);
  if (c < *cost * 0.995) {
    *cost = c;
    *best = t;
  }
}

static int terms_of(const Model *m, uint32_t whole) {
  int terms = 1;
  for (int i = m->nout; i < m->n; i++)
    if (whole >> i & 1) terms *= (int)m->extent[i];
  return terms;
}

static void search_tiles(Model *m, int v, int lanes, uint32_t whole, Tile *best, double *cost) {
  const bool outer = walks_outermost(m, v);
  const int terms = terms_of(m, whole);
  model_lanes(m, v, lanes);
  consider(m, (Tile){ v, lanes, -1, -1, 1, 1, outer, whole, terms, false }, best, cost);
  for (int p = m->nout - 1; p >= 0; p--) { /* inner ranges first: of equal tiles, the one with the smaller strides */
    int max_p = p == v ? (int)(m->extent[p] / lanes) : (int)(m->extent[p] < MAX_UNROLL ? m->extent[p] : MAX_UNROLL);
    if (max_p > MAX_UNROLL) max_p = MAX_UNROLL;
    if (!m->reduces || !m->varies[p]) max_p = 1; /* nothing to share, nothing to wait for */
    for (int up = 2; up <= max_p; up++) {
      consider(m, (Tile){ v, lanes, p, -1, up, 1, outer, whole, terms, false }, best, cost);
      for (int q = p - 1; q >= 0 && m->reduces; q--) {
        if (!m->varies[q]) continue;
        int max_q = q == v ? (int)(m->extent[q] / lanes) : (int)(m->extent[q] < MAX_UNROLL ? m->extent[q] : MAX_UNROLL);
        if (max_q > MAX_UNROLL) max_q = MAX_UNROLL;
        for (int uq = 2; uq <= max_q; uq++) consider(m, (Tile){ v, lanes, p, q, up, uq, outer, whole, terms, false }, best, cost);
      }
    }
  }
}

/* Accumulators of a reduction along r, when so many rows are reduced at a time: some in flight hide the latency of each,
 * and a short row that is alone is held whole. */
static int parts_of(const IR *ir, Ref r, int lanes, int rows) {
  const int64_t vectors = node(ir, r)->arg[0] / lanes;
  const int most = IN_FLIGHT / rows;
  if (vectors <= (rows > 1 ? most : ROW_VECTORS)) return vectors > 1 ? (int)vectors : 1;
  for (int parts = most; parts > most / 4; parts--)
    if (vectors % parts == 0) return parts;
  return most / 2;
}

/* The terms of all reductions are found again for next to nothing, so that a row need not stay in registers. */
static bool cheap_terms(const IR *ir, Ref store) {
  Refs all = { 0 }, body = { 0 };
  int cost = 0;
  ir_toposort(ir, &store, 1, &all);
  for (size_t i = 0; i < all.n; i++)
    if (node(ir, all.p[i])->op == OP_RED) ir_toposort(ir, &node(ir, all.p[i])->src[0], 1, &body);
  for (size_t i = 0; i < body.n; i++)
    if (node(ir, body.p[i])->dt != DT_I64) cost += instruction_cost(node(ir, body.p[i]));
  VEC_FREE(&all);
  VEC_FREE(&body);
  return cost <= CHEAP;
}

/* The range of the nest that counts the rows a reduction is made of, if there are many; else -1. */
static int rows_range(const Model *m, Ref red, int v) {
  for (int i = m->nout - 1; i >= 0; i--)
    if (i != v && !m->selects[i] && ix_uses(m->ir, red, m->range[i])) return m->extent[i] >= 2 * ROWS ? i : -1;
  return -1;
}

/* Lanes for a reduction that the chosen vector range does not reach: along its most contiguous range. */
static void reduction_lanes(IR *ir, const Nest *n, const Target *t, Ref vec, int rows, Opts *o) {
  Refs all = { 0 };
  ir_toposort(ir, &n->store, 1, &all);
  for (size_t i = 0; i < all.n && o->n < MAX_RANGES; i++) {
    const Node *x = node(ir, all.p[i]);
    if (x->op != OP_RED || keeps_order(ir, all.p[i], t) || (vec && ix_uses(ir, x->src[0], vec))) continue;
    Model m;
    Refs body = { 0 };
    memset(&m, 0, sizeof m);
    m.ir = ir;
    m.t = t;
    int widest = 4;
    bool nested = false;
    for (int k = 1; k < x->nsrc; k++) {
      m.range[m.n++] = x->src[k];
      nested |= node(ir, x->src[k])->arg[2] == RK_DOT; /* taken */
    }
    ir_toposort(ir, &x->src[0], 1, &body);
    for (size_t j = 0; j < body.n; j++) {
      const Node *y = node(ir, body.p[j]);
      if (y->op == OP_LOAD) model_access(&m, body.p[j], y->src[1], y->src[0], true, 1, 1);
      for (int k = 1; k < x->nsrc && y->op == OP_RED; k++) nested |= ix_uses(ir, body.p[j], x->src[k]);
      if (y->dt != DT_I64 && dt_bytes((DType)y->dt) > widest) widest = dt_bytes((DType)y->dt);
    }
    int lanes = t->vector_bytes / widest, best = -1;
    double cost = 1e30, scalar = 0;
    for (size_t a = 0; a < m.access.n; a++) scalar += 1;
    for (int k = 0; k < m.n && lanes > 1 && !nested; k++) {
      double c = 0;
      if (node(ir, m.range[k])->arg[0] < lanes) continue;
      for (size_t a = 0; a < m.access.n; a++) c += access_cost(&m.access.p[a], k, lanes);
      if (c < cost) cost = c, best = k;
    }
    if (best >= 0 && cost < scalar * lanes && m.access.n) {
      o->opt[o->n++] = (Opt){ m.range[best], parts_of(ir, m.range[best], lanes, rows), lanes, true, false };
    }
    model_free(&m);
    VEC_FREE(&body);
  }
  VEC_FREE(&all);
}

/* A range that tells which bits of a word are meant: unrolled, it leaves shifts by constants. */
static bool shifts_by(const IR *ir, Ref value, Ref range) {
  Refs all = { 0 };
  bool yes = false;
  ir_toposort(ir, &value, 1, &all);
  for (size_t i = 0; i < all.n && !yes; i++) {
    const Node *x = node(ir, all.p[i]);
    yes = (x->op == OP_SHL || x->op == OP_SHR) && ix_uses(ir, x->src[1], range);
  }
  VEC_FREE(&all);
  return yes;
}

/* Ranges of the reduction may be unrolled whole if they are short and innermost, or copies share the vectors read along them. */
static bool may_unroll(const Model *m, uint32_t whole, int v) {
  bool inner = true; /* all inside of i are */
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

static Opts vector_opts(IR *ir, const Nest *n, const Target *t, bool stages) {
  Opts o = { 0 };
  Model m;
  Ref red;
  model_build(&m, ir, n, t, &red);
  m.stages = stages;
  Tile best = { -1, 1, -1, -1, 1, 1, false, 0, 1, false };
  double cost = 1e300;
  m.ordered = red && keeps_order(ir, red, t);
  const int nv = m.ordered ? m.nout : m.n; /* ranges that may be lanes */
  uint32_t brief = 0; /* bits: short ranges of the reduction */
  for (int i = m.nout; i < m.n; i++) brief |= (uint32_t)(m.extent[i] <= MAX_TERMS) << i;
  for (uint32_t whole = 0; whole <= brief; whole += 1u << m.nout) {
    if (whole & ~brief) continue;
    if (may_unroll(&m, whole, -1)) search_tiles(&m, -1, 1, whole, &best, &cost);
    for (int v = 0; v < nv && t->vector_bytes; v++)
      for (int lanes = t->vector_bytes / (m.widest < 4 ? 4 : m.widest); lanes >= 2; lanes /= 2) {
        if (m.extent[v] < lanes || m.selects[v] || whole >> v & 1 || !may_unroll(&m, whole, v)) continue;
        search_tiles(&m, v, lanes, whole, &best, &cost);
        break;
      }
  }
  int rows = 1;
  if (best.v < m.nout && red && (best.v < 0 || !ix_uses(ir, red, m.range[best.v]))) {
    /* reduction_lanes finds the parallelism, in several rows at a time where that is not dear: while the sums of one wait
     * for each other another's go on, and what all rows are multiplied by is read once. Else a short row stays in
     * registers from its reductions to its stores */
    int64_t vectors = best.v >= 0 ? (m.extent[best.v] + best.lanes - 1) / best.lanes : 0;
    int counts = best.v >= 0 && cheap_terms(ir, n->store) ? rows_range(&m, red, best.v) : -1;
    bool whole = counts < 0 && vectors > 1 && vectors <= ROW_VECTORS;
    rows = counts >= 0 ? ROWS : 1;
    best.p = whole ? best.v : counts;
    best.up = whole ? (int)vectors : rows;
    best.q = -1;
    best.uq = 1;
    cost = 1e300;
    Tile tile = best;
    for (tile.whole = 0; tile.whole <= brief; tile.whole += 1u << m.nout)
      if (!(tile.whole & ~brief) && may_unroll(&m, tile.whole, tile.v)) tile.terms = terms_of(&m, tile.whole), consider(&m, tile, &best, &cost);
  }
  for (int i = 0; i < m.nout; i++) {
    int u = m.selects[i] ? (int)m.extent[i] : i == best.p ? best.up : i == best.q ? best.uq : 1, l = i == best.v ? best.lanes : 1;
    if (u > 1 || l > 1) o.opt[o.n++] = (Opt){ m.range[i], u, l, false, false };
  }
  int parts = best.v >= m.nout && best.up * best.uq == 1 ? parts_of(ir, m.range[best.v], best.lanes, 1) : 1;
  if (best.v >= m.nout) o.opt[o.n++] = (Opt){ m.range[best.v], parts, best.lanes, parts > 1, false };
  else if (t->vector_bytes) reduction_lanes(ir, n, t, best.v >= 0 ? m.range[best.v] : 0, rows, &o);

  /* so that neighbours share what they load, or shifts are by constants */
  for (int i = m.n - 1; i >= m.nout && o.n < MAX_RANGES; i--) {
    bool taken = false;
    for (int k = 0; k < o.n; k++) taken |= o.opt[k].range == m.range[i];
    bool word = m.extent[i] <= 32 && !taken && shifts_by(ir, node(ir, red)->src[0], m.range[i]);
    if (!taken && (word || best.whole >> i & 1)) o.opt[o.n++] = (Opt){ m.range[i], (int)m.extent[i], 1, false, false };
  }
  if (best.outer) o.outermost = m.range[best.v];
  if (best.stage) o.staged = m.range[best.v];
  model_free(&m);
  return o.staged && stage_refuses(ir, nest_close(ir, n), t, &o) ? vector_opts(ir, n, t, false) : o;
}

/* A unit first: the tile is then one of groups. */
Opts heuristic_opts(IR *ir, const Nest *n, const Target *t) {
  Ref nest = nest_close(ir, n), range, rest;
  const Unit *u = unit_choose(ir, nest, t, &range);
  Opts o;
  if (tile_opts(ir, nest, t, u, &o)) return o;
  if (!u) return vector_opts(ir, n, t, true);
  Nest grouped = nest_open(ir, unit_group(ir, nest, u, range, &rest));
  o = vector_opts(ir, &grouped, t, false);
  for (int i = 0; i < o.n; i++)
    if (o.opt[i].range == rest) o.opt[i].range = range;
  o.grouped = range;
  o.unit = u;
  return o;
}

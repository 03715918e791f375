/* SPDX-License-Identifier: MIT */
/* tile_search.c: the cheapest register tiles of a nest, by the model of cost/tile.c. A tile has vector lanes along one range and
 * copies of up to two ranges. Short ranges of the reduction may be unrolled in it. Every combination that fits the register file
 * is priced.
 *
 * needs: the Model of a canonical nest   gives: its cheapest tiles   keeps: the nest */
#include "tile_search.h"

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

void tile_consider(const Model *m, Tile t, Finds *finds) {
  if (!t.stage && tile_copies(m, &t)) {
    Tile s = t;
    s.stage = s.outer = true;
    tile_consider(m, s, finds);
  }
  if (m->t->vector_regs && cost_registers(m, &t) > model_registers(m)) return;
  if (cuts_rows(m, &t)) return;
  if (m->ops * t.up * t.uq * t.terms > most_copied(m, &t)) return;
  keep_find(finds, t, tile_cycles(m, t) * (t.stage ? tunable(m->ir->ctx, stage_gain) : 1));
}

int tile_terms(const Model *m, uint32_t whole) {
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
  const int terms = tile_terms(m, whole), most = tunable(m->ir->ctx, unroll_most);
  model_lanes(m, v, lanes);
  tile_consider(m, (Tile){ v, lanes, -1, -1, 1, 1, outer, whole, terms, false }, finds);
  for (int p = m->nout - 1; p >= 0; p--) { /* inner ranges first, so that of equal tiles the one with smaller strides wins */
    int max_p = p == v ? (int)(m->extent[p] / lanes) : (int)(m->extent[p] < most ? m->extent[p] : most);
    if (max_p > most) max_p = most;
    if (m->red ? !m->varies[p] : !makes_rows(m, v, p, 1)) max_p = 1; /* copies share no operand and hide no latency */
    for (int up = 2; up <= max_p; up++) {
      tile_consider(m, (Tile){ v, lanes, p, -1, up, 1, outer, whole, terms, false }, finds);
      for (int q = p - 1; q >= 0; q--) {
        if (m->red ? !m->varies[q] : !makes_rows(m, v, q, up)) continue;
        int max_q = q == v ? (int)(m->extent[q] / lanes) : (int)(m->extent[q] < most ? m->extent[q] : most);
        if (max_q > most) max_q = most;
        for (int uq = 2; uq <= max_q; uq++) tile_consider(m, (Tile){ v, lanes, p, q, up, uq, outer, whole, terms, false }, finds);
      }
    }
  }
}

bool tile_unrolls(const Model *m, uint32_t whole, int v) {
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

uint32_t tile_brief_ranges(const Model *m) {
  uint32_t brief = 0;
  for (int i = m->nout; i < m->n; i++)
    brief |= (uint32_t)(m->extent[i] <= tunable(m->ir->ctx, whole_terms) && !range_limit(node(m->ir, m->range[i]))) << i;
  return brief;
}

void tile_search_lanes(Model *m, int v, uint32_t whole, Finds *finds) {
  for (int lanes = m->t->vector_bytes / m->lane_bytes; lanes >= 2; lanes /= 2) {
    if (lanes * 4 < target_least_vector(m->t) || (m->lane_bytes == 2 && !target_sums_halves(m->t, lanes))) return;
    if (m->extent[v] < lanes || m->selects[v] || whole >> v & 1 || !tile_unrolls(m, whole, v)) continue;
    search_tiles(m, v, lanes, whole, finds);
    return;
  }
}

Finds tile_find(Model *m, bool stages, int room) {
  const int nv = m->ordered ? m->nout : m->n; /* ranges that may be lanes */
  const uint32_t brief = tile_brief_ranges(m);
  Finds finds = { .room = room, .gain = tunable(m->ir->ctx, tile_gain) };
  m->stages = stages;
  for (uint32_t whole = 0; whole <= brief; whole += 1u << m->nout) {
    if (whole & ~brief) continue;
    if (tile_unrolls(m, whole, -1)) search_tiles(m, -1, 1, whole, &finds);
    for (int v = 0; v < nv && m->t->vector_bytes; v++) tile_search_lanes(m, v, whole, &finds);
  }
  return finds;
}

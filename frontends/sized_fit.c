/* SPDX-License-Identifier: MIT */
/* sized_fit.c: the extents of values, if the graphs for a few sizes are known.
 *
 * A number that differs from graph to graph, such as an extent, a begin or a number of iterations, has a sample in each. The
 * samples are compared with the extents that are known: first multiples of one, then sums with a constant, then quotients. So a
 * formula is a guess. sized_proof.c tries it for all sizes.
 *
 * needs: Sizing.peer    gives: Sizing.open, IR.opened and IR.loop_extent    keeps: the graph */
#include "sized_parts.h"
#include <string.h>

/* ---- samples ---- */
uint32_t samples_vary(const Sizing *z, const Samples *s) {
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

int64_t greatest_extent(const IR *ir, int extent) {
  RunSizes run = { 0 };
  greatest_sizes(&ir->symbols, run);
  return extent_in_run(ir, extent, run);
}

int64_t extent_at_probe(const Sizing *z, int extent, int p) {
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

bool fit_samples(const Sizing *z, const Samples *s, int *extent, int64_t *times, int64_t *plus) {
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

int extent_of_samples(const Sizing *z, const Samples *s) {
  int extent;
  int64_t times, plus;
  if (!samples_vary(z, s) || !fit_samples(z, s, &extent, &times, &plus)) return -1;
  return extent_make(z->ir, (Extent){ .of = extent, .times = times, .plus = plus, .over = 1, .most = s->most });
}

Samples samples_of_axis(const Sizing *z, Ref r, int axis) {
  Samples s = { .most = node(z->ir, r)->dims[axis] };
  for (int p = 0; p < z->n; p++) {
    if (!z->peer[r][p]) continue;
    s.at[p] = z->peer[r][p]->dims[axis];
    s.known |= 1u << p;
  }
  return s;
}

int extent_along(const Sizing *z, Ref r, int axis) {
  const Node *x = node(z->ir, r);
  const Samples s = samples_of_axis(z, r, axis);
  const int extent = need_along(z->ir, x, &z->open[r], axis);
  return extent >= 0 && samples_are(z, &s, extent, 1, 0) ? extent : extent_of_samples(z, &s);
}

/* ---- extents that no rule of graph/needs.c gives ---- */
/* The extent that the number of iterations is in a run; -1: it is constant, or not known */
static int extent_of_trips(const Sizing *z, Ref r) {
  Samples s = { .most = iterate_trips(node(z->ir, r)) };
  for (int p = 0; p < z->n; p++) {
    if (!z->peer[r][p]) continue;
    s.at[p] = iterate_trips(z->peer[r][p]);
    s.known |= 1u << p;
  }
  return extent_of_samples(z, &s);
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

/* Extents behind a loop follow from its iterations. */
void find_extents(Sizing *z) {
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


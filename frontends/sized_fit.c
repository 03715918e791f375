/* SPDX-License-Identifier: MIT */
/* sized_fit.c: the extents of values, if the graphs for a few sizes are known.
 *
 * A number that differs from graph to graph, such as an extent, a begin or a number of iterations, has a sample in each. The
 * samples are compared with the extents that are known: first multiples of one, then sums with a constant, and sums of two. Then
 * come multiples of rounded ones, quotients, and extents with a least and a greatest value. So a formula is a guess.
 * sized_proof.c tries it for all sizes.
 *
 * needs: Sizing.peer    gives: Sizing.open, IR.opened and IR.loop_extent    keeps: the graph */
#include "sized_parts.h"
#include <stdlib.h>
#include <string.h>

/* ---- samples ---- */
uint32_t samples_vary(const Sizing *z, const Samples *s) {
  uint32_t symbols = 0;
  for (int p = 0; p < z->n; p++)
    if ((s->known >> p & 1) && s->at[p] != s->most) symbols |= 1u << z->probe[p].symbol;
  return symbols;
}

/* An extent whose symbol, sum or product has the value `size`, which may be above the range */
static int64_t extent_beyond(const IR *ir, int extent, int64_t size) {
  int chain[64], n = 0;
  for (; extent >= ir->symbols.n && !ir->extents.p[extent].by && n < 64; extent = ir->extents.p[extent].of) chain[n++] = extent;
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
  const IR *ir = z->ir;
  greatest_sizes(&ir->symbols, run);
  int root = extent; /* a symbol, a sum or a product */
  while (root >= ir->symbols.n && !ir->extents.p[root].by) root = ir->extents.p[root].of;
  if (at->size > run[at->symbol] && root >= ir->symbols.n) { /* parts are of earlier symbols, so there are few calls */
    const Extent *e = &ir->extents.p[root];
    const int64_t one = extent_at_probe(z, e->of, p), two = extent_at_probe(z, extent_other(e), p);
    return extent_beyond(ir, extent, e->by > 0 ? one * two : one + two);
  }
  if (at->size > run[at->symbol] && root == at->symbol) return extent_beyond(ir, extent, at->size);
  run[at->symbol] = at->size;
  return extent_in_run(ir, extent, run);
}

/* Whether the samples are times * extent + plus */
static bool samples_are(const Sizing *z, const Samples *s, int extent, int64_t times, int64_t plus) {
  bool all = s->most == times * greatest_extent(z->ir, extent) + plus;
  for (int p = 0; p < z->n && all; p++)
    all = !(s->known >> p & 1) || s->at[p] == times * extent_at_probe(z, extent, p) + plus;
  return all;
}

/* Divisors, and numbers of which extents are rounded up to multiples. Numbers above NEAR are lengths of blocks. Few probes tell
 * their quotients apart. So a quotient by such a number is only rounded down, or only rounded up, but for a constant. */
static const int64_t divisors[] = { 2, 3, 4, 5, 6, 7, 8, 16, 32, 64 };
enum { DIVISORS = sizeof divisors / sizeof *divisors, NEAR = 8 };
/* Divisors of quotients, the likelier ones first, since few probes fit many of them. 10, 20 and 100 are those of decimal
 * fractions, such as the 3 / 10 of ceil(0.3 * n). */
static const int64_t parts[] = { 2, 3, 4, 5, 6, 10, 7, 8, 16, 32, 64, 20, 100 };
enum { PARTS = sizeof parts / sizeof *parts };

static bool samples_are_quotient(const Sizing *z, const Samples *s, const Extent *f) {
  const int64_t most = greatest_extent(z->ir, f->of);
  bool all = true;
  for (int p = 0; p < z->n && all; p++) {
    const int64_t of = extent_at_probe(z, f->of, p), sum = of * f->times + f->plus, over = f->over;
    all = !(s->known >> p & 1) || (sum >= 0 && s->at[p] == (sum / over > s->most && of <= most ? s->most : sum / over));
  }
  return all;
}

/* Finds a quotient of an extent that gives the samples: (extent * times + plus) / over. Powers of two above NEAR are lengths of
 * blocks, so there times is 1. */
static int quotient_of(const Sizing *z, const Samples *s, int extent, int64_t over) {
  const int64_t most = extent_is_product(&z->ir->extents.p[extent]) ? 0 : greatest_extent(z->ir, extent);
  int64_t least = most, low = s->most;
  for (int p = 0; p < z->n && most; p++) {
    const int64_t at = extent_at_probe(z, extent, p);
    if ((s->known >> p & 1) && at < least) least = at, low = s->at[p];
  }
  if (least == most || extent_is_constant(z->ir, extent)) return -1;
  const bool block = over > NEAR && !(over & (over - 1));
  const int64_t times = block ? 1 : ((s->most - low) * over + (most - least) / 2) / (most - least);
  if (i64_gcd(times, over) != 1) return -1; /* a smaller divisor does the same */
  for (int64_t i = 0; i < over && times > 0; i++) {
    const int64_t plus = s->most * over - times * most + i, rest = ((plus % over) + over) % over;
    const Extent f = { .of = extent, .times = times, .plus = plus, .over = over, .most = s->most };
    if ((over <= NEAR || !rest || rest == over - 1) && samples_are_quotient(z, s, &f)) return extent_make(z->ir, f);
  }
  return -1;
}

static int fit_quotient(const Sizing *z, const Samples *s) {
  const size_t n = z->ir->extents.n;
  int found = -1;
  for (int d = 0; d < PARTS && found < 0; d++)
    for (size_t e = 0; e < n && found < 0; e++) found = quotient_of(z, s, (int)e, parts[d]);
  return found;
}

/* Whether the samples are the sum of two extents and a constant */
static bool samples_are_sum(const Sizing *z, const Samples *s, int a, int b, int64_t plus) {
  bool all = true;
  for (int p = 0; p < z->n && all; p++)
    all = !(s->known >> p & 1) || s->at[p] == extent_at_probe(z, a, p) + extent_at_probe(z, b, p) + plus;
  return all;
}

static bool follows_from(const IR *ir, int extent, int symbol) {
  const Extent *e = &ir->extents.p[extent];
  return !extent_is_product(e) && e->symbol == symbol && !extent_is_constant(ir, extent);
}

/* Finds two extents, of two symbols, whose sum the samples are, but for a constant. */
static bool fit_sum(const Sizing *z, const Samples *s, int *extent, int64_t *times, int64_t *plus) {
  const uint32_t symbols = samples_vary(z, s);
  IR *ir = z->ir;
  const size_t n = ir->extents.n;
  int one = 0, two;
  while (one < ir->symbols.n && !(symbols >> one & 1)) one++;
  two = one + 1;
  while (two < ir->symbols.n && !(symbols >> two & 1)) two++;
  if (two >= ir->symbols.n || symbols >> (two + 1)) return false;
  for (size_t a = 0; a < n; a++)
    for (size_t b = 0; b < n && follows_from(ir, (int)a, one); b++) {
      if (!follows_from(ir, (int)b, two)) continue;
      const int64_t rest = s->most - greatest_extent(ir, (int)a) - greatest_extent(ir, (int)b);
      if (!samples_are_sum(z, s, (int)a, (int)b, rest)) continue;
      *extent = extent_sum(ir, (int)a, (int)b);
      *times = 1;
      *plus = rest;
      return *extent >= 0;
    }
  return false;
}

/* Finds a number to add to extent `of`. The sum, rounded up to a multiple of m, differs from the samples by a constant. */
static bool rounded_to(const Sizing *z, const Samples *s, int of, int64_t m, int *extent, int64_t *times, int64_t *plus) {
  IR *ir = z->ir;
  if (extent_is_product(&ir->extents.p[of]) || extent_is_constant(ir, of)) return false;
  for (int64_t i = 0; i < (m > NEAR ? 2 : m); i++) {
    const int64_t more = m > NEAR ? m - i : i + m - 1, most = (greatest_extent(ir, of) + more) / m;
    bool all = true;
    for (int p = 0; p < z->n && all; p++)
      all = !(s->known >> p & 1) || s->most - s->at[p] == (most - (extent_at_probe(z, of, p) + more) / m) * m;
    if (!all) continue;
    *extent = extent_make(ir, (Extent){ .of = of, .times = 1, .plus = more, .over = m, .most = most });
    *times = m;
    *plus = s->most - most * m;
    return true;
  }
  return false;
}

static bool fit_rounded(const Sizing *z, const Samples *s, int *extent, int64_t *times, int64_t *plus) {
  const size_t n = z->ir->extents.n;
  for (int d = 0; d < DIVISORS; d++)
    for (size_t e = 0; e < n; e++)
      if (rounded_to(z, s, (int)e, divisors[d], extent, times, plus)) return true;
  return false;
}

static int64_t kept_between(int64_t v, int64_t low, int64_t high) { return v < low ? low : v > high ? high : v; }

/* Whether the samples are an extent and a constant, but at least `low`, and at most the one for the greatest sizes */
static bool samples_are_kept(const Sizing *z, const Samples *s, int extent, int64_t plus, int64_t low) {
  bool all = kept_between(greatest_extent(z->ir, extent) + plus, low, s->most) == s->most;
  for (int p = 0; p < z->n && all; p++)
    all = !(s->known >> p & 1) || s->at[p] == kept_between(extent_at_probe(z, extent, p) + plus, low, s->most);
  return all;
}

/* Finds such an extent. Examples are the last 16 entries, or all if there are fewer, and a padding to 8 entries at least. */
static bool fit_clamped(const Sizing *z, const Samples *s, int *extent, int64_t *times, int64_t *plus) {
  const int n = (int)z->ir->extents.n, each = z->n + 1;
  int64_t least = s->most;
  for (int p = 0; p < z->n; p++)
    if ((s->known >> p & 1) && s->at[p] < least) least = s->at[p];
  for (int i = 0; i < 2 * n * each; i++) { /* first without a least value */
    const int e = i / each % n, at = i % each - 1; /* -1: the greatest sizes */
    const int64_t low = i < n * each ? 0 : least;
    if (extent_is_product(&z->ir->extents.p[e]) || extent_is_constant(z->ir, e) || (at >= 0 && !(s->known >> at & 1))) continue;
    const int64_t more = at < 0 ? s->most - greatest_extent(z->ir, e) : s->at[at] - extent_at_probe(z, e, at);
    if (!samples_are_kept(z, s, e, more, low)) continue;
    *extent = extent_make(z->ir, (Extent){ .of = e, .times = 1, .plus = more - low, .over = 1, .most = s->most - low });
    *times = 1;
    *plus = low;
    return true;
  }
  return false;
}

bool fit_samples(const Sizing *z, const Samples *s, int *extent, int64_t *times, int64_t *plus) {
  for (int shifted = 0; shifted < 2; shifted++)
    for (size_t e = 0; e < z->ir->extents.n; e++) {
      if (extent_is_product(&z->ir->extents.p[e])) continue;
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
  if (fit_sum(z, s, extent, times, plus) || fit_rounded(z, s, extent, times, plus)) return true;
  *times = 1;
  *plus = 0;
  *extent = fit_quotient(z, s);
  return *extent >= 0 || fit_clamped(z, s, extent, times, plus);
}

static int row_of_samples(const Sizing *z, const Samples *s, int64_t most) {
  int extent;
  int64_t times, plus;
  if (!samples_vary(z, s) || !fit_samples(z, s, &extent, &times, &plus)) return -1;
  return extent_make(z->ir, (Extent){ .of = extent, .times = times, .plus = plus, .over = 1, .most = most });
}

int extent_of_samples(const Sizing *z, const Samples *s) { return row_of_samples(z, s, s->most); }
int place_of_samples(const Sizing *z, const Samples *s) { return row_of_samples(z, s, INT64_MAX); }

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

/* The extent to which this one adds a constant in all runs. Adds the constant to *plus. */
static int without_constant(const IR *ir, int extent, int64_t *plus) {
  for (;;) {
    const Extent *e = &ir->extents.p[extent];
    const bool adds = extent >= (int)ir->symbols.n && !e->by && e->times == 1 && e->over == 1 && e->plus;
    if (!adds || extent_least(ir, e->of) + e->plus < 0 || extent_most(ir, e->of) + e->plus > e->most) return extent;
    *plus += e->plus;
    extent = e->of;
  }
}

/* A sum of extents of other symbols is one row, whatever constants they add. So extents that such sums follow can be compared. */
static int sum_of_symbols(IR *ir, int a, int b) {
  int64_t plus = 0;
  a = without_constant(ir, a, &plus);
  b = without_constant(ir, b, &plus);
  const int sum = extent_sum(ir, a, b);
  if (sum < 0 || !plus) return sum;
  return extent_make(ir, (Extent){ .of = sum, .times = 1, .plus = plus, .over = 1, .most = extent_most(ir, sum) + plus });
}

int sum_of_extents(const Sizing *z, int a, int b) {
  IR *ir = z->ir;
  if (ir->extents.p[a].symbol != ir->extents.p[b].symbol) return sum_of_symbols(ir, a, b);
  Samples s = { .most = greatest_extent(ir, a) + greatest_extent(ir, b) };
  for (int p = 0; p < z->n; p++) s.at[p] = extent_at_probe(z, a, p) + extent_at_probe(z, b, p), s.known |= 1u << p;
  const int plain = extent_of_samples(z, &s);
  return plain >= 0 || extent_is_product(&ir->extents.p[a]) || extent_is_product(&ir->extents.p[b]) ? plain
                                                                                                    : extent_sum(ir, a, b);
}

/* The extent of a concatenation as the sum of those of its parts; -1: it is not known */
static int extent_of_parts(const Sizing *z, Ref r) {
  const Node *x = node(z->ir, r);
  const int axis = (int)cat_axis(x);
  const Samples s = samples_of_axis(z, r, axis);
  int64_t constant = 0;
  int sum = -1;
  for (int k = 0; k < x->nsrc; k++) {
    const int of = extent_along(z, x->src[k], axis);
    if (of < 0) constant += node(z->ir, x->src[k])->dims[axis];
    else if (sum < 0) sum = of;
    else if ((sum = sum_of_extents(z, sum, of)) < 0) return -1;
  }
  if (sum >= 0 && constant)
    sum = extent_make(z->ir, (Extent){ .of = sum, .times = 1, .plus = constant, .over = 1, .most = s.most });
  return sum >= 0 && samples_are(z, &s, sum, 1, 0) ? sum : -1;
}

Samples samples_of_pad(const Sizing *z, Ref r, int axis, bool front) {
  const Node *x = node(z->ir, r);
  Samples s = { .most = front ? pad_lo(x, axis) : pad_hi(x, axis) };
  for (int p = 0; p < z->n; p++) {
    if (!z->peer[r][p]) continue;
    s.at[p] = front ? pad_lo(z->peer[r][p], axis) : pad_hi(z->peer[r][p], axis);
    s.known |= 1u << p;
  }
  return s;
}

bool pad_varies(const Sizing *z, Ref r, int axis) {
  const Samples front = samples_of_pad(z, r, axis, true), back = samples_of_pad(z, r, axis, false);
  return samples_vary(z, &front) || samples_vary(z, &back);
}

bool is_opened(const IR *ir, Ref r, int axis) {
  bool found = false;
  for (size_t i = 0; i < ir->opened.n && !found; i++) found = ir->opened.p[i].value == r && ir->opened.p[i].axis == axis;
  return found;
}

bool open_axis(IR *ir, Ref r, int axis, int extent) {
  const bool more = extent >= 0 && !is_opened(ir, r, axis);
  if (more) VEC_PUSH(&ir->opened, ((OpenAxis){ r, axis, extent }));
  return more;
}

/* The extent of a padding that fills up its source to a multiple. Few probes have many formulas, and this one is likely. -1: the
 * extent is another one */
static int extent_filled_up(const Sizing *z, Ref r, int axis, const Samples *s) {
  const int of = extent_along(z, pad_data(node(z->ir, r)), axis);
  int extent;
  int64_t times, plus;
  for (int d = 0; d < DIVISORS && of >= 0; d++)
    if (rounded_to(z, s, of, divisors[d], &extent, &times, &plus))
      return extent_make(z->ir, (Extent){ .of = extent, .times = times, .plus = plus, .over = 1, .most = s->most });
  return -1;
}

/* Finds the extents of paddings whose width depends on a size. Returns whether there is one more. */
static bool find_padded(const Sizing *z, Ref r) {
  IR *ir = z->ir;
  bool more = false;
  for (int a = 0; a < node(ir, r)->rank; a++) {
    const Samples s = samples_of_axis(z, r, a);
    if (!pad_varies(z, r, a)) continue;
    const int filled = samples_vary(z, &s) ? extent_filled_up(z, r, a, &s) : -1;
    more |= open_axis(ir, r, a, filled < 0 ? extent_of_samples(z, &s) : filled);
  }
  return more;
}

/* Finds extents of a slice which the rule of graph/needs.c does not give, because its end follows from a size otherwise. Returns
 * whether there is one more. */
static bool find_cut(const Sizing *z, Ref r) {
  IR *ir = z->ir;
  const Node *x = node(ir, r);
  bool more = false;
  for (int a = 0; a < x->rank; a++) {
    const Samples s = samples_of_axis(z, r, a);
    const int by_rule = need_along(ir, x, &z->open[r], a);
    if (by_rule >= 0 && samples_are(z, &s, by_rule, 1, 0)) continue;
    more |= open_axis(ir, r, a, extent_of_samples(z, &s));
  }
  return more;
}

/* Finds extents that only constant sources have, as where rows are added to zeros, or a row is repeated. Returns whether there is
 * one more. */
static bool find_filled(const Sizing *z, Ref r) {
  bool more = false;
  for (int a = 0; a < node(z->ir, r)->rank && node(z->ir, r)->varies; a++) {
    const Samples s = samples_of_axis(z, r, a);
    if (samples_vary(z, &s) && need_along(z->ir, node(z->ir, r), &z->open[r], a) < 0)
      more |= open_axis(z->ir, r, a, extent_of_samples(z, &s));
  }
  return more;
}

/* Finds extents of a node that do not follow from those of its sources: of gathers, concatenations, paddings and slices. Returns
 * whether there is one more. */
static bool find_opened_of(const Sizing *z, Ref r) {
  IR *ir = z->ir;
  const Node *x = node(ir, r);
  bool more = false;
  if (x->op == OP_PAD) more |= find_padded(z, r);
  if (x->op == OP_SHRINK) more |= find_cut(z, r);
  if (x->op == OP_RESHAPE && z->dense) more |= find_joined(z, r);
  if (x->op == OP_SCATTER || x->op == OP_EXPAND) more |= find_filled(z, r);
  const int axis = x->op == OP_GATHER ? (int)gather_axis(x) : x->op == OP_CAT ? (int)cat_axis(x) : -1;
  if (axis < 0 || need_along(ir, x, &z->open[r], axis) >= 0) return more;
  int extent = x->op == OP_CAT ? extent_of_parts(z, r) : -1;
  if (extent < 0) extent = extent_along(z, r, axis);
  return open_axis(ir, r, axis, extent) || more;
}

/* The same for all nodes. Sizing.open does not know yet what follows from an axis that this call has opened. There a formula
 * would be a guess from few samples, so these nodes wait for the next call. */
static bool find_opened(const Sizing *z, const Refs *order) {
  bool more = false, *waits = xcalloc(z->ir->n, sizeof *waits);
  for (size_t i = 0; i < order->n; i++) {
    const Ref r = order->p[i];
    const Node *x = node(z->ir, r);
    for (int k = 0; k < x->nsrc; k++) waits[r] |= waits[x->src[k]];
    if (waits[r]) continue;
    waits[r] = find_opened_of(z, r);
    more |= waits[r];
  }
  free(waits);
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


/* SPDX-License-Identifier: MIT */
/* opts.c: applies a schedule to a nest. Unroll U and lanes L turn a range r of extent E into r0 * (U * L) + u * L + lane.
 * U * L need not divide E. The rest of a nest's range becomes a nest with its own schedule. The rest of a reduction becomes a
 * second reduction, or one more vector, of which some lanes count. Two steps come before the tiles. Groups of a range's values go
 * to a dot-product instruction. Loops are put in order: a range in blocks of B values becomes b * B + r, and tiles divide r. The
 * schedule is complete here: it has a schedule for each rest and each border (opts_complete in complete.c), so no heuristic
 * runs.
 *
 * reorder: needs: opts that opts_check accepts, groups made        gives: loops in the order of the opts, NestState.kept
 * rests:   needs: loops in order                                   gives: rests of tiles as Kernel.states; they have passed
 *                                                                         the steps up to here
 * tile:    needs: extents that tiles divide, except in reductions  gives: ranges of all kinds, NestState.panel
 * keeps: the value of every element, up to the order in which floats are summed   breaks: opts, which are applied by then */
#include "dot_ops.h"
#include <string.h>

enum { PARTS = 3 };        /* a range is split into tiles, copies and lanes */

/* Splits range r of extent n * tile below root; by: the new ranges. */
static Ref split(IR *ir, Ref root, const Opt *o, Ref by[PARTS]) {
  const Node *r = node(ir, o->range);
  int64_t tile = (int64_t)o->unroll * o->lanes;
  by[0] = range_make(ir, range_extent(r) / tile, range_kind(r));
  by[1] = range_make(ir, o->unroll, o->partial ? RK_PARTIAL : RK_UNROLL);
  by[2] = range_make(ir, o->lanes, o->rows ? RK_ROW : RK_VEC);
  Ref expr = ix_add(ir, ix_add(ir, ix_mul(ir, by[0], tile), ix_mul(ir, by[1], o->lanes)), by[2]);
  return range_replace(ir, root, o->range, expr, PARTS, by);
}

/* The last tile is moved back to end with the range, or the last vector if there is one tile only. Some elements are computed
 * twice, to the same value. This serves reductions that do not vary along r, such as a row's maximum: a nest for the rest would
 * compute them again. It also serves rows of a matrix unit, and tiles over panels, which a nest for the rest would copy again.
 * The nest must not compute in place; nests with reductions never do. */
static Ref split_overlapping(IR *ir, Ref root, const Opt *o) {
  const Node *r = node(ir, o->range);
  int64_t tile = (int64_t)o->unroll * o->lanes, extent = range_extent(r);
  bool only = tile > extent;
  Ref by[3] = { range_make(ir, (extent + tile - 1) / tile, range_kind(r)), range_make(ir, o->unroll, RK_UNROLL),
                range_make(ir, o->lanes, o->rows ? RK_ROW : RK_VEC) };
  Ref copy = ix_mul(ir, by[1], o->lanes), at = only ? copy : ix_mul(ir, by[0], tile);
  at = node_make(ir, OP_MIN, DT_I64, 1, 2, (Ref[]){ at, ix_const(ir, extent - (only ? o->lanes : tile)) }, 0, NULL, 0, NULL);
  return range_replace(ir, root, o->range, ix_add(ir, only ? at : ix_add(ir, at, copy), by[2]), 3, by);
}

/* Splits every reduction over r below root into one over the first `whole` values and one over the rest. */
static Ref split_reduction(IR *ir, Ref root, Ref r, int64_t whole, Ref *first, Ref *rest) {
  *rest = range_make(ir, range_extent(node(ir, r)) - whole, RK_REDUCE);
  *first = range_make(ir, whole, RK_REDUCE);
  const TermsPart piece[2] = { { .at = *first, .by = { *first }, .n = 1 },
                               { .at = ix_add(ir, *rest, ix_const(ir, whole)), .by = { *rest }, .n = 1 } };
  return reduce_pieces(ir, root, r, piece, 2, 0);
}

/* ---- the order of loops ---- */
static int block_of(const Opts *o, Ref r) { /* values of r in a block; 0: it has none */
  for (int i = 0; i < o->nmoved; i++)
    if (o->moved[i].range == r && o->moved[i].block) return o->moved[i].block;
  return 0;
}

/* Behind the last block, range r is the range `rest`, or a single value (rest == 0). */
static void move_rest(Opts *o, Ref r, Ref rest) {
  int n = 0;
  for (int i = 0; i < o->nmoved; i++) {
    Move w = o->moved[i];
    if (w.range == r && (!rest || w.block)) continue;
    if (w.range == r) w.range = rest;
    o->moved[n++] = w;
  }
  o->nmoved = n;
}

static bool moves(const Opts *o, Ref r) {
  for (int i = 0; i < o->nmoved; i++)
    if (o->moved[i].range == r) return true;
  return false;
}

/* Moves the ranges `first` to the front of list[0..n), in their order; the others keep theirs. */
static void put_first(const Refs *first, Ref *list, int n) {
  int at = 0;
  for (size_t i = 0; i < first->n; i++)
    for (int k = at; k < n; k++) {
      if (list[k] != first->p[i]) continue;
      memmove(list + at + 1, list + at, (size_t)(k - at) * sizeof *list);
      list[at++] = first->p[i];
    }
}

static Ref order_sum(IR *ir, Ref r, void *first) {
  const Node *x = node(ir, r);
  Ref src[MAX_RANGES + 1];
  memcpy(src, x->src, x->nsrc * sizeof *src);
  put_first(first, src + 1, x->nsrc - 1);
  const Ref next = node_with_src(ir, r, src);
  return next == r ? 0 : next;
}

/* Puts the ranges `first` outside the others of their nest or reduction. The outermost `kept` ranges of the nest stay. */
static Ref order_loops(IR *ir, Ref nest, const Refs *first, int kept) {
  static const Rule sums[] = { { OP_RED, "order", order_sum }, { OP_NONE, NULL, NULL } };
  if (!first->n) return nest;
  ir_rewrite(ir, sums, (void *)(uintptr_t)first, &nest, 1, NULL);
  Nest n = nest_open(ir, nest);
  put_first(first, n.ranges + kept, n.n - kept);
  return nest_close(ir, &n);
}

/* The outer ranges that count matrix products stay outermost, unless the schedule moves one of them. */
static int kept_outside(IR *ir, Ref nest, const Opts *o) {
  const Nest n = nest_open(ir, nest);
  const int batch = nest_batch(ir, &n);
  int kept = 0;
  while (kept < batch && !moves(o, n.ranges[kept])) kept++;
  return kept;
}

/* Puts loops in order. blocks: also splits ranges into blocks, which divide them by then. */
static Ref order(IR *ir, Ref nest, Opts *o, int kept, bool blocks) {
  Refs first = { 0 };
  for (int i = 0; i < o->nmoved; i++) {
    const Move w = o->moved[i];
    if (!w.block) VEC_PUSH(&first, w.range);
    if (!w.block || !blocks || range_extent(node(ir, w.range)) <= w.block) continue;
    Ref by[2] = { range_make(ir, range_extent(node(ir, w.range)) / w.block, range_kind(node(ir, w.range))), 0 };
    by[1] = range_make(ir, w.block, range_kind(node(ir, w.range)));
    nest = range_replace(ir, nest, w.range, ix_add(ir, ix_mul(ir, by[0], w.block), by[1]), 2, by);
    opts_replace(o, w.range, by[1]);
    for (size_t k = 0; k < first.n; k++)
      if (first.p[k] == w.range) first.p[k] = by[1];
    VEC_PUSH(&first, by[0]);
  }
  nest = order_loops(ir, nest, &first, kept);
  VEC_FREE(&first);
  return nest;
}

/* ---- tiles ---- */

/* Splits a reduction into tiles, the vectors behind them, and one more vector, which ends with the range. The lanes of the last
 * one count only where no other vector has their terms. So the terms are in the same vectors as in a nest whose last tile
 * overlaps. */
static Ref split_with_last_vector(IR *ir, Ref root, const Opt *o) {
  const int64_t extent = range_extent(node(ir, o->range)), tile = (int64_t)o->unroll * o->lanes, whole = extent / tile * tile;
  const int64_t vectors = (extent - whole) / o->lanes, again = o->lanes - extent % o->lanes; /* again: lanes that do not count */
  const Ref lane = range_make(ir, o->lanes, RK_VEC), last = ix_add(ir, lane, ix_const(ir, extent - o->lanes));
  const Ref copy = range_make(ir, o->unroll, o->partial ? RK_PARTIAL : RK_UNROLL);
  TermsPart p[3] = { { .by = { range_make(ir, extent / tile, RK_REDUCE), copy }, .n = 2 } };
  int n = 1;
  p[0].at = ix_add(ir, ix_add(ir, ix_mul(ir, p[0].by[0], tile), ix_mul(ir, copy, o->lanes)), lane);
  if (vectors) {
    p[n] = (TermsPart){ .by = { range_make(ir, vectors, RK_PARTIAL) }, .n = 1 };
    p[n].at = ix_add(ir, ix_add(ir, ix_mul(ir, p[n].by[0], o->lanes), lane), ix_const(ir, whole));
    n++;
  }
  p[n++] = (TermsPart){ .at = last, .only = less_i32(ir, ix_const(ir, again - 1), lane), .counted = true };
  return reduce_pieces(ir, root, o->range, p, n, lane);
}

/* Splits a range that a tile divides, or a reduction */
static Ref split_whole(IR *ir, Ref root, Opt o, Ref by[PARTS]) {
  const int64_t extent = range_extent(node(ir, o.range)), tile = (int64_t)o.unroll * o.lanes, whole = extent / tile * tile;
  if (range_limit(node(ir, o.range))) return sized_sum(ir, root, &o);
  if (o.lanes > 1 && extent % o.lanes) return split_with_last_vector(ir, root, &o);
  if (whole < extent) {
    Ref rest;
    const int vectors = (int)((extent - whole) / o.lanes);
    root = split_reduction(ir, root, o.range, whole, &o.range, &rest);
    if (o.lanes > 1)
      root = split_whole(ir, root, (Opt){ .range = rest, .unroll = vectors, .lanes = o.lanes, .partial = vectors > 1 }, by);
  }
  return split(ir, root, &o, by);
}

Ref device_tile(IR *ir, Ref nest, const Opts *o) {
  const bool turned = unit_turned(ir, nest, o);
  for (int i = 0; i < o->n; i++) {
    const Opt *p = &o->opt[i];
    Ref by[PARTS] = { 0 };
    const bool placed = p->threads || opens_range(ir, nest, p->range);
    nest = placed ? device_split(ir, nest, p, unit_side(o, p->range)) : split_whole(ir, nest, *p, by);
  }
  return device_order(ir, device_warp(ir, nest, o->unit, turned));
}

/* Reduces the tile for a rest of few values: to as many vectors as fit, or to one that is narrower */
static void narrow_lanes(Opt *p, int64_t rest) {
  while (p->lanes > rest) p->lanes /= 2;
  p->unroll = (int)(rest / p->lanes);
}

/* Cuts the rests of tiles and blocks from the nest. A rest along a range without lanes keeps the nest's schedule, so that it
 * reads the same packed weights. A rest under a matrix instruction keeps it too, with narrower tiles. Any other rest of lanes
 * gets a schedule of its own. Rests are cut before any range is split, because they are scheduled from whole ranges. */
static Ref cut_rests(IR *ir, Ref nest, const Target *t, Opts *o, Remnants *parts) {
  bool tiles = false;
  for (int i = 0; i < o->n; i++) tiles |= o->opt[i].rows;
  for (int i = 0; i < o->n; i++) {
    Opt *p = &o->opt[i];
    const Ref r = p->range;
    const int block = block_of(o, r);
    int64_t extent = range_extent(node(ir, r)), tile = (int64_t)p->unroll * p->lanes, step = block ? block : tile,
            whole = extent / step * step;
    const bool walks_panels = o->staged && o->staged != r && !block && extent > tile;
    const bool apart = p->rows || walks_panels || reduction_repeats(ir, nest, r);
    if (whole == extent || !opens_range(ir, nest, r) || apart || range_ends_early(ir, nest, r)) continue;
    Remnant rest = { .opts = *o };
    rest.opts.threads = 0;
    rest.nest = range_part(ir, nest, r, whole, extent, &rest.opts.opt[i].range);
    const Ref left = node(ir, rest.opts.opt[i].range)->op == OP_RANGE ? rest.opts.opt[i].range : 0;
    move_rest(&rest.opts, r, left);
    if (o->staged == r) rest.opts.staged = left;
    const bool less = extent - whole < tile; /* otherwise the rest comes from blocks and keeps the tile */
    rest.own = less && p->lanes > 1 && !tiles;
    if (!left) rest.opts.opt[i] = rest.opts.opt[--rest.opts.n];
    else if (less && p->lanes > 1) narrow_lanes(&rest.opts.opt[i], extent - whole);
    else if (less) rest.opts.opt[i].unroll = (int)(extent - whole);
    VEC_PUSH(parts, rest);
    Ref part;
    nest = range_part(ir, nest, r, 0, whole, &part);
    opts_replace(o, r, part);
  }
  return sized_cut(ir, nest, t, o, parts);
}

/* Cuts all remnants: borders of peeled ranges, then rests. Returns the main nest; o is about it afterwards. */
static Ref cut(IR *ir, Ref nest, const Target *t, Opts *o, Remnants *parts) {
  Refs borders = { 0 };
  o->nparts = o->nborders = 0;
  nest = peel_apply(ir, nest, o, &borders);
  for (size_t i = 0; i < borders.n; i++) VEC_PUSH(parts, ((Remnant){ .nest = borders.p[i], .own = true, .border = true }));
  VEC_FREE(&borders);
  nest = isa_op_apply(ir, nest, o);
  nest = order(ir, nest, o, kept_outside(ir, nest, o), false);
  return cut_rests(ir, nest, t, o, parts);
}

void opts_parts(IR *ir, Ref nest, const Target *t, const Opts *given, Remnants *parts) {
  Opts o = *given;
  Ref adds;
  if (!o.split) {
    cut(ir, nest, t, &o, parts);
    return;
  }
  split_sums(ir, nest, &o, store_buffer(node(ir, nest_body(node(ir, nest)))), &adds);
  VEC_PUSH(parts, ((Remnant){ .nest = adds, .own = true }));
}

static void reorder(Plan *p, NestState *s) {
  s->kept = kept_outside(p->ir, s->nest, s->opts);
  s->nest = order(p->ir, s->nest, s->opts, s->kept, false);
}

void step_reorder(Plan *p, Kernel *k) { each_state(p, k, reorder); }

/* Brings a rest through the steps before this one: borders are cut off, as rests of it, groups are made, and loops are
 * ordered. */
static void prepare(Plan *p, Kernel *k, size_t at) {
  const int depth = k->states.p[at].depth;
  peel_state(p, k, at);
  NestState *s = &k->states.p[at];
  s->nest = isa_op_apply(p->ir, s->nest, s->opts);
  reorder(p, s);
  for (size_t i = at + 1; i < k->states.n && k->states.p[i].depth > depth; i++)
    if (k->states.p[i].depth == depth + 1) prepare(p, k, i);
}

/* Replaces a nest with split sums by the nest that computes the parts, and adds the one that sums them as a rest. */
static void split_state(Plan *p, Kernel *k, size_t at) {
  IR *ir = p->ir;
  Opts *o = k->states.p[at].opts;
  const int64_t id = (int64_t)ir->bufs.n;
  Buf b = { .kind = BUF_ARENA, .slot = -1, .offset = -1 };
  Ref adds;
  if (o->nparts != 1) ir_wrong(ir, "split sums need one schedule for the nest that adds them, found %d", o->nparts);
  b.elems = split_elems(ir, k->states.p[at].nest, o, &b.dt);
  VEC_PUSH(&ir->bufs, b);
  const Ref buffer = node_make(ir, OP_BUFFER, b.dt, 1, 0, NULL, 1, &id, 0, NULL);
  k->states.p[at].nest = split_sums(ir, k->states.p[at].nest, o, buffer, &adds);
  o->nparts = 0;
  prepare(p, k, rest_add(p, k, at, adds, o->part[0]));
}

/* A store in lanes has no gate of its own for their range: vectors have one gate for all lanes. */
static void end_stores(IR *ir, NestState *s) {
  for (int i = 0; i < nest_needed(ir, s->nest)->n; i++) {
    tgcrt_size values;
    const Ref r = sized_range(ir, s->nest, i, &values);
    bool lanes = false;
    for (int k = 0; k < s->opts->n; k++) lanes |= s->opts->opt[k].range == r && s->opts->opt[k].lanes > 1;
    if (!lanes) s->nest = end_store(ir, s->nest, i);
  }
}

/* Cuts the rests of the nests from number `at` on. The loop also meets rests of rests. */
static void cut_states(Plan *p, Kernel *k, size_t at) {
  for (; at < k->states.n; at++) {
    Opts *o = k->states.p[at].opts;
    const int wanted = o->nparts;
    Remnants parts = { 0 };
    p->ir->origin = node(p->ir, k->states.p[at].nest)->origin;
    o->nparts = 0;
    k->states.p[at].nest = cut_rests(p->ir, k->states.p[at].nest, p->in->target, o, &parts);
    sized_check(p->ir, k->states.p[at].nest);
    if ((int)parts.n != wanted) ir_wrong(p->ir, "the schedule has %d parts, but leaves %zu nests", wanted, parts.n);
    for (int i = 0; i < wanted; i++) prepare(p, k, rest_add(p, k, at, parts.p[i].nest, o->part[i]));
    VEC_FREE(&parts);
  }
}

void step_rests(Plan *p, Kernel *k) {
  if (target_has_threads(p->in->target)) { /* gates replace rests: they keep accesses behind a range from memory */
    for (size_t at = 0; at < k->states.n; at++) end_stores(p->ir, &k->states.p[at]);
    for (size_t at = 0; at < k->states.n; at++)
      if (k->states.p[at].opts->split) split_state(p, k, at);
    return;
  }
  cut_states(p, k, 0);
}

void rest_cut(Plan *p, Kernel *k, size_t at) {
  prepare(p, k, at);
  cut_states(p, k, at);
}

static void tile(Plan *p, NestState *s) {
  IR *ir = p->ir;
  Opts *o = s->opts;
  if (target_has_threads(p->in->target)) {
    s->nest = device_tile(ir, s->nest, o);
    s->panel[0] = o->staged;
    s->panel_depth = o->depth;
    s->unit = o->unit;
    o->n = o->nmoved = o->depth = 0;
    o->staged = 0;
    o->unit = NULL;
    return;
  }
  s->nest = order(ir, s->nest, o, s->kept, true);
  if (o->staged) s->panel[0] = o->staged; /* set even if the range has no tile */
  for (int i = 0; i < o->n; i++) {
    const Opt *x = &o->opt[i];
    Ref by[PARTS] = { 0 };
    const int64_t extent = range_extent(node(ir, x->range)), tile = (int64_t)x->unroll * x->lanes, whole = extent / tile * tile;
    const bool overlap = whole < extent && opens_range(ir, s->nest, x->range);
    s->nest = overlap ? split_overlapping(ir, s->nest, x) : split_whole(ir, s->nest, *x, by);
    if (x->range == o->staged) memcpy(s->panel, by, sizeof s->panel);
  }
  o->n = o->nmoved = 0;
  o->staged = 0;
}

void step_tile(Plan *p, Kernel *k) { each_state(p, k, tile); }

/* SPDX-License-Identifier: MIT */
/* sized.c: loops of nests that end at a size of the run.
 *
 * If a run needs only the first values of a range (Buf.needed of the buffer that the nest stores to), the range gets a limit. A
 * tile of the range must not reach past it: memory of the caller may end there. So the range becomes a loop over whole tiles,
 * and nests beside it take what is left. Rows: one nest for each height of a tile that some run leaves. All of them keep the
 * nest's schedule, so they read the same packed weights, and add the terms of a sum in the same order. Lanes: whole vectors, then
 * single values. A nest without work is a loop that runs no time. linearize.c moves no load of an input out of such a loop.
 * needs: canonical nests   gives: nests whose ranges have limits, and Remnants   keeps: each element that a run needs */
#include "opts.h"

/* times, if a run of n stores needed elements for the first n * times values of range r, and no others; else 0. The range may be
 * the axis or a part of it, or also count what lies inside of the axis. */
static int64_t values_needed(IR *ir, const Needed *needed, Ref index, Ref r) {
  const Node *x = node(ir, r);
  const int64_t extent = range_extent(x);
  int64_t coef, inner = needed->inner, all = needed->extent;
  Ref rest;
  if (range_limit(x) || range_kind(x) != RK_LOOP || extent % ir->symbol.high || !ix_split(ir, index, r, &coef, &rest) || coef <= 0)
    return 0;
  if (coef < inner && inner % coef == 0) all *= inner / coef, inner = coef;
  const Ref at = ix_mod(ir, ix_div(ir, index, inner), all);
  const bool counts = ix_split(ir, at, r, &coef, &rest) && coef > 0 && node(ir, rest)->vmin >= 0 && node(ir, rest)->vmax < coef &&
                      coef * extent == all;
  return counts ? extent / ir->symbol.high : 0;
}

Ref sized_range(IR *ir, Ref nest, int64_t *times) {
  const Nest n = nest_open(ir, nest);
  const Node *store = node(ir, n.store);
  if (!ir->symbol.name || store->op != OP_STORE) return 0;
  const Needed *needed = &ir->bufs.p[buffer_id(node(ir, store_buffer(store)))].needed;
  if (!needed->extent) return 0;
  for (int k = 0; k < n.n; k++) {
    *times = values_needed(ir, needed, store_index(store), n.ranges[k]);
    if (*times) return n.ranges[k];
  }
  return 0;
}

static bool is_sized(const IR *ir, Ref nest) {
  const Node *x = node(ir, nest);
  bool any = false;
  for (int k = 1; k < x->nsrc; k++) any |= range_limit(node(ir, x->src[k])) > 0;
  return any;
}

/* A schedule for the tiles of a range that may end anywhere has no panels and no blocks of it. */
void sized_opts(IR *ir, Ref nest, Opts *o) {
  int64_t times;
  int n = 0;
  const Ref r = sized_range(ir, nest, &times);
  if (!r) return;
  o->staged = 0;
  for (int i = 0; i < o->nmoved; i++)
    if (o->moved[i].range != r || !o->moved[i].block) o->moved[n++] = o->moved[i];
  o->nmoved = n;
}

/* `at` of a tile, which is at most `most` where the tile exists */
static Ref at_most(IR *ir, Ref at, int64_t most) {
  if (node(ir, at)->vmax <= most) return at;
  return node_make(ir, OP_MIN, DT_I64, 1, 2, (Ref[]){ at, ix_const(ir, most) }, 0, NULL, 0, NULL);
}

/* The nest with `tiles` tiles of `height` values of r from `begin` on in place of r; *loop, *inside: over the tiles, and over the
 * values of one */
static Ref with_tiles(IR *ir, Ref nest, Ref r, int tiles, Ref begin, int64_t height, Ref *loop, Ref *inside) {
  const int64_t extent = range_extent(node(ir, r));
  Ref by[2] = { range_limited(ir, greatest_size(ir, tiles), tiles, RK_LOOP), range_make(ir, height, RK_LOOP) };
  const Ref at = at_most(ir, ix_add(ir, begin, ix_mul(ir, by[0], height)), extent - height);
  *loop = by[0];
  *inside = by[1];
  return range_replace(ir, nest, r, ix_add(ir, at, by[1]), 2, by);
}

/* The nest, run only if size `number` is not 0 */
static Ref only_if(IR *ir, Ref nest, int number) {
  Nest n = nest_open(ir, nest);
  CHECK(n.n < MAX_RANGES);
  memmove(n.ranges + 1, n.ranges, (size_t)n.n++ * sizeof *n.ranges);
  n.ranges[0] = range_limited(ir, 1, number, RK_LOOP);
  return nest_close(ir, &n);
}

static void drop_opt(Opts *o, int i) {
  for (o->n--; i < o->n; i++) o->opt[i] = o->opt[i + 1];
}

/* A low tile has few sums, and each waits for its last multiply-add. So its terms are added in parts, as many as keep the machine
 * busy; the weights are read in the same order. */
static void add_parts(IR *ir, Ref nest, Opts *o, int64_t height) {
  enum { BUSY = 8, MOST = 12 }; /* sums: two multiply-adds per cycle, and a latency of four cycles; room in 16 registers */
  Refs all = { 0 };
  Ref terms = 0;
  int64_t sums = height;
  bool one = true;
  ir_toposort(ir, &nest, 1, &all);
  for (size_t i = 0; i < all.n; i++) {
    const Node *x = node(ir, all.p[i]);
    if (x->op != OP_RED) continue;
    one &= !terms && x->nsrc == 2 && red_op(x) == OP_ADD && dt_float((DType)x->dt);
    terms = red_range(x, 0);
  }
  VEC_FREE(&all);
  for (int k = 0; k < o->n; k++) {
    one &= o->opt[k].range != terms;
    if (o->opt[k].lanes > 1 || !opens_range(ir, nest, o->opt[k].range)) sums *= o->opt[k].unroll;
  }
  int parts = 1;
  while (parts < 4 && sums * parts < BUSY) parts *= 2;
  if (parts == 1 || sums * parts > MOST || !one || !terms || o->n == MAX_RANGES || range_extent(node(ir, terms)) % parts) return;
  o->opt[o->n++] = (Opt){ .range = terms, .unroll = parts, .lanes = 1, .partial = true };
}

/* Adds the nest for a rest: tiles of height `height`, with `lanes` lanes */
static void add_rest(IR *ir, Ref nest, const Opts *o, int i, int tiles, int begin, int64_t height, int lanes, Remnants *parts) {
  Remnant rest = { .opts = *o };
  Ref loop, inside;
  int n = 0;
  rest.nest = with_tiles(ir, nest, o->opt[i].range, tiles, size_value(ir, begin), height, &loop, &inside);
  rest.opts.threads = 0;
  for (int k = 0; k < o->nmoved; k++) /* the loops are in order by now */
    if (o->moved[k].block) rest.opts.moved[n++] = o->moved[k];
  rest.opts.nmoved = n;
  rest.opts.opt[i] = (Opt){ .range = inside, .unroll = (int)(height / lanes), .lanes = lanes };
  if (height == 1) drop_opt(&rest.opts, i);
  if (lanes == 1) add_parts(ir, rest.nest, &rest.opts, height);
  VEC_PUSH(parts, rest);
}

/* Whether some run has size `number` above 0 */
static bool ever(const IR *ir, int number) { return greatest_size(ir, number) > 0; }

static void row_rests(IR *ir, Ref nest, const Opts *o, int i, int64_t times, Remnants *parts) {
  const int tile = o->opt[i].unroll;
  for (int h = tile - 1; h > 0; h--) {
    const tgcrt_size lower = { times, tile, h, TGCRT_SIZE_LOWER }, start = { times, tile, h, TGCRT_SIZE_START },
                     any = { times, tile, h, TGCRT_SIZE_ANY };
    bool leaves = false;
    for (int64_t n = ir->symbol.low; n <= ir->symbol.high && !leaves; n++) leaves = tgcrt_size_of(&any, n);
    if (!leaves) continue;
    add_rest(ir, nest, o, i, size_number(ir, lower), size_number(ir, start), h, 1, parts);
    Remnant *last = &parts->p[parts->n - 1];
    last->nest = only_if(ir, last->nest, size_number(ir, any));
  }
}

static void lane_rests(IR *ir, Ref nest, const Opts *o, int i, int64_t times, Remnants *parts) {
  const int lanes = o->opt[i].lanes, tile = lanes * o->opt[i].unroll;
  const int vectors = size_number(ir, (tgcrt_size){ times, tile, lanes, TGCRT_SIZE_PARTS }),
            behind = size_number(ir, (tgcrt_size){ times, tile, lanes, TGCRT_SIZE_BEGIN }),
            values = size_number(ir, (tgcrt_size){ times, lanes, 1, TGCRT_SIZE_PARTS }),
            last = size_number(ir, (tgcrt_size){ times, lanes, 1, TGCRT_SIZE_BEGIN });
  if (ever(ir, vectors)) add_rest(ir, nest, o, i, vectors, behind, lanes, lanes, parts);
  if (ever(ir, values)) add_rest(ir, nest, o, i, values, last, 1, 1, parts);
}

Ref sized_cut(IR *ir, Ref nest, Opts *o, Remnants *parts) {
  int64_t times;
  const Ref r = sized_range(ir, nest, &times);
  int i = 0;
  if (!r) return nest;
  while (i < o->n && o->opt[i].range != r) i++;
  const Opt p = i < o->n ? o->opt[i] : (Opt){ .unroll = 1, .lanes = 1 };
  const int tile = p.unroll * p.lanes;
  Ref now, loop;
  if (p.rows || o->staged || o->grouped == r) return nest; /* all values are computed */
  if (tile == 1) {
    now = range_limited(ir, range_extent(node(ir, r)), size_number(ir, (tgcrt_size){ times, 1, 1, TGCRT_SIZE_ALL }), RK_LOOP);
    if (i < o->n) drop_opt(o, i);
    opts_replace(o, r, now);
    return range_replace(ir, nest, r, now, 1, &now);
  }
  (p.lanes > 1 ? lane_rests : row_rests)(ir, nest, o, i, times, parts);
  const int tiles = size_number(ir, (tgcrt_size){ times, tile, 1, p.lanes > 1 ? TGCRT_SIZE_WHOLE : TGCRT_SIZE_TILES });
  nest = with_tiles(ir, nest, r, tiles, ix_const(ir, 0), tile, &loop, &now);
  opts_replace(o, r, loop);
  o->opt[i].range = now;
  return nest;
}

/* A nest that touches memory of the caller must end where that ends. */
void sized_check(const IR *ir, Ref nest) {
  Refs all = { 0 };
  ir_toposort(ir, &nest, 1, &all);
  for (size_t i = 0; i < all.n && !is_sized(ir, nest); i++) {
    const Node *x = node(ir, all.p[i]);
    const Buf *b = x->op == OP_BUFFER ? &ir->bufs.p[buffer_id(x)] : NULL;
    if (!b || !buf_ends_early(b)) continue;
      fail_at(ir->ctx, EX_BADMODEL, ir_pos(ir, nest_body(node(ir, nest))),
            "--dim %s: a kernel of this node cannot end at a size that a run sets; give one number", ir->symbol.name);
  }
  VEC_FREE(&all);
}

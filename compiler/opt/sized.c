/* SPDX-License-Identifier: MIT */
/* sized.c: loops of nests that end at a size of the run.
 *
 * If a run needs only the first values of a range (nest/needed.c), the range gets a limit. A tile of the range must not reach
 * past it where memory of the caller may end. Elsewhere the last tile or vector may go on behind it, so that few nests suffice.
 * The range becomes a loop over whole tiles, and nests beside it take what is left. Rows: a nest for lower tiles of any height.
 * It has as many rows as the highest one. In a tile with fewer rows, the rows that it lacks load its last row, and are not
 * stored. So their terms need not be added (lower/linearize.c). If rows must not go on, there is one nest for each height of a
 * tile that some run leaves. All of them keep the nest's schedule, so they read the same packed weights, and add the terms of a
 * sum in the same order. Lanes: whole vectors, then one that goes on behind the values; or narrow vectors, then single
 * values. A nest without work is a loop that runs no time. linearize.c moves no load of an input out of such a loop. A nest
 * beside another range's tiles is itself cut along the ranges that are left. A reduction over a range with a limit
 * (schedule/kernelize.c) is split alike: it is the sum of reductions over whole tiles, vectors and single terms.
 * needs: canonical nests   gives: nests whose ranges have limits, and Remnants   keeps: each element that a run needs */
#include "opts.h"
#include <string.h>

/* PIECES: a sum has whole tiles, vectors, narrow vectors and single terms. PARTS_MOST: parts of a low tile's sum. */
enum { PIECES = 4, PARTS_MOST = 5 };

/* Lanes of the vectors behind those of `lanes` lanes: a power of two; 1: single values */
static int narrower(const IR *ir, int lanes) {
  int narrow = tunable(ir->ctx, sized_narrow);
  while (narrow & (narrow - 1)) narrow &= narrow - 1;
  return lanes > narrow ? narrow : 1;
}

/* A schedule for the tiles of a range that may end anywhere has no panels and no blocks of it. */
void sized_opts(IR *ir, Ref nest, Opts *o) {
  int n = 0;
  if (!ir->symbols.n) return;
  if (nest_needed(ir, nest)->n > 0) o->staged = 0;
  for (int i = 0; i < o->nmoved; i++)
    if (!o->moved[i].block || !range_ends_early(ir, nest, o->moved[i].range)) o->moved[n++] = o->moved[i];
  o->nmoved = n;
}

/* ---- tiles ---- */
/* Tiles of a range. count: the number of the size that counts them */
typedef struct Tiles {
  Ref range, begin;       /* begin: the first value */
  int count;
  int64_t height, beyond; /* values of a tile; values at its end that may lie behind those that a run needs */
  Ref values;             /* number of values that a run needs, if beyond > 0 */
  Ref first;              /* values of the first tile in this run; the second is not higher. 0: all have `height` values */
  bool out;               /* a tile may also reach behind memory for the greatest size */
  bool outermost;         /* the loop over the tiles is in front of all others */
  Ref loop, inside;       /* made by with_tiles: ranges over the tiles, and over the values of one */
} Tiles;

/* Accesses to memory of the caller, where a value of r may lie behind those that a run needs. They load value `instead`, and
 * store only if `gate` holds. gate 0: the condition of the memory itself. all: accesses to other memory, too */
typedef struct Inside { Ref r, instead, gate; bool all; } Inside;

/* The condition of the caller's memory that the access would violate behind the values of r; NULL: there is none */
static const Need *ends_along(IR *ir, const Node *x, Ref r) {
  const Buf *b = &ir->bufs.p[buffer_id(node(ir, access_buffer(x)))];
  for (int k = 0; k < b->needed.n && buf_ends_early(b); k++) {
    const Need *is = &b->needed.is[k];
    if (ix_uses(ir, ix_mod(ir, ix_div(ir, access_index(x), is->inner), is->extent), r)) return is;
  }
  return NULL;
}

static Ref load_inside(IR *ir, Ref load, void *arg) {
  const Inside *in = arg;
  return in->all || ends_along(ir, node(ir, load), in->r) ? ix_subst(ir, load, 1, &in->r, &in->instead) : 0;
}

static Ref store_inside(IR *ir, Ref store, void *arg) {
  const Inside *in = arg;
  const Node *x = node(ir, store);
  const Need *is = store_gate(x) ? NULL : ends_along(ir, x, in->r);
  if (in->all && !ix_uses(ir, store, in->gate)) return gated_access(ir, x, x->src, in->gate);
  if (!is) return 0;
  const Ref entry = ix_mod(ir, ix_div(ir, store_index(x), is->inner), is->extent);
  const Ref below = ix_lt(ir, entry, size_value(ir, size_number(ir, size_all(1, is->of))));
  return gated_access(ir, x, x->src, in->gate ? in->gate : below);
}

static Ref access_inside(IR *ir, Ref nest, Inside in) {
  static const Rule rules[] = { { OP_LOAD, "load a value that a run needs", load_inside },
                                { OP_STORE, "end a store at the run's size", store_inside }, { OP_NONE, NULL, NULL } };
  ir_rewrite(ir, rules, &in, &nest, 1, NULL);
  return nest;
}

/* The smaller or the greater one of two indices: op is MIN or MAX */
static Ref bounded(IR *ir, Op op, Ref a, Ref b) { return node_make(ir, op, DT_I64, 1, 2, (Ref[]){ a, b }, 0, NULL, 0, NULL); }

/* Number of values in front of tile number `loop` of these tiles */
static Ref before_tile(IR *ir, const Tiles *t, Ref loop) {
  const Ref most = ix_mul(ir, loop, t->height);
  return !t->first ? most : range_extent(node(ir, loop)) == 1 ? ix_const(ir, 0) : bounded(ir, OP_MIN, most, t->first);
}

/* Number of values that this tile has in this run; at: its first value */
static Ref values_of_tile(IR *ir, const Tiles *t, Ref loop, Ref at) {
  const Ref left = ix_sub(ir, t->values, at);
  return !t->first ? left : range_extent(node(ir, loop)) == 1 ? t->first : bounded(ir, OP_MIN, left, t->first);
}

/* The nest with range r as its outermost loop */
static Ref with_outermost(IR *ir, Ref nest, Ref r) {
  Nest n = nest_open(ir, nest);
  int at = 0;
  while (n.ranges[at] != r) at++;
  memmove(n.ranges + 1, n.ranges, (size_t)at * sizeof *n.ranges);
  n.ranges[0] = r;
  return nest_close(ir, &n);
}

/* The nest with tiles in place of their range. The first values of a tile are needed, so their accesses stay as they are. */
static Ref with_tiles(IR *ir, Ref nest, Tiles *t) {
  const int64_t extent = range_extent(node(ir, t->range)), sure = t->height - t->beyond;
  Ref by[2] = { range_limited(ir, greatest_size(ir, t->count), t->count, RK_LOOP), range_make(ir, t->height, RK_LOOP) };
  const Ref begin = ix_add(ir, t->begin, before_tile(ir, t, by[0]));
  const Ref at = index_at_most(ir, begin, extent - (t->out ? sure : t->height));
  t->loop = by[0];
  t->inside = by[1];
  if (t->beyond) {
    const Ref needed = bounded(ir, OP_MAX, values_of_tile(ir, t, by[0], at), ix_const(ir, sure));
    const Ref value = ix_add(ir, at, bounded(ir, OP_MIN, by[1], ix_sub(ir, needed, ix_const(ir, 1))));
    const Inside in = { t->range, index_at_most(ir, value, extent - 1), ix_lt(ir, by[1], needed), t->out || t->first };
    nest = access_inside(ir, nest, in);
  }
  nest = range_replace(ir, nest, t->range, ix_add(ir, at, by[1]), 2, by);
  return t->outermost ? with_outermost(ir, nest, t->loop) : nest;
}

/* The innermost range of the nest's only sum, if no opt splits the sum's terms; 0: there is none */
static Ref unsplit_terms(IR *ir, Ref nest, const Opts *o) {
  Refs all = { 0 };
  Ref red = 0;
  bool one = true;
  ir_toposort(ir, &nest, 1, &all);
  for (size_t i = 0; i < all.n; i++) {
    const Node *x = node(ir, all.p[i]);
    if (x->op != OP_RED) continue;
    one &= !red && red_op(x) == OP_ADD && dt_float((DType)x->dt);
    red = all.p[i];
  }
  VEC_FREE(&all);
  if (!one || !red) return 0;
  const Node *x = node(ir, red);
  for (int k = 0; k < o->n; k++)
    for (int i = 0; i + 1 < x->nsrc; i++)
      if (o->opt[k].range == red_range(x, i)) return 0;
  const Ref terms = red_range(x, x->nsrc - 2);
  return range_limit(node(ir, terms)) ? 0 : terms;
}

/* A low tile has few sums, and each waits for its last multiply-add. So its terms are added in parts, as many as keep the machine
 * busy; the weights are read in the same order. */
static void add_parts(IR *ir, Ref nest, const Target *t, Opts *o, int64_t height) {
  const int busy = sums_in_flight(t), most = t->vector_regs > 1 ? t->vector_regs - 1 : busy; /* one has a shared factor */
  const Ref terms = unsplit_terms(ir, nest, o);
  int64_t sums = height;
  if (!terms || o->n == MAX_RANGES) return;
  for (int k = 0; k < o->n; k++)
    if (o->opt[k].lanes > 1 || !opens_range(ir, nest, o->opt[k].range)) sums *= o->opt[k].unroll;
  int parts = 1;
  for (int n = 2; n <= PARTS_MOST && sums * parts < busy; n++)
    if (sums * n <= most && range_extent(node(ir, terms)) % n == 0) parts = n;
  if (parts == 1) return;
  o->opt[o->n++] = (Opt){ .range = terms, .unroll = parts, .lanes = 1, .partial = true };
}

/* The schedule for a rest: `unroll` copies of `lanes` lanes along r in place of opt number i. r 0: it has one value */
static Opts rest_opts(const Opts *o, int i, Ref r, int unroll, int lanes) {
  Opts rest = *o;
  int n = 0;
  rest.threads = 0;
  for (int k = 0; k < o->nmoved; k++) /* the loops are in order by now */
    if (o->moved[k].block) rest.moved[n++] = o->moved[k];
  rest.nmoved = n;
  rest.opt[i] = (Opt){ .range = r, .unroll = unroll, .lanes = lanes };
  if (!r || unroll * lanes == 1) opts_drop(&rest, i);
  return rest;
}

/* Few rows of the nest have one vector along a range that ends early: one nest serves all of the range. */
static void one_vector(IR *ir, Ref nest, Opts *o) {
  for (int k = 0; k < o->n; k++) {
    const bool lanes = o->opt[k].lanes > 1 && o->opt[k].unroll > 1 && opens_range(ir, nest, o->opt[k].range);
    if (lanes && range_ends_early(ir, nest, o->opt[k].range) && may_go_on(ir, nest, o->opt[k].range)) o->opt[k].unroll = 1;
  }
}

/* Adds the nest for a rest. inside: its range over the rows of a tile; 0: a tile has one row. more: a tile of another range;
 * .range 0: none */
static void push_rest(IR *ir, Ref nest, const Target *t, const Opts *o, int i, Ref inside, int64_t height, int lanes,
                      const Opt *more, Remnants *parts) {
  Remnant rest = { .nest = nest, .opts = rest_opts(o, i, inside, (int)(height / lanes), lanes) };
  if (lanes == 1) one_vector(ir, rest.nest, &rest.opts);
  if (more->range) rest.opts.opt[rest.opts.n++] = *more;
  int64_t rows = height;
  for (int k = 0; k < rest.opts.n; k++) { /* rows along other ranges: rows_beside, or the height of pictures */
    const Opt *p = &rest.opts.opt[k];
    if (p->range != inside && p->lanes == 1 && opens_range(ir, rest.nest, p->range)) rows *= p->unroll;
  }
  if (lanes == 1) add_parts(ir, rest.nest, t, &rest.opts, rows);
  VEC_PUSH(parts, rest);
}

/* Adds the nest for a rest: the given tiles, with `lanes` lanes. It runs only if size `any` is not 0, if that is >= 0. more: as
 * for push_rest */
static void add_rest(IR *ir, Ref nest, const Target *t, const Opts *o, int i, Tiles tiles, int lanes, int any, const Opt *more,
                     Remnants *parts) {
  tiles.range = o->opt[i].range;
  nest = with_tiles(ir, nest, &tiles);
  if (any >= 0) nest = sized_only_if(ir, nest, any, tiles.loop);
  push_rest(ir, nest, t, o, i, tiles.inside, tiles.height, lanes, more, parts);
}

/* The number of the size that `rule` makes of a number of values, which tiles divide */
static int size_of_tiles(IR *ir, const tgcrt_size *values, int tile, int height, tgcrt_size_rule rule) {
  return size_number(ir, (tgcrt_size){ values->times, tile, height, rule, values->of });
}

/* Whether some run has a size above 0 */
static bool ever(const IR *ir, const tgcrt_size *size) {
  const Extent *e = &ir->extents.p[size->of];
  bool any = false;
  for (int64_t i = 0; i < symbol_sizes(&ir->symbols.p[e->symbol]) && !any; i++) any = tgcrt_size_of(size, e->at[i]) > 0;
  return any;
}

/* The index varies along a reduction. */
static bool red_varies(IR *ir, Ref index) {
  Refs ranges = { 0 };
  bool any = false;
  collect_ranges(ir, index, &ranges);
  for (size_t i = 0; i < ranges.n; i++) any |= range_kind(node(ir, ranges.p[i])) == RK_REDUCE;
  VEC_FREE(&ranges);
  return any;
}

bool shares_weights(IR *ir, Ref nest, Ref r) {
  Refs all = { 0 };
  bool sums = false, shares = false;
  ir_toposort(ir, &nest, 1, &all);
  for (size_t i = 0; i < all.n; i++) {
    const Node *x = node(ir, all.p[i]);
    sums |= x->op == OP_RED;
    if (x->op == OP_LOAD && ir->bufs.p[buffer_id(node(ir, load_buffer(x)))].kind == BUF_WEIGHT)
      shares |= red_varies(ir, load_index(x)) && !ix_uses(ir, load_index(x), r);
  }
  VEC_FREE(&all);
  return sums && shares;
}

/* A low tile of rows may have further rows along another range that ends at another size: tokens of several short sequences. All
 * of them use the weights that are loaded once. They fill half of a tile: that gains most. */
static Opt rows_beside(IR *ir, Ref nest, const Opts *o, int symbol, int tile, int height) {
  tgcrt_size values;
  for (int k = 0; k < nest_needed(ir, nest)->n; k++) {
    const Ref r = sized_range(ir, nest, k, &values);
    const int64_t most = r ? range_extent(node(ir, r)) : 0;
    bool free = most > 1 && ir->extents.p[values.of].symbol != symbol && o->n < MAX_RANGES;
    for (int i = 0; i < o->n; i++) free &= o->opt[i].range != r;
    const int all = tile / (2 * height), rows = all < most ? all : (int)most;
    if (free && rows > 1 && !reduction_repeats(ir, nest, r) && shares_weights(ir, nest, r))
      return (Opt){ .range = r, .unroll = rows, .lanes = 1 };
  }
  return (Opt){ 0 };
}

/* ---- values behind those that a run needs ---- */
static bool is_padded(const IR *ir, Ref nest, Ref r) {
  int size;
  return padding_along(ir, nest, r, &size);
}

/* Whether the last tile of rows may go on behind those that a run needs. */
static bool rows_may_go_on(IR *ir, Ref nest, Ref r) {
  if (!reductions_below(ir, nest)) return false;
  return may_go_on(ir, access_inside(ir, nest, (Inside){ .r = r, .instead = ix_const(ir, 0) }), r);
}

/* Fewest and most rows of lower tiles with at least two rows, over all runs; most 0: no run has such a tile. out: such a tile
 * would reach behind memory for `extent` rows if it had the most rows */
typedef struct LowTiles { int64_t least, most; bool out; } LowTiles;

static LowTiles low_tiles(const IR *ir, const tgcrt_size *values, int tile, int64_t extent) {
  const Extent *e = &ir->extents.p[values->of];
  const tgcrt_size first = { values->times, tile, 1, TGCRT_SIZE_FIRST, values->of };
  const tgcrt_size full = { values->times, tile, 1, TGCRT_SIZE_TILES, values->of };
  LowTiles low = { .least = tile };
  int64_t last = 0; /* the greatest number of a last tile's first row */
  for (int64_t i = 0; i < symbol_sizes(&ir->symbols.p[e->symbol]); i++) {
    const int64_t n = e->at[i], rows = tgcrt_size_of(&first, n), begin = tgcrt_size_of(&full, n) * tile;
    const int64_t second = n * values->times - begin - rows, height = second > 1 ? second : rows;
    if (height > 1 && height < low.least) low.least = height;
    if (rows > low.most) low.most = rows;
    if (begin + (second ? rows : 0) > last && rows > 1) last = begin + (second ? rows : 0);
  }
  if (low.most < 2) return (LowTiles){ 0 };
  low.out = last + low.most > extent;
  return low;
}

/* No tile may begin so near the end that it does not fit. If whole tiles end there, none follows. */
static int begin_behind(IR *ir, const tgcrt_size *values, int tile, int height) {
  const int begin = size_of_tiles(ir, values, tile, height, TGCRT_SIZE_BEGIN);
  const bool fits = greatest_size(ir, begin) + height <= greatest_size(ir, size_number(ir, *values));
  return fits ? begin : sized_rows_before(ir, values, tile);
}

/* Numbers of the sizes that count tiles of `height` values behind the tiles of `tile`, and where they begin */
typedef struct Behind { int count, begin; } Behind;

static Behind behind(IR *ir, const tgcrt_size *values, int tile, int height) {
  CHECK(tile % height == 0);
  const int count = size_of_tiles(ir, values, tile, height, TGCRT_SIZE_PARTS);
  return (Behind){ count, begin_behind(ir, values, tile, height) };
}

static Tiles tiles_behind(IR *ir, const Behind *b, int height) {
  return (Tiles){ .count = b->count, .begin = size_value(ir, b->begin), .height = height };
}

/* A reduction of the nest loads terms that do not vary with r, so rows of a tile share them. */
static bool shares_terms(IR *ir, Ref nest, Ref r) {
  Refs all = { 0 };
  bool shares = false;
  ir_toposort(ir, &nest, 1, &all);
  for (size_t i = 0; i < all.n && !shares; i++)
    shares = node(ir, all.p[i])->op == OP_LOAD && red_varies(ir, load_index(node(ir, all.p[i]))) && !ix_uses(ir, all.p[i], r);
  VEC_FREE(&all);
  return shares;
}

/* Values of r that are read between two reads of the same element by tiles of rows. In the outermost loop: those of a tile */
static int64_t read_between(IR *ir, Ref nest, const Opts *o, Ref r) {
  const bool outermost = o->nmoved && !o->moved[0].block && o->moved[0].range == r;
  if (!opens_range(ir, nest, r)) return range_extent(node(ir, r));
  const Opt *p = opt_along(o, r);
  return !p ? 1 : outermost ? (int64_t)p->unroll * p->lanes : range_extent(node(ir, r));
}

/* Bytes of the terms that tiles along r share, and read one after another */
static double shared_terms(IR *ir, Ref nest, const Opts *o, Ref r) {
  Refs all = { 0 }, ranges = { 0 };
  double bytes = 0;
  ir_toposort(ir, &nest, 1, &all);
  for (size_t i = 0; i < all.n; i++) {
    const Node *x = node(ir, all.p[i]);
    if (x->op != OP_LOAD || !red_varies(ir, load_index(x)) || ix_uses(ir, load_index(x), r)) continue;
    double elems = 1;
    ranges.n = 0;
    collect_ranges(ir, load_index(x), &ranges);
    for (size_t k = 0; k < ranges.n; k++) elems *= (double)read_between(ir, nest, o, ranges.p[k]);
    bytes += elems * dt_bytes((DType)x->dt);
  }
  VEC_FREE(&all);
  VEC_FREE(&ranges);
  return bytes;
}

/* The nest has narrow vectors, such as those beside whole ones */
static bool has_narrow(IR *ir, Ref nest, const Target *t, const Opts *o) {
  bool narrow = false;
  for (int k = 0; k < o->n; k++)
    narrow |= o->opt[k].lanes > 1 && o->opt[k].lanes * 4 < t->vector_bytes && opens_range(ir, nest, o->opt[k].range);
  return narrow;
}

/* Whether tiles of few heights serve a rest of rows. Several of them then read the same terms. From the second-level cache each
 * tile of up to 4 rows takes as long as one of 4. So this serves terms that stay in the first level, and narrow vectors beside
 * whole ones, which do little of the work. */
static bool few_heights(IR *ir, Ref nest, const Target *t, const Opts *o, Ref r) {
  return has_narrow(ir, nest, t, o) || shared_terms(ir, nest, o, r) <= tunable(ir->ctx, sized_near) * (double)t->l1_bytes;
}

/* Vectors of a row of a tile */
static int vectors_of(IR *ir, Ref nest, const Opts *o, int rows) {
  int vectors = 1;
  for (int k = 0; k < o->n; k++)
    if (k != rows && opens_range(ir, nest, o->opt[k].range)) vectors *= o->opt[k].unroll;
  return vectors;
}

/* The next lower height. It divides that of the tile, and heights after it divide it. The lowest one whose sums keep multipliers
 * busy serves. If there is none, the highest one serves that is at most half of the tile. */
static int next_height(const Ctx *c, int tile, int vectors) {
  int height = 1;
  while (tile % (height * 2) == 0 && height * 4 <= tile && (height == 1 || height * vectors < tunable(c, rest_sums))) height *= 2;
  return height;
}

/* A function such as erf follows the sums. finish.c makes loops of such functions; a tile without rows would run them, too. */
static bool has_functions(const IR *ir, Ref nest) {
  Refs all = { 0 };
  bool any = false;
  ir_toposort(ir, &nest, 1, &all);
  for (size_t i = 0; i < all.n; i++) any |= dt_float((DType)node(ir, all.p[i])->dt) && op_info[node(ir, all.p[i])->op].libm;
  VEC_FREE(&all);
  return any;
}

/* Adds the nest for the rows behind tiles of `tile` rows, two at a time: those of two sequences, which range r counts */
static void add_pairs(IR *ir, Ref nest, const Target *t, const Opts *o, int i, Ref r, const tgcrt_size *values, int tile,
                      Remnants *parts) {
  tgcrt_size others = { 0 };
  for (int k = 0; k < nest_needed(ir, nest)->n && sized_range(ir, nest, k, &others) != r; k++) {}
  Ref inside;
  nest = sized_pairs(ir, nest, o->opt[i].range, values, tile, r, &others, &inside);
  push_rest(ir, nest, t, o, i, inside, 2, 1, &(Opt){ 0 }, parts);
}

/* Rests of rows, each at most half as high as the one before. low: the nest itself is a rest. halves: false: single rows */
static int few_rests(IR *ir, Ref nest, const Target *t, const Opts *o, int i, bool low, bool halves, const tgcrt_size *values,
                     Remnants *parts) {
  const int all = o->opt[i].unroll, vectors = vectors_of(ir, nest, o, i), symbol = ir->extents.p[values->of].symbol;
  const Opt more = halves && !low ? rows_beside(ir, nest, o, symbol, 2 * tunable(ir->ctx, rest_beside), 1) : (Opt){ 0 };
  for (int tile = all, height; tile > 1; tile = height) {
    height = halves ? next_height(ir->ctx, tile, vectors) : 1;
    const Behind b = behind(ir, values, tile, height);
    const int any = halves ? -1 : size_of_tiles(ir, values, tile, tile, TGCRT_SIZE_COVER); /* threads share no single rows */
    const int64_t left = greatest_size(ir, size_of_tiles(ir, values, tile, 1, TGCRT_SIZE_PARTS));
    const bool busy = 2 * vectors >= tunable(ir->ctx, rest_sums) && !has_narrow(ir, nest, t, o) && !has_functions(ir, nest);
    const bool pairs = more.unroll == 2 && height <= 2 && left > 1 && busy;
    if (pairs) add_pairs(ir, nest, t, o, i, more.range, values, tile, parts);
    if (pairs) break;
    if (!greatest_size(ir, b.count)) continue;
    add_rest(ir, nest, t, o, i, tiles_behind(ir, &b, height), 1, any, height == 1 ? &more : &(Opt){ 0 }, parts);
  }
  return size_of_tiles(ir, values, all, 1, TGCRT_SIZE_WHOLE);
}

/* Adds the nest for lower tiles of `height` rows, if some run has any. low: the nest is a rest itself, so it has no rows of
 * another range beside it */
static void add_low(IR *ir, Ref nest, const Target *t, const Opts *o, int i, bool low, const tgcrt_size *values, int tile,
                    int height, Remnants *parts) {
  const tgcrt_size any = { values->times, tile, height, TGCRT_SIZE_ANY, values->of };
  if (!ever(ir, &any)) return;
  Tiles tiles = { .count = size_of_tiles(ir, values, tile, height, TGCRT_SIZE_LOWER), .height = height };
  tiles.begin = size_value(ir, size_of_tiles(ir, values, tile, height, TGCRT_SIZE_START));
  const Opt more = low ? (Opt){ 0 } : rows_beside(ir, nest, o, ir->extents.p[values->of].symbol, tile, height);
  add_rest(ir, nest, t, o, i, tiles, 1, size_number(ir, any), &more, parts);
}

/* Adds the nest for lower tiles of two rows and more. It has the sums of the highest one. Rows that a tile does not have are
 * left out, term by term (lower/linearize.c). */
static void add_any_height(IR *ir, Ref nest, const Target *t, const Opts *o, int i, const tgcrt_size *values, Remnants *parts) {
  const int tile = o->opt[i].unroll;
  const LowTiles low = low_tiles(ir, values, tile, range_extent(node(ir, o->opt[i].range)));
  if (!low.most) return;
  Tiles tiles = { .count = size_of_tiles(ir, values, tile, 2, TGCRT_SIZE_HIGH), .height = low.most };
  tiles.begin = ix_mul(ir, size_value(ir, size_of_tiles(ir, values, tile, 1, TGCRT_SIZE_TILES)), tile);
  tiles.values = size_value(ir, size_number(ir, *values));
  tiles.first = size_value(ir, size_of_tiles(ir, values, tile, 1, TGCRT_SIZE_FIRST));
  tiles.beyond = low.most - low.least;
  tiles.out = low.out;
  add_rest(ir, nest, t, o, i, tiles, 1, size_of_tiles(ir, values, tile, 2, TGCRT_SIZE_SOME), &(Opt){ 0 }, parts);
}

/* The nest serves lower tiles of another range already. So its code is for few runs: whole tiles go on behind the rows, and a
 * single row has a nest of its own. -> the number of tiles */
static int whole_beyond(IR *ir, Ref nest, const Target *t, const Opts *o, int i, const tgcrt_size *values, Tiles *whole,
                        Remnants *parts) {
  const int tile = o->opt[i].unroll;
  const int64_t extent = range_extent(node(ir, o->opt[i].range)), most = (extent + tile - 1) / tile;
  const Extent tiles = { .of = values->of, .times = values->times, .plus = tile - 1, .over = tile, .most = most },
               several = { .of = values->of, .times = values->times, .plus = -1, .over = 1, .most = 1 };
  add_low(ir, nest, t, o, i, true, values, (int)extent + 1, 1, parts);
  whole->beyond = tile - 1;
  whole->out = most * tile > extent;
  const int count = extent_make(ir, tiles);
  return size_number(ir, size_all(1, extent_times(ir, count, extent_make(ir, several))));
}

/* Adds the rests of rows to parts; -> the number of whole tiles. Sets whether these reach behind the rows that a run needs.
 * ends: rows of padding have a nest of their own, so that no tile may go on */
static int row_rests(IR *ir, Ref nest, const Target *t, Opts *o, int i, const tgcrt_size *values, bool ends, Tiles *whole,
                     Remnants *parts) {
  const int tile = o->opt[i].unroll;
  const Nest n = nest_open(ir, nest);
  const bool low = nest_has_low_tiles(ir, &n), shares = shares_terms(ir, nest, o->opt[i].range);
  const bool on = !ends && rows_may_go_on(ir, nest, o->opt[i].range);
  if ((low && !on) || !shares || few_heights(ir, nest, t, o, o->opt[i].range))
    return few_rests(ir, nest, t, o, i, low, shares, values, parts);
  if (low) return whole_beyond(ir, nest, t, o, i, values, whole, parts);
  if (on) add_any_height(ir, nest, t, o, i, values, parts);
  for (int h = on ? 1 : tile - 1; h > 0; h--) add_low(ir, nest, t, o, i, false, values, tile, h, parts);
  return size_of_tiles(ir, values, tile, 1, TGCRT_SIZE_TILES);
}

/* The loop over lower tiles of any height; 0: the nest has none */
static Ref loop_of_low(const IR *ir, const Nest *n, const tgcrt_size *first) {
  for (int k = 0; k < n->n; k++) {
    const int64_t limit = range_limit(node(ir, n->ranges[k]));
    const tgcrt_size *s = limit ? &ir->sizes.p[limit - 1] : NULL;
    if (s && s->rule == TGCRT_SIZE_HIGH && s->times == first->times && s->tile == first->tile && s->of == first->of)
      return n->ranges[k];
  }
  return 0;
}

Ref sized_row_gate(IR *ir, const Nest *n, Ref gate, int *row) {
  const Node *x = node(ir, gate);
  Refs all = { 0 };
  Ref now = 0;
  if (sized_pair_gate(ir, gate, row)) return gate;
  if (x->op != OP_CMPLT || node(ir, lhs(x))->op != OP_CONST) return 0;
  *row = (int)const_value(node(ir, lhs(x)));
  ir_toposort(ir, (Ref[]){ rhs(x) }, 1, &all);
  for (size_t i = 0; i < all.n && !now; i++) {
    const Node *y = node(ir, all.p[i]);
    tgcrt_size s = y->op == OP_SIZE ? ir->sizes.p[size_id(y)] : (tgcrt_size){ 0 };
    const Ref loop = y->op == OP_SIZE && s.rule == TGCRT_SIZE_FIRST ? loop_of_low(ir, n, &s) : 0;
    if (!loop) continue;
    s.rule = TGCRT_SIZE_HIGH;
    s.height = *row + 1;
    now = ix_lt(ir, loop, size_value(ir, size_number(ir, s)));
  }
  VEC_FREE(&all);
  return now;
}

/* ---- lanes ---- */
/* Adds the nest for the last values of r, which fill no vector even in a run that needs all; -> the values before them */
static tgcrt_size last_values(IR *ir, Ref nest, const Opts *o, int i, const tgcrt_size *values, Remnants *parts) {
  const Ref r = o->opt[i].range;
  const int64_t extent = range_extent(node(ir, r)), left = extent % o->opt[i].lanes;
  if (!left) return *values;
  const Extent behind = { .of = values->of, .times = values->times, .plus = left - extent, .over = 1, .most = left };
  const tgcrt_size any = { 1, (int)left + 1, (int)left, TGCRT_SIZE_COVER, extent_make(ir, behind) };
  int lanes = o->opt[i].lanes;
  while (lanes > left) lanes /= 2;
  Remnant rest = { 0 };
  Ref part;
  rest.nest = sized_only_if(ir, range_part(ir, nest, r, extent - left, extent, &part), size_number(ir, any), 0);
  rest.opts = rest_opts(o, i, node(ir, part)->op == OP_RANGE ? part : 0, (int)left / lanes, lanes);
  VEC_PUSH(parts, rest);
  const Extent before = { .of = values->of, .times = values->times, .plus = 0, .over = 1, .most = extent - left };
  return size_all(1, extent_make(ir, before));
}

/* The nest only copies or converts rows along r, and the ends of all rows stay in the nearest cache. Then a loop over the last
 * values has the rows inside. Loops of few iterations in each row take longer. */
static bool ends_stay_near(IR *ir, Ref nest, const Target *t, Ref r) {
  const Nest n = nest_open(ir, nest);
  double rows = 1;
  bool chunks = false;
  for (int k = 0; k < n.n; k++) {
    if (n.ranges[k] != r) rows *= (double)range_extent(node(ir, n.ranges[k]));
    chunks |= range_kind(node(ir, n.ranges[k])) == RK_THREAD;
  }
  const double bytes = 2 * rows * LINE_BYTES; /* a line to load and one to store for each row */
  return !chunks && !reductions_below(ir, nest) && bytes <= tunable(ir->ctx, sized_near) * (double)t->l1_bytes;
}

static int lane_rests(IR *ir, Ref nest, const Target *t, Opts *o, int i, const tgcrt_size *values, Remnants *parts) {
  const int lanes = o->opt[i].lanes, whole = lanes * o->opt[i].unroll;
  const bool outermost = ends_stay_near(ir, nest, t, o->opt[i].range);
  for (int tile = whole, height = lanes; tile > 1; tile = height, height = narrower(ir, height)) {
    if (tile == height) continue;
    const Behind b = behind(ir, values, tile, height);
    Tiles tiles = tiles_behind(ir, &b, height);
    tiles.outermost = outermost;
    if (greatest_size(ir, b.count)) add_rest(ir, nest, t, o, i, tiles, height, -1, &(Opt){ 0 }, parts);
  }
  return size_of_tiles(ir, values, whole, 1, TGCRT_SIZE_WHOLE);
}

/* As lane_rests, but the last vector may go on behind the values that a run needs. Sums that do not vary along r are computed
 * once, by one nest. Where the range ends within a vector, a nest with sums computes some values twice. One without sums may
 * compute in place, so another nest takes the last values. Another nest also takes them if the last vector would reach into whole
 * tiles, because two threads must not store the same value. */
static int covering_rests(IR *ir, Ref nest, const Target *t, Opts *o, int i, const tgcrt_size *values, Remnants *parts) {
  const Ref r = o->opt[i].range;
  const bool once = reduction_repeats(ir, nest, r);
  const int lanes = o->opt[i].lanes, most = (int)range_extent(node(ir, r)) + 1; /* no run has a whole tile of it */
  const bool apart = once || o->opt[i].unroll == 1 || (most - 1) % (lanes * o->opt[i].unroll) >= lanes;
  const bool twice = reductions_below(ir, nest) && apart;
  const tgcrt_size before = twice ? *values : last_values(ir, nest, o, i, values, parts);
  if (once) o->opt[i].unroll = 1;
  const int tile = lanes * o->opt[i].unroll;
  if (tile == lanes) return size_of_tiles(ir, &before, most, lanes, TGCRT_SIZE_COVER);
  const int count = size_of_tiles(ir, &before, tile, lanes, TGCRT_SIZE_COVER);
  const int begin = size_of_tiles(ir, &before, tile, lanes, TGCRT_SIZE_BEGIN);
  const Behind b = { count, begin };
  if (greatest_size(ir, count)) add_rest(ir, nest, t, o, i, tiles_behind(ir, &b, lanes), lanes, -1, &(Opt){ 0 }, parts);
  return size_of_tiles(ir, &before, tile, 1, TGCRT_SIZE_WHOLE);
}

/* The schedule needs whole panels, groups or tiles of r, so a run computes all values. */
static bool computes_all(const Opts *o, Ref r) {
  const Opt *p = opt_along(o, r);
  return o->staged || o->grouped == r || (p && p->rows);
}

/* Cuts range r, of which a run needs the first `values`. ends: as for row_rests */
static Ref cut_range(IR *ir, Ref nest, const Target *t, Opts *o, Remnants *parts, Ref r, const tgcrt_size *values, bool ends) {
  const Opt *had = opt_along(o, r);
  const int i = had ? (int)(had - o->opt) : o->n;
  const Opt p = had ? *had : (Opt){ .unroll = 1, .lanes = 1 };
  if (p.unroll * p.lanes == 1) {
    Ref now = range_limited(ir, range_extent(node(ir, r)), size_number(ir, *values), RK_LOOP);
    if (i < o->n) opts_drop(o, i);
    opts_replace(o, r, now);
    return range_replace(ir, nest, r, now, 1, &now);
  }
  const bool covers = p.lanes > 1 && may_go_on(ir, nest, r);
  Tiles whole = { .range = r, .begin = ix_const(ir, 0), .values = size_value(ir, size_number(ir, *values)) };
  whole.count = covers        ? covering_rests(ir, nest, t, o, i, values, parts)
                : p.lanes > 1 ? lane_rests(ir, nest, t, o, i, values, parts)
                              : row_rests(ir, nest, t, o, i, values, ends, &whole, parts);
  whole.height = (int64_t)o->opt[i].unroll * p.lanes;
  nest = with_tiles(ir, nest, &whole);
  opts_replace(o, r, whole.loop);
  o->opt[i].range = whole.inside;
  return nest;
}

/* ---- padding ---- */

/* The most values of padding in a run between `inside` and `all`; -1: a run needs fewer than `inside` */
static int64_t padding_most(const IR *ir, const tgcrt_size *inside, const tgcrt_size *all) {
  const Extent *in = &ir->extents.p[inside->of], *out = &ir->extents.p[all->of];
  int64_t most = 0;
  if (in->symbol != out->symbol || inside->rule != TGCRT_SIZE_ALL || inside->times != 1) return -1;
  for (int64_t i = 0; i < symbol_sizes(&ir->symbols.p[in->symbol]); i++) {
    const int64_t left = tgcrt_size_of(all, out->at[i]) - tgcrt_size_of(inside, in->at[i]);
    if (left < 0) return -1;
    most = left > most ? left : most;
  }
  return most;
}

/* Lanes of the last vector along r, which may go on behind the values that a run needs; 1: none does */
static int lanes_beyond(IR *ir, Ref nest, const Opts *o, Ref r) {
  const Opt *p = opt_along(o, r);
  return p && may_go_on(ir, nest, r) ? p->lanes : 1;
}

/* The nest in front of the padding along r, without selection; 0: a vector may go on behind its last value */
static Ref in_front(IR *ir, Ref nest, const Opts *o, Ref r, int size) {
  const Opt *p = opt_along(o, r);
  const Ref inside = sized_inside(ir, nest, r, size);
  return !p || p->lanes == 1 || !may_go_on(ir, inside, r) ? inside : 0;
}

/* A run needs `values` values of r, of which the last ones are padding. A nest of its own stores these, so that no tile computes
 * what the selection then drops. Where a vector may go on behind its last value, the selection stays. The nest begins behind
 * that vector: another thread may run it, and two threads must not store the same value. */
static Ref cut_padding(IR *ir, Ref nest, const Opts *o, Ref r, tgcrt_size *values, Remnants *parts) {
  const Node *store = node(ir, nest_body(node(ir, nest)));
  const int64_t extent = range_extent(node(ir, r));
  int size = 0;
  const Ref fill = padding_along(ir, nest, r, &size);
  if (!fill || store_gate(store) || buf_ends_early(&ir->bufs.p[buffer_id(node(ir, store_buffer(store)))])) return nest;
  const tgcrt_size inside = ir->sizes.p[size];
  const int64_t most = padding_most(ir, &inside, values);
  if (most < 1 || most > tunable(ir->ctx, fill_most)) return nest;
  const Ref inner = in_front(ir, nest, o, r, size);
  const int lanes = inner ? 1 : lanes_beyond(ir, nest, o, r);
  const Extent vectors = { .of = inside.of, .times = 1, .plus = lanes - 1, .over = lanes, .most = (extent + lanes - 1) / lanes };
  const tgcrt_size stored = lanes > 1 ? size_all(lanes, extent_make(ir, vectors)) : inside;
  const Extent behind = { .of = stored.of, .times = -lanes, .plus = extent, .over = 1, .most = most };
  const int count = size_number(ir, size_all(1, extent_make(ir, behind)));
  Nest n = nest_open(ir, nest);
  Ref src[3] = { store_buffer(store), store_index(store), fill }, at = size_value(ir, size_number(ir, stored)), part = 0;
  n.store = node_make(ir, OP_STORE, (DType)store->dt, 1, 3, src, 0, NULL, 0, NULL);
  if (most > 1) part = range_limited(ir, most, count, RK_LOOP), at = ix_add(ir, at, part);
  Ref filled = range_replace(ir, nest_close(ir, &n), r, index_at_most(ir, at, extent - 1), part ? 1 : 0, &part);
  if (!part) filled = sized_only_if(ir, filled, count, 0);
  VEC_PUSH(parts, ((Remnant){ .nest = filled, .own = true }));
  *values = inside;
  return inner ? inner : nest;
}

/* A nest may store one entry of an axis, such as the last column of a padding. It runs only if the run has this entry. */
static Ref cut_entries(IR *ir, Ref nest) {
  const Needed *needed = nest_needed(ir, nest);
  for (int i = 0; i < needed->n; i++) {
    const Need *is = &needed->is[i];
    const Ref index = store_index(node(ir, nest_body(node(ir, nest))));
    const Node *entry = node(ir, ix_mod(ir, ix_div(ir, index, is->inner), is->extent));
    if (entry->op != OP_CONST || const_value(entry) < extent_least(ir, is->of)) continue;
    const Extent any = { .of = is->of, .times = 1, .plus = -const_value(entry), .over = 1, .most = 1 };
    nest = sized_only_if(ir, nest, size_number(ir, size_all(1, extent_make(ir, any))), 0);
  }
  return nest;
}

/* Rests of tiles take rows along ranges that have no limit yet, so tiles are cut first. But each rest of these would have the
 * padding of another range again. */
Ref sized_cut(IR *ir, Ref nest, const Target *t, Opts *o, Remnants *parts) {
  enum { PADDED, TILED, OTHERS, PASSES };
  tgcrt_size values;
  int several = 0;
  nest = cut_entries(ir, nest);
  const Ref entries = sized_single(ir, nest, o, &several, parts);
  values = size_all(1, several);
  if (entries) nest = cut_range(ir, nest, t, o, parts, entries, &values, false); /* first: no rest has the single entry */
  for (int pass = PADDED; pass < PASSES; pass++)
    for (int i = 0; i < nest_needed(ir, nest)->n; i++) {
      const Ref r = sized_range(ir, nest, i, &values);
      if (!r || (pass == TILED && !opt_along(o, r)) || (pass == PADDED && (opt_along(o, r) || !is_padded(ir, nest, r)))) continue;
      if (computes_all(o, r)) continue;
      const Ref groups = opt_along(o, r) ? 0 : sized_groups(ir, nest, o, r, &values, parts);
      const bool padded = is_padded(ir, nest, r);
      nest = groups ? groups : cut_range(ir, cut_padding(ir, nest, o, r, &values, parts), t, o, parts, r, &values, padded);
    }
  return nest;
}

/* ---- reductions ---- */
/* The pieces of a reduction over `extent` values. shared: the range in lanes of all pieces; 0: each has its own */
typedef struct Pieces {
  int n;
  TermsPart p[PIECES];
  int64_t extent;
  Ref shared;
} Pieces;

static TermsPart *add_piece(IR *ir, Pieces *all, int count, Ref begin, int unroll, int lanes, bool partial) {
  const int64_t tile = (int64_t)unroll * lanes, most = greatest_size(ir, count);
  if (!most) return NULL;
  TermsPart *p = &all->p[all->n++];
  /* A loop of one tile at most must not have a constant index. Loads would leave it, but it may not run at all. */
  *p = (TermsPart){ .by = { range_limited(ir, most > 1 ? most : 2, count, RK_REDUCE) }, .n = 1 };
  p->at = index_at_most(ir, ix_add(ir, begin, ix_mul(ir, p->by[0], tile)), all->extent - tile);
  if (unroll > 1) p->by[p->n++] = range_make(ir, unroll, partial ? RK_PARTIAL : RK_UNROLL);
  if (unroll > 1) p->at = ix_add(ir, p->at, ix_mul(ir, p->by[p->n - 1], lanes));
  if (lanes > 1 && !all->shared) p->by[p->n++] = range_make(ir, lanes, RK_VEC);
  if (lanes > 1) p->at = ix_add(ir, p->at, all->shared ? all->shared : p->by[p->n - 1]);
  return p;
}

static Ref as_i32(IR *ir, Ref index) { return node_make(ir, OP_CAST, DT_I32, 1, 1, &index, 0, NULL, 0, NULL); }

Ref less_i32(IR *ir, Ref a, Ref b) {
  return node_make(ir, OP_CMPLT, DT_BOOL, 1, 2, (Ref[]){ as_i32(ir, a), as_i32(ir, b) }, 0, NULL, 0, NULL);
}

/* The terms behind the whole vectors, in one more vector, of which some lanes count. It ends with memory at the latest. So it may
 * also have terms of the vector before. */
static void add_last_vector(IR *ir, Pieces *all, const tgcrt_size *values, int lanes) {
  const Ref begin = size_value(ir, size_of_tiles(ir, values, lanes, lanes, TGCRT_SIZE_BEGIN));
  TermsPart *p = add_piece(ir, all, size_of_tiles(ir, values, lanes, lanes, TGCRT_SIZE_COVER), begin, 1, lanes, false);
  if (!p) return;
  const Ref first = ix_sub(ir, p->at, all->shared);
  p->only = less_i32(ir, all->shared, ix_sub(ir, size_value(ir, size_number(ir, *values)), first));
  if (all->extent % lanes)
    p->only = ix_and(ir, p->only, less_i32(ir, ix_sub(ir, ix_sub(ir, begin, first), ix_const(ir, 1)), all->shared));
}

/* Every reduction over r below root may read terms that no run needs. */
static bool reads_on(IR *ir, Ref root, Ref r) {
  Refs all = { 0 };
  bool yes = true;
  ir_toposort(ir, &root, 1, &all);
  for (size_t i = 0; i < all.n && yes; i++)
    if (node(ir, all.p[i])->op == OP_RED && opens_range(ir, all.p[i], r)) yes = may_go_on(ir, red_value(node(ir, all.p[i])), r);
  VEC_FREE(&all);
  return yes;
}

Ref sized_sum(IR *ir, Ref root, const Opt *given) {
  const Node *r = node(ir, given->range);
  Opt half = *given, *o = &half;
  if (range_extent(r) == (int64_t)o->unroll * o->lanes) *(o->unroll > 1 ? &o->unroll : &o->lanes) /= 2; /* add_piece */
  const tgcrt_size values = ir->sizes.p[range_limit(r) - 1];
  const int lanes = o->lanes, whole = o->unroll * lanes;
  const bool covers = lanes > 1 && reads_on(ir, root, given->range);
  Pieces all = { .extent = range_extent(r), .shared = covers ? range_make(ir, lanes, RK_VEC) : 0 };
  const int tiles = size_of_tiles(ir, &values, whole, 1, TGCRT_SIZE_WHOLE);
  add_piece(ir, &all, tiles, ix_const(ir, 0), o->unroll, lanes, o->partial);
  for (int tile = whole, height = lanes; tile > (covers ? lanes : 1); tile = height, height = narrower(ir, height)) {
    if (tile == height) continue;
    const Behind b = behind(ir, &values, tile, height);
    add_piece(ir, &all, b.count, size_value(ir, b.begin), 1, height, false);
  }
  if (covers) add_last_vector(ir, &all, &values, lanes);
  return reduce_pieces(ir, root, given->range, all.p, all.n, all.shared);
}

/* ---- the check ---- */
/* 1 << symbol, if the range ends at a size of that symbol, or behind it where may_go_on has seen the accesses; else 0 */
static uint32_t limit_bit(const IR *ir, Ref r) {
  const int64_t limit = range_limit(node(ir, r));
  return limit ? 1u << ir->extents.p[ir->sizes.p[limit - 1].of].symbol : 0;
}

/* As far as the loops say, the access ends with the condition: on a range with a limit. once: the nest has loops that run once or
 * not at all, by sizes of these symbols. They are not in the index */
static bool ends_in_time(IR *ir, const Need *is, Ref index, uint32_t once) {
  Refs ranges = { 0 };
  collect_ranges(ir, ix_mod(ir, ix_div(ir, index, is->inner), is->extent), &ranges);
  uint32_t ends = once;
  for (size_t i = 0; i < ranges.n; i++) ends |= limit_bit(ir, ranges.p[i]);
  const bool yes = ends >> ir->extents.p[is->of].symbol & 1;
  VEC_FREE(&ranges);
  return yes;
}

/* In every run, the entries that an access reaches along the condition are fewer than it says. */
static bool stays_inside(IR *ir, const Need *is, Ref index, Ref gate) {
  const Ref entry = ix_mod(ir, ix_div(ir, index, is->inner), is->extent);
  const int symbol = ir->extents.p[is->of].symbol;
  const Symbol *s = &ir->symbols.p[symbol];
  RunSizes run = { 0 }; /* other sizes are any */
  int64_t least, most;
  bool all = true;
  if (gate && gate_ends(ir, gate, entry, is)) return true;
  for (run[symbol] = s->low; run[symbol] <= s->high && all; run[symbol] += s->step)
    all = index_in_run(ir, entry, run, 0, &least, &most) && least >= 0 && most < extent_in_run(ir, is->of, run);
  return all;
}

/* The condition of the buffer at which the access x may end too late; NULL: none */
static const Need *ends_late(IR *ir, const Buf *b, const Node *x, uint32_t once) {
  const Ref index = access_index(x), gate = x->op == OP_TILE ? 0 : access_gate(x);
  const Need *late = NULL;
  for (int k = 0; k < b->needed.n && !late; k++) {
    const Need *is = &b->needed.is[k];
    const bool inside = ends_in_time(ir, is, index, once) || (node(ir, index)->lanes == 1 && stays_inside(ir, is, index, gate));
    if (!inside) late = is;
  }
  return late;
}

/* A nest that touches memory of the caller must end where that ends. */
void sized_check(IR *ir, Ref nest) {
  Refs all = { 0 };
  const Nest n = nest_open(ir, nest);
  uint32_t once = 0;
  if (!ir->symbols.n) return;
  for (int k = 0; k < n.n; k++)
    if (range_extent(node(ir, n.ranges[k])) == 1) once |= limit_bit(ir, n.ranges[k]);
  ir_toposort(ir, &nest, 1, &all);
  for (size_t i = 0; i < all.n; i++) {
    const Node *x = node(ir, all.p[i]);
    const Buf *b = is_access(x) ? &ir->bufs.p[buffer_id(node(ir, access_buffer(x)))] : NULL;
    const Need *late = b && buf_ends_early(b) ? ends_late(ir, b, x, once) : NULL;
    if (!late) continue;
    fail_at(ir->ctx, EX_BADMODEL, ir_pos(ir, nest_body(node(ir, nest))),
            "--dim %s: a kernel of this node cannot end at a size that a run sets; give one number",
            ir->symbols.p[ir->extents.p[late->of].symbol].name);
  }
  VEC_FREE(&all);
}

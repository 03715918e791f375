/* SPDX-License-Identifier: MIT */
/* sized_tiles.c: tiles for ranges of sizes. One schedule serves all sizes of a run, so its tile must not be that of the greatest
 * size alone. These functions change the schedule that the heuristic chose for the greatest size.
 *
 * needs: a canonical nest, a legal schedule   gives: a schedule that opts_check accepts   keeps: schedules of fixed sizes */
#include "tile_search.h"
#include <math.h>

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
  const Finds finds = tile_find(&x->m, false, 1);
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
    o = opts_of_tile((Model *)&best->m, &best->nest, best->best);
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
Opts sized_default(IR *ir, Ref nest, const Target *t, Opts most) {
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
Opts sized_spread_rows(IR *ir, Ref nest, const Target *t, Opts o) {
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
Opts sized_fewer_rows(IR *ir, Ref nest, const Target *t, Opts o) {
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

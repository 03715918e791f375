/* SPDX-License-Identifier: MIT */
/* neighbours.c: the schedules one step away from a schedule. A step changes the tile of a range, the lanes, the partial
 * results, the order of loops, or the blocks of a range. It may cut a border off or keep it, and copy panels of the outermost
 * range or not. It may change the instruction, or two tiles against each other. Other schedules are further away: their tiles
 * fill the registers. */
#include "../opt/dot_ops.h"
#include "walk.h"
#include <string.h>

typedef struct Dense { /* a schedule by place of range */
  int unroll[MAX_RANGES], lanes[MAX_RANGES];
  bool partial[MAX_RANGES], rows[MAX_RANGES];
  int nmoved;
  struct { int range, block; } moved[MAX_MOVES];
  uint32_t peeled;     /* bits */
  int staged, grouped; /* -1: none */
  const IsaOp *isa_op;
} Dense;

static const int tiles[] = { 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 13, 14, 16, 20, 24, 28, 32 };
enum { TILES = sizeof tiles / sizeof *tiles, LONGEST = 32, EVEN = 8 };

static Dense dense_of(const Walk *w, const Opts *o) {
  Dense d = { .nmoved = o->nmoved, .staged = -1, .grouped = -1, .isa_op = o->isa_op };
  for (int i = 0; i < o->nmoved; i++) {
    d.moved[i].range = range_place(&w->ranges, o->moved[i].range);
    d.moved[i].block = o->moved[i].block;
  }
  for (int i = 0; i < o->npeeled; i++) d.peeled |= 1u << range_place(&w->ranges, o->peeled[i]);
  if (o->staged) d.staged = range_place(&w->ranges, o->staged);
  if (o->isa_op) d.grouped = range_place(&w->ranges, o->grouped);
  for (int i = 0; i < MAX_RANGES; i++) d.unroll[i] = d.lanes[i] = 1;
  for (int i = 0; i < o->n; i++) {
    int at = range_place(&w->ranges, o->opt[i].range);
    d.unroll[at] = o->opt[i].unroll;
    d.lanes[at] = o->opt[i].lanes;
    d.partial[at] = o->opt[i].partial;
    d.rows[at] = o->opt[i].rows;
  }
  return d;
}

static void try(const Walk *w, const Dense *d) {
  Opts o = { 0 };
  uint32_t blocks = 0;
  for (int i = 0; i < d->nmoved; i++) {
    o.moved[o.nmoved++] = (Move){ w->ranges.p[d->moved[i].range], d->moved[i].block };
    if (d->moved[i].block) blocks |= 1u << d->moved[i].range;
  }
  for (int i = 0; i < (int)w->ranges.n; i++)
    if (d->unroll[i] > 1 || d->lanes[i] > 1 || blocks >> i & 1)
      o.opt[o.n++] = (Opt){ .range = w->ranges.p[i],
                            .unroll = d->unroll[i],
                            .lanes = d->lanes[i],
                            .partial = d->partial[i] && d->unroll[i] > 1,
                            .rows = d->rows[i] };
  for (int i = w->own - 1; i >= 0 && o.npeeled < MAX_PEELED; i--)
    if (d->peeled >> i & 1) o.peeled[o.npeeled++] = w->ranges.p[i];
  if (d->staged >= 0) o.staged = w->ranges.p[d->staged];
  if (d->isa_op) o.isa_op = d->isa_op, o.grouped = w->ranges.p[d->grouped];
  walk_offer(w, &o);
}

static int64_t copies_most(const Walk *w, const Dense *d, int at) {
  return range_extent(node(w->ir, w->ranges.p[at])) / d->lanes[at];
}

/* The next tile down that cuts n copies into at most EVEN equal parts, or almost equal ones; 0: there is none. 15 copies are cut
 * into tiles of 15, 8, 5, 4, 3 and 2. */
static int even_tile(int64_t n, int below) {
  for (int parts = 1; parts <= EVEN; parts++) {
    const int64_t tile = (n + parts - 1) / parts;
    if (tile < below) return tile > 1 ? (int)tile : 0;
  }
  return 0;
}

/* Tiles to try along a range, in increasing order: those of the list, and those that cut the range evenly. -> their number */
static int tiles_along(const Walk *w, const Dense *d, int at, int tile[TILES + EVEN]) {
  const int64_t most = copies_most(w, d, at);
  int even[EVEN], n = 0, all = 0;
  for (int x = LONGEST + 1; n < EVEN && (x = even_tile(most, x)) > 0;) even[n++] = x;
  for (int k = 0; k < TILES || n;) {
    const bool listed = k < TILES && (!n || tiles[k] <= even[n - 1]);
    const int x = listed ? tiles[k++] : even[--n];
    if (!all || x > tile[all - 1]) tile[all++] = x;
  }
  return all;
}

static void other_tiles(const Walk *w, const Dense *d, int at) {
  int tile[TILES + EVEN];
  const int most = tiles_along(w, d, at, tile);
  for (int k = 0; k < most; k++) {
    Dense x = *d;
    x.unroll[at] = tile[k];
    x.partial[at] = false;
    try(w, &x);
    x.partial[at] = at >= w->own;
    if (x.partial[at]) try(w, &x);
  }
}

/* Lanes on one range of the nest, or on one of a reduction; the tile moves along or stays. */
static void other_lanes(const Walk *w, const Dense *d, int at) {
  for (int lanes = 1; lanes * 4 <= w->t->vector_bytes; lanes *= 2) {
    Dense x = *d;
    int from = at;
    for (int i = 0; i < (int)w->ranges.n && lanes > 1; i++) {
      if (x.lanes[i] > 1 && i != at) from = i;
      x.lanes[i] = 1;
    }
    x.lanes[at] = lanes;
    try(w, &x);
    x.partial[at] = at >= w->own;
    if (x.partial[at]) try(w, &x);
    x.partial[at] = x.partial[from] = false;
    x.unroll[at] = d->unroll[from];
    x.unroll[from] = d->unroll[at];
    if (from != at) try(w, &x);
  }
}

static void drop_move(Dense *d, int k) {
  memmove(d->moved + k, d->moved + k + 1, (size_t)(--d->nmoved - k) * sizeof *d->moved);
}

/* d without panels, and without the range's blocks, or the move of its own loop */
static Dense without_move(const Dense *d, int range, bool blocks) {
  Dense x = *d;
  x.staged = -1;
  for (int k = x.nmoved; k-- > 0;)
    if (x.moved[k].range == range && !x.moved[k].block == !blocks) drop_move(&x, k);
  return x;
}

/* One range's loop outside of the others, which stay as they are in the nest, with panels of operands along it and without. */
static void other_outermost(const Walk *w, const Dense *d, int at) {
  Dense x = *d;
  x.nmoved = at > 0;
  x.moved[0].range = at;
  x.moved[0].block = 0;
  x.staged = -1;
  try(w, &x);
  x.staged = at;
  try(w, &x);
}

/* Without one of the moves, with a further range's loop inside of those that were moved, with blocks around all. */
static void other_orders(const Walk *w, const Dense *d) {
  for (int k = 0; k < d->nmoved; k++) {
    Dense x = *d;
    drop_move(&x, k);
    x.staged = -1;
    try(w, &x);
  }
  for (int i = 0; i < (int)w->ranges.n && d->nmoved < MAX_MOVES; i++) {
    const int64_t tile = (int64_t)d->unroll[i] * d->lanes[i];
    Dense x = without_move(d, i, false);
    x.moved[x.nmoved].range = i;
    x.moved[x.nmoved++].block = 0;
    if (i || x.nmoved > 1) try(w, &x);
    x = without_move(d, i, true);
    memmove(x.moved + 1, x.moved, (size_t)x.nmoved++ * sizeof *x.moved);
    x.moved[0].range = i;
    for (int64_t n = 4; n * tile < range_extent(node(w->ir, w->ranges.p[i])) && n <= 64; n *= 2) {
      x.moved[0].block = (int)(n * tile);
      try(w, &x);
    }
  }
}

/* Lanes of two ranges of the nest: all values of the inner one, and of the outer one as many as there is room for */
static void both_in_lanes(const Walk *w, const Dense *d, int outer, int inner) {
  Dense x = *d;
  const int most = w->t->vector_bytes / 4;
  const int64_t n = range_extent(node(w->ir, w->ranges.p[inner]));
  if (n < 2 || 2 * n > most) return;
  for (int i = 0; i < (int)w->ranges.n; i++) x.lanes[i] = 1;
  x.lanes[inner] = (int)n;
  x.lanes[outer] = most / (int)n;
  x.unroll[inner] = 1;
  try(w, &x);
}

static void other_units(const Walk *w, const Dense *d) {
  Dense x = *d;
  x.isa_op = NULL;
  if (d->isa_op) try(w, &x);
  for (x.isa_op = isa_op_table; x.isa_op->name; x.isa_op++)
    for (x.grouped = w->own; x.grouped < (int)w->ranges.n; x.grouped++)
      if ((w->t->features & x.isa_op->needs) == x.isa_op->needs && (x.isa_op != d->isa_op || x.grouped != d->grouped)) try(w, &x);
}

static int near_tile(const Walk *w, const Dense *d, int at, int by) { /* the tile `by` steps up the list */
  int tile[TILES + EVEN];
  const int most = tiles_along(w, d, at, tile);
  for (int k = 0; k < most; k++)
    if (tile[k] == d->unroll[at] && k + by >= 0 && k + by < most) return tile[k + by];
  return 0;
}

static void opposed_tiles(const Walk *w, const Dense *d, int a, int b) {
  static const int step[][2] = { { 1, -1 }, { -1, 1 }, { 2, -1 }, { -1, 2 }, { -2, 1 }, { 1, -2 }, { 1, 1 }, { -1, -1 } };
  for (size_t k = 0; k < sizeof step / sizeof *step; k++) {
    Dense x = *d;
    x.unroll[a] = near_tile(w, d, a, step[k][0]);
    x.unroll[b] = near_tile(w, d, b, step[k][1]);
    if (x.unroll[a] && x.unroll[b]) try(w, &x);
  }
}

/* ---- tiles that fill the registers ---- */

/* Most columns of sums beside so many rows. The shorter side's operands stay in registers, too. */
static int64_t columns_beside(const Target *t, int rows) {
  const int64_t fewer = t->vector_regs / (rows + 1);
  return fewer <= rows ? fewer : t->vector_regs / rows - 1;
}

/* Tiles of rows along a and of columns along b. For each height there are as many columns as the registers allow, or fewer that
 * leave no rest. Half of the registers must be in use. */
static void full_tiles(const Walk *w, const Dense *d, int a, int b) {
  Dense x = *d;
  int tile[TILES + EVEN];
  const int heights = tiles_along(w, d, a, tile);
  const int64_t most = copies_most(w, d, b);
  for (int i = 0; i < w->own; i++) x.unroll[i] = 1;
  for (int k = 0; k < heights && tile[k] <= copies_most(w, d, a); k++) {
    int64_t columns = columns_beside(w->t, tile[k]);
    if (columns > most) columns = most;
    x.unroll[a] = tile[k];
    for (int64_t n = columns; n > 0 && 2 * n * tile[k] >= w->t->vector_regs; n--) {
      x.unroll[b] = (int)n;
      if (n == columns || most % n == 0) try(w, &x);
    }
  }
}

void opts_full_tiles(IR *ir, Ref nest, const Target *t, const Opts *o, EachOpts each, void *arg) {
  Walk w = { .ir = ir, .nest = nest, .t = t, .own = node(ir, nest)->nsrc - 1, .each = each, .arg = arg };
  if (target_has_threads(t) || !t->vector_regs) return;
  nest_ranges(ir, nest, &w.ranges);
  if (w.ranges.n <= MAX_RANGES && (int)w.ranges.n > w.own) {
    const Dense d = dense_of(&w, o);
    int lanes = -1; /* the nest's range in lanes */
    for (int i = 0; i < w.own; i++)
      if (d.lanes[i] > 1) lanes = i;
    for (int i = 0; i < w.own && lanes >= 0; i++)
      for (int j = 0; j < w.own; j++)
        if (i != j && i != lanes && (j == lanes || copies_most(&w, &d, lanes) == 1)) full_tiles(&w, &d, i, j);
  }
  VEC_FREE(&w.ranges);
}

void opts_neighbours(IR *ir, Ref nest, const Target *t, const Opts *o, EachOpts each, void *arg) {
  if (target_has_threads(t)) {
    device_neighbours(ir, nest, t, o, each, arg);
    return;
  }
  Walk w = { .ir = ir, .nest = nest, .t = t, .own = node(ir, nest)->nsrc - 1, .each = each, .arg = arg };
  nest_ranges(ir, nest, &w.ranges);
  if (w.ranges.n <= MAX_RANGES) {
    const Dense d = dense_of(&w, o);
    int n = (int)w.ranges.n;
    for (int i = 0; i < n; i++) other_tiles(&w, &d, i);
    for (int i = 0; i < n; i++) other_lanes(&w, &d, i);
    for (int i = 0; i < w.own; i++)
      for (int j = i + 1; j < w.own; j++) both_in_lanes(&w, &d, i, j);
    for (int i = 0; i < w.own; i++) other_outermost(&w, &d, i);
    other_orders(&w, &d);
    for (int i = 0; i < w.own; i++) {
      Dense x = d;
      x.peeled ^= 1u << i;
      try(&w, &x);
    }
    other_units(&w, &d);
    for (int i = 0; i < n; i++)
      for (int j = i + 1; j < n; j++) opposed_tiles(&w, &d, i, j);
  }
  VEC_FREE(&w.ranges);
}

/* SPDX-License-Identifier: MIT */
/* device_neighbours.c: the schedules one step away from a schedule for many threads. A step changes a range's threads, copies or
 * lanes, or whether it is over blocks. Or it changes the size of a group, the depth of panels, the parts of sums, or the order
 * of loops. Or it moves threads from one range to another, or makes copies of them. opts_check says which are legal: it knows
 * what the device has. */
#include "walk.h"
#include <string.h>

enum { MOST_THREADS = 1024, MOST_LANES = 8, MOST_DEPTH = 64, MOST_PARTS = 64 };

typedef struct Dense { /* a schedule by place of range */
  int threads[MAX_RANGES], copies[MAX_RANGES], lanes[MAX_RANGES];
  bool grid[MAX_RANGES], partial[MAX_RANGES];
  int nmoved, moved[MAX_MOVES];
  int staged, depth, split, parts; /* ranges; -1: none */
} Dense;

static int64_t extent_of(const Walk *w, int at) {
  const Node *r = node(w->ir, w->ranges.p[at]);
  return r->op == OP_RANGE ? range_extent(r) : 1;
}

static Dense dense_of(const Walk *w, const Opts *o) {
  Dense d = { .staged = -1, .split = -1, .depth = o->depth, .parts = o->sum_parts };
  for (int i = 0; i < o->nmoved; i++)
    if (!o->moved[i].block) d.moved[d.nmoved++] = range_place(&w->ranges, o->moved[i].range);
  if (o->staged) d.staged = range_place(&w->ranges, o->staged);
  if (o->split) d.split = range_place(&w->ranges, o->split);
  for (int i = 0; i < MAX_RANGES; i++) d.threads[i] = d.copies[i] = d.lanes[i] = 1;
  for (int i = 0; i < o->n; i++) {
    const int at = range_place(&w->ranges, o->opt[i].range);
    d.threads[at] = o->opt[i].threads ? o->opt[i].threads : 1;
    d.copies[at] = o->opt[i].unroll;
    d.lanes[at] = o->opt[i].lanes;
    d.grid[at] = o->opt[i].grid;
    d.partial[at] = o->opt[i].partial;
  }
  return d;
}

static void try(const Walk *w, const Dense *d) {
  Opts o = { .depth = d->staged >= 0 ? d->depth : 0 };
  for (int i = 0; i < d->nmoved; i++) o.moved[o.nmoved++] = (Move){ w->ranges.p[d->moved[i]], 0 };
  for (int i = 0; i < (int)w->ranges.n; i++)
    if (d->threads[i] > 1 || d->copies[i] > 1 || d->lanes[i] > 1 || d->grid[i])
      o.opt[o.n++] = (Opt){ .range = w->ranges.p[i],
                            .unroll = d->copies[i],
                            .lanes = d->lanes[i],
                            .threads = d->threads[i] > 1 ? d->threads[i] : 0,
                            .grid = d->grid[i],
                            .partial = d->partial[i] && d->copies[i] > 1 };
  if (d->staged >= 0) o.staged = w->ranges.p[d->staged];
  if (d->split >= 0) o.split = w->ranges.p[d->split], o.sum_parts = d->parts;
  walk_offer(w, &o);
}

/* Where a range has threads, all ranges of the nest are over blocks. */
static void put_threads(const Walk *w, Dense *d, int at, int threads) {
  d->threads[at] = threads;
  for (int i = 0; i < w->own; i++) d->grid[i] = d->grid[i] || threads > 1;
}

static void other_threads(const Walk *w, const Dense *d, int at) {
  for (int n = 1; n <= MOST_THREADS && n < 2 * extent_of(w, at); n *= 2) {
    Dense x = *d;
    if (n == d->threads[at]) continue;
    put_threads(w, &x, at, n);
    try(w, &x);
  }
}

static void other_copies(const Walk *w, const Dense *d, int at) {
  static const int copies[] = { 1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 16 };
  for (size_t k = 0; k < sizeof copies / sizeof *copies; k++) {
    Dense x = *d;
    x.copies[at] = copies[k];
    x.partial[at] = false;
    try(w, &x);
    x.partial[at] = at >= w->own;
    if (x.partial[at]) try(w, &x);
  }
}

/* Lanes of one range of the nest. Copies or threads take the place of those that it had, or give way to new ones. */
static void other_lanes(const Walk *w, const Dense *d, int at) {
  for (int n = 1; n <= MOST_LANES; n *= 2) {
    Dense x = *d;
    if (n == d->lanes[at]) continue;
    for (int i = 0; i < w->own; i++) x.lanes[i] = 1;
    x.lanes[at] = n;
    try(w, &x);
    x.copies[at] = d->copies[at] * d->lanes[at] / n;
    if (x.copies[at] && x.copies[at] != d->copies[at]) try(w, &x);
    x.copies[at] = d->copies[at];
    x.threads[at] = d->threads[at] * d->lanes[at] / n;
    if (x.threads[at] && x.threads[at] != d->threads[at]) try(w, &x);
  }
}

static void other_panels(const Walk *w, const Dense *d) {
  Dense x = *d;
  x.staged = -1;
  if (d->staged >= 0) try(w, &x);
  for (x.staged = w->own; x.staged < (int)w->ranges.n; x.staged++)
    for (x.depth = 4; x.depth <= MOST_DEPTH; x.depth += x.depth < 16 ? 4 : x.depth < 32 ? 8 : 32)
      if (x.staged != d->staged || x.depth != d->depth) try(w, &x);
}

static void other_parts(const Walk *w, const Dense *d) {
  Dense x = *d;
  x.split = -1;
  if (d->split >= 0) try(w, &x);
  for (x.split = w->own; x.split < (int)w->ranges.n; x.split++)
    for (x.parts = 2; x.parts <= MOST_PARTS; x.parts++)
      if (extent_of(w, x.split) % x.parts == 0 && (x.split != d->split || x.parts != d->parts)) try(w, &x);
}

/* One range's loop outside of the others, or one of those that are where it was; all over blocks, or one not. */
static void other_orders(const Walk *w, const Dense *d) {
  for (int k = 0; k < d->nmoved; k++) {
    Dense x = *d;
    memmove(x.moved + k, x.moved + k + 1, (size_t)(--x.nmoved - k) * sizeof *x.moved);
    try(w, &x);
  }
  for (int i = 0; i < (int)w->ranges.n; i++) {
    Dense x = *d;
    x.nmoved = 1;
    x.moved[0] = i;
    if (i != w->own && (i || !w->own)) try(w, &x);
  }
  for (int i = 0; i < w->own; i++) {
    Dense x = *d;
    x.grid[i] = !x.grid[i];
    try(w, &x);
  }
}

/* a: twice as many threads or copies, b: half */
static void exchange(const Walk *w, const Dense *d, int a, int b) {
  Dense x = *d;
  if (d->threads[b] > 1 && d->threads[b] % 2 == 0) {
    put_threads(w, &x, a, 2 * d->threads[a]);
    x.threads[b] /= 2;
    try(w, &x);
    x = *d;
    x.threads[b] /= 2;
    x.copies[a] *= 2;
    try(w, &x);
  }
  if (d->copies[b] > 1 && d->copies[b] % 2 == 0) {
    x = *d;
    x.copies[b] /= 2;
    if (a != b) x.copies[a] *= 2;
    else put_threads(w, &x, a, 2 * d->threads[a]);
    try(w, &x);
  }
}

void device_neighbours(IR *ir, Ref nest, const Target *t, const Opts *o, EachOpts each, void *arg) {
  Walk w = { .ir = ir, .nest = nest, .t = t, .own = node(ir, nest)->nsrc - 1, .each = each, .arg = arg };
  nest_ranges(ir, nest, &w.ranges);
  if (w.ranges.n <= MAX_RANGES) {
    const Dense d = dense_of(&w, o);
    const int n = (int)w.ranges.n;
    for (int i = 0; i < n; i++) other_threads(&w, &d, i);
    for (int i = 0; i < n; i++) other_copies(&w, &d, i);
    for (int i = 0; i < w.own; i++) other_lanes(&w, &d, i);
    other_panels(&w, &d);
    other_parts(&w, &d);
    other_orders(&w, &d);
    for (int i = 0; i < n; i++)
      for (int j = 0; j < n; j++) exchange(&w, &d, i, j);
  }
  VEC_FREE(&w.ranges);
}

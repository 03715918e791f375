/* SPDX-License-Identifier: MIT */
/* stage.c: copies panels of operands into the order in which they are read: the opt STAGE(range).
 *
 * A reduction reads operands along a range again in every loop inside of that range. Each read suffers from the layout in
 * memory: lanes may be gathered, gated, or a page apart. So the panel of one tile is copied when the tile's loop is entered. It
 * goes to memory of the kernel (BUF_LOCAL, on the stack), with the reduction's loops outermost and the lanes innermost. pack.c
 * does the same with constants at compile time. A copy is a nest inside the nest; linearize.c puts its loops before those that
 * read it. Where lanes cross the contiguous dimension, a copy takes several contiguous values at a time. These are rows of
 * blocks that shuffles transpose (shuffle.c).
 *
 * needs: split ranges (opts.c)   gives: NEST(SINK(NEST(STORE, ranges of a panel) ..., STORE), ranges)
 * keeps: the value of every element */
#include "opts.h"
#include <string.h>

static bool is_loop(const IR *ir, Ref nest, Ref r) {
  return opens_range(ir, nest, r) && (range_kind(node(ir, r)) == RK_LOOP || range_kind(node(ir, r)) == RK_THREAD);
}

/* Loads of computed values in reductions, if they vary with one of by[0..n) */
static void panel_loads(IR *ir, Ref nest, const Ref *by, int n, Refs *out) {
  Refs all = { 0 }, body = { 0 };
  ir_toposort(ir, &nest, 1, &all);
  for (size_t i = 0; i < all.n; i++) {
    if (node(ir, all.p[i])->op != OP_RED) continue;
    body.n = 0;
    ir_toposort(ir, (Ref[]){ red_value(node(ir, all.p[i])) }, 1, &body);
    for (size_t j = 0; j < body.n; j++) {
      const Node *x = node(ir, body.p[j]);
      bool varies = false, reduced = false;
      if (x->op != OP_LOAD || ir->bufs.p[buffer_id(node(ir, load_buffer(x)))].kind == BUF_WEIGHT ||
          range_place(out, body.p[j]) >= 0)
        continue;
      for (int k = 0; k < n; k++) varies |= by[k] && ix_uses(ir, body.p[j], by[k]);
      for (int k = 1; k < node(ir, all.p[i])->nsrc; k++) reduced |= ix_uses(ir, body.p[j], node(ir, all.p[i])->src[k]);
      if (varies && reduced) VEC_PUSH(out, body.p[j]);
    }
  }
  VEC_FREE(&all);
  VEC_FREE(&body);
}

const char *stage_refuses(IR *ir, Ref nest, const Target *t, const Opts *o) {
  const Nest n = nest_open(ir, nest);
  const int64_t most = tunable(ir->ctx, stage_bytes);
  const int first = nest_batch(ir, &n);
  int at = 0;
  int64_t tile = 1, bytes = 0;
  Refs loads = { 0 }, ranges = { 0 };
  const char *wrong = NULL;
  while (at < n.n && n.ranges[at] != o->staged) at++;
  if (at == n.n) return "the range of panels is not a range of the nest";
  if (o->nmoved ? o->nmoved > 1 || o->moved[0].block || o->moved[0].range != o->staged : at > first)
    return "the range of panels is not the outermost";
  for (int i = 0; i < o->n; i++)
    if (o->opt[i].range == o->staged) tile = (int64_t)o->opt[i].unroll * o->opt[i].lanes;
  if (range_extent(node(ir, o->staged)) % tile && reduction_repeats(ir, nest, o->staged)) return "panels overlap";
  panel_loads(ir, nest, &o->staged, 1, &loads);
  if (!loads.n) wrong = "no operand of a reduction varies along the range of panels";
  for (size_t i = 0; i < loads.n && !wrong; i++) {
    int64_t elems = tile;
    ranges.n = 0;
    collect_ranges(ir, loads.p[i], &ranges);
    for (size_t k = 0; k < ranges.n && !wrong; k++) {
      if (ranges.p[k] == o->staged) continue;
      if (range_limit(node(ir, ranges.p[k]))) wrong = "a panel would end at a size of the run";
      if (is_loop(ir, nest, ranges.p[k])) { /* a copy inside of this loop would vary with it */
        int place = 0;
        while (n.ranges[place] != ranges.p[k]) place++;
        if (place >= first) wrong = "a panel would be read only once";
      } else if (!i64_mul(elems, range_extent(node(ir, ranges.p[k])), &elems)) wrong = "a panel is too large";
    }
    bytes += elems > most ? most + 1 : elems * dt_bytes((DType)node(ir, loads.p[i])->dt);
  }
  if (!wrong && (bytes > most || bytes > t->l2_bytes)) wrong = "a panel is too large";
  VEC_FREE(&ranges);
  VEC_FREE(&loads);
  return wrong;
}

/* Index of a panel's element from the values of its ranges, which are in the order of the copy. */
static Ref panel_index(IR *ir, const Ref *range, const int64_t *extent, int n) {
  Ref at = ix_const(ir, 0);
  for (int i = 0; i < n; i++) at = ix_add(ir, ix_mul(ir, at, extent[i]), range[i]);
  return at;
}

/* Number of contiguous values of a range that a copy into vectors takes at a time; 1: they are not contiguous, or the lanes
 * are. */
static int copied_row(IR *ir, Ref load, Ref range, Ref lane) {
  const Node *x = node(ir, load);
  const int64_t extent = range_extent(node(ir, range));
  int64_t step = 0, across = 1;
  Ref rest;
  if (load_gate(x) || !ix_split(ir, load_index(x), range, &step, &rest)) return 1;
  if (!ix_split(ir, load_index(x), lane, &across, &rest)) return 1;
  const int row = shuffle_row(dt_bytes((DType)x->dt), (int)range_extent(node(ir, lane)), extent);
  return step == 1 && across > 1 && extent % row == 0 && extent > row ? row : 1;
}

/* The load that reads the copy instead; *copy: the nest that makes the copy. */
static Ref stage_load(IR *ir, Ref nest, const Refs *all, Ref load, Ref *copy) {
  const Node *x = node(ir, load);
  Ref inside[MAX_RANGES], own[MAX_RANGES];
  int64_t extent[MAX_RANGES], elems = 1;
  int order[MAX_RANGES], n = 0;
  Refs ranges = { 0 };
  collect_ranges(ir, load, &ranges);
  for (size_t i = 0; i < ranges.n; i++) {
    if (is_loop(ir, nest, ranges.p[i])) continue;
    const int mine = walk_order(ir, all, nest, ranges.p[i]);
    int at = n++;
    CHECK(n <= MAX_RANGES);
    for (; at && order[at - 1] > mine; at--) order[at] = order[at - 1], inside[at] = inside[at - 1];
    order[at] = mine;
    inside[at] = ranges.p[i];
  }
  VEC_FREE(&ranges);
  const bool lanes = n > 1 && range_kind(node(ir, inside[n - 1])) == RK_VEC; /* and a loop around them */
  Nest c = { 0 };
  for (int i = 0; i < n; i++) {
    const int row = lanes && i < n - 1 ? copied_row(ir, load, inside[i], inside[n - 1]) : 1;
    extent[i] = range_extent(node(ir, inside[i]));
    elems *= extent[i];
    own[i] = c.ranges[c.n++] = range_make(ir, extent[i] / row, lanes && i == n - 1 ? RK_VEC : RK_LOOP);
    if (row == 1) continue;
    c.ranges[c.n++] = range_make(ir, row, RK_UNROLL);
    own[i] = ix_add(ir, ix_mul(ir, own[i], row), c.ranges[c.n - 1]);
  }
  const int64_t id = (int64_t)ir->bufs.n;
  VEC_PUSH(&ir->bufs, ((Buf){ .kind = BUF_LOCAL, .dt = (DType)x->dt, .elems = elems, .offset = -1 }));
  const Ref buf = node_make(ir, OP_BUFFER, (DType)x->dt, 1, 0, NULL, 1, &id, 0, NULL);
  const Ref value = ix_subst(ir, load, n, inside, own);
  c.store = node_make(ir, OP_STORE, (DType)x->dt, 1, 3, (Ref[]){ buf, panel_index(ir, own, extent, n), value }, 0, NULL, 0, NULL);
  *copy = nest_close(ir, &c);
  return node_make(ir, OP_LOAD, (DType)x->dt, 1, 2, (Ref[]){ buf, panel_index(ir, inside, extent, n) }, 0, NULL, 0, NULL);
}

/* Whether a loop of the nest reads the panels of a single tile again, inside of a loop that they vary with. The copy goes to
 * the outer one of these loops. */
static bool walked_again(IR *ir, Ref nest, const Refs *loads) {
  const Nest n = nest_open(ir, nest);
  bool varies = false, again = false;
  for (int k = 0; k < n.n; k++) {
    bool outside = false;
    for (size_t i = 0; i < loads->n; i++) outside |= ix_uses(ir, loads->p[i], n.ranges[k]);
    if (!is_loop(ir, nest, n.ranges[k])) continue;
    again = varies && !outside;
    varies |= outside;
  }
  return again;
}

static Ref stage_nest(IR *ir, Ref nest, const Ref *by, int n) {
  Refs loads = { 0 }, all = { 0 }, to = { 0 }, parts = { 0 };
  Nest x = nest_open(ir, nest);
  panel_loads(ir, nest, by, n, &loads);
  if (node(ir, by[0])->op != OP_RANGE && !walked_again(ir, nest, &loads)) loads.n = 0; /* one tile */
  ir_toposort(ir, &nest, 1, &all);
  for (size_t i = 0; i < loads.n; i++) {
    Ref copy;
    VEC_PUSH(&to, stage_load(ir, nest, &all, loads.p[i], &copy));
    VEC_PUSH(&parts, copy);
  }
  if (loads.n) {
    VEC_PUSH(&parts, ix_subst(ir, x.store, (int)loads.n, loads.p, to.p));
    x.store = node_make(ir, OP_SINK, DT_NONE, 1, (int)parts.n, parts.p, 0, NULL, 0, NULL);
  }
  VEC_FREE(&loads);
  VEC_FREE(&all);
  VEC_FREE(&to);
  VEC_FREE(&parts);
  return nest_close(ir, &x);
}

static void stage(Plan *p, NestState *s) {
  if (s->panel_depth) s->nest = stage_shared(p->ir, s->nest, p->in->target, s->panel[0], s->panel_depth, s->unit);
  else if (s->panel[0]) s->nest = stage_nest(p->ir, s->nest, s->panel, 3);
  memset(s->panel, 0, sizeof s->panel);
  s->panel_depth = 0;
}

void step_stage(Plan *p, Kernel *k) { each_state(p, k, stage); }

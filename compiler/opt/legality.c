/* SPDX-License-Identifier: MIT */
/* legality.c: decides whether a schedule may be applied to a nest. Opts that copy, group or cut have their own rules:
 * peel_refuses (peel.c), stage_refuses (stage.c), isa_op_refuses and isa_op_tiling (dot_ops.c), device_refuses and
 * block_refuses (device_opts.c). This file asks them, and checks the tiles, the order of loops and the schedules of remnants.
 * The steps turn every schedule that opts_check accepts into a correct program.
 *
 * needs: a canonical nest and opts   gives: NULL, or why they are refused   keeps: nests   breaks: nothing */
#include "dot_ops.h"
#include "tile_model.h"
#include <string.h>

static const char *check_range(const IR *ir, Ref range) {
  if (node(ir, range)->op != OP_RANGE) return "a range is a constant";
  const int64_t kind = range_kind(node(ir, range));
  if (kind == RK_THREAD) return "the range is over chunks, which all kernels of the group share";
  if (kind == RK_SERIAL) return "the range is a serial loop, which may store to one element twice";
  return kind == RK_LOOP || kind == RK_REDUCE ? NULL : "an instruction already uses the range";
}

static const char *check_one(IR *ir, Ref nest, const Target *t, const Opt *p, int *rests) {
  const char *wrong = check_range(ir, p->range);
  if (wrong) return wrong;
  const int64_t extent = range_extent(node(ir, p->range)), tile = (int64_t)p->lanes * p->unroll;
  const bool outer = opens_range(ir, nest, p->range);
  if (p->unroll < 1 || p->lanes < 1 || tile > MAX_TILE) return "a number is out of range";
  bool overlaps = outer && p->lanes <= extent && tile - p->lanes < extent && reduction_repeats(ir, nest, p->range);
  if (tile > extent && !overlaps) return "a tile is larger than its range";
  if (p->rows) return NULL;
  if (p->lanes & (p->lanes - 1)) return "the number of lanes is not a power of two";
  if (p->lanes > 1 && p->lanes * lane_bytes(ir, nest, t) > t->vector_bytes) return "the target has no such vectors";
  if (p->partial && outer) return "only a reduction has partial results";
  if (p->partial && p->unroll > ROW_VECTORS) return "there are more than 32 partial results";
  if (outer && extent % tile && ++*rests > tunable(ir->ctx, schedule_rests)) return "too many tiles leave a rest";
  return NULL;
}

/* A range's own loop can stand anywhere among those of its nest or reduction. Blocks consist of whole tiles. Values behind the
 * last block become a rest. */
static const char *check_move(IR *ir, Ref nest, const Opts *o, const Move *w, int *rests) {
  const char *wrong = check_range(ir, w->range);
  if (wrong) return wrong;
  const int64_t extent = range_extent(node(ir, w->range));
  const bool outer = opens_range(ir, nest, w->range);
  const Opt *p = NULL;
  for (int i = 0; i < o->n; i++)
    if (o->opt[i].range == w->range) p = &o->opt[i];
  if (!w->block) return NULL;
  if (range_limit(node(ir, w->range))) return "the range ends at a size of the run, so it has no blocks";
  if (w->block >= extent) return "a block is as long as its range, or longer";
  if (p && w->block % (p->unroll * p->lanes)) return "a tile does not divide its block";
  if (extent % w->block && (!outer || (p && p->rows) || reduction_repeats(ir, nest, w->range)))
    return "blocks do not divide their range";
  if (extent % w->block && ++*rests > tunable(ir->ctx, schedule_rests)) return "too many tiles leave a rest";
  return NULL;
}

/* A reduction permits one range in lanes, one partial range, and no lanes inside of lanes. */
static const char *check_reduction(IR *ir, Ref r, const Target *t, const Opts *o, const Refs *vec) {
  const Node *x = node(ir, r);
  int lanes = 0, partial = 0;
  const char *wrong = NULL;
  Refs body = { 0 };
  ir_toposort(ir, (Ref[]){ red_value(x) }, 1, &body);
  for (int i = 0; i < o->n && !wrong; i++) {
    const Opt *p = &o->opt[i];
    if (!opens_range(ir, r, p->range)) continue;
    if (keeps_order(ir, r, t) && (p->lanes > 1 || p->partial || range_extent(node(ir, p->range)) != p->unroll))
      wrong = "the terms of a sum must be added in order";
    lanes += p->lanes > 1 && !p->rows;
    partial += p->partial;
    for (size_t j = 0; j < vec->n && p->lanes > 1; j++)
      if (ix_uses(ir, red_value(x), vec->p[j])) wrong = "lanes inside of lanes";
    for (size_t j = 0; j < body.n && p->lanes > 1 && !wrong; j++)
      if (node(ir, body.p[j])->op == OP_RED && ix_uses(ir, body.p[j], p->range)) wrong = "lanes around another reduction";
  }
  for (int i = 0; i < o->nmoved && !wrong; i++)
    if (keeps_order(ir, r, t) && opens_range(ir, r, o->moved[i].range)) wrong = "the terms of a sum must be added in order";
  for (int k = 1, unrolled = 0; k < x->nsrc && keeps_order(ir, r, t) && !wrong; k++) {
    /* unrolled ranges are inside of all loops */
    bool whole = false;
    for (int i = 0; i < o->n; i++) whole |= o->opt[i].range == x->src[k];
    if (unrolled && !whole) wrong = "the terms of a sum must be added in order";
    unrolled |= whole;
  }
  if (lanes > 1 || partial > 1) wrong = "a reduction has two ranges in lanes or in parts";
  VEC_FREE(&body);
  return wrong;
}

/* Upper bound of the statements after expansion. Each node counts once for each copy of the ranges it depends on. An access
 * whose lanes are not contiguous counts once for each lane. */
double opts_statements(IR *ir, Ref nest, const Opts *o) {
  Refs all = { 0 };
  double total = 0;
  ir_toposort(ir, &nest, 1, &all);
  RefMap uses = { 0 };     /* bits: the opts on whose ranges a node depends */
  for (size_t i = 0; i < all.n; i++) {
    const Node *x = node(ir, all.p[i]);
    uint32_t own = 0, mask = 0;
    double copies = 1;
    for (int k = 0; k < o->n; k++)
      if (x->op == OP_RANGE ? o->opt[k].range == all.p[i] : x->op == OP_RED && opens_range(ir, all.p[i], o->opt[k].range))
        own |= 1u << k;
    for (int k = 0; k < x->nsrc; k++) mask |= refmap_get(&uses, x->src[k]);
    mask |= own;
    for (int k = 0; k < o->n; k++) {
      int64_t coef;
      Ref rest;
      if (!(mask >> k & 1)) continue;
      bool memory = x->op == OP_LOAD || x->op == OP_STORE;
      bool gathers = memory && !(ix_split(ir, access_index(x), o->opt[k].range, &coef, &rest) && coef == 1);
      copies *= o->opt[k].unroll * (!o->opt[k].rows && (gathers || x->dt == DT_I64) ? o->opt[k].lanes : 1.0);
    }
    if (x->op != OP_RANGE && x->op != OP_CONST && x->op != OP_BUFFER && x->op != OP_NEST) total += copies;
    if (x->op == OP_RED) mask &= ~own;
    if (mask) refmap_set(&uses, all.p[i], mask);
  }
  refmap_free(&uses);
  VEC_FREE(&all);
  return total;
}

/* Checks the tiles without the remnants. */
static const char *check_tiles(IR *ir, Ref nest, const Target *t, const Opts *given) {
  const char *wrong = NULL;
  int rests = 0, lanes = 1;
  Refs vec = { 0 };
  Opts grouped = *given, *o = &grouped;
  const bool tiles = o->isa_op && o->isa_op->depth > 1;
  Refs borders = { 0 };
  for (int i = 0; i < o->n; i++)
    if (o->opt[i].grid || o->opt[i].threads) return "the target has no blocks of threads";
  for (int i = 0; i < o->npeeled && !wrong; i++) wrong = peel_refuses(ir, nest, o->peeled[i]);
  if (wrong) return wrong;
  nest = peel_apply(ir, nest, o, &borders);
  VEC_FREE(&borders);
  for (int k = 1; k < node(ir, nest)->nsrc && o->threads; k++)
    if (range_kind(node(ir, node(ir, nest)->src[k])) == RK_THREAD) return "the kernels of a group share their chunks";
  if (o->isa_op && (wrong = isa_op_refuses(ir, nest, t, o->isa_op, o->grouped))) return wrong;
  if (tiles && (wrong = isa_op_tiling(ir, nest, o))) return wrong;
  nest = isa_op_apply(ir, nest, o);
  for (int i = 0; i < o->n && !wrong; i++) {
    wrong = o->opt[i].rows && !tiles ? "only tiles of a matrix instruction have rows"
                                     : check_one(ir, nest, t, &o->opt[i], &rests);
    if (o->opt[i].lanes == 1 || o->opt[i].rows || !opens_range(ir, nest, o->opt[i].range)) continue;
    VEC_PUSH(&vec, o->opt[i].range);
    lanes *= wrong ? 1 : o->opt[i].lanes;
    if (!wrong && lanes * lane_bytes(ir, nest, t) > t->vector_bytes) wrong = "the target has no such vectors";
  }
  for (int i = 0; i < o->n && !wrong && given->isa_op && given->isa_op->lanes == 1; i++)
    if (o->opt[i].lanes > 1) wrong = "the instruction has one sum";
  for (int i = 0; i < o->nmoved && !wrong; i++) wrong = check_move(ir, nest, o, &o->moved[i], &rests);
  if (!wrong && o->depth) wrong = "only a device has panels with a depth";
  if (!wrong && o->unit) wrong = "the target has no such instruction";
  if (!wrong && o->staged) wrong = stage_refuses(ir, nest, t, o);
  Refs all = { 0 };
  ir_toposort(ir, &nest, 1, &all);
  for (size_t i = 0; i < all.n && !wrong; i++)
    if (node(ir, all.p[i])->op == OP_RED) wrong = check_reduction(ir, all.p[i], t, o, &vec);
  VEC_FREE(&all);
  VEC_FREE(&vec);
  if (!wrong && opts_statements(ir, nest, o) > tunable(ir->ctx, schedule_statements)) wrong = "it makes too many statements";
  return wrong;
}

static const char *check_device(IR *ir, Ref nest, const Target *t, const Opts *o) {
  const Refs none = { 0 };
  const char *wrong = device_refuses(ir, nest, t, o);
  int64_t panels = 0;
  Refs all = { 0 };
  ir_toposort(ir, &nest, 1, &all);
  for (size_t i = 0; i < all.n && !wrong; i++)
    if (node(ir, all.p[i])->op == OP_RED) wrong = check_reduction(ir, all.p[i], t, o, &none);
  VEC_FREE(&all);
  if (!wrong && opts_statements(ir, nest, o) > tunable(ir->ctx, schedule_statements)) wrong = "it makes too many statements";
  if (!wrong && o->staged) wrong = stage_shared_refuses(ir, nest, o, &panels);
  return wrong ? wrong : block_refuses(ir, device_tile(ir, nest, o), t->dev, panels);
}

/* Whether two schedules differ only in their remnants. */
static bool same_tiles(const IR *ir, Ref nest, Opts a, Opts b) {
  Sb text[2] = { { 0 } };
  a.nparts = b.nparts = 0;
  opts_print(ir, nest, &a, &text[0]);
  opts_print(ir, nest, &b, &text[1]);
  const bool same = !strcmp(text[0].p, text[1].p);
  for (int i = 0; i < 2; i++) sb_free(&text[i]);
  return same;
}

static const char *check_whole(IR *ir, Ref nest, const Target *t, const Opts *o, bool follows, int depth);

/* A remnant whose schedule follows from the main nest's is as legal as that. Under a matrix instruction a rest may have no
 * other schedule. */
static const char *check_part(IR *ir, const Remnant *p, const Target *t, bool tiles, const char *text, int depth) {
  Opts o;
  const char *wrong = opts_scan(ir, p->nest, text, strlen(text), &o);
  if (wrong) return wrong;
  if (o.threads) return "a rest has no chunks of its own";
  const bool follows = !p->own && same_tiles(ir, p->nest, o, p->opts);
  if (tiles && !p->border && !follows) return "the rests of tiles cannot have a schedule of their own";
  return check_whole(ir, p->nest, t, &o, follows, depth + 1);
}

/* Checks both nests of split sums. The buffer between them does not exist yet, and no rule needs it. */
static const char *check_split(IR *ir, Ref nest, const Target *t, const Opts *o, int depth) {
  const char *wrong = target_has_threads(t) ? split_refuses(ir, nest, t, o) : "only a device can split sums";
  Opts first = *o, second;
  Ref adds;
  if (wrong) return wrong;
  if (o->nparts > 1 || o->nborders) return "split sums leave exactly one nest, the one that adds them";
  first.nparts = 0;
  nest = split_sums(ir, nest, &first, store_buffer(node(ir, nest_body(node(ir, nest)))), &adds);
  wrong = check_whole(ir, nest, t, &first, false, depth + 1);
  if (wrong || !o->nparts) return wrong;
  wrong = opts_scan(ir, adds, o->part[0], strlen(o->part[0]), &second);
  return wrong ? wrong : check_whole(ir, adds, t, &second, false, depth + 1);
}

/* A range that ends early may leave a rest for each lower height of a tile, and a schedule has room for few. */
static const char *check_rests(IR *ir, Ref nest, const Target *t, const Opts *o) {
  enum { OTHERS = 8 }; /* most rests and borders that are not for a height of a tile */
  Remnants parts = { 0 };
  Opts all = *o;
  int heights = 0;
  for (int i = 0; i < o->n; i++) heights += o->opt[i].unroll;
  if (!ir->symbols.n || heights <= MAX_PARTS - OTHERS) return NULL;
  sized_opts(ir, nest, &all);
  opts_parts(ir, nest, t, &all, &parts);
  const bool many = parts.n > MAX_PARTS;
  VEC_FREE(&parts);
  return many ? "its tiles leave too many rests along ranges of sizes" : NULL;
}

/* follows: the tiles are known to be legal */
static const char *check_whole(IR *ir, Ref nest, const Target *t, const Opts *o, bool follows, int depth) {
  if (depth >= MAX_DEPTH) return "schedules are nested too deeply";
  if (o->split) return check_split(ir, nest, t, o, depth);
  const char *wrong = target_has_threads(t) ? check_device(ir, nest, t, o) : follows ? NULL : check_tiles(ir, nest, t, o);
  bool tiles = false;
  int borders = 0;
  Remnants parts = { 0 };
  if (!wrong && !o->nparts && !target_has_threads(t)) wrong = check_rests(ir, nest, t, o);
  if (wrong || !o->nparts) return wrong;
  for (int i = 0; i < o->n; i++) tiles |= o->opt[i].rows;
  opts_parts(ir, nest, t, o, &parts);
  for (size_t i = 0; i < parts.n; i++) borders += parts.p[i].border;
  if ((int)parts.n != o->nparts || borders != o->nborders)
    wrong = "its borders and rests do not match the schedules given for them";
  for (int i = 0; i < o->nparts && !wrong; i++) wrong = check_part(ir, &parts.p[i], t, tiles, o->part[i], depth);
  VEC_FREE(&parts);
  return wrong;
}

const char *opts_check(IR *ir, Ref nest, const Target *t, const Opts *o) { return check_whole(ir, nest, t, o, false, 0); }

const char *opts_parse(IR *ir, Ref nest, const Target *t, const char *text, size_t n, Opts *o) {
  const char *wrong = opts_scan(ir, nest, text, n, o);
  int braces = 0;
  for (size_t i = 0; i < n && !wrong; i++)
    if (text[i] == '{' && ++braces > MAX_BRACES) wrong = "there are too many borders and rests";
  return wrong ? wrong : opts_check(ir, nest, t, o);
}

/* opts.c: applies a schedule to a nest. A range r of extent E under unroll U and lanes L becomes
 * r0 * (U * L) + u * L + lane. What U * L does not divide is left to a nest of its own, scheduled
 * anew for its smaller extent; a reduction leaves its rest as a second reduction. Before all that, groups
 * of a range's values go to a dot-product unit. */
#include "units.h"
#include <string.h>

enum { PARTS = 3 }; /* that a range is split in: tiles, copies, lanes */

/* Splits range r of extent n * tile below root, by what is in by then. */
static Ref split(IR *ir, Ref root, const Opt *o, Ref by[PARTS]) {
  const Node *r = node(ir, o->range);
  int64_t tile = (int64_t)o->unroll * o->lanes;
  by[0] = range_make(ir, r->arg[0] / tile, (RangeKind)r->arg[2]);
  by[1] = range_make(ir, o->unroll, o->partial ? RK_PARTIAL : RK_UNROLL);
  by[2] = range_make(ir, o->lanes, o->rows ? RK_ROW : RK_VEC);
  Ref expr = ix_add(ir, ix_add(ir, ix_mul(ir, by[0], tile), ix_mul(ir, by[1], o->lanes)), by[2]);
  return range_replace(ir, root, o->range, expr, PARTS, by);
}

/* A reduction that does not vary along r (a row's maximum) would be computed again by a nest of its
 * own for the rest. So the last tile, or the last vector of an only tile, is moved back to end with the
 * range: some elements are computed twice, to the same value. So are the rows of a matrix unit's tiles. Only for nests that do not compute in
 * place; those have no reduction. */
static Ref split_overlapping(IR *ir, Ref root, const Opt *o) {
  const Node *r = node(ir, o->range);
  int64_t tile = (int64_t)o->unroll * o->lanes, extent = r->arg[0];
  bool only = tile > extent;
  Ref by[3] = { range_make(ir, (extent + tile - 1) / tile, (RangeKind)r->arg[2]), range_make(ir, o->unroll, RK_UNROLL), range_make(ir, o->lanes, o->rows ? RK_ROW : RK_VEC) };
  Ref copy = ix_mul(ir, by[1], o->lanes), at = only ? copy : ix_mul(ir, by[0], tile);
  at = node_make(ir, OP_MIN, DT_I64, 1, 2, (Ref[]){ at, ix_const(ir, extent - (only ? o->lanes : tile)) }, 0, NULL, 0, NULL);
  return range_replace(ir, root, o->range, ix_add(ir, only ? at : ix_add(ir, at, copy), by[2]), 3, by);
}

bool reduction_repeats(IR *ir, Ref root, Ref r) {
  Refs all = { 0 };
  bool any = false;
  ir_toposort(ir, &root, 1, &all);
  for (size_t i = 0; i < all.n && !any; i++) any = node(ir, all.p[i])->op == OP_RED && !ix_uses(ir, all.p[i], r);
  VEC_FREE(&all);
  return any;
}

/* The part of root where r runs over [begin, end); *part becomes its range. */
static Ref restrict_range(IR *ir, Ref root, Ref r, int64_t begin, int64_t end, Ref *part) {
  *part = range_make(ir, end - begin, (RangeKind)node(ir, r)->arg[2]);
  return range_replace(ir, root, r, ix_add(ir, *part, ix_const(ir, begin)), 1, part);
}

static bool in_list(const IR *ir, Ref nest, Ref r) {
  const Node *x = node(ir, nest);
  for (int k = 1; k < x->nsrc; k++)
    if (x->src[k] == r) return true;
  return false;
}

/* Every reduction over r below root becomes one over the first `whole` and one over the rest, whose other ranges are
 * its own: two reductions are two nests of loops. */
static Ref split_reduction(IR *ir, Ref root, Ref r, int64_t whole, Ref *first, Ref *rest) {
  Refs all = { 0 };
  VEC(Ref) from = { 0 };
  VEC(Ref) to = { 0 };
  *rest = range_make(ir, node(ir, r)->arg[0] - whole, RK_REDUCE);
  *first = range_make(ir, whole, RK_REDUCE);
  ir_toposort(ir, &root, 1, &all);
  for (size_t i = 0; i < all.n; i++) {
    const Node *x = node(ir, all.p[i]);
    if (x->op != OP_RED || !in_list(ir, all.p[i], r)) continue;
    Ref parts[2] = { range_replace(ir, all.p[i], r, *first, 1, first),
                     range_replace(ir, all.p[i], r, ix_add(ir, *rest, ix_const(ir, whole)), 1, rest) };
    for (int k = 1; k < x->nsrc; k++) {
      if (x->src[k] == r) continue;
      Ref own = range_make(ir, node(ir, x->src[k])->arg[0], (RangeKind)node(ir, x->src[k])->arg[2]);
      parts[1] = range_replace(ir, parts[1], x->src[k], own, 1, &own);
    }
    VEC_PUSH(&from, all.p[i]);
    VEC_PUSH(&to, node_make(ir, (Op)x->arg[0], (DType)x->dt, 1, 2, parts, 0, NULL, 0, NULL));
  }
  root = ix_subst(ir, root, (int)from.n, from.p, to.p);
  VEC_FREE(&all);
  VEC_FREE(&from);
  VEC_FREE(&to);
  return root;
}

/* Splits a range that a tile divides, or a reduction, whose rest keeps as many vectors as it has, then narrower ones. */
static Ref split_whole(IR *ir, Ref root, Opt o, Ref by[PARTS]) {
  int64_t extent = node(ir, o.range)->arg[0], tile = (int64_t)o.unroll * o.lanes, whole = extent / tile * tile;
  if (whole < extent) {
    Ref rest;
    int vectors, lanes = o.lanes;
    while (lanes > extent - whole) lanes /= 2;
    vectors = (int)((extent - whole) / lanes);
    root = split_reduction(ir, root, o.range, whole, &o.range, &rest);
    if (lanes > 1) root = split_whole(ir, root, (Opt){ .range = rest, .unroll = vectors, .lanes = lanes, .partial = vectors > 1 }, by);
  }
  return split(ir, root, &o, by);
}

/* What a tile leaves of its lanes: as many vectors as there are, or one that is narrower */
static void narrow_lanes(Opt *p, int64_t rest) {
  while (p->lanes > rest) p->lanes /= 2;
  p->unroll = (int)(rest / p->lanes);
}

/* A rest along a range without lanes keeps the schedule of the others, so that it reads the same
 * packed weights; a rest of lanes is scheduled anew, but for that of a matrix unit, which narrower tiles do. */
static void apply(IR *ir, Ref nest, const Target *t, int depth, const Opts *given, Refs *nests, Sb *text) {
  Nest n = nest_open(ir, nest);
  Opts o = given ? *given : heuristic_opts(ir, &n, t);
  VEC(Ref) rests = { 0 };
  VEC(Opts) how = { 0 };

  if (depth) sb_puts(text, " rest");
  opts_print(ir, nest, &o, text);
  if (o.outermost && in_list(ir, nest, o.outermost)) {
    int at = 0, to = nest_batch(ir, &n);
    while (n.ranges[at] != o.outermost) at++;
    if (at > to) memmove(n.ranges + to + 1, n.ranges + to, (size_t)(at - to) * sizeof *n.ranges);
    if (at > to) n.ranges[to] = o.outermost;
    nest = nest_close(ir, &n);
  }
  nest = units_apply(ir, nest, &o);
  bool tiles = false;
  for (int i = 0; i < o.n; i++) tiles |= o.opt[i].rows;
  for (int i = 0; i < o.n; i++) { /* rests first: they are scheduled from whole ranges */
    Opt *p = &o.opt[i];
    int64_t extent = node(ir, p->range)->arg[0], tile = (int64_t)p->unroll * p->lanes, whole = extent / tile * tile;
    if (whole == extent || !in_list(ir, nest, p->range) || p->rows || reduction_repeats(ir, nest, p->range)) continue;
    CHECK(depth < 16);
    Opts rest = o;
    rest.threads = 0;
    bool moved = o.outermost == p->range, staged = o.staged == p->range;
    VEC_PUSH(&rests, restrict_range(ir, nest, p->range, whole, extent, &rest.opt[i].range));
    const Ref left = node(ir, rest.opt[i].range)->op == OP_RANGE ? rest.opt[i].range : 0;
    if (moved) rest.outermost = left;
    if (staged) rest.staged = left;
    if (p->lanes > 1 && !tiles) rest.n = -1;
    else if (node(ir, rest.opt[i].range)->op != OP_RANGE) rest.opt[i] = rest.opt[--rest.n];
    else if (p->lanes > 1) narrow_lanes(&rest.opt[i], extent - whole);
    else rest.opt[i].unroll = (int)(extent - whole);
    VEC_PUSH(&how, rest);
    nest = restrict_range(ir, nest, p->range, 0, whole, &p->range);
    if (moved) o.outermost = p->range;
    if (staged) o.staged = p->range;
  }
  Ref panel[PARTS] = { o.staged };
  for (int i = 0; i < o.n; i++) {
    Opt *p = &o.opt[i];
    Ref by[PARTS];
    int64_t extent = node(ir, p->range)->arg[0], tile = (int64_t)p->unroll * p->lanes, whole = extent / tile * tile;
    bool overlap = whole < extent && in_list(ir, nest, p->range);
    nest = overlap ? split_overlapping(ir, nest, p) : split_whole(ir, nest, *p, by);
    if (p->range == o.staged) memcpy(panel, by, sizeof panel);
  }
  if (o.staged) nest = stage_nest(ir, nest, panel, PARTS);
  VEC_PUSH(nests, nest);
  for (size_t i = 0; i < rests.n; i++) apply(ir, rests.p[i], t, depth + 1, how.p[i].n < 0 ? NULL : &how.p[i], nests, text);
  VEC_FREE(&rests);
  VEC_FREE(&how);
}

void opts_apply(IR *ir, Ref nest, const Target *t, const Opts *o, Refs *nests, Sb *text) { apply(ir, nest, t, 0, o, nests, text); }

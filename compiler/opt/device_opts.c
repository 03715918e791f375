/* SPDX-License-Identifier: MIT */
/* device_opts.c: schedules for devices: their legality, and their effect on ranges.
 *
 * A nest's range of extent E under LOCAL L and copies U becomes (r0 * U + u) * L + t. t counts threads of a block, which are
 * neighbours in memory if the range is contiguous. r0 is a loop of each thread, or under GRID a loop over blocks. GROUP splits
 * a reduction's range in the same way: each thread of the group sums its values, then the group adds these sums (linearize.c).
 * Lanes V of a nest's range are its innermost part: (...) * V + v, and the opts apply to the remaining E / V values. If the
 * product does not divide E, the last values are behind the end of the range. Gates keep their accesses from memory, and a
 * reduction takes its identity for them. No barrier is inside of such a gate.
 *
 * Under MMA, a range that is a side of the unit's matrices becomes ((r0 * U + u) * L + w) * S + s. s is of kind frag and counts
 * the S values of the matrix; w counts warps. The threads of a warp are a separate range, the innermost one of the block.
 * expand.c knows which thread has which element.
 *
 * needs: a canonical nest and opts   gives: NULL, or why they are refused; a nest over blocks and threads, and these
 * keeps: the value of every element, up to the order in which floats are summed   breaks: opts, which are applied by then */
#include "../target/launch.h"
#include "opts.h"

/* ---- ranges and gates ---- */
static Ref identity_of(IR *ir, const Node *red) {
  return c_bits(ir, (DType)red->dt, reduce_identity(red_op(red), (DType)red->dt));
}

/* The nest with gates: values of r from `extent` on have no effect */
static Ref gate_range(IR *ir, Ref nest, Ref r, int64_t extent) {
  const Ref gate = ix_lt(ir, r, ix_const(ir, extent));
  Varying v;
  RefMap now = { 0 };
  uint64_t bit = 0;
  varying_open(ir, nest, &v);
  for (size_t i = 0; i < v.ranges.n; i++)
    if (v.ranges.p[i] == r) bit = UINT64_C(1) << i;
  for (size_t i = 0; i < v.nodes.n; i++) {
    const Node *x = node(ir, v.nodes.p[i]);
    Refs src = { 0 };
    for (int k = 0; k < x->nsrc; k++) VEC_PUSH(&src, refmap_get(&now, x->src[k]));
    const bool access = is_access(x) && varying_of(&v, access_index(x)) & bit;
    Ref to = x->nsrc ? node_with_src(ir, v.nodes.p[i], src.p) : v.nodes.p[i];
    if (access) to = gated_access(ir, x, src.p, gate);
    if (x->op == OP_RED && opens_range(ir, v.nodes.p[i], r)) {
      src.p[0] = node_make(ir, OP_WHERE, (DType)x->dt, 1, 3, (Ref[]){ gate, src.p[0], identity_of(ir, x) }, 0, NULL, 0, NULL);
      to = node_with_src(ir, v.nodes.p[i], src.p);
    }
    refmap_set(&now, v.nodes.p[i], to);
    VEC_FREE(&src);
  }
  nest = refmap_get(&now, nest);
  refmap_free(&now);
  varying_free(&v);
  return nest;
}

/* Splits the range into tiles of lanes, then applies the opt to the tiles. */
static Ref split_lanes(IR *ir, Ref nest, const Opt *o) {
  const Ref r = o->range, by[2] = { range_new(ir, range_extent(node(ir, r)) / o->lanes, range_kind(node(ir, r))),
                                    range_make(ir, o->lanes, RK_VEC) };
  Opt rest = *o;
  rest.range = by[0];
  rest.lanes = 1;
  return device_split(ir, range_replace(ir, nest, r, ix_add(ir, ix_mul(ir, by[0], o->lanes), by[1]), 2, by), &rest, 1);
}

Ref device_split(IR *ir, Ref nest, const Opt *o, int side) {
  if (o->lanes > 1) return split_lanes(ir, nest, o);
  const bool outer = opens_range(ir, nest, o->range);
  const int64_t extent = range_extent(node(ir, o->range)), threads = o->threads ? o->threads : 1;
  const int64_t tile = threads * o->unroll * side;
  const int64_t tiles = (extent + tile - 1) / tile;
  const RangeKind kind = range_kind(node(ir, o->range));
  Ref r = o->range;
  if (tiles * tile > extent) {
    r = range_new(ir, tiles * tile, kind);
    nest = gate_range(ir, range_replace(ir, nest, o->range, r, 1, &r), r, extent);
  }
  const Ref by[4] = { range_make(ir, tiles, o->grid ? RK_GRID : kind),
                      range_make(ir, o->unroll, o->partial ? RK_PARTIAL : RK_UNROLL),
                      range_make(ir, threads, outer ? RK_LOCAL : RK_GROUP), range_make(ir, side, RK_FRAG) };
  const Ref copy = ix_add(ir, ix_mul(ir, by[0], o->unroll), by[1]);
  const Ref at = ix_add(ir, ix_mul(ir, copy, threads), by[2]);
  return range_replace(ir, nest, r, ix_add(ir, ix_mul(ir, at, side), by[3]), side > 1 ? 4 : 3, by);
}

bool unit_turned(const IR *ir, Ref nest, const Opts *o) {
  const Node *x = node(ir, nest);
  int place[2] = { 0, 0 };
  for (int k = 1; k < x->nsrc && o->unit; k++)
    for (int i = 0; i < 2; i++)
      if (x->src[k] == o->side[i]) place[i] = k;
  return place[1] < place[0];
}

Ref device_warp(IR *ir, Ref nest, const MatrixUnit *u, bool turned) {
  const Nest n = nest_open(ir, nest);
  Nest to = { .store = n.store };
  Ref side[2];
  int sides = 0;
  if (!u) return nest;
  for (int k = 0; k < n.n; k++) {
    if (range_kind(node(ir, n.ranges[k])) == RK_FRAG) side[sides++] = n.ranges[k];
    else to.ranges[to.n++] = n.ranges[k];
  }
  CHECK(sides == 2 && n.n < MAX_RANGES);
  for (int k = 0; k < 2; k++) to.ranges[to.n++] = side[turned ? 1 - k : k];
  to.ranges[to.n++] = range_new(ir, u->threads, RK_LOCAL);
  return nest_close(ir, &to);
}

/* A reduction over a group: each thread's part becomes a reduction inside of the group's. */
static Ref part_group(IR *ir, Ref r, void *arg) {
  (void)arg;
  const Node *x = node(ir, r);
  Ref own[MAX_RANGES + 1] = { red_value(x) }, group = 0;
  int n = 1;
  for (int k = 1; k < x->nsrc; k++) {
    if (range_kind(node(ir, x->src[k])) == RK_GROUP) group = x->src[k];
    else own[n++] = x->src[k];
  }
  if (!group || n == 1) return 0;
  const Ref mine = node_make(ir, OP_RED, (DType)x->dt, x->lanes, n, own, x->narg, x->arg, 0, NULL);
  return node_make(ir, OP_RED, (DType)x->dt, x->lanes, 2, (Ref[]){ mine, group }, x->narg, x->arg, 0, NULL);
}

Ref device_order(IR *ir, Ref nest) {
  static const Rule parts[] = { { OP_RED, "group", part_group }, { OP_NONE, NULL, NULL } };
  ir_rewrite(ir, parts, NULL, &nest, 1, NULL);
  const Nest n = nest_open(ir, nest);
  Nest to = { .store = n.store };
  for (int turn = 0; turn < 3; turn++)
    for (int k = 0; k < n.n; k++) {
      const RangeKind kind = range_kind(node(ir, n.ranges[k]));
      if ((kind == RK_GRID ? 0 : kind == RK_LOCAL ? 1 : 2) == turn) to.ranges[to.n++] = n.ranges[k];
    }
  return nest_close(ir, &to);
}

/* ---- threads of a block ---- */
static Ref group_of(const IR *ir, Ref r) { /* the range of a group's sum; 0: not such a sum */
  const Node *x = node(ir, r);
  return x->op == OP_RED && range_kind(node(ir, red_range(x, 0))) == RK_GROUP ? red_range(x, 0) : 0;
}

/* The next range over a group without threads. Outer reductions come first: inner ones vary with their threads. */
static Ref next_group(const IR *ir, Ref nest, const BlockThreads *b) {
  Refs all = { 0 };
  Ref found = 0;
  ir_toposort(ir, &nest, 1, &all);
  for (size_t i = all.n; i-- > 0 && !found;) {
    const Ref g = group_of(ir, all.p[i]);
    bool done = !g;
    for (int k = 0; k < b->n && g; k++) done |= b->range[k] == g;
    if (!done) found = g;
  }
  VEC_FREE(&all);
  return found;
}

/* Threads that can serve as the group: no sum over the group varies with them, and they are as many. They belong to ranges of
 * the nest or to another group. -> the number of their ranges; 0: none */
static int group_members(const IR *ir, Ref nest, Ref group, const BlockThreads *b, Ref *member) {
  const int64_t size = range_extent(node(ir, group));
  uint64_t varies = 0;
  int64_t threads = 1;
  int n = 0;
  Ref other = 0;
  Varying v;
  varying_open(ir, nest, &v);
  for (size_t i = 0; i < v.nodes.n; i++)
    if (group_of(ir, v.nodes.p[i]) == group) varies |= varying_of(&v, v.nodes.p[i]);
  for (int k = 0; k < b->n; k++) {
    const Node *r = node(ir, b->range[k]);
    bool told = false;
    for (size_t i = 0; i < v.ranges.n; i++) told |= v.ranges.p[i] == b->range[k] && varies >> i & 1;
    if (told) continue;
    if (range_kind(r) == RK_GROUP && range_extent(r) == size) other = b->range[k];
    if (range_kind(r) != RK_LOCAL) continue;
    member[n++] = b->range[k];
    threads *= range_extent(r);
  }
  varying_free(&v);
  if (n && threads == size) return n;
  member[0] = other;
  return other != 0;
}

/* Values of the ranges as one number; the last range is fastest */
static Ref place_of(IR *ir, const Ref *range, int n) {
  Ref at = ix_const(ir, 0);
  for (int k = 0; k < n; k++) at = ix_add(ir, ix_mul(ir, at, range_extent(node(ir, range[k]))), range[k]);
  return at;
}

/* Whether the group's loads are contiguous along the innermost range of other threads. Then those threads are neighbours in a
 * warp, and the group's threads are strided. */
static bool others_are_neighbours(IR *ir, Ref nest, Ref group, const BlockThreads *b) {
  Refs all = { 0 };
  bool yes = false;
  if (!b->n) return false;
  ir_toposort(ir, &nest, 1, &all);
  for (size_t i = 0; i < all.n && !yes; i++) {
    int64_t coef;
    Ref rest;
    const Node *x = node(ir, all.p[i]);
    yes = x->op == OP_LOAD && ix_uses(ir, load_index(x), group) &&
          ix_split(ir, load_index(x), b->range[b->n - 1], &coef, &rest) && coef == 1;
  }
  VEC_FREE(&all);
  return yes;
}

static void add_group(IR *ir, Ref nest, Ref group, BlockThreads *b) {
  const int at = others_are_neighbours(ir, nest, group, b) ? 0 : b->n;
  CHECK(b->n < MAX_RANGES);
  for (int k = b->n++; k > at; k--) b->range[k] = b->range[k - 1];
  b->range[at] = group;
}

/* Adds up shared memory: for sums of groups, and for panels of operands */
static void count_shared(const IR *ir, Ref nest, BlockThreads *b) {
  Refs all = { 0 };
  ir_toposort(ir, &nest, 1, &all);
  for (size_t i = 0; i < all.n; i++) {
    const Node *x = node(ir, all.p[i]);
    int64_t group = 1;
    const Buf *buf = x->op == OP_BUFFER ? &ir->bufs.p[buffer_id(x)] : NULL;
    if (buf && buf->kind == BUF_SHARED) b->shared_bytes += shared_bytes(buf->dt, buf->elems);
    if (x->op != OP_RED || !range_is_thread(range_kind(node(ir, red_range(x, 0))))) continue;
    for (int k = 1; k < x->nsrc; k++) group *= range_extent(node(ir, x->src[k]));
    b->shared_bytes += shared_bytes((DType)x->dt, b->threads);
    b->shared_bytes += shared_bytes((DType)x->dt, b->threads / group * group_firsts(group));
  }
  VEC_FREE(&all);
}

Ref block_threads(IR *ir, Ref nest, BlockThreads *b) {
  const Node *x = node(ir, nest);
  *b = (BlockThreads){ .threads = 1, .blocks = 1 };
  for (int k = 1; k < x->nsrc; k++) {
    const Node *r = node(ir, x->src[k]);
    if (range_kind(r) == RK_LOCAL) b->range[b->n++] = x->src[k];
    if (range_kind(r) == RK_GRID && !i64_mul(b->blocks, range_extent(r), &b->blocks)) b->blocks = INT64_MAX;
  }
  for (Ref g; (g = next_group(ir, nest, b));) {
    Ref member[MAX_RANGES];
    const int n = group_members(ir, nest, g, b, member);
    if (n) nest = range_replace(ir, nest, g, place_of(ir, member, n), n, member);
    else add_group(ir, nest, g, b);
  }
  for (int k = 0; k < b->n; k++)
    if (!i64_mul(b->threads, range_extent(node(ir, b->range[k])), &b->threads)) b->threads = INT64_MAX;
  count_shared(ir, nest, b);
  return nest;
}

/* ---- what is refused ---- */
static const char *check_kind(const IR *ir, Ref range) {
  if (node(ir, range)->op != OP_RANGE) return "a range is a constant";
  if (!range_extent(node(ir, range))) return "a range has no values";
  return range_kind(node(ir, range)) == RK_SERIAL ? "the range is a serial loop, which may store to one element twice" : NULL;
}

/* Lanes are for elements that a thread loads and stores as contiguous vectors. */
static const char *check_lanes(IR *ir, Ref nest, const Device *d, const Opt *p) {
  const char *wrong = NULL;
  Refs all = { 0 };
  if (!opens_range(ir, nest, p->range)) return "on a device only a range of the nest can be in lanes";
  if (p->lanes & (p->lanes - 1)) return "the number of lanes is not a power of two";
  if (range_extent(node(ir, p->range)) % p->lanes) return "lanes do not divide their range";
  ir_toposort(ir, &nest, 1, &all);
  for (size_t i = 0; i < all.n && !wrong; i++) {
    const Node *x = node(ir, all.p[i]);
    if (x->op == OP_RED) wrong = "on a device a nest with reductions cannot have lanes";
    if (is_access(x) && p->lanes * dt_bytes((DType)node(ir, access_buffer(x))->dt) > d->load_bytes &&
        ix_uses(ir, access_index(x), p->range))
      wrong = "the device cannot load such vectors";
  }
  VEC_FREE(&all);
  return wrong;
}

static const char *check_opt(IR *ir, Ref nest, const Device *d, const Opt *p, int side) {
  const char *wrong = check_kind(ir, p->range);
  if (p->rows) return "on a device there are no tiles with rows";
  if (!wrong && p->lanes > 1) wrong = check_lanes(ir, nest, d, p);
  if (wrong) return wrong;
  const int64_t extent = range_extent(node(ir, p->range)) / p->lanes, threads = (p->threads ? p->threads : 1) * side;
  const bool outer = opens_range(ir, nest, p->range);
  if (p->grid && !outer) return "only a range of the nest can be split over blocks";
  if (p->partial && outer) return "only a reduction has partial results";
  if (p->partial && p->unroll > ROW_VECTORS) return "there are more than 32 partial results";
  if (!outer && p->threads & (p->threads - 1)) return "the number of threads of a group is not a power of two";
  if (threads >= 2 * extent)
    return side > 1 ? "there are more rows or columns than values of the range"
                    : "there are more threads than values of the range";
  if ((p->unroll - 1) * threads >= extent) return "a copy would be empty";
  return NULL;
}

/* Checks a reduction against the opts of its own ranges */
static const char *check_sum(const IR *ir, Ref r, const Target *t, const Opts *o) {
  const char *wrong = NULL;
  int groups = 0;
  for (int i = 0; i < o->n; i++) {
    const Opt *p = &o->opt[i];
    if (!p->threads || !opens_range(ir, r, p->range)) continue;
    if (keeps_order(ir, r, t)) wrong = "the terms of a sum must be added in order";
    if (groups++) wrong = "a reduction has two ranges in groups";
  }
  return wrong;
}

const char *block_refuses(IR *ir, Ref nest, const Device *d, int64_t panels) {
  BlockThreads b;
  int64_t grid = 1;
  int grids = 0;
  nest = block_threads(ir, nest, &b);
  const Nest n = nest_open(ir, nest);
  for (int k = 0; k < n.n; k++) grids += range_kind(node(ir, n.ranges[k])) == RK_GRID;
  for (int k = 0, at = grids; k < grids; k++) { /* up to three loops are dimensions of the grid, the last one x */
    grid = grids > 3 ? b.blocks : range_extent(node(ir, n.ranges[k]));
    if (grid > d->max_grid[grids > 3 ? 0 : --at]) return "it makes more blocks than the device permits";
  }
  if (b.threads > d->max_threads) return "it makes more threads of a block than the device permits";
  if (b.shared_bytes + panels > d->shared_bytes)
    return panels ? "panels take more shared memory than the device has"
                  : "its groups take more shared memory than the device has";
  return NULL;
}

static bool device_has(const Device *d, const MatrixUnit *u) {
  const MatrixUnit *own;
  for (int i = 0; (own = device_matrix_unit(d, i)); i++)
    if (own == u) return true;
  return false;
}

/* Whether a factor has the unit's type, perhaps before a conversion, and varies with the range of side k but not with the other
 * side. */
static bool factor_fits(IR *ir, const Opts *o, Ref factor, int k) {
  return unit_factor(ir, factor, k ? o->unit->b : o->unit->a) && ix_uses(ir, factor, o->side[k]) &&
         !ix_uses(ir, factor, o->side[!k]);
}

/* Why the schedule may not use its matrix unit; NULL: it may */
static const char *check_unit(IR *ir, Ref nest, const Target *t, const Opts *o) {
  const MatrixUnit *u = o->unit;
  StagedSum p;
  if (!device_has(t->dev, u)) return "the device has no such matrix instruction";
  if (!o->staged || !o->depth) return "a matrix instruction needs panels, and there are none";
  if (o->depth % u->k) return "the depth of panels is not a multiple of the matrix instruction's depth";
  const char *wrong = staged_product(ir, nest, o->staged, &p);
  if (wrong) return wrong;
  if (o->side[0] == o->side[1]) return "rows and columns are the same range";
  for (int k = 0; k < 2; k++)
    if (!opens_range(ir, nest, o->side[k])) return "rows and columns must be ranges of the nest";
  if (keeps_order(ir, p.red, t)) return "the terms of a sum must be added in order";
  if (node(ir, p.red)->dt != u->c) return "the matrix instruction has no sums of this type";
  for (int i = 0; i < o->n; i++) {
    if (o->opt[i].lanes > 1 && unit_side(o, o->opt[i].range) > 1) return "rows or columns are in lanes";
    if (o->opt[i].threads && !opens_range(ir, nest, o->opt[i].range))
      return "a nest with groups cannot have a matrix instruction";
  }
  for (int k = 0; k < 2; k++)
    if (factor_fits(ir, o, p.factor[0], k) && factor_fits(ir, o, p.factor[1], !k)) return NULL;
  for (int k = 0; k < 2; k++)
    if (!unit_factor(ir, p.factor[k], u->a) && !unit_factor(ir, p.factor[k], u->b))
      return "the matrix instruction has no operands of this type";
  return "rows and columns must belong to one operand each";
}

const char *device_refuses(IR *ir, Ref nest, const Target *t, const Opts *o) {
  const char *wrong = NULL;
  int lanes = 0;
  Refs all = { 0 };
  if (o->isa_op) return "a device has no such instruction";
  if (o->npeeled || o->nparts) return "a schedule for a device has gates in place of borders and rests";
  if (o->threads) return "a device has no chunks";
  if (o->unit && (wrong = check_unit(ir, nest, t, o))) return wrong;
  for (int i = 0; i < o->n && !wrong; i++) {
    wrong = check_opt(ir, nest, t->dev, &o->opt[i], unit_side(o, o->opt[i].range));
    if (!wrong && o->opt[i].lanes > 1 && lanes++) wrong = "two ranges are in lanes";
  }
  for (int i = 0; i < o->nmoved && !wrong; i++)
    wrong = o->moved[i].block ? "blocks of a device are made of threads and copies" : check_kind(ir, o->moved[i].range);
  ir_toposort(ir, &nest, 1, &all);
  for (size_t i = 0; i < all.n && !wrong; i++)
    if (node(ir, all.p[i])->op == OP_RED) wrong = check_sum(ir, all.p[i], t, o);
  VEC_FREE(&all);
  return wrong;
}

/* SPDX-License-Identifier: MIT */
/* device_heuristic.c: chooses the schedule of a nest on a device, by the device's facts alone. There are three kinds.
 *
 * - Rows. All elements of a row use the result of a reduction, as in softmax or normalisation. A block takes a row: its threads
 *   share the reductions, then the elements. So nothing is summed twice, and intermediate results stay out of memory.
 * - Sums. There are too few results to fill the device, or each thread would walk memory alone. A group of threads, or a warp,
 *   shares each sum. Neighbouring threads take contiguous terms.
 * - Elements. Threads go along the contiguous dimension, so that a warp asks for whole segments. A thread takes several
 *   elements if there are far more than the device has threads. They are lanes if all accesses are to whole vectors, else
 *   copies.
 *
 * Any other nest has no opts: each thread computes one element. opts_check judges each schedule that is tried.
 *
 * needs: a canonical nest   gives: opts that opts_check accepts, or none   keeps: nests   breaks: nothing */
#include "opts.h"

enum { COPIES = 4 };       /* elements of a thread: all are requested before the first is needed; as f32 lanes, 16 bytes */

typedef struct Sum {
  Ref red;
  uint64_t varies;         /* bits: ranges of the nest that the result varies with */
  int64_t terms;
} Sum;

typedef struct Shape {
  IR *ir;
  const Target *t;
  Ref nest;
  Nest n;
  int64_t extent[MAX_RANGES], values; /* extents of the nest's ranges, and their product */
  VEC(Sum) sums;
} Shape;

static bool open_shape(Shape *s) {
  Varying v;
  bool plain = true;
  s->n = nest_open(s->ir, s->nest);
  s->values = 1;
  for (int k = 0; k < s->n.n; k++) {
    const Node *r = node(s->ir, s->n.ranges[k]);
    s->extent[k] = range_extent(r);
    plain &= range_kind(r) == RK_LOOP && s->extent[k] > 0 && i64_mul(s->values, s->extent[k], &s->values);
  }
  varying_open(s->ir, s->nest, &v);
  for (size_t i = 0; i < v.nodes.n && plain; i++) {
    const Node *x = node(s->ir, v.nodes.p[i]);
    Sum sum = { .red = v.nodes.p[i], .varies = varying_of(&v, v.nodes.p[i]), .terms = 1 };
    if (x->op != OP_RED) continue;
    for (int k = 1; k < x->nsrc && plain; k++) plain = i64_mul(sum.terms, range_extent(node(s->ir, x->src[k])), &sum.terms);
    plain &= sum.terms > 0;
    VEC_PUSH(&s->sums, sum);
  }
  varying_free(&v);
  return plain;
}

static bool varies(const Sum *s, int k) { return s->varies >> k & 1; }

/* Whether the reduction is inside of another one. A group for it would meet barriers at each term of the outer one. */
static bool is_inner(const Shape *sh, const Sum *s) { return (s->varies & ~VARIES_DATA) >> sh->n.n != 0; }

static int64_t least(int64_t a, int64_t b) { return a < b ? a : b; }

static int64_t power_below(int64_t n) { /* greatest power of two <= n, for n >= 1 */
  int64_t p = 1;
  while (p <= n / 2) p *= 2;
  return p;
}

/* Threads for a range: a power of two, and less than twice the extent, so that most have a value */
static int64_t threads_for(int64_t extent, int64_t most) {
  int64_t p = 1;
  while (p < extent && p * 2 <= most) p *= 2;
  return p;
}

static Opt *opt_for(Opts *o, Ref range) {
  for (int i = 0; i < o->n; i++)
    if (o->opt[i].range == range) return &o->opt[i];
  o->opt[o->n] = (Opt){ .range = range, .unroll = 1, .lanes = 1 };
  return &o->opt[o->n++];
}

/* Whether loads in a reduction's terms are contiguous along the range. A load that does not vary with the reduction, such as a
 * bias, does not count. */
static bool side_by_side(IR *ir, Ref red, Ref range) {
  const Node *sum = node(ir, red);
  const Ref root = red_value(sum);
  Refs all = { 0 };
  bool any = false;
  ir_toposort(ir, &root, 1, &all);
  for (size_t i = 0; i < all.n && !any; i++) {
    int64_t coef;
    Ref rest;
    bool own = false;
    const Node *x = node(ir, all.p[i]);
    for (int k = 1; k < sum->nsrc && is_access(x) && !own; k++) own = ix_uses(ir, access_index(x), sum->src[k]);
    any = own && ix_split(ir, access_index(x), range, &coef, &rest) && coef == 1;
  }
  VEC_FREE(&all);
  return any;
}

/* The range of a reduction that a group of threads shares. The first contiguous range of sufficient extent wins, else the
 * longest one; among equally long ranges, a contiguous one wins. */
static Ref shared_range(IR *ir, Ref red, int64_t *extent) {
  const Node *x = node(ir, red);
  Ref best = 0;
  *extent = 0;
  for (int k = 1; k < x->nsrc; k++) {
    const int64_t e = range_extent(node(ir, x->src[k]));
    const bool beside = side_by_side(ir, red, x->src[k]);
    if (e >= tunable(ir->ctx, device_beside_least) && beside) {
      *extent = e;
      return x->src[k];
    }
    if (e > *extent || (e == *extent && beside)) *extent = e, best = x->src[k];
  }
  return best;
}

/* Most threads of a block. Without fast shared memory, a block is the work of one core. */
static int64_t block_most(const Shape *s) {
  const Device *d = s->t->dev;
  return least(d->shared_is_fast ? tunable(s->ir->ctx, device_block) : d->unit_threads, d->max_threads);
}

static bool legal(const Shape *s, const Opts *o) { return !opts_check(s->ir, s->nest, s->t, o); }

/* ---- rows ---- */
/* The innermost range that is a row: some reduction is the same for its values, and no such reduction varies with it; -1: none */
static int row_range(const Shape *s) {
  const uint64_t all = (UINT64_C(1) << s->n.n) - 1;
  int row = -1;
  for (int k = 0; k < s->n.n; k++) {
    bool common = false, other = false;
    for (size_t i = 0; i < s->sums.n; i++) {
      common |= !varies(&s->sums.p[i], k);
      other |= (s->sums.p[i].varies & all) != all && varies(&s->sums.p[i], k);
    }
    if (common && !other) row = k;
  }
  return row;
}

/* A short row stays in registers: each thread has a copy for each of its elements. All reductions and the row itself use values
 * that the thread loaded and computed once. */
static void hold_row(const Shape *s, Opts *o, int64_t group) {
  int64_t most = 1;
  for (int i = 0; i < o->n; i++) {
    const int64_t copies = (range_extent(node(s->ir, o->opt[i].range)) + group - 1) / group;
    if (o->opt[i].threads && copies > most) most = copies;
  }
  for (int i = 0; i < o->n && most <= tunable(s->ir->ctx, device_held); i++)
    if (o->opt[i].threads) o->opt[i].unroll = (int)((range_extent(node(s->ir, o->opt[i].range)) + group - 1) / group);
}

/* Distributes the ranges around rows over blocks; -> the number of rows. *last: the innermost of these ranges; -1: none */
static int64_t row_blocks(const Shape *s, int row, Opts *o, int *last) {
  int64_t rows = 1;
  *last = -1;
  for (int k = 0; k < s->n.n; k++) {
    bool all = k != row;
    for (size_t i = 0; i < s->sums.n; i++) all &= varies(&s->sums.p[i], k) || varies(&s->sums.p[i], row);
    if (!all) continue;
    opt_for(o, s->n.ranges[k])->grid = true;
    rows *= s->extent[k];
    *last = k;
  }
  return rows;
}

static bool thread_rows(const Shape *s, int row, Opts *o) {
  int last;
  *o = (Opts){ .n = 0 };
  row_blocks(s, row, o, &last);
  if (last < 0) return false;
  opt_for(o, s->n.ranges[last])->threads = (int)threads_for(s->extent[last], block_most(s));
  return legal(s, o);
}

static bool group_rows(const Shape *s, int row, int64_t terms, Opts *o) {
  const int share = tunable(s->ir->ctx, device_share_least);
  int64_t group = threads_for((terms + share - 1) / share, block_most(s));
  int last;
  const int64_t rows = row_blocks(s, row, o, &last);
  if (group < s->t->dev->warp) group = threads_for(terms, s->t->dev->warp);
  group = threads_for(s->extent[row], group);
  for (size_t i = 0; i < s->sums.n; i++) {
    int64_t extent;
    const Ref range = shared_range(s->ir, s->sums.p[i].red, &extent);
    if (varies(&s->sums.p[i], row) || is_inner(s, &s->sums.p[i])) continue;
    group = threads_for(extent, group);
    opt_for(o, range);
  }
  if (group < 2) return false;
  for (int i = 0; i < o->n; i++)
    if (!opens_range(s->ir, s->nest, o->opt[i].range)) o->opt[i].threads = (int)group;
  opt_for(o, s->n.ranges[row])->threads = (int)group;
  hold_row(s, o, group);
  /* a block takes several short rows */
  const int64_t room = block_most(s) / 2 / group + 1;
  const int64_t more = last < 0 || rows < s->t->dev->units ? 1 : power_below(least(room, s->extent[last]));
  if (more > 1) opt_for(o, s->n.ranges[last])->threads = (int)more;
  return legal(s, o);
}

/* A single thread takes a row if it is short, or if its sums keep their order. */
static bool row_opts(const Shape *s, Opts *o) {
  const int row = row_range(s);
  int64_t terms = 0;
  for (size_t i = 0; i < s->sums.n && row >= 0; i++)
    if (!varies(&s->sums.p[i], row) && !is_inner(s, &s->sums.p[i]) && s->sums.p[i].terms > terms) terms = s->sums.p[i].terms;
  return row >= 0 && ((terms >= tunable(s->ir->ctx, device_row_least) && group_rows(s, row, terms, o)) || thread_rows(s, row, o));
}

/* ---- sums ---- */
/* Threads for each result that fill the device, limited so that each has enough terms to sum. */
static int64_t group_wanted(const Shape *s, int64_t terms) {
  const Device *d = s->t->dev;
  const int64_t missing = (int64_t)d->units * d->unit_threads / s->values;
  const int64_t most = least(terms / tunable(s->ir->ctx, device_share_least), block_most(s));
  return most < 2 || missing < 2 ? 1 : power_below(least(missing, most));
}

/* Whether a thread alone would walk contiguous memory, far from its neighbours. Only data of a single result count: no cache
 * keeps the rest of a segment for another result. */
static bool walks_alone(const Shape *s, const Sum *sum) {
  Refs all = { 0 };
  int64_t extent;
  const Ref value = red_value(node(s->ir, sum->red)), range = shared_range(s->ir, sum->red, &extent);
  bool own = s->n.n > 0 && side_by_side(s->ir, sum->red, range);
  ir_toposort(s->ir, &value, 1, &all);
  for (size_t i = 0; i < all.n && own; i++) {
    const Node *x = node(s->ir, all.p[i]);
    for (int k = 0; k < s->n.n && x->op == OP_LOAD && own; k++) own = ix_uses(s->ir, load_index(x), s->n.ranges[k]);
  }
  VEC_FREE(&all);
  return own && !side_by_side(s->ir, sum->red, s->n.ranges[s->n.n - 1]);
}

/* Least results of a block: neighbours along which loads are contiguous */
static int64_t least_beside(const Shape *s, const Sum *sum) {
  const int last = s->n.n - 1;
  const bool beside = last >= 0 && side_by_side(s->ir, sum->red, s->n.ranges[last]);
  return beside ? threads_for(s->extent[last], tunable(s->ir->ctx, device_beside_least)) : 1;
}

/* Most results of a block: each unit gets a block first */
static int64_t most_beside(const Shape *s, int64_t side_least) {
  const int64_t each = s->values / s->t->dev->units;
  if (s->n.n == 0) return 1;
  const int64_t most = threads_for(s->extent[s->n.n - 1], tunable(s->ir->ctx, device_block));
  return side_least > 1 ? most : least(most, each > 1 ? power_below(each) : 1);
}

static bool sum_opts(const Shape *s, Opts *o) {
  int64_t terms = 0, group;
  const int last = s->n.n - 1;
  const Sum *most = NULL;
  for (size_t i = 0; i < s->sums.n; i++)
    if (s->sums.p[i].terms > terms && !is_inner(s, &s->sums.p[i])) most = &s->sums.p[i], terms = most->terms;
  if (!most) return false;
  group = group_wanted(s, terms);
  const int share = tunable(s->ir->ctx, device_share_least);
  if (group < s->t->dev->warp && terms >= (int64_t)share * s->t->dev->warp && s->t->dev->shared_is_fast &&
      walks_alone(s, most))
    group = power_below(s->t->dev->warp);
  const int64_t side_least = least_beside(s, most), side_most = most_beside(s, side_least);
  group = least(group, block_most(s) / side_least);
  if (group < tunable(s->ir->ctx, device_share_least)) return false;
  for (size_t i = 0; i < s->sums.n; i++) {
    int64_t extent;
    const Ref range = shared_range(s->ir, s->sums.p[i].red, &extent);
    /* small or inner sums: each thread computes them alone */
    if (s->sums.p[i].terms < terms / share || is_inner(s, &s->sums.p[i])) continue;
    group = threads_for(extent, group);
    opt_for(o, range);
  }
  if (group < tunable(s->ir->ctx, device_share_least)) return false;
  for (int i = 0; i < o->n; i++) o->opt[i].threads = (int)group;
  for (int k = 0; k < s->n.n; k++) opt_for(o, s->n.ranges[k])->grid = true;
  const int64_t side = least(side_most, block_most(s) / group);
  if (side > 1) opt_for(o, s->n.ranges[last])->threads = (int)side;
  return legal(s, o);
}

/* ---- elements ---- */
/* Whether too many threads of the last block would have no element. */
static bool wasted(int64_t extent, int64_t threads) {
  return (extent + threads - 1) / threads * threads - extent > extent / 8;
}

/* Whether the access is the same for all values of the range, or takes whole vectors along it */
static bool whole_vectors(const Shape *s, const Node *x, Ref range, int lanes) {
  int64_t coef;
  Ref rest;
  if (access_gate(x) && ix_uses(s->ir, access_gate(x), range)) return false;
  if (!ix_uses(s->ir, access_index(x), range)) return true;
  return ix_split(s->ir, access_index(x), range, &coef, &rest) && coef == 1 && ix_is_multiple(s->ir, rest, lanes);
}

/* Adds lanes: contiguous elements of each thread */
static bool lane_opts(const Shape *s, Opts *o) {
  const Device *d = s->t->dev;
  const int last = s->n.n - 1;
  const int64_t extent = s->extent[last] / COPIES;
  const int64_t threads = threads_for(extent, least(tunable(s->ir->ctx, device_block), d->max_threads));
  bool whole = !s->sums.n && s->extent[last] % COPIES == 0 && extent >= tunable(s->ir->ctx, device_beside_least);
  Refs all = { 0 };
  ir_toposort(s->ir, &s->nest, 1, &all);
  for (size_t i = 0; i < all.n && whole; i++) {
    const Node *x = node(s->ir, all.p[i]);
    if (is_access(x)) whole = whole_vectors(s, x, s->n.ranges[last], COPIES);
  }
  VEC_FREE(&all);
  if (!whole || s->values / COPIES < (int64_t)d->units * d->unit_threads || wasted(extent, threads)) return false;
  for (int k = 0; k <= last; k++) opt_for(o, s->n.ranges[k])->grid = true;
  opt_for(o, s->n.ranges[last])->threads = (int)threads;
  opt_for(o, s->n.ranges[last])->lanes = COPIES;
  return legal(s, o);
}

static bool element_opts(const Shape *s, Opts *o) {
  const Device *d = s->t->dev;
  const int last = s->n.n - 1;
  if (last < 0) return false;
  if (lane_opts(s, o)) return true;
  *o = (Opts){ .n = 0 };
  const int64_t extent = s->extent[last], threads = threads_for(extent, least(tunable(s->ir->ctx, device_block), d->max_threads));
  const int64_t fill = (int64_t)d->units * d->unit_threads;
  const bool copies = !s->sums.n && s->values / COPIES >= fill && extent >= COPIES * threads;
  if (extent < tunable(s->ir->ctx, device_beside_least) || wasted(extent, threads)) return false;
  if (last == 0 && !copies) return false; /* equal to no opts */
  for (int k = 0; k <= last; k++) opt_for(o, s->n.ranges[k])->grid = true;
  opt_for(o, s->n.ranges[last])->threads = (int)threads;
  if (copies) opt_for(o, s->n.ranges[last])->unroll = COPIES;
  return legal(s, o);
}

int device_best(IR *ir, Ref nest, const Target *t, int room, Opts *out) {
  static bool (*const ways[])(const Shape *s, Opts *o) = { row_opts, sum_opts, element_opts };
  Shape s = { .ir = ir, .t = t, .nest = nest };
  int found = device_contraction_best(ir, nest, t, room, out);
  if (found == room) return found;
  const bool plain = open_shape(&s);
  for (size_t i = 0; i < sizeof ways / sizeof *ways && plain && found < room; i++) {
    out[found] = (Opts){ .n = 0 };
    found += ways[i](&s, &out[found]) && out[found].n;
  }
  VEC_FREE(&s.sums);
  return found;
}

Opts device_opts(IR *ir, Ref nest, const Target *t) {
  Opts o;
  return device_best(ir, nest, t, 1, &o) ? o : (Opts){ .n = 0 };
}

/* SPDX-License-Identifier: MIT */
/* mma.c: chooses the schedule of a nest with a matrix instruction, by an analytic model of one core.
 *
 * The instruction multiplies tiles of x by tiles of a constant. Tiles of x have rows along one range of the nest; tiles of the
 * constant have lanes along another. A block of U by V tiles of sums shares U tiles of x and V tiles of the constant, as far as
 * registers allow.
 *
 * A step of the block costs a cycle for each row it multiplies. Loading its tiles costs half a cycle for each row from the
 * first level of cache, and more from the second. The two overlap: the longer one counts in full, and a tenth of the other.
 * After the last step the sums go through memory into vectors.
 *
 * The schedule is taken where it costs less than a dot-product instruction. It is never taken for fewer rows than a tile has: a
 * constant that is read for a few rows only is limited by memory.
 *
 * needs: a canonical nest, a target with a matrix unit   gives: opts that opts_check accepts   breaks: nothing */
#include "dot_ops.h"
#include <math.h>

typedef struct Product {       /* a contraction over one range of its reduction */
  const IsaOp *isa_op;
  Ref nest, range, load[2];    /* loads of x and of the constant */
  double steps;                /* steps over tiles for each result */
  int depth;
  double bytes[2];             /* bytes of each operand, times the values of ranges that its load depends on */
  double loads[2];             /* tile loads of each operand in a step; fewer than one where copies of a range share tiles */
  Ref turns;                   /* the range of the reduction whose copies share tiles; 0: none */
} Product;

static bool only(IR *ir, const Product *p, int k, Ref range) { /* only operand k depends on the range of the nest */
  return range_kind(node(ir, range)) != RK_THREAD && ix_uses(ir, p->load[k], range) && !ix_uses(ir, p->load[!k], range);
}

/* Unrolls a short range of the reduction if an operand's index has a quotient of it: the copies share tiles then. */
static void find_turns(IR *ir, Product *p, int k) {
  FloorDivs divs;
  floordivs_open(ir, load_index(node(ir, p->load[k])), &divs);
  p->loads[k] = 1;
  for (int i = 0; i < divs.n; i++) {
    double shared = (double)range_extent(node(ir, divs.step[i])) / (double)range_extent(node(ir, divs.range[i]));
    if (range_extent(node(ir, divs.range[i])) > tunable(ir->ctx, mma_turns) || (p->turns && p->turns != divs.range[i]) ||
        shared > 1)
      continue;
    p->turns = divs.range[i];
    p->loads[k] *= shared;
    p->bytes[k] *= shared;
  }
}

static bool product_open(IR *ir, Ref nest, const Target *t, const IsaOp *u, Ref range, Product *p) {
  *p = (Product){ .isa_op = u, .nest = nest, .range = range };
  if (u->depth == 1 || isa_op_refuses(ir, nest, t, u, range)) return false;
  const Node *red = node(ir, isa_op_operands(ir, nest, u, range, p->load));
  int64_t groups = (range_extent(node(ir, range)) + u->group - 1) / u->group;
  p->depth = isa_op_depth(u, groups);
  p->steps = (double)groups / p->depth / (double)range_extent(node(ir, range));
  for (int k = 1; k < red->nsrc; k++) p->steps *= (double)range_extent(node(ir, red->src[k]));
  for (int k = 0; k < 2; k++) {
    Refs all = { 0 };
    p->bytes[k] = dt_bytes(k ? u->y : u->x);
    collect_ranges(ir, p->load[k], &all);
    for (size_t i = 0; i < all.n; i++) p->bytes[k] *= (double)range_extent(node(ir, all.p[i]));
    VEC_FREE(&all);
    find_turns(ir, p, k);
  }
  return true;
}

/* Cycles of a block of u by v tiles */
static double block_cycles(const Product *p, const Target *t, int rows, int u, int v) {
  double panel = (double)(u * rows + v * p->isa_op->lanes) * p->steps * p->depth * 4;
  const double near = rate(t, MMA_LOAD, MMA), far = stays(t, BY_MMA, 1, panel) ? near : rate(t, MMA_LOAD_FAR, MMA);
  double multiply = (double)u * v * rows * rate(t, MMA_MULTIPLY, MMA);
  double load = p->loads[0] * u * rows * near + p->loads[1] * v * p->depth * far;
  return p->steps * overlapped(t, BY_MMA, load, multiply) + rate(t, MMA_START, MMA) + u * v * rows * rate(t, MMA_RESULT, MMA);
}

/* Rows along one range, u copies of that or another one, v copies of the range of lanes. */
typedef struct Block { Ref row, copied, lane; int rows, u, v, lanes; } Block;

static double nest_cycles(IR *ir, const Product *p, const Target *t, const Block *b) {
  const Node *x = node(ir, p->nest);
  double times = 1, n = (double)range_extent(node(ir, b->lane)), row = (double)range_extent(node(ir, b->row));
  for (int k = 1; k < x->nsrc; k++)
    if (x->src[k] != b->row && x->src[k] != b->lane) times *= (double)range_extent(node(ir, x->src[k]));
  if (b->copied == b->row) times *= ceil(row / (b->rows * b->u));
  else
    times *= ceil(row / b->rows) * ceil((double)range_extent(node(ir, b->copied)) / b->u) /
             (double)range_extent(node(ir, b->copied));
  double whole = floor(n / (b->lanes * b->v)), rest = ceil(n / b->lanes) - whole * b->v;
  return times *
         (whole * block_cycles(p, t, b->rows, b->u, b->v) + (rest > 0 ? block_cycles(p, t, b->rows, b->u, (int)rest) : 0));
}

static bool fits(IR *ir, const Block *b) {
  int64_t room = b->copied == b->row ? range_extent(node(ir, b->row)) / b->rows : range_extent(node(ir, b->copied));
  return b->u * b->v + b->u + b->v <= TILE_REGISTERS && b->u <= room &&
         (int64_t)b->v * b->lanes <= range_extent(node(ir, b->lane));
}

/* Rows of a tile, at most `most`, when u tiles side by side walk a range: as even as possible. */
static int even_rows(int64_t extent, int most, int u) {
  int64_t blocks = (extent + (int64_t)most * u - 1) / ((int64_t)most * u);
  return (int)((extent + blocks * u - 1) / (blocks * u));
}

/* The best block with b's ranges for rows and lanes, if it is better than *best. */
static void search_blocks(IR *ir, const Product *p, const Target *t, Block b, Block *best, double *cost) {
  const Node *x = node(ir, p->nest);
  for (int k = x->nsrc - 1; k > 0; k--) {
    b.copied = x->src[k];
    if (!only(ir, p, 0, b.copied)) continue;
    for (b.u = 1; b.u < TILE_REGISTERS; b.u++) {
      b.rows = even_rows(range_extent(node(ir, b.row)), p->isa_op->rows, b.copied == b.row ? b.u : 1);
      for (b.v = 1; b.v < TILE_REGISTERS; b.v++) {
        double c = fits(ir, &b) ? nest_cycles(ir, p, t, &b) : *cost;
        if (c >= *cost) continue;
        *cost = c;
        *best = b;
      }
    }
  }
}

static void search_shapes(IR *ir, const Product *p, const Target *t, Block *best, double *cost) {
  const Node *x = node(ir, p->nest);
  for (int i = x->nsrc - 1; i > 0; i--)
    for (int k = x->nsrc - 1; k > 0; k--) {
      Block b = { .row = x->src[i], .lane = x->src[k], .lanes = p->isa_op->lanes };
      if (!only(ir, p, 0, b.row) || !only(ir, p, 1, b.lane)) continue;
      while (b.lanes > range_extent(node(ir, b.lane))) b.lanes /= 2;
      search_blocks(ir, p, t, b, best, cost);
    }
}

/* Rows of x in a block that meets all panels of the constant before the next block starts; 0: no blocks. A block of rows stays
 * in the second level of cache. It pays where reading the constant once for each block costs less than reading x for each
 * panel. */
static int row_block(const IR *ir, const Product *p, const Target *t, const Block *b) {
  const int64_t rows = range_extent(node(ir, b->row)), tile = (int64_t)b->rows * (b->copied == b->row ? b->u : 1);
  const double panels = ceil((double)range_extent(node(ir, b->lane)) / (b->v * b->lanes));
  for (int64_t blocks = 1; blocks * tile <= rows; blocks++) {
    if (!stays(t, BY_MMA, 2, p->bytes[0] / (double)blocks) || rows % (blocks * tile)) continue;
    return blocks > 1 && (double)blocks * p->bytes[1] < panels * p->bytes[0] ? (int)(rows / blocks) : 0;
  }
  return 0;
}

static Opts opts_of(const IR *ir, const Target *t, const Product *p, const Block *b) {
  Opts o = { .isa_op = p->isa_op, .grouped = p->range };
  bool same = b->copied == b->row;
  o.opt[o.n++] = (Opt){ .range = b->row, .unroll = same ? b->u : 1, .lanes = b->rows, .rows = true };
  if (!same && b->u > 1) o.opt[o.n++] = (Opt){ .range = b->copied, .unroll = b->u, .lanes = 1 };
  o.opt[o.n++] = (Opt){ .range = b->lane, .unroll = b->v, .lanes = b->lanes };
  if (p->turns) o.opt[o.n++] = (Opt){ .range = p->turns, .unroll = (int)range_extent(node(ir, p->turns)), .lanes = 1 };
  if (p->bytes[1] > p->bytes[0]) { /* the smaller operand is the one to read repeatedly */
    const int block = row_block(ir, p, t, b);
    if (block) o.moved[o.nmoved++] = (Move){ b->row, block };
    o.moved[o.nmoved++] = (Move){ b->lane, 0 };
  }
  return o;
}

/* Results for each element of the constant; *products: all products. */
static double results(IR *ir, const Product *p, double *products) {
  const Node *x = node(ir, p->nest);
  double rows = 1;
  *products = p->steps * p->depth * p->isa_op->group;
  for (int k = 1; k < x->nsrc; k++) {
    *products *= (double)range_extent(node(ir, x->src[k]));
    if (only(ir, p, 0, x->src[k])) rows *= (double)range_extent(node(ir, x->src[k]));
  }
  return rows;
}

bool tile_opts(IR *ir, Ref nest, const Target *t, const IsaOp *other, Opts *o) {
  const double per_cycle = multiply_adds(t, BY_MMA) * (other ? other->group : 1); /* products without tiles */
  Refs ranges = { 0 };
  double least = INFINITY;
  collect_ranges(ir, nest, &ranges);
  for (const IsaOp *u = isa_op_table; u->name; u++)
    for (size_t i = 0; i < ranges.n; i++) {
      Product p;
      Block best = { 0 };
      double products, cost;
      if (!product_open(ir, nest, t, u, ranges.p[i], &p) || results(ir, &p, &products) < u->rows) continue;
      cost = fmin(least, products / per_cycle);
      search_shapes(ir, &p, t, &best, &cost);
      if (!best.row) continue;
      Opts found = opts_of(ir, t, &p, &best);
      if (opts_check(ir, nest, t, &found)) continue;
      *o = found;
      least = cost;
    }
  VEC_FREE(&ranges);
  return least < INFINITY;
}

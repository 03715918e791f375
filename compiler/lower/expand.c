/* SPDX-License-Identifier: MIT */
/* expand.c: turns UNROLL ranges into copies and VEC ranges into lanes.
 *
 * A copy is the expression with the range replaced by a constant. Nodes that do not depend on the range are the same in every
 * copy. So hash-consing alone makes the copies of a register tile share loads. Lanes follow from the index algebra. An access
 * that moves by one element per lane is a vector access. An access that does not move is a scalar for all lanes, and any other
 * one is assembled lane by lane. If two ranges of the nest are in lanes, they become one first: its quotients are the outer
 * values, its remainders the inner ones.
 *
 * needs: split ranges (opts.c), packed weights (pack.c)   gives: nests with only loops left
 * keeps: the value of every element */
#include "../target/matrix_units.h"
#include "lower.h"
#include <string.h>

enum { MAX_ELEMENTS = 256 };  /* most elements of a vector of groups: 64 lanes of 4 bytes */
enum { MAX_SOURCES = MAX_RANGES + 64 }; /* most sources of a node that is no SINK: of a reduction, or of a vector's lanes */

static Ref make(IR *ir, Op op, DType d, int lanes, int n, const Ref *src, int narg, const int64_t *arg) {
  return node_make(ir, op, d, lanes, n, src, narg, arg, 0, NULL);
}

/* ---- copies ---- */
static Ref copy_of(IR *ir, Ref r, Ref range, int64_t at) {
  Ref c = ix_const(ir, at);
  return ix_subst(ir, r, 1, &range, &c);
}

/* sum + terms, as a chain of multiply-adds like that of a loop; sum 0: the first product begins the chain. */
static Ref in_turn(IR *ir, Ref sum, Ref terms, bool fused) {
  const Node *x = node(ir, terms);
  if (x->op == OP_ADD) return in_turn(ir, in_turn(ir, sum, lhs(x), fused), rhs(x), fused);
  if (!sum) return terms;
  if (x->op == OP_MUL && fused) return make(ir, OP_MULACC, (DType)x->dt, 1, 3, (Ref[]){ lhs(x), rhs(x), sum }, 0, NULL);
  return make(ir, OP_ADD, (DType)x->dt, 1, 2, (Ref[]){ sum, terms }, 0, NULL);
}

static void list_terms(const IR *ir, Ref terms, Refs *out) {
  const Node *x = node(ir, terms);
  if (x->op != OP_ADD) {
    VEC_PUSH(out, terms);
    return;
  }
  list_terms(ir, lhs(x), out);
  list_terms(ir, rhs(x), out);
}

/* The terms as several chains, one after another, whose sums are added. More than one only where chains of other copies do not
 * hide the latency (sum_chains.c): the sums take additions that multiply-adds do for free. */
static Ref in_chains(IR *ir, Ref terms, int chains) {
  Refs list = { 0 };
  Ref sum = 0;
  list_terms(ir, terms, &list);
  for (size_t c = 0, n = (size_t)chains; c < n; c++) {
    Ref chain = 0;
    for (size_t i = c * list.n / n; i < (c + 1) * list.n / n; i++) chain = in_turn(ir, chain, list.p[i], false);
    sum = sum ? make(ir, OP_ADD, (DType)node(ir, chain)->dt, 1, 2, (Ref[]){ sum, chain }, 0, NULL) : chain;
  }
  VEC_FREE(&list);
  return sum;
}

static Ref joined(IR *ir, Op op, Ref sum, Ref term) { /* a product of tiles has its own sum, 0, which `sum` replaces */
  const Node *x = node(ir, term);
  if (x->op == OP_MMA) return make(ir, OP_MMA, (DType)x->dt, x->lanes, 3, (Ref[]){ sum, mma_x(x), mma_y(x) }, x->narg, x->arg);
  if (x->op == OP_WMMA)
    return make(ir, OP_WMMA, (DType)x->dt, x->lanes, 3, (Ref[]){ sum, wmma_x(x), wmma_y(x) }, x->narg, x->arg);
  return make(ir, op, (DType)x->dt, x->lanes, 2, (Ref[]){ sum, term }, 0, NULL);
}

typedef struct Unrolling {
  const Target *t;
  int chains; /* number of chains for a sum without a loop */
} Unrolling;

/* Unrolls a reduction: RED(v, ..., unroll range) becomes RED(v0 + v1 + ..., ...), whose terms linearize.c adds to one
 * accumulator. A partial range gives RED(v0, ...) + RED(v1, ...), which are combined by halves. Its lanes are combined last:
 * RED(sum of the parts, lanes). */
static Ref unroll_reduction(IR *ir, Ref r, void *arg) {
  const Unrolling *w = arg;
  const Node *x = node(ir, r);
  for (int k = x->nsrc - 1; k > 0; k--) { /* the innermost first, so that terms stay in order */
    const Node *u = node(ir, x->src[k]);
    if (range_kind(u) != RK_UNROLL && range_kind(u) != RK_PARTIAL && range_kind(u) != RK_DOT && range_kind(u) != RK_DEPTH)
      continue;
    Ref src[MAX_RANGES + 1], lanes = 0, range = x->src[k], sum = 0, value = red_value(x), part[ROW_VECTORS];
    bool partial = range_kind(u) == RK_PARTIAL && x->nsrc > 2;
    int n = 1;
    for (int j = 1; j < x->nsrc; j++) {
      if (partial && range_kind(node(ir, x->src[j])) == RK_VEC) lanes = x->src[j];
      else if (j != k) src[n++] = x->src[j];
    }
    for (int64_t i = 0; i < range_extent(u); i++) {
      Ref term = copy_of(ir, value, range, i);
      if (partial) {
        CHECK(i < ROW_VECTORS);
        src[0] = term;
        part[i] = n == 1 ? term : make(ir, OP_RED, (DType)x->dt, 1, n, src, 1, x->arg);
        continue;
      }
      sum = sum ? joined(ir, red_op(x), sum, term) : term;
    }
    for (int64_t left = range_extent(u); partial && left > 1; left -= left / 2) {
      int64_t half = left - left / 2;
      for (int64_t i = 0; i < left / 2; i++)
        part[i] = make(ir, red_op(x), (DType)x->dt, 1, 2, (Ref[]){ part[i], part[i + half] }, 0, NULL);
    }
    if (partial) return lanes ? make(ir, OP_RED, (DType)x->dt, 1, 2, (Ref[]){ part[0], lanes }, 1, x->arg) : part[0];
    src[0] = sum;
    if (n == 1 && x->lanes == 1 && red_op(x) == OP_ADD && dt_float((DType)x->dt))
      return w->t->in_order ? in_turn(ir, c_int(ir, (DType)x->dt, 0), sum, true) : in_chains(ir, sum, w->chains);
    return n == 1 ? sum : make(ir, OP_RED, (DType)x->dt, x->lanes, n, src, 1, x->arg);
  }
  return 0;
}

/* ---- groups and tiles ---- */
static Ref splat(IR *ir, Ref r, int lanes) {
  const Node *x = node(ir, r);
  return x->lanes == lanes ? r : make(ir, OP_BCAST, (DType)x->dt, lanes, 1, &r, 0, NULL);
}

static Ref group_load(IR *ir, Ref cast, Ref range, int n) { /* loads contiguous elements of a converted load; 0: it cannot */
  const Node *x = node(ir, cast), *l = x->op == OP_CAST ? node(ir, operand(x)) : x;
  int64_t coef;
  Ref rest;
  if (l->op != OP_LOAD || load_gate(l) || !ix_split(ir, load_index(l), range, &coef, &rest) || coef != 1) return 0;
  return make(ir, OP_LOAD, (DType)l->dt, n, 2, (Ref[]){ load_buffer(l), rest }, 0, NULL);
}

static Ref range_below(IR *ir, Ref index, RangeKind kind) { /* 0: none */
  Refs all = { 0 };
  Ref found = 0;
  collect_ranges(ir, index, &all);
  for (size_t i = 0; i < all.n; i++)
    if (range_kind(node(ir, all.p[i])) == (int64_t)kind) found = all.p[i];
  VEC_FREE(&all);
  return found;
}

static int64_t extent_of(const IR *ir, Ref range) { return range ? range_extent(node(ir, range)) : 1; }

/* The tile that a load reads, or 0 if it is none. Each value of `row` is a row, at any stride; row 0: there is one row. The
 * elements of a row are contiguous along `inner`, then `outer`. */
static Ref tile_load(IR *ir, Ref load, Ref row, Ref inner, Ref outer) {
  const Node *l = node(ir, load);
  const int64_t width = extent_of(ir, inner) * extent_of(ir, outer);
  int64_t coef, arg[2] = { extent_of(ir, row), 0 };
  Ref index = load_index(l);
  if (!ix_split(ir, index, inner, &coef, &index) || coef != 1) return 0;
  if (outer && (!ix_split(ir, index, outer, &coef, &index) || coef != extent_of(ir, inner))) return 0;
  if (row && !ix_split(ir, index, row, &arg[1], &index)) return 0;
  return make(ir, OP_TILE, (DType)l->dt, (int)(arg[0] * width), 2, (Ref[]){ load_buffer(l), index }, 2, arg);
}

/* Multiplies tiles: RED(cast(x) * cast(y), ..., depth, dot range), where y is the constant, becomes RED(MMA(0, tile of x, tile
 * of y), ...). The result is the element at the row of x and the lane of y. */
static Ref tile_reduction(IR *ir, const Node *red, Ref depth, Ref dot, int nloops, const Ref *loops) {
  const Node *m = node(ir, red_value(red));
  Ref x = operand(node(ir, lhs(m))), y = operand(node(ir, rhs(m))), src[MAX_RANGES + 1];
  if (ir->bufs.p[buffer_id(node(ir, load_buffer(node(ir, x))))].kind == BUF_WEIGHT) {
    Ref t = x;
    x = y;
    y = t;
  }
  Ref row = range_below(ir, load_index(node(ir, x)), RK_ROW), lane = range_below(ir, load_index(node(ir, y)), RK_VEC);
  Ref a = tile_load(ir, x, row, dot, depth), b = tile_load(ir, y, depth, dot, lane);
  if (!a || !b) return 0;
  const int64_t shape[2] = { extent_of(ir, row), extent_of(ir, depth) }, lanes = extent_of(ir, lane);
  const DType d = (DType)red->dt;
  const int elems = (int)(shape[0] * lanes);
  src[0] = make(ir, OP_MMA, d, elems, 3, (Ref[]){ splat(ir, c_int(ir, d, 0), elems), a, b }, 2, shape);
  memcpy(src + 1, loops, (size_t)nloops * sizeof *src);
  bool looped = false;
  for (int k = 0; k < nloops; k++) looped |= range_kind(node(ir, loops[k])) == RK_REDUCE;
  /* the sum must be a variable */
  if (!looped) src[++nloops] = range_new(ir, 1, RK_REDUCE);
  Ref sum = make(ir, OP_RED, d, elems, nloops + 1, src, 1, red->arg), spill = make(ir, OP_SPILL, d, elems, 1, &sum, 0, NULL);
  Ref zero = ix_const(ir, 0), at = ix_add(ir, row ? ix_mul(ir, row, lanes) : zero, lane ? lane : zero);
  return make(ir, OP_PART, d, 1, 2, (Ref[]){ spill, at }, 0, NULL);
}

/* ---- matrix units of warps ---- */
typedef struct Fragments {
  const MatrixUnit *unit;
  Ref side[2];             /* ranges of rows and columns */
  Ref thread, element;     /* ranges of the warp's threads, and of the sums' elements that a thread holds */
} Fragments;

/* A thread's elements of matrix x. `factor` is the matrix's element at range[0] and range[1], its row and column. */
static Ref fragment_of(IR *ir, const Fragments *f, Matrix x, Ref factor, const Ref range[2]) {
  const char *of = matrix_dimensions(x);
  const int n = unit_elements(f->unit, x);
  Ref element[MAX_SOURCES];
  CHECK(n <= MAX_SOURCES);
  for (int e = 0; e < n; e++) {
    const Ref number = ix_const(ir, e);
    const Ref at[2] = { unit_index(ir, f->unit, x, of[0], f->thread, number),
                        unit_index(ir, f->unit, x, of[1], f->thread, number) };
    element[e] = ix_subst(ir, factor, 2, range, at);
  }
  return make(ir, OP_VEC, unit_type(f->unit, x), n, n, element, 0, NULL);
}

/* The whole matrix that a load reads: rows at a stride, with contiguous elements */
static Ref whole_matrix(IR *ir, Ref load, Ref row, Ref column) {
  const Ref tile = tile_load(ir, load, row, column, 0);
  if (!tile) ir_wrong(ir, "%%%u: a matrix whose rows do not lie side by side", load);
  return tile;
}

/* Multiplies matrices: RED(cast(x) * cast(y), ..., k) becomes an element of RED(WMMA(0, fragments of x and of y), ...). A unit
 * for whole matrices gets RED(MMA(0, x, y), ...), whose result goes through memory. */
static Ref warp_reduction(IR *ir, Ref r, void *arg) {
  const Fragments *f = arg;
  const MatrixUnit *u = f->unit;
  const Node *x = node(ir, r), *m = node(ir, red_value(x));
  Ref src[MAX_RANGES + 1], depth = 0, factor[2];
  int n = 1;
  for (int k = 1; k < x->nsrc; k++) {
    if (range_kind(node(ir, x->src[k])) == RK_FRAG) depth = x->src[k];
    else src[n++] = x->src[k];
  }
  if (!depth || m->op != OP_MUL) return 0;
  const bool turned = ix_uses(ir, lhs(m), f->side[1]);
  for (int k = 0; k < 2; k++) {
    factor[k] = k == turned ? lhs(m) : rhs(m);
    const Node *y = node(ir, factor[k]);
    if (y->dt != unit_type(u, (Matrix)k)) factor[k] = operand(y);
  }
  const int lanes = unit_is_whole(u) ? u->m * u->n : unit_elements(u, MATRIX_C);
  const Ref zero = splat(ir, c_int(ir, u->c, 0), lanes);
  if (unit_is_whole(u)) {
    const Ref a = whole_matrix(ir, factor[0], f->side[0], depth), b = whole_matrix(ir, factor[1], depth, f->side[1]);
    src[0] = make(ir, OP_MMA, u->c, lanes, 3, (Ref[]){ zero, a, b }, 2, (int64_t[]){ u->m, u->k });
    bool loops = false;
    for (int k = 1; k < n; k++) loops |= range_kind(node(ir, src[k])) == RK_REDUCE;
    if (!loops) src[n++] = range_new(ir, 1, RK_REDUCE); /* the sum must be a variable, to which copies add */
    const Ref sum = make(ir, OP_RED, u->c, lanes, n, src, 1, x->arg), spill = make(ir, OP_SPILL, u->c, lanes, 1, &sum, 0, NULL);
    const Ref at = ix_add(ir, ix_mul(ir, f->side[0], u->n), f->side[1]);
    return make(ir, OP_PART, u->c, 1, 2, (Ref[]){ spill, at }, 0, NULL);
  }
  const Ref a = fragment_of(ir, f, MATRIX_A, factor[0], (Ref[]){ f->side[0], depth }),
            b = fragment_of(ir, f, MATRIX_B, factor[1], (Ref[]){ depth, f->side[1] });
  const int64_t name = intern(ir->ctx, u->name, strlen(u->name));
  src[0] = make(ir, OP_WMMA, u->c, lanes, 3, (Ref[]){ zero, a, b }, 4, (int64_t[]){ u->m, u->n, u->k, name });
  const Ref sum = n == 1 ? src[0] : make(ir, OP_RED, u->c, lanes, n, src, 1, x->arg);
  return make(ir, OP_PART, u->c, 1, 2, (Ref[]){ sum, f->element }, 0, NULL);
}

/* After copies are made, an element of a fragment is a lane. */
static Ref element_of(IR *ir, Ref r, void *arg) {
  (void)arg;
  const Node *x = node(ir, r);
  int64_t lane;
  if (node(ir, part_tile(x))->op == OP_SPILL) return 0;
  CHECK(node_is_const(ir, part_index(x), &lane));
  return make(ir, OP_LANE, (DType)x->dt, 1, 1, (Ref[]){ part_tile(x) }, 1, &lane);
}

/* Replaces the sides of matrices by the threads of a warp and copies for the elements that each thread holds. */
static Ref spread_matrices(IR *ir, Ref nest, const MatrixUnit *u) {
  static const Rule rules[] = { { OP_RED, "matrix", warp_reduction }, { OP_NONE, NULL, NULL } };
  Fragments f = { .unit = u };
  Nest n = nest_open(ir, nest), to = { 0 };
  Ref at[2];
  int sides = 0;
  for (int k = 0; k < n.n; k++) {
    if (range_kind(node(ir, n.ranges[k])) == RK_LOCAL) f.thread = n.ranges[k];
    if (range_kind(node(ir, n.ranges[k])) == RK_FRAG) f.side[sides++] = n.ranges[k];
    else to.ranges[to.n++] = n.ranges[k];
  }
  CHECK(sides == 2 && range_extent(node(ir, f.thread)) == u->threads);
  f.element = range_new(ir, unit_elements(u, MATRIX_C), RK_UNROLL);
  ir_rewrite(ir, rules, &f, &n.store, 1, NULL);
  for (int k = 0; k < 2; k++) at[k] = unit_index(ir, u, MATRIX_C, "mn"[k], f.thread, f.element);
  to.store = ix_subst(ir, n.store, 2, f.side, at);
  to.ranges[to.n++] = f.element;
  return nest_close(ir, &to);
}

/* Makes dot products: RED(cast(load) * cast(load), ..., dot range) becomes RED(DOT(0, loads of groups), ...). The second
 * operand is the constant, or the signed one of two panels. If packing did not make groups contiguous, the range is unrolled
 * instead. */
static Ref group_reduction(IR *ir, Ref r, void *arg) {
  (void)arg;
  const Node *x = node(ir, r), *m = node(ir, red_value(x));
  Ref src[MAX_RANGES + 1], dot = 0, depth = 0;
  int n = 1;
  for (int k = 1; k < x->nsrc; k++) {
    if (range_kind(node(ir, x->src[k])) == RK_DOT) dot = x->src[k];
    else if (range_kind(node(ir, x->src[k])) == RK_DEPTH) depth = x->src[k];
    else src[n++] = x->src[k];
  }
  if (!dot || m->op != OP_MUL) return 0;
  if (depth) return tile_reduction(ir, x, depth, dot, n - 1, src + 1);
  int group = (int)range_extent(node(ir, dot));
  Ref a = group_load(ir, lhs(m), dot, group), b = group_load(ir, rhs(m), dot, group);
  if (!a || !b) return 0;
  const bool shared = ir->bufs.p[buffer_id(node(ir, load_buffer(node(ir, b))))].kind == BUF_SHARED; /* both are panels */
  const bool weight = ir->bufs.p[buffer_id(node(ir, load_buffer(node(ir, b))))].kind == BUF_WEIGHT;
  if (shared ? node(ir, a)->dt == DT_I8 && node(ir, b)->dt == DT_U8 : !weight) {
    Ref t = a;
    a = b;
    b = t;
  }
  src[0] = make(ir, OP_DOT, (DType)x->dt, 1, 3, (Ref[]){ c_int(ir, (DType)x->dt, 0), a, b }, 0, NULL);
  return n == 1 ? src[0] : make(ir, OP_RED, (DType)x->dt, 1, n, src, 1, x->arg);
}

/* ---- lanes ---- */
typedef struct Lanes {
  IR *ir;
  Ref range;
  int n;
  RefMap memo;                 /* the vector, or the scalar, that replaces a node */
  RefMap varies;               /* nodes that differ from lane to lane */
} Lanes;

static void lanes_free(Lanes *v) {
  refmap_free(&v->memo);
  refmap_free(&v->varies);
}

static Ref each_lane(Lanes *v, Ref r) { /* a vector of the expression in each lane */
  IR *ir = v->ir;
  Ref lane[MAX_ELEMENTS];
  int per = node(ir, r)->lanes; /* a group has several elements */
  CHECK(v->n * per <= MAX_ELEMENTS);
  for (int i = 0; i < v->n; i++) {
    Ref at = copy_of(ir, r, v->range, i);
    for (int64_t k = 0; k < per; k++)
      lane[i * per + k] = per == 1 ? at : make(ir, OP_LANE, (DType)node(ir, r)->dt, 1, 1, &at, 1, &k);
  }
  return make(ir, OP_VEC, (DType)node(ir, r)->dt, v->n * per, v->n * per, lane, 0, NULL);
}

static Ref each_group(IR *ir, Ref r, int n) { /* the same group in all lanes */
  Ref lane[MAX_ELEMENTS];
  int per = node(ir, r)->lanes;
  CHECK(n * per <= MAX_ELEMENTS);
  for (int i = 0; i < n * per; i++) lane[i] = make(ir, OP_LANE, (DType)node(ir, r)->dt, 1, 1, &r, 1, (int64_t[]){ i % per });
  return make(ir, OP_VEC, (DType)node(ir, r)->dt, n * per, n * per, lane, 0, NULL);
}

/* Whether 64-bit integers are computed from vectors, and so are data; otherwise they are indices. */
static bool computes_data(const Lanes *v, const Node *x) {
  bool any = false;
  for (int k = 0; k < x->nsrc; k++) {
    const Node *y = node(v->ir, refmap_get(&v->memo, x->src[k]));
    any |= y->lanes == v->n && y->op != OP_VEC;
  }
  return any;
}

/* An operand in lanes. An index becomes its first lane plus constant steps, not an expression for each lane. */
static Ref operand_of(Lanes *v, Ref r) {
  IR *ir = v->ir;
  const Ref in_lanes = refmap_get(&v->memo, r);
  Ref first, step[64];
  int64_t coef;
  if (node(ir, in_lanes)->op != OP_VEC || node(ir, r)->dt != DT_I64 || v->n > 64 || !ix_split(ir, r, v->range, &coef, &first))
    return splat(ir, in_lanes, v->n);
  for (int i = 0; i < v->n; i++) step[i] = ix_const(ir, coef * i);
  const Ref steps = make(ir, OP_VEC, DT_I64, v->n, v->n, step, 0, NULL);
  return make(ir, OP_ADD, DT_I64, v->n, 2, (Ref[]){ splat(ir, first, v->n), steps }, 0, NULL);
}

static Ref vector_of(Lanes *v, Ref r) { /* operands are in the memo */
  IR *ir = v->ir;
  const Node *x = node(ir, r);
  Ref src[MAX_RANGES + 1], rest;
  int64_t coef;
  switch ((Op)x->op) {
  case OP_LOAD:
    if ((!load_gate(x) || !ix_uses(ir, load_gate(x), v->range)) && ix_split(ir, load_index(x), v->range, &coef, &rest) &&
        coef == x->lanes) {
      memcpy(src, x->src, x->nsrc * sizeof *src);
      src[1] = rest;
      if (load_else(x)) src[3] = splat(ir, load_else(x), v->n);
      return make(ir, OP_LOAD, (DType)x->dt, v->n * x->lanes, x->nsrc, src, 0, NULL);
    }
    return each_lane(v, r);
  case OP_DOT:
    for (int k = 0; k < 3; k++) src[k] = refmap_get(&v->memo, x->src[k]);
    src[0] = splat(ir, src[0], v->n);
    if (node(ir, src[2])->lanes == node(ir, dot_y(x))->lanes) src[2] = each_group(ir, src[2], v->n);
    return make(ir, OP_DOT, (DType)x->dt, v->n, 3, src, 0, NULL);
  case OP_PART:
    CHECK(ix_split(ir, part_index(x), v->range, &coef, &rest) && coef == 1);
    return make(ir, OP_PART, (DType)x->dt, v->n, 2, (Ref[]){ part_tile(x), rest }, 0, NULL);
  case OP_RANGE: case OP_HELD: case OP_REPEAT: return each_lane(v, r); /* lanes would wait for each other's loads */
  case OP_RED: {
    int n = 1, mine = 0;
    for (int k = 1; k < x->nsrc; k++) {
      if (x->src[k] == v->range) mine = 1;
      else src[n++] = x->src[k];
    }
    src[0] = splat(ir, refmap_get(&v->memo, red_value(x)), v->n);
    Ref red = n == 1 ? src[0] : make(ir, OP_RED, (DType)x->dt, v->n, n, src, 1, x->arg);
    return mine ? make(ir, OP_HRED, (DType)x->dt, 1, 1, &red, 1, x->arg) : red;
  }
  default:
    /* constants fold */
    if (x->dt == DT_I64 && x->op != OP_CAST && x->op != OP_WHERE && !computes_data(v, x)) return each_lane(v, r);
    for (int k = 0; k < x->nsrc; k++)
      src[k] = x->dt == DT_I64 ? operand_of(v, x->src[k]) : splat(ir, refmap_get(&v->memo, x->src[k]), v->n);
    return make(ir, (Op)x->op, (DType)x->dt, v->n, x->nsrc, src, x->narg, x->arg);
  }
}

/* The expression with the range's values in lanes. Scalars that do not depend on the range stay scalars. */
static Ref vectorize(Lanes *v, Ref root) {
  IR *ir = v->ir;
  Refs all = { 0 };
  ir_toposort(ir, &root, 1, &all);
  for (size_t i = 0; i < all.n; i++) {
    Ref r = all.p[i];
    const Node *x = node(ir, r);
    if (refmap_get(&v->memo, r)) continue;
    bool varies = r == v->range, rebuilt = false, closes = false;
    Ref src[MAX_SOURCES];
    CHECK(x->nsrc <= MAX_SOURCES);
    for (int k = 0; k < x->nsrc; k++) {
      src[k] = refmap_get(&v->memo, x->src[k]);
      varies |= refmap_get(&v->varies, x->src[k]) != 0;
      rebuilt |= src[k] != x->src[k];
      closes |= x->op == OP_RED && x->src[k] == v->range;
    }
    Ref out = varies ? vector_of(v, r) : rebuilt ? node_with_src(ir, r, src) : r;
    refmap_set(&v->memo, r, out);
    if (varies && !closes) refmap_set(&v->varies, r, r);
  }
  VEC_FREE(&all);
  return refmap_get(&v->memo, root);
}

/* Stores every lane, by one vector store or by a scalar store for each lane. Scalar stores may have a gate of their own. */
static void store_lanes(Lanes *v, Ref store, Refs *out) {
  IR *ir = v->ir;
  const Node *x = node(ir, store);
  Ref value = splat(ir, vectorize(v, store_value(x)), v->n), rest;
  int64_t coef;
  const Ref gate = store_gate(x);
  if ((!gate || !ix_uses(ir, gate, v->range)) && ix_split(ir, store_index(x), v->range, &coef, &rest) && coef == 1) {
    VEC_PUSH(out, make(ir, OP_STORE, (DType)x->dt, 1, gate ? 4 : 3, (Ref[]){ store_buffer(x), rest, value, gate }, 0, NULL));
    return;
  }
  for (int64_t i = 0; i < v->n; i++) {
    Ref at = copy_of(ir, store_index(x), v->range, i);
    Ref lane = make(ir, OP_LANE, (DType)x->dt, 1, 1, &value, 1, &i);
    const Ref open = gate ? copy_of(ir, gate, v->range, i) : 0;
    VEC_PUSH(out, make(ir, OP_STORE, (DType)x->dt, 1, gate ? 4 : 3, (Ref[]){ store_buffer(x), at, lane, open }, 0, NULL));
  }
}

/* Replaces two ranges in lanes by one; *outer: the new range */
static Ref merge_lanes(IR *ir, Ref store, Ref *outer, Ref inner) {
  const int64_t n = range_extent(node(ir, inner));
  Ref both = range_make(ir, range_extent(node(ir, *outer)) * n, RK_VEC);
  store = ix_subst(ir, store, 2, (Ref[]){ *outer, inner }, (Ref[]){ ix_div(ir, both, n), ix_mod(ir, both, n) });
  *outer = both;
  return store;
}

/* The uses of a nest's ranges */
typedef struct Roles {
  Nest loops;              /* loops that stay; `store` is set later */
  Ref vec;                 /* the range in lanes, merged if there are several; 0: none */
  Ref copied[MAX_RANGES];  /* ranges of copies, the outermost of the tile first */
  int ncopied;
} Roles;

/* The range with most copies is outermost in the tile. Its copies share loads that stay in registers, and the smaller side
 * needs fewer of these. Ranges in lanes are merged, which rewrites n->store. */
static Roles roles_of(IR *ir, Nest *n) {
  Roles roles = { 0 };
  Ref rows = 0;
  for (int k = 0; k < n->n; k++) {
    const Ref r = n->ranges[k];
    const int64_t extent = range_extent(node(ir, r));
    switch (range_kind(node(ir, r))) {
    case RK_VEC:
      if (roles.vec) n->store = merge_lanes(ir, n->store, &roles.vec, r);
      else roles.vec = r;
      break;
    case RK_ROW: rows = r; break;
    case RK_UNROLL: {
      int at = roles.ncopied++;
      for (; at && range_extent(node(ir, roles.copied[at - 1])) < extent; at--) roles.copied[at] = roles.copied[at - 1];
      roles.copied[at] = r;
      break;
    }
    default: roles.loops.ranges[roles.loops.n++] = r;
    }
  }
  if (rows) roles.loops.ranges[roles.loops.n++] = rows; /* innermost: a product of tiles gives all rows */
  return roles;
}

static void copy_stores(IR *ir, Refs *stores, Ref range) {
  Refs copies = { 0 };
  for (size_t i = 0; i < stores->n; i++)
    for (int64_t at = 0; at < range_extent(node(ir, range)); at++) VEC_PUSH(&copies, copy_of(ir, stores->p[i], range, at));
  VEC_FREE(stores);
  *stores = copies;
}

static Lanes lanes_of(IR *ir, Ref range) { return (Lanes){ .ir = ir, .range = range, .n = (int)range_extent(node(ir, range)) }; }

/* Vectorizes reductions inside of a store; their results are scalars. vec: the lanes of the nest itself, which follow later */
static Ref reduce_lanes(IR *ir, Ref store, Ref vec) {
  Refs ranges = { 0 };
  collect_ranges(ir, store, &ranges);
  for (size_t k = 0; k < ranges.n; k++) {
    if (range_kind(node(ir, ranges.p[k])) != RK_VEC || ranges.p[k] == vec) continue;
    Lanes v = lanes_of(ir, ranges.p[k]);
    store = vectorize(&v, store);
    lanes_free(&v);
  }
  VEC_FREE(&ranges);
  return store;
}

static void vectorize_stores(IR *ir, Refs *stores, Ref vec) {
  Lanes v = lanes_of(ir, vec);
  Refs vectors = { 0 };
  for (size_t i = 0; i < stores->n; i++) store_lanes(&v, stores->p[i], &vectors);
  lanes_free(&v);
  VEC_FREE(stores);
  *stores = vectors;
}

static Ref expand_nest(IR *ir, Ref nest, const Target *t) {
  static const Rule unroll[] = { { OP_RED, "unroll", unroll_reduction }, { OP_NONE, NULL, NULL } };
  static const Rule group[] = { { OP_RED, "group", group_reduction }, { OP_NONE, NULL, NULL } };
  Unrolling how = { t, sum_chains(ir, nest, t) };
  ir_rewrite(ir, group, NULL, &nest, 1, NULL);
  ir_rewrite(ir, unroll, &how, &nest, 1, NULL);
  Nest n = nest_open(ir, nest);
  Refs stores = { 0 }, parts = { 0 };
  const Node *body = node(ir, n.store);
  for (int k = 0; k < body->nsrc && body->op == OP_SINK; k++) { /* copies of operands (stage.c), then the nest's own store */
    n.store = body->src[k];
    if (k < body->nsrc - 1) VEC_PUSH(&parts, expand_nest(ir, n.store, t));
  }
  Roles roles = roles_of(ir, &n);
  VEC_PUSH(&stores, n.store);
  for (int k = 0; k < roles.ncopied; k++) copy_stores(ir, &stores, roles.copied[k]);
  for (size_t i = 0; i < stores.n; i++) stores.p[i] = reduce_lanes(ir, stores.p[i], roles.vec);
  if (roles.vec) vectorize_stores(ir, &stores, roles.vec);

  /* NEST(SINK(copies of operands, stores), loops) */
  for (size_t i = 0; i < stores.n; i++) VEC_PUSH(&parts, stores.p[i]);
  roles.loops.store = parts.n == 1 ? parts.p[0] : node_make(ir, OP_SINK, DT_NONE, 1, (int)parts.n, parts.p, 0, NULL, 0, NULL);
  const Ref out = nest_close(ir, &roles.loops);
  VEC_FREE(&stores);
  VEC_FREE(&parts);
  return out;
}

static void expand(Plan *p, NestState *s) {
  static const Rule elements[] = { { OP_PART, "element", element_of }, { OP_NONE, NULL, NULL } };
  if (s->unit) s->nest = spread_matrices(p->ir, s->nest, s->unit);
  s->nest = expand_nest(p->ir, s->nest, p->in->target);
  if (s->unit) ir_rewrite(p->ir, elements, NULL, &s->nest, 1, NULL);
  s->unit = NULL;
}

void step_expand(Plan *p, Kernel *k) { each_state(p, k, expand); }

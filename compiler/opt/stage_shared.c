/* SPDX-License-Identifier: MIT */
/* stage_shared.c: copies panels of operands to shared memory, inside a reduction: the opt STAGE(range, depth) of devices.
 *
 * The threads of a block compute a tile of products of two factors. Each factor varies with one part of the tile only, so
 * threads and copies share its elements. The reduction's ranges become one, k, which runs in rounds of `depth` values: k =
 * round * depth + term. In each round all threads copy a panel: the part of a factor that the tile needs. The panel is in
 * shared memory, and the terms are read from there. linearize.c puts the copies first in the loop over rounds, and barriers
 * behind the copies and behind the terms.
 *
 * A panel has an element for each term and each value of the tile's ranges that the factor varies with. The copy holds the
 * factor as it is computed, with gates and casts. So matrices, convolutions and sums of dequantized products are handled alike.
 * Threads number the elements in the order of global memory, as far as it is known, so that neighbours load neighbours. A
 * number stands for a vector of elements if these are contiguous and whole vectors divide them. Behind the last term, a factor
 * is 0. Terms are added in the order of the original reduction.
 *
 * A device may sum products of four bytes in an instruction (DEVF_INT_DOT). Its panels hold 8-bit integers unconverted, in
 * groups of four terms: element (term / 4 * pitch + at) * 4 + term % 4. The terms of a group are a range of kind dot
 * (expand.c).
 *
 * needs: ranges of kind local and unroll (opts.c)
 * gives: NEST(SINK(NEST(STORE, ranges of a copy) ..., STORE), ranges), whose copies vary with a range of the reduction
 * keeps: the value of every element   breaks: nothing */
#include "../target/launch.h"
#include "opts.h"
#include <stdlib.h>
#include <string.h>

/* ---- the products of a reduction ---- */
static DType dtype_of(const IR *ir, Ref r) { return (DType)node(ir, r)->dt; }

Ref unit_factor(const IR *ir, Ref factor, DType d) {
  const Node *x = node(ir, factor);
  if (x->dt == d) return factor;
  return x->op == OP_CAST && node(ir, operand(x))->dt == d ? operand(x) : 0;
}

const char *staged_product(IR *ir, Ref nest, Ref r, StagedSum *p) {
  Refs all = { 0 };
  int found = 0, around = 0;
  *p = (StagedSum){ 0 };
  ir_toposort(ir, &nest, 1, &all);
  for (size_t i = 0; i < all.n; i++) {
    if (node(ir, all.p[i])->op != OP_RED) continue;
    if (opens_range(ir, all.p[i], r)) p->red = all.p[i], found++;
    else around += p->red && ix_uses(ir, red_value(node(ir, all.p[i])), p->red);
  }
  VEC_FREE(&all);
  if (!found) return "on a device the range of panels must belong to a reduction";
  if (found > 1) return "two reductions use the range of panels";
  const Node *x = node(ir, p->red), *product = node(ir, red_value(x));
  if (red_op(x) != OP_ADD || product->op != OP_MUL) return "the reduction with panels does not sum products";
  p->factor[0] = lhs(product);
  p->factor[1] = rhs(product);
  return reductions_below(ir, red_value(x)) || around ? "the reduction with panels is inside or around another one" : NULL;
}

bool sums_bytes(const IR *ir, const Device *d, const StagedSum *p) {
  bool bytes = (d->features & DEVF_INT_DOT) != 0;
  for (int f = 0; f < 2 && bytes; f++) {
    const Node *x = node(ir, p->factor[f]);
    bytes = x->op == OP_CAST && x->dt == DT_I32 && (dtype_of(ir, operand(x)) == DT_U8 || dtype_of(ir, operand(x)) == DT_I8);
  }
  return bytes;
}

/* ---- legality ---- */
enum { PANEL_MOST = 1 << 24 }; /* elements: more than any device has room for */

enum { APART = 16 };             /* bytes behind a row of a matrix, which put neighbours of a column into different banks */

static int64_t tile_of(const Opts *all, const Opt *o) {
  return (int64_t)o->unroll * o->lanes * (o->threads ? o->threads : 1) * unit_side(all, o->range);
}

/* Whether a panel for matrix x keeps an element's terms contiguous, as fragments of the unit need them. Matrices that are
 * loaded whole have contiguous rows. */
static bool terms_beside(const MatrixUnit *u, Matrix x) {
  return unit_is_whole(u) ? x == MATRIX_A : u->order[x].elements[0] == 'k';
}

/* Elements of a panel for a matrix unit, with `width` elements for each term */
static int64_t matrix_elems(const MatrixUnit *u, Matrix x, int64_t width, int64_t depth) {
  const int64_t more = APART / dt_bytes(unit_type(u, x));
  return terms_beside(u, x) ? width * (depth + more) : depth * (width + more);
}

const char *stage_shared_refuses(IR *ir, Ref nest, const Opts *o, int64_t *bytes) {
  const Nest n = nest_open(ir, nest);
  int64_t terms = 1;
  bool threads = false;
  StagedSum p;
  if (!o->depth) return "on a device panels need a depth";
  const char *wrong = staged_product(ir, nest, o->staged, &p);
  for (int k = 0; k < n.n; k++)
    if (range_kind(node(ir, n.ranges[k])) == RK_SERIAL) return "panels cannot be in a serial loop";
  for (int k = 1; !wrong && k < node(ir, p.red)->nsrc; k++) {
    const Ref r = node(ir, p.red)->src[k];
    for (int i = 0; i < o->n; i++)
      if (o->opt[i].range == r) wrong = "the reduction with panels is split";
    if (!i64_mul(terms, range_extent(node(ir, r)), &terms)) wrong = "the reduction with panels is too long";
  }
  if (!wrong && o->depth > terms) wrong = "panels are deeper than their reduction";
  for (int f = 0; f < 2 && !wrong; f++) {
    int64_t elems = o->depth;
    for (int i = 0; i < o->n; i++) {
      if (!opens_range(ir, nest, o->opt[i].range)) continue;
      threads |= o->opt[i].threads > 1;
      const bool own = ix_uses(ir, p.factor[f], o->opt[i].range);
      if (own && (!i64_mul(elems, tile_of(o, &o->opt[i]), &elems) || elems > PANEL_MOST)) return "a panel is too large";
      if (!own) p.shared[f] |= tile_of(o, &o->opt[i]) > 1;
    }
    const Matrix x = o->unit && ix_uses(ir, p.factor[f], o->side[0]) ? MATRIX_A : MATRIX_B;
    if (o->unit) *bytes += shared_bytes(unit_type(o->unit, x), matrix_elems(o->unit, x, elems / o->depth, o->depth));
    else if (p.shared[f]) *bytes += shared_bytes(dtype_of(ir, p.factor[f]), elems);
  }
  if (wrong) return wrong;
  if (o->unit && unit_is_whole(o->unit)) { /* each warp's sums pass through shared memory */
    int64_t warps = 1;
    for (int i = 0; i < o->n; i++) warps *= o->opt[i].threads ? o->opt[i].threads : 1;
    *bytes += shared_bytes(o->unit->c, warps * o->unit->m * o->unit->n);
  }
  if (!threads && !o->unit) return "panels need threads of a block, and no range of the nest is local";
  if (!p.shared[0] && !p.shared[1]) return "no two elements of a tile share a factor";
  return NULL;
}

/* ---- panels ---- */
enum { AT_ONCE = 8,        /* most vectors that a thread copies without a loop */
       PANEL_LANES = 4,    /* most elements of such a vector */
       SIDES = MAX_RANGES + 1 }; /* dimensions of a panel: the nest's ranges, and terms */

typedef struct Panels {
  IR *ir;
  const Device *dev;
  Nest nest;
  StagedSum p;
  Ref thread;              /* number of a thread in its block */
  int64_t threads;         /* in a block */
  int64_t terms, depth;    /* terms of the reduction, and of a round */
  /* round: a range; 0: there is only one. term: stands for the term in a panel's copy, where it is replaced */
  Ref round, term;
  int group;               /* contiguous terms: BYTES_SUMMED for products of bytes, else 1 */
  Ref group_term, in_group; /* ranges of the sum: over groups of terms, and over terms of a group (0: no groups) */
  const MatrixUnit *unit;  /* multiplies the panels; NULL: threads do */
  Ref rows;                /* the range of the rows of its matrices */
} Panels;

/* A dimension of a panel: it has an element for each value of the range */
typedef struct Side {
  Ref range;
  int64_t extent;
  int64_t step, run;       /* elements of memory between values, and the most consecutive values with that step */
  int place;
} Side;

static bool is_tile(const IR *ir, Ref range) { /* a nest's range over threads, copies or a matrix */
  const RangeKind kind = range_kind(node(ir, range));
  return kind == RK_LOCAL || kind == RK_UNROLL || kind == RK_FRAG;
}

int64_t memory_step(IR *ir, Ref index, Ref range) {
  Refs all = { 0 };
  VEC(Ref) zero = { 0 };
  int64_t at[2], step = INT64_MAX;
  bool known = true;
  collect_ranges(ir, index, &all);
  for (size_t i = 0; i < all.n; i++) VEC_PUSH(&zero, ix_const(ir, 0));
  for (int v = 0; v < 2 && known; v++) {
    for (size_t i = 0; i < all.n; i++)
      if (all.p[i] == range) zero.p[i] = ix_const(ir, v);
    known = node_is_const(ir, ix_subst(ir, index, (int)all.n, all.p, zero.p), &at[v]);
  }
  if (known) step = at[1] < at[0] ? at[0] - at[1] : at[1] - at[0];
  VEC_FREE(&all);
  VEC_FREE(&zero);
  return step;
}

Ref main_load(IR *ir, Ref factor) {
  Refs all = { 0 }, ranges = { 0 };
  Ref load = 0;
  size_t most = 0;
  ir_toposort(ir, &factor, 1, &all);
  for (size_t i = 0; i < all.n; i++) {
    if (node(ir, all.p[i])->op != OP_LOAD) continue;
    ranges.n = 0;
    collect_ranges(ir, load_index(node(ir, all.p[i])), &ranges);
    if (!load || ranges.n > most) load = all.p[i], most = ranges.n;
  }
  VEC_FREE(&all);
  VEC_FREE(&ranges);
  return load;
}

/* r with gates: loads stay inside of their buffers where `inside` does not hold, and r is 0 where `counts` does not. Both gates
 * may be absent (0). varies: the ranges of both. */
static Ref gate_factor(IR *ir, Ref r, Ref inside, Ref counts, const Refs *varies) {
  const Ref gate = ix_and(ir, inside, counts), zero = c_int(ir, (DType)node(ir, r)->dt, 0);
  Refs all = { 0 }, from = { 0 }, to = { 0 };
  bool zeroed = !counts;
  if (!gate) return r;
  ir_toposort(ir, &r, 1, &all);
  for (size_t i = 0; i < all.n; i++) { /* sources first: an index may be loaded */
    bool gated = false;
    if (node(ir, all.p[i])->op != OP_LOAD) continue;
    for (size_t k = 0; k < varies->n; k++) gated |= ix_uses(ir, all.p[i], varies->p[k]);
    if (!gated) continue;
    const Node *x = node(ir, ix_subst(ir, all.p[i], (int)from.n, from.p, to.p));
    const DType d = (DType)x->dt;
    const Ref other = load_else(x) ? load_else(x) : c_int(ir, d, 0);
    const Ref src[4] = { load_buffer(x), load_index(x), ix_and(ir, load_gate(x), gate), other };
    zeroed |= all.p[i] == r && other == zero;
    VEC_PUSH(&from, all.p[i]);
    VEC_PUSH(&to, node_make(ir, OP_LOAD, d, 1, 4, src, 0, NULL, 0, NULL));
  }
  r = ix_subst(ir, r, (int)from.n, from.p, to.p);
  VEC_FREE(&all);
  VEC_FREE(&from);
  VEC_FREE(&to);
  return zeroed ? r : node_make(ir, OP_WHERE, (DType)node(ir, r)->dt, 1, 3, (Ref[]){ counts, r, zero }, 0, NULL, 0, NULL);
}

/* The factor at term k of the reduction, or 0 if k is behind the last term. Ranges from[0..n) are replaced as well. */
static Ref factor_at(const Panels *s, Ref factor, Ref k, Ref inside, int n, const Ref *from, const Ref *by) {
  IR *ir = s->ir;
  const Node *red = node(ir, s->p.red);
  Ref old[MAX_RANGES + SIDES], new[MAX_RANGES + SIDES];
  int64_t step = s->terms;
  Refs varies = { 0 };
  int m = 0;
  for (int i = 1; i < red->nsrc; i++) {
    const int64_t extent = range_extent(node(ir, red->src[i]));
    const bool first = step == s->terms; /* the outermost range runs past its extent behind the last term */
    step /= extent;
    old[m] = red->src[i];
    new[m++] = first ? ix_div(ir, k, step) : ix_mod(ir, ix_div(ir, k, step), extent);
  }
  for (int i = 0; i < n; i++) old[m] = from[i], new[m++] = by[i];
  const Ref counts = s->terms % s->depth ? ix_lt(ir, k, ix_const(ir, s->terms)) : 0;
  if (inside) collect_ranges(ir, inside, &varies);
  if (counts) collect_ranges(ir, counts, &varies);
  const Ref out = gate_factor(ir, ix_subst(ir, factor, m, old, new), inside, counts, &varies);
  VEC_FREE(&varies);
  return out;
}

static Ref term_of(const Panels *s, Ref in_round) {
  return s->round ? ix_add(s->ir, ix_mul(s->ir, s->round, s->depth), in_round) : in_round;
}

/* The dimensions of a factor's panel: copies, threads, a matrix, last the terms of a round */
static int panel_sides(const Panels *s, Ref factor, Side *side) {
  static const RangeKind kinds[] = { RK_UNROLL, RK_LOCAL, RK_FRAG };
  IR *ir = s->ir;
  const Ref load = main_load(ir, factor);
  const Node *red = node(ir, s->p.red);
  int n = 0;
  for (int i = 0; i < 3; i++)
    for (int k = 0; k < s->nest.n; k++) {
      const Ref r = s->nest.ranges[k];
      const int64_t extent = range_extent(node(ir, r));
      if (range_kind(node(ir, r)) != kinds[i] || !ix_uses(ir, factor, r)) continue;
      side[n] = (Side){ r, extent, load ? memory_step(ir, load_index(node(ir, load)), r) : 0, extent, n };
      n++;
    }
  side[n] = (Side){ s->term, s->depth, 0, 1, n };
  for (int k = red->nsrc - 1; k > 0 && load; k--) { /* terms are contiguous as far as the innermost ranges are */
    const int64_t step = memory_step(ir, load_index(node(ir, load)), red->src[k]), extent = range_extent(node(ir, red->src[k]));
    if (extent == 1) continue;
    if (side[n].run == 1) side[n].step = step;
    else if (step == INT64_MAX || step / side[n].run != side[n].step || step % side[n].run) break;
    side[n].run *= extent;
  }
  return n + 1;
}

int staged_vector(int64_t copies) { return copies % PANEL_LANES == 0 ? PANEL_LANES : copies % 2 == 0 ? 2 : 1; }

int64_t staged_pitch(const Device *d, int64_t width, int64_t depth, int64_t beside) {
  const int64_t banks = d->shared_banks, spread = depth < banks ? banks / depth : 1;
  const int64_t apart = spread < beside ? beside : spread;
  return width + ((apart - width) % banks + banks) % banks;
}

/* Elements from one term to the next */
static int64_t panel_pitch(const Panels *s, DType d, int64_t width, int64_t beside, bool terms_beside, int64_t *spare) {
  const int64_t pitch = staged_pitch(s->dev, width, s->depth, beside);
  if (s->dev->shared_banks < 2 || !terms_beside || dt_bytes(d) != BANK_BYTES) return width;
  const int64_t more = shared_bytes(d, pitch * s->depth) - shared_bytes(d, width * s->depth);
  if (more > *spare) return width;
  *spare -= more;
  return pitch;
}

static int by_step(const void *a, const void *b) {
  const Side *x = a, *y = b;
  const int64_t far[2] = { x->step ? x->step : INT64_MAX, y->step ? y->step : INT64_MAX };
  if (far[0] != far[1]) return far[0] < far[1] ? 1 : -1;
  return x->run != y->run ? (x->run > y->run) - (x->run < y->run) : x->place - y->place;
}

static int64_t panel_width(const Side *side, int n) { /* elements of a term, which is the last dimension */
  int64_t width = 1;
  for (int i = 0; i < n - 1; i++) width *= side[i].extent;
  return width;
}

/* The dimension of copies that lie in vectors: the innermost one; -1: there is none */
static int vector_side(const Panels *s, const Side *side, int n) {
  int last = -1;
  for (int i = 0; i < n - 1 && !s->unit; i++)
    if (range_kind(node(s->ir, side[i].range)) == RK_UNROLL) last = i;
  return last;
}

/* Layout of a panel: element `at` of a term is at * element + term * step */
typedef struct Lie { int64_t element, step, elems; } Lie;

static Lie panel_lie(const Panels *s, Ref factor, int64_t width, int64_t beside, bool neighbours_store_terms, int64_t *spare) {
  const DType d = (DType)node(s->ir, factor)->dt;
  if (s->group > 1) return (Lie){ 1, width, width * s->depth };
  if (!s->unit) {
    const int64_t pitch = panel_pitch(s, d, width, beside, neighbours_store_terms, spare);
    return (Lie){ 1, pitch, pitch * s->depth };
  }
  const Matrix x = ix_uses(s->ir, factor, s->rows) ? MATRIX_A : MATRIX_B;
  const int64_t elems = matrix_elems(s->unit, x, width, s->depth);
  if (terms_beside(s->unit, x)) return (Lie){ elems / width, 1, elems };
  return (Lie){ 1, elems / s->depth, elems };
}

/* A panel of a factor: its dimensions, in the order of the panel and in that of global memory, and its buffer */
typedef struct Panel {
  Ref factor, buffer;
  DType dt;
  int n;
  Side side[SIDES], order[SIDES];
  int in_vectors;          /* the dimension whose values lie in vectors; -1: none does */
  int64_t beside;          /* elements of a vector */
  int64_t elems;           /* copied elements, without padding */
  Lie lie;
} Panel;

/* Whether all loads that vary with the range v of lanes take whole vectors */
static bool takes_vectors(IR *ir, Ref value, Ref v, int lanes) {
  Refs all = { 0 };
  bool whole = true;
  ir_toposort(ir, &value, 1, &all);
  for (size_t i = 0; i < all.n && whole; i++) {
    const Node *x = node(ir, all.p[i]);
    int64_t coef;
    Ref rest;
    if (x->op != OP_LOAD || !ix_uses(ir, all.p[i], v)) continue;
    whole = !(load_gate(x) && ix_uses(ir, load_gate(x), v)) && ix_split(ir, load_index(x), v, &coef, &rest) && coef == 1 &&
            ix_is_multiple(ir, rest, lanes);
  }
  VEC_FREE(&all);
  return whole;
}

/* Index of an element in the panel. group: number of its group of terms; at: its place within a term; in_group: its term in the
 * group */
static Ref panel_place(const Panels *s, const Panel *p, Ref group, Ref at, Ref in_group) {
  const Ref place = ix_add(s->ir, ix_mul(s->ir, group, p->lie.step), at);
  return ix_add(s->ir, ix_mul(s->ir, place, s->group), in_group);
}

/* Place of an element within a term. Vectors of a thread's copies are innermost: the thread loads each of them at once. The
 * vectors of neighbours are contiguous, so that one request of a warp meets all banks. */
static Ref place_in_term(const Panels *s, const Panel *p) {
  IR *ir = s->ir;
  Ref at = ix_const(ir, 0), lane = at;
  for (int i = 0; i < p->n - 1; i++) {
    const Side *x = &p->side[i];
    const int64_t beside = i == p->in_vectors ? p->beside : 1;
    at = ix_add(ir, ix_mul(ir, at, x->extent / beside), ix_div(ir, x->range, beside));
    if (beside > 1) lane = ix_mod(ir, x->range, beside);
  }
  return ix_mul(ir, ix_add(ir, ix_mul(ir, at, p->beside), lane), p->lie.element);
}

/* The nest that makes the panel. lanes: elements that a thread takes at a time. 0: they are no whole vectors in memory */
static Ref panel_copy(const Panels *s, const Panel *p, int lanes) {
  IR *ir = s->ir;
  Ref from[SIDES], by[SIDES];
  /* vector number i * threads + thread, in the order of memory */
  const int64_t vectors = p->elems / lanes, each = (vectors + s->threads - 1) / s->threads;
  const Ref v = lanes > 1 ? range_make(ir, lanes, RK_VEC) : 0;
  Nest c = { 0 };
  Ref number = s->thread, inside = 0, term = 0;
  if (each > 1) {
    c.ranges[c.n++] = range_make(ir, each, each <= AT_ONCE ? RK_UNROLL : RK_LOOP);
    number = ix_add(ir, ix_mul(ir, c.ranges[0], s->threads), number);
  }
  if (each * s->threads > vectors) inside = ix_lt(ir, number, ix_const(ir, vectors));
  if (v) c.ranges[c.n++] = v, number = ix_add(ir, ix_mul(ir, number, lanes), v);
  int64_t step = p->elems;
  for (int i = 0; i < p->n; i++) {
    step /= p->order[i].extent;
    const Ref value = i ? ix_mod(ir, ix_div(ir, number, step), p->order[i].extent) : ix_div(ir, number, step);
    from[i] = p->order[i].range;
    by[i] = value;
    if (p->order[i].range == s->term) term = value;
  }
  const Ref to = ix_subst(ir, place_in_term(s, p), p->n, from, by);
  const Ref value = factor_at(s, p->factor, term_of(s, term), inside, p->n, from, by);
  if (v && !takes_vectors(ir, value, v, lanes)) return 0;
  const Ref place = panel_place(s, p, ix_div(ir, term, s->group), to, ix_mod(ir, term, s->group));
  const Ref store[4] = { p->buffer, place, value, inside };
  c.store = node_make(ir, OP_STORE, p->dt, 1, inside ? 4 : 3, store, 0, NULL, 0, NULL);
  return nest_close(ir, &c);
}

/* Elements that a thread copies at a time: its widest load, if elements are contiguous and most threads have some */
static int panel_lanes(const Panels *s, const Panel *p) {
  const Side *inner = &p->order[p->n - 1];
  int lanes = s->dev->load_bytes / dt_bytes(p->dt);
  if (lanes > PANEL_LANES) lanes = PANEL_LANES;
  if ((inner->range == s->term ? p->lie.step : p->lie.element) != 1 && s->unit) return 1;
  if (lanes < 2 || inner->step != 1 || inner->extent % lanes || inner->run % lanes) return 1;
  return p->elems < s->threads * lanes / 2 ? 1 : lanes;
}

/* Loads the factor from a panel; *copy: the nest that makes the panel. *spare: bytes of shared memory that are still free */
static Ref panel_load(const Panels *s, Ref factor, int64_t *spare, Ref *copy) {
  IR *ir = s->ir;
  Panel p = { .factor = factor, .dt = (DType)node(ir, factor)->dt, .n = panel_sides(s, factor, p.side) };
  const int64_t width = panel_width(p.side, p.n), id = (int64_t)ir->bufs.n;
  memcpy(p.order, p.side, (size_t)p.n * sizeof *p.side);
  p.in_vectors = vector_side(s, p.side, p.n);
  p.beside = p.in_vectors < 0 ? 1 : staged_vector(p.side[p.in_vectors].extent);
  qsort(p.order, (size_t)p.n, sizeof *p.order, by_step);
  p.elems = width * s->depth;
  p.lie = panel_lie(s, factor, width, p.beside, p.order[p.n - 1].range == s->term, spare);
  VEC_PUSH(&ir->bufs, ((Buf){ .kind = BUF_SHARED, .dt = p.dt, .elems = p.lie.elems, .offset = -1 }));
  p.buffer = node_make(ir, OP_BUFFER, p.dt, 1, 0, NULL, 1, &id, 0, NULL);
  const int lanes = panel_lanes(s, &p);
  *copy = lanes > 1 ? panel_copy(s, &p, lanes) : 0;
  if (!*copy) *copy = panel_copy(s, &p, 1);
  const Ref at = panel_place(s, &p, s->group_term, place_in_term(s, &p), s->in_group ? s->in_group : ix_const(ir, 0));
  return node_make(ir, OP_LOAD, p.dt, 1, 2, (Ref[]){ p.buffer, at }, 0, NULL, 0, NULL);
}

/* Products of bytes are summed by fours if both factors are in panels. The conversion follows the load from the panel then. */
static void group_terms(Panels *s) {
  IR *ir = s->ir;
  s->group = 1;
  s->group_term = s->term;
  if (s->unit || !sums_bytes(ir, s->dev, &s->p) || !s->p.shared[0] || !s->p.shared[1] || s->depth % BYTES_SUMMED) return;
  for (int f = 0; f < 2; f++) s->p.factor[f] = operand(node(ir, s->p.factor[f]));
  s->group = BYTES_SUMMED;
  s->group_term = range_make(ir, s->depth / BYTES_SUMMED, RK_REDUCE);
  s->in_group = range_make(ir, BYTES_SUMMED, RK_DOT);
}

/* Loads a factor from a panel of the unit's type, converted back to the type of the product */
static Ref matrix_load(const Panels *s, Ref factor, int64_t *spare, Ref *copy) {
  const DType wide = dtype_of(s->ir, factor);
  const Ref own = unit_factor(s->ir, factor, ix_uses(s->ir, factor, s->rows) ? s->unit->a : s->unit->b);
  const Ref load = panel_load(s, own, spare, copy);
  return own == factor ? load : node_make(s->ir, OP_CAST, wide, 1, 1, &load, 0, NULL, 0, NULL);
}

/* The reduction's ranges within a round. A matrix unit has two: successive products, and the depth of each. */
static int term_ranges(const Panels *s, Ref factor[2], Ref *out) {
  if (!s->unit) {
    int n = 0;
    if (node(s->ir, s->group_term)->op == OP_RANGE) out[n++] = s->group_term;
    if (s->in_group) out[n++] = s->in_group;
    return n;
  }
  out[0] = range_make(s->ir, s->depth / s->unit->k, RK_UNROLL);
  out[1] = range_new(s->ir, s->unit->k, RK_FRAG);
  const Ref term = ix_add(s->ir, ix_mul(s->ir, out[0], s->unit->k), out[1]);
  for (int f = 0; f < 2; f++) factor[f] = ix_subst(s->ir, factor[f], 1, &s->term, &term);
  if (s->depth > s->unit->k) return 2;
  out[0] = out[1];
  return 1;
}

Ref stage_shared(IR *ir, Ref nest, const Target *t, Ref range, int depth, const MatrixUnit *u) {
  Panels s = { .ir = ir, .dev = t->dev, .nest = nest_open(ir, nest), .threads = 1, .terms = 1, .depth = depth, .unit = u };
  Refs parts = { 0 };
  Ref src[4], factor[2];
  int64_t spare = t->dev->shared_bytes;
  Side side[SIDES];
  const char *wrong = staged_product(ir, nest, range, &s.p);
  if (wrong) ir_wrong(ir, "a checked schedule: %s", wrong);
  s.thread = ix_const(ir, 0);
  for (int k = 0; k < s.nest.n; k++) {
    const Ref r = s.nest.ranges[k];
    for (int f = 0; f < 2 && is_tile(ir, r); f++)
      s.p.shared[f] |= range_extent(node(ir, r)) > 1 && !ix_uses(ir, s.p.factor[f], r);
    if (range_kind(node(ir, r)) == RK_FRAG && !s.rows) s.rows = r;
    if (range_kind(node(ir, r)) != RK_LOCAL) continue;
    s.thread = ix_add(ir, ix_mul(ir, s.thread, range_extent(node(ir, r))), r);
    s.threads *= range_extent(node(ir, r));
  }
  const Node *red = node(ir, s.p.red);
  const DType d = (DType)red->dt;
  for (int k = 1; k < red->nsrc; k++) s.terms *= range_extent(node(ir, red->src[k]));
  if (s.terms > s.depth) s.round = range_make(ir, (s.terms + s.depth - 1) / s.depth, RK_REDUCE);
  s.term = range_new(ir, s.depth, RK_REDUCE);
  group_terms(&s);
  for (int f = 0; f < 2; f++) {
    const int n = s.p.shared[f] ? panel_sides(&s, s.p.factor[f], side) : 0;
    if (n) spare -= shared_bytes(dtype_of(ir, s.p.factor[f]), panel_width(side, n) * s.depth);
  }
  for (int f = 0; f < 2; f++) {
    Ref copy = 0;
    factor[f] = u               ? matrix_load(&s, s.p.factor[f], &spare, &copy)
                : s.p.shared[f] ? panel_load(&s, s.p.factor[f], &spare, &copy)
                                : factor_at(&s, s.p.factor[f], term_of(&s, s.term), 0, 0, NULL, NULL);
    if (copy) VEC_PUSH(&parts, copy);
    if (s.in_group) factor[f] = node_make(ir, OP_CAST, d, 1, 1, &factor[f], 0, NULL, 0, NULL);
  }
  int n = 1;
  if (s.round) src[n++] = s.round;
  n += term_ranges(&s, factor, src + n);
  src[0] = node_make(ir, OP_MUL, d, 1, 2, factor, 0, NULL, 0, NULL);
  const Ref sum = node_make(ir, OP_RED, d, 1, n, src, red->narg, red->arg, 0, NULL);
  VEC_PUSH(&parts, ix_subst(ir, s.nest.store, 1, &s.p.red, &sum));
  s.nest.store = node_make(ir, OP_SINK, DT_NONE, 1, (int)parts.n, parts.p, 0, NULL, 0, NULL);
  VEC_FREE(&parts);
  return nest_close(ir, &s.nest);
}

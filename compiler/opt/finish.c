/* SPDX-License-Identifier: MIT */
/* finish.c: a loop over what follows the sums of a tile.
 *
 * A bundle for a range of sizes has several nests for the tiles of a range: for whole tiles, lower ones and single rows
 * (sized.c).
 * Each of them has as many copies of the arithmetic behind a
 * sum as the tile has vectors. So a tile first stores its sums to memory of the kernel (BUF_LOCAL, on the stack). Loops then take
 * one vector of sums at a time, so that the arithmetic has one copy. The loops cost a store and a load for each vector.
 *
 * needs: split ranges (opts.c)   gives: NEST(SINK(NEST(STORE of sums, copies and lanes) ..., STORE), loops)
 * keeps: the value of every element */
#include "opts.h"

enum { SUMS_BEHIND = 4 }; /* most sums of a store, such as those of the gates of a cell */

/* The copies and lanes of a tile, and the loops and lanes that take their place */
typedef struct Copies {
  int n;
  Ref range[MAX_RANGES], again[MAX_RANGES];
  int64_t copies, elems;
} Copies;

/* A reduction, or a reduction in pieces (sized.c) */
static bool is_sum(const IR *ir, Ref r) {
  const Node *x = node(ir, r);
  int pieces = 1;
  for (; (x->op == OP_ADD || x->op == OP_MAX || x->op == OP_MIN) && pieces < SUMS_BEHIND; pieces++) {
    if (node(ir, rhs(x))->op != OP_RED) return false;
    x = node(ir, lhs(x));
  }
  return x->op == OP_RED;
}

/* The sums below `store` that are not inside of other ones */
static void outer_sums(const IR *ir, Ref store, Refs *out) {
  Refs all = { 0 }, inner = { 0 };
  ir_toposort(ir, &store, 1, &all);
  for (size_t i = all.n; i-- > 0;) {
    if (!is_sum(ir, all.p[i]) || range_place(&inner, all.p[i]) >= 0) continue;
    VEC_PUSH(out, all.p[i]);
    ir_toposort(ir, &all.p[i], 1, &inner);
  }
  VEC_FREE(&all);
  VEC_FREE(&inner);
}

static bool below_any(const IR *ir, const Refs *roots, Ref r) {
  bool below = false;
  for (size_t i = 0; i < roots->n; i++) below |= ix_uses(ir, roots->p[i], r);
  return below;
}

/* Instructions for a vector between the sums and the store */
static double instructions_behind(const IR *ir, const Target *t, Ref store, const Refs *sums) {
  Refs all = { 0 };
  double n = 0;
  ir_toposort(ir, &store, 1, &all);
  for (size_t i = 0; i < all.n; i++) {
    const Node *x = node(ir, all.p[i]);
    bool behind = x->op == OP_LOAD;
    for (size_t k = 0; k < sums->n; k++) behind |= ix_uses(ir, all.p[i], sums->p[k]);
    if (behind && !below_any(ir, sums, all.p[i])) n += x->op == OP_LOAD ? 1 : op_instructions(t, BY_TILE, (Op)x->op);
  }
  VEC_FREE(&all);
  return n;
}

/* Terms of a sum of a tile */
static int64_t terms_of(const IR *ir, Ref sum) {
  const Node *x = node(ir, sum);
  int64_t terms = 1;
  while (x->op != OP_RED) x = node(ir, lhs(x));
  for (int k = 0; k < x->nsrc - 1; k++) terms *= range_extent(node(ir, red_range(x, k)));
  return terms;
}

static void add_range(IR *ir, Copies *tile, Ref range) {
  const Node *r = node(ir, range);
  const bool lanes = range_kind(r) == RK_VEC;
  tile->again[tile->n] = range_make(ir, range_extent(r), lanes ? RK_VEC : RK_LOOP);
  tile->range[tile->n++] = range;
  tile->elems *= range_extent(r);
  if (!lanes) tile->copies *= range_extent(r);
}

/* Finds the copies and lanes of the nest, lanes last. false: it has other ranges, or a sum does not vary along one of them */
static bool find_tile(IR *ir, const Nest *n, const Refs *sums, Copies *tile) {
  bool good = true, loop = false;
  *tile = (Copies){ .copies = 1, .elems = 1 };
  for (int k = 0; k < n->n && good; k++) {
    const RangeKind kind = range_kind(node(ir, n->ranges[k]));
    loop |= kind == RK_LOOP;
    if (kind == RK_LOOP) continue;
    good = kind == RK_VEC || kind == RK_UNROLL;
    for (size_t i = 0; i < sums->n; i++) good = good && ix_uses(ir, sums->p[i], n->ranges[k]);
    if (kind == RK_UNROLL) add_range(ir, tile, n->ranges[k]);
  }
  for (int k = 0; k < n->n && good; k++)
    if (range_kind(node(ir, n->ranges[k])) == RK_VEC) add_range(ir, tile, n->ranges[k]);
  return good && loop && tile->n;
}

static Ref place_in(IR *ir, const Ref *range, int n) {
  Ref at = ix_const(ir, 0);
  for (int i = 0; i < n; i++) at = ix_add(ir, ix_mul(ir, at, range_extent(node(ir, range[i]))), range[i]);
  return at;
}

/* The condition that a copy of the tile is stored, which varies along one range of copies; 0: each is stored */
static Ref gate_of_copy(const IR *ir, const Node *store, const Copies *tile) {
  const Ref gate = store_gate(store);
  const Node *x = gate ? node(ir, gate) : NULL;
  bool rows = false;
  for (int k = 0; k < tile->n && x && x->op == OP_CMPLT; k++) rows |= lhs(x) == tile->range[k];
  return rows ? gate : 0;
}

/* The nest that stores a sum, if the gate is open; *load: the load that reads it */
static Ref store_sum(IR *ir, Ref sum, Ref gate, const Copies *tile, Ref *load) {
  const DType d = (DType)node(ir, sum)->dt;
  const int64_t id = (int64_t)ir->bufs.n;
  Nest n = { .n = tile->n };
  VEC_PUSH(&ir->bufs, ((Buf){ .kind = BUF_LOCAL, .dt = d, .elems = tile->elems, .offset = -1 }));
  const Ref buf = node_make(ir, OP_BUFFER, d, 1, 0, NULL, 1, &id, 0, NULL);
  for (int k = 0; k < tile->n; k++) n.ranges[k] = tile->range[k];
  const Ref src[4] = { buf, place_in(ir, tile->range, tile->n), sum, gate };
  n.store = node_make(ir, OP_STORE, d, 1, gate ? 4 : 3, src, 0, NULL, 0, NULL);
  *load = node_make(ir, OP_LOAD, d, 1, 2, (Ref[]){ buf, place_in(ir, tile->again, tile->n) }, 0, NULL, 0, NULL);
  return nest_close(ir, &n);
}

static Ref finish_in_loops(IR *ir, Nest *n, const Refs *sums, const Copies *tile) {
  Refs parts = { 0 }, to = { 0 };
  int ranges = 0;
  for (size_t i = 0; i < sums->n; i++) {
    Ref load;
    VEC_PUSH(&parts, store_sum(ir, sums->p[i], gate_of_copy(ir, node(ir, n->store), tile), tile, &load));
    VEC_PUSH(&to, load);
  }
  const Ref store = ix_subst(ir, n->store, (int)sums->n, sums->p, to.p);
  VEC_PUSH(&parts, ix_subst(ir, store, tile->n, tile->range, tile->again));
  n->store = node_make(ir, OP_SINK, DT_NONE, 1, (int)parts.n, parts.p, 0, NULL, 0, NULL);
  for (int k = 0; k < n->n; k++)
    if (range_kind(node(ir, n->ranges[k])) == RK_LOOP) n->ranges[ranges++] = n->ranges[k];
  for (int k = 0; k < tile->n; k++) n->ranges[ranges++] = tile->again[k];
  VEC_FREE(&parts);
  VEC_FREE(&to);
  return nest_close(ir, n);
}

static void finish(Plan *p, NestState *s) {
  IR *ir = p->ir;
  Nest n = nest_open(ir, s->nest);
  const Node *store = node(ir, n.store);
  Refs sums = { 0 };
  Copies tile;
  if (!ir->symbols.n || store->op != OP_STORE) return;
  outer_sums(ir, n.store, &sums);
  if (sums.n && sums.n <= SUMS_BEHIND && find_tile(ir, &n, &sums, &tile)) {
    const double behind = instructions_behind(ir, p->in->target, n.store, &sums);
    const double saved = (double)(tile.copies - 1) * behind - (double)tile.copies * (double)(sums.n - 1) -
                         tunable(ir->ctx, finish_loop);
    const double least = tunable(ir->ctx, finish_saves), terms = (double)terms_of(ir, sums.p[0]);
    const double few = tunable(ir->ctx, finish_terms);
    const bool whole = !s->depth && saved < tunable(ir->ctx, finish_whole) * least;
    const bool pays = saved >= least && terms >= (whole ? tunable(ir->ctx, finish_whole_terms) * few : few);
    if (pays) s->nest = finish_in_loops(ir, &n, &sums, &tile);
  }
  VEC_FREE(&sums);
}

void step_finish(Plan *p, Kernel *k) { each_state(p, k, finish); }

/* SPDX-License-Identifier: MIT */
/* canon.c: canonical ranges of a nest.
 *
 * Reshapes leave r / c and r % c in index expressions. Where c divides the extent, r is split into r1 * c + r2, and they
 * vanish. Then ranges are merged that every access walks as one (outer stride = inner stride x inner extent). So a 1x1
 * convolution over a plane becomes a matrix product over pixels, and an elementwise kernel one flat loop. Last, ranges of a
 * reduction are ordered by the stride of their loads, widest outermost.
 *
 * even:   needs: sinks   gives: Kernel.nests without selections by a remainder that does not divide
 * canon:  needs: nests of loops   gives: ranges, by whose places schedules name them
 * number: needs: split ranges   gives: ranges numbered from the outside inwards
 * keeps: the value of every element, the order of sums except that of their ranges */
#include "nest.h"
#include <stdlib.h>
#include <string.h>

/* ---- numbers ---- */
static void list_ranges(const IR *ir, const Node *list, bool threads, RefMap *place, Refs *out) {
  for (int k = 1; k < list->nsrc; k++) {
    const Ref r = list->src[k];
    if (threads != (range_kind(node(ir, r)) == RK_THREAD) || refmap_get(place, r)) continue;
    VEC_PUSH(out, r);
    refmap_set(place, r, (Ref)out->n);
  }
}

/* The ranges of a nest from the outside inwards: chunks, its loops, loops of its reductions (users before sources) */
static void ranges_by_place(const IR *ir, Ref nest, Refs *out) {
  Refs all = { 0 };
  RefMap place = { 0 };
  ir_toposort(ir, &nest, 1, &all);
  list_ranges(ir, node(ir, nest), true, &place, out);
  for (size_t i = all.n; i-- > 0;) {
    const Node *x = node(ir, all.p[i]);
    if (x->op == OP_NEST || x->op == OP_RED) list_ranges(ir, x, false, &place, out);
  }
  refmap_free(&place);
  VEC_FREE(&all);
}

/* Numbers ranges so that terms which inner loops change come last in sums. The terms before them are then one value for the
 * inner loops. */
static Ref number_ranges(IR *ir, Ref nest) {
  Refs old = { 0 }, new = { 0 };
  bool ordered = true;
  ranges_by_place(ir, nest, &old);
  for (size_t i = 1; i < old.n && ordered; i++) ordered = node_order(ir, old.p[i - 1], old.p[i]) < 0;
  for (size_t i = 0; i < old.n && !ordered; i++) {
    VEC_PUSH(&new, range_again(ir, node(ir, old.p[i])));
  }
  if (!ordered) nest = ix_subst(ir, nest, (int)old.n, old.p, new.p);
  VEC_FREE(&old);
  VEC_FREE(&new);
  return nest;
}

/* Whether range r may become an outer range of `outer` values and an inner one. If a run needs the first entries that r counts,
 * the outer one must count them. */
static bool splits_entries(IR *ir, Ref nest, Ref r, int64_t outer) {
  tgcrt_size values;
  bool yes = true;
  for (int i = 0; i < nest_needed(ir, nest)->n && yes; i++)
    yes = outer % need_most(ir, &nest_needed(ir, nest)->is[i]) == 0 || sized_range(ir, nest, i, &values) != r;
  return yes;
}

/* ---- splitting at quotients and remainders ---- */
/* The nest, in which r may become groups of entries: the last group may go on behind the run's size. A store to memory of the
 * caller gets a gate. 0: the nest must not go on, or the groups are large */
static Ref groups_of_entries(IR *ir, Ref nest, Ref r, int64_t group) {
  tgcrt_size values;
  Nest n = nest_open(ir, nest);
  const Node *x = node(ir, n.store);
  const Buf *b = x->op == OP_STORE ? &ir->bufs.p[buffer_id(node(ir, store_buffer(x)))] : NULL;
  int at = 0;
  while (b && at < b->needed.n && sized_range(ir, nest, at, &values) != r) at++;
  if (!b || at == b->needed.n || group > tunable(ir->ctx, nest_select_most) || values.times != 1) return 0;
  const Need *is = &b->needed.is[at];
  if (buf_ends_early(b) && !store_gate(x)) {
    if (is->extent != range_extent(node(ir, r))) return 0;
    const Ref entry = ix_mod(ir, ix_div(ir, store_index(x), is->inner), is->extent);
    const Ref gate = ix_lt(ir, entry, size_value(ir, size_number(ir, values)));
    const Ref src[4] = { store_buffer(x), store_index(x), store_value(x), gate };
    n.store = node_make(ir, OP_STORE, (DType)x->dt, 1, 4, src, 0, NULL, 0, NULL);
    nest = nest_close(ir, &n);
  }
  return may_go_on(ir, nest, r) ? nest : 0;
}

static Ref split_once(IR *ir, Ref nest) {
  Refs all = { 0 };
  Ref next = 0;
  ir_toposort(ir, &nest, 1, &all);
  for (size_t i = 0; i < all.n && !next; i++) {
    const Node *x = node(ir, all.p[i]);
    if (x->op != OP_FLDIV && x->op != OP_FLMOD) continue;
    const Node *r = node(ir, lhs(x));
    int64_t c;
    if (r->op != OP_RANGE || !node_is_const(ir, rhs(x), &c) || c <= 1 || range_extent(r) % c || range_extent(r) == c) continue;
    if (range_limit(r)) continue;
    const Ref from = splits_entries(ir, nest, lhs(x), range_extent(r) / c) ? nest : groups_of_entries(ir, nest, lhs(x), c);
    if (!from) continue;
    Ref by[2] = { range_make(ir, range_extent(r) / c, range_kind(r)), range_make(ir, c, range_kind(r)) };
    next = range_replace(ir, from, lhs(x), ix_add(ir, ix_mul(ir, by[0], c), by[1]), 2, by);
  }
  VEC_FREE(&all);
  return next;
}

/* Splits a range that counts the entries of several rows, of each of which a run needs the first ones. */
static Ref split_rows(IR *ir, Ref nest) {
  const Nest n = nest_open(ir, nest);
  const Needed *needed = nest_needed(ir, nest);
  for (int i = 0; i < needed->n; i++)
    for (int k = 0; k < n.n; k++) {
      const Node *r = node(ir, n.ranges[k]);
      const int64_t extent = range_extent(r);
      int64_t coef, row;
      Ref rest;
      if (range_limit(r) || range_kind(r) != RK_LOOP ||
          !ix_split(ir, store_index(node(ir, n.store)), n.ranges[k], &coef, &rest) || coef <= 0 || needed->is[i].inner % coef)
        continue;
      row = needed->is[i].inner / coef * needed->is[i].extent;
      if (row == 1 || extent <= row || extent % row) continue; /* a row of one entry: the range counts rows already */
      const Ref by[2] = { range_make(ir, extent / row, RK_LOOP), range_make(ir, row, RK_LOOP) };
      return range_replace(ir, nest, n.ranges[k], ix_add(ir, ix_mul(ir, by[0], row), by[1]), 2, by);
    }
  return 0;
}

/* ---- selections by a remainder that does not divide ---- */
/* A range of the nest whose remainder by *c selects a value, where c does not divide its extent */
static Ref uneven_range(IR *ir, Ref nest, const Nest *n, int64_t *c) {
  Refs all = { 0 };
  Ref found = 0;
  ir_toposort(ir, &n->store, 1, &all);
  for (size_t i = 0; i < all.n && !found; i++) {
    const Node *x = node(ir, all.p[i]), *r = x->nsrc ? node(ir, x->src[0]) : NULL;
    if (x->op != OP_FLMOD || r->op != OP_RANGE || !node_is_const(ir, rhs(x), c) || *c > tunable(ir->ctx, nest_select_most) ||
        range_extent(r) % *c == 0)
      continue;
    for (int k = 0; k < n->n; k++)
      if (n->ranges[k] == lhs(x) && range_kind(r) != RK_SERIAL && !range_ends_early(ir, nest, lhs(x))) found = n->ranges[k];
  }
  VEC_FREE(&all);
  return found;
}

static void even_nests(IR *ir, Ref nest, Refs *out) {
  Nest n = nest_open(ir, nest);
  int64_t c;
  Ref r = uneven_range(ir, nest, &n, &c);
  if (!r) {
    VEC_PUSH(out, nest);
    return;
  }
  int64_t extent = range_extent(node(ir, r)), begin[3] = { 0, extent / c * c, extent };
  for (int i = 0; i < 2; i++) {
    Ref part;
    even_nests(ir, range_part(ir, nest, r, begin[i], begin[i + 1], &part), out);
  }
}

/* ---- merging ---- */

/* Index expressions of a nest: every i64 with a user that is no index arithmetic. */
static void index_roots(const IR *ir, Ref nest, Refs *out) {
  Refs all = { 0 };
  ir_toposort(ir, &nest, 1, &all);
  for (size_t i = 0; i < all.n; i++) {
    const Node *x = node(ir, all.p[i]);
    bool sum = x->dt == DT_I64 && (x->op == OP_ADD || (x->op == OP_MUL && (node_is_const(ir, lhs(x), NULL) ||
                                                                           node_is_const(ir, rhs(x), NULL))));
    for (int k = 0; k < x->nsrc && !sum; k++) {
      const Node *y = node(ir, x->src[k]);
      if (y->dt == DT_I64 && y->op != OP_LOAD && !((x->op == OP_RED || x->op == OP_NEST) && k > 0)) VEC_PUSH(out, x->src[k]);
    }
  }
  VEC_FREE(&all);
}

static bool can_merge(IR *ir, const Refs *roots, Ref a, Ref b) {
  int64_t eb = range_extent(node(ir, b));
  for (size_t i = 0; i < roots->n; i++) {
    Ref e = roots->p[i], rest;
    int64_t ca, cb;
    if (!ix_uses(ir, e, a) && !ix_uses(ir, e, b)) continue;
    if (!ix_split(ir, e, a, &ca, &rest) || !ix_split(ir, rest, b, &cb, &rest) || ca != cb * eb) return false;
  }
  return true;
}

static Ref merge_once(IR *ir, Ref nest, const Ref *list, int n) {
  Refs roots = { 0 };
  Ref next = 0;
  index_roots(ir, nest, &roots);
  for (int i = 0; i < n && !next; i++) {
    for (int j = 0; j < n && !next; j++) {
      Ref a = list[i], b = list[j];
      int64_t extent;
      if (i == j || range_kind(node(ir, a)) != range_kind(node(ir, b)) || range_limit(node(ir, a)) ||
          range_ends_early(ir, nest, b) ||
          !i64_mul(range_extent(node(ir, a)), range_extent(node(ir, b)), &extent) || !can_merge(ir, &roots, a, b))
        continue;
      Ref m = range_make(ir, extent, range_kind(node(ir, a)));
      /* b first: until a is replaced, bounds are too wide, never too narrow, so no gate is wrongly found open */
      nest = range_replace(ir, nest, b, m, 1, &m);
      next = range_replace(ir, nest, a, ix_const(ir, 0), 0, NULL);
    }
  }
  VEC_FREE(&roots);
  return next;
}

static Ref merge_any(IR *ir, Ref nest) {
  const Node *x = node(ir, nest);
  Ref next = merge_once(ir, nest, x->src + 1, x->nsrc - 1);
  Refs all = { 0 };
  if (!next) ir_toposort(ir, &nest, 1, &all);
  for (size_t i = 0; i < all.n && !next; i++) {
    const Node *r = node(ir, all.p[i]);
    if (r->op == OP_RED && r->nsrc > 2) next = merge_once(ir, nest, r->src + 1, r->nsrc - 1);
  }
  VEC_FREE(&all);
  return next;
}

/* ---- order of a reduction's ranges: by the widest stride of its loads of activations ---- */
static int64_t widest_stride(IR *ir, Ref value, Ref range) {
  Refs all = { 0 };
  int64_t widest = 0;
  ir_toposort(ir, &value, 1, &all);
  for (size_t i = 0; i < all.n; i++) {
    const Node *x = node(ir, all.p[i]);
    int64_t coef = 0;
    Ref rest, index;
    FloorDivs divs;
    if (x->op != OP_LOAD || ir->bufs.p[buffer_id(node(ir, load_buffer(x)))].kind == BUF_WEIGHT) continue;
    index = floordivs_open(ir, load_index(x), &divs);
    if (ix_split(ir, index, range, &coef, &rest) && llabs(coef) > widest) widest = llabs(coef);
    for (int k = 0; k < divs.n; k++)
      if (divs.range[k] == range && ix_split(ir, index, divs.step[k], &coef, &rest) && llabs(coef) > widest)
        widest = llabs(coef);
  }
  VEC_FREE(&all);
  return widest;
}

static Ref order_reduction(IR *ir, Ref r, void *arg) {
  (void)arg;
  const Node *x = node(ir, r);
  Ref src[MAX_RANGES + 1] = { red_value(x) };
  int64_t stride[MAX_RANGES + 1];
  if (x->nsrc <= 2) return 0;
  CHECK(x->nsrc <= MAX_RANGES);
  for (int k = 1; k < x->nsrc; k++) {
    int64_t s = widest_stride(ir, red_value(x), x->src[k]);
    int at = k;
    for (; at > 1 && stride[at - 1] < s; at--) src[at] = src[at - 1], stride[at] = stride[at - 1];
    src[at] = x->src[k];
    stride[at] = s;
  }
  return node_with_src(ir, r, src) == r ? 0 : node_with_src(ir, r, src);
}

/* ---- order of the nest's ranges ---- */
/* A load moves by less than a stream along range r, but further along a range that constants do not vary with. An example:
 * groups of channels are adjacent at every pixel. */
static bool side_by_side(IR *ir, Ref index, Ref r, const Refs *rows, DType d) {
  int64_t mine, other;
  Ref rest;
  bool yes = false;
  if (!ix_split(ir, index, r, &mine, &rest) || llabs(mine) * dt_bytes(d) >= tunable(ir->ctx, stream_bytes)) return false;
  for (size_t i = 0; i < rows->n && !yes; i++)
    yes = ix_uses(ir, index, rows->p[i]) && !(ix_split(ir, index, rows->p[i], &other, &rest) && llabs(other) <= llabs(mine));
  return yes;
}

/* All loads of a reduction move with r: it counts matrix products, each with its own operands. Not if one operand is constant
 * and the others are adjacent: each product would then fetch a little of every cache line. */
static bool counts_products(IR *ir, const Nest *n, Ref r) {
  Refs all = { 0 }, body = { 0 }, rows = { 0 };
  Ref red = 0, rest;
  int loads = 0;
  bool yes = true, apart = true;
  int64_t coef;
  ir_toposort(ir, &n->store, 1, &all);
  for (size_t i = 0; i < all.n; i++)
    if (node(ir, all.p[i])->op == OP_RED) red = all.p[i];
  if (red) ir_toposort(ir, &red, 1, &body);
  for (int k = 0; k < n->n; k++) VEC_PUSH(&rows, n->ranges[k]);
  for (size_t i = 0; i < body.n && yes; i++) {
    const Node *x = node(ir, body.p[i]);
    if (x->op != OP_LOAD) continue;
    loads++;
    yes = ix_split(ir, load_index(x), r, &coef, &rest) && llabs(coef) > 1;
    if (ir->bufs.p[buffer_id(node(ir, load_buffer(node(ir, body.p[i]))))].kind != BUF_WEIGHT) continue;
    size_t kept = 0;
    for (size_t k = 0; k < rows.n; k++)
      if (!ix_uses(ir, body.p[i], rows.p[k])) rows.p[kept++] = rows.p[k];
    rows.n = kept;
  }
  for (size_t i = 0; i < body.n && yes && (int)rows.n < n->n; i++) { /* some operand is constant */
    const Node *x = node(ir, body.p[i]);
    if (x->op == OP_LOAD && side_by_side(ir, load_index(x), r, &rows, (DType)x->dt)) apart = false;
  }
  VEC_FREE(&all);
  VEC_FREE(&body);
  VEC_FREE(&rows);
  return yes && apart && loads > 1;
}

int nest_batch(IR *ir, const Nest *n) {
  int batch = 0;
  while (batch < n->n && counts_products(ir, n, n->ranges[batch])) batch++;
  return batch;
}

/* Makes matrix products run one after the other, so that each has the cache for its operands */
static Ref order_batch(IR *ir, Ref nest) {
  Nest n = nest_open(ir, nest);
  int at = 0;
  for (int k = 0; k < n.n; k++) {
    Ref r = n.ranges[k];
    if (!counts_products(ir, &n, r)) continue;
    memmove(n.ranges + at + 1, n.ranges + at, (size_t)(k - at) * sizeof *n.ranges);
    n.ranges[at++] = r;
  }
  return nest_close(ir, &n);
}

/* Moves ranges that reductions do not read inside, where the reductions of the rows are done already. */
static Ref order_rows(IR *ir, Ref nest) {
  Nest n = nest_open(ir, nest);
  Refs all = { 0 };
  int readers[MAX_RANGES] = { 0 };
  ir_toposort(ir, &n.store, 1, &all);
  for (int i = 0; i < n.n; i++)
    for (size_t k = 0; k < all.n; k++) readers[i] += node(ir, all.p[k])->op == OP_RED && ix_uses(ir, all.p[k], n.ranges[i]);
  VEC_FREE(&all);
  for (int i = 1; i < n.n; i++) {
    Ref r = n.ranges[i];
    int c = readers[i], at = i;
    for (; at && readers[at - 1] < c; at--) n.ranges[at] = n.ranges[at - 1], readers[at] = readers[at - 1];
    n.ranges[at] = r;
    readers[at] = c;
  }
  return nest_close(ir, &n);
}

static Ref canon_nest(IR *ir, Ref nest) {
  static const Rule order[] = { { OP_RED, "order", order_reduction }, { OP_NONE, NULL, NULL } };
  for (Ref next; (next = split_once(ir, nest));) nest = next;
  for (Ref next; (next = split_rows(ir, nest));) nest = next;
  for (Ref next; (next = merge_any(ir, nest));) nest = next;
  ir_rewrite(ir, order, NULL, &nest, 1, NULL);
  return order_batch(ir, order_rows(ir, nest));
}

void step_even(Plan *p, Kernel *k) {
  if (target_has_threads(p->in->target)) end_accesses(p->ir, &k->sink);
  const Node *sink = node(p->ir, k->sink);
  Refs parts = { 0 };
  k->nests.n = 0;
  for (int i = 0; i < sink->nsrc; i++) even_nests(p->ir, sink->src[i], &parts);
  for (size_t i = 0; i < parts.n; i++) VEC_PUSH(&k->nests, ((NestSchedule){ .nest = parts.p[i] }));
  VEC_FREE(&parts);
}

void step_canon(Plan *p, Kernel *k) {
  for (size_t i = 0; i < k->nests.n; i++) {
    p->ir->origin = node(p->ir, k->nests.p[i].nest)->origin;
    k->nests.p[i].nest = join_rows(p->ir, canon_nest(p->ir, k->nests.p[i].nest), p->in->target);
  }
}

static void number(Plan *p, NestState *s) { s->nest = number_ranges(p->ir, s->nest); }

void step_number(Plan *p, Kernel *k) { each_state(p, k, number); }

/* SPDX-License-Identifier: MIT */
/* layout.c: places every stored value in memory.
 *
 * A layout is an order of the axes (layout_pbqp.c) and a halo of padding around the value. A part of a concatenation has a
 * place inside the whole. Graph inputs and outputs stay row-major.
 *
 * needs: stored values    gives: a buffer, offset, halo and strides for each stored value, LayoutPlan
 * breaks: Place.reads_halo where the source cannot have the halo: the pad is stored then */
#include "../target/isa_ops.h"
#include "sched.h"
#include <stdlib.h>
#include <string.h>

static const int64_t MOST_BYTES = (int64_t)1 << 60; /* bytes; limit of a value with its halo */

/* ---- buffers ---- */
static int new_buf(IR *ir, BufKind kind, DType dt, int64_t elems, int64_t slot, Ref value) {
  VEC_PUSH(&ir->bufs, ((Buf){ .kind = kind, .dt = dt, .elems = elems, .slot = slot, .offset = -1, .value = value }));
  return (int)ir->bufs.n - 1;
}

/* The axes of x in memory, the innermost one first; -> how many */
static int memory_order(const Node *x, const Place *p, int axis[MAX_RANK]) {
  const int inner = p->inner < 0 ? x->rank - 1 : p->inner;
  int n = 0;
  for (int i = -1; i < x->rank; i++) {
    const int a = i < 0 ? inner : x->rank - 1 - i;
    if (a >= 0 && (i < 0 || a != inner)) axis[n++] = a;
  }
  return n;
}

/* Computes strides for an order of axes with `inner` last, halo included; returns the number of elements spanned. */
static int64_t lay_out(Sched *s, Ref r) {
  const Node *x = node(s->ir, r);
  Place *p = &s->place[r];
  int64_t n = 1, extent;
  int axis[MAX_RANK];
  const int axes = memory_order(x, p, axis);
  p->offset = 0;
  for (int i = 0; i < axes; i++) {
    const int a = axis[i];
    p->stride[a] = n;
    p->offset += p->lo[a] * n;
    if (!i64_add(x->dims[a], p->lo[a] + p->pad[a], &extent) || !i64_add(extent, p->hi[a], &extent) || !i64_mul(n, extent, &n) ||
        n > MOST_BYTES / dt_bytes((DType)x->dt))
      fail_at(s->ir->ctx, EX_BADMODEL, ir_pos(s->ir, r), "a value takes more than 2^60 bytes of memory");
  }
  return n;
}

static void find_halos(Sched *s) {
  IR *ir = s->ir;
  for (size_t i = 0; i < s->order.n; i++) {
    Ref r = s->order.p[i];
    const Node *x = node(ir, r);
    if (!s->place[r].reads_halo) continue;
    Place *p = &s->place[pad_data(x)];
    /* no halo possible, or one with another fill: the pad gets its own copy */
    if (!p->materialized || p->state || op_is_of_loops((Op)node(ir, pad_data(x))->op) ||
        (p->has_halo && p->fill != pad_fill(x))) {
      s->place[r].reads_halo = false;
      s->place[r].materialized = true;
      continue;
    }
    p->has_halo = true;
    p->fill = pad_fill(x);
    for (int a = 0; a < x->rank; a++) {
      if (pad_lo(x, a) > p->lo[a]) p->lo[a] = pad_lo(x, a);
      if (pad_hi(x, a) > p->hi[a]) p->hi[a] = pad_hi(x, a);
    }
  }
}

static bool is_output(Sched *s, Ref r) {
  for (size_t i = 0; i < s->g->outputs.n; i++)
    if (s->g->outputs.p[i].ref == r) return true;
  return false;
}

static bool is_product(const IR *ir, int extent) { return extent >= 0 && extent_is_product(&ir->extents.p[extent]); }

/* Along axis a of a concatenation, a run needs no entry of the part behind those of the whole. at: where the part begins along
 * the axis of the concatenation */
static bool has_room_along(Sched *s, Ref whole, Ref part, int a, int64_t at) {
  IR *ir = s->ir;
  const Node *x = node(ir, whole), *y = node(ir, part);
  const int of = need_along(ir, x, &s->needs[whole], a), own = need_along(ir, y, &s->needs[part], a);
  const bool joins = a == cat_axis(x);
  if (of < 0) return true;
  if (is_product(ir, of) || is_product(ir, own)) return joins || (own >= 0 && extent_at_most(ir, own, of));
  Extent end = { .of = own < 0 ? of : own, .times = own >= 0, .plus = joins ? at : 0, .over = 1, .most = x->dims[a] };
  if (own < 0) end.plus += y->dims[a];
  return extent_at_most(ir, extent_make(ir, end), of);
}

/* Memory of the caller has room for the entries of the whole. So a run must not need more entries of the part. */
static bool has_room(Sched *s, Ref whole, Ref part, int64_t at) {
  Ref out = whole;
  bool yes = true;
  while (s->place[out].inside) out = s->place[out].inside;
  for (int a = 0; a < node(s->ir, whole)->rank && s->needs && is_output(s, out) && yes; a++)
    yes = has_room_along(s, whole, part, a, at);
  return yes;
}

/* Parts of concatenations are written into the whole, unless something else determines their place. */
static void find_insides(Sched *s) {
  IR *ir = s->ir;
  for (size_t i = s->order.n; i-- > 0;) {
    Ref r = s->order.p[i];
    const Node *x = node(ir, r);
    if (x->op != OP_CAT || !s->place[r].materialized || s->place[r].select) continue;
    int64_t at = 0;
    for (int k = 0; k < x->nsrc; k++) {
      Place *p = &s->place[x->src[k]];
      const bool of_loops = op_is_of_loops((Op)node(ir, x->src[k])->op);
      if (p->materialized && !p->inside && !p->has_halo && !is_output(s, x->src[k]) && !of_loops &&
          has_room(s, r, x->src[k], at)) {
        p->inside = r;
        p->inside_at = at;
      }
      at += node(ir, x->src[k])->dims[cat_axis(x)];
    }
  }
}

static bool is_state_window(Sched *s, size_t k) { return s->g->states.p[k].axis >= 0; }

/* The input that window r appends to */
static Ref window_source(const Sched *s, const GState *st, Ref r) {
  const Node *x = node(s->ir, r), *yes = st->symbol && x->op == OP_WHERE ? node(s->ir, where_yes(x)) : NULL;
  const Ref from = yes && yes->op == OP_PAD ? pad_data(yes) : !st->symbol && x->op == OP_CAT ? cat_part(x, 0) : 0;
  if (!from || node(s->ir, from)->op != OP_PARAM)
    fail_at(s->ir->ctx, EX_BADMODEL, ir_pos(s->ir, r),
            "--state: the node's result is no longer its input with something appended");
  return from;
}

/* A window has room to grow along its axis, behind its elements; its first elements, the input, are in place already. */
static void lay_out_window(Sched *s, size_t k) {
  const GState *st = &s->g->states.p[k];
  Ref r = s->g->outputs.p[graph_nout(s->g) + k].ref;
  const Node *x = node(s->ir, r);
  const Ref from = window_source(s, st, r);
  Place *p = &s->place[r], *past = &s->place[from];
  p->inner = -1;
  p->hi[st->axis] = st->capacity - x->dims[st->axis];
  int64_t n = lay_out(s, r);
  p->buf = past->buf = new_buf(s->ir, BUF_STATE, (DType)x->dt, n, (int64_t)k, r);
  memcpy(past->stride, p->stride, sizeof p->stride);
  past->inner = -1;
  past->inside = r;
}

BufKind sched_output_kind(const Graph *g, size_t i, int64_t *slot) {
  size_t nout = graph_nout(g);
  *slot = (int64_t)(i < nout ? i : i - nout);
  return i < nout ? BUF_OUTPUT : i < nout + g->states.n ? BUF_NEXT : BUF_GUARD;
}

/* ---- loops ---- */
/* Stride of axis a of what a YIELD with this place stores */
static int64_t slice_stride(const Node *yield, const Place *p, int a) {
  return p->stride[yield_place(yield) < 0 && a >= yield_axis(yield) ? a + 1 : a];
}

/* rows: the YIELD whose slices have one more, the first one, so that a carried value is the slice before; 0: two places by
 * turns */
typedef struct Carry { Ref carried; int base; int64_t step; Ref rows; } Carry;
typedef struct Carries { VEC(Carry) list; } Carries;

static int64_t lay_out_plain(Sched *s, Ref r) {
  s->place[r].inner = -1;
  return lay_out(s, r);
}

static int view_buf(IR *ir, Ref r, int base, int64_t elems, int64_t at, int64_t step, int turn) {
  const int b = new_buf(ir, BUF_ARENA, ir->bufs.p[base].dt, elems, -1, r);
  Buf *v = &ir->bufs.p[b];
  v->of = base + 1;
  v->at = at;
  v->step = step;
  v->turn = turn;
  return b;
}

/* An iteration's slice of a buffer along an axis with this stride */
static int slice_buf(IR *ir, Ref r, int base, int64_t stride, int64_t trips, bool reverse) {
  const int64_t rest = (trips - 1) * stride;
  return view_buf(ir, r, base, ir->bufs.p[base].elems - rest, reverse ? rest : 0, reverse ? -stride : stride, 0);
}

static const Carry *carry_of(const Sched *s, const Carries *all, const Node *yield) {
  for (size_t i = 0; i < all->list.n; i++) {
    const Node *x = node(s->ir, all->list.p[i].carried);
    if (carried_loop(x) == yield_loop(yield) && carried_place(x) == yield_place(yield)) return &all->list.p[i];
  }
  return NULL;
}

static const Node *iterate_of(const Sched *s, const Node *carried) {
  for (size_t i = 0; i < s->order.n; i++) {
    const Node *x = node(s->ir, s->order.p[i]);
    if (x->op == OP_ITERATE && iterate_loop(x) == carried_loop(carried)) return x;
  }
  BUG("a carried value of no loop");
}

/* The slices along the outermost axis that hold every next value of the carried x, too; 0: there are none */
static Ref rows_of(const Sched *s, const Node *loop, const Node *x) {
  const IR *ir = s->ir;
  Ref value = 0;
  if (loop_extent(ir, iterate_loop(loop)) >= 0) return 0; /* the last slice of a run lies anywhere */
  for (int k = 0; k < loop->nsrc; k++)
    if (yield_place(node(ir, loop->src[k])) == carried_place(x)) value = operand(node(ir, loop->src[k]));
  for (int k = 0; k < loop->nsrc; k++) {
    const Node *y = node(ir, loop->src[k]);
    bool outer = yield_place(y) < 0 && operand(y) == value;
    for (int a = 0; a < yield_axis(y) && outer; a++) outer = y->dims[a] == 1;
    if (outer) return loop->src[k];
  }
  return 0;
}

static bool is_rows(const Carries *all, Ref yield) {
  bool any = false;
  for (size_t i = 0; i < all->list.n; i++) any |= all->list.p[i].rows == yield;
  return any;
}

static void lay_out_rows(Sched *s, Ref carried, Ref rows, Carries *all) {
  IR *ir = s->ir;
  const Node *x = node(ir, carried), *y = node(ir, rows);
  const int64_t step = lay_out_plain(s, carried), trips = y->dims[yield_axis(y)];
  const int64_t way = yield_reverse(y) ? -step : step, first = yield_reverse(y) ? trips * step : 0;
  const Carry c = { carried, new_buf(ir, BUF_ARENA, (DType)x->dt, (trips + 1) * step + DOT_OVERREAD, -1, rows), step, rows };
  VEC_PUSH(&all->list, c);
  lay_out_plain(s, rows);
  s->place[carried].buf = view_buf(ir, carried, c.base, step, first, way, 0);
  s->place[rows].buf = view_buf(ir, rows, c.base, step, first + way, way, 0);
}

/* A carried value has two places, which are read and written by turns. */
static void lay_out_carried(Sched *s, Ref r, Carries *all) {
  const Node *x = node(s->ir, r);
  const int64_t line = 64 / dt_bytes((DType)x->dt), n = lay_out_plain(s, r) + DOT_OVERREAD, step = (n + line - 1) / line * line;
  const Carry c = { r, new_buf(s->ir, BUF_ARENA, (DType)x->dt, 2 * step, -1, r), step, 0 };
  VEC_PUSH(&all->list, c);
  s->place[r].buf = view_buf(s->ir, r, c.base, step, 0, step, 1);
}

/* A next value that no iteration reads only has one place. */
static void lay_out_yield(Sched *s, Ref r, const Carries *all) {
  const Node *x = node(s->ir, r);
  const Carry *c = yield_place(x) >= 0 ? carry_of(s, all, x) : NULL;
  Place *p = &s->place[r];
  if (p->buf >= 0) return; /* rows */
  const int64_t n = lay_out_plain(s, r);
  if (c && c->rows) {
    p->buf = s->place[c->rows].buf;
    return;
  }
  if (c) {
    p->buf = view_buf(s->ir, r, c->base, c->step, c->step, c->step, 2);
    return;
  }
  p->buf = new_buf(s->ir, BUF_ARENA, (DType)x->dt, n + DOT_OVERREAD, -1, r);
  if (yield_place(x) < 0)
    p->buf = slice_buf(s->ir, r, p->buf, p->stride[yield_axis(x)], x->dims[yield_axis(x)], yield_reverse(x));
}

/* With two places by turns, the last iteration of a run says where the result is. Iterations that a run need not do leave it in
 * both places. */
static void lay_out_result(Sched *s, Ref r, const Carries *all) {
  IR *ir = s->ir;
  const Node *x = node(ir, r), *loop = node(ir, operand(x)), *y = node(ir, loop->src[result_at(x)]);
  const int buf = s->place[loop->src[result_at(x)]].buf;
  const Buf b = ir->bufs.p[buf];
  const Carry *c = yield_place(y) >= 0 ? carry_of(s, all, y) : NULL;
  const int extent = loop_extent(ir, iterate_loop(loop));
  const int64_t trips = iterate_trips(loop), n = lay_out_plain(s, r), least = b.step < 0 ? b.at + (trips - 1) * b.step : b.at;
  Place *p = &s->place[r];
  if (c && c->rows) p->buf = view_buf(ir, r, b.of - 1, n, b.at + (trips - 1) * b.step, 0, 0);
  else if (b.turn && extent >= 0) {
    p->buf = view_buf(ir, r, b.of - 1, b.step + n, 0, 0, 0);
    p->odd = 1 + size_number(ir, (tgcrt_size){ 1, 2, 1, TGCRT_SIZE_PARTS, extent });
    p->odd_step = b.step;
  } else if (b.turn) p->buf = view_buf(ir, r, b.of - 1, n, trips % 2 * b.step, 0, 0);
  else if (b.of && (least || is_rows(all, loop->src[result_at(x)]))) p->buf = view_buf(ir, r, b.of - 1, n, least, 0, 0);
  else p->buf = b.of ? b.of - 1 : buf;
}

/* A stored value whose place is open */
static bool is_placeable(const Place *p) { return p->materialized && p->buf < 0 && !p->has_halo && !p->inside; }

/* A stored value that a YIELD reads is stored where the YIELD wants it; the YIELD has no kernel then. */
static void lay_out_source(Sched *s, Ref yield) {
  const Node *x = node(s->ir, yield);
  Place *from = &s->place[operand(x)];
  const Node *y = node(s->ir, operand(x));
  const bool movable = !op_is_of_loops((Op)y->op) || y->op == OP_CHOSEN;
  if (!movable || !is_placeable(from) || !y->loop) return;
  lay_out_plain(s, operand(x));
  from->buf = s->place[yield].buf;
  for (int a = 0; a < y->rank; a++) from->stride[a] = slice_stride(x, &s->place[yield], a);
}

/* Sources of slices are row-major, and so is all that a loop carries or gives. */
static void lay_out_loops(Sched *s) {
  IR *ir = s->ir;
  Carries all = { 0 };
  Ref rows = 0;
  for (size_t i = 0; i < s->order.n; i++) {
    const Ref r = s->order.p[i];
    const Node *x = node(ir, r);
    Place *p = &s->place[r];
    const Place *q = x->op == OP_SLICE ? &s->place[operand(x)] : NULL;
    if (x->op == OP_STORED) p->buf = new_buf(ir, BUF_ARENA, (DType)x->dt, lay_out_plain(s, r) + DOT_OVERREAD, -1, r);
    if (x->op == OP_CARRIED) rows = rows_of(s, iterate_of(s, x), x);
    if (x->op == OP_CARRIED && rows && !is_rows(&all, rows)) lay_out_rows(s, r, rows, &all);
    else if (x->op == OP_CARRIED) lay_out_carried(s, r, &all);
    if (x->op == OP_YIELD) lay_out_yield(s, r, &all);
    if (x->op == OP_YIELD) lay_out_source(s, r);
    if (x->op == OP_RESULT) lay_out_result(s, r, &all);
    if (!q) continue;
    const int axis = (int)slice_axis(x);
    for (int a = 0; a < x->rank; a++) p->stride[a] = q->stride[a < axis ? a : a + 1];
    p->buf = slice_buf(ir, r, q->buf, q->stride[axis], node(ir, operand(x))->dims[axis], slice_reverse(x));
  }
  VEC_FREE(&all.list);
}

/* ---- branches ---- */
/* Kind of the buffer that a result of a branch has: that of the caller or of a state, if it is an output */
static BufKind chosen_kind(const Sched *s, Ref r, int64_t *slot) {
  for (size_t i = 0; i < s->g->outputs.n; i++) {
    if (s->g->outputs.p[i].ref != r) continue;
    const BufKind kind = sched_output_kind(s->g, i, slot);
    if (kind != BUF_GUARD) return kind;
  }
  *slot = -1;
  return BUF_ARENA;
}

/* The memory of one buffer, in the order that the other value has there */
static void share_place(Place *to, const Place *from) {
  to->buf = from->buf;
  to->offset = from->offset;
  memcpy(to->stride, from->stride, sizeof to->stride);
}

/* An arm lies where the result does. So does the value it takes, if only this side of the branch needs that. */
static void lay_out_arm(Sched *s, Ref arm, const Place *result) {
  const Ref from = operand(node(s->ir, arm));
  const Op op = (Op)node(s->ir, from)->op;
  share_place(&s->place[arm], result);
  const bool movable = !op_is_of_loops(op) || op == OP_CHOSEN;
  if (movable && is_placeable(&s->place[from]) && s->guards.of[from] == s->guards.of[arm]) share_place(&s->place[from], result);
}

/* Outer branches come first: a result of an inner one may be what an arm takes. */
static void lay_out_branches(Sched *s) {
  IR *ir = s->ir;
  for (size_t i = s->order.n; i-- > 0 && ir->branches;) {
    const Ref r = s->order.p[i];
    const Node *x = node(ir, r), *b = x->op == OP_CHOSEN ? node(ir, operand(x)) : NULL;
    Place *p = &s->place[r];
    int64_t slot = -1;
    if (!b && (x->op != OP_ARM || arm_at(x))) continue;
    if (p->buf < 0) {
      const BufKind kind = b ? chosen_kind(s, r, &slot) : BUF_ARENA;
      const int64_t n = lay_out_plain(s, r);
      p->buf = new_buf(ir, kind, (DType)x->dt, kind == BUF_ARENA ? n + DOT_OVERREAD : n, slot, r);
    }
    for (int k = b ? (int)chosen_at(x) + 1 : 0; b && k < b->nsrc; k += branch_results(b)) lay_out_arm(s, branch_arm(b, k), p);
  }
}

/* Every run needs the first elements along the axis, and no groups of them. */
static bool ends_along(const Node *x, const Needed *needs, int axis) {
  int64_t within;
  bool any = false, all = true;
  for (int k = 0; k < needs->n; k++) {
    if (need_axis(x, &needs->is[k], &within) != axis) continue;
    any = true;
    all &= within == 1 && needs->is[k].extent == x->dims[axis];
  }
  return any && all;
}

/* Rows of a value that ends at a size have the stride of HIGH. If it is a multiple of half a page, for example, rows share a few
 * sets of the nearest cache. A kernel that reads many of them misses there. So such rows get some entries more. Readers see
 * no difference, since the rows of one run are apart anyway. */
static void pad_rows(Sched *s, Ref r) {
  enum { SETS = L1_SETS * LINE_BYTES }; /* bytes */
  const int64_t crowded = tunable(s->ir->ctx, pad_distance), share = tunable(s->ir->ctx, pad_share);
  const Node *x = node(s->ir, r);
  Place *p = &s->place[r];
  int64_t row = dt_bytes((DType)x->dt);
  int axis[MAX_RANK];
  const int axes = memory_order(x, p, axis);
  if (!s->needs || !s->needs[r].n || s->needs[r].n == NEED_NOTHING || p->has_halo || (x->op == OP_CAT && !p->select)) return;
  for (int i = 0; i + 1 < axes; i++) {
    const int64_t entry = row, dims = x->dims[axis[i]];
    row = entry * dims;
    if (!row || row > MOST_BYTES / SETS || row % crowded || row < 2 * crowded || !ends_along(x, &s->needs[r], axis[i]))
      continue;
    const int64_t pad = spreading_pad(entry, dims, dims / share);
    if (pad) p->pad[axis[i]] = pad, row = entry * (dims + pad);
  }
}

/* Where entries along axis a of value r lie in the value whose buffer it shares. *whole: that value */
static int64_t begin_in_whole(const Sched *s, Ref r, int a, Ref *whole) {
  int64_t begin = 0;
  for (*whole = r; s->place[*whole].inside; *whole = s->place[*whole].inside)
    if (cat_axis(node(s->ir, s->place[*whole].inside)) == a) begin += s->place[*whole].inside_at;
  return begin;
}

/* The need of value r, as conditions on elements of its buffer. A halo makes rows longer: entries of the value begin behind its
 * lower part, and readers reach into its upper part. Entries of a concatenation's part lie behind those of parts before it. */
static Needed needed_in_memory(const Sched *s, Ref r) {
  IR *ir = s->ir;
  const Node *x = node(ir, r);
  Needed in = { 0 };
  int64_t within;
  for (int a = 0; a < x->rank; a++) {
    Ref whole;
    const int64_t begin = begin_in_whole(s, r, a, &whole), all = node(ir, whole)->dims[a];
    const Place *p = &s->place[whole];
    const int64_t halo = p->lo[a] + p->hi[a];
    for (int k = 0; k < s->needs[r].n; k++) {
      Need is = s->needs[r].is[k];
      if (need_axis(x, &is, &within) != a || halo || all != x->dims[a]) continue;
      is.inner = p->stride[a] * within;
      is.extent += p->pad[a];
      needed_add(ir, &in, is);
    }
    const int of = need_along(ir, x, &s->needs[r], a);
    const bool longer = halo || all != x->dims[a];
    const int base = !longer || of >= 0 ? of : need_along(ir, node(ir, whole), &s->needs[whole], a);
    if (!longer || base < 0) continue;
    const int64_t count = of < 0 ? x->dims[a] : 0; /* a constant one */
    const Extent end = { .of = base, .times = of >= 0, .plus = count + begin + halo, .over = 1, .most = all + halo };
    needed_add(ir, &in, (Need){ p->stride[a], all + halo, extent_make(ir, end), p->hi[a] });
  }
  return in;
}

/* Finds the part of each buffer that a run needs. It is that of all values that share the buffer. */
static void find_needed(Sched *s) {
  IR *ir = s->ir;
  bool *known = xcalloc(ir->bufs.n + 1, sizeof *known);
  const Symbol **mixed = xcalloc(ir->bufs.n + 1, sizeof *mixed);
  for (size_t i = 0; i < s->order.n; i++) {
    const Ref r = s->order.p[i];
    const int buf = s->place[r].buf;
    if (buf < 0 || s->needs[r].n == NEED_NOTHING || ir->bufs.p[buf].kind == BUF_STATE) continue;
    const Needed now = needed_in_memory(s, r);
    Needed *had = &ir->bufs.p[buf].needed;
    const Needed both = known[buf] ? needed_both(ir, had, &now) : now;
    const Need *dropped = !known[buf] ? NULL : both.n < had->n ? had->is : both.n < now.n ? now.is : NULL;
    if (dropped) mixed[buf] = &ir->symbols.p[ir->extents.p[dropped->of].symbol];
    known[buf] = true;
    *had = both;
  }
  for (size_t i = 0; i < ir->bufs.n; i++) { /* a kernel would take the memory of the caller for that of the greatest size */
    const Buf *b = &ir->bufs.p[i];
    if (mixed[i] && (b->kind == BUF_INPUT || b->kind == BUF_OUTPUT))
      fail_at(ir->ctx, EX_BADMODEL, ir_pos(ir, b->value),
              "--dim %s: the memory of this node holds two values, and a run needs different elements of each; give one number",
              mixed[i]->name);
  }
  free(mixed);
  free(known);
  for (size_t i = 0; i < graph_nout(s->g); i++) {
    const GIO *v = &s->g->outputs.p[i];
    const int buf = s->place[v->ref].buf;
    const Needed whole = graph_need_of_value(ir, v);
    if (buf < 0 || ir->bufs.p[buf].kind != BUF_OUTPUT) continue;
    const Needed both = needed_both(ir, &ir->bufs.p[buf].needed, &whole);
    if (needed_same(&both, &whole)) continue;
    fail_at(ir->ctx, EX_BADMODEL, ir_pos(ir, v->ref),
            "--dim %s: another node reads more entries of output '%s' than a run has; give one number",
            ir->symbols.p[ir->extents.p[whole.is[0].of].symbol].name, v->name);
  }
}

/* inputs, weights, and states that no window holds */
static void lay_out_given(Sched *s, Ref r) {
  const Node *x = node(s->ir, r);
  Place *p = &s->place[r];
  if ((x->op != OP_PARAM && x->op != OP_WEIGHT) || p->buf >= 0) return;
  const int64_t nin = (int64_t)graph_nin(s->g);
  const bool state = x->op == OP_PARAM && param_slot(x) >= nin;
  p->inner = -1;
  const int64_t n = lay_out(s, r);
  p->buf = new_buf(s->ir, state ? BUF_STATE : x->op == OP_PARAM ? BUF_INPUT : BUF_WEIGHT, (DType)x->dt, n,
                   state ? param_slot(x) - nin : x->arg[0], r);
}

static void lay_out_output(Sched *s, size_t i) {
  const Ref r = s->g->outputs.p[i].ref;
  Place *p = &s->place[r];
  if (!p->materialized || p->buf >= 0 || p->has_halo) return;
  p->inner = -1;
  int64_t slot;
  const int64_t n = lay_out(s, r);
  const BufKind kind = sched_output_kind(s->g, i, &slot);
  p->buf = new_buf(s->ir, kind, (DType)node(s->ir, r)->dt, n, slot, r);
}

/* a part of a concatenation, in the memory of the whole */
static void lay_out_inside(Sched *s, Ref r) {
  Place *p = &s->place[r];
  const Place *whole = &s->place[p->inside];
  p->buf = whole->buf;
  p->offset = whole->offset + p->inside_at * whole->stride[cat_axis(node(s->ir, p->inside))];
  memcpy(p->stride, whole->stride, sizeof p->stride);
  p->inner = whole->inner;
}

static void lay_out_in_arena(Sched *s, Ref r) {
  const DType dt = (DType)node(s->ir, r)->dt;
  pad_rows(s, r);
  const int64_t n = lay_out(s, r), behind = dtype_info[dt].bits == 8 && dt_int(dt) ? DOT_OVERREAD : 0;
  s->place[r].buf = new_buf(s->ir, BUF_ARENA, dt, n + behind, -1, r);
}

void sched_layout(Sched *s) {
  const size_t nout = graph_nout(s->g);
  for (size_t k = 0; k < s->g->states.n; k++)
    if (is_state_window(s, k)) s->place[s->g->outputs.p[nout + k].ref].state = (int)k + 1;
  if (s->ir->symbols.n) s->needs = graph_needs(s->g, graph_open(s->g));
  find_halos(s);
  find_insides(s);
  sched_layout_pbqp(s);

  /* states and graph inputs first, then outputs, then the arena; concatenations before their parts */
  for (size_t k = 0; k < s->g->states.n; k++)
    if (is_state_window(s, k)) lay_out_window(s, k);
  for (size_t i = 0; i < s->order.n; i++) lay_out_given(s, s->order.p[i]);
  lay_out_loops(s);
  lay_out_branches(s);
  for (size_t i = 0; i < s->g->outputs.n; i++) lay_out_output(s, i);
  for (size_t i = s->order.n; i-- > 0;) {
    const Ref r = s->order.p[i];
    const Place *p = &s->place[r];
    if (!p->materialized || p->buf >= 0) continue;
    if (p->inside) lay_out_inside(s, r);
    else lay_out_in_arena(s, r);
  }
  if (s->needs) find_needed(s);
  sched_layouts(s);
}

void sched_layouts(Sched *s) {
  s->plan->layouts.p = ARENA_NEW(&s->ir->ctx->model, Layout, s->order.n);
  s->plan->layouts.n = 0;
  for (size_t i = 0; i < s->order.n; i++) {
    const Place *p = &s->place[s->order.p[i]];
    if (!p->materialized) continue;
    Layout *l = &s->plan->layouts.p[s->plan->layouts.n++];
    *l = (Layout){ .value = s->order.p[i], .buf = p->buf, .offset = p->offset, .part = p->inside, .halo = p->has_halo };
    memcpy(l->stride, p->stride, sizeof l->stride);
  }
}

void layout_print(const IR *ir, const Layout *l, Sb *out) {
  sb_printf(out, " buffer %d offset %lld strides [", l->buf, (long long)l->offset);
  for (int a = 0; a < node(ir, l->value)->rank; a++) sb_printf(out, "%s%lld", a ? "," : "", (long long)l->stride[a]);
  sb_printf(out, "]%s%s", l->part ? " inside a concatenation" : "", l->halo ? " with a halo" : "");
}

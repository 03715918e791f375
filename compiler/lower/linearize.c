/* SPDX-License-Identifier: MIT */
/* linearize.c: turns nests of expressions into a list of micro-ops.
 *
 * Every range is one loop of a tree (loop_tree.c), and each node belongs to a loop. Inside a loop, items (nodes and inner loops)
 * are listed depth first from stores and sums. This keeps a load close to its first use and register pressure low.
 *
 * A reduction becomes an ACC before its outermost loop, a SET in the innermost and a GET after. For a reduction over the threads
 * of a block, threads exchange values in shared memory (thread_sums.c).
 *
 * needs: nests with only loops left (expand.c), of ops that the backend has (legalize.c)
 * gives: a program that ir_verify_program accepts, the buffers it names, Kernel.schedule   keeps: the value of every element
 * breaks: Kernel.states, which is empty afterwards */
#include "linear.h"
#include "thread_sums.h"
#include <stdlib.h>
#include <string.h>

enum { MAX_PARTS_ADDED = 64 }; /* most values of a group that one thread combines */

/* ---- emission ---- */
static Ref put(Linear *l, Op op, DType d, int lanes, int n, const Ref *src, int narg, const int64_t *arg) {
  Ref r = node_make(l->ir, op, d, lanes, n, src, narg, arg, 0, NULL);
  VEC_PUSH(l->prog, r);
  return r;
}

/* Lists a leaf once in each block that uses it. */
static Ref put_leaf(Linear *l, Ref r) {
  Shared *s = l->shared;
  uint32_t at = refmap_get(&s->index, r);
  if (at && at <= s->visible.n && s->visible.p[at - 1] == r) return r;
  VEC_PUSH(&s->visible, r);
  refmap_set(&s->index, r, (uint32_t)s->visible.n);
  VEC_PUSH(l->prog, r);
  return r;
}

static Ref need(Linear *l, Ref r);
static void emit_loop(Linear *l, int loop);
static void hoist_places(Linear *l, const Node *red, int at, int loop);

/* acc op value, term by term, so that an unrolled sum adds to the accumulator in order */
static Ref accumulate(Linear *l, Op op, Ref acc, Ref value) {
  IR *ir = l->ir;
  const Node *x = node(ir, value);
  const Node *last = x->op == OP_ADD ? node(ir, rhs(x)) : x;
  const bool dot = last->op == OP_DOT || last->op == OP_WMMA;
  if (l->done[pos_of(l, value)] || op != OP_ADD || (!dt_float((DType)x->dt) && !dot)) {
    return put(l, op, (DType)x->dt, x->lanes, 2, (Ref[]){ acc, need(l, value) }, 0, NULL);
  }
  if (x->op == OP_ADD) return accumulate(l, op, accumulate(l, op, acc, lhs(x)), rhs(x));
  if (dot && x->op == OP_DOT && node(ir, dot_sum(x))->op == OP_DOT) acc = accumulate(l, op, acc, dot_sum(x));
  if (x->op == OP_WMMA && node(ir, wmma_sum(x))->op == OP_WMMA) acc = accumulate(l, op, acc, wmma_sum(x));
  if (dot) { /* its own sum is 0, or products that have been added */
    const bool wide = x->op == OP_WMMA;
    Ref a = need(l, wide ? wmma_x(x) : dot_x(x)), b = need(l, wide ? wmma_y(x) : dot_y(x));
    return put(l, (Op)x->op, (DType)x->dt, x->lanes, 3, (Ref[]){ acc, a, b }, x->narg, x->arg);
  }
  if (x->op == OP_MUL) {
    Ref a = need(l, lhs(x)), b = need(l, rhs(x));
    return put(l, OP_MULACC, (DType)x->dt, x->lanes, 3, (Ref[]){ a, b, acc }, 0, NULL);
  }
  return put(l, op, (DType)x->dt, x->lanes, 2, (Ref[]){ acc, need(l, value) }, 0, NULL);
}

/* The HELD in the value of a RED that stands for a REPEAT */
static Ref held_by(Linear *l, const Node *red) {
  Refs all = { 0 };
  Ref found = 0;
  ir_toposort(l->ir, (Ref[]){ red_value(red) }, 1, &all);
  for (size_t i = 0; i < all.n; i++)
    if (node(l->ir, all.p[i])->op == OP_HELD && held_key(node(l->ir, all.p[i]), 0) == red_range(red, 0)) found = all.p[i];
  VEC_FREE(&all);
  CHECK(found);
  return found;
}

/* Emits indices and constants of sums before the conditions around them: what follows may use them, too. */
static void need_indices(Linear *l, const Refs *sums) {
  Refs all = { 0 };
  for (size_t i = 0; i < sums->n; i++)
    if (node(l->ir, sums->p[i])->op == OP_RED) ir_toposort(l->ir, (Ref[]){ red_value(node(l->ir, sums->p[i])) }, 1, &all);
  for (size_t i = 0; i < all.n; i++) {
    const Node *x = node(l->ir, all.p[i]);
    const bool constant = x->op == OP_BCAST && node(l->ir, operand(x))->op == OP_CONST;
    if ((x->op != OP_LOAD && x->dt == DT_I64 && x->lanes == 1) || constant) need(l, all.p[i]);
  }
  VEC_FREE(&all);
}

/* One pass of the loops computes all reductions over them. */
static void emit_reduction(Linear *l, Ref r) {
  IR *ir = l->ir;
  int top = loop_of(l, red_range(node(ir, r), 0));
  Refs mine = { 0 };
  for (size_t i = 0; i < l->nodes.n; i++) {
    const Node *x = node(ir, l->nodes.p[i]);
    if (x->op == OP_RED && loop_of(l, red_range(x, 0)) == top) VEC_PUSH(&mine, l->nodes.p[i]);
  }
  order_products(l, &mine);
  sort_by_rows(l, &mine);
  Ref *acc = xmalloc(mine.n * sizeof *acc);
  for (size_t i = 0; i < mine.n; i++) {
    const Node *x = node(ir, mine.p[i]);
    int64_t id = ir->next_range++;
    if (red_op(x) == OP_HELD) {
      const Ref first = need(l, held_init(node(ir, held_by(l, x))));
      acc[i] = put(l, OP_ACC, (DType)x->dt, 1, 1, &first, 1, &id);
      l->value[pos_of(l, mine.p[i])] = acc[i];
      VEC_PUSH(&l->loop[loop_of(l, red_range(x, 0))].sets, mine.p[i]);
      continue;
    }
    Ref zero = c_bits(ir, (DType)x->dt, reduce_identity(red_op(x), (DType)x->dt));
    put_leaf(l, zero);
    if (x->lanes > 1) zero = put_leaf(l, node_make(ir, OP_BCAST, (DType)x->dt, x->lanes, 1, &zero, 0, NULL, 0, NULL));
    acc[i] = put(l, OP_ACC, (DType)x->dt, x->lanes, 1, &zero, 1, &id);
    l->value[pos_of(l, mine.p[i])] = acc[i];
    VEC_PUSH(&l->loop[loop_of(l, x->src[x->nsrc - 1])].sets, mine.p[i]);
  }
  for (size_t i = 0; i < mine.n && l->gate; i++) {
    const Ref gate = l->row[pos_of(l, mine.p[i])] ? l->gate[pos_of(l, mine.p[i])] : 0;
    if (gate && pos_of(l, gate) < l->nodes.n) need(l, gate); /* outside of the loops */
  }
  emit_loop(l, top);
  for (size_t i = 0; i < mine.n; i++) {
    const Node *x = node(ir, mine.p[i]);
    l->value[pos_of(l, mine.p[i])] = put(l, OP_GET, (DType)x->dt, x->lanes, 1, &acc[i], 0, NULL);
    l->done[pos_of(l, mine.p[i])] = true;
  }
  free(acc);
  VEC_FREE(&mine);
}

/* Emits the parts of r that must exist in loop `at` before r is computed in a loop below. `at` is the innermost open loop. */
static void hoist(Linear *l, Ref r, int at, int loop) {
  uint32_t i = pos_of(l, r);
  const Node *x = node(l->ir, r);
  if (l->done[i] || l->hoisted[i] == loop || x->op == OP_HELD) return;
  l->hoisted[i] = loop;
  int s = l->scope[i];
  if (s == at || !within(l, s, at)) {
    need(l, r);
    return;
  }
  for (int k = 0; k < x->nsrc; k++) hoist(l, x->src[k], at, loop);
  if (over_threads(l, x)) hoist_places(l, x, at, loop);
}

static void open_effects(Linear *l, int loop, int at, int top) { /* effects of the loop and of all loops below it */
  for (size_t i = 0; i < l->loop[loop].sets.n; i++) {
    const Node *x = node(l->ir, l->loop[loop].sets.p[i]);
    for (int k = 0; k < (x->op == OP_RED ? 1 : x->nsrc); k++) hoist(l, x->src[k], at, top);
  }
  for (int own = 0; own < 2; own++) {
    const Refs *copies = own ? &l->loop[loop].locals : &l->loop[loop].fills;
    for (size_t i = 0; i < copies->n; i++) {
      const Node *x = node(l->ir, copies->p[i]);
      for (int k = 0; k < x->nsrc; k++) hoist(l, x->src[k], at, top);
    }
  }
  for (size_t i = 0; i < l->loop[loop].hints.n; i++) hoist(l, prefetch_index(node(l->ir, l->loop[loop].hints.p[i])), at, top);
  for (int c = 1; c < l->nloops; c++)
    if (l->loop[c].parent == loop && c != loop) open_effects(l, c, at, top);
}

/* ---- sums over threads ---- */
static Ref shared_buffer(Linear *l, DType d, int64_t elems) {
  const int64_t id = (int64_t)l->ir->bufs.n;
  VEC_PUSH(&l->ir->bufs, ((Buf){ .kind = BUF_SHARED, .dt = d, .elems = elems, .offset = -1 }));
  return put_leaf(l, node_make(l->ir, OP_BUFFER, d, 1, 0, NULL, 1, &id, 0, NULL));
}

static void put_barrier(Linear *l) {
  const int64_t id = l->ir->next_range++;
  put(l, OP_BARRIER, DT_NONE, 1, 0, NULL, 1, &id);
}

/* Combines value[0..n) by halves; n is a power of two */
static Ref combined(Linear *l, Op op, DType d, Ref *value, int64_t n) {
  for (; n > 1; n /= 2)
    for (int64_t i = 0; i < n / 2; i++) value[i] = put(l, op, d, 1, 2, (Ref[]){ value[i], value[i + n / 2] }, 0, NULL);
  return value[0];
}

static Group group_in_loops(const Linear *l, const Node *red) {
  Ref ranges[MAX_RANGES];
  int n = 0;
  for (int k = 1; k < l->nloops; k++)
    if (range_is_thread(range_kind(node(l->ir, l->loop[k].range)))) ranges[n++] = l->loop[k].range;
  return group_of(l->ir, red, ranges, n);
}

static void hoist_places(Linear *l, const Node *red, int at, int loop) {
  const Group g = group_in_loops(l, red);
  Refs places = { 0 };
  list_places(l->ir, &g, l->shared->warp, &places);
  for (size_t i = 0; i < places.n; i++) hoist(l, places.p[i], at, loop);
  VEC_FREE(&places);
}

/* Sums a group within a warp. In each step a thread adds the value of the thread whose number differs in one bit. All threads
 * add the same values in the same tree, and all get the sum. */
static Ref exchange(Linear *l, const Node *x, const Group *g) {
  const DType d = (DType)x->dt;
  Ref sum = need(l, red_value(x));
  for (int64_t mask = g->size / 2; mask; mask /= 2) {
    const Ref other = put(l, OP_SHFLXOR, d, 1, 1, &sum, 1, &mask);
    sum = put(l, red_op(x), d, 1, 2, (Ref[]){ sum, other }, 0, NULL);
  }
  return sum;
}

/* Sums a group in shared memory. Each thread stores its value. The first threads combine a part each and store the result, then
 * all threads combine these results. The order is fixed, and there are two barriers. A load is always separated from the next
 * store to its element by a barrier, also if the sum is in a loop. */
static Ref emit_group(Linear *l, Ref r) {
  IR *ir = l->ir;
  const Node *x = node(ir, r);
  const DType d = (DType)x->dt;
  Ref value[MAX_PARTS_ADDED];
  const Group g = group_in_loops(l, x);
  const int64_t parts = g.size / g.firsts;
  if (in_warp(&g, l->shared->warp)) {
    l->done[pos_of(l, r)] = true;
    return l->value[pos_of(l, r)] = exchange(l, x, &g);
  }
  CHECK(parts <= MAX_PARTS_ADDED && g.firsts <= parts);
  const Ref zero = c_int(ir, d, 0), mine = need(l, red_value(x)), first = need(l, g.first);
  const Ref shared = shared_buffer(l, d, g.threads), sums = shared_buffer(l, d, g.threads / g.size * g.firsts);
  put(l, OP_STORE, d, 1, 3, (Ref[]){ shared, need(l, g.part), mine }, 0, NULL);
  put_barrier(l);
  put_leaf(l, zero);
  value[0] = mine;
  for (int64_t k = 1; k < parts; k++) {
    const Ref at = need(l, part_place(ir, &g, k));
    value[k] = put(l, OP_LOAD, d, 1, 4, (Ref[]){ shared, at, first, zero }, 0, NULL);
  }
  const Ref sum = combined(l, red_op(x), d, value, parts);
  put(l, OP_STORE, d, 1, 4, (Ref[]){ sums, need(l, g.sum), sum, first }, 0, NULL);
  put_barrier(l);
  for (int64_t k = 0; k < g.firsts; k++)
    value[k] = put(l, OP_LOAD, d, 1, 2, (Ref[]){ sums, need(l, sum_place(ir, &g, k)) }, 0, NULL);
  l->done[pos_of(l, r)] = true;
  return l->value[pos_of(l, r)] = combined(l, red_op(x), d, value, g.firsts);
}

static Ref need(Linear *l, Ref r) {
  IR *ir = l->ir;
  uint32_t i = pos_of(l, r);
  if (l->done[i]) return l->value[i];
  const Node *x = node(ir, r);
  if (over_threads(l, x)) return emit_group(l, r);
  if (x->op == OP_RED) {
    emit_reduction(l, r);
    return l->value[i];
  }
  Ref src[MAX_RANGES + 64];
  for (int k = 0; k < x->nsrc; k++) src[k] = need(l, x->src[k]);
  /* opt/finish.c keeps a sum so. Without the gate the store writes what nobody reads. */
  const bool closed = x->op == OP_STORE && store_gate(x) && ir->bufs.p[buffer_id(node(ir, store_buffer(x)))].kind == BUF_LOCAL;
  l->value[i] = closed    ? node_make(ir, OP_STORE, (DType)x->dt, 1, 3, src, 0, NULL, 0, NULL)
                : x->nsrc ? node_with_src(ir, r, src)
                          : r;
  if (x->op == OP_CONST || x->op == OP_BCAST || x->op == OP_BUFFER) put_leaf(l, l->value[i]);
  else if (x->op != OP_RANGE) VEC_PUSH(l->prog, l->value[i]);
  l->done[i] = true;
  return l->value[i];
}

/* effects of the next loops of the same chain; other loops wait for need() */
static bool has_effects(const Linear *l, int loop) {
  for (int c = loop; c < l->nloops; c++)
    if (l->loop[c].sets.n && within(l, c, loop)) return true;
  return false;
}

static bool multiplies_tiles(const IR *ir, Ref e) {
  return node(ir, e)->op == OP_RED && node(ir, red_value(node(ir, e)))->op == OP_MMA;
}

/* Multiplies tiles in a loop: the first product of each sum, then the second of each, and so on. A tile that several sums use
 * stays near. */
static void multiply_tiles(Linear *l, const Refs *sums) {
  IR *ir = l->ir;
  Ref *now = xmalloc((sums->n + 1) * sizeof *now);
  int products = 0;
  for (size_t i = 0; i < sums->n; i++) {
    const Node *x = node(ir, sums->p[i]);
    now[i] = put(l, OP_GET, (DType)x->dt, x->lanes, 1, &l->value[pos_of(l, sums->p[i])], 0, NULL);
  }
  for (Ref r = sums->n ? red_value(node(ir, sums->p[0])) : 0; r && node(ir, r)->op == OP_MMA; r = mma_sum(node(ir, r)))
    products++;
  for (int k = products; k-- > 0;)
    for (size_t i = 0; i < sums->n; i++) {
      const Node *x = node(ir, red_value(node(ir, sums->p[i])));
      for (int later = 0; later < k; later++) x = node(ir, mma_sum(x));
      Ref a = need(l, mma_x(x)), b = need(l, mma_y(x));
      now[i] = put(l, OP_MMA, (DType)x->dt, x->lanes, 3, (Ref[]){ now[i], a, b }, x->narg, x->arg);
    }
  for (size_t i = 0; i < sums->n; i++) {
    const Node *x = node(ir, sums->p[i]);
    put(l, OP_SET, (DType)x->dt, x->lanes, 2, (Ref[]){ l->value[pos_of(l, sums->p[i])], now[i] }, 0, NULL);
  }
  free(now);
}

/* Makes the copies in shared memory that belong to a loop; they come first. Threads wait until all are made. -> whether threads
 * must also wait at the end of the loop: another round will replace the copies */
static bool fill_shared(Linear *l, int loop) {
  bool any = l->loop[loop].fills.n;
  for (int c = 1; c < l->nloops; c++) {
    if (l->loop[c].parent != loop || !l->loop[c].fill) continue;
    emit_loop(l, c);
    any = true;
  }
  for (size_t i = 0; i < l->loop[loop].fills.n; i++) need(l, l->loop[loop].fills.p[i]);
  if (any) put_barrier(l);
  const Node *range = node(l->ir, l->loop[loop].range);
  return any && !range_is_place(range_kind(range)) && range_extent(range) > 1;
}

static void emit_sum(Linear *l, Ref e) {
  const Node *x = node(l->ir, e);
  Ref acc = l->value[pos_of(l, e)];
  Ref now = put(l, OP_GET, (DType)x->dt, x->lanes, 1, &acc, 0, NULL);
  Ref sum;
  if (red_op(x) == OP_HELD) {
    const uint32_t held = pos_of(l, held_by(l, x));
    l->value[held] = now;
    l->done[held] = true;
    sum = need(l, red_value(x));
  } else
    sum = accumulate(l, red_op(x), now, red_value(x));
  put(l, OP_SET, (DType)x->dt, x->lanes, 2, (Ref[]){ acc, sum }, 0, NULL);
}

/* Opens a condition; -> the range of its loop, which runs once */
static Ref open_condition(Linear *l, Ref gate) {
  const Ref once = range_new(l->ir, 1, RK_LOOP);
  if (pos_of(l, gate) < l->nodes.n) gate = need(l, gate);
  else {
    for (int k = 0; k < 2; k++) put_leaf(l, node(l->ir, gate)->src[k]);
    VEC_PUSH(l->prog, gate);
  }
  put_leaf(l, once);
  put(l, OP_LOOP, DT_NONE, 1, 2, (Ref[]){ once, gate }, 0, NULL);
  return once;
}

/* Emits what belongs to a loop, except the sums of products of tiles, which it appends to *tiles */
static void emit_sets(Linear *l, const Loop *me, Refs *tiles) {
  Refs open = { 0 }; /* conditions around sums */
  size_t known = 0;  /* leaves outside of them */
  int row = l->tile_row;
  for (size_t i = 0; i < me->sets.n; i++) {
    const Ref e = me->sets.p[i];
    const bool sum = node(l->ir, e)->op == OP_RED;
    const int rows = sum && l->gate ? l->row[pos_of(l, e)] : 0;
    if (rows > row) {
      if (!open.n) need_indices(l, &me->sets), known = l->shared->visible.n;
      VEC_PUSH(&open, open_condition(l, l->gate[pos_of(l, e)]));
      row = rows;
    }
    if (multiplies_tiles(l->ir, e)) VEC_PUSH(tiles, e);
    else if (sum) emit_sum(l, e);
    else need(l, e);
  }
  for (size_t i = open.n; i-- > 0;) put(l, OP_END, DT_NONE, 1, 1, &open.p[i], 0, NULL);
  if (open.n) l->shared->visible.n = known;
  VEC_FREE(&open);
}

static void emit_loop(Linear *l, int loop) {
  Refs sums = { 0 };
  Loop *me = &l->loop[loop];
  me->emitted = true;
  open_effects(l, loop, me->parent, loop); /* loop-invariant code stays outside */
  put_leaf(l, me->range);
  size_t visible = l->shared->visible.n;
  put(l, OP_LOOP, DT_NONE, 1, 1, &me->range, 0, NULL);
  const Ref once = l->tile_gate && loop == l->tile_loop ? open_condition(l, l->tile_gate) : 0;
  const bool refilled = fill_shared(l, loop);
  for (size_t i = 0; i < me->locals.n; i++) need(l, me->locals.p[i]);
  for (int c = 1; c < l->nloops; c++)
    if (l->loop[c].parent == loop && !l->loop[c].first && !l->loop[c].emitted && has_effects(l, c)) emit_loop(l, c);
  emit_sets(l, me, &sums);
  multiply_tiles(l, &sums);
  for (size_t i = 0; i < me->hints.n; i++) need(l, me->hints.p[i]);
  VEC_FREE(&sums);
  if (refilled) put_barrier(l);
  if (once) put(l, OP_END, DT_NONE, 1, 1, &once, 0, NULL);
  put(l, OP_END, DT_NONE, 1, 1, &me->range, 0, NULL);
  l->shared->visible.n = visible;
}

/* Values outside all loops are computed once for all nests of a kernel. */
static void share_top(Linear *l) {
  for (size_t i = 0; i < l->nodes.n; i++) {
    l->value[i] = refmap_get(&l->shared->top, l->nodes.p[i]);
    l->done[i] = l->value[i];
  }
}

void linear_nest(IR *ir, Ref nest, Refs *prog, Shared *shared) {
  Linear *l;
  Nest n;
  int at;
  nest = loops_of_repeats(ir, caller_rows(ir, nest));
  for (;;) {
    Apart apart = { 0 };
    l = xmalloc(sizeof *l);
    memset(l, 0, offsetof(Linear, loop));
    l->ir = ir;
    l->prog = prog;
    l->shared = shared;
    n = nest_open(ir, nest);
    at = linear_open(l, &n, nest, &apart);
    if (!apart.range) break;
    nest = part_reductions(ir, nest, &apart);
    VEC_FREE(&apart.reds);
    linear_free(l);
  }
  bool serial = false;
  for (int k = 0; k < n.n; k++) serial |= range_kind(node(ir, n.ranges[k])) == RK_SERIAL;
  find_scopes(l, at, serial);
  if (ir->symbols.n) find_row_gates(l, &n);
  if (ir->symbols.n) find_tile_gate(l, at);
  share_top(l);
  bool tiles = false;
  for (size_t i = 0; i < l->nodes.n && !tiles && !l->threads; i++) tiles = node(ir, l->nodes.p[i])->op == OP_MMA;
  if (tiles) put(l, OP_TILES, DT_NONE, 1, 0, NULL, 1, &(int64_t){ ir->next_range++ });
  const Node *s = node(ir, n.store);
  for (int row = 0; l->tile_gate && row <= l->tile_rows; row++) /* stores of a row are together, behind one condition */
    for (int k = 0; k < s->nsrc && s->op == OP_SINK; k++)
      if (node(ir, s->src[k])->op == OP_STORE && l->row[pos_of(l, s->src[k])] == row) VEC_PUSH(&l->loop[at].sets, s->src[k]);
  if (s->op == OP_SINK)
    for (int k = 0; k < s->nsrc; k++) {
      const Op op = (Op)node(ir, s->src[k])->op;
      if (op == OP_STORE && !l->tile_gate) VEC_PUSH(&l->loop[at].sets, s->src[k]);
      if (op == OP_PREFETCH) VEC_PUSH(&l->loop[l->scope[pos_of(l, s->src[k])]].hints, s->src[k]);
    }
  else
    VEC_PUSH(&l->loop[at].sets, n.store);
  if (n.n) emit_loop(l, 1);
  else
    for (size_t i = 0; i < l->loop[0].sets.n; i++) need(l, l->loop[0].sets.p[i]);
  for (size_t i = 0; i < l->nodes.n; i++)
    if (l->done[i] && !l->scope[i] && l->value[i] == l->nodes.p[i] && node(ir, l->nodes.p[i])->op != OP_STORE)
      refmap_set(&shared->top, l->nodes.p[i], l->nodes.p[i]);
  linear_free(l);
}

static bool absent(int *p, size_t n, int x) {
  for (size_t i = 0; i < n; i++)
    if (p[i] == x) return false;
  return true;
}

void kernel_buffers(const IR *ir, Kernel *k) {
  k->bufs.n = k->written.n = k->locals.n = 0;
  for (size_t i = 0; i < k->prog.n; i++) {
    const Node *x = node(ir, k->prog.p[i]);
    if (!is_access(x)) continue;
    const int buf = (int)buffer_id(node(ir, access_buffer(x)));
    if (buf_is_own(ir->bufs.p[buf].kind)) {
      if (absent(k->locals.p, k->locals.n, buf)) VEC_PUSH(&k->locals, buf);
      continue;
    }
    if (absent(k->bufs.p, k->bufs.n, buf)) VEC_PUSH(&k->bufs, buf);
    if (x->op == OP_STORE && absent(k->written.p, k->written.n, buf)) VEC_PUSH(&k->written, buf);
  }
}

Shared *shared_open(int warp) {
  Shared *s = xcalloc(1, sizeof *s);
  s->warp = warp;
  return s;
}

void shared_close(Shared *s) {
  VEC_FREE(&s->visible);
  refmap_free(&s->top);
  refmap_free(&s->index);
  free(s);
}

void step_programs(Plan *p, Kernel *k) {
  Shared *shared = shared_open(0);
  Sb text = { 0 };
  k->prog.n = 0;
  for (size_t i = 0, from = 0; i < k->states.n; i++) {
    p->ir->origin = node(p->ir, k->states.p[i].nest)->origin;
    if (!k->states.p[i].depth) from = k->prog.n;
    linear_nest(p->ir, k->states.p[i].nest, &k->prog, shared);
    if (p->ir->symbols.n && (i + 1 == k->states.n || !k->states.p[i + 1].depth)) fuse_nests(p->ir, &k->prog, from);
  }
  for (size_t i = 0; i < k->nests.n; i++) sb_puts(&text, k->nests.p[i].opts);
  if (k->chunks > 1) sb_printf(&text, " threads(%d)", k->chunks);
  k->schedule = sb_keep(&text, &p->ir->ctx->model);
  kernel_buffers(p->ir, k);
  VEC_FREE(&k->states);
  shared_close(shared);
}

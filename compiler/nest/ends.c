/* SPDX-License-Identifier: MIT */
/* ends.c: on a device, the elements that a run needs are a matter of gates.
 *
 * The grid of a launch is that of the greatest size, and so are extents. Memory of the caller may end before. So each access to
 * it gets a gate: the entry is below the size of the run. Memory of the plan has room for all entries, and readers need no more
 * than the run's. So kernels may compute entries behind them, and do so in a block that also has needed ones. The store of a nest
 * gets a gate, too. When schedules have made blocks, run_gate finds in it the condition under which a block has work.
 *
 * needs: nests, with their buffers' needs   gives: gates   keeps: each element that a run needs   breaks: nothing */
#include "nest.h"

Ref gated_access(IR *ir, const Node *x, const Ref *src, Ref gate) {
  const Ref zero = x->op == OP_LOAD ? c_int(ir, (DType)x->dt, 0) : 0;
  Ref all[4] = { src[0], src[1] };
  int n = 2;
  if (x->op == OP_STORE) all[n++] = src[2];
  all[n] = ix_and(ir, access_gate(x) ? src[n] : 0, gate);
  n++;
  if (x->op == OP_LOAD) all[n++] = load_else(x) ? src[3] : zero;
  return node_make(ir, (Op)x->op, (DType)x->dt, x->lanes, n, all, x->narg, x->arg, 0, NULL);
}

/* The number of the entry, along the condition, that holds the element at this index */
static Ref entry_of(IR *ir, const Need *is, Ref index) { return ix_mod(ir, ix_div(ir, index, is->inner), is->extent); }

static Ref below_size(IR *ir, Ref entry, const Need *is) {
  return ix_lt(ir, entry, size_value(ir, size_number(ir, size_all(1, is->of))));
}

/* ---- memory of the caller ---- */
static Ref end_access(IR *ir, Ref r, void *arg) {
  const Node *x = node(ir, r);
  const Buf *b = &ir->bufs.p[buffer_id(node(ir, access_buffer(x)))];
  Ref gate = 0;
  (void)arg;
  for (int k = 0; k < b->needed.n && buf_ends_early(b); k++) {
    const Need *is = &b->needed.is[k];
    const Ref entry = entry_of(ir, is, access_index(x));
    if (!access_gate(x) || !gate_ends(ir, access_gate(x), entry, is)) gate = ix_and(ir, gate, below_size(ir, entry, is));
  }
  return gate ? gated_access(ir, x, x->src, gate) : 0;
}

void end_accesses(IR *ir, Ref *root) {
  static const Rule rules[] = { { OP_LOAD, "end a load at the run's size", end_access },
                                { OP_STORE, "end a store at the run's size", end_access }, { OP_NONE, NULL, NULL } };
  if (ir->symbols.n) ir_rewrite(ir, rules, NULL, root, 1, NULL);
}

/* ---- blocks and threads that have no work ---- */
Ref end_store(IR *ir, Ref nest, int condition) {
  tgcrt_size values;
  Nest n = nest_open(ir, nest);
  const Ref r = sized_range(ir, nest, condition, &values);
  const Node *x = node(ir, n.store);
  if (!r) return nest;
  n.store = gated_access(ir, x, x->src, ix_lt(ir, r, size_value(ir, size_number(ir, values))));
  return nest_close(ir, &n);
}

static bool of_ranges(const IR *ir, Ref index) {
  const Node *x = node(ir, index);
  if (x->op == OP_RANGE) return range_kind(x) != RK_SERIAL;
  if (x->op == OP_ADD || x->op == OP_MUL || x->op == OP_FLDIV || x->op == OP_FLMOD)
    return of_ranges(ir, lhs(x)) && of_ranges(ir, rhs(x));
  return x->op == OP_CONST && x->lanes == 1;
}

/* The index, made of ranges, grows with r or does not change. */
static bool rises_with(IR *ir, Ref index, Ref r) {
  const Node *x = node(ir, index);
  int64_t by;
  if (index == r || !ix_uses(ir, index, r)) return true;
  if (x->op == OP_ADD) return rises_with(ir, lhs(x), r) && rises_with(ir, rhs(x), r);
  return (x->op == OP_MUL || x->op == OP_FLDIV) && node_is_const(ir, rhs(x), &by) && by > 0 && rises_with(ir, lhs(x), r);
}

/* The least value of the index in a block; 0: it is not known */
static Ref least_in_block(IR *ir, const Nest *n, Ref index) {
  const Ref zero = ix_const(ir, 0);
  for (int k = 0; k < n->n; k++) {
    const Ref r = n->ranges[k];
    if (range_kind(node(ir, r)) == RK_GRID || !ix_uses(ir, index, r)) continue;
    if (!rises_with(ir, index, r)) return 0;
    index = ix_subst(ir, index, 1, &r, &zero);
  }
  return index;
}

/* Part k of a gate, from 0; 0: there are fewer */
static Ref part_of(const IR *ir, Ref gate, int k) {
  for (; gate && node(ir, gate)->op == OP_AND; k--) {
    if (!k) return rhs(node(ir, gate));
    gate = lhs(node(ir, gate));
  }
  return k ? 0 : gate;
}

/* The index that must be below a size by this condition: index < size, or index < size + constant, which is
 * index - constant < size. 0: it is another condition */
static Ref below_a_size(IR *ir, Ref condition, Ref *size) {
  const Node *x = node(ir, condition);
  if (x->op != OP_CMPLT || !of_ranges(ir, lhs(x))) return 0;
  const Node *most = node(ir, rhs(x));
  int64_t more = 0;
  const bool sum = most->op == OP_ADD && node_is_const(ir, rhs(most), &more);
  *size = sum ? lhs(most) : rhs(x);
  return node(ir, *size)->op == OP_SIZE ? ix_sub(ir, lhs(x), ix_const(ir, more)) : 0;
}

/* The next index, from part *from of the store's gate on, that must be below the size; 0: there is none. *size 0: any size, which
 * it becomes */
static Ref index_below(IR *ir, Ref store, Ref *size, int *from) {
  const Ref gate = store_gate(node(ir, store));
  for (Ref part; (part = part_of(ir, gate, *from)); ++*from) {
    Ref found = 0;
    const Ref index = below_a_size(ir, part, &found);
    if (!index || (*size && found != *size)) continue;
    *size = found;
    return index;
  }
  return 0;
}

/* The smaller one of two indices; 0: which one it is depends on ranges */
static Ref least_of(IR *ir, Ref a, Ref b) {
  int64_t more;
  return a && b && node_is_const(ir, ix_sub(ir, a, b), &more) ? more > 0 ? b : a : 0;
}

/* The least index that all stores compare with the size; the first store's is given */
static Ref least_of_all(IR *ir, const Nest *n, const Refs *stores, Ref index, Ref size, bool of_block) {
  if (of_block) index = least_in_block(ir, n, index);
  for (size_t i = 1; i < stores->n && index; i++) {
    int from = 0;
    const Ref own = index_below(ir, stores->p[i], &size, &from);
    index = least_of(ir, index, own && of_block ? least_in_block(ir, n, own) : own);
  }
  return index;
}

/* The stores of a nest to memory of the plan or the caller: one, or one for each copy of a thread */
static void stores_of(const IR *ir, Ref body, Refs *out) {
  const Node *x = node(ir, body);
  for (int k = 0; k < (x->op == OP_SINK ? x->nsrc : 1); k++) {
    const Ref r = x->op == OP_SINK ? x->src[k] : body;
    const bool store = node(ir, r)->op == OP_STORE;
    if (store && !buf_is_own(ir->bufs.p[buffer_id(node(ir, store_buffer(node(ir, r))))].kind)) VEC_PUSH(out, r);
  }
}

Ref run_gate(IR *ir, Ref nest, bool of_block) {
  const Nest n = nest_open(ir, nest);
  Refs stores = { 0 };
  Ref gate = 0;
  if (ir->symbols.n) stores_of(ir, n.store, &stores);
  for (int at = 0; stores.n; at++) {
    Ref size = 0;
    const Ref first = index_below(ir, stores.p[0], &size, &at);
    if (!first) break;
    const Ref index = least_of_all(ir, &n, &stores, first, size, of_block);
    if (index && node(ir, index)->op != OP_CONST) gate = ix_and(ir, gate, ix_lt(ir, index, size));
  }
  VEC_FREE(&stores);
  return gate;
}

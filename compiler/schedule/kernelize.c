/* SPDX-License-Identifier: MIT */
/* kernelize.c: makes kernels of stored values. Each stored value becomes a STORE over one range per axis. Its expression is
 * found by pushing index expressions down through movement ops, as tinygrad's rangeify does. Requesting an element twice gives
 * the same node, so sharing inside a kernel needs no search. A reduction opens its own ranges.
 *
 * A selection computes all its sides, so below a PAD or a CAT elements may be requested that do not exist. The path condition
 * tells when an element is used: it is the conjunction of the conditions of all selections above it. A load gets the path
 * condition as its gate when it is made, unless bounds prove that its address is always inside the buffer.
 *
 * needs: layouts    gives: Plan.kernels, each with a sink, and the buffers it accesses    breaks: nothing */
#include "../interp/interp.h"
#include "../ir/refmap.h"
#include "sched.h"
#include <stdlib.h>
#include <string.h>

static Ref scalar(IR *ir, Op op, DType d, int n, const Ref *src) { return node_make(ir, op, d, 1, n, src, 0, NULL, 0, NULL); }

/* ---- memo by (value, index, path condition) within one kernel; the list of entries is its own hash table ---- */
typedef struct Memo { Ref r, path; Ref idx[MAX_RANK]; Ref expr; uint32_t next; } Memo;
typedef VEC(Memo) Memos;
typedef struct Lower {
  Sched *s;
  IR *ir;
  Memos memo;
  uint32_t head[1024];
  int64_t walks;           /* walks of the current kernel so far */
  bool first;              /* the kernel is for the first iteration of its loop */
  bool vanished;           /* it leaves out a reduction that the kernel for later iterations has */
} Lower;

static uint32_t memo_hash(Ref r, Ref path, const Ref *idx, int rank) {
  uint32_t h = (r ^ path * 40503u) * 2654435761u;
  for (int i = 0; i < rank; i++) h = (h ^ idx[i]) * 2654435761u;
  return h >> 22;
}

static Ref address(IR *ir, const Place *p, const Ref *idx, int rank) {
  Ref at = ix_const(ir, p->offset);
  for (int a = 0; a < rank; a++) at = ix_add(ir, at, ix_mul(ir, idx[a], p->stride[a]));
  if (p->odd) at = ix_add(ir, at, ix_mul(ir, size_value(ir, p->odd - 1), p->odd_step));
  return at;
}

static Ref buffer(IR *ir, int buf) {
  int64_t arg = buf;
  return node_make(ir, OP_BUFFER, ir->bufs.p[buf].dt, 1, 0, NULL, 1, &arg, 0, NULL);
}

/* bounds prove lo <= r < hi */
static bool lies_in(const IR *ir, Ref r, int64_t lo, int64_t hi) { return node(ir, r)->vmin >= lo && node(ir, r)->vmax < hi; }

static Ref gated_load(IR *ir, Ref buf, Ref at, Ref gate, Ref otherwise) {
  return scalar(ir, OP_LOAD, (DType)node(ir, buf)->dt, 4, (Ref[]){ buf, at, gate, otherwise });
}

/* An expression has a node of op. */
static bool has_op(const IR *ir, Ref r, Op op) {
  const Node *x = node(ir, r);
  bool any = x->op == op;
  for (int k = 0; k < x->nsrc && !any; k++) any = has_op(ir, x->src[k], op);
  return any;
}

static bool asks_size(const IR *ir, Ref r) { return ir->symbols.n && has_op(ir, r, OP_SIZE); }

/* Memory of the caller may end earlier than bounds say. A remainder brings an index that is outside back, but not before that
 * end. path: condition under which the element is used; 0: always */
static Ref load(IR *ir, const Place *p, const Ref *idx, int rank, Ref path) {
  const DType d = ir->bufs.p[p->buf].dt;
  const Ref buf = buffer(ir, p->buf), at = address(ir, p, idx, rank);
  const Buf *b = &ir->bufs.p[p->buf];
  if (path && (!lies_in(ir, at, 0, b->elems) || (buf_ends_early(b) && (asks_size(ir, path) || has_op(ir, at, OP_FLMOD)))))
    return gated_load(ir, buf, at, path, c_bits(ir, d, 0));
  return scalar(ir, OP_LOAD, d, 2, (Ref[]){ buf, at });
}

static Ref element(Lower *l, Ref r, const Ref *idx, Ref path);

/* WHERE(inside, value, fill) under a path condition; value was made under both. If value is a load with both as its gate, the
 * load gives the fill itself. */
static Ref selected(IR *ir, Ref inside, Ref both, Ref value, Ref fill) {
  const Node *v = node(ir, value);
  if (node(ir, both)->vmax == 0) return fill;
  if (v->op == OP_LOAD && load_gate(v) == both && node(ir, fill)->op == OP_CONST)
    return gated_load(ir, load_buffer(v), load_index(v), both, fill);
  return scalar(ir, OP_WHERE, (DType)v->dt, 3, (Ref[]){ inside, value, fill });
}

static Ref padded(Lower *l, Ref r, const Ref *idx, Ref path) {
  IR *ir = l->ir;
  const Node *x = node(ir, r), *y = node(ir, pad_data(x));
  const bool halo = l->s->place[r].reads_halo;
  Ref at[MAX_RANK], inside = 0;
  for (int a = 0; a < x->rank; a++) {
    at[a] = ix_sub(ir, idx[a], ix_const(ir, pad_lo(x, a)));
    if (!halo && (pad_lo(x, a) || pad_hi(x, a))) inside = ix_and(ir, inside, ix_in(ir, at[a], 0, y->dims[a]));
  }
  if (halo) return load(ir, &l->s->place[pad_data(x)], at, x->rank, path);
  if (!inside) return element(l, pad_data(x), at, path);
  const Ref both = ix_and(ir, path, inside);
  return selected(ir, inside, both, element(l, pad_data(x), at, both), element(l, pad_fill(x), NULL, path));
}

static Ref concatenated(Lower *l, const Node *x, const Ref *idx, Ref path) {
  IR *ir = l->ir;
  const int axis = (int)cat_axis(x);
  int64_t end = x->dims[axis];
  Ref at[MAX_RANK], value = 0;
  memcpy(at, idx, x->rank * sizeof *at);
  for (int k = x->nsrc - 1; k >= 0; k--) {
    const int64_t begin = end - node(ir, x->src[k])->dims[axis];
    const Ref below = ix_lt(ir, idx[axis], ix_const(ir, end));
    const Ref both = ix_and(ir, path, ix_in(ir, idx[axis], begin, end));
    /* a part of one element: its index is 0 */
    at[axis] = end - begin == 1 ? ix_const(ir, 0) : ix_sub(ir, idx[axis], ix_const(ir, begin));
    const Ref part = element(l, x->src[k], at, both);
    value = value ? scalar(ir, OP_WHERE, (DType)x->dt, 3, (Ref[]){ below, part, value }) : part;
    end = begin;
  }
  return value;
}

static Ref index_of(IR *ir, Ref r) { return node(ir, r)->dt == DT_I64 ? r : scalar(ir, OP_CAST, DT_I64, 1, &r); }

/* The position of one walk after all its steps. The number keeps the walks of a kernel apart. */
static Ref walked(Lower *l, const Node *x, const Ref *idx, Ref path) {
  IR *ir = l->ir;
  const Ref first = index_of(ir, element(l, walk_start(x), idx + 1, path));
  const Ref held = node_make(ir, OP_HELD, DT_I64, 1, 3, (Ref[]){ first, idx[0], idx[1] }, 2,
                             (int64_t[]){ walk_steps(x), l->walks++ }, 0, NULL);
  const Ref at[2] = { idx[0], index_of(ir, element(l, walk_feature(x), &held, 0)) };
  const Ref side[2] = { element(l, walk_data(x), at, path), element(l, walk_split(x), &held, 0) };
  const Ref next = index_of(ir, element(l, walk_next(x), &held, 0)), second = scalar(ir, OP_CMPLE, DT_BOOL, 2, side);
  const Ref step = scalar(ir, OP_ADD, DT_I64, 2, (Ref[]){ next, index_of(ir, second) });
  return scalar(ir, OP_REPEAT, DT_I64, 2, (Ref[]){ step, held });
}

/* The target is a device whose threads have gates in place of ranges that end (nest/ends.c). */
static bool has_gates(const Sched *s) { return target_has_threads(s->plan->in->target); }

/* A term that counts only below a size of the run: the range ends there in place of a comparison for each term. */
static Ref limit_ranges(IR *ir, Op op, Ref value, int n, Ref *ranges) {
  for (int k = 0; k < n;) {
    const Node *x = node(ir, value), *c = x->op == OP_WHERE ? node(ir, where_cond(x)) : NULL, *r = node(ir, ranges[k]);
    int64_t other;
    if (!c || c->op != OP_CMPLT || lhs(c) != ranges[k] || node(ir, rhs(c))->op != OP_SIZE || range_limit(r) ||
        !node_is_const(ir, where_no(x), &other) || other != reduce_identity(op, (DType)x->dt)) {
      k++;
      continue;
    }
    const Ref now = range_limited(ir, range_extent(r), (int)size_id(node(ir, rhs(c))), RK_REDUCE);
    value = ix_subst(ir, where_yes(x), 1, &ranges[k], &now);
    ranges[k] = now;
    k = 0;
  }
  return value;
}

/* A term of a reduction. Terms that count only below a size of the run are selected here, as limit_ranges wants them. If the
 * selection is stored, memory beyond the size may not be. */
static Ref term(Lower *l, Ref r, const Ref *at, Ref path) {
  const Node *y = node(l->ir, r);
  Need is;
  if (!graph_size_mask(l->ir, r, &is)) return element(l, r, at, path);
  const Ref value = l->s->place[r].materialized ? r : where_yes(y);
  return scalar(l->ir, OP_WHERE, (DType)y->dt, 3,
                (Ref[]){ element(l, where_cond(y), at, path), element(l, value, at, path), element(l, where_no(y), at, path) });
}

/* The value of a reduction in the first iteration of its loop, where carried values are the initial ones. 0: it is no constant,
 * or elements differ */
static Ref first_value(IR *ir, Ref r) {
  Refs order = { 0 };
  RefMap now = { 0 };
  Tensor t;
  int64_t bits;
  ir_toposort(ir, &r, 1, &order);
  for (size_t i = 0; i < order.n; i++) {
    const Node *x = node(ir, order.p[i]);
    Ref src[MAX_RANK];
    const bool plain = x->nsrc <= MAX_RANK && x->loop && x->op != OP_CARRIED;
    for (int k = 0; k < x->nsrc && plain; k++) src[k] = refmap_get(&now, x->src[k]);
    const Ref same = plain && x->nsrc ? node_with_src(ir, order.p[i], src) : order.p[i];
    refmap_set(&now, order.p[i], x->op == OP_CARRIED ? operand(x) : same);
  }
  const Ref value = refmap_get(&now, r);
  const bool same = value != r && interp_const(ir, value, &t) && tensor_uniform(&t, &bits);
  VEC_FREE(&order);
  refmap_free(&now);
  return same ? c_bits(ir, (DType)node(ir, r)->dt, bits) : 0;
}

/* The element computed from its sources, even if the value is stored. */
static Ref computed(Lower *l, Ref r, const Ref *idx, Ref path) {
  IR *ir = l->ir;
  const Node *x = node(ir, r), *y = x->nsrc ? node(ir, x->src[0]) : NULL;
  Ref at[MAX_RANK] = { 0 };
  switch ((Op)x->op) {
  case OP_PARAM: case OP_WEIGHT: return load(ir, &l->s->place[r], idx, x->rank, path);
  case OP_CONST: case OP_SIZE: return r;
  case OP_IOTA: return idx[0];
  case OP_RESHAPE: case OP_EXPAND: case OP_PERMUTE: case OP_SHRINK: case OP_WINDOW:
    view_index(ir, r, idx, at);
    return element(l, operand(x), at, path);
  case OP_PAD: return padded(l, r, idx, path);
  case OP_CAT: return concatenated(l, x, idx, path);
  case OP_GATHER:
    memcpy(at, idx, x->rank * sizeof *at);
    at[gather_axis(x)] = element(l, gather_index(x), idx, path);
    return element(l, gather_data(x), at, path);
  case OP_WALK: return walked(l, x, idx, path);
  case OP_STORED: case OP_CARRIED: case OP_YIELD: case OP_ARM: return element(l, operand(x), idx, path);
  case OP_REDUCE: {
    const Ref first = l->first && x->loop ? first_value(ir, r) : 0;
    Ref src[MAX_RANK + 1], ranges[MAX_RANK];
    if (first) l->vanished = true;
    if (first) return first;
    int n = 0;
    for (int a = 0; a < y->rank; a++) {
      at[a] = (reduce_axes(x) >> a & 1) ? range_make(ir, y->dims[a], RK_REDUCE) : idx[a];
      if ((reduce_axes(x) >> a & 1) && y->dims[a] != 1) ranges[n++] = at[a];
    }
    src[0] = term(l, operand(x), at, path);
    if (!has_gates(l->s)) src[0] = limit_ranges(ir, (Op)reduce_op(x), src[0], n, ranges);
    memcpy(src + 1, ranges, (size_t)n * sizeof *src);
    return node_make(ir, OP_RED, (DType)x->dt, 1, n + 1, src, 1, x->arg, 0, NULL);
  }
  default: {
    Ref src[3];
    for (int k = 0; k < x->nsrc; k++) {
      src[k] = element(l, x->src[k], idx, path);
      if (x->op == OP_WHERE && !k && asks_size(ir, src[0])) { /* memory of the caller may end at the size */
        src[1] = element(l, where_yes(x), idx, ix_and(ir, path, src[0]));
        src[2] = element(l, where_no(x), idx, path);
        break;
      }
    }
    return scalar(ir, (Op)x->op, (DType)x->dt, x->nsrc, src);
  }
  }
}

/* idx is an element of r in any case; so are the elements that r is computed from. */
static bool exists(const IR *ir, Ref r, const Ref *idx) {
  bool all = true;
  for (int a = 0; a < node(ir, r)->rank && all; a++) all = lies_in(ir, idx[a], 0, node(ir, r)->dims[a]);
  return all;
}

/* A run may lack the element, although the value of the greatest size has it. */
static bool may_end_before(const IR *ir, Ref path, int rank, const Ref *idx) {
  bool yes = asks_size(ir, path);
  for (int a = 0; a < rank && !yes && ir->symbols.n; a++) yes = has_op(ir, idx[a], OP_FLMOD);
  return yes;
}

/* A size of the run, whose value may also be stored: an output, or a part of one. A mask must know the size itself. */
static bool is_size(const IR *ir, Ref r) { return ir->symbols.n && node(ir, view_base(ir, r))->op == OP_SIZE; }

static Ref element(Lower *l, Ref r, const Ref *idx, Ref path) {
  int rank = node(l->ir, r)->rank;
  if (path && exists(l->ir, r, idx) && !may_end_before(l->ir, path, rank, idx)) path = 0;
  uint32_t *head = &l->head[memo_hash(r, path, idx, rank)];
  for (uint32_t i = *head; i; i = l->memo.p[i - 1].next)
    if (l->memo.p[i - 1].r == r && l->memo.p[i - 1].path == path &&
        (!rank || !memcmp(l->memo.p[i - 1].idx, idx, (size_t)rank * sizeof *idx)))
      return l->memo.p[i - 1].expr;
  uint32_t keep = l->ir->origin;
  l->ir->origin = node(l->ir, r)->origin;
  Memo m = { .r = r, .path = path };
  if (rank) memcpy(m.idx, idx, (size_t)rank * sizeof *idx);
  const Place *p = &l->s->place[r];
  m.expr = p->materialized && !is_size(l->ir, r) ? load(l->ir, p, idx, rank, path) : computed(l, r, idx, path);
  l->ir->origin = keep;
  head = &l->head[memo_hash(r, path, idx, rank)];
  m.next = *head;
  VEC_PUSH(&l->memo, m);
  *head = (uint32_t)l->memo.n;
  return m.expr;
}

/* ---- kernels ---- */

/* Replaces a selection of a load or a constant: the load gets the gate, and the constant as its other value. */
static Ref gate_load(IR *ir, Ref r, void *arg) {
  (void)arg;
  const Node *x = node(ir, r), *v = node(ir, where_yes(x));
  if (v->op != OP_LOAD || load_gate(v) || node(ir, where_no(x))->op != OP_CONST || ix_uses(ir, where_cond(x), where_yes(x)))
    return 0;
  return gated_load(ir, load_buffer(v), load_index(v), where_cond(x), where_no(x));
}

static const Rule gate_rules[] = { { OP_WHERE, "gate a load", gate_load }, { OP_NONE, NULL, NULL } };

static Ref nest(IR *ir, const Place *p, const Node *x, const Ref *idx, const Ref *ranges, int nranges, Ref value) {
  Ref src[MAX_RANK + 1];
  Ref st[3] = { buffer(ir, p->buf), address(ir, p, idx, x->rank), value };
  src[0] = scalar(ir, OP_STORE, (DType)x->dt, 3, st);
  memcpy(src + 1, ranges, (size_t)nranges * sizeof *ranges);
  return scalar(ir, OP_NEST, DT_NONE, nranges + 1, src);
}

/* Orders the ranges of a nest as in memory, widest stride first. */
static int order_ranges(const IR *ir, const Place *p, int rank, const Ref *idx, Ref *out) {
  int axis[MAX_RANK], n = 0;
  for (int a = 0; a < rank; a++) {
    if (node(ir, idx[a])->op != OP_RANGE) continue;
    int k = n++;
    for (; k && p->stride[axis[k - 1]] < p->stride[a]; k--) axis[k] = axis[k - 1];
    axis[k] = a;
  }
  for (int k = 0; k < n; k++) out[k] = idx[axis[k]];
  return n;
}

/* The halo of a stored value, as boxes: for each axis the part below and the part above. A box covers the full extent of
 * earlier axes, and the inside of later axes. */
static void halo_nests(Lower *l, const Place *p, const Node *x, Refs *nests) {
  IR *ir = l->ir;
  for (int a = 0; a < x->rank; a++) {
    for (int side = 0; side < 2; side++) {
      int64_t width = side ? p->hi[a] : p->lo[a];
      if (!width) continue;
      Ref idx[MAX_RANK], shifted[MAX_RANK], ranges[MAX_RANK];
      for (int b = 0; b < x->rank; b++) {
        int64_t n = b == a ? width : b < a ? x->dims[b] : x->dims[b] + p->lo[b] + p->hi[b];
        int64_t begin = b == a ? (side ? x->dims[b] : -p->lo[b]) : b < a ? 0 : -p->lo[b];
        idx[b] = range_make(ir, n, RK_LOOP);
        shifted[b] = ix_add(ir, idx[b], ix_const(ir, begin));
      }
      int n = order_ranges(ir, p, x->rank, idx, ranges);
      VEC_PUSH(nests, nest(ir, p, x, shifted, ranges, n, p->fill));
    }
  }
}

static void value_nest(Lower *l, const Place *p, Ref r, Refs *nests) {
  IR *ir = l->ir;
  const Node *x = node(ir, r);
  if (!dims_elems(x->dims, x->rank)) return;
  Ref idx[MAX_RANK], ranges[MAX_RANK];
  for (int a = 0; a < x->rank; a++) idx[a] = range_make(ir, x->dims[a], RK_LOOP);
  Ref value = p == &l->s->place[r] ? computed(l, r, idx, 0) : element(l, r, idx, 0);
  int n = order_ranges(ir, p, x->rank, idx, ranges);
  VEC_PUSH(nests, nest(ir, p, x, idx, ranges, n, value));
}

/* Stores the elements that a run appends to a window. They begin at the size that counts the elements before them. */
static void appended_nest(Lower *l, const Place *p, Ref r, const GState *st, Refs *nests) {
  IR *ir = l->ir;
  const Node *x = node(ir, r);
  Ref idx[MAX_RANK], at[MAX_RANK], ranges[MAX_RANK];
  for (int a = 0; a < x->rank; a++) idx[a] = at[a] = range_make(ir, a == st->axis ? st->taken : x->dims[a], RK_LOOP);
  at[st->axis] = ix_add(ir, size_value(ir, size_number(ir, size_all(1, st->symbol - 1))), idx[st->axis]);
  const Ref value = element(l, where_no(x), at, 0);
  VEC_PUSH(nests, nest(ir, p, x, at, ranges, order_ranges(ir, p, x->rank, idx, ranges), value));
}

/* The destination already holds the data. Each update is joined to the element at its index, in order along the axis. An index
 * out of range is replaced by another element, which keeps its value. */
static void updates_nest(Lower *l, const Place *p, Ref r, Refs *nests) {
  IR *ir = l->ir;
  const Node *x = node(ir, r), *u = node(ir, scatter_updates(x));
  const int axis = (int)scatter_axis(x);
  const DType d = (DType)x->dt;
  Ref idx[MAX_RANK], at[MAX_RANK], ranges[MAX_RANK];
  if (!dims_elems(x->dims, x->rank)) return;
  for (int a = 0; a < x->rank; a++) idx[a] = at[a] = range_make(ir, u->dims[a], a == axis ? RK_SERIAL : RK_LOOP);
  int64_t wrong;
  Need mask;
  const Ref masked = graph_masked_index(ir, x, &mask); /* a run lacks the updates whose index the mask replaces */
  Ref from[MAX_RANK], there = 0;
  memcpy(from, idx, x->rank * sizeof *from);
  if (masked && masked != scatter_index(x)) view_index(ir, scatter_index(x), idx, from);
  if (masked) there = element(l, where_cond(node(ir, masked)), from, 0);
  Ref place = element(l, scatter_index(x), idx, 0), value = element(l, scatter_updates(x), idx, there);
  const Ref inside = g_index_fits(ir, scatter_index(x), x->dims[axis], &wrong) > 0 ? 0 : ix_in(ir, place, 0, x->dims[axis]);
  if (inside) {
    place = scalar(ir, OP_MAX, DT_I64, 2, (Ref[]){ place, ix_const(ir, 0) });
    place = scalar(ir, OP_MIN, DT_I64, 2, (Ref[]){ place, ix_const(ir, x->dims[axis] - 1) });
  }
  at[axis] = place;
  const Ref old = load(ir, p, at, x->rank, 0);
  if (scatter_op(x)) value = scalar(ir, scatter_op(x), d, 2, (Ref[]){ old, value });
  if (inside) value = scalar(ir, OP_WHERE, d, 3, (Ref[]){ inside, value, old });
  const int n = order_ranges(ir, p, x->rank, idx, ranges);
  VEC_PUSH(nests, nest(ir, p, x, at, ranges, n, value));
}

/* A next value that lies in a result's slice, which another YIELD of the same value writes */
static bool is_written(const Lower *l, Ref yield) {
  const Node *x = node(l->ir, yield);
  bool any = false;
  for (size_t i = 0; i < l->s->order.n && yield_place(x) >= 0 && !any; i++) {
    const Ref r = l->s->order.p[i];
    any = r != yield && node(l->ir, r)->op == OP_YIELD && l->s->place[r].buf == l->s->place[yield].buf;
  }
  return any;
}

/* Stores the value of a YIELD in the slice of its result */
static void yield_nest(Lower *l, Ref r, Refs *nests) {
  const Node *x = node(l->ir, r);
  Place part = l->s->place[r];
  const Place *from = &l->s->place[operand(x)];
  if (is_written(l, r) || (from->materialized && from->buf == part.buf)) return;
  for (int a = (int)yield_axis(x); a + 1 < x->rank && yield_place(x) < 0; a++) part.stride[a] = part.stride[a + 1];
  value_nest(l, &part, operand(x), nests);
}

/* Kernel.when of the kernel that stores r; 0 for the copy of an output, which runs always. */
static int when_of(const Sched *s, Ref r) {
  const int at = s->guards.of[r];
  const Guard *g = at ? &s->guards.list.p[at - 1] : NULL;
  return g ? 2 * s->place[branch_arm(node(s->ir, g->branch), 0)].buf + 1 + g->yes : 0;
}

static void add_kernel(Lower *l, Refs *nests, uint32_t origin, int loop, int when, Iterations only) {
  IR *ir = l->ir;
  if (nests->n) {
    ir->origin = origin;
    Kernel k = { .sink = scalar(ir, OP_SINK, DT_NONE, (int)nests->n, nests->p), .group_size = 1, .code = -1, .loop = loop,
                 .only = only, .when = when };
    ir_rewrite(ir, gate_rules, NULL, &k.sink, 1, NULL);
    VEC_PUSH(&l->s->plan->kernels, k);
  }
  nests->n = 0;
  l->memo.n = 0;
  l->walks = 0;
  memset(l->head, 0, sizeof l->head);
}

/* 1 + buffer of the carried bool that ends a loop; 0: none does */
static int until_of(const Sched *s, const Node *loop) {
  const Node *y = iterate_while(loop) ? node(s->ir, loop->src[iterate_while(loop) - 1]) : NULL;
  for (size_t i = 0; i < s->order.n && y; i++) {
    const Node *x = node(s->ir, s->order.p[i]);
    if (x->op == OP_CARRIED && carried_loop(x) == yield_loop(y) && carried_place(x) == yield_place(y))
      return s->place[s->order.p[i]].buf + 1;
  }
  return 0;
}

static void set_trips(const Sched *s, const Node *loop) {
  Plan *p = s->plan;
  const int until = until_of(s, loop), extent = loop_extent(s->ir, iterate_loop(loop));
  const int limit = extent < 0 ? 0 : 1 + size_number(s->ir, size_all(1, extent));
  for (size_t k = p->kernels.n; k-- > 0 && p->kernels.p[k].loop == iterate_loop(loop) + 1;) {
    p->kernels.p[k].trips = iterate_trips(loop);
    p->kernels.p[k].until = until;
    p->kernels.p[k].limit = limit;
  }
}

/* Stores a concatenation whose parts lie in its memory. */
static void parts_nests(Lower *l, Ref r, Refs *nests) {
  const Sched *s = l->s;
  const Node *x = node(l->ir, r);
  const Place *p = &s->place[r];
  Place part = *p;
  int64_t at = 0;
  for (int k = 0; k < x->nsrc; k++) {
    const Place *q = &s->place[x->src[k]];
    part.offset = p->offset + at * p->stride[cat_axis(x)];
    if (!(q->inside == r && q->inside_at == at)) value_nest(l, &part, x->src[k], nests);
    at += node(l->ir, x->src[k])->dims[cat_axis(x)];
  }
}

/* Stores a padding's source and the padding, so that no element needs a test for its position. */
static void padding_nests(Lower *l, Ref r, Refs *nests) {
  const Node *x = node(l->ir, r);
  Place part = l->s->place[r];
  part.fill = pad_fill(x);
  for (int a = 0; a < x->rank; a++) {
    part.lo[a] = pad_lo(x, a);
    part.hi[a] = pad_hi(x, a);
    part.offset += part.lo[a] * part.stride[a];
  }
  value_nest(l, &part, pad_data(x), nests);
  halo_nests(l, &part, node(l->ir, pad_data(x)), nests);
}

/* The nests that store r, but for the updates of a SCATTER */
static void stored_nests(Lower *l, Ref r, Refs *nests) {
  const Sched *s = l->s;
  const Node *x = node(l->ir, r);
  const Place *p = &s->place[r];
  if (x->op == OP_CAT && !p->select) parts_nests(l, r, nests);
  else if (x->op == OP_PAD && node(l->ir, pad_fill(x))->op == OP_CONST) padding_nests(l, r, nests);
  else if (p->state && s->g->states.p[p->state - 1].symbol) appended_nest(l, p, r, &s->g->states.p[p->state - 1], nests);
  else if (x->op == OP_SCATTER) value_nest(l, p, scatter_data(x), nests);
  else if (x->op == OP_YIELD) yield_nest(l, r, nests);
  else value_nest(l, p, r, nests);
  if (p->has_halo) halo_nests(l, p, x, nests);
}

/* The number of a loop + 1, if a run may have few of its iterations and there are enough for a kernel of the first one */
static int loop_with_first(const Sched *s, const Node *x) {
  const bool yes = x->op == OP_ITERATE && loop_extent(s->ir, iterate_loop(x)) >= 0 && iterate_trips(x) > 2;
  return yes ? (int)iterate_loop(x) + 1 : 0;
}

void sched_lower(Sched *s) {
  IR *ir = s->ir;
  Lower *l = xmalloc(sizeof *l);
  memset(l, 0, sizeof *l);
  l->s = s;
  l->ir = ir;
  Refs nests = { 0 };
  bool has_first[GRAPH_LOOPS + 1] = { false }; /* by loop + 1 */
  for (size_t i = 0; i < s->order.n && ir->symbols.n; i++) has_first[loop_with_first(s, node(ir, s->order.p[i]))] = true;
  has_first[0] = false;
  for (size_t i = 0; i < s->order.n; i++) {
    Ref r = s->order.p[i];
    const Node *x = node(ir, r);
    const Place *p = &s->place[r];
    if (x->op == OP_ITERATE) set_trips(s, x);
    if (!p->materialized || x->op == OP_SLICE || x->op == OP_RESULT || x->op == OP_CHOSEN) continue;
    if (x->op == OP_ARM && s->place[operand(x)].buf == p->buf) continue; /* stored there already: layout.c */
    const int loop = guarded_body(ir, &s->guards, r), when = when_of(s, r);
    l->first = has_first[loop];
    l->vanished = false;
    stored_nests(l, r, &nests);
    if (l->vanished) {
      add_kernel(l, &nests, x->origin, loop, when, FIRST_ITERATION);
      l->first = false;
      stored_nests(l, r, &nests);
    }
    add_kernel(l, &nests, x->origin, loop, when, l->vanished ? LATER_ITERATIONS : ALL_ITERATIONS);
    l->first = false;
    if (x->op != OP_SCATTER) continue;
    updates_nest(l, p, r, &nests);
    add_kernel(l, &nests, x->origin, loop, when, ALL_ITERATIONS);
  }
  /* outputs that are inputs, constants, or further names of a stored value */
  for (size_t i = 0; i < s->g->outputs.n; i++) {
    Ref r = s->g->outputs.p[i].ref;
    const Place *q = &s->place[r];
    const Node *x = node(ir, r);
    int64_t slot;
    BufKind kind = sched_output_kind(s->g, i, &slot);
    if (kind == BUF_NEXT && (s->g->states.p[slot].axis >= 0 || s->g->states.p[slot].only_read)) continue; /* in place already */
    if (q->materialized && ir->bufs.p[q->buf].kind == kind && ir->bufs.p[q->buf].slot == slot) continue;
    Place p = { .buf = (int)ir->bufs.n };
    int64_t n = 1;
    for (int a = x->rank - 1; a >= 0; n *= x->dims[a], a--) p.stride[a] = n;
    const Needed needed = graph_need_of_value(ir, &s->g->outputs.p[i]);
    const Buf b = { .kind = kind, .dt = (DType)x->dt, .elems = n, .slot = slot, .offset = -1, .needed = needed, .value = r };
    VEC_PUSH(&ir->bufs, b);
    value_nest(l, &p, r, &nests);
    add_kernel(l, &nests, x->origin, body_of(x), 0, ALL_ITERATIONS);
  }
  VEC_FREE(&nests);
  VEC_FREE(&l->memo);
  free(l);
}

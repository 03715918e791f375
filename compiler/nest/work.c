/* SPDX-License-Identifier: MIT */
/* work.c: counts a kernel's operations and the bytes it accesses, before opts; and what a run of a plan does at least.
 *
 * cost: needs: canonical nests   gives: Kernel.flops, .bytes_read, .bytes_written, .moves   keeps: all else   breaks: nothing */
#include "nest.h"

/* Operations on floats; selecting an element by its position is none. */
static bool is_arithmetic(const IR *ir, const Node *x, bool data) {
  if (op_info[x->op].level != L_EXPR || x->op == OP_CAST || x->op == OP_BITCAST || (x->op == OP_WHERE && !data)) return false;
  return dt_float((DType)x->dt) || (x->nsrc > 1 && dt_float((DType)node(ir, x->src[1])->dt));
}

static double values_of(const IR *ir, const Refs *ranges, uint64_t set) {
  double n = 1;
  for (size_t i = 0; i < ranges->n; i++) n *= set >> i & 1 ? (double)range_extent(node(ir, ranges->p[i])) : 1;
  return n;
}

/* Arithmetic of a nest before tiling. Every op counts once per value of the ranges it varies with, so work that results share
 * counts once. */
static double count_flops(const IR *ir, Ref nest) {
  Varying v;
  double flops = 0;
  varying_open(ir, nest, &v);
  for (size_t i = 0; i < v.nodes.n; i++) {
    const Node *x = node(ir, v.nodes.p[i]);
    const bool data = x->op == OP_WHERE && varying_of(&v, where_cond(x)) & VARIES_DATA;
    if (is_arithmetic(ir, x, data)) flops += values_of(ir, &v.ranges, v.by[i]);
    if (x->op != OP_RED || !dt_float((DType)x->dt)) continue;
    uint64_t terms = varying_of(&v, red_value(x));
    for (int k = 1; k < x->nsrc; k++) terms |= varying_of(&v, x->src[k]);
    flops += values_of(ir, &v.ranges, terms);
  }
  varying_free(&v);
  return flops;
}

/* Whether a value is an element of memory or a constant, possibly selected by a comparison of indices */
static bool only_moved(const IR *ir, Ref r) {
  const Node *x = node(ir, r);
  switch ((Op)x->op) {
  case OP_LOAD: case OP_CONST: return true;
  case OP_CAST: return only_moved(ir, operand(x));
  case OP_WHERE: return only_moved(ir, where_yes(x)) && only_moved(ir, where_no(x));
  default: return false;
  }
}

/* Elements of its buffer that a load or store accesses. */
static int64_t touched(const IR *ir, const Node *x) {
  const int64_t elems = ir->bufs.p[buffer_id(node(ir, access_buffer(x)))].elems;
  Refs r = { 0 };
  int64_t n = 1;
  collect_ranges(ir, access_index(x), &r);
  for (size_t i = 0; i < r.n; i++)
    if (!i64_mul(n, range_extent(node(ir, r.p[i])), &n)) n = elems;
  VEC_FREE(&r);
  return n < elems ? n : elems;
}

/* Elements of each buffer that no access counted so far: a buffer's elements count once, since several loads may read the same */
typedef struct Counted {
  RefMap at;               /* a buffer: index in left + 1 */
  VEC(int64_t) left;
} Counted;

static void counted_free(Counted *c) {
  refmap_free(&c->at);
  VEC_FREE(&c->left);
}

/* Bytes that x accesses and that were not counted yet */
static int64_t count_bytes(const IR *ir, Counted *c, const Node *x) {
  const Ref buffer = access_buffer(x);
  const Buf *b = &ir->bufs.p[buffer_id(node(ir, buffer))];
  if (!refmap_get(&c->at, buffer)) {
    VEC_PUSH(&c->left, b->elems);
    refmap_set(&c->at, buffer, (Ref)c->left.n);
  }
  int64_t *rest = &c->left.p[refmap_get(&c->at, buffer) - 1], n = touched(ir, x);
  if (n > *rest) n = *rest;
  *rest -= n;
  return n * dt_bytes(b->dt);
}

/* Counts arithmetic, and bytes accessed in each buffer. */
void step_cost(Plan *p, Kernel *k) {
  const IR *ir = p->ir;
  Refs all = { 0 };
  Counted counted[2] = { { .at = { 0 } } }; /* loads, stores */
  k->bytes_read = k->bytes_written = 0;
  k->moves = true;
  ir_toposort(ir, &k->sink, 1, &all);
  for (size_t i = 0; i < all.n; i++) {
    const Node *x = node(ir, all.p[i]);
    if (x->op != OP_LOAD && x->op != OP_STORE) continue;
    const bool store = x->op == OP_STORE;
    if (store) k->moves &= only_moved(ir, store_value(x));
    *(store ? &k->bytes_written : &k->bytes_read) += count_bytes(ir, &counted[store], x);
  }
  double flops = 0;
  for (size_t i = 0; i < k->nests.n; i++) flops += count_flops(ir, k->nests.p[i].nest);
  k->flops = (int64_t)flops;
  for (int i = 0; i < 2; i++) counted_free(&counted[i]);
  VEC_FREE(&all);
}

/* ---- the least work of a run ---- */
static DType before_casts(const IR *ir, Ref r) {
  while (node(ir, r)->op == OP_CAST) r = operand(node(ir, r));
  return (DType)node(ir, r)->dt;
}

static bool is_either(const IR *ir, const Node *product, DType d) {
  return before_casts(ir, lhs(product)) == d || before_casts(ir, rhs(product)) == d;
}

/* The types for which an instruction may be faster than for floats. Whether it can be used does not count. */
static MultiplyType multiply_type(const IR *ir, const Node *product) {
  if (!dt_float((DType)product->dt)) return is_either(ir, product, DT_I16) ? MULTIPLY_INT16 : MULTIPLY_INT8;
  if (is_either(ir, product, DT_BF16)) return MULTIPLY_BF16;
  return product->dt == DT_F64 ? MULTIPLY_F64 : MULTIPLY_F32;
}

static bool is_piece(const IR *ir, const Node *load) { return ir->bufs.p[buffer_id(node(ir, access_buffer(load)))].piece > 0; }

/* The ranges with which a value varies. Each chunk of a kernel group finds other values in a piece of memory, at the same places
 * (Buf.piece). So a value that loads from one varies with the chunks, too. */
static uint64_t varying_with_chunks(const IR *ir, const Varying *v, Ref r) {
  uint64_t set = varying_of(v, r);
  Refs below = { 0 };
  bool piece = false;
  ir_toposort(ir, &r, 1, &below);
  for (size_t i = 0; i < below.n && !piece; i++) {
    const Node *x = node(ir, below.p[i]);
    piece = x->op == OP_LOAD && is_piece(ir, x);
  }
  VEC_FREE(&below);
  for (size_t i = 0; i < v->ranges.n && piece; i++)
    if (range_kind(node(ir, v->ranges.p[i])) == RK_THREAD) set |= UINT64_C(1) << i;
  return set;
}

/* Products that are added up, each once for the ranges with which it varies */
static void add_products(const IR *ir, Ref nest, double times, LeastWork *w) {
  Varying v;
  varying_open(ir, nest, &v);
  for (size_t i = 0; i < v.nodes.n; i++) {
    const Node *x = node(ir, v.nodes.p[i]);
    if (x->op != OP_RED || red_op(x) != OP_ADD || node(ir, red_value(x))->op != OP_MUL) continue;
    const Node *product = node(ir, red_value(x));
    w->multiplies[multiply_type(ir, product)] += times * values_of(ir, &v.ranges, varying_with_chunks(ir, &v, red_value(x)));
  }
  varying_free(&v);
}

static void add_read(const IR *ir, Ref sink, Counted *counted, LeastWork *w) {
  Refs all = { 0 };
  ir_toposort(ir, &sink, 1, &all);
  for (size_t i = 0; i < all.n; i++) {
    const Node *x = node(ir, all.p[i]);
    if (x->op != OP_LOAD) continue;
    const BufKind kind = ir->bufs.p[buffer_id(node(ir, access_buffer(x)))].kind;
    if (kind == BUF_WEIGHT || kind == BUF_INPUT || kind == BUF_STATE) w->bytes += (double)count_bytes(ir, counted, x);
  }
  VEC_FREE(&all);
}

/* Each iteration of a loop has calls of its own (plan_loop_calls). A loop that data may end has two, and may run one. */
LeastWork plan_least_work(const Plan *p) {
  LeastWork w = { 0 };
  Counted counted = { 0 };
  for (size_t i = 0; i < p->kernels.n; i++) {
    const Kernel *k = &p->kernels.p[i];
    const double times = k->until ? 0.5 : 1;
    for (size_t n = 0; n < k->nests.n; n++) add_products(p->ir, k->nests.p[n].nest, times, &w);
    add_read(p->ir, k->sink, &counted, &w);
  }
  counted_free(&counted);
  return w;
}

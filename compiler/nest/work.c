/* SPDX-License-Identifier: MIT */
/* work.c: counts a kernel's operations and the bytes it accesses, before opts.
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

/* Counts arithmetic, and bytes accessed in each buffer. A buffer's bytes are limited to its size, since several loads may read
 * the same elements. */
void step_cost(Plan *p, Kernel *k) {
  const IR *ir = p->ir;
  Refs all = { 0 };
  RefMap at[2] = { { 0 } }; /* buffers that are loaded, and that are stored: index in left + 1 */
  VEC(int64_t) left = { 0 }; /* elements not counted yet */
  k->bytes_read = k->bytes_written = 0;
  k->moves = true;
  ir_toposort(ir, &k->sink, 1, &all);
  for (size_t i = 0; i < all.n; i++) {
    const Node *x = node(ir, all.p[i]);
    if (x->op != OP_LOAD && x->op != OP_STORE) continue;
    const bool store = x->op == OP_STORE;
    const Buf *b = &ir->bufs.p[buffer_id(node(ir, access_buffer(x)))];
    if (store) k->moves &= only_moved(ir, store_value(x));
    if (!refmap_get(&at[store], access_buffer(x))) {
      VEC_PUSH(&left, b->elems);
      refmap_set(&at[store], access_buffer(x), (Ref)left.n);
    }
    int64_t *rest = &left.p[refmap_get(&at[store], access_buffer(x)) - 1], n = touched(ir, x);
    if (n > *rest) n = *rest;
    *rest -= n;
    *(store ? &k->bytes_written : &k->bytes_read) += n * dt_bytes(b->dt);
  }
  double flops = 0;
  for (size_t i = 0; i < k->nests.n; i++) flops += count_flops(ir, k->nests.p[i].nest);
  k->flops = (int64_t)flops;
  for (int i = 0; i < 2; i++) refmap_free(&at[i]);
  VEC_FREE(&left);
  VEC_FREE(&all);
}

/* SPDX-License-Identifier: MIT */
/* products.c: multiply-adds of a program: how many run, how many of them take a factor from shared memory, and how many
 * matrix units do.
 *
 * needs: a program    gives: counts    breaks: nothing */
#include "lower.h"

static bool from_shared(const IR *ir, Ref r) { /* from a panel */
  const Node *x = node(ir, r);
  return x->op == OP_LOAD && ir->bufs.p[buffer_id(node(ir, load_buffer(x)))].kind == BUF_SHARED;
}

static bool is_product_of(const IR *ir, Ref r, Ref sum) {
  return node(ir, r)->op == OP_MUL && node(ir, sum)->op == OP_GET;
}

/* The factors of the product that a node adds to a variable; false: it adds none */
static bool product_added(const IR *ir, const Node *x, Ref factor[2]) {
  if (x->op == OP_MULACC) {
    factor[0] = mulacc_x(x);
    factor[1] = mulacc_y(x);
    return true;
  }
  if (x->op == OP_DOT) {
    factor[0] = dot_x(x);
    factor[1] = dot_y(x);
    return true;
  }
  if (x->op != OP_ADD) return false;
  const bool first = is_product_of(ir, lhs(x), rhs(x));
  if (!first && !is_product_of(ir, rhs(x), lhs(x))) return false;
  const Node *product = node(ir, first ? lhs(x) : rhs(x));
  factor[0] = lhs(product);
  factor[1] = rhs(product);
  return true;
}

static bool shared_tile(const IR *ir, Ref r) { /* otherwise it is a tile of a CPU */
  const Node *x = node(ir, r);
  return x->op == OP_TILE && ir->bufs.p[buffer_id(node(ir, tile_buffer(x)))].kind == BUF_SHARED;
}

/* A thread's share of the products that a matrix unit computes for a warp */
static double products_of_thread(const Node *x) {
  if (x->op == OP_WMMA) return (double)x->lanes * (double)wmma_k(x);
  return (double)x->lanes * (double)mma_depth(x) / SCRATCH_WARP;
}

Products program_products(const IR *ir, const Ref *list, size_t n) {
  Products sum = { 0, 0, 0 };
  VEC(double) around = { 0 };
  double times = 1;
  for (size_t i = 0; i < n; i++) {
    const Node *x = node(ir, list[i]);
    Ref factor[2];
    if (x->op == OP_LOOP) {
      VEC_PUSH(&around, times);
      times *= (double)range_extent(node(ir, loop_range(x)));
    }
    if (x->op == OP_END) times = around.p[--around.n];
    if (x->op == OP_WMMA || (x->op == OP_MMA && shared_tile(ir, mma_x(x)))) {
      const double products = times * products_of_thread(x);
      sum.all += products;
      sum.staged += products;
      sum.matrix += products;
    }
    if (!product_added(ir, x, factor)) continue;
    const double products = times * (x->op == OP_DOT ? node(ir, dot_y(x))->lanes : x->lanes);
    sum.all += products;
    if (from_shared(ir, factor[0]) || from_shared(ir, factor[1])) sum.staged += products;
  }
  VEC_FREE(&around);
  return sum;
}

Products plan_products(const Plan *p) {
  Products sum = { 0, 0, 0 };
  for (size_t k = 0; k < p->kernels.n; k++) {
    const Products own = program_products(p->ir, p->kernels.p[k].prog.p, p->kernels.p[k].prog.n);
    sum.all += own.all;
    sum.staged += own.staged;
    sum.matrix += own.matrix;
  }
  return sum;
}

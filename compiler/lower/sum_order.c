/* SPDX-License-Identifier: MIT */
/* sum_order.c: the order of the sums that one loop computes.
 *
 * needs: the tree of a nest (loop_tree.c)   gives: lists of sums in order, Linear.gate, .row and .tile_gate   keeps: the tree */
#include "../opt/opts.h"
#include "linear.h"
#include <stdlib.h>
#include <string.h>

static const Ref *product_of(const IR *ir, Ref sum) { /* the two factors of a sum of products; NULL: a sum of other terms */
  const Node *x = node(ir, red_value(node(ir, sum)));
  return x->op == OP_MUL || x->op == OP_DOT ? &x->src[x->nsrc - 2] : NULL;
}

/* Two values that a shuffle of their vectors joins (shuffle.c) count as one factor: that shuffle. */
static void pair_factors(Linear *l, const Refs *sums, uint32_t *factor) {
  const IR *ir = l->ir;
  for (size_t i = 0; i < l->nodes.n; i++) factor[i] = (uint32_t)i;
  for (size_t i = 0; i < sums->n; i++)
    for (int k = 0; k < 2; k++) {
      const Ref by = product_of(ir, sums->p[i])[k];
      const Node *x = node(ir, by);
      if (x->op != OP_SHUFFLE || node(ir, lhs(x))->op != OP_BCAST || node(ir, rhs(x))->op != OP_BCAST) continue;
      factor[pos_of(l, lhs(x))] = factor[pos_of(l, rhs(x))] = pos_of(l, by);
    }
}

/* Orders sums of products to need few registers. The shorter side of a tile stays in registers; an element of the longer side
 * is loaded for all its products together. So the next sum is one that needs fewest new factors, and among these one whose
 * factors have fewest uses left. Stores need not follow this order: results that shuffles combine (shuffle.c) ask for whole
 * rows. */
void order_products(Linear *l, Refs *sums) {
  IR *ir = l->ir;
  size_t *uses = xmalloc((l->nodes.n + 1) * sizeof *uses);
  uint32_t *as = xmalloc((l->nodes.n + 1) * sizeof *as); /* by node: the factor that it counts as */
  bool *there = xmalloc(l->nodes.n + 1), products = true;
  memset(uses, 0, l->nodes.n * sizeof *uses);
  memset(there, 0, l->nodes.n);
  for (size_t i = 0; i < sums->n && products; i++) products = product_of(ir, sums->p[i]) != NULL;
  if (products) pair_factors(l, sums, as);
  for (size_t i = 0; i < sums->n && products; i++)
    for (int k = 0; k < 2; k++) uses[as[pos_of(l, product_of(ir, sums->p[i])[k])]]++;
  for (size_t at = 0; at < sums->n && products; at++) {
    size_t best = at, least = SIZE_MAX;
    for (size_t i = at; i < sums->n; i++) {
      size_t cost = 0;
      for (int k = 0; k < 2; k++) {
        const uint32_t factor = as[pos_of(l, product_of(ir, sums->p[i])[k])];
        cost += there[factor] ? uses[factor] : sums->n;
      }
      if (cost < least) least = cost, best = i;
    }
    const Ref next = sums->p[best];
    memmove(&sums->p[at + 1], &sums->p[at], (best - at) * sizeof(Ref));
    sums->p[at] = next;
    for (int k = 0; k < 2; k++) {
      const uint32_t factor = as[pos_of(l, product_of(ir, next)[k])];
      there[factor] = true;
      uses[factor]--;
    }
  }
  free(uses);
  free(as);
  free(there);
}

/* ---- rows that few tiles have ---- */
/* A lower tile has the sums of the highest one (opt/sized.c). Stores of rows that it does not have are closed. Their sums are not
 * computed, either. For example, row 3 is inside of a condition in each step of a reduction, and row 4 is inside of a further
 * condition within that one. */

void find_row_gates(Linear *l, const Nest *n) {
  IR *ir = l->ir;
  bool *used = xcalloc(l->nodes.n + 1, sizeof *used);
  l->gate = xcalloc(l->nodes.n + 1, sizeof *l->gate);
  l->row = xcalloc(l->nodes.n + 1, sizeof *l->row);
  Ref last = 0, now = 0;
  int row = 0;
  for (size_t i = l->nodes.n; i-- > 0;) {
    const Node *x = node(ir, l->nodes.p[i]);
    const Ref gate = x->op == OP_STORE ? store_gate(x) : 0;
    if (gate && gate != last) now = sized_row_gate(ir, n, gate, &row), last = gate; /* all vectors of a row have one gate */
    if (gate && now) l->gate[i] = now, l->row[i] = row;
    for (int k = 0; k < x->nsrc && x->op != OP_PREFETCH; k++) {
      const uint32_t s = pos_of(l, x->src[k]);
      if (used[s] && l->row[s] != l->row[i]) l->gate[s] = 0, l->row[s] = 0;
      if (!used[s]) l->gate[s] = l->gate[i], l->row[s] = l->row[i];
      used[s] = true;
    }
  }
  free(used);
}

/* All stores may be closed: then the tile has no rows. */
void find_tile_gate(Linear *l, int innermost) {
  int least = 0;
  Ref gate = 0;
  for (size_t i = 0; i < l->nodes.n; i++) {
    if (node(l->ir, l->nodes.p[i])->op != OP_STORE) continue;
    if (!l->row[i]) return;
    if (!least || l->row[i] < least) least = l->row[i], gate = l->gate[i];
    if (l->row[i] > l->tile_rows) l->tile_rows = l->row[i];
  }
  if (!gate || pos_of(l, gate) >= l->nodes.n) return;
  l->tile_gate = gate;
  l->tile_row = least;
  l->tile_loop = innermost;
}

/* The terms of a sum need no other loop, and no variable or tile of a matrix unit. */
static bool has_plain_terms(const IR *ir, Ref sum) {
  Refs all = { 0 };
  bool plain = true;
  ir_toposort(ir, (Ref[]){ red_value(node(ir, sum)) }, 1, &all);
  for (size_t i = 0; i < all.n; i++) {
    const Op op = (Op)node(ir, all.p[i])->op;
    plain &= op != OP_RED && op != OP_MMA && op != OP_TILE && op != OP_HELD && op != OP_REPEAT;
  }
  VEC_FREE(&all);
  return plain;
}

void sort_by_rows(Linear *l, Refs *sums) {
  const IR *ir = l->ir;
  bool any = false, plain = true;
  for (size_t i = 0; i < sums->n && l->gate; i++) any |= l->row[pos_of(l, sums->p[i])] > 0;
  if (!any) return;
  for (size_t i = 0; i < sums->n && plain; i++) plain = has_plain_terms(ir, sums->p[i]);
  for (size_t i = 0; i < sums->n && !plain; i++) l->row[pos_of(l, sums->p[i])] = 0;
  for (size_t i = 1; i < sums->n && plain; i++) {
    const Ref sum = sums->p[i];
    size_t at = i;
    for (; at && l->row[pos_of(l, sums->p[at - 1])] > l->row[pos_of(l, sum)]; at--) sums->p[at] = sums->p[at - 1];
    sums->p[at] = sum;
  }
}

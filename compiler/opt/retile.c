/* SPDX-License-Identifier: MIT */
/* retile.c: adapts a schedule to vectors of another width. Tiles keep their sizes: lanes times copies of a range stay equal.
 *
 * needs: a canonical nest, legal opts for one target   gives: opts for another target, or false   breaks: nothing */
#include "opts.h"

static bool orders_weights(IR *ir, const Refs *all, Ref range) {
  for (size_t i = 0; i < all->n; i++) {
    const Node *x = node(ir, all->p[i]);
    if (x->op == OP_LOAD && ir->bufs.p[buffer_id(node(ir, load_buffer(x)))].kind == BUF_WEIGHT &&
        ix_uses(ir, load_index(x), range))
      return true;
  }
  return false;
}

/* Rows are copies of a range of the nest without lanes, on which no weight depends. Their number is set to as many sums as the
 * registers hold. */
static void fit_rows(IR *ir, Ref nest, Opts *o, double room) {
  Refs all = { 0 };
  Opt *rows = NULL;
  double sums = 1;
  ir_toposort(ir, &nest, 1, &all);
  for (int i = 0; i < o->n; i++) {
    Opt *p = &o->opt[i];
    const bool outer = opens_range(ir, nest, p->range);
    if (outer) sums *= p->unroll;
    bool row = outer && p->lanes == 1 && p->unroll > 1 && !orders_weights(ir, &all, p->range);
    if (row && (!rows || p->unroll > rows->unroll)) rows = p;
  }
  VEC_FREE(&all);
  if (!rows) return;
  int64_t extent = range_extent(node(ir, rows->range)), most = (int64_t)(room / (sums / rows->unroll));
  if (most > extent) most = extent;
  if (most < 1) most = 1;
  int64_t even = most;
  while (even > 1 && extent % even) even--;
  rows->unroll = (int)(2 * even > most ? even : most);
}

bool opts_retile(IR *ir, Ref nest, const Target *from, const Target *to, Opts *o) {
  double sums = 1;
  bool changed = false, lanes_of_nest = false;
  o->nparts = o->nborders = 0; /* rests change with the width of vectors, so their schedules do not carry over */
  for (int i = 0; i < o->n; i++) {
    Opt *p = &o->opt[i];
    const bool own = opens_range(ir, nest, p->range);
    if (own) sums *= p->unroll;
    if (p->lanes == 1 || (own && lanes_of_nest)) continue; /* two ranges may be in lanes: only the outer one changes */
    lanes_of_nest |= own;
    int tile = p->unroll * p->lanes, lanes = (int)((int64_t)p->lanes * to->vector_bytes / from->vector_bytes);
    if (lanes == p->lanes) continue;
    if (lanes < 1 || tile % lanes) return false;
    p->lanes = lanes;
    p->unroll = tile / lanes;
    changed = true;
  }
  if (changed) fit_rows(ir, nest, o, sums * to->vector_regs / from->vector_regs);
  return !opts_check(ir, nest, to, o);
}

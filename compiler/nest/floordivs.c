/* SPDX-License-Identifier: MIT */
/* floordivs.c: makes indices affine. Each quotient floor(r / c) in an index is replaced by a new range.
 *
 * needs: an index   gives: the index with ranges in place of quotients   keeps: the index   breaks: nothing */
#include "nest.h"

Ref floordivs_open(IR *ir, Ref index, FloorDivs *s) {
  Refs all = { 0 }, below = { 0 };
  s->n = 0;
  ir_toposort(ir, &index, 1, &all);
  for (size_t i = all.n; i-- > 0 && s->n < MAX_RANGES;) { /* outermost quotients first */
    const Node *x = node(ir, all.p[i]);
    bool inside = false;
    below.n = 0;
    if (x->op != OP_FLDIV || x->vmin < 0 || x->vmax == INT64_MAX) continue;
    collect_ranges(ir, all.p[i], &below);
    for (int k = 0; k < s->n; k++) inside |= ix_uses(ir, s->term[k], all.p[i]);
    if (inside || below.n != 1) continue;
    s->term[s->n] = all.p[i];
    s->range[s->n] = below.p[0];
    s->step[s->n++] = range_make(ir, x->vmax + 1, range_kind(node(ir, below.p[0])));
  }
  VEC_FREE(&below);
  VEC_FREE(&all);
  return s->n ? ix_subst(ir, index, s->n, s->term, s->step) : index;
}

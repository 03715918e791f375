/* SPDX-License-Identifier: MIT */
/* nest.c: takes nests apart and builds them, replaces ranges, and answers questions about ranges that several steps ask.
 *
 * needs: nests   gives: their parts; nests with other ranges   keeps: the value of every element, where a range is replaced by
 * an expression with the same values   breaks: nothing */
#include "nest.h"
#include <stdlib.h>
#include <string.h>

Nest nest_open(const IR *ir, Ref nest) {
  const Node *x = node(ir, nest);
  Nest n = { .store = nest_body(x), .n = x->nsrc - 1 };
  CHECK(n.n <= MAX_RANGES);
  memcpy(n.ranges, x->src + 1, (size_t)n.n * sizeof *n.ranges);
  return n;
}

Ref nest_close(IR *ir, const Nest *n) {
  Ref src[MAX_RANGES + 1] = { n->store };
  memcpy(src + 1, n->ranges, (size_t)n->n * sizeof *src);
  return node_make(ir, OP_NEST, DT_NONE, 1, n->n + 1, src, 0, NULL, 0, NULL);
}

bool opens_range(const IR *ir, Ref r, Ref range) {
  const Node *x = node(ir, r);
  for (int k = 1; k < x->nsrc; k++)
    if (x->src[k] == range) return true;
  return false;
}

typedef struct Repair { Ref expr; int n; const Ref *by; } Repair;

static Ref repair_list(IR *ir, Ref r, void *arg) {
  const Repair *fix = arg;
  const Node *x = node(ir, r);
  Ref src[MAX_RANGES + 1];
  int n = 1;
  bool changed = false;
  src[0] = x->src[0];
  for (int k = 1; k < x->nsrc; k++) {
    if (x->src[k] != fix->expr) src[n++] = x->src[k];
    else {
      for (int i = 0; i < fix->n; i++)
        if (node(ir, fix->by[i])->op == OP_RANGE) src[n++] = fix->by[i];
      changed = true;
    }
    CHECK(n <= MAX_RANGES);
  }
  if (!changed) return 0;
  if (n == 1 && x->op == OP_RED) return src[0];
  return node_make(ir, (Op)x->op, (DType)x->dt, x->lanes, n, src, x->narg, x->arg, 0, NULL);
}

Ref range_replace(IR *ir, Ref root, Ref r, Ref expr, int n, const Ref *by) {
  /* lists first get a private name for the range, so that an expression equal to another range of the list is not mistaken for
   * it */
  Ref mark = range_new(ir, range_extent(node(ir, r)), RK_LOOP);
  static const Rule rules[] = { { OP_RED, "range list", repair_list },
                                { OP_NEST, "range list", repair_list },
                                { OP_NONE, NULL, NULL } };
  Repair hide = { r, 1, &mark }, show = { mark, n, by };
  ir_rewrite(ir, rules, &hide, &root, 1, NULL);
  root = ix_subst(ir, root, 1, &r, &expr);
  ir_rewrite(ir, rules, &show, &root, 1, NULL);
  return root;
}

Ref range_part(IR *ir, Ref root, Ref r, int64_t begin, int64_t end, Ref *part) {
  *part = range_make(ir, end - begin, range_kind(node(ir, r)));
  return range_replace(ir, root, r, ix_add(ir, *part, ix_const(ir, begin)), 1, part);
}

/* The reduction in which terms count only if a condition is true */
static Ref only_terms(IR *ir, Ref red, Ref only) {
  const Node *x = node(ir, red);
  const DType d = (DType)x->dt;
  Ref src[MAX_RANGES + 1];
  memcpy(src, x->src, x->nsrc * sizeof *src);
  const Ref term[3] = { only, red_value(x), c_bits(ir, d, reduce_identity(red_op(x), d)) };
  src[0] = node_make(ir, OP_WHERE, d, 1, 3, term, 0, NULL, 0, NULL);
  return node_with_src(ir, red, src);
}

/* The reduction over one piece of the terms in place of r. All but the first have new ranges for their other ranges, because two
 * reductions are two nests of loops. */
static Ref reduce_piece(IR *ir, Ref red, Ref r, const TermsPart *p, bool first) {
  const Node *x = node(ir, red);
  const bool again = p->counted && (red_op(x) == OP_MAX || red_op(x) == OP_MIN);
  Ref part = range_replace(ir, p->only && !again ? only_terms(ir, red, p->only) : red, r, p->at, p->n, p->by);
  for (int k = 1; k < x->nsrc && !first; k++) {
    if (x->src[k] == r) continue;
    const Ref own = range_again(ir, node(ir, x->src[k]));
    part = range_replace(ir, part, x->src[k], own, 1, &own);
  }
  return part;
}

Ref reduce_pieces(IR *ir, Ref root, Ref r, const TermsPart *piece, int n, Ref lanes) {
  Refs all = { 0 }, from = { 0 }, to = { 0 };
  ir_toposort(ir, &root, 1, &all);
  for (size_t i = 0; i < all.n; i++) {
    const Node *x = node(ir, all.p[i]);
    if (x->op != OP_RED || !opens_range(ir, all.p[i], r)) continue;
    Ref sum = reduce_piece(ir, all.p[i], r, &piece[0], true);
    for (int k = 1; k < n; k++) {
      const Ref two[2] = { sum, reduce_piece(ir, all.p[i], r, &piece[k], false) };
      sum = node_make(ir, red_op(x), (DType)x->dt, 1, 2, two, 0, NULL, 0, NULL);
    }
    if (lanes) sum = node_make(ir, OP_RED, (DType)x->dt, 1, 2, (Ref[]){ sum, lanes }, x->narg, x->arg, 0, NULL);
    VEC_PUSH(&from, all.p[i]);
    VEC_PUSH(&to, sum);
  }
  root = ix_subst(ir, root, (int)from.n, from.p, to.p);
  VEC_FREE(&all);
  VEC_FREE(&from);
  VEC_FREE(&to);
  return root;
}

void collect_ranges(const IR *ir, Ref root, Refs *out) {
  Refs all = { 0 };
  ir_toposort(ir, &root, 1, &all);
  for (size_t i = 0; i < all.n; i++)
    if (node(ir, all.p[i])->op == OP_RANGE) VEC_PUSH(out, all.p[i]);
  VEC_FREE(&all);
  if (out->n) qsort_r(out->p, out->n, sizeof *out->p, node_order_r, (void *)(uintptr_t)ir);
}

void nest_ranges(const IR *ir, Ref nest, Refs *out) {
  const Node *x = node(ir, nest);
  Refs all = { 0 };
  for (int k = 1; k < x->nsrc; k++) VEC_PUSH(out, x->src[k]);
  ir_toposort(ir, &nest, 1, &all);
  for (size_t i = 0; i < all.n; i++) {
    x = node(ir, all.p[i]);
    for (int k = 1; k < x->nsrc && x->op == OP_RED; k++)
      if (range_place(out, x->src[k]) < 0) VEC_PUSH(out, x->src[k]);
  }
  VEC_FREE(&all);
}

int range_place(const Refs *ranges, Ref r) {
  for (size_t i = 0; i < ranges->n; i++)
    if (ranges->p[i] == r) return (int)i;
  return -1;
}

/* ---- questions ---- */
bool range_selects(IR *ir, Ref root, Ref r) {
  Refs all = { 0 };
  bool yes = false;
  if (range_extent(node(ir, r)) > tunable(ir->ctx, nest_select_most)) return false;
  ir_toposort(ir, &root, 1, &all);
  for (size_t i = 0; i < all.n && !yes; i++) {
    const Node *x = node(ir, all.p[i]);
    yes = x->op == OP_WHERE && node(ir, where_cond(x))->op == OP_CMPLT && lhs(node(ir, where_cond(x))) == r &&
          node_is_const(ir, rhs(node(ir, where_cond(x))), NULL);
  }
  VEC_FREE(&all);
  return yes;
}

bool keeps_order(const IR *ir, Ref red, const Target *t) {
  const Node *x = node(ir, red);
  return t->in_order && dt_float((DType)x->dt) && (red_op(x) == OP_ADD || red_op(x) == OP_MUL);
}

int reductions_below(const IR *ir, Ref root) {
  Refs all = { 0 };
  int n = 0;
  ir_toposort(ir, &root, 1, &all);
  for (size_t i = 0; i < all.n; i++) n += node(ir, all.p[i])->op == OP_RED;
  VEC_FREE(&all);
  return n;
}

bool reduction_repeats(IR *ir, Ref root, Ref r) {
  Refs all = { 0 };
  bool any = false;
  ir_toposort(ir, &root, 1, &all);
  for (size_t i = 0; i < all.n && !any; i++) any = node(ir, all.p[i])->op == OP_RED && !ix_uses(ir, all.p[i], r);
  VEC_FREE(&all);
  return any;
}

/* Place of a range in the nest: loops of the nest, loops of its reductions, copies, then tiles and lanes. With sizes of the run,
 * parts of a sum stay beside its loop. So all tiles read weights in one order, with parts or without. */
int walk_order(const IR *ir, const Refs *all, Ref nest, Ref range) {
  static const int inner[RK_COUNT] = {
    [RK_UNROLL] = 2, [RK_PARTIAL] = 2, [RK_DEPTH] = 3, [RK_VEC] = 4, [RK_DOT] = 5, [RK_FRAG] = 4
  };
  const Node *x = node(ir, nest), *r = node(ir, range);
  int kind = range_kind(r) == RK_PARTIAL && ir->symbols.n ? 1 : inner[range_kind(r)], at = 0;
  for (int k = 1; k < x->nsrc; k++)
    if (x->src[k] == range) return kind * 100 + k;
  for (size_t i = 0; i < all->n; i++) {
    x = node(ir, all->p[i]);
    for (int k = 1; k < x->nsrc && x->op == OP_RED; k++)
      if (x->src[k] == range) at = k;
  }
  return (kind ? kind : 1) * 100 + at;
}

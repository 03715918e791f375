/* SPDX-License-Identifier: MIT */
/* sink_concat.c: moves movement into the parts of a concatenation, so that each part is computed in place.
 *
 * Outputs and parts of concatenations have memory of their own. If such a value is only a movement of another concatenation, it
 * would be a copy of all of it. An example: the maps of a detector's heads become rows of its output. As a concatenation of
 * moved parts it needs no copy, since kernels store elements in any order.
 *
 * needs: a folded graph    gives: an equal graph, in which no value with its own memory is a movement of a concatenation
 * without other readers, where axes allow    breaks: nothing */
#include "graph.h"
#include "rules.h"

enum { MAX_MOVES = 8 };

/* A movement x of a concatenation, as a concatenation of moved parts; 0: an element along one of x's axes mixes parts. */
static Ref cat_of_moved(IR *ir, const Node *x, Ref cat) {
  const Node *s = node(ir, cat);
  int axis = x->op == OP_RESHAPE ? reshape_axis(x, s, (int)cat_axis(s)) : 0;
  if (axis < 0) return 0;
  Ref *part = ARENA_NEW(&ir->ctx->model, Ref, s->nsrc);
  for (int k = 0; k < s->nsrc; k++) {
    int64_t dims[MAX_RANK];
    memcpy(dims, x->dims, x->rank * sizeof *dims);
    if (x->op == OP_RESHAPE) dims[axis] = node(ir, s->src[k])->dims[cat_axis(s)];
    part[k] = x->op == OP_RESHAPE ? g_reshape(ir, s->src[k], x->rank, dims) : g_permute(ir, s->src[k], x->arg);
  }
  while (x->op == OP_PERMUTE && permute_perm(x, axis) != cat_axis(s)) axis++;
  return g_cat(ir, s->nsrc, part, axis);
}

/* r as a concatenation, if it moves one and the values in between have no other readers */
static Ref placed(IR *ir, const RefMap *users, Ref r) {
  Ref move[MAX_MOVES];
  int n = 0;
  for (; node(ir, r)->op == OP_RESHAPE || node(ir, r)->op == OP_PERMUTE; r = operand(node(ir, r))) {
    if (n == tunable(ir->ctx, sink_moves) || refmap_get(users, r) > 1) return 0;
    move[n++] = r;
  }
  if (!n || node(ir, r)->op != OP_CAT || refmap_get(users, r) > 1) return 0;
  while (n && r) r = cat_of_moved(ir, node(ir, move[--n]), r);
  return r;
}

static Ref place_parts(IR *ir, Ref r, void *users) {
  const Node *x = node(ir, r);
  Ref *part = ARENA_NEW(&ir->ctx->model, Ref, x->nsrc);
  bool changed = false;
  for (int k = 0; k < x->nsrc; k++) {
    Ref y = placed(ir, users, x->src[k]);
    changed |= y != 0;
    part[k] = y ? y : x->src[k];
  }
  return changed ? g_cat(ir, x->nsrc, part, (int)cat_axis(x)) : 0;
}

bool graph_sink_concat(Graph *g) {
  static const Rule none[] = { { OP_NONE, NULL, NULL } };
  static const Rule rules[] = { { OP_CAT, "place-parts", place_parts }, { OP_NONE, NULL, NULL } };
  RefMap users = { 0 };
  Refs roots = { 0 };
  bool changed = false;
  for (size_t i = 0; i < g->outputs.n; i++) VEC_PUSH(&roots, g->outputs.p[i].ref);
  ir_rewrite_users(g->ir, none, NULL, roots.p, roots.n, NULL, &users);
  for (size_t i = 0; i < roots.n; i++) {
    g->ir->origin = node(g->ir, roots.p[i])->origin;
    Ref y = placed(g->ir, &users, roots.p[i]);
    changed |= y != 0;
    roots.p[i] = y ? y : roots.p[i];
  }
  refmap_free(&users);
  users = (RefMap){ 0 };
  changed |= ir_rewrite_users(g->ir, rules, &users, roots.p, roots.n, NULL, &users);
  for (size_t i = 0; i < roots.n; i++) g->outputs.p[i].ref = roots.p[i];
  refmap_free(&users);
  VEC_FREE(&roots);
  return changed;
}

/* SPDX-License-Identifier: MIT */
/* eval_storage.c: the plan of an evaluation: which nodes get storage, and when it is free again. These are outputs, reductions,
 * concatenations, scatters, and some elementwise nodes, which are used twice, or seen through a view that repeats elements.
 * Everything between them is a tree. The plan also bounds the trees, so neither recursion nor tapes grow with the model.
 *
 * needs: the items below the outputs    gives: Item.stored, .weight and .last */
#include "eval_items.h"

static bool is_view(Op op) { return (op_info[op].algebra & MOVE) && op != OP_CAT; }

/* whether x reads some elements of its source more than once */
static bool repeats(const Node *x) { return x->op == OP_EXPAND || x->op == OP_WINDOW || x->op == OP_GATHER; }

static void count_uses(Eval *e) {
  for (size_t i = e->items.n - 1; i > 0; i--) {
    const Node *x = node(e->ir, e->items.p[i].ref);
    int uses = is_view((Op)x->op) ? e->items.p[i].uses : 1;
    if (repeats(x)) uses = 2;
    for (int k = 0; k < sources_of(e, e->items.p[i].ref); k++) {
      Item *s = item(e, x->src[k]);
      s->uses = (uint8_t)(s->uses + uses < 2 ? s->uses + uses : 2);
    }
  }
}

/* The weight of a tree bounds its dynamic variables; see MAX_VARS. */
static int own_weight(const Eval *e, const Node *x) {
  return 1 + (x->op == OP_RESHAPE ? 2 * tape_splits(x, node(e->ir, operand(x))) : x->op == OP_GATHER);
}

static int source_weight(const Eval *e, Ref r) { return item(e, r)->stored ? 1 : item(e, r)->weight; }

static int tree_weight(const Eval *e, const Node *x) {
  int sum = 0;
  for (int k = 0; k < x->nsrc; k++) {
    int w = source_weight(e, x->src[k]);
    const bool apart = x->op == OP_CAT || x->op == OP_SCATTER || x->op == OP_WALK; /* their sources are separate trees */
    sum = !apart ? sum + w : w > sum ? w : sum;
  }
  return sum + own_weight(e, x);
}

/* Stores a node in the heaviest branch below x: the smallest of the views and their sources. */
static void lighten(Eval *e, const Node *x) {
  Item *path[TREE + 1];
  int n = 0, best = 0;
  Ref r = x->src[0];
  for (int k = 1; k < x->nsrc; k++)
    if (source_weight(e, x->src[k]) > source_weight(e, r)) r = x->src[k];
  CHECK(source_weight(e, r) > 1);
  for (;; r = operand(node(e->ir, r))) {
    path[n++] = item(e, r);
    const Node *top = node(e->ir, path[best]->ref), *y = node(e->ir, r);
    if (dims_elems(y->dims, y->rank) < dims_elems(top->dims, top->rank)) best = n - 1;
    if (!is_view((Op)y->op) || source_weight(e, operand(y)) == 1) break;
  }
  path[best]->stored = true;
  for (int i = best - 1; i >= 0; i--) path[i]->weight = tree_weight(e, node(e->ir, path[i]->ref));
}

static void choose_storage(Eval *e) {
  for (size_t i = 1; i < e->items.n; i++) {
    Item *it = &e->items.p[i];
    const Node *x = node(e->ir, it->ref);
    it->weight = 1;
    if (given_value(e, it->ref)) continue;
    if (x->op == OP_REDUCE || x->op == OP_CAT || x->op == OP_SCATTER || x->op == OP_WALK ||
        (!is_view((Op)x->op) && !is_leaf((Op)x->op) && it->uses > 1))
      it->stored = true;
    while ((it->weight = tree_weight(e, x)) > TREE) lighten(e, x);
  }
}

static void find_last_reads(Eval *e) {
  for (uint32_t i = (uint32_t)e->items.n - 1; i > 0; i--) {
    const Node *x = node(e->ir, e->items.p[i].ref);
    uint32_t reader = e->items.p[i].stored ? i : e->items.p[i].last;
    for (int k = 0; k < sources_of(e, e->items.p[i].ref); k++) {
      Item *s = item(e, x->src[k]);
      if (s->last < reader) s->last = reader;
    }
  }
}

void eval_storage(Eval *e) {
  count_uses(e);
  choose_storage(e);
  find_last_reads(e);
}

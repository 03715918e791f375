/* SPDX-License-Identifier: MIT */
/* eval_items.h: internal to interp/: the state of an evaluation of a graph, and the nodes that it evaluates. */
#ifndef TGC_EVAL_ITEMS_H
#define TGC_EVAL_ITEMS_H
#include "../ir/refmap.h"
#include "eval.h"

typedef struct Item {    /* a node below the outputs */
  Ref ref;
  bool stored;           /* it has storage */
  bool ready;            /* its value is computed */
  uint8_t uses;          /* how often its elements are read: 0, 1, 2 or more */
  int weight;            /* weight of the tree below it */
  uint32_t last;         /* last stored item that reads it; KEEP: an output */
  uint32_t dead;         /* list, through next_dead, of items whose last reader is this one; 0 ends it */
  uint32_t next_dead;
  Value value;
} Item;
enum { KEEP = INT32_MAX };

/* Values of nodes outside of a tree: what a loop reads, carries and gives */
typedef struct Given {
  RefMap at;
  VEC(Tensor) value;
} Given; /* at: Ref to 1 + index in value */

struct Eval {
  IR *ir;
  const Tensor *const *inputs;
  bool with_double;
  int64_t steps, bytes;  /* remaining budget; INT64_MAX: no limit */
  bool tells;            /* ctx_progress hears of it */
  VEC(Item) items;       /* sources before users; item 0 is unused */
  RefMap item;           /* Ref to its index in items */
  const Given *given;    /* values of nodes that are not computed; NULL: there are none */
};

static inline Item *item(const Eval *e, Ref r) { return &e->items.p[refmap_get(&e->item, r)]; }
static inline bool is_leaf(Op op) { return op_info[op].arity == 0; }

/* ---- eval_items.c ---- */
const Tensor *given_value(const Eval *e, Ref r); /* returns the value of a node that is not computed; NULL: it is computed */
int sources_of(const Eval *e, Ref r);            /* returns how many sources of the node are evaluated */
/* Lists all nodes below root, sources first. Returns false if a shape is too large. */
bool reach(Eval *e, Ref root);
void set_leaf(Eval *e, Item *i);                 /* gives an item the value of its input, its weight or its given value, if any */
/* Takes the steps of `points` points of `each` steps from the budget. Returns false if it has not so many. */
bool eval_spend(Eval *e, int64_t points, int64_t each);

/* ---- eval_storage.c ---- */
/* Sets Item.stored, and the last reader of each stored item. Outputs are stored already. */
void eval_storage(Eval *e);

/* ---- interp_reduce.c ---- */
bool eval_reduce(Eval *e, const Node *x, Value *out); /* computes a REDUCE; returns false if the budget is exceeded */
#endif

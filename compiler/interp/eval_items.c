/* SPDX-License-Identifier: MIT */
/* eval_items.c: the nodes of an evaluation, the values that are known without computing, and the budget of steps. */
#include "eval_items.h"

const Tensor *given_value(const Eval *e, Ref r) {
  const Ref at = e->given ? refmap_get(&e->given->at, r) : 0;
  return at ? &e->given->value.p[at - 1] : NULL;
}

int sources_of(const Eval *e, Ref r) { return given_value(e, r) ? 0 : node(e->ir, r)->nsrc; }

/* The time depends on the nodes below root only, since folding calls this for many small expressions. */
bool reach(Eval *e, Ref root) {
  typedef struct { Ref r; int next; } Visit;
  VEC(Visit) stack = { 0 };
  bool ok = true;
  VEC_PUSH(&stack, ((Visit){ root, 0 }));
  while (ok && stack.n) {
    Visit *v = &stack.p[stack.n - 1];
    const Node *x = node(e->ir, v->r);
    if (refmap_get(&e->item, v->r)) {
      stack.n--;
    } else if (v->next < sources_of(e, v->r)) {
      Ref s = x->src[v->next++];
      if (!refmap_get(&e->item, s)) VEC_PUSH(&stack, ((Visit){ s, 0 }));
    } else {
      ok = dims_elems(x->dims, x->rank) < INT64_MAX;
      VEC_PUSH(&e->items, ((Item){ .ref = v->r }));
      refmap_set(&e->item, v->r, (Ref)e->items.n - 1);
      stack.n--;
    }
  }
  VEC_FREE(&stack);
  return ok;
}

IR *eval_ir(const Eval *e) { return e->ir; }
DType eval_type(const Eval *e, DType d) { return e->with_double && dt_float(d) ? DT_F64 : d; }

const Value *eval_value(const Eval *e, Ref r) {
  const Item *i = item(e, r);
  return i->ready ? &i->value : NULL;
}

void set_leaf(Eval *e, Item *i) {
  const Node *x = node(e->ir, i->ref);
  const Tensor *known = given_value(e, i->ref);
  const Tensor *t = known                ? known
                    : x->op == OP_PARAM  ? e->inputs[param_slot(x)]
                    : x->op == OP_WEIGHT ? &e->ir->tensors.p[weight_id(x)]
                                         : NULL;
  if (!t) return;
  CHECK(t->dt == x->dt && t->elems == dims_elems(x->dims, x->rank));
  i->value = (Value){ t->dt, t->elems, t->data, t->splat };
  i->ready = true;
}

bool eval_spend(Eval *e, int64_t points, int64_t each) {
  int64_t cost;
  if (!i64_mul(points, each, &cost) || cost > e->steps) return false;
  e->steps -= cost;
  return true;
}

/* SPDX-License-Identifier: MIT */
/* rewrite.c: applies tables of rules, bottom-up, until none applies anywhere.
 *
 * Sources are rewritten before their users. A rule sees a node with final sources; its result is rewritten in turn, new
 * sources first. Rules only look at a node and those below it, and nodes are hash-consed. So each node has one result, and
 * shared work is done once.
 *
 * needs: nodes and a table of rules    gives: nodes to which no rule applies    keeps: properties that all rules keep */
#include "ir.h"
#include "refmap.h"

typedef struct Frame { Ref asked, now; } Frame; /* a node to rewrite, and its current form */

typedef struct Rewriter {
  IR *ir;
  const Rule *rules;
  void *arg;
  int *hits;
  int *order, first[OP_COUNT + 1]; /* rules of op: order[first[op]] .. order[first[op + 1] - 1] */
  int64_t budget;                  /* remaining rule applications */
  RefMap done;                     /* node to its final form */
  RefMap *users;                   /* number of uses before rewriting, also of final forms */
  VEC(Frame) stack;
  Refs src;
} Rewriter;

static void index_rules(Rewriter *w) {
  int n = 0, at[OP_COUNT];
  while (w->rules[n].op != OP_NONE) w->first[w->rules[n++].op + 1]++;
  for (int op = 0; op < OP_COUNT; op++) {
    at[op] = w->first[op];
    w->first[op + 1] += w->first[op];
  }
  w->order = xmalloc((size_t)(n + 1) * sizeof *w->order);
  for (int i = 0; i < n; i++) w->order[at[w->rules[i].op]++] = i;
}

/* Result of the first rule that applies to r, or 0. */
static Ref apply(Rewriter *w, Ref r) {
  int op = node(w->ir, r)->op;
  w->ir->origin = node(w->ir, r)->origin;
  for (int i = w->first[op]; i < w->first[op + 1]; i++) {
    const Rule *rule = &w->rules[w->order[i]];
    Ref to = rule->fn(w->ir, r, w->arg);
    if (!to || to == r) continue;
    if (w->hits) w->hits[w->order[i]]++;
    if (!w->budget--) BUG("rules do not end: '%s' at %s", rule->name, op_info[op].name);
    return to;
  }
  return 0;
}

/* Users of the old form now use the final form. If the final form is a source of the old one, it loses that user. Uses by other
 * nodes that disappear stay counted: a count may be too high, never too low. */
static void finish(Rewriter *w, Ref asked, Ref final) {
  const Node *x = node(w->ir, asked);
  uint32_t uses = refmap_get(w->users, asked);
  refmap_set(&w->done, asked, final);
  if (asked == final || !uses) return;
  uses += refmap_get(w->users, final);
  for (int i = 0; i < x->nsrc; i++) uses -= uses > 1 && refmap_get(&w->done, x->src[i]) == final;
  refmap_set(w->users, final, uses);
}

static Ref rewrite(Rewriter *w, Ref root) {
  VEC_PUSH(&w->stack, ((Frame){ root, root }));
  while (w->stack.n) {
    size_t top = w->stack.n - 1;
    Frame f = w->stack.p[top];
    const Node *x = node(w->ir, f.now);
    Ref final = refmap_get(&w->done, f.now);
    if (!final) {
      w->src.n = 0;
      for (int i = 0; i < x->nsrc; i++) {
        Ref s = refmap_get(&w->done, x->src[i]);
        if (!s) VEC_PUSH(&w->stack, ((Frame){ x->src[i], x->src[i] }));
        VEC_PUSH(&w->src, s);
      }
      if (w->stack.n > top + 1) continue;
      Ref r = x->nsrc ? node_with_src(w->ir, f.now, w->src.p) : f.now;
      final = refmap_get(&w->done, r);
      if (!final) {
        Ref to = apply(w, r);
        if (to) {
          w->stack.p[top].now = to;
          continue;
        }
        final = r;
        refmap_set(&w->done, r, r);
      }
    }
    finish(w, f.asked, final);
    w->stack.n--;
  }
  return refmap_get(&w->done, root);
}

/* Counts the nodes below roots, and how often each is used */
static int64_t reached(const IR *ir, const Ref *roots, size_t n, RefMap *users) {
  Refs stack = { 0 };
  for (size_t i = 0; i < n; i++) VEC_PUSH(&stack, roots[i]);
  while (stack.n) {
    Ref r = stack.p[--stack.n];
    uint32_t uses = refmap_get(users, r);
    refmap_set(users, r, uses + 1);
    if (uses) continue;
    const Node *x = node(ir, r);
    for (int i = 0; i < x->nsrc; i++) VEC_PUSH(&stack, x->src[i]);
  }
  VEC_FREE(&stack);
  return users->n;
}

void ir_only_users(const IR *ir, const Refs *order, const Refs *roots, RefMap *only) {
  for (size_t i = 0; i < order->n; i++) {
    const Node *x = node(ir, order->p[i]);
    for (int k = 0; k < x->nsrc; k++) refmap_set(only, x->src[k], refmap_get(only, x->src[k]) ? x->src[k] : order->p[i]);
  }
  for (size_t i = 0; i < roots->n; i++) refmap_set(only, roots->p[i], roots->p[i]);
  for (size_t i = 0; i < order->n; i++) /* an entry to itself marks a root, or several users */
    if (refmap_get(only, order->p[i]) == order->p[i]) refmap_set(only, order->p[i], 0);
}

bool ir_rewrite_users(IR *ir, const Rule *rules, void *arg, Ref *roots, size_t n, int *hits, RefMap *users) {
  Rewriter w = { .ir = ir, .rules = rules, .arg = arg, .hits = hits, .users = users };
  uint32_t origin = ir->origin;
  bool changed = false;
  w.budget = 1000 + 64 * reached(ir, roots, n, users);
  index_rules(&w);
  for (size_t i = 0; i < n; i++) {
    Ref r = rewrite(&w, roots[i]);
    changed |= r != roots[i];
    roots[i] = r;
  }
  ir->origin = origin;
  free(w.order);
  refmap_free(&w.done);
  VEC_FREE(&w.stack);
  VEC_FREE(&w.src);
  return changed;
}

bool ir_rewrite(IR *ir, const Rule *rules, void *arg, Ref *roots, size_t n, int *hits) {
  RefMap users = { 0 };
  bool changed = ir_rewrite_users(ir, rules, arg, roots, n, hits, &users);
  refmap_free(&users);
  return changed;
}

bool ir_rewrite_graph(Graph *g, const Rule *rules, void *arg) {
  Refs roots = { 0 };
  for (size_t i = 0; i < g->outputs.n; i++) VEC_PUSH(&roots, g->outputs.p[i].ref);
  bool changed = ir_rewrite(g->ir, rules, arg, roots.p, roots.n, NULL);
  for (size_t i = 0; i < g->outputs.n; i++) g->outputs.p[i].ref = roots.p[i];
  VEC_FREE(&roots);
  return changed;
}

/* SPDX-License-Identifier: MIT */
/* branches.c: branches of graphs: their builders, the nodes that each side guards, their order, and their replacement by
 * selections.
 *
 * needs: a graph    gives: guards of nodes; an order in which the nodes of a side follow each other (order_branches); an equal
 * graph with fewer branches (ir_select)    breaks: nothing */
#include "ir.h"
#include <stdlib.h>
#include <string.h>

Ref g_arm(IR *ir, int64_t branch, int64_t at, Ref x) {
  const Node *n = node(ir, x);
  return node_make(ir, OP_ARM, (DType)n->dt, 1, 1, &x, 2, (int64_t[]){ branch, at }, n->rank, n->dims);
}

Ref branch_of_arms(IR *ir, int64_t branch, int n, const Ref *arms) {
  const Node *x = node(ir, arms[n > 1]);
  return node_make(ir, OP_BRANCH, (DType)x->dt, 1, n, arms, 1, &branch, x->rank, x->dims);
}

Ref g_branch(IR *ir, Ref cond, int n, const Ref *yes, const Ref *no) {
  const int64_t branch = ir->branches;
  Ref *arm = xmalloc((2 * (size_t)n + 1) * sizeof *arm);
  arm[0] = g_arm(ir, branch, 0, cond);
  for (int k = 0; k < n; k++) {
    arm[1 + k] = g_arm(ir, branch, 1 + k, yes[k]);
    arm[1 + n + k] = g_arm(ir, branch, 1 + n + k, no[k]);
  }
  const Ref made = branch_of_arms(ir, branch, 2 * n + 1, arm);
  free(arm);
  return made;
}

Ref g_chosen(IR *ir, Ref branch, int at) {
  const Node *x = node(ir, branch_arm(node(ir, branch), 1 + at));
  return node_make(ir, OP_CHOSEN, (DType)x->dt, 1, 1, &branch, 1, (int64_t[]){ at }, x->rank, x->dims);
}

const char *g_branch_refuses(const IR *ir, Ref branch) {
  const Node *x = node(ir, branch), *cond = node(ir, branch_arm(x, 0));
  const int n = branch_results(x);
  if (n < 1 || x->nsrc != 2 * n + 1) return "a branch needs a condition, and as many values from one side as from the other";
  for (int k = 0; k < x->nsrc; k++) {
    const Node *arm = node(ir, branch_arm(x, k));
    if (arm->op != OP_ARM || arm_branch(arm) != branch_branch(x) || arm_at(arm) != k)
      return "an operand is no arm of this branch in its order";
    if (k > n && !nodes_alike(arm, node(ir, branch_arm(x, k - n))))
      return "the sides of a branch differ in the type or the shape of a value";
  }
  return cond->dt != DT_BOOL || cond->rank ? "the condition of a branch must be a bool without axes" : NULL;
}

/* ---- selections ---- */
typedef struct Select {
  IR *ir;
  Refs order;
  Ref *to, *src;           /* by node: what replaces it; room for sources */
  bool **asked;            /* by BRANCH that stays: which results are used */
} Select;

static void find_asked(Select *s, const bool *stays) {
  for (size_t i = 0; i < s->order.n; i++) {
    const Node *x = node(s->ir, s->order.p[i]);
    if (x->op != OP_CHOSEN || !stays || !stays[operand(x)]) continue;
    bool **asked = &s->asked[operand(x)];
    if (!*asked) *asked = xcalloc((size_t)branch_results(node(s->ir, operand(x))), sizeof **asked);
    (*asked)[chosen_at(x)] = true;
  }
}

/* The value that arm k takes */
static Ref below_arm(const Select *s, const Node *branch, int k) { return s->to[operand(node(s->ir, branch_arm(branch, k)))]; }

static Ref selection(const Select *s, const Node *chosen) {
  const Node *b = node(s->ir, operand(chosen));
  const int at = (int)chosen_at(chosen) + 1;
  return g_where(s->ir, below_arm(s, b, 0), below_arm(s, b, at), below_arm(s, b, at + branch_results(b)));
}

/* The branch with those results only that are used */
static Ref shortened(Select *s, Ref r) {
  const Node *x = node(s->ir, r);
  const int n = branch_results(x);
  int m = 1;
  *s->src = s->to[branch_arm(x, 0)];
  for (int k = 0; k < 2 * n; k++)
    if (s->asked[r][k % n]) s->src[m] = g_arm(s->ir, branch_branch(x), m, below_arm(s, x, k + 1)), m++;
  return branch_of_arms(s->ir, branch_branch(x), m, s->src);
}

static Ref same_result(const Select *s, const Node *chosen) {
  int at = 0;
  for (int k = 0; k < chosen_at(chosen); k++) at += s->asked[operand(chosen)][k];
  return g_chosen(s->ir, s->to[operand(chosen)], at);
}

static Ref replaced(Select *s, Ref r) {
  const Node *x = node(s->ir, r);
  if (x->op == OP_CHOSEN) return s->asked[operand(x)] ? same_result(s, x) : selection(s, x);
  if (x->op == OP_BRANCH && s->asked[r]) return shortened(s, r);
  for (int k = 0; k < x->nsrc; k++) s->src[k] = s->to[x->src[k]];
  return node_with_src(s->ir, r, s->src);
}

void ir_select(IR *ir, Ref *roots, size_t n, const bool *stays) {
  Select s = { .ir = ir };
  if (!ir->branches) return;
  const uint32_t size = ir->n;
  ir_toposort(ir, roots, n, &s.order);
  s.to = xcalloc(size, sizeof *s.to);
  s.src = xmalloc((UINT16_MAX + 1) * sizeof *s.src);
  s.asked = xcalloc(size, sizeof *s.asked);
  find_asked(&s, stays);
  for (size_t i = 0; i < s.order.n; i++) s.to[s.order.p[i]] = replaced(&s, s.order.p[i]);
  for (size_t i = 0; i < n; i++) roots[i] = s.to[roots[i]];
  for (uint32_t i = 0; i < size; i++) free(s.asked[i]);
  VEC_FREE(&s.order);
  free(s.to);
  free(s.src);
  free(s.asked);
}

/* ---- guards ---- */
enum { NO_USE = -1 };

static int depth_of(const Guards *g, int at) {
  int depth = 0;
  for (; at; at = g->list.p[at - 1].in) depth++;
  return depth;
}

/* The innermost guard around both */
static int meet(const Guards *g, int a, int b) {
  for (int i = depth_of(g, a), j = depth_of(g, b); a != b;)
    if (i > j) a = g->list.p[a - 1].in, i--;
    else b = g->list.p[b - 1].in, j--;
  return a;
}

/* A value that a loop does not change is computed before it, where the conditions of its body are not known yet. */
static int outside_of_body(const IR *ir, const Guards *g, int at, const Node *x) {
  while (at) {
    const int body = body_of(node(ir, g->list.p[at - 1].branch));
    if (!body || body == body_of(x)) break;
    at = g->list.p[at - 1].in;
  }
  return at;
}

static void use(const IR *ir, Guards *g, Ref r, int by) {
  const Node *x = node(ir, r);
  const int at = x->op == OP_ARM ? by : outside_of_body(ir, g, by, x);
  g->of[r] = g->of[r] == NO_USE ? at : meet(g, g->of[r], at);
}

/* Adds guards for both sides of a branch. -> number of the first one, for `yes`; the other one follows */
static int open_sides(Guards *g, Ref branch) {
  const int in = g->of[branch], yes = (int)g->list.n + 1;
  VEC_PUSH(&g->list, ((Guard){ in, branch, true }));
  VEC_PUSH(&g->list, ((Guard){ in, branch, false }));
  return yes;
}

Guards find_guards(const IR *ir, const Refs *order, const Ref *roots, size_t n) {
  Guards g = { .of = xcalloc(ir->n, sizeof *g.of) };
  if (!ir->branches) return g;
  for (size_t i = 0; i < order->n; i++) g.of[order->p[i]] = NO_USE;
  for (size_t i = 0; i < n; i++) g.of[roots[i]] = 0;
  for (size_t i = order->n; i-- > 0;) {
    const Ref r = order->p[i];
    const Node *x = node(ir, r);
    if (g.of[r] == NO_USE) g.of[r] = 0;
    const int yes = x->op == OP_BRANCH ? open_sides(&g, r) : 0;
    for (int k = 0; k < x->nsrc; k++) use(ir, &g, x->src[k], !yes || !k ? g.of[r] : k <= branch_results(x) ? yes : yes + 1);
  }
  return g;
}

void guards_free(Guards *g) {
  VEC_FREE(&g->list);
  free(g->of);
}

int guarded_body(const IR *ir, const Guards *g, Ref r) {
  const int at = g->of[r], body = body_of(node(ir, r));
  return body || !at ? body : body_of(node(ir, g->list.p[at - 1].branch));
}

/* ---- order ---- */
/* Guarded values are used by their side and its BRANCH alone, so they may wait. */
void order_branches(const IR *ir, const Guards *g, Refs *order) {
  if (!g->list.n) return;
  Refs *waiting = xcalloc(g->list.n + 1, sizeof *waiting); /* [0]: the new order */
  for (size_t i = 0; i < order->n; i++) {
    const Ref r = order->p[i];
    Refs *to = &waiting[g->of[r]];
    for (size_t k = 0; k < g->list.n && node(ir, r)->op == OP_BRANCH; k++)
      for (size_t j = 0; g->list.p[k].branch == r && j < waiting[k + 1].n; j++) VEC_PUSH(to, waiting[k + 1].p[j]);
    VEC_PUSH(to, r);
  }
  CHECK(waiting[0].n == order->n);
  memcpy(order->p, waiting[0].p, order->n * sizeof *order->p);
  for (size_t k = 0; k <= g->list.n; k++) VEC_FREE(&waiting[k]);
  free(waiting);
}

/* SPDX-License-Identifier: MIT */
/* verify_graph.c: rules of graphs. An op of the graph level has a shape that follows from its sources and arguments; its other
 * sources and arguments lie within that shape. Bodies of loops and branches have their rules in graph_build.c (g_..._refuses).
 *
 * needs: a graph    gives: nothing; a node that breaks a rule is a bug (verify.h)    breaks: nothing */
#include "ir.h"
#include "verify.h"

static bool same_shape(const Node *x, const Node *y) {
  return x->rank == y->rank && (!x->rank || !memcmp(x->dims, y->dims, x->rank * sizeof *x->dims));
}

static void verify_window(const IR *ir, Ref r, const Node *x, const Node *s) {
  const int64_t axis = x->arg[0], stride = x->arg[1], dilation = x->arg[2];
  const int n = s->rank;
  int64_t last, k;
  NEED(x->rank == n + 1 && axis >= 0 && axis < n, "wrong rank or axis");
  NEED(stride >= 0 && dilation >= 0, "negative stride or dilation");
  for (int i = 0; i < n; i++) NEED(i == axis || x->dims[i] == s->dims[i], "wrong shape");
  if (!x->dims[axis] || !x->dims[n]) return;
  NEED(i64_mul(x->dims[axis] - 1, stride, &last) && i64_mul(x->dims[n] - 1, dilation, &k) && i64_add(last, k, &last), "overflow");
  NEED(last < s->dims[axis], "reaches outside of its source");
}

static void verify_cat(const IR *ir, Ref r, const Node *x) {
  const int64_t axis = x->arg[0];
  int64_t total = 0;
  NEED(axis >= 0 && axis < x->rank, "no such axis");
  for (int k = 0; k < x->nsrc; k++) {
    const Node *y = node(ir, x->src[k]);
    NEED(y->dt == x->dt, "types of sources differ");
    NEED(y->rank == x->rank, "ranks of sources differ");
    for (int i = 0; i < x->rank; i++) NEED(i == axis || y->dims[i] == x->dims[i], "shapes of sources differ");
    total += y->dims[axis];
  }
  NEED(x->dims[axis] == total, "wrong shape");
}

static void verify_movement(const IR *ir, Ref r, const Node *x, const Node *s) {
  const int64_t *a = x->arg;
  int n = s->rank;
  uint32_t seen = 0;
  switch ((Op)x->op) {
  case OP_RESHAPE: NEED(dims_elems(x->dims, x->rank) == dims_elems(s->dims, n), "the number of elements changes"); return;
  case OP_EXPAND:
    NEED(x->rank == n, "the rank changes");
    for (int i = 0; i < n; i++) NEED(x->dims[i] == s->dims[i] || s->dims[i] == 1, "an axis that is not 1 is repeated");
    return;
  case OP_PERMUTE:
    NEED(x->rank == n, "the rank changes");
    for (int i = 0; i < n; i++) {
      NEED(a[i] >= 0 && a[i] < n && !(seen >> a[i] & 1), "not a permutation");
      seen |= 1u << a[i];
      NEED(x->dims[i] == s->dims[a[i]], "wrong shape");
    }
    return;
  case OP_SHRINK:
    NEED(x->rank == n, "the rank changes");
    for (int i = 0; i < n; i++) {
      int64_t last;
      if (!x->dims[i]) continue;
      NEED(i64_mul(x->dims[i] - 1, a[n + i], &last) && i64_add(last, a[i], &last), "overflow");
      NEED(a[i] >= 0 && a[i] < s->dims[i] && last >= 0 && last < s->dims[i], "reaches outside of its source");
    }
    return;
  case OP_WINDOW: verify_window(ir, r, x, s); return;
  case OP_PAD:
    NEED(x->rank == n, "the rank changes");
    NEED(!node(ir, pad_fill(x))->rank, "the fill is not a scalar");
    for (int i = 0; i < n; i++)
      NEED(a[i] >= 0 && a[n + i] >= 0 && x->dims[i] - a[i] - a[n + i] == s->dims[i], "wrong shape");
    return;
  case OP_CAT: verify_cat(ir, r, x); return;
  default: verify_broken(ir, r, "not a movement");
  }
}

/* Ops without sources */
static void verify_leaf(const Graph *g, Ref r, const Node *x) {
  const IR *ir = g->ir;
  const int64_t at = x->narg ? x->arg[0] : 0;
  switch ((Op)x->op) {
  case OP_CONST: NEED(!x->rank, "a constant with a shape"); return;
  case OP_SIZE: NEED(!x->rank && x->dt == DT_I64, "a size with a shape, or of another type"); return;
  case OP_IOTA: NEED(x->rank == 1 && x->dt == DT_I64, "not an i64 vector"); return;
  case OP_PARAM: NEED(at >= 0 && at < (int64_t)g->inputs.n && g->inputs.p[at].ref == r, "not the input of its slot"); return;
  case OP_WEIGHT: {
    NEED(at >= 0 && at < (int64_t)ir->tensors.n, "no such tensor");
    const Tensor *t = &ir->tensors.p[at];
    NEED(t->dt == (DType)x->dt && t->rank == x->rank, "another type or rank than its tensor");
    for (int i = 0; i < x->rank; i++) NEED(t->dims[i] == x->dims[i], "another shape than its tensor");
    return;
  }
  default: verify_broken(ir, r, "not an op without sources");
  }
}

/* Ops that look up elements by an index tensor */
static void verify_indexed(const IR *ir, Ref r, const Node *x, const Node *s) {
  const int64_t *a = x->arg;
  if (x->op == OP_GATHER) {
    const Node *index = node(ir, gather_index(x));
    NEED(index->dt == DT_I64, "the index is not i64");
    NEED(same_shape(x, index) && s->rank == x->rank, "wrong shape");
    NEED(a[0] >= 0 && a[0] < x->rank, "no such axis");
    for (int i = 0; i < x->rank; i++) NEED(i == a[0] || s->dims[i] == x->dims[i], "shapes of sources differ");
  } else if (x->op == OP_SCATTER) {
    const Node *index = node(ir, scatter_index(x));
    NEED(!a[0] || op_reduces(a[0]), "cannot join by this op");
    NEED(same_shape(x, s) && same_shape(index, node(ir, scatter_updates(x))) && index->rank == x->rank, "wrong shape");
    NEED(a[1] >= 0 && a[1] < x->rank, "no such axis");
    for (int i = 0; i < x->rank; i++) NEED(i == a[1] || index->dims[i] == x->dims[i], "shapes of sources differ");
  } else { /* walk */
    const char *wrong = g_walk_refuses(ir, x->src, a[0]);
    if (wrong) verify_broken(ir, r, wrong);
    const int64_t trees = node(ir, walk_start(x))->dims[0];
    NEED(x->dt == DT_I64 && x->rank == 2 && x->dims[0] == s->dims[0] && x->dims[1] == trees, "wrong shape");
  }
}

static void verify_loop(const IR *ir, Ref r, const Node *x, const Node *s) {
  const int64_t *a = x->arg;
  switch ((Op)x->op) {
  case OP_STORED: NEED(same_shape(x, s) && !s->loop, "wrong shape, or inside of a loop"); return;
  case OP_CARRIED: NEED(same_shape(x, s) && a[0] >= 0 && a[0] < GRAPH_LOOPS && a[1] >= 0, "no such loop or place"); return;
  case OP_SLICE:
    NEED(s->op == OP_STORED && x->rank + 1 == s->rank && a[1] >= 0 && a[1] < s->rank,
         "no such axis, or the source is not stored");
    for (int i = 0, k = 0; i < s->rank; i++) NEED(i == a[1] || x->dims[k++] == s->dims[i], "wrong shape");
    return;
  case OP_YIELD:
    NEED(a[1] < 0 || same_shape(x, s), "wrong shape");
    NEED(a[1] >= 0 || (x->rank == s->rank + 1 && a[2] >= 0 && a[2] < x->rank), "no such axis");
    for (int i = 0, k = 0; i < x->rank && a[1] < 0; i++) NEED(i == a[2] || s->dims[k++] == x->dims[i], "wrong shape");
    return;
  case OP_ITERATE: {
    const char *wrong = g_iterate_refuses(ir, r);
    if (wrong) verify_broken(ir, r, wrong);
    return;
  }
  case OP_RESULT: {
    const Node *y = s->op == OP_ITERATE && a[0] >= 0 && a[0] < s->nsrc ? node(ir, s->src[a[0]]) : NULL;
    NEED(y && y->dt == x->dt && same_shape(x, y), "no such yield, or another shape");
    return;
  }
  default: verify_broken(ir, r, "not an op of loops");
  }
}

static void verify_branch(const IR *ir, Ref r, const Node *x, const Node *s) {
  const int64_t *a = x->arg;
  if (x->op == OP_ARM) {
    NEED(same_shape(x, s) && a[0] >= 0 && a[1] >= 0, "wrong shape, or no such branch or place");
  } else if (x->op == OP_BRANCH) {
    const char *wrong = g_branch_refuses(ir, r);
    if (wrong) verify_broken(ir, r, wrong);
  } else { /* chosen */
    const Node *y = s->op == OP_BRANCH && a[0] >= 0 && a[0] < branch_results(s) ? node(ir, branch_arm(s, (int)a[0] + 1)) : NULL;
    NEED(y && y->dt == x->dt && same_shape(x, y), "no such result, or another shape");
  }
}

static void verify_reduce(const IR *ir, Ref r, const Node *x, const Node *s) {
  const int64_t op = x->arg[0], axes = x->arg[1];
  NEED(op_reduces(op), "cannot reduce by this op");
  NEED(x->rank == s->rank && axes >= 0 && !(axes >> x->rank), "no such axis");
  for (int i = 0; i < x->rank; i++) NEED(x->dims[i] == (axes >> i & 1 ? 1 : s->dims[i]), "wrong shape");
}

void ir_verify_graph_node(const Graph *g, Ref r) {
  const IR *ir = g->ir;
  const Node *x = node(ir, r), *s = node(ir, x->nsrc ? x->src[0] : 0);
  verify_node(ir, r);
  NEED(op_info[x->op].level <= L_GRAPH, "not an op of graphs");
  NEED(x->lanes == 1, "lanes in a graph");
  for (int i = 0; i < x->rank; i++) NEED(x->dims[i] >= 0, "a negative extent");
  if (op_info[x->op].level == L_EXPR) {
    for (int i = 0; i < x->nsrc; i++) NEED(same_shape(x, node(ir, x->src[i])), "shapes of sources differ");
    return;
  }
  switch ((Op)x->op) {
  case OP_CONST: case OP_SIZE: case OP_PARAM: case OP_WEIGHT: case OP_IOTA: verify_leaf(g, r, x); break;
  case OP_GATHER: case OP_SCATTER: case OP_WALK: verify_indexed(ir, r, x, s); break;
  case OP_STORED: case OP_CARRIED: case OP_SLICE: case OP_YIELD: case OP_ITERATE: case OP_RESULT: verify_loop(ir, r, x, s); break;
  case OP_ARM: case OP_BRANCH: case OP_CHOSEN: verify_branch(ir, r, x, s); break;
  case OP_REDUCE: verify_reduce(ir, r, x, s); break;
  default: verify_movement(ir, r, x, s); break;
  }
}

static void verify_io(const IR *ir, const GIO *io) {
  Ref r = io->ref;
  CHECK(r && r < ir->n);
  const Node *x = node(ir, r);
  NEED((DType)x->dt == io->dt && x->rank == io->rank, "another type or rank than its input or output");
  for (int i = 0; i < x->rank; i++) NEED(x->dims[i] == io->dims[i], "another shape than its input or output");
}

void ir_verify_graph(const Graph *g) {
  Refs all = { 0 }, roots = { 0 };
  for (size_t i = 0; i < g->inputs.n; i++) {
    Ref r = g->inputs.p[i].ref;
    const IR *ir = g->ir;
    verify_io(ir, &g->inputs.p[i]);
    NEED(node(ir, r)->op == OP_PARAM && node(ir, r)->arg[0] == (int64_t)i, "not the parameter of its slot");
  }
  for (size_t i = 0; i < g->outputs.n; i++) {
    verify_io(g->ir, &g->outputs.p[i]);
    VEC_PUSH(&roots, g->outputs.p[i].ref);
  }
  ir_toposort(g->ir, roots.p, roots.n, &all);
  for (size_t i = 0; i < all.n; i++) ir_verify_graph_node(g, all.p[i]);
  VEC_FREE(&all);
  VEC_FREE(&roots);
}

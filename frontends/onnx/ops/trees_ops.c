/* SPDX-License-Identifier: MIT */
/* trees_ops.c: TreeEnsemble, TreeEnsembleRegressor, TreeEnsembleClassifier of ai.onnx.ml. Each row walks through each tree by the
 * op WALK: a step moves its position from a node to one of the two children. Leaves lead to themselves. So after as many steps
 * as the deepest tree has, every position is a leaf. Its weights are summed over the trees. Trees of similar depth form a class,
 * which takes only as many steps as its own deepest tree. The old forms name nodes by tree and number, the new one by index. */
#include "../core/build.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { CLASSES_MOST = 8 }; /* most classes of trees by depth */
enum { PLAIN, PLAIN_TRUE, MINUS, MINUS_TRUE, SIDES }; /* a column, or its negative; TRUE: with -inf in place of NaN */
enum { LEQ, LT, GTE, GT, EQ, NEQ, MEMBER, LEAF, MODES };

typedef struct Trees {
  int64_t n, ntrees, targets;
  int64_t *root;        /* by tree: index of its root */
  int32_t *depth;       /* by tree: steps to its farthest leaf */
  int classes;          /* classes of trees by depth, which are walked together */
  int32_t class_depth[CLASSES_MOST]; /* by class: the greatest depth */
  int32_t *feature;     /* by node: the column that it compares, */
  double *split;        /* with this value, */
  int *mode;            /* by this comparison; LEAF: no children. After only_leq() it is LEQ or LEAF, */
  uint8_t *side;        /* and this is the form of the column that it compares */
  bool *missing;        /* NaN counts as true */
  int32_t *child;       /* two per node: child if false, child if true */
  double *weight;       /* [n, targets]; entries that are not given hold absent_of(how) */
  double absent;
} Trees;

/* Attribute `name`, which has n entries if it is given; without it, zeros */
static const int64_t *ints_of(Build *b, const char *name, int64_t n) {
  int have;
  const int64_t *v = attr_ints(b, name, &have);
  if (v && have != n) bad(b, "attribute '%s' has %d entries, expected %lld", name, have, (long long)n);
  return v ? v : ARENA_NEW(&b->c->model, int64_t, n + 1);
}

/* The same for floats, from attribute `name` or from a tensor, which may have doubles. *n < 0: any number */
static const double *floats_of(Build *b, const char *name, const char *tensor, int64_t *n) {
  const AttrVal *f = name ? attr_find(b, name) : NULL, *t = tensor ? attr_find(b, tensor) : NULL;
  int64_t have = t && t->set ? t->tensor->elems : f && f->set ? (int64_t)f->n : 0;
  if (*n >= 0 && have != *n)
    bad(b, "attribute '%s' has %lld entries, expected %lld", name ? name : tensor, (long long)have, (long long)*n);
  double *v = ARENA_NEW(&b->c->model, double, have + 1);
  for (int64_t i = 0; i < have; i++) v[i] = t && t->set ? tensor_float(t->tensor, i) : (double)f->floats[i];
  *n = have;
  return v;
}

static void allocate(Build *b, Trees *t) {
  Arena *a = &b->c->model;
  if (!t->n || t->n > 1 << 28 || t->targets < 1 || t->targets > MAX_ELEMS / t->n / 16)
    bad(b, "%lld nodes and %lld targets are too few or too many", (long long)t->n, (long long)t->targets);
  t->feature = ARENA_NEW(a, int32_t, t->n);
  t->split = ARENA_NEW(a, double, t->n);
  t->mode = ARENA_NEW(a, int, t->n);
  t->missing = ARENA_NEW(a, bool, t->n);
  t->child = ARENA_NEW(a, int32_t, 2 * t->n);
  t->weight = ARENA_NEW(a, double, t->n *t->targets);
  for (int64_t i = 0; i < t->n * t->targets; i++) t->weight[i] = t->absent;
  for (int64_t i = 0; i < t->n; i++) {
    t->mode[i] = LEAF;
    t->child[2 * i] = t->child[2 * i + 1] = (int32_t)i;
  }
}

static void add_weight(Build *b, Trees *t, int64_t node_at, int64_t target, double w) {
  if (target < 0 || target >= t->targets)
    bad(b, "a leaf has a weight for target %lld, but there are %lld targets", (long long)target, (long long)t->targets);
  double *to = &t->weight[node_at * t->targets + target];
  *to = *to == t->absent ? w : *to + w;
}

/* Divides the trees into classes by depth, by dynamic programming. Each tree takes as many steps as the deepest of its class.
 * Each class has a loop of its own. */
static void classify(Build *b, Trees *t) {
  enum { LOOP = 50, DEEP = 512 }; /* LOOP: steps that take as long as the start of another loop. Deeper trees are one class */
  int32_t deepest = 0;
  for (int64_t i = 0; i < t->ntrees; i++) deepest = t->depth[i] > deepest ? t->depth[i] : deepest;
  if (deepest > DEEP) {
    t->classes = 1;
    t->class_depth[0] = deepest;
    return;
  }
  int64_t *below = ARENA_NEW(&b->c->model, int64_t, deepest + 2); /* trees of less than this depth */
  typedef struct Best { int64_t steps; int32_t from; } Best;    /* the last class begins at depth `from` */
  Best *best = ARENA_NEW(&b->c->model, Best, (size_t)(deepest + 2) * (CLASSES_MOST + 1));
  for (int64_t i = 0; i < t->ntrees; i++) below[t->depth[i] + 1]++;
  for (int32_t d = 0; d <= deepest; d++) below[d + 1] += below[d];
#define BEST(k, d) best[(k) * (deepest + 2) + (d)]
  for (int32_t d = 1; d <= deepest + 1; d++) BEST(0, d).steps = INT64_MAX / 2;
  for (int k = 1; k <= CLASSES_MOST; k++)
    for (int32_t d = 0; d <= deepest + 1; d++) {
      BEST(k, d) = BEST(k - 1, d);
      BEST(k, d).from = -1;                                      /* no further class */
      for (int32_t from = 0; from < d; from++) {
        const int64_t steps = BEST(k - 1, from).steps + (below[d] - below[from]) * (d - 1) + LOOP;
        if (below[d] > below[from] && steps < BEST(k, d).steps) BEST(k, d) = (Best){ steps, from };
      }
    }
  t->classes = 0;
  for (int32_t k = CLASSES_MOST, d = deepest + 1; k && d; k--)
    if (BEST(k, d).from >= 0) {
      t->class_depth[t->classes++] = d - 1;
      d = BEST(k, d).from;
    }
  for (int k = 0; k < t->classes / 2; k++) {
    const int32_t swap = t->class_depth[k];
    t->class_depth[k] = t->class_depth[t->classes - 1 - k];
    t->class_depth[t->classes - 1 - k] = swap;
  }
#undef BEST
}

/* Writes all comparisons as x <= split, which is false for NaN, of columns in several forms. A greater-than is the opposite, so
 * its children are swapped. An equality is two comparisons, one behind the other. */
static void only_leq(Build *b, Trees *t) {
  Arena *a = &b->c->model;
  int64_t n = t->n;
  for (int64_t i = 0; i < t->n; i++) {
    if (t->mode[i] != LEAF && t->mode[i] != NEQ && isnan(t->split[i])) t->mode[i] = EQ; /* nothing else, or only NaN, is true */
    n += t->mode[i] == EQ || t->mode[i] == NEQ;
  }
  if (n > 1 << 28) bad(b, "%lld nodes are too many", (long long)n);
#define GROWN(field, type, per) t->field = memcpy(ARENA_NEW(a, type, n * (per)), t->field, (size_t)(t->n * (per)) * sizeof(type))
  GROWN(feature, int32_t, 1);
  GROWN(split, double, 1);
  GROWN(mode, int, 1);
  GROWN(child, int32_t, 2);
  GROWN(weight, double, t->targets);
#undef GROWN
  t->side = ARENA_NEW(a, uint8_t, n);
  const int64_t from = t->n;
  for (int64_t i = 0; i < from; i++) {
    const int mode = t->mode[i];
    int32_t *child = &t->child[2 * i];
    if (mode == LEAF) continue;
    const bool swaps = mode == GT || mode == LT || mode == NEQ, missing = t->missing[i] && mode != NEQ;
    const bool yes = missing != (mode == GT || mode == LT); /* result for NaN */
    if (swaps) {
      const int32_t other = child[0];
      child[0] = child[1];
      child[1] = other;
    }
    t->mode[i] = LEQ;
    t->side[i] = (uint8_t)((mode == GTE || mode == LT ? MINUS : PLAIN) + yes);
    if (mode == GTE || mode == LT) t->split[i] = -t->split[i];
    if (mode != EQ && mode != NEQ) continue;
    const int64_t also = t->n++;
    const bool only_nan = isnan(t->split[i]) && missing; /* below: only -inf and NaN, then only inf and NaN */
    if (only_nan) t->split[i] = -INFINITY;
    t->mode[also] = LEQ;
    t->side[also] = (uint8_t)(MINUS + yes);
    t->feature[also] = t->feature[i];
    t->split[also] = only_nan ? t->split[i] : -t->split[i];
    memcpy(t->child + 2 * also, child, 2 * sizeof *child);
    child[1] = (int32_t)also;
  }
}

/* Measures the depth of each tree. Finds the roots, if the caller has none: nodes without a parent. A node is listed after all
 * its parents; nodes that remain are on a cycle. */
static void measure(Build *b, Trees *t, bool find_roots) {
  Arena *a = &b->c->model;
  only_leq(b, t);
  int32_t *parents = ARENA_NEW(a, int32_t, t->n), *height = ARENA_NEW(a, int32_t, t->n), *list = ARENA_NEW(a, int32_t, t->n);
  int64_t n = 0;
  for (int64_t i = 0; i < t->n; i++)
    for (int k = 0; k < 2 && t->mode[i] != LEAF; k++) parents[t->child[2 * i + k]]++;
  for (int64_t i = 0; i < t->n; i++)
    if (!parents[i]) list[n++] = (int32_t)i;
  if (find_roots) {
    t->ntrees = n;
    t->root = ARENA_NEW(a, int64_t, n + 1);
    for (int64_t i = 0; i < n; i++) t->root[i] = list[i];
  }
  for (int64_t i = 0; i < n; i++)
    for (int k = 0; k < 2 && t->mode[list[i]] != LEAF; k++) {
      const int32_t to = t->child[2 * list[i] + k];
      if (!--parents[to]) list[n++] = to;
    }
  if (n < t->n || !t->ntrees) bad(b, "the nodes of a tree form a cycle");
  while (n-- > 0)
    for (int k = 0; k < 2 && t->mode[list[n]] != LEAF; k++) {
      const int32_t below = height[t->child[2 * list[n] + k]] + 1;
      if (height[list[n]] < below) height[list[n]] = below;
    }
  t->depth = ARENA_NEW(a, int32_t, t->ntrees);
  for (int64_t i = 0; i < t->ntrees; i++) t->depth[i] = height[t->root[i]];
  classify(b, t);
}

/* ---- the forms that name nodes ---- */
typedef struct Name { int64_t tree, number; int32_t at; } Name;

static int name_compare(const void *x, const void *y) {
  const Name *a = x, *b = y;
  if (a->tree != b->tree) return a->tree < b->tree ? -1 : 1;
  return a->number < b->number ? -1 : a->number > b->number;
}

static int32_t named(Build *b, const Name *names, int64_t n, int64_t tree, int64_t number) {
  const Name key = { tree, number, 0 }, *hit = bsearch(&key, names, (size_t)n, sizeof key, name_compare);
  if (!hit) bad(b, "tree %lld has no node %lld", (long long)tree, (long long)number);
  return hit->at;
}

static int mode_named(Build *b, const Bytes *s) {
  static const char *const names[] = { "BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT", "BRANCH_EQ", "BRANCH_NEQ" };
  for (int m = LEQ; m <= NEQ; m++)
    if (!strcmp((const char *)s->p, names[m])) return m;
  if (strcmp((const char *)s->p, "LEAF")) bad(b, "a node's mode is '%.100s', which is unknown", (const char *)s->p);
  return LEAF;
}

/* kind: prefix of the leaf attributes, "target" or "class" */
static void read_named(Build *b, Trees *t, const char *kind) {
  const AttrVal *modes = attr_find(b, "nodes_modes");
  char attr[5][40];
  static const char *const ends[] = { "treeids", "nodeids", "ids", "weights", "weights_as_tensor" };
  for (int i = 0; i < 5; i++) snprintf(attr[i], sizeof attr[i], "%s_%s", kind, ends[i]);
  t->n = modes->set ? (int64_t)modes->n : 0;
  allocate(b, t);
  const int64_t *tree = ints_of(b, "nodes_treeids", t->n), *number = ints_of(b, "nodes_nodeids", t->n);
  const int64_t *feature = ints_of(b, "nodes_featureids", t->n), *missing = ints_of(b, "nodes_missing_value_tracks_true", t->n);
  const int64_t *child[2] = { ints_of(b, "nodes_falsenodeids", t->n), ints_of(b, "nodes_truenodeids", t->n) };
  const double *split = floats_of(b, "nodes_values", "nodes_values_as_tensor", &t->n);
  Name *names = ARENA_NEW(&b->c->model, Name, t->n);
  for (int64_t i = 0; i < t->n; i++) names[i] = (Name){ tree[i], number[i], (int32_t)i };
  qsort(names, (size_t)t->n, sizeof *names, name_compare);
  for (int64_t i = 1; i < t->n; i++)
    if (!name_compare(&names[i - 1], &names[i]))
      bad(b, "tree %lld has two nodes %lld", (long long)names[i].tree, (long long)names[i].number);
  for (int64_t i = 0; i < t->n; i++) {
    t->mode[i] = mode_named(b, &modes->strings[i]);
    t->split[i] = split[i];
    t->missing[i] = missing[i] != 0;
    if (t->mode[i] == LEAF) continue;
    t->feature[i] = (int32_t)clamp(feature[i], INT32_MIN, INT32_MAX);
    for (int k = 0; k < 2; k++) t->child[2 * i + k] = named(b, names, t->n, tree[i], child[k][i]);
  }
  int leaves;
  attr_ints(b, attr[2], &leaves);
  int64_t n = leaves;
  const int64_t *of_tree = ints_of(b, attr[0], n), *of_node = ints_of(b, attr[1], n), *target = ints_of(b, attr[2], n);
  const double *weight = floats_of(b, attr[3], attr[4], &n);
  for (int64_t i = 0; i < n; i++) add_weight(b, t, named(b, names, t->n, of_tree[i], of_node[i]), target[i], weight[i]);
  measure(b, t, true);
}

/* ---- the form with node indices ---- */
/* A test for a set of values becomes a chain of comparisons with one value each, behind all other nodes. sets: the values, with
 * a NaN after each set */
static void spell_sets(Trees *t, const double *sets, int64_t nsets, int64_t from, int64_t room) {
  int64_t at = 0, next = room;
  for (int64_t i = 0; i < from; i++) {
    if (t->mode[i] != MEMBER) continue;
    int64_t no = t->child[2 * i], link = i;
    bool first = true;
    for (; at < nsets && !isnan(sets[at]); at++, first = false) {
      if (!first) {
        t->child[2 * link] = (int32_t)next;
        t->feature[next] = t->feature[i];
        t->missing[next] = t->missing[i];
        t->child[2 * next + 1] = t->child[2 * i + 1];
        link = next++;
      }
      t->mode[link] = EQ;
      t->split[link] = sets[at];
    }
    if (first) { /* an empty set: compares with NaN, which equals nothing */
      t->mode[i] = EQ;
      t->split[i] = NAN;
    }
    t->child[2 * link] = (int32_t)no;
    at++;
  }
}

static int32_t place(Build *b, int64_t at, bool leaf, int64_t nodes, int64_t leaves) {
  if (at < 0 || at >= (leaf ? leaves : nodes)) bad(b, "the trees have no %s %lld", leaf ? "leaf" : "node", (long long)at);
  return (int32_t)(leaf ? nodes + at : at);
}

/* nodes first, then leaves, then the links of chains */
static void read_placed(Build *b, Trees *t) {
  int nodes, leaves, roots;
  int64_t n = -1, nsets = -1;
  attr_ints(b, "nodes_featureids", &nodes);
  attr_ints(b, "leaf_targetids", &leaves);
  const double *sets = floats_of(b, NULL, "membership_values", &nsets);
  t->n = nodes + leaves + nsets;
  if (!nodes || !leaves) bad(b, "there are no nodes, or no leaves");
  allocate(b, t);
  const int64_t *feature = ints_of(b, "nodes_featureids", nodes), *missing = ints_of(b, "nodes_missing_value_tracks_true", nodes);
  const int64_t *child[2] = { ints_of(b, "nodes_falsenodeids", nodes), ints_of(b, "nodes_truenodeids", nodes) };
  const int64_t *is_leaf[2] = { ints_of(b, "nodes_falseleafs", nodes), ints_of(b, "nodes_trueleafs", nodes) };
  const int64_t *target = ints_of(b, "leaf_targetids", leaves), *root = attr_ints(b, "tree_roots", &roots);
  n = nodes;
  const double *modes = floats_of(b, NULL, "nodes_modes", &n), *split = floats_of(b, NULL, "nodes_splits", &n);
  n = leaves;
  const double *weight = floats_of(b, NULL, "leaf_weights", &n);
  for (int i = 0; i < nodes; i++) {
    if (!(modes[i] >= LEQ && modes[i] <= MEMBER)) bad(b, "the mode of node %d is %g, which is unknown", i, modes[i]);
    t->mode[i] = (int)modes[i];
    t->split[i] = split[i];
    t->missing[i] = missing[i] != 0;
    t->feature[i] = (int32_t)clamp(feature[i], INT32_MIN, INT32_MAX);
    for (int k = 0; k < 2; k++) t->child[2 * i + k] = place(b, child[k][i], is_leaf[k][i] != 0, nodes, leaves);
  }
  for (int i = 0; i < leaves; i++) add_weight(b, t, nodes + i, target[i], weight[i]);
  spell_sets(t, sets, nsets, nodes, nodes + leaves);
  t->ntrees = roots;
  t->root = ARENA_NEW(&b->c->model, int64_t, roots + 1);
  for (int i = 0; i < roots; i++) t->root[i] = place(b, root[i], false, nodes, leaves);
  measure(b, t, false);
}

/* ---- walking ---- */
typedef struct Columns { Ref data; int32_t first[SIDES]; } Columns; /* first: by form, the first of its columns */

typedef struct Walk {        /* trees that are walked together */
  int64_t trees, steps, records;
  int32_t *root;             /* by tree: its first record */
  int32_t *node, *next;      /* by record: its node; the first of two records for the node's children, or itself for a leaf */
} Walk;

/* Places the pairs of children of `from` and of nodes below it, level by level, until they fill a cache line of a table. -> how
 * many nodes are left in `rest`, whose children come later */
static int64_t fill_line(const Trees *t, Walk *w, int32_t *pair, int32_t from, int32_t *rest) {
  enum { PAIRS = 8 }; /* they take 64 bytes of a table with four bytes an entry */
  int32_t *const line = rest; /* its first nodes get their pairs */
  int64_t n = 1;
  int placed = 0;
  line[0] = from;
  for (; placed < n && placed < PAIRS; placed++) {
    const int32_t here = line[placed];
    if (pair[here]) continue;
    pair[here] = (int32_t)w->records;
    for (int k = 0; k < 2; k++) {
      const int32_t child = w->node[w->records++] = t->child[2 * here + k];
      if (t->mode[child] != LEAF) line[n++] = child;
    }
  }
  memmove(rest, rest + placed, (size_t)(n - placed) * sizeof *rest);
  return n - placed;
}

/* The records of trees of[0 .. n - 1]. The records of two siblings lie side by side, so one number leads to both. Nodes near each
 * other in a tree share cache lines. A node with several parents has a record for each. */
static Walk lay_out(Build *b, const Trees *t, const int32_t *of, int64_t n, int64_t steps) {
  Arena *a = &b->c->model;
  Walk w = { .trees = n, .steps = steps, .root = ARENA_NEW(a, int32_t, n), .node = ARENA_NEW(a, int32_t, 2 * t->n + 2 * n) };
  int32_t *pair = ARENA_NEW(a, int32_t, t->n), *open = ARENA_NEW(a, int32_t, 2 * t->n + 32);
  w.next = ARENA_NEW(a, int32_t, 2 * t->n + 2 * n);
  for (int64_t i = 0; i < n; i++) w.node[w.root[i] = (int32_t)w.records++] = (int32_t)t->root[of[i]];
  for (int64_t i = 0; i < n; i++) {
    int64_t left = 0;
    if (t->mode[t->root[of[i]]] != LEAF) open[left++] = (int32_t)t->root[of[i]];
    while (left) {
      left--;
      left += fill_line(t, &w, pair, open[left], open + left);
    }
  }
  for (int64_t at = 0; at < w.records; at++) w.next[at] = t->mode[w.node[at]] == LEAF ? (int32_t)at : pair[w.node[at]];
  return w;
}

/* Weights of the leaves that rows of the data reach: [rows, trees, targets] */
static Ref walk(Build *b, const Trees *t, const Walk *w, const Columns *c) {
  IR *ir = b->ir;
  Arena *a = &b->c->model;
  const DType d = (DType)node(ir, c->data)->dt;
  const int64_t n = w->records + 1; /* a step from the last leaf, which is not taken, must exist */
  const bool few = node(ir, c->data)->dims[1] <= UINT8_MAX;
  int32_t *feature = ARENA_NEW(a, int32_t, n);
  uint8_t *narrow = ARENA_NEW(a, uint8_t, n);
  double *split = ARENA_NEW(a, double, n), *weight = ARENA_NEW(a, double, n * t->targets);
  for (int64_t i = 0; i < w->records; i++) {
    const int32_t from = w->node[i];
    const bool leaf = t->mode[from] == LEAF;
    feature[i] = leaf ? 0 : c->first[t->side[from]] + t->feature[from];
    narrow[i] = (uint8_t)feature[i];
    split[i] = leaf ? NAN : t->split[from]; /* never reached, so a leaf leads to itself */
    memcpy(weight + i * t->targets, t->weight + from * t->targets, (size_t)t->targets * sizeof *weight);
  }
  const Ref src[5] = { c->data, few ? tensor_ref(b, DT_U8, 1, &n, narrow) : tensor_ref(b, DT_I32, 1, &n, feature),
                       floats_ref(b, d, 1, &n, split), tensor_ref(b, DT_I32, 1, &n, w->next),
                       tensor_ref(b, DT_I32, 1, &w->trees, w->root) };
  const Ref at = g_walk(ir, src, w->steps);
  const Node *p = node(ir, at);
  return g_gather(ir, floats_ref(b, d, 3, (int64_t[]){ 1, n, t->targets }, weight),
                  g_reshape(ir, at, 3, (int64_t[]){ p->dims[0], p->dims[1], 1 }), 1);
}

/* The rows, in the type of comparisons and sums */
static Ref rows_of(Build *b) { return g_cast(b->ir, feature_rows(b, b->in[0]), in_dt(b, 0) == DT_F64 ? DT_F64 : DT_F32); }

/* The columns in all forms that trees compare, side by side; one column of zeros if they compare none. */
static Columns columns_of(Build *b, const Trees *t, Ref x) {
  IR *ir = b->ir;
  const int64_t columns = node(ir, x)->dims[1];
  bool used[SIDES] = { 0 };
  Columns c = { 0 };
  Ref form[SIDES];
  int n = 0;
  for (int64_t i = 0; i < t->n; i++) used[t->side[i]] |= t->mode[i] != LEAF;
  for (int k = 0; k < SIDES; k++) {
    if (!used[k]) continue;
    c.first[k] = (int32_t)(n * columns);
    form[n] = k < MINUS ? x : g_unary(ir, OP_NEG, x);
    if (k == PLAIN_TRUE || k == MINUS_TRUE) form[n] = g_where(ir, g_binary(ir, OP_CMPNE, x, x), num(b, x, -INFINITY), form[n]);
    n++;
  }
  c.data = n ? g_cat(ir, n, form, 1) : g_expand(ir, num(b, x, 0), 2, (int64_t[]){ node(ir, x)->dims[0], 1 });
  return c;
}

/* Result of the trees for each target, [rows, targets]. how: ADD, MAX, MIN, or DIV for the mean */
static Ref together(Build *b, const Trees *t, Ref x, Op how) {
  IR *ir = b->ir;
  const int64_t columns = node(ir, x)->dims[1];
  const Op op = how == OP_DIV ? OP_ADD : how;
  int32_t *of = ARENA_NEW(&b->c->model, int32_t, t->ntrees);
  Ref r = 0;
  for (int64_t i = 0; i < t->n; i++)
    if (t->mode[i] != LEAF && (t->feature[i] < 0 || t->feature[i] >= columns))
      bad(b, "node %lld of the trees compares column %lld, but the input has %lld columns", (long long)i,
          (long long)t->feature[i], (long long)columns);
  const Columns c = columns_of(b, t, x);
  for (int k = 0; k < t->classes; k++) {
    int64_t n = 0;
    const int64_t least = k ? t->class_depth[k - 1] + 1 : 0, most = t->class_depth[k];
    for (int64_t i = 0; i < t->ntrees; i++)
      if (t->depth[i] >= least && t->depth[i] <= most) of[n++] = (int32_t)i;
    const Walk w = lay_out(b, t, of, n, most);
    const Ref part = without_axes(ir, g_reduce(ir, op, walk(b, t, &w, &c), 2), 2);
    r = r ? g_binary(ir, op, r, part) : part;
  }
  if (how == OP_DIV) r = g_binary(ir, OP_DIV, r, num(b, r, (double)t->ntrees));
  if (t->absent) r = g_where(ir, g_binary(ir, OP_CMPEQ, r, num(b, r, t->absent)), num(b, r, 0), r);
  return r;
}

static double absent_of(Op how) { return how == OP_MAX ? -INFINITY : how == OP_MIN ? INFINITY : 0; }

static Ref add_base(Build *b, Ref scores, int64_t *n) {
  *n = -1;
  const double *base = floats_of(b, "base_values", "base_values_as_tensor", n);
  if (!*n) return scores;
  return add(b, scores, to_shape(b, floats_ref(b, (DType)node(b->ir, scores)->dt, 1, n, base), 2, node(b->ir, scores)->dims));
}

void op_tree_regressor(Build *b) {
  Op how = attr_is(b, "aggregate_function", "SUM") ? OP_ADD : attr_is(b, "aggregate_function", "AVERAGE") ? OP_DIV
         : attr_is(b, "aggregate_function", "MIN") ? OP_MIN : OP_MAX;
  Trees t = { .targets = 1, .absent = absent_of(how) };
  int n;
  const int64_t *target = attr_ints(b, "target_ids", &n);
  for (int i = 0; i < n; i++) t.targets = target[i] >= t.targets ? target[i] + 1 : t.targets;
  if (attr_set(b, "n_targets")) t.targets = attr_int(b, "n_targets");
  read_named(b, &t, "target");
  int64_t nbase;
  Ref r = add_base(b, together(b, &t, rows_of(b), how), &nbase);
  b->out[0] = g_cast(b->ir, transformed(b, r, attr_find(b, "post_transform")->s), DT_F32);
}

void op_tree_ensemble(Build *b) {
  static const Op functions[] = { OP_DIV, OP_ADD, OP_MIN, OP_MAX };
  static const char *const transforms[] = { "NONE", "SOFTMAX", "LOGISTIC", "SOFTMAX_ZERO" };
  int64_t how = attr_int(b, "aggregate_function"), after = attr_int(b, "post_transform");
  if (how < 0 || how > 3) bad(b, "attribute 'aggregate_function' is %lld, expected 0 to 3", (long long)how);
  if (after < 0 || after > 3) bad(b, "attribute 'post_transform' is %lld, which is not supported", (long long)after);
  Trees t = { .targets = attr_set(b, "n_targets") ? attr_int(b, "n_targets") : 1, .absent = absent_of(functions[how]) };
  read_placed(b, &t);
  b->out[0] = g_cast(b->ir, transformed(b, together(b, &t, rows_of(b), functions[how]), transforms[after]), in_dt(b, 0));
}

/* Two classes with weights for one only: their sum s is the score of the second. If no weight is negative, s is a probability,
 * and the first class gets 1 - s. Otherwise both get s, with opposite signs. */
static void two_classes(Build *b, const Trees *t, Ref s, bool first) {
  IR *ir = b->ir;
  bool positive = true, logistic = attr_is(b, "post_transform", "LOGISTIC");
  for (int64_t i = 0; i < t->n * t->targets; i++) positive &= !(t->weight[i] < 0);
  Ref other = !first                  ? g_expand(ir, num(b, s, 0), 2, node(ir, s)->dims)
              : positive && !logistic ? g_binary(ir, OP_SUB, num(b, s, 1), s)
                                      : g_unary(ir, OP_NEG, s);
  Ref both = g_cat(ir, 2, (Ref[]){ other, s }, 1);
  if (!first || logistic) both = transformed(b, both, attr_find(b, "post_transform")->s);
  b->out[1] = g_cast(ir, both, DT_F32);
  b->out[0] = class_labels(b, "classlabels_int64s", g_cast(ir, g_binary(ir, OP_CMPLT, num(b, s, positive ? 0.5 : 0), s), DT_I64));
}

void op_tree_classifier(Build *b) {
  int n;
  int64_t nbase, least = INT64_MAX, most = 0;
  const int64_t *ids = attr_ints(b, "class_ids", &n);
  for (int i = 0; i < n; i++) {
    least = ids[i] < least ? ids[i] : least;
    most = ids[i] > most ? ids[i] : most;
  }
  Trees t = { .targets = class_count(b, "classlabels_int64s") };
  read_named(b, &t, "class");
  Ref scores = together(b, &t, rows_of(b), OP_ADD);
  if (t.targets == 2 && least == most) {
    Ref s = add_base(b, shrink_axis(b->ir, scores, 1, least, 1, 1), &nbase);
    if (nbase > 1 || (nbase && least))
      bad(b, "%lld base values, but only class %lld has weights", (long long)nbase, (long long)least);
    two_classes(b, &t, s, !least);
    return;
  }
  scores = add_base(b, scores, &nbase);
  if (nbase && nbase != t.targets) bad(b, "there are %lld base values, but %lld classes", (long long)nbase, (long long)t.targets);
  b->out[0] = class_labels(b, "classlabels_int64s", best_class(b, scores));
  b->out[1] = g_cast(b->ir, transformed(b, scores, attr_find(b, "post_transform")->s), DT_F32);
}

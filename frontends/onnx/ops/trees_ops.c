/* trees_ops.c: TreeEnsemble, TreeEnsembleRegressor, TreeEnsembleClassifier of ai.onnx.ml. All trees of all rows are walked at
 * once. Each row and tree has a position, which starts at the tree's root. A step moves it to one of the node's two children,
 * by tables of the comparisons. Leaves lead to themselves. So after as many steps as the deepest tree has, every position is a
 * leaf; its weights are summed over the trees. The old forms name nodes by tree and number, the new one by index. */
#include "../core/build.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LEQ, LT, GTE, GT, EQ, NEQ, MEMBER, LEAF, MODES };

typedef struct Trees {
  int64_t n, ntrees, targets, steps;
  int64_t *root;        /* by tree: index of its root */
  int32_t *feature;     /* by node: the column that it compares, */
  double *split;        /* with this value, */
  int *mode;            /* by this comparison; LEAF: no children */
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

/* Measures the depth from the roots. Finds the roots, if the caller has none: nodes without a parent. A node is counted after
 * all its parents; nodes that remain are on a cycle. */
static void measure(Build *b, Trees *t, bool find_roots) {
  Arena *a = &b->c->model;
  int32_t *parents = ARENA_NEW(a, int32_t, t->n), *level = ARENA_NEW(a, int32_t, t->n), *list = ARENA_NEW(a, int32_t, t->n);
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
  for (int64_t i = 0; i < n; i++) {
    int32_t at = list[i];
    for (int k = 0; k < 2 && t->mode[at] != LEAF; k++) {
      int32_t to = t->child[2 * at + k];
      if (level[to] < level[at] + 1) level[to] = level[at] + 1;
      if (level[to] > t->steps) t->steps = level[to];
      if (!--parents[to]) list[n++] = to;
    }
  }
  if (n < t->n || !t->ntrees) bad(b, "the nodes of a tree form a cycle");
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
  if (at < 0 || at >= (leaf ? leaves : nodes)) bad(b, "there is no %s %lld", leaf ? "leaf" : "node", (long long)at);
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
/* Entries of a table at i64[rows, trees]; the table has one or two entries per node */
static Ref entries(Build *b, Ref table, Ref at) {
  return g_gather(b->ir, g_reshape(b->ir, table, 2, (int64_t[]){ 1, node(b->ir, table)->dims[0] }), at, 1);
}

static Ref compare(IR *ir, int mode, Ref x, Ref split) {
  switch (mode) {
  case LEQ: return g_binary(ir, OP_CMPLE, x, split);
  case LT: return g_binary(ir, OP_CMPLT, x, split);
  case GTE: return g_binary(ir, OP_CMPLE, split, x);
  case GT: return g_binary(ir, OP_CMPLT, split, x);
  case EQ: return g_binary(ir, OP_CMPEQ, x, split);
  default: return g_binary(ir, OP_CMPNE, x, split);
  }
}

/* Weights of the leaves that rows of x (floats[rows, columns]) reach: [rows, trees, targets] */
static Ref walk(Build *b, const Trees *t, Ref x) {
  IR *ir = b->ir;
  const int64_t rows = node(ir, x)->dims[0], columns = node(ir, x)->dims[1];
  const DType d = (DType)node(ir, x)->dt;
  uint32_t used = 0;
  bool any_missing = false;
  for (int64_t i = 0; i < t->n; i++) {
    if (t->mode[i] == LEAF) continue;
    if (t->feature[i] < 0 || t->feature[i] >= columns)
      bad(b, "node %lld compares column %lld, but the input has %lld columns", (long long)i, (long long)t->feature[i],
          (long long)columns);
    used |= 1u << t->mode[i];
    any_missing |= t->missing[i];
  }
  Ref feature = tensor_ref(b, DT_I32, 1, &t->n, t->feature), split = floats_ref(b, d, 1, &t->n, t->split);
  Ref child = tensor_ref(b, DT_I32, 1, (int64_t[]){ 2 * t->n }, t->child), mode = tensor_ref(b, DT_I32, 1, &t->n, t->mode);
  Ref missing = tensor_ref(b, DT_BOOL, 1, &t->n, t->missing);
  Ref at = g_reshape(ir, ints_ref(b, (int)t->ntrees, t->root), 2, (int64_t[]){ 1, t->ntrees });
  spend(b, t->steps);
  for (int64_t s = 0; s < t->steps; s++) {
    spend(b, 0);
    Ref v = g_gather(ir, x, g_cast(ir, entries(b, feature, at), DT_I64), 1), limit = entries(b, split, at), yes = 0;
    for (int m = LEQ; m <= NEQ; m++) {
      if (!(used >> m & 1)) continue;
      Ref one = compare(ir, m, v, limit);
      if (used & (used - 1)) one = g_binary(ir, OP_AND, one, g_binary(ir, OP_CMPEQ, entries(b, mode, at), c_int(ir, DT_I32, m)));
      yes = yes ? g_binary(ir, OP_OR, yes, one) : one;
    }
    if (any_missing) yes = g_binary(ir, OP_OR, yes, g_binary(ir, OP_AND, entries(b, missing, at), g_binary(ir, OP_CMPNE, v, v)));
    Ref next = g_binary(ir, OP_ADD, g_binary(ir, OP_ADD, at, at), g_cast(ir, yes, DT_I64));
    at = g_cast(ir, entries(b, child, next), DT_I64);
  }
  at = g_reshape(ir, g_expand(ir, at, 2, (int64_t[]){ rows, t->ntrees }), 2, (int64_t[]){ rows * t->ntrees, 1 });
  Ref weights = g_gather(ir, floats_ref(b, d, 2, (int64_t[]){ t->n, t->targets }, t->weight), at, 0);
  return g_reshape(ir, weights, 3, (int64_t[]){ rows, t->ntrees, t->targets });
}

/* Result of the trees for each target, [rows, targets]. how: ADD, MAX, MIN, or DIV for the mean */
static Ref together(Build *b, const Trees *t, Ref x, Op how) {
  IR *ir = b->ir;
  Ref all = walk(b, t, x), r = without_axes(ir, g_reduce(ir, how == OP_DIV ? OP_ADD : how, all, 2), 2);
  if (how == OP_DIV) r = g_binary(ir, OP_DIV, r, num(b, r, (double)t->ntrees));
  if (t->absent) r = g_where(ir, g_binary(ir, OP_CMPEQ, r, num(b, r, t->absent)), num(b, r, 0), r);
  return r;
}

/* The rows, in the type of comparisons and sums */
static Ref rows_of(Build *b) { return g_cast(b->ir, feature_rows(b, b->in[0]), in_dt(b, 0) == DT_F64 ? DT_F64 : DT_F32); }

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

/* SPDX-License-Identifier: MIT */
/* learn_ops.c: the operators of ai.onnx.ml except trees. Linear models and support vectors are products with a table, and a
 * function of the sums; others prepare columns. Rows are samples. A one-dimensional input is one row. */
#include "../core/build.h"
#include <math.h>
#include <string.h>

Ref feature_rows(Build *b, Ref x) {
  const Node *n = node(b->ir, x);
  if (n->rank < 1 || n->rank > 2) bad(b, "the input has rank %d, expected 1 or 2", n->rank);
  return n->rank == 2 ? x : g_reshape(b->ir, x, 2, (int64_t[]){ 1, n->dims[0] });
}

static Ref along(Build *b, const char *op, Ref x, int64_t axis) {
  const AttrVal at = int_attr("axis", axis);
  return apply_op(b, op, 1, &x, 1, &at);
}

Ref best_class(Build *b, Ref scores) {
  return g_reshape(b->ir, along(b, "ArgMax", scores, 1), 2, (int64_t[]){ node(b->ir, scores)->dims[0], 1 });
}

/* SOFTMAX_ZERO keeps zeros: elements of a magnitude below 1e-7 are scaled, not exponentiated. */
Ref transformed(Build *b, Ref scores, const char *how) {
  IR *ir = b->ir;
  if (!strcmp(how, "LOGISTIC")) return apply_op(b, "Sigmoid", 1, &scores, 0, NULL);
  if (!strcmp(how, "SOFTMAX")) return along(b, "Softmax", scores, 1);
  if (strcmp(how, "SOFTMAX_ZERO")) return scores;
  Ref top = g_reduce(ir, OP_MAX, scores, 2), counts = g_binary(ir, OP_CMPLT, num(b, scores, 1e-7), g_unary(ir, OP_ABS, scores));
  Ref e = g_where(ir, counts, g_unary(ir, OP_EXP, g_binary(ir, OP_SUB, scores, top)), num(b, scores, 0));
  Ref small = mul(b, scores, g_unary(ir, OP_EXP, g_unary(ir, OP_NEG, top))), sum = g_reduce(ir, OP_ADD, e, 2);
  sum = g_where(ir, g_binary(ir, OP_CMPEQ, sum, num(b, sum, 0)), num(b, sum, 1), sum);
  return g_where(ir, counts, g_binary(ir, OP_DIV, e, sum), g_binary(ir, OP_DIV, small, sum));
}

/* ---- classes ---- */
int64_t class_count(Build *b, const char *ints) {
  const AttrVal *s = attr_find(b, "classlabels_strings");
  int n;
  if (!attr_ints(b, ints, &n) && !s->set) bad(b, "there are no labels of classes");
  return n ? n : (int64_t)s->n;
}

Ref class_labels(Build *b, const char *ints, Ref at) {
  int n;
  const int64_t *v = attr_ints(b, ints, &n);
  if (!n && !b->n->out[0]) return 0;
  int64_t rows = node(b->ir, at)->dims[0];
  if (!n) {
    const AttrVal *s = attr_find(b, "classlabels_strings");
    b->result_narrow = ONNX_STRING;
    return strings_taken(b, string_table(b, s->strings, (int64_t)s->n), g_reshape(b->ir, at, 1, &rows));
  }
  Ref label = g_gather(b->ir, g_reshape(b->ir, ints_ref(b, n, v), 2, (int64_t[]){ 1, n }), at, 1);
  return g_reshape(b->ir, label, 1, &rows);
}

/* ---- linear models ---- */
static Ref table(Build *b, const char *name, int rank, const int64_t *dims) {
  const AttrVal *a = attr_find(b, name);
  if (!a->set || (int64_t)a->n != dims_elems(dims, rank))
    bad(b, "attribute '%s' has %lld entries, expected %lld", name, (long long)(a->set ? a->n : 0),
        (long long)dims_elems(dims, rank));
  return tensor_ref(b, DT_F32, rank, dims, a->floats);
}

static Ref linear(Build *b, int64_t results) {
  Ref x = g_cast(b->ir, feature_rows(b, b->in[0]), DT_F32);
  Ref w = table(b, "coefficients", 2, (int64_t[]){ results, node(b->ir, x)->dims[1] });
  Ref y = matmul(b, x, g_permute(b->ir, w, (int64_t[]){ 1, 0 }));
  const AttrVal *bias = attr_find(b, "intercepts");
  return bias->set && bias->n ? add(b, y, table(b, "intercepts", 1, &results)) : y;
}

void op_linear_regressor(Build *b) {
  b->out[0] = transformed(b, linear(b, attr_int(b, "targets")), attr_find(b, "post_transform")->s);
}

/* For two classes there may be one sum, the score of the second */
void op_linear_classifier(Build *b) {
  IR *ir = b->ir;
  int64_t classes = class_count(b, "classlabels_ints"), columns = node(ir, feature_rows(b, b->in[0]))->dims[1];
  const bool one = classes == 2 && (int64_t)attr_find(b, "coefficients")->n == columns,
             logistic = attr_is(b, "post_transform", "LOGISTIC");
  Ref y = linear(b, one ? 1 : classes);
  if (one) {
    b->out[0] = class_labels(b, "classlabels_ints", g_cast(ir, g_binary(ir, OP_CMPLT, num(b, y, 0), y), DT_I64));
    Ref other = logistic ? g_unary(ir, OP_NEG, y) : g_binary(ir, OP_SUB, num(b, y, 1), y),
        both = g_cat(ir, 2, (Ref[]){ other, y }, 1);
    b->out[1] = logistic ? transformed(b, both, "LOGISTIC") : both;
    return;
  }
  b->out[0] = class_labels(b, "classlabels_ints", best_class(b, y));
  b->out[1] = transformed(b, y, attr_find(b, "post_transform")->s);
}

/* For each row and each of n vectors: their product, or the kernel function of it; [rows, n] */
static Ref kernel(Build *b, Ref x, int64_t n) {
  IR *ir = b->ir;
  const AttrVal *p = attr_find(b, "kernel_params");
  double gamma = p->set && p->n == 3 ? (double)p->floats[0] : 0, offset = p->set && p->n == 3 ? (double)p->floats[1] : 0;
  double degree = p->set && p->n == 3 ? (double)p->floats[2] : 0;
  int64_t columns = node(ir, x)->dims[1];
  Ref v = table(b, "support_vectors", 2, (int64_t[]){ n, columns });
  if (attr_is(b, "kernel_type", "RBF")) {
    Ref wide = g_reshape(ir, x, 3, (int64_t[]){ node(ir, x)->dims[0], 1, columns });
    Ref far = g_binary(ir, OP_SUB, wide, g_reshape(ir, v, 3, (int64_t[]){ 1, n, columns }));
    Ref sum = without_axes(ir, g_reduce(ir, OP_ADD, mul(b, far, far), 4), 4);
    return g_unary(ir, OP_EXP, mul(b, sum, num(b, sum, -gamma)));
  }
  Ref y = matmul(b, x, g_permute(ir, v, (int64_t[]){ 1, 0 }));
  if (attr_is(b, "kernel_type", "LINEAR")) return y;
  y = add(b, mul(b, y, num(b, y, gamma)), num(b, y, offset));
  if (attr_is(b, "kernel_type", "SIGMOID")) return g_unary(ir, OP_TANH, y);
  return apply_op(b, "Pow", 2, (Ref[]){ y, num(b, y, degree) }, 0, NULL);
}

void op_svm_regressor(Build *b) {
  IR *ir = b->ir;
  int64_t n = attr_int(b, "n_supports");
  Ref x = g_cast(ir, feature_rows(b, b->in[0]), DT_F32), k = n ? kernel(b, x, n) : x;
  Ref w = table(b, "coefficients", 2, (int64_t[]){ node(ir, k)->dims[1], 1 }), y = matmul(b, k, w);
  y = add(b, y, table(b, "rho", 1, (int64_t[]){ 1 }));
  if (attr_int(b, "one_class")) y = g_where(ir, g_binary(ir, OP_CMPLT, num(b, y, 0), y), num(b, y, 1), num(b, y, -1));
  b->out[0] = transformed(b, y, attr_find(b, "post_transform")->s);
}

/* Each pair of classes i < j has one sum. Support vectors of i take row j - 1 of the coefficients, and support vectors of j
 * take row i. */
static Ref sums_of_pairs(Build *b, Ref x, int64_t classes, const int64_t *sizes) {
  const int64_t most = MAX_ELEMS, pairs = elems_mul(b, classes, classes - 1) / 2;
  int64_t vectors = 0, from = 0, *at[2], n = 0;
  for (int64_t c = 0; c < classes; c++) {
    if (sizes[c] < 0 || sizes[c] > most - vectors)
      bad(b, "class %lld has %lld support vectors, which is out of range", (long long)c, (long long)sizes[c]);
    vectors += sizes[c];
  }
  if (vectors < 1 || pairs < 1)
    bad(b, "the model has %lld classes and %lld support vectors, expected at least 2 and 1", (long long)classes,
        (long long)vectors);
  Ref k = kernel(b, x, vectors), w = table(b, "coefficients", 2, (int64_t[]){ classes - 1, vectors });
  Ref rho = table(b, "rho", 1, &pairs);
  Ref *part = ARENA_NEW(&b->c->model, Ref, classes + 1);
  for (int64_t c = 0; c < classes; from += sizes[c++]) {
    Ref of_class = shrink_axis(b->ir, w, 1, from, 1, sizes[c]);
    part[c] = matmul(b, shrink_axis(b->ir, k, 1, from, 1, sizes[c]), g_permute(b->ir, of_class, (int64_t[]){ 1, 0 }));
  }
  Ref all = cat_all(b, classes, part, 1);
  for (int i = 0; i < 2; i++) at[i] = ARENA_NEW(&b->c->model, int64_t, pairs);
  for (int64_t i = 0; i < classes; i++)
    for (int64_t j = i + 1; j < classes; j++, n++) {
      at[0][n] = i * (classes - 1) + j - 1;
      at[1][n] = j * (classes - 1) + i;
    }
  return add(b, add(b, take(b, all, 1, at[0], n), take(b, all, 1, at[1], n)), rho);
}

/* Votes per class: a pair votes for its first class if its sum is above 0, else for its second */
static Ref votes_of(Build *b, Ref sums, int64_t classes) {
  const int64_t pairs = node(b->ir, sums)->dims[1], shape[2] = { pairs, classes };
  double *won = ARENA_NEW(&b->c->model, double, pairs * classes), *lost = ARENA_NEW(&b->c->model, double, classes);
  int64_t n = 0;
  for (int64_t i = 0; i < classes; i++)
    for (int64_t j = i + 1; j < classes; j++, n++) {
      won[n * classes + i] = 1;
      won[n * classes + j] = -1;
      lost[j]++;
    }
  Ref first = g_cast(b->ir, g_binary(b->ir, OP_CMPLT, num(b, sums, 0), sums), DT_F32);
  return add(b, matmul(b, first, floats_ref(b, DT_F32, 2, shape, won)), floats_ref(b, DT_F32, 1, &classes, lost));
}

/* Without support vectors, each class has a sum. Two compared classes have one sum; above 0 it is a vote for the first, whose
 * score is minus the sum. For a softmax that score is 1 minus the sum, and no softmax is computed. ONNX Runtime does the same. */
void op_svm_classifier(Build *b) {
  IR *ir = b->ir;
  int n;
  const int64_t classes = class_count(b, "classlabels_ints"), *sizes = attr_ints(b, "vectors_per_class", &n);
  const char *how = attr_find(b, "post_transform")->s;
  Ref x = g_cast(ir, feature_rows(b, b->in[0]), DT_F32);
  if (n && n != classes) bad(b, "attribute 'vectors_per_class' has %d entries for %lld classes", n, (long long)classes);
  if (!n) {
    Ref w = table(b, "coefficients", 2, (int64_t[]){ classes, node(ir, x)->dims[1] });
    Ref y = add(b, matmul(b, x, g_permute(ir, w, (int64_t[]){ 1, 0 })), table(b, "rho", 1, (int64_t[]){ 1 }));
    b->out[0] = class_labels(b, "classlabels_ints", best_class(b, y));
    b->out[1] = transformed(b, y, how);
    return;
  }
  Ref y = sums_of_pairs(b, x, classes, sizes);
  b->out[0] = class_labels(b, "classlabels_ints", best_class(b, votes_of(b, y, classes)));
  if (b->nout < 2 || !b->n->out[1]) return;
  if (attr_find(b, "prob_a")->set)
    bad(b, "its probabilities need iterations until they converge, which is not supported; compile up to its "
        "label with --result NAME");
  const bool softmax = !strcmp(how, "SOFTMAX") || !strcmp(how, "SOFTMAX_ZERO");
  if (classes == 2) y = g_cat(ir, 2, (Ref[]){ softmax ? sub(b, num(b, y, 1), y) : g_unary(ir, OP_NEG, y), y }, 1);
  b->out[1] = classes == 2 && softmax ? y : transformed(b, y, how);
}

/* ---- columns ---- */
/* An attribute with one value for all columns, or one per column */
static Ref per_column(Build *b, const char *name, double otherwise) {
  const AttrVal *a = attr_find(b, name);
  const Node *x = in_node(b, 0);
  int64_t n = a->set ? (int64_t)a->n : 0, columns = x->rank ? x->dims[x->rank - 1] : 1;
  if (!n) return c_float(b->ir, DT_F32, otherwise);
  if (n != 1 && n != columns) bad(b, "attribute '%s' has %lld entries for %lld columns", name, (long long)n, (long long)columns);
  return n == 1 ? c_float(b->ir, DT_F32, (double)a->floats[0]) : tensor_ref(b, DT_F32, 1, &n, a->floats);
}

void op_scaler(Build *b) {
  Ref x = g_cast(b->ir, b->in[0], DT_F32);
  b->out[0] = mul(b, g_binary(b->ir, OP_SUB, x, per_column(b, "offset", 0)), per_column(b, "scale", 1));
}

/* Rows of zeros stay zero. MAX is the greatest element, not the greatest magnitude. */
void op_normalizer(Build *b) {
  IR *ir = b->ir;
  Ref x = g_cast(ir, feature_rows(b, b->in[0]), DT_F32), by;
  if (attr_is(b, "norm", "MAX")) by = g_reduce(ir, OP_MAX, x, 2);
  else if (attr_is(b, "norm", "L1")) by = g_reduce(ir, OP_ADD, g_unary(ir, OP_ABS, x), 2);
  else by = g_unary(ir, OP_SQRT, g_reduce(ir, OP_ADD, mul(b, x, x), 2));
  by = g_where(ir, g_binary(ir, OP_CMPEQ, by, num(b, by, 0)), num(b, by, 1), by);
  b->out[0] = g_reshape(ir, g_binary(ir, OP_DIV, x, by), in_node(b, 0)->rank, in_node(b, 0)->dims);
}

void op_binarizer(Build *b) {
  Ref x = b->in[0], limit = num(b, x, attr_float(b, "threshold"));
  if (dt_int(in_dt(b, 0)))
    limit = g_unary(b->ir, OP_FLOOR, c_float(b->ir, DT_F64, attr_float(b, "threshold"))), x = g_cast(b->ir, x, DT_F64);
  b->out[0] = g_cast(b->ir, g_binary(b->ir, OP_CMPLT, limit, x), in_dt(b, 0));
}

void op_imputer(Build *b) {
  IR *ir = b->ir;
  const bool ints = dt_int(in_dt(b, 0));
  const AttrVal *a = attr_find(b, ints ? "imputed_value_int64s" : "imputed_value_floats");
  int64_t n = a->set ? (int64_t)a->n : 0, columns = in_node(b, 0)->rank ? in_node(b, 0)->dims[in_node(b, 0)->rank - 1] : 1;
  double from = attr_float(b, "replaced_value_float");
  if (n != 1 && n != columns)
    bad(b, "there are %lld imputed values, expected one, or one for each of the %lld columns", (long long)n, (long long)columns);
  Ref to = ints ? tensor_ref(b, DT_I64, 1, &n, a->ints) : tensor_ref(b, DT_F32, 1, &n, a->floats);
  if (n == 1) to = g_reshape(ir, to, 0, NULL);
  Ref x = b->in[0], hit = ints     ? g_binary(ir, OP_CMPEQ, x, c_int(ir, in_dt(b, 0), attr_int(b, "replaced_value_int64")))
                        : isnan(from) ? g_binary(ir, OP_CMPNE, x, x) : g_binary(ir, OP_CMPEQ, x, num(b, x, from));
  b->out[0] = g_where(ir, hit, g_cast(ir, to, in_dt(b, 0)), x);
}

/* Selects elements of the last axis: Gather, but a vector of data counts as a row */
void op_array_feature_extractor(Build *b) {
  IR *ir = b->ir;
  const Node *y = in_node(b, 1);
  int64_t n = dims_elems(y->dims, y->rank);
  Ref x = in_node(b, 0)->rank > 1 ? b->in[0] : feature_rows(b, b->in[0]);
  const AttrVal last = int_attr("axis", -1);
  b->out[0] = apply_op(b, "Gather", 2, (Ref[]){ x, g_reshape(ir, b->in[1], 1, &n) }, 1, &last);
}

void op_feature_vectorizer(Build *b) {
  int n;
  const int64_t *sizes = attr_ints(b, "inputdimensions", &n);
  Ref *parts = ARENA_NEW(&b->c->model, Ref, b->nin);
  for (int k = 0; k < b->nin; k++) {
    parts[k] = g_cast(b->ir, feature_rows(b, b->in[k]), DT_F32);
    const Node *x = node(b->ir, parts[k]);
    if (x->dims[0] != node(b->ir, parts[0])->dims[0])
      bad(b, "input %d has %lld rows, but input 0 has %lld", k, (long long)x->dims[0], (long long)node(b->ir, parts[0])->dims[0]);
    if (k < n && sizes[k] != x->dims[1])
      bad(b, "input %d has %lld columns, attribute 'inputdimensions' says %lld", k, (long long)x->dims[1], (long long)sizes[k]);
  }
  b->out[0] = cat_all(b, b->nin, parts, 1);
}

static const int64_t *counting(Build *b, int64_t n) { /* 0, 1, .. */
  int64_t *v = ARENA_NEW(&b->c->model, int64_t, n + 1);
  for (int64_t i = 0; i < n; i++) v[i] = i;
  return v;
}

void op_one_hot_encoder(Build *b) {
  IR *ir = b->ir;
  int n, rank = in_node(b, 0)->rank;
  const int64_t *cats = attr_ints(b, "cats_int64s", &n);
  const AttrVal *names = attr_find(b, "cats_strings");
  const bool strings = in_narrow(b, 0) == ONNX_STRING;
  if (strings ? !names->set || !names->n : !n) bad(b, "no attribute gives categories of the input's type");
  if (!attr_int(b, "zeros")) bad(b, "attribute 'zeros' is 0: ending the run at an unknown category is not supported");
  int64_t dims[MAX_RANK];
  if (strings) {
    n = (int)names->n;
    b->in[0] = string_places(b, b->in[0], string_table(b, names->strings, n));
    cats = counting(b, n);
    rank--;
  }
  for (int i = 0; i < rank; i++) dims[i] = in_node(b, 0)->dims[i];
  dims[rank] = 1;
  Ref x = g_reshape(ir, g_cast(ir, b->in[0], DT_I64), rank + 1, dims);
  dims[rank] = n;
  check_dims(b, rank + 1, dims);
  b->out[0] = g_cast(ir, g_binary(ir, OP_CMPEQ, x, ints_ref(b, n, cats)), DT_F32);
}

/* ---- LabelEncoder and CategoryMapper: keys and values, each in one of several attributes ---- */
typedef struct Labels {
  Ref r;
  int64_t n;
  bool strings;
} Labels; /* r: [n], or the table of n strings */

static Labels of_tensor(Build *b, const Tensor *t) {
  const bool strings = t->narrow == ONNX_STRING;
  const int64_t n = strings ? dims_elems(t->dims, t->rank - 1) : t->elems, dims[2] = { n, strings ? t->dims[t->rank - 1] : 0 };
  return (Labels){ g_reshape(b->ir, g_weight(b->ir, ir_tensor(b->ir, t)), 1 + strings, dims), n, strings };
}

static Labels of_strings(Build *b, const AttrVal *a) {
  return (Labels){ string_table(b, a->strings, (int64_t)a->n), (int64_t)a->n, true };
}

static Labels labels_of(Build *b, const char *what) {
  static const char *const kinds[] = { "int64s", "floats", "strings" };
  char name[40];
  snprintf(name, sizeof name, "%s_tensor", what);
  const AttrVal *t = b->row->since >= 4 ? attr_find(b, name) : NULL;
  if (t && t->set) return of_tensor(b, t->tensor);
  for (int k = 0; k < 3; k++) {
    snprintf(name, sizeof name, "%s_%s", what, kinds[k]);
    const AttrVal *a = attr_find(b, name);
    const int64_t n = a->set ? (int64_t)a->n : 0;
    if (n && k == 2) return of_strings(b, a);
    if (n) return (Labels){ k ? tensor_ref(b, DT_F32, 1, &n, a->floats) : tensor_ref(b, DT_I64, 1, &n, a->ints), n, false };
  }
  bad(b, "no attribute gives the %s", what);
}

/* For each element, the first key that equals it, where NaN equals NaN; the number of keys where none does */
static Ref key_places(Build *b, const Labels *keys, bool nan) {
  IR *ir = b->ir;
  const int64_t n = keys->n, count = dims_elems(in_node(b, 0)->dims, in_node(b, 0)->rank);
  if (keys->strings != (in_narrow(b, 0) == ONNX_STRING))
    bad(b, "the keys are %s, but the input has %s", keys->strings ? "strings" : "numbers", keys->strings ? "numbers" : "strings");
  if (keys->strings) return string_places(b, b->in[0], keys->r);
  Ref x = g_reshape(ir, b->in[0], 2, (int64_t[]){ count, 1 }),
      key = g_reshape(ir, g_cast(ir, keys->r, in_dt(b, 0)), 2, (int64_t[]){ 1, n });
  Ref hit = g_binary(ir, OP_CMPEQ, x, key);
  if (nan && dt_float(in_dt(b, 0)))
    hit = g_binary(ir, OP_OR, hit, g_binary(ir, OP_AND, g_binary(ir, OP_CMPNE, x, x), g_binary(ir, OP_CMPNE, key, key)));
  return g_reduce(ir, OP_MIN, g_where(ir, hit, iota_axis(ir, DT_I64, n, 1, 2), c_int(ir, DT_I64, n)), 2);
}

/* The value at each of the places, which get this shape; `none`, which has one entry, at places behind the last */
static Ref values_at(Build *b, const Labels *values, const Labels *none, Ref at, int rank, const int64_t *dims) {
  IR *ir = b->ir;
  const int64_t n = values->n;
  if (!values->strings) {
    at = g_reshape(ir, at, 2, (int64_t[]){ dims_elems(dims, rank), 1 });
    Ref found = g_gather(ir, g_reshape(ir, values->r, 2, (int64_t[]){ 1, n }), g_binary(ir, OP_MIN, at, c_int(ir, DT_I64, n - 1)),
                         1);
    return g_reshape(ir, g_where(ir, g_binary(ir, OP_CMPLT, at, c_int(ir, DT_I64, n)), found, none->r), rank, dims);
  }
  const int64_t wide = string_width(b, values->r), other = string_width(b, none->r);
  Ref all[2] = { strings_wide(b, values->r, other), strings_wide(b, none->r, wide) };
  b->result_narrow = ONNX_STRING;
  return strings_taken(b, g_cat(ir, 2, all, 0), g_reshape(ir, at, rank, dims));
}

static Labels default_label(Build *b, const Labels *values) {
  const AttrVal *t = b->row->since >= 4 ? attr_find(b, "default_tensor") : NULL, *s = attr_find(b, "default_string");
  const DType to = (DType)node(b->ir, values->r)->dt;
  if (values->strings && t && t->set) return of_tensor(b, t->tensor);
  if (values->strings) return (Labels){ string_table(b, &(Bytes){ (const uint8_t *)s->s, strlen(s->s) }, 1), 1, true };
  return (Labels){ t && t->set    ? c_float(b->ir, to, tensor_float(t->tensor, 0))
                   : to == DT_I64 ? c_int(b->ir, to, attr_int(b, "default_int64"))
                                  : c_float(b->ir, to, attr_float(b, "default_float")),
                   1, false };
}

static void encode(Build *b, const Labels *keys, const Labels *values, bool nan) {
  const Node *x = in_node(b, 0);
  const Labels none = default_label(b, values);
  b->out[0] = values_at(b, values, &none, key_places(b, keys, nan), x->rank - keys->strings, x->dims);
}

void op_label_encoder(Build *b) {
  const Labels keys = labels_of(b, "keys"), values = labels_of(b, "values");
  if (keys.n != values.n) bad(b, "there are %lld keys, but %lld values", (long long)keys.n, (long long)values.n);
  encode(b, &keys, &values, b->row->since >= 4);
}

/* Between strings and integers, in the direction that the input's type says. Without integers, they count from 0. */
void op_category_mapper(Build *b) {
  const AttrVal *names = attr_find(b, b->row->arg ? "classes_strings" : "cats_strings");
  int n = 0;
  const int64_t *given = b->row->arg ? NULL : attr_ints(b, "cats_int64s", &n);
  if (!names->set || !names->n || (given && n != (int)names->n))
    bad(b, "the categories are %d integers and %zu strings, expected as many of both", n, names->n);
  const int64_t *v = given ? given : counting(b, (int64_t)names->n);
  const Labels strings = of_strings(b, names), numbers = { ints_ref(b, (int)names->n, v), (int64_t)names->n, false };
  const bool from = in_narrow(b, 0) == ONNX_STRING;
  encode(b, from ? &strings : &numbers, from ? &numbers : &strings, false);
}

/* A ZipMap gives a map from labels to columns for each row; tgc gives the columns as a table. */
void op_zip_map(Build *b) {
  const Ref x = feature_rows(b, b->in[0]);
  const int64_t columns = node(b->ir, x)->dims[1], labels = class_count(b, "classlabels_int64s");
  if (labels != columns) bad(b, "there are %lld labels for %lld columns", (long long)labels, (long long)columns);
  const AttrVal *names = attr_find(b, "classlabels_strings");
  const bool strings = !attr_set(b, "classlabels_int64s");
  const char *table = b->m->values.p[b->n->out[0]].name, *keys = arena_printf(&b->c->model, "%s.keys", table);
  warn_at(b->c, b->at, "its result is a table of %lld columns in the order of the labels%s%s, not a sequence of maps",
          (long long)columns, strings ? ", which are the output " : "", strings ? keys : "");
  if (strings) {
    b->keys->p = grown(b, b->keys->p, b->keys->n, sizeof *b->keys->p);
    b->keys->p[b->keys->n++] = (Keys){ table, keys, string_table(b, names->strings, columns) };
  }
  b->out[0] = x;
}

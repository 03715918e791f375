/* SPDX-License-Identifier: MIT */
/* matmul_ops.c: MatMul, Gemm, Einsum as REDUCE(ADD, MUL(view of a, view of b)). There is no op for a matrix product. Operands
 * are views with an axis of extent 1 where they do not vary, and the product broadcasts. Sums of f16 and bf16 are accumulated
 * in f32. */
#include "../core/build.h"
#include <string.h>

/* The product has axes [.., m, k, n]; the sum runs over k. */
static Ref matmul_matrices(Build *b, Ref a, Ref w) {
  IR *ir = b->ir;
  const Node *an = node(ir, a), *wn = node(ir, w);
  int ar = an->rank, wr = wn->rank, rank = ar > wr ? ar : wr;
  int64_t ad[MAX_RANK], wd[MAX_RANK];
  for (int i = 3; i <= ar && i <= wr; i++) {
    int64_t da = an->dims[ar - i], dw = wn->dims[wr - i];
    if (da != dw && da != 1 && dw != 1)
      bad(b, "batch axes of extents %lld and %lld do not broadcast", (long long)da, (long long)dw);
  }
  if (an->dims[ar - 1] != wn->dims[wr - 2])
    bad(b, "the rows of the first matrix have %lld elements, the columns of the second %lld", (long long)an->dims[ar - 1],
        (long long)wn->dims[wr - 2]);
  memcpy(ad, an->dims, (size_t)ar * sizeof *ad);
  ad[ar] = 1;
  for (int i = 0; i < wr - 2; i++) wd[i] = wn->dims[i];
  wd[wr - 2] = 1;
  wd[wr - 1] = wn->dims[wr - 2];
  wd[wr] = wn->dims[wr - 1];
  uint32_t k = 1u << (rank - 1);
  Ref product = g_binary(ir, OP_MUL, g_reshape(ir, a, ar + 1, ad), g_reshape(ir, w, wr + 1, wd));
  return without_axes(ir, g_reduce(ir, OP_ADD, product, k), k);
}

/* Vectors get an axis of extent 1, which is dropped at the end. */
Ref matmul(Build *b, Ref a, Ref w) {
  IR *ir = b->ir;
  const Node *an = node(ir, a), *wn = node(ir, w);
  if (!an->rank || !wn->rank) bad(b, "the %s factor is a scalar, expected rank 1 or more", an->rank ? "second" : "first");
  bool row = an->rank == 1, column = wn->rank == 1;
  if (row) a = g_reshape(ir, a, 2, (int64_t[]){ 1, an->dims[0] });
  if (column) w = g_reshape(ir, w, 2, (int64_t[]){ wn->dims[0], 1 });
  Ref r = matmul_matrices(b, a, w);
  int rank = node(ir, r)->rank;
  return without_axes(ir, r, (row ? 1u << (rank - 2) : 0) | (column ? 1u << (rank - 1) : 0));
}

void op_matmul(Build *b) {
  DType acc = acc_type(in_dt(b, 0));
  b->out[0] = g_cast(b->ir, matmul(b, g_cast(b->ir, b->in[0], acc), g_cast(b->ir, b->in[1], acc)), in_dt(b, 0));
}

Ref turned(Build *b, Ref x, const char *flag) {
  int rank = node(b->ir, x)->rank;
  int64_t perm[MAX_RANK];
  if (!attr_int(b, flag) || rank < 2) return x;
  for (int i = 0; i < rank; i++) perm[i] = i < rank - 2 ? i : 2 * rank - 3 - i;
  return g_permute(b->ir, x, perm);
}

/* Moves the first axis behind the batch, as the axis of rows */
static Ref batch_turned(Build *b, Ref x, const char *flag) {
  int rank = node(b->ir, x)->rank;
  int64_t perm[MAX_RANK];
  if (!attr_int(b, flag) || rank < 3) return x;
  for (int i = 0; i < rank; i++) perm[i] = i < rank - 2 ? i + 1 : i == rank - 2 ? 0 : i;
  return g_permute(b->ir, x, perm);
}

/* com.microsoft: optionally transposed factors, and alpha */
void op_fused_matmul(Build *b) {
  IR *ir = b->ir;
  DType d = in_dt(b, 0), acc = acc_type(d);
  Ref x = turned(b, batch_turned(b, b->in[0], "transBatchA"), "transA"),
      w = turned(b, batch_turned(b, b->in[1], "transBatchB"), "transB");
  Ref r = matmul(b, g_cast(ir, x, acc), g_cast(ir, w, acc));
  double alpha = attr_float(b, "alpha");
  b->out[0] = g_cast(ir, alpha == 1 ? r : g_binary(ir, OP_MUL, r, c_float(ir, acc, alpha)), d);
}

/* alpha * a * b + beta * c */
void op_gemm(Build *b) {
  IR *ir = b->ir;
  static const char *const transposed[] = { "transA", "transB" };
  DType d = in_dt(b, 0), acc = acc_type(d);
  double alpha = attr_float(b, "alpha"), beta = attr_float(b, "beta");
  Ref m[2];
  for (int k = 0; k < 2; k++) {
    if (in_node(b, k)->rank != 2) bad(b, "input %d has rank %d, expected 2", k, in_node(b, k)->rank);
    m[k] = turned(b, g_cast(ir, b->in[k], acc), transposed[k]);
  }
  Ref r = matmul_matrices(b, m[0], m[1]);
  if (alpha != 1) r = g_binary(ir, OP_MUL, r, c_float(ir, acc, alpha));
  if (has_in(b, 2) && beta != 0) {
    Ref c = to_shape(b, g_cast(ir, b->in[2], acc), 2, node(ir, r)->dims);
    r = g_binary(ir, OP_ADD, r, beta == 1 ? c : g_binary(ir, OP_MUL, c, c_float(ir, acc, beta)));
  }
  b->out[0] = g_cast(ir, r, d);
}

/* ---- Einsum: one axis per letter. Every operand is brought to [letters...]; the product is summed over letters that the
 * result lacks. '...' stands for axes named by digits, the last one '0' ---- */
typedef struct Terms {
  char letters[64]; /* axes in the order of the product: the result's, then the summed ones */
  int n;
  int64_t extent[64];
} Terms;

static int letter_at(const Terms *t, char c) {
  const char *p = memchr(t->letters, c, (size_t)t->n);
  return p ? (int)(p - t->letters) : -1;
}

/* Spells a term of the equation with a letter per axis; returns their number. dots: axes behind '...' */
static int spell(Build *b, const char *p, size_t len, int rank, char *out) {
  int n = 0, named = 0, dots = 0;
  for (size_t i = 0; i < len; i++) named += (p[i] >= 'a' && p[i] <= 'z') || (p[i] >= 'A' && p[i] <= 'Z');
  for (size_t i = 0; i < len; i++) {
    if (p[i] == ' ') continue;
    if (p[i] == '.') {
      if (dots++ || i + 2 >= len || p[i + 1] != '.' || p[i + 2] != '.') bad(b, "the equation has a stray '.'");
      for (int k = rank - named; k > 0 && n < USER_RANK; k--) out[n++] = (char)('0' + k - 1);
      i += 2;
    } else if ((p[i] >= 'a' && p[i] <= 'z') || (p[i] >= 'A' && p[i] <= 'Z')) {
      if (n == USER_RANK) bad(b, "a term of the equation has more than %d axes", USER_RANK);
      out[n++] = p[i];
    } else {
      bad(b, "the equation has the character '%c', which is not allowed", p[i]);
    }
  }
  return n;
}

static void note_extent(Build *b, Terms *t, char c, int64_t extent) {
  int at = letter_at(t, c);
  if (at < 0) {
    at = t->n++;
    t->letters[at] = c;
    t->extent[at] = 1;
  }
  if (extent != 1 && t->extent[at] != 1 && extent != t->extent[at])
    bad(b, "axis '%c' of the equation has extents %lld and %lld", c, (long long)t->extent[at], (long long)extent);
  if (extent != 1) t->extent[at] = extent;
}

/* Replaces axes i and j (j > i) by their diagonal, at i: a gather by the own position */
static Ref take_diagonal(Build *b, Ref x, int i, int j) {
  IR *ir = b->ir;
  const Node *n = node(ir, x);
  if (n->dims[i] != n->dims[j])
    bad(b, "an axis of the equation has extents %lld and %lld", (long long)n->dims[i], (long long)n->dims[j]);
  Ref at = iota_axis(ir, DT_I64, n->dims[i], i, n->rank);
  return without_axes(ir, g_gather(ir, x, at, j), 1u << j);
}

static Ref in_order(Build *b, const Terms *t, Ref x, char *term, int n) {
  IR *ir = b->ir;
  for (int j = n - 1; j > 0; j--) {
    char *first = memchr(term, term[j], (size_t)j);
    if (!first) continue;
    x = take_diagonal(b, x, (int)(first - term), j);
    memmove(term + j, term + j + 1, (size_t)(n - j - 1));
    n--;
  }
  int64_t perm[MAX_RANK], dims[MAX_RANK];
  int at = 0;
  for (int k = 0; k < t->n; k++) {
    const char *p = memchr(term, t->letters[k], (size_t)n);
    dims[k] = p ? node(ir, x)->dims[p - term] : 1;
    if (p) perm[at++] = p - term;
  }
  return g_reshape(ir, g_permute(ir, x, perm), t->n, dims);
}

void op_einsum(Build *b) {
  IR *ir = b->ir;
  const char *eq = attr_find(b, "equation")->s, *arrow = strstr(eq, "->"), *end = arrow ? arrow : eq + strlen(eq);
  char term[USER_RANK + 1], result[USER_RANK + 1];
  Terms all = { .n = 0 }, t = { .n = 0 };
  int used[128] = { 0 }, nresult = 0, k = 0;
  const char *p = eq;
  for (k = 0; k < b->nin && p <= end; k++) {
    const char *comma = memchr(p, ',', (size_t)(end - p)), *stop = comma ? comma : end;
    int rank = in_node(b, k)->rank, n = spell(b, p, (size_t)(stop - p), rank, term);
    if (n != rank) bad(b, "term %d of the equation has %d axes, but the input has rank %d", k, n, rank);
    for (int i = 0; i < n; i++) {
      note_extent(b, &all, term[i], in_node(b, k)->dims[i]);
      used[(int)term[i]]++;
    }
    p = stop + 1;
  }
  if (k != b->nin || p <= end) bad(b, "the equation needs one term for each input; number of inputs of the node: %d", b->nin);
  int dots = 0;
  for (int c = '0'; c <= '9'; c++) dots += used[c] > 0;
  if (arrow) {
    int named = 0;
    for (const char *q = arrow + 2; *q; q++) named += *q != '.' && *q != ' ';
    nresult = spell(b, arrow + 2, strlen(arrow + 2), named + dots, result);
  } else { /* '...', then the letters that occur once, sorted */
    for (int c = dots - 1; c >= 0; c--) result[nresult++] = (char)('0' + c);
    for (int c = 'A'; c <= 'z'; c++)
      if (used[c] == 1) {
        if (nresult == USER_RANK) bad(b, "the result has more than %d axes", USER_RANK);
        result[nresult++] = (char)c;
      }
  }
  for (int i = 0; i < nresult; i++) {
    if (!used[(int)result[i]]) bad(b, "axis '%c' of the result is in no term", result[i]);
    if (letter_at(&t, result[i]) >= 0) bad(b, "axis '%c' occurs twice in the result", result[i]);
    note_extent(b, &t, result[i], all.extent[letter_at(&all, result[i])]);
  }
  for (int i = 0; i < all.n; i++) note_extent(b, &t, all.letters[i], all.extent[i]);
  if (t.n > MAX_RANK) bad(b, "the equation has %d axes, over the limit of %d", t.n, MAX_RANK);
  check_dims(b, nresult, t.extent);
  DType d = in_dt(b, 0), acc = acc_type(d);
  Ref r = 0;
  p = eq;
  for (k = 0; k < b->nin; k++) {
    const char *comma = memchr(p, ',', (size_t)(end - p)), *stop = comma ? comma : end;
    int n = spell(b, p, (size_t)(stop - p), in_node(b, k)->rank, term);
    Ref x = in_order(b, &t, g_cast(ir, b->in[k], acc), term, n);
    r = r ? g_binary(ir, OP_MUL, r, x) : x;
    p = stop + 1;
  }
  r = g_expand(ir, r, t.n, t.extent);
  uint32_t summed = ((1u << t.n) - 1) & ~((1u << nresult) - 1);
  b->out[0] = g_cast(ir, without_axes(ir, g_reduce(ir, OP_ADD, r, summed), summed), d);
}

/* Input 0, square matrices, as [count, n, n] in the accumulation type */
static Ref square_matrices(Build *b, int64_t *count, int64_t *n) {
  const Node *x = in_node(b, 0);
  if (x->rank < 2 || x->dims[x->rank - 1] != x->dims[x->rank - 2])
    bad(b, "the input must hold square matrices in its last two axes");
  *n = x->dims[x->rank - 1];
  *count = dims_elems(x->dims, x->rank - 2);
  return g_reshape(b->ir, g_cast(b->ir, b->in[0], acc_type(in_dt(b, 0))), 3, (int64_t[]){ *count, *n, *n });
}

static Ref greatest_row(Build *b, Ref sizes) {
  const AttrVal rows = int_attr("axis", 1);
  return apply_op(b, "ArgMax", 1, &sizes, 1, &rows);
}

/* Det: Gaussian elimination column by column; the pivot is the greatest entry. The determinant is the product of the pivots;
 * each exchange of rows flips its sign. */
void op_det(Build *b) {
  IR *ir = b->ir;
  const Node *x = in_node(b, 0);
  int64_t n, count;
  DType acc = acc_type(in_dt(b, 0));
  Ref m = square_matrices(b, &count, &n), det = g_expand(ir, c_float(ir, acc, 1), 3, (int64_t[]){ count, 1, 1 });
  spend(b, n);
  for (int64_t k = n; k > 0; k--) { /* m is [count, k, k] */
    spend(b, 0);
    Ref column = shrink_axis(ir, m, 2, 0, 1, 1), size = g_unary(ir, OP_ABS, column);
    Ref at = greatest_row(b, size), first = g_binary(ir, OP_CMPEQ, at, c_int(ir, DT_I64, 0));
    Ref top = g_gather(ir, m, at, 1), pivot = shrink_axis(ir, top, 2, 0, 1, 1);
    det = mul(b, det, g_where(ir, first, pivot, g_unary(ir, OP_NEG, pivot)));
    if (k == 1) break;
    Ref row = iota_axis(ir, DT_I64, k, 1, 3),
        swapped = g_where(ir, g_binary(ir, OP_CMPEQ, row, at), shrink_axis(ir, m, 1, 0, 1, 1), m);
    Ref rest = shrink_axis(ir, swapped, 1, 1, 1, k - 1), zero = c_float(ir, acc, 0);
    /* a zero pivot: the column is zero, and so is the determinant */
    Ref safe = g_where(ir, g_binary(ir, OP_CMPEQ, pivot, zero), c_float(ir, acc, 1), pivot);
    Ref factor = g_binary(ir, OP_DIV, shrink_axis(ir, rest, 2, 0, 1, 1), safe);
    m = g_binary(ir, OP_SUB, shrink_axis(ir, rest, 2, 1, 1, k - 1), mul(b, factor, shrink_axis(ir, top, 2, 1, 1, k - 1)));
  }
  b->out[0] = g_cast(ir, g_reshape(ir, det, x->rank - 2, x->dims), in_dt(b, 0));
}

/* Inverse: Gauss-Jordan elimination with the identity appended to the matrix; at the end the appended columns are the inverse.
 * The row with the greatest entry of a column is swapped into the place of that column. */
void op_inverse(Build *b) {
  IR *ir = b->ir;
  const Node *x = in_node(b, 0);
  int64_t n, count;
  DType acc = acc_type(in_dt(b, 0));
  Ref given = square_matrices(b, &count, &n);
  Ref row = iota_axis(ir, DT_I64, n, 1, 3), zero = c_float(ir, acc, 0);
  Ref identity = g_cast(ir, g_binary(ir, OP_CMPEQ, row, iota_axis(ir, DT_I64, n, 2, 3)), acc);
  Ref m = g_cat(ir, 2, (Ref[]){ given, g_expand(ir, identity, 3, (int64_t[]){ count, n, n }) }, 2);
  spend(b, n);
  for (int64_t k = 0; k < n; k++) {
    spend(b, 0);
    Ref here = c_int(ir, DT_I64, k), size = g_unary(ir, OP_ABS, shrink_axis(ir, m, 2, k, 1, 1));
    size = g_where(ir, g_binary(ir, OP_CMPLT, row, here), c_float(ir, acc, -1), size); /* rows above were pivots already */
    Ref at = greatest_row(b, size), top = g_gather(ir, m, at, 1), old = shrink_axis(ir, m, 1, k, 1, 1);
    top = g_binary(ir, OP_DIV, top, shrink_axis(ir, top, 2, k, 1, 1));
    m = g_where(ir, g_binary(ir, OP_CMPEQ, row, at), old, m);
    Ref is_top = g_binary(ir, OP_CMPEQ, row, here), factor = g_where(ir, is_top, zero, shrink_axis(ir, m, 2, k, 1, 1));
    m = g_binary(ir, OP_SUB, g_where(ir, is_top, top, m), mul(b, factor, top));
  }
  b->out[0] = g_cast(ir, g_reshape(ir, shrink_axis(ir, m, 2, n, 1, n), x->rank, x->dims), in_dt(b, 0));
}

/* Distances between rows of a and rows of w, by differences: products would cancel for close rows */
void op_cdist(Build *b) {
  IR *ir = b->ir;
  const Node *a = in_node(b, 0), *w = in_node(b, 1);
  if (a->rank != 2 || w->rank != 2 || a->dims[1] != w->dims[1])
    bad(b, "the inputs must be matrices with the same number of columns");
  int64_t n = a->dims[1];
  Ref apart = g_binary(ir, OP_SUB, g_reshape(ir, b->in[0], 3, (int64_t[]){ a->dims[0], 1, n }),
                       g_reshape(ir, b->in[1], 3, (int64_t[]){ 1, w->dims[0], n }));
  Ref sum = without_axes(ir, g_reduce(ir, OP_ADD, mul(b, apart, apart), 4u), 4u);
  b->out[0] = attr_is(b, "metric", "euclidean") ? g_unary(ir, OP_SQRT, sum) : sum;
}

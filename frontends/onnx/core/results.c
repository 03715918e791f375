/* SPDX-License-Identifier: MIT */
/* results.c: pieces of results that many builders need: checked shapes, constants, views and casts. */
#include "build.h"
#include <math.h>
#include <string.h>

void *grown(Build *b, void *p, size_t n, size_t size) {
  if (n & (n - 1)) return p;
  void *more = arena_alloc(&b->c->model, (n ? 2 * n : 1) * size);
  if (n) memcpy(more, p, n * size);
  return more;
}

void check_dims(Build *b, int rank, const int64_t *dims) {
  if (rank > USER_RANK) bad(b, "the result has rank %d, over the limit of %d", rank, USER_RANK);
  for (int i = 0; i < rank; i++)
    if (dims[i] < 0 || dims[i] > MAX_ELEMS)
      bad(b, "the result's extent %lld on axis %d is outside 0 to 2^40", (long long)dims[i], i);
  if (dims_elems(dims, rank) > MAX_ELEMS) bad(b, "the result has more than 2^40 elements");
}

int64_t elems_mul(Build *b, int64_t x, int64_t y) {
  int64_t n;
  if (!i64_mul(x, y, &n) || n > MAX_ELEMS)
    bad(b, "%lld times %lld elements are over the limit of 2^40", (long long)x, (long long)y);
  return n;
}

char *dims_text(Build *b, const int64_t *dims, int rank) {
  Sb s = { 0 };
  sb_puts(&s, "[");
  for (int i = 0; i < rank; i++) sb_printf(&s, "%s%lld", i ? "," : "", (long long)dims[i]);
  sb_puts(&s, "]");
  char *text = arena_str(&b->c->model, s.p, s.n);
  sb_free(&s);
  return text;
}

Ref to_shape(Build *b, Ref x, int rank, const int64_t *dims) {
  const Node *n = node(b->ir, x);
  bool fits = n->rank <= rank;
  for (int i = 1; fits && i <= n->rank; i++) fits = n->dims[n->rank - i] == 1 || n->dims[n->rank - i] == dims[rank - i];
  if (!fits) bad(b, "shape %s does not broadcast to %s", dims_text(b, n->dims, n->rank), dims_text(b, dims, rank));
  return g_expand(b->ir, x, rank, dims);
}

void check_broadcast(Build *b, int n, const Ref *xs) {
  int64_t dims[USER_RANK]; /* built from the last axis backwards */
  int rank = 0;
  for (int k = 0; k < n; k++) {
    const Node *x = node(b->ir, xs[k]);
    for (int i = 0; i < x->rank; i++) {
      int64_t d = x->dims[x->rank - 1 - i];
      if (i >= rank) dims[rank++] = 1;
      if (d != 1 && dims[i] != 1 && d != dims[i])
        bad(b, "shape %s of input %d does not broadcast with the inputs before it: extents %lld and %lld differ",
            dims_text(b, x->dims, x->rank), k, (long long)d, (long long)dims[i]);
      if (d != 1) dims[i] = d;
    }
  }
  check_dims(b, rank, dims);
}

Ref ints_ref(Build *b, int n, const int64_t *v) { return tensor_ref(b, DT_I64, 1, (int64_t[]){ n }, v); }

Ref type_limit(IR *ir, DType d, bool high) {
  return d == DT_BOOL ? c_int(ir, d, high) : c_float(ir, d, high ? INFINITY : -INFINITY); /* integers saturate */
}
DType acc_type(DType d) { return d == DT_F16 || d == DT_BF16 ? DT_F32 : d; }

Ref bitcast(Build *b, Ref x, DType d) {
  const Node *n = node(b->ir, x);
  return n->dt == d ? x : node_make(b->ir, OP_BITCAST, d, 1, 1, &x, 0, NULL, n->rank, n->dims);
}

Ref clamp_index(Build *b, Ref r, int64_t extent) {
  if (node(b->ir, r)->vmin < 0) r = g_binary(b->ir, OP_MAX, r, c_int(b->ir, DT_I64, 0));
  return node(b->ir, r)->vmax < extent ? r : g_binary(b->ir, OP_MIN, r, c_int(b->ir, DT_I64, extent - 1));
}

Ref cat_all(Build *b, int64_t n, Ref *xs, int axis) {
  do { /* in several rounds if there are more than a node can have sources */
    int64_t parts = 0;
    for (int64_t i = 0; i < n; i += 4096) xs[parts++] = g_cat(b->ir, (int)(n - i < 4096 ? n - i : 4096), xs + i, axis);
    n = parts;
  } while (n > 1);
  return xs[0];
}

Ref pad_axes(IR *ir, Ref x, int first, int n, const int64_t *lo, const int64_t *hi, Ref fill) {
  int64_t before[MAX_RANK] = { 0 }, after[MAX_RANK] = { 0 };
  memcpy(before + first, lo, (size_t)n * sizeof *lo);
  memcpy(after + first, hi, (size_t)n * sizeof *hi);
  return g_pad(ir, x, before, after, fill);
}

void wrong_if(Build *b, Ref flags) {
  const uint32_t all = (1u << node(b->ir, flags)->rank) - 1;
  if (!b->wrong) return;
  if (all) flags = without_axes(b->ir, g_reduce(b->ir, OP_MAX, flags, all), all);
  b->wrong->p = grown(b, b->wrong->p, b->wrong->n, sizeof flags);
  b->wrong->p[b->wrong->n++] = flags;
}

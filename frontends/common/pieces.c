/* SPDX-License-Identifier: MIT */
/* pieces.c: pieces of graphs that builders of any front end need: constants, and movement along one axis. */
#include "pieces.h"

/* ---- constants ---- */
Ref g_tensor(IR *ir, DType d, int rank, const int64_t *dims, const void *data) {
  Tensor t = { .dt = d, .rank = rank, .elems = dims_elems(dims, rank) };
  memcpy(t.dims, dims, (size_t)rank * sizeof *dims);
  t.data = arena_dup(&ir->ctx->model, data, (size_t)t.elems * (size_t)dt_bytes(d));
  return g_weight(ir, ir_tensor(ir, &t));
}

Ref g_floats(IR *ir, DType d, int rank, const int64_t *dims, const double *v) {
  int64_t n = dims_elems(dims, rank);
  char *data = ARENA_NEW(&ir->ctx->model, char, n *dt_bytes(d));
  for (int64_t i = 0; i < n; i++) {
    int64_t bits = double_to_bits(d, v[i]); /* the host is little-endian, as the file is */
    memcpy(data + i * dt_bytes(d), &bits, (size_t)dt_bytes(d));
  }
  return g_tensor(ir, d, rank, dims, data);
}

Ref iota_axis(IR *ir, DType d, int64_t n, int axis, int rank) {
  int64_t dims[MAX_RANK];
  for (int i = 0; i < rank; i++) dims[i] = i == axis ? n : 1;
  return g_reshape(ir, g_iota(ir, d, n), rank, dims);
}

/* ---- movement along an axis ---- */
Ref shrink_axis(IR *ir, Ref x, int axis, int64_t begin, int64_t step, int64_t n) {
  const Node *xn = node(ir, x);
  int64_t from[MAX_RANK] = { 0 }, steps[MAX_RANK], dims[MAX_RANK];
  for (int i = 0; i < xn->rank; i++) {
    dims[i] = i == axis ? n : xn->dims[i];
    steps[i] = i == axis ? step : 1;
  }
  from[axis] = n ? begin : 0;
  return g_shrink(ir, x, from, steps, dims);
}

Ref repeat_axis(IR *ir, Ref x, int axis, int64_t times, bool inner) {
  const Node *n = node(ir, x);
  int64_t split[MAX_RANK], merged[MAX_RANK];
  int at = axis + inner; /* index of the new axis */
  for (int i = 0; i < n->rank; i++) {
    split[i + (i >= at)] = n->dims[i];
    merged[i] = i == axis ? n->dims[i] * times : n->dims[i];
  }
  split[at] = 1;
  x = g_reshape(ir, x, n->rank + 1, split);
  split[at] = times;
  return g_reshape(ir, g_expand(ir, x, n->rank + 1, split), node(ir, x)->rank - 1, merged);
}

Ref g_take(IR *ir, Ref x, int axis, const int64_t *index, int64_t n) {
  const Node *xn = node(ir, x);
  int64_t extent = xn->dims[axis], step = n > 1 ? index[1] - index[0] : 1, times = extent ? n / extent : 0;
  bool even = true, each = times > 1 && n == extent * times, whole = each;
  for (int64_t i = 0; i < n; i++) {
    CHECK(index[i] >= 0 && index[i] < extent);
    even &= step && index[i] == index[0] + i * step;
    each = each && index[i] == i / times;
    whole = whole && index[i] == i % extent;
  }
  if (even) return shrink_axis(ir, x, axis, n ? index[0] : 0, step, n);
  if (each || whole) return repeat_axis(ir, x, axis, times, each);
  int64_t dims[MAX_RANK];
  for (int i = 0; i < xn->rank; i++) dims[i] = i == axis ? n : 1;
  return g_gather(ir, x, g_tensor(ir, DT_I64, xn->rank, dims, index), axis);
}

Ref without_axes(IR *ir, Ref x, uint32_t axes) {
  const Node *n = node(ir, x);
  int64_t dims[MAX_RANK];
  int rank = 0;
  for (int i = 0; i < n->rank; i++)
    if (!(axes >> i & 1)) dims[rank++] = n->dims[i];
  return g_reshape(ir, x, rank, dims);
}

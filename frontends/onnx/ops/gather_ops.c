/* SPDX-License-Identifier: MIT */
/* gather_ops.c: operators that select elements by an index tensor: Gather*, Scatter*, TensorScatter. Constant indices are
 * checked now and become views or constant tables. An index from data is wrapped if negative and clamped into range, so no
 * access leaves a tensor. */
#include "../core/build.h"

/* Fails if a constant index is out of range. Returns the indices as numbers from 0 on if they are constant and few enough. NULL:
 * they are not, or they may be out of range because the node may never run */
static int64_t *known_index(Build *b, Ref r, int64_t extent, int64_t *count) {
  Tensor t;
  if (!const_tensor(b, r, &t)) return NULL;
  for (int64_t i = 0; i < t.elems; i++) {
    const int64_t at = tensor_int(&t, i);
    if (at >= -extent && at < extent) continue;
    if (b->doubtful) return NULL;
    bad(b, "index %lld is out of range for an axis of extent %lld", (long long)at, (long long)extent);
  }
  if (t.elems > FOLD_ELEMS * 256) return NULL;
  int64_t *v = ARENA_NEW(&b->c->model, int64_t, t.elems + 1);
  for (int64_t i = 0; i < t.elems; i++) {
    v[i] = tensor_int(&t, i);
    if (v[i] < 0) v[i] += extent;
  }
  *count = t.elems;
  return v;
}

/* Records that an index may be outside of [-extent, extent); clamping alone would hide it. */
static void note_wrong(Build *b, Ref r, int64_t extent) {
  IR *ir = b->ir;
  const Node *n = node(ir, r);
  Tensor t;
  bool low = n->vmin < -extent, high = n->vmax >= extent;
  if (!b->wrong || !(low || high) || (!b->doubtful && const_tensor(b, r, &t))) return;
  Ref under = g_binary(ir, OP_CMPLT, r, c_int(ir, DT_I64, -extent)), over = g_binary(ir, OP_CMPLE, c_int(ir, DT_I64, extent), r);
  wrong_if(b, !low ? over : !high ? under : g_binary(ir, OP_OR, under, over));
}

static Ref in_extent(Build *b, Ref at, int64_t n) {
  return both(b, g_binary(b->ir, OP_CMPLE, integer(b, 0), at), g_binary(b->ir, OP_CMPLT, at, integer(b, n)));
}

Ref write_rows(Build *b, Ref old, Ref rows, Ref at, int axis) {
  IR *ir = b->ir;
  int64_t n = node(ir, rows)->dims[axis];
  return g_where(ir, in_extent(b, at, n), g_gather(ir, rows, clamp_index(b, at, n), axis), old);
}

size_t wrong_noted(const Build *b) { return b->wrong ? b->wrong->n : 0; }

void wrong_only_if(Build *b, size_t from, size_t to, Ref cond, bool value) {
  if (from < to && !value) cond = g_unary(b->ir, OP_NOT, cond);
  for (size_t i = from; i < to; i++) b->wrong->p[i] = g_binary(b->ir, OP_AND, b->wrong->p[i], cond);
}

/* Negative indices count from the end; g_gather clamps those out of range. Constant ones must be in range. */
Ref wrap_index(Build *b, Ref r, int64_t extent) {
  IR *ir = b->ir;
  int64_t n;
  if (!extent && dims_elems(node(ir, r)->dims, node(ir, r)->rank)) bad(b, "the indexed axis is empty");
  r = g_cast(ir, r, DT_I64);
  known_index(b, r, extent, &n);
  note_wrong(b, r, extent);
  if (node(ir, r)->vmin >= 0) return r;
  return g_where(ir, g_binary(ir, OP_CMPLT, r, c_int(ir, DT_I64, 0)), g_binary(ir, OP_ADD, r, c_int(ir, DT_I64, extent)), r);
}

void op_gather(Build *b) {
  IR *ir = b->ir;
  const Node *x = in_node(b, 0), *idx = in_node(b, 1);
  int axis = axis_of(b, attr_int(b, "axis"), x->rank), rank = x->rank - 1 + idx->rank, at = 0;
  int64_t dims[2 * USER_RANK], flat[MAX_RANK], n;
  for (int i = 0; i < axis; i++) dims[at++] = x->dims[i];
  for (int i = 0; i < idx->rank; i++) dims[at++] = idx->dims[i];
  for (int i = axis + 1; i < x->rank; i++) dims[at++] = x->dims[i];
  check_dims(b, rank, dims);
  const int64_t *known = known_index(b, b->in[1], x->dims[axis], &n);
  Ref r;
  if (known) {
    r = take(b, b->in[0], axis, known, n);
  } else {
    for (int i = 0; i < x->rank; i++) flat[i] = i == axis ? dims_elems(idx->dims, idx->rank) : 1;
    r = g_gather(ir, b->in[0], g_reshape(ir, wrap_index(b, b->in[1], x->dims[axis]), x->rank, flat), axis);
  }
  b->out[0] = g_reshape(ir, r, rank, dims);
}

void op_gather_elements(Build *b) {
  IR *ir = b->ir;
  const Node *x = in_node(b, 0), *idx = in_node(b, 1);
  if (idx->rank != x->rank) bad(b, "the indices have rank %d, but the data has rank %d", idx->rank, x->rank);
  int axis = axis_of(b, attr_int(b, "axis"), x->rank);
  int64_t extent = x->dims[axis], n;
  Ref r = b->in[0];
  for (int i = 0; i < idx->rank; i++) {
    if (i == axis) continue;
    if (idx->dims[i] > x->dims[i])
      bad(b, "the indices have extent %lld on axis %d, but the data has %lld", (long long)idx->dims[i], i, (long long)x->dims[i]);
    r = shrink_axis(ir, r, i, 0, 1, idx->dims[i]);
  }
  const int64_t *known = known_index(b, b->in[1], extent, &n);
  b->out[0] = g_gather(ir, r, known ? tensor_ref(b, DT_I64, idx->rank, idx->dims, known) : wrap_index(b, b->in[1], extent), axis);
}

/* Reverses the first lens[batch] elements of the time axis */
void op_reverse_sequence(Build *b) {
  IR *ir = b->ir;
  const Node *x = in_node(b, 0), *lens = in_node(b, 1);
  int batch = axis_of(b, attr_int(b, "batch_axis"), x->rank), time = axis_of(b, attr_int(b, "time_axis"), x->rank);
  if (batch == time) bad(b, "attributes 'batch_axis' and 'time_axis' name the same axis");
  if (lens->rank != 1 || lens->dims[0] != x->dims[batch])
    bad(b, "input 'sequence_lens' must be a vector of %lld elements, one for each sequence", (long long)x->dims[batch]);
  int64_t dims[MAX_RANK];
  for (int i = 0; i < x->rank; i++) dims[i] = i == batch ? x->dims[batch] : 1;
  Ref len = g_reshape(ir, g_cast(ir, b->in[1], DT_I64), x->rank, dims), t = iota_axis(ir, DT_I64, x->dims[time], time, x->rank);
  Ref back = g_binary(ir, OP_SUB, g_binary(ir, OP_SUB, len, c_int(ir, DT_I64, 1)), t);
  Ref index = g_where(ir, g_binary(ir, OP_CMPLT, t, len), back, t);
  b->out[0] = g_gather(ir, b->in[0], index, time);
}

/* The condition must be constant, since it determines the shape of the result. */
void op_compress(Build *b) {
  const Node *x = in_node(b, 0);
  int n;
  Tensor t;
  Ref from = b->in[0];
  int axis = 0;
  if (attr_set(b, "axis")) axis = axis_of(b, attr_int(b, "axis"), x->rank);
  else from = g_reshape(b->ir, from, 1, (int64_t[]){ dims_elems(x->dims, x->rank) });
  if (!const_tensor(b, b->in[1], &t)) {
    compress_by_data(b, from, axis);
    return;
  }
  const int64_t *keep = const_ints(b, 1, "condition", &n);
  int64_t count = 0, *index = ARENA_NEW(&b->c->model, int64_t, n + 1);
  if (n > node(b->ir, from)->dims[axis])
    bad(b, "input 'condition' has %d entries for %lld elements", n, (long long)node(b->ir, from)->dims[axis]);
  for (int i = 0; i < n; i++)
    if (keep[i]) index[count++] = i;
  b->out[0] = take(b, from, axis, index, count);
}

void op_non_zero(Build *b) {
  const Node *x = in_node(b, 0);
  int n;
  Tensor t;
  if (!const_tensor(b, b->in[0], &t)) {
    nonzero_of_data(b);
    return;
  }
  const double *v = const_floats(b, 0, "X", &n);
  int64_t count = 0, *at = ARENA_NEW(&b->c->model, int64_t, (int64_t)x->rank * n + 1);
  for (int i = 0; i < n; i++) count += v[i] != 0;
  for (int i = 0, k = 0; i < n; i++) {
    if (v[i] == 0) continue;
    int64_t left = i;
    for (int a = x->rank - 1; a >= 0; a--) {
      at[a * count + k] = left % x->dims[a];
      left /= x->dims[a];
    }
    k++;
  }
  b->out[0] = tensor_ref(b, DT_I64, 2, (int64_t[]){ x->rank, count }, at);
}

/* Element offsets of the tuples in idx's last axis: the sum of its k entries times the strides of the first k axes after batch.
 * Shape: idx without its last axis. */
static Ref offsets(Build *b, Ref idx, const Node *x, int batch, int k) {
  IR *ir = b->ir;
  const Node *n = node(ir, idx);
  Ref sum = 0;
  int64_t stride = 1;
  for (int i = k - 1; i >= 0; i--) {
    Ref one = shrink_axis(ir, idx, n->rank - 1, i, 1, 1);
    int64_t extent = x->dims[batch + i];
    Ref at = g_binary(ir, OP_MUL, clamp_index(b, wrap_index(b, one, extent), extent), c_int(ir, DT_I64, stride));
    sum = sum ? g_binary(ir, OP_ADD, sum, at) : at;
    stride *= x->dims[batch + i];
  }
  return without_axes(ir, sum, 1u << (n->rank - 1));
}

static void check_known_tuples(Build *b, Ref idx, const Node *x, int batch, int k) {
  Tensor t;
  if (dims_elems(node(b->ir, idx)->dims, node(b->ir, idx)->rank) > FOLD_ELEMS * 256 || !const_tensor(b, idx, &t)) return;
  for (int64_t i = 0; i < t.elems; i++) {
    int64_t v = tensor_int(&t, i), d = x->dims[batch + i % k];
    if (v < -d || v >= d)
      bad(b, "index %lld is outside axis %d of extent %lld", (long long)v, (int)(batch + i % k), (long long)d);
  }
}

void op_gather_nd(Build *b) {
  IR *ir = b->ir;
  const Node *x = in_node(b, 0), *idx = in_node(b, 1);
  int64_t batch = attr_int(b, "batch_dims"), k = idx->rank ? idx->dims[idx->rank - 1] : 0;
  if (!idx->rank) bad(b, "the indices have rank 0, expected at least 1");
  if (!x->rank) bad(b, "the data has rank 0, expected at least 1");
  if (batch < 0 || batch >= idx->rank || batch >= x->rank)
    bad(b, "attribute 'batch_dims' is %lld, which does not fit data of rank %d and indices of rank %d", (long long)batch, x->rank,
        idx->rank);
  if (k < 1 || k > x->rank - batch)
    bad(b, "the last axis of the indices has %lld elements, expected 1 to %d", (long long)k, x->rank - (int)batch);
  for (int i = 0; i < batch; i++)
    if (idx->dims[i] != x->dims[i])
      bad(b, "batch axis %d has extents %lld and %lld", i, (long long)x->dims[i], (long long)idx->dims[i]);
  int64_t dims[2 * USER_RANK];
  int rank = 0, bd = (int)batch, kd = (int)k;
  for (int i = 0; i < idx->rank - 1; i++) dims[rank++] = idx->dims[i];
  for (int i = bd + kd; i < x->rank; i++) dims[rank++] = x->dims[i];
  check_dims(b, rank, dims);
  check_known_tuples(b, b->in[1], x, bd, kd);
  int64_t nb = dims_elems(x->dims, bd), inner = dims_elems(x->dims + bd + kd, x->rank - bd - kd);
  int64_t flat[] = { nb, dims_elems(x->dims + bd, kd), inner }, at[] = { nb, dims_elems(idx->dims + bd, idx->rank - 1 - bd), 1 };
  Ref r = g_gather(ir, g_reshape(ir, b->in[0], 3, flat), g_reshape(ir, offsets(b, b->in[1], x, bd, kd), 3, at), 1);
  b->out[0] = g_reshape(ir, r, rank, dims);
}

/* ---- scatters ---- */
enum { MAX_RUNS = 8 }; /* most parts of a result; each becomes a kernel */

/* Constant indices: gathers from x and updates; x is [total, inner], updates are [n, inner]. If the result is a few runs of x
 * and updates, these are concatenated. So a loop that fills a tensor row by row becomes its rows. */
static Ref scatter_known(Build *b, Ref x, const int64_t *to, int64_t n, Ref updates) {
  int64_t total = node(b->ir, x)->dims[0], *from = ARENA_NEW(&b->c->model, int64_t, total + 1), begin[MAX_RUNS + 1];
  int runs = 0;
  for (int64_t i = 0; i < total; i++) from[i] = i;
  for (int64_t i = 0; i < n; i++) from[to[i]] = total + i;
  for (int64_t i = 0; i < total && runs <= MAX_RUNS; i++)
    if (!i || from[i] != from[i - 1] + 1 || from[i] == total) begin[runs++] = i;
  if (!runs || runs > MAX_RUNS) return take(b, g_cat(b->ir, 2, (Ref[]){ x, updates }, 0), 0, from, total);
  Ref part[MAX_RUNS];
  for (int i = 0; i < runs; i++) {
    const int64_t at = from[begin[i]], length = (i + 1 < runs ? begin[i + 1] : total) - begin[i];
    part[i] = at < total ? shrink_axis(b->ir, x, 0, at, 1, length) : shrink_axis(b->ir, updates, 0, at - total, 1, length);
  }
  return g_cat(b->ir, runs, part, 0);
}

/* Indices from data, or a reduction. index has one entry per update and broadcasts to updates; out of range: no update. Besides
 * the axis, updates have the shape of x. Updates of one place come in order: the last one stays, or op combines them. A single
 * update becomes a selection at each place, which the readers of the result can compute. */
static Ref scatter_along(Build *b, Ref x, Ref index, Ref updates, int axis, Op op) {
  IR *ir = b->ir;
  const Node *xn = node(ir, x), *un = node(ir, updates);
  const bool one = un->dims[axis] == 1, several = form_differs(b, one); /* at other sizes */
  const bool place = xn->dims[axis] == 1, places = form_differs(b, place) || !place;
  if ((several && places) || !one) return g_scatter(ir, op, x, index, updates, axis);
  Ref hit = g_binary(ir, OP_CMPEQ, index, iota_axis(ir, DT_I64, xn->dims[axis], axis, xn->rank));
  return g_where(ir, hit, op ? g_binary(ir, op, x, updates) : updates, x);
}

/* Bools have no sums: "add" is a logical or, as in the standard's reference. */
static Op scatter_reduction(Build *b) {
  const bool flags = in_dt(b, 0) == DT_BOOL;
  return attr_is(b, "reduction", "none") ? OP_NONE
         : attr_is(b, "reduction", "add") ? (flags ? OP_MAX : OP_ADD)
         : attr_is(b, "reduction", "mul") ? (flags ? OP_MIN : OP_MUL)
         : attr_is(b, "reduction", "max") ? OP_MAX : OP_MIN;
}

/* NULL: the indices are not constant, or cannot be treated as constants */
static const int64_t *fixed_index(Build *b) {
  Tensor t;
  const Node *x = in_node(b, 0), *index = in_node(b, 1);
  const int64_t most = FOLD_ELEMS * 4096;
  if (scatter_reduction(b) != OP_NONE || dims_elems(x->dims, x->rank) > most || dims_elems(index->dims, index->rank) > most)
    return NULL;
  if (!const_tensor(b, b->in[1], &t)) return NULL;
  int64_t *v = ARENA_NEW(&b->c->model, int64_t, t.elems + 1);
  for (int64_t i = 0; i < t.elems; i++) v[i] = tensor_int(&t, i);
  return v;
}

static int64_t checked_index(Build *b, int64_t v, int axis, int64_t extent) {
  if (v < -extent || v >= extent) bad(b, "index %lld is outside axis %d of extent %lld", (long long)v, axis, (long long)extent);
  return v < 0 ? v + extent : v;
}

void op_scatter_nd(Build *b) {
  IR *ir = b->ir;
  const Node *x = in_node(b, 0), *idx = in_node(b, 1), *upd = in_node(b, 2);
  int64_t k = idx->rank ? idx->dims[idx->rank - 1] : 0;
  if (!idx->rank) bad(b, "the indices have rank 0, expected at least 1");
  if (!x->rank) bad(b, "the data has rank 0, expected at least 1");
  if (k < 1 || k > x->rank)
    bad(b, "the last axis of the indices has %lld elements, expected 1 to %d", (long long)k, x->rank);
  int outer = idx->rank - 1, rest = x->rank - (int)k;
  bool fits = upd->rank == outer + rest;
  for (int i = 0; fits && i < upd->rank; i++) fits = upd->dims[i] == (i < outer ? idx->dims[i] : x->dims[(int)k + i - outer]);
  if (!fits)
    bad(b, "updates of shape %s do not fit data of %s and indices of %s", dims_text(b, upd->dims, upd->rank),
        dims_text(b, x->dims, x->rank), dims_text(b, idx->dims, idx->rank));
  int64_t n = dims_elems(idx->dims, outer), inner = dims_elems(x->dims + k, rest), total = dims_elems(x->dims, (int)k);
  Ref flat = g_reshape(ir, b->in[0], 2, (int64_t[]){ total, inner }),
      updates = g_reshape(ir, b->in[2], 2, (int64_t[]){ n, inner });
  const int64_t *v = fixed_index(b);
  if (v) {
    int64_t *to = ARENA_NEW(&b->c->model, int64_t, n + 1);
    for (int64_t i = 0; i < n; i++)
      for (int a = 0; a < k; a++) to[i] = to[i] * x->dims[a] + checked_index(b, v[i * k + a], a, x->dims[a]);
    flat = scatter_known(b, flat, to, n, updates);
  } else {
    Ref all = g_reshape(ir, b->in[1], 2, (int64_t[]){ n, k }), place = 0, inside = 0;
    for (int a = 0; a < k; a++) {
      const Ref at = wrap_index(b, shrink_axis(ir, all, 1, a, 1, 1), x->dims[a]);
      inside = both(b, inside, in_extent(b, at, x->dims[a]));
      place = a ? g_binary(ir, OP_ADD, g_binary(ir, OP_MUL, place, integer(b, x->dims[a])), at) : at;
    }
    if (k > 1) place = g_where(ir, inside, place, c_int(ir, DT_I64, -1)); /* so that no index names an element of another row */
    flat = scatter_along(b, flat, place, updates, 0, scatter_reduction(b));
  }
  b->out[0] = g_reshape(ir, flat, x->rank, x->dims);
}

void op_scatter_elements(Build *b) {
  IR *ir = b->ir;
  const Node *x = in_node(b, 0), *idx = in_node(b, 1), *upd = in_node(b, 2);
  int axis = axis_of(b, attr_int(b, "axis"), x->rank);
  bool fits = idx->rank == x->rank && upd->rank == x->rank;
  for (int i = 0; fits && i < x->rank; i++) fits = idx->dims[i] == upd->dims[i] && (i == axis || idx->dims[i] <= x->dims[i]);
  if (!fits)
    bad(b, "updates of shape %s do not fit data of %s and indices of %s", dims_text(b, upd->dims, upd->rank),
        dims_text(b, x->dims, x->rank), dims_text(b, idx->dims, idx->rank));
  int64_t n = dims_elems(idx->dims, idx->rank), total = dims_elems(x->dims, x->rank);
  const int64_t *v = fixed_index(b);
  if (v) {
    int64_t *to = ARENA_NEW(&b->c->model, int64_t, n + 1);
    for (int64_t i = 0; i < n; i++) {
      int64_t left = i, stride = 1;
      for (int a = x->rank - 1; a >= 0; a--) {
        int64_t at = left % idx->dims[a];
        left /= idx->dims[a];
        to[i] += stride * (a == axis ? checked_index(b, v[i], a, x->dims[a]) : at);
        stride *= x->dims[a];
      }
    }
    Ref flat = scatter_known(b, g_reshape(ir, b->in[0], 2, (int64_t[]){ total, 1 }), to, n,
                             g_reshape(ir, b->in[2], 2, (int64_t[]){ n, 1 }));
    b->out[0] = g_reshape(ir, flat, x->rank, x->dims);
    return;
  }
  int64_t zero[USER_RANK] = { 0 }, more[USER_RANK];
  for (int i = 0; i < x->rank; i++) more[i] = i == axis ? 0 : x->dims[i] - idx->dims[i];
  Ref index = g_pad(ir, wrap_index(b, b->in[1], x->dims[axis]), zero, more, c_int(ir, DT_I64, -1));
  Ref updates = g_pad(ir, b->in[2], zero, more, c_int(ir, (DType)x->dt, 0));
  b->out[0] = scatter_along(b, b->in[0], index, updates, axis, scatter_reduction(b));
}

/* Writes new rows into a cache along an axis, each sequence from its own position. circular: rows behind the end go to the
 * beginning */
void op_tensor_scatter(Build *b) {
  IR *ir = b->ir;
  const Node *x = in_node(b, 0), *u = in_node(b, 1);
  int axis = axis_of(b, attr_int(b, "axis"), x->rank);
  if (!axis) bad(b, "attribute 'axis' must not be 0, the axis of the batch");
  bool fits = u->rank == x->rank && u->dims[axis] <= x->dims[axis];
  for (int i = 0; fits && i < x->rank; i++) fits = i == axis || u->dims[i] == x->dims[i];
  if (!fits) bad(b, "the update must have the shape of the cache; only axis %d may be shorter", axis);
  if (!u->dims[axis]) {
    b->out[0] = b->in[0];
    return;
  }
  int64_t extent = x->dims[axis], dims[MAX_RANK];
  for (int i = 0; i < x->rank; i++) dims[i] = i ? 1 : x->dims[0];
  Ref first = c_int(ir, DT_I64, 0);
  if (has_in(b, 2)) {
    if (in_node(b, 2)->rank != 1 || in_node(b, 2)->dims[0] != dims[0])
      bad(b, "input 'write_indices' must be a vector of %lld elements, one for each sequence", (long long)dims[0]);
    first = g_reshape(ir, g_cast(ir, b->in[2], DT_I64), x->rank, dims);
  }
  Ref at = g_binary(ir, OP_SUB, iota_axis(ir, DT_I64, extent, axis, x->rank), first);
  if (attr_is(b, "mode", "circular")) at = g_binary(ir, OP_FLMOD, at, c_int(ir, DT_I64, extent));
  b->out[0] = write_rows(b, b->in[0], b->in[1], at, axis);
}

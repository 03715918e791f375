/* SPDX-License-Identifier: MIT */
/* pool_ops.c: pools, which reduce the windows of an input, and the operators that undo them: MaxUnpool and Col2Im. */
#include "windows.h"
#include <math.h>
#include <string.h>

static void pool_read(Build *b, Window *w) {
  window_read(b, w, in_node(b, 0), NULL);
  window_place(b, w, attr_int(b, "ceil_mode"));
  for (int i = 0; i < w->n; i++)
    if (w->lo[i] < 0 || w->hi[i] < 0 || w->lo[i] >= window_reach(w, i) || w->hi[i] >= window_reach(w, i))
      bad(b, "the padding on spatial axis %d is %lld and %lld, expected less than the %lld elements that a window covers", i,
          (long long)w->lo[i], (long long)w->hi[i], (long long)window_reach(w, i));
}

/* Converts index `at` (last axis fastest) to an index with the first spatial axis fastest. */
static Ref columns_first(Build *b, const Window *w, Ref at) {
  IR *ir = b->ir;
  const Node *x = in_node(b, 0);
  Ref place = 0;
  int64_t step = dims_elems(x->dims + 2, w->n);
  for (int a = w->n - 1; a >= 0; a--) {
    Ref extent = integer(b, x->dims[2 + a]), digit = g_binary(ir, OP_FLMOD, at, extent);
    step /= x->dims[2 + a];
    at = g_binary(ir, OP_FLDIV, at, extent);
    place = place ? add(b, place, mul(b, digit, integer(b, step))) : mul(b, digit, integer(b, step));
  }
  return add(b, place, mul(b, at, integer(b, dims_elems(x->dims + 2, w->n))));
}

/* Index of each maximum in the flattened input. Among equal ones, the first in row-major order, whichever order storage_order
 * selects for the index. */
static Ref max_places(Build *b, const Window *w, Ref taps, Ref max) {
  IR *ir = b->ir;
  const Node *x = in_node(b, 0);
  Ref place = g_reshape(ir, c_int(ir, DT_I64, 0), 0, NULL), none = c_int(ir, DT_I64, INT64_MAX);
  int64_t step = 1;
  for (int a = x->rank - 1; a >= 0; a--) {
    Ref at = g_binary(ir, OP_MUL, iota_axis(ir, DT_I64, x->dims[a], a, x->rank), c_int(ir, DT_I64, step));
    place = g_binary(ir, OP_ADD, place, at);
    step *= x->dims[a];
  }
  Ref hit = g_binary(ir, OP_CMPEQ, taps, max);
  if (dt_float(in_dt(b, 0))) hit = g_binary(ir, OP_OR, hit, g_binary(ir, OP_CMPNE, taps, taps));
  Ref first = g_reduce(ir, OP_MIN, g_where(ir, hit, window_padded(b, w, place, none), none), window_tap_axes(w));
  Ref y = attr_int(b, "storage_order") ? columns_first(b, w, first) : first;
  bool hollow = false; /* taps may lie on both sides of the input with none inside */
  for (int i = 0; i < w->n; i++) hollow |= w->dilation[i] > w->in[i];
  return hollow ? g_where(ir, g_binary(ir, OP_CMPEQ, first, none), c_int(ir, DT_I64, -1), y) : y;
}

void op_max_pool(Build *b) {
  Window w;
  pool_read(b, &w);
  Ref taps = window_padded(b, &w, b->in[0], type_limit(b->ir, in_dt(b, 0), false));
  Ref max = g_reduce(b->ir, OP_MAX, taps, window_tap_axes(&w));
  b->out[0] = without_axes(b->ir, max, window_tap_axes(&w));
  if (b->nout > 1 && b->n->out[1]) b->out[1] = without_axes(b->ir, max_places(b, &w, taps, max), window_tap_axes(&w));
}

/* The same counts for a range of sizes: sums of the ones in each window, with the shape of the result */
static Ref counted_ones(Build *b, const Window *w, bool with_pad) {
  IR *ir = b->ir;
  Window at = *w;
  int64_t dims[MAX_RANK] = { 1, 1 };
  for (int i = 0; i < w->n; i++) {
    dims[2 + i] = w->in[i] + (with_pad ? w->lo[i] + w->hi[i] : 0);
    if (with_pad) at.lo[i] = at.hi[i] = 0;
  }
  const Ref zero = c_int(ir, acc_type(in_dt(b, 0)), 0), ones = g_stored(ir, g_expand(ir, num(b, zero, 1), w->n + 2, dims));
  return without_axes(ir, g_reduce(ir, OP_ADD, window_padded(b, &at, ones, zero), window_tap_axes(w)), window_tap_axes(w));
}

/* Number of elements that each window counts on axis i. Padding counts if with_pad; elements that ceil_mode reads beyond it
 * never do. These are taps t with lo <= o * stride + t * dilation < hi. */
static Ref counted(Build *b, const Window *w, int i, bool with_pad) {
  IR *ir = b->ir;
  int64_t bound[2] = { with_pad ? 0 : w->lo[i], w->lo[i] + w->in[i] + (with_pad ? w->hi[i] : 0) };
  Ref first[2], start = g_binary(ir, OP_MUL, iota_axis(ir, DT_I64, w->out[i], i, w->n), c_int(ir, DT_I64, w->stride[i]));
  for (int k = 0; k < 2; k++) { /* the first tap at or after each bound */
    Ref room = g_binary(ir, OP_SUB, c_int(ir, DT_I64, bound[k] + w->dilation[i] - 1), start);
    Ref tap = g_binary(ir, OP_FLDIV, room, c_int(ir, DT_I64, w->dilation[i]));
    first[k] = g_binary(ir, OP_MIN, g_binary(ir, OP_MAX, tap, c_int(ir, DT_I64, 0)), c_int(ir, DT_I64, w->k[i]));
  }
  return g_cast(ir, g_binary(ir, OP_SUB, first[1], first[0]), acc_type(in_dt(b, 0)));
}

/* Writes pooled values back to the indices they came from; other elements are 0. An index lies in few windows, and takes the
 * value of the window that names it. Indices count in the shape that was pooled; another output shape cuts it, or appends
 * zeros. */
void op_max_unpool(Build *b) {
  IR *ir = b->ir;
  const Node *x = in_node(b, 0);
  int rank = x->rank, n = rank - 2, given = 0;
  if (n < 1 || n > SPATIAL || in_node(b, 1)->rank != rank || memcmp(in_node(b, 1)->dims, x->dims, (size_t)rank * sizeof *x->dims))
    bad(b, "values and indices must have the same shape, [batch,channels,...]");
  const int64_t *wanted = has_in(b, 2) ? const_ints(b, 2, "output_shape", &given) : NULL;
  if (wanted && given != rank) bad(b, "input 'output_shape' has %d entries, expected %d", given, rank);
  int64_t k[SPATIAL], stride[SPATIAL], pads[2 * SPATIAL], dims[MAX_RANK] = { x->dims[0], x->dims[1] }, near = 1, widest = 0;
  ints_into(b, "kernel_shape", n, 1, k);
  ints_into(b, "strides", n, 1, stride);
  ints_into(b, "pads", 2 * n, 0, pads);
  for (int a = 0; a < n; a++) {
    int64_t full;
    if (!i64_mul(x->dims[2 + a] - 1, stride[a], &full) || full > MAX_ELEMS)
      bad(b, "the result is too large on spatial axis %d", a);
    dims[2 + a] = full + k[a] - pads[a] - pads[n + a];
    near = elems_mul(b, near, (k[a] - 1) / stride[a] + 1); /* windows that may contain one index */
  }
  check_dims(b, rank, dims);
  for (int a = 0; a < n; a++) widest = dims[2 + a] > widest ? dims[2 + a] : widest;
  spend(b, elems_mul(b, near, 1 + widest / 64)); /* each has a table of all indices */
  Ref place = c_int(ir, DT_I64, 0), y = g_expand(ir, c_int(ir, in_dt(b, 0), 0), rank, dims);
  for (int a = 0; a < rank; a++)
    place = add(b, mul(b, place, c_int(ir, DT_I64, dims[a])), iota_axis(ir, DT_I64, dims[a], a, rank));
  for (int64_t m = 0; m < near && dims_elems(x->dims, rank); m++) {
    spend(b, 0);
    Ref v = b->in[0], named = g_cast(ir, b->in[1], DT_I64);
    int64_t digits = m;
    for (int a = 0; a < n; a++) {
      int64_t each = (k[a] - 1) / stride[a] + 1, back = digits % each, *from = ARENA_NEW(&b->c->model, int64_t, dims[2 + a] + 1);
      digits /= each;
      for (int64_t i = 0; i < dims[2 + a]; i++) from[i] = clamp((i + pads[a]) / stride[a] - back, 0, x->dims[2 + a] - 1);
      v = take(b, v, 2 + a, from, dims[2 + a]);
      named = take(b, named, 2 + a, from, dims[2 + a]);
    }
    y = g_where(ir, g_binary(ir, OP_CMPEQ, named, place), v, y);
  }
  for (int a = 0; a < n && wanted; a++) {
    int64_t none = 0, more = wanted[2 + a] - dims[2 + a];
    if (wanted[2 + a] < 0 || wanted[2 + a] > MAX_ELEMS)
      bad(b, "input 'output_shape' has the entry %lld, which is out of range", (long long)wanted[2 + a]);
    if (more > 0) y = pad_axes(ir, y, 2 + a, 1, &none, &more, c_int(ir, in_dt(b, 0), 0));
    else y = shrink_axis(ir, y, 2 + a, 0, 1, wanted[2 + a]);
  }
  b->out[0] = y;
}

void op_average_pool(Build *b) {
  IR *ir = b->ir;
  Window w;
  pool_read(b, &w);
  bool with_pad = attr_int(b, "count_include_pad"), uniform = true, varies = false;
  DType acc = acc_type(in_dt(b, 0));
  int64_t all = 1;
  Ref sum = g_reduce(ir, OP_ADD, window_padded(b, &w, g_cast(ir, b->in[0], acc), c_int(ir, acc, 0)), window_tap_axes(&w));
  Ref y = without_axes(ir, sum, window_tap_axes(&w)), count = 0;
  for (int i = 0; i < w.n; i++) {
    uniform &= !w.over[i] && (with_pad || (!w.lo[i] && !w.hi[i]));
    all *= w.k[i];
    varies |= window_padding_varies(b, &w, i) && (!with_pad || w.ceils);
  }
  if (varies) uniform = false, count = counted_ones(b, &w, with_pad);
  for (int i = 0; i < w.n && !uniform && !varies; i++) { /* separable: the product of one vector per axis */
    Ref axis = counted(b, &w, i, with_pad);
    count = count ? g_binary(ir, OP_MUL, count, axis) : axis;
  }
  y = uniform ? g_binary(ir, OP_MUL, y, c_float(ir, acc, 1.0 / (double)all)) : g_binary(ir, OP_DIV, y, count);
  b->out[0] = g_cast(ir, y, in_dt(b, 0));
}

/* (sum |x|^p)^(1/p) */
static Ref lp_sum(Build *b, Ref x, uint32_t axes, int64_t p) {
  IR *ir = b->ir;
  DType acc = (DType)node(ir, x)->dt;
  x = g_unary(ir, OP_ABS, x);
  if (p == 2) x = g_binary(ir, OP_MUL, x, x);
  else if (p != 1) x = g_binary(ir, OP_POW, x, c_int(ir, acc, p));
  x = g_reduce(ir, OP_ADD, x, axes);
  return p == 1 ? x : p == 2 ? g_unary(ir, OP_SQRT, x) : g_binary(ir, OP_POW, x, c_float(ir, acc, 1.0 / (double)p));
}

void op_lp_pool(Build *b) {
  IR *ir = b->ir;
  Window w;
  DType acc = acc_type(in_dt(b, 0));
  pool_read(b, &w);
  Ref taps = window_padded(b, &w, g_cast(ir, b->in[0], acc), c_int(ir, acc, 0));
  const Ref sum = lp_sum(b, taps, window_tap_axes(&w), attr_int(b, "p"));
  b->out[0] = g_cast(ir, without_axes(ir, sum, window_tap_axes(&w)), in_dt(b, 0));
}

void op_global_lp_pool(Build *b) {
  const Node *x = in_node(b, 0);
  if (x->rank < 2) bad(b, "the input has rank %d, expected at least 2", x->rank);
  Ref acc = g_cast(b->ir, b->in[0], acc_type(in_dt(b, 0)));
  b->out[0] = g_cast(b->ir, lp_sum(b, acc, ((1u << x->rank) - 1) & ~3u, attr_int(b, "p")), in_dt(b, 0));
}

/* Inserts step - 1 zeros between the elements of an axis */
static Ref spread_axis(IR *ir, Ref x, int axis, int64_t step) {
  const Node *n = node(ir, x);
  int64_t dims[MAX_RANK], none = 0, zeros = step - 1, extent = n->dims[axis], rank = n->rank;
  if (step == 1 || !extent) return x;
  for (int a = 0; a <= rank; a++) dims[a] = a <= axis ? n->dims[a] : a == axis + 1 ? 1 : n->dims[a - 1];
  x = pad_axes(ir, g_reshape(ir, x, n->rank + 1, dims), axis + 1, 1, &none, &zeros, c_int(ir, (DType)n->dt, 0));
  for (int a = axis + 1; a < rank; a++) dims[a] = dims[a + 1];
  dims[axis] = extent * step;
  return shrink_axis(ir, g_reshape(ir, x, (int)rank, dims), axis, 0, 1, (extent - 1) * step + 1);
}

/* ---- Col2Im: adds up windows at the positions they were cut from; each tap is an image of its own ---- */
/* inputs: [N, C * taps, windows], extents of the image, extents of a window */
void op_col2im(Build *b) {
  IR *ir = b->ir;
  Window w = { .n = 0 };
  const Node *x = in_node(b, 0);
  int64_t pads[2 * SPATIAL], taps = 1, windows_ = 1, dims[MAX_RANK], from[MAX_RANK] = { 0 };
  const int64_t *image = const_ints(b, 1, "image_shape", &w.n), *block;
  int n;
  block = const_ints(b, 2, "block_shape", &n);
  if (n != w.n || n < 1 || n > SPATIAL || x->rank != 3)
    bad(b, "'image_shape' has %d entries and 'block_shape' %d, for an input of rank %d; expected equal numbers, and rank 3", w.n,
        n, x->rank);
  ints_into(b, "strides", n, 1, w.stride);
  ints_into(b, "dilations", n, 1, w.dilation);
  ints_into(b, "pads", 2 * n, 0, pads);
  for (int i = 0; i < n; i++) {
    w.k[i] = block[i];
    w.in[i] = image[i] + pads[i] + pads[n + i];
    if (image[i] < 1 || image[i] > MAX_ELEMS || block[i] < 1 || block[i] > 1 << 16 || pads[i] < 0 || pads[n + i] < 0 ||
        w.in[i] < window_reach(&w, i))
      bad(b, "windows of %lld exceed axis %d of %lld elements", (long long)block[i], i, (long long)image[i]);
    w.out[i] = (w.in[i] - window_reach(&w, i)) / w.stride[i] + 1;
    taps = elems_mul(b, taps, block[i]);
    windows_ = elems_mul(b, windows_, w.out[i]);
  }
  if (x->dims[1] % taps || x->dims[2] != windows_)
    bad(b, "the input has %lld windows of %lld elements, expected %lld windows of a multiple of %lld elements",
        (long long)x->dims[2], (long long)x->dims[1], (long long)windows_, (long long)taps);
  spend(b, taps);
  dims[0] = x->dims[0];
  dims[1] = x->dims[1] / taps;
  dims[2] = taps;
  for (int i = 0; i < n; i++) dims[3 + i] = w.out[i];
  DType acc = acc_type(in_dt(b, 0));
  Ref all = g_reshape(ir, g_cast(ir, b->in[0], acc), 3 + n, dims), sum = 0;
  for (int64_t t = 0; t < taps; t++) {
    spend(b, 0);
    Ref part = without_axes(ir, shrink_axis(ir, all, 2, t, 1, 1), 1u << 2);
    int64_t left = t, lo[SPATIAL], hi[SPATIAL];
    for (int i = n - 1; i >= 0; left /= block[i--]) {
      part = spread_axis(ir, part, 2 + i, w.stride[i]);
      lo[i] = left % block[i] * w.dilation[i];
      hi[i] = w.in[i] - lo[i] - node(ir, part)->dims[2 + i];
    }
    part = pad_axes(ir, part, 2, n, lo, hi, c_int(ir, acc, 0));
    sum = sum ? g_binary(ir, OP_ADD, sum, part) : part;
  }
  for (int i = 0; i < n; i++) {
    from[2 + i] = pads[i];
    dims[2 + i] = image[i];
  }
  b->out[0] = g_cast(ir, g_shrink(ir, sum, from, NULL, dims), in_dt(b, 0));
}

/* SPDX-License-Identifier: MIT */
/* move_ops.c: operators that only move elements: Reshape, Transpose, Slice, Split, Concat, Pad, Tile ... Their other arguments
 * are constant, so each becomes a chain of views. Where views do not suffice (a mirrored border), it becomes a gather by
 * constant indices. */
#include "../core/build.h"
#include <string.h>

/* ---- pieces that other builders use ---- */
Ref moved_channels(Build *b, Ref x, bool to_front) {
  int rank = node(b->ir, x)->rank;
  int64_t perm[MAX_RANK];
  if (rank < 3) bad(b, "the input has rank %d, expected at least 3", rank);
  for (int i = 0; i < rank; i++) perm[i] = !i ? 0 : to_front ? i == 1 ? rank - 1 : i - 1 : i == rank - 1 ? 1 : i + 1;
  return g_permute(b->ir, x, perm);
}

/* ---- views ---- */
void op_reshape(Build *b) {
  const Node *x = in_node(b, 0);
  int rank, free_axis = -1;
  const int64_t *want = shape_ints(b, 1, "shape", &rank, WILD_LOW);
  int64_t dims[USER_RANK], known = 1, total = dims_elems(x->dims, x->rank);
  if (rank > USER_RANK) bad(b, "the result has rank %d, over the limit of %d", rank, USER_RANK);
  for (int i = 0; i < rank; i++) {
    dims[i] = want[i];
    if (want[i] == 0 && !attr_int(b, "allowzero")) {
      if (i >= x->rank)
        bad(b, "entry %d of the shape is 0, which copies that axis of the input, but the input has rank %d", i, x->rank);
      dims[i] = x->dims[i];
    }
    if (dims[i] < -1) bad(b, "entry %d of the shape is %lld, expected at least -1", i, (long long)dims[i]);
    if (dims[i] == -1 && free_axis >= 0) bad(b, "entries %d and %d of the shape are both -1", free_axis, i);
    if (dims[i] == -1) free_axis = i;
    else if (!i64_mul(known, dims[i], &known)) bad(b, "the shape %s has too many elements", dims_text(b, want, rank));
  }
  if (free_axis >= 0) {
    if (!known || total % known)
      bad(b, "%lld elements cannot fill the shape's -1: the product of the other entries is %lld", (long long)total,
          (long long)known);
    dims[free_axis] = total / known;
    known = total;
  }
  check_dims(b, rank, dims);
  if (known != total)
    bad(b, "the input has %lld elements, but the shape's entries multiply to %lld", (long long)total, (long long)known);
  b->out[0] = g_reshape(b->ir, b->in[0], rank, dims);
}

void op_flatten(Build *b) {
  const Node *x = in_node(b, 0);
  int64_t axis = attr_int(b, "axis");
  if (axis < -x->rank || axis > x->rank) bad(b, "axis %lld is outside a tensor of rank %d", (long long)axis, x->rank);
  if (axis < 0) axis += x->rank;
  int64_t dims[2] = { dims_elems(x->dims, (int)axis), dims_elems(x->dims + axis, x->rank - (int)axis) };
  b->out[0] = g_reshape(b->ir, b->in[0], 2, dims);
}

void op_squeeze(Build *b) {
  const Node *x = in_node(b, 0);
  int n = 0;
  uint32_t axes = 0;
  const int64_t *list = has_in(b, 1) ? const_ints(b, 1, "axes", &n) : NULL;
  if (list) axes = axes_of(b, list, n, x->rank);
  for (int i = 0; i < x->rank; i++) {
    if (!list && x->dims[i] == 1) axes |= 1u << i;
    if ((axes >> i & 1) && x->dims[i] != 1) bad(b, "axis %d has extent %lld, not 1", i, (long long)x->dims[i]);
  }
  b->out[0] = without_axes(b->ir, b->in[0], axes);
}

void op_unsqueeze(Build *b) {
  const Node *x = in_node(b, 0);
  int n, from = 0;
  const int64_t *list = const_ints(b, 1, "axes", &n);
  int64_t dims[USER_RANK];
  if (n + x->rank > USER_RANK) bad(b, "the result has rank %d, over the limit of %d", n + x->rank, USER_RANK);
  uint32_t axes = axes_of(b, list, n, n + x->rank);
  for (int i = 0; i < n + x->rank; i++) dims[i] = axes >> i & 1 ? 1 : x->dims[from++];
  b->out[0] = g_reshape(b->ir, b->in[0], n + x->rank, dims);
}

void op_transpose(Build *b) {
  int rank = in_node(b, 0)->rank, n;
  int64_t perm[MAX_RANK];
  const int64_t *given = attr_ints(b, "perm", &n);
  if (given && n != rank) bad(b, "attribute 'perm' has %d entries, but the input has rank %d", n, rank);
  for (int i = 0; i < rank; i++) perm[i] = given ? given[i] : rank - 1 - i;
  for (int i = 0; i < rank; i++) /* unlike axes of other operators, these must not be negative */
    if (perm[i] < 0) bad(b, "entry %d of attribute 'perm' is %lld, expected at least 0", i, (long long)perm[i]);
  axes_of(b, perm, rank, rank);
  b->out[0] = g_permute(b->ir, b->in[0], perm);
}

/* Input `shape`; by data: the last extents of the declared shape, of which data may give 1 where the input has them already */
static const int64_t *expand_ints(Build *b, int *n) {
  int rank, count = (int)dims_elems(in_node(b, 1)->dims, in_node(b, 1)->rank);
  const int64_t *dims = is_known(b, 1) ? NULL : declared_dims(b, 0, &rank);
  return implied_ints(b, 1, "shape", n, WILD_ONE, dims && count <= rank ? dims + rank - count : NULL, count);
}

void op_expand(Build *b) {
  const Node *x = in_node(b, 0);
  int n;
  const int64_t *want = expand_ints(b, &n);
  int rank = n > x->rank ? n : x->rank;
  int64_t dims[USER_RANK];
  if (rank > USER_RANK) bad(b, "the result has rank %d, over the limit of %d", rank, USER_RANK);
  for (int i = 1; i <= rank; i++) {
    int64_t w = i <= n ? want[n - i] : 1, d = i <= x->rank ? x->dims[x->rank - i] : 1;
    dims[rank - i] = w == 1 ? d : w;
  }
  check_dims(b, rank, dims);
  b->out[0] = to_shape(b, b->in[0], rank, dims);
}

/* The number of copies along each axis by the declared shape; NULL: it does not say */
static const int64_t *implied_repeats(Build *b) {
  const Node *x = in_node(b, 0);
  int rank;
  const int64_t *dims = is_known(b, 1) ? NULL : declared_dims(b, 0, &rank);
  int64_t *times = ARENA_NEW(&b->c->model, int64_t, x->rank + 1);
  bool known = dims && rank == x->rank;
  for (int i = 0; known && i < rank; i++)
    if ((known = x->dims[i] && dims[i] % x->dims[i] == 0)) times[i] = dims[i] / x->dims[i];
  return known ? times : NULL;
}

void op_tile(Build *b) {
  const Node *x = in_node(b, 0);
  int n, rank = x->rank;
  const int64_t *times = implied_ints(b, 1, "repeats", &n, WILD_NONE, implied_repeats(b), rank);
  int64_t dims[USER_RANK];
  if (n != rank) bad(b, "input 'repeats' has %d entries for %d axes", n, rank);
  for (int i = 0; i < n; i++)
    if (times[i] < 0 || !i64_mul(x->dims[i], times[i], &dims[i]))
      bad(b, "entry %d of input 'repeats' is %lld, which is negative or too large", i, (long long)times[i]);
  check_dims(b, rank, dims);
  Ref r = b->in[0];
  for (int i = 0; i < n; i++)
    if (times[i] != 1) r = repeat_axis(b->ir, r, i, times[i], false);
  b->out[0] = r;
}

void op_concat(Build *b) {
  const Node *x = in_node(b, 0);
  int axis = axis_of(b, attr_int(b, "axis"), x->rank);
  int64_t dims[USER_RANK];
  memcpy(dims, x->dims, x->rank * sizeof *dims);
  for (int k = 1; k < b->nin; k++) {
    const Node *y = in_node(b, k);
    if (y->rank != x->rank) bad(b, "input %d has rank %d, but input 0 has rank %d", k, y->rank, x->rank);
    for (int i = 0; i < x->rank; i++)
      if (i != axis && y->dims[i] != x->dims[i])
        bad(b, "input %d has extent %lld on axis %d, but input 0 has %lld", k, (long long)y->dims[i], i, (long long)x->dims[i]);
    dims[axis] += y->dims[axis];
    check_dims(b, x->rank, dims);
  }
  b->out[0] = cat_all(b, b->nin, b->in, axis);
}

/* The extents of all parts by their declared shapes; NULL: these do not say */
static const int64_t *implied_parts(Build *b, int axis) {
  int64_t *parts = ARENA_NEW(&b->c->model, int64_t, b->nout + 1);
  for (int i = 0; i < b->nout; i++) {
    int rank;
    const int64_t *dims = is_known(b, 1) ? NULL : declared_dims(b, i, &rank);
    if (!dims || rank <= axis) return NULL;
    parts[i] = dims[axis];
  }
  return parts;
}

void op_split(Build *b) {
  const Node *x = in_node(b, 0);
  int axis = axis_of(b, attr_int(b, "axis"), x->rank), n = b->nout;
  int64_t extent = x->dims[axis], at = 0, *size = ARENA_NEW(&b->c->model, int64_t, n);
  if (has_in(b, 1)) {
    if (attr_set(b, "num_outputs")) bad(b, "both the input 'split' and the attribute 'num_outputs' are given");
    const int64_t *v = implied_ints(b, 1, "split", &n, WILD_NONE, implied_parts(b, axis), b->nout);
    if (n != b->nout) bad(b, "input 'split' has %d entries for %d outputs", n, b->nout);
    memcpy(size, v, (size_t)n * sizeof *v);
  } else {
    if (attr_set(b, "num_outputs") && attr_int(b, "num_outputs") != n)
      bad(b, "attribute 'num_outputs' is %lld for %d outputs", (long long)attr_int(b, "num_outputs"), n);
    int64_t each = (extent + n - 1) / n;
    for (int i = 0; i < n; i++, at += each) size[i] = clamp(extent - at, 0, each);
  }
  at = 0;
  for (int i = 0; i < n; i++) {
    if (size[i] < 0 || size[i] > extent - at)
      bad(b, "part %d has extent %lld, expected 0 to %lld, the rest of the axis", i, (long long)size[i],
          (long long)(extent - at));
    b->out[i] = shrink_axis(b->ir, b->in[0], axis, at, 1, size[i]);
    at += size[i];
  }
  if (at != extent) bad(b, "the parts have %lld elements, but axis %d has %lld", (long long)at, axis, (long long)extent);
}

/* Number i of an input of integers, as a scalar */
static Ref entry_of(Build *b, int k, int i) {
  const Node *x = in_node(b, k);
  Ref all = g_reshape(b->ir, b->in[k], 1, (int64_t[]){ dims_elems(x->dims, x->rank) });
  return g_reshape(b->ir, g_cast(b->ir, shrink_axis(b->ir, all, 0, i, 1, 1), DT_I64), 0, NULL);
}

/* x gathered along an axis by a vector of places, which are clamped */
static Ref along_axis(Build *b, Ref x, int axis, Ref places) {
  const Node *n = node(b->ir, x);
  int64_t dims[MAX_RANK];
  for (int i = 0; i < n->rank; i++) dims[i] = i == axis ? node(b->ir, places)->dims[0] : 1;
  return g_gather(b->ir, x, g_reshape(b->ir, clamp_index(b, places, n->dims[axis]), n->rank, dims), axis);
}

/* A place that counts from the end if it is negative, within least..most */
static Ref bounded(Build *b, Ref at, int64_t extent, Ref least, Ref most) {
  at = g_where(b->ir, g_binary(b->ir, OP_CMPLT, at, integer(b, 0)), add(b, at, integer(b, extent)), at);
  return g_binary(b->ir, OP_MIN, g_binary(b->ir, OP_MAX, at, least), most);
}

/* One axis of a Slice that has n elements there, by the declared shape. Data give start, end and step. */
static Ref sliced_axis(Build *b, Ref r, int axis, int64_t n, Ref start, Ref end, Ref step) {
  IR *ir = b->ir;
  const int64_t d = node(ir, r)->dims[axis];
  Ref zero = integer(b, 0), one = integer(b, 1), back = g_binary(ir, OP_CMPLT, step, zero);
  wrong_if(b, g_binary(ir, OP_CMPEQ, step, zero));
  step = g_where(ir, g_binary(ir, OP_CMPEQ, step, zero), one, step);
  Ref from = bounded(b, start, d, zero, g_where(ir, back, integer(b, d - 1), integer(b, d)));
  Ref to = bounded(b, end, d, g_where(ir, back, integer(b, -1), zero), g_where(ir, back, integer(b, d - 1), integer(b, d)));
  Ref more = g_where(ir, back, add(b, step, one), sub(b, step, one));
  Ref count = g_binary(ir, OP_MAX, g_binary(ir, OP_FLDIV, add(b, sub(b, to, from), more), step), zero);
  wrong_if(b, g_binary(ir, OP_CMPNE, count, integer(b, n)));
  if (!n || !d) return shrink_axis(ir, r, axis, 0, 1, 0);
  return along_axis(b, r, axis, add(b, from, mul(b, g_iota(ir, DT_I64, n), step)));
}

/* Slice whose starts, ends or steps depend on data; false: they do not, or the shape of the result is not declared */
static bool slice_by_data(Build *b) {
  const Node *x = in_node(b, 0);
  int rank, na = 0;
  if (is_known(b, 1) && is_known(b, 2) && (!has_in(b, 4) || is_known(b, 4))) return false;
  const int64_t *dims = declared_dims(b, 0, &rank), *axes = has_in(b, 3) ? const_ints(b, 3, "axes", &na) : NULL;
  if (!dims || rank != x->rank || !b->wrong || (has_in(b, 3) && !is_known(b, 3))) return false;
  const int n = axes ? na : (int)dims_elems(in_node(b, 1)->dims, in_node(b, 1)->rank);
  for (int k = 1; k < 5; k++)
    if (has_in(b, k) && dims_elems(in_node(b, k)->dims, in_node(b, k)->rank) != n) return false;
  if (n > rank) return false;
  if (axes) axes_of(b, axes, n, rank);
  Ref r = b->in[0];
  for (int i = 0; i < n; i++) {
    const int a = axes ? axis_of(b, axes[i], rank) : i;
    r = sliced_axis(b, r, a, dims[a], entry_of(b, 1, i), entry_of(b, 2, i), has_in(b, 4) ? entry_of(b, 4, i) : integer(b, 1));
  }
  b->out[0] = to_shape(b, r, rank, dims);
  return true;
}

void op_slice(Build *b) {
  const Node *x = in_node(b, 0);
  if (slice_by_data(b)) return;
  int n, m, na = 0, ns = 0;
  const int64_t *starts = const_ints(b, 1, "starts", &n), *ends = const_ints(b, 2, "ends", &m);
  const int64_t *axes = has_in(b, 3) ? const_ints(b, 3, "axes", &na) : NULL,
                *steps = has_in(b, 4) ? const_ints(b, 4, "steps", &ns) : NULL;
  if (m != n || (axes && na != n) || (steps && ns != n))
    bad(b, "the inputs 'starts', 'ends', 'axes' and 'steps' differ in length");
  if (!axes && n > x->rank) bad(b, "input 'starts' has %d entries for %d axes", n, x->rank);
  if (axes) axes_of(b, axes, n, x->rank);
  Ref r = b->in[0];
  for (int i = 0; i < n; i++) {
    int a = axes ? axis_of(b, axes[i], x->rank) : i;
    int64_t step = steps ? clamp(steps[i], -MAX_ELEMS, MAX_ELEMS) : 1, d = x->dims[a], from = starts[i], to = ends[i];
    if (!step) bad(b, "the step of axis %d is 0", a);
    if (from < 0) from = from < -d ? -1 : from + d; /* before the first element */
    if (to < 0) to = to < -d ? -1 : to + d;
    from = clamp(from, 0, step > 0 ? d : d - 1);
    to = step > 0 ? clamp(to, 0, d) : clamp(to, -1, d - 1);
    int64_t count = step > 0 ? (to - from + step - 1) / step : (from - to - step - 1) / -step;
    const bool differs = form_differs(b, count), whole = form_differs(b, step == 1 && count < d);
    if (differs && whole && x->varies) /* at some sizes it takes all: with an entry more, it is a node there, too */
      r = pad_axes(b->ir, r, a, 1, &(int64_t){ 0 }, &(int64_t){ 1 }, c_int(b->ir, (DType)x->dt, 0));
    r = shrink_axis(b->ir, r, a, from, step, count > 0 && d ? count : 0);
  }
  b->out[0] = r;
}

/* For images: removes borders (left, top, right, bottom), or keeps some rows and columns from a left and top border on */
void op_crop(Build *b) {
  const Node *x = in_node(b, 0);
  int n, m;
  const int64_t *border = attr_ints(b, "border", &n), *size = attr_ints(b, "scale", &m);
  if (x->rank != 4 || n != 4 || (size && m != 2))
    bad(b, "the input must be images [N,C,H,W], with 4 entries in 'border', and 2 in 'scale' if it is given");
  b->out[0] = b->in[0];
  for (int i = 0; i < 2; i++) {
    int64_t extent = x->dims[2 + i], from = border[1 - i], count = size ? size[i] : extent - from - border[3 - i];
    if (count < 0 || from > extent || count > extent - from)
      bad(b, "the cropped part exceeds the %lld elements of axis %d", (long long)extent, 2 + i);
    b->out[0] = shrink_axis(b->ir, b->out[0], 2 + i, from, 1, count);
  }
}

/* ---- Pad: a constant border, or indices that mirror, repeat the edge or wrap ---- */
static int64_t pad_source(int64_t i, int64_t n, char mode) {
  if (mode == 'e') return clamp(i, 0, n - 1);
  int64_t period = mode == 'w' ? n : n > 1 ? 2 * (n - 1) : 1;
  i = (i % period + period) % period;
  return i < n ? i : period - i;
}

/* The elements of an axis at these positions. A position outside of the axis takes one from inside, as the mode says. */
static Ref extended(Build *b, Ref x, int axis, Ref at) {
  IR *ir = b->ir;
  const int64_t d = node(ir, x)->dims[axis], period = d > 1 ? 2 * (d - 1) : 1;
  if (attr_is(b, "mode", "wrap")) return along_axis(b, x, axis, g_binary(ir, OP_FLMOD, at, integer(b, d)));
  if (!attr_is(b, "mode", "reflect")) return along_axis(b, x, axis, at);
  const Ref turned = g_binary(ir, OP_FLMOD, at, integer(b, period));
  return along_axis(b, x, axis, g_binary(ir, OP_MIN, turned, sub(b, integer(b, period), turned)));
}

/* Elements that negative padding removes are removed first; then the rest is extended. */
static Ref pad_by_index(Build *b, Ref x, int axis, int64_t lo, int64_t hi, char mode) {
  int64_t n = node(b->ir, x)->dims[axis], out = n + lo + hi, cut = lo < 0 ? -lo : 0, kept = n - cut + (hi < 0 ? hi : 0);
  if (kept < 1 && out) bad(b, "axis %d is empty and cannot be extended", axis);
  if (out > MAX_ELEMS >> 16) bad(b, "the result has extent %lld on axis %d, which is too large", (long long)out, axis);
  if (b->sized && lo >= 0 && hi >= 0) return extended(b, x, axis, sub(b, g_iota(b->ir, DT_I64, out), integer(b, lo)));
  int64_t *index = ARENA_NEW(&b->c->model, int64_t, out + 1);
  for (int64_t i = 0; i < out; i++) index[i] = cut + pad_source(i - lo - cut, kept, mode);
  return take(b, x, axis, index, out);
}

/* One axis of a Pad that has n elements afterwards, by the declared shape. Data give the padding on both sides. */
static Ref pad_axis(Build *b, Ref r, int axis, int64_t n, Ref lo, Ref hi, Ref fill) {
  IR *ir = b->ir;
  const int64_t d = node(ir, r)->dims[axis];
  const bool constant = attr_is(b, "mode", "constant");
  wrong_if(b, g_binary(ir, OP_CMPNE, add(b, lo, hi), integer(b, n - d)));
  if (!constant) wrong_if(b, g_binary(ir, OP_CMPLT, g_binary(ir, OP_MIN, lo, hi), integer(b, 0)));
  if (!d) bad(b, "axis %d is empty, and the pads of an empty axis must be constant", axis);
  Ref at = sub(b, g_iota(ir, DT_I64, n), lo), y = extended(b, r, axis, at);
  if (!constant) return y;
  int64_t dims[MAX_RANK];
  const int rank = node(ir, r)->rank;
  for (int i = 0; i < rank; i++) dims[i] = i == axis ? n : 1;
  Ref inside = both(b, g_binary(ir, OP_CMPLE, integer(b, 0), at), g_binary(ir, OP_CMPLT, at, integer(b, d)));
  return g_where(ir, g_reshape(ir, inside, rank, dims), y, fill);
}

/* Pad by data; false: the padding is constant, or the shape of the result is not declared */
static bool pad_by_data(Build *b) {
  const Node *x = in_node(b, 0), *pads = in_node(b, 1);
  int rank, na = x->rank;
  if (is_known(b, 1)) return false;
  const int64_t *dims = declared_dims(b, 0, &rank), *axes = has_in(b, 3) ? const_ints(b, 3, "axes", &na) : NULL;
  if (!dims || rank != x->rank || !b->wrong || dims_elems(pads->dims, pads->rank) != 2 * na) return false;
  if (axes) axes_of(b, axes, na, rank);
  Ref fill = has_in(b, 2) ? scalar_in(b, 2) : c_int(b->ir, in_dt(b, 0), 0), r = b->in[0];
  for (int i = 0; i < na; i++) {
    const int a = axes ? axis_of(b, axes[i], rank) : i;
    r = pad_axis(b, r, a, dims[a], entry_of(b, 1, i), entry_of(b, 1, na + i), fill);
  }
  b->out[0] = to_shape(b, r, rank, dims);
  return true;
}

void op_pad(Build *b) {
  IR *ir = b->ir;
  const Node *x = in_node(b, 0);
  if (pad_by_data(b)) return;
  int n, na = x->rank;
  const int64_t *pads = const_ints(b, 1, "pads", &n), *axes = has_in(b, 3) ? const_ints(b, 3, "axes", &na) : NULL;
  if (n != 2 * na) bad(b, "input 'pads' has %d entries for %d axes", n, na);
  if (axes) axes_of(b, axes, na, x->rank);
  Ref fill = c_int(ir, in_dt(b, 0), 0), r = b->in[0];
  if (has_in(b, 2)) {
    if (dims_elems(in_node(b, 2)->dims, in_node(b, 2)->rank) != 1) bad(b, "input 'constant_value' is not a scalar");
    fill = g_reshape(ir, b->in[2], 0, NULL);
  }
  for (int i = 0; i < na; i++) {
    int a = axes ? axis_of(b, axes[i], x->rank) : i;
    int64_t lo = pads[i], hi = pads[na + i], d = x->dims[a];
    if (lo > MAX_ELEMS || hi > MAX_ELEMS || lo < -d || hi < -d || d + lo + hi < 0 || d + lo + hi > MAX_ELEMS)
      bad(b, "the padding on axis %d is %lld and %lld around %lld elements, which is out of range", a, (long long)lo,
          (long long)hi, (long long)d);
    if (!attr_is(b, "mode", "constant")) {
      const bool some = lo || hi;
      if (!form_differs(b, some) && !some) continue;
      r = pad_by_index(b, r, a, lo, hi, attr_is(b, "mode", "edge") ? 'e' : attr_is(b, "mode", "wrap") ? 'w' : 'r');
      continue;
    }
    int64_t cut_lo = lo < 0 ? -lo : 0, cut_hi = hi < 0 ? -hi : 0, keep = d - cut_lo - cut_hi, drop = keep < 0 ? -keep : 0;
    int64_t add_lo = lo > 0 ? lo : 0, add_hi = hi > 0 ? hi : 0; /* one side may cut elements that the other side adds */
    if (drop && cut_lo > d) bad(b, "the padding on axis %d removes more elements than there are", a);
    if (form_differs(b, add_lo || add_hi)) { /* a padding that vanishes at some sizes has an element more at all */
      r = pad_axes(ir, r, a, 1, &add_lo, &(int64_t){ add_hi + 1 }, fill);
      r = shrink_axis(ir, r, a, cut_lo, 1, d + lo + hi);
      continue;
    }
    r = shrink_axis(ir, r, a, keep > 0 ? cut_lo : 0, 1, keep > 0 ? keep : 0);
    if (drop && add_lo) add_lo -= drop;
    else if (drop) add_hi -= drop;
    r = pad_axes(ir, r, a, 1, &add_lo, &add_hi, fill);
  }
  b->out[0] = r;
}

/* The declared extents along some axes, or along all; NULL: they are not known */
static const int64_t *implied_extents(Build *b, const int64_t *axes, int n) {
  int rank;
  const int64_t *dims = is_known(b, 1) ? NULL : declared_dims(b, 0, &rank);
  if (!dims || !axes || rank != in_node(b, 0)->rank) return dims && rank == in_node(b, 0)->rank ? dims : NULL;
  int64_t *some = ARENA_NEW(&b->c->model, int64_t, n + 1);
  for (int i = 0; i < n; i++) some[i] = dims[axis_of(b, axes[i], rank)];
  return some;
}

void op_center_crop_pad(Build *b) {
  const Node *x = in_node(b, 0);
  int n, na;
  const int64_t *axes = attr_ints(b, "axes", &na),
                *want = implied_ints(b, 1, "shape", &n, WILD_NONE, implied_extents(b, axes, na), axes ? na : x->rank);
  if (axes ? na != n : n != x->rank) bad(b, "input 'shape' has %d entries for %d axes", n, axes ? na : x->rank);
  if (axes) axes_of(b, axes, n, x->rank);
  Ref r = b->in[0];
  for (int i = 0; i < n; i++) {
    int a = axes ? axis_of(b, axes[i], x->rank) : i;
    if (want[i] < 0 || want[i] > MAX_ELEMS) bad(b, "entry %d of the shape is %lld, expected 0 to 2^40", i, (long long)want[i]);
    int64_t more = want[i] - x->dims[a], lo = more / 2, hi = more - lo;
    if (more < 0) r = shrink_axis(b->ir, r, a, -more / 2, 1, want[i]);
    else r = pad_axes(b->ir, r, a, 1, &lo, &hi, c_int(b->ir, in_dt(b, 0), 0));
  }
  b->out[0] = r;
}

/* [N, C, H, W] between channels and blocks of pixels */
static int64_t block_size(Build *b, int rank) {
  int64_t s = attr_int(b, "blocksize");
  if (rank != 4) bad(b, "the input has rank %d, expected 4", rank);
  if (s > 1 << 20) bad(b, "attribute 'blocksize' is %lld, expected at most 2^20", (long long)s);
  return s;
}

void op_depth_to_space(Build *b) {
  const Node *x = in_node(b, 0);
  int64_t s = block_size(b, x->rank);
  if (x->dims[1] % (s * s))
    bad(b, "%lld channels are not a multiple of %lld, the square of attribute 'blocksize'", (long long)x->dims[1],
        (long long)(s * s));
  int64_t n = x->dims[0], c = x->dims[1] / (s * s), h = x->dims[2], w = x->dims[3];
  bool crd = attr_is(b, "mode", "CRD");
  int64_t split[] = { n, crd ? c : s, s, crd ? s : c, h, w };
  Ref r = g_permute(b->ir, g_reshape(b->ir, b->in[0], 6, split),
                    crd ? (int64_t[]){ 0, 1, 4, 2, 5, 3 } : (int64_t[]){ 0, 3, 4, 1, 5, 2 });
  b->out[0] = g_reshape(b->ir, r, 4, (int64_t[]){ n, c, h * s, w * s });
}

void op_space_to_depth(Build *b) {
  const Node *x = in_node(b, 0);
  int64_t s = block_size(b, x->rank);
  if (x->dims[2] % s || x->dims[3] % s)
    bad(b, "attribute 'blocksize' is %lld, which does not divide the height %lld and the width %lld", (long long)s,
        (long long)x->dims[2], (long long)x->dims[3]);
  int64_t n = x->dims[0], c = x->dims[1], h = x->dims[2] / s, w = x->dims[3] / s;
  bool crd = attr_is(b, "mode", "CRD");
  Ref r = g_reshape(b->ir, b->in[0], 6, (int64_t[]){ n, c, h, s, w, s });
  r = g_permute(b->ir, r, crd ? (int64_t[]){ 0, 1, 3, 5, 2, 4 } : (int64_t[]){ 0, 3, 5, 1, 2, 4 });
  b->out[0] = g_reshape(b->ir, r, 4, (int64_t[]){ n, c * s * s, h, w });
}

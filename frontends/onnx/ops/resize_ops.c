/* SPDX-License-Identifier: MIT */
/* resize_ops.c: Resize. Each resized axis gets a few taps per output position, with indices and weights computed now: out = sum
 * over taps of weight * x[index]. Nearest has one tap of weight 1, so it is a view where the indices allow one.
 *
 * For a range of sizes the tables are arithmetic: a position is a quotient of whole numbers, which follow from the extents.
 *
 * Axes are resized one after another: first those that shrink, then those that grow, the last axis first, so that most work
 * runs along rows. Coordinates are computed in f64, from exact ratios where sizes are given, because f32 loses exact halves. */
#include "../core/build.h"
#include <math.h>

enum { MAX_TAPS = 1024, MAX_OUT = 1 << 24 }; /* limits: taps per output position, extent of a resized axis */

typedef struct Axis {
  int64_t in, out;
  double scale; /* out / in, or as given */
  bool exact;   /* the scale is out / in */
  bool free;    /* for a range of sizes: the scale differs from size to size */
  int64_t apart; /* for a range of sizes: no two axes of the model have the same number; else 0 */
  double roi_begin, roi_end;
} Axis;

static bool non_empty(Build *b, int k) { return has_in(b, k) && dims_elems(in_node(b, k)->dims, in_node(b, k)->rank); }

static double unscaled(const Axis *a, double x) { return a->exact ? x * (double)a->in / (double)a->out : x / a->scale; }

/* Input position of output position o. A given scale is used exactly, also where it covers a fraction of an element; only the
 * result's extent is rounded down. */
static double coordinate(Build *b, const Axis *a, int64_t o) {
  double x = (double)o, in = (double)a->in, out = a->exact ? (double)a->out : a->scale * in;
  const char *mode = "coordinate_transformation_mode";
  if (attr_is(b, mode, "asymmetric")) return unscaled(a, x);
  if (attr_is(b, mode, "align_corners")) return a->out == 1 ? 0 : x * (in - 1) / (out - 1);
  if (attr_is(b, mode, "tf_half_pixel_for_nn")) return unscaled(a, x + 0.5);
  if (attr_is(b, mode, "pytorch_half_pixel") && a->out == 1) return 0;
  if (attr_is(b, mode, "tf_crop_and_resize")) {
    if (a->out == 1) return 0.5 * (a->roi_begin + a->roi_end) * (in - 1);
    return a->roi_begin * (in - 1) + x * (a->roi_end - a->roi_begin) * (in - 1) / (out - 1);
  }
  double shift = 0;
  if (attr_is(b, mode, "half_pixel_symmetric") && !a->exact) shift = in / 2 * (1 - (double)a->out / out);
  return shift + unscaled(a, x + 0.5) - 0.5;
}

static int64_t nearest(Build *b, double x) {
  double floor_x = floor(x);
  if (attr_is(b, "nearest_mode", "floor")) return (int64_t)floor_x;
  if (attr_is(b, "nearest_mode", "ceil")) return (int64_t)ceil(x);
  if (attr_is(b, "nearest_mode", "round_prefer_ceil")) return (int64_t)floor(x + 0.5);
  return (int64_t)ceil(x - 0.5);
}

static double hat(double x) { return fabs(x) < 1 ? 1 - fabs(x) : 0; }

static double cubic(double x, double a) {
  x = fabs(x);
  if (x <= 1) return ((a + 2) * x - (a + 3)) * x * x + 1;
  return x < 2 ? ((a * x - 5 * a) * x + 8 * a) * x - 4 * a : 0;
}

/* Computes indices and weights [out][taps] of one axis. Returns the number of taps. */
static int make_taps(Build *b, const Axis *a, int64_t **index, double **weight) {
  bool is_cubic = attr_is(b, "mode", "cubic"), near = attr_is(b, "mode", "nearest"), outside = attr_int(b, "exclude_outside");
  double coeff = attr_float(b, "cubic_coeff_a"), shrink = attr_int(b, "antialias") && a->scale < 1 ? a->scale : 1;
  double reach = (is_cubic ? 2 : 1) / shrink;
  if (reach > MAX_TAPS / 2 || a->out > MAX_OUT)
    bad(b, "resizing %lld elements to %lld is over the limit", (long long)a->in, (long long)a->out);
  int64_t first = (int64_t)floor(-reach) + 1, taps = near ? 1 : 2 - 2 * first;
  if (a->out * taps > 4 * MAX_OUT)
    bad(b, "resizing %lld elements to %lld, each computed from %lld of them, is over the limit", (long long)a->in,
        (long long)a->out, (long long)taps);
  *index = ARENA_NEW(&b->c->model, int64_t, a->out * taps + 1);
  *weight = ARENA_NEW(&b->c->model, double, a->out *taps + 1);
  for (int64_t o = 0; o < a->out; o++) {
    double x = coordinate(b, a, o), base = floor(x), sum = 0;
    int64_t *idx = *index + o * taps;
    double *w = *weight + o * taps;
    if (!(fabs(x) < (double)MAX_ELEMS))
      bad(b, "output position %lld maps to input position %g, which is out of range", (long long)o, x);
    for (int64_t t = 0; t < taps; t++) {
      double at = (double)(first + t) - (x - base);
      idx[t] = near ? nearest(b, x) : (int64_t)base + first + t;
      w[t] = near ? 1 : is_cubic ? cubic(at * shrink, coeff) : hat(at * shrink);
      bool in_range = idx[t] >= 0 && idx[t] < a->in;
      if (!near && outside && !in_range) w[t] = 0;
      if (!in_range) idx[t] = idx[t] < 0 ? 0 : a->in - 1;
      sum += w[t];
    }
    for (int64_t t = 0; t < taps && (shrink != 1 || outside); t++) w[t] /= sum;
  }
  return (int)taps;
}

static Ref weights_along(Build *b, DType d, const double *w, int64_t n, int taps, int step, int axis, int rank) {
  int64_t dims[MAX_RANK];
  double *v = ARENA_NEW(&b->c->model, double, n *taps);
  for (int64_t i = 0; i < n * taps; i++) v[i] = w[i * step];
  for (int i = 0; i < rank; i++) dims[i] = i == axis ? n : 1;
  if (taps > 1) dims[axis + 1] = taps;
  return floats_ref(b, d, rank, dims, v);
}

/* ---- ranges of sizes ---- */
/* An input position as a quotient of whole numbers: (o * times + plus) / over at output position o */
typedef struct Position { int64_t times, plus, over; } Position;

/* The scale is p / q. */
static bool small_ratio(double scale, int64_t *p, int64_t *q) {
  enum { Q_MOST = 64 };
  for (*q = 1; *q <= Q_MOST; ++*q) {
    *p = (int64_t)floor(scale * (double)*q + 0.5);
    if (*p > 0 && (double)*p == scale * (double)*q) return true;
  }
  return false;
}

/* Whether positions are quotients that have one form for all sizes */
static bool position_of(Build *b, const Axis *a, Position *x) {
  const char *mode = "coordinate_transformation_mode";
  int64_t p = a->out, q = a->in;
  if (attr_is(b, "mode", "nearest") && !a->free && (p % q == 0 || q % p == 0)) return false; /* a view */
  if (attr_int(b, "antialias") || attr_int(b, "exclude_outside") || attr_is(b, mode, "tf_crop_and_resize")) return false;
  if (attr_is(b, mode, "align_corners")) {
    *x = (Position){ a->in - 1, 0, a->out - 1 };
    return a->out > 1;
  }
  if (attr_is(b, mode, "half_pixel_symmetric") && !a->exact) return false;
  if (!a->free && (!a->exact || !non_empty(b, 3)) && !small_ratio(a->scale, &p, &q)) return false;
  if (attr_is(b, mode, "asymmetric")) *x = (Position){ q, 0, p };
  else *x = (Position){ 2 * q, attr_is(b, mode, "tf_half_pixel_for_nn") ? q : q - p, 2 * p };
  return a->out > 1 || !attr_is(b, mode, "pytorch_half_pixel");
}

/* o * times + plus + over, which is not negative. Equal nodes are one node, and axes that are equally long at the greatest sizes
 * may differ at others. So each axis has the first numbers of a row of its own. */
static Ref dividend(Build *b, const Axis *a, const Position *x, int64_t plus) {
  const Ref o = shrink_axis(b->ir, g_iota(b->ir, DT_I64, a->out + a->apart), 0, 0, 1, a->out);
  return add(b, g_binary(b->ir, OP_MUL, o, integer(b, x->times)), integer(b, x->plus + plus + x->over));
}

static Ref along_axis(Build *b, Ref x, int axis, int rank) {
  int64_t dims[MAX_RANK];
  for (int i = 0; i < rank; i++) dims[i] = i == axis ? node(b->ir, x)->dims[0] : 1;
  return g_reshape(b->ir, x, rank, dims);
}

/* The element of x at floor(position) + at, or the nearest one that there is */
static Ref element_at(Build *b, Ref x, int axis, Ref base, int64_t at) {
  return g_gather(b->ir, x, along_axis(b, at ? add(b, base, integer(b, at)) : base, axis, node(b->ir, x)->rank), axis);
}

static Ref floor_quotient(Build *b, const Axis *a, const Position *x, int64_t plus) {
  return sub(b, g_binary(b->ir, OP_FLDIV, dividend(b, a, x, plus), integer(b, x->over)), integer(b, 1));
}

static Ref nearest_by_arithmetic(Build *b, Ref x, int axis, const Axis *a, const Position *at) {
  int64_t plus = 0; /* ceil(n / m) is floor((n + m - 1) / m) */
  if (attr_is(b, "nearest_mode", "ceil")) plus = at->over - 1;
  else if (attr_is(b, "nearest_mode", "round_prefer_ceil")) plus = at->over / 2;
  else if (!attr_is(b, "nearest_mode", "floor")) plus = at->over - 1 - at->over / 2;
  return element_at(b, x, axis, floor_quotient(b, a, at, plus), 0);
}

/* Weight of the tap `at` places behind floor(position), where the position is `part` behind that */
static Ref tap_weight(Build *b, Ref part, int64_t at) {
  const double coeff = attr_float(b, "cubic_coeff_a");
  if (!attr_is(b, "mode", "cubic")) return at ? part : sub(b, num(b, part, 1), part);
  const Ref far = at < 1 ? add(b, part, num(b, part, (double)-at)) : sub(b, num(b, part, (double)at), part); /* |at - part| */
  const bool near = at == 0 || at == 1;
  const double c[4] = { near ? 1 : -4 * coeff, near ? 0 : 8 * coeff, near ? -(coeff + 3) : -5 * coeff, near ? coeff + 2 : coeff };
  Ref sum = num(b, part, c[3]);
  for (int k = 2; k >= 0; k--) sum = add(b, mul(b, sum, far), num(b, part, c[k]));
  return sum;
}

static Ref resize_by_arithmetic(Build *b, Ref x, int axis, const Axis *a, const Position *at) {
  IR *ir = b->ir;
  if (attr_is(b, "mode", "nearest")) return nearest_by_arithmetic(b, x, axis, a, at);
  const DType d = (DType)node(ir, x)->dt;
  const int rank = node(ir, x)->rank, first = attr_is(b, "mode", "cubic") ? -1 : 0;
  const Ref base = floor_quotient(b, a, at, 0);
  const Ref left = g_cast(ir, g_binary(ir, OP_FLMOD, dividend(b, a, at, 0), integer(b, at->over)), d);
  const Ref part = along_axis(b, g_binary(ir, OP_DIV, left, num(b, left, (double)at->over)), axis, rank);
  Ref sum = 0;
  for (int64_t t = first; t <= 1 - first; t++) {
    const Ref tap = mul(b, element_at(b, x, axis, base, t), tap_weight(b, part, t));
    sum = sum ? add(b, sum, tap) : tap;
  }
  return sum;
}

/* A few taps are added in place. The many taps of antialiasing become a further axis, which is reduced. */
static Ref resize_axis(Build *b, Ref x, int axis, const Axis *a) {
  IR *ir = b->ir;
  Position at;
  if (!a->out) return shrink_axis(ir, x, axis, 0, 1, 0);
  if (b->sized && position_of(b, a, &at)) return resize_by_arithmetic(b, x, axis, a, &at);
  int64_t *index;
  double *weight;
  int taps = make_taps(b, a, &index, &weight), rank = node(ir, x)->rank;
  DType d = (DType)node(ir, x)->dt;
  if (taps == 1) return take(b, x, axis, index, a->out);
  if (taps > 4) {
    int64_t dims[MAX_RANK];
    x = take(b, x, axis, index, a->out * taps);
    for (int i = 0; i < rank; i++) dims[i + (i > axis)] = i == axis ? a->out : node(ir, x)->dims[i];
    dims[axis + 1] = taps;
    x = g_binary(ir, OP_MUL, g_reshape(ir, x, rank + 1, dims), weights_along(b, d, weight, a->out, taps, 1, axis, rank + 1));
    return without_axes(ir, g_reduce(ir, OP_ADD, x, 2u << axis), 2u << axis);
  }
  Ref sum = 0;
  int64_t *column = ARENA_NEW(&b->c->model, int64_t, a->out);
  for (int t = 0; t < taps; t++) {
    bool zero = true;
    for (int64_t o = 0; o < a->out; o++) {
      column[o] = index[o * taps + t];
      zero &= weight[o * taps + t] == 0;
    }
    if (zero) continue;
    Ref part = g_binary(ir, OP_MUL, take(b, x, axis, column, a->out),
                        weights_along(b, d, weight + t, a->out, 1, taps, axis, rank));
    sum = sum ? g_binary(ir, OP_ADD, sum, part) : part;
  }
  return sum;
}

/* ---- sizes, scales and regions of the axes ---- */
static void axes_from_sizes(Build *b, Axis *axes, int n) {
  int count;
  const int64_t *size = const_ints(b, 3, "sizes", &count);
  bool smaller = attr_is(b, "keep_aspect_ratio_policy", "not_smaller"),
       stretch = attr_is(b, "keep_aspect_ratio_policy", "stretch");
  double common = 0;
  if (count != n) bad(b, "input 'sizes' has %d entries for %d axes", count, n);
  for (int i = 0; i < n; i++) {
    if (size[i] < 0 || size[i] > MAX_ELEMS || (!axes[i].in && size[i]))
      bad(b, "entry %d of the sizes is %lld, which is out of range", i, (long long)size[i]);
    double s = axes[i].in ? (double)size[i] / (double)axes[i].in : 1;
    if (!i || (smaller ? s > common : s < common)) common = s;
    axes[i].out = size[i];
    axes[i].scale = s;
    axes[i].exact = true;
    const int64_t shared = i64_gcd(axes[i].in, axes[i].out);
    axes[i].free = shared && form_differs(b, axes[i].in / shared * INT32_MAX + axes[i].out / shared);
  }
  for (int i = 0; i < n && !stretch; i++) {
    axes[i].out = (int64_t)floor(common * (double)axes[i].in + 0.5);
    axes[i].scale = common;
    axes[i].exact = false;
  }
}

/* The extent is computed in f32, as the standard's shape inference does: 0.7f * 10 is 7. */
static void axes_from_scales(Build *b, Axis *axes, int n) {
  int count;
  const double *scale = const_floats(b, 2, "scales", &count);
  if (count != n) bad(b, "input 'scales' has %d entries for %d axes", count, n);
  for (int i = 0; i < n; i++) {
    float out = floorf((float)axes[i].in * (float)scale[i]);
    if (!(scale[i] > 0) || !(out < (float)MAX_ELEMS)) bad(b, "entry %d of the scales is %g, which is out of range", i, scale[i]);
    axes[i].out = (int64_t)out;
    axes[i].scale = scale[i];
    axes[i].exact = (double)axes[i].out == (double)axes[i].in * scale[i];
    /* some exporters give quotients of extents */
    const bool quotient = axes[i].in && (float)axes[i].out / (float)axes[i].in == (float)scale[i];
    axes[i].free = form_differs(b, (int64_t)(scale[i] * INT32_MAX)) && quotient;
    axes[i].exact |= axes[i].free;
  }
}

/* Positions outside of the input get the extrapolation value. */
static Ref extrapolate(Build *b, Ref x, const Axis *axes, const int *which, int n) {
  IR *ir = b->ir;
  const Node *xn = node(ir, x);
  Ref outside = 0;
  for (int i = 0; i < n; i++) {
    int64_t dims[MAX_RANK];
    uint8_t *out = ARENA_NEW(&b->c->model, uint8_t, axes[i].out + 1);
    for (int64_t o = 0; o < axes[i].out; o++) {
      double at = coordinate(b, &axes[i], o);
      out[o] = at < 0 || at > (double)(axes[i].in - 1);
    }
    for (int a = 0; a < xn->rank; a++) dims[a] = a == which[i] ? axes[i].out : 1;
    Ref here = tensor_ref(b, DT_BOOL, xn->rank, dims, out);
    outside = outside ? g_binary(ir, OP_OR, outside, here) : here;
  }
  return outside ? g_where(ir, outside, c_float(ir, (DType)xn->dt, attr_float(b, "extrapolation_value")), x) : x;
}

void op_resize(Build *b) {
  IR *ir = b->ir;
  const Node *x = in_node(b, 0);
  Axis axes[USER_RANK];
  int which[USER_RANK], n = x->rank, listed;
  const int64_t *list = attr_ints(b, "axes", &listed);
  if (list) axes_of(b, list, n = listed, x->rank);
  for (int i = 0; i < n; i++) {
    which[i] = list ? axis_of(b, list[i], x->rank) : i;
    axes[i] = (Axis){ .in = x->dims[which[i]], .roi_end = 1, .apart = b->forms ? MAX_RANK * (int64_t)b->forms->at + i + 1 : 0 };
  }
  if (non_empty(b, 2) == non_empty(b, 3)) bad(b, "exactly one of the inputs 'scales' and 'sizes' must be given");
  if (non_empty(b, 3)) axes_from_sizes(b, axes, n);
  else axes_from_scales(b, axes, n);
  bool crop = attr_is(b, "coordinate_transformation_mode", "tf_crop_and_resize"), near = attr_is(b, "mode", "nearest");
  if (crop) {
    int count = 0;
    const double *roi = non_empty(b, 1) ? const_floats(b, 1, "roi", &count) : NULL;
    if (count != 2 * n) bad(b, "input 'roi' has %d entries for %d axes", count, n);
    for (int i = 0; i < n; i++) {
      axes[i].roi_begin = roi[i];
      axes[i].roi_end = roi[n + i];
    }
  }
  int64_t dims[USER_RANK];
  for (int i = 0; i < x->rank; i++) dims[i] = x->dims[i];
  for (int i = 0; i < n; i++) dims[which[i]] = axes[i].out;
  check_dims(b, x->rank, dims);
  DType d = in_dt(b, 0), work = near ? d : dt_float(d) ? acc_type(d) : DT_F32;
  Ref r = g_cast(ir, b->in[0], work);
  for (int k = 0; k < 2 * n; k++) {
    const int i = k < n ? k : 2 * n - 1 - k;
    const bool same = !axes[i].free && axes[i].in == axes[i].out && axes[i].scale == 1 &&
                      !(crop && (axes[i].roi_begin != 0 || axes[i].roi_end != 1));
    if (!same && (axes[i].free || axes[i].out > axes[i].in) == (k >= n)) r = resize_axis(b, r, which[i], &axes[i]);
    check_dims(b, node(ir, r)->rank, node(ir, r)->dims);
  }
  if (crop) r = extrapolate(b, r, axes, which, n);
  b->out[0] = g_cast(ir, r, d);
}

/* SPDX-License-Identifier: MIT */
/* signal_ops.c: Fourier transforms, windows, and mel weights. A transform of n elements is a product with a matrix. If n = a b,
 * it becomes b transforms of length a, a rotation of each result, and a transforms of length b. Source: Cooley and Tukey, "An
 * algorithm for the machine calculation of complex Fourier series", 1965. The split repeats until the parts have at most LONGEST
 * elements: matrix products of that size are faster than the fewest multiplications. Windows and mel weights only have sizes as
 * inputs, and become constants. */
#include "../core/build.h"
#include <math.h>

enum { LONGEST = 32 }; /* elements; longer transforms are split, if n has factors */

typedef struct Complex { Ref re, im; } Complex; /* [rows, n]; im 0: real */

static DType dt_of(Build *b, Ref x) { return (DType)node(b->ir, x)->dt; }

/* cos and sin of -+2 pi j k / n for j < rows, k < columns */
static Complex circle(Build *b, DType d, int64_t rows, int64_t columns, int64_t n, bool inverse) {
  if (columns > MAX_ELEMS >> 16 || rows * columns > (int64_t)1 << 28)
    bad(b, "a transform of %lld elements is too long", (long long)n);
  double *c = ARENA_NEW(&b->c->model, double, rows * columns), *s = ARENA_NEW(&b->c->model, double, rows * columns);
  for (int64_t j = 0; j < rows; j++)
    for (int64_t k = 0; k < columns; k++) {
      double angle = 2 * M_PI * (double)(j * k % n) / (double)n;
      c[j * columns + k] = cos(angle);
      s[j * columns + k] = inverse ? sin(angle) : -sin(angle);
    }
  int64_t dims[2] = { rows, columns };
  return (Complex){ floats_ref(b, d, 2, dims, c), floats_ref(b, d, 2, dims, s) };
}

/* x times y by op: an elementwise or a matrix product */
static Complex product(Build *b, Complex x, Complex y, Ref (*op)(Build *, Ref, Ref)) {
  if (!x.im) return (Complex){ op(b, x.re, y.re), op(b, x.re, y.im) };
  return (Complex){ sub(b, op(b, x.re, y.re), op(b, x.im, y.im)), add(b, op(b, x.re, y.im), op(b, x.im, y.re)) };
}

static Complex each(Build *b, Complex x, int rank, const int64_t *dims, const int64_t *perm, int64_t rows, int64_t n) {
  Ref *p[2] = { &x.re, &x.im };
  int64_t flat[2] = { rows, n };
  for (int i = 0; i < 2; i++)
    if (*p[i]) *p[i] = g_reshape(b->ir, g_permute(b->ir, g_reshape(b->ir, *p[i], rank, dims), perm), 2, flat);
  return x;
}

static int64_t factor(int64_t n) { /* largest factor up to the square root; 1: none */
  int64_t best = 1;
  for (int64_t a = 2; a * a <= n; a++)
    if (n % a == 0) best = a;
  return best;
}

/* The first `bins` results of a transform of each row */
static Complex transform(Build *b, Complex x, int64_t n, int64_t bins, bool inverse) {
  DType d = dt_of(b, x.re);
  int64_t rows = node(b->ir, x.re)->dims[0], a = n > LONGEST ? factor(n) : 1, m = n / a;
  if (a == 1) return product(b, x, circle(b, d, n, bins, n, inverse), matmul);
  /* element j m + i of a row is [j, i]. First transform over j, for each i. Then over i, for each k. Result k + a l is [l, k] */
  x = each(b, x, 3, (int64_t[]){ rows, a, m }, (int64_t[]){ 0, 2, 1 }, rows * m, a);
  x = transform(b, x, a, a, inverse);
  x = each(b, x, 3, (int64_t[]){ rows, m, a }, (int64_t[]){ 0, 2, 1 }, rows, n);
  Complex turn = circle(b, d, a, m, n, inverse);
  turn.re = g_reshape(b->ir, turn.re, 1, &n);
  turn.im = g_reshape(b->ir, turn.im, 1, &n);
  x = product(b, x, turn, mul);
  x = each(b, x, 2, (int64_t[]){ rows * a, m }, (int64_t[]){ 0, 1 }, rows * a, m);
  x = transform(b, x, m, m, inverse);
  x = each(b, x, 3, (int64_t[]){ rows, a, m }, (int64_t[]){ 0, 2, 1 }, rows, n);
  x.re = shrink_axis(b->ir, x.re, 1, 0, 1, bins);
  x.im = shrink_axis(b->ir, x.im, 1, 0, 1, bins);
  return x;
}

/* n elements of the last axis: cuts, or appends zeros */
static Ref of_length(Build *b, Ref x, int64_t n) {
  int last = node(b->ir, x)->rank - 1;
  int64_t have = node(b->ir, x)->dims[last], none = 0, more = n - have;
  if (more <= 0) return shrink_axis(b->ir, x, last, 0, 1, n);
  return pad_axes(b->ir, x, last, 1, &none, &more, c_float(b->ir, dt_of(b, x), 0));
}

/* All n values of a spectrum whose second half mirrors the first; `had` values are given */
static Complex mirrored(Build *b, Complex x, int64_t n, int64_t had) {
  DType d = dt_of(b, x.re);
  int64_t *from = ARENA_NEW(&b->c->model, int64_t, n + 1);
  double *sign = ARENA_NEW(&b->c->model, double, n + 1);
  for (int64_t k = 0; k < n; k++) {
    from[k] = k <= n / 2 ? k : n - k;
    sign[k] = k == 0 || 2 * k == n ? 0 : k <= n / 2 ? 1 : -1;
  }
  if (n / 2 + 1 > had) x = (Complex){ of_length(b, x.re, n / 2 + 1), of_length(b, x.im, n / 2 + 1) };
  return (Complex){ take(b, x.re, 1, from, n), mul(b, take(b, x.im, 1, from, n), floats_ref(b, d, 1, &n, sign)) };
}

/* x[.., n, parts] as rows, with the transformed axis last but one */
static Complex parts_of(Build *b, Ref x, int64_t rows, int64_t n) {
  IR *ir = b->ir;
  int64_t parts = node(ir, x)->dims[node(ir, x)->rank - 1];
  if (parts != 1 && parts != 2) bad(b, "the last axis has %lld elements, expected 1, or 2 for complex numbers", (long long)parts);
  Ref all = g_reshape(ir, x, 3, (int64_t[]){ rows, n, parts });
  Complex z = { without_axes(ir, shrink_axis(ir, all, 2, 0, 1, 1), 1u << 2), 0 };
  if (parts == 2) z.im = without_axes(ir, shrink_axis(ir, all, 2, 1, 1, 1), 1u << 2);
  return z;
}

static Ref joined(Build *b, Complex z, int rank, const int64_t *dims) { /* dims: the last is that of the parts */
  Ref part[2] = { z.re, z.im };
  int64_t one[MAX_RANK];
  for (int i = 0; i < rank; i++) one[i] = i == rank - 1 ? 1 : dims[i];
  for (int i = 0; i < 2; i++)
    if (part[i]) part[i] = g_reshape(b->ir, part[i], rank, one);
  return z.im ? g_cat(b->ir, 2, part, rank - 1) : part[0];
}

static int64_t size_input(Build *b, int k, const char *name, int64_t least) {
  int n;
  const int64_t *p = const_ints(b, k, name, &n);
  if (n != 1) bad(b, "input '%s' has %d elements, expected one", name, n);
  const int64_t v = *p;
  if (v < least || v > 1 << 28)
    bad(b, "input '%s' must be one integer from %lld to 2^28, found %lld", name, (long long)least, (long long)v);
  return v;
}

void op_dft(Build *b) {
  IR *ir = b->ir;
  const Node *x = in_node(b, 0);
  int n, rank = x->rank, axis = axis_of(b, has_in(b, 2) ? *const_ints(b, 2, "axis", &n) : -2, rank);
  bool inverse = attr_int(b, "inverse"), onesided = attr_int(b, "onesided"), back = inverse && onesided;
  if (rank < 2 || axis == rank - 1) bad(b, "axis %d holds the real and imaginary parts and cannot be transformed", axis);
  int64_t have = x->dims[axis], length = has_in(b, 1) ? size_input(b, 1, "dft_length", 1) : back ? 2 * (have - 1) : have;
  if (length < 1) bad(b, "the transform has %lld elements, expected at least 1", (long long)length);
  int64_t bins = onesided && !inverse ? length / 2 + 1 : length, perm[MAX_RANK], dims[MAX_RANK], out[MAX_RANK];
  for (int i = 0, at = 0; i < rank; i++)
    if (i != axis && i != rank - 1) perm[at++] = i;
  perm[rank - 2] = axis;
  perm[rank - 1] = rank - 1;
  for (int i = 0; i < rank; i++) dims[i] = x->dims[perm[i]];
  Ref data = g_permute(ir, g_cast(ir, b->in[0], acc_type(in_dt(b, 0))), perm);
  Complex z = parts_of(b, data, dims_elems(dims, rank - 2), have);
  if (back && !z.im) bad(b, "a onesided spectrum has to be complex");
  if (back) z = mirrored(b, z, length, have);
  else {
    z.re = of_length(b, z.re, length);
    if (z.im) z.im = of_length(b, z.im, length);
  }
  z = transform(b, z, length, bins, inverse);
  if (back) z.im = 0;
  dims[rank - 2] = bins;
  dims[rank - 1] = z.im ? 2 : 1;
  Ref y = joined(b, z, rank, dims);
  if (inverse) y = mul(b, y, c_float(ir, dt_of(b, y), 1 / (double)length));
  for (int i = 0; i < rank; i++) out[perm[i]] = i;
  b->out[0] = g_cast(ir, g_permute(ir, y, out), in_dt(b, 0));
}

/* inputs: signal [B, L, parts], step between frames, window, frame length */
void op_stft(Build *b) {
  IR *ir = b->ir;
  const Node *x = in_node(b, 0);
  if (x->rank != 2 && x->rank != 3) bad(b, "the signal has rank %d, expected 3", x->rank);
  bool window = has_in(b, 2);
  if (window && in_node(b, 2)->rank != 1) bad(b, "input 'window' has rank %d, expected 1", in_node(b, 2)->rank);
  if (!window && !has_in(b, 3)) bad(b, "there is neither a window nor a 'frame_length'");
  int64_t step = size_input(b, 1, "frame_step", 1), have = x->dims[1],
          length = has_in(b, 3) ? size_input(b, 3, "frame_length", 1) : in_node(b, 2)->dims[0];
  if (window && in_node(b, 2)->dims[0] != length)
    bad(b, "frames have %lld elements, but the window has %lld", (long long)length, (long long)in_node(b, 2)->dims[0]);
  if (have < length) bad(b, "a frame has %lld elements, but the signal has %lld", (long long)length, (long long)have);
  int64_t batch = x->dims[0], frames = (have - length) / step + 1;
  int64_t bins = attr_int(b, "onesided") ? length / 2 + 1 : length;
  Ref signal = g_cast(ir, b->in[0], acc_type(in_dt(b, 0)));
  if (x->rank == 2) signal = g_reshape(ir, signal, 3, (int64_t[]){ batch, have, 1 });
  Complex z = parts_of(b, signal, batch, have);
  Ref *part[2] = { &z.re, &z.im };
  for (int i = 0; i < 2; i++) {
    if (!*part[i]) continue;
    Ref cut = g_window(ir, *part[i], 1, frames, length, step, 1);
    if (window) cut = mul(b, cut, g_cast(ir, b->in[2], dt_of(b, cut)));
    *part[i] = g_reshape(ir, cut, 2, (int64_t[]){ batch * frames, length });
  }
  z = transform(b, z, length, bins, false);
  b->out[0] = g_cast(ir, joined(b, z, 4, (int64_t[]){ batch, frames, bins, 2 }), in_dt(b, 0));
}

/* ---- constants ---- */
static DType wanted(Build *b) {
  int64_t onnx = attr_int(b, "output_datatype");
  DType d = onnx > 0 && onnx < 100 ? dtype_from_onnx((int)onnx) : DT_NONE;
  if (!d || d == DT_BOOL) bad(b, "type %lld of the result is not supported", (long long)onnx);
  return d;
}

/* c0 - c1 cos(t) + c2 cos(2 t) over one period; the row's argument selects the coefficients */
void op_window(Build *b) {
  static const double c[][3] = { { 0.5, 0.5, 0 }, { 25.0 / 46, 21.0 / 46, 0 }, { 0.42, 0.5, 0.08 } };
  const double *k = c[b->row->arg];
  int rank;
  if (is_known(b, 0)) size_input(b, 0, "size", 0); /* checks it */
  int64_t n = *extent_int(b, 0, "size", &rank, 0), round = attr_int(b, "periodic") || n < 2 ? n : n - 1;
  double *v = ARENA_NEW(&b->c->model, double, n + 1);
  for (int64_t i = 0; i < n; i++) {
    double t = 2 * M_PI * (double)i / (double)round;
    v[i] = k[0] - k[1] * cos(t) + k[2] * cos(2 * t);
  }
  b->out[0] = floats_ref(b, wanted(b), 1, &n, v);
}

static double number(Build *b, int k, const char *name) {
  int n;
  double v = *const_floats(b, k, name, &n);
  if (n != 1) bad(b, "input '%s' is not a scalar", name);
  return v;
}

/* Triangles on the mel scale, one per column, over the bins of a spectrum */
void op_mel_weight_matrix(Build *b) {
  int64_t mels = size_input(b, 0, "num_mel_bins", 1), length = size_input(b, 1, "dft_length", 1), bins = length / 2 + 1;
  double rate = number(b, 2, "sample_rate"), edge[2] = { number(b, 3, "lower_edge_hertz"), number(b, 4, "upper_edge_hertz") },
         mel[2];
  for (int i = 0; i < 2; i++) mel[i] = 2595 * log10(1 + edge[i] / 700);
  if (mels > MAX_ELEMS / bins || mels * bins > (int64_t)1 << 28)
    bad(b, "a result of %lld x %lld elements is too large", (long long)bins, (long long)mels);
  int64_t *at = ARENA_NEW(&b->c->model, int64_t, mels + 2);
  for (int64_t i = 0; i < mels + 2; i++) {
    double hertz = 700 * (pow(10, (mel[0] + (double)i * (mel[1] - mel[0]) / (double)(mels + 2)) / 2595) - 1),
           bin = floor((double)(length + 1) * hertz / rate);
    if (!(bin >= 0 && bin < (double)bins))
      bad(b, "frequencies up to %g Hz exceed the spectrum at a sample rate of %g Hz", edge[1], rate);
    at[i] = (int64_t)bin;
  }
  double *v = ARENA_NEW(&b->c->model, double, bins * mels);
  for (int64_t i = 0; i < mels; i++) {
    const int64_t lo = at[i], mid = at[i + 1], hi = at[i + 2];
    for (int64_t k = lo; k <= mid; k++) v[k * mels + i] = mid > lo ? (double)(k - lo) / (double)(mid - lo) : 1;
    for (int64_t k = mid; k < hi; k++) v[k * mels + i] = (double)(hi - k) / (double)(hi - mid);
  }
  b->out[0] = floats_ref(b, wanted(b), 2, (int64_t[]){ bins, mels }, v);
}

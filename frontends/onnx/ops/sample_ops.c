/* SPDX-License-Identifier: MIT */
/* sample_ops.c: sampling at computed positions: GridSample; AffineGrid, which makes its grids; DeformConv. A sample is a
 * weighted sum of the pixels around a position. Each pixel is one gather from the flattened image. Its index is clamped into
 * range, and zero padding replaces the value by 0. */
#include "../core/build.h"
#include <math.h>

enum { MAX_SPATIAL = 3, MAX_SIDE = 4 };

typedef struct Side { /* one axis of the image, with a position per sample */
  int64_t extent;
  double lo, hi;       /* borders at which reflection mirrors */
  int n;               /* number of pixels with a weight */
  Ref index[MAX_SIDE]; /* i64, in range */
  Ref weight[MAX_SIDE];
  Ref inside[MAX_SIDE]; /* pixel is inside of the image; 0: always */
} Side;

/* x mirrored at both borders until it lies between them: a triangle wave. */
static Ref reflected(Build *b, Ref x, double lo, double hi) {
  IR *ir = b->ir;
  double range = hi - lo;
  if (range <= 0) return times(b, x, 0);
  Ref far = g_binary(ir, OP_MOD, g_unary(ir, OP_ABS, plus(b, x, -lo)), num(b, x, 2 * range));
  Ref back = plus(b, g_unary(ir, OP_NEG, far), 2 * range);
  return plus(b, g_binary(ir, OP_MIN, far, back), lo);
}

/* Weight of a pixel at distance d; near: d <= 1 */
static Ref cubic_weight(Build *b, Ref d, bool near) {
  double a = -0.75;
  if (near) return plus(b, g_binary(b->ir, OP_MUL, g_binary(b->ir, OP_MUL, plus(b, times(b, d, a + 2), -(a + 3)), d), d), 1);
  Ref inner = plus(b, g_binary(b->ir, OP_MUL, plus(b, times(b, d, a), -5 * a), d), 8 * a);
  return plus(b, g_binary(b->ir, OP_MUL, inner, d), -4 * a);
}

/* Pixels around position x, and their weights. x is in pixels; it may be NaN or far outside. */
static void side_of(Build *b, Side *s, Ref x) {
  IR *ir = b->ir;
  bool linear = attr_is(b, "mode", "linear") || attr_is(b, "mode", "bilinear"), nearest = attr_is(b, "mode", "nearest");
  bool border = attr_is(b, "padding_mode", "border"), reflection = attr_is(b, "padding_mode", "reflection");
  Ref outside = g_binary(ir, OP_OR, g_binary(ir, OP_CMPLT, x, num(b, x, s->lo)), g_binary(ir, OP_CMPLT, num(b, x, s->hi), x));
  if (border) x = g_where(ir, outside, clamped(b, x, 0, (double)(s->extent - 1)), x);
  if (reflection) x = g_where(ir, outside, reflected(b, x, s->lo, s->hi), x);
  Ref base = g_unary(ir, nearest ? OP_ROUND : OP_FLOOR, x), part = g_binary(ir, OP_SUB, x, base);
  s->n = nearest ? 1 : linear ? 2 : 4;
  for (int t = 0; t < s->n; t++) {
    int step = s->n == 4 ? t - 1 : t;
    Ref at = step ? plus(b, base, step) : base, d = plus(b, times(b, part, step > 0 ? -1 : 1), step > 0 ? step : -step);
    Ref top = num(b, x, (double)(s->extent - 1));
    s->inside[t] = border || reflection
                       ? 0
                       : g_binary(ir, OP_AND, g_binary(ir, OP_CMPLE, num(b, x, 0), at), g_binary(ir, OP_CMPLE, at, top));
    if (reflection) at = reflected(b, at, s->lo, s->hi);
    s->index[t] = clamped(b, g_cast(ir, at, DT_I64), 0, (double)(s->extent - 1));
    s->weight[t] = nearest ? 0 : linear ? plus(b, g_unary(ir, OP_NEG, d), 1) : cubic_weight(b, d, step == 0 || step == 1);
  }
}

/* Pixel of combination m, whose digits select an entry of each side, times its weight */
static Ref pixel(Build *b, Ref image, const Side *sides, int n, int m) {
  IR *ir = b->ir;
  Ref index = 0, weight = 0, inside = 0;
  for (int a = 0; a < n; a++) {
    const Side *s = &sides[a];
    int t = m % s->n;
    m /= s->n;
    index = index ? g_binary(ir, OP_ADD, g_binary(ir, OP_MUL, index, c_int(ir, DT_I64, s->extent)), s->index[t]) : s->index[t];
    if (s->weight[t]) weight = weight ? g_binary(ir, OP_MUL, weight, s->weight[t]) : s->weight[t];
    if (s->inside[t]) inside = inside ? g_binary(ir, OP_AND, inside, s->inside[t]) : s->inside[t];
  }
  Ref v = g_gather(ir, image, index, 2);
  if (inside) v = g_where(ir, inside, v, c_int(ir, (DType)node(ir, v)->dt, 0));
  return weight ? g_binary(ir, OP_MUL, v, g_cast(ir, weight, (DType)node(ir, v)->dt)) : v;
}

void op_grid_sample(Build *b) {
  IR *ir = b->ir;
  const Node *x = in_node(b, 0), *grid = in_node(b, 1);
  int n = x->rank - 2, combinations = 1;
  if (n < 1 || n > MAX_SPATIAL) bad(b, "the input has rank %d, expected 3 to %d", x->rank, MAX_SPATIAL + 2);
  if (grid->rank != x->rank || grid->dims[0] != x->dims[0] || grid->dims[n + 1] != n)
    bad(b, "the grid must have rank %d, %lld images, and %d coordinates for each sample", x->rank, (long long)x->dims[0], n);
  int64_t samples = dims_elems(grid->dims + 1, n), pixels = dims_elems(x->dims + 2, n),
          dims[MAX_RANK] = { x->dims[0], x->dims[1] };
  if (!pixels) bad(b, "the image is empty");
  Side sides[MAX_SPATIAL];
  Ref places = g_cast(ir, g_reshape(ir, b->in[1], 3, (int64_t[]){ x->dims[0], samples, n }), acc_type(in_dt(b, 1)));
  for (int a = 0; a < n; a++) { /* coordinates are in -1..1, last axis first */
    double extent = (double)x->dims[2 + a];
    bool corners = attr_int(b, "align_corners");
    Ref at = g_reshape(ir, shrink_axis(ir, places, 2, n - 1 - a, 1, 1), 3, (int64_t[]){ x->dims[0], 1, samples });
    sides[a] = (Side){ .extent = x->dims[2 + a], .lo = corners ? 0 : -0.5, .hi = corners ? extent - 1 : extent - 0.5 };
    at = corners ? times(b, times(b, plus(b, at, 1), 0.5), extent - 1)
                 : times(b, plus(b, times(b, plus(b, at, 1), extent), -1), 0.5);
    side_of(b, &sides[a], at);
    combinations *= sides[a].n;
    dims[2 + a] = grid->dims[1 + a];
  }
  Ref image = g_cast(ir, g_reshape(ir, b->in[0], 3, (int64_t[]){ x->dims[0], x->dims[1], pixels }), acc_type(in_dt(b, 0))),
      sum = 0;
  for (int m = 0; m < combinations; m++) {
    Ref v = pixel(b, image, sides, n, m);
    sum = sum ? g_binary(ir, OP_ADD, sum, v) : v;
  }
  b->out[0] = g_cast(ir, g_reshape(ir, sum, n + 2, dims), in_dt(b, 0));
}

/* theta[N, n, n + 1] times the homogeneous coordinates (last axis first) of every grid position */
/* [N,C,H,W] or [N,C,D,H,W] by the declared shape of the grid, which does not depend on the channels; NULL: it is not known */
static const int64_t *implied_size(Build *b) {
  int rank;
  const int64_t *dims = is_known(b, 1) ? NULL : declared_dims(b, 0, &rank),
                n = dims_elems(in_node(b, 1)->dims, in_node(b, 1)->rank);
  if (!dims || rank != n || n < 3) return NULL;
  int64_t *size = ARENA_NEW(&b->c->model, int64_t, n);
  for (int64_t i = 0; i < n; i++) size[i] = i > 1 ? dims[i - 1] : i ? -1 : dims[0];
  return size;
}

void op_affine_grid(Build *b) {
  IR *ir = b->ir;
  const Node *theta = in_node(b, 0);
  int count;
  const int64_t *size = implied_ints(b, 1, "size", &count, WILD_NONE, implied_size(b),
                                     (int)dims_elems(in_node(b, 1)->dims, in_node(b, 1)->rank));
  int n = count - 2;
  if (n < 2 || n > MAX_SPATIAL) bad(b, "input 'size' has %d entries, expected 4 or 5", count);
  if (theta->rank != 3 || theta->dims[0] != size[0] || theta->dims[1] != n || theta->dims[2] != n + 1)
    bad(b, "input 'theta' must hold %lld matrices of %d by %d", (long long)size[0], n, n + 1);
  int64_t dims[MAX_RANK] = { size[0] };
  for (int a = 0; a < n; a++) dims[1 + a] = size[2 + a];
  dims[1 + n] = n;
  check_dims(b, n + 2, dims);
  DType d = acc_type(in_dt(b, 0));
  Ref matrix = g_cast(ir, b->in[0], d), sum = 0;
  for (int k = 0; k <= n; k++) { /* column k: coordinate of axis n - 1 - k; the last column is 1 */
    int64_t column[MAX_RANK] = { size[0] };
    for (int a = 0; a < n; a++) column[1 + a] = 1;
    column[1 + n] = n;
    Ref part = g_reshape(ir, shrink_axis(ir, matrix, 2, k, 1, 1), n + 2, column);
    if (k < n) {
      int64_t extent = size[2 + n - 1 - k];
      bool corners = attr_int(b, "align_corners");
      double step = 2.0 / (double)(corners ? extent - 1 : extent);
      Ref at = iota_axis(ir, d, extent, 1 + n - 1 - k, n + 2);
      part = g_binary(ir, OP_MUL, part, plus(b, times(b, at, isinf(step) ? 0 : step), corners ? -1 : -1 + step / 2));
    }
    sum = sum ? g_binary(ir, OP_ADD, sum, part) : part;
  }
  b->out[0] = g_cast(ir, g_expand(ir, sum, n + 2, dims), in_dt(b, 0));
}

/* ---- DeformConv: each tap of each window is sampled at a position with its own offset ---- */
/* inputs: x; weights [M, C / group, taps]; offsets [N, offset groups, taps, 2, positions] with merged axes; a bias; a factor
 * for each sample */
typedef struct Deform {
  int64_t group, groups;         /* groups of channels that share weights, and that share offsets */
  int64_t n, channels, maps;     /* images, channels, filters */
  int64_t k[2], taps, out[2], places, pixels;
} Deform;

static Deform deform_read(Build *b) {
  const Node *x = in_node(b, 0), *w = in_node(b, 1), *off = in_node(b, 2);
  if (x->rank != 4 || w->rank != 4 || off->rank != 4)
    bad(b, "the input, the weights and the offsets must have rank 4: only images with two axes are supported");
  Deform d = { .group = attr_int(b, "group"), .groups = attr_int(b, "offset_group"), .n = x->dims[0], .channels = x->dims[1],
               .maps = w->dims[0], .k = { w->dims[2], w->dims[3] }, .out = { off->dims[2], off->dims[3] } };
  d.taps = elems_mul(b, d.k[0], d.k[1]);
  d.places = elems_mul(b, d.out[0], d.out[1]);
  d.pixels = elems_mul(b, x->dims[2], x->dims[3]);
  const long long group = d.group, groups = d.groups, channels = d.channels, maps = d.maps;
  if (!d.pixels || !d.taps) bad(b, "the images and the filters must not be empty");
  if (elems_mul(b, w->dims[1], group) != channels)
    bad(b, "the weights have %lld channels in %lld groups, but the input has %lld", (long long)w->dims[1], group, channels);
  if (maps % group) bad(b, "attribute 'group' is %lld, which does not divide %lld filters", group, maps);
  if (channels % groups) bad(b, "attribute 'offset_group' is %lld, which does not divide %lld channels", groups, channels);
  if (off->dims[0] != d.n || off->dims[1] != 2 * elems_mul(b, groups, d.taps))
    bad(b, "input 'offset' must have %lld images and 2 x %lld x %lld channels", (long long)d.n, groups, (long long)d.taps);
  if (has_in(b, 4) && dims_elems(in_node(b, 4)->dims, in_node(b, 4)->rank) != d.n * groups * d.taps * d.places)
    bad(b, "input 'mask' must have one element for each sampled value");
  return d;
}

/* The positions of all samples along both axes of the images: [N, offset groups, taps, positions] */
static void deform_positions(Build *b, const Deform *d, DType acc, Ref at[2]) {
  IR *ir = b->ir;
  const Node *x = in_node(b, 0);
  const Ref moved = g_reshape(ir, g_cast(ir, b->in[2], acc), 5, (int64_t[]){ d->n, d->groups, d->taps, 2, d->places });
  int64_t kernel[2], stride[2], dilation[2], pads[4];
  ints_into(b, "kernel_shape", 2, 0, kernel);
  ints_into(b, "strides", 2, 1, stride);
  ints_into(b, "dilations", 2, 1, dilation);
  ints_into(b, "pads", 4, 0, pads);
  for (int a = 0; a < 2; a++) {
    int64_t reach;
    if (!i64_mul(d->k[a] - 1, dilation[a], &reach) || reach > MAX_ELEMS) bad(b, "the kernel is too large on axis %d", a);
    int64_t room = x->dims[2 + a] + pads[a] + pads[2 + a] - reach - 1;
    if ((kernel[a] && kernel[a] != d->k[a]) || room < 0 || room / stride[a] + 1 != d->out[a])
      bad(b, "the offsets do not match the window positions on axis %d", a);
    Ref tap = times(b, iota_axis(ir, acc, d->k[a], 1 + a, 5), (double)dilation[a]),
        place = times(b, iota_axis(ir, acc, d->out[a], 3 + a, 5), (double)stride[a]);
    Ref grid = g_expand(ir, plus(b, g_binary(ir, OP_ADD, tap, place), (double)-pads[a]), 5,
                        (int64_t[]){ 1, d->k[0], d->k[1], d->out[0], d->out[1] });
    grid = g_reshape(ir, grid, 4, (int64_t[]){ 1, 1, d->taps, d->places });
    at[a] = g_binary(ir, OP_ADD, without_axes(ir, shrink_axis(ir, moved, 3, a, 1, 1), 1u << 3), grid);
  }
}

/* One of the four pixels around each position: its value times its weight, 0 outside of the image. Bits of corner: the pixel is
 * the later one along an axis. factor: a further factor of the weight, or 0 */
static Ref deform_corner(Build *b, const Deform *d, Ref image, const Ref at[2], int corner, Ref factor) {
  IR *ir = b->ir;
  const Node *x = in_node(b, 0);
  const int64_t one[4] = { d->n, d->groups, 1, d->taps * d->places };
  Ref index = c_int(ir, DT_I64, 0), weight = factor, inside = 0;
  for (int a = 0; a < 2; a++) {
    Ref base = g_unary(ir, OP_FLOOR, at[a]), part = g_binary(ir, OP_SUB, at[a], base);
    if (corner >> a & 1) base = plus(b, base, 1);
    else part = plus(b, g_unary(ir, OP_NEG, part), 1);
    double top = (double)(x->dims[2 + a] - 1);
    Ref in = g_binary(ir, OP_AND, g_binary(ir, OP_CMPLE, num(b, base, 0), base),
                      g_binary(ir, OP_CMPLE, base, num(b, base, top)));
    inside = inside ? g_binary(ir, OP_AND, inside, in) : in;
    weight = weight ? g_binary(ir, OP_MUL, weight, part) : part;
    Ref whole = clamp_index(b, g_cast(ir, base, DT_I64), x->dims[2 + a]);
    index = g_binary(ir, OP_ADD, g_binary(ir, OP_MUL, index, c_int(ir, DT_I64, x->dims[2 + a])), whole);
  }
  Ref v = g_gather(ir, image, g_reshape(ir, index, 4, one), 3);
  return g_where(ir, g_reshape(ir, inside, 4, one), g_binary(ir, OP_MUL, v, g_reshape(ir, weight, 4, one)), num(b, v, 0));
}

void op_deform_conv(Build *b) {
  IR *ir = b->ir;
  const Deform d = deform_read(b);
  const DType acc = acc_type(in_dt(b, 0));
  const int64_t each = d.channels / d.groups, own = d.channels / d.group; /* channels of a group */
  Ref at[2], sum = 0;
  deform_positions(b, &d, acc, at);
  Ref factor = has_in(b, 4) ? g_cast(ir, b->in[4], acc) : 0;
  if (factor) factor = g_reshape(ir, factor, 4, (int64_t[]){ d.n, d.groups, d.taps, d.places });
  Ref image = g_reshape(ir, g_cast(ir, b->in[0], acc), 4, (int64_t[]){ d.n, d.groups, each, d.pixels });
  for (int corner = 0; corner < 4; corner++) {
    Ref v = deform_corner(b, &d, image, at, corner, factor);
    sum = sum ? g_binary(ir, OP_ADD, sum, v) : v;
  }
  sum = g_expand(ir, sum, 4, (int64_t[]){ d.n, d.groups, each, d.taps * d.places });
  sum = g_reshape(ir, sum, 4, (int64_t[]){ d.n, d.group, own * d.taps, d.places });
  Ref filters = g_reshape(ir, g_cast(ir, b->in[1], acc), 3, (int64_t[]){ d.group, d.maps / d.group, own * d.taps });
  Ref y = g_reshape(ir, matmul(b, filters, sum), 4, (int64_t[]){ d.n, d.maps, d.out[0], d.out[1] });
  b->out[0] = g_cast(ir, has_in(b, 3) ? add_bias(b, y, 3) : y, in_dt(b, 0));
}

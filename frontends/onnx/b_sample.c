/* b_sample.c: sampling at computed places: GridSample and the grids it is fed, AffineGrid. A sample is
 * a weighted sum of the pixels around a place; every pixel is one gather from the flattened image by an
 * index that is clamped into range, with 0 in its place where the padding says so. */
#include "build.h"
#include <math.h>

enum { MAX_SPATIAL = 3, MAX_SIDE = 4 };

typedef struct Side { /* one axis of the image and the places on it, one per sample */
  int64_t extent;
  double lo, hi;       /* borders that reflection mirrors at */
  int n;               /* pixels that count */
  Ref index[MAX_SIDE]; /* i64, in range */
  Ref weight[MAX_SIDE];
  Ref inside[MAX_SIDE]; /* 0: always */
} Side;

static Ref num(Build *b, Ref like, double v) { return c_float(b->ir, (DType)node(b->ir, like)->dt, v); }
static Ref plus(Build *b, Ref x, double v) { return g_binary(b->ir, OP_ADD, x, num(b, x, v)); }
static Ref times(Build *b, Ref x, double v) { return g_binary(b->ir, OP_MUL, x, num(b, x, v)); }
static Ref clamped(Build *b, Ref x, double lo, double hi) {
  return g_binary(b->ir, OP_MIN, g_binary(b->ir, OP_MAX, x, num(b, x, lo)), num(b, x, hi));
}

/* x mirrored at both borders until it lies between them: the distance to lo runs up and down. */
static Ref reflected(Build *b, Ref x, double lo, double hi) {
  IR *ir = b->ir;
  double range = hi - lo;
  if (range <= 0) return g_binary(ir, OP_MUL, x, num(b, x, 0));
  Ref far = g_binary(ir, OP_MOD, g_unary(ir, OP_ABS, plus(b, x, -lo)), num(b, x, 2 * range));
  Ref back = plus(b, g_unary(ir, OP_NEG, far), 2 * range);
  return plus(b, g_binary(ir, OP_MIN, far, back), lo);
}

/* Weight of the pixel at distance d */
static Ref cubic_weight(Build *b, Ref d, bool near) {
  double a = -0.75;
  if (near) return plus(b, g_binary(b->ir, OP_MUL, g_binary(b->ir, OP_MUL, plus(b, times(b, d, a + 2), -(a + 3)), d), d), 1);
  Ref inner = plus(b, g_binary(b->ir, OP_MUL, plus(b, times(b, d, a), -5 * a), d), 8 * a);
  return plus(b, g_binary(b->ir, OP_MUL, inner, d), -4 * a);
}

/* The pixels around place x, and what they count. x is in pixels; it may be NaN or far away. */
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
    Ref index = g_binary(ir, OP_MAX, g_cast(ir, at, DT_I64), c_int(ir, DT_I64, 0));
    s->index[t] = g_binary(ir, OP_MIN, index, c_int(ir, DT_I64, s->extent - 1));
    s->weight[t] = nearest ? 0 : linear ? plus(b, g_unary(ir, OP_NEG, d), 1) : cubic_weight(b, d, step == 0 || step == 1);
  }
}

/* The pixel that digit sides[i] of combination m names, times its weight */
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
    bad(b, "the grid does not hold %d coordinates for each sample of each of %lld images", n, (long long)x->dims[0]);
  int64_t samples = dims_elems(grid->dims + 1, n), pixels = dims_elems(x->dims + 2, n),
          dims[MAX_RANK] = { x->dims[0], x->dims[1] };
  if (!pixels) bad(b, "the image is empty");
  Side sides[MAX_SPATIAL];
  Ref places = g_cast(ir, g_reshape(ir, b->in[1], 3, (int64_t[]){ x->dims[0], samples, n }), acc_type(in_dt(b, 1)));
  for (int a = 0; a < n; a++) { /* coordinates come last axis first, from -1 to 1 */
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

/* theta[N, n, n + 1] times the homogeneous coordinates (last axis first) of every place of the grid */
void op_affine_grid(Build *b) {
  IR *ir = b->ir;
  const Node *theta = in_node(b, 0);
  int count;
  const int64_t *size = const_ints(b, 1, "size", &count);
  int n = count - 2;
  if (n < 2 || n > MAX_SPATIAL) bad(b, "input 'size' has %d entries, expected 4 or 5", count);
  if (theta->rank != 3 || theta->dims[0] != size[0] || theta->dims[1] != n || theta->dims[2] != n + 1)
    bad(b, "input 'theta' is not %lld matrices of %d by %d", (long long)size[0], n, n + 1);
  int64_t dims[MAX_RANK] = { size[0] };
  for (int a = 0; a < n; a++) dims[1 + a] = size[2 + a];
  dims[1 + n] = n;
  check_dims(b, n + 2, dims);
  DType d = acc_type(in_dt(b, 0));
  Ref matrix = g_cast(ir, b->in[0], d), sum = 0;
  for (int k = 0; k <= n; k++) { /* column k: the coordinate of axis n - 1 - k; the last one is 1 */
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

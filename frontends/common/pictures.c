/* SPDX-License-Identifier: MIT */
/* pictures.c: pictures as inputs and outputs, for --convert: from the elements that a camera or a file gives to the values that a
 * model takes. Steps, each of which may be missing: the planes are read; colours are computed; the picture is cropped, warped or
 * resized; it is packed; it is normalised; its axes are ordered as the model's. All values are f32 from the first step that
 * computes on. docs/pictures.md gives the formulas. */
#include "convert.h"
#include "pieces.h"
#include <math.h>

enum { AREA_TAPS = 1024, EXTENT_MOST = 1 << 16 }; /* limits: elements along an axis that are averaged, and pixels along an axis */

typedef struct Size { int64_t h, w; } Size;
typedef struct Way { /* from the picture that the model sees to the one that the caller gives, in pixels of the plane */
  Sampling how;
  Size from, to;
  Ref rect, warp;    /* run-time inputs: f32[4] x, y, width, height; f32[3,3]. 0: none */
  bool half;         /* a plane of half the size in both directions: rect and warp count in pixels of the full size */
  double fill;
  bool replicate;
} Way;

/* A picture or some planes of one, [N, C, H, W], and where its elements lie in memory. So a place that is known at run time needs
 * no quotients. */
typedef struct Plane {
  Ref x, memory;                            /* memory: any shape */
  int64_t at, frame, channel, row, pixel;   /* elements: to the first one, and from each to the next */
} Plane;

/* ---- pieces: pictures are [N, C, H, W] ---- */
static Ref four(IR *ir, Ref x, int64_t n, int64_t ch, int64_t h, int64_t w) {
  return g_reshape(ir, x, 4, (int64_t[]){ n, ch, h, w });
}
static Ref f32(IR *ir, Ref x) { return g_cast(ir, x, DT_F32); }
static Ref add(IR *ir, Ref a, Ref b) { return g_binary(ir, OP_ADD, a, b); }
static Ref sub(IR *ir, Ref a, Ref b) { return g_binary(ir, OP_SUB, a, b); }
static Ref mul(IR *ir, Ref a, Ref b) { return g_binary(ir, OP_MUL, a, b); }
static Ref clipped(IR *ir, Ref x, double lo, double hi) {
  return g_binary(ir, OP_MIN, g_binary(ir, OP_MAX, x, f32_const(ir, lo)), f32_const(ir, hi));
}
static Ref channels(IR *ir, int n, const double *v) { return g_floats(ir, DT_F32, 4, (int64_t[]){ 1, n, 1, 1 }, v); }

/* Element i of a small run-time input, as a scalar */
static Ref pick(IR *ir, Ref x, int64_t i) {
  const int64_t n = dims_elems(node(ir, x)->dims, node(ir, x)->rank);
  return g_reshape(ir, shrink_axis(ir, g_reshape(ir, x, 1, &n), 0, i, 1, 1), 0, NULL);
}

/* ---- resizing along an axis: positions and weights are constants ---- */
static Ref weights_of(IR *ir, const double *w, int64_t n, int64_t taps, int axis) {
  int64_t dims[5] = { 1, 1, 1, 1, 1 };
  dims[axis] = n;
  if (taps > 1) dims[axis + 1] = taps;
  return g_floats(ir, DT_F32, taps > 1 ? 5 : 4, dims, w);
}

static Ref bilinear_axis(Ctx *c, IR *ir, Ref x, int axis, int64_t in, int64_t out) {
  int64_t *at[2];
  double *w[2];
  for (int k = 0; k < 2; k++) {
    at[k] = ARENA_NEW(&c->model, int64_t, out);
    w[k] = ARENA_NEW(&c->model, double, out);
  }
  bool exact = true; /* every position is an element */
  for (int64_t o = 0; o < out; o++) {
    const double p = ((double)o + 0.5) * (double)in / (double)out - 0.5, base = floor(p);
    for (int k = 0; k < 2; k++) at[k][o] = (int64_t)fmin(fmax(base + k, 0), (double)(in - 1));
    w[1][o] = p - base;
    w[0][o] = 1 - w[1][o];
    exact &= w[1][o] == 0;
  }
  const Ref low = g_take(ir, x, axis, at[0], out);
  if (exact) return low;
  return add(ir, mul(ir, low, weights_of(ir, w[0], out, 1, axis)),
             mul(ir, g_take(ir, x, axis, at[1], out), weights_of(ir, w[1], out, 1, axis)));
}

/* The mean over the part of the axis that an element of the result covers */
static Ref area_axis(const Spec *s, IR *ir, Ref x, int axis, int64_t in, int64_t out) {
  const double scale = (double)in / (double)out;
  const int64_t taps = in % out ? (int64_t)ceil(scale) + 1 : in / out;
  if (taps > AREA_TAPS) refuse(s, "area averages %lld elements along an axis, over the limit of %d", (long long)taps, AREA_TAPS);
  int64_t *at = ARENA_NEW(&s->c->model, int64_t, out * taps), dims[5];
  double *w = ARENA_NEW(&s->c->model, double, out *taps);
  for (int64_t o = 0; o < out; o++) {
    const double lo = (double)o * scale, hi = lo + scale;
    for (int64_t t = 0; t < taps; t++) {
      const double p = floor(lo) + (double)t, covered = fmin(hi, p + 1) - fmax(lo, p);
      at[o * taps + t] = p < (double)in ? (int64_t)p : in - 1;
      w[o * taps + t] = p < (double)in && covered > 0 ? covered / scale : 0;
    }
  }
  x = g_take(ir, x, axis, at, out * taps);
  for (int a = 0; a < 4; a++) dims[a + (a > axis)] = a == axis ? out : node(ir, x)->dims[a];
  dims[axis + 1] = taps;
  x = g_reduce(ir, OP_ADD, mul(ir, g_reshape(ir, x, 5, dims), weights_of(ir, w, out, taps, axis)), 2u << axis);
  return without_axes(ir, x, 2u << axis);
}

static Ref resized(const Spec *s, IR *ir, Ref x, Size from, Size to, bool area) {
  if (area && (from.h < to.h || from.w < to.w))
    refuse(s, "area makes pictures smaller; %lldx%lld to %lldx%lld is larger", (long long)from.w, (long long)from.h,
           (long long)to.w, (long long)to.h);
  if (from.w != to.w) x = area ? area_axis(s, ir, x, 3, from.w, to.w) : bilinear_axis(s->c, ir, x, 3, from.w, to.w);
  if (from.h != to.h) x = area ? area_axis(s, ir, x, 2, from.h, to.h) : bilinear_axis(s->c, ir, x, 2, from.h, to.h);
  return x;
}

/* The largest size of the same shape that fits; the rest is filled, half of it on each side. */
static Ref letterboxed(const Spec *s, IR *ir, Ref x, const Way *y) {
  const double scale = fmin((double)y->to.h / (double)y->from.h, (double)y->to.w / (double)y->from.w);
  const Size in = { (int64_t)fmax(1, floor((double)y->from.h * scale + 0.5)),
                    (int64_t)fmax(1, floor((double)y->from.w * scale + 0.5)) };
  const int64_t lo[4] = { 0, 0, (y->to.h - in.h) / 2, (y->to.w - in.w) / 2 };
  const int64_t hi[4] = { 0, 0, y->to.h - in.h - lo[2], y->to.w - in.w - lo[3] };
  return g_pad(ir, resized(s, ir, x, y->from, in, false), lo, hi, f32_const(ir, y->fill));
}

/* ---- positions known at run time ---- */
typedef struct Axis { Ref at[2], part; } Axis; /* positions before and after, i64; the share of the later one */

/* at: f32, from -1 to n; positions outside of the axis become its ends. */
static Axis ends(IR *ir, Ref floor_of, Ref part, int64_t n) {
  Axis a = { .part = part };
  for (int k = 0; k < 2; k++) {
    const Ref p = clipped(ir, k ? add(ir, floor_of, f32_const(ir, 1)) : floor_of, 0, (double)(n - 1));
    a.at[k] = g_cast(ir, g_cast(ir, p, DT_I32), DT_I64);
  }
  return a;
}

static Ref mixed(IR *ir, Ref low, Ref high, Ref part) { /* low + (high - low) * part */
  return add(ir, low, mul(ir, sub(ir, high, low), part));
}

/* The rectangle's edges are those of pixels, so its pixel (0, 0) begins at (x, y). */
static Axis crop_axis(IR *ir, const Way *y, int axis) {
  const int64_t in = axis == 2 ? y->from.h : y->from.w, out = axis == 2 ? y->to.h : y->to.w;
  Ref begin = pick(ir, y->rect, axis == 2 ? 1 : 0), extent = pick(ir, y->rect, axis == 2 ? 3 : 2);
  if (y->half) begin = mul(ir, begin, f32_const(ir, 0.5)), extent = mul(ir, extent, f32_const(ir, 0.5));
  const Ref step = mul(ir, extent, f32_const(ir, 1 / (double)out));
  const Ref middle = add(ir, iota_axis(ir, DT_F32, out, axis, 4), f32_const(ir, 0.5));
  Ref p = clipped(ir, sub(ir, add(ir, mul(ir, middle, step), begin), f32_const(ir, 0.5)), 0, (double)(in - 1));
  p = g_stored(ir, p); /* place and share follow from one position, rounded once */
  const Ref base = g_unary(ir, OP_FLOOR, p);
  return ends(ir, base, sub(ir, p, base), in);
}

static Ref cropped(IR *ir, Ref x, const Way *y) {
  const Axis rows = crop_axis(ir, y, 2), cols = crop_axis(ir, y, 3);
  Ref row[2];
  for (int k = 0; k < 2; k++) {
    const Ref r = g_gather(ir, x, rows.at[k], 2);
    row[k] = mixed(ir, f32(ir, g_gather(ir, r, cols.at[0], 3)), f32(ir, g_gather(ir, r, cols.at[1], 3)), cols.part);
  }
  return mixed(ir, row[0], row[1], rows.part);
}

/* Row i of the matrix times (x, y, 1). In a plane of half the size, pixel (x, y) lies at (2 x + 0.5, 2 y + 0.5) of the full
 * one. */
static Ref matrix_row(IR *ir, const Way *y, int i) {
  Ref at[2];
  for (int k = 0; k < 2; k++) {
    at[k] = iota_axis(ir, DT_F32, k ? y->to.h : y->to.w, k ? 2 : 3, 4);
    if (y->half) at[k] = add(ir, mul(ir, at[k], f32_const(ir, 2)), f32_const(ir, 0.5));
  }
  const Ref m0 = pick(ir, y->warp, 3 * i), m1 = pick(ir, y->warp, 3 * i + 1), m2 = pick(ir, y->warp, 3 * i + 2);
  return add(ir, mul(ir, m0, at[0]), add(ir, mul(ir, m1, at[1]), m2));
}

static Ref abs_diff(IR *ir, Ref a, double b) { return g_unary(ir, OP_ABS, sub(ir, a, f32_const(ir, b))); }

/* Along one axis: the first of two neighbouring pixels, inside of the picture, as f32; and the weights of both. A pixel counts by
 * how near the position is, and not at all from a distance of 1 on, so what lies outside counts as 0. */
typedef struct Near { Ref first, weight[2]; } Near;

static Near near_axis(IR *ir, const Way *y, Ref numerator, Ref recip, int64_t n) {
  Ref p = mul(ir, numerator, recip);
  if (y->half) p = mul(ir, sub(ir, p, f32_const(ir, 0.5)), f32_const(ir, 0.5));
  if (y->replicate) p = clipped(ir, p, 0, (double)(n - 1));
  p = g_stored(ir, p); /* place and weights follow from one position, rounded once */
  Near a = { .first = clipped(ir, g_unary(ir, OP_FLOOR, p), 0, (double)(n - 2)) };
  const Ref from = sub(ir, p, a.first);
  for (int k = 0; k < 2; k++)
    a.weight[k] = g_binary(ir, OP_MAX, sub(ir, f32_const(ir, 1), abs_diff(ir, from, k)), f32_const(ir, 0));
  return a;
}

/* Elements of the picture, as f32 less what fills the outside. at: i32, of the first channel of the first frame */
static Ref tap(IR *ir, const Plane *x, Ref at, double fill) {
  const Node *n = node(ir, x->x);
  const int64_t total = dims_elems(node(ir, x->memory)->dims, node(ir, x->memory)->rank);
  Ref place = g_cast(ir, at, DT_I64);
  const int64_t step[2] = { x->frame, x->channel };
  for (int a = 0; a < 2; a++)
    if (n->dims[a] > 1)
      place = add(ir, place, mul(ir, iota_axis(ir, DT_I64, n->dims[a], a, 4), c_int(ir, DT_I64, step[a])));
  const Ref r = f32(ir, g_gather(ir, four(ir, x->memory, 1, 1, 1, total), place, 3));
  return fill != 0 ? sub(ir, r, f32_const(ir, fill)) : r;
}

static Ref warped(const Spec *s, IR *ir, const Plane *x, const Way *y) {
  const int64_t last = (y->from.h - 2) * x->row + (y->from.w - 2) * x->pixel;
  const double fill = y->replicate ? 0 : y->fill;
  if (y->from.h < 2 || y->from.w < 2) refuse(s, "warp takes pictures of at least two pixels in each direction");
  if (last > INT32_MAX / 4) refuse(s, "the picture is too large for warp");
  const Ref w = matrix_row(ir, y, 2), recip = g_where(ir, g_binary(ir, OP_CMPEQ, w, f32_const(ir, 0)), f32_const(ir, 0),
                                                      g_binary(ir, OP_DIV, f32_const(ir, 1), w));
  const Near cols = near_axis(ir, y, matrix_row(ir, y, 0), recip, y->from.w);
  const Near rows = near_axis(ir, y, matrix_row(ir, y, 1), recip, y->from.h);
  Ref at = add(ir, mul(ir, g_cast(ir, rows.first, DT_I32), c_int(ir, DT_I32, x->row)),
               mul(ir, g_cast(ir, cols.first, DT_I32), c_int(ir, DT_I32, x->pixel)));
  at = g_binary(ir, OP_MIN, g_binary(ir, OP_MAX, at, c_int(ir, DT_I32, 0)), c_int(ir, DT_I32, last)); /* proves the accesses */
  at = g_stored(ir, at); /* lanes of a kernel that gathers compute their indices one by one: faster in a kernel of their own */
  Ref row[2];
  for (int k = 0; k < 2; k++) {
    Ref beside[2];
    for (int i = 0; i < 2; i++)
      beside[i] = mul(ir, tap(ir, x, add(ir, at, c_int(ir, DT_I32, x->at + k * x->row + i * x->pixel)), fill), cols.weight[i]);
    row[k] = mul(ir, add(ir, beside[0], beside[1]), rows.weight[k]);
  }
  const Ref sum = add(ir, row[0], row[1]);
  return fill != 0 ? add(ir, sum, f32_const(ir, fill)) : sum;
}

/* A plane whose elements lie in memory as its shape says */
static Plane dense(IR *ir, Ref x) {
  const int64_t *d = node(ir, x)->dims;
  return (Plane){ x, x, 0, d[1] * d[2] * d[3], d[2] * d[3], d[3], 1 };
}

static Ref sampled(const Spec *s, IR *ir, const Plane *p, const Way *y) {
  const Ref x = p->x;
  Ref r = x;
  switch (y->how) {
  case SAMPLE_NONE: return x;
  case SAMPLE_LETTERBOX: r = letterboxed(s, ir, f32(ir, x), y); break;
  case SAMPLE_CROP: r = cropped(ir, x, y); break;
  case SAMPLE_WARP: r = warped(s, ir, p, y); break;
  default: r = resized(s, ir, f32(ir, x), y->from, y->to, y->how == SAMPLE_AREA);
  }
  return s->round ? g_unary(ir, OP_ROUND, r) : r;
}

/* ---- what the model takes ---- */
typedef struct Picture { int64_t n, ch; Size size; } Picture; /* as the model takes it */

static Picture picture_of(const Spec *s, const GIO *v) {
  if (v->rank != 4) refuse(s, "'%s' is %s; a picture has four axes", v->name, graph_type(s->c, v));
  for (int a = 0; a < 4; a++)
    if (v->dims[a] < 1 || v->dims[a] > EXTENT_MOST)
      refuse(s, "'%s' is %s; the axes of a picture have 1 to %d elements", v->name, graph_type(s->c, v), EXTENT_MOST);
  const bool last = s->model_nhwc;
  return (Picture){ v->dims[0], v->dims[last ? 3 : 1], { v->dims[last ? 1 : 2], v->dims[last ? 2 : 3] } };
}

static Ref as_model(const Spec *s, IR *ir, Ref x, const GIO *v) {
  x = rounded_to(ir, normalised(s, ir, f32(ir, x), 1), v->dt);
  return s->model_nhwc ? g_permute(ir, x, (int64_t[]){ 0, 2, 3, 1 }) : x;
}

/* Size of the caller's picture: that of `size`, else the model's */
static Size source_size(const Spec *s, Size model) {
  if (!s->size.n) return model;
  const double w = s->size.v[0], h = s->size.n > 1 ? s->size.v[1] : 0;
  if (!(w >= 1 && h >= 1 && w <= EXTENT_MOST && h <= EXTENT_MOST && w == floor(w) && h == floor(h)))
    refuse(s, "size needs WIDTHxHEIGHT in pixels, at most %d each", EXTENT_MOST);
  const Size size = { (int64_t)h, (int64_t)w };
  if (!s->sampling && (size.h != model.h || size.w != model.w))
    refuse(s, "the model takes pictures of %lldx%lld; add bilinear, area, letterbox, crop or warp", (long long)model.w,
           (long long)model.h);
  return size;
}

/* Adds the run-time inputs, behind the picture. */
static Way way_of(const Spec *s, Graph *g, const GIO *v, Size from, Size to) {
  static const GIO rect = { .dt = DT_F32, .rank = 1, .dims = { 4 } }, warp = { .dt = DT_F32, .rank = 2, .dims = { 3, 3 } };
  Way y = { .how = (Sampling)s->sampling, .from = from, .to = to, .replicate = s->replicate,
            .fill = s->fill.n ? s->fill.v[0] : s->sampling == SAMPLE_LETTERBOX ? 114 : 0 };
  if (s->sampling == SAMPLE_CROP) y.rect = graph_input(g, &rect, arena_printf(&s->c->model, "%s_rect", v->name));
  if (s->sampling == SAMPLE_WARP) y.warp = graph_input(g, &warp, arena_printf(&s->c->model, "%s_warp", v->name));
  if (s->replicate && s->sampling != SAMPLE_WARP) refuse(s, "replicate has no effect without warp");
  if (s->fill.n && (s->replicate || (s->sampling != SAMPLE_WARP && s->sampling != SAMPLE_LETTERBOX)))
    refuse(s, "fill has no effect without letterbox or warp, or with replicate");
  return y;
}

static void check_even(const Spec *s, Size size) {
  if (size.h % 2 || size.w % 2)
    refuse(s, "a picture in %s has an even width and height, not %lldx%lld", s->form->name, (long long)size.w, (long long)size.h);
}

/* ---- pixels in one plane ---- */
Ref picture_in(const Spec *s, Graph *g, const GIO *v) {
  static const int channels_of[] = { 0, 3, 3, 4, 4, 1 };
  IR *ir = g->ir;
  const Picture p = picture_of(s, v);
  const Size size = source_size(s, p.size);
  const int64_t ch = s->order ? channels_of[s->order] : p.ch;
  const bool last = s->layout ? s->layout == LAYOUT_NHWC : s->model_nhwc;
  if (s->order && s->order != ORDER_GRAY && p.ch != 3) refuse(s, "the model takes %lld channels, expected 3", (long long)p.ch);
  const GIO like = { .dt = s->form->dt, .rank = 4,
                     .dims = { p.n, last ? size.h : ch, last ? size.w : size.h, last ? ch : size.w } };
  Ref x = graph_input(g, &like, v->name);
  const Way y = way_of(s, g, v, size, p.size);
  Plane from = dense(ir, x);
  if (last) from = (Plane){ g_permute(ir, x, (int64_t[]){ 0, 3, 1, 2 }), x, 0, size.h * size.w * ch, 1, size.w * ch, ch };
  if (ch == 4 && s->order) from.x = shrink_axis(ir, from.x, 1, 0, 1, 3);
  if (s->order && s->order != ORDER_GRAY && (s->order == ORDER_BGR || s->order == ORDER_BGRA) != (s->model_bgr != 0)) {
    from.x = g_flip(ir, from.x, 2);
    from.at = 2 * from.channel;
    from.channel = -from.channel;
  }
  x = sampled(s, ir, &from, &y);
  if (s->order == ORDER_GRAY) x = g_expand(ir, x, 4, (int64_t[]){ p.n, p.ch, p.size.h, p.size.w });
  return as_model(s, ir, x, v);
}

/* ---- brightness and chroma ---- */
typedef struct Yuv { Plane y, uv; } Yuv; /* [N, 1, H, W] and [N, 2, ..]: u8 */

/* The chroma planes of yuyv have the full height, the others half of it. */
static Yuv planes_of(const Spec *s, Graph *g, const GIO *v, int64_t n, Size z) {
  IR *ir = g->ir;
  const Form *f = s->form;
  const bool packed = f->planes == PLANES_PACKED, one = n == 1;
  const int64_t rows = packed ? z.h : z.h / 2 * 3, cols = packed ? 2 * z.w : z.w, at[2] = { f->u, f->v };
  const GIO like = { .dt = DT_U8, .rank = one ? 2 : 3, .dims = { one ? rows : n, one ? cols : rows, one ? 0 : cols } };
  const Ref x = g_reshape(ir, graph_input(g, &like, v->name), 3, (int64_t[]){ n, rows, cols });
  const int64_t frame = rows * cols, half = z.w / 2;
  if (packed) {
    const Ref bytes = g_reshape(ir, x, 4, (int64_t[]){ n, z.h, z.w, 2 }), quads = four(ir, x, n, z.h, half, 4);
    const Ref uv = shrink_axis(ir, quads, 3, at[0], at[1] - at[0], 2);
    return (Yuv){ { four(ir, shrink_axis(ir, bytes, 3, f->y, 1, 1), n, 1, z.h, z.w), x, f->y, frame, 1, cols, 2 },
                  { g_permute(ir, uv, (int64_t[]){ 0, 3, 1, 2 }), x, at[0], frame, at[1] - at[0], cols, 4 } };
  }
  const Ref y = four(ir, shrink_axis(ir, x, 1, 0, 1, z.h), n, 1, z.h, z.w), rest = shrink_axis(ir, x, 1, z.h, 1, z.h / 2);
  const Plane luma = { y, x, 0, frame, 1, cols, 1 };
  if (f->planes == PLANES_THREE)
    return (Yuv){ luma, { four(ir, rest, n, 2, z.h / 2, half), x, z.h * z.w, frame, z.h / 2 * half, half, 1 } };
  const Ref uv = g_permute(ir, four(ir, rest, n, z.h / 2, half, 2), (int64_t[]){ 0, 3, 1, 2 });
  return (Yuv){ luma, { at[0] > at[1] ? g_flip(ir, uv, 2) : uv, x, z.h * z.w + at[0], frame, at[1] - at[0], cols, 2 } };
}

/* Kr and Kb of the matrix give R, G and B: each is brightness plus multiples of the chroma. A sample of chroma counts for all the
 * pixels that share it. */
static Ref colours(const Spec *s, IR *ir, Yuv p, int64_t n, Size z) {
  const bool bt709 = s->matrix == MATRIX_709, full = s->range == RANGE_FULL;
  const double kr = bt709 ? 0.2126 : 0.299, kb = bt709 ? 0.0722 : 0.114, kg = 1 - kr - kb;
  const double luma = full ? 1 : 255.0 / 219, chroma = full ? 1 : 255.0 / 224;
  const double of_u[3] = { 0, -2 * (1 - kb) * kb / kg * chroma, 2 * (1 - kb) * chroma };
  const double of_v[3] = { 2 * (1 - kr) * chroma, -2 * (1 - kr) * kr / kg * chroma, 0 };
  Ref uv = sub(ir, f32(ir, p.uv.x), f32_const(ir, 128));
  uv = repeat_axis(ir, uv, 3, 2, true);
  if (node(ir, uv)->dims[2] != z.h) uv = repeat_axis(ir, uv, 2, 2, true);
  Ref y = f32(ir, p.y.x);
  if (!full) y = mul(ir, sub(ir, g_binary(ir, OP_MAX, y, f32_const(ir, 16)), f32_const(ir, 16)), f32_const(ir, luma));
  const Ref u = shrink_axis(ir, uv, 1, 0, 1, 1), v = shrink_axis(ir, uv, 1, 1, 1, 1);
  y = add(ir, add(ir, y, mul(ir, u, channels(ir, 3, of_u))), mul(ir, v, channels(ir, 3, of_v)));
  y = clipped(ir, g_expand(ir, y, 4, (int64_t[]){ n, 3, z.h, z.w }), 0, 255);
  if (s->round) y = g_unary(ir, OP_ROUND, y);
  return s->model_bgr ? g_flip(ir, y, 2) : y;
}

/* Six planes of half the size, as openpilot's models take them. Plane c < 4 has the brightness of rows 2 y + c mod 2 and columns
 * 2 x + c / 2; the others are U and V. A sum of padded planes needs one kernel. Where
 * planes were sampled, a concatenation lets each part be computed at its place. */
static Ref packed_planes(const Spec *s, IR *ir, Ref y, Ref uv, int64_t n, Size half) {
  const int64_t split[] = { n, half.h, 2, half.w, 2 }, none[4] = { 0 }, two[4] = { 0, 2 }, lead[4] = { 0, 4 };
  y = g_permute(ir, g_reshape(ir, y, 5, split), (int64_t[]){ 0, 4, 2, 1, 3 });
  y = four(ir, y, n, 4, half.h, half.w);
  if (s->sampling) return g_cat(ir, 2, (Ref[]){ y, uv }, 1);
  const Ref zero = c_int(ir, (DType)node(ir, y)->dt, 0);
  return add(ir, g_pad(ir, y, none, two, zero), g_pad(ir, uv, lead, none, zero));
}

static Ref yuv6_in(const Spec *s, Graph *g, const GIO *v) {
  const Picture p = picture_of(s, v);
  const Size full = { 2 * p.size.h, 2 * p.size.w }, z = source_size(s, full);
  IR *ir = g->ir;
  check_even(s, z);
  if (p.ch % 6 || s->form->planes == PLANES_PACKED)
    refuse(s, "yuv6 takes nv12, nv21 or i420, for a model that takes a multiple of 6 channels");
  if (s->matrix || s->range) refuse(s, "yuv6 computes no colours; bt601, bt709, limited and full have no effect");
  const int64_t frames = p.n * (p.ch / 6);
  const Yuv planes = planes_of(s, g, v, frames, z);
  const Way y = way_of(s, g, v, z, full);
  Way chroma = y;
  chroma.half = true;
  chroma.fill = s->fill.n ? s->fill.v[0] : 128;
  chroma.from = (Size){ z.h / 2, z.w / 2 };
  chroma.to = p.size;
  const Ref six = packed_planes(s, ir, sampled(s, ir, &planes.y, &y), sampled(s, ir, &planes.uv, &chroma), frames, p.size);
  return as_model(s, ir, four(ir, six, p.n, p.ch, p.size.h, p.size.w), v);
}

Ref picture_yuv_in(const Spec *s, Graph *g, const GIO *v) {
  if (s->yuv6) return yuv6_in(s, g, v);
  const Picture p = picture_of(s, v);
  const Size z = source_size(s, p.size);
  check_even(s, z);
  if (p.ch != 3) refuse(s, "the model takes %lld channels, expected 3; yuv6 packs brightness and chroma", (long long)p.ch);
  const Yuv planes = planes_of(s, g, v, p.n, z);
  const Way y = way_of(s, g, v, z, p.size);
  const Plane rgb = dense(g->ir, colours(s, g->ir, planes, p.n, z));
  return as_model(s, g->ir, sampled(s, g->ir, &rgb, &y), v);
}

/* ---- pictures as outputs ---- */
/* y * std + mean, rounded to nearest, halves to even, and saturated */
Ref picture_out(const Spec *s, Graph *g, const GIO *v) {
  IR *ir = g->ir;
  const bool is_picture = s->layout != LAYOUT_NONE;
  Ref x = f32(ir, graph_input(g, v, v->name));
  g->ir->origin = ir_origin(ir, arena_printf(&s->c->model, "output '%s'", v->name), 0);
  if (is_picture) picture_of(s, v);
  if (is_picture && s->model_nhwc) x = g_permute(ir, x, (int64_t[]){ 0, 3, 1, 2 });
  const int axis = is_picture ? 1 : -1;
  if (s->std.n) x = mul(ir, x, along(s, ir, &s->std, 1, "std", x, axis));
  if (s->mean.n) x = add(ir, x, along(s, ir, &s->mean, 0, "mean", x, axis));
  x = rounded_to(ir, x, s->form->dt);
  return s->layout == LAYOUT_NHWC ? g_permute(ir, x, (int64_t[]){ 0, 2, 3, 1 }) : x;
}

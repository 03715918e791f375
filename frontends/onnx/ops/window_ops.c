/* SPDX-License-Identifier: MIT */
/* window_ops.c: operators that slide a window: Conv, ConvTranspose, pooling, Col2Im. There is no convolution op. The input is
 * padded, WINDOW splits each spatial axis into (out, tap), and channels become (group, channel of the group). A convolution is
 * then REDUCE(ADD, MUL(view of x, view of w)) over channels and taps, which the scheduler recognises as a contraction. */
#include "../../../compiler/interp/interp.h"
#include "../core/build.h"
#include <math.h>
#include <string.h>

enum { SPATIAL = (MAX_RANK - 4) / 2 }; /* most spatial axes: window_sum needs 4 axes, and two for each spatial one */

/* ---- geometry ---- */
typedef struct Window {
  int n; /* number of spatial axes, which are axes 2 .. 1 + n of the input */
  int64_t in[SPATIAL], out[SPATIAL], k[SPATIAL], stride[SPATIAL], dilation[SPATIAL];
  int64_t lo[SPATIAL], hi[SPATIAL]; /* padding of the model */
  int64_t over[SPATIAL];            /* elements that ceil_mode reads beyond the padding */
  bool ceils;                       /* ceil_mode */
} Window;

void ints_into(Build *b, const char *name, int want, int64_t fill, int64_t *to) {
  int n;
  const int64_t *v = attr_ints(b, name, &n);
  if (v && n != want) bad(b, "attribute '%s' has %d entries, expected %d", name, n, want);
  for (int i = 0; i < want; i++) {
    to[i] = v ? v[i] : fill;
    if (to[i] > MAX_ELEMS || to[i] < -MAX_ELEMS)
      bad(b, "attribute '%s' has the entry %lld, which is out of range", name, (long long)to[i]);
  }
}

static int64_t reach(const Window *w, int i) { return (w->k[i] - 1) * w->dilation[i] + 1; } /* extent that a window covers */

/* Reads input, strides, dilations and pads. kernel: extents of the weights, or of kernel_shape */
static void window_read(Build *b, Window *w, const Node *x, const int64_t *kernel) {
  int64_t pads[2 * SPATIAL];
  w->n = x->rank - 2;
  if (w->n < 1 || w->n > SPATIAL) bad(b, "the input has rank %d, expected 3 to %d", x->rank, SPATIAL + 2);
  ints_into(b, "kernel_shape", w->n, 0, w->k);
  ints_into(b, "strides", w->n, 1, w->stride);
  ints_into(b, "dilations", w->n, 1, w->dilation);
  ints_into(b, "pads", 2 * w->n, 0, pads);
  for (int i = 0; i < w->n; i++) {
    w->in[i] = x->dims[2 + i];
    w->lo[i] = pads[i];
    w->hi[i] = pads[w->n + i];
    w->over[i] = 0;
    if (kernel && w->k[i] && w->k[i] != kernel[i])
      bad(b, "attribute 'kernel_shape' is %lld on spatial axis %d, but the weights have %lld", (long long)w->k[i], i,
          (long long)kernel[i]);
    if (kernel) w->k[i] = kernel[i];
    if (w->k[i] < 1) bad(b, "the kernel is empty on spatial axis %d", i);
    int64_t r;
    if (!i64_mul(w->k[i] - 1, w->dilation[i], &r) || r > MAX_ELEMS) bad(b, "the kernel is too large on spatial axis %d", i);
  }
}

/* Applies auto_pad and computes the number of positions. With ceil_mode the last window must start within the input or its
 * leading padding, and may reach beyond the end; it may be the only one. */
static void window_place(Build *b, Window *w, bool ceil_mode) {
  bool valid = attr_is(b, "auto_pad", "VALID"), upper = attr_is(b, "auto_pad", "SAME_UPPER"),
       lower = attr_is(b, "auto_pad", "SAME_LOWER");
  w->ceils = ceil_mode;
  for (int i = 0; i < w->n; i++) {
    if (valid) w->lo[i] = w->hi[i] = 0;
    if (upper || lower) {
      int64_t out = (w->in[i] + w->stride[i] - 1) / w->stride[i], total = (out - 1) * w->stride[i] + reach(w, i) - w->in[i];
      if (total < 0) total = 0;
      w->lo[i] = upper ? total / 2 : total - total / 2;
      w->hi[i] = total - w->lo[i];
    }
    int64_t room = w->in[i] + w->lo[i] + w->hi[i] - reach(w, i);
    if (ceil_mode ? room <= -w->stride[i] : room < 0)
      bad(b, "the kernel covers %lld elements on spatial axis %d, but the padded input has %lld", (long long)reach(w, i), i,
          (long long)(w->in[i] + w->lo[i] + w->hi[i]));
    w->out[i] = room < 0 ? 0 : room / w->stride[i] + 1;
    if (ceil_mode && room % w->stride[i] && w->out[i] * w->stride[i] < w->in[i] + w->lo[i]) {
      w->over[i] = (w->out[i] * w->stride[i]) - room;
      w->out[i]++;
    }
  }
}

/* padded x[a,c,d...] to x[a,c,out...,k...] */
static Ref windows(IR *ir, Ref x, int first, int n, const int64_t *out, const int64_t *k, const int64_t *stride,
                   const int64_t *dilation) {
  for (int i = 0; i < n; i++) x = g_window(ir, x, first + i, out[i], k[i], stride[i], dilation[i]);
  return x;
}

/* The padding at the end of axis i. A width that depends on the extent may be 0 at some size of a range. There must be a padding
 * at each size, so it gets elements that no window takes. */
static bool padding_varies(const Build *b, const Window *w, int i) {
  const bool same = attr_is(b, "auto_pad", "SAME_UPPER") || attr_is(b, "auto_pad", "SAME_LOWER");
  return b->sized && w->stride[i] > 1 && ((same && reach(w, i) >= w->stride[i]) || w->ceils);
}

static int64_t padding_behind(const Build *b, const Window *w, int i) {
  return w->hi[i] + w->over[i] + (padding_varies(b, w, i) ? w->stride[i] - 1 : 0);
}

static Ref padded_windows(Build *b, const Window *w, Ref x, Ref fill) {
  int64_t hi[SPATIAL] = { 0 };
  for (int i = 0; i < w->n; i++) hi[i] = padding_behind(b, w, i);
  return windows(b->ir, pad_axes(b->ir, x, 2, w->n, w->lo, hi, fill), 2, w->n, w->out, w->k, w->stride, w->dilation);
}

static uint32_t tap_axes(const Window *w) { return ((1u << w->n) - 1) << (2 + w->n); }

/* ---- convolution ---- */
/* Sum over the channels of a group and the taps: weights w[M,C/group,k...] times the padded x[N,C,d...]. inside: bools
 * [1,1,d...], true for elements that are terms; 0: all are */
static Ref window_sum(IR *ir, Ref x, Ref w, Ref inside, int64_t group, const int64_t *stride, const int64_t *dilation) {
  const Node *xn = node(ir, x), *wn = node(ir, w);
  int n = xn->rank - 2;
  int64_t out[SPATIAL], channels = wn->dims[1], maps = wn->dims[0];
  for (int i = 0; i < n; i++) out[i] = (xn->dims[2 + i] - (wn->dims[2 + i] - 1) * dilation[i] - 1) / stride[i] + 1;
  int64_t xd[MAX_RANK] = { xn->dims[0], group, 1, channels }, wd[MAX_RANK] = { 1, group, maps / group, channels },
          yd[MAX_RANK] = { xn->dims[0], maps };
  uint32_t axes = 1u << 3;
  for (int i = 0; i < n; i++) {
    xd[4 + i] = yd[2 + i] = out[i];
    wd[4 + i] = 1;
    xd[4 + n + i] = wd[4 + n + i] = wn->dims[2 + i];
    axes |= 1u << (4 + n + i);
  }
  x = g_reshape(ir, windows(ir, x, 2, n, out, wn->dims + 2, stride, dilation), 4 + 2 * n, xd);
  Ref product = g_binary(ir, OP_MUL, x, g_reshape(ir, w, 4 + 2 * n, wd));
  if (inside) {
    xd[0] = xd[1] = xd[3] = 1;
    inside = g_reshape(ir, windows(ir, inside, 2, n, out, wn->dims + 2, stride, dilation), 4 + 2 * n, xd);
    product = g_where(ir, inside, product, c_int(ir, (DType)node(ir, product)->dt, 0));
  }
  return g_reshape(ir, g_reduce(ir, OP_ADD, product, axes), 2 + n, yd);
}

Ref add_bias(Build *b, Ref y, int k) {
  IR *ir = b->ir;
  const Node *n = node(ir, y), *bias = in_node(b, k);
  int64_t dims[MAX_RANK];
  if (bias->rank != 1 || bias->dims[0] != n->dims[1]) bad(b, "the bias must be a vector of %lld elements", (long long)n->dims[1]);
  for (int i = 0; i < n->rank; i++) dims[i] = i == 1 ? n->dims[1] : 1;
  return g_binary(ir, OP_ADD, y, g_reshape(ir, g_cast(ir, b->in[k], (DType)n->dt), n->rank, dims));
}

/* Axis 0 of the weights counts filters, axis 1 the channels of a group. Transposed: axis 0 counts the input's channels. */
static void check_weights(Build *b, const Node *x, const Node *w, bool transposed) {
  int64_t group = attr_int(b, "group");
  if (x->rank < 3) bad(b, "the input has rank %d, expected at least 3", x->rank);
  if (w->rank != x->rank) bad(b, "the weights have rank %d, but the input has rank %d", w->rank, x->rank);
  if (x->dims[1] % group)
    bad(b, "attribute 'group' is %lld, which does not divide %lld channels", (long long)group, (long long)x->dims[1]);
  if (w->dims[0] % group)
    bad(b, "attribute 'group' is %lld, which does not divide %lld filters", (long long)group, (long long)w->dims[0]);
  int64_t channels = transposed ? w->dims[0] : elems_mul(b, w->dims[1], group);
  if (channels != x->dims[1])
    bad(b, "the weights have %lld channels in %lld groups, but the input has %lld", (long long)channels, (long long)group,
        (long long)x->dims[1]);
}

Ref conv(Build *b, Ref x, Ref weights) {
  Window w;
  const Node *xn = node(b->ir, x), *wn = node(b->ir, weights);
  check_weights(b, xn, wn, false);
  window_read(b, &w, xn, wn->dims + 2);
  for (int i = 0; i < w.n; i++)
    if (w.lo[i] < 0 || w.hi[i] < 0) bad(b, "attribute 'pads' is negative on spatial axis %d", i);
  window_place(b, &w, false);
  for (int i = 0; i < w.n; i++) w.hi[i] = padding_behind(b, &w, i);
  x = pad_axes(b->ir, x, 2, w.n, w.lo, w.hi, c_int(b->ir, (DType)xn->dt, 0));
  return window_sum(b->ir, x, weights, 0, attr_int(b, "group"), w.stride, w.dilation);
}

void op_conv(Build *b) {
  DType acc = acc_type(in_dt(b, 0));
  Ref y = conv(b, g_cast(b->ir, b->in[0], acc), g_cast(b->ir, b->in[1], acc));
  b->out[0] = g_cast(b->ir, has_in(b, 2) ? add_bias(b, y, 2) : y, in_dt(b, 0));
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

/* ---- transposed convolution ---- */
/* Output o = s * j + p has phase p. It receives tap t of input i where o = s * i + t. So phase p uses taps t = s * q + p of
 * input j - q: a plain convolution with stride 1 computes all phases of all j.
 *
 * Where `cut` elements in front are cut off, o + cut replaces o, with cut = s * c + r. c shifts the inputs. By r, the first
 * phases belong to j and the last ones to j + 1. With two phases the phase number is that step (`apart`): inputs are read at j
 * + p - q, and no result is cut off. With more phases, or few maps (which vectors want side by side), the result starts and
 * ends in the middle of a j. */
enum { APART_MAPS = 16 }; /* maps per group; with fewer, vectors want the phases side by side */
typedef struct Phases {
  int64_t taps[SPATIAL], n[SPATIAL]; /* extents of q and of j */
  int64_t ahead[SPATIAL];            /* inputs before the first one that the last tap of j = 0 reads */
  int64_t cut[SPATIAL];              /* elements still to be cut off */
  bool apart[SPATIAL];
  int napart;
} Phases;

static Phases phases_of(const Window *w, int64_t maps, const int64_t *out) {
  Phases f = { 0 };
  for (int i = 0; i < w->n; i++) {
    const int64_t s = w->stride[i], r = (w->lo[i] % s + s) % s;
    f.apart[i] = s == 2 && r && maps >= APART_MAPS && 4 + 2 * w->n + f.napart < MAX_RANK;
    f.napart += f.apart[i];
    f.cut[i] = f.apart[i] ? 0 : r;
    f.taps[i] = w->k[i] / s;
    f.n[i] = (out[i] + f.cut[i] + s - 1) / s;
    f.ahead[i] = f.taps[i] - 1 - (w->lo[i] - r) / s;
  }
  return f;
}

/* The weights [C, M/group, k...] for that convolution: [1, group, M/group * s..., C/group, s..., 1..., q...]. First the phases
 * that differ only in weights, then those apart. Taps are split into (q, p), and q runs backwards. */
static Ref phase_weights(Build *b, const Window *w, const Phases *f, int64_t group, DType acc) {
  IR *ir = b->ir;
  Ref r = g_cast(ir, b->in[1], acc);
  const Node *wn = node(ir, r);
  int64_t dims[MAX_RANK], perm[MAX_RANK], channels = wn->dims[0] / group, maps = wn->dims[1];
  int n = w->n, m = 0;
  dims[0] = group;
  dims[1] = channels;
  dims[2] = maps;
  perm[m++] = 0;
  perm[m++] = 2;
  for (int i = 0; i < n; i++) {
    dims[3 + 2 * i] = f->taps[i];
    dims[4 + 2 * i] = w->stride[i];
    if (!f->apart[i]) perm[m++] = 4 + 2 * i, maps *= w->stride[i];
  }
  perm[m++] = 1;
  uint32_t back = ((1u << n) - 1) << (3 + n);
  for (int i = 0; i < n; i++) {
    if (f->apart[i]) back |= 1u << m, perm[m++] = 4 + 2 * i; /* the second phase of j - 1 comes first */
    perm[3 + n + i] = 3 + 2 * i;
  }
  r = g_flip(ir, g_permute(ir, g_reshape(ir, r, 3 + 2 * n, dims), perm), back);
  int64_t all[MAX_RANK] = { 1, group, maps, channels };
  for (int i = 0; i < f->napart + 2 * n; i++) all[4 + i] = i < f->napart ? 2 : i < f->napart + n ? 1 : f->taps[i - f->napart - n];
  return g_reshape(ir, r, 4 + f->napart + 2 * n, all);
}

/* The inputs [N, C, d...] for that convolution: [N, group, 1, C/group, s..., j..., q...] */
static Ref phase_inputs(Build *b, const Window *w, const Phases *f, int64_t group, DType acc) {
  IR *ir = b->ir;
  Ref x = g_cast(ir, b->in[0], acc), zero = c_int(ir, acc, 0);
  const int n = w->n;
  int64_t perm[MAX_RANK] = { 0, 1 }, dims[MAX_RANK] = { node(ir, x)->dims[0], group, 1, node(ir, x)->dims[1] / group };
  int m = 2;
  for (int i = 0; i < n; i++) {
    int64_t all = f->n[i] + f->taps[i] - 1 + f->apart[i], lo = f->ahead[i] > 0 ? f->ahead[i] : 0, skip = lo - f->ahead[i];
    int64_t hi = all + skip - lo - w->in[i] > 0 ? all + skip - lo - w->in[i] : 0;
    x = shrink_axis(ir, pad_axes(ir, x, 2 + i, 1, &lo, &hi, zero), 2 + i, skip, 1, all);
  }
  for (int i = 0; i < n; i++) x = g_window(ir, x, 2 + i, f->n[i] + f->apart[i], f->taps[i], 1, 1);
  for (int i = 0; i < n; i++) {
    if (!f->apart[i]) continue;
    perm[m] = 2 * n + m;
    m++;
    x = g_window(ir, x, 2 + i, f->n[i], 2, 1, 1);
  }
  for (int i = 0; i < 2 * n; i++) perm[m++] = 2 + i;
  x = g_permute(ir, x, perm);
  for (int i = 2; i < m; i++) dims[i + 2] = node(ir, x)->dims[i];
  return g_reshape(ir, x, m + 2, dims);
}

/* Computes the extents of the result, and how much of the full result is cut off in front (negative: added). */
static void transposed_place(Build *b, Window *w, int64_t *out) {
  int64_t shape[SPATIAL], extra[SPATIAL];
  bool upper = attr_is(b, "auto_pad", "SAME_UPPER"), lower = attr_is(b, "auto_pad", "SAME_LOWER");
  ints_into(b, "output_shape", w->n, 0, shape);
  ints_into(b, "output_padding", w->n, 0, extra);
  for (int i = 0; i < w->n; i++) {
    if (extra[i] < 0 || shape[i] < 0)
      bad(b, "attribute '%s' is negative on spatial axis %d", extra[i] < 0 ? "output_padding" : "output_shape", i);
    int64_t full;
    if (!i64_mul(w->in[i] - 1, w->stride[i], &full) || full > MAX_ELEMS) bad(b, "the result is too large on spatial axis %d", i);
    full += reach(w, i) + extra[i];
    if (attr_set(b, "output_shape") || upper || lower) {
      out[i] = attr_set(b, "output_shape") ? shape[i] : w->in[i] * w->stride[i];
      int64_t total = full - out[i] > 0 ? full - out[i] : 0;
      w->lo[i] = upper ? total / 2 : total - total / 2;
    } else {
      if (attr_is(b, "auto_pad", "VALID")) w->lo[i] = w->hi[i] = 0;
      out[i] = full - w->lo[i] - w->hi[i];
    }
    if (out[i] < 1) bad(b, "the result has extent %lld on spatial axis %d, expected at least 1", (long long)out[i], i);
  }
}

/* [N, group, M/group * s..., 1, s..., j..., 1...] to [N, M, j * s...] */
static Ref interleave(Build *b, Ref y, int64_t maps, const Window *w, const Phases *f) {
  IR *ir = b->ir;
  const int64_t batch = node(ir, y)->dims[0];
  int64_t dims[MAX_RANK] = { batch, maps }, perm[MAX_RANK] = { 0, 1 }, merged[MAX_RANK] = { batch, maps };
  for (int apart = 0, m = 2; apart < 2; apart++)
    for (int i = 0; i < w->n; i++)
      if (f->apart[i] == apart) dims[m] = w->stride[i], perm[3 + 2 * i] = m++;
  for (int i = 0; i < w->n; i++) {
    dims[2 + w->n + i] = f->n[i];
    perm[2 + 2 * i] = 2 + w->n + i;
    merged[2 + i] = f->n[i] * w->stride[i];
  }
  return g_reshape(ir, g_permute(ir, g_reshape(ir, y, 2 + 2 * w->n, dims), perm), 2 + w->n, merged);
}

/* ---- transposed convolution whose phases have different taps ---- */
/* If s does not divide the taps, or taps are dilated, the convolution above would multiply by zeros. Inputs would meet zeros
 * among the weights, and weights would meet zeros around the inputs. The standard's sum has no such terms, and infinity times
 * zero would be NaN. So phases are grouped by their taps. First the common divisor of s and the dilation is taken out. Then
 * phase p has taps t0, t0 + s, ..., and tap number m meets input j - q0 - m d. Adjacent phases with equally many taps are the
 * filters of one convolution. */
enum { MAX_STRIDE = 1 << 22 }; /* limit of a stride: tables have an entry per phase */
typedef struct PhaseRun { /* adjacent phases of an axis */
  int64_t n, taps;        /* n: phases; taps: taps of each, 0: its results are zeros */
  int64_t first, step;    /* first: first tap of the first phase; each further phase begins one tap later. step: distance of
                             taps */
  int64_t from;           /* input that the last tap of j = 0 meets */
} PhaseRun;
typedef struct PhaseRuns { int64_t j, dilation; int n; PhaseRun run[]; } PhaseRuns;

static PhaseRuns *phase_runs(Build *b, const Window *w, int i, int64_t out) {
  const int64_t s = w->stride[i], d = w->dilation[i], g = i64_gcd(s, d), step = s / g, r = (w->lo[i] % s + s) % s;
  if (s > MAX_STRIDE) bad(b, "stride %lld on spatial axis %d is over the limit", (long long)s, i);
  PhaseRuns *f = arena_alloc(&b->c->model, sizeof *f + (size_t)s * sizeof *f->run);
  int64_t *tap = ARENA_NEW(&b->c->model, int64_t, s); /* 1 + first tap of each phase */
  for (int64_t t = 0; t < step && t < w->k[i]; t++) tap[t * d % s] = t + 1;
  *f = (PhaseRuns){ .j = (out + s - 1) / s, .dilation = d / g };
  for (int64_t e = 0; e < s; e++) { /* the result begins at phase r */
    const int64_t phase = (r + e) % s, t = tap[phase] - 1;
    PhaseRun p = { .n = 1, .first = t, .step = step };
    if (t >= 0) {
      p.taps = (w->k[i] - t + step - 1) / step;
      p.from = (w->lo[i] - r) / s + (phase < r) - t * d / s - (p.taps - 1) * f->dilation;
    }
    PhaseRun *last = f->n ? &f->run[f->n - 1] : NULL;
    const bool joins = last && last->taps == p.taps && (!p.taps || (last->from == p.from && last->first + last->n == t));
    if (joins) last->n++;
    else f->run[f->n++] = p;
  }
  return f;
}

typedef struct Transposed {
  Build *b;
  const Window *w;
  PhaseRuns *axis[SPATIAL];
  Ref x, weights, none;
  int64_t group;
  bool finite;            /* no weight is infinite or NaN, so zeros around the inputs are harmless */
} Transposed;

/* One run of phases on each axis: [N, M, phases..., j...] */
static Ref run_of_phases(const Transposed *t, const int *run) {
  IR *ir = t->b->ir;
  const Node *xn = node(ir, t->x), *wn = node(ir, t->weights);
  const int n = t->w->n;
  const int64_t channels = wn->dims[0] / t->group, maps = wn->dims[1], batch = xn->dims[0];
  int64_t ones[SPATIAL], dilation[SPATIAL], dims[MAX_RANK] = { batch, maps * t->group }, perm[MAX_RANK] = { 0, 2 }, phases = 1;
  int64_t whole[MAX_RANK] = { 1, 1 };
  Ref x = t->x, w = t->weights;
  for (int i = 0; i < n; i++) {
    const PhaseRun *p = &t->axis[i]->run[run[i]];
    dims[2 + i] = p->n;
    dims[2 + n + i] = t->axis[i]->j;
    whole[2 + i] = t->w->in[i];
    phases *= p->n;
  }
  Ref inside = 0;
  for (int i = 0; i < n; i++)
    if (!t->axis[i]->run[run[i]].taps) return g_expand(ir, t->none, 2 + 2 * n, dims);
  Ref all = g_expand(ir, c_int(ir, DT_BOOL, 1), 2 + n, whole);
  bool padded = false;
  for (int i = 0; i < n; i++) {
    const PhaseRun *p = &t->axis[i]->run[run[i]];
    const int64_t need = t->axis[i]->j + (p->taps - 1) * t->axis[i]->dilation, lo = p->from < 0 ? -p->from : 0;
    const int64_t skip = lo + p->from, behind = need + skip - lo - t->w->in[i], hi = behind > 0 ? behind : 0;
    x = shrink_axis(ir, pad_axes(ir, x, 2 + i, 1, &lo, &hi, t->none), 2 + i, skip, 1, need);
    all = shrink_axis(ir, pad_axes(ir, all, 2 + i, 1, &lo, &hi, c_int(ir, DT_BOOL, 0)), 2 + i, skip, 1, need);
    padded |= lo || hi;
    w = shrink_axis(ir, w, 2 + i, p->first, 1, (p->taps - 1) * p->step + p->n);
    w = g_window(ir, w, 2 + i, p->taps, p->n, p->step, 1); /* [C, M/group, taps..., phases...] */
    ones[i] = 1;
    dilation[i] = t->axis[i]->dilation;
  }
  if (padded && !t->finite) inside = all;
  w = g_flip(ir, w, ((1u << n) - 1) << 2);
  int64_t split[MAX_RANK] = { t->group, channels }, filters[MAX_RANK] = { maps * t->group * phases, channels };
  for (int i = 0; i < 1 + 2 * n; i++) split[2 + i] = node(ir, w)->dims[1 + i];
  for (int i = 0; i < n; i++) perm[2 + i] = 3 + n + i; /* group, M/group, phases, C/group, taps */
  perm[2 + n] = 1;
  for (int i = 0; i < n; i++) perm[3 + n + i] = 3 + i, filters[2 + i] = split[3 + i];
  w = g_reshape(ir, g_permute(ir, g_reshape(ir, w, 3 + 2 * n, split), perm), 2 + n, filters);
  return g_reshape(ir, window_sum(ir, x, w, inside, t->group, ones, dilation), 2 + 2 * n, dims);
}

static Ref runs_of_axis(const Transposed *t, int i, int *run) {
  if (i == t->w->n) return run_of_phases(t, run);
  const PhaseRuns *f = t->axis[i];
  Ref *part = ARENA_NEW(&t->b->c->model, Ref, f->n);
  for (run[i] = 0; run[i] < f->n; run[i]++) part[run[i]] = runs_of_axis(t, i + 1, run);
  return g_cat(t->b->ir, f->n, part, 2 + i);
}

static Ref transposed_by_runs(Build *b, Window *w, const int64_t *out, Ref x, Ref weights, int64_t group, bool finite) {
  IR *ir = b->ir;
  Transposed t = { b, w, { NULL }, x, weights, c_int(ir, (DType)node(ir, x)->dt, 0), group, finite };
  int run[SPATIAL];
  int64_t perm[MAX_RANK] = { 0, 1 }, merged[MAX_RANK] = { node(ir, x)->dims[0], node(ir, weights)->dims[1] * group }, parts = 1;
  for (int i = 0; i < w->n; i++) {
    t.axis[i] = phase_runs(b, w, i, out[i]);
    parts = elems_mul(b, parts, t.axis[i]->n);
  }
  spend(b, parts);
  Ref y = runs_of_axis(&t, 0, run);
  for (int i = 0; i < w->n; i++) {
    perm[2 + 2 * i] = 2 + w->n + i;
    perm[3 + 2 * i] = 2 + i;
    merged[2 + i] = t.axis[i]->j * w->stride[i];
  }
  return g_reshape(ir, g_permute(ir, y, perm), 2 + w->n, merged);
}

static bool all_finite(Build *b, Ref r) {
  Tensor t;
  if (!interp_const(b->ir, r, &t)) return false;
  for (int64_t i = 0; i < (t.data ? t.elems : 1); i++)
    if (!isfinite(bits_to_double(t.dt, tensor_bits(&t, i)))) return false;
  return true;
}

void op_conv_transpose(Build *b) {
  IR *ir = b->ir;
  Window w;
  int64_t group = attr_int(b, "group"), out[SPATIAL];
  DType acc = acc_type(in_dt(b, 0));
  check_weights(b, in_node(b, 0), in_node(b, 1), true);
  window_read(b, &w, in_node(b, 0), in_node(b, 1)->dims + 2);
  transposed_place(b, &w, out);
  bool even = true; /* all phases have equally many taps */
  const bool finite = all_finite(b, b->in[1]);
  for (int i = 0; i < w.n; i++) {
    const bool one = w.in[i] == 1, open = form_differs(b, one);
    if (one && !open) w.stride[i] = w.k[i] * w.dilation[i]; /* each output has at most one tap */
    even &= w.dilation[i] == 1 && w.k[i] % w.stride[i] == 0;
  }
  Ref y;
  if (even && finite) {
    const Phases f = phases_of(&w, in_node(b, 1)->dims[1], out);
    const int sum = 4 + f.napart + w.n; /* axis of the first tap */
    Ref product = g_binary(ir, OP_MUL, phase_inputs(b, &w, &f, group, acc), phase_weights(b, &w, &f, group, acc));
    y = g_reduce(ir, OP_ADD, product, 1u << 3 | ((1u << w.n) - 1) << sum);
    y = interleave(b, y, in_node(b, 1)->dims[1] * group, &w, &f);
    for (int i = 0; i < w.n; i++) y = shrink_axis(ir, y, 2 + i, f.cut[i], 1, out[i]);
  } else {
    y = transposed_by_runs(b, &w, out, g_cast(ir, b->in[0], acc), g_cast(ir, b->in[1], acc), group, finite);
    for (int i = 0; i < w.n; i++) y = shrink_axis(ir, y, 2 + i, 0, 1, out[i]);
  }
  b->out[0] = g_cast(ir, has_in(b, 2) ? add_bias(b, y, 2) : y, in_dt(b, 0));
}

/* ---- pooling ---- */
static void pool_read(Build *b, Window *w) {
  window_read(b, w, in_node(b, 0), NULL);
  window_place(b, w, attr_int(b, "ceil_mode"));
  for (int i = 0; i < w->n; i++)
    if (w->lo[i] < 0 || w->hi[i] < 0 || w->lo[i] >= reach(w, i) || w->hi[i] >= reach(w, i))
      bad(b, "the padding on spatial axis %d is %lld and %lld, expected less than the %lld elements that a window covers", i,
          (long long)w->lo[i], (long long)w->hi[i], (long long)reach(w, i));
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
  Ref first = g_reduce(ir, OP_MIN, g_where(ir, hit, padded_windows(b, w, place, none), none), tap_axes(w));
  Ref y = attr_int(b, "storage_order") ? columns_first(b, w, first) : first;
  bool hollow = false; /* taps may lie on both sides of the input with none inside */
  for (int i = 0; i < w->n; i++) hollow |= w->dilation[i] > w->in[i];
  return hollow ? g_where(ir, g_binary(ir, OP_CMPEQ, first, none), c_int(ir, DT_I64, -1), y) : y;
}

void op_max_pool(Build *b) {
  Window w;
  pool_read(b, &w);
  Ref taps = padded_windows(b, &w, b->in[0], type_limit(b->ir, in_dt(b, 0), false));
  Ref max = g_reduce(b->ir, OP_MAX, taps, tap_axes(&w));
  b->out[0] = without_axes(b->ir, max, tap_axes(&w));
  if (b->nout > 1 && b->n->out[1]) b->out[1] = without_axes(b->ir, max_places(b, &w, taps, max), tap_axes(&w));
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
  return without_axes(ir, g_reduce(ir, OP_ADD, padded_windows(b, &at, ones, zero), tap_axes(w)), tap_axes(w));
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
  Ref sum = g_reduce(ir, OP_ADD, padded_windows(b, &w, g_cast(ir, b->in[0], acc), c_int(ir, acc, 0)), tap_axes(&w));
  Ref y = without_axes(ir, sum, tap_axes(&w)), count = 0;
  for (int i = 0; i < w.n; i++) {
    uniform &= !w.over[i] && (with_pad || (!w.lo[i] && !w.hi[i]));
    all *= w.k[i];
    varies |= padding_varies(b, &w, i) && (!with_pad || w.ceils);
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
  Ref taps = padded_windows(b, &w, g_cast(ir, b->in[0], acc), c_int(ir, acc, 0));
  b->out[0] = g_cast(ir, without_axes(ir, lp_sum(b, taps, tap_axes(&w), attr_int(b, "p")), tap_axes(&w)), in_dt(b, 0));
}

void op_global_lp_pool(Build *b) {
  const Node *x = in_node(b, 0);
  if (x->rank < 2) bad(b, "the input has rank %d, expected at least 2", x->rank);
  Ref acc = g_cast(b->ir, b->in[0], acc_type(in_dt(b, 0)));
  b->out[0] = g_cast(b->ir, lp_sum(b, acc, ((1u << x->rank) - 1) & ~3u, attr_int(b, "p")), in_dt(b, 0));
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
        w.in[i] < reach(&w, i))
      bad(b, "windows of %lld exceed axis %d of %lld elements", (long long)block[i], i, (long long)image[i]);
    w.out[i] = (w.in[i] - reach(&w, i)) / w.stride[i] + 1;
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

/* SPDX-License-Identifier: MIT */
/* transposed_ops.c: ConvTranspose, as sums of windows of the input: one for each phase of the stride. */
#include "../../../compiler/interp/interp.h"
#include "windows.h"
#include <math.h>
#include <string.h>

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
    full += window_reach(w, i) + extra[i];
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
  window_check_weights(b, in_node(b, 0), in_node(b, 1), true);
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

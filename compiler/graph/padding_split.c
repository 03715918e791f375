/* SPDX-License-Identifier: MIT */
/* padding_split.c: splits convolutions so that no part has taps that only meet padding.
 * needs: a folded graph    gives: sums over windows in parts, each only with taps that meet elements, where that is clearly
 * less work
 * breaks: nothing
 *
 * Near the border of an image taps meet zeros. If taps are far apart, most of the image is near the border. An example is 3 by
 * 3 taps on 16 by 16 pixels. If taps are 12 apart, a quarter of the products has an element; if they are 18 apart, one tap of
 * nine. Along an axis the results form stretches with the same taps inside. Each stretch becomes a sum with these taps, over a
 * part of the image without padding. The sums are concatenated, and kernels store their parts in place. Elementwise ops on the
 * results move into the parts, so that no intermediate travels through memory.
 *
 * A padding zero times a weight is 0 if the weight is finite, else NaN. So the weights must be constant and finite. */
#include "../cost/growth.h"
#include "../interp/interp.h"
#include "../ir/decisions.h"
#include "contraction.h"
#include "graph.h"
#include "rules.h"
#include <math.h>

enum { MAX_REPEATS = 3, MAX_WINDOWS = 3, MAX_PATH = 16 };

typedef struct Window {
  int axis, tap;           /* axis of the sum's result, -1: it has extent 1; axis of its terms */
  int64_t begin, stride, dilation, lo, end; /* position of taps; elements are those from lo to end - 1 */
  int64_t out, taps;
  int n;                   /* stretches: results from[i] .. from[i + 1] - 1 */
  int64_t from[MAX_REPEATS + 1];
} Window;

typedef struct Windows {
  Ref product, other;      /* other: the factor without padding */
  int n;
  Window window[MAX_WINDOWS];
  double weights, rows;    /* products of the other extents: of ranges that the other factor has, and of those it lacks */
} Windows;

/* A sum to be split, with the ops that only its results reach. */
typedef struct Split {
  int path;                /* number of nodes in at: the sum last, the first is replaced */
  Ref at[MAX_PATH];
  int n, axis[MAX_WINDOWS]; /* axes of the first node to divide */
  Window window[MAX_WINDOWS];
} Split;

typedef struct Division {
  IR *ir;
  const Target *t;
  Refs order;
  RefMap user, split;      /* node to its only user; node to its index in splits + 1 */
  VEC(Split) splits;
} Division;

/* ---- positions of taps ---- */
/* Taps that are inside for some of the results from .. to - 1; at least one. */
static void taps_inside(const Window *w, int64_t from, int64_t to, int64_t *first, int64_t *n) {
  int64_t end = 1;
  *first = w->taps - 1;
  for (int64_t o = from; o < to; o++)
    for (int64_t k = 0; k < w->taps; k++) {
      const int64_t at = w->begin + o * w->stride + k * w->dilation;
      if (at < w->lo || at >= w->end) continue;
      if (k < *first) *first = k;
      if (k >= end) end = k + 1;
    }
  if (*first >= end) *first = end - 1;
  *n = end - *first;
}

static void find_repeats(Window *w) {
  int64_t first = 0, n = 0;
  w->n = 0;
  for (int64_t o = 0; o < w->out; o++) {
    int64_t f, m;
    taps_inside(w, o, o + 1, &f, &m);
    if (o && f == first && m == n) continue;
    first = f;
    n = m;
    if (w->n == MAX_REPEATS) {
      w->n = 1;
      break;
    }
    w->from[w->n++] = o;
  }
  w->from[w->n] = w->out;
}

/* Terms of the only window along an axis */
static bool alone(IR *ir, const Contraction *c, int x, int tap, Window *w) {
  const Node *pad = node(ir, c->base[x]);
  const CRange *r = &c->range[tap];
  Ref rest;
  for (int a = 0; a < pad->rank; a++)
    if (ix_split(ir, c->at[x][a], r->range, &w->dilation, &rest) && w->dilation && node_is_const(ir, rest, &w->begin)) {
      const int64_t lo = pad_lo(pad, a), hi = pad_hi(pad, a);
      *w = (Window){ -1, r->axis, w->begin, 1, w->dilation, lo, pad->dims[a] - hi, 1, r->extent, 0, { 0 } };
      return lo || hi;
    }
  return false;
}

/* Finds the windows of a sum over zero-padded values. */
static bool find_windows(IR *ir, Ref sum, Windows *v) {
  Contraction c;
  int64_t fill;
  *v = (Windows){ .weights = 1, .rows = 1 };
  if (node(ir, sum)->dt != DT_F32 || !contraction_find(ir, sum, &c)) return false;
  const int x = node(ir, c.base[1])->op == OP_PAD;
  const Node *pad = node(ir, c.base[x]);
  v->product = view_base(ir, operand(node(ir, sum)));
  v->other = c.base[!x];
  if (pad->op != OP_PAD || !node_is_const(ir, pad_fill(pad), &fill) || fill) return false;
  bool known[MAX_RANK] = { false };
  for (int i = 0; i < c.nwindows; i++) {
    const CWindow *w = &c.window[i];
    const CRange *out = &c.range[w->out], *tap = &c.range[w->tap];
    if (out->in[!x]) continue; /* groups of channels */
    if (w->factor != x || v->n == MAX_WINDOWS || known[w->out] || known[w->tap]) return false;
    known[w->out] = known[w->tap] = true;
    v->window[v->n++] = (Window){ out->axis, tap->axis, w->begin, w->stride, w->dilation, pad_lo(pad, w->axis),
                                  pad->dims[w->axis] - pad_hi(pad, w->axis), out->extent, tap->extent, 0, { 0 } };
  }
  for (int i = 0; i < c.n; i++)
    if (!known[i] && c.range[i].summed && c.range[i].in[x] && v->n < MAX_WINDOWS && alone(ir, &c, x, i, &v->window[v->n]))
      known[i] = ++v->n > 0;
  for (int i = 0; i < c.n; i++)
    if (!known[i]) *(c.range[i].in[!x] ? &v->weights : &v->rows) *= (double)c.range[i].extent;
  return v->n > 0;
}

static bool all_finite(IR *ir, Ref r) {
  Tensor t;
  if (!interp_const(ir, r, &t)) return false;
  for (int64_t i = 0; i < (t.data ? t.elems : 1); i++)
    if (!isfinite(bits_to_double(t.dt, tensor_bits(&t, i)))) return false;
  return true;
}

/* ---- cost ---- */
/* Cycles of a separate sum with that many multiply-adds */
static double part_cycles(const Target *t, double macs, double weights) {
  const double read = 4 * weights / rate(t, L2_BYTES, PADDING), busy = macs / fmax(1, multiply_adds(t, BY_PADDING));
  return overlapped(t, BY_PADDING, read, busy) + start_cycles(t, BY_PADDING, 1);
}

/* Cycles of a sum for so many results, each with so many taps. Few rows do not hide the latency of sums. */
static double sum_cycles(const Windows *v, const Target *t, double results, double taps) {
  const double rows = fmax(results * v->rows, rate(t, HIDING_ROWS, PADDING));
  return part_cycles(t, rows * taps * v->weights, taps * v->weights);
}

/* Cycles of the parts, for all combinations from window i on; results, taps: products over earlier windows */
static double parts_cycles(const Windows *v, const Target *t, int i, double results, double taps) {
  double cycles = 0;
  if (i == v->n) return sum_cycles(v, t, results, taps);
  const Window *w = &v->window[i];
  for (int k = 0; k < w->n; k++) {
    int64_t first, n;
    taps_inside(w, w->from[k], w->from[k + 1], &first, &n);
    cycles += parts_cycles(v, t, i + 1, results * (double)(w->from[k + 1] - w->from[k]), taps * (double)n);
  }
  return cycles;
}

static double whole_cycles(const Windows *v, const Target *t) {
  double results = 1, taps = 1;
  for (int i = 0; i < v->n; i++) results *= (double)v->window[i].out, taps *= (double)v->window[i].taps;
  return sum_cycles(v, t, results, taps);
}

/* The memory that the stretches take beyond the whole: each part has a copy of the weights at its taps. */
static Growth growth_of(const IR *ir, const Windows *v, const Target *t) {
  double whole = 1, parts = 1;
  for (int i = 0; i < v->n; i++) {
    const Window *w = &v->window[i];
    int64_t copies = 0, first, n;
    for (int k = 0; k < w->n; k++, copies += n) taps_inside(w, w->from[k], w->from[k + 1], &first, &n);
    whole *= (double)w->taps;
    parts *= (double)copies;
  }
  return (Growth){ .form = "parts without padding",
                   .origin = node(ir, v->product)->origin,
                   .weights = 4 * v->weights * (parts - whole),
                   .gain = whole_cycles(v, t) - parts_cycles(v, t, 0, 1, 1) };
}

/* Divides the axes in a bit mask, others not; all: windows with their stretches */
static void divide_axes(Windows *v, const Window *all, int axes) {
  for (int i = 0; i < v->n; i++) {
    v->window[i] = all[i];
    if (!(axes >> i & 1)) v->window[i].n = 1, v->window[i].from[1] = all[i].out;
  }
}

static bool memory_allows(const IR *ir, const Windows *v, const Target *t) {
  const Growth g = growth_of(ir, v, t);
  return growth_allowed(ir, &g);
}

/* The axes to divide, as a mask, if that is clearly less work; else -1. Mask 0 only drops taps that no result needs. Without
 * vectors no axis is divided, since memory is scarcer than time. */
static int cheapest_axes(const IR *ir, Windows *v, const Window *all, const Target *t) {
  double best = tunable(ir->ctx, padding_gain) * whole_cycles(v, t);
  int found = -1;
  for (int axes = 0; axes < (t->vector_bytes ? 1 << v->n : 1); axes++) {
    divide_axes(v, all, axes);
    const double cycles = parts_cycles(v, t, 0, 1, 1);
    if (cycles < best && memory_allows(ir, v, t)) best = cycles, found = axes;
  }
  return found;
}

static const char *axes_text(Arena *a, int axes) { return axes < 0 ? "none" : arena_printf(a, "axes-%d", axes); }

static bool choose_repeats(IR *ir, Ref sum, Windows *v, const Target *t) {
  const Question q = ask_node(ir, "padding_split", sum);
  Window all[MAX_WINDOWS];
  int axes = -2;
  for (int i = 0; i < v->n; i++) find_repeats(&v->window[i]);
  memcpy(all, v->window, sizeof all);
  for (int k = -1; k < 1 << v->n && q.given && axes == -2; k++)
    if (!strcmp(q.given, axes_text(&ir->ctx->model, k))) axes = k;
  if (q.given && axes == -2) answer_refused(ir, &q, "the convolution has no such axes");
  if (axes >= 0) {
    divide_axes(v, all, axes);
    if (!memory_allows(ir, v, t)) answer_refused(ir, &q, "such parts take too many bytes"), axes = -2;
  }
  if (axes == -2) axes = cheapest_axes(ir, v, all, t);
  answer_with(ir, &q, axes_text(&ir->ctx->model, axes));
  divide_axes(v, all, axes < 0 ? 0 : axes);
  return axes >= 0;
}

/* ---- parts of values: elements begin .. begin + dims - 1 of each axis ---- */
/* The same box in the source of a reshape; false: an axis that is split or merged is not taken whole */
static bool box_below_reshape(const Node *x, const Node *s, const int64_t *begin, const int64_t *dims, int64_t *from,
                              int64_t *n) {
  for (int a = 0; a < s->rank; a++) from[a] = 0, n[a] = s->dims[a];
  for (int i = 0; i < x->rank; i++) {
    if (dims[i] == x->dims[i]) continue;
    const int a = reshape_axis(s, x, i);
    if (a < 0) return false;
    from[a] = begin[i];
    n[a] = dims[i];
  }
  return true;
}

static Ref part_of_pad(IR *ir, Ref r, const int64_t *begin, const int64_t *dims) {
  const Node *x = node(ir, r), *s = node(ir, pad_data(x));
  int64_t from[MAX_RANK], n[MAX_RANK], lo[MAX_RANK], hi[MAX_RANK];
  for (int a = 0; a < x->rank; a++) {
    const int64_t first = begin[a] - pad_lo(x, a), last = first + dims[a];
    from[a] = first < 0 ? 0 : first;
    const int64_t end = last > s->dims[a] ? s->dims[a] : last;
    n[a] = end - from[a];
    if (n[a] < 1) return g_shrink(ir, r, begin, NULL, dims);
    lo[a] = from[a] - first;
    hi[a] = last - end;
  }
  return g_pad(ir, g_shrink(ir, pad_data(x), from, NULL, n), lo, hi, pad_fill(x));
}

/* A part of a product and the views around it; only the needed part of their sources is used. */
static Ref part_of_view(IR *ir, Ref r, Ref product, const int64_t *begin, const int64_t *dims) {
  const Node *x = node(ir, r), *s = x->nsrc ? node(ir, x->src[0]) : x;
  int64_t from[MAX_RANK], n[MAX_RANK];
  if (r == product)
    return g_binary(ir, OP_MUL, part_of_view(ir, lhs(x), 0, begin, dims), part_of_view(ir, rhs(x), 0, begin, dims));
  switch ((Op)x->op) {
  case OP_RESHAPE:
    if (!box_below_reshape(x, s, begin, dims, from, n)) break;
    return g_reshape(ir, part_of_view(ir, operand(x), product, from, n), x->rank, dims);
  case OP_PERMUTE:
    for (int i = 0; i < x->rank; i++) from[permute_perm(x, i)] = begin[i], n[permute_perm(x, i)] = dims[i];
    return g_permute(ir, part_of_view(ir, operand(x), product, from, n), x->arg);
  case OP_EXPAND:
    for (int i = 0; i < x->rank; i++) from[i] = s->dims[i] == 1 ? 0 : begin[i], n[i] = s->dims[i] == 1 ? 1 : dims[i];
    return g_expand(ir, part_of_view(ir, operand(x), product, from, n), x->rank, dims);
  case OP_WINDOW: {
    const int a = (int)window_axis(x), tap = s->rank;
    memcpy(from, begin, (size_t)tap * sizeof *from);
    memcpy(n, dims, (size_t)tap * sizeof *n);
    from[a] = begin[a] * window_stride(x) + begin[tap] * window_dilation(x);
    n[a] = (dims[a] - 1) * window_stride(x) + (dims[tap] - 1) * window_dilation(x) + 1;
    return g_window(ir, part_of_view(ir, operand(x), product, from, n), a, dims[a], dims[tap], window_stride(x),
                    window_dilation(x));
  }
  case OP_PAD: return part_of_pad(ir, r, begin, dims);
  default: break;
  }
  return g_shrink(ir, r, begin, NULL, dims);
}

static Ref part_of_sum(IR *ir, Ref sum, const int64_t *begin, const int64_t *dims) {
  const Node *x = node(ir, sum), *body = node(ir, operand(x));
  int64_t from[MAX_RANK], n[MAX_RANK];
  Windows v;
  CHECK(find_windows(ir, sum, &v));
  for (int a = 0; a < x->rank; a++) {
    const bool summed = reduce_axes(x) >> a & 1;
    from[a] = summed ? 0 : begin[a];
    n[a] = summed ? body->dims[a] : dims[a];
  }
  for (int i = 0; i < v.n; i++) {
    const Window *w = &v.window[i];
    const int64_t first = w->axis < 0 ? 0 : begin[w->axis];
    taps_inside(w, first, first + (w->axis < 0 ? 1 : dims[w->axis]), &from[w->tap], &n[w->tap]);
  }
  return g_reduce(ir, OP_ADD, part_of_view(ir, operand(x), v.product, from, n), reduce_axes(x));
}

/* A part of the value that path[0] computes from the sum at the path's end */
static Ref part_of_path(IR *ir, const Ref *path, int left, const int64_t *begin, const int64_t *dims) {
  const Node *x = node(ir, path[0]);
  int64_t from[MAX_RANK], n[MAX_RANK];
  Ref src[4];
  ir->origin = x->origin;
  if (left == 1) return part_of_sum(ir, path[0], begin, dims);
  if (x->op == OP_RESHAPE) {
    CHECK(box_below_reshape(x, node(ir, operand(x)), begin, dims, from, n));
    return g_reshape(ir, part_of_path(ir, path + 1, left - 1, from, n), x->rank, dims);
  }
  if (x->op == OP_PERMUTE) {
    for (int i = 0; i < x->rank; i++) from[permute_perm(x, i)] = begin[i], n[permute_perm(x, i)] = dims[i];
    return g_permute(ir, part_of_path(ir, path + 1, left - 1, from, n), x->arg);
  }
  for (int k = 0; k < x->nsrc; k++) {
    const bool scalar = !node(ir, x->src[k])->rank;
    if (x->src[k] == path[1]) src[k] = part_of_path(ir, path + 1, left - 1, begin, dims);
    else src[k] = scalar ? x->src[k] : g_shrink(ir, x->src[k], begin, NULL, dims);
    ir->origin = x->origin;
  }
  return node_make(ir, (Op)x->op, (DType)x->dt, x->lanes, x->nsrc, src, x->narg, x->arg, x->rank, dims);
}

static Ref parts(IR *ir, const Split *s, const Ref *path, int i, int64_t *begin, int64_t *dims) {
  if (i == s->n) return part_of_path(ir, path, s->path, begin, dims);
  const Window *w = &s->window[i];
  Ref part[MAX_REPEATS];
  for (int k = 0; k < w->n; k++) {
    begin[s->axis[i]] = w->from[k];
    dims[s->axis[i]] = w->from[k + 1] - w->from[k];
    part[k] = parts(ir, s, path, i + 1, begin, dims);
  }
  return g_cat(ir, w->n, part, s->axis[i]);
}

/* ---- candidate sums ---- */
/* Follows a sum to the last op that is elementwise on its results or moves whole axes of them. */
static void follow_results(const Division *b, Split *s) {
  const IR *ir = b->ir;
  Ref up[MAX_PATH];
  int n = 0;
  for (Ref r = s->at[0]; r && n < MAX_PATH; r = refmap_get(&b->user, r)) {
    const Node *x = node(ir, r);
    int axis[MAX_WINDOWS];
    bool same = n == 0 || op_info[x->op].level == L_EXPR || x->op == OP_PERMUTE || x->op == OP_RESHAPE;
    for (int i = 0; i < s->n && same; i++) {
      axis[i] = s->axis[i];
      if (n && x->op == OP_RESHAPE) axis[i] = reshape_axis(x, node(ir, up[n - 1]), s->axis[i]);
      for (int a = 0; n && x->op == OP_PERMUTE && a < x->rank; a++)
        if (permute_perm(x, a) == s->axis[i]) axis[i] = a;
      same = axis[i] >= 0;
    }
    if (!same) break;
    memcpy(s->axis, axis, (size_t)s->n * sizeof *axis);
    up[n++] = r;
  }
  s->path = n;
  for (int i = 0; i < n; i++) s->at[i] = up[n - 1 - i];
}

static void find_splits(Division *b) {
  for (size_t i = 0; i < b->order.n; i++) {
    Windows v;
    if (!find_windows(b->ir, b->order.p[i], &v) || !choose_repeats(b->ir, b->order.p[i], &v, b->t) ||
        !all_finite(b->ir, v.other))
      continue;
    const Growth g = growth_of(b->ir, &v, b->t);
    growth_granted(b->ir, &g);
    Split s = { .at = { b->order.p[i] } };
    for (int k = 0; k < v.n; k++) {
      if (v.window[k].n == 1) continue;
      s.axis[s.n] = v.window[k].axis;
      s.window[s.n++] = v.window[k];
    }
    follow_results(b, &s);
    VEC_PUSH(&b->splits, s);
    refmap_set(&b->split, s.at[0], (Ref)b->splits.n);
  }
}

static void rebuild(Division *b, RefMap *now) {
  IR *ir = b->ir;
  Refs src = { 0 };
  for (size_t i = 0; i < b->order.n; i++) {
    const Ref r = b->order.p[i], split = refmap_get(&b->split, r);
    const Node *x = node(ir, r);
    src.n = 0;
    for (int k = 0; k < x->nsrc; k++) VEC_PUSH(&src, refmap_get(now, x->src[k]));
    refmap_set(now, r, x->nsrc ? node_with_src(ir, r, src.p) : r);
    if (!split) continue;
    const Split *s = &b->splits.p[split - 1];
    Ref path[MAX_PATH];
    int64_t begin[MAX_RANK] = { 0 }, dims[MAX_RANK];
    for (int k = 0; k < s->path; k++) path[k] = refmap_get(now, s->at[k]);
    memcpy(dims, x->dims, x->rank * sizeof *dims);
    refmap_set(now, r, parts(ir, s, path, 0, begin, dims));
  }
  VEC_FREE(&src);
}

bool graph_padding_split(Graph *g, const Target *t) {
  Division b = { .ir = g->ir, .t = t };
  Refs roots = { 0 };
  RefMap now = { 0 };
  for (size_t i = 0; i < g->outputs.n; i++) VEC_PUSH(&roots, g->outputs.p[i].ref);
  ir_toposort(g->ir, roots.p, roots.n, &b.order);
  ir_only_users(g->ir, &b.order, &roots, &b.user);
  find_splits(&b);
  if (b.splits.n) rebuild(&b, &now);
  for (size_t i = 0; i < roots.n && b.splits.n; i++) g->outputs.p[i].ref = refmap_get(&now, roots.p[i]);
  g->ir->origin = 0;
  VEC_FREE(&roots);
  VEC_FREE(&b.order);
  refmap_free(&b.user);
  refmap_free(&b.split);
  refmap_free(&now);
  const bool changed = b.splits.n > 0;
  VEC_FREE(&b.splits);
  return changed;
}

/* SPDX-License-Identifier: MIT */
/* winograd.c: computes convolutions by Winograd tiles, with fewer products.
 * needs: a folded graph    gives: sums over windows as products of transforms, where the cost model says so
 * breaks: roundings, within the bound of docs/numerics.md
 *
 * A correlation with r taps makes m results from t = m + r - 1 elements. Both factors are polynomials: evaluated at t
 * interpolation points, their product takes t multiplications in place of m * r (Toom, Cook; Winograd for two axes at once).
 * The points are few and fixed, so the transforms are products with small constant matrices:
 *
 *   y = A^T [ (G g) . (B^T d) ]
 *
 * The multiplication, a contraction over channels, becomes one matrix product per point. G is applied to the weights here. B^T
 * and A^T are written out as sums; coefficients 0 and 1 cost nothing, and rows of opposite points share their even and odd
 * parts. A transform is a concatenation of its rows. The kernel that computes it unrolls it, so each element of a tile is
 * loaded once.
 *
 * The points are 0, infinity and pairs of opposite numbers with short mantissas. Points far from 1 make powers in A^T and B^T
 * differ in size, which amplifies rounding. With six points, 5/8 and 3/2 have half the error of the usual 1 and 2. Source:
 * Barabasz et al., Error analysis and improving the accuracy of Winograd convolution for deep neural networks, 2020. They cost
 * the same, since multiply-adds take any coefficient.
 *
 * Sums of bytes stay exact. Their points are the integers 0, 1, -1, 2, -2. The weights are multiplied by a number d, which makes
 * all coefficients integers. Transformed factors have 16 bits, and products are added in 32 bits, which wrap. So the transform
 * back gives d * y modulo 2^32. Let d be odd * 2^k. A product with the inverse of `odd` gives 2^k * y. A shift gives y, if y is
 * known to have 32 - k bits. An instruction for words takes half as many products as one for bytes, but tiles of six have a
 * quarter of the products.
 *
 * Each axis has its own points, or none: then its window stays a sum. More points save more products, but cost more in
 * transforms and have larger errors. Eight points along one axis are cheap where channels are few, and have smaller errors than
 * six along both. The cost model chooses among all that stay within winograd_amplification. */
#include "contraction.h"
#include "graph.h"
#include "../cost/growth.h"
#include "../ir/decisions.h"
#include "../ir/refmap.h"
#include <math.h>
#include <string.h>

enum { MAX_TILE = 8, MAX_WINDOWS = 3, MAX_AXES = 2, MAP_BLOCK = 16 }; /* MAX_TILE: elements along an axis. MAX_WINDOWS: windows
                                                                         of a sum. MAX_AXES: windows in tiles. MAP_BLOCK: maps
                                                                         transformed together */

/* ---- the matrices of F(m, r), t = m + r - 1 ---- */
typedef struct Transform {
  int m, r, t;
  double at[MAX_TILE][MAX_TILE]; /* m x t */
  double g[MAX_TILE][MAX_TILE];  /* t x r */
  double bt[MAX_TILE][MAX_TILE]; /* t x t */
  double scale;            /* the results are multiplied by it */
} Transform;

/* by tile size: finite points (one more is at infinity), and the factor by which they amplify rounding */
static const struct { double amplification, at[MAX_TILE - 1]; } points[MAX_TILE + 1] = {
  [4] = { 4, { 0, 1, -1 } },
  [5] = { 7.5, { 0.375, -0.375, 1.375, -1.375 } },
  [6] = { 13.25, { 0, 0.625, -0.625, 1.5, -1.5 } },
  [7] = { 23.2, { 0.25, -0.25, 0.875, -0.875, 1.75, -1.75 } },
  [8] = { 39.6, { 0, 0.5, -0.5, 1, -1, 2, -2 } },
};

/* The same for integers. scale: makes all coefficients integers, and `last` those of infinity, as small as the results allow */
static const struct { double scale, last, at[MAX_TILE - 1]; } whole_points[MAX_TILE + 1] = {
  [4] = { 2, 2, { 0, 1, -1 } },
  [6] = { 24, 12, { 0, 1, -1, 2, -2 } },
};

/* coefficients of the product of (x - p) over n points, except point `skip` */
static void expand_product(const double *p, int n, int skip, double *coef) {
  int degree = 0;
  coef[0] = 1;
  for (int i = 0; i < n; i++) {
    if (i == skip) continue;
    coef[++degree] = 0;
    for (int k = degree; k >= 0; k--) coef[k] = (k ? coef[k - 1] : 0) - p[i] * coef[k];
  }
}

static void transform_make(int t, int r, bool whole, Transform *f) {
  int m = t + 1 - r, n = t - 1;
  const double *p = whole ? whole_points[t].at : points[t].at, last = whole ? whole_points[t].last : 1;
  memset(f, 0, sizeof *f);
  f->scale = whole ? whole_points[t].scale : 1;
  f->m = m;
  f->r = r;
  f->t = t;
  for (int j = 0; j < n; j++) {
    double scale = 1, power = 1;
    for (int i = 0; i < n; i++)
      if (i != j) scale *= p[j] - p[i];
    for (int k = 0; k < t; k++, power *= p[j]) {
      if (k < m) f->at[k][j] = power;
      if (k < r) f->g[j][k] = power * f->scale / scale;
    }
    expand_product(p, n, j, f->bt[j]);
  }
  f->g[n][r - 1] = last;
  f->at[m - 1][n] = f->scale / last;
  expand_product(p, n, -1, f->bt[n]);
}

/* ---- a product with one of these matrices, as arithmetic ---- */

/* Part of a sum that rows share: for B^T the even and the odd columns, for A^T pairs of opposite points. */
static int part_of(bool forward, int t, int column) {
  return forward ? column % 2 : column == t - 1 ? t : (column + t % 2 + 1) / 2; /* 0 is a point if t is even */
}

static Ref scaled(IR *ir, Ref x, double by) {
  const DType d = (DType)node(ir, x)->dt;
  if (by == 1) return x;
  return g_binary(ir, OP_MUL, x, dt_float(d) ? c_float(ir, d, by) : c_int(ir, d, (int64_t)by));
}

static Ref plus(IR *ir, Ref sum, Ref x, double by) { /* sum + x * by */
  if (!sum) return scaled(ir, x, by);
  return by < 0 ? g_binary(ir, OP_SUB, sum, scaled(ir, x, -by)) : g_binary(ir, OP_ADD, sum, scaled(ir, x, by));
}

/* The sum of coef[i] * x[i]. Each part is its last term plus the other terms relative to it, times its coefficient. Parts that
 * need no product come first. */
static Ref row(IR *ir, bool forward, int t, const Ref *x, const double *coef) {
  Ref part[MAX_TILE + 1] = { 0 }, sum = 0;
  double lead[MAX_TILE + 1] = { 0 };
  for (int i = t - 1; i >= 0; i--) {
    int k = part_of(forward, t, i);
    if (!coef[i]) continue;
    if (!part[k]) lead[k] = coef[i];
    part[k] = plus(ir, part[k], x[i], coef[i] / lead[k]);
  }
  for (int k = 0; k <= t; k++)
    if (part[k] && lead[k] == 1) sum = plus(ir, sum, part[k], 1);
  for (int k = 0; k <= t; k++)
    if (part[k] && lead[k] != 1) sum = plus(ir, sum, part[k], lead[k]);
  return sum;
}

/* Applies the matrix along an axis of t elements; the result is converted to d */
static Ref transformed(IR *ir, Ref x, int axis, bool forward, const Transform *f, DType d) {
  const Node *n = node(ir, x);
  int64_t begin[MAX_RANK] = { 0 }, dims[MAX_RANK];
  Ref element[MAX_TILE], rows[MAX_TILE];
  memcpy(dims, n->dims, n->rank * sizeof *dims);
  dims[axis] = 1;
  for (int i = 0; i < f->t; i++) {
    begin[axis] = i;
    element[i] = g_shrink(ir, x, begin, NULL, dims);
  }
  int count = forward ? f->t : f->m;
  for (int i = 0; i < count; i++) rows[i] = g_cast(ir, row(ir, forward, f->t, element, forward ? f->bt[i] : f->at[i]), d);
  return g_cat(ir, count, rows, axis);
}

/* ---- candidate sums ---- */
enum { UNIT = -2 };         /* role of an axis of extent 1 */

typedef struct Windows {
  Contraction c;
  bool whole;              /* the factors are bytes, and sums are exact */
  double most;             /* then: the greatest absolute value of a sum */
  int x, w;                /* indices of the factors: x is read by windows, w is the weights */
  int channel, map, group; /* channel: summed besides the taps, or -1; map: only the weights have it; group: both factors have
                              it and it is kept, or -1 */
  int split;               /* axis of x's base that holds groups of channels, or -1 */
  int axes, role[MAX_RANK]; /* axes of x's base after that split; role: the range along each, or UNIT */
  double others;           /* results per map and group, not counting windows: the product of all other ranges */
  int n;
  CWindow window[MAX_WINDOWS];
  Transform f[MAX_WINDOWS]; /* t is 0 where a window stays a sum */
  int64_t tiles[MAX_WINDOWS];
} Windows;

static int64_t extent_of(const Windows *v, int range) { return range < 0 ? 1 : v->c.range[range].extent; }
static int64_t taps_of(const Windows *v, int i) { return extent_of(v, v->window[i].tap); }
static int64_t out_of(const Windows *v, int i) { return extent_of(v, v->window[i].out); }

/* Takes the windows of x. Two ranges that share an axis and do not overlap are groups of channels, not a window. */
static bool take_windows(IR *ir, Windows *v) {
  const Contraction *c = &v->c;
  for (int i = 0; i < c->nwindows; i++) {
    const CWindow *a = &c->window[i];
    const CRange *tap = &c->range[a->tap], *out = &c->range[a->out];
    if (a->factor != v->x || a->begin || !tap->in[v->w]) return false;
    for (int k = 0; k < v->n; k++)
      if (v->window[k].tap == a->tap || v->window[k].out == a->out) return false;
    if (!out->in[v->w] && v->n < MAX_WINDOWS) v->window[v->n++] = *a;
    else if (v->split < 0 && a->dilation == 1 && a->stride == tap->extent &&
             node(ir, c->base[v->x])->dims[a->axis] == tap->extent * out->extent) {
      v->split = a->axis;
      v->channel = a->tap;
      v->group = a->out;
    } else return false;
  }
  return v->n > 0;
}

/* Assigns a role to every other range; there is at most one range for channels, and one for maps. */
static bool take_ranges(Windows *v) {
  v->others = 1;
  for (int i = 0; i < v->c.n; i++) {
    const CRange *q = &v->c.range[i];
    bool x = q->in[v->x], w = q->in[v->w], known = i == v->channel || i == v->group;
    for (int k = 0; k < v->n; k++) known |= i == v->window[k].tap || i == v->window[k].out;
    int *only = x && w ? q->summed ? &v->channel : &v->group : w && !q->summed ? &v->map : NULL;
    if (known) continue;
    if (only && *only < 0) *only = i;
    else if (x && !w && !q->summed) v->others *= (double)q->extent;
    else return false;
  }
  return v->map >= 0;
}

static bool take_axes(IR *ir, Windows *v) {
  const Node *x = node(ir, v->c.base[v->x]);
  bool channels = false;
  if (x->rank + 2 * v->n + 2 > MAX_RANK) return false;
  for (int a = 0; a < x->rank; a++) {
    int range = contraction_axis(ir, &v->c, v->x, a);
    if (a == v->split) v->role[v->axes++] = v->group, range = v->channel;
    for (int i = 0; i < v->n; i++)
      if (v->window[i].axis == a) range = v->window[i].out;
    if (x->dims[a] != 1 && range < 0) return false;
    if (range < 0 && (channels || v->channel >= 0)) range = UNIT; /* a range of extent 1 stands for the channels if there are
                                                                     none */
    channels |= range == v->channel;
    v->role[v->axes++] = range;
  }
  for (int i = 0; i < v->n && v->split >= 0; i++) v->window[i].axis += v->window[i].axis > v->split;
  return channels;
}

/* The most that any sum can be, for any x */
static double most_of_sums(IR *ir, const Windows *v) {
  const Contraction *c = &v->c;
  const Node *x = node(ir, c->base[v->x]);
  const Tensor *w = &ir->tensors.p[weight_id(node(ir, c->base[v->w]))];
  const double least = x->dt == DT_U8 ? 0 : -128, most = x->dt == DT_U8 ? 255 : 127;
  int64_t coef[MAX_RANK], begin, kept = extent_of(v, v->map) * extent_of(v, v->group), taps = 1;
  double found = 0;
  contraction_flat(ir, c, v->w, coef, &begin);
  for (int i = 0; i < v->n; i++) taps *= taps_of(v, i);
  for (int64_t k = 0; k < kept; k++) {
    const int64_t map = k / extent_of(v, v->group), group = k % extent_of(v, v->group);
    const int64_t first = begin + map * coef[v->map] + (v->group < 0 ? 0 : group * coef[v->group]);
    int64_t sum[2] = { 0, 0 }; /* negative weights, positive weights */
    for (int64_t j = 0; j < taps; j++) {
      int64_t at = first, rest = j;
      for (int i = 0; i < v->n; rest /= taps_of(v, i), i++) at += rest % taps_of(v, i) * coef[v->window[i].tap];
      for (int64_t i = 0; i < extent_of(v, v->channel); i++, at += v->channel < 0 ? 0 : coef[v->channel]) {
        const int64_t byte = tensor_bits(w, at);
        sum[byte > 0] += byte;
      }
    }
    const double n = (double)sum[0], p = (double)sum[1];
    found = fmax(found, fmax(p * most + n * least, -(p * least + n * most)));
  }
  return found;
}

static bool find_windows(IR *ir, Ref r, Windows *v) {
  memset(v, 0, sizeof *v);
  v->whole = node(ir, r)->dt == DT_I32;
  if ((node(ir, r)->dt != DT_F32 && !v->whole) || !contraction_find(ir, r, &v->c)) return false;
  if (v->whole && !contraction_of_bytes(ir, &v->c)) return false;
  v->w = node(ir, v->c.base[1])->op == OP_WEIGHT;
  v->x = !v->w;
  v->channel = v->map = v->group = v->split = -1;
  const Node *w = node(ir, v->c.base[v->w]), *x = node(ir, v->c.base[v->x]);
  return w->op == OP_WEIGHT && ir->tensors.p[weight_id(w)].data && x->varies && take_windows(ir, v) && take_ranges(v) &&
         take_axes(ir, v);
}

/* ---- cost in cycles of one core ---- */
typedef struct Products {
  double direct, tiles;    /* time of a product of the direct sum and of tiles, relative to a float multiply-add; products of bf16
                              and of bytes are faster */
  double direct_bytes, bytes; /* bytes per weight of both */
} Products;

typedef struct Costs {
  const Target *t;
  double weight_bytes;     /* weights of the whole graph */
  Products of[2];          /* by Windows.whole */
  Refs made;               /* sums that this pass made, whose windows stay */
} Costs;

static double bytes_cycles(const Target *t, double bytes) { /* written and read again */
  return 2 * bytes / (stays(t, BY_WINOGRAD, 2, bytes) ? rate(t, L2_BYTES, WINOGRAD) : rate(t, FAR_BYTES, WINOGRAD));
}

/* elements of x along a window */
static int64_t walked(const Windows *v, int i) {
  const CWindow *w = &v->window[i];
  return (out_of(v, i) - 1) * w->stride + (taps_of(v, i) - 1) * w->dilation + 1;
}

/* A matrix product. Its weights are read once per run, from the level that holds all weights; most of the reading is hidden
 * behind arithmetic. */
static double product_cycles(const Costs *c, double macs, double weight_bytes) {
  const double busy = macs / multiply_adds(c->t, BY_WINOGRAD) / rate(c->t, OF_PEAK, WINOGRAD);
  return overlapped(c->t, BY_WINOGRAD, memory_cycles(c->t, BY_WINOGRAD, weight_bytes, c->weight_bytes), busy);
}

static double direct_cycles(const Windows *v, const Costs *c) {
  double weights = (double)(extent_of(v, v->channel) * extent_of(v, v->map) * extent_of(v, v->group)), results = v->others;
  for (int i = 0; i < v->n; i++) weights *= (double)taps_of(v, i), results *= (double)out_of(v, i);
  const Products *p = &c->of[v->whole];
  return product_cycles(c, weights * results * p->direct, weights * p->direct_bytes);
}

/* Instructions to transform one tile along one axis: see row() */
static double forward_ops(int t) {
  int pairs = (t - 1) / 2;
  return 2 * pairs * pairs + (2 - t % 2) * pairs;
}
static double backward_ops(int t, int m) {
  int pairs = (t - 1) / 2;
  return 2 * pairs + m * (pairs - 1) + 2 - t % 2;
}

/* Elements rounded up to full vectors, where half vectors count at the end */
static double covered(const Target *t, int64_t elements) {
  int64_t half = t->vector_bytes / 8 > 1 ? t->vector_bytes / 8 : 1;
  return (double)((elements + half - 1) / half * half);
}

static double points_cycles(const Windows *v, const Costs *c) {
  double k = (double)extent_of(v, v->channel), n = covered(c->t, extent_of(v, v->map)), groups = (double)extent_of(v, v->group);
  double lanes = covered(c->t, extent_of(v, v->channel));
  double rows = v->others, in = v->others, size = 1, taps = 1, forward = 0, backward = 0, after = 1;
  for (int i = 0; i < v->n; i++) {
    const Transform *f = &v->f[i];
    rows *= (double)v->tiles[i];
    in *= (double)(f->t ? v->tiles[i] : walked(v, i));
    if (!f->t) taps *= (double)taps_of(v, i);
    else {
      forward = forward * f->t + size * forward_ops(f->t); /* along this axis, for all elements of the axes before, and vice
                                                              versa */
      backward = backward * f->t + after * backward_ops(f->t, f->m);
      size *= f->t;
      after *= f->m;
    }
  }
  const double least = rate(c->t, HIDING_ROWS, WINOGRAD), moved = rate(c->t, TRANSFORM_MOVE, WINOGRAD);
  double inner = rows < least ? least : rows;
  double transforms = (in * lanes * (forward + moved * size) + rows * n * (backward + moved * size)) * groups /
                      multiply_adds(c->t, BY_WINOGRAD);
  const Products *p = &c->of[v->whole];
  const double weights = size * taps * k * n * groups;
  return product_cycles(c, weights * inner * p->tiles, p->bytes * weights) + transforms +
         bytes_cycles(c->t, p->bytes * size * in * k * groups) + bytes_cycles(c->t, 4 * size * rows * n * groups);
}

/* The memory that tiles take beyond the direct sum: weights at the points, the transformed input and the products. The
 * direct sum's weights go. */
static Growth growth_of(const IR *ir, const Windows *v, const Costs *c) {
  const double k = (double)extent_of(v, v->channel), n = (double)extent_of(v, v->map), groups = (double)extent_of(v, v->group);
  const Products *p = &c->of[v->whole];
  double in = v->others, rows = v->others, size = 1, left = 1, taps = 1; /* left: taps of the windows that stay */
  for (int i = 0; i < v->n; i++) {
    const Transform *f = &v->f[i];
    rows *= (double)v->tiles[i];
    in *= (double)(f->t ? v->tiles[i] : walked(v, i));
    taps *= (double)taps_of(v, i);
    if (f->t) size *= f->t;
    else left *= (double)taps_of(v, i);
  }
  return (Growth){ .form = "Winograd tiles",
                   .origin = node(ir, v->c.sum)->origin,
                   .weights = (p->bytes * size * left - p->direct_bytes * taps) * k * n * groups,
                   .arena = size * (p->bytes * in * k + 4 * rows * n) * groups,
                   .gain = direct_cycles(v, c) - points_cycles(v, c) };
}

static double greatest_row(const double m[MAX_TILE][MAX_TILE], int t) { /* sum of a row's absolute values */
  double most = 0;
  for (int i = 0; i < t; i++) {
    double sum = 0;
    for (int k = 0; k < t; k++) sum += fabs(m[i][k]);
    most = fmax(most, sum);
  }
  return most;
}

/* Whether sums of bytes stay exact: transformed factors have 16 bits, and the results are known from their lower bits. */
static bool whole_fits(const Windows *v) {
  double x = 255, w = 128, scale = 1;
  for (int i = 0; i < v->n; i++) {
    if (!v->f[i].t) continue;
    x *= greatest_row(v->f[i].bt, v->f[i].t);
    w *= greatest_row(v->f[i].g, v->f[i].t);
    scale *= v->f[i].scale;
  }
  const int64_t odd = (int64_t)scale / ((int64_t)scale & -(int64_t)scale);
  return x <= INT16_MAX && w <= INT16_MAX && v->most * scale / (double)odd <= INT32_MAX;
}

/* Sets the points of every window from their number: a tile size, or none. False: too few, too many or too inexact. */
enum { SIZES = MAX_TILE - 2 };
static bool set_points(Windows *v, int number, double most) {
  double amplification = 1;
  int axes = 0;
  for (int i = 0; i < v->n; i++, number /= SIZES) {
    const CWindow *w = &v->window[i];
    int t = number % SIZES ? number % SIZES + 3 : 0, r = (int)taps_of(v, i);
    v->f[i].t = 0;
    v->tiles[i] = out_of(v, i);
    if (!t) continue;
    if (w->stride != 1 || w->dilation != 1 || taps_of(v, i) >= t) return false;
    if (v->whole && !whole_points[t].scale) return false;
    transform_make(t, r, v->whole, &v->f[i]);
    v->tiles[i] = (out_of(v, i) + v->f[i].m - 1) / v->f[i].m;
    amplification *= points[t].amplification;
    axes++;
  }
  return axes > 0 && axes <= MAX_AXES && (axes < v->n || v->channel >= 0) && (v->whole ? whole_fits(v) : amplification <= most);
}

static int numbers_of(const Windows *v) {
  int numbers = 1;
  for (int i = 0; i < v->n; i++) numbers *= SIZES;
  return numbers;
}

/* Memory may grow as much as the points that are set make it. */
static bool memory_allows(const IR *ir, const Windows *v, const Costs *c) {
  const Growth g = growth_of(ir, v, c);
  return growth_allowed(ir, &g);
}

/* Number of the cheapest tiles, if they cost clearly less than no tiles; else 0 */
static int cheapest_points(const IR *ir, Windows *v, const Costs *c) {
  const double most = tunable(ir->ctx, winograd_amplification);
  double best = tunable(ir->ctx, winograd_gain) * direct_cycles(v, c);
  int found = 0;
  for (int k = 1; k < numbers_of(v); k++) {
    double cycles = set_points(v, k, most) ? points_cycles(v, c) : best;
    if (cycles < best && memory_allows(ir, v, c)) best = cycles, found = k;
  }
  return found;
}

/* Tile sizes as text: "6x6", "0x8" where the first window stays a sum; 0: no tiles */
static const char *points_text(Arena *a, const Windows *v, int number) {
  Sb s = { 0 };
  for (int i = 0, k = number; i < v->n && number; i++, k /= SIZES)
    sb_printf(&s, "%s%d", i ? "x" : "", k % SIZES ? k % SIZES + 3 : 0);
  return number ? sb_keep(&s, a) : "none";
}

static bool choose_points(IR *ir, Ref r, Windows *v, const Costs *c) {
  const double most = tunable(ir->ctx, winograd_amplification);
  const Question q = ask_node(ir, "winograd", r);
  int found = -1;
  for (int k = 0; k < numbers_of(v) && q.given && found < 0; k++)
    if ((!k || set_points(v, k, most)) && !strcmp(q.given, points_text(&ir->ctx->model, v, k))) found = k;
  if (q.given && found < 0) answer_refused(ir, &q, "the convolution cannot use such tiles");
  if (found > 0 && !memory_allows(ir, v, c)) {
    answer_refused(ir, &q, "such tiles take too many bytes");
    found = -1;
  }
  if (found < 0) found = cheapest_points(ir, v, c);
  answer_with(ir, &q, points_text(&ir->ctx->model, v, found));
  if (!found || !set_points(v, found, most)) return false;
  const Growth g = growth_of(ir, v, c);
  growth_granted(ir, &g);
  return true;
}

/* ---- the new graph ---- */
static double weight_at(const Tensor *w, int64_t at) {
  float x;
  if (w->dt != DT_F32) return (double)tensor_bits(w, at);
  memcpy(&x, (const char *)w->data + at * (int64_t)sizeof x, sizeof x); /* data may be misaligned */
  return (double)x;
}

static void put_points(DType d, void *out, int64_t at, int n, const double *point) {
  for (int k = 0; k < n && d == DT_F32; k++) ((float *)out)[at + k] = (float)point[k];
  for (int k = 0; k < n && d == DT_I16; k++) ((int16_t *)out)[at + k] = (int16_t)point[k];
}

/* Applies G to the taps of MAP_BLOCK maps, which are `step` apart, in double; maps beyond n repeat the last */
static void taps_at_points(const Transform f[MAX_AXES], const Tensor *w, int64_t at, const int64_t tap[MAX_AXES], int64_t step,
                           int n, double point[][MAP_BLOCK]) {
  double in[MAX_TILE][MAX_TILE][MAP_BLOCK];
  for (int i = 0; i < f[0].r; i++)
    for (int j = 0; j < f[1].r; j++)
      for (int k = 0; k < MAP_BLOCK; k++)
        in[i][j][k] = weight_at(w, at + (k < n ? k : n - 1) * step + i * tap[0] + j * tap[1]);
  for (int a = 0; a < f[0].t; a++) {
    double half[MAX_TILE][MAP_BLOCK] = { { 0 } };
    for (int j = 0; j < f[1].r; j++)
      for (int i = 0; i < f[0].r; i++)
        for (int k = 0; k < MAP_BLOCK; k++) half[j][k] += f[0].g[a][i] * in[i][j][k];
    for (int b = 0; b < f[1].t; b++) {
      double sum[MAP_BLOCK] = { 0 };
      for (int j = 0; j < f[1].r; j++)
        for (int k = 0; k < MAP_BLOCK; k++) sum[k] += half[j][k] * f[1].g[b][j];
      memcpy(point[a * f[1].t + b], sum, sizeof sum);
    }
  }
}

/* The weights at the points: [t, (t,) groups, taps of windows that stay, channels, maps]. A block of maps at a time: each write
 * is then a cache line, and reads form a few streams */
static Ref weights_at_points(IR *ir, const Windows *v) {
  const Contraction *c = &v->c;
  const Tensor *from = &ir->tensors.p[weight_id(node(ir, c->base[v->w]))];
  const Transform none = { .m = 1, .r = 1, .t = 1, .g = { { 1 } }, .scale = 1 };
  Transform f[MAX_AXES] = { none, none };
  int64_t coef[MAX_RANK], begin, tap[MAX_AXES] = { 0 }, maps = extent_of(v, v->map), inner = 1;
  int range[MAX_WINDOWS + 2], ranges = 0, axes = 0;
  contraction_flat(ir, c, v->w, coef, &begin);
  if (v->group >= 0) range[ranges++] = v->group;
  for (int i = 0; i < v->n; i++) {
    if (!v->f[i].t) range[ranges++] = v->window[i].tap;
    else f[axes] = v->f[i], tap[axes++] = coef[v->window[i].tap];
  }
  if (v->channel >= 0) range[ranges++] = v->channel;
  Tensor to = { .dt = v->whole ? DT_I16 : DT_F32, .name = from->name };
  for (int i = 0; i < axes; i++) to.dims[to.rank++] = f[i].t;
  for (int i = 0; i < ranges; i++) inner *= to.dims[to.rank++] = extent_of(v, range[i]);
  to.dims[to.rank++] = maps;
  to.elems = f[0].t * f[1].t * inner * maps;
  void *out = arena_alloc(&ir->ctx->model, size_mul((size_t)to.elems, (size_t)dt_bytes(to.dt)));
  for (int64_t n = 0; n < maps; n += MAP_BLOCK)
    for (int64_t k = 0; k < inner; k++) {
      double point[MAX_TILE * MAX_TILE][MAP_BLOCK];
      int count = maps - n < MAP_BLOCK ? (int)(maps - n) : MAP_BLOCK;
      int64_t at = begin + n * coef[v->map], rest = k;
      for (int i = ranges - 1; i >= 0; rest /= extent_of(v, range[i]), i--) at += rest % extent_of(v, range[i]) * coef[range[i]];
      taps_at_points(f, from, at, tap, coef[v->map], count, point);
      for (int p = 0; p < f[0].t * f[1].t; p++) put_points(to.dt, out, (p * inner + k) * maps + n, count, point[p]);
    }
  to.data = out;
  return g_weight(ir, ir_tensor(ir, &to));
}

/* Order of x's axes for the following steps: first all others, then groups, then channels. */
static void ordered(const Windows *v, int *order) {
  int at = 0;
  for (int kind = 0; kind < 3; kind++)
    for (int a = 0; a < v->axes; a++)
      if (kind == (v->role[a] == v->channel ? 2 : v->group >= 0 && v->role[a] == v->group)) order[at++] = a;
}

/* The tiles: [t, (t,) axes of x in that order, with tiles in place of windows] */
static Ref tiles_of(IR *ir, const Windows *v) {
  Ref x = v->c.base[v->x], inner = x;
  const Node *n = node(ir, x);
  int64_t lo[MAX_RANK] = { 0 }, hi[MAX_RANK] = { 0 }, dims[MAX_RANK], perm[MAX_RANK], fill;
  Ref with = c_int(ir, (DType)n->dt, 0); /* also behind the padding, where tiles have results that nobody needs */
  int order[MAX_RANK], at = 0;
  if (n->op == OP_PAD && node_is_const(ir, pad_fill(n), &fill) && (!fill || v->whole)) {
    inner = pad_data(n);
    with = pad_fill(n);
    memcpy(lo, n->arg, n->rank * sizeof *lo);
    memcpy(hi, n->arg + n->rank, n->rank * sizeof *hi);
  }
  for (int i = 0; i < v->n; i++) {
    int a = v->window[i].axis - (v->split >= 0 && v->window[i].axis > v->split);
    int64_t more = v->f[i].t ? v->tiles[i] * v->f[i].m + v->f[i].r - 1 - n->dims[a] : 0;
    if (more > 0) hi[a] += more;
  }
  x = g_pad(ir, inner, lo, hi, with);
  if (v->split >= 0) {
    memcpy(dims, node(ir, x)->dims, (size_t)v->split * sizeof *dims);
    dims[v->split] = extent_of(v, v->group);
    dims[v->split + 1] = extent_of(v, v->channel);
    for (int a = v->split + 2; a < v->axes; a++) dims[a] = node(ir, x)->dims[a - 1];
    x = g_reshape(ir, x, v->axes, dims);
  }
  for (int i = 0; i < v->n; i++) {
    if (!v->f[i].t) continue;
    x = g_window(ir, x, v->window[i].axis, v->tiles[i], v->f[i].t, v->f[i].m, 1);
    perm[at] = v->axes + at;
    at++;
  }
  ordered(v, order);
  for (int a = 0; a < v->axes; a++) perm[at++] = order[a];
  return g_permute(ir, x, perm);
}

/* Sums per point, [t, (t,) axes without channels, maps], of tiles and weights */
static Ref products_of(IR *ir, const Windows *v, Ref x, Ref w, int axes) {
  int64_t perm[MAX_RANK], xd[MAX_RANK], wd[MAX_RANK];
  int order[MAX_RANK], at = 0, last = axes + v->axes - 1, taps;
  ordered(v, order);
  for (int i = 0; i < v->n; i++)
    for (int a = 0; a < v->axes && !v->f[i].t; a++)
      if (order[a] == v->window[i].axis) {
        const CWindow *s = &v->window[i];
        x = g_window(ir, x, axes + a, out_of(v, i), taps_of(v, i), s->stride, s->dilation);
      }
  taps = node(ir, x)->rank - last - 1;
  for (int a = 0; a < last; a++) perm[at++] = a;
  for (int a = 0; a < taps; a++) perm[at++] = last + 1 + a;
  perm[at] = last;
  x = g_permute(ir, x, perm);
  memcpy(xd, node(ir, x)->dims, node(ir, x)->rank * sizeof *xd);
  int rank = last + taps + 2, groups = v->group >= 0;
  for (int a = 0; a < rank; a++) wd[a] = a < axes || (a >= last - groups && a < rank - 1) ? xd[a] : 1;
  xd[rank - 1] = 1;
  wd[rank - 1] = extent_of(v, v->map);
  const DType d = (DType)node(ir, v->c.sum)->dt;
  Ref product = g_binary(ir, OP_MUL, g_cast(ir, g_reshape(ir, x, rank, xd), d), g_cast(ir, g_reshape(ir, w, rank, wd), d));
  uint32_t summed = 0;
  for (int a = last; a < rank - 1; a++) summed |= 1u << a;
  xd[last] = wd[rank - 1];
  return g_reshape(ir, g_reduce(ir, OP_ADD, product, summed), last + 1, xd);
}

/* Rearranges y [m, (m,) axes without channels, maps] to the shape of the REDUCE. Each m goes to its tiles; then the excess is
 * cut off. */
static Ref results_of(IR *ir, const Windows *v, Ref y, int axes) {
  const Contraction *c = &v->c;
  const Node *sum = node(ir, c->sum);
  int64_t perm[MAX_RANK], whole[MAX_RANK], zero[MAX_RANK] = { 0 };
  int order[MAX_RANK], axis[MAX_RANK], at = 0, point;
  ordered(v, order);
  for (int a = 0; a < v->axes - 1; a++) {
    int range = v->role[order[a]];
    if (range == UNIT) perm[at++] = axes + a;
    else axis[range] = axes + a;
  }
  axis[v->map] = axes + v->axes - 1;
  memcpy(whole, sum->dims, sum->rank * sizeof *whole);
  for (int i = 0; i < c->n; i++) { /* in the order of the axes */
    if (c->range[i].summed) continue;
    perm[at++] = axis[i];
    for (int k = point = 0; k < v->n; point += v->f[k].t > 0, k++) {
      if (v->window[k].out != i || !v->f[k].t) continue;
      perm[at++] = point;
      whole[c->range[i].axis] = v->tiles[k] * v->f[k].m;
    }
  }
  return g_shrink(ir, g_reshape(ir, g_permute(ir, y, perm), sum->rank, whole), zero, NULL, sum->dims);
}

/* x / d, where d * x is given modulo 2^32 */
static Ref divided(IR *ir, Ref x, int64_t d) {
  const int64_t power = d & -d, odd = d / power;
  uint32_t inverse = (uint32_t)odd; /* right in three bits; each step doubles their number */
  for (int i = 0; i < 4; i++) inverse *= 2 - (uint32_t)odd * inverse;
  x = odd == 1 ? x : g_binary(ir, OP_MUL, x, c_int(ir, DT_I32, (int32_t)inverse));
  int shift = 0;
  while (power >> (shift + 1)) shift++;
  return shift ? g_binary(ir, OP_SHR, x, c_int(ir, DT_I32, shift)) : x;
}

static Ref rewritten(IR *ir, const Windows *v, Costs *c) {
  const Transform *f[MAX_AXES];
  const DType d = (DType)node(ir, v->c.sum)->dt;
  int axes = 0;
  double scale = 1;
  for (int i = 0; i < v->n; i++)
    if (v->f[i].t) f[axes++] = &v->f[i], scale *= v->f[i].scale;
  Ref x = g_cast(ir, tiles_of(ir, v), d);
  for (int i = 0; i < axes; i++) x = transformed(ir, x, i, true, f[i], v->whole && i == axes - 1 ? DT_I16 : d);
  Ref y = products_of(ir, v, x, weights_at_points(ir, v), axes);
  VEC_PUSH(&c->made, view_base(ir, y));
  for (int i = 0; i < axes; i++) y = transformed(ir, y, i, false, f[i], d);
  y = results_of(ir, v, y, axes);
  return v->whole ? divided(ir, y, (int64_t)scale) : y;
}

static Ref rule_windows(IR *ir, Ref r, void *arg) {
  Costs *c = arg;
  Windows v;
  for (size_t i = 0; i < c->made.n; i++)
    if (c->made.p[i] == r) return 0;
  if (!find_windows(ir, r, &v) || (v.whole && !c->of[1].tiles)) return 0;
  if (v.whole) v.most = most_of_sums(ir, &v);
  return choose_points(ir, r, &v, c) ? rewritten(ir, &v, c) : 0;
}

static double weight_bytes(const IR *ir, const Refs *roots) {
  Refs all = { 0 };
  double bytes = 0;
  ir_toposort(ir, roots->p, roots->n, &all);
  for (size_t i = 0; i < all.n; i++) {
    const Node *x = node(ir, all.p[i]);
    if (x->op == OP_WEIGHT) bytes += (double)dt_bytes((DType)x->dt) * (double)dims_elems(x->dims, x->rank);
  }
  VEC_FREE(&all);
  return bytes;
}

bool graph_winograd(Graph *g, Precision p, const Target *t) {
  static const Rule rules[] = { { OP_REDUCE, "winograd", rule_windows }, { OP_NONE, NULL, NULL } };
  Refs roots = { 0 };
  if (!t->vector_bytes || p == PREC_STRICT) return false; /* without vectors, memory is scarcer than time */
  for (size_t i = 0; i < g->outputs.n; i++) VEC_PUSH(&roots, g->outputs.p[i].ref);
  Costs c = { .t = t,
              .weight_bytes = weight_bytes(g->ir, &roots),
              .of = { { product_time(p, t), 1, product_bytes(p, t), 4 }, { bytes_time(t), words_time(t), 1, 2 } } };
  VEC_FREE(&roots);
  bool changed = ir_rewrite_graph(g, rules, &c);
  VEC_FREE(&c.made);
  return changed;
}

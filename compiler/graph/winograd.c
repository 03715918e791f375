/* winograd.c: windows with fewer products.
 * needs: a folded graph    gives: sums over windows as products of transforms, where the model of cost
 * says so    breaks: roundings, within the bound of docs/numerics.md
 *
 * A correlation with r taps gives m results from t = m + r - 1 elements. Both are polynomials: taken at t
 * points, their product costs t multiplications in place of m * r (Toom, Cook; Winograd for two axes at
 * once), and the points are few and fixed, so that going there and back is a product with small constant
 * matrices:
 *
 *   y = A^T [ (G g) . (B^T d) ]
 *
 * What multiplies, the contraction over channels, becomes one product of matrices a point. G is applied
 * here, to the weights; B^T and A^T are written out as sums in which the coefficients 0 and 1 are nothing,
 * and rows of opposite points share their even and their odd part. A transform is a concatenation of its
 * rows, which the kernel that computes it unrolls: each element of a tile is loaded once.
 *
 * The points are 0, infinity and pairs of opposite numbers with short mantissas. Far from 1 they make the
 * powers in A^T and B^T differ in size, which is what rounding is amplified by: 5/8 and 3/2 err half of
 * what the usual 1 and 2 do (Barabasz et al., Error analysis and improving the accuracy of Winograd
 * convolution for deep neural networks, 2020), and cost the same, as a multiply-add does not care. */
#include "contraction.h"
#include "graph.h"
#include "../ir/refmap.h"
#include <string.h>

enum { MAX_TILE = 6, MAX_AXES = 2, MAP_BLOCK = 16 };

/* ---- the matrices of F(m, r), t = m + r - 1 ---- */
typedef struct Transform {
  int m, r, t;
  double at[MAX_TILE][MAX_TILE]; /* m x t */
  double g[MAX_TILE][MAX_TILE];  /* t x r */
  double bt[MAX_TILE][MAX_TILE]; /* t x t */
} Transform;

/* finite points by size of tile; one more is infinity */
static const double points[MAX_TILE + 1][MAX_TILE - 1] = { [4] = { 0, 1, -1 }, [6] = { 0, 0.625, -0.625, 1.5, -1.5 } };

/* coefficients of the product of (x - p) over n points, but for point `skip` */
static void expand_product(const double *p, int n, int skip, double *coef) {
  int degree = 0;
  coef[0] = 1;
  for (int i = 0; i < n; i++) {
    if (i == skip) continue;
    coef[++degree] = 0;
    for (int k = degree; k >= 0; k--) coef[k] = (k ? coef[k - 1] : 0) - p[i] * coef[k];
  }
}

static bool transform_make(int m, int r, Transform *f) {
  int t = m + r - 1, n = t - 1;
  if (m < 2 || t > MAX_TILE || !points[t][1]) return false;
  const double *p = points[t];
  memset(f, 0, sizeof *f);
  f->m = m;
  f->r = r;
  f->t = t;
  for (int j = 0; j < n; j++) {
    double scale = 1, power = 1;
    for (int i = 0; i < n; i++)
      if (i != j) scale *= p[j] - p[i];
    for (int k = 0; k < t; k++, power *= p[j]) {
      if (k < m) f->at[k][j] = power;
      if (k < r) f->g[j][k] = power / scale;
    }
    expand_product(p, n, j, f->bt[j]);
  }
  f->at[m - 1][n] = f->g[n][r - 1] = 1;
  expand_product(p, n, -1, f->bt[n]);
  return true;
}

/* ---- a product with one of them, as arithmetic ---- */

/* Parts of a sum that rows share: of B^T the even and the odd columns, of A^T the pairs of opposite points. */
static int part_of(bool forward, int t, int column) { return forward ? column % 2 : column == t - 1 ? t : (column + 1) / 2; }

static Ref scaled(IR *ir, Ref x, double by) { return by == 1 ? x : g_binary(ir, OP_MUL, x, c_float(ir, DT_F32, by)); }

static Ref plus(IR *ir, Ref sum, Ref x, double by) { /* sum + x * by */
  if (!sum) return scaled(ir, x, by);
  return by < 0 ? g_binary(ir, OP_SUB, sum, scaled(ir, x, -by)) : g_binary(ir, OP_ADD, sum, scaled(ir, x, by));
}

/* The sum of coef[i] * x[i]: each part is its last term, and others relative to it, times its coefficient;
 * parts that need no product come first. */
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

/* The matrix applied along an axis of t elements */
static Ref transformed(IR *ir, Ref x, int axis, bool forward, const Transform *f) {
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
  for (int i = 0; i < count; i++) rows[i] = row(ir, forward, f->t, element, forward ? f->bt[i] : f->at[i]);
  return g_cat(ir, count, rows, axis);
}

/* ---- what it applies to ---- */
typedef struct Windows {
  Contraction c;
  int x, w;                /* factors: what is walked by windows, and the weights */
  int n;                   /* windows, one for each axis of the tile */
  CWindow axis[MAX_AXES];
  int64_t out[MAX_AXES], tiles[MAX_AXES];
  int channel, map;        /* ranges: summed beside the taps, and known to the weights only */
  int channel_axis;        /* of the factor x's base */
  int64_t others;          /* results a map and a plane: the product of all other ranges */
  Transform f[MAX_AXES];
} Windows;

/* One range of each kind, each an axis of its own, windows that move by one and begin at the edge. */
static bool find_windows(IR *ir, Ref r, Windows *v) {
  Contraction *c = &v->c;
  if (node(ir, r)->dt != DT_F32 || !contraction_find(ir, r, c)) return false;
  v->w = node(ir, c->base[1])->op == OP_WEIGHT;
  v->x = !v->w;
  const Node *w = node(ir, c->base[v->w]), *x = node(ir, c->base[v->x]);
  if (w->op != OP_WEIGHT || !ir->tensors.p[w->arg[0]].data || !x->varies || c->nwindows < 1 || c->nwindows > MAX_AXES) return false;
  uint32_t taps = 0;
  v->n = c->nwindows;
  for (int i = 0; i < v->n; i++) {
    CWindow *a = &v->axis[i];
    *a = c->window[i];
    if (a->factor != v->x || a->stride != 1 || a->dilation != 1 || a->begin || taps >> a->tap & 1) return false;
    v->out[i] = c->range[a->out].extent;
    taps |= 1u << a->tap;
  }
  v->channel = v->map = -1;
  v->others = 1;
  for (int i = 0; i < c->n; i++) {
    const CRange *q = &c->range[i];
    if (!q->in[v->w] && !q->summed && q->in[v->x]) v->others *= q->extent;
    else if (q->in[v->w] && q->summed && q->in[v->x] && (taps >> i & 1)) continue;
    else if (q->in[v->w] && q->summed && q->in[v->x] && v->channel < 0) v->channel = i;
    else if (q->in[v->w] && !q->summed && !q->in[v->x] && v->map < 0) v->map = i;
    else return false;
  }
  if (v->channel < 0 || v->map < 0) return false;
  for (int i = 0; i < v->n; i++) v->others /= v->out[i];
  for (int a = 0; a < x->rank; a++) {
    int range = contraction_axis(ir, c, v->x, a);
    bool walked = false;
    for (int i = 0; i < v->n; i++) walked |= v->axis[i].axis == a;
    if (range == v->channel) v->channel_axis = a;
    if (x->dims[a] != 1 && range < 0 && !walked) return false;
  }
  return x->rank + v->n < MAX_RANK;
}

/* ---- what it costs: cycles of one core ---- */
static double bytes_cycles(const Target *t, double bytes) { /* to write and to read again */
  return 2 * bytes / (bytes < 0.5 * t->l2_bytes ? 32 : 8);
}

static double weight_cycles(double elements) { return 4 * elements / 8; } /* read once, from far */

/* Multiply-adds of two 256-bit units; wider vectors of most machines have one unit, or take two cycles. */
static double product_cycles(const Target *t, double macs) {
  double lanes = t->vector_bytes / 4.0 * (t->fma ? 2 : 1);
  return macs / (lanes < 16 ? lanes : 16) / 0.9;
}

static double direct_cycles(const Windows *v, const Target *t) {
  const CRange *r = v->c.range;
  double weights = (double)r[v->channel].extent * (double)r[v->map].extent, results = (double)v->others;
  for (int i = 0; i < v->n; i++) weights *= (double)r[v->axis[i].tap].extent, results *= (double)v->out[i];
  return product_cycles(t, weights * results) + weight_cycles(weights);
}

static double transform_cycles(const Windows *v, const Target *t) {
  const CRange *r = v->c.range;
  double k = (double)r[v->channel].extent, n = (double)r[v->map].extent, tiles = (double)v->others, size = 1, lanes = t->vector_bytes / 4.0;
  for (int i = 0; i < v->n; i++) size *= v->f[i].t, tiles *= (double)v->tiles[i];
  double rows = tiles < 6 ? 6 : tiles; /* fewer do not hide the latency of multiply-adds */
  double arithmetic = 2.5 * v->n * size * tiles * (k + n) / lanes;
  return product_cycles(t, size * rows * k * n) + weight_cycles(size * k * n) + arithmetic + bytes_cycles(t, 4 * size * tiles * k) +
         bytes_cycles(t, 4 * size * tiles * n);
}

/* The tile that costs least, if that is clearly less than no tile, which a machine may do in pairs of bf16. */
static bool choose_tiles(Windows *v, const Target *t, bool pairs) {
  double best = 0.9 * direct_cycles(v, t) * (pairs ? 0.5 : 1);
  Windows tried = *v;
  bool found = false;
  for (int size = 4; size <= MAX_TILE; size += 2) {
    bool ok = true;
    for (int i = 0; i < v->n && ok; i++) {
      int r = (int)v->c.range[v->axis[i].tap].extent;
      ok = r <= MAX_TILE && transform_make(size + 1 - r, r, &tried.f[i]);
      if (ok) tried.tiles[i] = (v->out[i] + tried.f[i].m - 1) / tried.f[i].m;
    }
    double cycles = ok ? transform_cycles(&tried, t) : best;
    if (cycles >= best) continue;
    best = cycles;
    *v = tried;
    found = true;
  }
  return found;
}

/* ---- the new graph ---- */

/* G applied to the taps of MAP_BLOCK maps that lie step apart, in double; what lies beyond n of them repeats the last */
static void taps_at_points(const Transform f[MAX_AXES], const char *taps, const int64_t tap[MAX_AXES], int64_t step, int n,
                           float point[][MAP_BLOCK]) {
  double in[MAX_TILE][MAX_TILE][MAP_BLOCK];
  for (int i = 0; i < f[0].r; i++)
    for (int j = 0; j < f[1].r; j++)
      for (int k = 0; k < MAP_BLOCK; k++) { /* of any alignment */
        float x;
        memcpy(&x, taps + ((k < n ? k : n - 1) * step + i * tap[0] + j * tap[1]) * (int64_t)sizeof x, sizeof x);
        in[i][j][k] = (double)x;
      }
  for (int a = 0; a < f[0].t; a++) {
    double half[MAX_TILE][MAP_BLOCK] = { { 0 } };
    for (int j = 0; j < f[1].r; j++)
      for (int i = 0; i < f[0].r; i++)
        for (int k = 0; k < MAP_BLOCK; k++) half[j][k] += f[0].g[a][i] * in[i][j][k];
    for (int b = 0; b < f[1].t; b++) {
      double sum[MAP_BLOCK] = { 0 };
      for (int j = 0; j < f[1].r; j++)
        for (int k = 0; k < MAP_BLOCK; k++) sum[k] += half[j][k] * f[1].g[b][j];
      for (int k = 0; k < MAP_BLOCK; k++) point[a * f[1].t + b][k] = (float)sum[k];
    }
  }
}

/* [t, (t,) channels, maps]: the weights at the points, a block of maps at a time: what is written is then a line, and
 * what is read a few streams */
static Ref weights_at_points(IR *ir, const Windows *v) {
  const Contraction *c = &v->c;
  const Tensor *from = &ir->tensors.p[node(ir, c->base[v->w])->arg[0]];
  int64_t coef[MAX_RANK], begin, channels = c->range[v->channel].extent, maps = c->range[v->map].extent, tap[MAX_AXES] = { 0 };
  contraction_flat(ir, c, v->w, coef, &begin);
  Transform f[MAX_AXES];
  Tensor to = { .dt = DT_F32, .rank = v->n + 2, .elems = channels * maps, .name = from->name };
  for (int i = 0; i < MAX_AXES; i++) {
    f[i] = i < v->n ? v->f[i] : (Transform){ .m = 1, .r = 1, .t = 1, .g = { { 1 } } };
    to.elems *= f[i].t;
    if (i >= v->n) continue;
    tap[i] = coef[v->axis[i].tap];
    to.dims[i] = f[i].t;
  }
  to.dims[v->n] = channels;
  to.dims[v->n + 1] = maps;
  float *out = arena_alloc(&ir->ctx->model, size_mul((size_t)to.elems, sizeof *out));
  for (int64_t n = 0; n < maps; n += MAP_BLOCK)
    for (int64_t k = 0; k < channels; k++) {
      float point[MAX_TILE * MAX_TILE][MAP_BLOCK];
      int count = maps - n < MAP_BLOCK ? (int)(maps - n) : MAP_BLOCK;
      const char *taps = (const char *)from->data + (begin + k * coef[v->channel] + n * coef[v->map]) * (int64_t)sizeof *out;
      taps_at_points(f, taps, tap, coef[v->map], count, point);
      for (int p = 0; p < f[0].t * f[1].t; p++) memcpy(out + (p * channels + k) * maps + n, point[p], (size_t)count * sizeof *out);
    }
  to.data = out;
  return g_weight(ir, ir_tensor(ir, &to));
}

/* The tiles as [t, (t,) axes of x without channels (tiles where windows were), channels] */
static Ref tiles_of(IR *ir, const Windows *v) {
  Ref x = v->c.base[v->x], inner = x;
  const Node *n = node(ir, x);
  int64_t lo[MAX_RANK] = { 0 }, hi[MAX_RANK] = { 0 }, perm[MAX_RANK], fill;
  int rank = n->rank, at = 0;
  bool padded = n->op == OP_PAD && node_is_const(ir, n->src[1], &fill) && !fill;
  if (padded) {
    inner = n->src[0];
    memcpy(lo, n->arg, n->rank * sizeof *lo);
    memcpy(hi, n->arg + n->rank, n->rank * sizeof *hi);
  }
  for (int i = 0; i < v->n; i++) {
    int a = v->axis[i].axis;
    int64_t more = v->tiles[i] * v->f[i].m + v->f[i].r - 1 - n->dims[a];
    if (more > 0) hi[a] += more;
  }
  x = g_pad(ir, inner, lo, hi, c_int(ir, DT_F32, 0));
  for (int i = 0; i < v->n; i++) {
    x = g_window(ir, x, v->axis[i].axis, v->tiles[i], v->f[i].t, v->f[i].m, 1);
    perm[at++] = rank + i;
  }
  for (int a = 0; a < rank; a++)
    if (a != v->channel_axis) perm[at++] = a;
  perm[at] = v->channel_axis;
  return g_permute(ir, x, perm);
}

/* y [m, (m,) axes of x without channels, maps] as the REDUCE has it: each m to its tiles, then the rest cut off */
static Ref results_of(IR *ir, const Windows *v, Ref y) {
  const Contraction *c = &v->c;
  const Node *sum = node(ir, c->sum), *x = node(ir, c->base[v->x]);
  int64_t perm[MAX_RANK], whole[MAX_RANK], zero[MAX_RANK] = { 0 };
  int at = 0, from = v->n, of_range[MAX_RANK], last = node(ir, y)->rank - 1;
  for (int i = 0; i < c->n; i++) of_range[i] = -1;
  for (int a = 0; a < x->rank; a++) {
    if (a == v->channel_axis) continue;
    int range = contraction_axis(ir, c, v->x, a);
    for (int i = 0; i < v->n; i++)
      if (v->axis[i].axis == a) range = v->axis[i].out;
    if (range < 0) perm[at++] = from; /* an extent of 1 */
    else of_range[range] = from;
    from++;
  }
  of_range[v->map] = last;
  memcpy(whole, sum->dims, sum->rank * sizeof *whole);
  for (int i = 0; i < c->n; i++) { /* in the order of the axes */
    if (c->range[i].summed) continue;
    perm[at++] = of_range[i];
    for (int k = 0; k < v->n; k++) {
      if (v->axis[k].out != i) continue;
      perm[at++] = k;
      whole[c->range[i].axis] = v->tiles[k] * v->f[k].m;
    }
  }
  return g_shrink(ir, g_reshape(ir, g_permute(ir, y, perm), sum->rank, whole), zero, NULL, sum->dims);
}

static Ref rewritten(IR *ir, const Windows *v) {
  const Contraction *c = &v->c;
  Ref x = tiles_of(ir, v), w = weights_at_points(ir, v);
  for (int i = 0; i < v->n; i++) x = transformed(ir, x, i, true, &v->f[i]);
  int rank = node(ir, x)->rank;
  int64_t xd[MAX_RANK], wd[MAX_RANK];
  memcpy(xd, node(ir, x)->dims, (size_t)rank * sizeof *xd);
  xd[rank] = 1;
  for (int a = 0; a < rank; a++) wd[a] = a < v->n ? xd[a] : 1;
  wd[rank - 1] = xd[rank - 1];
  wd[rank] = c->range[v->map].extent;
  Ref product = g_binary(ir, OP_MUL, g_reshape(ir, x, rank + 1, xd), g_reshape(ir, w, rank + 1, wd));
  xd[rank - 1] = wd[rank];
  Ref y = g_reshape(ir, g_reduce(ir, OP_ADD, product, 1u << (rank - 1)), rank, xd);
  for (int i = 0; i < v->n; i++) y = transformed(ir, y, i, false, &v->f[i]);
  return results_of(ir, v, y);
}

typedef struct Choice { const Target *target; bool pairs; } Choice;

static Ref rule_windows(IR *ir, Ref r, void *arg) {
  const Choice *c = arg;
  Windows v;
  return find_windows(ir, r, &v) && choose_tiles(&v, c->target, c->pairs) ? rewritten(ir, &v) : 0;
}

bool graph_winograd(Graph *g, Precision p, const Target *t) {
  static const Rule rules[] = { { OP_REDUCE, "winograd", rule_windows }, { OP_NONE, NULL, NULL } };
  Choice how = { t, narrow_pairs(p, t) };
  Refs roots = { 0 };
  if (!t->vector_bytes || p == PREC_STRICT) return false; /* no vectors: where memory is scarcer than time */
  for (size_t i = 0; i < g->outputs.n; i++) VEC_PUSH(&roots, g->outputs.p[i].ref);
  bool changed = ir_rewrite(g->ir, rules, &how, roots.p, roots.n, NULL);
  for (size_t i = 0; i < g->outputs.n; i++) g->outputs.p[i].ref = roots.p[i];
  VEC_FREE(&roots);
  return changed;
}

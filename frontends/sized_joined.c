/* SPDX-License-Identifier: MIT */
/* sized_joined.c: reshapes that join axes of which several depend on sizes, or that take such an axis apart.
 *
 * In memory for the greatest sizes H and W, position (i, j) of a picture is element i * W + j. In a run with h rows of w entries,
 * the model means element i * w + j. A reshape that joins rows and columns may keep the memory, so that each row ends early. This
 * costs nothing, and readers such as a product need no more. But a sort along the joined axis, a concatenation, or a sum needs
 * the entries of the run to be the first ones. If the model is refused otherwise, such reshapes become copies (Sizing.dense). The
 * positions in the source follow from the run's sizes. The joined axis then has an extent of its own, the product h * w.
 *
 * needs: Sizing.peer    gives: rows of IR.opened, and nodes of copies    keeps: Sizing.open */
#include "sized_parts.h"
#include <string.h>

/* Axes from .. from + n of the source of a reshape have as many elements as axes at .. at + m of the result, at all sizes. */
typedef struct Joined { int from, n, at, m; } Joined;

/* Numbers of elements at the greatest sizes, and at the probes */
typedef struct Counts { int64_t n[1 + PROBES_MOST]; } Counts;

/* Whether the reshape r and its source are known at probe p - 1; 0: at the greatest sizes */
static bool known_at(const Sizing *z, Ref r, int p) {
  return !p || (z->peer[r][p - 1] && z->peer[operand(node(z->ir, r))][p - 1]);
}

/* Multiplies by the extents of an axis of `value`, the reshape r or its source. */
static void multiply(const Sizing *z, Ref r, Ref value, int axis, Counts *c) {
  for (int p = 0; p <= z->n; p++)
    if (known_at(z, r, p)) c->n[p] *= (p ? z->peer[value][p - 1] : node(z->ir, value))->dims[axis];
}

static Counts one_each(void) {
  Counts c;
  for (int p = 0; p <= PROBES_MOST; p++) c.n[p] = 1;
  return c;
}

static bool same_counts(const Sizing *z, const Counts *a, const Counts *b) {
  return !memcmp(a->n, b->n, (size_t)(1 + z->n) * sizeof *a->n);
}

static bool constant_count(const Sizing *z, Ref r, const Counts *c) {
  bool same = true;
  for (int p = 1; p <= z->n && same; p++) same = !known_at(z, r, p) || c->n[p] == c->n[0];
  return same;
}

/* Finds the group of axes behind *g. False: there is none */
static bool next_joined(const Sizing *z, Ref r, Joined *g) {
  const Node *x = node(z->ir, r), *y = node(z->ir, operand(x));
  Counts from = one_each(), at = one_each();
  *g = (Joined){ g->from + g->n, 0, g->at + g->m, 0 };
  do {
    const int i = g->from + g->n, k = g->at + g->m;
    const bool source = i < y->rank && (k == x->rank || from.n[0] <= at.n[0]);
    if (!source && k == x->rank) break;
    multiply(z, r, source ? operand(x) : r, source ? i : k, source ? &from : &at);
    *(source ? &g->n : &g->m) += 1;
  } while (!g->n || !g->m || !same_counts(z, &from, &at));
  return g->n && g->m && same_counts(z, &from, &at);
}

/* Divides counts by others, if all quotients are whole. */
static bool divided(const Sizing *z, Counts *a, const Counts *by) {
  bool whole = true;
  for (int p = 0; p <= z->n && whole; p++) whole = by->n[p] && a->n[p] % by->n[p] == 0;
  for (int p = 0; p <= z->n && whole; p++) a->n[p] /= by->n[p];
  return whole;
}

/* Whether elements keep their places in memory for the greatest sizes. Then, from the innermost axis on, each axis of one side is
 * an axis of the other one, or has constant axes inside. */
static bool keeps_places(const Sizing *z, Ref r, const Joined *g) {
  const Counts one = one_each();
  int i = g->n, k = g->m;
  Counts a = one, b = one;
  for (;;) {
    if (same_counts(z, &a, &b)) a = b = one;
    if (same_counts(z, &a, &one) && i) multiply(z, r, operand(node(z->ir, r)), g->from + --i, &a);
    else if (same_counts(z, &b, &one) && k) multiply(z, r, r, g->at + --k, &b);
    else if (same_counts(z, &a, &one) && same_counts(z, &b, &one)) return true;
    else if (constant_count(z, r, &b) && divided(z, &a, &b)) b = one;
    else if (constant_count(z, r, &a) && divided(z, &b, &a)) a = one;
    else if (!same_counts(z, &a, &b)) return false;
  }
}

/* Finds the extents of n axes of a value; -1: it is constant. False: one is not known */
static bool extents_of_axes(const Sizing *z, Ref value, int from, int n, int *extents) {
  bool known = true;
  for (int k = 0; k < n; k++) {
    const Samples s = samples_of_axis(z, value, from + k);
    extents[k] = samples_vary(z, &s) ? extent_along(z, value, from + k) : -1;
    known &= !samples_vary(z, &s) || extents[k] >= 0;
  }
  return known;
}

/* The product of those extents of axes of a value that depend on a size; -1: none does, or the product is not known */
static int extent_of_axes(const Sizing *z, Ref value, int from, int n) {
  int all = -1, extents[MAX_RANK];
  bool known = extents_of_axes(z, value, from, n, extents);
  for (int k = 0; k < n && known; k++) {
    if (extents[k] < 0) continue;
    all = all < 0 ? extents[k] : extent_times(z->ir, all, extents[k]);
    known = all >= 0;
  }
  return known ? all : -1;
}

/* Whether one number of elements is the other one times a constant, which need not be whole */
static bool proportional(const Sizing *z, Ref r, const Counts *a, const Counts *b) {
  bool all = true;
  for (int p = 1; p <= z->n && all; p++) all = !known_at(z, r, p) || a->n[p] * b->n[0] == a->n[0] * b->n[p];
  return all;
}

/* The extent of an axis of the result as a multiple of the product of extents of adjacent axes of the source; -1: not known */
static int extent_of_joined(const Sizing *z, Ref r, const Joined *g, int axis) {
  const Ref source = operand(node(z->ir, r));
  Counts want = one_each();
  multiply(z, r, r, axis, &want);
  for (int i = g->from; i < g->from + g->n; i++) {
    Counts all = one_each();
    for (int n = 1; i + n <= g->from + g->n; n++) {
      multiply(z, r, source, i + n - 1, &all);
      if (!proportional(z, r, &all, &want)) continue;
      const int of = extent_of_axes(z, source, i, n);
      const int64_t most = of < 0 ? 0 : greatest_extent(z->ir, of);
      if (!most || want.n[0] % most) continue;
      return extent_make(z->ir, (Extent){ .of = of, .times = want.n[0] / most, .over = 1, .most = want.n[0] });
    }
  }
  return -1;
}

static bool is_opened(const IR *ir, Ref r, int axis) {
  bool found = false;
  for (size_t i = 0; i < ir->opened.n && !found; i++) found = ir->opened.p[i].value == r && ir->opened.p[i].axis == axis;
  return found;
}

bool find_joined(const Sizing *z, Ref r) {
  bool more = false;
  for (Joined g = { 0 }; next_joined(z, r, &g);) {
    if (keeps_places(z, r, &g)) continue;
    for (int a = g.at; a < g.at + g.m; a++) {
      Samples s = samples_of_axis(z, r, a);
      if (!samples_vary(z, &s) || is_opened(z->ir, r, a)) continue;
      const int joined = extent_of_joined(z, r, &g, a), extent = joined < 0 ? extent_of_samples(z, &s) : joined;
      if (extent < 0) continue;
      VEC_PUSH(&z->ir->opened, ((OpenAxis){ r, a, extent }));
      more = true;
    }
  }
  return more;
}

bool has_joined(const Sizing *z) {
  Refs roots = { 0 }, order = { 0 };
  bool any = false;
  for (size_t i = 0; i < z->g->outputs.n; i++) VEC_PUSH(&roots, z->g->outputs.p[i].ref);
  ir_toposort(z->ir, roots.p, roots.n, &order);
  for (size_t i = 0; i < order.n && !any; i++)
    for (Joined g = { 0 }; node(z->ir, order.p[i])->op == OP_RESHAPE && !any && next_joined(z, order.p[i], &g);)
      any = !keeps_places(z, order.p[i], &g);
  VEC_FREE(&order);
  VEC_FREE(&roots);
  return any;
}

/* ---- copies ---- */
/* The extent in row `of` as a value; -1: it is constant, namely `most` */
static Ref extent_value(IR *ir, int of, int64_t most) { return of < 0 ? c_int(ir, DT_I64, most) : graph_size_plus(ir, of, 0); }

typedef struct Copied {
  const Sizing *z;
  Ref r;
  Joined g;
  int rank;          /* values in between have the group's axes of the result, and behind them those of the source */
  int to[MAX_RANK];  /* by axis of the group in the result: its extent; -1: it is constant */
  int from[MAX_RANK];
} Copied;

static Ref alone(const Copied *c, Ref value, int axis) {
  int64_t dims[MAX_RANK];
  for (int a = 0; a < c->rank; a++) dims[a] = a == axis ? node(c->z->ir, value)->dims[0] : 1;
  return g_reshape(c->z->ir, value, c->rank, dims);
}

/* The number of an element within the group, in a run */
static Ref element_number(const Copied *c) {
  IR *ir = c->z->ir;
  const Node *x = node(ir, c->r);
  Ref sum = 0, inner = 0;
  for (int k = c->g.m - 1; k >= 0; k--) {
    const int64_t extent = x->dims[c->g.at + k];
    Ref at = alone(c, g_iota(ir, DT_I64, extent), c->g.at + k);
    if (inner) at = g_binary(ir, OP_MUL, at, inner);
    sum = sum ? g_binary(ir, OP_ADD, at, sum) : at;
    const Ref n = extent_value(ir, c->to[k], extent);
    inner = inner ? g_binary(ir, OP_MUL, inner, n) : n;
  }
  return sum;
}

/* The first axis of the source's group, as an axis of values in between */
static int first_source_axis(const Copied *c) { return c->g.at + c->g.m; }

/* Takes element `number` from the source's axes of the group, one axis after the other. */
static Ref take_element(const Copied *c, Ref value, Ref number) {
  IR *ir = c->z->ir;
  const Node *y = node(ir, operand(node(ir, c->r)));
  const Ref none = c_int(ir, DT_I64, 0), one = c_int(ir, DT_I64, 1);
  Ref left = number;
  for (int k = c->g.n - 1; k >= 0; k--) {
    const int axis = first_source_axis(c) + k;
    const int64_t extent = y->dims[c->g.from + k];
    const Ref n = extent_value(ir, c->from[k], extent), by = g_binary(ir, OP_MAX, n, one);
    Ref at = k ? g_binary(ir, OP_FLMOD, left, by) : left;
    left = k ? g_binary(ir, OP_FLDIV, left, by) : left;
    at = g_binary(ir, OP_MIN, g_binary(ir, OP_MAX, at, none), g_binary(ir, OP_ADD, n, c_int(ir, DT_I64, -1)));
    value = g_gather(ir, value, at, axis);
    for (int i = 0; i < c->g.m; i++)
      if (c->to[i] >= 0) VEC_PUSH(&ir->opened, ((OpenAxis){ value, c->g.at + i, c->to[i] }));
  }
  return value;
}

/* Copies one group of axes. front: the axes in front of it, which are those of the result. 0: values in between have too many
 * axes, or an extent is not known */
static Ref copied_group(Copied *c, Ref value, const int64_t *front, int nfront) {
  IR *ir = c->z->ir;
  const Ref source = operand(node(ir, c->r));
  const Node *x = node(ir, c->r), *y = node(ir, source);
  int64_t dims[2 * MAX_RANK];
  int n = 0;
  if (nfront + c->g.m + y->rank - c->g.from > MAX_RANK) return 0;
  if (!extents_of_axes(c->z, c->r, c->g.at, c->g.m, c->to)) return 0;
  if (!extents_of_axes(c->z, source, c->g.from, c->g.n, c->from)) return 0;
  for (; n < nfront; n++) dims[n] = front[n];
  for (int k = 0; k < c->g.m; k++) dims[n++] = 1;
  for (int a = c->g.from; a < y->rank; a++) dims[n++] = y->dims[a];
  c->rank = n;
  value = take_element(c, g_reshape(ir, value, n, dims), element_number(c));
  for (int k = 0; k < c->g.m; k++) dims[nfront + k] = x->dims[c->g.at + k];
  for (int a = c->g.from + c->g.n, to = nfront + c->g.m; a < y->rank; a++) dims[to++] = y->dims[a];
  return g_reshape(ir, value, nfront + c->g.m + y->rank - c->g.from - c->g.n, dims);
}

Ref sized_reshape(Sizing *z, Ref r, Ref *src) {
  IR *ir = z->ir;
  const Node *x = node(ir, r), *y = node(ir, operand(x));
  Ref value = src[0];
  bool any = false;
  for (Joined g = { 0 }; z->dense && value && next_joined(z, r, &g);) {
    int64_t dims[2 * MAX_RANK];
    int n = 0;
    if (!keeps_places(z, r, &g)) {
      Copied c = { .z = z, .r = r, .g = g };
      value = copied_group(&c, value, x->dims, g.at);
      any = true;
      continue;
    }
    for (; n < g.at + g.m; n++) dims[n] = x->dims[n];
    for (int a = g.from + g.n; a < y->rank; a++) dims[n++] = y->dims[a];
    value = n <= MAX_RANK ? g_reshape(ir, value, n, dims) : 0;
  }
  if (!any || !value) return node_with_src(ir, r, src);
  value = g_reshape(ir, value, x->rank, x->dims);
  Placed p = { .now = value, .was = x, .src = src };
  extents_of_axes(z, operand(x), 0, y->rank, p.extent);
  VEC_PUSH(&z->placed, p);
  for (int a = 0; a < x->rank; a++) { /* later passes learn the extents from masks */
    const int extent = is_opened(ir, r, a) ? extent_along(z, r, a) : -1;
    if (extent >= 0) value = graph_masked(ir, value, a, extent, 0);
  }
  return value;
}

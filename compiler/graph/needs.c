/* SPDX-License-Identifier: MIT */
/* needs.c: how much of each value a run needs, if a run sets extents of inputs and outputs.
 *
 * All shapes have the greatest sizes. A run of size n needs the first n entries of an output along the axis with that extent. If
 * the output has another extent of the run (IR.extents), it needs as many. The walk goes from users to sources. A rule per op
 * says from which entries of a source the needed entries are computed. So the other entries have no effect on a needed one. A
 * need is a list of conditions (Needed). The scores of an attention have two: the first n rows, and in each row the first n
 * entries. A reduction along the axis needs the first n entries if its source is a size mask: WHERE(position < n, value,
 * identity). Below the padding of a convolution such a mask has the fill value. The front end puts masks there
 * (frontends/sized.c). A window needs more entries than it gives, and fewer if it has steps. A need is rounded up to all entries
 * that a value has in the run. So a run's extent of an input never depends on its users. Where an op mixes entries along the axis
 * otherwise, all of the source is needed. If this is an input with the extent n, there is no such bundle.
 *
 * needs: any graph, GIO.open    gives: the need of each node below the outputs    keeps: the graph */
#include "../ir/refmap.h"
#include "graph.h"
#include <stdlib.h>
#include <string.h>

typedef struct Needs {
  const Graph *g;
  IR *ir;
  Needed *of;              /* by Ref */
  const Needed *open;      /* by Ref: graph_open */
  Ref *cause;              /* by Ref: the node because of which a condition was dropped last; 0: an output without the axis */
  Refs order;
  RefMap yields;           /* 1 + loop * 4096 + place, to the YIELD */
  bool changed;
} Needs;

static const Needed all = { 0 };

/* Adds a need of r because of node `cause`. Conditions stay only if all users have them. */
static void need(Needs *w, Ref r, Needed n, Ref cause) {
  Needed *had = &w->of[r];
  if (n.n == NEED_NOTHING) return;
  const Needed both = had->n == NEED_NOTHING ? n : needed_both(w->ir, had, &n);
  if (had->n != NEED_NOTHING && needed_same(&both, had)) return;
  *had = both;
  w->cause[r] = cause;
  w->changed = true;
}

/* ---- conditions and axes ---- */
static int64_t product(const int64_t *dims, int from, int to) {
  int64_t n = 1;
  for (int a = from; a < to; a++) n *= dims[a];
  return n;
}

int need_axis(const Node *x, const Need *is, int64_t *within) {
  int64_t stride = 1;
  for (int a = x->rank - 1; a >= 0 && stride; stride *= x->dims[a--]) {
    if (x->dims[a] == 1 || is->inner % stride) continue;
    *within = is->inner / stride;
    if (x->dims[a] && x->dims[a] % (*within * is->extent) == 0) return a;
  }
  return -1;
}

bool need_lies_in(const Node *x, const Needed *n, int axis) {
  int64_t within;
  bool any = false;
  for (int k = 0; k < n->n; k++) any |= need_axis(x, &n->is[k], &within) == axis;
  return any;
}

void need_dims(const IR *ir, const Node *x, const Needed *n, const int64_t *run, int64_t *dims) {
  int64_t within;
  for (int a = 0; a < x->rank; a++) dims[a] = x->dims[a];
  for (int k = 0; k < n->n; k++) {
    const int a = need_axis(x, &n->is[k], &within);
    if (a >= 0) dims[a] = dims[a] / n->is[k].extent * extent_in_run(ir, n->is[k].of, run);
  }
}

/* The condition on the first entries along an axis, as many as extent `of` says */
static Need along(const Node *x, int axis, int of) { return (Need){ product(x->dims, axis + 1, x->rank), x->dims[axis], of, 0 }; }

Needed graph_need_of_value(IR *ir, const GIO *v) {
  Needed n = { 0 };
  if (v->is.n) return v->is;
  for (int a = v->rank - 1; a >= 0; a--)
    if (v->open[a]) needed_add(ir, &n, (Need){ product(v->dims, a + 1, v->rank), v->dims[a], v->open[a] - 1, 0 });
  return n;
}

int need_along(IR *ir, const Node *x, const Needed *n, int axis) {
  int64_t within;
  for (int k = 0; k < n->n; k++)
    if (need_axis(x, &n->is[k], &within) == axis && within * n->is[k].extent == x->dims[axis])
      return extent_make(ir, (Extent){ .of = n->is[k].of, .times = within, .over = 1, .most = x->dims[axis] });
  return -1;
}

/* The condition `is` on elements of another shape. Entries may be joined to larger ones; round: even if a run ends inside one */
static bool regrouped(IR *ir, const Node *x, Need is, bool round, Needed *out) {
  int64_t within;
  for (int64_t g = 1; g <= is.extent; g++) {
    const bool exact = ir->extents.p[is.of].shared % g == 0;
    Need now = { is.inner * g, is.extent / g, is.of, 0 };
    if (is.extent % g || (!exact && !round) || now.extent == 1 || need_axis(x, &now, &within) < 0) continue;
    if (g > 1) now.of = extent_make(ir, (Extent){ .of = is.of, .times = 1, .plus = g - 1, .over = g, .most = now.extent });
    needed_add(ir, out, now);
    return true;
  }
  return false;
}

/* ---- masks ---- */
enum { VIEWS_MOST = 24 }; /* most ops between a mask and its positions */

/* The extent that a SIZE, or a view of one, has; -1: it is none */
static int extent_of_size(const IR *ir, Ref r) {
  const Node *x = node(ir, view_base(ir, r));
  const tgcrt_size *s = x->op == OP_SIZE ? &ir->sizes.p[size_id(x)] : NULL;
  return s && s->rule == TGCRT_SIZE_ALL && s->times == 1 ? s->of : -1;
}

static Ref compared(const Node *x) { return x->op == OP_CMPLT ? lhs(x) : operand(x); }

bool graph_first_entries(const IR *ir, Ref r, Need *is) {
  Ref chain[VIEWS_MOST];
  int n = 0, compares = 0;
  int64_t within;
  *is = (Need){ .inner = 1 };
  for (; node(ir, r)->op != OP_IOTA; r = compared(node(ir, r))) {
    const Node *x = node(ir, r);
    const bool compare = x->op == OP_CMPLT && extent_of_size(ir, rhs(x)) >= 0;
    if (n == VIEWS_MOST || (!compare && x->op != OP_RESHAPE && x->op != OP_EXPAND && x->op != OP_PERMUTE)) return false;
    if (compare) is->of = extent_of_size(ir, rhs(x));
    compares += compare;
    chain[n++] = r;
  }
  is->extent = node(ir, r)->dims[0];
  if (compares != 1 || is->extent < 2) return false;
  while (n--) {
    const Node *x = node(ir, chain[n]), *y = node(ir, compared(x));
    int axis = need_axis(y, is, &within), to = 0;
    if (axis < 0) return false;
    if (x->op == OP_RESHAPE) {
      if (need_axis(x, is, &within) < 0) return false;
      continue;
    }
    while (x->op == OP_PERMUTE && permute_perm(x, to) != axis) to++;
    if (x->op == OP_PERMUTE) axis = to;
    is->inner = within * product(x->dims, axis + 1, x->rank);
  }
  return true;
}

bool graph_size_mask(const IR *ir, Ref r, Need *is) {
  const Node *x = node(ir, r);
  return ir->symbols.n && x->op == OP_WHERE && node_is_const(ir, where_no(x), NULL) && graph_first_entries(ir, where_cond(x), is);
}

Ref graph_masked(IR *ir, Ref x, int axis, int extent, int64_t fill) {
  const int rank = node(ir, x)->rank;
  int64_t dims[MAX_RANK];
  for (int a = 0; a < rank; a++) dims[a] = a == axis ? node(ir, x)->dims[a] : 1;
  const Ref size = size_value(ir, size_number(ir, size_all(1, extent)));
  const Ref below = g_binary(ir, OP_CMPLT, g_iota(ir, DT_I64, dims[axis]), size);
  return g_where(ir, g_reshape(ir, below, rank, dims), x, c_bits(ir, (DType)node(ir, x)->dt, fill));
}

Ref graph_positions(IR *ir, Ref first, int64_t step, int64_t n, int axis, int rank) {
  int64_t dims[MAX_RANK];
  for (int a = 0; a < rank; a++) dims[a] = a == axis ? n : 1;
  const Ref steps = g_binary(ir, OP_MUL, g_iota(ir, DT_I64, n), c_int(ir, DT_I64, step));
  return g_reshape(ir, g_binary(ir, OP_ADD, steps, first), rank, dims);
}

Ref graph_size_plus(IR *ir, int extent, int64_t plus) {
  const Ref size = size_value(ir, size_number(ir, size_all(1, extent)));
  return plus ? g_binary(ir, OP_ADD, size, c_int(ir, DT_I64, plus)) : size;
}

Ref graph_joined(IR *ir, Ref a, Ref b, int axis, int extent, int of) {
  const Node *x = node(ir, a), *y = node(ir, b);
  const int rank = x->rank;
  const int64_t m = x->dims[axis], both = m + y->dims[axis];
  int64_t none[MAX_RANK] = { 0 }, hi[MAX_RANK] = { 0 }, dims[MAX_RANK];
  for (int k = 0; k < rank; k++) dims[k] = k == axis ? both : 1;
  hi[axis] = y->dims[axis];
  const Ref before = g_pad(ir, a, none, hi, c_int(ir, (DType)x->dt, 0));
  const Ref size = graph_size_plus(ir, extent, 0);
  Ref place = graph_positions(ir, g_binary(ir, OP_MUL, size, c_int(ir, DT_I64, -1)), 1, both, axis, rank);
  if (of >= 0) { /* no entry of b behind those of the run is read */
    place = g_binary(ir, OP_MAX, place, c_int(ir, DT_I64, 0));
    place = g_binary(ir, OP_MIN, place, graph_size_plus(ir, of, -1));
  }
  const Ref below = g_reshape(ir, g_binary(ir, OP_CMPLT, g_iota(ir, DT_I64, both), size), rank, dims);
  return g_where(ir, below, before, g_gather(ir, b, place, axis));
}

/* ---- rules ---- */
/* The axis of source k with the same entries as `axis` of x; -1: there is none */
static int source_axis(const Node *x, const Node *y, int k, int axis) {
  int at = axis;
  bool same = true;
  switch ((Op)x->op) {
  case OP_PERMUTE: at = (int)permute_perm(x, axis); break;
  case OP_EXPAND: case OP_STORED: case OP_CARRIED: case OP_REDUCE: break;
  case OP_SHRINK: same = shrink_begin(x, axis) == 0 && shrink_step(x, axis) == 1; break;
  case OP_WINDOW: same = axis != window_axis(x); break;
  case OP_PAD: same = !k; break;
  case OP_CAT: same = axis != cat_axis(x); break;
  case OP_GATHER: same = k || axis != gather_axis(x); break;
  case OP_SCATTER: same = !k || axis != scatter_axis(x); break;
  case OP_WALK: same = !k && !axis; break;
  case OP_SLICE: at = axis < slice_axis(x) ? axis : axis + 1; break;
  case OP_YIELD:
    if (yield_place(x) >= 0) break;
    same = axis != yield_axis(x);
    at = axis < yield_axis(x) ? axis : axis - 1;
    break;
  default: same = op_info[x->op].level == L_EXPR; break;
  }
  return same && at < y->rank && y->dims[at] == x->dims[axis] ? at : -1;
}

/* A scatter and a walk number the entries of an axis. If a run needs some of each group of entries, its entries have other
 * numbers than those at the greatest sizes. */
static bool same_places(const Node *x, int axis, const Need *is, int64_t within) {
  const bool numbers = (x->op == OP_SCATTER && axis == scatter_axis(x)) || (x->op == OP_WALK && !axis);
  return !numbers || within * is->extent == x->dims[axis];
}

/* Number of entries in front of part k of a concatenation */
static int64_t part_begin(const IR *ir, const Node *x, int k) {
  int64_t at = 0;
  for (int i = 0; i < k; i++) at += node(ir, x->src[i])->dims[cat_axis(x)];
  return at;
}

static int64_t reach(const Node *window, const Node *y) { return (window->dims[y->rank] - 1) * window_dilation(window) + 1; }

/* For an op that changes an axis: from how many of the first entries of its source y the first `count` entries of the result
 * come; -1: they do not come from first entries */
static int entries_of_source(IR *ir, const Node *x, const Node *y, int k, int axis, int count) {
  Extent e = { .of = count, .times = 1, .over = 1 };
  switch ((Op)x->op) {
  case OP_SHRINK:
    e.times = shrink_step(x, axis);
    e.plus = shrink_begin(x, axis) - e.times + 1;
    if (e.times <= 0) e.times = 0, e.plus = shrink_begin(x, axis) + 1; /* the result begins with the last entry */
    break;
  case OP_PAD:
    if (k) return -1;
    e.plus = -pad_lo(x, axis);
    break;
  case OP_WINDOW:
    if (axis != window_axis(x)) return -1;
    e.times = window_stride(x);
    e.plus = reach(x, y) - e.times;
    break;
  case OP_CAT:
    if (axis != cat_axis(x)) return -1;
    e.plus = -part_begin(ir, x, k);
    break;
  default: return -1;
  }
  e.most = y->dims[axis];
  return extent_make(ir, e);
}

/* The other way: how many entries the result has along an axis if the source has `count`; -1: it is not known, or constant */
static int entries_of_result(IR *ir, const Node *x, const Node *y, int k, int axis, int count) {
  Extent e = { .of = count, .times = 1, .over = 1, .most = x->dims[axis] };
  const int64_t n = x->dims[axis];
  int64_t left; /* entries at the end that the result does not use */
  switch ((Op)x->op) {
  case OP_SHRINK: {
    const int64_t begin = shrink_begin(x, axis), step = shrink_step(x, axis);
    const Extent part = { .of = count, .plus = begin + (n - 1) * step + 1, .over = 1, .most = INT64_MAX };
    if (step <= 0 || extent_at_most(ir, extent_make(ir, part), count)) return -1;
    left = y->dims[axis] - begin - n * step;
    e.over = step;
    e.plus = step - 1 - begin - (left > 0 ? left : 0);
    break;
  }
  case OP_PAD:
    if (k) return -1;
    e.plus = pad_lo(x, axis) + pad_hi(x, axis);
    break;
  case OP_WINDOW:
    if (axis != window_axis(x)) return -1;
    e.over = window_stride(x);
    left = y->dims[axis] - reach(x, y) - n * e.over + 1;
    e.plus = e.over - reach(x, y) - (left > 0 ? left : 0);
    break;
  default: return -1; /* a concatenation has several sources: entries_of_cat */
  }
  return extent_make(ir, e);
}

/* How many entries a concatenation has, if those parts that depend on the size have equally many; -1: it is not known */
static int entries_of_cat(IR *ir, const Needed *open, const Node *x) {
  const int axis = (int)cat_axis(x);
  Extent e = { .of = -1, .over = 1, .most = x->dims[axis] };
  for (int k = 0; k < x->nsrc; k++) {
    const Node *y = node(ir, x->src[k]);
    const int of = need_along(ir, y, &open[x->src[k]], axis);
    if (of >= 0 && e.of >= 0 && of != e.of) return -1;
    if (of >= 0) e.of = of, e.times++;
    else e.plus += y->dims[axis];
  }
  return e.of < 0 ? -1 : extent_make(ir, e);
}

/* The need of a source along an axis, of which a run has `all_of_run` entries (-1: it is not known): as many as that, if `of` is
 * less. count: needed entries of the result. A run that needs none of them needs nothing of the source, whatever `of` says */
static void add_rounded(IR *ir, const Node *y, int axis, int of, int all_of_run, int count, Needed *out) {
  if (of < 0) return;
  if (all_of_run >= 0 && extent_at_most_if(ir, of, all_of_run, count)) of = all_of_run;
  needed_add(ir, out, along(y, axis, of));
}

/* A number of entries that every run has, such as the first three: their source is needed as far as the run's size. */
static void add_common_part(IR *ir, const Node *x, const Node *y, int k, const Needed *n, const Needed *open, Needed *out) {
  for (int a = 0; a < y->rank && a < x->rank; a++) {
    const int all_of_run = need_along(ir, y, open, a);
    if (all_of_run < 0 || need_lies_in(x, n, a)) continue;
    const int count = extent_make(ir, (Extent){ .of = all_of_run, .plus = x->dims[a], .over = 1, .most = x->dims[a] });
    add_rounded(ir, y, a, entries_of_source(ir, x, y, k, a, count), all_of_run, count, out);
  }
}

bool graph_gathers_inside(const IR *ir, Ref index, int all_of_run, int count) {
  int64_t least, most;
  bool inside = true;
  const int symbol = ir->extents.p[all_of_run].symbol;
  const bool counted = count >= 0 && ir->extents.p[count].symbol == symbol;
  RunSizes run = { 0 }; /* other sizes are any */
  for (int64_t i = 0; inside && i < symbol_sizes(&ir->symbols.p[symbol]); i++) {
    run[symbol] = ir->symbols.p[symbol].low + i * ir->symbols.p[symbol].step;
    const int64_t entries = counted ? extent_in_run(ir, count, run) : 0;
    if (counted && !entries) continue; /* there is no index */
    inside = index_in_run(ir, index, run, entries, &least, &most) && most < extent_in_run(ir, all_of_run, run);
  }
  return inside;
}

/* A gather by positions that every run has: its source is needed as far as the run's size. x: the gather; n: its need */
static void add_gathered(IR *ir, const Node *x, const Node *y, const Needed *n, const Needed *open, Needed *of) {
  const int axis = (int)gather_axis(x), all_of_run = need_along(ir, y, open, axis), count = need_along(ir, x, n, axis);
  if (all_of_run >= 0 && graph_gathers_inside(ir, gather_index(x), all_of_run, count))
    needed_add(ir, of, along(y, axis, all_of_run));
}

Ref graph_masked_index(const IR *ir, const Node *scatter, Need *mask) {
  const Node *x = node(ir, scatter_index(scatter)), *y;
  const Ref r = x->op == OP_EXPAND ? operand(x) : scatter_index(scatter);
  int64_t other, within;
  if (!graph_size_mask(ir, r, mask) || !node_is_const(ir, where_no(node(ir, r)), &other) || other >= 0) return 0;
  y = node(ir, r);
  if (need_axis(y, mask, &within) != scatter_axis(scatter) || within * mask->extent != x->dims[scatter_axis(scatter)]) return 0;
  mask->inner = within * product(x->dims, (int)scatter_axis(scatter) + 1, x->rank);
  return r;
}

/* Adds the conditions of the size masks that a reduction takes its terms from, or of the mask that hides a value. */
static void add_masks(IR *ir, Ref r, int k, Needed *to) {
  const Node *x = node(ir, r);
  int64_t other;
  Need mask;
  if (x->op == OP_WHERE && k == 1 && ir->symbols.n && graph_first_entries(ir, where_cond(x), &mask)) needed_only(ir, to, mask);
  if (x->op == OP_SCATTER && k && graph_masked_index(ir, x, &mask)) needed_only(ir, to, mask);
  if (x->op != OP_REDUCE) return;
  for (Ref s = operand(x); graph_size_mask(ir, s, &mask); s = where_yes(node(ir, s))) {
    if (!node_is_const(ir, where_no(node(ir, s)), &other) || other != reduce_identity(reduce_op(x), (DType)x->dt)) return;
    needed_only(ir, to, mask);
  }
}

Needed graph_need_of_source(IR *ir, Ref r, int k, const Needed *n, const Needed *open) {
  const Node *x = node(ir, r), *y = node(ir, x->src[k]);
  Needed out = { n->n == NEED_NOTHING ? NEED_NOTHING : 0, { { 0 } } };
  int64_t within;
  for (int i = 0; i < n->n; i++) {
    const Need is = n->is[i];
    if (x->op == OP_RESHAPE) { /* elements keep their numbers */
      regrouped(ir, y, is, true, &out);
      continue;
    }
    const int axis = need_axis(x, &is, &within);
    const int at = axis < 0 || !same_places(x, axis, &is, within) ? -1 : source_axis(x, y, k, axis);
    if (at >= 0) needed_add(ir, &out, (Need){ within * product(y->dims, at + 1, y->rank), is.extent, is.of, 0 });
    const int count = axis >= 0 && at < 0 ? need_along(ir, x, &(Needed){ 1, { is } }, axis) : -1;
    if (count < 0) continue;
    add_rounded(ir, y, axis, entries_of_source(ir, x, y, k, axis, count), need_along(ir, y, open, axis), count, &out);
  }
  if (n->n >= 0) add_masks(ir, r, k, &out);
  if (x->op == OP_GATHER && !k && n->n >= 0) add_gathered(ir, x, y, n, open, &out);
  const int trips = x->op == OP_SLICE && n->n >= 0 && !is_live(ir, r) ? loop_extent(ir, slice_loop(x)) : -1;
  if (trips >= 0) needed_add(ir, &out, along(y, (int)slice_axis(x), trips)); /* later iterations change nothing */
  if (n->n >= 0 && x->rank && y->rank) add_common_part(ir, x, y, k, n, open, &out);
  return out;
}

/* A selection takes only its first entries along the condition from this source, as in graph_joined, and others from elsewhere.
 * So the source does not tell how many entries the result has. */
static bool is_hidden(const IR *ir, const Node *x, int k, const Need *is) {
  Need mask;
  return x->op == OP_WHERE && k == 1 && !node_is_const(ir, where_no(x), NULL) && graph_first_entries(ir, where_cond(x), &mask) &&
         is->inner * is->extent == mask.inner * mask.extent;
}

/* The conditions of a value from those of source k. A size mask keeps them, although it gives all other elements a value. */
static void open_from(IR *ir, const Needed *open, Ref r, int k, Needed *out) {
  const Node *x = node(ir, r), *y = node(ir, x->src[k]);
  const Needed *from = &open[x->src[k]];
  int64_t within;
  for (int i = 0; i < from->n; i++) {
    const Need is = from->is[i];
    if (is_hidden(ir, x, k, &is)) continue;
    if (x->op == OP_RESHAPE) {
      regrouped(ir, x, is, false, out);
      continue;
    }
    const int axis = need_axis(y, &is, &within), count = axis >= 0 ? need_along(ir, y, &(Needed){ 1, { is } }, axis) : -1;
    bool moved = false;
    for (int a = 0; a < x->rank && axis >= 0; a++) {
      if (source_axis(x, y, k, a) != axis) continue;
      needed_add(ir, out, (Need){ within * product(x->dims, a + 1, x->rank), is.extent, is.of, 0 });
      moved = true;
    }
    const int of = count >= 0 && !moved && axis < x->rank ? entries_of_result(ir, x, y, k, axis, count) : -1;
    if (of >= 0) needed_add(ir, out, along(x, axis, of));
  }
}

/* Drops conditions on entries of an axis. */
static void drop_axis(const Node *x, int axis, Needed *n) {
  int64_t within;
  int left = 0;
  for (int k = 0; k < n->n; k++)
    if (need_axis(x, &n->is[k], &within) != axis) n->is[left++] = n->is[k];
  n->n = left;
}

/* A padding whose width depends on the size, or a selection of graph_joined: its sources do not tell its extent. */
static bool is_padded_or_joined(const IR *ir, Ref r) {
  const Node *x = node(ir, r);
  Need is;
  const bool selects = x->op == OP_WHERE && !node_is_const(ir, where_no(x), NULL);
  return x->op == OP_PAD || (selects && graph_first_entries(ir, where_cond(x), &is));
}

static Needed open_of(const Graph *g, const Needed *open, Ref r) {
  const Node *x = node(g->ir, r);
  Needed out = { 0 };
  if (x->op == OP_PARAM) return graph_need_of_value(g->ir, &g->inputs.p[param_slot(x)]);
  if (x->op == OP_RESULT) return open[node(g->ir, operand(x))->src[result_at(x)]];
  for (int k = 0; k < x->nsrc && x->op != OP_ITERATE; k++) open_from(g->ir, open, r, k, &out);
  const int trips = x->op == OP_YIELD && yield_place(x) < 0 ? loop_extent(g->ir, yield_loop(x)) : -1;
  if (trips >= 0) needed_add(g->ir, &out, along(x, (int)yield_axis(x), trips));
  const int of = x->op == OP_CAT ? entries_of_cat(g->ir, open, x) : -1;
  if (of >= 0) needed_add(g->ir, &out, along(x, (int)cat_axis(x), of));
  Need mask;
  if (graph_size_mask(g->ir, r, &mask)) {
    if (is_padded_or_joined(g->ir, where_yes(x))) needed_only(g->ir, &out, mask);
    else needed_add(g->ir, &out, mask);
  }
  for (size_t i = 0; i < g->ir->opened.n; i++) {
    const OpenAxis *o = &g->ir->opened.p[i];
    if (o->value != r) continue;
    if (x->op == OP_RESHAPE) drop_axis(x, o->axis, &out); /* a copy, which has another order than its source */
    needed_only(g->ir, &out, along(x, o->axis, o->extent));
  }
  return out;
}

static Ref yield_key(int64_t loop, int64_t place) { return (Ref)(1 + loop * 4096 + place); }

static void visit(Needs *w, Ref r) {
  const Node *x = node(w->ir, r);
  const Needed n = w->of[r];
  if (n.n == NEED_NOTHING || x->op == OP_ITERATE) return;
  if (x->op == OP_RESULT) {
    need(w, node(w->ir, operand(x))->src[result_at(x)], n, n.n ? r : w->cause[r]);
    need(w, operand(x), all, w->cause[r]);
    return;
  }
  for (int k = 0; k < x->nsrc; k++) {
    const Needed of = graph_need_of_source(w->ir, r, k, &n, &w->open[x->src[k]]);
    const int open = w->open[x->src[k]].n;
    const bool lost = of.n < n.n || (!w->cause[r] && open > w->open[r].n && open > of.n); /* the result has fewer such axes */
    need(w, x->src[k], of, lost ? r : w->cause[r]);
  }
  const Ref next = x->op == OP_CARRIED ? refmap_get(&w->yields, yield_key(carried_loop(x), carried_place(x))) : 0;
  if (next) need(w, next, n, w->cause[r]);
}

/* A carried value and what replaces it are one value, so both are needed alike. */
static void tie(Needs *w, Ref yield) {
  const Node *x = node(w->ir, yield);
  if (x->op != OP_YIELD || yield_place(x) < 0) return;
  for (size_t i = 0; i < w->order.n; i++) {
    const Node *y = node(w->ir, w->order.p[i]);
    if (y->op == OP_CARRIED && carried_loop(y) == yield_loop(x) && carried_place(y) == yield_place(x))
      need(w, w->order.p[i], w->of[yield], w->cause[yield]);
  }
}

/* A loop gives its results in full, even one that nobody uses. */
static void need_unused(Needs *w, Ref yield) {
  if (node(w->ir, yield)->op == OP_YIELD && w->of[yield].n == NEED_NOTHING) need(w, yield, w->open[yield], 0);
}

static void refuse(const Needs *w, const GIO *in, const Symbol *s, Ref cause) {
  Ctx *c = w->ir->ctx;
  if (!cause)
    fail(c, EX_BADMODEL, "--dim %s: all of input '%s' goes into an output without that dimension, so its size must be one number",
         s->name, in->name);
  fail_at(c, EX_BADMODEL, ir_pos(w->ir, cause),
          "--dim %s: the node combines entries along that dimension, so its size must be one number", s->name);
}

/* Iterations behind those of a run give nothing. */
static void check_slices(const Needs *w, Ref r) {
  const Node *x = node(w->ir, r);
  const int trips = x->op == OP_YIELD && yield_place(x) < 0 ? loop_extent(w->ir, yield_loop(x)) : -1;
  if (trips < 0 || w->of[r].n == NEED_NOTHING) return;
  const int count = need_along(w->ir, x, &w->of[r], (int)yield_axis(x));
  if (count >= 0 && extent_at_most(w->ir, count, trips)) return;
  fail_at(w->ir->ctx, EX_BADMODEL, ir_pos(w->ir, w->cause[r] ? w->cause[r] : r),
          "--dim %s: the node combines entries along that dimension, so its size must be one number",
          w->ir->symbols.p[w->ir->extents.p[trips].symbol].name);
}

/* An input has as many entries as the run says, even if fewer are needed. */
static void settle_input(Needs *w, const GIO *in) {
  Needed *n = &w->of[in->ref];
  const Needed whole = graph_need_of_value(w->ir, in);
  if (!gio_is_open(in) || n->n == NEED_NOTHING) return;
  const Needed both = needed_both(w->ir, n, &whole);
  for (int k = 0; k < whole.n; k++) {
    const Needed one = { 1, { whole.is[k] } }, found = needed_both(w->ir, &both, &one);
    const Symbol *s = &w->ir->symbols.p[w->ir->extents.p[whole.is[k].of].symbol];
    if (!needed_same(&found, &one)) refuse(w, in, s, w->cause[in->ref]);
  }
  *n = whole;
}

const Needed *graph_open(const Graph *g) {
  Needed *open = ARENA_NEW(&g->ir->ctx->model, Needed, g->ir->n);
  Refs roots = { 0 }, order = { 0 };
  for (uint32_t i = 0; i < g->ir->n; i++) open[i].n = 0;
  for (size_t i = 0; i < g->outputs.n; i++) VEC_PUSH(&roots, g->outputs.p[i].ref);
  ir_toposort(g->ir, roots.p, roots.n, &order);
  for (size_t i = 0; i < order.n; i++) open[order.p[i]] = open_of(g, open, order.p[i]);
  VEC_FREE(&order);
  VEC_FREE(&roots);
  return open;
}

const Needed *graph_needs(const Graph *g, const Needed *open) {
  IR *ir = g->ir;
  Needs w = { .g = g, .ir = ir, .open = open };
  Refs roots = { 0 };
  w.of = ARENA_NEW(&ir->ctx->model, Needed, ir->n);
  w.cause = xcalloc(ir->n, sizeof *w.cause);
  for (uint32_t i = 0; i < ir->n; i++) w.of[i].n = NEED_NOTHING;
  for (size_t i = 0; i < g->outputs.n; i++) {
    VEC_PUSH(&roots, g->outputs.p[i].ref);
    need(&w, g->outputs.p[i].ref, graph_need_of_value(ir, &g->outputs.p[i]), 0);
  }
  ir_toposort(ir, roots.p, roots.n, &w.order);
  for (size_t i = 0; i < w.order.n; i++) {
    const Node *x = node(ir, w.order.p[i]);
    if (x->op == OP_YIELD && yield_place(x) >= 0) refmap_set(&w.yields, yield_key(yield_loop(x), yield_place(x)), w.order.p[i]);
  }
  do { /* once, but for carried values */
    w.changed = false;
    for (size_t i = w.order.n; i-- > 0;) {
      visit(&w, w.order.p[i]);
      tie(&w, w.order.p[i]);
    }
    for (size_t i = 0; i < w.order.n && !w.changed; i++) need_unused(&w, w.order.p[i]);
  } while (w.changed && ir->loops);
  for (size_t i = 0; i < w.order.n; i++) check_slices(&w, w.order.p[i]);
  for (size_t i = 0; i < g->inputs.n; i++) settle_input(&w, &g->inputs.p[i]);
  refmap_free(&w.yields);
  free(w.cause);
  VEC_FREE(&w.order);
  VEC_FREE(&roots);
  return w.of;
}

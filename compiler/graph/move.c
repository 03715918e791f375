/* SPDX-License-Identifier: MIT */
/* move.c: exact rules for movement ops. Consecutive movements become one where possible. A movement of one repeated number
 * becomes that number. EXPAND moves towards the results, so that work is done before elements are repeated. SHRINK moves
 * towards the inputs, so that work is done on fewer elements. */
#include "../cost/tunable.h"
#include "../ir/decisions.h"
#include "rules.h"

static bool empty(const Node *x) { return dims_elems(x->dims, x->rank) == 0; }

Ref splat(IR *ir, const Node *x, int64_t bits) { return g_expand(ir, c_bits(ir, (DType)x->dt, bits), x->rank, x->dims); }

bool reshape_part(int from_rank, const int64_t *from, int to_rank, const int64_t *to, int64_t *part, int64_t *out, bool widen) {
  for (int i = 0, j = 0; i < from_rank || j < to_rank;) { /* runs of axes with equal products correspond */
    int i0 = i, j0 = j;
    int64_t a = i < from_rank ? from[i++] : 1, b = j < to_rank ? to[j++] : 1;
    while (a != b) {
      if (a < b) a *= from[i++];
      else b *= to[j++];
    }
    bool whole = true, one = true;
    for (int k = i0; k < i; k++) {
      whole &= part[k] == from[k];
      one &= part[k] == 1;
    }
    if (!whole && !one && !widen) return false;
    for (; j0 < j; j0++) out[j0] = one ? 1 : to[j0];
    for (; i0 < i && !one; i0++) part[i0] = from[i0];
  }
  return true;
}

int reshape_axis(const Node *x, const Node *from, int a) {
  for (int i = 0; i < x->rank; i++)
    if (x->dims[i] == from->dims[a] && dims_elems(x->dims, i) == dims_elems(from->dims, a)) return i;
  return -1;
}

/* A movement of one repeated number */
static Ref moved_constant(IR *ir, const Node *x) {
  int64_t bits;
  return node_is_const(ir, operand(x), &bits) ? splat(ir, x, bits) : 0;
}

Ref rule_reshape(IR *ir, Ref r, void *users) {
  const Node *x = node(ir, r), *s = node(ir, operand(x));
  int64_t part[MAX_RANK], dims[MAX_RANK];
  (void)users;
  Ref y = g_reshape(ir, operand(x), x->rank, x->dims);
  if (y != r) return y;
  if (s->op != OP_EXPAND || empty(x)) return 0;
  const Node *z = node(ir, operand(s));
  memcpy(part, z->dims, z->rank * sizeof *part);
  if (!reshape_part(s->rank, s->dims, x->rank, x->dims, part, dims, false)) return 0;
  return g_expand(ir, g_reshape(ir, operand(s), x->rank, dims), x->rank, x->dims);
}

Ref rule_expand(IR *ir, Ref r, void *users) {
  const Node *x = node(ir, r);
  (void)users;
  return g_expand(ir, operand(x), x->rank, x->dims);
}

Ref rule_permute(IR *ir, Ref r, void *users) {
  const Node *x = node(ir, r), *s = node(ir, operand(x));
  (void)users;
  Ref y = g_permute(ir, operand(x), x->arg);
  if (y != r) return y;
  if (s->op == OP_EXPAND) return g_expand(ir, g_permute(ir, operand(s), x->arg), x->rank, x->dims);
  int64_t last = -1; /* axes of extent 1 may move past others, since a reshape can do that */
  for (int i = 0; i < x->rank; i++) {
    if (x->dims[i] == 1) continue;
    if (permute_perm(x, i) < last) return 0;
    last = permute_perm(x, i);
  }
  return g_reshape(ir, operand(x), x->rank, x->dims);
}

/* A part of a padded tensor, contiguous on the padded axes, becomes padding of a part */
static Ref shrink_of_pad(IR *ir, const Node *x, const Node *s) {
  int n = x->rank;
  const Node *z = node(ir, pad_data(s));
  int64_t begin[MAX_RANK], step[MAX_RANK], dims[MAX_RANK], lo[MAX_RANK], hi[MAX_RANK], bits;
  bool outside = false;
  for (int i = 0; i < n; i++) {
    begin[i] = shrink_begin(x, i) - pad_lo(s, i);
    step[i] = shrink_step(x, i);
    dims[i] = x->dims[i];
    lo[i] = hi[i] = 0;
    int64_t last = begin[i] + (dims[i] - 1) * step[i];
    int64_t from = begin[i] < last ? begin[i] : last, to = begin[i] < last ? last : begin[i];
    if (from >= 0 && to < z->dims[i]) continue;
    if (from >= z->dims[i] || to < 0) {
      outside = true;
      continue;
    }
    if (step[i] != 1) return 0;
    lo[i] = from < 0 ? -from : 0;
    hi[i] = to >= z->dims[i] ? to - z->dims[i] + 1 : 0;
    dims[i] -= lo[i] + hi[i];
    begin[i] += lo[i];
  }
  if (outside) return node_is_const(ir, pad_fill(s), &bits) ? splat(ir, x, bits) : 0;
  return g_pad(ir, g_shrink(ir, pad_data(s), begin, step, dims), lo, hi, pad_fill(s));
}

/* A part of a concatenation within one source; or, if contiguous, a concatenation of fewer sources */
static Ref shrink_of_cat(IR *ir, const Node *x, const Node *s) {
  int n = x->rank, axis = (int)cat_axis(s), first = -1, after = 0;
  int64_t begin[MAX_RANK], from = shrink_begin(x, axis), to = from + (x->dims[axis] - 1) * shrink_step(x, axis), at = 0,
                           skipped = 0;
  if (from > to) {
    int64_t swap = from;
    from = to;
    to = swap;
  }
  for (int k = 0; k < s->nsrc; k++) {
    int64_t end = at + node(ir, s->src[k])->dims[axis];
    if (end > from && at <= to) {
      if (first < 0) {
        first = k;
        skipped = at;
      }
      after = k + 1;
    }
    at = end;
  }
  if (first < 0 || after - first == s->nsrc) return 0;
  memcpy(begin, x->arg, (size_t)n * sizeof *begin);
  begin[axis] -= skipped;
  return g_shrink(ir, g_cat(ir, after - first, s->src + first, axis), begin, x->arg + n, x->dims);
}

Ref rule_part_of_part(IR *ir, Ref r, void *users) {
  const Node *x = node(ir, r), *s = node(ir, operand(x));
  int64_t begin[MAX_RANK], step[MAX_RANK];
  (void)users;
  if (s->op != OP_SHRINK || empty(x)) return 0;
  for (int i = 0; i < x->rank; i++) {
    begin[i] = shrink_begin(s, i) + shrink_begin(x, i) * shrink_step(s, i);
    step[i] = shrink_step(s, i) * shrink_step(x, i);
  }
  return g_shrink(ir, operand(s), begin, step, x->dims);
}

Ref rule_shrink(IR *ir, Ref r, void *users) {
  const Node *x = node(ir, r), *s = node(ir, operand(x));
  const int n = x->rank;
  int64_t begin[MAX_RANK], step[MAX_RANK], dims[MAX_RANK];
  (void)users;
  Ref y = moved_constant(ir, x);
  if (y) return y;
  if (empty(x)) return 0;
  y = g_shrink(ir, operand(x), x->arg, x->arg + n, x->dims);
  if (y != r) return y;
  switch ((Op)s->op) {
  case OP_SHRINK: return rule_part_of_part(ir, r, users);
  case OP_EXPAND:
    for (int i = 0; i < n; i++) {
      bool repeated = node(ir, operand(s))->dims[i] == 1;
      begin[i] = repeated ? 0 : shrink_begin(x, i);
      step[i] = repeated ? 1 : shrink_step(x, i);
      dims[i] = repeated ? 1 : x->dims[i];
    }
    return g_expand(ir, g_shrink(ir, operand(s), begin, step, dims), n, x->dims);
  case OP_PAD: return shrink_of_pad(ir, x, s);
  case OP_CAT: return shrink_of_cat(ir, x, s);
  default: return 0;
  }
}

/* A window with one tap is a strided part */
Ref rule_window(IR *ir, Ref r, void *users) {
  const Node *x = node(ir, r), *s = node(ir, operand(x));
  int64_t begin[MAX_RANK] = { 0 }, step[MAX_RANK], axis = window_axis(x);
  (void)users;
  Ref y = moved_constant(ir, x);
  if (y || x->dims[s->rank] != 1 || empty(x)) return y;
  for (int i = 0; i < s->rank; i++) step[i] = i == axis ? window_stride(x) : 1;
  return g_reshape(ir, g_shrink(ir, operand(x), begin, step, x->dims), x->rank, x->dims);
}

Ref rule_pad(IR *ir, Ref r, void *users) {
  const Node *x = node(ir, r), *s = node(ir, pad_data(x));
  const int n = x->rank;
  int64_t a, b, lo[MAX_RANK], hi[MAX_RANK];
  (void)users;
  Ref y = g_pad(ir, pad_data(x), x->arg, x->arg + n, pad_fill(x));
  if (y != r) return y;
  if (node_is_const(ir, pad_fill(x), &b) && ((node_is_const(ir, pad_data(x), &a) && a == b) || empty(s))) return splat(ir, x, b);
  if (s->op != OP_PAD || pad_fill(s) != pad_fill(x)) return 0;
  for (int i = 0; i < n; i++) {
    lo[i] = pad_lo(s, i) + pad_lo(x, i);
    hi[i] = pad_hi(s, i) + pad_hi(x, i);
  }
  return g_pad(ir, pad_data(s), lo, hi, pad_fill(x));
}

/* A digit of the part number in a mixed radix: it moves the start of the part along an axis of its own. */
typedef struct Digit { int axis; int64_t n, far; } Digit;

/* Digits of the part numbers of a concatenation, last ones first. 0: the starts do not follow digits, or the parts do not cover
 * everything between the first and the last. */
static int digits_of_parts(const IR *ir, const Node *x, Digit digit[MAX_RANK]) {
  const Node *first = node(ir, cat_part(x, 0));
  const int rank = first->rank;
  uint32_t axes = 0;
  int64_t below = 1;
  int n = 0;
  for (; below < x->nsrc; below *= digit[n++].n) {
    const int64_t *next = node(ir, x->src[below])->arg;
    Digit *d = &digit[n];
    for (d->axis = 0; d->axis < rank && next[d->axis] == shrink_begin(first, d->axis);) d->axis++;
    if (n + rank == MAX_RANK || d->axis == rank || axes >> d->axis & 1) return 0;
    axes |= 1u << d->axis;
    d->far = next[d->axis] - shrink_begin(first, d->axis);
    const int64_t step = shrink_step(first, d->axis);
    d->n = 1;
    while (d->n * below < x->nsrc &&
           shrink_begin(node(ir, x->src[d->n * below]), d->axis) == shrink_begin(first, d->axis) + d->n * d->far)
      d->n++;
    bool behind = step == 1 && d->far == first->dims[d->axis], between = d->far == 1 && d->n == step;
    if (!behind && !between) return 0;
  }
  for (int k = 0; k < x->nsrc && below == x->nsrc; k++)
    for (int a = 0; a < rank; a++) {
      int64_t begin = shrink_begin(first, a), rest = k;
      for (int i = 0; i < n; rest /= digit[i++].n) begin += digit[i].axis == a ? rest % digit[i].n * digit[i].far : 0;
      if (begin != shrink_begin(node(ir, x->src[k]), a)) return 0;
    }
  return below == x->nsrc ? n : 0;
}

/* Adjacent parts of one value that cover all of it: its axes split and permuted */
static Ref cat_of_shrinks(IR *ir, const Node *x) {
  const Node *first = node(ir, cat_part(x, 0));
  const int rank = first->rank;
  Digit digit[MAX_RANK];
  int64_t begin[MAX_RANK], step[MAX_RANK], dims[MAX_RANK], split[MAX_RANK], perm[MAX_RANK];
  int at[MAX_RANK], of_digit[MAX_RANK], n, m = 0; /* place of an axis, and of a digit's axis, after the split */
  for (int k = 0; k < x->nsrc; k++) {
    const Node *s = node(ir, x->src[k]);
    bool same = s->op == OP_SHRINK && operand(s) == operand(first);
    for (int a = 0; a < rank && same; a++) same = s->dims[a] == first->dims[a] && shrink_step(s, a) == shrink_step(first, a);
    if (!same) return 0;
  }
  if (!(n = digits_of_parts(ir, x, digit))) return 0;
  for (int a = 0; a < rank; a++) {
    const Digit *d = NULL;
    for (int i = 0; i < n; i++)
      if (digit[i].axis == a) d = &digit[i];
    begin[a] = shrink_begin(first, a);
    step[a] = d ? 1 : shrink_step(first, a);
    dims[a] = first->dims[a] * (d ? d->n : 1);
    bool behind = d && shrink_step(first, a) == 1;
    if (behind) split[of_digit[d - digit] = m++] = d->n;
    split[at[a] = m++] = first->dims[a];
    if (d && !behind) split[of_digit[d - digit] = m++] = d->n;
  }
  m = 0;
  for (int a = 0; a < rank; a++) {
    for (int i = n; a == cat_axis(x) && i-- > 0;) perm[m++] = of_digit[i];
    perm[m++] = at[a];
  }
  Ref all = g_reshape(ir, g_shrink(ir, operand(first), begin, step, dims), m, split);
  return g_reshape(ir, g_permute(ir, all, perm), x->rank, x->dims);
}

Ref rule_cat(IR *ir, Ref r, void *users) {
  const Node *x = node(ir, r);
  int64_t first, bits;
  (void)users;
  if (x->nsrc == 1) return cat_part(x, 0);
  for (int i = 0; i < x->nsrc; i++)
    if (!node(ir, x->src[i])->dims[cat_axis(x)] && !empty(x)) return g_cat(ir, x->nsrc, x->src, (int)cat_axis(x));
  Ref y = empty(x) ? 0 : cat_of_shrinks(ir, x);
  if (y) return y;
  if (!node_is_const(ir, cat_part(x, 0), &first)) return 0;
  for (int i = 1; i < x->nsrc; i++)
    if (!node_is_const(ir, x->src[i], &bits) || bits != first) return 0;
  return splat(ir, x, first);
}

/* The element whose position is the iteration's number, counted up by slices of 0, 1, 2, ...; 0: the index is another one */
static Ref slice_of_iteration(IR *ir, const Node *x) {
  const Ref data = gather_data(x);
  const Node *n = node(ir, data), *at = node(ir, view_base(ir, gather_index(x)));
  const Node *count = at->op == OP_SLICE && !at->rank && !slice_reverse(at) ? node(ir, operand(node(ir, operand(at)))) : NULL;
  const int axis = (int)gather_axis(x);
  int64_t dims[MAX_RANK];
  if (!count || count->op != OP_IOTA || n->loop || n->dims[axis] != count->dims[0]) return 0;
  memcpy(dims, n->dims, n->rank * sizeof *dims);
  dims[axis] = 1;
  const Ref slice = g_slice(ir, (int)slice_loop(at), g_stored(ir, data), axis, false);
  return g_expand(ir, g_reshape(ir, slice, n->rank, dims), x->rank, x->dims);
}

Ref rule_slice_of_iteration(IR *ir, Ref r, void *users) {
  (void)users;
  return slice_of_iteration(ir, node(ir, r));
}

/* A gather by the same index everywhere selects a part */
Ref rule_gather(IR *ir, Ref r, void *users) {
  const Node *x = node(ir, r), *s = node(ir, gather_data(x));
  int64_t begin[MAX_RANK] = { 0 }, dims[MAX_RANK], at, axis = gather_axis(x);
  (void)users;
  Ref y = moved_constant(ir, x);
  if (y || (y = slice_of_iteration(ir, x))) return y;
  if (!node_is_const(ir, gather_index(x), &at) || at < 0 || at >= s->dims[axis]) return y;
  memcpy(dims, s->dims, s->rank * sizeof *dims);
  dims[axis] = 1;
  begin[axis] = at;
  return g_expand(ir, g_shrink(ir, gather_data(x), begin, NULL, dims), x->rank, x->dims);
}

/* Axes that only repeat elements and are not reduced move outside. The maximum of equal numbers is one of them. A reduction
 * over nothing is its initial value. Reductions that do not depend on order are merged. */
Ref rule_reduce(IR *ir, Ref r, void *users) {
  const Node *x = node(ir, r), *s = node(ir, operand(x));
  bool select = reduce_op(x) == OP_MAX || reduce_op(x) == OP_MIN;
  uint32_t axes = reduce_axes(x);
  int64_t dims[MAX_RANK], bits;
  (void)users;
  if (empty(s)) return splat(ir, x, reduce_identity(reduce_op(x), (DType)x->dt));
  Ref y = g_reduce(ir, reduce_op(x), operand(x), axes);
  if (y != r) return y;
  if (select && node_is_const(ir, operand(x), &bits)) return splat(ir, x, bits);
  if (s->op == OP_REDUCE && reduce_op(s) == reduce_op(x) && (select || !dt_float((DType)x->dt)))
    return g_reduce(ir, reduce_op(x), operand(s), axes | reduce_axes(s));
  if (s->op != OP_EXPAND) return 0;
  const Node *z = node(ir, operand(s));
  bool hoisted = false;
  for (int i = 0; i < x->rank; i++) {
    bool reduced = axes >> i & 1, repeated = z->dims[i] == 1 && s->dims[i] != 1, drop = repeated && (!reduced || select);
    dims[i] = drop ? 1 : s->dims[i];
    hoisted |= drop;
  }
  if (!hoisted) return 0;
  return g_expand(ir, g_reduce(ir, reduce_op(x), g_expand(ir, operand(s), s->rank, dims), axes), x->rank, x->dims);
}

/* Windows along one axis overlap on the others. Reducing those axes first is allowed if order does not matter, and is done if
 * it saves more than storing the result costs. */
Ref rule_reduce_windows(IR *ir, Ref r, void *users) {
  const Node *x = node(ir, r), *w = node(ir, operand(x)), *s = w->op == OP_WINDOW ? node(ir, operand(w)) : NULL;
  (void)users;
  if (!s || s->op != OP_WINDOW || (reduce_op(x) != OP_MAX && reduce_op(x) != OP_MIN && dt_float((DType)x->dt))) return 0;
  const uint32_t tap = 1u << s->rank, others = reduce_axes(x) & ~tap;
  if (!(reduce_axes(x) & tap) || !(others >> (s->rank - 1) & 1) || others >> window_axis(w) & 1) return 0;
  int64_t first = 1;
  for (int i = 0; i < s->rank; i++)
    if (others >> i & 1) first *= s->dims[i];
  const double at_once = (double)dims_elems(w->dims, w->rank), all = (double)dims_elems(s->dims, s->rank);
  const Question q = ask_node(ir, "windows", r);
  if (!answer_yes(ir, &q, all * (1 + tunable(ir->ctx, window_traffic) / (double)first) + at_once / (double)first < at_once))
    return 0;
  Ref taken = g_reduce(ir, reduce_op(x), operand(w), others);
  return g_reduce(
      ir, reduce_op(x),
      g_window(ir, taken, (int)window_axis(w), w->dims[window_axis(w)], w->dims[s->rank], window_stride(w), window_dilation(w)),
      tap);
}

/* An elementwise op on repeated elements becomes repeated results of the op */
Ref rule_hoist_expand(IR *ir, Ref r, void *users) {
  const Node *x = node(ir, r);
  int64_t dims[MAX_RANK];
  Ref src[3];
  bool less = false;
  (void)users;
  for (int i = 0; i < x->rank; i++) {
    dims[i] = 1;
    for (int k = 0; k < x->nsrc; k++) {
      const Node *s = node(ir, x->src[k]), *z = s->op == OP_EXPAND ? node(ir, operand(s)) : s;
      if (z->dims[i] != 1) dims[i] = x->dims[i];
    }
    less |= dims[i] != x->dims[i];
  }
  if (!less) return 0;
  for (int k = 0; k < x->nsrc; k++) {
    const Node *s = node(ir, x->src[k]);
    src[k] = g_expand(ir, s->op == OP_EXPAND ? operand(s) : x->src[k], x->rank, dims);
  }
  return g_expand(ir, node_make(ir, (Op)x->op, (DType)x->dt, 1, x->nsrc, src, x->narg, x->arg, x->rank, dims), x->rank, x->dims);
}

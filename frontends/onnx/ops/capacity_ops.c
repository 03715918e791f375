/* SPDX-License-Identifier: MIT */
/* capacity_ops.c: NonMaxSuppression, NonZero and Compress on data that is not constant. The number of result rows depends on
 * the data. With --capacity the result has a fixed number of rows, filled up with -1 or 0; a further output says how many are
 * valid (ragged.c). If more rows are found than fit, the first ones are kept. */
#include "../core/build.h"
#include <math.h>

int64_t need_capacity(const Build *b) {
  if (!b->ragged->most)
    bad(b, "the size of the result depends on the data; reserve N rows with --capacity N, or end the model at an earlier value "
           "with --result NAME");
  return b->ragged->most;
}

/* For each row from 0 to the capacity: its group, when groups have sizes[n] rows (n: behind the last one), and whether it
 * exists. *start: rows before each group */
static Ref spread(Build *b, Ref sizes, Ref *there, Ref *start) {
  IR *ir = b->ir;
  int64_t n = node(ir, sizes)->dims[0], most = b->ragged->most, zero = 0;
  Ref in[2] = { sizes, g_reshape(ir, ints_ref(b, 1, &zero), 0, NULL) }, ends = apply_op(b, "CumSum", 2, in, 0, NULL);
  Ref total = g_reshape(ir, shrink_axis(ir, ends, 0, n - 1, 1, 1), 0, NULL), row = g_iota(ir, DT_I64, most);
  Ref before = g_binary(ir, OP_CMPLE, g_reshape(ir, ends, 2, (int64_t[]){ 1, n }), g_reshape(ir, row, 2, (int64_t[]){ most, 1 }));
  *there = g_binary(ir, OP_CMPLT, row, total);
  *start = sub(b, ends, sizes);
  add_count(b, *there, g_binary(ir, OP_MIN, total, integer(b, b->ragged->wanted)));
  return without_axes(ir, g_reduce(ir, OP_ADD, g_cast(ir, before, DT_I64), 2u), 2u);
}

static Ref places_of(Build *b, Ref flags, Ref *there) {
  Ref start, at = spread(b, g_cast(b->ir, flags, DT_I64), there, &start);
  return clamp_index(b, at, node(b->ir, flags)->dims[0]);
}

/* ---- NonMaxSuppression ---- */
enum { BOXES, SCORES, MOST, OVERLAP, LEAST };

typedef struct Corners { Ref low[2], high[2]; } Corners;

static Ref less(Build *b, Ref x, Ref y) { return g_binary(b->ir, OP_CMPLT, x, y); }

/* boxes [B, N, 4] as corners, [B, C, N] each. Input: two corners in any order, or centre and size */
static Corners corners(Build *b, int rank, const int64_t *dims) {
  IR *ir = b->ir;
  Corners k;
  Ref v[4];
  for (int i = 0; i < 4; i++) {
    v[i] = g_reshape(ir, shrink_axis(ir, b->in[BOXES], 2, i, 1, 1), 3, (int64_t[]){ dims[0], 1, dims[2] });
    v[i] = g_expand(ir, v[i], rank, dims);
  }
  for (int i = 0; i < 2; i++) {
    Ref half = times(b, v[2 + i], 0.5);
    bool centre = attr_int(b, "center_point_box") != 0;
    k.low[i] = centre ? sub(b, v[i], half) : g_binary(ir, OP_MIN, v[i], v[2 + i]);
    k.high[i] = centre ? add(b, v[i], half) : g_binary(ir, OP_MAX, v[i], v[2 + i]);
  }
  return k;
}

/* Whether the intersection of x and y is more than `limit` of their union */
static Ref overlaps(Build *b, const Corners *x, const Corners *y, Ref limit) {
  IR *ir = b->ir;
  Ref shared = 0, area[2] = { 0 }, some = 0;
  for (int i = 0; i < 2; i++) {
    Ref low = g_binary(ir, OP_MAX, x->low[i], y->low[i]), high = g_binary(ir, OP_MIN, x->high[i], y->high[i]);
    Ref side[3] = { sub(b, high, low), sub(b, x->high[i], x->low[i]), sub(b, y->high[i], y->low[i]) };
    shared = shared ? mul(b, shared, side[0]) : side[0];
    for (int k = 0; k < 2; k++) area[k] = area[k] ? mul(b, area[k], side[1 + k]) : side[1 + k];
    some = both(b, some, less(b, low, high));
  }
  Ref all = sub(b, add(b, area[0], area[1]), shared), zero = num(b, all, 0);
  for (int k = 0; k < 2; k++) some = both(b, some, less(b, zero, area[k]));
  some = both(b, some, less(b, zero, all));
  return both(b, some, less(b, limit, g_binary(ir, OP_DIV, shared, g_where(ir, some, all, num(b, all, 1)))));
}

static Corners corners_at(Build *b, const Corners *all, Ref at) {
  Corners k;
  for (int i = 0; i < 2; i++) {
    k.low[i] = g_gather(b->ir, all->low[i], at, 2);
    k.high[i] = g_gather(b->ir, all->high[i], at, 2);
  }
  return k;
}

/* Repeatedly picks the best remaining box of each class and removes those that it overlaps */
static void pick(Build *b, const int64_t *dims, int64_t steps, Ref *boxes, Ref *live) {
  IR *ir = b->ir;
  const AttrVal axis = int_attr("axis", 2);
  Ref none = c_float(ir, DT_F32, -INFINITY), left = b->in[SCORES],
      limit = has_in(b, OVERLAP) ? scalar_in(b, OVERLAP) : num(b, none, 0);
  Corners all = corners(b, 3, dims);
  if (has_in(b, LEAST)) left = g_where(ir, less(b, scalar_in(b, LEAST), left), left, none);
  for (int64_t i = 0; i < steps; i++) {
    spend(b, 0);
    boxes[i] = apply_op(b, "ArgMax", 1, &left, 1, &axis);
    live[i] = less(b, none, g_gather(ir, left, boxes[i], 2));
    Corners best = corners_at(b, &all, boxes[i]);
    Ref gone = g_binary(ir, OP_OR, overlaps(b, &all, &best, limit),
                        g_binary(ir, OP_CMPEQ, iota_axis(ir, DT_I64, dims[2], 2, 3), boxes[i]));
    left = g_where(ir, gone, none, left);
  }
}

void op_non_max_suppression(Build *b) {
  IR *ir = b->ir;
  const Node *x = in_node(b, BOXES), *s = in_node(b, SCORES);
  need_capacity(b);
  if (x->rank != 3 || s->rank != 3 || x->dims[2] != 4 || x->dims[0] != s->dims[0] || x->dims[1] != s->dims[2])
    bad(b, "inputs of shapes %s and %s are not boxes [B,N,4] and their scores [B,C,N]", dims_text(b, x->dims, x->rank),
        dims_text(b, s->dims, s->rank));
  int n = 1;
  int64_t rows = b->ragged->most, groups = s->dims[0] * s->dims[1];
  int64_t steps = has_in(b, MOST) ? *const_ints(b, MOST, "max_output_boxes_per_class", &n) : 0;
  if (n != 1) bad(b, "input 'max_output_boxes_per_class' is not a scalar");
  for (int k = BOXES; k <= SCORES; k++) b->in[k] = g_cast(ir, b->in[k], DT_F32);
  steps = clamp(steps, 0, rows < s->dims[2] ? rows : s->dims[2]);
  if (!steps || !groups) bad(b, "there is nothing to pick: 'max_output_boxes_per_class' is 0, or there are no boxes");
  spend(b, steps);
  Ref *boxes = ARENA_NEW(&b->c->model, Ref, steps), *live = ARENA_NEW(&b->c->model, Ref, steps), there, start;
  pick(b, s->dims, steps, boxes, live);
  Ref found = g_cast(ir, cat_all(b, steps, live, 2), DT_I64),
      box = g_reshape(ir, cat_all(b, steps, boxes, 2), 1, (int64_t[]){ groups * steps });
  Ref sizes = g_reshape(ir, g_reduce(ir, OP_ADD, found, 4u), 1, &groups);
  Ref group = clamp_index(b, spread(b, sizes, &there, &start), groups);
  Ref rank = clamp_index(b, sub(b, g_iota(ir, DT_I64, rows), g_gather(ir, start, group, 0)), steps);
  Ref column[3] = { g_binary(ir, OP_FLDIV, group, integer(b, s->dims[1])), g_binary(ir, OP_FLMOD, group, integer(b, s->dims[1])),
                    g_gather(ir, box, add(b, mul(b, group, integer(b, steps)), rank), 0) };
  for (int k = 0; k < 3; k++) column[k] = g_reshape(ir, g_where(ir, there, column[k], integer(b, -1)), 2, (int64_t[]){ rows, 1 });
  b->out[0] = g_cat(ir, 3, column, 1);
}

/* ---- indices of elements other than 0; the last coordinate runs fastest ---- */
void nonzero_of_data(Build *b) {
  IR *ir = b->ir;
  const Node *x = in_node(b, 0);
  need_capacity(b);
  int64_t n = dims_elems(x->dims, x->rank), most = b->ragged->most, stride = n;
  if (!x->rank || !n) bad(b, "the input is a scalar or has no elements");
  Ref flags = g_binary(ir, OP_CMPNE, b->in[0], c_int(ir, (DType)x->dt, 0)), there, row[USER_RANK];
  Ref at = places_of(b, g_reshape(ir, flags, 1, &n), &there);
  for (int a = 0; a < x->rank; a++) {
    stride /= x->dims[a];
    row[a] = g_binary(ir, OP_FLMOD, g_binary(ir, OP_FLDIV, at, integer(b, stride)), integer(b, x->dims[a]));
    row[a] = g_reshape(ir, g_where(ir, there, row[a], integer(b, -1)), 2, (int64_t[]){ 1, most });
  }
  b->out[0] = g_cat(ir, x->rank, row, 0);
}

void compress_by_data(Build *b, Ref from, int axis) {
  IR *ir = b->ir;
  const Node *x = node(ir, from), *c = in_node(b, 1);
  need_capacity(b);
  int64_t dims[MAX_RANK], most = b->ragged->most;
  if (!x->dims[axis]) bad(b, "axis %d of the input is empty, so there is nothing to select", axis);
  if (c->rank != 1 || c->dims[0] > x->dims[axis] || !c->dims[0])
    bad(b, "input 'condition' must be a vector of 1 to %lld bools", (long long)x->dims[axis]);
  Ref there, at = places_of(b, b->in[1], &there);
  for (int i = 0; i < x->rank; i++) dims[i] = i == axis ? most : 1;
  at = g_reshape(ir, at, x->rank, dims);
  there = g_reshape(ir, there, x->rank, dims);
  b->out[0] = g_where(ir, there, g_gather(ir, from, at, axis), c_int(ir, (DType)x->dt, 0));
}

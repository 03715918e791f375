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

Ref counted_rows(Build *b, Ref total) {
  Ref there = g_binary(b->ir, OP_CMPLT, g_iota(b->ir, DT_I64, b->ragged->most), total);
  add_count(b, there, total, b->ragged->wanted);
  return there;
}

/* For each row from 0 to the capacity: its group, when groups have sizes[n] rows (n: behind the last one), and whether it
 * exists. *start: rows before each group */
static Ref spread(Build *b, Ref sizes, Ref *there, Ref *start) {
  IR *ir = b->ir;
  const int64_t n = node(ir, sizes)->dims[0];
  Ref ends = stored(b, cumulative(b, OP_ADD, sizes, 0, false, false));
  *there = counted_rows(b, g_reshape(ir, shrink_axis(ir, ends, 0, n - 1, 1, 1), 0, NULL));
  *start = sub(b, ends, sizes);
  return entries_up_to(b, ends, g_iota(ir, DT_I64, b->ragged->most));
}

static Ref places_of(Build *b, Ref flags, Ref *there) {
  IR *ir = b->ir;
  const int64_t n = node(ir, flags)->dims[0], most = b->ragged->most;
  Ref total, at = places_of_true(b, g_reshape(ir, flags, 2, (int64_t[]){ 1, n }), most, &total);
  *there = counted_rows(b, g_reshape(ir, total, 0, NULL));
  return clamp_index(b, g_reshape(ir, at, 1, &most), n);
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

/* ---- the search ----
 * Each step takes the best box left of each class, and keeps it unless one that was kept overlaps it. The boxes of a class are
 * in blocks. The loop carries the key (sort_ops.c) of the best box left in each block. So a step reads these keys, and the
 * scores of one block. All boxes above the key that was taken last have been taken, so nothing marks them. The loop ends when a
 * step takes no box. */
enum { LOW0, LOW1, HIGH0, HIGH1, NUMBER, ROWS_OF_BOX }; /* rows that describe a box: its corners, and its number as a float */
enum { BEST, KEPT, NUMBER_KEPT, GOING, PLACES };        /* values that the loop carries, by place */
#define MOST_BOXES (1 << 24)                            /* numbers up to here are exact in f32 */

typedef struct Search {
  int64_t batch, classes, n, most; /* boxes of an image; boxes that a class keeps at most */
  int64_t room;                    /* for kept boxes: `most`, in whole vectors */
  Ref keeps;                       /* i32: boxes that a class keeps at most in this run */
  int64_t size, blocks;            /* boxes of a block, blocks of a class */
  Ref scores;                      /* f32[batch, classes, blocks, size]; -inf: no box, or it is not wanted */
  Ref boxes;                       /* f32[batch, classes, ROWS_OF_BOX, n] */
  Ref limit;                       /* more overlap than this suppresses a box */
  Ref state[PLACES];
} Search;

static int64_t whole(int64_t n, int64_t of) { return (n + of - 1) / of * of; }

/* About as many blocks as boxes in one, in whole vectors of keys and of scores. For a range of sizes all runs have the blocks of
 * the greatest size. So only the padding behind the boxes depends on a run. */
static void choose_blocks(Build *b, Search *s) {
  enum { SIZED_BLOCK = 32 };
  int64_t root = 1;
  const int64_t most = form_most(b, s->n);
  if (form_differs(b, s->n)) {
    s->size = SIZED_BLOCK;
    s->blocks = most / SIZED_BLOCK + 1; /* there is always a padding */
    return;
  }
  while (root * root < s->n) root++;
  s->blocks = root < 8 ? root : whole(root, 8);
  s->size = (s->n + s->blocks - 1) / s->blocks;
  if (s->size > 8) s->size = whole(s->size, 16);
}

/* Keys of scores [batch, classes, x, size] whose places in their class are `at`: greater ones are better, of equal scores the
 * first */
static Ref score_keys(Build *b, const Search *s, Ref scores, Ref at) {
  IR *ir = b->ir;
  Ref from_end = sub(b, integer(b, s->n - 1), at);
  Ref key = g_binary(ir, OP_OR, g_binary(ir, OP_SHL, order_keys(b, scores), integer(b, 32)), from_end);
  return g_where(ir, less(b, num(b, scores, -INFINITY), scores), key, type_limit(ir, DT_I64, false));
}

static Ref reduced_to(Build *b, Op op, Ref x, int axis) { return g_reduce(b->ir, op, x, 1u << axis); }

/* Rows of boxes or of kept ones, [batch, classes, x], as corners */
static Corners corners_in(Build *b, Ref boxes) {
  Ref v[4];
  for (int i = 0; i < 4; i++) v[i] = without_axes(b->ir, shrink_axis(b->ir, boxes, 2, i, 1, 1), 4u);
  return (Corners){ { v[LOW0], v[LOW1] }, { v[HIGH0], v[HIGH1] } };
}

static void search_step(Build *b, Search *s) {
  IR *ir = b->ir;
  const int64_t each[4] = { s->batch, s->classes, 1, 1 }, block_dims[4] = { s->batch, s->classes, 1, s->size },
                row_dims[4] = { s->batch, s->classes, ROWS_OF_BOX, 1 };
  Ref *now = s->state, none = type_limit(ir, DT_I64, false);
  Ref top = reduced_to(b, OP_MAX, now[BEST], 2);
  Ref live = both(b, g_binary(ir, OP_CMPNE, top, none), less(b, now[NUMBER_KEPT], s->keeps));
  live = both(b, live, g_reshape(ir, now[GOING], 3, (int64_t[]){ 1, 1, 1 }));
  Ref at = clamp_index(b, sub(b, integer(b, s->n - 1), g_binary(ir, OP_AND, top, integer(b, UINT32_MAX))), s->n);
  Ref block = g_binary(ir, OP_FLDIV, at, integer(b, s->size)), in_block = iota_axis(ir, DT_I64, s->size, 3, 4);
  Ref block4 = g_reshape(ir, block, 4, each), index = g_expand(ir, block4, 4, block_dims);
  Ref keys = score_keys(b, s, g_gather(ir, s->scores, index, 2), add(b, mul(b, block4, integer(b, s->size)), in_block));
  Ref left = g_where(ir, less(b, keys, g_reshape(ir, top, 4, each)), keys, none);
  Ref next = g_reshape(ir, reduced_to(b, OP_MAX, left, 3), 3, each);
  Ref box = g_gather(ir, s->boxes, g_expand(ir, g_reshape(ir, at, 4, each), 4, row_dims), 3);
  const Corners x = corners_in(b, now[KEPT]), y = corners_in(b, box);
  Ref place = iota_axis(ir, DT_I32, s->room, 2, 3);
  Ref over = reduced_to(b, OP_MAX, both(b, less(b, place, now[NUMBER_KEPT]), overlaps(b, &x, &y, s->limit)), 2);
  Ref keep = both(b, live, g_unary(ir, OP_NOT, over)), here = g_binary(ir, OP_CMPEQ, place, now[NUMBER_KEPT]);
  const int64_t wide[4] = { s->batch, s->classes, 1, s->room };
  Ref changed = both(b, live, g_binary(ir, OP_CMPEQ, iota_axis(ir, DT_I64, s->blocks, 2, 3), block));
  now[BEST] = g_where(ir, changed, next, now[BEST]);
  now[KEPT] = g_where(ir, g_reshape(ir, both(b, keep, here), 4, wide), box, now[KEPT]);
  now[NUMBER_KEPT] = add(b, now[NUMBER_KEPT], g_cast(ir, keep, DT_I32));
  now[GOING] = g_reshape(ir, g_reduce(ir, OP_MAX, live, 7u), 0, NULL);
}

static void start_search(Build *b, Search *s, const int64_t *dims) {
  IR *ir = b->ir;
  Ref none = c_float(ir, DT_F32, -INFINITY), scores = b->in[SCORES], rows[ROWS_OF_BOX];
  const int64_t pad = s->blocks * s->size - s->n, lo = 0, blocks[4] = { s->batch, s->classes, s->blocks, s->size };
  if (has_in(b, LEAST)) scores = g_where(ir, less(b, scalar_in(b, LEAST), scores), scores, none);
  if (pad) scores = pad_axes(ir, scores, 2, 1, &lo, &pad, none);
  s->scores = g_reshape(ir, scores, 4, blocks);
  s->limit = has_in(b, OVERLAP) ? scalar_in(b, OVERLAP) : num(b, none, 0);
  const int64_t one[3] = { s->batch, 1, s->n }, row[4] = { s->batch, 1, 1, s->n };
  const Corners k = corners(b, 3, one);
  const Ref parts[ROWS_OF_BOX] = { k.low[0], k.low[1], k.high[0], k.high[1],
                                   g_expand(ir, g_cast(ir, iota_axis(ir, DT_I64, s->n, 2, 3), DT_F32), 3, one) };
  for (int i = 0; i < ROWS_OF_BOX; i++) rows[i] = g_reshape(ir, parts[i], 4, row);
  s->boxes = g_expand(ir, g_cat(ir, ROWS_OF_BOX, rows, 2), 4, (int64_t[]){ s->batch, s->classes, ROWS_OF_BOX, s->n });
  Ref at = add(b, mul(b, iota_axis(ir, DT_I64, s->blocks, 2, 4), integer(b, s->size)), iota_axis(ir, DT_I64, s->size, 3, 4));
  s->state[BEST] = without_axes(ir, reduced_to(b, OP_MAX, score_keys(b, s, s->scores, at), 3), 8u);
  s->state[KEPT] = g_expand(ir, g_reshape(ir, c_float(ir, DT_F32, 0), 4, (int64_t[]){ 1, 1, 1, 1 }), 4,
                            (int64_t[]){ s->batch, s->classes, ROWS_OF_BOX, s->room });
  s->state[NUMBER_KEPT] = g_expand(ir, g_reshape(ir, c_int(ir, DT_I32, 0), 3, (int64_t[]){ 1, 1, 1 }), 3,
                                   (int64_t[]){ dims[0], dims[1], 1 });
  s->state[GOING] = c_int(ir, DT_BOOL, 1);
}

static void search(Build *b, Search *s) {
  IR *ir = b->ir;
  const int64_t steps = (s->n + 2) / 2 * 2; /* even, and one more than there are boxes of a class */
  const int64_t trips = early_trips(b, steps);
  const int loop = loop_begin(b, trips);
  Ref yield[PLACES];
  if (loop < 0 && steps > EARLY_COPIES)
    too_much(b, "the suppression of %lld boxes cannot be in the body of a loop", (long long)s->n);
  for (int64_t i = 0; i < steps && loop < 0; i++) search_step(b, s);
  if (loop < 0) return;
  for (int k = 0; k < PLACES; k++) s->state[k] = g_carried(ir, loop, k, s->state[k]);
  search_step(b, s);
  for (int k = 0; k < PLACES; k++) yield[k] = g_yield(ir, loop, k, s->state[k]);
  const char *wrong = g_hold_yields(ir, GOING + 1, PLACES, yield);
  if (wrong) BUG("%s", wrong);
  loop_end(b);
  const Ref all = g_iterate(ir, loop, trips, GOING + 1, PLACES, yield);
  for (int k = 0; k < PLACES; k++) s->state[k] = g_result(ir, all, k);
}

/* max_output_boxes_per_class: a class keeps at most `most` boxes, which one more than the capacity shows as an overflow */
static void read_limit(Build *b, Search *s) {
  const int64_t rows = b->ragged->most, further = rows + (rows == b->ragged->wanted);
  const int64_t most = !form_differs(b, s->n) && s->n < rows ? s->n : further;
  Tensor t;
  if (!has_in(b, MOST)) bad(b, "there is nothing to pick: 'max_output_boxes_per_class' is 0");
  if (dims_elems(in_node(b, MOST)->dims, in_node(b, MOST)->rank) != 1)
    bad(b, "input 'max_output_boxes_per_class' is not a scalar");
  const bool known = const_tensor(b, b->in[MOST], &t);
  s->most = known ? clamp(tensor_int(&t, 0), 0, most) : most;
  if (!s->most) bad(b, "there is nothing to pick: 'max_output_boxes_per_class' is 0, or there are no boxes");
  s->room = s->most < 8 ? s->most : whole(s->most, 16);
  s->keeps = c_int(b->ir, DT_I32, s->most);
  if (!known) s->keeps = g_cast(b->ir, clamped(b, g_cast(b->ir, scalar_in(b, MOST), DT_I64), 0, (double)most), DT_I32);
}

void op_non_max_suppression(Build *b) {
  IR *ir = b->ir;
  const Node *x = in_node(b, BOXES), *s = in_node(b, SCORES);
  need_capacity(b);
  if (x->rank != 3 || s->rank != 3 || x->dims[2] != 4 || x->dims[0] != s->dims[0] || x->dims[1] != s->dims[2])
    bad(b, "inputs of shapes %s and %s are not boxes [B,N,4] and their scores [B,C,N]", dims_text(b, x->dims, x->rank),
        dims_text(b, s->dims, s->rank));
  const int64_t rows = b->ragged->most, groups = s->dims[0] * s->dims[1];
  for (int k = BOXES; k <= SCORES; k++) b->in[k] = g_cast(ir, b->in[k], DT_F32);
  if (!groups || !s->dims[2]) bad(b, "there is nothing to pick: there are no boxes");
  if (s->dims[2] >= MOST_BOXES) bad(b, "%lld boxes are over the limit of %d", (long long)s->dims[2], MOST_BOXES - 1);
  Search all = { .batch = s->dims[0], .classes = s->dims[1], .n = s->dims[2] };
  read_limit(b, &all);
  const int64_t steps = all.most;
  choose_blocks(b, &all);
  start_search(b, &all, s->dims);
  search(b, &all);
  Ref there, start, number = shrink_axis(ir, shrink_axis(ir, all.state[KEPT], 2, NUMBER, 1, 1), 3, 0, 1, steps);
  Ref box = g_cast(ir, g_reshape(ir, number, 1, (int64_t[]){ groups * steps }), DT_I64);
  Ref sizes = g_cast(ir, g_reshape(ir, all.state[NUMBER_KEPT], 1, &groups), DT_I64);
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

/* SPDX-License-Identifier: MIT */
/* sort_ops.c: TopK, and what other operators need of it: keys in the order of values, sorting, and searching in sorted values.
 * Equal elements keep their order.
 *
 * A key holds an element's value above its place from the end, so keys are distinct, and greater ones come first. A few results
 * are picked one after another. Otherwise a search finds the least of the k greatest keys, bit by bit. Greater keys are moved
 * together by their running count, and a bitonic network sorts them. The network sorts whole axes that are short, or of which
 * much is wanted.
 *
 * needs: values along an axis   gives: places of the greatest or least ones, in order */
#include "../core/build.h"
#include <math.h>

enum {
  KEY_BYTES = 4,      /* values up to this size fit into keys */
  FEW = 4,            /* at most one of this many elements counts as few */
  MOST_PICKS = 12,    /* results that are picked one after another: a search takes as long as about so many */
  GROUPED = 128,      /* elements of a row, at least, whose keys are picked by groups */
  MOST_COUNTED = 32,  /* elements of an axis that are compared with each other */
  SORTED_WHOLE = 1024 /* elements of an axis that the network sorts without a search */
};

Ref greater(IR *ir, Ref x, Ref y) {
  Ref above = g_binary(ir, OP_CMPLT, y, x);
  if (!dt_float((DType)node(ir, x)->dt)) return above;
  return g_binary(ir, OP_OR, above, g_binary(ir, OP_AND, g_binary(ir, OP_CMPNE, x, x), g_binary(ir, OP_CMPEQ, y, y)));
}

/* 32-bit integer keys in the order of x, as i64. Bits of floats are in that order from zero up, and in the opposite order from
 * minus infinity to zero. */
Ref order_keys(Build *b, Ref x) {
  IR *ir = b->ir;
  const DType d = (DType)node(ir, x)->dt;
  if (!dt_float(d))
    return d == DT_U32 ? sub(b, g_cast(ir, x, DT_I64), integer(b, (int64_t)INT32_MAX + 1)) : g_cast(ir, x, DT_I64);
  x = g_cast(ir, x, DT_F32);
  Ref zero = num(b, x, 0), bits = bitcast(b, g_where(ir, g_binary(ir, OP_CMPEQ, x, zero), zero, x), DT_I32);
  Ref below = g_binary(ir, OP_AND, g_binary(ir, OP_SHR, bits, c_int(ir, DT_I32, 31)), c_int(ir, DT_I32, INT32_MAX));
  Ref nan = g_binary(ir, OP_CMPNE, x, x);
  return g_cast(ir, g_where(ir, nan, c_int(ir, DT_I32, INT32_MAX), g_binary(ir, OP_XOR, bits, below)), DT_I64);
}

static int64_t power_of_two(int64_t n) {
  int64_t p = 1;
  while (p < n) p *= 2;
  return p;
}

/* 64-bit keys: the order of x above the place from the end. So keys are distinct and give the place. */
static Ref placed_keys(Build *b, Ref x, int axis, bool largest) {
  IR *ir = b->ir;
  const int64_t last = node(ir, x)->dims[axis] - 1;
  Ref keys = order_keys(b, x);
  Ref from_end = g_binary(ir, OP_SUB, c_int(ir, DT_I64, last), iota_axis(ir, DT_I64, last + 1, axis, node(ir, x)->rank));
  keys = g_binary(ir, OP_SHL, largest ? keys : g_unary(ir, OP_NOT, keys), c_int(ir, DT_I64, 32));
  return g_binary(ir, OP_OR, keys, from_end);
}

static Ref place_of_key(Build *b, Ref key, int64_t last) {
  return sub(b, integer(b, last), g_binary(b->ir, OP_AND, key, integer(b, UINT32_MAX)));
}

/* The greatest key below `below` along the axis; 0: the greatest one */
static Ref greatest_key(Build *b, Ref keys, Ref below, int axis) {
  IR *ir = b->ir;
  Ref left = below ? g_where(ir, g_binary(ir, OP_CMPLT, keys, below), keys, type_limit(ir, DT_I64, false)) : keys;
  return g_reduce(ir, OP_MAX, left, 1u << axis);
}

/* For few results: picks one after another, each the greatest key below the previous one */
static Ref places_picked(Build *b, Ref x, int axis, int64_t k, bool largest) {
  Ref keys = placed_keys(b, x, axis, largest), *picked = ARENA_NEW(&b->c->model, Ref, k);
  for (int64_t i = 0; i < k; i++) picked[i] = greatest_key(b, keys, i ? picked[i - 1] : 0, axis);
  return place_of_key(b, g_cat(b->ir, (int)k, picked, axis), node(b->ir, x)->dims[axis] - 1);
}

/* A row's entries in groups: the square of the number of groups is at least 4 n, since keys of groups lie side by side. */
static int64_t groups_of(int64_t n) {
  int64_t groups = 1;
  while (groups * groups < 4 * n) groups *= 2;
  return groups;
}

/* The same for rows of many entries. Entry p of a row belongs to group p % groups. A pick is the greatest one of the groups'
 * greatest keys. Then only the group that it came from has another greatest key. So a pick looks at one group and at one key of
 * each group, and not at the whole row. x: [rows, n] */
static Ref places_picked_by_groups(Build *b, Ref x, int64_t k, bool largest) {
  IR *ir = b->ir;
  const int64_t rows = node(ir, x)->dims[0], n = node(ir, x)->dims[1], groups = groups_of(n), members = (n + groups - 1) / groups;
  const int64_t lo = 0, hi = groups * members - n, flat[2] = { rows, groups };
  const int64_t cube[3] = { rows, members, groups }, column[3] = { rows, members, 1 }, one[3] = { rows, 1, 1 };
  Ref keys = placed_keys(b, x, 1, largest), *picked = ARENA_NEW(&b->c->model, Ref, k);
  if (hi) keys = pad_axes(ir, keys, 1, 1, &lo, &hi, type_limit(ir, DT_I64, false));
  keys = g_reshape(ir, g_stored(ir, keys), 3, cube);
  Ref best = g_stored(ir, g_reshape(ir, g_reduce(ir, OP_MAX, keys, 2u), 2, flat));
  for (int64_t i = 0;; i++) {
    picked[i] = greatest_key(b, best, 0, 1);
    if (i == k - 1) break;
    Ref group = g_binary(ir, OP_AND, place_of_key(b, picked[i], n - 1), integer(b, groups - 1));
    Ref own = g_gather(ir, keys, g_expand(ir, g_reshape(ir, group, 3, one), 3, column), 2);
    Ref next = g_stored(ir, greatest_key(b, own, g_reshape(ir, picked[i], 3, one), 1));
    Ref from = g_binary(ir, OP_CMPEQ, iota_axis(ir, DT_I64, groups, 1, 2), group);
    best = g_stored(ir, g_where(ir, from, g_reshape(ir, next, 2, one), best));
  }
  return place_of_key(b, g_cat(ir, (int)k, picked, 1), n - 1);
}

/* Otherwise: the rank of an element is the number of elements before it. This is quadratic in the axis, but all of it is
 * elementwise work and sums. */
static Ref places_counted(Build *b, Ref x, int axis, int64_t k, bool largest) {
  IR *ir = b->ir;
  const Node *xn = node(ir, x);
  const int rank = xn->rank + 1;
  int64_t extent = xn->dims[axis], dims[2][MAX_RANK], small[MAX_RANK];
  const DType d = extent < INT32_MAX ? DT_I32 : DT_I64;
  for (int i = 0; i < xn->rank; i++) {
    small[i] = i == axis ? k : xn->dims[i];
    for (int s = 0; s < 2; s++) dims[s][i + (i > axis)] = xn->dims[i];
  }
  dims[0][axis] = dims[1][axis + 1] = extent; /* elements i on axis, elements j on the next one */
  dims[0][axis + 1] = dims[1][axis] = 1;
  Ref xi = g_reshape(ir, x, rank, dims[0]), xj = g_reshape(ir, x, rank, dims[1]);
  Ref wins = largest ? greater(ir, xj, xi) : greater(ir, xi, xj), loses = largest ? greater(ir, xi, xj) : greater(ir, xj, xi);
  Ref i = iota_axis(ir, d, extent, axis, rank), j = iota_axis(ir, d, extent, axis + 1, rank);
  Ref tie = g_binary(ir, OP_AND, g_unary(ir, OP_NOT, loses), g_binary(ir, OP_CMPLT, j, i));
  Ref place = g_reduce(ir, OP_ADD, g_cast(ir, g_binary(ir, OP_OR, wins, tie), d), 2u << axis);
  Ref hit = g_binary(ir, OP_CMPEQ, place, iota_axis(ir, d, k, axis + 1, rank));
  Ref at = g_reduce(ir, OP_ADD, g_where(ir, hit, i, c_int(ir, d, 0)), 1u << axis);
  return g_cast(ir, g_reshape(ir, at, rank - 1, small), DT_I64);
}

/* ---- sorting networks ---- */
/* Values of [rows, n] that a network sorts: keys, or values with their places. n is a power of two. */
typedef struct Sorted {
  Ref v[2];
  int n;
  int64_t rows, extent;
  bool largest;
} Sorted;

/* Whether entry x of the pair (x, y) stands first */
static Ref stands_first(Build *b, const Sorted *s, const Ref *x, const Ref *y) {
  IR *ir = b->ir;
  if (s->n == 1) return g_binary(ir, OP_CMPLT, y[0], x[0]);
  Ref before = s->largest ? greater(ir, x[0], y[0]) : greater(ir, y[0], x[0]);
  Ref behind = s->largest ? greater(ir, y[0], x[0]) : greater(ir, x[0], y[0]);
  Ref tie = g_binary(ir, OP_CMPLT, x[1], y[1]);
  return g_binary(ir, OP_OR, before, both(b, g_unary(ir, OP_NOT, behind), tie));
}

/* Compares each entry of the first half of a block with one of the second half: the one `half` further. Mirrored: the one as far
 * from the block's end */
static void exchange(Build *b, Sorted *s, int64_t half, bool mirrored) {
  IR *ir = b->ir;
  const int64_t dims[2] = { s->rows * s->extent / (2 * half), 2 * half }, all[2] = { s->rows, s->extent };
  Ref x[2], y[2];
  for (int k = 0; k < s->n; k++) {
    Ref v = g_reshape(ir, s->v[k], 2, dims);
    x[k] = shrink_axis(ir, v, 1, 0, 1, half);
    y[k] = shrink_axis(ir, v, 1, half, 1, half);
    if (mirrored) y[k] = g_flip(ir, y[k], 2u);
  }
  const Ref first = s->n == 1 ? 0 : stands_first(b, s, x, y);
  for (int k = 0; k < s->n; k++) {
    Ref high = first ? g_where(ir, first, x[k], y[k]) : g_binary(ir, OP_MAX, x[k], y[k]);
    Ref low = first ? g_where(ir, first, y[k], x[k]) : g_binary(ir, OP_MIN, x[k], y[k]);
    Ref both_parts = g_cat(ir, 2, (Ref[]){ high, mirrored ? g_flip(ir, low, 2u) : low }, 1);
    s->v[k] = g_reshape(ir, half == 1 ? g_stored(ir, both_parts) : both_parts, 2,
                        all); /* one kernel would compute single values */
  }
}

static void sort(Build *b, Sorted *s) {
  for (int64_t block = 2; block <= s->extent; block *= 2) {
    exchange(b, s, block / 2, true);
    for (int64_t half = block / 4; half; half /= 2) exchange(b, s, half, false);
  }
}

/* x [rows, n] with n rounded up to a power of two, filled up with `fill` */
static Ref filled(Build *b, Ref x, Ref fill) {
  const int64_t n = node(b->ir, x)->dims[1], lo = 0, hi = power_of_two(n) - n;
  return hi ? pad_axes(b->ir, x, 1, 1, &lo, &hi, fill) : x;
}

/* Keys of [rows, n], the greatest first; n becomes a power of two */
static Ref sorted_keys(Build *b, Ref keys) {
  keys = filled(b, keys, type_limit(b->ir, DT_I64, false));
  const Node *n = node(b->ir, keys);
  Sorted s = { .v = { keys }, .n = 1, .rows = n->dims[0], .extent = n->dims[1] };
  sort(b, &s);
  return s.v[0];
}

/* ---- searching ---- */
Ref entries_up_to(Build *b, Ref sorted, Ref value) {
  IR *ir = b->ir;
  const int axis = node(ir, sorted)->rank - 1;
  const int64_t n = node(ir, sorted)->dims[axis];
  const Node *v = node(ir, value);
  int64_t one[MAX_RANK];
  for (int a = 0; a < v->rank; a++) one[a] = 1;
  Ref at = g_expand(ir, g_reshape(ir, integer(b, 0), v->rank, one), v->rank, v->dims); /* entries known to be <= value */
  for (int64_t step = power_of_two(form_most(b, n) + 1) / 2; step; step /= 2) {
    Ref probe = add(b, at, integer(b, step));
    Ref entry = g_gather(ir, sorted, clamp_index(b, add(b, probe, integer(b, -1)), n), axis);
    Ref more = both(b, g_binary(ir, OP_CMPLE, probe, integer(b, n)), g_binary(ir, OP_CMPLE, entry, value));
    at = g_where(ir, more, probe, at);
  }
  return at;
}

/* One step of the search for the greatest value that at least k of [rows, n] reach: whether it has this bit */
static Ref with_bit(Build *b, Ref values, Ref found, Ref bit, int64_t k) {
  IR *ir = b->ir;
  Ref trial = add(b, found, bit), reach = g_cast(ir, g_binary(ir, OP_CMPLE, trial, values), DT_I32);
  return g_where(ir, g_binary(ir, OP_CMPLE, c_int(ir, DT_I32, k), g_reduce(ir, OP_ADD, reach, 2u)), trial, found);
}

static Ref reached_by(Build *b, Ref values, int64_t k) {
  IR *ir = b->ir;
  enum { BITS = 32 };
  const int64_t n = BITS, one[2] = { 1, 1 }, each[2] = { node(ir, values)->dims[0], 1 };
  int32_t bits[BITS];
  for (int i = 0; i < BITS; i++) bits[i] = (int32_t)(UINT32_C(1) << (BITS - 1 - i));
  const Ref all = tensor_ref(b, DT_I32, 1, &n, bits);
  Ref found = g_expand(ir, g_reshape(ir, c_int(ir, DT_I32, INT32_MIN), 2, one), 2, each);
  const int loop = loop_begin(b, BITS);
  for (int i = 0; i < BITS && loop < 0; i++)
    found = with_bit(b, values, found, g_reshape(ir, shrink_axis(ir, all, 0, i, 1, 1), 2, one), k);
  if (loop < 0) return found;
  const Ref bit = g_reshape(ir, g_slice(ir, loop, g_stored(ir, all), 0, false), 2, one);
  const Ref yield = g_yield(ir, loop, 0, with_bit(b, values, g_carried(ir, loop, 0, found), bit, k));
  loop_spend(b, BITS);
  loop_end(b);
  return g_result(ir, g_iterate(ir, loop, BITS, 0, 1, &yield), 0);
}

Ref places_of_true(Build *b, Ref flags, int64_t k, Ref *total) {
  IR *ir = b->ir;
  const int64_t rows = node(ir, flags)->dims[0], n = node(ir, flags)->dims[1];
  Ref count = stored(b, cumulative(b, OP_ADD, stored(b, g_cast(ir, flags, DT_I32)), 1, false, false));
  if (total) *total = g_cast(ir, shrink_axis(ir, count, 1, n - 1, 1, 1), DT_I64);
  Ref number = g_expand(ir, iota_axis(ir, DT_I32, k, 1, 2), 2, (int64_t[]){ rows, k });
  return entries_up_to(b, count, number);
}

/* ---- TopK ---- */
/* 32 bits of keys of x [rows, n], for the order that is asked for */
static Ref halves(Build *b, Ref x, bool largest) {
  Ref keys = g_cast(b->ir, order_keys(b, x), DT_I32);
  return largest ? keys : g_unary(b->ir, OP_NOT, keys);
}

static Ref whole_keys(Build *b, Ref half, Ref at, int64_t n) {
  IR *ir = b->ir;
  Ref high = g_binary(ir, OP_SHL, g_cast(ir, half, DT_I64), integer(b, 32));
  return g_binary(ir, OP_OR, high, sub(b, integer(b, n - 1), at));
}

/* Places, in [rows, n], of the k greatest halves; the first ones of equals */
static Ref places_selected(Build *b, Ref half, int64_t k) {
  IR *ir = b->ir;
  const Ref least = reached_by(b, half, k);
  Ref above = g_binary(ir, OP_CMPLT, least, half), equal = g_binary(ir, OP_CMPEQ, least, half);
  Ref more = g_reduce(ir, OP_ADD, g_cast(ir, above, DT_I32), 2u);
  Ref order = cumulative(b, OP_ADD, g_cast(ir, equal, DT_I32), 1, false, false);
  Ref wanted = g_binary(ir, OP_CMPLE, order, g_binary(ir, OP_SUB, c_int(ir, DT_I32, k), more));
  return clamp_index(b, places_of_true(b, g_binary(ir, OP_OR, above, both(b, equal, wanted)), k, NULL), node(ir, half)->dims[1]);
}

/* Places of the first k of x [rows, n] in the order of keys */
static Ref places_by_keys(Build *b, Ref x, int64_t k, bool largest) {
  IR *ir = b->ir;
  const int64_t n = node(ir, x)->dims[1];
  Ref half = halves(b, x, largest), at = iota_axis(ir, DT_I64, n, 1, 2);
  if (n > SORTED_WHOLE && k <= n / FEW) {
    half = g_stored(ir, half);
    at = places_selected(b, half, k);
    half = g_gather(ir, half, at, 1);
  }
  Ref keys = shrink_axis(ir, sorted_keys(b, whole_keys(b, half, at, n)), 1, 0, 1, k);
  return sub(b, integer(b, n - 1), g_binary(ir, OP_AND, keys, integer(b, UINT32_MAX)));
}

/* The same for values that do not fit into keys. Entries that fill up the axis have the last value of the type, such as NaN.
 * They have the greatest places, so they stand behind equal values. */
static Ref places_by_pairs(Build *b, Ref x, int64_t k, bool largest) {
  IR *ir = b->ir;
  const int64_t rows = node(ir, x)->dims[0], n = node(ir, x)->dims[1];
  const DType d = (DType)node(ir, x)->dt;
  Ref last = dt_float(d) && !largest ? c_float(ir, d, NAN) : type_limit(ir, d, !largest);
  Ref at = g_expand(ir, iota_axis(ir, DT_I64, n, 1, 2), 2, (int64_t[]){ rows, n });
  Sorted s = {
    .v = { filled(b, x, last), filled(b, at, type_limit(ir, DT_I64, true)) }, .n = 2, .rows = rows, .largest = largest
  };
  s.extent = node(ir, s.v[0])->dims[1];
  sort(b, &s);
  return clamp_index(b, shrink_axis(ir, s.v[1], 1, 0, 1, k), n);
}

/* x with the axis last and all others merged, as [rows, n] */
static Ref as_rows(Build *b, Ref x, int axis, int64_t *perm) {
  const Node *n = node(b->ir, x);
  int at = 0;
  for (int a = 0; a < n->rank; a++)
    if (a != axis) perm[at++] = a;
  perm[at] = axis;
  const int64_t extent = n->dims[axis], rows = dims_elems(n->dims, n->rank) / extent;
  return g_reshape(b->ir, g_permute(b->ir, x, perm), 2, (int64_t[]){ rows, extent });
}

/* Places in x, by a function for [rows, n] */
static Ref places_in_rows(Build *b, Ref x, int axis, int64_t k, bool largest, Ref (*places)(Build *, Ref, int64_t, bool)) {
  IR *ir = b->ir;
  const Node *n = node(ir, x);
  int64_t perm[MAX_RANK], back[MAX_RANK], dims[MAX_RANK];
  Ref at = places(b, as_rows(b, x, axis, perm), k, largest);
  for (int a = 0; a < n->rank; a++) {
    back[perm[a]] = a;
    dims[a] = perm[a] == axis ? k : n->dims[perm[a]];
  }
  return g_permute(ir, g_reshape(ir, at, n->rank, dims), back);
}

/* Entries of the results. If k comes from data, they are as many as the model declares; otherwise as many as the axis has, or as
 * --capacity says. *total: k of a run; 0: the results have k entries */
static int64_t read_k(Build *b, int axis, int64_t extent, Ref *total) {
  const int64_t n = dims_elems(in_node(b, 1)->dims, in_node(b, 1)->rank), most = b->ragged->most;
  Tensor t;
  *total = 0;
  if (n != 1) bad(b, "input 'K' has %lld elements, expected one", (long long)n);
  if (const_tensor(b, b->in[1], &t)) return tensor_int(&t, 0);
  int rank, one;
  if (declared_dims(b, 0, &rank)) return *extent_int(b, 1, "K", &one, axis);
  if (extent < 2)
    bad(b, "input 'K' must be constant for an axis of extent %lld; it depends on input '%s' of the graph", (long long)extent,
        input_behind(b, b->in[1]));
  const Ref k = g_cast(b->ir, scalar_in(b, 1), DT_I64);
  *total = clamped(b, k, 0, (double)extent);
  wrong_if(b, g_binary(b->ir, OP_CMPNE, k, *total));
  return most && most < extent ? most : extent;
}

/* Entries behind the first `total` along the axis become -1 as places, and 0 as values. */
static void keep_first(Build *b, int axis, int64_t k, int64_t extent, Ref total) {
  IR *ir = b->ir;
  const int64_t wanted = b->ragged->wanted;
  const int rank = node(ir, b->in[0])->rank;
  Ref there = g_binary(ir, OP_CMPLT, g_iota(ir, DT_I64, k), total);
  int64_t dims[MAX_RANK];
  add_count(b, there, total, wanted && wanted < extent ? wanted : extent);
  for (int a = 0; a < rank; a++) dims[a] = a == axis ? k : 1;
  there = g_reshape(ir, there, rank, dims);
  b->out[0] = g_where(ir, there, b->out[0], num(b, b->out[0], 0));
  b->out[1] = g_where(ir, there, b->out[1], integer(b, -1));
}

static Ref places_sorted(Build *b, Ref x, int axis, int64_t k, bool largest) {
  const bool keys = dt_bytes((DType)node(b->ir, x)->dt) <= KEY_BYTES;
  return places_in_rows(b, x, axis, k, largest, keys ? places_by_keys : places_by_pairs);
}

/* The form by groups depends on the extents, so models with ranges of sizes do not get it. */
static Ref places_few(Build *b, Ref x, int axis, int64_t k, bool largest) {
  const Node *n = node(b->ir, x);
  const bool groups = k > 1 && axis == n->rank - 1 && n->dims[axis] >= GROUPED && !b->ir->in_loop && !b->forms;
  return groups ? places_in_rows(b, x, axis, k, largest, places_picked_by_groups) : places_picked(b, x, axis, k, largest);
}

void op_top_k(Build *b) {
  const Node *x = in_node(b, 0);
  if (!x->rank) bad(b, "the input is a scalar");
  const int axis = axis_of(b, attr_int(b, "axis"), x->rank);
  const int64_t extent = x->dims[axis];
  Ref total;
  const int64_t k = read_k(b, axis, extent, &total);
  if (k < 0 || k > extent) bad(b, "input 'K' is %lld, but axis %d has %lld elements", (long long)k, axis, (long long)extent);
  const bool largest = attr_int(b, "largest"), keys = dt_bytes((DType)x->dt) <= KEY_BYTES;
  const bool open = form_differs(b, extent); /* then the form must not depend on the extent */
  const bool by_size = form_differs(b, k);   /* nor on k: all entries are put in order, and the first k are the result */
  const bool few = !by_size && keys && k && k <= MOST_PICKS && (open || k <= extent / FEW) && extent < INT32_MAX;
  /* the body of a loop stores no values of its own, which the stages of a network need */
  const bool counted = (!k && !by_size) || open || extent <= MOST_COUNTED || extent >= INT32_MAX || b->ir->in_loop ||
                       !dims_elems(x->dims, x->rank);
  b->out[1] = (few ? places_few : counted ? places_counted : places_sorted)(b, b->in[0], axis, by_size ? extent : k, largest);
  if (by_size) b->out[1] = shrink_axis(b->ir, b->out[1], axis, 0, 1, k);
  b->out[0] = g_gather(b->ir, b->in[0], b->out[1], axis);
  if (total) keep_first(b, axis, k, extent, total);
}

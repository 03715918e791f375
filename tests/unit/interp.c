/* SPDX-License-Identifier: MIT */
/* interp.c (unit test): the graph interpreter against an evaluation of one element at a time from the
 * definition of each op, on random graphs; convolutions against plain loops; empty tensors, rank 0,
 * NaN, budgets, long chains, constants. */
#include "../../compiler/interp/interp.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <math.h>

typedef struct World {
  Ctx ctx;
  IR *ir;
  uint64_t seed;
  Tensor input[4];
  const Tensor *inputs[4];
  double **value;        /* by Ref: all elements, by definition() */
} World;

static int setup(void **state) {
  World *w = xmalloc(sizeof *w);
  memset(w, 0, sizeof *w);
  ctx_init(&w->ctx);
  w->ir = ir_new(&w->ctx);
  for (int i = 0; i < 4; i++) w->inputs[i] = &w->input[i];
  *state = w;
  return 0;
}

static int teardown(void **state) {
  World *w = *state;
  ir_free(w->ir);
  ctx_free(&w->ctx);
  free(w);
  return 0;
}

static int pick(World *w, int n) { /* 0 .. n - 1 */
  w->seed = w->seed * 6364136223846793005u + 1442695040888963407u;
  return (int)((w->seed >> 33) % (uint64_t)n);
}

static Tensor tensor(World *w, DType d, int rank, const int64_t *dims) {
  Tensor t = { .dt = d, .rank = rank, .elems = dims_elems(dims, rank) };
  if (rank) memcpy(t.dims, dims, (size_t)rank * sizeof *dims);
  char *p = arena_alloc(&w->ctx.model, (size_t)(t.elems * dt_bytes(d)));
  for (int64_t i = 0; i < t.elems; i++) {
    int64_t bits = double_to_bits(d, dt_float(d) ? (pick(w, 2001) - 1000) / 250.0 : pick(w, 41) - 20);
    memcpy(p + i * dt_bytes(d), &bits, (size_t)dt_bytes(d));
  }
  t.data = p;
  return t;
}

static double element(const Tensor *t, int64_t i) {
  uint64_t bits = 0;
  if (!t->data) return bits_to_double(t->dt, t->splat);
  memcpy(&bits, (const char *)t->data + i * dt_bytes(t->dt), (size_t)dt_bytes(t->dt));
  return bits_to_double(t->dt, (int64_t)dt_wrap(t->dt, bits));
}

static Ref param(World *w, int slot, DType d, int rank, const int64_t *dims) {
  w->input[slot] = tensor(w, d, rank, dims);
  return g_param(w->ir, d, rank, dims, slot);
}

/* ---- the definition, one element at a time; i32 and f64 only, so that double holds every value ---- */
static int64_t number(const Node *x, const int64_t *pos) { /* in row-major order */
  int64_t n = 0;
  for (int i = 0; i < x->rank; i++) n = n * x->dims[i] + pos[i];
  return n;
}

static double at(const World *w, Ref r, const int64_t *pos) { return w->value[r][number(node(w->ir, r), pos)]; }

static double reduced(World *w, const Node *x, const int64_t *pos) {
  const Node *s = node(w->ir, x->src[0]);
  int64_t p[MAX_RANK] = { 0 }, points = 1;
  for (int i = 0; i < x->rank; i++)
    if (x->arg[1] >> i & 1) points *= s->dims[i];
  double acc[2] = { x->arg[0] == OP_MUL ? 1 : x->arg[0] == OP_MAX ? -INFINITY : x->arg[0] == OP_MIN ? INFINITY : 0, 0 };
  if (!points && !dt_float((DType)x->dt)) acc[0] = bits_to_double((DType)x->dt, double_to_bits((DType)x->dt, acc[0]));
  for (int64_t n = 0; n < points; n++) {
    int64_t rest = n;
    for (int i = 0; i < x->rank; i++) {
      p[i] = pos[i];
      if (!(x->arg[1] >> i & 1)) continue;
      p[i] = rest % s->dims[i];
      rest /= s->dims[i];
    }
    acc[1] = at(w, x->src[0], p);
    acc[0] = interp_float((Op)x->arg[0], DT_F64, acc);
    if (x->dt == DT_I32 && points) acc[0] = isfinite(acc[0]) ? (double)(int32_t)(int64_t)acc[0] : acc[0];
  }
  return acc[0];
}

static double elementwise(World *w, const Node *x, const int64_t *pos) {
  double v[3] = { 0 };
  int64_t bits[3];
  DType from = DT_NONE;
  for (int i = 0; i < x->nsrc; i++) {
    from = (DType)node(w->ir, x->src[i])->dt;
    v[i] = at(w, x->src[i], pos);
    bits[i] = double_to_bits(from, v[i]);
  }
  return bits_to_double((DType)x->dt, interp_scalar((Op)x->op, (DType)x->dt, from, bits));
}

static double scattered(World *w, const Node *x, const int64_t *pos) {
  const DType d = (DType)x->dt;
  const int64_t axis = x->arg[1], n = node(w->ir, x->src[1])->dims[axis];
  int64_t p[MAX_RANK], v[2] = { double_to_bits(d, at(w, x->src[0], pos)) };
  memcpy(p, pos, x->rank * sizeof *pos);
  for (p[axis] = 0; p[axis] < n; p[axis]++) {
    if (at(w, x->src[1], p) != (double)pos[axis]) continue;
    v[1] = double_to_bits(d, at(w, x->src[2], p));
    v[0] = x->arg[0] ? interp_scalar((Op)x->arg[0], d, d, v) : v[1];
  }
  return bits_to_double(d, v[0]);
}

static double definition(World *w, const Node *x, const int64_t *pos) {
  const Node *s = x->nsrc ? node(w->ir, x->src[0]) : NULL;
  int64_t p[MAX_RANK] = { 0 }, n = number(x, pos);
  switch ((Op)x->op) {
  case OP_CONST: return bits_to_double((DType)x->dt, x->arg[0]);
  case OP_PARAM: return element(&w->input[x->arg[0]], n);
  case OP_WEIGHT: return element(&w->ir->tensors.p[x->arg[0]], n);
  case OP_IOTA: return (double)pos[0];
  case OP_RESHAPE:
    for (int i = s->rank - 1; i >= 0; i--) {
      p[i] = n % s->dims[i];
      n /= s->dims[i];
    }
    break;
  case OP_EXPAND:
    for (int i = 0; i < s->rank; i++) p[i] = s->dims[i] == 1 ? 0 : pos[i];
    break;
  case OP_PERMUTE:
    for (int i = 0; i < s->rank; i++) p[x->arg[i]] = pos[i];
    break;
  case OP_SHRINK:
    for (int i = 0; i < s->rank; i++) p[i] = x->arg[i] + pos[i] * x->arg[s->rank + i];
    break;
  case OP_WINDOW:
    for (int i = 0; i < s->rank; i++) p[i] = pos[i];
    p[x->arg[0]] = pos[x->arg[0]] * x->arg[1] + pos[s->rank] * x->arg[2];
    break;
  case OP_PAD:
    for (int i = 0; i < s->rank; i++) {
      p[i] = pos[i] - x->arg[i];
      if (p[i] < 0 || p[i] >= s->dims[i]) return at(w, x->src[1], NULL);
    }
    break;
  case OP_CAT: {
    int k = 0;
    memcpy(p, pos, x->rank * sizeof *pos);
    for (; p[x->arg[0]] >= node(w->ir, x->src[k])->dims[x->arg[0]]; k++) p[x->arg[0]] -= node(w->ir, x->src[k])->dims[x->arg[0]];
    return at(w, x->src[k], p);
  }
  case OP_GATHER:
    memcpy(p, pos, x->rank * sizeof *pos);
    p[x->arg[0]] = (int64_t)at(w, x->src[1], pos);
    break;
  case OP_SCATTER: return scattered(w, x, pos);
  case OP_REDUCE: return reduced(w, x, pos);
  default: return elementwise(w, x, pos);
  }
  return at(w, x->src[0], p);
}

static void positions(const Node *x, int64_t n, int64_t *pos) {
  for (int i = x->rank - 1; i >= 0; i--) {
    pos[i] = n % x->dims[i];
    n /= x->dims[i];
  }
}

static void define(World *w, const Ref *out, size_t n, Arena *a) {
  Refs order = { 0 };
  int64_t pos[MAX_RANK];
  ir_toposort(w->ir, out, n, &order);
  w->value = ARENA_NEW(a, double *, w->ir->n);
  for (size_t i = 0; i < order.n; i++) {
    const Node *x = node(w->ir, order.p[i]);
    int64_t elems = dims_elems(x->dims, x->rank);
    double *v = w->value[order.p[i]] = ARENA_NEW(a, double, elems);
    for (int64_t k = 0; k < elems; k++) {
      positions(x, k, pos);
      v[k] = definition(w, x, pos);
    }
  }
  VEC_FREE(&order);
}

static void assert_agrees(World *w, Ref r, const Tensor *got) {
  const Node *x = node(w->ir, r);
  assert_int_equal(got->dt, x->dt);
  assert_int_equal(got->elems, dims_elems(x->dims, x->rank));
  for (int64_t n = 0; n < got->elems; n++) {
    double want = w->value[r][n], have = element(got, n);
    if (isnan(want) ? isnan(have) : want == have || fabs(want - have) <= 1e-10 * (fabs(want) + 1)) continue;
    fail_msg("seed %llu: element %lld of node %u: %.17g, expected %.17g", (unsigned long long)w->seed, (long long)n, r, have,
             want);
  }
}

/* ---- random graphs ---- */
static void random_dims(World *w, const Node *x, int64_t *dims, int *rank) { /* with as many elements as x */
  int64_t left = dims_elems(x->dims, x->rank);
  *rank = 0;
  if (!left) {
    dims[(*rank)++] = 0;
    return;
  }
  while (*rank < 4 && left > 1) {
    int64_t d = 2 + pick(w, 5);
    if (left % d)
      for (d = 2; left % d;) d++;
    dims[(*rank)++] = d;
    left /= d;
  }
  if (*rank == 4) dims[3] *= left;
}

static Ref random_view(World *w, Ref r) {
  IR *ir = w->ir;
  const Node *x = node(ir, r);
  int64_t a[2 * MAX_RANK], b[MAX_RANK], dims[2 * MAX_RANK];
  int rank;
  switch (pick(w, 6)) {
  case 0: random_dims(w, x, dims, &rank); return g_reshape(ir, r, rank, dims);
  case 1:
    for (int i = 0; i < x->rank; i++) a[i] = i;
    for (int i = x->rank - 1; i > 0; i--) {
      int j = pick(w, i + 1);
      int64_t t = a[i];
      a[i] = a[j];
      a[j] = t;
    }
    return g_permute(ir, r, a);
  case 2:
    for (int i = 0; i < x->rank; i++) {
      dims[i] = x->dims[i] ? 1 + pick(w, (int)x->dims[i]) : 0;
      a[i] = x->dims[i] ? pick(w, (int)(x->dims[i] - dims[i] + 1)) : 0;
      b[i] = 1;
      if (dims[i] > 1 && pick(w, 3) == 0) {
        a[i] += dims[i] - 1;
        b[i] = -1;
      }
    }
    return g_shrink(ir, r, a, b, dims);
  case 3:
    for (int i = 0; i < x->rank; i++) {
      a[i] = pick(w, 3) / 2;
      b[i] = pick(w, 3) / 2;
    }
    return g_pad(ir, r, a, b, c_int(ir, (DType)x->dt, 3));
  case 4: {
    if (!x->rank || x->rank > 4) return r;
    int axis = pick(w, x->rank);
    if (!x->dims[axis]) return r;
    int64_t k = 1 + pick(w, (int)x->dims[axis]), dil = k > 1 ? 1 + pick(w, (int)((x->dims[axis] - 1) / (k - 1))) : 1,
            stride = 1 + pick(w, 2);
    return g_window(ir, r, axis, (x->dims[axis] - (k - 1) * dil - 1) / stride + 1, k, stride, dil);
  }
  default:
    if (x->rank > 4) return r;
    for (int i = 0; i < x->rank; i++) dims[i + 1] = x->dims[i] == 1 ? 1 + pick(w, 3) : x->dims[i];
    dims[0] = 1 + pick(w, 2);
    return g_expand(ir, r, x->rank + 1, dims);
  }
}

static Ref same_shape(World *w, Ref r, Ref like) { /* r made broadcastable with like, by force if need be */
  const Node *x = node(w->ir, r), *y = node(w->ir, like);
  bool fits = x->dt == y->dt && x->rank <= y->rank;
  for (int i = 0; fits && i < x->rank; i++) fits = x->dims[i] == y->dims[y->rank - x->rank + i] || x->dims[i] == 1;
  if (fits || x->dt != y->dt) return fits ? r : like;
  Ref greatest = g_reduce(w->ir, OP_MAX, g_reshape(w->ir, r, 1, (int64_t[]){ dims_elems(x->dims, x->rank) }), 1);
  return g_expand(w->ir, greatest, 1, (int64_t[]){ 1 });
}

static Ref random_op(World *w, Ref r, Ref other) {
  static const Op unary[] = { OP_NEG, OP_ABS, OP_FLOOR }, binary[] = { OP_ADD, OP_SUB, OP_MUL, OP_MAX, OP_MIN, OP_MUL },
                  folds[] = { OP_ADD, OP_MAX, OP_MIN, OP_ADD, OP_NONE };
  IR *ir = w->ir;
  const Node *x = node(ir, r);
  switch (pick(w, 9)) {
  case 0: {
    const Op op = unary[pick(w, 3)];
    return g_unary(ir, op_takes(op, (DType)x->dt) ? op : OP_ABS, r);
  }
  case 1: case 2: {
    Ref o = same_shape(w, other, r);
    return node(ir, o)->rank <= x->rank ? g_binary(ir, binary[pick(w, 6)], r, o) : r;
  }
  case 3: return g_reduce(ir, folds[pick(w, 4)], r, x->rank ? (uint32_t)pick(w, 1 << x->rank) : 0);
  case 4: return x->rank ? g_cat(ir, 2, (Ref[]){ r, g_unary(ir, OP_NEG, r) }, pick(w, x->rank)) : r;
  case 5: {
    if (!x->rank) return r;
    int axis = pick(w, x->rank);
    if (!x->dims[axis]) return r;
    Ref index = g_iota(ir, DT_I64, 4);
    index = g_binary(ir, OP_MOD, g_binary(ir, OP_MUL, index, c_int(ir, DT_I64, 1 + pick(w, 3))),
                     c_int(ir, DT_I64, x->dims[axis]));
    int64_t dims[MAX_RANK];
    for (int i = 0; i < x->rank; i++) dims[i] = i == axis ? 4 : 1;
    return g_gather(ir, r, g_reshape(ir, index, x->rank, dims), axis);
  }
  case 6: return g_where(ir, g_binary(ir, OP_CMPLT, r, c_int(ir, (DType)x->dt, 1)), r, g_unary(ir, OP_NEG, r));
  case 7: { /* five indices; some may be out of range */
    if (!x->rank) return r;
    int axis = pick(w, x->rank);
    Ref index = g_iota(ir, DT_I64, 5);
    index = g_binary(ir, OP_MOD, g_binary(ir, OP_MUL, index, c_int(ir, DT_I64, 1 + pick(w, 3))), c_int(ir, DT_I64, 4));
    index = g_binary(ir, OP_SUB, index, c_int(ir, DT_I64, pick(w, 2)));
    int64_t dims[MAX_RANK];
    for (int i = 0; i < x->rank; i++) dims[i] = i == axis ? 5 : 1;
    index = g_reshape(ir, index, x->rank, dims);
    Ref updates = g_binary(ir, OP_SUB, g_reduce(ir, OP_MAX, r, 1u << axis), g_cast(ir, index, (DType)x->dt));
    return g_scatter(ir, folds[pick(w, 5)], r, index, updates, axis);
  }
  default: return r;
  }
}

static void random_graphs_agree_with_the_definition(void **state) {
  World *w = *state;
  Arena a = { 0 };
  for (int seed = 1; seed <= 4000; seed++) {
    w->seed = (uint64_t)seed;
    pick(w, 2);
    DType d = pick(w, 2) ? DT_I32 : DT_F64;
    Ref live[24];
    int n = 0;
    for (int slot = 0; slot < 3; slot++) {
      int rank = pick(w, 4);
      int64_t dims[MAX_RANK];
      for (int i = 0; i < rank; i++) dims[i] = pick(w, 30) ? 1 + pick(w, 4) : 0;
      live[n++] = param(w, slot, d, rank, dims);
    }
    for (int steps = 3 + pick(w, 14); steps > 0 && n < 24; steps--) {
      Ref r = live[n - 1 - pick(w, n < 3 ? n : 3)];
      r = pick(w, 2) ? random_view(w, r) : random_op(w, r, live[pick(w, n)]);
      const Node *x = node(w->ir, r);
      if (dims_elems(x->dims, x->rank) <= 3000 && x->rank <= 6) live[n++] = r;
    }
    Ref out[2] = { live[n - 1], live[n - 2] };
    Tensor got[2];
    assert_true(interp_graph(w->ir, out, 2, w->inputs, &a, seed & 1, 0, got));
    define(w, out, 2, &a);
    assert_agrees(w, out[0], &got[0]);
    assert_agrees(w, out[1], &got[1]);
    arena_free(&a);
  }
}

/* ---- by name ---- */
static Tensor evaluate(World *w, Ref r) {
  Tensor t;
  assert_true(interp_graph(w->ir, &r, 1, w->inputs, &w->ctx.model, false, 0, &t));
  return t;
}

static void a_convolution_agrees_with_plain_loops(void **state) { /* stride 2, padding 1, two groups */
  World *w = *state;
  IR *ir = w->ir;
  enum { C = 5, M = 6, H = 19, K = 3, O = 10 };
  Ref x = param(w, 0, DT_F32, 4, (int64_t[]){ 1, 2 * C, H, H }), k = param(w, 1, DT_F32, 4, (int64_t[]){ 2 * M, C, K, K });
  Ref v = g_pad(ir, x, (int64_t[]){ 0, 0, 1, 1 }, (int64_t[]){ 0, 0, 1, 1 }, c_float(ir, DT_F32, 0));
  v = g_window(ir, g_window(ir, v, 2, O, K, 2, 1), 3, O, K, 2, 1);
  v = g_reshape(ir, v, 8, (int64_t[]){ 1, 2, 1, C, O, O, K, K });
  v = g_binary(ir, OP_MUL, v, g_reshape(ir, k, 8, (int64_t[]){ 1, 2, M, C, 1, 1, K, K }));
  Tensor y = evaluate(w, g_reduce(ir, OP_ADD, v, 1 << 3 | 3 << 6));
  for (int m = 0; m < 2 * M; m++)
    for (int i = 0; i < O; i++)
      for (int j = 0; j < O; j++) {
        double sum = 0;
        for (int c = 0; c < C; c++)
          for (int p = 0; p < K; p++)
            for (int q = 0; q < K; q++) {
              int a = 2 * i + p - 1, b = 2 * j + q - 1;
              if (a < 0 || a >= H || b < 0 || b >= H) continue;
              sum += element(&w->input[0], ((m / M * C + c) * H + a) * H + b) *
                     element(&w->input[1], ((m * C + c) * K + p) * K + q);
            }
        assert_true(fabs(sum - element(&y, (m * O + i) * O + j)) <= 1e-6 * fabs(sum) + 1e-9);
      }
}

static void products_of_integers_wrap(void **state) {
  World *w = *state;
  Ref x = param(w, 0, DT_I32, 2, (int64_t[]){ 9, 150 }), y = param(w, 1, DT_I32, 2, (int64_t[]){ 150, 17 });
  int32_t *p = (int32_t *)(uintptr_t)w->input[0].data, *q = (int32_t *)(uintptr_t)w->input[1].data;
  for (int i = 0; i < 9 * 150; i++) p[i] = (int32_t)(2654435761u * (unsigned)i);
  for (int i = 0; i < 17 * 150; i++) q[i] = (int32_t)(2246822519u * (unsigned)i);
  Ref r = g_binary(w->ir, OP_MUL, g_reshape(w->ir, x, 3, (int64_t[]){ 9, 150, 1 }), y);
  Tensor t = evaluate(w, g_reduce(w->ir, OP_ADD, r, 2));
  for (int i = 0; i < 9; i++)
    for (int j = 0; j < 17; j++) {
      uint32_t sum = 0;
      for (int k = 0; k < 150; k++) sum += (uint32_t)p[i * 150 + k] * (uint32_t)q[k * 17 + j];
      assert_int_equal(((const int32_t *)t.data)[i * 17 + j], (int32_t)sum);
    }
}

static void reductions_over_nothing_give_the_identity(void **state) {
  static const struct { Op op; DType d; double want; } row[] = {
    { OP_ADD, DT_F32, 0 }, { OP_MUL, DT_F32, 1 }, { OP_MAX, DT_F32, -INFINITY }, { OP_MIN, DT_F16, INFINITY },
    { OP_MAX, DT_I8, -128 }, { OP_MIN, DT_U8, 255 }, { OP_MAX, DT_BOOL, 0 }, { OP_MIN, DT_BOOL, 1 }, { OP_MUL, DT_I64, 1 },
  };
  World *w = *state;
  for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
    Ref x = param(w, 0, row[i].d, 2, (int64_t[]){ 3, 0 });
    Tensor t = evaluate(w, g_reduce(w->ir, row[i].op, x, 2));
    assert_int_equal(t.elems, 3);
    for (int k = 0; k < 3; k++) assert_true(element(&t, k) == row[i].want);
  }
}

static void padding_fills_an_empty_tensor(void **state) {
  World *w = *state;
  Ref x = param(w, 0, DT_F32, 1, (int64_t[]){ 0 });
  Tensor t = evaluate(w, g_pad(w->ir, x, (int64_t[]){ 1 }, (int64_t[]){ 2 }, c_float(w->ir, DT_F32, 5)));
  assert_int_equal(t.elems, 3);
  for (int k = 0; k < 3; k++) assert_true(element(&t, k) == 5);
}

static void nan_wins_in_max_and_min_wherever_it_stands(void **state) {
  World *w = *state;
  Ref x = param(w, 0, DT_F32, 2, (int64_t[]){ 3, 4 });
  float *p = (float *)(uintptr_t)w->input[0].data;
  for (int i = 0; i < 3; i++) p[i * 4 + (i == 0 ? 0 : i == 1 ? 3 : 1)] = NAN;
  Tensor max = evaluate(w, g_reduce(w->ir, OP_MAX, x, 2)), min = evaluate(w, g_reduce(w->ir, OP_MIN, x, 2));
  for (int i = 0; i < 3; i++) assert_true(isnan(element(&max, i)) && isnan(element(&min, i)));
}

static void each_op_rounds_to_its_type_unless_in_double(void **state) {
  World *w = *state;
  Ref x = param(w, 0, DT_F16, 0, NULL);
  w->input[0].data = NULL;
  w->input[0].splat = double_to_bits(DT_F16, 2048);
  Ref one = c_float(w->ir, DT_F16, 1), r = g_binary(w->ir, OP_ADD, g_binary(w->ir, OP_ADD, x, one), one); /* 2049 is no f16 */
  Tensor t;
  assert_true(element((t = evaluate(w, r), &t), 0) == 2048);
  assert_true(interp_graph(w->ir, &r, 1, w->inputs, &w->ctx.model, true, 0, &t));
  assert_true(element(&t, 0) == 2050);
}

static void a_chain_of_a_million_ops_needs_no_deep_stack(void **state) {
  World *w = *state;
  Ref x = param(w, 0, DT_I64, 1, (int64_t[]){ 2 }), one = c_int(w->ir, DT_I64, 1);
  ((int64_t *)(uintptr_t)w->input[0].data)[1] = 5;
  for (int i = 0; i < 1000000; i++) x = g_binary(w->ir, i & 1 ? OP_ADD : OP_SUB, one, x);
  Tensor t = evaluate(w, x);
  int64_t v = 5;
  for (int i = 0; i < 1000000; i++) v = i & 1 ? 1 + v : 1 - v;
  assert_int_equal(((const int64_t *)t.data)[1], v);
}

static void chains_of_views_are_cut_too(void **state) { /* reshapes that never line up */
  World *w = *state;
  Ref x = param(w, 0, DT_I32, 2, (int64_t[]){ 6, 4 }), r = x;
  for (int i = 0; i < 200; i++) {
    r = g_permute(w->ir, r, (int64_t[]){ 1, 0 });
    r = g_reshape(w->ir, r, 2, i & 1 ? (int64_t[]){ 6, 4 } : (int64_t[]){ 3, 8 });
  }
  Arena a = { 0 };
  Tensor t = evaluate(w, r);
  define(w, &r, 1, &a);
  assert_agrees(w, r, &t);
  arena_free(&a);
}

static void budgets_end_an_evaluation(void **state) {
  World *w = *state;
  Ref x = param(w, 0, DT_F32, 2, (int64_t[]){ 100, 100 }), r = g_unary(w->ir, OP_EXP, x);
  Tensor t;
  assert_false(interp_graph(w->ir, &r, 1, w->inputs, &w->ctx.model, false, 9999, &t));
  assert_true(interp_graph(w->ir, &r, 1, w->inputs, &w->ctx.model, false, 100000, &t));
}

static void constants_are_evaluated_within_the_limits(void **state) {
  World *w = *state;
  IR *ir = w->ir;
  Tensor t;
  Ref n = g_iota(ir, DT_I64, 1000), square = g_binary(ir, OP_MUL, n, n);
  assert_false(interp_const(ir, param(w, 0, DT_F32, 1, (int64_t[]){ 3 }), &t));
  assert_true(interp_const(ir, square, &t));
  assert_int_equal(((const int64_t *)t.data)[999], 998001);
  Ref huge = g_expand(ir, c_int(ir, DT_I64, 7), 2, (int64_t[]){ 1 << 30, 1 << 30 });
  assert_true(interp_const(ir, huge, &t)); /* one value needs no memory */
  assert_true(!t.data && t.splat == 7);
  assert_false(interp_const(ir, g_binary(ir, OP_ADD, huge, g_unary(ir, OP_NEG, huge)), &t));
  w->ctx.fold.bytes = 8008; /* the next result and one byte less than another */
  assert_true(interp_const(ir, g_unary(ir, OP_NEG, n), &t));
  assert_false(interp_const(ir, g_unary(ir, OP_ABS, n), &t));
}

static void a_reshaped_weight_is_not_copied(void **state) {
  World *w = *state;
  Tensor in = tensor(w, DT_F32, 2, (int64_t[]){ 3, 4 }), t;
  Ref r = g_reshape(w->ir, g_weight(w->ir, ir_tensor(w->ir, &in)), 1, (int64_t[]){ 12 });
  assert_true(interp_const(w->ir, r, &t));
  assert_ptr_equal(t.data, in.data);
  assert_int_equal(t.rank, 1);
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)
int main(void) {
  const struct CMUnitTest tests[] = {
    TEST(random_graphs_agree_with_the_definition),
    TEST(a_convolution_agrees_with_plain_loops),
    TEST(products_of_integers_wrap),
    TEST(reductions_over_nothing_give_the_identity),
    TEST(padding_fills_an_empty_tensor),
    TEST(nan_wins_in_max_and_min_wherever_it_stands),
    TEST(each_op_rounds_to_its_type_unless_in_double),
    TEST(a_chain_of_a_million_ops_needs_no_deep_stack),
    TEST(chains_of_views_are_cut_too),
    TEST(budgets_end_an_evaluation),
    TEST(constants_are_evaluated_within_the_limits),
    TEST(a_reshaped_weight_is_not_copied),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

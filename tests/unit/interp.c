/* interp.c (unit test): the graph interpreter against an evaluation of one element at a time from the
 * definition of each op, on random graphs; convolutions against plain loops; empty tensors, rank 0,
 * NaN, budgets, long chains; folding. */
#include "../../compiler/graph/graph.h"
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
    fail_msg("seed %llu: element %lld of node %u: %.17g, expected %.17g", (unsigned long long)w->seed, (long long)n, r, have, want);
  }
}

/* ---- random graphs ---- */
static void random_dims(World *w, const Node *x, int64_t *dims, int *rank) { /* of as many elements as x */
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
    int64_t k = 1 + pick(w, (int)x->dims[axis]), dil = k > 1 ? 1 + pick(w, (int)((x->dims[axis] - 1) / (k - 1))) : 1, stride = 1 + pick(w, 2);
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
  return fits ? r : x->dt == y->dt ? g_expand(w->ir, g_reduce(w->ir, OP_MAX, g_reshape(w->ir, r, 1, (int64_t[]){ dims_elems(x->dims, x->rank) }), 1), 1, (int64_t[]){ 1 }) : like;
}

static Ref random_op(World *w, Ref r, Ref other) {
  static const Op unary[] = { OP_NEG, OP_ABS, OP_FLOOR }, binary[] = { OP_ADD, OP_SUB, OP_MUL, OP_MAX, OP_MIN, OP_MUL },
                  folds[] = { OP_ADD, OP_MAX, OP_MIN, OP_ADD };
  IR *ir = w->ir;
  const Node *x = node(ir, r);
  switch (pick(w, 8)) {
  case 0: return g_unary(ir, unary[pick(w, 3)], r);
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
    index = g_binary(ir, OP_MOD, g_binary(ir, OP_MUL, index, c_int(ir, DT_I64, 1 + pick(w, 3))), c_int(ir, DT_I64, x->dims[axis]));
    int64_t dims[MAX_RANK];
    for (int i = 0; i < x->rank; i++) dims[i] = i == axis ? 4 : 1;
    return g_gather(ir, r, g_reshape(ir, index, x->rank, dims), axis);
  }
  case 6: return g_where(ir, g_binary(ir, OP_CMPLT, r, c_int(ir, (DType)x->dt, 1)), r, g_unary(ir, OP_NEG, r));
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

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test_setup_teardown(random_graphs_agree_with_the_definition, setup, teardown),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

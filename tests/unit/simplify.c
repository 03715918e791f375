/* SPDX-License-Identifier: MIT */
/* simplify.c (unit test): every rule of the graph by name, near misses that must stay, and random graphs. The results of random
 * graphs must keep their bits, with NaN, infinities and both zeros among the inputs. */
#include "../../compiler/graph/graph.h"
#include "../../compiler/interp/interp.h"
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include "fixture.h"

#define D(...) sizeof((int64_t[]){ __VA_ARGS__ }) / sizeof(int64_t), (int64_t[]){ __VA_ARGS__ }
#define L(...) (int64_t[]) { __VA_ARGS__ }
static Ref in(IR *ir, DType d, int slot) { return g_param(ir, d, D(3, 4), slot); }
static Ref num(IR *ir, double v) { return c_float(ir, DT_F32, v); }
static Ref bin(IR *ir, Op op, Ref a, Ref b) { return g_binary(ir, op, a, b); }
static Ref un(IR *ir, Op op, Ref a) { return g_unary(ir, op, a); }

static Ref weights(IR *ir, int rank, const int64_t *dims) { /* small numbers, all different */
  Tensor t = { .dt = DT_F32, .rank = rank, .elems = dims_elems(dims, rank) };
  float *p = ARENA_NEW(&ir->ctx->model, float, t.elems);
  for (int64_t i = 0; i < t.elems; i++) p[i] = (float)((i * 7 + 3) % 11) / 8 - 0.5f + (float)ir->tensors.n / 64;
  memcpy(t.dims, dims, (size_t)rank * sizeof *dims);
  t.data = p;
  return g_weight(ir, ir_tensor(ir, &t));
}

static Graph graph(IR *ir, Ref out) {
  Graph g = { .ir = ir };
  const Node *x = node(ir, out);
  GIO o = { .ref = out, .dt = (DType)x->dt, .rank = x->rank };
  if (x->rank) memcpy(o.dims, x->dims, x->rank * sizeof *x->dims);
  VEC_PUSH(&g.outputs, o);
  return g;
}

static Ref simplified(IR *ir, Ref out) {
  Graph g = graph(ir, out);
  graph_simplify(&g, true);
  Ref r = g.outputs.p[0].ref;
  assert_false(graph_simplify(&g, true)); /* a fixed point */
  const Node *x = node(ir, out), *y = node(ir, r);
  assert_true(x->dt == y->dt && x->rank == y->rank && (!x->rank || !memcmp(x->dims, y->dims, x->rank * sizeof *x->dims)));
  VEC_FREE(&g.outputs);
  return r;
}
#define BECOMES(x, y) assert_int_equal(simplified(ir, x), y)
#define STAYS(x) do { Ref same = x; assert_int_equal(simplified(ir, same), same); } while (0)
#define SPLAT(d, v) g_expand(ir, c_int(ir, d, v), D(3, 4))

static void arithmetic(void **state) {
  IR *ir = *state;
  Ref x = in(ir, DT_F32, 0), y = in(ir, DT_F32, 1), i = in(ir, DT_I32, 2), zero = c_int(ir, DT_I32, 0),
      one = c_int(ir, DT_I32, 1);
  BECOMES(bin(ir, OP_MUL, num(ir, 1), x), x);
  BECOMES(bin(ir, OP_DIV, x, num(ir, 1)), x);
  BECOMES(bin(ir, OP_ADD, x, num(ir, -0.0)), x);
  BECOMES(bin(ir, OP_SUB, x, num(ir, 0)), x);
  BECOMES(bin(ir, OP_MUL, x, num(ir, -1)), un(ir, OP_NEG, x));
  BECOMES(un(ir, OP_NEG, un(ir, OP_NEG, x)), x);
  BECOMES(bin(ir, OP_ADD, x, un(ir, OP_NEG, y)), bin(ir, OP_SUB, x, y));
  Ref w = weights(ir, D(3, 4)), minus_w = bin(ir, OP_ADD, x, un(ir, OP_NEG, w));
  BECOMES(bin(ir, OP_SUB, x, w), minus_w);
  STAYS(minus_w);
  BECOMES(bin(ir, OP_SUB, x, num(ir, 3)), bin(ir, OP_ADD, x, num(ir, -3)));
  BECOMES(bin(ir, OP_DIV, x, num(ir, 4)), bin(ir, OP_MUL, x, num(ir, 0.25)));
  BECOMES(un(ir, OP_ABS, un(ir, OP_NEG, x)), un(ir, OP_ABS, x));
  BECOMES(bin(ir, OP_ADD, num(ir, 2), num(ir, 3)), num(ir, 5));
  BECOMES(bin(ir, OP_MUL, i, zero), SPLAT(DT_I32, 0));
  BECOMES(bin(ir, OP_SUB, i, i), SPLAT(DT_I32, 0));
  BECOMES(bin(ir, OP_ADD, bin(ir, OP_ADD, i, one), one), bin(ir, OP_ADD, i, c_int(ir, DT_I32, 2)));
  BECOMES(bin(ir, OP_FLMOD, i, one), SPLAT(DT_I32, 0));
  BECOMES(bin(ir, OP_FLDIV, i, one), i);
}

static void floats_keep_their_edges(void **state) {
  IR *ir = *state;
  Ref x = in(ir, DT_F32, 0), y = in(ir, DT_F32, 1);
  STAYS(bin(ir, OP_MUL, x, num(ir, 0)));
  STAYS(bin(ir, OP_SUB, x, x));
  STAYS(bin(ir, OP_DIV, x, x));
  STAYS(bin(ir, OP_DIV, num(ir, 0), x));
  STAYS(bin(ir, OP_ADD, x, num(ir, 0)));
  STAYS(bin(ir, OP_DIV, x, num(ir, 3)));
  STAYS(bin(ir, OP_DIV, x, num(ir, 0x1p127)));  /* its reciprocal is subnormal */
  STAYS(bin(ir, OP_DIV, x, num(ir, 0x1p-128)));
  STAYS(bin(ir, OP_ADD, bin(ir, OP_ADD, x, num(ir, 12582912)), num(ir, -12582912))); /* rounds */
  STAYS(bin(ir, OP_MUL, bin(ir, OP_MUL, x, num(ir, 3)), num(ir, 7)));
  STAYS(bin(ir, OP_CMPEQ, x, x));
  STAYS(un(ir, OP_NOT, bin(ir, OP_CMPLT, x, y)));
  STAYS(un(ir, OP_NEG, bin(ir, OP_SUB, x, y)));
}

static void selection(void **state) {
  IR *ir = *state;
  Ref x = in(ir, DT_F32, 0), y = in(ir, DT_F32, 1), c = in(ir, DT_BOOL, 2), i = in(ir, DT_I32, 3), u = in(ir, DT_U8, 4);
  BECOMES(bin(ir, OP_MAX, bin(ir, OP_MAX, x, num(ir, 1)), num(ir, 2)), bin(ir, OP_MAX, x, num(ir, 2)));
  BECOMES(bin(ir, OP_MIN, x, num(ir, INFINITY)), x);
  BECOMES(bin(ir, OP_MAX, x, x), x);
  BECOMES(bin(ir, OP_MAX, u, c_int(ir, DT_U8, 0)), u);
  BECOMES(g_where(ir, c, x, x), x);
  BECOMES(g_where(ir, c_int(ir, DT_BOOL, 1), x, y), x);
  BECOMES(g_where(ir, un(ir, OP_NOT, c), x, y), g_where(ir, c, y, x));
  BECOMES(g_where(ir, c, c_int(ir, DT_BOOL, 0), c_int(ir, DT_BOOL, 1)), un(ir, OP_NOT, c));
  BECOMES(un(ir, OP_NOT, bin(ir, OP_CMPLT, i, c_int(ir, DT_I32, 3))),
          bin(ir, OP_CMPLE, g_expand(ir, c_int(ir, DT_I32, 3), D(3, 4)), i));
  BECOMES(un(ir, OP_NOT, bin(ir, OP_CMPEQ, x, y)), bin(ir, OP_CMPNE, x, y));
  BECOMES(bin(ir, OP_CMPEQ, i, i), SPLAT(DT_BOOL, 1));
  BECOMES(bin(ir, OP_CMPLT, x, x), SPLAT(DT_BOOL, 0));
  BECOMES(bin(ir, OP_AND, c, c_int(ir, DT_BOOL, 1)), c);
  BECOMES(bin(ir, OP_OR, c, c_int(ir, DT_BOOL, 1)), SPLAT(DT_BOOL, 1));
  BECOMES(bin(ir, OP_XOR, i, i), SPLAT(DT_I32, 0));
  BECOMES(un(ir, OP_FLOOR, un(ir, OP_ROUND, x)), un(ir, OP_ROUND, x));
}

/* All chains of three types: the rule must agree with the definition of CAST on hard values. */
static void casts(void **state) {
  IR *ir = *state;
  static const double hard[] = {
    0,    -0.0,  1,     -1,    0.5,   -0.5,     2,         127,      128,        255,           256,          -128,
    -129, 32767, 65504, 65520, 65535, 65536,    1e6,       16777217, 2147483647, -2147483648.0, 4294967295.0, 9e15,
    1e19, -1e19, 1e-8,  1e38,  1e39,  INFINITY, -INFINITY, NAN
  };
  int merged = 0;
  for (int a = 1; a < DT_COUNT; a++)
    for (int b = 1; b < DT_COUNT; b++)
      for (int c = 1; c < DT_COUNT; c++) {
        Ref x = g_cast(ir, g_cast(ir, in(ir, (DType)a, a), (DType)b), (DType)c), y = simplified(ir, x);
        if (x == y) continue;
        merged++;
        bool direct = node(ir, y)->op == OP_CAST;
        for (size_t i = 0; i < sizeof hard / sizeof *hard; i++) {
          int64_t v = double_to_bits((DType)a, hard[i]), w = interp_scalar(OP_CAST, (DType)b, (DType)a, &v);
          if (a == b) w = v;
          int64_t want = b == c ? w : interp_scalar(OP_CAST, (DType)c, (DType)b, &w), got = v;
          if (direct) got = interp_scalar(OP_CAST, (DType)c, (DType)a, &v);
          bool nan = dt_float((DType)c) && isnan(bits_to_double((DType)c, want)) && isnan(bits_to_double((DType)c, got));
          if (want != got && !nan)
            fail_msg("%s -> %s -> %s of %g", dtype_info[a].text, dtype_info[b].text, dtype_info[c].text, hard[i]);
        }
      }
  assert_true(merged > 100);
  Ref f = in(ir, DT_F32, 0), i = in(ir, DT_I32, 1);
  STAYS(g_cast(ir, g_cast(ir, f, DT_I32), DT_BOOL));
  STAYS(g_cast(ir, g_cast(ir, i, DT_BOOL), DT_I16));
  STAYS(g_cast(ir, g_cast(ir, f, DT_F16), DT_F32));
  STAYS(g_cast(ir, g_cast(ir, i, DT_U32), DT_I64));
  STAYS(g_cast(ir, g_cast(ir, i, DT_F64), DT_I8)); /* saturates, i32 -> i8 wraps */
  BECOMES(g_cast(ir, g_cast(ir, in(ir, DT_F16, 2), DT_F32), DT_F16), in(ir, DT_F16, 2));
}

static void movement(void **state) {
  IR *ir = *state;
  Ref x = in(ir, DT_F32, 0), zero = num(ir, 0), row = g_param(ir, DT_F32, D(1, 4), 1);
  BECOMES(g_reshape(ir, un(ir, OP_NEG, un(ir, OP_NEG, g_reshape(ir, x, D(12)))), D(3, 4)), x);
  BECOMES(g_permute(ir, g_reshape(ir, x, D(3, 1, 4)), L(1, 0, 2)), g_reshape(ir, x, D(1, 3, 4)));
  BECOMES(g_permute(ir, g_expand(ir, row, D(3, 4)), L(1, 0)), g_expand(ir, g_reshape(ir, row, D(4, 1)), D(4, 3)));
  BECOMES(g_reshape(ir, g_expand(ir, row, D(3, 4)), D(3, 2, 2)), g_expand(ir, g_reshape(ir, row, D(1, 2, 2)), D(3, 2, 2)));
  STAYS(g_reshape(ir, g_expand(ir, row, D(3, 4)), D(12)));
  BECOMES(un(ir, OP_EXP, g_expand(ir, row, D(3, 4))), g_expand(ir, un(ir, OP_EXP, row), D(3, 4)));
  Ref part = g_shrink(ir, x, L(1, 3), L(1, -1), L(2, 4));
  BECOMES(g_shrink(ir, part, L(0, 1), L(1, 2), L(1, 2)), g_shrink(ir, x, L(1, 2), L(1, -2), L(1, 2)));
  BECOMES(g_flip(ir, g_flip(ir, x, 3), 3), x);
  BECOMES(g_shrink(ir, g_expand(ir, row, D(3, 4)), L(1, 2), NULL, L(2, 1)),
          g_expand(ir, g_shrink(ir, row, L(0, 2), NULL, L(1, 1)), D(2, 1)));
  Ref padded = g_pad(ir, x, L(1, 2), L(1, 2), zero); /* 5 x 8 */
  BECOMES(g_shrink(ir, padded, L(1, 2), NULL, L(3, 4)), x);
  BECOMES(g_shrink(ir, padded, L(2, 1), NULL, L(3, 3)),
          g_pad(ir, g_shrink(ir, x, L(1, 0), NULL, L(2, 2)), L(0, 1), L(1, 0), zero));
  BECOMES(g_shrink(ir, padded, L(0, 0), NULL, L(1, 8)), g_expand(ir, zero, D(1, 8)));
  BECOMES(g_pad(ir, padded, L(1, 0), L(0, 1), zero), g_pad(ir, x, L(2, 2), L(1, 3), zero));
  STAYS(g_pad(ir, padded, L(1, 0), L(0, 1), num(ir, 1)));
  Ref y = un(ir, OP_EXP, x), z = un(ir, OP_SIN, x), cat = g_cat(ir, 3, (Ref[]){ x, y, z }, 1);
  BECOMES(g_shrink(ir, cat, L(0, 5), NULL, L(3, 2)), g_shrink(ir, y, L(0, 1), NULL, L(3, 2)));
  BECOMES(g_shrink(ir, cat, L(0, 5), NULL, L(3, 5)), g_shrink(ir, g_cat(ir, 2, (Ref[]){ y, z }, 1), L(0, 1), NULL, L(3, 5)));
  BECOMES(g_window(ir, x, 1, 2, 1, 3, 1), g_reshape(ir, g_shrink(ir, x, L(0, 0), L(1, 3), L(3, 2)), D(3, 2, 1)));
  Ref at = g_expand(ir, c_int(ir, DT_I64, 2), D(5, 4));
  BECOMES(g_gather(ir, x, at, 0), g_expand(ir, g_shrink(ir, x, L(2, 0), NULL, L(1, 4)), D(5, 4)));
  BECOMES(g_reduce(ir, OP_MAX, g_reduce(ir, OP_MAX, x, 1), 2), g_reduce(ir, OP_MAX, x, 3));
  STAYS(g_reduce(ir, OP_ADD, g_reduce(ir, OP_ADD, x, 1), 2));
  BECOMES(g_reduce(ir, OP_ADD, g_expand(ir, row, D(3, 4)), 2), g_expand(ir, g_reduce(ir, OP_ADD, row, 2), D(3, 1)));
  BECOMES(g_reduce(ir, OP_MAX, g_expand(ir, row, D(3, 4)), 1), row);
  Ref none = g_reshape(ir, g_param(ir, DT_F32, D(0, 6), 3), D(2, 0, 3));
  BECOMES(g_reduce(ir, OP_MUL, none, 2), g_expand(ir, c_float(ir, DT_F32, 1), D(2, 1, 3)));
  for (int64_t k = 3; k < 6; k += 2) { /* 5 x 5 taps are twice 5, 3 x 3 are too few to store what they share */
    Ref rows = g_window(ir, g_param(ir, DT_F32, D(32, 32), 2), 0, 33 - k, k, 1, 1), both = g_window(ir, rows, 1, 33 - k, k, 1, 1);
    if (k == 3) STAYS(g_reduce(ir, OP_MAX, both, 3 << 2));
    else
      BECOMES(g_reduce(ir, OP_MAX, both, 3 << 2),
              g_reduce(ir, OP_MAX, g_window(ir, g_reduce(ir, OP_MAX, rows, 1 << 2), 1, 33 - k, k, 1, 1), 1 << 3));
    STAYS(g_reduce(ir, OP_ADD, both, 3 << 2));
  }
}

/* ---- random graphs ---- */
static uint32_t below(uint64_t *seed, uint32_t n) {
  *seed = *seed * 6364136223846793005u + 1442695040888963407u;
  return (uint32_t)(*seed >> 33) % n;
}

static Ref random_number(IR *ir, uint64_t *seed, DType d) {
  static const double hard[] = { 0, -0.0, 1, -1, 2, 3, 4, 0.5, -8, 7, 100, INFINITY, -INFINITY, NAN };
  return c_float(ir, d, hard[below(seed, dt_float(d) ? 14 : 11)]);
}

/* Over shapes 3x4, 1x4, 3x1, 2x3 and what movement makes of them */
static Ref random_step(IR *ir, uint64_t *seed, Ref a, Ref b) {
  static const Op unary[] = { OP_NEG, OP_ABS, OP_FLOOR, OP_ROUND },
                  pairs[] = { OP_ADD, OP_SUB, OP_MUL, OP_DIV, OP_MAX, OP_MIN, OP_MOD };
  static const Op ints[] = { OP_FLDIV, OP_FLMOD, OP_AND, OP_OR, OP_XOR, OP_SHL, OP_SHR },
                  cmps[] = { OP_CMPLT, OP_CMPLE, OP_CMPEQ, OP_CMPNE };
  const Node *x = node(ir, a), *y = node(ir, b);
  DType d = (DType)x->dt;
  bool fits = x->rank == y->rank;
  for (int i = 0; fits && i < x->rank; i++) fits = x->dims[i] == y->dims[i] || x->dims[i] == 1 || y->dims[i] == 1;
  if (!fits || !below(seed, 3)) b = random_number(ir, seed, d);
  if (!below(seed, 4)) {
    Ref swap = a;
    a = b;
    b = swap;
  }
  switch (below(seed, 12)) {
  case 0: return un(ir, unary[below(seed, dt_float(d) ? 4 : 2)], a);
  case 1: case 2: case 3: return bin(ir, pairs[below(seed, 7)], a, b);
  case 4: return dt_float(d) ? bin(ir, OP_MUL, a, b) : bin(ir, ints[below(seed, 7)], a, b);
  case 5: {
    Ref c = bin(ir, cmps[below(seed, 4)], a, b);
    return g_where(ir, below(seed, 2) ? un(ir, OP_NOT, c) : c, a, b);
  }
  default: break;
  }
  if (!node(ir, a)->rank) a = b;
  x = node(ir, a);
  if (!x->rank) return a;
  int n = x->rank, axis = (int)below(seed, (uint32_t)n);
  int64_t begin[MAX_RANK], step[MAX_RANK], dims[MAX_RANK], lo[MAX_RANK] = { 0 }, hi[MAX_RANK] = { 0 };
  switch (below(seed, 7)) {
  case 0: {
    int64_t total = dims_elems(x->dims, n);
    return total % 4 ? g_reshape(ir, a, D(1, total)) : g_reshape(ir, a, D(total / 4, 1, 4));
  }
  case 1:
    for (int i = 0; i < n; i++) begin[i] = (i + axis) % n;
    return g_permute(ir, a, begin);
  case 2:
    for (int i = 0; i < n; i++) {
      dims[i] = x->dims[i] ? 1 + below(seed, (uint32_t)x->dims[i]) : 0;
      begin[i] = x->dims[i] - dims[i] ? below(seed, (uint32_t)(x->dims[i] - dims[i]) + 1) : 0;
      step[i] = 1;
      if (!below(seed, 3) && dims[i] > 1) {
        begin[i] += dims[i] - 1;
        step[i] = -1;
      }
    }
    return g_shrink(ir, a, begin, step, dims);
  case 3:
    lo[axis] = below(seed, 3);
    hi[axis] = below(seed, 2);
    return g_pad(ir, a, lo, hi, random_number(ir, seed, d));
  case 4: return g_cat(ir, 2, (Ref[]){ a, un(ir, OP_NEG, a) }, axis);
  case 5: return x->dims[axis] > 1 && n < 4 ? g_window(ir, a, axis, 1, 1 + below(seed, 2), 1, 1) : a;
  default: return g_reduce(ir, below(seed, 2) || dt_float(d) ? OP_MAX : OP_ADD, a, 1u << axis);
  }
}

static Tensor random_input(IR *ir, uint64_t *seed, DType d) {
  Tensor t = { .dt = d, .rank = 2, .dims = { 3, 4 }, .elems = 12 };
  char *p = arena_alloc(&ir->ctx->model, 12 * (size_t)dt_bytes(d));
  for (int i = 0; i < 12; i++) {
    int64_t v = node(ir, random_number(ir, seed, d))->arg[0];
    memcpy(p + i * dt_bytes(d), &v, (size_t)dt_bytes(d));
  }
  t.data = p;
  return t;
}

static double element(const Tensor *t, int64_t i) {
  uint64_t v = 0;
  if (!t->data) return bits_to_double(t->dt, t->splat);
  memcpy(&v, (const char *)t->data + i * dt_bytes(t->dt), (size_t)dt_bytes(t->dt));
  return bits_to_double(t->dt, (int64_t)dt_wrap(t->dt, v));
}

static void random_graphs(void **state) {
  static const DType types[] = { DT_F32, DT_F16, DT_I32, DT_U8, DT_I64, DT_F64 };
  (void)state;
  for (uint64_t i = 0; i < 4000; i++) {
    void *own;
    setup(&own);
    IR *ir = own;
    uint64_t seed = i;
    DType d = types[below(&seed, 6)];
    Ref pool[16] = { in(ir, d, 0), in(ir, d, 1), g_shrink(ir, in(ir, d, 0), L(1, 0), NULL, L(1, 4)),
                     g_reduce(ir, OP_MAX, in(ir, d, 1), 2) };
    for (int k = 4; k < 16; k++) {
      pool[k] = random_step(ir, &seed, pool[below(&seed, (uint32_t)k)], pool[k - 1 - (int)below(&seed, 3)]);
      if (dims_elems(node(ir, pool[k])->dims, node(ir, pool[k])->rank) > 2000) pool[k] = pool[0];
    }
    Tensor a = random_input(ir, &seed, d), b = random_input(ir, &seed, d), got, want;
    const Tensor *inputs[] = { &a, &b };
    Ref to = simplified(ir, pool[15]);
    assert_true(interp_graph(ir, &pool[15], 1, inputs, &ir->ctx->model, false, 0, &want));
    assert_true(interp_graph(ir, &to, 1, inputs, &ir->ctx->model, false, 0, &got));
    for (int64_t k = 0; k < want.elems; k++) {
      double v = element(&want, k), w = element(&got, k);
      if (!(isnan(v) && isnan(w)) && !(v == w && signbit(v) == signbit(w)))
        fail_msg("seed %llu, %s, element %lld: %g, want %g", (unsigned long long)i, dtype_info[d].text, (long long)k, w, v);
    }
    teardown(&own);
  }
}

/* ---- the named rules ---- */
static void powers(void **state) {
  IR *ir = *state;
  Ref x = in(ir, DT_F32, 0), sq = bin(ir, OP_MUL, x, x);
  BECOMES(bin(ir, OP_POW, x, num(ir, 2)), sq);
  BECOMES(bin(ir, OP_POW, x, num(ir, 1)), x);
  BECOMES(bin(ir, OP_POW, x, num(ir, -1)), un(ir, OP_RECIP, x));
  BECOMES(bin(ir, OP_POW, sq, num(ir, 0.5)), un(ir, OP_SQRT, sq)); /* a square is never -0 nor -inf */
  STAYS(bin(ir, OP_POW, x, num(ir, 0.3)));
  static const double exponents[] = { 0, 1, -1, 2, 3, 4, 0.5, -0.5, 0.25, 0.75, 1.5 };
  static const float hard[12] = { 0, -0.0f, 1, -1, 1e-30f, 1e30f, -2, 3, INFINITY, -INFINITY, NAN, 0.7f };
  Tensor t = { .dt = DT_F32, .rank = 2, .dims = { 3, 4 }, .elems = 12, .data = hard }, got;
  const Tensor *inputs[] = { &t };
  for (size_t i = 0; i < sizeof exponents / sizeof *exponents; i++) {
    Ref to = simplified(ir, bin(ir, OP_POW, x, num(ir, exponents[i])));
    assert_true(interp_graph(ir, &to, 1, inputs, &ir->ctx->model, false, 0, &got));
    for (int k = 0; k < 12; k++) {
      float want = (float)pow(hard[k], exponents[i]), have = (float)element(&got, k),
            ulp = fabsf(want - have) / (nextafterf(fabsf(want), INFINITY) - fabsf(want));
      bool same = (isnan(want) && isnan(have)) || (want == have && signbit(want) == signbit(have));
      if (!same && !(ulp <= 2)) fail_msg("pow(%g, %g) = %g, want %g", (double)hard[k], exponents[i], (double)have, (double)want);
    }
  }
}

static void divided_arguments(void **state) {
  IR *ir = *state;
  Ref x = in(ir, DT_F32, 0), third = bin(ir, OP_DIV, x, num(ir, 3));
  BECOMES(un(ir, OP_ERF, third), un(ir, OP_ERF, bin(ir, OP_MUL, x, num(ir, 1.0 / 3))));
  BECOMES(un(ir, OP_TANH, third), un(ir, OP_TANH, bin(ir, OP_MUL, x, num(ir, 1.0 / 3))));
  STAYS(un(ir, OP_EXP, third)); /* errors grow with the argument */
  STAYS(un(ir, OP_ERF, bin(ir, OP_DIV, x, num(ir, 1e-39)))); /* its reciprocal is infinite */
}

/* A convolution as the front ends write it: x[1,2,6,6] * w[4,2,3,3] */
static Ref conv(IR *ir, Ref x, Ref w) {
  Ref win = g_window(ir, g_window(ir, x, 2, 4, 3, 1, 1), 3, 4, 3, 1, 1);
  Ref a = g_reshape(ir, win, D(1, 1, 1, 2, 4, 4, 3, 3));
  Ref p = bin(ir, OP_MUL, a, g_reshape(ir, w, D(1, 1, 4, 2, 1, 1, 3, 3)));
  return g_reshape(ir, g_reduce(ir, OP_ADD, p, 1u << 3 | 3u << 6), D(1, 4, 4, 4));
}

static Ref channel(IR *ir) { return g_reshape(ir, weights(ir, D(4)), D(1, 4, 1, 1)); }

/* how many nodes of op the simplified graph has */
static int count(IR *ir, Ref r, Op op) {
  Refs all = { 0 };
  int n = 0;
  ir_toposort(ir, &r, 1, &all);
  for (size_t i = 0; i < all.n; i++) n += node(ir, all.p[i])->op == op;
  VEC_FREE(&all);
  return n;
}

static Tensor filled(IR *ir, int rank, const int64_t *dims) {
  Ref w = weights(ir, rank, dims);
  return ir->tensors.p[node(ir, w)->arg[0]];
}

static void must_be_close(IR *ir, Ref a, Ref b) {
  Tensor x = filled(ir, D(1, 2, 6, 6)), want, got;
  const Tensor *inputs[] = { &x };
  assert_true(interp_graph(ir, &a, 1, inputs, &ir->ctx->model, false, 0, &want));
  assert_true(interp_graph(ir, &b, 1, inputs, &ir->ctx->model, false, 0, &got));
  for (int64_t i = 0; i < want.elems; i++)
    assert_true(fabs(element(&want, i) - element(&got, i)) <= 1e-5 * (1 + fabs(element(&want, i))));
}

static void batch_normalisation_joins_weights(void **state) {
  IR *ir = *state;
  Ref x = g_param(ir, DT_F32, D(1, 2, 6, 6), 0);
  Ref y = conv(ir, x, weights(ir, D(4, 2, 3, 3))), bias = channel(ir), scale = channel(ir), shift = channel(ir);
  Ref all = bin(ir, OP_ADD, bin(ir, OP_MUL, bin(ir, OP_ADD, y, bias), scale), shift), to = simplified(ir, all);
  must_be_close(ir, all, to);
  const Node *n = node(ir, to); /* sum + constant, nothing else after the sum */
  assert_int_equal(n->op, OP_ADD);
  assert_int_equal(node(ir, n->src[0])->op, OP_RESHAPE);
  assert_int_equal(node(ir, node(ir, n->src[0])->src[0])->op, OP_REDUCE);
  Graph g = graph(ir, to);
  assert_true(graph_fold(&g, NULL));
  to = g.outputs.p[0].ref;
  VEC_FREE(&g.outputs);
  must_be_close(ir, all, to);
  assert_int_equal(count(ir, to, OP_MUL), 1);
  assert_int_equal(count(ir, to, OP_ADD), 1);
  assert_int_equal(count(ir, to, OP_WEIGHT), 2);
}

static void factors_pass_movement(void **state) {
  IR *ir = *state;
  Ref x = g_param(ir, DT_F32, D(1, 2, 6, 6), 0), y = conv(ir, x, weights(ir, D(4, 2, 3, 3)));
  Ref moved = g_permute(ir, g_reshape(ir, y, D(4, 16)), L(1, 0)), s = weights(ir, D(1, 4));
  Ref to = simplified(ir, bin(ir, OP_DIV, moved, s));
  must_be_close(ir, bin(ir, OP_DIV, moved, s), to);
  assert_int_equal(node(ir, to)->op, OP_PERMUTE);
  Ref nothing = bin(ir, OP_MUL, bin(ir, OP_ADD, bin(ir, OP_MUL, y, num(ir, 1)), num(ir, -0.0)), channel(ir)); /* each step is y */
  assert_int_equal(node(ir, simplified(ir, nothing))->op, OP_RESHAPE);
  Ref phases = g_reshape(ir, g_permute(ir, g_reshape(ir, y, D(2, 2, 4, 4)), L(0, 2, 1, 3)), D(2, 4, 8)); /* as transposed convolutions end */
  Ref cut = g_shrink(ir, g_pad(ir, phases, L(0, 1, 0), L(0, 0, 0), num(ir, 0)), L(0, 0, 1), NULL, L(2, 5, 5)),
      half = weights(ir, D(2, 1, 1));
  to = simplified(ir, bin(ir, OP_MUL, cut, half));
  must_be_close(ir, bin(ir, OP_MUL, cut, half), to);
  assert_int_equal(node(ir, to)->op, OP_PAD);
  Ref mean = bin(ir, OP_MUL, bin(ir, OP_MUL, g_reduce(ir, OP_ADD, x, 12), num(ir, 0.3)), num(ir, 0.7));
  assert_int_equal(node(ir, node(ir, simplified(ir, mean))->src[0])->op, OP_REDUCE);
  Ref chain = bin(ir, OP_MUL, bin(ir, OP_MUL, y, channel(ir)), num(ir, 0.3)); /* one joins after the other */
  assert_int_equal(node(ir, simplified(ir, chain))->op, OP_RESHAPE);
}

static void factors_that_stay(void **state) {
  IR *ir = *state;
  Ref x = g_param(ir, DT_F32, D(1, 2, 6, 6), 0), w = weights(ir, D(4, 2, 3, 3)), y = conv(ir, x, w);
  STAYS(bin(ir, OP_MUL, y, weights(ir, D(1, 1, 4, 4))));                 /* varies over places: a larger constant */
  STAYS(bin(ir, OP_ADD, bin(ir, OP_MUL, y, channel(ir)), y));            /* the sum has another user */
  STAYS(bin(ir, OP_MUL, un(ir, OP_EXP, y), channel(ir)));
  STAYS(bin(ir, OP_MUL, y, g_param(ir, DT_F32, D(1, 4, 1, 1), 1)));
  STAYS(bin(ir, OP_MUL, g_reduce(ir, OP_MAX, y, 4), channel(ir)));
  STAYS(bin(ir, OP_MUL, conv(ir, x, g_param(ir, DT_F32, D(4, 2, 3, 3), 2)), channel(ir)));
}

static void folding_leaves_positions_and_views(void **state) {
  IR *ir = *state;
  Ref x = in(ir, DT_F32, 0), w = weights(ir, D(4, 3)), i = g_iota(ir, DT_I64, 3);
  Ref at = g_expand(ir, g_reshape(ir, bin(ir, OP_FLDIV, i, c_int(ir, DT_I64, 2)), D(3, 1)), D(3, 4));
  Graph g = graph(ir, bin(ir, OP_ADD, g_gather(ir, x, at, 0), g_permute(ir, w, L(1, 0))));
  assert_false(graph_fold(&g, NULL));
  g.outputs.p[0].ref = bin(ir, OP_ADD, x, un(ir, OP_EXP, g_permute(ir, w, L(1, 0))));
  assert_true(graph_fold(&g, NULL));
  assert_int_equal(node(ir, node(ir, g.outputs.p[0].ref)->src[1])->op, OP_WEIGHT);
  g.outputs.p[0].ref = bin(ir, OP_ADD, x,
                           bin(ir, OP_SUB, un(ir, OP_SIN, weights(ir, D(3, 4))), un(ir, OP_SIN, weights(ir, D(3, 4)))));
  assert_true(graph_fold(&g, NULL));
  VEC_FREE(&g.outputs);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(arithmetic),
    cmocka_unit_test(floats_keep_their_edges),
    cmocka_unit_test(selection),
    cmocka_unit_test(casts),
    cmocka_unit_test(movement),
    cmocka_unit_test(random_graphs),
    cmocka_unit_test(powers),
    cmocka_unit_test(divided_arguments),
    cmocka_unit_test(batch_normalisation_joins_weights),
    cmocka_unit_test(factors_pass_movement),
    cmocka_unit_test(factors_that_stay),
    cmocka_unit_test(folding_leaves_positions_and_views),
  };
  return cmocka_run_group_tests_name("simplify", tests, setup, teardown);
}

/* SPDX-License-Identifier: MIT */
/* algebra.c (unit test): every rule of the index algebra by name, and random expressions. Their simplified form must agree with a
 * plain evaluation for all values of their ranges. */
#include "../../compiler/ir/ir.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <cmocka.h>

typedef struct World {
  Ctx ctx;
  IR *ir;
} World;

static int setup(void **state) {
  World *w = xmalloc(sizeof *w);
  ctx_init(&w->ctx);
  w->ir = ir_new(&w->ctx);
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

static Ref range(IR *ir, int64_t extent) {
  int64_t arg[3] = { extent, ir->next_range++, RK_LOOP };
  return node_make(ir, OP_RANGE, DT_I64, 1, 0, NULL, 3, arg, 0, NULL);
}

static Ref raw(IR *ir, Op op, Ref a, Ref b) {
  DType d = op_info[op].type[0] == 'b' ? DT_BOOL : (DType)node(ir, a)->dt;
  return node_make(ir, op, d, 1, 2, (Ref[]){ a, b }, 0, NULL, 0, NULL);
}

static Ref con(IR *ir, int64_t v) { return ix_const(ir, v); }

/* an element of an i64 buffer: nothing is known about it */
static Ref loaded(IR *ir, Ref index) {
  int64_t id = 0;
  Ref buf = node_make(ir, OP_BUFFER, DT_I64, 1, 0, NULL, 1, &id, 0, NULL);
  return node_make(ir, OP_LOAD, DT_I64, 1, 2, (Ref[]){ buf, index }, 0, NULL, 0, NULL);
}

/* ---- the evaluator ---- */
static int64_t floordiv(int64_t a, int64_t b) { return a / b - (a % b != 0 && (a < 0) != (b < 0)); }

typedef struct Env { int n; Ref r[4]; int64_t v[4]; } Env;

static int64_t eval(const IR *ir, Ref r, const Env *e) {
  for (int i = 0; i < e->n; i++)
    if (e->r[i] == r) return e->v[i];
  const Node *x = node(ir, r);
  if (x->op == OP_CONST) return x->arg[0];
  int64_t a = eval(ir, x->src[0], e), b = x->nsrc > 1 ? eval(ir, x->src[1], e) : 0;
  switch ((Op)x->op) {
  case OP_ADD: return a + b;
  case OP_SUB: return a - b;
  case OP_NEG: return -a;
  case OP_MUL: return a * b;
  case OP_FLDIV: return floordiv(a, b);
  case OP_FLMOD: return a - b * floordiv(a, b);
  case OP_MIN: return a < b ? a : b;
  case OP_MAX: return a > b ? a : b;
  case OP_CMPLT: return a < b;
  case OP_CMPLE: return a <= b;
  case OP_AND: return a & b;
  case OP_WHERE: return a ? b : eval(ir, x->src[2], e);
  default: fail_msg("no evaluation of %s", op_info[x->op].name); return 0;
  }
}

static bool step(const IR *ir, Env *e) { /* the next assignment of the ranges */
  for (int i = 0; i < e->n; i++) {
    if (++e->v[i] < node(ir, e->r[i])->arg[0]) return true;
    e->v[i] = 0;
  }
  return false;
}

/* ---- random expressions, made twice: by bare nodes and by the constructors ---- */
typedef struct Pair { Ref bare, made; } Pair;
static uint32_t below(uint64_t *seed, uint32_t n) {
  *seed = *seed * 6364136223846793005u + 1442695040888963407u;
  return (uint32_t)(*seed >> 33) % n;
}

static Pair random_index(IR *ir, uint64_t *seed, const Env *e, int depth) {
  static const int64_t scale[] = { -12, -8, -4, -3, -2, -1, 2, 3, 4, 6, 8, 12, 24 };
  static const int64_t by[] = { 1, 2, 3, 4, 5, 6, 8, 12, 16, 24 };
  if (!depth || !below(seed, 8)) {
    if (!below(seed, 4)) {
      Ref c = con(ir, (int64_t)below(seed, 40) - 16);
      return (Pair){ c, c };
    }
    Ref r = e->r[below(seed, (uint32_t)e->n)];
    return (Pair){ r, r };
  }
  Pair a = random_index(ir, seed, e, depth - 1), b;
  int64_t k = scale[below(seed, sizeof scale / sizeof *scale)], m = by[below(seed, sizeof by / sizeof *by)];
  switch (below(seed, 11)) {
  case 9: { /* the same, with a condition */
    b = random_index(ir, seed, e, depth - 1);
    Ref less = raw(ir, OP_CMPLE, a.bare, b.bare), made = ix_lt(ir, b.made, a.made);
    return (Pair){ node_make(ir, OP_WHERE, DT_I64, 1, 3, (Ref[]){ less, a.bare, b.bare }, 0, NULL, 0, NULL),
                   node_make(ir, OP_WHERE, DT_I64, 1, 3, (Ref[]){ made, b.made, a.made }, 0, NULL, 0, NULL) };
  }
  case 10: return (Pair){ node_make(ir, OP_NEG, DT_I64, 1, 1, &a.bare, 0, NULL, 0, NULL), ix_mul(ir, a.made, -1) };
  case 8: { /* a term that is no sum, with bounds */
    Op op = below(seed, 2) ? OP_MIN : OP_MAX;
    b = random_index(ir, seed, e, depth - 1);
    return (Pair){ raw(ir, op, a.bare, b.bare), raw(ir, op, a.made, b.made) };
  }
  case 0: case 1: case 2:
    b = random_index(ir, seed, e, depth - 1);
    return (Pair){ raw(ir, OP_ADD, a.bare, b.bare), ix_add(ir, a.made, b.made) };
  case 3:
    b = random_index(ir, seed, e, depth - 1);
    return (Pair){ raw(ir, OP_SUB, a.bare, b.bare), ix_sub(ir, a.made, b.made) };
  case 4: return (Pair){ raw(ir, OP_MUL, a.bare, con(ir, k)), ix_mul(ir, a.made, k) };
  case 5: case 6: return (Pair){ raw(ir, OP_FLDIV, a.bare, con(ir, m)), ix_div(ir, a.made, m) };
  default: return (Pair){ raw(ir, OP_FLMOD, a.bare, con(ir, m)), ix_mod(ir, a.made, m) };
  }
}

static Pair random_gate(IR *ir, uint64_t *seed, const Env *e, int depth) {
  Pair a = random_index(ir, seed, e, depth), b = random_index(ir, seed, e, depth - 1);
  if (below(seed, 3)) return (Pair){ raw(ir, OP_CMPLT, a.bare, b.bare), ix_lt(ir, a.made, b.made) };
  int64_t lo = (int64_t)below(seed, 20) - 8, hi = lo + (int64_t)below(seed, 20);
  Ref in = ix_in(ir, a.made, lo, hi);
  return (Pair){ raw(ir, OP_AND, raw(ir, OP_CMPLE, con(ir, lo), a.bare), raw(ir, OP_CMPLT, a.bare, con(ir, hi))),
                 in ? in : c_bits(ir, DT_BOOL, 1) };
}

static Env random_ranges(IR *ir, uint64_t *seed) {
  static const int64_t extent[] = { 1, 2, 3, 4, 5, 6, 7, 8, 12, 16 };
  Env e = { .n = 1 + (int)below(seed, 3) };
  for (int i = 0; i < e.n; i++) e.r[i] = range(ir, extent[below(seed, e.n == 3 ? 8 : 10)]);
  return e;
}

static void must_agree(const IR *ir, Pair p, Env e, uint64_t seed) {
  const Node *x = node(ir, p.made);
  do {
    int64_t want = eval(ir, p.bare, &e), got = eval(ir, p.made, &e);
    if (want != got || got < x->vmin || got > x->vmax)
      fail_msg("seed %llu: %lld, want %lld", (unsigned long long)seed, (long long)got, (long long)want);
  } while (step(ir, &e));
}

enum { SEEDS = 20000 };

static void random_indices(void **state) {
  IR *ir = ((World *)*state)->ir;
  for (uint64_t i = 0; i < SEEDS; i++) {
    uint64_t seed = i;
    Env e = random_ranges(ir, &seed);
    must_agree(ir, random_index(ir, &seed, &e, 5), e, i);
  }
}

static void random_gates(void **state) {
  IR *ir = ((World *)*state)->ir;
  for (uint64_t i = 0; i < SEEDS; i++) {
    uint64_t seed = i;
    Env e = random_ranges(ir, &seed);
    Pair a = random_gate(ir, &seed, &e, 3);
    must_agree(ir, a, e, i);
    Pair b = random_gate(ir, &seed, &e, 3);
    Ref both = ix_and(ir, a.made, b.made);
    must_agree(ir, (Pair){ raw(ir, OP_AND, a.bare, b.bare), both ? both : c_bits(ir, DT_BOOL, 1) }, e, i);
  }
}

/* Over ranges that stand in for the old ones: r = 4 * outer + inner. Bare nodes are simplified on the way. */
static void random_substitutions(void **state) {
  IR *ir = ((World *)*state)->ir;
  for (uint64_t i = 0; i < SEEDS / 4; i++) {
    uint64_t seed = i;
    Env e = { .n = 2, .r = { range(ir, 12), range(ir, 5) } };
    Env f = { .n = 3, .r = { range(ir, 3), range(ir, 4), e.r[1] } };
    Pair p = below(&seed, 2) ? random_index(ir, &seed, &e, 4) : random_gate(ir, &seed, &e, 3);
    Ref whole = ix_add(ir, ix_mul(ir, f.r[0], 4), f.r[1]);
    Ref made = ix_subst(ir, p.made, 1, &e.r[0], &whole), bare = ix_subst(ir, p.bare, 1, &e.r[0], &whole);
    assert_false(ix_uses(ir, made, e.r[0]) || ix_uses(ir, bare, e.r[0]));
    do {
      e.v[0] = eval(ir, whole, &f);
      e.v[1] = f.v[2];
      int64_t want = eval(ir, p.bare, &e);
      if (eval(ir, made, &f) != want || eval(ir, bare, &f) != want) fail_msg("seed %llu", (unsigned long long)i);
    } while (step(ir, &f));
  }
}

static void random_splits(void **state) {
  IR *ir = ((World *)*state)->ir;
  for (uint64_t i = 0; i < SEEDS / 4; i++) {
    uint64_t seed = i;
    Env e = random_ranges(ir, &seed);
    Pair p = random_index(ir, &seed, &e, 3);
    int64_t k;
    Ref rest;
    if (!ix_split(ir, p.made, e.r[0], &k, &rest)) continue;
    assert_false(ix_uses(ir, rest, e.r[0]));
    must_agree(ir, (Pair){ p.bare, ix_add(ir, rest, ix_mul(ir, e.r[0], k)) }, e, i);
  }
}

/* ---- rules by name. R(n): a fresh range below n ---- */
#define R(n) range(ir, n)
#define SAME(a, b) assert_int_equal(a, b)
static Ref sum(IR *ir, Ref a, int64_t ka, Ref b, int64_t kb, int64_t c) {
  return ix_add(ir, ix_add(ir, ix_mul(ir, a, ka), ix_mul(ir, b, kb)), con(ir, c));
}

static void sums_are_sorted(void **state) {
  IR *ir = ((World *)*state)->ir;
  Ref a = R(4), b = R(5), c = R(6);
  Ref want = raw(ir, OP_ADD, raw(ir, OP_ADD, raw(ir, OP_ADD, a, raw(ir, OP_MUL, b, con(ir, 3))), c), con(ir, 7));
  SAME(sum(ir, c, 1, ix_add(ir, ix_mul(ir, b, 3), a), 1, 7), want);
  SAME(ix_sub(ir, want, want), con(ir, 0));
  SAME(ix_add(ir, a, con(ir, 0)), a);
  SAME(ix_mul(ir, a, 0), con(ir, 0));
  SAME(ix_add(ir, R(1), a), a);
}

static void multiples_leave_divisions(void **state) {
  IR *ir = ((World *)*state)->ir;
  Ref r = R(9), s = R(4), t = R(9);
  Ref x = sum(ir, r, 4, s, 1, 0);
  SAME(ix_div(ir, x, 4), r);
  SAME(ix_mod(ir, x, 4), s);
  SAME(ix_mod(ir, sum(ir, r, 8, t, 1, 4), 4), ix_mod(ir, t, 4));
  SAME(ix_div(ir, sum(ir, r, 8, t, 1, 4), 4), ix_add(ir, sum(ir, r, 2, ix_div(ir, t, 4), 1, 1), con(ir, 0)));
  SAME(ix_div(ir, sum(ir, r, 8, s, -1, 7), 8), r);
  SAME(ix_mod(ir, ix_mul(ir, r, 12), 4), con(ir, 0));
}

static void common_factors_leave_divisions(void **state) {
  IR *ir = ((World *)*state)->ir;
  Ref r = R(9), s = R(4), t = R(50);
  SAME(ix_div(ir, sum(ir, r, 4, s, 1, 0), 8), ix_div(ir, r, 2));
  SAME(ix_mod(ir, sum(ir, r, 4, s, 1, 0), 8), sum(ir, ix_mod(ir, r, 2), 4, s, 1, 0));
  SAME(ix_div(ir, sum(ir, r, 6, t, 4, 0), 8), ix_div(ir, sum(ir, r, 3, t, 2, 0), 4));
}

static void divisions_nest(void **state) {
  IR *ir = ((World *)*state)->ir;
  Ref x = R(1000), y = loaded(ir, x);
  SAME(ix_div(ir, ix_div(ir, x, 4), 6), ix_div(ir, x, 24));
  SAME(ix_div(ir, ix_add(ir, ix_div(ir, x, 4), con(ir, 5)), 6), ix_div(ir, ix_add(ir, x, con(ir, 20)), 24));
  SAME(ix_div(ir, ix_mod(ir, x, 24), 4), ix_mod(ir, ix_div(ir, x, 4), 6));
  SAME(ix_mod(ir, ix_mod(ir, x, 24), 4), ix_mod(ir, x, 4));
  SAME(ix_mod(ir, ix_mod(ir, x, 24), 24), ix_mod(ir, x, 24));
  SAME(ix_div(ir, ix_div(ir, y, 4), 6), ix_div(ir, y, 24));
}

static void quotient_and_remainder_recombine(void **state) {
  IR *ir = ((World *)*state)->ir;
  Ref x = R(1000), y = R(1000);
  SAME(sum(ir, ix_div(ir, x, 12), 12, ix_mod(ir, x, 12), 1, 0), x);
  SAME(sum(ir, ix_div(ir, x, 12), 24, ix_mod(ir, x, 12), 2, 3), sum(ir, x, 2, x, 0, 3));
  Ref z = sum(ir, x, 6, y, 4, 5);
  SAME(sum(ir, ix_div(ir, z, 8), 8, ix_mod(ir, z, 8), 1, 0), z);
  SAME(sum(ir, ix_mod(ir, ix_div(ir, x, 4), 3), 4, ix_mod(ir, x, 4), 1, 0), ix_mod(ir, x, 12));
  Ref parts = sum(ir, ix_mod(ir, ix_div(ir, x, 4), 5), 4, ix_mod(ir, x, 4), 1, 0); /* as reshapes leave it */
  SAME(ix_add(ir, ix_mul(ir, ix_div(ir, x, 20), 20), parts), x);
}

static void bounds_decide(void **state) {
  IR *ir = ((World *)*state)->ir;
  Ref r = R(8), s = R(3);
  SAME(ix_mod(ir, r, 8), r);
  SAME(ix_div(ir, r, 8), con(ir, 0));
  SAME(ix_div(ir, ix_sub(ir, r, con(ir, 8)), 8), con(ir, -1));
  SAME(ix_lt(ir, r, con(ir, 8)), c_bits(ir, DT_BOOL, 1));
  SAME(ix_lt(ir, r, con(ir, 0)), c_bits(ir, DT_BOOL, 0));
  SAME(ix_lt(ir, r, ix_add(ir, s, con(ir, 8))), c_bits(ir, DT_BOOL, 1));
}

static void comparisons_shrink(void **state) {
  IR *ir = ((World *)*state)->ir;
  Ref r = R(8), s = R(9), small = R(4);
  SAME(ix_lt(ir, ix_add(ir, r, con(ir, 2)), con(ir, 5)), raw(ir, OP_CMPLT, r, con(ir, 3)));
  SAME(ix_lt(ir, con(ir, 5), ix_add(ir, r, con(ir, 2))), raw(ir, OP_CMPLT, con(ir, 3), r));
  SAME(ix_lt(ir, sum(ir, r, 4, s, 6, 0), con(ir, 13)), raw(ir, OP_CMPLT, sum(ir, r, 2, s, 3, 0), con(ir, 7)));
  SAME(ix_lt(ir, sum(ir, r, 4, small, 1, 0), con(ir, 12)), raw(ir, OP_CMPLT, r, con(ir, 3)));
  SAME(ix_lt(ir, ix_div(ir, s, 3), con(ir, 2)), raw(ir, OP_CMPLT, s, con(ir, 6)));
  SAME(ix_lt(ir, con(ir, 0), ix_div(ir, s, 3)), raw(ir, OP_CMPLT, con(ir, 2), s));
  SAME(ix_lt(ir, r, ix_sub(ir, s, con(ir, 2))), raw(ir, OP_CMPLT, r, ix_add(ir, s, con(ir, -2))));
}

static void gates_join(void **state) {
  IR *ir = ((World *)*state)->ir;
  Ref r = R(8), s = R(9);
  Ref r3 = ix_lt(ir, r, con(ir, 3)), r5 = ix_lt(ir, r, con(ir, 5)), s5 = ix_lt(ir, s, con(ir, 5));
  SAME(ix_and(ir, 0, 0), 0);
  SAME(ix_and(ir, 0, r3), r3);
  SAME(ix_and(ir, r3, r3), r3);
  SAME(ix_and(ir, r5, r3), r3);
  SAME(ix_and(ir, ix_and(ir, s5, r3), ix_and(ir, r5, s5)), ix_and(ir, r3, s5));
  SAME(ix_and(ir, r3, ix_lt(ir, con(ir, 2), r)), c_bits(ir, DT_BOOL, 0));
  SAME(ix_in(ir, r, 0, 8), 0);
  SAME(ix_in(ir, r, 0, 3), r3);
  SAME(ix_in(ir, r, 2, 8), raw(ir, OP_CMPLT, con(ir, 1), r));
  SAME(ix_in(ir, r, 8, 9), c_bits(ir, DT_BOOL, 0));
}

static void overflow_changes_nothing(void **state) {
  IR *ir = ((World *)*state)->ir;
  Ref r = R(8), y = loaded(ir, r);
  int64_t huge = INT64_MAX / 2;
  Ref x = ix_mul(ir, r, huge);
  assert_int_equal(node(ir, ix_add(ir, x, x))->vmax, INT64_MAX); /* unknown */
  Ref x4 = ix_mul(ir, y, 4);
  SAME(ix_div(ir, x4, 4), raw(ir, OP_FLDIV, x4, con(ir, 4))); /* y * 4 may have wrapped */
  Ref y1 = ix_add(ir, y, con(ir, 1));
  SAME(ix_lt(ir, y, y1), raw(ir, OP_CMPLT, y, y1));
  Ref far = ix_mul(ir, ix_mul(ir, r, INT64_MAX), 3);
  SAME(far, raw(ir, OP_MUL, raw(ir, OP_MUL, r, con(ir, INT64_MAX)), con(ir, 3)));
  SAME(ix_lt(ir, r, con(ir, INT64_MAX)), raw(ir, OP_CMPLT, r, con(ir, INT64_MAX)));
  SAME(ix_in(ir, r, INT64_MIN, 3), ix_lt(ir, r, con(ir, 3)));
}

static void loads_are_terms(void **state) {
  IR *ir = ((World *)*state)->ir;
  Ref r = R(8), s = R(100), at = loaded(ir, r);
  int64_t k;
  Ref rest, x = sum(ir, at, 12, s, 3, 5);
  assert_true(ix_split(ir, x, s, &k, &rest));
  SAME(k, 3);
  SAME(rest, ix_add(ir, ix_mul(ir, at, 12), con(ir, 5)));
  assert_false(ix_split(ir, x, r, &k, &rest)); /* inside the load */
  assert_true(ix_uses(ir, x, r));
  Ref seven = con(ir, 7);
  SAME(ix_subst(ir, x, 1, &r, &seven), sum(ir, loaded(ir, seven), 12, s, 3, 5));
}

static void gates_of_loads_fold(void **state) {
  IR *ir = ((World *)*state)->ir;
  int64_t id = 0;
  Ref r = R(8), in = R(4), buf = node_make(ir, OP_BUFFER, DT_F32, 1, 0, NULL, 1, &id, 0, NULL), zero = c_float(ir, DT_F32, 0);
  Ref gate = ix_lt(ir, r, con(ir, 4));
  Ref load = node_make(ir, OP_LOAD, DT_F32, 1, 4, (Ref[]){ buf, r, gate, zero }, 0, NULL, 0, NULL);
  SAME(ix_subst(ir, load, 1, &r, &in), node_make(ir, OP_LOAD, DT_F32, 1, 2, (Ref[]){ buf, in }, 0, NULL, 0, NULL));
  Ref six = con(ir, 6);
  SAME(ix_subst(ir, load, 1, &r, &six), zero);
}

static void deep_expressions_need_no_stack(void **state) {
  IR *ir = ((World *)*state)->ir;
  Ref r = R(8), q = R(9), x = r;
  for (int i = 0; i < 200000; i++) x = node_make(ir, OP_NOT, DT_I64, 1, 1, &x, 0, NULL, 0, NULL);
  Ref y = ix_subst(ir, x, 1, &r, &q);
  assert_true(ix_uses(ir, y, q));
  assert_false(ix_uses(ir, y, r));
  Ref wide = con(ir, 0);
  for (int i = 0; i < 500; i++) wide = ix_add(ir, wide, R(2)); /* more terms than a sum holds */
  assert_int_equal(node(ir, wide)->vmax, 500);
  for (int i = 0; i < 80; i++) wide = raw(ir, OP_ADD, wide, wide); /* a tree of 2^80 leaves */
  ix_add(ir, wide, r);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(sums_are_sorted),
    cmocka_unit_test(multiples_leave_divisions),
    cmocka_unit_test(common_factors_leave_divisions),
    cmocka_unit_test(divisions_nest),
    cmocka_unit_test(quotient_and_remainder_recombine),
    cmocka_unit_test(bounds_decide),
    cmocka_unit_test(comparisons_shrink),
    cmocka_unit_test(gates_join),
    cmocka_unit_test(overflow_changes_nothing),
    cmocka_unit_test(loads_are_terms),
    cmocka_unit_test(gates_of_loads_fold),
    cmocka_unit_test(deep_expressions_need_no_stack),
    cmocka_unit_test(random_indices),
    cmocka_unit_test(random_gates),
    cmocka_unit_test(random_substitutions),
    cmocka_unit_test(random_splits),
  };
  return cmocka_run_group_tests_name("algebra", tests, setup, teardown);
}

/* SPDX-License-Identifier: MIT */
/* reroll.c (unit test): lists of calls as layers and loops leave them, and random ones. It tests which repeats are found, and
 * that every kernel is called with its own buffers. */
#include "fixture.h"
#include "../../compiler/bundle/bundle.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>

static Plan *plan_new(IR *ir) {
  Plan *p = ARENA_NEW(&ir->ctx->model, Plan, 1);
  p->ir = ir;
  return p;
}

static void plan_free(Plan *p) {
  for (size_t k = 0; k < p->kernels.n; k++) VEC_FREE(&p->kernels.p[k].bufs);
  VEC_FREE(&p->kernels);
}

/* A call of function `code` with a buffer in the arena and one of the weights. */
static Kernel *call(Plan *p, int code, int64_t arena, int64_t weight) {
  Kernel k = { .code = code, .text = "", .group_size = 1, .chunks = 1 };
  VEC_PUSH(&k.bufs, (int)p->ir->bufs.n);
  VEC_PUSH(&p->ir->bufs, ((Buf){ .kind = BUF_ARENA, .dt = DT_F32, .offset = arena }));
  VEC_PUSH(&k.bufs, (int)p->ir->bufs.n);
  VEC_PUSH(&p->ir->bufs, ((Buf){ .kind = BUF_WEIGHT, .dt = DT_F32, .offset = weight }));
  VEC_PUSH(&p->kernels, k);
  return &p->kernels.p[p->kernels.n - 1];
}

/* Call k as the case that stands for it has it. */
static void runs_own_kernel(const Plan *p, const Repeats *s, size_t k) {
  const Repeat *x = repeat_of(s, k);
  const size_t i = x ? (k - x->first) / x->period : 0, at = x ? x->first + (k - x->first) % x->period : k;
  assert_int_equal(in_first_iteration(x, k), i == 0);
  assert_int_equal(p->kernels.p[k].code, p->kernels.p[at].code);
  for (size_t b = 0; b < p->kernels.p[k].bufs.n; b++) {
    const CallMoves m = call_moves(p, x, at, b);
    const CallPlace own = call_place(p, k, b), first = call_place(p, at, b);
    assert_false(m.leaps);
    assert_int_equal(own.slot, first.slot + (int64_t)i * m.by.slot);
    if (!m.table) assert_int_equal(own.at, first.at + (int64_t)i * m.by.at);
  }
}

static size_t tables(const Plan *p, const Repeats *s) {
  size_t n = 0;
  for (size_t i = 0; i < s->n; i++)
    for (size_t k = s->p[i].first; k < s->p[i].first + s->p[i].period; k++)
      for (size_t b = 0; b < p->kernels.p[k].bufs.n; b++) n += call_moves(p, &s->p[i], k, b).table;
  return n;
}

static Repeats repeats_of(const Plan *p) {
  Repeats s = reroll_calls(p);
  size_t end = 0;
  for (size_t i = 0; i < s.n; i++) {
    assert_true(s.p[i].first >= end && s.p[i].times > 1);
    assert_true(p->kernels.p[s.p[i].first].group_size);
    end = s.p[i].first + s.p[i].period * s.p[i].times;
    assert_true(end <= p->kernels.n);
    assert_true(end == p->kernels.n || p->kernels.p[end].group_size);
  }
  for (size_t k = 0; k < p->kernels.n; k++) runs_own_kernel(p, &s, k);
  return s;
}

static void finds(const Plan *p, size_t first, size_t period, size_t times, size_t with_tables) {
  Repeats s = repeats_of(p);
  assert_int_equal(s.n, 1);
  assert_int_equal(s.p[0].first, first);
  assert_int_equal(s.p[0].period, period);
  assert_int_equal(s.p[0].times, times);
  assert_int_equal(tables(p, &s), with_tables);
  VEC_FREE(&s);
}

static void finds_none(const Plan *p) {
  Repeats s = repeats_of(p);
  assert_int_equal(s.n, 0);
  VEC_FREE(&s);
}

static void layers(void **state) {
  Plan *p = plan_new(*state);
  call(p, 0, 0, 0);
  for (int i = 0; i < 12; i++) {
    call(p, 1, 64, 1024 + i * 4096);
    call(p, 2, 128, 2048 + i * 4096);
    call(p, 3, 64, 3072 + i * 4096);
  }
  call(p, 4, 0, 65536);
  finds(p, 1, 3, 12, 0);
  plan_free(p);
}

static void what_takes_turns(void **state) { /* a table for each would be longer than a second call */
  Plan *p = plan_new(*state);
  for (int i = 0; i < 40; i++) call(p, 0, i % 2 * 64, 0);
  finds(p, 0, 2, 20, 0);
  plan_free(p);
}

static void another_last_round(void **state) { /* it lies elsewhere: a straight call is shorter than a table */
  Plan *p = plan_new(*state);
  for (int i = 0; i < 50; i++) call(p, 0, i < 49 ? i * 64 : 0, 64);
  finds(p, 0, 1, 49, 0);
  plan_free(p);
}

static void another_first_round(void **state) {
  Plan *p = plan_new(*state);
  for (int i = 0; i < 50; i++) call(p, 0, i ? 64 * i : 8192, 64);
  finds(p, 1, 1, 49, 0);
  plan_free(p);
}

static void no_order_of_places(void **state) {
  static const int64_t at[] = { 0, 5, 2, 9, 1, 7, 3, 8 };
  Plan *p = plan_new(*state);
  for (size_t i = 0; i < 8; i++) call(p, 0, at[i] * 64, 64);
  finds(p, 0, 1, 8, 1);
  plan_free(p);
}

static void too_short(void **state) { /* to tell the iterations would take more than the calls */
  Plan *p = plan_new(*state);
  for (int i = 0; i < 2; i++) call(p, 0, i * 64, 64);
  finds_none(p);
  plan_free(p);
}

static void nothing_alike(void **state) {
  Plan *p = plan_new(*state);
  for (int i = 0; i < 50; i++) call(p, i, 0, 0);
  finds_none(p);
  plan_free(p);
}

static void inputs_of_layers(void **state) { /* numbers of inputs move evenly, or the calls are straight */
  for (int even = 0; even < 2; even++) {
    Plan *p = plan_new(*state);
    for (int i = 0; i < 10; i++) {
      const Kernel *k = call(p, 0, 0, 0);
      p->ir->bufs.p[k->bufs.p[0]] = (Buf){ .kind = BUF_INPUT, .dt = DT_F32, .slot = even ? 1 + 2 * i : i * i * i };
    }
    if (even) finds(p, 0, 1, 10, 0);
    else finds_none(p);
    plan_free(p);
  }
}

static void groups_stay_whole(void **state) { /* the last call of one layer and the first of the next are alike */
  Plan *p = plan_new(*state);
  for (int i = 0; i < 20; i++) call(p, i % 2, 64, i * 64)->group_size = i % 2 ? 0 : 2;
  finds(p, 0, 2, 10, 0);
  plan_free(p);
}

static void absent_calls(void **state) { /* a variant has not all kernels */
  Plan *p = plan_new(*state);
  for (int i = 0; i < 20; i++) call(p, i == 10 ? -1 : 0, 64, i * 64)->text = i == 10 ? NULL : "";
  Repeats s = repeats_of(p);
  assert_int_equal(s.n, 2);
  assert_null(repeat_of(&s, 10));
  VEC_FREE(&s);
  plan_free(p);
}

static void random_lists(void **state) {
  uint32_t seed = 1;
  size_t found = 0;
  for (int i = 0; i < 400; i++) {
    Plan *p = plan_new(*state);
    for (int k = 0; k < 60; k++) {
      seed = seed * 1664525u + 1013904223u;
      const uint32_t at = seed >> 8;
      call(p, (int)(at % (1 + (uint32_t)i % 4)), at / 8 % 3 * 64, k * 64)->chunks = 1 + (int)(at / 64 % 2);
    }
    Repeats s = repeats_of(p);
    found += s.n;
    VEC_FREE(&s);
    plan_free(p);
  }
  assert_true(found > 200);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test_setup_teardown(layers, setup, teardown),
    cmocka_unit_test_setup_teardown(what_takes_turns, setup, teardown),
    cmocka_unit_test_setup_teardown(another_last_round, setup, teardown),
    cmocka_unit_test_setup_teardown(another_first_round, setup, teardown),
    cmocka_unit_test_setup_teardown(no_order_of_places, setup, teardown),
    cmocka_unit_test_setup_teardown(too_short, setup, teardown),
    cmocka_unit_test_setup_teardown(nothing_alike, setup, teardown),
    cmocka_unit_test_setup_teardown(inputs_of_layers, setup, teardown),
    cmocka_unit_test_setup_teardown(groups_stay_whole, setup, teardown),
    cmocka_unit_test_setup_teardown(absent_calls, setup, teardown),
    cmocka_unit_test_setup_teardown(random_lists, setup, teardown),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

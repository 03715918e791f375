/* SPDX-License-Identifier: MIT */
/* pbqp.c (unit test): the solver of compiler/support/pbqp.c against trying everything. */
#include "../../compiler/support/pbqp.h"
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

enum { NODES = 8, LABELS = 4, ROUNDS = 400 };

static uint32_t seed;
static uint32_t next(uint32_t n) {
  seed = seed * 1664525u + 1013904223u;
  return (seed >> 8) % n;
}

static double costs(void) { return (double)next(100); }

typedef struct Given { Pbqp *c; int nodes, alternatives[NODES]; } Given;

static Given given(int nodes) {
  Given g = { pbqp_new(), nodes, { 0 } };
  for (int v = 0; v < nodes; v++) {
    g.alternatives[v] = 1 + (int)next(LABELS);
    assert_int_equal(pbqp_node(g.c, g.alternatives[v]), v);
    for (int l = 0; l < g.alternatives[v]; l++) pbqp_cost(g.c, v, l, costs());
  }
  return g;
}

static void edge(Given *g, int a, int b) {
  double cost[LABELS * LABELS];
  for (int i = 0; i < LABELS * LABELS; i++) cost[i] = costs();
  pbqp_edge(g->c, a, b, cost);
}

static double least_of_all(const Given *g, const int *fixed) {
  int alternative[NODES] = { 0 };
  double best = 1e300;
  for (;;) {
    bool asked = true;
    for (int v = 0; v < g->nodes; v++) asked &= !fixed || fixed[v] < 0 || fixed[v] == alternative[v];
    double cost = pbqp_total(g->c, alternative);
    if (asked && cost < best) best = cost;
    int v = 0;
    while (v < g->nodes && ++alternative[v] == g->alternatives[v]) alternative[v++] = 0;
    if (v == g->nodes) return best;
  }
}

static void connect(Given *g, bool tree) {
  for (int v = 1; v < g->nodes; v++) edge(g, v, tree ? (int)next((uint32_t)v) : v - 1);
}

/* 0 - 1 - 2 - 3: what lies around node 0 are nodes 0 and 1, and edges 0-1 and 1-2 */
static void cost_around_a_node(void **state) {
  (void)state;
  Pbqp *c = pbqp_new();
  const int alternative[4] = { 0, 0, 0, 0 };
  for (int v = 0; v < 4; v++) pbqp_cost(c, pbqp_node(c, 1), 0, 1 << v);
  for (int v = 0; v < 3; v++) pbqp_edge(c, v, v + 1, &(double){ 16 << v });
  assert_true(pbqp_cost_around(c, alternative, 0) == 1 + 2 + 16 + 32);
  assert_true(pbqp_cost_around(c, alternative, 1) == 1 + 2 + 4 + 16 + 32 + 64);
  pbqp_free(c);
}

static void trees_and_chains_are_solved_exactly(void **state) {
  (void)state;
  seed = 1;
  for (int i = 0; i < ROUNDS; i++) {
    Given g = given(1 + (int)next(NODES));
    int alternative[NODES];
    connect(&g, i % 2);
    double cost = pbqp_solve(g.c, NULL, alternative);
    assert_true(cost == pbqp_total(g.c, alternative));
    assert_true(cost == least_of_all(&g, NULL));
    if (g.nodes < 3) assert_true(pbqp_cost_around(g.c, alternative, 0) == cost); /* all nodes are neighbours */
    pbqp_free(g.c);
  }
}

/* residual blocks: a chain whose nodes are also beside the one two further on, every other time */
static void branches_that_meet_again_are_solved_exactly(void **state) {
  (void)state;
  seed = 2;
  for (int i = 0; i < ROUNDS; i++) {
    Given g = given(3 + (int)next(NODES - 2));
    int alternative[NODES];
    connect(&g, false);
    for (int v = 2; v < g.nodes; v += 2) edge(&g, v - 2, v);
    assert_true(pbqp_solve(g.c, NULL, alternative) == least_of_all(&g, NULL));
    pbqp_free(g.c);
  }
}

static void labels_that_are_fixed_stay(void **state) {
  (void)state;
  seed = 3;
  for (int i = 0; i < ROUNDS; i++) {
    Given g = given(2 + (int)next(NODES - 1));
    int alternative[NODES], fixed[NODES];
    connect(&g, true);
    for (int v = 0; v < g.nodes; v++) fixed[v] = next(3) ? -1 : (int)next((uint32_t)g.alternatives[v]);
    assert_true(pbqp_solve(g.c, fixed, alternative) == least_of_all(&g, fixed));
    for (int v = 0; v < g.nodes; v++) assert_true(fixed[v] < 0 || fixed[v] == alternative[v]);
    pbqp_free(g.c);
  }
}

static void of_any_graph_no_single_label_is_better(void **state) {
  (void)state;
  seed = 4;
  double found = 0, least = 0;
  for (int i = 0; i < ROUNDS; i++) {
    Given g = given(4 + (int)next(NODES - 3));
    int alternative[NODES];
    for (int a = 0; a < g.nodes; a++)
      for (int b = 0; b < a; b++)
        if (next(4)) edge(&g, a, b);
    double cost = pbqp_solve(g.c, NULL, alternative);
    found += cost;
    least += least_of_all(&g, NULL);
    for (int v = 0; v < g.nodes; v++)
      for (int l = 0, was = alternative[v]; l < g.alternatives[v]; l++) {
        alternative[v] = l;
        assert_true(pbqp_total(g.c, alternative) >= cost);
        alternative[v] = was;
      }
    pbqp_free(g.c);
  }
  assert_true(found < 1.02 * least); /* on the whole 2 % off, where every node is beside almost all others */
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(cost_around_a_node),
    cmocka_unit_test(trees_and_chains_are_solved_exactly),
    cmocka_unit_test(branches_that_meet_again_are_solved_exactly),
    cmocka_unit_test(labels_that_are_fixed_stay),
    cmocka_unit_test(of_any_graph_no_single_label_is_better),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

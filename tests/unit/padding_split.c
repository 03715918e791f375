/* SPDX-License-Identifier: MIT */
/* padding_split.c (unit test): windows in parts, each with the taps that lie inside, give the same values by fewer products. */
#include "../../compiler/graph/padding_split.c"
#include "../../compiler/interp/interp.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <math.h>
#include "fixture.h"

static const Target machine = { .isa = "a vector machine", .vector_bytes = 16, .l1_bytes = 1 << 15, .l2_bytes = 1 << 20 };

static Tensor noise(IR *ir, int rank, const int64_t *dims, uint64_t seed) {
  Tensor t = { .dt = DT_F32, .rank = rank, .elems = dims_elems(dims, rank) };
  float *p = arena_alloc(&ir->ctx->model, (size_t)t.elems * sizeof *p);
  for (int64_t i = 0; i < t.elems; i++) {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    p[i] = (float)((double)(seed >> 40) / (1 << 23) - 1);
  }
  memcpy(t.dims, dims, (size_t)rank * sizeof *dims);
  t.data = p;
  return t;
}

static Ref weight(IR *ir, int rank, const int64_t *dims, uint64_t seed) {
  const Tensor t = noise(ir, rank, dims, seed);
  return g_weight(ir, ir_tensor(ir, &t));
}

typedef struct Shape { int64_t c, k, h, w, kh, kw, lo, hi, stride, dilation, groups; } Shape;

static const int64_t *picture(const Shape *s) {
  static int64_t dims[4];
  memcpy(dims, (int64_t[]){ 1, s->c, s->h, s->w }, sizeof dims);
  return dims;
}

/* The sum, and with `after` a bias, a maximum and a value of the same shape behind it, in another order of axes */
static Ref convolution(IR *ir, const Shape *s, bool after) {
  const int64_t g = s->groups, c = s->c / g, k = s->k / g, lo[4] = { 0, 0, s->lo, s->lo }, hi[4] = { 0, 0, s->hi, s->hi };
  const int64_t more = s->lo + s->hi - 1, oh = (s->h + more - (s->kh - 1) * s->dilation) / s->stride + 1;
  const int64_t ow = (s->w + more - (s->kw - 1) * s->dilation) / s->stride + 1;
  Ref x = g_pad(ir, g_param(ir, DT_F32, 4, picture(s), 0), lo, hi, c_int(ir, DT_F32, 0));
  Ref w = weight(ir, 4, (int64_t[]){ s->k, c, s->kh, s->kw }, 3);
  x = g_window(ir, x, 2, oh, s->kh, s->stride, s->dilation);
  x = g_window(ir, x, 3, ow, s->kw, s->stride, s->dilation);
  x = g_reshape(ir, x, 8, (int64_t[]){ 1, g, 1, c, oh, ow, s->kh, s->kw });
  w = g_reshape(ir, w, 8, (int64_t[]){ 1, g, k, c, 1, 1, s->kh, s->kw });
  const Ref sum = g_reduce(ir, OP_ADD, g_binary(ir, OP_MUL, x, w), 1u << 3 | 1u << 6 | 1u << 7);
  Ref y = g_reshape(ir, sum, 4, (int64_t[]){ 1, s->k, oh, ow });
  if (!after) return y;
  y = g_binary(ir, OP_ADD, y, weight(ir, 4, (int64_t[]){ 1, s->k, 1, 1 }, 7));
  y = g_permute(ir, g_binary(ir, OP_MAX, y, c_float(ir, DT_F32, 0.0)), (int64_t[]){ 0, 2, 3, 1 });
  return g_binary(ir, OP_MUL, y, weight(ir, 4, (int64_t[]){ 1, oh, ow, s->k }, 9));
}

static GIO named(const IR *ir, Ref r, const char *name) {
  const Node *x = node(ir, r);
  GIO io = { .ref = r, .name = name, .dt = (DType)x->dt, .rank = x->rank };
  memcpy(io.dims, x->dims, x->rank * sizeof *x->dims);
  return io;
}

static Graph graph_of(IR *ir, const Shape *s, bool after) {
  Graph g = { .ir = ir };
  VEC_PUSH(&g.inputs, named(ir, g_param(ir, DT_F32, 4, picture(s), 0), "x"));
  VEC_PUSH(&g.outputs, named(ir, convolution(ir, s, after), "y"));
  return g;
}

static void graph_free(Graph *g) {
  VEC_FREE(&g->inputs);
  VEC_FREE(&g->outputs);
}

static double products(const IR *ir, Ref out) { /* terms of all sums */
  Refs all = { 0 };
  double n = 0;
  ir_toposort(ir, &out, 1, &all);
  for (size_t i = 0; i < all.n; i++) {
    const Node *x = node(ir, all.p[i]);
    if (x->op == OP_REDUCE) n += (double)dims_elems(node(ir, x->src[0])->dims, node(ir, x->src[0])->rank);
  }
  VEC_FREE(&all);
  return n;
}

static void parts_have_the_same_values(void **state) {
  static const struct { Shape shape; double left; } cases[] = { /* left: of the products, at most */
    { { 64, 16, 16, 16, 3, 3, 12, 12, 1, 12, 1 }, 0.26 }, { { 64, 16, 16, 16, 3, 3, 18, 18, 1, 18, 1 }, 0.12 },
    { { 64, 16, 16, 16, 3, 3, 6, 6, 1, 6, 1 }, 0.57 },    { { 64, 32, 15, 16, 3, 3, 8, 7, 1, 8, 2 }, 0.6 },
    { { 64, 32, 32, 32, 3, 3, 12, 12, 2, 12, 1 }, 0.7 },  { { 64, 32, 1, 24, 3, 3, 8, 8, 1, 8, 1 }, 0.3 },
    { { 64, 32, 4, 4, 3, 3, 20, 20, 1, 20, 1 }, 0.12 },
    { { 64, 64, 1, 1, 3, 3, 1, 1, 1, 1, 1 }, 0.12 },      /* one point: the tap in the middle */
    { { 64, 64, 1, 1, 2, 2, 1, 0, 1, 1, 1 }, 0.25 },      /* one of four taps: few rows hide no latency, in the whole, either */
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
    for (int after = 0; after < 2; after++) {
      IR *ir = *state;
      const Tensor in = noise(ir, 4, picture(&cases[i].shape), 5), *ins[1] = { &in };
      Tensor was, is;
      Graph g = graph_of(ir, &cases[i].shape, after);
      const Ref before = g.outputs.p[0].ref;
      assert_true(graph_padding_split(&g, &machine));
      ir_verify_graph(&g);
      assert_true(products(ir, g.outputs.p[0].ref) <= cases[i].left * products(ir, before));
      assert_true(interp_graph(ir, &before, 1, ins, &ir->ctx->model, true, 0, &was));
      assert_true(interp_graph(ir, &g.outputs.p[0].ref, 1, ins, &ir->ctx->model, true, 0, &is));
      assert_int_equal(was.elems, is.elems);
      for (int64_t k = 0; k < was.elems; k++)
        assert_true(fabs((double)((const float *)was.data)[k] - (double)((const float *)is.data)[k]) < 1e-5);
      assert_false(graph_padding_split(&g, &machine)); /* nothing is left to leave out */
      graph_free(&g);
    }
}

static void others_are_left(void **state) {
  static const Shape shapes[] = {
    { 64, 64, 28, 28, 3, 3, 1, 1, 1, 1, 1 },  /* a border of one */
    { 64, 64, 16, 16, 3, 3, 0, 0, 1, 6, 1 },  /* none */
    { 64, 64, 4, 4, 3, 3, 1, 1, 1, 1, 1 },    /* parts of one result a map */
    { 8, 8, 8, 8, 3, 3, 4, 4, 1, 4, 8 },      /* little to multiply */
  };
  for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
    Graph g = graph_of(*state, &shapes[i], true);
    assert_false(graph_padding_split(&g, &machine));
    graph_free(&g);
  }
  Target scalar = machine;
  scalar.vector_bytes = 0;
  Graph g = graph_of(*state, &(Shape){ 64, 16, 16, 16, 3, 3, 12, 12, 1, 12, 1 }, true);
  assert_false(graph_padding_split(&g, &scalar)); /* where memory is scarce */
  graph_free(&g);
}

/* Zeros of the padding times such weights are NaN. */
static void weights_must_be_finite(void **state) {
  IR *ir = *state;
  const Shape s = { 64, 16, 16, 16, 3, 3, 12, 12, 1, 12, 1 };
  for (int wild = 0; wild < 2; wild++) {
    Graph g = graph_of(ir, &s, false);
    for (size_t i = 0; i < ir->tensors.n && wild; i++) ((float *)(uintptr_t)ir->tensors.p[i].data)[7] = INFINITY;
    assert_int_equal(graph_padding_split(&g, &machine), !wild);
    graph_free(&g);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = { 
    cmocka_unit_test_setup_teardown(parts_have_the_same_values, setup, teardown),
    cmocka_unit_test_setup_teardown(others_are_left, setup, teardown),
    cmocka_unit_test_setup_teardown(weights_must_be_finite, setup, teardown),
  };
  return cmocka_run_group_tests_name("border", tests, NULL, NULL);
}

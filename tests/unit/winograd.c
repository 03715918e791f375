/* SPDX-License-Identifier: MIT */
/* winograd.c (unit test): contractions found from structure, and sums over windows rewritten in all possible tiles. The result
 * is the same function, within the bound that docs/numerics.md states. */
#include "../../compiler/graph/winograd.c"
#include "../../compiler/interp/interp.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>
#include <math.h>
#include "fixture.h"

static const Target machine = {
  .isa = "a vector machine", .vector_bytes = 16, .vector_regs = 16, .l1_bytes = 32768, .l2_bytes = 1 << 20
};

static float *noise(IR *ir, int64_t n, uint64_t seed) {
  float *p = arena_alloc(&ir->ctx->model, (size_t)n * sizeof *p);
  for (int64_t i = 0; i < n; i++) {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    p[i] = (float)((double)(seed >> 40) / (1 << 23) - 1);
  }
  return p;
}

static Ref weight(IR *ir, int rank, const int64_t *dims, uint64_t seed) {
  Tensor t = { .dt = DT_F32, .rank = rank, .elems = dims_elems(dims, rank) };
  memcpy(t.dims, dims, (size_t)rank * sizeof *dims);
  t.data = noise(ir, t.elems, seed);
  return g_weight(ir, ir_tensor(ir, &t));
}

/* Channels c of x [n,c,h,w] to maps k, in groups; a kernel of 1 leaves its axis without a window. The stride is that
 * of h, unless both; last: as formats keep weights that have channels behind. */
typedef struct Shape { int64_t n, c, k, h, w, kh, kw, pad, stride, dilation; bool last; int64_t groups; bool one_stride; } Shape;

/* x is padded by `fill`, w is [k,c,kh,kw] in groups; both are converted to d */
static Ref convolution_of(IR *ir, const Shape *s, Ref x, Ref w, int64_t fill, DType d) {
  int64_t sw = s->one_stride ? 1 : s->stride, g = s->groups ? s->groups : 1, c = s->c / g, k = s->k / g;
  int64_t oh = (s->h + 2 * s->pad - (s->kh - 1) * s->dilation - 1) / s->stride + 1,
          ow = (s->w + 2 * s->pad - (s->kw - 1) * s->dilation - 1) / sw + 1;
  int64_t pad[4] = { 0, 0, s->pad, s->pad };
  x = g_cast(ir, g_pad(ir, x, pad, pad, c_int(ir, (DType)node(ir, x)->dt, fill)), d);
  w = g_cast(ir, w, d);
  x = g_window(ir, x, 2, oh, s->kh, s->stride, s->dilation);
  x = g_window(ir, x, 3, ow, s->kw, sw, s->dilation);
  x = g_reshape(ir, x, 8, (int64_t[]){ s->n, g, 1, c, oh, ow, s->kh, s->kw });
  w = g_reshape(ir, w, 8, (int64_t[]){ 1, g, k, c, 1, 1, s->kh, s->kw });
  return g_reshape(ir, g_reduce(ir, OP_ADD, g_binary(ir, OP_MUL, x, w), 1u << 3 | 1u << 6 | 1u << 7), 4,
                   (int64_t[]){ s->n, s->k, oh, ow });
}

static Ref convolution(IR *ir, const Shape *s) {
  const int64_t c = s->c / (s->groups ? s->groups : 1);
  Ref w = s->last ? g_permute(ir, weight(ir, 4, (int64_t[]){ s->kh, s->kw, c, s->k }, 3), (int64_t[]){ 3, 2, 0, 1 })
                  : weight(ir, 4, (int64_t[]){ s->k, c, s->kh, s->kw }, 3);
  return convolution_of(ir, s, g_param(ir, DT_F32, 4, (int64_t[]){ s->n, s->c, s->h, s->w }, 0), w, 0, DT_F32);
}

static GIO named(const IR *ir, Ref r, const char *name) {
  const Node *x = node(ir, r);
  GIO io = { .ref = r, .name = name, .dt = (DType)x->dt, .rank = x->rank };
  memcpy(io.dims, x->dims, x->rank * sizeof *x->dims);
  return io;
}

/* The graph of a convolution */
static Graph graph_of(IR *ir, Ref out) {
  Graph g = { .ir = ir };
  Refs all = { 0 };
  ir_toposort(ir, &out, 1, &all);
  for (size_t i = 0; i < all.n; i++)
    if (node(ir, all.p[i])->op == OP_PARAM) VEC_PUSH(&g.inputs, named(ir, all.p[i], "x"));
  VEC_PUSH(&g.outputs, named(ir, out, "y"));
  VEC_FREE(&all);
  return g;
}

static void graph_free(Graph *g) {
  VEC_FREE(&g->inputs);
  VEC_FREE(&g->outputs);
}

static double at(const Tensor *t, int64_t i) { return (double)((const float *)t->data)[i]; }

/* Largest of what each element of a differs from b by, over its share of the bound: the weights it is made of, by map */
static double distance(const Tensor *a, const Tensor *b, const double *share, double *rms) {
  double worst = 0, sum = 0;
  int64_t plane = b->dims[2] * b->dims[3];
  assert_int_equal(a->elems, b->elems);
  for (int64_t i = 0; i < b->elems; i++) {
    double error = fabs(at(a, i) - at(b, i)) / share[i / plane % b->dims[1]];
    worst = fmax(worst, error);
    sum += error * error;
  }
  *rms = sqrt(sum / (double)b->elems);
  return worst;
}

/* One way to choose points: the bound of docs/numerics.md, by its own table. Signs conspire rarely, so that the root of
 * the mean square stays far below. */
static void check_points(IR *ir, const Shape *s, Windows *v, Ref before, const Tensor *exact, const Tensor *in,
                         const double *share) {
  static const double table[MAX_TILE + 1] = { 1, [4] = 4, [5] = 7.5, [6] = 13.3, [7] = 23.2, [8] = 39.6 };
  double amplification = 1, terms = (double)(s->c / (s->groups ? s->groups : 1)), rms;
  const Tensor *ins[1] = { in };
  Tensor fine, rounded;
  Costs c = { .t = &machine };
  for (int i = 0; i < v->n; i++) {
    amplification *= table[v->f[i].t];
    if (!v->f[i].t) terms *= (double)taps_of(v, i);
  }
  Ref sum = rewritten(ir, v, &c), after = g_reshape(ir, sum, 4, node(ir, before)->dims);
  Graph g = graph_of(ir, after);
  ir_verify_graph(&g);
  assert_true(interp_graph(ir, &after, 1, ins, &ir->ctx->model, true, 0, &fine));
  assert_true(interp_graph(ir, &after, 1, ins, &ir->ctx->model, false, 0, &rounded));
  double bound = amplification * (terms + 24) / (1 << 24);
  assert_true(distance(&fine, exact, share, &rms) < amplification / (1 << 24)); /* only the weights were rounded */
  assert_true(distance(&rounded, exact, share, &rms) < bound);
  assert_true(rms < bound / 8);
  graph_free(&g);
  VEC_FREE(&c.made);
}

static void the_function_stays(void **state) {
  static const Shape shapes[] = {
    { 1, 16, 16, 16, 16, 3, 3, 1, 1, 1, false, 0, false }, { 1, 16, 24, 13, 18, 3, 3, 0, 1, 1, false, 0, false },
    { 2, 16, 18, 7, 9, 3, 3, 1, 1, 1, true, 0, false },    { 1, 8, 16, 20, 20, 5, 5, 2, 1, 1, false, 0, false },
    { 1, 16, 16, 12, 12, 5, 5, 2, 1, 1, true, 0, false },  { 1, 32, 32, 1, 40, 1, 3, 0, 1, 1, false, 0, false },
    { 1, 32, 32, 40, 5, 3, 1, 0, 1, 1, false, 0, false },  { 1, 16, 16, 18, 18, 2, 2, 0, 1, 1, false, 0, false },
    { 1, 16, 16, 18, 18, 4, 4, 0, 1, 1, false, 0, false }, { 3, 16, 16, 24, 24, 3, 5, 2, 1, 1, false, 0, false },
    /* a sum over taps alone */
    { 1, 4, 8, 14, 14, 6, 7, 3, 1, 1, false, 0, false },   { 1, 1, 8, 14, 14, 5, 5, 2, 1, 1, false, 0, false },
    /* groups, of one channel */
    { 2, 12, 24, 9, 11, 3, 3, 1, 1, 1, false, 3, false },  { 1, 4, 8, 9, 11, 3, 3, 1, 1, 1, true, 4, false },
    /* a stride of one axis */
    { 1, 8, 8, 17, 15, 3, 3, 1, 2, 1, false, 0, true },    { 1, 8, 8, 17, 15, 3, 5, 2, 2, 1, false, 2, true },
  };
  for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
    IR *ir = *state;
    const Shape *s = &shapes[i];
    int64_t n = s->n * s->c * s->h * s->w, of = s->c / (s->groups ? s->groups : 1) * s->kh * s->kw;
    Tensor in = { .dt = DT_F32, .rank = 4, .dims = { s->n, s->c, s->h, s->w }, .elems = n, .data = noise(ir, n, 5) }, exact;
    const Tensor *ins[1] = { &in };
    const float *w = noise(ir, s->k * of, 3);
    double share[32] = { 0 };
    for (int64_t k = 0; k < s->k * of; k++) share[s->last ? k % s->k : k / of] += fabs((double)w[k]);
    Ref before = convolution(ir, s);
    Windows v;
    int numbers = 1, ways = 0;
    assert_true(interp_graph(ir, &before, 1, ins, &ir->ctx->model, true, 0, &exact));
    assert_true(find_windows(ir, view_base(ir, before), &v));
    for (int k = 0; k < v.n; k++) numbers *= SIZES;
    for (int k = 1; k < numbers; k++) {
      if (!set_points(&v, k, tunables_default.winograd_amplification)) continue;
      check_points(ir, s, &v, before, &exact, &in, share);
      ways++;
    }
    assert_true(ways > 0);
  }
}

/* For one tile: the rows of B^T, A^T and G add up to the amplification in the table. */
static void the_table_is_right(void **state) {
  (void)state;
  for (int t = 4; t <= MAX_TILE; t++)
    for (int r = 2; r < t; r++) {
      Transform f;
      transform_make(t, r, false, &f);
      for (int i = 0; i < f.m; i++)
        for (int k = 0; k < r; k++) {
          double sum = 0;
          for (int j = 0; j < t; j++) {
            double row = 0;
            for (int l = 0; l < t; l++) row += fabs(f.bt[j][l]);
            sum += fabs(f.at[i][j] * f.g[j][k]) * row;
          }
          assert_true(sum <= points[t].amplification);
        }
    }
}

/* Bytes, half of them extremes, or only extremes */
static int8_t *bytes(IR *ir, int64_t n, uint64_t seed, bool extreme) {
  int8_t *p = arena_alloc(&ir->ctx->model, (size_t)n);
  for (int64_t i = 0; i < n; i++) {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    p[i] = extreme || seed >> 63 ? (int8_t)(seed >> 62 & 1 ? 127 : -128) : (int8_t)(seed >> 40);
  }
  return p;
}

static Tensor byte_tensor(IR *ir, DType d, const int64_t *dims, uint64_t seed, bool extreme) {
  Tensor t = { .dt = d, .rank = 4, .elems = dims_elems(dims, 4) };
  memcpy(t.dims, dims, 4 * sizeof *dims);
  t.data = bytes(ir, t.elems, seed, extreme);
  return t;
}

/* All tiles that sums of bytes may have give the sums of the definition, to the last bit; returns how many there are */
static int exact_ways(IR *ir, const Shape *s, DType d, bool extreme) {
  const Tensor in = byte_tensor(ir, d, (int64_t[]){ s->n, s->c, s->h, s->w }, 5, extreme);
  const Tensor weights = byte_tensor(ir, DT_I8, (int64_t[]){ s->k, s->c / (s->groups ? s->groups : 1), s->kh, s->kw }, 3, extreme);
  const Tensor *ins[1] = { &in };
  Ref x = g_param(ir, d, 4, in.dims, 0), w = g_weight(ir, ir_tensor(ir, &weights));
  Ref before = convolution_of(ir, s, x, w, d == DT_U8 ? 200 : -7, DT_I32);
  Tensor sums, tiles;
  Windows v;
  Costs c = { .t = &machine };
  int ways = 0;
  assert_true(interp_graph(ir, &before, 1, ins, &ir->ctx->model, false, 0, &sums));
  assert_true(find_windows(ir, view_base(ir, before), &v) && v.whole);
  v.most = most_of_sums(ir, &v);
  for (int k = 1; k < numbers_of(&v); k++) {
    if (!set_points(&v, k, 1)) continue;
    Ref after = g_reshape(ir, rewritten(ir, &v, &c), 4, node(ir, before)->dims);
    assert_true(interp_graph(ir, &after, 1, ins, &ir->ctx->model, false, 0, &tiles));
    assert_memory_equal(tiles.data, sums.data, (size_t)sums.elems * 4);
    ways++;
  }
  VEC_FREE(&c.made);
  return ways;
}

static void sums_of_bytes_are_exact(void **state) {
  static const Shape shapes[] = {
    { 1, 16, 16, 16, 16, 3, 3, 1, 1, 1, false, 0, false }, { 2, 6, 5, 7, 9, 3, 3, 1, 1, 1, false, 0, false },
    { 1, 8, 4, 12, 12, 5, 5, 2, 1, 1, false, 0, false },   { 1, 8, 4, 1, 40, 1, 3, 0, 1, 1, false, 0, false },
    { 1, 4, 8, 9, 9, 2, 4, 0, 1, 1, false, 0, false },     { 2, 12, 24, 9, 11, 3, 3, 1, 1, 1, false, 3, false },
    { 1, 8, 8, 17, 15, 3, 3, 1, 2, 1, false, 0, true },    { 1, 4, 8, 9, 11, 3, 3, 1, 1, 1, false, 4, false },
  };
  for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
    for (int k = 0; k < 4; k++) assert_true(exact_ways(*state, &shapes[i], k & 1 ? DT_U8 : DT_I8, k & 2) > 0);
}

/* The most that a sum can be decides: tiles of six know 26 bits of it, tiles of four 30. */
static void large_sums_have_smaller_tiles(void **state) {
  IR *ir = *state;
  for (int64_t channels = 64; channels <= 256; channels *= 4) {
    const Shape s = { 1, channels, 2, 8, 8, 3, 3, 1, 1, 1, false, 0, false };
    Tensor w = byte_tensor(ir, DT_I8, (int64_t[]){ 2, channels, 3, 3 }, 3, true);
    memset((void *)w.data, 127, (size_t)w.elems);
    Ref x = g_param(ir, DT_U8, 4, (int64_t[]){ 1, channels, 8, 8 }, 0);
    Ref sum = convolution_of(ir, &s, x, g_weight(ir, ir_tensor(ir, &w)), 0, DT_I32);
    Windows v;
    assert_true(find_windows(ir, view_base(ir, sum), &v));
    v.most = most_of_sums(ir, &v);
    assert_true(v.most == 255.0 * 127 * 9 * (double)channels);
    assert_true(set_points(&v, 3 + SIZES * 3, 1) == (channels == 64)); /* 6 by 6 */
    assert_true(set_points(&v, 1 + SIZES * 1, 1));                     /* 4 by 4 */
    assert_false(set_points(&v, 5 + SIZES * 1, 1));                    /* 8: its points are no integers */
  }
}

static void points_are_chosen(void **state) {
  static const Shape shapes[] = {
    { 1, 64, 64, 28, 28, 3, 3, 1, 1, 1, false, 0, false }, { 1, 32, 16, 20, 20, 5, 5, 2, 1, 1, false, 0, false },
    { 1, 32, 32, 1, 40, 1, 3, 0, 1, 1, false, 0, false },  { 1, 64, 64, 17, 17, 1, 7, 0, 1, 1, false, 0, false },
    { 1, 64, 64, 28, 28, 3, 3, 1, 1, 1, false, 2, false },
  };
  for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
    Graph g = graph_of(*state, convolution(*state, &shapes[i]));
    assert_true(graph_winograd(&g, PREC_FP32, &machine));
    ir_verify_graph(&g);
    assert_false(graph_winograd(&g, PREC_STRICT, &machine));
    graph_free(&g);
  }
}

static void others_are_left(void **state) {
  static const Shape shapes[] = {
    { 1, 16, 16, 17, 17, 3, 3, 1, 2, 1, false, 0, false }, /* stride */
    { 1, 16, 16, 17, 17, 3, 3, 2, 1, 2, false, 0, false }, /* dilation */
    { 1, 16, 16, 16, 16, 1, 1, 0, 1, 1, false, 0, false }, /* no window */
    { 1, 1, 16, 28, 28, 3, 3, 1, 1, 1, false, 0, false },  /* one channel: little to multiply */
    { 1, 2, 2, 28, 28, 3, 3, 1, 1, 1, false, 0, false },   /* transforms cost more than they save */
    { 1, 16, 16, 28, 28, 3, 3, 1, 1, 1, false, 16, false }, /* groups of one channel */
    { 1, 16, 16, 28, 28, 9, 9, 4, 1, 1, false, 0, false }, /* more taps than there are points */
  };
  for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
    Graph g = graph_of(*state, convolution(*state, &shapes[i]));
    assert_false(graph_winograd(&g, PREC_FP32, &machine));
    graph_free(&g);
  }
  Target wide = machine; /* whose vectors 9 maps do not fill */
  wide.vector_bytes = 64;
  for (int64_t maps = 9; maps <= 16; maps += 7) {
    Graph few = graph_of(*state, convolution(*state, &(Shape){ 1, 32, maps, 56, 56, 3, 3, 1, 1, 1, false, 0, false }));
    assert_int_equal(graph_winograd(&few, PREC_FP32, &wide), maps == 16);
    graph_free(&few);
  }
  Target scalar = machine;
  scalar.vector_bytes = 0;
  Graph g = graph_of(*state, convolution(*state, &(Shape){ 1, 16, 16, 16, 16, 3, 3, 1, 1, 1, false, 0, false }));
  assert_false(graph_winograd(&g, PREC_FP32, &scalar)); /* where memory is scarce */
  graph_free(&g);
}

static void check_text(IR *ir, Ref r, const char *want) {
  Contraction c;
  Sb s = { 0 };
  assert_true(contraction_find(ir, view_base(ir, r), &c));
  contraction_print(ir, &c, &s);
  assert_string_equal(s.p, want);
  sb_free(&s);
}

static void ranges_have_roles(void **state) {
  IR *ir = *state;
  Ref a = g_param(ir, DT_F32, 3, (int64_t[]){ 12, 128, 64 }, 0), b = g_param(ir, DT_F32, 3, (int64_t[]){ 12, 100, 64 }, 1);
  Ref left = g_reshape(ir, a, 4, (int64_t[]){ 12, 128, 1, 64 }), right = g_reshape(ir, b, 4, (int64_t[]){ 12, 1, 100, 64 });
  check_text(ir, g_reduce(ir, OP_ADD, g_binary(ir, OP_MUL, left, right), 1u << 3), "batch 12, rows 128, columns 100, summed 64");
  check_text(ir, convolution(ir, &(Shape){ 1, 16, 24, 17, 19, 3, 5, 2, 2, 1, false, 0, false }),
             "rows 10x10, columns 24, summed 16x3x5, window of 3 on axis 2 (extent 21) stride 2, window of 5 on axis 3 (extent 23) stride 2");
  Ref v = g_param(ir, DT_F32, 2, (int64_t[]){ 8, 32 }, 2); /* a factor summed alone: sum over i, j of u[j] * v[i,j] */
  Ref u = g_reshape(ir, g_param(ir, DT_F32, 1, (int64_t[]){ 32 }, 3), 2, (int64_t[]){ 1, 32 });
  check_text(ir, g_reduce(ir, OP_ADD, g_binary(ir, OP_MUL, u, v), 3), "summed 32, summed alone 8");
}

static void what_is_no_contraction(void **state) {
  IR *ir = *state;
  Contraction c;
  Ref a = g_param(ir, DT_F32, 2, (int64_t[]){ 8, 6 }, 0), b = g_param(ir, DT_F32, 2, (int64_t[]){ 6, 8 }, 1);
  assert_false(contraction_find(ir, a, &c));
  assert_false(contraction_find(ir, g_reduce(ir, OP_MAX, g_binary(ir, OP_MUL, a, a), 1), &c));
  assert_false(contraction_find(ir, g_reduce(ir, OP_ADD, g_binary(ir, OP_MUL, a, a), 1), &c)); /* a square */
  assert_false(contraction_find(ir, g_reduce(ir, OP_ADD, g_binary(ir, OP_ADD, a, a), 1), &c));
  /* its index is a quotient */
  Ref moved = g_reshape(ir, g_binary(ir, OP_MUL, a, g_permute(ir, b, (int64_t[]){ 1, 0 })), 2, (int64_t[]){ 6, 8 });
  assert_false(contraction_find(ir, g_reduce(ir, OP_ADD, moved, 1), &c));
}

static void factors_end_where_views_mix_axes(void **state) {
  IR *ir = *state;
  Contraction c;
  Ref a = g_param(ir, DT_F32, 2, (int64_t[]){ 8, 6 }, 0), b = g_param(ir, DT_F32, 2, (int64_t[]){ 6, 8 }, 1);
  Ref mixed = g_reshape(ir, b, 2, (int64_t[]){ 8, 6 }), row = g_reshape(ir, b, 3, (int64_t[]){ 2, 3, 8 });
  assert_true(contraction_find(ir, g_reduce(ir, OP_ADD, g_binary(ir, OP_MUL, a, mixed), 1), &c));
  assert_true(c.base[0] == a && c.base[1] == mixed);
  Ref a1 = g_reshape(ir, a, 3, (int64_t[]){ 2, 3, 8 });
  assert_true(contraction_find(ir, g_reduce(ir, OP_ADD, g_binary(ir, OP_MUL, a1, row), 1), &c));
  assert_true(c.base[0] == a1 && c.base[1] == b); /* an axis taken apart is still a sum of ranges */
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test_setup_teardown(the_function_stays, setup, teardown),
    cmocka_unit_test(the_table_is_right),
    cmocka_unit_test_setup_teardown(sums_of_bytes_are_exact, setup, teardown),
    cmocka_unit_test_setup_teardown(large_sums_have_smaller_tiles, setup, teardown),
    cmocka_unit_test_setup_teardown(points_are_chosen, setup, teardown),
    cmocka_unit_test_setup_teardown(others_are_left, setup, teardown),
    cmocka_unit_test_setup_teardown(ranges_have_roles, setup, teardown),
    cmocka_unit_test_setup_teardown(what_is_no_contraction, setup, teardown),
    cmocka_unit_test_setup_teardown(factors_end_where_views_mix_axes, setup, teardown),
  };
  return cmocka_run_group_tests_name("winograd", tests, NULL, NULL);
}

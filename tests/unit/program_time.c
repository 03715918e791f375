/* SPDX-License-Identifier: MIT */
/* predicted times: bytes that loops touch and caches keep, the slowest port, the window, and loops that the C compiler
 * makes loops of vectors */
#include "../../compiler/cost/issue.h"
#include "../../compiler/lower/lower.h"
#include <setjmp.h>
#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

typedef struct World {
  Ctx c;
  IR *ir;
  Refs prog;
  Walks w;
} World;

/* Sums a row of 4096 vectors 8 times, as one variable */
static const char rows[] = "tgc 1 program\n"
                           "b0 = buffer input f32[65536] id=0 slot=0\n"
                           "b1 = buffer output f32[16] id=1 slot=0\n"
                           "r0 = range extent=8 id=0 kind=loop : i64\n"
                           "r1 = range extent=4096 id=1 kind=reduce : i64\n"
                           "v0 = bcast 0.0 : f32x16\n"
                           "loop r0\n"
                           "  v1 = acc v0 id=2 : f32x16\n"
                           "  loop r1\n"
                           "    v2 = get v1 : f32x16\n"
                           "    v3 = mul r1, 16 : i64\n"
                           "    v4 = load b0, v3 : f32x16\n"
                           "    v5 = add v2, v4 : f32x16\n"
                           "    set v1, v5 : f32x16\n"
                           "  end r1\n"
                           "  v6 = get v1 : f32x16\n"
                           "  store b1, 0, v6 : f32\n"
                           "end r0\n";

static void open_world(World *w, const char *text) {
  memset(w, 0, sizeof *w);
  ctx_init(&w->c);
  w->ir = ir_new(&w->c);
  ir_parse_program(w->ir, text, strlen(text), &w->prog);
  walks_read(w->ir, &w->prog, &w->w);
}

static void close_world(World *w) {
  walks_free(&w->w);
  VEC_FREE(&w->prog);
  ir_free(w->ir);
  ctx_free(&w->c);
}

static void a_small_cache_misses_each_turn(void **state) {
  (void)state;
  World w;
  open_world(&w, rows);
  assert_int_equal(w.w.loops.n, 3);
  assert_int_equal(w.w.list.n, 2);
  const Walk *load = &w.w.list.p[0];
  assert_true(walk_bytes(w.ir, &w.w, load, 2, false) == 4 * 65536); /* the inner loop */
  assert_true(walk_bytes(w.ir, &w.w, load, 2, true) == 64);
  assert_true(walk_bytes(w.ir, &w.w, load, 1, false) == 4 * 65536); /* the outer loop reads the same again */
  assert_true(walk_missed(w.ir, &w.w, load, 0, 32768, false) == 8 * 4 * 65536);
  assert_true(walk_missed(w.ir, &w.w, load, 0, 1 << 20, false) == 4 * 65536);
  assert_true(walk_missed(w.ir, &w.w, load, 0, 1 << 20, true) == 0); /* it was there before */
  close_world(&w);
}

/* Rows of 4 KB: each is read twice, and a constant row is read beside it */
static const char twice[] = "tgc 1 program\n"
                            "b0 = buffer input f32[262144] id=0 slot=0\n"
                            "b1 = buffer output f32[262144] id=1 slot=0\n"
                            "r0 = range extent=256 id=0 kind=loop : i64\n"
                            "r1 = range extent=64 id=1 kind=loop : i64\n"
                            "r2 = range extent=64 id=2 kind=loop : i64\n"
                            "loop r0\n"
                            "  v0 = mul r0, 1024 : i64\n"
                            "  loop r1\n"
                            "    v1 = mul r1, 16 : i64\n"
                            "    v2 = add v0, v1 : i64\n"
                            "    v3 = load b0, v2 : f32x16\n"
                            "    store b1, v2, v3 : f32\n"
                            "  end r1\n"
                            "  loop r2\n"
                            "    v4 = mul r2, 16 : i64\n"
                            "    v5 = add v0, v4 : i64\n"
                            "    v6 = load b0, v5 : f32x16\n"
                            "    v7 = add v6, v6 : f32x16\n"
                            "    store b1, v5, v7 : f32\n"
                            "  end r2\n"
                            "end r0\n";

static void a_row_is_found_again(void **state) {
  (void)state;
  World w;
  open_world(&w, twice);
  assert_int_equal(w.w.list.n, 4);
  assert_true(w.w.loops.p[1].touched[1] == 8192); /* a row of each buffer */
  assert_true(walk_missed(w.ir, &w.w, &w.w.list.p[0], 0, 16384, false) == 1 << 20);
  for (int i = 2; i < 4; i++) {
    assert_true(walk_missed(w.ir, &w.w, &w.w.list.p[i], 0, 16384, false) == 0); /* the second load and store */
    assert_true(walk_missed(w.ir, &w.w, &w.w.list.p[i], 0, 4096, false) == 1 << 20); /* too small for both rows */
  }
  close_world(&w);
}

/* Columns of 64 rows, `row` elements apart: -> bytes that miss in a first and in another level of 39 KB */
static void miss_columns(int row, double *first, double *other) {
  char text[1024];
  World w;
  snprintf(text, sizeof text,
           "tgc 1 program\nb0 = buffer input f32[70000] id=0 slot=0\nb1 = buffer output f32[70000] id=1 slot=0\n"
           "r0 = range extent=1024 id=0 kind=loop : i64\nr1 = range extent=64 id=1 kind=loop : i64\n"
           "loop r0\n  loop r1\n    v0 = mul r1, %d : i64\n    v1 = add v0, r0 : i64\n    v2 = load b0, v1 : f32\n"
           "    store b1, 0, v2 : f32\n  end r1\nend r0\n",
           row);
  open_world(&w, text);
  *first = walk_missed(w.ir, &w.w, &w.w.list.p[0], 0, 39 * 1024, false);
  *other = walk_missed(w.ir, &w.w, &w.w.list.p[0], 1, 39 * 1024, false);
  close_world(&w);
}

/* Lines at one place of their pages share one set of a first-level cache. */
static void rows_crowd_a_set(void **state) {
  (void)state;
  double first, other, spread;
  miss_columns(1024, &first, &other); /* a page apart */
  assert_true(first == 1024 * 64 * 64 && other < first / 8);
  miss_columns(1040, &spread, &other); /* a page and a line */
  assert_true(spread == other && spread < first / 8);
}

static double far_away(void *arg, int buf) { return (void)arg, (void)buf, 1e18; }
static double just_now(void *arg, int buf) { return (void)arg, (void)buf, 0; }
static void nothing(void *arg, int buf, double bytes) { (void)arg, (void)buf, (void)bytes; }

static void the_slowest_part_counts(void **state) {
  (void)state;
  World w;
  Arena a = { 0 };
  const char *why;
  open_world(&w, rows);
  const CpuFacts *zen = cpu_named(&a, "zen5");
  const Target *t = target_find(&a, zen->isa, &why);
  const Residence far = { far_away, nothing, NULL }, near = { just_now, nothing, NULL };
  const ProgramTime cold = program_time(w.ir, &w.prog, t, zen, &far), warm = program_time(w.ir, &w.prog, t, zen, &near);
  const double adds = 8 * 4096, chain = adds * zen->at[FACT_ADD_LATENCY];
  assert_true(warm.issue > 0.99 * chain && warm.issue < 1.01 * chain); /* one variable: each sum waits for the last one */
  assert_true(warm.issue == cold.issue && warm.memory < cold.memory);
  assert_true(cold.total >= cold.memory && cold.total >= cold.issue && cold.total < cold.memory + cold.issue);
  CpuFacts slow = *zen;
  slow.at[FACT_L2_READ] /= 100; /* the row is larger than the first level and smaller than the second */
  assert_true(program_time(w.ir, &w.prog, t, &slow, &near).total > 5 * warm.total);
  arena_free(&a);
  close_world(&w);
}

static double issue_of(const char *text, const CpuFacts *f) {
  World w;
  Arena a = { 0 };
  const char *why;
  open_world(&w, text);
  const Target *t = target_find(&a, f->isa, &why);
  const double cycles = program_time(w.ir, &w.prog, t, f, &(Residence){ just_now, nothing, NULL }).issue;
  arena_free(&a);
  close_world(&w);
  return cycles;
}

/* A loop of 4096 iterations: `head` before it, and the body */
static const char *loop_of(char *text, const char *head, const char *body) {
  sprintf(text,
          "tgc 1 program\nb0 = buffer input f32[65536] id=0 slot=0\nb1 = buffer output f32[65536] id=1 slot=0\n"
          "r0 = range extent=4096 id=0 kind=loop : i64\n%sloop r0\n%send r0\n",
          head, body);
  return text;
}

/* Iterations that depend on nothing overlap as far as the window reaches; with half of it, half as many do. */
static void a_window_limits_what_overlaps(void **state) {
  (void)state;
  char text[4096];
  Arena a = { 0 };
  CpuFacts f = *cpu_named(&a, "zen5");
  loop_of(text, "", "  v0 = mul r0, 16 : i64\n  v1 = load b0, v0 : f32x16\n  v2 = tanh v1 : f32x16\n  store b1, v0, v2 : f32\n");
  const double whole = issue_of(text, &f), ports = 4096 * (17 + 12) / 3.0;
  f.at[FACT_WINDOW] /= 2;
  const double half = issue_of(text, &f);
  f.at[FACT_WINDOW] = 10000;
  assert_true(half > 1.4 * whole && half < 2.4 * whole);
  assert_true(issue_of(text, &f) < 1.05 * ports && whole > 1.2 * ports);
  arena_free(&a);
}

/* Scalars beside each other are computed as vectors, unless the loop is one that the C compiler cannot change. */
static void compilers_make_vectors(void **state) {
  (void)state;
  char text[4096];
  Arena a = { 0 };
  const CpuFacts *f = cpu_named(&a, "zen5");
  const double next = issue_of(loop_of(text, "", "  v1 = load b0, r0 : f32\n  v2 = exp v1 : f32\n  store b1, r0, v2 : f32\n"), f);
  const double apart = issue_of(
    loop_of(text, "", "  v0 = mul r0, 3 : i64\n  v1 = load b0, v0 : f32\n  v2 = exp v1 : f32\n  store b1, v0, v2 : f32\n"), f);
  const double jumps = issue_of(
    loop_of(text, "", "  v0 = min r0, 4000 : i64\n  v1 = load b0, v0 : f32\n  v2 = exp v1 : f32\n  store b1, v0, v2 : f32\n"), f);
  assert_true(apart > 15 * next && apart < 17 * next && fabs(jumps / apart - 1) < 0.1);
  /* a sum keeps its order: one addition after another */
  const char *head = "v9 = acc 0.0 id=2 : f32\n",
             *sum = "  v1 = get v9 : f32\n  v2 = load b0, r0 : f32\n  v3 = exp v2 : f32\n"
                    "  v4 = add v1, v3 : f32\n  set v9, v4 : f32\n";
  const double ordered = issue_of(loop_of(text, head, sum), f), adds = 4096 * f->at[FACT_ADD_LATENCY];
  assert_true(ordered >= adds && ordered < 1.05 * adds);
  /* copies whose number is no power of two stay scalars */
  double cycles[2];
  for (int copies = 7; copies <= 8; copies++) {
    char heads[512] = "", body[4096];
    int at = sprintf(body, "  v0 = mul r0, %d : i64\n", copies);
    for (int k = 0, id = 20; k < 4; k++) {
      sprintf(heads + strlen(heads), "v%d = acc 0.0 id=%d : f32\n", k + 1, k + 2);
      at += sprintf(body + at, "  v%d = get v%d : f32\n", id, k + 1);
      for (int i = 0; i < copies; i++, id += 3)
        at += sprintf(body + at, "  v%d = add v0, %d : i64\n  v%d = load b0, v%d : f32\n  v%d = add v%d, v%d : f32\n", id + 1,
                      8192 * k + i, id + 2, id + 1, id + 3, id, id + 2);
      at += sprintf(body + at, "  set v%d, v%d : f32\n", k + 1, id);
      id += 10;
    }
    char long_text[8192];
    cycles[copies - 7] = issue_of(loop_of(long_text, heads, body), f) / copies;
  }
  assert_true(cycles[0] < 0.95 * cycles[1]);
  arena_free(&a);
}

/* Where the first operand is NaN, the result is NaN. A comparison and a choice see to it, and for scalars jumps. If the second
 * operand is a constant, one instruction does so. */
static void maxima_test_for_nan(void **state) {
  (void)state;
  char text[4096];
  Arena a = { 0 };
  CpuFacts f = *cpu_named(&a, "zen5");
  const char *head = "v8 = bcast 0.0 : f32x16\nv9 = acc v8 id=2 : f32x16\n",
             *sum = "  v0 = mul r0, 16 : i64\n  v1 = get v9 : f32x16\n  v2 = load b0, v0 : f32x16\n  v3 = %s v1, v2 : f32x16\n"
                    "  set v9, v3 : f32x16\n",
             *scalar = "v9 = acc 0.0 id=2 : f32\n",
             *greatest = "  v1 = get v9 : f32\n  v0 = mul r0, 3 : i64\n  v2 = load b0, v0 : f32\n  v3 = %s v1, v2 : f32\n"
                         "  set v9, v3 : f32\n";
  char body[1024];
  double cycles[4];
  for (int i = 0; i < 4; i++) {
    snprintf(body, sizeof body, i < 2 ? sum : greatest, i % 2 ? "max" : "add");
    cycles[i] = issue_of(loop_of(text, i < 2 ? head : scalar, body), &f) / 4096;
  }
  assert_true(fabs(cycles[0] - f.at[FACT_ADD_LATENCY]) < 0.1 && fabs(cycles[1] - f.at[FACT_LATENCY] - 2) < 0.1);
  assert_true(cycles[3] > cycles[2] + 0.2 * f.at[FACT_JUMP]);
  const char *least = "  v0 = mul r0, 16 : i64\n  v1 = load b0, v0 : f32x16\n  v2 = max v1, %s : f32x16\n"
                      "  v3 = max v2, %s : f32x16\n  v4 = max v3, %s : f32x16\n  store b1, v0, v4 : f32\n";
  for (int i = 0; i < 2; i++) {
    const char *with = i ? "v7" : "v8"; /* loaded, constant */
    snprintf(body, sizeof body, least, with, with, with);
    cycles[i] = issue_of(loop_of(text, "v8 = bcast 0.0 : f32x16\nv7 = load b1, 0 : f32x16\n", body), &f) / 4096;
  }
  assert_true(cycles[1] > 2 * cycles[0]);
  arena_free(&a);
}

/* Lanes of one vector move together; scalars move one by one. */
static void lanes_move_together(void **state) {
  (void)state;
  char text[4096];
  Arena a = { 0 };
  const CpuFacts *f = cpu_named(&a, "zen5");
  const char *both = "  v0 = mul r0, 16 : i64\n  v1 = load b0, v0 : f32x2\n  v2 = lane v1 lane=0 : f32\n"
                     "  v3 = lane v1 lane=1 : f32\n  v4 = vec v2, v3, 0.0, 0.0 : f32x4\n  store b1, v0, v4 : f32\n",
             *apart = "  v0 = mul r0, 16 : i64\n  v1 = load b0, v0 : f32x2\n  v5 = load b1, v0 : f32x2\n"
                      "  v2 = lane v1 lane=1 : f32\n  v3 = lane v5 lane=1 : f32\n  v6 = lane v1 lane=0 : f32\n"
                      "  v7 = lane v5 lane=0 : f32\n  v4 = vec v2, v3, v6, v7 : f32x4\n  store b1, v0, v4 : f32\n";
  const double moves = f->at[FACT_SHUFFLE] / 16; /* per cycle */
  assert_true(issue_of(loop_of(text, "", both), f) / 4096 < 1.3);
  assert_true(fabs(issue_of(loop_of(text, "", apart), f) / 4096 - 7 / moves) < 0.2);
  arena_free(&a);
}

/* functions.h says of each function what lower/libm.c makes of it. */
static FunctionCost counted(Op op, FunctionOps has) {
  enum { MOST = 1000 };
  Ctx c;
  Refs order = { 0 };
  FunctionCost n = { 0 };
  RefMap at = { 0 };
  double path[MOST] = { 0 };
  ctx_init(&c);
  IR *ir = ir_new(&c);
  Ref x = node_make(ir, OP_RANGE, DT_F32, 1, 0, NULL, 0, NULL, 0, NULL),
      r = libm_expr(ir, node_make(ir, op, DT_F32, 1, 1, &x, 0, NULL, 0, NULL), has);
  ir_toposort(ir, &r, 1, &order);
  assert_true(order.n < MOST);
  for (size_t i = 0; i < order.n; i++) {
    const Node *e = node(ir, order.p[i]);
    const double wide = e->dt == DT_F64 ? 2 : 1;
    double late = 0;
    for (int k = 0; k < e->nsrc; k++) late = fmax(late, path[refmap_get(&at, e->src[k])]);
    refmap_set(&at, order.p[i], (Ref)i + 1);
    switch ((Op)e->op) {
    case OP_CONST: case OP_RANGE: case OP_BITCAST: case OP_VEC: break;
    case OP_LOOKUP: n.lookups++, late++; break;
    case OP_MUL: case OP_MULACC: n.multiply += wide, late++; break;
    case OP_DIV: n.divide++, late += 3; break;
    case OP_SCALB: n.other += 2, late++; break;
    default: n.other += wide, late += dt_float((DType)e->dt) && (e->op == OP_ADD || e->op == OP_SUB) ? 1 : 1.0 / 3;
    }
    path[i + 1] = late;
    n.path = fmax(n.path, late);
  }
  VEC_FREE(&order);
  refmap_free(&at);
  ir_free(ir);
  ctx_free(&c);
  return n;
}

static void functions_cost_what_they_are_made_of(void **state) {
  (void)state;
  Arena a = { 0 };
  const char *why;
  int functions = 0;
  for (int op = 0; op < OP_COUNT; op++)
    for (int v4 = 0; v4 < 2 && libm_has((Op)op, DT_F32); v4++) {
      const Timer m = { .t = target_find(&a, v4 ? "x86-64-v4" : "x86-64-v3", &why) };
      const FunctionCost is = function_cost(&m, &(Node){ .op = (uint8_t)op, .dt = DT_F32, .lanes = 16 });
      const FunctionCost want = counted((Op)op, (FunctionOps){ v4, v4 });
      if (is.multiply != want.multiply || is.other != want.other || is.divide != want.divide || is.path != round(want.path) ||
          is.lookups != want.lookups)
        fail_msg("%s: %g multiplications, %g others, %g quotients, %g lookups, a path of %g; functions.h says %g, %g, %g, %g, %g",
                 op_info[op].name, want.multiply, want.other, want.divide, want.lookups, want.path, is.multiply, is.other,
                 is.divide, is.lookups, is.path);
      functions += v4;
    }
  assert_int_equal(functions, 8);
  arena_free(&a);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(a_small_cache_misses_each_turn),
    cmocka_unit_test(a_row_is_found_again),
    cmocka_unit_test(rows_crowd_a_set),
    cmocka_unit_test(the_slowest_part_counts),
    cmocka_unit_test(a_window_limits_what_overlaps),
    cmocka_unit_test(compilers_make_vectors),
    cmocka_unit_test(maxima_test_for_nan),
    cmocka_unit_test(lanes_move_together),
    cmocka_unit_test(functions_cost_what_they_are_made_of),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

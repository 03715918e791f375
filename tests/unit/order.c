/* SPDX-License-Identifier: MIT */
/* order.c (unit test): the order of nodes follows from their structure. It is total, and does not depend on the order in which
 * nodes were made. Neither does the code of a graph. The test makes all nodes beforehand in reverse order, uses other numbers of
 * ranges, and changes the order of the text's lines. */
#include "fixture.h"
#include "../../backends/backends.h"
#include "../../compiler/driver.h"
#include "../../compiler/ir/refmap.h"
#include "../../compiler/opt/opts.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
#include <cmocka.h>

/* ---- the order itself ---- */
enum { LEAVES = 9, RANGES = 4, NODES = 120 };

static uint32_t next_seed(uint32_t *seed) { return (*seed = *seed * 1664525u + 1013904223u) >> 8; }

static Ref leaf(IR *ir, int i) {
  if (i < RANGES) return node_make(ir, OP_RANGE, DT_I64, 1, 0, NULL, 3, (int64_t[]){ 5 + i % 2, i, RK_LOOP }, 0, NULL);
  if (i < RANGES + 2) return ix_const(ir, i);
  const int64_t id = i - RANGES - 2;
  return node_make(ir, OP_BUFFER, DT_I64, 1, 0, NULL, 1, &id, 0, NULL);
}

/* The same nodes in every IR, in p[] by a number of their own. The leaves are made forwards or backwards. */
static void make_nodes(IR *ir, bool backwards, Ref *p) {
  static const Op ops[] = { OP_MIN, OP_MAX, OP_FLDIV, OP_FLMOD, OP_SUB };
  static const BufKind kinds[] = { BUF_ARENA, BUF_OUTPUT, BUF_INPUT };
  uint32_t seed = 7;
  for (int i = 0; i < 3; i++) VEC_PUSH(&ir->bufs, ((Buf){ .kind = kinds[i], .dt = DT_I64, .elems = 64 }));
  for (int i = 0; i < LEAVES; i++) {
    const int k = backwards ? LEAVES - 1 - i : i;
    p[k] = leaf(ir, k);
  }
  for (int i = LEAVES; i < NODES; i++) {
    const Ref a = p[next_seed(&seed) % (uint32_t)i], b = p[next_seed(&seed) % (uint32_t)(RANGES + 2)];
    const bool buffer = node(ir, a)->op == OP_BUFFER;
    const Op op = buffer ? OP_LOAD : ops[next_seed(&seed) % 5];
    p[i] = node_make(ir, op, DT_I64, 1, 2, (Ref[]){ a, b }, 0, NULL, 0, NULL);
  }
}

static int sign(int v) { return (v > 0) - (v < 0); }

static void order_is_total(void **state) {
  Ctx c;
  Ref a[NODES], b[NODES];
  (void)state;
  ctx_init(&c);
  IR *x = ir_new(&c), *y = ir_new(&c);
  make_nodes(x, false, a);
  make_nodes(y, true, b);
  int as_made = 0, others = 0;
  for (int i = 0; i < NODES; i++)
    for (int k = 0; k < NODES; k++) {
      const int by = sign(node_order(x, a[i], a[k]));
      assert_int_equal(by, -sign(node_order(x, a[k], a[i])));
      assert_int_equal(by == 0, a[i] == a[k]);
      assert_int_equal(by, sign(node_order(y, b[i], b[k])));
      *(by == sign((int)a[i] - (int)a[k]) ? &as_made : &others) += 1;
      for (int j = 0; j < NODES; j += 7)
        if (by < 0 && node_order(x, a[k], a[j]) < 0) assert_true(node_order(x, a[i], a[j]) < 0);
    }
  assert_true(as_made > NODES && others > NODES);
  ir_free(x);
  ir_free(y);
  ctx_free(&c);
}

/* ranges from the outside inwards, a range before what is made of it, constants last */
static void sums_read_as_loops_nest(void **state) {
  IR *ir = *state;
  Ref r[3];
  for (int i = 2; i >= 0; i--) r[i] = node_make(ir, OP_RANGE, DT_I64, 1, 0, NULL, 3, (int64_t[]){ 9, i, RK_LOOP }, 0, NULL);
  const Ref half = ix_div(ir, r[1], 2);
  Ref sum = ix_add(ir, ix_const(ir, 5), ix_mul(ir, r[2], 2));
  sum = ix_add(ir, ix_add(ir, sum, half), ix_add(ir, ix_mul(ir, r[1], 7), ix_mul(ir, r[0], 63)));
  const Ref want[] = { ix_const(ir, 5), r[2], half, r[1] };
  for (size_t i = 0; i < sizeof want / sizeof *want; i++) {
    const Node *x = node(ir, sum), *term = node(ir, x->src[1]);
    assert_int_equal(x->op, OP_ADD);
    assert_int_equal(term->op == OP_MUL ? term->src[0] : x->src[1], want[i]);
    sum = x->src[0];
  }
  assert_int_equal(node(ir, sum)->src[0], r[0]);
}

/* conditions joined in any order are one node */
static void conditions_are_one_node(void **state) {
  IR *ir = *state;
  const Ref a = range_make(ir, 9, RK_LOOP), b = range_make(ir, 9, RK_LOOP);
  const Ref p = ix_lt(ir, b, ix_const(ir, 4)), q = ix_lt(ir, a, ix_const(ir, 3)), r = ix_lt(ir, a, b);
  assert_int_equal(ix_and(ir, p, ix_and(ir, q, r)), ix_and(ir, ix_and(ir, r, p), q));
  assert_int_equal(node(ir, ix_and(ir, p, q))->src[0], q);
}

/* ---- what lies below a node ---- */
static void walk(const IR *ir, Ref r, RefMap *seen, Refs *out) {
  const Node *x = node(ir, r);
  if (refmap_get(seen, r)) return;
  for (int i = 0; i < x->nsrc; i++) walk(ir, x->src[i], seen, out);
  refmap_set(seen, r, r);
  VEC_PUSH(out, r);
}

/* Asked again and again, in between others and while nodes are made, for one root after another in the same list */
static void kept_orders_are_right(void **state) {
  IR *ir = *state;
  Ref p[NODES];
  Refs got = { 0 };
  uint32_t seed = 3;
  make_nodes(ir, false, p);
  for (int i = 0; i < 4000; i++) {
    const bool fresh = !(next_seed(&seed) % 16);
    Ref root = p[next_seed(&seed) % (next_seed(&seed) % 2 ? 20 : NODES)];
    if (fresh) root = node_make(ir, OP_SUB, DT_I64, 1, 2, (Ref[]){ root, ix_const(ir, i) }, 0, NULL, 0, NULL);
    Refs want = { 0 };
    RefMap seen = { 0 };
    if (got.n > 500) got.n = 0;
    const size_t from = got.n;
    walk(ir, root, &seen, &want);
    ir_toposort(ir, &root, 1, &got);
    assert_int_equal(got.n - from, want.n);
    assert_memory_equal(got.p + from, want.p, want.n * sizeof *want.p);
    memset(got.p + from, 0xff, (got.n - from) * sizeof *got.p); /* the caller's own */
    refmap_free(&seen);
    VEC_FREE(&want);
  }
  VEC_FREE(&got);
}

/* ---- code ---- */
static const char *const graphs[] = {
  /* a strided convolution of a padded picture */
  "x = input f32[3,19,17]\nw = input f32[8,3,1,1,3,3]\np = pad x, 0.0 lo=[0,1,1] hi=[0,1,1]\n"
  "h = window p axis=1 stride=2 dilation=1 : [3,10,19,3]\nv = window h axis=2 stride=1 dilation=1 : [3,10,17,3,3]\n"
  "r = reshape v : [1,3,10,17,3,3]\ne = expand r : [8,3,10,17,3,3]\nf = expand w : [8,3,10,17,3,3]\nm = mul e, f\n"
  "s = reduce m op=add axes=[1,4,5]\ny = max s, 0.0\noutput y\n",
  /* a pool of what a kernel of its own makes */
  "x = input f32[5,15,17]\na = tanh x\np = pad a, -1.0 lo=[0,1,2] hi=[0,1,2]\n"
  "h = window p axis=1 stride=1 dilation=2 : [5,13,21,3]\nv = window h axis=2 stride=2 dilation=1 : [5,13,9,3,5]\n"
  "s = reduce v op=max axes=[3,4]\noutput s\noutput a\n",
  /* quotients and remainders that do not divide */
  "x = input f32[37,5,12]\na = reshape x : [15,148]\nt = permute a perm=[1,0]\nb = reshape t : [20,111]\ne = exp b\noutput e\n",
  "x = input f32[6,4]\na = permute x perm=[1,0]\nb = reshape a : [24]\nc = exp b\nd = reshape a : [3,8]\ne = neg d\n"
  "output c\noutput e\n",
  /* indices that are loaded, two of them in one address */
  "x = input f32[50,7,9]\ni = input i64[11,7,9]\nj = input i64[11,3,9]\ny = gather x, i axis=0\nz = gather y, j axis=1\n"
  "r = sin z\noutput r\n",
  "x = input f32[5,3]\ni = input i64[7,1]\nu = input f32[7,3]\na = exp x\nb = neg u\n"
  "y = scatter a, i, b op=add axis=0\nc = mul y, 2.0\noutput c\n",
  /* parts beside one another, read across their border */
  "x = input f32[2,13]\ny = input f32[2,10]\na = exp x\nb = neg y\nc = cat a, b axis=1\n"
  "w = window c axis=1 stride=3 dilation=2 : [2,6,4]\ns = reduce w op=add axes=[2]\noutput s\n",
  /* a product of matrices, and its softmax */
  "a = input f32[67,131]\nb = input f32[131,145]\np = reshape a : [67,131,1]\nq = expand p : [67,131,145]\n"
  "r = reshape b : [1,131,145]\n"
  "s = expand r : [67,131,145]\nt = mul q, s\nu = reduce t op=add axes=[1]\nv = reduce u op=max axes=[2]\n"
  "w = expand v : [67,1,145]\n"
  "x = sub u, w\ny = exp x\nz = reduce y op=add axes=[2]\nm = expand z : [67,1,145]\nn = div y, m\noutput n\n",
};

/* Lines that may change places: the same graph, its nodes made in another order. */
static const char *const permuted[][2] = {
  { "x = input f32[40,23]\ny = input f32[40,23]\na = exp x\nb = sin y\nc = mul a, b\nd = reshape c : [23,40]\n"
    "e = permute d perm=[1,0]\n"
    "f = reshape e : [40,23]\ng = sub f, b\noutput g\n",
    "x = input f32[40,23]\ny = input f32[40,23]\nb = sin y\na = exp x\nc = mul a, b\nd = reshape c : [23,40]\n"
    "e = permute d perm=[1,0]\n"
    "f = reshape e : [40,23]\ng = sub f, b\noutput g\n" },
  { "x = input f32[30,7]\nw = weight f32[7] {1, 2, 3, 4, 5, 6, 7}\nv = weight f32[7] {3, 1, 4, 1, 5, 9, 2}\n"
    "a = reshape w : [1,7]\nb = reshape v : [1,7]\nc = expand a : [30,7]\nd = expand b : [30,7]\ne = mul x, c\nf = add e, d\n"
    "g = reshape f : [21,10]\nh = permute g perm=[1,0]\ni = reshape h : [6,35]\nj = reduce i op=add axes=[1]\noutput j\n"
    "output f\n",
    "v = weight f32[7] {3, 1, 4, 1, 5, 9, 2}\nw = weight f32[7] {1, 2, 3, 4, 5, 6, 7}\nb = reshape v : [1,7]\n"
    "d = expand b : [30,7]\n"
    "x = input f32[30,7]\na = reshape w : [1,7]\nc = expand a : [30,7]\ne = mul x, c\nf = add e, d\n"
    "g = reshape f : [21,10]\nh = permute g perm=[1,0]\ni = reshape h : [6,35]\nj = reduce i op=add axes=[1]\noutput j\n"
    "output f\n" },
};

static Graph *parse(Ctx *c, const char *lines) {
  const char *text = arena_printf(&c->model, "tgc 1 graph\n%s", lines);
  return ir_parse_graph(c, text, strlen(text), "test");
}

/* The kernels as C. All passes run, so the IR holds what they made. */
static void compile(Graph *g, const char *isa, Sb *text) {
  const char *why = NULL;
  const CompileOptions o = { .target = target_find(&g->ir->ctx->model, isa, &why), .backend = backends[0] };
  assert_non_null(o.target);
  Plan *p = compile_graph(g, &o);
  for (size_t k = 0; k < p->kernels.n; k++)
    if (p->kernels.p[k].code == (int)k) sb_puts(text, p->kernels.p[k].text);
}

/* The node of from in to, made with its sources if it is not there. Its expressions are small enough for recursion. */
static Ref copied(const IR *from, IR *to, Ref r, RefMap *at) {
  const Node *x = node(from, r);
  Ref known = refmap_get(at, r), *src = ARENA_NEW(&to->ctx->model, Ref, x->nsrc + 1u);
  if (known) return known;
  for (int i = x->nsrc; i-- > 0;) src[i] = copied(from, to, x->src[i], at);
  known = node_make(to, (Op)x->op, (DType)x->dt, x->lanes, x->nsrc, src, x->narg, x->arg, x->rank, x->dims);
  refmap_set(at, r, known);
  return known;
}

/* Index arithmetic of the old IR in the new one, youngest first; the number of nodes that are older than one they were younger
 * than */
static int make_beforehand(const IR *old, IR *ir) {
  RefMap at = { 0 };
  int turned = 0;
  Ref last = 0;
  for (Ref r = old->n; r-- > 1;) {
    const Node *x = node(old, r);
    const bool sum = x->dt == DT_I64 && !x->rank && op_info[x->op].level == L_EXPR;
    if (!(sum || x->op == OP_RANGE) || x->newest_range == 0) continue;
    const Ref now = copied(old, ir, r, &at);
    turned += last && now > last;
    last = now;
  }
  refmap_free(&at);
  return turned;
}

static void same_text(const Sb *want, const Sb *got, const char *lines, const char *isa) {
  if (want->n != got->n || memcmp(want->p, got->p, want->n))
    fail_msg("for %s, other code of\n%s\n---- code\n%s\n---- other code\n%s", isa, lines, want->p, got->p);
}

static const char *const isas[] = { "portable", "x86-64-v3", "x86-64-v4", "neon", "cortex-m7" };
enum { ISAS = sizeof isas / sizeof *isas };

static void code_without_history(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof graphs / sizeof *graphs; i++)
    for (int k = 0; k < ISAS; k++) {
      Ctx c;
      Sb plain = { 0 }, turned = { 0 }, numbered = { 0 };
      ctx_init(&c);
      c.quiet = true;
      Graph *g = parse(&c, graphs[i]), *h = parse(&c, graphs[i]), *f = parse(&c, graphs[i]);
      compile(g, isas[k], &plain);
      assert_true(plain.n > 100);
      assert_true(make_beforehand(g->ir, h->ir) > 3);
      compile(h, isas[k], &turned);
      f->ir->next_range = 1000;
      compile(f, isas[k], &numbered);
      same_text(&plain, &turned, graphs[i], isas[k]);
      same_text(&plain, &numbered, graphs[i], isas[k]);
      sb_free(&plain);
      sb_free(&turned);
      sb_free(&numbered);
      ir_free(g->ir);
      ir_free(h->ir);
      ir_free(f->ir);
      ctx_free(&c);
    }
}

static void lines_in_another_order(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof permuted / sizeof *permuted; i++)
    for (int k = 0; k < ISAS; k++) {
      Ctx c;
      Sb text[2] = { { 0 } };
      ctx_init(&c);
      for (int s = 0; s < 2; s++) {
        Graph *g = parse(&c, permuted[i][s]);
        compile(g, isas[k], &text[s]);
        ir_free(g->ir);
      }
      same_text(&text[0], &text[1], permuted[i][0], isas[k]);
      for (int s = 0; s < 2; s++) sb_free(&text[s]);
      ctx_free(&c);
    }
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(order_is_total),
    cmocka_unit_test_setup_teardown(sums_read_as_loops_nest, setup, teardown),
    cmocka_unit_test_setup_teardown(conditions_are_one_node, setup, teardown),
    cmocka_unit_test_setup_teardown(kept_orders_are_right, setup, teardown),
    cmocka_unit_test(code_without_history),
    cmocka_unit_test(lines_in_another_order),
  };
  return cmocka_run_group_tests_name("order", tests, NULL, NULL);
}

/* SPDX-License-Identifier: MIT */
/* the text form: literals of every type, graphs that print and read back alike, kernels, programs, messages */
#include "../../compiler/ir/ir.h"
#include <setjmp.h>
#include <cmocka.h>
#include <locale.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- literals ---- */
static void round_trip(DType d, int64_t bits) {
  Sb s = { 0 };
  int64_t back;
  literal_put(&s, d, bits);
  const char *wrong = literal_parse(d, s.p, s.n, &back);
  if (wrong || dt_wrap(d, (uint64_t)back) != dt_wrap(d, (uint64_t)bits))
    fail_msg("%s: %s %s", dtype_info[d].text, s.p, wrong ? wrong : "differs");
  sb_free(&s);
}

static void every_16_bit_float_round_trips(void **state) {
  (void)state;
  for (int64_t bits = 0; bits < 65536; bits++) {
    round_trip(DT_F16, bits);
    round_trip(DT_BF16, bits);
  }
}

static void wide_values_round_trip(void **state) {
  (void)state;
  uint64_t x = 88172645463325252u;
  for (int i = 0; i < 20000; i++) {
    x ^= x << 13, x ^= x >> 7, x ^= x << 17;
    for (int d = 1; d < DT_COUNT; d++) round_trip((DType)d, (int64_t)dt_wrap((DType)d, x));
  }
  for (int d = 1; d < DT_COUNT; d++)
    for (int k = 0; k < 64; k++)
      for (int e = -1; e <= 1; e++) round_trip((DType)d, (int64_t)dt_wrap((DType)d, ((uint64_t)1 << k) + (uint64_t)e));
}

static int64_t literal_bits(DType d, const char *text) {
  int64_t bits = 0;
  const char *wrong = literal_parse(d, text, strlen(text), &bits);
  if (wrong) fail_msg("%s: %s %s", dtype_info[d].text, text, wrong);
  return bits;
}

static void refused(DType d, const char *text) {
  int64_t bits;
  if (!literal_parse(d, text, strlen(text), &bits)) fail_msg("%s: %s is accepted", dtype_info[d].text, text);
}

static void literals_round_once_or_are_refused(void **state) {
  (void)state;
  assert_int_equal(literal_bits(DT_F32, "0.1"), 0x3dcccccd);
  assert_int_equal(literal_bits(DT_F32, "-0.0"), 0x80000000);
  assert_int_equal(literal_bits(DT_F32, "0x1p-149"), 1);
  assert_int_equal(literal_bits(DT_F32, "-inf"), 0xff800000);
  assert_int_equal(literal_bits(DT_F32, "nan:0x7f800001"), 0x7f800001);
  assert_int_equal(literal_bits(DT_F32, "16777217.0000000000000000000000001"), 0x4b800001); /* just above a tie: not through double */
  assert_int_equal(literal_bits(DT_F16, "2049.0000000000000000000001"), 0x6801);            /* the same, of f16 */
  assert_int_equal(literal_bits(DT_F16, "2048.9999999999999999999999"), 0x6800);
  assert_int_equal(literal_bits(DT_F16, "2049"), 0x6800);
  assert_int_equal(literal_bits(DT_F16, "-2051.0000000000000000000001"), 0xe802);
  assert_int_equal(literal_bits(DT_BF16, "257.00000000000000000000001"), 0x4381);
  assert_true(literal_bits(DT_I64, "-9223372036854775808") == INT64_MIN);
  assert_true(literal_bits(DT_U64, "18446744073709551615") == -1);
  assert_int_equal(literal_bits(DT_U8, "0xff"), 255);
  assert_int_equal(literal_bits(DT_BOOL, "true"), 1);
  refused(DT_F32, "1e999");
  refused(DT_F32, "3.5e38");
  refused(DT_F16, "65520");
  refused(DT_F32, "1,5");
  refused(DT_F32, "infinity");
  refused(DT_F32, "nan(1)");
  refused(DT_F32, "nan:0x7f800000");
  refused(DT_F32, "1.0f");
  refused(DT_F32, "-");
  refused(DT_F32, "");
  refused(DT_I64, "9223372036854775808");
  refused(DT_U64, "18446744073709551616");
  refused(DT_U8, "-1");
  refused(DT_I8, "128");
  refused(DT_I8, "1.0");
  refused(DT_BOOL, "2");
}

static void literals_ignore_the_locale(void **state) {
  (void)state;
  static const char *const comma[] = { "de_DE.UTF-8", "de_DE.utf8", "fr_FR.UTF-8", "de_DE", "nl_NL.UTF-8" };
  const char *found = NULL;
  for (size_t i = 0; !found && i < sizeof comma / sizeof *comma; i++) found = setlocale(LC_ALL, comma[i]);
  if (!found) skip(); /* no locale with a decimal comma here */
  Sb s = { 0 };
  literal_put(&s, DT_F32, literal_bits(DT_F32, "1.5"));
  assert_string_equal(s.p, "1.5");
  refused(DT_F32, "1,5");
  setlocale(LC_ALL, "C");
  sb_free(&s);
}

/* ---- graphs ---- */
typedef struct Job {
  const char *text;
  Graph *g;
  Ref sink;
  Refs *list;
  IR *ir;
} Job;
static void parse_graph(Ctx *c, void *arg) {
  Job *j = arg;
  j->g = ir_parse_graph(c, j->text, strlen(j->text), "t.tg");
}

static Graph *graph(Ctx *c, const char *text) {
  Job j = { .text = text };
  if (ctx_try(c, parse_graph, &j)) fail_msg("refused: %s", text);
  ir_verify_graph(j.g);
  return j.g;
}

static void free_graph(Graph *g) {
  VEC_FREE(&g->inputs);
  VEC_FREE(&g->outputs);
  ir_free(g->ir);
}

static void same_nodes(const IR *a, const IR *b) {
  assert_int_equal(a->n, b->n);
  for (Ref r = 1; r < a->n; r++) {
    const Node *x = node(a, r), *y = node(b, r);
    assert_int_equal(x->op, y->op);
    assert_int_equal(x->dt, y->dt);
    assert_int_equal(x->rank, y->rank);
    assert_int_equal(x->nsrc, y->nsrc);
    assert_int_equal(x->narg, y->narg);
    if (x->nsrc) assert_memory_equal(x->src, y->src, x->nsrc * sizeof *x->src);
    if (x->narg) assert_memory_equal(x->arg, y->arg, x->narg * sizeof *x->arg);
    if (x->rank) assert_memory_equal(x->dims, y->dims, x->rank * sizeof *x->dims);
  }
}

/* print(parse(x)) is a fixed point, and the compacted graph equals what its text reads as, Ref for Ref */
static void fixpoint(const char *text, const char *want) {
  Ctx c;
  ctx_init(&c);
  Graph *a = graph(&c, text);
  Sb first = { 0 }, second = { 0 };
  ir_print_graph(a, &first);
  Graph *b = graph(&c, first.p);
  ir_print_graph(b, &second);
  assert_string_equal(first.p, second.p);
  if (want) assert_string_equal(first.p, want);
  Graph *small = ir_compact(a);
  ir_verify_graph(small);
  same_nodes(small->ir, b->ir);
  sb_free(&first);
  sb_free(&second);
  free_graph(a);
  free_graph(b);
  free_graph(small);
  ctx_free(&c);
}

static void graphs_print_as_they_read(void **state) {
  (void)state;
  fixpoint("x = input f32[1,4]\ny = max x, 0\noutput y\n",
           "tgc 1 graph\nx0 = input f32[1,4] \"x\"\nv0 = max x0, 0.0 : f32[1,4]\noutput v0 \"y\"\n");
  fixpoint("tgc 1 graph \"two \\\"names\\\"\"  # a comment\r\n\r\na = input f32[2,3] \"in put\"\nb = input f32[3]\n"
           "w = weight f32[3] \"w\" {1, 0x1p-149,\n  nan:0x7f800001}\ns = add a, b\nt = mul s, w\nu = cmplt 2, t\nv = where u, "
           "t, -inf\noutput v\noutput s \"s\"\n",
           "tgc 1 graph \"two \\\"names\\\"\"\nx0 = input f32[2,3] \"in put\"\nx1 = input f32[3] \"b\"\n"
           "v0 = reshape x1 : f32[1,3]\nv1 = expand v0 : f32[2,3]\nv2 = add x0, v1 : f32[2,3]\n"
           "w0 = weight f32[3] \"w\" {1.0, 1.4013e-45, nan:0x7f800001}\nv3 = reshape w0 : f32[1,3]\nv4 = expand v3 : f32[2,3]\n"
           "v5 = mul v2, v4 : f32[2,3]\nv6 = cmplt 2.0, v5 : bool[2,3]\nv7 = where v6, v5, -inf : f32[2,3]\n"
           "output v7 \"v\"\noutput v2 \"s\"\n");
  fixpoint("x = input f16[4,5,6]\nunused = input i64\na = permute x perm=[2,0,1]\nb = shrink a begin=[5,0,1] step=[-2,1,2]\n"
           "c = pad b, 0.5 lo=[0,1,0] hi=[2,0,0]\nd = reduce c op=max axes=[1]\ne = window d axis=0 stride=2 : [2,1,2,3]\n"
           "i = iota : i64[4]\nj = reshape i : [4,1,1]\nk = gather x, j axis=0\nl = cat k, x axis=2\nm = cast l : f32\n"
           "n = bitcast m : u32\no = shr n, 3\nq = const 2 : u32[4,5,12]\nr = mod o, q\noutput e\noutput r\noutput q\noutput q "
           "\"again\"\n",
           NULL);
  fixpoint("x = input bool[2]\ny = and x, true\nz = xor y, y\nw = where z, 1, 2 : i8\ns = add 1.5, 2.5 : f64[2,2]\nt = add 1, 2 "
           ": u64\n"
           "e = cmpeq 3, s\noutput w\noutput s\noutput t\noutput e\noutput x\n",
           NULL);
  fixpoint("x = input f32[0,3]\nw = weight i8[0,2] {}\ny = neg x\nv = cast w : f32\noutput y\noutput v\n", NULL);
  /* every keyword works as a name */
  fixpoint("tgc = input f32[2]\ninput = max tgc, 0\nweight = exp input\noutput = add weight, tgc\nmax = max output, weight\n"
           "f32 = neg max\ngraph = sub f32, max\naxes = neg graph\noutput output\noutput axes\n",
           NULL);
  fixpoint("x = input f32[2] \"a\\x01\\x7f\\n\\t\\\\ \\\"\\xe2\\x80\\xae\xc3\xa9\"\noutput x \"\"\n", NULL);
}

static void scatters_print_as_they_read(void **state) {
  (void)state;
  fixpoint("x = input f32[4,3]\ni = input i64[5,1]\nu = input f32[1,3]\na = scatter x, i, u op=none axis=0\n"
           "b = scatter x, i, u op=max axis=0\noutput b\n"
           "output a\n",
           NULL);
}

/* an index of the model is clamped into range once, unless it is known to fit */
static void indices_stay_in_range(void **state) {
  (void)state;
  fixpoint("x = input f32[4]\ni = input i64[2]\nw = weight i64[2] {3, 0}\na = gather x, i axis=0\nb = gather x, w axis=0\noutput "
           "a\noutput b\n",
           "tgc 1 graph\nx0 = input f32[4] \"x\"\nx1 = input i64[2] \"i\"\nv0 = max x1, 0 : i64[2]\nv1 = min v0, 3 : i64[2]\n"
           "v2 = gather x0, v1 axis=0 : f32[2]\nw0 = weight i64[2] {3, 0}\nv3 = gather x0, w0 axis=0 : f32[2]\noutput v2 "
           "\"a\"\noutput v3 \"b\"\n");
}

static void shared_subgraphs_stay_linear(void **state) {
  (void)state;
  Sb s = { 0 };
  sb_puts(&s, "v0 = input f32[2]\n");
  for (int i = 1; i <= 3000; i++) sb_printf(&s, "v%d = add v%d, v%d\n", i, i - 1, i - 1);
  sb_puts(&s, "output v3000\n");
  fixpoint(s.p, NULL);
  sb_free(&s);
}

/* a constant used both inside lines and by name keeps one place in the order */
static void constants_keep_their_place(void **state) {
  (void)state;
  fixpoint("x = input f32[2,2]\nc = const 3 : f32[2,2]\ny = add x, c\nd = const 3 : f32[]\np = pad y, d lo=[1,1] hi=[0,0]\n"
           "q = cat p, p axis=0\noutput q\noutput d\n",
           NULL);
}

static void blobs_hold_long_weights(void **state) {
  (void)state;
  Ctx c;
  ctx_init(&c);
  float v[40];
  for (int i = 0; i < 40; i++) v[i] = (float)i;
  Graph g = { .ir = ir_new(&c), .name = "g" };
  Tensor big = { .dt = DT_F32, .rank = 1, .dims = { 20 }, .elems = 20, .data = v, .name = "big" }, little = big;
  little.elems = little.dims[0] = 2;
  Ref a = g_weight(g.ir, ir_tensor(g.ir, &little)), b = g_weight(g.ir, ir_tensor(g.ir, &big));
  big.data = v + 20;
  Ref d = g_weight(g.ir, ir_tensor(g.ir, &big));
  Ref y = g_cat(g.ir, 3, (Ref[]){ a, b, d }, 0);
  GIO out = { .ref = y, .name = "y", .dt = DT_F32, .rank = 1, .dims = { 42 } };
  VEC_PUSH(&g.outputs, out);
  Sb text = { 0 }, blob = { 0 };
  ir_print_graph_blob(&g, &text, &blob, "g.bin");
  assert_int_equal(blob.n, 128 + 80);
  assert_memory_equal(blob.p, v, 80);
  assert_memory_equal(blob.p + 128, v + 20, 80);
  assert_non_null(strstr(text.p, "w0 = weight f32[2] \"big\" {0.0, 1.0}\n"));
  assert_non_null(strstr(text.p, "@\"g.bin\" offset=128 sha256="));
  sb_free(&text);
  sb_free(&blob);
  free_graph(&g);
  ctx_free(&c);
}

/* ---- kernels and programs ---- */
static void parse_kernel(Ctx *c, void *arg) {
  Job *j = arg;
  (void)c;
  j->sink = ir_parse_kernel(j->ir, j->text, strlen(j->text));
}

static void parse_program(Ctx *c, void *arg) {
  Job *j = arg;
  (void)c;
  ir_parse_program(j->ir, j->text, strlen(j->text), j->list);
}

static void kernels_print_as_they_read(void **state) {
  (void)state;
  static const char text[] = "tgc 1 kernel\n"
                             "b0 = buffer input f32[64] id=0 slot=0\n"
                             "b2 = buffer arena f32[8] id=2 slot=0 offset=256\n"
                             "r0 = range extent=8 id=3 kind=loop : i64\n"
                             "v0 = mul r0, 8 : i64\n"
                             "r1 = range extent=8 id=4 kind=reduce : i64\n"
                             "v1 = add v0, r1 : i64\n"
                             "v2 = cmplt r1, 7 : bool\n"
                             "v3 = load b0, v1, v2, 0.0 : f32\n"
                             "v4 = red v3, r1 op=add : f32\n"
                             "v5 = store b2, r0, v4\n"
                             "n0 = nest v5, r0\n"
                             "k0 = sink n0\n";
  Ctx c;
  ctx_init(&c);
  Job j = { .text = text, .ir = ir_new(&c) };
  assert_int_equal(ctx_try(&c, parse_kernel, &j), 0);
  ir_verify_kernel(j.ir, j.sink);
  assert_int_equal(j.ir->next_range, 5);
  assert_int_equal(j.ir->bufs.n, 3);
  Sb out = { 0 };
  ir_print_nodes(j.ir, &j.sink, 1, &out);
  assert_string_equal(out.p, text);
  sb_free(&out);
  ir_free(j.ir);
  ctx_free(&c);
}

static void programs_print_as_they_read(void **state) {
  (void)state;
  static const char text[] = "tgc 1 program\n"
                             "b0 = buffer input f32[64] id=0 slot=0\n"
                             "b1 = buffer output f32[8] id=1 slot=0\n"
                             "r0 = range extent=8 id=0 kind=loop : i64\n"
                             "r1 = range extent=8 id=1 kind=reduce : i64\n"
                             "loop r0\n"
                             "  v0 = acc 0.0 id=2 : f32\n"
                             "  v1 = mul r0, 8 : i64\n"
                             "  loop r1\n"
                             "    v2 = add v1, r1 : i64\n"
                             "    v3 = load b0, v2 : f32\n"
                             "    v4 = add v0, v3 : f32\n"
                             "    v5 = set v0, v4\n"
                             "  end r1\n"
                             "  v6 = get v0, v5 : f32\n"
                             "  store b1, r0, v6\n"
                             "end r0\n"
                             "v7 = load b0, 0 : f32x4\n"
                             "v8 = shuffle v7, v7 lanes=[7,0,2] : f32x3\n"
                             "store b1, 0, v8\n";
  Ctx c;
  ctx_init(&c);
  Refs list = { 0 };
  Job j = { .text = text, .ir = ir_new(&c), .list = &list };
  assert_int_equal(ctx_try(&c, parse_program, &j), 0);
  assert_int_equal(list.n, 15);
  Sb out = { 0 };
  ir_print_program(j.ir, list.p, list.n, &out);
  assert_string_equal(out.p, text);
  VEC_FREE(&list);
  sb_free(&out);
  ir_free(j.ir);
  ctx_free(&c);
}

/* ---- messages ---- */
static void message_is(const char *text, const char *want) {
  Ctx c;
  ctx_init(&c);
  char said[4096] = "";
  c.err = fmemopen(said, sizeof said, "w");
  Job j = { .text = text };
  int code = ctx_try(&c, parse_graph, &j);
  fclose(c.err);
  if (code != EX_BADMODEL) fail_msg("exit code %d of: %s", code, text);
  if (strncmp(said, want, strlen(want))) fail_msg("wanted %s\nsaid %s", want, said);
  ctx_free(&c);
}

static void messages_name_the_place(void **state) {
  (void)state;
  message_is("x = input f32[2]\ny = max x, z\noutput y\n", "t.tg:2:12: 'z' is not defined\ny = max x, z\n           ^\n");
  message_is("x = input f32[2]\nx = neg x\n", "t.tg:2:1: 'x' is already defined\n");
  message_is("y = neg y\n", "t.tg:1:9: 'y' is not defined\n");
  message_is("x = input f32[2]\ny = frob x\n", "t.tg:2:5: unknown op 'frob'\n");
  message_is("x = input f32[2,3]\ny = input f32[4]\nz = add x, y\n", "t.tg:3:12: [4] does not broadcast with [2,3]\n");
  message_is("x = input f32[2]\ny = and x, x\n", "t.tg:2:5: 'and' does not take f32\n");
  message_is("x = input f32[2]\ny = max x, 1.0 : f32[3]\n", "t.tg:2:18: the result is f32[2], not the type after ':'\n");
  message_is("x = input u8[2]\ny = max x, 300\n", "t.tg:2:12: '300' is out of range (type u8)\n");
  message_is("w = weight f32[2] {1, 2, 3}\n", "t.tg:1:26: more than the 2 values of the type\n");
  message_is("w = weight f32[3] {1, 2}\n", "t.tg:1:24: 2 values, expected 3\n");
  message_is("w = weight f32[2] {1,\n", "t.tg:1:19: expected a value; the list has no end\n");
  message_is("x = input f32[9223372036854775807,2]\n", "t.tg:1:11: the shape [9223372036854775807,2] has too many elements\n");
  message_is("x = input f32[2] \"abc\n", "t.tg:1:18: string without an end\n");
  message_is("x = input f32[2] \"a\\", "t.tg:1:20: unknown escape");
  message_is("x = input f32[2] \"\\xff\"\n", "t.tg:1:18: the escapes of this string are not UTF-8\n");
  message_is("x = input f32[2] # \x01\n", "t.tg:1:20: control character U+0001");
  message_is("x = input f32[2] # \xe2\x80\xae\n", "t.tg:1:20: control character U+202E");
  message_is("x = input f32[2] # \xc0\x80\n", "t.tg:1:20: invalid UTF-8\n");
  message_is("inf = input f32[2]\n", "t.tg:1:1: 'inf' is a literal, not a name\n");
  message_is("x = input f32[2]\n", "t.tg: the graph has no output\n");
  message_is("tgc 2 graph\n", "t.tg:1:5: this tgc reads version 1 of the format, not version 2\n");
  message_is("w = weight f32[2] @\"w.bin\" offset=0\n", "t.tg:1:19: a text without a file cannot refer to weight files\n");
  message_is("x = input f32[2,2]\ny = reduce x op=add axes=[2]\n", "t.tg:2:26: there is no axis 2 in [2,2]\n");
  message_is("x = input f32[2,2]\ny = reduce x op=sub axes=[1]\n", "t.tg:2:17: 'sub' is not one of add mul max min\n");
  message_is("x = input f32[4]\ni = weight i64[2] {3, 4}\ny = gather x, i axis=0\n",
             "t.tg:3:15: index 4 is outside of axis 0 with 4 elements\n");
  message_is("x = input f32[0]\ni = input i64[2]\ny = gather x, i axis=0\n", "t.tg:3:15: index ");
  message_is("x = input f32[4]\ni = input i32[2]\ny = scatter x, i, x op=add axis=0\n",
             "t.tg:3:16: the index is i32, expected i64\n");
  message_is("x = input f32[4]\ni = input i64[2]\ny = scatter x, i, i op=add axis=0\n",
             "t.tg:3:19: the updates are i64, expected f32\n");
  message_is("x = input f32[4]\ni = input i64[2]\ny = scatter x, i, x op=add axis=0\n",
             "t.tg:3:19: an update of [4] does not fit [4] on axis 0\n");
  message_is("x = input f32[4]\ni = input i64[2,1]\ny = scatter x, i, x op=add axis=0\n",
             "t.tg:3:16: an index of [2,1] does not fit [4] on axis 0\n");
  message_is("x = input f32[4]\ni = input i64[2]\ny = scatter x, i, x op=sub axis=0\n",
             "t.tg:3:24: 'sub' is not one of none add mul max min\n");
  message_is("x = input f32[4]\ni = input i64[4]\ny = scatter x, i, x op=add axis=1\n", "t.tg:3:5: there is no axis 1 in [4]\n");
  message_is("x = input bool[4]\ni = input i64[4]\ny = scatter x, i, x op=add axis=0\n",
             "t.tg:3:5: this op does not take elements of bool\n");
  message_is("x = input f32[9]\ny = window x axis=0 : [4,7]\n", "t.tg:2:5: 4 windows of 7 elements do not fit into 9\n");
}

/* No text may end in a bug of tgc or a crash. The texts are every prefix of one that uses all of the grammar, and that text with
 * each byte replaced. */
static void broken_text_is_refused_or_read(void **state) {
  (void)state;
  static const char text[] = "tgc 1 graph \"n\"\nx = input f32[2,3] \"x\"\nw = weight f32[3] {1, -2.5, nan:0x7f800001}\na = add "
                             "x, w\nb = permute a perm=[1,0]\n"
                             "c = shrink b begin=[2,0] step=[-1,1] : [3,2]\nd = window c axis=0 stride=1 dilation=1 : [2,2,2]\ne "
                             "= pad d, 0.0 lo=[0,1,0] hi=[1,0,0]\n"
                             "f = reduce e op=add axes=[0,2]\ng = cat f, f axis=1\ni = iota : i64[2]\nj = reshape i : "
                             "i64[1,2,1]\nk = gather g, j axis=1\noutput k \"k\"\n";
  static const char bytes[] = "\n ,:=[]{}\"#@-0129xaz_.\\\x80";
  size_t n = strlen(text);
  char said[4096];
  char *copy = malloc(n + 1);
  for (size_t i = 0; i < n; i++) {
    for (size_t k = 0; k < sizeof bytes; k++) {
      Ctx c;
      ctx_init(&c);
      c.err = fmemopen(said, sizeof said, "w");
      memcpy(copy, text, n + 1);
      copy[i] = bytes[k]; /* the last one cuts the text */
      Job j = { .text = copy };
      int code = ctx_try(&c, parse_graph, &j);
      assert_true(code == 0 || code == EX_BADMODEL);
      if (!code) {
        ir_verify_graph(j.g);
        free_graph(j.g);
      }
      fclose(c.err);
      ctx_free(&c);
    }
  }
  free(copy);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(every_16_bit_float_round_trips),
    cmocka_unit_test(wide_values_round_trip),
    cmocka_unit_test(literals_round_once_or_are_refused),
    cmocka_unit_test(literals_ignore_the_locale),
    cmocka_unit_test(graphs_print_as_they_read),
    cmocka_unit_test(scatters_print_as_they_read), cmocka_unit_test(indices_stay_in_range),
    cmocka_unit_test(shared_subgraphs_stay_linear),
    cmocka_unit_test(constants_keep_their_place),
    cmocka_unit_test(blobs_hold_long_weights),
    cmocka_unit_test(kernels_print_as_they_read),
    cmocka_unit_test(programs_print_as_they_read),
    cmocka_unit_test(messages_name_the_place),
    cmocka_unit_test(broken_text_is_refused_or_read),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

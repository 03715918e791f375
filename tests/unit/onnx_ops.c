/* onnx_ops.c: one-node models through onnx_build: shapes of results, and what the user is told when
 * arguments are wrong. A model is a line of text: operator, opset, inputs, then attributes:
 *   Conv 11 f[1,4,5,5] f[6,2,3,3] group=2 pads=[1,1,1,1] mode='x' alpha=0.5
 * An input f[dims] (or i, b, h, u) is fed at run time, i{1,2} and f{0.5} are constants, - is left out;
 * >2 asks for two outputs. Expected is the shape of the first result, or a part of the message. */
#include "../../frontends/onnx/onnx.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

typedef struct Line { const char *model, *expect; } Line;

static const Line lines[] = {
  /* elementwise */
  { "Add 14 f[2,3] f[3]", "[2,3]" },
  { "Add 14 f[2,3] f[4]", "shape [4] of input 1 does not broadcast with the inputs before it: 4 against 3" },
  { "Add 14 f[2] h[2]", "input 1 is f16, but those before are f32" },
  { "Add 6 f[2,3,4] f[3] axis=1 broadcast=1", "[2,3,4]" },
  { "Sigmoid 13 i[2]", "input 0 is i64, expected a float type" },
  { "Div 14 i[2] i{0,1}", "integer division by the constant 0" },
  { "Mod 13 f[2] f[2]", "attribute 'fmod' is 0" },
  { "PRelu 16 f[1,3,4,4] f[3,1,1]", "[1,3,4,4]" },
  { "PRelu 16 f[3] f[2,3]", "does not broadcast" },
  { "Clip 13 f[2] f{0,1}", "input 1 is not a scalar" },
  { "Clip 6 f[2] min=1.0 max=0.0", "[2]" },
  { "Relu 14 f[2] alpha=1.0", "there is no attribute 'alpha'" },
  { "Relu 14 f[2] f[2]", "2 inputs, expected exactly 1" },
  { "Add 14 - f[2]", "input 0 is left out, but required" },
  { "Cast 13 f[2] to=0", "type 0 as the result of a cast is not supported" },
  { "Cast 13 f[2] to='float'", "attribute 'to' is a string" },
  { "Cast 13 f[2]", "attribute 'to' is missing" },
  { "Gelu 20 f[2] approximate='erf'", "attribute 'approximate' is 'erf', expected one of none|tanh" },
  /* windows */
  { "Conv 11 f[1,4,5,5] f[6,2,3,3] group=2", "[1,6,3,3]" },
  { "Conv 11 f[1,4,5,5] f[6,2,3,3] group=0", "attribute 'group' is 0, expected at least 1" },
  { "Conv 11 f[1,4,5,5] f[6,2,3,3] group=3", "group 3 does not divide 4 channels" },
  { "Conv 11 f[1,4,5,5] f[6,2,3,3]", "the weights have 2 channels in 1 groups, but the input has 4" },
  { "Conv 11 f[1,4,5,5] f[6,4,3,3] strides=[0,1]", "attribute 'strides' is 0, expected at least 1" },
  { "Conv 11 f[1,4,5,5] f[6,4,3,3] dilations=[1,0]", "attribute 'dilations' is 0, expected at least 1" },
  { "Conv 11 f[1,4,5,5] f[6,4,3]", "the weights have rank 3, but the input has rank 4" },
  { "Conv 11 f[1,4,5,5] f[6,4,7,3]", "the kernel covers 7 elements on axis 0, but the padded input has 5" },
  { "Conv 11 f[1,4,5,5] f[6,4,3,3] pads=[4611686018427387904,0,0,0]", "attribute 'pads' has the entry 4611686018427387904" },
  { "Conv 11 f[1,4,5,5] f[6,4,3,3] pads=[1,1]", "attribute 'pads' has 2 entries, expected 4" },
  { "Conv 11 f[1,4,5,5] f[6,4,3,3] auto_pad='SAME'", "attribute 'auto_pad' is 'SAME', expected one of NOTSET" },
  { "Conv 11 f[1,4,6,5] f[6,4,3,3] auto_pad='SAME_UPPER' strides=[2,2]", "[1,6,3,3]" },
  { "Conv 11 f[1,4,5,5] f[6,4,3,3] f[5]", "the bias is not a vector of 6 entries" },
  { "Conv 11 f[4] f[6,4,3,3]", "the input has rank 1, expected at least 3" },
  { "ConvTranspose 11 f[1,4,5,5] f[4,3,3,3] group=2 strides=[2,2] pads=[1,1,1,1] output_padding=[1,1]", "[1,6,10,10]" },
  { "ConvTranspose 11 f[1,4,5,5] f[4,3,2,2] dilations=[2,3] strides=[3,1]", "[1,3,15,8]" },
  { "ConvTranspose 11 f[1,4,5,5] f[3,3,3,3]", "the weights have 3 channels in 1 groups, but the input has 4" },
  { "MaxPool 12 f[1,2,5,5] kernel_shape=[2,2] strides=[2,2] ceil_mode=1", "[1,2,3,3]" },
  { "MaxPool 12 f[1,2,5,5] kernel_shape=[0,2]", "attribute 'kernel_shape' is 0, expected at least 1" },
  { "MaxPool 12 f[1,2,5,5] kernel_shape=[2,2] pads=[2,2,2,2]", "the padding on axis 0 is 2 and 2, expected less than the 2 a window covers" },
  { "AveragePool 12 f[1,2,5,5] kernel_shape=[3,3] pads=[1,1,1,1]", "[1,2,5,5]" },
  /* movement */
  { "Reshape 14 f[2,3] i{3,-1}", "[3,2]" },
  { "Reshape 14 f[2,3] i{0,0}", "[2,3]" },
  { "Reshape 14 f[2,3] i{-1,-1}", "entries 0 and 1 of the shape are both -1" },
  { "Reshape 14 f[2,3] i{-5}", "entry 0 of the shape is -5" },
  { "Reshape 14 f[2,3] i{7}", "the input has 6 elements, but the shape has 7" },
  { "Reshape 14 f[0,3] i{0,-1} allowzero=1", "0 elements do not fill the shape's -1" },
  { "Reshape 14 f[2,3] i{4611686018427387904,8}", "the shape has too many elements" },
  { "Reshape 14 f[2,3] i[2]", "input 'shape' must be known when compiling" },
  { "Reshape 1 f[2,3] shape=[6]", "[6]" },
  { "Transpose 13 f[2,3] perm=[0,0]", "axis 0 is named twice" },
  { "Transpose 13 f[2,3] perm=[0,2]", "axis 2 is outside a tensor of rank 2" },
  { "Squeeze 13 f[1,3] i{1}", "axis 1 has extent 3, not 1" },
  { "Squeeze 11 f[1,3,1] axes=[0]", "[3,1]" },
  { "Unsqueeze 13 f[3] i{0,0}", "axis 0 is named twice" },
  { "Concat 13 f[2,3] f[2,4] axis=1", "[2,7]" },
  { "Concat 13 f[2,3] f[3,3] axis=1", "input 1 has extent 3 on axis 0, but input 0 has 2" },
  { "Concat 13 f[2,3] f[2] axis=1", "input 1 has rank 1, but input 0 has rank 2" },
  { "Flatten 13 f[2,3,4] axis=3", "[24,1]" },
  { "Flatten 13 f[2,3,4] axis=4", "axis 4 is outside a tensor of rank 3" },
  { "Slice 13 f[10] i{0} i{10} i{0} i{0}", "the step of axis 0 is 0" },
  { "Slice 13 f[10] i{9223372036854775807} i{-9223372036854775808} i{0} i{-3}", "[4]" },
  { "Slice 13 f[10] i{-9223372036854775808} i{9223372036854775807} i{0} i{4}", "[3]" },
  { "Slice 13 f[0] i{-1} i{-9223372036854775808} i{0} i{-1}", "[0]" },
  { "Slice 13 f[10,4] i{0,0} i{1,1} i{0,0}", "axis 0 is named twice" },
  { "Slice 9 f[10,4] starts=[1] ends=[-1] axes=[1]", "[10,2]" },
  { "Pad 13 f[3] i{4611686018427387904,0}", "the padding on axis 0" },
  { "Pad 13 f[3] i{-2,-2}", "the padding on axis 0 is -2 and -2 around 3 elements" },
  { "Pad 13 f[3] i{4,-1} mode='reflect'", "[6]" },
  { "Pad 13 f[0] i{1,1} mode='wrap'", "axis 0 is empty and cannot be extended" },
  { "Tile 13 f[2,3] i{1000000000,1000000000}", "the result has more than 2^40 elements" },
  { "Tile 13 f[2,3] i{-1,1}", "entry 0 of the repeats is -1" },
  { "Expand 13 f[2,1] i{3,2,5}", "[3,2,5]" },
  { "Expand 13 f[2,3] i{2,4}", "shape [2,3] does not broadcast to [2,4]" },
  { "Expand 13 f[1] i{1099511627777}", "outside 0 to 2^40" },
  { "ConstantOfShape 9 i{134217728}", "[134217728]" },
  { "ConstantOfShape 9 i{-1}", "the result's extent -1 on axis 0" },
  { "Range 11 i{0} i{10} i{0}", "has no end" },
  { "Range 11 i{0} i{10} i{3}", "[4]" },
  { "Range 11 f{0} f{10} f{nan}", "has no end" },
  { "Range 11 i{10} i{0} i{1}", "[0]" },
  { "OneHot 11 i[3] i{300000000000} f{0,1}", "[3,300000000000]" },
  { "OneHot 11 i[3] i{10000000000000} f{0,1}", "input 'depth' is not a size" },
  { "EyeLike 9 f[65537,65536]", "[65537,65536]" },
  { "Gather 13 f[3,4] i{-4}", "index -4 is outside an axis of extent 3" },
  { "Gather 13 f[3,4] i[2,2] axis=1", "[3,2,2]" },
  { "Gather 13 f[0,4] i[2]", "the indexed axis is empty" },
  { "Gather 13 f[3,4] i{1} axis=2", "axis 2 is outside a tensor of rank 2" },
  { "GatherElements 13 f[3,4] i[2,5]", "the indices have extent 5 on axis 1, but the data has 4" },
  { "GatherND 13 f[2,3] i{2,0}", "index 2 is outside axis 0 of extent 2" },
  { "GatherND 13 f[2,3,4] i[3,2] batch_dims=1", "batch axis 0 has extents 2 and 3" },
  { "ScatterND 11 f[3] i[1,1] f[1]", "indices that depend on an input of the graph are not supported" },
  { "Split 13 f[10] i{3,6} >2", "the parts have 9 elements, but axis 0 has 10" },
  { "Split 13 f[10] i{3,8} >2", "part 1 has extent 8, but 7 are left" },
  { "Split 18 f[10] num_outputs=0 >2", "attribute 'num_outputs' is 0, expected at least 1" },
  { "Split 18 f[10] num_outputs=3 >3", "[4]" },
  { "Split 11 f[10] >3", "10 elements do not split into 3 equal parts" },
  { "DepthToSpace 13 f[1,8,2,2] blocksize=0", "attribute 'blocksize' is 0, expected at least 1" },
  { "DepthToSpace 13 f[1,8,2,2] blocksize=4294967296", "attribute 'blocksize' is 4294967296" },
  { "DepthToSpace 13 f[1,8,2,2] blocksize=2", "[1,2,4,4]" },
  { "Resize 13 f[1,1,2,2] - f{1,1,2,2}", "[1,1,4,4]" },
  { "Resize 13 f[1,1,2,2] - f{1,1,2,2} i{1,1,4,4}", "exactly one of the inputs 'scales' and 'sizes' must be given" },
  { "Resize 13 f[1,1,2,2] - f{1,1,0,2}", "entry 2 of the scales is 0" },
  { "Resize 13 f[1,1,2,2] - f{1,1,nan,2}", "entry 2 of the scales is nan" },
  { "Resize 13 f[1,1,2,2] - f{1,1,2}", "input 'scales' has 3 entries for 4 axes" },
  { "Upsample 9 f[1,1,2,2] f{1,1,2,3} mode='linear'", "[1,1,4,6]" },
  { "Upsample 10 f[1,1,2,2] f{1,1,2,3}", "operator 'Upsample' is not supported in opset 10; inputs: float[1,1,2,2], f32[4]" },
  /* reductions */
  { "ReduceSum 13 f[2,3] i{1} keepdims=0", "[2]" },
  { "ReduceMean 11 f[2,3] axes=[-1]", "[2,1]" },
  { "ReduceMax 18 f[2,3] i{2}", "axis 2 is outside a tensor of rank 2" },
  { "ReduceMax 13 f[0,3] axes=[0]", "[1,3]" },
  { "ArgMax 13 f[0,3]", "axis 0 of the input is empty" },
  { "Softmax 13 f[2,3] axis=2", "axis 2 is outside a tensor of rank 2" },
  { "Softmax 11 f[2,3,4] axis=1", "[2,3,4]" },
  { "LRN 13 f[1,3,2,2] size=0", "attribute 'size' is 0, expected at least 1" },
  { "LRN 13 f[1,3,2,2] size=2", "[1,3,2,2]" },
  { "LayerNormalization 17 f[2,3] f[3] axis=5", "axis 5 is outside a tensor of rank 2" },
  { "BatchNormalization 15 f[1,3,2] f[3] f[3] f[2] f[3]", "input 'mean' is not a vector of the 3 channels" },
  { "BatchNormalization 15 f[1,3,2] f[3] f[3] f[3] f[3] training_mode=1", "only inference is supported" },
  /* products */
  { "MatMul 13 f[2,3] f[3,4]", "[2,4]" },
  { "MatMul 13 f[5,1,2,3] f[7,3,4]", "[5,7,2,4]" },
  { "MatMul 13 f[3] f[3]", "[]" },
  { "MatMul 13 f[] f[3]", "a factor is a scalar" },
  { "MatMul 13 f[2,3] f[4,2]", "the rows of the first matrix have 3 elements, the columns of the second 4" },
  { "MatMul 13 f[2,2,3] f[5,3,2]", "batch axes of extents 2 and 5 do not broadcast" },
  { "Gemm 13 f[3,2] f[4,3] f[4] transA=1 transB=1", "[2,4]" },
  { "Gemm 13 f[3] f[4,3]", "input 0 has rank 1, expected 2" },
  { "Gemm 13 f[2,3] f[3,4] f[3]", "shape [3] does not broadcast to [2,4]" },
  { "Einsum 12 f[2,3] f[3,4] equation='ij,jk->ki'", "[4,2]" },
  { "Einsum 12 f[2,5,3] f[5,3,4] equation='...ij,...jk'", "axis '0' of the equation has extents 2 and 5" },
  { "Einsum 12 f[2,3,3] equation='bii->bi'", "[2,3]" },
  { "Einsum 12 f[2,3] equation='ij,jk->ik'", "the equation does not have one term for each of 1 inputs" },
  { "Einsum 12 f[2,3] equation='ij->iz'", "axis 'z' of the result is in no term" },
  { "Einsum 12 f[2,3] equation='i$->i'", "the equation has the character '$'" },
  { "QuantizeLinear 13 f[2,3] f[3] u[3]", "[2,3]" },
  { "QuantizeLinear 13 f[2,3] f[2]", "input 1 is not a vector of the 3 elements of axis 1" },
  /* lookup */
  { "Frobnicate 13 f[2] i{1}", "operator 'Frobnicate' of 'ai.onnx' is not supported; inputs: float[2], i64[]" },
  { "Relu 99 f[2]", "opset 99 is newer than" },
  { "Add 14 f[1,1,1,1,1,1,1,1,1] f[1]", "input 'x0' has rank 9, over the limit of 8" },
};

/* ---- the little language ---- */
static const Tensor *constant(Ctx *c, char kind, char *list) {
  Tensor *t = ARENA_NEW(&c->model, Tensor, 1);
  int64_t *ints = ARENA_NEW(&c->model, int64_t, 16);
  float *floats = ARENA_NEW(&c->model, float, 16);
  for (char *s = strtok(list, ","); s; s = strtok(NULL, ",")) {
    ints[t->elems] = strtoll(s, NULL, 10);
    floats[t->elems++] = strtof(s, NULL);
  }
  t->dt = kind == 'i' ? DT_I64 : DT_F32;
  t->rank = t->elems == 1 ? 0 : 1;
  if (t->rank) t->dims[0] = t->elems;
  t->data = kind == 'i' ? (const void *)ints : (const void *)floats;
  return t;
}

static OnnxType fed(Ctx *c, char kind, char *list) {
  OnnxDim *d = ARENA_NEW(&c->model, OnnxDim, 16);
  OnnxType t = { ON_TENSOR, kind == 'i' ? 7 : kind == 'b' ? 9 : kind == 'h' ? 10 : kind == 'u' ? 2 : 1, 0, d };
  for (char *s = strtok(list, ","); s; s = strtok(NULL, ",")) d[t.rank++].value = strtoll(s, NULL, 10);
  return t;
}

static OnnxAttr attribute(Ctx *c, char *word) {
  char *eq = strchr(word, '='), *v = eq + 1;
  OnnxAttr a = { .name = arena_str(&c->model, word, (size_t)(eq - word)), .n = 1 };
  if (*v == '\'') {
    Bytes *s = ARENA_NEW(&c->model, Bytes, 1);
    s->n = strlen(v) - 2;
    s->p = (const uint8_t *)arena_str(&c->model, v + 1, s->n);
    a.kind = AT_STRING;
    a.u.strings = s;
  } else if (strchr(v, '.')) {
    float *f = ARENA_NEW(&c->model, float, 1);
    *f = strtof(v, NULL);
    a.kind = AT_FLOAT;
    a.u.floats = f;
  } else {
    int64_t *ints = ARENA_NEW(&c->model, int64_t, 16);
    a.kind = *v == '[' ? AT_INTS : AT_INT;
    a.n = 0;
    for (char *s = v + (*v == '['); *s && *s != ']'; s += *s == ',') ints[a.n++] = strtoll(s, &s, 10);
    a.u.ints = ints;
  }
  return a;
}

typedef struct Job { const char *model; char shape[256]; } Job;

static void build(Ctx *c, void *arg) {
  Job *job = arg;
  OnnxModel *m = ARENA_NEW(&c->model, OnnxModel, 1);
  OnnxNode *n = ARENA_NEW(&c->model, OnnxNode, 1);
  OnnxValue *values = ARENA_NEW(&c->model, OnnxValue, 32);
  OnnxId *in = ARENA_NEW(&c->model, OnnxId, 16), *out = ARENA_NEW(&c->model, OnnxId, 16), *fed_in = ARENA_NEW(&c->model, OnnxId, 16);
  OnnxAttr *attr = ARENA_NEW(&c->model, OnnxAttr, 16);
  char *rest = arena_str(&c->model, job->model, strlen(job->model)), *word;
  uint32_t nv = 1;
  n->op = strsep(&rest, " ");
  n->opset = atoi(strsep(&rest, " "));
  n->domain = n->name = "";
  n->text = arena_printf(&c->model, "node 0 '' (%s, opset %d)", n->op, (int)n->opset);
  n->nout = 1;
  while ((word = strsep(&rest, " "))) {
    if (strchr(word, '=')) {
      attr[n->nattr++] = attribute(c, word);
    } else if (*word == '>') {
      n->nout = (uint32_t)atoi(word + 1);
    } else if (*word == '-') {
      in[n->nin++] = 0;
    } else {
      OnnxValue *v = &values[nv];
      char *list = arena_str(&c->model, word + 2, strlen(word) - 3);
      v->name = arena_printf(&c->model, "x%d", (int)nv - 1);
      if (word[1] == '{') v->init = constant(c, *word, list);
      else {
        v->type = fed(c, *word, list);
        fed_in[m->graph.nin++] = nv;
      }
      in[n->nin++] = nv++;
    }
  }
  for (uint32_t i = 0; i < n->nout; i++) {
    values[nv].name = "y";
    out[i] = nv++;
  }
  n->in = in;
  n->out = out;
  n->attr = attr;
  m->values.p = values;
  m->values.n = nv;
  m->graph.in = fed_in;
  m->graph.out = out;
  m->graph.nout = n->nout;
  m->graph.nodes = n;
  m->graph.nnodes = 1;
  m->graph.name = "test";
  Graph *g = onnx_build(c, m, NULL);
  ir_verify_graph(g);
  const GIO *y = &g->outputs.p[0];
  char *p = job->shape;
  p += sprintf(p, "[");
  for (int i = 0; i < y->rank; i++) p += sprintf(p, "%s%lld", i ? "," : "", (long long)y->dims[i]);
  sprintf(p, "]");
}

static void every_line(void **state) {
  int failed = 0;
  (void)state;
  for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
    Ctx c;
    char *message = NULL;
    size_t size = 0;
    Job job = { .model = lines[i].model };
    ctx_init(&c);
    c.err = open_memstream(&message, &size);
    int code = ctx_try(&c, build, &job);
    fclose(c.err);
    bool good = code ? code == EX_BADMODEL && *lines[i].expect != '[' && strstr(message, lines[i].expect) != NULL
                     : !strcmp(job.shape, lines[i].expect);
    if (!good) {
      print_message("# %s\n#   expected %s\n#   got %s%s\n", lines[i].model, lines[i].expect, job.shape, message);
      failed++;
    }
    free(message);
    ctx_free(&c);
  }
  assert_int_equal(failed, 0);
}

int main(void) {
  const struct CMUnitTest tests[] = { cmocka_unit_test(every_line) };
  return cmocka_run_group_tests_name("onnx_ops", tests, NULL, NULL);
}

/* SPDX-License-Identifier: MIT */
/* onnx_quantize.c: post-training static quantisation to 8 bits. Inserts QuantizeLinear and DequantizeLinear around the products
 * of a float model, by the ranges that calibration observed.
 *
 * Quantised values are the inputs of convolutions and matrix products with constant weights, and the results of these. A result
 * is quantised behind the activation, normalisation and constants that alone follow it. Sums of such values are quantised, too.
 * All readers of a value read its quantised form.
 * Values are unsigned with one scale and zero point, so that 0 is exact. Weights are signed and symmetric, with a scale for
 * each output channel (opset 13). Biases become 32-bit integers on the scale of the products.
 *
 * A layer is a product or a sum that can be in 8 bits, or stay in floats. A layer in 8 bits reads quantised values, and its
 * result is quantised. A layer in floats reads values as they are. Everything else reads the quantised form of a value that has
 * one. The switched model computes each layer both ways, and inputs select the results. So one compiled model measures every
 * choice of layers. */
#include "../../compiler/ir/refmap.h"
#include "wire/pb.h"
#include <math.h>
#include <string.h>

/* OPSET: the first with scales by channel. OPSET_RAISED: the first whose models mostly keep their meaning in OPSET. */
enum { OPSET_RAISED = 7, OPSET = 13 };

typedef struct Observed {
  const char *name;
  int like;                    /* index of the observed value whose elements this one only moves; -1: it has a range of its own */
  const char *quantised;       /* name of its quantised form, which layers in 8 bits read; NULL: it has none */
  const char *read;            /* name that nodes which are no layers read; NULL: its own */
} Observed;

typedef struct Layer {
  size_t node;                 /* index of its node */
  int result;                  /* index of the observed value that is its result */
} Layer;

/* Form of the new graph: the quantised model, or the switched one. layer, value: they are in 8 bits */
typedef struct Form { bool switched; const bool *layer, *value; const float (*range)[2]; } Form;

struct OnnxQuant {
  Ctx *c;
  External external;
  Onnx__ModelProto *m;
  RefMap init, maker, user;    /* interned name to 1 + its initializer, 1 + the node that makes it, 1 + a node that reads it */
  RefMap users;                /* number of nodes that read it, plus 1 for an output of the graph */
  RefMap observed;             /* interned name to its index in values + 1 */
  VEC(Observed) values;
  VEC(const char *) names;     /* names of the values */
  VEC(Layer) layers;
  VEC(QuantLayer) rows;        /* by layer */
  RefMap layer_of;             /* 1 + index of a node to 1 + its layer */
  VEC(Onnx__NodeProto *) nodes;/* nodes of the new graph */
  VEC(Onnx__TensorProto *) tensors;
};

static uint32_t id_of(const OnnxQuant *q, const char *name) { return intern(q->c, pb_text(name), strlen(pb_text(name))); }
static bool is_op(const Onnx__NodeProto *n, const char *op) { return !*pb_text(n->domain) && !strcmp(pb_text(n->op_type), op); }

static bool is_any(const Onnx__NodeProto *n, const char *const *ops) {
  for (; *ops; ops++)
    if (is_op(n, *ops)) return true;
  return false;
}

static Onnx__TensorProto *initializer(const OnnxQuant *q, const char *name) {
  uint32_t at = refmap_get(&q->init, id_of(q, name));
  return at ? q->m->graph->initializer[at - 1] : NULL;
}

static int64_t attr_of(const Onnx__NodeProto *n, const char *name, int64_t otherwise) {
  for (size_t i = 0; i < n->n_attribute; i++)
    if (!strcmp(pb_text(n->attribute[i]->name), name))
      return n->attribute[i]->has_i ? n->attribute[i]->i : (int64_t)n->attribute[i]->f;
  return otherwise;
}

/* ---- selection of the values to quantise ---- */
static const char *const moves[] = { "MaxPool", "Reshape", "Flatten", "Transpose", "Squeeze", "Unsqueeze", NULL };
static const char *const follow[] = { "BatchNormalization", "Relu",        "Clip",    "LeakyRelu", "PRelu",
                                      "HardSwish",          "HardSigmoid", "Sigmoid", NULL };

/* A product of floats with constant weights, a matrix of filters that nothing else reads */
static bool is_product(const OnnxQuant *q, const Onnx__NodeProto *n) {
  if (!is_op(n, "Conv") && !is_op(n, "Gemm") && !is_op(n, "MatMul")) return false;
  const Onnx__TensorProto *w = n->n_input > 1 ? initializer(q, n->input[1]) : NULL;
  return w && w->data_type == ONNX__TENSOR_PROTO__DATA_TYPE__FLOAT && w->n_dims >= 2 && !initializer(q, n->input[0]);
}

/* Weights that are infinite or NaN have no scale. */
static bool has_scale(OnnxQuant *q, const Onnx__NodeProto *n) {
  const Tensor w = pb_tensor(q->c, &q->external, initializer(q, n->input[1]), false, (Pos){ 0 });
  bool finite = w.elems > 0;
  for (int64_t i = 0; i < w.elems && finite; i++) finite = isfinite(data_f32(w.data, i));
  return finite;
}

static int observe(OnnxQuant *q, const char *name) {
  uint32_t id = id_of(q, name), at = refmap_get(&q->observed, id);
  if (at) return (int)at - 1;
  VEC_PUSH(&q->values, ((Observed){ .name = name, .like = -1 }));
  VEC_PUSH(&q->names, name);
  refmap_set(&q->observed, id, (uint32_t)q->values.n);
  uint32_t made = refmap_get(&q->maker, id); /* moved elements keep their scale */
  const Onnx__NodeProto *n = made ? q->m->graph->node[made - 1] : NULL;
  size_t mine = q->values.n - 1;
  if (n && n->n_input && is_any(n, moves)) {
    int like = observe(q, n->input[0]);
    q->values.p[mine].like = like;
  }
  return (int)mine;
}

static bool constant_operand(const OnnxQuant *q, const Onnx__NodeProto *n) {
  return n->n_input == 2 && (initializer(q, n->input[0]) || initializer(q, n->input[1]));
}

/* The last value of the chain of activations and constants that alone follow a value */
static const char *final_value(const OnnxQuant *q, const char *name) {
  for (;;) {
    uint32_t id = id_of(q, name), user = refmap_get(&q->user, id);
    if (refmap_get(&q->users, id) != 1 || !user) return name;
    const Onnx__NodeProto *n = q->m->graph->node[user - 1];
    bool scales = (is_op(n, "Add") || is_op(n, "Mul") || is_op(n, "Sub") || is_op(n, "Div")) && constant_operand(q, n);
    if (!n->n_output || (!scales && !is_any(n, follow))) return name;
    name = n->output[0];
  }
}

static void choose(OnnxQuant *q) {
  const Onnx__GraphProto *g = q->m->graph;
  for (size_t i = 0; i < g->n_node; i++) { /* in topological order */
    const Onnx__NodeProto *n = g->node[i];
    bool sum = is_op(n, "Add") && n->n_input == 2 && !constant_operand(q, n) &&
               (refmap_get(&q->observed, id_of(q, n->input[0])) || refmap_get(&q->observed, id_of(q, n->input[1])));
    if (!sum && !(is_product(q, n) && has_scale(q, n))) continue;
    if (!sum) observe(q, n->input[0]);
    const int result = observe(q, final_value(q, n->output[0]));
    VEC_PUSH(&q->layers, ((Layer){ .node = i, .result = result }));
    refmap_set(&q->layer_of, (uint32_t)i + 1, (uint32_t)q->layers.n);
  }
}

/* ---- layers ---- */
static bool printable(const char *s) {
  for (; *s; s++)
    if ((unsigned char)*s < 0x20 || *s == 0x7f) return false;
  return true;
}

/* The node's name, if no other node or output has it; else that of its first output, which is unique. Names are lines of
 * files. */
static const char *layer_name(const OnnxQuant *q, const RefMap *times, size_t at) {
  const Onnx__NodeProto *n = q->m->graph->node[at];
  const char *name = pb_text(n->name);
  if (*name && printable(name) && refmap_get(times, id_of(q, name)) == 1) return name;
  return printable(n->output[0]) ? n->output[0] : arena_printf(&q->c->model, "node %zu", at);
}

static void name_layers(OnnxQuant *q) {
  RefMap times = { 0 };
  for (size_t i = 0; i < q->layers.n; i++) {
    const Onnx__NodeProto *n = q->m->graph->node[q->layers.p[i].node];
    const uint32_t ids[] = { id_of(q, n->name), id_of(q, n->output[0]) };
    for (int k = 0; k < 2; k++) refmap_set(&times, ids[k], refmap_get(&times, ids[k]) + 1);
  }
  for (size_t i = 0; i < q->layers.n; i++) {
    const Onnx__NodeProto *n = q->m->graph->node[q->layers.p[i].node];
    const Onnx__TensorProto *w = is_product(q, n) ? initializer(q, n->input[1]) : NULL;
    int64_t weights = w != NULL;
    for (size_t k = 0; w && k < w->n_dims; k++) weights *= w->dims[k];
    VEC_PUSH(&q->rows, ((QuantLayer){ layer_name(q, &times, q->layers.p[i].node), n->op_type, weights }));
  }
  refmap_free(&times);
}

/* Marks the values that are in 8 bits if these layers are: what they read, their results, and what moved ones come from. */
static void values_in8(const OnnxQuant *q, const bool *layer, bool *value) {
  memset(value, 0, q->values.n * sizeof *value);
  for (size_t i = 0; i < q->layers.n; i++) {
    const Onnx__NodeProto *n = q->m->graph->node[q->layers.p[i].node];
    if (!layer[i]) continue;
    value[q->layers.p[i].result] = true;
    for (size_t k = 0; k < n->n_input; k++) {
      const uint32_t at = refmap_get(&q->observed, id_of(q, n->input[k]));
      if (at) value[at - 1] = true;
    }
  }
  for (size_t i = 0; i < q->values.n; i++)
    for (int v = (int)i; value[v] && q->values.p[v].like >= 0; v = q->values.p[v].like) value[q->values.p[v].like] = true;
}

/* ---- reading ---- */
static void note_names(OnnxQuant *q) {
  Onnx__GraphProto *g = q->m->graph;
  for (size_t i = 0; i < g->n_initializer; i++) refmap_set(&q->init, id_of(q, g->initializer[i]->name), (uint32_t)i + 1);
  for (size_t i = 0; i < g->n_node; i++) {
    const Onnx__NodeProto *n = g->node[i];
    for (size_t k = 0; k < n->n_output; k++) refmap_set(&q->maker, id_of(q, n->output[k]), (uint32_t)i + 1);
    for (size_t k = 0; k < n->n_input; k++) {
      uint32_t id = id_of(q, n->input[k]);
      refmap_set(&q->user, id, (uint32_t)i + 1);
      refmap_set(&q->users, id, refmap_get(&q->users, id) + 1);
    }
  }
  for (size_t i = 0; i < g->n_output; i++) {
    uint32_t id = id_of(q, g->output[i]->name);
    refmap_set(&q->users, id, refmap_get(&q->users, id) + 1);
  }
}

/* Turns Constant nodes of tensors into initializers. */
static void take_constants(OnnxQuant *q) {
  Onnx__GraphProto *g = q->m->graph;
  Onnx__TensorProto **tensors = ARENA_NEW(&q->c->model, Onnx__TensorProto *, g->n_initializer + g->n_node + 1);
  size_t left = 0;
  if (g->n_initializer) memcpy(tensors, g->initializer, g->n_initializer * sizeof *tensors); /* NULL otherwise */
  g->initializer = tensors;
  for (size_t i = 0; i < g->n_node; i++) {
    Onnx__NodeProto *n = g->node[i];
    Onnx__TensorProto *t = is_op(n, "Constant") && n->n_attribute == 1 && n->n_output == 1 ? n->attribute[0]->t : NULL;
    if (t) {
      t->name = n->output[0];
      tensors[g->n_initializer++] = t;
    } else
      g->node[left++] = n;
  }
  g->n_node = left;
}

/* Moves a tensor from its own file into the model. */
static void take_in(OnnxQuant *q, Onnx__TensorProto *t) {
  if (t->data_location != ONNX__TENSOR_PROTO__DATA_LOCATION__EXTERNAL) return;
  Tensor v = pb_tensor(q->c, &q->external, t, false, (Pos){ 0 });
  t->has_data_location = 0;
  t->data_location = 0;
  t->n_external_data = 0;
  t->has_raw_data = 1;
  t->raw_data = (ProtobufCBinaryData){ (size_t)v.elems * (size_t)dt_bytes(v.dt), (uint8_t *)(uintptr_t)v.data };
}

/* Raises the model to opset 13, if no node changes its meaning thereby. */
static void raise_opset(OnnxQuant *q) {
  static const struct { /* an operator, and the opset in which its meaning changes */
    const char *op;
    int opset;
  } changed[] = {
    { "Upsample", 9 }, { "BatchNormalization", 9 }, { "Scan", 9 },     { "MeanVarianceNormalization", 9 },
    { "Slice", 10 },   { "TopK", 10 },              { "Resize", 11 },  { "Clip", 11 },
    { "Pad", 11 },     { "Scatter", 11 },           { "Dropout", 13 }, { "Squeeze", 13 },
    { "Split", 13 },   { "Unsqueeze", 13 },         { "Softmax", 13 }, { "LogSoftmax", 13 },
    { "Hardmax", 13 }, { "ReduceSum", 13 },
  };
  Onnx__OperatorSetIdProto *set = NULL;
  for (size_t i = 0; i < q->m->n_opset_import; i++)
    if (!*pb_text(q->m->opset_import[i]->domain)) set = q->m->opset_import[i];
  if (!set) fail(q->c, EX_BADMODEL, "the model imports no opset of ai.onnx");
  if (set->version >= OPSET) return;
  if (set->version < OPSET_RAISED)
    fail(q->c, EX_BADMODEL, "opset %lld has no per-channel quantisation; convert the model to opset %d first",
         (long long)set->version, OPSET);
  for (size_t i = 0; i < q->m->graph->n_node; i++) {
    const Onnx__NodeProto *n = q->m->graph->node[i];
    for (size_t k = 0; k < sizeof changed / sizeof *changed; k++) {
      if (!is_op(n, changed[k].op) || set->version >= changed[k].opset) continue;
      fail(q->c, EX_BADMODEL,
           "node %zu '%.100s' (%s) has another meaning in opset %d, which per-channel quantisation needs; convert the model from "
           "opset %lld first",
           i, pb_text(n->name), n->op_type, OPSET, (long long)set->version);
    }
  }
  set->version = OPSET;
}

OnnxQuant *onnx_quant_open(Ctx *c, const char *path, bool allow_hardlinks) {
  OnnxQuant *q = ARENA_NEW(&c->model, OnnxQuant, 1);
  q->c = c;
  q->external = (External){ .model = path, .allow_hardlinks = allow_hardlinks };
  c->file = path;
  wire_guess(c, path);
  q->m = (Onnx__ModelProto *)wire_unpack(c, &c->model, &onnx__model_proto__descriptor, wire_read(c, path), false);
  if (!q->m->graph) fail(c, EX_BADMODEL, "the file has no graph");
  raise_opset(q);
  take_constants(q);
  for (size_t i = 0; i < q->m->graph->n_initializer; i++) take_in(q, q->m->graph->initializer[i]);
  note_names(q);
  choose(q);
  name_layers(q);
  if (!q->layers.n) fail(c, EX_BADMODEL, "there is nothing to quantise: no Conv, Gemm or MatMul of floats has constant weights");
  return q;
}

size_t onnx_quant_values(const OnnxQuant *q, const char *const **names) {
  *names = q->names.p;
  return q->names.n;
}

size_t onnx_quant_layers(const OnnxQuant *q, const QuantLayer **rows) {
  *rows = q->rows.p;
  return q->rows.n;
}

static void put_model(const Onnx__ModelProto *m, Sb *out) {
  vec_grow((void **)&out->p, &out->cap, out->n + onnx__model_proto__get_packed_size(m) + 1, 1);
  out->n += onnx__model_proto__pack(m, (uint8_t *)out->p + out->n);
  out->p[out->n] = 0;
}

void onnx_quant_observe(OnnxQuant *q, Sb *out) {
  Arena *a = &q->c->model;
  Onnx__ModelProto m = *q->m;
  Onnx__GraphProto g = *q->m->graph;
  g.n_output = q->names.n;
  g.output = ARENA_NEW(a, Onnx__ValueInfoProto *, q->names.n);
  for (size_t i = 0; i < q->names.n; i++) {
    Onnx__ValueInfoProto *v = g.output[i] = ARENA_NEW(a, Onnx__ValueInfoProto, 1);
    onnx__value_info_proto__init(v);
    v->name = (char *)(uintptr_t)q->names.p[i];
  }
  m.graph = &g;
  put_model(&m, out);
}

/* ---- writing ---- */
static const char *fresh(OnnxQuant *q, const char *name, const char *what) {
  return arena_printf(&q->c->model, "%s_%s", name, what);
}

static const char *put_tensor(OnnxQuant *q, const char *name, int type, int64_t n, const void *data, size_t bytes) {
  Onnx__TensorProto *t = ARENA_NEW(&q->c->model, Onnx__TensorProto, 1);
  onnx__tensor_proto__init(t);
  t->name = (char *)(uintptr_t)name;
  t->has_data_type = t->has_raw_data = 1;
  t->data_type = type;
  t->n_dims = n > 0; /* n -1: a scalar */
  t->dims = arena_dup(&q->c->model, &n, sizeof n);
  t->raw_data = (ProtobufCBinaryData){ bytes, arena_dup(&q->c->model, data, bytes) };
  VEC_PUSH(&q->tensors, t);
  return name;
}

/* A node with three inputs. axis < 0: no attribute */
static void put_node(OnnxQuant *q, const char *op, const char *x, const char *scale, const char *zero, const char *y,
                     int64_t axis) {
  Arena *a = &q->c->model;
  Onnx__NodeProto *n = ARENA_NEW(a, Onnx__NodeProto, 1);
  onnx__node_proto__init(n);
  n->op_type = (char *)(uintptr_t)op;
  n->name = (char *)(uintptr_t)fresh(q, y, op);
  n->n_input = 3;
  n->input = arena_dup(a, (const char *[]){ x, scale, zero }, 3 * sizeof(char *));
  n->n_output = 1;
  n->output = arena_dup(a, &y, sizeof y);
  if (axis >= 0) {
    Onnx__AttributeProto *t = ARENA_NEW(a, Onnx__AttributeProto, 1);
    onnx__attribute_proto__init(t);
    t->name = (char *)(uintptr_t)"axis";
    t->has_type = t->has_i = 1;
    t->type = ONNX__ATTRIBUTE_PROTO__ATTRIBUTE_TYPE__INT;
    t->i = axis;
    n->n_attribute = 1;
    n->attribute = arena_dup(a, &t, sizeof t);
  }
  VEC_PUSH(&q->nodes, n);
}

static float scale_of(const float range[2]) {
  float lo = fminf(range[0], 0), hi = fmaxf(range[1], 0), scale = (hi - lo) / 255;
  return scale > 0 && isfinite(scale) ? scale : 1;
}

static const float *range_of(const OnnxQuant *q, int at, const float (*range)[2]) {
  while (q->values.p[at].like >= 0) at = q->values.p[at].like;
  return range[at];
}

static const char *layer_switch(const OnnxQuant *q, size_t i) { return arena_printf(&q->c->model, "tgc layer %zu", i); }
static const char *value_switch(const OnnxQuant *q, size_t i) { return arena_printf(&q->c->model, "tgc value %zu", i); }

static void quantise_value(OnnxQuant *q, int at, const Form *f) {
  Observed *v = &q->values.p[at];
  if (!f->value[at]) return;
  const float *r = range_of(q, at, f->range), scale = scale_of(r);
  uint8_t zero = (uint8_t)fminf(255, rintf(-fminf(r[0], 0) / scale));
  const char *s = put_tensor(q, fresh(q, v->name, "scale"), ONNX__TENSOR_PROTO__DATA_TYPE__FLOAT, -1, &scale, 4);
  const char *z = put_tensor(q, fresh(q, v->name, "zero"), ONNX__TENSOR_PROTO__DATA_TYPE__UINT8, -1, &zero, 1);
  const char *u = fresh(q, v->name, "u8");
  v->read = v->quantised = fresh(q, v->name, "dequantised");
  put_node(q, "QuantizeLinear", v->name, s, z, u, -1);
  put_node(q, "DequantizeLinear", u, s, z, v->quantised, -1);
  if (!f->switched) return;
  v->read = fresh(q, v->name, "selected");
  put_node(q, "Where", value_switch(q, (size_t)at), v->quantised, v->name, v->read, -1);
}

/* element [o][channel][i]; scale: by channel */
typedef struct Filters { int64_t n, inner, outer; int axis; const float *data; float *scale; } Filters;

/* Quantises the weights of n to signed bytes. */
static const char *quantise_weights(OnnxQuant *q, const Onnx__NodeProto *n, Filters *f) {
  const Onnx__TensorProto *t = initializer(q, n->input[1]);
  Tensor w = pb_tensor(q->c, &q->external, t, false, (Pos){ 0 });
  bool rows = is_op(n, "Conv") || (is_op(n, "Gemm") && attr_of(n, "transB", 0)), per_axis = rows || w.rank == 2;
  *f = (Filters){ .n = 1, .inner = w.elems, .outer = 1, .axis = -1, .data = w.data };
  if (per_axis) {
    f->axis = rows ? 0 : 1;
    f->n = w.dims[f->axis];
    f->outer = rows ? 1 : w.dims[0];
    f->inner = f->n ? w.elems / f->n / f->outer : 0;
  }
  f->scale = ARENA_NEW(&q->c->model, float, f->n);
  int8_t *bytes = ARENA_NEW(&q->c->model, int8_t, w.elems), *zeros = ARENA_NEW(&q->c->model, int8_t, f->n);
  for (int pass = 0; pass < 2; pass++)
    for (int64_t i = 0; i < w.elems; i++) {
      float *s = &f->scale[i / f->inner % f->n], v = f->data[i];
      if (!pass) *s = fmaxf(*s, fabsf(v) / 127);
      else bytes[i] = (int8_t)fmaxf(-127, fminf(127, rintf(v / (*s > 0 ? *s : 1))));
    }
  for (int64_t i = 0; i < f->n; i++)
    if (!(f->scale[i] > 0)) f->scale[i] = 1;
  const char *base = fresh(q, n->output[0], "weights"), *y = fresh(q, base, "dequantised");
  int64_t count = per_axis ? f->n : -1;
  const char *s = put_tensor(q, fresh(q, base, "scale"), ONNX__TENSOR_PROTO__DATA_TYPE__FLOAT, count, f->scale, (size_t)f->n * 4);
  const char *z = put_tensor(q, fresh(q, base, "zero"), ONNX__TENSOR_PROTO__DATA_TYPE__INT8, count, zeros, (size_t)f->n);
  const char *x = put_tensor(q, fresh(q, base, "i8"), ONNX__TENSOR_PROTO__DATA_TYPE__INT8, -1, bytes, (size_t)w.elems);
  Onnx__TensorProto *shaped = q->tensors.p[q->tensors.n - 1];
  shaped->n_dims = t->n_dims;
  shaped->dims = t->dims;
  put_node(q, "DequantizeLinear", x, s, z, y, f->axis);
  return y;
}

/* The bias as integers on the scale of the products. NULL: it stays a float */
static const char *quantise_bias(OnnxQuant *q, const Onnx__NodeProto *n, const Filters *f, float x_scale) {
  const Onnx__TensorProto *t = n->n_input > 2 ? initializer(q, n->input[2]) : NULL;
  if (!t || t->n_dims != 1 || t->data_type != ONNX__TENSOR_PROTO__DATA_TYPE__FLOAT || f->axis < 0 || t->dims[0] != f->n)
    return NULL;
  if (is_op(n, "Gemm") && (attr_of(n, "alpha", 1) != 1 || attr_of(n, "beta", 1) != 1)) return NULL;
  Tensor b = pb_tensor(q->c, &q->external, t, false, (Pos){ 0 });
  int32_t *v = ARENA_NEW(&q->c->model, int32_t, f->n), *zeros = ARENA_NEW(&q->c->model, int32_t, f->n);
  float *scale = ARENA_NEW(&q->c->model, float, f->n);
  for (int64_t i = 0; i < f->n; i++) {
    scale[i] = x_scale * f->scale[i];
    double x = rint((double)data_f32(b.data, i) / (double)scale[i]);
    if (!(fabs(x) < 0x1p30)) return NULL;
    v[i] = (int32_t)x;
  }
  const char *base = fresh(q, n->output[0], "bias"), *y = fresh(q, base, "dequantised");
  const char *s = put_tensor(q, fresh(q, base, "scale"), ONNX__TENSOR_PROTO__DATA_TYPE__FLOAT, f->n, scale, (size_t)f->n * 4);
  const char *z = put_tensor(q, fresh(q, base, "zero"), ONNX__TENSOR_PROTO__DATA_TYPE__INT32, f->n, zeros, (size_t)f->n * 4);
  const char *x = put_tensor(q, fresh(q, base, "i32"), ONNX__TENSOR_PROTO__DATA_TYPE__INT32, f->n, v, (size_t)f->n * 4);
  put_node(q, "DequantizeLinear", x, s, z, y, 0);
  return y;
}

static Onnx__NodeProto *copy_node(const OnnxQuant *q, const Onnx__NodeProto *n) {
  Onnx__NodeProto *copy = arena_dup(&q->c->model, n, sizeof *n);
  copy->input = arena_dup(&q->c->model, n->input, n->n_input * sizeof *n->input);
  copy->output = arena_dup(&q->c->model, n->output, n->n_output * sizeof *n->output);
  return copy;
}

/* The node with other forms of its values, where there are such */
static Onnx__NodeProto *read_forms(const OnnxQuant *q, const Onnx__NodeProto *n, bool layer) {
  Onnx__NodeProto *copy = copy_node(q, n);
  for (size_t k = 0; k < n->n_input; k++) {
    const uint32_t at = refmap_get(&q->observed, id_of(q, n->input[k]));
    const Observed *v = at ? &q->values.p[at - 1] : NULL;
    const char *name = !v ? NULL : layer ? v->quantised : v->read;
    if (name) copy->input[k] = (char *)(uintptr_t)name;
  }
  return copy;
}

/* A layer in 8 bits */
static Onnx__NodeProto *quantise_layer(OnnxQuant *q, const Onnx__NodeProto *n, const float (*range)[2]) {
  Onnx__NodeProto *copy = read_forms(q, n, true);
  Filters f;
  if (!is_product(q, n)) return copy;
  copy->input[1] = (char *)(uintptr_t)quantise_weights(q, n, &f);
  const int at = (int)refmap_get(&q->observed, id_of(q, n->input[0])) - 1;
  const char *b = quantise_bias(q, n, &f, scale_of(range_of(q, at, range)));
  if (b) copy->input[2] = (char *)(uintptr_t)b;
  return copy;
}

/* A layer in both forms, and its switch */
static void switch_layer(OnnxQuant *q, const Onnx__NodeProto *n, size_t layer, const float (*range)[2]) {
  Onnx__NodeProto *in8 = quantise_layer(q, n, range), *in32 = copy_node(q, n);
  in8->output[0] = (char *)(uintptr_t)fresh(q, n->output[0], "in_bytes");
  in32->output[0] = (char *)(uintptr_t)fresh(q, n->output[0], "in_floats");
  in32->name = (char *)(uintptr_t)in32->output[0];
  VEC_PUSH(&q->nodes, in8);
  VEC_PUSH(&q->nodes, in32);
  put_node(q, "Where", layer_switch(q, layer), in8->output[0], in32->output[0], n->output[0], -1);
}

static void put_values(OnnxQuant *q, const Onnx__NodeProto *n, const Form *f) {
  for (size_t k = 0; k < n->n_output; k++) {
    const uint32_t at = refmap_get(&q->observed, id_of(q, n->output[k]));
    if (at) quantise_value(q, (int)at - 1, f);
  }
}

static void quantise_node(OnnxQuant *q, size_t i, const Form *f) {
  Onnx__NodeProto *n = q->m->graph->node[i];
  const uint32_t layer = refmap_get(&q->layer_of, (uint32_t)i + 1);
  if (layer && f->switched) switch_layer(q, n, layer - 1, f->range);
  else {
    Onnx__NodeProto *now = !layer                ? read_forms(q, n, false)
                           : f->layer[layer - 1] ? quantise_layer(q, n, f->range)
                                                 : n;
    VEC_PUSH(&q->nodes, now); /* behind the nodes of its weights */
  }
  put_values(q, n, f);
}

/* Keeps the initializers that the new graph, or a graph inside of it, still reads. */
static void keep_initializers(OnnxQuant *q, Onnx__GraphProto *g) {
  RefMap read = { 0 };
  bool inside = false;
  for (size_t i = 0; i < q->nodes.n; i++) {
    for (size_t k = 0; k < q->nodes.p[i]->n_input; k++) refmap_set(&read, id_of(q, q->nodes.p[i]->input[k]), 1);
    for (size_t k = 0; k < q->nodes.p[i]->n_attribute; k++) inside |= q->nodes.p[i]->attribute[k]->g != NULL;
  }
  for (size_t i = 0; i < g->n_output; i++) refmap_set(&read, id_of(q, g->output[i]->name), 1);
  for (size_t i = 0; i < g->n_initializer; i++)
    if (inside || refmap_get(&read, id_of(q, g->initializer[i]->name))) VEC_PUSH(&q->tensors, g->initializer[i]);
  size_t kept = 0;
  Onnx__ValueInfoProto **input = ARENA_NEW(&q->c->model, Onnx__ValueInfoProto *, g->n_input + 1);
  for (size_t i = 0; i < g->n_input; i++)
    if (!initializer(q, g->input[i]->name) || inside || refmap_get(&read, id_of(q, g->input[i]->name)))
      input[kept++] = g->input[i];
  g->input = input;
  g->n_input = kept;
  refmap_free(&read);
}

static Onnx__ValueInfoProto *switch_input(const OnnxQuant *q, const char *name) {
  Arena *a = &q->c->model;
  Onnx__ValueInfoProto *v = ARENA_NEW(a, Onnx__ValueInfoProto, 1);
  Onnx__TypeProto *type = ARENA_NEW(a, Onnx__TypeProto, 1);
  Onnx__TypeProto__Tensor *tensor = ARENA_NEW(a, Onnx__TypeProto__Tensor, 1);
  Onnx__TensorShapeProto *shape = ARENA_NEW(a, Onnx__TensorShapeProto, 1);
  onnx__value_info_proto__init(v);
  onnx__type_proto__init(type);
  onnx__type_proto__tensor__init(tensor);
  onnx__tensor_shape_proto__init(shape); /* a scalar */
  tensor->has_elem_type = 1;
  tensor->elem_type = ONNX__TENSOR_PROTO__DATA_TYPE__BOOL;
  tensor->shape = shape;
  type->value_case = ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE;
  type->tensor_type = tensor;
  v->name = (char *)(uintptr_t)name;
  v->type = type;
  return v;
}

/* The inputs of the graph, and a switch for each layer and each value */
static void put_switches(const OnnxQuant *q, Onnx__GraphProto *g) {
  Onnx__ValueInfoProto **all = ARENA_NEW(&q->c->model, Onnx__ValueInfoProto *, g->n_input + q->layers.n + q->values.n);
  if (g->n_input) memcpy(all, g->input, g->n_input * sizeof *all);
  g->input = all;
  for (size_t i = 0; i < q->layers.n; i++) all[g->n_input++] = switch_input(q, layer_switch(q, i));
  for (size_t i = 0; i < q->values.n; i++) all[g->n_input++] = switch_input(q, value_switch(q, i));
}

static void write_form(OnnxQuant *q, const Form *f, Sb *out) {
  Onnx__ModelProto m = *q->m;
  Onnx__GraphProto g = *q->m->graph;
  q->nodes.n = q->tensors.n = 0;
  for (size_t i = 0; i < q->values.n; i++) q->values.p[i].quantised = q->values.p[i].read = NULL;
  for (size_t i = 0; i < q->values.n; i++)
    if (!refmap_get(&q->maker, id_of(q, q->values.p[i].name))) quantise_value(q, (int)i, f); /* inputs of the graph */
  for (size_t i = 0; i < g.n_node; i++) quantise_node(q, i, f);
  keep_initializers(q, &g);
  if (f->switched) put_switches(q, &g);
  g.n_node = q->nodes.n;
  g.node = q->nodes.p;
  g.n_initializer = q->tensors.n;
  g.initializer = q->tensors.p;
  m.graph = &g;
  if (m.ir_version < 7) m.ir_version = 7; /* opset 13 came with IR version 7 */
  put_model(&m, out);
}

size_t onnx_quant_write(OnnxQuant *q, const float (*range)[2], const bool *in8, Sb *out) {
  bool *value = ARENA_NEW(&q->c->model, bool, q->values.n);
  size_t n = 0;
  values_in8(q, in8, value);
  for (size_t i = 0; i < q->values.n; i++) n += value[i];
  write_form(q, &(Form){ .layer = in8, .value = value, .range = range }, out);
  return n;
}

void onnx_quant_switched(OnnxQuant *q, const float (*range)[2], Sb *out) {
  bool *all = ARENA_NEW(&q->c->model, bool, q->values.n);
  memset(all, true, q->values.n * sizeof *all);
  write_form(q, &(Form){ .switched = true, .value = all, .range = range }, out);
}

void onnx_quant_switches(const OnnxQuant *q, const bool *in8, bool *out) {
  memcpy(out, in8, q->layers.n * sizeof *out);
  values_in8(q, in8, out + q->layers.n);
}

void onnx_quant_close(OnnxQuant *q) {
  RefMap *const maps[] = { &q->init, &q->maker, &q->user, &q->users, &q->observed, &q->layer_of };
  for (size_t i = 0; i < sizeof maps / sizeof *maps; i++) refmap_free(maps[i]);
  VEC_FREE(&q->values);
  VEC_FREE(&q->names);
  VEC_FREE(&q->layers);
  VEC_FREE(&q->rows);
  VEC_FREE(&q->nodes);
  VEC_FREE(&q->tensors);
  VEC_FREE(&q->external.files);
}

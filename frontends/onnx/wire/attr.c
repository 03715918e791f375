/* SPDX-License-Identifier: MIT */
/* attr.c: declared types and attributes of nodes, from protobuf messages to records. An attribute must hold a value of the kind
 * that it declares. The builders check that the operator has such an attribute. */
#include "pb.h"
#include <string.h>

typedef Onnx__AttributeProto AttrProto;

static OnnxType shaped_type(Ctx *c, OnnxTypeKind kind, int elem, const Onnx__TensorShapeProto *s) {
  OnnxType t = { .kind = kind, .elem = elem, .rank = -1 };
  if (!s) return t;
  OnnxDim *dims = ARENA_NEW(&c->model, OnnxDim, s->n_dim);
  for (size_t i = 0; i < s->n_dim; i++) {
    const Onnx__TensorShapeProto__Dimension *d = s->dim[i];
    dims[i].value = -1;
    if (d->value_case == ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_VALUE) {
      if (d->dim_value >= 0) dims[i].value = d->dim_value;
      else dims[i].negative = d->dim_value;
    }
    if (d->value_case == ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_PARAM && *pb_text(d->dim_param))
      dims[i].param = pb_name(c, d->dim_param);
  }
  t.rank = (int)s->n_dim;
  t.dims = dims;
  return t;
}

/* A sequence or an optional, with the type of the tensors inside; other contents leave only the kind */
static OnnxType wrapped_type(Ctx *c, OnnxTypeKind kind, const Onnx__TypeProto *inside) {
  OnnxType t = pb_type(c, inside);
  const bool tensors = t.kind == ON_TENSOR || (t.kind == ON_SEQUENCE && kind == ON_OPTIONAL && t.inside == ON_TENSOR);
  t.inside = tensors ? t.kind : ON_NOTYPE;
  t.kind = kind;
  return t;
}

OnnxType pb_type(Ctx *c, const Onnx__TypeProto *p) {
  OnnxType none = { .rank = -1 };
  if (!p) return none;
  switch ((int)p->value_case) { /* int: newer versions of onnx.proto have more cases */
  case ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE: return shaped_type(c, ON_TENSOR, p->tensor_type->elem_type, p->tensor_type->shape);
  case ONNX__TYPE_PROTO__VALUE_SPARSE_TENSOR_TYPE:
    return shaped_type(c, ON_SPARSE, p->sparse_tensor_type->elem_type, p->sparse_tensor_type->shape);
  case ONNX__TYPE_PROTO__VALUE_SEQUENCE_TYPE: return wrapped_type(c, ON_SEQUENCE, p->sequence_type->elem_type);
  case ONNX__TYPE_PROTO__VALUE_MAP_TYPE: none.kind = ON_MAP; return none;
  case ONNX__TYPE_PROTO__VALUE_OPTIONAL_TYPE: return wrapped_type(c, ON_OPTIONAL, p->optional_type->elem_type);
  default: return none;
  }
}

const char *const onnx_attr_kind_name[AT_COUNT] = {
  [AT_NONE] = "undefined", [AT_FLOAT] = "float", [AT_INT] = "int", [AT_STRING] = "string", [AT_TENSOR] = "tensor",
  [AT_GRAPH] = "graph", [AT_FLOATS] = "list of floats", [AT_INTS] = "list of ints", [AT_STRINGS] = "list of strings",
  [AT_TENSORS] = "list of tensors", [AT_GRAPHS] = "list of graphs", [AT_SPARSE_TENSOR] = "sparse tensor",
  [AT_SPARSE_TENSORS] = "list of sparse tensors", [AT_TYPE_PROTO] = "type", [AT_TYPE_PROTOS] = "list of types",
};

const OnnxAttr *onnx_attr(const OnnxNode *n, const char *name) {
  for (uint32_t i = 0; i < n->nattr; i++)
    if (!strcmp(n->attr[i].name, name)) return &n->attr[i];
  return NULL;
}

static bool is_list(int kind) {
  return (kind >= AT_FLOATS && kind <= AT_GRAPHS) || kind == AT_SPARSE_TENSORS || kind == AT_TYPE_PROTOS;
}

/* Number of values that an attribute holds of each kind */
static void attr_counts(const AttrProto *a, size_t n[AT_COUNT]) {
  const size_t count[AT_COUNT] = {
    [AT_FLOAT] = a->has_f != 0, [AT_INT] = a->has_i != 0, [AT_STRING] = a->has_s != 0, [AT_TENSOR] = a->t != NULL,
    [AT_GRAPH] = a->g != NULL, [AT_FLOATS] = a->n_floats, [AT_INTS] = a->n_ints, [AT_STRINGS] = a->n_strings,
    [AT_TENSORS] = a->n_tensors, [AT_GRAPHS] = a->n_graphs, [AT_SPARSE_TENSOR] = a->sparse_tensor != NULL,
    [AT_SPARSE_TENSORS] = a->n_sparse_tensors, [AT_TYPE_PROTO] = a->tp != NULL, [AT_TYPE_PROTOS] = a->n_type_protos,
  };
  memcpy(n, count, sizeof count);
}

/* The kind that an attribute declares. Old files declare none; then the kind of its value. */
static OnnxAttrKind attr_kind(Ctx *c, const AttrProto *a, Pos at) {
  size_t n[AT_COUNT];
  attr_counts(a, n);
  int kind = a->has_type ? (int)a->type : AT_NONE;
  if (kind < 0 || kind >= AT_COUNT) fail_at(c, EX_BADMODEL, at, "attribute '%s' has unknown type %d", a->name, kind);
  for (int k = 1; k < AT_COUNT; k++) {
    if (!n[k] || k == kind) continue;
    if (kind != AT_NONE)
      fail_at(c, EX_BADMODEL, at, "attribute '%s' is declared as '%s', but its value is of type '%s'", a->name,
              onnx_attr_kind_name[kind], onnx_attr_kind_name[k]);
    kind = k;
  }
  if (kind == AT_NONE) fail_at(c, EX_BADMODEL, at, "attribute '%s' has no value", a->name);
  /* proto3 omits zeros and empty strings, but never a message */
  if (!n[kind] && !is_list(kind) && kind != AT_FLOAT && kind != AT_INT && kind != AT_STRING)
    fail_at(c, EX_BADMODEL, at, "attribute '%s' is a %s without a value", a->name, onnx_attr_kind_name[kind]);
  return (OnnxAttrKind)kind;
}

static Bytes string_value(Ctx *c, const AttrProto *a, ProtobufCBinaryData s, Pos at) {
  if (!wire_is_text(s.data, s.len)) fail_at(c, EX_BADMODEL, at, "attribute '%s' is not UTF-8 text", a->name);
  return (Bytes){ (const uint8_t *)intern_text(c, intern(c, (const char *)s.data, s.len)), s.len };
}

OnnxAttr pb_attr(Ctx *c, External *x, const AttrProto *a, Pos at) {
  Arena *to = &c->model;
  OnnxAttr out = { .name = pb_name(c, a->name), .kind = attr_kind(c, a, at) };
  size_t n[AT_COUNT];
  attr_counts(a, n);
  out.n = is_list(out.kind) ? n[out.kind] : 1;
  switch (out.kind) {
  case AT_FLOAT: out.u.floats = arena_dup(to, &a->f, sizeof a->f); break;
  case AT_FLOATS: out.u.floats = arena_dup(to, a->floats, out.n * sizeof *a->floats); break;
  case AT_INT: out.u.ints = arena_dup(to, &a->i, sizeof a->i); break;
  case AT_INTS: out.u.ints = arena_dup(to, a->ints, out.n * sizeof *a->ints); break;
  case AT_STRING: case AT_STRINGS: {
    Bytes *s = ARENA_NEW(to, Bytes, out.n);
    for (size_t i = 0; i < out.n; i++) s[i] = string_value(c, a, out.kind == AT_STRING ? a->s : a->strings[i], at);
    out.u.strings = s;
    break;
  }
  case AT_TENSOR: case AT_TENSORS: {
    Tensor *t = ARENA_NEW(to, Tensor, out.n);
    for (size_t i = 0; i < out.n; i++) t[i] = pb_tensor(c, x, out.kind == AT_TENSOR ? a->t : a->tensors[i], false, at);
    out.u.tensors = t;
    break;
  }
  case AT_GRAPH: case AT_GRAPHS: {
    OnnxGraph **g = ARENA_NEW(to, OnnxGraph *, out.n);
    for (size_t i = 0; i < out.n; i++) g[i] = ARENA_NEW(to, OnnxGraph, 1);
    out.u.graphs = g;
    break;
  }
  case AT_TYPE_PROTO: case AT_TYPE_PROTOS: {
    OnnxType *t = ARENA_NEW(to, OnnxType, out.n);
    for (size_t i = 0; i < out.n; i++) t[i] = pb_type(c, out.kind == AT_TYPE_PROTO ? a->tp : a->type_protos[i]);
    out.u.types = t;
    break;
  }
  default: break;
  }
  return out;
}

/* SPDX-License-Identifier: MIT */
/* pb.c: files with one tensor, the form in which the ONNX tests and tgc run keep inputs and outputs. */
#include "pb.h"
#include <string.h>

typedef struct Load {
  const char *path;
  bool bytes;
  Arena scratch;
  Tensor tensor;
} Load;

static void load_inside(Ctx *c, void *arg) {
  Load *l = arg;
  Bytes file = wire_read(c, l->path);
  const ProtobufCMessage *m = wire_unpack(c, &l->scratch, &onnx__tensor_proto__descriptor, file, false);
  External none = { 0 };
  l->tensor = pb_tensor(c, &none, (const Onnx__TensorProto *)m, l->bytes, (Pos){ 0 });
}

static Tensor load(Ctx *c, const char *path, bool bytes) {
  Load l = { .path = path, .bytes = bytes };
  const char *outer = c->file;
  c->file = path; /* messages name this file */
  int code = ctx_try(c, load_inside, &l);
  c->file = outer;
  arena_free(&l.scratch);
  if (code) fail_silent(c, code);
  return l.tensor;
}

Tensor onnx_tensor_load(Ctx *c, const char *path) { return load(c, path, false); }
Tensor onnx_data_load(Ctx *c, const char *path) { return load(c, path, true); }

/* ---- files with a sequence or an optional, whose messages the library's onnx.proto lacks. SequenceProto has the tensors in its
 * fields 3. OptionalProto has a tensor in field 3, or a sequence in field 5. Both have the kind of their contents in field 2; 0:
 * none ---- */
typedef struct Field {
  uint64_t number, value;
  int wire;
  Bytes bytes;
} Field;

static bool next_varint(Bytes *b, uint64_t *v) {
  *v = 0;
  for (int shift = 0; b->n && shift < 64; shift += 7) {
    const uint8_t byte = *b->p++;
    b->n--;
    *v |= (uint64_t)(byte & 127) << shift;
    if (byte < 128) return true;
  }
  return false;
}

/* false: the bytes end, or are no message */
static bool next_field(Bytes *b, Field *f) {
  uint64_t key;
  if (!next_varint(b, &key)) return false;
  *f = (Field){ .number = key >> 3, .wire = (int)(key & 7) };
  if (f->wire == 0) return next_varint(b, &f->value);
  if (f->wire != 2 || !next_varint(b, &f->value) || f->value > b->n) return false;
  f->bytes = (Bytes){ b->p, (size_t)f->value };
  b->p += f->value;
  b->n -= f->value;
  return true;
}

enum { KIND_NONE, KIND_TENSOR, KIND_SEQUENCE = 3, KINDS = 6 };

typedef VEC(Bytes) Parts;

/* The tensors of a list; false: it is none. A tensor has its extents, which are numbers, in field 1, and data in later fields */
static bool list_parts(Bytes b, Parts *parts, bool *none, int depth) {
  Field f;
  uint64_t kind = KINDS;
  Bytes inner = { 0 };
  while (b.n) {
    if (!next_field(&b, &f) || f.number > 7 || (f.number == 1 && f.wire != 2)) return false;
    if (f.number == 2) kind = f.value;
    if (f.number == 3) VEC_PUSH(parts, f.bytes);
    if (f.number == 5) inner = f.bytes;
  }
  if (kind >= KINDS) return false;
  *none = kind == KIND_NONE;
  return kind != KIND_SEQUENCE || (!depth && inner.n && list_parts(inner, parts, none, 1));
}

bool onnx_list_load(Ctx *c, const char *path, DataList *out) {
  Arena scratch = { 0 };
  Parts parts = { 0 };
  bool none = false;
  const bool is = list_parts(wire_read(c, path), &parts, &none, 0);
  *out = (DataList){ .n = none ? -1 : (int)parts.n, .p = ARENA_NEW(&c->model, Tensor, parts.n + 1) };
  for (size_t i = 0; is && i < parts.n; i++) {
    External nowhere = { 0 };
    const ProtobufCMessage *m = wire_unpack(c, &scratch, &onnx__tensor_proto__descriptor, parts.p[i], false);
    out->p[i] = pb_tensor(c, &nowhere, (const Onnx__TensorProto *)m, true, (Pos){ 0 });
  }
  arena_free(&scratch);
  VEC_FREE(&parts);
  return is;
}

static void put_message(Sb *out, const Onnx__TensorProto *p) {
  vec_grow((void **)&out->p, &out->cap, out->n + onnx__tensor_proto__get_packed_size(p) + 1, 1);
  out->n += onnx__tensor_proto__pack(p, (uint8_t *)out->p + out->n);
  out->p[out->n] = 0;
}

static void save_strings(const Tensor *t, const char *name, Sb *out) {
  const size_t width = (size_t)t->dims[t->rank - 1], n = (size_t)dims_elems(t->dims, t->rank - 1);
  VEC(ProtobufCBinaryData) all = { 0 };
  Onnx__TensorProto p = ONNX__TENSOR_PROTO__INIT;
  p.name = (char *)name;
  p.has_data_type = 1;
  p.data_type = ONNX_STRING;
  p.n_dims = (size_t)t->rank - 1;
  p.dims = (int64_t *)t->dims;
  for (size_t i = 0; i < n; i++) {
    const char *s = (const char *)t->data + i * width;
    VEC_PUSH(&all, ((ProtobufCBinaryData){ strnlen(s, width), (uint8_t *)s }));
  }
  p.n_string_data = n;
  p.string_data = all.p;
  put_message(out, &p);
  VEC_FREE(&all);
}

void onnx_tensor_save(const Tensor *t, const char *name, Sb *out) {
  if (t->narrow == ONNX_STRING) {
    save_strings(t, name, out);
    return;
  }
  size_t size = (size_t)dt_bytes(t->dt), bytes = (size_t)t->elems * size;
  Sb raw = { 0 };
  for (int64_t i = 0; !t->data && i < t->elems; i++) sb_put(&raw, (const char *)&t->splat, size); /* the host is little-endian */
  Onnx__TensorProto p = ONNX__TENSOR_PROTO__INIT;
  p.name = (char *)name;
  p.has_data_type = 1;
  p.data_type = dtype_info[t->dt].onnx;
  p.n_dims = (size_t)t->rank;
  p.dims = (int64_t *)t->dims;
  p.has_raw_data = 1;
  p.raw_data = (ProtobufCBinaryData){ bytes, t->data ? (uint8_t *)t->data : (uint8_t *)raw.p };
  put_message(out, &p);
  sb_free(&raw);
}

const char *domain_text(Ctx *c, const char *s) { return !s || !strcmp(s, "ai.onnx") ? "" : pb_name(c, s); }

int shown(const char *s) {
  enum { SHOWN = 100 }; /* bytes of a name */
  size_t n = strlen(s);
  if (n <= SHOWN) return (int)n;
  for (n = SHOWN; (s[n] & 0xc0) == 0x80;) n--;
  return (int)n;
}

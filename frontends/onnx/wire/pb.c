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

void onnx_tensor_save(const Tensor *t, const char *name, Sb *out) {
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
  vec_grow((void **)&out->p, &out->cap, out->n + onnx__tensor_proto__get_packed_size(&p) + 1, 1);
  out->n += onnx__tensor_proto__pack(&p, (uint8_t *)out->p + out->n);
  out->p[out->n] = 0;
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

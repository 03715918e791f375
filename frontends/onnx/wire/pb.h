/* SPDX-License-Identifier: MIT */
/* pb.h: internal to the reading half: protobuf messages and their memory. The building half does not see these. */
#ifndef TGC_ONNX_PB_H
#define TGC_ONNX_PB_H
#include "../../common/external.h"
#include "onnx.h"
#include <onnx.pb-c.h>
#include <string.h>

/* ---- wire.c: turns bytes into checked messages ---- */

/* Fails when the file has another format: an archive, a web page, another kind of model. */
void wire_guess(Ctx *c, const char *path);

/* The bytes of a file. A large file is mapped. */
Bytes wire_read(Ctx *c, const char *path);

/* Scans the message in b, to limit depth and memory (wire.c), and then unpacks it. Allocations below PB_LARGE bytes come
 * from scratch. Larger ones, mostly weights, come from c->model, so that they outlive the reading. notes: the raw data of
 * large tensors is not copied; wire_noted gives its place in b. */
enum { PB_LARGE = 4096 };
ProtobufCMessage *wire_unpack(Ctx *c, Arena *scratch, const ProtobufCMessageDescriptor *type, Bytes b, bool notes);
Bytes wire_noted(Bytes b, const Onnx__TensorProto *p);

/* UTF-8 without NUL. */
bool wire_is_text(const uint8_t *p, size_t n);

/* Limit in bytes for the decoded model: --max-decoded, or 32 x file + 64 MiB. */
size_t wire_budget(const Ctx *c, size_t file_bytes);

/* ---- tensor.c ---- */

/* The tensor in row-major order. A small one is copied to c->model, aligned to its element. The raw data of
 * a large one may stay in the bytes of its file (x->self: the model file) at any alignment. coded: an element of a type of 8 bits
 * or fewer stays its code, in one byte; false: it becomes its value. at: position for messages. */
Tensor pb_tensor(Ctx *c, External *x, const Onnx__TensorProto *t, bool coded, Pos at);

/* ---- attr.c ---- */

/* Memory comes from c->model. Graphs of an attribute are allocated, but empty: read.c fills them. x, at: as for pb_tensor. */
OnnxType pb_type(Ctx *c, const Onnx__TypeProto *p);
OnnxAttr pb_attr(Ctx *c, External *x, const Onnx__AttributeProto *a, Pos at);

/* ---- optional texts of a message ---- */
static inline const char *pb_text(const char *s) { return s ? s : ""; }
static inline uint32_t pb_intern(Ctx *c, const char *s) { return intern(c, pb_text(s), strlen(pb_text(s))); }
static inline const char *pb_name(Ctx *c, const char *s) { return intern_text(c, pb_intern(c, s)); }
const char *domain_text(Ctx *c, const char *s); /* pb.c; interned; ai.onnx becomes "" */
int shown(const char *s);  /* pb.c; number of bytes of a name to quote in messages, cut between characters */
#endif

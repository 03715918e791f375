/* SPDX-License-Identifier: MIT */
/* pb.h: internal to the reading half of the ONNX front end (wire/): protobuf messages and their memory. Here, a message is a
 * protobuf message, such as a node. A text for the user is called a message to the user. */
#ifndef TGC_ONNX_PB_H
#define TGC_ONNX_PB_H
#include "../../common/external.h"
#include "onnx.h"
#include <onnx.pb-c.h>
#include <string.h>

/* ---- wire.c: turns bytes into checked messages ---- */

/* Fails if the file seems to have another format: an archive, a web page, another kind of model. */
void wire_guess(Ctx *c, const char *path);

/* The bytes of a file, in c->model; a large file is mapped. Records the file as the model's file (source_add). */
Bytes wire_read(Ctx *c, const char *path);

/* Unpacks the message of this type in b. First scans b, and fails if the nesting or the memory would exceed its limit.
 * Allocations below PB_LARGE bytes come from scratch. Larger allocations, mostly weights, come from c->model. notes: the raw data
 * of large tensors are not copied; wire_noted finds these data in b. */
enum { PB_LARGE = 4096 }; /* bytes */
ProtobufCMessage *wire_unpack(Ctx *c, Arena *scratch, const ProtobufCMessageDescriptor *type, Bytes b, bool notes);
/* The raw data of p in b, from which p was unpacked with `notes`. n 0: no data of p were left out */
Bytes wire_noted(Bytes b, const Onnx__TensorProto *p);

/* Whether the n bytes at p are UTF-8 without NUL */
bool wire_is_text(const uint8_t *p, size_t n);

/* Most bytes of the decoded model: the value of --max-decoded, or 32 times file_bytes plus 64 MiB */
size_t wire_budget(const Ctx *c, size_t file_bytes);

/* ---- tensor.c ---- */

/* The tensor t in row-major order. A small tensor is copied to c->model, aligned to its element. The raw data of a large tensor
 * may stay in x->self, the bytes of the model file, at any alignment. coded: each element of a small type, such as
 * float8 or int4, stays its code, in one byte; else each element becomes its value. at: position for messages to the user */
Tensor pb_tensor(Ctx *c, External *x, const Onnx__TensorProto *t, bool coded, Pos at);

/* ---- attr.c ---- */

/* The records of a type and of an attribute. Memory comes from c->model. The graphs of an attribute are allocated, but empty:
 * read.c fills them. x, at: as for pb_tensor */
OnnxType pb_type(Ctx *c, const Onnx__TypeProto *p);
OnnxAttr pb_attr(Ctx *c, External *x, const Onnx__AttributeProto *a, Pos at);

/* ---- optional texts of a message ---- */
static inline const char *pb_text(const char *s) { return s ? s : ""; }
static inline uint32_t pb_intern(Ctx *c, const char *s) { return intern(c, pb_text(s), strlen(pb_text(s))); }
static inline const char *pb_name(Ctx *c, const char *s) { return intern_text(c, pb_intern(c, s)); }
const char *domain_text(Ctx *c, const char *s); /* pb.c: the domain's name, interned; "ai.onnx" becomes "" */
int shown(const char *s);  /* pb.c: how many bytes of a name to quote in a message to the user, so that no character is cut */
#endif

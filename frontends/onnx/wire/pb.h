/* SPDX-License-Identifier: MIT */
/* pb.h: reads protobuf messages. This header is internal to wire/, the half of the ONNX front end that reads files. Here, a
 * message is a protobuf message, such as a node. A text for the user is called a message to the user. */
#ifndef TGC_ONNX_PB_H
#define TGC_ONNX_PB_H
#include "../../common/external.h"
#include "onnx.h"
#include <onnx.pb-c.h>
#include <string.h>

/* ---- wire.c: turns bytes into checked messages ---- */

/* Fails if the file seems to have another format than ONNX, such as an archive, a web page or another kind of model. */
void wire_guess(Ctx *c, const char *path);

/* Returns the bytes of a file. They stay valid as long as c->model; a large file is mapped. Records the file as the model's
 * file (source_add). */
Bytes wire_read(Ctx *c, const char *path);

/* Unpacks b as a message of this type. Fails if b is malformed, if messages are nested too deeply, or if they would take too much
 * memory. Allocations below PB_LARGE bytes come from scratch. Larger allocations, mostly weights, come from c->model. notes: raw
 * data of at least PB_LARGE bytes are not copied; wire_noted finds these data in b. */
enum { PB_LARGE = 4096 };
ProtobufCMessage *wire_unpack(Ctx *c, Arena *scratch, const ProtobufCMessageDescriptor *type, Bytes b, bool notes);
/* p was unpacked from b with `notes`. Returns those raw data of p that were not copied; they are a part of b. The result's n is 0
 * if nothing was left out of p. */
Bytes wire_noted(Bytes b, const Onnx__TensorProto *p);

/* Whether the n bytes at p are UTF-8 without a zero byte */
bool wire_is_text(const uint8_t *p, size_t n);

/* Returns the limit of the decoded model in bytes: the value of --max-decoded, or by default 32 * file_bytes plus 64 MiB */
size_t wire_budget(const Ctx *c, size_t file_bytes);

/* ---- tensor.c ---- */

/* Returns t as a Tensor, whose elements are in row-major order. The elements are in c->model, in the bytes x->self of the model
 * file, or in a file of x->files. In x->self they may be misaligned. coded: each element of a small type, such as float8 or int4,
 * is stored as its code, in one byte. Without `coded`, such an element is converted to its value. at: position for messages to
 * the user */
Tensor pb_tensor(Ctx *c, External *x, const Onnx__TensorProto *t, bool coded, Pos at);

/* ---- attr.c ---- */

/* Returns the record (onnx.h) of a type or of an attribute. Memory comes from c->model. p is NULL if no type is declared. The
 * graphs in an attribute's record are allocated, but read.c fills them in later. x, at: as for pb_tensor */
OnnxType pb_type(Ctx *c, const Onnx__TypeProto *p);
OnnxAttr pb_attr(Ctx *c, External *x, const Onnx__AttributeProto *a, Pos at);

/* ---- optional texts of a message; s NULL stands for the empty text ---- */
static inline const char *pb_text(const char *s) { return s ? s : ""; }
static inline uint32_t pb_intern(Ctx *c, const char *s) { return intern(c, pb_text(s), strlen(pb_text(s))); }
static inline const char *pb_name(Ctx *c, const char *s) { return intern_text(c, pb_intern(c, s)); }
const char *domain_text(Ctx *c, const char *s); /* pb.c: interns the name s of a domain; "ai.onnx" becomes "" */
int shown(const char *s);  /* pb.c: number of bytes of the name s to quote in a message to the user: whole characters, at most
                              100 bytes */
#endif

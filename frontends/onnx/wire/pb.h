/* SPDX-License-Identifier: MIT */
/* pb.h: reads protobuf messages. Only wire/, the half of the ONNX front end that reads files, and onnx_quantize.c include this
 * header. Here, a message is a protobuf message, such as a node. A text for the user is called a message to the user. */
#ifndef TGC_ONNX_PB_H
#define TGC_ONNX_PB_H
#include "../../common/external.h"
#include "onnx.h"
#include <onnx.pb-c.h>
#include <string.h>

/* ---- wire.c: turns bytes into checked messages ---- */

/* Fails if the file seems to have another format than ONNX, such as an archive, a web page or another kind of model. */
void wire_guess(Ctx *c, const char *path);

/* Returns the bytes of a file. The bytes stay valid as long as c->model; a large file is mapped. Adds the file to c->sources, as
 * the file of the model. */
Bytes wire_read(Ctx *c, const char *path);

/* Unpacks b as a message of this type. Fails if b is malformed, if messages are nested too deeply, or if the unpacked message
 * would take too much memory. Allocations below PB_LARGE bytes come from scratch. Larger allocations, mostly weights, come from
 * c->model. If `notes` is set, raw data of at least PB_LARGE bytes are not copied. wire_noted finds these data in b. */
enum { PB_LARGE = 4096 };
ProtobufCMessage *wire_unpack(Ctx *c, Arena *scratch, const ProtobufCMessageDescriptor *type, Bytes b, bool notes);
/* Returns the raw data of the tensor p as a part of b, if wire_unpack has not copied these data. Otherwise n of the result is 0.
 * wire_unpack must have unpacked p from b, with `notes` set. */
Bytes wire_noted(Bytes b, const Onnx__TensorProto *p);

/* Whether the n bytes at p are UTF-8 without a zero byte */
bool wire_is_text(const uint8_t *p, size_t n);

/* Returns the limit of the decoded model in bytes: the value of --max-decoded, or by default 32 * file_bytes plus 64 MiB */
size_t wire_budget(const Ctx *c, size_t file_bytes);

/* ---- tensor.c ---- */

/* Returns t as a Tensor with elements in row-major order. The elements lie in c->model, in x->self, or in a file of x->files.
 * Elements in x->self may be misaligned. coded: for elements of a small type, such as float8 or int4. If `coded` is true, each
 * element becomes a byte. The byte of an integer has the integer's value, and the byte of a float has the float's bits. If
 * `coded` is false, each element has the type SmallType.kept (ir.h). at: position for messages to the user */
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
int shown(const char *s);  /* pb.c: how many bytes of the name s a message to the user quotes: at most 100, and no part of a
                              character */
#endif

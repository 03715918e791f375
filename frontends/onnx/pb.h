/* pb.h: what the files of the reading half share and the building half does not see: protobuf
 * messages and the memory they lie in. */
#ifndef TGC_ONNX_PB_H
#define TGC_ONNX_PB_H
#include "../external.h"
#include "onnx.h"
#include <onnx.pb-c.h>

/* ---- wire.c: bytes to checked messages ---- */

/* Fails when the file is plainly something else: an archive, a web page, another model format. */
void wire_guess(Ctx *c, const char *path);

/* The bytes of a file of a message; a damaged file that is large is refused before it takes memory. */
Bytes wire_read(Ctx *c, Arena *scratch, const ProtobufCMessageDescriptor *type, const char *path);

/* The message of n bytes at p, after the pre-scan. Small allocations come from scratch; those of
 * PB_LARGE bytes and more, which are weights nearly always, from c->model, so that they stay. */
enum { PB_LARGE = 4096 };
ProtobufCMessage *wire_unpack(Ctx *c, Arena *scratch, const ProtobufCMessageDescriptor *type, const void *p, size_t n);

/* UTF-8 without NUL. */
bool wire_is_text(const uint8_t *p, size_t n);

/* The bytes a model may take once decoded: --max-decoded, or 16 x file + 64 MB. */
size_t wire_budget(const Ctx *c, size_t file_bytes);

/* ---- tensor.c ---- */

/* The tensor in c->model, row-major and aligned to its element; at is where messages point. */
Tensor pb_tensor(Ctx *c, External *x, const Onnx__TensorProto *t, Pos at);

static inline const char *pb_text(const char *s) { return s ? s : ""; }
#endif

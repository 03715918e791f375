/* pb.h: what the files of the reading half share and the building half does not see: protobuf
 * messages and the memory they lie in. */
#ifndef TGC_ONNX_PB_H
#define TGC_ONNX_PB_H
#include "../../common/external.h"
#include "onnx.h"
#include <onnx.pb-c.h>
#include <string.h>

/* ---- wire.c: bytes to checked messages ---- */

/* Fails when the file is plainly something else: an archive, a web page, another model format. */
void wire_guess(Ctx *c, const char *path);

/* The bytes of a file, mapped when it is large. */
Bytes wire_read(Ctx *c, const char *path);

/* The message in b, after the pre-scan. Small allocations come from scratch; those of PB_LARGE bytes and
 * more, which are weights nearly always, from c->model, so that they stay. With notes the raw data of large
 * tensors is not decoded: wire_noted says where in b it lies. */
enum { PB_LARGE = 4096 };
ProtobufCMessage *wire_unpack(Ctx *c, Arena *scratch, const ProtobufCMessageDescriptor *type, Bytes b, bool notes);
Bytes wire_noted(Bytes b, const Onnx__TensorProto *p);

/* UTF-8 without NUL. */
bool wire_is_text(const uint8_t *p, size_t n);

/* The bytes a model may take once decoded: --max-decoded, or 32 x file + 64 MB. */
size_t wire_budget(const Ctx *c, size_t file_bytes);

/* ---- tensor.c ---- */

/* The tensor, row-major: in c->model and aligned to its element, or, when it is large, anywhere in x->self, the
 * bytes of the message it is part of. at is where messages point. */
Tensor pb_tensor(Ctx *c, External *x, const Onnx__TensorProto *t, Pos at);

/* ---- attr.c ---- */

/* Memory of c->model; graphs of an attribute are there, but empty: read.c fills them. x and at as above. */
OnnxType pb_type(Ctx *c, const Onnx__TypeProto *p);
OnnxAttr pb_attr(Ctx *c, External *x, const Onnx__AttributeProto *a, Pos at);

/* ---- text of a message, which may be left out ---- */
static inline const char *pb_text(const char *s) { return s ? s : ""; }
static inline uint32_t pb_intern(Ctx *c, const char *s) { return intern(c, pb_text(s), strlen(pb_text(s))); }
static inline const char *pb_name(Ctx *c, const char *s) { return intern_text(c, pb_intern(c, s)); }
const char *domain_text(Ctx *c, const char *s); /* pb.c; interned; "" for ai.onnx */
int shown(const char *s);  /* pb.c; as much of a name as is worth repeating in messages, cut between characters */
#endif

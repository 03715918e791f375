/* SPDX-License-Identifier: MIT */
/* wire.c: turns bytes into protobuf messages. protobuf-c decodes by recursion without a limit, and allocates as much as the
 * file asks for. A 30 KB file can overflow the stack, and 8 MB of empty messages take a gigabyte.
 *
 * So a scan of the wire format comes first. It is iterative, follows protobuf-c's own descriptors, and has a budget for depth
 * and for the bytes that the decoder will allocate. It is stricter than the decoder where only damaged files differ. It refuses
 * groups, overlong varints, 32-bit fields with 64-bit values, repeated singular fields, and text that is not UTF-8. */
#include "pb.h"
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- other file formats ---- */
static const struct {
  int at;
  const char *magic;
  const char *what;
} magics[] = {
  { 0, "\x1f\x8b", "a gzip file: unpack it first" },
  { 0, "PK\3\4", "a zip archive (a PyTorch checkpoint is one): unpack or export it first" },
  { 0, "BZh", "a bzip2 file: unpack it first" },
  { 0, "\xfd" "7zXZ", "an xz file: unpack it first" },
  { 0, "\x28\xb5\x2f\xfd", "a zstd file: unpack it first" },
  { 0, "version https://git-lfs", "a Git LFS pointer: fetch the real file with 'git lfs pull'" },
  { 0, "<", "a web page or XML, perhaps a failed download" },
  { 0, "{", "JSON" },
  { 8, "{\"", "a safetensors file: weights without a graph" },
  { 4, "TFL3", "a TensorFlow Lite model: convert it to ONNX first" },
  { 4, "ORTM", "an ONNX Runtime .ort model: export it as .onnx" },
  { 0, "GGUF", "a GGUF file: weights without a graph" },
  { 0, "\x89HDF", "an HDF5 file (Keras): convert it to ONNX first" },
  { 0, "\x93NUMPY", "a NumPy array" },
  { 0, "\x7f" "ELF", "an executable" },
  { 0, "ir_version:", "ONNX in protobuf's text form: convert it to the binary form" },
};

void wire_guess(Ctx *c, const char *path) {
  char head[64];
  struct stat st;
  int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
  if (fd < 0) return; /* the reader reports why */
  ssize_t n = !fstat(fd, &st) && S_ISREG(st.st_mode) ? pread(fd, head, sizeof head, 0) : -1;
  close(fd);
  for (size_t i = 0; i < sizeof magics / sizeof *magics; i++) {
    ssize_t len = (ssize_t)strlen(magics[i].magic);
    if (n >= magics[i].at + len && !memcmp(head + magics[i].at, magics[i].magic, (size_t)len))
      fail(c, EX_BADMODEL, "not an ONNX model: it looks like %s", magics[i].what);
  }
  static const char none[sizeof head];
  if (n == (ssize_t)sizeof head && !memcmp(head, none, sizeof head))
    fail(c, EX_BADMODEL, "not an ONNX model: it starts with zeros, perhaps an unfinished download");
}

/* ---- payloads that stay in place ----
 * protobuf-c copies every field, and most of a model is weights. So it decodes a copy of the message without the raw data of
 * large tensors. A note in its place tells where the data is: a doc_string, which all tensors lose and nobody reads. Enclosing
 * messages get new lengths. */
enum { RAW_DATA = 9, DOC_STRING = 12, NOTE = 32 }; /* RAW_DATA, DOC_STRING: field numbers of TensorProto. NOTE: digits of a
                                                      note */

/* put: number of bytes inserted: a number (value), or a note (value, length) */
typedef struct Edit { size_t at, gone, put; uint64_t value; size_t length; } Edit;
/* a message with edits: its length, and the place of that length */
typedef struct Around { size_t at, prefix, length; int64_t grown; int outer; } Around;
typedef struct Thin {
  VEC(Edit) edits;
  VEC(Around) around;  /* outer messages before inner ones */
  bool notes;          /* false: raw data is kept */
} Thin;

static size_t varint_bytes(uint64_t v) {
  size_t n = 1;
  while (v >>= 7) n++;
  return n;
}

static uint8_t *put_varint(uint8_t *to, uint64_t v) {
  for (; v > 127; v >>= 7) *to++ = (uint8_t)(v | 128);
  *to++ = (uint8_t)v;
  return to;
}

static int by_place(const void *a, const void *b) {
  const Edit *x = a, *y = b;
  return (x->at > y->at) - (x->at < y->at);
}

static Bytes thin_copy(Arena *scratch, Thin *t, const uint8_t *p, size_t n) {
  int64_t grown = 0;
  for (size_t i = t->around.n; i-- > 0;) {
    Around *m = &t->around.p[i];
    uint64_t length = (uint64_t)((int64_t)m->length + m->grown);
    Edit e = { .at = m->at, .gone = m->prefix, .put = varint_bytes(length), .value = length };
    *(m->outer < 0 ? &grown : &t->around.p[m->outer].grown) += m->grown + (int64_t)e.put - (int64_t)e.gone;
    VEC_PUSH(&t->edits, e);
  }
  VEC_SORT(&t->edits, by_place);
  for (size_t i = 0; i < t->edits.n && !t->around.n; i++) grown += (int64_t)t->edits.p[i].put - (int64_t)t->edits.p[i].gone;
  size_t room = (size_t)((int64_t)n + grown), from = 0;
  uint8_t *out = arena_alloc(scratch, room + 1), *to = out;
  for (size_t i = 0; i < t->edits.n; i++) {
    const Edit *e = &t->edits.p[i];
    memcpy(to, p + from, e->at - from);
    to += e->at - from;
    from = e->at + e->gone;
    if (e->length) {
      to = put_varint(put_varint(to, DOC_STRING << 3 | PROTOBUF_C_WIRE_TYPE_LENGTH_PREFIXED), NOTE);
      snprintf((char *)to, NOTE + 1, "%016zx%016zx", (size_t)e->value, e->length); /* NUL fits: another byte follows */
      to += NOTE;
    } else if (e->put) to = put_varint(to, e->value);
  }
  memcpy(to, p + from, n - from);
  CHECK(to + (n - from) == out + room);
  return (Bytes){ out, room };
}

/* ---- the scan ---- */
typedef struct Message { /* a message during the walk */
  const ProtobufCMessageDescriptor *type;
  const uint8_t *end;
  uint64_t seen;       /* a bit per singular field that was met */
  size_t members;
  size_t at, prefix;   /* place of its length, and bytes of that length */
  int around;          /* 1 + its index in Thin; 0: not in it yet */
} Message;

typedef struct Scan {
  Ctx *c;
  const uint8_t *start;
  Message *level;
  size_t cost, budget;
  Message *outermost;
  Thin *thin;          /* NULL: nothing is left out */
} Scan;

static _Noreturn void bad(const Scan *s, const uint8_t *at, const char *what) {
  fail(s->c, EX_BADMODEL, "not valid ONNX: %s (byte %zu, in %s)", what, (size_t)(at - s->start), s->level->type->short_name);
}

static _Noreturn void bad_field(const Scan *s, const uint8_t *at, const ProtobufCFieldDescriptor *f, const char *what) {
  fail(s->c, EX_BADMODEL, "not valid ONNX: field '%s' %s (byte %zu, in %s)", f->name, what, (size_t)(at - s->start),
       s->level->type->short_name);
}

static void spend(Scan *s, size_t bytes) {
  s->cost += bytes;
  if (s->cost > s->budget)
    fail(s->c, EX_BADMODEL, "the model decodes to more than %zu bytes (--max-decoded)", s->budget);
}

static uint64_t varint(const Scan *s, const uint8_t **p, const uint8_t *end) {
  uint64_t v = 0;
  const uint8_t *at = *p;
  for (int i = 0; i < 10; i++) {
    if (*p == end) bad(s, at, "a number is cut short");
    uint8_t b = *(*p)++;
    if (i == 9 && b > 1) break;
    v |= (uint64_t)(b & 127) << 7 * i;
    if (b & 128) continue;
    if (i && !b) bad(s, at, "a number takes more bytes than it needs");
    return v;
  }
  bad(s, at, "a number has more than 64 bits");
}

/* UTF-8 without surrogates and overlong forms, and without NUL, since names become C strings */
bool wire_is_text(const uint8_t *p, size_t n) {
  for (const uint8_t *end = p + n; p < end;) {
    uint32_t ch = *p++;
    if (!ch) return false;
    if (ch < 0x80) continue;
    int more = ch >= 0xf0 ? 3 : ch >= 0xe0 ? 2 : 1;
    if (ch < 0xc2 || ch > 0xf4 || end - p < more) return false;
    ch &= 0x3fu >> more;
    for (int i = 0; i < more; i++, p++) {
      if ((*p & 0xc0) != 0x80) return false;
      ch = ch << 6 | (*p & 0x3f);
    }
    if ((more == 2 && (ch < 0x800 || (ch >= 0xd800 && ch < 0xe000))) || (more == 3 && (ch < 0x10000 || ch > 0x10ffff)))
      return false;
  }
  return true;
}

static bool is_32bit(ProtobufCType t, uint64_t v) {
  return (t != PROTOBUF_C_TYPE_INT32 && t != PROTOBUF_C_TYPE_ENUM) || (int64_t)v == (int32_t)v;
}

static ProtobufCWireType wire_of(ProtobufCType t) {
  switch (t) {
  case PROTOBUF_C_TYPE_FIXED64: case PROTOBUF_C_TYPE_SFIXED64: case PROTOBUF_C_TYPE_DOUBLE: return PROTOBUF_C_WIRE_TYPE_64BIT;
  case PROTOBUF_C_TYPE_FIXED32: case PROTOBUF_C_TYPE_SFIXED32: case PROTOBUF_C_TYPE_FLOAT: return PROTOBUF_C_WIRE_TYPE_32BIT;
  case PROTOBUF_C_TYPE_STRING: case PROTOBUF_C_TYPE_BYTES: case PROTOBUF_C_TYPE_MESSAGE:
    return PROTOBUF_C_WIRE_TYPE_LENGTH_PREFIXED;
  default: return PROTOBUF_C_WIRE_TYPE_VARINT;
  }
}

enum { PER_MEMBER = 64, PER_ALLOC = 16 }; /* bytes: PER_MEMBER for protobuf-c's list of the fields it met, PER_ALLOC for
                                             rounding by the arena */

/* A list of numbers in one length-prefixed field */
static void scan_packed(Scan *s, const ProtobufCFieldDescriptor *f, const uint8_t *p, size_t n) {
  ProtobufCWireType w = wire_of(f->type);
  if (w != PROTOBUF_C_WIRE_TYPE_VARINT) {
    size_t elem = w == PROTOBUF_C_WIRE_TYPE_64BIT ? 8 : 4;
    if (n % elem) bad_field(s, p, f, "does not hold a whole number of elements");
    spend(s, n);
    return;
  }
  size_t count = 0;
  for (const uint8_t *end = p + n; p < end; count++) {
    const uint8_t *at = p;
    if (!is_32bit(f->type, varint(s, &p, end))) bad_field(s, at, f, "has a value of more than 32 bits");
  }
  spend(s, count * 8);
}

static void scan_text(const Scan *s, const ProtobufCFieldDescriptor *f, const uint8_t *p, size_t n) {
  /* comments may hold any bytes, since nothing reads them */
  if (strcmp(f->name, "doc_string") && !wire_is_text(p, n)) bad_field(s, p, f, "is not UTF-8 text");
}

/* Leaves out a field, or replaces it by a note. */
static void leave_out(Scan *s, const uint8_t *from, const uint8_t *body, size_t n, bool note) {
  Thin *t = s->thin;
  size_t begin = (size_t)(from - s->start), at = (size_t)(body - s->start);
  Edit e = { .at = begin, .gone = at + n - begin, .put = note ? NOTE + 2 : 0, .value = note ? at : 0, .length = note ? n : 0 };
  int outer = -1;
  VEC_PUSH(&t->edits, e);
  for (Message *m = s->outermost + 1; m <= s->level; m++) { /* the outermost has no length */
    if (!m->around) {
      Around a = { .at = m->at, .prefix = m->prefix, .length = (size_t)(m->end - s->start) - m->at - m->prefix, .outer = outer };
      VEC_PUSH(&t->around, a);
      m->around = (int)t->around.n;
    }
    outer = m->around - 1;
  }
  if (outer >= 0) t->around.p[outer].grown += (int64_t)e.put - (int64_t)e.gone;
}

/* Scans one field, up to its payload if that is a message. p moves behind everything else. Returns the type of the message that
 * starts at p, with its size in *len, or NULL. */
static const ProtobufCMessageDescriptor *scan_field(Scan *s, Message *l, const uint8_t **p, size_t *len) {
  const uint8_t *at = *p;
  uint64_t tag = varint(s, p, l->end), value = 0;
  if (tag >> 3 == 0 || tag >> 3 >= 1 << 29) bad(s, at, "a field number is out of range");
  const ProtobufCFieldDescriptor *f = protobuf_c_message_descriptor_get_field(l->type, (unsigned)(tag >> 3));
  ProtobufCWireType wire = (ProtobufCWireType)(tag & 7);
  switch (wire) {
  case PROTOBUF_C_WIRE_TYPE_VARINT:
    value = varint(s, p, l->end);
    *len = 0;
    break;
  case PROTOBUF_C_WIRE_TYPE_64BIT: *len = 8; break;
  case PROTOBUF_C_WIRE_TYPE_32BIT: *len = 4; break;
  case PROTOBUF_C_WIRE_TYPE_LENGTH_PREFIXED: *len = varint(s, p, l->end); break;
  default: bad(s, at, "a field has a wire type that ONNX does not use");
  }
  if (*len > (size_t)(l->end - *p)) bad(s, at, "a field runs past the end of its message");
  if (*len > INT_MAX) bad(s, at, "a field of more than 2147483647 bytes");
  if (++l->members > 16) spend(s, PER_MEMBER); /* the first 16 are on its stack */
  const uint8_t *body = *p;
  if (!f || f->type != PROTOBUF_C_TYPE_MESSAGE || wire != PROTOBUF_C_WIRE_TYPE_LENGTH_PREFIXED) *p += *len;
  if (!f) { /* unknown fields are kept and ignored */
    spend(s, sizeof(ProtobufCMessageUnknownField) + *len + PER_ALLOC);
    return NULL;
  }
  bool list = f->label == PROTOBUF_C_LABEL_REPEATED;
  if (!list) {
    uint64_t bit = 1ull << ((f - l->type->fields) & 63);
    if (l->seen & bit) bad_field(s, at, f, "occurs twice");
    l->seen |= bit;
  }
  if (wire != wire_of(f->type)) {
    if (!list || wire != PROTOBUF_C_WIRE_TYPE_LENGTH_PREFIXED) bad_field(s, at, f, "has the wrong wire type");
    scan_packed(s, f, body, *len);
    return NULL;
  }
  if (!is_32bit(f->type, value)) bad_field(s, at, f, "has a value of more than 32 bits");
  if (list) spend(s, 16); /* 16 bytes: an element, or a pointer to it */
  if (f->type == PROTOBUF_C_TYPE_STRING) scan_text(s, f, body, *len);
  if (f->type == PROTOBUF_C_TYPE_STRING || f->type == PROTOBUF_C_TYPE_BYTES) spend(s, *len + PER_ALLOC);
  bool note = s->thin && s->thin->notes && f->id == RAW_DATA && *len >= PB_LARGE;
  if (s->thin && l->type == &onnx__tensor_proto__descriptor && (note || f->id == DOC_STRING)) leave_out(s, at, body, *len, note);
  return f->type == PROTOBUF_C_TYPE_MESSAGE ? f->descriptor : NULL;
}

static void scan(Ctx *c, Arena *scratch, const ProtobufCMessageDescriptor *type, const uint8_t *p, size_t n, Thin *thin) {
  /* protobuf-c uses 3 KB of stack per level, so --max-nesting has a limit */
  int64_t deepest = c->limits.nesting < 1000 ? c->limits.nesting : 1000, depth = 0;
  Message *level = ARENA_NEW(scratch, Message, deepest + 1);
  level[0] = (Message){ .type = type, .end = p + n };
  Scan s = { .c = c, .start = p, .budget = wire_budget(c, n), .level = level, .outermost = level, .thin = thin };
  spend(&s, type->sizeof_message);
  while (depth >= 0) {
    s.level = &level[depth];
    if (p == level[depth].end) {
      depth--;
      continue;
    }
    size_t len;
    const uint8_t *field = p;
    const ProtobufCMessageDescriptor *inner = scan_field(&s, &level[depth], &p, &len);
    if (!inner) continue;
    if (++depth > deepest)
      fail(c, EX_BADMODEL, "protobuf messages (graphs, nodes, attributes) are nested deeper than %lld (--max-nesting)",
           (long long)deepest);
    spend(&s, inner->sizeof_message + PER_ALLOC);
    size_t tag = 0;
    while (field[tag++] & 128) continue;
    const size_t at = (size_t)(field - s.start) + tag, prefix = (size_t)(p - field) - tag;
    level[depth] = (Message){ .type = inner, .end = p + len, .at = at, .prefix = prefix };
  }
}

/* Factor 32: trees are lists of small unpacked numbers, of 2 to 4 bytes each, for which spend counts 80. */
size_t wire_budget(const Ctx *c, size_t file_bytes) {
  return c->limits.decoded ? (size_t)c->limits.decoded : file_bytes * 32 + (64u << 20);
}

/* ---- reading ---- */
enum { MAP_FROM = 1 << 20 }; /* bytes; smaller files are copied: that is cheaper than a mapping, and the copy cannot change */

Bytes wire_read(Ctx *c, const char *path) {
  struct stat st;
  int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC); /* file_read reports errors */
  Bytes file = { 0 };
  if (fd >= 0 && !fstat(fd, &st) && S_ISREG(st.st_mode) && st.st_size >= MAP_FROM && st.st_size <= INT_MAX)
    file = file_map(c, fd, 0, (size_t)st.st_size);
  if (fd >= 0) close(fd);
  if (!file.n) file = file_read(c, path, INT_MAX); /* INT_MAX: limit of protobuf */
  source_add(c, NULL, file);
  return file;
}

/* ---- decoding ---- */
typedef struct Pools { Arena *small, *large; } Pools;

static void *pool_alloc(void *pools, size_t bytes) {
  Pools *p = pools;
  return arena_alloc(bytes < PB_LARGE ? p->small : p->large, bytes);
}

static void pool_free(void *pools, void *p) { (void)pools, (void)p; } /* arenas are freed as a whole */

/* A mapped file may change at any time, so the decoder gets a scanned copy in our own memory. */
ProtobufCMessage *wire_unpack(Ctx *c, Arena *scratch, const ProtobufCMessageDescriptor *type, Bytes b, bool notes) {
  Thin thin = { .notes = notes };
  scan(c, scratch, type, b.p, b.n, &thin);
  Bytes copy = thin_copy(scratch, &thin, b.p, b.n);
  VEC_FREE(&thin.edits);
  VEC_FREE(&thin.around);
  scan(c, scratch, type, copy.p, copy.n, NULL);
  Pools pools = { scratch, &c->model };
  ProtobufCAllocator a = { pool_alloc, pool_free, &pools };
  ProtobufCMessage *m = protobuf_c_message_unpack(type, &a, copy.n, copy.p);
  if (!m) fail(c, EX_BADMODEL, "not valid ONNX: protobuf-c cannot decode it");
  return m;
}

/* The payload that a tensor's note points to; n is 0 without a note. */
Bytes wire_noted(Bytes file, const Onnx__TensorProto *p) {
  size_t at, n;
  if (!p->doc_string || sscanf(p->doc_string, "%16zx%16zx", &at, &n) != 2 || n > file.n || at > file.n - n) return (Bytes){ 0 };
  return (Bytes){ file.p + at, n };
}

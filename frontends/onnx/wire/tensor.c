/* SPDX-License-Identifier: MIT */
/* tensor.c: turns a TensorProto into a Tensor. Elements are raw bytes, one of five typed lists, or in a file of their own.
 * Exactly one of these must hold as many elements as the shape needs, each within the range of its type. Bytes stay in place
 * where possible: only small, converted or misaligned data is copied. */
#include "pb.h"
#include <nettle/sha1.h>
#include <string.h>
#include <strings.h>

/* names of TensorProto.DataType, including those missing in Debian's onnx.proto */
static const char *const type_names[] = {
  NULL, "float", "uint8", "int8", "uint16", "int16", "int32", "int64", "string", "bool", "float16", "double", "uint32", "uint64",
  "complex64", "complex128", "bfloat16", "float8e4m3fn", "float8e4m3fnuz", "float8e5m2", "float8e5m2fnuz", "uint4", "int4",
  "float4e2m1", "float8e8m0", "uint2", "int2",
};

const char *onnx_type_name(int elem) {
  return elem > 0 && elem < (int)(sizeof type_names / sizeof *type_names) ? type_names[elem] : NULL;
}

/* ---- the five typed lists, and the types that each may hold ---- */
enum { F_RAW, F_FLOAT, F_INT32, F_INT64, F_DOUBLE, F_UINT64, F_STRING, F_EXTERNAL, F_COUNT };
static const char *const field_names[F_COUNT] = {
  "raw_data", "float_data", "int32_data", "int64_data", "double_data", "uint64_data", "string_data", "external_data",
};

static int field_of(DType d) {
  switch (d) {
  case DT_F32: return F_FLOAT;
  case DT_F64: return F_DOUBLE;
  case DT_I64: return F_INT64;
  case DT_U32: case DT_U64: return F_UINT64;
  default: return F_INT32;
  }
}

/* Range of values in int32_data and uint64_data for narrower types; floats are stored as bits. */
static void range_of(DType d, int64_t *lo, int64_t *hi) {
  int bits = dtype_info[d].bits;
  bool is_signed = dtype_info[d].cls == 'i';
  *lo = is_signed ? -(1ll << (bits - 1)) : 0;
  *hi = is_signed ? (1ll << (bits - 1)) - 1 : (1ll << bits) - 1;
}

typedef struct Source {
  Ctx *c;
  Pos at;
  const Onnx__TensorProto *p;
  const char *subject;        /* subject of messages: "tensor 'w'", or "a tensor" */
  bool has_raw;
  Bytes raw;                  /* contents of raw_data */
  bool stays;                 /* raw is in memory that outlives the reading */
  size_t count[F_COUNT];      /* elements per field; bytes for raw data */
} Source;

/* Finds the one field that is set. */
static int pick_field(Source *s) {
  const Onnx__TensorProto *p = s->p;
  bool external = p->has_data_location && p->data_location == ONNX__TENSOR_PROTO__DATA_LOCATION__EXTERNAL;
  if (p->has_data_location && !external && p->data_location != ONNX__TENSOR_PROTO__DATA_LOCATION__DEFAULT)
    fail_at(s->c, EX_BADMODEL, s->at, "%s has unknown data_location %d", s->subject, (int)p->data_location);
  const size_t n[F_COUNT] = { s->has_raw ? s->raw.n : 0, p->n_float_data, p->n_int32_data, p->n_int64_data,
                              p->n_double_data, p->n_uint64_data, p->n_string_data, external };
  int field = external ? F_EXTERNAL : F_RAW;
  bool set = external || s->has_raw;
  for (int f = 0; f < F_COUNT; f++) {
    s->count[f] = n[f];
    if (!n[f] || f == field) continue;
    if (set && s->count[field])
      fail_at(s->c, EX_BADMODEL, s->at, "%s has both %s and %s", s->subject, field_names[field], field_names[f]);
    field = f;
    set = true;
  }
  return field;
}

static bool is_aligned(const void *p, size_t to) { return (uintptr_t)p % to == 0; }

/* Keeps bytes in place; copies them if the memory does not last or is misaligned. */
static const void *keep(Ctx *c, const void *p, size_t bytes, size_t elem) {
  return bytes >= PB_LARGE && is_aligned(p, elem) ? p : arena_dup(&c->model, p, bytes);
}

static const void *narrow(Source *s, DType d, size_t elems) {
  size_t size = (size_t)dt_bytes(d);
  char *out = arena_alloc(&s->c->model, elems * size);
  bool wide = d == DT_U32;
  int64_t lo, hi;
  range_of(d, &lo, &hi);
  for (size_t i = 0; i < elems; i++) {
    uint64_t v = wide ? s->p->uint64_data[i] : (uint64_t)(int64_t)s->p->int32_data[i];
    if ((int64_t)v < lo || (int64_t)v > hi)
      fail_at(s->c, EX_BADMODEL, s->at, "%s: entry %zu of %s is %lld, expected %lld to %lld for %s of %s", s->subject, i,
              wide ? "uint64_data" : "int32_data", (long long)v, (long long)lo, (long long)hi,
              dt_float(d) ? "the bits" : "elements", dtype_info[d].text);
    if (d == DT_BOOL) v = v != 0;
    memcpy(out + i * size, &v, size); /* the host is little-endian, as the file is */
  }
  return out;
}

/* C code that reads a bool other than 0 and 1 has undefined behaviour. */
static const void *normal_bools(Ctx *c, const uint8_t *p, size_t n) {
  size_t i = 0;
  while (i < n && p[i] <= 1) i++;
  if (i == n) return p;
  uint8_t *out = arena_alloc(&c->model, n);
  for (i = 0; i < n; i++) out[i] = p[i] != 0;
  return out;
}

/* ---- elements in a file of their own ---- */
typedef struct Entry { /* external_data of one tensor */
  const char *location, *offset, *length, *checksum;
} Entry;

static Entry read_keys(const Source *s, External *x) {
  Entry e = { 0 };
  for (size_t i = 0; i < s->p->n_external_data; i++) {
    const char *key = pb_text(s->p->external_data[i]->key), *value = pb_text(s->p->external_data[i]->value);
    const char **slot = !strcmp(key, "location")   ? &e.location
                        : !strcmp(key, "offset")   ? &e.offset
                        : !strcmp(key, "length")   ? &e.length
                        : !strcmp(key, "checksum") ? &e.checksum
                                                   : NULL;
    if (!slot) {
      if (!x->warned) warn_at(s->c, s->at, "%s: external data key '%s' is unknown and ignored", s->subject, key);
      x->warned = true;
      continue;
    }
    if (*slot) fail_at(s->c, EX_BADMODEL, s->at, "%s: external data key '%s' occurs twice", s->subject, key);
    *slot = value;
  }
  if (!e.location) fail_at(s->c, EX_BADMODEL, s->at, "%s: external data without a location", s->subject);
  return e;
}

/* A decimal number that fits in 63 bits; without the key, *out keeps its value. */
static void read_number(const Source *s, const char *key, const char *text, uint64_t *out) {
  if (!text) return;
  int64_t v = 0;
  const char *p = text;
  while (*p >= '0' && *p <= '9' && i64_mul(v, 10, &v) && i64_add(v, *p - '0', &v)) p++;
  if (p == text || *p)
    fail_at(s->c, EX_BADMODEL, s->at, "%s: external data %s '%.100s' is not a byte count", s->subject, key, text);
  *out = (uint64_t)v;
}

static void check_sum(const Source *s, ExternalFile *f, const char *want) {
  if (!*f->sha1) {
    struct sha1_ctx h;
    uint8_t digest[SHA1_DIGEST_SIZE];
    sha1_init(&h);
    sha1_update(&h, f->all.n, f->all.p);
    sha1_digest(&h, sizeof digest, digest);
    for (int i = 0; i < SHA1_DIGEST_SIZE; i++) snprintf(f->sha1 + 2 * i, 3, "%02x", digest[i]);
  }
  if (strcasecmp(f->sha1, want))
    fail_at(s->c, EX_BADMODEL, s->at, "%s: the SHA-1 of '%.200s' is %s, the model says '%.100s'", s->subject,
            intern_text(s->c, f->location), f->sha1, want);
}

/* The bytes of a tensor with a file of its own */
static const uint8_t *external_bytes(const Source *s, External *x, size_t need) {
  Entry e = read_keys(s, x);
  uint64_t offset = 0, length = need;
  read_number(s, "offset", e.offset, &offset);
  read_number(s, "length", e.length, &length);
  if (length != need)
    fail_at(s->c, EX_BADMODEL, s->at, "%s: external data has length %llu, its shape needs %zu", s->subject,
            (unsigned long long)length, need);
  Bytes b = external_range(s->c, x, e.location, offset, need, s->at, s->subject);
  if (e.checksum) check_sum(s, external_file(s->c, x, e.location, s->at, s->subject), e.checksum);
  return b.p;
}

/* ---- elements smaller than a byte: several share a byte, the first in its low bits. Each is unpacked to the type that keeps
 * it ---- */
static const void *narrow_elements(Source *s, External *x, const Tensor *t, const SmallType *type) {
  const size_t elems = (size_t)t->elems, per = 8 / (size_t)type->bits, bytes = (elems + per - 1) / per;
  const int field = pick_field(s);
  const uint8_t *from = NULL;
  size_t have = s->count[F_RAW];
  if (field == F_EXTERNAL) from = external_bytes(s, x, have = bytes);
  else if (field == F_RAW) from = s->raw.p;
  else if (field == F_INT32) have = s->count[F_INT32];
  else
    fail_at(s->c, EX_BADMODEL, s->at, "%s has %d bits per element but its data is in %s", s->subject, type->bits,
            field_names[field]);
  if (have != bytes) fail_at(s->c, EX_BADMODEL, s->at, "%s has %zu bytes, its shape needs %zu", s->subject, have, bytes);
  const size_t size = (size_t)dt_bytes(t->dt);
  int64_t values[256];
  for (unsigned v = 0; v < 1u << type->bits; v++)
    values[v] = t->dt == type->kept ? double_to_bits(t->dt, small_value(type, v)) : v;
  char *to = arena_alloc(&s->c->model, (elems + 1) * size);
  for (size_t i = 0; i < elems; i++) {
    const unsigned group = from ? from[i / per] : (unsigned)s->p->int32_data[i / per],
                   shift = (unsigned)(i % per) * (unsigned)type->bits;
    memcpy(to + i * size, &values[group >> shift & ((1u << type->bits) - 1)], size); /* the host is little-endian */
  }
  return to;
}

/* ---- strings: each is a row of bytes, as long as the longest string, filled up with zeros ---- */
static const void *string_elements(Source *s, Tensor *t) {
  const Onnx__TensorProto *p = s->p;
  const size_t elems = (size_t)t->elems;
  size_t width = 1;
  if (pick_field(s) != F_STRING && elems)
    fail_at(s->c, EX_BADMODEL, s->at, "%s is string but its data is in %s", s->subject, field_names[pick_field(s)]);
  if (p->n_string_data != elems)
    fail_at(s->c, EX_BADMODEL, s->at, "%s has %zu elements of string_data, its shape needs %zu", s->subject, p->n_string_data,
            elems);
  for (size_t i = 0; i < elems; i++) {
    const ProtobufCBinaryData v = p->string_data[i];
    if (v.len > STRING_MOST || (v.len && memchr(v.data, 0, v.len)))
      fail_at(s->c, EX_BADMODEL, s->at, "%s: string %zu has a zero byte, or more than %d bytes", s->subject, i, STRING_MOST);
    if (v.len > width) width = v.len;
  }
  int64_t bytes;
  if (!i64_mul(t->elems, (int64_t)width, &bytes) || bytes > (int64_t)wire_budget(s->c, 0))
    fail_at(s->c, EX_BADMODEL, s->at, "%s takes more than %zu bytes if each string has %zu, as the longest has (--max-decoded)",
            s->subject, wire_budget(s->c, 0), width);
  char *to = ARENA_NEW(&s->c->model, char, bytes + 1);
  for (size_t i = 0; i < elems; i++)
    if (p->string_data[i].len) memcpy(to + i * width, p->string_data[i].data, p->string_data[i].len);
  t->dims[t->rank++] = (int64_t)width;
  t->elems = bytes;
  return to;
}

/* ---- all forms ---- */
static const void *elements(Source *s, External *x, const Tensor *t, size_t bytes) {
  const Onnx__TensorProto *p = s->p;
  size_t size = (size_t)dt_bytes(t->dt), elems = (size_t)t->elems;
  int field = pick_field(s);
  if (field == F_EXTERNAL) {
    const uint8_t *at = external_bytes(s, x, bytes);
    return is_aligned(at, size) ? at : arena_dup(&s->c->model, at, bytes);
  }
  if (field == F_RAW && (s->has_raw || !elems)) {
    if (s->count[F_RAW] != bytes)
      fail_at(s->c, EX_BADMODEL, s->at, "%s has %zu bytes of raw_data, its shape needs %zu", s->subject, s->count[F_RAW], bytes);
    return s->stays ? s->raw.p : keep(s->c, s->raw.p, bytes, size);
  }
  if (field == F_RAW) fail_at(s->c, EX_BADMODEL, s->at, "%s has no data, its shape needs %zu elements", s->subject, elems);
  if (field != field_of(t->dt))
    fail_at(s->c, EX_BADMODEL, s->at, "%s is %s but its data is in %s", s->subject, dtype_info[t->dt].text, field_names[field]);
  if (s->count[field] != elems)
    fail_at(s->c, EX_BADMODEL, s->at, "%s has %zu elements of %s, its shape needs %zu", s->subject, s->count[field],
            field_names[field], elems);
  const void *same = field == F_FLOAT    ? (const void *)p->float_data
                     : field == F_DOUBLE ? (const void *)p->double_data
                     : field == F_INT64  ? (const void *)p->int64_data
                     : t->dt == DT_I32   ? (const void *)p->int32_data
                     : t->dt == DT_U64   ? (const void *)p->uint64_data
                                         : NULL;
  return same ? keep(s->c, same, bytes, size) : narrow(s, t->dt, elems);
}

Tensor pb_tensor(Ctx *c, External *x, const Onnx__TensorProto *p, bool coded, Pos at) {
  const char *name = pb_text(p->name);
  Bytes noted = wire_noted(x->self, p);
  Source s = { .c = c,
               .at = at,
               .p = p,
               .has_raw = p->has_raw_data || noted.n,
               .stays = noted.n > 0,
               .raw = noted,
               .subject = *name ? arena_printf(&c->model, "tensor '%.200s'", name) : "a tensor" };
  const SmallType *small = small_type(p->data_type);
  Tensor t = { .dt = small ? coded ? small_bytes(small) : small->kept : dtype_from_onnx(p->data_type),
               .narrow = small ? small->onnx : 0,
               .name = intern_text(c, intern(c, name, strlen(name))) };
  if (!noted.n && p->has_raw_data) s.raw = (Bytes){ p->raw_data.data, p->raw_data.len };
  if (!p->data_type || !onnx_type_name(p->data_type))
    fail_at(c, EX_BADMODEL, at, "%s has unknown data_type %d", s.subject, p->data_type);
  if (t.dt == DT_NONE)
    fail_at(c, EX_BADMODEL, at, "%s has elements of type %s, which tgc does not support", s.subject,
            onnx_type_name(p->data_type));
  if (p->segment) fail_at(c, EX_BADMODEL, at, "%s is a segment, which tgc does not support", s.subject);
  const int most = t.narrow == ONNX_STRING ? USER_RANK : MAX_RANK; /* data of a text file may have more axes than a model's */
  if (p->n_dims > (size_t)most)
    fail_at(c, EX_BADMODEL, at, "%s has %zu dimensions; in an ONNX model tgc supports at most %d", s.subject, p->n_dims,
            USER_RANK);
  t.rank = (int)p->n_dims;
  int64_t bytes = dt_bytes(t.dt);
  bool empty = false, fits = true;
  for (int i = 0; i < t.rank; i++) {
    t.dims[i] = p->dims[i];
    if (t.dims[i] < 0) fail_at(c, EX_BADMODEL, at, "%s has dimension %lld, which is negative", s.subject, (long long)t.dims[i]);
    empty |= !t.dims[i];
    fits = fits && i64_mul(bytes, t.dims[i] ? t.dims[i] : 1, &bytes);
  }
  if (!fits) fail_at(c, EX_BADMODEL, at, "%s has more than 2^63 bytes", s.subject);
  if (empty) bytes = 0;
  t.elems = bytes / dt_bytes(t.dt);
  t.data = t.narrow == ONNX_STRING ? string_elements(&s, &t)
           : small                 ? narrow_elements(&s, x, &t, small)
                                   : elements(&s, x, &t, (size_t)bytes);
  if (t.dt == DT_BOOL) t.data = normal_bools(c, t.data, (size_t)t.elems);
  return t;
}

/* SPDX-License-Identifier: MIT */
/* npy.c: NumPy's array files. A .npy file is a magic number, a header (the literal of a Python dictionary), and the elements. A
 * .npz file is a zip archive of them. Both come from users, so every number is checked against the size of the file. */
#include "../cmd.h"
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

/* ---- .npy ---- */
static const struct {
  const char *text;
  DType dt;
} descrs[] = {
  { "b1", DT_BOOL }, { "i1", DT_I8 },  { "u1", DT_U8 },  { "i2", DT_I16 },  { "u2", DT_U16 }, { "i4", DT_I32 }, { "u4", DT_U32 },
  { "i8", DT_I64 },  { "u8", DT_U64 }, { "f2", DT_F16 }, { "V2", DT_BF16 }, { "f4", DT_F32 }, { "f8", DT_F64 },
};
enum { DESCRS = sizeof descrs / sizeof *descrs };

/* the text behind 'key': in the header, or NULL */
static const char *after_key(const char *head, const char *key) {
  const char *at = strstr(head, key);
  if (!at) return NULL;
  at += strlen(key);
  while (*at == '\'' || *at == '"' || *at == ':' || isspace((unsigned char)*at)) at++;
  return at;
}

static DType parse_descr(const char *at) {
  if (!at || !strchr("<|=", *at)) return DT_NONE; /* big-endian files are refused */
  for (int i = 0; i < DESCRS; i++)
    if (!strncmp(at + 1, descrs[i].text, 2) && strchr("'\"", at[3])) return descrs[i].dt;
  return DT_NONE;
}

static uint64_t le(const uint8_t *p, int n) {
  uint64_t v = 0;
  for (int i = 0; i < n; i++) v |= (uint64_t)p[i] << 8 * i;
  return v;
}

/* Bytes of a string: S16 or U16, whose characters have four bytes each; 0: no strings */
static size_t string_bytes(const char *at) {
  if (!at || !strchr("|<=", *at) || (at[1] != 'S' && at[1] != 'U')) return 0;
  const unsigned long n = strtoul(at + 2, NULL, 10);
  return n > STRING_MOST ? 0 : at[1] == 'U' ? 4 * n : n;
}

/* The bytes of a string in UTF-8; from: characters of four bytes each */
static size_t utf8_of(const uint8_t *from, size_t n, char *to) {
  size_t size = 0;
  for (size_t i = 0; i < n; i++, from += 4) {
    const uint32_t v = (uint32_t)le(from, 4);
    const int more = v < 0x80 ? 0 : v < 0x800 ? 1 : v < 0x10000 ? 2 : 3;
    to[size++] = (char)(more ? (0xf00 >> (more + 1) & 0xff) | v >> 6 * more : v);
    for (int k = more - 1; k >= 0; k--) to[size++] = (char)(0x80 | (v >> 6 * k & 63));
  }
  return size;
}

/* The strings of an array: rows of bytes, as wide as in the file */
static void parse_strings(Ctx *c, const uint8_t *p, size_t width, bool wide, Tensor *t) {
  const size_t rows = (size_t)t->elems;
  char *to = ARENA_NEW(&c->model, char, rows *width + 1);
  for (size_t i = 0; i < rows; i++) {
    if (wide) utf8_of(p + i * width, width / 4, to + i * width);
    else memcpy(to + i * width, p + i * width, width);
  }
  t->dims[t->rank++] = (int64_t)width;
  t->elems *= (int64_t)width;
  t->narrow = ONNX_STRING;
  t->data = to;
}

static bool parse_shape(const char *at, Tensor *t) {
  if (!at || *at++ != '(') return false;
  while (*at != ')') {
    char *end;
    if (t->rank == MAX_RANK || !isdigit((unsigned char)*at)) return false;
    t->dims[t->rank++] = strtoll(at, &end, 10);
    for (at = end; *at == ',' || *at == ' ' || *at == 'L'; at++) {}
  }
  t->elems = dims_elems(t->dims, t->rank);
  return true;
}

Tensor npy_parse(Ctx *c, const char *what, Bytes b) {
  if (b.n < 10 || memcmp(b.p, "\x93NUMPY", 6)) fail(c, EX_NOINPUT_, "'%s' is not a NumPy array", what);
  size_t wide = b.p[6] > 1 ? 4 : 2, n = 0;
  for (size_t i = 0; i < wide && 8 + i < b.n; i++) n |= (size_t)b.p[8 + i] << 8 * i;
  if (n > b.n - 8 || 8 + wide + n > b.n) fail(c, EX_NOINPUT_, "'%s': the header is cut off", what);
  const char *head = arena_str(&c->model, (const char *)b.p + 8 + wide, n), *order = after_key(head, "fortran_order");
  const size_t string = string_bytes(after_key(head, "descr"));
  Tensor t = { .dt = string ? DT_U8 : parse_descr(after_key(head, "descr")) };
  if (!t.dt) fail(c, EX_NOINPUT_, "'%s': element type is not supported: %s", what, head);
  if (!parse_shape(after_key(head, "shape"), &t)) fail(c, EX_NOINPUT_, "'%s': cannot read the shape: %s", what, head);
  if (order && !strncmp(order, "True", 4) && t.rank > 1)
    fail(c, EX_NOINPUT_, "'%s' is in Fortran order; save it with numpy.ascontiguousarray", what);
  size_t have = b.n - 8 - wide - n;
  if ((uint64_t)t.elems > have || size_mul((size_t)t.elems, string ? string : (size_t)dt_bytes(t.dt)) != have)
    fail(c, EX_NOINPUT_, "'%s': %zu bytes of elements do not fit the shape", what, have);
  if (string && t.rank == MAX_RANK)
    fail(c, EX_NOINPUT_, "'%s': an array of strings has %d dimensions, over the limit of %d", what, t.rank, MAX_RANK - 1);
  if (string) parse_strings(c, b.p + 8 + wide + n, string, after_key(head, "descr")[1] == 'U', &t);
  else t.data = arena_dup(&c->model, b.p + 8 + wide + n, have); /* aligned */
  return t;
}

void npy_write(const Tensor *t, Sb *out) {
  const char *descr = NULL;
  for (int i = 0; i < DESCRS; i++)
    if (descrs[i].dt == t->dt) descr = descrs[i].text;
  Sb h = { 0 };
  const bool strings = t->narrow == ONNX_STRING;
  const int rank = t->rank - strings;
  if (strings) sb_printf(&h, "{'descr': '|S%lld'", (long long)t->dims[rank]);
  else sb_printf(&h, "{'descr': '%c%s'", dt_bytes(t->dt) == 1 ? '|' : '<', descr);
  sb_puts(&h, ", 'fortran_order': False, 'shape': (");
  for (int i = 0; i < rank; i++) sb_printf(&h, "%lld,%s", (long long)t->dims[i], i + 1 < rank ? " " : "");
  sb_puts(&h, "), }");
  while ((10 + h.n + 1) % 64) sb_puts(&h, " ");
  sb_puts(&h, "\n");
  char size[2] = { (char)(h.n & 255), (char)(h.n >> 8) };
  sb_put(out, "\x93NUMPY\x01\x00", 8);
  sb_put(out, size, 2);
  sb_put(out, h.p, h.n);
  sb_put(out, t->data, (size_t)t->elems * (size_t)dt_bytes(t->dt));
  sb_free(&h);
}

/* ---- .npz: read by the central directory of the zip archive ---- */
typedef struct Entry {
  uint64_t packed, size, at;
  int method;
} Entry;

/* sizes and offsets of 2^32 - 1 are in the zip64 extra field, in this order */
static void zip64(Entry *e, const uint8_t *x, size_t n) {
  while (n >= 4 && le(x + 2, 2) <= n - 4) {
    size_t len = (size_t)le(x + 2, 2), k = 0;
    uint64_t *want[] = { &e->size, &e->packed, &e->at };
    if (le(x, 2) == 1)
      for (int i = 0; i < 3; i++)
        if (*want[i] == UINT32_MAX && k + 8 <= len) *want[i] = le(x + 4 + k, 8), k += 8;
    x += 4 + len;
    n -= 4 + len;
  }
}

static Bytes unpack(Ctx *c, const char *path, Bytes b, const Entry *e) {
  if (b.n < 30 || e->at > b.n - 30 || le(b.p + e->at, 4) != 0x04034b50) fail(c, EX_NOINPUT_, "'%s' is a damaged archive", path);
  uint64_t skip = 30 + le(b.p + e->at + 26, 2) + le(b.p + e->at + 28, 2);
  if (skip > b.n - e->at || e->packed > b.n - e->at - skip) fail(c, EX_NOINPUT_, "'%s' is a damaged archive", path);
  const uint8_t *data = b.p + e->at + skip;
  if (e->method == 0) return (Bytes){ data, (size_t)e->packed };
  /* deflate packs at most 1 to 1032, so a larger size is wrong, and must not be allocated */
  if (e->method != 8 || e->size / 1040 > e->packed)
    fail(c, EX_NOINPUT_, "'%s': unknown compression %d or wrong size", path, e->method);
  uint8_t *out = arena_alloc(&c->model, (size_t)e->size + 1);
  z_stream z = { .next_in = (Bytef *)(uintptr_t)data, .next_out = out };
  if (inflateInit2(&z, -MAX_WBITS) != Z_OK) fail(c, EX_NOINPUT_, "'%s': cannot decompress", path);
  int r = Z_OK;
  for (uint64_t in = e->packed, left = e->size + 1; r == Z_OK;) { /* zlib counts in 32 bits */
    z.avail_in = (uInt)(in > 1 << 30 ? 1 << 30 : in);
    z.avail_out = (uInt)(left > 1 << 30 ? 1 << 30 : left);
    uInt in0 = z.avail_in, out0 = z.avail_out;
    r = inflate(&z, Z_NO_FLUSH);
    in -= in0 - z.avail_in;
    left -= out0 - z.avail_out;
  }
  size_t got = (size_t)(z.next_out - out);
  inflateEnd(&z);
  if (r != Z_STREAM_END || got != e->size) fail(c, EX_NOINPUT_, "'%s' is a damaged archive", path);
  return (Bytes){ out, got };
}

void npz_parse(Ctx *c, const char *path, Bytes b, void (*each)(Ctx *, void *, const char *, Tensor), void *arg) {
  size_t end = b.n < 22 ? 0 : b.n - 22;
  size_t stop = end > 65535 ? end - 65535 : 0; /* length of the longest comment */
  while (end > stop && le(b.p + end, 4) != 0x06054b50) end--;
  if (b.n < 22 || le(b.p + end, 4) != 0x06054b50) fail(c, EX_NOINPUT_, "'%s' is not an .npz archive", path);
  uint64_t n = le(b.p + end + 10, 2), at = le(b.p + end + 16, 4);
  for (uint64_t i = 0; i < n; i++) {
    if (at > b.n || b.n - at < 46 || le(b.p + at, 4) != 0x02014b50) fail(c, EX_NOINPUT_, "'%s' is a damaged archive", path);
    const uint8_t *h = b.p + at;
    size_t name = (size_t)le(h + 28, 2), extra = (size_t)le(h + 30, 2), note = (size_t)le(h + 32, 2);
    if (46 + name + extra + note > b.n - at) fail(c, EX_NOINPUT_, "'%s' is a damaged archive", path);
    Entry e = { le(h + 20, 4), le(h + 24, 4), le(h + 42, 4), (int)le(h + 10, 2) };
    zip64(&e, h + 46 + name, extra);
    size_t stem = name > 4 && !memcmp(h + 46 + name - 4, ".npy", 4) ? name - 4 : name;
    const char *text = arena_str(&c->model, (const char *)h + 46, stem);
    each(c, arg, text, npy_parse(c, arena_printf(&c->model, "%s:%s", path, text), unpack(c, path, b, &e)));
    at += 46 + name + extra + note;
  }
}

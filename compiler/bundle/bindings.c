/* SPDX-License-Identifier: MIT */
/* bindings.c: a bundle's interface in other languages than C. Each language is a row with a template of runtime_stub. The
 * templates repeat lines for each input, output, state and range of sizes, with the words that this file makes of it.
 *
 * needs: a plan, names of fields    gives: words for templates    breaks: nothing */
#include "bundle.h"
#include <string.h>

/* A C++ namespace and a Python module have the bundle's name. These names are keywords, or are what the file itself uses. */
static const char *const cpp_taken[] = { "std", NULL };
static const char *const python_taken[] = {
  "False", "None", "True", "as", "async", "await", "collections", "ctypes", "def", "del", "elif", "except", "finally", "from",
  "global", "import", "in", "is", "lambda", "mmap", "nonlocal", "numpy", "os", "pass", "raise", "sys", "threading", "with",
  "yield", NULL
};
static const char *const rust_taken[] = {
  "abstract", "as", "async", "await", "become", "box", "core", "crate", "dyn", "final", "fn", "gen", "impl", "in", "let", "loop",
  "macro", "match", "mod", "move", "mut", "override", "priv", "pub", "ref", "std", "super", "trait", "type", "unsafe", "unsized",
  "use", "where", "yield", NULL
};

const Binding bindings[] = {
  { "cpp", "net.hpp.in", "%.hpp", cpp_taken, "C++17" },
  { "python", "net.py.in", "%.py", python_taken, "Python" },
  { "rust", "net.rs.in", "%.rs", rust_taken, "Rust" },
  { NULL, NULL, NULL, NULL, NULL },
};

bool bindings_parse(const char *list, unsigned *bits, const char **wrong, int *n) {
  *bits = 0;
  for (const char *at = list; at; at = *at ? at + 1 : NULL) {
    const size_t length = strcspn(at, ",");
    int i = 0;
    while (bindings[i].word && (strlen(bindings[i].word) != length || memcmp(bindings[i].word, at, length))) i++;
    *wrong = at;
    *n = (int)length;
    if (!bindings[i].word) return false;
    *bits |= 1u << i;
    at += length;
  }
  return true;
}

bool binding_named(unsigned bits, const char *word) {
  for (int i = 0; bindings[i].word; i++)
    if (!strcmp(bindings[i].word, word)) return bits >> i & 1;
  return false;
}

static bool in_list(const char *const *list, const char *name) {
  for (; *list; list++)
    if (!strcmp(*list, name)) return true;
  return false;
}

const Binding *binding_refuses(unsigned bits, const char *name) {
  for (int i = 0; bindings[i].word; i++)
    if (bits >> i & 1 && in_list(bindings[i].taken, name)) return &bindings[i];
  return NULL;
}

/* ---- words of a value ---- */
/* clang-format off */
static const struct { const char *rust, *js; } spelling[DT_COUNT] = {
  [DT_BOOL] = { "u8",  "Uint8Array" },
  [DT_I8]   = { "i8",  "Int8Array" },      [DT_U8]   = { "u8",  "Uint8Array" },
  [DT_I16]  = { "i16", "Int16Array" },     [DT_U16]  = { "u16", "Uint16Array" },
  [DT_I32]  = { "i32", "Int32Array" },     [DT_U32]  = { "u32", "Uint32Array" },
  [DT_I64]  = { "i64", "BigInt64Array" },  [DT_U64]  = { "u64", "BigUint64Array" },
  [DT_F16]  = { "u16", "Uint16Array" },    [DT_BF16] = { "u16", "Uint16Array" },
  [DT_F32]  = { "f32", "Float32Array" },   [DT_F64]  = { "f64", "Float64Array" },
};
/* clang-format on */

/* The name as characters in a literal of Rust or JavaScript, which write \u{3042} alike; bytes that are no UTF-8 are U+FFFD */
static const char *points_text(Ctx *c, const char *name) {
  Sb s = { 0 };
  for (int n; *name; name += n ? n : 1) {
    n = utf8_length(name);
    unsigned point = !n ? 0xfffd : (unsigned char)*name & (n == 1 ? 0x7f : 0x7f >> n);
    for (int i = 1; i < n; i++) point = point << 6 | ((unsigned char)name[i] & 0x3f);
    if (n == 1 && point >= ' ' && point != '"' && point != '\\') sb_put(&s, name, 1);
    else sb_printf(&s, "\\u{%x}", point);
  }
  return sb_keep(&s, &c->model);
}

static const char *octets_text(Ctx *c, const char *name) {
  Sb s = { 0 };
  put_literal(&s, name, "\\%03o");
  return sb_keep(&s, &c->model);
}

static const char *dims_text(Ctx *c, const GIO *v, const char *between) {
  Sb s = { 0 };
  for (int k = 0; k < v->rank; k++) sb_printf(&s, "%s%lld", k ? between : "", (long long)v->dims[k]);
  return sb_keep(&s, &c->model);
}

typedef struct Values {
  const GIO *v;
  int n;
  const char **field;
} Values;

static Values values_of(const Rendering *r, const char *list, size_t n) {
  const Graph *g = r->p->g;
  const int nin = (int)graph_nin(g), nout = (int)graph_nout(g), nstates = (int)r->p->memory.states.n;
  if (n == 5 && !memcmp(list, "input", n)) return (Values){ g->inputs.p, nin, r->in };
  if (n == 6 && !memcmp(list, "output", n)) return (Values){ g->outputs.p, nout, r->out };
  if (n != 5 || memcmp(list, "state", n)) BUG("no list %.*s", (int)n, list);
  return (Values){ g->inputs.p + nin, nstates, r->state };
}

/* By axis, 1 + the number of the extent that it has in a run; 0: a constant */
static const char *axes_text(Ctx *c, const GIO *v) {
  Sb s = { 0 };
  for (int k = 0; k < v->rank; k++) sb_printf(&s, "%s%d", k ? ", " : "", v->open[k]);
  return sb_keep(&s, &c->model);
}

/* Words of a range of sizes */
static const Word *size_row(const Rendering *r, size_t i) {
  const IR *ir = r->p->ir;
  Arena *m = &ir->ctx->model;
  if (i >= (size_t)ir->symbols.n) return NULL;
  const Symbol *s = &ir->symbols.p[i];
  const char *field = size_fields(ir)[i];
  const Word words[] = {
    { "field", field },
    { "rust_field", in_list(rust_taken, field) ? arena_printf(m, "%s_", field) : field },
    { "name", octets_text(ir->ctx, s->name) },
    { "name_points", points_text(ir->ctx, s->name) },
    { "index", arena_printf(m, "%zu", i) },
    { "low", arena_printf(m, "%lld", (long long)s->low) },
    { "high", arena_printf(m, "%lld", (long long)s->high) },
    { "step", arena_printf(m, "%lld", (long long)s->step) },
    { NULL, NULL },
  };
  return arena_dup(m, words, sizeof words);
}

const Word *value_row(const Rendering *r, const char *list, size_t n, size_t i) {
  if (n == 4 && !memcmp(list, "size", n)) return size_row(r, i);
  const Values all = values_of(r, list, n);
  if (i >= (size_t)all.n) return NULL;
  Ctx *c = r->p->ir->ctx;
  Arena *m = &c->model;
  const GIO *v = &all.v[i];
  const char *field = all.field[i], *name = value_name(v, field), *type = dtype_info[v->dt].text;
  const long long elems = (long long)dims_elems(v->dims, v->rank);
  const Word words[] = {
    { "field", field },
    { "rust_field", in_list(rust_taken, field) ? arena_printf(m, "%s_", field) : field },
    { "name", octets_text(c, name) },
    { "name_points", points_text(c, name) },
    { "index", arena_printf(m, "%zu", i) },
    { "rank", arena_printf(m, "%d", v->rank) },
    { "dims", dims_text(c, v, ", ") },
    { "elems", arena_printf(m, "%lld", elems) },
    { "bytes", arena_printf(m, "%lld", elems * dt_bytes(v->dt)) },
    { "type", type },
    { "shape", arena_printf(m, "%s[%s]%s", type, dims_text(c, v, ","), text_holds(c, v)) },
    { "c_type", dtype_info[v->dt].ctype },
    { "rust_type", spelling[v->dt].rust },
    { "js_type", spelling[v->dt].js },
    { "open", word_if(gio_is_open(v)) },
    { "axes", axes_text(c, v) },
    { NULL, NULL },
  };
  return arena_dup(m, words, sizeof words);
}

/* SPDX-License-Identifier: MIT */
/* support.c: strings, text buffers, checked sizes, diagnostics, hashing. */
#include "support.h"
#include <errno.h>
#include <nettle/base16.h>
#include <nettle/sha2.h>
#include <stdlib.h>
#include <string.h>

/* ---- text buffers ---- */
void sb_put(Sb *s, const char *bytes, size_t n) {
  vec_grow((void **)&s->p, &s->cap, s->n + n + 1, 1);
  memcpy(s->p + s->n, bytes, n);
  s->n += n;
  s->p[s->n] = 0;
}

void sb_puts(Sb *s, const char *str) { sb_put(s, str, strlen(str)); }

void sb_printf(Sb *s, const char *fmt, ...) {
  va_list ap, again;
  const size_t room = s->cap - s->n;
  va_start(ap, fmt);
  va_copy(again, ap);
  const int n = vsnprintf(s->p ? s->p + s->n : NULL, s->p ? room : 0, fmt, ap);
  va_end(ap);
  CHECK(n >= 0);
  if ((size_t)n >= room) { /* the text was cut short */
    vec_grow((void **)&s->p, &s->cap, s->n + (size_t)n + 1, 1);
    vsnprintf(s->p + s->n, (size_t)n + 1, fmt, again);
  }
  va_end(again);
  s->n += (size_t)n;
}

void sb_free(Sb *s) {
  vec_free((void **)&s->p);
  s->n = s->cap = 0;
}

char *sb_keep(Sb *s, Arena *a) {
  char *text = arena_str(a, s->p ? s->p : "", s->n);
  sb_free(s);
  return text;
}

bool starts_with(const char *s, const char *word) { return !strncmp(s, word, strlen(word)); }

/* ---- interned strings: open addressing over a dense table of texts ---- */
struct Interner {
  VEC(const char *) text;
  VEC(uint32_t) len;
  uint32_t *slot; /* 0: empty; else id + 1 */
  uint32_t nslot; /* a power of two */
};

static uint32_t hash_bytes(const char *s, size_t n) { /* FNV-1a */
  uint32_t h = 2166136261u;
  for (size_t i = 0; i < n; i++) h = (h ^ (uint8_t)s[i]) * 16777619u;
  return h;
}

static void intern_grow(Interner *t) {
  uint32_t old = t->nslot, *slot = t->slot;
  t->nslot = old ? old * 2 : 1024;
  t->slot = xmalloc(t->nslot * sizeof *t->slot);
  memset(t->slot, 0, t->nslot * sizeof *t->slot);
  for (uint32_t i = 0; i < old; i++) {
    if (!slot[i]) continue;
    uint32_t id = slot[i] - 1, h = hash_bytes(t->text.p[id], t->len.p[id]);
    while (t->slot[h & (t->nslot - 1)]) h++;
    t->slot[h & (t->nslot - 1)] = slot[i];
  }
  free(slot);
}

static uint32_t intern_in(Interner *t, Arena *a, const char *s, size_t n) {
  if (!n) s = "";
  if (t->text.n * 2 >= t->nslot) intern_grow(t);
  uint32_t h = hash_bytes(s, n);
  for (;; h++) {
    uint32_t *e = &t->slot[h & (t->nslot - 1)];
    if (!*e) {
      VEC_PUSH(&t->text, arena_str(a, s, n));
      VEC_PUSH(&t->len, (uint32_t)n);
      *e = (uint32_t)t->text.n;
      return *e - 1;
    }
    if (t->len.p[*e - 1] == n && !memcmp(t->text.p[*e - 1], s, n)) return *e - 1;
  }
}

uint32_t intern(Ctx *c, const char *s, size_t n) { return intern_in(c->strings, &c->model, s, n); }

const char *intern_text(const Ctx *c, uint32_t id) { return c->strings->text.p[id]; }

/* ---- checked sizes ---- */
size_t size_mul(size_t a, size_t b) {
  size_t r;
  return __builtin_mul_overflow(a, b, &r) ? SIZE_MAX : r;
}
bool i64_mul(int64_t a, int64_t b, int64_t *out) { return !__builtin_mul_overflow(a, b, out); }
bool i64_add(int64_t a, int64_t b, int64_t *out) { return !__builtin_add_overflow(a, b, out); }

int64_t i64_gcd(int64_t a, int64_t b) {
  uint64_t x = a < 0 ? 0 - (uint64_t)a : (uint64_t)a, y = b < 0 ? 0 - (uint64_t)b : (uint64_t)b;
  while (y) {
    uint64_t rest = x % y;
    x = y;
    y = rest;
  }
  return (int64_t)x;
}

/* ---- the context ---- */
void ctx_init(Ctx *c) {
  memset(c, 0, sizeof *c);
  c->err = stderr;
  c->limits = (Limits){ .nodes = 10000000, .unroll = 1000000, .nesting = 100, .fold_steps = 4000000000 };
  c->strings = xcalloc(1, sizeof *c->strings);
  c->warned = xcalloc(1, sizeof *c->warned);
  intern(c, "", 0);
}

static void interner_free(Interner *t) {
  VEC_FREE(&t->text);
  VEC_FREE(&t->len);
  free(t->slot);
  free(t);
}

void ctx_free(Ctx *c) {
  files_unmap(c);
  interner_free(c->strings);
  interner_free(c->warned);
  VEC_FREE(&c->sources);
  arena_free(&c->model);
  c->strings = c->warned = NULL;
}

int ctx_try(Ctx *c, void (*fn)(Ctx *, void *), void *arg) {
  jmp_buf here, *outer = c->trap;
  c->trap = &here;
  int failed = setjmp(here);
  if (!failed) {
    fn(c, arg);
    c->code = 0;
  }
  c->trap = outer;
  return c->code;
}

int word_index(const char *const *words, int n, const char *s) {
  int i = 0;
  while (i < n && strcmp(words[i], s)) i++;
  return i;
}

/* ---- diagnostics ---- */

int utf8_length(const char *s) {
  const unsigned char *u = (const unsigned char *)s;
  const int n = *u < 0x80 ? 1 : *u < 0xc2 ? 0 : *u < 0xe0 ? 2 : *u < 0xf0 ? 3 : *u < 0xf5 ? 4 : 0;
  for (int i = 1; i < n; i++)
    if ((u[i] & 0xc0) != 0x80) return 0;
  const bool overlong = (*u == 0xe0 && u[1] < 0xa0) || (*u == 0xf0 && u[1] < 0x90);
  const bool outside = (*u == 0xed && u[1] >= 0xa0) || (*u == 0xf4 && u[1] >= 0x90);
  return n > 1 && (overlong || outside) ? 0 : n;
}

/* Strings of models and stores may hold terminal escapes and newlines, so only printable text is written, as UTF-8. */
static void put_escaped(FILE *f, const char *s) {
  while (*s) {
    const unsigned char ch = (unsigned char)*s;
    const int n = utf8_length(s);
    if (ch == '\n' || ch == '\t') fputs(ch == '\n' ? "\\n" : "\\t", f);
    else if (n == 2 && ch == 0xc2 && (unsigned char)s[1] < 0xa0) fprintf(f, "\\x%02x", (unsigned char)s[1]); /* C1 controls */
    else if (n == 0 || ch < 0x20 || ch == 0x7f) fprintf(f, "\\x%02x", ch);
    else fwrite(s, 1, (size_t)n, f);
    s += n ? n : 1;
  }
}

/* Whether this warning is the first of its text and place. */
static bool is_new(Ctx *c, Pos at, const char *text) {
  Sb key = { 0 };
  const size_t before = c->warned->text.n;
  sb_printf(&key, "%s:%d:%d:%s:%s", c->file ? c->file : "", at.line, at.col, at.node ? at.node : "", text);
  intern_in(c->warned, &c->model, key.p, key.n);
  sb_free(&key);
  return c->warned->text.n > before;
}

/* ---- messages as records ---- */
static void put_json(FILE *f, const char *key, const char *s, size_t n) {
  fprintf(f, ", \"%s\": ", key);
  if (!s) {
    fputs("null", f);
    return;
  }
  fputc('"', f);
  for (size_t i = 0, bytes; i < n && s[i]; i += bytes) {
    const unsigned char ch = (unsigned char)s[i];
    bytes = (size_t)utf8_length(s + i);
    if (ch == '"' || ch == '\\') fprintf(f, "\\%c", ch);
    else if (ch < 0x20 || ch == 0x7f) fprintf(f, "\\u%04x", ch);
    else if (!bytes) fprintf(f, "\\\\x%02x", ch);
    else fwrite(s + i, 1, bytes, f);
    bytes += !bytes;
  }
  fputc('"', f);
}

static void put_json_int(FILE *f, const char *key, int64_t v, bool known) {
  if (known) fprintf(f, ", \"%s\": %lld", key, (long long)v);
  else fprintf(f, ", \"%s\": null", key);
}

/* Names of the kinds of messages: of errors, by exit status */
static const char *message_code(int code) {
  static const struct {
    int code;
    const char *name;
  } names[] = {
    { EX_FAILED, "failed" },     { EX_USAGE_, "usage" },         { EX_BADMODEL, "bad-model" },
    { EX_NOINPUT_, "no-input" }, { EX_MISSING, "missing" },      { EX_NOWRITE, "no-write" },
    { EX_RETRY, "retry" },       { MESSAGE_WARNING, "warning" }, { MESSAGE_NOTE, "note" },
  };
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    if (names[i].code == code) return names[i].name;
  return code > EX_SIGNAL ? "interrupted" : "failed";
}

/* The parts of "node 17 'conv1' (Conv, opset 11)". Names may hold quotes, so the operator is sought from the end. */
static void put_node(FILE *f, const char *node) {
  int number = 0, opset = 0;
  const bool numbered = node && sscanf(node, "node %d", &number) == 1;
  const char *quote = node ? strchr(node, '\'') : NULL, *end = quote ? strrchr(node, '\'') : NULL;
  const char *paren = node ? strrchr(node, '(') : NULL, *comma = paren ? strstr(paren, ", opset ") : NULL;
  const bool versioned = comma && sscanf(comma, ", opset %d", &opset) == 1;
  const bool named = end && end > quote;
  put_json(f, "node", named ? quote + 1 : node, named ? (size_t)(end - quote) - 1 : node ? strlen(node) : 0);
  put_json_int(f, "number", number, numbered);
  put_json(f, "op", versioned ? paren + 1 : NULL, versioned ? (size_t)(comma - paren) - 1 : 0);
  put_json_int(f, "opset", opset, versioned);
}

void message_record(FILE *f, int code, const char *file, Pos at, const char *fmt, const char *text) {
  uint32_t id = 2166136261u; /* FNV-1a */
  const char *hint = strstr(text, "; ");
  for (const char *s = fmt; *s; s++) id = (id ^ (unsigned char)*s) * 16777619u;
  fprintf(f, "{\"severity\": \"%s\", \"code\": \"%s\"", code > 0 ? "error" : message_code(code), message_code(code));
  put_json_int(f, "status", code, code > 0);
  fprintf(f, ", \"id\": \"%08x\"", (unsigned)id);
  put_json(f, "text", text, strlen(text));
  put_json(f, "hint", hint ? hint + 2 : NULL, hint ? strlen(hint + 2) : 0);
  put_json(f, "file", file, file ? strlen(file) : 0);
  put_json_int(f, "line", at.line, at.line > 0);
  put_json_int(f, "column", at.col, at.line > 0);
  put_node(f, at.node);
  fputs("}\n", f);
}

/* Errors have their first part in red, warnings the word. */
static void say_where(Ctx *c, int code, Pos at) {
  const bool warning = code == MESSAGE_WARNING;
  const char *red = c->colored && code >= 0 ? "\033[1;31m" : "", *yellow = c->colored ? "\033[1;33m" : "",
             *plain = c->colored ? "\033[0m" : "";
  fputs(c->over_progress ? "\r\033[K" : "", c->err);
  fputs(red, c->err);
  if (c->file) put_escaped(c->err, c->file);
  if (at.line) fprintf(c->err, ":%d:%d", at.line, at.col);
  fprintf(c->err, "%s%s ", c->file || at.line ? ":" : "tgc:", *red ? plain : "");
  if (warning) fprintf(c->err, "%swarning:%s ", yellow, plain);
  if (at.node) {
    put_escaped(c->err, at.node);
    fputs(": ", c->err);
  }
}

static void say(Ctx *c, int code, Pos at, const char *fmt, va_list ap) {
  const bool warning = code == MESSAGE_WARNING;
  char *text = NULL;
  va_list again;
  va_copy(again, ap);
  int n = vsnprintf(NULL, 0, fmt, ap);
  text = xmalloc((size_t)n + 1);
  vsnprintf(text, (size_t)n + 1, fmt, again);
  va_end(again);
  if (warning && !is_new(c, at, text)) {
    free(text);
    return;
  }
  if (c->records) {
    fputs(c->over_progress ? "\r\033[K" : "", c->err);
    message_record(c->err, code, c->file, at, fmt, text);
    free(text);
    return;
  }
  if (c->say) {
    c->say(c->say_arg, warning, at, text);
    free(text);
    return;
  }
  say_where(c, code, at);
  put_escaped(c->err, text);
  fputc('\n', c->err);
  if (at.src && at.line) {
    const char *src = at.src;
    int len = 0, col = at.col;
    for (; col > 120; col--) /* skips the beginning of a long line */
      do src++;
      while (((unsigned char)*src & 0xc0) == 0x80);
    while (src[len] && src[len] != '\n' && src[len] != '\r' && len < 160) len++;
    while (len > 0 && ((unsigned char)src[len] & 0xc0) == 0x80) len--;
    char *line = xmalloc((size_t)len + 1);
    for (int i = 0; i < len; i++) line[i] = src[i] == '\t' ? ' ' : src[i];
    line[len] = 0;
    put_escaped(c->err, line);
    fprintf(c->err, "\n%*s\n", col, "^");
    free(line);
  }
  free(text);
}

void warn_at(Ctx *c, Pos at, const char *fmt, ...) {
  c->warnings++;
  if (c->quiet) return;
  va_list ap;
  va_start(ap, fmt);
  say(c, MESSAGE_WARNING, at, fmt, ap);
  va_end(ap);
}

void note(Ctx *c, const char *fmt, ...) {
  const char *file = c->file;
  if (c->quiet || c->say) return; /* a library is silent about what is in order */
  va_list ap;
  va_start(ap, fmt);
  c->file = NULL;
  say(c, MESSAGE_NOTE, (Pos){ 0 }, fmt, ap);
  c->file = file;
  va_end(ap);
}

void error_at(Ctx *c, Pos at, const char *fmt, ...) {
  c->errors++;
  va_list ap;
  va_start(ap, fmt);
  say(c, EX_BADMODEL, at, fmt, ap);
  va_end(ap);
}

_Noreturn void fail_silent(Ctx *c, int code) {
  c->code = code;
  if (!c->trap) exit(code);
  longjmp(*c->trap, 1);
}

_Noreturn void fail_at(Ctx *c, int code, Pos at, const char *fmt, ...) {
  va_list ap;
  va_start(ap, fmt);
  say(c, code, at, fmt, ap);
  va_end(ap);
  fail_silent(c, code);
}

_Noreturn void fail(Ctx *c, int code, const char *fmt, ...) {
  va_list ap;
  va_start(ap, fmt);
  say(c, code, (Pos){ 0 }, fmt, ap);
  va_end(ap);
  fail_silent(c, code);
}

/* ---- ends that have no context ---- */
/* The context of the library's call that this thread is in; NULL: none, and the thread is the program's */
static _Thread_local Ctx *entered;

Ctx *ctx_enter(Ctx *c) {
  Ctx *before = entered;
  entered = c;
  return before;
}

static void end_call(int code, const char *text) {
  Ctx *c = entered;
  if (!c || !c->trap) return;
  c->file = NULL; /* the model is not to blame */
  if (c->say) c->say(c->say_arg, false, (Pos){ 0 }, text);
  fail_silent(c, code);
}

_Noreturn void bug(const char *file, int line, const char *fmt, ...) {
  char text[1000];
  va_list ap;
  int n = snprintf(text, sizeof text, "a bug in tgc, please report it: %s:%d: ", file, line);
  va_start(ap, fmt);
  if (n >= 0 && (size_t)n < sizeof text) vsnprintf(text + n, sizeof text - (size_t)n, fmt, ap);
  va_end(ap);
  if (getenv("TGC_ABORT")) abort();
  end_call(EX_BUG, text);
  fprintf(stderr, "tgc: %s\n", text);
  exit(EX_BUG);
}

_Noreturn void out_of_memory(size_t bytes) {
  char text[80];
  snprintf(text, sizeof text, "out of memory (%zu bytes)", bytes);
  end_call(EX_BADMODEL, text); /* only a model larger than the machine gets here */
  fprintf(stderr, "tgc: %s\n", text);
  exit(EX_BADMODEL);
}

const Embedded *embedded_file(const char *name) {
  for (const Embedded *f = embedded_files; f->name; f++)
    if (!strcmp(f->name, name)) return f;
  BUG("no file %s", name);
}

void sha256_hex(const void *p, size_t n, char out[65]) {
  struct sha256_ctx h;
  uint8_t digest[SHA256_DIGEST_SIZE];
  sha256_init(&h);
  sha256_update(&h, n, p);
  sha256_digest(&h, sizeof digest, digest);
  base16_encode_update(out, sizeof digest, digest);
  out[BASE16_ENCODE_LENGTH(SHA256_DIGEST_SIZE)] = 0;
}

void source_add(Ctx *c, const char *location, Bytes all) {
  const SourceFile f = { location ? arena_str(&c->model, location, strlen(location)) : NULL, all, "" };
  for (size_t i = 0; i < c->sources.n; i++) {
    const char *at = c->sources.p[i].location;
    if (at == location || (at && location && !strcmp(at, location))) {
      c->sources.p[i] = f;
      return;
    }
  }
  VEC_PUSH(&c->sources, f);
}

const char *source_sha256(Ctx *c, size_t i) {
  SourceFile *f = &c->sources.p[i];
  if (!*f->sha256) sha256_hex(f->all.p, f->all.n, f->sha256);
  return f->sha256;
}

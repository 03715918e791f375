/* SPDX-License-Identifier: MIT */
/* helpers.c: prints the prelude of kernels in a language like C. The dialect's files have parts (parts.h). It takes the parts
 * that the kernels use, for the types they use, and the parts that those need in turn. */
#include "dialect.h"
#include "parts.h"
#include <stdlib.h>
#include <string.h>

/* ---- parts ---- */
static void put_line(const Dialect *l, Sb *o, const char *s, const char *end, DType d, int lanes) {
  while (s < end) {
    const char *word = memchr(s, '$', (size_t)(end - s));
    sb_put(o, s, (size_t)((word ? word : end) - s));
    s = word ? dialect_word(l, o, word + 1, d, lanes) : end;
  }
}

/* Whether the line "f32x8 CONDITION" or "x8 CONDITION" applies to this type and number of lanes. */
static bool is_about(const char *line, DType d, int lanes) {
  char sfx[32];
  const char *own = type_suffix(d, lanes, sfx);
  const size_t n = strcspn(line, " ");
  if (*line == 'x') own += strcspn(own, "x");
  return strlen(own) == n && !memcmp(own, line, n);
}

static void put_part(const Dialect *l, Sb *o, const Part *p, DType d, int lanes) {
  bool chosen = false, skipped = false; /* chosen: some lines for special lanes applied; skipped: the last ones did not */
  for (const char *s = p->text, *next; s < p->end; s = next) {
    next = part_line(s, p->end);
    if (*s != '@') {
      if (!skipped) put_line(l, o, s, next, d, lanes);
    } else if (starts_with(s, "@else")) {
      if (chosen) sb_puts(o, "#else\n");
      skipped = false;
    } else if (starts_with(s, "@end")) {
      if (chosen) sb_puts(o, "#endif\n");
      chosen = skipped = false;
    } else {
      skipped = !is_about(s + 1, d, lanes);
      if (!skipped) sb_printf(o, "#%s%.*s", chosen ? "elif" : "if", (int)(next - strchr(s, ' ')), strchr(s, ' '));
      chosen |= !skipped;
    }
  }
}

/* ---- names that the kernels use, and that their functions use in turn ---- */
typedef struct Names { VEC(char *) p; Arena a; } Names;

static bool names_add(Names *n, const char *s, size_t len) {
  for (size_t i = 0; i < n->p.n; i++)
    if (strlen(n->p.p[i]) == len && !memcmp(n->p.p[i], s, len)) return false;
  VEC_PUSH(&n->p, arena_str(&n->a, s, len));
  return true;
}

static void names_free(Names *n) {
  VEC_FREE(&n->p);
  arena_free(&n->a);
}

typedef struct Prelude {
  Names functions, types;
  Sb text;
  IR *ir;
  const Backend *backend;
  const Dialect *l;
  const Target *target;
} Prelude;

static bool letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_'; }

/* "f32x8" or "f32": element type, lanes (1 when scalar); false if s is something else */
static bool parse_suffix(const char *s, size_t n, DType *d, int *lanes) {
  size_t at = 0;
  while (at < n && s[at] != 'x') at++;
  *d = dtype_from_text(s, at);
  *lanes = at < n ? atoi(s + at + 1) : 1;
  return *d != DT_NONE && *lanes > 0;
}

static void want_names(Prelude *p, const char *s);

/* The op whose math.h function has this name of n bytes. */
static Op op_named(const char *name, size_t n) {
  for (int op = 1; op < OP_COUNT; op++) {
    const char *own = op_info[op].libm;
    if (own && strlen(own) == n && !memcmp(own, name, n)) return (Op)op;
  }
  BUG("no helper is called %.*s", (int)n, name);
}

/* Finds a function, "NAME_TYPE" with n bytes of NAME. Parts for the target's vectors come first, then those of the dialect, then
 * those of all languages like C. */
static bool find_function(const Dialect *l, const Target *t, int lanes, const char *name, size_t n, size_t whole, Part *part) {
  const char *kind = lanes > 1 ? "@vector " : "@scalar ";
  if (t->features & FEAT_MVE && part_find(part_file("mve.c.in"), kind, name, whole, part)) return true;
  if (l->more && part_find((Span){ l->more, strlen(l->more) }, kind, name, n, part)) return true;
  if (l->parts && part_find(part_file(l->parts), kind, name, n, part)) return true;
  return part_find(part_file("scalars.c.in"), kind, name, n, part);
}

static void want_function(Prelude *p, const char *s, size_t n) { /* tgc_NAME_SUFFIX */
  const char *name = s + 4, *sep = memchr(name, '_', n - 4);
  const size_t len = sep ? (size_t)(sep - name) : 0;
  DType d;
  int lanes;
  Part part;
  Sb out = { 0 };
  if (!sep || !parse_suffix(sep + 1, (size_t)(s + n - sep - 1), &d, &lanes) || !names_add(&p->functions, s, n)) return;
  if (find_function(p->l, p->target, lanes, name, len, n - 4, &part)) put_part(p->l, &out, &part, d, lanes);
  else clike_define(p->ir, p->backend, p->target, op_named(name, len), d, lanes, &out);
  want_names(p, out.p); /* functions that it uses come first */
  sb_printf(&p->text, "%s%s", p->l->helper, out.p);
  sb_free(&out);
}

/* i32x8_of64: converts a comparison of eight 64-bit lanes to a mask */
static void want_mask(Prelude *p, const char *s, size_t n) {
  const int lanes = atoi(s + 4), bits = atoi((const char *)memmem(s, n, "_of", 3) + 3);
  char type[32];
  if (!names_add(&p->functions, s, n)) return;
  snprintf(type, sizeof type, "i%dx%d", bits, lanes);
  names_add(&p->types, type, strlen(type));
  snprintf(type, sizeof type, "i32x%d", lanes);
  names_add(&p->types, type, strlen(type));
  sb_printf(&p->text, "TGC_HELPER i32x%d i32x%d_of%d(i%dx%d m) { return ", lanes, lanes, bits, bits, lanes);
  sb_printf(&p->text, bits == 32 ? "m; }\n" : "__builtin_convertvector(m, i32x%d); }\n", lanes);
}

static void want_names(Prelude *p, const char *s) {
  for (size_t n; *s; s += n) {
    DType d;
    int lanes;
    for (n = 0; letter(s[n]); n++) {}
    if (n > 4 && starts_with(s, "tgc_")) want_function(p, s, n);
    else if (n > 6 && starts_with(s, "i32x") && memmem(s, n, "_of", 3)) want_mask(p, s, n);
    else if (memchr(s, 'x', n) && parse_suffix(s, s[n - 1] == 'u' ? n - 1 : n, &d, &lanes) && lanes > 1)
      names_add(&p->types, s, n);
    n += !n;
  }
}

/* Defines "f32x8", or "f32x8u" for any address. False: the type fits one register. Vectors of more than one register are
 * aligned to one register: for larger alignments gcc notes that the ABI of parameters changed in version 4.6. The alignment
 * must belong to a type of its own, not to a variant of one, and may_alias makes such a type. */
static bool put_typedef(const Dialect *l, Sb *o, const char *name, const Target *t) {
  const size_t n = strlen(name);
  const bool unaligned = name[n - 1] == 'u';
  DType d;
  int lanes;
  parse_suffix(name, n - unaligned, &d, &lanes);
  if (d == DT_BOOL) d = DT_U8;
  const bool wide = t->vector_bytes && lanes * dt_bytes(d) > t->vector_bytes;
  sb_printf(o, "typedef %s %s __attribute__((vector_size(%d)", l->type[d], name, lanes * dt_bytes(d));
  if (unaligned || wide) sb_printf(o, ", aligned(%d), may_alias", unaligned ? dt_bytes(d) : t->vector_bytes);
  sb_puts(o, "));\n");
  return wide;
}

/* Whether a text has one of the words of "@text WORD...", or no words are given. */
static bool mentioned(const Part *p, const char *text) {
  const char *s = p->heading + strlen("@text");
  bool any = *s == '\n';
  while (*s == ' ' && !any) {
    const size_t n = strcspn(++s, " \n");
    any = memmem(text, strlen(text), s, n);
    s += n;
  }
  return any;
}

/* Prints the lines of a file that the text needs. */
static void put_texts(const Dialect *l, Span file, const char *text, Sb *o) {
  Part part;
  for (const char *at = file.p; part_next(&at, file.p + file.n, &part);)
    if (starts_with(part.heading, "@text") && mentioned(&part, text)) put_part(l, o, &part, DT_NONE, 1);
}

void clike_prelude(const Plan *p, const Target *t, Sb *o) {
  const Dialect *l = p->in->backend->dialect;
  Prelude pre = { .ir = p->ir, .backend = p->in->backend, .l = l, .target = t };
  Sb all = { 0 };
  bool wide = false; /* there are vectors of more than one register */
  sb_puts(&all, "");
  for (size_t k = 0; k < p->kernels.n; k++)
    if (p->kernels.p[k].code == (int)k) sb_puts(&all, p->kernels.p[k].text);
  want_names(&pre, all.p);
  sb_puts(&pre.text, "");
  want_names(&pre, pre.text.p); /* some types occur in functions only */
  sb_puts(&all, pre.text.p);
  if (l->parts) put_texts(l, part_file(l->parts), all.p, o);
  if (l->more) put_texts(l, (Span){ l->more, strlen(l->more) }, all.p, o);
  for (size_t i = 0; i < pre.types.p.n; i++) wide |= put_typedef(l, o, pre.types.p.p[i], t);
  if (wide)
    sb_puts(o, "#if defined __GNUC__ /* how they are passed matters to no one else: helpers are static */\n"
               "#pragma GCC diagnostic ignored \"-Wpsabi\"\n#endif\n");
  if (pre.types.p.n) sb_puts(o, "\n");
  if (pre.text.n) sb_printf(o, "%s\n", pre.text.p);
  names_free(&pre.functions);
  names_free(&pre.types);
  sb_free(&pre.text);
  sb_free(&all);
}

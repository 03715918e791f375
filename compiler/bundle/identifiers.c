/* SPDX-License-Identifier: MIT */
/* identifiers.c: makes identifiers of a model's names. Strings of a model may be hostile. In C text they consist of
 * [A-Za-z0-9_], are no keyword or common macro, and are unique. The manifest has the original names. */
#include "bundle.h"
#include <string.h>

/* Keywords of C and C++, and object-like macros and names that headers may define */
static const char *const taken[] = {
  "alignas",
  "alignof",
  "and",
  "and_eq",
  "asm",
  "assert",
  "atomic_cancel",
  "atomic_commit",
  "atomic_noexcept",
  "auto",
  "bitand",
  "bitor",
  "bool",
  "break",
  "case",
  "catch",
  "char",
  "char16_t",
  "char32_t",
  "char8_t",
  "class",
  "co_await",
  "co_return",
  "co_yield",
  "compl",
  "complex",
  "concept",
  "const",
  "const_cast",
  "consteval",
  "constexpr",
  "constinit",
  "continue",
  "decltype",
  "default",
  "delete",
  "do",
  "double",
  "dynamic_cast",
  "else",
  "enum",
  "errno",
  "explicit",
  "export",
  "extern",
  "false",
  "far",
  "float",
  "for",
  "friend",
  "goto",
  "huge",
  "i386",
  "if",
  "imaginary",
  "inline",
  "int",
  "interface",
  "linux",
  "long",
  "main",
  "mutable",
  "namespace",
  "near",
  "new",
  "noexcept",
  "noreturn",
  "not",
  "not_eq",
  "nullptr",
  "operator",
  "or",
  "or_eq",
  "private",
  "protected",
  "public",
  "reflexpr",
  "register",
  "reinterpret_cast",
  "requires",
  "restrict",
  "return",
  "short",
  "signed",
  "sizeof",
  "small",
  "static",
  "static_assert",
  "static_cast",
  "stderr",
  "stdin",
  "stdout",
  "struct",
  "switch",
  "synchronized",
  "template",
  "this",
  "thread_local",
  "throw",
  "true",
  "try",
  "typedef",
  "typeid",
  "typename",
  "typeof",
  "typeof_unqual",
  "union",
  "unix",
  "unsigned",
  "using",
  "virtual",
  "void",
  "volatile",
  "wchar_t",
  "while",
  "xor",
  "xor_eq",
};
enum { TAKEN = sizeof taken / sizeof *taken, MAX_NAME = 40 };

static bool is_letter(char ch) { return (ch >= 'a' && ch <= 'z') || (ch >= 'A' && ch <= 'Z'); }
static bool is_word(char ch) { return is_letter(ch) || (ch >= '0' && ch <= '9') || ch == '_'; }

static bool is_taken(const char *s) {
  int lo = 0, hi = TAKEN;
  while (lo < hi) {
    int mid = (lo + hi) / 2, d = strcmp(s, taken[mid]);
    if (!d) return true;
    if (d < 0) hi = mid;
    else lo = mid + 1;
  }
  return false;
}

bool bundle_name_ok(const char *s) {
  size_t n = strlen(s);
  if (!is_letter(s[0]) || n > MAX_NAME || is_taken(s)) return false;
  for (size_t i = 0; i < n; i++)
    if (!is_word(s[i])) return false;
  return strcmp(s, "tgcrt") != 0; /* name of the runtime's files */
}

/* Macros are in capitals, so a name in capitals gets lower case. The only single letter that is a macro is I (complex.h). Names
 * like kind_J are reserved for values without a usable name. */
static const char *clean_name(Ctx *c, const char *s, const char *kind) {
  char *t = arena_str(&c->model, s ? s : "", s ? strlen(s) : 0);
  bool small = false;
  for (char *p = t; *p; p++) {
    if (!is_word(*p)) *p = '_';
    small |= *p >= 'a' && *p <= 'z';
  }
  if (!small && (t[0] == 'I' || t[0] == 0 || t[1]))
    for (char *p = t; *p; p++)
      if (is_letter(*p)) *p = (char)(*p | 0x20);
  size_t k = strlen(kind);
  bool reserved = starts_with(t, kind) && t[k] == '_' && strspn(t + k + 1, "0123456789") == strlen(t + k + 1);
  return is_letter(t[0]) && strlen(t) <= MAX_NAME && !is_taken(t) && !reserved ? t : NULL;
}

const char **bundle_fields(Ctx *c, const GIO *v, int n, const char *kind) {
  const char **name = ARENA_NEW(&c->model, const char *, n + 1);
  uint32_t *id = ARENA_NEW(&c->model, uint32_t, n + 1), most = 0;
  for (int i = 0; i < n; i++) {
    name[i] = clean_name(c, v[i].name, kind);
    if (name[i]) id[i] = intern(c, name[i], strlen(name[i]));
    if (id[i] > most) most = id[i];
  }
  int *uses = ARENA_NEW(&c->model, int, (size_t)most + 1);
  for (int i = 0; i < n; i++) uses[id[i]]++;
  for (int i = 0; i < n; i++)
    if (!name[i] || uses[id[i]] > 1) name[i] = arena_printf(&c->model, "%s_%d", kind, i);
  return name;
}

const char *bundle_variant(const Plan *v, const char *net) {
  char *s = arena_printf(&v->ir->ctx->model, "%s_%s", net, v->in->target->isa);
  for (char *at = s; *at; at++)
    if (!is_word(*at)) *at = '_';
  return s;
}

const char *text_words(Ctx *c, const char *s) {
  char *t = arena_alloc(&c->model, strlen(s) + 1), *at = t;
  for (; *s; s++) {
    if (is_word(*s)) *at++ = *s;
    else if (at > t && at[-1] != ' ') *at++ = ' ';
  }
  while (at > t && at[-1] == ' ') *--at = 0;
  return t;
}

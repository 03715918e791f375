/* SPDX-License-Identifier: MIT */
/* report.c: pieces that all reports share: names and types as text, and JSON. */
#include "../cmd.h"
#include <math.h>

json_t *json_report(const char *verb, const char *model) {
  json_t *j = json_pack("{s:i, s:s, s:s}", "schema_version", SCHEMA_VERSION, "tgc", TGC_VERSION, "verb", verb);
  if (model) json_object_set_new(j, "model", json_text(model));
  return j;
}

void json_print(json_t *j) {
  json_dumpf(j, stdout, JSON_INDENT(2) | JSON_SORT_KEYS);
  putchar('\n');
  json_decref(j);
}

json_t *json_number(double v) { return isfinite(v) ? json_real(v) : json_null(); }

const char *type_text(Ctx *c, DType d, int rank, const int64_t *dims) {
  Sb s = { 0 };
  sb_printf(&s, "%s[", dtype_info[d].text);
  for (int i = 0; i < rank; i++) sb_printf(&s, "%s%lld", i ? "," : "", (long long)dims[i]);
  sb_puts(&s, "]");
  return sb_keep(&s, &c->model);
}

const char *strings_text(Ctx *c, int rank, const int64_t *dims) {
  Sb s = { 0 };
  sb_puts(&s, "string[");
  for (int i = 0; i + 1 < rank; i++) sb_printf(&s, "%s%lld", i ? "," : "", (long long)dims[i]);
  sb_puts(&s, "]");
  return sb_keep(&s, &c->model);
}

const char *string_text(Ctx *c, const Tensor *t, int64_t i) {
  enum { SHOWN = 60 }; /* bytes */
  const size_t width = (size_t)t->dims[t->rank - 1];
  const char *bytes = (const char *)t->data + (size_t)i * width;
  const size_t n = strnlen(bytes, width);
  char *text = arena_printf(&c->model, "'%s'%s", arena_str(&c->model, bytes, n < SHOWN ? n : SHOWN), n < SHOWN ? "" : "...");
  for (char *s = text; *s; s++)
    if ((unsigned char)*s < 0x20 || *s == 0x7f) *s = '?';
  return text;
}

void print_name(const char *s) {
  for (; *s; s++) putchar((unsigned char)*s < 0x20 || *s == 0x7f ? '?' : *s);
}

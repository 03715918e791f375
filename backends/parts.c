/* SPDX-License-Identifier: MIT */
/* parts.c: texts in parts. */
#include "parts.h"
#include <string.h>

const char *part_line(const char *s, const char *end) {
  const char *stop = memchr(s, '\n', (size_t)(end - s));
  return stop ? stop + 1 : end;
}

static bool is_heading(const char *line) {
  return starts_with(line, "@text") || starts_with(line, "@scalar ") || starts_with(line, "@vector ") ||
         starts_with(line, "@function ");
}

static bool is_remark(const char *line) { return starts_with(line, "@ ") || starts_with(line, "@\n"); }

bool part_next(const char **at, const char *end, Part *p) {
  const char *s = *at;
  while (s < end && !is_heading(s)) s = part_line(s, end);
  if (s == end) return false;
  *p = (Part){ .heading = s, .text = part_line(s, end) };
  for (s = p->text; s < end && !is_heading(s) && !is_remark(s); s = part_line(s, end)) {}
  p->end = *at = s;
  return true;
}

Span part_file(const char *name) {
  const Embedded *f = embedded_file(name);
  return (Span){ f->p, f->n };
}

bool part_find(Span in, const char *kind, const char *name, size_t n, Part *p) {
  const size_t k = strlen(kind);
  for (const char *at = in.p; part_next(&at, in.p + in.n, p);)
    if (starts_with(p->heading, kind) && !memcmp(p->heading + k, name, n) && p->heading[k + n] == '\n') return true;
  return false;
}

/* SPDX-License-Identifier: MIT */
/* checks.c: what a command has checked: names, verdicts and reasons. They become lines of the terminal, and files that build
 * servers read: --junit writes XML, --markdown appends a table. */
#include "../cmd.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>

void checks_add(Ctx *c, Checks *k, bool passed, const char *name, const char *fmt, ...) {
  char text[512];
  va_list ap;
  va_start(ap, fmt);
  vsnprintf(text, sizeof text, fmt, ap);
  va_end(ap);
  VEC_PUSH(&k->list, ((Finding){ arena_str(&c->model, name, strlen(name)), arena_str(&c->model, text, strlen(text)), passed }));
  k->failed += !passed;
}

void checks_print(Ctx *c, const Options *o, const Checks *k, size_t from) {
  enum { AT = 7 }; /* the column after the verdict */
  for (size_t i = from; i < k->list.n; i++) {
    const Finding *x = &k->list.p[i];
    printf("%s ", paint(o, stdout, x->passed ? PAINT_OK : PAINT_ERROR, x->passed ? "ok    " : "FAILED", &c->model));
    print_words(arena_printf(&c->model, "%s: %s", x->name, x->text), AT, AT, terminal_width(stdout));
  }
}

json_t *checks_json(const Checks *k) {
  json_t *list = json_array();
  for (size_t i = 0; i < k->list.n; i++) {
    const Finding *x = &k->list.p[i];
    json_array_append_new(
        list, json_pack("{s:o, s:b, s:o}", "name", json_text(x->name), "passed", x->passed, "text", json_text(x->text)));
  }
  return list;
}

/* ---- files ---- */

/* The text as XML takes it between tags and in quotes. Names may hold any bytes. */
void xml_text(Sb *s, const char *text) {
  static const struct {
    char ch;
    const char *entity;
  } entities[] = {
    { '&', "&amp;" }, { '<', "&lt;" }, { '>', "&gt;" }, { '"', "&quot;" }, { '\'', "&apos;" },
  };
  for (int n; *text; text += n ? n : 1) {
    const char *as = NULL;
    n = utf8_length(text);
    for (size_t i = 0; i < sizeof entities / sizeof *entities; i++)
      if (*text == entities[i].ch) as = entities[i].entity;
    if (as) sb_puts(s, as);
    else if (!n || (n == 1 && ((unsigned char)*text < 0x20 || *text == 0x7f))) sb_puts(s, "?");
    else sb_put(s, text, (size_t)n);
  }
}

/* A cell of a table in Markdown */
static void put_cell(Sb *s, const char *text) {
  for (; *text; text++) {
    if (*text == '|' || *text == '<' || *text == '`' || *text == '\\') sb_puts(s, "\\");
    sb_printf(s, "%c", *text == '\n' || *text == '\r' ? ' ' : *text);
  }
}

static void write_junit(Ctx *c, const Options *o, const Checks *k, double seconds) {
  Sb s = { 0 };
  const char *verb = verb_rows[o->verb].name;
  sb_printf(&s, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n<testsuite name=\"tgc %s ", verb);
  xml_text(&s, o->model);
  sb_printf(&s, "\" tests=\"%zu\" failures=\"%d\" errors=\"0\" skipped=\"0\" time=\"%.3f\">\n", k->list.n, k->failed, seconds);
  for (size_t i = 0; i < k->list.n; i++) {
    const Finding *x = &k->list.p[i];
    sb_printf(&s, "<testcase classname=\"tgc.%s\" name=\"", verb);
    xml_text(&s, x->name);
    sb_puts(&s, "\">");
    if (!x->passed) {
      sb_puts(&s, "<failure message=\"");
      xml_text(&s, x->text);
      sb_puts(&s, "\"/>");
    } else {
      sb_puts(&s, "<system-out>");
      xml_text(&s, x->text);
      sb_puts(&s, "</system-out>");
    }
    sb_puts(&s, "</testcase>\n");
  }
  sb_puts(&s, "</testsuite>\n</testsuites>\n");
  const size_t n = s.n;
  file_replace(c, o->junit, sb_keep(&s, &c->model), n);
}

/* Several commands of a job may append to one page. */
static void append_markdown(Ctx *c, const Options *o, const Checks *k) {
  Sb s = { 0 };
  sb_printf(&s, "\n### tgc %s ", verb_rows[o->verb].name);
  put_cell(&s, o->model);
  if (k->failed) sb_printf(&s, ": %d of %zu failed\n\n| check | | result |\n|---|---|---|\n", k->failed, k->list.n);
  else sb_printf(&s, ": %zu passed\n\n| check | | result |\n|---|---|---|\n", k->list.n);
  for (size_t i = 0; i < k->list.n; i++) {
    sb_puts(&s, "| ");
    put_cell(&s, k->list.p[i].name);
    sb_printf(&s, " | %s | ", k->list.p[i].passed ? "ok" : "**failed**");
    put_cell(&s, k->list.p[i].text);
    sb_puts(&s, " |\n");
  }
  FILE *f = fopen(o->markdown, "ae");
  bool bad = !f || fwrite(s.p, 1, s.n, f) != s.n;
  if (f) bad |= fclose(f) != 0;
  sb_free(&s);
  c->file = NULL; /* the model is not to blame */
  if (bad) fail(c, EX_NOWRITE, "cannot write '%s': %s", o->markdown, strerror(errno));
}

void checks_write(Ctx *c, const Options *o, const Checks *k, double seconds) {
  if (o->junit) write_junit(c, o, k, seconds);
  if (o->markdown) append_markdown(c, o, k);
}

void checks_free(Checks *k) { VEC_FREE(&k->list); }

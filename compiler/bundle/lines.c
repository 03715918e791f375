/* SPDX-License-Identifier: MIT */
/* lines.c: breaks long lines of C, or of a language like it, at blanks between tokens. Comments go on behind an asterisk, lines
 * of the preprocessor behind a backslash. Comments from // to the end of a line go on behind their own slashes. Strings are never
 * broken.
 *
 * needs: text of whole lines    gives: the same tokens in shorter lines */
#include "bundle.h"
#include <string.h>

typedef enum { IN_CODE, IN_COMMENT, IN_STRING, IN_CHARACTER, IN_NOTE } Place; /* IN_NOTE: behind // */

typedef struct Line {
  const char *p;
  size_t n;
  int indent;              /* blanks at its start */
  bool directive;          /* a line of the preprocessor, or one that goes on with it */
} Line;

/* Moves on by one character, of text that ends at `end`. -> the number of characters read, 1 or 2 */
static size_t step(const char *at, const char *end, Place *place) {
  const char c = *at, next = at + 1 < end ? at[1] : 0;
  switch (*place) {
  case IN_CODE:
    if (c == '/' && next == '*') return *place = IN_COMMENT, 2;
    if (c == '/' && next == '/') return *place = IN_NOTE, 2;
    if (c == '"') *place = IN_STRING;
    if (c == '\'') *place = IN_CHARACTER;
    return 1;
  case IN_NOTE: return 1;
  case IN_COMMENT:
    if (c == '*' && next == '/') return *place = IN_CODE, 2;
    return 1;
  case IN_STRING: case IN_CHARACTER:
    if (c == '\\' && next) return 2;
    if (c == (*place == IN_STRING ? '"' : '\'')) *place = IN_CODE;
    return 1;
  }
  return 1;
}

/* Where to break: the last blank with at most `most` columns before it, else the first one. *place: there. -> n: nowhere */
static size_t break_of(const char *p, size_t n, size_t from, size_t most, Place *place) {
  size_t best = n;
  Place now = *place;
  for (size_t i = 0; i < n;) {
    const bool ends = now == IN_COMMENT && i + 2 < n && p[i + 1] == '*' && p[i + 2] == '/'; /* its end stays with its last word */
    const bool open = (now == IN_CODE || now == IN_COMMENT || now == IN_NOTE) && !ends;
    if (i > from && p[i] == ' ' && open && (best == n || i <= most)) best = i, *place = now;
    if (best != n && i > most) break;
    i += step(p + i, p + n, &now);
  }
  if (best == n) *place = now;
  return best;
}

/* Where the line has a comment from // on; l.n: nowhere. */
static size_t note_of(Line l, Place place) {
  for (size_t i = 0, n; i < l.n; i += n) {
    n = step(l.p + i, l.p + l.n, &place);
    if (place == IN_NOTE) return i;
  }
  return l.n;
}

static Place put_line(Line l, Place place, size_t most, Sb *out) {
  const size_t note = note_of(l, place), slashes = strspn(l.p + note, "/!<");
  const char *const slash = l.p + note;
  const bool whole = note == (size_t)l.indent; /* the line is a comment */
  const bool listed = place == IN_COMMENT && l.indent == 1 && l.n > 1 && l.p[1] == '*'; /* a line of a comment of several */
  size_t from = (size_t)l.indent, column = 0;
  while (l.n + column > most) {
    const size_t at = break_of(l.p, l.n, from, most - column - 2 * l.directive, &place);
    if (at == l.n) {
      sb_put(out, l.p, l.n);
      return place;
    }
    sb_put(out, l.p, at);
    const char *lead = place == IN_NOTE && whole ? "" : place != IN_COMMENT ? "    " : listed ? "* " : " * ";
    sb_printf(out, "%s\n%*s%s", l.directive && place == IN_CODE ? " \\" : "", l.indent, "", lead);
    column = (size_t)l.indent + strlen(lead);
    if (place == IN_NOTE) {
      sb_printf(out, "%.*s ", (int)slashes, slash);
      column += slashes + 1;
    }
    l.p += at + 1, l.n -= at + 1;
    from = 0;
  }
  for (size_t i = 0; i < l.n;) i += step(l.p + i, l.p + l.n, &place);
  sb_put(out, l.p, l.n);
  return place;
}

void break_lines(Sb *code, int most) {
  Sb out = { 0 };
  Place place = IN_CODE;
  bool goes_on = false;    /* the line before ends with a backslash */
  for (const char *s = code->p, *end = code->p + code->n; s < end;) {
    const char *stop = memchr(s, '\n', (size_t)(end - s));
    Line l = { s, (size_t)((stop ? stop : end) - s), 0, false };
    while (l.indent < (int)l.n && s[l.indent] == ' ') l.indent++;
    l.directive = goes_on || (place == IN_CODE && l.indent < (int)l.n && s[l.indent] == '#');
    goes_on = l.directive && s[l.n - 1] == '\\';
    place = put_line(l, place, (size_t)most, &out);
    if (place == IN_NOTE) place = IN_CODE;
    if (stop) sb_puts(&out, "\n");
    s = stop ? stop + 1 : end;
  }
  sb_free(code);
  *code = out;
}

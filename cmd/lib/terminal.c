/* SPDX-License-Identifier: MIT */
/* terminal.c: what a person sees on a terminal: colours, tables cut at its width, units that scale, and the progress line. A file
 * or a pipe gets no colours, no progress and whole lines. */
#include "../cmd.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

/* ---- the terminal ---- */
int terminal_width(FILE *f) {
  const char *columns = getenv("COLUMNS");
  const int wanted = columns ? atoi(columns) : 0;
  struct winsize size;
  if (!isatty(fileno(f))) return 0;
  if (wanted > 0) return wanted;
  return !ioctl(fileno(f), TIOCGWINSZ, &size) && size.ws_col ? size.ws_col : 80;
}

/* Whether the terminal knows escape sequences */
static bool is_smart(FILE *f) {
  const char *term = getenv("TERM");
  return isatty(fileno(f)) && term && *term && strcmp(term, "dumb");
}

bool terminal_colored(const Options *o, FILE *f) {
  const char *no = getenv("NO_COLOR");
  if (o->color && !strcmp(o->color, "always")) return true;
  if (o->color && !strcmp(o->color, "never")) return false;
  return is_smart(f) && !(no && *no);
}

bool terminal_has_progress(const Options *o) { return !o->quiet && is_smart(stderr); }

const char *paint(const Options *o, FILE *f, Paint p, const char *text, Arena *a) {
  static const char *const codes[PAINT_COUNT] = { "1;32", "1;33", "1;31", "1" }; /* ORDER Paint: green, yellow, red, bold */
  return terminal_colored(o, f) ? arena_printf(a, "\033[%sm%s\033[0m", codes[p], text) : text;
}

/* ---- units ---- */
/* Four digits of v, which is scaled by 1000 or 1024 to the unit in which it is at least 1. */
static const char *scaled(Ctx *c, double v, double step, const char *const *units, int n) {
  int u = 0;
  while (u + 1 < n && fabs(v) >= (step > 1000 ? step : 999.95)) v /= step, u++;
  return arena_printf(&c->model, v == floor(v) && v < 1e4 ? "%.0f %s" : fabs(v) < 10 ? "%.2f %s" : "%.1f %s", v, units[u]);
}

const char *bytes_text(Ctx *c, int64_t n) {
  static const char *const units[] = { "B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB" };
  return scaled(c, (double)n, 1024, units, 7);
}

const char *time_text(Ctx *c, double ms) {
  static const char *const units[] = { "ns", "µs", "ms", "s" };
  return scaled(c, ms * 1e6, 1000, units, 4);
}

const char *count_text(Ctx *c, double n, const char *unit) {
  static const char *const prefixes[] = { "", "k", "M", "G", "T", "P", "E" };
  const char *units[7];
  for (int i = 0; i < 7; i++) units[i] = arena_printf(&c->model, "%s%s", prefixes[i], unit);
  return scaled(c, n, 1000, units, 7);
}

/* ---- tables ---- */
enum { GAP = 2 }; /* blanks between columns */

/* Characters of UTF-8 text, as columns */
static int columns_of(const char *s) {
  int n = 0;
  for (; *s; s++) n += ((unsigned char)*s & 0xc0) != 0x80;
  return n;
}

/* Appends s, which may hold any bytes, without its control characters. most: columns; -1: no limit */
static void put_cell(Sb *out, const char *s, int most) {
  const int all = columns_of(s);
  const bool cut = most >= 0 && all > most;
  int left = !cut ? all : most > 3 ? most - 3 : 0;
  for (; *s; s++) {
    const unsigned char ch = (unsigned char)*s;
    if ((ch & 0xc0) != 0x80 && left-- <= 0) break;
    sb_put(out, ch < 0x20 || ch == 0x7f ? "?" : s, 1);
  }
  if (cut) sb_printf(out, "%.*s", most, "...");
}

int terminal_room(const Options *o) { return o->wide ? 0 : terminal_width(stdout); }

void print_cut(const Options *o, const char *line) {
  Sb s = { 0 };
  const int room = terminal_room(o);
  put_cell(&s, line, room ? room : -1);
  puts(s.p ? s.p : "");
  sb_free(&s);
}

void print_words(const char *s, int left, int at, int width) {
  bool first = true; /* word of its line */
  if (at < 0) at = 0;
  else if (at < left) at += printf("%*s", left - at, "");
  for (size_t n; *s; s += n, first = false) {
    size_t gap = strspn(s, " ");
    s += gap;
    n = strcspn(s, " ");
    if (!first && width && at + (int)(gap + n) > width) at = printf("\n%*s", left, "") - 1, gap = 0;
    at += printf("%*s", (int)gap, "");
    for (size_t i = 0; i < n; i++) {
      const unsigned char ch = (unsigned char)s[i];
      at += printf("%c", ch == '\t' ? ' ' : ch < 0x20 || ch == 0x7f ? '?' : ch);
    }
  }
  putchar('\n');
}

void print_lines(const char *s, int left) {
  for (size_t n; *s; s += n + (s[n] == '\n')) {
    Sb line = { 0 };
    n = strcspn(s, "\n");
    sb_put(&line, s, n);
    print_words(line.p ? line.p : "", left, -1, terminal_width(stdout));
    sb_free(&line);
  }
}

void table_row(Table *t, ...) {
  va_list ap;
  va_start(ap, t);
  for (const char *f = t->format; *f; f++) {
    const char *cell = va_arg(ap, const char *);
    VEC_PUSH(&t->cells, cell ? cell : "");
  }
  va_end(ap);
  VEC_PUSH(&t->under, NULL);
}

void table_free(Table *t) {
  VEC_FREE(&t->cells);
  VEC_FREE(&t->under);
}

void table_under(Table *t, const char *text) { t->under.p[t->under.n - 1] = text; }

static void print_row(const Table *t, const char **cell, const int *width, bool heading) {
  Sb s = { 0 };
  for (const char *f = t->format; *f; f++, cell++, width++) {
    const int n = columns_of(*cell), fill = n < *width ? *width - n : 0;
    sb_printf(&s, "%*s", (f > t->format ? GAP : 0) + (*f == '>' ? fill : 0), "");
    put_cell(&s, *cell, *width);
    sb_printf(&s, "%*s", *f == '>' ? 0 : fill, "");
  }
  while (s.n && s.p[s.n - 1] == ' ') s.p[--s.n] = 0;
  puts(heading ? paint(t->o, stdout, PAINT_TITLE, s.p, &t->c->model) : s.n ? s.p : "");
  sb_free(&s);
}

/* Makes the columns fit the room: the last one first, then the widest that has its text on the left. */
static void fit_columns(const Table *t, int *width, int n, int room) {
  enum { LAST = 24, LEAST = 8 }; /* columns that the last one keeps, and the others */
  int before = 0;
  for (int i = 0; i + 1 < n; i++) before += width[i] + GAP;
  while (before + (width[n - 1] < LAST ? width[n - 1] : LAST) > room) {
    int widest = -1;
    for (int i = 1; i + 1 < n; i++)
      if (t->format[i] == '<' && width[i] > LEAST && (widest < 0 || width[i] > width[widest])) widest = i;
    if (widest < 0) break;
    width[widest]--;
    before--;
  }
  if (before + width[n - 1] > room) width[n - 1] = before < room ? room - before : 0;
}

void table_print(Table *t) {
  const size_t n = strlen(t->format);
  const int room = terminal_room(t->o);
  int *width = ARENA_NEW(&t->c->model, int, n);
  for (size_t i = 0; i < t->cells.n; i++) {
    const int w = columns_of(t->cells.p[i]);
    if (w > width[i % n]) width[i % n] = w;
  }
  if (room) fit_columns(t, width, (int)n, room);
  for (size_t i = 0; i < t->under.n; i++) {
    print_row(t, t->cells.p + i * n, width, t->headed && !i);
    if (t->under.p[i]) print_cut(t->o, arena_printf(&t->c->model, "%*s%s", width[0] + GAP, "", t->under.p[i]));
  }
  table_free(t);
}

/* ---- progress ---- */
static void add_left(Sb *s, double seconds) {
  const bool minutes = seconds > 90;
  sb_printf(s, ", about %.0f %s left", ceil(minutes ? seconds / 60 : seconds), minutes ? "min" : "s");
}

void progress_show(const Options *o, const char *stage, double share, int64_t seconds) {
  enum {
    LEAST = 1, /* seconds: before, the time left is a guess */
    MOST = 99, /* per cent: the line is gone when all is done */
  };
  if (!terminal_has_progress(o)) return;
  Sb s = { 0 };
  const int width = terminal_width(stderr);
  if (stage) sb_printf(&s, "%s, ", stage);
  if (stage && share >= 0) sb_printf(&s, "%.0f %%, ", floor(fmin(100 * share, MOST)));
  if (stage) sb_printf(&s, "%lld s", (long long)seconds);
  if (stage && share >= 0.02 && share < 1 && seconds >= LEAST) add_left(&s, (double)seconds * (1 - share) / share);
  fprintf(stderr, "\r\033[K%.*s", width > 1 ? width - 1 : 1, s.p ? s.p : "");
  fflush(stderr);
  sb_free(&s);
}

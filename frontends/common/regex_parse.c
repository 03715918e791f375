/* SPDX-License-Identifier: MIT */
/* regex_parse.c: reads a regular expression in RE2's syntax into a tree. A class of characters becomes alternatives of byte
 * sequences.
 *
 * * Not supported: classes of Unicode (\pL), \C, and letters beyond ASCII where case is ignored. */
#include "regex_parts.h"
#include <stdlib.h>
#include <string.h>

enum { DEPTH = 200, REPEATS = 1000, RANGES = 512, LAST = 0x10ffff };
enum { IGNORE_CASE = 1, DOT_NEWLINE = 2, LINES = 4 }; /* flags of a group */

typedef struct Range {
  int32_t lo, hi;
} Range;
typedef struct Class {
  Range r[RANGES];
  int n;
} Class;

static Tree *leaf(Regex *x, Kind kind, int lo, int hi) {
  Tree *t = ARENA_NEW(x->m, Tree, 1);
  *t = (Tree){ .kind = kind, .lo = lo, .hi = hi };
  return t;
}

static Tree *over(Regex *x, Kind kind, Tree *first) {
  Tree *t = leaf(x, kind, 0, 0);
  t->first = first;
  return t;
}

static bool at_end(const Regex *x) { return x->p >= x->end; }
static bool follows(const Regex *x, const char *s) {
  const size_t n = strlen(s);
  return (size_t)(x->end - x->p) >= n && !memcmp(x->p, s, n);
}
static bool accept(Regex *x, const char *s) {
  if (!follows(x, s)) return false;
  x->p += strlen(s);
  return true;
}

/* ---- classes of characters ---- */
static void put_range(Regex *x, Class *c, int32_t lo, int32_t hi) {
  if (lo > hi) refuse(x, "a range of characters is empty");
  else if (c->n == RANGES) refuse(x, "a class of characters has too many ranges");
  else c->r[c->n++] = (Range){ lo, hi };
}

static int by_lo(const void *a, const void *b) {
  const Range *x = a, *y = b;
  return (x->lo > y->lo) - (x->lo < y->lo);
}

static void merge(Class *c) {
  int n = 0;
  qsort(c->r, (size_t)c->n, sizeof *c->r, by_lo);
  for (int i = 0; i < c->n; i++)
    if (n && c->r[i].lo <= c->r[n - 1].hi + 1) c->r[n - 1].hi = c->r[i].hi > c->r[n - 1].hi ? c->r[i].hi : c->r[n - 1].hi;
    else c->r[n++] = c->r[i];
  c->n = n;
}

static void negate(Regex *x, Class *c) {
  Class y = { .n = 0 };
  int32_t from = 0;
  merge(c);
  for (int i = 0; i < c->n; from = c->r[i++].hi + 1)
    if (c->r[i].lo > from) put_range(x, &y, from, c->r[i].lo - 1);
  if (from <= LAST) put_range(x, &y, from, LAST);
  *c = y;
}

/* The same in lower and upper case, if the flag says so. The sign of Kelvin and the long s are letters of ASCII in another
 * form. */
static void put_letters(Regex *x, Class *c, int32_t lo, int32_t hi) {
  put_range(x, c, lo, hi);
  if (!(x->flags & IGNORE_CASE)) return;
  for (int32_t v = lo > 'A' ? lo : 'A'; v <= hi && v <= 'z'; v++) {
    const int32_t low = v | 32;
    if (low < 'a' || (v > 'Z' && v < 'a')) continue;
    put_range(x, c, v ^ 32, v ^ 32);
    if (low == 'k') put_range(x, c, 0x212a, 0x212a);
    if (low == 's') put_range(x, c, 0x17f, 0x17f);
  }
  if (hi > 127 && !(lo <= 128 && hi == LAST)) refuse(x, "letters beyond ASCII cannot be compared without their case");
}

static int encoded(int32_t v, uint8_t *to) {
  if (v < 0x80) return to[0] = (uint8_t)v, 1;
  const int n = v < 0x800 ? 2 : v < 0x10000 ? 3 : 4;
  for (int i = n - 1; i > 0; i--, v >>= 6) to[i] = (uint8_t)(0x80 | (v & 63));
  to[0] = (uint8_t)((0xf00 >> n) | v);
  return n;
}

/* Alternatives of byte sequences for lo..hi. A range is split until all its bytes but the first ones run from 80 to bf. */
static void put_utf8(Regex *x, Tree **list, int32_t lo, int32_t hi) {
  static const int32_t ends[] = { 0x7f, 0x7ff, 0xffff, LAST };
  uint8_t a[4], b[4];
  for (int i = 0; i < 3; i++)
    if (lo <= ends[i] && hi > ends[i]) {
      put_utf8(x, list, lo, ends[i]);
      lo = ends[i] + 1;
    }
  for (int i = 1; i < 4 && lo > 0x7f; i++) {
    const int32_t mask = (1 << 6 * i) - 1;
    if ((lo & ~mask) == (hi & ~mask)) continue;
    if (lo & mask) {
      put_utf8(x, list, lo, lo | mask);
      lo = (lo | mask) + 1;
      i = 0;
    } else if ((hi & mask) != mask) {
      put_utf8(x, list, hi & ~mask, hi);
      hi = (hi & ~mask) - 1;
      i = 0;
    }
  }
  const int n = encoded(lo, a);
  encoded(hi, b);
  Tree *bytes = NULL;
  for (int i = n - 1; i >= 0; i--) {
    Tree *t = leaf(x, T_BYTE, a[i], b[i]);
    t->next = bytes;
    bytes = t;
  }
  Tree *all = over(x, T_CAT, bytes);
  all->next = *list;
  *list = all;
}

/* The same without surrogates, which no text has */
static void put_scalars(Regex *x, Tree **list, int32_t lo, int32_t hi) {
  if (lo < 0xd800) put_utf8(x, list, lo, hi < 0xd800 ? hi : 0xd7ff);
  if (hi > 0xdfff) put_utf8(x, list, lo > 0xdfff ? lo : 0xe000, hi);
}

static Tree *class_tree(Regex *x, Class *c) {
  Tree *list = NULL;
  merge(c);
  for (int i = 0; i < c->n && !x->wrong; i++) { put_scalars(x, &list, c->r[i].lo, c->r[i].hi); }
  return over(x, T_ALT, list);
}

static Tree *one_of(Regex *x, int32_t lo, int32_t hi) {
  Class *c = ARENA_NEW(x->m, Class, 1);
  put_letters(x, c, lo, hi);
  return class_tree(x, c);
}

/* ---- characters and escapes ---- */
static int32_t next_char(Regex *x) {
  const int c = *x->p++;
  const int more = c < 0x80 ? 0 : c < 0xe0 ? 1 : c < 0xf0 ? 2 : 3;
  int32_t v = more ? c & (0x3f >> more) : c;
  for (int i = 0; i < more && !at_end(x); i++) v = v << 6 | (*x->p++ & 63);
  return v;
}

static int32_t number(Regex *x, int base, int most) {
  int32_t v = 0;
  int n = 0;
  for (; n < most && !at_end(x); n++, x->p++) {
    const int c = *x->p, d = c >= '0' && c <= '9' ? c - '0' : (c | 32) >= 'a' && (c | 32) <= 'f' ? (c | 32) - 'a' + 10 : 99;
    if (d >= base) break;
    v = v * base + d;
    if (v > LAST) refuse(x, "a character has too large a number");
  }
  if (!n) refuse(x, "an escape has no number");
  return v;
}

/* Adds \d, \w, \s and their opposites; false: it is none of them. x->p is behind the backslash */
static bool put_group(Regex *x, Class *to) {
  static const struct {
    char letter;
    Range r[4];
    int n;
  } groups[] = {
    { 'd', { { '0', '9' } }, 1 },
    { 'w', { { '0', '9' }, { 'A', 'Z' }, { '_', '_' }, { 'a', 'z' } }, 4 },
    { 's', { { '\t', '\n' }, { '\f', '\r' }, { ' ', ' ' } }, 3 },
  };
  if (at_end(x)) return false;
  for (size_t i = 0; i < sizeof groups / sizeof *groups; i++) {
    const int c = *x->p;
    if ((c | 32) != groups[i].letter) continue;
    Class *g = ARENA_NEW(x->m, Class, 1);
    for (int k = 0; k < groups[i].n; k++) put_letters(x, g, groups[i].r[k].lo, groups[i].r[k].hi);
    if (c < 'a') negate(x, g);
    for (int k = 0; k < g->n; k++) put_range(x, to, g->r[k].lo, g->r[k].hi);
    x->p++;
    return true;
  }
  return false;
}

/* The character behind a backslash */
static int32_t escaped(Regex *x) {
  static const char from[] = "afnrtv", to[] = "\a\f\n\r\t\v";
  if (at_end(x)) return refuse(x, "it ends with a backslash"), 0;
  const uint8_t *at = x->p;
  const int32_t c = next_char(x);
  const char *known = c < 128 ? memchr(from, c, sizeof from - 1) : NULL;
  if (known) return to[known - from];
  if (c == 'x' && accept(x, "{")) {
    const int32_t v = number(x, 16, 8);
    if (!accept(x, "}")) refuse(x, "\\x{ has no end");
    return v;
  }
  if (c == 'x') return number(x, 16, 2);
  if (c >= '0' && c <= '7' && (c == '0' || (!at_end(x) && *x->p >= '0' && *x->p <= '7'))) {
    x->p = at;
    return number(x, 8, 3);
  }
  if (c == 'p' || c == 'P') return refuse(x, "classes of Unicode are not supported"), 0;
  if (c > 127 || (c >= '0' && c <= '9') || ((c | 32) >= 'a' && (c | 32) <= 'z')) return refuse(x, "it has an unknown escape"), 0;
  return c;
}

static bool put_posix(Regex *x, Class *c) {
  static const struct {
    const char *name;
    Range r[4];
  } names[] = {
    { "alnum", { { '0', '9' }, { 'A', 'Z' }, { 'a', 'z' } } },
    { "alpha", { { 'A', 'Z' }, { 'a', 'z' } } },
    { "ascii", { { 0, 127 } } },
    { "blank", { { '\t', '\t' }, { ' ', ' ' } } },
    { "cntrl", { { 0, 31 }, { 127, 127 } } },
    { "digit", { { '0', '9' } } },
    { "graph", { { '!', '~' } } },
    { "lower", { { 'a', 'z' } } },
    { "print", { { ' ', '~' } } },
    { "punct", { { '!', '/' }, { ':', '@' }, { '[', '`' }, { '{', '~' } } },
    { "space", { { '\t', '\r' }, { ' ', ' ' } } },
    { "upper", { { 'A', 'Z' } } },
    { "word", { { '0', '9' }, { 'A', 'Z' }, { '_', '_' }, { 'a', 'z' } } },
    { "xdigit", { { '0', '9' }, { 'A', 'F' }, { 'a', 'f' } } },
  };
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    for (int no = 0; no < 2; no++) {
      char text[16];
      snprintf(text, sizeof text, "[:%s%s:]", no ? "^" : "", names[i].name);
      if (!accept(x, text)) continue;
      Class *g = ARENA_NEW(x->m, Class, 1);
      for (int k = 0; k < 4 && (names[i].r[k].hi || !k); k++) put_letters(x, g, names[i].r[k].lo, names[i].r[k].hi);
      if (no) negate(x, g);
      for (int k = 0; k < g->n; k++) put_range(x, c, g->r[k].lo, g->r[k].hi);
      return true;
    }
  return false;
}

/* A character of a class, or a group of them; false: it was a group */
static bool class_char(Regex *x, Class *c, int32_t *v) {
  if (follows(x, "[:") && put_posix(x, c)) return false;
  if (!accept(x, "\\")) return *v = next_char(x), true;
  if (put_group(x, c)) return false;
  *v = escaped(x);
  return true;
}

/* Behind [ */
static Tree *class_of(Regex *x) {
  Class *c = ARENA_NEW(x->m, Class, 1);
  const bool no = accept(x, "^");
  for (bool first = true; first || !accept(x, "]"); first = false) {
    int32_t lo, hi;
    if (at_end(x)) return refuse(x, "a class of characters has no end");
    if (!class_char(x, c, &lo)) continue;
    hi = lo;
    if (follows(x, "-") && x->end - x->p > 1 && x->p[1] != ']') {
      x->p++;
      if (!class_char(x, c, &hi)) return refuse(x, "a range of characters has no end");
    }
    put_letters(x, c, lo, hi);
  }
  if (no) negate(x, c);
  return class_tree(x, c);
}

/* ---- the rest of the syntax ---- */
static Tree *alternatives(Regex *x);

static Tree *dot(Regex *x) {
  Class *c = ARENA_NEW(x->m, Class, 1);
  if (!(x->flags & DOT_NEWLINE)) put_range(x, c, '\n', '\n');
  negate(x, c);
  return class_tree(x, c);
}

/* Behind (? : flags up to : or ). False: they hold for the rest of the group around it */
static bool group_flags(Regex *x) {
  static const struct {
    char letter;
    int flag;
  } flags[] = { { 'i', IGNORE_CASE }, { 's', DOT_NEWLINE }, { 'm', LINES }, { 'U', 0 } };
  bool off = false;
  for (; !at_end(x) && *x->p != ':' && *x->p != ')'; x->p++) {
    size_t i = 0;
    if (*x->p == '-' && !off) {
      off = true;
      continue;
    }
    while (i < sizeof flags / sizeof *flags && flags[i].letter != *x->p) i++;
    if (i == sizeof flags / sizeof *flags) return refuse(x, "it has an unknown group (?"), false;
    x->flags = off ? x->flags & ~flags[i].flag : x->flags | flags[i].flag;
  }
  if (at_end(x)) return refuse(x, "a parenthesis has no end"), false;
  return *x->p++ == ':';
}

/* Behind ( */
static Tree *group(Regex *x) {
  const int outer = x->flags;
  if (accept(x, "?P<") || accept(x, "?<")) {
    while (!at_end(x) && *x->p != '>') x->p++;
    if (!accept(x, ">")) return refuse(x, "the name of a group has no end");
  } else if (accept(x, "?") && !group_flags(x)) return leaf(x, T_EMPTY, 0, 0);
  if (++x->depth > DEPTH) return refuse(x, "parentheses are nested too deeply");
  Tree *t = alternatives(x);
  x->depth--;
  x->flags = outer;
  return accept(x, ")") ? t : refuse(x, "a parenthesis has no end");
}

/* Behind \Q, up to \E */
static Tree *quoted(Regex *x) {
  Tree *list = NULL, **end = &list;
  while (!at_end(x) && !accept(x, "\\E")) {
    const int32_t c = next_char(x);
    *end = one_of(x, c, c);
    end = &(*end)->next;
  }
  return over(x, T_CAT, list);
}

static Tree *escape(Regex *x) {
  static const struct {
    char letter;
    Assertion a;
  } looks[] = { { 'A', A_BEGIN }, { 'z', A_END }, { 'b', A_WORD }, { 'B', A_NO_WORD } };
  Class *c = ARENA_NEW(x->m, Class, 1);
  for (size_t i = 0; i < sizeof looks / sizeof *looks; i++)
    if (!at_end(x) && *x->p == looks[i].letter) return x->p++, leaf(x, T_ASSERT, looks[i].a, 0);
  if (accept(x, "Q")) return quoted(x);
  if (put_group(x, c)) return class_tree(x, c);
  const int32_t v = escaped(x);
  return one_of(x, v, v);
}

static Tree *atom(Regex *x) {
  if (accept(x, "(")) return group(x);
  if (accept(x, "[")) return class_of(x);
  if (accept(x, ".")) return dot(x);
  if (accept(x, "\\")) return escape(x);
  if (accept(x, "^")) return leaf(x, T_ASSERT, x->flags & LINES ? A_LINE : A_BEGIN, 0);
  if (accept(x, "$")) return leaf(x, T_ASSERT, x->flags & LINES ? A_LINE_END : A_END, 0);
  if (strchr("*+?", *x->p)) return refuse(x, "a repetition repeats nothing");
  const int32_t c = next_char(x);
  return one_of(x, c, c);
}

/* {m}, {m,} or {m,n}; false: it is none, and the brace is a character */
static bool counts(Regex *x, int *least, int *most) {
  const uint8_t *from = x->p;
  int v[2] = { -1, -1 }, n = 0;
  if (!accept(x, "{")) return false;
  for (; n < 2; n++) {
    for (; !at_end(x) && *x->p >= '0' && *x->p <= '9' && v[n] <= REPEATS; x->p++) v[n] = (v[n] < 0 ? 0 : v[n] * 10) + *x->p - '0';
    if (!accept(x, ",")) break;
  }
  if (v[0] < 0 || n > 1 || !accept(x, "}")) return x->p = from, false;
  *least = v[0];
  *most = n ? v[1] : v[0];
  if (*least > REPEATS || *most > REPEATS || (*most >= 0 && *most < *least)) refuse(x, "a repetition has wrong counts");
  return true;
}

static bool repeats(Regex *x, int *least, int *most) {
  *least = follows(x, "+");
  *most = follows(x, "?") ? 1 : -1;
  return accept(x, "*") || accept(x, "+") || accept(x, "?") || counts(x, least, most);
}

static Tree *sequence(Regex *x) {
  Tree *list = NULL, **end = &list;
  while (!at_end(x) && *x->p != '|' && *x->p != ')') {
    int least, most;
    Tree *t = atom(x);
    if (t && !at_end(x) && repeats(x, &least, &most)) {
      t = over(x, T_REPEAT, t);
      t->lo = least;
      t->hi = most;
      accept(x, "?");
      if (!at_end(x) && repeats(x, &least, &most)) return refuse(x, "a repetition repeats another one");
    }
    if (!t) return NULL;
    *end = t;
    end = &t->next;
  }
  return over(x, T_CAT, list);
}

static Tree *alternatives(Regex *x) {
  Tree *first = sequence(x), *last = first;
  if (!first || at_end(x) || *x->p != '|') return first;
  while (last && accept(x, "|")) last = last->next = sequence(x);
  return over(x, T_ALT, first);
}

const Tree *regex_parse(Regex *x) {
  const Tree *t = alternatives(x);
  if (!x->wrong && !at_end(x)) refuse(x, "a parenthesis has no begin");
  return t;
}

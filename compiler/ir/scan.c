/* SPDX-License-Identifier: MIT */
/* scan.c: characters and tokens of the text form. A text may be hostile, as any model. Errors are reported with line, column
 * and caret. */
#include "parse.h"

enum { TOKEN_MAX = 65535, LANES_MAX = 4096 };

/* ---- messages ---- */
Pos scan_pos(Parser *p, const char *at) {
  if (!p->seen_at || at < p->seen_at) {
    p->seen = (Pos){ .line = 1, .col = 1, .src = p->text };
    p->seen_at = p->text;
  }
  for (; p->seen_at < at; p->seen_at++) {
    if (*p->seen_at == '\n') {
      p->seen.line++;
      p->seen.col = 1;
      p->seen.src = p->seen_at + 1;
    } else if (((unsigned char)*p->seen_at & 0xc0) != 0x80) p->seen.col++;
  }
  return p->seen;
}

void scan_bad(Parser *p, const char *at, const char *fmt, ...) {
  char text[600];
  va_list ap;
  va_start(ap, fmt);
  vsnprintf(text, sizeof text, fmt, ap);
  va_end(ap);
  fail_at(p->c, EX_BADMODEL, scan_pos(p, at), "%s", text);
}

const char *scan_dims_text(Parser *p, int rank, const int64_t *dims) {
  Sb s = { 0 };
  sb_puts(&s, "[");
  for (int i = 0; i < rank; i++) sb_printf(&s, "%s%lld", i ? "," : "", (long long)dims[i]);
  sb_puts(&s, "]");
  const char *t = arena_str(&p->c->model, s.p, s.n);
  sb_free(&s);
  return t;
}

const char *scan_dims_of(Parser *p, Ref r) { return scan_dims_text(p, node(p->ir, r)->rank, node(p->ir, r)->dims); }

/* ---- characters ---- */

/* Length of the UTF-8 sequence at s, 0 if it is invalid; *code: its code point. */
static int utf8(const unsigned char *s, const unsigned char *end, uint32_t *code) {
  static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
  int n = *s < 0x80 ? 1 : *s >= 0xc2 && *s < 0xe0 ? 2 : *s >= 0xe0 && *s < 0xf0 ? 3 : *s >= 0xf0 && *s < 0xf5 ? 4 : 0;
  if (!n || end - s < n) return 0;
  *code = n == 1 ? *s : *s & (0x7fu >> n);
  for (int i = 1; i < n; i++) {
    if ((s[i] & 0xc0) != 0x80) return 0;
    *code = *code << 6 | (s[i] & 0x3f);
  }
  return *code < least[n] || *code > 0x10ffff || (*code >= 0xd800 && *code < 0xe000) ? 0 : n;
}

/* Characters that a terminal or editor may hide, so that a text could read other than it looks */
static bool invisible(uint32_t code) {
  return code == 0x7f || (code >= 0x80 && code < 0xa0) || code == 0x200e || code == 0x200f ||
         (code >= 0x2028 && code <= 0x202e) || (code >= 0x2066 && code <= 0x2069);
}

void scan_characters(Parser *p) {
  const unsigned char *s = (const unsigned char *)p->at, *end = (const unsigned char *)p->end;
  for (int n; s < end; s += n) {
    uint32_t code;
    n = utf8(s, end, &code);
    if (!n) scan_bad(p, (const char *)s, "invalid UTF-8");
    bool space = code == '\n' || code == '\t' || (code == '\r' && s + 1 < end && s[1] == '\n');
    if ((code < 0x20 && !space) || invisible(code))
      scan_bad(p, (const char *)s, "control character U+%04X%s", code, code ? "; only a string may have it, as an escape" : "");
  }
}

static bool is_part(char ch) { return is_start(ch) || is_digit(ch) || ch == '.'; }

/* ---- tokens ---- */
char scan_peek(Parser *p) {
  while (p->at < p->end && (*p->at == ' ' || *p->at == '\t' || *p->at == '\r' || *p->at == '#')) {
    if (*p->at == '#')
      while (p->at < p->end && *p->at != '\n') p->at++;
    else p->at++;
  }
  return p->at < p->end ? *p->at : '\n';
}

char scan_peek_far(Parser *p) {
  while (scan_peek(p) == '\n' && p->at < p->end) {
    p->at++;
    p->line++;
  }
  return p->at < p->end ? *p->at : 0;
}

bool scan_accept(Parser *p, char ch) {
  if (scan_peek(p) != ch) return false;
  p->at++;
  return true;
}

const char *scan_found(Parser *p) {
  if (scan_peek(p) == '\n') return p->at < p->end ? "the end of the line" : "the end of the text";
  size_t n = 1;
  if (is_part(*p->at))
    while (p->at + n < p->end && is_part(p->at[n]) && n < SHOWN) n++;
  else
    while (p->at + n < p->end && ((unsigned char)p->at[n] & 0xc0) == 0x80) n++;
  return arena_printf(&p->c->model, "'%.*s'", (int)n, p->at);
}

void scan_expect(Parser *p, char ch, const char *where) {
  if (!scan_accept(p, ch)) scan_bad(p, p->at, "expected '%c' %s, found %s", ch, where, scan_found(p));
}

void scan_end_line(Parser *p) {
  if (scan_peek(p) != '\n') scan_bad(p, p->at, "expected the end of the line, found %s", scan_found(p));
  if (p->at < p->end) p->at++;
  p->line++;
}

static size_t limit_token(Parser *p, const char *s) {
  size_t n = (size_t)(p->at - s);
  if (n > TOKEN_MAX) scan_bad(p, s, "a word of %zu characters is over the limit of %d", n, TOKEN_MAX);
  return n;
}

size_t scan_word(Parser *p, const char **s) {
  if (!is_start(scan_peek(p))) return 0;
  *s = p->at;
  while (p->at < p->end && is_part(*p->at)) p->at++;
  return limit_token(p, *s);
}

bool scan_is_literal(const char *s, size_t n) {
  return is_word(s, n, "inf") || is_word(s, n, "nan") || is_word(s, n, "true") || is_word(s, n, "false");
}

size_t scan_literal(Parser *p, const char **s) {
  char ch = scan_peek(p);
  *s = p->at;
  if (is_start(ch)) {
    const char *end = p->at;
    while (end < p->end && is_part(*end)) end++;
    if (!scan_is_literal(p->at, (size_t)(end - p->at))) return 0;
  } else if (!is_digit(ch) && ch != '-' && ch != '+' && ch != '.') return 0;
  for (p->at++; p->at < p->end; p->at++) {
    bool exponent = (*p->at == '+' || *p->at == '-') && strchr("eEpP", p->at[-1]);
    if (!is_part(*p->at) && *p->at != ':' && !exponent) break;
  }
  return limit_token(p, *s);
}

int64_t scan_bits(Parser *p, const char *s, size_t n, DType d) {
  int64_t bits = 0;
  const char *wrong = literal_parse(d, s, n, &bits);
  if (wrong) scan_bad(p, s, "'%.*s' %s (type %s)", shown(n), s, wrong, dtype_info[d].text);
  return bits;
}

int64_t scan_integer(Parser *p, const char *what) {
  const char *s;
  size_t n = scan_literal(p, &s);
  if (!n) scan_bad(p, p->at, "expected %s, found %s", what, scan_found(p));
  return scan_bits(p, s, n, DT_I64);
}

int scan_hex_digit(char ch) {
  return is_digit(ch) ? ch - '0' : ch >= 'a' && ch <= 'f' ? ch - 'a' + 10 : ch >= 'A' && ch <= 'F' ? ch - 'A' + 10 : -1;
}

const char *scan_string(Parser *p) {
  if (scan_peek(p) != '"') return NULL;
  const char *start = p->at++;
  Sb s = { 0 };
  const char *wrong = NULL, *where = start;
  while (!wrong) {
    if (p->at >= p->end || *p->at == '\n') {
      wrong = "string without an end";
      break;
    }
    char ch = *p->at++;
    if (ch == '"') break;
    if (ch == '\\') {
      static const char from[] = "\"\\nt", to[] = "\"\\\n\t";
      where = p->at - 1;
      char e = p->at < p->end ? *p->at++ : 0;
      const char *k = e ? strchr(from, e) : NULL;
      int hi = -1, lo = -1;
      if (e == 'x' && p->end - p->at >= 2) {
        hi = scan_hex_digit(p->at[0]);
        lo = scan_hex_digit(p->at[1]);
        p->at += 2;
      }
      if (k) ch = to[k - from];
      else if (hi >= 0 && lo >= 0 && hi + lo > 0) ch = (char)(hi << 4 | lo);
      else wrong = "unknown escape; the escapes are \\\" \\\\ \\n \\t and \\xHH except \\x00";
    }
    if (s.n == TOKEN_MAX) wrong = "string too long";
    if (!wrong) sb_put(&s, &ch, 1);
  }
  const char *t = s.n ? arena_str(&p->c->model, s.p, s.n) : "";
  const unsigned char *u = (const unsigned char *)t, *end = u + s.n;
  sb_free(&s);
  uint32_t code;
  for (int n; !wrong && u < end; u += n)
    if (!(n = utf8(u, end, &code))) {
      wrong = "the escapes of this string are not UTF-8";
      where = start;
      break;
    }
  if (wrong) scan_bad(p, where, "%s", wrong);
  return t;
}

/* ---- types: f32, f32x8, f32[2,3], [2,3] ---- */
bool scan_dims_fit(DType d, int rank, const int64_t *dims) {
  int64_t n = dims_elems(dims, rank);
  return n < INT64_MAX / (d ? dt_bytes(d) : 8);
}

static int64_t named_dim(Parser *p, const Type *t) {
  const char *s;
  size_t n = scan_word(p, &s);
  if (!n) scan_bad(p, p->at, "expected a dimension, found %s", scan_found(p));
  if (!p->hooks || !p->hooks->dim) scan_bad(p, s, "the dimension '%.*s' has no value", shown(n), s);
  return p->hooks->dim(p->c, p->hooks->arg, scan_pos(p, s), arena_str(&p->c->model, s, n), t->rank, t->dt);
}

/* NAME, then any number of *NAME, +NAME, *N, /N, +N and -N, which apply from left to right: "n-3/2+1" is floor((n - 3) / 2) +
 * 1 */
static int64_t symbolic_dim(Parser *p, const Type *t) {
  int64_t v = named_dim(p, t), by = 0;
  for (;;) {
    const char *at = p->at;
    const char op = scan_peek(p);
    if (op == '-') { /* the integer has the sign */
      by = scan_integer(p, "a number");
      if (!i64_add(v, by, &v)) scan_bad(p, at, "the dimension is too large");
      continue;
    }
    if (!scan_accept(p, '*') && !scan_accept(p, '/') && !scan_accept(p, '+')) return v;
    by = op != '/' && is_start(scan_peek(p)) ? named_dim(p, t) : scan_integer(p, op == '*' ? "a factor" : "a number");
    if (op == '/' && by < 1) scan_bad(p, at, "a dimension cannot be divided by %lld", (long long)by);
    if (op == '/') v = v < 0 ? v : v / by; /* a negative dimension is wrong anyway */
    else if (!(op == '*' ? i64_mul(v, by, &v) : i64_add(v, by, &v))) scan_bad(p, at, "the dimension is too large");
  }
}

static void type_dims(Parser *p, Type *t, bool symbols) {
  t->rank = 0;
  if (scan_accept(p, ']')) return;
  do {
    char ch = scan_peek(p);
    const char *at = p->at;
    int64_t v = symbols && is_start(ch) ? symbolic_dim(p, t) : scan_integer(p, "a dimension");
    if (v < 0) scan_bad(p, at, "dimension %lld is negative", (long long)v);
    if (t->rank == MAX_RANK) scan_bad(p, at, "more than %d dimensions", MAX_RANK);
    t->dims[t->rank++] = v;
  } while (scan_accept(p, ','));
  scan_expect(p, ']', "after the dimensions");
  if (!scan_dims_fit(t->dt, t->rank, t->dims))
    scan_bad(p, t->at, "the shape %s has too many elements", scan_dims_text(p, t->rank, t->dims));
}

bool scan_type(Parser *p, Type *t, bool symbols) {
  const char *s;
  char ch = scan_peek(p);
  *t = (Type){ .at = p->at, .rank = -1 };
  size_t n = scan_word(p, &s);
  if (!n && ch != '[') return false;
  if (n) {
    size_t x = n;
    t->dt = dtype_from_text(s, n);
    while (x && is_digit(s[x - 1])) x--;
    if (!t->dt && x && x < n && s[x - 1] == 'x') { /* lanes */
      t->dt = dtype_from_text(s, x - 1);
      int64_t lanes = scan_bits(p, s + x, n - x, DT_I64);
      if (lanes < 1 || lanes > LANES_MAX) scan_bad(p, s + x, "%lld lanes, expected 1 to %d", (long long)lanes, LANES_MAX);
      t->lanes = (int)lanes;
    }
    if (!t->dt && !(t->lanes && x == 1)) scan_bad(p, s, "unknown type '%.*s'", shown(n), s);
  }
  if (p->at < p->end && *p->at == '[') {
    p->at++;
    type_dims(p, t, symbols);
  }
  return true;
}

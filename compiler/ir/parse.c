/* parse.c: reads the text form of graphs, kernels and programs (docs/text-format.md).
 *
 * One line, one definition; a name is known from its line on, so there are no cycles to look for and
 * nothing nests. A line is read into operands, arguments and a type; then the op's row in ops.h says
 * what they mean. Text is a model like any other, hostile: everything a graph builder would call a
 * bug is checked here first and answered with line, column and caret. Time is linear in the text. */
#include "ir.h"
#include <stdlib.h>
#include <string.h>

enum { TOKEN_MAX = 65535, ARGS_MAX = 6, MAX_PICKED = 64 }; /* MAX_PICKED: lanes that a shuffle names; 2 * MAX_RANK or more */

typedef struct Type {
  const char *at; /* NULL: the line has none */
  DType dt;       /* DT_NONE: not given */
  int lanes;      /* 0: not given */
  int rank;       /* -1: no dimensions given */
  int64_t dims[MAX_RANK];
} Type;

typedef struct Operand {
  Ref ref;
  const char *at;
  size_t n;
} Operand; /* ref 0: a literal */

typedef enum { ARG_INT, ARG_LIST, ARG_WORD, ARG_STRING } ArgKind;
typedef struct Arg {
  const char *key, *at; /* at: the value, for messages */
  size_t nkey;
  ArgKind kind;
  int64_t v;       /* ARG_INT; ARG_STRING: interned */
  size_t first, n; /* ARG_LIST: in Parser.nums; ARG_WORD: n characters at at */
  bool used;
} Arg;

typedef struct Parser {
  Ctx *c;
  IR *ir;
  Graph *g; /* graph level only */
  const TextHooks *hooks;
  const char *path;
  Level level; /* L_GRAPH, L_KERNEL or L_PROG */
  const char *text, *at, *end;
  int line;              /* for origins; messages count for themselves */
  Pos seen;              /* the position of seen_at, where the last one was asked for: the next is counted from there */
  const char *seen_at;
  bool has_from;         /* a "from" has been read: lines are no origins any more */
  uint32_t from;         /* the origin it gives */
  VEC(Ref) symbol;       /* by interned name: what it stands for; 0: nothing */
  VEC(uint8_t) taken;    /* by interned name: 1 an input of the model, 2 an output */
  VEC(Operand) operands; /* of the line */
  VEC(int64_t) nums;     /* of the line's lists */
  Refs src;              /* of the line, literals made nodes */
  Arg args[ARGS_MAX];
  int narg;
  Type type;
  Refs *list; /* program level: what the lines define, in order */
  Ref sink;   /* kernel level: the last one */
} Parser;

/* ---- messages ---- */
static Pos pos_of(Parser *p, const char *at) {
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

static _Noreturn __attribute__((format(printf, 3, 4))) void bad(Parser *p, const char *at, const char *fmt, ...) {
  char text[600];
  va_list ap;
  va_start(ap, fmt);
  vsnprintf(text, sizeof text, fmt, ap);
  va_end(ap);
  fail_at(p->c, EX_BADMODEL, pos_of(p, at), "%s", text);
}

static int shown(size_t n) { return n < 60 ? (int)n : 60; } /* characters of a name worth quoting */

static const char *dims_text(Parser *p, int rank, const int64_t *dims) {
  Sb s = { 0 };
  sb_puts(&s, "[");
  for (int i = 0; i < rank; i++) sb_printf(&s, "%s%lld", i ? "," : "", (long long)dims[i]);
  sb_puts(&s, "]");
  const char *t = arena_str(&p->c->model, s.p, s.n);
  sb_free(&s);
  return t;
}

static const char *dims_of(Parser *p, Ref r) { return dims_text(p, node(p->ir, r)->rank, node(p->ir, r)->dims); }

static const char *dt_text(DType d) { return d ? dtype_info[d].text : "no value"; }

/* ---- characters ---- */

/* Length of the UTF-8 sequence at s, 0 when it is none; *code: what it stands for. */
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

/* What a terminal or an editor would not show as it is, so that no text reads other than it looks. */
static bool invisible(uint32_t code) {
  return code == 0x7f || (code >= 0x80 && code < 0xa0) || code == 0x200e || code == 0x200f ||
         (code >= 0x2028 && code <= 0x202e) || (code >= 0x2066 && code <= 0x2069);
}

static void check_characters(Parser *p) {
  const unsigned char *s = (const unsigned char *)p->at, *end = (const unsigned char *)p->end;
  for (int n; s < end; s += n) {
    uint32_t code;
    n = utf8(s, end, &code);
    if (!n) bad(p, (const char *)s, "invalid UTF-8");
    bool space = code == '\n' || code == '\t' || (code == '\r' && s + 1 < end && s[1] == '\n');
    if ((code < 0x20 && !space) || invisible(code))
      bad(p, (const char *)s, "control character U+%04X; write it as an escape in a string", code);
  }
}

static bool is_digit(char ch) { return ch >= '0' && ch <= '9'; }
static bool is_start(char ch) { return (ch >= 'a' && ch <= 'z') || (ch >= 'A' && ch <= 'Z') || ch == '_'; }
static bool is_part(char ch) { return is_start(ch) || is_digit(ch) || ch == '.'; }

/* ---- tokens ---- */
static char peek(Parser *p) {
  while (p->at < p->end && (*p->at == ' ' || *p->at == '\t' || *p->at == '\r' || *p->at == '#')) {
    if (*p->at == '#')
      while (p->at < p->end && *p->at != '\n') p->at++;
    else p->at++;
  }
  return p->at < p->end ? *p->at : '\n';
}

/* As peek, across ends of lines: inside braces. */
static char peek_far(Parser *p) {
  while (peek(p) == '\n' && p->at < p->end) {
    p->at++;
    p->line++;
  }
  return p->at < p->end ? *p->at : 0;
}

static bool accept(Parser *p, char ch) {
  if (peek(p) != ch) return false;
  p->at++;
  return true;
}

static const char *found(Parser *p) { /* what stands here, for messages */
  if (peek(p) == '\n') return p->at < p->end ? "the end of the line" : "the end of the text";
  size_t n = 1;
  if (is_part(*p->at))
    while (p->at + n < p->end && is_part(p->at[n]) && n < 60) n++;
  else
    while (p->at + n < p->end && ((unsigned char)p->at[n] & 0xc0) == 0x80) n++;
  return arena_printf(&p->c->model, "'%.*s'", (int)n, p->at);
}

static void expect(Parser *p, char ch, const char *where) {
  if (!accept(p, ch)) bad(p, p->at, "expected '%c' %s, found %s", ch, where, found(p));
}

static void end_line(Parser *p) {
  if (peek(p) != '\n') bad(p, p->at, "expected the end of the line, found %s", found(p));
  if (p->at < p->end) p->at++;
  p->line++;
}

static size_t limit_token(Parser *p, const char *s) {
  size_t n = (size_t)(p->at - s);
  if (n > TOKEN_MAX) bad(p, s, "a word of %zu characters; the limit is %d", n, TOKEN_MAX);
  return n;
}

/* A name or keyword: its length, 0 when there is none. */
static size_t word(Parser *p, const char **s) {
  if (!is_start(peek(p))) return 0;
  *s = p->at;
  while (p->at < p->end && is_part(*p->at)) p->at++;
  return limit_token(p, *s);
}

static bool is_word(const char *s, size_t n, const char *w) { return strlen(w) == n && !memcmp(s, w, n); }

static bool literal_word(const char *s, size_t n) {
  return is_word(s, n, "inf") || is_word(s, n, "nan") || is_word(s, n, "true") || is_word(s, n, "false");
}

/* A literal: its length, 0 when there is none. What it means depends on the type it will have. */
static size_t literal(Parser *p, const char **s) {
  char ch = peek(p);
  *s = p->at;
  if (is_start(ch)) {
    const char *end = p->at;
    while (end < p->end && is_part(*end)) end++;
    if (!literal_word(p->at, (size_t)(end - p->at))) return 0;
  } else if (!is_digit(ch) && ch != '-' && ch != '+' && ch != '.') return 0;
  for (p->at++; p->at < p->end; p->at++) {
    bool exponent = (*p->at == '+' || *p->at == '-') && strchr("eEpP", p->at[-1]);
    if (!is_part(*p->at) && *p->at != ':' && !exponent) break;
  }
  return limit_token(p, *s);
}

static int64_t literal_bits(Parser *p, const char *s, size_t n, DType d) {
  int64_t bits = 0;
  const char *wrong = literal_parse(d, s, n, &bits);
  if (wrong) bad(p, s, "'%.*s' %s as %s", shown(n), s, wrong, dtype_info[d].text);
  return bits;
}

static int64_t integer(Parser *p, const char *what) {
  const char *s;
  size_t n = literal(p, &s);
  if (!n) bad(p, p->at, "expected %s, found %s", what, found(p));
  return literal_bits(p, s, n, DT_I64);
}

static int hex_digit(char ch) {
  return is_digit(ch) ? ch - '0' : ch >= 'a' && ch <= 'f' ? ch - 'a' + 10 : ch >= 'A' && ch <= 'F' ? ch - 'A' + 10 : -1;
}

/* "..." with \" \\ \n \t \xHH; NULL when there is none. */
static const char *string(Parser *p) {
  if (peek(p) != '"') return NULL;
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
        hi = hex_digit(p->at[0]);
        lo = hex_digit(p->at[1]);
        p->at += 2;
      }
      if (k) ch = to[k - from];
      else if (hi >= 0 && lo >= 0 && hi + lo > 0) ch = (char)(hi << 4 | lo);
      else wrong = "unknown escape; there are \\\" \\\\ \\n \\t and \\xHH except \\x00";
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
  if (wrong) bad(p, where, "%s", wrong);
  return t;
}

/* ---- types: f32, f32x8, f32[2,3], [2,3] ---- */
static bool dims_fit(DType d, int rank, const int64_t *dims) {
  int64_t n = dims_elems(dims, rank);
  return n < INT64_MAX / (d ? dt_bytes(d) : 8);
}

static int64_t symbolic_dim(Parser *p) {
  const char *s;
  size_t n = word(p, &s);
  if (!n) bad(p, p->at, "expected a dimension, found %s", found(p));
  if (!p->hooks || !p->hooks->dim) bad(p, s, "the dimension '%.*s' has no value", shown(n), s);
  return p->hooks->dim(p->c, p->hooks->arg, pos_of(p, s), arena_str(&p->c->model, s, n));
}

static void type_dims(Parser *p, Type *t, bool symbols) {
  t->rank = 0;
  if (accept(p, ']')) return;
  do {
    char ch = peek(p);
    const char *at = p->at;
    int64_t v = symbols && is_start(ch) ? symbolic_dim(p) : integer(p, "a dimension");
    if (v < 0) bad(p, at, "dimension %lld is negative", (long long)v);
    if (t->rank == MAX_RANK) bad(p, at, "more than %d dimensions", MAX_RANK);
    t->dims[t->rank++] = v;
  } while (accept(p, ','));
  expect(p, ']', "after the dimensions");
  if (!dims_fit(t->dt, t->rank, t->dims)) bad(p, t->at, "the shape %s overflows", dims_text(p, t->rank, t->dims));
}

/* False when there is no type here. symbols: dimensions may be names. */
static bool type(Parser *p, Type *t, bool symbols) {
  const char *s;
  char ch = peek(p);
  *t = (Type){ .at = p->at, .rank = -1 };
  size_t n = word(p, &s);
  if (!n && ch != '[') return false;
  if (n) {
    size_t x = n;
    t->dt = dtype_from_text(s, n);
    while (x && is_digit(s[x - 1])) x--;
    if (!t->dt && x && x < n && s[x - 1] == 'x') { /* lanes */
      t->dt = dtype_from_text(s, x - 1);
      int64_t lanes = literal_bits(p, s + x, n - x, DT_I64);
      if (lanes < 1 || lanes > 4096) bad(p, s + x, "%lld lanes; there may be 1 to 4096", (long long)lanes);
      t->lanes = (int)lanes;
    }
    if (!t->dt && !(t->lanes && x == 1)) bad(p, s, "unknown type '%.*s'", shown(n), s);
  }
  if (p->at < p->end && *p->at == '[') {
    p->at++;
    type_dims(p, t, symbols);
  }
  return true;
}

/* ---- names ---- */
static Ref lookup(Parser *p, const char *s, size_t n) {
  uint32_t id = intern(p->c, s, n);
  Ref r = id < p->symbol.n ? p->symbol.p[id] : 0;
  if (!r) bad(p, s, "'%.*s' is not defined", shown(n), s);
  return r;
}

static void define(Parser *p, const char *s, size_t n, Ref r) {
  uint32_t id = intern(p->c, s, n);
  while (p->symbol.n <= id) VEC_PUSH(&p->symbol, 0);
  p->symbol.p[id] = r;
}

static void check_new(Parser *p, const char *s, size_t n) {
  uint32_t id = intern(p->c, s, n);
  if (literal_word(s, n)) bad(p, s, "'%.*s' is a literal, not a name", shown(n), s);
  if (id < p->symbol.n && p->symbol.p[id]) bad(p, s, "'%.*s' is already defined", shown(n), s);
}

/* Names of the model's inputs, and of its outputs, differ from each other. */
static const char *model_name(Parser *p, const char *s, size_t n, uint8_t bit) {
  const char *at = (peek(p), p->at), *name = string(p);
  if (!name) {
    name = arena_str(&p->c->model, s, n);
    at = s;
  }
  uint32_t id = intern(p->c, name, strlen(name));
  while (p->taken.n <= id) VEC_PUSH(&p->taken, 0);
  if (p->taken.p[id] & bit) bad(p, at, "another %s is called '%.*s'", bit == 1 ? "input" : "output", shown(strlen(name)), name);
  p->taken.p[id] |= bit;
  return name;
}

/* ---- the parts of a line ---- */
static void list(Parser *p, Arg *a) {
  a->kind = ARG_LIST;
  a->first = p->nums.n;
  if (accept(p, ']')) return;
  do {
    if (a->n++ == 64) bad(p, a->at, "list of more than 64 integers");
    VEC_PUSH(&p->nums, integer(p, "an integer"));
  } while (accept(p, ','));
  expect(p, ']', "after the list");
}

static void argument(Parser *p, const char *key, size_t n) { /* behind "key=" */
  if (p->narg == ARGS_MAX) bad(p, key, "more than %d arguments", ARGS_MAX);
  for (int i = 0; i < p->narg; i++)
    if (p->args[i].nkey == n && !memcmp(p->args[i].key, key, n)) bad(p, key, "'%.*s' is given twice", shown(n), key);
  Arg *a = &p->args[p->narg++];
  char ch = peek(p);
  *a = (Arg){ .key = key, .nkey = n, .at = p->at };
  if (accept(p, '[')) list(p, a);
  else if (ch == '"') {
    const char *s = string(p);
    a->kind = ARG_STRING;
    a->v = intern(p->c, s, strlen(s));
  } else if (is_start(ch)) {
    a->kind = ARG_WORD;
    a->n = word(p, &a->at);
  } else a->v = integer(p, "a value");
}

/* Operands, arguments and type: the rest of a line after its op. */
static void parts(Parser *p) {
  p->operands.n = p->nums.n = p->src.n = 0;
  p->narg = 0;
  p->type = (Type){ .rank = -1 };
  for (bool more = peek(p) != ':' && peek(p) != '\n', comma = false; more;) {
    Operand o = { 0 };
    if (!(o.n = literal(p, &o.at))) {
      if (!(o.n = word(p, &o.at))) bad(p, p->at, "expected a name or a literal, found %s", found(p));
      if (!comma && accept(p, '=')) { /* the arguments begin */
        argument(p, o.at, o.n);
        break;
      }
      o.ref = lookup(p, o.at, o.n);
    }
    if (p->operands.n == UINT16_MAX) bad(p, o.at, "more than %d operands", UINT16_MAX);
    VEC_PUSH(&p->operands, o);
    comma = accept(p, ',');
    more = comma || is_start(peek(p));
    if (more && !comma) break;
  }
  for (const char *s; is_start(peek(p));) {
    size_t n = word(p, &s);
    expect(p, '=', "after the name of an argument");
    argument(p, s, n);
  }
  if (accept(p, ':') && !type(p, &p->type, false)) bad(p, p->at, "expected a type, found %s", found(p));
}

/* ---- arguments by the op's row ---- */
static Arg *find_arg(Parser *p, const char *key, size_t n) {
  for (int i = 0; i < p->narg; i++)
    if (p->args[i].nkey == n && !memcmp(p->args[i].key, key, n)) return &p->args[i];
  return NULL;
}

static void want_kind(Parser *p, const Arg *a, ArgKind kind, const char *what) {
  if (a->kind != kind) bad(p, a->at, "'%.*s' is %s", shown(a->nkey), a->key, what);
}

static int64_t arg_word(Parser *p, const Arg *a, char kind) {
  want_kind(p, a, ARG_WORD, kind == 'k' ? "a kind of range" : "an op");
  if (kind != 'k') {
    Op o = op_from_text(a->at, a->n);
    const bool none = kind == 'O' && is_word(a->at, a->n, "none");
    if (!none && o != OP_ADD && o != OP_MUL && o != OP_MAX && o != OP_MIN)
      bad(p, a->at, "'%.*s' is not one of %sadd mul max min", shown(a->n), a->at, kind == 'O' ? "none " : "");
    return o;
  }
  for (int k = 0; k < RK_COUNT; k++)
    if (is_word(a->at, a->n, range_kind_name[k])) return k;
  bad(p, a->at, "unknown kind of range '%.*s'", shown(a->n), a->at);
}

/* The value of an absent argument that has a default. */
static bool default_arg(Parser *p, Op op, const char *key, size_t n, int64_t *v) {
  bool step = (op == OP_SHRINK && is_word(key, n, "step")) ||
              (op == OP_WINDOW && (is_word(key, n, "stride") || is_word(key, n, "dilation")));
  bool id = (op == OP_RANGE || op == OP_ACC) && is_word(key, n, "id");
  *v = step ? 1 : id ? p->ir->next_range++ : 0;
  return step || id;
}

/* Fills v as Node.arg wants it; v holds 2 * MAX_RANK, in kernels MAX_PICKED. */
static int op_args(Parser *p, const char *at, Op op, int64_t *v) {
  int rank = p->src.n ? node(p->ir, p->src.p[0])->rank : 0, nv = 0;
  for (const char *s = op_info[op].args; *s;) {
    size_t n = (size_t)(strchr(s, ':') - s);
    char kind = s[n + 1];
    int width = kind == 'l' ? rank : kind == 'v' ? p->type.lanes : 1;
    Arg *a = find_arg(p, s, n);
    if (a) {
      a->used = true;
      switch (kind) {
      case 'i':
        want_kind(p, a, ARG_INT, "an integer");
        v[nv] = a->v;
        break;
      case 'l':
        want_kind(p, a, ARG_LIST, "a list");
        if (a->n != (size_t)rank) bad(p, a->at, "%zu integers for %d dimensions", a->n, rank);
        if (rank) memcpy(v + nv, p->nums.p + a->first, (size_t)rank * sizeof *v);
        break;
      case 'v':
        want_kind(p, a, ARG_LIST, "a list");
        if (a->n != (size_t)width || width > MAX_PICKED) bad(p, a->at, "%zu integers for %d lanes, of which there may be %d", a->n, width, MAX_PICKED);
        memcpy(v + nv, p->nums.p + a->first, (size_t)width * sizeof *v);
        break;
      case 'm':
        want_kind(p, a, ARG_LIST, "a list of axes");
        v[nv] = 0;
        for (size_t i = 0; i < a->n; i++) {
          int64_t axis = p->nums.p[a->first + i];
          if (axis < 0 || axis >= rank) bad(p, a->at, "there is no axis %lld in %s", (long long)axis, dims_of(p, p->src.p[0]));
          if (v[nv] >> axis & 1) bad(p, a->at, "axis %lld is given twice", (long long)axis);
          v[nv] |= (int64_t)1 << axis;
        }
        break;
      case 's':
        want_kind(p, a, ARG_STRING, "a string");
        v[nv] = a->v;
        break;
      default: v[nv] = arg_word(p, a, kind);
      }
    } else {
      int64_t value;
      if (!default_arg(p, op, s, n, &value)) bad(p, at, "missing '%.*s='", (int)n, s);
      for (int i = 0; i < width; i++) v[nv + i] = value;
    }
    nv += width;
    s += n + 2;
    while (*s == ' ') s++;
  }
  for (int i = 0; i < p->narg; i++)
    if (!p->args[i].used) bad(p, p->args[i].key, "unknown argument '%.*s'", shown(p->args[i].nkey), p->args[i].key);
  return nv;
}

/* ---- operands ---- */
/* The type that literals of an elementwise op and its peers share: that of the first named operand
 * among them, or the one the line states. */
static DType shared_type(Parser *p, Op op) {
  DType d = op_info[op].type[0] == 'T' ? p->type.dt : DT_NONE;
  for (size_t i = 0; i < p->operands.n; i++) {
    LiteralType t = literal_type(op, (int)i);
    if (p->operands.p[i].ref && (t == LIT_RESULT || t == LIT_PEER)) return (DType)node(p->ir, p->operands.p[i].ref)->dt;
  }
  return d;
}

static Ref literal_node(Parser *p, const Operand *o, DType d) {
  if (!d) bad(p, o->at, "nothing gives the literal '%.*s' a type; write one after ':'", shown(o->n), o->at);
  return c_bits(p->ir, d, literal_bits(p, o->at, o->n, d));
}

static DType wanted_type(LiteralType t, DType shared) { return t == LIT_BOOL ? DT_BOOL : t == LIT_I64 ? DT_I64 : shared; }

/* Source i with its type checked; literals become CONST nodes. */
static Ref operand(Parser *p, Op op, size_t i, DType shared) {
  const Operand *o = &p->operands.p[i];
  LiteralType t = literal_type(op, (int)i);
  DType want = wanted_type(t, shared);
  if (!o->ref) {
    if (t == LIT_NONE) bad(p, o->at, "expected a name, found a literal");
    return literal_node(p, o, want);
  }
  DType has = (DType)node(p->ir, o->ref)->dt;
  if (t != LIT_NONE && want && has != want)
    bad(p, o->at, "'%.*s' is %s, expected %s", shown(o->n), o->at, dt_text(has), dt_text(want));
  return o->ref;
}

static void check_arity(Parser *p, const char *at, Op op) {
  int n = op_info[op].arity;
  if (n >= 0 && p->operands.n != (size_t)n)
    bad(p, at, "'%.*s' takes %d operand%s, found %zu", shown(strlen(op_info[op].name)), at, n, n == 1 ? "" : "s", p->operands.n);
  if (n == ARITY_SOME && !p->operands.n) bad(p, at, "missing operands");
}

/* ---- graph level ---- */
static const int64_t *type_shape(Parser *p, const char *at) {
  if (p->type.rank < 0) bad(p, p->type.at ? p->type.at : at, "the result's shape is not given; write it after ':'");
  return p->type.dims;
}

static void check_axis(Parser *p, const char *at, Ref x, int64_t axis) {
  if (axis < 0 || axis >= node(p->ir, x)->rank) bad(p, at, "there is no axis %lld in %s", (long long)axis, dims_of(p, x));
}

static void check_dims(Parser *p, const char *at, DType d, int rank, const int64_t *dims) {
  if (!dims_fit(d, rank, dims)) bad(p, at, "the shape %s overflows", dims_text(p, rank, dims));
}

/* Elementwise ops spread their sources over the common shape; literals alone take the line's. */
static Ref graph_elementwise(Parser *p, const char *at, Op op) {
  const OpInfo *info = &op_info[op];
  bool convert = info->type[0] == '*';
  DType shared = shared_type(p, op);
  int64_t dims[MAX_RANK];
  int rank = 0, named = 0;
  for (size_t i = 0; i < p->operands.n; i++) {
    Ref r = p->operands.p[i].ref;
    if (!r) continue;
    named++;
    if (node(p->ir, r)->rank > rank) rank = node(p->ir, r)->rank;
  }
  for (int a = 0; a < rank; a++) dims[a] = 1;
  for (size_t i = 0; i < p->operands.n; i++) {
    Ref r = p->operands.p[i].ref;
    const Node *x = r ? node(p->ir, r) : NULL;
    for (int b = 0, a = r ? rank - x->rank : 0; r && b < x->rank; a++, b++) {
      if (x->dims[b] == 1 || x->dims[b] == dims[a]) continue;
      if (dims[a] != 1) bad(p, p->operands.p[i].at, "%s does not broadcast with %s", dims_of(p, r), dims_text(p, rank, dims));
      dims[a] = x->dims[b];
    }
  }
  if (!named && p->type.rank > 0) {
    rank = p->type.rank;
    memcpy(dims, p->type.dims, (size_t)rank * sizeof *dims);
  }
  DType from = shared, to = info->type[0] == 'b' ? DT_BOOL : convert ? p->type.dt : shared;
  if (convert && named) from = (DType)node(p->ir, p->operands.p[0].ref)->dt;
  if (convert && !to) bad(p, at, "the result's type is not given; write it after ':'");
  check_dims(p, at, to, rank, dims);
  for (size_t i = 0; i < p->operands.n; i++) VEC_PUSH(&p->src, g_expand(p->ir, operand(p, op, i, shared), rank, dims));
  if (!op_takes(op, from)) bad(p, at, "there is no '%.*s' of %s", shown(strlen(info->name)), at, dt_text(from));
  if (op == OP_BITCAST && dt_bytes(from) != dt_bytes(to)) bad(p, at, "%s and %s differ in size", dt_text(from), dt_text(to));
  return node_make(p->ir, op, to, 1, (int)p->src.n, p->src.p, 0, NULL, rank, dims);
}

static Ref graph_reshape(Parser *p, const char *at) {
  Ref x = p->src.p[0];
  const Node *n = node(p->ir, x);
  const int64_t *dims = type_shape(p, at);
  if (dims_elems(n->dims, n->rank) != dims_elems(dims, p->type.rank))
    bad(p, p->type.at, "%s and %s differ in their number of elements", dims_of(p, x), dims_text(p, p->type.rank, dims));
  return g_reshape(p->ir, x, p->type.rank, dims);
}

static Ref graph_expand(Parser *p, const char *at) {
  Ref x = p->src.p[0];
  const Node *n = node(p->ir, x);
  const int64_t *dims = type_shape(p, at);
  int rank = p->type.rank, lead = rank - n->rank;
  bool fits = lead >= 0;
  for (int i = 0; fits && i < n->rank; i++) fits = n->dims[i] == 1 || n->dims[i] == dims[lead + i];
  if (!fits) bad(p, p->type.at, "%s does not expand to %s", dims_of(p, x), dims_text(p, rank, dims));
  return g_expand(p->ir, x, rank, dims);
}

static Ref graph_permute(Parser *p, const char *at, const int64_t *perm) {
  const Node *n = node(p->ir, p->src.p[0]);
  uint32_t seen = 0;
  for (int i = 0; i < n->rank; i++) {
    if (perm[i] < 0 || perm[i] >= n->rank || (seen >> perm[i] & 1))
      bad(p, at, "perm=%s does not order the axes of %s", dims_text(p, n->rank, perm), dims_of(p, p->src.p[0]));
    seen |= 1u << perm[i];
  }
  return g_permute(p->ir, p->src.p[0], perm);
}

/* Without a shape: as far as the source reaches. */
static Ref graph_shrink(Parser *p, const char *at, const int64_t *begin) {
  Ref x = p->src.p[0];
  const Node *n = node(p->ir, x);
  const int64_t *step = begin + n->rank;
  int64_t dims[MAX_RANK];
  if (p->type.rank >= 0 && p->type.rank != n->rank) bad(p, p->type.at, "shrink keeps the number of dimensions, %d", n->rank);
  for (int i = 0; i < n->rank; i++) {
    if (begin[i] < 0 || begin[i] > n->dims[i])
      bad(p, at, "begin %lld is outside of axis %d of %s", (long long)begin[i], i, dims_of(p, x));
    if (!step[i] || step[i] < -INT32_MAX || step[i] > INT32_MAX) bad(p, at, "step %lld", (long long)step[i]);
    int64_t room = step[i] > 0             ? n->dims[i] - begin[i]
                   : begin[i] < n->dims[i] ? begin[i] + 1
                                           : 0,
            stride = step[i] > 0 ? step[i] : -step[i];
    int64_t most = room / stride + (room % stride != 0);
    dims[i] = p->type.rank < 0 ? most : p->type.dims[i];
    if (dims[i] > most) bad(p, p->type.at, "axis %d: %lld elements of %lld", i, (long long)dims[i], (long long)most);
  }
  return g_shrink(p->ir, x, begin, step, dims);
}

static Ref graph_window(Parser *p, const char *at, const int64_t *arg) {
  Ref x = p->src.p[0];
  const Node *n = node(p->ir, x);
  const int64_t *dims = type_shape(p, at);
  check_axis(p, at, x, arg[0]);
  int axis = (int)arg[0];
  bool same = p->type.rank == n->rank + 1;
  for (int i = 0; same && i < n->rank; i++) same = i == axis || dims[i] == n->dims[i];
  if (!same)
    bad(p, p->type.at, "a window of %s has its shape with another axis %d and one more axis, found %s", dims_of(p, x), axis,
        dims_text(p, p->type.rank, dims));
  int64_t out = dims[axis], k = dims[n->rank], last, reach;
  bool fits = k >= 1 && arg[1] >= 0 && arg[2] >= 0;
  if (fits && out)
    fits = i64_mul(out - 1, arg[1], &last) && i64_mul(k - 1, arg[2], &reach) && i64_add(last, reach, &last) &&
           last < n->dims[axis];
  if (!fits)
    bad(p, at, "%lld windows of %lld elements do not fit into %lld", (long long)out, (long long)k, (long long)n->dims[axis]);
  return g_window(p->ir, x, axis, out, k, arg[1], arg[2]);
}

static Ref graph_pad(Parser *p, const char *at, const int64_t *lo) {
  Ref x = p->src.p[0], fill = p->src.p[1];
  const Node *n = node(p->ir, x);
  const int64_t *hi = lo + n->rank;
  int64_t dims[MAX_RANK];
  if (node(p->ir, fill)->rank) bad(p, p->operands.p[1].at, "the fill value is %s, expected a scalar", dims_of(p, fill));
  if (node(p->ir, fill)->dt != n->dt)
    bad(p, p->operands.p[1].at, "the fill value is %s, expected %s", dt_text((DType)node(p->ir, fill)->dt),
        dt_text((DType)n->dt));
  for (int i = 0; i < n->rank; i++)
    if (lo[i] < 0 || hi[i] < 0 || !i64_add(n->dims[i], lo[i], &dims[i]) || !i64_add(dims[i], hi[i], &dims[i]))
      bad(p, at, "axis %d cannot be padded by %lld and %lld", i, (long long)lo[i], (long long)hi[i]);
  check_dims(p, at, (DType)n->dt, n->rank, dims);
  return g_pad(p->ir, x, lo, hi, fill);
}

static Ref graph_cat(Parser *p, const char *at, int64_t axis) {
  const Node *first = node(p->ir, p->src.p[0]);
  int64_t dims[MAX_RANK];
  check_axis(p, at, p->src.p[0], axis);
  memcpy(dims, first->dims, first->rank * sizeof *dims);
  dims[axis] = 0;
  for (size_t i = 0; i < p->src.n; i++) {
    const Node *x = node(p->ir, p->src.p[i]);
    bool same = x->rank == first->rank && x->dt == first->dt;
    for (int a = 0; same && a < x->rank; a++) same = a == axis || x->dims[a] == first->dims[a];
    if (!same || !i64_add(dims[axis], x->dims[axis], &dims[axis]))
      bad(p, p->operands.p[i].at, "%s%s does not continue %s%s on axis %lld", dt_text((DType)x->dt), dims_of(p, p->src.p[i]),
          dt_text((DType)first->dt), dims_of(p, p->src.p[0]), (long long)axis);
  }
  check_dims(p, at, (DType)first->dt, first->rank, dims);
  return g_cat(p->ir, (int)p->src.n, p->src.p, (int)axis);
}

static Ref graph_gather(Parser *p, const char *at, int64_t axis) {
  const Node *x = node(p->ir, p->src.p[0]), *index = node(p->ir, p->src.p[1]);
  int64_t dims[MAX_RANK];
  if (index->dt != DT_I64) bad(p, p->operands.p[1].at, "the index is %s, expected i64", dt_text((DType)index->dt));
  check_axis(p, at, p->src.p[0], axis);
  bool same = x->rank == index->rank;
  for (int i = 0; same && i < x->rank; i++) {
    same = i == axis || index->dims[i] == x->dims[i] || index->dims[i] == 1 || x->dims[i] == 1;
    dims[i] = i == axis || index->dims[i] != 1 ? index->dims[i] : x->dims[i];
  }
  if (!same)
    bad(p, p->operands.p[1].at, "an index of %s does not fit %s on axis %lld", dims_of(p, p->src.p[1]), dims_of(p, p->src.p[0]),
        (long long)axis);
  check_dims(p, at, (DType)x->dt, x->rank, dims);
  int64_t wrong, extent = x->dims[axis];
  if (g_index_fits(p->ir, p->src.p[1], extent, &wrong) < 0 || (!extent && dims_elems(index->dims, index->rank)))
    bad(p, p->operands.p[1].at, "index %lld is outside of axis %lld with %lld elements", (long long)wrong, (long long)axis,
        (long long)extent);
  dims[axis] = extent; /* the source is spread over the other axes */
  check_dims(p, at, (DType)x->dt, x->rank, dims);
  return g_gather(p->ir, p->src.p[0], p->src.p[1], (int)axis);
}

static Ref graph_scatter(Parser *p, const char *at, Op op, int64_t axis) {
  const Node *x = node(p->ir, p->src.p[0]), *index = node(p->ir, p->src.p[1]), *u = node(p->ir, p->src.p[2]);
  int64_t dims[MAX_RANK];
  if (index->dt != DT_I64) bad(p, p->operands.p[1].at, "the index is %s, expected i64", dt_text((DType)index->dt));
  if (u->dt != x->dt) bad(p, p->operands.p[2].at, "the updates are %s, expected %s", dt_text((DType)u->dt), dt_text((DType)x->dt));
  if (op && !op_takes(op, (DType)x->dt)) bad(p, at, "there is no sum of %s", dt_text((DType)x->dt));
  check_axis(p, at, p->src.p[0], axis);
  const bool ranked = index->rank == x->rank && u->rank == x->rank;
  for (int i = 0; ranked && i < x->rank; i++) dims[i] = i != axis ? x->dims[i] : index->dims[i] == 1 ? u->dims[i] : index->dims[i];
  for (int k = 1; k < 3; k++) {
    const Node *y = node(p->ir, p->src.p[k]);
    bool fits = y->rank == x->rank;
    for (int i = 0; ranked && i < x->rank; i++) fits &= y->dims[i] == 1 || y->dims[i] == dims[i];
    if (!fits)
      bad(p, p->operands.p[k].at, "%s of %s does not fit %s on axis %lld", k == 1 ? "an index" : "an update", dims_of(p, p->src.p[k]),
          dims_of(p, p->src.p[0]), (long long)axis);
  }
  check_dims(p, at, (DType)x->dt, x->rank, dims);
  return g_scatter(p->ir, op, p->src.p[0], p->src.p[1], p->src.p[2], (int)axis);
}

static Ref graph_const(Parser *p, const char *at) {
  if (p->operands.n != 1 || p->operands.p[0].ref) bad(p, at, "expected one literal");
  Ref r = literal_node(p, &p->operands.p[0], p->type.dt);
  return p->level == L_GRAPH && p->type.rank > 0 ? g_expand(p->ir, r, p->type.rank, p->type.dims) : r;
}

static Ref graph_op(Parser *p, const char *at, Op op) {
  int64_t arg[2 * MAX_RANK];
  if (op == OP_CONST) return graph_const(p, at);
  if (op == OP_PARAM || op == OP_WEIGHT) bad(p, at, "inputs and weights are written 'input' and 'weight' with their type");
  check_arity(p, at, op);
  if (op_info[op].level == L_EXPR) {
    op_args(p, at, op, arg);
    return graph_elementwise(p, at, op);
  }
  if (op == OP_IOTA) {
    const int64_t *dims = type_shape(p, at);
    if (p->type.rank != 1 || (p->type.dt && p->type.dt != DT_I64)) bad(p, p->type.at, "iota is i64 of one dimension");
    op_args(p, at, op, arg);
    return g_iota(p->ir, DT_I64, dims[0]);
  }
  DType first = p->operands.p[0].ref ? (DType)node(p->ir, p->operands.p[0].ref)->dt : DT_NONE;
  for (size_t i = 0; i < p->operands.n; i++) VEC_PUSH(&p->src, operand(p, op, i, first));
  op_args(p, at, op, arg);
  switch (op) {
  case OP_RESHAPE: return graph_reshape(p, at);
  case OP_EXPAND: return graph_expand(p, at);
  case OP_PERMUTE: return graph_permute(p, at, arg);
  case OP_SHRINK: return graph_shrink(p, at, arg);
  case OP_WINDOW: return graph_window(p, at, arg);
  case OP_PAD: return graph_pad(p, at, arg);
  case OP_CAT: return graph_cat(p, at, arg[0]);
  case OP_GATHER: return graph_gather(p, at, arg[0]);
  case OP_SCATTER: return graph_scatter(p, at, (Op)arg[0], arg[1]);
  case OP_REDUCE:
    if (!op_takes((Op)arg[0], first)) bad(p, at, "there is no sum of %s", dt_text(first));
    return g_reduce(p->ir, (Op)arg[0], p->src.p[0], (uint32_t)arg[1]);
  default: bad(p, at, "'%.*s' does not belong into a graph", shown(strlen(op_info[op].name)), at);
  }
}

static void check_result(Parser *p, Ref r) {
  const Node *x = node(p->ir, r);
  const Type *t = &p->type;
  if (!t->at) return;
  bool same = (!t->dt || t->dt == x->dt) && (!t->lanes || t->lanes == x->lanes);
  if (p->level == L_GRAPH && t->rank >= 0)
    same &= t->rank == x->rank && (!t->rank || !memcmp(t->dims, x->dims, (size_t)t->rank * sizeof *t->dims));
  if (!same) bad(p, t->at, "the result is %s%s", dt_text((DType)x->dt), p->level == L_GRAPH ? dims_of(p, r) : "");
}

static void input_line(Parser *p, const char *name, size_t n) {
  Type t;
  if (!type(p, &t, true) || !t.dt || t.lanes) bad(p, t.at, "expected the input's type, as f32[1,3]");
  if (t.rank < 0) t.rank = 0;
  GIO io = { .dt = t.dt, .rank = t.rank, .name = model_name(p, name, n, 1) };
  memcpy(io.dims, t.dims, sizeof io.dims);
  p->ir->origin = ir_origin(p->ir, arena_printf(&p->c->model, "input '%s'", io.name), 0);
  io.ref = g_param(p->ir, t.dt, t.rank, t.dims, (int)p->g->inputs.n);
  VEC_PUSH(&p->g->inputs, io);
  define(p, name, n, io.ref);
}

/* from 17 "node 17 'conv1' (Conv, opset 11)": what the lines up to the next one came from; "": nothing */
static void from_line(Parser *p) {
  const char *at = (peek(p), p->at);
  int64_t index = integer(p, "an ordinal");
  const char *text = string(p);
  if (index < 0 || index > UINT32_MAX) bad(p, at, "ordinal %lld", (long long)index);
  if (!text) bad(p, p->at, "expected a string, found %s", found(p));
  p->has_from = true;
  p->from = *text ? ir_origin(p->ir, text, (uint32_t)index) : 0;
}

static void line_origin(Parser *p) {
  p->ir->origin = p->from;
  if (p->has_from) return;
  p->ir->origin = ir_origin(p->ir, arena_printf(&p->c->model, "%s:%d", p->path ? p->path : "line", p->line), (uint32_t)p->line);
  p->ir->origins.p[p->ir->origin].is_line = true;
}

static void output_line(Parser *p) {
  const char *s, *line = p->at;
  size_t n = word(p, &s);
  if (!n) bad(p, p->at, "expected the name of a value, found %s", found(p));
  GIO io = { .ref = lookup(p, s, n) };
  const Node *x = node(p->ir, io.ref);
  io.name = model_name(p, s, n, 2);
  io.dt = (DType)x->dt;
  io.rank = x->rank;
  if (x->rank) memcpy(io.dims, x->dims, x->rank * sizeof *io.dims);
  if (p->g->guarded) bad(p, line, "the guard is the last output");
  VEC_PUSH(&p->g->outputs, io);
}

/* An output that is no caller's: whether an index was out of range */
static void guard_line(Parser *p) {
  const char *line = p->at;
  output_line(p);
  const GIO *io = &p->g->outputs.p[p->g->outputs.n - 1];
  if (io->dt != DT_BOOL || io->rank) bad(p, line, "a guard is one bool");
  p->g->guarded = true;
}

/* {1, 2.5, ...}: as many as the type has elements. */
static const void *weight_values(Parser *p, const Tensor *t) {
  const char *open = p->at++;
  int bytes = dt_bytes(t->dt);
  /* a value takes two characters at least, so memory stays in proportion to the text */
  if (t->elems > (p->end - p->at) / 2 + 1) bad(p, open, "%lld values are missing or more", (long long)t->elems);
  char *data = arena_alloc(&p->c->model, (size_t)t->elems * (size_t)bytes + 1);
  int64_t i = 0;
  for (; peek_far(p) != '}'; i++) {
    const char *s;
    if (i) expect(p, ',', "between values");
    peek_far(p);
    size_t n = literal(p, &s);
    if (!n) bad(p, p->at < p->end ? p->at : open, "expected a value%s", p->at < p->end ? "" : "; the list has no end");
    if (i == t->elems) bad(p, s, "more than the %lld values of the type", (long long)t->elems);
    int64_t bits = literal_bits(p, s, n, t->dt);
    memcpy(data + i * bytes, &bits, (size_t)bytes); /* little-endian host, as the table wants it */
  }
  if (i < t->elems) bad(p, p->at, "%lld values of %lld", (long long)i, (long long)t->elems);
  p->at++;
  return data;
}

/* @"file" offset=0 sha256=... */
static const void *weight_file(Parser *p, const Tensor *t) {
  const char *at = p->at++, *file = string(p), *key, *digest = NULL;
  int64_t offset = -1;
  if (!file) bad(p, p->at, "expected the file's name as a string");
  for (size_t n; (n = word(p, &key));) {
    expect(p, '=', "after the name of an argument");
    if (is_word(key, n, "offset") && offset < 0) {
      offset = integer(p, "the offset");
      if (offset < 0) bad(p, key, "offset %lld", (long long)offset);
    } else if (is_word(key, n, "sha256") && !digest) {
      const char *s = (peek(p), p->at);
      while (p->at < p->end && hex_digit(*p->at) >= 0) p->at++;
      if (p->at - s != 64) bad(p, s, "expected 64 hexadecimal digits");
      digest = arena_str(&p->c->model, s, 64);
    } else bad(p, key, "'%.*s' is unknown or given twice; there are offset and sha256", shown(n), key);
  }
  if (!p->hooks || !p->hooks->blob) bad(p, at, "weights in files need a model in a file");
  return p->hooks->blob(p->c, p->hooks->arg, pos_of(p, at), file, offset < 0 ? 0 : offset, t->elems * dt_bytes(t->dt), digest).p;
}

static void weight_line(Parser *p, const char *name, size_t n) {
  Type type_;
  if (!type(p, &type_, false) || !type_.dt || type_.lanes) bad(p, type_.at, "expected the weight's type, as f32[8,3]");
  Tensor t = { .dt = type_.dt, .rank = type_.rank < 0 ? 0 : type_.rank };
  memcpy(t.dims, type_.dims, sizeof t.dims);
  t.elems = dims_elems(t.dims, t.rank);
  t.name = string(p);
  char ch = peek(p);
  if (ch == '{') t.data = weight_values(p, &t);
  else if (ch == '@') t.data = weight_file(p, &t);
  else bad(p, p->at, "expected '{' or '@' and the values, found %s", found(p));
  define(p, name, n, g_weight(p->ir, ir_tensor(p->ir, &t)));
}

/* ---- kernel and program level ---- */
static void buffer_line(Parser *p, const char *name, size_t n) {
  static const char *const kinds[] = { "input", "output", "weight", "arena", "state", "next", "guard", "local" };
  enum { KINDS = sizeof kinds / sizeof *kinds };
  const char *s;
  Type t;
  Buf b = { .offset = -1 };
  int64_t id = (int64_t)p->ir->bufs.n;
  size_t k = 0, len = word(p, &s);
  while (k < KINDS && !(len && is_word(s, len, kinds[k]))) k++;
  if (k == KINDS) bad(p, len ? s : p->at, "expected one of input output weight arena state next guard local");
  if (!type(p, &t, false) || !t.dt || t.rank != 1) bad(p, t.at, "expected the buffer's type, as f32[64]");
  b.kind = (BufKind)k;
  b.dt = t.dt;
  b.elems = t.dims[0];
  while ((len = word(p, &s))) {
    int64_t *v = is_word(s, len, "id") ? &id : is_word(s, len, "slot") ? &b.slot : is_word(s, len, "offset") ? &b.offset : NULL;
    if (!v) bad(p, s, "unknown argument '%.*s'; there are id, slot and offset", shown(len), s);
    expect(p, '=', "after the name of an argument");
    *v = integer(p, "an integer");
    if (*v < 0 || *v > ((int64_t)1 << 50)) bad(p, s, "%.*s %lld", shown(len), s, (long long)*v);
  }
  if (id >= 1000000) bad(p, s, "buffer %lld; the limit is 1000000", (long long)id);
  while (p->ir->bufs.n <= (size_t)id) VEC_PUSH(&p->ir->bufs, ((Buf){ .kind = BUF_ARENA, .offset = -1 }));
  Buf *row = &p->ir->bufs.p[id];
  if (row->dt && (row->dt != b.dt || row->elems != b.elems || row->kind != b.kind))
    bad(p, name, "buffer %lld is another one", (long long)id);
  if (!row->dt) *row = b;
  define(p, name, n, node_make(p->ir, OP_BUFFER, b.dt, 1, 0, NULL, 1, &id, 0, NULL));
}

static Op op_of(const Parser *p, size_t i) { return (Op)node(p->ir, p->src.p[i])->op; }

/* What stands where: "buffer first", "ranges from the second on". */
static void check_sources(Parser *p, const char *at, Op op) {
  size_t n = p->src.n, ranges = n;
  switch (op) {
  case OP_LOAD:
    if ((n != 2 && n != 4) || op_of(p, 0) != OP_BUFFER)
      bad(p, at, "load takes a buffer, an index, and maybe a gate with what to give else");
    break;
  case OP_STORE:
    if ((n != 3 && n != 4) || op_of(p, 0) != OP_BUFFER) bad(p, at, "store takes a buffer, an index, a value and maybe a gate");
    break;
  case OP_RED:
  case OP_NEST: ranges = 1; break;
  case OP_LOOP:
  case OP_END: ranges = 0; break;
  case OP_ACC:
  case OP_GET:
  case OP_VEC:
    if (!n) bad(p, at, "missing operands");
    break;
  default: break;
  }
  if (ranges < n || op == OP_RED || op == OP_NEST) {
    if (n < ranges || !n) bad(p, at, "missing operands");
    for (size_t i = ranges; i < n; i++)
      if (op_of(p, i) != OP_RANGE) bad(p, p->operands.p[i].at, "expected a range");
  }
}

static Ref kernel_op(Parser *p, const char *at, Op op) {
  const OpInfo *info = &op_info[op];
  int64_t arg[MAX_PICKED];
  if (op == OP_CONST) return graph_const(p, at);
  if (info->level == L_GRAPH || info->level == L_VALUE || op == OP_BUFFER)
    bad(p, at, "'%.*s' does not belong here", shown(strlen(info->name)), at);
  check_arity(p, at, op);
  DType shared = op == OP_LOAD ? p->type.dt : shared_type(p, op), dt = p->type.dt;
  if ((op == OP_LOAD || op == OP_STORE || op == OP_SET) && !shared && p->operands.n && p->operands.p[0].ref)
    shared = (DType)node(p->ir, p->operands.p[0].ref)->dt;
  if (op == OP_ACC && !shared) shared = dt;
  int lanes = 1;
  for (size_t i = 0; i < p->operands.n; i++) {
    VEC_PUSH(&p->src, operand(p, op, i, shared));
    const Node *x = node(p->ir, p->src.p[i]);
    if (info->level == L_EXPR && x->lanes > lanes) lanes = x->lanes;
  }
  check_sources(p, at, op);
  int narg = op_args(p, at, op, arg);
  switch (op) {
  case OP_RANGE:
    if (arg[0] < 0 || arg[1] < 0 || arg[1] == INT64_MAX) bad(p, at, "extent and id are not negative");
    dt = dt ? dt : DT_I64;
    break;
  case OP_LOAD: dt = dt ? dt : shared; break;
  case OP_ACC:
  case OP_GET: dt = dt ? dt : (DType)node(p->ir, p->src.p[0])->dt; break;
  default: break;
  }
  if (op == OP_RANGE || op == OP_ACC) {
    int64_t id = arg[op == OP_RANGE];
    if (id >= p->ir->next_range) p->ir->next_range = id + 1;
  }
  if (op == OP_VEC) lanes = (int)p->src.n;
  if (info->type[0] == 'b') dt = DT_BOOL;
  else if (info->type[0] == 'T') dt = (DType)node(p->ir, p->src.p[info->type[2] == 'b'])->dt;
  if (p->type.lanes) lanes = p->type.lanes;
  if (info->level == L_EXPR) {
    DType from = info->type[0] == '*' ? (DType)node(p->ir, p->src.p[0])->dt : shared;
    if (!dt || !op_takes(op, from)) bad(p, at, "there is no '%.*s' of %s", shown(strlen(info->name)), at, dt_text(from));
  }
  return node_make(p->ir, op, dt, lanes, (int)p->src.n, p->src.p, narg, arg, 0, NULL);
}

/* ---- lines ---- */
static void statement(Parser *p) {
  const char *name, *op;
  size_t nname = word(p, &name), nop;
  if (!nname) bad(p, p->at, "expected a name, found %s", found(p));
  bool defines = accept(p, '=');
  if (defines) {
    check_new(p, name, nname);
    nop = word(p, &op);
    if (!nop) bad(p, p->at, "expected an op, found %s", found(p));
  } else {
    op = name;
    nop = nname;
  }
  line_origin(p);
  if (p->level == L_GRAPH && !defines) {
    bool output = is_word(op, nop, "output"), guard = is_word(op, nop, "guard");
    if (!output && !guard && !is_word(op, nop, "from")) bad(p, p->at, "expected '=', found %s", found(p));
    (output ? output_line : guard ? guard_line : from_line)(p);
    return;
  }
  void (*line)(Parser *, const char *, size_t) = NULL;
  if (p->level == L_GRAPH && is_word(op, nop, "input")) line = input_line;
  if (p->level == L_GRAPH && is_word(op, nop, "weight")) line = weight_line;
  if (p->level != L_GRAPH && defines && is_word(op, nop, "buffer")) line = buffer_line;
  if (line) {
    line(p, name, nname);
    return;
  }
  Op code = op_from_text(op, nop);
  if (!code) bad(p, op, "unknown op '%.*s'", shown(nop), op);
  parts(p);
  Ref r = p->level == L_GRAPH ? graph_op(p, op, code) : kernel_op(p, op, code);
  check_result(p, r);
  if (defines) define(p, name, nname, r);
  if (p->list && code != OP_CONST && code != OP_RANGE) VEC_PUSH(p->list, r);
  if (code == OP_SINK) p->sink = r;
}

/* "tgc 1 graph "name"": may be absent in a graph written by hand. */
static void header(Parser *p) {
  static const char *const level_name[] = { [L_GRAPH] = "graph", [L_KERNEL] = "kernel", [L_PROG] = "program" };
  const char *start, *s;
  while (p->at < p->end && peek(p) == '\n') end_line(p);
  start = p->at;
  size_t n = word(p, &s);
  if (!n || !is_word(s, n, "tgc") || peek(p) == '=') {
    if (p->level != L_GRAPH) bad(p, start, "expected 'tgc 1 %s'", level_name[p->level]);
    p->at = start;
    return;
  }
  const char *at = (peek(p), p->at);
  int64_t version = integer(p, "the format's version");
  if (version != 1) bad(p, at, "version %lld of the format; this tgc reads 1", (long long)version);
  n = word(p, &s);
  if (!n || !is_word(s, n, level_name[p->level])) bad(p, n ? s : p->at, "expected '%s'", level_name[p->level]);
  const char *name = p->level == L_GRAPH ? string(p) : NULL;
  if (name) p->g->name = name;
  end_line(p);
}

static void parse(Ctx *c, void *arg) {
  Parser *p = arg;
  (void)c;
  if (p->end - p->at >= 3 && !memcmp(p->at, "\xef\xbb\xbf", 3)) p->text = p->at += 3; /* byte order mark */
  check_characters(p);
  p->line = 1;
  header(p);
  while (p->at < p->end) {
    if (peek(p) != '\n') statement(p);
    end_line(p);
  }
  p->ir->origin = 0;
  if (p->level == L_GRAPH && p->g->outputs.n == p->g->guarded) fail(p->c, EX_BADMODEL, "the graph has no output");
  if (p->level == L_KERNEL && !p->sink) fail(p->c, EX_BADMODEL, "the kernel has no sink");
}

/* Returns the exit code to fail with, after releasing what the heap holds. */
static int parse_text(Parser *p, const char *text, size_t n) {
  p->text = p->at = text;
  p->end = text + n;
  int code = ctx_try(p->c, parse, p);
  VEC_FREE(&p->symbol);
  VEC_FREE(&p->taken);
  VEC_FREE(&p->operands);
  VEC_FREE(&p->nums);
  VEC_FREE(&p->src);
  return code;
}

Graph *ir_parse_graph_with(Ctx *c, const char *text, size_t n, const char *path, const TextHooks *hooks) {
  Parser p = { .c = c, .ir = ir_new(c), .g = ARENA_NEW(&c->model, Graph, 1), .hooks = hooks, .path = path, .level = L_GRAPH };
  p.g->ir = p.ir;
  if (path) c->file = path;
  int code = parse_text(&p, text, n);
  if (code) {
    VEC_FREE(&p.g->inputs);
    VEC_FREE(&p.g->outputs);
    ir_free(p.ir);
    fail_silent(c, code);
  }
  return p.g;
}

Graph *ir_parse_graph(Ctx *c, const char *text, size_t n, const char *path) {
  return ir_parse_graph_with(c, text, n, path, NULL);
}

Ref ir_parse_kernel(IR *ir, const char *text, size_t n) {
  Parser p = { .c = ir->ctx, .ir = ir, .level = L_KERNEL };
  int code = parse_text(&p, text, n);
  if (code) fail_silent(ir->ctx, code);
  return p.sink;
}

void ir_parse_program(IR *ir, const char *text, size_t n, Refs *out) {
  Parser p = { .c = ir->ctx, .ir = ir, .level = L_PROG, .list = out };
  int code = parse_text(&p, text, n);
  if (code) fail_silent(ir->ctx, code);
}

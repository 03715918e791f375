/* parse.h: internal to the reader of the text form. A line is scanned into operands, arguments and a type (scan.c, parse.c);
 * the op's row in ops.h says what they mean (parse.c), and for graphs, whether it is what a builder may be asked for
 * (parse_graph.c). */
#ifndef TGC_PARSE_H
#define TGC_PARSE_H
#include "ir.h"
#include <string.h>

enum { ARGS_MAX = 6, SHOWN = 60 };

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
  const struct PlanReader *plan; /* of a dump: who reads the statements that are not IR; NULL: it is none */
  Pos *where;            /* of a dump: the line, for the verifier */
  bool scoped;           /* names are those of a kernel or a program, and end with it */
  VEC(uint32_t) local;   /* interned names that end with the scope */
  VEC(Ref) graph;        /* by interned name: values of the graph, which kernels do not name */
} Parser;

/* A dump holds all that passes have decided (compiler/plan_text.c). Its nodes are read as they are: no constructor
 * simplifies them, and the verifier judges each line. */
typedef struct PlanReader {
  void *arg;
  bool (*statement)(Parser *p, const char *at, size_t n); /* a line that begins with this word; false: there is none such */
  void (*attributes)(Parser *p, Ref r);                   /* behind the ';' of a line of the graph */
  bool (*buffer_key)(Parser *p, Buf *b, const char *at, size_t n); /* "key=" has been read; false: there is none such */
} PlanReader;

static inline int shown(size_t n) { return n < SHOWN ? (int)n : SHOWN; } /* characters of a name worth quoting */
static inline const char *dt_text(DType d) { return d ? dtype_info[d].text : "no value"; }
static inline bool is_word(const char *s, size_t n, const char *w) { return strlen(w) == n && !memcmp(s, w, n); }
static inline bool is_digit(char ch) { return ch >= '0' && ch <= '9'; }
static inline bool is_start(char ch) { return (ch >= 'a' && ch <= 'z') || (ch >= 'A' && ch <= 'Z') || ch == '_'; } /* of a word */

/* ---- scan.c: characters and tokens from p->at on; blanks before them are skipped ---- */

/* at: what the message points to */
_Noreturn void scan_bad(Parser *p, const char *at, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
Pos scan_pos(Parser *p, const char *at);
const char *scan_dims_text(Parser *p, int rank, const int64_t *dims); /* "[2,3]" */
const char *scan_dims_of(Parser *p, Ref r);

void scan_characters(Parser *p);                 /* fails unless all of the text is UTF-8 that looks as it reads */
char scan_peek(Parser *p);                       /* the next character; a newline at the end of the text */
char scan_peek_far(Parser *p);                   /* across ends of lines, inside braces; 0 at the end of the text */
bool scan_accept(Parser *p, char ch);
void scan_expect(Parser *p, char ch, const char *where);
const char *scan_found(Parser *p);               /* what stands here, for messages */
void scan_end_line(Parser *p);

size_t scan_word(Parser *p, const char **s);     /* a name or keyword: its length, 0: there is none */
size_t scan_literal(Parser *p, const char **s);  /* a literal: the same. What it means depends on the type it will have */
bool scan_is_literal(const char *s, size_t n);   /* a word that is one */
int64_t scan_bits(Parser *p, const char *s, size_t n, DType d); /* of the literal as that type */
int64_t scan_integer(Parser *p, const char *what);
const char *scan_string(Parser *p);              /* "..." with \" \\ \n \t \xHH, in c->model; NULL: there is none */
int scan_hex_digit(char ch);                     /* -1: it is none */
bool scan_type(Parser *p, Type *t, bool symbols); /* false: there is none. symbols: dimensions may be names */
bool scan_dims_fit(DType d, int rank, const int64_t *dims);

/* ---- parse.c ---- */

Ref parse_lookup(Parser *p, const char *s, size_t n);
void parse_define(Parser *p, const char *s, size_t n, Ref r);
void parse_arity(Parser *p, const char *at, Op op);
/* Fills v as Node.arg wants it; v holds 2 * MAX_RANK, in kernels as many as a shuffle has lanes. */
int parse_args(Parser *p, const char *at, Op op, int64_t *v);
DType parse_shared_type(Parser *p, Op op);
Ref parse_operand(Parser *p, Op op, size_t i, DType shared); /* source i with its type checked; literals become CONST nodes */

/* Names of the graph are put away; from here on names are those of buffers, and with parse_scope, of one kernel or program. */
void parse_leave_graph(Parser *p);
void parse_scope(Parser *p, Level level, Refs *list);
Ref parse_graph_name(Parser *p, const char *s, size_t n); /* a value of the graph */
Graph *parse_plan(Ctx *c, const char *text, size_t n, const char *path, const TextHooks *hooks, const PlanReader *plan);

/* ---- parse_graph.c: at is where the op stands ---- */

Ref parse_exact_op(Parser *p, const char *at, Op op); /* as it is written; the line gives its type and shape */

Ref parse_graph_op(Parser *p, const char *at, Op op);
void parse_input(Parser *p, const char *name, size_t n);
void parse_weight(Parser *p, const char *name, size_t n);
void parse_output(Parser *p);
void parse_guard(Parser *p);
#endif

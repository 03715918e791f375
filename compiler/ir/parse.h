/* SPDX-License-Identifier: MIT */
/* parse.h: internal to the reader of the text form. scan.c and parse.c scan a line into operands, arguments and a type. parse.c
 * checks them against the op's row in ops.h. For graphs, parse_graph.c checks them against the rules of the builders. */
#ifndef TGC_PARSE_H
#define TGC_PARSE_H
#include "ir.h"
#include <string.h>

enum { ARGS_MAX = 6, SHOWN = 60 }; /* most arguments of a line; most characters of a name that messages quote */

typedef struct Type { /* the type behind the ':' of a line */
  const char *at; /* its position in the text; NULL: the line has no type */
  DType dt;       /* DT_NONE: not given */
  int lanes;      /* 0: not given */
  int rank;       /* -1: no dimensions given */
  int64_t dims[MAX_RANK];
} Type;

typedef struct Operand {
  Ref ref; /* 0: a literal */
  const char *at;
  size_t n; /* characters at `at` */
} Operand;

typedef enum { ARG_INT, ARG_LIST, ARG_WORD, ARG_STRING } ArgKind;
typedef struct Arg {
  const char *key, *at; /* key: the nkey characters before the '='; at: position of the value */
  size_t nkey;
  ArgKind kind;
  int64_t v;       /* ARG_INT: the value; ARG_STRING: number of the interned string */
  size_t first, n; /* ARG_LIST: range in Parser.nums; ARG_WORD: n characters, beginning at `at` */
  bool used;       /* the op has taken it; unused arguments are errors */
} Arg;

typedef struct Parser {
  Ctx *c;
  IR *ir;
  Graph *g; /* graph level only */
  const TextHooks *hooks;
  const char *path;
  Level level; /* L_GRAPH, L_KERNEL or L_PROG */
  const char *text, *at, *end; /* start of the text; position of the reader; end of the text */
  int line;              /* line number for origins; messages compute their own */
  Pos seen;              /* line and column of seen_at, where the last call of scan_pos ended; the next counts from there */
  const char *seen_at;
  bool has_from;         /* a "from" was read, or the text is a dump: then lines are no origins */
  uint32_t from;         /* the origin that the last "from" gives */
  VEC(Ref) symbol;       /* by interned name: the node that it names; 0: none */
  VEC(uint8_t) taken;    /* by interned name: 1 an input of the model, 2 an output */
  VEC(Operand) operands; /* operands of the line */
  VEC(int64_t) nums;     /* numbers in lists of the line */
  Refs src;              /* operands of the line as nodes; literals are CONSTs */
  Arg args[ARGS_MAX];
  int narg;
  Type type;
  Refs *list; /* program level: the nodes that the lines define, in order */
  Ref sink;   /* kernel level: the last SINK */
  const struct PlanReader *plan; /* in a dump: reader of the statements that are not IR; NULL: no dump */
  Pos *where;            /* in a dump: position of the line, for the verifier */
  bool scoped;           /* names belong to a kernel or a program and end with it */
  VEC(uint32_t) local;   /* interned names that end with the scope */
  VEC(Ref) graph;        /* by interned name: values of the graph, which kernels cannot name */
} Parser;

/* A dump holds all decisions of the passes (compiler/plan_text.c). Its nodes are read as they are: no constructor simplifies
 * them, and the verifier checks each line. */
typedef struct PlanReader {
  void *arg;
  bool (*statement)(Parser *p, const char *at, size_t n); /* reads a line that begins with this word; false: no such statement */
  void (*attributes)(Parser *p, Ref r);                   /* reads the attributes behind the ';' of a graph's line */
  bool (*buffer_key)(Parser *p, Buf *b, const char *at, size_t n); /* reads the value after "key="; false: no such key */
} PlanReader;

static inline int shown(size_t n) { return n < SHOWN ? (int)n : SHOWN; } /* number of characters of a name to quote */
static inline const char *dt_text(DType d) { return d ? dtype_info[d].text : "no value"; }
static inline bool is_word(const char *s, size_t n, const char *w) { return strlen(w) == n && !memcmp(s, w, n); }
static inline bool is_digit(char ch) { return ch >= '0' && ch <= '9'; }
/* a word may begin with ch */
static inline bool is_start(char ch) { return (ch >= 'a' && ch <= 'z') || (ch >= 'A' && ch <= 'Z') || ch == '_'; }

/* ---- scan.c: characters and tokens from p->at on; preceding blanks and comments are skipped ---- */

/* Fails with a message about the position `at` */
_Noreturn void scan_bad(Parser *p, const char *at, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
Pos scan_pos(Parser *p, const char *at);
const char *scan_dims_text(Parser *p, int rank, const int64_t *dims); /* "[2,3]" */
const char *scan_dims_of(Parser *p, Ref r);      /* the same for the shape of r */

void scan_characters(Parser *p);                 /* fails unless the text is UTF-8 without characters that mislead readers */
char scan_peek(Parser *p);                       /* the next character; a newline at the end of the text */
char scan_peek_far(Parser *p);                   /* the same, but also skips line ends, for texts in braces; 0 at the end of the
                                                    text */
bool scan_accept(Parser *p, char ch);            /* skips ch if it is the next character; false: another one is */
void scan_expect(Parser *p, char ch, const char *where); /* fails unless ch is next; where: place in words, for the message */
const char *scan_found(Parser *p);               /* describes what stands at p->at, for messages */
void scan_end_line(Parser *p);                   /* fails unless the line ends here; goes on to the next one */

size_t scan_word(Parser *p, const char **s);     /* a name or keyword; returns its length, 0: none */
size_t scan_literal(Parser *p, const char **s);  /* a literal, likewise. Its value depends on the type it gets */
bool scan_is_literal(const char *s, size_t n);   /* the word is a literal */
int64_t scan_bits(Parser *p, const char *s, size_t n, DType d); /* bits of the literal as type d */
int64_t scan_integer(Parser *p, const char *what); /* reads an integer, which messages call `what` */
const char *scan_string(Parser *p);              /* "..." with \" \\ \n \t \xHH, in c->model; NULL: no string */
int scan_hex_digit(char ch);                     /* -1: not a hex digit */
bool scan_type(Parser *p, Type *t, bool symbols); /* false: no type. symbols: dimensions may contain names */
bool scan_dims_fit(DType d, int rank, const int64_t *dims); /* the tensor's bytes can be counted in 64 bits */

/* ---- parse.c ---- */

Ref parse_lookup(Parser *p, const char *s, size_t n);         /* the node with this name; fails if there is none */
void parse_define(Parser *p, const char *s, size_t n, Ref r); /* gives r the name; fails if it is taken */
void parse_arity(Parser *p, const char *at, Op op);           /* fails if the line has too few or too many operands */
/* Fills v in the form of Node.arg, and returns the number of values. v has room for 2 * MAX_RANK values; in kernels, for as many
 * as a shuffle has lanes. */
int parse_args(Parser *p, const char *at, Op op, int64_t *v);
DType parse_shared_type(Parser *p, Op op); /* type of literals that are LIT_RESULT or LIT_PEER; DT_NONE: none is given */
Ref parse_operand(Parser *p, Op op, size_t i, DType shared); /* checks the type of source i; literals become CONST nodes */

/* parse_leave_graph hides the names of the graph; lines after it may define new ones, such as names of buffers. parse_scope does
 * the same, and begins a kernel or a program. Its names are valid until parse_scope is called again. list: gets the nodes of a
 * program */
void parse_leave_graph(Parser *p);
void parse_scope(Parser *p, Level level, Refs *list);
Ref parse_graph_name(Parser *p, const char *s, size_t n); /* a value of the graph, even if hidden */
/* Reads a graph as ir_parse_graph_with does. If `plan` is not NULL, the text is a dump, and `plan` reads the
 * statements that are not IR */
Graph *parse_plan(Ctx *c, const char *text, size_t n, const char *path, const TextHooks *hooks, const PlanReader *plan);

/* ---- parse_graph.c: at is the position of the op ---- */

Ref parse_exact_op(Parser *p, const char *at, Op op); /* the op as written; the line gives its type and shape */

Ref parse_graph_op(Parser *p, const char *at, Op op); /* the op by its builder, which computes type and shape */
/* The lines of inputs, weights, outputs and the guard; name: n characters */
void parse_input(Parser *p, const char *name, size_t n);
void parse_weight(Parser *p, const char *name, size_t n);
void parse_output(Parser *p);
void parse_guard(Parser *p);
#endif

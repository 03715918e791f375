/* SPDX-License-Identifier: MIT */
/* parse.h: internal to the reader of the text form (docs/text-format.md). scan.c and parse.c scan a line into operands, arguments
 * and a type. parse.c checks these parts against the op's row in ops.h. For graphs, parse_graph.c checks the parts against the
 * rules of the functions that build graphs. Errors in the text fail with EX_BADMODEL. */
#ifndef TGC_PARSE_H
#define TGC_PARSE_H
#include "ir.h"
#include <string.h>

enum { ARGS_MAX = 6, SHOWN = 60 }; /* most arguments of a line; most characters of a name that messages quote */

typedef struct Type { /* the type after the ':' of a line, such as f32x8 or f32[2,3] */
  const char *at; /* position of the type in the text; NULL: the line has no type */
  DType dt;       /* DT_NONE: not given */
  int lanes;      /* 0: not given */
  int rank;       /* -1: no dimensions given */
  int64_t dims[MAX_RANK];
} Type;

typedef struct Operand {
  Ref ref; /* the node that the operand names; 0: the operand is a literal */
  const char *at; /* position in the text */
  size_t n; /* length in characters */
} Operand;

typedef enum { ARG_INT, ARG_LIST, ARG_WORD, ARG_STRING } ArgKind;
typedef struct Arg {
  const char *key, *at; /* key: the nkey characters before the '='; at: position of the value */
  size_t nkey;
  ArgKind kind;
  int64_t v;       /* ARG_INT: the value; ARG_STRING: number of the interned string */
  size_t first, n; /* ARG_LIST: n integers from Parser.nums[first] on; ARG_WORD: n characters from `at` on */
  bool used;       /* the op has this argument; arguments that the op does not have are errors */
} Arg;

typedef struct Parser {
  Ctx *c;
  IR *ir;
  Graph *g; /* graph level only */
  const TextHooks *hooks;
  const char *path; /* name of the text, for origins; NULL: none */
  Level level; /* L_GRAPH, L_KERNEL or L_PROG */
  const char *text, *at, *end; /* start of the text; position of the reader; end of the text */
  int line;              /* line number for origins. Messages get line and column from scan_pos */
  Pos seen;              /* line and column of seen_at */
  const char *seen_at;   /* position of the last call of scan_pos; the next call counts lines and columns from here */
  bool has_from;         /* a "from" was read, or the text is a dump. False: the origin of a node is the node's line */
  uint32_t from;         /* the origin that the last "from" gives */
  VEC(Ref) symbol;       /* by interned name: the node with this name; 0: none */
  VEC(uint8_t) taken;    /* by interned name: 1: an input of the model has the name; 2: an output has it; 3: both have it */
  VEC(Operand) operands; /* operands of the line */
  VEC(int64_t) nums;     /* integers in the lists of the line */
  Refs src;              /* operands of the line as nodes; a literal is a CONST */
  Arg args[ARGS_MAX];
  int narg;
  Type type;
  Refs *list; /* program level: the nodes of the program, in order */
  Ref sink;   /* kernel level: the last SINK; in a dump, the first SINK of the kernel */
  const struct PlanReader *plan; /* in a dump: reader of the statements that are not IR; NULL: the text is no dump */
  Pos *where;            /* in a dump: position of the line, for the verifier */
  bool scoped;           /* names belong to a kernel or a program, and are valid until its end */
  VEC(uint32_t) local;   /* interned names that this kernel or program defines */
  VEC(Ref) graph;        /* by interned name: values of the graph, which kernels cannot name */
} Parser;

/* The reader of a dump. A dump has all decisions of the passes (compiler/plan_text.c). Nodes of a dump are read as they are
 * written: no constructor simplifies a node, and the verifier checks each line. */
typedef struct PlanReader {
  void *arg;
  /* Reads a line that begins with this word of n characters. n 0: the end of the text. False: there is no such statement */
  bool (*statement)(Parser *p, const char *at, size_t n);
  void (*attributes)(Parser *p, Ref r);                   /* reads the attributes of r after the ';' of a graph's line */
  bool (*buffer_key)(Parser *p, Buf *b, const char *at, size_t n); /* reads the value of this key; false: there is no such key */
} PlanReader;

static inline int shown(size_t n) { return n < SHOWN ? (int)n : SHOWN; } /* number of characters of a name to quote */
static inline const char *dt_text(DType d) { return d ? dtype_info[d].text : "no value"; }
static inline bool is_word(const char *s, size_t n, const char *w) { return strlen(w) == n && !memcmp(s, w, n); }
static inline bool is_digit(char ch) { return ch >= '0' && ch <= '9'; }
/* whether a word may begin with ch */
static inline bool is_start(char ch) { return (ch >= 'a' && ch <= 'z') || (ch >= 'A' && ch <= 'Z') || ch == '_'; }

/* ---- scan.c: characters and tokens from p->at on. Spaces, tabs and comments before a token are skipped ---- */

/* Fails with a message about the position `at` */
_Noreturn void scan_bad(Parser *p, const char *at, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
Pos scan_pos(Parser *p, const char *at);         /* line and column of a position in the text */
const char *scan_dims_text(Parser *p, int rank, const int64_t *dims); /* "[2,3]" */
const char *scan_dims_of(Parser *p, Ref r);      /* the same for the shape of r */

void scan_characters(Parser *p);                 /* fails if the text is not UTF-8, or has control or invisible characters */
char scan_peek(Parser *p);                       /* the next character; a newline at the end of the text */
char scan_peek_far(Parser *p);                   /* the same, but also skips line ends, for texts in braces; 0 at the end of the
                                                    text */
bool scan_accept(Parser *p, char ch);            /* skips ch if it is the next character; false: another character is next */
/* skips ch; fails if another character is next. where: words for the message, such as "after the list" */
void scan_expect(Parser *p, char ch, const char *where);
const char *scan_found(Parser *p);               /* describes the word or character at p->at, for messages */
void scan_end_line(Parser *p);                   /* skips the end of the line; fails if the line does not end here */

size_t scan_word(Parser *p, const char **s);     /* sets *s to a name or a keyword; returns the word's length; 0: no word */
size_t scan_literal(Parser *p, const char **s);  /* the same for a literal */
bool scan_is_literal(const char *s, size_t n);   /* whether the word is inf, nan, true or false */
int64_t scan_bits(Parser *p, const char *s, size_t n, DType d); /* bits of the literal as type d */
int64_t scan_integer(Parser *p, const char *what); /* reads an integer, which messages call `what` */
const char *scan_string(Parser *p);              /* reads "..." with \" \\ \n \t \xHH; the text is in c->model. NULL: no string */
int scan_hex_digit(char ch);                     /* value of a hex digit; -1: ch is no hex digit */
bool scan_type(Parser *p, Type *t, bool symbols); /* reads a type; false: there is none. symbols: dimensions may have names */
bool scan_dims_fit(DType d, int rank, const int64_t *dims); /* whether 64 bits can count the tensor's bytes */

/* ---- parse.c ---- */

Ref parse_lookup(Parser *p, const char *s, size_t n);         /* the node with this name; fails if there is none */
void parse_define(Parser *p, const char *s, size_t n, Ref r); /* gives r this name, which no node may have yet */
void parse_arity(Parser *p, const char *at, Op op);           /* fails if the line has too few or too many operands */
/* Fills v with the line's arguments in the form of Node.arg, and returns the number of values. v must have room for 2 * MAX_RANK
 * values. In kernels and programs, v must have room for 64 values, because a shuffle has a value for each of at most 64 lanes. */
int parse_args(Parser *p, const char *at, Op op, int64_t *v);
/* The type of literals that are LIT_RESULT or LIT_PEER (ops.h); DT_NONE: the line gives none */
DType parse_shared_type(Parser *p, Op op);
/* Returns operand i as a node, after a check of its type. A literal becomes a CONST. shared: the result of parse_shared_type */
Ref parse_operand(Parser *p, Op op, size_t i, DType shared);

/* parse_leave_graph hides the names of the graph. Later lines may give these names to other nodes, such as buffers. parse_scope
 * does the same, and begins a kernel or a program. The names of a kernel or program are valid until the next call of parse_scope.
 * list: the reader appends the nodes of a program to this list */
void parse_leave_graph(Parser *p);
void parse_scope(Parser *p, Level level, Refs *list);
/* The graph's node with this name, even if the name is hidden. Fails if there is none */
Ref parse_graph_name(Parser *p, const char *s, size_t n);
/* Reads a graph as ir_parse_graph_with does. plan NULL: the text is no dump. Otherwise `plan` reads the statements of the dump
 * that are not IR. */
Graph *parse_plan(Ctx *c, const char *text, size_t n, const char *path, const TextHooks *hooks, const PlanReader *plan);

/* ---- parse_graph.c. at: position of the op ---- */

Ref parse_exact_op(Parser *p, const char *at, Op op); /* makes the node as the line says, with the line's type and shape */

Ref parse_graph_op(Parser *p, const char *at, Op op); /* makes the node by the op's builder, which computes type and shape */
/* These functions read the rest of a line of an input, a weight, an output or the guard. name: the n characters before the '=' */
void parse_input(Parser *p, const char *name, size_t n);
void parse_weight(Parser *p, const char *name, size_t n);
void parse_output(Parser *p);
void parse_guard(Parser *p);
#endif

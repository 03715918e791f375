/* SPDX-License-Identifier: MIT */
/* parse.h: internal to the reader of the text form (docs/text-format.md). scan.c and parse.c divide a line into operands,
 * arguments and a type. parse.c checks these parts against the op's row in ops.h. For graphs, parse_graph.c checks the parts
 * against the rules of the functions that build graphs. An error in the text ends the reading with EX_BADMODEL. */
#ifndef TGC_PARSE_H
#define TGC_PARSE_H
#include "ir.h"
#include <string.h>

enum { ARGS_MAX = 6, SHOWN = 60 }; /* ARGS_MAX: most arguments of a line. SHOWN: messages quote at most this many
                                       characters of a name */

typedef struct Type { /* the type after the ':' of a line, such as f32x8 or f32[2,3] */
  const char *at; /* position of the type in the text; NULL: the line has no type */
  DType dt;       /* DT_NONE: not given */
  int lanes;      /* 0: not given */
  int rank;       /* -1: no dimensions given */
  int64_t dims[MAX_RANK];
} Type;

typedef struct Operand {
  Ref ref; /* the node with the operand's name; 0: the operand is a literal */
  const char *at; /* position in the text */
  size_t n; /* length in characters */
} Operand;

typedef enum { ARG_INT, ARG_LIST, ARG_WORD, ARG_STRING } ArgKind;
typedef struct Arg {
  const char *key, *at; /* key: the nkey characters before the '='. at: position of the value */
  size_t nkey;
  ArgKind kind;
  int64_t v;       /* ARG_INT: the value. ARG_STRING: number of the interned string */
  size_t first, n; /* ARG_LIST: n integers from Parser.nums[first] on. ARG_WORD: n characters from `at` on */
  bool used;       /* whether parse_args has found the key among the op's arguments. A key that the op lacks is an error */
} Arg;

typedef struct Parser {
  Ctx *c;
  IR *ir;
  Graph *g; /* graph level only */
  const TextHooks *hooks;
  const char *path; /* name of the text, for origins; NULL: none */
  Level level; /* L_GRAPH, L_KERNEL or L_PROG */
  const char *text, *at, *end; /* text: start of the text. at: position of the reader. end: end of the text */
  int line;              /* number of the current line, for origins. Messages get line and column from scan_pos */
  Pos seen;              /* line and column of seen_at */
  const char *seen_at;   /* the position last passed to scan_pos. A call with a later position counts lines and columns from
                            there on */
  bool has_from;         /* true: a line "from" was read, or the text is a dump. False: a node's origin is the node's line */
  uint32_t from;         /* row in IR.origins that the last line "from" gives */
  VEC(Ref) symbol;       /* by interned name: the node with this name; 0: none */
  VEC(uint8_t) taken;    /* by interned name: bit 0: an input of the model has this name; bit 1: an output has this name */
  VEC(Operand) operands; /* operands of the line */
  VEC(int64_t) nums;     /* integers in the lists of the line */
  Refs src;              /* operands of the line as nodes; a literal is a CONST */
  Arg args[ARGS_MAX];
  int narg;
  Type type;
  Refs *list; /* program level: the nodes of the program, in order */
  Ref sink;   /* kernel level: the last SINK; in a dump, the first SINK of the kernel */
  const struct PlanReader *plan; /* in a dump: reads the decisions of passes; NULL: the text is no dump */
  Pos *where;            /* in a dump: position of the current line, for the verifier */
  bool scoped;           /* whether parse_scope was called. If so, new names are valid until the next call of parse_scope */
  VEC(uint32_t) local;   /* interned names that the current kernel or program defines */
  VEC(Ref) graph;        /* by interned name: the graph's node with this name; 0: none. Empty until parse_leave_graph is called */
} Parser;

/* Callbacks that read the decisions of passes in a dump (compiler/plan_text.c) */
typedef struct PlanReader {
  void *arg;
  /* Reads a line that begins with the word `at` of n characters. Returns false if no statement begins with this word. n 0: the
   * text has ended */
  bool (*statement)(Parser *p, const char *at, size_t n);
  void (*attributes)(Parser *p, Ref r);                   /* reads the attributes of r, which follow the ';' of r's line */
  /* Reads the value of the key `at` of n characters in the line of buffer b, and stores the value in b. Returns false if there is
   * no such key. */
  bool (*buffer_key)(Parser *p, Buf *b, const char *at, size_t n);
} PlanReader;

static inline int shown(size_t n) { return n < SHOWN ? (int)n : SHOWN; } /* number of characters to quote in a message */
static inline const char *dt_text(DType d) { return d ? dtype_info[d].text : "no value"; }
static inline bool is_word(const char *s, size_t n, const char *w) { return strlen(w) == n && !memcmp(s, w, n); }
static inline bool is_digit(char ch) { return ch >= '0' && ch <= '9'; }
/* whether a word may begin with ch */
static inline bool is_start(char ch) { return (ch >= 'a' && ch <= 'z') || (ch >= 'A' && ch <= 'Z') || ch == '_'; }

/* ---- scan.c: reads characters and tokens from p->at on. Skips spaces, tabs and comments before a token ---- */

/* Fails with a message about the position `at`. */
_Noreturn void scan_bad(Parser *p, const char *at, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
Pos scan_pos(Parser *p, const char *at);         /* line and column of a position in the text */
const char *scan_dims_text(Parser *p, int rank, const int64_t *dims); /* the shape as text, such as "[2,3]" */
const char *scan_dims_of(Parser *p, Ref r);      /* the shape of r as text */

void scan_characters(Parser *p);                 /* fails if the text is not UTF-8, or has invisible characters or control
                                                    characters other than tabs and line ends */
char scan_peek(Parser *p);                       /* the next character; a newline at the end of the text */
char scan_peek_far(Parser *p);                   /* as scan_peek, but skips newlines, too; 0 at the end of the text. For lists
                                                    in braces, which may have several lines */
bool scan_accept(Parser *p, char ch);            /* if the next character is ch, skips ch and returns true */
/* Skips ch; fails if another character is next. where: words for the message, such as "after the list" */
void scan_expect(Parser *p, char ch, const char *where);
const char *scan_found(Parser *p);               /* describes the next word or character, for messages */
void scan_end_line(Parser *p);                   /* skips the end of the line; fails if the line does not end here */

/* scan_word sets *s to the start of the next token, skips the token, and returns the token's length. If the next token is
 * no name and no keyword, scan_word only returns 0. scan_literal works likewise for
 * literals. */
size_t scan_word(Parser *p, const char **s);
size_t scan_literal(Parser *p, const char **s);
bool scan_is_literal(const char *s, size_t n);   /* whether the word is inf, nan, true or false */
/* Returns the literal s, of n characters, as bits of a CONST of type d. Fails if s is no literal of this type. */
int64_t scan_bits(Parser *p, const char *s, size_t n, DType d);
int64_t scan_integer(Parser *p, const char *what); /* reads an integer, which messages call `what` */
/* Reads "..." with the escapes \" \\ \n \t \xHH. Returns the text, in the arena Ctx.model, or NULL if there is no string. */
const char *scan_string(Parser *p);
int scan_hex_digit(char ch);                     /* value of a hex digit; -1 if ch is no hex digit */
/* Reads a type. Returns false if there is none. symbols: whether the type may name dimensions, as in f32[N,3] */
bool scan_type(Parser *p, Type *t, bool symbols);
bool scan_dims_fit(DType d, int rank, const int64_t *dims); /* whether an int64_t can hold the size in bytes of a
                                                               tensor of type d with these dimensions */

/* ---- parse.c ---- */

Ref parse_lookup(Parser *p, const char *s, size_t n);         /* the node with this name; fails if there is none */
void parse_define(Parser *p, const char *s, size_t n, Ref r); /* gives r this name, which no other node may have */
void parse_arity(Parser *p, const char *at, Op op);           /* fails if the line has too few or too many operands */
/* Fills v with the line's arguments in the form of Node.arg, and returns the number of values. p->src must hold the operands. In
 * graphs, v must have room for 2 * MAX_RANK values. In kernels and programs, v must have room for 64 values, because a shuffle
 * has a value for each of at most 64 lanes. */
int parse_args(Parser *p, const char *at, Op op, int64_t *v);
/* Returns the type of the line's literals for which literal_type (ir.h) is LIT_RESULT or LIT_PEER, or DT_NONE if the line does
 * not give this type. */
DType parse_shared_type(Parser *p, Op op);
/* Returns operand i of the line as a node; fails if the operand has a wrong type. A literal becomes a CONST. shared: the type of
 * the operands for which literal_type is LIT_RESULT or LIT_PEER; DT_NONE: unknown */
Ref parse_operand(Parser *p, Op op, size_t i, DType shared);

/* parse_leave_graph hides the names of the graph. Later lines may give these names to other nodes, such as buffers. parse_scope
 * calls parse_leave_graph, and begins a kernel or a program. Names that a kernel or program defines are valid until the next call
 * of parse_scope. level: L_KERNEL or L_PROG. list: the reader appends the nodes of a program to this list; NULL for a kernel */
void parse_leave_graph(Parser *p);
void parse_scope(Parser *p, Level level, Refs *list);
/* Returns the graph's node with this name, even if the name is hidden. Fails if there is no such node. */
Ref parse_graph_name(Parser *p, const char *s, size_t n);
/* Reads a graph as ir_parse_graph_with does. plan NULL: the text is no dump. Otherwise `plan` reads the decisions of passes. */
Graph *parse_plan(Ctx *c, const char *text, size_t n, const char *path, const TextHooks *hooks, const PlanReader *plan);

/* ---- parse_graph.c. at: position of the op ---- */

Ref parse_exact_op(Parser *p, const char *at, Op op); /* makes the node of a dump's line, with the line's type and shape. The
                                                         verifier checks the node */

Ref parse_graph_op(Parser *p, const char *at, Op op); /* makes the node by the op's builder, which computes type and shape */
/* The functions below read the rest of the line of an input, a weight, an output or the guard. name: the n characters before the
 * '=' */
void parse_input(Parser *p, const char *name, size_t n);
void parse_weight(Parser *p, const char *name, size_t n);
void parse_output(Parser *p);
void parse_guard(Parser *p);
#endif

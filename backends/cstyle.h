/* SPDX-License-Identifier: MIT */
/* cstyle.h: what the files share that print one function: exprs.c prints its expressions, cstyle.c its statements, and places.c
 * its loops over blocks and threads. */
#ifndef TGC_CSTYLE_H
#define TGC_CSTYLE_H
#include "dialect.h"
#include "../compiler/ir/refmap.h"
#include "../compiler/lower/lower.h"
#include "../compiler/target/launch.h"

/* How a value of the program is used. block: number of the innermost loop body that computes it, 0 outside of all loops. times:
 * number of its uses. products: number of its uses as a factor of a MUL or MULACC. elsewhere: another loop body uses it. named:
 * it has a variable of its own, so its text is the variable's name. */
typedef struct Use { uint32_t block, times, products; bool elsewhere, named; } Use;

typedef struct Render {    /* the state while one kernel is printed */
  const IR *ir;
  const Kernel *k;         /* the kernel */
  const Target *t;
  const Dialect *l;        /* the language */
  const char *backend;     /* the backend's name, for messages */
  Sb *o;                   /* receives the kernel's text */
  char **text;             /* by position in the program: the value's text, without outer parentheses */
  char *prec;              /* by position: precedence of the text: ATOM, PRODUCT, SUM or LOOSE */
  Use *use;                /* by position: uses of the value */
  RefMap at;               /* by node: its last position in the program, plus 1. A range has a position in each nest with it */
  int nloops, naccs;       /* numbers of loops and of accumulators printed so far */
  int ntiles;              /* number of nests with tiles of matrix instructions printed so far */
  int indent;              /* blanks before a statement */
  int reducing;            /* number of open loops over reductions */
  bool tile;               /* an accumulator of the open reduction is a vector, or an integer on a machine with few registers for
                              integers. Then each iteration of the reduction's innermost loop ends with Dialect.fence */
  TileSet tiles;           /* registers of the current nest's matrix tiles */
  size_t spilled;          /* on a device: position of the last SPILL, which stores a matrix tile */
  LaunchPart part;         /* the current part of the launch */
  bool parts;              /* the launch has several parts */
  const bool *aligned;     /* by buffer of the kernel: its address is known to be aligned for any vector; NULL: for no buffer */
  int64_t blocks;          /* number of blocks of the launch's earlier parts */
  Arena a;                 /* owns the texts */
} Render;

enum { PARAMETER = -1 };            /* as the number of a BUFFER: the node stands for the argument of a helper */
enum { ATOM, PRODUCT, SUM, LOOSE }; /* precedence of a text, from the tightest to the loosest */

/* Source k of node x as text. A text with a precedence above `allowed` gets parentheses. */
const char *arg_as(Render *w, const Node *x, int k, int allowed);
/* source k of x as text that can be an operand of any operator */
static inline const char *arg(Render *w, const Node *x, int k) { return arg_as(w, x, k, ATOM); }
/* source k of x as text that stands between commas or brackets */
static inline const char *inside(Render *w, const Node *x, int k) { return arg_as(w, x, k, LOOSE); }

/* x: a cast. If the helper `pack` computes x and a rounding of floats together, returns this ROUND, else NULL. */
const Node *packed_rounding(const Render *w, const Node *x);
void put_expr(Render *w, Sb *o, const Node *x); /* appends the text of x to o */
/* Strips the parentheses around e, the text of x, if one pair encloses all of it. Returns the precedence of the rest. */
int unwrap(Sb *e, const Node *x);
/* The text of op applied to the texts a and b, which have `lanes` lanes of type d. op is ADD, MUL, MAX or MIN. */
const char *combined(Render *w, Op op, DType d, int lanes, const char *a, const char *b);
/* The text of those lanes of a that `numbers` lists, such as "1, 0", in a dialect with `pick` */
const char *picked_lanes(Render *w, DType d, int lanes, const char *a, const char *numbers);
/* The text of one lane of a vector of type d. vector: the name of the vector; lane: the lane's number, from 0 */
const char *lane_text(Render *w, DType d, const char *vector, int64_t lane);

/* Fails if the program has a type for which the language has no word. Call it before any of the program's text is printed. */
void check_spelled(const Render *w);
/* Prints the values and statements of w->k's program. The caller has set w->ir, w->k, w->l, w->t and w->o. Returns the text of
 * the last value, which lies in w->a. */
const char *put_program(Render *w);

/* ---- places.c: loops over blocks and threads ---- */
void find_places(Render *w);            /* sets w->part and w->parts; call it before the program is printed */
void open_place(Render *w, Ref range);  /* begins the loop over blocks or threads whose range is given */
void close_place(Render *w, size_t at); /* ends a loop over blocks or threads. at: position of its END in the program */
/* The number of the block (block), or else of the thread in its block, in dimension 0, 1 or 2 of the launch, as text */
const char *id_text(Render *w, bool block, int dimension);

/* ---- exprs.c: statements, and forms of dialect.h ---- */
/* prints a form, with `number` for its $k */
void put_numbered(const Render *w, Sb *o, const char *form, int64_t number);
/* Prints a form for buffer i of the kernel. before: number of buffers before it in the list of parameters. read: no statement
 * stores to the buffer. restricted: no other buffer overlaps it. */
void put_buffer_form(const Render *w, Sb *o, const char *form, size_t i, int before, bool read, bool restricted);

/* These append a statement to o, without a final semicolon. */
void put_store(Render *w, Sb *o, const Node *x);
void put_prefetch(Render *w, Sb *o, const Node *x);
void put_kept(Render *w, Sb *o, const char *name); /* Dialect.keep for the vector variable `name` */
/* Prints the head of a loop: variable `name` of type d takes the values from `begin` up to, but not including, `end`. */
void put_loop_head(Render *w, Sb *o, DType d, const char *name, const char *begin, const char *end);
#endif

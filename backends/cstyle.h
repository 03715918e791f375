/* SPDX-License-Identifier: MIT */
/* cstyle.h: shared by the files that print a function. exprs.c prints the function's expressions, cstyle.c its statements, and
 * places.c its loops over blocks and threads. */
#ifndef TGC_CSTYLE_H
#define TGC_CSTYLE_H
#include "dialect.h"
#include "../compiler/ir/refmap.h"
#include "../compiler/lower/lower.h"
#include "../compiler/target/launch.h"

/* How a value of the program is used. block: number of the innermost loop body that computes the value, 0 outside of all loops.
 * times: number of uses. products: number of uses as a factor of a MUL or MULACC. elsewhere: another loop body uses the value.
 * named: the value has a variable of its own, so its text is the variable's name. */
typedef struct Use { uint32_t block, times, products; bool elsewhere, named; } Use;

typedef struct Render {    /* the state while one kernel is printed */
  const IR *ir;
  const Kernel *k;         /* the kernel */
  const Target *t;
  const Dialect *l;        /* the language */
  const char *backend;     /* the backend's name, for messages */
  Sb *o;                   /* receives the kernel's text */
  char **text;             /* by position in the program: the value's text, without outer parentheses */
  char *prec;              /* by position in the program: precedence of the text: ATOM, PRODUCT, SUM or LOOSE */
  Use *use;                /* by position in the program: uses of the value */
  RefMap at;               /* by node: last position of the node in the program, plus 1. A range has a position in each nest */
  int nloops, naccs;       /* numbers of loops and of accumulators printed so far */
  int ntiles;              /* number of nests with tiles of matrix instructions printed so far */
  int indent;              /* number of spaces before a statement */
  int reducing;            /* number of open loops over reductions */
  bool tile;               /* an accumulator of the open reduction is a vector, or an integer on a machine with Target.int_regs.
                              Then Dialect.fence, if there is one, ends each iteration of the reduction's innermost loop */
  TileSet tiles;           /* registers of the current nest's matrix tiles */
  size_t spilled;          /* on a device: position of the last SPILL, which stores a matrix tile */
  LaunchPart part;         /* the current part of the launch */
  bool parts;              /* the launch has several parts */
  const bool *aligned;     /* by buffer of the kernel: whether the address is aligned for any vector; NULL: nothing is known */
  int64_t blocks;          /* number of blocks of the launch's earlier parts */
  Arena a;                 /* owns the texts */
} Render;

enum { PARAMETER = -1 };            /* the number of a BUFFER that stands for the argument of a helper */
enum { ATOM, PRODUCT, SUM, LOOSE }; /* precedence of a text, from the tightest to the loosest */

/* Source k of node x as text. A text that binds looser than `allowed` gets parentheses. */
const char *arg_as(Render *w, const Node *x, int k, int allowed);
/* source k of x as text for an operand of any operator */
static inline const char *arg(Render *w, const Node *x, int k) { return arg_as(w, x, k, ATOM); }
/* source k of x as text for a place between commas or brackets */
static inline const char *inside(Render *w, const Node *x, int k) { return arg_as(w, x, k, LOOSE); }

/* If x is a cast that the helper `pack` computes together with a rounding of floats (ROUND), returns the ROUND, else NULL. */
const Node *packed_rounding(const Render *w, const Node *x);
void put_expr(Render *w, Sb *o, const Node *x); /* appends the text of x to o */
/* e: the text of x. Removes the outer parentheses if one pair encloses all of the text. Returns the precedence of the result. */
int unwrap(Sb *e, const Node *x);
/* The text of op applied to the texts a and b, which have `lanes` lanes of type d. op is ADD, MUL, MAX or MIN. */
const char *combined(Render *w, Op op, DType d, int lanes, const char *a, const char *b);
/* The text of one lane of a vector of type d. vector: the name of the vector; lane: the lane's number, from 0 */
const char *lane_text(Render *w, DType d, const char *vector, int64_t lane);

/* Fails if the program has a type for which the language has no word. To be called before any text of the program is printed. */
void check_spelled(const Render *w);
/* Prints the values and statements of w->k's program. The caller has set w->ir, w->k, w->l, w->t and w->o. Returns the text of
 * the last value, which lies in w->a; NULL: the program is empty. */
const char *put_program(Render *w);

/* ---- places.c: loops over blocks and threads ---- */
void find_places(Render *w);            /* sets w->part and w->parts; to be called before the program is printed */
void open_place(Render *w, Ref range);  /* begins the loop over blocks or threads that has this range */
void close_place(Render *w, size_t at); /* ends a loop over blocks or threads. at: position of the loop's END in the program */
/* block true: the number of the block, as text; false: the number of the thread in its block. dimension: 0, 1 or 2 of the
 * launch */
const char *id_text(Render *w, bool block, int dimension);

/* ---- exprs.c: statements, and forms of dialect.h ---- */
/* prints a form. number: the number that $k, $x and $d of the form stand for (dialect.h) */
void put_numbered(const Render *w, Sb *o, const char *form, int64_t number);
/* Prints a form for buffer i of the kernel. before: number of buffers that precede this buffer in the list of parameters.
 * read: no statement stores to the buffer. restricted: no other buffer overlaps it. */
void put_buffer_form(const Render *w, Sb *o, const char *form, size_t i, int before, bool read, bool restricted);

/* put_store, put_prefetch and put_kept append a statement to o, without a final semicolon. */
void put_store(Render *w, Sb *o, const Node *x);
void put_prefetch(Render *w, Sb *o, const Node *x);
void put_kept(Render *w, Sb *o, const char *name); /* Dialect.keep for the vector variable `name` */
/* Prints the head of a loop: variable `name` of type d takes the values from `begin` up to, but not including, `end`. */
void put_loop_head(Render *w, Sb *o, DType d, const char *name, const char *begin, const char *end);
#endif

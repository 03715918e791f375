/* SPDX-License-Identifier: MIT */
/* cstyle.h: declarations for the files that print a kernel's program in a language like C. cstyle.c walks over the program, and
 * prints a statement or an expression for each op. exprs.c has the functions that print one expression, or one statement such as
 * a store. places.c prints a variable in place of each loop over blocks or threads of a device. launch.c prints the functions
 * that a driver starts. */
#ifndef TGC_CSTYLE_H
#define TGC_CSTYLE_H
#include "dialect.h"
#include "../compiler/ir/refmap.h"
#include "../compiler/lower/lower.h"
#include "../compiler/target/launch.h"

/* How a value of the program is used. In this struct, a block is the body of a loop, without the loops inside of the body. Block
 * 0 is the code outside of all loops. block: number of the block that computes the value. times: number of uses. products: number
 * of uses as an operand of a MUL or MULACC. elsewhere: another block uses the value. named: a variable holds the value, and the
 * value's text is the name of this variable. shuffled: a SHUFFLE uses the value. by_term: each term of a reduction multiplies
 * by the value. */
typedef struct Use { uint32_t block, times, products; bool elsewhere, named, shuffled, by_term; } Use;

typedef struct Render {    /* the state while one kernel is printed */
  const IR *ir;
  const Kernel *k;         /* the kernel */
  const Target *t;
  const Dialect *l;        /* the language */
  const char *backend;     /* the backend's name, for messages */
  Sb *o;                   /* receives the kernel's text */
  char **text;             /* by position in the program: text of the value at this position, without outer parentheses */
  char *prec;              /* by position in the program: precedence of the text at this position: ATOM, PRODUCT, SUM or LOOSE */
  Use *use;                /* by position in the program: uses of the value at this position */
  RefMap at;               /* by node: 1 + the node's position in the program. A range has a position in each nest that uses
                              the range. `at` has the latest of these positions that the walk over the program has reached */
  int nloops, naccs;       /* numbers of loops and of accumulators printed so far */
  int ntiles;              /* number of nests printed so far that have tiles of matrix instructions */
  int indent;              /* number of spaces before a statement */
  int reducing;            /* number of open loops over ranges of reductions. A loop is open until its end is printed */
  bool tile;               /* true: an accumulator of the current reduction is a vector, or is an integer on a machine with
                              Target.int_regs. Then Dialect.fence, if it is not NULL, is printed at the end of the body of the
                              reduction's innermost loop */
  TileSet tiles;           /* registers of the current nest's matrix tiles */
  size_t spilled;          /* on a device: position of the latest SPILL, which is an op that stores a matrix tile */
  LaunchPart part;         /* the current part of the launch */
  bool parts;              /* the launch has several parts */
  const char *sizes;       /* name of the table of numbers that follow from the sizes of the run (tgcrt_size). NULL: the name
                              is n, as in all kernels for CPUs, or the kernel does not use the table */
  const bool *aligned;     /* by buffer of the kernel: the address is aligned for any vector; NULL: nothing is known */
  int64_t blocks;          /* number of blocks that the launch's earlier parts have together */
  Arena a;                 /* owns the texts */
} Render;

enum { PARAMETER = -1 };            /* buffer_id of a BUFFER node that stands for the argument of a helper */
enum { ATOM, PRODUCT, SUM, LOOSE }; /* precedence of a text, from the tightest to the loosest */

/* Returns the text of operand k of node x. A text that binds looser than the precedence `allowed` gets parentheses. */
const char *arg_as(Render *w, const Node *x, int k, int allowed);
/* returns the text of operand k of x, for a place beside any operator */
static inline const char *arg(Render *w, const Node *x, int k) { return arg_as(w, x, k, ATOM); }
/* returns the text of operand k of x, for a place between commas or brackets */
static inline const char *inside(Render *w, const Node *x, int k) { return arg_as(w, x, k, LOOSE); }

void put_expr(Render *w, Sb *o, const Node *x); /* appends the text of x to o */
/* e: the text of x. Removes the outer parentheses if one pair encloses all of the text. Returns the precedence of the text
 * that is left in e. */
int unwrap(Sb *e, const Node *x);
/* Returns a text that applies op, which is ADD, MUL, MAX or MIN, to two values, lane by lane. a, b: texts of the values. Each
 * value has `lanes` lanes of type d */
const char *combined(Render *w, Op op, DType d, int lanes, const char *a, const char *b);
/* Returns the text of a vector that consists of lanes of another vector. a: the text of the other vector, which has `lanes` lanes
 * of type d. numbers: numbers of its lanes, such as "1, 0, 3, 2". To be called only for dialects with Dialect.pick */
const char *picked_lanes(Render *w, DType d, int lanes, const char *a, const char *numbers);
/* Returns the text of one lane of a vector. d: type of the lanes. vector: text of the vector, with precedence ATOM. lane: the
 * lane's number, from 0 */
const char *lane_text(Render *w, DType d, const char *vector, int64_t lane);

/* Calls fail() if the program has a type for which the language has no word. To be called before any text of the program is
 * printed. */
void check_spelled(const Render *w);
/* Prints the values and statements of w->k's program. The caller has set w->ir, w->k, w->l, w->t and w->o. If the program ends
 * with a value, returns the value's text, which lies in w->a; else NULL. */
const char *put_program(Render *w);

/* ---- places.c: loops over blocks and threads ---- */
void find_places(Render *w);            /* sets w->part and w->parts; to be called before the program is printed */
void open_place(Render *w, Ref range);  /* begins the loop over blocks or threads with this range */
void close_place(Render *w, size_t at); /* ends a loop over blocks or threads. at: position of the loop's END in the program */
/* A block has a number in each dimension of the launch, and a thread has a number in each dimension of its block. Returns the
 * expression for the block's number (`block` true) or the thread's number (`block` false). dimension: 0, 1 or 2 */
const char *id_text(Render *w, bool block, int dimension);

/* ---- exprs.c: statements, and forms of dialect.h ---- */
/* Prints a form (dialect.h). number: the number from which the words $k, $x and $d of the form are printed */
void put_numbered(const Render *w, Sb *o, const char *form, int64_t number);
/* Prints a form for buffer i of Kernel.bufs; i = Kernel.bufs.n stands for the table of sizes. before: number of buffers that
 * precede this buffer in the list of parameters. read: the program only reads this buffer. restricted: no other buffer overlaps
 * this buffer. */
void put_buffer_form(const Render *w, Sb *o, const char *form, size_t i, int before, bool read, bool restricted);

/* put_store, put_prefetch and put_kept append a statement to o, without a final semicolon. */
void put_store(Render *w, Sb *o, const Node *x);
void put_prefetch(Render *w, Sb *o, const Node *x);
void put_kept(Render *w, Sb *o, const char *name); /* Dialect.keep for the vector variable `name` */
/* Prints the head of a loop. The loop's variable `name`, of type d, takes the values from `begin` to `end` - 1. */
void put_loop_head(Render *w, Sb *o, DType d, const char *name, const char *begin, const char *end);
#endif

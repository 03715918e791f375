/* SPDX-License-Identifier: MIT */
/* cstyle.h: declarations that expressions (exprs.c) and statements (cstyle.c) of one function share. */
#ifndef TGC_CSTYLE_H
#define TGC_CSTYLE_H
#include "dialect.h"
#include "../compiler/ir/refmap.h"
#include "../compiler/lower/lower.h"
#include "../compiler/target/launch.h"

/* How a value is used. block: the block that computes it; times: number of uses; products: number of uses in products;
 * elsewhere: another block uses it; named: it has a variable, so its text is a name */
typedef struct Use { uint32_t block, times, products; bool elsewhere, named; } Use;

typedef struct Render {
  const IR *ir;
  const Kernel *k;
  const Target *t;
  const Dialect *l;
  const char *backend;     /* the backend's name, for messages */
  Sb *o;
  char **text;             /* by position in the program: the value's text, without outer parentheses */
  char *prec;              /* by position: precedence of the text */
  Use *use;                /* by position: uses of the value */
  RefMap at;               /* by node: 1 + its last position so far; a range has one in each nest that uses it */
  int nloops, naccs, ntiles; /* numbers of loops, accumulators and nests of tiles printed so far */
  int indent, reducing;    /* nesting depth of blocks, and of reduction loops */
  bool tile;               /* the open reduction adds vectors, or integers on a machine with few registers: .fence is printed */
  TileSet tiles;           /* tiles of the current nest */
  size_t spilled;          /* on a device: index of the last SPILL */
  LaunchPart part;         /* the current part of the launch */
  bool parts;              /* the launch has several parts */
  const bool *aligned;     /* by buffer: it is aligned for any vector; NULL: unknown for all */
  int64_t blocks;          /* number of blocks of the launch's earlier parts */
  Arena a;
} Render;

enum { PARAMETER = -1 };            /* number that stands for a helper's argument instead of a buffer */
enum { ATOM, PRODUCT, SUM, LOOSE }; /* precedence of a text, from the tightest to the loosest */

/* Source k of x as text. A text with a precedence above `allowed` gets parentheses. */
const char *arg_as(Render *w, const Node *x, int k, int allowed);
static inline const char *arg(Render *w, const Node *x, int k) { return arg_as(w, x, k, ATOM); }
/* source k of x as text that stands between commas or brackets */
static inline const char *inside(Render *w, const Node *x, int k) { return arg_as(w, x, k, LOOSE); }

void put_expr(Render *w, Sb *o, const Node *x);
int unwrap(Sb *e, const Node *x); /* strips one pair of parentheses around e, the text of x; -> the precedence of the rest */
/* op on two values, as text; op is ADD, MUL, MAX or MIN */
const char *combined(Render *w, Op op, DType d, int lanes, const char *a, const char *b);
const char *lane_text(Render *w, DType d, const char *vector, int64_t lane);

/* Refuses a program with a type that w->l has no word for. Call it before any of the program's text is printed. */
void check_spelled(const Render *w);
/* Prints the values and statements of w->k's program. The caller has set .ir, .k, .l, .t and .o. -> the text of the last value,
 * in .a */
const char *put_program(Render *w);

/* ---- places.c: loops over blocks and threads ---- */
void find_places(Render *w);            /* for w->k's program, before it is printed */
void open_place(Render *w, Ref range);  /* begins a loop over blocks or threads */
void close_place(Render *w, size_t at); /* ends the loop */
/* number of the block, or of the thread in its block, in a dimension of the launch */
const char *id_text(Render *w, bool block, int dimension);

/* prints a form, with `number` for its $k */
void put_numbered(const Render *w, Sb *o, const char *form, int64_t number);
/* prints a form for buffer i, which has `before` buffers before it in the list of parameters. read: no statement stores to the
 * buffer; restricted: no other buffer overlaps it */
void put_buffer_form(const Render *w, Sb *o, const char *form, size_t i, int before, bool read, bool restricted);

/* statements, without a final semicolon */
void put_store(Render *w, Sb *o, const Node *x);
void put_prefetch(Render *w, Sb *o, const Node *x);
void put_kept(Render *w, Sb *o, const char *name);
void put_loop_head(Render *w, Sb *o, DType d, const char *name, const char *begin, const char *end);
#endif

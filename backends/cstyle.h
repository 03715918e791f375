/* cstyle.h: what expressions (exprs.c) and statements (cstyle.c) of one function share. */
#ifndef TGC_CSTYLE_H
#define TGC_CSTYLE_H
#include "dialect.h"
#include "../compiler/ir/refmap.h"
#include "../compiler/lower/lower.h"
#include "../compiler/target/launch.h"

/* of a value: where it is made; uses, those in products, any in another block; whether only loops decide what it is */
typedef struct Use { uint32_t block, times, products; bool elsewhere, by_loops; } Use;

typedef struct Render {
  const IR *ir;
  const Kernel *k;
  const Target *t;
  const Dialect *l;
  const char *backend;     /* its name, for messages */
  Sb *o;
  char **text;             /* by position in the program: how to write the value, without outer parentheses */
  char *prec;              /* and how loosely it binds */
  Use *use;
  RefMap at;               /* node to its position + 1, the last one so far: nests may have ranges in common */
  int nloops, naccs, ntiles; /* named so far */
  int indent, reducing;    /* depth of blocks, and of reduction loops */
  bool barriers;           /* threads wait for each other */
  bool vectors;            /* the reduction accumulates vectors */
  TileSet tiles;           /* of the nest */
  size_t spilled;          /* place of the last SPILL, of a device */
  LaunchPart part;         /* in hand, of several or of one */
  bool parts;
  const bool *aligned;     /* by buffer: it begins where any vector may; NULL: of none it is known */
  int64_t blocks;          /* of the parts before it */
  Arena a;
} Render;

enum { PARAMETER = -1 };            /* number of the buffer that stands for a helper's argument */
enum { ATOM, PRODUCT, SUM, LOOSE }; /* precedence of a text: what may hold it without parentheses */

/* Source k of x as text that binds at least as tightly as allowed. */
const char *arg_as(Render *w, const Node *x, int k, int allowed);
static inline const char *arg(Render *w, const Node *x, int k) { return arg_as(w, x, k, ATOM); }
/* between commas or brackets */
static inline const char *inside(Render *w, const Node *x, int k) { return arg_as(w, x, k, LOOSE); }

void put_expr(Render *w, Sb *o, const Node *x);
int unwrap(Sb *e, const Node *x); /* strips one pair of parentheses around all of e, x's text; how loosely the rest binds */
/* op of two values, as text; op is ADD, MUL, MAX or MIN */
const char *combined(Render *w, Op op, DType d, int lanes, const char *a, const char *b);
const char *lane_text(Render *w, DType d, const char *vector, int64_t lane);

/* Refuses a program with a type that w->l has no word for. To be called before any of its text is printed. */
void check_spelled(const Render *w);
/* the values and statements of w->k's program, for which .l, .t, .o and .a are set; the text of the last value, in .a */
const char *put_program(Render *w);

/* ---- places.c: loops over blocks and threads ---- */
void find_places(Render *w);            /* of w->k's program, before it is printed */
void open_place(Render *w, Ref range);  /* such a loop begins */
void close_place(Render *w, size_t at); /* it ends */
/* the number of a block, or of a thread in its block, in one dimension of the launch */
const char *id_text(Render *w, bool block, int dimension);

/* a form with a number */
void put_numbered(const Render *w, Sb *o, const char *form, int64_t number);
/* of buffer number i, with so many before it; read: it is not stored to; restricted: no other overlaps it */
void put_buffer_form(const Render *w, Sb *o, const char *form, size_t i, int before, bool read, bool restricted);

/* statements, without their ends */
void put_store(Render *w, Sb *o, const Node *x);
void put_prefetch(Render *w, Sb *o, const Node *x);
void put_kept(Render *w, Sb *o, const char *name);
void put_loop_head(Render *w, Sb *o, DType d, const char *name, const char *begin, const char *end);
#endif

/* SPDX-License-Identifier: MIT */
/* eval.h: internal to interp/: tapes, which evaluate a tree of graph nodes in blocks of elements.
 *
 * A tape computes one value per point of an iteration space. The variables of the space are the axes of the tree's root. Movement
 * ops only change the indices of loads. But a pad also selects, and a concatenation is stored first. Each node's coordinates are
 * affine in the variables. But below a reshape that cuts across axes, or below a gather, coordinates are not affine in the axes.
 * The tape computes these coordinates first: they become further variables, called dynamic. */
#ifndef TGC_EVAL_H
#define TGC_EVAL_H
#include "interp.h"

enum {
  BLOCK = 512,           /* points evaluated together */
  TREE = 48,             /* most nodes of a tree plus dynamic variables that they may need; bounds recursion */
  MAX_VARS = MAX_RANK + TREE
};

typedef union Reg {      /* one block of values: floats of every type as double, others as CONST bits */
  double f[BLOCK];
  int64_t i[BLOCK];
} Reg;

typedef struct Affine {  /* c + the sum of k[i] * variable i */
  int64_t c;
  int64_t k[MAX_VARS];   /* coefficients: axes of the space first, then dynamic variables, from MAX_RANK on */
} Affine;

typedef struct Value {   /* storage of a materialized node or a leaf */
  DType dt;              /* type in the storage; f64 for all floats when the tree is evaluated in double */
  int64_t elems;
  const void *data;      /* NULL: all elements equal splat */
  int64_t splat;
} Value;

typedef enum { I_CONST, I_LOAD, I_INDEX, I_SELECT, I_DIV, I_MOD, I_OP } InsKind;

typedef struct Ins {     /* an instruction; number i of the tape writes register i */
  InsKind kind;
  Op op;
  DType dt, from;        /* type of the result, and of the last operand */
  int src[3];            /* registers */
  uint32_t deps;         /* mask of the axes of the space on which the result depends */
  Affine at;             /* LOAD: index of the element; INDEX: the value; SELECT: value tested to be in 0 .. k - 1 */
  int64_t k;             /* CONST: bits; DIV, MOD: divisor; SELECT: extent */
  Value value;           /* LOAD */
} Ins;

typedef struct Dyn { int reg; int64_t lo, hi; } Dyn; /* a dynamic variable: register reg; lo, hi: bounds of its value */

typedef struct Tape {
  VEC(Ins) ins;
  VEC(Dyn) dyn;          /* dyn.p[i] is variable MAX_RANK + i */
  int rank;
  int64_t ext[MAX_RANK]; /* extents of the space */
  int64_t pos[MAX_RANK]; /* current point, or first point of the current block */
  Reg *reg;
} Tape;

typedef struct Sweep { int n, axis[MAX_RANK]; } Sweep; /* axes along which a block runs, slowest first */

typedef struct Eval Eval;
/* the storage of r; NULL: r has none (yet), so it is part of the tree */
const Value *eval_value(const Eval *e, Ref r);
DType eval_type(const Eval *e, DType d); /* type in which floats of type d are computed and kept */
IR *eval_ir(const Eval *e);

/* The most splits of an index that a reshape from `in` to `out` needs; each split takes two new variables */
int tape_splits(const Node *out, const Node *in);

void tape_open(Tape *t, int rank, const int64_t *dims);
/* Adds instructions that compute the element of r at coordinates at[0..rank of r), and returns its register. root: computes r
 * even if storage is planned for it; other nodes with storage are loaded. */
int tape_add(Eval *e, Tape *t, Ref r, const Affine *at, bool root);
void tape_identity(const Tape *t, Affine *at); /* coordinates that equal the axes of the space */
/* Joins neighbouring axes that every index treats as one, if mask `keep` has both or neither of them. Allocates the registers.
 * Call it when the tree is complete. */
void tape_ready(Tape *t, uint32_t keep);
void tape_close(Tape *t);
Sweep tape_axes(const Tape *t, uint32_t mask);         /* the axes of the mask that have more than one entry */
int64_t tape_points(const Tape *t, const Sweep *s);     /* number of points of the sweep */
void tape_seek(Tape *t, const Sweep *s, int64_t start); /* sets pos of s's axes to point number `start` in row-major order */
/* Runs the instructions `from` to `to` - 1 at points start .. start + n - 1 of the sweep; the other axes stay at pos. */
void tape_run(Tape *t, int from, int to, const Sweep *s, int64_t start, int n);
/* Writes n elements of a block, from number `first` on, to v's storage from element `at` on */
void tape_store(const Value *v, int64_t at, const Reg *r, int first, int n);
#endif

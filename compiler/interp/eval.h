/* SPDX-License-Identifier: MIT */
/* eval.h: internal to interp/: tapes. A tape is a list of instructions that evaluates a tree of graph nodes, BLOCK elements at
 * a time.
 *
 * A tape computes one value for each point of an iteration space. The axes of the space are the axes of the tree's root. Most
 * movement ops only change the indices of loads. A pad also selects between its source and the fill, and a concatenation is
 * stored first. Coordinates of nodes are affine in the variables of the tape, which include the axes of the space. Below a
 * reshape that cuts across axes, and below a gather, coordinates are not affine in the axes. The tape computes these coordinates
 * first, as further variables, which are called dynamic. */
#ifndef TGC_EVAL_H
#define TGC_EVAL_H
#include "interp.h"

enum {
  BLOCK = 512,           /* points evaluated together */
  TREE = 48,             /* most nodes of a tree; a dynamic variable that a node may need counts as a node. Bounds recursion */
  MAX_VARS = MAX_RANK + TREE
};

typedef union Reg {      /* a register: values of BLOCK points. f: floats of every type; i: other types, as bits of a CONST */
  double f[BLOCK];
  int64_t i[BLOCK];
} Reg;

typedef struct Affine {  /* c + the sum of k[i] * variable i */
  int64_t c;
  int64_t k[MAX_VARS];   /* coefficients: axes of the space first, then dynamic variables, from MAX_RANK on */
} Affine;

typedef struct Value {   /* storage of a node */
  DType dt;              /* type in the storage. For trees that are evaluated in double: f64 for floats that the trees compute */
  int64_t elems;
  const void *data;      /* NULL: all elements equal splat */
  int64_t splat;         /* bits of type dt */
} Value;

typedef enum { I_CONST, I_LOAD, I_INDEX, I_SELECT, I_DIV, I_MOD, I_OP } InsKind;

typedef struct Ins {     /* an instruction; instruction number i of the tape writes register i */
  InsKind kind;
  Op op;
  DType dt, from;        /* type of the result, and of the last operand */
  int src[3];            /* registers */
  uint32_t deps;         /* mask of the axes of the space on which the result depends */
  Affine at;             /* LOAD: index of the element; INDEX: the value; SELECT: src[0] if 0 <= at < k, else src[1] */
  int64_t k;             /* CONST: bits; DIV, MOD: divisor; SELECT: see `at` */
  Value value;           /* LOAD: the storage */
} Ins;

typedef struct Dyn { int reg; int64_t lo, hi; } Dyn; /* a dynamic variable. reg: its register; lo, hi: bounds of its value */

typedef struct Tape {
  VEC(Ins) ins;
  VEC(Dyn) dyn;          /* dyn.p[i] is variable MAX_RANK + i */
  int rank;
  int64_t ext[MAX_RANK]; /* extents of the space */
  int64_t pos[MAX_RANK]; /* current point, or first point of the current block */
  Reg *reg;              /* by instruction: its register */
} Tape;

typedef struct Sweep { int n, axis[MAX_RANK]; } Sweep; /* the n axes along which the points of a block differ, slowest first */

typedef struct Eval Eval;
/* the storage of r; NULL: r has no storage yet, so r is a node of the tree */
const Value *eval_value(const Eval *e, Ref r);
DType eval_type(const Eval *e, DType d); /* type in which values of type d are computed and kept */
IR *eval_ir(const Eval *e);

/* The most splits of an index that a reshape from `in` to `out` needs. Each split needs two dynamic variables. */
int tape_splits(const Node *out, const Node *in);

void tape_open(Tape *t, int rank, const int64_t *dims); /* dims: extents of the space */
/* Adds instructions that compute the element of r at the coordinates at[0] to at[rank of r - 1]. Returns the number of the
 * register that receives the element. root: computes r even if r has storage. Other nodes with storage are loaded. */
int tape_add(Eval *e, Tape *t, Ref r, const Affine *at, bool root);
void tape_identity(const Tape *t, Affine *at); /* sets at[i] to axis i of the space */
/* Joins neighbouring axes of the space if all indices can be computed from the joined axis. An axis of the mask `keep` is never
 * joined with an axis outside of the mask. Allocates the registers. To be called when the tree is complete. */
void tape_ready(Tape *t, uint32_t keep);
void tape_close(Tape *t);
Sweep tape_axes(const Tape *t, uint32_t mask);         /* the axes of the mask whose extent is not 1 */
int64_t tape_points(const Tape *t, const Sweep *s);     /* number of points of the sweep */
void tape_seek(Tape *t, const Sweep *s, int64_t start); /* sets pos of s's axes to point number `start` in row-major order */
/* Runs the instructions `from` to `to` - 1 at n points of the sweep, from number `start` on. n is at most BLOCK. The other
 * axes stay at pos. */
void tape_run(Tape *t, int from, int to, const Sweep *s, int64_t start, int n);
/* Writes n values of the register *r, from number `first` on, to v's storage, from element `at` on */
void tape_store(const Value *v, int64_t at, const Reg *r, int first, int n);
#endif

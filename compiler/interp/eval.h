/* SPDX-License-Identifier: MIT */
/* eval.h: internal to interp/: tapes. A tape is a list of instructions that evaluates a tree of graph nodes, BLOCK elements at
 * a time.
 *
 * A tape computes one value for each point of an iteration space. The axes of the space are the axes of the tree's root. Most
 * movement ops only change the indices of loads. A pad also selects between its source and the fill. A concatenation has storage
 * of its own, from which the tape loads elements.
 *
 * At each point, a node gives one of its elements. The coordinates of this element are affine functions of variables. The first
 * variables are the axes of the space. A gather, or a reshape that divides an axis, may read its source at coordinates that are
 * no affine functions of the axes. Instructions compute these coordinates as further variables, which are called dynamic. */
#ifndef TGC_EVAL_H
#define TGC_EVAL_H
#include "interp.h"

enum {
  BLOCK = 512,           /* points evaluated together */
  TREE = 48,             /* limit of a tree's nodes and dynamic variables together. This limit also bounds recursion */
  MAX_VARS = MAX_RANK + TREE
};

typedef union Reg {      /* a register: values of BLOCK points. f: values of float types. i: values of other types, in the form
                            of a CONST (ir.h) */
  double f[BLOCK];
  int64_t i[BLOCK];
} Reg;

typedef struct Affine {  /* c plus the sum of k[i] * variable i */
  int64_t c;
  int64_t k[MAX_VARS];   /* coefficients. Variable i is axis i of the space; from MAX_RANK on, variables are dynamic */
} Affine;

typedef struct Value {   /* storage of a node */
  DType dt;              /* type of the stored elements. If with_double is set (interp.h), computed floats are stored as f64 */
  int64_t elems;
  const void *data;      /* NULL: all elements equal `splat` */
  int64_t splat;         /* the value of each element, in the form of a CONST */
} Value;

typedef enum { I_CONST, I_LOAD, I_INDEX, I_SELECT, I_DIV, I_MOD, I_OP } InsKind;

typedef struct Ins {     /* an instruction; instruction number i of the tape writes register i */
  InsKind kind;
  Op op;
  DType dt, from;        /* dt: type of the result. from: type of the last operand */
  int src[3];            /* numbers of the operands' registers */
  uint32_t deps;         /* mask of the axes of the space on which the result depends */
  Affine at;             /* I_LOAD: index of the loaded element. I_INDEX: the result itself. I_SELECT: the result is register
                            src[0] if 0 <= at < k, else register src[1] */
  int64_t k;             /* I_CONST: bits of the constant. I_DIV, I_MOD: the divisor. I_SELECT: see `at` */
  Value value;           /* I_LOAD: the storage */
} Ins;

typedef struct Dyn { int reg; int64_t lo, hi; } Dyn; /* a dynamic variable. reg: its register; lo, hi: bounds of its value */

typedef struct Tape {
  VEC(Ins) ins;
  VEC(Dyn) dyn;          /* dyn.p[i] is variable MAX_RANK + i */
  int rank;              /* number of axes of the space */
  int64_t ext[MAX_RANK]; /* extents of the space */
  int64_t pos[MAX_RANK]; /* current point, or first point of the current block */
  Reg *reg;              /* reg[i]: register i, which instruction i writes */
} Tape;

/* A part of the space: all values along the n axes of the list `axis`, and one value along each other axis. The points of a sweep
 * are numbered in row-major order: the last axis of the list varies fastest. */
typedef struct Sweep { int n, axis[MAX_RANK]; } Sweep;

typedef struct Eval Eval;                      /* the state of an evaluation (eval_items.h) */
const Value *eval_value(const Eval *e, Ref r); /* returns the storage of r; NULL if the tape must compute r */
DType eval_type(const Eval *e, DType d);       /* type in which values of type d are computed and stored */
IR *eval_ir(const Eval *e);

/* A reshape from the shape of `in` to the shape of `out` may divide an index into quotient and remainder. These are two dynamic
 * variables. Returns the greatest number of divisions that the reshape may need. */
int tape_splits(const Node *out, const Node *in);

void tape_open(Tape *t, int rank, const int64_t *dims); /* dims: extents of the space */
/* Adds instructions that compute the element of r at the coordinates at[0], at[1], ..., one for each axis of r. Returns the
 * number of the register that receives the element. Nodes that have storage are loaded. root true: r itself is computed even
 * if r has storage. */
int tape_add(Eval *e, Tape *t, Ref r, const Affine *at, bool root);
void tape_identity(const Tape *t, Affine *at); /* sets at[i] to the function that gives the position along axis i */
/* Must be called after the last tape_add. Allocates the registers. Joins neighbouring axes of the space if all indices can be
 * computed from the joined axis. keep: a mask of axes; an axis in the mask is never joined with an axis that the mask lacks. */
void tape_ready(Tape *t, uint32_t keep);
void tape_close(Tape *t);

/* ---- tape_run.c ---- */
Sweep tape_axes(const Tape *t, uint32_t mask);         /* the sweep over those axes of the mask whose extent is not 1 */
int64_t tape_work(const Tape *t);                       /* number of instructions that do something at each point */
int64_t tape_points(const Tape *t, const Sweep *s);     /* number of points of the sweep */
void tape_seek(Tape *t, const Sweep *s, int64_t start); /* sets Tape.pos to point number `start` of s, along the axes of s only */
/* Runs the instructions `from` to `to` - 1 at n points of the sweep s, from point number `start` on. n is at most BLOCK. Along
 * the axes that s does not have, all points lie at Tape.pos. */
void tape_run(Tape *t, int from, int to, const Sweep *s, int64_t start, int n);
/* Stores the values first to first + n - 1 of register *r as type v->dt in the storage of v, from element `at` on */
void tape_store(const Value *v, int64_t at, const Reg *r, int first, int n);
#endif

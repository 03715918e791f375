/* eval.h: internal to interp/: tapes, which evaluate a tree of graph nodes in blocks of elements.
 *
 * A tape computes one value per point of an iteration space, whose variables are the axes of the
 * tree's root. Movement ops leave no trace but in the indices of loads: the coordinates of each node
 * are affine in the variables, and where they are not (a reshape that cuts across, a gather), in
 * values the tape itself computes first: dynamic variables. */
#ifndef TGC_EVAL_H
#define TGC_EVAL_H
#include "interp.h"

enum {
  BLOCK = 512,           /* points evaluated together */
  TREE = 48,             /* weight of the largest tree; bounds dynamic variables and recursion */
  MAX_VARS = MAX_RANK + TREE
};

typedef union Reg {      /* one block of values: floats of every type as double, the rest as CONST bits */
  double f[BLOCK];
  int64_t i[BLOCK];
} Reg;

typedef struct Affine {
  int64_t c;
  int64_t k[MAX_VARS];   /* axes of the space first, then dynamic variables from MAX_RANK on */
} Affine;

typedef struct Value {   /* storage of a materialised node or a leaf */
  DType dt;              /* of the storage: f64 for every float node when evaluating in double */
  int64_t elems;
  const void *data;      /* NULL: all elements equal splat */
  int64_t splat;
} Value;

typedef enum { I_CONST, I_LOAD, I_INDEX, I_SELECT, I_DIV, I_MOD, I_OP } InsKind;

typedef struct Ins {     /* writes the register of its own number */
  InsKind kind;
  Op op;
  DType dt, from;        /* of the result and of the (last) operand */
  int src[3];            /* registers */
  uint32_t deps;         /* axes of the space it varies with */
  Affine at;             /* LOAD: element; INDEX: the value; SELECT: tested to lie in 0 .. k - 1 */
  int64_t k;             /* CONST bits; divisor; extent */
  Value value;           /* LOAD */
} Ins;

typedef struct Dyn { int reg; int64_t lo, hi; } Dyn;

typedef struct Tape {
  VEC(Ins) ins;
  VEC(Dyn) dyn;          /* dynamic variable MAX_RANK + i */
  int rank;
  int64_t ext[MAX_RANK]; /* the space */
  int64_t pos[MAX_RANK]; /* the current point, or the first of the current block */
  Reg *reg;
} Tape;

typedef struct Sweep { int n, axis[MAX_RANK]; } Sweep; /* axes a block runs along, slowest first */

typedef struct Eval Eval;
/* NULL when r has no storage (yet): it is part of the tree */
const Value *eval_value(const Eval *e, Ref r);
DType eval_type(const Eval *e, DType d); /* what floats of type d are computed and kept in */
IR *eval_ir(const Eval *e);

/* how many times two new variables may be needed to see through a reshape */
int tape_splits(const Node *out, const Node *in);

void tape_open(Tape *t, int rank, const int64_t *dims);
/* Adds r's tree seen at coordinates at[0..rank of r) and returns its register. root: r itself is
 * computed though it will have storage. */
int tape_add(Eval *e, Tape *t, Ref r, const Affine *at, bool root);
void tape_identity(const Tape *t, Affine *at);
/* Joins neighbouring axes of the same part of the space (mask keep or not) that every index treats as
 * one; allocates registers. Call when the tree is complete. */
void tape_ready(Tape *t, uint32_t keep);
void tape_close(Tape *t);
Sweep tape_axes(const Tape *t, uint32_t mask);
int64_t tape_points(const Tape *t, const Sweep *s);
void tape_seek(Tape *t, const Sweep *s, int64_t start); /* pos of s's axes: point number start in row-major order */
/* registers from .. to - 1 at points start .. start + n - 1 of the sweep; the other axes are at pos */
void tape_run(Tape *t, int from, int to, const Sweep *s, int64_t start, int n);
void tape_store(const Value *v, int64_t at, const Reg *r, int first, int n); /* elements at .. of v's storage */
#endif

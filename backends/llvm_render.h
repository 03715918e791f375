/* SPDX-License-Identifier: MIT */
/* llvm_render.h: the state while llvm.c prints one kernel, and the functions of llvm_exprs.c and llvm_vectors.c, which print the
 * values of its program. Each returns the text of the result: the name of a value, or a constant. */
#ifndef TGC_LLVM_RENDER_H
#define TGC_LLVM_RENDER_H
#include "llvm.h"
#include "../compiler/ir/refmap.h"
#include "../compiler/lower/lower.h"

typedef struct Base { Ref buffer, index; const char *text; } Base; /* address of a buffer's element */

typedef struct Render {
  const IR *ir;
  const Kernel *k;
  const Target *t;
  Sb *o, slots;              /* the body; stack slots of accumulators, which precede it */
  RefMap at;                 /* node to the index of its text + 1 */
  VEC(const char *) text;    /* the text of a value: "%v12", "0x3FF0000000000000" */
  VEC(const char *) ends;    /* labels behind the open loops */
  VEC(Base) bases;           /* addresses that are known here, those of inner blocks last */
  VEC(size_t) outside;       /* for each open block that may be skipped: number of bases before it */
  RefMap wanted;             /* indices that have uses other than addresses */
  const char *block;         /* label of the current block */
  int values, blocks, accs;  /* numbers of names so far */
  TileSet tiles;             /* tiles of the current nest; .n 0: none so far */
  Arena a;
} Render;

static inline const char *value(Render *w, Ref r) { /* returns the text of a value that was printed */
  uint32_t at = refmap_get(&w->at, r);
  CHECK(at);
  return w->text.p[at - 1];
}

/* ---- llvm_exprs.c: elementwise ops ---- */
/* Returns how LLVM's IR writes the op on operands of this type, as a cell of the table in llvm_exprs.c. NULL: it cannot */
const char *llvm_op_text(Op op, DType operand);
/* Prints an instruction with a result. */
const char *llvm_emit(Render *w, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Prints a call of a function whose n arguments are of one type. */
const char *llvm_call(Render *w, const char *function, Text result, Text type, int n, const char *const *arg);
const char *llvm_constant(Render *w, DType d, int64_t bits);
/* Applies op to n operands of type d. flags: those of the instruction, or "" */
const char *llvm_apply(Render *w, Op op, DType d, int lanes, const char *flags, int n, const char *const *arg);
const char *llvm_expr(Render *w, const Node *x);                       /* prints any elementwise op */

/* ---- llvm_vectors.c: ops that combine or move lanes ---- */
bool llvm_has_dot(const Target *t, DType x, int lanes);                /* whether the target has an instruction for OP_DOT */
const char *llvm_dot(Render *w, const Node *x);
const char *llvm_hred(Render *w, Op op, DType d, int lanes, const char *a); /* combines the lanes of the vector a */
const char *llvm_vec(Render *w, const Node *x);
const char *llvm_shuffle(Render *w, const Node *x);
const char *llvm_bcast(Render *w, const Node *x);
#endif

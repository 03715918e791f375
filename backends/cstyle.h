/* cstyle.h: how C spells types, names and functions, for kernels (cstyle.c) and what stands before them (helpers.c). */
#ifndef TGC_CSTYLE_H
#define TGC_CSTYLE_H
#include "backends.h"

const char *c_type(DType d, int lanes, char buf[32]);   /* float, or f32x8 */
const char *c_suffix(DType d, int lanes, char buf[32]); /* of functions' names: f32 or f32x8 */
Op c_op(const char *name, size_t n);                    /* the op whose function of math.h is called so; OP_NONE */
/* the function for an op that decomp.c makes of arithmetic, of one argument: tgc_exp_f32x8 */
void c_define(IR *ir, const Target *t, Op op, DType d, int lanes, Sb *o);
void c_prelude(const Plan *p, const Target *t, Sb *o);  /* all that the kernels of p mention */
#endif

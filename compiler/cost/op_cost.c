/* op_cost.c: what an op takes, by its class. */
#include "cost.h"
#include <math.h>

/* clang-format off */
OpClass op_class(Op op) {
  switch (op) {
  case OP_DIV: case OP_SQRT: case OP_RECIP: return CLASS_DIV;
  case OP_MOD: case OP_FLDIV: case OP_FLMOD: return CLASS_MOD;
  case OP_EXP: case OP_EXP2: case OP_LOG: case OP_LOG2: case OP_POW: case OP_TANH: case OP_ERF: case OP_SIN: case OP_COS:
    return CLASS_FUNC;
  case OP_TAN: case OP_ASIN: case OP_ACOS: case OP_ATAN: case OP_ATAN2: case OP_SINH: case OP_COSH: case OP_ASINH: case OP_ACOSH:
  case OP_ATANH:
    return CLASS_LIBM;
  case OP_GATHER: return CLASS_GATHER;
  case OP_PAD: return CLASS_PAD;
  case OP_CONST: case OP_RANGE: case OP_BUFFER: case OP_LOAD: case OP_STORE: case OP_RED: /* of a nest */
  case OP_PARAM: case OP_WEIGHT: case OP_IOTA:                                            /* of a graph */
    return CLASS_NONE;
  default: return op_is_movement(op) ? CLASS_NONE : CLASS_ALU;
  }
}
/* clang-format on */

double op_instructions(const Target *t, Caller by, Op op) {
  static const Rate rates[] = { [CLASS_ALU] = R_ALU,   [CLASS_DIV] = R_DIV,       [CLASS_MOD] = R_MOD, [CLASS_FUNC] = R_FUNC,
                                [CLASS_LIBM] = R_LIBM, [CLASS_GATHER] = R_GATHER, [CLASS_PAD] = R_PAD };
  const OpClass c = op_class(op);
  return c == CLASS_NONE ? 0 : rate_for(t, rates[c], by);
}

/* Where a multiply-add is two instructions, half as many begin. Wider vectors than FMA_WIDEST have one port on most machines, or
 * take two cycles, but where there is a matrix unit. */
double multiply_adds(const Target *t, Caller by) {
  const double ports = rate_for(t, R_FMA_PORTS, by);
  const double all = t->vector_bytes / 4.0 * (t->fma || ports <= 1 ? ports : ports / 2);
  const bool narrow = rate_asked(R_FMA_WIDEST, by) && !(t->features & FEAT_AMX_BF16);
  return narrow ? fmin(all, rate_for(t, R_FMA_WIDEST, by)) : all;
}

double bf16_rate(const Target *t) {
  return t->features & FEAT_AMX_BF16 ? rate(t, BF16_AMX, SPLIT) : t->features & FEAT_AVX512BF16 ? rate(t, BF16_DOT, SPLIT) : 0;
}

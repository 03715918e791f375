/* op_cost.c: what an op takes, by its class in ops.h. */
#include "cost.h"
#include <math.h>

double op_instructions(const Target *t, Caller by, Op op) {
  static const Rate rates[] = { [COST_ALU] = R_ALU,   [COST_DIV] = R_DIV,       [COST_MOD] = R_MOD, [COST_FUNC] = R_FUNC,
                                [COST_LIBM] = R_LIBM, [COST_GATHER] = R_GATHER, [COST_PAD] = R_PAD };
  const CostClass c = op_info[op].cost;
  return c == COST_NONE || c == COST_MEM ? 0 : rate_for(t, rates[c], by);
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

/* SPDX-License-Identifier: MIT */
/* op_cost.c: the cost of an op, by its class in ops.h. */
#include "cost.h"
#include <math.h>

double op_instructions(const Target *t, Caller by, Op op) {
  static const Rate rates[] = { [COST_ALU] = R_ALU,   [COST_DIV] = R_DIV,       [COST_MOD] = R_MOD, [COST_FUNC] = R_FUNC,
                                [COST_LIBM] = R_LIBM, [COST_GATHER] = R_GATHER, [COST_PAD] = R_PAD };
  const CostClass c = op_info[op].cost;
  return c == COST_NONE || c == COST_MEM ? 0 : rate_for(t, rates[c], by);
}

/* If a multiply-add takes two instructions, half as many start per cycle. Vectors wider than FMA_WIDEST use one port on most
 * machines, or take two cycles, except on machines with a matrix unit. */
double multiply_adds(const Target *t, Caller by) {
  const double ports = rate_for(t, R_FMA_PORTS, by);
  const double all = t->vector_bytes / 4.0 * (t->fma || ports <= 1 ? ports : ports / 2);
  const bool narrow = rate_asked(R_FMA_WIDEST, by) && !(t->features & FEAT_AMX_BF16);
  return narrow ? fmin(all, rate_for(t, R_FMA_WIDEST, by)) : all;
}

double bf16_rate(const Target *t) {
  return t->features & FEAT_AMX_BF16 ? rate(t, BF16_AMX, SPLIT) : t->features & FEAT_AVX512BF16 ? rate(t, BF16_DOT, SPLIT) : 0;
}

double halves_rate(const Target *t) { return target_sums_halves(t, 0) ? rate(t, HALVES, SPLIT) : 0; }

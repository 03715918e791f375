/* SPDX-License-Identifier: MIT */
/* op_cost.c: the cost of an op, by its class in ops.h. */
#include "cost.h"
#include "../target/isa_ops.h"
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

/* the first instruction of the target for products of x; NULL: none */
static const IsaOp *op_for(const Target *t, DType x) {
  for (const IsaOp *u = isa_op_table; u->name; u++)
    if (u->x == x && !(u->needs & ~t->features)) return u;
  return NULL;
}

/* Whether the instruction adds to a sum; otherwise its pairs of products are added by a second one */
static bool sums_up(const IsaOp *u) { return !(u->needs & (FEAT_AVX2 | FEAT_AVX512)) || u->needs & ~(FEAT_AVX2 | FEAT_AVX512); }

double bytes_time(const Target *t) {
  const IsaOp *u = op_for(t, DT_U8);
  return u && sums_up(u) ? rate(t, DOT, WINOGRAD) / 4 : rate(t, BYTES_APART, WINOGRAD);
}

double words_time(const Target *t) {
  const IsaOp *u = op_for(t, DT_I16);
  if (!u || t->features & FEAT_AMX_INT8) return 0;
  return sums_up(u) ? 0.5 : rate(t, WORDS_APART, WINOGRAD);
}

double bf16_rate(const Target *t) {
  return t->features & FEAT_AMX_BF16 ? rate(t, BF16_AMX, SPLIT) : t->features & FEAT_AVX512BF16 ? rate(t, BF16_DOT, SPLIT) : 0;
}

double halves_rate(const Target *t) { return target_sums_halves(t, 0) ? rate(t, HALVES, SPLIT) : 0; }

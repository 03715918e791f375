/* SPDX-License-Identifier: MIT */
/* precision.h: precision of float arithmetic. Columns of PRECISION: id, word of --precision, meaning of the word. */
#ifndef PRECISION
#ifndef TGC_PRECISION_H
#define TGC_PRECISION_H
typedef enum Precision {
#define PRECISION(id, name, gloss) PREC_##id,
#include "precision.h"
  PREC_COUNT
} Precision;
extern const char *const precision_name[PREC_COUNT];
Precision precision_named(const char *s); /* returns PREC_COUNT if there is no such word */
#endif
#else
PRECISION(FP32, "fp32",
          "sums in the fastest order, Winograd tiles, and factors as sums of three bf16, within the bounds of docs/numerics.md")
PRECISION(STRICT, "fp32-strict", "sums in one order; all compilers and machines give the same bits")
PRECISION(FAST, "fp32-fast", "as fp32, but factors may be sums of two bf16, where an instruction makes that faster")
PRECISION(BF16, "bf16", "as fp32, but weights of sums of products are rounded to bf16")
PRECISION(FP16, "fp16", "as fp32, but weights of sums of products are rounded to fp16")
PRECISION(FP16_ARITH, "fp16-arith",
          "as fp32, but both factors of products with a weight are rounded to fp16, and up to 32 such products are added in fp16")
PRECISION(BF16X3, "bf16x3", "two bf16 for each factor, three products, even where that is slower")
PRECISION(BF16X6, "bf16x6", "three bf16 for each factor, six products, even where that is slower")
#undef PRECISION
#endif

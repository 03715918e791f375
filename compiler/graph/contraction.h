/* SPDX-License-Identifier: MIT */
/* contraction.h: the structure of a sum of products. */
#ifndef TGC_CONTRACTION_H
#define TGC_CONTRACTION_H
#include "../ir/ir.h"

typedef struct CRange {    /* axis of the product; extent above 1 */
  Ref range;
  int64_t extent;
  int axis;                /* axis of the product and of the REDUCE */
  bool summed;
  bool in[2];              /* factor 0 or 1 depends on the range */
} CRange;

/* An axis of a factor over which a window slides: the index is begin + range[out] * stride + range[tap] * dilation. out is
 * kept, tap is summed. */
typedef struct CWindow {
  int factor, axis;        /* axis of the factor's base */
  int out, tap;            /* indices into Contraction.range */
  int64_t begin, stride, dilation;
} CWindow;

typedef struct Contraction {
  Ref sum;                 /* the REDUCE */
  Ref base[2];             /* the factors without the views above them, as far as `at` stays affine */
  Ref at[2][MAX_RANK];     /* index of the multiplied element in each base, by axis; affine in the ranges */
  int n;
  CRange range[MAX_RANK];
  int nwindows;
  CWindow window[MAX_RANK];
} Contraction;

bool contraction_find(IR *ir, Ref r, Contraction *c); /* false: r is no sum of products, or a view on the way to a factor is
                                                         not affine */
/* the range that by itself indexes axis a of factor f's base, over its whole extent: index into c->range; -1: none */
int contraction_axis(IR *ir, const Contraction *c, int f, int a);
/* The row-major index into factor f's base is *begin plus the sum of range i times coef[i] */
void contraction_flat(IR *ir, const Contraction *c, int f, int64_t *coef, int64_t *begin);
/* whether c is a batch of matrix products, such as Winograd tiles or the groups of a convolution */
bool contraction_batched(const Contraction *c);
/* Whether some summed range is in both factors, has an even extent of at least 8, and is no tap of a window of f. Then an
 * instruction that adds two products at a time can pair the terms. */
bool contraction_pairs(const Contraction *c, int f);
/* "batch 12, rows 128, columns 128, summed 64, window ..." */
void contraction_print(const IR *ir, const Contraction *c, Sb *out);
#endif

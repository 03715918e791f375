/* SPDX-License-Identifier: MIT */
/* contraction.h: the structure of a sum of products: a REDUCE(ADD) of a MUL, perhaps with views between REDUCE and MUL. The MUL
 * is called the product, and its two sources are factor 0 and factor 1. */
#ifndef TGC_CONTRACTION_H
#define TGC_CONTRACTION_H
#include "../ir/ir.h"

typedef struct CRange {    /* an axis of the REDUCE's operand with an extent above 1 */
  Ref range;               /* the RANGE by which the indices in Contraction.at name this axis */
  int64_t extent;
  int axis;                /* number of the axis */
  bool summed;             /* the REDUCE sums along the axis */
  bool in[2];              /* in[f]: factor f depends on the range */
} CRange;

/* An axis of a factor's base (Contraction.base) over which a window slides. The index along this axis is
 * begin + range[out] * stride + range[tap] * dilation. Range `out` is an axis of the result, and range `tap` is summed. */
typedef struct CWindow {
  int factor, axis;        /* number of the factor, 0 or 1; number of the axis of Contraction.base[factor] */
  int out, tap;            /* indices into Contraction.range */
  int64_t begin, stride, dilation;
} CWindow;

typedef struct Contraction {
  Ref sum;                 /* the REDUCE */
  Ref base[2];             /* base[f]: the value from which views make factor f. The base may itself be the result of a view, if
                              indices into this view's source are not affine */
  Ref at[2][MAX_RANK];     /* at[f][a]: along axis a of base[f], the index of the element that is multiplied. The index is affine
                              in the ranges */
  int n;                   /* number of ranges */
  CRange range[MAX_RANK];
  int nwindows;
  CWindow window[MAX_RANK];
} Contraction;

/* Fills in *c for r. Returns false if r is no sum of products, or if both factors are the same value. Also returns false
 * if indices of the product are not affine in the ranges, or if an axis of the REDUCE's operand is empty */
bool contraction_find(IR *ir, Ref r, Contraction *c);
/* If both bases are casts of bytes to integers, replaces each base by the bytes, or by the value from which views make the bytes.
 * Then returns true. Otherwise returns false, and *c becomes invalid */
bool contraction_of_bytes(IR *ir, Contraction *c);
/* If the index c->at[f][a] is just a range, and this range has the extent of axis a of c->base[f], returns the range's number.
 * Otherwise returns -1 */
int contraction_axis(IR *ir, const Contraction *c, int f, int a);
/* Sets *begin and coef[]. The row-major index into c->base[f], in elements, is *begin plus the sum of coef[i] times the value of
 * range i, over all ranges */
void contraction_flat(IR *ir, const Contraction *c, int f, int64_t *coef, int64_t *begin);
/* Whether c is a batch of matrix products, such as Winograd tiles or the groups of a convolution */
bool contraction_batched(const Contraction *c);
/* Whether an instruction that adds two products at a time can pair the terms. For this, both factors must depend on some summed
 * range with an even extent of at least 8. This range must not be the `tap` of a window of factor f. */
bool contraction_pairs(const Contraction *c, int f);
/* Appends the structure in words to *out: "batch 12, rows 128, columns 128, summed 64, window ..." */
void contraction_print(const IR *ir, const Contraction *c, Sb *out);
#endif

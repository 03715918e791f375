/* SPDX-License-Identifier: MIT */
/* contraction.h: the structure of a sum of products: a REDUCE(ADD) of a MUL, perhaps with views between the two. The MUL is
 * called the product. */
#ifndef TGC_CONTRACTION_H
#define TGC_CONTRACTION_H
#include "../ir/ir.h"

typedef struct CRange {    /* an axis of the REDUCE's operand with an extent above 1 */
  Ref range;               /* a RANGE for the indices in Contraction.at */
  int64_t extent;
  int axis;                /* number of the axis in the REDUCE and its operand */
  bool summed;             /* the REDUCE sums along the axis */
  bool in[2];              /* in[f]: factor f depends on the range */
} CRange;

/* An axis of a factor over which a window slides: the index is begin + range[out] * stride + range[tap] * dilation. Range `out`
 * is an axis of the result, range `tap` is summed. */
typedef struct CWindow {
  int factor, axis;        /* 0 or 1; axis of Contraction.base[factor] */
  int out, tap;            /* indices into Contraction.range */
  int64_t begin, stride, dilation;
} CWindow;

typedef struct Contraction {
  Ref sum;                 /* the REDUCE */
  Ref base[2];             /* by factor: the value from which views make the factor. This value is itself the result of a view
                              if `at` would otherwise not be affine */
  Ref at[2][MAX_RANK];     /* by factor and axis of its base: index of the multiplied element, affine in the ranges */
  int n;
  CRange range[MAX_RANK];
  int nwindows;
  CWindow window[MAX_RANK];
} Contraction;

/* False: r is no sum of products of two different values, the index of the product is not affine, or an axis is empty */
bool contraction_find(IR *ir, Ref r, Contraction *c);
/* Replaces both bases, which must be casts of bytes to integers: by the bytes, or by the value from which views make the bytes.
 * False: a base is no such cast, and c is no longer valid */
bool contraction_of_bytes(IR *ir, Contraction *c);
/* The row i of c->range such that c->at[f][a] is this range itself, and the range has the extent of axis a; -1: there is none */
int contraction_axis(IR *ir, const Contraction *c, int f, int a);
/* The row-major index into factor f's base is *begin plus the sum of coef[i] * c->range[i], in elements */
void contraction_flat(IR *ir, const Contraction *c, int f, int64_t *coef, int64_t *begin);
/* Whether c is a batch of matrix products, such as Winograd tiles or the groups of a convolution */
bool contraction_batched(const Contraction *c);
/* Whether an instruction that adds two products at a time can pair the terms. For this, both factors must depend on a summed
 * range with an even extent of at least 8. This range must not be the tap of a window of factor f; it may be the tap of a
 * window of the other factor. */
bool contraction_pairs(const Contraction *c, int f);
/* Appends the structure in words: "batch 12, rows 128, columns 128, summed 64, window ..." */
void contraction_print(const IR *ir, const Contraction *c, Sb *out);
#endif

/* contraction.h: what a sum of products is made of. */
#ifndef TGC_CONTRACTION_H
#define TGC_CONTRACTION_H
#include "../ir/ir.h"

typedef struct CRange {    /* an axis of the product with an extent above 1 */
  Ref range;
  int64_t extent;
  int axis;                /* of the product and of the REDUCE */
  bool summed;
  bool in[2];              /* the element of this factor depends on it */
} CRange;

/* An axis of a factor that two ranges walk: begin + range[out] * stride + range[tap] * dilation, out kept, tap summed. */
typedef struct CWindow {
  int factor, axis;        /* of the factor's base */
  int out, tap;            /* numbers of ranges */
  int64_t begin, stride, dilation;
} CWindow;

typedef struct Contraction {
  Ref sum;                 /* the REDUCE */
  Ref base[2];             /* the factors below all views through which `at` stays affine */
  Ref at[2][MAX_RANK];     /* the element of each base that is multiplied: affine in the ranges */
  int n;
  CRange range[MAX_RANK];
  int nwindows;
  CWindow window[MAX_RANK];
} Contraction;

bool contraction_find(IR *ir, Ref r, Contraction *c); /* false: r is none, or its product is moved in a way that is not affine */
/* the range that is axis a of factor f's base alone, from its first element to its last; -1: there is none */
int contraction_axis(IR *ir, const Contraction *c, int f, int a);
/* the element of factor f's base in row-major order: begin + sum of range i x coef[i] */
void contraction_flat(IR *ir, const Contraction *c, int f, int64_t *coef, int64_t *begin);
/* products of matrices side by side: of Winograd tiles, and of groups */
bool contraction_batched(const Contraction *c);
/* instructions that add two products at a time can take them along factor f: a summed range of both that is no tap of a window of f */
bool contraction_pairs(const Contraction *c, int f);
/* "batch 12, rows 128, columns 128, summed 64, window ..." */
void contraction_print(const IR *ir, const Contraction *c, Sb *out);
#endif

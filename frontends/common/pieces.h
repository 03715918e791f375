/* SPDX-License-Identifier: MIT */
/* pieces.h: pieces of graphs that builders of any front end need. */
#ifndef TGC_PIECES_H
#define TGC_PIECES_H
#include "../../compiler/ir/ir.h"

Ref g_tensor(IR *ir, DType d, int rank, const int64_t *dims, const void *data); /* a constant; the data are copied */
Ref g_floats(IR *ir, DType d, int rank, const int64_t *dims, const double *v);  /* rounded to d, as CAST does */
Ref iota_axis(IR *ir, DType d, int64_t n, int axis, int rank); /* 0, 1, ... along one axis of `rank` axes */
Ref shrink_axis(IR *ir, Ref x, int axis, int64_t begin, int64_t step, int64_t n);
Ref without_axes(IR *ir, Ref x, uint32_t axes);                /* drops axes of extent 1 */
/* inner: repeats each element in place; else the axis as a whole */
Ref repeat_axis(IR *ir, Ref x, int axis, int64_t times, bool inner);
/* Elements index[0..n) of an axis of x; all indices are in range. The result is a view where the indices allow one. */
Ref g_take(IR *ir, Ref x, int axis, const int64_t *index, int64_t n);
#endif

/* SPDX-License-Identifier: MIT */
/* pieces.h: constructors of small parts of graphs, for all front ends. Each adds nodes to ir and returns the last one. */
#ifndef TGC_PIECES_H
#define TGC_PIECES_H
#include "../../compiler/ir/ir.h"

Ref g_tensor(IR *ir, DType d, int rank, const int64_t *dims, const void *data); /* a constant; the data are copied */
Ref g_floats(IR *ir, DType d, int rank, const int64_t *dims, const double *v);  /* a constant; v is rounded to d, as CAST does */
Ref iota_axis(IR *ir, DType d, int64_t n, int axis, int rank); /* 0, 1, ..., n - 1 along one axis; the other axes have extent 1 */
/* n elements of an axis of x: begin, begin + step, ... */
Ref shrink_axis(IR *ir, Ref x, int axis, int64_t begin, int64_t step, int64_t n);
Ref without_axes(IR *ir, Ref x, uint32_t axes);                /* drops the axes in this mask of bits, which have extent 1 */
/* Repeats x along an axis `times` times. inner: each element in place (a, a, b, b); else the whole axis (a, b, a, b) */
Ref repeat_axis(IR *ir, Ref x, int axis, int64_t times, bool inner);
/* The elements of an axis of x with the n given indices, which are in range. If the indices follow a simple pattern, the result
 * needs no gather. */
Ref g_take(IR *ir, Ref x, int axis, const int64_t *index, int64_t n);
#endif

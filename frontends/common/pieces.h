/* SPDX-License-Identifier: MIT */
/* pieces.h: functions that make small parts of graphs, for all front ends. Each function adds nodes to ir and returns the node of
 * the result. */
#ifndef TGC_PIECES_H
#define TGC_PIECES_H
#include "../../compiler/ir/ir.h"

Ref g_tensor(IR *ir, DType d, int rank, const int64_t *dims, const void *data); /* a constant; the data are copied */
Ref g_floats(IR *ir, DType d, int rank, const int64_t *dims, const double *v);  /* a constant; each number of v is rounded to d */
Ref iota_axis(IR *ir, DType d, int64_t n, int axis, int rank); /* 0, 1, ..., n - 1 along one axis; the other axes have extent 1 */
/* Keeps n elements of an axis of x: those with the indices begin, begin + step, ... */
Ref shrink_axis(IR *ir, Ref x, int axis, int64_t begin, int64_t step, int64_t n);
Ref without_axes(IR *ir, Ref x, uint32_t axes);                /* drops axes of extent 1: axis i if bit i of `axes` is set */
/* Repeats x along an axis `times` times. inner true: repeats each element, as in a, a, b, b; false: repeats the whole axis, as in
 * a, b, a, b */
Ref repeat_axis(IR *ir, Ref x, int axis, int64_t times, bool inner);
/* Takes n elements of an axis of x: element i of the result is the element of x with the index index[i]. All indices must be in
 * range. If the indices follow a simple pattern, such as equal steps, no GATHER is made. */
Ref g_take(IR *ir, Ref x, int axis, const int64_t *index, int64_t n);
#endif

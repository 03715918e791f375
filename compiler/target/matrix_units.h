/* SPDX-License-Identifier: MIT */
/* matrix_units.h: matrix units of devices as data. The threads of a warp together multiply a matrix a by a matrix b, and add the
 * product to a matrix c of sums. a is m x k, b is k x n, and c is m x n. Each thread holds some elements of each matrix. These
 * elements are the thread's fragment of the matrix.
 *
 * m, n and k are powers of two. Two lists of bits say which thread holds which element of a matrix. An example for the matrix a:
 *   - "k1 k2 m0 m1 m2" is the list for the number of the thread in its warp, lowest bit first. Bit 0 of this number is bit 1 of
 *     the element's index along k. Bit 1 of this number is bit 2 of the index along k. Bit 2 is bit 0 of the index along m, and
 *     so on.
 *   - "k0 m3 k3" is the list for the number of the element in the fragment, lowest bit first. Bit 0 of this number is bit 0 of
 *     the element's index along k, and so on.
 *
 * For some units no document says which thread holds which element. Such a unit reads whole matrices from shared memory, and
 * writes whole matrices to shared memory (OP_TILE, OP_MMA, OP_SPILL). The unit's row has no lists for the matrices a and b. The
 * lists for c say which elements of the result a thread reads back from shared memory. */
#ifndef TGC_MATRIX_UNITS_H
#define TGC_MATRIX_UNITS_H
#include "../ir/ir.h"
#include "device.h"

typedef enum { MATRIX_A, MATRIX_B, MATRIX_C, MATRICES } Matrix;
/* The lists of bits for one matrix. threads: for the thread's number; elements: for the element's number. NULL: not known */
typedef struct FragmentOrder { const char *threads, *elements; } FragmentOrder;
typedef struct MatrixUnit {
  const char *name;        /* the word in schedules and programs */
  int m, n, k;
  DType a, b, c;           /* types of the elements of the matrices */
  int threads;             /* number of threads of a warp */
  int products;            /* number of products that the unit computes in the time of one multiply-add of each thread of the
                              warp. If `products` equals `threads`, the unit is as fast as the threads without the unit */
  int capability;          /* for CUDA: the least compute capability that has the unit, times 10; for other interfaces: 0 */
  FragmentOrder order[MATRICES]; /* by matrix */
} MatrixUnit;
extern const MatrixUnit matrix_unit_table[];                    /* .name NULL ends the table */
const MatrixUnit *matrix_unit_named(const char *s, size_t n);   /* the unit whose name is the n characters at s; NULL: none */
const MatrixUnit *device_matrix_unit(const Device *d, int i);   /* unit number i of d, from 0; NULL: d has fewer units */
/* Whether a matrix unit of d takes factors of this type; false if d is NULL */
bool device_multiplies(const Device *d, DType factor);

bool unit_is_whole(const MatrixUnit *u);                        /* whether u reads and writes whole matrices */
int unit_extent(const MatrixUnit *u, char dimension);           /* u->m, u->n or u->k, for dimension 'm', 'n' or 'k' */
int unit_elements(const MatrixUnit *u, Matrix x);               /* number of elements of a fragment of x */
DType unit_type(const MatrixUnit *u, Matrix x);                 /* type of the elements of x */
/* The dimensions of a matrix, rows first: "mk" for MATRIX_A */
const char *matrix_dimensions(Matrix x);
/* Returns the index of an element along a dimension: 'm', 'n' or 'k'. e: the element's number in a thread's fragment of matrix x.
 * The unit must have lists of bits for x. thread: the number of the thread in its warp */
int unit_place(const MatrixUnit *u, Matrix x, char dimension, int thread, int e);
/* As unit_place, but result, thread and e are index expressions */
Ref unit_index(IR *ir, const MatrixUnit *u, Matrix x, char dimension, Ref thread, Ref e);
#endif

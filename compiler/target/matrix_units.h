/* SPDX-License-Identifier: MIT */
/* matrix_units.h: matrix units of devices as data. The threads of a warp together multiply a matrix a, m x k, by a matrix
 * b, k x n. They add the product to a matrix of sums, m x n. Each thread holds a part of each matrix, a fragment.
 *
 * All extents are powers of two. So an order of bits says which thread holds which element. "k1 k2 m0 m1 m2" are the bits of a
 * thread's number in its warp, low ones first. The two lowest bits of the number are bits 1 and 2 of the element's place along k.
 * In the same way "k0 m3 k3" are the bits of the element's number in the fragment.
 *
 * For some units no document says which thread holds which element. Such a unit reads whole matrices from shared memory and
 * writes whole matrices to it (OP_TILE, OP_MMA, OP_SPILL). Its row has no order for a and b. The order for c says which elements
 * of the result a thread reads back from shared memory. */
#ifndef TGC_MATRIX_UNITS_H
#define TGC_MATRIX_UNITS_H
#include "../ir/ir.h"
#include "device.h"

typedef enum { MATRIX_A, MATRIX_B, MATRIX_C, MATRICES } Matrix;
typedef struct FragmentOrder { const char *threads, *elements; } FragmentOrder; /* NULL: not known */
typedef struct MatrixUnit {
  const char *name;        /* the word in schedules and programs */
  int m, n, k;
  DType a, b, c;           /* elements of the factors and of the sums */
  int threads;             /* threads of a warp */
  int products;            /* products of the unit in the time in which each thread of the warp does one multiply-add; 32: the
                              unit is no faster */
  int capability;          /* CUDA: the least compute capability that has it, 80 for 8.0; 0: another interface */
  FragmentOrder order[MATRICES];
} MatrixUnit;
extern const MatrixUnit matrix_unit_table[];                    /* .name NULL ends it */
const MatrixUnit *matrix_unit_named(const char *s, size_t n);   /* NULL: there is none */
const MatrixUnit *device_matrix_unit(const Device *d, int i);   /* unit number i of the device; NULL: it has fewer */
bool device_multiplies(const Device *d, DType factor);          /* a matrix unit of d takes such factors; d may be NULL */

bool unit_is_whole(const MatrixUnit *u);                        /* u reads and writes whole matrices */
int unit_extent(const MatrixUnit *u, char dimension);           /* dimension: 'm', 'n' or 'k' */
int unit_elements(const MatrixUnit *u, Matrix x);               /* elements of a fragment */
DType unit_type(const MatrixUnit *u, Matrix x);
/* The dimensions of a matrix, rows first: "mk" */
const char *matrix_dimensions(Matrix x);
/* The index along a dimension ('m', 'n' or 'k') of element e of a thread's fragment of matrix x */
int unit_place(const MatrixUnit *u, Matrix x, char dimension, int thread, int e);
/* The result of unit_place as an index expression; thread and e are index expressions, too */
Ref unit_index(IR *ir, const MatrixUnit *u, Matrix x, char dimension, Ref thread, Ref e);
#endif

/* SPDX-License-Identifier: MIT */
/* matrix_units.h: matrix units of devices as data. The threads of a warp together multiply a matrix a by a matrix b, and add the
 * product to a matrix c of sums. a is m x k, b is k x n, and c is m x n. Each thread holds some elements of each matrix, its
 * fragment.
 *
 * m, n and k are powers of two. So a list of bits says which thread holds which element. "k1 k2 m0 m1 m2" lists the bits of a
 * thread's number in its warp, the lowest bit first. Here the two lowest bits of the thread's number are bits 1 and 2 of the
 * element's place along k. In the same way, "k0 m3 k3" lists the bits of the element's number in the fragment.
 *
 * For some units no document says which thread holds which element. Such a unit reads whole matrices from shared memory, and
 * writes whole matrices to shared memory (OP_TILE, OP_MMA, OP_SPILL). The unit's row has no lists for a and b. The lists for c
 * say which elements of the result a thread reads back from shared memory. */
#ifndef TGC_MATRIX_UNITS_H
#define TGC_MATRIX_UNITS_H
#include "../ir/ir.h"
#include "device.h"

typedef enum { MATRIX_A, MATRIX_B, MATRIX_C, MATRICES } Matrix;
/* Lists of bits of the thread's number and of the element's number; NULL: not known */
typedef struct FragmentOrder { const char *threads, *elements; } FragmentOrder;
typedef struct MatrixUnit {
  const char *name;        /* the word in schedules and programs */
  int m, n, k;
  DType a, b, c;           /* elements of the factors and of the sums */
  int threads;             /* threads of a warp */
  int products;            /* number of products that the unit computes while each thread of the warp would do one multiply-add;
                              equal to `threads`: the unit is no faster than the threads */
  int capability;          /* CUDA: the least compute capability that has the unit, 80 for 8.0; 0: another interface */
  FragmentOrder order[MATRICES]; /* by matrix */
} MatrixUnit;
extern const MatrixUnit matrix_unit_table[];                    /* .name NULL ends the table */
const MatrixUnit *matrix_unit_named(const char *s, size_t n);   /* s: n characters; NULL: there is no such unit */
const MatrixUnit *device_matrix_unit(const Device *d, int i);   /* unit number i of d, from 0; NULL: d has fewer units */
/* Whether a matrix unit of d takes factors of this type. d NULL: false */
bool device_multiplies(const Device *d, DType factor);

bool unit_is_whole(const MatrixUnit *u);                        /* whether u reads and writes whole matrices */
int unit_extent(const MatrixUnit *u, char dimension);           /* dimension: 'm', 'n' or 'k' */
int unit_elements(const MatrixUnit *u, Matrix x);               /* number of elements of a fragment */
DType unit_type(const MatrixUnit *u, Matrix x);
/* The dimensions of a matrix, rows first: "mk" for MATRIX_A */
const char *matrix_dimensions(Matrix x);
/* The index along a dimension ('m', 'n' or 'k') of element e of a thread's fragment of matrix x, which must have lists of bits */
int unit_place(const MatrixUnit *u, Matrix x, char dimension, int thread, int e);
/* The result of unit_place as an index expression; thread and e are index expressions, too */
Ref unit_index(IR *ir, const MatrixUnit *u, Matrix x, char dimension, Ref thread, Ref e);
#endif

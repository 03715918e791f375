/* SPDX-License-Identifier: MIT */
/* isa_ops.h: dot-product and matrix instructions as data. An instruction has two operands, x and y. There is a sum for each pair
 * of a row of x and a lane of y. The instruction multiplies each element of the row by the corresponding element of the lane, and
 * adds the products to the sum. Rows and lanes consist of groups of contiguous elements. */
#ifndef TGC_ISA_OPS_H
#define TGC_ISA_OPS_H
#include "target.h"

typedef struct IsaOp {
  const char *name;        /* name of the instruction, also in schedules */
  uint32_t needs;          /* FEAT_ bits: the CPU features that the instruction needs */
  DType x, y, sum;         /* types of the elements of x and y, and of the sums */
  int group;               /* number of elements of a group */
  int lanes;               /* most lanes of y */
  int rows, depth;         /* rows: most rows of x; depth: most groups of a row or lane. Both are 1 unless the operands are
                              tiles */
} IsaOp;

enum { TILE_REGISTERS = 8, TILE_BYTES = 64 };      /* AMX: number of tile registers; most bytes of a tile's row */
enum { DOT_OVERREAD = 3 };                         /* bytes that a dot product may read behind its operand */

extern const IsaOp isa_op_table[];                    /* .name NULL ends the table; better instructions come first */
const IsaOp *isa_op_named(const char *s, size_t n);   /* the instruction whose name has the n characters at s; NULL: none */
int isa_op_depth(const IsaOp *u, int64_t groups);     /* depth for tiles: greatest divisor of `groups` that is at most u->depth */
#endif

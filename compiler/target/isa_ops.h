/* SPDX-License-Identifier: MIT */
/* isa_ops.h: dot-product and matrix instructions as data. An instruction has two operands, x and y. Here, x consists of rows,
 * and y consists of lanes. Each row and each lane consists of groups of contiguous elements. There is a sum for each pair of a
 * row of x and a lane of y. The instruction multiplies each element of the row by the corresponding element of the lane, and adds
 * the products to the sum. */
#ifndef TGC_ISA_OPS_H
#define TGC_ISA_OPS_H
#include "target.h"

typedef struct IsaOp {
  const char *name;        /* name of the instruction, also in schedules */
  uint32_t needs;          /* FEAT_ bits: the CPU features that the instruction needs */
  DType x, y, sum;         /* types of the elements of x and y, and of the sums */
  int group;               /* number of elements of a group */
  int lanes;               /* greatest number of lanes of y */
  int rows, depth;         /* rows: greatest number of rows of x. depth: greatest number of groups of a row or lane. Both are 1 if
                              the operands are not tiles */
} IsaOp;

enum { TILE_REGISTERS = 8, TILE_BYTES = 64 };      /* facts of AMX: number of tile registers; greatest number of bytes of
                                                      a tile's row */
enum { DOT_OVERREAD = 3 };                         /* greatest number of bytes that a dot product reads behind the end of an
                                                      operand */

extern const IsaOp isa_op_table[];                    /* .name NULL ends the table; better instructions come first */
const IsaOp *isa_op_named(const char *s, size_t n);   /* the instruction whose name is the n characters at s; NULL: none */
/* Returns the depth of tiles for rows of `groups` groups: the greatest divisor of `groups` that is at most u->depth. */
int isa_op_depth(const IsaOp *u, int64_t groups);
#endif

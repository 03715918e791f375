/* SPDX-License-Identifier: MIT */
/* isa_ops.h: dot-product and matrix instructions as data. An instruction has a sum for each pair of a row of operand x and a
 * lane of operand y. It multiplies the elements of the row and of the lane in pairs, and adds the products to the sum. A group is
 * the contiguous elements of a row or lane that the instruction multiplies at a time. */
#ifndef TGC_ISA_OPS_H
#define TGC_ISA_OPS_H
#include "target.h"

typedef struct IsaOp {
  const char *name;        /* name of the instruction, also in schedules */
  uint32_t needs;          /* FEAT_ bits: the CPU features that the instruction needs */
  DType x, y, sum;         /* types. x: operand that all lanes may share; y: operand with elements for each lane */
  int group;               /* elements of a group */
  int lanes;               /* most lanes of operand y */
  int rows, depth;         /* rows: most rows of a tile; depth: most groups of a row or lane. 1, 1: there are no tiles */
} IsaOp;

enum { TILE_REGISTERS = 8, TILE_BYTES = 64 };      /* AMX: number of tile registers; most bytes of a tile's row */
enum { DOT_OVERREAD = 3 };                         /* bytes that a dot product may read behind its operand */

extern const IsaOp isa_op_table[];                    /* .name NULL ends the table; for each architecture, the best come first */
const IsaOp *isa_op_named(const char *s, size_t n);   /* NULL: no instruction has this name, of n characters */
int isa_op_depth(const IsaOp *u, int64_t groups);     /* depth of tiles: greatest divisor of `groups` that is at most u->depth */
#endif

/* SPDX-License-Identifier: MIT */
/* isa_ops.h: dot-product and matrix instructions as data. An instruction has a sum for each row of operand x and each
 * lane of operand y. It adds to each sum the products of that row of x and that lane of y, in groups of contiguous elements. */
#ifndef TGC_ISA_OPS_H
#define TGC_ISA_OPS_H
#include "target.h"

typedef struct IsaOp {
  const char *name;        /* name of the instruction: the word in schedules */
  uint32_t needs;          /* FEAT_ bits */
  DType x, y, sum;         /* x: operand that all lanes may share; y: operand with elements for each lane */
  int group;               /* products added in each lane */
  int lanes;               /* lanes of the widest form */
  int rows, depth;         /* most rows and depth of its tiles, depth in groups; 1, 1: no tiles */
} IsaOp;

enum { TILE_REGISTERS = 8, TILE_BYTES = 64 };      /* number of tile registers; most bytes of a tile's row: AMX */
enum { DOT_OVERREAD = 3 };                         /* bytes that a dot product may read behind its operand */

extern const IsaOp isa_op_table[];                    /* .name NULL ends it; better ones of an architecture come first */
const IsaOp *isa_op_named(const char *s, size_t n);   /* NULL: there is none */
int isa_op_depth(const IsaOp *u, int64_t groups);     /* depth of a tile: the greatest divisor of `groups` that is at most u->depth */
#endif

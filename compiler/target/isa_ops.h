/* isa_ops.h: dot-product and matrix instructions as data. An instruction adds to each sum of rows x lanes the products of its
 * row of x and its column of y. The products go in groups of elements that lie side by side. */
#ifndef TGC_ISA_OPS_H
#define TGC_ISA_OPS_H
#include "target.h"

typedef struct IsaOp {
  const char *name;        /* the instruction's: the word in schedules */
  uint32_t needs;          /* FEAT_ bits */
  DType x, y, sum;         /* x: what all lanes may share; y: what lanes have their own of */
  int group;               /* products a lane adds */
  int lanes;               /* of the widest form */
  int rows, depth;         /* of its tiles, at most; depth in groups; 1, 1: vectors */
} IsaOp;

enum { TILE_REGISTERS = 8, TILE_BYTES = 64 };      /* registers that hold tiles; bytes of a tile's row, at most: AMX */
enum { DOT_OVERREAD = 3 };                         /* bytes that a dot product may read past its operand's last one */

extern const IsaOp isa_op_table[];                    /* .name NULL ends it; in each architecture, better ones first */
const IsaOp *isa_op_named(const char *s, size_t n);   /* NULL: there is none */
int isa_op_depth(const IsaOp *u, int64_t groups);     /* groups of a tile: as many as divide all of them */
#endif

/* dot_ops.h: reductions that dot-product and matrix instructions (target/isa_ops.h) take. One adds to each sum of rows x lanes
 * the products of its row of x and its column of y, which go in groups of elements that lie side by side: OP_DOT takes one row
 * and one group, OP_MMA tiles of both. */
#ifndef TGC_DOT_OPS_H
#define TGC_DOT_OPS_H
#include "../target/isa_ops.h"
#include "opts.h"

/* NULL when the reduction over r can be done by the instruction in groups of its values, else why not */
const char *isa_op_refuses(IR *ir, Ref nest, const Target *t, const IsaOp *u, Ref r);
const IsaOp *isa_op_choose(IR *ir, Ref nest, const Target *t, Ref *r); /* of those of vectors; NULL: none fits */
/* what it does not refuse: the reduction, loads of x and y */
Ref isa_op_operands(IR *ir, Ref nest, const IsaOp *u, Ref r, Ref load[2]);

/* mma.c: the best schedule with a matrix instruction, if it takes less time than `other` (NULL: plain vectors) */
bool tile_opts(IR *ir, Ref nest, const Target *t, const IsaOp *other, Opts *o);

/* NULL when o tiles the nest as its instruction, which takes groups of o->grouped, asks for, else why not */
const char *isa_op_tiling(IR *ir, Ref nest, const Opts *o);

/* r becomes *rest * group + a range of kind dot, or (*rest * depth + a range of kind depth) * group + ...; what the extent
 * lacks to whole groups is multiplied by 0 */
Ref isa_op_group(IR *ir, Ref nest, const IsaOp *u, Ref r, Ref *rest);
Ref isa_op_apply(IR *ir, Ref nest, Opts *o);        /* groups the range that o gives to an instruction */
#endif

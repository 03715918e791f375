/* SPDX-License-Identifier: MIT */
/* dot_ops.h: reductions by dot-product and matrix instructions (target/isa_ops.h). Such an instruction has a sum for
 * each row of operand x and each lane of operand y. It adds to each sum the products of that row of x and that lane of y, in
 * groups of contiguous elements. OP_DOT takes one row and one group; OP_MMA takes tiles of rows and groups. */
#ifndef TGC_DOT_OPS_H
#define TGC_DOT_OPS_H
#include "../target/isa_ops.h"
#include "opts.h"

/* NULL if the instruction can do the reduction over r, in groups of its values; otherwise the reason why not */
const char *isa_op_refuses(IR *ir, Ref nest, const Target *t, const IsaOp *u, Ref r);
const IsaOp *isa_op_choose(IR *ir, Ref nest, const Target *t, Ref *r); /* best vector instruction and range; NULL: none fits */
/* for a reduction that is not refused: the RED, and its loads of x and y */
Ref isa_op_operands(IR *ir, Ref nest, const IsaOp *u, Ref r, Ref load[2]);

/* mma.c: the best schedule with a matrix instruction, if it takes less time than `other` (NULL: plain vectors) */
bool tile_opts(IR *ir, Ref nest, const Target *t, const IsaOp *other, Opts *o);

/* The instruction of o takes values of the range o->grouped in groups. NULL if o tiles the nest as the instruction requires;
 * otherwise the reason why not */
const char *isa_op_tiling(IR *ir, Ref nest, const Opts *o);

/* replaces r by *rest * group + a range of kind dot, or by (*rest * depth + a range of kind depth) * group + a range of kind
 * dot; missing values of the last group are multiplied by 0 */
Ref isa_op_group(IR *ir, Ref nest, const IsaOp *u, Ref r, Ref *rest);
Ref isa_op_apply(IR *ir, Ref nest, Opts *o);        /* groups the range that o assigns to an instruction */
#endif

/* SPDX-License-Identifier: MIT */
/* dot_ops.h: reductions by dot-product and matrix instructions (target/isa_ops.h). Such an instruction has a sum for each pair of
 * a row of operand x and a lane of operand y. The instruction adds the products of the row's and the lane's elements to this sum.
 * A group is the contiguous elements of a row or lane that the instruction multiplies at a time. OP_DOT takes one row and one
 * group; OP_MMA takes tiles of rows and groups. */
#ifndef TGC_DOT_OPS_H
#define TGC_DOT_OPS_H
#include "../target/isa_ops.h"
#include "opts.h"

/* NULL if the instruction can compute the reduction over r, taking values of r in groups; otherwise the reason why not */
const char *isa_op_refuses(IR *ir, Ref nest, const Target *t, const IsaOp *u, Ref r);
const IsaOp *isa_op_choose(IR *ir, Ref nest, const Target *t, Ref *r); /* the best instruction without tiles, and its range; NULL:
                                                                          none */
/* Returns the RED over r; load[0], load[1]: its loads of x and y. isa_op_refuses must have accepted r. */
Ref isa_op_operands(IR *ir, Ref nest, const IsaOp *u, Ref r, Ref load[2]);

/* mma.c: *o becomes the best schedule with a matrix instruction. False: no such schedule takes less time than a schedule with the
 * instruction `other`, or with plain vectors if `other` is NULL */
bool tile_opts(IR *ir, Ref nest, const Target *t, const IsaOp *other, Opts *o);

/* For a schedule with the matrix instruction o->isa_op: NULL if o tiles the nest as the instruction requires; otherwise why
 * not */
const char *isa_op_tiling(IR *ir, Ref nest, const Opts *o);

/* Replaces r by *rest * u->group + a range of kind RK_DOT. If u->depth is above 1, (*rest * depth + a range of kind RK_DEPTH)
 * takes the place of *rest, with the depth that isa_op_depth gives. Missing values of the last group are multiplied by 0. */
Ref isa_op_group(IR *ir, Ref nest, const IsaOp *u, Ref r, Ref *rest);
Ref isa_op_apply(IR *ir, Ref nest, Opts *o);        /* applies isa_op_group to o->grouped */
#endif

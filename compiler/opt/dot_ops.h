/* SPDX-License-Identifier: MIT */
/* dot_ops.h: computes reductions with dot-product and matrix instructions (target/isa_ops.h). These instructions have an operand
 * x that consists of rows, and an operand y that consists of lanes. For each pair of a row and a lane there is a sum. The
 * instruction multiplies each element of the row by the corresponding element of the lane, and adds the products to this sum.
 * Each row or lane is one or more groups of contiguous elements. For an OP_DOT, x is one row, and each row or lane is one group.
 * For an OP_MMA, there may be several rows, and several groups in each row or lane. */
#ifndef TGC_DOT_OPS_H
#define TGC_DOT_OPS_H
#include "../target/isa_ops.h"
#include "opts.h"

/* Returns NULL if instruction u can compute the reduction over range r, with the values of r in groups. Otherwise returns the
 * reason why not. */
const char *isa_op_refuses(IR *ir, Ref nest, const Target *t, const IsaOp *u, Ref r);
/* Returns the best dot-product instruction for a reduction of the nest, and sets *r to the range whose values the instruction
 * takes in groups. Returns NULL if no dot-product instruction is suitable. */
const IsaOp *isa_op_choose(IR *ir, Ref nest, const Target *t, Ref *r);
/* Returns the RED over r. load[0] and load[1] become the loads in this RED that are operands x and y. The caller must have
 * checked r with isa_op_refuses. */
Ref isa_op_operands(IR *ir, Ref nest, const IsaOp *u, Ref r, Ref load[2]);

/* mma.c: sets *o to the best schedule with a matrix instruction, and returns true. Returns false if no such
 * schedule is legal and faster than a schedule with `other`. other: a dot-product instruction; NULL: plain vectors */
bool tile_opts(IR *ir, Ref nest, const Target *t, const IsaOp *other, Opts *o);

/* For a schedule with a matrix instruction: returns NULL if o tiles the nest as the instruction o->isa_op requires. Otherwise
 * returns the reason why not. */
const char *isa_op_tiling(IR *ir, Ref nest, const Opts *o);

/* Returns the nest with range r replaced by (*rest * depth + e) * u->group + g. Three new ranges take the place of r: *rest, e of
 * kind RK_DEPTH and g of kind RK_DOT. `depth` is the result of isa_op_depth; if depth is 1, e is the constant 0. If u->group does
 * not divide the extent of r, the last group is filled up with products that are 0. */
Ref isa_op_group(IR *ir, Ref nest, const IsaOp *u, Ref r, Ref *rest);
/* Returns the nest after isa_op_group with the instruction o->isa_op and the range o->grouped. Changes o: opts of o->grouped
 * become opts of the new range *rest, and o->isa_op becomes NULL. If o->isa_op is NULL, returns `nest`. */
Ref isa_op_apply(IR *ir, Ref nest, Opts *o);
#endif

/* SPDX-License-Identifier: MIT */
/* interp.h: an interpreter, which defines what the IR means. Tests compare results of generated code with results of the
 * interpreter. Constant folding uses the interpreter, too. */
#ifndef TGC_INTERP_H
#define TGC_INTERP_H
#include "../ir/ir.h"

/* Evaluates outputs[0..n) of a graph. inputs[slot] is the value of the PARAM with this slot: a dense tensor of the PARAM's type
 * and shape. results[0..n) are dense tensors in the arena `a`. steps: most scalar evaluations; 0: no limit. Returns false if this
 * limit is exceeded, or if the number of elements of a value overflows.
 *
 * with_double true: f32, f16 and bf16 values are computed and kept in double; only the results are rounded to their types (the
 * accurate reference). with_double false: the value of each op is rounded to the type of the op, with two exceptions. A reduction
 * of floats accumulates in double, and only the final value is rounded. A product that only a REDUCE(ADD) uses is added
 * unrounded, as a multiply-add does. With IR.half_steps, sums of products of f16 values are rounded each time a product is
 * added. */
bool interp_graph(IR *ir, const Ref *outputs, int n, const Tensor *const *inputs, Arena *a, bool with_double,
                  int64_t steps, Tensor *results);

/* Sets *out to the value of the constant node r. Computed elements are in the arena ir->ctx->model, and each call computes them
 * again. Returns false if r is not constant (Node.varies), or if all calls together exceed the limit of steps
 * (Ctx.limits.fold_steps) or of bytes (Ctx.limits.fold). */
bool interp_const(IR *ir, Ref r, Tensor *out);

/* Evaluates any EXPR op for one element. x[0], x[1], ...: the operands. result: type of the result. operand: type of the last
 * operand. Operands and the returned value have the form of a CONST (ir.h). */
int64_t interp_scalar(Op op, DType result, DType operand, const int64_t *x);
/* Evaluates an op on floats for one element. x[0], x[1], ...: the operands. The returned value is rounded to type d; for a
 * comparison, it is 0 or 1. */
double interp_float(Op op, DType d, const double *x);
double round_to_type(DType d, double v); /* v rounded to d, a float type */

/* Runs a linear program of n micro-ops. mem[i] is the memory of buffer i of ir->bufs. An access outside of the buffer
 * is a BUG. */
void interp_program(const IR *ir, const Ref *list, size_t n, void *const *mem);
/* Runs the part of the program that one thread runs: the chunks `begin` to `end` - 1 of `chunks` chunks. A loop over a range of
 * kind THREAD with extent e takes the values v with begin * e / chunks <= v < end * e / chunks. shift[i]: the element of buffer i
 * from which indices count (pass rebase). shift NULL: all indices count from the first element. */
void interp_chunks(const IR *ir, const Ref *list, size_t n, void *const *mem, const int64_t *shift, int64_t begin, int64_t end,
                   int64_t chunks);
/* As interp_chunks, in a run with the RunSizes `sizes`. In a run of interp_chunks, each symbol has its greatest size. */
void interp_run(const IR *ir, const Ref *list, size_t n, const int64_t *sizes, void *const *mem, const int64_t *shift,
                int64_t begin, int64_t end, int64_t chunks);
#endif

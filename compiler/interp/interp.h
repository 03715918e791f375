/* SPDX-License-Identifier: MIT */
/* interp.h: an interpreter, which defines what the IR means. Tests compare results with its results, and constant folding uses
 * it. */
#ifndef TGC_INTERP_H
#define TGC_INTERP_H
#include "../ir/ir.h"

/* Evaluates outputs[0..n) of a graph. inputs[slot] are dense tensors of the PARAMs' types and shapes. Results are dense and
 * allocated in the arena `a`. Large views, such as the im2col of a convolution, are never materialized. with_double: f32, f16 and
 * bf16 are computed and kept in double, and rounded once at the end (the accurate reference). Otherwise each op rounds to its
 * type, but reductions of floats accumulate in double and round once. A product that only a REDUCE(ADD) uses is summed unrounded,
 * as a multiply-add does. If IR.half_steps is set, a sum of halves is rounded to a half after each product. steps: greatest
 * number of scalar evaluations, 0: no limit. Returns false if the limit is exceeded. */
bool interp_graph(IR *ir, const Ref *outputs, int n, const Tensor *const *inputs, Arena *a, bool with_double,
                  int64_t steps, Tensor *results);

/* Value of a node that is the same in every run, as a Tensor in ir->ctx->model. Each call computes the value again. False if r is
 * not constant (Node.varies), or if the budget limits.fold_steps or limits.fold is exceeded. */
bool interp_const(IR *ir, Ref r, Tensor *out);

/* One scalar operation, for all EXPR ops; operands and result are bits as a CONST node holds them. */
int64_t interp_scalar(Op op, DType result, DType operand, const int64_t *x);
/* The same for ops on floats. Operands are doubles, and the result is rounded to d; compares give 0 or 1. */
double interp_float(Op op, DType d, const double *x);
double round_to_type(DType d, double v); /* floats only */

/* Runs a linear program over memory: mem[i] is the storage of buffer i of ir->bufs. An access outside of its buffer is a BUG. */
void interp_program(const IR *ir, const Ref *list, size_t n, void *const *mem);
/* Runs one thread's part of the program. A loop over a `thread` range of extent e takes the values from begin * e / chunks to
 * before end * e / chunks. shift: by buffer, the element from which indices count (pass rebase); NULL: the first one. */
void interp_chunks(const IR *ir, const Ref *list, size_t n, void *const *mem, const int64_t *shift, int64_t begin, int64_t end,
                   int64_t chunks);
/* The same in a run with these sizes, by symbol. interp_chunks takes the greatest size of each symbol. */
void interp_run(const IR *ir, const Ref *list, size_t n, const int64_t *sizes, void *const *mem, const int64_t *shift,
                int64_t begin, int64_t end, int64_t chunks);
#endif

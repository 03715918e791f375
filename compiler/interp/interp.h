/* interp.h: the executable definition of the IR. Exact, made for clarity before speed; used as oracle
 * and by constant folding. */
#ifndef TGC_INTERP_H
#define TGC_INTERP_H
#include "../ir/ir.h"

/* Evaluates outputs[0..n) of a graph. inputs[slot] are dense tensors of the PARAMs' types and
 * shapes. Results are dense, allocated in a. Intermediate values that are large views (the im2col
 * of a convolution) are never materialised. with_double: f32/f16/bf16 arithmetic is carried out and
 * kept in double, rounded once at the end (the accurate reference); otherwise each op rounds to its
 * type, and reductions of floats are accumulated in double and rounded once. A product that only a
 * REDUCE(ADD) uses is summed unrounded, as multiply-adds do.
 * steps: budget of scalar evaluations, 0 for none; false when it ran out. */
bool interp_graph(IR *ir, const Ref *outputs, int n, const Tensor *const *inputs, Arena *a, bool with_double,
                  int64_t steps, Tensor *results);

/* The value of a node that depends on no PARAM, as a Tensor of c->model; memoised per call site by
 * the caller. false when it depends on a PARAM or the budget limits.fold_steps / limits.fold ran out. */
bool interp_const(IR *ir, Ref r, Tensor *out);

/* One scalar operation on constants in their CONST bits; the single definition of every EXPR op,
 * shared by folding, both interpreters and the tests. */
int64_t interp_scalar(Op op, DType result, DType operand, const int64_t *x);
/* The same for ops on floats, over doubles: rounded to d; compares give 0 or 1. */
double interp_float(Op op, DType d, const double *x);
double round_to_type(DType d, double v); /* floats only */

/* Runs a linear program over memory: mem[i] is the storage of buffer i of ir->bufs. The executable
 * meaning of the program level; checks every access against the buffer's extent with BUG. */
void interp_program(const IR *ir, const Ref *list, size_t n, void *const *mem);
/* The part of it that a thread is given: of every loop over a `thread` range of e, [begin * e / chunks, end * e / chunks).
 * shift: elements of each buffer that its indices are counted from (pass rebase); NULL: from the first */
void interp_chunks(const IR *ir, const Ref *list, size_t n, void *const *mem, const int64_t *shift, int64_t begin, int64_t end,
                   int64_t chunks);
#endif

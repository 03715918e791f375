/* SPDX-License-Identifier: MIT */
/* functions.h: the work of functions of f32 that kernels compute by arithmetic, as lower/libm.c writes it. Columns of FUNCTION:
 *   - the op
 *   - multiplications
 *   - other instructions on vectors; an OP_SCALB at the end counts as 2
 *   - quotients
 *   - length of the longest chain of dependent operations, in multiplications; three other instructions count as one
 *     multiplication
 *   - whether the last step is OP_SCALB. For a machine without an instruction for OP_SCALB, function_cost (issue.c) then adds 2
 *     multiplications, 4 other instructions, and 1 to the chain.
 * tests/unit/program_time.c counts the same operations in the expressions of lower/libm.c. */
/* clang-format off */
FUNCTION(EXP,   9,  5, 0, 12, true)
FUNCTION(EXP2,  6,  7, 0, 11, true)
FUNCTION(LOG,  16, 19, 0, 18, false)
FUNCTION(LOG2, 16, 21, 0, 20, false)
FUNCTION(TANH, 17, 12, 1, 18, false)
FUNCTION(ERF,  20,  9, 0, 21, false)
FUNCTION(SIN,  28, 76, 0, 23, false)
FUNCTION(COS,  28, 76, 0, 23, false)
/* clang-format on */

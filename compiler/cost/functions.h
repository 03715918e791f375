/* SPDX-License-Identifier: MIT */
/* functions.h: the work of functions of f32 that kernels compute by arithmetic. lower/libm.c writes this arithmetic. Columns of
 * FUNCTION:
 *   - the op
 *   - number of multiplications
 *   - number of other instructions on vectors, without divisions. An OP_SCALB at the end counts as 2
 *   - number of divisions
 *   - latency of the longest chain of dependent operations, rounded. The unit is the latency of a multiplication. Additions
 *     and subtractions of floats, lookups, and an OP_SCALB at the end count as 1. Divisions count as 3, and all other
 *     instructions as 1/3
 *   - whether the last step is OP_SCALB
 *
 * For an op with a row of BY_LOOKUP, this row counts if target_looks_up is true for the lanes of the op's result. The columns
 * of BY_LOOKUP are the op, the numbers of multiplications, other instructions and lookups, and the latency of the longest chain.
 *
 * The machine may have no instruction for OP_SCALB. For functions with this last step, function_cost (issue.c) then adds 2 to the
 * multiplications, 4 to the other instructions, and 1 to the chain. tests/unit/program_time.c checks the numbers of all rows
 * against the arithmetic of lower/libm.c. */
/* clang-format off */
FUNCTION(EXP,   9,  5, 0, 12, true)
FUNCTION(EXP2,  6,  7, 0, 11, true)
FUNCTION(LOG,  16, 19, 0, 18, false)
FUNCTION(LOG2, 16, 21, 0, 20, false)
FUNCTION(TANH, 17, 12, 1, 18, false)
FUNCTION(ERF,  20,  9, 0, 21, false)
FUNCTION(SIN,  28, 76, 0, 23, false)
FUNCTION(COS,  28, 76, 0, 23, false)
#ifdef BY_LOOKUP
BY_LOOKUP(ERF, 6,  7, 7, 9)
#endif
/* clang-format on */

/* SPDX-License-Identifier: MIT */
/* ops.h: the table of ops, with a row for each op. Many parts of the compiler include this table. The index of docs/ir.md is made
 * from the table. The columns:
 *
 * level    the levels of the IR at which the op occurs. VALUE: constants and sizes of a run, at all levels. EXPR: elementwise
 *          ops, at all levels. GRAPH: ops on tensors. KERNEL: ops of kernels; BUFFER, RANGE, LOAD and STORE also occur in
 *          linear programs. PROG: ops of linear programs, and of nests with lanes
 * in       number of operands, which are the sources of a node; V: one or more; S: any number
 * type     result type, then operand types in parentheses. T: any type, but the same type at each T of the row; b: bool; i: the
 *          type of indices; *: any type. If the result type is *, the row does not tell it
 * operands names of the operands, separated by blanks. name?: the operand may be absent; name...: all further operands. Empty:
 *          the operands have no names
 * args     the integer arguments as name:kind, separated by blanks. Kinds: i one integer; l one integer per dimension of the
 *          (first) operand; v one integer per lane; m bit mask of axes, printed as a list; c bits of a constant of the node's
 *          type; u one integer, always the last argument; texts leave it out if it is 0; o an op; O an op or none; s an
 *          interned string; k a RangeKind
 * alg      properties of the op on integers: COMM commutative, ASSOC associative, IDEM idempotent. MOVE: the op only moves
 *          elements
 * takes    operand types of an elementwise op. ANY: all types; NUM: floats and integers; INT: integers; BITS: integers and bools;
 *          FLT: floats
 * cost     the CostClass (ir.h) that gives the op's price
 * c        infix operator of C and similar languages; NO: none
 * libm     FN(name): the function `name` of math.h, on double; NO: none
 * gloss    a description of the op
 *
 * A row with a missing cell does not compile. A row of cost FUNC or LIBM must have a function in the column libm. */
/* clang-format off */
/* name       level   in  type        operands                    args                     alg              takes cost    c     libm           gloss */
/* leaves */
OP(CONST,     VALUE,  0,  "*()",      "",                         "value:c",               0,               ANY,  NONE,   NO,   NO,            "a scalar constant")
OP(PARAM,     GRAPH,  0,  "*()",      "",                         "slot:i",                0,               ANY,  NONE,   NO,   NO,            "an input of the graph")
OP(WEIGHT,    GRAPH,  0,  "*()",      "",                         "id:i",                  0,               ANY,  NONE,   NO,   NO,            "a constant tensor held in the tensor table")
OP(IOTA,      GRAPH,  0,  "*()",      "",                         "",                      0,               ANY,  NONE,   NO,   NO,            "0, 1, 2, ... along its only axis")
/* elementwise, one source */
OP(CAST,      EXPR,   1,  "*(T)",     "",                         "",                      0,               ANY,  ALU,    NO,   NO,            "convert; floats to integers saturate, NaN becomes 0")
OP(BITCAST,   EXPR,   1,  "*(T)",     "",                         "",                      0,               ANY,  ALU,    NO,   NO,            "same bits, another type of the same width")
OP(NEG,       EXPR,   1,  "T(T)",     "",                         "",                      0,               NUM,  ALU,    NO,   NO,            "minus x; integers wrap")
OP(ABS,       EXPR,   1,  "T(T)",     "",                         "",                      0,               NUM,  ALU,    NO,   NO,            "absolute value; the least integer stays itself")
OP(NOT,       EXPR,   1,  "T(T)",     "",                         "",                      0,               BITS, ALU,    NO,   NO,            "logical not of bools, bitwise not of integers")
OP(RECIP,     EXPR,   1,  "T(T)",     "",                         "",                      0,               FLT,  DIV,    NO,   NO,            "1 / x, correctly rounded")
OP(SQRT,      EXPR,   1,  "T(T)",     "",                         "",                      0,               FLT,  DIV,    NO,   FN(sqrt),      "square root, correctly rounded")
OP(TRUNC,     EXPR,   1,  "T(T)",     "",                         "",                      0,               FLT,  ALU,    NO,   FN(trunc),     "round towards zero")
OP(FLOOR,     EXPR,   1,  "T(T)",     "",                         "",                      0,               FLT,  ALU,    NO,   FN(floor),     "round down")
OP(CEIL,      EXPR,   1,  "T(T)",     "",                         "",                      0,               FLT,  ALU,    NO,   FN(ceil),      "round up")
OP(ROUND,     EXPR,   1,  "T(T)",     "",                         "",                      0,               FLT,  ALU,    NO,   FN(nearbyint), "round to nearest, halves to even")
OP(EXP,       EXPR,   1,  "T(T)",     "",                         "",                      0,               FLT,  FUNC,   NO,   FN(exp),       "e to the x")
OP(EXP2,      EXPR,   1,  "T(T)",     "",                         "",                      0,               FLT,  FUNC,   NO,   FN(exp2),      "2 to the x")
OP(LOG,       EXPR,   1,  "T(T)",     "",                         "",                      0,               FLT,  FUNC,   NO,   FN(log),       "natural logarithm")
OP(LOG2,      EXPR,   1,  "T(T)",     "",                         "",                      0,               FLT,  FUNC,   NO,   FN(log2),      "logarithm to base 2")
OP(SIN,       EXPR,   1,  "T(T)",     "",                         "",                      0,               FLT,  FUNC,   NO,   FN(sin),       "sine, radians")
OP(COS,       EXPR,   1,  "T(T)",     "",                         "",                      0,               FLT,  FUNC,   NO,   FN(cos),       "cosine, radians")
OP(TAN,       EXPR,   1,  "T(T)",     "",                         "",                      0,               FLT,  LIBM,   NO,   FN(tan),       "tangent, radians")
OP(ASIN,      EXPR,   1,  "T(T)",     "",                         "",                      0,               FLT,  LIBM,   NO,   FN(asin),      "arc sine")
OP(ACOS,      EXPR,   1,  "T(T)",     "",                         "",                      0,               FLT,  LIBM,   NO,   FN(acos),      "arc cosine")
OP(ATAN,      EXPR,   1,  "T(T)",     "",                         "",                      0,               FLT,  LIBM,   NO,   FN(atan),      "arc tangent")
OP(SINH,      EXPR,   1,  "T(T)",     "",                         "",                      0,               FLT,  LIBM,   NO,   FN(sinh),      "hyperbolic sine")
OP(COSH,      EXPR,   1,  "T(T)",     "",                         "",                      0,               FLT,  LIBM,   NO,   FN(cosh),      "hyperbolic cosine")
OP(TANH,      EXPR,   1,  "T(T)",     "",                         "",                      0,               FLT,  FUNC,   NO,   FN(tanh),      "hyperbolic tangent")
OP(ASINH,     EXPR,   1,  "T(T)",     "",                         "",                      0,               FLT,  LIBM,   NO,   FN(asinh),     "inverse hyperbolic sine")
OP(ACOSH,     EXPR,   1,  "T(T)",     "",                         "",                      0,               FLT,  LIBM,   NO,   FN(acosh),     "inverse hyperbolic cosine")
OP(ATANH,     EXPR,   1,  "T(T)",     "",                         "",                      0,               FLT,  LIBM,   NO,   FN(atanh),     "inverse hyperbolic tangent")
OP(ERF,       EXPR,   1,  "T(T)",     "",                         "",                      0,               FLT,  FUNC,   NO,   FN(erf),       "error function")
/* elementwise, two sources */
OP(ADD,       EXPR,   2,  "T(T,T)",   "",                         "",                      COMM|ASSOC,      NUM,  ALU,    "+",  NO,            "sum; integers wrap")
OP(SUB,       EXPR,   2,  "T(T,T)",   "",                         "",                      0,               NUM,  ALU,    "-",  NO,            "difference; integers wrap")
OP(MUL,       EXPR,   2,  "T(T,T)",   "",                         "",                      COMM|ASSOC,      ANY,  ALU,    "*",  NO,            "product; integers wrap; AND for bools")
OP(DIV,       EXPR,   2,  "T(T,T)",   "",                         "",                      0,               NUM,  DIV,    "/",  NO,            "quotient; integers truncate, x / 0 is 0")
OP(MOD,       EXPR,   2,  "T(T,T)",   "",                         "",                      0,               NUM,  MOD,    NO,   FN(fmod),      "remainder with the sign of x: for floats fmod of C, for integers x - y * DIV(x, y), or 0 if y is 0")
OP(FLDIV,     EXPR,   2,  "T(T,T)",   "",                         "",                      0,               INT,  MOD,    "/",  NO,            "integer quotient rounded down; x / 0 is 0")
OP(FLMOD,     EXPR,   2,  "T(T,T)",   "",                         "",                      0,               INT,  MOD,    "%",  NO,            "integer x - y * FLDIV(x, y), which has the sign of y; 0 if y is 0")
OP(MAX,       EXPR,   2,  "T(T,T)",   "",                         "",                      COMM|ASSOC|IDEM, ANY,  ALU,    NO,   NO,            "greater one; NaN if either is; OR for bools")
OP(MIN,       EXPR,   2,  "T(T,T)",   "",                         "",                      COMM|ASSOC|IDEM, ANY,  ALU,    NO,   NO,            "lesser one; NaN if either is; AND for bools")
OP(POW,       EXPR,   2,  "T(T,T)",   "",                         "",                      0,               FLT,  FUNC,   NO,   FN(pow),       "x to the y, as C pow")
OP(ATAN2,     EXPR,   2,  "T(T,T)",   "",                         "",                      0,               FLT,  LIBM,   NO,   FN(atan2),     "angle of (y, x), as C atan2")
OP(CMPLT,     EXPR,   2,  "b(T,T)",   "",                         "",                      0,               ANY,  ALU,    "<",  NO,            "x < y; false on NaN")
OP(CMPLE,     EXPR,   2,  "b(T,T)",   "",                         "",                      0,               ANY,  ALU,    "<=", NO,            "x <= y; false on NaN")
OP(CMPEQ,     EXPR,   2,  "b(T,T)",   "",                         "",                      COMM,            ANY,  ALU,    "==", NO,            "x == y; false on NaN")
OP(CMPNE,     EXPR,   2,  "b(T,T)",   "",                         "",                      COMM,            ANY,  ALU,    "!=", NO,            "x != y; true on NaN")
OP(AND,       EXPR,   2,  "T(T,T)",   "",                         "",                      COMM|ASSOC|IDEM, BITS, ALU,    "&",  NO,            "bitwise and; logical for bools")
OP(OR,        EXPR,   2,  "T(T,T)",   "",                         "",                      COMM|ASSOC|IDEM, BITS, ALU,    "|",  NO,            "bitwise or; logical for bools")
OP(XOR,       EXPR,   2,  "T(T,T)",   "",                         "",                      COMM|ASSOC,      BITS, ALU,    "^",  NO,            "bitwise exclusive or")
OP(SHL,       EXPR,   2,  "T(T,T)",   "",                         "",                      0,               INT,  ALU,    NO,   NO,            "shift left; 0 when y is not below the width")
OP(SHR,       EXPR,   2,  "T(T,T)",   "",                         "",                      0,               INT,  ALU,    NO,   NO,            "shift right, arithmetic when signed; copies of the sign bit, or 0 if unsigned, when y is not below the width")
/* elementwise, three sources */
OP(WHERE,     EXPR,   3,  "T(b,T,T)", "cond yes no",              "",                      0,               ANY,  ALU,    NO,   NO,            "cond ? yes : no")
OP(MULACC,    EXPR,   3,  "T(T,T,T)", "x y sum",                  "",                      0,               NUM,  ALU,    NO,   NO,            "x * y + sum, one or two roundings")
/* movement of tensors: each element of the result is an element of a source, or a fill value */
OP(RESHAPE,   GRAPH,  1,  "T(T)",     "",                         "",                      MOVE,            ANY,  NONE,   NO,   NO,            "same elements in row-major order, new shape")
OP(EXPAND,    GRAPH,  1,  "T(T)",     "",                         "",                      MOVE,            ANY,  NONE,   NO,   NO,            "repeats axes of extent 1; same rank")
OP(PERMUTE,   GRAPH,  1,  "T(T)",     "",                         "perm:l",                MOVE,            ANY,  NONE,   NO,   NO,            "axis i of the result is axis perm[i] of the source")
OP(SHRINK,    GRAPH,  1,  "T(T)",     "",                         "begin:l step:l",        MOVE,            ANY,  NONE,   NO,   NO,            "element j of axis i is element begin + j * step; step may be negative")
OP(WINDOW,    GRAPH,  1,  "T(T)",     "",                         "axis:i stride:i dilation:i", MOVE,            ANY,  NONE,   NO,   NO,            "splits axis into (out, k): element out * stride + k * dilation; k is a new last axis")
OP(PAD,       GRAPH,  2,  "T(T,T)",   "data fill",                "lo:l hi:l",             MOVE,            ANY,  PAD,    NO,   NO,            "adds lo and hi elements (not negative) around the source, filled with the scalar fill")
OP(CAT,       GRAPH,  V,  "T(T,T)",   "part...",                  "axis:i",                MOVE,            ANY,  ALU,    NO,   NO,            "concatenates the sources along axis")
/* tensors: the rest */
OP(GATHER,    GRAPH,  2,  "T(T,i)",   "data index",               "axis:i",                0,               ANY,  GATHER, NO,   NO,            "the element of data whose position on axis is the value of index (i64, in range); same shape as index")
OP(SCATTER,   GRAPH,  3,  "T(T,i,T)", "data index updates",       "op:O axis:i",           0,               ANY,  ALU,    NO,   NO,            "data, changed by updates in order along axis: each replaces the element at position index (i64), or is combined with it by op; an index out of range is ignored")
OP(WALK,      GRAPH,  5,  "*(T,*,T,*,*)", "data feature split next start", "steps:i",      0,               ANY,  GATHER, NO,   NO,            "search trees: for row i and tree j, p begins as start[j] and becomes next[p] + (data[i, feature[p]] <= split[p]) `steps` times; the result holds p")
OP(REDUCE,    GRAPH,  1,  "T(T)",     "",                         "op:o axes:m",           0,               ANY,  ALU,    NO,   NO,            "ADD, MUL, MAX or MIN over axes, which keep extent 1")
/* loops: the body of a loop consists of the SLICEs and CARRIEDs of this loop, and of all values between them and the ITERATE */
OP(STORED,    GRAPH,  1,  "T(T)",     "",                         "",                      0,               ANY,  NONE,   NO,   NO,            "the same value, in memory of its own")
OP(SLICE,     GRAPH,  1,  "T(T)",     "",                         "loop:i axis:i reverse:i", 0,             ANY,  NONE,   NO,   NO,            "element i along axis of a STORED, where i is the number of the iteration, counted from the end with reverse=1; the result lacks the axis")
OP(CARRIED,   GRAPH,  1,  "T(T)",     "",                         "loop:i place:i",        0,               ANY,  NONE,   NO,   NO,            "a value carried by the loop: the source in the first iteration, later the value of the YIELD with the same place in the iteration before")
OP(YIELD,     GRAPH,  1,  "T(T)",     "",                         "loop:i place:i axis:i reverse:i", 0,     ANY,  NONE,   NO,   NO,            "the result of an iteration: the next value of a place; with place=-1, a slice along a new axis of the result, in the order of iterations or reversed")
OP(ITERATE,   GRAPH,  S,  "*()",      "yield...",                 "loop:i trips:i while:u", 0,              ANY,  NONE,   NO,   NO,            "runs the body `trips` times, at least once. With while=n, once yield n - 1 (a bool, counted from 0) was false, further iterations change nothing, and a run may omit them")
OP(RESULT,    GRAPH,  1,  "*(*)",     "",                         "at:i",                  0,               ANY,  NONE,   NO,   NO,            "the result of yield number `at` of an ITERATE: the last value of a place, or with place=-1 all slices")
/* branches: a run takes one of two sides. The run need not compute values that only the arms of the other side use */
OP(ARM,       GRAPH,  1,  "T(T)",     "",                         "branch:i at:i",         0,               ANY,  NONE,   NO,   NO,            "the same value, in the memory of a branch: with at=0 its condition, and from at=1 on what its sides give")
OP(BRANCH,    GRAPH,  S,  "*()",      "arm...",                   "branch:i",              0,               ANY,  NONE,   NO,   NO,            "BRANCH(condition, yes..., no...): the results of one side; runs need not compute the other one")
OP(CHOSEN,    GRAPH,  1,  "*(*)",     "",                         "at:i",                  0,               ANY,  NONE,   NO,   NO,            "result number `at` of a BRANCH: that value of `yes` if the condition is true, else that of `no`")
/* kernels: scalar expressions over ranges */
OP(BUFFER,    KERNEL, 0,  "*()",      "",                         "id:i",                  0,               ANY,  NONE,   NO,   NO,            "memory: row id of the buffer table; the type is that of an element")
OP(SIZE,      VALUE,  0,  "*()",      "",                         "id:i most:i",           0,               ANY,  NONE,   NO,   NO,            "the value in this run of row `id` of the table of sizes: i64, from 0 to most")
OP(RANGE,     KERNEL, 0,  "*()",      "",                         "extent:i id:i kind:k limit:u", 0,        ANY,  NONE,   NO,   NO,            "a loop variable 0 <= r < extent: i64, and in programs also i32. With a limit, r is also below a size of this run: row limit - 1 of the table of sizes")
OP(LOAD,      KERNEL, S,  "*()",      "buffer index gate? else?", "",                      0,               ANY,  MEM,    NO,   NO,            "LOAD(buffer, index) or LOAD(buffer, index, gate, else): an element; the value else where the gate is false")
OP(STORE,     KERNEL, S,  "*()",      "buffer index value gate?", "",                      0,               ANY,  MEM,    NO,   NO,            "STORE(buffer, index, value) or STORE(buffer, index, value, gate): stores an element, or nothing where the gate is false")
OP(RED,       KERNEL, S,  "T(T)",     "value range...",           "op:o",                  0,               ANY,  NONE,   NO,   NO,            "RED(value, range...): combines value by op over all the ranges")
OP(HELD,      KERNEL, S,  "T(T)",     "init key...",              "steps:i id:i",          0,               ANY,  NONE,   NO,   NO,            "HELD(init, key...): in the REPEAT that names it, the value before a step; init before the first. Keys: indices on which this value depends")
OP(REPEAT,    KERNEL, 2,  "T(T,T)",   "value held",               "",                      0,               ANY,  NONE,   NO,   NO,            "REPEAT(value, held): what is held after the steps; each step replaces it by value, which is computed from held")
OP(NEST,      KERNEL, S,  "*()",      "body range...",            "",                      0,               ANY,  NONE,   NO,   NO,            "NEST(body, range...): runs the store, or the sink of stores, for all values of the ranges, outermost first")
OP(SINK,      KERNEL, S,  "*()",      "part...",                  "",                      0,               ANY,  NONE,   NO,   NO,            "the nests of a kernel, in order")
/* vectors */
OP(BCAST,     PROG,   1,  "T(T)",     "",                         "",                      0,               ANY,  ALU,    NO,   NO,            "a scalar in every lane")
OP(VEC,       PROG,   S,  "T(T)",     "lane...",                  "",                      0,               ANY,  ALU,    NO,   NO,            "a vector from one scalar per lane")
OP(LANE,      PROG,   1,  "T(T)",     "",                         "lane:i",                0,               ANY,  ALU,    NO,   NO,            "one lane of a vector")
OP(SCALB,     PROG,   2,  "T(T,T)",   "",                         "",                      0,               ANY,  ALU,    NO,   NO,            "SCALB(x, y): x times 2 to the y, rounded once; y is a whole number, or NaN where x is NaN")
OP(SHUFFLE,   PROG,   2,  "T(T,T)",   "",                         "lanes:v",               0,               ANY,  ALU,    NO,   NO,            "a vector of lanes chosen from two vectors of equal length; lanes of the second are numbered after those of the first")
OP(LOOKUP,    PROG,   2,  "T(T,*)",    "table index",              "",                      0,               ANY,  ALU,    NO,   NO,            "LOOKUP(table, index): for each lane of index, of type u32, the lane of table with that number, modulo the lanes of table")
OP(DOT,       PROG,   3,  "T(T,*,*)", "sum x y",                  "",                      0,               ANY,  ALU,    NO,   NO,            "DOT(sum, x, y): each lane of sum plus the sum of products of its groups in x and y; if x has one group, it serves all lanes")
OP(TILE,      PROG,   2,  "*()",      "buffer index",             "rows:i stride:i",       0,               ANY,  MEM,    NO,   NO,            "TILE(buffer, index): a block of memory as one value; row i starts stride elements after row i - 1")
OP(MMA,       PROG,   3,  "T(T,*,*)", "sum x y",                  "rows:i depth:i",        0,               ANY,  ALU,    NO,   NO,            "MMA(sum, x, y): sum plus the matrix product of x and y; depth counts groups; x has its groups by row and depth, y by depth and column")
OP(WMMA,      PROG,   3,  "T(T,*,*)", "sum x y",                  "m:i n:i k:i unit:s",    0,               ANY,  ALU,    NO,   NO,            "WMMA(sum, x, y): a fragment of sum plus the matrix product of x, m x k, and y, k x n; the threads of a warp hold fragments of all of them")
OP(SPILL,     PROG,   1,  "T(T)",     "",                         "",                      0,               ANY,  MEM,    NO,   NO,            "stores a tile to memory, from which PART reads it")
OP(PART,      PROG,   2,  "T(T,i)",   "tile index",               "",                      0,               ANY,  MEM,    NO,   NO,            "PART(tile, index): consecutive elements of a spilled tile, from index on")
OP(TILES,     PROG,   0,  "*()",      "",                         "id:i",                  0,               ANY,  NONE,   NO,   NO,            "marks the start of a nest that multiplies tiles")
OP(PREFETCH,  PROG,   2,  "*()",      "buffer index",             "near:i",                0,               ANY,  MEM,    NO,   NO,            "PREFETCH(buffer, index): requests that an element is brought into the nearest cache or the next one, before a load needs it; changes no value")
OP(HRED,      PROG,   1,  "T(T)",     "",                         "op:o",                  0,               ANY,  ALU,    NO,   NO,            "combines all lanes by op, in a fixed tree: lane i of the lower half first meets lane i of the upper half")
/* programs: a program is a list of ops. The body of a loop is the ops between its LOOP and its END */
OP(LOOP,      PROG,   S,  "*()",      "range gate?",              "",                      0,               ANY,  NONE,   NO,   NO,            "LOOP(range) or LOOP(range, gate): runs for each value of the range, or not at all if the gate is false")
OP(END,       PROG,   1,  "*()",      "range",                    "",                      0,               ANY,  NONE,   NO,   NO,            "closes the loop of the range")
OP(BARRIER,   PROG,   0,  "*()",      "",                         "id:i",                  0,               ANY,  NONE,   NO,   NO,            "no thread of the block goes on until all have arrived; then each sees what the others stored before")
OP(SHFLXOR,   PROG,   1,  "T(T)",     "",                         "mask:i",                0,               ANY,  ALU,    NO,   NO,            "SHFLXOR(x): the value that x has in another thread of the warp: the one whose number differs in the single bit of mask. Each of the two threads waits for the other")
OP(ACC,       PROG,   S,  "*()",      "init",                     "id:i",                  0,               ANY,  NONE,   NO,   NO,            "ACC(initial value): a variable, which SET changes")
OP(SET,       PROG,   2,  "*()",      "acc value",                "",                      0,               ANY,  NONE,   NO,   NO,            "SET(acc, value): the variable takes a new value")
OP(GET,       PROG,   S,  "*()",      "acc set...",               "",                      0,               ANY,  NONE,   NO,   NO,            "GET(acc, set...): the variable's value after the sets")
/* clang-format on */

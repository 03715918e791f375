/* SPDX-License-Identifier: MIT */
/* dialect.h: the spellings in which languages like C differ, as a table. exprs.c and cstyle.c print programs from it, and
 * helpers.c prints the prelude: the helper functions that the kernels call. c.c has the table for C.
 *
 * Most fields of the table are forms. A form is text in which these words are replaced:
 *   $T  the type of the result      $E  type of an element      $H  the type with half the lanes    $S  suffix of names: f32x8
 *   $U  unsigned integers of the width of $T    $I  signed integers of that width     $F  float element of that width
 *   $B  number of bits of an element    $N  number of lanes     $P  2 * $N   $Q  4 * $N    $L  numbers of the lanes: 0, 1, ...
 *   $D  the IR's name of an element's type     $M(sqrt)  the name in math.h of this function for the type: sqrtf for float
 *   $(i64)  the type with this name in the IR
 * Forms of expressions, but not of helpers, also have these:
 *   $0 $1 $2  operands 0, 1 and 2, in parentheses where they need them    $a $b $c  the same without outer parentheses
 *   $t $s     the first operand's type, and its suffix of names
 *   $k $x     a number in decimal, and the same number in hexadecimal; the field says which number it is
 *   $d        the letter of dimension $k of a launch: x, y or z
 *   $g        the address space of the memory that is accessed    $q  "const " if that memory is read-only, else ""
 *   $m        the vector's type in memory, as a suffix of names: u8x16 */
#ifndef TGC_DIALECT_H
#define TGC_DIALECT_H
#include "backends.h"

typedef struct Dialect {
  /* ---- types ---- */
  const char *type[DT_COUNT]; /* type of an element in memory, such as "float"; f16 and bf16 are stored as integers */
  const char *truth;       /* type of a single bool in a register, 0 or 1. A vector of bools has lanes of 32 bits, 0 or -1 */
  const char *vector;      /* name of a vector type. $D and $E: the type of a lane in a register. Only $D, $E and
                              $N are replaced */
  /* ---- constants; $a stands for the constant's digits ---- */
  const char *i64, *u64;   /* i64: constants of type i64 that exceed 32 bits; u64: all constants of type u64 */
  const char *least32, *least64; /* constants for the least i32 and the least i64 */
  const char *nearest;     /* function that rounds to a whole number, ties to even: "nearbyint" */
  const char *single;      /* suffix of math.h functions for floats: "f" or "" */
  /* ---- functions ---- */
  const char *kernel;      /* words before the name of a kernel. If a driver starts the kernels, $k is the number of a block's
                              threads */
  const char *helper;      /* words before the name of a helper */
  const char *global;      /* address space of buffers; "": the language has one address space */
  const char *restricted;  /* qualifier of pointers to memory that no other parameter points to */
  const char *local;       /* words before a declaration of a kernel's own memory, such as an alignment */
  const char *loop;        /* head of a loop: variable $0 of type $T runs from $a to $b - 1. The loop's body follows in braces */
  /* ---- kernels that a driver starts, with many threads each; all fields are NULL if the language has no such kernels ---- */
  /* parameter: a kernel's parameters for buffer $k. If `pointer` is NULL, this is b$k, a pointer to the buffer's first element.
   * Else these are a pointer to memory and the buffer's offset in it, and `pointer` is a statement that makes b$k of the two.
   * In both forms, $0 is the field `restricted`, or "" if other parameters may point to the same memory. In `parameter`, $a is
   * the number of buffers whose parameters stand before */
  const char *parameter, *pointer;
  const char *places;      /* parameters behind those of the buffers, which the forms `block` and `thread` use; NULL: none */
  const char *block, *thread; /* number of the block, and of the thread in its block, in dimension $k */
  const char *shared;      /* storage class of shared memory */
  const char *aligned;     /* words behind a declaration of shared memory that align it for any vector; NULL: there are none */
  /* Lines before innermost loops that access panels in shared memory, so that the compiler unrolls these loops. unroll[0]: before
   * loops over the terms of a sum; unroll[1]: before other loops, which copy. NULL: no line */
  const char *unroll[2];
  const char *barrier;     /* statement at which the threads of a block wait for each other */
  bool parts_wait;         /* print further barriers around the parts of a launch that have barriers, for PoCL (places.c) */
  const char *exchange;    /* the value of $a in another thread of this warp. The number of that thread is this
                              thread's number XOR $k */
  const char *warp_kernel; /* takes the place of `kernel` if threads of a warp exchange values. $k: threads of a warp */
  /* ---- vectors ---- */
  const char *load, *store; /* loads or stores a vector at address $0; $c is the value to store */
  const char *load_aligned, *store_aligned; /* the same at an address that is aligned for the vector; NULL: use load and store */
  /* Text of a cast before a vector that is loaded under a gate. The load is a side of ?:, and C wants the type of the other side.
   * "": the language needs no cast */
  const char *loaded;
  const char *truth_from, *truth_to; /* converts bytes 0 and 1 to a vector of bools, and a vector of bools to such bytes */
  const char *truth_splat; /* a bool in all lanes */
  const char *mask;        /* converts the result of a comparison of vectors to a vector of bools */
  const char *zero;        /* a vector of zeros */
  const char *list[2];     /* text before and behind the list of a vector's lanes */
  const char *lane;        /* lane number $k, or $x in hexadecimal */
  const char *convert;     /* converts to another type, lane by lane */
  const char *bits;        /* the same bits as another type */
  const char *pick[2];     /* a shuffle: text before and behind the numbers of the lanes; NULL: `list` is printed, lane by lane */
  /* ---- hints; NULL: none ---- */
  const char *fence;       /* ends the iterations of some reductions, so that the C compiler keeps no operand for the next one */
  const char *keep;        /* asks the C compiler to load vector $0 once and keep it in a register */
  const char *prefetch;    /* prefetches element $b of buffer $0. $k: 3 for the first-level cache, 2 for the second-level one */
  /* ---- helpers: files of parts (parts.h). All dialects share the helpers of scalars.c.in ---- */
  const char *parts;       /* name of a file of runtime_stub with this dialect's helpers; NULL: none */
  const char *more;        /* text of further parts; NULL: none */
} Dialect;

/* ---- exprs.c ---- */
/* The type of a value with `lanes` lanes of d: "float", or "f32x8". The text lies in buf. */
const char *dialect_type(const Dialect *l, DType d, int lanes, char buf[32]);
/* The suffix of names of functions for a value with `lanes` lanes of d: "f32" or "f32x8". The text lies in buf. */
const char *type_suffix(DType d, int lanes, char buf[32]);
/* Prints the replacement of a word that all forms may have. s: the text behind the word's $. d, lanes: type of the form's result.
 * Returns the text behind the word. */
const char *dialect_word(const Dialect *l, Sb *o, const char *s, DType d, int lanes);

/* ---- cstyle.c ---- */
/* Appends the text of kernel k of p to o. It is Backend.kernel of the backend `c`. Backends for devices have clike_launches. */
void clike_kernel(const Plan *p, int k, const Target *t, Sb *o);
/* Appends to o the function for an op of one argument that compiler/lower/libm.c writes as arithmetic, such as tgc_exp_f32x8. */
void clike_define(IR *ir, const Backend *b, const Target *t, Op op, DType d, int lanes, Sb *o);

/* ---- launch.c: kernels for devices ---- */
void clike_launches(const Plan *p, int k, const Target *t, Sb *o); /* appends a function for each launch of kernel k */

/* ---- helpers.c ---- */
void clike_prelude(const Plan *p, const Target *t, Sb *o);         /* appends all helpers that the kernels of p use */
#endif

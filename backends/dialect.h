/* SPDX-License-Identifier: MIT */
/* dialect.h: a dialect is a language like C. Each dialect has a table, a struct Dialect, with the texts that differ between these
 * languages. By this table, tgc prints kernels and their prelude: the helper functions that the kernels call. c.c has the table
 * for C.
 *
 * Most fields of the table are forms. A form is a text with words that begin with $. When a form is printed, these words are
 * replaced. A form is printed for a type with a number of lanes. For an expression, this is the type of the result. For an access
 * of memory, this is the type of what is accessed. All forms may have these words:
 *   $T  the type                        $E  the type of one lane            $H  the type with half as many lanes
 *   $S  the type in names of helpers, such as f32x8                         $D  the name of $E in the IR, such as f32
 *   $U  the type with unsigned lanes of as many bits                        $I  the type with signed lanes of as many bits
 *   $F  the float type with as many bits as one lane                        $B  the number of bits of a lane
 *   $N  the number of lanes             $P  2 * $N      $Q  4 * $N          $L  the numbers of the lanes: 0, 1, ...
 *   $V  the numbers of the lanes in the lower half of the vector
 *   $W  the numbers of the lanes in the upper half of the vector
 *   $M(sqrt)  the name of the function sqrt of math.h for the type: sqrtf for floats
 *   $(i64)    the dialect's name of the IR's type i64
 * The text of a helper has only these words. The forms in the fields of the table may also have the following words:
 *   $0 $1 $2  operands 0, 1 and 2, in parentheses where necessary           $a $b $c  these operands without outer parentheses
 *   $t        the type of operand 0     $s  the type of operand 0 in names of helpers
 *   $k        a number in decimal; the comment of the field says which number it is
 *   $x        the number $k in hexadecimal
 *   $d        the letter of dimension $k of a launch: x, y or z
 *   $g        the address space of the memory that is accessed              $q  "const " if a kernel only reads it, else ""
 *   $m        the vector's type in memory, in names of helpers, such as u8x16 */
#ifndef TGC_DIALECT_H
#define TGC_DIALECT_H
#include "backends.h"

typedef struct Dialect {
  /* ---- types ---- */
  const char *type[DT_COUNT]; /* type of an element in memory, such as "float"; an integer type for f16 and bf16. NULL: none */
  const char *truth;       /* type of a variable that holds a bool, 0 or 1. The lanes of a vector of bools are i32: 0 or -1 */
  const char *vector;      /* name of a vector type. Only $D, $E and $N are replaced. For a vector of bools, $D and $E are those
                              of i32. For a vector of halves, $D and $E are those of u16 */
  /* ---- constants; $a: the digits of the constant ---- */
  const char *i64, *u64;   /* i64: constants of type i64 that do not fit into 32 bits; u64: all constants of type u64 */
  const char *least32, *least64; /* the least value of type i32, and of type i64 */
  const char *nearest;     /* name of the function that rounds to a whole number, ties to even, such as "nearbyint" */
  const char *single;      /* end of the names of math.h functions for float: "f" or "" */
  /* ---- functions ---- */
  const char *kernel;      /* words before the name of a kernel. If a driver starts the kernels, $k is the number of threads of a
                              block */
  const char *helper;      /* words before the name of a helper */
  const char *global;      /* address space of buffers, such as "device "; "": buffers need no such word */
  const char *restricted;  /* qualifier of pointers to memory that no other parameter points to */
  const char *local;       /* words before the declaration of an array inside of a kernel, such as an alignment */
  const char *loop;        /* head of a loop, before the braces: variable $0 of type $T runs from $a to $b - 1 */
  /* ---- for languages of devices, whose drivers start kernels with many threads. In other languages: NULL or false ---- */
  /* `parameter` declares the parameters of a kernel for buffer $k. In OpenCL, a buffer has two parameters: the memory that
   * contains the buffer, and an offset. The statement `pointer` adds them, and so defines b$k, a pointer to the buffer's first
   * element. `pointer` is NULL if b$k is itself a parameter. In `parameter` and in `pointer`, $0 is the text of the field
   * `restricted`, or "" if other buffers may overlap buffer $k. In `parameter`, $a is the number of buffers whose parameters come
   * before */
  const char *parameter, *pointer;
  const char *places;      /* further parameters, after those of the buffers; `block` and `thread` read them. NULL: none */
  const char *block, *thread; /* expressions: number of this block, and of this thread in its block, in dimension $k */
  const char *shared;      /* storage class of shared memory */
  const char *aligned;     /* words after the declaration of a shared array; they align the array for any vector. NULL: none */
  /* Lines that ask the dialect's compiler to unroll a loop. They stand before innermost loops that access shared memory.
   * unroll[0]: before loops over the terms of a sum; unroll[1]: before loops that copy panels. NULL: no line */
  const char *unroll[2];
  const char *barrier;     /* statement: the threads of a block wait here for each other */
  bool parts_wait;         /* a launch of several parts gets further barriers, which PoCL needs (places.c) */
  const char *exchange;    /* expression: the value that $a has in another thread of this warp. The other thread's number is
                              this thread's number XOR $k */
  const char *warp_kernel; /* replaces `kernel` if threads of a warp exchange values; $k: number of threads of a warp */
  /* ---- vectors ---- */
  const char *load, *store; /* loads or stores a vector at address $0; $c: the value to store */
  const char *load_aligned, *store_aligned; /* as `load` and `store`, for an address aligned for the vector. NULL: `load` and
                                               `store` are used */
  /* A load with a gate is printed as an operand of ?:, and C needs equal types for the last two operands. So this cast stands
   * before the load of a vector with a gate. "": no cast is needed */
  const char *loaded;
  const char *truth_from, *truth_to; /* truth_from: converts $a, a vector of bytes that are 0 or 1, to a vector of bools;
                                        truth_to: converts a vector of bools $0 to a vector of bytes that are 0 or 1 */
  const char *truth_splat; /* a vector of bools, all equal to the single bool $a */
  const char *mask;        /* converts $a, the result of comparing vectors, to a vector of bools. $B: bits of a lane
                              of these vectors */
  const char *zero;        /* a vector of zeros */
  const char *list[2];     /* a vector, made lane by lane: the texts before and after the list of the lanes */
  const char *lane;        /* lane number $k of vector $0 */
  const char *convert;     /* converts $a to the type $T, lane by lane */
  const char *bits;        /* the bits of vector $0 as a vector of type $T */
  const char *pick[2];     /* a shuffle of vectors $a and $b: the texts before and after the numbers of the lanes. If pick[0] is
                              NULL, `list` is used */
  /* ---- statements that are hints; NULL: none ---- */
  const char *fence;       /* at the end of the bodies of some loops (Render.tile, cstyle.h): makes the C compiler load operands
                              again */
  const char *rolled;      /* before a loop: asks the C compiler not to unroll it */
  const char *few;         /* at the end of the body of a loop that runs a few times: asks the C compiler not to use vectors there */
  const char *apart;       /* macro for a pointer to an array of the kernel: hides from the C compiler to which array it points */
  const char *keep;        /* asks the C compiler to load vector $0 only once, and to keep this vector in a register */
  const char *prefetch;    /* prefetches element $b of buffer $0. $k: 3 for the first-level cache, 2 for the second-level cache */
  /* ---- helpers, as texts in the format of parts.h. All dialects also have the helpers of scalars.c.in ---- */
  const char *parts;       /* name of a file of runtime_stub; NULL: none */
  const char *more;        /* further helpers; they replace helpers with equal names in `parts` and scalars.c.in. NULL: none */
} Dialect;

/* ---- exprs.c ---- */
/* Returns the type of a value with `lanes` lanes of type d, such as "float" or "f32x8". The text lies in buf. */
const char *dialect_type(const Dialect *l, DType d, int lanes, char buf[32]);
/* Returns the text that stands for a type in names of helpers, such as "f32" or "f32x8". The text lies in buf. */
const char *type_suffix(DType d, int lanes, char buf[32]);
/* Appends to o the replacement of a word that all forms may have. s: the text after the $ of the word. d, lanes: the type for
 * which the form is printed. Returns the text after the word. */
const char *dialect_word(const Dialect *l, Sb *o, const char *s, DType d, int lanes);

/* ---- cstyle.c ---- */
/* Appends the text of kernel k of p to o. The backend `c` has this function as Backend.kernel (target/backend.h). */
void clike_kernel(const Plan *p, int k, const Target *t, Sb *o);
/* Appends a helper such as tgc_exp_f32x8 to o. The helper applies op, which has one operand, to `lanes` lanes of d. The
 * helper's arithmetic comes from compiler/lower/libm.c. */
void clike_define(IR *ir, const Backend *b, const Target *t, Op op, DType d, int lanes, Sb *o);

/* ---- launch.c: kernels for devices ---- */
/* Appends to o a function for each launch of kernel k. Backends for devices have this function as Backend.kernel. */
void clike_launches(const Plan *p, int k, const Target *t, Sb *o);

/* ---- helpers.c ---- */
void clike_prelude(const Plan *p, const Target *t, Sb *o); /* appends to o the helpers and vector types that p's kernels use */
#endif

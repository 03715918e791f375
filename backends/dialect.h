/* dialect.h: what languages like C spell in ways of their own, as a table. exprs.c and cstyle.c print programs from it, helpers.c
 * what stands before them. c.c is the table for C.
 *
 * A form is text in which these stand for parts of it:
 *   $T  the type of the result      $E  that of an element      $H  of half the lanes    $S  the end of names: f32x8
 *   $U  unsigned integers           $I  signed ones, as wide    $F  floats as wide       $B  bits of an element
 *   $N  lanes     $P  twice as many     $Q  four times          $L  their numbers: 0, 1, 2
 *   $D  the IR's name of an element $M(sqrt)  the function of math.h for the type
 *   $(i64)  the type with this name in the IR
 * and in forms of expressions, but not of helpers:
 *   $0 $1 $2  operands that bind tightly       $a $b $c  the same between commas or brackets
 *   $t $s     the first operand's type and end of names
 *   $d        the letter of dimension $k: x, y or z
 *   $g        the address space of memory
 *   $k $x     a number, decimal and hexadecimal      $q  "const " for memory that is only read      $m  its elements: u8x16 */
#ifndef TGC_DIALECT_H
#define TGC_DIALECT_H
#include "backends.h"

typedef struct Dialect {
  /* ---- types ---- */
  const char *type[DT_COUNT]; /* of an element in memory; halves are integers: "float" */
  const char *truth;       /* of a bool in a register: 0 or 1. Lanes of bools are 0 or -1, as wide as i32 */
  const char *vector;      /* of lanes, a type for each element of registers: only $D, $E and $N stand for something */
  /* ---- constants: $a is the digits ---- */
  const char *i64, *u64;   /* beyond 32 bits; of any value */
  const char *least32, *least64; /* the least integer */
  const char *nearest;     /* the function that rounds to a whole number, halves to even ones: "nearbyint" */
  const char *single;      /* what the name of a function of math.h ends in for floats: "f" or "" */
  /* ---- functions ---- */
  const char *kernel;      /* how a kernel begins: the words before its name. A driver starts blocks of $k threads */
  const char *helper;      /* and a helper */
  const char *global;      /* address space of buffers; "": there is one only */
  const char *restricted;  /* of pointers to memory that no other parameter points to */
  const char *local;       /* of a kernel's own memory */
  const char *loop;        /* $a, $b: where variable $0 of type $T begins and ends. A block follows */
  /* ---- kernels that a driver starts, with many threads each; NULL: there are none ---- */
  const char *parameter, *pointer; /* buffer $k: its memory and where it begins there; its first element. $0: .restricted or "".
                            * $a: the number of the parameter. pointer NULL: it is b$k, the first element's address */
  const char *places;      /* parameters behind the buffers, which .block and .thread name; NULL: there are none */
  const char *block, *thread; /* number of the block, of the thread of the block, in dimension $k */
  const char *shared;      /* of memory that the threads of a block share */
  const char *aligned;     /* behind its declaration: it begins where any vector may; NULL: there is no such word */
  const char *barrier;
  const char *exchange;    /* $a as it is in the thread whose number differs in the bits $k */
  const char *warp_kernel; /* in place of .kernel where threads exchange values: warps have $k threads */
  /* ---- vectors ---- */
  const char *load, *store; /* at address $0; the value is $c */
  const char *load_aligned, *store_aligned; /* the same where a vector's alignment is sure; NULL: there are none */
  const char *loaded;      /* before a loaded vector beside another value: what makes its type that of a register; or "" */
  const char *truth_from, *truth_to; /* a vector of bools from bytes 0 and 1, and to them */
  const char *both, *either; /* of two bools; NULL: as of integers */
  const char *truth_splat; /* a bool in all lanes */
  const char *mask;        /* a comparison of lanes as bools */
  const char *zero;
  const char *list[2];     /* around the lanes of a vector */
  const char *lane;        /* number $k, or $x in hexadecimal */
  const char *convert;     /* to another type, lane by lane */
  const char *bits;        /* the same bits as another type */
  const char *pick[2];     /* around the numbers of lanes of two vectors; NULL: as a list of lanes */
  /* ---- hints; NULL: there are none ---- */
  const char *fence;       /* at the end of a reduction's step: its operands are not kept */
  const char *keep;        /* vector $0 is worth a register */
  const char *prefetch;    /* element $b of buffer $0, to level $k of the caches; 3: the nearest */
  /* ---- helpers, as parts (runtime_stub/helpers.c.in explains them); scalars.c.in has those that are in neither of these ---- */
  const char *parts;       /* a file of runtime_stub; NULL: none */
  const char *more;        /* as text; NULL: none */
} Dialect;

/* ---- exprs.c ---- */
const char *dialect_type(const Dialect *l, DType d, int lanes, char buf[32]); /* float, or f32x8 */
const char *type_suffix(DType d, int lanes, char buf[32]);                    /* of functions' names: f32 or f32x8 */
/* One of the words of all forms, at s behind its $; what is behind it. */
const char *dialect_word(const Dialect *l, Sb *o, const char *s, DType d, int lanes);

/* ---- cstyle.c ---- */
void clike_kernel(const Plan *p, int k, const Target *t, Sb *o);              /* Backend.kernel of all languages like C */
/* the function for an op that libm.c makes of arithmetic, of one argument: tgc_exp_f32x8 */
void clike_define(IR *ir, const Backend *b, const Target *t, Op op, DType d, int lanes, Sb *o);

/* ---- launch.c: the same for machines with a Device: a function for each launch ---- */
void clike_launches(const Plan *p, int k, const Target *t, Sb *o);

/* ---- helpers.c ---- */
void clike_prelude(const Plan *p, const Target *t, Sb *o);                    /* all that the kernels of p mention */
#endif

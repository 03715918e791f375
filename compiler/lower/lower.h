/* SPDX-License-Identifier: MIT */
/* lower.h: turns nests with split ranges into programs. The functions make copies and lanes, replace ops that the machine lacks,
 * and make linear code. They prove that the accesses of this code lie inside their buffers. */
#ifndef TGC_LOWER_H
#define TGC_LOWER_H
#include "../cost/program_time.h"
#include "../cost/tile.h"
#include "../nest/nest.h"
#include "../target/isa_ops.h"
#include "../target/launch.h"

/* ---- prefetch.c ---- */
/* Returns the nest with prefetches of weights. *given: text with a digit for each panel of a kernel's nests; 1: the panel is
 * prefetched. The function moves *given past the digits of this nest. Digits after the end of the text are 0. *given NULL: the
 * facts of t decide. made: the function appends the digits that it has used */
Ref prefetch_nest(IR *ir, Ref nest, const Target *t, const char **given, Sb *made);

/* ---- bounds.c: proves that accesses are inside their buffers ---- */
/* NONE: there is no proof. ALGEBRA: a proof by bounds of nodes, or by intervals and linear inequalities. RANGES: a proof by
 * halving the ranges of loops until intervals prove each part */
typedef enum { PROOF_NONE, PROOF_ALGEBRA, PROOF_RANGES } Proof;
typedef struct Bounds Bounds;
Bounds *bounds_open(const Plan *p);         /* the caller closes the result by bounds_close */
void bounds_close(Bounds *b);
/* How an access is proved. access: a LOAD, STORE, TILE or PART of the kernel for which bounds_note was called last */
Proof bounds_of(Bounds *b, Ref access);
/* Prepares proofs about k and later kernels: notes the bounds of the integers that k stores to buffers, and Kernel.shift of k.
 * To be called for each kernel, in order of execution. */
void bounds_note(Bounds *b, const Kernel *k);
/* Whether all accesses of prog are proved if the pointers to k's buffers move by shift[], in elements. bounds_note must have been
 * called for k, and Kernel.shift of k must be NULL. */
bool bounds_moved(Bounds *b, const Kernel *k, const Refs *prog, const int64_t *shift);
/* Calls bounds_note, sets k->bounds, and clamps accesses that are not proved. To be called for each kernel, in order of
 * execution */
void kernel_bounds(Bounds *b, Kernel *k);
void plan_bounds(Plan *p);                  /* kernel_bounds for all kernels */
bool plan_in_bounds(const Plan *p, Sb *why); /* whether all accesses are proved; false: *why names the first that is not */

/* ---- libm.c: functions of the C library as arithmetic ---- */
typedef struct FunctionOps { bool scalb, lookup; } FunctionOps; /* the machine has SCALB and LOOKUP for vectors of floats */
FunctionOps function_ops(const Backend *b, const Target *t, int lanes);
/* Returns arithmetic for the node r; 0: libm_has is false for r. has: function_ops for as many lanes as r has */
Ref libm_expr(IR *ir, Ref r, FunctionOps has);
bool libm_has(Op op, DType d);           /* whether libm_expr expands this op on values of this type */

/* ---- sum_chains.c: a sum that is unrolled completely may be divided into chains. A term waits only for the previous term of its
 * chain ---- */
int sum_chains(IR *ir, Ref nest, const Target *t); /* best number of chains for the nest's sum; 1: the sum stays whole */

/* ---- linearize.c ---- */
void kernel_buffers(const IR *ir, Kernel *k); /* sets .bufs, .written and .locals of k, in the order of k's accesses */
typedef struct Shared Shared;                  /* values that the nests of a program share. A program computes each once, outside
                                                  of all loops */
Shared *shared_open(int warp); /* warp: number of threads that exchange values without memory; 0: no threads do */
void shared_close(Shared *s);
void linear_nest(IR *ir, Ref nest, Refs *prog, Shared *shared); /* appends the nest's micro-ops to prog */

/* ---- products.c: counts the multiply-adds of a program in all threads. all: how many there are. staged: how many take a factor
 * from shared memory. matrix: how many the matrix units of a device do ---- */
typedef struct Products { double all, staged, matrix; } Products;
/* legalize.c: whether an instruction of t that adds up products of pairs of words (16 bits) can compute x, a MUL or MULACC of
 * i32. Each factor must fit into one word. One factor must not be negative, so that the upper word of this factor is 0. */
bool multiplies_words(const IR *ir, const Target *t, const Node *x);
Products program_products(const IR *ir, const Ref *list, size_t n);
Products plan_products(const Plan *p);

/* ---- plan_time.c: predicts the time of each kernel on one core with the facts f. out: an element for each kernel ---- */
void plan_time(const Plan *p, const CpuFacts *f, ProgramTime *out);
/* ---- fuse_nests.c: joins loops over equal values in the program from place `from` on, which is that of a nest and its rests ---- */
void fuse_nests(IR *ir, Refs *prog, size_t from);
/* ---- multiplications.c: the number of multiplications in a run. run: the sizes, by symbol ---- */
double plan_multiplications(const Plan *p, const int64_t *run);

/* ---- blocks_apart.c ---- */
/* Whether it is proved that no block of a launch accesses an element of global memory that another block stores to. mem[i]:
 * address of buffer i; the function does not read the buffer. most: the most elements to look at; the result is false if the
 * proof needs more. why: NULL, or receives op, buffer and reason if the result is false */
bool blocks_apart(const IR *ir, const Launch *l, void *const *mem, int64_t most, Sb *why);

/* ---- rebase.c: moves the pointers to buffers that kernels get, if that makes the functions of kernels equal. A pointer moves to
 * the first element that the kernel accesses. In the arena and the weights, the address is a multiple of REBASE_ALIGN ---- */
enum { REBASE_ALIGN = 64 }; /* bytes: alignment that backends assume for pointers to the arena and the weights */
void plan_rebase(Plan *p);

/* ---- kernel_functions.c ---- */
/* Returns Kernel.signature of kernel k. The first call prints the text of the kernel's function, and sets .signature and .head */
uint32_t kernel_signature(const Plan *p, size_t k);
void plan_render(Plan *p);           /* sets Kernel.text of all kernels whose Kernel.code is not negative */
/* caller_rows.c: if a run's size is not the greatest, rows in the caller's memory are shorter. buf_row: elements of such a row at
 * the greatest size; 0: b is not memory of the caller with such rows. caller_rows: returns the nest with indices that fit rows of
 * the run's size */
int64_t buf_row(const Buf *b);
Ref caller_rows(IR *ir, Ref nest);
bool kernel_sized(const IR *ir, const Kernel *k);   /* whether k's program asks for sizes of the run */

/* Appends the launches of a kernel, in order, for a target with a Device. The caller frees *out by launches_free */
void kernel_launches(const Plan *p, const Kernel *k, Launches *out);

/* ---- merge_functions.c ---- */
void plan_merge_functions(Plan *p); /* sets Kernel.code of all kernels that have a program */
bool plan_functions_equal(const Plan *p); /* whether kernels with the same Kernel.code have the same function */

/* ---- variants.c: makes p->variants, one for each machine of Target.variants (--isa=fat) ---- */
void variants_make(Plan *p);
const PlanInputs *variant_inputs(const Plan *p, const Target *t); /* a copy of p->in for the target t, in the model's arena */

/* ---- tile_registers.c: assigns the tile registers of AMX to the tiles of a nest. Makes the operand of the instruction that sets
 * the registers' shapes ---- */
enum { MAX_TILES = 64 };                           /* most ACCs and TILEs of a nest */
typedef struct TileSet {
  int n, values;             /* n: number of registers used; values: number of elements of `value` and `reg` */
  Ref value[MAX_TILES];      /* ACCs and TILEs of the nest */
  int reg[MAX_TILES];        /* register of each value */
  size_t until[TILE_REGISTERS]; /* by register: index in prog of the last op that uses its value; SIZE_MAX: the value is a sum */
  uint8_t config[64];        /* byte 0: palette; byte 16 + 2 i: bytes of a row of register i; byte 48 + i: rows of register i */
} TileSet;
/* Fills in *out for the nest whose TILES is prog[0], up to the next TILES or the n-th op */
void tile_registers(const IR *ir, const Ref *prog, size_t n, TileSet *out);
int tile_register(const TileSet *t, Ref value);     /* the register of this value; -1: the set does not have the value */
Ref tile_sum(const IR *ir, const Node *mma);        /* the ACC of the sum to which the product is added */
const IsaOp *tile_isa_op(const IR *ir, const Node *mma); /* the instruction that computes the product */

/* ---- shared_packing.c: entries of one bundle share packed weights. p->whole has kernels and weights of earlier entries ---- */
/* Finds a weight with the same bytes as `tensor` that an earlier entry has packed, and sets *order to this weight's packed order.
 * Returns the index in *order of the element at `index`. 0: there is no such weight, or lanes would not read adjacent
 * elements */
Ref shared_order(Plan *p, int64_t tensor, Ref index, Packed *order);
/* Whether an earlier entry reads a weight with the same bytes without packing it, and the lanes of a load at `index` read
 * adjacent elements */
bool shared_plain(const Plan *p, int64_t tensor, Ref index);
#endif

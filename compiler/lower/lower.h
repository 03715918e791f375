/* SPDX-License-Identifier: MIT */
/* lower.h: turns nests with split ranges into programs. The functions make copies and lanes, replace ops that the machine lacks,
 * and make linear code. Some of them prove that the accesses of a program lie inside their buffers. */
#ifndef TGC_LOWER_H
#define TGC_LOWER_H
#include "../cost/program_time.h"
#include "../cost/tile.h"
#include "../nest/nest.h"
#include "../target/isa_ops.h"
#include "../target/launch.h"

/* ---- prefetch.c ---- */
/* Returns the nest with prefetches of packed weights (panels). *given is text with a digit for each panel of the kernel's nests;
 * 1: prefetch the panel. The function reads the digits for this nest, and moves *given behind them. Missing digits are 0. If
 * *given is NULL, the facts of t decide. The function appends a digit for each panel of this nest to `made`: 1 if the panel is
 * prefetched. */
Ref prefetch_nest(IR *ir, Ref nest, const Target *t, const char **given, Sb *made);

/* ---- bounds.c: proves that accesses are inside their buffers ---- */
/* NONE: there is no proof. ALGEBRA: a proof by bounds of nodes, or by intervals and linear inequalities. RANGES: a proof by
 * halving the ranges of loops until intervals prove each part */
typedef enum { PROOF_NONE, PROOF_ALGEBRA, PROOF_RANGES } Proof;
typedef struct Bounds Bounds;
Bounds *bounds_open(const Plan *p);         /* the caller passes the result to bounds_close at the end */
void bounds_close(Bounds *b);
/* Returns how an access is proved. access: a LOAD, STORE, TILE or PART of the kernel for which bounds_note was called last */
Proof bounds_of(Bounds *b, Ref access);
/* Prepares proofs about k and later kernels. Records bounds of the integers that k stores to buffers, and k->shift. To be called
 * for each kernel, in order of execution */
void bounds_note(Bounds *b, const Kernel *k);
/* Whether all accesses of prog are proved if calls of k add shift[i] elements to the pointer to buffer k->bufs[i]. The last call
 * of bounds_note must have been for k, and k->shift must be NULL. */
bool bounds_moved(Bounds *b, const Kernel *k, const Refs *prog, const int64_t *shift);
/* Calls bounds_note, sets k->bounds, and clamps accesses that are not proved. To be called for each kernel, in order of
 * execution */
void kernel_bounds(Bounds *b, Kernel *k);
void plan_bounds(Plan *p);                  /* calls kernel_bounds for all kernels */
bool plan_in_bounds(const Plan *p, Sb *why); /* whether all accesses are proved; if not, *why names the first without a proof */

/* ---- libm.c: functions of the C library as arithmetic ---- */
typedef struct FunctionOps { bool scalb, lookup; } FunctionOps; /* the machine has SCALB and LOOKUP for vectors of floats */
FunctionOps function_ops(const Backend *b, const Target *t, int lanes);
/* Returns arithmetic that computes the value of node r, or 0 if libm_has is false for the op of r. has: function_ops for as many
 * lanes as r has */
Ref libm_expr(IR *ir, Ref r, FunctionOps has);
bool libm_has(Op op, DType d);           /* whether libm_expr expands this op on values of this type */

/* ---- sum_chains.c: a sum whose loops are all unrolled may be divided into chains, which are added at the end. Adding a term
 * then waits only for the previous term of the same chain ---- */
int sum_chains(IR *ir, Ref nest, const Target *t); /* best number of chains for the nest's sum; 1: the sum is not divided */

/* ---- linearize.c ---- */
void kernel_buffers(const IR *ir, Kernel *k); /* sets k->bufs, k->written and k->locals, each in the order of k's accesses */
typedef struct Shared Shared;                  /* values that several nests of a program use. The program computes each of these
                                                  values one time, outside of all loops */
Shared *shared_open(int warp); /* warp: number of threads that can exchange values without memory; 0: threads cannot */
void shared_close(Shared *s);
void linear_nest(IR *ir, Ref nest, Refs *prog, Shared *shared); /* appends the nest's micro-ops to prog */

/* ---- products.c: counts the multiply-adds that all threads of a program do together. all: number of multiply-adds. staged:
 * number of those with a factor in shared memory. matrix: number of those that matrix units of a device do ---- */
typedef struct Products { double all, staged, matrix; } Products;
/* legalize.c: whether an instruction of t can compute x, a MUL or MULACC of i32. The instruction multiplies pairs of words (16
 * bits) and adds up the products. So each factor must fit into one word, and one factor must not be negative. */
bool multiplies_words(const IR *ir, const Target *t, const Node *x);
Products program_products(const IR *ir, const Ref *list, size_t n);
Products plan_products(const Plan *p);

/* ---- plan_time.c: predicts the time of each kernel on one core of a CPU with the facts f. Sets out[k] for kernel k ---- */
void plan_time(const Plan *p, const CpuFacts *f, ProgramTime *out);
/* ---- fuse_nests.c: the micro-ops of prog from index `from` on are those of a nest and its rests. Joins loops over equal
 * values, if several of these nests begin with such loops ---- */
void fuse_nests(IR *ir, Refs *prog, size_t from);
/* ---- multiplications.c: the number of multiplications in a run. run: the sizes, by symbol ---- */
double plan_multiplications(const Plan *p, const int64_t *run);

/* ---- blocks_apart.c ---- */
/* Tries to prove for a launch: if one block stores to an element of global memory, no other block accesses this element. Returns
 * whether there is a proof. mem[i]: address of buffer i, from which the function does not read. most: most elements to look at;
 * if the proof needs more, returns false. why: may be NULL; otherwise gets the op, the buffer and the reason if the result is
 * false */
bool blocks_apart(const IR *ir, const Launch *l, void *const *mem, int64_t most, Sb *why);

/* ---- rebase.c: kernels get pointers to their buffers. A pointer moves to the first element that the kernel accesses, where the
 * functions of kernels become equal by this move. Pointers to the arena and the weights stay multiples of REBASE_ALIGN ---- */
enum { REBASE_ALIGN = 64 }; /* bytes: alignment that backends assume for pointers to the arena and the weights */
void plan_rebase(Plan *p);

/* ---- kernel_functions.c ---- */
/* Returns Kernel.signature of kernel k. The first call for k prints the text of the kernel's function, and sets Kernel.signature
 * and Kernel.head. */
uint32_t kernel_signature(const Plan *p, size_t k);
void plan_render(Plan *p);           /* sets Kernel.text of all kernels whose Kernel.code is not negative */
/* caller_rows.c: rows in the caller's memory may have a length that depends on a size of the run. buf_row: the length of such rows
 * of b at the greatest sizes, in elements; 0: b has no such rows. caller_rows: the indices of `nest` are those for the greatest
 * sizes; returns the nest with indices for the run's sizes */
int64_t buf_row(const Buf *b);
Ref caller_rows(IR *ir, Ref nest);
bool kernel_sized(const IR *ir, const Kernel *k);   /* whether k's program uses sizes of the run */

/* For a target with a Device: appends the launches of a kernel to *out, in order. The caller frees *out with launches_free */
void kernel_launches(const Plan *p, const Kernel *k, Launches *out);

/* ---- merge_functions.c ---- */
void plan_merge_functions(Plan *p); /* sets Kernel.code of all kernels that have a program */
bool plan_functions_equal(const Plan *p); /* whether kernels with the same Kernel.code have the same function */

/* ---- variants.c: makes p->variants, one for each machine of Target.variants (--isa=fat) ---- */
void variants_make(Plan *p);
const PlanInputs *variant_inputs(const Plan *p, const Target *t); /* a copy of p->in for the target t, in the model's arena */

/* ---- tile_registers.c: assigns the tile registers of AMX to the tiles of a nest, and makes the configuration that sets the
 * shapes of these registers ---- */
enum { MAX_TILES = 64 };                           /* most ACCs and TILEs of a nest */
typedef struct TileSet {
  int n, values;             /* n: number of registers used; values: number of elements of `value` and `reg` */
  Ref value[MAX_TILES];      /* ACCs and TILEs of the nest */
  int reg[MAX_TILES];        /* reg[i] is the register of value[i] */
  size_t until[TILE_REGISTERS]; /* by register: index in prog of the last op that uses the register's value; SIZE_MAX: the value
                                   is a sum */
  uint8_t config[64];        /* the configuration. Byte 0: palette; byte 16 + 2 * i: bytes of a row of register i; byte 48 + i:
                                rows of register i */
} TileSet;
/* Fills in *out for the nest that begins with prog[0], a TILES. The nest ends at the next TILES, or after n ops. */
void tile_registers(const IR *ir, const Ref *prog, size_t n, TileSet *out);
int tile_register(const TileSet *t, Ref value);     /* the register of `value`; -1: t does not have this value */
Ref tile_sum(const IR *ir, const Node *mma);        /* the ACC of the sum to which the MMA adds its product */
const IsaOp *tile_isa_op(const IR *ir, const Node *mma); /* the instruction that computes the MMA */

/* ---- shared_packing.c: entries of a bundle share packed weights. p->whole has kernels and weights of earlier entries ---- */
/* Looks for a weight that an earlier entry has packed, and that has the same bytes as `tensor`. Sets *order to its packed order.
 * Returns the index that element `index` of `tensor` has in this order. Returns 0 if there is no such weight, or if the lanes of
 * a load would not read adjacent elements. */
Ref shared_order(Plan *p, int64_t tensor, Ref index, Packed *order);
/* Returns true if two things hold. An earlier entry reads a weight with the same bytes as `tensor` without packing it. The lanes
 * of a load at `index` read adjacent elements. */
bool shared_plain(const Plan *p, int64_t tensor, Ref index);
#endif

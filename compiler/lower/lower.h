/* SPDX-License-Identifier: MIT */
/* lower.h: turns nests with split ranges into programs. It makes copies and lanes, replaces ops that the machine lacks, and makes
 * linear code. It proves that accesses of this code lie inside their buffers. */
#ifndef TGC_LOWER_H
#define TGC_LOWER_H
#include "../cost/program_time.h"
#include "../cost/tile.h"
#include "../nest/nest.h"
#include "../target/isa_ops.h"
#include "../target/launch.h"

/* ---- prefetch.c: the nest with prefetches of weights. *given has a digit for each panel of the kernel's nests: 1 if it is
 * prefetched. The function moves *given past the nest's digits; digits beyond the text's end are 0. *given NULL: the facts of t
 * decide. The digits that were used are appended to `made` ---- */
Ref prefetch_nest(IR *ir, Ref nest, const Target *t, const char **given, Sb *made);

/* ---- bounds.c: proves that accesses are inside their buffers ---- */
/* ALGEBRA: by bounds of nodes, or by intervals and linear inequalities. RANGES: by halving the ranges of loops until intervals
 * prove each part */
typedef enum { PROOF_NONE, PROOF_ALGEBRA, PROOF_RANGES } Proof;
typedef struct Bounds Bounds;
Bounds *bounds_open(const Plan *p);         /* the caller closes it */
void bounds_close(Bounds *b);
Proof bounds_of(Bounds *b, Ref access);     /* access: a LOAD, STORE, TILE or PART of a program, with its gate */
/* Call it for each kernel, in order of execution. For proofs about later programs, it notes the bounds of integers that k stores
 * to buffers. It also notes Kernel.shift of k. */
void bounds_note(Bounds *b, const Kernel *k);
/* Whether all accesses of prog are proved if the pointers to k's buffers move by shift[], in elements. bounds_note must have been
 * called for k, and Kernel.shift of k is NULL. */
bool bounds_moved(Bounds *b, const Kernel *k, const Refs *prog, const int64_t *shift);
void kernel_bounds(Bounds *b, Kernel *k);   /* sets k->bounds, clamps unproved accesses; call it in order of execution */
void plan_bounds(Plan *p);                  /* kernel_bounds for all kernels */
bool plan_in_bounds(const Plan *p, Sb *why); /* only checks; false: *why names the first access that is not proved */

/* ---- libm.c: functions of the C library as arithmetic. scalb: the machine has SCALB for vectors of as many lanes as r ---- */
Ref libm_expr(IR *ir, Ref r, bool scalb); /* 0: r is no function that this file expands */
bool libm_has(Op op, DType d);           /* whether libm_expr expands the function */

/* ---- sum_chains.c: a sum that is unrolled completely may be divided into chains. Each term then waits only for the previous
 * term of its chain ---- */
int sum_chains(IR *ir, Ref nest, const Target *t); /* best number of chains for the nest's sum; 1: it stays whole */

/* ---- linearize.c ---- */
void kernel_buffers(const IR *ir, Kernel *k); /* sets .bufs, .written and .locals of k from k's program, in order of use */
typedef struct Shared Shared;                  /* values that the nests of a program share: they are computed once, outside
                                                  of all loops */
Shared *shared_open(int warp); /* warp: threads that exchange values without memory; 0: none do */
void shared_close(Shared *s);
void linear_nest(IR *ir, Ref nest, Refs *prog, Shared *shared); /* appends the nest's micro-ops to prog */

/* ---- products.c: counts the multiply-adds of a program in all threads. The field `all` is their number, `staged` the number of
 * those with a factor from shared memory, and `matrix` the number of those that matrix units do ---- */
typedef struct Products { double all, staged, matrix; } Products;
/* legalize.c: whether an instruction of t that adds up products of pairs of words (16 bits) can compute x, a MUL or MULACC of
 * i32. Each factor must fit into one word, and one factor must not be negative, so that its upper word is 0. */
bool multiplies_words(const IR *ir, const Target *t, const Node *x);
Products program_products(const IR *ir, const Ref *list, size_t n);
Products plan_products(const Plan *p);

/* ---- plan_time.c: predicted time of each kernel on one core with the facts f; out has an element for each kernel ---- */
void plan_time(const Plan *p, const CpuFacts *f, ProgramTime *out);
/* ---- fuse_nests.c: in the program from place `from` on, which is that of a nest and its rests, joins loops over equal values ---- */
void fuse_nests(IR *ir, Refs *prog, size_t from);
/* ---- multiplications.c: multiplications that a run of these sizes does, by symbol; loops leave out iterations behind a size ---- */
double plan_multiplications(const Plan *p, const int64_t *run);

/* ---- blocks_apart.c ---- */
/* Whether it is proved that no block of a launch accesses an element of global memory that another block stores to. mem[i]:
 * address of buffer i; no memory is read there. most: the most elements to look at. False: *why names op, buffer and reason,
 * unless `why` is NULL */
bool blocks_apart(const IR *ir, const Launch *l, void *const *mem, int64_t most, Sb *why);

/* ---- rebase.c: moves buffer pointers to the first element that a kernel accesses, if that makes functions equal. Pointers to
 * the arena and the weights stop at the last aligned address before it ---- */
enum { REBASE_ALIGN = 64 }; /* bytes: alignment that backends assume for pointers to the arena and the weights */
void plan_rebase(Plan *p);

/* ---- kernel_functions.c ---- */
/* Returns Kernel.signature of kernel k. The first call prints the text of the kernel's function, and sets .signature and .head */
uint32_t kernel_signature(const Plan *p, size_t k);
void plan_render(Plan *p);           /* sets Kernel.text of all kernels */
/* caller_rows.c: if a run's size is not the greatest, rows in the caller's memory are shorter. buf_row: elements of such a row at
 * the greatest size; 0: b is no memory of the caller with such rows. caller_rows: the nest with indices that count such rows */
int64_t buf_row(const Buf *b);
Ref caller_rows(IR *ir, Ref nest);
bool kernel_sized(const IR *ir, const Kernel *k);   /* k's program asks for sizes of the run */

/* launches of a kernel, in order, for a target with a Device; the caller frees them (launches_free) */
void kernel_launches(const Plan *p, const Kernel *k, Launches *out);

/* ---- merge_functions.c ---- */
void plan_merge_functions(Plan *p); /* sets Kernel.code of all kernels */
bool plan_functions_equal(const Plan *p); /* whether kernels with the same code have the same function */

/* ---- variants.c: makes p->variants, one for each machine of Target.variants (--isa=fat) ---- */
void variants_make(Plan *p);
const PlanInputs *variant_inputs(const Plan *p, const Target *t); /* p's inputs, but for the target t; in the model's arena */

/* ---- tile_registers.c: assigns the tile registers of AMX to the tiles of a nest. It also makes the operand of the instruction
 * that sets the registers' shapes ---- */
enum { MAX_TILES = 64 };                           /* most ACCs and TILEs of a nest */
typedef struct TileSet {
  int n, values;             /* registers used; elements of `value` and `reg` */
  Ref value[MAX_TILES];      /* an ACC or a TILE */
  int reg[MAX_TILES];        /* register of each value */
  size_t until[TILE_REGISTERS]; /* by register: index of the last instruction that uses its value; SIZE_MAX: it keeps a sum */
  uint8_t config[64];        /* byte 0: palette; 16 + 2 i: bytes of a row of register i; 48 + i: its rows */
} TileSet;
void tile_registers(const IR *ir, const Ref *prog, size_t n, TileSet *out); /* for the nest whose TILES is prog[0] */
int tile_register(const TileSet *t, Ref value);     /* -1: the value is no tile */
Ref tile_sum(const IR *ir, const Node *mma);        /* the ACC of the sum to which the product is added */
const IsaOp *tile_isa_op(const IR *ir, const Node *mma); /* the instruction that computes the product */

/* ---- shared_packing.c: entries of one bundle share packed weights. Earlier entries are in p->whole ---- */
/* Finds a weight with the same bytes as `tensor` that an earlier entry has packed. *order becomes its packed order. Returns the
 * index in this order of the element at `index`. 0: there is none, or lanes would not read adjacent elements */
Ref shared_order(Plan *p, int64_t tensor, Ref index, Packed *order);
/* Whether an earlier entry reads a weight with the same bytes without packing it. A load at `index` with lanes must also read
 * adjacent elements */
bool shared_plain(const Plan *p, int64_t tensor, Ref index);
#endif

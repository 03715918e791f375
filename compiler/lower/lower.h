/* SPDX-License-Identifier: MIT */
/* lower.h: functions that turn nests with split ranges into linear programs. Other functions prove that the accesses of a program
 * lie inside buffers, predict the time of programs, and print the functions of kernels. */
#ifndef TGC_LOWER_H
#define TGC_LOWER_H
#include "../cost/program_time.h"
#include "../cost/tile.h"
#include "../nest/nest.h"
#include "../target/isa_ops.h"
#include "../target/launch.h"

/* ---- prefetch.c ---- */
/* Returns the nest with prefetches of packed weights (panels). *given is a string with a digit for each panel of the kernel's
 * nests. The digit 1 asks for prefetches of the panel. The function reads the digits of this nest's panels, takes missing digits
 * as 0, and moves *given behind the digits read. If *given is NULL, the facts of t decide. The function appends a digit for each
 * panel of this nest to `made`: 1 if the panel is prefetched. */
Ref prefetch_nest(IR *ir, Ref nest, const Target *t, const char **given, Sb *made);

/* ---- bounds.c: proves that accesses are inside their buffers ---- */
/* NONE: there is no proof. ALGEBRA: a proof by bounds of nodes, or by intervals and linear inequalities. RANGES: a proof by
 * halving the ranges of loops until intervals prove each part */
typedef enum { PROOF_NONE, PROOF_ALGEBRA, PROOF_RANGES } Proof;
typedef struct Bounds Bounds;
Bounds *bounds_open(const Plan *p);         /* the caller passes the result to bounds_close at the end */
void bounds_close(Bounds *b);
/* Returns the kind of proof for an access. access: a LOAD, STORE, TILE or PART of the kernel for which bounds_note was called
 * last */
Proof bounds_of(Bounds *b, Ref access);
/* Prepares proofs about k and later kernels. Records bounds of the integers that k stores to buffers, and k->shift. To be called
 * for each kernel, in order of execution */
void bounds_note(Bounds *b, const Kernel *k);
/* Whether all accesses of prog are proved if calls of k add shift[i] elements to the pointer to buffer k->bufs[i]. prog: the
 * program of k for these pointers. The last call of bounds_note must have been for k, and k->shift must be NULL. */
bool bounds_moved(Bounds *b, const Kernel *k, const Refs *prog, const int64_t *shift);
/* Calls bounds_note, sets k->bounds, and clamps accesses that are not proved. To be called for each kernel, in order of
 * execution */
void kernel_bounds(Bounds *b, Kernel *k);
void plan_bounds(Plan *p);                  /* calls kernel_bounds for all kernels */
/* Elements behind the buffer's pointer that each run may access. The pointer to a window's state moves from run to run. */
int64_t reach_in_runs(const Plan *p, const Buf *buf);
bool plan_in_bounds(const Plan *p, Sb *why); /* whether all accesses are proved; if not, *why names the first access without
                                                a proof */

/* ---- libm.c: functions of the C library as arithmetic ---- */
/* Whether the backend supports the ops SCALB and LOOKUP for vectors of f32. lanes: number of lanes of these vectors */
typedef struct FunctionOps { bool scalb, lookup; } FunctionOps;
FunctionOps function_ops(const Backend *b, const Target *t, int lanes);
/* Returns arithmetic that computes the value of node r, or 0 if libm_has is false for the op and type of r. has: the result of
 * function_ops for the number of lanes of r */
Ref libm_expr(IR *ir, Ref r, FunctionOps has);
bool libm_has(Op op, DType d);           /* whether libm_expr expands this op on values of this type */

/* ---- sum_chains.c: if all loops of a sum are unrolled, the sum may be divided into partial sums (chains), which are added at
 * the end. Then each addition of a term waits only for the previous addition to the same partial sum ---- */
int sum_chains(IR *ir, Ref nest, const Target *t); /* best number of chains for the nest's sum; 1: the sum is not divided */

/* ---- linearize.c ---- */
void kernel_buffers(const IR *ir, Kernel *k); /* sets k->bufs, k->written and k->locals, each in the order of first accesses */
typedef struct Shared Shared;                  /* values that several nests of a program use. The program computes each of these
                                                  values one time, outside of all loops */
Shared *shared_open(int warp); /* warp: number of threads that can exchange values without memory; 0: threads cannot */
void shared_close(Shared *s);
void linear_nest(IR *ir, Ref nest, Refs *prog, Shared *shared); /* appends the nest's micro-ops to prog */

/* ---- in_place.c: whether `out`, the buffer to which the program stores, may be in the memory of `in`, which it loads. The proof
 * covers all sizes of a run, and chunks that several threads run. chunks: Kernel.chunks ---- */
bool program_in_place(const IR *ir, const Refs *prog, int chunks, int in, int out);
/* ---- overwrite.c: appends to `made` the program with loads of `in` one iteration ahead, in loops that store vectors to `out`
 * and move some of them back. Returns false if there is no such loop ---- */
bool program_load_ahead(IR *ir, const Refs *prog, int in, int out, Refs *made);
/* ---- products.c: counts the multiply-adds of a program, added up over all threads. all: number of multiply-adds. staged:
 * number of multiply-adds with a factor in shared memory. matrix: number of multiply-adds that matrix units do ---- */
typedef struct Products { double all, staged, matrix; } Products;
/* legalize.c: whether x is a MUL or MULACC of i32 that an instruction of t can compute. The instruction multiplies pairs of words
 * (16 bits) and adds up the products. So each factor must fit into one word, and at least one factor must not be negative. */
bool multiplies_words(const IR *ir, const Target *t, const Node *x);
Products program_products(const IR *ir, const Ref *list, size_t n);
Products plan_products(const Plan *p);

/* ---- plan_time.c: predicts the time of each kernel on one core of a CPU with the facts f. Sets out[k] for kernel k ---- */
void plan_time(const Plan *p, const CpuFacts *f, ProgramTime *out);
/* ---- fuse_nests.c: the micro-ops of prog from index `from` on must be those of a nest and of the rests of this nest. If
 * several of these nests begin with loops over the same values, joins these loops into one loop that runs all bodies ---- */
void fuse_nests(IR *ir, Refs *prog, size_t from);
/* ---- multiplications.c: the number of multiplications in a run. run: a RunSizes (ir.h) ---- */
double plan_multiplications(const Plan *p, const int64_t *run);

/* ---- blocks_apart.c ---- */
/* Tries to prove for a launch: if one block stores to an element of global memory, no other block accesses this element. Returns
 * whether it has found a proof. mem[i]: address of buffer i. The function does not read the buffers. most: most elements to look
 * at; if the proof needs more, returns false. why: may be NULL. If the function returns false, *why gets the op, the buffer and
 * the reason */
bool blocks_apart(const IR *ir, const Launch *l, void *const *mem, int64_t most, Sb *why);

/* ---- rebase.c: a kernel gets a pointer to each of its buffers. plan_rebase moves the pointer from the buffer's first element
 * to a later element (Kernel.shift), if this makes the functions of several kernels equal. Pointers to the arena and the weights
 * stay multiples of REBASE_ALIGN ---- */
enum { REBASE_ALIGN = 64 }; /* bytes: alignment that backends assume for pointers to the arena and the weights */
void plan_rebase(Plan *p);

/* ---- kernel_functions.c ---- */
/* Returns Kernel.signature of kernel k. The first call for k prints the text of the kernel's function, and sets Kernel.signature
 * and Kernel.head. */
uint32_t kernel_signature(const Plan *p, size_t k);
void plan_render(Plan *p);           /* sets Kernel.text of all kernels whose Kernel.code is not negative */
/* caller_rows.c: in the caller's memory, the length of a row may depend on a size of the run. buf_row returns the length that
 * rows of this kind have at the greatest sizes, in elements, or 0 if b has no rows of this kind. caller_rows takes a nest whose
 * indices assume the greatest sizes, and returns the nest with indices for the sizes of the run. */
int64_t buf_row(const Buf *b);
Ref caller_rows(IR *ir, Ref nest);
bool kernel_sized(const IR *ir, const Kernel *k);   /* whether k's program uses sizes of the run */

/* For a target with a Device: appends the launches of a kernel to *out, in order. The caller frees *out with launches_free */
void kernel_launches(const Plan *p, const Kernel *k, Launches *out);

/* ---- merge_functions.c ---- */
void plan_merge_functions(Plan *p); /* sets Kernel.code of all kernels that have a program */
bool plan_functions_equal(const Plan *p); /* whether kernels with equal Kernel.code have equal functions */

/* ---- variants.c: makes p->variants: one plan for each machine of Target.variants (--isa=fat) ---- */
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
  uint8_t config[64];        /* the configuration. Byte 0: palette. Byte 16 + 2 * i: number of bytes of a row of register i. Byte
                                48 + i: number of rows of register i */
} TileSet;
/* Fills in *out for the nest that begins with prog[0], a TILES. The nest ends at the next TILES, or after n ops. */
void tile_registers(const IR *ir, const Ref *prog, size_t n, TileSet *out);
int tile_register(const TileSet *t, Ref value);     /* the register of `value`; -1: t does not have this value */
Ref tile_sum(const IR *ir, const Node *mma);        /* the ACC of the sum to which `mma` adds a product */
const IsaOp *tile_isa_op(const IR *ir, const Node *mma); /* the instruction that computes `mma` */

/* ---- shared_packing.c: entries of a bundle share packed weights. p->whole has kernels and weights of earlier entries ---- */
/* Looks for a packed weight of an earlier entry that has each element of `tensor` once. Sets *order to the order of the packed
 * weight, and returns the index that element `index` of `tensor` has in this order. Returns 0 if no weight was found, or if the
 * lanes of a load at this index would not read adjacent elements. */
Ref shared_order(Plan *p, int64_t tensor, Ref index, Packed *order);
/* Whether an earlier entry reads a weight that is not packed and has the bytes of `tensor`. Returns false, too, if the lanes of a
 * load at `index` do not read adjacent elements. */
bool shared_plain(const Plan *p, int64_t tensor, Ref index);
#endif

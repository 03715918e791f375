/* SPDX-License-Identifier: MIT */
/* lower.h: from nests with split ranges to programs: copies and lanes, ops that the machine has, linear code, and the proof of
 * its accesses. */
#ifndef TGC_LOWER_H
#define TGC_LOWER_H
#include "../cost/program_time.h"
#include "../cost/tile.h"
#include "../nest/nest.h"
#include "../target/isa_ops.h"
#include "../target/launch.h"

/* ---- prefetch.c. `given` and `made` hold a digit for each panel of all nests of a kernel: 1 if it is prefetched. *given moves
 * past the nest's digits; digits beyond the text's end are 0. *given NULL: the target's facts decide ---- */
Ref prefetch_nest(IR *ir, Ref nest, const Target *t, const char **given, Sb *made);

/* ---- bounds.c: proves that accesses are inside their buffers ---- */
/* ALGEBRA: by bounds and linear inequalities; RANGES: by halving the ranges of loops until intervals prove each part */
typedef enum { PROOF_NONE, PROOF_ALGEBRA, PROOF_RANGES } Proof;
typedef struct Bounds Bounds;
Bounds *bounds_open(const Plan *p);         /* the caller closes it */
void bounds_close(Bounds *b);
Proof bounds_of(Bounds *b, Ref access);     /* access: a LOAD, STORE, TILE or PART of a program; its gate is considered */
/* Call it for each kernel, in order. Notes the integers that k stores to buffers, for proofs about later programs, and the shifts
 * of k's pointers. */
void bounds_note(Bounds *b, const Kernel *k);
/* Whether all accesses of prog are proved if the pointers to k's buffers move by shift[], in elements. bounds_note was called for
 * k; k itself has no shifts. */
bool bounds_moved(Bounds *b, const Kernel *k, const Refs *prog, const int64_t *shift);
void kernel_bounds(Bounds *b, Kernel *k);   /* sets k->bounds and clamps unproved accesses; kernels in execution order */
void plan_bounds(Plan *p);                  /* all kernels */
bool plan_in_bounds(const Plan *p, Sb *why); /* changes nothing; false: *why names the first unproved access */

/* ---- libm.c: functions as arithmetic; 0: r is no such function. scalb: the machine has SCALB for vectors of as many lanes
 * as r ---- */
Ref libm_expr(IR *ir, Ref r, bool scalb);
bool libm_has(Op op, DType d);           /* whether libm_expr has the function */

/* ---- sum_chains.c: chains of terms for a sum of the nest that is unrolled completely ---- */
int sum_chains(IR *ir, Ref nest, const Target *t);

/* ---- linearize.c ---- */
void kernel_buffers(const IR *ir, Kernel *k); /* sets k->bufs: buffers of k's program, in the order of their first use */
typedef struct Shared Shared;                  /* the nests of a program share values, which are computed once, outside of
                                                  all loops */
Shared *shared_open(int warp); /* warp: threads that exchange values without memory; 0: none do */
void shared_close(Shared *s);
void linear_nest(IR *ir, Ref nest, Refs *prog, Shared *shared); /* adds the nest's micro-ops */

/* ---- products.c: multiply-adds of a program in all threads; staged: one factor comes from shared memory; matrix: by matrix
 * units of warps ---- */
typedef struct Products { double all, staged, matrix; } Products;
Products program_products(const IR *ir, const Ref *list, size_t n);
Products plan_products(const Plan *p);

/* ---- plan_time.c: predicted time of each kernel on one core with the facts f; out has an element for each kernel ---- */
void plan_time(const Plan *p, const CpuFacts *f, ProgramTime *out);

/* ---- blocks_apart.c ---- */
/* Whether it is proved that no block of a launch touches an element of global memory that another block stores to. mem[i]:
 * address of buffer i; nothing is read there. most: budget of elements. false: *why names op, buffer and reason, unless it is
 * NULL */
bool blocks_apart(const IR *ir, const Launch *l, void *const *mem, int64_t most, Sb *why);

/* ---- rebase.c: moves buffer pointers to the first element a kernel touches, if that makes functions equal ---- */
enum { REBASE_ALIGN = 64 }; /* bytes: alignment that backends assume of pointers to the arena and weights */
void plan_rebase(Plan *p);

/* ---- kernel_functions.c ---- */
/* Number of the interned text of kernel k's function, without its name. The first call prints the text. */
uint32_t kernel_signature(const Plan *p, size_t k);
void plan_render(Plan *p);          /* Kernel.text */
bool buf_has_rows(const Buf *b); /* rows in the caller's memory are as long as a run's sizes say */
Ref caller_rows(IR *ir, Ref nest);   /* caller_rows.c: the nest, whose accesses find rows as long as a run's sizes say */
bool kernel_sized(const IR *ir, const Kernel *k);   /* k's program asks for sizes of the run */

/* the launches of a kernel for a machine with a Device, in order; the caller frees them */
void kernel_launches(const Plan *p, const Kernel *k, Launches *out);

/* ---- merge_functions.c ---- */
void plan_merge_functions(Plan *p); /* Kernel.code */
bool plan_functions_equal(const Plan *p); /* whether kernels with the same code have the same function */

/* ---- variants.c: p->variants, one for each machine of a fat target ---- */
void variants_make(Plan *p);
const PlanInputs *variant_inputs(const Plan *p, const Target *t); /* the inputs of the variant for t, in the model's arena */

/* ---- tile_registers.c: registers of a nest's tiles, and their shapes as the operand of the instruction that configures
 * tiles ---- */
enum { MAX_TILES = 64 };                           /* most ACCs and TILEs of a nest */
typedef struct TileSet {
  int n, values;
  Ref value[MAX_TILES];      /* an ACC or a TILE */
  int reg[MAX_TILES];        /* register of each value */
  size_t until[TILE_REGISTERS]; /* by register: index of the last instruction that uses its value */
  uint8_t config[64];        /* byte 0: palette; 16 + 2 i: bytes of a row of register i; 48 + i: its rows */
} TileSet;
void tile_registers(const IR *ir, const Ref *prog, size_t n, TileSet *out); /* for the nest whose TILES is prog[0] */
int tile_register(const TileSet *t, Ref value);     /* -1: the value is no tile */
Ref tile_sum(const IR *ir, const Node *mma);        /* the ACC that the product adds to, perhaps after other products */
const IsaOp *tile_isa_op(const IR *ir, const Node *mma);

/* ---- shared_packing.c ---- */
/* An earlier entry of the pipeline may have packed a weight that has the same bytes as `tensor`. Returns the index in that packed
 * order; *order: the order. 0: there is none, or lanes would not read neighbours */
Ref shared_order(Plan *p, int64_t tensor, Ref index, Packed *order);
/* Whether an earlier entry reads a weight of the same bytes that is not packed, and lanes of this load read neighbours there */
bool shared_plain(const Plan *p, int64_t tensor, Ref index);
#endif

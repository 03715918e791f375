/* lower.h: from nests with split ranges to programs: copies and lanes, what the machine has, linear code, proofs of its
 * accesses. */
#ifndef TGC_LOWER_H
#define TGC_LOWER_H
#include "../cost/tile.h"
#include "../nest/nest.h"
#include "../target/isa_ops.h"
#include "../target/launch.h"

/* ---- prefetch.c. Digits for the panels of all nests of a kernel in turn: 1 for those to ask for. *given: moves on, at its
 * end all are 0; NULL: by the facts of the target. made: those that count ---- */
Ref prefetch_nest(IR *ir, Ref nest, const Target *t, const char **given, Sb *made);

/* ---- bounds.c: proofs that accesses lie inside their buffers ---- */
typedef enum { PROOF_NONE, PROOF_ALGEBRA, PROOF_RANGES } Proof; /* by bounds and linear inequalities; by running loops' values */
typedef struct Bounds Bounds;
Bounds *bounds_open(const Plan *p);         /* the caller closes it */
void bounds_close(Bounds *b);
Proof bounds_of(Bounds *b, Ref access);     /* of a LOAD, STORE, TILE or PART of a program, with its gate */
/* k's program is the next: what its stores leave in buffers of integers, for programs that load it, and how far its pointers
 * are moved */
void bounds_note(Bounds *b, const Kernel *k);
/* the program with the pointers to k's buffers moved on by so many elements; k has been noted and moves none itself */
bool bounds_moved(Bounds *b, const Kernel *k, const Refs *prog, const int64_t *shift);
void kernel_bounds(Bounds *b, Kernel *k);   /* gives k->bounds; clamps what is not proved. Kernels in order of execution */
void plan_bounds(Plan *p);                  /* all kernels */
bool plan_in_bounds(const Plan *p, Sb *why); /* changes nothing; false: *why names the first access that is not proved */

/* ---- libm.c: a function as arithmetic, or 0; scalb: the machine has SCALB for so many lanes ---- */
Ref libm_expr(IR *ir, Ref r, bool scalb);
bool libm_has(Op op, DType d);           /* whether it is one of those */

/* ---- linearize.c ---- */
void kernel_buffers(const IR *ir, Kernel *k); /* those that its program names, in the order in which it does */
typedef struct Shared Shared;                  /* what the nests of one program compute outside of all loops */
Shared *shared_open(int warp); /* threads that exchange values without memory; 0: they use shared memory */
void shared_close(Shared *s);
void linear_nest(IR *ir, Ref nest, Refs *prog, Shared *shared); /* adds the nest's micro-ops */

/* ---- products.c: multiply-adds that a program runs, by all of its threads; staged: those with a factor from shared memory;
 * those in matrix units of warps ---- */
typedef struct Products { double all, staged, matrix; } Products;
Products program_products(const IR *ir, const Ref *list, size_t n);
Products plan_products(const Plan *p);

/* ---- blocks_apart.c ---- */
/* Whether it is proved that no block of a launch touches an element of global memory that another one stores to. mem[i]: where
 * buffer i is; only addresses count. most: elements to go through; false: *why names op, buffer and reason. NULL: not asked */
bool blocks_apart(const IR *ir, const Launch *l, void *const *mem, int64_t most, Sb *why);

/* ---- rebase.c: kernels count their indices from where they begin to touch a buffer, where that makes functions equal ---- */
enum { REBASE_ALIGN = 64 }; /* bytes: what backends take for granted of pointers to the arena and weights */
void plan_rebase(Plan *p);

/* ---- kernel_functions.c ---- */
uint32_t kernel_signature(const Plan *p, size_t k); /* its function but for the name, interned: printed once and kept */
void plan_render(Plan *p);          /* Kernel.text */

/* of a kernel for a machine with a Device, in order; the caller frees them */
void kernel_launches(const Plan *p, const Kernel *k, Launches *out);

/* ---- merge_functions.c ---- */
void plan_merge_functions(Plan *p); /* Kernel.code */
bool plan_functions_equal(const Plan *p); /* kernels with one code have one function */

/* ---- variants.c: p->variants, one for each machine of a fat target ---- */
void variants_make(Plan *p);
const PlanInputs *variant_inputs(const Plan *p, const Target *t); /* of the variant for t, in the model's arena */

/* ---- tile_registers.c: the registers of a nest's tiles, and the operand of the instruction that gives them their shapes ---- */
enum { MAX_TILES = 64 };                           /* ACCs and TILEs of a nest */
typedef struct TileSet {
  int n, values;
  Ref value[MAX_TILES];      /* an ACC or a TILE */
  int reg[MAX_TILES];        /* of each value */
  size_t until[TILE_REGISTERS]; /* the place of the last instruction that wants what the register has */
  uint8_t config[64];        /* 0: palette; 16 + 2 i: bytes of a row of register i; 48 + i: rows */
} TileSet;
void tile_registers(const IR *ir, const Ref *prog, size_t n, TileSet *out); /* of the nest whose TILES is prog[0] */
int tile_register(const TileSet *t, Ref value);     /* -1: it is no tile */
Ref tile_sum(const IR *ir, const Node *mma);        /* the ACC that it adds to, maybe after other products */
const IsaOp *tile_isa_op(const IR *ir, const Node *mma);
#endif

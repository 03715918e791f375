/* SPDX-License-Identifier: MIT */
/* target.h: facts about a machine. The compiler decides by these facts, never by a machine's name. */
#ifndef TGC_TARGET_H
#define TGC_TARGET_H
#include "../../runtime_stub/tgcrt.h"
#include "../ir/ir.h"
#include "device.h"

typedef enum Arch { ARCH_ANY, ARCH_X86_64, ARCH_AARCH64, ARCH_RISCV64, ARCH_ARM, ARCH_WASM } Arch;

enum { TGCRT_CPU_MVE = 1 << 21 }; /* Helium. CPUs with Helium run no operating system, so the runtime does not detect it */

enum { /* bits of features; bundles use the same values */
#define FEATURE(id, arch, name, needs, cflags, llvm, macros) FEAT_##id = TGCRT_CPU_##id,
#include "features.h"
#undef FEATURE
};

/* Facts about caches, which hold for all machines so far. LINE_BYTES: bytes of a cache line. L1_SETS: sets of the first level. A
 * way of the first level has LINE_BYTES * L1_SETS bytes, as many as a page. L2_WAYS: least number of ways of the second level. */
enum { LINE_BYTES = 64, L1_SETS = 64, L2_WAYS = 8 };

/* Most vectors of results that a kernel keeps in variables from its reductions to its stores. Variables that get no register are
 * on the stack. */
enum { ROW_VECTORS = 32 };

typedef struct Target {
  const char *isa;         /* name, such as "x86-64-v4+vnni": for --isa, messages, the manifest and build files */
  Arch arch;
  int pointer_bits;        /* bits of a CPU's pointer: 64 or 32; 0: unknown */
  uint32_t features;       /* FEAT_ bits: features beyond the architecture's baseline that code may use */
  int vector_bytes;        /* bytes of the widest vector that makes code faster; 0: scalar code only */
  int vector_regs;         /* architectural vector registers, or float registers if there are no vectors; 0: unknown */
  int int_regs;            /* integer registers that a compiler may use; 0: the number of registers limits nothing */
  bool fma;                /* multiply-add is one instruction */
  bool f16_convert;        /* the hardware converts between f16 and f32 */
  int l1_bytes, l2_bytes;  /* bytes of the first-level data cache and the second-level cache of a core */
  int l3_bytes;            /* bytes of the third-level cache, which cores share; 0: none, or unknown */
  int cores;               /* number of cores; 1 if the number is not known */
  const char *cflags;      /* flags for the C compiler: "-mavx2 -mfma" */
  const char *triple;      /* LLVM's name of the machine and its operating system */
  const char *llvm;        /* LLVM's names of the features: "+avx2,+fma"; "": none */
  const char *cpu;         /* LLVM's name of a CPU, on request only; NULL: any */
  const struct Rates *rates; /* cost/cost.h; NULL: the rates for all machines */
  const char *source;      /* source of the cache sizes */
  const struct CpuFacts *facts; /* cpu_facts.h: the CPU for which costs are predicted; NULL: none was chosen */
  const Device *dev;       /* device.h; NULL: a CPU */
  bool in_order;           /* request, not fact: sums of floats add term by term, in the same order on all machines */
  bool flushes;            /* request, not fact: results may have 0 for denormals, so code may use instructions that flush */
  /* The machines of one bundle: the one with most features first, the baseline last, then NULL. Schedules are made for the
   * Target that has the list. NULL: the bundle is for this machine only */
  const struct Target *const *variants;
} Target;

/* A row of features.h. bit: FEAT_id; needs: FEAT_ bits of the features that this feature needs */
typedef struct Feature { uint32_t bit; Arch arch; const char *name; uint32_t needs; const char *cflags, *llvm, *macros; } Feature;
extern const Feature features[];                      /* .name NULL ends the list. A feature follows the features that it needs */
extern const int feature_count;
extern const Target targets[];                        /* .isa NULL ends the list */

/* Finds the machine for a text: "fat", or the name of a row of targets or device_targets, or "native". "native" is the best
 * row that this CPU runs, with the CPU's other features and its caches. "+name" and "-name" after a name add and remove
 * features, as in "native-amx". "fat" has Target.variants. The result lives in arena `a`. NULL: *why says what is wrong with
 * the text. */
const Target *target_find(Arena *a, const char *text, const char **why);
/* The architecture of an LLVM triple. *isa: receives the name of the target to use without --isa. ARCH_ANY: tgc does not know the
 * triple, and *isa stays unchanged */
Arch triple_arch(const char *triple, const char **isa);
/* target_tuned, target_in_order and target_flushing return a changed copy of t in arena `a`. target_tuned sets triple and cpu.
 * triple NULL: t's triple stays; cpu NULL: any CPU. target_in_order sets in_order, and flags by which the C compiler does not
 * fuse multiply-adds. target_flushing sets flushes. */
const Target *target_tuned(Arena *a, const Target *t, const char *triple, const char *cpu);
const Target *target_in_order(Arena *a, const Target *t);
const Target *target_flushing(Arena *a, const Target *t);
void target_facts(const Target *t, Sb *o);            /* appends facts on which schedules depend, as text without a line end */
/* Appends lines of C that stop compilation with a message if the compiler's flags are for another machine, or break the
 * arithmetic of IEEE 754. file: name of the C file, for the message */
void target_guard(const Target *t, const char *file, Sb *o);
const char *arch_name(Arch a);
int target_least_vector(const Target *t);             /* bytes of the shortest vectors for which t has instructions */
bool target_is_bare(const Target *t);                 /* whether t has no operating system */
const char *target_tools(const Target *t);            /* prefix of the names of GNU tools for t: "arm-none-eabi-" or "" */
const char *target_machine_flags(Arena *a, const Target *t); /* the flags of cflags that begin with -m, in arena `a` */
/* Whether code may use an instruction of t that converts this number of floats to bf16. The instruction flushes denormals, so the
 * result is false without t->flushes. */
bool target_rounds(const Target *t, int lanes);
/* Whether t's registers have 32 bits. If so, indices are computed in 32 bits where their bounds allow it (lower/narrow.c). */
bool target_counts_in_32(const Target *t);
DType target_count(const Target *t);                  /* the type of chunk numbers in code for a CPU: i32 or i64 */
/* Whether t has an instruction that rounds a scalar of type `from` to the nearest i32. to: i32, or a narrower integer, to which
 * code saturates the i32 */
bool target_rounds_to_int(const Target *t, DType from, DType to);
/* Whether t has an instruction that rounds this number of floats to i32. The C backend's helper `pack` then makes bytes of the
 * i32. */
bool target_packs(const Target *t, int lanes);
/* Whether t has an instruction that multiplies pairs of words (16 bits), and adds the products up in this number of lanes of
 * i32 */
bool target_adds_words(const Target *t, int lanes);
/* Whether t has an instruction that multiplies this number of lanes of type d by powers of two (SCALB) */
bool target_scales(const Target *t, DType d, int lanes);

/* ---- device.c ---- */
extern const Target device_targets[];                 /* targets with .dev; .isa NULL ends the list */
const Target *device_target(const char *isa);         /* NULL: there is no device of that name */
/* device_named returns the row with features added or removed by the text `more`, such as "+f16-dotprod". NULL: *why says what
 * is wrong with the text. device_with returns the row with the features of `set` (DEVF_ bits) that the device may have, and no
 * others. Results live in arena `a`. */
const Target *device_named(Arena *a, const Target *row, const char *more, const char **why);
const Target *device_with(Arena *a, const Target *row, uint32_t set);
/* Whether code converts halves by instructions of the device. Such instructions may flush denormals, so the result is false
 * without t->flushes. False: code converts halves by integer arithmetic */
bool target_converts_halves(const Target *t);
/* Whether the CPU multiplies and adds halves (f16) in vectors of this number of lanes. lanes 0: whether some number of lanes is
 * possible */
bool target_sums_halves(const Target *t, int lanes);
bool target_has_threads(const Target *t);             /* whether many threads run a program (docs/ir.md, "Device programs") */
void device_facts(const Device *d, Sb *o);            /* the device's part of target_facts */

/* ---- host.c ---- */
Arch host_arch(void);                                 /* ARCH_ANY: tgc has no rows for this machine */
uint32_t host_features(void);                         /* FEAT_ bits that the CPU and the operating system have */
/* Sets the cache sizes of t to this CPU's, and t->cores to the number of CPUs that this process may use. Numbers that are not
 * known stay unchanged. */
void host_sizes(Target *t);
#endif

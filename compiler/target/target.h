/* SPDX-License-Identifier: MIT */
/* target.h: facts about a machine. The compiler decides by these facts, never by a machine's name. */
#ifndef TGC_TARGET_H
#define TGC_TARGET_H
#include "../../runtime_stub/tgcrt.h"
#include "../ir/ir.h"
#include "device.h"

typedef enum Arch { ARCH_ANY, ARCH_X86_64, ARCH_AARCH64, ARCH_RISCV64, ARCH_ARM, ARCH_WASM } Arch;

enum { TGCRT_CPU_MVE = 1 << 21 }; /* Helium. CPUs with it run no operating system, so the runtime does not detect it */

enum { /* bits of features; bundles use the same values */
#define FEATURE(id, arch, name, needs, cflags, llvm, macros) FEAT_##id = TGCRT_CPU_##id,
#include "features.h"
#undef FEATURE
};

/* Caches of all machines so far. LINE_BYTES: bytes of a cache line. L1_SETS: sets of the first level, so a way has 4096 bytes, as
 * many as a page. L2_WAYS: least number of ways of the second level. */
enum { LINE_BYTES = 64, L1_SETS = 64, L2_WAYS = 8 };

/* A kernel may keep a row of results in variables from its reductions to its stores: at most so many vectors. Variables that get
 * no register are on the stack. */
enum { ROW_VECTORS = 32 };

typedef struct Target {
  const char *isa;         /* "portable", "x86-64-v4+vnni", ...: for --isa, messages, the manifest and build files. No
                              pass decides by it */
  Arch arch;
  int pointer_bits;        /* a CPU's: 64 or 32; 0: unknown */
  uint32_t features;       /* FEAT_ bits: features beyond the architecture's baseline that code may use */
  int vector_bytes;        /* widest vector that makes code faster; 0: scalar code only */
  int vector_regs;         /* architectural vector registers, or float registers if there are no vectors; 0: unknown */
  int int_regs;            /* integer registers that a compiler may use; 0: they limit nothing */
  bool fma;                /* multiply-add is one instruction */
  bool f16_convert;        /* the hardware converts between f16 and f32 */
  int l1_bytes, l2_bytes;  /* bytes of the first-level data cache and the second-level cache of a core */
  int l3_bytes;            /* bytes of the third-level cache, which cores share; 0: none, or unknown */
  int cores;               /* 1: not known, or one */
  const char *cflags;      /* flags for the C compiler: "-mavx2 -mfma" */
  const char *triple;      /* LLVM's name of the machine and its operating system */
  const char *llvm;        /* LLVM's names of the features: "+avx2,+fma"; "": none */
  const char *cpu;         /* LLVM's name of a CPU, on request only; NULL: any */
  const struct Rates *rates; /* cost/cost.h; NULL: the rates for all machines */
  const char *source;      /* source of the cache sizes */
  const struct CpuFacts *facts; /* cpu_facts.h: the CPU for which costs are predicted; NULL: none was chosen */
  const Device *dev;       /* device.h; NULL: a CPU */
  bool in_order;           /* request, not fact: sums of floats add term by term, in the same order on all machines */
  bool flushes;            /* request, not fact: results may have 0 for denormals, so instructions that flush them may be used */
  /* The machines of one bundle: the one with most features first, the baseline last, then NULL. Schedules are made for the
   * Target that has the list. NULL: the bundle is for this machine only */
  const struct Target *const *variants;
} Target;

/* A row of features.h; bit: FEAT_id */
typedef struct Feature { uint32_t bit; Arch arch; const char *name; uint32_t needs; const char *cflags, *llvm, *macros; } Feature;
extern const Feature features[];                      /* .name NULL ends it; needed features come first */
extern const int feature_count;
extern const Target targets[];                        /* .isa NULL ends it */

/* Finds the machine for a text: the name of a row of targets, or "native". The latter is the best row that this CPU runs, with
 * the CPU's other features. "+name" and "-name" add and remove features ("native-amx"). The result lives in arena `a`. NULL:
 * *why says what is wrong with the text. */
const Target *target_find(Arena *a, const char *text, const char **why);
/* The architecture of an LLVM triple; ARCH_ANY: tgc does not know the triple. *isa: the row that is used if --isa is not given */
Arch triple_arch(const char *triple, const char **isa);
const Target *target_tuned(Arena *a, const Target *t, const char *triple, const char *cpu); /* NULL: t's triple, any cpu */
const Target *target_in_order(Arena *a, const Target *t); /* sets in_order; also, the C compiler may not fuse multiply-adds */
const Target *target_flushing(Arena *a, const Target *t); /* sets flushes */
void target_facts(const Target *t, Sb *o);            /* all facts that schedules may depend on, as one line */
/* Writes lines of C that stop compilation with a message if the compiler's flags are for another machine. */
void target_guard(const Target *t, const char *file, Sb *o);
const char *arch_name(Arch a);
int target_least_vector(const Target *t);             /* bytes of the shortest vectors that instructions exist for */
bool target_is_bare(const Target *t);                 /* t has no operating system */
const char *target_tools(const Target *t);            /* prefix of the names of GNU tools for t: "arm-none-eabi-" or "" */
const char *target_machine_flags(Arena *a, const Target *t); /* the part of cflags that all code for the machine needs */
/* t has an instruction that converts this number of floats to bf16. The instruction flushes denormals, so t->flushes must be
 * set. */
bool target_rounds(const Target *t, int lanes);
/* t's registers have 32 bits, so indices are computed in 32 bits if their bounds allow it (lower/narrow.c). */
bool target_counts_in_32(const Target *t);
DType target_count(const Target *t);                  /* the type of chunk numbers in code for a CPU */
/* t has an instruction that rounds a scalar of type `from` to the nearest integer, as i32. to: i32 or a narrower integer; code
 * saturates the i32 to the narrower type. */
bool target_rounds_to_int(const Target *t, DType from, DType to);
/* t has an instruction that rounds this number of floats to i32, for the C backend's helper `pack`, which makes bytes of them. */
bool target_packs(const Target *t, int lanes);
/* t has an instruction that multiplies pairs of words and adds the products up in this number of lanes of i32. */
bool target_adds_words(const Target *t, int lanes);
/* t has an instruction that multiplies this number of lanes of type d by powers of two (SCALB). */
bool target_scales(const Target *t, DType d, int lanes);
/* t has an instruction that looks up this number of lanes of type d in a vector of 16 lanes (LOOKUP), and may use it. Results of
 * functions differ in rounding from those without it, so in_order must not be set. */
bool target_looks_up(const Target *t, DType d, int lanes);

/* ---- device.c ---- */
extern const Target device_targets[];                 /* .isa NULL ends it; each has .dev */
const Target *device_target(const char *isa);         /* NULL: there is no device of that name */
/* device_named: the row with features added or removed by the text `more` ("+f16-dotprod"); NULL: *why says what is wrong with
 * it. device_with: the row with those features of `set` (DEVF_ bits) that the device may have, and no others. Results live in
 * arena `a`. */
const Target *device_named(Arena *a, const Target *row, const char *more, const char **why);
const Target *device_with(Arena *a, const Target *row, uint32_t set);
/* Whether the device converts halves by instructions. These may flush denormals, so t->flushes must be set. Otherwise integer
 * arithmetic converts halves. */
bool target_converts_halves(const Target *t);
/* The CPU multiplies and adds halves (f16) in vectors of this number of lanes. lanes 0: asks for vectors of any number */
bool target_sums_halves(const Target *t, int lanes);
bool target_has_threads(const Target *t);             /* many threads run a program for t (docs/ir.md, "Device programs") */
void device_facts(const Device *d, Sb *o);            /* the device's part of target_facts */

/* ---- host.c ---- */
Arch host_arch(void);                                 /* ARCH_ANY: tgc has no rows for this machine */
uint32_t host_features(void);                         /* FEAT_ bits that the CPU and the operating system have */
void host_sizes(Target *t);                           /* sets t's caches and cores to this CPU's; unknown ones stay */
#endif

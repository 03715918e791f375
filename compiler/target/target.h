/* SPDX-License-Identifier: MIT */
/* target.h: facts about a machine. The compiler decides by these facts, never by a machine's name. */
#ifndef TGC_TARGET_H
#define TGC_TARGET_H
#include "../../runtime_stub/tgcrt.h"
#include "../ir/ir.h"
#include "device.h"

typedef enum Arch { ARCH_ANY, ARCH_X86_64, ARCH_AARCH64, ARCH_RISCV64, ARCH_ARM, ARCH_WASM } Arch;

enum { TGCRT_CPU_MVE = 1 << 21 }; /* Helium. CPUs with Helium run no operating system, so the runtime does not detect Helium */

enum { /* bits of features; bundles use the same values */
#define FEATURE(id, arch, name, needs, cflags, llvm, macros) FEAT_##id = TGCRT_CPU_##id,
#include "features.h"
#undef FEATURE
};

/* Facts about caches that hold for all machines of machines.h. LINE_BYTES: bytes of a cache line. L1_SETS: number of sets of the
 * first level. So a way of the first level has LINE_BYTES * L1_SETS bytes, as many as a page. L2_WAYS: least number of ways of
 * the second level. */
enum { LINE_BYTES = 64, L1_SETS = 64, L2_WAYS = 8 };

/* Greatest number of vectors of results that a kernel keeps in variables between its reductions and its stores. Variables without
 * a register are on the stack. */
enum { ROW_VECTORS = 32 };

typedef struct Target {
  const char *isa;         /* name, such as "x86-64-v4+vnni": for --isa, messages, the manifest and build files */
  Arch arch;
  int pointer_bits;        /* bits of a CPU's pointer: 64 or 32; 0: unknown */
  uint32_t features;       /* FEAT_ bits of the features that code may use beyond the architecture's baseline */
  int vector_bytes;        /* bytes of the widest vector that makes code faster; 0: scalar code only */
  int vector_regs;         /* number of architectural vector registers or, if vector_bytes is 0, of float registers; 0: unknown */
  int int_regs;            /* number of integer registers that a compiler may use; 0: there are enough for all code */
  bool fma;                /* multiply-add is one instruction */
  bool f16_convert;        /* the hardware converts between f16 and f32 */
  int l1_bytes, l2_bytes;  /* bytes of the first-level data cache and the second-level cache of a core */
  int l3_bytes;            /* bytes of the third-level cache, which cores share; 0: none, or unknown */
  int cores;               /* number of cores or, after host_sizes, of CPUs that this process may use; 1: not known */
  const char *cflags;      /* flags for the C compiler: "-mavx2 -mfma" */
  const char *triple;      /* LLVM's name of the machine and its operating system */
  const char *llvm;        /* LLVM's names of the features: "+avx2,+fma"; "": none */
  const char *cpu;         /* if the user names a CPU: LLVM's name of this CPU; NULL: any CPU */
  const struct Rates *rates; /* cost/cost.h; NULL: the rates for all machines */
  const char *source;      /* source of the cache sizes */
  const struct CpuFacts *facts; /* cpu_facts.h: facts of the CPU for which costs are computed; NULL: no CPU was chosen */
  const Device *dev;       /* device.h; NULL: the target is a CPU */
  bool in_order;           /* request, not fact: sums of floats add their terms one by one, in an order that is the same on all
                              machines */
  bool flushes;            /* request, not fact: results may have 0 for denormals, so instructions may flush denormals */
  /* The machines of a bundle for several machines. The first machine has the most features, and the last machine is the
   * baseline; then NULL follows. Schedules are made for the Target that has this list. NULL: the bundle is for this machine
   * only */
  const struct Target *const *variants;
} Target;

/* A row of features.h. bit: FEAT_id; needs: FEAT_ bits of the features that this feature needs */
typedef struct Feature { uint32_t bit; Arch arch; const char *name; uint32_t needs; const char *cflags, *llvm, *macros; } Feature;
extern const Feature features[];                      /* .name NULL ends the list. A feature follows the features that it needs */
extern const int feature_count;
extern const Target targets[];                        /* .isa NULL ends the list */

/* Returns the machine that a text names. A text is "fat", "native", or the name of a row of `targets` or `device_targets`.
 * "native" is this CPU: the first row of `targets` whose code the CPU can run, with the CPU's further features, and the CPU's
 * cache sizes. Behind "native" or the name of a row, "+name" adds a feature and "-name" removes a feature, as in "native-amx".
 * "fat" is a bundle for several machines, with Target.variants. The result lives in arena `a`. Returns NULL if the text is wrong;
 * *why says what is wrong. */
const Target *target_find(Arena *a, const char *text, const char **why);
/* Returns the architecture of an LLVM triple, and sets *isa to the name of the target to use without --isa. Returns ARCH_ANY and
 * leaves *isa unchanged if tgc does not know the triple. */
Arch triple_arch(const char *triple, const char **isa);
/* target_tuned, target_in_order and target_flushing return a changed copy of t in arena `a`. target_tuned sets triple and cpu.
 * triple NULL: t's triple stays; cpu NULL: any CPU. target_in_order sets in_order, and changes cflags so that the C compiler does
 * not fuse multiply-adds. target_flushing sets flushes. */
const Target *target_tuned(Arena *a, const Target *t, const char *triple, const char *cpu);
const Target *target_in_order(Arena *a, const Target *t);
const Target *target_flushing(Arena *a, const Target *t);
void target_facts(const Target *t, Sb *o);            /* appends the facts on which the legality of schedules
                                                         depends, as a part of a line. Sizes of caches are not among them */
/* Appends lines of C that end the compilation of a file with an error if the compiler's flags do not fit. Flags do not fit if
 * they are for another machine, or if they break the arithmetic of IEEE 754. file: name of the file, for the message */
void target_guard(const Target *t, const char *file, Sb *o);
const char *arch_name(Arch a);
int target_least_vector(const Target *t);             /* bytes of the shortest vectors for which t has instructions */
bool target_is_bare(const Target *t);                 /* whether t has no operating system */
const char *target_tools(const Target *t);            /* prefix of the names of GNU tools for t: "arm-none-eabi-" or "" */
const char *target_machine_flags(Arena *a, const Target *t); /* the flags of cflags that begin with -m, in arena `a` */
/* Whether code may use an instruction of t that converts `lanes` floats to bf16. Since the instruction flushes denormals, the
 * result is false if t->flushes is false. */
bool target_rounds(const Target *t, int lanes);
/* Whether code computes indices in 32 bits where the bounds of the indices allow this (lower/narrow.c). This is so on devices
 * with threads, and on CPUs whose pointers have 32 bits. */
bool target_counts_in_32(const Target *t);
DType target_count(const Target *t);                  /* the type of chunk numbers in code for a CPU: i32 or i64 */
/* Whether code converts a scalar of type `from` to type `to` by an instruction of t that rounds to the nearest i32. The result is
 * false if `to` is neither i32 nor a narrower integer. For a narrower integer, code saturates the i32. */
bool target_rounds_to_int(const Target *t, DType from, DType to);
/* Whether t has an instruction that rounds `lanes` floats to i32. If so, the C backend has a helper `pack`, which rounds
 * floats to bytes. */
bool target_packs(const Target *t, int lanes);
/* Whether t has an instruction that multiplies words (16 bits) and adds the products of two neighbours. lanes: number of sums,
 * which are i32 */
bool target_adds_words(const Target *t, int lanes);
/* Whether t has an instruction that multiplies `lanes` values of type d by powers of two (SCALB) */
bool target_scales(const Target *t, DType d, int lanes);
/* Whether code may use an instruction of t that looks up `lanes` values of type d in a vector of 16 lanes (LOOKUP). The result is
 * false if t->in_order is set, since functions that use this instruction are rounded in another way. */
bool target_looks_up(const Target *t, DType d, int lanes);

/* ---- device.c ---- */
extern const Target device_targets[];                 /* targets with .dev; .isa NULL ends the list */
const Target *device_target(const char *isa);         /* the row with this name; NULL: there is none */
/* device_named returns a copy of the row, with features added or removed by the text `more`, such as "+f16-dotprod". device_named
 * returns NULL if the text is wrong; *why says what is wrong. device_with returns a copy of the row. The copy has the features
 * of `set` (DEVF_ bits) that the device may have, and no others. Results live in arena `a`. */
const Target *device_named(Arena *a, const Target *row, const char *more, const char **why);
const Target *device_with(Arena *a, const Target *row, uint32_t set);
/* Whether code converts halves by instructions of a device. Since these instructions may flush denormals, the result is false if
 * t->flushes is false. For a device, false means that code converts halves by integer arithmetic. */
bool target_converts_halves(const Target *t);
/* Whether the CPU multiplies and adds halves (f16) in vectors of `lanes` lanes. If `lanes` is 0: whether the CPU does this for
 * at least one number of lanes */
bool target_sums_halves(const Target *t, int lanes);
bool target_has_threads(const Target *t);             /* whether t is a device that runs a program in many threads */
void device_facts(const Device *d, Sb *o);            /* the device's part of target_facts */

/* ---- host.c ---- */
Arch host_arch(void);                                 /* ARCH_ANY: neither x86-64 nor aarch64 nor riscv64 */
uint32_t host_features(void);                         /* FEAT_ bits that this CPU and the operating system support */
/* Sets the cache sizes of t to those of this CPU, and t->cores to the number of CPUs that this process may use. A field stays
 * unchanged if its value is not known. */
void host_sizes(Target *t);
#endif

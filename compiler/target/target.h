/* target.h: what the compiler knows of a machine. The compiler asks these facts and never a name. What a backend is stands in
 * backend.h. */
#ifndef TGC_TARGET_H
#define TGC_TARGET_H
#include "../../runtime_stub/tgcrt.h"
#include "../ir/ir.h"
#include "device.h"

typedef enum Arch { ARCH_ANY, ARCH_X86_64, ARCH_AARCH64, ARCH_RISCV64, ARCH_ARM, ARCH_WASM } Arch;

enum { /* the numbers that bundles use, too */
#define FEATURE(id, arch, name, needs, cflags, llvm, macros) FEAT_##id = TGCRT_CPU_##id,
#include "features.h"
#undef FEATURE
};

/* Caches of all machines so far: bytes of a line; sets of the first level, that is a page; ways of the second level, at least. */
enum { LINE_BYTES = 64, L1_SETS = 64, L2_WAYS = 8 };

/* Vectors of a row that a kernel holds from its reductions to its stores, those that registers do not hold on the stack. */
enum { ROW_VECTORS = 32 };

typedef struct Target {
  const char *isa;         /* "portable", "x86-64-v4+vnni", ...: for the manifest and the build files only */
  Arch arch;
  uint32_t features;       /* FEAT_ bits: what code may use above the architecture's baseline */
  int vector_bytes;        /* widest vector worth using; 0: scalar code only */
  int vector_regs;         /* architectural, of vectors, or of floats where there are none; 0: not known */
  bool fma;                /* multiply-add is one instruction */
  bool f16_convert;        /* f16 <-> f32 in hardware */
  int l1_bytes, l2_bytes;  /* per core */
  int l3_bytes;            /* shared; 0: none, or not known */
  int cores;
  const char *cflags;      /* what the generated code wants from the C compiler: "-mavx2 -mfma" */
  const char *triple;      /* for LLVM */
  const char *llvm;        /* LLVM's names of the features: "+avx2,+fma"; "": none */
  const char *cpu;         /* LLVM's name of a CPU, by request only; NULL: any */
  const struct Rates *rates; /* cost/cost.h; NULL: those that count for all machines */
  const char *source;      /* where the sizes of caches come from */
  const Device *dev;       /* device.h; NULL: it is a CPU */
  bool in_order;           /* asked for, no fact: sums of floats are made term by term, in one order on all machines */
  bool flushes;            /* asked for, no fact: denormals are zero, so instructions that take them for it will do */
  const struct Target *const *variants; /* machines whose code stands side by side, the richest first, the baseline
                            * last, then NULL; schedules are made for this one. NULL: this one only */
} Target;

typedef struct Feature { uint32_t bit; Arch arch; const char *name; uint32_t needs; const char *cflags, *llvm, *macros; } Feature;
extern const Feature features[];                      /* .name NULL ends it; needed ones first */
extern const int feature_count;
extern const Target targets[];                        /* .isa NULL ends it */

/* The machine that text names: a row of targets or "native", the best row this CPU runs with the rest of what it
 * has, then "+name" and "-name" for features with and without ("native-amx"). Lives in a. NULL: *why says what is
 * wrong with the text. */
const Target *target_find(Arena *a, const char *text, const char **why);
/* The architecture of an LLVM triple and the row that counts when no other is asked for; ARCH_ANY: none of tgc's. */
Arch triple_arch(const char *triple, const char **isa);
const Target *target_tuned(Arena *a, const Target *t, const char *triple, const char *cpu); /* NULL: as in the row */
const Target *target_in_order(Arena *a, const Target *t); /* t with in_order, and nothing left to the C compiler */
const Target *target_flushing(Arena *a, const Target *t); /* t with flushes */
void target_facts(const Target *t, Sb *o);            /* all that schedules may depend on, as one line */
/* Lines of C for a file that end its compilation, and say the flags, where the compiler's are not for this machine. */
void target_guard(const Target *t, const char *file, Sb *o);
const char *arch_name(Arch a);
bool target_rounds(const Target *t, int lanes);       /* so many floats to bf16 in one instruction, to which denormals are zero */
/* multiplies so many lanes by powers of two (SCALB) in one instruction */
bool target_scales(const Target *t, DType d, int lanes);

/* ---- device.c ---- */
extern const Target device_targets[];                 /* .isa NULL ends it; each has .dev */
const Target *device_target(const char *isa);         /* NULL: there is none of that name */
/* The row with features, given as text ("+f16-dotprod") or as DEVF_ bits. Lives in a. NULL: *why says what is wrong */
const Target *device_named(Arena *a, const Target *row, const char *more, const char **why);
const Target *device_with(Arena *a, const Target *row, uint32_t set);
/* A device whose instructions convert halves. They may take denormals for zero; else arithmetic of integers converts. */
bool target_converts_halves(const Target *t);
bool target_has_threads(const Target *t);             /* its programs are those of many threads (docs/ir.md, "Device programs") */
void device_facts(const Device *d, Sb *o);            /* what target_facts says of it */

/* ---- host.c ---- */
Arch host_arch(void);                                 /* ARCH_ANY: one that tgc has no rows for */
uint32_t host_features(void);                         /* FEAT_ bits that the CPU and the operating system have */
void host_sizes(Target *t);                           /* caches and cores; what cannot be found out stays */
#endif

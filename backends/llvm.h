/* SPDX-License-Identifier: MIT */
/* llvm.h: prints programs as text of LLVM's IR (llvm.c, llvm_exprs.c, llvm_vectors.c, llvm_prelude.c), and lets LLVM 19 compile
 * the text to machine code (llvm_build.c). */
#ifndef TGC_LLVM_H
#define TGC_LLVM_H
#include "backends.h"

/* ---- llvm_exprs.c: spellings of types and functions in LLVM's IR ---- */
typedef struct Text { char s[24]; } Text;
extern const char *const llvm_scalar[DT_COUNT];              /* by DType: type of a scalar; i1 for bool, i16 for f16 and bf16 */
Text llvm_type(const char *element, int lanes);              /* type of a vector: "<8 x float>"; for one lane, `element` */
Text llvm_value(DType d, int lanes);                         /* type of a value with `lanes` lanes of type d */
Text llvm_suffix(DType d, int lanes);                        /* end of the names of intrinsics for a type: "f32", "v8f32" */
const char *llvm_libm(Op op);                                /* name of the libm function that computes op on doubles. NULL:
                                                                LLVM computes op without libm, or libm has no function for op */
/* ---- llvm.c ---- */
/* Appends a module with p's kernels, and with functions c0, c1 and so on (Backend.load, target/backend.h) */
void llvm_kernels(const Plan *p, const Target *t, Sb *out);

/* ---- llvm_prelude.c ---- */
void llvm_prelude(const Plan *p, const Target *t, Sb *o);    /* appends the helpers that p's kernels call, with declarations */
void llvm_prelude_of(Ctx *c, const char *text, const Target *t, Sb *o); /* as llvm_prelude, for LLVM IR in `text` */

/* ---- llvm_build.c ---- */
bool llvm_available(void);                                   /* whether LLVM 19 is installed and tgc was built for LLVM */
/* Fails with EX_USAGE_ if LLVM knows no CPU t->cpu for t->triple, and with EX_MISSING if LLVM is not available. */
void llvm_check_cpu(Ctx *c, const Target *t);
/* Compiles m for t to an object file or, with `assembly`, to assembly text. The result lies in c->model. Equal inputs give equal
 * bytes. Fails with EX_MISSING if LLVM is not available. */
Bytes llvm_generate(Ctx *c, const Target *t, const Code *m, bool assembly);

/* Compiles LLVM IR, n bytes at `text`, and loads the code into this process. Fails with EX_MISSING if LLVM is not available.
 * llvm_jit_free frees the result. */
typedef struct LoadedCode LoadedCode;
LoadedCode *llvm_jit_load(Ctx *c, const Target *t, const char *text, size_t n, OptLevel opt_level);
void *llvm_jit_symbol(LoadedCode *j, const char *name);      /* address of the function with this name */
void llvm_jit_free(LoadedCode *j);
const char *llvm_version(Ctx *c);                            /* "LLVM 19.1.7", as installed; NULL: LLVM is not available */
#endif

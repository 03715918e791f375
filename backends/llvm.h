/* SPDX-License-Identifier: MIT */
/* llvm.h: prints programs as text of LLVM's IR (llvm.c, llvm_prelude.c), and lets LLVM 19 compile the text to machine code
 * (llvm_build.c). */
#ifndef TGC_LLVM_H
#define TGC_LLVM_H
#include "backends.h"

/* ---- llvm.c: spellings of types and functions in LLVM's IR ---- */
typedef struct Text { char s[24]; } Text;
extern const char *const llvm_scalar[DT_COUNT];              /* types in registers: bools are i1; f16 and bf16 are i16 */
Text llvm_type(const char *element, int lanes);              /* "<8 x float>"; for one lane, the text `element` */
Text llvm_value(DType d, int lanes);                         /* the type in registers of a vector of `lanes` elements of type d */
Text llvm_suffix(DType d, int lanes);                        /* the end of an intrinsic's name for this type: "f32" or "v8f32" */
const char *llvm_libm(Op op);                                /* name of the libm function on doubles; NULL: op calls none */
/* Appends to `out` a module of p's kernels, with the functions that Backend.load (target/backend.h) promises */
void llvm_kernels(const Plan *p, const Target *t, Sb *out);

/* ---- llvm_prelude.c ---- */
void llvm_prelude(const Plan *p, const Target *t, Sb *o);    /* the helpers that p's kernels call */
void llvm_prelude_of(Ctx *c, const char *text, const Target *t, Sb *o); /* the helpers that `text`, LLVM IR, calls */

/* ---- llvm_build.c ---- */
bool llvm_available(void);                                   /* whether LLVM 19 is installed */
/* Compiles m for t to an object file or, with `assembly`, to assembly text. The bytes lie in c->model. Equal inputs give equal
 * bytes. Fails with EX_MISSING if LLVM is not installed. */
Bytes llvm_generate(Ctx *c, const Target *t, const Code *m, bool assembly);

/* Compiles n bytes of text, LLVM IR, for this process and loads the code. Fails with EX_MISSING if LLVM is not installed. The
 * caller frees the result with llvm_jit_free. */
typedef struct LoadedCode LoadedCode;
LoadedCode *llvm_jit_load(Ctx *c, const Target *t, const char *text, size_t n, OptLevel opt_level);
void *llvm_jit_symbol(LoadedCode *j, const char *name);      /* address of the function with this name */
void llvm_jit_free(LoadedCode *j);
const char *llvm_version(Ctx *c);                            /* "LLVM 19.1.7", as installed; NULL: LLVM is not installed */
#endif

/* llvm.h: machine code by way of LLVM 19, where it is installed (llvm_build.c). */
#ifndef TGC_LLVM_H
#define TGC_LLVM_H
#include "backends.h"

bool llvm_available(void);
/* An object file, or assembly text; the same bytes each time. Lives in c->model. Fails with EX_MISSING without LLVM. */
Bytes llvm_generate(Ctx *c, const Target *t, const Code *m, bool assembly);

/* A module with the kernels of a plan and the functions that Backend.load promises. */
void llvm_kernels(const struct Plan *p, const Target *t, Sb *out);

/* Code for this process: load, ask for functions by name, free. */
typedef struct LoadedCode LoadedCode;
LoadedCode *llvm_jit_load(Ctx *c, const Target *t, const char *text, size_t n, bool hasty);
void *llvm_jit_symbol(LoadedCode *j, const char *name);
void llvm_jit_free(LoadedCode *j);
const char *llvm_version(Ctx *c);
#endif

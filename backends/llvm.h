/* llvm.h: machine code by way of LLVM 19, where it is installed (llvm_build.c). */
#ifndef TGC_LLVM_H
#define TGC_LLVM_H
#include "backends.h"

bool llvm_available(void);
/* An object file, or assembly text; the same bytes each time. Lives in c->model. Fails with EX_MISSING without LLVM. */
Bytes llvm_generate(Ctx *c, const Target *t, const Code *m, bool assembly);

/* A module with kernel k of the plan and a function void run(void *const *buffers, int64_t begin, int64_t
 * end), which calls it with those in the order of Kernel.bufs, and with the chunks from begin to end if it has any. */
void llvm_kernel_module(const struct Plan *p, int k, const Target *t, Sb *out);

/* Code for this process: load, ask for functions by name, free. For tuning and for tests. */
typedef struct LlvmJit LlvmJit;
LlvmJit *llvm_jit_load(Ctx *c, const Target *t, const char *text, size_t n);
void *llvm_jit_symbol(LlvmJit *j, const char *name);
void llvm_jit_free(LlvmJit *j);
#endif

/* target.h: what the compiler knows of a machine, and what a backend is. The compiler asks these
 * facts and never a name. */
#ifndef TGC_TARGET_H
#define TGC_TARGET_H
#include "../ir/ir.h"

typedef struct Target {
  const char *isa;         /* "portable", "x86-64-v3", ...: for the manifest and the build files only */
  int vector_bytes;        /* widest vector worth using; 0: scalar code only */
  int vector_regs;         /* architectural vector registers */
  bool fma;                /* multiply-add is one instruction */
  bool f16_convert;        /* f16 <-> f32 in hardware */
  int l1_bytes, l2_bytes;  /* per core */
  int cores;
  const char *cflags;      /* what the generated code wants from the C compiler: "-mavx2 -mfma" */
} Target;

extern const Target targets[];                        /* .isa NULL ends it */
const Target *target_find(const char *isa);           /* NULL if unknown; "native": the best row this CPU runs */

struct Plan;
typedef struct Backend {
  const char *name;                                   /* "c" */
  const char *gloss;
  bool (*supports)(const Target *t, Op op, DType d, DType operand, int lanes); /* d: the result's type */
  void (*kernel)(const struct Plan *p, int k, const Target *t, Sb *out);  /* one kernel as source text */
  void (*prelude)(const struct Plan *p, const Target *t, Sb *out);        /* helpers the kernels need, once */
} Backend;
extern const Backend *const backends[];               /* NULL ends it */
#endif

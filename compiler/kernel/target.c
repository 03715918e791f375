/* target.c: the machines tgc knows, as facts. A row is found by name or by the instruction sets that
 * CPUID reports; never by a CPU's model number, which hypervisors mask. */
#include "target.h"
#include <string.h>

/* clang-format off */
const Target targets[] = {
  /* isa           vector regs fma    f16    l1     l2       cores cflags */
  { "portable",    0,     0,   false, false, 32768, 262144,  1,    "-std=c99 -ffp-contract=off" },
  { "x86-64-v4",   64,    32,  true,  true,  32768, 1048576, 1,    "-std=gnu99 -march=x86-64-v3 -mavx512f -mavx512bw -mavx512dq -mavx512vl -mprefer-vector-width=512 -ffp-contract=fast -fno-math-errno" },
  { "x86-64-v3",   32,    16,  true,  true,  32768, 524288,  1,    "-std=gnu99 -march=x86-64-v3 -ffp-contract=fast -fno-math-errno" },
  { "x86-64",      16,    16,  false, false, 32768, 262144,  1,    "-std=gnu99 -fno-math-errno" },
  { "neon",        16,    32,  true,  true,  32768, 524288,  1,    "-std=gnu99 -ffp-contract=fast -fno-math-errno" },
  { NULL,          0,     0,   false, false, 0,     0,       0,    NULL },
};
/* clang-format on */

static const char *native_isa(void) {
#if defined __x86_64__
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl")) return "x86-64-v4";
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("bmi2")) return "x86-64-v3";
  return "x86-64";
#elif defined __aarch64__
  return "neon";
#else
  return "portable";
#endif
}

const Target *target_find(const char *isa) {
  if (!strcmp(isa, "native")) isa = native_isa();
  for (const Target *t = targets; t->isa; t++)
    if (!strcmp(t->isa, isa)) return t;
  return NULL;
}

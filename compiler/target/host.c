/* SPDX-License-Identifier: MIT */
/* host.c: facts about the machine that tgc runs on. The features of its CPU are found by the same code as in bundles. The sizes
 * of its caches are from CPUID on x86-64, and from the C library elsewhere. */
#include "target.h"
#include "../../runtime_stub/tune_machine.h"
#include <sched.h>

Arch host_arch(void) {
#if defined __x86_64__
  return ARCH_X86_64;
#elif defined __aarch64__
  return ARCH_AARCH64;
#elif defined __riscv && __riscv_xlen == 64
  return ARCH_RISCV64;
#else
  return ARCH_ANY;
#endif
}

/* A feature counts only together with those it needs: hypervisors may mask one and leave the other. */
uint32_t host_features(void) {
  uint32_t have = tgcrt_cpu(), set = 0;
  for (const Feature *f = features; f->name; f++)
    if (f->arch == host_arch() && have & f->bit && !(f->needs & ~set)) set |= f->bit;
  return tgcrt_cpu_check(set) ? set & ~(uint32_t)(FEAT_AMX_INT8 | FEAT_AMX_BF16) : set; /* the system may deny AMX */
}

void host_sizes(Target *t) {
  int64_t level[4] = { 0 };
  int *const known[4] = { NULL, &t->l1_bytes, &t->l2_bytes, &t->l3_bytes };
  cpu_set_t cpus;
  machine_caches(level);
  for (int i = 1; i < 4; i++)
    if (level[i] > 0 && level[i] <= INT32_MAX) *known[i] = (int)level[i];
  if (!sched_getaffinity(0, sizeof cpus, &cpus)) t->cores = CPU_COUNT(&cpus);
}

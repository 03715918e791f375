/* host.c: facts about the machine that tgc runs on. The features of its CPU are found by the same code as in bundles. The sizes
 * of its caches are from CPUID on x86-64, and from the C library elsewhere. */
#include "target.h"
#include <sched.h>
#include <unistd.h>
#ifdef __x86_64__
#include <cpuid.h>
#endif

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

#ifdef __x86_64__
enum { DATA = 1, UNIFIED = 3 }; /* kinds of a cache */

static void cache_sizes(int64_t level[4]) {
  const unsigned intel = 4, amd = 0x8000001d; /* leaves of one format */
  unsigned r[4] = { 0 }, leaf = intel;
  if (!__get_cpuid_count(intel, 0, &r[0], &r[1], &r[2], &r[3]) || !(r[0] & 31)) leaf = amd;
  for (unsigned i = 0; i < 16 && __get_cpuid_count(leaf, i, &r[0], &r[1], &r[2], &r[3]) && r[0] & 31; i++) {
    unsigned kind = r[0] & 31, at = r[0] >> 5 & 7;
    if (at > 3 || (kind != DATA && kind != UNIFIED)) continue;
    level[at] = ((int64_t)(r[1] >> 22) + 1) * ((r[1] >> 12 & 1023) + 1) * ((r[1] & 4095) + 1) * ((int64_t)r[2] + 1);
  }
}
#elif defined _SC_LEVEL1_DCACHE_SIZE
static void cache_sizes(int64_t level[4]) {
  level[1] = sysconf(_SC_LEVEL1_DCACHE_SIZE);
  level[2] = sysconf(_SC_LEVEL2_CACHE_SIZE);
  level[3] = sysconf(_SC_LEVEL3_CACHE_SIZE);
}
#else
static void cache_sizes(int64_t level[4]) { (void)level; }
#endif

void host_sizes(Target *t) {
  int64_t level[4] = { 0 };
  int *const known[4] = { NULL, &t->l1_bytes, &t->l2_bytes, &t->l3_bytes };
  cpu_set_t cpus;
  cache_sizes(level);
  for (int i = 1; i < 4; i++)
    if (level[i] > 0 && level[i] <= INT32_MAX) *known[i] = (int)level[i];
  if (!sched_getaffinity(0, sizeof cpus, &cpus)) t->cores = CPU_COUNT(&cpus);
}

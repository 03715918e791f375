/* SPDX-License-Identifier: 0BSD */
/* tune_machine.h: a CPU's name and the sizes of its caches, as the CPU or the system reports them. The tuner's store
 * identifies a machine by these facts and others. tgc and the programs that `tgc tune --job` writes include this file, so that
 * all of them name a machine in the same way. */
#ifndef TUNE_MACHINE_H
#define TUNE_MACHINE_H
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#ifdef __x86_64__
#include <cpuid.h>

/* Sets level[1], level[2] and level[3] to the bytes of the data cache of the first, second and third level. If the machine does
 * not report the cache of a level, the element of this level stays unchanged, or becomes 0 or less. */
static inline void machine_caches(int64_t level[4]) {
  enum { DATA = 1, UNIFIED = 3 }; /* kinds of caches, as CPUID numbers them */
  const unsigned intel = 4, amd = 0x8000001d; /* leaves of CPUID that describe caches; both have one format */
  unsigned r[4] = { 0 }, leaf = intel;
  if (!__get_cpuid_count(intel, 0, &r[0], &r[1], &r[2], &r[3]) || !(r[0] & 31)) leaf = amd;
  for (unsigned i = 0; i < 16 && __get_cpuid_count(leaf, i, &r[0], &r[1], &r[2], &r[3]) && r[0] & 31; i++) {
    unsigned kind = r[0] & 31, at = r[0] >> 5 & 7;
    if (at > 3 || (kind != DATA && kind != UNIFIED)) continue;
    level[at] = ((int64_t)(r[1] >> 22) + 1) * ((r[1] >> 12 & 1023) + 1) * ((r[1] & 4095) + 1) * ((int64_t)r[2] + 1);
  }
}
#elif defined _SC_LEVEL1_DCACHE_SIZE
static inline void machine_caches(int64_t level[4]) {
  level[1] = sysconf(_SC_LEVEL1_DCACHE_SIZE);
  level[2] = sysconf(_SC_LEVEL2_CACHE_SIZE);
  level[3] = sysconf(_SC_LEVEL3_CACHE_SIZE);
}
#else
static inline void machine_caches(int64_t level[4]) { (void)level; }
#endif

/* Writes the CPU's name, as the system reports it, to `name`, which has room for `room` bytes. Writes "" if the name is not
 * known. */
static inline void machine_cpu(char *name, size_t room) {
  char line[512];
  FILE *f = fopen("/proc/cpuinfo", "re");
  *name = 0;
  while (f && fgets(line, sizeof line, f)) {
    char *value = strchr(line, ':');
    if (!value || (strncmp(line, "model name", 10) && strncmp(line, "CPU part", 8))) continue;
    value += 1 + (value[1] == ' ');
    snprintf(name, room, "%.*s", (int)strcspn(value, "\n"), value);
    break;
  }
  if (f) fclose(f);
}
#endif

/* SPDX-License-Identifier: MIT */
/* cpus.h: the CPUs that --machine can name, and facts about them. CPU(id, name, isa, gloss) is a row for a CPU. isa: the value of
 * --isa that selects code for this CPU. KNOWN(cpu, fact, value, source) is a row for a fact about a CPU. facts.h gives the unit
 * of `value`. If a CPU has no row for a fact, the rule in facts.h estimates the fact.
 *
 * source: "measured", "mca" or "unchecked". "mca": llvm-mca-19 computed the value with a model of this core. "unchecked": the
 * value is the vendor's figure as it is commonly given; the value was not verified. The size of a cache is the size that one core
 * can use. Each of the macros CACHES, ISSUE, FIRST and GOLDEN_COVE stands for several rows of KNOWN. */
#ifndef CPU
#define CPU(id, name, isa, gloss)
#endif
#ifndef KNOWN
#define KNOWN(cpu, fact, value, source)
#endif
/* clang-format off */
#define CACHES(cpu, first, second, third) \
  KNOWN(cpu, L1, first, "unchecked") KNOWN(cpu, L2, second, "unchecked") KNOWN(cpu, L3, third, "unchecked")
#define ISSUE(cpu, fma, latency, divide, shuffle, source) \
  KNOWN(cpu, FMA, fma, source) KNOWN(cpu, LATENCY, latency, source) KNOWN(cpu, DIVIDE, divide, source) \
  KNOWN(cpu, SHUFFLE, shuffle, source)
#define FIRST(cpu, read, write, source) KNOWN(cpu, L1_READ, read, source) KNOWN(cpu, L1_WRITE, write, source)

CPU(ZEN2, "zen2", "x86-64-v3", "AMD Zen 2")
ISSUE(ZEN2, 16, 5, 1.6, 16, "mca") CACHES(ZEN2, 32, 512, 16384) FIRST(ZEN2, 64, 32, "unchecked")
CPU(ZEN3, "zen3", "x86-64-v3", "AMD Zen 3")
ISSUE(ZEN3, 16, 4, 2.7, 16, "mca") CACHES(ZEN3, 32, 512, 32768) FIRST(ZEN3, 64, 32, "mca")
CPU(ZEN4, "zen4", "x86-64-v4+vbmi+vnni+bf16", "AMD Zen 4")
ISSUE(ZEN4, 16, 4, 2.7, 16, "mca") CACHES(ZEN4, 32, 1024, 32768) FIRST(ZEN4, 130, 64, "mca")
KNOWN(ZEN4, CLOCK, 3.6, "measured") KNOWN(ZEN4, BF16, 32, "measured") KNOWN(ZEN4, INT8, 64, "unchecked")
KNOWN(ZEN4, L2_READ, 32, "measured")
KNOWN(ZEN4, L3_READ, 28, "measured") KNOWN(ZEN4, MEMORY_READ, 7.2, "measured")
CPU(ZEN5, "zen5", "x86-64-v4+vbmi+vnni+bf16+avxvnni", "AMD Zen 5, with data paths of 512 bits")
KNOWN(ZEN5, CLOCK, 4.3, "measured") KNOWN(ZEN5, FMA, 32, "measured") KNOWN(ZEN5, LATENCY, 4, "measured")
KNOWN(ZEN5, ADD_LATENCY, 2, "measured") KNOWN(ZEN5, WIDTH, 8, "measured") KNOWN(ZEN5, WINDOW, 160, "measured")
KNOWN(ZEN5, BF16, 60, "measured") KNOWN(ZEN5, INT8, 130, "measured") KNOWN(ZEN5, DIVIDE, 6.4, "measured")
KNOWN(ZEN5, SHUFFLE, 32, "measured") KNOWN(ZEN5, L1, 48, "measured") KNOWN(ZEN5, L2, 1024, "measured")
KNOWN(ZEN5, L3, 32768, "measured") FIRST(ZEN5, 120, 64, "measured")
KNOWN(ZEN5, L2_READ, 51, "measured") KNOWN(ZEN5, L2_WRITE, 42, "measured")
KNOWN(ZEN5, L3_READ, 30, "measured") KNOWN(ZEN5, L3_WRITE, 28, "measured") KNOWN(ZEN5, MEMORY_READ, 9.7, "measured")
KNOWN(ZEN5, MEMORY_WRITE, 8, "measured") KNOWN(ZEN5, ALL_READ, 9.1, "measured") KNOWN(ZEN5, BARRIER, 0.14, "measured")
CPU(HASWELL, "haswell", "x86-64-v3", "Intel Haswell and Broadwell")
ISSUE(HASWELL, 16, 5, 0.57, 8, "mca") CACHES(HASWELL, 32, 256, 8192) FIRST(HASWELL, 64, 32, "mca")
CPU(SKYLAKE_X, "skylake-x", "x86-64-v4", "Intel Skylake server and Cascade Lake, with two units of 512 bits")
ISSUE(SKYLAKE_X, 32, 4, 1.6, 16, "mca") CACHES(SKYLAKE_X, 32, 1024, 0) FIRST(SKYLAKE_X, 130, 64, "mca")
CPU(ICE_LAKE, "ice-lake", "x86-64-v4+vbmi+vnni", "Intel Ice Lake server, with two units of 512 bits")
KNOWN(ICE_LAKE, FMA, 32, "unchecked") KNOWN(ICE_LAKE, LATENCY, 4, "mca") KNOWN(ICE_LAKE, DIVIDE, 1.6, "mca")
KNOWN(ICE_LAKE, SHUFFLE, 16, "mca")
CACHES(ICE_LAKE, 48, 1280, 0) FIRST(ICE_LAKE, 130, 64, "unchecked") KNOWN(ICE_LAKE, INT8, 130, "mca")
#define GOLDEN_COVE(cpu) \
  KNOWN(cpu, CLOCK, 2.8, "measured") KNOWN(cpu, FMA, 32, "measured") KNOWN(cpu, LATENCY, 4, "mca") \
  KNOWN(cpu, BF16, 16, "measured") KNOWN(cpu, FP16, 45, "measured") KNOWN(cpu, INT8, 140, "measured") \
  CACHES(cpu, 48, 2048, 65536) FIRST(cpu, 127, 45, "measured") \
  KNOWN(cpu, L2_READ, 53, "measured") KNOWN(cpu, L2_WRITE, 16, "measured") \
  KNOWN(cpu, L3_READ, 10, "measured") KNOWN(cpu, L3_WRITE, 8, "measured") KNOWN(cpu, MEMORY_READ, 5.5, "measured") \
  KNOWN(cpu, MEMORY_WRITE, 3, "measured") KNOWN(cpu, ALL_READ, 5.5, "measured") \
  KNOWN(cpu, BARRIER, 0.33, "measured")
CPU(SAPPHIRE_RAPIDS, "sapphire-rapids", "x86-64-amx+vbmi+fp16+avxvnni", "Intel Sapphire and Emerald Rapids")
GOLDEN_COVE(SAPPHIRE_RAPIDS) KNOWN(SAPPHIRE_RAPIDS, BF16_TILES, 490, "measured")
CPU(SAPPHIRE_RAPIDS_V4, "sapphire-rapids-no-amx", "x86-64-v4+vbmi+vnni+bf16+fp16+avxvnni",
    "Intel Sapphire and Emerald Rapids, in a virtual machine without AMX")
GOLDEN_COVE(SAPPHIRE_RAPIDS_V4)
CPU(GRAVITON2, "graviton2", "armv8.2", "Arm Neoverse N1")
ISSUE(GRAVITON2, 8, 4, 0.57, 8, "mca") CACHES(GRAVITON2, 64, 1024, 32768) FIRST(GRAVITON2, 32, 16, "mca")
KNOWN(GRAVITON2, INT8, 32, "mca")
CPU(GRAVITON3, "graviton3", "armv8.6", "Arm Neoverse V1")
ISSUE(GRAVITON3, 16, 4, 1.1, 16, "mca") CACHES(GRAVITON3, 64, 1024, 32768) FIRST(GRAVITON3, 47, 32, "mca")
KNOWN(GRAVITON3, INT8, 64, "mca")
KNOWN(GRAVITON3, BF16, 51, "mca")
CPU(GRAVITON4, "graviton4", "armv8.6", "Arm Neoverse V2")
ISSUE(GRAVITON4, 16, 4, 0.8, 16, "mca") CACHES(GRAVITON4, 64, 2048, 36864) FIRST(GRAVITON4, 47, 32, "mca")
KNOWN(GRAVITON4, INT8, 64, "mca")
KNOWN(GRAVITON4, BF16, 63, "mca")
CPU(APPLE_M1, "apple-m1", "armv8.2", "Apple M1, a fast core")
KNOWN(APPLE_M1, CLOCK, 3.2, "unchecked") CACHES(APPLE_M1, 128, 12288, 0)
CPU(CORTEX_A53, "cortex-a53", "neon", "Arm Cortex-A53")
ISSUE(CORTEX_A53, 4, 10, 0.29, 4, "mca") CACHES(CORTEX_A53, 32, 512, 0) FIRST(CORTEX_A53, 16, 16, "mca")
CPU(CORTEX_A72, "cortex-a72", "neon", "Arm Cortex-A72")
CACHES(CORTEX_A72, 32, 1024, 0)
CPU(CORTEX_A76, "cortex-a76", "armv8.2", "Arm Cortex-A76")
KNOWN(CORTEX_A76, FMA, 8, "unchecked") KNOWN(CORTEX_A76, LATENCY, 4, "unchecked") CACHES(CORTEX_A76, 64, 512, 2048)
KNOWN(CORTEX_A76, L1_READ, 32, "unchecked")
CPU(CORTEX_X1, "cortex-x1", "armv8.2", "Arm Cortex-X1")
KNOWN(CORTEX_X1, FMA, 16, "unchecked") KNOWN(CORTEX_X1, LATENCY, 4, "unchecked") CACHES(CORTEX_X1, 64, 1024, 4096)
CPU(CORTEX_M4, "cortex-m4", "cortex-m4", "Arm Cortex-M4F")
KNOWN(CORTEX_M4, FMA, 0.33, "unchecked") KNOWN(CORTEX_M4, LATENCY, 3, "mca") KNOWN(CORTEX_M4, DIVIDE, 0.071, "unchecked")
KNOWN(CORTEX_M4, INT8, 2, "mca")
KNOWN(CORTEX_M4, L1_READ, 4, "mca") KNOWN(CORTEX_M4, L1_WRITE, 4, "mca")
CPU(CORTEX_M7, "cortex-m7", "cortex-m7", "Arm Cortex-M7")
KNOWN(CORTEX_M7, FMA, 1, "mca") KNOWN(CORTEX_M7, LATENCY, 6, "mca") KNOWN(CORTEX_M7, DIVIDE, 0.08, "mca")
KNOWN(CORTEX_M7, INT8, 2, "mca")
KNOWN(CORTEX_M7, L1_READ, 8, "mca") KNOWN(CORTEX_M7, L1_WRITE, 4, "mca")
CPU(CORTEX_M33, "cortex-m33", "cortex-m4", "Arm Cortex-M33, running code for a Cortex-M4")
KNOWN(CORTEX_M33, L1_READ, 4, "unchecked") KNOWN(CORTEX_M33, L1_WRITE, 4, "unchecked") KNOWN(CORTEX_M33, INT8, 2, "unchecked")
CPU(CORTEX_M55, "cortex-m55", "cortex-m4", "Arm Cortex-M55, running code for a Cortex-M4, which leaves Helium unused")
KNOWN(CORTEX_M55, LATENCY, 2, "mca") KNOWN(CORTEX_M55, DIVIDE, 0.071, "unchecked")
CPU(U74, "u74", "rv64gc", "SiFive U74")
KNOWN(U74, FMA, 1, "mca") KNOWN(U74, LATENCY, 5, "mca") KNOWN(U74, DIVIDE, 0.04, "mca") CACHES(U74, 32, 2048, 0)
FIRST(U74, 4, 4, "mca")
CPU(C906, "c906", "rv64gc", "T-Head C906, scalar code: its vectors follow an older draft of V")
CACHES(C906, 32, 0, 0)
CPU(C908, "c908", "rv64gcv", "T-Head C908, vectors of 128 bits")
CACHES(C908, 32, 512, 0)
/* clang-format on */
#undef CACHES
#undef ISSUE
#undef FIRST
#undef GOLDEN_COVE
#undef CPU
#undef KNOWN

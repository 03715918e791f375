/* SPDX-License-Identifier: MIT */
/* machines.h: the machines that tgc compiles for, one row each. Within an architecture, rows with more features come first.
 * MACHINE has these columns: name in --isa; architecture; bits of a pointer (0: unknown); features; bytes of a vector (0: scalar
 * code only); vector registers, or float registers if there are no vectors; integer registers without sp and pc (0: enough
 * for all code); whether multiply-add is one instruction; whether the hardware converts between f16 and f32; bytes of the first,
 * second and third level of cache (0: none, or unknown); cores; flags for the C compiler; LLVM's triple; LLVM's features; source
 * of the cache sizes. Each feature in the fourth column adds its flags and its LLVM names (features.h) to the flags and LLVM's
 * features of the row.
 *
 * A row serves CPUs with different caches. Most of these CPUs have caches at least as large as the row says, but some have
 * smaller caches. Small sizes are the safer choice: code for too large a cache loses more speed than code for too small a cache.
 * Rows of cores without a cache have the sizes of cortex-m7. With --isa=native, a target has the cache sizes of this CPU instead
 * (host.c). */
/* clang-format off */
#define V4 (FEAT_AVX2 | FEAT_AVX512)
#define AMX (V4 | FEAT_AVX512VNNI | FEAT_AVX512BF16 | FEAT_AMX_INT8 | FEAT_AMX_BF16)
#define ARM82 (FEAT_FP16 | FEAT_DOTPROD)
#define ARM86 (ARM82 | FEAT_I8MM | FEAT_BF16)
#define FP "-std=gnu99 -ffp-contract=fast -fno-math-errno"
#define RVGC "+m,+a,+f,+d,+c"
#define LINUX(arch) arch "-unknown-linux-gnu"
#define M55 "-mcpu=cortex-m55 -mthumb -mfloat-abi=hard"
#define M33 "-mcpu=cortex-m33 -mthumb -mfloat-abi=hard -mfpu=fpv5-sp-d16"
#define M7 "-mcpu=cortex-m7 -mthumb -mfloat-abi=hard -mfpu=fpv5-sp-d16"
#define M4 "-mcpu=cortex-m4 -mthumb -mfloat-abi=hard -mfpu=fpv4-sp-d16"
MACHINE("portable",   ANY,     0,  0,         0,  16, 0,  false, false, 32768, 262144,  0, 1, "-std=c99 -ffp-contract=off", "", "", "assumed: any desktop or phone since 2010")
MACHINE("x86-64-amx", X86_64,  64, AMX,       64, 32, 0,  true,  true,  32768, 1048576, 0, 1, FP, LINUX("x86_64"), "", "L1 and L2 of x86-64-v4; Sapphire Rapids has 48 KB and 2 MB")
MACHINE("x86-64-v4",  X86_64,  64, V4,        64, 32, 0,  true,  true,  32768, 1048576, 0, 1, FP, LINUX("x86_64"), "", "Skylake server and Zen 4: 32 KB and 1 MB a core")
MACHINE("x86-64-v3",  X86_64,  64, FEAT_AVX2, 32, 16, 0,  true,  true,  32768, 524288,  0, 1, FP, LINUX("x86_64"), "", "Zen 2: 32 KB and 512 KB a core; Haswell has 256 KB")
MACHINE("x86-64",     X86_64,  64, 0,         16, 16, 0,  false, false, 32768, 262144,  0, 1, FP, LINUX("x86_64"), "", "Nehalem to Skylake client: 32 KB and 256 KB a core")
MACHINE("armv8.6",    AARCH64, 64, ARM86,     16, 32, 0,  true,  true,  65536, 1048576, 0, 1, FP " -march=armv8.2-a", LINUX("aarch64"), "", "Neoverse V1 and N2: 64 KB and 1 MB a core")
MACHINE("armv8.2",    AARCH64, 64, ARM82,     16, 32, 0,  true,  true,  32768, 524288,  0, 1, FP " -march=armv8.2-a", LINUX("aarch64"), "", "assumed: Cortex-A55 to A76")
MACHINE("neon",       AARCH64, 64, 0,         16, 32, 0,  true,  true,  32768, 524288,  0, 1, FP " -march=armv8-a", LINUX("aarch64"), "", "Cortex-A53: 32 KB, 512 KB a cluster")
MACHINE("rv64gcv",    RISCV64, 64, FEAT_RVV,  16, 32, 0,  true,  false, 32768, 524288,  0, 1, FP " -march=rv64gc", LINUX("riscv64"), RVGC, "assumed; vectors of the least length that V permits")
MACHINE("rv64gc",     RISCV64, 64, 0,         0,  32, 0,  true,  false, 32768, 262144,  0, 1, FP " -march=rv64gc", LINUX("riscv64"), RVGC, "assumed")
MACHINE("cortex-m55", ARM,     32, FEAT_DSP | FEAT_MVE, 16, 8, 14, true, true, 16384, 131072,  0, 1, FP " " M55, "thumbv8.1m.main-none-eabihf", "+fp-armv8d16", "assumed as cortex-m7: the caches are optional")
MACHINE("cortex-m33", ARM,     32, FEAT_DSP, 0,  32, 14, true,  false, 16384, 131072,  0, 1, FP " " M33, "thumbv8m.main-none-eabihf", "+fp-armv8d16sp", "the core has no cache: the sizes of cortex-m7 stand in for it")
MACHINE("cortex-m7",  ARM,     32, FEAT_DSP, 0,  32, 14, true,  false, 16384, 131072,  0, 1, FP " " M7, "thumbv7em-none-eabihf", "+fp-armv8d16sp", "16 KB of data cache; in place of L2, tightly coupled memory of 128 KB")
MACHINE("cortex-m4",  ARM,     32, FEAT_DSP, 0,  32, 14, true,  false, 16384, 131072,  0, 1, FP " " M4, "thumbv7em-none-eabihf", "+vfp4d16sp", "the core has no cache: the sizes of cortex-m7 stand in for it")
MACHINE("armv7",      ARM,     32, FEAT_DSP, 0,  32, 14, true,  false, 32768, 262144,  0, 1, FP " -march=armv7-a -mfpu=vfpv4 -mfloat-abi=hard", "armv7-unknown-linux-gnueabihf", "+vfp4,-neon", "assumed: Cortex-A7")
MACHINE("wasm-simd",  WASM,    32, FEAT_SIMD128, 16, 16, 0,  false, false, 32768, 262144, 0, 1, FP, "wasm32-unknown-unknown", "", "assumed: any desktop or phone since 2010")
MACHINE("wasm32",     WASM,    32, 0,         0,  16, 0,  false, false, 32768, 262144,  0, 1, FP, "wasm32-unknown-unknown", "", "assumed: any desktop or phone since 2010")
#undef V4
#undef AMX
#undef ARM82
#undef ARM86
#undef FP
#undef RVGC
#undef LINUX
#undef M55
#undef M33
#undef M7
#undef M4
/* clang-format on */

/* features.h: what CPUs have above the baseline of their architecture, a row each. FEATURE(id of TGCRT_CPU_id
 * and FEAT_id, architecture, name in --isa, what it needs, what it adds to the row's cflags, LLVM's names).
 * Needed features come first. */
/* clang-format off */
FEATURE(AVX2,       X86_64,  "avx2",     0,                   " -march=x86-64-v3", "+avx2,+fma,+f16c,+bmi,+bmi2,+lzcnt,+movbe")
FEATURE(AVX512,     X86_64,  "avx512",   FEAT_AVX2,           " -mavx512f -mavx512bw -mavx512dq -mavx512vl -mprefer-vector-width=512", "+avx512f,+avx512bw,+avx512dq,+avx512vl,-prefer-256-bit")
FEATURE(AVX512VBMI, X86_64,  "vbmi",     FEAT_AVX512,         " -mavx512vbmi", "+avx512vbmi")
FEATURE(AVX512VNNI, X86_64,  "vnni",     FEAT_AVX512,         " -mavx512vnni", "+avx512vnni")
FEATURE(AVX512BF16, X86_64,  "bf16",     FEAT_AVX512,         " -mavx512bf16", "+avx512bf16")
FEATURE(AVX512FP16, X86_64,  "fp16",     FEAT_AVX512,         " -mavx512fp16", "+avx512fp16")
FEATURE(AVXVNNI,    X86_64,  "avxvnni",  FEAT_AVX2,           " -mavxvnni", "+avxvnni")
FEATURE(AMX_INT8,   X86_64,  "amx_int8", FEAT_AVX512,         " -mamx-tile -mamx-int8", "+amx-tile,+amx-int8")
FEATURE(AMX_BF16,   X86_64,  "amx_bf16", FEAT_AVX512,         " -mamx-tile -mamx-bf16", "+amx-tile,+amx-bf16")
FEATURE(FP16,       AARCH64, "fp16",     0,                   "+fp16", "+fullfp16")
FEATURE(DOTPROD,    AARCH64, "dotprod",  0,                   "+dotprod", "+dotprod")
FEATURE(I8MM,       AARCH64, "i8mm",     FEAT_DOTPROD,        "+i8mm", "+i8mm")
FEATURE(BF16,       AARCH64, "bf16",     FEAT_DOTPROD,        "+bf16", "+bf16")
FEATURE(RVV,        RISCV64, "v",        0,                   "v", "+v")
FEATURE(SIMD128,    WASM,    "simd128",  0,                   " -msimd128", "+simd128")
/* clang-format on */

/* SPDX-License-Identifier: MIT */
/* features.h: a row for each feature of a CPU beyond the baseline of its architecture. The columns of FEATURE are:
 *   - the id in TGCRT_CPU_id and FEAT_id
 *   - the architecture
 *   - the name in --isa
 *   - the features that this feature needs; their rows stand above
 *   - the text that this feature appends to the C compiler's flags for the machine (Target.cflags)
 *   - LLVM's names of the feature, for Target.llvm
 *   - a condition of the preprocessor that holds if the C compiler's flags allow the feature */
/* clang-format off */
FEATURE(AVX2,       X86_64,  "avx2",     0,                   " -march=x86-64-v3", "+avx2,+fma,+f16c,+bmi,+bmi2,+lzcnt,+movbe", "defined __AVX2__ && defined __FMA__ && defined __F16C__")
FEATURE(AVX512,     X86_64,  "avx512",   FEAT_AVX2,           " -mavx512f -mavx512bw -mavx512dq -mavx512vl -mprefer-vector-width=512", "+avx512f,+avx512bw,+avx512dq,+avx512vl,-prefer-256-bit", "defined __AVX512F__ && defined __AVX512BW__ && defined __AVX512DQ__ && defined __AVX512VL__")
FEATURE(AVX512VBMI, X86_64,  "vbmi",     FEAT_AVX512,         " -mavx512vbmi", "+avx512vbmi", "defined __AVX512VBMI__")
FEATURE(AVX512VNNI, X86_64,  "vnni",     FEAT_AVX512,         " -mavx512vnni", "+avx512vnni", "defined __AVX512VNNI__")
FEATURE(AVX512BF16, X86_64,  "bf16",     FEAT_AVX512,         " -mavx512bf16", "+avx512bf16", "defined __AVX512BF16__")
FEATURE(AVX512FP16, X86_64,  "fp16",     FEAT_AVX512,         " -mavx512fp16", "+avx512fp16", "defined __AVX512FP16__")
FEATURE(AVXVNNI,    X86_64,  "avxvnni",  FEAT_AVX2,           " -mavxvnni", "+avxvnni", "defined __AVXVNNI__")
FEATURE(AMX_INT8,   X86_64,  "amx_int8", FEAT_AVX512,         " -mamx-tile -mamx-int8", "+amx-tile,+amx-int8", "(defined __AMX_INT8__ || defined __AMXINT8__)")
FEATURE(AMX_BF16,   X86_64,  "amx_bf16", FEAT_AVX512,         " -mamx-tile -mamx-bf16", "+amx-tile,+amx-bf16", "(defined __AMX_BF16__ || defined __AMXBF16__)")
FEATURE(FP16,       AARCH64, "fp16",     0,                   "+fp16", "+fullfp16", "defined __ARM_FEATURE_FP16_VECTOR_ARITHMETIC")
FEATURE(DOTPROD,    AARCH64, "dotprod",  0,                   "+dotprod", "+dotprod", "defined __ARM_FEATURE_DOTPROD")
FEATURE(I8MM,       AARCH64, "i8mm",     FEAT_DOTPROD,        "+i8mm", "+i8mm", "defined __ARM_FEATURE_MATMUL_INT8")
FEATURE(BF16,       AARCH64, "bf16",     FEAT_DOTPROD,        "+bf16", "+bf16", "defined __ARM_FEATURE_BF16_VECTOR_ARITHMETIC")
FEATURE(DSP,        ARM,     "dsp",      0,                   "", "+dsp", "defined __ARM_FEATURE_SIMD32")
FEATURE(MVE,        ARM,     "mve",      FEAT_DSP,            "", "+mve.fp", "defined __ARM_FEATURE_MVE && (__ARM_FEATURE_MVE & 2)")
FEATURE(RVV,        RISCV64, "v",        0,                   "v", "+v", "defined __riscv_vector")
FEATURE(SIMD128,    WASM,    "simd128",  0,                   " -msimd128", "+simd128", "defined __wasm_simd128__")
/* clang-format on */

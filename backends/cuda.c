/* SPDX-License-Identifier: MIT */
/* cuda.c: the backend for CUDA C++, as NVRTC takes it without a header. Kernels are compiled with the model, for architectures of
 * NVIDIA's GPUs (nvrtc.c); the rest of a bundle is C for the host. */
#include "../compiler/target/device_driver.h"
#include "dialect.h"
#include "nvrtc.h"

/* CUDA's own spellings. A thread of such a machine has no vectors; its part of a matrix is a struct. A host that plays a
 * device defines macros with the names of matrix products, and multiplies itself. Halves and bfloat16 are integers, as
 * in C, because their types need headers. */
static const Dialect dialect = {
  .type = { [DT_BOOL] = "unsigned char", [DT_I8] = "signed char", [DT_U8] = "unsigned char", [DT_I16] = "short",
            [DT_U16] = "unsigned short", [DT_I32] = "int", [DT_U32] = "unsigned", [DT_I64] = "long long",
            [DT_U64] = "unsigned long long", [DT_F16] = "unsigned short", [DT_BF16] = "unsigned short", [DT_F32] = "float",
            [DT_F64] = "double" },
  .truth = "int", .vector = "$Dv$N", .list = { "$T{{", "}}" }, .lane = "$0.x[$k]",
  .i64 = "$aLL", .u64 = "$aULL", .least32 = "INT32_MIN", .least64 = "INT64_MIN", .nearest = "rint", .single = "f",
  .kernel = "extern \"C\" __global__ void __launch_bounds__($k) ", .helper = "static __device__ __forceinline__ ", .global = "",
  .restricted = "__restrict__ ", .local = "", .loop = "for ($T $0 = $a; $0 < $b; $0++)",
  .parameter = "$q$E *$0b$k", .block = "blockIdx.$d", .thread = "threadIdx.$d", .shared = "__shared__ __attribute__((aligned(16))) ",
  .unroll = { "#pragma unroll 4\n", "#pragma unroll 16\n" }, .barrier = "__syncthreads()",
  .more =
      "@text INT32_M INT64_M\n#define INT32_MAX 2147483647\n#define INT32_MIN (-INT32_MAX - 1)\n"
      "#define INT64_MAX 9223372036854775807LL\n#define INT64_MIN (-INT64_MAX - 1)\n"
      "@text UINT32_MAX UINT64_MAX\n#define UINT32_MAX 4294967295u\n#define UINT64_MAX 18446744073709551615ULL\n"
      "@text NAN INFINITY\n#undef NAN /* nvcc brings its own */\n#define NAN __int_as_float(0x7fc00000)\n"
      "#undef INFINITY\n#define INFINITY __int_as_float(0x7f800000)\n"
      "@text f32v4\nstruct f32v4 { float x[4]; };\n"
      "@text u16v4\nstruct u16v4 { unsigned short x[4]; };\n"
      "@text u16v8\nstruct u16v8 { unsigned short x[8]; };\n"
      "@vector splat\n$T tgc_splat_$S($E x) {\n  $T v;\n  for (int i = 0; i < $N; i++) v.x[i] = x;\n  return v;\n}\n"
      "@text tgc_wmma_mma_16816f16\n#ifndef tgc_wmma_mma_16816f16\n"
      "static __device__ __forceinline__ f32v4 tgc_wmma_mma_16816f16(f32v4 c, u16v8 a, u16v4 b) {\n"
      "  unsigned p[4], q[2];\n"
      "  for (int i = 0; i < 4; i++) p[i] = a.x[2 * i] | (unsigned)a.x[2 * i + 1] << 16;\n"
      "  for (int i = 0; i < 2; i++) q[i] = b.x[2 * i] | (unsigned)b.x[2 * i + 1] << 16;\n"
      "  asm volatile(\"mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, \"\n"
      "               \"{%0, %1, %2, %3};\"\n"
      "               : \"+f\"(c.x[0]), \"+f\"(c.x[1]), \"+f\"(c.x[2]), \"+f\"(c.x[3])\n"
      "               : \"r\"(p[0]), \"r\"(p[1]), \"r\"(p[2]), \"r\"(p[3]), \"r\"(q[0]), \"r\"(q[1]));\n"
      "  return c;\n}\n#endif\n"
      "@scalar bits\n$I tgc_bits_$S($T a) { union { $T x; $I bits; } u; u.x = a; return u.bits; }\n"
      "@scalar float\n$F tgc_float_$S($T a) { union { $T bits; $F x; } u; u.bits = a; return u.x; }\n",
};

static bool supports(const Target *t, Op op, DType d, DType from, int lanes) {
  return lanes == 1 && op != OP_DOT && op != OP_SCALB && op != OP_LOOKUP && c_backend.supports(t, op, d, from, lanes);
}

static size_t host_bytes(size_t launches, size_t inputs, size_t outputs, size_t states) {
  return TGCRT_CUDA_BYTES(launches, inputs, outputs, states);
}

/* Options for nvcc, where the bundle goes: code for each architecture, and PTX of the least */
static const char *flags(Ctx *c, const ImageOrder *order) {
  const Archs a = cuda_archs(c, order);
  Sb s = { 0 };
  if (order->emit != EMIT_TEXT) return "";
  cuda_arithmetic(order->target, order->keep_denormals, &s);
  sb_printf(&s, " -gencode=arch=compute_%d,code=compute_%d", a.arch[0], a.arch[0]);
  for (int i = 0; i < a.n; i++) sb_printf(&s, " -gencode=arch=compute_%d,code=sm_%d", a.arch[i], a.arch[i]);
  return sb_keep(&s, &c->model);
}

static const DeviceDriver driver = {
  .open = tgcrt_cuda_open, .describe = tgcrt_cuda_describe, .init = tgcrt_cuda_init, .state_put = tgcrt_cuda_state_put,
  .state_get = tgcrt_cuda_state_get, .profile_part = tgcrt_cuda_profile_part,
};

/* clang-format off */
#define OBJECTS DEVICE_OBJECTS("cuda")
#define IMAGES(from) "$(B)/%_images.o: %_images.S " from "\n\t@mkdir -p $(B)\n\t$(CC) $(PIC) -I$(B) -c -o $@ %_images.S\n"
#define PARTS "$(B)/%.o $(B)/tgcrt_cuda.o $(B)/%_images.o ", "rm -f $@", "", "%.c %_images.S tgcrt_cuda.c ", \
              "COMPILE_FLAGS \"\"", " ${CMAKE_DL_LIBS}"
#define MADE(word, emit, from) { word, emit, "%.cu", OBJECTS IMAGES(from), PARTS, "" }
static const CodeForm forms[] = {
  { "cu", EMIT_TEXT, "%.cu",
    OBJECTS "NVCC ?= nvcc\n$(B)/%.fatbin: %.cu\n\t@mkdir -p $(B)\n\t$(NVCC) $(NETFLAGS) -fatbin -o $@ %.cu\n"
    IMAGES("$(B)/%.fatbin"),
    PARTS,
    "find_program(NVCC nvcc PATHS /usr/local/cuda/bin)\nseparate_arguments(FLAGS UNIX_COMMAND \"${NETFLAGS}\")\n"
    "add_custom_command(OUTPUT %.fatbin DEPENDS %.cu\n"
    "  COMMAND ${NVCC} ${FLAGS} -fatbin -o %.fatbin ${CMAKE_CURRENT_SOURCE_DIR}/%.cu)\n"
    "set_source_files_properties(%_images.S PROPERTIES OBJECT_DEPENDS ${CMAKE_CURRENT_BINARY_DIR}/%.fatbin\n"
    "  COMPILE_FLAGS -I${CMAKE_CURRENT_BINARY_DIR})\n" },
  MADE("ptx", EMIT_ASM, "$(wildcard %_sm_*)"),
  MADE("cubin", EMIT_OBJ, "$(wildcard %_sm_*)"),
  MADE("fatbin", EMIT_LIB, "$(wildcard %.fatbin %_sm_*)"),
  { .word = NULL },
};
/* clang-format on */

const Backend cuda_backend = { .name = "cuda",
                               .gloss = "CUDA C++, and C for the host",
                               .comment = { "/* ", " */" },
                               .sizes = true,
                               .model = "net.cu.in",
                               .forms = forms,
                               .makes = EMIT_LIB,
                               .files = device_files,
                               .isa = "cuda-sm_80",
                               .driver = &driver,
                               .device = "cuda",
                               .types = "f64 and i64 native; f16 and bf16 stored, computed in f32",
                               .handle = "CUdeviceptr",
                               .images = cuda_images,
                               .compilers = "NVRTC, clang-19 or nvcc",
                               .flags = flags,
                               .version = cuda_version,
                               .host_bytes = host_bytes,
                               .options = cuda_arithmetic,
                               .dialect = &dialect,
                               .supports = supports,
                               .kernel = clike_launches,
                               .prelude = clike_prelude };

/* SPDX-License-Identifier: MIT */
/* metal.c: the backend for Metal Shading Language. Kernels are text, which the driver of the device compiles when the model is
 * opened, or a library that the bundle's build.sh makes of it; the rest of a bundle is C for the host.
 *
 * A buffer is one argument: Metal binds memory and the bytes from where it begins together. It wants the bytes to be a multiple
 * of an element only, because kernels take buffers in the space `device`. The language has no doubles. */
#include "../compiler/target/device_driver.h"
#include "dialect.h"

/* Halves and bfloat16 are integers, as in C. A pointer to a packed vector is aligned to an element. Loads and stores are
 * functions, because a pointer has an address space. Sine and cosine are the language's: those of libm.c compute in doubles. */
static const Dialect dialect = {
  .type = { [DT_BOOL] = "uchar", [DT_I8] = "char", [DT_U8] = "uchar", [DT_I16] = "short", [DT_U16] = "ushort", [DT_I32] = "int",
            [DT_U32] = "uint", [DT_I64] = "long", [DT_U64] = "ulong", [DT_F16] = "ushort", [DT_BF16] = "ushort",
            [DT_F32] = "float" },
  .truth = "int", .vector = "$E$N",
  .i64 = "$aL", .u64 = "$aUL", .least32 = "(-2147483647 - 1)", .least64 = "(-9223372036854775807L - 1L)", .nearest = "rint",
  .single = "",
  .kernel = "kernel void ", .helper = "static ", .global = "device ", .restricted = "", .local = "",
  .loop = "for ($T $0 = $a; $0 < $b; $0++)",
  .parameter = "device $q$E *b$k [[buffer($a)]]",
  .places = "uint3 g [[threadgroup_position_in_grid]], uint3 t [[thread_position_in_threadgroup]]",
  .block = "g.$d", .thread = "t.$d", .shared = "threadgroup ",
  .barrier = "threadgroup_barrier(mem_flags::mem_threadgroup | mem_flags::mem_device)",
  .load = "tgc_load_$m($a)", .store = "tgc_store_$m($a, $c)", .loaded = "",
  .truth_from = "(-int$N($a != 0))", .truth_to = "uchar$N($0 & 1)", .truth_splat = "$T(-($a))",
  .mask = "(-int$N($a))", .zero = "$T(0)", .list = { "$T(", ")" }, .lane = "$0[$k]",
  .convert = "$T($a)", .bits = "as_type<$T>($a)",
  .parts = "head.metal.in",
  .more =
      "@text INT32_MAX INT32_MIN UINT32_MAX INT64_MAX INT64_MIN UINT64_MAX\n"
      "#define INT32_MAX 2147483647\n#define INT32_MIN (-INT32_MAX - 1)\n#define UINT32_MAX 4294967295u\n"
      "#define INT64_MAX 9223372036854775807L\n#define INT64_MIN (-INT64_MAX - 1L)\n#define UINT64_MAX 18446744073709551615UL\n"
      "@scalar bits\n$I tgc_bits_$S($T a) { return as_type<$I>(a); }\n"
      "@scalar float\n$F tgc_float_$S($T a) { return as_type<$F>(a); }\n"
      "@scalar sin\n$T tgc_sin_$S($T a) { return precise::sin(a); }\n"
      "@scalar cos\n$T tgc_cos_$S($T a) { return precise::cos(a); }\n"
      "@vector sin\n$T tgc_sin_$S($T a) { return precise::sin(a); }\n"
      "@vector cos\n$T tgc_cos_$S($T a) { return precise::cos(a); }\n"
      "@vector load\n$T tgc_load_$S(const device $E *p) { return *(const device packed_$T *)p; }\n"
      "static $T tgc_load_$S(const threadgroup $E *p) { return *(const threadgroup packed_$T *)p; }\n"
      "static $T tgc_load_$S(const thread $E *p) { return *(const thread packed_$T *)p; }\n"
      "@vector store\nvoid tgc_store_$S(device $E *p, $T a) { *(device packed_$T *)p = a; }\n"
      "static void tgc_store_$S(threadgroup $E *p, $T a) { *(threadgroup packed_$T *)p = a; }\n"
      "static void tgc_store_$S(thread $E *p, $T a) { *(thread packed_$T *)p = a; }\n"
      "@vector max\n$T tgc_max_$S($T a, $T b) { return select(b, a, (a > b) | (a != a)); }\n"
      "@vector min\n$T tgc_min_$S($T a, $T b) { return select(b, a, (a < b) | (a != a)); }\n"
      "@vector maxc\n$T tgc_maxc_$S($T x, $T c) { return select(x, c, x < c); }\n"
      "@vector minc\n$T tgc_minc_$S($T x, $T c) { return select(x, c, x > c); }\n"
      "@vector imax\n$T tgc_imax_$S($T a, $T b) { return max(a, b); }\n"
      "@vector imin\n$T tgc_imin_$S($T a, $T b) { return min(a, b); }\n"
      "@vector lo\n$H tgc_lo_$S($T a) { return a.xy; }\n"
      "@vector hi\n$H tgc_hi_$S($T a) { return a.zw; }\n"
      "@vector join\n$T tgc_join_$S($H a, $H b) { return $T(a, b); }\n"
      "@vector splat\n$T tgc_splat_$S($E x) { return $T(x); }\n"
      "@vector sel\n$T tgc_sel_$S(int$N m, $T a, $T b) { return select(b, a, m != 0); }\n"
      "@vector abs\n$T tgc_abs_$S($T a) { return fabs(a); }\n"
      "@vector fma\n$T tgc_fma_$S($T a, $T b, $T c) { return fma(a, b, c); }\n"
      "@vector sqrt\n$T tgc_sqrt_$S($T a) { return sqrt(a); }\n"
      "@vector round\n$T tgc_round_$S($T a) { return rint(a); }\n"
      "@vector floor\n$T tgc_floor_$S($T a) { return floor(a); }\n"
      "@vector ceil\n$T tgc_ceil_$S($T a) { return ceil(a); }\n"
      "@vector trunc\n$T tgc_trunc_$S($T a) { return trunc(a); }\n"
      "@vector shl\n$T tgc_shl_$S($T a, $T b) { return select(a << (b & ($B - 1)), $T(0), $U(b) >= $B); }\n"
      "@vector shr\n$T tgc_shr_$S($T a, $T b) { return a >> select(b, $T($B - 1), $U(b) >= $B); }\n"
      "@vector ushr\n$T tgc_ushr_$S($T a, $T b) { return select(a >> (b & ($B - 1)), $T(0), b >= $B); }\n"
      /* the language leaves conversions undefined where the number does not fit; -2^31 fits */
      "@vector casti32\nint$N tgc_casti32_$S($T a) {\n"
      "  const int$N i = int$N(select($T(0), a, fabs(a) < 2147483648.0f));\n"
      "  return select(select(i, int$N(INT32_MAX), a >= 2147483648.0f), int$N(INT32_MIN), a <= -2147483648.0f);\n}\n"
      "@vector int\nint$N tgc_int_$S($T a) { return int$N(select(a, $T(0), a != a)); }\n"
      "@vector widen\nint$N tgc_widen_$S($T a) { return int$N(a); }\n"
      "@vector widenu\nint$N tgc_widenu_$S($T a) { return int$N(a); }\n"
      "@vector narrow\n$T tgc_narrow_$S(int$N a) { return $T(a); }\n",
};

static bool supports(const Target *t, Op op, DType d, DType from, int lanes) {
  const bool half = d == DT_F16 || d == DT_BF16 || from == DT_F16 || from == DT_BF16;
  if (op == OP_DOT || op == OP_SCALB || op == OP_LOOKUP || (lanes > 1 && op == OP_CAST && half)) return false;
  return lanes <= 4 && c_backend.supports(t, op, d, from, lanes);
}

/* Each pragma is for compilers that do not know the other one. */
static void pragmas(const Target *t, uint32_t needs, Sb *o) {
  (void)needs;
  if (t->in_order) sb_puts(o, "#pragma METAL fp contract(off)\n#pragma clang fp contract(off)\n");
}

static size_t host_bytes(size_t launches, size_t inputs, size_t outputs, size_t states) {
  return TGCRT_METAL_BYTES(launches, inputs, outputs, states);
}

static const DeviceDriver driver = {
  .open = tgcrt_metal_open, .describe = tgcrt_metal_describe, .init = tgcrt_metal_init, .state_put = tgcrt_metal_state_put,
  .state_get = tgcrt_metal_state_get, .profile_part = tgcrt_metal_profile_part,
};

/* clang-format off */
static const CodeForm forms[] = {
  { "metal", EMIT_TEXT, "%.metal",
    DEVICE_OBJECTS("metal"),
    "$(B)/%.o $(B)/tgcrt_metal.o ", "rm -f $@", "", "%.c tgcrt_metal.c ", "COMPILE_FLAGS \"\"", " ${CMAKE_DL_LIBS}", "" },
  { .word = NULL },
};
/* clang-format on */

const Backend metal_backend = { .name = "metal",
                                .gloss = "Metal Shading Language, and C for the host",
                                .comment = { "/* ", " */" },
                                .sizes = true,
                                .model = "net.metal.in",
                                .forms = forms,
                                .makes = EMIT_TEXT,
                                .files = device_files,
                                .script = "build.sh.in",
                                .isa = "metal-apple7",
                                .driver = &driver,
                                .device = "metal",
                                .types = "i64 native; f16 and bf16 stored, computed in f32; f64 refused",
                                .flushes = true,
                                .handle = "id<MTLBuffer>",
                                .host_bytes = host_bytes,
                                .pragmas = pragmas,
                                .dialect = &dialect,
                                .supports = supports,
                                .kernel = clike_launches,
                                .prelude = clike_prelude };

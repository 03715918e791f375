/* SPDX-License-Identifier: MIT */
/* opencl.c: the backend for OpenCL C 1.2. Kernels are text, which the device's driver compiles when the model is opened; the
 * rest of a bundle is C for the host. */
#include "../compiler/target/device_driver.h"
#include "dialect.h"

/* Spellings of OpenCL C. Halves and bfloat16 are integers, as in C, so devices need no extension for them. If the target can
 * convert halves, helpers take the integers. */
static const Dialect dialect = {
  .type = { [DT_BOOL] = "uchar", [DT_I8] = "char", [DT_U8] = "uchar", [DT_I16] = "short", [DT_U16] = "ushort", [DT_I32] = "int",
            [DT_U32] = "uint", [DT_I64] = "long", [DT_U64] = "ulong", [DT_F16] = "ushort", [DT_BF16] = "ushort",
            [DT_F32] = "float", [DT_F64] = "double" },
  .truth = "int", .vector = "$E$N",
  .i64 = "$aL", .u64 = "$aUL", .least32 = "INT_MIN", .least64 = "LONG_MIN", .nearest = "rint", .single = "",
  .kernel = "__kernel void ", .helper = "static ", .global = "__global ", .restricted = "restrict ", .local = "",
  .loop = "for ($T $0 = $a; $0 < $b; $0++)",
  .parameter = "__global $quchar *$0m$k, ulong o$k", .pointer = "__global $q$E *b$k = (__global $q$E *)(m$k + o$k);",
  .block = "get_group_id($k)", .thread = "get_local_id($k)", .shared = "__local ",
  .aligned = " __attribute__((aligned(16)))",
  .barrier = "barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE)", .parts_wait = true,
  .exchange = "sub_group_shuffle_xor($a, $ku)", .warp_kernel = "__kernel TGC_WARP_$k void ",
  .load = "vload$N(0, $a)", .store = "vstore$N($c, 0, $a)",
  .load_aligned = "*($g$q$T *)$0", .store_aligned = "*($g$T *)$0 = $c", .loaded = "",
  .truth_from = "convert_$T($a != (uchar$N)0)", .truth_to = "convert_uchar$N($0 & 1)", .truth_splat = "($T)(-($a))",
  .mask = "convert_int$N($a)", .zero = "($T)0", .list = { "($T)(", ")" }, .lane = "$0.s$x",
  .convert = "convert_$T($a)", .bits = "as_$T($a)", .pick = { "shuffle2($a, $b, ($U)(", "))" },
  .more =
      "@text\n#define INT32_MAX INT_MAX\n#define INT32_MIN INT_MIN\n#define UINT32_MAX UINT_MAX\n"
      "#define INT64_MAX LONG_MAX\n#define INT64_MIN LONG_MIN\n#define UINT64_MAX ULONG_MAX\n"
      "@text TGC_WARP_\n#ifdef cl_intel_required_subgroup_size\n"
      "#define TGC_WARP_16 __attribute__((intel_reqd_sub_group_size(16)))\n"
      "#define TGC_WARP_32 __attribute__((intel_reqd_sub_group_size(32)))\n"
      "#else\n#define TGC_WARP_16\n#define TGC_WARP_32\n#endif\n"
      "@scalar bits\n$I tgc_bits_$S($T a) { return as_$I(a); }\n"
      "@scalar float\n$F tgc_float_$S($T a) { return as_$F(a); }\n"
      "@scalar fromh\nfloat tgc_fromh_$S($T a) { return convert_float(as_half(a)); }\n"
      "@scalar toh\n$T tgc_toh_$S(float a) { return as_$U(convert_half_rte(a)); }\n"
      "@vector fromh\nfloat$N tgc_fromh_$S($T a) { return convert_float$N(as_half$N(a)); }\n"
      "@vector toh\n$T tgc_toh_$S(float$N a) { return as_$U(convert_half$N_rte(a)); }\n"
      "@scalar dot\n$T tgc_dot_$S($T a, uchar4 x, char4 y) {\n"
      "  return as_int(as_uint(a) + as_uint(dot_4x8packed_us_int(as_uint(x), as_uint(y))));\n}\n"
      "@scalar sdot\n$T tgc_sdot_$S($T a, char4 x, char4 y) {\n"
      "  return as_int(as_uint(a) + as_uint(dot_4x8packed_ss_int(as_uint(x), as_uint(y))));\n}\n"
      "@scalar udot\n$T tgc_udot_$S($T a, uchar4 x, uchar4 y) {\n"
      "  return as_int(as_uint(a) + dot_4x8packed_uu_uint(as_uint(x), as_uint(y)));\n}\n"
      "@vector max\n$T tgc_max_$S($T a, $T b) { return select(b, a, (a > b) | (a != a)); }\n"
      "@vector min\n$T tgc_min_$S($T a, $T b) { return select(b, a, (a < b) | (a != a)); }\n"
      "@vector maxc\n$T tgc_maxc_$S($T x, $T c) { return select(x, c, x < c); }\n"
      "@vector minc\n$T tgc_minc_$S($T x, $T c) { return select(x, c, x > c); }\n"
      "@vector imax\n$T tgc_imax_$S($T a, $T b) { return max(a, b); }\n"
      "@vector imin\n$T tgc_imin_$S($T a, $T b) { return min(a, b); }\n"
      "@vector lo\n$H tgc_lo_$S($T a) { return a.lo; }\n"
      "@vector hi\n$H tgc_hi_$S($T a) { return a.hi; }\n"
      "@vector join\n$T tgc_join_$S($H a, $H b) { return ($T)(a, b); }\n"
      "@vector splat\n$T tgc_splat_$S($E x) { return ($T)(x); }\n"
      "@vector sel\n$T tgc_sel_$S(int$N m, $T a, $T b) { return select(b, a, convert_$I(m)); }\n"
      "@vector abs\n$T tgc_abs_$S($T a) { return fabs(a); }\n"
      "@vector fma\n$T tgc_fma_$S($T a, $T b, $T c) { return fma(a, b, c); }\n"
      "@vector sqrt\n$T tgc_sqrt_$S($T a) { return sqrt(a); }\n"
      "@vector round\n$T tgc_round_$S($T a) { return rint(a); }\n"
      "@vector floor\n$T tgc_floor_$S($T a) { return floor(a); }\n"
      "@vector ceil\n$T tgc_ceil_$S($T a) { return ceil(a); }\n"
      "@vector trunc\n$T tgc_trunc_$S($T a) { return trunc(a); }\n"
      "@vector shl\n$T tgc_shl_$S($T a, $T b) { return select(a << (b & ($B - 1)), ($T)0, as_$U(b) >= $B); }\n"
      "@vector shr\n$T tgc_shr_$S($T a, $T b) { return a >> select(b, ($T)($B - 1), as_$U(b) >= $B); }\n"
      "@vector ushr\n$T tgc_ushr_$S($T a, $T b) { return select(a >> (b & ($B - 1)), ($T)0, b >= $B); }\n"
      "@vector casti32\nint$N tgc_casti32_$S($T a) { return select(convert_int$N_sat(a), (int$N)0, isnan(a)); }\n"
      "@vector int\nint$N tgc_int_$S($T a) { return select(convert_int$N(a), (int$N)0, isnan(a)); }\n"
      "@vector widen\nint$N tgc_widen_$S($T a) { return convert_int$N(a); }\n"
      "@vector widenu\nint$N tgc_widenu_$S($T a) { return convert_int$N(a); }\n"
      "@vector narrow\n$T tgc_narrow_$S(int$N a) { return convert_$T(a); }\n",
};

static bool supports(const Target *t, Op op, DType d, DType from, int lanes) {
  const bool f16 = d == DT_F16 || from == DT_F16, half = d == DT_BF16 || from == DT_BF16 || (f16 && !target_converts_halves(t));
  if (op == OP_DOT) return lanes == 1 && d == DT_I32 && t->dev && t->dev->features & DEVF_INT_DOT;
  if (op == OP_SCALB || op == OP_LOOKUP || (lanes > 1 && op == OP_CAST && half)) return false;
  return op == OP_SHFLXOR || (lanes <= 16 && c_backend.supports(t, op, d, from, lanes));
}

static void pragmas(const Target *t, uint32_t needs, Sb *o) {
  if (needs & TGCRT_NEEDS_F64) sb_puts(o, "#pragma OPENCL EXTENSION cl_khr_fp64 : enable\n");
  if (needs & TGCRT_NEEDS_F16) sb_puts(o, "#pragma OPENCL EXTENSION cl_khr_fp16 : enable\n");
  if (t->in_order) sb_puts(o, "#pragma OPENCL FP_CONTRACT OFF\n");
}

static void options(const Target *t, bool keep_denormals, Sb *o) {
  const bool newer = t->dev->features & (DEVF_SUBGROUPS | DEVF_INT_DOT);
  sb_printf(o, "-cl-std=%s%s%s", newer ? "CL3.0" : "CL1.2", t->in_order ? " -cl-fp32-correctly-rounded-divide-sqrt" : "",
            keep_denormals ? "" : " -cl-denorms-are-zero");
}

static size_t host_bytes(size_t launches, size_t inputs, size_t outputs, size_t states) {
  return TGCRT_OPENCL_BYTES(launches, inputs, outputs, states);
}

static const DeviceDriver driver = {
  .open = tgcrt_opencl_open, .describe = tgcrt_opencl_describe, .init = tgcrt_opencl_init,
  .state_put = tgcrt_opencl_state_put, .state_get = tgcrt_opencl_state_get, .profile_part = tgcrt_opencl_profile_part,
};

/* clang-format off */
static const CodeForm forms[] = {
  { "cl", EMIT_TEXT, "%.cl",
    DEVICE_OBJECTS("opencl"),
    "$(B)/%.o $(B)/tgcrt_opencl.o ", "rm -f $@", "", "%.c tgcrt_opencl.c ", "COMPILE_FLAGS \"\"", " ${CMAKE_DL_LIBS}", "" },
  { .word = NULL },
};
/* clang-format on */

const Backend opencl_backend = { .name = "opencl",
                                 .gloss = "OpenCL C 1.2, and C for the host",
                                 .comment = { "/* ", " */" },
                                 .sizes = true,
                                 .model = "net.cl.in",
                                 .forms = forms,
                                 .makes = EMIT_TEXT,
                                 .files = device_files,
                                 .isa = "opencl",
                                 .driver = &driver,
                                 .device = "opencl",
                                 .types = "f64 and i64 native (f64 by cl_khr_fp64); f16 and bf16 stored, "
                                          "computed in f32",
                                 .handle = "cl_mem",
                                 .host_bytes = host_bytes,
                                 .pragmas = pragmas,
                                 .options = options,
                                 .dialect = &dialect,
                                 .supports = supports,
                                 .kernel = clike_launches,
                                 .prelude = clike_prelude };

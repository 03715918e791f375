/* cstyle.c: programs as C. Scalars are plain C99; vectors are GNU vector types, which gcc and clang
 * both compile for any instruction set. Helper functions are templates instantiated for exactly the
 * names that the kernels mention. Nothing from the model reaches the text but numbers. */
#include "backends.h"
#include "../compiler/kernel/units.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- types ---- */
static void put_type(Sb *o, DType d, int lanes) {
  if (lanes == 1) sb_puts(o, d == DT_BOOL ? "int" : dtype_info[d].ctype);
  else sb_printf(o, "%sx%d", d == DT_BOOL ? "i32" : d == DT_F16 || d == DT_BF16 ? "u16" : dtype_info[d].text, lanes);
}

static const char *suffix(DType d, int lanes, char buf[32]) { /* of helper names: f32 or f32x8 */
  if (lanes == 1) snprintf(buf, 32, "%s", dtype_info[d].text);
  else snprintf(buf, 32, "%sx%d", dtype_info[d].text, lanes);
  return buf;
}

/* ---- helpers: a template each. $T type, $H type of half the lanes, $S suffix, $E element type, $U unsigned type, $I signed
 * integer type of the same width, $B bits, $N lanes, $L their numbers, $Q four times as many. Chosen by name and by scalar or vector. ---- */
/* $A eight $Z sixteen $: other $; is eight for so many floats where AVX is there, sixteen where AVX-512 is, which may
 * be missing, and other elsewhere. */
typedef struct Helper { const char *name; bool vector; const char *text; } Helper;
static const Helper helpers[] = {
  { "max", false, "$T tgc_max_$S($T a, $T b) { return a > b || a != a ? a : b; }" },
  { "min", false, "$T tgc_min_$S($T a, $T b) { return a < b || a != a ? a : b; }" },
  /* against a constant that is no NaN: x stays where it is NaN */
  { "maxc", false, "$T tgc_maxc_$S($T x, $T c) { return x < c ? c : x; }" },
  { "minc", false, "$T tgc_minc_$S($T x, $T c) { return x > c ? c : x; }" },
  { "maxc", true, "$T tgc_maxc_$S($T x, $T c) {\n#if $N == 16 && defined __AVX512F__\n  return ($T)_mm512_max_ps((__m512)c, (__m512)x);\n#else\n$A  return ($T)_mm256_max_ps((__m256)c, (__m256)x);$Z  return ($T)_mm512_max_ps((__m512)c, (__m512)x);$:  return tgc_sel_$S(i32x$N_of$B(x < c), c, x);$;#endif\n}" },
  { "minc", true, "$T tgc_minc_$S($T x, $T c) {\n#if $N == 16 && defined __AVX512F__\n  return ($T)_mm512_min_ps((__m512)c, (__m512)x);\n#else\n$A  return ($T)_mm256_min_ps((__m256)c, (__m256)x);$Z  return ($T)_mm512_min_ps((__m512)c, (__m512)x);$:  return tgc_sel_$S(i32x$N_of$B(x > c), c, x);$;#endif\n}" },
  { "max", true, "$T tgc_max_$S($T a, $T b) {\n$A  return ($T)_mm256_blendv_ps(_mm256_max_ps((__m256)a, (__m256)b), (__m256)a, (__m256)(a != a));$Z  return ($T)_mm512_mask_mov_ps(_mm512_max_ps((__m512)a, (__m512)b), _mm512_cmp_ps_mask((__m512)a, (__m512)a, _CMP_UNORD_Q), (__m512)a);$:  return tgc_sel_$S(i32x$N_of$B(a > b) | i32x$N_of$B(a != a), a, b);$;}" },
  { "min", true, "$T tgc_min_$S($T a, $T b) {\n$A  return ($T)_mm256_blendv_ps(_mm256_min_ps((__m256)a, (__m256)b), (__m256)a, (__m256)(a != a));$Z  return ($T)_mm512_mask_mov_ps(_mm512_min_ps((__m512)a, (__m512)b), _mm512_cmp_ps_mask((__m512)a, (__m512)a, _CMP_UNORD_Q), (__m512)a);$:  return tgc_sel_$S(i32x$N_of$B(a < b) | i32x$N_of$B(a != a), a, b);$;}" },
  { "imax", true, "$T tgc_imax_$S($T a, $T b) { const $I m = ($I)(a > b);\n  return ($T)((($I)a & m) | (($I)b & ~m)); }" },
  { "imin", true, "$T tgc_imin_$S($T a, $T b) { const $I m = ($I)(a < b);\n  return ($T)((($I)a & m) | (($I)b & ~m)); }" },
  { "lo", true, "$H tgc_lo_$S($T a) {\n  $H h;\n  memcpy(&h, &a, sizeof h);\n  return h; }" },
  { "hi", true, "$H tgc_hi_$S($T a) {\n  $H h;\n  memcpy(&h, (const char *)&a + sizeof h, sizeof h);\n  return h; }" },
  { "join", true, "$T tgc_join_$S($H a, $H b) {\n#ifdef TGC_PICKS\n  return __builtin_shufflevector(a, b, $L);\n"
                  "#else\n  $T r;\n  memcpy(&r, &a, sizeof a);\n  memcpy((char *)&r + sizeof a, &b, sizeof b);\n  return r;\n#endif\n}" },
  { "splat", true, "$T tgc_splat_$S($E x) { return x - ($T){ 0 }; }" }, /* exact, also for -0 */
  { "sel", true, "$T tgc_sel_$S(i32x$N m, $T a, $T b) {\n$A  return ($T)_mm256_blendv_ps((__m256)b, (__m256)a, (__m256)m);$:  const $I w = tgc_mask_$S(m);\n  return ($T)((($I)a & w) | (($I)b & ~w));$;}" },
  { "abs", true, "$T tgc_abs_$S($T a) { return ($T)(($U)a & (~($U){ 0 } >> 1)); }" },
  { "scalb", true, "$T tgc_scalb_$S($T x, $T n) {\n#if $N == 16 && defined __AVX512F__\n  return ($T)_mm512_scalef_ps((__m512)x, (__m512)n);\n"
                   "#else\n  for (int i = 0; i < $N; i++) x[i] = $M(ldexp)(x[i], n[i] == n[i] ? (int)n[i] : 0);\n  return x;\n#endif\n}" },
  { "sqrt", true, "$T tgc_sqrt_$S($T a) {\n$A  return ($T)_mm256_sqrt_ps((__m256)a);$Z  return ($T)_mm512_sqrt_ps((__m512)a);$:  for (int i = 0; i < $N; i++) a[i] = $M(sqrt)(a[i]);\n  return a;$;}" },
  { "fma", false, "$T tgc_fma_$S($T a, $T b, $T c) { return $M(fma)(a, b, c); }" },
  { "fma", true, "$T tgc_fma_$S($T a, $T b, $T c) {\n#if defined __AVX512F__ && $B * $N == 512 && $B == 32\n  return ($T)_mm512_fmadd_ps((__m512)a, (__m512)b, (__m512)c);\n"
                 "#elif defined __FMA__ && $B * $N == 256 && $B == 32\n  return ($T)_mm256_fmadd_ps((__m256)a, (__m256)b, (__m256)c);\n"
                 "#else\n  for (int i = 0; i < $N; i++) a[i] = $M(fma)(a[i], b[i], c[i]);\n  return a;\n#endif\n}" },
  { "div", false, "$T tgc_div_$S($T a, $T b) { return b == 0 ? 0 : b == ($T)-1 ? ($T)(0 - ($U)a) : ($T)(a / b); }" },
  { "mod", false, "$T tgc_mod_$S($T a, $T b) { return b == 0 || b == ($T)-1 ? 0 : ($T)(a % b); }" },
  { "udiv", false, "$T tgc_udiv_$S($T a, $T b) { return b == 0 ? 0 : ($T)(a / b); }" },
  { "umod", false, "$T tgc_umod_$S($T a, $T b) { return b == 0 ? 0 : ($T)(a % b); }" },
  { "fldiv", false, "$T tgc_fldiv_$S($T a, $T b) { const $T q = tgc_div_$S(a, b); return b != 0 && tgc_mod_$S(a, b) != 0 && (a < 0) != (b < 0) ? q - 1 : q; }" },
  { "flmod", false, "$T tgc_flmod_$S($T a, $T b) { const $T m = tgc_mod_$S(a, b); return m != 0 && (m < 0) != (b < 0) ? m + b : m; }" },
  { "shl", false, "$T tgc_shl_$S($T a, $T b) { return ($U)b >= $B ? 0 : ($T)(($U)a << b); }" },
  { "shr", false, "$T tgc_shr_$S($T a, $T b) { return ($U)b >= $B ? (a < 0 ? ($T)-1 : 0) : ($T)(a >> b); }" },
  { "ushr", false, "$T tgc_ushr_$S($T a, $T b) { return b >= $B ? 0 : ($T)(a >> b); }" },
  /* shifts of vectors come from tgc itself, by constants below the width */
  { "shl", true, "$T tgc_shl_$S($T a, $T b) { return ($T)(($U)a << ($U)b); }" },
  { "shr", true, "$T tgc_shr_$S($T a, $T b) { return a >> b; }" },
  /* adding and subtracting 1.5 * 2^23 rounds to even in the default mode; larger values are integers already */
  { "round", true, "$T tgc_round_$S($T a) {\n$A  return ($T)_mm256_round_ps((__m256)a, 0);$Z  return ($T)_mm512_roundscale_ps((__m512)a, 0);$:  const $T r = (a + 12582912.0f) - 12582912.0f;\n"
                   "  return ($T)(($I)tgc_sel_$S(tgc_abs_$S(a) < 4194304.0f, r, a) | (($I)a & INT32_MIN));$;}" },
  { "floor", true, "$T tgc_floor_$S($T a) {\n$A  return ($T)_mm256_floor_ps((__m256)a);$Z  return ($T)_mm512_roundscale_ps((__m512)a, 9);$:  const $T r = tgc_round_$S(a);\n  return ($T)(($I)tgc_sel_$S(r > a, r - 1.0f, r) | (($I)a & INT32_MIN));$;}" },
  { "ceil", true, "$T tgc_ceil_$S($T a) {\n$A  return ($T)_mm256_ceil_ps((__m256)a);$Z  return ($T)_mm512_roundscale_ps((__m512)a, 10);$:  const $T r = tgc_round_$S(a);\n  return ($T)(($I)tgc_sel_$S(r < a, r + 1.0f, r) | (($I)a & INT32_MIN));$;}" },
  { "trunc", true, "$T tgc_trunc_$S($T a) { return tgc_sel_$S(a < 0.0f, tgc_ceil_$S(a), tgc_floor_$S(a)); }" },
  /* floats to integers saturate, NaN becomes 0 */
  { "casti8", false, "int8_t tgc_casti8_$S($T a) { return (int8_t)(a != a ? 0 : a >= 127 ? 127 : a <= -128 ? -128 : a); }" },
  { "castu8", false, "uint8_t tgc_castu8_$S($T a) { return (uint8_t)(a != a || a <= 0 ? 0 : a >= 255 ? 255 : a); }" },
  { "casti16", false, "int16_t tgc_casti16_$S($T a) { return (int16_t)(a != a ? 0 : a >= 32767 ? 32767 : a <= -32768 ? -32768 : a); }" },
  { "castu16", false, "uint16_t tgc_castu16_$S($T a) { return (uint16_t)(a != a || a <= 0 ? 0 : a >= 65535 ? 65535 : a); }" },
  { "casti32", false, "int32_t tgc_casti32_$S($T a) { return a != a ? 0 : a >= ($T)2147483648.0 ? INT32_MAX : a <= ($T)-2147483648.0 ? INT32_MIN : (int32_t)a; }" },
  { "castu32", false, "uint32_t tgc_castu32_$S($T a) { return a != a || a <= 0 ? 0 : a >= ($T)4294967296.0 ? UINT32_MAX : (uint32_t)a; }" },
  { "casti64", false, "int64_t tgc_casti64_$S($T a) { return a != a ? 0 : a >= ($T)9223372036854775808.0 ? INT64_MAX : a <= ($T)-9223372036854775808.0 ? INT64_MIN : (int64_t)a; }" },
  { "castu64", false, "uint64_t tgc_castu64_$S($T a) { return a != a || a <= 0 ? 0 : a >= ($T)18446744073709551616.0 ? UINT64_MAX : (uint64_t)a; }" },
  { "casti32", true, "i32x$N tgc_casti32_$S($T a) {\n  const i32x$N big = a >= 2147483648.0f, in = (a > -2147483648.0f) & ~big;\n  const i32x$N v = __builtin_convertvector(tgc_sel_$S(in, a, ($T){ 0 }), i32x$N);\n"
                     "  return v | (big & INT32_MAX) | ((a <= -2147483648.0f) & INT32_MIN); }" },
  /* bytes to and from i32: gcc 12 takes conversions to other sizes apart */
  { "widenu", true, "i32x$N tgc_widenu_$S($T a) {\n#if $N == 16 && defined __AVX512F__\n  return (i32x16)_mm512_cvtepu8_epi32((__m128i)a);\n"
                 "#elif $N == 8 && defined __AVX2__\n  int64_t w;\n  memcpy(&w, &a, 8);\n  return (i32x8)_mm256_cvtepu8_epi32(_mm_cvtsi64_si128(w));\n"
                 "#else\n  return __builtin_convertvector(a, i32x$N);\n#endif\n}" },
  { "widen", true, "i32x$N tgc_widen_$S($T a) {\n#if $N == 16 && defined __AVX512F__\n  return (i32x16)_mm512_cvtepi8_epi32((__m128i)a);\n"
                 "#elif $N == 8 && defined __AVX2__\n  int64_t w;\n  memcpy(&w, &a, 8);\n  return (i32x8)_mm256_cvtepi8_epi32(_mm_cvtsi64_si128(w));\n"
                 "#else\n  return __builtin_convertvector(a, i32x$N);\n#endif\n}" },
  { "narrow", true, "$T tgc_narrow_$S(i32x$N a) {\n#if $N == 16 && defined __AVX512F__\n  return ($T)_mm512_cvtepi32_epi8((__m512i)a);\n"
                    "#elif $N == 8 && defined __AVX512VL__\n  const int64_t w = _mm_cvtsi128_si64(_mm256_cvtepi32_epi8((__m256i)a));\n  $T r;\n  memcpy(&r, &w, 8);\n  return r;\n"
                    "#else\n  return __builtin_convertvector(a, $T);\n#endif\n}" },
  /* of floats that fit, and NaN */
  { "int", true, "i32x$N tgc_int_$S($T a) { return __builtin_convertvector(a, i32x$N) & (i32x$N)(a == a); }" },
  /* sums of products of four bytes, unsigned by signed: a group of x for all lanes, or for each its own. Without the
   * instruction for it, words are multiplied, whose pairs add up in i32: vpmaddubsw would saturate. */
  { "dot", false, "$T tgc_dot_$S($T s, u8x4 x, i8x4 y) { return s + x[0] * y[0] + x[1] * y[1] + x[2] * y[2] + x[3] * y[3]; }" },
  { "dot", true, "$T tgc_dot_$S($T s, u8x4 x, i8x$Q y) {\n#if $N * 4 <= 64 && (defined __SSE2__ || defined __ARM_FEATURE_MATMUL_INT8)\n"
                 "  const $T all = tgc_splat_$S((int32_t)x);\n  return tgc_dotv_$S(s, (u8x$Q)all, y);\n#else\n"
                 "  for (int i = 0; i < $N; i++)\n    for (int k = 0; k < 4; k++) s[i] += x[k] * y[4 * i + k];\n  return s;\n#endif\n}" },
  { "dotv", true, "$T tgc_dotv_$S($T s, u8x$Q x, i8x$Q y) {\n"
                  "#if $N == 16 && defined __AVX512VNNI__\n  return ($T)_mm512_dpbusd_epi32((__m512i)s, (__m512i)x, (__m512i)y);\n"
                  "#elif $N == 8 && defined __AVX512VNNI__ && defined __AVX512VL__\n  return ($T)_mm256_dpbusd_epi32((__m256i)s, (__m256i)x, (__m256i)y);\n"
                  "#elif $N == 8 && defined __AVXVNNI__\n  return ($T)_mm256_dpbusd_avx_epi32((__m256i)s, (__m256i)x, (__m256i)y);\n"
                  "#elif $N == 4 && defined __AVX512VNNI__ && defined __AVX512VL__\n  return ($T)_mm_dpbusd_epi32((__m128i)s, (__m128i)x, (__m128i)y);\n"
                  "#elif $N == 4 && defined __ARM_FEATURE_MATMUL_INT8\n  return ($T)vusdotq_s32((int32x4_t)s, (uint8x16_t)x, (int8x16_t)y);\n"
                  "#elif $N == 16 && defined __AVX512BW__\n"
                  "  const __m512i low = _mm512_madd_epi16(_mm512_and_si512((__m512i)x, _mm512_set1_epi16(255)), _mm512_srai_epi16(_mm512_slli_epi16((__m512i)y, 8), 8));\n"
                  "  return s + ($T)low + ($T)_mm512_madd_epi16(_mm512_srli_epi16((__m512i)x, 8), _mm512_srai_epi16((__m512i)y, 8));\n"
                  "#elif $N == 8 && defined __AVX2__\n"
                  "  const __m256i low = _mm256_madd_epi16(_mm256_and_si256((__m256i)x, _mm256_set1_epi16(255)), _mm256_srai_epi16(_mm256_slli_epi16((__m256i)y, 8), 8));\n"
                  "  return s + ($T)low + ($T)_mm256_madd_epi16(_mm256_srli_epi16((__m256i)x, 8), _mm256_srai_epi16((__m256i)y, 8));\n"
                  "#elif $N == 4 && defined __SSE2__\n"
                  "  const __m128i low = _mm_madd_epi16(_mm_and_si128((__m128i)x, _mm_set1_epi16(255)), _mm_srai_epi16(_mm_slli_epi16((__m128i)y, 8), 8));\n"
                  "  return s + ($T)low + ($T)_mm_madd_epi16(_mm_srli_epi16((__m128i)x, 8), _mm_srai_epi16((__m128i)y, 8));\n"
                  "#else\n  for (int i = 0; i < 4 * $N; i++) s[i / 4] += x[i] * y[i];\n  return s;\n#endif\n}" },
  /* signed by signed */
  { "sdot", false, "$T tgc_sdot_$S($T s, i8x4 x, i8x4 y) { return s + x[0] * y[0] + x[1] * y[1] + x[2] * y[2] + x[3] * y[3]; }" },
  { "sdot", true, "$T tgc_sdot_$S($T s, i8x4 x, i8x$Q y) { return tgc_sdotv_$S(s, (i8x$Q)tgc_splat_$S((int32_t)x), y); }" },
  { "sdotv", true, "$T tgc_sdotv_$S($T s, i8x$Q x, i8x$Q y) {\n"
                   "#if $N == 4 && defined __ARM_FEATURE_DOTPROD\n  return ($T)vdotq_s32((int32x4_t)s, (int8x16_t)x, (int8x16_t)y);\n"
                   "#else\n  for (int i = 0; i < 4 * $N; i++) s[i / 4] += x[i] * y[i];\n  return s;\n#endif\n}" },
  /* of two bf16 each, the upper one first, as the instruction does it */
  { "dotbf", false, "$T tgc_dotbf_$S($T s, u16x2 x, u16x2 y) { return s + tgc_frombf_bf16(x[1]) * tgc_frombf_bf16(y[1]) + tgc_frombf_bf16(x[0]) * tgc_frombf_bf16(y[0]); }" },
  { "dotbf", true, "$T tgc_dotbf_$S($T s, u16x2 x, u16x$P y) { return tgc_dotbfv_$S(s, (u16x$P)tgc_splat_i32x$N((int32_t)x), y); }" },
  { "dotbfv", true, "$T tgc_dotbfv_$S($T s, u16x$P x, u16x$P y) {\n"
                    "#if $N == 16 && defined __AVX512BF16__\n  return ($T)_mm512_dpbf16_ps((__m512)s, (__m512bh)x, (__m512bh)y);\n"
                    "#elif $N == 8 && defined __AVX512BF16__ && defined __AVX512VL__\n  return ($T)_mm256_dpbf16_ps((__m256)s, (__m256bh)x, (__m256bh)y);\n"
                    "#else\n  const u32x$N a = (u32x$N)x, b = (u32x$N)y;\n"
                    "  s += ($T)(a & 0xffff0000u) * ($T)(b & 0xffff0000u);\n  return s + ($T)(a << 16) * ($T)(b << 16);\n#endif\n}" },
  { "bits", false, "$I tgc_bits_$S($T a) { $I b; memcpy(&b, &a, sizeof b); return b; }" },
  { "float", false, "$F tgc_float_$S($T a) { $F b; memcpy(&b, &a, sizeof b); return b; }" },
  /* half precision: the exponent is rebased by an addition, subnormals are integers; no operand is a denormal float, which may count as zero */
  { "from", false, "float tgc_from_f16(uint16_t h) {\n  const uint32_t u = (uint32_t)(h & 0x7fff), s = (uint32_t)(h & 0x8000) << 16, e = (u << 13) + (u < 0x7c00 ? 0x38000000 : 0x70000000);\n"
                   "  const float f = (float)u * 0x1p-24f;\n  return tgc_float_i32((int32_t)((u < 0x400 ? (uint32_t)tgc_bits_f32(f) : e) | s)); }" },
  { "to", false, "uint16_t tgc_to_f16(float f) {\n  const uint32_t b = (uint32_t)tgc_bits_f32(f), s = b >> 16 & 0x8000, u = b & 0x7fffffff;\n"
                 "  if (u >= 0x47800000) return (uint16_t)(s | (u > 0x7f800000 ? 0x7e00 : 0x7c00));\n"
                 "  if (u < 0x38800000) return (uint16_t)(s | ((uint32_t)tgc_bits_f32(tgc_float_i32((int32_t)u) + 0.5f) - 0x3f000000));\n"
                 "  return (uint16_t)(s | (u + 0xc8000fff + (u >> 13 & 1)) >> 13); }" },
  { "frombf", true, "f32x$N tgc_frombf_$S(u16x$N h) { return (f32x$N)(__builtin_convertvector(h, u32x$N) << 16); }" },
  { "from", true, "f32x$N tgc_from_$S(u16x$N h) {\n#if defined __AVX512F__ && $N == 16\n  return (f32x16)_mm512_cvtph_ps((__m256i)h);\n#elif defined __F16C__ && $N == 8\n  return (f32x8)_mm256_cvtph_ps((__m128i)h);\n#else\n"
                  "  const i32x$N x = __builtin_convertvector(h, i32x$N), u = x & 0x7fff, s = -(x >> 15) & (-0x7fffffff - 1), low = u < 0x400;\n"
                  "  const i32x$N f = (i32x$N)(__builtin_convertvector(u, f32x$N) * 0x1p-24f), e = (u << 13) + 0x38000000 + ((u >= 0x7c00) & 0x38000000);\n"
                  "  return (f32x$N)((f & low) | (e & ~low) | s);\n#endif\n}" },
  { "to", true, "u16x$N tgc_to_$S(f32x$N f) {\n#if defined __F16C__ && $N == 8\n  return (u16x8)_mm256_cvtps_ph((__m256)f, 0);\n#else\n"
                "  const i32x$N b = (i32x$N)f, s = (b >> 16) & 0x8000, u = b & 0x7fffffff, big = u >= 0x47800000, low = u < 0x38800000;\n"
                "  const i32x$N d = (i32x$N)((f32x$N)u + 0.5f) - 0x3f000000, n = (i32x$N)((u32x$N)(u - 0x37fff001 + ((u >> 13) & 1)) >> 13);\n"
                "  const i32x$N i = 0x7c00 + ((u > 0x7f800000) & 0x200);\n"
                "  return __builtin_convertvector(s | (i & big) | (d & low) | (n & ~big & ~low), u16x$N);\n#endif\n}" },
  { "frombf", false, "float tgc_frombf_bf16(uint16_t h) { return tgc_float_i32((int32_t)((uint32_t)h << 16)); }" },
  { "tobf", false, "uint16_t tgc_tobf_bf16(float f) {\n  const uint32_t u = (uint32_t)tgc_bits_f32(f);\n  return (uint16_t)(f != f ? (u >> 16 & 0x8000) | 0x7fc0 : (u + 0x7fff + (u >> 16 & 1)) >> 16); }" },
  { "tobf", true, "u16x$N tgc_tobf_$S(f32x$N f) {\n  const u32x$N u = (u32x$N)f, r = (u + 0x7fff + ((u >> 16) & 1)) >> 16, q = ((u >> 16) & 0x8000) | 0x7fc0, n = (u32x$N)(f != f);\n"
                  "  return __builtin_convertvector((r & ~n) | (q & n), u16x$N);\n}" },
  { "tobfz", true, "u16x$N tgc_tobfz_$S(f32x$N f) {\n#ifdef __AVX512BF16__\n  return (u16x16)_mm512_cvtneps_pbh((__m512)f);\n#else\n  return tgc_tobf_$S(f);\n#endif\n}" },
};

/* ---- one expression ---- */
typedef struct Render {
  const IR *ir;
  const Kernel *k;
  Sb *o;
  char **text;             /* by position in the program: how to write the value, without outer parentheses */
  char *prec;              /* and how loosely it binds */
  uint32_t *slot, nslot;   /* Ref to position + 1 */
  int nloops, naccs, ntiles; /* named so far */
  TileSet tiles;           /* of the nest */
  bool flushes;            /* denormals count as zero, and an instruction rounds to bf16 so */
  bool in_order;           /* the roundings of a multiply-add are not the C compiler's to choose */
  Arena a;
} Render;

static uint32_t *slot_of(Render *w, Ref r) {
  uint32_t h = r * 2654435761u;
  while (w->slot[h & (w->nslot - 1)] && w->k->prog.p[w->slot[h & (w->nslot - 1)] - 1] != r) h++;
  return &w->slot[h & (w->nslot - 1)];
}

enum { PARAMETER = -1 };               /* number of the buffer that stands for a helper's argument */
enum { ATOM, PRODUCT, SUM, LOOSE }; /* precedence of a text: what may hold it without parentheses */

/* Source k of x as text that binds at least as tightly as allowed. */
static const char *arg_as(Render *w, const Node *x, int k, int allowed) {
  uint32_t at = *slot_of(w, x->src[k]);
  CHECK(at && w->text[at - 1]);
  return w->prec[at - 1] <= allowed ? w->text[at - 1] : arena_printf(&w->a, "(%s)", w->text[at - 1]);
}
static const char *arg(Render *w, const Node *x, int k) { return arg_as(w, x, k, ATOM); }
static const char *inside(Render *w, const Node *x, int k) { return arg_as(w, x, k, LOOSE); } /* between commas or brackets */

/* Strips one pair of parentheses around all of e; how loosely the rest binds. */
static int unwrap(Sb *e, const Node *x) {
  int depth = 0;
  if (!e->n || e->p[0] != '(' || e->p[e->n - 1] != ')') return ATOM;
  for (size_t i = 0; i + 1 < e->n; i++) {
    depth += e->p[i] == '(' ? 1 : e->p[i] == ')' ? -1 : 0;
    if (!depth) return e->p[e->n - 1] == ')' && x->op != OP_MULACC ? LOOSE : SUM; /* a cast or a product of two groups */
  }
  memmove(e->p, e->p + 1, e->n - 2);
  e->n -= 2;
  e->p[e->n] = 0;
  return x->op == OP_ADD || x->op == OP_SUB || x->op == OP_MULACC ? SUM : x->op == OP_MUL ? PRODUCT : LOOSE;
}

static void put_const(Sb *o, DType d, int64_t bits) {
  double v = bits_to_double(d, bits);
  switch (d) {
  case DT_F32:
  case DT_F64:
    if (isnan(v)) sb_puts(o, d == DT_F32 ? "NAN" : "(double)NAN");
    else if (isinf(v)) sb_printf(o, "%sINFINITY", v < 0 ? "-" : "");
    else {
      char b[40];
      snprintf(b, sizeof b, d == DT_F32 ? "%.9g" : "%.17g", v);
      for (int p = 1; p < 9 && d == DT_F32; p++) { /* the shortest that reads back */
        char s[40];
        snprintf(s, sizeof s, "%.*g", p, v);
        if (strtof(s, NULL) == (float)v) { memcpy(b, s, sizeof b); break; }
      }
      for (char *c = b; *c; c++)
        if (*c == ',') *c = '.';
      if (!strpbrk(b, ".e")) strcat(b, ".0");
      sb_printf(o, "%s%s", b, d == DT_F32 ? "f" : "");
    }
    return;
  case DT_I64:
    if (bits == INT64_MIN) sb_puts(o, "INT64_MIN");
    else sb_printf(o, bits > INT32_MAX || bits < INT32_MIN ? "INT64_C(%lld)" : "%lld", (long long)bits);
    return;
  case DT_U64: sb_printf(o, "UINT64_C(%llu)", (unsigned long long)bits); return;
  case DT_I32:
    if (bits == INT32_MIN) sb_puts(o, "INT32_MIN");
    else sb_printf(o, "%lld", (long long)bits);
    return;
  case DT_U32: sb_printf(o, "%lluu", (unsigned long long)bits); return;
  default: sb_printf(o, "%lld", (long long)bits); return;
  }
}

static const char *const infix[OP_COUNT] = {
  [OP_ADD] = "+", [OP_SUB] = "-", [OP_MUL] = "*", [OP_DIV] = "/", [OP_CMPLT] = "<", [OP_CMPLE] = "<=", [OP_CMPEQ] = "==", [OP_CMPNE] = "!=",
  [OP_AND] = "&", [OP_OR] = "|", [OP_XOR] = "^",
};

/* functions of math.h, by op; the suffix f is added for float */
static const char *const libm[OP_COUNT] = {
  [OP_SQRT] = "sqrt", [OP_TRUNC] = "trunc", [OP_FLOOR] = "floor", [OP_CEIL] = "ceil", [OP_ROUND] = "nearbyint", [OP_EXP] = "exp", [OP_EXP2] = "exp2",
  [OP_LOG] = "log", [OP_LOG2] = "log2", [OP_SIN] = "sin", [OP_COS] = "cos", [OP_TAN] = "tan", [OP_ASIN] = "asin", [OP_ACOS] = "acos", [OP_ATAN] = "atan",
  [OP_SINH] = "sinh", [OP_COSH] = "cosh", [OP_TANH] = "tanh", [OP_ASINH] = "asinh", [OP_ACOSH] = "acosh", [OP_ATANH] = "atanh", [OP_ERF] = "erf",
  [OP_POW] = "pow", [OP_ATAN2] = "atan2", [OP_MOD] = "fmod",
};

static bool bounded(const Node *x) { return x->vmin != INT64_MIN && x->vmax != INT64_MAX; }
static bool narrow(DType d) { return dtype_info[d].bits < 32; }

static void put_infix(Render *w, Sb *o, const Node *x) {
  bool sum = x->op == OP_ADD || x->op == OP_SUB, product = x->op == OP_MUL;
  const char *op = x->dt == DT_BOOL && product ? "&" : infix[x->op];
  const Node *c = node(w->ir, x->src[1]);
  if (x->op == OP_ADD && c->op == OP_CONST && c->dt == DT_I64 && c->arg[0] < 0 && c->arg[0] > INT32_MIN) {
    sb_printf(o, "(%s - %lld)", arg_as(w, x, 0, SUM), -(long long)c->arg[0]);
    return;
  }
  sb_printf(o, "(%s %s %s)", arg_as(w, x, 0, sum ? SUM : product ? PRODUCT : ATOM), op, arg_as(w, x, 1, sum ? PRODUCT : ATOM));
}

/* Integer arithmetic wraps: in unsigned where the bounds do not prove that nothing overflows. */
static void put_int(Render *w, Sb *o, const Node *x) {
  const char *a = arg(w, x, 0), *b = arg(w, x, 1), *c = dtype_info[x->dt].ctype;
  if (x->dt == DT_I64 && bounded(x) && bounded(node(w->ir, x->src[0])) && bounded(node(w->ir, x->src[1]))) put_infix(w, o, x);
  else if (dtype_info[x->dt].cls == 'u' && !narrow((DType)x->dt)) put_infix(w, o, x);
  else {
    const char *u = x->dt == DT_I64 ? "uint64_t" : "uint32_t";
    sb_printf(o, "(%s)((%s)%s %s (%s)%s)", c, u, a, infix[x->op], u, b);
  }
}

static bool const_not_nan(const IR *ir, Ref r) {
  int64_t bits;
  return node_is_const(ir, r, &bits) && !isnan(bits_to_double((DType)node(ir, r)->dt, bits));
}

/* min(max(v, c), d) with constants within i32, or NaN */
static bool fits_i32(const IR *ir, const Node *x) {
  for (int k = 0; k < 2; k++, x = node(ir, x->src[0])) {
    if (x->dt != DT_F32 || x->op != (k ? OP_MAX : OP_MIN)) return false;
    const Node *c = node(ir, x->src[1]);
    if (c->op == OP_BCAST) c = node(ir, c->src[0]);
    if (c->op != OP_CONST || !(fabs(bits_to_double(DT_F32, c->arg[0])) < 2147483648.0)) return false;
  }
  return true;
}

static void put_cast(Render *w, Sb *o, const Node *x) {
  const Node *s = node(w->ir, x->src[0]);
  const char *a = arg(w, x, 0), *in = inside(w, x, 0);
  char sfx[32];
  DType from = (DType)s->dt, to = (DType)x->dt;
  if (from == DT_F16) sb_printf(o, "tgc_from_%s(%s)", suffix(from, x->lanes, sfx), in);
  else if (to == DT_F16) sb_printf(o, "tgc_to_%s(%s)", suffix(to, x->lanes, sfx), in);
  else if (from == DT_BF16) sb_printf(o, "tgc_frombf_%s(%s)", suffix(from, x->lanes, sfx), in);
  else if (to == DT_BF16) sb_printf(o, "tgc_tobf%s_%s(%s)", w->flushes && x->lanes == 16 ? "z" : "", suffix(to, x->lanes, sfx), in);
  else if (x->lanes > 1) {
    char t[32];
    Sb ty = { 0 };
    put_type(&ty, to, x->lanes);
    snprintf(t, sizeof t, "%s", ty.p);
    sb_free(&ty);
    if (from == DT_BOOL) sb_printf(o, "__builtin_convertvector(%s & 1, %s)", a, t);
    else if (to == DT_BOOL) {
      Sb zero = { 0 };
      put_type(&zero, from, x->lanes);
      sb_printf(o, "i32x%d_of%d(%s != (%s){ 0 })", x->lanes, dtype_info[from].bits, a, zero.p);
      sb_free(&zero);
    } else if (to == DT_I32 && fits_i32(w->ir, s)) sb_printf(o, "tgc_int_%s(%s)", suffix(from, x->lanes, sfx), in);
    else if (dt_float(from) && dt_int(to)) sb_printf(o, "tgc_cast%s_%s(%s)", dtype_info[to].text, suffix(from, x->lanes, sfx), in);
    else if (to == DT_I32 && dtype_info[from].bits == 8) sb_printf(o, "tgc_widen%s_%s(%s)", from == DT_U8 ? "u" : "", suffix(from, x->lanes, sfx), in);
    else if (from == DT_I32 && dtype_info[to].bits == 8) sb_printf(o, "tgc_narrow_%s(%s)", suffix(to, x->lanes, sfx), in);
    else sb_printf(o, "__builtin_convertvector(%s, %s)", in, t);
  } else if (to == DT_BOOL) sb_printf(o, "(%s != 0)", a);
  else if (dt_float(from) && dt_int(to)) sb_printf(o, "tgc_cast%s_%s(%s)", dtype_info[to].text, dtype_info[from].text, in);
  else sb_printf(o, "(%s)%s", dtype_info[to].ctype, a);
}

static void put_memory(Render *w, Sb *o, const Node *x, int lanes) { /* buffer[index] as an lvalue */
  const char *b = arg(w, x, 0);
  DType d = (DType)node(w->ir, x->src[0])->dt;
  if (lanes == 1) {
    sb_printf(o, "%s[%s]", b, inside(w, x, 1));
    return;
  }
  bool written = w->ir->bufs.p[node(w->ir, x->src[0])->arg[0]].kind == BUF_LOCAL;
  for (size_t k = 0; k < w->k->written.n; k++) written |= w->k->written.p[k] == node(w->ir, x->src[0])->arg[0];
  const char *e = d == DT_BOOL ? "u8" : d == DT_F16 || d == DT_BF16 ? "u16" : dtype_info[d].text;
  sb_printf(o, "*(%s%sx%du *)(%s + %s)", written ? "" : "const ", e, lanes, b, arg_as(w, x, 1, SUM));
}

static bool in_order_from(const Node *x, int first) { /* the lanes of a shuffle are one after another */
  for (int i = 0; i < x->lanes; i++)
    if (x->arg[i] != first + i) return false;
  return true;
}

/* The shuffles that shuffle.c makes: two vectors as one, half of one, as many lanes of two as one has. */
static void put_shuffle(Render *w, Sb *o, const Node *x) {
  const DType d = x->dt == DT_F16 || x->dt == DT_BF16 ? DT_U16 : (DType)x->dt;
  const int n = node(w->ir, x->src[0])->lanes;
  const char *a = inside(w, x, 0), *b = inside(w, x, 1);
  char sfx[32];
  if (x->lanes == 2 * n) {
    CHECK(in_order_from(x, 0));
    sb_printf(o, "tgc_join_%s(%s, %s)", suffix(d, 2 * n, sfx), a, b);
  } else if (2 * x->lanes == n) {
    CHECK(in_order_from(x, x->arg[0] ? n / 2 : 0));
    sb_printf(o, "tgc_%s_%s(%s)", x->arg[0] ? "hi" : "lo", suffix(d, n, sfx), a);
  } else {
    CHECK(x->lanes == n);
    sb_printf(o, "TGC_PICK(i%dx%d, %s, %s", dtype_info[d].bits, n, a, b);
    for (int i = 0; i < n; i++) sb_printf(o, ", %lld", (long long)x->arg[i]);
    sb_puts(o, ")");
  }
}

static void put_expr(Render *w, Sb *o, const Node *x) {
  const IR *ir = w->ir;
  char sfx[32];
  DType d = (DType)x->dt, d0 = x->nsrc ? (DType)node(ir, x->src[0])->dt : d;
  int n = x->lanes, bits0 = dtype_info[d0].bits;
  bool fl = dt_float(d), vec = n > 1;
  switch ((Op)x->op) {
  case OP_CONST: put_const(o, d, x->arg[0]); return;
  case OP_BUFFER:
    if (x->arg[0] == PARAMETER) sb_puts(o, "x");
    /* by its place among the parameters, so that kernels alike are alike to the letter */
    for (size_t i = 0; i < w->k->bufs.n; i++)
      if (w->k->bufs.p[i] == x->arg[0]) sb_printf(o, "b%zu", i);
    for (size_t i = 0; i < w->k->locals.n; i++)
      if (w->k->locals.p[i] == x->arg[0]) sb_printf(o, "p%zu", i);
    return;
  case OP_GET: sb_printf(o, "%s", arg(w, x, 0)); return;
  case OP_CAST: put_cast(w, o, x); return;
  case OP_LOAD:
    if (x->nsrc == 4) {
      sb_printf(o, "(%s ? ", arg(w, x, 2));
      if (vec && d != DT_BOOL) { /* both sides of ?: are of one type: not the unaligned one */
        sb_puts(o, "(");
        put_type(o, d, n);
        sb_puts(o, ")");
      }
    }
    if (vec && d == DT_BOOL) {
      sb_puts(o, "__builtin_convertvector(");
      put_memory(w, o, x, n);
      sb_printf(o, " != 0, i32x%d)", n);
    } else put_memory(w, o, x, n);
    if (x->nsrc == 4) sb_printf(o, " : %s)", arg(w, x, 3));
    return;
  case OP_BCAST:
    if (d == DT_BOOL) sb_printf(o, "((i32x%d){ 0 } - (int32_t)(%s))", n, arg(w, x, 0));
    else sb_printf(o, "tgc_splat_%s(%s)", suffix(d == DT_F16 || d == DT_BF16 ? DT_U16 : d, n, sfx), inside(w, x, 0));
    return;
  case OP_VEC:
    sb_puts(o, "(");
    put_type(o, d, n);
    sb_puts(o, "){ ");
    for (int k = 0; k < n; k++) sb_printf(o, d == DT_BOOL ? "%s-(%s)" : "%s%s", k ? ", " : "", inside(w, x, k));
    sb_puts(o, " }");
    return;
  case OP_LANE: sb_printf(o, d == DT_BOOL ? "(%s[%lld] & 1)" : "%s[%lld]", arg(w, x, 0), (long long)x->arg[0]); return;
  case OP_SHUFFLE: put_shuffle(w, o, x); return;
  case OP_NEG:
    if (fl || vec) sb_printf(o, *arg(w, x, 0) == '-' ? "(-(%s))" : "(-%s)", arg(w, x, 0));
    else sb_printf(o, "(%s)(0 - (%s)%s)", dtype_info[d].ctype, d == DT_I64 || d == DT_U64 ? "uint64_t" : "uint32_t", arg(w, x, 0));
    return;
  case OP_ABS:
    if (vec) sb_printf(o, "tgc_abs_%s(%s)", suffix(d, n, sfx), arg(w, x, 0));
    else if (fl) sb_printf(o, "fabs%s(%s)", d == DT_F32 ? "f" : "", arg(w, x, 0));
    else if (dtype_info[d].cls == 'i') sb_printf(o, "(%s)(%s < 0 ? 0 - (%s)%s : (%s)%s)", dtype_info[d].ctype, arg(w, x, 0), d == DT_I64 ? "uint64_t" : "uint32_t", arg(w, x, 0),
                                                 d == DT_I64 ? "uint64_t" : "uint32_t", arg(w, x, 0));
    else sb_puts(o, arg(w, x, 0));
    return;
  case OP_NOT:
    if (vec || d != DT_BOOL) sb_printf(o, narrow(d) && !vec ? "(%s)~%s" : "%s(~%s)", narrow(d) && !vec ? dtype_info[d].ctype : "", arg(w, x, 0));
    else sb_printf(o, "!%s", arg(w, x, 0));
    return;
  case OP_RECIP: sb_printf(o, d == DT_F32 ? "(1.0f / %s)" : "(1.0 / %s)", arg(w, x, 0)); return;
  case OP_BITCAST:
    if (vec) {
      sb_puts(o, "(");
      put_type(o, d, n);
      sb_printf(o, ")%s", arg(w, x, 0));
    } else if (fl == dt_float(d0)) sb_printf(o, "(%s)%s", dtype_info[d].ctype, arg(w, x, 0));
    else sb_printf(o, "tgc_%s_%s(%s)", fl ? "float" : "bits", suffix(d0, 1, sfx), inside(w, x, 0));
    return;
  case OP_MAX:
  case OP_MIN: {
    const char *name = x->op == OP_MAX ? "max" : "min";
    if (d == DT_BOOL) sb_printf(o, "(%s %s %s)", arg(w, x, 0), x->op == OP_MAX ? "|" : "&", arg(w, x, 1));
    else if (vec && dt_int(d)) sb_printf(o, "tgc_i%s_%s(%s, %s)", name, suffix(d, n, sfx), inside(w, x, 0), inside(w, x, 1));
    else if (const_not_nan(ir, x->src[1])) { /* max(x, c) is x where x is NaN */
      const char *a = inside(w, x, 0), *c = inside(w, x, 1);
      sb_printf(o, "tgc_%sc_%s(%s, %s)", name, suffix(d, n, sfx), a, c);
    } else sb_printf(o, "tgc_%s_%s(%s, %s)", name, suffix(d, n, sfx), inside(w, x, 0), inside(w, x, 1));
    return;
  }
  case OP_CMPLT: case OP_CMPLE: case OP_CMPEQ: case OP_CMPNE:
    if (vec && d0 == DT_BOOL) sb_printf(o, "(%s %s %s)", arg(w, x, 0), infix[x->op], arg(w, x, 1));
    else if (vec) sb_printf(o, "i32x%d_of%d(%s %s %s)", n, bits0, arg(w, x, 0), infix[x->op], arg(w, x, 1));
    else sb_printf(o, "(%s %s %s)", arg(w, x, 0), infix[x->op], arg(w, x, 1));
    return;
  case OP_WHERE:
    if (vec && d != DT_BOOL) sb_printf(o, "tgc_sel_%s(%s, %s, %s)", suffix(d == DT_F16 || d == DT_BF16 ? DT_U16 : d, n, sfx), inside(w, x, 0), inside(w, x, 1), inside(w, x, 2));
    else if (vec) sb_printf(o, "((%s & %s) | (~%s & %s))", arg(w, x, 0), arg(w, x, 1), arg(w, x, 0), arg(w, x, 2));
    else sb_printf(o, "(%s ? %s : %s)", arg(w, x, 0), arg(w, x, 1), arg(w, x, 2));
    return;
  case OP_MULACC:
    if (w->in_order && fl) sb_printf(o, "tgc_fma_%s(%s, %s, %s)", suffix(d, n, sfx), inside(w, x, 0), inside(w, x, 1), inside(w, x, 2));
    else sb_printf(o, "(%s * %s + %s)", arg(w, x, 0), arg(w, x, 1), arg_as(w, x, 2, PRODUCT));
    return;
  case OP_SCALB: sb_printf(o, "tgc_scalb_%s(%s, %s)", suffix(d, n, sfx), inside(w, x, 0), inside(w, x, 1)); return;
  case OP_DOT:
    sb_printf(o, "tgc_%sdot%s%s_%s(%s, %s, %s)", node(ir, x->src[1])->dt == DT_I8 ? "s" : "", fl ? "bf" : "", node(ir, x->src[1])->lanes > node(ir, x->src[2])->lanes / n ? "v" : "", suffix(d, n, sfx), inside(w, x, 0), inside(w, x, 1), inside(w, x, 2));
    return;
  case OP_PART:
    if (vec) sb_printf(o, "*(const %sx%du *)(%s + %s)", dtype_info[d].text, n, arg(w, x, 0), arg_as(w, x, 1, SUM));
    else sb_printf(o, "%s[%s]", arg(w, x, 0), inside(w, x, 1));
    return;
  case OP_DIV:
    if (fl) sb_printf(o, "(%s / %s)", arg(w, x, 0), arg(w, x, 1));
    else sb_printf(o, "tgc_%sdiv_%s(%s, %s)", dtype_info[d].cls == 'u' ? "u" : "", suffix(d, 1, sfx), arg(w, x, 0), arg(w, x, 1));
    return;
  case OP_FLDIV:
  case OP_FLMOD: {
    int64_t c;
    bool div = x->op == OP_FLDIV, plain = node(ir, x->src[0])->vmin >= 0 && node_is_const(ir, x->src[1], &c) && c > 0;
    if (plain) sb_printf(o, "(%s %s %s)", arg(w, x, 0), div ? "/" : "%", arg(w, x, 1));
    else sb_printf(o, "tgc_%s_%s(%s, %s)", dtype_info[d].cls == 'u' ? (div ? "udiv" : "umod") : div ? "fldiv" : "flmod", suffix(d, 1, sfx), arg(w, x, 0), arg(w, x, 1));
    return;
  }
  case OP_MOD:
    if (fl) break;
    sb_printf(o, "tgc_%smod_%s(%s, %s)", dtype_info[d].cls == 'u' ? "u" : "", suffix(d, 1, sfx), arg(w, x, 0), arg(w, x, 1));
    return;
  case OP_SHL: sb_printf(o, "tgc_shl_%s(%s, %s)", suffix(d, n, sfx), inside(w, x, 0), inside(w, x, 1)); return;
  case OP_SHR: sb_printf(o, "tgc_%sshr_%s(%s, %s)", !vec && dtype_info[d].cls == 'u' ? "u" : "", suffix(d, n, sfx), arg(w, x, 0), arg(w, x, 1)); return;
  case OP_ADD: case OP_SUB: case OP_MUL: case OP_AND: case OP_OR: case OP_XOR:
    if (fl || vec || d == DT_BOOL) put_infix(w, o, x);
    else put_int(w, o, x);
    return;
  default: break;
  }
  if (decomp_has((Op)x->op, d)) {
    sb_printf(o, "tgc_%s_%s(%s)", libm[x->op], suffix(d, n, sfx), inside(w, x, 0));
  } else if (vec && (x->op == OP_SQRT || x->op == OP_ROUND || x->op == OP_FLOOR || x->op == OP_CEIL || x->op == OP_TRUNC)) {
    static const char *const name[OP_COUNT] = { [OP_SQRT] = "sqrt", [OP_ROUND] = "round", [OP_FLOOR] = "floor", [OP_CEIL] = "ceil", [OP_TRUNC] = "trunc" };
    sb_printf(o, "tgc_%s_%s(%s)", name[x->op], suffix(d, n, sfx), arg(w, x, 0));
  } else if (libm[x->op] && fl && !vec) {
    sb_printf(o, "%s%s(%s", libm[x->op], d == DT_F32 ? "f" : "", inside(w, x, 0));
    for (int k = 1; k < x->nsrc; k++) sb_printf(o, ", %s", inside(w, x, k));
    sb_puts(o, ")");
  } else
    BUG("the C backend has no text for %s of %s x %d", op_info[x->op].name, dtype_info[d].text, n);
}

/* Lanes of a vector combined: halves first, as ops.h says. */
/* Halves are combined with halves: as vectors down to four lanes, then as scalars. */
static void put_hred(Render *w, const Node *x, uint32_t at, int indent) {
  const Node *v = node(w->ir, x->src[0]);
  const Op op = (Op)x->arg[0];
  const DType d = (DType)x->dt;
  const bool sum = op == OP_ADD || op == OP_MUL;
  char sfx[32], half_sfx[32];
  int lanes = v->lanes;
  sb_printf(w->o, "%*s%s h%u;\n%*s{\n%*sconst ", indent, "", d == DT_BOOL ? "int" : dtype_info[d].ctype, at, indent, "", indent + 2, "");
  put_type(w->o, d, lanes);
  sb_printf(w->o, " w%d = %s;\n", lanes, inside(w, x, 0));
  for (; lanes > 4 && dtype_info[d].bits >= 32; lanes /= 2) {
    suffix(d, lanes, sfx);
    suffix(d, lanes / 2, half_sfx);
    sb_printf(w->o, "%*sconst ", indent + 2, "");
    put_type(w->o, d, lanes / 2);
    if (sum) sb_printf(w->o, " w%d = tgc_lo_%s(w%d) %s tgc_hi_%s(w%d);\n", lanes / 2, sfx, lanes, infix[op], sfx, lanes);
    else sb_printf(w->o, " w%d = tgc_%s_%s(tgc_lo_%s(w%d), tgc_hi_%s(w%d));\n", lanes / 2, op == OP_MAX ? "max" : "min", half_sfx, sfx, lanes, sfx, lanes);
  }
  Sb lane[64];
  memset(lane, 0, sizeof lane);
  for (int i = 0; i < lanes; i++) sb_printf(&lane[i], d == DT_BOOL ? "(w%d[%d] & 1)" : "w%d[%d]", lanes, i);
  for (int half = lanes / 2; half >= 1; half /= 2)
    for (int i = 0; i < half; i++) {
      Sb t = { 0 };
      if (sum) sb_printf(&t, half > 1 ? "(%s %s %s)" : "%s %s %s", lane[i].p, infix[op], lane[i + half].p);
      else sb_printf(&t, "tgc_%s_%s(%s, %s)", op == OP_MAX ? "max" : "min", suffix(d, 1, sfx), lane[i].p, lane[i + half].p);
      sb_free(&lane[i]);
      sb_free(&lane[i + half]);
      lane[i] = t;
    }
  sb_printf(w->o, "%*sh%u = %s;\n%*s}\n", indent + 2, "", at, lane[0].p, indent, "");
  sb_free(&lane[0]);
}

/* ---- tiles ---- */
static void put_upper(Sb *o, const char *s) {
  for (; *s; s++) sb_printf(o, "%c", *s >= 'a' && *s <= 'z' ? *s - 'a' + 'A' : *s);
}

/* A nest that multiplies tiles begins: their shapes. */
static void put_tiles(Render *w, size_t at, int indent) {
  if (!w->ntiles) sb_printf(w->o, "%*sTGC_TILES;\n", indent, "");
  tile_registers(w->ir, w->k->prog.p + at, w->k->prog.n - at, &w->tiles);
  sb_printf(w->o, "%*sstatic const uint8_t c%d[64] = { 1", indent, "", w->ntiles);
  for (int i = 1; i < 64; i++)
    if (w->tiles.config[i]) sb_printf(w->o, ", [%d] = %d", i, w->tiles.config[i]);
  sb_printf(w->o, " };\n%*sTGC_TILE_SHAPES(c%d);\n", indent, "", w->ntiles++);
}

/* What is done to tiles: statements. False: x is something else. */
static bool put_tile(Render *w, size_t at, int indent) {
  const Node *x = node(w->ir, w->k->prog.p[at]);
  const int t = tile_register(&w->tiles, w->k->prog.p[at]);
  switch ((Op)x->op) {
  case OP_TILES: put_tiles(w, at, indent); return true;
  case OP_TILE:
    sb_printf(w->o, "%*sTGC_TILE_LOAD(%d, %s + %s, %lld);\n", indent, "", t, arg(w, x, 0), arg_as(w, x, 1, SUM), (long long)x->arg[1] * dt_bytes((DType)x->dt));
    return true;
  case OP_MMA:
    sb_printf(w->o, "%*sTGC_", indent, "");
    put_upper(w->o, tile_unit(w->ir, x)->name);
    sb_printf(w->o, "(%d, %d, %d);\n", tile_register(&w->tiles, tile_sum(w->ir, x)), tile_register(&w->tiles, x->src[1]), tile_register(&w->tiles, x->src[2]));
    return true;
  case OP_SPILL: {
    const int from = tile_register(&w->tiles, node(w->ir, x->src[0])->src[0]);
    const char *name = w->text[at] = arena_printf(&w->a, "t%zu", at);
    sb_printf(w->o, "%*sTGC_ALIGNED %s %s[%d];\n", indent, "", dtype_info[x->dt].ctype, name, x->lanes);
    sb_printf(w->o, "%*sTGC_TILE_STORE(%d, %s, %d);\n", indent, "", from, name, w->tiles.config[16 + 2 * from]);
    return true;
  }
  case OP_ACC:
    if (t >= 0) sb_printf(w->o, "%*sTGC_TILE_ZERO(%d);\n", indent, "", t);
    return t >= 0;
  case OP_GET: case OP_SET: return tile_register(&w->tiles, x->src[0]) >= 0;
  default: return false;
  }
}

/* ---- one kernel ---- */
/* Variables are numbered by position, loops and accumulators in order of appearance. */
static bool cheap(const Node *x) { return x->op == OP_CONST || x->op == OP_BUFFER || x->op == OP_GET; }

/* Where a loop begins or ends: a constant, or the part of its units that the chunks in hand are. */
static void put_bound(Sb *o, const char *chunk, const char *constant, const Node *range, int chunks) {
  long long units = (long long)range->arg[0];
  if (range->arg[2] != RK_THREAD) sb_puts(o, constant);
  else if (units == 1) sb_printf(o, "%s / %d", chunk, chunks);
  else if (units % chunks) sb_printf(o, "%s * %lld / %d", chunk, units, chunks);
  else sb_printf(o, units == chunks ? "%s" : "%s * %lld", chunk, units / chunks);
}

/* A value is written where it is used when it is used once, in the block that computes it, and
 * nothing with an effect can come between: loads, and what contains them, stay where they are. */
static const char *put_program(const IR *ir, const Kernel *k, const Target *t, Arena *a, Sb *o) { /* the text of the last value */
  const Refs *prog = &k->prog;
  Render w = { .ir = ir, .k = k, .o = o, .in_order = t->in_order, .flushes = t->flushes && t->features & FEAT_AVX512BF16, .a = *a };
  for (w.nslot = 64; w.nslot < prog->n * 2; w.nslot *= 2) {}
  w.slot = xmalloc(w.nslot * sizeof *w.slot);
  memset(w.slot, 0, w.nslot * sizeof *w.slot);
  w.text = xmalloc((prog->n + 1) * sizeof *w.text);
  memset(w.text, 0, (prog->n + 1) * sizeof *w.text);
  w.prec = xmalloc(prog->n + 1);
  memset(w.prec, ATOM, prog->n + 1);
  uint32_t *block = xmalloc((prog->n + 1) * sizeof *block), *uses = xmalloc((prog->n + 1) * sizeof *uses), blocks = 0, depth = 0;
  uint32_t *products = xmalloc((prog->n + 1) * sizeof *products); /* of the uses */
  uint32_t stack[64] = { 0 };
  memset(uses, 0, prog->n * sizeof *uses);
  memset(products, 0, prog->n * sizeof *products);
  bool *elsewhere = xmalloc(prog->n + 1);
  memset(elsewhere, 0, prog->n);
  for (size_t i = 0; i < prog->n; i++) { /* uses, and whether any is in another block */
    const Node *x = node(ir, prog->p[i]);
    if (x->op == OP_END) depth--;
    block[i] = stack[depth];
    for (int s = 0; s < x->nsrc && x->op != OP_LOOP && x->op != OP_END; s++) {
      uint32_t at = *slot_of(&w, x->src[s]);
      CHECK(at);
      uses[at - 1]++;
      products[at - 1] += x->op == OP_MUL || x->op == OP_MULACC;
      elsewhere[at - 1] |= block[at - 1] != block[i];
    }
    if (x->op == OP_LOOP) stack[++depth] = ++blocks;
    *slot_of(&w, prog->p[i]) = (uint32_t)i + 1;
  }
  memset(w.slot, 0, w.nslot * sizeof *w.slot);

  int indent = 2, reducing = 0; /* depth of reduction loops */
  bool vectors = false;         /* the reduction accumulates vectors */
  Sb e = { 0 };
  for (size_t i = 0; i < prog->n; i++) {
    const Node *x = node(ir, prog->p[i]);
    *slot_of(&w, prog->p[i]) = (uint32_t)i + 1;
    e.n = 0;
    if (e.p) e.p[0] = 0;
    if (put_tile(&w, i, indent)) continue;
    switch ((Op)x->op) {
    case OP_RANGE: continue;
    case OP_LOOP: {
      const Node *r = node(ir, x->src[0]);
      const char *name = arena_printf(&w.a, "r%d", w.nloops++);
      w.text[*slot_of(&w, x->src[0]) - 1] = (char *)(uintptr_t)name;
      sb_printf(o, "%*sfor (int64_t %s = ", indent, "", name);
      put_bound(o, "begin", "0", r, k->chunks);
      sb_printf(o, "; %s < ", name);
      put_bound(o, "end", arena_printf(&w.a, "%lld", (long long)r->arg[0]), r, k->chunks);
      sb_printf(o, "; %s++) {\n", name);
      indent += 2;
      reducing += r->arg[2] == RK_REDUCE;
      continue;
    }
    case OP_END: {
      bool reduce = node(ir, x->src[0])->arg[2] == RK_REDUCE, innermost = node(ir, prog->p[i - 1])->op != OP_END;
      if (reduce && vectors && innermost) sb_printf(o, "%*sTGC_FENCE;\n", indent, "");
      indent -= 2;
      sb_printf(o, "%*s}\n", indent, "");
      if (reduce && !--reducing) vectors = false;
      continue;
    }
    case OP_ACC:
      vectors |= x->lanes > 1;
      sb_printf(o, "%*s", indent, "");
      put_type(o, (DType)x->dt, x->lanes);
      sb_printf(o, " a%d = %s;\n", w.naccs, arg(&w, x, 0));
      w.text[i] = arena_printf(&w.a, "a%d", w.naccs++);
      continue;
    case OP_SET: sb_printf(o, "%*s%s = %s;\n", indent, "", arg(&w, x, 0), inside(&w, x, 1)); continue;
    case OP_STORE: {
      const Node *v = node(ir, x->src[2]);
      sb_printf(o, "%*s", indent, "");
      if (x->nsrc == 4) sb_printf(o, "if (%s) ", arg(&w, x, 3));
      put_memory(&w, o, x, v->lanes);
      if (v->lanes > 1 && v->dt == DT_BOOL) sb_printf(o, " = __builtin_convertvector(%s & 1, u8x%d);\n", arg(&w, x, 2), v->lanes);
      else sb_printf(o, " = %s;\n", inside(&w, x, 2));
      continue;
    }
    case OP_PREFETCH:
      sb_printf(o, "%*sTGC_PREFETCH(%s + %s, %d);\n", indent, "", arg(&w, x, 0), arg_as(&w, x, 1, SUM), x->arg[0] ? 3 : 2);
      continue;
    case OP_HRED:
      put_hred(&w, x, (uint32_t)i, indent);
      w.text[i] = arena_printf(&w.a, "h%u", (uint32_t)i);
      continue;
    default: break;
    }
    put_expr(&w, &e, x);
    int prec = unwrap(&e, x);
    bool inlined = cheap(x) || (uses[i] <= 1 && !elsewhere[i] && x->op != OP_LOAD && e.n < 90) || (x->dt == DT_I64 && x->op != OP_LOAD && e.n < 24) ||
                   (x->op == OP_BCAST && node(ir, x->src[0])->op == OP_CONST);
    if (!uses[i] && !cheap(x)) inlined = true; /* not needed after all */
    if (inlined) {
      w.text[i] = arena_str(&w.a, e.p, e.n);
      w.prec[i] = (char)prec;
      continue;
    }
    bool shared = reducing ? uses[i] > 1 : products[i] > 1 && !elsewhere[i]; /* by terms of a loop, or of a sum without one */
    const int bytes = x->lanes * dt_bytes((DType)x->dt);
    bool keep = x->op == OP_LOAD && bytes >= 16 && bytes <= t->vector_bytes && shared; /* a register */
    sb_printf(o, "%*s%s", indent, "", keep ? "" : "const ");
    put_type(o, (DType)x->dt, x->lanes);
    sb_printf(o, " v%zu = %s;%s", i, e.p, keep ? "" : "\n");
    if (keep) sb_printf(o, " TGC_KEEP(v%zu);\n", i);
    w.text[i] = arena_printf(&w.a, "v%zu", i);
  }
  if (w.ntiles) sb_puts(o, "  TGC_TILES_END;\n");
  sb_free(&e);
  const char *last = prog->n ? w.text[prog->n - 1] : NULL;
  *a = w.a;
  free(w.slot);
  free(w.text);
  free(w.prec);
  free(products);
  free(block);
  free(uses);
  free(elsewhere);
  return last;
}

static void c_kernel(const Plan *p, int index, const Target *t, Sb *o) {
  const Kernel *k = &p->kernels.p[index];
  const IR *ir = p->ir;
  Arena a = { 0 };
  sb_printf(o, "TGC_KERNEL void k%d(", index);
  for (size_t i = 0; i < k->bufs.n; i++) {
    bool written = false;
    for (size_t j = 0; j < k->written.n; j++) written |= k->written.p[j] == k->bufs.p[i];
    sb_printf(o, "%s%s%s *%sb%zu", i ? ", " : "", written ? "" : "const ", dtype_info[ir->bufs.p[k->bufs.p[i]].dt].ctype, k->may_alias ? "" : "TGC_RESTRICT ", i);
  }
  if (k->chunks > 1) sb_printf(o, "%sint64_t begin, int64_t end) {\n", k->bufs.n ? ", " : "");
  else sb_puts(o, k->bufs.n ? ") {\n" : "void) {\n");
  for (size_t i = 0; i < k->locals.n; i++) {
    const Buf *b = &ir->bufs.p[k->locals.p[i]];
    sb_printf(o, "  TGC_ALIGNED %s p%zu[%lld];\n", dtype_info[b->dt].ctype, i, (long long)b->elems);
  }
  put_program(ir, k, t, &a, o);
  sb_puts(o, "}\n");
  arena_free(&a);
}

/* ---- the prelude: exactly what the kernels mention ---- */
typedef struct Names { VEC(char *) p; Arena a; } Names;

static bool names_add(Names *n, const char *s, size_t len) {
  for (size_t i = 0; i < n->p.n; i++)
    if (strlen(n->p.p[i]) == len && !memcmp(n->p.p[i], s, len)) return false;
  VEC_PUSH(&n->p, arena_str(&n->a, s, len));
  return true;
}

static bool word(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_'; }

/* "f32x8" or "f32x8u" or "f32": element type, lanes (1 when scalar); false if s is something else */
static bool parse_suffix(const char *s, size_t n, DType *d, int *lanes) {
  size_t at = 0;
  while (at < n && s[at] != 'x') at++;
  *d = dtype_from_text(s, at);
  *lanes = 1;
  if (*d == DT_NONE) return false;
  if (at < n) *lanes = atoi(s + at + 1);
  return *lanes > 0;
}

static void put_template(Sb *o, const char *text, DType d, int lanes) {
  static const char *const floats[] = { [2] = "uint16_t", [4] = "float", [8] = "double" };
  bool special = false; /* between $A and $; */
  char sfx[32];
  int bits = dtype_info[d].bits;
  for (const char *s = text; *s; s++) {
    if (*s != '$') {
      sb_put(o, s, 1);
      continue;
    }
    switch (*++s) {
    case 'T': lanes > 1 ? put_type(o, d, lanes) : sb_puts(o, dtype_info[d].ctype); break;
    case 'H': put_type(o, d, lanes / 2); break;
    case 'S': sb_puts(o, suffix(d, lanes, sfx)); break;
    case 'E': sb_puts(o, dtype_info[d].ctype); break;
    case 'U': sb_printf(o, lanes > 1 ? "u%dx%d" : "uint%d_t", bits, lanes); break;
    case 'I': sb_printf(o, lanes > 1 ? "i%dx%d" : "int%d_t", bits, lanes); break;
    case 'F': sb_puts(o, floats[bits / 8]); break;
    case 'B': sb_printf(o, "%d", bits); break;
    case 'A': {
      const char *wide = strstr(s, "$Z"), *other = strstr(s, "$:");
      if (d == DT_F32 && lanes == 8) sb_puts(o, "#ifdef __AVX__\n");
      else if (d == DT_F32 && lanes == 16 && wide && wide < other) sb_puts(o, "#ifdef __AVX512F__\n"), s = wide + 1, special = true;
      else s = other + 1;
      special |= d == DT_F32 && lanes == 8;
      break;
    }
    case 'Z': s = strstr(s, "$:") + 1; sb_puts(o, "\n#else\n"); break;
    case ':': sb_puts(o, "\n#else\n"); break;
    case ';': sb_puts(o, special ? "\n#endif\n" : "\n"); break;
    case 'N': sb_printf(o, "%d", lanes); break;
    case 'L':
      for (int i = 0; i < lanes; i++) sb_printf(o, i ? ", %d" : "%d", i);
      break;
    case 'P': sb_printf(o, "%d", lanes * 2); break;
    case 'Q': sb_printf(o, "%d", lanes * 4); break;
    case 'M': { /* $M(name): the function of math.h for the element type */
      const char *end = strchr(s, ')');
      sb_put(o, s + 2, (size_t)(end - s - 2));
      if (d == DT_F32) sb_puts(o, "f");
      s = end;
      break;
    }
    default: BUG("template $%c", *s);
    }
  }
}

typedef struct Prelude { Names fns, types; Sb text; IR *ir; const Target *target; } Prelude;

static void want_names(Prelude *p, const char *s);

/* A function of math.h as the arithmetic of decomp.c. */
static void put_function(IR *ir, const Target *t, Op op, DType d, int lanes, Sb *o) {
  int64_t id = PARAMETER;
  char sfx[32];
  Kernel k = { 0 };
  Arena a = { 0 };
  Ref x = node_make(ir, OP_BUFFER, d, lanes, 0, NULL, 1, &id, 0, NULL);
  Ref body = decomp_expr(ir, node_make(ir, op, d, lanes, 1, &x, 0, NULL, 0, NULL), c_backend.supports(t, OP_SCALB, d, d, lanes));
  CHECK(body);
  ir_toposort(ir, &body, 1, &k.prog);
  put_type(o, d, lanes);
  sb_printf(o, " tgc_%s_%s(", libm[op], suffix(d, lanes, sfx));
  put_type(o, d, lanes);
  sb_puts(o, " x) {\n");
  const char *last = put_program(ir, &k, t, &a, o);
  sb_printf(o, "  return %s;\n}", last);
  arena_free(&a);
  VEC_FREE(&k.prog);
}

static void want_function(Prelude *p, const char *s, size_t n) { /* tgc_NAME_SUFFIX */
  const char *name = s + 4, *sep = memchr(name, '_', n - 4);
  DType d;
  int lanes;
  if (!sep || !parse_suffix(sep + 1, (size_t)(s + n - sep - 1), &d, &lanes)) return;
  if (!names_add(&p->fns, s, n)) return;
  Sb out = { 0 };
  size_t len = (size_t)(sep - name);
  if (len == 4 && !memcmp(name, "mask", 4)) {
    bool w32 = dtype_info[d].bits == 32;
    put_template(&out, w32 ? "$I tgc_mask_$S(i32x$N m) { return m; }" : "$I tgc_mask_$S(i32x$N m) { return __builtin_convertvector(m, $I); }", d, lanes);
  }
  for (size_t i = 0; i < sizeof helpers / sizeof *helpers; i++)
    if (strlen(helpers[i].name) == len && !memcmp(helpers[i].name, name, len) && helpers[i].vector == (lanes > 1)) put_template(&out, helpers[i].text, d, lanes);
  for (int op = 1; op < OP_COUNT && !out.n; op++)
    if (decomp_has((Op)op, d) && strlen(libm[op]) == len && !memcmp(libm[op], name, len)) put_function(p->ir, p->target, (Op)op, d, lanes, &out);
  CHECK(out.n);
  want_names(p, out.p); /* what it uses comes first */
  sb_printf(&p->text, "TGC_HELPER %s\n", out.p);
  sb_free(&out);
}

static void want_names(Prelude *p, const char *s) {
  while (*s) {
    if (!word(*s)) {
      s++;
      continue;
    }
    size_t n = 0;
    while (word(s[n])) n++;
    DType d;
    int lanes;
    if (n > 4 && !memcmp(s, "tgc_", 4)) want_function(p, s, n);
    else if (n > 6 && !memcmp(s, "i32x", 4) && memmem(s, n, "_of", 3)) { /* i32x8_of32: a comparison as a mask */
      if (names_add(&p->fns, s, n)) {
        int l = atoi(s + 4), bits = atoi((const char *)memmem(s, n, "_of", 3) + 3);
        char t[32];
        snprintf(t, sizeof t, "i%dx%d", bits, l);
        names_add(&p->types, t, strlen(t));
        snprintf(t, sizeof t, "i32x%d", l);
        names_add(&p->types, t, strlen(t));
        if (bits == 32) sb_printf(&p->text, "TGC_HELPER i32x%d i32x%d_of32(i32x%d m) { return m; }\n", l, l, l);
        else sb_printf(&p->text, "TGC_HELPER i32x%d i32x%d_of%d(i%dx%d m) { return __builtin_convertvector(m, i32x%d); }\n", l, l, bits, bits, l, l);
      }
    } else if (memchr(s, 'x', n) && parse_suffix(s, s[n - 1] == 'u' ? n - 1 : n, &d, &lanes) && lanes > 1)
      names_add(&p->types, s, n);
    s += n;
  }
}

/* Two hints for register allocation; without them gcc 12 spills accumulators and reaches 43 % of the
 * FMA peak of an AVX2 machine on a 3x3 convolution, with them 100 %; clang 14 reaches 100 % with the first.
 * The fence stands inside of the loop: gcc's predictive commoning would carry scalars from step to step on the
 * stack (3 channels, stride 2, AVX-512: 52 GFLOP/s instead of 107). */
static const char fence_text[] = "/* every step of a reduction loads its own operands: none are kept in registers for the next or for what follows */\n"
                                 "#if defined __GNUC__\n#define TGC_FENCE __asm__ volatile(\"\" ::: \"memory\")\n#else\n#define TGC_FENCE ((void)0)\n#endif\n";
static const char keep_text[] = "/* a vector used several times is loaded once */\n"
                                "#if defined __GNUC__ && defined __AVX512F__\n#define TGC_KEEP(v) __asm__(\"\" : \"+v\"(v))\n"
                                "#elif defined __GNUC__ && defined __SSE2__\n#define TGC_KEEP(v) __asm__(\"\" : \"+x\"(v))\n"
                                "#elif defined __GNUC__ && defined __aarch64__\n#define TGC_KEEP(v) __asm__(\"\" : \"+w\"(v))\n"
                                "#else\n#define TGC_KEEP(v) ((void)0)\n#endif\n";

/* Tiles: the shape of each register, set for a nest and given up at the end of the kernel, so that other code is not
 * slowed. Intrinsics do not say that they read and write memory (gcc 12: that it is all 64 bytes of the shapes), so a fence
 * stands around what they do and the shapes are constants. Where a compiler has none, registers are variables. */
static const char tile_text[] =
  "#ifdef TGC_AMX\n"
  "#include <immintrin.h>\n"
  "#define TGC_TILES ((void)0)\n"
  "#define TGC_TILE_SHAPES(c) do { __asm__ volatile(\"\" ::: \"memory\"); _tile_loadconfig(c); } while (0)\n"
  "#define TGC_TILES_END _tile_release()\n"
  "#define TGC_TILE_ZERO(t) _tile_zero(t)\n"
  "#define TGC_TILE_LOAD(t, p, stride) _tile_loadd(t, p, stride)\n"
  "#define TGC_TILE_STORE(t, p, stride) do { _tile_stored(t, p, stride); __asm__ volatile(\"\" ::: \"memory\"); } while (0)\n"
  "#define TGC_TDPBUSD(s, x, y) _tile_dpbusd(s, x, y)\n"
  "#define TGC_TDPBUUD(s, x, y) _tile_dpbuud(s, x, y)\n"
  "#define TGC_TDPBSUD(s, x, y) _tile_dpbsud(s, x, y)\n"
  "#define TGC_TDPBF16PS(s, x, y) _tile_dpbf16ps(s, x, y)\n"
  "#else\n"
  "typedef struct tgc_tile { int rows, bytes; uint8_t row[16][64]; } tgc_tile;\n"
  "#define TGC_TILES tgc_tile tgc_t[8]\n"
  "#define TGC_TILE_SHAPES(c) for (int tgc_i = 0; tgc_i < 8; tgc_i++) tgc_t[tgc_i].bytes = (c)[16 + 2 * tgc_i], tgc_t[tgc_i].rows = (c)[48 + tgc_i]\n"
  "#define TGC_TILES_END ((void)0)\n"
  "#define TGC_TILE_ZERO(t) memset(tgc_t[t].row, 0, sizeof tgc_t[t].row)\n"
  "#define TGC_TILE_LOAD(t, p, stride) for (int tgc_i = 0; tgc_i < tgc_t[t].rows; tgc_i++) memcpy(tgc_t[t].row[tgc_i], (const char *)(p) + tgc_i * (int64_t)(stride), (size_t)tgc_t[t].bytes)\n"
  "#define TGC_TILE_STORE(t, p, stride) for (int tgc_i = 0; tgc_i < tgc_t[t].rows; tgc_i++) memcpy((char *)(p) + tgc_i * (int64_t)(stride), tgc_t[t].row[tgc_i], (size_t)tgc_t[t].bytes)\n"
  "#define TGC_TDPBUSD(s, x, y) tgc_products(tgc_t + s, tgc_t + x, tgc_t + y, 0, 1)\n"
  "#define TGC_TDPBUUD(s, x, y) tgc_products(tgc_t + s, tgc_t + x, tgc_t + y, 0, 0)\n"
  "#define TGC_TDPBSUD(s, x, y) tgc_products(tgc_t + s, tgc_t + x, tgc_t + y, 1, 0)\n"
  "TGC_HELPER void tgc_products(tgc_tile *s, const tgc_tile *x, const tgc_tile *y, int xs, int ys) {\n"
  "  for (int i = 0; i < s->rows; i++)\n"
  "    for (int j = 0; j < s->bytes / 4; j++) {\n"
  "      int32_t sum;\n"
  "      memcpy(&sum, s->row[i] + 4 * j, 4);\n"
  "      for (int k = 0; k < x->bytes; k++) {\n"
  "        const int a = x->row[i][k], b = y->row[k / 4][4 * j + k % 4];\n"
  "        sum += (xs ? (int8_t)a : a) * (ys ? (int8_t)b : b);\n"
  "      }\n"
  "      memcpy(s->row[i] + 4 * j, &sum, 4);\n"
  "    }\n"
  "}\n"
  "#define TGC_TDPBF16PS(s, x, y) tgc_products_bf16(tgc_t + s, tgc_t + x, tgc_t + y)\n"
  "TGC_HELPER float tgc_from_bf16(const uint8_t *p) {\n"
  "  const uint32_t u = (uint32_t)(p[0] | p[1] << 8) << 16;\n"
  "  float f;\n"
  "  memcpy(&f, &u, 4);\n"
  "  return f;\n"
  "}\n"
  "TGC_HELPER void tgc_products_bf16(tgc_tile *s, const tgc_tile *x, const tgc_tile *y) {\n"
  "  for (int i = 0; i < s->rows; i++)\n"
  "    for (int j = 0; j < s->bytes / 4; j++) {\n"
  "      float sum, part[2] = { 0, 0 };\n"
  "      memcpy(&sum, s->row[i] + 4 * j, 4);\n"
  "      for (int k = 0; k < x->bytes / 2; k++) part[k % 2] += tgc_from_bf16(x->row[i] + 2 * k) * tgc_from_bf16(y->row[k / 2] + 4 * j + k % 2 * 2);\n"
  "      sum += part[0] + part[1];\n"
  "      memcpy(s->row[i] + 4 * j, &sum, 4);\n"
  "    }\n"
  "}\n"
  "#endif\n";

static const char prefetch_text[] = "/* what will be loaded: level 3 is the nearest cache */\n"
                                    "#if defined __GNUC__\n#define TGC_PREFETCH(p, level) __builtin_prefetch(p, 0, level)\n"
                                    "#else\n#define TGC_PREFETCH(p, level) ((void)0)\n#endif\n";

static const char pick_text[] = "/* lanes of two vectors */\n"
                                "#if defined __clang__ || (defined __GNUC__ && __GNUC__ >= 12)\n#define TGC_PICKS\n#define TGC_PICK(m, a, b, ...) __builtin_shufflevector(a, b, __VA_ARGS__)\n"
                                "#else\n#define TGC_PICK(m, a, b, ...) __builtin_shuffle(a, b, (m){ __VA_ARGS__ })\n#endif\n";

static const char order_text[] = "/* operands are loaded where they are used: gcc for aarch64 gathers all loads first, and accumulators spill */\n"
                                 "#if defined __aarch64__ && defined __GNUC__ && !defined __clang__\n#pragma GCC optimize(\"no-schedule-insns\")\n#endif\n";

static void c_prelude(const Plan *p, const Target *t, Sb *o) {
  Prelude pre;
  Sb all = { 0 };
  memset(&pre, 0, sizeof pre);
  pre.ir = p->ir;
  pre.target = t;
  for (size_t k = 0; k < p->kernels.n; k++)
    if (p->kernels.p[k].code == (int)k) sb_puts(&all, p->kernels.p[k].text);
  if (all.p) want_names(&pre, all.p);
  if (pre.text.p) want_names(&pre, pre.text.p); /* types that only helpers mention */
  sb_puts(o, "#include <math.h>\n#include <stdint.h>\n#include <string.h>\n");
  if (pre.text.p && (strstr(pre.text.p, "_mm256_") || strstr(pre.text.p, "_mm512_"))) sb_puts(o, "#if defined __AVX__ || defined __SSE2__\n#include <immintrin.h>\n#endif\n");
  if (pre.text.p && strstr(pre.text.p, "__ARM_FEATURE")) sb_puts(o, "#ifdef __ARM_NEON\n#include <arm_neon.h>\n#endif\n");
  sb_puts(o, "\n#if defined __cplusplus\n#define TGC_RESTRICT\n#else\n#define TGC_RESTRICT restrict\n#endif\n");
  /* a helper may be used in one branch of another's conditionals only, which clang takes for unused; a
   * kernel inlined into the run loses its registers to its neighbours */
  sb_puts(o, "#if defined __GNUC__\n#define TGC_HELPER static inline __attribute__((unused))\n#define TGC_KERNEL static __attribute__((noinline))\n"
              "#else\n#define TGC_HELPER static inline\n#define TGC_KERNEL static\n#endif\n");
  if (all.p && strstr(all.p, "TGC_FENCE")) sb_puts(o, order_text);
  if (all.p && strstr(all.p, "TGC_KEEP")) sb_puts(o, keep_text);
  if (all.p && strstr(all.p, "TGC_FENCE")) sb_puts(o, fence_text);
  if (all.p && strstr(all.p, "TGC_PREFETCH")) sb_puts(o, prefetch_text);
  if ((all.p && strstr(all.p, "TGC_PICK(")) || (pre.text.p && strstr(pre.text.p, "TGC_PICKS"))) sb_puts(o, pick_text);
  if (all.p && strstr(all.p, "TGC_ALIGNED"))
    sb_puts(o, "#if defined __GNUC__\n#define TGC_ALIGNED __attribute__((aligned(64)))\n#else\n#define TGC_ALIGNED\n#endif\n");
  if (all.p && strstr(all.p, "TGC_TILES")) {
    sb_puts(o, "#if (defined __AMX_TILE__ || defined __AMXTILE__)"); /* as gcc and newer clang, and as older clang */
    if (strstr(all.p, "TGC_TDPBU") || strstr(all.p, "TGC_TDPBS")) sb_puts(o, " && (defined __AMX_INT8__ || defined __AMXINT8__)");
    if (strstr(all.p, "TGC_TDPBF16")) sb_puts(o, " && (defined __AMX_BF16__ || defined __AMXBF16__)");
    sb_puts(o, "\n#define TGC_AMX\n#endif\n");
    sb_puts(o, tile_text);
  }
  bool wide = false; /* vectors of more than one register */
  for (size_t i = 0; i < pre.types.p.n; i++) {
    const char *s = pre.types.p.p[i];
    size_t n = strlen(s);
    bool unaligned = s[n - 1] == 'u';
    DType d;
    int lanes;
    parse_suffix(s, unaligned ? n - 1 : n, &d, &lanes);
    if (d == DT_BOOL) d = DT_U8;
    wide |= lanes * dt_bytes(d) > t->vector_bytes;
    sb_printf(o, "typedef %s %s __attribute__((vector_size(%d)%s));\n", dtype_info[d].ctype, s, lanes * dt_bytes(d),
              unaligned ? "" : "");
    if (unaligned) {
      o->n -= 4; /* reopen the attribute list */
      sb_printf(o, ", aligned(%d), may_alias));\n", dt_bytes(d));
    }
  }
  if (wide) sb_puts(o, "#if defined __GNUC__ /* how they are passed matters to no one else: helpers are static */\n#pragma GCC diagnostic ignored \"-Wpsabi\"\n#endif\n");
  if (pre.types.p.n) sb_puts(o, "\n");
  if (pre.text.p) sb_printf(o, "%s\n", pre.text.p);
  VEC_FREE(&pre.fns.p);
  VEC_FREE(&pre.types.p);
  arena_free(&pre.fns.a);
  arena_free(&pre.types.a);
  sb_free(&pre.text);
  sb_free(&all);
}

/* ---- what has a vector form ---- */
static bool c_supports(const Target *t, Op op, DType d, DType from, int lanes) {
  const bool dot = (d == DT_I32 && (from == DT_U8 || from == DT_I8)) || (d == DT_F32 && from == DT_BF16);
  if (op == OP_SCALB) return target_scales(t, from, lanes);
  if (lanes == 1) return op != OP_DOT || dot;
  bool f = from == DT_F32 || from == DT_F64, i = from == DT_I32 || from == DT_U32 || from == DT_I64 || from == DT_U64, b = from == DT_BOOL;
  switch (op) {
  case OP_ADD: case OP_SUB: case OP_NEG: return f || i;
  case OP_MAX: case OP_MIN: return f || dt_int(from) || b;
  case OP_MUL: case OP_CMPLT: case OP_CMPLE: case OP_CMPEQ: case OP_CMPNE: return f || i || b;
  case OP_DOT: return dot;
  case OP_DIV: case OP_RECIP: case OP_SQRT: case OP_MULACC: case OP_ABS: return f;
  case OP_AND: case OP_OR: case OP_XOR: case OP_NOT: return i || b;
  case OP_WHERE: return true;
  case OP_ROUND: case OP_FLOOR: case OP_CEIL: case OP_TRUNC: return from == DT_F32;
  case OP_BITCAST: return from == DT_F32 || from == DT_I32 || from == DT_U32;
  case OP_SHL: case OP_SHR: return from == DT_I32 || from == DT_U32;
  case OP_CAST:
    if (from == DT_F16 || d == DT_F16) return from == DT_F32 || d == DT_F32;
    if (from == DT_BF16 || d == DT_BF16) return from == DT_F32 || d == DT_F32;
    return !(dt_float(from) && dt_int(d)) || (from == DT_F32 && d == DT_I32);
  default: return decomp_has(op, from);
  }
}

const Backend c_backend = { .name = "c", .gloss = "C99 with GNU vector types, or plain C99", .model = "net.c.in", .comment = { "/* ", " */" }, .supports = c_supports, .kernel = c_kernel, .prelude = c_prelude };

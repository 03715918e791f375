/* SPDX-License-Identifier: MIT */
/* llvm_vectors.c: prints ops that combine or move lanes as LLVM IR: dot products, sums of lanes, shuffles. */
#include "llvm_render.h"

/* ---- dot products: an intrinsic for each feature and number of lanes ---- */
typedef struct DotText {
  Arch arch;
  uint32_t needs;
  DType x;                 /* type of the elements of x, which multiply signed ones of the same width */
  int lanes;
  bool words;              /* it multiplies pairs of i16: bytes are converted first */
  const char *intrinsic;
} DotText;
/* clang-format off */
static const DotText dot_text[] = {
  { ARCH_X86_64,  FEAT_AVX512VNNI, DT_U8, 16, false, "llvm.x86.avx512.vpdpbusd.512" },
  { ARCH_X86_64,  FEAT_AVX512VNNI, DT_U8, 8,  false, "llvm.x86.avx512.vpdpbusd.256" },
  { ARCH_X86_64,  FEAT_AVX512VNNI, DT_U8, 4,  false, "llvm.x86.avx512.vpdpbusd.128" },
  { ARCH_X86_64,  FEAT_AVXVNNI,    DT_U8, 8,  false, "llvm.x86.avx512.vpdpbusd.256" },
  { ARCH_X86_64,  FEAT_AVXVNNI,    DT_U8, 4,  false, "llvm.x86.avx512.vpdpbusd.128" },
  { ARCH_X86_64,  FEAT_AVX512,     DT_U8, 16, true,  "llvm.x86.avx512.pmaddw.d.512" },
  { ARCH_X86_64,  FEAT_AVX2,       DT_U8, 8,  true,  "llvm.x86.avx2.pmadd.wd" },
  { ARCH_X86_64,  0,               DT_U8, 4,  true,  "llvm.x86.sse2.pmadd.wd" },
  { ARCH_X86_64,  FEAT_AVX512VNNI, DT_I16, 16, false, "llvm.x86.avx512.vpdpwssd.512" },
  { ARCH_X86_64,  FEAT_AVX512VNNI, DT_I16, 8,  false, "llvm.x86.avx512.vpdpwssd.256" },
  { ARCH_X86_64,  FEAT_AVX512VNNI, DT_I16, 4,  false, "llvm.x86.avx512.vpdpwssd.128" },
  { ARCH_X86_64,  FEAT_AVXVNNI,    DT_I16, 8,  false, "llvm.x86.avx512.vpdpwssd.256" },
  { ARCH_X86_64,  FEAT_AVXVNNI,    DT_I16, 4,  false, "llvm.x86.avx512.vpdpwssd.128" },
  { ARCH_X86_64,  FEAT_AVX512,     DT_I16, 16, true,  "llvm.x86.avx512.pmaddw.d.512" },
  { ARCH_X86_64,  FEAT_AVX2,       DT_I16, 8,  true,  "llvm.x86.avx2.pmadd.wd" },
  { ARCH_X86_64,  0,               DT_I16, 4,  true,  "llvm.x86.sse2.pmadd.wd" },
  { ARCH_AARCH64, FEAT_I8MM,       DT_U8, 4,  false, "llvm.aarch64.neon.usdot.v4i32.v16i8" },
  { ARCH_AARCH64, FEAT_DOTPROD,    DT_I8, 4,  false, "llvm.aarch64.neon.sdot.v4i32.v16i8" },
  { ARCH_ARM,     FEAT_MVE,        DT_I8, 1,  true,  "llvm.arm.smlad" }, /* or that of put_dot_vector */
  { ARCH_ARM,     FEAT_DSP,        DT_U8, 1,  true,  "llvm.arm.smlad" },
};
/* clang-format on */

static const DotText *dot_of(const Target *t, DType x, int lanes) { /* NULL: none; two lanes use the first of four */
  if (lanes == 2) lanes = 4;
  for (size_t i = 0; i < sizeof dot_text / sizeof *dot_text; i++)
    if (dot_text[i].arch == t->arch && dot_text[i].x == x && dot_text[i].lanes == lanes && !(dot_text[i].needs & ~t->features))
      return &dot_text[i];
  return NULL;
}

bool llvm_has_dot(const Target *t, DType x, int lanes) { return dot_of(t, x, lanes) != NULL; }

/* n lanes of a vector from `first` on; lanes behind its end are undefined. */
static const char *put_slice(Render *w, Text t, int lanes, int first, int n, const char *a) {
  Sb list = { 0 };
  for (int i = first; i < first + n; i++) sb_printf(&list, i < lanes ? "%si32 %d" : "%si32 poison", i > first ? ", " : "", i);
  a = llvm_emit(w, "shufflevector %s %s, %s poison, <%d x i32> <%s>", t.s, a, t.s, n, list.p);
  sb_free(&list);
  return a;
}

/* A vector of `to` lanes: the first ones, or all with undefined ones behind */
static const char *put_lanes(Render *w, const char *element, int from, int to, const char *a) {
  return from == to ? a : put_slice(w, llvm_type(element, from), from, 0, to, a);
}

static int dot_group(const DotText *d) { return 4 / dt_bytes(d->x); }

/* Calls the intrinsic for n lanes; a and b: vectors of as many words */
static const char *put_dot_call(Render *w, const DotText *d, const char *sum, const char *a, const char *b) {
  const int n = d->lanes;
  const Text t = llvm_type("i32", n), words = llvm_type("i16", 2 * n), bytes = llvm_type(llvm_scalar[d->x], dot_group(d) * n);
  if (d->words && d->x == DT_I16)
    return llvm_emit(w, "add %s %s, %s", t.s, sum, llvm_call(w, d->intrinsic, t, words, 2, (const char *[]){ a, b }));
  if (!d->words) {
    const Text operand = w->t->arch == ARCH_X86_64 ? t : bytes; /* LLVM's x86 intrinsics take four bytes as an i32 */
    if (w->t->arch == ARCH_X86_64)
      a = llvm_emit(w, "bitcast %s %s to %s", bytes.s, a, t.s), b = llvm_emit(w, "bitcast %s %s to %s", bytes.s, b, t.s);
    return llvm_emit(w, "call %s @%s(%s %s, %s %s, %s %s)", t.s, d->intrinsic, t.s, sum, operand.s, a, operand.s, b);
  }
  a = llvm_emit(w, "bitcast %s %s to %s", bytes.s, a, words.s);
  b = llvm_emit(w, "bitcast %s %s to %s", bytes.s, b, words.s);
  const char *even[2] = { llvm_emit(w, "and %s %s, splat (i16 255)", words.s, a),
                          llvm_emit(w, "shl %s %s, splat (i16 8)", words.s, b) };
  even[1] = llvm_emit(w, "ashr %s %s, splat (i16 8)", words.s, even[1]);
  const char *odd[2] = { llvm_emit(w, "lshr %s %s, splat (i16 8)", words.s, a),
                         llvm_emit(w, "ashr %s %s, splat (i16 8)", words.s, b) };
  sum = llvm_emit(w, "add %s %s, %s", t.s, sum, llvm_call(w, d->intrinsic, t, words, 2, even));
  return llvm_emit(w, "add %s %s, %s", t.s, sum, llvm_call(w, d->intrinsic, t, words, 2, odd));
}

/* Adds the products of a vector of signed bytes. */
static const char *put_dot_vector(Render *w, const Node *x) {
  return llvm_emit(w, "call i32 @llvm.arm.mve.vmldava.v16i8(i32 0, i32 0, i32 0, i32 %s, <16 x i8> %s, <16 x i8> %s)",
                   value(w, dot_sum(x)), value(w, dot_x(x)), value(w, dot_y(x)));
}

/* Adds the products of four bytes in a register: of bytes 0 and 2, widened to halves, then of bytes 1 and 3. */
static const char *put_dot_halves(Render *w, const Node *x, const DotText *d) {
  const char *word[2], *sum = value(w, dot_sum(x));
  for (int k = 0; k < 2; k++) word[k] = llvm_emit(w, "bitcast <4 x i8> %s to i32", value(w, x->src[1 + k]));
  for (int odd = 0; odd < 2; odd++) {
    const char *half[2];
    for (int k = 0; k < 2; k++) {
      const char *from = odd ? llvm_emit(w, "call i32 @llvm.fshr.i32(i32 %s, i32 %s, i32 8)", word[k], word[k]) : word[k];
      half[k] = llvm_emit(w, "call i32 @llvm.arm.%cxtb16(i32 %s)", k || d->x == DT_I8 ? 's' : 'u', from);
    }
    sum = llvm_emit(w, "call i32 @%s(i32 %s, i32 %s, i32 %s)", d->intrinsic, half[0], half[1], sum);
  }
  return sum;
}

/* sum + the products of four bytes, the second one signed. x has four bytes for all lanes, or for each lane */
const char *llvm_dot(Render *w, const Node *x) {
  const DotText *d = dot_of(w->t, (DType)node(w->ir, dot_x(x))->dt, x->lanes);
  CHECK(d);
  if (node(w->ir, dot_y(x))->lanes / x->lanes > 4) return put_dot_vector(w, x);
  if (d->lanes == 1) return put_dot_halves(w, x, d);
  const int n = d->lanes, group = dot_group(d);
  const char *element = llvm_scalar[d->x];
  const char *sum = put_lanes(w, "i32", x->lanes, n, value(w, dot_sum(x))), *a = value(w, dot_x(x));
  const char *b = put_lanes(w, element, group * x->lanes, group * n, value(w, dot_y(x)));
  if (node(w->ir, dot_x(x))->lanes < group * x->lanes) {
    const Text t = llvm_type("i32", n);
    const char *word = llvm_emit(w, "bitcast %s %s to i32", llvm_type(element, group).s, a);
    const char *one = llvm_emit(w, "insertelement %s poison, i32 %s, i64 0", t.s, word);
    const char *all = llvm_emit(w, "shufflevector %s %s, %s poison, <%d x i32> zeroinitializer", t.s, one, t.s, n);
    a = llvm_emit(w, "bitcast %s %s to %s", t.s, all, llvm_type(element, group * n).s);
  } else a = put_lanes(w, element, group * x->lanes, group * n, a);
  return put_lanes(w, "i32", n, x->lanes, put_dot_call(w, d, sum, a, b));
}

/* Combines the lanes of a vector, by halves first, as ops.h defines. */
const char *llvm_hred(Render *w, Op op, DType d, int lanes, const char *a) {
  const Text element = llvm_value(d, 1);
  while (lanes > 2) {
    const Text whole = llvm_value(d, lanes);
    const char *half[2];
    CHECK(lanes % 2 == 0);
    lanes /= 2;
    for (int h = 0; h < 2; h++) half[h] = put_slice(w, whole, 2 * lanes, h * lanes, lanes, a);
    a = llvm_apply(w, op, d, lanes, "", 2, half);
  }
  const char *lane[2];
  for (int i = 0; i < lanes; i++) lane[i] = llvm_emit(w, "extractelement <%d x %s> %s, i64 %d", lanes, element.s, a, i);
  return lanes == 1 ? lane[0] : llvm_apply(w, op, d, 1, "", 2, lane);
}

const char *llvm_vec(Render *w, const Node *x) {
  const Text t = llvm_value((DType)x->dt, x->lanes), e = llvm_value((DType)x->dt, 1);
  const char *v = "poison";
  for (int i = 0; i < x->lanes; i++) v = llvm_emit(w, "insertelement %s %s, %s %s, i64 %d", t.s, v, e.s, value(w, x->src[i]), i);
  return v;
}

const char *llvm_shuffle(Render *w, const Node *x) {
  const Text t = llvm_value((DType)x->dt, node(w->ir, lhs(x))->lanes);
  Sb lanes = { 0 };
  for (int i = 0; i < x->lanes; i++) sb_printf(&lanes, "%si32 %lld", i ? ", " : "", (long long)shuffle_lanes(x, i));
  const char *v = llvm_emit(w, "shufflevector %s %s, %s %s, <%d x i32> <%s>", t.s, value(w, lhs(x)), t.s, value(w, rhs(x)),
                            x->lanes, lanes.p);
  sb_free(&lanes);
  return v;
}

const char *llvm_bcast(Render *w, const Node *x) {
  const Text t = llvm_value((DType)x->dt, x->lanes), e = llvm_value((DType)x->dt, 1);
  const char *a = value(w, operand(x));
  if (node(w->ir, operand(x))->op == OP_CONST) return arena_printf(&w->a, "splat (%s %s)", e.s, a);
  const char *v = llvm_emit(w, "insertelement %s poison, %s %s, i64 0", t.s, e.s, a);
  return llvm_emit(w, "shufflevector %s %s, %s poison, <%d x i32> zeroinitializer", t.s, v, t.s, x->lanes);
}

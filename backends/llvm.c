/* SPDX-License-Identifier: MIT */
/* llvm.c: prints programs as LLVM IR, in its text form. An elementwise op is a cell of a table: an instruction, an intrinsic, a
 * helper (llvm_prelude.c) or a function of libm. Operations that LLVM leaves undefined, such as a division by zero, go through
 * helpers, so that results are those of the interpreter. Accumulators are stack slots, which LLVM turns into registers. Writing
 * text needs no LLVM; llvm_build.c makes objects of it. */
#include "llvm.h"
#include "parts.h"
#include "../compiler/ir/refmap.h"
#include "../compiler/lower/lower.h"
#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

/* ---- a table of ops, by class of the operand ---- */
/* A cell is an instruction, or "@" an intrinsic of LLVM, "!" a helper, "=" the operand itself. "#" is the libm function that
 * ops.h names, for floats without another cell. */
typedef struct OpText { const char *f, *i, *u, *b; } OpText;
/* clang-format off */
static const OpText op_text[OP_COUNT] = {
  /*               float        signed      unsigned    bool */
  [OP_ADD]    = { "fadd",      "add",      "add",      NULL },
  [OP_SUB]    = { "fsub",      "sub",      "sub",      NULL },
  [OP_MUL]    = { "fmul",      "mul",      "mul",      "and" },
  [OP_DIV]    = { "fdiv",      "!div",     "!udiv",    NULL },
  [OP_MOD]    = { NULL,        "!mod",     "!umod",    NULL },
  [OP_FLDIV]  = { NULL,        "!fldiv",   "!udiv",    NULL },
  [OP_FLMOD]  = { NULL,        "!flmod",   "!umod",    NULL },
  [OP_MAX]    = { "@maximum",  "@smax",    "@umax",    "or" },
  [OP_MIN]    = { "@minimum",  "@smin",    "@umin",    "and" },
  [OP_CMPLT]  = { "fcmp olt",  "icmp slt", "icmp ult", "icmp ult" },
  [OP_CMPLE]  = { "fcmp ole",  "icmp sle", "icmp ule", "icmp ule" },
  [OP_CMPEQ]  = { "fcmp oeq",  "icmp eq",  "icmp eq",  "icmp eq" },
  [OP_CMPNE]  = { "fcmp une",  "icmp ne",  "icmp ne",  "icmp ne" },
  [OP_AND]    = { NULL,        "and",      "and",      "and" },
  [OP_OR]     = { NULL,        "or",       "or",       "or" },
  [OP_XOR]    = { NULL,        "xor",      "xor",      "xor" },
  [OP_SHL]    = { NULL,        "!shl",     "!shl",     NULL },
  [OP_SHR]    = { NULL,        "!shr",     "!ushr",    NULL },
  [OP_NEG]    = { "fneg",      "!neg",     "!neg",     NULL },
  [OP_ABS]    = { "@fabs",     "!abs",     "=",        NULL },
  [OP_NOT]    = { NULL,        "!not",     "!not",     "!not" },
  [OP_RECIP]  = { "!recip",    NULL,       NULL,       NULL },
  [OP_SQRT]   = { "@sqrt",     NULL,       NULL,       NULL },
  [OP_TRUNC]  = { "@trunc",    "=",        "=",        NULL },
  [OP_FLOOR]  = { "@floor",    "=",        "=",        NULL },
  [OP_CEIL]   = { "@ceil",     "=",        "=",        NULL },
  [OP_ROUND]  = { "@rint",     "=",        "=",        NULL }, /* ties to even */
  [OP_MULACC] = { "@fmuladd",  "!muladd",  "!muladd",  NULL },
};
/* clang-format on */

const char *llvm_libm(Op op) { return op_text[op].f ? NULL : op_info[op].libm; }

static const char *cell(Op op, DType operand) {
  const OpText *t = &op_text[op];
  switch (dtype_info[operand].cls) {
  case 'f': return t->f || !op_info[op].libm ? t->f : "#";
  case 'i': return t->i;
  case 'u': return t->u;
  default: return t->b;
  }
}

/* ---- types ---- */
const char *const llvm_scalar[DT_COUNT] = {
  [DT_BOOL] = "i1", [DT_I8] = "i8",   [DT_U8] = "i8",   [DT_I16] = "i16", [DT_U16] = "i16",  [DT_I32] = "i32",   [DT_U32] = "i32",
  [DT_I64] = "i64", [DT_U64] = "i64", [DT_F16] = "i16", [DT_BF16] = "i16", [DT_F32] = "float", [DT_F64] = "double",
};

Text llvm_type(const char *element, int lanes) {
  Text t;
  snprintf(t.s, sizeof t.s, lanes == 1 ? "%.0d%s" : "<%d x %s>", lanes == 1 ? 0 : lanes, element);
  return t;
}
Text llvm_value(DType d, int lanes) { return llvm_type(llvm_scalar[d], lanes); }
static const char *memory_type(DType d) { return d == DT_BOOL ? "i8" : llvm_scalar[d]; }

Text llvm_suffix(DType d, int lanes) {
  Text t;
  int n = lanes == 1 ? 0 : snprintf(t.s, sizeof t.s, "v%d", lanes);
  snprintf(t.s + n, sizeof t.s - (size_t)n, "%c%d", d == DT_F32 || d == DT_F64 ? 'f' : 'i',
           d == DT_BOOL ? 1 : dtype_info[d].bits);
  return t;
}

/* ---- one function ---- */
typedef struct Base { Ref buffer, index; const char *text; } Base; /* address of a buffer's element */

typedef struct Render {
  const IR *ir;
  const Kernel *k;
  const Target *t;
  Sb *o, slots;              /* the body; stack slots of accumulators, which precede it */
  RefMap at;                 /* node to the index of its text + 1 */
  VEC(const char *) text;    /* the text of a value: "%v12", "0x3FF0000000000000" */
  VEC(const char *) ends;    /* labels behind the open loops */
  VEC(Base) bases;           /* addresses that are known here, those of inner blocks last */
  VEC(size_t) outside;       /* for each open block that may be skipped: number of bases before it */
  RefMap wanted;             /* indices that have uses other than addresses */
  const char *block;         /* label of the current block */
  int values, blocks, accs;  /* numbers of names so far */
  TileSet tiles;             /* tiles of the current nest; .n 0: none so far */
  Arena a;
} Render;

static void name_value(Render *w, Ref r, const char *text) {
  VEC_PUSH(&w->text, text);
  refmap_set(&w->at, r, (uint32_t)w->text.n);
}
static const char *value(Render *w, Ref r) {
  uint32_t at = refmap_get(&w->at, r);
  CHECK(at);
  return w->text.p[at - 1];
}

/* Prints an instruction with a result; -> its name. */
static const char *emit(Render *w, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static const char *emit(Render *w, const char *fmt, ...) {
  const char *name = arena_printf(&w->a, "%%v%d", w->values++);
  char line[1024];
  va_list ap;
  va_start(ap, fmt);
  int n = vsnprintf(line, sizeof line, fmt, ap);
  va_end(ap);
  CHECK(n > 0 && n < (int)sizeof line);
  sb_printf(w->o, "  %s = %s\n", name, line);
  return name;
}

static void open_block(Render *w, const char *label) {
  sb_printf(w->o, "%s:\n", label);
  w->block = label;
}

/* Around code that may be skipped. */
static void begin_scope(Render *w) { VEC_PUSH(&w->outside, w->bases.n); }
static void end_scope(Render *w) { w->bases.n = w->outside.p[--w->outside.n]; }

/* ---- constants ---- */
static const char *constant(Render *w, DType d, int64_t bits) {
  uint64_t u = (uint64_t)bits;
  if (d == DT_BOOL) return bits ? "true" : "false";
  if (d == DT_F32) { /* floats are written as doubles of the same value */
    double v = bits_to_double(d, bits);
    /* a conversion would make a signalling NaN quiet */
    if (isnan(v)) u = (u & 0x80000000) << 32 | 0x7ffull << 52 | (u & 0x7fffff) << 29;
    else memcpy(&u, &v, sizeof u);
  }
  if (d == DT_F32 || d == DT_F64) return arena_printf(&w->a, "0x%016llX", (unsigned long long)u);
  return arena_printf(&w->a, "%lld", (long long)bits);
}

/* ---- elementwise ops ---- */
static const char *call(Render *w, const char *function, Text result, Text type, int n, const char *const *arg) {
  char list[256];
  size_t at = 0;
  for (int i = 0; i < n; i++) at += (size_t)snprintf(list + at, sizeof list - at, "%s%s %s", i ? ", " : "", type.s, arg[i]);
  CHECK(at < sizeof list);
  return emit(w, "call %s @%s(%s)", result.s, function, list);
}

/* Halves are moved as integers. */
static const char *apply_half(Render *w, Op op, int lanes, int n, const char *const *arg) {
  const Text i = llvm_type("i16", lanes), h = llvm_type("half", lanes);
  const char *x[3] = { NULL }, *r;
  char function[40];
  for (int k = 0; k < n; k++) x[k] = emit(w, "bitcast %s %s to %s", i.s, arg[k], h.s);
  snprintf(function, sizeof function, "llvm.fma.v%df16", lanes);
  if (op == OP_MULACC) r = call(w, function, h, h, n, x);
  else r = emit(w, "%s %s %s, %s", op == OP_MUL ? "fmul" : "fadd", h.s, x[0], x[1]);
  return emit(w, "bitcast %s %s to %s", h.s, r, i.s);
}

/* Applies op to operands of type d. flags: those of the instruction, or "" */
static const char *apply(Render *w, Op op, DType d, int lanes, const char *flags, int n, const char *const *arg) {
  if (d == DT_F16 && (op == OP_MUL || op == OP_ADD || op == OP_MULACC)) return apply_half(w, op, lanes, n, arg);
  const char *t = op == OP_MULACC && w->t->in_order && dt_float(d) ? "@fma" : cell(op, d), *kind = t ? strchr("@!#=", *t) : NULL;
  const Text type = llvm_value(d, lanes), sfx = llvm_suffix(d, lanes);
  char function[64];
  /* LLVM 19 fails on these intrinsics for machines without doubles in hardware */
  if (w->t->arch == ARCH_ARM && d == DT_F64 && (op == OP_MAX || op == OP_MIN)) t = kind = op == OP_MAX ? "!maximum" : "!minimum";
  if (!t || (*t == '#' && lanes > 1))
    BUG("the LLVM backend has no text for %s of %s x %d", op_info[op].name, dtype_info[d].text, lanes);
  if (!kind)
    return n == 1 ? emit(w, "%s%s %s %s", t, flags, type.s, arg[0]) : emit(w, "%s%s %s %s, %s", t, flags, type.s, arg[0], arg[1]);
  if (*t == '=') return arg[0];
  if (*t == '#') snprintf(function, sizeof function, "%s%s", llvm_libm(op), d == DT_F32 ? "f" : "");
  else snprintf(function, sizeof function, "%s.%s.%s", *t == '@' ? "llvm" : "tgc", t + 1, sfx.s);
  return call(w, function, type, type, n, arg);
}

static bool bounded(const Node *x) { return x->vmin != INT64_MIN && x->vmax != INT64_MAX; }

static const char *flags_of(const Render *w, const Node *x) {
  bool sum = x->op == OP_ADD || x->op == OP_SUB || x->op == OP_MUL;
  if (!sum) return "";
  if (dt_float((DType)x->dt)) return w->t->fma && !w->t->in_order ? " contract" : "";
  bool exact = x->dt == DT_I64 && bounded(x) && bounded(node(w->ir, lhs(x))) && bounded(node(w->ir, rhs(x)));
  exact |= x->dt == DT_I32 && target_counts_in_32(w->t) && node_is_exact(w->ir, x); /* among them are indices */
  return exact ? " nsw" : "";
}

static const char *put_half(Render *w, DType from, DType to, int lanes, const char *a) {
  const Text f = llvm_type("float", lanes), h = llvm_type("half", lanes), i = llvm_type("i16", lanes);
  const Text sfx = llvm_suffix(DT_F32, lanes);
  const bool widens = to == DT_F32, native = w->t->f16_convert && (from == DT_F16 || to == DT_F16);
  const bool rounds = to == DT_BF16 && target_rounds(w->t, lanes);
  CHECK(widens || from == DT_F32); /* legalize.c goes through f32 */
  if (native && widens) return emit(w, "fpext %s %s to %s", h.s, emit(w, "bitcast %s %s to %s", i.s, a, h.s), f.s);
  if (native) return emit(w, "bitcast %s %s to %s", h.s, emit(w, "fptrunc %s %s to %s", f.s, a, h.s), i.s);
  if (rounds) return emit(w, "bitcast <16 x bfloat> %s to %s", emit(w, "fptrunc %s %s to <16 x bfloat>", f.s, a), i.s);
  char function[40];
  snprintf(function, sizeof function, "tgc.%s_%s.%s", widens ? "from" : "to", dtype_info[widens ? from : to].text, sfx.s);
  return call(w, function, widens ? f : i, widens ? i : f, 1, &a);
}

/* Calls the instruction of x86 that converts floats to i32, and rounds them or drops their fractions. It makes the least integer
 * of NaN, and of what is out of range. NULL: there is no such instruction for so many lanes. */
static const char *put_to_i32(Render *w, int lanes, bool rounds, const char *a) {
  const uint32_t f = w->t->features;
  if (w->t->arch != ARCH_X86_64) return NULL;
  if (lanes == 16 && f & FEAT_AVX512) /* 4: the current direction; 8: to the nearest */
    return emit(w, "call <16 x i32> @llvm.x86.avx512.mask.cvt%sps2dq.512(<16 x float> %s, <16 x i32> zeroinitializer, i16 -1, "
                   "i32 %d)", rounds ? "" : "t", a, rounds ? 8 : 4);
  if (lanes == 8 && f & FEAT_AVX2)
    return emit(w, "call <8 x i32> @llvm.x86.avx.cvt%s.ps2dq.256(<8 x float> %s)", rounds ? "" : "t", a);
  return lanes == 4 ? emit(w, "call <4 x i32> @llvm.x86.sse2.cvt%sps2dq(<4 x float> %s)", rounds ? "" : "t", a) : NULL;
}

/* Saturates; NaN gives 0. LLVM's intrinsic for it becomes code for each lane on x86. NULL: the intrinsic suffices. */
static const char *put_saturated(Render *w, int lanes, bool fits, const char *a) {
  const Text f = llvm_type("float", lanes), t = llvm_type("i32", lanes), b = llvm_type("i1", lanes);
  const char *n = put_to_i32(w, lanes, false, a);
  if (!n) return NULL;
  if (!fits) {
    const char *over = emit(w, "fcmp oge %s %s, splat (float 0x41E0000000000000)", f.s, a);
    n = emit(w, "select %s %s, %s splat (i32 2147483647), %s %s", b.s, over, t.s, t.s, n);
  }
  const char *number = emit(w, "fcmp ord %s %s, zeroinitializer", f.s, a);
  return emit(w, "select %s %s, %s %s, %s zeroinitializer", b.s, number, t.s, n, t.s);
}

static const char *put_cast(Render *w, DType from, DType to, int lanes, const char *a) {
  const Text tf = llvm_value(from, lanes), tt = llvm_value(to, lanes), sf = llvm_suffix(from, lanes), st = llvm_suffix(to, lanes);
  const int bf = dtype_info[from].bits, bt = dtype_info[to].bits;
  const bool is_signed = dtype_info[from].cls == 'i', wide = from == DT_F32 || from == DT_F64;
  const char *zero = lanes > 1 ? "zeroinitializer" : wide ? "0.0" : "0";
  if (from == to) return a;
  if ((dt_float(from) && bf == 16) || (dt_float(to) && bt == 16)) return put_half(w, from, to, lanes, a);
  if (to == DT_BOOL) return emit(w, "%s %s %s, %s", wide ? "fcmp une" : "icmp ne", tf.s, a, zero);
  if (dt_float(from) && dt_float(to)) return emit(w, "%s %s %s to %s", bf < bt ? "fpext" : "fptrunc", tf.s, a, tt.s);
  if (dt_float(from)) { /* saturates; NaN gives 0 */
    char function[64];
    snprintf(function, sizeof function, "llvm.fpto%ci.sat.%s.%s", dtype_info[to].cls == 'i' ? 's' : 'u', st.s, sf.s);
    return call(w, function, tt, tf, 1, &a);
  }
  if (dt_float(to)) return emit(w, "%s %s %s to %s", is_signed ? "sitofp" : "uitofp", tf.s, a, tt.s);
  if (from != DT_BOOL && bf == bt) return a;
  const char *op = from != DT_BOOL && bf > bt ? "trunc" : is_signed ? "sext" : "zext";
  return emit(w, "%s %s %s to %s", op, tf.s, a, tt.s);
}

/* The nearest integer of the float a, within the bounds of the type `to`; see target_rounds_to_int. */
static const char *put_rounded(Render *w, DType to, const char *a) {
  const int bits = dtype_info[to].bits - (dtype_info[to].cls == 'i');
  const char *n = emit(w, "bitcast float %s to i32", emit(w, "call float @llvm.arm.vcvtr.f32(float %s)", a));
  if (to == DT_I32) return n;
  n = emit(w, "call i32 @llvm.smax.i32(i32 %s, i32 %d)", n, dtype_info[to].cls == 'i' ? -(1 << bits) : 0);
  n = emit(w, "call i32 @llvm.smin.i32(i32 %s, i32 %d)", n, (1 << bits) - 1);
  return emit(w, "trunc i32 %s to %s", n, llvm_scalar[to]);
}

/* Casts of vectors of floats to integers for which LLVM makes slow code; NULL: another cast. a: the operand */
static const char *put_vector_cast(Render *w, const Node *x, const char *a) {
  const Node *rounded = packed_rounding(w->ir, w->t, x);
  const char *n = rounded ? put_to_i32(w, x->lanes, true, value(w, operand(rounded))) : NULL;
  if (n) return put_cast(w, DT_I32, (DType)x->dt, x->lanes, n); /* the least integer, of NaN, becomes 0 */
  if (x->lanes == 1 || x->dt != DT_I32 || node(w->ir, operand(x))->dt != DT_F32) return NULL;
  return put_saturated(w, x->lanes, fits_i32(w->ir, node(w->ir, operand(x))), a);
}

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

/* n lanes of a vector from `first` on; lanes behind its end are undefined. */
static const char *put_slice(Render *w, Text t, int lanes, int first, int n, const char *a) {
  Sb list = { 0 };
  for (int i = first; i < first + n; i++) sb_printf(&list, i < lanes ? "%si32 %d" : "%si32 poison", i > first ? ", " : "", i);
  a = emit(w, "shufflevector %s %s, %s poison, <%d x i32> <%s>", t.s, a, t.s, n, list.p);
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
    return emit(w, "add %s %s, %s", t.s, sum, call(w, d->intrinsic, t, words, 2, (const char *[]){ a, b }));
  if (!d->words) {
    const Text operand = w->t->arch == ARCH_X86_64 ? t : bytes; /* LLVM's x86 intrinsics take four bytes as an i32 */
    if (w->t->arch == ARCH_X86_64)
      a = emit(w, "bitcast %s %s to %s", bytes.s, a, t.s), b = emit(w, "bitcast %s %s to %s", bytes.s, b, t.s);
    return emit(w, "call %s @%s(%s %s, %s %s, %s %s)", t.s, d->intrinsic, t.s, sum, operand.s, a, operand.s, b);
  }
  a = emit(w, "bitcast %s %s to %s", bytes.s, a, words.s);
  b = emit(w, "bitcast %s %s to %s", bytes.s, b, words.s);
  const char *even[2] = { emit(w, "and %s %s, splat (i16 255)", words.s, a), emit(w, "shl %s %s, splat (i16 8)", words.s, b) };
  even[1] = emit(w, "ashr %s %s, splat (i16 8)", words.s, even[1]);
  const char *odd[2] = { emit(w, "lshr %s %s, splat (i16 8)", words.s, a), emit(w, "ashr %s %s, splat (i16 8)", words.s, b) };
  sum = emit(w, "add %s %s, %s", t.s, sum, call(w, d->intrinsic, t, words, 2, even));
  return emit(w, "add %s %s, %s", t.s, sum, call(w, d->intrinsic, t, words, 2, odd));
}

/* Adds the products of a vector of signed bytes. */
static const char *put_dot_vector(Render *w, const Node *x) {
  return emit(w, "call i32 @llvm.arm.mve.vmldava.v16i8(i32 0, i32 0, i32 0, i32 %s, <16 x i8> %s, <16 x i8> %s)",
              value(w, dot_sum(x)), value(w, dot_x(x)), value(w, dot_y(x)));
}

/* Adds the products of four bytes in a register: of bytes 0 and 2, widened to halves, then of bytes 1 and 3. */
static const char *put_dot_halves(Render *w, const Node *x, const DotText *d) {
  const char *word[2], *sum = value(w, dot_sum(x));
  for (int k = 0; k < 2; k++) word[k] = emit(w, "bitcast <4 x i8> %s to i32", value(w, x->src[1 + k]));
  for (int odd = 0; odd < 2; odd++) {
    const char *half[2];
    for (int k = 0; k < 2; k++) {
      const char *from = odd ? emit(w, "call i32 @llvm.fshr.i32(i32 %s, i32 %s, i32 8)", word[k], word[k]) : word[k];
      half[k] = emit(w, "call i32 @llvm.arm.%cxtb16(i32 %s)", k || d->x == DT_I8 ? 's' : 'u', from);
    }
    sum = emit(w, "call i32 @%s(i32 %s, i32 %s, i32 %s)", d->intrinsic, half[0], half[1], sum);
  }
  return sum;
}

/* sum + the products of four bytes, the second one signed. x has four bytes for all lanes, or for each lane */
static const char *put_dot(Render *w, const Node *x) {
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
    const char *word = emit(w, "bitcast %s %s to i32", llvm_type(element, group).s, a);
    const char *one = emit(w, "insertelement %s poison, i32 %s, i64 0", t.s, word);
    const char *all = emit(w, "shufflevector %s %s, %s poison, <%d x i32> zeroinitializer", t.s, one, t.s, n);
    a = emit(w, "bitcast %s %s to %s", t.s, all, llvm_type(element, group * n).s);
  } else a = put_lanes(w, element, group * x->lanes, group * n, a);
  return put_lanes(w, "i32", n, x->lanes, put_dot_call(w, d, sum, a, b));
}

/* Combines the lanes of a vector, by halves first, as ops.h defines. */
static const char *put_hred(Render *w, Op op, DType d, int lanes, const char *a) {
  const Text element = llvm_value(d, 1);
  while (lanes > 2) {
    const Text whole = llvm_value(d, lanes);
    const char *half[2];
    CHECK(lanes % 2 == 0);
    lanes /= 2;
    for (int h = 0; h < 2; h++) half[h] = put_slice(w, whole, 2 * lanes, h * lanes, lanes, a);
    a = apply(w, op, d, lanes, "", 2, half);
  }
  const char *lane[2];
  for (int i = 0; i < lanes; i++) lane[i] = emit(w, "extractelement <%d x %s> %s, i64 %d", lanes, element.s, a, i);
  return lanes == 1 ? lane[0] : apply(w, op, d, 1, "", 2, lane);
}

static const char *put_vec(Render *w, const Node *x) {
  const Text t = llvm_value((DType)x->dt, x->lanes), e = llvm_value((DType)x->dt, 1);
  const char *v = "poison";
  for (int i = 0; i < x->lanes; i++) v = emit(w, "insertelement %s %s, %s %s, i64 %d", t.s, v, e.s, value(w, x->src[i]), i);
  return v;
}

static const char *put_shuffle(Render *w, const Node *x) {
  const Text t = llvm_value((DType)x->dt, node(w->ir, lhs(x))->lanes);
  Sb lanes = { 0 };
  for (int i = 0; i < x->lanes; i++) sb_printf(&lanes, "%si32 %lld", i ? ", " : "", (long long)shuffle_lanes(x, i));
  const char *v = emit(w, "shufflevector %s %s, %s %s, <%d x i32> <%s>", t.s, value(w, lhs(x)), t.s, value(w, rhs(x)), x->lanes,
                       lanes.p);
  sb_free(&lanes);
  return v;
}

static const char *put_bcast(Render *w, const Node *x) {
  const Text t = llvm_value((DType)x->dt, x->lanes), e = llvm_value((DType)x->dt, 1);
  const char *a = value(w, operand(x));
  if (node(w->ir, operand(x))->op == OP_CONST) return arena_printf(&w->a, "splat (%s %s)", e.s, a);
  const char *v = emit(w, "insertelement %s poison, %s %s, i64 0", t.s, e.s, a);
  return emit(w, "shufflevector %s %s, %s poison, <%d x i32> zeroinitializer", t.s, v, t.s, x->lanes);
}

/* ---- memory ---- */

/* Elements of a buffer at known distances share a base, so LLVM has one address to keep and not one for each. */
static bool is_offset(const IR *ir, Ref index, int64_t *by) {
  const Node *x = node(ir, index);
  return x->op == OP_ADD && (x->dt == DT_I64 || x->dt == DT_I32) && x->lanes == 1 && node_is_const(ir, rhs(x), by);
}

static bool is_address(const Node *x, int k) { return k == 1 && is_access(x); }

static void find_wanted(Render *w) {
  int64_t by;
  for (size_t i = 0; i < w->k->prog.n; i++) {
    const Node *x = node(w->ir, w->k->prog.p[i]);
    for (int k = 0; k < x->nsrc; k++)
      if (!is_address(x, k) && is_offset(w->ir, x->src[k], &by)) refmap_set(&w->wanted, x->src[k], 1);
  }
}

/* not inbounds: only base and offset together need lie in the buffer */
static const char *put_base(Render *w, Ref buffer, Ref index, const char *type) {
  for (size_t i = w->bases.n; i-- > 0;)
    if (w->bases.p[i].buffer == buffer && w->bases.p[i].index == index) return w->bases.p[i].text;
  const char *of = llvm_scalar[node(w->ir, index)->dt];
  const char *p = emit(w, "getelementptr %s, ptr %s, %s %s", type, value(w, buffer), of, value(w, index));
  VEC_PUSH(&w->bases, ((Base){ buffer, index, p }));
  return p;
}

static const char *put_address(Render *w, const Node *x) {
  const char *type = memory_type((DType)node(w->ir, access_buffer(x))->dt);
  const Ref index = access_index(x);
  int64_t by;
  CHECK(node(w->ir, index)->lanes == 1);
  if (!is_offset(w->ir, index, &by)) return put_base(w, access_buffer(x), index, type);
  return emit(w, "getelementptr %s, ptr %s, i64 %lld", type, put_base(w, access_buffer(x), lhs(node(w->ir, index)), type),
              (long long)by);
}

static const char *put_access(Render *w, const Node *x) { /* the load itself; bools become masks */
  const DType d = (DType)x->dt;
  const Text t = llvm_type(memory_type(d), x->lanes);
  const char *v = emit(w, "load %s, ptr %s, align %d", t.s, put_address(w, x), dt_bytes(d));
  return d == DT_BOOL ? emit(w, "icmp ne %s %s, %s", t.s, v, x->lanes > 1 ? "zeroinitializer" : "0") : v;
}

/* The code that follows runs if the gate holds; close_gate ends it. */
static const char *open_gate(Render *w, const char *gate, int n) {
  const char *then = arena_printf(&w->a, "then%d", n);
  sb_printf(w->o, "  br i1 %s, label %%%s, label %%join%d\n", gate, then, n);
  open_block(w, then);
  begin_scope(w);
  return then;
}
static void close_gate(Render *w, int n) {
  end_scope(w);
  sb_printf(w->o, "  br label %%join%d\n", n);
  open_block(w, arena_printf(&w->a, "join%d", n));
}

static const char *put_load(Render *w, const Node *x) {
  if (!load_gate(x)) return put_access(w, x);
  CHECK(node(w->ir, load_gate(x))->lanes == 1);
  const int n = w->blocks++;
  const char *gate = value(w, load_gate(x)), *otherwise = value(w, load_else(x)), *before = w->block,
             *then = open_gate(w, gate, n);
  const char *v = put_access(w, x);
  close_gate(w, n);
  return emit(w, "phi %s [ %s, %%%s ], [ %s, %%%s ]", llvm_value((DType)x->dt, x->lanes).s, v, then, otherwise, before);
}

static void put_store(Render *w, const Node *x) {
  const Node *v = node(w->ir, store_value(x));
  const DType d = (DType)v->dt;
  const int n = store_gate(x) ? w->blocks++ : 0;
  const Text t = llvm_type(memory_type(d), v->lanes);
  if (store_gate(x)) open_gate(w, value(w, store_gate(x)), n);
  const char *a = value(w, store_value(x));
  if (d == DT_BOOL) a = emit(w, "zext %s %s to %s", llvm_value(d, v->lanes).s, a, t.s);
  const char *p = put_address(w, x);
  sb_printf(w->o, "  store %s %s, ptr %s, align %d\n", t.s, a, p, dt_bytes(d));
  if (store_gate(x)) close_gate(w, n);
}

static const char *put_acc(Render *w, const Node *x) {
  const Text t = llvm_value((DType)x->dt, x->lanes);
  const char *slot = arena_printf(&w->a, "%%a%d", w->accs++);
  sb_printf(&w->slots, "  %s = alloca %s\n", slot, t.s);
  sb_printf(w->o, "  store %s %s, ptr %s\n", t.s, value(w, acc_init(x)), slot);
  return slot;
}

/* ---- tiles: registers of x86's matrix unit, by number ---- */
static const char *stack_slot(Render *w, const char *name, Text t) {
  sb_printf(&w->slots, "  %s = alloca %s, align 64\n", name, t.s);
  return name;
}

/* Begins a nest that multiplies tiles, with the shapes of the tiles. */
static void put_tiles(Render *w, size_t at) {
  const char *slot = stack_slot(w, arena_printf(&w->a, "%%a%d", w->accs++), llvm_type("i8", 64));
  tile_registers(w->ir, w->k->prog.p + at, w->k->prog.n - at, &w->tiles);
  sb_puts(w->o, "  store <64 x i8> <");
  for (int i = 0; i < 64; i++) sb_printf(w->o, "%si8 %d", i ? ", " : "", w->tiles.config[i]);
  sb_printf(w->o, ">, ptr %s, align 64\n  call void @llvm.x86.ldtilecfg(ptr %s)\n", slot, slot);
}

static const char *put_spill(Render *w, const Node *x) {
  const int t = tile_register(&w->tiles, get_acc(node(w->ir, operand(x))));
  const char *slot = stack_slot(w, arena_printf(&w->a, "%%a%d", w->accs++), llvm_value((DType)x->dt, x->lanes));
  sb_printf(w->o, "  call void @llvm.x86.tilestored64(i8 %d, ptr %s, i64 %d)\n", t, slot, w->tiles.config[16 + 2 * t]);
  return slot;
}

static const char *put_part(Render *w, const Node *x) {
  const char *p = emit(w, "getelementptr inbounds %s, ptr %s, %s %s", llvm_scalar[x->dt], value(w, part_tile(x)),
                       llvm_scalar[node(w->ir, part_index(x))->dt], value(w, part_index(x)));
  return emit(w, "load %s, ptr %s, align %d", llvm_value((DType)x->dt, x->lanes).s, p, dt_bytes((DType)x->dt));
}

/* Prints a tile op. False: x is no tile op. */
static bool put_tile(Render *w, Ref r) {
  const Node *x = node(w->ir, r);
  const int t = tile_register(&w->tiles, r);
  switch ((Op)x->op) {
  case OP_TILE: {
    const char *p = put_address(w, x);
    sb_printf(w->o, "  call void @llvm.x86.tileloadd64(i8 %d, ptr %s, i64 %lld)\n", t, p,
              (long long)tile_stride(x) * dt_bytes((DType)x->dt));
    return true;
  }
  case OP_MMA:
    sb_printf(w->o, "  call void @llvm.x86.%s(i8 %d, i8 %d, i8 %d)\n", tile_isa_op(w->ir, x)->name,
              tile_register(&w->tiles, tile_sum(w->ir, x)), tile_register(&w->tiles, mma_x(x)),
              tile_register(&w->tiles, mma_y(x)));
    return true;
  case OP_ACC:
    if (t >= 0) sb_printf(w->o, "  call void @llvm.x86.tilezero(i8 %d)\n", t);
    return t >= 0;
  case OP_GET: case OP_SET: return tile_register(&w->tiles, variable_of(x)) >= 0;
  default: return false;
  }
}

/* ---- loops: tested at their end, because most extents are known ---- */
/* A size of the run, as d */
static const char *put_size(Render *w, int64_t number, DType d) {
  const char *at = emit(w, "getelementptr inbounds i64, ptr %%n, i64 %lld", (long long)number);
  const char *size = emit(w, "load i64, ptr %s, align 8", at);
  return d == DT_I64 ? size : emit(w, "trunc i64 %s to %s", size, llvm_scalar[d]);
}

/* Where the current chunks begin or end among the units of a shared range; limit: how many of them a run has, NULL: all */
static const char *put_bound(Render *w, const char *chunk, const Node *range, const char *limit) {
  const long long units = (long long)range_extent(range);
  const int chunks = w->k->chunks;
  const char *type = llvm_scalar[range->dt];
  if (range->dt != target_count(w->t)) chunk = emit(w, "sext %s %s to %s", llvm_scalar[target_count(w->t)], chunk, type);
  if (limit) return emit(w, "sdiv %s %s, %d", type, emit(w, "mul nsw %s %s, %s", type, chunk, limit), chunks);
  if (units == chunks) return chunk;
  if (units % chunks == 0) return emit(w, "mul nsw %s %s, %lld", type, chunk, units / chunks);
  return emit(w, "sdiv %s %s, %d", type, emit(w, "mul nsw %s %s, %lld", type, chunk, units), chunks);
}

static void put_loop(Render *w, const Node *loop, int n) {
  const Ref range = loop_range(loop);
  const Node *r = node(w->ir, range);
  const char *type = llvm_scalar[r->dt];
  const char *name = arena_printf(&w->a, "%%r%d", n), *label = arena_printf(&w->a, "loop%d", n), *first = "0", *any = NULL;
  const char *limit = range_limit(r) ? put_size(w, range_limit(r) - 1, (DType)r->dt) : NULL;
  const char *end = limit ? limit : arena_printf(&w->a, "%lld", (long long)range_extent(r));
  if (range_kind(r) == RK_THREAD) {
    first = put_bound(w, "%begin", r, limit);
    end = put_bound(w, "%end", r, limit);
  } else if (range_extent(r) < 1) any = "false";
  if (limit || range_kind(r) == RK_THREAD) any = emit(w, "icmp slt %s %s, %s", type, first, end);
  if (loop_gate(loop)) any = any ? emit(w, "and i1 %s, %s", any, value(w, loop_gate(loop))) : value(w, loop_gate(loop));
  if (any) sb_printf(w->o, "  br i1 %s, label %%%s, label %%exit%d\n", any, label, n);
  else sb_printf(w->o, "  br label %%%s\n", label);
  const char *before = w->block;
  open_block(w, label);
  sb_printf(w->o, "  %s = phi %s [ %s, %%%s ]", name, type, first, before);
  if (!range_runs_once(w->ir, r)) sb_printf(w->o, ", [ %s.next, %%next%d ]", name, n);
  sb_puts(w->o, "\n");
  name_value(w, range, name);
  VEC_PUSH(&w->ends, end);
  begin_scope(w);
}

static void put_end(Render *w, Ref range) {
  const char *name = value(w, range), *n = name + 2; /* the number in "%r7" */
  const char *type = llvm_scalar[node(w->ir, range)->dt];
  const char *last = w->ends.p[--w->ends.n];
  end_scope(w);
  if (range_runs_once(w->ir, node(w->ir, range))) sb_printf(w->o, "  br label %%exit%s\n", n);
  else {
    sb_printf(w->o, "  br label %%next%s\nnext%s:\n", n, n);
    sb_printf(w->o, "  %s.next = add nuw nsw %s %s, 1\n", name, type, name);
    sb_printf(w->o, "  %s.more = icmp slt %s %s.next, %s\n", name, type, name, last);
    sb_printf(w->o, "  br i1 %s.more, label %%loop%s, label %%exit%s\n", name, n, n);
  }
  open_block(w, arena_printf(&w->a, "exit%s", n));
}

/* Whether a constant float is neither NaN nor zero: the sign of zero would matter. */
static bool is_bound(const IR *ir, Ref r) {
  const Node *x = node(ir, r);
  if (x->op == OP_BCAST) x = node(ir, operand(x));
  if (x->op != OP_CONST || !dt_float((DType)x->dt)) return false;
  double v = bits_to_double((DType)x->dt, const_value(x));
  return v < 0 || v > 0;
}

/* ---- one micro-op: the text of its value, or NULL ---- */
static const char *put_expr(Render *w, const Node *x) {
  const IR *ir = w->ir;
  const DType d = (DType)x->dt, d0 = (DType)node(ir, x->src[0])->dt;
  const Text t = llvm_value(d, x->lanes), t0 = llvm_value(d0, x->lanes);
  const char *arg[3], *text;
  CHECK(x->nsrc <= 3);
  for (int k = 0; k < x->nsrc; k++) arg[k] = value(w, x->src[k]);
  int64_t c;
  switch ((Op)x->op) {
  case OP_CAST: /* LLVM removes the rounding if nothing else uses it */
    if (x->lanes == 1 && node(ir, operand(x))->op == OP_ROUND && target_rounds_to_int(w->t, d0, d))
      return put_rounded(w, d, value(w, operand(node(ir, operand(x)))));
    if ((text = put_vector_cast(w, x, arg[0]))) return text;
    return put_cast(w, d0, d, x->lanes, arg[0]);
  case OP_BITCAST: return strcmp(t0.s, t.s) ? emit(w, "bitcast %s %s to %s", t0.s, arg[0], t.s) : arg[0];
  case OP_WHERE: return emit(w, "select %s %s, %s %s, %s %s", t0.s, arg[0], t.s, arg[1], t.s, arg[2]);
  case OP_FLDIV:
  case OP_FLMOD: /* non-negative values by a positive constant */
    if (x->lanes == 1 && node(ir, lhs(x))->vmin >= 0 && node_is_const(ir, rhs(x), &c) && c > 0)
      return emit(w, "%s %s %s, %s", x->op == OP_FLDIV ? "udiv" : "urem", t.s, arg[0], arg[1]);
    break;
  case OP_MAX:
  case OP_MIN: /* with a constant: a NaN in x stays, which is one instruction of x86 */
    if (!is_bound(ir, rhs(x))) break;
    return emit(w, "select %s %s, %s %s, %s %s", llvm_value(DT_BOOL, x->lanes).s,
                emit(w, "fcmp %s %s %s, %s", x->op == OP_MAX ? "olt" : "ogt", t.s, arg[0], arg[1]), t.s, arg[1], t.s, arg[0]);
  default: break;
  }
  return apply(w, (Op)x->op, d0, x->lanes, flags_of(w, x), x->nsrc, arg);
}

static void put_prefetch(Render *w, const Node *x) { /* not inbounds: the address may be behind the buffer */
  const Ref buffer = prefetch_buffer(x);
  const char *p = emit(w, "getelementptr %s, ptr %s, %s %s", memory_type((DType)node(w->ir, buffer)->dt), value(w, buffer),
                       llvm_scalar[node(w->ir, prefetch_index(x))->dt], value(w, prefetch_index(x)));
  sb_printf(w->o, "  call void @llvm.prefetch.p0(ptr %s, i32 0, i32 %d, i32 1)\n", p, prefetch_near(x) ? 3 : 2);
}

static const char *put_value(Render *w, Ref r, int *loops) {
  const Node *x = node(w->ir, r);
  const DType d = (DType)x->dt;
  const Text t = llvm_value(d, x->lanes);
  if (put_tile(w, r)) return NULL;
  switch ((Op)x->op) {
  case OP_SPILL: return put_spill(w, x);
  case OP_PART: return put_part(w, x);
  case OP_CONST: return constant(w, d, const_value(x));
  case OP_RANGE: return NULL;
  case OP_SIZE: return put_size(w, size_id(x), d);
  case OP_BUFFER:
    for (size_t i = 0; i < w->k->bufs.n; i++)
      if (w->k->bufs.p[i] == buffer_id(x)) return arena_printf(&w->a, "%%b%zu", i);
    for (size_t i = 0; i < w->k->locals.n; i++)
      if (w->k->locals.p[i] == buffer_id(x)) return arena_printf(&w->a, "%%panel%zu", i);
    BUG("a buffer that the kernel does not name");
  case OP_LOOP: put_loop(w, x, (*loops)++); return NULL;
  case OP_END: put_end(w, end_range(x)); return NULL;
  case OP_LOAD: return put_load(w, x);
  case OP_STORE: put_store(w, x); return NULL;
  case OP_PREFETCH: put_prefetch(w, x); return NULL;
  case OP_ACC: return put_acc(w, x);
  case OP_GET: return emit(w, "load %s, ptr %s", t.s, value(w, get_acc(x)));
  case OP_SET: {
    const Node *v = node(w->ir, set_value(x));
    sb_printf(w->o, "  store %s %s, ptr %s\n", llvm_value((DType)v->dt, v->lanes).s, value(w, set_value(x)),
              value(w, set_acc(x)));
    return NULL;
  }
  case OP_DOT: return put_dot(w, x);
  case OP_SCALB:
    return emit(w, "call %s @llvm.x86.avx512.mask.scalef.ps.512(%s %s, %s %s, %s zeroinitializer, i16 -1, i32 4)", t.s, t.s,
                value(w, lhs(x)), t.s, value(w, rhs(x)), t.s);
  case OP_LOOKUP:
    return emit(w, "call %s @llvm.x86.avx512.permvar.sf.512(%s %s, %s %s)", t.s, t.s, value(w, lookup_table(x)),
                llvm_value(DT_U32, x->lanes).s, value(w, lookup_index(x)));
  case OP_BCAST: return put_bcast(w, x);
  case OP_VEC: return put_vec(w, x);
  case OP_LANE:
    return emit(w, "extractelement %s %s, i64 %lld", llvm_value(d, node(w->ir, operand(x))->lanes).s, value(w, operand(x)),
                (long long)lane_lane(x));
  case OP_SHUFFLE: return put_shuffle(w, x);
  case OP_HRED: return put_hred(w, hred_op(x), d, node(w->ir, operand(x))->lanes, value(w, operand(x)));
  default: return put_expr(w, x);
  }
}

/* Alignment of a buffer in each iteration. Buffers with memory of their own begin at multiples of 64 bytes; slices lie in it. */
static int64_t alignment(const Buf *b) {
  int64_t align = b->kind == BUF_ARENA || b->kind == BUF_WEIGHT ? 64 : dt_bytes(b->dt);
  while (b->of && ((b->at * dt_bytes(b->dt)) % align || (b->step * dt_bytes(b->dt)) % align)) align /= 2;
  return align;
}

static void put_parameters(const Plan *p, const Kernel *k, const Target *t, Sb *o) {
  const char *count = llvm_scalar[target_count(t)];
  for (size_t i = 0; i < k->bufs.n; i++) {
    const Buf *b = &p->ir->bufs.p[k->bufs.p[i]];
    bool written = false;
    for (size_t j = 0; j < k->written.n; j++) written |= k->written.p[j] == k->bufs.p[i];
    sb_printf(o, "%sptr %snocapture %salign %lld %%b%zu", i ? ", " : "", k->may_alias ? "" : "noalias ", written ? "" : "readonly ",
              (long long)alignment(b), i);
  }
  const bool sized = kernel_sized(p->ir, k);
  if (sized) sb_printf(o, "%sptr noalias nocapture readonly align 8 %%n", k->bufs.n ? ", " : "");
  if (k->chunks > 1) sb_printf(o, "%s%s %%begin, %s %%end", k->bufs.n || sized ? ", " : "", count, count);
}

static void llvm_kernel(const Plan *p, int index, const Target *t, Sb *o) {
  const Kernel *k = &p->kernels.p[index];
  Sb body = { 0 };
  Render w = { .ir = p->ir, .k = k, .t = t, .o = &body, .block = "entry" };
  int loops = 0;
  for (size_t i = 0; i < k->locals.n; i++) {
    const Buf *b = &p->ir->bufs.p[k->locals.p[i]];
    sb_printf(&w.slots, "  %%panel%zu = alloca [%lld x i8], align 64\n", i, (long long)b->elems * dt_bytes(b->dt));
  }
  find_wanted(&w);
  for (size_t i = 0; i < k->prog.n; i++) {
    int64_t by;
    if (is_offset(p->ir, k->prog.p[i], &by) && !refmap_get(&w.wanted, k->prog.p[i])) continue;
    if (node(p->ir, k->prog.p[i])->op == OP_TILES) {
      put_tiles(&w, i);
      continue;
    }
    const char *text = put_value(&w, k->prog.p[i], &loops);
    if (text) name_value(&w, k->prog.p[i], text);
  }
  if (w.tiles.n) sb_puts(&body, "  call void @llvm.x86.tilerelease()\n"); /* tiles in use slow down other code */
  sb_printf(o, "define internal void @k%d(", index);
  put_parameters(p, k, t, o);
  sb_printf(o, ") #0 {\nentry:\n%s%s  ret void\n}\n", w.slots.p ? w.slots.p : "", body.p ? body.p : "");
  sb_free(&body);
  sb_free(&w.slots);
  refmap_free(&w.at);
  refmap_free(&w.wanted);
  VEC_FREE(&w.text);
  VEC_FREE(&w.ends);
  VEC_FREE(&w.bases);
  VEC_FREE(&w.outside);
  arena_free(&w.a);
}

/* ---- a module with all of them ---- */
/* A function cN that calls kernel N for all of its chunks, those of a group one by one */
static void put_entry(const IR *ir, const Kernel *k, size_t index, const Target *t, Sb *o) {
  const size_t pointers = k->bufs.n + kernel_sized(ir, k); /* the last one is that of the sizes */
  const char *count = llvm_scalar[target_count(t)], *comma = pointers ? ", " : "";
  const bool by_chunk = k->chunks > 1 && k->chunks_per_task;
  sb_printf(o, "define void @c%zu(ptr %%buffers) #3 {\nentry:\n", index);
  for (size_t i = 0; i < pointers; i++)
    sb_printf(o, "  %%at%zu = getelementptr ptr, ptr %%buffers, i32 %zu\n  %%b%zu = load ptr, ptr %%at%zu\n", i, i, i, i);
  if (by_chunk)
    sb_printf(o, "  br label %%loop\nloop:\n  %%i = phi %s [ 0, %%entry ], [ %%next, %%loop ]\n  %%next = add %s %%i, 1\n", count,
              count);
  sb_printf(o, "  call void @k%zu(", index);
  for (size_t i = 0; i < pointers; i++) sb_printf(o, "%sptr %%b%zu", i ? ", " : "", i);
  if (by_chunk) sb_printf(o, "%s%s %%i, %s %%next", comma, count, count);
  else if (k->chunks > 1) sb_printf(o, "%s%s 0, %s %d", comma, count, count, k->chunks);
  sb_puts(o, ")\n");
  if (by_chunk)
    sb_printf(o, "  %%more = icmp slt %s %%next, %d\n  br i1 %%more, label %%loop, label %%exit\nexit:\n", count, k->chunks);
  sb_puts(o, "  ret void\n}\n");
}

void llvm_kernels(const Plan *p, const Target *t, Sb *o) {
  Sb text = { 0 };
  for (size_t k = 0; k < p->kernels.n; k++) {
    const Kernel *kernel = &p->kernels.p[k];
    llvm_kernel(p, (int)k, t, &text);
    put_entry(p->ir, kernel, k, t, &text);
  }
  sb_printf(o, "target triple = \"%s\"\n", t->triple);
  llvm_prelude_of(p->ir->ctx, text.p, t, o);
  sb_puts(o, text.p);
  sb_free(&text);
}

static LoadedCode *llvm_load(Ctx *c, const Plan *p, const Target *t, OptLevel opt_level) {
  Sb text = { 0 };
  llvm_kernels(p, t, &text);
  LoadedCode *code = llvm_jit_load(c, t, text.p, text.n, opt_level);
  sb_free(&text);
  return code;
}

/* ---- vector forms: LLVM splits vectors that the machine lacks ---- */
static bool llvm_supports(const Target *t, Op op, DType d, DType from, int lanes) {
  const char *text = cell(op, from);
  if (op == OP_DOT) return d == DT_I32 && dot_of(t, from, lanes); /* other types: product by product */
  if (op == OP_SCALB) return target_scales(t, from, lanes);
  if (op == OP_LOOKUP) return target_looks_up(t, from, lanes);
  if (op == OP_CAST || op == OP_BITCAST || op == OP_WHERE) return true;
  if (!text) return lanes == 1;
  if (*text == '#') return lanes == 1 && !libm_has(op, d);
  return lanes == 1 || dt_float(from) || (op != OP_DIV && op != OP_MOD && op != OP_FLDIV && op != OP_FLMOD);
}

/* clang-format off */
/* a library that tgc made, in the bundle or where CMake has installed it */
#define INSTALLED(file) " $<BUILD_INTERFACE:${CMAKE_CURRENT_SOURCE_DIR}/" file ">" \
                        " $<INSTALL_INTERFACE:$<INSTALL_PREFIX>/${CMAKE_INSTALL_LIBDIR}/%/" file ">"
static const CodeForm forms[] = {
  { "ir", EMIT_TEXT, "%.ll", "LLC ?= llc\n$(B)/%.o: %.ll\n\t@mkdir -p $(B)\n\t$(LLC) -O2 -filetype=obj -relocation-model=pic -o $@ %.ll\n",
    "$(B)/%.o ", "rm -f $@", "", "${CMAKE_CURRENT_BINARY_DIR}/%.o ", "EXTERNAL_OBJECT ON", "",
    "find_program(LLC NAMES llc-19 llc)\n"
    "add_custom_command(OUTPUT ${CMAKE_CURRENT_BINARY_DIR}/%.o DEPENDS ${CMAKE_CURRENT_SOURCE_DIR}/%.ll\n"
    "  COMMAND ${LLC} -O2 -filetype=obj -relocation-model=pic -o ${CMAKE_CURRENT_BINARY_DIR}/%.o ${CMAKE_CURRENT_SOURCE_DIR}/%.ll)\n"
    "set_source_files_properties(${CMAKE_CURRENT_BINARY_DIR}/%.o PROPERTIES EXTERNAL_OBJECT ON GENERATED ON)\n" },
  { "asm", EMIT_ASM, "%.s",  "$(B)/%.o: %.s\n\t@mkdir -p $(B)\n\t$(CC) -c -o $@ %.s\n",
    "$(B)/%.o ", "rm -f $@", "", "%.s ", "LANGUAGE C", "", "" },
  { "obj", EMIT_OBJ, "%.o",      "", "%.o ", "rm -f $@",    "", "%.o ", "EXTERNAL_OBJECT ON", "", "" },
  { "lib", EMIT_LIB, "lib%.a",   "", "",     "cp lib%.a $@", "", "",    "EXTERNAL_OBJECT ON", INSTALLED("lib%.a"), "" },
  { "so",  EMIT_SO,  "lib%.so",  "", "",     "rm -f $@", "lib%.so -Wl,-rpath,'$$ORIGIN/..' ", "", "EXTERNAL_OBJECT ON", INSTALLED("lib%.so"), "" },
  { "wasm", EMIT_WASM, "%.wasm", "", "", "", "", "", "", "", "" },
  { .word = NULL },
};
/* clang-format on */

const Backend llvm_backend = { .name = "llvm",
                               .gloss = "LLVM IR, and objects of it where LLVM 19 is installed",
                               .comment = { "; ", "" },
                               .model = "net.ll.in",
                               .forms = forms,
                               .makes = EMIT_OBJ,
                               .files = host_files,
                               .module_files = web_files,
                               .sizes = true,
                               .schedules = true,
                               .supports = llvm_supports,
                               .kernel = llvm_kernel,
                               .prelude = llvm_prelude,
                               .build = llvm_generate,
                               .load = llvm_load,
                               .symbol = llvm_jit_symbol,
                               .version = llvm_version };

/* SPDX-License-Identifier: MIT */
/* llvm_exprs.c: prints elementwise ops as LLVM IR. An op is a cell of a table: an instruction, an intrinsic, a helper
 * (llvm_prelude.c) or a function of libm. Operations that LLVM leaves undefined, such as a division by zero, go through helpers,
 * so that results are those of the interpreter. */
#include "llvm_render.h"
#include <math.h>
#include <stdarg.h>
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

const char *llvm_op_text(Op op, DType operand) {
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

Text llvm_suffix(DType d, int lanes) {
  Text t;
  int n = lanes == 1 ? 0 : snprintf(t.s, sizeof t.s, "v%d", lanes);
  snprintf(t.s + n, sizeof t.s - (size_t)n, "%c%d", d == DT_F32 || d == DT_F64 ? 'f' : 'i',
           d == DT_BOOL ? 1 : dtype_info[d].bits);
  return t;
}

/* ---- instructions ---- */
const char *llvm_emit(Render *w, const char *fmt, ...) {
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

/* ---- constants ---- */
const char *llvm_constant(Render *w, DType d, int64_t bits) {
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
const char *llvm_call(Render *w, const char *function, Text result, Text type, int n, const char *const *arg) {
  char list[256];
  size_t at = 0;
  for (int i = 0; i < n; i++) at += (size_t)snprintf(list + at, sizeof list - at, "%s%s %s", i ? ", " : "", type.s, arg[i]);
  CHECK(at < sizeof list);
  return llvm_emit(w, "call %s @%s(%s)", result.s, function, list);
}

/* Halves are moved as integers. */
static const char *apply_half(Render *w, Op op, int lanes, int n, const char *const *arg) {
  const Text i = llvm_type("i16", lanes), h = llvm_type("half", lanes);
  const char *x[3] = { NULL }, *r;
  char function[40];
  for (int k = 0; k < n; k++) x[k] = llvm_emit(w, "bitcast %s %s to %s", i.s, arg[k], h.s);
  snprintf(function, sizeof function, "llvm.fma.v%df16", lanes);
  if (op == OP_MULACC) r = llvm_call(w, function, h, h, n, x);
  else r = llvm_emit(w, "%s %s %s, %s", op == OP_MUL ? "fmul" : "fadd", h.s, x[0], x[1]);
  return llvm_emit(w, "bitcast %s %s to %s", h.s, r, i.s);
}

const char *llvm_apply(Render *w, Op op, DType d, int lanes, const char *flags, int n, const char *const *arg) {
  if (d == DT_F16 && (op == OP_MUL || op == OP_ADD || op == OP_MULACC)) return apply_half(w, op, lanes, n, arg);
  const char *t = op == OP_MULACC && w->t->in_order && dt_float(d) ? "@fma" : llvm_op_text(op, d),
             *kind = t ? strchr("@!#=", *t) : NULL;
  const Text type = llvm_value(d, lanes), sfx = llvm_suffix(d, lanes);
  char function[64];
  /* LLVM 19 fails on these intrinsics for machines without doubles in hardware */
  if (w->t->arch == ARCH_ARM && d == DT_F64 && (op == OP_MAX || op == OP_MIN)) t = kind = op == OP_MAX ? "!maximum" : "!minimum";
  if (!t || (*t == '#' && lanes > 1))
    BUG("the LLVM backend has no text for %s of %s x %d", op_info[op].name, dtype_info[d].text, lanes);
  if (!kind)
    return n == 1 ? llvm_emit(w, "%s%s %s %s", t, flags, type.s, arg[0])
                  : llvm_emit(w, "%s%s %s %s, %s", t, flags, type.s, arg[0], arg[1]);
  if (*t == '=') return arg[0];
  if (*t == '#') snprintf(function, sizeof function, "%s%s", llvm_libm(op), d == DT_F32 ? "f" : "");
  else snprintf(function, sizeof function, "%s.%s.%s", *t == '@' ? "llvm" : "tgc", t + 1, sfx.s);
  return llvm_call(w, function, type, type, n, arg);
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
  if (native && widens) return llvm_emit(w, "fpext %s %s to %s", h.s, llvm_emit(w, "bitcast %s %s to %s", i.s, a, h.s), f.s);
  if (native) return llvm_emit(w, "bitcast %s %s to %s", h.s, llvm_emit(w, "fptrunc %s %s to %s", f.s, a, h.s), i.s);
  if (rounds) return llvm_emit(w, "bitcast <16 x bfloat> %s to %s", llvm_emit(w, "fptrunc %s %s to <16 x bfloat>", f.s, a), i.s);
  char function[40];
  snprintf(function, sizeof function, "tgc.%s_%s.%s", widens ? "from" : "to", dtype_info[widens ? from : to].text, sfx.s);
  return llvm_call(w, function, widens ? f : i, widens ? i : f, 1, &a);
}

/* Calls the instruction of x86 that converts floats to i32, and rounds them or drops their fractions. It makes the least integer
 * of NaN, and of what is out of range. NULL: there is no such instruction for so many lanes. */
static const char *put_to_i32(Render *w, int lanes, bool rounds, const char *a) {
  const uint32_t f = w->t->features;
  if (w->t->arch != ARCH_X86_64) return NULL;
  if (lanes == 16 && f & FEAT_AVX512) /* 4: the current direction; 8: to the nearest */
    return llvm_emit(w,
                     "call <16 x i32> @llvm.x86.avx512.mask.cvt%sps2dq.512(<16 x float> %s, <16 x i32> zeroinitializer, i16 -1, "
                     "i32 %d)",
                     rounds ? "" : "t", a, rounds ? 8 : 4);
  if (lanes == 8 && f & FEAT_AVX2)
    return llvm_emit(w, "call <8 x i32> @llvm.x86.avx.cvt%s.ps2dq.256(<8 x float> %s)", rounds ? "" : "t", a);
  return lanes == 4 ? llvm_emit(w, "call <4 x i32> @llvm.x86.sse2.cvt%sps2dq(<4 x float> %s)", rounds ? "" : "t", a) : NULL;
}

/* Saturates; NaN gives 0. LLVM's intrinsic for it becomes code for each lane on x86. NULL: the intrinsic suffices. */
static const char *put_saturated(Render *w, int lanes, bool fits, const char *a) {
  const Text f = llvm_type("float", lanes), t = llvm_type("i32", lanes), b = llvm_type("i1", lanes);
  const char *n = put_to_i32(w, lanes, false, a);
  if (!n) return NULL;
  if (!fits) {
    const char *over = llvm_emit(w, "fcmp oge %s %s, splat (float 0x41E0000000000000)", f.s, a);
    n = llvm_emit(w, "select %s %s, %s splat (i32 2147483647), %s %s", b.s, over, t.s, t.s, n);
  }
  const char *number = llvm_emit(w, "fcmp ord %s %s, zeroinitializer", f.s, a);
  return llvm_emit(w, "select %s %s, %s %s, %s zeroinitializer", b.s, number, t.s, n, t.s);
}

static const char *put_cast(Render *w, DType from, DType to, int lanes, const char *a) {
  const Text tf = llvm_value(from, lanes), tt = llvm_value(to, lanes), sf = llvm_suffix(from, lanes), st = llvm_suffix(to, lanes);
  const int bf = dtype_info[from].bits, bt = dtype_info[to].bits;
  const bool is_signed = dtype_info[from].cls == 'i', wide = from == DT_F32 || from == DT_F64;
  const char *zero = lanes > 1 ? "zeroinitializer" : wide ? "0.0" : "0";
  if (from == to) return a;
  if ((dt_float(from) && bf == 16) || (dt_float(to) && bt == 16)) return put_half(w, from, to, lanes, a);
  if (to == DT_BOOL) return llvm_emit(w, "%s %s %s, %s", wide ? "fcmp une" : "icmp ne", tf.s, a, zero);
  if (dt_float(from) && dt_float(to)) return llvm_emit(w, "%s %s %s to %s", bf < bt ? "fpext" : "fptrunc", tf.s, a, tt.s);
  if (dt_float(from)) { /* saturates; NaN gives 0 */
    char function[64];
    snprintf(function, sizeof function, "llvm.fpto%ci.sat.%s.%s", dtype_info[to].cls == 'i' ? 's' : 'u', st.s, sf.s);
    return llvm_call(w, function, tt, tf, 1, &a);
  }
  if (dt_float(to)) return llvm_emit(w, "%s %s %s to %s", is_signed ? "sitofp" : "uitofp", tf.s, a, tt.s);
  if (from != DT_BOOL && bf == bt) return a;
  const char *op = from != DT_BOOL && bf > bt ? "trunc" : is_signed ? "sext" : "zext";
  return llvm_emit(w, "%s %s %s to %s", op, tf.s, a, tt.s);
}

/* The nearest integer of the float a, within the bounds of the type `to`; see target_rounds_to_int. */
static const char *put_rounded(Render *w, DType to, const char *a) {
  const int bits = dtype_info[to].bits - (dtype_info[to].cls == 'i');
  const char *n = llvm_emit(w, "bitcast float %s to i32", llvm_emit(w, "call float @llvm.arm.vcvtr.f32(float %s)", a));
  if (to == DT_I32) return n;
  n = llvm_emit(w, "call i32 @llvm.smax.i32(i32 %s, i32 %d)", n, dtype_info[to].cls == 'i' ? -(1 << bits) : 0);
  n = llvm_emit(w, "call i32 @llvm.smin.i32(i32 %s, i32 %d)", n, (1 << bits) - 1);
  return llvm_emit(w, "trunc i32 %s to %s", n, llvm_scalar[to]);
}

/* Casts of vectors of floats to integers for which LLVM makes slow code; NULL: another cast. a: the operand */
static const char *put_vector_cast(Render *w, const Node *x, const char *a) {
  const Node *rounded = packed_rounding(w->ir, w->t, x);
  const char *n = rounded ? put_to_i32(w, x->lanes, true, value(w, operand(rounded))) : NULL;
  if (n) return put_cast(w, DT_I32, (DType)x->dt, x->lanes, n); /* the least integer, of NaN, becomes 0 */
  if (x->lanes == 1 || x->dt != DT_I32 || node(w->ir, operand(x))->dt != DT_F32) return NULL;
  return put_saturated(w, x->lanes, fits_i32(w->ir, node(w->ir, operand(x))), a);
}

/* Whether a constant float is neither NaN nor zero: the sign of zero would matter. */
static bool is_bound(const IR *ir, Ref r) {
  const Node *x = node(ir, r);
  if (x->op == OP_BCAST) x = node(ir, operand(x));
  if (x->op != OP_CONST || !dt_float((DType)x->dt)) return false;
  double v = bits_to_double((DType)x->dt, const_value(x));
  return v < 0 || v > 0;
}

const char *llvm_expr(Render *w, const Node *x) {
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
  case OP_BITCAST: return strcmp(t0.s, t.s) ? llvm_emit(w, "bitcast %s %s to %s", t0.s, arg[0], t.s) : arg[0];
  case OP_WHERE: return llvm_emit(w, "select %s %s, %s %s, %s %s", t0.s, arg[0], t.s, arg[1], t.s, arg[2]);
  case OP_FLDIV:
  case OP_FLMOD: /* non-negative values by a positive constant */
    if (x->lanes == 1 && node(ir, lhs(x))->vmin >= 0 && node_is_const(ir, rhs(x), &c) && c > 0)
      return llvm_emit(w, "%s %s %s, %s", x->op == OP_FLDIV ? "udiv" : "urem", t.s, arg[0], arg[1]);
    break;
  case OP_MAX:
  case OP_MIN: /* with a constant: a NaN in x stays, which is one instruction of x86 */
    if (!is_bound(ir, rhs(x))) break;
    return llvm_emit(w, "select %s %s, %s %s, %s %s", llvm_value(DT_BOOL, x->lanes).s,
                     llvm_emit(w, "fcmp %s %s %s, %s", x->op == OP_MAX ? "olt" : "ogt", t.s, arg[0], arg[1]), t.s, arg[1], t.s,
                     arg[0]);
  default: break;
  }
  return llvm_apply(w, (Op)x->op, d0, x->lanes, flags_of(w, x), x->nsrc, arg);
}

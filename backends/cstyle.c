/* cstyle.c: programs as C. Scalars are plain C99; vectors are GNU vector types, which gcc and clang
 * both compile for any instruction set. The functions that the text calls, tgc_exp_f32x8, stand before the kernels
 * (helpers.c). Nothing from the model reaches the text but numbers. */
#include "cstyle.h"
#include "../compiler/ir/refmap.h"
#include "../compiler/kernel/units.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- types ---- */
const char *c_type(DType d, int lanes, char buf[32]) {
  if (lanes == 1) snprintf(buf, 32, "%s", d == DT_BOOL ? "int" : dtype_info[d].ctype);
  else snprintf(buf, 32, "%sx%d", d == DT_BOOL ? "i32" : d == DT_F16 || d == DT_BF16 ? "u16" : dtype_info[d].text, lanes);
  return buf;
}

const char *c_suffix(DType d, int lanes, char buf[32]) {
  if (lanes == 1) snprintf(buf, 32, "%s", dtype_info[d].text);
  else snprintf(buf, 32, "%sx%d", dtype_info[d].text, lanes);
  return buf;
}

/* ---- one expression ---- */
/* of a value: where it is made; uses, those in products, any in another block */
typedef struct Use { uint32_t block, times, products; bool elsewhere; } Use;

typedef struct Render {
  const IR *ir;
  const Kernel *k;
  const Target *t;
  Sb *o;
  char **text;             /* by position in the program: how to write the value, without outer parentheses */
  char *prec;              /* and how loosely it binds */
  Use *use;
  RefMap at;               /* node to its position + 1, the last one so far: nests may have ranges in common */
  int nloops, naccs, ntiles; /* named so far */
  int indent, reducing;    /* depth of blocks, and of reduction loops */
  bool vectors;            /* the reduction accumulates vectors */
  TileSet tiles;           /* of the nest */
  Arena a;
} Render;

enum { PARAMETER = -1 };               /* number of the buffer that stands for a helper's argument */
enum { ATOM, PRODUCT, SUM, LOOSE }; /* precedence of a text: what may hold it without parentheses */

/* Source k of x as text that binds at least as tightly as allowed. */
static const char *arg_as(Render *w, const Node *x, int k, int allowed) {
  const uint32_t at = refmap_get(&w->at, x->src[k]);
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
  [OP_ADD] = "+",    [OP_SUB] = "-",    [OP_MUL] = "*", [OP_DIV] = "/", [OP_CMPLT] = "<", [OP_CMPLE] = "<=",
  [OP_CMPEQ] = "==", [OP_CMPNE] = "!=", [OP_AND] = "&", [OP_OR] = "|",  [OP_XOR] = "^",
};

/* functions of math.h, by op; the suffix f is added for float */
static const char *const libm[OP_COUNT] = {
  [OP_SQRT] = "sqrt",   [OP_TRUNC] = "trunc", [OP_FLOOR] = "floor", [OP_CEIL] = "ceil",   [OP_ROUND] = "nearbyint",
  [OP_EXP] = "exp",     [OP_EXP2] = "exp2",   [OP_LOG] = "log",     [OP_LOG2] = "log2",   [OP_SIN] = "sin",
  [OP_COS] = "cos",     [OP_TAN] = "tan",     [OP_ASIN] = "asin",   [OP_ACOS] = "acos",   [OP_ATAN] = "atan",
  [OP_SINH] = "sinh",   [OP_COSH] = "cosh",   [OP_TANH] = "tanh",   [OP_ASINH] = "asinh", [OP_ACOSH] = "acosh",
  [OP_ATANH] = "atanh", [OP_ERF] = "erf",     [OP_POW] = "pow",     [OP_ATAN2] = "atan2", [OP_MOD] = "fmod",
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
  if (from == DT_F16) sb_printf(o, "tgc_from_%s(%s)", c_suffix(from, x->lanes, sfx), in);
  else if (to == DT_F16) sb_printf(o, "tgc_to_%s(%s)", c_suffix(to, x->lanes, sfx), in);
  else if (from == DT_BF16) sb_printf(o, "tgc_frombf_%s(%s)", c_suffix(from, x->lanes, sfx), in);
  else if (to == DT_BF16)
    sb_printf(o, "tgc_tobf%s_%s(%s)", target_rounds(w->t, x->lanes) ? "z" : "", c_suffix(to, x->lanes, sfx), in);
  else if (x->lanes > 1) {
    char t[32];
    if (from == DT_BOOL) sb_printf(o, "__builtin_convertvector(%s & 1, %s)", a, c_type(to, x->lanes, t));
    else if (to == DT_BOOL)
      sb_printf(o, "i32x%d_of%d(%s != (%s){ 0 })", x->lanes, dtype_info[from].bits, a, c_type(from, x->lanes, t));
    else if (to == DT_I32 && fits_i32(w->ir, s)) sb_printf(o, "tgc_int_%s(%s)", c_suffix(from, x->lanes, sfx), in);
    else if (dt_float(from) && dt_int(to))
      sb_printf(o, "tgc_cast%s_%s(%s)", dtype_info[to].text, c_suffix(from, x->lanes, sfx), in);
    else if (to == DT_I32 && dtype_info[from].bits == 8)
      sb_printf(o, "tgc_widen%s_%s(%s)", from == DT_U8 ? "u" : "", c_suffix(from, x->lanes, sfx), in);
    else if (from == DT_I32 && dtype_info[to].bits == 8) sb_printf(o, "tgc_narrow_%s(%s)", c_suffix(to, x->lanes, sfx), in);
    else sb_printf(o, "__builtin_convertvector(%s, %s)", in, c_type(to, x->lanes, t));
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
  int64_t at;
  sb_printf(o, "*(%s%sx%du *)", written ? "" : "const ", e, lanes);
  if (node_is_const(w->ir, x->src[1], &at) && !at) sb_puts(o, b);
  else sb_printf(o, "(%s + %s)", b, arg_as(w, x, 1, SUM));
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
    sb_printf(o, "tgc_join_%s(%s, %s)", c_suffix(d, 2 * n, sfx), a, b);
  } else if (2 * x->lanes == n) {
    CHECK(in_order_from(x, x->arg[0] ? n / 2 : 0));
    sb_printf(o, "tgc_%s_%s(%s)", x->arg[0] ? "hi" : "lo", c_suffix(d, n, sfx), a);
  } else {
    CHECK(x->lanes == n);
    sb_printf(o, "TGC_PICK(i%dx%d, %s, %s", dtype_info[d].bits, n, a, b);
    for (int i = 0; i < n; i++) sb_printf(o, ", %lld", (long long)x->arg[i]);
    sb_puts(o, ")");
  }
}

/* The function for OP_MAX or OP_MIN; against no NaN as second operand, and of integers and bools, it need not ask for one. */
static const char *greater_or_less(Op op, DType d, int lanes, bool no_nan) {
  static const char *const name[][3] = { { "max", "maxc", "imax" }, { "min", "minc", "imin" } };
  return name[op == OP_MIN][!dt_float(d) && lanes > 1 ? 2 : !dt_float(d) || no_nan];
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
      /* both sides of ?: are of one type: not the unaligned one */
      if (vec && d != DT_BOOL) sb_printf(o, "(%s)", c_type(d, n, sfx));
    }
    if (vec && d == DT_BOOL) {
      sb_puts(o, "__builtin_convertvector(");
      put_memory(w, o, x, n);
      sb_printf(o, " != 0, i32x%d)", n);
    } else put_memory(w, o, x, n);
    if (x->nsrc == 4) sb_printf(o, " : %s)", arg(w, x, 3));
    return;
  case OP_BCAST:
    if (d == DT_BOOL) sb_printf(o, "((i32x%d){ 0 } - (int32_t)(%s))", n, inside(w, x, 0));
    else sb_printf(o, "tgc_splat_%s(%s)", c_suffix(d == DT_F16 || d == DT_BF16 ? DT_U16 : d, n, sfx), inside(w, x, 0));
    return;
  case OP_VEC:
    sb_printf(o, "(%s){ ", c_type(d, n, sfx));
    for (int k = 0; k < n; k++) sb_printf(o, d == DT_BOOL ? "%s-(%s)" : "%s%s", k ? ", " : "", inside(w, x, k));
    sb_puts(o, " }");
    return;
  case OP_LANE: sb_printf(o, d == DT_BOOL ? "(%s[%lld] & 1)" : "%s[%lld]", arg(w, x, 0), (long long)x->arg[0]); return;
  case OP_SHUFFLE: put_shuffle(w, o, x); return;
  case OP_NEG:
    if (fl || vec) sb_printf(o, *arg(w, x, 0) == '-' ? "(-(%s))" : "(-%s)", arg(w, x, 0));
    else
      sb_printf(o, "(%s)(0 - (%s)%s)", dtype_info[d].ctype, d == DT_I64 || d == DT_U64 ? "uint64_t" : "uint32_t", arg(w, x, 0));
    return;
  case OP_ABS:
    if (vec) sb_printf(o, "tgc_abs_%s(%s)", c_suffix(d, n, sfx), arg(w, x, 0));
    else if (fl) sb_printf(o, "fabs%s(%s)", d == DT_F32 ? "f" : "", arg(w, x, 0));
    else if (dtype_info[d].cls == 'i')
      sb_printf(o, "(%s)(%s < 0 ? 0 - (%s)%s : (%s)%s)", dtype_info[d].ctype, arg(w, x, 0), d == DT_I64 ? "uint64_t" : "uint32_t",
                arg(w, x, 0), d == DT_I64 ? "uint64_t" : "uint32_t", arg(w, x, 0));
    else sb_puts(o, arg(w, x, 0));
    return;
  case OP_NOT:
    if (vec || d != DT_BOOL)
      sb_printf(o, narrow(d) && !vec ? "(%s)~%s" : "%s(~%s)", narrow(d) && !vec ? dtype_info[d].ctype : "", arg(w, x, 0));
    else sb_printf(o, "!%s", arg(w, x, 0));
    return;
  case OP_RECIP: sb_printf(o, d == DT_F32 ? "(1.0f / %s)" : "(1.0 / %s)", arg(w, x, 0)); return;
  case OP_BITCAST:
    if (vec) sb_printf(o, "(%s)%s", c_type(d, n, sfx), arg(w, x, 0));
    else if (fl == dt_float(d0)) sb_printf(o, "(%s)%s", dtype_info[d].ctype, arg(w, x, 0));
    else sb_printf(o, "tgc_%s_%s(%s)", fl ? "float" : "bits", c_suffix(d0, 1, sfx), inside(w, x, 0));
    return;
  case OP_MAX: case OP_MIN:
    if (d == DT_BOOL) sb_printf(o, "(%s %s %s)", arg(w, x, 0), x->op == OP_MAX ? "|" : "&", arg(w, x, 1));
    else {
      const char *a = inside(w, x, 0), *b = inside(w, x, 1); /* max(x, c) is x where x is NaN */
      sb_printf(o, "tgc_%s_%s(%s, %s)", greater_or_less(x->op, d, n, const_not_nan(ir, x->src[1])), c_suffix(d, n, sfx), a, b);
    }
    return;
  case OP_CMPLT: case OP_CMPLE: case OP_CMPEQ: case OP_CMPNE:
    if (vec && d0 == DT_BOOL) { /* lanes are 0 and -1, so the order of their values is reversed */
      const int first = x->op == OP_CMPLT || x->op == OP_CMPLE;
      sb_printf(o, "(%s %s %s)", arg(w, x, first), infix[x->op], arg(w, x, !first));
    }
    else if (vec) sb_printf(o, "i32x%d_of%d(%s %s %s)", n, bits0, arg(w, x, 0), infix[x->op], arg(w, x, 1));
    else sb_printf(o, "(%s %s %s)", arg(w, x, 0), infix[x->op], arg(w, x, 1));
    return;
  case OP_WHERE:
    if (vec && d != DT_BOOL)
      sb_printf(o, "tgc_sel_%s(%s, %s, %s)", c_suffix(d == DT_F16 || d == DT_BF16 ? DT_U16 : d, n, sfx), inside(w, x, 0),
                inside(w, x, 1), inside(w, x, 2));
    else if (vec) sb_printf(o, "((%s & %s) | (~%s & %s))", arg(w, x, 0), arg(w, x, 1), arg(w, x, 0), arg(w, x, 2));
    else sb_printf(o, "(%s ? %s : %s)", arg(w, x, 0), arg(w, x, 1), arg(w, x, 2));
    return;
  case OP_MULACC:
    if (w->t->in_order && fl)
      sb_printf(o, "tgc_fma_%s(%s, %s, %s)", c_suffix(d, n, sfx), inside(w, x, 0), inside(w, x, 1), inside(w, x, 2));
    else sb_printf(o, "(%s * %s + %s)", arg(w, x, 0), arg(w, x, 1), arg_as(w, x, 2, PRODUCT));
    return;
  case OP_SCALB: sb_printf(o, "tgc_scalb_%s(%s, %s)", c_suffix(d, n, sfx), inside(w, x, 0), inside(w, x, 1)); return;
  case OP_DOT:
    sb_printf(o, "tgc_%sdot%s%s_%s(%s, %s, %s)", node(ir, x->src[1])->dt == DT_I8 ? "s" : "", fl ? "bf" : "",
              node(ir, x->src[1])->lanes > node(ir, x->src[2])->lanes / n ? "v" : "", c_suffix(d, n, sfx), inside(w, x, 0),
              inside(w, x, 1), inside(w, x, 2));
    return;
  case OP_PART:
    if (vec) sb_printf(o, "*(const %sx%du *)(%s + %s)", dtype_info[d].text, n, arg(w, x, 0), arg_as(w, x, 1, SUM));
    else sb_printf(o, "%s[%s]", arg(w, x, 0), inside(w, x, 1));
    return;
  case OP_DIV:
    if (fl) sb_printf(o, "(%s / %s)", arg(w, x, 0), arg(w, x, 1));
    else
      sb_printf(o, "tgc_%sdiv_%s(%s, %s)", dtype_info[d].cls == 'u' ? "u" : "", c_suffix(d, 1, sfx), arg(w, x, 0), arg(w, x, 1));
    return;
  case OP_FLDIV:
  case OP_FLMOD: {
    int64_t c;
    bool div = x->op == OP_FLDIV, plain = node(ir, x->src[0])->vmin >= 0 && node_is_const(ir, x->src[1], &c) && c > 0;
    if (plain) sb_printf(o, "(%s %s %s)", arg(w, x, 0), div ? "/" : "%", arg(w, x, 1));
    else
      sb_printf(o, "tgc_%s_%s(%s, %s)",
                dtype_info[d].cls == 'u' ? (div ? "udiv" : "umod")
                : div                    ? "fldiv"
                                         : "flmod",
                c_suffix(d, 1, sfx), arg(w, x, 0), arg(w, x, 1));
    return;
  }
  case OP_MOD:
    if (fl) break;
    sb_printf(o, "tgc_%smod_%s(%s, %s)", dtype_info[d].cls == 'u' ? "u" : "", c_suffix(d, 1, sfx), arg(w, x, 0), arg(w, x, 1));
    return;
  case OP_SHL: sb_printf(o, "tgc_shl_%s(%s, %s)", c_suffix(d, n, sfx), inside(w, x, 0), inside(w, x, 1)); return;
  case OP_SHR:
    sb_printf(o, "tgc_%sshr_%s(%s, %s)", dtype_info[d].cls == 'u' ? "u" : "", c_suffix(d, n, sfx), arg(w, x, 0), arg(w, x, 1));
    return;
  case OP_ADD: case OP_SUB: case OP_MUL: case OP_AND: case OP_OR: case OP_XOR:
    if (fl || vec || d == DT_BOOL) put_infix(w, o, x);
    else put_int(w, o, x);
    return;
  default: break;
  }
  if (decomp_has((Op)x->op, d)) {
    sb_printf(o, "tgc_%s_%s(%s)", libm[x->op], c_suffix(d, n, sfx), inside(w, x, 0));
  } else if (vec && (x->op == OP_SQRT || x->op == OP_ROUND || x->op == OP_FLOOR || x->op == OP_CEIL || x->op == OP_TRUNC)) {
    static const char *const name[OP_COUNT] = {
      [OP_SQRT] = "sqrt", [OP_ROUND] = "round", [OP_FLOOR] = "floor", [OP_CEIL] = "ceil", [OP_TRUNC] = "trunc"
    };
    sb_printf(o, "tgc_%s_%s(%s)", name[x->op], c_suffix(d, n, sfx), arg(w, x, 0));
  } else if (libm[x->op] && fl && !vec) {
    sb_printf(o, "%s%s(%s", libm[x->op], d == DT_F32 ? "f" : "", inside(w, x, 0));
    for (int k = 1; k < x->nsrc; k++) sb_printf(o, ", %s", inside(w, x, k));
    sb_puts(o, ")");
  } else
    BUG("the C backend has no text for %s of %s x %d", op_info[x->op].name, dtype_info[d].text, n);
}

/* Lanes of a vector combined, halves with halves: as vectors down to four lanes, then as scalars. */
static void put_hred(Render *w, const Node *x, size_t at) {
  const Op op = (Op)x->arg[0];
  const DType d = (DType)x->dt;
  const bool sum = op == OP_ADD || op == OP_MUL;
  const char *lane[64];
  const int indent = w->indent + 2;
  char sfx[32], half_sfx[32], type[32];
  int lanes = node(w->ir, x->src[0])->lanes;
  w->text[at] = arena_printf(&w->a, "h%zu", at);
  sb_printf(w->o, "%*s%s %s;\n%*s{\n", w->indent, "", c_type(d, 1, type), w->text[at], w->indent, "");
  sb_printf(w->o, "%*sconst %s w%d = %s;\n", indent, "", c_type(d, lanes, type), lanes, inside(w, x, 0));
  for (; lanes > 4 && dtype_info[d].bits >= 32; lanes /= 2) {
    c_suffix(d, lanes, sfx);
    sb_printf(w->o, "%*sconst %s", indent, "", c_type(d, lanes / 2, type));
    if (sum) sb_printf(w->o, " w%d = tgc_lo_%s(w%d) %s tgc_hi_%s(w%d);\n", lanes / 2, sfx, lanes, infix[op], sfx, lanes);
    else
      sb_printf(w->o, " w%d = tgc_%s_%s(tgc_lo_%s(w%d), tgc_hi_%s(w%d));\n", lanes / 2, greater_or_less(op, d, lanes / 2, false),
                c_suffix(d, lanes / 2, half_sfx), sfx, lanes, sfx, lanes);
  }
  for (int i = 0; i < lanes; i++) lane[i] = arena_printf(&w->a, d == DT_BOOL ? "(w%d[%d] & 1)" : "w%d[%d]", lanes, i);
  for (int half = lanes / 2; half >= 1; half /= 2)
    for (int i = 0; i < half; i++)
      lane[i] = sum ? arena_printf(&w->a, half > 1 ? "(%s %s %s)" : "%s %s %s", lane[i], infix[op], lane[i + half])
                    : arena_printf(&w->a, "tgc_%s_%s(%s, %s)", greater_or_less(op, d, 1, false), c_suffix(d, 1, sfx), lane[i],
                                   lane[i + half]);
  sb_printf(w->o, "%*s%s = %s;\n%*s}\n", indent, "", w->text[at], lane[0], w->indent, "");
}

/* ---- tiles ---- */
static void put_upper(Sb *o, const char *s) {
  for (; *s; s++) sb_printf(o, "%c", *s >= 'a' && *s <= 'z' ? *s - 'a' + 'A' : *s);
}

/* A nest that multiplies tiles begins: their shapes. */
static void put_tiles(Render *w, size_t at) {
  const int indent = w->indent;
  if (!w->ntiles) sb_printf(w->o, "%*sTGC_TILES;\n", indent, "");
  tile_registers(w->ir, w->k->prog.p + at, w->k->prog.n - at, &w->tiles);
  sb_printf(w->o, "%*sstatic const uint8_t c%d[64] = { 1", indent, "", w->ntiles);
  for (int i = 1; i < 64; i++)
    if (w->tiles.config[i]) sb_printf(w->o, ", [%d] = %d", i, w->tiles.config[i]);
  sb_printf(w->o, " };\n%*sTGC_TILE_SHAPES(c%d);\n", indent, "", w->ntiles++);
}

/* What is done to tiles: statements. False: x is something else. */
static bool put_tile(Render *w, size_t at) {
  const int indent = w->indent;
  const Node *x = node(w->ir, w->k->prog.p[at]);
  const int t = tile_register(&w->tiles, w->k->prog.p[at]);
  switch ((Op)x->op) {
  case OP_TILES: put_tiles(w, at); return true;
  case OP_TILE:
    sb_printf(w->o, "%*sTGC_TILE_LOAD(%d, %s + %s, %lld);\n", indent, "", t, arg(w, x, 0), arg_as(w, x, 1, SUM),
              (long long)x->arg[1] * dt_bytes((DType)x->dt));
    return true;
  case OP_MMA:
    sb_printf(w->o, "%*sTGC_", indent, "");
    put_upper(w->o, tile_unit(w->ir, x)->name);
    sb_printf(w->o, "(%d, %d, %d);\n", tile_register(&w->tiles, tile_sum(w->ir, x)), tile_register(&w->tiles, x->src[1]),
              tile_register(&w->tiles, x->src[2]));
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

/* Where each value is made, how often it is used, and whether in another block than its own. */
static void count_uses(Render *w) {
  const Refs *prog = &w->k->prog;
  uint32_t stack[64] = { 0 }, blocks = 0, depth = 0;
  for (size_t i = 0; i < prog->n; i++) {
    const Node *x = node(w->ir, prog->p[i]);
    if (x->op == OP_END) depth--;
    w->use[i].block = stack[depth];
    for (int s = 0; s < x->nsrc && x->op != OP_LOOP && x->op != OP_END; s++) {
      Use *u = &w->use[refmap_get(&w->at, x->src[s]) - 1];
      u->times++;
      u->products += x->op == OP_MUL || x->op == OP_MULACC;
      u->elsewhere |= u->block != w->use[i].block;
    }
    if (x->op == OP_LOOP) stack[++depth] = ++blocks;
    refmap_set(&w->at, prog->p[i], (uint32_t)i + 1);
  }
}

static void open_loop(Render *w, const Node *x) {
  const Node *r = node(w->ir, x->src[0]);
  char *name = arena_printf(&w->a, "r%d", w->nloops++);
  w->text[refmap_get(&w->at, x->src[0]) - 1] = name;
  sb_printf(w->o, "%*sfor (int64_t %s = ", w->indent, "", name);
  put_bound(w->o, "begin", "0", r, w->k->chunks);
  sb_printf(w->o, "; %s < ", name);
  put_bound(w->o, "end", arena_printf(&w->a, "%lld", (long long)r->arg[0]), r, w->k->chunks);
  sb_printf(w->o, "; %s++) {\n", name);
  w->indent += 2;
  w->reducing += r->arg[2] == RK_REDUCE;
}

static void close_loop(Render *w, const Node *x, bool innermost) {
  const bool reduce = node(w->ir, x->src[0])->arg[2] == RK_REDUCE;
  if (reduce && w->vectors && innermost) sb_printf(w->o, "%*sTGC_FENCE;\n", w->indent, "");
  w->indent -= 2;
  sb_printf(w->o, "%*s}\n", w->indent, "");
  if (reduce && !--w->reducing) w->vectors = false;
}

static void put_store(Render *w, const Node *x) {
  const Node *v = node(w->ir, x->src[2]);
  sb_printf(w->o, "%*s", w->indent, "");
  if (x->nsrc == 4) sb_printf(w->o, "if (%s) ", arg(w, x, 3));
  put_memory(w, w->o, x, v->lanes);
  if (v->lanes > 1 && v->dt == DT_BOOL) sb_printf(w->o, " = __builtin_convertvector(%s & 1, u8x%d);\n", arg(w, x, 2), v->lanes);
  else sb_printf(w->o, " = %s;\n", inside(w, x, 2));
}

/* What does something: a statement. False: x is a value. */
static bool put_statement(Render *w, size_t at) {
  const Node *x = node(w->ir, w->k->prog.p[at]);
  char type[32];
  switch ((Op)x->op) {
  case OP_RANGE: return true;
  case OP_LOOP: open_loop(w, x); return true;
  case OP_END: close_loop(w, x, node(w->ir, w->k->prog.p[at - 1])->op != OP_END); return true;
  case OP_ACC:
    w->vectors |= x->lanes > 1;
    w->text[at] = arena_printf(&w->a, "a%d", w->naccs++);
    sb_printf(w->o, "%*s%s %s = %s;\n", w->indent, "", c_type((DType)x->dt, x->lanes, type), w->text[at], arg(w, x, 0));
    return true;
  case OP_SET: sb_printf(w->o, "%*s%s = %s;\n", w->indent, "", arg(w, x, 0), inside(w, x, 1)); return true;
  case OP_STORE: put_store(w, x); return true;
  case OP_PREFETCH:
    sb_printf(w->o, "%*sTGC_PREFETCH(%s, %s, %d);\n", w->indent, "", arg(w, x, 0), inside(w, x, 1), x->arg[0] ? 3 : 2);
    return true;
  case OP_HRED: put_hred(w, x, at); return true;
  default: return false;
  }
}

/* A value is written where it is used when it is used once, in the block that computes it, and
 * nothing with an effect can come between: loads, and what contains them, stay where they are. */
static bool is_inlined(const Render *w, const Node *x, const Use *u, size_t length) {
  if (cheap(x) || !u->times) return true; /* or not needed after all */
  if (x->op == OP_BCAST && node(w->ir, x->src[0])->op == OP_CONST) return true;
  return x->op != OP_LOAD && ((u->times == 1 && !u->elsewhere && length < 90) || (x->dt == DT_I64 && length < 24));
}

static void put_value(Render *w, size_t at, Sb *e) {
  const Node *x = node(w->ir, w->k->prog.p[at]);
  const Use *u = &w->use[at];
  put_expr(w, e, x);
  const int prec = unwrap(e, x);
  if (is_inlined(w, x, u, e->n)) {
    w->text[at] = arena_str(&w->a, e->p, e->n);
    w->prec[at] = (char)prec;
    return;
  }
  /* by terms of a loop, or of a sum without one */
  const bool shared = w->reducing ? u->times > 1 : u->products > 1 && !u->elsewhere;
  const int bytes = x->lanes * dt_bytes((DType)x->dt);
  const bool keep = x->op == OP_LOAD && bytes >= 16 && bytes <= w->t->vector_bytes && shared; /* a register */
  char type[32];
  w->text[at] = arena_printf(&w->a, "v%zu", at);
  sb_printf(w->o, "%*s%s%s %s = %s;", w->indent, "", keep ? "" : "const ", c_type((DType)x->dt, x->lanes, type), w->text[at],
            e->p);
  if (keep) sb_printf(w->o, " TGC_KEEP(%s);", w->text[at]);
  sb_puts(w->o, "\n");
}

/* -> the text of the last value; lives in a */
static const char *put_program(const IR *ir, const Kernel *k, const Target *t, Arena *a, Sb *o) {
  const Refs *prog = &k->prog;
  Render w = { .ir = ir, .k = k, .t = t, .o = o, .indent = 2, .a = *a };
  Sb e = { 0 };
  w.text = ARENA_NEW(&w.a, char *, prog->n + 1);
  w.prec = ARENA_NEW(&w.a, char, prog->n + 1);
  w.use = ARENA_NEW(&w.a, Use, prog->n + 1);
  count_uses(&w);
  for (size_t i = 0; i < prog->n; i++) {
    refmap_set(&w.at, prog->p[i], (uint32_t)i + 1);
    e.n = 0;
    if (!put_tile(&w, i) && !put_statement(&w, i)) put_value(&w, i, &e);
  }
  if (w.ntiles) sb_puts(o, "  TGC_TILES_END;\n");
  const char *last = prog->n ? w.text[prog->n - 1] : NULL;
  *a = w.a;
  sb_free(&e);
  refmap_free(&w.at);
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
    sb_printf(o, "%s%s%s *%sb%zu", i ? ", " : "", written ? "" : "const ", dtype_info[ir->bufs.p[k->bufs.p[i]].dt].ctype,
              k->may_alias ? "" : "TGC_RESTRICT ", i);
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

/* ---- functions ---- */
Op c_op(const char *name, size_t n) {
  for (int op = 1; op < OP_COUNT; op++)
    if (libm[op] && strlen(libm[op]) == n && !memcmp(libm[op], name, n)) return (Op)op;
  return OP_NONE;
}

void c_define(IR *ir, const Target *t, Op op, DType d, int lanes, Sb *o) {
  int64_t id = PARAMETER;
  char sfx[32], type[32];
  Kernel k = { 0 };
  Arena a = { 0 };
  Ref x = node_make(ir, OP_BUFFER, d, lanes, 0, NULL, 1, &id, 0, NULL);
  Ref body = decomp_expr(ir, node_make(ir, op, d, lanes, 1, &x, 0, NULL, 0, NULL), c_backend.supports(t, OP_SCALB, d, d, lanes));
  CHECK(body);
  ir_toposort(ir, &body, 1, &k.prog);
  c_type(d, lanes, type);
  sb_printf(o, "%s tgc_%s_%s(%s x) {\n", type, libm[op], c_suffix(d, lanes, sfx), type);
  const char *last = put_program(ir, &k, t, &a, o);
  sb_printf(o, "  return %s;\n}\n", last);
  arena_free(&a);
  VEC_FREE(&k.prog);
}

/* ---- what has a vector form ---- */
static bool c_supports(const Target *t, Op op, DType d, DType from, int lanes) {
  const bool dot = (d == DT_I32 && (from == DT_U8 || from == DT_I8)) || (d == DT_F32 && from == DT_BF16);
  if (op == OP_SCALB) return target_scales(t, from, lanes);
  if (lanes == 1) return op != OP_DOT || dot;
  bool f = from == DT_F32 || from == DT_F64, i = from == DT_I32 || from == DT_U32 || from == DT_I64 || from == DT_U64,
       b = from == DT_BOOL;
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
  case OP_SHL: case OP_SHR: return i;
  case OP_CAST:
    if (from == DT_F16 || d == DT_F16) return from == DT_F32 || d == DT_F32;
    if (from == DT_BF16 || d == DT_BF16) return from == DT_F32 || d == DT_F32;
    return !(dt_float(from) && dt_int(d)) || (from == DT_F32 && d == DT_I32);
  default: return decomp_has(op, from);
  }
}

/* clang-format off */
static const CodeForm forms[] = {
  { "c", EMIT_TEXT, "%.c",  "$(B)/%.o: %.c %.h tgcrt.h\n\t@mkdir -p $(B)\n\t$(CC) $(CFLAGS) $(NETFLAGS) $(WARN) $(PIC) -c -o $@ %.c\n",
    "$(B)/%.o ", "rm -f $@", "", "%.c ", "COMPILE_FLAGS \"-O3 ${NETFLAGS}\"", "", "" },
  { .word = NULL },
};
/* clang-format on */

const Backend c_backend = { .name = "c",
                            .gloss = "C99 with GNU vector types, or plain C99",
                            .comment = { "/* ", " */" },
                            .model = "net.c.in",
                            .forms = forms,
                            .makes = EMIT_TEXT,
                            .files = host_files,
                            .variant = "variant.c.in",
                            .supports = c_supports,
                            .kernel = c_kernel,
                            .prelude = c_prelude };

/* SPDX-License-Identifier: MIT */
/* exprs.c: prints values of a program as expressions of a language like C. This code prints what all such languages share:
 * names, precedence, constants, arithmetic that wraps, addresses. Forms of the dialect print the rest, or calls of helpers. A
 * helper has the same name in all languages, such as tgc_max_f32x8; helpers.c defines it. Only numbers of the model reach the
 * text. */
#include "cstyle.h"
#include "../compiler/lower/lower.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- types ---- */
/* Lanes of bools are integers; halves are moved as integers. */
static DType in_register(DType d) { return d == DT_BOOL ? DT_I32 : d == DT_F16 || d == DT_BF16 ? DT_U16 : d; }
static DType moved(DType d) { return d == DT_F16 || d == DT_BF16 ? DT_U16 : d; }

static DType as_wide(DType d, char cls) { /* the type of class cls with as many bits */
  for (int t = DT_NONE + 1; t < DT_COUNT; t++)
    if (dtype_info[t].cls == cls && dtype_info[t].bits == dtype_info[d].bits) return (DType)t;
  BUG("no type of class %c is as wide as %s", cls, dtype_info[d].text);
}

const char *dialect_type(const Dialect *l, DType d, int lanes, char buf[32]) {
  int n = 0;
  if (lanes == 1) {
    snprintf(buf, 32, "%s", d == DT_BOOL ? l->truth : l->type[d]);
    return buf;
  }
  d = in_register(d);
  for (const char *s = l->vector; *s; s++) {
    CHECK(n < 16);
    if (*s != '$') n += snprintf(buf + n, 32 - (size_t)n, "%c", *s);
    else if (*++s == 'N') n += snprintf(buf + n, 32 - (size_t)n, "%d", lanes);
    else n += snprintf(buf + n, 32 - (size_t)n, "%s", *s == 'D' ? dtype_info[d].text : l->type[d]);
  }
  return buf;
}

const char *type_suffix(DType d, int lanes, char buf[32]) {
  if (lanes == 1) snprintf(buf, 32, "%s", dtype_info[d].text);
  else snprintf(buf, 32, "%sx%d", dtype_info[d].text, lanes);
  return buf;
}

/* ---- forms ---- */
const char *dialect_word(const Dialect *l, Sb *o, const char *s, DType d, int lanes) {
  const size_t n = s[0] == '(' ? strcspn(s, ")") : s[0] == 'M' ? strcspn(s, ")") : 0; /* length of a word with brackets */
  char text[32];
  switch (*s) {
  case 'T': sb_puts(o, dialect_type(l, d, lanes, text)); break;
  case 'H': sb_puts(o, dialect_type(l, d, lanes / 2, text)); break;
  case 'S': sb_puts(o, type_suffix(d, lanes, text)); break;
  case 'E': sb_puts(o, l->type[d]); break;
  case 'D': sb_puts(o, dtype_info[d].text); break;
  case 'U': sb_puts(o, dialect_type(l, as_wide(d, 'u'), lanes, text)); break;
  case 'I': sb_puts(o, dialect_type(l, as_wide(d, 'i'), lanes, text)); break;
  case 'F': sb_puts(o, l->type[as_wide(d, 'f')]); break;
  case 'B': sb_printf(o, "%d", dtype_info[d].bits); break;
  case 'N': sb_printf(o, "%d", lanes); break;
  case 'P': sb_printf(o, "%d", lanes * 2); break;
  case 'Q': sb_printf(o, "%d", lanes * 4); break;
  case 'L':
    for (int i = 0; i < lanes; i++) sb_printf(o, i ? ", %d" : "%d", i);
    break;
  case 'V':
  case 'W': /* lanes of the lower half, and of the upper one */
    for (int i = 0; i < lanes / 2; i++) sb_printf(o, i ? ", %d" : "%d", i + (*s == 'W' ? lanes / 2 : 0));
    break;
  case 'M': sb_printf(o, "%.*s%s", (int)n - 2, s + 2, d == DT_F32 ? l->single : ""); break;
  case '(': sb_puts(o, l->type[dtype_from_text(s + 1, n - 1)]); break;
  default: BUG("a form has no word $%c", *s);
  }
  return s + n + 1;
}

/* The values that replace the words of a form. */
typedef struct Fill {
  DType d, from;           /* types of the result and of the first operand */
  int lanes, from_lanes;
  const char *tight[3], *loose[3];
  int64_t number;
  DType memory;            /* type of elements in memory, for forms with $m */
  bool read, shared;
} Fill;

static void put_form(const Render *w, Sb *o, const char *form, const Fill *f) {
  char text[32];
  for (const char *s = form, *word; *s; s = word) {
    const size_t n = strcspn(s, "$");
    sb_put(o, s, n);
    word = s + n;
    if (!*word) return;
    const char at = *++word;
    if (at >= '0' && at <= '2') sb_puts(o, f->tight[at - '0']);
    else if (at >= 'a' && at <= 'c') sb_puts(o, f->loose[at - 'a']);
    else if (at == 't') sb_puts(o, dialect_type(w->l, f->from, f->from_lanes, text));
    else if (at == 's') sb_puts(o, type_suffix(f->from, f->from_lanes, text));
    else if (at == 'd') sb_put(o, &"xyz"[f->number], 1);
    else if (at == 'k') sb_printf(o, "%lld", (long long)f->number);
    else if (at == 'x') sb_printf(o, "%llx", (unsigned long long)f->number);
    else if (at == 'q') sb_puts(o, f->read ? "const " : "");
    else if (at == 'g') sb_puts(o, f->shared ? w->l->shared : w->l->global);
    else if (at == 'm') sb_puts(o, type_suffix(f->memory, f->lanes, text));
    else {
      word = dialect_word(w->l, o, word, f->d, f->lanes);
      continue;
    }
    word++;
  }
}

/* Prints a form whose only operand is text. */
static void put_one(const Render *w, Sb *o, const char *form, DType d, int lanes, const char *text) {
  put_form(w, o, form, &(Fill){ .d = d, .lanes = lanes, .tight = { text }, .loose = { text } });
}

static const char *keep_text(Render *w, Sb *s) { /* frees s */
  const char *text = arena_str(&w->a, s->p ? s->p : "", s->n);
  sb_free(s);
  return text;
}

/* ---- operands ---- */
const char *arg_as(Render *w, const Node *x, int k, int allowed) {
  const uint32_t at = refmap_get(&w->at, x->src[k]);
  CHECK(at && w->text[at - 1]);
  return w->prec[at - 1] <= allowed ? w->text[at - 1] : arena_printf(&w->a, "(%s)", w->text[at - 1]);
}

static Fill fill_of(Render *w, const Node *x) {
  const Node *first = node(w->ir, x->src[0]);
  Fill f = { .d = (DType)x->dt, .from = (DType)first->dt, .lanes = x->lanes, .from_lanes = first->lanes };
  for (int k = 0; k < x->nsrc && k < 3; k++) f.tight[k] = arg(w, x, k), f.loose[k] = inside(w, x, k);
  return f;
}

static void put_op(Render *w, Sb *o, const char *form, const Node *x) {
  const Fill f = fill_of(w, x);
  put_form(w, o, form, &f);
}

/* The same for moves, in which halves are integers. */
static void put_move(Render *w, Sb *o, const char *form, const Node *x) {
  Fill f = fill_of(w, x);
  f.d = moved(f.d);
  put_form(w, o, form, &f);
}

int unwrap(Sb *e, const Node *x) {
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

/* ---- constants ---- */
static void put_digits(const Render *w, Sb *o, const char *form, const char *digits) { put_one(w, o, form, DT_I64, 1, digits); }

static void put_float(const Render *w, Sb *o, DType d, double v) {
  char b[40];
  if (isnan(v)) sb_printf(o, d == DT_F32 ? "NAN" : "(%s)NAN", w->l->type[d]);
  else if (isinf(v)) sb_printf(o, "%sINFINITY", v < 0 ? "-" : "");
  if (!isfinite(v)) return;
  snprintf(b, sizeof b, d == DT_F32 ? "%.9g" : "%.17g", v);
  for (int p = 1; p < 9 && d == DT_F32; p++) { /* the shortest text that reads back */
    char s[40];
    snprintf(s, sizeof s, "%.*g", p, v);
    if (strtof(s, NULL) == (float)v) { memcpy(b, s, sizeof b); break; }
  }
  for (char *c = b; *c; c++)
    if (*c == ',') *c = '.';
  if (!strpbrk(b, ".e")) strcat(b, ".0");
  sb_printf(o, "%s%s", b, d == DT_F32 ? "f" : "");
}

static void put_const(const Render *w, Sb *o, DType d, int64_t bits) {
  const Dialect *l = w->l;
  char digits[32];
  snprintf(digits, sizeof digits, dtype_info[d].cls == 'u' ? "%llu" : "%lld", (unsigned long long)bits);
  switch (d) {
  case DT_F32: case DT_F64: put_float(w, o, d, bits_to_double(d, bits)); return;
  case DT_I64:
    if (bits == INT64_MIN) sb_puts(o, l->least64);
    else put_digits(w, o, bits > INT32_MAX || bits < INT32_MIN ? l->i64 : "$a", digits);
    return;
  case DT_U64: put_digits(w, o, l->u64, digits); return;
  case DT_I32: sb_puts(o, bits == INT32_MIN ? l->least32 : digits); return;
  case DT_U32: put_digits(w, o, "$au", digits); return;
  default: sb_printf(o, "%lld", (long long)bits); return;
  }
}

/* ---- arithmetic ---- */
static bool bounded(const Node *x) { return x->vmin != INT64_MIN && x->vmax != INT64_MAX; }
/* Among values of i32 are indices, which do not wrap. */
static bool narrow_indices(const Target *t) { return t->dev || target_counts_in_32(t); }
static bool narrow(DType d) { return dtype_info[d].bits < 32; }

static void put_infix(Render *w, Sb *o, const Node *x) {
  bool sum = x->op == OP_ADD || x->op == OP_SUB, product = x->op == OP_MUL;
  const char *op = x->dt == DT_BOOL && product ? "&" : op_info[x->op].c;
  const Node *c = node(w->ir, rhs(x));
  if (x->op == OP_ADD && c->op == OP_CONST && (c->dt == DT_I64 || (c->dt == DT_I32 && narrow_indices(w->t))) &&
      const_value(c) < 0 && const_value(c) > INT32_MIN) {
    sb_printf(o, "(%s - %lld)", arg_as(w, x, 0, SUM), -(long long)const_value(c));
    return;
  }
  sb_printf(o, "(%s %s %s)", arg_as(w, x, 0, sum ? SUM : product ? PRODUCT : ATOM), op, arg_as(w, x, 1, sum ? PRODUCT : ATOM));
}

/* The type in which integer arithmetic wraps. */
static const char *wrapping(const Render *w, DType d) { return w->l->type[d == DT_I64 || d == DT_U64 ? DT_U64 : DT_U32]; }

/* A value as unsigned integers, whose arithmetic wraps. */
static const char *as_unsigned(Render *w, DType d, int lanes, const char *text) {
  Sb s = { 0 };
  if (lanes == 1) sb_printf(&s, "(%s)%s", wrapping(w, d), text);
  else put_one(w, &s, w->l->bits, as_wide(d, 'u'), lanes, text);
  return keep_text(w, &s);
}

/* Converts the result of an operation on as_unsigned back. */
static const char *wrapped(Render *w, DType d, int lanes, const char *text) {
  Sb s = { 0 };
  if (lanes == 1) sb_printf(&s, "(%s)(%s)", w->l->type[d], text);
  else put_one(w, &s, w->l->bits, d, lanes, arena_printf(&w->a, "(%s)", text));
  return keep_text(w, &s);
}

static const char *wrapped_op(Render *w, Op op, DType d, int lanes, const char *a, const char *b) {
  a = as_unsigned(w, d, lanes, a);
  return wrapped(w, d, lanes, arena_printf(&w->a, "%s %s %s", a, op_info[op].c, as_unsigned(w, d, lanes, b)));
}

/* Whether an operation may overflow: signed arithmetic, and scalars of few bits, which are promoted to int. */
static bool overflows(DType d, int lanes) { return dt_int(d) && (dtype_info[d].cls == 'i' || (lanes == 1 && narrow(d))); }

/* Integer arithmetic wraps: it is unsigned unless bounds prove that nothing overflows. */
static void put_int(Render *w, Sb *o, const Node *x) {
  const DType d = (DType)x->dt;
  const bool sum = x->op == OP_ADD || x->op == OP_SUB || x->op == OP_MUL;
  const bool exact = d == DT_I64 ? bounded(x) && bounded(node(w->ir, lhs(x))) && bounded(node(w->ir, rhs(x)))
                                 : d == DT_I32 && sum && narrow_indices(w->t) && node_is_exact(w->ir, x);
  if (exact || !overflows(d, x->lanes) || (x->lanes > 1 && !sum)) put_infix(w, o, x);
  else sb_puts(o, wrapped_op(w, (Op)x->op, d, x->lanes, arg(w, x, 0), arg(w, x, 1)));
}

static void put_neg(Render *w, Sb *o, const Node *x) {
  const DType d = (DType)x->dt;
  const char *a = arg(w, x, 0);
  if (dt_int(d) && (x->lanes == 1 || overflows(d, x->lanes)))
    sb_puts(o, wrapped(w, d, x->lanes, arena_printf(&w->a, x->lanes > 1 ? "-%s" : "0 - %s", as_unsigned(w, d, x->lanes, a))));
  else sb_printf(o, *a == '-' ? "(-(%s))" : "(-%s)", a);
}

static void put_abs(Render *w, Sb *o, const Node *x) {
  const DType d = (DType)x->dt;
  const char *a = arg(w, x, 0), *u = wrapping(w, d);
  if (x->lanes > 1) put_op(w, o, "tgc_abs_$S($0)", x);
  else if (dt_float(d)) put_op(w, o, "$M(fabs)($0)", x);
  else if (dtype_info[d].cls == 'i') sb_printf(o, "(%s)(%s < 0 ? 0 - (%s)%s : (%s)%s)", w->l->type[d], a, u, a, u, a);
  else sb_puts(o, a);
}

static void put_not(Render *w, Sb *o, const Node *x) {
  const DType d = (DType)x->dt;
  const bool cut = narrow(d) && x->lanes == 1;
  if (x->lanes == 1 && d == DT_BOOL) sb_printf(o, "(!%s)", arg(w, x, 0)); /* gcc and clang warn of !a & b */
  else put_op(w, o, cut ? "($E)~$0" : "(~$0)", x);
}

/* An integer quotient or remainder, rounded down. */
static void put_floor_div(Render *w, Sb *o, const Node *x) {
  static const char *const form[][2] = { { "tgc_flmod_$S($0, $1)", "tgc_umod_$S($0, $1)" },
                                         { "tgc_fldiv_$S($0, $1)", "tgc_udiv_$S($0, $1)" } };
  int64_t c;
  const bool div = x->op == OP_FLDIV, plain = node(w->ir, lhs(x))->vmin >= 0 && node_is_const(w->ir, rhs(x), &c) && c > 0;
  if (plain) sb_printf(o, "(%s %s %s)", arg(w, x, 0), op_info[x->op].c, arg(w, x, 1));
  else put_op(w, o, form[div][dtype_info[x->dt].cls == 'u'], x);
}

/* Helium: gcc 12 makes no vector instructions of operators that compare, nor one of a product and a sum. */
static bool by_function(const Render *w, DType d, int lanes) { return w->t->features & FEAT_MVE && d == DT_F32 && lanes == 4; }

static void put_compare(Render *w, Sb *o, const Node *x) {
  const Node *a = node(w->ir, lhs(x));
  const bool truths = x->lanes > 1 && a->dt == DT_BOOL;
  /* lanes of bools are 0 and -1, so the order of their values is reversed */
  const int first = truths && (x->op == OP_CMPLT || x->op == OP_CMPLE);
  if (by_function(w, (DType)a->dt, x->lanes)) {
    static const char *const name[OP_COUNT] = { [OP_CMPLT] = "lt", [OP_CMPLE] = "le", [OP_CMPEQ] = "eq", [OP_CMPNE] = "ne" };
    sb_printf(o, "tgc_cmp%s_f32x4(%s, %s)", name[x->op], inside(w, x, 0), inside(w, x, 1));
    return;
  }
  const char *text = arena_printf(&w->a, "%s %s %s", arg(w, x, first), op_info[x->op].c, arg(w, x, !first));
  if (x->lanes > 1 && !truths) put_one(w, o, w->l->mask, (DType)a->dt, x->lanes, text);
  else sb_printf(o, "(%s)", text);
}

static bool const_not_nan(const IR *ir, Ref r) {
  int64_t bits;
  return node_is_const(ir, r, &bits) && !isnan(bits_to_double((DType)node(ir, r)->dt, bits));
}

/* The function for OP_MAX or OP_MIN. It needs no test for NaN if the second operand is none, nor for integers and bools. */
static const char *greater_or_less(Op op, DType d, int lanes, bool no_nan) {
  static const char *const name[][3] = { { "max", "maxc", "imax" }, { "min", "minc", "imin" } };
  return name[op == OP_MIN][!dt_float(d) && lanes > 1 ? 2 : !dt_float(d) || no_nan];
}

static const char *greater_text(Render *w, Op op, DType d, int lanes, bool no_nan, const char *a, const char *b) {
  char sfx[32];
  return arena_printf(&w->a, "tgc_%s_%s(%s, %s)", greater_or_less(op, d, lanes, no_nan), type_suffix(d, lanes, sfx), a, b);
}

const char *combined(Render *w, Op op, DType d, int lanes, const char *a, const char *b) {
  if ((op == OP_ADD || op == OP_MUL) && overflows(d, lanes)) return wrapped_op(w, op, d, lanes, a, b);
  if (op == OP_ADD || op == OP_MUL) return arena_printf(&w->a, "%s %s %s", a, op_info[op].c, b);
  return greater_text(w, op, d, lanes, false, a, b);
}

static void put_max(Render *w, Sb *o, const Node *x) { /* max(x, c) is x where x is NaN */
  const DType d = (DType)x->dt;
  if (d == DT_BOOL) put_op(w, o, x->op == OP_MAX ? "($0 | $1)" : "($0 & $1)", x);
  else sb_puts(o, greater_text(w, (Op)x->op, d, x->lanes, const_not_nan(w->ir, rhs(x)), inside(w, x, 0), inside(w, x, 1)));
}

static void put_where(Render *w, Sb *o, const Node *x) {
  if (x->lanes == 1) put_op(w, o, "($0 ? $1 : $2)", x);
  else if (x->dt == DT_BOOL) put_op(w, o, "(($0 & $1) | (~$0 & $2))", x);
  else put_move(w, o, "tgc_sel_$S($a, $b, $c)", x);
}

static void put_dot(Render *w, Sb *o, const Node *x) {
  const Node *a = node(w->ir, dot_x(x)), *b = node(w->ir, dot_y(x));
  const char *kind = a->dt == DT_I8 ? "s" : a->dt == DT_I16 ? "w" : b->dt == DT_U8 ? "u" : "";
  const int group = b->lanes / x->lanes;
  const char *halves = group > 4 ? "q" : x->lanes == 1 && group == 4 && w->t->features & FEAT_DSP ? "h" : "";
  char sfx[32];
  sb_printf(o, "tgc_%sdot%s%s%s_%s(%s, %s, %s)", kind, dt_float((DType)x->dt) ? "bf" : "", halves,
            a->lanes > group ? "v" : "", type_suffix((DType)x->dt, x->lanes, sfx), inside(w, x, 0), inside(w, x, 1),
            inside(w, x, 2));
}

/* A function of several types: a helper, or one of math.h. */
static void put_function(Render *w, Sb *o, const Node *x) {
  static const char *const vector[OP_COUNT] = {
    [OP_SQRT] = "sqrt", [OP_ROUND] = "round", [OP_FLOOR] = "floor", [OP_CEIL] = "ceil", [OP_TRUNC] = "trunc"
  };
  const DType d = (DType)x->dt;
  char sfx[32];
  if (libm_has((Op)x->op, d)) sb_printf(o, "tgc_%s_%s(%s)", op_info[x->op].libm, type_suffix(d, x->lanes, sfx), inside(w, x, 0));
  else if (x->lanes > 1 && vector[x->op])
    sb_printf(o, "tgc_%s_%s(%s)", vector[x->op], type_suffix(d, x->lanes, sfx), arg(w, x, 0));
  else if (op_info[x->op].libm && dt_float(d) && x->lanes == 1) {
    const char *name = x->op == OP_ROUND ? w->l->nearest : op_info[x->op].libm;
    sb_printf(o, "%s%s(%s", name, d == DT_F32 ? w->l->single : "", inside(w, x, 0));
    for (int k = 1; k < x->nsrc; k++) sb_printf(o, ", %s", inside(w, x, k));
    sb_puts(o, ")");
  } else BUG("languages like C have no text for %s of %s x %d", op_info[x->op].name, dtype_info[d].text, x->lanes);
}

/* ---- conversions ---- */
bool fits_i32(const IR *ir, const Node *x) {
  if (x->op == OP_ROUND) x = node(ir, operand(x));
  for (int k = 0; k < 2; k++, x = node(ir, lhs(x))) {
    if (x->dt != DT_F32 || x->op != (k ? OP_MAX : OP_MIN)) return false;
    const Node *c = node(ir, rhs(x));
    if (c->op == OP_BCAST) c = node(ir, operand(c));
    if (c->op != OP_CONST || !(fabs(bits_to_double(DT_F32, const_value(c))) < 2147483648.0)) return false;
  }
  return true;
}

const Node *packed_rounding(const IR *ir, const Target *t, const Node *x) {
  if (x->op != OP_CAST || !dt_int((DType)x->dt) || dtype_info[x->dt].bits != 8 || !target_packs(t, x->lanes)) return NULL;
  const Node *c = node(ir, operand(x));
  if (c->op != OP_CAST || c->dt != DT_I32) return NULL;
  const Node *r = node(ir, operand(c));
  return r->op == OP_ROUND && fits_i32(ir, r) ? r : NULL;
}

/* The form that converts lanes: a call of a helper, or the language's conversion if that suffices. */
static const char *cast_lanes(const Render *w, const Node *x, DType from, DType to) {
  if (to == DT_I32 && fits_i32(w->ir, node(w->ir, operand(x)))) return "tgc_int_$s($a)";
  if (dt_float(from) && dt_int(to)) return "tgc_cast$D_$s($a)";
  if (to == DT_I32 && dtype_info[from].bits == 8) return from == DT_U8 ? "tgc_widenu_$s($a)" : "tgc_widen_$s($a)";
  return from == DT_I32 && dtype_info[to].bits == 8 ? "tgc_narrow_$S($a)" : w->l->convert;
}

static void put_vector_cast(Render *w, Sb *o, const Node *x, const Fill *f) {
  Sb s = { 0 };
  if (f->from == DT_BOOL) put_one(w, o, w->l->convert, f->d, f->lanes, arena_printf(&w->a, "%s & 1", f->tight[0]));
  else if (f->d == DT_BOOL) {
    sb_printf(&s, "%s != ", f->tight[0]);
    put_one(w, &s, w->l->zero, f->from, f->lanes, "");
    put_one(w, o, w->l->mask, f->from, f->lanes, keep_text(w, &s));
  } else put_form(w, o, cast_lanes(w, x, f->from, f->d), f);
}

/* The rounding that a conversion to an integer may do itself: x's operand, if nothing else uses it; NULL: there is none. */
static const Node *rounding_of(const Render *w, const Node *x) {
  const Node *n = node(w->ir, operand(x));
  if (x->lanes > 1 || n->op != OP_ROUND || !target_rounds_to_int(w->t, (DType)n->dt, (DType)x->dt)) return NULL;
  return w->use[refmap_get(&w->at, operand(x)) - 1].named ? NULL : n;
}

static void put_cast(Render *w, Sb *o, const Node *x) {
  const Node *packed = packed_rounding(w->ir, w->t, x);
  if (packed) {
    char sfx[32];
    sb_printf(o, "tgc_pack_%s(%s)", type_suffix((DType)x->dt, x->lanes, sfx), inside(w, packed, 0));
    return;
  }
  const Fill f = fill_of(w, x);
  const DType from = f.from, to = f.d;
  const Node *round = rounding_of(w, x);
  if (round) sb_printf(o, "tgc_round%s_f32(%s)", dtype_info[to].text, inside(w, round, 0));
  else if (from == DT_F16 && target_converts_halves(w->t)) put_form(w, o, "tgc_fromh_$s($a)", &f);
  else if (to == DT_F16 && target_converts_halves(w->t)) put_form(w, o, "tgc_toh_$S($a)", &f);
  else if (from == DT_F16) put_form(w, o, "tgc_from_$s($a)", &f);
  else if (to == DT_F16) put_form(w, o, "tgc_to_$S($a)", &f);
  else if (from == DT_BF16) put_form(w, o, "tgc_frombf_$s($a)", &f);
  else if (to == DT_BF16) put_form(w, o, target_rounds(w->t, x->lanes) ? "tgc_tobfz_$S($a)" : "tgc_tobf_$S($a)", &f);
  else if (x->lanes > 1) put_vector_cast(w, o, x, &f);
  else if (to == DT_BOOL) put_form(w, o, "($0 != 0)", &f);
  else if (dt_float(from) && dt_int(to)) put_form(w, o, "tgc_cast$D_$s($a)", &f);
  else put_form(w, o, "($E)$0", &f);
}

static void put_bits(Render *w, Sb *o, const Node *x) {
  const bool to = dt_float((DType)x->dt), from = dt_float((DType)node(w->ir, operand(x))->dt);
  if (x->lanes > 1) put_op(w, o, w->l->bits, x);
  else if (to == from) put_op(w, o, "($E)$0", x);
  else if (to) put_op(w, o, "tgc_float_$s($a)", x);
  else if (dtype_info[x->dt].cls == 'u') put_op(w, o, "($E)tgc_bits_$s($a)", x); /* the helper's result is signed */
  else put_op(w, o, "tgc_bits_$s($a)", x);
}

/* ---- memory ---- */
static void put_buffer(const Render *w, Sb *o, int64_t buf) {
  if (buf == PARAMETER) sb_puts(o, "x");
  /* by its place among the parameters, so that equal kernels have equal text */
  for (size_t i = 0; i < w->k->bufs.n; i++)
    if (w->k->bufs.p[i] == buf) sb_printf(o, "b%zu", i);
  for (size_t i = 0; i < w->k->locals.n; i++)
    if (w->k->locals.p[i] == buf) sb_printf(o, "p%zu", i);
}

static bool is_written(const Render *w, int64_t buf) {
  bool written = buf_is_own(w->ir->bufs.p[buf].kind);
  for (size_t k = 0; k < w->k->written.n; k++) written |= w->k->written.p[k] == buf;
  return written;
}

/* Whether a vector's address is known to be aligned: a multiple of its lanes, in aligned memory. w->aligned is set only for
 * programs with threads, because CPUs load unaligned vectors as fast. */
static bool is_aligned(const Render *w, const Node *access, int lanes) {
  const int64_t id = buffer_id(node(w->ir, access_buffer(access)));
  bool yes = w->ir->bufs.p[id].kind == BUF_SHARED && w->l->aligned;
  if (!w->aligned || !w->l->load_aligned) return false;
  for (size_t i = 0; i < w->k->bufs.n; i++) yes |= w->k->bufs.p[i] == id && w->aligned[i];
  return yes && ix_is_multiple(w->ir, access_index(access), lanes);
}

static void put_vector_memory(Render *w, Sb *o, const Node *x, int lanes, const char *value) {
  const Node *buffer = node(w->ir, access_buffer(x));
  const DType d = (DType)buffer->dt;
  int64_t at;
  const bool first = node_is_const(w->ir, access_index(x), &at) && !at;
  const char *b = arg(w, x, 0), *sum = first ? b : arena_printf(&w->a, "%s + %s", b, arg_as(w, x, 1, SUM));
  const DType memory = d == DT_BOOL ? DT_U8 : moved(d);
  const Fill f = { .d = memory, .lanes = lanes, .memory = memory, .read = !is_written(w, buffer_id(buffer)),
                   .shared = w->ir->bufs.p[buffer_id(buffer)].kind == BUF_SHARED,
                   .tight = { first ? b : arena_printf(&w->a, "(%s)", sum) }, .loose = { sum, "", value } };
  const bool aligned = is_aligned(w, x, lanes);
  put_form(w, o, value ? (aligned ? w->l->store_aligned : w->l->store) : aligned ? w->l->load_aligned : w->l->load, &f);
}

/* buffer[index], or with a value, an assignment to it. */
static void put_memory(Render *w, Sb *o, const Node *x, int lanes, const char *value) {
  if (lanes > 1) put_vector_memory(w, o, x, lanes, value);
  else sb_printf(o, "%s[%s]%s%s", arg(w, x, 0), inside(w, x, 1), value ? " = " : "", value ? value : "");
}

static void put_load(Render *w, Sb *o, const Node *x) {
  const bool gated = load_gate(x), truths = x->lanes > 1 && x->dt == DT_BOOL;
  Sb bytes = { 0 };
  if (gated) sb_printf(o, "(%s ? ", arg(w, x, 2));
  if (gated && x->lanes > 1 && !truths) put_one(w, o, w->l->loaded, (DType)x->dt, x->lanes, "");
  put_memory(w, truths ? &bytes : o, x, x->lanes, NULL);
  if (truths) put_one(w, o, w->l->truth_from, DT_BOOL, x->lanes, keep_text(w, &bytes));
  if (gated) sb_printf(o, " : %s)", arg(w, x, 3));
}

/* Whether a C compiler takes the text of a truth for an int of any value: the text is a variable, or no comparison */
static bool is_any_int(const Node *v, const char *text) {
  const bool compares = v->op == OP_CMPLT || v->op == OP_CMPLE || v->op == OP_CMPEQ || v->op == OP_CMPNE;
  return v->op != OP_CONST && (!compares || !strchr(text, ' '));
}

void put_store(Render *w, Sb *o, const Node *x) {
  const Node *v = node(w->ir, store_value(x));
  const char *value = inside(w, x, 2);
  Sb bytes = { 0 };
  if (store_gate(x)) sb_printf(o, "if (%s) ", inside(w, x, 3));
  if (v->lanes > 1 && v->dt == DT_BOOL) {
    put_one(w, &bytes, w->l->truth_to, DT_BOOL, v->lanes, arg(w, x, 2));
    value = keep_text(w, &bytes);
  } else if (v->dt == DT_BOOL && is_any_int(v, value)) {
    sb_printf(&bytes, "(%s)%s", w->l->type[DT_BOOL], arg(w, x, 2));
    value = keep_text(w, &bytes);
  }
  put_memory(w, o, x, v->lanes, value);
}

/* Elements of a spilled tile. */
static void put_part(Render *w, Sb *o, const Node *x) {
  const char *sum = arena_printf(&w->a, "%s + %s", arg(w, x, 0), arg_as(w, x, 1, SUM));
  const Fill f = { .d = (DType)x->dt, .lanes = x->lanes, .memory = (DType)x->dt, .read = true,
                   .tight = { arena_printf(&w->a, "(%s)", sum) }, .loose = { sum } };
  if (x->lanes > 1) put_form(w, o, w->l->load, &f);
  else sb_printf(o, "%s[%s]", arg(w, x, 0), inside(w, x, 1));
}

void put_prefetch(Render *w, Sb *o, const Node *x) {
  Fill f = fill_of(w, x);
  f.number = prefetch_near(x) ? 3 : 2;
  put_form(w, o, w->l->prefetch, &f);
}

void put_kept(Render *w, Sb *o, const char *name) { put_one(w, o, w->l->keep, DT_NONE, 1, name); }

void put_numbered(const Render *w, Sb *o, const char *form, int64_t number) {
  put_form(w, o, form, &(Fill){ .number = number });
}

void put_buffer_form(const Render *w, Sb *o, const char *form, size_t i, int before, bool read, bool restricted) {
  const DType d = i < w->k->bufs.n ? w->ir->bufs.p[w->k->bufs.p[i]].dt : DT_I64;
  char text[12];
  snprintf(text, sizeof text, "%d", before);
  put_form(w, o, form, &(Fill){ .d = d, .lanes = 1, .tight = { restricted ? w->l->restricted : "" }, .loose = { text },
                                .number = (int64_t)i, .read = read });
}

void put_loop_head(Render *w, Sb *o, DType d, const char *name, const char *begin, const char *end) {
  put_form(w, o, w->l->loop, &(Fill){ .d = d, .lanes = 1, .tight = { name }, .loose = { begin, end } });
}

static void put_exchange(Render *w, Sb *o, const Node *x) {
  Fill f = fill_of(w, x);
  f.number = shflxor_mask(x);
  put_form(w, o, w->l->exchange, &f);
}

/* ---- vectors ---- */
const char *lane_text(Render *w, DType d, const char *vector, int64_t lane) {
  Sb s = { 0 };
  put_form(w, &s, w->l->lane, &(Fill){ .d = d, .lanes = 1, .tight = { vector }, .loose = { vector }, .number = lane });
  if (d == DT_BOOL) sb_puts(&s, " & 1)");
  return arena_printf(&w->a, "%s%s", d == DT_BOOL ? "(" : "", keep_text(w, &s));
}

static void put_list(Render *w, Sb *o, const Node *x) {
  put_one(w, o, w->l->list[0], (DType)x->dt, x->lanes, "");
  for (int k = 0; k < x->lanes; k++) sb_printf(o, x->dt == DT_BOOL ? "%s-(%s)" : "%s%s", k ? ", " : "", inside(w, x, k));
  sb_puts(o, w->l->list[1]);
}

static bool in_order_from(const Node *x, int first) { /* whether the lanes of a shuffle are consecutive from `first` on */
  for (int i = 0; i < x->lanes; i++)
    if (shuffle_lanes(x, i) != first + i) return false;
  return true;
}

/* Prints lane by lane */
static void put_lanes(Render *w, Sb *o, const Node *x, int n) {
  const DType d = (DType)x->dt;
  put_one(w, o, w->l->list[0], d, x->lanes, "");
  for (int i = 0; i < x->lanes; i++) {
    const int64_t lane = shuffle_lanes(x, i);
    sb_printf(o, d == DT_BOOL ? "%s-%s" : "%s%s", i ? ", " : "", lane_text(w, d, arg(w, x, lane >= n), lane % n));
  }
  sb_puts(o, w->l->list[1]);
}

const char *picked_lanes(Render *w, DType d, int lanes, const char *a, const char *numbers) {
  const Fill f = { .d = d, .from = d, .lanes = lanes, .from_lanes = lanes, .tight = { a, a }, .loose = { a, a } };
  Sb s = { 0 };
  put_form(w, &s, w->l->pick[0], &f);
  sb_puts(&s, numbers);
  put_form(w, &s, w->l->pick[1], &f);
  return keep_text(w, &s);
}

/* shuffle.c makes these: two vectors joined, half of a vector, or a choice from two vectors. A dump may have others. */
static void put_shuffle(Render *w, Sb *o, const Node *x) {
  const int n = node(w->ir, lhs(x))->lanes;
  Fill f = fill_of(w, x);
  f.d = f.from = moved(f.d);
  if (x->lanes == 2 * n && in_order_from(x, 0)) {
    put_form(w, o, "tgc_join_$S($a, $b)", &f);
  } else if (2 * x->lanes == n && in_order_from(x, shuffle_lanes(x, 0) ? n / 2 : 0)) {
    put_form(w, o, shuffle_lanes(x, 0) ? "tgc_hi_$s($a)" : "tgc_lo_$s($a)", &f);
  } else if (x->lanes == n && w->l->pick[0]) {
    put_form(w, o, w->l->pick[0], &f);
    for (int i = 0; i < n; i++) sb_printf(o, "%s%lld", i ? ", " : "", (long long)shuffle_lanes(x, i));
    put_form(w, o, w->l->pick[1], &f);
  } else {
    put_lanes(w, o, x, n);
  }
}

/* ---- one op ---- */
void put_expr(Render *w, Sb *o, const Node *x) {
  const DType d = (DType)x->dt;
  const bool fl = dt_float(d), is_unsigned = dtype_info[d].cls == 'u';
  if (d == DT_F16 && (x->op == OP_ADD || x->op == OP_MUL)) { /* vectors, as legalize.c says */
    put_op(w, o, x->op == OP_ADD ? "tgc_hadd_$S($a, $b)" : "tgc_hmul_$S($a, $b)", x);
    return;
  }
  if ((x->op == OP_MUL || x->op == OP_MULACC) && multiplies_words(w->ir, w->t, x)) {
    put_op(w, o, x->op == OP_MUL ? "tgc_wmul_$S($a, $b)" : "tgc_wmulacc_$S($a, $b, $c)", x);
    return;
  }
  switch ((Op)x->op) {
  case OP_CONST: put_const(w, o, d, const_value(x)); return;
  case OP_BUFFER: put_buffer(w, o, buffer_id(x)); return;
  case OP_GET: sb_puts(o, arg(w, x, 0)); return;
  case OP_CAST: put_cast(w, o, x); return;
  case OP_LOAD: put_load(w, o, x); return;
  case OP_BCAST: put_move(w, o, d == DT_BOOL ? w->l->truth_splat : "tgc_splat_$S($a)", x); return;
  case OP_VEC: put_list(w, o, x); return;
  case OP_LANE: sb_puts(o, lane_text(w, d, arg(w, x, 0), lane_lane(x))); return;
  case OP_SHUFFLE: put_shuffle(w, o, x); return;
  case OP_NEG: put_neg(w, o, x); return;
  case OP_ABS: put_abs(w, o, x); return;
  case OP_NOT: put_not(w, o, x); return;
  case OP_RECIP: put_op(w, o, d == DT_F32 ? "(1.0f / $0)" : "(1.0 / $0)", x); return;
  case OP_BITCAST: put_bits(w, o, x); return;
  case OP_MAX: case OP_MIN: put_max(w, o, x); return;
  case OP_CMPLT: case OP_CMPLE: case OP_CMPEQ: case OP_CMPNE: put_compare(w, o, x); return;
  case OP_WHERE: put_where(w, o, x); return;
  case OP_MULACC:
    if (d == DT_F16) put_op(w, o, "tgc_hfma_$S($a, $b, $c)", x);
    else if (by_function(w, d, x->lanes)) put_op(w, o, "tgc_mulacc_$S($a, $b, $c)", x);
    else if (w->t->in_order && fl) put_op(w, o, "tgc_fma_$S($a, $b, $c)", x);
    else sb_printf(o, "(%s * %s + %s)", arg(w, x, 0), arg(w, x, 1), arg_as(w, x, 2, PRODUCT));
    return;
  case OP_SHFLXOR: put_exchange(w, o, x); return;
  case OP_SCALB: put_op(w, o, "tgc_scalb_$S($a, $b)", x); return;
  case OP_LOOKUP: put_op(w, o, "tgc_lookup_$S($a, $b)", x); return;
  case OP_DOT: put_dot(w, o, x); return;
  case OP_WMMA:
    sb_printf(o, "tgc_wmma_%s(%s, %s, %s)", intern_text(w->ir->ctx, (uint32_t)wmma_unit(x)), inside(w, x, 0), inside(w, x, 1),
              inside(w, x, 2));
    return;
  case OP_PART: put_part(w, o, x); return;
  case OP_DIV: put_op(w, o, fl ? "($0 / $1)" : is_unsigned ? "tgc_udiv_$S($0, $1)" : "tgc_div_$S($0, $1)", x); return;
  case OP_FLDIV: case OP_FLMOD: put_floor_div(w, o, x); return;
  case OP_MOD:
    if (fl) put_function(w, o, x);
    else put_op(w, o, is_unsigned ? "tgc_umod_$S($0, $1)" : "tgc_mod_$S($0, $1)", x);
    return;
  case OP_SHL: put_op(w, o, "tgc_shl_$S($a, $b)", x); return;
  case OP_SHR: put_op(w, o, is_unsigned ? "tgc_ushr_$S($0, $1)" : "tgc_shr_$S($0, $1)", x); return;
  default:
    if (!op_info[x->op].c) put_function(w, o, x);
    else if (fl || d == DT_BOOL) put_infix(w, o, x);
    else put_int(w, o, x);
  }
}

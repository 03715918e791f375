/* SPDX-License-Identifier: MIT */
/* tape_run.c: runs tapes (eval.h), a block of points after the other, and stores what they give. */
#include "eval.h"
#include <math.h>
#include <string.h>

/* ---- sweeps ---- */
Sweep tape_axes(const Tape *t, uint32_t mask) {
  Sweep s = { 0 };
  for (int v = 0; v < t->rank; v++)
    if ((mask >> v & 1) && t->ext[v] != 1) s.axis[s.n++] = v;
  return s;
}

int64_t tape_work(const Tape *t) {
  int64_t n = 1;
  for (size_t i = 0; i < t->ins.n; i++) n += t->ins.p[i].kind != I_CONST;
  return n;
}

int64_t tape_points(const Tape *t, const Sweep *s) {
  int64_t n = 1;
  for (int i = 0; i < s->n; i++) n *= t->ext[s->axis[i]];
  return n;
}

void tape_seek(Tape *t, const Sweep *s, int64_t start) {
  for (int i = s->n - 1; i >= 0; i--) {
    t->pos[s->axis[i]] = start % t->ext[s->axis[i]];
    start /= t->ext[s->axis[i]];
  }
}

/* ---- running ---- */
static int64_t index_at(const Tape *t, const Affine *a) {
  int64_t r = a->c;
  for (int v = 0; v < t->rank; v++) r += a->k[v] * t->pos[v];
  return r;
}

/* values of an index over the block that starts at pos */
static void fill_index(const Tape *t, const Affine *a, const Sweep *s, int n, int64_t *out) {
  int64_t pos[MAX_RANK], at = index_at(t, a);
  for (int i = 0; i < s->n; i++) pos[i] = t->pos[s->axis[i]];
  int last = s->n - 1;
  for (int j = 0; j < n;) {
    int64_t step = s->n ? a->k[s->axis[last]] : 0, left = s->n ? t->ext[s->axis[last]] - pos[last] : 1;
    int run = left < n - j ? (int)left : n - j;
    for (int i = 0; i < run; i++) out[j + i] = at + i * step;
    j += run;
    at += run * step;
    if (j == n) break;
    pos[last] += run;
    for (int i = last; i > 0 && pos[i] == t->ext[s->axis[i]]; i--) { /* carry */
      at += a->k[s->axis[i - 1]] - pos[i] * a->k[s->axis[i]];
      pos[i] = 0;
      pos[i - 1]++;
    }
  }
  for (size_t d = 0; d < t->dyn.n; d++) {
    int64_t k = a->k[MAX_RANK + d];
    const int64_t *v = t->reg[t->dyn.p[d].reg].i;
    for (int j = 0; k && j < n; j++) out[j] += k * v[j];
  }
}

static double half_value(uint16_t h) {
  uint64_t bits = (uint64_t)(h & 0x7fff) << 42;
  double v;
  memcpy(&v, &bits, 8); /* the exponent's bias differs by 1008 */
  v = (h & 0x7c00) == 0x7c00 ? (h & 1023 ? NAN : INFINITY) : v * 0x1p1008;
  return h >> 15 ? -v : v;
}

static double bfloat_value(uint16_t h) { return bits_to_double(DT_BF16, h); }

static bool bool_value(uint8_t b) { return b != 0; }

#define LOADS(T, field, convert)                                                                  \
  {                                                                                               \
    const char *p = x->value.data; /* weights may be misaligned */                           \
    T v;                                                                                          \
    if (!at && step == 1) { /* the common case, for the C compiler's vectors */                   \
      p += first * (int64_t)sizeof v;                                                             \
      for (int j = 0; j < n; j++) {                                                               \
        memcpy(&v, p + j * (int64_t)sizeof v, sizeof v);                                          \
        r->field[j] = convert(v);                                                                 \
      }                                                                                           \
      break;                                                                                      \
    }                                                                                             \
    for (int j = 0; j < n; j++) {                                                                 \
      memcpy(&v, p + (at ? at[j] : first + j * step) * (int64_t)sizeof v, sizeof v);              \
      r->field[j] = convert(v);                                                                   \
    }                                                                                             \
    break;                                                                                        \
  }

/* elements at[j], or first + j * step if at is NULL */
static void load_block(const Ins *x, Reg *r, const int64_t *at, int64_t first, int64_t step, int n) {
  switch (x->value.dt) {
  case DT_BOOL: LOADS(uint8_t, i, bool_value)
  case DT_I8: LOADS(int8_t, i, )
  case DT_U8: LOADS(uint8_t, i, )
  case DT_I16: LOADS(int16_t, i, )
  case DT_U16: LOADS(uint16_t, i, )
  case DT_I32: LOADS(int32_t, i, )
  case DT_U32: LOADS(uint32_t, i, )
  case DT_I64: case DT_U64: LOADS(int64_t, i, )
  case DT_F16: LOADS(uint16_t, f, half_value)
  case DT_BF16: LOADS(uint16_t, f, bfloat_value)
  case DT_F32: LOADS(float, f, )
  case DT_F64: LOADS(double, f, )
  case DT_NONE: case DT_COUNT: BUG("a value without a type");
  }
}

/* Padding is cut out after its source is evaluated everywhere, so indices may be out of range here. The values read for those
 * points do not matter. */
static void run_load(const Tape *t, const Ins *x, const Sweep *s, bool one_run, int n, Reg *r) {
  int64_t at[BLOCK], step = s->n ? x->at.k[s->axis[s->n - 1]] : 0, first = index_at(t, &x->at), last = first + (n - 1) * step;
  bool plain = one_run && first >= 0 && last >= 0 && first < x->value.elems && last < x->value.elems;
  for (size_t d = 0; d < t->dyn.n; d++) plain &= !x->at.k[MAX_RANK + d];
  if (!plain) {
    fill_index(t, &x->at, s, n, at);
    for (int j = 0; j < n; j++)
      if ((uint64_t)at[j] >= (uint64_t)x->value.elems) at[j] = 0;
  }
  load_block(x, r, plain ? NULL : at, first, step, n);
}

static void run_select(const Tape *t, const Ins *x, const Sweep *s, int n, Reg *r) {
  int64_t at[BLOCK];
  const Reg *in = &t->reg[x->src[0]], *fill = &t->reg[x->src[1]];
  fill_index(t, &x->at, s, n, at);
  for (int j = 0; j < n; j++) /* floats are moved as bits, too */
    r->i[j] = (uint64_t)at[j] < (uint64_t)x->k ? in->i[j] : fill->i[j];
}

/* Ops that dominate folding, without a call per element; the results equal those of interp_float and interp_scalar. */
#define EACH(field, expression)                                                                      \
  {                                                                                               \
    for (int j = 0; j < n; j++) r->field[j] = expression;                                         \
    break;                                                                                        \
  }
static bool run_arithmetic(const Ins *x, int n, const Reg *a, const Reg *b, Reg *r) {
  if (x->dt != DT_F32 && x->dt != DT_F64) return false;
  switch (x->op) {
  case OP_ADD: EACH(f, a->f[j] + b->f[j])
  case OP_SUB: EACH(f, a->f[j] - b->f[j])
  case OP_MUL: EACH(f, a->f[j] * b->f[j])
  case OP_DIV: EACH(f, a->f[j] / b->f[j])
  default: return false;
  }
  for (int j = 0; j < n && x->dt == DT_F32; j++) r->f[j] = (float)r->f[j];
  return true;
}

static bool run_compare(const Ins *x, int n, const Reg *a, const Reg *b, Reg *r) {
  switch (x->op) {
  case OP_CMPLT: EACH(i, a->f[j] < b->f[j])
  case OP_CMPLE: EACH(i, a->f[j] <= b->f[j])
  case OP_CMPEQ: EACH(i, a->f[j] == b->f[j])
  case OP_CMPNE: EACH(i, a->f[j] != b->f[j])
  default: return false;
  }
  return true;
}

/* Indices, and whether they are inside */
static bool run_integer(const Ins *x, int n, const Reg *a, const Reg *b, Reg *r) {
  if (x->from == DT_BOOL && x->op == OP_AND) {
    for (int j = 0; j < n; j++) r->i[j] = a->i[j] & b->i[j];
    return true;
  }
  if (x->from != DT_I64) return false;
  switch (x->op) {
  case OP_ADD: EACH(i, (int64_t)((uint64_t)a->i[j] + (uint64_t)b->i[j]))
  case OP_SUB: EACH(i, (int64_t)((uint64_t)a->i[j] - (uint64_t)b->i[j]))
  case OP_MUL: EACH(i, (int64_t)((uint64_t)a->i[j] * (uint64_t)b->i[j]))
  case OP_MAX: EACH(i, a->i[j] < b->i[j] ? b->i[j] : a->i[j])
  case OP_MIN: EACH(i, a->i[j] < b->i[j] ? a->i[j] : b->i[j])
  case OP_CMPLT: EACH(i, a->i[j] < b->i[j])
  case OP_CMPLE: EACH(i, a->i[j] <= b->i[j])
  case OP_CMPEQ: EACH(i, a->i[j] == b->i[j])
  case OP_CMPNE: EACH(i, a->i[j] != b->i[j])
  default: return false;
  }
  return true;
}

static void run_op(const Tape *t, const Ins *x, int n, Reg *r) {
  const Reg *a = &t->reg[x->src[0]], *b = &t->reg[x->src[1]], *c = &t->reg[x->src[2]];
  bool from_float = dt_float(x->from), to_float = dt_float(x->dt);
  if (x->op == OP_WHERE) {
    for (int j = 0; j < n; j++) r->i[j] = a->i[j] ? b->i[j] : c->i[j];
  } else if (x->op == OP_CAST && from_float && to_float) {
    for (int j = 0; j < n; j++) r->f[j] = round_to_type(x->dt, a->f[j]);
  } else if (x->op == OP_CAST && from_float) {
    for (int j = 0; j < n; j++) r->i[j] = double_to_bits(x->dt, a->f[j]);
  } else if (x->op == OP_CAST || x->op == OP_BITCAST) {
    for (int j = 0; j < n; j++) {
      int64_t v = from_float ? double_to_bits(x->from, a->f[j]) : a->i[j];
      v = interp_scalar(x->op, x->dt, x->from, &v);
      if (to_float) r->f[j] = bits_to_double(x->dt, v);
      else r->i[j] = v;
    }
  } else if (from_float && (run_arithmetic(x, n, a, b, r) || run_compare(x, n, a, b, r))) {
    return;
  } else if (!from_float && run_integer(x, n, a, b, r)) {
    return;
  } else if (from_float) {
    int arity = op_info[x->op].arity;
    for (int j = 0; j < n; j++) {
      double v[3] = { a->f[j], arity > 1 ? b->f[j] : 0, arity > 2 ? c->f[j] : 0 }, y = interp_float(x->op, x->dt, v);
      if (to_float) r->f[j] = y;
      else r->i[j] = y != 0;
    }
  } else {
    for (int j = 0; j < n; j++) r->i[j] = interp_scalar(x->op, x->dt, x->from, (int64_t[]){ a->i[j], b->i[j], c->i[j] });
  }
}

void tape_run(Tape *t, int from, int to, const Sweep *s, int64_t start, int n) {
  tape_seek(t, s, start);
  int inner = s->n ? s->axis[s->n - 1] : 0;
  bool one_run = !s->n || t->pos[inner] + n <= t->ext[inner];
  for (int i = from; i < to; i++) {
    const Ins *x = &t->ins.p[i];
    Reg *r = &t->reg[i];
    switch (x->kind) {
    case I_CONST: break;
    case I_LOAD: run_load(t, x, s, one_run, n, r); break;
    case I_INDEX: fill_index(t, &x->at, s, n, r->i); break;
    case I_SELECT: run_select(t, x, s, n, r); break;
    case I_DIV:
      for (int j = 0; j < n; j++) r->i[j] = i64_floor_div(t->reg[x->src[0]].i[j], x->k);
      break;
    case I_MOD:
      for (int j = 0; j < n; j++) {
        int64_t v = t->reg[x->src[0]].i[j];
        r->i[j] = v - i64_floor_div(v, x->k) * x->k;
      }
      break;
    case I_OP: run_op(t, x, n, r); break;
    }
  }
}

/* ---- storing ---- */
#define STORES(T, field, convert)                                                                  \
  {                                                                                               \
    T *p = (T *)(uintptr_t)v->data + at;                                                          \
    for (int j = 0; j < n; j++) p[j] = (T)convert(r->field[first + j]);                           \
    break;                                                                                        \
  }

static uint16_t half_bits(double v) { return (uint16_t)double_to_bits(DT_F16, v); }
static uint16_t bfloat_bits(double v) { return (uint16_t)double_to_bits(DT_BF16, v); }

void tape_store(const Value *v, int64_t at, const Reg *r, int first, int n) {
  switch (v->dt) {
  case DT_BOOL: case DT_I8: case DT_U8: STORES(uint8_t, i, )
  case DT_I16: case DT_U16: STORES(uint16_t, i, )
  case DT_I32: case DT_U32: STORES(uint32_t, i, )
  case DT_I64: case DT_U64: STORES(int64_t, i, )
  case DT_F16: STORES(uint16_t, f, half_bits)
  case DT_BF16: STORES(uint16_t, f, bfloat_bits)
  case DT_F32: STORES(float, f, )
  case DT_F64: STORES(double, f, )
  case DT_NONE: case DT_COUNT: BUG("a value without a type");
  }
}

/* SPDX-License-Identifier: MIT */
/* tape.c: building and running tapes (eval.h). */
#include "eval.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- building ---- */
void tape_open(Tape *t, int rank, const int64_t *dims) {
  *t = (Tape){ .rank = rank };
  if (rank) memcpy(t->ext, dims, (size_t)rank * sizeof *dims);
}

void tape_close(Tape *t) {
  VEC_FREE(&t->ins);
  VEC_FREE(&t->dyn);
  free(t->reg);
}

void tape_identity(const Tape *t, Affine *at) {
  memset(at, 0, (size_t)t->rank * sizeof *at);
  for (int i = 0; i < t->rank; i++) at[i].k[i] = t->ext[i] > 1;
}

static int vars(const Tape *t) { return MAX_RANK + (int)t->dyn.n; }

/* mask of the axes an index varies with */
static uint32_t index_deps(const Tape *t, const Affine *a) {
  uint32_t deps = 0;
  for (int v = 0; v < t->rank; v++)
    if (a->k[v] && t->ext[v] > 1) deps |= 1u << v;
  for (size_t d = 0; d < t->dyn.n; d++)
    if (a->k[MAX_RANK + d]) deps |= t->ins.p[t->dyn.p[d].reg].deps;
  return deps;
}

static int emit(Tape *t, Ins x) {
  VEC_PUSH(&t->ins, x);
  return (int)t->ins.n - 1;
}

static Affine dynamic(Tape *t, int reg, int64_t lo, int64_t hi) {
  Affine a = { 0 };
  CHECK(vars(t) < MAX_VARS);
  a.k[vars(t)] = 1;
  VEC_PUSH(&t->dyn, ((Dyn){ reg, lo, hi }));
  return a;
}

/* x * by + y */
static Affine affine_mul_add(const Affine *x, int64_t by, const Affine *y) {
  Affine r = *y;
  r.c += x->c * by;
  for (int v = 0; v < MAX_VARS; v++) r.k[v] += x->k[v] * by;
  return r;
}

static Affine affine_shift(const Affine *x, int64_t by, int64_t plus) {
  return affine_mul_add(x, by, &(Affine){ .c = plus });
}

static void affine_range(const Tape *t, const Affine *a, int64_t *lo, int64_t *hi) {
  *lo = *hi = a->c;
  for (int v = 0; v < vars(t); v++) {
    bool dyn = v >= MAX_RANK;
    if (!a->k[v] || (!dyn && v >= t->rank)) continue;
    int64_t from = a->k[v] * (dyn ? t->dyn.p[v - MAX_RANK].lo : 0);
    int64_t to = a->k[v] * (dyn ? t->dyn.p[v - MAX_RANK].hi : t->ext[v] - 1);
    *lo += from < to ? from : to;
    *hi += from < to ? to : from;
  }
}

/* a = hi * by + lo with 0 <= lo < by: split term by term where provable, else at run time */
static void affine_split(Tape *t, const Affine *a, int64_t by, Affine *hi, Affine *lo) {
  int64_t from, to;
  *hi = *lo = (Affine){ 0 };
  hi->c = i64_floor_div(a->c, by);
  lo->c = a->c - hi->c * by;
  for (int v = 0; v < MAX_VARS; v++) {
    if (a->k[v] % by) lo->k[v] = a->k[v];
    else hi->k[v] = a->k[v] / by;
  }
  affine_range(t, lo, &from, &to);
  if (from >= 0 && to < by) return;
  affine_range(t, a, &from, &to);
  int index = emit(t, (Ins){ .kind = I_INDEX, .dt = DT_I64, .at = *a });
  int div = emit(t, (Ins){ .kind = I_DIV, .dt = DT_I64, .src = { index }, .k = by });
  int mod = emit(t, (Ins){ .kind = I_MOD, .dt = DT_I64, .src = { index }, .k = by });
  *hi = dynamic(t, div, i64_floor_div(from, by), i64_floor_div(to, by));
  *lo = dynamic(t, mod, 0, by - 1);
}

/* row-major index of the element at the coordinates */
static Affine linear(int rank, const int64_t *dims, const Affine *at) {
  Affine r = { 0 };
  for (int i = 0; i < rank; i++)
    r = dims[i] > 1 ? affine_mul_add(&r, dims[i], &at[i]) : r;
  return r;
}

/* Axes on both sides of a reshape with equal products: from .. to - 1 each. next_run advances to the next ones. */
typedef struct Run { int out, out_end, in, in_end; } Run;

static bool next_run(const Node *out, const Node *in, Run *r) {
  int64_t po = 1, pi = 1;
  r->out = r->out_end;
  r->in = r->in_end;
  if (r->out == out->rank && r->in == in->rank) return false;
  if (r->out < out->rank) po = out->dims[r->out_end++];
  if (r->in < in->rank) pi = in->dims[r->in_end++];
  while (po != pi) {
    if (po < pi) po *= out->dims[r->out_end++];
    else pi *= in->dims[r->in_end++];
  }
  return true;
}

int tape_splits(const Node *out, const Node *in) {
  int splits = 0;
  if (!dims_elems(out->dims, out->rank)) return 0;
  for (Run r = { 0 }; next_run(out, in, &r);) {
    int wide = 0;
    for (int j = r.in; j < r.in_end; j++) wide += in->dims[j] != 1;
    splits += wide > 1 ? wide - 1 : 0;
  }
  return splits;
}

/* coordinates before a reshape from those after it */
static void reshape_coordinates(Tape *t, const Node *out, const Affine *at, const Node *in, Affine *src) {
  for (Run r = { 0 }; next_run(out, in, &r);) {
    Affine rest = { 0 }; /* a scalar has no array of dimensions to point into */
    if (r.out < r.out_end) rest = linear(r.out_end - r.out, out->dims + r.out, at + r.out);
    int64_t right = 1; /* elements of the axes to the right */
    for (int j = r.in; j < r.in_end; j++) right *= in->dims[j];
    for (int j = r.in; j < r.in_end; j++) {
      Affine lo;
      right /= in->dims[j];
      if (in->dims[j] == 1) {
        src[j] = (Affine){ 0 };
      } else if (right == 1) {
        src[j] = rest;
      } else {
        affine_split(t, &rest, right, &src[j], &lo);
        rest = lo;
      }
    }
  }
}

static int constant(Tape *t, DType d, int64_t bits) { return emit(t, (Ins){ .kind = I_CONST, .dt = d, .k = bits }); }

static int load(Tape *t, const Value *v, DType d, const Affine *at) {
  if (!v->data) return constant(t, d, dt_float(d) ? double_to_bits(d, bits_to_double(v->dt, v->splat)) : v->splat);
  return emit(t, (Ins){ .kind = I_LOAD, .dt = d, .at = *at, .value = *v });
}

static int add_pad(Eval *e, Tape *t, const Node *x, const Affine *at) {
  const Node *s = node(eval_ir(e), pad_data(x));
  Affine src[MAX_RANK];
  const Affine none = { 0 }; /* a scalar has no coordinates, but needs an address */
  int fill = tape_add(e, t, pad_fill(x), &none, false);
  if (!dims_elems(s->dims, s->rank)) return fill;
  for (int i = 0; i < x->rank; i++) src[i] = affine_shift(&at[i], 1, -pad_lo(x, i));
  int r = tape_add(e, t, pad_data(x), src, false);
  for (int i = 0; i < x->rank; i++) {
    int64_t lo, hi;
    affine_range(t, &src[i], &lo, &hi);
    if (lo >= 0 && hi < s->dims[i]) continue;
    r = emit(t, (Ins){ .kind = I_SELECT, .dt = t->ins.p[r].dt, .src = { r, fill }, .at = src[i], .k = s->dims[i] });
  }
  return r;
}

static int add_op(Eval *e, Tape *t, const Node *x, const Affine *at) {
  Ins op = { .kind = I_OP, .op = (Op)x->op, .dt = eval_type(e, (DType)x->dt) };
  for (int i = 0; i < x->nsrc; i++) {
    op.src[i] = tape_add(e, t, x->src[i], at, false);
    op.from = t->ins.p[op.src[i]].dt;
  }
  if (op.op == OP_BITCAST) op.dt = (DType)x->dt, op.from = (DType)node(eval_ir(e), operand(x))->dt;
  return emit(t, op);
}

int tape_add(Eval *e, Tape *t, Ref r, const Affine *at, bool root) {
  IR *ir = eval_ir(e);
  const Node *x = node(ir, r), *s = x->nsrc ? node(ir, x->src[0]) : NULL;
  DType d = eval_type(e, (DType)x->dt);
  const Value *v = root ? NULL : eval_value(e, r);
  Affine src[MAX_RANK];
  if (!dims_elems(x->dims, x->rank)) return constant(t, d, 0); /* only below a pad, never read */
  if (v) {
    Affine index = linear(x->rank, x->dims, at);
    return load(t, v, d, &index);
  }
  switch ((Op)x->op) {
  case OP_CONST:
    return constant(t, d, dt_float(d) ? double_to_bits(d, bits_to_double((DType)x->dt, const_value(x))) : const_value(x));
  case OP_SIZE: {
    RunSizes most = { 0 };
    greatest_sizes(&ir->symbols, most);
    return constant(t, d, size_in_run(ir, (int)size_id(x), ir->run ? ir->run : most));
  }
  case OP_IOTA: return emit(t, (Ins){ .kind = I_INDEX, .dt = DT_I64, .at = at[0] });
  case OP_RESHAPE: {
    const Value *stored = eval_value(e, operand(x));
    if (stored) { /* row-major storage has no shape */
      Affine index = linear(x->rank, x->dims, at);
      return load(t, stored, d, &index);
    }
    reshape_coordinates(t, x, at, s, src);
    return tape_add(e, t, operand(x), src, false);
  }
  case OP_EXPAND:
    for (int i = 0; i < x->rank; i++) src[i] = s->dims[i] == 1 ? (Affine){ 0 } : at[i];
    return tape_add(e, t, operand(x), src, false);
  case OP_PERMUTE:
    for (int i = 0; i < x->rank; i++) src[permute_perm(x, i)] = at[i];
    return tape_add(e, t, operand(x), src, false);
  case OP_SHRINK:
    for (int i = 0; i < x->rank; i++) src[i] = affine_shift(&at[i], shrink_step(x, i), shrink_begin(x, i));
    return tape_add(e, t, operand(x), src, false);
  case OP_WINDOW: {
    int axis = (int)window_axis(x);
    memcpy(src, at, s->rank * sizeof *src);
    src[axis] = affine_shift(&at[s->rank], window_dilation(x), 0);
    src[axis] = affine_mul_add(&at[axis], window_stride(x), &src[axis]);
    return tape_add(e, t, operand(x), src, false);
  }
  case OP_STORED: return tape_add(e, t, operand(x), at, false);
  case OP_PAD: return add_pad(e, t, x, at);
  case OP_GATHER: {
    int index = tape_add(e, t, gather_index(x), at, false);
    memcpy(src, at, x->rank * sizeof *src);
    src[gather_axis(x)] = dynamic(t, index, 0, s->dims[gather_axis(x)] - 1);
    return tape_add(e, t, gather_data(x), src, false);
  }
  default: CHECK(op_info[x->op].level == L_EXPR); return add_op(e, t, x, at);
  }
}

/* for this index, axis v runs fastest within w: a step of w equals the whole extent of v */
static bool joins(const Tape *t, const Affine *a, int w, int v) { return a->k[w] == a->k[v] * t->ext[v]; }

void tape_ready(Tape *t, uint32_t keep) {
  int v = t->rank;
  while (v > 0 && t->ext[v - 1] == 1) v--;
  for (int w = v - 2; w >= 0; w--) {
    int inner = v - 1;
    if (t->ext[w] == 1) continue;
    bool same = (keep >> w & 1) == (keep >> inner & 1);
    for (size_t i = 0; same && i < t->ins.n; i++) same = joins(t, &t->ins.p[i].at, w, inner);
    if (same) {
      t->ext[inner] *= t->ext[w];
      t->ext[w] = 1;
    } else {
      v = w + 1;
    }
  }
  for (size_t i = 0; i < t->ins.n; i++) { /* sources come first, so one pass suffices for deps */
    Ins *x = &t->ins.p[i];
    int nsrc = x->kind == I_OP ? op_info[x->op].arity : x->kind == I_SELECT ? 2 : x->kind == I_DIV || x->kind == I_MOD;
    x->deps = index_deps(t, &x->at);
    for (int k = 0; k < nsrc; k++) x->deps |= t->ins.p[x->src[k]].deps;
  }
  t->reg = xmalloc(size_mul(t->ins.n, sizeof *t->reg));
  for (size_t i = 0; i < t->ins.n; i++) {
    const Ins *x = &t->ins.p[i];
    if (x->kind != I_CONST) continue;
    for (int j = 0; j < BLOCK; j++) {
      if (dt_float(x->dt)) t->reg[i].f[j] = bits_to_double(x->dt, x->k);
      else t->reg[i].i[j] = x->k;
    }
  }
}

/* ---- sweeps ---- */
Sweep tape_axes(const Tape *t, uint32_t mask) {
  Sweep s = { 0 };
  for (int v = 0; v < t->rank; v++)
    if ((mask >> v & 1) && t->ext[v] != 1) s.axis[s.n++] = v;
  return s;
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

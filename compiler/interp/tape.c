/* SPDX-License-Identifier: MIT */
/* tape.c: builds tapes (eval.h): the instructions for a tree, and the affine functions that give the coordinates of its loads. */
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

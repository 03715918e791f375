/* SPDX-License-Identifier: MIT */
/* interp_reduce.c: evaluates reductions of tensors.
 *
 * A sum of products whose factors each vary with axes that the other lacks is a contraction. Both factors are evaluated into
 * tiles once, and multiplied there. This makes evaluating convolutions affordable. Other reductions run over blocks of results or
 * of reduced elements, whichever are more.
 *
 * needs: a REDUCE whose stored sources are ready    gives: the values of its elements */
#include "eval_items.h"
#include <stdlib.h>
#include <string.h>

typedef struct Job {     /* the evaluation of one REDUCE */
  Eval *e;
  const Node *x;
  Tape t;
  Value *out;            /* storage is allocated */
  int a, b;              /* registers of the value, or of two factors (b >= 0) */
  uint32_t kept;         /* mask of axes of the space that are axes of the result */
  int64_t stride[MAX_RANK]; /* strides in the result; 0 for reduced axes */
} Job;

/* index of the result's element at pos */
static int64_t out_index(const Job *j) {
  int64_t r = 0;
  for (int v = 0; v < j->t.rank; v++) r += j->stride[v] * j->t.pos[v];
  return r;
}

static void fill_identity(Op op, DType d, Reg *r) {
  int64_t bits = reduce_identity(op, d);
  for (int j = 0; j < BLOCK; j++) {
    if (dt_float(d)) r->f[j] = bits_to_double(d, bits);
    else r->i[j] = bits;
  }
}

/* values of the block that was run: a register, or the products of two */
static const Reg *block_values(const Job *j, int n, Reg *scratch) {
  const Reg *a = &j->t.reg[j->a], *b = &j->t.reg[j->b < 0 ? 0 : j->b];
  if (j->b < 0) return a;
  if (dt_float((DType)j->x->dt))
    for (int i = 0; i < n; i++) scratch->f[i] = a->f[i] * b->f[i];
  else
    for (int i = 0; i < n; i++) scratch->i[i] = (int64_t)((uint64_t)a->i[i] * (uint64_t)b->i[i]);
  return scratch;
}

/* combines v[i] into acc[i * step] */
static void combine(Op op, DType d, Reg *acc, int step, const Reg *v, int n) {
  if (dt_float(d) && op == OP_ADD) {
    for (int i = 0; i < n; i++) acc->f[i * step] += v->f[i];
  } else if (dt_float(d)) {
    for (int i = 0; i < n; i++) {
      double *a = &acc->f[i * step];
      if (op == OP_MAX ? v->f[i] < *a : op == OP_MIN && v->f[i] > *a) continue; /* the common case in a long window */
      *a = interp_float(op, DT_F64, (double[]){ *a, v->f[i] });
    }
  } else {
    for (int i = 0; i < n; i++) acc->i[i * step] = interp_scalar(op, d, d, (int64_t[]){ acc->i[i * step], v->i[i] });
  }
}

static void finish(const Job *j, Reg *acc, int n) {
  DType d = j->out->dt;
  for (int i = 0; i < n; i++) {
    if (dt_float(d)) acc->f[i] = round_to_type(d, acc->f[i]);
    else acc->i[i] = (int64_t)dt_wrap(d, (uint64_t)acc->i[i]);
  }
}

/* Many results: takes a block of results, one point of the reduced axes after another. */
static void reduce_across(Job *j, const Sweep *kept, const Sweep *reduced, Reg *acc, Reg *scratch) {
  int64_t results = tape_points(&j->t, kept), points = tape_points(&j->t, reduced);
  for (int64_t s = 0; s < results; s += BLOCK) {
    int n = results - s < BLOCK ? (int)(results - s) : BLOCK;
    fill_identity(reduce_op(j->x), (DType)j->x->dt, acc);
    for (int64_t p = 0; p < points; p++) {
      tape_seek(&j->t, reduced, p);
      tape_run(&j->t, 0, (int)j->t.ins.n, kept, s, n);
      combine(reduce_op(j->x), j->out->dt, acc, 1, block_values(j, n, scratch), n);
    }
    finish(j, acc, n);
    tape_store(j->out, s, acc, 0, n); /* kept axes are in row-major order */
  }
}

/* Few results: reduces each over blocks of the reduced axes. */
static void reduce_along(Job *j, const Sweep *kept, const Sweep *reduced, Reg *acc, Reg *scratch) {
  int64_t results = tape_points(&j->t, kept), points = tape_points(&j->t, reduced);
  for (int64_t s = 0; s < results; s++) {
    fill_identity(reduce_op(j->x), (DType)j->x->dt, acc);
    tape_seek(&j->t, kept, s);
    for (int64_t p = 0; p < points; p += BLOCK) {
      int n = points - p < BLOCK ? (int)(points - p) : BLOCK;
      tape_run(&j->t, 0, (int)j->t.ins.n, reduced, p, n);
      combine(reduce_op(j->x), j->out->dt, acc, 0, block_values(j, n, scratch), n);
    }
    finish(j, acc, 1);
    tape_store(j->out, s, acc, 0, 1);
  }
}

/* ---- contractions: result[batch, m, n] = sum over k of a[batch, m, k] * b[batch, n, k] ---- */
/* elements of tiles: rows of a, columns of b, terms of a sum; ROW_N: a padded row of b and c; CHUNK_M: rows of c */
enum { TILE_M = 64, TILE_N = 128, TILE_K = 128, ROW_N = TILE_N + 8, CHUNK_M = 4096 };

typedef struct Tiles {
  union { double f[TILE_M * TILE_K]; int64_t i[TILE_M * TILE_K]; } a; /* [m][k] */
  union { double f[TILE_K * ROW_N]; int64_t i[TILE_K * ROW_N]; } b;   /* [k][n]; rows are padded against cache aliasing */
  union { double f[CHUNK_M * ROW_N]; int64_t i[CHUNK_M * ROW_N]; } c; /* [m][n] */
} Tiles;

/* Rounds to the bits of a half, by Dekker's splitting; range and denormals are left to the store. */
static inline double to_half(double v) {
  const double wide = v * 0x1.00000000004p42, half = wide - (wide - v);
  return half == half ? half : v; /* an infinity stays */
}
static inline double as_it_is(double v) { return v; }
static inline uint64_t as_word(uint64_t v) { return v; }

#define MULTIPLY(name, T, rounded)                                      \
  static void name(T *c, const T *a, const T *b, int m, int n, int k) { \
    for (int i = 0; i < m; i++)                                         \
      for (int j = 0; j < n; j += 8) {                                  \
        T s[8];                                                         \
        memcpy(s, c + i * ROW_N + j, sizeof s);                         \
        for (int q = 0; q < k; q++) {                                   \
          T x = a[i * TILE_K + q];                                      \
          const T *y = b + q * ROW_N + j;                               \
          for (int l = 0; l < 8; l++) s[l] = rounded(s[l] + x * y[l]);  \
        }                                                               \
        memcpy(c + i * ROW_N + j, s, sizeof s);                         \
      }                                                                 \
  }
MULTIPLY(multiply_doubles, double, as_it_is)
MULTIPLY(multiply_halves, double, to_half)
MULTIPLY(multiply_words, uint64_t, as_word)

static int least(int64_t n, int limit) { return n < limit ? (int)n : limit; }

/* loads b over n0 .. and k0 .. into its tile */
static void load_b(Job *j, Tiles *t, const Sweep *n, int64_t n0, int nn, const Sweep *k, int64_t k0, int kk) {
  memset(&t->b, 0, (size_t)kk * ROW_N * sizeof t->b.f[0]); /* columns beyond nn are computed too */
  for (int q = 0; q < kk; q++) {
    tape_seek(&j->t, k, k0 + q);
    tape_run(&j->t, j->a + 1, j->b + 1, n, n0, nn);
    memcpy(&t->b.i[q * ROW_N], j->t.reg[j->b].i, (size_t)nn * 8);
  }
}

static void load_a(Job *j, Tiles *t, const Sweep *m, int64_t m0, int mm, const Sweep *k, int64_t k0, int kk) {
  for (int i = 0; i < mm; i++) {
    tape_seek(&j->t, m, m0 + i);
    tape_run(&j->t, 0, j->a + 1, k, k0, kk);
    memcpy(&t->a.i[i * TILE_K], j->t.reg[j->a].i, (size_t)kk * 8);
  }
}

static void store_c(Job *j, const Tiles *t, const Sweep *m, int64_t m0, int mm, const Sweep *n, int64_t n0, int nn) {
  int64_t column[TILE_N];
  Reg one;
  tape_seek(&j->t, m, 0);
  for (int q = 0; q < nn; q++) {
    tape_seek(&j->t, n, n0 + q);
    column[q] = out_index(j);
  }
  tape_seek(&j->t, n, 0);
  int64_t batch = out_index(j); /* included in the columns already */
  for (int i = 0; i < mm; i++) {
    tape_seek(&j->t, m, m0 + i);
    int64_t row = out_index(j) - batch;
    for (int q = 0; q < nn; q++) {
      one.i[0] = t->c.i[i * ROW_N + q];
      finish(j, &one, 1);
      tape_store(j->out, row + column[q], &one, 0, 1);
    }
  }
}

/* Each sum is rounded to a half, which only `contract` does */
static bool steps_in_halves(const Job *j) { return eval_ir(j->e)->half_steps && j->x->dt == DT_F16 && j->out->dt == DT_F16; }

static void contract(Job *j, const Sweep *batch, const Sweep *m, const Sweep *n, const Sweep *k) {
  Tiles *t = xmalloc(sizeof *t);
  const bool floats = dt_float((DType)j->x->dt), halves = steps_in_halves(j);
  int64_t nb = tape_points(&j->t, batch), nm = tape_points(&j->t, m), nn = tape_points(&j->t, n), nk = tape_points(&j->t, k);
  for (int64_t bi = 0; bi < nb; bi++) {
    tape_seek(&j->t, batch, bi);
    for (int64_t m0 = 0; m0 < nm; m0 += CHUNK_M)
      for (int64_t n0 = 0; n0 < nn; n0 += TILE_N) {
        int rows = least(nm - m0, CHUNK_M), cols = least(nn - n0, TILE_N);
        memset(&t->c, 0, (size_t)rows * ROW_N * 8);
        for (int64_t k0 = 0; k0 < nk; k0 += TILE_K) {
          int deep = least(nk - k0, TILE_K);
          load_b(j, t, n, n0, cols, k, k0, deep);
          for (int i = 0; i < rows; i += TILE_M) {
            int mm = least(rows - i, TILE_M);
            load_a(j, t, m, m0 + i, mm, k, k0, deep);
            if (halves) multiply_halves(t->c.f + i * ROW_N, t->a.f, t->b.f, mm, cols, deep);
            else if (floats) multiply_doubles(t->c.f + i * ROW_N, t->a.f, t->b.f, mm, cols, deep);
            else multiply_words((uint64_t *)t->c.i + i * ROW_N, (uint64_t *)t->a.i, (uint64_t *)t->b.i, mm, cols, deep);
          }
        }
        store_c(j, t, m, m0, rows, n, n0, cols);
      }
  }
  free(t);
}

/* Adds the tree below a sum. If it is a product, seen through views, a and b become its factors; otherwise b is -1. */
static void add_summand(Job *j, Ref r, const Affine *at) {
  const Node *x = node(j->e->ir, r);
  j->b = -1;
  if (reduce_op(j->x) == OP_ADD && x->op == OP_MUL && !eval_value(j->e, r)) {
    j->a = tape_add(j->e, &j->t, lhs(x), at, false);
    j->b = tape_add(j->e, &j->t, rhs(x), at, false);
  } else {
    j->a = tape_add(j->e, &j->t, r, at, false);
  }
}

static bool reduce(Job *j) {
  Sweep kept = tape_axes(&j->t, j->kept), reduced = tape_axes(&j->t, ~j->kept);
  int64_t results = tape_points(&j->t, &kept), points = tape_points(&j->t, &reduced);
  if (j->b >= 0) { /* axes of neither factor go to the one that has fewer */
    uint32_t a = j->t.ins.p[j->a].deps & j->kept, b = j->t.ins.p[j->b].deps & j->kept;
    Sweep m = tape_axes(&j->t, a & ~b), n = tape_axes(&j->t, b & ~a), batch = tape_axes(&j->t, a & b);
    if (tape_points(&j->t, &m) < tape_points(&j->t, &n)) m = tape_axes(&j->t, j->kept & ~b);
    else n = tape_axes(&j->t, j->kept & ~a);
    const bool large = tape_points(&j->t, &m) >= 4 && tape_points(&j->t, &n) >= 4 && points >= 4;
    if (large || steps_in_halves(j)) {
      if (!eval_spend(j->e, results, points)) return false;
      contract(j, &batch, &m, &n, &reduced);
      return true;
    }
  }
  int64_t each;
  if (!i64_mul(points, tape_work(&j->t), &each) || !eval_spend(j->e, results, each)) return false;
  Reg *acc = xmalloc(2 * sizeof *acc);
  if (results >= points) reduce_across(j, &kept, &reduced, acc, acc + 1);
  else reduce_along(j, &kept, &reduced, acc, acc + 1);
  free(acc);
  return true;
}

bool eval_reduce(Eval *e, const Node *x, Value *out) {
  const Node *s = node(e->ir, operand(x));
  Affine at[MAX_RANK];
  Job j = { .e = e, .x = x, .out = out, .kept = ~reduce_axes(x) };
  if (!dims_elems(s->dims, s->rank)) { /* nothing to combine */
    Reg r;
    fill_identity(reduce_op(x), (DType)x->dt, &r);
    for (int64_t i = 0; i < out->elems; i++) tape_store(out, i, &r, 0, 1);
    return eval_spend(e, out->elems, 1);
  }
  tape_open(&j.t, s->rank, s->dims);
  tape_identity(&j.t, at);
  add_summand(&j, operand(x), at);
  tape_ready(&j.t, j.kept);
  int64_t stride = 1;
  for (int v = s->rank - 1; v >= 0; v--) /* after tape_ready, which joins axes */
    if (j.kept >> v & 1) {
      j.stride[v] = stride;
      stride *= j.t.ext[v];
    }
  bool ok = reduce(&j);
  tape_close(&j.t);
  return ok;
}

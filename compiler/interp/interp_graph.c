/* SPDX-License-Identifier: MIT */
/* interp_graph.c: evaluates graphs of tensors.
 *
 * A plan first chooses the nodes that get storage: outputs, reductions, concatenations, scatters, and some elementwise nodes.
 * These are used twice, or seen through a view that repeats elements. Everything between them is a tree. A tape (tape.c)
 * evaluates it in blocks and never stores it, views of any size included. The plan also bounds the trees, so neither recursion
 * nor tapes grow with the model.
 *
 * A sum of products whose factors each vary with axes that the other lacks is a contraction. Both factors are evaluated into
 * tiles once, and multiplied there. This makes evaluating convolutions affordable.
 *
 * needs: a graph, tensors for its inputs    gives: tensors for its outputs    breaks: nothing */
#include "../ir/refmap.h"
#include "eval.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct Item {    /* a node below the outputs */
  Ref ref;
  bool stored;           /* it has storage */
  bool ready;            /* its value is computed */
  uint8_t uses;          /* how often its elements are read: 0, 1, 2 or more */
  int weight;            /* weight of the tree below it */
  uint32_t last;         /* last stored item that reads it; KEEP: an output */
  uint32_t dead;         /* list, through next_dead, of items whose last reader is this one; 0 ends it */
  uint32_t next_dead;
  Value value;
} Item;
enum { KEEP = INT32_MAX };

/* Values of nodes outside of a tree: what a loop reads, carries and gives */
typedef struct Given {
  RefMap at;
  VEC(Tensor) value;
} Given; /* at: Ref to 1 + index in value */

struct Eval {
  IR *ir;
  const Tensor *const *inputs;
  bool with_double;
  int64_t steps, bytes;  /* remaining budget; INT64_MAX: no limit */
  bool tells;            /* ctx_progress hears of it */
  VEC(Item) items;       /* sources before users; item 0 is unused */
  RefMap item;           /* Ref to its index in items */
  const Given *given;    /* values of nodes that are not computed; NULL: there are none */
};

/* ---- items ---- */
static Item *item(const Eval *e, Ref r) { return &e->items.p[refmap_get(&e->item, r)]; }

static const Tensor *given_value(const Eval *e, Ref r) {
  const Ref at = e->given ? refmap_get(&e->given->at, r) : 0;
  return at ? &e->given->value.p[at - 1] : NULL;
}

/* Number of sources that are evaluated for x */
static int sources_of(const Eval *e, Ref r) { return given_value(e, r) ? 0 : node(e->ir, r)->nsrc; }

/* Lists all nodes below root, sources first; false if a shape is too large. The time depends on the nodes below root only,
 * since folding calls this for many small expressions. */
static bool reach(Eval *e, Ref root) {
  typedef struct { Ref r; int next; } Visit;
  VEC(Visit) stack = { 0 };
  bool ok = true;
  VEC_PUSH(&stack, ((Visit){ root, 0 }));
  while (ok && stack.n) {
    Visit *v = &stack.p[stack.n - 1];
    const Node *x = node(e->ir, v->r);
    if (refmap_get(&e->item, v->r)) {
      stack.n--;
    } else if (v->next < sources_of(e, v->r)) {
      Ref s = x->src[v->next++];
      if (!refmap_get(&e->item, s)) VEC_PUSH(&stack, ((Visit){ s, 0 }));
    } else {
      ok = dims_elems(x->dims, x->rank) < INT64_MAX;
      VEC_PUSH(&e->items, ((Item){ .ref = v->r }));
      refmap_set(&e->item, v->r, (Ref)e->items.n - 1);
      stack.n--;
    }
  }
  VEC_FREE(&stack);
  return ok;
}

IR *eval_ir(const Eval *e) { return e->ir; }
DType eval_type(const Eval *e, DType d) { return e->with_double && dt_float(d) ? DT_F64 : d; }

const Value *eval_value(const Eval *e, Ref r) {
  const Item *i = item(e, r);
  return i->ready ? &i->value : NULL;
}

static void set_leaf(Eval *e, Item *i) {
  const Node *x = node(e->ir, i->ref);
  const Tensor *known = given_value(e, i->ref);
  const Tensor *t = known                ? known
                    : x->op == OP_PARAM  ? e->inputs[param_slot(x)]
                    : x->op == OP_WEIGHT ? &e->ir->tensors.p[weight_id(x)]
                                         : NULL;
  if (!t) return;
  CHECK(t->dt == x->dt && t->elems == dims_elems(x->dims, x->rank));
  i->value = (Value){ t->dt, t->elems, t->data, t->splat };
  i->ready = true;
}

/* ---- the plan ---- */
static bool is_view(Op op) { return (op_info[op].algebra & MOVE) && op != OP_CAT; }
static bool is_leaf(Op op) { return op_info[op].arity == 0; }

/* whether x reads some elements of its source more than once */
static bool repeats(const Node *x) { return x->op == OP_EXPAND || x->op == OP_WINDOW || x->op == OP_GATHER; }

static void count_uses(Eval *e) {
  for (size_t i = e->items.n - 1; i > 0; i--) {
    const Node *x = node(e->ir, e->items.p[i].ref);
    int uses = is_view((Op)x->op) ? e->items.p[i].uses : 1;
    if (repeats(x)) uses = 2;
    for (int k = 0; k < sources_of(e, e->items.p[i].ref); k++) {
      Item *s = item(e, x->src[k]);
      s->uses = (uint8_t)(s->uses + uses < 2 ? s->uses + uses : 2);
    }
  }
}

/* The weight of a tree bounds its dynamic variables; see MAX_VARS. */
static int own_weight(const Eval *e, const Node *x) {
  return 1 + (x->op == OP_RESHAPE ? 2 * tape_splits(x, node(e->ir, operand(x))) : x->op == OP_GATHER);
}

static int source_weight(const Eval *e, Ref r) { return item(e, r)->stored ? 1 : item(e, r)->weight; }

static int tree_weight(const Eval *e, const Node *x) {
  int sum = 0;
  for (int k = 0; k < x->nsrc; k++) {
    int w = source_weight(e, x->src[k]);
    const bool apart = x->op == OP_CAT || x->op == OP_SCATTER || x->op == OP_WALK; /* their sources are separate trees */
    sum = !apart ? sum + w : w > sum ? w : sum;
  }
  return sum + own_weight(e, x);
}

/* Stores a node in the heaviest branch below x: the smallest of the views and their sources. */
static void lighten(Eval *e, const Node *x) {
  Item *path[TREE + 1];
  int n = 0, best = 0;
  Ref r = x->src[0];
  for (int k = 1; k < x->nsrc; k++)
    if (source_weight(e, x->src[k]) > source_weight(e, r)) r = x->src[k];
  CHECK(source_weight(e, r) > 1);
  for (;; r = operand(node(e->ir, r))) {
    path[n++] = item(e, r);
    const Node *top = node(e->ir, path[best]->ref), *y = node(e->ir, r);
    if (dims_elems(y->dims, y->rank) < dims_elems(top->dims, top->rank)) best = n - 1;
    if (!is_view((Op)y->op) || source_weight(e, operand(y)) == 1) break;
  }
  path[best]->stored = true;
  for (int i = best - 1; i >= 0; i--) path[i]->weight = tree_weight(e, node(e->ir, path[i]->ref));
}

static void choose_storage(Eval *e) {
  for (size_t i = 1; i < e->items.n; i++) {
    Item *it = &e->items.p[i];
    const Node *x = node(e->ir, it->ref);
    it->weight = 1;
    if (given_value(e, it->ref)) continue;
    if (x->op == OP_REDUCE || x->op == OP_CAT || x->op == OP_SCATTER || x->op == OP_WALK ||
        (!is_view((Op)x->op) && !is_leaf((Op)x->op) && it->uses > 1))
      it->stored = true;
    while ((it->weight = tree_weight(e, x)) > TREE) lighten(e, x);
  }
}

static void find_last_reads(Eval *e) {
  for (uint32_t i = (uint32_t)e->items.n - 1; i > 0; i--) {
    const Node *x = node(e->ir, e->items.p[i].ref);
    uint32_t reader = e->items.p[i].stored ? i : e->items.p[i].last;
    for (int k = 0; k < sources_of(e, e->items.p[i].ref); k++) {
      Item *s = item(e, x->src[k]);
      if (s->last < reader) s->last = reader;
    }
  }
}

/* ---- evaluating one stored node ---- */
typedef struct Job {
  Eval *e;
  const Node *x;
  Tape t;
  Value *out;            /* storage is allocated */
  int a, b;              /* registers of the value, or of two factors (b >= 0) */
  uint32_t kept;         /* mask of axes of the space that are axes of the result */
  int64_t stride[MAX_RANK]; /* strides in the result; 0 for reduced axes */
} Job;

static bool spend(Eval *e, int64_t points, int64_t each) {
  int64_t cost;
  if (!i64_mul(points, each, &cost) || cost > e->steps) return false;
  e->steps -= cost;
  return true;
}

static int64_t work(const Tape *t) {
  int64_t n = 1;
  for (size_t i = 0; i < t->ins.n; i++) n += t->ins.p[i].kind != I_CONST;
  return n;
}

/* index of the result's element at pos */
static int64_t out_index(const Job *j) {
  int64_t r = 0;
  for (int v = 0; v < j->t.rank; v++) r += j->stride[v] * j->t.pos[v];
  return r;
}

/* Evaluates x over its shape and writes it to out in pieces of `piece` elements, which are `apart` elements apart */
static bool run_map(Eval *e, Ref r, bool root, const Value *out, int64_t first, int64_t piece, int64_t apart) {
  const Node *x = node(e->ir, r);
  Tape t;
  Affine at[MAX_RANK];
  tape_open(&t, x->rank, x->dims);
  tape_identity(&t, at);
  int a = tape_add(e, &t, r, at, root);
  tape_ready(&t, 0);
  Sweep all = tape_axes(&t, ~0u);
  int64_t n = tape_points(&t, &all);
  bool ok = spend(e, n, work(&t));
  for (int64_t s = 0; ok && s < n; s += BLOCK) {
    int block = n - s < BLOCK ? (int)(n - s) : BLOCK;
    tape_run(&t, 0, (int)t.ins.n, &all, s, block);
    for (int j = 0; j < block;) {
      int64_t row = (s + j) / piece, col = (s + j) % piece;
      int len = piece - col < block - j ? (int)(piece - col) : block - j;
      tape_store(out, first + row * apart + col, &t.reg[a], j, len);
      j += len;
    }
  }
  tape_close(&t);
  return ok;
}

static bool run_cat(Eval *e, const Node *x, const Value *out) {
  int64_t tail = dims_elems(x->dims + cat_axis(x) + 1, x->rank - (int)cat_axis(x) - 1), at = 0;
  for (int k = 0; k < x->nsrc; k++) {
    int64_t piece = node(e->ir, x->src[k])->dims[cat_axis(x)] * tail;
    if (!run_map(e, x->src[k], false, out, at, piece, x->dims[cat_axis(x)] * tail)) return false;
    at += piece;
  }
  return true;
}

/* ---- scatters ---- */
static int64_t bits_at(const Value *v, int64_t i) {
  uint64_t bits = 0;
  memcpy(&bits, (const char *)v->data + i * dt_bytes(v->dt), (size_t)dt_bytes(v->dt));
  return (int64_t)dt_wrap(v->dt, bits);
}

/* Evaluates r into memory of its own, which the caller frees; false: the budget is exceeded */
static bool run_alone(Eval *e, Ref r, Value *out) {
  const Node *x = node(e->ir, r);
  int64_t bytes;
  *out = (Value){ .dt = eval_type(e, (DType)x->dt), .elems = dims_elems(x->dims, x->rank) };
  if (!i64_mul(out->elems, dt_bytes(out->dt), &bytes) || bytes > e->bytes) return false;
  out->data = xmalloc((size_t)bytes);
  return run_map(e, r, false, out, 0, out->elems, 0);
}

static bool run_scatter(Eval *e, const Node *x, const Value *out) {
  const Node *u = node(e->ir, scatter_updates(x));
  const int axis = (int)scatter_axis(x);
  const int64_t extent = x->dims[axis], n = u->dims[axis], inner = dims_elems(x->dims + axis + 1, x->rank - axis - 1);
  Value index = { 0 }, updates = { 0 };
  bool ok = run_map(e, scatter_data(x), false, out, 0, out->elems, 0) && run_alone(e, scatter_index(x), &index) &&
            run_alone(e, scatter_updates(x), &updates);
  ok = ok && spend(e, updates.elems, 2);
  for (int64_t k = 0; ok && k < updates.elems; k++) {
    const int64_t place = bits_at(&index, k), to = (k / inner / n * extent + place) * inner + k % inner;
    if (place < 0 || place >= extent) continue;
    int64_t v[2] = { bits_at(out, to), bits_at(&updates, k) };
    const int64_t now = scatter_op(x) ? interp_scalar(scatter_op(x), out->dt, out->dt, v) : v[1];
    /* the host is little-endian */
    memcpy((char *)(uintptr_t)out->data + to * dt_bytes(out->dt), &now, (size_t)dt_bytes(out->dt));
  }
  free((void *)(uintptr_t)index.data);
  free((void *)(uintptr_t)updates.data);
  return ok;
}

/* ---- walks ---- */
static double float_at(const Value *v, int64_t i) { return bits_to_double(v->dt, bits_at(v, i)); }

static bool run_walk(Eval *e, const Node *x, const Value *out) {
  enum { DATA, FEATURE, SPLIT, NEXT, START };
  const int64_t rows = x->dims[0], trees = x->dims[1], columns = node(e->ir, walk_data(x))->dims[1];
  int64_t each;
  Value v[5] = { { 0 } };
  bool ok = i64_mul(walk_steps(x), 5, &each) && spend(e, out->elems, each);
  for (int k = 0; k < 5 && ok; k++) ok = run_alone(e, x->src[k], &v[k]);
  for (int64_t i = 0; ok && i < rows * trees; i++) {
    int64_t p = bits_at(&v[START], i % trees);
    for (int64_t s = 0; s < walk_steps(x); s++)
      p = bits_at(&v[NEXT], p) + (float_at(&v[DATA], i / trees * columns + bits_at(&v[FEATURE], p)) <= float_at(&v[SPLIT], p));
    memcpy((char *)(uintptr_t)out->data + i * 8, &p, sizeof p);
  }
  for (int k = 0; k < 5; k++) free((void *)(uintptr_t)v[k].data);
  return ok;
}

/* ---- reductions ---- */
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
  const double wide = v * 0x1.00000000004p42;
  return wide - (wide - v);
}
static inline double as_it_is(double v) { return v; }
static inline uint64_t as_word(uint64_t v) { return v; }

#define MULTIPLY(name, T, rounded)                                                                        \
  static void name(T *c, const T *a, const T *b, int m, int n, int k) {                           \
    for (int i = 0; i < m; i++)                                                                   \
      for (int j = 0; j < n; j += 8) {                                                            \
        T s[8];                                                                                   \
        memcpy(s, c + i * ROW_N + j, sizeof s);                                                   \
        for (int q = 0; q < k; q++) {                                                             \
          T x = a[i * TILE_K + q];                                                                \
          const T *y = b + q * ROW_N + j;                                                         \
          for (int l = 0; l < 8; l++) s[l] = rounded(s[l] + x * y[l]);                            \
        }                                                                                         \
        memcpy(c + i * ROW_N + j, s, sizeof s);                                                   \
      }                                                                                           \
  }
MULTIPLY(multiply_doubles, double, as_it_is)
MULTIPLY(multiply_halves, double, to_half)
MULTIPLY(multiply_words, uint64_t, as_word)

static int least(int64_t n, int limit) { return n < limit ? (int)n : limit; }

/* loads b over n0 .. and k0 .. into its tile */
static void load_b(Job *j, Tiles *t, const Sweep *n, int64_t n0, int nn, const Sweep *k, int64_t k0, int kk) {
  memset(&t->b, 0, sizeof t->b); /* columns beyond nn are computed too */
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

static void contract(Job *j, const Sweep *batch, const Sweep *m, const Sweep *n, const Sweep *k) {
  Tiles *t = xmalloc(sizeof *t);
  bool floats = dt_float((DType)j->x->dt), halves = j->e->ir->half_steps && j->x->dt == DT_F16 && j->out->dt == DT_F16;
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
    if (tape_points(&j->t, &m) >= 4 && tape_points(&j->t, &n) >= 4 && points >= 4) {
      if (!spend(j->e, results, points)) return false;
      contract(j, &batch, &m, &n, &reduced);
      return true;
    }
  }
  int64_t each;
  if (!i64_mul(points, work(&j->t), &each) || !spend(j->e, results, each)) return false;
  Reg *acc = xmalloc(2 * sizeof *acc);
  if (results >= points) reduce_across(j, &kept, &reduced, acc, acc + 1);
  else reduce_along(j, &kept, &reduced, acc, acc + 1);
  free(acc);
  return true;
}

static bool run_reduce(Eval *e, const Node *x, Value *out) {
  const Node *s = node(e->ir, operand(x));
  Affine at[MAX_RANK];
  Job j = { .e = e, .x = x, .out = out, .kept = ~reduce_axes(x) };
  if (!dims_elems(s->dims, s->rank)) { /* nothing to combine */
    Reg r;
    fill_identity(reduce_op(x), (DType)x->dt, &r);
    for (int64_t i = 0; i < out->elems; i++) tape_store(out, i, &r, 0, 1);
    return spend(e, out->elems, 1);
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

/* ---- dispatch ---- */
static bool compute(Eval *e, Item *it) {
  const Node *x = node(e->ir, it->ref);
  Value v = { .dt = eval_type(e, (DType)x->dt), .elems = dims_elems(x->dims, x->rank) };
  int64_t bytes;
  if (!i64_mul(v.elems, dt_bytes(v.dt), &bytes) || bytes > e->bytes) return false;
  void *data = xmalloc((size_t)bytes + 1);
  v.data = data;
  bool ok;
  if (!v.elems) ok = true;
  else if (x->op == OP_REDUCE) ok = run_reduce(e, x, &v);
  else if (x->op == OP_CAT) ok = run_cat(e, x, &v);
  else if (x->op == OP_SCATTER) ok = run_scatter(e, x, &v);
  else if (x->op == OP_WALK) ok = run_walk(e, x, &v);
  else ok = run_map(e, it->ref, true, &v, 0, v.elems, 0);
  it->value = v;
  it->ready = true;
  return ok;
}

static void release(Item *it) {
  if (it->stored && it->ready) free((void *)(uintptr_t)it->value.data);
  it->ready = false;
}

/* The work of an item, roughly: the points that it visits */
static double points_of(const Eval *e, const Item *it) {
  const Node *x = node(e->ir, it->ref);
  const Node *over = x->op == OP_REDUCE ? node(e->ir, operand(x)) : x;
  return it->stored ? (double)dims_elems(over->dims, over->rank) : 0;
}

static bool eval_items(Eval *e) {
  double all = 0, done = 0;
  count_uses(e);
  choose_storage(e);
  find_last_reads(e);
  for (uint32_t i = 1; i < e->items.n; i++) {
    Item *it = &e->items.p[i];
    if (!it->stored || it->last == KEEP) continue;
    it->next_dead = e->items.p[it->last].dead;
    e->items.p[it->last].dead = i;
  }
  for (uint32_t i = 1; i < e->items.n && e->tells; i++) all += points_of(e, &e->items.p[i]);
  for (uint32_t i = 1; i < e->items.n; i++) {
    Item *it = &e->items.p[i];
    if (e->tells && all > 0) ctx_progress(e->ir->ctx, "", done / all);
    done += e->tells ? points_of(e, it) : 0;
    if (!it->stored) set_leaf(e, it);
    else if (!compute(e, it)) return false;
    for (uint32_t d = it->dead; d; d = e->items.p[d].next_dead) release(&e->items.p[d]);
  }
  return true;
}

/* v as a tensor of r's type and shape */
static Tensor result(const Eval *e, Ref r, const Value *v, Arena *a) {
  const Node *x = node(e->ir, r);
  Tensor t = { .dt = (DType)x->dt, .rank = x->rank, .elems = v->elems };
  if (x->rank) memcpy(t.dims, x->dims, x->rank * sizeof *t.dims);
  char *data = arena_alloc(a, size_mul((size_t)v->elems, (size_t)dt_bytes(t.dt)));
  t.data = data;
  if (!v->elems) return t;
  if (v->dt == t.dt && v->data) {
    memcpy(data, v->data, (size_t)v->elems * (size_t)dt_bytes(t.dt));
  } else {
    Value to = { .dt = t.dt, .elems = v->elems, .data = data };
    Reg one;
    for (int64_t i = 0; i < v->elems; i++) {
      if (v->data) one.f[0] = round_to_type(t.dt, ((const double *)v->data)[i]);
      else if (dt_float(t.dt)) one.f[0] = bits_to_double(v->dt, v->splat);
      else one.i[0] = v->splat;
      tape_store(&to, i, &one, 0, 1);
    }
  }
  return t;
}

static bool run(Eval *e, const Ref *outputs, int n, Arena *a, Tensor *results) {
  bool ok = true;
  VEC_PUSH(&e->items, ((Item){ 0 }));
  for (int i = 0; ok && i < n; i++) ok = reach(e, outputs[i]);
  for (int i = 0; ok && i < n; i++) {
    Item *it = item(e, outputs[i]);
    int op = node(e->ir, outputs[i])->op;
    it->stored = op != OP_PARAM && op != OP_WEIGHT && !given_value(e, outputs[i]);
    it->last = KEEP;
  }
  ok = ok && eval_items(e);
  for (int i = 0; ok && i < n; i++) results[i] = result(e, outputs[i], &item(e, outputs[i])->value, a);
  for (size_t i = 0; i < e->items.n; i++) release(&e->items.p[i]);
  VEC_FREE(&e->items);
  refmap_free(&e->item);
  e->item = (RefMap){ 0 };
  return ok;
}

/* ---- loops that may end early ---- */
static void give(Given *g, Ref r, const Tensor *t) {
  const Ref at = refmap_get(&g->at, r);
  if (at) g->value.p[at - 1] = *t;
  else {
    VEC_PUSH(&g->value, *t);
    refmap_set(&g->at, r, (Ref)g->value.n);
  }
}

/* The CARRIEDs of a loop, one for each of its yields; their initial values, then all else that its body reads from outside */
static void read_loop(const IR *ir, const Node *loop, Refs *carried, Refs *outside) {
  Refs all = { 0 };
  ir_toposort(ir, loop->src, loop->nsrc, &all);
  for (int k = 0; k < loop->nsrc; k++)
    for (size_t i = 0; i < all.n; i++) {
      const Node *x = node(ir, all.p[i]);
      if (x->op != OP_CARRIED || carried_loop(x) != iterate_loop(loop)) continue;
      if (carried_place(x) == yield_place(node(ir, loop->src[k]))) VEC_PUSH(carried, all.p[i]);
    }
  CHECK(carried->n == loop->nsrc);
  for (size_t k = 0; k < carried->n; k++) VEC_PUSH(outside, operand(node(ir, carried->p[k])));
  for (size_t i = 0; i < all.n; i++) {
    const Node *x = node(ir, all.p[i]);
    for (int k = 0; k < x->nsrc && x->loop == iterate_loop(loop) + 1 && x->op != OP_CARRIED; k++)
      if (!node(ir, x->src[k])->loop && !is_leaf((Op)node(ir, x->src[k])->op)) VEC_PUSH(outside, x->src[k]);
  }
  VEC_FREE(&all);
}

/* Gives the results of a loop, whose values live in a. */
static bool run_early(Eval *e, Ref iterate, const Refs *order, Given *g, Arena *a) {
  IR *ir = e->ir;
  const Node *loop = node(ir, iterate);
  const int n = loop->nsrc;
  Refs carried = { 0 }, outside = { 0 }, next = { 0 };
  Arena turn[2] = { { 0 } };
  read_loop(ir, loop, &carried, &outside);
  Tensor *t = xmalloc((outside.n + (size_t)n + 1) * sizeof *t);
  bool ok = run(e, outside.p, (int)outside.n, a, t);
  for (size_t i = outside.n; ok && i-- > 0;) give(g, i < (size_t)n ? carried.p[i] : outside.p[i], &t[i]);
  for (int k = 0; k < n; k++) VEC_PUSH(&next, operand(node(ir, loop->src[k])));
  const size_t ends = (size_t)iterate_while(loop) - 1;
  for (int64_t i = 0; ok && i < iterate_trips(loop) && *(const bool *)t[ends].data; i++) {
    arena_free(&turn[i & 1]);
    ok = run(e, next.p, n, &turn[i & 1], t);
    for (int k = 0; ok && k < n; k++) give(g, carried.p[k], &t[k]);
  }
  for (size_t i = 0; ok && i < order->n; i++) {
    const Node *x = node(ir, order->p[i]);
    if (x->op != OP_RESULT || operand(x) != iterate) continue;
    Tensor kept = t[result_at(x)];
    kept.data = arena_dup(a, kept.data, size_mul((size_t)kept.elems, (size_t)dt_bytes(kept.dt)));
    give(g, order->p[i], &kept);
  }
  for (int k = 0; k < 2; k++) arena_free(&turn[k]);
  free(t);
  VEC_FREE(&carried);
  VEC_FREE(&outside);
  VEC_FREE(&next);
  return ok;
}

static bool run_all(Eval *e, const Ref *outputs, int n, Arena *a, Tensor *results) {
  Refs order = { 0 };
  Given g = { 0 };
  bool ok = true;
  if (e->ir->loops) ir_toposort(e->ir, outputs, (size_t)n, &order);
  e->given = &g;
  for (size_t i = 0; i < order.n && ok; i++)
    if (node(e->ir, order.p[i])->op == OP_ITERATE) ok = run_early(e, order.p[i], &order, &g, a);
  ok = ok && run(e, outputs, n, a, results);
  refmap_free(&g.at);
  VEC_FREE(&g.value);
  VEC_FREE(&order);
  return ok;
}

bool interp_graph(IR *ir, const Ref *outputs, int n, const Tensor *const *inputs, Arena *a, bool with_double,
                  int64_t steps, Tensor *results) {
  Eval e = { .ir = ir, .inputs = inputs, .with_double = with_double, .steps = steps ? steps : INT64_MAX,
             .bytes = INT64_MAX, .tells = ir->ctx->progress != NULL };
  Ref *straight = xmalloc(((size_t)n + 1) * sizeof *straight);
  memcpy(straight, outputs, (size_t)n * sizeof *straight);
  ir_unroll(ir, straight, (size_t)n, INT64_MAX);
  ir_select(ir, straight, (size_t)n, NULL);
  const bool ok = run_all(&e, straight, n, a, results);
  free(straight);
  return ok;
}

/* Constants that need no evaluation: one value everywhere, or a stored tensor in another shape. */
static bool known_constant(IR *ir, Ref r, Tensor *out) {
  const Node *x = node(ir, r), *s = x;
  *out = (Tensor){ .dt = (DType)x->dt, .rank = x->rank, .elems = dims_elems(x->dims, x->rank) };
  if (x->rank) memcpy(out->dims, x->dims, x->rank * sizeof *out->dims);
  if (node_is_const(ir, r, &out->splat)) return out->elems < INT64_MAX;
  while (s->op == OP_RESHAPE) s = node(ir, operand(s));
  if (s->op != OP_WEIGHT) return false;
  out->data = ir->tensors.p[weight_id(s)].data;
  out->splat = ir->tensors.p[weight_id(s)].splat;
  return true;
}

/* Limit of bytes for folding. It is fixed at the start, since folded tensors join the model's. */
static int64_t fold_bytes(const IR *ir) {
  int64_t model = 0;
  if (ir->ctx->limits.fold) return ir->ctx->limits.fold;
  for (size_t i = 0; i < ir->tensors.n; i++)
    if (ir->tensors.p[i].data) model += ir->tensors.p[i].elems * dt_bytes(ir->tensors.p[i].dt);
  return 4 * model > 256 << 20 ? 4 * model : 256 << 20;
}

bool interp_const(IR *ir, Ref r, Tensor *out) {
  Ctx *c = ir->ctx;
  if (node(ir, r)->varies) return false;
  if (known_constant(ir, r, out)) return true;
  if (!c->fold.started) c->fold = (FoldBudget){ .started = true, .steps = c->limits.fold_steps, .bytes = fold_bytes(ir) };
  Eval e = { .ir = ir, .steps = c->fold.steps, .bytes = c->fold.bytes };
  bool ok = run(&e, &r, 1, &c->model, out);
  c->fold.steps = e.steps;
  if (ok) c->fold.bytes -= out->elems * dt_bytes(out->dt);
  return ok;
}

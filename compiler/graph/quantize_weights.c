/* SPDX-License-Identifier: MIT */
/* quantize_weights.c: weight-only quantisation, for weights that a run reads only a few times.
 *
 * A sum of products with few rows takes as long as loading its weights, so fewer bytes save time. The sum stays in single
 * precision. Kernels widen the weights in registers:
 *
 *   sum(a * w)  ->  sum(a * float(h))             h in bf16 or fp16
 *   sum(a * w)  ->  sum(a * float(q)) * s         q in -127..127, one scale for all terms of a result
 *   sum(a * w)  ->  sum(a * (float(q) * s - 8 s)) q in 0..15, one scale per block of 32 along the sum
 *
 * A word holds eight such q. A mask extracts each at its place in the word, and the scale absorbs the resulting power of two.
 * So each needs only a conversion and two multiply-adds.
 *
 * Where blocks do not divide the extent, a weight takes bytes instead. Small weights stay, as in weights_to_half.c.
 *
 * needs: a folded graph    gives: constants of few bits and ops that widen them, which later passes leave alone
 * breaks: roundings of the weights */
#include "../ir/decisions.h"
#include "contraction.h"
#include "graph.h"
#include "rules.h"
#include <math.h>
#include <string.h>

enum { BLOCK = 32 };

const char *const storage_name[] = {
#define STORAGE(id, name, gloss) [STORE_##id] = name,
#include "storage.h"
};

Storage storage_named(const char *s) {
  return (Storage)word_index(storage_name, STORAGE_COUNT, s);
}

/* A run reads each element of the sum's weight so rarely that fewer bits save time. */
static bool read_rarely(const IR *ir, Ref sum, int64_t elems, int64_t times) {
  if (elems < tunable(ir->ctx, quantize_least)) return false;
  const Question q = ask_node(ir, "rare", sum);
  return answer_yes(ir, &q, times <= tunable(ir->ctx, quantize_reads));
}

/* ---- numbers ---- */
/* The group of the first element of a row (a row is the last axis). A group has size[a] elements along axis a. */
static int64_t row_group(const Tensor *t, const int64_t *size, int64_t row) {
  int64_t group = 0, inner = t->dims[t->rank - 1] / size[t->rank - 1];
  for (int a = t->rank - 2; a >= 0; a--) {
    group += row % t->dims[a] / size[a] * inner;
    inner *= t->dims[a] / size[a];
    row /= t->dims[a];
  }
  return group;
}

/* Quantises elements to integers, with a scale per group; the element farthest from 0 becomes `far`. False: an element is not
 * finite */
static bool quantised(const Tensor *w, const int64_t *size, int far, int8_t *q, int64_t groups, float *scale) {
  const int64_t n = w->dims[w->rank - 1], last = size[w->rank - 1];
  memset(scale, 0, (size_t)groups * sizeof *scale);
  for (int64_t at = 0; at < w->elems; at += n) {
    float *s = scale + row_group(w, size, at / n);
    for (int64_t i = 0; i < n; i++) {
      const float x = data_f32(w->data, at + i);
      if (!isfinite(x)) return false;
      if (fabsf(x) > fabsf(s[i / last])) s[i / last] = x;
    }
  }
  for (int64_t i = 0; i < groups; i++) scale[i] /= (float)far;
  const float least = far < 0 ? (float)far : (float)-far, most = far < 0 ? (float)(-far - 1) : (float)far;
  for (int64_t at = 0; at < w->elems; at += n) {
    const float *s = scale + row_group(w, size, at / n);
    for (int64_t i = 0; i < n; i++) {
      float v = s[i / last] != 0 ? rintf(data_f32(w->data, at + i) / s[i / last]) : 0;
      q[at + i] = (int8_t)(v < least ? least : v > most ? most : v);
    }
  }
  return true;
}

/* splits axis of x in two, of extents outer and the rest */
static Ref split_axis(IR *ir, Ref x, int axis, int64_t outer) {
  const Node *n = node(ir, x);
  int64_t dims[MAX_RANK];
  CHECK(n->rank < MAX_RANK);
  memcpy(dims, n->dims, (size_t)axis * sizeof *dims);
  dims[axis] = outer;
  memcpy(dims + axis + 1, n->dims + axis, (size_t)(n->rank - axis) * sizeof *dims);
  dims[axis + 1] = n->dims[axis] / outer;
  return g_reshape(ir, x, n->rank + 1, dims);
}

/* Packs integers below 1 << bits, stored a byte each, into words along an axis that divides into words */
static Ref packed_words(IR *ir, const Tensor *q, int axis, int bits) {
  const int per = 32 / bits;
  const uint8_t *from = q->data;
  Tensor to = *q;
  int64_t inner = 1;
  to.dt = DT_I32;
  to.dims[axis] /= per;
  to.elems /= per;
  for (int a = axis + 1; a < q->rank; a++) inner *= q->dims[a];
  uint32_t *out = arena_alloc(&ir->ctx->model, size_mul((size_t)to.elems, sizeof *out));
  memset(out, 0, (size_t)to.elems * sizeof *out);
  for (int64_t row = 0, n = q->elems / inner; row < n; row++)
    for (int64_t i = 0; i < inner; i++) out[row / per * inner + i] |= (uint32_t)from[row * inner + i] << (row % per * bits);
  to.data = out;
  return g_weight(ir, ir_tensor(ir, &to));
}

/* Reads q, integers below 1 << bits stored a byte each, from words along an axis. The result is i32 fields as the mask extracts
 * them, to be multiplied by *unit, a power of two */
static Ref fields_of(IR *ir, const Tensor *q, int axis, int bits, Ref *unit) {
  const int per = 32 / bits, half = 16 / bits; /* fields of the lower half never include the sign bit */
  int64_t ones[MAX_RANK + 1], whole[MAX_RANK + 1];
  Ref words = split_axis(ir, packed_words(ir, q, axis, bits), axis, q->dims[axis] / per);
  for (int a = 0; a <= q->rank; a++) ones[a] = a == axis + 1 ? per : 1, whole[a] = a == axis + 1 ? per : node(ir, words)->dims[a];
  Ref at = g_iota(ir, DT_I64, per), high = g_binary(ir, OP_FLDIV, at, c_int(ir, DT_I64, half)),
      low = g_binary(ir, OP_FLMOD, at, c_int(ir, DT_I64, half));
  high = g_cast(ir, g_binary(ir, OP_MUL, high, c_int(ir, DT_I64, 16)), DT_I32);
  low = g_cast(ir, g_binary(ir, OP_MUL, low, c_int(ir, DT_I64, bits)), DT_I32);
  Ref mask = g_binary(ir, OP_SHL, c_int(ir, DT_I32, (1 << bits) - 1), low);
  Ref size = g_cast(ir, g_binary(ir, OP_SHL, c_int(ir, DT_I32, 1), low), DT_F32);
  Ref field = g_binary(ir, OP_AND, g_binary(ir, OP_SHR, words, g_reshape(ir, high, q->rank + 1, ones)),
                       g_reshape(ir, mask, q->rank + 1, ones));
  Ref each = g_reshape(ir, g_unary(ir, OP_RECIP, size), q->rank + 1, ones);
  *unit = g_reshape(ir, g_expand(ir, each, q->rank + 1, whole), q->rank, q->dims);
  return g_reshape(ir, field, q->rank, q->dims);
}

/* ---- the graph ---- */
/* Limit of how often a run reads an element of factor f */
static int64_t reads(const Contraction *c, int f) {
  int64_t n = 1;
  for (int i = 0; i < c->n; i++)
    if (!c->range[i].summed && !c->range[i].in[f] && !i64_mul(n, c->range[i].extent, &n)) return INT64_MAX;
  return n;
}

typedef struct Site {      /* a sum of products whose factor f is a weight, read along ranges by[0..w.rank) */
  const Contraction *c;
  int f;
  Tensor w;
  int by[MAX_RANK];
} Site;

/* Views the weight in memory order, with an axis per range; false: it is read in another way */
static bool open_weight(IR *ir, Site *at) {
  const Contraction *c = at->c;
  const Tensor *t = &ir->tensors.p[weight_id(node(ir, c->base[at->f]))];
  int64_t coef[MAX_RANK], begin, i[MAX_RANK] = { 0 }, dense = 1;
  contraction_flat(ir, c, at->f, coef, &begin);
  at->w = (Tensor){ .dt = DT_F32, .elems = 1 };
  for (int r = 0; r < c->n; r++) {
    if (!c->range[r].in[at->f]) continue;
    int k = at->w.rank++;
    for (; k && coef[at->by[k - 1]] < coef[r]; k--) at->by[k] = at->by[k - 1];
    at->by[k] = r;
    if (coef[r] < 1 || !i64_mul(at->w.elems, c->range[r].extent, &at->w.elems)) return false;
  }
  if (!at->w.rank || at->w.rank > MAX_RANK - 2 || at->w.elems > t->elems) return false;
  bool ordered = !begin;
  for (int a = at->w.rank - 1; a >= 0; a--) {
    at->w.dims[a] = c->range[at->by[a]].extent;
    ordered &= coef[at->by[a]] == dense;
    dense *= at->w.dims[a];
  }
  at->w.data = t->data;
  if (ordered) return true;
  float *out = arena_alloc(&ir->ctx->model, size_mul((size_t)at->w.elems, sizeof *out));
  int64_t from = begin;
  for (int64_t k = 0; k < at->w.elems; k++) {
    out[k] = data_f32(t->data, from);
    int a = at->w.rank - 1;
    for (; a >= 0; a--) {
      from += coef[at->by[a]];
      if (++i[a] < at->w.dims[a]) break;
      from -= coef[at->by[a]] * i[a];
      i[a] = 0;
    }
  }
  at->w.data = out;
  return true;
}

/* r, which has the weight's axes, over the axes of the sum */
static Ref over_ranges(IR *ir, const Site *at, Ref r) {
  const Node *p = node(ir, operand(node(ir, at->c->sum)));
  int64_t perm[MAX_RANK], dims[MAX_RANK];
  int n = 0;
  for (int a = 0; a < p->rank; a++) dims[a] = 1;
  for (int i = 0; i < at->c->n; i++)
    for (int a = 0; a < at->w.rank; a++) {
      if (at->by[a] != i) continue;
      perm[n++] = a;
      dims[at->c->range[i].axis] = node(ir, r)->dims[a];
    }
  return g_reshape(ir, g_permute(ir, r, perm), p->rank, dims);
}

/* The sum of the other factor times w, which has the weight's axes */
static Ref sum_with(IR *ir, const Site *at, Ref w) {
  const Node *x = node(ir, at->c->sum);
  Ref product = view_base(ir, operand(x)), other = view_over(ir, operand(x), product, node(ir, product)->src[!at->f]);
  return g_reduce(ir, OP_ADD, g_binary(ir, OP_MUL, other, over_ranges(ir, at, w)), reduce_axes(x));
}

/* q, packed in half bytes with zero at 8, times the scale s of its block along an axis */
static Ref scaled_blocks(IR *ir, const Tensor *q, int axis, Ref s) {
  Ref unit, field = fields_of(ir, q, axis, 4, &unit);
  const int64_t blocks = q->dims[axis] / BLOCK;
  s = split_axis(ir, s, axis, blocks);
  unit = g_binary(ir, OP_MUL, split_axis(ir, unit, axis, blocks), s);
  Ref w = g_binary(ir, OP_MUL, g_cast(ir, split_axis(ir, field, axis, blocks), DT_F32), unit);
  return g_reshape(ir, g_binary(ir, OP_SUB, w, g_binary(ir, OP_MUL, s, c_float(ir, DT_F32, 8))), q->rank, q->dims);
}

static Ref in_integers(IR *ir, const Site *at, Storage how) {
  const Tensor *w = &at->w;
  Tensor q = *w, s = *w;
  int64_t size[MAX_RANK];
  int block = -1;
  for (int a = 0; a < w->rank && how == STORE_INT4 && block < 0; a++)
    if (at->c->range[at->by[a]].summed && w->dims[a] % BLOCK == 0) block = a;
  s.elems = 1;
  for (int a = 0; a < w->rank; a++) {
    size[a] = a == block ? BLOCK : block < 0 && at->c->range[at->by[a]].summed ? w->dims[a] : 1;
    s.elems *= s.dims[a] = w->dims[a] / size[a];
  }
  int8_t *bytes = arena_alloc(&ir->ctx->model, (size_t)w->elems);
  float *scale = arena_alloc(&ir->ctx->model, size_mul((size_t)s.elems, sizeof *scale));
  if (!quantised(w, size, block < 0 ? 127 : -8, bytes, s.elems, scale)) return 0;
  q.dt = DT_I8;
  q.data = bytes;
  s.data = scale;
  Ref scales = g_weight(ir, ir_tensor(ir, &s));
  if (block < 0)
    return g_binary(ir, OP_MUL, sum_with(ir, at, g_cast(ir, g_weight(ir, ir_tensor(ir, &q)), DT_F32)),
                    over_ranges(ir, at, scales));
  for (int64_t i = 0; i < q.elems; i++) bytes[i] += 8;
  return sum_with(ir, at, scaled_blocks(ir, &q, block, scales));
}

/* ---- weights that are already integers ---- */
static int64_t below_views(const IR *ir, Ref r) {
  const Node *x = node(ir, view_base(ir, r));
  return dims_elems(x->dims, x->rank);
}

int quantised_factor(const IR *ir, Ref sum, int f, Ref *chain) {
  const Node *x = node(ir, sum);
  if (x->op != OP_REDUCE || x->dt != DT_F32 || reduce_op(x) != OP_ADD) return 0;
  const Node *p = node(ir, view_base(ir, operand(x)));
  if (p->op != OP_MUL || node(ir, p->src[f])->varies) return 0;
  Ref r = p->src[f];
  for (int n = 0; n < MAX_GROUP; r = node(ir, r)->src[0]) {
    const Node *y = node(ir, r), *s = y->nsrc ? node(ir, y->src[0]) : NULL;
    chain[n++] = r;
    if (y->op == OP_CAST) {
      const int64_t elems = dims_elems(s->dims, s->rank),
                    all = dims_elems(node(ir, operand(x))->dims, node(ir, operand(x))->rank);
      return (s->dt == DT_U8 || s->dt == DT_I8) && elems && read_rarely(ir, sum, elems, all / elems) ? n : 0;
    }
    bool scales = y->op == OP_MUL || y->op == OP_SUB || y->op == OP_ADD;
    if (scales ? below_views(ir, rhs(y)) > dims_elems(y->dims, y->rank) / 8
               : y->op != OP_RESHAPE && y->op != OP_PERMUTE && y->op != OP_EXPAND)
      return 0;
  }
  return 0;
}

/* Fewest bits of fields that hold all of q; *zero: least value of q. 0: only bytes do */
static int word_bits(const Tensor *q, int64_t *zero) {
  const int8_t *p = q->data;
  int low = INT8_MAX, high = INT8_MIN;
  if (!p) return 0;
  for (int64_t i = 0; i < q->elems; i++) { /* an unsigned value above 127 is negative here, so the range is too large */
    if (p[i] < low) low = p[i];
    if (p[i] > high) high = p[i];
  }
  for (int bits = 2; bits <= 4; bits += 2) {
    *zero = low < 0 ? -(1 << (bits - 1)) : 0;
    if (low >= *zero && high < *zero + (1 << bits)) return bits;
  }
  return 0;
}

/* The last axis of the bytes that is summed over and whose extent is a multiple of `per`; -1: none */
static int word_axis(IR *ir, Ref sum, const Ref *chain, int n, int per) {
  const Node *x = node(ir, sum), *q = node(ir, operand(node(ir, chain[n - 1])));
  Ref idx[MAX_RANK], at[MAX_RANK], r = operand(x);
  for (int a = 0; a < node(ir, r)->rank; a++)
    idx[a] = range_make(ir, node(ir, r)->dims[a], reduce_axes(x) >> a & 1 ? RK_REDUCE : RK_LOOP);
  while (r != operand(node(ir, chain[n - 1]))) {
    const Node *y = node(ir, r);
    if (op_is_movement((Op)y->op)) {
      view_index(ir, r, idx, at);
      memcpy(idx, at, sizeof at);
    }
    r = y->op == OP_MUL && r == view_base(ir, operand(x)) ? chain[0] : y->src[0];
  }
  for (int a = q->rank - 1; a >= 0; a--) {
    Refs all = { 0 };
    bool summed = q->dims[a] % per == 0;
    ir_toposort(ir, &idx[a], 1, &all);
    for (size_t i = 0; i < all.n; i++)
      summed &= node(ir, all.p[i])->op != OP_RANGE || range_kind(node(ir, all.p[i])) == RK_REDUCE;
    VEC_FREE(&all);
    if (summed) return a;
  }
  return -1;
}

/* Scale and shift that the chain applies to the bytes on the way up */
static void scale_and_shift(IR *ir, const Ref *chain, int n, Ref *scale, Ref *shift) {
  for (int i = n - 2; i >= 0; i--) {
    const Node *y = node(ir, chain[i]);
    if (y->op == OP_MUL) *scale = g_binary(ir, OP_MUL, *scale, rhs(y));
    if (op_is_movement((Op)y->op)) *scale = node_with_src(ir, chain[i], scale);
    *shift = node_with_src(ir, chain[i], (Ref[]){ *shift, y->nsrc > 1 ? y->src[1] : 0 });
  }
}

/* Bytes packed in words: float(q) * s + t; s and t vary as scales and zero points do */
static Ref in_words(IR *ir, Ref sum, int f, const Ref *chain, int n) {
  const Node *x = node(ir, operand(node(ir, chain[n - 1]))), *w = x;
  while (w->op == OP_RESHAPE) w = node(ir, operand(w));
  if (w->op != OP_WEIGHT) return 0;
  Tensor q = ir->tensors.p[weight_id(w)];
  q.rank = x->rank;
  memcpy(q.dims, x->dims, x->rank * sizeof *q.dims);
  int64_t zero;
  int bits = word_bits(&q, &zero), axis = bits ? word_axis(ir, sum, chain, n, 32 / bits) : -1;
  if (axis < 0) return 0;
  if (zero) {
    int8_t *bytes = arena_dup(&ir->ctx->model, q.data, (size_t)q.elems);
    for (int64_t i = 0; i < q.elems; i++) bytes[i] -= (int8_t)zero;
    q.data = bytes;
  }
  Ref scale, field = fields_of(ir, &q, axis, bits, &scale),
             shift = g_expand(ir, c_float(ir, DT_F32, (double)zero), q.rank, q.dims);
  scale_and_shift(ir, chain, n, &scale, &shift);
  for (field = g_cast(ir, field, DT_F32); n-- > 1;)
    if (op_is_movement((Op)node(ir, chain[n - 1])->op)) field = node_with_src(ir, chain[n - 1], &field);
  const Node *p = node(ir, view_base(ir, operand(node(ir, sum))));
  Ref src[2] = { lhs(p), rhs(p) };
  src[f] = g_binary(ir, OP_ADD, g_binary(ir, OP_MUL, field, scale), shift);
  return view_over(ir, sum, view_base(ir, operand(node(ir, sum))), node_with_src(ir, view_base(ir, operand(node(ir, sum))), src));
}

static Ref rule_words(IR *ir, Ref r, void *arg) {
  Ref chain[MAX_GROUP];
  (void)arg;
  for (int f = 0; f < 2; f++) {
    int n = quantised_factor(ir, r, f, chain);
    if (n) return in_words(ir, r, f, chain, n);
  }
  return 0;
}

static Ref rule_store(IR *ir, Ref r, void *arg) {
  const Storage how = *(const Storage *)arg;
  Contraction c;
  if (how == STORE_FP32 || node(ir, r)->dt != DT_F32 || !contraction_find(ir, r, &c)) return 0;
  for (int f = 0; f < 2; f++) {
    const Node *w = node(ir, c.base[f]);
    Site at = { .c = &c, .f = f };
    if (w->op != OP_WEIGHT || w->dt != DT_F32 || !ir->tensors.p[weight_id(w)].data || !node(ir, c.base[!f])->varies) continue;
    if (!read_rarely(ir, r, dims_elems(w->dims, w->rank), reads(&c, f)) || !open_weight(ir, &at)) continue;
    if (how == STORE_INT8 || how == STORE_INT4) return in_integers(ir, &at, how);
    Ref half = half_weight(ir, g_weight(ir, ir_tensor(ir, &at.w)), how == STORE_BF16 ? DT_BF16 : DT_F16);
    return half ? sum_with(ir, &at, half) : 0;
  }
  return 0;
}

bool graph_quantize_weights(Graph *g, Storage how) {
  static const Rule rules[] = { { OP_REDUCE, "words", rule_words }, { OP_REDUCE, "store", rule_store }, { OP_NONE, NULL, NULL } };
  return ir_rewrite_graph(g, rules, &how);
}

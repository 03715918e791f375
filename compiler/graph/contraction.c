/* SPDX-License-Identifier: MIT */
/* contraction.c: finds sums of products, whatever movement is around them.
 *
 * A REDUCE(ADD) of a product gets a range for each axis of its operand. The ranges are pushed through views down to the bases
 * of the two factors. If each index is a sum of ranges times constants, the ranges' occurrences tell everything, like the
 * letters of an einsum. A range of both factors and the result is a batch axis. A range of a single factor is a row or column
 * axis. A summed range of both factors is the inner axis. Two ranges on one axis of a factor, one kept and one summed, are a
 * window. Operators play no part: convolutions, matrix products and correlations that a model spells out in primitives are
 * found alike. */
#include "contraction.h"
#include <string.h>

/* Changes idx, an index into r, to an index into the base of r's views */
static Ref through_views(IR *ir, Ref r, Ref *idx) {
  Ref at[MAX_RANK];
  while (op_is_movement((Op)node(ir, r)->op)) {
    view_index(ir, r, idx, at);
    r = operand(node(ir, r));
    memcpy(idx, at, sizeof at);
  }
  return r;
}

/* e as a sum of ranges times constants; coef: by index of the range. False if it is anything else. */
static bool affine(IR *ir, const Contraction *c, Ref e, int64_t *coef, int64_t *begin) {
  for (int i = 0; i < c->n; i++) {
    coef[i] = 0;
    if (ix_uses(ir, e, c->range[i].range) && !ix_split(ir, e, c->range[i].range, &coef[i], &e)) return false;
  }
  return node_is_const(ir, e, begin);
}

/* The same, but stops where idx would no longer be affine, as below a reshape that splits heads. */
static Ref through_affine_views(IR *ir, const Contraction *c, Ref r, Ref *idx) {
  int64_t coef[MAX_RANK], begin;
  Ref at[MAX_RANK];
  for (; op_is_movement((Op)node(ir, r)->op); r = operand(node(ir, r))) {
    const int rank = node(ir, operand(node(ir, r)))->rank;
    view_index(ir, r, idx, at);
    for (int a = 0; a < rank; a++)
      if (!affine(ir, c, at[a], coef, &begin)) return r;
    memcpy(idx, at, sizeof at);
  }
  return r;
}

static void take_axis(IR *ir, Contraction *c, int f, int a) {
  int64_t coef[MAX_RANK], begin;
  int kept = -1, summed = -1, n = 0;
  CHECK(affine(ir, c, c->at[f][a], coef, &begin));
  for (int i = 0; i < c->n; i++) {
    if (!coef[i]) continue;
    c->range[i].in[f] = true;
    *(c->range[i].summed ? &summed : &kept) = i;
    n++;
  }
  if (n == 2 && kept >= 0 && summed >= 0)
    c->window[c->nwindows++] = (CWindow){ f, a, kept, summed, begin, coef[kept], coef[summed] };
}

bool contraction_find(IR *ir, Ref r, Contraction *c) {
  const Node *x = node(ir, r);
  if (x->op != OP_REDUCE || reduce_op(x) != OP_ADD) return false;
  const Node *p = node(ir, operand(x));
  Ref idx[MAX_RANK];
  int64_t coef[MAX_RANK], begin;
  memset(c, 0, sizeof *c);
  c->sum = r;
  for (int a = 0; a < p->rank; a++) {
    if (p->dims[a] < 1) return false;
    idx[a] = ix_const(ir, 0);
    if (p->dims[a] == 1) continue;
    /* numbers below 0, which no kernel uses */
    idx[a] = node_make(ir, OP_RANGE, DT_I64, 1, 0, NULL, 3, (int64_t[]){ p->dims[a], -1 - a, RK_LOOP }, 0, NULL);
    c->range[c->n++] = (CRange){ .range = idx[a], .extent = p->dims[a], .axis = a, .summed = reduce_axes(x) >> a & 1 };
  }
  const Node *product = node(ir, through_views(ir, operand(x), idx));
  if (product->op != OP_MUL || lhs(product) == rhs(product)) return false;
  for (int a = 0; a < product->rank; a++)
    if (!affine(ir, c, idx[a], coef, &begin)) return false;
  for (int f = 0; f < 2; f++) {
    memcpy(c->at[f], idx, sizeof idx);
    c->base[f] = through_affine_views(ir, c, product->src[f], c->at[f]);
    for (int a = 0; a < node(ir, c->base[f])->rank; a++) take_axis(ir, c, f, a);
  }
  return true;
}

static bool converts_bytes(const IR *ir, const Node *x) {
  return x->op == OP_CAST && dt_int((DType)x->dt) && dt_int((DType)node(ir, operand(x))->dt) &&
         dt_bytes((DType)node(ir, operand(x))->dt) == 1;
}

bool contraction_of_bytes(IR *ir, Contraction *c) {
  for (int f = 0; f < 2; f++) {
    if (!converts_bytes(ir, node(ir, c->base[f]))) return false;
    c->base[f] = through_affine_views(ir, c, operand(node(ir, c->base[f])), c->at[f]);
  }
  c->nwindows = 0;
  for (int i = 0; i < c->n; i++) c->range[i].in[0] = c->range[i].in[1] = false;
  for (int f = 0; f < 2; f++)
    for (int a = 0; a < node(ir, c->base[f])->rank; a++) take_axis(ir, c, f, a);
  return true;
}

int contraction_axis(IR *ir, const Contraction *c, int f, int a) {
  for (int i = 0; i < c->n; i++)
    if (c->at[f][a] == c->range[i].range && c->range[i].extent == node(ir, c->base[f])->dims[a]) return i;
  return -1;
}

void contraction_flat(IR *ir, const Contraction *c, int f, int64_t *coef, int64_t *begin) {
  const Node *x = node(ir, c->base[f]);
  int64_t one[MAX_RANK], first, inner = 1;
  memset(coef, 0, (size_t)c->n * sizeof *coef);
  *begin = 0;
  for (int a = x->rank - 1; a >= 0; inner *= x->dims[a], a--) {
    CHECK(affine(ir, c, c->at[f][a], one, &first));
    *begin += first * inner;
    for (int i = 0; i < c->n; i++) coef[i] += one[i] * inner;
  }
}

bool contraction_batched(const Contraction *c) {
  for (int i = 0; i < c->n; i++)
    if (!c->range[i].summed && c->range[i].in[0] && c->range[i].in[1]) return true;
  return false;
}

bool contraction_pairs(const Contraction *c, int f) {
  for (int i = 0; i < c->n; i++) {
    bool tap = false;
    for (int k = 0; k < c->nwindows; k++) tap |= c->window[k].factor == f && c->window[k].tap == i;
    if (!tap && c->range[i].summed && c->range[i].in[0] && c->range[i].in[1] && c->range[i].extent >= 8 &&
        c->range[i].extent % 2 == 0)
      return true;
  }
  return false;
}

void contraction_print(const IR *ir, const Contraction *c, Sb *out) {
  static const struct { const char *name; bool summed, in[2]; } role[] = {
    { "batch", false, { true, true } }, { "rows", false, { true, false } }, { "columns", false, { false, true } },
    { "summed", true, { true, true } }, { "summed alone", true, { true, false } }, { "summed alone", true, { false, true } },
  };
  const char *sep = "";
  for (size_t k = 0; k < sizeof role / sizeof *role; k++) {
    const char *by = " ";
    for (int i = 0; i < c->n; i++) {
      const CRange *r = &c->range[i];
      if (r->summed != role[k].summed || r->in[0] != role[k].in[0] || r->in[1] != role[k].in[1]) continue;
      if (*by == ' ') sb_printf(out, "%s%s", sep, role[k].name);
      sb_printf(out, "%s%lld", by, (long long)r->extent);
      by = "x";
      sep = ", ";
    }
  }
  for (int i = 0; i < c->nwindows; i++) {
    const CWindow *w = &c->window[i];
    sb_printf(out, "%swindow of %lld on axis %d (extent %lld)", sep, (long long)c->range[w->tap].extent, w->axis,
              (long long)node(ir, c->base[w->factor])->dims[w->axis]);
    if (w->stride != 1) sb_printf(out, " stride %lld", (long long)w->stride);
    if (w->dilation != 1) sb_printf(out, " dilation %lld", (long long)w->dilation);
    sep = ", ";
  }
}

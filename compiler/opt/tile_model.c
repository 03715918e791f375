/* SPDX-License-Identifier: MIT */
/* tile_model.c: takes a nest apart for the cost model of register tiles (cost/tile.c). The model has the nest's ranges, its
 * accesses, and the instructions in the body of its main reduction.
 *
 * needs: a canonical nest   gives: its Model   breaks: nothing */
#include "tile_model.h"
#include <string.h>

/* Finds quotients of range i in an index: lanes along the range read runs of equal elements there. */
static void find_runs(const Model *m, Access *a, Ref index, int i) {
  FloorDivs s;
  int64_t by;
  Ref rest;
  index = floordivs_open(m->ir, index, &s);
  for (int k = 0; k < s.n; k++) {
    const Node *x = node(m->ir, s.term[k]);
    if (s.range[k] != m->range[i] || lhs(x) != m->range[i] || !node_is_const(m->ir, rhs(x), &by)) continue;
    if (!ix_split(m->ir, index, s.step[k], &a->step[i], &rest) || ix_uses(m->ir, rest, m->range[i])) continue;
    a->run[i] = by;
  }
}

void model_access(Model *m, Ref r, Ref index, Ref buffer, bool hot, double times, int group) {
  IR *ir = m->ir;
  const Buf *b = &ir->bufs.p[buffer_id(node(ir, buffer))];
  Access a = { .ref = r, .hot = hot, .times = times, .weight = b->kind == BUF_WEIGHT, .group = group };
  a.bytes = group * dt_bytes(b->dt);
  a.store = node(ir, r)->op == OP_STORE;
  a.gated = node(ir, r)->op == OP_LOAD && load_gate(node(ir, r)) && !a.weight; /* packing resolves gates of weights */
  for (int i = 0; i < m->n; i++) {
    Ref rest;
    a.depends[i] = ix_uses(ir, index, m->range[i]) || (a.gated && ix_uses(ir, load_gate(node(ir, r)), m->range[i]));
    a.affine[i] = ix_split(ir, index, m->range[i], &a.coef[i], &rest) &&
                  !(a.gated && ix_uses(ir, load_gate(node(ir, r)), m->range[i]));
    if (!a.affine[i] && !a.gated) find_runs(m, &a, index, i);
  }
  VEC_PUSH(&m->access, a);
}

/* Finds the ranges of the reduction that are windows, and how many elements of its buffer the access reads. */
static void find_windows(const Model *m, Access *a) {
  double times = 1;
  for (int i = 0; i < m->n; i++) {
    a->along[i] = -1;
    if (a->depends[i]) times *= (double)m->extent[i];
    for (int j = 0; j < m->nout && i >= m->nout && !a->weight && a->depends[i] && a->affine[i]; j++)
      if (a->depends[j] && a->affine[j] &&
          walked_elements(a->coef[i], m->extent[i], a->coef[j], m->extent[j]) < (double)(m->extent[i] * m->extent[j]))
        a->along[i] = j;
  }
  a->elements = access_elements(m, a, m->extent, -1);
  a->reuse = times / a->elements;
}

static double red_terms(const IR *ir, const Node *red) {
  double n = 1;
  for (int k = 1; k < red->nsrc; k++) n *= (double)range_extent(node(ir, red->src[k]));
  return n;
}

static bool adds_halves(const Node *x, const Target *t) {
  return x->op == OP_RED && x->dt == DT_F16 && red_op(x) == OP_ADD && target_sums_halves(t, 0);
}

int lane_bytes(const IR *ir, Ref root, const Target *t) {
  Refs all = { 0 };
  bool halves = false;
  if (!target_sums_halves(t, 0)) return 4;
  ir_toposort(ir, &root, 1, &all);
  for (size_t i = 0; i < all.n; i++) halves |= adds_halves(node(ir, all.p[i]), t);
  VEC_FREE(&all);
  return halves ? 2 : 4;
}

/* The reduction with the most terms: its loop is the hot one. A part of a sum in halves stands inside the others. */
static Ref main_reduction(const IR *ir, const Refs *all, const Target *t) {
  Ref best = 0;
  for (size_t i = 0; i < all->n; i++) {
    const Node *x = node(ir, all->p[i]);
    if (adds_halves(x, t)) return all->p[i];
    if (x->op == OP_RED && (!best || red_terms(ir, x) > red_terms(ir, node(ir, best)))) best = all->p[i];
  }
  return best;
}

/* Bytes of the widest value that is loaded below r as data. Loads for indices and conditions do not count, because lanes often
 * share them. */
int widest_datum(const IR *ir, Ref r) {
  Refs all = { 0 };
  RefMap datum = { 0 };
  int widest = 1;
  ir_toposort(ir, &r, 1, &all);
  refmap_set(&datum, r, r);
  for (size_t i = all.n; i-- > 0;) {
    const Node *x = node(ir, all.p[i]);
    if (!refmap_get(&datum, all.p[i])) continue;
    if (x->op == OP_LOAD && dt_bytes((DType)x->dt) > widest) widest = dt_bytes((DType)x->dt);
    for (int k = 0; k < x->nsrc; k++) {
      const bool aside = x->op == OP_LOAD ? k == 1 || k == 2 : x->op == OP_STORE ? k == 1 || k == 3 : x->op == OP_WHERE && k == 0;
      if (!aside) refmap_set(&datum, x->src[k], x->src[k]);
    }
  }
  refmap_free(&datum);
  VEC_FREE(&all);
  return widest;
}

/* A value that copies of the tile share is converted once, as it is loaded once. Scalar code converts while it loads. */
static bool converts_load(Model *m, const Node *x, double instructions) {
  if (x->op != OP_CAST || !m->t->vector_bytes) return false;
  for (size_t i = 0; i < m->access.n; i++) {
    Access *a = &m->access.p[i];
    if (a->ref != operand(x) || !a->hot) continue;
    a->converts += instructions;
    return true;
  }
  return false;
}

void model_build(Model *m, IR *ir, const Nest *n, const Target *t) {
  Refs all = { 0 }, body = { 0 };
  memset(m, 0, sizeof *m);
  m->ir = ir;
  m->t = t;
  ir_toposort(ir, &n->store, 1, &all);
  m->red = main_reduction(ir, &all, t);
  m->ordered = m->red && keeps_order(ir, m->red, t);
  for (int k = 0; k < n->n; k++)
    if (range_kind(node(ir, n->ranges[k])) != RK_THREAD && range_kind(node(ir, n->ranges[k])) != RK_SERIAL)
      m->range[m->n++] = n->ranges[k];
  m->nout = m->n;
  m->steps = m->group = 1;
  if (m->red) {
    const Node *x = node(ir, m->red);
    for (int k = 1; k < x->nsrc && m->n < MAX_RANGES; k++) {
      const Node *r = node(ir, x->src[k]);
      if (range_kind(r) == RK_DOT) m->group = (int)range_extent(r);
      else m->range[m->n++] = x->src[k];
    }
    m->steps = red_terms(ir, x) / m->group;
  }
  for (int i = 0; i < m->nout; i++) {
    m->varies[i] = !m->red || ix_uses(ir, m->red, m->range[i]);
    if (!m->varies[i]) m->steps /= (double)range_extent(node(ir, m->range[i]));
  }
  for (int i = 0; i < m->n; i++) m->extent[i] = range_extent(node(ir, m->range[i]));
  for (int i = 0; i < m->nout; i++) m->selects[i] = range_selects(ir, n->store, m->range[i]);
  Ref hot = m->red ? red_value(node(ir, m->red)) : n->store;
  ir_toposort(ir, &hot, 1, &body);
  m->widest = widest_datum(ir, hot);
  for (size_t i = 0; i < all.n; i++) {
    const Node *x = node(ir, all.p[i]);
    bool in_body = false;
    for (size_t j = 0; j < body.n && !in_body; j++) in_body = body.p[j] == all.p[i];
    double times = in_body ? 1 : 1 / m->steps;
    if (x->op == OP_LOAD || x->op == OP_STORE)
      model_access(m, all.p[i], access_index(x), access_buffer(x), m->red && in_body, times, in_body ? m->group : 1);
    if (in_body && m->group > 1) continue; /* one instruction covers the whole body */
    const double instructions = times * op_instructions(t, BY_TILE, (Op)x->op);
    if (x->dt != DT_I64 && x->dt != DT_NONE && x->dt != DT_BOOL && !(in_body && converts_load(m, x, instructions)))
      *(in_body ? &m->ops : &m->cold) += instructions;
    if (x->op == OP_LOAD && x->dt != DT_I64 && dt_bytes((DType)x->dt) > m->widest) m->widest = dt_bytes((DType)x->dt);
    if (x->op == OP_CAST && x->dt != DT_I64 && dt_bytes((DType)x->dt) > m->widest) m->widest = dt_bytes((DType)x->dt);
  }
  m->lane_bytes = m->widest < 4 ? 4 : m->widest;
  if (m->red && adds_halves(node(ir, m->red), t)) m->lane_bytes = m->widest = 2;
  for (size_t i = 0; i < m->access.n; i++) find_windows(m, &m->access.p[i]);
  if (m->ops + m->cold < 1) m->ops = 1 - m->cold;
  if (m->group > 1) m->ops *= group_words(m) * rate(t, DOT, TILE);
  VEC_FREE(&all);
  VEC_FREE(&body);
}

void model_free(Model *m) { VEC_FREE(&m->access); }

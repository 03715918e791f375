/* SPDX-License-Identifier: MIT */
/* packed.c: loops of scalars that the C compiler makes loops of vectors. Such a loop has no loop in it, and carries
 * nothing but sums to its next iteration. All of its accesses move on by one element, or by copies that lie beside each other.
 *
 * needs: a program, its accesses    gives: the iterations that become one    breaks: nothing */
#include "issue.h"
#include <math.h>

/* Copies of an access lie in runs of n elements beside each other. */
static bool are_runs(const Walk *x, int n) {
  double at[WALK_COPIES];
  const int all = walk_bases(x, at);
  if (x->copies != all || all % n) return false;
  for (int i = 0; i < all; i++)
    if (i % n && at[i] != at[i - 1] + 1) return false;
  return true;
}

/* Elements that a loop's iterations move along an access: 0: none, 1: the next one, n: n copies beside each other. -1: others */
static int run_of(const Walk *x, int loop) {
  double step = 0;
  if (x->at.data) return -1;
  for (int i = 0; i < x->at.n; i++)
    if (x->at.term[i].loop == loop) step += x->at.term[i].coef;
  if (step == 0 || step == 1) return (int)step;
  return step <= WALK_COPIES && are_runs(x, (int)step) ? (int)step : -1;
}

/* Each access moves by as many elements, and nothing stays the same that is written. In a loop with sums, the number of copies is
 * a power of two: the C compiler has no shuffles for others. */
static bool moves_alike(const Walks *w, int loop, bool sums) {
  int run = 0;
  for (size_t i = 0; i < w->list.n; i++) {
    const Walk *x = &w->list.p[i];
    if (x->loop != loop) continue;
    const int own = run_of(x, loop);
    if (own < 0 || (!own && x->store) || (own && run && own != run)) return false;
    run = own ? own : run;
    for (size_t k = 0; x->store && k < w->list.n; k++)
      if (w->list.p[k].buf == x->buf && w->list.p[k].loop == loop && !w->list.p[k].store) return false;
  }
  return run > 0 && !(sums && run & (run - 1));
}

/* Sums in one variable. The C compiler keeps their order. */
static void read_sums(Timer *m) {
  for (size_t i = 0; i < m->prog->n; i++) {
    const Node *x = node(m->ir, m->prog->p[i]);
    if ((x->op != OP_ADD && x->op != OP_MULACC) || x->lanes > 1 || is_index(x)) continue;
    for (int k = 0; k < x->nsrc; k++)
      if (node(m->ir, x->src[k])->op == OP_GET || refmap_get(&m->summed, x->src[k])) refmap_set(&m->summed, m->prog->p[i], 1);
  }
}

static bool reads_variable(const Timer *m, const Node *x) {
  for (int k = 0; k < x->nsrc; k++)
    if (node(m->ir, x->src[k])->op == OP_GET) return true;
  return false;
}

/* The C compiler leaves loops with other functions, other variables, or jumps in their addresses as they are. */
static bool is_packable(const Timer *m, Ref r, const Node *x) {
  const CostClass of = op_info[x->op].cost;
  if (x->lanes > 1 || of == COST_LIBM || (of == COST_FUNC && !function_cost(m, x).multiply)) return false;
  if (is_index(x) && op_info[x->op].level == L_EXPR)
    return x->op == OP_ADD || x->op == OP_SUB || x->op == OP_MUL || x->op == OP_CAST;
  switch ((Op)x->op) {
  case OP_LOAD: return !load_gate(x);
  case OP_STORE: return !store_gate(x);
  case OP_SET: return refmap_get(&m->summed, set_value(x));
  case OP_GET: case OP_CONST: case OP_BUFFER: case OP_RANGE: case OP_LOOP: case OP_END: return true;
  default: return op_info[x->op].level == L_EXPR && (refmap_get(&m->summed, r) || !reads_variable(m, x));
  }
}

/* After whole vectors comes half a vector, and the rest one by one. */
static double turns(double trips, double packed) {
  const double rest = fmod(trips, packed), half = packed / 2;
  return packed > 1 ? floor(trips / packed) + (rest >= half) + fmod(rest, half) : trips;
}

void packed_read(Timer *m) {
  const Walks *w = m->w;
  read_sums(m);
  for (size_t i = 0; i < w->loops.n; i++) m->loop.p[i].packed = i ? m->lanes : 0;
  for (size_t i = 1; i < w->loops.n; i++) m->loop.p[w->loops.p[i].parent].packed = 0; /* not an innermost loop */
  for (size_t i = 0; i < m->prog->n; i++) {
    if (!is_packable(m, m->prog->p[i], node(m->ir, m->prog->p[i]))) m->loop.p[w->loop_of[i]].packed = 0;
    m->loop.p[w->loop_of[i]].adds |= refmap_get(&m->summed, m->prog->p[i]) != 0;
  }
  for (size_t i = 0; i < w->loops.n; i++) {
    LoopTime *l = &m->loop.p[i];
    if (!(l->packed > 0 && w->loops.p[i].trips >= m->lanes && moves_alike(w, (int)i, l->adds))) l->packed = 1;
    l->turns = turns(w->loops.p[i].trips, l->packed);
  }
}

/* SPDX-License-Identifier: MIT */
/* in_place.c: proves that a program may store one buffer into the memory of another one, which it reads.
 *
 * Let the program load `in` and store `out`, and let both have one place in memory. Then no load may come after a store to the
 * same element. Threads share the program's chunks, so no other chunk may store to it, either. A softmax is an example: it reads
 * a row for the maximum, and then stores exponentials over the row.
 *
 * The proof takes each load with each store, at each combination of sizes of a run. Loops then have known numbers of iterations.
 * Addresses are sums of a constant, of steps of loops, and of tables for loops along which vectors are moved back. If the step of
 * a loop exceeds everything else by which two addresses can differ, equal addresses mean equal iterations of that loop. So rows
 * are apart. Within a row the order in the program decides. A loop in which vectors are moved back is looked at iteration by
 * iteration.
 *
 * needs: a program   gives: an answer; false where there is no proof   keeps: everything   breaks: nothing */
#include "lower.h"
#include <stdlib.h>
#include <string.h>

/* limits of a proof: loads and stores; loops around one of them; terms of an index; combinations of sizes; iterations of a loop
 * with a table; steps, a tenth of a second */
enum { ACCESSES_MOST = 96, DEPTH_MOST = 12, TERMS_MOST = 24, RUNS_MOST = 4096, TABLE_MOST = 128, STEPS_MOST = 5000000 };

typedef struct IndexTerm { int64_t coef; Ref leaf, range; } IndexTerm; /* range: that below the leaf; 0: none */

typedef struct LoopWalk {  /* a loop around an access, in a run */
  size_t at;               /* position of the loop in the program: several loops may have one range */
  Ref range;
  int64_t trips, step;
  bool tabled;             /* the address does not advance by equal steps: table has what each iteration adds */
  int64_t table[TABLE_MOST];
} LoopWalk;

typedef struct Accessed {
  bool store, never;       /* never: some loop around it has no iteration in this run */
  bool ahead;              /* a load that only the next iteration of its loop uses */
  size_t at;               /* position in the program */
  int lanes, n, depth;
  IndexTerm term[TERMS_MOST];
  LoopWalk loop[DEPTH_MOST]; /* the outermost first */
  int64_t base;
} Accessed;

typedef struct InPlace {
  const IR *ir;
  const Refs *prog;
  Accessed *access;
  int n;
  bool threads;            /* several threads may run chunks of the program */
  int64_t left;            /* steps of the proof that are left */
} InPlace;

/* ---- the accesses ---- */
static bool add_terms(const IR *ir, Ref r, int64_t coef, Accessed *a) {
  const Node *x = node(ir, r);
  int64_t k;
  if (x->op == OP_ADD || x->op == OP_SUB)
    return add_terms(ir, lhs(x), coef, a) && add_terms(ir, rhs(x), x->op == OP_SUB ? -coef : coef, a);
  if (x->op == OP_MUL && node_is_const(ir, rhs(x), &k)) return add_terms(ir, lhs(x), coef * k, a);
  if (x->op == OP_MUL && node_is_const(ir, lhs(x), &k)) return add_terms(ir, rhs(x), coef * k, a);
  Refs ranges = { 0 };
  collect_ranges(ir, r, &ranges);
  const bool fits = ranges.n < 2 && a->n < TERMS_MOST;
  if (fits) a->term[a->n++] = (IndexTerm){ coef, r, ranges.n ? ranges.p[0] : 0 };
  VEC_FREE(&ranges);
  return fits;
}

/* open: positions of the loops around it */
static bool add_access(InPlace *p, size_t at, const Refs *open) {
  const Node *x = node(p->ir, p->prog->p[at]);
  if (p->n == ACCESSES_MOST || open->n > DEPTH_MOST || node(p->ir, access_index(x))->lanes > 1) return false;
  Accessed *a = &p->access[p->n++];
  *a = (Accessed){ .store = x->op == OP_STORE, .at = at, .depth = (int)open->n };
  a->lanes = a->store ? node(p->ir, store_value(x))->lanes : x->lanes;
  for (size_t d = 0; d < open->n; d++) {
    a->loop[d].at = open->p[d];
    a->loop[d].range = loop_range(node(p->ir, p->prog->p[open->p[d]]));
  }
  return add_terms(p->ir, access_index(x), 1, a);
}

/* Finds the loads of `in` and the stores to `out`. Returns false if something else touches these buffers. */
static bool find_accesses(InPlace *p, int in, int out) {
  const IR *ir = p->ir;
  Refs open = { 0 };
  bool ok = true;
  for (size_t i = 0; i < p->prog->n && ok; i++) {
    const Node *x = node(ir, p->prog->p[i]);
    if (x->op == OP_LOOP) VEC_PUSH(&open, (Ref)i);
    if (x->op == OP_END) open.n--;
    for (int k = 0; k < x->nsrc && ok; k++) {
      const Node *b = node(ir, x->src[k]);
      if (b->op != OP_BUFFER || (buffer_id(b) != in && buffer_id(b) != out)) continue;
      const bool reads = x->op == OP_LOAD, writes = x->op == OP_STORE;
      ok = (reads || writes) && (reads || buffer_id(b) == out);
      if (ok && (buffer_id(b) == out) == writes) ok = add_access(p, i, &open);
    }
  }
  VEC_FREE(&open);
  return ok;
}

/* The value of a load goes to a variable alone, which only the next iteration of the load's loop reads. */
static bool is_ahead(const InPlace *p, const Accessed *a) {
  const IR *ir = p->ir;
  const Ref load = p->prog->p[a->at];
  Ref acc = 0;
  size_t set = 0, begin = a->at, end = a->at;
  for (size_t i = 0; i < p->prog->n; i++) {
    const Node *x = node(ir, p->prog->p[i]);
    for (int k = 0; k < x->nsrc; k++) {
      if (x->src[k] != load) continue;
      if (x->op != OP_SET || acc) return false;
      acc = set_acc(x);
      set = i;
    }
  }
  while (begin > 0 && node(ir, p->prog->p[begin])->op != OP_LOOP && node(ir, p->prog->p[begin])->op != OP_END) begin--;
  while (end < p->prog->n && node(ir, p->prog->p[end])->op != OP_LOOP && node(ir, p->prog->p[end])->op != OP_END) end++;
  bool ok = acc && node(ir, p->prog->p[begin])->op == OP_LOOP && end < p->prog->n && node(ir, p->prog->p[end])->op == OP_END &&
            set > a->at && set < end;
  for (size_t i = 0; i < p->prog->n && ok; i++) {
    const Node *x = node(ir, p->prog->p[i]);
    if (x->op == OP_SET && set_acc(x) == acc) ok = i == set;
    if (x->op == OP_GET && get_acc(x) == acc) ok = i > begin && i < set;
  }
  return ok;
}

/* ---- one run ---- */
/* The value of an index with the range at `value`; false: it has ops that the proof does not know. */
static bool evaluate(const IR *ir, Ref r, Ref range, int64_t value, const int64_t *run, int64_t *out) {
  const Node *x = node(ir, r);
  int64_t a = 0, b = 0;
  if (node_is_const(ir, r, out)) return true;
  if (x->op == OP_RANGE) return *out = value, r == range;
  if (x->op == OP_SIZE) return *out = size_in_run(ir, (int)size_id(x), run), true;
  if (x->op != OP_ADD && x->op != OP_SUB && x->op != OP_MUL && x->op != OP_MIN && x->op != OP_MAX && x->op != OP_FLDIV &&
      x->op != OP_FLMOD)
    return false;
  if (!evaluate(ir, lhs(x), range, value, run, &a) || !evaluate(ir, rhs(x), range, value, run, &b)) return false;
  switch ((Op)x->op) {
  case OP_ADD: *out = a + b; return true;
  case OP_SUB: *out = a - b; return true;
  case OP_MUL: *out = a * b; return true;
  case OP_MIN: *out = a < b ? a : b; return true;
  case OP_MAX: *out = a > b ? a : b; return true;
  case OP_FLDIV: *out = b > 0 ? i64_floor_div(a, b) : 0; return b > 0;
  default: *out = b > 0 ? a - b * i64_floor_div(a, b) : 0; return b > 0;
  }
}

/* A table with equal steps becomes a step. */
static void straighten(LoopWalk *w, int64_t *base) {
  const int64_t first = w->table[0], step = w->trips > 1 ? w->table[1] - first : 0;
  bool even = true;
  for (int64_t i = 1; i < w->trips && even; i++) even = w->table[i] == first + i * step;
  if (even) {
    *base += first;
    w->step += step;
    w->tabled = false;
  } else {
    for (int64_t i = 0; i < w->trips; i++) w->table[i] += i * w->step;
    w->step = 0;
  }
}

static bool add_term(const IR *ir, Accessed *a, const IndexTerm *t, const int64_t *run) {
  int64_t value;
  int d = 0;
  while (d < a->depth && a->loop[d].range != t->range) d++;
  if (!t->range) {
    if (!evaluate(ir, t->leaf, 0, 0, run, &value)) return false;
    a->base += t->coef * value;
    return true;
  }
  LoopWalk *w = &a->loop[d];
  if (d == a->depth || (t->leaf != t->range && w->trips > TABLE_MOST)) return false;
  if (t->leaf == t->range) {
    w->step += t->coef;
    return true;
  }
  if (!w->tabled) memset(w->table, 0, (size_t)w->trips * sizeof *w->table);
  w->tabled = true;
  for (int64_t i = 0; i < w->trips; i++) {
    if (!evaluate(ir, t->leaf, t->range, i, run, &value)) return false;
    w->table[i] += t->coef * value;
  }
  return true;
}

/* Finds the iterations of the access's loops in a run, and its addresses. */
static bool walk_in_run(const IR *ir, Accessed *a, const int64_t *run) {
  bool ok = true;
  a->base = 0;
  a->never = false;
  for (int d = 0; d < a->depth; d++) {
    LoopWalk *w = &a->loop[d];
    const Node *r = node(ir, w->range);
    w->trips = range_extent(r);
    if (range_limit(r)) {
      const int64_t limit = size_in_run(ir, (int)range_limit(r) - 1, run);
      if (limit < w->trips) w->trips = limit;
    }
    w->step = 0;
    w->tabled = false;
    a->never |= w->trips <= 0;
  }
  for (int i = 0; i < a->n && ok && !a->never; i++) ok = add_term(ir, a, &a->term[i], run);
  for (int d = 0; d < a->depth && ok && !a->never; d++)
    if (a->loop[d].tabled) straighten(&a->loop[d], &a->base);
  return ok;
}

/* ---- a load and a store ---- */
typedef struct Reach { int64_t lo, hi; } Reach;

static void add_reach(Reach *r, const LoopWalk *w, int64_t sign) {
  int64_t lo = 0, hi = 0;
  if (w->tabled) {
    lo = hi = w->table[0];
    for (int64_t i = 1; i < w->trips; i++) {
      if (w->table[i] < lo) lo = w->table[i];
      if (w->table[i] > hi) hi = w->table[i];
    }
  } else {
    const int64_t far = w->step * (w->trips - 1);
    if (far < 0) lo = far;
    else hi = far;
  }
  r->lo += sign > 0 ? lo : -hi;
  r->hi += sign > 0 ? hi : -lo;
}

typedef struct Paired { int64_t step, trips; int common; bool equal; } Paired; /* common: the loop's depth; -1: two loops */

static int by_step(const void *a, const void *b) {
  const Paired *x = a, *y = b;
  return (llabs(x->step) < llabs(y->step)) - (llabs(x->step) > llabs(y->step));
}

/* Loops of load and store that are taken together: both are at one iteration, or the iterations differ. */
typedef struct Pair {
  const Accessed *load, *store;
  int common;                /* loops around both */
  int special;               /* one of them that is not paired; -1: none */
  int n;
  Paired paired[DEPTH_MOST];
  Reach rest;                /* store's address minus load's, without the paired loops and the special one */
} Pair;

static bool pairs(const LoopWalk *a, const LoopWalk *b) { return !a->tabled && !b->tabled && a->step == b->step && a->step; }

static void pair_loops(Pair *p) {
  const Accessed *l = p->load, *s = p->store;
  bool done[2][DEPTH_MOST] = { 0 };
  p->n = 0;
  p->rest = (Reach){ s->base - l->base - (l->lanes - 1), s->base - l->base + s->lanes - 1 };
  for (int i = 0; i < l->depth; i++)
    for (int j = 0; j < s->depth; j++) {
      const bool both = i < p->common || j < p->common;
      if (done[0][i] || done[1][j] || (both && (i != j || i == p->special)) || !pairs(&l->loop[i], &s->loop[j])) continue;
      done[0][i] = done[1][j] = true;
      const int64_t trips = l->loop[i].trips > s->loop[j].trips ? l->loop[i].trips : s->loop[j].trips;
      p->paired[p->n++] = (Paired){ l->loop[i].step, trips, both ? i : -1, false };
    }
  for (int i = 0; i < l->depth; i++)
    if (!done[0][i] && i != p->special) add_reach(&p->rest, &l->loop[i], -1);
  for (int j = 0; j < s->depth; j++)
    if (!done[1][j] && j != p->special) add_reach(&p->rest, &s->loop[j], 1);
}

/* Marks the paired loops that must be at equal iterations wherever load and store meet. reach: of everything that is not paired.
 * Returns the furthest by which the other paired loops move one address from the other. */
static int64_t find_equal(Pair *p, Reach reach) {
  int64_t others = llabs(reach.lo) > llabs(reach.hi) ? llabs(reach.lo) : llabs(reach.hi), open = 0;
  qsort(p->paired, (size_t)p->n, sizeof *p->paired, by_step);
  for (int i = 0; i < p->n; i++) open += llabs(p->paired[i].step) * (p->paired[i].trips - 1);
  for (int i = 0; i < p->n; i++) {
    const int64_t mine = llabs(p->paired[i].step) * (p->paired[i].trips - 1);
    if (llabs(p->paired[i].step) <= others + open - mine) break;
    p->paired[i].equal = true;
    open -= mine;
  }
  return open;
}

static bool is_thread(const IR *ir, const LoopWalk *w) { return range_kind(node(ir, w->range)) == RK_THREAD; }

/* All loops around both, but for the special one, are at equal iterations wherever load and store meet, in one thread. */
static bool same_iteration(const InPlace *all, const Pair *p) {
  bool same = true, thread = false;
  for (int d = 0; d < p->common && same; d++) {
    if (is_thread(all->ir, &p->load->loop[d])) thread = d != p->special;
    if (d == p->special || p->load->loop[d].trips == 1) continue;
    same = false;
    for (int i = 0; i < p->n && !same; i++) same = p->paired[i].common == d && p->paired[i].equal;
  }
  return same && (thread || !all->threads);
}

static int64_t added(const LoopWalk *w, int64_t i) { return w->tabled ? w->table[i] : w->step * i; }

/* In the special loop no load comes behind a store that it meets. open: how far the paired loops that may be at different
 * iterations move one address from the other */
static bool special_in_order(InPlace *all, const Pair *p, int64_t open) {
  const LoopWalk *l = &p->load->loop[p->special], *s = &p->store->loop[p->special];
  const int64_t used = l->trips - (p->load->ahead && p->special == p->load->depth - 1);
  bool ok = l->trips <= TABLE_MOST;
  for (int64_t i = 0; i < used && ok; i++)
    for (int64_t j = 0; j <= i && ok; j++) {
      if (i == j && p->load->at < p->store->at) continue;
      const int64_t move = added(s, j) - added(l, i);
      ok = --all->left > 0 && (p->rest.lo - open + move > 0 || p->rest.hi + open + move < 0);
    }
  return ok;
}

static bool in_order_with(InPlace *all, Pair *p) {
  if (--all->left <= 0) return false;
  pair_loops(p);
  Reach reach = p->rest;
  if (p->special >= 0) add_reach(&reach, &p->load->loop[p->special], -1);
  if (p->special >= 0) add_reach(&reach, &p->store->loop[p->special], 1);
  const int64_t open = find_equal(p, reach);
  if (reach.lo - open > 0 || reach.hi + open < 0) return true; /* they never meet */
  if (!same_iteration(all, p)) return false;
  return p->special < 0 ? p->load->at < p->store->at : special_in_order(all, p, open);
}

static bool in_order(InPlace *all, const Accessed *load, const Accessed *store) {
  Pair p = { .load = load, .store = store };
  bool ok = load->never || store->never;
  while (p.common < load->depth && p.common < store->depth && load->loop[p.common].at == store->loop[p.common].at)
    p.common++;
  for (p.special = -1; p.special < p.common && !ok; p.special++) ok = in_order_with(all, &p);
  return ok;
}

static bool in_order_in_run(InPlace *p, const int64_t *run) {
  bool ok = true;
  for (int i = 0; i < p->n && ok; i++) ok = walk_in_run(p->ir, &p->access[i], run);
  for (int i = 0; i < p->n && ok; i++)
    for (int j = 0; j < p->n && ok; j++)
      if (!p->access[i].store && p->access[j].store) ok = in_order(p, &p->access[i], &p->access[j]);
  return ok;
}

/* The next combination of sizes; false: that was the last one. */
static bool next_run(const Symbols *s, int64_t *run) {
  for (int k = 0; k < s->n; k++) {
    if ((run[k] += s->p[k].step) <= s->p[k].high) return true;
    run[k] = s->p[k].low;
  }
  return false;
}

bool program_in_place(const IR *ir, const Refs *prog, int chunks, int in, int out) {
  InPlace p = { .ir = ir, .prog = prog, .threads = chunks > 1, .left = STEPS_MOST };
  RunSizes run = { 0 };
  int64_t runs = 1;
  for (int k = 0; k < ir->symbols.n && runs <= RUNS_MOST; k++) {
    run[k] = ir->symbols.p[k].low;
    runs *= symbol_sizes(&ir->symbols.p[k]);
  }
  if (runs > RUNS_MOST) return false;
  p.access = xmalloc(ACCESSES_MOST * sizeof *p.access);
  bool ok = find_accesses(&p, in, out);
  for (int i = 0; i < p.n && ok; i++) p.access[i].ahead = !p.access[i].store && is_ahead(&p, &p.access[i]);
  do ok = ok && in_order_in_run(&p, run);
  while (ok && next_run(&ir->symbols, run));
  free(p.access);
  return ok;
}

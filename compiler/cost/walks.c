/* SPDX-License-Identifier: MIT */
/* walks.c: which bytes a program touches, loop by loop, and which of them a cache of some size no longer has.
 *
 * An index is a sum of terms, each from the range of one loop. From these follow the bytes that a loop touches. A cache keeps
 * what one iteration of a loop touches if it is large enough; then the loop's next iteration finds it. */
#include "program_time.h"
#include "tunable.h"
#include "../ir/refmap.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct Reader {
  const IR *ir;
  Walks *w;
  VEC(WalkIndex) index;
  RefMap at;               /* by node: 1 + its place in index */
  int loop;
} Reader;

static const WalkIndex *index_at(const Reader *r, Ref x) {
  const uint32_t i = refmap_get(&r->at, x);
  return i ? &r->index.p[i - 1] : NULL;
}

static void add_term(WalkIndex *x, WalkTerm t) {
  if (x->n < WALK_TERMS) x->term[x->n++] = t;
  else x->data = true;
}

static WalkIndex of_source(const Reader *r, Ref x) {
  const Node *n = node(r->ir, x);
  if (n->op == OP_CONST) return (WalkIndex){ .base = (double)const_value(n) };
  const WalkIndex *known = index_at(r, x);
  return known ? *known : (WalkIndex){ .data = true };
}

/* A quotient and a remainder take fewer values than the index. Terms that reach beyond the divisor make the quotient, terms that
 * move by less make the remainder. */
static WalkIndex divided(const WalkIndex *x, double by, bool quotient) {
  WalkIndex y = { .data = x->data };
  for (int i = 0; i < x->n && by >= 1; i++) {
    const WalkTerm t = x->term[i];
    const double step = fabs(t.coef);
    if (quotient && step * t.count > by)
      add_term(&y, (WalkTerm){ t.loop, fmax(1, step / by), fmax(1, t.count * fmin(1, step / by)) });
    if (!quotient && step < by) add_term(&y, (WalkTerm){ t.loop, t.coef, fmin(t.count, by / fmax(1, step)) });
  }
  return y;
}

static WalkIndex sum(WalkIndex a, const WalkIndex *b, double sign) {
  a.data |= b->data;
  a.base += sign * b->base;
  for (int i = 0; i < b->n; i++) {
    int k = 0;
    while (k < a.n && (a.term[k].loop != b->term[i].loop || a.term[k].count != b->term[i].count)) k++;
    if (k < a.n) a.term[k].coef += sign * b->term[i].coef;
    else add_term(&a, (WalkTerm){ b->term[i].loop, sign * b->term[i].coef, b->term[i].count });
  }
  return a;
}

static WalkIndex index_of(const Reader *r, const Node *x) {
  if (x->op == OP_CAST || x->op == OP_BITCAST) return of_source(r, operand(x));
  if (x->nsrc != 2) return (WalkIndex){ .data = true };
  const WalkIndex a = of_source(r, lhs(x)), b = of_source(r, rhs(x));
  switch ((Op)x->op) {
  case OP_ADD: return sum(a, &b, 1);
  case OP_SUB: return sum(a, &b, -1);
  case OP_MUL: {
    WalkIndex y = b.n || b.data ? b : a;
    const double by = b.n || b.data ? a.base : b.base;
    y.data |= a.n && b.n;
    y.base *= by;
    for (int i = 0; i < y.n; i++) y.term[i].coef *= by;
    return y;
  }
  case OP_FLDIV: case OP_DIV: return divided(&a, b.base, true);
  case OP_FLMOD: case OP_MOD: return divided(&a, b.base, false);
  case OP_MIN: case OP_MAX: return a.n || a.data ? a : b;
  default: return (WalkIndex){ .data = true };
  }
}

static void note_index(Reader *r, Ref ref, WalkIndex x) {
  VEC_PUSH(&r->index, x);
  refmap_set(&r->at, ref, (Ref)r->index.n);
}

static bool same_terms(const WalkIndex *a, const WalkIndex *b) {
  if (a->n != b->n || a->data != b->data) return false;
  for (int i = 0; i < a->n; i++)
    if (a->term[i].loop != b->term[i].loop || a->term[i].coef != b->term[i].coef || a->term[i].count != b->term[i].count)
      return false;
  return true;
}

static void note_access(Reader *r, const Node *x) {
  const IR *ir = r->ir;
  const bool store = x->op == OP_STORE;
  const Node *value = store ? node(ir, store_value(x)) : x;
  const int buf = (int)buffer_id(node(ir, access_buffer(x))), bytes = dt_bytes(ir->bufs.p[buf].dt);
  const WalkIndex at = of_source(r, access_index(x));
  double width = (double)value->lanes * bytes;
  if (x->op == OP_TILE) width = (double)tile_rows(x) * 64;
  for (size_t i = r->w->list.n; i-- > 0;) {
    Walk *k = &r->w->list.p[i];
    if (k->loop != r->loop) break;
    if (k->buf != buf || k->store != store || k->width != width || !same_terms(&k->at, &at)) continue;
    if (k->n < WALK_COPIES) k->base[k->n++] = at.base;
    k->copies++;
    return;
  }
  VEC_PUSH(&r->w->list, ((Walk){ buf, r->loop, bytes, store, at, width, 1, 1, { at.base } }));
}

void walks_free(Walks *w) {
  VEC_FREE(&w->loops);
  VEC_FREE(&w->list);
  free(w->loop_of);
}

static bool inside(const Walks *w, int loop, int of) {
  while (loop > of) loop = w->loops.p[loop].parent;
  return loop == of;
}

static int by_coef(const void *a, const void *b) {
  const double x = fabs(((const WalkTerm *)a)->coef), y = fabs(((const WalkTerm *)b)->coef);
  return (x > y) - (x < y);
}

int walk_bases(const Walk *x, double at[WALK_COPIES]) {
  int n = 0;
  memcpy(at, x->base, (size_t)x->n * sizeof *at);
  qsort(at, (size_t)x->n, sizeof *at, by_double);
  for (int i = 0; i < x->n; i++)
    if (!i || at[i] != at[n - 1]) at[n++] = at[i];
  return n;
}

/* Copies of a tile lie at equal steps, along one range or two. -> the number of terms, which begin with the steps */
static int copies_as_terms(const Walk *x, WalkTerm term[2]) {
  double at[WALK_COPIES];
  int run = 1, terms = 0;
  const int n = walk_bases(x, at);
  if (n < 2) return 0;
  while (run < n && at[run] - at[run - 1] == at[1] - at[0]) run++;
  term[terms++] = (WalkTerm){ -1, at[1] - at[0], run };
  if (run < n) term[terms++] = (WalkTerm){ -1, (at[n - 1] - at[run - 1]) / fmax(1, (double)n / run - 1), (double)n / run };
  return terms;
}

/* The terms of x that change while `loop` runs, or in one iteration of it, from the least step on. -> their number */
static int terms_inside(const Walks *w, const Walk *x, int loop, bool body, WalkTerm term[WALK_TERMS + 2]) {
  int n = copies_as_terms(x, term);
  for (int i = 0; i < x->at.n; i++) {
    const WalkTerm *t = &x->at.term[i];
    if (inside(w, t->loop, loop) && !(body && t->loop == loop) && t->coef != 0) term[n++] = *t;
  }
  qsort(term, (size_t)n, sizeof *term, by_coef);
  return n;
}

/* The memory that a walk accesses: `pieces` pieces that lie apart, of `lines` cache lines each. spread: in how many sets of
 * the first level the lines lie */
typedef struct Footprint { double pieces, lines, spread; } Footprint;

static Footprint footprint_of(const Walks *w, const Walk *x, int loop, bool body) {
  WalkTerm term[WALK_TERMS + 2];
  const int n = terms_inside(w, x, loop, body, term);
  double run = x->width;
  Footprint f = { 1, 1, 1 };
  for (int i = 0; i < n; i++) {
    const double step = fabs(term[i].coef) * x->bytes;
    if (f.pieces == 1 && step <= fmax(run, LINE_BYTES)) run += step * (term[i].count - 1);
    else {
      f.pieces *= term[i].count;
      f.spread = fmin(L1_SETS, f.spread * fmin(sets_reached(step, L1_SETS), term[i].count));
    }
  }
  f.lines = ceil(run <= LINE_BYTES ? 1 : run / LINE_BYTES + (f.pieces > 1 ? 0.5 : 0));
  f.spread = fmin(L1_SETS, f.spread * f.lines);
  return f;
}

double walk_bytes(const IR *ir, const Walks *w, const Walk *x, int loop, bool body) {
  double executed = x->copies;
  const double all = (double)ir->bufs.p[x->buf].elems * x->bytes;
  for (int i = x->loop; i > loop || (i == loop && !body); i = w->loops.p[i].parent) executed *= w->loops.p[i].trips;
  if (x->at.data) return fmin(all, executed * fmax(LINE_BYTES, x->width));
  const Footprint f = footprint_of(w, x, loop, body);
  return fmin(all, f.pieces * f.lines * LINE_BYTES);
}

/* A first-level cache finds a line by its place in the page, so lines at few places crowd a part of the cache. -> how many times
 * as much room the lines take that x accesses in an iteration of a loop */
static double crowding(const Walks *w, const Walk *x, int loop) {
  const Footprint f = x->at.data ? (Footprint){ 1, 1, 1 } : footprint_of(w, x, loop, true);
  return f.pieces * f.lines > f.spread ? L1_SETS / f.spread : 1;
}

/* ---- accesses of several loops to the same memory ---- */
typedef struct Stretch { double from, to; } Stretch; /* elements */

/* The elements from the first to the last one that x accesses in one iteration of `loop` */
static Stretch stretch_of(const Walks *w, const Walk *x, int loop) {
  Stretch s = { x->base[0], x->base[0] };
  for (int i = 1; i < x->n; i++) s = (Stretch){ fmin(s.from, x->base[i]), fmax(s.to, x->base[i]) };
  for (int i = 0; i < x->at.n; i++) {
    const WalkTerm *t = &x->at.term[i];
    if (t->loop <= loop || !inside(w, t->loop, loop)) continue;
    s.from += fmin(0, t->coef * (t->count - 1));
    s.to += fmax(0, t->coef * (t->count - 1));
  }
  s.to += x->width / x->bytes;
  return s;
}

/* Whether all terms of x that change outside of an iteration of `loop` are terms of y, too */
static bool moves_with(const Walks *w, const Walk *x, const Walk *y, int loop) {
  for (int i = 0; i < x->at.n; i++) {
    const WalkTerm *t = &x->at.term[i];
    bool found = t->loop > loop && inside(w, t->loop, loop);
    for (int k = 0; k < y->at.n && !found; k++) found = y->at.term[k].loop == t->loop && y->at.term[k].coef == t->coef;
    if (!found) return false;
  }
  return true;
}

/* The part of what x accesses in one iteration of `loop` that y accesses there, too: 0 to 1 */
static double shared_part(const Walks *w, const Walk *x, const Walk *y, int loop) {
  if (x->buf != y->buf || x->at.data || y->at.data || !moves_with(w, x, y, loop) || !moves_with(w, y, x, loop)) return 0;
  const Stretch a = stretch_of(w, x, loop), b = stretch_of(w, y, loop);
  return fmax(0, fmin(a.to, b.to) - fmax(a.from, b.from)) / (a.to - a.from);
}

/* The part of what walk number i accesses in one iteration of `loop` that another walk before it accesses there, too. stores:
 * only stores count */
static double touched_before(const Walks *w, size_t i, int loop, bool stores) {
  double part = 0;
  for (size_t k = 0; k < i; k++)
    if (inside(w, w->list.p[k].loop, loop) && (w->list.p[k].store || !stores))
      part = fmax(part, shared_part(w, &w->list.p[i], &w->list.p[k], loop));
  return part;
}

/* Bytes that one iteration of a loop touches. first: the room that they take in a first-level cache */
static double iteration_bytes(const IR *ir, const Walks *w, int loop, double *first) {
  VEC(double) of = { 0 };
  VEC(int) bufs = { 0 };
  double sum = 0, crowded = 0;
  for (size_t i = 0; i < w->list.n; i++) {
    const Walk *x = &w->list.p[i];
    if (!inside(w, x->loop, loop)) continue;
    size_t k = 0;
    while (k < bufs.n && bufs.p[k] != x->buf) k++;
    if (k == bufs.n) {
      VEC_PUSH(&bufs, x->buf);
      VEC_PUSH(&of, 0);
    }
    const double own = walk_bytes(ir, w, x, loop, true) * (1 - touched_before(w, i, loop, false));
    crowded += own * (crowding(w, x, loop) - 1);
    of.p[k] = fmin(of.p[k] + own, (double)ir->bufs.p[x->buf].elems * x->bytes);
  }
  for (size_t k = 0; k < of.n; k++) sum += of.p[k];
  VEC_FREE(&of);
  VEC_FREE(&bufs);
  *first = fmax(sum, tunable(ir->ctx, predict_l1) * (sum + crowded)); /* these few places are used whole */
  return sum;
}

void walks_read(const IR *ir, const Refs *prog, Walks *w) {
  Reader r = { .ir = ir, .w = w };
  *w = (Walks){ .loop_of = malloc((prog->n + 1) * sizeof *w->loop_of) };
  CHECK(w->loop_of != NULL);
  VEC_PUSH(&w->loops, ((LoopWalked){ -1, 1, { 0 } }));
  for (size_t i = 0; i < prog->n; i++) {
    const Node *x = node(ir, prog->p[i]);
    if (x->op == OP_LOOP) {
      const Node *range = node(ir, loop_range(x));
      const bool early = ir->run && range_limit(range);
      const double trips = (double)(early ? size_in_run(ir, (int)range_limit(range) - 1, ir->run) : range_extent(range));
      VEC_PUSH(&w->loops, ((LoopWalked){ r.loop, trips, { 0 } }));
      r.loop = (int)w->loops.n - 1;
      note_index(&r, loop_range(x), (WalkIndex){ .n = 1, .term = { { r.loop, 1, trips } } });
    }
    w->loop_of[i] = r.loop;
    if (x->op == OP_END) {
      r.loop = w->loops.p[r.loop].parent;
    } else if (is_access(x)) note_access(&r, x);
    else if (x->lanes == 1 && dt_int((DType)x->dt) && op_info[x->op].level == L_EXPR)
      note_index(&r, prog->p[i], index_of(&r, x));
  }
  VEC_FREE(&r.index);
  refmap_free(&r.at);
  for (size_t i = 0; i < w->loops.n; i++) w->loops.p[i].touched[1] = iteration_bytes(ir, w, (int)i, &w->loops.p[i].touched[0]);
}

int walk_outermost(const Walks *w, int loop) {
  while (loop && w->loops.p[loop].parent) loop = w->loops.p[loop].parent;
  return loop;
}

/* The part of x that a cache of `bytes` bytes has because an earlier walk touched it, in the same iteration of a loop around x. A
 * line that is stored twice in this time is written once. */
static double found(const Walks *w, const Walk *x, int level, double bytes) {
  const size_t i = (size_t)(x - w->list.p);
  double part = 0;
  for (int loop = w->loops.p[x->loop].parent; loop > 0; loop = w->loops.p[loop].parent)
    if (w->loops.p[loop].touched[level > 0] <= bytes) part = fmax(part, touched_before(w, i, loop, x->store));
  return part;
}

double walk_missed(const IR *ir, const Walks *w, const Walk *x, int level, double bytes, bool known) {
  double times = 1, missed = 0;
  int keeps = -1;
  for (int i = x->loop; i > 0 || i == x->loop; i = w->loops.p[i].parent) {
    if (w->loops.p[i].touched[level > 0] <= bytes) keeps = i;
    if (!i) break;
  }
  for (int i = keeps < 0 ? x->loop : w->loops.p[keeps].parent; i > 0; i = w->loops.p[i].parent) times *= w->loops.p[i].trips;
  missed = times * walk_bytes(ir, w, x, keeps < 0 ? x->loop : keeps, keeps < 0);
  const double first = walk_bytes(ir, w, x, walk_outermost(w, x->loop), false), again = 1 - found(w, x, level, bytes);
  return again * (known ? fmax(0, missed - first) : fmax(missed, first));
}

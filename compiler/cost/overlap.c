/* SPDX-License-Identifier: MIT */
/* overlap.c: how far a core runs ahead. It starts micro-ops in the order of the program, and each waits for its operands. One
 * starts only if all but a window of those before it are done. So independent chains overlap if they lie within a window.
 *
 * Loops are followed from the inside out, for some iterations each, until the window is full. Further iterations take as long as
 * the last ones. To the loop around it a loop is one op of many micro-ops. No iteration is shorter than what its ports take.
 *
 * needs: micro-ops and latencies    gives: cycles    breaks: nothing */
#include "issue.h"
#include <math.h>
#include <stdlib.h>

enum { ITERATIONS = 192 }; /* most that are followed */

/* After so many micro-ops all are done at a time; loop: they are those of this loop */
typedef struct Done { double starts, at; const LoopTime *loop; } Done;
typedef struct Flow {
  double starts, now, done; /* micro-ops started; the cycle at which the last one did; the cycle at which all are done */
  VEC(Done) list;
  size_t next;              /* in the list: the first one that reaches into the window */
} Flow;

static const Node *at(const Timer *m, int place) { return node(m->ir, m->prog->p[place]); }

/* ---- what loops read from outside ---- */
static void note_once(Places *list, int *last, int place, int loop) {
  if (last[place] == loop + 1) return;
  last[place] = loop + 1;
  VEC_PUSH(list, place);
}

/* Reads operand k of the node at place i: from a node before it, or -1 for what is not in the program. A value that several loops
 * compute is one node at several places. */
static void read_operand(Timer *m, int i, int k, int *read, int *set) {
  const Node *x = at(m, i);
  const int place = (int)refmap_get(&m->place, x->src[k]) - 1;
  VEC_PUSH(&m->from, place);
  for (int l = m->w->loop_of[i]; place >= 0 && l > 0 && m->w->loop_of[place] < l; l = m->w->loops.p[l].parent) {
    note_once(&m->loop.p[l].needs, read, place, l);
    if (x->op == OP_SET && !k) note_once(&m->loop.p[l].sets, set, place, l);
  }
}

static void read_items(Timer *m) {
  int *read = xcalloc(m->prog->n + 1, sizeof *read), *set = xcalloc(m->prog->n + 1, sizeof *set);
  for (int i = 0; i < (int)m->prog->n; i++) {
    const Node *x = at(m, i);
    const int own = m->w->loop_of[i], operands = x->op == OP_GET ? 1 : x->op == OP_LOOP || x->op == OP_END ? 0 : x->nsrc;
    VEC_PUSH(&m->operands, (int)m->from.n);
    for (int k = 0; k < operands; k++) read_operand(m, i, k, read, set);
    refmap_set(&m->place, m->prog->p[i], (Ref)i + 1);
    if (x->op != OP_END) VEC_PUSH(&m->loop.p[x->op == OP_LOOP ? m->w->loops.p[own].parent : own].items, i);
  }
  VEC_PUSH(&m->operands, (int)m->from.n);
  free(read);
  free(set);
}

/* ---- one after another ---- */
/* The cycle at which a loop is done but for so many iterations. Iterations are done in order. */
static double loop_done(const Done *d, double iterations) {
  const LoopTime *l = d->loop;
  const double whole = floor(iterations), part = iterations - whole, after = d->at - l->each * whole;
  return fmax(after - l->each, after - l->first * part);
}

/* The cycle at which all but a window are done */
static double window_opens(const Timer *m, Flow *f) {
  const double upto = f->starts - m->f->at[FACT_WINDOW];
  while (f->next < f->list.n && f->list.p[f->next].starts <= upto) f->next++;
  if (upto <= 0 || f->next == f->list.n) return 0;
  const Done *d = &f->list.p[f->next];
  if (d->loop) return loop_done(d, (d->starts - upto) / d->loop->issue.at[PORT_START]);
  return f->next ? f->list.p[f->next - 1].at : 0;
}

static void start(const Timer *m, Flow *f, double starts) {
  f->now += starts / m->f->at[FACT_WIDTH];
  f->starts += starts;
  f->now = fmax(f->now, window_opens(m, f));
}

static void note_done(Flow *f, double end, const LoopTime *loop) {
  f->done = fmax(f->done, end);
  VEC_PUSH(&f->list, ((Done){ f->starts, f->done, loop }));
}

/* A function is a chain of ops. */
static double follow_steps(const Timer *m, Flow *f, double begin, double starts, double latency) {
  const int steps = starts > 4 ? (int)fmax(1, latency / m->f->at[FACT_LATENCY]) : 1;
  for (int i = 0; i < steps; i++) {
    start(m, f, starts / steps);
    begin = fmax(begin, f->now) + latency / steps;
    note_done(f, begin, NULL);
  }
  return begin;
}

static void follow_op(Timer *m, Flow *f, int place, const LoopTime *l) {
  const Node *x = at(m, place);
  double end = 0;
  for (int k = m->operands.p[place] + (x->op == OP_SET); k < m->operands.p[place + 1]; k++)
    if (m->from.p[k] >= 0) end = fmax(end, m->ready[m->from.p[k]]);
  if (is_index(x)) start(m, f, m->starts[place]), end = 0; /* addresses are known long before */
  else if (m->starts[place] > 0) end = follow_steps(m, f, end, m->starts[place], latency_of(m, m->prog->p[place], x, l->packed));
  else end += latency_of(m, m->prog->p[place], x, l->packed);
  m->ready[place] = end;
  if (x->op == OP_SET) m->ready[m->from.p[m->operands.p[place]]] = end + (l->stored > 0 ? 3 * m->f->at[FACT_LATENCY] : 0);
}

static void follow_loop(Timer *m, Flow *f, const LoopTime *l) {
  double begin = f->now;
  const double starts = l->issue.at[PORT_START];
  for (size_t i = 0; i < l->needs.n; i++) {
    const int place = l->needs.p[i]; /* other ops of the first iteration are done while a variable is awaited */
    begin = fmax(begin, m->ready[place] - (at(m, place)->op == OP_ACC ? fmax(0, l->first - l->each) : 0));
  }
  f->starts += starts * (l->turns - 1);
  /* its last iteration does not start before the window has room for it */
  const double end = fmax(begin + l->each * (l->turns - 1), window_opens(m, f)) + l->first;
  f->starts += starts;
  f->now = begin;
  note_done(f, end, l);
  for (size_t i = 0; i < l->sets.n; i++) m->ready[l->sets.p[i]] = end;
}

static double port_cycles(const Timer *m, const Issue *s) {
  double most = 0;
  for (int p = 0; p < PORTS; p++) most = fmax(most, s->at[p] / m->rate[p]);
  return most;
}

/* Adds what the loops in it issue. Returns the cycles lost where they end: the core does not foresee the end of a long one. */
static double add_inner(Timer *m, LoopTime *l) {
  double lost = 0;
  for (size_t i = 0; i < l->items.n; i++) {
    if (at(m, l->items.p[i])->op != OP_LOOP) continue;
    const LoopTime *in = &m->loop.p[m->w->loop_of[l->items.p[i]]];
    for (int p = 0; p < PORTS; p++) l->issue.at[p] += in->turns * in->issue.at[p];
    if (in->turns > tunable(m->ir->ctx, predict_foreseen)) lost += m->f->at[FACT_JUMP];
  }
  return lost;
}

/* One iteration of a loop after those before it */
static void follow_body(Timer *m, Flow *f, const LoopTime *l, bool jumps) {
  if (jumps) start(m, f, 2);
  for (size_t i = 0; i < l->items.n; i++) {
    const int place = l->items.p[i];
    if (at(m, place)->op == OP_LOOP) follow_loop(m, f, &m->loop.p[m->w->loop_of[place]]);
    else follow_op(m, f, place, l);
  }
}

/* Cycles of an iteration, when the window is full: of the last third of all iterations after the middle third */
static double slope(const double *end, int n) {
  const int third = n / 3;
  double sum = 0;
  if (n < 3) return end[n] - end[n - 1];
  for (int i = 0; i < third; i++) sum += end[n - i] - end[n - third - i];
  return sum / third / third;
}

/* Follows so many iterations that the window is full several times, or a few if the ports take longer than chains. */
static int follow_iterations(Timer *m, const LoopTime *l, bool jumps, double ports, double *end) {
  const double full = m->f->at[FACT_WINDOW] / fmax(1, l->issue.at[PORT_START]), limit = fmin(ITERATIONS, l->turns);
  const int few = (int)fmin(limit, 4 + ceil(2 * full)), most = (int)fmin(limit, 8 + ceil(12 * full));
  Flow f = { 0 };
  int n = 0;
  while (n < most && !(n == few && slope(end, n) <= ports)) {
    follow_body(m, &f, l, jumps);
    end[++n] = f.done;
  }
  VEC_FREE(&f.list);
  return n;
}

static void time_loop(Timer *m, int number) {
  LoopTime *l = &m->loop.p[number];
  double end[ITERATIONS + 1] = { 0 };
  const double unforeseen = l->branches * tunable(m->ir->ctx, predict_branches) * m->f->at[FACT_JUMP];
  const double stalls = add_inner(m, l) + l->stored / m->rate[PORT_STORE] + unforeseen, ports = port_cycles(m, &l->issue);
  for (size_t i = 0; i < l->needs.n; i++) m->ready[l->needs.p[i]] = 0;
  const int n = follow_iterations(m, l, number > 0, ports, end);
  const double each = n > 1 && n >= l->turns ? (end[n] - end[1]) / (n - 1) : slope(end, n); /* all iterations, or the last ones */
  l->first = fmax(end[1], ports) + stalls;
  l->each = fmax(each, ports) + stalls;
}

double overlap_cycles(Timer *m) {
  read_items(m);
  for (int i = (int)m->loop.n; i-- > 0;) time_loop(m, i);
  return m->loop.p[0].first;
}

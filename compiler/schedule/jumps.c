/* SPDX-License-Identifier: MIT */
/* jumps.c: the jumps of a call list. The sides of branches are skipped by data, and loops are left early by data.
 *
 * A side is a run of calls with one condition. Sides inside of it have conditions of their own, which nobody needs while the
 * outer one is skipped. A loop that may end early has calls for two iterations. It is left in the middle or at the end, or begins
 * again. Jumps never lead into an iteration from outside: a run of calls is cut where an iteration ends that it does not contain.
 *
 * A loop whose iterations follow from a size of the run has calls for all that there may be. A run leaves it behind its own.
 *
 * needs: calls of kernels (loop_calls.c), buffers with offsets    gives: jumps, in the order of the calls    breaks: nothing */
#include "../support/support.h"
#include "schedule.h"
#include <stdlib.h>

/* A loop that may end early: calls first .. last - 1 are two iterations, the second from call `middle` on. */
typedef struct EarlyLoop { size_t first, middle, last; } EarlyLoop;
typedef struct Sides {
  const Plan *p;
  VEC(EarlyLoop) loops;
  int *writer;             /* by buffer: 1 + the call that writes it first; 0: none */
  Jumps jumps;
} Sides;

static void find_loops(Sides *s) {
  const Kernel *x = s->p->kernels.p;
  for (size_t k = 0, end; k < s->p->kernels.n; k = end) {
    for (end = k + 1; end < s->p->kernels.n && x[k].loop && x[end].loop == x[k].loop;) end++;
    if (x[k].rounds) VEC_PUSH(&s->loops, ((EarlyLoop){ k, k + (end - k) / 2, end }));
  }
}

static void find_writers(Sides *s) {
  s->writer = xcalloc(s->p->ir->bufs.n + 1, sizeof *s->writer);
  for (size_t k = s->p->kernels.n; k-- > 0;)
    for (size_t i = 0; i < s->p->kernels.p[k].written.n; i++) s->writer[s->p->kernels.p[k].written.p[i]] = (int)k + 1;
}

/* The condition around the one of `when`: that of the kernel which writes it */
static int around(const Sides *s, int when) {
  const int writer = when ? s->writer[(when - 1) / 2] : 0;
  return writer ? s->p->kernels.p[writer - 1].when : 0;
}

static int depth_of(const Sides *s, int when) {
  int depth = 0;
  for (; when; when = around(s, when)) depth++;
  return depth;
}

/* The condition of a call at this depth, 1 for the outermost; 0: it has none so deep */
static int when_at(const Sides *s, size_t call, int depth) {
  int when = s->p->kernels.p[call].when;
  for (int d = depth_of(s, when); d > depth; d--) when = around(s, when);
  return depth_of(s, when) == depth ? when : 0;
}

/* The end of a run of calls, cut where it would cross a border of a loop that it does not contain */
static size_t cut_run(const Sides *s, size_t first, size_t end) {
  for (size_t i = 0; i < s->loops.n; i++) {
    const EarlyLoop *l = &s->loops.p[i];
    const size_t border[] = { l->first, l->middle, l->last };
    for (int k = 0; k < 3 && !(first <= l->first && l->last <= end); k++)
      if (first < border[k] && border[k] < end) end = border[k];
  }
  return end;
}

static int64_t place_of(const Sides *s, int buffer) { return s->p->ir->bufs.p[buffer].offset; }

static void add_sides(Sides *s, int depth) {
  const size_t n = s->p->kernels.n;
  for (size_t k = 0, end; k < n; k = end) {
    const int when = when_at(s, k, depth);
    for (end = k + 1; end < n && when && when_at(s, end, depth) == when;) end++;
    if (!when) continue;
    end = cut_run(s, k, end);
    VEC_PUSH(&s->jumps, ((Jump){ .at = k, .to = end, .zero = (when - 1) % 2, .flag = place_of(s, (when - 1) / 2) }));
  }
}

static void add_loops(Sides *s) {
  const Kernel *x = s->p->kernels.p;
  for (size_t i = 0; i < s->loops.n; i++) {
    const EarlyLoop l = s->loops.p[i];
    VEC_PUSH(&s->jumps, ((Jump){ .at = l.middle, .to = l.last, .zero = true, .flag = place_of(s, x[l.first].until - 1) }));
    VEC_PUSH(&s->jumps,
             ((Jump){ .at = l.last, .to = l.first, .flag = place_of(s, x[l.middle].until - 1), .most = x[l.first].rounds }));
  }
}

/* Jumps behind the iterations of a run */
static void add_ends(Sides *s) {
  const Kernel *x = s->p->kernels.p;
  for (size_t k = 0, end; k < s->p->kernels.n; k = end) {
    for (end = k + 1; end < s->p->kernels.n && x[k].loop && x[end].loop == x[k].loop;) end++;
    const size_t each = x[k].limit ? (end - k) / (size_t)x[k].trips : 0; /* calls of an iteration */
    if (each) VEC_PUSH(&s->jumps, ((Jump){ .at = k, .to = end, .by = each, .flag = x[k].limit - 1 }));
  }
}

/* Jumps of a loop stand before those into sides, which begin outside of it; an outer side stands before an inner one. They are
 * made in this order, so the sort keeps the order of what is equal. */
static void sort_jumps(Jumps *j) {
  for (size_t i = 1; i < j->n; i++) {
    const Jump x = j->p[i];
    size_t k = i;
    for (; k && j->p[k - 1].at > x.at; k--) j->p[k] = j->p[k - 1];
    j->p[k] = x;
  }
}

/* The jump stays in the iteration whose end is its target. */
static bool stays_in(const Sides *s, const EarlyLoop *l, const Jump *x) {
  const bool leaves = x->at == l->middle && x->flag == place_of(s, s->p->kernels.p[l->first].until - 1);
  return l->first < x->at && x->at < l->last && !leaves;
}

/* Behind a jump come those at its target, but not the jump back of a loop that it has left or skipped. */
static void link_jumps(const Sides *s, Jumps *j) {
  for (size_t i = 0; i < j->n; i++) {
    Jump *x = &j->p[i];
    while (x->next < j->n && j->p[x->next].at < x->to) x->next++;
    for (size_t k = 0; k < s->loops.n; k++) {
      const EarlyLoop *l = &s->loops.p[k];
      const bool back = x->next < j->n && j->p[x->next].at == x->to && j->p[x->next].most;
      if (back && l->last == x->to && !stays_in(s, l, x)) x->next++;
    }
  }
}

Jumps plan_jumps(const Plan *p, bool omits) {
  Sides s = { .p = p };
  int deepest = 0;
  find_loops(&s);
  find_writers(&s);
  add_loops(&s);
  if (omits) add_ends(&s);
  for (size_t k = 0; k < p->kernels.n; k++) {
    const int depth = depth_of(&s, p->kernels.p[k].when);
    deepest = depth > deepest ? depth : deepest;
  }
  for (int d = 1; d <= deepest; d++) add_sides(&s, d);
  sort_jumps(&s.jumps);
  link_jumps(&s, &s.jumps);
  VEC_FREE(&s.loops);
  free(s.writer);
  return s.jumps;
}

static size_t jump_from(const Jump *j, const int64_t *sizes) { return j->by ? j->at + j->by * (size_t)sizes[j->flag] : j->at; }

size_t next_call(const Jumps *all, size_t next, const char *arena, const int64_t *sizes, Position *r) {
  while (r->jump < all->n && jump_from(&all->p[r->jump], sizes) == next) {
    const Jump *j = &all->p[r->jump++];
    const bool holds = j->by || (arena[j->flag] == 0) == j->zero;
    if (j->most && r->of != r->jump) *r = (Position){ r->jump, r->jump, 0 };
    if (!holds || (j->most && ++r->done >= j->most)) continue;
    r->jump = j->next;
    next = j->to;
  }
  return next;
}

/* SPDX-License-Identifier: MIT */
/* loop_calls.c: makes a call of each kernel of a loop for each iteration. Calls share all but their buffers: the program, the
 * function and its text. The bundle finds their common form again (bundle/reroll.c), so code does not grow with the trips.
 *
 * A kernel may be for the first iteration only, or for all others (Kernel.only). Each iteration has as many calls.
 *
 * needs: a complete plan    gives: Plan.kernels as the calls of a run, in order, with buffers that have offsets of their own
 * breaks: Kernel.prog names the buffers of the first iteration (Kernel.named) */
#include "../support/support.h"
#include "schedule.h"
#include <stdlib.h>
#include <string.h>

typedef struct Calls {
  Plan *p;
  int nbuf;
  int *now;                /* by buffer: 1 + the one that stands for it in the current iteration; 0: not made yet */
} Calls;

static int64_t moved_by(const Buf *b, int64_t trip) {
  return b->turn ? (trip & 1 ? (b->turn == 1 ? b->step : -b->step) : 0) : trip * b->step;
}

/* The buffer in iteration `trip`. Buffers that lie in the same place in all iterations stay. */
static int buffer_in(Calls *c, int buf, int64_t trip) {
  IR *ir = c->p->ir;
  const int64_t by = moved_by(&ir->bufs.p[buf], trip);
  if (!ir->bufs.p[buf].of || !by) return buf;
  if (c->now[buf]) return c->now[buf] - 1;
  Buf b = ir->bufs.p[buf];
  b.at += by;
  b.offset += by * dt_bytes(b.dt);
  b.step = b.turn = 0;
  VEC_PUSH(&ir->bufs, b);
  c->now[buf] = (int)ir->bufs.n;
  return c->now[buf] - 1;
}

static int *buffers_in(Calls *c, const int *buf, size_t n, int64_t trip) {
  int *out = ARENA_NEW(&c->p->ir->ctx->model, int, n + 1);
  for (size_t i = 0; i < n; i++) out[i] = buffer_in(c, buf[i], trip);
  return out;
}

static void push_call(Calls *c, Plan *to, const Kernel *k, int64_t trip) {
  Kernel x = *k;
  x.bufs.p = buffers_in(c, k->bufs.p, k->bufs.n, trip);
  x.bufs.cap = x.bufs.n;
  x.written.p = buffers_in(c, k->written.p, k->written.n, trip);
  x.written.cap = x.written.n;
  x.named = k->bufs.p;
  VEC_PUSH(&to->kernels, x);
}

static bool is_called(const Kernel *k, bool first) { return k->only != (first ? LATER_ITERATIONS : FIRST_ITERATION); }

/* The number of calls among n kernels of a loop in its first iteration, or in a later one */
static size_t calls_in(const Kernel *k, size_t n, bool first) {
  size_t calls = 0;
  for (size_t i = 0; i < n; i++) calls += is_called(&k[i], first);
  return calls;
}

static size_t end_of_loop(const Plan *p, size_t k) {
  size_t end = k + 1;
  while (p->kernels.p[k].loop && end < p->kernels.n && p->kernels.p[end].loop == p->kernels.p[k].loop) end++;
  return end;
}

int *plan_first_calls(const Plan *p) {
  const Kernel *x = p->kernels.p;
  int *at = xmalloc((p->kernels.n + 1) * sizeof *at);
  size_t call = 0;
  for (size_t k = 0, end; k < p->kernels.n; k = end) {
    end = end_of_loop(p, k);
    const size_t each = calls_in(x + k, end - k, true);
    for (size_t i = k; i < end; i++) {
      const bool first = is_called(&x[i], true);
      at[i] = (int)(call + (first ? 0 : each) + calls_in(x + k, i - k, first));
    }
    call += x[k].loop ? each * (size_t)calls_of_loop(&x[k]) : each;
  }
  return at;
}

static void push_loop(Calls *c, Plan *to, const Kernel *k, size_t n) {
  const bool differ = calls_in(k, n, true) < n;
  for (int64_t t = 0; t < calls_of_loop(k); t++) {
    memset(c->now, 0, (size_t)c->nbuf * sizeof *c->now);
    for (size_t i = 0; i < n; i++) {
      if (!is_called(&k[i], !t)) continue;
      if (t) push_call(c, to, &k[i], t);
      else VEC_PUSH(&to->kernels, k[i]);
      Kernel *call = &to->kernels.p[to->kernels.n - 1];
      if (differ) call->only = t ? LATER_ITERATIONS : FIRST_ITERATION;
      if (!k->until) continue;
      call->until = 1 + buffer_in(c, k->until - 1, t);
      call->rounds = k->trips / 2;
      call->trips = 2;
    }
  }
}

static void make_calls(Calls *c, Plan *p) {
  Plan calls = { 0 };
  const size_t n = p->kernels.n;
  int *at = plan_first_calls(p);
  for (size_t k = 0, end; k < n; k = end) {
    const Kernel *first = &p->kernels.p[k];
    end = end_of_loop(p, k);
    if (first->loop) push_loop(c, &calls, first, end - k);
    else VEC_PUSH(&calls.kernels, *first);
  }
  for (size_t k = 0; k < calls.kernels.n; k++)
    if (calls.kernels.p[k].code >= 0) calls.kernels.p[k].code = at[calls.kernels.p[k].code];
  VEC_FREE(&p->kernels);
  p->kernels.p = calls.kernels.p;
  p->kernels.n = calls.kernels.n;
  p->kernels.cap = calls.kernels.cap;
  free(at);
}

void plan_loop_calls(Plan *p) {
  bool any = false;
  for (size_t k = 0; k < p->kernels.n && !any; k++) any = p->kernels.p[k].loop != 0;
  if (!any) return;
  Calls c = { .p = p, .nbuf = (int)p->ir->bufs.n };
  c.now = xmalloc(((size_t)c.nbuf + 1) * sizeof *c.now);
  make_calls(&c, p);
  for (size_t i = 0; i < p->variants.n; i++) make_calls(&c, p->variants.p[i]);
  free(c.now);
}

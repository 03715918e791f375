/* SPDX-License-Identifier: MIT */
/* affinity.c: in which thread's cache a value is (data affinity).
 *
 * Threads take a kernel's chunks by shares. The first thread takes the first share, in every kernel (threads.c, tgcrt_pool.c).
 * So the position of an element along the shared loop tells whose cache holds it. A loop of n values that moves an address by
 * `step` divides every step * n elements of the buffer alike, which is its span. A reader with the span of the writer reads
 * from its own cache. With another span, about half of the data is in another thread's cache.
 *
 * Reading that data is not what costs. The line is then in two caches, and writing to it is slow when its memory is used again,
 * even if it is prefetched. Zen 4 takes 7 ns a line between two cores of one complex, 28 ns between two complexes. A line that
 * only another cache holds takes 1 and 3 ns to read or write, an own line 0.7. So a line counts once, when it comes to be in
 * two caches.
 *
 * needs: kernels in order of execution   gives: Plan.affinity, the part of each buffer that is in two caches so far */
#include "group.h"
#include <math.h>
#include <stdlib.h>

/* span with which a kernel may read a buffer; next: the buffer's next Reach, -1: none */
typedef struct Reach { int kernel, next; int64_t span; } Reach;

typedef struct Sharing {
  int64_t span;            /* span with which it was stored */
  bool known;
  double shared;           /* part of the buffer that is in two caches */
  int readers;             /* index of the first Reach; -1: none */
} Sharing;

struct Affinity {
  size_t n;
  Sharing *of;               /* by buffer */
  VEC(Reach) reaches;
};

int64_t affinity_span(IR *ir, Ref index, Ref range) {
  int64_t step;
  Ref rest;
  if (!ix_uses(ir, index, range)) return SPAN_NONE;
  return ix_split(ir, index, range, &step, &rest) && step ? llabs(step) * range_extent(node(ir, range)) : 1;
}

/* Records loops of a nest that may be shared: its chunk ranges, if it has any. */
static void add_reaches(Plan *p, int kernel, Ref nest) {
  IR *ir = p->ir;
  Affinity *o = p->affinity;
  const Nest n = nest_open(ir, nest);
  Refs all = { 0 };
  bool chunked = false;
  for (int k = 0; k < n.n; k++) chunked |= range_kind(node(ir, n.ranges[k])) == RK_THREAD;
  ir_toposort(ir, &n.store, 1, &all);
  for (size_t i = 0; i < all.n; i++) {
    const Node *x = node(ir, all.p[i]);
    if (x->op != OP_LOAD) continue;
    Sharing *b = &o->of[buffer_id(node(ir, load_buffer(x)))];
    for (int k = 0; k < n.n; k++) {
      const int64_t span = chunked && range_kind(node(ir, n.ranges[k])) != RK_THREAD ? SPAN_NONE
                                                                                 : affinity_span(ir, load_index(x), n.ranges[k]);
      if (span == SPAN_NONE || range_extent(node(ir, n.ranges[k])) < tunable(ir->ctx, affinity_loop)) continue;
      VEC_PUSH(&o->reaches, ((Reach){ kernel, b->readers, span }));
      b->readers = (int)o->reaches.n - 1;
    }
  }
  VEC_FREE(&all);
}

void step_affinity(Plan *p, Kernel *unused) {
  IR *ir = p->ir;
  (void)unused;
  p->affinity = ARENA_NEW(&ir->ctx->model, Affinity, 1);
  p->affinity->n = ir->bufs.n;
  p->affinity->of = ARENA_NEW(&ir->ctx->model, Sharing, ir->bufs.n + 1);
  for (size_t b = 0; b < ir->bufs.n; b++)
    p->affinity->of[b] = (Sharing){ .readers = -1, .span = SPAN_ONE, .known = ir->bufs.p[b].kind == BUF_INPUT };
  for (size_t k = 0; k < p->kernels.n; k++)
    for (size_t i = 0; i < p->kernels.p[k].nests.n; i++) add_reaches(p, (int)k, p->kernels.p[k].nests.p[i].nest);
}

void affinity_end(Plan *p) {
  if (p->affinity) VEC_FREE(&p->affinity->reaches);
  p->affinity = NULL;
}

/* Share of a buffer that one thread stores and another one reads, for two spans. */
static double moved_part(int64_t a, int64_t b) {
  if (a == SPAN_ONE || b == SPAN_ONE) return a == b ? 0 : 0.5;
  return fmin(0.5, fabs((double)(a - b)) / fmax((double)a, (double)b));
}

static Sharing *sharing_of(const Plan *p, int64_t buf) {
  return p->affinity && buf < (int64_t)p->affinity->n ? &p->affinity->of[buf] : NULL;
}

double affinity_reading(const Plan *p, int64_t buf, int64_t span) {
  const Sharing *o = sharing_of(p, buf);
  if (!o || !o->known) return -1;
  /* distributing data that one thread has costs the same for any loop, and only once */
  if (o->span == SPAN_ONE) return span == SPAN_NONE ? 0.5 : 0;
  return fmax(0, (span == SPAN_NONE ? 1 : moved_part(o->span, span)) - o->shared);
}

double affinity_storing(const Plan *p, int64_t buf, int64_t span) {
  const Sharing *o = sharing_of(p, buf);
  double worst = 0;
  if (!o) return -1;
  for (int i = o->readers; i >= 0;) {
    const int kernel = p->affinity->reaches.p[i].kernel;
    double best = 0.5;
    for (; i >= 0 && p->affinity->reaches.p[i].kernel == kernel; i = p->affinity->reaches.p[i].next)
      best = fmin(best, moved_part(p->affinity->reaches.p[i].span, span));
    worst = fmax(worst, best);
  }
  return worst;
}

void affinity_note(const Plan *p, int64_t buf, bool store, int64_t span) {
  Sharing *o = sharing_of(p, buf);
  if (!o) return;
  if (store) *o = (Sharing){ .span = span, .known = true, .readers = o->readers };
  else o->shared += fmax(0, affinity_reading(p, buf, span));
}

/* SPDX-License-Identifier: MIT */
/* plan_time.c: the time of each kernel of a plan on one core, when the plan runs again and again. A cache still has a buffer if
 * few bytes were touched since.
 *
 * needs: programs    gives: times    breaks: nothing */
#include "../cost/program_time.h"
#include "lower.h"
#include <math.h>

/* Memory that a kernel touched. The kernel's turn; the range of the buffer, in bytes; how many of these bytes it touched */
typedef struct Touch { int space, turn; int64_t from, to; double bytes; } Touch;
typedef struct Memory {
  const Plan *p;
  const Kernel *k, *as;    /* the kernel, and the one whose program it has */
  VEC(Touch) touched;      /* the last touch of each range, in order */
  int turn;                /* number of kernels that ran so far */
} Memory;

static int own_buffer(const Memory *m, int buf) {
  for (int i = 0; m->k != m->as && i < m->k->nbuffers; i++)
    if (buffer_id(node(m->p->ir, m->as->buffers[i])) == buf) return (int)buffer_id(node(m->p->ir, m->k->buffers[i]));
  return buf;
}

static Touch place_of(const Memory *m, int buf) {
  const int own = own_buffer(m, buf);
  const Buf *b = &m->p->ir->bufs.p[own];
  const int64_t bytes = b->elems * dt_bytes(b->dt);
  if (b->of || b->offset < 0 || buf_is_own(b->kind) || b->piece) return (Touch){ BUF_KINDS + own, m->turn, 0, bytes, 0 };
  return (Touch){ (int)b->kind, m->turn, b->offset, b->offset + bytes, 0 };
}

static bool meet(const Touch *a, const Touch *b) { return a->space == b->space && a->from < b->to && b->from < a->to; }

/* The bytes of what was touched since, each counted once, and those of the buffer */
static double since(void *arg, int buf) {
  const Memory *m = arg;
  const Touch x = place_of(m, buf);
  double bytes = (double)(x.to - x.from);
  for (size_t i = m->touched.n; i-- > 0; bytes += m->touched.p[i].bytes)
    if (meet(&m->touched.p[i], &x)) return bytes;
  return 1e18;
}

/* Memory that is touched again counts as touched now only. Several walks of a kernel touch parts of a buffer. */
static void touch(void *arg, int buf, double bytes) {
  Memory *m = arg;
  Touch x = place_of(m, buf);
  size_t kept = 0;
  x.bytes = bytes;
  for (size_t i = 0; i < m->touched.n; i++) {
    const Touch t = m->touched.p[i];
    const bool again = t.space == x.space && x.from <= t.from && t.to <= x.to;
    if (!again) m->touched.p[kept++] = t;
    else if (t.turn == x.turn) x.bytes += t.bytes;
  }
  m->touched.n = kept;
  x.bytes = fmin(x.bytes, (double)(x.to - x.from));
  VEC_PUSH(&m->touched, x);
}

void plan_time(const Plan *p, const CpuFacts *f, ProgramTime *out) {
  Memory m = { .p = p };
  for (int run = 0; run < 2; run++)
    for (size_t i = 0; i < p->kernels.n; i++, m.turn++) {
      m.k = &p->kernels.p[i];
      m.as = m.k->as ? &p->kernels.p[m.k->as - 1] : m.k;
      const Residence r = { since, touch, &m };
      out[i] = program_time(p->ir, &m.as->prog, p->in->target, f, &r);
    }
  VEC_FREE(&m.touched);
}

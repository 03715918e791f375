/* SPDX-License-Identifier: MIT */
/* plan_time.c: the time of each kernel of a plan on one core, when the plan runs again and again. A cache still has a buffer if
 * few bytes were touched since.
 *
 * needs: programs    gives: times    breaks: nothing */
#include "../cost/program_time.h"
#include "lower.h"
#include <math.h>

typedef struct Touch { int space; int64_t from, to; double when; } Touch; /* memory that a kernel touched at a time, in bytes */
typedef struct Memory {
  const Plan *p;
  const Kernel *k, *as;    /* the kernel, and the one whose program it has */
  VEC(Touch) touched;
  double now;              /* bytes touched so far */
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
  if (b->of || b->offset < 0 || buf_is_own(b->kind) || b->piece) return (Touch){ BUF_KINDS + own, 0, bytes, 0 };
  return (Touch){ (int)b->kind, b->offset, b->offset + bytes, 0 };
}

static double since(void *arg, int buf) {
  const Memory *m = arg;
  const Touch x = place_of(m, buf);
  for (size_t i = m->touched.n; i-- > 0;) {
    const Touch *t = &m->touched.p[i];
    if (t->space == x.space && t->from < x.to && x.from < t->to) return m->now - t->when + (double)(x.to - x.from);
  }
  return 1e18;
}

static void touch(void *arg, int buf, double bytes) {
  Memory *m = arg;
  Touch x = place_of(m, buf);
  m->now += bytes;
  x.when = m->now;
  VEC_PUSH(&m->touched, x);
}

void plan_time(const Plan *p, const CpuFacts *f, ProgramTime *out) {
  Memory m = { .p = p };
  for (int run = 0; run < 2; run++)
    for (size_t i = 0; i < p->kernels.n; i++) {
      m.k = &p->kernels.p[i];
      m.as = m.k->as ? &p->kernels.p[m.k->as - 1] : m.k;
      const Residence r = { since, touch, &m };
      out[i] = program_time(p->ir, &m.as->prog, p->in->target, f, &r);
    }
  VEC_FREE(&m.touched);
}

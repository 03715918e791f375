/* SPDX-License-Identifier: MIT */
/* program_time.c: the time of a program on one core. Arithmetic takes what its ports take, or what its chains take as far as the
 * core cannot run ahead. Bytes that the caches no longer have take theirs. The longer of both times hides most of the shorter
 * one. */
#include "issue.h"
#include <math.h>
#include <stdlib.h>

static double whole_ports(double rate, double width) { return fmax(1, round(rate / width)); }

static Timer timer_new(const IR *ir, const Refs *prog, const Walks *w, const Target *t, const CpuFacts *f) {
  const double bytes = t->vector_bytes ? t->vector_bytes : 4, lanes = bytes / 4;
  const double multipliers = fmax(0.25, f->at[FACT_FMA] / lanes);
  Timer m = { .ir = ir,
              .prog = prog,
              .w = w,
              .t = t,
              .f = f,
              .lanes = lanes,
              .bytes = bytes,
              .rate = { [PORT_MULTIPLY] = multipliers,
                        [PORT_VECTOR] = 1.5 * multipliers,
                        [PORT_MOVE] = f->at[FACT_SHUFFLE] / lanes,
                        [PORT_LOAD] = whole_ports(f->at[FACT_L1_READ], bytes),
                        [PORT_STORE] = whole_ports(f->at[FACT_L1_WRITE], bytes),
                        [PORT_DIVIDE] = f->at[FACT_DIVIDE],
                        [PORT_MATRIX] = 1,
                        [PORT_START] = f->at[FACT_WIDTH] },
              .starts = xcalloc(prog->n + 1, sizeof *m.starts),
              .ready = xcalloc(prog->n + 1, sizeof *m.ready) };
  for (size_t i = 0; i < w->loops.n; i++) VEC_PUSH(&m.loop, ((LoopTime){ 0 }));
  return m;
}

static void timer_free(Timer *m) {
  for (size_t i = 0; i < m->loop.n; i++) {
    VEC_FREE(&m->loop.p[i].items);
    VEC_FREE(&m->loop.p[i].needs);
    VEC_FREE(&m->loop.p[i].sets);
  }
  VEC_FREE(&m->loop);
  VEC_FREE(&m->operands);
  VEC_FREE(&m->from);
  refmap_free(&m->place);
  refmap_free(&m->summed);
  refmap_free(&m->carried);
  free(m->starts);
  free(m->ready);
}

/* ---- the time of memory ---- */
static double walk_cycles(const Timer *m, const Walk *x, double since) {
  static const Fact size[] = { FACT_L1, FACT_L2, FACT_L3 }, read[] = { FACT_L2_READ, FACT_L3_READ, FACT_MEMORY_READ },
                    write[] = { FACT_L2_WRITE, FACT_L3_WRITE, FACT_MEMORY_WRITE };
  const Tunables *u = tunables_of(m->ir->ctx);
  const double stays[CACHE_LEVELS] = { u->predict_l1, u->predict_l2, u->predict_l3 };
  double beyond[CACHE_LEVELS + 1] = { 0 }, cycles = 0; /* bytes from beyond each level */
  for (int k = 0; k < CACHE_LEVELS; k++) {
    const double bytes = stays[k] * 1024 * m->f->at[size[k]], missed = walk_missed(m->ir, m->w, x, k, bytes, since <= bytes);
    beyond[k] = k ? fmin(missed, beyond[k - 1]) : missed;
  }
  for (int k = 0; k < CACHE_LEVELS; k++) cycles += (beyond[k] - beyond[k + 1]) / m->f->at[x->store ? write[k] : read[k]];
  return cycles;
}

static double memory_cycles_of(const Timer *m, int outer, const Residence *r) {
  const Walks *w = m->w;
  double sum = 0;
  for (size_t i = 0; i < w->list.n; i++)
    if (walk_outermost(w, w->list.p[i].loop) == outer) sum += walk_cycles(m, &w->list.p[i], r->since(r->arg, w->list.p[i].buf));
  for (size_t i = 0; i < w->list.n; i++) /* after all of them: a loop does not find what it touches itself */
    if (walk_outermost(w, w->list.p[i].loop) == outer)
      r->touch(r->arg, w->list.p[i].buf, walk_bytes(m->ir, w, &w->list.p[i], outer, false));
  return sum;
}

ProgramTime program_time(const IR *ir, const Refs *prog, const Target *t, const CpuFacts *f, const Residence *r) {
  ProgramTime time = { 0 };
  Walks w;
  walks_read(ir, prog, &w);
  Timer m = timer_new(ir, prog, &w, t, f);
  packed_read(&m);
  issue_read(&m);
  time.issue = time.total = overlap_cycles(&m);
  for (size_t i = 0; i < w.loops.n; i++) {
    const LoopTime *l = &m.loop.p[i];
    if (i && w.loops.p[i].parent) continue;
    const double memory = memory_cycles_of(&m, (int)i, r), issue = i ? l->first + l->each * (l->turns - 1) : 0;
    time.memory += memory;
    time.total += fmax(issue, memory) + tunable(ir->ctx, predict_exposed) * fmin(issue, memory) - issue;
  }
  timer_free(&m);
  walks_free(&w);
  return time;
}

/* SPDX-License-Identifier: MIT */
/* state_plan.c: memory of states, and the states that are updated in place.
 *
 * A window needs no second memory: appended elements go where nothing old is read. Any other state is overwritten in place if
 * the plan proves two things. No kernel reads the old value after the one that writes the new one, and this one reads it at the
 * same element only. Else it has two places, whose roles alternate from run to run. Only a window at the end of its memory is
 * copied.
 *
 * needs: kernels with final buffers    gives: MemoryPlan.states and .state_bytes, offsets of their buffers    breaks: nothing */
#include "sched.h"

enum { ALIGN = 64 };

static int64_t align_up(int64_t n) { return (n + ALIGN - 1) / ALIGN * ALIGN; }

static bool is_of(const IR *ir, int buf, BufKind kind, size_t state) {
  return ir->bufs.p[buf].kind == kind && ir->bufs.p[buf].slot == (int64_t)state;
}

/* In each entry, every kernel that accesses the old value runs before the kernel that writes the new one, or is that kernel. */
static bool old_before_new(Plan *p, size_t state) {
  const IR *ir = p->ir;
  bool written = false, ok = true;
  for (size_t k = 0; k < p->kernels.n && ok; k++) {
    Kernel *kn = &p->kernels.p[k];
    int old = -1, new = -1;
    written &= k && kn->entry == kn[-1].entry;
    for (size_t i = 0; i < kn->bufs.n; i++) {
      if (is_of(ir, kn->bufs.p[i], BUF_STATE, state)) old = kn->bufs.p[i];
      if (is_of(ir, kn->bufs.p[i], BUF_NEXT, state)) new = kn->bufs.p[i];
    }
    if (old >= 0 && written) ok = false;
    if (old >= 0 && new >= 0) {
      ok &= kernel_in_place(ir, kn, old, new);
      kn->may_alias |= ok;
    }
    written |= new >= 0;
  }
  return ok;
}

/* Places of a window: behind the last one there is room for the longest run. */
static int64_t window_slots(const GState *s, const GIO *v) { return (s->capacity - v->dims[s->axis] - s->most) / s->step + 1; }

int64_t window_travel(const Graph *g, size_t k) {
  const GState *s = &g->states.p[k];
  const GIO *v = &g->inputs.p[graph_nin(g) + k];
  if (s->axis < 0) return 0;
  return (window_slots(s, v) - 1) * s->step * dims_elems(v->dims + s->axis + 1, v->rank - s->axis - 1);
}

static StatePlace place_of(Plan *p, size_t k) {
  const GState *s = &p->g->states.p[k];
  const GIO *v = &p->g->inputs.p[graph_nin(p->g) + k];
  int64_t bytes = gio_bytes(v);
  if (s->axis < 0) {
    int64_t step = align_up(bytes), slots = old_before_new(p, k) ? 1 : 2;
    return (StatePlace){ .outer = 1, .block = step * slots, .keep = bytes, .step = step, .slots = slots };
  }
  int64_t outer = dims_elems(v->dims, s->axis),
          inner = dims_elems(v->dims + s->axis + 1, v->rank - s->axis - 1) * dt_bytes(v->dt);
  const int64_t block = s->capacity * inner; /* as a step: nothing moves */
  return (StatePlace){ .outer = outer, .block = block, .keep = v->dims[s->axis] * inner,
                       .step = s->symbol ? block : s->step * inner, .slots = window_slots(s, v) };
}

void sched_states(Plan *p) {
  IR *ir = p->ir;
  size_t n = p->g->states.n;
  int64_t at = align_up((int64_t)n * 8);
  for (size_t k = 0; k < n; k++) {
    StatePlace s = place_of(p, k);
    s.at = at;
    s.init = -1;
    at += align_up(s.outer * s.block);
    VEC_PUSH(&p->memory.states, s);
  }
  for (size_t i = 0; i < ir->bufs.n; i++) { /* offsets as in the first run */
    Buf *b = &ir->bufs.p[i];
    if (b->kind != BUF_STATE && b->kind != BUF_NEXT) continue;
    const StatePlace *s = &p->memory.states.p[b->slot];
    b->offset = s->at + (b->kind == BUF_NEXT && s->slots > 1 ? s->step : 0);
  }
  p->memory.state_bytes = at;
}

/* SPDX-License-Identifier: MIT */
/* memory_limits.c: whether a plan keeps --max-arena and --max-weights; if not, which layer and which value take the most. */
#include "memory_limits.h"
#include <string.h>

static int64_t bytes_of(const Buf *b) { return b->elems * dt_bytes(b->dt); }

int64_t memory_excess(int64_t bytes, int64_t limit) { return limit && bytes > limit - 1 ? bytes - (limit - 1) : 0; }

/* The name of a weight in the model; "": it has none */
static const char *weight_name(const Plan *p, const Buf *b) {
  const int64_t tensor = b->packed ? p->weights.packed.p[b->packed - 1].tensor : b->slot;
  const char *name = p->ir->tensors.p[tensor].name;
  return name ? name : "";
}

/* ---- weights ---- */
typedef struct Largest { const Buf *buf; const Kernel *kernel; } Largest; /* kernel: the first that reads it */

static void find_largest(const Plan *p, Largest *l) {
  for (size_t k = 0; k < p->kernels.n; k++)
    for (size_t i = 0; i < p->kernels.p[k].bufs.n; i++) {
      const Buf *b = &p->ir->bufs.p[p->kernels.p[k].bufs.p[i]];
      if (b->kind == BUF_WEIGHT && (!l->buf || bytes_of(b) > bytes_of(l->buf))) *l = (Largest){ b, &p->kernels.p[k] };
    }
}

static const char *weights_problem(const Plan *p, int64_t most, Ref *at) {
  Arena *a = &p->ir->ctx->model;
  Largest l = { NULL, NULL };
  find_largest(p, &l);
  for (size_t i = 0; i < p->variants.n; i++) find_largest(p->variants.p[i], &l);
  if (!l.buf)
    return arena_printf(a, "first values of states take %lld bytes, more than --max-weights=%lld", (long long)p->weights.bytes,
                        (long long)most);
  const char *name = weight_name(p, l.buf);
  *at = l.kernel->sink;
  return arena_printf(a, "the weights take %lld bytes, more than --max-weights=%lld; the largest, here, takes %lld%s%s%s",
                      (long long)p->weights.bytes, (long long)most, (long long)bytes_of(l.buf), *name ? ": '" : "", name,
                      *name ? "'" : "");
}

/* ---- the arena ---- */
typedef struct Peak {
  size_t kernel;
  int64_t bytes, values;   /* live there; number of values */
  const Buf *largest;
} Peak;

/* Values that lie in one place, because one is computed in the memory of the other, count once. */
static bool counted(const IR *ir, const int *first, const int *last, size_t b, int k) {
  for (size_t i = 0; i < b; i++) {
    const Buf *a = &ir->bufs.p[i];
    if (a->kind == BUF_ARENA && first[i] >= 0 && first[i] <= k && last[i] >= k && a->offset == ir->bufs.p[b].offset) return true;
  }
  return false;
}

static Peak find_peak(const Plan *p) {
  const IR *ir = p->ir;
  int *first = ARENA_NEW(&ir->ctx->model, int, ir->bufs.n + 1), *last = ARENA_NEW(&ir->ctx->model, int, ir->bufs.n + 1);
  Peak most = { 0, 0, 0, NULL };
  for (size_t b = 0; b < ir->bufs.n; b++) first[b] = -1;
  for (size_t k = 0; k < p->kernels.n; k++)
    for (size_t i = 0; i < p->kernels.p[k].bufs.n; i++) {
      const int b = p->kernels.p[k].bufs.p[i];
      if (first[b] < 0) first[b] = (int)k;
      last[b] = (int)k;
    }
  for (size_t k = 0; k < p->kernels.n; k++) {
    Peak now = { k, 0, 0, NULL };
    for (size_t b = 0; b < ir->bufs.n; b++) {
      const Buf *x = &ir->bufs.p[b];
      if (x->kind != BUF_ARENA || first[b] < 0 || first[b] > (int)k || last[b] < (int)k) continue;
      if (counted(ir, first, last, b, (int)k)) continue;
      now.bytes += bytes_of(x);
      now.values++;
      if (!now.largest || bytes_of(x) > bytes_of(now.largest)) now.largest = x;
    }
    if (now.bytes > most.bytes) most = now;
  }
  return most;
}

static const char *arena_problem(const Plan *p, int64_t most, Ref *at) {
  Arena *a = &p->ir->ctx->model;
  const Peak peak = find_peak(p);
  const long long arena = (long long)p->memory.arena_bytes, states = (long long)p->memory.state_bytes;
  if (!peak.largest || p->memory.state_bytes > peak.bytes)
    return arena_printf(a, "the arena takes %lld bytes, more than --max-arena=%lld; states take %lld of them", arena,
                        (long long)most, states);
  *at = p->kernels.p[peak.kernel].sink;
  return arena_printf(a, "the arena takes %lld bytes, more than --max-arena=%lld; most of it is needed here: %lld for %lld "
                      "value%s, of which the largest takes %lld",
                      arena, (long long)most, (long long)peak.bytes, (long long)peak.values, peak.values == 1 ? "" : "s",
                      (long long)bytes_of(peak.largest));
}

const char *memory_problem(const Plan *p, int64_t max_arena, int64_t max_weights, Ref *at) {
  *at = 0;
  return memory_excess(p->weights.bytes, max_weights)        ? weights_problem(p, max_weights - 1, at)
         : memory_excess(p->memory.arena_bytes, max_arena) ? arena_problem(p, max_arena - 1, at)
                                                           : NULL;
}

/* ---- what was granted ---- */
void growth_report(Plan *p, const MemoryGoal *m) {
  Sb s = { 0 };
  double bytes = 0;
  p->growth = (GrowthReport){ .layers = (int)m->granted.n };
  for (size_t i = 0; i < m->granted.n; i++) {
    const char *form = m->granted.p[i].form;
    int layers = 0;
    bool new = true;
    bytes += m->granted.p[i].weights;
    for (size_t k = 0; k < i; k++) new &= strcmp(m->granted.p[k].form, form) != 0;
    for (size_t k = i; k < m->granted.n; k++) layers += !strcmp(m->granted.p[k].form, form);
    if (new) sb_printf(&s, "%s%s of %d layer%s", s.n ? ", " : "", form, layers, layers == 1 ? "" : "s");
  }
  p->growth.weights = p->weights.bytes - (int64_t)bytes;
  p->growth.forms = sb_keep(&s, &p->ir->ctx->model);
}

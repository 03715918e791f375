/* SPDX-License-Identifier: MIT */
/* variants.c: makes one plan's kernels for several machines (--isa=fat). The program chooses once, by its CPU.
 *
 * The plan is made for one machine: its buffers, their places, and each nest's schedule. The variants follow that plan with
 * other vectors: a schedule is retiled, so that lanes and copies of a range make up the same tile. Weights are packed by tiles,
 * so the variants read the same ones. A nest that cannot be retiled gets a new schedule, and reads its own weights.
 *
 * The last variant is the baseline, which has every kernel. The others have only hot kernels. By the cost model these take
 * variants_time of the time.
 *
 * needs: p's kernels lowered   gives: p->variants, whose kernels take the steps from `affinity` on (steps.c). They share p's
 * buffers; weights may be their own */
#include "lower.h"
#include <stdlib.h>
#include <string.h>

typedef struct Timed { size_t kernel; double cycles; } Timed;

static int by_cycles(const void *a, const void *b) {
  double x = ((const Timed *)a)->cycles, y = ((const Timed *)b)->cycles;
  return (x < y) - (x > y);
}

/* Marks kernels that together take variants_time of the time by the cost model, unless a lock names the hot ones */
static void mark_hot(const Plan *p, bool *hot) {
  Timed *order = xmalloc((p->kernels.n + 1) * sizeof *order);
  double all = 0, some = 0;
  for (size_t k = 0; k < p->kernels.n; k++) {
    const Kernel *x = &p->kernels.p[k];
    const double bytes = (double)(x->bytes_read + x->bytes_written);
    order[k] = (Timed){ k, kernel_cycles(p->in->target, BY_VARIANTS, (double)x->flops, bytes) };
    all += order[k].cycles;
  }
  qsort(order, p->kernels.n, sizeof *order, by_cycles);
  for (size_t i = 0; i < p->kernels.n && some < tunable(p->ir->ctx, variants_time) * all; i++) {
    hot[order[i].kernel] = true;
    some += order[i].cycles;
  }
  for (size_t k = 0; k < p->kernels.n; k++) {
    const Question q = ask_kernel(p, "hot", &p->kernels.p[k]);
    hot[k] = answer_yes(p->ir, &q, hot[k]);
  }
  for (size_t k = 0, n; k < p->kernels.n; k += n) { /* a group is one piece of code */
    bool any = false;
    n = (size_t)p->kernels.p[k].group_size;
    for (size_t i = k; i < k + n; i++) any |= hot[i];
    for (size_t i = k; i < k + n; i++) hot[i] = any;
  }
  free(order);
}

const PlanInputs *variant_inputs(const Plan *p, const Target *t) {
  Arena *m = &p->ir->ctx->model;
  PlanInputs *in = arena_dup(m, p->in, sizeof *in);
  in->target = p->in->target->in_order ? target_in_order(m, t) : t;
  return in;
}

void variants_make(Plan *p) {
  if (!p->in->target->variants) return;
  Arena *m = &p->ir->ctx->model;
  bool *hot = ARENA_NEW(m, bool, p->kernels.n + 1);
  mark_hot(p, hot);
  for (const Target *const *t = p->in->target->variants; *t; t++) {
    Plan *v = arena_dup(m, p, sizeof *p);
    v->base = p;
    v->in = variant_inputs(p, *t);
    memset(&v->kernels, 0, sizeof v->kernels);
    for (size_t k = 0; k < p->kernels.n; k++) {
      const Kernel *x = &p->kernels.p[k];
      Kernel same = { .sink = x->sink,
                      .group_size = x->group_size,
                      .chunks_per_task = x->chunks_per_task,
                      .chunks = 1,
                      .code = -1,
                      .flops = x->flops,
                      .bytes_read = x->bytes_read,
                      .bytes_written = x->bytes_written,
                      .loop = x->loop,
                      .trips = x->trips,
                      .only = x->only,
                      .until = x->until,
                      .when = x->when,
                      .moves = x->moves };
      const size_t nests = hot[k] || !t[1] ? x->nests.n : 0;
      for (size_t i = 0; i < nests; i++) VEC_PUSH(&same.nests, ((NestSchedule){ .nest = x->nests.p[i].nest }));
      VEC_PUSH(&v->kernels, same);
    }
    VEC_PUSH(&p->variants, v);
  }
}

/* SPDX-License-Identifier: MIT */
/* one_buffer.h: for tests that make a plan for a CPU, but run the plan's kernels with a GPU's driver or with an emulator. All
 * values of the plan lie in one buffer. put_source writes source in the language of the plan's backend (backends/dialect.h). The
 * source begins with the functions of the plan's kernels. Then the source has a wrapper kernel for each call of the plan. A
 * driver or an emulator starts the wrapper kernel, whose only parameter is a pointer to the buffer. */
#ifndef TGC_ONE_BUFFER_H
#define TGC_ONE_BUFFER_H
#include "../../backends/dialect.h"
#include "case.h"

/* Offsets in bytes at which the inputs, the outputs, the weights and the arena begin in the buffer. end: size of the buffer in
 * bytes */
typedef struct Places { size_t in[64], out[64], weights, arena, end; } Places;

static size_t place(Places *m, int64_t bytes) { /* makes room in the buffer for `bytes` bytes; returns the offset of the room */
  const size_t at = m->end;
  m->end += ((size_t)bytes + BUNDLE_ALIGN) / BUNDLE_ALIGN * BUNDLE_ALIGN;
  return at;
}

static int64_t value_bytes(const GIO *v) { return dims_elems(v->dims, v->rank) * dt_bytes(v->dt); }

static Places places_of(const Plan *p) {
  Places m = { 0 };
  CHECK(graph_nin(p->g) <= 64 && graph_nout(p->g) <= 64);
  for (size_t i = 0; i < graph_nin(p->g); i++) m.in[i] = place(&m, value_bytes(&p->g->inputs.p[i]));
  for (size_t i = 0; i < graph_nout(p->g); i++) m.out[i] = place(&m, value_bytes(&p->g->outputs.p[i]));
  m.weights = place(&m, p->weights.bytes);
  m.arena = place(&m, p->memory.arena_bytes);
  return m;
}

/* Writes argument i of the call of the plan's kernel number k. The argument is a pointer to the kernel's buffer number i. */
static void put_pointer(const Plan *p, const Places *m, size_t k, size_t i, Sb *o) {
  const Dialect *l = p->in->backend->dialect;
  const Kernel *x = &p->kernels.p[k];
  const Buf *b = &p->ir->bufs.p[x->bufs.p[i]];
  const CallPlace at = call_place(p, k, i);
  const size_t base = b->kind == BUF_INPUT    ? m->in[b->slot]
                      : b->kind == BUF_OUTPUT ? m->out[b->slot]
                      : b->kind == BUF_WEIGHT ? m->weights
                                              : m->arena;
  CHECK(b->kind != BUF_STATE && b->kind != BUF_NEXT);
  sb_printf(o, "%s(%s%s *)(m + %lld", i ? ", " : "", l->global, l->type[b->dt], (long long)base + at.at);
  if (b->piece) sb_printf(o, " + c / %d * %lldL", x->chunks_per_task, (long long)b->piece);
  sb_puts(o, ")");
}

/* Writes the wrapper kernel for the call of the plan's kernel number `first`. The name of the wrapper kernel is "call" and this
 * number, as in call0. The wrapper kernel runs all chunks of the plan's kernel, one after another. If a kernel group begins with
 * the plan's kernel, the wrapper kernel runs all chunks of the group. kernel: the words before the name. memory: the declaration
 * of the parameter m, a pointer to the buffer */
static void put_call(const Plan *p, const Places *m, size_t first, const char *kernel, const char *memory, Sb *o) {
  const Kernel *k = &p->kernels.p[first];
  sb_printf(o, "%scall%zu(%s) {\n  for (long c = 0; c < %d; c++) {\n", kernel, first, memory, k->chunks);
  for (size_t i = first; i < first + (size_t)k->group_size; i++) {
    const Kernel *x = &p->kernels.p[i];
    sb_printf(o, "    k%d(", x->code);
    for (size_t b = 0; b < x->bufs.n; b++) put_pointer(p, m, i, b, o);
    sb_puts(o, x->chunks > 1 ? ", c, c + 1);\n" : ");\n");
  }
  sb_puts(o, "  }\n}\n");
}

/* kernel, memory: as in put_call */
static void put_source(const Plan *p, const Places *m, const char *kernel, const char *memory, Sb *o) {
  p->in->backend->prelude(p, p->in->target, o);
  for (size_t k = 0; k < p->kernels.n; k++)
    if (p->kernels.p[k].code == (int)k) sb_printf(o, "%s\n", p->kernels.p[k].text);
  for (size_t k = 0; k < p->kernels.n; k++)
    if (p->kernels.p[k].group_size) put_call(p, m, k, kernel, memory, o);
}
#endif

/* SPDX-License-Identifier: MIT */
/* launch.c: prints launches as functions of a language like C that a driver starts: parameters and memory. cstyle.c prints
 * their statements.
 *
 * A buffer is passed as memory and the offset of its first byte, because several buffers of a model share one allocation of the
 * driver. If a kernel has several launches, their functions have the kernel's name with the number of the launch. If threads of
 * a warp exchange values, the name ends with their number, and the runtime asks the driver for warps of that size
 * (tgcrt_opencl.c). */
#include "cstyle.h"
#include <stdlib.h>

static bool has_vectors(const Render *w, int64_t id) {
  bool any = false;
  for (size_t i = 0; i < w->k->prog.n && !any; i++) {
    const Node *x = node(w->ir, w->k->prog.p[i]);
    if (!is_access(x) || buffer_id(node(w->ir, access_buffer(x))) != id) continue;
    any = x->op == OP_STORE ? node(w->ir, store_value(x))->lanes > 1 : x->lanes > 1;
  }
  return any;
}

static void put_head(const Render *w, const uint8_t *use, bool may_alias) {
  int n = 0;
  for (size_t i = 0; i < w->k->bufs.n + (w->sizes != NULL); i++) { /* the last parameter is the table of sizes */
    const uint8_t how = i < w->k->bufs.n ? use[w->k->bufs.p[i]] : 1;
    if (how && n) sb_puts(w->o, ", ");
    if (how) put_buffer_form(w, w->o, w->l->parameter, i, n, !(how & 2), !may_alias);
    n += how != 0;
  }
  if (w->l->places) sb_printf(w->o, "%s%s", n ? ", " : "", w->l->places);
  sb_puts(w->o, n || w->l->places ? ") {\n" : "void) {\n");
  for (size_t i = 0; i < w->k->bufs.n + (w->sizes != NULL) && w->l->pointer; i++) {
    const uint8_t how = i < w->k->bufs.n ? use[w->k->bufs.p[i]] : 1;
    if (!how) continue;
    sb_puts(w->o, "  ");
    put_buffer_form(w, w->o, w->l->pointer, i, 0, !(how & 2), !may_alias);
    sb_puts(w->o, "\n");
  }
  for (size_t i = 0; i < w->k->locals.n; i++) {
    const Buf *b = &w->ir->bufs.p[w->k->locals.p[i]];
    const bool shared = b->kind == BUF_SHARED, aligned = shared && w->l->aligned && has_vectors(w, w->k->locals.p[i]);
    if (use[w->k->locals.p[i]])
      sb_printf(w->o, "  %s%s p%zu[%lld]%s;\n", shared ? w->l->shared : w->l->local, w->l->type[b->dt], i, (long long)b->elems,
                aligned ? w->l->aligned : "");
  }
}

enum { VECTOR_BYTES = 16 }; /* alignment in bytes of a thread's widest vector */

/* Which buffers are aligned to VECTOR_BYTES. Drivers align inputs and outputs. Kernels that differ in this have different
 * texts, so they share no function. */
static const bool *aligned_buffers(const IR *ir, const Kernel *k, Arena *a) {
  bool *aligned = ARENA_NEW(a, bool, k->bufs.n + 1);
  for (size_t i = 0; i < k->bufs.n && !k->shift; i++) {
    const Buf *b = &ir->bufs.p[k->bufs.p[i]];
    const bool placed = (b->kind == BUF_WEIGHT || b->kind == BUF_ARENA) && b->offset >= 0 && b->offset % VECTOR_BYTES == 0;
    aligned[i] = placed || b->kind == BUF_INPUT || b->kind == BUF_OUTPUT;
  }
  return aligned;
}

/* Memory through which a matrix of sums goes from all threads of a warp to each of them */
static void put_scratch(const Render *w, int64_t threads) {
  DType d = DT_NONE;
  const int64_t elems = launch_scratch(w->ir, &w->k->prog, threads, &d);
  if (elems) sb_printf(w->o, "  %s%s tgc_scratch[%lld];\n", w->l->shared, w->l->type[d], (long long)elems);
}

/* The words before the name count in comparisons of functions: kernels with equal statements may differ in their blocks. */
static void put_function(const Plan *p, const Kernel *k, const Target *t, size_t index, int64_t threads, Sb *o) {
  Render w = { .ir = p->ir, .k = k, .t = t, .l = p->in->backend->dialect, .backend = p->in->backend->name, .o = o };
  check_spelled(&w);
  if (kernel_sized(p->ir, k)) w.sizes = arena_printf(&w.a, "b%zu", k->bufs.n);
  const int exchange = launch_exchange(p->ir, &k->prog);
  if (exchange) put_numbered(&w, o, w.l->warp_kernel, t->dev->warp);
  else put_numbered(&w, o, w.l->kernel, threads);
  sb_printf(o, "k%c", KERNEL_NUMBER);
  if (index) sb_printf(o, "_%zu", index);
  if (exchange) sb_printf(o, "_w%d", exchange);
  sb_puts(o, "(");
  if (target_has_threads(t)) w.aligned = aligned_buffers(p->ir, k, &w.a);
  uint8_t *use = buffer_uses(p->ir, k->prog.p, k->prog.n);
  put_head(&w, use, k->may_alias);
  if (target_has_threads(t)) put_scratch(&w, threads);
  if (target_has_threads(t)) find_places(&w);
  else if (k->chunks > 1) sb_printf(o, "  const %s begin = %s, end = begin + 1;\n", w.l->type[DT_I64], id_text(&w, true, 0));
  put_program(&w);
  sb_puts(o, "}\n");
  free(use);
  arena_free(&w.a);
}

void clike_launches(const Plan *p, int index, const Target *t, Sb *o) {
  const Kernel *k = &p->kernels.p[index];
  Launches launches = { 0 };
  kernel_launches(p, k, &launches);
  if (!launches.n) VEC_PUSH(&launches, ((Launch){ .grid = { 1, 1, 1 }, .block = { 1, 1, 1 } })); /* no work */
  for (size_t i = 0; i < launches.n; i++) {
    Kernel own = *k;
    own.prog = launches.p[i].prog;
    put_function(p, &own, t, i, launch_threads(&launches.p[i]), o);
  }
  launches_free(&launches);
}

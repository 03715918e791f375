/* SPDX-License-Identifier: MIT */
/* locals.c: the step `locals` lets nests of a kernel share local buffers, because they run one after another. Shared buffers of
 * a launch are shared likewise, because its nests run in separate blocks.
 *
 * needs: the nests of all kernels   gives: one local buffer for several nests   keeps: the value of every element
 * breaks: nothing */
#include "../target/launch.h"
#include "lower.h"

static Buf *buffer_of(const IR *ir, Ref r) { return &ir->bufs.p[buffer_id(node(ir, r))]; }

static void own_buffers(const IR *ir, Ref nest, Refs *out) {
  Refs all = { 0 };
  ir_toposort(ir, &nest, 1, &all);
  for (size_t i = 0; i < all.n; i++)
    if (node(ir, all.p[i])->op == OP_BUFFER && buf_is_own(buffer_of(ir, all.p[i])->kind)) VEC_PUSH(out, all.p[i]);
  VEC_FREE(&all);
}

/* Number of a nest's buffers that can be replaced by kept ones, in their order: pairs must have equal kinds and types. Shared
 * memory is scarce: it must hold all kept buffers at the greatest size that any nest needs. Otherwise no buffer is replaced. */
static size_t same_buffers(const IR *ir, const Target *t, const Refs *kept, const Refs *own) {
  int64_t bytes = 0;
  size_t n = 0;
  bool shared = false;
  for (; n < own->n && n < MAX_RANGES; n++) {
    const Buf *a = n < kept->n ? buffer_of(ir, kept->p[n]) : buffer_of(ir, own->p[n]), *b = buffer_of(ir, own->p[n]);
    if (a->dt != b->dt || a->kind != b->kind) break;
    bytes += shared_bytes(a->dt, a->elems > b->elems ? a->elems : b->elems);
    shared |= a->kind == BUF_SHARED;
  }
  for (size_t i = n; i < kept->n; i++) bytes += shared_bytes(buffer_of(ir, kept->p[i])->dt, buffer_of(ir, kept->p[i])->elems);
  return shared && (n < own->n || bytes > t->dev->shared_bytes) ? 0 : n;
}

/* Replaces buffers of nests by those of earlier nests: nests run one after another, or in separate blocks. */
static void share_locals(IR *ir, const Target *t, Refs *nests) {
  Refs kept = { 0 };
  for (size_t i = 0; i < nests->n; i++) {
    Refs own = { 0 };
    own_buffers(ir, nests->p[i], &own);
    const size_t n = same_buffers(ir, t, &kept, &own);
    for (size_t k = 0; k < n; k++) {
      if (k == kept.n) VEC_PUSH(&kept, own.p[k]);
      Buf *b = buffer_of(ir, kept.p[k]);
      if (b->elems < buffer_of(ir, own.p[k])->elems) b->elems = buffer_of(ir, own.p[k])->elems;
    }
    if (n) nests->p[i] = ix_subst(ir, nests->p[i], (int)n, own.p, kept.p);
    VEC_FREE(&own);
  }
  VEC_FREE(&kept);
}

void step_locals(Plan *p, Kernel *k) {
  Refs nests = { 0 };
  states_nests(k, &nests);
  share_locals(p->ir, p->in->target, &nests);
  states_put(k, &nests);
}

/* locals.c: the step `locals`: nests of a kernel run one after another, so that their local buffers can share memory; so can
 * shared buffers of nests in blocks of their own.
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

/* How many of a nest's buffers can be those of other nests, one after another: as many as are of one kind and type. Shared memory is
 * little: buffers as large as the largest nest wants them must fit in it together, or no nest could be sure of it. */
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

/* Nests run one after the other, or in blocks of their own: the copies of operands that they make share memory. */
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

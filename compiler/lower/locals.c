/* locals.c: the step `locals`: nests of a kernel run one after another, so that their local buffers can share memory.
 *
 * needs: the nests of all kernels   gives: one local buffer for several nests   keeps: the value of every element
 * breaks: nothing */
#include "lower.h"

/* Nests run one after the other: the copies of operands that they make share memory. */
static void share_locals(IR *ir, Refs *nests) {
  Refs all = { 0 };
  VEC(Ref) kept = { 0 };
  for (size_t i = 0; i < nests->n; i++) {
    Ref from[MAX_RANGES], to[MAX_RANGES];
    int n = 0;
    all.n = 0;
    ir_toposort(ir, &nests->p[i], 1, &all);
    for (size_t j = 0; j < all.n && n < MAX_RANGES; j++) {
      const Node *x = node(ir, all.p[j]);
      if (x->op != OP_BUFFER || ir->bufs.p[buffer_id(x)].kind != BUF_LOCAL) continue;
      if (n == (int)kept.n) VEC_PUSH(&kept, all.p[j]);
      Buf *b = &ir->bufs.p[buffer_id(node(ir, kept.p[n]))];
      if (b->dt != (DType)x->dt) break; /* it keeps its own */
      if (b->elems < ir->bufs.p[buffer_id(x)].elems) b->elems = ir->bufs.p[buffer_id(x)].elems;
      from[n] = all.p[j];
      to[n] = kept.p[n];
      n++;
    }
    if (n) nests->p[i] = ix_subst(ir, nests->p[i], n, from, to);
  }
  VEC_FREE(&all);
  VEC_FREE(&kept);
}

void step_locals(Plan *p, Kernel *k) {
  Refs nests = { 0 };
  states_nests(k, &nests);
  share_locals(p->ir, &nests);
  states_put(k, &nests);
}

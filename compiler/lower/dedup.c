/* SPDX-License-Identifier: MIT */
/* dedup.c: lowers equal kernels once. Isomorphic kernels, which differ in their buffers only, become copies of the first one.
 *
 * Layers repeat, and so do the steps of a loop. The nests of a kernel have a signature, a list of integers, once they are tiled
 * and their weights packed. It begins with buffers and ranges in the order by which sums are sorted (node_order). A range is
 * listed without its number, a buffer by its properties. The other nodes follow, sources first. Kernels with equal signatures
 * get equal code. So copies and lanes are made for the first kernel only. The others take its nests with their own buffers, and
 * share its ranges.
 *
 * needs: split ranges, packed weights; for `reuse`, the final nests of the first kernels
 * gives: Kernel.as and .buffers; then the nests of the copies   keeps: nests   breaks: Kernel.as, by `reuse` */
#include "../ir/refmap.h"
#include "lower.h"

typedef VEC(int64_t) Signature;

enum { IS_CONST = -1, IS_BUFFER = -2 }; /* these replace an index of a node */

static void add_source(const IR *ir, const RefMap *at, Ref r, Signature *w) {
  const Node *x = node(ir, r);
  if (x->op == OP_CONST) {
    VEC_PUSH(w, IS_CONST);
    VEC_PUSH(w, x->dt);
    VEC_PUSH(w, x->arg[0]);
    return;
  }
  if (x->op == OP_BUFFER) VEC_PUSH(w, IS_BUFFER);
  VEC_PUSH(w, refmap_get(at, r));
}

static void add_buffer(const IR *ir, const Node *x, Signature *w) {
  const Buf *b = &ir->bufs.p[x->arg[0]];
  VEC_PUSH(w, IS_BUFFER);
  VEC_PUSH(w, b->kind);
  VEC_PUSH(w, b->dt);
  VEC_PUSH(w, b->elems);
  VEC_PUSH(w, b->packed != 0);
}

static void add_node(const IR *ir, const RefMap *at, const Node *x, Signature *w) {
  VEC_PUSH(w, x->op);
  VEC_PUSH(w, x->dt);
  VEC_PUSH(w, x->lanes);
  VEC_PUSH(w, x->narg);
  VEC_PUSH(w, x->nsrc);
  for (int i = 0; i < x->narg; i++)
    if (x->op != OP_RANGE || i != 1) VEC_PUSH(w, x->arg[i]); /* [1] is its number */
  for (int i = 0; i < x->nsrc; i++) add_source(ir, at, x->src[i], w);
}

/* Moves buffers and ranges to the front, in node_order; the others keep their order. */
static void leaves_first(const IR *ir, Refs *all) {
  Refs others = { 0 };
  size_t n = 0;
  for (size_t i = 0; i < all->n; i++) {
    const Op op = (Op)node(ir, all->p[i])->op;
    if (op == OP_BUFFER || op == OP_RANGE) all->p[n++] = all->p[i];
    else VEC_PUSH(&others, all->p[i]);
  }
  if (n) qsort_r(all->p, n, sizeof *all->p, node_order_r, (void *)(uintptr_t)ir);
  if (others.n) memcpy(all->p + n, others.p, others.n * sizeof *others.p);
  VEC_FREE(&others);
}

/* The signature of the nests, interned, and their buffers */
static uint32_t signature_of(IR *ir, const Refs *nests, Refs *buffers) {
  Refs all = { 0 };
  RefMap at = { 0 };
  Signature w = { 0 };
  uint32_t n = 0;
  ir_toposort(ir, nests->p, nests->n, &all);
  leaves_first(ir, &all);
  for (size_t i = 0; i < all.n; i++) {
    const Node *x = node(ir, all.p[i]);
    if (x->op == OP_CONST) continue; /* users list its value */
    if (x->op == OP_BUFFER) {
      add_buffer(ir, x, &w);
      VEC_PUSH(buffers, all.p[i]);
      refmap_set(&at, all.p[i], (uint32_t)buffers->n);
    } else {
      add_node(ir, &at, x, &w);
      refmap_set(&at, all.p[i], ++n);
    }
  }
  for (size_t i = 0; i < nests->n; i++) add_source(ir, &at, nests->p[i], &w);
  const uint32_t id = intern(ir->ctx, (const char *)w.p, w.n * sizeof *w.p);
  VEC_FREE(&all);
  VEC_FREE(&w);
  refmap_free(&at);
  return id;
}

void step_match(Plan *p, Kernel *unused) {
  IR *ir = p->ir;
  VEC(uint32_t) first = { 0 }; /* by signature: 1 + the first such kernel */
  (void)unused;
  for (size_t i = 0; i < p->kernels.n; i++) {
    Kernel *k = &p->kernels.p[i];
    Refs nests = { 0 }, buffers = { 0 };
    if (!k->states.n) continue;
    states_nests(k, &nests);
    const uint32_t id = signature_of(ir, &nests, &buffers);
    while (first.n <= id) VEC_PUSH(&first, 0);
    k->as = (int)first.p[id];
    if (!k->as) first.p[id] = (uint32_t)i + 1;
    k->nbuffers = (int)buffers.n;
    k->buffers = arena_dup(&ir->ctx->model, buffers.p, buffers.n * sizeof *buffers.p);
    VEC_FREE(&buffers);
    VEC_FREE(&nests);
  }
  VEC_FREE(&first);
}

void step_reuse(Plan *p, Kernel *k) {
  if (!k->as) return;
  const Kernel *of = &p->kernels.p[k->as - 1];
  for (size_t i = 0; i < k->states.n; i++)
    k->states.p[i].nest = ix_subst(p->ir, of->states.p[i].nest, k->nbuffers, of->buffers, k->buffers);
  k->as = 0;
}

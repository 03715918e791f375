/* alike.c: kernels that differ in nothing but the buffers they are given become what the first of them became.
 *
 * Layers repeat, and so do the steps of a loop. The nests of a kernel, tiled and with their weights packed, are written down as
 * words: first its buffers and its ranges in the order that sums are sorted by (node_order), a range without its number, a buffer
 * as what is known of it; then the other nodes, sources first. Equal words end as equal code, so copies and lanes are made once,
 * and a later kernel has other buffers put in. Its ranges are those of the first, which are told apart within a kernel only.
 *
 * needs: nests ready for expand_nest    gives: what they became, where that is known */
#include "../ir/refmap.h"
#include "kernel.h"
#include <string.h>

typedef struct Made { Refs buffers, nests; } Made;
struct Alike {
  VEC(Made) made;
  VEC(uint32_t) of;        /* by interned words: place in made + 1 */
};
typedef VEC(int64_t) Words;

enum { IS_CONST = -1, IS_BUFFER = -2 }; /* in place of a node's place */

void alike_begin(Plan *p) { p->alike = ARENA_NEW(&p->ir->ctx->model, Alike, 1); }

void alike_end(Plan *p) {
  for (size_t i = 0; i < p->alike->made.n; i++) {
    VEC_FREE(&p->alike->made.p[i].buffers);
    VEC_FREE(&p->alike->made.p[i].nests);
  }
  VEC_FREE(&p->alike->made);
  VEC_FREE(&p->alike->of);
  p->alike = NULL;
}

static void add_source(const IR *ir, const RefMap *at, Ref r, Words *w) {
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

static void add_buffer(const IR *ir, const Node *x, Words *w) {
  const Buf *b = &ir->bufs.p[x->arg[0]];
  VEC_PUSH(w, IS_BUFFER);
  VEC_PUSH(w, b->kind);
  VEC_PUSH(w, b->dt);
  VEC_PUSH(w, b->elems);
  VEC_PUSH(w, b->packed != 0);
}

static void add_node(const IR *ir, const RefMap *at, const Node *x, Words *w) {
  VEC_PUSH(w, x->op);
  VEC_PUSH(w, x->dt);
  VEC_PUSH(w, x->lanes);
  VEC_PUSH(w, x->narg);
  VEC_PUSH(w, x->nsrc);
  for (int i = 0; i < x->narg; i++)
    if (x->op != OP_RANGE || i != 1) VEC_PUSH(w, x->arg[i]); /* its number */
  for (int i = 0; i < x->nsrc; i++) add_source(ir, at, x->src[i], w);
}

/* Buffers and ranges to the front, in node_order; the others keep their order. */
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

/* The words of the nests, interned, and their buffers */
static uint32_t words_of(IR *ir, const Refs *nests, Refs *buffers) {
  Refs all = { 0 };
  RefMap at = { 0 };
  Words w = { 0 };
  uint32_t n = 0;
  ir_toposort(ir, nests->p, nests->n, &all);
  leaves_first(ir, &all);
  for (size_t i = 0; i < all.n; i++) {
    const Node *x = node(ir, all.p[i]);
    if (x->op == OP_CONST) continue; /* its value stands with those that use it */
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

static void expand_all(Plan *p, const Kernel *k, Refs *nests) {
  IR *ir = p->ir;
  const Question q = ask_kernel(p, "prefetch", k);
  static const char word[] = "panels-";
  const bool some = q.given && !strncmp(q.given, word, sizeof word - 1), none = q.given && !strcmp(q.given, "none");
  const char *given = some ? q.given + sizeof word - 1 : none ? "" : NULL;
  Sb made = { 0 };
  for (size_t i = 0; i < nests->n; i++) {
    nests->p[i] = legalize_nest(ir, expand_nest(ir, nests->p[i], p->target), p->backend, p->target);
    nests->p[i] = prefetch_nest(ir, nests->p[i], p->target, &given, &made);
  }
  const bool any = made.n > 0;
  while (made.n && made.p[made.n - 1] == '0') made.n--;
  const char *value = made.n ? arena_printf(&ir->ctx->model, "%s%.*s", word, (int)made.n, made.p) : "none";
  if (q.given && strcmp(q.given, value)) answer_refused(ir, &q, "the kernel has other panels of weights");
  if (any) answer_with(ir, &q, value);
  sb_free(&made);
}

void alike_expand(Plan *p, const Kernel *k, Refs *nests) {
  IR *ir = p->ir;
  Alike *a = p->alike;
  Refs buffers = { 0 };
  const uint32_t id = a ? words_of(ir, nests, &buffers) : 0;
  while (a && a->of.n <= id) VEC_PUSH(&a->of, 0);
  const Made *m = a && a->of.p[id] ? &a->made.p[a->of.p[id] - 1] : NULL;
  nests->n = m ? 0 : nests->n;
  for (size_t i = 0; m && i < m->nests.n; i++)
    VEC_PUSH(nests, ix_subst(ir, m->nests.p[i], (int)buffers.n, m->buffers.p, buffers.p));
  if (!m) expand_all(p, k, nests);
  if (a && !m) {
    Made made = { .buffers = buffers };
    for (size_t i = 0; i < nests->n; i++) VEC_PUSH(&made.nests, nests->p[i]);
    VEC_PUSH(&a->made, made);
    a->of.p[id] = (uint32_t)a->made.n;
  } else
    VEC_FREE(&buffers);
}

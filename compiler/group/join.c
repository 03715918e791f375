/* SPDX-License-Identifier: MIT */
/* join.c: the step `join`: independent kernels of a device become one kernel, whose nests are parts of one launch.
 *
 * A launch takes time, and a launch with few blocks leaves most of a device idle. Two consecutive kernels are independent if
 * neither stores to memory that the other accesses. The joined kernel has the nests of both. The step `launches` puts them in
 * one grid where blocks of one size suit them. States stay in kernels of their own, since the next value of a state may share
 * memory with the current one.
 *
 * needs: sinks   gives: fewer kernels   keeps: the value of every element, the order of dependent nests   breaks: nothing */
#include "../nest/nest.h"
#include "group.h"

enum { JOINED_MOST = 16 }; /* nests of a kernel: bounds the text of one function */

typedef struct Touched {
  RefMap how;              /* buffer + 1: bit 1 if it is loaded, bit 2 if it is stored to */
  int buffers, nests;
  bool state;
} Touched;

static void add_touched(const IR *ir, Ref sink, Touched *t) {
  Refs all = { 0 };
  ir_toposort(ir, &sink, 1, &all);
  for (size_t i = 0; i < all.n; i++) {
    const Node *x = node(ir, all.p[i]);
    if (!is_access(x)) continue;
    const int64_t id = buffer_id(node(ir, access_buffer(x)));
    const BufKind kind = ir->bufs.p[id].kind;
    const Ref was = refmap_get(&t->how, (Ref)id + 1);
    t->buffers += !was;
    t->state |= kind == BUF_STATE || kind == BUF_NEXT || kind == BUF_GUARD;
    refmap_set(&t->how, (Ref)id + 1, was | (x->op == OP_STORE ? 2 : 1));
  }
  t->nests += node(ir, sink)->nsrc;
  VEC_FREE(&all);
}

/* Whether the kernel of that sink may run in parallel with the accesses of t */
static bool independent(const Plan *p, const Touched *t, Ref sink) {
  const IR *ir = p->ir;
  Touched own = { .nests = 0 };
  int buffers = t->buffers;
  bool yes = true;
  add_touched(ir, sink, &own);
  for (size_t b = 0; b < ir->bufs.n; b++) {
    const Ref mine = refmap_get(&own.how, (Ref)b + 1), theirs = refmap_get(&t->how, (Ref)b + 1);
    yes &= !mine || !theirs || (mine | theirs) == 1;
    buffers += mine && !theirs;
  }
  yes &= !own.state && !t->state && own.nests + t->nests <= JOINED_MOST && buffers < p->in->target->dev->max_args;
  refmap_free(&own.how);
  return yes;
}

static Ref joined_sink(IR *ir, Ref a, Ref b) {
  Refs nests = { 0 };
  for (int i = 0; i < node(ir, a)->nsrc; i++) VEC_PUSH(&nests, node(ir, a)->src[i]);
  for (int i = 0; i < node(ir, b)->nsrc; i++) VEC_PUSH(&nests, node(ir, b)->src[i]);
  ir->origin = node(ir, a)->origin;
  const Ref sink = node_make(ir, OP_SINK, DT_NONE, 1, (int)nests.n, nests.p, 0, NULL, 0, NULL);
  VEC_FREE(&nests);
  return sink;
}

void step_join(Plan *p, Kernel *unused) {
  (void)unused;
  size_t kept = 0;
  Touched t = { .nests = 0 };
  for (size_t k = 0; k < p->kernels.n; k++) {
    Kernel *last = kept ? &p->kernels.p[kept - 1] : NULL;
    const Ref sink = p->kernels.p[k].sink;
    if (last && independent(p, &t, sink)) last->sink = joined_sink(p->ir, last->sink, sink);
    else {
      refmap_free(&t.how);
      t = (Touched){ .nests = 0 };
      p->kernels.p[kept++] = p->kernels.p[k];
    }
    add_touched(p->ir, sink, &t);
  }
  p->kernels.n = kept;
  refmap_free(&t.how);
}

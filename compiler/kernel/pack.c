/* pack.c: constants laid out in the order a kernel reads them. After a nest's ranges were split, the
 * index of a weight is affine in some of them; the packed copy is the table of its values with the
 * loops outermost and the lanes innermost, so that the kernel reads it as one stream of vectors. */
#include "kernel.h"
#include <stdlib.h>
#include <string.h>

typedef struct Dim { Ref range; int64_t extent, coef; int order; } Dim;

/* Place of a range in the nest: its loops, then its reductions' loops, then copies, then lanes. */
static int order_of(const IR *ir, const Refs *all, Ref nest, Ref range) {
  const Node *x = node(ir, nest), *r = node(ir, range);
  int kind = r->arg[2] == RK_VEC ? 3 : r->arg[2] == RK_UNROLL || r->arg[2] == RK_PARTIAL ? 2 : -1, at = 0;
  for (int k = 1; k < x->nsrc; k++)
    if (x->src[k] == range) return (kind < 0 ? 0 : kind) * 100 + k;
  for (size_t i = 0; i < all->n; i++) {
    x = node(ir, all->p[i]);
    for (int k = 1; k < x->nsrc && x->op == OP_RED; k++)
      if (x->src[k] == range) at = k;
  }
  return (kind < 0 ? 1 : kind) * 100 + at;
}

static void gather(char *to, const char *from, int bytes, const Dim *d, int n, int64_t at) {
  int64_t i[MAX_RANGES] = { 0 }, inner = n ? d[n - 1].extent : 1, step = n ? d[n - 1].coef : 0;
  for (;;) {
    const char *p = from + at * bytes;
    if (bytes == 4)
      for (int64_t k = 0; k < inner; k++) memcpy(to + 4 * k, p + 4 * k * step, 4);
    else
      for (int64_t k = 0; k < inner; k++) memcpy(to + bytes * k, p + bytes * k * step, (size_t)bytes);
    to += inner * bytes;
    int a = n - 2;
    for (; a >= 0; a--) {
      at += d[a].coef;
      if (++i[a] < d[a].extent) break;
      at -= d[a].coef * d[a].extent;
      i[a] = 0;
    }
    if (a < 0) return;
  }
}

static int packed_buffer(Plan *p, const Buf *b, int64_t base, const Dim *d, int n, int64_t total) {
  IR *ir = p->ir;
  Packed k;
  memset(&k, 0, sizeof k); /* compared as bytes */
  k.tensor = b->slot;
  k.base = base;
  k.n = n;
  for (int i = 0; i < n; i++) k.extent[i] = d[i].extent, k.coef[i] = d[i].coef;
  for (size_t i = 0; i < p->packed.n; i++)
    if (!memcmp(&p->packed.p[i], &k, offsetof(Packed, buf))) return p->packed.p[i].buf;
  const Tensor *t = &ir->tensors.p[b->slot];
  int bytes = dt_bytes(b->dt);
  char *data = arena_alloc(&ir->ctx->model, size_mul((size_t)total, (size_t)bytes));
  gather(data, t->data, bytes, d, n, base);
  Tensor made = { .dt = b->dt, .rank = 1, .dims = { total }, .elems = total, .data = data, .name = t->name };
  k.buf = (int)ir->bufs.n;
  VEC_PUSH(&ir->bufs, ((Buf){ .kind = BUF_WEIGHT, .dt = b->dt, .elems = total, .slot = ir_tensor(ir, &made), .offset = -1, .value = b->value }));
  VEC_PUSH(&p->packed, k);
  return k.buf;
}

static Ref pack_load(Plan *p, Ref nest, const Refs *all, Ref load) {
  IR *ir = p->ir;
  const Node *x = node(ir, load);
  const Buf b = ir->bufs.p[node(ir, x->src[0])->arg[0]];
  const Tensor *t = &ir->tensors.p[b.slot];
  Refs ranges = { 0 };
  Dim d[MAX_RANGES];
  int n = 0;
  int64_t total = 1, base;
  Ref rest = x->src[1], index = ix_const(ir, 0), packed = 0;
  collect_ranges(ir, x->src[1], &ranges);
  bool ok = ranges.n <= MAX_RANGES && t->data != NULL;
  for (size_t i = 0; i < ranges.n && ok; i++) {
    Dim e = { ranges.p[i], node(ir, ranges.p[i])->arg[0], 0, order_of(ir, all, nest, ranges.p[i]) };
    ok = ix_split(ir, rest, e.range, &e.coef, &rest) && i64_mul(total, e.extent, &total);
    int k = n++;
    for (; k && d[k - 1].order > e.order; k--) d[k] = d[k - 1];
    d[k] = e;
  }
  VEC_FREE(&ranges);
  if (!ok || !node_is_const(ir, rest, &base) || total > 2 * b.elems + 64) return 0;
  for (int i = 0; i < n; i++) index = ix_add(ir, ix_mul(ir, index, d[i].extent), d[i].range);
  if (index == x->src[1] && total == b.elems) return 0; /* already in order */
  int64_t id = packed_buffer(p, &b, base, d, n, total);
  Ref src[4] = { node_make(ir, OP_BUFFER, b.dt, 1, 0, NULL, 1, &id, 0, NULL), index };
  memcpy(src + 2, x->src + 2, (x->nsrc - 2u) * sizeof *src);
  packed = node_make(ir, OP_LOAD, (DType)x->dt, 1, x->nsrc, src, 0, NULL, 0, NULL);
  return packed;
}

void pack_weights(Plan *p, Ref *nest) {
  IR *ir = p->ir;
  Refs all = { 0 };
  VEC(Ref) from = { 0 };
  VEC(Ref) to = { 0 };
  ir_toposort(ir, nest, 1, &all);
  for (size_t i = 0; i < all.n; i++) {
    const Node *x = node(ir, all.p[i]);
    if (x->op != OP_LOAD || ir->bufs.p[node(ir, x->src[0])->arg[0]].kind != BUF_WEIGHT) continue;
    Ref packed = pack_load(p, *nest, &all, all.p[i]);
    if (!packed) continue;
    VEC_PUSH(&from, all.p[i]);
    VEC_PUSH(&to, packed);
  }
  if (from.n) *nest = ix_subst(ir, *nest, (int)from.n, from.p, to.p);
  VEC_FREE(&all);
  VEC_FREE(&from);
  VEC_FREE(&to);
}

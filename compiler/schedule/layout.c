/* layout.c: where every stored value lies in memory.
 *
 * A physical layout is an order of the axes, room around the value (its halo) and, for parts of a
 * concatenation, a place inside the whole. Convolutions want the axis that only their weights know
 * (the output channels) innermost: stores, pooling and depthwise steps are then contiguous in the
 * vector axis, and the activations are read as scalars, for which any layout does. Values that no
 * contraction makes follow what they read. Graph inputs and outputs keep their row-major order. */
#include "sched.h"
#include "../ir/refmap.h"
#include <stdlib.h>
#include <string.h>

enum { GROUP_REST = 3 }; /* bytes that a dot-product unit may read past the last one (kernel/units.c) */

/* ---- which axis lies innermost ---- */

/* Axis of u that moves with axis `axis` of the stored value v, judged from the index expressions of
 * the loads: the axis of u whose index variable is the only one in v's index on that axis. */
typedef struct Follow {
  Sched *s;
  Ref u;                       /* the value to lay out */
  const Ref *ranges;           /* one per axis of u */
  Ref only;                    /* the one value that votes, as if it were memory; 0: all that is */
  int only_inner;              /* with this axis innermost */
  double votes[MAX_RANK];      /* elements read that move with each axis of u */
  RefMap seen;                 /* a value reached again votes no second time */
} Follow;

static int axis_of_range(const IR *ir, const Ref *ranges, int rank, Ref e) {
  for (int a = 0; a < rank; a++)
    if (ranges[a] && node(ir, ranges[a])->op == OP_RANGE && ix_uses(ir, e, ranges[a])) return a;
  return -1;
}

/* Walks the expression of u down to stored values, voting. Views are followed with their index
 * maps, so this is lower_element without building the arithmetic. */
static void vote(Follow *f, Ref r, const Ref *idx, bool top) {
  Sched *s = f->s;
  IR *ir = s->ir;
  const Node *x = node(ir, r), *u = node(ir, f->u);
  Place *p = &s->place[r];
  if (p->halo_view) p = &s->place[x->src[0]];
  if (!top && (p->stored || x->op == OP_PARAM || x->op == OP_WEIGHT || r == f->only)) {
    if (f->only && f->only != r) return;
    double elems = (double)dims_elems(x->dims, x->rank);
    int inner = r == f->only ? f->only_inner : p->stored && p->inner >= 0 ? p->inner : x->rank - 1; /* row-major: the last axis with an extent */
    while (inner > 0 && x->dims[inner] == 1 && r != f->only && p->inner < 0) inner--;
    if (inner < 0 || x->dims[inner] == 1) return;
    int a = axis_of_range(ir, f->ranges, u->rank, idx[inner]);
    if (a >= 0 && u->dims[a] > 1) f->votes[a] += elems;
    return;
  }
  if (refmap_get(&f->seen, r)) return;
  refmap_set(&f->seen, r, r);
  Ref at[MAX_RANK];
  for (int k = 0; k < x->nsrc; k++) {
    if (x->op == OP_PAD && k == 1) continue;
    const Node *y = node(ir, x->src[k]);
    switch ((Op)x->op) {
    case OP_PERMUTE:
      for (int i = 0; i < x->rank; i++) at[x->arg[i]] = idx[i];
      break;
    case OP_WINDOW:
      for (int i = 0; i < y->rank; i++) at[i] = idx[i]; /* the window's own index does not matter here */
      break;
    case OP_REDUCE:
      for (int i = 0; i < y->rank; i++) at[i] = (x->arg[1] >> i & 1) ? ix_const(ir, 0) : idx[i];
      break;
    case OP_EXPAND:
      for (int i = 0; i < y->rank; i++) at[i] = y->dims[i] == 1 ? ix_const(ir, 0) : idx[i];
      break;
    case OP_RESHAPE: { /* an axis moves with the one that its step lies in */
      int64_t inner_x = 1;
      for (int i = 0; i < y->rank; i++) at[i] = ix_const(ir, 0);
      for (int i = x->rank - 1; i >= 0; inner_x *= x->dims[i], i--) {
        int64_t inner_y = 1;
        for (int j = y->rank - 1; j >= 0; inner_y *= y->dims[j], j--)
          if (y->dims[j] > 1 && inner_x <= inner_y && inner_y < inner_x * x->dims[i]) at[j] = idx[i];
      }
      break;
    }
    default:
      for (int i = 0; i < y->rank; i++) at[i] = idx[i];
      break;
    }
    if (y->rank != x->rank && x->op != OP_RESHAPE && x->op != OP_WINDOW) continue;
    vote(f, x->src[k], at, false);
  }
}

/* The contraction inlined into r, at most one by fuse.c; 0: none. */
static Ref contraction_of(Sched *s, Ref r) {
  RefMap seen = { 0 };
  Refs todo = { 0 };
  Ref found = 0;
  VEC_PUSH(&todo, r);
  while (todo.n && !found) {
    Ref q = todo.p[--todo.n];
    const Node *x = node(s->ir, q);
    if (is_contraction(s->ir, q)) found = q;
    for (int k = 0; k < x->nsrc; k++) {
      const Place *p = &s->place[x->src[k]];
      if (p->stored || p->halo_view || refmap_get(&seen, x->src[k])) continue;
      refmap_set(&seen, x->src[k], x->src[k]);
      VEC_PUSH(&todo, x->src[k]);
    }
  }
  VEC_FREE(&todo);
  refmap_free(&seen);
  return found;
}

static bool from_weight(Sched *s, Ref r) { return !node(s->ir, r)->varies; }

/* Does element r depend on axis a of its own index? Follows views only. */
static bool varies(const IR *ir, Ref r, int a) {
  for (;;) {
    const Node *x = node(ir, r), *y = x->nsrc ? node(ir, x->src[0]) : NULL;
    switch ((Op)x->op) {
    case OP_EXPAND:
      if (y->dims[a] == 1 && x->dims[a] != 1) return false;
      break;
    case OP_PERMUTE: a = (int)x->arg[a]; break;
    case OP_WINDOW:
      if (a == y->rank) return true;
      break;
    case OP_SHRINK: case OP_CAST: break;
    case OP_RESHAPE: {
      int64_t inner = 1;
      int j = y->rank - 1;
      for (int i = x->rank - 1; i > a; i--) inner *= x->dims[i];
      for (int64_t in = 1; j >= 0; in *= y->dims[j], j--)
        if (in == inner && y->dims[j] == x->dims[a]) break;
      if (j < 0) return true;
      a = j;
      break;
    }
    case OP_CONST: return false;
    default: return x->rank > a && x->dims[a] != 1;
    }
    r = x->src[0];
  }
}

/* The axis of contraction c's result that the weights know and the activations do not; -1: none, as
 * in depthwise steps. *weighted: an operand is constant. */
static int weight_axis(Sched *s, Ref c, bool *weighted) {
  IR *ir = s->ir;
  const Node *x = node(ir, c);
  Ref m = x->src[0];
  *weighted = false;
  if (node(ir, m)->op != OP_MUL) return -1;
  Ref a = node(ir, m)->src[0], w = node(ir, m)->src[1];
  if (!from_weight(s, w)) { Ref t = a; a = w; w = t; }
  if (!from_weight(s, w)) return -1;
  *weighted = true;
  int best = -1;
  for (int i = 0; i < x->rank; i++)
    if (x->dims[i] >= 4 && !varies(ir, a, i) && (best < 0 || x->dims[i] > x->dims[best])) best = i;
  return best;
}

static void choose_inner(Sched *s, Ref r) {
  IR *ir = s->ir;
  const Node *x = node(ir, r);
  Place *p = &s->place[r];
  p->inner = -1;
  if (x->rank < 3) return;
  Ref c = contraction_of(s, r), ranges[MAX_RANK];
  bool weighted = true;
  int w = c ? weight_axis(s, c, &weighted) : -1;
  if (!weighted) return; /* both operands are activations: their own order is as good as any */
  if (c == r && w >= 0) p->inner = w;
  else {
    Follow f = { .s = s, .u = r, .ranges = ranges, .only = w >= 0 ? c : 0, .only_inner = w };
    for (int a = 0; a < x->rank; a++)
      ranges[a] = x->dims[a] > 1 ? node_make(ir, OP_RANGE, DT_I64, 1, 0, NULL, 3, (int64_t[]){ x->dims[a], -1 - a, RK_LOOP }, 0, NULL) : ix_const(ir, 0);
    vote(&f, r, ranges, true);
    for (int a = 0; a < x->rank; a++)
      if (f.votes[a] > 0 && (p->inner < 0 || f.votes[a] > f.votes[p->inner])) p->inner = a;
    refmap_free(&f.seen);
  }
  if (p->inner == x->rank - 1) p->inner = -1;
}

/* ---- buffers ---- */
static int new_buf(IR *ir, BufKind kind, DType dt, int64_t elems, int64_t slot, Ref value) {
  VEC_PUSH(&ir->bufs, ((Buf){ .kind = kind, .dt = dt, .elems = elems, .slot = slot, .offset = -1, .value = value }));
  return (int)ir->bufs.n - 1;
}

/* Strides for an order of axes with `inner` last, room included; returns the elements spanned. */
static int64_t lay_out(const Node *x, Place *p) {
  int64_t n = 1;
  int inner = p->inner < 0 ? x->rank - 1 : p->inner;
  p->offset = 0;
  for (int i = -1; i < x->rank; i++) {
    int a = i < 0 ? inner : x->rank - 1 - i;
    if (a < 0 || (i >= 0 && a == inner)) continue;
    p->stride[a] = n;
    p->offset += p->lo[a] * n;
    n *= x->dims[a] + p->lo[a] + p->hi[a];
  }
  return n;
}

static void find_halos(Sched *s) {
  IR *ir = s->ir;
  for (size_t i = 0; i < s->order.n; i++) {
    Ref r = s->order.p[i];
    const Node *x = node(ir, r);
    if (!s->place[r].halo_view) continue;
    Place *p = &s->place[x->src[0]];
    if (!p->stored || p->state || (p->has_halo && p->fill != x->src[1])) { /* no room, or for another fill: a copy of its own */
      s->place[r].halo_view = false;
      s->place[r].stored = true;
      continue;
    }
    p->has_halo = true;
    p->fill = x->src[1];
    for (int a = 0; a < x->rank; a++) {
      if (x->arg[a] > p->lo[a]) p->lo[a] = x->arg[a];
      if (x->arg[x->rank + a] > p->hi[a]) p->hi[a] = x->arg[x->rank + a];
    }
  }
}

static bool is_output(Sched *s, Ref r) {
  for (size_t i = 0; i < s->g->outputs.n; i++)
    if (s->g->outputs.p[i].ref == r) return true;
  return false;
}

/* Parts of concatenations are written where the whole lies, unless something else fixes their place. */
static void find_insides(Sched *s) {
  IR *ir = s->ir;
  for (size_t i = s->order.n; i-- > 0;) {
    Ref r = s->order.p[i];
    const Node *x = node(ir, r);
    if (x->op != OP_CAT || !s->place[r].stored || s->place[r].select) continue;
    int64_t at = 0;
    for (int k = 0; k < x->nsrc; k++) {
      Place *p = &s->place[x->src[k]];
      if (p->stored && !p->inside && !p->has_halo && !is_output(s, x->src[k])) {
        p->inside = r;
        p->inside_at = (int)at;
      }
      at += node(ir, x->src[k])->dims[x->arg[0]];
    }
  }
}

static bool is_state_window(Sched *s, size_t k) { return s->g->states.p[k].axis >= 0; }

/* A window's room is on its axis, behind it; the input it begins with lies in it already. */
static void lay_out_window(Sched *s, size_t k) {
  const GState *st = &s->g->states.p[k];
  Ref r = s->g->outputs.p[graph_nout(s->g) + k].ref;
  const Node *x = node(s->ir, r);
  CHECK(x->op == OP_CAT && node(s->ir, x->src[0])->op == OP_PARAM);
  Place *p = &s->place[r], *past = &s->place[x->src[0]];
  p->inner = -1;
  p->hi[st->axis] = st->capacity - x->dims[st->axis];
  int64_t n = lay_out(x, p);
  p->buf = past->buf = new_buf(s->ir, BUF_STATE, (DType)x->dt, n, (int64_t)k, r);
  memcpy(past->stride, p->stride, sizeof p->stride);
  past->inner = -1;
  past->inside = r;
}

void sched_layout(Sched *s) {
  IR *ir = s->ir;
  size_t nin = graph_nin(s->g), nout = graph_nout(s->g);
  for (size_t k = 0; k < s->g->states.n; k++)
    if (is_state_window(s, k)) s->place[s->g->outputs.p[nout + k].ref].state = (int)k + 1;
  find_halos(s);
  find_insides(s);
  for (size_t i = 0; i < s->order.n; i++)
    if (s->place[s->order.p[i]].stored) choose_inner(s, s->order.p[i]);

  /* states and graph inputs, then outputs, then the arena; wholes before their parts */
  for (size_t k = 0; k < s->g->states.n; k++)
    if (is_state_window(s, k)) lay_out_window(s, k);
  for (size_t i = 0; i < s->order.n; i++) {
    Ref r = s->order.p[i];
    const Node *x = node(ir, r);
    Place *p = &s->place[r];
    if ((x->op == OP_PARAM || x->op == OP_WEIGHT) && p->buf < 0) {
      bool state = x->op == OP_PARAM && (size_t)x->arg[0] >= nin;
      p->inner = -1;
      int64_t n = lay_out(x, p);
      p->buf = new_buf(ir, state ? BUF_STATE : x->op == OP_PARAM ? BUF_INPUT : BUF_WEIGHT, (DType)x->dt, n,
                       state ? x->arg[0] - (int64_t)nin : x->arg[0], r);
    }
  }
  for (size_t i = 0; i < s->g->outputs.n; i++) {
    Ref r = s->g->outputs.p[i].ref;
    const Node *x = node(ir, r);
    Place *p = &s->place[r];
    if (p->stored && p->buf < 0 && !p->has_halo) {
      p->inner = -1;
      int64_t n = lay_out(x, p);
      p->buf = new_buf(ir, i < nout ? BUF_OUTPUT : BUF_NEXT, (DType)x->dt, n, (int64_t)(i < nout ? i : i - nout), r);
    }
  }
  for (size_t i = s->order.n; i-- > 0;) {
    Ref r = s->order.p[i];
    const Node *x = node(ir, r);
    Place *p = &s->place[r];
    if (!p->stored || p->buf >= 0) continue;
    if (p->inside) {
      const Node *w = node(ir, p->inside);
      Place *q = &s->place[p->inside];
      p->buf = q->buf;
      p->offset = q->offset + p->inside_at * q->stride[w->arg[0]];
      memcpy(p->stride, q->stride, sizeof p->stride);
      p->inner = q->inner;
      continue;
    }
    int64_t n = lay_out(x, p);
    if (dtype_info[x->dt].bits == 8 && dt_int((DType)x->dt)) n += GROUP_REST;
    p->buf = new_buf(ir, BUF_ARENA, (DType)x->dt, n, -1, r);
  }
}

/* layout.c: places every stored value in memory.
 *
 * A layout is an order of the axes (layout_pbqp.c) and a halo of padding around the value. A part of a concatenation has a
 * place inside the whole. Graph inputs and outputs stay row-major.
 *
 * needs: stored values    gives: a buffer, offset, halo and strides for each stored value, LayoutPlan
 * breaks: Place.reads_halo where the source cannot have the halo: the pad is stored then */
#include "../target/isa_ops.h"
#include "sched.h"
#include <string.h>

static const int64_t MOST_BYTES = (int64_t)1 << 60; /* bytes; limit of a value with its halo */

/* ---- buffers ---- */
static int new_buf(IR *ir, BufKind kind, DType dt, int64_t elems, int64_t slot, Ref value) {
  VEC_PUSH(&ir->bufs, ((Buf){ .kind = kind, .dt = dt, .elems = elems, .slot = slot, .offset = -1, .value = value }));
  return (int)ir->bufs.n - 1;
}

/* Computes strides for an order of axes with `inner` last, halo included; returns the number of elements spanned. */
static int64_t lay_out(Sched *s, Ref r) {
  const Node *x = node(s->ir, r);
  Place *p = &s->place[r];
  int64_t n = 1, extent;
  int inner = p->inner < 0 ? x->rank - 1 : p->inner;
  p->offset = 0;
  for (int i = -1; i < x->rank; i++) {
    int a = i < 0 ? inner : x->rank - 1 - i;
    if (a < 0 || (i >= 0 && a == inner)) continue;
    p->stride[a] = n;
    p->offset += p->lo[a] * n;
    if (!i64_add(x->dims[a], p->lo[a], &extent) || !i64_add(extent, p->hi[a], &extent) || !i64_mul(n, extent, &n) ||
        n > MOST_BYTES / dt_bytes((DType)x->dt))
      fail_at(s->ir->ctx, EX_BADMODEL, ir_pos(s->ir, r), "a value takes more than 2^60 bytes of memory");
  }
  return n;
}

static void find_halos(Sched *s) {
  IR *ir = s->ir;
  for (size_t i = 0; i < s->order.n; i++) {
    Ref r = s->order.p[i];
    const Node *x = node(ir, r);
    if (!s->place[r].reads_halo) continue;
    Place *p = &s->place[pad_data(x)];
    /* no halo possible, or one with another fill: the pad gets its own copy */
    if (!p->materialized || p->state || (p->has_halo && p->fill != pad_fill(x))) {
      s->place[r].reads_halo = false;
      s->place[r].materialized = true;
      continue;
    }
    p->has_halo = true;
    p->fill = pad_fill(x);
    for (int a = 0; a < x->rank; a++) {
      if (pad_lo(x, a) > p->lo[a]) p->lo[a] = pad_lo(x, a);
      if (pad_hi(x, a) > p->hi[a]) p->hi[a] = pad_hi(x, a);
    }
  }
}

static bool is_output(Sched *s, Ref r) {
  for (size_t i = 0; i < s->g->outputs.n; i++)
    if (s->g->outputs.p[i].ref == r) return true;
  return false;
}

/* Parts of concatenations are written into the whole, unless something else determines their place. */
static void find_insides(Sched *s) {
  IR *ir = s->ir;
  for (size_t i = s->order.n; i-- > 0;) {
    Ref r = s->order.p[i];
    const Node *x = node(ir, r);
    if (x->op != OP_CAT || !s->place[r].materialized || s->place[r].select) continue;
    int64_t at = 0;
    for (int k = 0; k < x->nsrc; k++) {
      Place *p = &s->place[x->src[k]];
      if (p->materialized && !p->inside && !p->has_halo && !is_output(s, x->src[k])) {
        p->inside = r;
        p->inside_at = at;
      }
      at += node(ir, x->src[k])->dims[cat_axis(x)];
    }
  }
}

static bool is_state_window(Sched *s, size_t k) { return s->g->states.p[k].axis >= 0; }

/* A window has room to grow along its axis, behind its elements; its first elements, the input, are in place already. */
static void lay_out_window(Sched *s, size_t k) {
  const GState *st = &s->g->states.p[k];
  Ref r = s->g->outputs.p[graph_nout(s->g) + k].ref;
  const Node *x = node(s->ir, r);
  CHECK(x->op == OP_CAT && node(s->ir, cat_part(x, 0))->op == OP_PARAM);
  Place *p = &s->place[r], *past = &s->place[cat_part(x, 0)];
  p->inner = -1;
  p->hi[st->axis] = st->capacity - x->dims[st->axis];
  int64_t n = lay_out(s, r);
  p->buf = past->buf = new_buf(s->ir, BUF_STATE, (DType)x->dt, n, (int64_t)k, r);
  memcpy(past->stride, p->stride, sizeof p->stride);
  past->inner = -1;
  past->inside = r;
}

BufKind sched_output_kind(const Graph *g, size_t i, int64_t *slot) {
  size_t nout = graph_nout(g);
  *slot = (int64_t)(i < nout ? i : i - nout);
  return i < nout ? BUF_OUTPUT : i < nout + g->states.n ? BUF_NEXT : BUF_GUARD;
}

void sched_layout(Sched *s) {
  IR *ir = s->ir;
  size_t nin = graph_nin(s->g), nout = graph_nout(s->g);
  for (size_t k = 0; k < s->g->states.n; k++)
    if (is_state_window(s, k)) s->place[s->g->outputs.p[nout + k].ref].state = (int)k + 1;
  find_halos(s);
  find_insides(s);
  sched_layout_pbqp(s);

  /* states and graph inputs first, then outputs, then the arena; concatenations before their parts */
  for (size_t k = 0; k < s->g->states.n; k++)
    if (is_state_window(s, k)) lay_out_window(s, k);
  for (size_t i = 0; i < s->order.n; i++) {
    Ref r = s->order.p[i];
    const Node *x = node(ir, r);
    Place *p = &s->place[r];
    if ((x->op == OP_PARAM || x->op == OP_WEIGHT) && p->buf < 0) {
      bool state = x->op == OP_PARAM && (size_t)param_slot(x) >= nin;
      p->inner = -1;
      int64_t n = lay_out(s, r);
      p->buf = new_buf(ir, state ? BUF_STATE : x->op == OP_PARAM ? BUF_INPUT : BUF_WEIGHT, (DType)x->dt, n,
                       state ? param_slot(x) - (int64_t)nin : x->arg[0], r);
    }
  }
  for (size_t i = 0; i < s->g->outputs.n; i++) {
    Ref r = s->g->outputs.p[i].ref;
    const Node *x = node(ir, r);
    Place *p = &s->place[r];
    if (p->materialized && p->buf < 0 && !p->has_halo) {
      p->inner = -1;
      int64_t n = lay_out(s, r), slot;
      BufKind kind = sched_output_kind(s->g, i, &slot);
      p->buf = new_buf(ir, kind, (DType)x->dt, n, slot, r);
    }
  }
  for (size_t i = s->order.n; i-- > 0;) {
    Ref r = s->order.p[i];
    const Node *x = node(ir, r);
    Place *p = &s->place[r];
    if (!p->materialized || p->buf >= 0) continue;
    if (p->inside) {
      const Node *w = node(ir, p->inside);
      Place *q = &s->place[p->inside];
      p->buf = q->buf;
      p->offset = q->offset + p->inside_at * q->stride[cat_axis(w)];
      memcpy(p->stride, q->stride, sizeof p->stride);
      p->inner = q->inner;
      continue;
    }
    int64_t n = lay_out(s, r);
    if (dtype_info[x->dt].bits == 8 && dt_int((DType)x->dt)) n += DOT_OVERREAD;
    p->buf = new_buf(ir, BUF_ARENA, (DType)x->dt, n, -1, r);
  }
  sched_layouts(s);
}

void sched_layouts(Sched *s) {
  s->plan->layouts.p = ARENA_NEW(&s->ir->ctx->model, Layout, s->order.n);
  s->plan->layouts.n = 0;
  for (size_t i = 0; i < s->order.n; i++) {
    const Place *p = &s->place[s->order.p[i]];
    if (!p->materialized) continue;
    Layout *l = &s->plan->layouts.p[s->plan->layouts.n++];
    *l = (Layout){ .value = s->order.p[i], .buf = p->buf, .offset = p->offset, .part = p->inside, .halo = p->has_halo };
    memcpy(l->stride, p->stride, sizeof l->stride);
  }
}

void layout_print(const IR *ir, const Layout *l, Sb *out) {
  sb_printf(out, " buffer %d offset %lld strides [", l->buf, (long long)l->offset);
  for (int a = 0; a < node(ir, l->value)->rank; a++) sb_printf(out, "%s%lld", a ? "," : "", (long long)l->stride[a]);
  sb_printf(out, "]%s%s", l->part ? " inside a concatenation" : "", l->halo ? " with a halo" : "");
}

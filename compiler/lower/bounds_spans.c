/* SPDX-License-Identifier: MIT */
/* bounds_spans.c: intervals of integers over a box of values of the loops, and the valid indices of a buffer.
 *
 * Bounds of data come from several sources. A weight is bounded by its values. An element of an intermediate buffer is bounded by
 * the values that kernels store there, or by the graph node that the buffer holds. A variable is bounded by all that it is set
 * to. All other data are bounded by their types. */
#include "bounds.h"

/* ---- bounds of data ---- */

static Span weight_span(const Bounds *b, const Buf *buf) {
  const Tensor *t = &b->ir->tensors.p[buf->slot];
  Span s = { INT64_MAX, INT64_MIN };
  if (buf->packed) s = (Span){ 0, 0 }; /* for closed gates */
  for (int64_t i = 0; i < t->elems; i++) {
    const int64_t v = tensor_bits(t, i);
    s = span_or(s, (Span){ v, v });
    if (!t->data) break;
  }
  return buf->dt == DT_U64 && s.lo < 0 ? UNKNOWN : s;
}

static Span loaded(Bounds *b, const Node *load) {
  const size_t at = (size_t)buffer_id(node(b->ir, load_buffer(load)));
  const Buf *buf = &b->ir->bufs.p[at];
  const Span type = type_span((DType)load->dt);
  if (!dt_int(buf->dt) || at >= b->nbufs) return type;
  Span *s = &b->content[at];
  if (buf->kind == BUF_WEIGHT && s->lo > s->hi) *s = weight_span(b, buf);
  if (buf->kind == BUF_WEIGHT) return *s;
  if ((buf->kind == BUF_ARENA || buf->kind == BUF_OUTPUT) && s->lo <= s->hi && !refmap_get(&b->stored, (Ref)at + 1)) return *s;
  return type;
}

/* ---- intervals ---- */

static Span compared(Op op, Span a, Span b) {
  const Span yes = { 1, 1 }, no = { 0, 0 }, may = { 0, 1 };
  if (!known(a) || !known(b)) return may;
  switch (op) {
  case OP_CMPLT: return a.hi < b.lo ? yes : a.lo >= b.hi ? no : may;
  case OP_CMPLE: return a.hi <= b.lo ? yes : a.lo > b.hi ? no : may;
  case OP_CMPEQ: return a.lo == a.hi && b.lo == b.hi && a.lo == b.lo ? yes : a.hi < b.lo || b.hi < a.lo ? no : may;
  default: return a.hi < b.lo || b.hi < a.lo ? yes : a.lo == a.hi && b.lo == b.hi ? no : may;
  }
}

static Span divided(Op op, Span a, Span by) {
  if (!known(a) || by.lo != by.hi || by.lo <= 0) return UNKNOWN;
  const int64_t m = by.lo, lo = i64_floor_div(a.lo, m), hi = i64_floor_div(a.hi, m);
  if (op == OP_FLDIV) return (Span){ lo, hi };
  return lo == hi ? (Span){ a.lo - lo * m, a.hi - lo * m } : (Span){ 0, m - 1 };
}

static Span logical(Op op, DType d, Span a, Span b) {
  if (d != DT_BOOL) return UNKNOWN;
  if (op == OP_AND) return (Span){ a.lo & b.lo, a.hi & b.hi };
  if (op == OP_OR) return (Span){ a.lo | b.lo, a.hi | b.hi };
  return a.lo == a.hi && b.lo == b.hi ? (Span){ a.lo ^ b.lo, a.lo ^ b.lo } : (Span){ 0, 1 };
}

/* The interval of an item that is no leaf, from those of its sources. */
static Span combined(const Bounds *b, Item *it) {
  const Node *x = it->x;
  const int *from = &b->from.p[it->first];
  const Span s0 = b->item.p[from[0]].now, s1 = x->nsrc > 1 ? b->item.p[from[1]].now : UNKNOWN;
  Span r = UNKNOWN;
  switch ((Op)x->op) {
  case OP_ADD:
    if (known(s0) && known(s1) && (!i64_add(s0.lo, s1.lo, &r.lo) || !i64_add(s0.hi, s1.hi, &r.hi))) r = UNKNOWN;
    break;
  case OP_SUB:
    if (known(s0) && known(s1) &&
        (__builtin_sub_overflow(s0.lo, s1.hi, &r.lo) || __builtin_sub_overflow(s0.hi, s1.lo, &r.hi)))
      r = UNKNOWN;
    break;
  case OP_NEG: if (known(s0)) r = (Span){ -s0.hi, -s0.lo }; break;
  case OP_MUL: if (known(s0) && known(s1)) r = span_mul(s0, s1); break;
  case OP_FLDIV: case OP_FLMOD: r = divided((Op)x->op, s0, s1); break;
  case OP_MIN: r = (Span){ s0.lo < s1.lo ? s0.lo : s1.lo, s0.hi < s1.hi ? s0.hi : s1.hi }; break;
  case OP_MAX: r = (Span){ s0.lo > s1.lo ? s0.lo : s1.lo, s0.hi > s1.hi ? s0.hi : s1.hi }; break;
  case OP_CMPLT: case OP_CMPLE: case OP_CMPEQ: case OP_CMPNE: r = compared((Op)x->op, s0, s1); break;
  case OP_AND: case OP_OR: case OP_XOR: r = logical((Op)x->op, (DType)x->dt, s0, s1); break;
  case OP_NOT: if (x->dt == DT_BOOL) r = (Span){ 1 - s0.hi, 1 - s0.lo }; break;
  case OP_WHERE: {
    const Span s2 = b->item.p[from[2]].now;
    r = s0.lo ? s1 : s0.hi ? span_or(s1, s2) : s2;
    break;
  }
  case OP_CAST: case OP_BCAST: case OP_LANE: r = s0; break;
  case OP_VEC:
    r = s0;
    for (int k = 1; k < x->nsrc; k++) r = span_or(r, b->item.p[from[k]].now);
    break;
  default: BUG("no interval of %s", op_info[x->op].name);
  }
  const Span type = type_span((DType)x->dt);
  if (x->dt == DT_U64 && r.lo < 0) return UNKNOWN;
  it->wraps = r.lo < type.lo || r.hi > type.hi;
  return it->wraps ? type : r;
}

/* Integer ops that combined() knows; everything else is a leaf. */
static bool is_leaf(const IR *ir, const Node *x) {
  switch ((Op)x->op) {
  case OP_ADD: case OP_SUB: case OP_NEG: case OP_MUL: case OP_FLDIV: case OP_FLMOD: case OP_MIN: case OP_MAX: case OP_AND:
  case OP_OR: case OP_XOR: case OP_NOT: case OP_WHERE: case OP_BCAST: case OP_LANE: case OP_VEC:
    return dt_float((DType)x->dt);
  case OP_CMPLT: case OP_CMPLE: case OP_CMPEQ: case OP_CMPNE: case OP_CAST:
    return dt_float((DType)node(ir, x->src[0])->dt) || dt_float((DType)x->dt) || (x->op == OP_CAST && x->dt == DT_BOOL);
  default: return true;
  }
}

static Span leaf_span(Bounds *b, const Node *x) {
  if (x->op == OP_CONST) return (Span){ const_value(x), const_value(x) };
  if (x->op == OP_RANGE) return (Span){ 0, range_extent(x) - 1 };
  if (x->op == OP_GET && refmap_get(&b->variable, get_acc(x))) return b->values.p[refmap_get(&b->variable, get_acc(x)) - 1];
  if (x->op == OP_LOAD && !load_gate(x)) return loaded(b, x);
  if (x->op == OP_LOAD) { /* the other value counts as well, for a closed gate */
    const Node *otherwise = node(b->ir, load_else(x));
    while (otherwise->op == OP_BCAST) otherwise = node(b->ir, operand(otherwise));
    return span_or(loaded(b, x), (Span){ otherwise->vmin, otherwise->vmax });
  }
  return dt_float((DType)x->dt) ? UNKNOWN : (Span){ x->vmin, x->vmax };
}

void bounds_evaluate(Bounds *b) {
  for (size_t i = 0; i < b->item.n; i++)
    if (b->item.p[i].first >= 0) b->item.p[i].now = span_and(combined(b, &b->item.p[i]), b->item.p[i].part);
}

/* ---- items ---- */

int bounds_item(Bounds *b, Ref r) {
  VEC(Ref) stack = { 0 };
  VEC_PUSH(&stack, r);
  while (stack.n) {
    const Ref top = stack.p[stack.n - 1];
    const Node *x = node(b->ir, top);
    const bool leaf = is_leaf(b->ir, x);
    const size_t open = stack.n;
    if (refmap_get(&b->place, top)) {
      stack.n--;
      continue;
    }
    for (int k = 0; k < x->nsrc && !leaf; k++)
      if (!refmap_get(&b->place, x->src[k])) VEC_PUSH(&stack, x->src[k]);
    if (stack.n > open) continue;
    Item it = { .x = x, .r = top, .first = leaf ? -1 : (int)b->from.n, .part = UNKNOWN };
    for (int k = 0; k < x->nsrc && !leaf; k++) VEC_PUSH(&b->from, (int)refmap_get(&b->place, x->src[k]) - 1);
    if (leaf) it.now = leaf_span(b, x);
    VEC_PUSH(&b->item, it);
    refmap_set(&b->place, top, (Ref)b->item.n);
    stack.n--;
  }
  VEC_FREE(&stack);
  return (int)refmap_get(&b->place, r) - 1;
}


void bounds_clear(Bounds *b) {
  b->item.n = b->from.n = 0;
  refmap_free(&b->place);
  b->place = (RefMap){ 0 };
}

/* ---- valid indices ---- */

/* Elements by which the pointer to the buffer is moved. */
static int64_t moved_by(const Bounds *b, int64_t buf) {
  for (size_t i = 0; b->moved && i < b->moved->bufs.n; i++)
    if (b->moved->bufs.p[i] == buf) return b->shift[i];
  return 0;
}

int64_t reach_in_runs(const Plan *p, const Buf *buf) {
  const bool moves = buf->kind == BUF_STATE && p->g;
  return buf_reach(buf) - (moves ? window_travel(p->g, (size_t)buf->slot) : 0);
}

void bounds_reach(Bounds *b, const Node *x) {
  if (x->op == OP_PART) {
    b->begin = b->first = 0;
    b->end = node(b->ir, part_tile(x))->lanes;
    b->last = x->lanes - 1;
    return;
  }
  const int64_t at = buffer_id(node(b->ir, access_buffer(x)));
  const Buf *buf = &b->ir->bufs.p[at];
  const int lanes = x->op == OP_STORE ? node(b->ir, store_value(x))->lanes : x->lanes;
  b->begin = -moved_by(b, at);
  b->end = b->begin + reach_in_runs(b->p, buf);
  b->first = 0;
  b->last = node(b->ir, access_index(x))->lanes > 1 ? 0 : lanes - 1;
  if (x->op != OP_TILE) return;
  const int64_t last_row = (tile_rows(x) - 1) * tile_stride(x), width = lanes / tile_rows(x);
  b->first = last_row < 0 ? last_row : 0;
  b->last = (last_row > 0 ? last_row : 0) + width - 1;
}

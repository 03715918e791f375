/* SPDX-License-Identifier: MIT */
/* bounds.c: proves that every load and store of a program is inside its buffer, and every part of a tile inside the tile.
 *
 * An access reaches the elements [index + first, index + last] of its buffer while its gate is open. The proof turns index and
 * gate into a list of nodes, and evaluates intervals over a box. A box has a range of values for each loop. There are three
 * methods, the cheapest first:
 *   1. The bounds that the algebra keeps in every node prove it (Node.vmin and .vmax).
 *   2. Intervals over all values of the loops prove it. Each conjunct of the gate is a linear inequality L <= 0, so
 *      index <= index - q * L for q >= 0. Terms that occur in both cancel.
 *   3. The box is halved until, in each part, the gate is closed or the index inside. It is halved along a loop that the gate, a
 *      quotient, a remainder or a selection depends on. At single points this runs the program's index expression. A value that
 *      depends on data and has few possible values, such as a clamped index, is halved like a loop.
 * Bounds of data come from several sources. A weight is bounded by its values. An element of an intermediate buffer is bounded by
 * the values that kernels store there, or by the graph node that the buffer holds. A variable is bounded by all that it is set
 * to. All other data are bounded by their types.
 * A condition on data may be true.
 *
 * An access that is not proved within the budget is clamped, lane by lane. For a lane outside, a load takes the nearest element
 * of the buffer, and a store omits the lane. Lanes inside keep their elements, so the clamp never moves one. A PREFETCH touches no
 * memory, so it is no access.
 *
 * needs: programs in the order of their execution
 * gives: Kernel.bounds    keeps: the value of every element, if no access was outside
 * breaks: nothing */
#include "../ir/span.h"
#include "listing.h"
#include "lower.h"
#include <stdlib.h>

enum {
  MAX_LINEAR = 24, /* most terms of an index or conjunct that can cancel */
  MAX_CONJUNCTS = 24
};

typedef struct Item {        /* a node below an index or a gate */
  const Node *x;
  Ref r;
  int first;                 /* index of its first source in Bounds.from; -1: a leaf */
  bool hard;                 /* to be halved: a range, or a value that depends on data */
  bool wraps;                /* its result may wrap in its type over the box, so it is no sum of its sources */
  Span now;                  /* its values over the box */
  Span part;                 /* the part of its values that the box includes */
} Item;

typedef struct Linear {      /* sum of k * item, plus c */
  int n;
  int64_t c;
  struct { int item; int64_t k; } t[MAX_LINEAR];
} Linear;

struct Bounds {
  const Plan *p;
  IR *ir;
  Span *content;             /* by buffer: the integers that its elements may be; empty: nothing is stored yet */
  size_t nbufs;
  RefMap stored;             /* buffers + 1 that the kernel stores to */
  RefMap variable;           /* ACC of the kernel to its values in values + 1 */
  VEC(Span) values;
  RefMap place;              /* node to its item + 1 */
  VEC(Item) item;            /* nodes of the current access, sources first */
  VEC(int) from;             /* items of sources */
  int64_t boxes, all_boxes;
  int gate, index;           /* evaluated boxes of the current access, and of all */
  Ref around;                /* conjunction of the gates of loops around the access; 0: none */
  VEC(Ref) outer;            /* its value outside of each open loop */
  int64_t first, last;       /* offsets from the index to the first and the last touched element */
  int64_t begin, end;        /* valid indices of the buffer; begin is 0 unless its pointer is moved */
  const Kernel *moved;       /* the kernel whose pointers are moved by `shift`; NULL: none */
  const int64_t *shift;
  bool linear;               /* `sum` is the index */
  Linear sum, conjunct[MAX_CONJUNCTS]; /* each <= 0 where the gate is open */
  int conjuncts;
};

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

static void evaluate(Bounds *b) {
  for (size_t i = 0; i < b->item.n; i++)
    if (b->item.p[i].first >= 0) b->item.p[i].now = span_and(combined(b, &b->item.p[i]), b->item.p[i].part);
}

/* ---- an access taken apart ---- */

/* The item of r; sources come first. Leaves end the expression: a load is one. */
static int item_of(Bounds *b, Ref r) {
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

static bool add_term(Linear *s, int item, int64_t k) {
  int i = 0;
  while (i < s->n && s->t[i].item != item) i++;
  if (i == MAX_LINEAR) return false;
  if (i == s->n) {
    s->t[s->n].item = item;
    s->t[s->n++].k = 0;
  }
  if (!i64_add(s->t[i].k, k, &s->t[i].k)) return false;
  if (!s->t[i].k) s->t[i] = s->t[--s->n];
  return true;
}

/* s += k * item; false: it is not linear, or a part of it may wrap. */
static bool add_linear(const Bounds *b, Linear *s, int item, int64_t k) {
  const Item *it = &b->item.p[item];
  const int *from = it->first >= 0 ? &b->from.p[it->first] : NULL;
  int64_t by;
  if (!known(it->now)) return false;
  if (it->now.lo == it->now.hi) return i64_mul(k, it->now.lo, &by) && i64_add(s->c, by, &s->c);
  const bool exact = it->x->dt == DT_I64 || (it->x->dt == DT_I32 && !it->wraps);
  if (!exact || it->x->lanes > 1 || !from) return add_term(s, item, k);
  switch ((Op)it->x->op) {
  case OP_ADD: return add_linear(b, s, from[0], k) && add_linear(b, s, from[1], k);
  case OP_SUB: return i64_mul(k, -1, &by) && add_linear(b, s, from[0], k) && add_linear(b, s, from[1], by);
  case OP_NEG: return i64_mul(k, -1, &by) && add_linear(b, s, from[0], by);
  case OP_MUL:
    for (int side = 0; side < 2; side++) {
      const Span c = b->item.p[from[side]].now;
      if (c.lo == c.hi && known(c)) return i64_mul(k, c.lo, &by) && add_linear(b, s, from[1 - side], by);
    }
    return add_term(s, item, k);
  case OP_CAST: { /* an index is converted between 32 and 64 bits */
    const DType of = (DType)b->item.p[from[0]].x->dt;
    const bool same = !it->wraps && (of == DT_I32 || of == DT_I64);
    return same ? add_linear(b, s, from[0], k) : add_term(s, item, k);
  }
  default: return add_term(s, item, k);
  }
}

/* Adds the conjunct a - c + plus <= 0. */
static void add_conjunct(Bounds *b, int a, int c, int64_t plus) {
  Linear l = { .c = plus };
  if (b->conjuncts < MAX_CONJUNCTS && add_linear(b, &l, a, 1) && add_linear(b, &l, c, -1) && l.n)
    b->conjunct[b->conjuncts++] = l;
}

static void add_conjuncts(Bounds *b, int gate, bool holds) {
  const Item *it = &b->item.p[gate];
  const int *from = it->first >= 0 ? &b->from.p[it->first] : NULL;
  if (!from) return;
  switch ((Op)it->x->op) {
  case OP_AND: case OP_OR:
    if (it->x->dt != DT_BOOL || holds != (it->x->op == OP_AND)) return;
    add_conjuncts(b, from[0], holds);
    add_conjuncts(b, from[1], holds);
    return;
  case OP_NOT: if (it->x->dt == DT_BOOL) add_conjuncts(b, from[0], !holds); return;
  case OP_BCAST: add_conjuncts(b, from[0], holds); return;
  case OP_CMPLT: add_conjunct(b, from[!holds], from[holds], holds); return;  /* a < c: a - c + 1 <= 0 */
  case OP_CMPLE: add_conjunct(b, from[!holds], from[holds], !holds); return; /* not a <= c: c - a + 1 <= 0 */
  case OP_CMPEQ: case OP_CMPNE:
    if (holds != (it->x->op == OP_CMPEQ)) return;
    add_conjunct(b, from[0], from[1], 0);
    add_conjunct(b, from[1], from[0], 0);
    return;
  default: return;
  }
}

/* Whether an item is a scalar with so few possible values that each can be tried. */
static bool is_narrow(const Bounds *b, const Item *it) {
  return it->x->lanes == 1 && known(it->now) && it->now.lo <= it->now.hi &&
         it->now.hi - it->now.lo < tunable(b->ir->ctx, bounds_boxes);
}

/* The first narrow item above data: halving its sources would add no information. */
static bool is_cut(const Bounds *b, const bool *data, size_t i) {
  const Item *it = &b->item.p[i];
  bool cut = data[i] && is_narrow(b, it);
  for (int k = 0; k < it->x->nsrc && it->first >= 0 && cut; k++) {
    const int from = b->from.p[it->first + k];
    cut = !data[from] || !is_narrow(b, &b->item.p[from]);
  }
  return cut;
}

/* Marks items that the gate or a non-linear op of the index depends on. Users come after their sources. */
static void mark_hard(Bounds *b) {
  const size_t n = b->item.n;
  bool *below = xcalloc(2 * n + 1, sizeof *below), *data = below + n;
  for (size_t i = 0; i < n; i++) {
    const Item *it = &b->item.p[i];
    data[i] = it->first < 0 && it->x->op != OP_RANGE && it->x->op != OP_CONST;
    for (int k = 0; k < it->x->nsrc && it->first >= 0; k++) data[i] |= data[b->from.p[it->first + k]];
  }
  for (size_t i = n; i-- > 0;) {
    Item *it = &b->item.p[i];
    const Op op = (Op)it->x->op;
    const bool plain = op == OP_ADD || op == OP_SUB || op == OP_NEG || op == OP_MUL || op == OP_BCAST || op == OP_VEC;
    const bool marks = below[i] || !plain || (int)i == b->gate;
    it->hard = below[i] && (op == OP_RANGE || is_cut(b, data, i));
    for (int k = 0; k < it->x->nsrc && it->first >= 0 && marks; k++) below[b->from.p[it->first + k]] = true;
  }
  free(below);
}

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

/* Sets the valid indices of the buffer, or of the tile, and the elements that the access touches around its index. */
static void find_reach(Bounds *b, const Node *x) {
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

/* ---- the proof ---- */

static Span linear_span(const Bounds *b, const Linear *s) {
  Span r = { s->c, s->c };
  for (int i = 0; i < s->n; i++) {
    const Span part = span_mul(b->item.p[s->t[i].item].now, (Span){ s->t[i].k, s->t[i].k });
    if (!known(part) || !i64_add(r.lo, part.lo, &r.lo) || !i64_add(r.hi, part.hi, &r.hi)) return UNKNOWN;
  }
  return r;
}

/* s -= q * l */
static bool linear_less(Linear *s, const Linear *l, int64_t q) {
  int64_t by;
  for (int i = 0; i < l->n; i++)
    if (!i64_mul(l->t[i].k, -q, &by) || !add_term(s, l->t[i].item, by)) return false;
  return i64_mul(l->c, -q, &by) && i64_add(s->c, by, &s->c);
}

/* Upper bound of sign * index while the gate is open. Conjuncts are subtracted as long as that lowers it. */
static int64_t greatest(const Bounds *b, int64_t sign) {
  Linear s = { 0 };
  if (!linear_less(&s, &b->sum, -sign)) return INT64_MAX;
  int64_t most = linear_span(b, &s).hi;
  for (bool better = true; better;) {
    better = false;
    for (int i = 0; i < b->conjuncts; i++) {
      const Linear *l = &b->conjunct[i];
      for (int j = 0; j < s.n * l->n; j++) {
        const int64_t k = s.t[j / l->n].k, by = l->t[j % l->n].k;
        Linear less = s;
        if (s.t[j / l->n].item != l->t[j % l->n].item || k % by || k / by < 0 || !linear_less(&less, l, k / by)) continue;
        const int64_t now = linear_span(b, &less).hi;
        if (now >= most) continue;
        most = now;
        s = less;
        better = true;
        break;
      }
    }
  }
  return most;
}

static bool is_inside(const Bounds *b) {
  const Span s = b->item.p[b->index].now;
  if (b->gate >= 0 && b->item.p[b->gate].now.hi == 0) return true;
  if (!known(s)) return false;
  const Span fits = { b->begin - b->first, b->end - 1 - b->last };
  if (s.lo >= fits.lo && s.hi <= fits.hi) return true;
  if (!b->linear) return false;
  const int64_t hi = s.hi <= fits.hi ? s.hi : greatest(b, 1);
  if (hi > fits.hi) return false;
  const int64_t least = s.lo >= fits.lo ? -s.lo : greatest(b, -1);
  return least <= -fits.lo;
}

/* Recurses once for each halving, so no deeper than the sum of the logarithms of all extents. */
static bool prove_box(Bounds *b) {
  b->boxes++;
  evaluate(b);
  if (is_inside(b)) return true;
  Item *widest = NULL;
  for (size_t i = 0; i < b->item.n; i++) {
    Item *it = &b->item.p[i];
    const bool wider = !widest || it->now.hi - it->now.lo > widest->now.hi - widest->now.lo;
    if (it->hard && it->now.lo < it->now.hi && wider) widest = it;
  }
  if (!widest || b->boxes >= tunable(b->ir->ctx, bounds_boxes)) return false;
  const Span all = widest->now, part = widest->part;
  const int64_t middle = all.lo + (all.hi - all.lo) / 2;
  widest->now = widest->part = (Span){ all.lo, middle };
  bool ok = prove_box(b);
  widest->now = widest->part = (Span){ middle + 1, all.hi };
  ok = ok && prove_box(b);
  widest->now = all;
  widest->part = part;
  return ok;
}

static bool empty_range(const Bounds *b) {
  bool empty = false;
  for (size_t i = 0; i < b->item.n; i++) empty |= b->item.p[i].x->op == OP_RANGE && range_extent(b->item.p[i].x) <= 0;
  return empty;
}

Proof bounds_of(Bounds *b, Ref access) {
  const Node *x = node(b->ir, access);
  const Ref own = x->op == OP_STORE || x->op == OP_LOAD ? access_gate(x) : 0;
  const Ref gate = b->around ? ix_and(b->ir, own, b->around) : own;
  const Node *index = node(b->ir, access_index(x));
  find_reach(b, x);
  if (index->lanes == 1 && index->vmin >= b->begin - b->first && index->vmax < b->end - b->last) return PROOF_ALGEBRA;
  b->item.n = b->from.n = 0;
  refmap_free(&b->place);
  b->place = (RefMap){ 0 };
  b->index = item_of(b, access_index(x));
  b->gate = gate ? item_of(b, gate) : -1;
  if (empty_range(b)) return PROOF_ALGEBRA;
  evaluate(b);
  b->conjuncts = 0;
  b->sum = (Linear){ 0 };
  b->linear = add_linear(b, &b->sum, b->index, 1);
  if (gate) add_conjuncts(b, b->gate, true);
  if (is_inside(b)) return PROOF_ALGEBRA;
  mark_hard(b);
  b->boxes = 0;
  const bool ok = b->all_boxes < tunable(b->ir->ctx, bounds_plan_boxes) && prove_box(b);
  b->all_boxes += b->boxes;
  return ok ? PROOF_RANGES : PROOF_NONE;
}

Bounds *bounds_open(const Plan *p) {
  Bounds *b = xcalloc(1, sizeof *b);
  b->p = p;
  b->ir = p->ir;
  b->nbufs = p->ir->bufs.n;
  b->content = xmalloc((b->nbufs + 1) * sizeof *b->content);
  for (size_t i = 0; i < b->nbufs; i++) b->content[i] = (Span){ INT64_MAX, INT64_MIN };
  return b;
}

/* Follows the lines of a program: gates of loops are conditions of the accesses inside of them */
static void note_loop(Bounds *b, const Node *x) {
  if (x->op == OP_LOOP) {
    VEC_PUSH(&b->outer, b->around);
    if (loop_gate(x)) b->around = ix_and(b->ir, b->around, loop_gate(x));
  } else if (x->op == OP_END) {
    b->around = b->outer.p[--b->outer.n];
  }
}

void bounds_close(Bounds *b) {
  refmap_free(&b->stored);
  refmap_free(&b->place);
  refmap_free(&b->variable);
  VEC_FREE(&b->values);
  VEC_FREE(&b->item);
  VEC_FREE(&b->from);
  VEC_FREE(&b->outer);
  free(b->content);
  free(b);
}

/* ---- a kernel ---- */

static Span span_of(Bounds *b, Ref r) { /* over all values of the loops */
  b->item.n = b->from.n = 0;
  refmap_free(&b->place);
  b->place = (RefMap){ 0 };
  const int value = item_of(b, r);
  evaluate(b);
  return b->item.p[value].now;
}

/* A variable holds its first value, or one that it was set to. These are bounded without knowing the variable. */
static void bound_variables(Bounds *b, const Refs *prog) {
  RefMap at = { 0 };
  refmap_free(&b->variable);
  b->variable = (RefMap){ 0 };
  b->values.n = 0;
  for (size_t i = 0; i < prog->n; i++) {
    const Node *x = node(b->ir, prog->p[i]);
    if ((x->op != OP_ACC && x->op != OP_SET) || !dt_int((DType)x->dt) || x->lanes > 1) continue;
    const Ref acc = x->op == OP_ACC ? prog->p[i] : set_acc(x);
    const Span s = span_of(b, x->op == OP_ACC ? acc_init(x) : set_value(x));
    const uint32_t known_at = refmap_get(&at, acc);
    if (known_at) b->values.p[known_at - 1] = span_or(b->values.p[known_at - 1], s);
    else {
      VEC_PUSH(&b->values, s);
      refmap_set(&at, acc, (uint32_t)b->values.n);
    }
  }
  b->variable = at;
}

static bool is_proved(const Node *x) { return is_access(x) || x->op == OP_PART; }

void bounds_note(Bounds *b, const Kernel *k) {
  const Refs *prog = &k->prog;
  b->moved = k->shift ? k : NULL;
  b->shift = k->shift;
  refmap_free(&b->stored);
  b->stored = (RefMap){ 0 };
  bound_variables(b, prog);
  for (int pass = 0; pass < 2; pass++)
    for (size_t i = 0; i < prog->n; i++) {
      const Node *x = node(b->ir, prog->p[i]);
      const size_t at = x->op == OP_STORE ? (size_t)buffer_id(node(b->ir, store_buffer(x))) : b->nbufs;
      if (at >= b->nbufs || !dt_int(b->ir->bufs.p[at].dt)) continue;
      if (!pass) { /* loads from a buffer of this kernel may see the value before or after the store */
        refmap_set(&b->stored, (Ref)at + 1, 1);
        continue;
      }
      const Span stored = span_of(b, store_value(x));
      Span s = stored;
      const Ref held = b->ir->bufs.p[at].value;
      if (held) s = span_and(s, (Span){ node(b->ir, held)->vmin, node(b->ir, held)->vmax });
      if (s.lo > s.hi) s = stored; /* padding, which the node's bounds do not include */
      b->content[at] = span_or(b->content[at], s);
    }
}

/* ---- accesses that are not proved ---- */

static Ref listed(IR *ir, Listing *l, Op op, DType d, Ref x, Ref y) {
  const Ref r = node_make(ir, op, d, 1, 2, (Ref[]){ x, y }, 0, NULL, 0, NULL);
  listing_once(l, r);
  return r;
}

static Ref listed_const(IR *ir, Listing *l, Ref index, int64_t c) {
  const Ref r = c_int(ir, (DType)node(ir, index)->dt, c);
  listing_once(l, r);
  return r;
}

/* The index, or the nearest one in low .. high. An index of 32 bits is below INT32_MAX anyway. */
static Ref listed_clamp(IR *ir, Listing *l, Ref index, int64_t low, int64_t high) {
  const DType d = (DType)node(ir, index)->dt;
  const Ref r = listed(ir, l, OP_MAX, d, index, listed_const(ir, l, index, low));
  return d == DT_I64 || high < INT32_MAX ? listed(ir, l, OP_MIN, d, r, listed_const(ir, l, index, high)) : r;
}

/* The indices of an access are `first` + lane, where `first` is too far out at most by the number of lanes. */
static Ref listed_first(const Bounds *b, Listing *l, Ref index, int lanes) {
  return lanes > 1 ? listed_clamp(b->ir, l, index, b->begin - lanes, b->end) : index;
}

static Ref listed_index(IR *ir, Listing *l, Ref first, int lane) {
  return lane ? listed(ir, l, OP_ADD, (DType)node(ir, first)->dt, first, listed_const(ir, l, first, lane)) : first;
}

static Ref listed_lane(IR *ir, Listing *l, Ref v, int lane) {
  const int64_t arg = lane;
  if (node(ir, v)->lanes == 1) return v;
  const Ref r = node_make(ir, OP_LANE, (DType)node(ir, v)->dt, 1, 1, &v, 1, &arg, 0, NULL);
  listing_once(l, r);
  return r;
}

/* Loads each lane by itself, from the nearest element of the buffer: a lane outside moves no other lane. */
static Ref clamped_load(const Bounds *b, Listing *l, const Node *x, const Ref *src) {
  IR *ir = b->ir;
  const int lanes = x->lanes, n = x->nsrc;
  const DType d = (DType)x->dt;
  const Ref first = listed_first(b, l, src[1], lanes);
  Ref *lane = xcalloc((size_t)lanes, sizeof *lane);
  for (int k = 0; k < lanes; k++) {
    Ref own[4] = { src[0], listed_clamp(ir, l, listed_index(ir, l, first, k), b->begin, b->end - 1) };
    for (int i = 2; i < n; i++) own[i] = listed_lane(ir, l, src[i], k);
    lane[k] = node_make(ir, OP_LOAD, d, 1, n, own, 0, NULL, 0, NULL);
    listing_put(l, lane[k]);
  }
  const Ref all = lanes > 1 ? node_make(ir, OP_VEC, d, lanes, lanes, lane, 0, NULL, 0, NULL) : lane[0];
  if (lanes > 1) listing_put(l, all);
  free(lane);
  return all;
}

/* Stores each lane by itself, if it lies inside. */
static void gated_store(const Bounds *b, Listing *l, const Node *x, const Ref *src) {
  IR *ir = b->ir;
  const int lanes = node(ir, src[2])->lanes, n = x->nsrc;
  const DType d = (DType)x->dt;
  const Ref first = listed_first(b, l, src[1], lanes);
  for (int k = 0; k < lanes; k++) {
    const Ref at = listed_index(ir, l, first, k);
    const Ref above = listed(ir, l, OP_CMPLT, DT_BOOL, listed_const(ir, l, at, b->begin - 1), at);
    const Ref below = listed(ir, l, OP_CMPLT, DT_BOOL, at, listed_const(ir, l, at, b->end));
    Ref gate = listed(ir, l, OP_AND, DT_BOOL, above, below);
    if (n > 3) gate = listed(ir, l, OP_AND, DT_BOOL, listed_lane(ir, l, src[3], k), gate);
    const Ref own[4] = { src[0], listed_clamp(ir, l, at, b->begin, b->end - 1), listed_lane(ir, l, src[2], k), gate };
    listing_put(l, node_make(ir, OP_STORE, d, 1, 4, own, 0, NULL, 0, NULL));
  }
}

/* Ops that the functions above list, too: a program may hold the same node */
static bool listed_here(const Node *x) {
  switch ((Op)x->op) {
  case OP_CONST: case OP_MAX: case OP_MIN: case OP_AND: case OP_CMPLT: case OP_LANE: return true;
  case OP_ADD: return dt_int((DType)x->dt) && x->lanes == 1;
  default: return false;
  }
}

/* Clamps the accesses that are not proved. */
static void clamp_accesses(Bounds *b, const RefMap *bad, Refs *prog) {
  Refs out = { 0 }, src = { 0 };
  RefMap now = { 0 };      /* changed nodes: accesses and their users */
  Listing l = { .ir = b->ir, .out = &out };
  for (size_t i = 0; i < prog->n; i++) {
    const Ref r = prog->p[i];
    const Node x = *node(b->ir, r);
    src.n = 0;
    for (int k = 0; k < x.nsrc; k++) VEC_PUSH(&src, refmap_get(&now, x.src[k]) ? refmap_get(&now, x.src[k]) : x.src[k]);
    if (refmap_get(bad, r)) {
      find_reach(b, &x);
      const bool whole = x.op == OP_TILE || x.op == OP_PART; /* such an access has no lanes: it moves as a whole */
      if (node(b->ir, src.p[1])->lanes > 1 || b->end - b->begin <= (whole ? b->last - b->first : 0))
        ir_wrong(b->ir, "%s %u is not proved to lie inside its buffer", op_info[x.op].name, r);
      if (x.op == OP_LOAD) refmap_set(&now, r, clamped_load(b, &l, &x, src.p));
      if (x.op == OP_STORE) gated_store(b, &l, &x, src.p);
      if (!whole) continue;
      src.p[1] = listed_clamp(b->ir, &l, src.p[1], b->begin - b->first, b->end - 1 - b->last);
    }
    const Ref to = x.nsrc ? node_with_src(b->ir, r, src.p) : r;
    if (to != r) refmap_set(&now, r, to);
    if (listed_here(&x)) listing_once(&l, to);
    else listing_put(&l, to);
  }
  VEC_FREE(prog);
  *prog = out;
  VEC_FREE(&src);
  listing_free(&l);
  refmap_free(&now);
}

void kernel_bounds(Bounds *b, Kernel *k) {
  RefMap bad = { 0 };
  k->bounds = (KernelBounds){ 0 };
  bounds_note(b, k);
  for (size_t i = 0; i < k->prog.n; i++) {
    const Ref r = k->prog.p[i];
    note_loop(b, node(b->ir, r));
    if (!is_proved(node(b->ir, r))) continue;
    const Proof how = bounds_of(b, r);
    k->bounds.accesses++;
    k->bounds.by_ranges += how == PROOF_RANGES;
    k->bounds.clamped += how == PROOF_NONE;
    if (how == PROOF_NONE) refmap_set(&bad, r, 1);
  }
  if (k->bounds.clamped) clamp_accesses(b, &bad, &k->prog);
  refmap_free(&bad);
}

void plan_bounds(Plan *p) {
  Bounds *b = bounds_open(p);
  for (size_t k = 0; k < p->kernels.n; k++) kernel_bounds(b, &p->kernels.p[k]);
  bounds_close(b);
}

/* The first access of a program that is not proved; 0: none. */
static Ref first_unproved(Bounds *b, const Refs *prog) {
  Ref bad = 0;
  for (size_t i = 0; i < prog->n; i++) {
    note_loop(b, node(b->ir, prog->p[i]));
    if (!bad && is_proved(node(b->ir, prog->p[i])) && bounds_of(b, prog->p[i]) == PROOF_NONE) bad = prog->p[i];
  }
  return bad;
}

bool bounds_moved(Bounds *b, const Kernel *k, const Refs *prog, const int64_t *shift) {
  b->moved = k;
  b->shift = shift;
  const bool ok = !first_unproved(b, prog);
  b->moved = NULL;
  return ok;
}

bool plan_in_bounds(const Plan *p, Sb *why) {
  Bounds *b = bounds_open(p);
  Ref bad = 0;
  for (size_t k = 0; k < p->kernels.n && !bad; k++) {
    bounds_note(b, &p->kernels.p[k]);
    if (!(bad = first_unproved(b, &p->kernels.p[k].prog))) continue;
    sb_printf(why, "kernel %zu: %s %%%u is not proved to lie inside %s %%%u", k, op_info[node(p->ir, bad)->op].name, bad,
              node(p->ir, bad)->op == OP_PART ? "tile" : "buffer", node(p->ir, bad)->src[0]);
  }
  bounds_close(b);
  return !bad;
}

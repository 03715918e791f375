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
 * bounds_spans.c says what is known of data. A condition on data may be true.
 *
 * An access that is not proved within the budget is clamped (clamp.c). A PREFETCH touches no memory, so it is no access.
 *
 * needs: programs in the order of their execution
 * gives: Kernel.bounds    keeps: the value of every element, if no access was outside
 * breaks: nothing */
#include "bounds.h"
#include <stdlib.h>

/* ---- an access taken apart ---- */

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
  bounds_evaluate(b);
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
  bounds_reach(b, x);
  if (index->lanes == 1 && index->vmin >= b->begin - b->first && index->vmax < b->end - b->last) return PROOF_ALGEBRA;
  bounds_clear(b);
  b->index = bounds_item(b, access_index(x));
  b->gate = gate ? bounds_item(b, gate) : -1;
  if (empty_range(b)) return PROOF_ALGEBRA;
  bounds_evaluate(b);
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
  bounds_clear(b);
  const int value = bounds_item(b, r);
  bounds_evaluate(b);
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

/* SPDX-License-Identifier: MIT */
/* pack.c: packs constants in the order in which a kernel reads them.
 *
 * After a nest's ranges are split, the index of a weight is affine in some of them, or in quotients of them. The packed copy
 * has the weight's values with the loops outermost and the lanes innermost, so the kernel reads it as one stream of vectors. A
 * gate on those ranges is resolved here: the copy has 0 where it is closed. This file records how to make the copy. The blob of
 * weights makes it, at its final place.
 *
 * needs: split ranges (opts.c)   gives: rows of WeightPlan.packed, their buffers in the nest   keeps: the value of every
 * element */
#include "lower.h"
#include "../ir/refmap.h"
#include <string.h>

/* gate: how much each value adds to the gate's sum */
typedef struct Dim { Ref range; int64_t extent, coef, gate; int order; } Dim;

void packed_gather(const IR *ir, const Packed *k, void *out) {
  const Tensor *t = &ir->tensors.p[k->tensor];
  const char *from = t->data;
  char *to = out;
  int bytes = dt_bytes(t->dt), n = k->n;
  int64_t i[MAX_RANGES] = { 0 }, at = k->base, inner = n ? k->extent[n - 1] : 1, step = n ? k->coef[n - 1] : 0;
  int64_t closed = k->closed, gate = n ? k->gate[n - 1] : 0;
  for (;;) {
    const char *p = from + at * bytes;
    if (closed >= 0 || closed + gate * (inner - 1) >= 0)
      for (int64_t x = 0; x < inner; x++) {
        if (closed + x * gate >= 0) memset(to + bytes * x, 0, (size_t)bytes);
        else memcpy(to + bytes * x, p + bytes * x * step, (size_t)bytes);
      }
    else if (step == 1) memcpy(to, p, (size_t)(inner * bytes));
    else if (bytes == 4)
      for (int64_t x = 0; x < inner; x++) memcpy(to + 4 * x, p + 4 * x * step, 4);
    else
      for (int64_t x = 0; x < inner; x++) memcpy(to + bytes * x, p + bytes * x * step, (size_t)bytes);
    to += inner * bytes;
    int a = n - 2;
    for (; a >= 0; a--) {
      at += k->coef[a];
      closed += k->gate[a];
      if (++i[a] < k->extent[a]) break;
      at -= k->coef[a] * k->extent[a];
      closed -= k->gate[a] * k->extent[a];
      i[a] = 0;
    }
    if (a < 0) return;
  }
}

bool packed_fits(const IR *ir, const Packed *k) {
  enum { REPEATS = 64, ALWAYS = 1 << 24 }; /* limits of a copy: REPEATS times the elements of its tensor, or ALWAYS elements */
  const int64_t elems = ir->tensors.p[k->tensor].elems, most = elems < INT64_MAX / REPEATS ? elems * REPEATS : INT64_MAX;
  const int64_t total = dims_elems(k->extent, k->n);
  int64_t i[MAX_RANGES] = { 0 }, at = k->base, closed = k->closed, far;
  if (total > most && total > ALWAYS) return false;
  for (int a = 0; a < k->n; a++)
    if (!i64_mul(k->coef[a], k->extent[a] * 2, &far) || !i64_mul(k->gate[a], k->extent[a] * 2, &far)) return false;
  for (int64_t n = 0; n < total; n++) {
    if (closed < 0 && (at < 0 || at >= elems)) return false;
    for (int a = k->n - 1; a >= 0; a--) {
      if (!i64_add(at, k->coef[a], &at) || !i64_add(closed, k->gate[a], &closed)) return false;
      if (++i[a] < k->extent[a]) break;
      at -= k->coef[a] * k->extent[a];
      closed -= k->gate[a] * k->extent[a];
      i[a] = 0;
    }
  }
  return true;
}

/* The buffer of a record; a variant adds its records to the list of its base. */
static int buffer_of_record(Plan *p, const Buf *b, Packed k, int64_t total) {
  IR *ir = p->ir;
  if (p->base) p = p->base;
  for (size_t i = 0; i < p->weights.packed.n; i++)
    if (!memcmp(&p->weights.packed.p[i], &k, offsetof(Packed, buf))) return p->weights.packed.p[i].buf;
  k.buf = (int)ir->bufs.n;
  VEC_PUSH(&ir->bufs, ((Buf){ .kind = BUF_WEIGHT,
                              .dt = b->dt,
                              .elems = total,
                              .slot = b->slot,
                              .offset = -1,
                              .value = b->value,
                              .packed = (int)p->weights.packed.n + 1 }));
  VEC_PUSH(&p->weights.packed, k);
  return k.buf;
}

/* Equal orders are equal records, however loops, copies and lanes split the walk. */
static int packed_buffer(Plan *p, const Buf *b, int64_t base, int64_t closed, const Dim *d, int n, int64_t total) {
  IR *ir = p->ir;
  Packed k;
  memset(&k, 0, sizeof k); /* records are compared as bytes */
  k.tensor = b->slot;
  k.base = base;
  k.closed = closed;
  for (int i = 0; i < n; i++) {
    bool goes_on = k.n && k.coef[k.n - 1] == d[i].coef * d[i].extent && k.gate[k.n - 1] == d[i].gate * d[i].extent;
    if (!goes_on) k.extent[k.n++] = 1;
    k.extent[k.n - 1] *= d[i].extent;
    k.coef[k.n - 1] = d[i].coef;
    k.gate[k.n - 1] = d[i].gate;
  }
  if (ir->dump && !packed_fits(ir, &k)) ir_wrong(ir, "a nest reads elements that its weight does not have");
  return buffer_of_record(p, b, k, total);
}

/* The gate of a load as a sum over the ranges of its index, which is negative where the gate is open; *rest: the constant */
static bool gate_sum(IR *ir, const Node *x, Dim *d, int n, int64_t *rest) {
  const Node *g = node(ir, load_gate(x)), *other = node(ir, load_else(x));
  if (g->op != OP_CMPLT || other->op != OP_CONST || const_value(other)) return false;
  Ref sum = ix_sub(ir, lhs(g), rhs(g));
  bool ok = true;
  for (int i = 0; i < n && ok; i++) ok = ix_split(ir, sum, d[i].range, &d[i].gate, &sum);
  return ok && node_is_const(ir, sum, rest);
}

/* Whether neighbouring threads of a device load neighbours when they copy a panel: along a range of the tile, or along terms */
static bool side_by_side(const IR *ir, const Dim *d, int n) {
  int last = -1;
  for (int i = 0; i < n; i++) {
    const RangeKind kind = range_kind(node(ir, d[i].range));
    if (kind == RK_REDUCE) last = i;
    else if (kind != RK_GRID && d[i].coef == 1) return true;
  }
  return last >= 0 && d[last].coef == 1;
}

/* A remainder in an index: `sum` modulo `columns`. join_rows.c makes it of the columns of two rows. `walk`, a range of as many
 * values as the sum takes, stands for the remainder while the order is found. */
typedef struct Remainder { Ref term, sum, walk; int64_t columns, rows; } Remainder;

static Remainder remainder_of(IR *ir, Ref index) {
  Refs all = { 0 }, below = { 0 };
  Remainder m = { 0 };
  ir_toposort(ir, &index, 1, &all);
  for (size_t i = 0; i < all.n && !m.term; i++) {
    const Node *x = node(ir, all.p[i]);
    int64_t columns;
    if (x->op != OP_FLMOD || !node_is_const(ir, rhs(x), &columns)) continue;
    const Node *sum = node(ir, lhs(x));
    if (sum->vmin || columns < 2 || sum->vmax == INT64_MAX || (sum->vmax + 1) % columns) continue;
    m = (Remainder){ .term = all.p[i], .sum = lhs(x), .columns = columns, .rows = (sum->vmax + 1) / columns };
  }
  if (m.term) collect_ranges(ir, m.sum, &below);
  if (!below.n) m.term = 0;
  if (m.term) {
    Ref left = m.sum;
    int64_t coef;
    bool apart = true;
    m.walk = range_make(ir, m.rows * m.columns, range_kind(node(ir, below.p[0])));
    const Ref others = ix_subst(ir, index, 1, &m.term, &m.walk);
    for (size_t i = 0; i < below.n && apart; i++)
      apart = !ix_uses(ir, others, below.p[i]) && ix_split(ir, left, below.p[i], &coef, &left);
    if (!apart || !node_is_const(ir, left, NULL)) m.term = 0;
  }
  VEC_FREE(&all);
  VEC_FREE(&below);
  return m;
}

/* The place in the walk over a nest of the innermost range below r */
static int innermost_order(IR *ir, const Refs *all, Ref nest, Ref r) {
  Refs below = { 0 };
  int last = 0;
  collect_ranges(ir, r, &below);
  for (size_t i = 0; i < below.n; i++) {
    const int order = walk_order(ir, all, nest, below.p[i]);
    last = order > last ? order : last;
  }
  VEC_FREE(&below);
  return last;
}

/* The dimensions of a copy: that of a remainder becomes two, of which the outer one repeats the inner one. -> their number */
static int repeated(const Dim *from, int n, const Remainder *m, Dim *to) {
  int all = 0;
  for (int i = 0; i < n; i++) {
    to[all++] = from[i];
    if (!m->term || from[i].range != m->walk) continue;
    to[all - 1].extent = m->rows;
    to[all - 1].coef = 0;
    to[all++] = (Dim){ .range = from[i].range, .extent = m->columns, .coef = from[i].coef };
  }
  return all;
}

enum { TERMS = 1 << 20 }; /* greater than all places in a walk */

/* How a nest reads a weight: the ranges of the index, outermost first */
typedef struct PackWalk {
  Dim d[MAX_RANGES];
  int n;
  int64_t total, base;     /* total: elements of a copy without repetitions */
  FloorDivs divs;
  Remainder m;
} PackWalk;

/* false: a copy of the weight is not possible, or too large */
static bool walk_open(Plan *p, Ref nest, const Refs *all, const Node *load, bool panels, PackWalk *w) {
  IR *ir = p->ir;
  const Buf b = ir->bufs.p[buffer_id(node(ir, load_buffer(load)))];
  Refs ranges = { 0 };
  *w = (PackWalk){ .total = 1 };
  if (!load_gate(load)) w->m = remainder_of(ir, load_index(load));
  const Remainder *m = &w->m;
  const Ref whole = m->term ? ix_subst(ir, load_index(load), 1, &m->term, &m->walk) : load_index(load);
  Ref rest = floordivs_open(ir, whole, &w->divs);
  collect_ranges(ir, rest, &ranges);
  bool ok = ranges.n < MAX_RANGES && !b.packed && ir->tensors.p[b.slot].data != NULL;
  for (size_t i = 0; i < ranges.n && ok; i++) {
    Ref walker = ranges.p[i];
    for (int k = 0; k < w->divs.n; k++)
      if (w->divs.step[k] == walker) walker = w->divs.range[k];
    const int order = m->term && walker == m->walk ? innermost_order(ir, all, nest, m->sum) : walk_order(ir, all, nest, walker);
    Dim e = { .range = ranges.p[i], .extent = range_extent(node(ir, ranges.p[i])), .order = order };
    /* neighbouring threads then store to different banks */
    if (panels && range_kind(node(ir, e.range)) == RK_REDUCE) e.order += TERMS;
    ok = ix_split(ir, rest, e.range, &e.coef, &rest) && i64_mul(w->total, e.extent, &w->total);
    int k = w->n++;
    for (; k && w->d[k - 1].order > e.order; k--) w->d[k] = w->d[k - 1];
    w->d[k] = e;
  }
  VEC_FREE(&ranges);
  return ok && node_is_const(ir, rest, &w->base) && w->total <= 2 * b.elems + 64 && !(panels && side_by_side(ir, w->d, w->n));
}

static bool reads_vectors(const IR *ir, const PackWalk *w) {
  return w->n && w->d[w->n - 1].coef == 1 && range_kind(node(ir, w->d[w->n - 1].range)) == RK_VEC;
}

static Ref pack_load(Plan *p, const Node *x, PackWalk *w, bool panels) {
  IR *ir = p->ir;
  const Buf b = ir->bufs.p[buffer_id(node(ir, load_buffer(x)))];
  Ref index = ix_const(ir, 0);
  int64_t closed = -1;
  bool gated = load_gate(x), decided = gated && gate_sum(ir, x, w->d, w->n, &closed);
  if (gated && !decided) closed = -1;
  for (int i = 0; i < w->n; i++) {
    index = ix_add(ir, ix_mul(ir, index, w->d[i].extent), w->d[i].range);
    if (!decided) w->d[i].gate = 0;
  }
  if (w->divs.n) index = ix_subst(ir, index, w->divs.n, w->divs.step, w->divs.term);
  if (w->m.term) index = ix_subst(ir, index, 1, &w->m.walk, &w->m.sum);
  Packed order;
  const Ref shared = !gated && !w->divs.n && !w->m.term && !panels ? shared_order(p, b.slot, load_index(x), &order) : 0;
  if (!shared && shared_plain(p, b.slot, load_index(x))) return 0;
  if (!shared && index == load_index(x) && w->total == b.elems && !decided) return 0; /* already in order */
  Dim dims[MAX_RANGES];
  const int n = repeated(w->d, w->n, &w->m, dims);
  int64_t id = shared ? buffer_of_record(p, &b, order, b.elems) : packed_buffer(p, &b, w->base, closed, dims, n, w->total);
  if (shared) index = shared;
  Ref src[4] = { node_make(ir, OP_BUFFER, b.dt, 1, 0, NULL, 1, &id, 0, NULL), index };
  memcpy(src + 2, x->src + 2, (x->nsrc - 2u) * sizeof *src);
  return node_make(ir, OP_LOAD, (DType)x->dt, 1, decided ? 2 : x->nsrc, src, 0, NULL, 0, NULL);
}

typedef struct Packing { Ref load; PackWalk walk; } Packing;

/* A weight that one load reads as it is stays for loads of its vectors, too. All of them then read the same vectors of memory,
 * and what the nest computes from those is computed once. */
static void pack_nest(Plan *p, NestState *s, bool panels) {
  IR *ir = p->ir;
  Refs all = { 0 }, from = { 0 }, to = { 0 };
  VEC(Packing) loads = { 0 };
  RefMap kept = { 0 };
  ir_toposort(ir, &s->nest, 1, &all);
  for (size_t i = 0; i < all.n; i++) {
    const Node *x = node(ir, all.p[i]);
    Packing one = { .load = all.p[i] };
    if (x->op != OP_LOAD || ir->bufs.p[buffer_id(node(ir, load_buffer(x)))].kind != BUF_WEIGHT) continue;
    if (walk_open(p, s->nest, &all, x, panels, &one.walk)) VEC_PUSH(&loads, one);
    else refmap_set(&kept, load_buffer(x), 1);
  }
  for (size_t i = 0; i < loads.n; i++) {
    Packing *one = &loads.p[i];
    const Node *x = node(ir, one->load);
    if (refmap_get(&kept, load_buffer(x)) && reads_vectors(ir, &one->walk)) continue;
    const Ref packed = pack_load(p, x, &one->walk, panels);
    if (!packed) continue;
    VEC_PUSH(&from, one->load);
    VEC_PUSH(&to, packed);
  }
  if (from.n) s->nest = ix_subst(ir, s->nest, (int)from.n, from.p, to.p);
  refmap_free(&kept);
  VEC_FREE(&all);
  VEC_FREE(&loads);
  VEC_FREE(&from);
  VEC_FREE(&to);
}

static void pack(Plan *p, NestState *s) { pack_nest(p, s, false); }
static void pack_panels(Plan *p, NestState *s) {
  if (s->panel_depth) pack_nest(p, s, true);
}

void step_panels(Plan *p, Kernel *k) { each_state(p, k, pack_panels); }

void step_pack(Plan *p, Kernel *k) { each_state(p, k, pack); }

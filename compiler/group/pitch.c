/* SPDX-License-Identifier: MIT */
/* pitch.c: moves parts of a buffer to different sets of the first-level cache.
 *
 * Some nests access one element of each of many parts of a buffer at a time, such as the points of Winograd tiles. Where parts
 * are multiples of a page apart, all these elements are in one set of the cache, which has fewer ways. Each line then leaves the
 * cache before its next element is wanted. So a line is added to each part where that spreads the parts over more sets
 * (spreading_pad). Elements of neighbouring parts are then in neighbouring sets.
 *
 * Elements count that a nest accesses at constant distances, and those along ranges that it unrolls to select one of several
 * values. Their distance is the greatest common divisor D of all distances. Parts have D elements where every access of the plan
 * has digits above D and digits below D. Other buffers stay as they are.
 *
 * needs: canonical nests    gives: distances between parts of buffers, sizes of buffers
 * keeps: nests canonical, and the value of every element */
#include "group.h"
#include <stdlib.h>
#include <string.h>

typedef VEC(int64_t) Places;
typedef VEC(Touch) Touches;

/* ---- what a nest accesses at a time ---- */
static size_t most_streams(const IR *ir) { return (size_t)tunable(ir->ctx, pitch_streams); }

static void multiply(Places *at, int64_t step, int64_t n, size_t most) { /* adds the places that are 1 to n - 1 steps further */
  const size_t had = at->n;
  for (int64_t i = 1; i < n; i++)
    for (size_t k = 0; k < had && at->n <= most; k++) VEC_PUSH(at, at->p[k] + i * step);
}

/* The places of one access */
static void add_places(IR *ir, Ref nest, const Touch *t, Places *all) {
  Places at = { 0 };
  VEC_PUSH(&at, t->base);
  for (int i = 0; i < t->n; i++)
    if (range_selects(ir, nest, t->range[i])) multiply(&at, t->coef[i], range_extent(node(ir, t->range[i])), most_streams(ir));
  for (size_t i = 0; i < at.n; i++) VEC_PUSH(all, at.p[i]);
  VEC_FREE(&at);
}

static int by_value(const void *a, const void *b) {
  const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
  return x < y ? -1 : x > y;
}

/* Sorts the places and drops repeated ones. Returns the greatest common divisor of their distances. */
static int64_t distance_of(Places *at) {
  int64_t distance = 0;
  size_t n = 0;
  qsort(at->p, at->n, sizeof *at->p, by_value);
  for (size_t i = 0; i < at->n; i++) {
    if (n && at->p[n - 1] == at->p[i]) continue;
    if (n) distance = i64_gcd(distance, at->p[i] - at->p[0]);
    at->p[n++] = at->p[i];
  }
  at->n = n;
  return distance;
}

/* More places are in one set than it has ways. */
static bool crowded(const Places *at, int64_t bytes, const Target *t) {
  SetLines sets = { { 0 } };
  for (size_t i = 0; i < at->n; i++) set_take(&sets, at->p[i] * bytes);
  return lines_crowded(&sets, l1_ways(t)) > 0;
}

/* ---- all accesses to a buffer ---- */
/* distance: elements of a part; 0: the buffer stays as it is. fixed: it has to. pad: elements to add to each part. places:
 * where a nest accesses the buffer */
typedef struct Part {
  int64_t distance, pad;
  bool fixed;
  Places places;
} Part;

static bool is_movable(const IR *ir, const Buf *b) {
  if (b->kind != BUF_ARENA || b->of || b->needed.n) return false;
  for (size_t i = 0; i < ir->bufs.n; i++)
    if (ir->bufs.p[i].of - 1 == b - ir->bufs.p) return false;
  return true;
}

/* The loads and stores of a nest */
static Touches touches_of(IR *ir, Ref nest) {
  Touches out = { 0 };
  Refs all = { 0 };
  ir_toposort(ir, &nest, 1, &all);
  for (size_t i = 0; i < all.n; i++) {
    const Node *x = node(ir, all.p[i]);
    if (x->op == OP_LOAD || x->op == OP_STORE) VEC_PUSH(&out, touch_of(ir, x, 0));
  }
  VEC_FREE(&all);
  return out;
}

static void look(IR *ir, const Target *t, Ref nest, Part *part, Refs *touched) {
  Touches all = touches_of(ir, nest);
  touched->n = 0;
  for (size_t i = 0; i < all.n; i++) {
    const Touch *at = &all.p[i];
    Part *p = &part[at->buf];
    if (p->fixed) continue;
    p->fixed = at->spread || p->places.n > most_streams(ir);
    if (!p->places.n) VEC_PUSH(touched, (Ref)at->buf);
    add_places(ir, nest, at, &p->places);
  }
  for (size_t i = 0; i < touched->n; i++) {
    Part *p = &part[touched->p[i]];
    const int64_t distance = distance_of(&p->places);
    if (crowded(&p->places, dt_bytes(ir->bufs.p[touched->p[i]].dt), t)) p->distance = i64_gcd(distance, p->distance);
    p->places.n = 0;
  }
  VEC_FREE(&all);
}

/* The digits of the address below the distance stay below it. */
static bool divides_address(const IR *ir, const Touch *t, int64_t distance) {
  int64_t low = t->base % distance;
  for (int i = 0; i < t->n; i++) {
    if (t->coef[i] < 0) return false;
    if (t->coef[i] % distance) low += t->coef[i] * (range_extent(node(ir, t->range[i])) - 1);
  }
  return t->base >= 0 && low < distance;
}

static void check(IR *ir, Ref nest, Part *part) {
  Touches all = touches_of(ir, nest);
  for (size_t i = 0; i < all.n; i++) {
    Part *p = &part[all.p[i].buf];
    p->fixed |= p->distance && !divides_address(ir, &all.p[i], p->distance);
  }
  VEC_FREE(&all);
}

/* ---- moving ---- */
static Ref moved(IR *ir, Ref r, const Part *part) {
  const Node *x = node(ir, r);
  const Touch t = touch_of(ir, x, 0);
  const int64_t old = part[t.buf].distance, now = old + part[t.buf].pad;
  Ref at = ix_const(ir, t.base / old * now + t.base % old), src[4];
  for (int i = 0; i < t.n; i++) at = ix_add(ir, at, ix_mul(ir, t.range[i], t.coef[i] % old ? t.coef[i] : t.coef[i] / old * now));
  memcpy(src, x->src, x->nsrc * sizeof *src);
  src[1] = at;
  return node_with_src(ir, r, src);
}

static Ref move_nest(IR *ir, Ref nest, const Part *part) {
  Nest n = nest_open(ir, nest);
  const Ref store = n.store;
  Refs all = { 0 }, from = { 0 }, to = { 0 };
  ir_toposort(ir, &n.store, 1, &all);
  for (size_t i = 0; i < all.n; i++) {
    const Node *x = node(ir, all.p[i]);
    if (x->op != OP_LOAD || !part[buffer_id(node(ir, load_buffer(x)))].distance) continue;
    const Ref next = moved(ir, all.p[i], part); /* its gate may be a load, too, which comes before it */
    VEC_PUSH(&to, ix_subst(ir, next, (int)from.n, from.p, to.p));
    VEC_PUSH(&from, all.p[i]);
  }
  if (from.n) n.store = ix_subst(ir, n.store, (int)from.n, from.p, to.p);
  if (part[buffer_id(node(ir, store_buffer(node(ir, n.store))))].distance) n.store = moved(ir, n.store, part);
  VEC_FREE(&all);
  VEC_FREE(&from);
  VEC_FREE(&to);
  return n.store != store ? nest_close(ir, &n) : nest;
}

static void grow(Buf *b, const Part *part) {
  const int64_t bytes = dt_bytes(b->dt), pieces = b->piece ? b->elems * bytes / b->piece : 1, own = b->elems / pieces;
  const int64_t line = LINE_BYTES / bytes, now = (own + (own / part->distance + 1) * part->pad + line - 1) / line * line;
  if (b->piece) b->piece = now * bytes;
  b->elems = now * pieces;
}

static void move(Plan *p, Kernel *k, const Part *part) {
  Refs nests = { 0 };
  bool any = false;
  for (size_t i = 0; i < k->nests.n; i++) {
    const Ref nest = k->nests.p[i].nest;
    p->ir->origin = node(p->ir, nest)->origin;
    VEC_PUSH(&nests, move_nest(p->ir, nest, part));
    any |= nests.p[i] != nest;
  }
  if (any) {
    k->sink = node_make(p->ir, OP_SINK, DT_NONE, 1, (int)nests.n, nests.p, 0, NULL, 0, NULL);
    step_even(p, k);
    step_canon(p, k);
  }
  VEC_FREE(&nests);
}

static void decide(const Plan *p, Part *part) {
  IR *ir = p->ir;
  Refs touched = { 0 };
  for (size_t i = 0; i < ir->bufs.n; i++) part[i].fixed = !is_movable(ir, &ir->bufs.p[i]);
  for (size_t i = 0; i < p->kernels.n; i++)
    for (size_t k = 0; k < p->kernels.p[i].nests.n; k++) look(ir, p->in->target, p->kernels.p[i].nests.p[k].nest, part, &touched);
  for (size_t i = 0; i < p->kernels.n; i++)
    for (size_t k = 0; k < p->kernels.p[i].nests.n; k++) check(ir, p->kernels.p[i].nests.p[k].nest, part);
  for (size_t i = 0; i < ir->bufs.n; i++) {
    VEC_FREE(&part[i].places);
    const int64_t bytes = dt_bytes(ir->bufs.p[i].dt), d = part[i].fixed ? 0 : part[i].distance;
    part[i].pad = d * bytes < LINE_BYTES ? 0 : spreading_pad(bytes, d, LINE_BYTES / bytes);
    part[i].distance = part[i].pad ? d : 0;
  }
  VEC_FREE(&touched);
}

void step_pitch(Plan *p, Kernel *unused) {
  (void)unused;
  if (!p->in->target->l1_bytes) return;
  const size_t n = p->ir->bufs.n;
  Part *part = xcalloc(n + 1, sizeof *part);
  decide(p, part);
  for (size_t i = 0; i < p->kernels.n; i++) move(p, &p->kernels.p[i], part);
  for (size_t i = 0; i < n; i++)
    if (part[i].distance) grow(&p->ir->bufs.p[i], &part[i]);
  free(part);
}

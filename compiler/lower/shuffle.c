/* SPDX-License-Identifier: MIT */
/* shuffle.c: replaces accesses of single lanes by vectors of contiguous elements and shuffles.
 *
 * A strip is a vector whose lanes are a constant stride apart in memory, or whose runs of lanes share an element. Strips at the
 * same place of one buffer are handled together, because copies of a tile use the elements between. There are two ways between
 * vectors in memory and strips:
 *
 * - Dense: the strips cover a piece of memory, or stride over a few elements. Each strip is picked from the vectors that
 *   contain its lanes.
 * - Rows: each lane has a few contiguous elements. They form a matrix, stored by rows, and its blocks are transposed in
 *   registers.
 *
 * Long runs of lanes may share an element. Then a row has the elements of a run for several copies, and a shuffle spreads one
 * of them over the run. Nothing is read before the first element of the strips or behind the last one, and only their elements
 * are stored.
 *
 * needs: copies and lanes made (expand.c)   keeps: values, and all stores */
#include "lower.h"
#include <stdlib.h>
#include <string.h>

enum { MAX_LANES = 64 };

typedef struct Strip {
  Ref buffer, base;
  int64_t at, stride;          /* lane i is at base + at + i / run * stride */
  int lanes, run;
  int64_t row;                 /* elements of a row of the caller's memory at the greatest size; 0: rows have no size of the run */
  int64_t reach;               /* for loads: elements of the buffer, or of the piece, in each run */
  Ref value;                   /* the vector */
  size_t store;                /* index of the store of lane 0; the other lanes follow */
  bool done;
} Strip;

typedef VEC(Strip) Strips;

static Ref make(IR *ir, Op op, DType d, int lanes, int n, const Ref *src, int narg, const int64_t *arg) {
  return node_make(ir, op, d, lanes, n, src, narg, arg, 0, NULL);
}

/* ---- strips ---- */
static Ref place(IR *ir, Ref index, int64_t *at) { /* index without its constant part */
  const Node *x = node(ir, index);
  *at = 0;
  if (node_is_const(ir, index, at)) return 0;
  if (x->op != OP_ADD || !node_is_const(ir, rhs(x), at)) return index;
  return lhs(x);
}

/* Whether the accesses have the addresses of a strip's lanes. */
static bool strip_of(IR *ir, const Ref *access, int n, Strip *s) {
  if (n < 2 || n > MAX_LANES || n & (n - 1)) return false;
  for (int i = 0; i < n; i++) {
    const Node *x = node(ir, access[i]);
    int64_t at;
    Ref base = place(ir, access_index(x), &at);
    if (i == 0) s->buffer = access_buffer(x), s->base = base, s->at = at;
    if (!s->run && at != s->at) s->run = i, s->stride = at - s->at;
    if (access_buffer(x) != s->buffer || base != s->base || (s->run && at != s->at + i / s->run * s->stride)) return false;
  }
  s->lanes = n;
  s->row = buf_row(&ir->bufs.p[buffer_id(node(ir, s->buffer))]);
  if (s->row && s->stride % s->row) return false; /* rows of the caller may be shorter */
  return s->run && n % s->run == 0 && s->stride >= (s->run > 1 ? 1 : 2) && node(ir, s->buffer)->dt != DT_BOOL;
}

static void find_loads(const Plan *p, Ref nest, Strips *out) {
  IR *ir = p->ir;
  Refs all = { 0 };
  ir_toposort(ir, &nest, 1, &all);
  for (size_t i = 0; i < all.n; i++) {
    const Node *x = node(ir, all.p[i]);
    Strip s = { .value = all.p[i] };
    bool loads = x->op == OP_VEC;
    for (int k = 0; k < x->nsrc && loads; k++) loads = node(ir, x->src[k])->op == OP_LOAD && !load_gate(node(ir, x->src[k]));
    if (!loads || !strip_of(ir, x->src, x->nsrc, &s)) continue;
    s.reach = reach_in_runs(p, &ir->bufs.p[buffer_id(node(ir, s.buffer))]);
    VEC_PUSH(out, s);
  }
  VEC_FREE(&all);
}

static void find_stores(IR *ir, const Refs *parts, Strips *out) {
  for (size_t i = 0; i < parts->n; i++) {
    const Node *x = node(ir, parts->p[i]), *lane = x->op == OP_STORE ? node(ir, store_value(x)) : NULL;
    if (!lane || store_gate(x) || lane->op != OP_LANE || lane_lane(lane)) continue;
    Strip s = { .value = operand(lane), .store = i };
    const int n = node(ir, s.value)->lanes;
    bool all = i + (size_t)n <= parts->n;
    for (int k = 1; k < n && all; k++) {
      const Node *y = node(ir, parts->p[i + (size_t)k]),
                 *v = y->op == OP_STORE && !store_gate(y) ? node(ir, store_value(y)) : NULL;
      all = v && v->op == OP_LANE && operand(v) == s.value && lane_lane(v) == k;
    }
    if (all && strip_of(ir, parts->p + i, n, &s)) VEC_PUSH(out, s);
  }
}

static int by_place(const void *a, const void *b, void *ir) {
  const Strip *x = a, *y = b;
  if (x->buffer != y->buffer) return node_order(ir, x->buffer, y->buffer);
  if (x->base != y->base) return node_order(ir, x->base, y->base);
  if (x->lanes != y->lanes) return x->lanes < y->lanes ? -1 : 1;
  if (x->run != y->run) return x->run < y->run ? -1 : 1;
  if (x->stride != y->stride) return x->stride < y->stride ? -1 : 1;
  return x->at < y->at ? -1 : x->at > y->at;
}

static bool akin(const Strip *a, const Strip *b) {
  return a->buffer == b->buffer && a->base == b->base && a->lanes == b->lanes && a->run == b->run && a->stride == b->stride;
}

static int64_t lane_at(const Strip *s, int i) { return s->at + i / s->run * s->stride; }

static int64_t end_of(const Strip *s) { return lane_at(s, s->lanes - 1) + 1; }

/* Number of strips from i on with equal strides whose starts are consecutive elements. */
static size_t side_by_side(const Strips *s, size_t i) {
  size_t n = 1;
  const Strip *a = &s->p[i];
  while (i + n < s->n && akin(&a[n], a) && a[n].at == a->at + (int64_t)n) n++;
  return n;
}

/* ---- shuffles ---- */
static Ref shuffle(IR *ir, Ref a, Ref b, int n, const int64_t *lane) {
  return make(ir, OP_SHUFFLE, (DType)node(ir, a)->dt, n, 2, (Ref[]){ a, b }, n, lane);
}

static Ref join(IR *ir, Ref a, Ref b) {
  int64_t lane[MAX_LANES];
  const int n = 2 * node(ir, a)->lanes;
  for (int i = 0; i < n; i++) lane[i] = i;
  return shuffle(ir, a, b, n, lane);
}

/* n lanes from `first` on, by halves. */
static Ref part(IR *ir, Ref a, int first, int n) {
  int64_t lane[MAX_LANES];
  const int half = node(ir, a)->lanes / 2, from = first < half ? 0 : half;
  if (n > half) return a;
  for (int i = 0; i < half; i++) lane[i] = from + i;
  return part(ir, shuffle(ir, a, a, half, lane), first - from, n);
}

/* A vector whose lane i is lane[i] of v[from[i]]; vectors are merged one after another. */
static Ref pick(IR *ir, const Ref *v, int n, const int *from, const int *lane) {
  int64_t order[MAX_LANES];
  const int lanes = node(ir, v[0])->lanes;
  Ref sum = 0;
  int first = -1;
  for (int k = 0; k < n; k++) {
    bool any = false;
    for (int i = 0; i < lanes; i++) any |= from[i] == k;
    if (!any) continue;
    if (first < 0) {
      first = k;
      continue;
    }
    for (int i = 0; i < lanes; i++) order[i] = from[i] == k ? lanes + lane[i] : sum || from[i] != first ? i : lane[i];
    sum = shuffle(ir, sum ? sum : v[first], v[k], lanes, order);
  }
  for (int i = 0; i < lanes; i++) order[i] = lane[i];
  return sum ? sum : shuffle(ir, v[first], v[first], lanes, order);
}

/* Transposes blocks of n by n lanes: lane j of block b in v[i] is exchanged with lane i of block b in v[j]. Each step
 * interleaves two vectors. Within blocks of 16 bytes, this is one instruction on most machines. */
static void transpose(IR *ir, Ref *v, int n) {
  const int lanes = node(ir, v[0])->lanes;
  for (int apart = n / 2; apart; apart /= 2)
    for (int i = 0; i < n; i++) {
      if (i & apart) continue;
      Ref both[2];
      for (int upper = 0; upper < 2; upper++) {
        int64_t order[MAX_LANES];
        for (int k = 0; k < lanes; k++) order[k] = k / n * n + upper * n / 2 + k % n / 2 + k % 2 * lanes;
        both[upper] = shuffle(ir, v[i], v[i + apart], lanes, order);
      }
      v[i] = both[0];
      v[i + apart] = both[1];
    }
}

/* ---- memory ---- */
static Ref index_at(IR *ir, const Strip *s, int64_t at) {
  return s->base ? ix_add(ir, s->base, ix_const(ir, at)) : ix_const(ir, at);
}

static Ref load_at(IR *ir, const Strip *s, int64_t at, int n) {
  return make(ir, OP_LOAD, (DType)node(ir, s->buffer)->dt, n, 2, (Ref[]){ s->buffer, index_at(ir, s, at) }, 0, NULL);
}

static void store_at(IR *ir, const Strip *s, int64_t at, Ref value, Refs *out) {
  VEC_PUSH(out,
           make(ir, OP_STORE, (DType)node(ir, s->buffer)->dt, 1, 3, (Ref[]){ s->buffer, index_at(ir, s, at), value }, 0, NULL));
}

/* Whether a run fills a block of lanes within which shuffles are cheap. */
static bool in_blocks(const IR *ir, const Strip *s) { return s->run * dt_bytes((DType)node(ir, s->buffer)->dt) >= SHUFFLE_BLOCK; }

/* The elements from lane 0 on are in one row of the caller, if such rows have a size of the run. */
static bool in_one_row(IR *ir, const Strip *s, size_t elems) {
  return !s->row || node(ir, ix_mod(ir, index_at(ir, s, s->at), s->row))->vmax + (int64_t)elems <= s->row;
}

static int row_length(IR *ir, const Strip *s, size_t beside) {
  if ((s->run > 1 && !in_blocks(ir, s)) || !in_one_row(ir, s, beside)) return 1;
  return shuffle_row(dt_bytes((DType)node(ir, s->buffer)->dt), s->lanes, (int64_t)beside);
}

/* Loads n strips as rows and transposes blocks of n. Rows for the same vector are n lanes apart. */
static void load_rows(IR *ir, Strip *s, int n, Ref *to) {
  for (int i = 0; i < n; i++) {
    Ref row[MAX_LANES];
    int rows = 0;
    for (int k = i; k < s->lanes; k += n) row[rows++] = load_at(ir, s, s->at + k * s->stride, n);
    for (; rows > 1; rows /= 2)
      for (int k = 0; k < rows / 2; k++) row[k] = join(ir, row[2 * k], row[2 * k + 1]);
    to[i] = row[0];
  }
  transpose(ir, to, n);
}

/* Loads n strips with runs. Each block has n elements, one for each strip, and is repeated over the run. */
static void load_blocks(IR *ir, const Strip *s, int n, Ref *to) {
  const int same = s->stride == s->run && n == s->run ? s->lanes : n; /* whole vector: all lanes are contiguous */
  Ref block[MAX_LANES];
  int blocks = s->lanes / same;
  for (int k = 0; k < blocks; k++) block[k] = load_at(ir, s, lane_at(s, k * same), same);
  for (; blocks > 1; blocks /= 2)
    for (int k = 0; k < blocks / 2; k++) block[k] = join(ir, block[2 * k], block[2 * k + 1]);
  for (int i = 0; i < n; i++) {
    int64_t lane[MAX_LANES];
    for (int k = 0; k < s->lanes; k++) lane[k] = k / n * n + i;
    to[i] = shuffle(ir, block[0], block[0], s->lanes, lane);
  }
}

static void store_rows(IR *ir, Strip *s, int n, Refs *out) {
  Ref v[MAX_LANES];
  for (int i = 0; i < n; i++) v[i] = s[i].value;
  transpose(ir, v, n);
  for (int k = 0; k < s->lanes; k++) store_at(ir, s, s->at + k * s->stride, part(ir, v[k % n], k / n * n, n), out);
}

/* The strips from i on that cover one piece of memory, with short gaps at most; *end: where it ends. */
static size_t dense_run(const Strips *s, size_t i, int64_t *end) {
  const Strip *a = &s->p[i];
  size_t n = 0;
  *end = a->at;
  for (; i + n < s->n && akin(&a[n], a) && a[n].at <= *end; n++)
    if (end_of(&a[n]) > *end) *end = end_of(&a[n]);
  return n;
}

static bool within(const IR *ir, const Strip *s, int64_t end) { /* whether all elements before `end` are in the buffer, or the piece */
  const Node *b = s->base ? node(ir, s->base) : NULL;
  const Buf *buf = &ir->bufs.p[buffer_id(node(ir, s->buffer))];
  const int64_t last = b ? b->vmax : 0;
  return !buf_ends_early(buf) && last <= s->reach && end <= s->reach - last;
}

/* Lanes of a vector load for the elements between the strips' ends: as many as the strips have, or a part of them. 0: a vector
 * would read more than the strips do, perhaps behind the buffer. */
static int dense_width(const IR *ir, const Strip *s, int64_t begin, int64_t end) {
  int width = s->lanes;
  if (within(ir, s, begin + width)) return width;
  while (width > 1 && width > end - begin) width /= 2;
  return width == s->lanes || width == end - begin ? width : 0;
}

static Ref load_dense(IR *ir, const Strip *s, int64_t begin, int64_t end) {
  Ref v[SHUFFLE_STRIDE + 1];
  int from[MAX_LANES], lane[MAX_LANES], n = 0;
  int64_t at[SHUFFLE_STRIDE + 1];
  const int width = dense_width(ir, s, begin, end);
  if (width < s->lanes) {
    for (v[0] = load_at(ir, s, begin, width); node(ir, v[0])->lanes < s->lanes; v[0] = join(ir, v[0], v[0])) {}
    for (int i = 0; i < s->lanes; i++) from[i] = 0, lane[i] = (int)(lane_at(s, i) - begin);
    return pick(ir, v, 1, from, lane);
  }
  for (int i = 0; i < s->lanes; i++) {
    int64_t e = lane_at(s, i), first = begin + (e - begin) / s->lanes * s->lanes;
    /* the last vector ends with the last element */
    if (first > end - s->lanes && !within(ir, s, first + s->lanes)) first = end - s->lanes;
    if (!n || at[n - 1] != first) {
      at[n] = first;
      v[n++] = load_at(ir, s, first, s->lanes);
    }
    from[i] = n - 1;
    lane[i] = (int)(e - first);
  }
  return pick(ir, v, n, from, lane);
}

/* Stores strips that cover memory together: as many as the stride. */
static void store_dense(IR *ir, const Strip *s, Refs *out) {
  Ref v[SHUFFLE_STRIDE];
  int from[MAX_LANES], lane[MAX_LANES];
  const int n = (int)s->stride;
  for (int i = 0; i < n; i++) v[i] = s[i].value;
  for (int k = 0; k < n; k++) {
    for (int i = 0; i < s->lanes; i++) from[i] = (k * s->lanes + i) % n, lane[i] = (k * s->lanes + i) / n;
    store_at(ir, s, s->at + k * s->lanes, pick(ir, v, n, from, lane), out);
  }
}

/* ---- a nest ---- */
static void replace(Refs *from, Refs *to, Strip *s, Ref by) {
  VEC_PUSH(from, s->value);
  VEC_PUSH(to, by);
  s->done = true;
}

static Ref shuffle_loads(const Plan *p, Ref nest) {
  IR *ir = p->ir;
  Strips s = { 0 };
  Refs from = { 0 }, to = { 0 };
  find_loads(p, nest, &s);
  if (s.n) qsort_r(s.p, s.n, sizeof *s.p, by_place, ir);
  for (size_t i = 0, n; i < s.n; i += n) {
    int64_t end;
    n = dense_run(&s, i, &end);
    const Strip *a = &s.p[i];
    const bool picks = a->run > 1 ? !in_blocks(ir, a) && a->stride <= SHUFFLE_STRIDE * a->run && dense_width(ir, a, a->at, end)
                                  : shuffle_picks(a->stride, a->lanes, (int64_t)side_by_side(&s, i), false);
    if (!picks || a->row) continue;
    for (size_t k = i; k < i + n; k++) replace(&from, &to, &s.p[k], load_dense(ir, &s.p[k], s.p[i].at, end));
  }
  for (size_t i = 0, n; i < s.n; i += n) {
    n = side_by_side(&s, i);
    const int length = s.p[i].done ? 1 : row_length(ir, &s.p[i], n);
    for (size_t k = 0; length > 1 && k < n; k += (size_t)length) {
      Ref v[MAX_LANES];
      const size_t first = i + (k + (size_t)length > n ? n - (size_t)length : k); /* the last block overlaps the one before */
      if (s.p[i].run > 1) load_blocks(ir, &s.p[first], length, v);
      else load_rows(ir, &s.p[first], length, v);
      for (int j = 0; j < length; j++)
        if (!s.p[first + (size_t)j].done) replace(&from, &to, &s.p[first + (size_t)j], v[j]);
    }
  }
  if (from.n) nest = ix_subst(ir, nest, (int)from.n, from.p, to.p);
  VEC_FREE(&s);
  VEC_FREE(&from);
  VEC_FREE(&to);
  return nest;
}

static Ref shuffle_stores(IR *ir, Ref nest) {
  Nest n = nest_open(ir, nest);
  const Node *sink = node(ir, n.store);
  Strips s = { 0 };
  Refs parts = { 0 }, kept = { 0 }, made = { 0 };
  for (int i = 0; i < sink->nsrc && sink->op == OP_SINK; i++) VEC_PUSH(&parts, sink->src[i]);
  find_stores(ir, &parts, &s);
  if (s.n) qsort_r(s.p, s.n, sizeof *s.p, by_place, ir);
  for (size_t i = 0, k; i < s.n; i += k) {
    const size_t side = side_by_side(&s, i);
    const int64_t stride = s.p[i].stride;
    const bool dense = !s.p[i].row && shuffle_picks(stride, s.p[i].lanes, (int64_t)side, true);
    const int length = row_length(ir, &s.p[i], side);
    k = dense ? (size_t)stride : side;
    if (dense) store_dense(ir, &s.p[i], &made);
    for (size_t j = 0; !dense && length > 1 && j < side; j += (size_t)length)
      store_rows(ir, &s.p[i + (j + (size_t)length > side ? side - (size_t)length : j)], length, &made);
    for (size_t j = i; j < i + k && (dense || length > 1); j++)
      memset(parts.p + s.p[j].store, 0, (size_t)s.p[j].lanes * sizeof *parts.p);
  }
  for (size_t i = 0; i < parts.n; i++)
    if (parts.p[i]) VEC_PUSH(&kept, parts.p[i]);
  for (size_t i = 0; i < made.n; i++) VEC_PUSH(&kept, made.p[i]);
  if (made.n) {
    n.store = kept.n == 1 ? kept.p[0] : make(ir, OP_SINK, DT_NONE, 1, (int)kept.n, kept.p, 0, NULL);
    nest = nest_close(ir, &n);
  }
  VEC_FREE(&s);
  VEC_FREE(&parts);
  VEC_FREE(&kept);
  VEC_FREE(&made);
  return nest;
}

/* Copies of operands (stage.c) are nests in the nest's sink, and come first. */
static Ref shuffle_nest(const Plan *p, Ref nest) {
  IR *ir = p->ir;
  Nest n = nest_open(ir, nest);
  const Node *sink = node(ir, n.store);
  Refs parts = { 0 };
  for (int i = 0; i < sink->nsrc && sink->op == OP_SINK; i++)
    VEC_PUSH(&parts, node(ir, sink->src[i])->op == OP_NEST ? shuffle_nest(p, sink->src[i]) : sink->src[i]);
  if (parts.n) n.store = node_with_src(ir, n.store, parts.p);
  VEC_FREE(&parts);
  return shuffle_stores(ir, shuffle_loads(p, nest_close(ir, &n)));
}

/* A vector with one value in its first lanes and another one behind them becomes a choice from two vectors, each of one value.
 * Products that need one of the values in all lanes share its vector. */
static Ref two_values(IR *ir, Ref r, void *arg) {
  const Node *x = node(ir, r);
  const Ref end[2] = { vec_lane(x, 0), vec_lane(x, x->lanes - 1) };
  int64_t lane[MAX_LANES];
  Ref all[2];
  int first = 0;
  (void)arg;
  if (x->dt != DT_F32 || x->lanes < 4 || x->lanes > MAX_LANES || end[0] == end[1] || node(ir, end[0])->op != OP_LOAD ||
      node(ir, end[1])->op != OP_LOAD)
    return 0;
  while (first < x->lanes && vec_lane(x, first) == end[0]) first++;
  for (int i = 0; i < x->lanes; i++) {
    if (i >= first && vec_lane(x, i) != end[1]) return 0;
    lane[i] = i < first ? i : x->lanes + i;
  }
  const int lanes = x->lanes;
  for (int k = 0; k < 2; k++) all[k] = make(ir, OP_BCAST, DT_F32, lanes, 1, &end[k], 0, NULL);
  return shuffle(ir, all[0], all[1], lanes, lane);
}

static void shuffle_state(Plan *p, NestState *s) {
  static const Rule rules[] = { { OP_VEC, "two values", two_values }, { OP_NONE, NULL, NULL } };
  s->nest = shuffle_nest(p, s->nest);
  ir_rewrite(p->ir, rules, NULL, &s->nest, 1, NULL);
}

void step_shuffle(Plan *p, Kernel *k) { each_state(p, k, shuffle_state); }

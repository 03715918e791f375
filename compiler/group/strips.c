/* SPDX-License-Identifier: MIT */
/* strips.c: makes the conversion of the caller's inputs part of the kernel that reads its results.
 *
 * A kernel may do no more than convert: bytes of a camera to floats, with a border of padding. The next kernel moves
 * windows over the rows of the result. Windows overlap, so chunks of its rows need rows in common, and the two kernels form
 * no group (group.c). Here both become one kernel that runs chunk by chunk. Each chunk first converts the rows that it
 * reads, into a piece of memory that stays in a near cache. It then computes its own rows. Some rows are converted by two
 * chunks, which costs less than memory for all of them. The rows are found in the addresses: a row is the largest step of
 * the stores, and windows move by whole rows.
 *
 * needs: canonical nests, groups
 * gives: fewer kernels; ranges of chunks in the joined one, Kernel.chunks_per_task, Buf.piece
 * keeps: nests canonical, and the value of every element */
#include "group.h"
#include <stdlib.h>
#include <string.h>

enum { MOST_NESTS = 24 }; /* limit: nests of a kernel */

/* An index as a sum: base + sum of coef * range */
typedef struct Sum { int n; int64_t base; Ref range[MAX_RANGES]; int64_t coef[MAX_RANGES]; } Sum;

typedef struct Strips {
  int buf;
  int64_t row;              /* elements of a row of the buffer */
  int64_t begin, extent;    /* rows that the conversion stores; rows beside these hold `fill` */
  Ref fill;                 /* a constant; 0: there are no other rows */
  Ref along;                /* range of the reading nest that is cut */
  int64_t step, reach;      /* rows by which the reading nest moves on with each value of `along`; rows that one value reads */
  int64_t first;            /* the first row that it reads */
  int64_t part, rows;       /* values of `along` in a chunk; rows that a chunk reads */
  int64_t chunks, chunks_per_task;
} Strips;

static bool sum_of(IR *ir, Ref index, Sum *s) {
  Refs ranges = { 0 };
  bool sum = true;
  *s = (Sum){ 0 };
  collect_ranges(ir, index, &ranges);
  for (size_t i = 0; i < ranges.n && sum; i++) {
    sum = s->n < MAX_RANGES && ix_split(ir, index, ranges.p[i], &s->coef[s->n], &index) && s->coef[s->n] >= 0;
    if (sum) s->range[s->n++] = ranges.p[i];
  }
  VEC_FREE(&ranges);
  return sum && node_is_const(ir, index, &s->base) && s->base >= 0;
}

/* The largest value of the terms below `row` */
static int64_t within_row(const IR *ir, const Sum *s, int64_t row) {
  int64_t most = s->base % row;
  for (int i = 0; i < s->n; i++)
    if (s->coef[i] < row) most += s->coef[i] * (range_extent(node(ir, s->range[i])) - 1);
  return most;
}

static const Node *store_of(const IR *ir, Ref nest) { return node(ir, nest_body(node(ir, nest))); }

/* The nest computes each element from inputs and constants alone, at places that do not depend on data. *buf: where it stores. */
static bool converts(const IR *ir, Ref nest, int *buf) {
  const Node *store = store_of(ir, nest);
  Refs all = { 0 }, places = { 0 };
  if (store->op != OP_STORE || store_gate(store)) return false;
  *buf = (int)buffer_id(node(ir, store_buffer(store)));
  bool plain = ir->bufs.p[*buf].kind == BUF_ARENA && !ir->bufs.p[*buf].of;
  ir_toposort(ir, &nest, 1, &all);
  for (size_t i = 0; i < all.n && plain; i++) {
    const Node *x = node(ir, all.p[i]);
    if (x->op == OP_RANGE) plain = range_kind(x) == RK_LOOP && !range_limit(x);
    if (x->op == OP_RED || x->op == OP_HELD || x->op == OP_REPEAT) plain = false;
    if (x->op != OP_LOAD) continue;
    const BufKind kind = ir->bufs.p[buffer_id(node(ir, load_buffer(x)))].kind;
    plain = kind == BUF_INPUT || kind == BUF_WEIGHT;
    places.n = 0;
    ir_toposort(ir, (Ref[]){ load_index(x) }, 1, &places);
    for (size_t k = 0; k < places.n && plain; k++) plain = node(ir, places.p[k])->op != OP_LOAD;
  }
  VEC_FREE(&all);
  VEC_FREE(&places);
  return plain;
}

/* The loads of a buffer in a nest */
static void loads_of(const IR *ir, Ref nest, int buf, Refs *out) {
  Refs all = { 0 };
  ir_toposort(ir, &nest, 1, &all);
  for (size_t i = 0; i < all.n; i++)
    if (node(ir, all.p[i])->op == OP_LOAD && buffer_id(node(ir, load_buffer(node(ir, all.p[i])))) == buf) VEC_PUSH(out, all.p[i]);
  VEC_FREE(&all);
}

/* The range of a store whose values are rows; -1: none */
static int row_range(const Sum *s, int64_t row) {
  for (int i = 0; i < s->n; i++)
    if (s->coef[i] == row) return i;
  return -1;
}

/* Finds the rows that the nests of the conversion store. */
static bool find_rows(IR *ir, const Kernel *k, Strips *s) {
  int64_t most = 0;
  Sum sum;
  for (size_t j = 0; j < k->nests.n; j++) { /* the largest step of the largest nest */
    int64_t elems = 1, step = 0;
    int buf;
    if (!converts(ir, k->nests.p[j].nest, &buf) || (j && buf != s->buf)) return false;
    s->buf = buf;
    if (!sum_of(ir, store_index(store_of(ir, k->nests.p[j].nest)), &sum)) return false;
    for (int i = 0; i < sum.n; i++) {
      elems *= range_extent(node(ir, sum.range[i]));
      if (sum.coef[i] > step) step = sum.coef[i];
    }
    if (elems <= most) continue;
    most = elems;
    s->row = step;
  }
  s->extent = 0;
  for (size_t j = 0; j < k->nests.n && s->row > 1; j++) {
    const Node *store = store_of(ir, k->nests.p[j].nest);
    sum_of(ir, store_index(store), &sum);
    const int r = row_range(&sum, s->row);
    int64_t bits;
    if (within_row(ir, &sum, s->row) >= s->row) return false;
    for (int i = 0; i < sum.n; i++)
      if (sum.coef[i] >= s->row && i != r) return false;
    if (r < 0) { /* rows of padding */
      if (!node_is_const(ir, store_value(store), &bits) || (s->fill && s->fill != store_value(store))) return false;
      s->fill = store_value(store);
      continue;
    }
    const int64_t extent = range_extent(node(ir, sum.range[r])), begin = sum.base / s->row;
    if (s->extent && (s->extent != extent || s->begin != begin)) return false;
    s->extent = extent;
    s->begin = begin;
  }
  return s->extent > 0;
}

/* Finds along which range the kernel's only nest that reads the buffer moves on by rows. */
static bool find_reader(IR *ir, const Kernel *k, Strips *s) {
  Refs loads = { 0 };
  Ref nest = 0;
  bool ok = true;
  for (size_t j = 0; j < k->nests.n; j++) {
    const Node *store = store_of(ir, k->nests.p[j].nest);
    const BufKind kind = store->op == OP_STORE ? ir->bufs.p[buffer_id(node(ir, store_buffer(store)))].kind : BUF_STATE;
    const size_t before = loads.n;
    loads_of(ir, k->nests.p[j].nest, s->buf, &loads);
    ok = ok && (kind == BUF_ARENA || kind == BUF_OUTPUT) && (before == loads.n || !nest);
    if (loads.n > before) nest = k->nests.p[j].nest;
  }
  Sum store, sum;
  ok = ok && nest && sum_of(ir, store_index(store_of(ir, nest)), &store);
  int64_t least = INT64_MAX, last = 0, far = 0;
  for (int i = 0; i < store.n && ok; i++) /* chunks of the outermost range store memory side by side */
    if (store.coef[i] > far && range_kind(node(ir, store.range[i])) == RK_LOOP && !range_limit(node(ir, store.range[i])) &&
        opens_range(ir, nest, store.range[i]))
      far = store.coef[i], s->along = store.range[i];
  for (size_t i = 0; i < loads.n && ok && s->along; i++) {
    ok = !load_gate(node(ir, loads.p[i])) && sum_of(ir, load_index(node(ir, loads.p[i])), &sum);
    int64_t coef = 0, most = sum.base;
    for (int j = 0; j < sum.n && ok; j++) {
      if (sum.range[j] == s->along) coef = sum.coef[j];
      else most += sum.coef[j] * (range_extent(node(ir, sum.range[j])) - 1);
    }
    ok = ok && coef > 0 && coef % s->row == 0 && (!i || s->step == coef / s->row);
    s->step = coef / s->row;
    if (sum.base < least) least = sum.base;
    if (most > last) last = most;
  }
  s->first = least / s->row;
  s->reach = last / s->row - s->first + 1;
  VEC_FREE(&loads);
  return ok && s->along != 0 && s->reach > s->step; /* rows that do not overlap are an affair of group.c */
}

/* The buffer is an affair of the two kernels. */
static bool only_between(const Plan *p, size_t kernel, int buf) {
  const IR *ir = p->ir;
  Refs all = { 0 };
  bool alone = true;
  for (size_t k = 0; k < p->kernels.n && alone; k++) {
    all.n = 0;
    ir_toposort(ir, &p->kernels.p[k].sink, 1, &all);
    for (size_t i = 0; i < all.n && alone; i++) {
      const Node *x = node(ir, all.p[i]);
      if (!is_access(x) || buffer_id(node(ir, access_buffer(x))) != buf) continue;
      alone = x->op == OP_STORE ? k == kernel : k == kernel + 1;
    }
  }
  VEC_FREE(&all);
  return alone;
}

static int64_t piece_bytes(const IR *ir, const Strips *s) {
  const int64_t bytes = s->rows * s->row * dt_bytes(ir->bufs.p[s->buf].dt);
  return (bytes + LINE_BYTES - 1) / LINE_BYTES * LINE_BYTES;
}

/* Takes chunks of `part` values; false: threads get no even shares, or the pieces need more memory than all rows. */
static bool take_part(const Plan *p, Strips *s, int64_t part) {
  const IR *ir = p->ir;
  const Tunables *u = tunables_of(ir->ctx);
  const int64_t extent = range_extent(node(ir, s->along)), whole = ir->bufs.p[s->buf].elems * dt_bytes(ir->bufs.p[s->buf].dt);
  if (extent % part) return false;
  s->part = part;
  s->rows = s->step * (part - 1) + s->reach;
  s->chunks = extent / part;
  for (s->chunks_per_task = 1; s->chunks_per_task <= s->chunks / u->group_shares_least; s->chunks_per_task++) {
    const int64_t shares = s->chunks / s->chunks_per_task;
    if (s->chunks % s->chunks_per_task || !shares_even(u, p->in->target, shares)) continue;
    if (piece_bytes(ir, s) * shares <= whole) return true;
  }
  return false;
}

static bool strips_of(const Plan *p, size_t kernel, Strips *s) {
  const Kernel *a = &p->kernels.p[kernel], *b = a + 1;
  *s = (Strips){ .buf = -1 };
  if (!a->nests.n || !b->nests.n) return false;
  p->ir->origin = node(p->ir, b->nests.p[0].nest)->origin; /* new indices come from there */
  if (a->group_size != 1 || b->group_size != 1 || a->loop || b->loop || a->when != b->when || a->chunks_per_task ||
      b->chunks_per_task)
    return false;
  return a->nests.n + b->nests.n <= MOST_NESTS && find_rows(p->ir, a, s) && find_reader(p->ir, b, s) &&
         only_between(p, kernel, s->buf);
}

/* ---- applying ---- */
static Ref nest_of_chunks(IR *ir, Nest *n, Ref chunk) {
  CHECK(n->n < MAX_RANGES);
  memmove(n->ranges + 1, n->ranges, (size_t)n->n++ * sizeof *n->ranges);
  n->ranges[0] = chunk;
  return nest_close(ir, n);
}

/* Loads under a condition give 0 elsewhere. */
static Ref gate_loads(IR *ir, Ref value, Ref gate) {
  Refs all = { 0 }, from = { 0 }, to = { 0 };
  ir_toposort(ir, &value, 1, &all);
  for (size_t i = 0; i < all.n; i++) {
    const Node *x = node(ir, all.p[i]);
    if (x->op != OP_LOAD) continue;
    const Ref other = load_gate(x) ? load_else(x) : c_bits(ir, (DType)x->dt, 0);
    const Ref src[4] = { load_buffer(x), load_index(x), ix_and(ir, load_gate(x), gate), other };
    VEC_PUSH(&from, all.p[i]);
    VEC_PUSH(&to, node_make(ir, OP_LOAD, (DType)x->dt, 1, 4, src, 0, NULL, 0, NULL));
  }
  if (from.n) value = ix_subst(ir, value, (int)from.n, from.p, to.p);
  VEC_FREE(&all);
  VEC_FREE(&from);
  VEC_FREE(&to);
  return value;
}

/* A nest of the conversion for the rows that a chunk reads; 0: it stores padding only, which the others do for these rows. */
static Ref strip_nest(IR *ir, const Strips *s, Ref nest) {
  Nest n = nest_open(ir, nest);
  const Node *store = node(ir, n.store);
  Sum sum;
  CHECK(sum_of(ir, store_index(store), &sum));
  const int at = row_range(&sum, s->row);
  if (at < 0) return 0;
  const Ref chunk = range_new(ir, s->chunks, RK_THREAD), y = range_make(ir, s->rows, RK_LOOP);
  const Ref row = ix_add(ir, ix_add(ir, ix_mul(ir, chunk, s->step * s->part), y), ix_const(ir, s->first - s->begin));
  const Ref inside = ix_in(ir, row, 0, s->extent);
  Ref value = ix_subst(ir, store_value(store), 1, &sum.range[at], &row);
  if (inside) value = gate_loads(ir, value, inside);
  if (inside && value != s->fill)
    value = node_make(ir, OP_WHERE, (DType)node(ir, value)->dt, 1, 3, (Ref[]){ inside, value, s->fill }, 0, NULL, 0, NULL);
  const Ref local = ix_sub(ir, ix_subst(ir, store_index(store), 1, &sum.range[at], &y), ix_const(ir, s->begin * s->row));
  const Ref src[3] = { store_buffer(store), local, value };
  n.store = node_make(ir, OP_STORE, (DType)store->dt, 1, 3, src, 0, NULL, 0, NULL);
  for (int k = 0; k < n.n; k++)
    if (n.ranges[k] == sum.range[at]) n.ranges[k] = y; /* a chunk reads several rows */
  return nest_of_chunks(ir, &n, chunk);
}

/* A nest of the reading kernel; one that does not read the rows is run by one chunk. */
static Ref reader_nest(IR *ir, const Strips *s, Ref nest) {
  Refs loads = { 0 }, to = { 0 };
  loads_of(ir, nest, s->buf, &loads);
  const Ref chunk = range_new(ir, loads.n ? s->chunks : 1, RK_THREAD);
  if (loads.n) {
    Ref own = range_make(ir, s->part, RK_LOOP);
    for (size_t i = 0; i < loads.n; i++) {
      const Node *x = node(ir, loads.p[i]);
      const Ref at = ix_sub(ir, ix_subst(ir, load_index(x), 1, &s->along, &own), ix_const(ir, s->first * s->row));
      VEC_PUSH(&to, node_with_src(ir, loads.p[i], (Ref[]){ load_buffer(x), at }));
    }
    nest = ix_subst(ir, nest, (int)loads.n, loads.p, to.p);
    nest = range_replace(ir, nest, s->along, ix_add(ir, ix_mul(ir, chunk, s->part), own), s->part > 1, &own);
  }
  VEC_FREE(&loads);
  VEC_FREE(&to);
  Nest n = nest_open(ir, nest);
  return nest_of_chunks(ir, &n, chunk);
}

static void strips_apply(Plan *p, size_t kernel, const Strips *s) {
  IR *ir = p->ir;
  Kernel *a = &p->kernels.p[kernel], *b = a + 1;
  Refs nests = { 0 };
  for (size_t j = 0; j < a->nests.n; j++) {
    ir->origin = node(ir, a->nests.p[j].nest)->origin;
    const Ref nest = strip_nest(ir, s, a->nests.p[j].nest);
    if (nest) VEC_PUSH(&nests, nest);
  }
  for (size_t j = 0; j < b->nests.n; j++) {
    ir->origin = node(ir, b->nests.p[j].nest)->origin;
    VEC_PUSH(&nests, reader_nest(ir, s, b->nests.p[j].nest));
  }
  a->sink = node_make(ir, OP_SINK, DT_NONE, 1, (int)nests.n, nests.p, 0, NULL, 0, NULL);
  a->flops += b->flops;
  a->bytes_read += b->bytes_read - a->bytes_written; /* the rows stay near */
  a->bytes_written = b->bytes_written;
  a->chunks_per_task = (int)s->chunks_per_task;
  step_even(p, a);
  step_canon(p, a);
  VEC_FREE(&b->nests);
  VEC_FREE(&nests);
  p->kernels.n--;
  memmove(b, b + 1, (p->kernels.n - kernel - 1) * sizeof *b);
  Buf *buf = &ir->bufs.p[s->buf];
  buf->piece = piece_bytes(ir, s);
  buf->elems = buf->piece / dt_bytes(buf->dt) * (s->chunks / s->chunks_per_task);
}

/* ---- the choice ---- */
/* The largest chunks whose rows stay near: fewest rows are converted twice. */
static bool model_strips(const Plan *p, Strips *s) {
  const Target *t = p->in->target;
  for (int64_t part = range_extent(node(p->ir, s->along)) / 2; part >= 1; part--)
    if (take_part(p, s, part) && (double)piece_bytes(p->ir, s) <= rate(t, L2_WORK, GROUP) * t->l2_bytes &&
        (double)(s->rows * s->chunks) <= tunable(p->ir->ctx, strip_again) * (double)s->extent)
      return true;
  return false;
}

void strips_join(Plan *p) {
  for (size_t k = 0; k + 1 < p->kernels.n; k++) {
    Strips s;
    if (!strips_of(p, k, &s)) continue;
    const Question q = ask_kernel(p, "strips", &p->kernels.p[k + 1]);
    long long part = 0;
    int end = 0;
    const bool apart = q.given && !strcmp(q.given, "apart");
    bool joined = q.given && !apart && sscanf(q.given, "%lld-rows%n", &part, &end) == 1 && !q.given[end] && part > 0 &&
                  take_part(p, &s, part);
    if (q.given && !apart && !joined) answer_refused(p->ir, &q, "the kernel cannot be divided into such chunks");
    if (!apart && !joined) joined = model_strips(p, &s);
    answer_with(p->ir, &q, joined ? arena_printf(&p->ir->ctx->model, "%lld-rows", (long long)s.part) : "apart");
    if (joined) strips_apply(p, k, &s);
  }
}

/* SPDX-License-Identifier: MIT */
/* sized_copy.c: runs of one entry read what a kernel copies, not the copy.
 *
 * For ranges of sizes, a kernel copies the keys of an attention so that lanes lie side by side (schedule/materialize.c). In a run
 * of one entry, a vector along the entries has one value that counts. The products of such a run take less time from the
 * original, where the terms of a sum lie side by side. So each reader of the copy gets a nest of its own for these runs, which
 * loads from the original. All other nests of the readers and the copying kernel do nothing in these runs.
 *
 * A kernel is left as it is unless this is proved:
 *   - The kernel only copies: each element of the copy is an element of one buffer, and no kernel stores to that buffer later.
 *   - Each kernel that loads from the copy has a nest without loops along the dimension.
 *   - Each other nest of these kernels has a loop that does not run if the dimension is one entry.
 * needs: nests whose rests are cut   gives: nests for runs of one entry, as Kernel.states   keeps: each element that a run needs
 * breaks: nothing */
#include "opts.h"
#include <string.h>

/* A copy: element number `to` of buffer `copy` is element `from` of another buffer. Both are indices with ranges of a nest. */
typedef struct Copy {
  int copy, original, dimension;
  Ref to, from, buffer;      /* buffer: BUFFER of the original */
  Refs ranges;
} Copy;

/* A buffer in the arena that all kernels see whole, and that lies in no other one */
static bool is_plain(const IR *ir, int b) {
  bool plain = ir->bufs.p[b].kind == BUF_ARENA && !ir->bufs.p[b].of && !ir->bufs.p[b].piece;
  for (size_t i = 0; i < ir->bufs.n && plain; i++) plain = ir->bufs.p[i].of != b + 1;
  return plain;
}

static bool is_alone(const Kernel *k) {
  return k->nests.n == 1 && k->group_size == 1 && !k->chunks_per_task && !k->loop && !k->when && !k->until;
}

/* One of the kernel's canonical nests has an op of this kind that accesses the buffer. */
static bool accesses(const IR *ir, const Kernel *k, Op op, int buffer) {
  Refs all = { 0 };
  bool any = false;
  for (size_t i = 0; i < k->nests.n; i++) ir_toposort(ir, &k->nests.p[i].nest, 1, &all);
  for (size_t i = 0; i < all.n && !any; i++) {
    const Node *x = node(ir, all.p[i]);
    any = x->op == op && buffer_id(node(ir, access_buffer(x))) == buffer;
  }
  VEC_FREE(&all);
  return any;
}

/* The dimension whose entries lie side by side in the buffer, if it may be one entry; -1: none */
static int dimension_inside(const IR *ir, const Needed *needed) {
  for (int i = 0; i < needed->n; i++) {
    const Need *is = &needed->is[i];
    if (is->inner == 1 && is->of < ir->symbols.n && !is->behind && ir->symbols.p[is->of].low == 1) return is->of;
  }
  return -1;
}

/* The index is a sum of ranges times steps, in which each element has one place. */
static bool has_places(IR *ir, Ref index, const Refs *ranges) {
  Ref rest = index;
  int64_t step, other, zero;
  bool has = true;
  for (size_t i = 0; i < ranges->n && has; i++) has = ix_split(ir, rest, ranges->p[i], &step, &rest) && step > 0;
  for (size_t i = 0; i < ranges->n && has; i++) { /* steps of this range are longer than all that lies inside */
    int64_t inside = 0;
    ix_split(ir, index, ranges->p[i], &step, &rest);
    for (size_t k = 0; k < ranges->n; k++) {
      const int64_t extent = range_extent(node(ir, ranges->p[k]));
      ix_split(ir, index, ranges->p[k], &other, &rest);
      if (k != i && other <= step) inside += other * (extent - 1);
    }
    has = inside < step;
  }
  rest = index;
  for (size_t i = 0; i < ranges->n && has; i++) ix_split(ir, rest, ranges->p[i], &step, &rest);
  return has && node_is_const(ir, rest, &zero) && !zero;
}

/* Kernel number k only copies a buffer that no later kernel stores to. No index is read from memory, which may change later. */
static bool find_copy(const Plan *p, size_t k, Copy *c) {
  IR *ir = p->ir;
  const Kernel *kernel = &p->kernels.p[k];
  if (!is_alone(kernel)) return false;
  const Node *store = node(ir, nest_body(node(ir, kernel->nests.p[0].nest)));
  const Node *load = store->op == OP_STORE ? node(ir, store_value(store)) : NULL;
  if (!load || load->op != OP_LOAD || store_gate(store) || load_gate(load)) return false;
  c->copy = buffer_id(node(ir, store_buffer(store)));
  c->buffer = load_buffer(load);
  c->original = buffer_id(node(ir, c->buffer));
  c->to = store_index(store);
  c->from = load_index(load);
  c->dimension = dimension_inside(ir, &ir->bufs.p[c->copy].needed);
  if (c->dimension < 0 || load->dt != store->dt || !is_plain(ir, c->copy) || !is_plain(ir, c->original)) return false;
  for (size_t i = 0; i < p->kernels.n; i++) {
    if (i != k && accesses(ir, &p->kernels.p[i], OP_STORE, c->copy)) return false;
    if (i >= k && accesses(ir, &p->kernels.p[i], OP_STORE, c->original)) return false;
  }
  c->ranges.n = 0;
  nest_ranges(ir, kernel->nests.p[0].nest, &c->ranges);
  return !ix_loads(ir, c->from) && has_places(ir, c->to, &c->ranges);
}

/* The index into the original of the element that has index `at` in the copy */
static Ref index_of_original(IR *ir, const Copy *c, Ref at) {
  Ref value[MAX_RANGES], rest;
  int64_t step;
  for (size_t i = 0; i < c->ranges.n; i++) {
    ix_split(ir, c->to, c->ranges.p[i], &step, &rest);
    value[i] = ix_mod(ir, ix_div(ir, at, step), range_extent(node(ir, c->ranges.p[i])));
  }
  return ix_subst(ir, c->from, (int)c->ranges.n, c->ranges.p, value);
}

static Ref load_original(IR *ir, Ref r, void *arg) {
  const Copy *c = arg;
  const Node *x = node(ir, r);
  Ref src[4];
  if (buffer_id(node(ir, load_buffer(x))) != c->copy) return 0;
  memcpy(src, x->src, x->nsrc * sizeof *src);
  src[0] = c->buffer;
  src[1] = index_of_original(ir, c, load_index(x));
  return node_with_src(ir, r, src);
}

/* The reader's nest for runs of one entry; 0: it has none */
static Ref nest_of_reader(IR *ir, const Kernel *k, const Copy *c) {
  static const Rule loads[] = { { OP_LOAD, "original", load_original }, { OP_NONE, NULL, NULL } };
  Ref nest = is_alone(k) && k->states.n ? sized_without(ir, k->nests.p[0].nest, c->dimension) : 0;
  if (!nest || reductions_below(ir, nest) != 1) return 0;
  ir_rewrite(ir, loads, (void *)(uintptr_t)c, &nest, 1, NULL);
  return nest;
}

/* The row of IR.sizes with rule and tiles of row `number`, but without entries in runs of one entry. several: the extent */
static int without_single(IR *ir, int number, int several) {
  tgcrt_size s = ir->sizes.p[number];
  s.of = several;
  return size_number(ir, s);
}

/* The nest of state s, whose loops along the dimension do not run for one entry. It changes the opts to name its ranges; NULL:
 * they stay. */
static Ref nest_of_several(IR *ir, const NestState *s, int dimension, int several, Opts *opts) {
  Refs all = { 0 };
  Ref nest = s->nest;
  ir_toposort(ir, &s->nest, 1, &all);
  for (size_t i = 0; i < all.n; i++) {
    const Node *x = node(ir, all.p[i]);
    const int number = x->op == OP_RANGE ? (int)range_limit(x) - 1 : x->op == OP_SIZE ? (int)size_id(x) : -1;
    if (number < 0 || ir->sizes.p[number].of != dimension) continue;
    const int other = without_single(ir, number, several);
    const Ref now = x->op == OP_SIZE ? size_value(ir, other) : range_limited(ir, range_extent(x), other, range_kind(x));
    if (x->op == OP_SIZE) nest = ix_subst(ir, nest, 1, &all.p[i], &now);
    else nest = range_replace(ir, nest, all.p[i], now, 1, &now);
    if (opts) opts_replace(opts, all.p[i], now);
  }
  VEC_FREE(&all);
  return nest;
}

/* A loop of the nest does not run if the extent `several` is 0. */
static bool ends_at_none(const IR *ir, Ref nest, int several) {
  const Nest n = nest_open(ir, nest);
  bool ends = false;
  for (int k = 0; k < n.n && !ends; k++) {
    const int64_t limit = range_limit(node(ir, n.ranges[k]));
    ends = limit && ir->sizes.p[limit - 1].of == several && !tgcrt_size_of(&ir->sizes.p[limit - 1], 0);
  }
  return ends;
}

static bool may_end_at_none(IR *ir, const Kernel *k, int dimension, int several) {
  bool may = true;
  for (size_t i = 0; i < k->states.n && may; i++)
    may = ends_at_none(ir, nest_of_several(ir, &k->states.p[i], dimension, several, NULL), several);
  return may;
}

/* No run runs the nest: it was one for runs of one entry. */
static bool never_runs(const IR *ir, Ref nest) {
  const Nest n = nest_open(ir, nest);
  bool never = false;
  for (int k = 0; k < n.n && !never; k++) {
    const int64_t limit = range_limit(node(ir, n.ranges[k]));
    never = limit && !greatest_size(ir, (int)limit - 1);
  }
  return never;
}

/* Nests that no run runs any more are dropped, unless rests of theirs stay. The first one stays. */
static void end_at_none(IR *ir, Kernel *k, int dimension, int several) {
  for (size_t i = k->states.n; i-- > 0;) {
    NestState *s = &k->states.p[i];
    s->nest = nest_of_several(ir, s, dimension, several, s->opts);
    const bool last = i + 1 == k->states.n || s[1].depth <= s->depth;
    if (!i || !last || !never_runs(ir, s->nest)) continue;
    memmove(s, s + 1, (k->states.n - 1 - i) * sizeof *s);
    k->states.n--;
  }
}

/* Adds the nest to k->states, for runs of one entry, and cuts its rests. Its schedule has no copies of the nest's body, so that
 * it takes little code. */
static void add_single(Plan *p, Kernel *k, Ref nest, int dimension) {
  IR *ir = p->ir;
  const Ref single = sized_if_single(ir, nest, dimension);
  Sb text = { 0 };
  ir->origin = node(ir, nest)->origin;
  Opts o = default_opts(ir, sized_scheduled(ir, nest), p->in->target);
  for (int i = o.n; i-- > 0;)
    if (o.opt[i].lanes == 1 && opens_range(ir, nest, o.opt[i].range)) opts_drop(&o, i);
  opts_complete(ir, single, p->in->target, &o);
  opts_print(ir, single, &o, &text);
  rest_cut(p, k, rest_add(p, k, 0, single, text.p));
  sb_free(&text);
}

/* Kernel number k copies. Changes it and its readers, if this is proved for all of them. */
static void skip_copy(Plan *p, size_t k, const Copy *c) {
  IR *ir = p->ir;
  const int several = sized_several(ir, c->dimension);
  bool may = several >= 0 && may_end_at_none(ir, &p->kernels.p[k], c->dimension, several);
  Refs nests = { 0 };
  for (size_t i = 0; i < p->kernels.n && may; i++) {
    const bool reads = accesses(ir, &p->kernels.p[i], OP_LOAD, c->copy);
    VEC_PUSH(&nests, reads ? nest_of_reader(ir, &p->kernels.p[i], c) : 0);
    may = !reads || (i > k && nests.p[i] && may_end_at_none(ir, &p->kernels.p[i], c->dimension, several));
  }
  for (size_t i = 0; i < p->kernels.n && may; i++) {
    Kernel *reader = &p->kernels.p[i];
    if (i == k || nests.p[i]) end_at_none(ir, reader, c->dimension, several);
    if (nests.p[i]) add_single(p, reader, nests.p[i], c->dimension);
  }
  VEC_FREE(&nests);
}

void step_originals(Plan *p, Kernel *unused) {
  const Target *t = p->in->target;
  Copy c = { 0 };
  (void)unused;
  if (!p->ir->symbols.n || !tunable(p->ir->ctx, sized_single) || t->in_order || t->variants || p->base) return;
  for (size_t k = 0; k < p->kernels.n; k++)
    if (find_copy(p, k, &c)) skip_copy(p, k, &c);
  VEC_FREE(&c.ranges);
}

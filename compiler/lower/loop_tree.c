/* SPDX-License-Identifier: MIT */
/* loop_tree.c: makes the tree of loops of a nest, and finds the loop of each node.
 *
 * Every range is one loop. A nest's ranges form a chain; a reduction's loops are below the deepest loop that its result depends
 * on. A node belongs to the deepest loop it depends on, so loop-invariant code is outside of the loop by construction.
 * Reductions over the same ranges share loops if they are in the same loop and none needs another's result. Otherwise they get
 * ranges of their own first. A reduction over the threads of a block is no loop.
 *
 * needs: a nest   gives: Linear.loop and .scope   keeps: the nest, except ranges of reductions that cannot share loops */
#include "linear.h"
#include "thread_sums.h"
#include <stdlib.h>
#include <string.h>

/* The loop that makes the copy from which a node loads; 0: it loads from none. */
static int panel_loop(Linear *l, const Node *x) {
  const int64_t id = buffer_loaded(l, x);
  return id < 0 ? 0 : (int)refmap_get(&l->panel, (Ref)id + 1);
}

/* The loop of a reduction's range k below loop `at`; -1: the range has a loop elsewhere, which *apart notes. */
static int reduction_loop(Linear *l, Ref red, int k, int at, int level, Apart *apart) {
  const Ref range = node(l->ir, red)->src[k];
  const int o = loop_of(l, range);
  if (o > 0 && l->loop[o].parent == at && l->loop[o].level == level && l->loop[o].first == (k == 1)) return o;
  if (o < 0) {
    const int new = loop_add(l, range, at);
    l->loop[new].level = level;
    l->loop[new].first = k == 1;
    return new;
  }
  if (!apart->range) *apart = (Apart){ .range = range, .parent = at, .level = level, .first = k == 1 };
  const bool same = apart->range == range && apart->parent == at && apart->level == level;
  if (same && apart->first == (k == 1)) VEC_PUSH(&apart->reds, red);
  return -1;
}

/* The copy in shared memory that a node loads from; NULL: none */
static const SharedCopy *copy_loaded(const Linear *l, const Node *x) {
  const int64_t id = buffer_loaded(l, x);
  for (size_t i = 0; i < l->copies.n && id >= 0; i++)
    if (id == l->copies.p[i].buffer) return &l->copies.p[i];
  return NULL;
}

static bool has_ref(const Refs *list, Ref r) {
  for (size_t i = 0; i < list->n; i++)
    if (list->p[i] == r) return true;
  return false;
}

/* Makes the loops of reductions. A RED comes after its value, but the value's scope depends on where the RED's loops are. So
 * one walk first collects the set of open ranges of each node. The level of a reduction is one more than the levels below it,
 * so reductions of one level do not need each other. */
static void make_loops(Linear *l, Apart *apart) {
  IR *ir = l->ir;
  size_t n = l->nodes.n;
  Refs ranges = { 0 };
  int *level = xmalloc((n + 1) * sizeof *level);
  for (size_t i = 0; i < n; i++)
    if (node(ir, l->nodes.p[i])->op == OP_RANGE) VEC_PUSH(&ranges, l->nodes.p[i]);
  size_t words = ranges.n / 64 + 1;
  uint64_t *open = xmalloc((n + 1) * words * sizeof *open);
  memset(open, 0, (n + 1) * words * sizeof *open);
  size_t nth = 0;
  for (size_t i = 0; i < n; i++) {
    const Node *x = node(ir, l->nodes.p[i]);
    uint64_t *me = open + i * words;
    level[i] = x->op == OP_RED;
    if (x->op == OP_RANGE) me[nth / 64] |= (uint64_t)1 << nth % 64, nth++;
    for (size_t w = 0; w < ranges.n && panel_loop(l, x); w++)
      if (ranges.p[w] == l->loop[panel_loop(l, x)].range) me[w / 64] |= (uint64_t)1 << w % 64;
    const SharedCopy *copy = copy_loaded(l, x);
    for (size_t w = 0; w < ranges.n && copy; w++)
      if (has_ref(&copy->free, ranges.p[w])) me[w / 64] |= (uint64_t)1 << w % 64;
    for (int k = 0; k < x->nsrc; k++) {
      const uint32_t source = pos_of(l, x->src[k]);
      uint64_t *from = open + source * words;
      if (level[source] + (x->op == OP_RED) > level[i]) level[i] = level[source] + (x->op == OP_RED);
      if (x->op == OP_RED && k > 0) for (size_t w = 0; w < words; w++) me[w] &= ~from[w];
      else for (size_t w = 0; w < words; w++) me[w] |= from[w];
    }
  }
  /* users before sources: an outer reduction's loops exist before those inside it */
  for (size_t i = n; i-- > 0;) {
    const Node *x = node(ir, l->nodes.p[i]);
    if (x->op != OP_RED || over_threads(l, x)) continue;
    int at = deeper(l, l->threads, l->limited);
    for (size_t w = 0; w < ranges.n; w++)
      if (open[i * words + w / 64] >> w % 64 & 1) {
        int o = loop_of(l, ranges.p[w]);
        CHECK(o > 0 || apart->range);
        if (o > 0) at = deeper(l, o, at);
      }
    for (int k = 1; k < x->nsrc && at >= 0; k++) at = reduction_loop(l, l->nodes.p[i], k, at, level[i], apart);
  }
  free(open);
  free(level);
  VEC_FREE(&ranges);
}

/* The loop that contains a reduction's result. A sum over threads is inside the loop over threads, where its value is. */
static int red_parent(Linear *l, const Node *red) {
  if (over_threads(l, red)) return deeper(l, l->threads, l->scope[pos_of(l, red_value(red))]);
  return l->loop[loop_of(l, red_range(red, 0))].parent;
}

/* Finds the loop of each node. Exceptions move loads and indices inwards:
 * - An input or output may end early. It is loaded inside of loops that run once or not at all, by a size of the run. make_loops
 *   puts reductions there for the same reason. Such a load varies with any longer loop that ends at a size, or needs it not.
 *   The same holds for a load at an index that is loaded itself: if the loop does not run, nobody stored that index.
 * - Indices are computed inside of the loops above, too. Each tile of a few rows has such a loop. Outside of it, indices would
 *   take registers from the other tiles.
 * - Loads for the epilogue stay in the innermost loop if that contains a reduction: across the reduction they would take
 *   registers from accumulators.
 * - A nest that one of a kernel's chunks runs (group.c) loads nothing outside of that chunk, because another one may have
 *   stored there.
 * - A nest with a serial loop loads elements that it stores inside of its loops, because they change.
 * - Tiles are loaded where they are multiplied: the next nest assigns the tile registers anew. */
void find_scopes(Linear *l, int innermost, bool serial) {
  IR *ir = l->ir;
  const Node *first = node(ir, innermost ? l->loop[1].range : 0);
  bool by_one = innermost && range_kind(first) == RK_THREAD && range_extent(first) == 1;
  bool *feeds = xmalloc(l->nodes.n + 1), busy = false; /* feeds: used by a reduction's value */
  bool *loaded = xcalloc(l->nodes.n + 1, sizeof *loaded); /* depends on a load */
  Ref changed = 0;       /* the buffer that a nest with a serial loop stores to */
  for (size_t i = 0; i < l->nodes.n && serial; i++)
    if (node(ir, l->nodes.p[i])->op == OP_STORE) changed = store_buffer(node(ir, l->nodes.p[i]));
  memset(feeds, 0, l->nodes.n);
  for (size_t i = l->nodes.n; i-- > 0;) {
    const Node *x = node(ir, l->nodes.p[i]);
    if (x->op == OP_RED && !over_threads(l, x)) busy |= red_parent(l, x) == innermost;
    for (int k = 0; k < x->nsrc; k++)
      if (feeds[i] || x->op == OP_RED) feeds[pos_of(l, x->src[k])] = true;
  }
  for (size_t i = 0; i < l->nodes.n; i++) {
    const Node *x = node(ir, l->nodes.p[i]);
    int s = x->op == OP_RANGE ? loop_of(l, l->nodes.p[i]) : x->op == OP_RED ? red_parent(l, x) : 0;
    CHECK(s >= 0);
    for (int k = 0; k < x->nsrc && x->op != OP_RED; k++) s = deeper(l, s, l->scope[pos_of(l, x->src[k])]);
    s = deeper(l, s, panel_loop(l, x));
    if (x->op == OP_LOAD && busy && !feeds[i] && within(l, innermost, s)) s = innermost; /* not in loops that make copies */
    if (x->op == OP_LOAD && !s && by_one && !feeds[i]) s = 1;
    if (x->op == OP_LOAD && load_buffer(x) == changed) s = innermost;
    loaded[i] = x->op == OP_LOAD;
    for (int k = 0; k < x->nsrc && !loaded[i]; k++) loaded[i] = loaded[pos_of(l, x->src[k])];
    const bool ends = x->op == OP_LOAD && buf_ends_early(&ir->bufs.p[buffer_id(node(ir, load_buffer(x)))]);
    if (ends || (x->op == OP_LOAD && loaded[pos_of(l, access_index(x))])) s = deeper(l, s, l->limited);
    if (x->nsrc && x->dt == DT_I64 && x->lanes == 1) s = deeper(l, s, l->limited);
    l->scope[i] = s;
    for (Ref mma = x->op == OP_RED ? red_value(x) : 0; mma && node(ir, mma)->op == OP_MMA; mma = mma_sum(node(ir, mma)))
      for (int k = 0; k < 3; k++) l->scope[pos_of(l, k ? node(ir, mma)->src[k] : mma)] = loop_of(l, x->src[x->nsrc - 1]);
  }
  free(feeds);
  free(loaded);
}

/* The stores of a copy of an operand; NULL: this part of the nest is no copy */
static const Ref *copy_stores(const IR *ir, Ref part, int *n, int64_t *buffer) {
  const Node *copy = node(ir, part), *body;
  if (copy->op != OP_NEST) return NULL;
  body = node(ir, nest_body(copy));
  const Ref *store = body->op == OP_SINK ? body->src : copy->src;
  *n = body->op == OP_SINK ? body->nsrc : 1;
  *buffer = buffer_id(node(ir, store_buffer(node(ir, store[0]))));
  return store;
}

/* Adds the loops of a copy that loop `at` makes; -> the innermost one */
static int copy_loops(Linear *l, const Node *copy, int64_t buffer, int at) {
  int in = at;
  for (int j = 1; j < copy->nsrc; j++) in = loop_add(l, copy->src[j], in);
  refmap_set(&l->panel, (Ref)buffer + 1, (uint32_t)at);
  return in;
}

/* Adds the loops of copies that loop `at` makes, before the loops that read them. */
static void panel_loops(Linear *l, const Nest *n, int k, int at) {
  const Node *parts = node(l->ir, n->store);
  for (int i = 0; i < parts->nsrc && parts->op == OP_SINK; i++) {
    int deepest = n->n - 1, nstores;
    int64_t buffer;
    const Ref *store = copy_stores(l->ir, parts->src[i], &nstores, &buffer);
    if (!store || l->ir->bufs.p[buffer].kind == BUF_SHARED) continue;
    while (deepest > 0 && !ix_uses(l->ir, parts->src[i], n->ranges[deepest]) && !range_limit(node(l->ir, n->ranges[deepest])))
      deepest--;
    if (deepest != k) continue;
    const int in = copy_loops(l, node(l->ir, parts->src[i]), buffer, at);
    for (int j = 0; j < nstores; j++) VEC_PUSH(in == at ? &l->loop[in].locals : &l->loop[in].sets, store[j]);
  }
}

/* Adds the loops of copies into shared memory, which all threads make. They are in the nest's innermost loop `at`, or in the
 * loop of a reduction that the copy varies with. */
static void shared_loops(Linear *l, int at) {
  for (size_t i = 0; i < l->copies.n; i++) {
    const SharedCopy *c = &l->copies.p[i];
    int64_t buffer;
    int in = at, nstores;
    const Ref *store = copy_stores(l->ir, c->nest, &nstores, &buffer);
    for (size_t k = 0; k < c->free.n; k++) in = deeper(l, loop_of(l, c->free.p[k]), in);
    const int first = l->nloops, last = copy_loops(l, node(l->ir, c->nest), buffer, in);
    if (last != in) l->loop[first].fill = true;
    for (int j = 0; j < nstores; j++) VEC_PUSH(last == in ? &l->loop[in].fills : &l->loop[last].sets, store[j]);
  }
}

static void find_copies(Linear *l, const Nest *n) {
  const Node *parts = node(l->ir, n->store);
  for (int i = 0; i < parts->nsrc && parts->op == OP_SINK; i++) {
    SharedCopy c = { .nest = parts->src[i] };
    Refs ranges = { 0 };
    int nstores;
    if (!copy_stores(l->ir, c.nest, &nstores, &c.buffer) || l->ir->bufs.p[c.buffer].kind != BUF_SHARED) continue;
    collect_ranges(l->ir, c.nest, &ranges);
    for (size_t k = 0; k < ranges.n; k++)
      if (!opens_range(l->ir, c.nest, ranges.p[k])) VEC_PUSH(&c.free, ranges.p[k]);
    VEC_FREE(&ranges);
    VEC_PUSH(&l->copies, c);
  }
}

static void drop_node(Linear *l, Ref r) {
  size_t at = 0;
  while (l->nodes.p[at] != r) at++;
  memmove(&l->nodes.p[at], &l->nodes.p[at + 1], (l->nodes.n - at - 1) * sizeof(Ref));
  l->nodes.n--;
}

int linear_open(Linear *l, const Nest *n, Ref nest, Apart *apart) {
  IR *ir = l->ir;
  Refs roots = { 0 };
  group_places(ir, nest, l->shared->warp, &roots);
  VEC_PUSH(&roots, nest);
  ir_toposort(ir, roots.p, roots.n, &l->nodes);
  VEC_FREE(&roots);
  l->nodes.n--; /* without the NEST itself */
  const Node *parts = node(ir, n->store);
  if (parts->op == OP_SINK) drop_node(l, n->store); /* and without its SINK, which is not the last node if ranges follow */
  for (int k = 0; k < parts->nsrc && parts->op == OP_SINK; k++) {
    const Node *copy = node(ir, parts->src[k]);
    if (copy->op != OP_NEST) continue;
    drop_node(l, parts->src[k]);
    if (node(ir, nest_body(copy))->op == OP_SINK) drop_node(l, nest_body(copy));
  }
  for (l->npos = 64; l->npos < l->nodes.n * 2; l->npos *= 2) {}
  l->pos = xmalloc(l->npos * sizeof *l->pos);
  memset(l->pos, 0, l->npos * sizeof *l->pos);
  for (size_t i = 0; i < l->nodes.n; i++) *pos_slot(l, l->nodes.p[i]) = (uint32_t)i + 1;
  l->scope = xmalloc((l->nodes.n + 1) * sizeof *l->scope);
  l->done = xmalloc((l->nodes.n + 1) * sizeof *l->done);
  l->hoisted = xmalloc((l->nodes.n + 1) * sizeof *l->hoisted);
  l->value = xmalloc((l->nodes.n + 1) * sizeof *l->value);
  memset(l->hoisted, 0, l->nodes.n * sizeof *l->hoisted);
  l->loop[0] = (Loop){ 0 };
  l->nloops = 1; /* 0: outside of all loops */
  int at = 0;
  for (int k = 0; k < n->n; k++) {
    at = loop_add(l, n->ranges[k], at);
    if (range_is_thread(range_kind(node(ir, n->ranges[k])))) l->threads = at;
    if (range_limit(node(ir, n->ranges[k])) && range_extent(node(ir, n->ranges[k])) == 1) l->limited = at;
    panel_loops(l, n, k, at);
  }
  find_copies(l, n);
  make_loops(l, apart);
  if (!apart->range) shared_loops(l, at);
  return at;
}

void linear_free(Linear *l) {
  for (int i = 0; i < l->nloops; i++) {
    VEC_FREE(&l->loop[i].sets);
    VEC_FREE(&l->loop[i].hints);
    VEC_FREE(&l->loop[i].fills);
    VEC_FREE(&l->loop[i].locals);
  }
  for (size_t i = 0; i < l->copies.n; i++) VEC_FREE(&l->copies.p[i].free);
  VEC_FREE(&l->copies);
  VEC_FREE(&l->nodes);
  refmap_free(&l->panel);
  free(l->pos);
  free(l->scope);
  free(l->done);
  free(l->hoisted);
  free(l->value);
  free(l->gate);
  free(l->row);
  free(l);
}

/* The nest with a new range for reductions that cannot share their range's loop with the others. */
Ref part_reductions(IR *ir, Ref nest, const Apart *apart) {
  const Node *r = node(ir, apart->range);
  const Ref own = range_again(ir, r);
  Refs to = { 0 };
  for (size_t i = 0; i < apart->reds.n; i++) VEC_PUSH(&to, range_replace(ir, apart->reds.p[i], apart->range, own, 1, &own));
  nest = ix_subst(ir, nest, (int)to.n, apart->reds.p, to.p);
  VEC_FREE(&to);
  return nest;
}

/* Copies of one walk share the range, so their steps alternate. */
Ref loops_of_repeats(IR *ir, Ref nest) {
  Refs all = { 0 }, src = { 0 };
  RefMap now = { 0 }, range = { 0 }; /* range: by the number of the walk + 1 */
  bool any = false;
  ir_toposort(ir, &nest, 1, &all);
  for (size_t i = 0; i < all.n; i++) any |= node(ir, all.p[i])->op == OP_REPEAT;
  for (size_t i = 0; i < all.n && any; i++) {
    const Node *x = node(ir, all.p[i]);
    src.n = 0;
    for (int k = 0; k < x->nsrc; k++) {
      VEC_PUSH(&src, refmap_get(&now, x->src[k]));
      if (x->op != OP_HELD || k) continue;
      const Ref number = (Ref)held_id(x) + 1;
      if (!refmap_get(&range, number)) refmap_set(&range, number, range_new(ir, held_steps(x), RK_REDUCE));
      VEC_PUSH(&src, refmap_get(&range, number));
    }
    x = node(ir, all.p[i]);
    Ref to = all.p[i];
    if (x->op == OP_HELD) to = node_make(ir, OP_HELD, (DType)x->dt, 1, (int)src.n, src.p, x->narg, x->arg, 0, NULL);
    else if (x->op == OP_REPEAT)
      to = node_make(ir, OP_RED, (DType)x->dt, 1, 2, (Ref[]){ src.p[0], held_key(node(ir, src.p[1]), 0) }, 1,
                     (int64_t[]){ OP_HELD }, 0, NULL);
    else if (x->nsrc) to = node_with_src(ir, all.p[i], src.p);
    refmap_set(&now, all.p[i], to);
  }
  if (any) nest = refmap_get(&now, nest);
  refmap_free(&now);
  refmap_free(&range);
  VEC_FREE(&all);
  VEC_FREE(&src);
  return nest;
}

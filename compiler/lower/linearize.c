/* SPDX-License-Identifier: MIT */
/* linearize.c: turns nests of expressions into a list of micro-ops.
 *
 * Every range is one loop of a tree. A nest's ranges form a chain; a reduction's loops are below the deepest loop that its
 * result depends on. A node belongs to the deepest loop it depends on, so loop-invariant code is outside of the loop by
 * construction. Inside a loop, items (nodes and inner loops) are listed depth first from stores and sums. This keeps a load
 * close to its first use and register pressure low.
 *
 * A reduction becomes an ACC before its outermost loop, a SET in the innermost and a GET after. Reductions over the same ranges
 * share loops if they are in the same loop and none needs another's result. Otherwise they get ranges of their own first. A
 * reduction over the threads of a block is no loop: threads exchange values in shared memory.
 *
 * needs: nests with only loops left (expand.c), of ops that the backend has (legalize.c)
 * gives: a program that ir_verify_program accepts, the buffers it names, Kernel.schedule   keeps: the value of every element
 * breaks: Kernel.states, which is empty afterwards */
#include "../opt/opts.h"
#include "lower.h"
#include <stdlib.h>
#include <string.h>

enum { MAX_LOOPS = 256, MAX_PARTS_ADDED = 64 }; /* most loops of a program; most values of a group that one thread combines */

typedef struct Loop {
  Ref range;
  int parent, depth;
  int level;                     /* level of its reductions (make_loops); 0: a loop of the nest or of a copy */
  bool first;                    /* the outermost loop of those reductions */
  Refs sets;                     /* SETs and STOREs that belong here, in order */
  Refs hints;                    /* PREFETCHes: no loop is made for them alone */
  Refs fills;                    /* STOREs of copies into shared memory that have no loops of their own */
  Refs locals;                   /* STOREs into local memory that have no loops of their own, and come before the loop's loops */
  bool fill;                     /* the outermost loop of such a copy */
  bool emitted;
} Loop;

/* State that the nests of a program share */
struct Shared {
  RefMap top;                    /* outside all loops: a node to its value in the program */
  Refs visible;                  /* constants and ranges defined in the open blocks */
  RefMap index;                  /* into visible, plus 1; stale where another node is there */
  int warp;                      /* threads that exchange values without memory; 0: all exchange in shared memory */
};

/* A copy of an operand into shared memory, which all threads of a block make */
typedef struct SharedCopy {
  Ref nest;
  int64_t buffer;
  Refs free;                     /* ranges that the nest varies with, without its own */
} SharedCopy;

typedef struct Linear {
  IR *ir;
  Refs *prog;
  int nloops;
  int limited;                   /* the innermost loop of the nest that runs once or not at all, by a size of the run; 0: none */
  int threads;                   /* the innermost loop over threads, which contains all variables; 0: none */
  Refs nodes;                    /* nodes of the nest, sources first */
  int *scope;                    /* by position in nodes: loop */
  bool *done;                    /* by position in nodes */
  int *hoisted;                  /* by position in nodes: the loop hoist() last saw it for */
  Ref *value;                    /* by position in nodes: its value in the program */
  Ref *gate;                     /* by position in nodes: the condition of the row that all users are for; 0: there is none */
  int *row;                      /* the row; 0: gate is 0 */
  Ref tile_gate;                 /* the condition of the first row of a tile, if a tile may have no rows; else 0 */
  int tile_row, tile_rows;       /* numbers of the first and of the last row */
  int tile_loop;                 /* the innermost loop of the nest */
  VEC(SharedCopy) copies;
  RefMap panel;                  /* buffer + 1 of a copy (stage.c, stage_shared.c) to the loop it is made in */
  uint32_t *pos;                 /* by Ref - base hash: position in nodes */
  uint32_t npos;
  Shared *shared;
  Loop loop[MAX_LOOPS];          /* set as they are added: a model may have 100,000 small nests */
} Linear;

static uint32_t *pos_slot(Linear *l, Ref r) {
  uint32_t h = r * 2654435761u;
  while (l->pos[h & (l->npos - 1)] && l->nodes.p[l->pos[h & (l->npos - 1)] - 1] != r) h++;
  return &l->pos[h & (l->npos - 1)];
}
static uint32_t pos_of(Linear *l, Ref r) { return *pos_slot(l, r) - 1; }

static int loop_of(Linear *l, Ref range) {
  for (int i = 1; i < l->nloops; i++)
    if (l->loop[i].range == range) return i;
  return -1;
}

static int loop_add(Linear *l, Ref range, int parent) {
  CHECK(l->nloops < MAX_LOOPS);
  l->loop[l->nloops] = (Loop){ .range = range, .parent = parent, .depth = l->loop[parent].depth + 1 };
  return l->nloops++;
}

/* Whether threads of a block add their values: the reduction is over their ranges. */
static bool over_threads(const Linear *l, const Node *x) {
  return x->op == OP_RED && range_is_thread(range_kind(node(l->ir, red_range(x, 0))));
}

static int deeper(const Linear *l, int a, int b) { return l->loop[a].depth >= l->loop[b].depth ? a : b; }
static bool within(const Linear *l, int inner, int outer) {
  while (inner != outer && inner) inner = l->loop[inner].parent;
  return inner == outer;
}

/* The buffer of a copy that a node loads from; -1: none. Tiles of CPUs count as loaded where they are multiplied. */
static int64_t buffer_loaded(const Linear *l, const Node *x) {
  const int64_t id = x->op == OP_LOAD || x->op == OP_TILE ? buffer_id(node(l->ir, access_buffer(x))) : -1;
  return x->op == OP_TILE && l->ir->bufs.p[id].kind != BUF_SHARED ? -1 : id;
}

/* The loop that makes the copy from which a node loads; 0: it loads from none. */
static int panel_loop(Linear *l, const Node *x) {
  const int64_t id = buffer_loaded(l, x);
  return id < 0 ? 0 : (int)refmap_get(&l->panel, (Ref)id + 1);
}

/* Reductions that cannot share a range's loop with earlier ones. They have equal parents and levels, so they share another
 * loop. */
typedef struct Apart {
  Ref range;                     /* 0: all reductions have their loops */
  int parent, level;
  bool first;
  Refs reds;
} Apart;

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
static void find_scopes(Linear *l, int innermost, bool serial) {
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

/* ---- emission ---- */
static Ref put(Linear *l, Op op, DType d, int lanes, int n, const Ref *src, int narg, const int64_t *arg) {
  Ref r = node_make(l->ir, op, d, lanes, n, src, narg, arg, 0, NULL);
  VEC_PUSH(l->prog, r);
  return r;
}

/* Lists a leaf once in each block that uses it. */
static Ref put_leaf(Linear *l, Ref r) {
  Shared *s = l->shared;
  uint32_t at = refmap_get(&s->index, r);
  if (at && at <= s->visible.n && s->visible.p[at - 1] == r) return r;
  VEC_PUSH(&s->visible, r);
  refmap_set(&s->index, r, (uint32_t)s->visible.n);
  VEC_PUSH(l->prog, r);
  return r;
}

static Ref need(Linear *l, Ref r);
static void emit_loop(Linear *l, int loop);
static void hoist_places(Linear *l, const Node *red, int at, int loop);

/* acc op value, term by term, so that an unrolled sum adds to the accumulator in order */
static Ref accumulate(Linear *l, Op op, Ref acc, Ref value) {
  IR *ir = l->ir;
  const Node *x = node(ir, value);
  const Node *last = x->op == OP_ADD ? node(ir, rhs(x)) : x;
  const bool dot = last->op == OP_DOT || last->op == OP_WMMA;
  if (l->done[pos_of(l, value)] || op != OP_ADD || (!dt_float((DType)x->dt) && !dot)) {
    return put(l, op, (DType)x->dt, x->lanes, 2, (Ref[]){ acc, need(l, value) }, 0, NULL);
  }
  if (x->op == OP_ADD) return accumulate(l, op, accumulate(l, op, acc, lhs(x)), rhs(x));
  if (dot && x->op == OP_DOT && node(ir, dot_sum(x))->op == OP_DOT) acc = accumulate(l, op, acc, dot_sum(x));
  if (x->op == OP_WMMA && node(ir, wmma_sum(x))->op == OP_WMMA) acc = accumulate(l, op, acc, wmma_sum(x));
  if (dot) { /* its own sum is 0, or products that have been added */
    const bool wide = x->op == OP_WMMA;
    Ref a = need(l, wide ? wmma_x(x) : dot_x(x)), b = need(l, wide ? wmma_y(x) : dot_y(x));
    return put(l, (Op)x->op, (DType)x->dt, x->lanes, 3, (Ref[]){ acc, a, b }, x->narg, x->arg);
  }
  if (x->op == OP_MUL) {
    Ref a = need(l, lhs(x)), b = need(l, rhs(x));
    return put(l, OP_MULACC, (DType)x->dt, x->lanes, 3, (Ref[]){ a, b, acc }, 0, NULL);
  }
  return put(l, op, (DType)x->dt, x->lanes, 2, (Ref[]){ acc, need(l, value) }, 0, NULL);
}

/* The HELD in the value of a RED that stands for a REPEAT */
static Ref held_by(Linear *l, const Node *red) {
  Refs all = { 0 };
  Ref found = 0;
  ir_toposort(l->ir, (Ref[]){ red_value(red) }, 1, &all);
  for (size_t i = 0; i < all.n; i++)
    if (node(l->ir, all.p[i])->op == OP_HELD && held_key(node(l->ir, all.p[i]), 0) == red_range(red, 0)) found = all.p[i];
  VEC_FREE(&all);
  CHECK(found);
  return found;
}

static const Ref *product_of(const IR *ir, Ref sum) { /* the two factors of a sum of products; NULL: a sum of other terms */
  const Node *x = node(ir, red_value(node(ir, sum)));
  return x->op == OP_MUL || x->op == OP_DOT ? &x->src[x->nsrc - 2] : NULL;
}

/* Two values that a shuffle of their vectors joins (shuffle.c) count as one factor: that shuffle. */
static void pair_factors(Linear *l, const Refs *sums, uint32_t *factor) {
  const IR *ir = l->ir;
  for (size_t i = 0; i < l->nodes.n; i++) factor[i] = (uint32_t)i;
  for (size_t i = 0; i < sums->n; i++)
    for (int k = 0; k < 2; k++) {
      const Ref by = product_of(ir, sums->p[i])[k];
      const Node *x = node(ir, by);
      if (x->op != OP_SHUFFLE || node(ir, lhs(x))->op != OP_BCAST || node(ir, rhs(x))->op != OP_BCAST) continue;
      factor[pos_of(l, lhs(x))] = factor[pos_of(l, rhs(x))] = pos_of(l, by);
    }
}

/* Orders sums of products to need few registers. The shorter side of a tile stays in registers; an element of the longer side
 * is loaded for all its products together. So the next sum is one that needs fewest new factors, and among these one whose
 * factors have fewest uses left. Stores need not follow this order: results that shuffles combine (shuffle.c) ask for whole
 * rows. */
static void order_products(Linear *l, Refs *sums) {
  IR *ir = l->ir;
  size_t *uses = xmalloc((l->nodes.n + 1) * sizeof *uses);
  uint32_t *as = xmalloc((l->nodes.n + 1) * sizeof *as); /* by node: the factor that it counts as */
  bool *there = xmalloc(l->nodes.n + 1), products = true;
  memset(uses, 0, l->nodes.n * sizeof *uses);
  memset(there, 0, l->nodes.n);
  for (size_t i = 0; i < sums->n && products; i++) products = product_of(ir, sums->p[i]) != NULL;
  if (products) pair_factors(l, sums, as);
  for (size_t i = 0; i < sums->n && products; i++)
    for (int k = 0; k < 2; k++) uses[as[pos_of(l, product_of(ir, sums->p[i])[k])]]++;
  for (size_t at = 0; at < sums->n && products; at++) {
    size_t best = at, least = SIZE_MAX;
    for (size_t i = at; i < sums->n; i++) {
      size_t cost = 0;
      for (int k = 0; k < 2; k++) {
        const uint32_t factor = as[pos_of(l, product_of(ir, sums->p[i])[k])];
        cost += there[factor] ? uses[factor] : sums->n;
      }
      if (cost < least) least = cost, best = i;
    }
    const Ref next = sums->p[best];
    memmove(&sums->p[at + 1], &sums->p[at], (best - at) * sizeof(Ref));
    sums->p[at] = next;
    for (int k = 0; k < 2; k++) {
      const uint32_t factor = as[pos_of(l, product_of(ir, next)[k])];
      there[factor] = true;
      uses[factor]--;
    }
  }
  free(uses);
  free(as);
  free(there);
}

/* ---- rows that few tiles have ---- */
/* A lower tile has the sums of the highest one (opt/sized.c). Stores of rows that it does not have are closed. Their sums are not
 * computed, either. For example, row 3 is inside of a condition in each step of a reduction, and row 4 is inside of a further
 * condition within that one. */

/* All stores may be closed: then the tile has no rows. */
static void find_tile_gate(Linear *l, int innermost) {
  int least = 0;
  Ref gate = 0;
  for (size_t i = 0; i < l->nodes.n; i++) {
    if (node(l->ir, l->nodes.p[i])->op != OP_STORE) continue;
    if (!l->row[i]) return;
    if (!least || l->row[i] < least) least = l->row[i], gate = l->gate[i];
    if (l->row[i] > l->tile_rows) l->tile_rows = l->row[i];
  }
  if (!gate || pos_of(l, gate) >= l->nodes.n) return;
  l->tile_gate = gate;
  l->tile_row = least;
  l->tile_loop = innermost;
}

/* Finds which nodes are for closed stores only. */
static void find_row_gates(Linear *l, const Nest *n) {
  IR *ir = l->ir;
  bool *used = xcalloc(l->nodes.n + 1, sizeof *used);
  l->gate = xcalloc(l->nodes.n + 1, sizeof *l->gate);
  l->row = xcalloc(l->nodes.n + 1, sizeof *l->row);
  Ref last = 0, now = 0;
  int row = 0;
  for (size_t i = l->nodes.n; i-- > 0;) {
    const Node *x = node(ir, l->nodes.p[i]);
    const Ref gate = x->op == OP_STORE ? store_gate(x) : 0;
    if (gate && gate != last) now = sized_row_gate(ir, n, gate, &row), last = gate; /* all vectors of a row have one gate */
    if (gate && now) l->gate[i] = now, l->row[i] = row;
    for (int k = 0; k < x->nsrc && x->op != OP_PREFETCH; k++) {
      const uint32_t s = pos_of(l, x->src[k]);
      if (used[s] && l->row[s] != l->row[i]) l->gate[s] = 0, l->row[s] = 0;
      if (!used[s]) l->gate[s] = l->gate[i], l->row[s] = l->row[i];
      used[s] = true;
    }
  }
  free(used);
}

/* The terms of a sum need no other loop, and no variable or tile of a matrix unit. */
static bool has_plain_terms(const IR *ir, Ref sum) {
  Refs all = { 0 };
  bool plain = true;
  ir_toposort(ir, (Ref[]){ red_value(node(ir, sum)) }, 1, &all);
  for (size_t i = 0; i < all.n; i++) {
    const Op op = (Op)node(ir, all.p[i])->op;
    plain &= op != OP_RED && op != OP_MMA && op != OP_TILE && op != OP_HELD && op != OP_REPEAT;
  }
  VEC_FREE(&all);
  return plain;
}

/* Sorts sums by their rows, if conditions may be around them. Otherwise, none has a gate afterwards. */
static void sort_by_rows(Linear *l, Refs *sums) {
  const IR *ir = l->ir;
  bool any = false, plain = true;
  for (size_t i = 0; i < sums->n && l->gate; i++) any |= l->row[pos_of(l, sums->p[i])] > 0;
  if (!any) return;
  for (size_t i = 0; i < sums->n && plain; i++) plain = has_plain_terms(ir, sums->p[i]);
  for (size_t i = 0; i < sums->n && !plain; i++) l->row[pos_of(l, sums->p[i])] = 0;
  for (size_t i = 1; i < sums->n && plain; i++) {
    const Ref sum = sums->p[i];
    size_t at = i;
    for (; at && l->row[pos_of(l, sums->p[at - 1])] > l->row[pos_of(l, sum)]; at--) sums->p[at] = sums->p[at - 1];
    sums->p[at] = sum;
  }
}

/* Emits indices and constants of sums before the conditions around them: what follows may use them, too. */
static void need_indices(Linear *l, const Refs *sums) {
  Refs all = { 0 };
  for (size_t i = 0; i < sums->n; i++)
    if (node(l->ir, sums->p[i])->op == OP_RED) ir_toposort(l->ir, (Ref[]){ red_value(node(l->ir, sums->p[i])) }, 1, &all);
  for (size_t i = 0; i < all.n; i++) {
    const Node *x = node(l->ir, all.p[i]);
    const bool constant = x->op == OP_BCAST && node(l->ir, operand(x))->op == OP_CONST;
    if ((x->op != OP_LOAD && x->dt == DT_I64 && x->lanes == 1) || constant) need(l, all.p[i]);
  }
  VEC_FREE(&all);
}

/* One pass of the loops computes all reductions over them. */
static void emit_reduction(Linear *l, Ref r) {
  IR *ir = l->ir;
  int top = loop_of(l, red_range(node(ir, r), 0));
  Refs mine = { 0 };
  for (size_t i = 0; i < l->nodes.n; i++) {
    const Node *x = node(ir, l->nodes.p[i]);
    if (x->op == OP_RED && loop_of(l, red_range(x, 0)) == top) VEC_PUSH(&mine, l->nodes.p[i]);
  }
  order_products(l, &mine);
  sort_by_rows(l, &mine);
  Ref *acc = xmalloc(mine.n * sizeof *acc);
  for (size_t i = 0; i < mine.n; i++) {
    const Node *x = node(ir, mine.p[i]);
    int64_t id = ir->next_range++;
    if (red_op(x) == OP_HELD) {
      const Ref first = need(l, held_init(node(ir, held_by(l, x))));
      acc[i] = put(l, OP_ACC, (DType)x->dt, 1, 1, &first, 1, &id);
      l->value[pos_of(l, mine.p[i])] = acc[i];
      VEC_PUSH(&l->loop[loop_of(l, red_range(x, 0))].sets, mine.p[i]);
      continue;
    }
    Ref zero = c_bits(ir, (DType)x->dt, reduce_identity(red_op(x), (DType)x->dt));
    put_leaf(l, zero);
    if (x->lanes > 1) zero = put_leaf(l, node_make(ir, OP_BCAST, (DType)x->dt, x->lanes, 1, &zero, 0, NULL, 0, NULL));
    acc[i] = put(l, OP_ACC, (DType)x->dt, x->lanes, 1, &zero, 1, &id);
    l->value[pos_of(l, mine.p[i])] = acc[i];
    VEC_PUSH(&l->loop[loop_of(l, x->src[x->nsrc - 1])].sets, mine.p[i]);
  }
  for (size_t i = 0; i < mine.n && l->gate; i++) {
    const Ref gate = l->row[pos_of(l, mine.p[i])] ? l->gate[pos_of(l, mine.p[i])] : 0;
    if (gate && pos_of(l, gate) < l->nodes.n) need(l, gate); /* outside of the loops */
  }
  emit_loop(l, top);
  for (size_t i = 0; i < mine.n; i++) {
    const Node *x = node(ir, mine.p[i]);
    l->value[pos_of(l, mine.p[i])] = put(l, OP_GET, (DType)x->dt, x->lanes, 1, &acc[i], 0, NULL);
    l->done[pos_of(l, mine.p[i])] = true;
  }
  free(acc);
  VEC_FREE(&mine);
}

/* Emits the parts of r that must exist in loop `at` before r is computed in a loop below. `at` is the innermost open loop. */
static void hoist(Linear *l, Ref r, int at, int loop) {
  uint32_t i = pos_of(l, r);
  const Node *x = node(l->ir, r);
  if (l->done[i] || l->hoisted[i] == loop || x->op == OP_HELD) return;
  l->hoisted[i] = loop;
  int s = l->scope[i];
  if (s == at || !within(l, s, at)) {
    need(l, r);
    return;
  }
  for (int k = 0; k < x->nsrc; k++) hoist(l, x->src[k], at, loop);
  if (over_threads(l, x)) hoist_places(l, x, at, loop);
}

static void open_effects(Linear *l, int loop, int at, int top) { /* effects of the loop and of all loops below it */
  for (size_t i = 0; i < l->loop[loop].sets.n; i++) {
    const Node *x = node(l->ir, l->loop[loop].sets.p[i]);
    for (int k = 0; k < (x->op == OP_RED ? 1 : x->nsrc); k++) hoist(l, x->src[k], at, top);
  }
  for (int own = 0; own < 2; own++) {
    const Refs *copies = own ? &l->loop[loop].locals : &l->loop[loop].fills;
    for (size_t i = 0; i < copies->n; i++) {
      const Node *x = node(l->ir, copies->p[i]);
      for (int k = 0; k < x->nsrc; k++) hoist(l, x->src[k], at, top);
    }
  }
  for (size_t i = 0; i < l->loop[loop].hints.n; i++) hoist(l, prefetch_index(node(l->ir, l->loop[loop].hints.p[i])), at, top);
  for (int c = 1; c < l->nloops; c++)
    if (l->loop[c].parent == loop && c != loop) open_effects(l, c, at, top);
}

/* ---- sums over threads ---- */
/* The places of a thread in the memory of a group. They are nodes of the nest, so that each is computed in its proper loop. */
typedef struct Group {
  int64_t threads, size;   /* threads of the block, and of the group */
  int64_t firsts;          /* threads that add the parts of the others */
  int64_t step;            /* from an element of the group to the next one */
  bool beside;             /* its threads have consecutive numbers that begin with a multiple of its size */
  Ref part, sum;           /* places of this thread's value, and of its partial sum as one of the first */
  Ref sums;                /* place of the group's first partial sum */
  Ref first;               /* whether this thread is one of the first */
} Group;

static bool has_source(const Node *x, Ref r) {
  for (int k = 1; k < x->nsrc; k++)
    if (x->src[k] == r) return true;
  return false;
}

static Ref append_digit(IR *ir, Ref number, Ref range) {
  return ix_add(ir, ix_mul(ir, number, range_extent(node(ir, range))), range);
}

/* all: the ranges of the nest. Neighbouring threads have neighbouring elements. So the stride of a group's elements is that of
 * its threads, unless another range is between its ranges. */
static Group group_of(IR *ir, const Node *red, const Ref *all, int n) {
  Group g = { .threads = 1, .size = 1, .step = 1 };
  Ref mine = ix_const(ir, 0), outer = mine, inner = mine;
  bool ended = false, parted = false;
  for (int k = 0; k < n; k++) {
    if (!range_is_thread(range_kind(node(ir, all[k])))) continue;
    parted |= ended && has_source(red, all[k]);
    ended |= g.size > 1 && !has_source(red, all[k]);
    if (has_source(red, all[k])) g.size *= range_extent(node(ir, all[k]));
  }
  for (int k = 0, seen = 0; k < n; k++) {
    const Node *r = node(ir, all[k]);
    if (!range_is_thread(range_kind(r))) continue;
    const bool member = has_source(red, all[k]), inside = seen && !parted;
    g.threads *= range_extent(r);
    seen |= member;
    Ref *to = member ? &mine : inside ? &inner : &outer;
    *to = append_digit(ir, *to, all[k]);
    if (to == &inner) g.step *= range_extent(r);
  }
  g.beside = !parted && g.step == 1;
  g.firsts = group_firsts(g.size);
  g.part = ix_add(ir, ix_mul(ir, ix_add(ir, ix_mul(ir, outer, g.size), mine), g.step), inner);
  g.sums = ix_add(ir, ix_mul(ir, outer, g.firsts * g.step), inner);
  g.sum = ix_add(ir, ix_mul(ir, ix_add(ir, ix_mul(ir, outer, g.firsts), mine), g.step), inner);
  g.first = ix_lt(ir, mine, ix_const(ir, g.firsts));
  return g;
}

static Ref part_place(IR *ir, const Group *g, int64_t k) { return ix_add(ir, g->part, ix_const(ir, k * g->firsts * g->step)); }
static Ref sum_place(IR *ir, const Group *g, int64_t k) { return ix_add(ir, g->sums, ix_const(ir, k * g->step)); }

/* Whether the group's threads exchange values without memory. */
static bool in_warp(const Group *g, int warp) { return g->beside && g->size <= warp && !(g->size & (g->size - 1)); }

static void list_places(IR *ir, const Group *g, int warp, Refs *out) {
  if (in_warp(g, warp)) return;
  const Ref place[] = { g->part, g->sum, g->first };
  for (int k = 0; k < 3; k++) VEC_PUSH(out, place[k]);
  for (int64_t k = 0; k < g->size / g->firsts; k++) VEC_PUSH(out, part_place(ir, g, k));
  for (int64_t k = 0; k < g->firsts; k++) VEC_PUSH(out, sum_place(ir, g, k));
}

/* Collects the nodes for the places of all groups of the nest. */
static void group_places(IR *ir, Ref nest, int warp, Refs *out) {
  const Node *x = node(ir, nest);
  Refs all = { 0 };
  ir_toposort(ir, &nest, 1, &all);
  for (size_t i = 0; i < all.n; i++) {
    const Node *red = node(ir, all.p[i]);
    if (red->op != OP_RED || !range_is_thread(range_kind(node(ir, red_range(red, 0))))) continue;
    const Group g = group_of(ir, red, x->src + 1, x->nsrc - 1);
    list_places(ir, &g, warp, out);
  }
  VEC_FREE(&all);
}

static Ref shared_buffer(Linear *l, DType d, int64_t elems) {
  const int64_t id = (int64_t)l->ir->bufs.n;
  VEC_PUSH(&l->ir->bufs, ((Buf){ .kind = BUF_SHARED, .dt = d, .elems = elems, .offset = -1 }));
  return put_leaf(l, node_make(l->ir, OP_BUFFER, d, 1, 0, NULL, 1, &id, 0, NULL));
}

static void put_barrier(Linear *l) {
  const int64_t id = l->ir->next_range++;
  put(l, OP_BARRIER, DT_NONE, 1, 0, NULL, 1, &id);
}

/* Combines value[0..n) by halves; n is a power of two */
static Ref combined(Linear *l, Op op, DType d, Ref *value, int64_t n) {
  for (; n > 1; n /= 2)
    for (int64_t i = 0; i < n / 2; i++) value[i] = put(l, op, d, 1, 2, (Ref[]){ value[i], value[i + n / 2] }, 0, NULL);
  return value[0];
}

static Group group_in_loops(const Linear *l, const Node *red) {
  Ref ranges[MAX_RANGES];
  int n = 0;
  for (int k = 1; k < l->nloops; k++)
    if (range_is_thread(range_kind(node(l->ir, l->loop[k].range)))) ranges[n++] = l->loop[k].range;
  return group_of(l->ir, red, ranges, n);
}

static void hoist_places(Linear *l, const Node *red, int at, int loop) {
  const Group g = group_in_loops(l, red);
  Refs places = { 0 };
  list_places(l->ir, &g, l->shared->warp, &places);
  for (size_t i = 0; i < places.n; i++) hoist(l, places.p[i], at, loop);
  VEC_FREE(&places);
}

/* Sums a group within a warp. In each step a thread adds the value of the thread whose number differs in one bit. All threads
 * add the same values in the same tree, and all get the sum. */
static Ref exchange(Linear *l, const Node *x, const Group *g) {
  const DType d = (DType)x->dt;
  Ref sum = need(l, red_value(x));
  for (int64_t mask = g->size / 2; mask; mask /= 2) {
    const Ref other = put(l, OP_SHFLXOR, d, 1, 1, &sum, 1, &mask);
    sum = put(l, red_op(x), d, 1, 2, (Ref[]){ sum, other }, 0, NULL);
  }
  return sum;
}

/* Sums a group in shared memory. Each thread stores its value. The first threads combine a part each and store the result, then
 * all threads combine these results. The order is fixed, and there are two barriers. A load is always separated from the next
 * store to its element by a barrier, also if the sum is in a loop. */
static Ref emit_group(Linear *l, Ref r) {
  IR *ir = l->ir;
  const Node *x = node(ir, r);
  const DType d = (DType)x->dt;
  Ref value[MAX_PARTS_ADDED];
  const Group g = group_in_loops(l, x);
  const int64_t parts = g.size / g.firsts;
  if (in_warp(&g, l->shared->warp)) {
    l->done[pos_of(l, r)] = true;
    return l->value[pos_of(l, r)] = exchange(l, x, &g);
  }
  CHECK(parts <= MAX_PARTS_ADDED && g.firsts <= parts);
  const Ref zero = c_int(ir, d, 0), mine = need(l, red_value(x)), first = need(l, g.first);
  const Ref shared = shared_buffer(l, d, g.threads), sums = shared_buffer(l, d, g.threads / g.size * g.firsts);
  put(l, OP_STORE, d, 1, 3, (Ref[]){ shared, need(l, g.part), mine }, 0, NULL);
  put_barrier(l);
  put_leaf(l, zero);
  value[0] = mine;
  for (int64_t k = 1; k < parts; k++) {
    const Ref at = need(l, part_place(ir, &g, k));
    value[k] = put(l, OP_LOAD, d, 1, 4, (Ref[]){ shared, at, first, zero }, 0, NULL);
  }
  const Ref sum = combined(l, red_op(x), d, value, parts);
  put(l, OP_STORE, d, 1, 4, (Ref[]){ sums, need(l, g.sum), sum, first }, 0, NULL);
  put_barrier(l);
  for (int64_t k = 0; k < g.firsts; k++)
    value[k] = put(l, OP_LOAD, d, 1, 2, (Ref[]){ sums, need(l, sum_place(ir, &g, k)) }, 0, NULL);
  l->done[pos_of(l, r)] = true;
  return l->value[pos_of(l, r)] = combined(l, red_op(x), d, value, g.firsts);
}

static Ref need(Linear *l, Ref r) {
  IR *ir = l->ir;
  uint32_t i = pos_of(l, r);
  if (l->done[i]) return l->value[i];
  const Node *x = node(ir, r);
  if (over_threads(l, x)) return emit_group(l, r);
  if (x->op == OP_RED) {
    emit_reduction(l, r);
    return l->value[i];
  }
  Ref src[MAX_RANGES + 64];
  for (int k = 0; k < x->nsrc; k++) src[k] = need(l, x->src[k]);
  /* opt/finish.c keeps a sum so. Without the gate the store writes what nobody reads. */
  const bool closed = x->op == OP_STORE && store_gate(x) && ir->bufs.p[buffer_id(node(ir, store_buffer(x)))].kind == BUF_LOCAL;
  l->value[i] = closed    ? node_make(ir, OP_STORE, (DType)x->dt, 1, 3, src, 0, NULL, 0, NULL)
                : x->nsrc ? node_with_src(ir, r, src)
                          : r;
  if (x->op == OP_CONST || x->op == OP_BCAST || x->op == OP_BUFFER) put_leaf(l, l->value[i]);
  else if (x->op != OP_RANGE) VEC_PUSH(l->prog, l->value[i]);
  l->done[i] = true;
  return l->value[i];
}

/* effects of the next loops of the same chain; other loops wait for need() */
static bool has_effects(const Linear *l, int loop) {
  for (int c = loop; c < l->nloops; c++)
    if (l->loop[c].sets.n && within(l, c, loop)) return true;
  return false;
}

static bool multiplies_tiles(const IR *ir, Ref e) {
  return node(ir, e)->op == OP_RED && node(ir, red_value(node(ir, e)))->op == OP_MMA;
}

/* Multiplies tiles in a loop: the first product of each sum, then the second of each, and so on. A tile that several sums use
 * stays near. */
static void multiply_tiles(Linear *l, const Refs *sums) {
  IR *ir = l->ir;
  Ref *now = xmalloc((sums->n + 1) * sizeof *now);
  int products = 0;
  for (size_t i = 0; i < sums->n; i++) {
    const Node *x = node(ir, sums->p[i]);
    now[i] = put(l, OP_GET, (DType)x->dt, x->lanes, 1, &l->value[pos_of(l, sums->p[i])], 0, NULL);
  }
  for (Ref r = sums->n ? red_value(node(ir, sums->p[0])) : 0; r && node(ir, r)->op == OP_MMA; r = mma_sum(node(ir, r)))
    products++;
  for (int k = products; k-- > 0;)
    for (size_t i = 0; i < sums->n; i++) {
      const Node *x = node(ir, red_value(node(ir, sums->p[i])));
      for (int later = 0; later < k; later++) x = node(ir, mma_sum(x));
      Ref a = need(l, mma_x(x)), b = need(l, mma_y(x));
      now[i] = put(l, OP_MMA, (DType)x->dt, x->lanes, 3, (Ref[]){ now[i], a, b }, x->narg, x->arg);
    }
  for (size_t i = 0; i < sums->n; i++) {
    const Node *x = node(ir, sums->p[i]);
    put(l, OP_SET, (DType)x->dt, x->lanes, 2, (Ref[]){ l->value[pos_of(l, sums->p[i])], now[i] }, 0, NULL);
  }
  free(now);
}

/* Makes the copies in shared memory that belong to a loop; they come first. Threads wait until all are made. -> whether threads
 * must also wait at the end of the loop: another round will replace the copies */
static bool fill_shared(Linear *l, int loop) {
  bool any = l->loop[loop].fills.n;
  for (int c = 1; c < l->nloops; c++) {
    if (l->loop[c].parent != loop || !l->loop[c].fill) continue;
    emit_loop(l, c);
    any = true;
  }
  for (size_t i = 0; i < l->loop[loop].fills.n; i++) need(l, l->loop[loop].fills.p[i]);
  if (any) put_barrier(l);
  const Node *range = node(l->ir, l->loop[loop].range);
  return any && !range_is_place(range_kind(range)) && range_extent(range) > 1;
}

static void emit_sum(Linear *l, Ref e) {
  const Node *x = node(l->ir, e);
  Ref acc = l->value[pos_of(l, e)];
  Ref now = put(l, OP_GET, (DType)x->dt, x->lanes, 1, &acc, 0, NULL);
  Ref sum;
  if (red_op(x) == OP_HELD) {
    const uint32_t held = pos_of(l, held_by(l, x));
    l->value[held] = now;
    l->done[held] = true;
    sum = need(l, red_value(x));
  } else
    sum = accumulate(l, red_op(x), now, red_value(x));
  put(l, OP_SET, (DType)x->dt, x->lanes, 2, (Ref[]){ acc, sum }, 0, NULL);
}

/* Opens a condition; -> the range of its loop, which runs once */
static Ref open_condition(Linear *l, Ref gate) {
  const Ref once = range_new(l->ir, 1, RK_LOOP);
  if (pos_of(l, gate) < l->nodes.n) gate = need(l, gate);
  else {
    for (int k = 0; k < 2; k++) put_leaf(l, node(l->ir, gate)->src[k]);
    VEC_PUSH(l->prog, gate);
  }
  put_leaf(l, once);
  put(l, OP_LOOP, DT_NONE, 1, 2, (Ref[]){ once, gate }, 0, NULL);
  return once;
}

/* Emits what belongs to a loop, except the sums of products of tiles, which it appends to *tiles */
static void emit_sets(Linear *l, const Loop *me, Refs *tiles) {
  Refs open = { 0 }; /* conditions around sums */
  size_t known = 0;  /* leaves outside of them */
  int row = l->tile_row;
  for (size_t i = 0; i < me->sets.n; i++) {
    const Ref e = me->sets.p[i];
    const bool sum = node(l->ir, e)->op == OP_RED;
    const int rows = sum && l->gate ? l->row[pos_of(l, e)] : 0;
    if (rows > row) {
      if (!open.n) need_indices(l, &me->sets), known = l->shared->visible.n;
      VEC_PUSH(&open, open_condition(l, l->gate[pos_of(l, e)]));
      row = rows;
    }
    if (multiplies_tiles(l->ir, e)) VEC_PUSH(tiles, e);
    else if (sum) emit_sum(l, e);
    else need(l, e);
  }
  for (size_t i = open.n; i-- > 0;) put(l, OP_END, DT_NONE, 1, 1, &open.p[i], 0, NULL);
  if (open.n) l->shared->visible.n = known;
  VEC_FREE(&open);
}

static void emit_loop(Linear *l, int loop) {
  Refs sums = { 0 };
  Loop *me = &l->loop[loop];
  me->emitted = true;
  open_effects(l, loop, me->parent, loop); /* loop-invariant code stays outside */
  put_leaf(l, me->range);
  size_t visible = l->shared->visible.n;
  put(l, OP_LOOP, DT_NONE, 1, 1, &me->range, 0, NULL);
  const Ref once = l->tile_gate && loop == l->tile_loop ? open_condition(l, l->tile_gate) : 0;
  const bool refilled = fill_shared(l, loop);
  for (size_t i = 0; i < me->locals.n; i++) need(l, me->locals.p[i]);
  for (int c = 1; c < l->nloops; c++)
    if (l->loop[c].parent == loop && !l->loop[c].first && !l->loop[c].emitted && has_effects(l, c)) emit_loop(l, c);
  emit_sets(l, me, &sums);
  multiply_tiles(l, &sums);
  for (size_t i = 0; i < me->hints.n; i++) need(l, me->hints.p[i]);
  VEC_FREE(&sums);
  if (refilled) put_barrier(l);
  if (once) put(l, OP_END, DT_NONE, 1, 1, &once, 0, NULL);
  put(l, OP_END, DT_NONE, 1, 1, &me->range, 0, NULL);
  l->shared->visible.n = visible;
}

/* Values outside all loops are computed once for all nests of a kernel. */
static void share_top(Linear *l) {
  for (size_t i = 0; i < l->nodes.n; i++) {
    l->value[i] = refmap_get(&l->shared->top, l->nodes.p[i]);
    l->done[i] = l->value[i];
  }
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

/* Collects a nest's nodes and adds loops for all ranges; -> the innermost loop of the nest */
static int linear_open(Linear *l, const Nest *n, Ref nest, Apart *apart) {
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

static void linear_free(Linear *l) {
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
static Ref part_reductions(IR *ir, Ref nest, const Apart *apart) {
  const Node *r = node(ir, apart->range);
  const Ref own = range_again(ir, r);
  Refs to = { 0 };
  for (size_t i = 0; i < apart->reds.n; i++) VEC_PUSH(&to, range_replace(ir, apart->reds.p[i], apart->range, own, 1, &own));
  nest = ix_subst(ir, nest, (int)to.n, apart->reds.p, to.p);
  VEC_FREE(&to);
  return nest;
}

/* Makes loops of repeated steps: REPEAT(value, HELD(init, keys)) becomes RED(value, range) with the op HELD. Its variable begins
 * with init and is set to value. Copies of one walk share the range, so their steps alternate. */
static Ref loops_of_repeats(IR *ir, Ref nest) {
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

void linear_nest(IR *ir, Ref nest, Refs *prog, Shared *shared) {
  Linear *l;
  Nest n;
  int at;
  nest = loops_of_repeats(ir, caller_rows(ir, nest));
  for (;;) {
    Apart apart = { 0 };
    l = xmalloc(sizeof *l);
    memset(l, 0, offsetof(Linear, loop));
    l->ir = ir;
    l->prog = prog;
    l->shared = shared;
    n = nest_open(ir, nest);
    at = linear_open(l, &n, nest, &apart);
    if (!apart.range) break;
    nest = part_reductions(ir, nest, &apart);
    VEC_FREE(&apart.reds);
    linear_free(l);
  }
  bool serial = false;
  for (int k = 0; k < n.n; k++) serial |= range_kind(node(ir, n.ranges[k])) == RK_SERIAL;
  find_scopes(l, at, serial);
  if (ir->symbols.n) find_row_gates(l, &n);
  if (ir->symbols.n) find_tile_gate(l, at);
  share_top(l);
  bool tiles = false;
  for (size_t i = 0; i < l->nodes.n && !tiles && !l->threads; i++) tiles = node(ir, l->nodes.p[i])->op == OP_MMA;
  if (tiles) put(l, OP_TILES, DT_NONE, 1, 0, NULL, 1, &(int64_t){ ir->next_range++ });
  const Node *s = node(ir, n.store);
  for (int row = 0; l->tile_gate && row <= l->tile_rows; row++) /* stores of a row are together, behind one condition */
    for (int k = 0; k < s->nsrc && s->op == OP_SINK; k++)
      if (node(ir, s->src[k])->op == OP_STORE && l->row[pos_of(l, s->src[k])] == row) VEC_PUSH(&l->loop[at].sets, s->src[k]);
  if (s->op == OP_SINK)
    for (int k = 0; k < s->nsrc; k++) {
      const Op op = (Op)node(ir, s->src[k])->op;
      if (op == OP_STORE && !l->tile_gate) VEC_PUSH(&l->loop[at].sets, s->src[k]);
      if (op == OP_PREFETCH) VEC_PUSH(&l->loop[l->scope[pos_of(l, s->src[k])]].hints, s->src[k]);
    }
  else
    VEC_PUSH(&l->loop[at].sets, n.store);
  if (n.n) emit_loop(l, 1);
  else
    for (size_t i = 0; i < l->loop[0].sets.n; i++) need(l, l->loop[0].sets.p[i]);
  for (size_t i = 0; i < l->nodes.n; i++)
    if (l->done[i] && !l->scope[i] && l->value[i] == l->nodes.p[i] && node(ir, l->nodes.p[i])->op != OP_STORE)
      refmap_set(&shared->top, l->nodes.p[i], l->nodes.p[i]);
  linear_free(l);
}

static bool absent(int *p, size_t n, int x) {
  for (size_t i = 0; i < n; i++)
    if (p[i] == x) return false;
  return true;
}

void kernel_buffers(const IR *ir, Kernel *k) {
  k->bufs.n = k->written.n = k->locals.n = 0;
  for (size_t i = 0; i < k->prog.n; i++) {
    const Node *x = node(ir, k->prog.p[i]);
    if (!is_access(x)) continue;
    const int buf = (int)buffer_id(node(ir, access_buffer(x)));
    if (buf_is_own(ir->bufs.p[buf].kind)) {
      if (absent(k->locals.p, k->locals.n, buf)) VEC_PUSH(&k->locals, buf);
      continue;
    }
    if (absent(k->bufs.p, k->bufs.n, buf)) VEC_PUSH(&k->bufs, buf);
    if (x->op == OP_STORE && absent(k->written.p, k->written.n, buf)) VEC_PUSH(&k->written, buf);
  }
}

Shared *shared_open(int warp) {
  Shared *s = xcalloc(1, sizeof *s);
  s->warp = warp;
  return s;
}

void shared_close(Shared *s) {
  VEC_FREE(&s->visible);
  refmap_free(&s->top);
  refmap_free(&s->index);
  free(s);
}

void step_programs(Plan *p, Kernel *k) {
  Shared *shared = shared_open(0);
  Sb text = { 0 };
  k->prog.n = 0;
  for (size_t i = 0, from = 0; i < k->states.n; i++) {
    p->ir->origin = node(p->ir, k->states.p[i].nest)->origin;
    if (!k->states.p[i].depth) from = k->prog.n;
    linear_nest(p->ir, k->states.p[i].nest, &k->prog, shared);
    if (p->ir->symbols.n && (i + 1 == k->states.n || !k->states.p[i + 1].depth)) fuse_nests(p->ir, &k->prog, from);
  }
  for (size_t i = 0; i < k->nests.n; i++) sb_puts(&text, k->nests.p[i].opts);
  if (k->chunks > 1) sb_printf(&text, " threads(%d)", k->chunks);
  k->schedule = sb_keep(&text, &p->ir->ctx->model);
  kernel_buffers(p->ir, k);
  VEC_FREE(&k->states);
  shared_close(shared);
}

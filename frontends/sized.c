/* SPDX-License-Identifier: MIT */
/* sized.c: a graph for ranges of sizes of some dimensions.
 *
 * The front ends build a graph for one size of each dimension. So the graph of the greatest sizes is built. For each dimension it
 * is compared with those of a few other sizes (the probes). sized_fit.c finds out which extents follow from the sizes, and
 * sized_nodes.c replaces nodes that take other entries at other sizes. graph/needs.c says which entries of each value a run
 * needs, and sized_proof.c proves it for each combination of sizes. A model whose arithmetic depends on the sizes in another way
 * is refused.
 *
 * Above TRIES_MOST combinations, not all are tried. In those that are tried, all sizes but one are the least, a middle, or the
 * greatest of their range. Some others are tried, too. Shapes of the cut graph are products of numbers that follow from one size
 * each. The front end computes shapes from sizes, too. Values that follow from one size are tried for each value of it. A
 * polynomial of degree two in each size is known from three values of each. A comparison of values that are monotone in each size
 * comes out alike everywhere if it does so at all corners.
 *
 * needs: a model with open dimensions    gives: the graph of the greatest sizes, with IR.symbols and GIO.open   breaks: nothing */
#include "../compiler/graph/rules.h"
#include "common/compose.h"
#include "sized_parts.h"
#include <stdlib.h>
#include <string.h>

/* ---- the graphs of other sizes ---- */
/* A copy of a node that outlives its graph. Its sources do not. */
static const Node *kept_node(IR *ir, const Node *x) {
  Node *copy = arena_dup(&ir->ctx->model, x, sizeof *x);
  if (x->rank) copy->dims = arena_dup(&ir->ctx->model, x->dims, x->rank * sizeof *x->dims);
  if (x->narg) copy->arg = arena_dup(&ir->ctx->model, x->arg, x->narg * sizeof *x->arg);
  return copy;
}

/* The elements of a small constant, or no elements */
static Operand elements_of(IR *ir, Ref r, Arena *keep) {
  const Node *x = node(ir, r);
  const Tensor *t = x->op == OP_WEIGHT ? &ir->tensors.p[weight_id(x)] : NULL;
  const int64_t n = t ? t->elems : x->op == OP_CONST;
  if (n < 1 || n > ELEMENTS_MOST) return (Operand){ 0, NULL, NULL };
  int64_t *bits = ARENA_NEW(keep, int64_t, n);
  for (int64_t i = 0; i < n; i++) bits[i] = t ? tensor_bits(t, i) : const_value(x);
  return (Operand){ n, bits, NULL };
}

/* The number of nodes from r down to the leaves, with a node once for each path to it; above `most`: it is too large */
static int count_parts(const IR *ir, Ref r, int most) {
  const Node *x = node(ir, r);
  int n = 1;
  for (int k = 0; k < x->nsrc && n <= most; k++) n += count_parts(ir, x->src[k], most - n);
  return n;
}

/* Notes the peers of the nodes from r down to the leaves, in the order of count_parts. s: the peer of r; 0: it has none */
static Part *keep_parts(IR *ir, Ref r, IR *other, Ref s, Part *part) {
  const Node *x = node(ir, r), *y = s ? node(other, s) : NULL;
  if (y && (x->op != y->op || x->nsrc != y->nsrc || x->rank != y->rank || x->dt != y->dt)) y = NULL;
  *part = (Part){ y ? kept_node(ir, y) : NULL, { 0, NULL, NULL } };
  if (y && nodes_alike(x, y)) part->of = elements_of(other, s, &ir->ctx->model);
  part++;
  for (int k = 0; k < x->nsrc; k++) part = keep_parts(ir, x->src[k], other, y ? y->src[k] : 0, part);
  return part;
}

/* Equal constants are one node, although they may mean something else for each user. So their elements are noted by user. src,
 * peers: the n sources of the user, and those of its peer. Nodes that compute the same from equal constants are one node, too
 * (Sizing.mixed). */
static const Operand *kept_operands(const Sizing *z, const Ref *src, IR *other, const Ref *peers, size_t n) {
  IR *ir = z->ir;
  Operand *all = NULL;
  for (size_t k = 0; k < n; k++) {
    const Ref s = view_base(ir, src[k]), t = view_base(other, peers[k]);
    const Node *x = node(ir, s), *y = node(other, t);
    const bool alike = x->op == y->op && nodes_alike(x, y);
    Operand of = alike ? elements_of(other, t, &ir->ctx->model) : (Operand){ 0, NULL, NULL };
    const int parts = z->mixed[src[k]] ? count_parts(ir, src[k], PARTS_MOST) : 0;
    if (parts && parts <= PARTS_MOST) keep_parts(ir, src[k], other, peers[k], of.parts = ARENA_NEW(&ir->ctx->model, Part, parts));
    if (!of.n && !of.parts) continue;
    if (!all) memset(all = ARENA_NEW(&ir->ctx->model, Operand, n), 0, n * sizeof *all);
    all[k] = of;
  }
  return all;
}

/* At a size at which a part from the first entry on is all entries, the front end builds no node for it. There y is the peer
 * of the part's source. Returns the node of a part that has all entries of y. */
static const Node *whole_part(IR *ir, const Node *x, const Node *y) {
  Node as = *x;
  int64_t arg[2 * MAX_RANK];
  as.dims = y->dims;
  as.arg = arg;
  for (int a = 0; a < x->rank; a++) arg[a] = 0, arg[x->rank + a] = 1;
  return kept_node(ir, &as);
}

static bool may_be_whole(const Node *x, const Node *y) {
  bool may = x->op == OP_SHRINK && y->op != OP_SHRINK && x->rank == y->rank && x->dt == y->dt;
  for (int a = 0; a < x->rank && may; a++) may = shrink_begin(x, a) == 0 && shrink_step(x, a) == 1;
  return may;
}

/* Walks both graphs from their outputs, as long as they have the same form; h is that of probe p. */
static void note_peers(Sizing *z, const Graph *h, int p) {
  const Graph *g = z->g;
  Refs todo = { 0 }, outputs = { 0 }, others = { 0 };
  RefMap first = { 0 }; /* a node of g, to its first peer */
  for (size_t i = 0; i < g->outputs.n; i++) {
    VEC_PUSH(&todo, g->outputs.p[i].ref);
    VEC_PUSH(&todo, h->outputs.p[i].ref);
    VEC_PUSH(&outputs, g->outputs.p[i].ref);
    VEC_PUSH(&others, h->outputs.p[i].ref);
  }
  z->result[p] = kept_operands(z, outputs.p, h->ir, others.p, outputs.n);
  while (todo.n) {
    const Ref s = todo.p[--todo.n], r = todo.p[--todo.n];
    const Node *x = node(g->ir, r), *y = node(h->ir, s);
    const bool computed = !x->varies && node(g->ir, view_base(g->ir, r))->nsrc;
    if (computed && z->peer[r][p] && refmap_get(&first, r) != s) z->mixed[r] = z->any_mixed = true;
    if (!z->peer[r][p] && may_be_whole(x, y)) {
      z->peer[r][p] = whole_part(z->ir, x, y);
      VEC_PUSH(&todo, operand(x));
      VEC_PUSH(&todo, s);
    }
    if (z->peer[r][p] || x->op != y->op || x->nsrc != y->nsrc || x->rank != y->rank || x->dt != y->dt) continue;
    z->peer[r][p] = kept_node(z->ir, y);
    refmap_set(&first, r, s);
    z->operand[r][p] = kept_operands(z, x->src, h->ir, y->src, x->nsrc);
    for (int k = 0; k < x->nsrc; k++) {
      VEC_PUSH(&todo, x->src[k]);
      VEC_PUSH(&todo, y->src[k]);
    }
  }
  VEC_FREE(&todo);
  VEC_FREE(&outputs);
  VEC_FREE(&others);
  refmap_free(&first);
}

/* ---- the sizes of the ranges ---- */
typedef struct Trial { /* the model at some sizes, in a context of its own */
  const char *path;
  const LoadOptions *given;
  Sizing sizing;
  const Needed *needs, *open; /* NULL: what depends on sizes is found */
  RunSizes run;
} Trial;

/* Loops take slices of what they read by the iteration's number. A part of a part is one part, because one of both may be all at
 * some size. */
static Graph *load_at(Ctx *c, const char *path, const LoadOptions *o, const int64_t *run) {
  static const Rule rules[] = { { OP_SHRINK, "part of a part", rule_part_of_part },
                                { OP_GATHER, "slice of an iteration", rule_slice_of_iteration },
                                { OP_NONE, NULL, NULL } };
  LoadOptions at = *o;
  DimValue *dims = arena_dup(&c->model, o->dims, (size_t)o->ndims * sizeof *dims);
  for (int k = 0; k < o->nranges; k++) dims[o->ranges[k].dim].value = run[k];
  at.dims = dims;
  if (o->forms) o->forms->at = 0;
  at.unguarded = true; /* the guard of indices asks all of them */
  Graph *g = model_load(c, path, &at);
  Refs roots = { 0 };
  for (size_t i = 0; i < g->outputs.n; i++) VEC_PUSH(&roots, g->outputs.p[i].ref);
  ir_select(g->ir, roots.p, roots.n, NULL); /* a range of sizes has no branches */
  for (size_t i = 0; i < g->outputs.n; i++) g->outputs.p[i].ref = roots.p[i];
  VEC_FREE(&roots);
  ir_rewrite_graph(g, rules, NULL);
  return g;
}

/* Finds the axes of an input or output whose extents differ at the other size of a symbol. Returns whether there is one. */
static bool find_open(const Probe *p, GIO *v, const GIO *w) {
  bool any = false;
  for (int a = 0; a < v->rank; a++) {
    if (v->dims[a] == w->dims[a]) continue;
    v->open[a] = (unsigned short)(p->symbol + 1);
    any = true;
  }
  return any;
}

static void find_all_open(Ctx *c, Sizing *z, const Graph *other) {
  Graph *g = z->g;
  const Probe *p = &z->probe[z->n];
  const char *name = g->ir->symbols.p[p->symbol].name;
  bool same = g->inputs.n == other->inputs.n && g->outputs.n == other->outputs.n, any = false;
  for (size_t i = 0; i < g->inputs.n && same; i++) same = g->inputs.p[i].rank == other->inputs.p[i].rank;
  for (size_t i = 0; i < g->outputs.n && same; i++) same = g->outputs.p[i].rank == other->outputs.p[i].rank;
  if (!same) fail(c, EX_BADMODEL, "--dim %s: the number of inputs, of outputs or of their axes depends on the size", name);
  z->input[z->n] = ARENA_NEW(&g->ir->ctx->model, ValueDims, g->inputs.n + 1);
  for (size_t i = 0; i < g->inputs.n; i++) {
    memcpy(z->input[z->n][i], other->inputs.p[i].dims, sizeof *z->input[z->n]);
    any |= find_open(p, &g->inputs.p[i], &other->inputs.p[i]);
  }
  for (size_t i = 0; i < g->outputs.n; i++) find_open(p, &g->outputs.p[i], &other->outputs.p[i]);
  if (!any) fail(c, EX_USAGE_, "--dim %s: no extent of an input is that dimension", name);
}

/* The extents of inputs: most are symbols, and some are sums of them. */
static void settle_inputs(Ctx *c, Sizing *z) {
  for (size_t i = 0; i < z->g->inputs.n; i++) {
    GIO *v = &z->g->inputs.p[i];
    for (int a = 0; a < v->rank; a++) {
      if (!v->open[a]) continue;
      Samples s = { .most = v->dims[a], .known = (uint32_t)((UINT64_C(1) << z->n) - 1) };
      for (int p = 0; p < z->n; p++) s.at[p] = z->input[p][i][a];
      const int extent = extent_of_samples(z, &s);
      if (extent < 0 || extent >= UINT16_MAX)
        fail(c, EX_BADMODEL,
             "--dim %s: axis %d of input '%s' follows from that dimension by no formula that tgc knows; give one number",
             z->ir->symbols.p[v->open[a] - 1].name, a, v->name);
      v->open[a] = (unsigned short)(extent + 1);
      if (extent >= z->ir->symbols.n) v->formula[a] = extent_text(c, z->ir, extent);
    }
  }
}

static void try_sizes(Ctx *c, void *arg) {
  Trial *t = arg;
  Sizing *z = &t->sizing;
  Graph *g = load_at(c, t->path, t->given, t->run);
  if (!t->needs) {
    find_all_open(c, z, g);
    note_peers(z, g, z->n);
    graph_free(g);
    return;
  }
  sized_prove(c, &(SizedGraph){ z->g, &z->placed, t->needs, t->open }, g, t->run);
}

/* A context like c, but without warnings */
static void ctx_like(Ctx *own, const Ctx *c) {
  ctx_init(own);
  own->limits = c->limits;
  own->file = c->file;
  own->quiet = true;
  own->err = c->err;
  own->say = c->say;
  own->say_arg = c->say_arg;
  own->records = c->records;
  own->colored = c->colored;
  own->tunables = c->tunables;
}

/* Runs a function in a context of its own, whose memory is then free again. */
static void in_own_context(Ctx *c, Trial *t, void (*run)(Ctx *c, void *arg)) {
  Ctx own;
  ctx_like(&own, c);
  const int code = ctx_try(&own, run, t);
  ctx_free(&own);
  if (code) fail_silent(c, code);
}

static void at_sizes(Ctx *c, Trial *t) { in_own_context(c, t, try_sizes); }

static void probe(Ctx *c, Trial *t, int symbol, int64_t size) {
  Sizing *z = &t->sizing;
  greatest_sizes(&z->ir->symbols, t->run);
  t->run[symbol] = size;
  z->probe[z->n] = (Probe){ symbol, size };
  at_sizes(c, t);
  z->n++;
}

/* Compares the greatest size of a symbol with the next smaller ones, some in between, and the least one. Extents behind steps
 * differ not at all of them. Axes of one entry vanish, so sizes of one tell little, and a size above the range is compared
 * instead. In a range of more than LONG sizes, one of the sizes in between is number FEW. It serves models that take the last
 * 16 entries or pad to 8. */
enum { LONG = 12, FEW = 2 };
static void probe_symbol(Ctx *c, Trial *t, int symbol) {
  const Symbol *s = &t->sizing.ir->symbols.p[symbol];
  if (s->high - s->step <= 1) probe(c, t, symbol, s->high + s->step);
  int64_t last = s->high;
  for (int i = 1; i < PROBES - 3 && last - s->step > s->low; i++) probe(c, t, symbol, last -= s->step);
  for (int quarter = 3; quarter; quarter--) {
    const int64_t sizes = (s->high - s->low) / s->step, number = sizes * (sizes > LONG ? quarter - 1 : quarter) / 4;
    const int64_t between = s->low + (number ? number : FEW) * s->step;
    if (between < last && between > s->low) probe(c, t, symbol, last = between);
  }
  probe(c, t, symbol, s->low);
}

static int64_t product_at_probe(const Sizing *z, int extent, int p) {
  const Extent *e = &z->ir->extents.p[extent];
  return extent_is_product(e) ? extent_at_probe(z, e->of, p) * extent_at_probe(z, extent_other(e), p)
                              : extent_at_probe(z, extent, p);
}

/* The extent of an axis by the conditions on its entries; -1: it differs. An axis may have joined two others. */
static int extent_within(const Sizing *z, Ref r, int axis) {
  const Node *x = node(z->ir, r);
  const Samples s = samples_of_axis(z, r, axis);
  int64_t within, times = x->dims[axis];
  int of[2], n = 0;
  for (int k = 0; k < z->open[r].n; k++) {
    const Need *is = &z->open[r].is[k];
    if (need_axis(x, is, &within) != axis) continue;
    if (n == 2) return -1;
    of[n++] = is->of;
    times /= is->extent;
  }
  if (!n) return -1;
  int extent = extent_make(z->ir, (Extent){ .of = of[0], .times = times, .over = 1, .most = x->dims[axis] });
  if (n == 2) extent = extent_product(z->ir, extent, of[1]);
  for (int p = 0; p < z->n; p++)
    if ((s.known >> p & 1) && s.at[p] != product_at_probe(z, extent, p)) return -1;
  return extent;
}

/* The elements of an output that a run has, if the conditions on them say so */
static bool settle_elements(const Sizing *z, GIO *v) {
  const Node *x = node(z->ir, v->ref);
  const Needed *open = &z->open[v->ref];
  int extent[MAX_RANK];
  int64_t within;
  bool all = open->n > 0;
  for (int k = 0; k < open->n && all; k++) {
    const int axis = need_axis(x, &open->is[k], &within);
    all = axis >= 0 && v->open[axis];
  }
  for (int a = 0; a < v->rank && all; a++) {
    extent[a] = v->open[a] ? extent_within(z, v->ref, a) : 0;
    all = extent[a] >= 0 && extent[a] < UINT16_MAX;
  }
  for (int a = 0; a < v->rank && all; a++) {
    if (!v->open[a]) continue;
    v->open[a] = (unsigned short)(extent[a] + 1);
    if (extent[a] >= z->ir->symbols.n) v->formula[a] = extent_text(z->ir->ctx, z->ir, extent[a]);
  }
  if (all) v->is = *open;
  return all;
}

/* The extents of outputs */
static void settle_outputs(Ctx *c, Sizing *z) {
  for (size_t i = 0; i < z->g->outputs.n; i++) {
    GIO *v = &z->g->outputs.p[i];
    const bool settled = settle_elements(z, v);
    for (int a = 0; a < v->rank && !settled; a++) {
      if (!v->open[a]) continue;
      const int extent = extent_along(z, v->ref, a);
      if (extent < 0 || extent > UINT16_MAX - 1)
        fail(c, EX_BADMODEL,
             "--dim %s: output '%s' has an extent that depends on that dimension in a way that one bundle cannot serve; "
             "give one number",
             z->ir->symbols.p[v->open[a] - 1].name, v->name);
      v->open[a] = (unsigned short)(extent + 1);
      if (extent >= z->ir->symbols.n) v->formula[a] = extent_text(c, z->ir, extent);
    }
  }
}

/* ---- combinations of sizes ---- */
/* TRIES_MOST: up to so many combinations, all are tried. FURTHER: about so many are tried besides, where not all of them are.
 * COMBINATIONS_MOST: a limit of time */
enum { TRIES_MOST = 4096, FURTHER = 512, COMBINATIONS_MOST = 1 << 26 };

static int64_t sizes_of(const Symbol *s) { return (s->high - s->low) / s->step + 1; }

/* Size number i of a symbol, from its greatest size on down */
static int64_t nth_size(const Symbol *s, int64_t i) { return s->high - i * s->step; }

/* Sets the sizes of combination number i. Returns how many of them are neither the least, nor the middle, nor the greatest
 * one. */
static int set_combination(const Symbols *all, int64_t i, int64_t *run) {
  int between = 0;
  for (int k = 0; k < all->n; k++) {
    const int64_t n = sizes_of(&all->p[k]), at = i % n;
    run[k] = nth_size(&all->p[k], at);
    between += at && at != n - 1 && at != n / 2;
    i /= n;
  }
  return between;
}

/* A number below `n` that looks random */
static uint64_t scattered(uint64_t i, uint64_t n) { return (i * UINT64_C(0x9e3779b97f4a7c15) >> 20) % n; }

static void prove(Ctx *c, Trial *t) {
  const Symbols *all = &t->sizing.ir->symbols;
  int64_t n = 1;
  for (int k = 0; k < all->n; k++) n *= sizes_of(&all->p[k]); /* at most 2^48 */
  if (n > COMBINATIONS_MOST)
    fail(c, EX_USAGE_, "--dim: the ranges have %lld combinations of sizes, which are too many; give steps (LOW:HIGH:STEP), or "
                       "fewer ranges", (long long)n);
  for (int64_t i = 1; i < n; i++) { /* number 0 is the graph itself */
    const int between = set_combination(all, i, t->run);
    if (n > TRIES_MOST && between > 1 && scattered((uint64_t)i, (uint64_t)(n / FURTHER))) continue;
    ctx_progress(c, "sizes", (double)i / (double)n);
    at_sizes(c, t);
  }
}

static void only_load(Ctx *c, void *arg) {
  const Trial *t = arg;
  load_at(c, t->path, t->given, t->run);
}

/* ---- the model for all sizes ---- */
typedef struct Attempt {
  Ctx *c;             /* for messages */
  const char *path;
  const LoadOptions *given;
  bool dense, proved; /* dense: Sizing.dense; proved: this attempt succeeded before */
  bool joins;         /* a reshape would be a copy if dense */
  Trial trial;
  const char *text;   /* the message of a failure; NULL: there is none */
  Pos at;
} Attempt;

static Symbols symbols_of(const LoadOptions *o) {
  Symbols all = { .n = o->nranges };
  for (int k = 0; k < all.n; k++) {
    const DimRange *r = &o->ranges[k];
    all.p[k] = (Symbol){ o->dims[r->dim].name, r->low, o->dims[r->dim].value, r->step, r->typical, 0 };
  }
  return all;
}

/* Reads the model for the greatest sizes. If the form of a node depends on a number, reads the model for other sizes of each
 * symbol, too, and notes which numbers differ. False: the numbers must be noted again */
static bool survey_forms(Ctx *c, const Attempt *a) {
  Trial t = { .path = a->path, .given = a->given };
  const Symbols all = symbols_of(a->given);
  FormNumbers *forms = a->given->forms;
  forms->again = false;
  greatest_sizes(&all, t.run);
  in_own_context(c, &t, only_load);
  for (int k = 0; k < all.n && forms->all.n; k++) {
    const Symbol *s = &all.p[k];
    const int64_t last = sizes_of(s) - 1, places[] = { last, last / 2, 1, 2, 3 }; /* quotients change at some of them */
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
      greatest_sizes(&all, t.run);
      t.run[k] = nth_size(s, places[i] < last ? places[i] : last);
      in_own_context(c, &t, only_load);
    }
  }
  return !forms->again;
}

/* Adds to Sizing.mixed the constants that are computed from those in it. */
static void mix_users(const Sizing *z) {
  Refs order = { 0 }, roots = { 0 };
  for (size_t i = 0; i < z->g->outputs.n; i++) VEC_PUSH(&roots, z->g->outputs.p[i].ref);
  ir_toposort(z->ir, roots.p, roots.n, &order);
  for (size_t i = 0; i < order.n; i++) {
    const Node *x = node(z->ir, order.p[i]);
    for (int k = 0; k < x->nsrc && !x->varies; k++) z->mixed[order.p[i]] |= z->mixed[x->src[k]];
  }
  VEC_FREE(&order);
  VEC_FREE(&roots);
}

/* Makes the graph of the greatest sizes with its sizes: Trial.sizing. */
static void attempt(Ctx *c, void *arg) {
  Attempt *a = arg;
  Trial *t = &a->trial;
  Sizing *z = &t->sizing;
  const Symbols all = symbols_of(a->given);
  t->path = a->path, t->given = a->given;
  z->dense = a->dense;
  greatest_sizes(&all, t->run);
  Graph *g = z->g = load_at(c, a->path, a->given, t->run);
  IR *ir = z->ir = g->ir;
  const uint32_t nodes = ir->n;
  ir_set_symbols(ir, &all);
  z->peer = ARENA_NEW(&c->model, Peers, nodes);
  z->operand = ARENA_NEW(&c->model, Operands, nodes);
  memset(z->operand, 0, nodes * sizeof *z->operand);
  z->now = ARENA_NEW(&c->model, Ref, nodes);
  z->pad = ARENA_NEW(&c->model, Ref, nodes);
  memset(z->peer, 0, nodes * sizeof *z->peer);
  memset(z->pad, 0, nodes * sizeof *z->pad);
  z->mixed = ARENA_NEW(&c->model, bool, nodes);
  memset(z->mixed, 0, nodes * sizeof *z->mixed);
  for (int k = 0; k < all.n; k++) probe_symbol(c, t, k);
  if (z->any_mixed) {
    mix_users(z);
    memset(z->peer, 0, nodes * sizeof *z->peer);
    z->n = 0;
    for (int k = 0; k < all.n; k++) probe_symbol(c, t, k);
  }
  settle_inputs(c, z);
  find_extents(z);
  a->joins = has_joined(z);
  settle_outputs(c, z);
  put_sizes(z);
  t->open = graph_open(g);
  t->needs = graph_needs(g, t->open);
  if (copy_outputs(z, t->needs)) {
    t->open = graph_open(g);
    t->needs = graph_needs(g, t->open);
  }
  if (!a->proved) prove(c, t);
}

static void attempt_free(Attempt *a) {
  VEC_FREE(&a->trial.sizing.placed);
  refmap_free(&a->trial.sizing.carried);
  a->trial = (Trial){ 0 };
}

/* Keeps the first message of a failure. */
static void keep_message(void *arg, bool warning, Pos at, const char *text) {
  Attempt *a = arg;
  Arena *m = &a->c->model; /* the context of the attempt is gone when the message is printed */
  if (warning || a->text) return;
  a->text = arena_str(m, text, strlen(text));
  a->at = at;
  if (at.node) a->at.node = arena_str(m, at.node, strlen(at.node));
  if (at.src) a->at.src = arena_str(m, at.src, strcspn(at.src, "\r\n"));
}

/* Makes an attempt in a context of its own. Returns its status. */
static int attempt_apart(Ctx *c, Attempt *a) {
  Ctx own;
  ctx_like(&own, c);
  own.records = false;
  own.say = keep_message;
  own.say_arg = a;
  own.progress = c->progress;
  own.progress_arg = c->progress_arg;
  const int code = ctx_try(&own, attempt, a);
  attempt_free(a);
  ctx_free(&own);
  return code;
}

/* Attempts without copies come first, since copies take time. */
static void attempts(Ctx *c, void *arg) {
  Attempt *a = arg;
  while (!survey_forms(c, a)) {} /* at most once for each If */
  int code = attempt_apart(c, a);
  if (code && a->joins) {
    a->dense = true;
    a->text = NULL;
    code = attempt_apart(c, a);
  }
  if (code && a->text) fail_at(c, code, a->at, "%s", a->text);
  if (code) fail_silent(c, code);
  a->proved = true;
  attempt(c, a);
}

Graph *sized_load(Ctx *c, const char *path, const LoadOptions *o) {
  FormNumbers forms = { 0 };
  LoadOptions given = *o;
  given.forms = &forms;
  Attempt a = { .c = c, .path = path, .given = &given };
  const int code = ctx_try(c, attempts, &a);
  Graph *g = a.trial.sizing.g;
  attempt_free(&a);
  VEC_FREE(&forms.all);
  if (code) fail_silent(c, code);
  return g;
}

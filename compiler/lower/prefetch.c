/* SPDX-License-Identifier: MIT */
/* prefetch.c: prefetches weights while others are multiplied.
 *
 * Packed weights are consecutive panels. Several tiles of rows are multiplied by one panel, then by the next. Without
 * prefetches the first of these tiles would wait for memory, and the others would leave it idle. So each tile requests its
 * share of the next panel, a little with every term of the reduction. The cache's own prefetcher need not guess. Behind the
 * last panel come weights of the next kernel.
 *
 * A product of few rows reads each panel with one tile only, and low tiles of rows (opt/sized.c) often do. The instructions of
 * several rows fill the CPU's window of instructions, so few loads are under way at a time. Such a tile requests what it reads
 * soon. With four rows, two layers of BERT took 1.5 ms in place of 1.8 in a bundle for a range of sizes. With eight rows they
 * took 1.3 ms in place of 1.9 in a bundle for this size (Zen 5).
 *
 * In a bundle for one size, a tile of one or two rows has more vectors in each row. Its loads are under way early enough. In a
 * bundle for a range, a single row has as few vectors as the rows of whole tiles, so it requests, too.
 *
 * Other tiles may read the same panel later, after all other panels. Then requests get in the way: a cache has the weights
 * already, or their stream is even.
 *
 * needs: nests with only loops left (expand.c), packed weights (pack.c)
 * keeps: the value of every element
 * gives: PREFETCHes beside the stores of a nest, which linearize.c puts into the loop of the reduction */
#include "lower.h"
#include <string.h>

typedef struct Panel {
  Ref first;                   /* index of its first element */
  Ref term, walk;              /* number of the reduction's term, and of the tile */
  int64_t elems, step;         /* elements of the panel, and of a term */
  int64_t walks;               /* tiles that read one panel, then the next */
  bool once;                   /* a run reads it with one tile only */
  Ref ends;                    /* the range that counts them ends at a size of the run; 0: there is none */
  Ref other;                   /* number of the turn along the other ranges, in each of which all these tiles read the panel */
  int64_t others;              /* how many turns there are */
} Panel;

/* Describes the terms of a load in a reduction. *left: the index without them. False: they are no panel. */
static bool open_terms(IR *ir, Ref sum, Ref index, Panel *p, Ref *left) {
  const Node *red = node(ir, sum);
  Ref rest = index;
  int64_t coef = 0;
  *p = (Panel){ .term = ix_const(ir, 0), .walk = ix_const(ir, 0), .walks = 1, .other = ix_const(ir, 0), .others = 1 };
  for (int k = red->nsrc - 1; k > 0; k--) {
    if (!ix_split(ir, rest, red->src[k], &coef, &rest) || coef <= 0 || (p->step && coef != p->elems)) return false;
    if (!p->step) p->step = coef;
    p->term = ix_add(ir, p->term, ix_mul(ir, red->src[k], coef / p->step));
    p->elems = coef * range_extent(node(ir, red->src[k]));
  }
  const int64_t least = node(ir, rest)->vmin;
  if (least < 0 || p->elems <= 0) return false;
  p->first = ix_sub(ir, rest, ix_const(ir, least % p->elems));
  *left = rest;
  return true;
}

/* The range counts tiles that read the panel: it is around the reduction, and inside of the loop over panels. */
static void add_walks(IR *ir, Ref r, bool *several, Panel *p) {
  const int64_t limit = range_limit(node(ir, r)), extent = range_extent(node(ir, r));
  p->walk = ix_add(ir, p->walk, ix_mul(ir, r, p->walks));
  p->walks *= extent;
  if (!ir->symbols.n || (limit && ir->sizes.p[limit - 1].rule == TGCRT_SIZE_SOME)) return;
  *several |= limit && (p->ends || p->others > 1);
  if (limit && !p->ends) {
    p->ends = r;
  } else {
    p->other = ix_add(ir, p->other, ix_mul(ir, r, p->others));
    p->others *= extent;
  }
}

/* Describes the panel of a load in a reduction of nest n. False: it is no panel. Innermost loops that the reduction does not
 * depend on do not count: they are not around it. */
static bool open_panel(IR *ir, const Nest *n, Ref sum, Ref index, Panel *p) {
  int inner = n->n - 1, k;
  int64_t coef = 0;
  Ref rest;
  bool several = false;
  if (!open_terms(ir, sum, index, p, &rest)) return false;
  while (inner >= 0 && !ix_uses(ir, sum, n->ranges[inner])) inner--;
  for (k = inner; k >= 0 && !coef; k--) {
    if (!ix_split(ir, rest, n->ranges[k], &coef, &rest)) return false;
    if (!coef) add_walks(ir, n->ranges[k], &several, p);
  }
  if (several) p->ends = 0;
  p->once = p->walks == 1;
  for (; k >= 0; k--) p->once &= range_extent(node(ir, n->ranges[k])) == 1 || ix_uses(ir, rest, n->ranges[k]);
  return coef == p->elems && (p->once || p->walks > 1);
}

/* Requests the lines of `elems` elements from `at` on. */
static void ask_lines(IR *ir, Ref buffer, Ref at, int64_t elems, int bytes, int64_t near, Refs *parts) {
  for (int64_t k = 0; k * LINE_BYTES < elems * bytes; k++) {
    const Ref src[2] = { buffer, ix_add(ir, at, ix_const(ir, k * LINE_BYTES / bytes)) };
    VEC_PUSH(parts, node_make(ir, OP_PREFETCH, DT_NONE, 1, 2, src, 1, &near, 0, NULL));
  }
}

/* The elements between what a low tile reads and what it requests */
static int64_t ahead(const IR *ir, int bytes) { return tunable(ir->ctx, prefetch_ahead) / bytes; }

/* A product of indices, of which one may depend on the run */
static Ref times(IR *ir, Ref a, Ref b) {
  int64_t number;
  if (node_is_const(ir, b, &number)) return ix_mul(ir, a, number);
  return node_make(ir, OP_MUL, DT_I64, 1, 2, (Ref[]){ a, b }, 0, NULL, 0, NULL);
}

/* 1 if the run has so few rows that reading the weights takes longer than multiplying by them, else 0. each: rows for each value
 * that `tiles` counts */
static Ref few_rows(IR *ir, const Target *t, const tgcrt_size *tiles, int64_t each) {
  const int64_t least = (int64_t)tunable(ir->ctx, prefetch_even) * t->vector_bytes / LINE_BYTES;
  const Extent enough = { .of = tiles->of, .times = tiles->times * each, .plus = 1 - least, .over = 1, .most = 1 };
  return ix_sub(ir, ix_const(ir, 1), size_value(ir, size_number(ir, size_all(1, extent_make(ir, enough)))));
}

/* The size that is rule `rule` for these tiles */
static Ref of_tiles(IR *ir, tgcrt_size tiles, int64_t height, tgcrt_size_rule rule) {
  tiles.height = (int32_t)height;
  tiles.rule = rule;
  return size_value(ir, size_number(ir, tiles));
}

/* How many tiles read a panel depends on the run: whole ones, then low ones. With many rows, all of them request equal shares, so
 * that requests run through memory evenly. They are so far ahead that the first tile finds all of its panel. With few rows, the
 * first tile requests what it reads soon. The other ones request a small part of the next panel. More requests would take the
 * place of loads that the cache's prefetcher starts. rows: those of a tile. false: the number of tiles does not depend on the
 * run */
static bool ask_in_run(IR *ir, const Target *t, Ref buffer, const Panel *p, int bytes, int rows, Refs *parts) {
  if (!p->ends) return false;
  const tgcrt_size tiles = ir->sizes.p[range_limit(node(ir, p->ends)) - 1];
  const bool low = tiles.rule == TGCRT_SIZE_HIGH, all = tiles.rule == TGCRT_SIZE_ALL;
  if (!low && !all && tiles.rule != TGCRT_SIZE_TILES) return false;
  const int64_t step = (p->step + p->others - 1) / p->others, part = step / tunable(ir->ctx, prefetch_part);
  const Ref one = ix_const(ir, 1), count = size_value(ir, (int)range_limit(node(ir, p->ends)) - 1);
  Ref walk = ix_add(ir, p->ends, times(ir, p->other, count)); /* number of the tile among those that read the panel */
  if (low) walk = ix_add(ir, walk, ix_mul(ir, of_tiles(ir, tiles, 1, TGCRT_SIZE_TILES), p->others));
  const Ref few = few_rows(ir, t, &tiles, p->others * (all ? rows : 1)), share = of_tiles(ir, tiles, step, TGCRT_SIZE_SHARE);
  const Ref first = node_make(ir, OP_MAX, DT_I64, 1, 2, (Ref[]){ ix_sub(ir, one, walk), ix_const(ir, 0) }, 0, NULL, 0, NULL);
  const Ref then = ix_add(ir, ix_sub(ir, ix_const(ir, part), share), ix_mul(ir, first, step - part));
  const Ref each = ix_add(ir, share, times(ir, few, then)); /* elements for each term */
  const Ref number = ix_add(ir, ix_mul(ir, ix_sub(ir, walk, one), p->elems / p->step), p->term);
  const Ref begin = ix_add(ir, p->first, ix_const(ir, p->elems + ahead(ir, bytes)));
  ask_lines(ir, buffer, ix_add(ir, begin, times(ir, number, each)), step, bytes, 1, parts);
  return true;
}

/* A low tile requests what it reads soon. */
static void ask_ahead(IR *ir, Ref buffer, const Panel *p, int bytes, Refs *parts) {
  const Ref begin = ix_add(ir, p->first, ix_const(ir, ahead(ir, bytes)));
  ask_lines(ir, buffer, ix_add(ir, begin, ix_mul(ir, p->term, p->step)), p->step, bytes, 1, parts);
}

/* Sums of the nest that use the load: rows of a tile */
static int rows_of_load(IR *ir, const Refs *all, Ref load) {
  int rows = 0;
  for (size_t i = 0; i < all->n; i++) {
    const Node *sum = node(ir, all->p[i]);
    rows += sum->op == OP_RED && ix_uses(ir, red_value(sum), load);
  }
  return rows;
}

/* Adds the requests of a term: consecutive lines of the tile's share of the next panel. If a term needs only one line, it goes
 * to the nearest cache; several would evict lines in use there. */
static void ask(IR *ir, Ref buffer, const Panel *p, int bytes, Refs *parts) {
  const int64_t share = (p->elems + p->walks - 1) / p->walks, each = (p->step + p->walks - 1) / p->walks,
                near = each * bytes <= LINE_BYTES;
  Ref at = ix_add(ir, ix_add(ir, p->first, ix_const(ir, p->elems)),
                  ix_add(ir, ix_mul(ir, p->walk, share), ix_mul(ir, p->term, each)));
  ask_lines(ir, buffer, at, each, bytes, near, parts);
}

/* Whether panels with terms of that many bytes are prefetched, in a weight of that size */
static bool is_wanted(const Ctx *c, const Target *t, int64_t weight, int64_t term, const char **given, Sb *made) {
  bool wanted = (double)weight > tunable(c, prefetch_least) * t->l1_bytes && term >= LINE_BYTES;
  if (*given) wanted = **given && *(*given)++ == '1';
  sb_printf(made, "%d", wanted);
  return wanted;
}

/* all: the nodes of the nest */
static void ask_for_weights(IR *ir, const Nest *n, const Refs *all, Ref sum, const Target *t, const char **given, Sb *made,
                            Refs *parts) {
  const bool low_tiles = nest_has_low_tiles(ir, n);
  Refs body = { 0 };
  Ref rest;
  Panel p;
  ir_toposort(ir, (Ref[]){ red_value(node(ir, sum)) }, 1, &body);
  for (size_t i = 0; i < body.n; i++) {
    const Node *x = node(ir, body.p[i]);
    if (x->op != OP_LOAD || load_gate(x)) continue;
    const Ref buffer = load_buffer(x), index = load_index(x);
    const Buf *b = &ir->bufs.p[buffer_id(node(ir, buffer))];
    const int bytes = dt_bytes(b->dt);
    bool asked = false; /* by an earlier load */
    for (size_t k = 0; k < parts->n; k++)
      asked |= node(ir, parts->p[k])->op == OP_PREFETCH && prefetch_buffer(node(ir, parts->p[k])) == buffer;
    if (asked || b->kind != BUF_WEIGHT) continue;
    const bool panel = open_panel(ir, n, sum, index, &p);
    if (!panel && !(low_tiles && open_terms(ir, sum, index, &p, &rest))) continue;
    if (p.once && !tunable(ir->ctx, prefetch_alone)) continue;
    const bool low = low_tiles || p.once;
    const int least = low_tiles ? tunable(ir->ctx, sized_prefetch_rows) : tunable(ir->ctx, prefetch_rows);
    const int rows = rows_of_load(ir, all, body.p[i]);
    if (low && rows < least) continue;
    if (!is_wanted(ir->ctx, t, b->elems * bytes, p.step * bytes, given, made)) continue;
    if (panel && ask_in_run(ir, t, buffer, &p, bytes, rows, parts)) continue;
    if (low) ask_ahead(ir, buffer, &p, bytes, parts);
    else ask(ir, buffer, &p, bytes, parts);
  }
  VEC_FREE(&body);
}

Ref prefetch_nest(IR *ir, Ref nest, const Target *t, const char **given, Sb *made) {
  Nest n = nest_open(ir, nest);
  const Node *s = node(ir, n.store);
  Refs all = { 0 }, parts = { 0 };
  if (!t->vector_bytes || !tunable(ir->ctx, prefetch)) return nest;
  for (int k = 0; k < (s->op == OP_SINK ? s->nsrc : 1); k++) VEC_PUSH(&parts, s->op == OP_SINK ? s->src[k] : n.store);
  const size_t before = parts.n;
  ir_toposort(ir, &n.store, 1, &all);
  for (size_t i = 0; i < all.n; i++)
    if (node(ir, all.p[i])->op == OP_RED) ask_for_weights(ir, &n, &all, all.p[i], t, given, made, &parts);
  if (parts.n > before) {
    n.store = node_make(ir, OP_SINK, DT_NONE, 1, (int)parts.n, parts.p, 0, NULL, 0, NULL);
    nest = nest_close(ir, &n);
  }
  VEC_FREE(&all);
  VEC_FREE(&parts);
  return nest;
}

void step_prefetch(Plan *p, Kernel *k) {
  IR *ir = p->ir;
  const Question q = ask_kernel(p, "prefetch", k);
  static const char word[] = "panels-";
  const bool some = q.given && !strncmp(q.given, word, sizeof word - 1), none = q.given && !strcmp(q.given, "none");
  const char *given = some ? q.given + sizeof word - 1 : none ? "" : NULL;
  Sb made = { 0 };
  for (size_t i = 0; i < k->states.n; i++) {
    ir->origin = node(ir, k->states.p[i].nest)->origin;
    k->states.p[i].nest = prefetch_nest(ir, k->states.p[i].nest, p->in->target, &given, &made);
  }
  const bool any = made.n > 0;
  while (made.n && made.p[made.n - 1] == '0') made.n--;
  const char *value = made.n ? arena_printf(&ir->ctx->model, "%s%.*s", word, (int)made.n, made.p) : "none";
  if (q.given && strcmp(q.given, value)) answer_refused(ir, &q, "the kernel has other panels of weights");
  if (any) answer_with(ir, &q, value);
  sb_free(&made);
}

/* prefetch.c: weights on their way while others are multiplied.
 *
 * Packed weights are panels, one behind the other: tiles of rows are multiplied by one of them in turn, and then by the next. The
 * first of these tiles would wait for memory and the others leave it idle. So each of them asks for its share of the
 * panel that follows, a little with every term of the reduction, and no cache has to guess. Behind the last panel the blob goes
 * on with what the next kernel reads. Where a panel is walked once only, the stream is as even as it can be, and requests
 * for it are in the way (ResNet-18, last layers, two threads: 830 us with and 770 without).
 *
 * needs: nests with only loops left (expand.c), packed weights (pack.c)
 * keeps: the value of every element
 * gives: PREFETCHes beside the stores of a nest, which linearize.c puts into the loop of the reduction */
#include "lower.h"
#include <string.h>

typedef struct Panel {
  Ref first;                   /* index of its first element */
  Ref term, walk;              /* the number of the reduction's term, and of the tile that is multiplied */
  int64_t elems, step;         /* of the panel, and of a term */
  int64_t walks;               /* tiles for one panel */
} Panel;

/* The panel of a load in a reduction of nest n: false if it is none, or is walked once. Loops that the reduction does
 * not depend on are not around it if they are the innermost. */
static bool open_panel(IR *ir, const Nest *n, Ref sum, Ref index, Panel *p) {
  const Node *red = node(ir, sum);
  int inner = n->n - 1;
  Ref rest = index;
  int64_t coef = 0;
  *p = (Panel){ .term = ix_const(ir, 0), .walk = ix_const(ir, 0), .walks = 1 };
  for (int k = red->nsrc - 1; k > 0; k--) {
    if (!ix_split(ir, rest, red->src[k], &coef, &rest) || coef <= 0 || (p->step && coef != p->elems)) return false;
    if (!p->step) p->step = coef;
    p->term = ix_add(ir, p->term, ix_mul(ir, red->src[k], coef / p->step));
    p->elems = coef * range_extent(node(ir, red->src[k]));
  }
  const int64_t least = node(ir, rest)->vmin;
  if (least < 0 || p->elems <= 0) return false;
  p->first = ix_sub(ir, rest, ix_const(ir, least % p->elems));
  coef = 0;
  while (inner >= 0 && !ix_uses(ir, sum, n->ranges[inner])) inner--;
  for (int k = inner; k >= 0 && !coef; k--) {
    if (!ix_split(ir, rest, n->ranges[k], &coef, &rest)) return false;
    if (coef) continue;
    p->walk = ix_add(ir, p->walk, ix_mul(ir, n->ranges[k], p->walks));
    p->walks *= range_extent(node(ir, n->ranges[k]));
  }
  return coef == p->elems && p->walks > 1;
}

/* Requests that a term makes: lines of the next panel, those of the tile's share one after another. One for each term may go to
 * the nearest cache; more would take the places of what is loaded from there. */
static void ask(IR *ir, Ref buffer, const Panel *p, int bytes, Refs *parts) {
  const int64_t share = (p->elems + p->walks - 1) / p->walks, each = (p->step + p->walks - 1) / p->walks,
                near = each * bytes <= LINE_BYTES;
  Ref at = ix_add(ir, ix_add(ir, p->first, ix_const(ir, p->elems)),
                  ix_add(ir, ix_mul(ir, p->walk, share), ix_mul(ir, p->term, each)));
  for (int64_t k = 0; k * LINE_BYTES < each * bytes; k++) {
    Ref src[2] = { buffer, ix_add(ir, at, ix_const(ir, k * LINE_BYTES / bytes)) };
    VEC_PUSH(parts, node_make(ir, OP_PREFETCH, DT_NONE, 1, 2, src, 1, &near, 0, NULL));
  }
}

/* Whether a panel of so many bytes, of a weight of so many in all, is asked for */
static bool is_wanted(const Ctx *c, const Target *t, int64_t weight, int64_t term, const char **given, Sb *made) {
  bool wanted = (double)weight > tunable(c, prefetch_least) * t->l1_bytes && term >= LINE_BYTES;
  if (*given) wanted = **given && *(*given)++ == '1';
  sb_printf(made, "%d", wanted);
  return wanted;
}

static void ask_for_weights(IR *ir, const Nest *n, Ref sum, const Target *t, const char **given, Sb *made, Refs *parts) {
  Refs body = { 0 };
  Panel p;
  ir_toposort(ir, (Ref[]){ red_value(node(ir, sum)) }, 1, &body);
  for (size_t i = 0; i < body.n; i++) {
    const Node *x = node(ir, body.p[i]);
    if (x->op != OP_LOAD || load_gate(x)) continue;
    const Ref buffer = load_buffer(x), index = load_index(x);
    const Buf *b = &ir->bufs.p[buffer_id(node(ir, buffer))];
    const int bytes = dt_bytes(b->dt);
    bool asked = false; /* by another load */
    for (size_t k = 0; k < parts->n; k++)
      asked |= node(ir, parts->p[k])->op == OP_PREFETCH && prefetch_buffer(node(ir, parts->p[k])) == buffer;
    if (asked || b->kind != BUF_WEIGHT || !open_panel(ir, n, sum, index, &p)) continue;
    if (is_wanted(ir->ctx, t, b->elems * bytes, p.step * bytes, given, made)) ask(ir, buffer, &p, bytes, parts);
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
    if (node(ir, all.p[i])->op == OP_RED) ask_for_weights(ir, &n, all.p[i], t, given, made, &parts);
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

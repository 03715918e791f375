/* SPDX-License-Identifier: MIT */
/* group_cuts.c: cuts kernels into chunks that fit together. Ranges fit together if they walk the memory of a value in the same
 * steps. Independence is proved: for every two accesses to one buffer, one of them a store, dependence.c must show that
 * different chunks do not conflict.
 *
 * needs: canonical nests   gives: groups whose chunks are independent   keeps: the nests */
#include "group_parts.h"
#include <stdlib.h>
#include <string.h>

Touch touch_of(IR *ir, const Node *access, int nest) {
  Touch t = { .buf = (int)buffer_id(node(ir, access_buffer(access))), .nest = nest, .write = access->op == OP_STORE };
  Ref rest = access_index(access);
  Refs ranges = { 0 };
  bool sum = true;
  collect_ranges(ir, rest, &ranges);
  for (size_t i = 0; i < ranges.n && sum; i++) {
    Ref next;
    int64_t coef;
    sum = t.n < MAX_RANGES && ix_split(ir, rest, ranges.p[i], &coef, &next);
    if (!sum) continue;
    rest = next;
    t.range[t.n] = ranges.p[i];
    t.coef[t.n++] = coef;
  }
  if (!sum || !node_is_const(ir, rest, &t.base)) {
    const Node *x = node(ir, access_index(access));
    int64_t most = ir->bufs.p[t.buf].elems - 1;
    t.n = 0;
    t.base = x->vmin < 0 ? 0 : x->vmin;
    t.spread = (x->vmax > most ? most : x->vmax) - t.base;
  }
  VEC_FREE(&ranges);
  return t;
}

static double elements(const IR *ir, Ref nest) {
  const Node *x = node(ir, nest);
  double n = 1;
  for (int k = 1; k < x->nsrc; k++) n *= (double)range_extent(node(ir, x->src[k]));
  return n;
}

/* Uses canonical nests, whose ranges are as long as possible. */
void member_open(IR *ir, Kernel *k, int kernel, Member *m) {
  Refs all = { 0 };
  const bool fit = k->nests.n <= MAX_NESTS;
  *m = (Member){ .kernel = kernel, .when = k->when, .fit = fit, .nests = fit ? (int)k->nests.n : 0 };
  for (size_t i = 0; i < k->nests.n; i++) {
    const Ref nest = k->nests.p[i].nest;
    all.n = 0;
    ir_toposort(ir, &nest, 1, &all);
    for (size_t j = 0; j < all.n; j++) {
      const Node *x = node(ir, all.p[j]);
      m->fit &= x->op != OP_RANGE || range_kind(x) != RK_SERIAL;
      if (x->op != OP_LOAD && x->op != OP_STORE) continue;
      if (x->op == OP_STORE && m->nests) m->store[i] = (int)m->touch.n;
      VEC_PUSH(&m->touch, touch_of(ir, x, (int)i));
      BufKind kind = ir->bufs.p[buffer_id(node(ir, access_buffer(x)))].kind;
      m->fit &= x->op == OP_LOAD || (kind != BUF_STATE && kind != BUF_NEXT); /* other kernels read the old values of states */
    }
    if (!m->nests) continue;
    m->nest[i] = nest;
    if (elements(ir, nest) > elements(ir, m->nest[m->main])) m->main = (int)i;
  }
  VEC_FREE(&all);
}

int64_t touch_coef(const Touch *t, Ref range) {
  for (int i = 0; i < t->n; i++)
    if (t->range[i] == range) return t->coef[i];
  return 0;
}

/* ---- one way to cut a kernel into chunks ---- */
static bool divides(const IR *ir, const Cut *c, int64_t chunks) {
  for (int i = 0; i < c->m->nests; i++)
    if (c->range[i] && range_extent(node(ir, c->range[i])) % chunks) return false;
  return true;
}

/* Finds how many of the chunks along range r a run needs; times 0: all. Returns false if a run may need a part of a chunk that
 * has fewer than group_part values. Also if the nest must not compute the values behind that part. */
static bool chunks_needed(IR *ir, Ref nest, Ref r, int64_t chunks, tgcrt_size *needed) {
  const int64_t part = range_extent(node(ir, r)) / chunks;
  const Needed *conditions = nest_needed(ir, nest);
  tgcrt_size values;
  *needed = (tgcrt_size){ 0 };
  for (int i = 0; i < conditions->n; i++) {
    const Need *is = &conditions->is[i];
    const Ref index = store_index(node(ir, nest_body(node(ir, nest))));
    if (sized_range(ir, nest, i, &values) == r) {
      const Extent all = { .of = values.of, .times = values.times, .plus = part - 1, .over = part, .most = chunks };
      const bool whole = values.times % part == 0;
      if (needed->times || (!whole && (part < tunable(ir->ctx, group_part) || !may_go_on(ir, nest, r)))) return false;
      *needed = whole ? size_all(values.times / part, values.of) : size_all(1, extent_make(ir, all));
    } else if (ix_uses(ir, ix_mod(ir, ix_div(ir, index, is->inner), is->extent), r)) {
      return false;
    }
  }
  return true;
}

/* The number of chunks that a run needs is the same in each nest. */
static bool needs_equal_chunks(IR *ir, Cut *c, int64_t chunks) {
  bool equal = true, first = true;
  for (int i = 0; i < c->m->nests && equal && ir->symbols.n; i++) {
    tgcrt_size needed;
    if (!c->range[i]) continue;
    equal = chunks_needed(ir, c->m->nest[i], c->range[i], chunks, &needed) &&
            (first || (needed.times == c->needed.times && needed.of == c->needed.of));
    c->needed = needed;
    first = false;
  }
  return equal;
}

/* In chunks, vectors along the cut ranges are nearly as full as in the whole ranges. In 24 chunks of 11 floats, basic-pitch took
 * 1.3 to 1.4 times as long as without groups (Zen 5). */
static bool fills_vectors(const IR *ir, const Cut *c, int64_t chunks) {
  bool fills = true;
  for (size_t i = 0; i < c->m->touch.n && fills; i++) {
    const Touch *t = &c->m->touch.p[i];
    const Ref r = c->range[t->nest];
    if (!r || llabs(touch_coef(t, r)) != 1) continue;
    const int64_t bytes = range_extent(node(ir, r)) * dt_bytes(ir->bufs.p[t->buf].dt), part = bytes / chunks;
    const int64_t lines = (part + LINE_BYTES - 1) / LINE_BYTES * chunks, whole = (bytes + LINE_BYTES - 1) / LINE_BYTES;
    fills = (double)lines <= tunable(ir->ctx, group_idle) * (double)whole;
  }
  return fills;
}

/* Cuts the main nest along r, unless a chunk would store less than `least` contiguous bytes, or leave rests of vectors that the
 * whole nest lacks. Other nests are cut where they walk their buffer in the same steps, or not at all. */
static bool cut_along(IR *ir, const Member *m, Ref r, int64_t chunks, int least, Cut *c) {
  const Touch *main = &m->touch.p[m->store[m->main]];
  const int64_t step = touch_coef(main, r);
  double uncut = 0;
  *c = (Cut){ .m = m };
  const int64_t bytes = llabs(step) * (range_extent(node(ir, r)) / chunks) * dt_bytes(ir->bufs.p[main->buf].dt);
  if (range_extent(node(ir, r)) % chunks || bytes < least ||
      (step == 1 && bytes % LINE_BYTES && bytes * chunks % LINE_BYTES == 0))
    return false;
  for (int i = 0; i < m->nests; i++) {
    const Node *x = node(ir, m->nest[i]);
    const Touch *store = &m->touch.p[m->store[i]];
    c->span[i] = step * range_extent(node(ir, r));
    for (int k = 1; k < x->nsrc && !c->range[i]; k++)
      if (i == m->main ? x->src[k] == r : touch_coef(store, x->src[k]) * range_extent(node(ir, x->src[k])) == c->span[i])
        c->range[i] = x->src[k];
    if (!c->range[i]) uncut += elements(ir, m->nest[i]);
  }
  return uncut <= tunable(ir->ctx, group_uncut) * elements(ir, m->nest[m->main]) && divides(ir, c, chunks) &&
         fills_vectors(ir, c, chunks) && needs_equal_chunks(ir, c, chunks);
}

/* ---- addresses of an access in a chunk (dependence.c) ---- */
Addresses cut_addresses(const IR *ir, const Cut *c, const Touch *t, int64_t chunks) {
  Addresses w = { .base = t->base, .chunked = c->range[t->nest] != 0 };
  if (t->spread) w.term[w.n++] = (Term){ 1, t->spread + 1 };
  for (int i = 0; i < t->n; i++) {
    int64_t n = range_extent(node(ir, t->range[i])), step = t->coef[i];
    if (t->range[i] == c->range[t->nest]) {
      n /= chunks;
      w.chunk = step * n;
    }
    if (step < 0) {
      w.base += step * (n - 1);
      step = -step;
    }
    if (n > 1 && step) w.term[w.n++] = (Term){ step, n };
  }
  return w;
}

/* Accesses of the group's kernels that must not conflict across chunks do not. */
static bool cuts_independent(const IR *ir, const Cut *a, const Cut *b, int64_t chunks) {
  for (size_t i = 0; i < a->m->touch.n; i++)
    for (size_t j = 0; j < b->m->touch.n; j++) {
      const Touch *s = &a->m->touch.p[i], *t = &b->m->touch.p[j];
      if (s->buf != t->buf || (!s->write && !t->write) || (!a->range[s->nest] && !b->range[t->nest])) continue;
      Addresses x = cut_addresses(ir, a, s, chunks), y = cut_addresses(ir, b, t, chunks);
      if (!addresses_independent(&x, &y, chunks)) return false;
    }
  return true;
}

/* ---- groups ---- */
/* Span of the group's store to the buffer; 0: it does not write it. */
static int64_t written_span(const Group *c, int buf) {
  for (int i = 0; i < c->n; i++)
    for (int k = 0; k < c->cut[i].m->nests; k++)
      if (c->cut[i].range[k] && c->cut[i].m->touch.p[c->cut[i].m->store[k]].buf == buf) return c->cut[i].span[k];
  return 0;
}

bool group_add(IR *ir, Group *c, const Member *m) {
  const bool fit = m->fit && m->when == c->cut[0].m->when;
  for (size_t i = 0; fit && i < m->touch.n && c->n < MAX_MEMBERS; i++) {
    const Touch *t = &m->touch.p[i];
    const int64_t span = t->write || t->nest != m->main ? 0 : written_span(c, t->buf);
    for (int k = 0; k < t->n && span; k++) {
      Cut *cut = &c->cut[c->n];
      if (t->coef[k] * range_extent(node(ir, t->range[k])) != span || !cut_along(ir, m, t->range[k], c->chunks, c->least, cut) ||
          cut->needed.times != c->cut[0].needed.times || cut->needed.of != c->cut[0].needed.of)
        continue;
      bool independent = cuts_independent(ir, cut, cut, c->chunks);
      for (int j = 0; j < c->n && independent; j++) independent = cuts_independent(ir, &c->cut[j], cut, c->chunks);
      if (!independent) continue;
      c->n++;
      return true;
    }
  }
  return false;
}

bool group_begin(IR *ir, Group *c, const Member *m, Ref along, int64_t chunks) {
  c->n = 1;
  c->chunks = chunks;
  return cut_along(ir, m, along, chunks, c->least, &c->cut[0]) && cuts_independent(ir, &c->cut[0], &c->cut[0], chunks);
}

/* SPDX-License-Identifier: MIT */
/* group_pieces.c: buffers that only a group accesses. Such a buffer needs memory for one chunk: a piece for each share of the
 * chunks.
 *
 * needs: a group   gives: where its accesses lie in the piece, and when a run needs an element of it */
#include "group_parts.h"

/* Finds the conditions under which a run needs an element of a piece. A condition along all chunks vanishes: a run has only the
 * chunks that it needs, and computes each of them whole. Returns false if another condition is on parts of a chunk and on the
 * chunk alike. */
static bool needed_in_piece(const Needed *whole, Piece *p) {
  const int64_t span = p->chunk * p->chunks;
  p->needed = (Needed){ 0 };
  if (whole->n && p->base) return false;
  for (int i = 0; i < whole->n; i++) {
    Need is = whole->is[i];
    const int64_t reach = is.inner * is.extent;
    if (reach == span && (is.inner % p->chunk == 0 || p->chunk % is.inner == 0)) continue;
    if (is.inner % span == 0) is.inner /= p->chunks;
    else if (p->chunk % reach) return false;
    p->needed.is[p->needed.n++] = is;
  }
  return true;
}

bool place_in_piece(const Piece *p, const Touch *t, Ref cut, int64_t *base, int64_t *coef) {
  const int64_t span = p->chunk * p->chunks, at = t->base - p->base;
  int64_t low = at % span;
  *base = at / span * p->chunk + low;
  for (int i = 0; i < t->n; i++) {
    coef[i] = t->coef[i] % span ? t->coef[i] : t->coef[i] / p->chunks;
    if (t->coef[i] < 0) return false;
    if (t->range[i] == cut || t->coef[i] % span == 0) continue;
    if (t->coef[i] >= p->chunk) return false;
  }
  return true;
}

bool piece_of(const IR *ir, const Group *c, int buf, Piece *p) {
  bool first = true;
  *p = (Piece){ .buf = buf, .chunks = c->chunks };
  if (ir->bufs.p[buf].kind != BUF_ARENA) return false;
  for (int pass = 0; pass < 2; pass++)
    for (int i = 0; i < c->n; i++)
      for (size_t k = 0; k < c->cut[i].m->touch.n; k++) {
        const Cut *cut = &c->cut[i];
        const Touch *t = &cut->m->touch.p[k];
        if (t->buf != buf) continue;
        Addresses w = cut_addresses(ir, cut, t, c->chunks);
        if (!pass) {
          if (w.chunk <= 0 || t->spread || (!first && w.chunk != p->chunk)) return false;
          if (first || w.base < p->base) p->base = w.base;
          p->chunk = w.chunk;
          first = false;
          continue;
        }
        int64_t base, coef[MAX_RANGES], low = 0, most = 0;
        if (!place_in_piece(p, t, cut->range[t->nest], &base, coef)) return false;
        for (int j = 0; j < t->n; j++) {
          int64_t n = range_extent(node(ir, t->range[j])) / (t->range[j] == cut->range[t->nest] ? c->chunks : 1);
          most += coef[j] * (n - 1);
          low += coef[j] == t->coef[j] ? coef[j] * (n - 1) : 0;
        }
        if ((t->base - p->base) % (p->chunk * p->chunks) + low >= p->chunk) return false;
        if (base + most + 1 > p->elems) p->elems = base + most + 1;
      }
  return needed_in_piece(&ir->bufs.p[buf].needed, p);
}

Ends *buffer_ends(const IR *ir, const Member *m, size_t n) {
  Ends *e = xmalloc((ir->bufs.n + 1) * sizeof *e);
  for (size_t b = 0; b < ir->bufs.n; b++) e[b] = (Ends){ -1, -1 };
  for (size_t i = 0; i < n; i++)
    for (size_t k = 0; k < m[i].touch.n; k++) {
      Ends *x = &e[m[i].touch.p[k].buf];
      if (x->first < 0) x->first = (int)i;
      x->last = (int)i;
    }
  return e;
}

bool group_owns(const Group *c, const Ends *e) {
  return e->first >= c->cut[0].m->kernel && e->last < c->cut[0].m->kernel + c->n;
}

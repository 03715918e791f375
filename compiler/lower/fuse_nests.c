/* SPDX-License-Identifier: MIT */
/* fuse_nests.c: one loop for a nest and its rests, where both begin with loops over the same values.
 *
 * A nest whose rows end at a size of the run has rests: nests for tiles of fewer rows (opt/sized.c). Each of them multiplies by
 * all panels of the weights. One after another they would read the weights from memory again and again. So their loops over
 * panels become one loop, in which each panel serves the whole tiles and then the rests. Loops inside of it are joined, too, if
 * they are over equal values.
 *
 * needs: the program of a nest and its rests, none of which reads what another one stores
 * gives: the same program with fewer loops   keeps: the value of every element; the order of the terms of each sum */
#include "lower.h"

/* Loops over equal values: what stands in them, with the range of the first one */
typedef struct Joined { Ref loop, end; int loops; Refs body; } Joined;

/* A value that may be computed before its place, and before loops that stand there */
static bool is_pure(const Node *x) {
  return x->dt != DT_NONE && x->op != OP_ACC && x->op != OP_GET && x->op != OP_SET && x->op != OP_STORE && x->op != OP_TILES;
}

static size_t end_of_loop(const IR *ir, const Ref *list, size_t at) {
  int depth = 0;
  for (;; at++) {
    depth += node(ir, list[at])->op == OP_LOOP;
    depth -= node(ir, list[at])->op == OP_END;
    if (!depth) return at;
  }
}

static bool alike(const IR *ir, Ref a, Ref b) {
  const Node *x = node(ir, a), *y = node(ir, b);
  if (x->nsrc != 1 || y->nsrc != 1) return false;
  x = node(ir, loop_range(x)), y = node(ir, loop_range(y));
  return x->dt == y->dt && range_extent(x) == range_extent(y) && range_limit(x) == range_limit(y) &&
         range_kind(x) == range_kind(y) && range_extent(x) > 1;
}

static void append(Refs *out, const Ref *list, size_t n) {
  for (size_t i = 0; i < n; i++) VEC_PUSH(out, list[i]);
}

/* Appends list[0..n) to out, with range `to` in place of `from`. */
static void add_body(IR *ir, const Ref *list, size_t n, Ref from, Ref to, Refs *out) {
  RefMap now = { 0 };
  Refs by = { 0 };
  refmap_set(&now, from, to);
  for (size_t i = 0; i < n; i++) {
    const Node *x = node(ir, list[i]);
    bool changes = false;
    by.n = 0;
    for (int k = 0; k < x->nsrc; k++) {
      const Ref known = refmap_get(&now, x->src[k]);
      VEC_PUSH(&by, known ? known : x->src[k]);
      changes |= known != 0;
    }
    const Ref next = changes ? node_with_src(ir, list[i], by.p) : list[i];
    if (next != list[i]) refmap_set(&now, list[i], next);
    VEC_PUSH(out, next);
  }
  refmap_free(&now);
  VEC_FREE(&by);
}

/* Appends the statements of one level to out, with loops over equal values joined, on this level and on `levels` - 1 below it. */
static void join_level(IR *ir, const Ref *list, size_t n, int levels, Refs *out) {
  VEC(Joined) all = { 0 };
  bool fits = levels > 0, joins = false;
  Refs before = { 0 };
  for (size_t i = 0, end; i < n && fits; i = end + 1) {
    end = i;
    if (node(ir, list[i])->op != OP_LOOP) {
      fits = is_pure(node(ir, list[i]));
      VEC_PUSH(&before, list[i]);
      continue;
    }
    end = end_of_loop(ir, list, i);
    size_t k = 0;
    while (k < all.n && !alike(ir, all.p[k].loop, list[i])) k++;
    if (k == all.n) VEC_PUSH(&all, ((Joined){ .loop = list[i], .end = list[end] }));
    else joins = true;
    all.p[k].loops++;
    add_body(ir, list + i + 1, end - i - 1, loop_range(node(ir, list[i])), loop_range(node(ir, all.p[k].loop)), &all.p[k].body);
  }
  if (!fits || !joins) append(out, list, n);
  else {
    append(out, before.p, before.n);
    for (size_t k = 0; k < all.n; k++) {
      VEC_PUSH(out, all.p[k].loop);
      join_level(ir, all.p[k].body.p, all.p[k].body.n, all.p[k].loops > 1 ? levels - 1 : 0, out);
      VEC_PUSH(out, all.p[k].end);
    }
  }
  for (size_t k = 0; k < all.n; k++) VEC_FREE(&all.p[k].body);
  VEC_FREE(&all);
  VEC_FREE(&before);
}

static bool is_local(const IR *ir, Ref store) {
  return buf_is_own(ir->bufs.p[buffer_id(node(ir, access_buffer(node(ir, store))))].kind);
}

/* Some nest loads from a buffer to which one stores. Local buffers do not count: each nest fills those that it reads. */
static bool in_place(const IR *ir, const Ref *list, size_t n) {
  RefMap stored = { 0 };
  bool any = false;
  for (size_t i = 0; i < n; i++)
    if (node(ir, list[i])->op == OP_STORE && !is_local(ir, list[i])) refmap_set(&stored, access_buffer(node(ir, list[i])), 1);
  for (size_t i = 0; i < n && !any; i++) {
    const Node *x = node(ir, list[i]);
    any = is_access(x) && x->op != OP_STORE && refmap_get(&stored, access_buffer(x));
  }
  refmap_free(&stored);
  return any;
}

/* Drops values that are known at their place already. */
static void drop_known(const IR *ir, Refs *list, size_t from) {
  Refs known = { 0 }, opened = { 0 };
  RefMap at = { 0 };
  size_t n = 0;
  for (size_t i = 0; i < list->n; i++) {
    const Ref r = list->p[i];
    const Node *x = node(ir, r);
    const uint32_t place = refmap_get(&at, r);
    if (x->op == OP_LOOP) VEC_PUSH(&opened, (Ref)known.n);
    if (x->op == OP_END) known.n = opened.p[--opened.n];
    if (i >= from && is_pure(x) && place && place <= known.n && known.p[place - 1] == r) continue;
    list->p[n++] = r;
    if (!is_pure(x)) continue;
    VEC_PUSH(&known, r);
    refmap_set(&at, r, (uint32_t)known.n);
  }
  list->n = n;
  refmap_free(&at);
  VEC_FREE(&known);
  VEC_FREE(&opened);
}

void fuse_nests(IR *ir, Refs *prog, size_t from) {
  Refs list = { 0 };
  if (in_place(ir, prog->p + from, prog->n - from)) return;
  append(&list, prog->p + from, prog->n - from);
  prog->n = from;
  join_level(ir, list.p, list.n, tunable(ir->ctx, fused_loops), prog);
  drop_known(ir, prog, from);
  VEC_FREE(&list);
}

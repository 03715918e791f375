/* SPDX-License-Identifier: MIT */
/* group.c: kernel groups, which run chunk by chunk (tile and fuse).
 *
 * Kernels run one after another. Between two of them, all results of the first travel through memory, and all threads wait for
 * each other. Consider some consecutive kernels, where chunk c of each needs, of what the others write, only their chunk c.
 * Then all of them run for chunk 0, then for chunk 1, and so on. Intermediate results stay in the cache of the core that made
 * them, and threads meet only at the end of the group. Examples are products between two transforms of tiles, a step along each
 * channel and one across them, and sums over rows between two products. None of these is special here.
 *
 * A chunk is a value of a range of kind `thread`. In every nest one range r of extent E becomes c * (E / chunks) + r, and
 * threads share c (threads.c). Ranges fit together if they walk the memory of a value in the same steps. Independence is
 * proved: for every two accesses to one buffer, one of them a store, dependence.c must show that different chunks do not
 * conflict.
 *
 * A buffer that only the kernels of a group access needs memory for one chunk: a piece for each share of the chunks. A thread
 * uses its piece again for each of its chunks, so the piece never leaves the thread's cache. Memory for all chunks would be
 * fetched before it is written. This is the largest gain of a group. So a group must not take more memory than its kernels
 * alone: a line that another kernel has just used is in the cache. Where the values exceed all caches, no line is. A group may
 * take more memory there, which counts against it.
 *
 * Ranges of sizes: a run may need the first values of a range only (nest/needed.c). A group cut along this range has chunks of
 * whole entries, and its range of chunks has a limit. All nests of the group have the same limit, so a chunk is the same part of
 * each. Other ranges end inside of a chunk, as they do without groups. A piece has room for the greatest sizes.
 *
 * needs: canonical nests, their cost
 * gives: Kernel.group_size and .chunks_per_task, Buf.piece, chunk ranges in the sinks of groups
 * keeps: nests canonical, and the value of every element */
#include "../target/isa_ops.h"
#include "group.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_MEMBERS = 16, MAX_NESTS = 24 }; /* limits: kernels of a group; nests of one of them */

/* ---- accesses of a kernel ---- */
typedef struct Member {
  int kernel;
  int when;                  /* Kernel.when, which kernels of a group have in common */
  bool fit;                  /* may be part of a group */
  int nests;
  Ref nest[MAX_NESTS];       /* canonical nests */
  int store[MAX_NESTS];      /* by nest: index of its store in touch */
  int main;                  /* the nest that stores most */
  VEC(Touch) touch;
} Member;

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

/* Uses canonical nests, whose ranges are as long as possible. Accesses are recorded even if the kernel cannot be in a group,
 * since a group may make what it reads. */
static void open_member(IR *ir, Kernel *k, int kernel, Member *m) {
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

static int64_t coef_of(const Touch *t, Ref range) {
  for (int i = 0; i < t->n; i++)
    if (t->range[i] == range) return t->coef[i];
  return 0;
}

/* ---- one way to cut a kernel into chunks ---- */
typedef struct Cut {
  const Member *m;
  Ref range[MAX_NESTS];      /* by nest: the range that is cut; 0: one chunk runs the nest */
  int64_t span[MAX_NESTS];   /* by nest: elements that its store advances over all chunks */
  tgcrt_size needed;         /* chunks that a run needs; times 0: all */
} Cut;

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
    if (!r || llabs(coef_of(t, r)) != 1) continue;
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
  const int64_t step = coef_of(main, r);
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
      if (i == m->main ? x->src[k] == r : coef_of(store, x->src[k]) * range_extent(node(ir, x->src[k])) == c->span[i])
        c->range[i] = x->src[k];
    if (!c->range[i]) uncut += elements(ir, m->nest[i]);
  }
  return uncut <= tunable(ir->ctx, group_uncut) * elements(ir, m->nest[m->main]) && divides(ir, c, chunks) &&
         fills_vectors(ir, c, chunks) && needs_equal_chunks(ir, c, chunks);
}

/* ---- addresses of an access in a chunk (dependence.c) ---- */
static Addresses addresses_of(const IR *ir, const Cut *c, const Touch *t, int64_t chunks) {
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
      Addresses x = addresses_of(ir, a, s, chunks), y = addresses_of(ir, b, t, chunks);
      if (!addresses_independent(&x, &y, chunks)) return false;
    }
  return true;
}

/* ---- groups ---- */
typedef struct GroupChoice {  /* how the kernels from one on are grouped; small, since there is one per kernel */
  int n;                      /* 1: the kernel is alone */
  int64_t chunks, chunks_per_task; /* a thread takes chunks_per_task consecutive chunks at a time */
  Ref along;                  /* range of its first kernel along which it is cut */
  int least;                  /* as in Group */
  double total;               /* cycles gained by it and by the best groups behind it */
} GroupChoice;

typedef struct Group {
  int n;
  int least;                  /* fewest contiguous bytes that a chunk of a kernel stores */
  int64_t chunks, chunks_per_task;
  Cut cut[MAX_MEMBERS];
} Group;

/* Span of the group's store to the buffer; 0: it does not write it. */
static int64_t written_span(const Group *c, int buf) {
  for (int i = 0; i < c->n; i++)
    for (int k = 0; k < c->cut[i].m->nests; k++)
      if (c->cut[i].range[k] && c->cut[i].m->touch.p[c->cut[i].m->store[k]].buf == buf) return c->cut[i].span[k];
  return 0;
}

/* Adds the next kernel, cut along a range that walks the group's results in the same steps. */
static bool group_add(IR *ir, Group *c, const Member *m) {
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

/* Starts a group with its first kernel; false: it cannot be cut this way. */
static bool group_begin(IR *ir, Group *c, const Member *m, Ref along, int64_t chunks) {
  c->n = 1;
  c->chunks = chunks;
  return cut_along(ir, m, along, chunks, c->least, &c->cut[0]) && cuts_independent(ir, &c->cut[0], &c->cut[0], chunks);
}

/* Builds the group of a choice; false: its kernels cannot form a group. */
static bool group_of(const Plan *p, const Member *m, const GroupChoice *choice, Group *c) {
  c->chunks_per_task = choice->chunks_per_task;
  c->least = choice->least;
  if (!group_begin(p->ir, c, m, choice->along, choice->chunks)) return false;
  while (c->n < choice->n && m->kernel + c->n < (int)p->kernels.n && group_add(p->ir, c, m + c->n)) continue;
  return c->n == choice->n;
}

/* ---- buffers that only a group accesses ---- */

/* Such a buffer only needs memory for one chunk, so each share of the chunks has a piece. In an address, the digits above the
 * chunk's digit move down to its place. */
typedef struct Piece {
  int buf;
  int64_t chunk, chunks, base; /* chunk: distance between chunks; base: least address of chunk 0 */
  int64_t elems;
  Needed needed;           /* Buf.needed of the piece */
} Piece;

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

/* Address of chunk 0 in the piece; false: some digit is neither below nor above the chunk's digit. */
static bool place_in_piece(const Piece *p, const Touch *t, Ref cut, int64_t *base, int64_t *coef) {
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

static bool piece_of(const IR *ir, const Group *c, int buf, Piece *p) {
  bool first = true;
  *p = (Piece){ .buf = buf, .chunks = c->chunks };
  if (ir->bufs.p[buf].kind != BUF_ARENA) return false;
  for (int pass = 0; pass < 2; pass++)
    for (int i = 0; i < c->n; i++)
      for (size_t k = 0; k < c->cut[i].m->touch.n; k++) {
        const Cut *cut = &c->cut[i];
        const Touch *t = &cut->m->touch.p[k];
        if (t->buf != buf) continue;
        Addresses w = addresses_of(ir, cut, t, c->chunks);
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

/* The first and the last kernel that access each buffer. */
typedef struct Ends { int first, last; } Ends;

static Ends *buffer_ends(const IR *ir, const Member *m, size_t n) {
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

static bool inside(const Group *c, const Ends *e) {
  return e->first >= c->cut[0].m->kernel && e->last < c->cut[0].m->kernel + c->n;
}

/* ---- gain of a group ---- */
typedef struct Use { int buf, last; double bytes; bool written, chunked; int readers; } Use;
typedef VEC(Use) Uses;

static Use *use_of(const IR *ir, Uses *uses, int buf) {
  for (size_t i = 0; i < uses->n; i++)
    if (uses->p[i].buf == buf) return &uses->p[i];
  const Buf *b = &ir->bufs.p[buf];
  VEC_PUSH(uses, ((Use){ .buf = buf, .bytes = (double)b->elems * dt_bytes(b->dt), .last = -1 }));
  return &uses->p[uses->n - 1];
}

static void collect_uses(const IR *ir, const Group *c, Uses *uses) {
  for (int i = 0; i < c->n; i++)
    for (size_t k = 0; k < c->cut[i].m->touch.n; k++) {
      const Touch *x = &c->cut[i].m->touch.p[k];
      Use *u = use_of(ir, uses, x->buf);
      u->readers += u->written && !x->write && u->last < i;
      u->chunked |= coef_of(x, c->cut[i].range[x->nest]) != 0;
      u->written |= x->write;
      u->last = i;
    }
}

static double arena_bytes(const IR *ir, int buf) {
  return ir->bufs.p[buf].kind == BUF_ARENA ? (double)ir->bufs.p[buf].elems * dt_bytes(ir->bufs.p[buf].dt) : 0;
}

/* Largest arena memory that one of the kernels needs alone. */
static double alone_bytes(const IR *ir, const Group *c) {
  double most = 0;
  for (int i = 0; i < c->n; i++) {
    const Group one = { .n = 1, .chunks = 1, .cut = { c->cut[i] } };
    Uses uses = { 0 };
    double bytes = 0;
    collect_uses(ir, &one, &uses);
    for (size_t k = 0; k < uses.n; k++) bytes += arena_bytes(ir, uses.p[k].buf);
    if (bytes > most) most = bytes;
    VEC_FREE(&uses);
  }
  return most;
}

/* Too large to stay in the cache of the core that made it. */
static bool is_far(const Use *u, const Target *t) { return !stays(t, BY_GROUP, 2, u->bytes); }

/* Chunks also read data that other chunks read, as windows do at chunk borders: smaller chunks do so more often. */
static bool reads_again(const IR *ir, const Group *c) {
  for (int i = 0; i < c->n; i++)
    for (size_t k = 0; k < c->cut[i].m->touch.n; k++) {
      const Touch *t = &c->cut[i].m->touch.p[k];
      const Addresses a = addresses_of(ir, &c->cut[i], t, c->chunks);
      const int64_t chunk = llabs(a.chunk);
      int64_t reach = 0; /* elements from the first to the last of a chunk, except what all chunks together do not span */
      for (int j = 0; j < a.n; j++) reach += a.term[j].step < chunk * c->chunks ? a.term[j].step * (a.term[j].n - 1) : 0;
      if (!t->write && chunk && reach >= chunk) return true;
    }
  return false;
}

/* Cycles to write it to a core's second-level cache and read it there. */
static double near_cycles(const Use *u, const Target *t) { return (1 + u->readers) * u->bytes / rate(t, L2_BYTES, GROUP); }

static double whole_bytes(const Uses *uses) {
  double bytes = 0;
  for (size_t i = 0; i < uses->n; i++) bytes += uses->p[i].bytes;
  return bytes;
}

/* The data of a chunk stays in the third-level cache beside that of other threads. */
static bool stays_in_third(const IR *ir, const Target *t, double share) {
  const double threads = t->cores > 1 ? t->cores : tunable(ir->ctx, group_shares_wanted) / 2.0;
  return share * threads <= rate(t, L2_WORK, GROUP) * t->l3_bytes;
}

/* Cycles that the group saves: moving values that no core could have kept, and waiting of threads. Reading weights again, which
 * chunks have in common, is subtracted. Negative if the group cannot work. A chunk may exceed the second-level cache if its
 * values would otherwise travel through memory: then they travel through the third-level cache. */
static double group_gain(const IR *ir, const Group *c, const Ends *ends, const Target *t) {
  Uses uses = { 0 };
  double weights = 0, share = 0, saved = 0, near = 0;
  double lost = start_cycles(t, BY_GROUP, (double)(c->chunks * c->n));
  const double l1 = rate(t, L1_PART, GROUP) * t->l1_bytes, far_bytes = rate(t, FAR_BYTES, GROUP);
  double most = meeting_cycles(t, BY_GROUP, c->n - 1) - lost;
  collect_uses(ir, c, &uses);
  for (size_t i = 0; i < uses.n; i++)
    most += near_cycles(&uses.p[i], t) + (is_far(&uses.p[i], t) ? (2 + uses.p[i].readers) * uses.p[i].bytes / far_bytes : 0);
  double memory = most > 0 ? -alone_bytes(ir, c) : 0;
  for (size_t i = 0; i < uses.n && most > 0; i++) { /* pieces are slow to compute */
    const Use *u = &uses.p[i];
    const bool far = is_far(u, t);
    Piece p;
    if (!u->chunked) weights += u->bytes;
    else if (u->written && inside(c, &ends[u->buf]) && piece_of(ir, c, u->buf, &p)) {
      const double piece = (double)p.elems * dt_bytes(ir->bufs.p[u->buf].dt);
      share += piece;
      memory += piece * (double)(c->chunks / c->chunks_per_task);
      saved += far ? (2 + u->readers) * u->bytes : 0; /* fetched before it is written, written back, read */
      near += piece < l1 && u->bytes > l1 ? near_cycles(u, t) : 0;
      continue;
    } else {
      share += u->bytes / (double)c->chunks;
      saved += far ? u->readers * u->bytes : 0;
    }
    memory += arena_bytes(ir, u->buf);
  }
  const bool near_share = share <= rate(t, L2_WORK, GROUP) * t->l2_bytes;
  const bool from_memory = t->l3_bytes && whole_bytes(&uses) >= t->l3_bytes;
  const bool fits = most > 0 && (near_share || (from_memory && stays_in_third(ir, t, share)));
  VEC_FREE(&uses);
  if (!fits) return -1;
  const bool near_weights = share + weights <= rate(t, L2_WHOLE, GROUP) * t->l2_bytes;
  lost += (double)(c->chunks - 1) * weights / (near_weights ? rate(t, L2_BYTES, GROUP) : far_bytes);
  if (memory > 0 && !from_memory) return -1; /* the bytes it saves would be fetched there */
  if (memory > 0) saved -= 2 * memory;
  if (near > 0 && reads_again(ir, c)) near = 0;
  const double moved = saved / (from_memory ? rate(t, MEMORY_BYTES, GROUP) : far_bytes);
  return (near_share ? moved + near : moved - saved / far_bytes) + meeting_cycles(t, BY_GROUP, c->n - 1) - lost;
}

/* Fewest chunks that a run needs */
static int64_t fewest_chunks(const IR *ir, const Group *c) {
  const tgcrt_size *needed = &c->cut[0].needed;
  if (!needed->times) return c->chunks;
  const Extent *e = &ir->extents.p[needed->of];
  int64_t least = c->chunks;
  for (int64_t i = 0; i < symbol_sizes(&ir->symbols.p[e->symbol]); i++) {
    const int64_t chunks = tgcrt_size_of(needed, e->at[i]);
    least = chunks < least ? chunks : least;
  }
  return least;
}

/* A run of few entries has too few chunks for all threads, which could share the loops of a large kernel that is alone. */
static bool leaves_threads_idle(const Plan *p, const Group *c) {
  const Target *t = p->in->target;
  const int threads = t->cores > 1 ? t->cores : tunable(p->ir->ctx, group_shares_wanted) / 2;
  double most = 0;
  for (int i = 0; i < c->n; i++) most = fmax(most, (double)p->kernels.p[c->cut[i].m->kernel].flops / (double)c->chunks);
  return fewest_chunks(p->ir, c) < threads && most > tunable(p->ir->ctx, group_alone);
}

/* A run of few entries calls the group's kernels for chunks without work, and its tiles end with a chunk. So a group must gain
 * enough at the greatest sizes. */
static bool gains_little(const Plan *p, const Group *c, double gain) {
  double cycles = 0;
  for (int i = 0; i < c->n && p->ir->symbols.n; i++) {
    const Kernel *k = &p->kernels.p[c->cut[i].m->kernel];
    cycles += kernel_cycles(p->in->target, BY_SIZES, (double)k->flops, (double)(k->bytes_read + k->bytes_written));
  }
  return gain < tunable(p->ir->ctx, group_sized) * cycles;
}

/* Tries groups that begin with a kernel, cut along one of its ranges: the best one together with the best groups behind it. */
static void consider(const Plan *p, Groups which, const Ends *ends, const Member *m, Ref r, int64_t chunks, GroupChoice *best) {
  IR *ir = p->ir;
  const Tunables *u = tunables_of(ir->ctx);
  Group c = { .least = u->group_run_least };
  if (!group_begin(ir, &c, m, r, chunks)) return;
  while (m->kernel + c.n < (int)p->kernels.n && group_add(ir, &c, m + c.n))
    for (c.chunks_per_task = 1; c.chunks_per_task <= chunks / u->group_shares_least; c.chunks_per_task++) {
      const int64_t shares = chunks / c.chunks_per_task;
      if (chunks % c.chunks_per_task ||
          !(which == GROUPS_ALL ? shares <= u->group_shares_most
                                : shares_even(u, p->in->target, shares) && !leaves_threads_idle(p, &c)))
        continue;
      const double gain = which == GROUPS_ALL ? c.n * c.n : group_gain(ir, &c, ends, p->in->target);
      const double total = gain + best[c.n].total;
      if (which != GROUPS_ALL && gains_little(p, &c, gain)) continue;
      if (gain > 0 && total > best->total) *best = (GroupChoice){ c.n, chunks, c.chunks_per_task, r, c.least, total };
    }
}

/* ---- applying a group ---- */
/* The access moved to the buffer's piece. The nest is not cut yet: within a chunk its range starts at 0. */
static Ref move_access(IR *ir, Ref r, Ref cut, const Piece *p) {
  const Node *x = node(ir, r);
  Touch t = touch_of(ir, x, 0);
  int64_t base, coef[MAX_RANGES];
  CHECK(place_in_piece(p, &t, cut, &base, coef));
  Ref at = ix_const(ir, base), src[4];
  for (int i = 0; i < t.n; i++)
    at = ix_add(ir, at,
                ix_mul(ir, t.range[i] == cut ? ix_mod(ir, cut, range_extent(node(ir, cut)) / p->chunks) : t.range[i], coef[i]));
  memcpy(src, x->src, x->nsrc * sizeof *src);
  src[1] = at;
  return node_with_src(ir, r, src);
}

static Ref move_accesses(IR *ir, Ref nest, Ref cut, const Piece *p) {
  Nest n = nest_open(ir, nest);
  Refs all = { 0 };
  VEC(Ref) from = { 0 };
  VEC(Ref) to = { 0 };
  ir_toposort(ir, &n.store, 1, &all);
  for (size_t i = 0; i < all.n; i++) {
    const Node *x = node(ir, all.p[i]);
    if (x->op != OP_LOAD || buffer_id(node(ir, load_buffer(x))) != p->buf) continue;
    const Ref moved = move_access(ir, all.p[i], cut, p); /* its gate may be a load, too, which comes before it */
    VEC_PUSH(&to, ix_subst(ir, moved, (int)from.n, from.p, to.p));
    VEC_PUSH(&from, all.p[i]);
  }
  if (from.n) n.store = ix_subst(ir, n.store, (int)from.n, from.p, to.p);
  if (buffer_id(node(ir, store_buffer(node(ir, n.store)))) == p->buf) n.store = move_access(ir, n.store, cut, p);
  VEC_FREE(&all);
  VEC_FREE(&from);
  VEC_FREE(&to);
  return nest_close(ir, &n);
}

static Ref cut_nest(IR *ir, Ref nest, Ref r, int64_t chunks, const tgcrt_size *needed) {
  const Ref chunk = r && needed->times ? range_limited(ir, chunks, size_number(ir, *needed), RK_THREAD)
                                       : range_new(ir, r ? chunks : 1, RK_THREAD);
  if (r) {
    const int64_t part = range_extent(node(ir, r)) / chunks;
    Ref own = range_make(ir, part, RK_LOOP);
    nest = range_replace(ir, nest, r, ix_add(ir, ix_mul(ir, chunk, part), own), 1, &own);
  }
  Nest n = nest_open(ir, nest);
  CHECK(n.n < MAX_RANGES);
  memmove(n.ranges + 1, n.ranges, (size_t)n.n++ * sizeof *n.ranges);
  n.ranges[0] = chunk;
  return nest_close(ir, &n);
}

/* Cuts the sinks of the group's kernels, and shrinks the buffers between them to pieces. */
static void group_apply(Plan *p, const Group *c, const Ends *ends) {
  IR *ir = p->ir;
  Uses uses = { 0 };
  VEC(Piece) pieces = { 0 };
  Piece piece;
  collect_uses(ir, c, &uses);
  for (size_t i = 0; i < uses.n; i++)
    if (uses.p[i].written && inside(c, &ends[uses.p[i].buf]) && piece_of(ir, c, uses.p[i].buf, &piece)) VEC_PUSH(&pieces, piece);
  for (size_t x = 0; x < pieces.n; x++) ir->bufs.p[pieces.p[x].buf].needed = pieces.p[x].needed; /* canon asks for it */
  for (int i = 0; i < c->n; i++) {
    const Member *m = c->cut[i].m;
    Kernel *k = &p->kernels.p[m->kernel];
    Ref nests[MAX_NESTS];
    for (int j = 0; j < m->nests; j++) {
      ir->origin = node(ir, m->nest[j])->origin;
      nests[j] = m->nest[j];
      for (size_t x = 0; x < pieces.n; x++) nests[j] = move_accesses(ir, nests[j], c->cut[i].range[j], &pieces.p[x]);
      nests[j] = cut_nest(ir, nests[j], c->cut[i].range[j], c->chunks, &c->cut[i].needed);
    }
    k->sink = node_make(ir, OP_SINK, DT_NONE, 1, m->nests, nests, 0, NULL, 0, NULL);
    step_even(p, k);
    step_canon(p, k);
    k->group_size = i ? 0 : c->n;
    k->chunks_per_task = (int)c->chunks_per_task;
  }
  for (size_t x = 0; x < pieces.n; x++) {
    Buf *b = &ir->bufs.p[pieces.p[x].buf];
    const int64_t bytes = dt_bytes(b->dt), over = bytes == 1 ? DOT_OVERREAD : 0;
    const int64_t whole = (pieces.p[x].elems * bytes + over + LINE_BYTES - 1) / LINE_BYTES * LINE_BYTES;
    b->piece = whole;
    b->elems = whole / bytes * (c->chunks / c->chunks_per_task);
  }
  VEC_FREE(&uses);
  VEC_FREE(&pieces);
}

const char *const groups_name[GROUPS_COUNT] = { [GROUPS_FASTER] = "faster", [GROUPS_NONE] = "none", [GROUPS_ALL] = "all" };

/* The best groups by the cost model, indexed by their first kernel */
static GroupChoice *best_groups(const Plan *p, Groups which, const Member *m, const Ends *ends) {
  const IR *ir = p->ir;
  const Tunables *u = tunables_of(ir->ctx);
  const size_t n = p->kernels.n;
  GroupChoice *best = xmalloc((n + 1) * sizeof *best);
  best[n].total = 0;
  for (size_t i = n; i-- > 0;) {
    const Node *x = node(ir, m[i].nest[m[i].main]);
    best[i] = (GroupChoice){ .n = 1, .total = best[i + 1].total };
    for (int k = 1; m[i].fit && k < x->nsrc; k++)
      for (int64_t chunks = u->group_shares_least; chunks <= u->group_chunks_most && chunks <= range_extent(node(ir, x->src[k]));
           chunks++)
        if (range_extent(node(ir, x->src[k])) % chunks == 0) consider(p, which, ends, &m[i], x->src[k], chunks, &best[i]);
  }
  return best;
}

/* ---- given groups ---- */
enum { MOST_CHUNKS = 1 << 20 }; /* limit of a given number of chunks */

/* "alone", or "4-kernels-r1-64-by-8": 4 kernels, cut along range 1 of the first one's main nest into 64 chunks. A thread takes
 * 8 of these at a time. */
static const char *group_text(const IR *ir, const Member *m, const GroupChoice *c) {
  const Node *x = node(ir, m->nest[m->main]);
  int k = 1;
  if (c->n < 2) return "alone";
  while (x->src[k] != c->along) k++;
  return arena_printf(&ir->ctx->model, "%d-kernels-r%d-%lld-by-%lld", c->n, k - 1, (long long)c->chunks,
                      (long long)c->chunks_per_task);
}

/* Parses a group; false: the kernels cannot form it. A group that stores short runs is taken, too: somebody has measured it. */
static bool group_given(const Plan *p, const Member *m, const char *text, GroupChoice *c) {
  const IR *ir = p->ir;
  const Tunables *u = tunables_of(ir->ctx);
  const Node *x = node(ir, m->nest[m->main]);
  int n, range, end = 0;
  long long chunks, each;
  Group group;
  *c = (GroupChoice){ .n = 1 };
  if (!strcmp(text, "alone")) return true;
  if (sscanf(text, "%d-kernels-r%d-%lld-by-%lld%n", &n, &range, &chunks, &each, &end) != 4 || text[end] || !m->fit || n < 2 ||
      range < 0 || range + 1 >= x->nsrc || chunks < 2 || chunks > MOST_CHUNKS || each < 1 || chunks % each ||
      chunks / each > u->group_shares_most)
    return false;
  *c = (GroupChoice){ n, chunks, each, x->src[range + 1], u->group_run_least, 0 };
  if (range_extent(node(ir, c->along)) % chunks) return false;
  if (group_of(p, m, c, &group)) return true;
  c->least = 0;
  return group_of(p, m, c, &group);
}

/* Decides the group that begins with a kernel. *best: the model's groups, computed when a kernel has no given one; NULL: not
 * yet */
static GroupChoice decide_group(Plan *p, Groups which, const Member *m, int kernel, const Ends *ends, GroupChoice **best) {
  const Question q = ask_kernel(p, "group", &p->kernels.p[kernel]);
  GroupChoice c;
  const bool fits = q.given && group_given(p, &m[kernel], q.given, &c);
  if (q.given && !fits) answer_refused(p->ir, &q, "the kernels cannot form this group");
  if (!fits && !*best) *best = best_groups(p, which, m, ends);
  if (!fits) c = (*best)[kernel];
  answer_with(p->ir, &q, group_text(p->ir, &m[kernel], &c));
  return c;
}

/* Kernels of a loop, and kernels that touch what slices of a loop lie in, stay alone. */
static bool touches_loop(const IR *ir, const Kernel *k, const Member *m, const bool *sliced) {
  bool any = k->loop != 0;
  for (size_t i = 0; i < m->touch.n && !any; i++) any = ir->bufs.p[m->touch.p[i].buf].of || sliced[m->touch.p[i].buf];
  return any;
}

static void keep_out_of_loops(const Plan *p, Member *m) {
  const IR *ir = p->ir;
  bool *sliced = sliced_buffers(ir);
  for (size_t i = 0; i < p->kernels.n; i++)
    if (touches_loop(ir, &p->kernels.p[i], &m[i], sliced)) m[i].fit = false;
  free(sliced);
}

void step_groups(Plan *p, Kernel *unused) {
  IR *ir = p->ir;
  const Groups which = p->in->groups;
  (void)unused;
  if (which == GROUPS_NONE || p->in->target->dev) return; /* on a device, a launch is one kernel */
  size_t n = p->kernels.n;
  Member *m = xmalloc((n + 1) * sizeof *m);
  for (size_t i = 0; i < n; i++) open_member(ir, &p->kernels.p[i], (int)i, &m[i]);
  keep_out_of_loops(p, m);
  Ends *ends = buffer_ends(ir, m, n);
  GroupChoice *best = NULL;
  VEC(GroupChoice) groups = { 0 };
  for (size_t i = 0; i < n; i += (size_t)groups.p[groups.n - 1].n)
    VEC_PUSH(&groups, decide_group(p, which, m, (int)i, ends, &best));
  for (size_t i = 0, first = 0; i < groups.n; first += (size_t)groups.p[i++].n) {
    Group c;
    if (groups.p[i].n < 2) continue;
    CHECK(group_of(p, &m[first], &groups.p[i], &c));
    group_apply(p, &c, ends);
  }
  VEC_FREE(&groups);
  free(best);
  free(ends);
  for (size_t i = 0; i < n; i++) VEC_FREE(&m[i].touch);
  free(m);
  if (!ir->symbols.n) strips_join(p);
}

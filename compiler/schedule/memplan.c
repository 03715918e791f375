/* SPDX-License-Identifier: MIT */
/* memplan.c: offsets of intermediate values in one arena.
 *
 * A buffer lives from the first kernel that accesses it to the last. Buffers are placed one after another, each in the lowest
 * gap that is free during its whole life. The order is largest first (greedy by size: Pisarchyk and Lee, "Efficient memory
 * management for deep neural net inference", 2020). While the arena exceeds the peak of live bytes, size times length of life
 * is tried as well. Each order is improved by moving buffers at the top of the arena to the front, as long as that helps. A
 * kernel that reads each element of a dying buffer only to write the same position of a new one computes in place.
 *
 * needs: kernels with final buffers, states (state_plan.c)
 * gives: offsets, arena_bytes and its bound, state_at, guard_at, may_alias
 * breaks: nothing */
#include "sched.h"
#include <stdlib.h>
#include <string.h>

enum { ALIGN = 64 }; /* bytes: a cache line */

typedef struct Life {
  int buf, first, last;    /* first, last: kernels that access it; -1: none */
  int64_t bytes, offset;   /* size and offset in the arena */
  int host;                /* buffer in whose memory it is computed; -1: none */
} Life;

static int64_t align_up(int64_t n) { return (n + ALIGN - 1) / ALIGN * ALIGN; }

/* Kernel k may write `out` into the memory of `in`: it has one nest, and loads `in` only at the index of the store. */
bool kernel_in_place(const IR *ir, const Kernel *k, int in, int out) {
  Refs all = { 0 };
  Ref at = 0;
  bool ok = node(ir, k->sink)->nsrc == 1 && dt_bytes(ir->bufs.p[in].dt) == dt_bytes(ir->bufs.p[out].dt);
  ir_toposort(ir, &k->sink, 1, &all);
  for (size_t i = 0; i < all.n && ok; i++) {
    const Node *x = node(ir, all.p[i]);
    if (x->op == OP_RED) ok = false; /* the row is read again after its first elements are written */
    if (x->op != OP_LOAD && x->op != OP_STORE) continue;
    int64_t buf = buffer_id(node(ir, access_buffer(x)));
    if (x->op == OP_STORE ? buf != out : buf != in) {
      ok = x->op == OP_LOAD;
      continue;
    }
    if (at && at != access_index(x)) ok = false;
    at = access_index(x);
  }
  VEC_FREE(&all);
  return ok;
}

/* Kernels of a group interleave, so a kernel must not overwrite data of another one. Kernel k may replace `in` if no other
 * kernel of the group accesses it, or if the group makes all of it, chunk by chunk. */
static bool group_allows(const Plan *p, int group, int k, const Life *in, int out) {
  bool others = false;
  for (int i = group; i < group + p->kernels.p[group].group_size; i++)
    for (size_t j = 0; j < p->kernels.p[i].bufs.n; j++) others |= i != k && p->kernels.p[i].bufs.p[j] == in->buf;
  return in->first >= group ? p->ir->bufs.p[in->buf].piece == p->ir->bufs.p[out].piece : !others;
}

static bool overlap(const Life *a, const Life *b) { return a->first <= b->last && b->first <= a->last; }

static int by_size(const void *a, const void *b) {
  const Life *x = a, *y = b;
  if (x->bytes != y->bytes) return x->bytes < y->bytes ? 1 : -1;
  return x->buf - y->buf;
}

/* sort by size times lifetime, so that long-lived buffers do not fragment the arena */
static int by_area(const void *a, const void *b) {
  const Life *x = a, *y = b;
  int64_t p = x->bytes / ALIGN * (x->last - x->first + 1), q = y->bytes / ALIGN * (y->last - y->first + 1);
  return p != q ? (p < q ? 1 : -1) : by_size(a, b);
}

static int by_offset(const void *a, const void *b) {
  const Life *x = *(const Life *const *)a, *y = *(const Life *const *)b;
  return x->offset != y->offset ? (x->offset < y->offset ? -1 : 1) : x->buf - y->buf;
}

static int (*const orders[])(const void *, const void *) = { by_size, by_area };

/* Places l[0..n) in this order; returns the extent of the arena. */
static int64_t place_all(Life *l, int n, const Life **scratch) {
  int64_t top = 0;
  for (int i = 0; i < n; i++) {
    int m = 0;
    int64_t at = 0;
    for (int j = 0; j < i; j++)
      if (overlap(&l[i], &l[j])) scratch[m++] = &l[j];
    qsort(scratch, (size_t)m, sizeof *scratch, by_offset);
    for (int j = 0; j < m; j++) {
      if (scratch[j]->offset - at >= l[i].bytes) break;
      if (scratch[j]->offset + scratch[j]->bytes > at) at = scratch[j]->offset + scratch[j]->bytes;
    }
    l[i].offset = at;
    if (at + l[i].bytes > top) top = at + l[i].bytes;
  }
  return top;
}

/* By kernel: bytes of the buffers that live while it runs */
static int64_t *live_bytes(const Life *l, int n, int kernels) {
  int64_t *live = xcalloc((size_t)kernels + 2, sizeof *live);
  for (int i = 0; i < n; i++) live[l[i].first] += l[i].bytes, live[l[i].last + 1] -= l[i].bytes;
  for (int k = 1; k <= kernels; k++) live[k] += live[k - 1];
  return live;
}

static int64_t peak_of_live(const Life *l, int n, int kernels) {
  int64_t *live = live_bytes(l, n, kernels), peak = 0;
  for (int k = 0; k <= kernels; k++)
    if (live[k] > peak) peak = live[k];
  free(live);
  return peak;
}

/* The buffer whose memory b uses: the last one in the chain of hosts. */
static int host_of(const Life *life, int b) {
  while (life[b].host >= 0) b = life[b].host;
  return b;
}

/* bytes; limit of the sum, small enough that no offset overflows */
static const int64_t MOST_BYTES = (int64_t)1 << 62;

/* The buffers that kernel k keeps alive: those it accesses, and the condition under which it runs */
static size_t kept_count(const Kernel *k) { return k->bufs.n + (k->when != 0); }
static int kept_buffer(const Kernel *k, size_t i) { return i < k->bufs.n ? k->bufs.p[i] : when_buffer(k); }

/* A value from before a loop that it reads lives until its end. A value in slices lives from its start, too. */
static void live_through_loop(const Plan *p, int first, int last, Life *life) {
  for (int k = first; k <= last; k++)
    for (size_t i = 0; i < kept_count(&p->kernels.p[k]); i++) {
      const int b = kept_buffer(&p->kernels.p[k], i), of = p->ir->bufs.p[b].of;
      Life *x = &life[of ? of - 1 : b];
      if (of && x->first > first) x->first = first;
      if ((of || x->first < first) && x->last < last) x->last = last;
    }
}

static void live_through_loops(const Plan *p, Life *life) {
  for (int k = 0, end; k < (int)p->kernels.n; k = end) {
    for (end = k + 1; end < (int)p->kernels.n && p->kernels.p[end].loop == p->kernels.p[k].loop;) end++;
    if (p->kernels.p[k].loop) live_through_loop(p, k, end - 1, life);
  }
}

static void find_lives(const Plan *p, Life *life) {
  const IR *ir = p->ir;
  int64_t total = p->memory.state_bytes;
  for (size_t b = 0; b < ir->bufs.n; b++) {
    const int64_t bytes = align_up(ir->bufs.p[b].elems * dt_bytes(ir->bufs.p[b].dt));
    life[b] = (Life){ (int)b, -1, -1, bytes, 0, -1 };
    if (ir->bufs.p[b].kind == BUF_ARENA && !ir->bufs.p[b].of && (!i64_add(total, bytes, &total) || total > MOST_BYTES))
      fail(ir->ctx, EX_BADMODEL, "intermediate values and states take more than 2^62 bytes of memory");
  }
  for (size_t k = 0; k < p->kernels.n; k++)
    for (size_t i = 0; i < kept_count(&p->kernels.p[k]); i++) {
      const int b = kept_buffer(&p->kernels.p[k], i), of = ir->bufs.p[b].of;
      Life *x = &life[of ? of - 1 : b];
      if (x->first < 0) x->first = (int)k;
      x->last = (int)k;
    }
  live_through_loops(p, life);
}

/* Kernel k writes only `out`. Lets it compute in the memory of a buffer that it is the last to read, if allowed. */
static void choose_host(const Plan *p, int k, int group, int out, const bool *fixed, Life *life) {
  const IR *ir = p->ir;
  const Kernel *kn = &p->kernels.p[k];
  for (size_t i = 0; i < kn->bufs.n; i++) {
    const int in = kn->bufs.p[i];
    if (in == out || ir->bufs.p[in].kind != BUF_ARENA || life[in].last != k || p->kernels.p[life[in].first].loop != kn->loop)
      continue;
    if (ir->bufs.p[in].of || fixed[in] || (kn->overwrites != 1 + in && !kernel_in_place(ir, kn, in, out))) continue;
    if (!group_allows(p, group, k, &life[in], out) || life[out].bytes > life[host_of(life, in)].bytes) continue;
    life[out].host = in;
    return;
  }
}

static void compute_in_place(const Plan *p, Life *life) {
  bool *fixed = sliced_buffers(p->ir); /* a loop asks for a condition again, even after the last kernel that it guards */
  for (size_t k = 0; k < p->kernels.n; k++)
    if (p->kernels.p[k].when) fixed[when_buffer(&p->kernels.p[k])] = true;
  for (int k = 0, group = 0; k < (int)p->kernels.n; k++) {
    const Kernel *kn = &p->kernels.p[k];
    if (kn->group_size) group = k;
    if (kn->written.n != 1) continue;
    const int out = kn->written.p[0];
    if (p->ir->bufs.p[out].kind == BUF_ARENA && !p->ir->bufs.p[out].of && life[out].first == k)
      choose_host(p, k, group, out, fixed, life);
  }
  free(fixed);
}

/* A group is one step, and a host lives as long as its guests. */
static void lengthen_lives(const Plan *p, Life *life) {
  const int nbuf = (int)p->ir->bufs.n;
  for (int k = 0; k < (int)p->kernels.n; k += p->kernels.p[k].group_size) {
    const int end = k + p->kernels.p[k].group_size - 1;
    for (int b = 0; b < nbuf && end > k; b++) {
      if (life[b].first > k && life[b].first <= end) life[b].first = k;
      if (life[b].last >= k && life[b].last < end) life[b].last = end;
    }
  }
  for (int b = nbuf - 1; b >= 0; b--) {
    Life *host = &life[host_of(life, b)];
    if (life[b].last > host->last) host->last = life[b].last;
  }
}

/* Places l[0..n) as low as the orders and their rounds achieve; returns the extent of the arena. bound: lower limit for every
 * plan. */
static int64_t place_best(const Tunables *u, Life *l, int n, int64_t bound) {
  const Life **scratch = xmalloc((size_t)(n + 1) * sizeof *scratch);
  Life *best = xmalloc((size_t)(n + 1) * sizeof *best);
  int64_t best_top = INT64_MAX;
  for (size_t o = 0; o < sizeof orders / sizeof *orders && best_top > bound; o++) {
    qsort(l, (size_t)n, sizeof *l, orders[o]);
    int rounds = n < u->memplan_many ? u->memplan_rounds : 1,
        lately = 0; /* lately: the round of the last improvement */
    for (int round = 0; round < rounds && round < lately + u->memplan_patience && best_top > bound; round++) {
      int64_t top = place_all(l, n, scratch);
      if (top < best_top) {
        lately = round + 1;
        best_top = top;
        memcpy(best, l, (size_t)n * sizeof *l);
      }
      int worst = 0;
      for (int i = 0; i < n; i++)
        if (l[i].offset + l[i].bytes == top) worst = i;
      if (!worst) break;
      Life t = l[worst];
      memmove(l + 1, l, (size_t)worst * sizeof *l);
      l[0] = t;
    }
  }
  memcpy(l, best, (size_t)n * sizeof *l);
  free(best);
  free(scratch);
  return best_top;
}

/* Finds all lives. Returns the number of buffers with places of their own, whose lives it copies to `placed`. */
static int find_placed(const Plan *p, Life *life, Life *placed) {
  int n = 0;
  find_lives(p, life);
  compute_in_place(p, life);
  lengthen_lives(p, life);
  for (int b = 0; b < (int)p->ir->bufs.n; b++)
    if (p->ir->bufs.p[b].kind == BUF_ARENA && life[b].first >= 0 && life[b].host < 0) placed[n++] = life[b];
  return n;
}

int64_t *sched_live_bytes(const Plan *p) {
  const size_t nbuf = p->ir->bufs.n;
  Life *life = xmalloc((nbuf + 1) * sizeof *life), *placed = xmalloc((nbuf + 1) * sizeof *placed);
  int64_t *live = live_bytes(placed, find_placed(p, life, placed), (int)p->kernels.n);
  free(life);
  free(placed);
  return live;
}

/* The kernel that writes a buffer in the memory of its host may access one place by two pointers. */
static void note_aliases(Plan *p, const Life *life) {
  for (size_t k = 0; k < p->kernels.n; k++) {
    Kernel *kn = &p->kernels.p[k];
    for (size_t i = 0; i < kn->bufs.n && kn->written.n == 1; i++)
      kn->may_alias |= life[kn->written.p[0]].host == kn->bufs.p[i];
  }
}

void sched_memplan(Plan *p) {
  IR *ir = p->ir;
  const int nbuf = (int)ir->bufs.n;
  Life *life = xmalloc((size_t)(nbuf + 1) * sizeof *life), *placed = xmalloc((size_t)(nbuf + 1) * sizeof *placed);
  const int n = find_placed(p, life, placed);
  note_aliases(p, life);
  const int64_t bound = peak_of_live(placed, n, (int)p->kernels.n), top = place_best(tunables_of(p->ir->ctx), placed, n, bound);
  for (int i = 0; i < n; i++) ir->bufs.p[placed[i].buf].offset = placed[i].offset;
  for (int b = 0; b < nbuf; b++)
    if (life[b].host >= 0) ir->bufs.p[b].offset = ir->bufs.p[host_of(life, b)].offset;
  for (int b = 0; b < nbuf; b++)
    if (ir->bufs.p[b].of)
      ir->bufs.p[b].offset = ir->bufs.p[ir->bufs.p[b].of - 1].offset + ir->bufs.p[b].at * dt_bytes(ir->bufs.p[b].dt);

  /* behind the intermediate values: states, then the guard */
  const int64_t behind = p->memory.state_bytes + (p->g->guarded ? ALIGN : 0);
  p->memory.state_at = top;
  p->memory.guard_at = top + p->memory.state_bytes;
  for (int b = 0; b < nbuf; b++)
    if (ir->bufs.p[b].kind == BUF_GUARD) ir->bufs.p[b].offset = p->memory.guard_at;
  p->memory.arena_bytes = top + behind;
  p->memory.arena_bound = bound + behind;
  free(life);
  free(placed);
  Sb why = { 0 };
  if (!memplan_check(p, &why)) ir_wrong(p->ir, "%s", why.p);
  sb_free(&why);
}

static bool names(const Kernel *k, int buf) {
  for (size_t i = 0; i < k->bufs.n; i++)
    if (k->bufs.p[i] == buf) return true;
  return false;
}

static bool shares_memory(const Buf *a, const Buf *b) {
  return a->kind == BUF_ARENA && b->kind == BUF_ARENA && a->offset < b->offset + b->elems * dt_bytes(b->dt) &&
         b->offset < a->offset + a->elems * dt_bytes(a->dt);
}

/* Buffers of a group share memory only where a kernel computes in place. If the replaced buffer existed before the group, only
 * that kernel may access it. */
static bool group_check(const Plan *p, size_t first, Sb *why) {
  const IR *ir = p->ir;
  const size_t end = first + (size_t)p->kernels.p[first].group_size;
  VEC(int) bufs = { 0 };
  bool ok = true;
  for (size_t k = first; k < end && end > first + 1; k++)
    for (size_t i = 0; i < p->kernels.p[k].bufs.n; i++) VEC_PUSH(&bufs, p->kernels.p[k].bufs.p[i]);
  for (size_t i = 0; i < bufs.n && ok; i++)
    for (size_t j = 0; j < bufs.n && ok; j++) {
      const int a = bufs.p[i], b = bufs.p[j];
      if (a >= b || !shares_memory(&ir->bufs.p[a], &ir->bufs.p[b])) continue;
      ok = ir->bufs.p[a].offset == ir->bufs.p[b].offset;
      for (size_t k = first; k < end && ok; k++) {
        const Kernel *kn = &p->kernels.p[k];
        ok = !names(kn, a) || !names(kn, b) || kernel_in_place(ir, kn, a, b) || kernel_in_place(ir, kn, b, a);
      }
      if (!ok) sb_printf(why, "kernels %zu to %zu run together, and buffers %d and %d lie in one place", first, end - 1, a, b);
    }
  VEC_FREE(&bufs);
  return ok;
}

/* ---- the check, independent of how the plan was made ---- */

typedef struct Cells {     /* the arena, divided at every begin and end of a buffer */
  int64_t *edge;           /* sorted */
  int *owner;              /* by interval from edge i to the next: the buffer that wrote it last; -1: none */
  int n;
} Cells;

static int64_t end_of(const Buf *b) { return align_up(b->offset + b->elems * dt_bytes(b->dt)); }

static Cells make_cells(const IR *ir) {
  Cells c = { .edge = xmalloc((2 * ir->bufs.n + 1) * sizeof *c.edge),
              .owner = xmalloc((2 * ir->bufs.n + 1) * sizeof *c.owner) };
  for (size_t b = 0; b < ir->bufs.n; b++) {
    if (ir->bufs.p[b].kind != BUF_ARENA || ir->bufs.p[b].of) continue;
    c.edge[c.n++] = ir->bufs.p[b].offset;
    c.edge[c.n++] = end_of(&ir->bufs.p[b]);
  }
  qsort(c.edge, (size_t)c.n, sizeof *c.edge, by_int64);
  int n = 0;
  for (int i = 0; i < c.n; i++)
    if (!n || c.edge[n - 1] != c.edge[i]) c.edge[n++] = c.edge[i];
  c.n = n;
  memset(c.owner, 0xff, (size_t)(n + 1) * sizeof *c.owner);
  return c;
}

static int cell_at(const Cells *c, int64_t offset) {
  const int64_t *at = bsearch(&offset, c->edge, (size_t)c->n, sizeof *c->edge, by_int64);
  CHECK(at);
  return (int)(at - c->edge);
}

/* Kernel k reads or writes all of buffer b; all slices of a buffer count as one. */
static bool touch(const Plan *p, Cells *cells, size_t k, int b, bool write, Sb *why) {
  if (p->ir->bufs.p[b].of) b = p->ir->bufs.p[b].of - 1;
  const Buf *buf = &p->ir->bufs.p[b];
  if (buf->offset < 0 || buf->offset % ALIGN || end_of(buf) > align_up(p->memory.arena_bytes)) {
    sb_printf(why, "kernel %zu: buffer %d lies outside of the arena", k, b);
    return false;
  }
  for (int at = cell_at(cells, buf->offset), end = cell_at(cells, end_of(buf)); at < end; at++) {
    if (!write && cells->owner[at] != b) {
      sb_printf(why, "kernel %zu reads buffer %d after buffer %d was written over it", k, b, cells->owner[at]);
      return false;
    }
    cells->owner[at] = b;
  }
  return true;
}

/* Simulates the run: every byte of the arena remembers the buffer that wrote it last. Reading a buffer whose bytes another one
 * wrote is an overlap. Loops run twice. So is reading a state with a single place after its next value was written there. */
bool memplan_check(const Plan *p, Sb *why) {
  const IR *ir = p->ir;
  for (size_t k = 0; k < p->kernels.n; k += (size_t)p->kernels.p[k].group_size)
    if (!group_check(p, k, why)) return false;
  Cells cells = make_cells(ir);
  bool ok = true, *renewed = xmalloc(p->memory.states.n + 1);
  memset(renewed, 0, p->memory.states.n + 1);
  for (size_t k = 0, again = 0; k < p->kernels.n && ok; k++) {
    const Kernel *kn = &p->kernels.p[k];
    if (kn->when) ok = touch(p, &cells, k, when_buffer(kn), false, why);
    if (k && kn->entry != kn[-1].entry) memset(renewed, 0, p->memory.states.n); /* the next value has become the state's value */
    for (int write = 0; write < 2 && ok; write++)
      for (size_t i = 0; i < kn->bufs.n && ok; i++) {
        const int b = kn->bufs.p[i];
        const Buf *buf = &ir->bufs.p[b];
        bool written = false;
        for (size_t j = 0; j < kn->written.n; j++) written |= kn->written.p[j] == b;
        if (buf->kind == BUF_NEXT && written && write && p->memory.states.p[buf->slot].slots == 1) renewed[buf->slot] = true;
        if (buf->kind == BUF_STATE && !write && renewed[buf->slot]) {
          sb_printf(why, "kernel %zu reads state %lld after its next value was written over it", k, (long long)buf->slot);
          ok = false;
        }
        if (buf->kind == BUF_ARENA && written == write) ok = ok && touch(p, &cells, k, b, write, why);
      }
    if (!kn->loop || (k + 1 < p->kernels.n && kn[1].loop == kn->loop) || again == k + 1) continue;
    again = k + 1; /* the second iteration of the loop that ends here */
    while (k + 1 > 0 && p->kernels.p[k].loop == kn->loop) k--;
  }
  free(cells.edge);
  free(cells.owner);
  free(renewed);
  return ok;
}

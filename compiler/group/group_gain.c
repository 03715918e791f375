/* SPDX-License-Identifier: MIT */
/* group_gain.c: how many cycles a group saves. Values that no core could have kept stay in the cache of the core that made them,
 * and threads meet only once. A group must not take more memory than its kernels alone, unless the values exceed all caches.
 *
 * needs: a group   gives: cycles, by the rates of the target */
#include "group_parts.h"
#include <math.h>
#include <stdlib.h>

static Use *use_of(const IR *ir, Uses *uses, int buf) {
  for (size_t i = 0; i < uses->n; i++)
    if (uses->p[i].buf == buf) return &uses->p[i];
  const Buf *b = &ir->bufs.p[buf];
  VEC_PUSH(uses, ((Use){ .buf = buf, .bytes = (double)b->elems * dt_bytes(b->dt), .last = -1 }));
  return &uses->p[uses->n - 1];
}

void group_uses(const IR *ir, const Group *c, Uses *uses) {
  for (int i = 0; i < c->n; i++)
    for (size_t k = 0; k < c->cut[i].m->touch.n; k++) {
      const Touch *x = &c->cut[i].m->touch.p[k];
      Use *u = use_of(ir, uses, x->buf);
      u->readers += u->written && !x->write && u->last < i;
      u->chunked |= touch_coef(x, c->cut[i].range[x->nest]) != 0;
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
    group_uses(ir, &one, &uses);
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
      const Addresses a = cut_addresses(ir, &c->cut[i], t, c->chunks);
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
double group_gain(const IR *ir, const Group *c, const Ends *ends, const Target *t) {
  Uses uses = { 0 };
  double weights = 0, share = 0, saved = 0, near = 0;
  double lost = start_cycles(t, BY_GROUP, (double)(c->chunks * c->n));
  const double l1 = rate(t, L1_PART, GROUP) * t->l1_bytes, far_bytes = rate(t, FAR_BYTES, GROUP);
  double most = meeting_cycles(t, BY_GROUP, c->n - 1) - lost;
  group_uses(ir, c, &uses);
  for (size_t i = 0; i < uses.n; i++)
    most += near_cycles(&uses.p[i], t) + (is_far(&uses.p[i], t) ? (2 + uses.p[i].readers) * uses.p[i].bytes / far_bytes : 0);
  double memory = most > 0 ? -alone_bytes(ir, c) : 0;
  for (size_t i = 0; i < uses.n && most > 0; i++) { /* pieces are slow to compute */
    const Use *u = &uses.p[i];
    const bool far = is_far(u, t);
    Piece p;
    if (!u->chunked) weights += u->bytes;
    else if (u->written && group_owns(c, &ends[u->buf]) && piece_of(ir, c, u->buf, &p)) {
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

bool leaves_threads_idle(const Plan *p, const Group *c) {
  const Target *t = p->in->target;
  const int threads = t->cores > 1 ? t->cores : tunable(p->ir->ctx, group_shares_wanted) / 2;
  double most = 0;
  for (int i = 0; i < c->n; i++) most = fmax(most, (double)p->kernels.p[c->cut[i].m->kernel].flops / (double)c->chunks);
  return fewest_chunks(p->ir, c) < threads && most > tunable(p->ir->ctx, group_alone);
}

bool gains_little(const Plan *p, const Group *c, double gain) {
  double cycles = 0;
  for (int i = 0; i < c->n && p->ir->symbols.n; i++) {
    const Kernel *k = &p->kernels.p[c->cut[i].m->kernel];
    cycles += kernel_cycles(p->in->target, BY_SIZES, (double)k->flops, (double)(k->bytes_read + k->bytes_written));
  }
  return gain < tunable(p->ir->ctx, group_sized) * cycles;
}

/* SPDX-License-Identifier: MIT */
/* cache_state.c: where a kernel finds its data in a run of the whole model.
 *
 * A cache keeps what was accessed last. So an access finds its data in the smallest cache that holds all bytes that were accessed
 * since the last access to these data. The plan tells which bytes each kernel accesses, in which order, and where they lie. Runs
 * follow one another: the first kernel finds what the last one has left. Between two runs the caller writes the inputs and reads
 * the outputs.
 *
 * So a weight is as far away as all memory of a run is large. A value that the last kernel has written is as far away as that
 * kernel's data are large. The memory of a result was used by an earlier value. A group accesses its pieces again for each chunk.
 *
 * needs: a plan with places in memory    gives: a level of cache for each buffer of each kernel    keeps: the plan */
#include "tune.h"
#include "../ir/refmap.h"
#include <string.h>

enum { GRANULES = 16384 }; /* parts of the arena that are tracked, each of whole lines */
enum { NEAR_PIECES = 3 };  /* between two accesses to a group's piece, a chunk of another kernel reads and writes about as much */

const char *const cache_level_name[LEVELS] = { "", "L1", "L2", "L3", "memory" };

typedef struct Run { /* a walk back from a kernel */
  const Plan *p;
  int64_t size[LEVELS];    /* bytes of the caches; 0: there is none */
  int64_t granule;         /* bytes of a part of the arena */
  int64_t all;             /* bytes that a run accesses */
  uint32_t *part, *buf;    /* by part of the arena, and by buffer: the last walk that has met it */
  uint32_t walk;
  int *uses;               /* by buffer: number of kernels that access it */
  const int64_t *run;      /* the RunSizes of the run; NULL: all sizes are the greatest */
} Run;

/* In the arena, values that a run does not need lie between others, or behind them. They are taken to lie behind them. */
static int64_t buf_bytes(const Run *r, const Buf *b) { return needed_elems(r->p->ir, b, r->run) * dt_bytes(b->dt); }

static MemoryLevel level_of(const Run *r, int64_t bytes) {
  for (int l = LEVEL_L1; l < LEVEL_MEMORY; l++)
    if (bytes <= r->size[l]) return (MemoryLevel)l;
  return LEVEL_MEMORY;
}

static int64_t largest_cache(const Run *r) {
  int64_t most = 0;
  for (int l = LEVEL_L1; l < LEVEL_MEMORY; l++) most = r->size[l] > most ? r->size[l] : most;
  return most;
}

/* Parts of the arena in which a buffer lies: first to end - 1 */
static void parts_of(const Run *r, const Buf *b, int64_t *first, int64_t *end) {
  *first = b->offset / r->granule;
  *end = (b->offset + buf_bytes(r, b) + r->granule - 1) / r->granule;
  if (*end > GRANULES) *end = GRANULES;
}

static bool has_place(const Buf *b) { return b->kind == BUF_ARENA && b->offset >= 0; }

/* Bytes of a buffer that this walk has not met before */
static int64_t meet(Run *r, int buf) {
  const Buf *b = &r->p->ir->bufs.p[buf];
  int64_t first, end, bytes = 0;
  if (!has_place(b)) {
    bytes = r->buf[buf] == r->walk ? 0 : buf_bytes(r, b);
    r->buf[buf] = r->walk;
    return bytes;
  }
  parts_of(r, b, &first, &end);
  for (int64_t i = first; i < end; i++) {
    bytes += r->part[i] == r->walk ? 0 : r->granule;
    r->part[i] = r->walk;
  }
  return bytes < buf_bytes(r, b) ? bytes : buf_bytes(r, b);
}

/* Whether the walk has met at least half of a buffer's memory */
static bool is_met(const Run *r, int buf) {
  const Buf *b = &r->p->ir->bufs.p[buf];
  int64_t first, end, met = 0;
  if (!has_place(b)) return r->buf[buf] == r->walk;
  parts_of(r, b, &first, &end);
  for (int64_t i = first; i < end; i++) met += r->part[i] == r->walk;
  return 2 * met >= end - first;
}

static bool is_callers(const Buf *b) { return b->kind == BUF_INPUT || b->kind == BUF_OUTPUT; }

/* The caller is at place n of a run of n kernels. */
static int64_t meet_step(Run *r, size_t place) {
  const Plan *p = r->p;
  int64_t bytes = 0;
  if (place < p->kernels.n) {
    for (size_t i = 0; i < p->kernels.p[place].bufs.n; i++) bytes += meet(r, p->kernels.p[place].bufs.p[i]);
    return bytes;
  }
  for (size_t i = 0; i < p->ir->bufs.n; i++)
    if (is_callers(&p->ir->bufs.p[i]) && r->uses[i]) bytes += meet(r, (int)i);
  return bytes;
}

/* Levels of the buffers of kernel k, in their order */
static void walk_back(Run *r, size_t k, MemoryLevel *level) {
  const Kernel *x = &r->p->kernels.p[k];
  const size_t places = r->p->kernels.n + 1;
  const int64_t most = largest_cache(r);
  size_t left = 0;
  int64_t bytes = 0;
  for (size_t i = 0; i < x->bufs.n; i++) {
    const int buf = x->bufs.p[i];
    const Buf *b = &r->p->ir->bufs.p[buf];
    const bool alone = b->kind == BUF_WEIGHT && r->uses[buf] == 1; /* last accessed one run ago */
    level[i] = alone ? level_of(r, r->all) : b->piece ? level_of(r, NEAR_PIECES * b->piece) : LEVEL_UNKNOWN;
    left += !level[i];
  }
  r->walk++;
  for (size_t back = 1; back <= places && left && bytes <= most; back++) {
    bytes += meet_step(r, (k + places - back) % places);
    for (size_t i = 0; i < x->bufs.n; i++)
      if (!level[i] && is_met(r, x->bufs.p[i])) level[i] = level_of(r, bytes), left--;
  }
  for (size_t i = 0; i < x->bufs.n; i++)
    if (!level[i]) level[i] = LEVEL_MEMORY;
}

static Run open_run(const Plan *p, const Target *t, const int64_t *run) {
  Arena *m = &p->ir->ctx->model;
  const int64_t arena = p->memory.arena_bytes;
  Run r = { .p = p,
            .run = run,
            .size = { [LEVEL_L1] = t->l1_bytes, [LEVEL_L2] = t->l2_bytes, [LEVEL_L3] = t->l3_bytes },
            .granule = (arena / GRANULES + LINE_BYTES) / LINE_BYTES * LINE_BYTES,
            .part = ARENA_NEW(m, uint32_t, GRANULES),
            .buf = ARENA_NEW(m, uint32_t, p->ir->bufs.n + 1),
            .uses = ARENA_NEW(m, int, p->ir->bufs.n + 1) };
  for (size_t k = 0; k < p->kernels.n; k++)
    for (size_t i = 0; i < p->kernels.p[k].bufs.n; i++) r.uses[p->kernels.p[k].bufs.p[i]]++;
  int64_t placed = 0;
  for (size_t i = 0; i < p->ir->bufs.n; i++)
    if (r.uses[i]) *(has_place(&p->ir->bufs.p[i]) ? &placed : &r.all) += buf_bytes(&r, &p->ir->bufs.p[i]);
  r.all += run && placed < arena ? placed : arena;
  return r;
}

MemoryLevel **cache_levels(const Plan *p, const Target *t, const int64_t *run) {
  Arena *m = &p->ir->ctx->model;
  MemoryLevel **all = ARENA_NEW(m, MemoryLevel *, p->kernels.n + 1);
  Run r = open_run(p, t, run);
  for (size_t k = 0; k < p->kernels.n; k++) {
    all[k] = ARENA_NEW(m, MemoryLevel, p->kernels.p[k].bufs.n + 1);
    walk_back(&r, k, all[k]);
  }
  return all;
}

/* ---- the state of a nest ---- */

/* The buffer in a kernel's list. Calls of a loop's kernel have buffers of their own. -1: it is not there */
static int place_in(const Kernel *k, int buf) {
  for (size_t i = 0; i < k->bufs.n; i++)
    if ((k->named ? k->named[i] : k->bufs.p[i]) == buf) return (int)i;
  return -1;
}

static void see(DataSeen *s, MemoryLevel level) { s->at[level]++; }

/* Weights of a nest are packed, so they have other buffers in its kernel. */
static void see_weights(const Plan *p, const Kernel *k, const MemoryLevel *level, DataSeen *s) {
  MemoryLevel far = LEVEL_UNKNOWN;
  int64_t most = 0;
  for (size_t i = 0; i < k->bufs.n; i++) {
    const Buf *b = &p->ir->bufs.p[k->bufs.p[i]];
    const int64_t bytes = b->elems * dt_bytes(b->dt);
    if (b->kind == BUF_WEIGHT && bytes > most) most = bytes, far = level[i];
  }
  if (far) see(s, far);
}

static void see_access(CacheState *s, const Plan *p, const Kernel *k, const MemoryLevel *level, const Node *x, size_t *n) {
  const int buf = (int)buffer_id(node(p->ir, access_buffer(x))), place = place_in(k, buf);
  const BufKind kind = p->ir->bufs.p[buf].kind;
  if (kind == BUF_WEIGHT || buf_is_own(kind)) return;
  size_t at = 0;
  while (at < *n && s->seen.p[at].buf != buf) at++;
  if (at < *n) return;
  if (at == s->seen.n) VEC_PUSH(&s->seen, ((DataSeen){ .buf = buf, .written = x->op == OP_STORE }));
  ++*n;
  see(&s->seen.p[at], place < 0 ? LEVEL_L1 : level[place]);
}

/* Equal nests access their buffers in the same order, whatever the numbers of these are. */
void cache_state_see(CacheState *s, const Plan *p, int kernel, Ref nest, const MemoryLevel *level) {
  const Kernel *k = &p->kernels.p[kernel];
  CacheState own = { 0 };
  Refs all = { 0 };
  size_t n = 0;
  ir_toposort(p->ir, &nest, 1, &all);
  for (size_t i = 0; i < all.n; i++) {
    const Node *x = node(p->ir, all.p[i]);
    if (x->op == OP_LOAD || x->op == OP_STORE) see_access(&own, p, k, level, x, &n);
  }
  VEC_FREE(&all);
  for (size_t i = 0; i < own.seen.n; i++) {
    if (i == s->seen.n) VEC_PUSH(&s->seen, ((DataSeen){ .buf = own.seen.p[i].buf, .written = own.seen.p[i].written }));
    for (int l = 0; l < LEVELS; l++) s->seen.p[i].at[l] += own.seen.p[i].at[l];
  }
  VEC_FREE(&own.seen);
  see_weights(p, k, level, &s->weights);
}

/* The median of all uses */
static MemoryLevel typical(const DataSeen *s) {
  int all = 0, nearer = 0, l = 0;
  for (int i = 0; i < LEVELS; i++) all += s->at[i];
  while (l < LEVELS - 1 && 2 * (nearer += s->at[l]) < all) l++;
  return all ? (MemoryLevel)l : LEVEL_UNKNOWN;
}

static void put_levels(const CacheState *s, bool written, const char *what, Sb *out) {
  bool first = true, same = true;
  MemoryLevel one = LEVEL_UNKNOWN;
  for (size_t i = 0; i < s->seen.n; i++) {
    if (s->seen.p[i].written != written) continue;
    same &= !one || one == s->seen.p[i].level;
    one = s->seen.p[i].level;
  }
  if (!one) return;
  sb_printf(out, "%s%s", out->n ? ", " : "", what);
  for (size_t i = 0; i < s->seen.n; i++)
    if (s->seen.p[i].written == written && (first || !same)) {
      sb_printf(out, " %s", cache_level_name[s->seen.p[i].level]);
      first = false;
    }
}

void cache_state_close(Ctx *c, CacheState *s) {
  Sb text = { 0 };
  for (size_t i = 0; i < s->seen.n; i++) s->seen.p[i].level = typical(&s->seen.p[i]);
  s->weights.level = typical(&s->weights);
  put_levels(s, false, "inputs", &text);
  if (s->weights.level) sb_printf(&text, "%sweights %s", text.n ? ", " : "", cache_level_name[s->weights.level]);
  put_levels(s, true, "results", &text);
  s->text = text.n ? sb_keep(&text, &c->model) : "no data";
}

MemoryLevel cache_state_level(const CacheState *s, const IR *ir, int buf) {
  if (ir->bufs.p[buf].kind == BUF_WEIGHT) return s->weights.level ? s->weights.level : LEVEL_L1;
  for (size_t i = 0; i < s->seen.n; i++)
    if (s->seen.p[i].buf == buf) return s->seen.p[i].level;
  return LEVEL_L1;
}

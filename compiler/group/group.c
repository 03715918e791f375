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
 * threads share c (threads.c). group_cuts.c proves that chunks are independent.
 *
 * A buffer that only the kernels of a group access needs memory for one chunk: a piece for each share of the chunks. A thread
 * uses its piece again for each of its chunks, so the piece never leaves the thread's cache. Memory for all chunks would be
 * fetched before it is written. This is the largest gain of a group. So a group must not take more memory than its kernels
 * alone: a line that another kernel has just used is in the cache. Where the values exceed all caches, no line is. A group may
 * take more memory there, which counts against it (group_pieces.c, group_gain.c).
 *
 * Ranges of sizes: a run may need the first values of a range only (nest/needed.c). A group cut along this range has chunks of
 * whole entries, and its range of chunks has a limit. All nests of the group have the same limit, so a chunk is the same part of
 * each. Other ranges end inside of a chunk, as they do without groups. A piece has room for the greatest sizes.
 *
 * needs: canonical nests, their cost
 * gives: Kernel.group_size and .chunks_per_task, Buf.piece, chunk ranges in the sinks of groups
 * keeps: nests canonical, and the value of every element */
#include "../target/isa_ops.h"
#include "group_parts.h"
#include <stdlib.h>
#include <string.h>

typedef struct GroupChoice {  /* how the kernels from one on are grouped; small, since there is one per kernel */
  int n;                      /* 1: the kernel is alone */
  int64_t chunks, chunks_per_task; /* a thread takes chunks_per_task consecutive chunks at a time */
  Ref along;                  /* range of its first kernel along which it is cut */
  int least;                  /* as in Group */
  double total;               /* cycles gained by it and by the best groups behind it */
} GroupChoice;

/* Builds the group of a choice; false: its kernels cannot form a group. */
static bool group_of(const Plan *p, const Member *m, const GroupChoice *choice, Group *c) {
  c->chunks_per_task = choice->chunks_per_task;
  c->least = choice->least;
  if (!group_begin(p->ir, c, m, choice->along, choice->chunks)) return false;
  while (c->n < choice->n && m->kernel + c->n < (int)p->kernels.n && group_add(p->ir, c, m + c->n)) continue;
  return c->n == choice->n;
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
  group_uses(ir, c, &uses);
  for (size_t i = 0; i < uses.n; i++)
    if (uses.p[i].written && group_owns(c, &ends[uses.p[i].buf]) && piece_of(ir, c, uses.p[i].buf, &piece))
      VEC_PUSH(&pieces, piece);
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
  for (size_t i = 0; i < n; i++) member_open(ir, &p->kernels.p[i], (int)i, &m[i]);
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

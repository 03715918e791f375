/* SPDX-License-Identifier: MIT */
/* threads.c: divides a kernel among threads: the opt THREADS(n).
 *
 * Some loops of every nest, as far outside as is good, become one range of units, of kind `thread`. A kernel is called for
 * chunks [begin, end) of its n. Chunk i runs the units from i * units / n on of each nest, so tiles and their rests share one
 * parallel region. n follows from the work, never from the number of threads. A reduction stays in one unit, and no element is
 * stored twice. So results have the same bits however many threads share the chunks.
 *
 * A schedule may give the number of chunks. Otherwise the model counts instructions of the expanded nests, and bytes that no
 * cache holds. A kernel that is not worth sharing stays whole: distributing work takes about a microsecond.
 * needs: nests of loops only (expand.c), packed weights (pack.c)   keeps: the value of every element */
#include "../opt/opts.h"
#include "group.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const int chunk_counts[] = { 48, 24, 12, 8, 6, 4, 2 }; /* numbers that few threads divide evenly */

/* ---- cost ---- */
enum { TILE_ROWS = 16 }; /* rows of a full tile of a matrix unit */

static double instructions(const IR *ir, const Node *x, const Target *t) {
  switch ((Op)x->op) {
  case OP_LOAD:
  case OP_STORE:
  case OP_LANE:
  case OP_PART: return rate(t, ALU, PARALLEL);
  case OP_SHUFFLE: case OP_LOOKUP: return rate(t, SHUFFLE, PARALLEL);
  case OP_TILE:
  case OP_SPILL: return TILE_ROWS * rate(t, MMA_LOAD, PARALLEL) * rate(t, ISSUE, PARALLEL);
  case OP_MMA: return TILE_ROWS * rate(t, MMA_MULTIPLY, PARALLEL) * rate(t, ISSUE, PARALLEL);
  case OP_SCALB: return rate(t, SCALB, PARALLEL);
  case OP_VEC: return x->lanes * rate(t, ONE_BY_ONE, PARALLEL);
  case OP_HRED: return node(ir, operand(x))->lanes * rate(t, COMBINE, PARALLEL);
  case OP_ADD: case OP_SUB: /* with a product: one instruction together */
    if (t->fma && dt_float((DType)x->dt) && (node(ir, lhs(x))->op == OP_MUL || node(ir, rhs(x))->op == OP_MUL)) return 0;
    break;
  default: break;
  }
  return op_info[x->op].level == L_EXPR && x->dt != DT_I64 ? op_instructions(t, BY_PARALLEL, (Op)x->op) : 0;
}

/* Executions of an op that depends on a set of ranges. Loops of a nest are nested. Loops of a reduction are around the ops that
 * need them only. */
static double executions(const IR *ir, const Refs *ranges, int nest_ranges, uint64_t set) {
  double times = 1;
  int deepest = nest_ranges;
  while (deepest && !(set >> (deepest - 1) & 1)) deepest--;
  for (size_t i = 0; i < ranges->n; i++)
    if ((int)i < deepest || ((int)i >= nest_ranges && (set >> i & 1))) times *= (double)range_extent(node(ir, ranges->p[i]));
  return times;
}

/* Cycles of a nest: each instruction times the iterations of the loops around it. */
static double nest_cost(const IR *ir, Ref nest, const Target *t) {
  const int loops = node(ir, nest)->nsrc - 1;
  Varying v;
  double total = 0;
  varying_open(ir, nest, &v);
  for (size_t i = 0; i < v.nodes.n; i++)
    total += instructions(ir, node(ir, v.nodes.p[i]), t) * executions(ir, &v.ranges, loops, v.by[i]);
  varying_free(&v);
  return total / rate(t, ISSUE, PARALLEL);
}

/* ---- loops that may be shared ---- */
/* A last tile was moved back (opts.c), so two units of the range store the same elements. An index from data is clamped by MIN,
 * too. */
static bool overlaps(const IR *ir, Ref root, Ref range) {
  const Node *x = node(ir, root);
  bool any = false;
  for (int i = 0; i < x->nsrc && x->op == OP_SINK && !any; i++) any = overlaps(ir, x->src[i], range);
  if (x->op != OP_STORE) return any;
  Refs all = { 0 };
  ir_toposort(ir, (Ref[]){ store_index(x) }, 1, &all);
  for (size_t i = 0; i < all.n; i++)
    any |= node(ir, all.p[i])->op == OP_MIN && ix_uses(ir, all.p[i], range) && !ix_loads(ir, all.p[i]);
  VEC_FREE(&all);
  return any;
}

/* A nest whose loops may become units, except the innermost ones; ranges with overlapping units are inside. */
typedef struct Share {
  Nest nest;
  double cost, kernel;         /* cycles of the nest, and cycles of all nests of the kernel */
  int first, most;             /* loops first .. most - 1 may become units; serial loops may be outside of them */
  int panels;                  /* loops outside of copies of operands (stage.c); units further inside would repeat the copies */
  int from, loops;             /* the chosen units: number of loops outside of them, number of their loops */
  int64_t units;
} Share;

/* Sums do not vary with a loop inside of loop k. If loop k stood inside of that, they would be computed again and again. */
static bool repeats_inside(IR *ir, Ref nest, const Nest *n, int k) {
  bool any = false;
  for (int i = k + 1; i < n->n; i++) any |= reduction_repeats(ir, nest, n->ranges[i]);
  return any;
}

/* Several independent loops may be merged to units if every reduction varies with the innermost of them or with loops below it.
 * Otherwise a reduction would be computed more than once. So rows of tiles, on which no product of tiles depends, stay
 * innermost. */
static void open_share(IR *ir, Ref nest, const Target *t, Share *s) {
  const Nest n = nest_open(ir, nest);
  Refs all = { 0 };
  *s = (Share){ .nest = n, .cost = nest_cost(ir, nest, t), .panels = n.n };
  enum { INDEPENDENT, OVERLAPPING, ROWS } kind[MAX_RANGES];
  bool serial[MAX_RANGES + 1] = { false }; /* by place */
  int at = 0;
  for (int k = 0; k < n.n; k++)
    kind[k] = range_kind(node(ir, n.ranges[k])) == RK_ROW ? ROWS : overlaps(ir, n.store, n.ranges[k]) ? OVERLAPPING : INDEPENDENT;
  int kept = n.n; /* loops from here on keep their places */
  for (int k = 0; k < n.n && kept == n.n && ir->symbols.n; k++)
    if (kind[k] == OVERLAPPING && repeats_inside(ir, nest, &n, k)) kept = k;
  for (int k = kept; k < n.n; k++)
    if (kind[k] == INDEPENDENT) kind[k] = OVERLAPPING;
  for (int of = INDEPENDENT; of <= ROWS; of++) {
    for (int k = 0; k < n.n; k++) {
      if ((int)kind[k] != of) continue;
      serial[at] = range_kind(node(ir, n.ranges[k])) == RK_SERIAL;
      s->nest.ranges[at++] = n.ranges[k];
    }
    if (of == INDEPENDENT) s->most = at;
  }
  while (s->first < s->most && serial[s->first]) s->first++;
  for (at = s->first; at < s->most && !serial[at];) at++;
  s->most = at;
  ir_toposort(ir, &nest, 1, &all);
  for (size_t i = 0; i < all.n; i++) {
    int deepest = n.n;
    const bool panel = node(ir, all.p[i])->op == OP_NEST && all.p[i] != nest;
    if (node(ir, all.p[i])->op != OP_RED && !panel) continue;
    while (deepest && !ix_uses(ir, all.p[i], s->nest.ranges[deepest - 1])) deepest--;
    if (panel) s->panels = deepest;
    else if (deepest < s->most) s->most = deepest;
  }
  VEC_FREE(&all);
}

/* A nest reads what another one stores, so they must not run in parallel. */
static bool dependent(const IR *ir, const Refs *nests) {
  RefMap writer = { 0 }; /* buffer + 1 to nest + 1 */
  Refs all = { 0 };
  bool any = false;
  for (int loads = 0; loads < 2; loads++)
    for (size_t i = 0; i < nests->n && nests->n > 1; i++) {
      all.n = 0;
      ir_toposort(ir, &nests->p[i], 1, &all);
      for (size_t j = 0; j < all.n; j++) {
        const Node *x = node(ir, all.p[j]);
        if (loads ? x->op != OP_LOAD && x->op != OP_TILE : x->op != OP_STORE) continue;
        Ref buf = (Ref)buffer_id(node(ir, access_buffer(x))) + 1;
        if (ir->bufs.p[buf - 1].kind == BUF_LOCAL) continue; /* private to a call */
        if (!loads) refmap_set(&writer, buf, (Ref)i + 1);
        else any |= refmap_get(&writer, buf) != 0;
      }
    }
  VEC_FREE(&all);
  refmap_free(&writer);
  return any;
}

/* ---- the choice ---- */
/* Values of range k are further apart in memory than those of any other loop, so each thread has one block of memory. */
static bool outermost_in_memory(IR *ir, const Nest *n, int k, Ref index) {
  int64_t mine, other;
  Ref rest;
  bool most = ix_split(ir, index, n->ranges[k], &mine, &rest);
  for (int j = 0; j < n->n && most; j++)
    if (j != k) most = ix_split(ir, index, n->ranges[j], &other, &rest) && llabs(other) <= llabs(mine);
  return most;
}

/* Share of the stored cache lines that two threads write to if they share loop k. These are the lines at the ends of the part
 * that the loop walks. */
static double torn_lines(IR *ir, const Nest *n, int k, Ref store) {
  const Node *x = node(ir, store);
  int64_t step;
  Ref rest;
  if (!ix_split(ir, store_index(x), n->ranges[k], &step, &rest)) return 0;
  double run = (double)llabs(step) * (double)range_extent(node(ir, n->ranges[k])) * dt_bytes((DType)node(ir, store_value(x))->dt);
  return run < LINE_BYTES ? 1 : LINE_BYTES / run;
}

typedef struct Touched {
  int64_t buf;
  double bytes, shared;    /* bytes accessed; part of them that comes to be in two caches */
  bool all;                /* each thread reads all of it */
} Touched;

/* Traffic of an access if loop k is shared. For a buffer without known affinity, kernels before and after are assumed to share
 * it in blocks of memory. */
static Touched touched_by(const Plan *p, const Nest *n, int k, Ref access) {
  IR *ir = p->ir;
  const Node *x = node(ir, access);
  const bool store = x->op == OP_STORE;
  const Node *value = store ? node(ir, store_value(x)) : x;
  const int64_t span = affinity_span(ir, access_index(x), n->ranges[k]);
  Refs ranges = { 0 };
  Touched r = { buffer_id(node(ir, access_buffer(x))), (double)value->lanes * dt_bytes((DType)value->dt), 0,
                !store && span == SPAN_NONE };
  if (ir->bufs.p[r.buf].kind != BUF_WEIGHT) {
    r.shared = store ? affinity_storing(p, r.buf, span) : affinity_reading(p, r.buf, span);
    const bool in_blocks = (store || (r.shared < 0 && !r.all)) && outermost_in_memory(ir, n, k, access_index(x));
    if (r.shared < 0) r.shared = r.all ? 1 : in_blocks ? 0 : 0.5;
    if (store && !in_blocks) r.shared += rate(p->in->target, BOUNCES, PARALLEL) * torn_lines(ir, n, k, access);
  }
  collect_ranges(ir, access_index(x), &ranges);
  for (size_t j = 0; j < ranges.n; j++) r.bytes *= (double)range_extent(node(ir, ranges.p[j]));
  VEC_FREE(&ranges);
  return r;
}

/* Cycles that threads lose if loop k of the nest is shared. They lose them to lines that come to be in two caches, unless the
 * caches evict these meanwhile. They also lose them to reading data that does not vary with the loop. Each thread reads it, and
 * reads it in each call if no cache holds it. */
static double sharing_cycles(const Plan *p, const Nest *n, int k, int chunks) {
  VEC(Touched) touched = { 0 };
  Refs all = { 0 };
  const double l2 = p->in->target->l2_bytes, calls = k ? fmax(1, log2(chunks)) : 1; /* a thread takes its share by halves */
  double total = 0;
  ir_toposort(p->ir, &n->store, 1, &all);
  for (size_t i = 0; i < all.n; i++) {
    const Node *x = node(p->ir, all.p[i]);
    size_t at = 0;
    if (!is_access(x) || p->ir->bufs.p[buffer_id(node(p->ir, access_buffer(x)))].kind == BUF_LOCAL) continue;
    Touched r = touched_by(p, n, k, all.p[i]);
    while (at < touched.n && touched.p[at].buf != r.buf) at++;
    if (at == touched.n) VEC_PUSH(&touched, r);
    else touched.p[at].bytes += r.bytes, touched.p[at].shared = fmax(touched.p[at].shared, r.shared), touched.p[at].all |= r.all;
  }
  for (size_t i = 0; i < touched.n; i++) { /* copies of a tile overlap */
    const Buf *b = &p->ir->bufs.p[touched.p[i].buf];
    const double bytes = fmin(touched.p[i].bytes, (double)b->elems * dt_bytes(b->dt));
    total += lines_cycles(p->in->target, BY_PARALLEL, touched.p[i].shared * bytes / LINE_BYTES * fmin(1, l2 / bytes));
    if (touched.p[i].all)
      total += bytes / rate(p->in->target, FAR_BYTES, PARALLEL) *
               ((bytes > rate(p->in->target, L2_WORK, PARALLEL) * l2 ? calls : 1) - 0.5);
  }
  VEC_FREE(&touched);
  VEC_FREE(&all);
  return total;
}

/* Takes as few loops from s->from on as give enough units, while a unit is worth the two divisions that find its place. */
static void count_units(const Plan *p, int chunks, Share *s) {
  const IR *ir = p->ir;
  const Tunables *u = tunables_of(ir->ctx);
  s->loops = 0;
  s->units = 1;
  while (s->from + s->loops < s->most) {
    int64_t e = range_extent(node(ir, s->nest.ranges[s->from + s->loops]));
    const bool ends = range_limit(node(ir, s->nest.ranges[s->from + s->loops])); /* at a size of the run: a unit by itself */
    if (ends && s->loops) return;
    bool fine = s->cost / (double)s->units <=
                s->kernel / (chunks < u->units_few ? chunks : u->units_few); /* small parts of the whole */
    bool repeats = s->from + s->loops >= s->panels && fine;
    bool enough = repeats || s->units >= (int64_t)u->units_of_chunk * chunks || (s->units >= chunks && s->units % chunks == 0);
    double least = s->units < chunks ? rate(p->in->target, UNIT_FEW, PARALLEL) : rate(p->in->target, UNIT, PARALLEL);
    if (enough || (s->units > 1 && s->cost / (double)s->units / (double)e < least)) return;
    s->units *= e;
    s->loops++;
    if (ends) return;
  }
}

/* Chooses the loop to share: the outermost, unless threads lose less by sharing an inner one. */
static void choose_loops(const Plan *p, int chunks, Share *s) {
  const Tunables *u = tunables_of(p->ir->ctx);
  double least = 0;
  int best = s->first;
  for (int k = s->first; k < s->most; k++) {
    const double lost = sharing_cycles(p, &s->nest, k, chunks);
    s->from = k;
    count_units(p, chunks, s);
    bool enough = s->units >= chunks || (s->units >= u->units_few && lost < u->inner_loop_few * least);
    if (k == s->first || (enough && lost < u->inner_loop_gain * least)) best = k, least = lost;
  }
  s->from = best;
  count_units(p, chunks, s);
}

/* Records who holds the nest's data now: the threads that share `loop`, or one thread if loop is 0. */
static void note_affinity(const Plan *p, const Nest *n, Ref loop, bool stores) {
  IR *ir = p->ir;
  Refs all = { 0 };
  ir_toposort(ir, &n->store, 1, &all);
  for (size_t i = 0; i < all.n; i++) {
    const Node *x = node(ir, all.p[i]);
    if (stores ? x->op != OP_STORE : x->op != OP_LOAD && x->op != OP_TILE) continue;
    affinity_note(p, buffer_id(node(ir, access_buffer(x))), stores, loop ? affinity_span(ir, access_index(x), loop) : SPAN_ONE);
  }
  VEC_FREE(&all);
}

/* ---- applying the choice ---- */
/* Also for one unit, which one chunk runs. The range takes the number of the outermost loop in it, so that it keeps its place
 * in sums. */
static Ref thread_range(IR *ir, int64_t units, int64_t number, int64_t limit) {
  const int64_t arg[4] = { units, number, RK_THREAD, limit };
  return node_make(ir, OP_RANGE, DT_I64, 1, 0, NULL, limit ? 4 : 3, arg, 0, NULL);
}

static Ref close_share(IR *ir, Share *s) {
  Nest *n = &s->nest;
  const int64_t number = s->loops ? range_id(node(ir, n->ranges[s->from])) : ir->next_range++;
  Ref unit = thread_range(ir, s->units, number, s->loops ? range_limit(node(ir, n->ranges[s->from])) : 0), rest = unit;
  if (!s->loops) {
    CHECK(n->n < MAX_RANGES);
    memmove(n->ranges + 1, n->ranges, (size_t)n->n++ * sizeof *n->ranges);
    n->ranges[0] = unit;
    return nest_close(ir, n);
  }
  Ref *shared = n->ranges + s->from;
  for (int k = s->loops - 1; k >= 0; k--) {
    const int64_t e = range_extent(node(ir, shared[k]));
    const Ref at = k ? ix_mod(ir, rest, e) : rest;
    n->store = ix_subst(ir, n->store, 1, &shared[k], &at);
    rest = ix_div(ir, rest, e);
  }
  n->n -= s->loops - 1;
  shared[0] = unit;
  memmove(shared + 1, shared + s->loops, (size_t)(n->n - s->from - 1) * sizeof *shared);
  return nest_close(ir, n);
}

/* Number of chunks of the ranges that group.c put outermost; 0: there are none */
static int threads_given(const Plan *p, Refs *nests) {
  IR *ir = p->ir;
  int64_t chunks = 0;
  for (size_t i = 0; i < nests->n; i++) {
    Nest n = nest_open(ir, nests->p[i]);
    int at = 0;
    while (at < n.n && range_kind(node(ir, n.ranges[at])) != RK_THREAD) at++;
    if (at == n.n) continue;
    Ref chunk = n.ranges[at];
    if (range_extent(node(ir, chunk)) > chunks) chunks = range_extent(node(ir, chunk));
    memmove(n.ranges + 1, n.ranges, (size_t)at * sizeof *n.ranges);
    n.ranges[0] = chunk;
    nests->p[i] = nest_close(ir, &n);
    for (int stores = 0; stores < 2; stores++) note_affinity(p, &n, chunk, stores);
  }
  return (int)chunks;
}

/* Chooses the loops that threads share, by the model; returns the number of chunks. wanted: chunks; 0: the model decides */
static int model_chunks(const Plan *p, const Refs *nests, Share *s, int64_t bytes, int wanted) {
  const Target *t = p->in->target;
  double sum = 0, moved = memory_cycles(t, BY_PARALLEL, (double)bytes, (double)bytes), total, largest = 0;
  int chunks = wanted ? wanted : 1;
  for (size_t i = 0; i < nests->n; i++) sum += s[i].cost;
  total = overlapped(t, BY_PARALLEL, moved, sum);
  for (size_t i = 0;
       i < sizeof chunk_counts / sizeof *chunk_counts && !wanted && chunks == 1 && worth_sharing(t, BY_PARALLEL, total); i++)
    if (total / chunk_counts[i] >= rate(t, CHUNK, PARALLEL)) chunks = chunk_counts[i];
  if (chunks > 1 && dependent(p->ir, nests)) chunks = 1;
  int64_t units = 1; /* units of the nest that costs most */
  for (size_t i = 0; i < nests->n && chunks > 1; i++) {
    s[i].cost *= total / sum;
    s[i].kernel = total;
    choose_loops(p, chunks, &s[i]);
    if (s[i].cost > largest) largest = s[i].cost, units = s[i].units;
  }
  if (units < chunks) chunks = (int)units;
  for (size_t i = 0; i < nests->n && chunks > 1; i++) count_units(p, chunks, &s[i]);
  return chunks;
}

/* "1", or "24:0+2:1+1": number of chunks; then for each nest the first shared loop and the number of shared loops */
static const char *chunks_text(Arena *a, const Share *s, size_t n, int chunks) {
  Sb text = { 0 };
  sb_printf(&text, "%d", chunks);
  for (size_t i = 0; i < n && chunks > 1; i++) sb_printf(&text, ":%d+%d", s[i].from, s[i].loops);
  return sb_keep(&text, a);
}

/* 0: the nests have no such loops, or must not run in parallel. */
static int given_chunks(const IR *ir, const Refs *nests, const char *text, Share *s) {
  int chunks, end = 0;
  if (sscanf(text, "%d%n", &chunks, &end) != 1 || chunks < 1 || chunks > MAX_CHUNKS) return 0;
  if (chunks > 1 && dependent(ir, nests)) return 0;
  for (size_t i = 0; i < nests->n && chunks > 1; i++) {
    Share *x = &s[i];
    int length = 0;
    if (sscanf(text + end, ":%d+%d%n", &x->from, &x->loops, &length) != 2 || x->from < x->first || x->loops < 0 ||
        x->loops > x->most - x->from)
      return 0;
    end += length;
    x->units = 1;
    for (int k = 0; k < x->loops; k++) {
      const Node *r = node(ir, x->nest.ranges[x->from + k]);
      if (x->loops > 1 && range_limit(r)) return 0;
      x->units *= range_extent(r);
    }
  }
  return text[end] ? 0 : chunks;
}

/* Makes loops over threads. Returns the number of chunks, 1: serial. bytes: accessed by the kernel; wanted: chunks, 0: the
 * model decides; q: a given answer, which overrides both */
static int threads_apply(const Plan *p, Refs *nests, int64_t bytes, int wanted, const Question *q) {
  IR *ir = p->ir;
  Share *s = xmalloc((nests->n + 1) * sizeof *s);
  for (size_t i = 0; i < nests->n; i++) open_share(ir, nests->p[i], p->in->target, &s[i]);
  int chunks = q->given ? given_chunks(ir, nests, q->given, s) : 0;
  if (q->given && !chunks) answer_refused(ir, q, "the kernel cannot be divided this way");
  if (!chunks) chunks = model_chunks(p, nests, s, bytes, wanted);
  answer_with(ir, q, chunks_text(&ir->ctx->model, s, nests->n, chunks));
  for (int stores = 0; stores < 2; stores++)
    for (size_t i = nests->n; i-- > 0;)
      note_affinity(p, &s[i].nest, chunks > 1 && s[i].loops ? s[i].nest.ranges[s[i].from] : 0, stores);
  for (size_t i = 0; i < nests->n && chunks > 1; i++) nests->p[i] = close_share(ir, &s[i]);
  free(s);
  return chunks;
}

void step_threads(Plan *p, Kernel *k) {
  Refs nests = { 0 };
  int wanted = 0; /* limit of chunks, from the nests' schedules */
  for (size_t i = 0; i < k->states.n; i++)
    if (!k->states.p[i].depth && k->states.p[i].opts->threads > wanted) wanted = k->states.p[i].opts->threads;
  states_nests(k, &nests);
  k->chunks = threads_given(p, &nests);
  if (!k->chunks) {
    const Question q = ask_kernel(p, "chunks", k);
    k->chunks = threads_apply(p, &nests, k->bytes_read + k->bytes_written, wanted, &q);
  }
  states_put(k, &nests);
}

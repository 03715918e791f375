/* SPDX-License-Identifier: MIT */
/* launches.c: the step `launches` turns nests into a device program.
 *
 * A nest whose schedule names blocks or threads has ranges of these kinds, which become loops of the program. Any other nest
 * runs by the schedule that is always legal: each value of its ranges is a thread. Its ranges are flattened into blocks with
 * the launch's number of threads. Superfluous threads of the last block do nothing: a gated loop is around all that a thread
 * does. Gates of stores alone would let them load outside of buffers, or values that another thread replaces in place.
 * Reductions and serial loops stay loops of a thread, so sums keep the order of a program for one thread.
 *
 * Nests are parts of one launch, one flat grid, while none touches elements that another one stores. A nest that may do so
 * begins a new launch. All blocks of a launch have the size of the largest. A smaller block is filled by joining several
 * blocks, or by threads that store nothing. For a range of sizes the grid is that of the greatest ones. A block, or a flattened
 * thread, whose values a run does not need does nothing (nest/ends.c).
 *
 * Threads of a launch do not interfere, for three reasons. Different values of a nest's ranges store at different places
 * (docs/ir.md). If several threads have the same value, the first one stores it. Nests that may interfere are in different
 * launches. interp/interp_threads.c checks this (tests/device-programs).
 *
 * needs: nests with ranges of blocks and threads, or of loops only   gives: Kernel.prog, the buffers it names, Kernel.schedule
 * keeps: the value of every element   breaks: Kernel.states, which is empty afterwards */
#include "../group/group.h"
#include "../opt/opts.h"
#include "../target/launch.h"
#include "lower.h"
#include <stdlib.h>

enum { FLAT_THREADS = 256 }; /* threads of a block in the schedule that is always legal */

typedef struct Making {
  IR *ir;
  const Device *d;
  Refs prog;
  Refs accesses;           /* all accesses of the launch so far */
} Making;

/* A nest of the kernel, and its launch */
typedef struct Part {
  Ref nest;                /* with threads in place of groups */
  Ref canonical;           /* before its schedule, whose ranges are wider than gates permit */
  bool placed;             /* it has ranges of blocks and threads */
  BlockThreads own;        /* the threads of its schedule */
  bool first;              /* first nest of its launch */
  int64_t threads;         /* threads of a block of the launch */
} Part;

/* ---- ranges of blocks and threads ---- */
static bool is_serial(const IR *ir, Ref range) { return range_kind(node(ir, range)) == RK_SERIAL; }

static int64_t values_of(const IR *ir, const Nest *n) {
  int64_t v = 1;
  for (int k = 0; k < n->n; k++)
    if (!is_serial(ir, n->ranges[k])) CHECK(i64_mul(v, range_extent(node(ir, n->ranges[k])), &v));
  return v;
}

/* A nest over blocks and threads. gate: the condition under which a thread has a value; 0: always */
typedef struct Flat { Ref nest, thread, gate; } Flat;

static int64_t blocks_of(int64_t values, int64_t threads) { return values ? (values - 1) / threads + 1 : 1; }

static Flat flatten(IR *ir, const Device *d, Ref nest, int64_t threads) {
  Nest n = nest_open(ir, nest);
  const int64_t values = values_of(ir, &n), rows = blocks_of(blocks_of(values, threads), d->max_grid[0]),
                /* a grid with too many blocks for one dimension is rows of blocks */
                row = blocks_of(blocks_of(values, threads), rows);
  const Ref block[2] = { rows > 1 ? range_new(ir, rows, RK_GRID) : 0, range_new(ir, row, RK_GRID) };
  const Ref number = rows > 1 ? ix_add(ir, ix_mul(ir, block[0], row), block[1]) : block[1];
  Flat f = { .thread = range_new(ir, threads, RK_LOCAL) };
  const Ref flat = ix_add(ir, ix_mul(ir, number, threads), f.thread);
  Nest to = { .store = n.store };
  if (rows > 1) to.ranges[to.n++] = block[0];
  to.ranges[to.n++] = block[1];
  to.ranges[to.n++] = f.thread;
  int64_t step = values;
  Ref from[MAX_RANGES], by[MAX_RANGES];
  int replaced = 0;
  for (int k = 0; k < n.n; k++) {
    const int64_t extent = range_extent(node(ir, n.ranges[k]));
    if (is_serial(ir, n.ranges[k])) {
      to.ranges[to.n++] = n.ranges[k];
      continue;
    }
    step = extent ? step / extent : 1;
    from[replaced] = n.ranges[k];
    const Ref at = ix_div(ir, flat, step ? step : 1);
    /* a single range needs no remainder: the gate keeps it below its extent */
    by[replaced] = !values ? ix_const(ir, 0) : extent == values ? at : ix_mod(ir, at, extent);
    replaced++;
  }
  to.store = ix_subst(ir, n.store, replaced, from, by);
  const Ref own = run_gate(ir, nest, false);
  if (own) f.gate = ix_subst(ir, own, replaced, from, by);
  f.nest = nest_close(ir, &to);
  if (!values) f.gate = c_bits(ir, DT_BOOL, 0);
  else if (rows * row * threads != values) f.gate = ix_and(ir, ix_lt(ir, flat, ix_const(ir, values)), f.gate);
  return f;
}

/* ---- gates ---- */
/* Nodes that the program has listed where a thread's own code begins and that are still valid: outside of all blocks, or in
 * open loops */
static void visible_nodes(const IR *ir, const Refs *prog, size_t end, RefMap *out) {
  VEC(size_t) open = { 0 };
  Refs kept = { 0 };
  for (size_t i = 0; i < end; i++) {
    const Op op = (Op)node(ir, prog->p[i])->op;
    if (op == OP_LOOP) VEC_PUSH(&open, kept.n);
    else if (op == OP_END) kept.n = open.p[--open.n];
    else if (op == OP_BARRIER && !open.n) kept.n = 0;
    else VEC_PUSH(&kept, prog->p[i]);
  }
  for (size_t i = 0; i < kept.n; i++) refmap_set(out, kept.p[i], 1);
  VEC_FREE(&kept);
  VEC_FREE(&open);
}

/* Puts the code of a thread, from `first` on, into a loop that runs once if the gate holds. */
static void gate_threads(IR *ir, Refs *prog, size_t first, const Flat *f) {
  Refs out = { 0 }, gate = { 0 };
  RefMap there = { 0 };
  const Ref once = range_new(ir, 1, RK_LOOP);
  size_t at = first;
  while (node(ir, prog->p[at])->op != OP_LOOP || loop_range(node(ir, prog->p[at])) != f->thread) at++;
  visible_nodes(ir, prog, at, &there);
  for (size_t i = 0; i <= at; i++) VEC_PUSH(&out, prog->p[i]);
  ir_toposort(ir, &f->gate, 1, &gate);
  for (size_t i = 0; i < gate.n; i++) {
    if (refmap_get(&there, gate.p[i])) continue;
    VEC_PUSH(&out, gate.p[i]);
    refmap_set(&there, gate.p[i], 1);
  }
  VEC_PUSH(&out, once);
  VEC_PUSH(&out, node_make(ir, OP_LOOP, DT_NONE, 1, 2, (Ref[]){ once, f->gate }, 0, NULL, 0, NULL));
  size_t last = prog->n; /* where the loop over threads ends */
  while (end_range(node(ir, prog->p[--last])) != f->thread) {}
  for (size_t i = at + 1; i < last; i++) {
    const Op op = (Op)node(ir, prog->p[i])->op;
    const bool effect = op == OP_LOOP || op == OP_END || op == OP_STORE || op == OP_SET || op == OP_ACC || op == OP_GET;
    if (effect || !refmap_get(&there, prog->p[i])) VEC_PUSH(&out, prog->p[i]);
  }
  VEC_PUSH(&out, node_make(ir, OP_END, DT_NONE, 1, 1, &once, 0, NULL, 0, NULL));
  for (size_t i = last; i < prog->n; i++) VEC_PUSH(&out, prog->p[i]);
  VEC_FREE(prog);
  *prog = out;
  VEC_FREE(&gate);
  refmap_free(&there);
}

/* ---- launches ---- */
/* The elements that an access touches, as the values of a sum; false: the index is no sum */
static bool addresses_of(IR *ir, Ref index, Addresses *out) {
  Refs ranges = { 0 };
  bool sum = true;
  *out = (Addresses){ 0 };
  collect_ranges(ir, index, &ranges);
  sum = ranges.n <= MAX_RANGES;
  for (size_t i = 0; i < ranges.n && sum; i++) {
    const int64_t n = range_extent(node(ir, ranges.p[i]));
    int64_t step;
    sum = ix_split(ir, index, ranges.p[i], &step, &index) && n > 0;
    if (sum && step < 0) out->base += step * (n - 1);
    if (sum && step && n > 1) out->term[out->n++] = (Term){ step < 0 ? -step : step, n };
  }
  VEC_FREE(&ranges);
  int64_t base = 0;
  sum = sum && node_is_const(ir, index, &base);
  out->base += base;
  return sum;
}

/* Whether two accesses of different nests may touch the same element */
static bool may_meet(IR *ir, Ref a, Ref b) {
  Addresses x, y;
  return !addresses_of(ir, access_index(node(ir, a)), &x) || !addresses_of(ir, access_index(node(ir, b)), &y) ||
         !addresses_independent(&x, &y, 1);
}

static int64_t accessed(const IR *ir, Ref access) { return buffer_id(node(ir, access_buffer(node(ir, access)))); }

/* Whether the nest must wait for those of the launch: it loads elements that they store, or stores elements that they load.
 * Stores of different nests of a kernel never overlap. The nest's accesses are added to the launch's. */
static bool must_wait(Making *m, Ref nest) {
  Refs all = { 0 };
  bool wait = false;
  const size_t before = m->accesses.n;
  ir_toposort(m->ir, &nest, 1, &all);
  for (size_t i = 0; i < all.n; i++) {
    const Node *x = node(m->ir, all.p[i]);
    if (x->op != OP_LOAD && x->op != OP_STORE) continue;
    if (buf_is_own(m->ir->bufs.p[accessed(m->ir, all.p[i])].kind)) continue; /* memory of one block or thread */
    for (size_t k = 0; k < before && !wait; k++) {
      const Ref other = m->accesses.p[k];
      wait = accessed(m->ir, all.p[i]) == accessed(m->ir, other) && x->op != node(m->ir, other)->op &&
             may_meet(m->ir, all.p[i], other);
    }
    VEC_PUSH(&m->accesses, all.p[i]);
  }
  VEC_FREE(&all);
  return wait;
}

/* Shared memory of a launch, in bytes. Sums of groups have elements for all threads of its blocks. Panels belong to nests,
 * which may share them. */
static int64_t launch_shared(const IR *ir, const Part *part, size_t n, int64_t threads) {
  int64_t bytes = 0;
  Refs panels = { 0 }, all = { 0 };
  for (size_t k = 0; k < n; k++) {
    int64_t groups = part[k].own.shared_bytes;
    all.n = 0;
    ir_toposort(ir, &part[k].nest, 1, &all);
    for (size_t i = 0; i < all.n; i++) {
      const Node *x = node(ir, all.p[i]);
      const Buf *b = x->op == OP_BUFFER ? &ir->bufs.p[buffer_id(x)] : NULL;
      if (!b || b->kind != BUF_SHARED) continue;
      groups -= shared_bytes(b->dt, b->elems);
      if (range_place(&panels, all.p[i]) >= 0) continue;
      bytes += shared_bytes(b->dt, b->elems);
      VEC_PUSH(&panels, all.p[i]);
    }
    if (groups) bytes += groups * (threads / part[k].own.threads);
  }
  VEC_FREE(&panels);
  VEC_FREE(&all);
  return bytes;
}

static int64_t flat_values(const IR *ir, Ref nest) {
  const Nest n = nest_open(ir, nest);
  return values_of(ir, &n);
}

/* Threads of a block for flattened nests: as many as the largest one fills, within the device's limit; a power of two */
static int64_t flat_threads(const IR *ir, const Device *d, const Part *part, size_t n) {
  int64_t most = 1, threads = 1;
  for (size_t i = 0; i < n; i++) {
    const int64_t values = part[i].placed ? 1 : flat_values(ir, part[i].nest);
    most = values > most ? values : most;
  }
  const int64_t limit = d->max_threads < FLAT_THREADS ? d->max_threads : FLAT_THREADS;
  while (threads < most && threads * 2 <= limit) threads *= 2;
  return threads;
}

/* Blocks of a part if they have that many threads; join_blocks may have joined several */
static int64_t part_blocks(const IR *ir, const Part *p, int64_t threads) {
  if (!p->placed) return blocks_of(flat_values(ir, p->nest), threads);
  return p->own.shared_bytes ? p->own.blocks : blocks_of(p->own.blocks, threads / p->own.threads);
}

/* Whether the last part does not fit into a launch with the others, with that many threads for each block */
static bool too_much(const Making *m, const Part *part, size_t n, int64_t threads) {
  int64_t blocks = 0;
  for (size_t i = 0; i < n; i++) {
    const int64_t more = part_blocks(m->ir, &part[i], threads);
    if (more > m->d->max_grid[0] - blocks) return true;
    blocks += more;
  }
  return launch_shared(m->ir, part, n, threads) > m->d->shared_bytes;
}

/* Divides the kernel's nests into launches. A nest begins a new launch if it must wait, or if no size of blocks fits both. */
static void choose_launches(Making *m, Part *part, size_t n) {
  const int64_t flat = flat_threads(m->ir, m->d, part, n);
  for (size_t i = 0, first = 0; i < n; i++) {
    Part *p = &part[i];
    const bool wait = must_wait(m, p->canonical);
    const int64_t threads = i ? part[first].threads : 0; /* threads of placed nests; 0: none yet */
    const int64_t own = p->placed ? p->own.threads : threads, most = own > threads ? own : threads;
    const bool fits = !own || !threads || (!(most % own) && !(most % threads));
    p->first = !i || wait || !fits || too_much(m, part + first, i - first + 1, most ? most : flat);
    if (p->first && i) {
      m->accesses.n = 0;
      must_wait(m, p->canonical);
    }
    if (p->first) first = i;
    for (size_t k = first; k <= i; k++) part[k].threads = p->first ? own : most;
    if (p->first && !p->placed) p->threads = 0;
  }
  for (size_t i = 0; i < n; i++)
    if (!part[i].threads) part[i].threads = flat;
}

/* ---- nests with blocks and threads ---- */
static Ref gate_stores(IR *ir, Ref body, const Nest *n, const Varying *v);

/* If threads store the same value, only the first one stores it. This holds for copies of operands as well. */
static Ref gate_store(IR *ir, Ref store, const Nest *n, const Varying *v) {
  if (node(ir, store)->op == OP_NEST) {
    Nest copy = nest_open(ir, store);
    copy.store = gate_stores(ir, copy.store, n, v);
    return nest_close(ir, &copy);
  }
  const Node *x = node(ir, store);
  Ref src[4] = { store_buffer(x), store_index(x), store_value(x), store_gate(x) };
  const uint64_t told = varying_of(v, store_index(x));
  for (int k = 0; k < n->n; k++)
    if (range_is_thread(range_kind(node(ir, n->ranges[k]))) && !(told >> k & 1))
      src[3] = ix_and(ir, src[3], ix_lt(ir, n->ranges[k], ix_const(ir, 1)));
  return node_make(ir, OP_STORE, (DType)x->dt, x->lanes, src[3] ? 4 : 3, src, x->narg, x->arg, 0, NULL);
}

static Ref gate_stores(IR *ir, Ref body, const Nest *n, const Varying *v) {
  const Node *x = node(ir, body);
  Refs stores = { 0 };
  if (x->op != OP_SINK) return gate_store(ir, body, n, v);
  for (int k = 0; k < x->nsrc; k++) VEC_PUSH(&stores, gate_store(ir, x->src[k], n, v));
  body = node_with_src(ir, body, stores.p);
  VEC_FREE(&stores);
  return body;
}

/* The nest with loops over blocks and threads, at least one of each */
static Ref place_nest(IR *ir, const Part *p) {
  const Nest n = nest_open(ir, p->nest);
  const int64_t more = p->threads / p->own.threads;
  Nest to = { .store = n.store };
  Varying v;
  for (int k = 0; k < n.n; k++)
    if (range_kind(node(ir, n.ranges[k])) == RK_GRID) to.ranges[to.n++] = n.ranges[k];
  if (!to.n) to.ranges[to.n++] = range_new(ir, 1, RK_GRID);
  if (more > 1 || !p->own.n) to.ranges[to.n++] = range_new(ir, more, RK_LOCAL);
  for (int k = 0; k < p->own.n; k++) to.ranges[to.n++] = p->own.range[k];
  for (int k = 0; k < n.n; k++)
    if (!range_is_place(range_kind(node(ir, n.ranges[k])))) to.ranges[to.n++] = n.ranges[k];
  CHECK(to.n <= MAX_RANGES);
  varying_open(ir, nest_close(ir, &to), &v);
  to.store = gate_stores(ir, n.store, &to, &v);
  varying_free(&v);
  return nest_close(ir, &to);
}

static Part open_part(IR *ir, const Kernel *k, size_t i) {
  const Ref nest = k->states.p[i].nest;
  Part p = { .nest = nest, .canonical = k->nests.n == k->states.n ? k->nests.p[i].nest : nest };
  const Node *x = node(ir, nest);
  for (int at = 1; at < x->nsrc; at++) p.placed |= range_is_place(range_kind(node(ir, x->src[at])));
  const Ref threads = block_threads(ir, nest, &p.own);
  p.placed |= p.own.n > 0; /* a group may have threads of its own */
  if (p.placed) p.nest = threads;
  return p;
}

/* The nest with loops instead of blocks and threads */
static Ref without_places(IR *ir, Ref nest) {
  const Nest n = nest_open(ir, nest);
  for (int k = 0; k < n.n; k++) {
    const Node *r = node(ir, n.ranges[k]);
    if (!range_is_place(range_kind(r))) continue;
    const Ref own = range_new(ir, range_extent(r), RK_LOOP);
    nest = range_replace(ir, nest, n.ranges[k], own, 1, &own);
  }
  return nest;
}

/* If threads of a nest wait for each other, its schedule fixes their number. A nest without such threads adapts: it loses its
 * blocks and threads if they do not fit. So filling a border beside a sum of products needs no separate launch. */
static void follow_threads(Making *m, Part *part, size_t n) {
  int64_t threads = 0;
  for (size_t i = 0; i < n && !threads; i++)
    if (part[i].own.shared_bytes) threads = part[i].own.threads;
  for (size_t i = 0; i < n && threads; i++) {
    const int64_t own = part[i].own.threads;
    if (!part[i].placed || part[i].own.shared_bytes || !(own % threads) || !(threads % own)) continue;
    part[i] = (Part){ .nest = without_places(m->ir, part[i].nest), .canonical = part[i].canonical };
  }
}

/* Adapts a nest to larger blocks of its launch. If its threads do not wait for each other, one block does the work of several,
 * along the innermost range that wastes least. Otherwise the additional threads do nothing. */
static void join_blocks(IR *ir, Part *p) {
  const Nest n = nest_open(ir, p->nest);
  const int64_t times = p->placed ? p->threads / p->own.threads : 1;
  Ref grid = 0;
  double least = 0;
  if (times == 1 || p->own.shared_bytes) return;
  for (int k = 0; k < n.n; k++) {
    const int64_t extent = range_extent(node(ir, n.ranges[k]));
    const double waste = (double)(blocks_of(extent, times) * times) / (double)extent;
    if (range_kind(node(ir, n.ranges[k])) != RK_GRID || (grid && waste > least)) continue;
    grid = n.ranges[k];
    least = waste;
  }
  if (!grid) return;
  const Opt more = { .range = grid, .unroll = 1, .lanes = 1, .grid = true, .threads = (int)times };
  p->nest = block_threads(ir, device_order(ir, device_split(ir, p->nest, &more, 1)), &p->own);
}

/* A nest with blocks and threads. Blocks whose values no run of this size needs do nothing. */
static Flat placed(IR *ir, const Part *p) {
  Flat f = { .nest = place_nest(ir, p) };
  const Nest n = nest_open(ir, f.nest);
  for (int k = 0; k < n.n; k++)
    if (range_is_thread(range_kind(node(ir, n.ranges[k])))) f.thread = n.ranges[k];
  f.gate = run_gate(ir, f.nest, true);
  return f;
}

static void put_part(Making *m, const Part *p, struct Shared *shared) {
  IR *ir = m->ir;
  const Flat f = p->placed ? placed(ir, p) : flatten(ir, m->d, p->nest, p->threads);
  const size_t first = m->prog.n;
  linear_nest(ir, f.nest, &m->prog, shared);
  if (f.gate) gate_threads(ir, &m->prog, first, &f);
}

void step_launches(Plan *p, Kernel *k) {
  IR *ir = p->ir;
  Making m = { .ir = ir, .d = p->in->target->dev };
  Part *part = xcalloc(k->states.n + 1, sizeof *part);
  const bool exchanges = m.d->features & DEVF_SUBGROUPS && p->in->backend->supports(p->in->target, OP_SHFLXOR, DT_F32, DT_F32, 1);
  const int warp = exchanges ? m.d->warp : 0;
  struct Shared *shared = shared_open(warp);
  Sb text = { 0 };
  for (size_t i = 0; i < k->states.n; i++) part[i] = open_part(ir, k, i);
  follow_threads(&m, part, k->states.n);
  choose_launches(&m, part, k->states.n);
  for (size_t i = 0; i < k->states.n; i++) join_blocks(ir, &part[i]);
  for (size_t i = 0; i < k->states.n; i++) {
    ir->origin = node(ir, k->states.p[i].nest)->origin;
    if (i && part[i].first) {
      const int64_t id = ir->next_range++;
      VEC_PUSH(&m.prog, node_make(ir, OP_BARRIER, DT_NONE, 1, 0, NULL, 1, &id, 0, NULL));
      shared_close(shared);
      shared = shared_open(warp);
    }
    put_part(&m, &part[i], shared);
    if (i < k->nests.n) sb_puts(&text, k->nests.p[i].opts);
    if (part[i].first) sb_printf(&text, " threads of a block: %lld", (long long)part[i].threads);
  }
  shared_close(shared);
  VEC_FREE(&k->prog);
  k->prog = m.prog;
  k->chunks = 1;
  k->schedule = sb_keep(&text, &ir->ctx->model);
  kernel_buffers(ir, k);
  VEC_FREE(&k->states);
  VEC_FREE(&m.accesses);
  free(part);
}

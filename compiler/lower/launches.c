/* launches.c: the step `launches`: nests become a device program, by the schedule that is always legal.
 *
 * Each value of a nest's ranges is a thread. The ranges are flattened: blocks of as many threads as all nests of the kernel
 * have. The threads that the last block has too many do nothing, by a gated loop around all that a thread does: a gate of
 * each store alone would let them load what is outside, or what another thread replaces in place. Reductions and serial loops
 * stay loops of a thread, so sums are added in the order of a program for one thread. Nests that do not touch what others store
 * to are parts of one launch, one flat grid; a nest that does begins another launch.
 *
 * Why the threads of a launch do not meet: different values of a nest's ranges store at different places (docs/ir.md), and nests
 * that may meet are in different launches. interp/interp_threads.c is asked whether that is so (tests/device-programs).
 *
 * needs: nests without opts   gives: Kernel.prog, the buffers it names, Kernel.schedule   keeps: the value of every element
 * breaks: Kernel.states, which is empty then */
#include "lower.h"

typedef struct Making {
  IR *ir;
  Refs prog;
  int64_t threads;         /* of each block */
  Refs stores, loads;      /* buffers + 1 that the launch has so far */
} Making;

/* ---- ranges of blocks and threads ---- */
static bool is_serial(const IR *ir, Ref range) { return range_kind(node(ir, range)) == RK_SERIAL; }

static int64_t values_of(const IR *ir, const Nest *n) {
  int64_t v = 1;
  for (int k = 0; k < n->n; k++)
    if (!is_serial(ir, n->ranges[k])) CHECK(i64_mul(v, range_extent(node(ir, n->ranges[k])), &v));
  return v;
}

/* A nest over blocks and threads, and the condition under which a thread has something to do; 0: always */
typedef struct Flat { Ref nest, block, thread, gate; } Flat;

static Flat flatten(IR *ir, Ref nest, int64_t threads) {
  Nest n = nest_open(ir, nest);
  const int64_t values = values_of(ir, &n), blocks = values ? (values + threads - 1) / threads : 1;
  Flat f = { .block = range_new(ir, blocks, RK_GRID), .thread = range_new(ir, threads, RK_LOCAL) };
  const Ref flat = ix_add(ir, ix_mul(ir, f.block, threads), f.thread);
  Nest to = { .store = n.store, .n = 2, .ranges = { f.block, f.thread } };
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
    by[replaced++] = values ? ix_mod(ir, ix_div(ir, flat, step ? step : 1), extent) : ix_const(ir, 0);
  }
  to.store = ix_subst(ir, n.store, replaced, from, by);
  f.nest = nest_close(ir, &to);
  if (blocks * threads != values) f.gate = values ? ix_lt(ir, flat, ix_const(ir, values)) : c_bits(ir, DT_BOOL, 0);
  return f;
}

/* ---- gates ---- */
/* Nodes that are listed where a thread's own code begins, and are still there: outside of all blocks, or in open loops */
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

/* What the nest's program from `first` on does in a thread, in a loop that runs once where the gate holds. */
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
  const size_t last = prog->n - 2; /* the ends of the loops over threads and blocks */
  for (size_t i = at + 1; i < last; i++) {
    const Op op = (Op)node(ir, prog->p[i])->op;
    const bool effect = op == OP_LOOP || op == OP_END || op == OP_STORE || op == OP_SET || op == OP_ACC || op == OP_GET;
    if (effect || !refmap_get(&there, prog->p[i])) VEC_PUSH(&out, prog->p[i]);
  }
  VEC_PUSH(&out, node_make(ir, OP_END, DT_NONE, 1, 1, &once, 0, NULL, 0, NULL));
  VEC_PUSH(&out, prog->p[last]);
  VEC_PUSH(&out, prog->p[last + 1]);
  VEC_FREE(prog);
  *prog = out;
  VEC_FREE(&gate);
  refmap_free(&there);
}

/* ---- launches ---- */
static bool has(const Refs *list, Ref r) {
  for (size_t i = 0; i < list->n; i++)
    if (list->p[i] == r) return true;
  return false;
}

/* Whether the nest must wait for those of the launch: it loads what they store to, or stores to what they load. Stores of nests
 * of a kernel are at different places. */
static bool must_wait(Making *m, Ref nest) {
  Refs all = { 0 }, stores = { 0 }, loads = { 0 };
  bool wait = false;
  ir_toposort(m->ir, &nest, 1, &all);
  for (size_t i = 0; i < all.n; i++) {
    const Node *x = node(m->ir, all.p[i]);
    if (x->op != OP_LOAD && x->op != OP_STORE) continue;
    const Ref buf = (Ref)buffer_id(node(m->ir, access_buffer(x))) + 1;
    wait |= has(&m->stores, buf) && x->op == OP_LOAD;
    wait |= has(&m->loads, buf) && x->op == OP_STORE;
    VEC_PUSH(x->op == OP_LOAD ? &loads : &stores, buf);
  }
  if (wait) m->stores.n = m->loads.n = 0;
  for (size_t i = 0; i < stores.n; i++) VEC_PUSH(&m->stores, stores.p[i]);
  for (size_t i = 0; i < loads.n; i++) VEC_PUSH(&m->loads, loads.p[i]);
  VEC_FREE(&all);
  VEC_FREE(&stores);
  VEC_FREE(&loads);
  return wait;
}

/* As many as the largest nest fills, but no more than the device takes: a power of two */
static int64_t block_threads(const Plan *p, const Kernel *k) {
  int64_t most = 1, threads = 1;
  for (size_t i = 0; i < k->states.n; i++) {
    const Nest n = nest_open(p->ir, k->states.p[i].nest);
    const int64_t values = values_of(p->ir, &n);
    most = values > most ? values : most;
  }
  const int64_t limit = p->in->target->dev->max_threads < 256 ? p->in->target->dev->max_threads : 256;
  while (threads < most && threads * 2 <= limit) threads *= 2;
  return threads;
}

void step_launches(Plan *p, Kernel *k) {
  IR *ir = p->ir;
  Making m = { .ir = ir, .threads = block_threads(p, k) };
  struct Shared *shared = shared_open();
  for (size_t i = 0; i < k->states.n; i++) {
    ir->origin = node(ir, k->states.p[i].nest)->origin;
    if (must_wait(&m, k->states.p[i].nest)) {
      const int64_t id = ir->next_range++;
      VEC_PUSH(&m.prog, node_make(ir, OP_BARRIER, DT_NONE, 1, 0, NULL, 1, &id, 0, NULL));
      shared_close(shared);
      shared = shared_open();
    }
    const Flat f = flatten(ir, k->states.p[i].nest, m.threads);
    const size_t first = m.prog.n;
    linear_nest(ir, f.nest, &m.prog, shared);
    if (f.gate) gate_threads(ir, &m.prog, first, &f);
  }
  shared_close(shared);
  VEC_FREE(&k->prog);
  k->prog = m.prog;
  k->chunks = 1;
  k->schedule = arena_printf(&ir->ctx->model, " threads of a block: %lld", (long long)m.threads);
  kernel_buffers(ir, k);
  VEC_FREE(&k->states);
  VEC_FREE(&m.stores);
  VEC_FREE(&m.loads);
}

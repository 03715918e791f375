/* SPDX-License-Identifier: MIT */
/* interp_threads.c: runs launches: blocks one after another, the threads of a block in turns.
 *
 * Each thread has its own values and its own place in the list of steps. It runs the list from the beginning. Loops over blocks
 * and threads are entered once, with the thread's own values, and parts of other blocks are skipped. A warp runs in lockstep: the
 * threads that have advanced least run next, so threads whose gates differ meet again behind the loop. Threads stop at a barrier.
 * When none can go on, all must be at the same barrier, in the same iterations of the loops around it. The threads of a warp also
 * wait for each other at an exchange of values (SHFLXOR). Its width is the device's, however wide the warps of a run are. A
 * matrix product is made when all threads of its warp have reached it.
 *
 * races.c checks every access for conflicts. Accesses also form the requests of warps, which requests.c counts.
 *
 * needs: a device program; violations of verify_device.c's rules show as faults
 * gives: the launch's stores, its faults and its traffic    breaks: nothing */
#include "interp_threads.h"
#include "machine.h"
#include "races.h"
#include "requests.h"
#include <stdlib.h>

const char *const fault_name[FAULT_KINDS] = {
  [FAULT_RACE] = "race", [FAULT_BLOCKS] = "race of blocks", [FAULT_DIVERGENT] = "divergent barrier",
  [FAULT_UNWRITTEN] = "shared memory never written", [FAULT_OUTSIDE] = "access outside",
};

enum {
  SAMPLED = 10,              /* blocks run of a part whose launch is too long: the first, the last, and others */
  WIDEST = 64                /* most threads of a warp */
};

typedef struct Thread {
  int64_t *v;
  uint32_t pc;
  bool waits, done;
  char **own;                /* by index of a local buffer in the program */
} Thread;

typedef struct Run {
  Machine m;                 /* m.v, and the local buffers in m.mem, belong to the running thread */
  const Launch *l;
  const Device *d;
  ThreadOrder o;
  uint64_t random;
  LaunchReport *report;
  Races *races;
  Request request;
  VEC(int64_t) local;        /* buffers that each thread has a copy of */
  LaunchPart part;
  Thread *thread;
  int nthreads;
  int64_t *warp;             /* warps of a block, in running order */
  int64_t block;             /* block of the launch */
  int now;                   /* the running thread */
  int64_t *constants;
  void **mem;
  int64_t rounds;            /* iterations run of each loop; 0: all */
  RunSizes greatest;         /* the sizes of the run, if IR.run is NULL */
  int64_t nothing;           /* an address for missing memory, where races are not checked */
} Run;

/* ---- messages ---- */
/* Whether a fault is the first with its kind, op and buffer; later ones are only counted. */
static bool first_fault(const Run *r, FaultKind kind, const char *where) {
  Sb line = { 0 };
  sb_printf(&line, "%s: %s", fault_name[kind], where);
  const bool seen = r->report->text.n && strstr(r->report->text.p, line.p);
  sb_free(&line);
  return !seen;
}

static const char *op_lower(const Step *s) {
  return s->x->op == OP_LOAD ? "load" : s->x->op == OP_STORE ? "store" : "tile";
}

/* step: index in the program's list */
static void put_access(const Run *r, uint32_t step, Sb *out) {
  sb_printf(out, "%s at step %u", op_lower(&r->m.step.p[step]), step);
}

/* A line with the op at that step, as dumps of the program have it */
static void put_op(const Run *r, uint32_t step, Sb *out) {
  sb_printf(out, "  step %u: ", step);
  ir_print_op(r->m.ir, r->l->prog.p, r->l->prog.n, step, out);
  sb_puts(out, "\n");
}

static void fault(Run *r, FaultKind kind, uint32_t step, int64_t buffer, int64_t at, const Mark *other) {
  Sb where = { 0 }, *out = &r->report->text;
  const Buf *b = &r->m.ir->bufs.p[buffer];
  r->report->fault[kind]++;
  put_access(r, step, &where);
  sb_printf(&where, " of b%lld", (long long)buffer);
  if (first_fault(r, kind, where.p)) {
    sb_printf(out, "%s: %s[%lld] (%s, %lld elements) by thread %d of block %lld", fault_name[kind], where.p, (long long)at,
              buf_kind_name[b->kind], (long long)b->elems, r->now, (long long)r->block);
    if (kind == FAULT_RACE || kind == FAULT_BLOCKS) {
      sb_puts(out, " and ");
      put_access(r, other->step, out);
      sb_printf(out, " by thread %d of block %d", other->thread, other->block);
    }
    sb_puts(out, "\n");
    put_op(r, step, out);
    if (other && other->step != step) put_op(r, other->step, out);
  }
  sb_free(&where);
}

static void put_stand(const Run *r, int t, Sb *out) {
  const Thread *x = &r->thread[t];
  sb_printf(out, "thread %d ", t);
  if (x->done) sb_puts(out, "at the end");
  else sb_printf(out, "at step %u", x->pc);
}

static void divergent(Run *r, int t) {
  Sb *out = &r->report->text;
  const bool first = !r->report->fault[FAULT_DIVERGENT]++;
  if (!first) return;
  sb_printf(out, "%s in block %lld: ", fault_name[FAULT_DIVERGENT], (long long)r->block);
  put_stand(r, 0, out);
  sb_puts(out, ", ");
  put_stand(r, t, out);
  if (!r->thread[0].done && !r->thread[t].done && r->thread[0].pc == r->thread[t].pc)
    sb_puts(out, ", in another round of a loop");
  sb_puts(out, "\n");
  if (!r->thread[0].done) put_op(r, r->thread[0].pc, out);
  if (!r->thread[t].done && (r->thread[0].done || r->thread[0].pc != r->thread[t].pc)) put_op(r, r->thread[t].pc, out);
}

/* ---- accesses ---- */
/* Elements that memory of the caller has in this run */
static int64_t elems_in_run(const IR *ir, const Buf *b, const int64_t *run) {
  int64_t elems = b->elems;
  for (int k = 0; k < b->needed.n && run && buf_ends_early(b); k++)
    elems = elems / b->needed.is[k].extent * extent_in_run(ir, b->needed.is[k].of, run);
  return elems;
}

static void *touch(Machine *m, const Step *s, int64_t id, int64_t at, bool store) {
  Run *r = (Run *)(void *)m; /* m is its first member */
  const Buf *b = &m->ir->bufs.p[id];
  const uint32_t step = (uint32_t)(s - m->step.p);
  Mark other;
  if (at < 0 || at >= elems_in_run(m->ir, b, m->run)) {
    fault(r, FAULT_OUTSIDE, step, id, at, NULL);
    return NULL;
  }
  if (store && r->report->stored && r->report->stored[id]) r->report->stored[id][at] = 1;
  if (!r->races) {
    if (b->kind != BUF_LOCAL) request_add(&r->request, at, dt_bytes(b->dt));
    r->nothing = 0;
    return &r->nothing;
  }
  if (b->kind != BUF_LOCAL) {
    request_add(&r->request, at, dt_bytes(b->dt));
    const FaultKind kind = races_touch(r->races, id, at, store, (int32_t)r->now, step, &other);
    if (kind != FAULT_KINDS) fault(r, kind, step, id, at, &other);
  }
  return (char *)m->mem[id] + at * dt_bytes(b->dt);
}

static Traffic *traffic_of(LaunchReport *report, Ref access) {
  for (size_t i = 0; i < report->traffic.n; i++)
    if (report->traffic.p[i].access == access) return &report->traffic.p[i];
  VEC_PUSH(&report->traffic, ((Traffic){ .access = access }));
  return &report->traffic.p[report->traffic.n - 1];
}

/* ---- threads ---- */
static void become(Run *r, int t) {
  r->now = t;
  r->m.v = r->thread[t].v;
  for (size_t k = 0; k < r->local.n; k++) r->mem[r->local.p[k]] = r->thread[t].own[k];
}

/* Sets the part's ranges for thread t of the block */
static void place_thread(Run *r, int t, int64_t block_of_part) {
  Thread *x = &r->thread[t];
  int64_t value[MAX_RANGES];
  memcpy(x->v, r->constants, r->m.places * sizeof *x->v);
  launch_place(r->m.ir, &r->part, block_of_part, t, value);
  for (int k = 0; k < r->part.nblocks + r->part.nthreads; k++) {
    const Ref at = refmap_get(&r->m.place, r->part.place[k]);
    if (at) x->v[at - 1] = value[k];
  }
  x->pc = 0;
  x->waits = x->done = false;
  for (size_t k = 0; k < r->local.n; k++) {
    const Buf *b = &r->m.ir->bufs.p[r->local.p[k]];
    memset(x->own[k], 0xa5, (size_t)(b->elems * dt_bytes(b->dt)));
  }
}

/* The range of a LOOP or an END */
static Ref looped(const Node *x) { return x->op == OP_LOOP ? loop_range(x) : end_range(x); }

/* Number of values of a loop's range to run */
static int64_t rounds_of(const Run *r, const Node *range) {
  const int64_t limit = range_limit(range);
  const int64_t extent = limit && r->m.run ? size_in_run(r->m.ir, (int)limit - 1, r->m.run) : range_extent(range);
  return r->rounds && r->rounds < extent ? r->rounds : extent;
}

/* Runs one step of the running thread and advances its pc. */
static void advance(Run *r, Thread *x) {
  const Step *s = &r->m.step.p[x->pc];
  const Op op = (Op)s->x->op;
  r->report->steps++;
  if (op != OP_LOOP && op != OP_END) {
    machine_step(&r->m, s);
    x->pc++;
    return;
  }
  const Node *range = node(r->m.ir, looped(s->x));
  int64_t *var = machine_source(&r->m, s, 0);
  const bool place = range_is_place(range_kind(range));
  if (op == OP_LOOP) {
    const bool closed = loop_gate(s->x) && !*machine_source(&r->m, s, 1);
    const bool others = place && (x->pc < r->part.first || x->pc > r->part.last); /* belongs to another part */
    if (!place) *var = 0;
    x->pc = others || closed || (!place && !rounds_of(r, range)) ? s->match + 1 : x->pc + 1;
  } else if (!place && ++*var < rounds_of(r, range)) {
    x->pc = s->match + 1;
  } else {
    x->pc++;
  }
}

/* Runs a step of all threads of a warp that have advanced least. False: none can go on. */
static bool run_warp(Run *r, const int64_t *thread, int n) {
  uint32_t pc = UINT32_MAX;
  for (int k = 0; k < n; k++) {
    const Thread *x = &r->thread[thread[k]];
    if (!x->waits && !x->done && x->pc < pc) pc = x->pc;
  }
  if (pc == UINT32_MAX) return false;
  const Step *s = pc < r->m.step.n ? &r->m.step.p[pc] : NULL;
  const int64_t id = s && is_access(s->x) ? buffer_id(node(r->m.ir, access_buffer(s->x))) : -1;
  if (id >= 0) request_begin(&r->request, r->m.ir->bufs.p[id].kind == BUF_SHARED);
  for (int k = 0; k < n; k++) {
    Thread *x = &r->thread[thread[k]];
    if (x->waits || x->done || x->pc != pc) continue;
    x->done = !s;
    x->waits = s && (s->x->op == OP_BARRIER || s->x->op == OP_SHFLXOR || s->x->op == OP_WMMA);
    if (x->done || x->waits) continue;
    become(r, (int)thread[k]);
    advance(r, x);
  }
  if (id >= 0) request_end(&r->request, traffic_of(r->report, s->r));
  return true;
}

/* ---- blocks ---- */
static uint64_t next_random(Run *r) { /* xorshift: the same on all machines */
  r->random ^= r->random << 13;
  r->random ^= r->random >> 7;
  r->random ^= r->random << 17;
  return r->random;
}

static void swap(int64_t *a, int64_t *b) {
  const int64_t was = *a;
  *a = *b;
  *b = was;
}

/* Reorders an ascending list to the order of the run */
static void put_in_order(Run *r, int64_t *list, int64_t n) {
  for (int64_t i = 0; i < n / 2 && r->o.kind == ORDER_DESCENDING; i++) swap(&list[i], &list[n - 1 - i]);
  for (int64_t i = n - 1; i > 0 && r->o.kind == ORDER_SHUFFLED; i--) swap(&list[i], &list[next_random(r) % (uint64_t)(i + 1)]);
}

/* The caller stops at the first fault. */
static bool has_ended(const Run *r) { return r->report->ends_at_fault && launch_faults(r->report); }

/* Runs every thread to a barrier or to the end */
static void run_to_barrier(Run *r) {
  const int width = r->o.warp < 1 ? 1 : r->o.warp, warps = (r->nthreads + width - 1) / width;
  int64_t thread[WIDEST];
  CHECK(width <= WIDEST);
  for (int w = 0; w < warps; w++) r->warp[w] = w;
  put_in_order(r, r->warp, warps);
  for (int w = 0; w < warps && !has_ended(r); w++) {
    const int first = (int)r->warp[w] * width, n = first + width > r->nthreads ? r->nthreads - first : width;
    for (int k = 0; k < n; k++) thread[k] = first + k;
    put_in_order(r, thread, n);
    while (!has_ended(r) && run_warp(r, thread, n)) continue;
  }
}

/* Whether two threads at step pc have the same values of loop ranges, other than those over blocks and threads */
static bool same_rounds(const Run *r, const Thread *a, const Thread *b, uint32_t pc) {
  for (uint32_t i = 0; i < pc; i++) {
    const Step *s = &r->m.step.p[i];
    if (s->x->op != OP_LOOP || s->match < pc) continue;
    const uint32_t at = r->m.from.p[s->first];
    const bool place = range_is_place(range_kind(node(r->m.ir, loop_range(s->x))));
    if (!place && a->v[at] != b->v[at]) return false;
  }
  return true;
}

/* 0 if all threads have ended or wait at the same barrier; else a thread that is elsewhere than thread 0 */
static int stray_thread(const Run *r) {
  const Thread *a = &r->thread[0];
  for (int t = 1; t < r->nthreads; t++) {
    const Thread *b = &r->thread[t];
    if (a->done != b->done || (!a->done && (a->pc != b->pc || !same_rounds(r, a, b, a->pc)))) return t;
  }
  return 0;
}

/* Gives the threads [first, end) the values of their partners, if all of them wait at one exchange. */
static bool exchange(Run *r, int first, int end) {
  const Thread *a = &r->thread[first];
  const Step *s = a->done ? NULL : &r->m.step.p[a->pc];
  int64_t value[WIDEST];
  if (!s || s->x->op != OP_SHFLXOR) return false;
  for (int t = first; t < end; t++) {
    const Thread *b = &r->thread[t];
    if (b->done || b->pc != a->pc || !same_rounds(r, a, b, a->pc)) return false;
  }
  for (int t = first; t < end; t++) {
    const int other = first + ((t - first) ^ (int)shflxor_mask(s->x));
    CHECK(other < end); /* the verifier says so */
    value[t - first] = r->thread[other].v[r->m.from.p[s->first]];
  }
  for (int t = first; t < end; t++) {
    Thread *x = &r->thread[t];
    x->v[s->to] = value[t - first];
    x->waits = false;
    x->pc++;
    r->report->steps++;
  }
  return true;
}

/* Exchanges values in each warp whose threads all wait for that. False: there is none. */
static bool exchange_all(Run *r) {
  const int width = r->d->warp > 1 && r->d->warp <= WIDEST ? r->d->warp : WIDEST;
  bool any = false;
  for (int first = 0; first < r->nthreads; first += width)
    any |= exchange(r, first, first + width > r->nthreads ? r->nthreads : first + width);
  return any;
}

/* ---- matrix products ---- */
static const Step *product_of(const Run *r, int t) { /* at which the thread waits; NULL: it does not */
  const Thread *x = &r->thread[t];
  const Step *s = x->waits ? &r->m.step.p[x->pc] : NULL;
  return s && s->x->op == OP_WMMA ? s : NULL;
}

/* Whether all threads of the warp that begins with thread t stand where it stands */
static bool warp_together(const Run *r, int t, int width) {
  bool all = t + width <= r->nthreads;
  for (int k = 1; k < width && all; k++) {
    const Thread *a = &r->thread[t], *b = &r->thread[t + k];
    all = b->waits && a->pc == b->pc && same_rounds(r, a, b, a->pc);
  }
  return all;
}

/* Products of warps whose threads are all there. False: there are none. */
static bool multiply_warps(Run *r) {
  int64_t *v[WIDEST];
  bool any = false;
  for (int t = 0, width = 1; t < r->nthreads; t += width) {
    const Step *s = product_of(r, t);
    width = s ? (int)(wmma_m(s->x) * wmma_n(s->x) / s->x->lanes) : 1;
    if (!s || width > WIDEST || t % width || !warp_together(r, t, width)) {
      width = 1;
      continue;
    }
    for (int k = 0; k < width; k++) v[k] = r->thread[t + k].v;
    const char *wrong = r->races ? machine_wmma(&r->m, s, v) : NULL; /* else no values are asked for */
    if (wrong) BUG("%s %u: %s", op_info[s->x->op].name, s->r, wrong);
    for (int k = 0; k < width; k++) r->thread[t + k].waits = false, r->thread[t + k].pc++;
    any = true;
  }
  return any;
}

static void run_block(Run *r, int64_t block, int64_t of_part) {
  r->block = block;
  if (r->races) races_block(r->races, block);
  for (size_t i = 0; i < r->m.ir->bufs.n; i++) {
    const Buf *b = &r->m.ir->bufs.p[i];
    if (b->kind == BUF_SHARED && r->mem[i]) memset(r->mem[i], 0xa5, (size_t)(b->elems * dt_bytes(b->dt)));
  }
  for (int t = 0; t < r->nthreads; t++) place_thread(r, t, of_part);
  for (;;) {
    do run_to_barrier(r);
    while (!has_ended(r) && multiply_warps(r));
    if (has_ended(r)) return;
    if (exchange_all(r)) continue;
    const int stray = stray_thread(r);
    const bool alone = product_of(r, 0); /* parts of its warp are missing */
    if (stray || alone) divergent(r, stray);
    if (stray || alone || r->thread[0].done) return;
    if (r->m.step.p[r->thread[0].pc].x->op == OP_SHFLXOR) BUG("all threads wait for others of their warps");
    if (r->races) races_barrier(r->races);
    for (int t = 0; t < r->nthreads; t++) r->thread[t].waits = false, r->thread[t].pc++;
  }
}

/* Micro-ops of a thread that runs all parts */
static double steps_of_thread(const Run *r) {
  double steps = 0, factor = 1;
  VEC(double) around = { 0 };
  for (size_t i = 0; i < r->m.step.n; i++) {
    const Node *x = r->m.step.p[i].x;
    const Node *range = x->op == OP_LOOP ? node(r->m.ir, loop_range(x)) : NULL;
    if (range) VEC_PUSH(&around, factor);
    steps += factor;
    if (range && !range_is_place(range_kind(range))) factor *= (double)rounds_of(r, range);
    if (x->op == OP_END) factor = around.p[--around.n];
  }
  VEC_FREE(&around);
  return steps;
}

typedef VEC(int64_t) BlockList; /* numbers of blocks */

/* Adds the first block of `blocks` from `first` on, the last one, and others, always the same. The list is ascending. */
static void sample_blocks(BlockList *list, int64_t first, int64_t blocks) {
  uint64_t seed = 88172645463325252u;
  int64_t at[SAMPLED] = { 0, blocks - 1 };
  for (int i = 2; i < SAMPLED && blocks > 2; i++) {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    at[i] = 1 + (int64_t)((seed >> 33) % (uint64_t)(blocks - 2));
  }
  qsort(at, SAMPLED, sizeof *at, by_int64);
  for (int i = 0; i < SAMPLED; i++)
    if (!i || at[i] != at[i - 1]) VEC_PUSH(list, first + at[i]);
}

/* The blocks to run, in order: all, or a sample if all would take too many micro-ops. Each part is sampled, since the blocks of
 * different parts run different instructions. */
static BlockList choose_blocks(Run *r, int64_t most) {
  const int64_t all = launch_blocks(r->l);
  const bool sample = most && all > SAMPLED && steps_of_thread(r) * (double)all * (double)r->nthreads > (double)most;
  BlockList list = { 0 };
  LaunchPart part;
  int64_t first = 0;
  for (int64_t i = 0; i < all && !sample; i++) VEC_PUSH(&list, i);
  for (size_t from = 0; sample && launch_part(r->m.ir, r->l->prog.p, r->l->prog.n, from, &part); from = part.last + 1) {
    sample_blocks(&list, first, part.blocks);
    first += part.blocks;
  }
  r->report->sampled |= sample && (int64_t)list.n < all;
  put_in_order(r, list.p, (int64_t)list.n);
  return list;
}

/* ---- a launch ---- */
static void open_memory(Run *r, void *const *mem) {
  const IR *ir = r->m.ir;
  greatest_sizes(&ir->symbols, r->greatest);
  r->m.run = ir->run ? ir->run : r->greatest;
  r->mem = xcalloc(ir->bufs.n + 1, sizeof *r->mem);
  r->m.mem = r->mem;
  for (size_t i = 0; i < ir->bufs.n; i++) {
    const Buf *b = &ir->bufs.p[i];
    if (b->kind == BUF_SHARED) r->mem[i] = xmalloc((size_t)(b->elems * dt_bytes(b->dt)) + 1);
    else if (b->kind == BUF_LOCAL) VEC_PUSH(&r->local, (int64_t)i);
    else r->mem[i] = mem ? mem[i] : NULL;
  }
  for (int t = 0; t < r->nthreads; t++) {
    r->thread[t].v = xmalloc(size_mul(r->m.places + 1, sizeof(int64_t)));
    r->thread[t].own = xcalloc(r->local.n + 1, sizeof *r->thread[t].own);
    for (size_t k = 0; k < r->local.n; k++) {
      const Buf *b = &ir->bufs.p[r->local.p[k]];
      r->thread[t].own[k] = xmalloc((size_t)(b->elems * dt_bytes(b->dt)) + 1);
    }
  }
}

static void close_memory(Run *r) {
  for (int t = 0; t < r->nthreads; t++) {
    for (size_t k = 0; k < r->local.n; k++) free(r->thread[t].own[k]);
    free(r->thread[t].own);
    free(r->thread[t].v);
  }
  for (size_t i = 0; i < r->m.ir->bufs.n; i++)
    if (r->m.ir->bufs.p[i].kind == BUF_SHARED) free(r->mem[i]);
  free(r->mem);
  VEC_FREE(&r->local);
}

/* A run of the launch without memory and race checks */
static Run open_run(const IR *ir, const Launch *l, const Device *d, LaunchReport *report) {
  Run r = { .m = { .ir = ir, .touch = touch }, .l = l, .d = d, .report = report, .nthreads = (int)launch_threads(l),
            .request = { .d = d } };
  machine_open(&r.m, l->prog.p, l->prog.n);
  r.constants = r.m.v;
  r.thread = xcalloc((size_t)r.nthreads, sizeof *r.thread);
  r.warp = xcalloc((size_t)r.nthreads, sizeof *r.warp);
  for (size_t i = 0; i < l->prog.n; i++)
    if (is_access(node(ir, l->prog.p[i]))) traffic_of(report, l->prog.p[i]);
  return r;
}

static void close_run(Run *r) {
  request_free(&r->request);
  close_memory(r);
  free(r->thread);
  free(r->warp);
  r->m.v = r->constants;
  machine_close(&r->m);
}

void interp_launch(const IR *ir, const Launch *l, const Device *d, void *const *mem, ThreadOrder o, int64_t most,
                   LaunchReport *report) {
  Run r = open_run(ir, l, d, report);
  r.o = o;
  r.random = o.seed * 2 + 1;
  open_memory(&r, mem);
  r.races = races_open(ir, l->prog.p, l->prog.n, r.mem);
  BlockList blocks = choose_blocks(&r, most);
  for (size_t i = 0; i < blocks.n && !has_ended(&r); i++) {
    int64_t of_part = blocks.p[i];
    size_t from = 0;
    while (launch_part(ir, l->prog.p, l->prog.n, from, &r.part) && of_part >= r.part.blocks) {
      of_part -= r.part.blocks;
      from = r.part.last + 1;
    }
    run_block(&r, blocks.p[i], of_part);
  }
  VEC_FREE(&blocks);
  races_close(r.races);
  close_run(&r);
}

/* ---- traffic ---- */
enum { TRAFFIC_STEPS = 400000, UNKNOWN_WARP = 32 }; /* TRAFFIC_STEPS: limit of micro-ops. UNKNOWN_WARP: threads of a warp if
                                                       the device does not say */

/* Number of blocks of a part to run: all, or some, evenly spread */
static int64_t blocks_counted(const LaunchPart *p) { return p->blocks <= 8 ? p->blocks : 4; }

/* Adds the counts of each access of the part, times its executions in all blocks. */
static void add_traffic(const Run *r, LaunchTraffic *out) {
  VEC(double) around = { 0 };
  double times = (double)r->part.blocks / (double)blocks_counted(&r->part);
  for (size_t i = r->part.first; i <= r->part.last; i++) {
    const Step *s = &r->m.step.p[i];
    const Node *range = s->x->op == OP_LOOP ? node(r->m.ir, loop_range(s->x)) : NULL;
    if (range) VEC_PUSH(&around, times);
    if (range && range_extent(range) && !range_is_place(range_kind(range)))
      times *= (double)range_extent(range) / (double)rounds_of(r, range);
    if (s->x->op == OP_END) times = around.p[--around.n];
    if (!is_access(s->x)) continue;
    Traffic *t = traffic_of(r->report, s->r);
    const bool shared = r->m.ir->bufs.p[buffer_id(node(r->m.ir, access_buffer(s->x)))].kind == BUF_SHARED;
    *(shared ? &out->shared : &out->requests) += times * (double)t->requests;
    out->sectors += times * (double)t->sectors;
    out->conflicts += times * (double)t->conflicts;
    t->requests = t->sectors = t->conflicts = 0; /* the same op may be in several parts */
  }
  VEC_FREE(&around);
}

LaunchTraffic interp_traffic(const IR *ir, const Launch *l, const Device *d) {
  LaunchReport report = { 0 };
  LaunchTraffic out = { .warp = d->warp > 1 ? d->warp : UNKNOWN_WARP };
  Run r = open_run(ir, l, d, &report);
  int64_t first = 0, blocks = 0;
  r.o = (ThreadOrder){ .warp = out.warp };
  open_memory(&r, NULL);
  for (size_t from = 0; launch_part(ir, l->prog.p, l->prog.n, from, &r.part); from = r.part.last + 1)
    blocks += blocks_counted(&r.part);
  for (r.rounds = 64; r.rounds > 1 && steps_of_thread(&r) * (double)(r.nthreads * blocks) > TRAFFIC_STEPS;) r.rounds /= 2;
  for (size_t from = 0; launch_part(ir, l->prog.p, l->prog.n, from, &r.part); from = r.part.last + 1) {
    for (int64_t i = 0, n = blocks_counted(&r.part); i < n; i++) {
      const int64_t block = (2 * i + 1) * r.part.blocks / (2 * n);
      run_block(&r, first + block, block);
    }
    add_traffic(&r, &out);
    first += r.part.blocks;
  }
  out.bytes = out.sectors * d->segment;
  close_run(&r);
  launch_report_free(&report);
  return out;
}

/* ---- reports ---- */
void launch_report_free(LaunchReport *r) {
  sb_free(&r->text);
  VEC_FREE(&r->traffic);
}

int64_t launch_faults(const LaunchReport *r) {
  int64_t n = 0;
  for (int k = 0; k < FAULT_KINDS; k++) n += r->fault[k];
  return n;
}

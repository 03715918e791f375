/* SPDX-License-Identifier: MIT */
/* Models as device programs: models [OPTION...] MODEL [NAME=SIZE...] compiles the model for gpu-any and runs its launches in the
 * interpreter, in several orders of threads. Prints "ok", "fail" or "refused" with counts, on one line. For every launch it asks
 * for a proof that its blocks do not conflict; the word "unproved" precedes the reason why there is none.
 *
 *   (none)        runs all of every launch and compares the outputs with those of the graph interpreter. A model with states runs
 *                 as often as its cursors need to come round, and once more
 *   --reference   for larger models. Each kernel begins with values from CPU code, made of the same nests, and is compared with
 *                 it. A launch above 10^7 steps runs its first block, its last one and eight others, and only their stores are
 *                 compared
 *   --barriers    deletes each barrier of every launch in turn; the interpreter must report it. Launches of a kernel are joined;
 *                 then their blocks must conflict. The word "silent" precedes barriers whose deletion is not reported. With
 *                 --reference the values come from CPU code
 *   --state=S     a state as for `tgc compile --state`, but without init
 *   --arithmetic  compiles for a backend that has no functions of libm
 *   --isa=NAME    another device */
#include "../../backends/backends.h"
#include "../../compiler/driver.h"
#include "../../compiler/graph/graph.h"
#include "../../compiler/group/group.h"
#include "../../compiler/interp/interp.h"
#include "../../compiler/interp/interp_threads.h"
#include "../../compiler/lower/lower.h"
#include "../../frontends/frontends.h"
#include "../../runtime_stub/tgcrt.c"
#include "../case/outputs.h"
#include <stdlib.h>

enum { MOST_STEPS = 10000000, MOST_ADDRESSES = 1 << 28, MOST_RUNS = 40, BARRIER_STEPS = 200000 };

/* Permitted relative difference, for the largest element: sums in another order, and halves that are computed in f32 */
static double tolerance(DType d) { return d == DT_F16 ? 2e-3 : d == DT_BF16 ? 1.6e-2 : 1e-4; }

typedef enum { COUNT_KERNELS, COUNT_LAUNCHES, COUNT_PARTS, COUNT_ACCESSES, COUNT_BY_RANGES, COUNT_CLAMPED, COUNT_STEPS,
               COUNT_APART, COUNT_SAMPLED, COUNT_COMPARED, COUNT_INDICES, COUNT_NARROW, COUNT_BARRIERS, COUNT_REPORTED,
               COUNT_ENDS, COUNT_NEEDED, COUNT_SECTORS, COUNT_ESTIMATED, COUNT_RUNS, COUNTS } Count;
static const char *const count_name[COUNTS] = {
  "kernels", "launches", "parts", "accesses", "by ranges", "clamped", "steps", "apart", "sampled", "elements compared",
  "index ops", "of 32 bits", "barriers", "reported", "ends of launches",
  "needed", "sectors", "estimated", "runs",
};

typedef struct Job {
  const char *path, *isa;
  bool reference, barriers, arithmetic;
  LoadOptions load;
  StateSpec state[8];
  int nstates;
  Sb said;                 /* error messages; empty: none */
  Sb unproved, silent;
  int64_t count[COUNTS];
} Job;

/* ---- a model in memory ---- */
typedef struct World {
  Job *j;
  Ctx *c;
  const Plan *p;
  Tensor *in;
  void **out;
  char *arena;
  void **mem;              /* by buffer */
  Plan *cpu;               /* the same nests for this CPU; NULL: not needed */
  void (**code)(void *const *buffers); /* by kernel; NULL: its program is interpreted */
  void **cpu_mem;          /* by buffer of the IR; the CPU's code has weights in its own order */
} World;

/* Small numbers. Integers are not negative, because they are often indices */
static Tensor example(Ctx *c, const GIO *io, int64_t run) {
  Tensor t = { .dt = io->dt, .rank = io->rank, .elems = dims_elems(io->dims, io->rank) };
  char *p = arena_alloc(&c->model, (size_t)t.elems * (size_t)dt_bytes(t.dt) + 1);
  for (int64_t i = 0; i < t.elems; i++) {
    const int64_t n = i + run * 5;
    const double v = dt_float(t.dt) ? (double)(n * 7919 % 23 - 11) / 8 : (double)(n * 7 % 3);
    const int64_t bits = double_to_bits(t.dt, v);
    memcpy(p + i * dt_bytes(t.dt), &bits, (size_t)dt_bytes(t.dt));
  }
  memcpy(t.dims, io->dims, sizeof t.dims);
  t.data = p;
  return t;
}

/* The memory of states, behind the arena */
static unsigned char *state_memory(const World *w) { return (unsigned char *)w->arena + w->p->memory.state_at; }

static tgcrt_state *state_table(const World *w) {
  const size_t n = w->p->memory.states.n;
  tgcrt_state *t = ARENA_NEW(&w->c->model, tgcrt_state, n + 1);
  for (size_t k = 0; k < n; k++) t[k] = state_row(&w->p->memory.states.p[k]);
  return t;
}

/* Sets the memory of all buffers for the current cursors of states */
static void place_buffers(World *w) {
  for (size_t i = 0; i < w->p->ir->bufs.n; i++)
    w->mem[i] = buffer_memory(w->p, &w->p->ir->bufs.p[i], w->in, w->out, w->arena);
}

/* ---- a backend without functions of libm ---- */
static Backend bare;

static bool bare_supports(const Target *t, Op op, DType d, DType from, int lanes) {
  return !libm_has(op, d) && opencl_backend.supports(t, op, d, from, lanes);
}

/* Memory on cache lines, as in bundles */
static void *line_alloc(Ctx *c, size_t bytes) {
  const uintptr_t at = (uintptr_t)arena_alloc(&c->model, bytes + 128);
  return (void *)((at + 63) / 64 * 64);
}

/* ---- code for this CPU, made of the nests of a plan for a device, over the same buffers ---- */
static const Backend *loading_backend(Ctx *c) {
  for (int i = 0; backends[i]; i++)
    if (backends[i]->load && backends[i]->version(c)) return backends[i];
  return NULL;
}

static Plan *cpu_plan(World *w, const Backend *loads) {
  const char *why;
  Arena *m = &w->c->model;
  Plan *v = arena_dup(m, w->p, sizeof *v);
  PlanInputs *in = arena_dup(m, w->p->in, sizeof *in);
  in->target = target_find(m, loads ? "native" : "portable", &why);
  in->backend = loads ? loads : backends[0];
  v->in = in;
  memset(&v->kernels, 0, sizeof v->kernels);
  memset(&v->weights.packed, 0, sizeof v->weights.packed);
  for (size_t k = 0; k < w->p->kernels.n; k++) {
    const Kernel *x = &w->p->kernels.p[k];
    Kernel same = { .sink = x->sink, .group_size = 1, .chunks_per_task = 1, .chunks = 1, .code = -1, .flops = x->flops,
                    .bytes_read = x->bytes_read, .bytes_written = x->bytes_written, .may_alias = true };
    for (size_t i = 0; i < x->nests.n; i++) VEC_PUSH(&same.nests, ((NestSchedule){ .nest = x->nests.p[i].nest }));
    VEC_PUSH(&v->kernels, same);
  }
  for (int i = STEP_affinity; i < STEP_variants; i++) step_run(v, &step_table[i], 0, 1);
  steps_end(v);
  plan_bounds(v);
  return v;
}

static void make_cpu(World *w) {
  const Backend *loads = loading_backend(w->c);
  Arena *m = &w->c->model;
  IR *ir = w->p->ir;
  const size_t known = ir->bufs.n;
  char *weights = line_alloc(w->c, (size_t)w->p->weights.bytes);
  memcpy(weights, w->p->weights.p, (size_t)w->p->weights.bytes);
  w->cpu = cpu_plan(w, loads);
  w->cpu_mem = ARENA_NEW(m, void *, ir->bufs.n + 1);
  for (size_t i = 0; i < ir->bufs.n; i++) {
    const Buf *b = &ir->bufs.p[i];
    const size_t bytes = (size_t)(b->elems * dt_bytes(b->dt));
    const bool own = buf_is_own(b->kind), weight = b->kind == BUF_WEIGHT && (i >= known || b->offset < 0);
    if (own || weight) w->cpu_mem[i] = line_alloc(w->c, bytes);
    if (weight && b->packed) packed_gather(ir, &w->cpu->weights.packed.p[b->packed - 1], w->cpu_mem[i]);
    else if (weight && ir->tensors.p[b->slot].data) memcpy(w->cpu_mem[i], ir->tensors.p[b->slot].data, bytes);
    else if (b->kind == BUF_WEIGHT) w->cpu_mem[i] = weights + b->offset;
  }
  if (!loads) return;
  struct LoadedCode *code = loads->load(w->c, w->cpu, w->cpu->in->target, OPT_FAST);
  w->code = arena_alloc(m, (w->cpu->kernels.n + 1) * sizeof *w->code);
  for (size_t k = 0; k < w->cpu->kernels.n; k++) *(void **)&w->code[k] = loads->symbol(code, arena_printf(m, "c%zu", k));
}

static void run_cpu(World *w, size_t k) {
  const Kernel *x = &w->cpu->kernels.p[k];
  void *at[256];
  CHECK(x->bufs.n <= 256);
  for (size_t i = 0; i < w->p->ir->bufs.n; i++) {
    const BufKind kind = w->p->ir->bufs.p[i].kind;
    if (kind != BUF_WEIGHT && !buf_is_own(kind)) w->cpu_mem[i] = w->mem[i];
  }
  for (size_t i = 0; i < x->bufs.n; i++) at[i] = w->cpu_mem[x->bufs.p[i]];
  if (w->code) w->code[k](at);
  else interp_program(w->cpu->ir, x->prog.p, x->prog.n, w->cpu_mem);
}

/* ---- memory that a kernel stores to, before and after it ---- */
typedef struct Saved {
  size_t buffer, bytes;
  char *before, *after;
  char *disturbed;         /* CPU results for inputs that are off by one unit in the last place */
  uint8_t *stored;
} Saved;
typedef VEC(Saved) Memory;

static void save_memory(const World *w, const Ref *list, size_t n, Memory *out) {
  uint8_t *use = buffer_uses(w->p->ir, list, n);
  for (size_t i = 0; i < w->p->ir->bufs.n; i++) {
    const Buf *b = &w->p->ir->bufs.p[i];
    if (!(use[i] & 2) || buf_is_own(b->kind)) continue;
    Saved s = { .buffer = i, .bytes = (size_t)(b->elems * dt_bytes(b->dt)) };
    s.before = xmalloc(s.bytes + 1);
    s.after = xmalloc(s.bytes + 1);
    s.disturbed = xmalloc(s.bytes + 1);
    s.stored = xcalloc((size_t)b->elems + 1, 1);
    memcpy(s.before, w->mem[i], s.bytes);
    VEC_PUSH(out, s);
  }
  free(use);
}

static void keep_after(const World *w, const Memory *m) {
  for (size_t i = 0; i < m->n; i++) memcpy(m->p[i].after, w->mem[m->p[i].buffer], m->p[i].bytes);
}

static void put_back(const World *w, const Memory *m, bool after) {
  for (size_t i = 0; i < m->n; i++) memcpy(w->mem[m->p[i].buffer], after ? m->p[i].after : m->p[i].before, m->p[i].bytes);
}

static void free_memory(Memory *m) {
  for (size_t i = 0; i < m->n; i++) {
    free(m->p[i].before);
    free(m->p[i].after);
    free(m->p[i].disturbed);
    free(m->p[i].stored);
  }
  VEC_FREE(m);
}

/* ---- a launch ---- */
/* Counts ops that lead to an index or a gate, and those of them with 32 bits */
static void count_indices(Job *j, const IR *ir, const Refs *prog) {
  RefMap seen = { 0 };
  for (size_t i = prog->n; i-- > 0;) {
    const Node *x = node(ir, prog->p[i]);
    const bool value = x->dt == DT_I64 || x->dt == DT_I32 || x->dt == DT_BOOL;
    if (is_access(x)) refmap_set(&seen, access_index(x), 1);
    if (is_access(x) && access_gate(x)) refmap_set(&seen, access_gate(x), 1);
    if (x->op == OP_LOOP && loop_gate(x)) refmap_set(&seen, loop_gate(x), 1);
    if (!refmap_get(&seen, prog->p[i]) || op_info[x->op].level != L_EXPR || !value) continue;
    const DType d = (DType)(x->dt == DT_BOOL ? node(ir, x->src[x->nsrc - 1])->dt : x->dt);
    for (int k = 0; k < x->nsrc; k++) refmap_set(&seen, x->src[k], 1);
    j->count[COUNT_INDICES] += d == DT_I64 || d == DT_I32;
    j->count[COUNT_NARROW] += d == DT_I32;
  }
  refmap_free(&seen);
}

static void count_launch(const World *w, const Launch *l, size_t kernel) {
  Job *j = w->j;
  LaunchPart part;
  Sb why = { 0 };
  j->count[COUNT_LAUNCHES]++;
  for (size_t from = 0; launch_part(w->p->ir, l->prog.p, l->prog.n, from, &part); from = part.last + 1) j->count[COUNT_PARTS]++;
  if (!device_takes(w->p->in->target->dev, w->p->ir, l, &why)) sb_printf(&j->said, "kernel %zu: %s; ", kernel, why.p);
  why.n = 0;
  if (blocks_apart(w->p->ir, l, w->mem, MOST_ADDRESSES, &why)) j->count[COUNT_APART]++;
  else sb_printf(&j->unproved, "kernel %zu: %s; ", kernel, why.p);
  count_indices(j, w->p->ir, &l->prog);
  sb_free(&why);
}

/* most: micro-ops above which the launch is sampled; 0: never. orders: all orders of threads, else one */
static bool run_launch(const World *w, const Launch *l, size_t kernel, int64_t most, bool orders, uint8_t **stored) {
  const Device *d = w->p->in->target->dev;
  LaunchReport r = { .stored = stored };
  bool good = true;
  if (orders) good = interp_launch_orders(w->p->ir, l, d, w->mem, most, &r);
  else interp_launch(w->p->ir, l, d, w->mem, (ThreadOrder){ .warp = d->warp }, most, &r);
  good &= !launch_faults(&r);
  if (!good) sb_printf(&w->j->said, "kernel %zu: %s; ", kernel, r.text.p);
  w->j->count[COUNT_STEPS] += r.steps;
  for (size_t i = 0; i < r.traffic.n && !r.sampled; i++) w->j->count[COUNT_SECTORS] += r.traffic.p[i].sectors;
  if (!r.sampled) w->j->count[COUNT_ESTIMATED] += (int64_t)interp_traffic(w->p->ir, l, d).sectors;
  w->j->count[COUNT_SAMPLED] += r.sampled;
  const bool sampled = r.sampled;
  launch_report_free(&r);
  return sampled;
}

/* ---- deleted barriers ---- */
/* Whether a launch with the program *prog is reported, in any order of threads */
static bool is_reported(const World *w, Refs prog) {
  static const ThreadOrder orders[] = { { ORDER_ASCENDING, 0, 1 }, { ORDER_ASCENDING, 0, 32 }, { ORDER_SHUFFLED, 1, 1 } };
  const Launch l = launch_of(w->p->ir, prog);
  bool reported = false;
  Memory m = { 0 };
  save_memory(w, prog.p, prog.n, &m);
  for (size_t i = 0; i < sizeof orders / sizeof *orders && !reported; i++) {
    LaunchReport r = { .ends_at_fault = true };
    interp_launch(w->p->ir, &l, w->p->in->target->dev, w->mem, orders[i], BARRIER_STEPS, &r);
    reported = launch_faults(&r) > 0;
    launch_report_free(&r);
    put_back(w, &m, false);
  }
  free_memory(&m);
  return reported;
}

/* Counts barriers: all n of them, and those whose deletion is reported (seen). */
static void count_deleted(const World *w, size_t kernel, const char *what, int64_t n, bool seen, Count all) {
  Job *j = w->j;
  j->count[all]++;
  j->count[all + 1] += seen;
  if (!seen) sb_printf(&j->silent, "kernel %zu: %s %lld; ", kernel, what, (long long)n);
}

/* Deletes each barrier of a launch; memory is as at the start of the launch */
static void delete_barriers(const World *w, const Launch *l, size_t kernel) {
  const IR *ir = w->p->ir;
  for (size_t i = 0; i < l->prog.n; i++) {
    const Node *x = node(ir, l->prog.p[i]);
    Refs without = { 0 };
    if (x->op != OP_BARRIER) continue;
    for (size_t k = 0; k < l->prog.n; k++)
      if (k != i) VEC_PUSH(&without, l->prog.p[k]);
    count_deleted(w, kernel, "barrier", barrier_id(x), is_reported(w, without), COUNT_BARRIERS);
    VEC_FREE(&without);
  }
}

/* Deletes the barrier between two launches: their blocks become one grid, and some of them must conflict. Only programs with
 * equal numbers of threads can be joined. Conflicts are found by addresses, because a sample of blocks may miss them. */
static void join_launches(const World *w, const Launch *a, const Launch *b, size_t kernel, size_t n) {
  Refs both = { 0 };
  if (launch_threads(a) != launch_threads(b)) return;
  for (size_t i = 0; i < a->prog.n; i++) VEC_PUSH(&both, a->prog.p[i]);
  for (size_t i = 0; i < b->prog.n; i++) VEC_PUSH(&both, b->prog.p[i]);
  const Launch joined = launch_of(w->p->ir, both);
  const bool meet = !blocks_apart(w->p->ir, &joined, w->mem, MOST_ADDRESSES, NULL);
  count_deleted(w, kernel, "the end of launch", (int64_t)n, meet, COUNT_ENDS);
  VEC_FREE(&both);
}

/* ---- a kernel ---- */
static void run_kernel(const World *w, const Launches *l, size_t k) {
  for (size_t i = 0; i < l->n; i++) run_launch(w, &l->p[i], k, 0, true, NULL);
}

/* The next kernel begins with values from CPU code if that suffices. */
static void run_without_barriers(World *w, const Launches *l, size_t k) {
  const bool cpu = w->cpu && l->n == 1;
  for (size_t i = 0; i < l->n; i++) {
    delete_barriers(w, &l->p[i], k);
    if (i + 1 < l->n) join_launches(w, &l->p[i], &l->p[i + 1], k, i);
    if (!cpu) run_launch(w, &l->p[i], k, 0, false, NULL);
  }
  if (cpu) run_cpu(w, k);
}

/* Runs the CPU code with each float input, except weights, changed by one unit in the last place, up or down. An element's
 * change shows how far rounding may take it: a difference of large sums is far off, and so is its logarithm. Afterwards memory
 * is as before the kernel. */
static void run_disturbed(World *w, const Memory *m, size_t k) {
  const Kernel *x = &w->cpu->kernels.p[k];
  uint8_t *use = buffer_uses(w->cpu->ir, x->prog.p, x->prog.n);
  float **kept = xcalloc(w->p->ir->bufs.n + 1, sizeof *kept);
  uint32_t random = 1;
  for (size_t i = 0; i < w->p->ir->bufs.n; i++) {
    const Buf *b = &w->p->ir->bufs.p[i];
    if (!(use[i] & 1) || buf_is_own(b->kind) || b->kind == BUF_WEIGHT || b->dt != DT_F32) continue;
    float *v = w->mem[i];
    kept[i] = xmalloc((size_t)b->elems * sizeof *v + 1);
    memcpy(kept[i], v, (size_t)b->elems * sizeof *v);
    for (int64_t e = 0; e < b->elems; e++) {
      random = random * 1664525u + 1013904223u;
      if (isfinite(v[e]) && v[e] != 0) v[e] = nextafterf(v[e], random >> 31 ? INFINITY : -INFINITY);
    }
  }
  run_cpu(w, k);
  for (size_t i = 0; i < m->n; i++) memcpy(m->p[i].disturbed, w->mem[m->p[i].buffer], m->p[i].bytes);
  for (size_t i = 0; i < w->p->ir->bufs.n; i++) {
    if (kept[i]) memcpy(w->mem[i], kept[i], (size_t)w->p->ir->bufs.p[i].elems * sizeof **kept);
    free(kept[i]);
  }
  free(kept);
  free(use);
  put_back(w, m, false);
}

/* Compares the elements stored since the last call with those of the CPU code, which stay in memory. */
static void compare_stored(const World *w, const Memory *m, size_t kernel) {
  for (size_t i = 0; i < m->n; i++) {
    const Saved *s = &m->p[i];
    const Buf *b = &w->p->ir->bufs.p[s->buffer];
    const Tensor t = { .dt = b->dt, .rank = 1, .dims = { b->elems }, .elems = b->elems, .data = s->after };
    double most = 1e-3;
    int64_t bad = -1;
    for (int64_t e = 0; e < b->elems; e++) {
      const double v = fabs(output_element(&t, s->after, e));
      if (isfinite(v)) most = fmax(most, v);
    }
    for (int64_t e = 0; e < b->elems && bad < 0; e++) {
      if (!s->stored[e]) continue;
      const double want = output_element(&t, s->after, e), got = output_element(&t, w->mem[s->buffer], e);
      const double by_rounding = fabs(want - output_element(&t, s->disturbed, e));
      const bool near = dt_float(b->dt) && fabs(want - got) <= fmax(tolerance(b->dt) * most, 8 * by_rounding);
      if (want != got && !near && !(isnan(want) && isnan(got))) bad = e;
      w->j->count[COUNT_COMPARED]++;
    }
    if (bad >= 0)
      sb_printf(&w->j->said, "kernel %zu: b%zu[%lld] is %g in place of %g; ", kernel, s->buffer, (long long)bad,
                output_element(&t, w->mem[s->buffer], bad), output_element(&t, s->after, bad));
    memset(s->stored, 0, (size_t)b->elems);
    memcpy(w->mem[s->buffer], s->after, s->bytes);
  }
}

/* Whether a launch stores elements that the CPU code does not, such as parts of sums */
static bool stores_more(const World *w, const Launch *l, size_t kernel) {
  uint8_t *mine = buffer_uses(w->p->ir, l->prog.p, l->prog.n);
  const Kernel *x = &w->cpu->kernels.p[kernel];
  uint8_t *theirs = buffer_uses(w->cpu->ir, x->prog.p, x->prog.n);
  bool more = false;
  for (size_t i = 0; i < w->p->ir->bufs.n; i++)
    more |= (mine[i] & 2) && !(theirs[i] & 2) && !buf_is_own(w->p->ir->bufs.p[i].kind);
  free(mine);
  free(theirs);
  return more;
}

static void run_beside_cpu(World *w, const Launches *l, size_t k) {
  const Kernel *x = &w->p->kernels.p[k];
  const size_t nbufs = w->p->ir->bufs.n;
  Memory m = { 0 };
  uint8_t **stored = xcalloc(nbufs + 1, sizeof *stored);
  save_memory(w, x->prog.p, x->prog.n, &m);
  run_cpu(w, k);
  keep_after(w, &m);
  put_back(w, &m, false);
  run_disturbed(w, &m, k);
  for (size_t i = 0; i < m.n; i++) stored[m.p[i].buffer] = m.p[i].stored;
  for (size_t i = 0; i < l->n; i++) {
    const bool whole = i + 1 < l->n && stores_more(w, &l->p[i], k);
    const bool sampled = run_launch(w, &l->p[i], k, whole ? 0 : MOST_STEPS, !whole, stored);
    Memory mine = { 0 }; /* memory of this launch alone */
    uint8_t *use = buffer_uses(w->p->ir, l->p[i].prog.p, l->p[i].prog.n);
    for (size_t n = 0; n < m.n && sampled; n++)
      if (use[m.p[n].buffer] & 2) VEC_PUSH(&mine, m.p[n]);
    compare_stored(w, &mine, k);
    VEC_FREE(&mine);
    free(use);
  }
  Memory known = { 0 };
  uint8_t *theirs = buffer_uses(w->cpu->ir, w->cpu->kernels.p[k].prog.p, w->cpu->kernels.p[k].prog.n);
  for (size_t n = 0; n < m.n; n++)
    if (theirs[m.p[n].buffer] & 2) VEC_PUSH(&known, m.p[n]);
  compare_stored(w, &known, k);
  VEC_FREE(&known);
  free(theirs);
  free_memory(&m);
  free(stored);
}

/* ---- a run ---- */
static void count_plan(World *w) {
  Job *j = w->j;
  for (size_t k = 0; k < w->p->kernels.n; k++) {
    const Kernel *x = &w->p->kernels.p[k];
    Launches launches = { 0 };
    ir_verify_program(w->p->ir, x->prog.p, x->prog.n);
    launches_of(w->p->ir, x->prog.p, x->prog.n, &launches);
    for (size_t i = 0; i < launches.n; i++) count_launch(w, &launches.p[i], k);
    launches_free(&launches);
    j->count[COUNT_KERNELS]++;
    j->count[COUNT_ACCESSES] += x->bounds.accesses;
    j->count[COUNT_BY_RANGES] += x->bounds.by_ranges;
    j->count[COUNT_CLAMPED] += x->bounds.clamped;
  }
  if (!plan_in_bounds(w->p, &j->said)) sb_puts(&j->said, "; ");
}

static void run_plan(World *w) {
  for (size_t k = 0; k < w->p->kernels.n; k++) {
    const Kernel *x = &w->p->kernels.p[k];
    Launches launches = { 0 };
    launches_of(w->p->ir, x->prog.p, x->prog.n, &launches);
    if (w->j->barriers) run_without_barriers(w, &launches, k);
    else if (w->j->reference) run_beside_cpu(w, &launches, k);
    else run_kernel(w, &launches, k);
    launches_free(&launches);
  }
  w->j->count[COUNT_RUNS]++;
}

/* The next value of a state: the last part of what a run made, as long as the state. */
static Tensor next_state(Ctx *c, const Graph *g, size_t k, const Tensor *made) {
  const GIO *v = &g->inputs.p[graph_nin(g) + k];
  const int axis = g->states.p[k].axis;
  Tensor t = { .dt = v->dt, .rank = v->rank, .elems = dims_elems(v->dims, v->rank) };
  const size_t outer = axis < 0 ? 1 : (size_t)dims_elems(v->dims, axis);
  const size_t all = (size_t)(made->elems * dt_bytes(v->dt)) / outer, kept = (size_t)(t.elems * dt_bytes(v->dt)) / outer;
  char *data = arena_alloc(&c->model, outer * kept + 1);
  memcpy(t.dims, v->dims, sizeof t.dims);
  for (size_t b = 0; b < outer; b++) memcpy(data + b * kept, (const char *)made->data + (b + 1) * all - kept, kept);
  t.data = data;
  return t;
}

static int64_t runs_wanted(const Plan *p) {
  int64_t runs = 1;
  for (size_t k = 0; k < p->memory.states.n; k++)
    if (p->memory.states.p[k].slots + 1 > runs) runs = p->memory.states.p[k].slots + 1;
  return runs < MOST_RUNS ? runs : MOST_RUNS;
}

/* The interpreter's own graph, because compilation changes the plan's; in: inputs of the first run */
typedef struct Reference { Graph *g; Tensor *in; const Tensor **given; Ref *roots; Tensor *want; } Reference;

static Graph *load_model(Ctx *c, const Job *j) {
  Graph *g = model_load(c, j->path, &j->load);
  if (j->nstates) graph_states(g, j->state, j->nstates);
  return g;
}

static Reference open_reference(Ctx *c, const Job *j) {
  Reference r = { .g = load_model(c, j) };
  const Graph *g = r.g;
  r.in = ARENA_NEW(&c->model, Tensor, g->inputs.n + 1);
  r.given = ARENA_NEW(&c->model, const Tensor *, g->inputs.n + 1);
  r.roots = ARENA_NEW(&c->model, Ref, g->outputs.n + 1);
  r.want = ARENA_NEW(&c->model, Tensor, g->outputs.n + 1);
  for (size_t i = 0; i < g->outputs.n; i++) r.roots[i] = g->outputs.p[i].ref;
  for (size_t i = 0; i < g->inputs.n; i++) r.given[i] = &r.in[i];
  return r;
}

static void set_inputs(Ctx *c, const Graph *g, int64_t run, Tensor *in) {
  for (size_t i = 0; i < graph_nin(g); i++) in[i] = example(c, &g->inputs.p[i], run);
  for (size_t k = 0; k < g->states.n && !run; k++) {
    const GIO *v = &g->inputs.p[graph_nin(g) + k];
    Tensor *t = &in[graph_nin(g) + k];
    *t = (Tensor){ .dt = v->dt, .rank = v->rank, .elems = dims_elems(v->dims, v->rank) };
    memcpy(t->dims, v->dims, sizeof t->dims);
    t->data = g->states.p[k].init ? g->states.p[k].init->data : arena_alloc(&c->model, (size_t)(t->elems * dt_bytes(t->dt)) + 1);
  }
}

/* Four times the error of the graph interpreter if it rounds all values to their types: programs round only some of them */
static double rounding_room(Ctx *c, const Reference *r, size_t output) {
  Tensor exact;
  double worst = 0;
  if (!interp_graph(r->g->ir, &r->roots[output], 1, r->given, &c->model, true, 0, &exact)) return 0;
  for (int64_t i = 0; i < exact.elems; i++) {
    const double d = fabs(output_element(&exact, exact.data, i) - output_element(&r->want[output], r->want[output].data, i));
    if (isfinite(d)) worst = fmax(worst, d);
  }
  return 4 * worst;
}

static void compare(World *w, const Reference *r, size_t output) {
  const Tensor *want = &r->want[output];
  const char *got = w->out[output];
  int64_t i = outputs_differ(want, got, tolerance(want->dt), 1e-3);
  if (i >= 0) i = outputs_far(want, got, tolerance(want->dt), 1e-3, rounding_room(w->c, r, output));
  if (i >= 0)
    sb_printf(&w->j->said, "output %zu[%lld] is %g in place of %g in run %lld; ", output, (long long)i,
              output_element(want, got, i), output_element(want, want->data, i), (long long)w->j->count[COUNT_RUNS]);
}

static void run_model(Ctx *c, void *arg) {
  Job *j = arg;
  World w = { .j = j, .c = c };
  Graph *g = load_model(c, j);
  bare = opencl_backend;
  bare.supports = bare_supports;
  w.p = compile_graph(g,
                      &(CompileOptions){ .target = device_target(j->isa), .backend = j->arithmetic ? &bare : &opencl_backend });
  const size_t nstates = w.p->memory.states.n;
  w.in = ARENA_NEW(&c->model, Tensor, g->inputs.n + 1);
  w.out = ARENA_NEW(&c->model, void *, g->outputs.n + 1);
  for (size_t i = 0; i < g->outputs.n; i++)
    w.out[i] = arena_alloc(&c->model, (size_t)dims_elems(g->outputs.p[i].dims, g->outputs.p[i].rank) *
                                        (size_t)dt_bytes(g->outputs.p[i].dt) + 1);
  w.arena = line_alloc(c, (size_t)w.p->memory.arena_bytes);
  const tgcrt_state *states = state_table(&w);
  tgcrt_state_reset(states, nstates, state_memory(&w), w.p->weights.p);
  Reference r = { 0 };
  if (!j->reference) r = open_reference(c, j);
  if (j->reference) make_cpu(&w);
  w.mem = ARENA_NEW(&c->model, void *, w.p->ir->bufs.n + 1);
  for (int64_t run = 0; run < runs_wanted(w.p) && !j->said.n; run++) {
    set_inputs(c, w.p->g, run, w.in);
    place_buffers(&w);
    if (!run) count_plan(&w);
    run_plan(&w);
    if (r.g) {
      set_inputs(c, r.g, run, r.in);
      CHECK(interp_graph(r.g->ir, r.roots, (int)r.g->outputs.n, r.given, &c->model, false, 0, r.want));
      for (size_t i = 0; i < graph_nout(r.g); i++) compare(&w, &r, i);
      for (size_t k = 0; k < nstates; k++)
        r.in[graph_nin(r.g) + k] = next_state(c, r.g, k, &r.want[graph_nout(r.g) + k]);
    }
    tgcrt_state_advance(states, nstates, state_memory(&w));
  }
}

static void put_line(const char *what, const Sb *text) {
  if (!text->n) return;
  printf(" %s: ", what);
  for (const char *s = text->p; *s; s++) putchar(*s == '\n' ? ' ' : *s);
}

/* IN=OUT:axis=1,capacity=8,grow */
static bool add_state(Job *j, char *text) {
  StateSpec s = { .past = text, .axis = -1 };
  char *equals = strchr(text, '='), *keys = strchr(text, ':');
  if (!equals || j->nstates == 8) return false;
  *equals = 0;
  s.present = equals + 1;
  if (keys) *keys++ = 0;
  for (char *key = keys ? strtok(keys, ",") : NULL; key; key = strtok(NULL, ",")) {
    if (!strncmp(key, "axis=", 5)) s.axis = atoi(key + 5);
    else if (!strncmp(key, "capacity=", 9)) s.capacity = strtoll(key + 9, NULL, 10);
    else if (!strcmp(key, "grow")) s.grow = true;
    else return false;
  }
  j->state[j->nstates++] = s;
  return true;
}

int main(int argc, char **argv) {
  DimValue dim[32];
  Job j = { .isa = "gpu-any", .load = { .dims = dim } };
  Ctx c;
  for (int i = 1; i < argc; i++) {
    char *equals = strrchr(argv[i], '=');
    if (!strcmp(argv[i], "--reference")) j.reference = true;
    else if (!strcmp(argv[i], "--barriers")) j.barriers = true;
    else if (!strcmp(argv[i], "--arithmetic")) j.arithmetic = true;
    else if (!strncmp(argv[i], "--isa=", 6)) j.isa = argv[i] + 6;
    else if (!strncmp(argv[i], "--state=", 8)) {
      if (!add_state(&j, argv[i] + 8)) return 64;
    }
    else if (!j.path) j.path = argv[i];
    else if (!equals || j.load.ndims == 32) return 64;
    else {
      *equals = 0;
      dim[j.load.ndims++] = (DimValue){ argv[i], strtoll(equals + 1, NULL, 10), NULL };
    }
  }
  if (!j.path || !device_target(j.isa)) return 64;
  ctx_init(&c);
  const int code = ctx_try(&c, run_model, &j);
  printf("%s", code == EX_BADMODEL ? "refused" : code || j.said.n ? "fail" : "ok");
  for (int i = 0; i < COUNTS; i++) printf("%s %lld %s", i ? "," : "", (long long)j.count[i], count_name[i]);
  put_line("said", &j.said);
  put_line("unproved", &j.unproved);
  put_line("silent", &j.silent);
  puts("");
  ctx_free(&c);
  return 0;
}

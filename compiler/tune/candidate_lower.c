/* SPDX-License-Identifier: MIT */
/* candidate_lower.c: candidates as programs, and what such a program costs. */
#include "../cost/program_time.h"
#include "../lower/lower.h"
#include "batch.h"
#include <math.h>

static const char *given_find(ScheduleSource *s, const char *key, bool *partial) {
  (void)key;
  *partial = false;
  return ((Given *)s)->opts;
}

void plan_begin(const Lab *b, const Backend *backend, Given *g, Plan *p) {
  *g = (Given){ .source = { .name = "candidate", .find = given_find },
                .in = { .target = b->target, .backend = backend, .schedules = &g->source } };
  *p = (Plan){ .in = &g->in, .ir = b->ir };
}

const Kernel *plan_add(Plan *p, Ref nest, const char *opts) {
  Ref sink = node_make(p->ir, OP_SINK, DT_NONE, 1, 1, &nest, 0, NULL, 0, NULL);
  ((Given *)p->in->schedules)->opts = opts;
  VEC_PUSH(&p->kernels, ((Kernel){ .sink = sink }));
  kernel_lower(p, (int)p->kernels.n - 1);
  Kernel *k = &p->kernels.p[p->kernels.n - 1];
  Bounds *b = bounds_open(p);
  kernel_bounds(b, k);
  bounds_close(b);
  ir_verify_program(p->ir, k->prog.p, k->prog.n);
  /* A group runs chunk by chunk. In one call for all chunks, loops would leave out what is the same in each chunk's piece. */
  for (size_t i = 0; i < k->bufs.n; i++)
    if (p->ir->bufs.p[k->bufs.p[i]].piece) k->chunks_per_task = 1;
  return k;
}

static double vectors(const Target *t, const Node *x) {
  double n = t->vector_bytes ? ceil((double)x->lanes * dt_bytes((DType)x->dt) / t->vector_bytes) : 1;
  return n < 1 ? 1 : n;
}

/* clang-format off */
static double op_cost(const Target *t, const Node *x) {
  switch ((Op)x->op) {
  case OP_VEC: return x->lanes * rate(t, ONE_BY_ONE, TUNER) + rate(t, VECTOR_BEGIN, TUNER);
  case OP_HRED: return x->lanes * rate(t, COMBINE, TUNER) + rate(t, VECTOR_BEGIN, TUNER);
  case OP_LANE: return rate(t, ALU, TUNER);
  case OP_SCALB: return rate(t, SCALB, TUNER) * vectors(t, x);
  case OP_SHUFFLE: case OP_LOOKUP: return rate(t, SHUFFLE, TUNER) * vectors(t, x);
  default: break;
  }
  const CostClass of = op_info[x->op].cost;
  const bool slow = of == COST_DIV || of == COST_MOD || of == COST_FUNC;
  if (!slow && op_info[x->op].level != L_EXPR) return 0;
  return !slow && x->dt == DT_I64 ? rate(t, INDEX, TUNER) : op_instructions(t, BY_TUNER, (Op)x->op) * vectors(t, x);
}
/* clang-format on */

/* Threads of a device run beside each other: what one of them takes, or what all of them give the units to do. */
static double elapsed(const Target *t, double own, double threads) {
  enum { ISSUE_SHARE = 4 }; /* so many times fewer threads go on in a cycle than fill a unit */
  const double beside = (double)t->dev->units * t->dev->unit_threads / ISSUE_SHARE;
  return own * fmax(1, threads / beside);
}

/* Cycles of a program of a device, by counting: two ports for arithmetic, two for memory, the slower counts; a loop that changes
 * a variable waits for it. */
static double device_cycles(const IR *ir, const Refs *prog, const Target *t) {
  enum { DEPTH = 64 };
  struct Level {
    double times, work, memory, sets;
  } level[DEPTH] = { { .times = 1 } };
  const double latency = rate(t, LATENCY, TUNER);
  double total = 0, part = 0, threads = 1; /* part: of what a thread does in the outermost loop; its threads */
  int d = 0;
  for (size_t i = 0; i <= prog->n; i++) {
    const Node *x = i < prog->n ? node(ir, prog->p[i]) : NULL;
    struct Level *l = &level[d];
    if (!x || x->op == OP_END) {
      const double cycles = fmax(l->work, l->memory) / rate(t, ISSUE, TUNER);
      part += l->times * ((l->sets && cycles < latency ? latency : cycles) + rate(t, LOOP_TURN, TUNER));
      d -= d > 0;
      if (d) continue;
      total += elapsed(t, part, threads);
      part = 0;
      threads = 1;
    } else if (x->op == OP_LOOP) {
      const Node *r = node(ir, loop_range(x));
      const bool place = range_is_place(range_kind(r));
      CHECK(d + 1 < DEPTH);
      if (place) threads *= (double)range_extent(r);
      level[++d] = (struct Level){ .times = l->times * (place ? 1 : (double)range_extent(r)) };
    } else if (x->op == OP_LOAD || x->op == OP_STORE) {
      l->memory += vectors(t, x->op == OP_STORE ? node(ir, store_value(x)) : x);
    } else {
      l->work += op_cost(t, x);
      l->sets += x->op == OP_SET;
    }
  }
  return total;
}

/* ---- on a CPU, with the data where they are when it is timed ---- */
typedef struct Placing { const Lab *lab; const CacheState *state; } Placing;

/* Bytes touched since, so that the data are in this level of cache; without a state all are near. */
static double since(void *arg, int buf) {
  const Placing *p = arg;
  const Target *t = p->lab->target;
  switch (p->state ? cache_state_level(p->state, p->lab->ir, buf) : LEVEL_UNKNOWN) {
  case LEVEL_L2: return t->l2_bytes / 2.0;
  case LEVEL_L3: return t->l3_bytes / 2.0;
  case LEVEL_MEMORY: return INFINITY;
  default: return 0;
  }
}

static void touch(void *arg, int buf, double bytes) { (void)arg, (void)buf, (void)bytes; }

static double cycles_of(const Lab *b, const Refs *prog, const CacheState *state) {
  const Target *t = b->target;
  CpuFacts assumed;
  const Residence r = { since, touch, &(Placing){ b, state } };
  if (target_has_threads(t)) return device_cycles(b->ir, prog, t);
  return program_time(b->ir, prog, t, cpu_facts_of(t, &assumed), &r).total;
}

double program_cycles(const Lab *b, const Refs *prog, const CacheState *state, bool sized) {
  double at[TIMED_RUNS];
  if (!sized) return cycles_of(b, prog, state);
  for (int i = 0; i < b->runs.timed; i++) {
    ir_set_run(b, i);
    at[i] = cycles_of(b, prog, state ? &state[i] : NULL);
  }
  ir_set_run(b, -1);
  return mean_of_runs(&b->runs, at);
}

double nest_cycles(const Lab *b, Ref nest, const char *opts) {
  Given g;
  Plan p;
  plan_begin(b, b->backend, &g, &p);
  const Kernel *k = plan_add(&p, nest, opts);
  double cycles = program_cycles(b, &k->prog, NULL, b->runs.n && nest_is_sized(b->ir, nest));
  VEC_FREE(&p.kernels.p[0].prog);
  VEC_FREE(&p.kernels);
  VEC_FREE(&p.weights.packed);
  return cycles;
}

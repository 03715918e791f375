/* SPDX-License-Identifier: MIT */
/* program_time.c: the time of a program on one core. Each loop body counts what it issues to each kind of port, and the longest
 * chain of its variables; the slowest of these is its time. Bytes that the caches no longer have take theirs. The longer of both
 * times hides most of the shorter one. */
#include "program_time.h"
#include "../ir/refmap.h"
#include <math.h>
#include <stdlib.h>

/* Micro-ops that wait at a time; micro-ops started per cycle; cycles of a sum that a loop keeps in memory; instructions of a
 * function of the C library. Assumed: out-of-order cores since 2013 */
enum { WINDOW = 300, WIDTH = 6, SPILLED_SUM = 2, LIBRARY = 40 };
/* Part of the shorter of memory and arithmetic that the longer does not hide; part of a cache in which data stays */
static const double LEFT_OVER = 0.1, STAYS[CACHE_LEVELS] = { 0.8, 0.8, 0.7 };

/* An iteration of a loop's body. Multiplications, all vector arithmetic, moves between lanes, loads and stores count in vectors.
 * divide: quotients. all: micro-ops. matrix: cycles of a matrix unit. chain: cycles until a variable has its next value. path:
 * cycles from the first to the last op. sums: vectors of variables. spilled: other vectors without a register */
typedef struct Issue {
  double multiply, vector, move, load, store, divide, all, matrix, chain, path, sums, spilled;
} Issue;

typedef struct Timer {
  const IR *ir;
  const Target *t;
  const CpuFacts *f;
  double lanes, bytes;     /* the widest vector has so many floats, and bytes */
  RefMap read, made;       /* by node of the current loop: 1 + tenths of cycles since a variable was read, since any op */
  VEC(Issue) issue;        /* by loop */
} Timer;

static double vectors(const Timer *m, const Node *x) {
  return fmax(1, ceil(m->t->vector_bytes ? (double)x->lanes * dt_bytes((DType)x->dt) / m->t->vector_bytes : 1));
}

static bool is_index(const Node *x) { return x->lanes == 1 && dt_int((DType)x->dt) && dt_bytes((DType)x->dt) >= 4; }

/* ---- what an op issues ---- */
/* Micro-ops of arithmetic on an index. Adding a constant is part of an address. */
static double index_ops(const IR *ir, const Node *x) {
  const CostClass of = op_info[x->op].cost;
  if (op_info[x->op].level != L_EXPR) return 0;
  if (of == COST_DIV || of == COST_MOD) return 8;
  return x->op == OP_ADD && node(ir, rhs(x))->op == OP_CONST ? 0 : 0.5;
}

static bool is_compare(const Node *x) {
  return x->op == OP_CMPLT || x->op == OP_CMPLE || x->op == OP_CMPEQ || x->op == OP_CMPNE;
}

static void count_arithmetic(const Timer *m, const Node *x, Issue *s) {
  const double n = vectors(m, x);
  switch (op_info[x->op].cost) {
  case COST_NONE: return;
  case COST_DIV: case COST_MOD: s->divide += x->lanes > 1 ? (double)x->lanes : m->lanes / 4; return;
  case COST_LIBM: s->vector += LIBRARY * (double)x->lanes; return;
  case COST_FUNC:
    s->vector += rate(m->t, FUNC, TUNER) * n;
    s->multiply += rate(m->t, FUNC, TUNER) * n / 2;
    return;
  default: break;
  }
  if (is_compare(x)) s->vector += vectors(m, node(m->ir, lhs(x)));
  else s->vector += x->op == OP_CAST ? fmax(n, vectors(m, node(m->ir, operand(x)))) : n;
}

/* Vectors that an op moves between lanes. One that is loaded into all lanes is not moved. */
static double moves(const Timer *m, const Node *x) {
  switch ((Op)x->op) {
  case OP_VEC: return 2.0 * x->lanes;
  case OP_HRED: return log2(node(m->ir, operand(x))->lanes);
  case OP_LANE: return 1;
  case OP_SHUFFLE: return vectors(m, x);
  case OP_BCAST: return node(m->ir, operand(x))->op != OP_CONST && node(m->ir, operand(x))->op != OP_LOAD;
  default: return 0;
  }
}

static void count_memory(const Timer *m, const Node *x, Issue *s) {
  const double n = vectors(m, x);
  switch ((Op)x->op) {
  case OP_LOAD:
    s->load += n;
    s->all += n / 2; /* half of the loads are operands of arithmetic */
    s->vector += load_gate(x) ? n : 0;
    break;
  case OP_TILE: s->load += (double)tile_rows(x); break;
  case OP_PART: case OP_PREFETCH: s->load++, s->all++; break;
  case OP_SPILL: s->store += n; break;
  default: s->store += vectors(m, node(m->ir, store_value(x))), s->all++;
  }
}

static void count_op(const Timer *m, const Node *x, Issue *s) {
  const double before = s->vector, moved = moves(m, x);
  switch ((Op)x->op) {
  case OP_LOAD: case OP_STORE: case OP_TILE: case OP_PART: case OP_SPILL: case OP_PREFETCH: count_memory(m, x, s); break;
  case OP_ACC: case OP_GET: case OP_SET: case OP_TILES: case OP_BCAST: case OP_VEC: case OP_LANE: case OP_SHUFFLE: break;
  case OP_HRED: s->vector += moved; break;
  case OP_MULACC: case OP_MUL: case OP_DOT:
    if (!is_index(x)) s->multiply += vectors(m, x), s->vector += vectors(m, x);
    break;
  case OP_SCALB: s->vector += 2 * vectors(m, x); break;
  case OP_MMA: s->matrix += (double)mma_rows(x); break;
  default:
    if (!is_index(x)) count_arithmetic(m, x, s);
  }
  s->all += is_index(x) ? index_ops(m->ir, x) : 0;
  s->move += moved;
  s->vector += moved;
  s->all += s->vector - before;
}

/* ---- chains ---- */
static double latency_of(const Timer *m, const Node *x) {
  const double multiply = m->f->at[FACT_LATENCY];
  switch ((Op)x->op) {
  case OP_GET: case OP_SET: case OP_ACC: case OP_CONST: case OP_BUFFER: case OP_RANGE: case OP_STORE: return 0;
  case OP_HRED: return 1.5 * multiply * log2(node(m->ir, operand(x))->lanes);
  case OP_MULACC: case OP_MUL: case OP_ADD: case OP_SUB: case OP_DOT: return multiply;
  case OP_LOAD: return multiply + 1;
  case OP_BCAST: return node(m->ir, operand(x))->op == OP_LOAD ? 0 : 2;
  default: break;
  }
  switch (op_info[x->op].cost) {
  case COST_DIV: case COST_MOD: return 3 * multiply;
  case COST_FUNC: return 12 * multiply;
  case COST_LIBM: return 20 * multiply;
  default: return 1.5;
  }
}

/* Notes how late an op of an iteration ends: `at` is m->read, where only what waits for a variable counts, or m->made. Returns
 * the cycles; 0: the op waits for no variable. */
static double follow(const Timer *m, RefMap *at, Ref r, const Node *x) {
  double late = 0;
  bool counts = at == &m->made || x->op == OP_GET;
  for (int k = x->op == OP_SET ? 1 : 0; k < x->nsrc; k++) {
    const uint32_t tenths = refmap_get(at, x->src[k]);
    counts |= tenths > 0;
    if (tenths) late = fmax(late, (tenths - 1) / 10.0);
  }
  if (!counts || is_index(x)) return 0;
  late += latency_of(m, x);
  refmap_set(at, r, (Ref)(1 + 10 * late));
  return late;
}

static void forget(RefMap *m) {
  refmap_free(m);
  *m = (RefMap){ 0 };
}

/* ---- registers ---- */
static bool takes_register(const Node *x) {
  switch ((Op)x->op) {
  case OP_SET: case OP_GET: case OP_ACC: case OP_CONST: case OP_RANGE: case OP_LOOP: case OP_END: case OP_BUFFER: case OP_STORE:
  case OP_PREFETCH: case OP_TILES: return false;
  default: return !is_index(x);
  }
}

/* Vectors that wait for a reader need registers. If there are too few, some are spilled. */
static void find_spilled(Timer *m, const Refs *prog, const Walks *w) {
  const double regs = m->t->vector_regs ? m->t->vector_regs : INFINITY;
  RefMap last = { 0 };                    /* 1 + place of the last reader */
  double *ends = calloc(prog->n + 1, sizeof *ends), live = 0, most = regs; /* ends: vectors with their last reader here */
  CHECK(ends != NULL);
  for (size_t i = 0; i < prog->n; i++)
    for (int k = 0; k < node(m->ir, prog->p[i])->nsrc; k++) refmap_set(&last, node(m->ir, prog->p[i])->src[k], (Ref)i + 1);
  for (size_t i = 0; i < prog->n; i++) {
    const Node *x = node(m->ir, prog->p[i]);
    const uint32_t until = refmap_get(&last, prog->p[i]);
    live -= ends[i];
    most = fmax(regs, i && w->loop_of[i] != w->loop_of[i - 1] ? live : fmin(most, live));
    if (!until || !takes_register(x)) continue;
    live += vectors(m, x);
    ends[until - 1] += vectors(m, x);
    if (live > most) m->issue.p[w->loop_of[i]].spilled += live - most, most = live;
  }
  free(ends);
  refmap_free(&last);
}

/* ---- the time of arithmetic ---- */
static void read_issue(Timer *m, const Refs *prog, const Walks *w) {
  for (size_t i = 0; i < w->loops.n; i++) VEC_PUSH(&m->issue, ((Issue){ .all = i ? 2 : 0 })); /* a counter, and a jump */
  for (size_t i = 0; i < prog->n; i++) {
    const Ref r = prog->p[i];
    const Node *x = node(m->ir, r);
    Issue *s = &m->issue.p[w->loop_of[i]];
    if (x->op == OP_LOOP || x->op == OP_END) {
      forget(&m->read);
      forget(&m->made);
      continue;
    }
    count_op(m, x, s);
    const double late = follow(m, &m->read, r, x);
    s->path = fmax(s->path, follow(m, &m->made, r, x));
    if (x->op != OP_SET) continue;
    s->chain = fmax(s->chain, late);
    s->sums += vectors(m, node(m->ir, set_value(x)));
  }
  forget(&m->read);
  forget(&m->made);
  find_spilled(m, prog, w);
}

static double whole_ports(double rate, double width) { return fmax(1, round(rate / width)); }

static double body_cycles(const Timer *m, const Issue *s) {
  const double *f = m->f->at, multipliers = fmax(0.25, f[FACT_FMA] / m->lanes);
  const double waits[] = { s->multiply / multipliers,
                           s->vector / (1.5 * multipliers),
                           (s->load + s->spilled) / whole_ports(f[FACT_L1_READ], m->bytes),
                           (s->store + s->spilled) / whole_ports(f[FACT_L1_WRITE], m->bytes),
                           s->move * m->lanes / f[FACT_SHUFFLE],
                           s->divide / f[FACT_DIVIDE],
                           s->matrix,
                           (s->all + 2 * s->spilled) / WIDTH,
                           s->path * fmin(1, s->all / WINDOW) }; /* so many iterations are under way at a time */
  double most = 0;
  for (size_t i = 0; i < sizeof waits / sizeof *waits; i++) most = fmax(most, waits[i]);
  most += m->t->vector_regs ? SPILLED_SUM * fmax(0, s->sums + 2 - m->t->vector_regs) : 0;
  return fmax(most, s->chain);
}

static double issue_cycles(const Timer *m, const Walks *w) {
  double sum = 0;
  for (size_t i = 0; i < w->loops.n; i++) {
    double times = 1;
    for (int l = (int)i; l > 0; l = w->loops.p[l].parent) times *= w->loops.p[l].trips;
    sum += times * body_cycles(m, &m->issue.p[i]);
  }
  return sum;
}

/* ---- the time of memory ---- */
static double walk_cycles(const Timer *m, const Walks *w, const Walk *x, double since) {
  static const Fact size[] = { FACT_L1, FACT_L2, FACT_L3 }, read[] = { FACT_L2_READ, FACT_L3_READ, FACT_MEMORY_READ },
                    write[] = { FACT_L2_WRITE, FACT_L3_WRITE, FACT_MEMORY_WRITE };
  double beyond[CACHE_LEVELS + 1] = { 0 }, cycles = 0; /* bytes from beyond each level */
  for (int k = 0; k < CACHE_LEVELS; k++) {
    const double bytes = STAYS[k] * 1024 * m->f->at[size[k]], missed = walk_missed(m->ir, w, x, bytes, since <= bytes);
    beyond[k] = k ? fmin(missed, beyond[k - 1]) : missed;
  }
  for (int k = 0; k < CACHE_LEVELS; k++) cycles += (beyond[k] - beyond[k + 1]) / m->f->at[x->store ? write[k] : read[k]];
  return cycles;
}

static double memory_cycles_of(const Timer *m, const Walks *w, int outer, const Residence *r) {
  double cycles = 0;
  for (size_t i = 0; i < w->list.n; i++)
    if (walk_outermost(w, w->list.p[i].loop) == outer)
      cycles += walk_cycles(m, w, &w->list.p[i], r->since(r->arg, w->list.p[i].buf));
  for (size_t i = 0; i < w->list.n; i++) /* after all of them: a loop does not find what it touches itself */
    if (walk_outermost(w, w->list.p[i].loop) == outer)
      r->touch(r->arg, w->list.p[i].buf, walk_bytes(m->ir, w, &w->list.p[i], outer, false));
  return cycles;
}

ProgramTime program_time(const IR *ir, const Refs *prog, const Target *t, const CpuFacts *f, const Residence *r) {
  const double bytes = t->vector_bytes ? t->vector_bytes : 4;
  Timer m = { .ir = ir, .t = t, .f = f, .lanes = bytes / 4, .bytes = bytes };
  ProgramTime time = { 0 };
  Walks w;
  walks_read(ir, prog, &w);
  read_issue(&m, prog, &w);
  time.issue = issue_cycles(&m, &w);
  for (size_t i = 0; i < w.loops.n; i++)
    if (!i || !w.loops.p[i].parent) time.memory += memory_cycles_of(&m, &w, (int)i, r);
  time.total = fmax(time.issue, time.memory) + LEFT_OVER * fmin(time.issue, time.memory);
  VEC_FREE(&m.issue);
  walks_free(&w);
  return time;
}

/* SPDX-License-Identifier: MIT */
/* issue.c: what the ops of each loop issue to the ports of a core, and how long each op takes.
 *
 * needs: a program, its loops    gives: micro-ops and vectors per iteration    breaks: nothing */
#include "issue.h"
#include <math.h>

static double vectors(const Timer *m, const Node *x) {
  return fmax(1, ceil(m->t->vector_bytes ? (double)x->lanes * dt_bytes((DType)x->dt) / m->t->vector_bytes : 1));
}

/* ---- what an op issues ---- */
/* Whether the greater or lesser of two floats has to be NaN where the first one is. With a constant as the second one, an
 * instruction of the machine does so. Otherwise a comparison and a choice follow it, and for scalars jumps. */
static bool tests_nan(Op op, DType d) { return (op == OP_MAX || op == OP_MIN) && dt_float(d); }

static bool max_tests_nan(const IR *ir, const Node *x) {
  return tests_nan((Op)x->op, (DType)x->dt) && !node_is_const(ir, rhs(x), NULL);
}

static double max_ops(bool with_nan) { return with_nan ? 3 : 1; }
static double max_latency(const Timer *m, bool with_nan) {
  return with_nan ? m->f->at[FACT_LATENCY] + 2 : m->f->at[FACT_ADD_LATENCY];
}

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

/* A scalar quotient takes as long as some in a vector. */
static double lanes_at_once(const Timer *m, const Node *x, double packed) {
  return x->lanes > 1 ? (double)x->lanes : packed > 1 ? packed : m->lanes / 4;
}

/* The row of functions.h, for this target; multiply 0: it is a function of the C library */
FunctionCost function_cost(const Timer *m, const Node *x) {
  static const FunctionCost rows[OP_COUNT] = {
#define FUNCTION(op, multiply, other, divide, path, scaled) [OP_##op] = { multiply, other, divide, path, scaled },
#include "functions.h"
#undef FUNCTION
  };
  static const FunctionCost by_lookup[OP_COUNT] = {
#define FUNCTION(...)
#define BY_LOOKUP(op, multiply, other, lookups, path) [OP_##op] = { multiply, other, 0, path, false, lookups },
#include "functions.h"
#undef BY_LOOKUP
#undef FUNCTION
  };
  if (by_lookup[x->op].multiply && target_looks_up(m->t, (DType)x->dt, x->lanes)) return by_lookup[x->op];
  FunctionCost c = x->dt == DT_F32 ? rows[x->op] : (FunctionCost){ 0 };
  if (c.scaled && !target_scales(m->t, DT_F32, x->lanes)) c.multiply += 2, c.other += 4, c.path++;
  return c;
}

static void count_function(const Timer *m, const Node *x, Issue *s, double packed) {
  const FunctionCost c = function_cost(m, x);
  const double n = vectors(m, x);
  s->at[PORT_MULTIPLY] += c.multiply * n;
  s->at[PORT_VECTOR] += (c.multiply + c.other + c.lookups) * n;
  s->at[PORT_MOVE] += c.lookups * n;
  s->at[PORT_DIVIDE] += c.divide * lanes_at_once(m, x, packed);
  if (!c.multiply) s->at[PORT_VECTOR] += tunable(m->ir->ctx, predict_library) * (double)x->lanes;
}

static void count_arithmetic(const Timer *m, const Node *x, Issue *s, double packed) {
  const double n = vectors(m, x);
  switch (op_info[x->op].cost) {
  case COST_NONE: return;
  case COST_DIV: case COST_MOD: s->at[PORT_DIVIDE] += lanes_at_once(m, x, packed); return;
  case COST_LIBM: s->at[PORT_VECTOR] += tunable(m->ir->ctx, predict_library) * (double)x->lanes; return;
  case COST_FUNC: count_function(m, x, s, packed); return;
  default: break;
  }
  if (is_compare(x)) s->at[PORT_VECTOR] += vectors(m, node(m->ir, lhs(x)));
  else s->at[PORT_VECTOR] += x->op == OP_CAST ? fmax(n, vectors(m, node(m->ir, operand(x)))) : n;
}

/* Lane k of an OP_VEC, if it is a lane of the same vector as the lane before it or behind it; else NULL */
static const Node *lane_beside(const IR *ir, const Node *x, int k) {
  const Node *lane = node(ir, x->src[k]);
  for (int i = k - 1; lane->op == OP_LANE && i <= k + 1; i += 2) {
    const Node *other = i >= 0 && i < x->nsrc ? node(ir, x->src[i]) : NULL;
    if (other && other->op == OP_LANE && operand(other) == operand(lane)) return lane;
  }
  return NULL;
}

/* Moves that build a vector: lanes of one vector move together, and constants are there already. */
static double pieces(const IR *ir, const Node *x) {
  double sum = 0;
  Ref last = 0;
  for (int k = 0; k < x->nsrc; k++) {
    const Node *lane = lane_beside(ir, x, k);
    if (!(lane && operand(lane) == last)) sum += node(ir, x->src[k])->op != OP_CONST;
    last = lane ? operand(lane) : 0;
  }
  return fmax(1, sum - 1);
}

/* Vectors that an op moves between lanes. One that is loaded into all lanes is not moved. */
static double moves(const Timer *m, Ref r, const Node *x) {
  switch ((Op)x->op) {
  case OP_VEC: return pieces(m->ir, x);
  case OP_HRED: return log2(node(m->ir, operand(x))->lanes);
  case OP_LANE: return !refmap_get(&m->carried, r);
  case OP_SHUFFLE: case OP_LOOKUP: return vectors(m, x);
  case OP_BCAST: return node(m->ir, operand(x))->op != OP_CONST && node(m->ir, operand(x))->op != OP_LOAD;
  default: return 0;
  }
}

static void count_memory(const Timer *m, const Node *x, Issue *s) {
  const double n = vectors(m, x);
  switch ((Op)x->op) {
  case OP_LOAD:
    s->at[PORT_LOAD] += n;
    s->at[PORT_START] += n / 2; /* half of the loads are operands of arithmetic */
    s->at[PORT_VECTOR] += load_gate(x) ? n : 0;
    break;
  case OP_TILE: s->at[PORT_LOAD] += (double)tile_rows(x); break;
  case OP_PART: case OP_PREFETCH: s->at[PORT_LOAD]++, s->at[PORT_START]++; break;
  case OP_SPILL: s->at[PORT_STORE] += n; break;
  default: s->at[PORT_STORE] += vectors(m, node(m->ir, store_value(x))), s->at[PORT_START]++;
  }
}

static void count_op(const Timer *m, Ref r, Issue *s, double packed) {
  const Node *x = node(m->ir, r);
  const double before = s->at[PORT_VECTOR], moved = moves(m, r, x);
  switch ((Op)x->op) {
  case OP_LOAD: case OP_STORE: case OP_TILE: case OP_PART: case OP_SPILL: case OP_PREFETCH: count_memory(m, x, s); break;
  case OP_ACC: case OP_GET: case OP_SET: case OP_TILES: case OP_BCAST: case OP_VEC: case OP_LANE: break;
  case OP_SHUFFLE: case OP_LOOKUP: break;
  case OP_HRED: s->at[PORT_VECTOR] += moved * max_ops(tests_nan(hred_op(x), (DType)x->dt)); break;
  case OP_MAX: case OP_MIN:
    if (!is_index(x)) s->at[PORT_VECTOR] += vectors(m, x) * max_ops(max_tests_nan(m->ir, x));
    break;
  case OP_MULACC: case OP_MUL: case OP_DOT:
    if (!is_index(x)) s->at[PORT_MULTIPLY] += vectors(m, x), s->at[PORT_VECTOR] += vectors(m, x);
    break;
  case OP_SCALB: s->at[PORT_VECTOR] += 2 * vectors(m, x); break;
  case OP_MMA: s->at[PORT_MATRIX] += (double)mma_rows(x); break;
  default:
    if (!is_index(x)) count_arithmetic(m, x, s, packed);
  }
  s->at[PORT_START] += is_index(x) ? index_ops(m->ir, x) : 0;
  s->at[PORT_MOVE] += moved;
  s->at[PORT_VECTOR] += moved;
  s->at[PORT_START] += s->at[PORT_VECTOR] - before;
}

/* ---- latencies ---- */
/* Half of the lanes move, and meet the others, until one lane is left. */
static double combine_latency(const Timer *m, const Node *x) {
  const double nan = tests_nan(hred_op(x), (DType)x->dt) ? m->f->at[FACT_LATENCY] : 0;
  return (1.5 * m->f->at[FACT_LATENCY] + nan) * log2(node(m->ir, operand(x))->lanes);
}

double latency_of(const Timer *m, Ref r, const Node *x, double packed) {
  const double multiply = m->f->at[FACT_LATENCY];
  if (packed > 1 && refmap_get(&m->summed, r)) return packed * m->f->at[FACT_ADD_LATENCY];
  switch ((Op)x->op) {
  case OP_GET: case OP_SET: case OP_ACC: case OP_CONST: case OP_BUFFER: case OP_RANGE: case OP_STORE: return 0;
  case OP_HRED: return combine_latency(m, x);
  case OP_MULACC: case OP_MUL: case OP_DOT: case OP_SHUFFLE: case OP_LOOKUP: case OP_VEC: case OP_LANE: return multiply;
  case OP_MAX: case OP_MIN: return max_latency(m, max_tests_nan(m->ir, x));
  case OP_ADD: case OP_SUB: return m->f->at[FACT_ADD_LATENCY];
  case OP_LOAD: return multiply + 3;
  case OP_BCAST: return node(m->ir, operand(x))->op == OP_LOAD ? 0 : 2;
  default: break;
  }
  switch (op_info[x->op].cost) {
  case COST_DIV: case COST_MOD: return 3 * multiply;
  case COST_FUNC: return multiply * (function_cost(m, x).path > 0 ? function_cost(m, x).path : 20);
  case COST_LIBM: return 20 * multiply;
  default: return 2;
  }
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
static void find_spilled(Timer *m) {
  const Refs *prog = m->prog;
  const int *loop_of = m->w->loop_of;
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
    most = fmax(regs, i && loop_of[i] != loop_of[i - 1] ? live : fmin(most, live));
    if (!until || !takes_register(x)) continue;
    live += vectors(m, x);
    ends[until - 1] += vectors(m, x);
    if (live > most) m->loop.p[loop_of[i]].spilled += live - most, most = live;
  }
  free(ends);
  refmap_free(&last);
}

/* Elements of a vector are taken out of it, and added one after another. */
static void count_in_order(Issue *s, double elements) {
  s->at[PORT_VECTOR] += 1.75 * elements;
  s->at[PORT_MOVE] += 0.75 * elements;
  s->at[PORT_START] += 1.75 * elements;
}

/* gcc keeps vectors of 8 bytes in the first half of 32 registers. */
static void count_sum(const Timer *m, LoopTime *l, const Node *x) {
  const Node *sum = node(m->ir, set_value(x));
  const int bytes = (int)sum->lanes * dt_bytes((DType)sum->dt), regs = m->t->vector_regs;
  l->sums += sum->lanes > 1 && bytes < 16 && regs > 16 ? regs / 16.0 : vectors(m, sum);
}

static void read_carried(Timer *m) {
  for (size_t i = 0; i < m->prog->n; i++) {
    const Node *x = node(m->ir, m->prog->p[i]);
    for (int k = 0; x->op == OP_VEC && k < x->nsrc; k++)
      if (lane_beside(m->ir, x, k)) refmap_set(&m->carried, x->src[k], 1);
  }
}

void issue_read(Timer *m) {
  read_carried(m);
  for (size_t i = 0; i < m->loop.n; i++) m->loop.p[i].issue.at[PORT_START] = i ? 2 : 0; /* a counter, and a jump */
  for (size_t i = 0; i < m->prog->n; i++) {
    const Node *x = node(m->ir, m->prog->p[i]);
    LoopTime *l = &m->loop.p[m->w->loop_of[i]];
    if (x->op == OP_LOOP || x->op == OP_END) continue;
    const double before = l->issue.at[PORT_START];
    count_op(m, m->prog->p[i], &l->issue, l->packed);
    if (l->packed > 1 && refmap_get(&m->summed, m->prog->p[i])) count_in_order(&l->issue, l->packed);
    m->starts[i] = l->issue.at[PORT_START] - before;
    l->branches += l->packed <= 1 && x->lanes == 1 && max_tests_nan(m->ir, x);
    if (x->op == OP_SET) count_sum(m, l, x);
  }
  find_spilled(m);
  for (size_t i = 0; i < m->loop.n; i++) {
    LoopTime *l = &m->loop.p[i];
    if (m->t->vector_regs) l->stored += fmax(0, l->sums + 2 - m->t->vector_regs);
    l->issue.at[PORT_LOAD] += l->spilled;
    l->issue.at[PORT_STORE] += l->spilled;
    l->issue.at[PORT_START] += 2 * l->spilled;
  }
}

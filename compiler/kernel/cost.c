/* cost.c: what a register tile of a nest costs, by an analytic model of one core.
 *
 * Per innermost step it counts arithmetic instructions, loads after sharing between the copies of the tile and the
 * terms of a window, and the latency of the accumulators; the slowest of the three is the cost. What comes from further
 * away, short loops and ranges that a tile does not divide are paid for on top. Two memory ports, two arithmetic ports
 * and a latency of four cycles describe every out-of-order core of the last ten years well enough to rank tiles.
 *
 * The other numbers are no facts of a machine. They were set so that the model ranks tiles as they were timed: products,
 * convolutions, windows, sums of rows and transpositions, one at a time and in networks, on one core of a Zen 4 with
 * AVX-512 and of a machine with AVX2. They rank; `tgc tune` measures. */
#include "../ir/refmap.h"
#include "cost.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- instructions, in the time of a multiply-add or a load ---- */
enum { QUOTIENT = 4 };       /* a division, a reciprocal or a root */
enum { FUNCTION = 20 };      /* one of decomp.c: 23 to 124 nodes with constants and integers, as tests/unit/decomp prints */
enum { ONE_BY_ONE = 3 };     /* for each lane of a vector that is put together, or stored, element by element */
enum { GATED = 3 };          /* a load with a gate, which is a mask or a branch */
enum { SHUFFLE = 2, ROW_STORE = 2 }; /* a shuffle; a store of a row */
enum { COMBINE = 10 };       /* for each lane that is added up at the end of a reduction */

/* ---- caches: bytes, and parts of a level ---- */
enum { LINE = 64, SETS = 64, WAYS_LEFT = 4 }; /* of the first level; half of its ways, the rest is for what streams by */
enum { APART = 1024, STREAMS = 20 }; /* places so far apart are streams of their own; so many a prefetcher follows */
static const double STAYS = 0.7;     /* what is walked again and takes more of a level is lost before it is needed */
static const double PANEL_STAYS = 0.6; /* the same for a panel of weights in the first level */
static const double CROWDS = 0.5;    /* and for what shares the first level with panels of both operands */

/* ---- cycles ---- */
static const double L2_RATE = 40, L3_RATE = 10; /* bytes a cycle, measured on a core of a Zen 4 */
static const double FROM_L2 = 1, BEYOND_L2 = 2; /* for a vector of weights; */
static const double NOT_HIDDEN = 0.3;           /* and the part of it that other work does not hide */
static const double LOST = 4;        /* times as long takes what comes in more streams than a prefetcher follows */
static const double EVICTED = 4;     /* for each line of a set that more share than it has room for */
static const double TURN = 0.5, BEGIN = 4; /* of a loop: each time round, and to begin, as far as other work does not hide it */
static const double STRAIGHT = 1.05; /* times a chain of terms without a loop around: the next copy stands behind it */
static const double FETCHED = 0.02;  /* part of a nest's time for each body more, which is code to fetch */
static const double ACROSS = 1.2;    /* times the terms take when lanes run along the reduction */

enum { SPREAD = 4 };         /* registers of what is spread */
enum { LEAST_WALKS = 8 };    /* of a panel that is copied */
enum { SHARED_CYCLES = 9000, FEW_TILES = 16 }; /* of a nest that threads share; so few that its threads may wait for one */

/* Lanes that count groups and what is in them read what groups have in common: quotients of the range. */
static void find_runs(const Model *m, Access *a, Ref index, int i) {
  Stairs s;
  int64_t by;
  Ref rest;
  index = stairs_open(m->ir, index, &s);
  for (int k = 0; k < s.n; k++) {
    const Node *x = node(m->ir, s.stair[k]);
    if (s.range[k] != m->range[i] || x->src[0] != m->range[i] || !node_is_const(m->ir, x->src[1], &by)) continue;
    if (!ix_split(m->ir, index, s.step[k], &a->step[i], &rest) || ix_uses(m->ir, rest, m->range[i])) continue;
    a->run[i] = by;
  }
}

void model_access(Model *m, Ref r, Ref index, Ref buffer, bool hot, double times, int group) {
  IR *ir = m->ir;
  const Buf *b = &ir->bufs.p[node(ir, buffer)->arg[0]];
  Access a = { .ref = r, .hot = hot, .times = times, .weight = b->kind == BUF_WEIGHT, .group = group };
  a.bytes = group * dt_bytes(b->dt);
  a.store = node(ir, r)->op == OP_STORE;
  a.gated = node(ir, r)->op == OP_LOAD && node(ir, r)->nsrc == 4 && !a.weight; /* a weight's gate is decided by packing */
  for (int i = 0; i < m->n; i++) {
    Ref rest;
    a.depends[i] = ix_uses(ir, index, m->range[i]) || (a.gated && ix_uses(ir, node(ir, r)->src[2], m->range[i]));
    a.affine[i] = ix_split(ir, index, m->range[i], &a.coef[i], &rest) &&
                  !(a.gated && ix_uses(ir, node(ir, r)->src[2], m->range[i]));
    if (!a.affine[i] && !a.gated) find_runs(m, &a, index, i);
  }
  VEC_PUSH(&m->access, a);
}

/* Values of a * i + b * j for i < n, j < k. */
static double sums(int64_t a, int64_t n, int64_t b, int64_t k) {
  if (llabs(a) < llabs(b)) return sums(b, k, a, n);
  int64_t times = b ? llabs(a / b) : k;
  return (double)(b && a % b == 0 && times < k ? times * (n - 1) + k : n * k);
}

/* Elements that an access reads for n[i] values of each range i: what lies under one term of a window lies under
 * another a step further on. Of range `apart`, if any, they count vectors, which do not overlap. */
static double elements(const Model *m, const Access *a, const int64_t *n, int apart) {
  double all = 1;
  uint32_t met = 0;
  for (int i = m->n - 1; i >= 0; i--) {
    const int j = a->along[i];
    if (!a->depends[i] || met >> i & 1) continue;
    if (a->run[i] && i != apart) all *= ceil((double)n[i] / (double)a->run[i]);
    else if (j < 0 || j == apart || met >> j & 1) all *= (double)n[i];
    else all *= sums(a->coef[i], n[i], a->coef[j], n[j]), met |= 1u << j;
  }
  return all;
}

/* Which ranges of the reduction are windows, and what of it all that an access reads is. */
static void find_windows(const Model *m, Access *a) {
  double times = 1;
  for (int i = 0; i < m->n; i++) {
    a->along[i] = -1;
    if (a->depends[i]) times *= (double)m->extent[i];
    for (int j = 0; j < m->nout && i >= m->nout && !a->weight && a->depends[i] && a->affine[i]; j++)
      if (a->depends[j] && a->affine[j] &&
          sums(a->coef[i], m->extent[i], a->coef[j], m->extent[j]) < (double)(m->extent[i] * m->extent[j]))
        a->along[i] = j;
  }
  a->elements = elements(m, a, m->extent, -1);
  a->reuse = times / a->elements;
}

static double red_terms(const IR *ir, const Node *red) {
  double n = 1;
  for (int k = 1; k < red->nsrc; k++) n *= (double)node(ir, red->src[k])->arg[0];
  return n;
}

/* The reduction that costs most: its loop is the hot one. */
static Ref main_reduction(const IR *ir, const Refs *all) {
  Ref best = 0;
  for (size_t i = 0; i < all->n; i++) {
    const Node *x = node(ir, all->p[i]);
    if (x->op == OP_RED && (!best || red_terms(ir, x) > red_terms(ir, node(ir, best)))) best = all->p[i];
  }
  return best;
}

int instruction_cost(const Node *x) {
  switch ((Op)x->op) {
  case OP_DIV: case OP_SQRT: case OP_RECIP: return QUOTIENT;
  case OP_EXP: case OP_EXP2: case OP_LOG: case OP_LOG2: case OP_POW: case OP_TANH: case OP_ERF: case OP_SIN: case OP_COS:
    return FUNCTION;
  case OP_CONST: case OP_RANGE: case OP_BUFFER: case OP_LOAD: case OP_STORE: case OP_RED: return 0;
  default: return 1;
  }
}

/* Bytes of the widest of what is loaded below r, but for what indices and conditions are made of, which lanes often share: 64
 * bits are data there, too. */
int widest_datum(const IR *ir, Ref r) {
  Refs all = { 0 };
  RefMap datum = { 0 };
  int widest = 1;
  ir_toposort(ir, &r, 1, &all);
  refmap_set(&datum, r, r);
  for (size_t i = all.n; i-- > 0;) {
    const Node *x = node(ir, all.p[i]);
    if (!refmap_get(&datum, all.p[i])) continue;
    if (x->op == OP_LOAD && dt_bytes((DType)x->dt) > widest) widest = dt_bytes((DType)x->dt);
    for (int k = 0; k < x->nsrc; k++) {
      const bool aside = x->op == OP_LOAD ? k == 1 || k == 2 : x->op == OP_STORE ? k == 1 || k == 3 : x->op == OP_WHERE && k == 0;
      if (!aside) refmap_set(&datum, x->src[k], x->src[k]);
    }
  }
  refmap_free(&datum);
  VEC_FREE(&all);
  return widest;
}

void model_build(Model *m, IR *ir, const Nest *n, const Target *t) {
  Refs all = { 0 }, body = { 0 };
  memset(m, 0, sizeof *m);
  m->ir = ir;
  m->t = t;
  ir_toposort(ir, &n->store, 1, &all);
  m->red = main_reduction(ir, &all);
  m->ordered = m->red && keeps_order(ir, m->red, t);
  for (int k = 0; k < n->n; k++)
    if (node(ir, n->ranges[k])->arg[2] != RK_THREAD && node(ir, n->ranges[k])->arg[2] != RK_SERIAL)
      m->range[m->n++] = n->ranges[k];
  m->nout = m->n;
  m->steps = m->group = 1;
  if (m->red) {
    const Node *x = node(ir, m->red);
    for (int k = 1; k < x->nsrc && m->n < MAX_RANGES; k++) {
      const Node *r = node(ir, x->src[k]);
      if (r->arg[2] == RK_DOT) m->group = (int)r->arg[0];
      else m->range[m->n++] = x->src[k];
    }
    m->steps = red_terms(ir, x) / m->group;
  }
  for (int i = 0; i < m->nout; i++) {
    m->varies[i] = !m->red || ix_uses(ir, m->red, m->range[i]);
    if (!m->varies[i]) m->steps /= (double)node(ir, m->range[i])->arg[0];
  }
  for (int i = 0; i < m->n; i++) m->extent[i] = node(ir, m->range[i])->arg[0];
  for (int i = 0; i < m->nout; i++) m->selects[i] = range_selects(ir, n->store, m->range[i]);
  Ref hot = m->red ? node(ir, m->red)->src[0] : n->store;
  ir_toposort(ir, &hot, 1, &body);
  m->widest = widest_datum(ir, hot);
  for (size_t i = 0; i < all.n; i++) {
    const Node *x = node(ir, all.p[i]);
    bool in_body = false;
    for (size_t j = 0; j < body.n && !in_body; j++) in_body = body.p[j] == all.p[i];
    double times = in_body ? 1 : 1 / m->steps;
    if (x->op == OP_LOAD || x->op == OP_STORE)
      model_access(m, all.p[i], x->src[1], x->src[0], m->red && in_body, times, in_body ? m->group : 1);
    if (in_body && m->group > 1) continue; /* one instruction for all of it */
    if (x->dt != DT_I64 && x->dt != DT_NONE && x->dt != DT_BOOL) *(in_body ? &m->ops : &m->cold) += times * instruction_cost(x);
    if (x->op == OP_LOAD && x->dt != DT_I64 && dt_bytes((DType)x->dt) > m->widest) m->widest = dt_bytes((DType)x->dt);
    if (x->op == OP_CAST && x->dt != DT_I64 && dt_bytes((DType)x->dt) > m->widest) m->widest = dt_bytes((DType)x->dt);
  }
  for (size_t i = 0; i < m->access.n; i++) find_windows(m, &m->access.p[i]);
  if (m->ops + m->cold < 1) m->ops = 1 - m->cold;
  VEC_FREE(&all);
  VEC_FREE(&body);
}

void model_free(Model *m) { VEC_FREE(&m->access); }

/* Instructions for a vector whose lanes lie a stride apart, when a tile has so many of them an element apart (0: it does
 * not count): see shuffle.c. */
static double strip_cost(const Access *a, int64_t stride, int lanes, int64_t beside) {
  const double apart = (double)ONE_BY_ONE * lanes * a->group;
  if (!beside || a->group > 1 || a->gated || stride < 2) return apart;
  if (shuffle_picks(stride, lanes, beside, a->store))
    return (beside < stride ? (double)stride / (double)beside : 1) + SHUFFLE * (double)(stride - 1);
  const int row = shuffle_row(a->bytes, lanes, beside);
  if (row < 2) return apart;
  const double rows = lanes * ((a->store ? ROW_STORE : 1) + 1 - (double)row / lanes), blocks = (double)((beside + row - 1) / row);
  return blocks * (rows + SHUFFLE * row * log2(row)) / (double)beside;
}

/* Instructions that fetch or store one access of a vector body; beside: as in strip_cost. */
static double vector_cost(const Access *a, int v, int lanes, int64_t beside) {
  if (v < 0 || !a->depends[v]) return 1;               /* scalar, broadcast on the way */
  if (a->weight) return 1;                             /* packed */
  if (a->affine[v] && a->coef[v] == a->group) return 1;
  return strip_cost(a, a->affine[v] ? a->coef[v] : 0, lanes, beside);
}

double access_cost(const Access *a, int v, int lanes) { return vector_cost(a, v, lanes, 0); }

static int64_t width(const Tile *t, int i) {
  return (int64_t)(i == t->v ? t->lanes : 1) * (i == t->p ? t->up : i == t->q ? t->uq : 1);
}

/* Bytes of an operand that one tile walks before it moves on: its panel. */
static double panel_bytes(const Model *m, const Access *a, const Tile *t) {
  int64_t n[MAX_RANGES];
  for (int i = 0; i < m->n; i++) n[i] = i < m->nout ? width(t, i) : m->extent[i];
  return elements(m, a, n, -1) * a->bytes;
}

static double whole_bytes(const Access *a) { return a->elements * a->bytes; }

/* How often the nest's loops come back to a panel. */
static double panel_walks(const Model *m, const Access *a, const Tile *t) {
  double walks = 1;
  for (int i = 0; i < m->nout; i++)
    if (!a->depends[i]) walks *= ceil((double)m->extent[i] / (double)width(t, i));
  return walks;
}

static bool walked_again(const Model *m, const Access *a) {
  return panel_walks(m, a, &(Tile){ -1, 1, -1, -1, 1, 1, false, 0, 1, false }) > 1;
}

bool model_spreads(const Model *m, int v) {
  bool any = false;
  for (size_t i = 0; i < m->access.n && v >= 0; i++) any |= m->access.p[i].hot && !m->access.p[i].weight && m->access.p[i].run[v];
  return any;
}

/* Whether the range in lanes is walked outermost: weights along it that crowd the first level of cache are read once
 * then, and where it is the other operand that has the lanes, its panel stays near while all weights pass by. Where the
 * other is spread over lanes, it is for weights only that crowd the second level, too: what they are multiplied by would lie
 * apart. Never a range that the reduction does not depend on: all of it would be reduced again for each vector. */
bool walks_outermost(const Model *m, int v) {
  bool outer = false, beside = false, far = false;
  if (v < 0 || v >= m->nout || (m->red && !m->varies[v])) return false;
  for (size_t i = 0; i < m->access.n; i++) {
    const Access *a = &m->access.p[i];
    double bytes = whole_bytes(a);
    if (a->weight && a->depends[v]) outer |= bytes > (model_spreads(m, v) ? STAYS * m->t->l2_bytes : CROWDS * m->t->l1_bytes);
    else if (a->hot && a->weight) beside |= bytes < STAYS * m->t->l2_bytes;
    else if (a->hot && a->depends[v]) far |= bytes > STAYS * m->t->l1_bytes && walked_again(m, a);
  }
  return outer || (beside && far);
}

/* How often an element that was brought near is read there: by all terms of the windows that it lies in, unless what is
 * read until a window has moved on crowds the first level of cache; then by those of the tile. */
static double reuse(const Model *m, const Access *a, const Tile *t) {
  double times = a->reuse;
  for (int w = m->nout; w < m->n; w++) {
    const int j = a->along[w];
    int64_t n[MAX_RANGES];
    if (!a->depends[w] || j < 0) continue;
    for (int i = 0; i < m->n; i++) n[i] = i >= m->nout || (i > j && !(t->outer && i == t->v)) ? m->extent[i] : width(t, i);
    if (elements(m, a, n, -1) * a->bytes < CROWDS * m->t->l1_bytes) continue;
    times *= sums(a->coef[j], m->extent[j], a->coef[w], m->extent[w]) /
             (ceil((double)m->extent[j] / (double)n[j]) * sums(a->coef[j], n[j], a->coef[w], m->extent[w]));
  }
  return times;
}

/* Cycles to bring the elements of one step from where the whole operand fits: it is walked once for
 * every tile of the other operand, unless its panels are walked outermost and fit; what windows come back to is in the second
 * level of cache. */
static double stream_cycles(const Model *m, const Access *a, const Tile *t, double copies) {
  const double bytes = whole_bytes(a), again = 1 / reuse(m, a, t) - 1 / a->reuse;
  double far = bytes < STAYS * m->t->l2_bytes ? L2_RATE : L3_RATE;
  if (a->weight || !a->hot || bytes < STAYS * m->t->l1_bytes) return 0;
  if (t->outer && a->depends[t->v] && panel_bytes(m, a, t) < STAYS * m->t->l1_bytes) far *= panel_walks(m, a, t);
  return copies * a->bytes * (1 / a->reuse / far + again / L2_RATE);
}

/* Places that a tile reads or writes in turn and that lie apart: each is a stream for the prefetcher, but where lanes are walked
 * outermost: what follows a vector in memory is then read much later. */
static double streams(const Model *m, const Access *a, const Tile *t, int up, int uq) {
  int64_t n[MAX_RANGES];
  const bool walks = t->outer && a->hot && a->affine[t->v] && a->coef[t->v] == a->group;
  if (a->weight || whole_bytes(a) < STAYS * m->t->l1_bytes || walks) return 0;
  for (int i = 0; i < m->n; i++) {
    int64_t copies = i == t->v ? 1 : i == t->p ? up : i == t->q ? uq : a->along[i] >= 0 ? m->extent[i] : 1;
    n[i] = a->affine[i] && llabs(a->coef[i]) * a->bytes >= APART ? copies : 1;
  }
  return elements(m, a, n, -1);
}

/* How often reductions read a panel before the next one is copied. */
static double copy_walks(const Model *m, const Access *a, const Tile *t) {
  double walks = 1;
  for (int i = 0; i < m->nout; i++)
    if (m->varies[i] && !a->depends[i]) walks *= ceil((double)m->extent[i] / (double)width(t, i));
  return walks;
}

/* Whether tiles read the panel of an access from a copy of it (stage.c): else each walk gathers it lane by lane. */
static bool from_copy(const Model *m, const Access *a, const Tile *t) {
  if (!m->stages || t->v < 0 || t->v >= m->nout || !a->hot || a->weight || !a->depends[t->v] || a->group > 1) return false;
  return access_cost(a, t->v, t->lanes) > 1 && panel_bytes(m, a, t) <= STAGE_BYTES && copy_walks(m, a, t) >= LEAST_WALKS;
}

/* Lanes run along elements that have one result of the reduction in common: it has lanes of its own (reduction_lanes). */
static bool in_rows(const Model *m, const Tile *t) { return t->v >= 0 && t->v < m->nout && !m->varies[t->v]; }

/* Elements that the copies of a tile access side by side; 0: shuffles would wait for the ports that multiply, or lanes run
 * along elements that share a reduction. */
static int64_t side_by_side(const Model *m, const Access *a, const Tile *t) {
  int64_t n = 1;
  if (a->hot || (m->red && (t->v < 0 || t->v >= m->nout || !m->varies[t->v]))) return 0;
  for (int i = m->n - 1; i >= 0; i--) {
    const int64_t rest = t->whole >> i & 1 || m->selects[i] ? m->extent[i] : 1;
    const int64_t copies = i == t->v ? 1 : i == t->p ? t->up : i == t->q ? t->uq : rest;
    if (copies > 1 && a->affine[i] && a->coef[i] == n) n *= copies, i = m->n;
  }
  return n;
}

bool lies_beside(const Access *a, int v, int i, int64_t n) {
  return v >= 0 && a->affine[v] && a->coef[v] > a->group && a->affine[i] && a->coef[i] == n;
}

/* Loads for a vector of which each run of lanes has an element in common, shared with those copies of the tile whose
 * elements lie beside; *shuffles: those that join what is loaded, and one to spread it. 0: there are no such vectors. */
static double spread_loads(const Model *m, const Access *a, const Tile *t, double *shuffles) {
  if (t->v < 0 || !a->run[t->v] || a->weight || a->group > 1 || t->lanes % a->run[t->v]) return 0;
  const int run = (int)a->run[t->v];
  int64_t beside = 1;
  for (int i = m->nout; i < m->n; i++)
    if (t->whole >> i & 1 && a->affine[i] && a->coef[i] == 1) beside = m->extent[i];
  const bool one = beside == run && a->step[t->v] == run; /* vector of memory */
  if (!one && (run * a->bytes < LINE / 4 || shuffle_row(a->bytes, run, beside) != beside)) return 0;
  *shuffles = 1 + (one ? 0 : (double)(t->lanes / beside - 1) / (double)beside);
  return (one ? 1 : (double)(t->lanes / run)) / (double)beside;
}

/* Instructions that fetch or store a vector; *shuffles: those that are none of memory */
static double element_cost(const Model *m, const Access *a, const Tile *t, double *shuffles) {
  double cost = t->lanes, spread = spread_loads(m, a, t, shuffles);
  if (spread > 0) return spread;
  *shuffles = 0;
  if (!a->hot) {
    cost = vector_cost(a, t->v, t->lanes, side_by_side(m, a, t));
    *shuffles = m->red ? 0 : cost - 1; /* what joins its pieces waits for the ports that compute */
    return cost * (t->v >= m->nout ? t->lanes : 1);
  }
  if (!in_rows(m, t)) return access_cost(a, t->v, t->lanes);
  for (int i = m->nout; i < m->n; i++) cost = fmin(cost, access_cost(a, i, t->lanes));
  return cost;
}

/* Elements that a copy of a panel takes from memory side by side */
static int64_t beside_in_panel(const Model *m, const Access *a) {
  int64_t beside = 0;
  for (int i = m->nout; i < m->n; i++)
    if (a->affine[i] && a->coef[i] == 1 && m->extent[i] > beside) beside = m->extent[i];
  return beside;
}

static double fetch_cost(const Model *m, const Access *a, const Tile *t, double *shuffles) {
  const double by_one = element_cost(m, a, t, shuffles) * a->pieces * (a->gated ? GATED : 1);
  if (!t->stage || !from_copy(m, a, t)) return by_one;
  return 1 + fmin(by_one, vector_cost(a, t->v, t->lanes, beside_in_panel(m, a))) / copy_walks(m, a, t);
}

/* Copies at strides that are multiples of a page fall into few sets of the first level of cache, where beyond some ways
 * they evict each other before they have moved on by a line. Vectors that are lines by themselves, of what nothing reads
 * again, do not mind. */
static double aliased(const Model *m, const Access *a, const Tile *t, int up, int uq) {
  if (!m->red && t->v >= 0 && a->affine[t->v] && a->coef[t->v] == a->group && t->lanes * a->bytes >= LINE) return 0;
  short in_set[SETS] = { 0 };
  const int range[2] = { t->p, t->q }, copies[2] = { up, uq };
  int64_t stride[2];
  int n[2];
  double cycles = 0;
  for (int k = 0; k < 2; k++) {
    bool moves = range[k] >= 0 && a->affine[range[k]] && a->coef[range[k]];
    stride[k] = moves ? llabs(a->coef[range[k]]) * a->bytes * (range[k] == t->v ? t->lanes : 1) : 0;
    n[k] = moves ? copies[k] : 1;
    if (stride[k] < LINE) { /* several in a line */
      n[k] = (int)((n[k] * stride[k] + LINE - 1) / LINE);
      stride[k] = LINE;
    }
    if (!n[k]) n[k] = 1;
  }
  if (a->weight || n[0] * n[1] <= WAYS_LEFT) return 0;
  for (int i = 0; i < n[0]; i++)
    for (int j = 0; j < n[1]; j++) in_set[(stride[0] * i + stride[1] * j) / LINE % SETS]++;
  for (int k = 0; k < SETS; k++) cycles += in_set[k] > WAYS_LEFT ? EVICTED * in_set[k] : 0;
  return cycles;
}

/* Where lanes lie so far apart that their lines share few sets of the second level of cache, a walk of all of them evicts what
 * was fetched with each, the line behind it, which the next walk wants. Measured for pictures beyond the caches: a
 * transposition of 2048 by 2048 takes 4.3 ms, in blocks of 128 lanes 2.5; one of 2000 by 2000, whose lines are in all sets,
 * gets slower. */
int lane_block(const Model *m, const Tile *t) {
  enum { BLOCK = 128, WAYS = 8, FAR = 8 }; /* FAR: times the second level */
  const int64_t sets = m->t->l2_bytes / WAYS / LINE;
  bool crowd = false;
  if (m->red || t->v < 0 || t->v != m->nout - 1) return 0; /* a nest of one element has neither */
  for (size_t i = 0; i < m->access.n; i++) {
    const Access *a = &m->access.p[i];
    int64_t apart = a->affine[t->v] ? llabs(a->coef[t->v]) * a->bytes / LINE : 0, taken = 1;
    if (a->store || !apart || a->coef[t->v] * a->bytes % LINE || whole_bytes(a) < (double)FAR * m->t->l2_bytes) continue;
    while (taken < sets && apart * taken % sets) taken *= 2;
    crowd |= m->extent[t->v] > taken * WAYS;
  }
  const int tile = (int)width(t, t->v), block = BLOCK / tile * tile;
  return crowd && block > tile && block < m->extent[t->v] ? block : 0;
}

/* Loads of one body: equal ones of its copies and terms are one. */
static double body_loads(const Model *m, const Access *a, const Tile *t, int up, int uq) {
  int64_t n[MAX_RANGES];
  for (int i = 0; i < m->n; i++) n[i] = i == t->p ? up : i == t->q ? uq : t->whole >> i & 1 ? m->extent[i] : 1;
  return elements(m, a, n, t->v);
}

/* A vector that is not at a multiple of its size often lies in two lines, and is two loads then. */
static double pieces(const Model *m, const Access *a, int v, int lanes) {
  int64_t bytes = (int64_t)lanes * a->bytes;
  if (v < 0 || a->weight || !a->depends[v] || !a->affine[v] || a->coef[v] != a->group || bytes > LINE) return 1;
  for (int i = 0; i < m->n; i++)
    if (i != v && a->depends[i] && (!a->affine[i] || a->coef[i] / a->group * a->bytes % bytes)) return 1 + (double)bytes / LINE;
  return 1;
}

void model_lanes(Model *m, int v, int lanes) {
  for (size_t i = 0; i < m->access.n; i++) m->access.p[i].pieces = pieces(m, &m->access.p[i], v, lanes);
}

/* Cycles of one hot step of a tile of up x uq copies. A panel that outgrows the first level of cache
 * comes from the second for every tile, at one vector a cycle at best. */
static double step_cycles(const Model *m, const Tile *t, int up, int uq) {
  const double steps = t->terms;
  double mem = 0, shuffles = 0, far = 0, stream = 0, apart = 0;
  double ops = (m->ops + m->cold * (t->v >= m->nout ? t->lanes : 1)) * up * uq * steps;
  double trips = 1; /* of the innermost loop that is left */
  bool loops = false;
  for (size_t i = 0; i < m->access.n; i++) {
    const Access *a = &m->access.p[i];
    double copies = (t->p >= 0 && a->depends[t->p] ? up : 1) * (t->q >= 0 && a->depends[t->q] ? uq : 1);
    bool vectors = t->v < 0 || a->depends[t->v]; /* elements are fetched by what multiplies them */
    double loads = a->hot && t->whole && vectors ? body_loads(m, a, t, up, uq) : copies * steps;
    double shuffled;
    mem += a->times * loads * fetch_cost(m, a, t, &shuffled);
    shuffles += a->times * loads * shuffled;
    stream += stream_cycles(m, a, t, copies * steps * (t->v >= 0 && (a->depends[t->v] || in_rows(m, t)) ? t->lanes : 1));
    apart += streams(m, a, t, up, uq);
    /* a row serves all terms of the body */
    mem += a->times * aliased(m, a, t, up, uq) * (a->hot && t->v >= 0 && a->run[t->v] ? 1 : steps);
    if (a->weight && a->hot && t->v >= 0 && a->depends[t->v]) {
      double panel = walked_again(m, a) ? panel_bytes(m, a, t) : whole_bytes(a);
      bool near = panel <= PANEL_STAYS * m->t->l1_bytes;
      far += copies * steps * (panel > STAYS * m->t->l2_bytes ? BEYOND_L2 : near ? 0 : FROM_L2);
    }
  }
  const bool in_turn = !m->t->vector_bytes; /* small cores begin one instruction a cycle, be it a load or a product */
  /* shuffles have a port of their own, and one of the two that multiply */
  double cycles = in_turn ? ops + mem : fmax(fmax(ops, mem) / PORTS, (ops + shuffles) / (PORTS + 1));
  if (far > cycles) cycles = far;
  /* what is spread is multiplied by much while the next of it comes */
  const bool lost = apart > STREAMS && !model_spreads(m, t->v);
  cycles += NOT_HIDDEN * far + stream * (lost ? LOST : 1);
  for (int i = m->nout; i < m->n; i++)
    if (!(t->whole >> i & 1)) loops = true, trips = (double)m->extent[i] / (i == t->v ? t->lanes : 1);
  double chain = LATENCY * steps * (loops ? 1 : STRAIGHT); /* a copy's terms wait for each other */
  if (m->red && chain > cycles) cycles = chain;
  return (cycles + TURN + (loops ? BEGIN / trips : 0)) / steps;
}

int cost_registers(const Model *m, const Tile *t) {
  int wide = t->v >= 0 && m->t->vector_bytes ? (t->lanes * m->widest + m->t->vector_bytes - 1) / m->t->vector_bytes : 1;
  if (!m->red) return wide * t->up * t->uq + 2;
  if (model_spreads(m, t->v)) { /* constants stay, and what is spread streams */
    int held = 0;
    for (size_t i = 0; i < m->access.n; i++) {
      const Access *a = &m->access.p[i];
      if (a->hot && a->weight)
        held += (t->p >= 0 && a->depends[t->p] ? t->up : 1) * (t->q >= 0 && a->depends[t->q] ? t->uq : 1) * t->terms;
    }
    return wide * (t->up * t->uq + held + SPREAD);
  }
  int operands = t->up < t->uq ? t->up : t->uq; /* the smaller side stays in registers, the other streams */
  if (t->whole) return wide * (t->up * t->uq + 2 * operands * t->terms + 1); /* and what slides along stays, too */
  return wide * (t->up * t->uq + operands + (operands == t->up * t->uq ? 0 : 1));
}

/* What waiting costs for the last of two threads that share few tiles, half as likely as not. */
static double uneven(double tiles) { return tiles < 1 || tiles > FEW_TILES ? 1 : 0.5 + ceil(tiles / 2) / tiles; }

static int64_t round_up(int64_t n, int by) { return (n + by - 1) / by * by; }

/* Cycles of the whole nest divided by steps, rests included; rests are priced by the same model at
 * their own size, in halved lanes where the vector range has a rest. */
double tile_cycles(const Model *m, Tile t) {
  double total = 0, others = 1, shares = 1; /* shares: what threads may share, which is not a row */
  int bodies = 0;
  int64_t ep = 1, eq = 1;
  int ulp = 1, ulq = 1; /* elements a copy covers along p and q */
  for (int i = 0; i < m->nout; i++)
    if (i != t.p && i != t.q && i != t.v) {
      others *= (double)m->extent[i];
      shares *= m->varies[i] ? (double)m->extent[i] : 1;
    }
  if (t.p >= 0) ep = m->extent[t.p], ulp = t.p == t.v ? t.lanes : 1;
  if (t.q >= 0) eq = m->extent[t.q], ulq = t.q == t.v ? t.lanes : 1;
  if (t.v >= 0 && t.v < m->nout && t.v != t.p && t.v != t.q) {
    others *= ceil((double)m->extent[t.v] / t.lanes);
    shares *= m->varies[t.v] ? ceil((double)m->extent[t.v] / t.lanes) : 1;
  }
  if (t.v >= m->nout) others *= ceil((double)m->extent[t.v] / t.lanes) / (double)m->extent[t.v];
  if (t.stage && t.p >= 0 && t.p != t.v) ep = round_up(ep, t.up); /* the last tile that walks a panel overlaps */
  if (t.stage && t.q >= 0 && t.q != t.v) eq = round_up(eq, t.uq);
  int64_t pn[3], qn[3];    /* tiles: full ones, a rest of whole copies, a rest of single elements */
  int pu[3] = { t.up, 0, 1 }, qu[3] = { t.uq, 0, 1 };
  pn[0] = ep / ((int64_t)ulp * t.up);
  pu[1] = (int)(ep / ulp - pn[0] * t.up);
  pn[1] = pu[1] > 0;
  pn[2] = ulp > 1 ? __builtin_popcountll((uint64_t)(ep % ulp)) : 0;
  qn[0] = eq / ((int64_t)ulq * t.uq);
  qu[1] = (int)(eq / ulq - qn[0] * t.uq);
  qn[1] = qu[1] > 0;
  qn[2] = ulq > 1 ? __builtin_popcountll((uint64_t)(eq % ulq)) : 0;
  for (int i = 0; i < 3; i++)
    for (int j = 0; j < 3; j++)
      if (pn[i] && qn[j]) {
        total += (double)pn[i] * (double)qn[j] * step_cycles(m, &t, pu[i], qu[j]);
        bodies++;
      }
  total *= 1 + FETCHED * (bodies - 1);
  /* lanes combined at the end, once a result */
  if (t.v >= m->nout && m->red) total = total * ACROSS + (double)COMBINE * t.lanes / m->steps * (double)ep * (double)eq;
  total *= others;
  return total * m->steps < SHARED_CYCLES ? total : total * uneven((double)pn[0] * (double)qn[0] * shares);
}

bool tile_copies(const Model *m, const Tile *t) {
  bool any = false;
  for (size_t i = 0; i < m->access.n; i++) any |= from_copy(m, &m->access.p[i], t);
  return any;
}

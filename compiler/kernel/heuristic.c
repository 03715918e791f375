/* heuristic.c: the schedule of a nest by an analytic model of one core.
 *
 * For every range that could run in vector lanes and every register tile of up to two ranges, the
 * model counts, per innermost step: arithmetic instructions, loads after sharing between the copies
 * of the tile, and the latency of the accumulators; the slowest of the three is the cost. Ranges
 * that a tile does not divide pay for their rest. The cheapest tile that fits the register file
 * wins. Two memory ports, two arithmetic ports and a latency of four cycles describe every
 * out-of-order core of the last ten years well enough to rank tiles. */
#include "units.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { PORTS = 2, LATENCY = 4, MAX_UNROLL = 16, MAX_COPIES = 400 };
enum { LINE = 64, SETS = 64, WAYS_LEFT = 4 }; /* of the first level of cache; half of its ways, the rest is for what streams by */
enum { LEAST_WALKS = 8 }; /* of a panel that is copied */
#define SURE 1.4             /* times better must copies of panels be, as the model does not see all that they cost */
enum { SHARED_CYCLES = 9000, FEW_TILES = 16 }; /* of a nest that threads share; so few that its threads may wait for one */

typedef struct Access {
  Ref ref;                     /* the LOAD or STORE */
  double times;                /* executions per execution of the hottest loop body: 1 for the main reduction's loads */
  bool weight;                 /* can be packed in the order it is read */
  bool gated;
  int64_t coef[MAX_RANGES];    /* by range; meaningless where !affine */
  bool depends[MAX_RANGES];
  bool affine[MAX_RANGES];
  int bytes;
  int group;                   /* elements at a time, for a unit; else 1 */
} Access;

typedef struct Model {
  IR *ir;
  const Target *t;
  int n;                       /* ranges: the nest's, then the main reduction's */
  int nout;                    /* of which the nest's */
  Ref range[MAX_RANGES];
  int64_t extent[MAX_RANGES];
  VEC(Access) access;
  double ops;                  /* vector instructions of the body, not counting loads */
  double steps;                /* executions of the body per element: extent of the main reduction */
  bool reduces;
  bool stages;                 /* panels may be copied */
  bool varies[MAX_RANGES];     /* the main reduction is made again for each value of the range */
  bool selects[MAX_RANGES];    /* a short range whose value decides what is computed: unrolled whole */
  int widest;                  /* bytes of the widest element computed with */
  int group;                   /* terms of the main reduction that a unit takes at a time; else 1 */
} Model;

static void add_access(Model *m, Ref r, Ref index, Ref buffer, double times, int group) {
  IR *ir = m->ir;
  const Buf *b = &ir->bufs.p[node(ir, buffer)->arg[0]];
  Access a = { .ref = r, .times = times, .weight = b->kind == BUF_WEIGHT, .bytes = group * dt_bytes(b->dt), .group = group };
  a.gated = node(ir, r)->op == OP_LOAD && node(ir, r)->nsrc == 4 && !a.weight; /* a weight's gate is decided by packing */
  for (int i = 0; i < m->n; i++) {
    Ref rest;
    a.depends[i] = ix_uses(ir, index, m->range[i]) || (a.gated && ix_uses(ir, node(ir, r)->src[2], m->range[i]));
    a.affine[i] = ix_split(ir, index, m->range[i], &a.coef[i], &rest) && !(a.gated && ix_uses(ir, node(ir, r)->src[2], m->range[i]));
  }
  VEC_PUSH(&m->access, a);
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
  case OP_DIV: case OP_SQRT: case OP_RECIP: return 4;
  case OP_EXP: case OP_EXP2: case OP_LOG: case OP_LOG2: case OP_TANH: case OP_ERF: case OP_SIN: case OP_COS: case OP_POW: return 20;
  case OP_CONST: case OP_RANGE: case OP_BUFFER: case OP_LOAD: case OP_STORE: case OP_RED: return 0;
  default: return 1;
  }
}

static void build(Model *m, IR *ir, const Nest *n, const Target *t, Ref *red) {
  Refs all = { 0 }, body = { 0 };
  memset(m, 0, sizeof *m);
  m->ir = ir;
  m->t = t;
  ir_toposort(ir, &n->store, 1, &all);
  *red = main_reduction(ir, &all);
  m->reduces = *red != 0;
  for (int k = 0; k < n->n; k++)
    if (node(ir, n->ranges[k])->arg[2] != RK_THREAD) m->range[m->n++] = n->ranges[k];
  m->nout = m->n;
  m->steps = m->group = 1;
  if (*red) {
    const Node *x = node(ir, *red);
    for (int k = 1; k < x->nsrc && m->n < MAX_RANGES; k++) {
      const Node *r = node(ir, x->src[k]);
      if (r->arg[2] == RK_DOT) m->group = (int)r->arg[0];
      else m->range[m->n++] = x->src[k];
    }
    m->steps = red_terms(ir, x) / m->group;
  }
  for (int i = 0; i < m->n; i++) m->extent[i] = node(ir, m->range[i])->arg[0];
  for (int i = 0; i < m->nout && *red; i++) m->varies[i] = ix_uses(ir, *red, m->range[i]);
  for (int i = 0; i < m->nout; i++) m->selects[i] = range_selects(ir, n->store, m->range[i]);
  Ref hot = *red ? node(ir, *red)->src[0] : n->store;
  ir_toposort(ir, &hot, 1, &body);
  m->widest = 1;
  for (size_t i = 0; i < all.n; i++) {
    const Node *x = node(ir, all.p[i]);
    bool in_body = false;
    for (size_t j = 0; j < body.n && !in_body; j++) in_body = body.p[j] == all.p[i];
    double times = in_body ? 1 : 1 / m->steps;
    if (x->op == OP_LOAD || x->op == OP_STORE) add_access(m, all.p[i], x->src[1], x->src[0], times, in_body ? m->group : 1);
    if (in_body && m->group > 1) continue; /* one instruction for all of it */
    if (x->dt != DT_I64 && x->dt != DT_NONE && x->dt != DT_BOOL) m->ops += times * instruction_cost(x);
    if (x->op == OP_LOAD && x->dt != DT_I64 && dt_bytes((DType)x->dt) > m->widest) m->widest = dt_bytes((DType)x->dt);
    if (x->op == OP_CAST && x->dt != DT_I64 && dt_bytes((DType)x->dt) > m->widest) m->widest = dt_bytes((DType)x->dt);
  }
  if (m->ops < 1) m->ops = 1;
  VEC_FREE(&all);
  VEC_FREE(&body);
}

/* Instructions that fetch or store one access of a vector body. */
static double access_cost(const Access *a, int v, int lanes) {
  if (v < 0 || !a->depends[v]) return 1;               /* scalar, broadcast on the way */
  if (a->weight) return 1;                             /* packed */
  if (a->affine[v] && a->coef[v] == a->group) return 1;
  return 3.0 * lanes * a->group;                       /* one by one */
}

typedef struct Tile {
  int v, lanes, p, q, up, uq;  /* v, p, q: indices of ranges or -1 */
  bool outer;                  /* the range in lanes is walked outermost */
  bool stage;                  /* and what is gathered along it is copied, a panel at a time */
} Tile;

static int64_t width(const Tile *t, int i) { return (int64_t)(i == t->v ? t->lanes : 1) * (i == t->p ? t->up : i == t->q ? t->uq : 1); }

/* Bytes of an operand that one tile walks before it moves on: its panel. */
static double panel_bytes(const Model *m, const Access *a, const Tile *t) {
  double bytes = a->bytes;
  for (int i = 0; i < m->n; i++)
    if (a->depends[i]) bytes *= (double)(i < m->nout ? width(t, i) : m->extent[i]);
  return bytes;
}

static double whole_bytes(const Model *m, const Access *a) {
  double bytes = a->bytes;
  for (int i = 0; i < m->n; i++)
    if (a->depends[i]) bytes *= (double)m->extent[i];
  return bytes;
}

/* How often the nest's loops come back to a panel. */
static double panel_walks(const Model *m, const Access *a, const Tile *t) {
  double walks = 1;
  for (int i = 0; i < m->nout; i++)
    if (!a->depends[i]) walks *= ceil((double)m->extent[i] / (double)width(t, i));
  return walks;
}

static bool walked_again(const Model *m, const Access *a) { return panel_walks(m, a, &(Tile){ -1, 1, -1, -1, 1, 1, false, false }) > 1; }

static bool hot(const Model *m, const Access *a) { return m->reduces && a->times == 1; }

/* Whether the range in lanes is walked outermost: weights along it that crowd the first level of cache are read once
 * then, and where it is the other operand that has the lanes, its panel stays near while all weights pass by. */
static bool walks_outermost(const Model *m, int v) {
  bool outer = false, beside = false, far = false;
  if (v < 0 || v >= m->nout) return false;
  for (size_t i = 0; i < m->access.n; i++) {
    const Access *a = &m->access.p[i];
    double bytes = whole_bytes(m, a);
    if (a->weight && a->depends[v]) outer |= bytes > 0.5 * m->t->l1_bytes;
    else if (hot(m, a) && a->weight) beside |= bytes < 0.7 * m->t->l2_bytes;
    else if (hot(m, a) && a->depends[v]) far |= bytes > 0.7 * m->t->l1_bytes && walked_again(m, a);
  }
  return outer || (beside && far);
}

/* Cycles to bring the elements of one step from where the whole operand fits: it is walked once for
 * every tile of the other operand, unless its panels are walked outermost and fit. Measured: 40 bytes a cycle from
 * the second level of cache, 10 from the third. */
static double stream_cycles(const Model *m, const Access *a, const Tile *t, double copies) {
  double bytes = whole_bytes(m, a), far = bytes < 0.7 * m->t->l2_bytes ? 40 : 10;
  if (a->weight || !hot(m, a) || bytes < 0.7 * m->t->l1_bytes) return 0;
  if (t->outer && a->depends[t->v] && panel_bytes(m, a, t) < 0.7 * m->t->l1_bytes) far *= panel_walks(m, a, t);
  return copies * a->bytes / far;
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
  if (!m->stages || t->v < 0 || t->v >= m->nout || !hot(m, a) || a->weight || !a->depends[t->v] || a->group > 1) return false;
  return access_cost(a, t->v, t->lanes) > 1 && panel_bytes(m, a, t) <= STAGE_BYTES && copy_walks(m, a, t) >= LEAST_WALKS;
}

static double fetch_cost(const Model *m, const Access *a, const Tile *t) {
  const double cost = access_cost(a, t->v, t->lanes) * (a->gated ? 3 : 1);
  return t->stage && from_copy(m, a, t) ? 1 + cost / copy_walks(m, a, t) : cost;
}

/* Copies at strides that are multiples of a page fall into few sets of the first level of cache, where beyond some ways
 * they evict each other before they have moved on by a line. */
static double aliased(const Access *a, const Tile *t, int up, int uq) {
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
  for (int k = 0; k < SETS; k++) cycles += in_set[k] > WAYS_LEFT ? 4.0 * in_set[k] : 0;
  return cycles;
}

/* Cycles of one hot step of a tile of up x uq copies. A panel that outgrows the first level of cache
 * comes from the second for every tile, at one vector a cycle at best. */
static double step_cycles(const Model *m, const Tile *t, int up, int uq) {
  double mem = 0, ops = m->ops * up * uq, far = 0, stream = 0;
  for (size_t i = 0; i < m->access.n; i++) {
    const Access *a = &m->access.p[i];
    double copies = (t->p >= 0 && a->depends[t->p] ? up : 1) * (t->q >= 0 && a->depends[t->q] ? uq : 1);
    mem += a->times * copies * fetch_cost(m, a, t);
    stream += stream_cycles(m, a, t, copies * (t->v >= 0 && a->depends[t->v] ? t->lanes : 1));
    mem += a->times * aliased(a, t, up, uq);
    if (a->weight && hot(m, a) && t->v >= 0 && a->depends[t->v]) {
      double panel = walked_again(m, a) ? panel_bytes(m, a, t) : whole_bytes(m, a);
      far += copies * (panel > 0.7 * m->t->l2_bytes ? 2 : panel > 0.6 * m->t->l1_bytes ? 1 : 0);
    }
  }
  double cycles = ops / PORTS;
  if (mem / PORTS > cycles) cycles = mem / PORTS;
  if (far > cycles) cycles = far;
  cycles += 0.3 * far + stream;
  if (m->reduces && LATENCY > cycles) cycles = LATENCY;
  return cycles + 0.5; /* loop overhead that does not overlap */
}

static int registers(const Model *m, const Tile *t) {
  int wide = t->v >= 0 && m->t->vector_bytes ? (t->lanes * m->widest + m->t->vector_bytes - 1) / m->t->vector_bytes : 1;
  if (!m->reduces) return wide * t->up * t->uq + 2;
  int operands = t->up < t->uq ? t->up : t->uq; /* the smaller side stays in registers, the other streams */
  return wide * (t->up * t->uq + operands + (operands == t->up * t->uq ? 0 : 1));
}

/* What waiting costs for the last of two threads that share few tiles, half as likely as not. */
static double uneven(double tiles) { return tiles < 1 || tiles > FEW_TILES ? 1 : 0.5 + ceil(tiles / 2) / tiles; }

/* Cycles of the whole nest divided by steps, rests included; rests are priced by the same model at
 * their own size, in halved lanes where the vector range has a rest. */
static double nest_cycles(const Model *m, Tile t) {
  double total = 0, others = 1;
  int bodies = 0;
  int64_t ep = 1, eq = 1;
  int ulp = 1, ulq = 1; /* elements a copy covers along p and q */
  for (int i = 0; i < m->nout; i++)
    if (i != t.p && i != t.q && i != t.v) others *= (double)m->extent[i];
  if (t.p >= 0) ep = m->extent[t.p], ulp = t.p == t.v ? t.lanes : 1;
  if (t.q >= 0) eq = m->extent[t.q], ulq = t.q == t.v ? t.lanes : 1;
  if (t.v >= 0 && t.v < m->nout && t.v != t.p && t.v != t.q) others *= ceil((double)m->extent[t.v] / t.lanes);
  if (t.v >= m->nout) others *= ceil((double)m->extent[t.v] / t.lanes) / (double)m->extent[t.v];
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
  total *= 1 + 0.02 * (bodies - 1); /* every body is code to fetch */
  if (t.v >= m->nout && m->reduces) total = total * 1.2 + 10.0 * t.lanes / m->steps * (double)ep * (double)eq; /* lanes combined at the end, once a result */
  total *= others;
  return total * m->steps < SHARED_CYCLES ? total : total * uneven((double)pn[0] * (double)qn[0] * others);
}

static bool any_from_copy(const Model *m, const Tile *t) {
  bool any = false;
  for (size_t i = 0; i < m->access.n; i++) any |= from_copy(m, &m->access.p[i], t);
  return any;
}

static void consider(const Model *m, Tile t, Tile *best, double *cost) {
  if (!t.stage && any_from_copy(m, &t)) {
    Tile s = t;
    s.stage = s.outer = true;
    consider(m, s, best, cost);
  }
  if (m->t->vector_regs && registers(m, &t) > m->t->vector_regs) return;
  if (m->ops * t.up * t.uq > MAX_COPIES) return;
  double c = nest_cycles(m, t) * (t.stage ? SURE : 1);
  if (c < *cost * 0.995) {
    *cost = c;
    *best = t;
  }
}

static void search_tiles(const Model *m, int v, int lanes, Tile *best, double *cost) {
  const bool outer = walks_outermost(m, v);
  consider(m, (Tile){ v, lanes, -1, -1, 1, 1, outer, false }, best, cost);
  for (int p = m->nout - 1; p >= 0; p--) { /* inner ranges first: of equal tiles, the one with the smaller strides */
    int max_p = p == v ? (int)(m->extent[p] / lanes) : (int)(m->extent[p] < MAX_UNROLL ? m->extent[p] : MAX_UNROLL);
    if (max_p > MAX_UNROLL) max_p = MAX_UNROLL;
    if (!m->reduces) max_p = 1; /* nothing to share, nothing to wait for */
    for (int up = 2; up <= max_p; up++) {
      consider(m, (Tile){ v, lanes, p, -1, up, 1, outer, false }, best, cost);
      for (int q = p - 1; q >= 0 && m->reduces; q--) {
        int max_q = q == v ? (int)(m->extent[q] / lanes) : (int)(m->extent[q] < MAX_UNROLL ? m->extent[q] : MAX_UNROLL);
        if (max_q > MAX_UNROLL) max_q = MAX_UNROLL;
        for (int uq = 2; uq <= max_q; uq++) consider(m, (Tile){ v, lanes, p, q, up, uq, outer, false }, best, cost);
      }
    }
  }
}

/* Accumulators of a reduction along r: some in flight hide the latency of each, and a short row is held whole. */
static int parts_of(const IR *ir, Ref r, int lanes) {
  int64_t vectors = node(ir, r)->arg[0] / lanes;
  if (vectors <= ROW_VECTORS) return vectors > 1 ? (int)vectors : 1;
  for (int parts = 8; parts > 2; parts--)
    if (vectors % parts == 0) return parts;
  return 4;
}

/* Lanes for a reduction that the chosen vector range does not reach: along its most contiguous range. */
static void reduction_lanes(IR *ir, const Nest *n, const Target *t, Ref vec, Opts *o) {
  Refs all = { 0 };
  ir_toposort(ir, &n->store, 1, &all);
  for (size_t i = 0; i < all.n && o->n < MAX_RANGES; i++) {
    const Node *x = node(ir, all.p[i]);
    if (x->op != OP_RED || keeps_order(ir, all.p[i], t) || (vec && ix_uses(ir, x->src[0], vec))) continue;
    Model m;
    Refs body = { 0 };
    memset(&m, 0, sizeof m);
    m.ir = ir;
    m.t = t;
    int widest = 4;
    bool nested = false;
    for (int k = 1; k < x->nsrc; k++) {
      m.range[m.n++] = x->src[k];
      nested |= node(ir, x->src[k])->arg[2] == RK_DOT; /* taken */
    }
    ir_toposort(ir, &x->src[0], 1, &body);
    for (size_t j = 0; j < body.n; j++) {
      const Node *y = node(ir, body.p[j]);
      if (y->op == OP_LOAD) add_access(&m, body.p[j], y->src[1], y->src[0], 1, 1);
      for (int k = 1; k < x->nsrc && y->op == OP_RED; k++) nested |= ix_uses(ir, body.p[j], x->src[k]);
      if (y->dt != DT_I64 && dt_bytes((DType)y->dt) > widest) widest = dt_bytes((DType)y->dt);
    }
    int lanes = t->vector_bytes / widest, best = -1;
    double cost = 1e30, scalar = 0;
    for (size_t a = 0; a < m.access.n; a++) scalar += 1;
    for (int k = 0; k < m.n && lanes > 1 && !nested; k++) {
      double c = 0;
      if (node(ir, m.range[k])->arg[0] < lanes) continue;
      for (size_t a = 0; a < m.access.n; a++) c += access_cost(&m.access.p[a], k, lanes);
      if (c < cost) cost = c, best = k;
    }
    if (best >= 0 && cost < scalar * lanes && m.access.n) {
      o->opt[o->n++] = (Opt){ m.range[best], parts_of(ir, m.range[best], lanes), lanes, true, false };
    }
    VEC_FREE(&m.access);
    VEC_FREE(&body);
  }
  VEC_FREE(&all);
}

/* A range that tells which bits of a word are meant: unrolled, it leaves shifts by constants. */
static bool shifts_by(const IR *ir, Ref value, Ref range) {
  Refs all = { 0 };
  bool yes = false;
  ir_toposort(ir, &value, 1, &all);
  for (size_t i = 0; i < all.n && !yes; i++) {
    const Node *x = node(ir, all.p[i]);
    yes = (x->op == OP_SHL || x->op == OP_SHR) && ix_uses(ir, x->src[1], range);
  }
  VEC_FREE(&all);
  return yes;
}

static Opts vector_opts(IR *ir, const Nest *n, const Target *t, bool stages) {
  Opts o = { 0 };
  Model m;
  Ref red;
  build(&m, ir, n, t, &red);
  m.stages = stages;
  Tile best = { -1, 1, -1, -1, 1, 1, false, false };
  double cost = 1e300;
  search_tiles(&m, -1, 1, &best, &cost);
  const int nv = red && keeps_order(ir, red, t) ? m.nout : m.n; /* ranges that may be lanes */
  for (int v = 0; v < nv && t->vector_bytes; v++)
    for (int lanes = t->vector_bytes / (m.widest < 4 ? 4 : m.widest); lanes >= 2; lanes /= 2) {
      if (m.extent[v] < lanes || m.selects[v]) continue;
      search_tiles(&m, v, lanes, &best, &cost);
      break;
    }
  bool rows = best.v < m.nout && red && (best.v < 0 || !ix_uses(ir, red, m.range[best.v]));
  if (rows) { /* one by one: reduction_lanes finds the parallelism. A short row stays in registers from its reductions to its stores */
    int64_t vectors = best.v >= 0 ? (m.extent[best.v] + best.lanes - 1) / best.lanes : 0;
    bool whole = vectors > 1 && vectors <= ROW_VECTORS;
    best.p = whole ? best.v : -1;
    best.up = whole ? (int)vectors : 1;
    best.q = -1;
    best.uq = 1;
  }
  for (int i = 0; i < m.nout; i++) {
    int u = m.selects[i] ? (int)m.extent[i] : i == best.p ? best.up : i == best.q ? best.uq : 1, l = i == best.v ? best.lanes : 1;
    if (u > 1 || l > 1) o.opt[o.n++] = (Opt){ m.range[i], u, l, false, false };
  }
  int parts = best.v >= m.nout && best.up * best.uq == 1 ? parts_of(ir, m.range[best.v], best.lanes) : 1;
  if (best.v >= m.nout) o.opt[o.n++] = (Opt){ m.range[best.v], parts, best.lanes, parts > 1, false };
  else if (t->vector_bytes) reduction_lanes(ir, n, t, best.v >= 0 ? m.range[best.v] : 0, &o);

  /* short reductions are unrolled whole, so that neighbours share what they load */
  if (red) {
    const Node *x = node(ir, red);
    double copies = m.ops * best.up * best.uq;
    int operands = best.up < best.uq ? best.up : best.uq; /* what every term keeps in registers */
    int64_t terms = 1;
    for (int k = x->nsrc - 1; k > 0; k--) {
      int64_t e = node(ir, x->src[k])->arg[0];
      bool taken = false;
      if (node(ir, x->src[k])->arg[2] == RK_DOT) continue;
      for (int i = 0; i < o.n; i++) taken |= o.opt[i].range == x->src[k];
      bool word = e <= 32 && !taken && shifts_by(ir, x->src[0], x->src[k]);
      if (taken || (!word && (e > 7 || copies * (double)e > 100))) break;
      if (!word && t->vector_regs && best.up * best.uq + operands * terms * e + 1 > t->vector_regs) break;
      terms *= e;
      copies *= (double)e;
      o.opt[o.n++] = (Opt){ x->src[k], (int)e, 1, false, false };
    }
  }
  if (best.outer) o.outermost = m.range[best.v];
  if (best.stage) o.staged = m.range[best.v];
  VEC_FREE(&m.access);
  return o.staged && stage_refuses(ir, nest_close(ir, n), t, &o) ? vector_opts(ir, n, t, false) : o;
}

/* A unit first: the tile is then one of groups. */
Opts heuristic_opts(IR *ir, const Nest *n, const Target *t) {
  Ref nest = nest_close(ir, n), range, rest;
  const Unit *u = unit_choose(ir, nest, t, &range);
  Opts o;
  if (tile_opts(ir, nest, t, u, &o)) return o;
  if (!u) return vector_opts(ir, n, t, true);
  Nest grouped = nest_open(ir, unit_group(ir, nest, u, range, &rest));
  o = vector_opts(ir, &grouped, t, false);
  for (int i = 0; i < o.n; i++)
    if (o.opt[i].range == rest) o.opt[i].range = range;
  o.grouped = range;
  o.unit = u;
  return o;
}

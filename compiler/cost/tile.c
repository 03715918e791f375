/* SPDX-License-Identifier: MIT */
/* tile.c: the cost of a register tile of a nest, by an analytic model of one core.
 *
 * Per innermost step it counts arithmetic instructions, loads (copies of the tile and terms of a window share them), and the
 * latency of accumulators. The slowest of the three is the cost. Further costs are added: data from farther caches, short
 * loops, and extents that a tile does not divide. Two memory ports, two arithmetic ports and a latency of four cycles suffice
 * to rank tiles for every out-of-order core of the last ten years.
 *
 * The rates are column TILE of rates.h. Most of them are no facts of a machine. They were set so that the model ranks tiles as
 * timings did: products, convolutions, windows, sums of rows and transpositions, alone and in networks. The machines were one
 * core of a Zen 4 with AVX-512 and one of a machine with AVX2. The model ranks; `tgc tune` measures. */
#include "tile.h"
#include "tunable.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

int sums_in_flight(const Target *t) { return (int)(rate(t, LATENCY, TILE) * rate(t, ISSUE, TILE)); }

/* elements; largest stride of a load that shuffles pick from overlapping vectors */
enum { SHUFFLE_NEAR = 4 };

bool shuffle_picks(int64_t stride, int lanes, int64_t beside, bool store) {
  return stride <= SHUFFLE_STRIDE && (beside >= stride || (!store && stride <= SHUFFLE_NEAR && 2 * stride - 1 < lanes));
}

int shuffle_row(int bytes, int lanes, int64_t beside) { /* a power of two */
  int most = SHUFFLE_BLOCK / bytes < lanes ? SHUFFLE_BLOCK / bytes : lanes, length = 1;
  while (2 * length <= most && 2 * length <= beside) length *= 2;
  return length;
}

double walked_elements(int64_t a, int64_t n, int64_t b, int64_t k) {
  if (llabs(a) < llabs(b)) return walked_elements(b, k, a, n);
  int64_t times = b ? llabs(a / b) : k;
  return (double)(b && a % b == 0 && times < k ? times * (n - 1) + k : n * k);
}

double access_elements(const Model *m, const Access *a, const int64_t *n, int apart) {
  double all = 1;
  uint32_t met = 0;
  for (int i = m->n - 1; i >= 0; i--) {
    const int j = a->along[i];
    if (!a->depends[i] || met >> i & 1) continue;
    if (a->run[i] && i != apart) all *= ceil((double)n[i] / (double)a->run[i]);
    else if (j < 0 || j == apart || met >> j & 1) all *= (double)n[i];
    else all *= walked_elements(a->coef[i], n[i], a->coef[j], n[j]), met |= 1u << j;
  }
  return all;
}

/* Instructions for a vector whose lanes are a stride apart, if a tile has `beside` adjacent elements; 0: adjacency does not
 * count. See shuffle.c. */
static double strip_cost(const Access *a, const Target *t, int64_t stride, int lanes, int64_t beside) {
  const double apart = rate(t, ONE_BY_ONE, TILE) * lanes * a->group;
  if (!beside || a->group > 1 || a->gated || stride < 2) return apart;
  if (shuffle_picks(stride, lanes, beside, a->store))
    return (beside < stride ? (double)stride / (double)beside : 1) + rate(t, SHUFFLE, TILE) * (double)(stride - 1);
  const int row = shuffle_row(a->bytes, lanes, beside);
  if (row < 2) return apart;
  const double rows = lanes * ((a->store ? rate(t, ROW_STORE, TILE) : 1) + 1 - (double)row / lanes),
               blocks = (double)((beside + row - 1) / row);
  return blocks * (rows + rate(t, SHUFFLE, TILE) * row * log2(row)) / (double)beside;
}

/* Instructions to load or store one access of a vector body; beside: as in strip_cost. */
static double vector_cost(const Access *a, const Target *t, int v, int lanes, int64_t beside) {
  if (v < 0 || !a->depends[v]) return 1; /* scalar; broadcasting is free */
  if (a->weight) return 1;               /* packed */
  if (a->affine[v] && a->coef[v] == a->group) return 1;
  if (a->run[v] >= lanes) return 1; /* one element, or two that a shuffle joins */
  return strip_cost(a, t, a->affine[v] ? a->coef[v] : 0, lanes, beside);
}

double access_cost(const Access *a, const Target *t, int v, int lanes) { return vector_cost(a, t, v, lanes, 0); }

static int64_t width(const Tile *t, int i) {
  return (int64_t)(i == t->v ? t->lanes : 1) * (i == t->p ? t->up : i == t->q ? t->uq : 1);
}

/* Bytes of an operand that one tile walks before it moves on: its panel. */
static double panel_bytes(const Model *m, const Access *a, const Tile *t) {
  int64_t n[MAX_RANGES];
  for (int i = 0; i < m->n; i++) n[i] = i < m->nout ? width(t, i) : m->extent[i];
  return access_elements(m, a, n, -1) * a->bytes;
}

static double whole_bytes(const Access *a) { return a->elements * a->bytes; }

/* Number of times the nest's loops return to a panel. */
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
  const int lanes = m->t->vector_bytes / m->lane_bytes;
  for (size_t i = 0; i < m->access.n && v >= 0; i++) {
    const Access *a = &m->access.p[i];
    any |= a->hot && !a->weight && a->run[v] && a->run[v] < lanes;
  }
  return any;
}

bool cuts_rows(const Model *m, const Tile *t) {
  bool any = false;
  for (size_t i = 0; i < m->access.n && t->v >= 0; i++) any |= m->access.p[i].hot && m->access.p[i].run[t->v] > t->lanes;
  return any && m->extent[t->v] % width(t, t->v);
}

/* Whether the range in lanes should be outermost. Weights along it that exceed their share of the first-level cache are then
 * read once. If the other operand has the lanes, its panel stays near while all weights stream by. If that operand is spread
 * over lanes, weights must also exceed their share of the second level, since their factors would be apart. Never a range that
 * the reduction does not vary with: the whole reduction would run again for each vector. */
bool walks_outermost(const Model *m, int v) {
  bool outer = false, beside = false, far = false;
  if (v < 0 || v >= m->nout || (m->red && !m->varies[v])) return false;
  for (size_t i = 0; i < m->access.n; i++) {
    const Access *a = &m->access.p[i];
    double bytes = whole_bytes(a);
    if (a->weight && a->depends[v])
      outer |= bytes >
               (model_spreads(m, v) ? rate(m->t, L2_PART, TILE) * m->t->l2_bytes : rate(m->t, L1_CROWD, TILE) * m->t->l1_bytes);
    else if (a->hot && a->weight) beside |= bytes < rate(m->t, L2_PART, TILE) * m->t->l2_bytes;
    else if (a->hot && a->depends[v]) far |= bytes > rate(m->t, L1_PART, TILE) * m->t->l1_bytes && walked_again(m, a);
  }
  return outer || (beside && far);
}

/* Reads of an element while it is near: by all terms of the windows that contain it. If the data read until a window has moved
 * on exceeds the first-level cache, only by terms of the tile. */
static double reuse(const Model *m, const Access *a, const Tile *t) {
  double times = a->reuse;
  for (int w = m->nout; w < m->n; w++) {
    const int j = a->along[w];
    int64_t n[MAX_RANGES];
    if (!a->depends[w] || j < 0) continue;
    for (int i = 0; i < m->n; i++) n[i] = i >= m->nout || (i > j && !(t->outer && i == t->v)) ? m->extent[i] : width(t, i);
    if (access_elements(m, a, n, -1) * a->bytes < rate(m->t, L1_CROWD, TILE) * m->t->l1_bytes) continue;
    times *= walked_elements(a->coef[j], m->extent[j], a->coef[w], m->extent[w]) /
             (ceil((double)m->extent[j] / (double)n[j]) * walked_elements(a->coef[j], n[j], a->coef[w], m->extent[w]));
  }
  return times;
}

/* Cycles to bring the elements of one step from the level that holds the whole operand. The operand is walked once for every
 * tile of the other operand, unless its panels are walked outermost and fit. Elements that windows read again are in the
 * second-level cache. */
static double stream_cycles(const Model *m, const Access *a, const Tile *t, double copies) {
  const double bytes = whole_bytes(a), again = 1 / reuse(m, a, t) - 1 / a->reuse;
  double far = memory_rate(m->t, BY_TILE, bytes);
  if (a->weight || !a->hot || bytes < rate(m->t, L1_PART, TILE) * m->t->l1_bytes) return 0;
  if (t->outer && a->depends[t->v] && panel_bytes(m, a, t) < rate(m->t, L1_PART, TILE) * m->t->l1_bytes)
    far *= panel_walks(m, a, t);
  return copies * a->bytes * (1 / a->reuse / far + again / rate(m->t, L2_BYTES, TILE));
}

/* Places that a tile reads or writes in turn and that are far apart. Each is a stream for the prefetcher. Not if lanes are
 * outermost: the data behind a vector is then read much later. */
static double streams(const Model *m, const Access *a, const Tile *t, int up, int uq) {
  int64_t n[MAX_RANGES];
  const bool walks = t->outer && a->hot && a->affine[t->v] && a->coef[t->v] == a->group;
  if (a->weight || whole_bytes(a) < rate(m->t, L1_PART, TILE) * m->t->l1_bytes || walks) return 0;
  for (int i = 0; i < m->n; i++) {
    int64_t copies = i == t->v ? 1 : i == t->p ? up : i == t->q ? uq : a->along[i] >= 0 ? m->extent[i] : 1;
    n[i] = a->affine[i] && llabs(a->coef[i]) * a->bytes >= tunable(m->ir->ctx, stream_apart) ? copies : 1;
  }
  return access_elements(m, a, n, -1);
}

/* Number of times that reductions read a panel before the next one is copied. */
static double copy_walks(const Model *m, const Access *a, const Tile *t) {
  double walks = 1;
  for (int i = 0; i < m->nout; i++)
    if (m->varies[i] && !a->depends[i]) walks *= ceil((double)m->extent[i] / (double)width(t, i));
  return walks;
}

/* Whether tiles read the panel of an access from a copy (stage.c). Without a copy each walk gathers it lane by lane. */
static bool from_copy(const Model *m, const Access *a, const Tile *t) {
  if (!m->stages || t->v < 0 || t->v >= m->nout || !a->hot || a->weight || !a->depends[t->v] || a->group > 1) return false;
  return access_cost(a, m->t, t->v, t->lanes) > 1 && panel_bytes(m, a, t) <= tunable(m->ir->ctx, stage_bytes) &&
         copy_walks(m, a, t) >= tunable(m->ir->ctx, stage_walks);
}

/* Lanes run along elements that share one result of the reduction; the reduction has lanes of its own (reduction_lanes). */
static bool in_rows(const Model *m, const Tile *t) { return t->v >= 0 && t->v < m->nout && !m->varies[t->v]; }

/* Adjacent elements that the copies of a tile access. 0: shuffles would compete for the ports that multiply, or lanes run along
 * elements that share a reduction. */
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

/* Loads for a vector in which each run of lanes shares an element; copies of the tile with adjacent elements share the loads.
 * *shuffles: instructions that join the loaded parts, and one that spreads them. 0: not such a vector. */
static double spread_loads(const Model *m, const Access *a, const Tile *t, double *shuffles) {
  if (t->v < 0 || !a->run[t->v] || a->weight || a->group > 1 || t->lanes % a->run[t->v]) return 0;
  const int run = (int)a->run[t->v];
  int64_t beside = 1;
  for (int i = m->nout; i < m->n; i++)
    if (t->whole >> i & 1 && a->affine[i] && a->coef[i] == 1) beside = m->extent[i];
  const bool one = beside == run && a->step[t->v] == run; /* vector of memory */
  if (!one && (run * a->bytes < LINE_BYTES / 4 || shuffle_row(a->bytes, run, beside) != beside)) return 0;
  *shuffles = 1 + (one ? 0 : (double)(t->lanes / beside - 1) / (double)beside);
  return (one ? 1 : (double)(t->lanes / run)) / (double)beside;
}

/* Instructions to load or store a vector; *shuffles: those that do not access memory */
static double element_cost(const Model *m, const Access *a, const Tile *t, double *shuffles) {
  double cost = t->lanes, spread = spread_loads(m, a, t, shuffles);
  if (spread > 0) return spread;
  *shuffles = 0;
  if (!a->hot) {
    cost = vector_cost(a, m->t, t->v, t->lanes, side_by_side(m, a, t));
    *shuffles = m->red ? 0 : cost - 1; /* joining its pieces uses arithmetic ports */
    return cost * (t->v >= m->nout ? t->lanes : 1);
  }
  if (!in_rows(m, t)) return access_cost(a, m->t, t->v, t->lanes);
  for (int i = m->nout; i < m->n; i++) cost = fmin(cost, access_cost(a, m->t, i, t->lanes));
  return cost;
}

/* Adjacent elements of memory that a copy of a panel reads */
static int64_t beside_in_panel(const Model *m, const Access *a) {
  int64_t beside = 0;
  for (int i = m->nout; i < m->n; i++)
    if (a->affine[i] && a->coef[i] == 1 && m->extent[i] > beside) beside = m->extent[i];
  return beside;
}

static double fetch_cost(const Model *m, const Access *a, const Tile *t, double *shuffles) {
  const double by_one = element_cost(m, a, t, shuffles) * a->pieces * (a->gated ? rate(m->t, GATED, TILE) : 1);
  if (!t->stage || !from_copy(m, a, t)) return by_one;
  return 1 + fmin(by_one, vector_cost(a, m->t, t->v, t->lanes, beside_in_panel(m, a))) / copy_walks(m, a, t);
}

/* Ways of the first-level cache that copies at strides of a page may take. Streaming data needs the others. */
static int ways_for_copies(const Model *m) {
  const int left = tunable(m->ir->ctx, ways_left), all = l1_ways(m->t);
  return all > left ? all - left : left; /* caches of so few ways are those of small cores, which stream little */
}

/* Copies at strides that are multiples of a page share few sets of the first-level cache. With more copies than ways they evict
 * each other before they move on by a line. Vectors that are whole lines, of data that is not read again, do not suffer. */
static double aliased(const Model *m, const Access *a, const Tile *t, int up, int uq) {
  if (!m->red && t->v >= 0 && a->affine[t->v] && a->coef[t->v] == a->group && t->lanes * a->bytes >= LINE_BYTES) return 0;
  const int ways = ways_for_copies(m);
  SetLines sets = { { 0 } };
  const int range[2] = { t->p, t->q }, copies[2] = { up, uq };
  int64_t stride[2];
  int n[2];
  for (int k = 0; k < 2; k++) {
    bool moves = range[k] >= 0 && a->affine[range[k]] && a->coef[range[k]];
    stride[k] = moves ? llabs(a->coef[range[k]]) * a->bytes * (range[k] == t->v ? t->lanes : 1) : 0;
    n[k] = moves ? copies[k] : 1;
    if (stride[k] < LINE_BYTES) { /* several in a line */
      n[k] = (int)((n[k] * stride[k] + LINE_BYTES - 1) / LINE_BYTES);
      stride[k] = LINE_BYTES;
    }
    if (!n[k]) n[k] = 1;
  }
  if (a->weight || n[0] * n[1] <= ways) return 0;
  for (int i = 0; i < n[0]; i++)
    for (int j = 0; j < n[1]; j++) set_take(&sets, stride[0] * i + stride[1] * j);
  return rate(m->t, EVICTED, TILE) * (double)lines_crowded(&sets, ways);
}

/* Lanes may be so far apart that their lines share few sets of the second-level cache. With each line the next one is fetched,
 * which the next walk needs; but a walk over all lanes evicts it. Measured for data beyond the caches: a 2048 by 2048
 * transposition takes 4.3 ms, and in blocks of 128 lanes 2.5 ms. With 2000 by 2000, whose lines use all sets, blocks make it
 * slower. */
int lane_block(const Model *m, const Tile *t) {
  const int64_t sets = m->t->l2_bytes / L2_WAYS / LINE_BYTES;
  bool crowd = false;
  if (m->red || t->v < 0 || t->v != m->nout - 1) return 0; /* a nest of one element has no such range */
  for (size_t i = 0; i < m->access.n; i++) {
    const Access *a = &m->access.p[i];
    const int64_t apart = a->affine[t->v] ? llabs(a->coef[t->v]) * a->bytes : 0;
    if (a->store || apart < LINE_BYTES || a->coef[t->v] * a->bytes % LINE_BYTES ||
        whole_bytes(a) < tunable(m->ir->ctx, lane_block_far) * m->t->l2_bytes)
      continue;
    crowd |= (double)m->extent[t->v] > sets_reached((double)apart, sets) * L2_WAYS;
  }
  const int tile = (int)width(t, t->v), block = tunable(m->ir->ctx, lane_block) / tile * tile;
  return crowd && block > tile && block < m->extent[t->v] ? block : 0;
}

/* Loads of one body; equal loads of its copies and terms are one. */
static double body_loads(const Model *m, const Access *a, const Tile *t, int up, int uq) {
  int64_t n[MAX_RANGES];
  for (int i = 0; i < m->n; i++) n[i] = i == t->p ? up : i == t->q ? uq : t->whole >> i & 1 ? m->extent[i] : 1;
  return access_elements(m, a, n, t->v);
}

/* A vector that is not aligned to its size often spans two lines, and then takes two loads. */
static double pieces(const Model *m, const Access *a, int v, int lanes) {
  int64_t bytes = (int64_t)lanes * a->bytes;
  if (v < 0 || a->weight || !a->depends[v] || !a->affine[v] || a->coef[v] != a->group || bytes > LINE_BYTES) return 1;
  for (int i = 0; i < m->n; i++)
    if (i != v && a->depends[i] && (!a->affine[i] || a->coef[i] / a->group * a->bytes % bytes))
      return 1 + (double)bytes / LINE_BYTES;
  return 1;
}

void model_lanes(Model *m, int v, int lanes) {
  for (size_t i = 0; i < m->access.n; i++) m->access.p[i].pieces = pieces(m, &m->access.p[i], v, lanes);
}

/* Different elements or vectors that n copies along range i access; i -1: none */
static double copies_along(const Access *a, const Tile *t, int i, int n) {
  if (i < 0 || !a->depends[i]) return 1;
  return i == t->v && a->run[i] >= t->lanes ? ceil((double)n * t->lanes / (double)a->run[i]) : n;
}

/* Cycles of one step of the main reduction for a tile of up x uq copies. A panel larger than the first-level cache comes from
 * the second level for every tile, at one vector per cycle at best. */
static double step_cycles(const Model *m, const Tile *t, int up, int uq) {
  const double steps = t->terms;
  double mem = 0, shuffles = 0, far = 0, stream = 0, apart = 0;
  double ops = (m->ops + m->cold * (t->v >= m->nout ? t->lanes : 1)) * up * uq * steps;
  double trips = 1; /* extent of the innermost loop that remains */
  bool loops = false;
  for (size_t i = 0; i < m->access.n; i++) {
    const Access *a = &m->access.p[i];
    double copies = copies_along(a, t, t->p, up) * copies_along(a, t, t->q, uq);
    bool vectors = t->v < 0 || a->depends[t->v]; /* elements are loaded by the instruction that multiplies them */
    double loads = a->hot && t->whole && vectors ? body_loads(m, a, t, up, uq) : copies * steps;
    double shuffled;
    mem += a->times * loads * fetch_cost(m, a, t, &shuffled);
    ops += loads * a->converts;
    shuffles += a->times * loads * shuffled;
    stream += stream_cycles(m, a, t, copies * steps * (t->v >= 0 && (a->depends[t->v] || in_rows(m, t)) ? t->lanes : 1));
    apart += streams(m, a, t, up, uq);
    /* a row serves all terms of the body */
    mem += a->times * aliased(m, a, t, up, uq) * (a->hot && t->v >= 0 && a->run[t->v] ? 1 : steps);
    const bool copied = t->stage && from_copy(m, a, t);
    if ((a->weight || copied) && a->hot && t->v >= 0 && a->depends[t->v]) {
      double panel = walked_again(m, a) ? panel_bytes(m, a, t) : whole_bytes(a);
      bool near = panel <= rate(m->t, L1_PANEL, TILE) * m->t->l1_bytes;
      const bool beyond = panel > rate(m->t, L2_PART, TILE) * m->t->l2_bytes;
      far += copies * steps * (beyond ? rate(m->t, FAR_VECTOR, TILE) : near ? 0 : rate(m->t, L2_VECTOR, TILE));
    }
  }
  const bool in_turn = !m->t->vector_bytes; /* small cores start one instruction per cycle, a load or a product */
  /* shuffles use their own port, and one of the two that multiply */
  if (in_turn) mem *= group_words(m) > 1 ? 1 + group_words(m) : 1; /* a word of bytes becomes words of halves */
  double cycles = in_turn ? ops + mem
                          : fmax(fmax(ops / rate(m->t, ISSUE, TILE), mem / rate(m->t, LOADS, TILE)),
                                 (ops + shuffles) / (rate(m->t, ISSUE, TILE) + 1));
  if (far > cycles) cycles = far;
  /* spread data is multiplied often while the next of it arrives */
  const bool lost = apart > tunable(m->ir->ctx, streams) && !model_spreads(m, t->v);
  cycles += rate(m->t, EXPOSED, TILE) * far + stream * (lost ? rate(m->t, STREAM_LOST, TILE) : 1);
  for (int i = m->nout; i < m->n; i++)
    if (!(t->whole >> i & 1)) loops = true, trips = (double)m->extent[i] / (i == t->v ? t->lanes : 1);
  double chain = rate(m->t, LATENCY, TILE) * steps *
                 (loops ? 1 : rate(m->t, STRAIGHT, TILE)); /* terms of a copy wait for each other */
  if (m->red && chain > cycles) cycles = chain;
  return (cycles + rate(m->t, LOOP_TURN, TILE) + (loops ? rate(m->t, LOOP_BEGIN, TILE) / trips : 0)) / steps;
}

/* A group of bytes that does not fit an integer register lies in a vector. */
static bool group_in_vector(const Model *m) { return m->group > 1 && 8 * m->group > m->t->pointer_bits; }

/* Registers that a group of terms takes: an instruction for vectors takes it in one, that for halves of a register in two. */
int group_words(const Model *m) { return m->group > 1 && !m->t->vector_bytes && !group_in_vector(m) ? 2 : 1; }

/* Where there are no vectors, integers share their registers with two addresses and a counter. */
int model_registers(const Model *m) {
  enum { TAKEN = 3, BESIDE = 3 }; /* registers of addresses and of the counter; factors, which need none of the integers */
  const bool integers = m->red && !m->t->vector_bytes && dt_int((DType)node(m->ir, m->red)->dt);
  if (integers && group_in_vector(m)) return m->t->int_regs / 2 + BESIDE; /* sums in even ones, operands in vectors */
  return integers && m->t->int_regs ? m->t->int_regs - TAKEN : m->t->vector_regs;
}

int cost_registers(const Model *m, const Tile *t) {
  int wide = t->v >= 0 && m->t->vector_bytes ? (t->lanes * m->widest + m->t->vector_bytes - 1) / m->t->vector_bytes : 1;
  if (!m->red) return wide * t->up * t->uq + 2;
  if (model_spreads(m, t->v)) { /* constants stay in registers, and spread data streams */
    int held = 0;
    for (size_t i = 0; i < m->access.n; i++) {
      const Access *a = &m->access.p[i];
      if (a->hot && a->weight)
        held += (t->p >= 0 && a->depends[t->p] ? t->up : 1) * (t->q >= 0 && a->depends[t->q] ? t->uq : 1) * t->terms;
    }
    return wide * (t->up * t->uq + held + tunable(m->ir->ctx, spread_registers));
  }
  int operands = t->up < t->uq ? t->up : t->uq; /* the smaller side stays in registers, the other streams */
  if (t->whole) /* data that slides along stays, too */
    return wide * (t->up * t->uq + group_words(m) * (2 * operands * t->terms + 1));
  return wide * (t->up * t->uq + group_words(m) * (operands + (operands == t->up * t->uq ? 0 : 1)));
}

/* Waiting for the last of two threads that share few tiles, at a probability of one half. */
static double uneven(const Model *m, double tiles) {
  return tiles < 1 || tiles > tunable(m->ir->ctx, few_tiles) ? 1 : 0.5 + ceil(tiles / 2) / tiles;
}

static int64_t round_up(int64_t n, int by) { return (n + by - 1) / by * by; }

/* Cycles of the whole nest divided by steps, with rests. Rests are priced by the same model at their own size. If the vector
 * range has a rest, its lanes are halved until they fit. */
double tile_cycles(const Model *m, Tile t) {
  double total = 0, others = 1, shares = 1; /* shares: product of extents that threads may share, which excludes rows */
  int bodies = 0;
  int64_t ep = 1, eq = 1;
  int ulp = 1, ulq = 1; /* elements that a copy covers along p and q */
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
  if (t.stage && t.p >= 0 && t.p != t.v) ep = round_up(ep, t.up); /* the last tile that walks a panel overlaps the previous one */
  if (t.stage && t.q >= 0 && t.q != t.v) eq = round_up(eq, t.uq);
  int64_t pn[3], qn[3]; /* tiles: full ones, a rest of whole copies, a rest of single elements */
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
  total *= 1 + rate(m->t, FETCHED, TILE) * (bodies - 1);
  /* lanes are combined once per result, at the end */
  if (t.v >= m->nout && m->red)
    total = total * rate(m->t, ACROSS, TILE) + rate(m->t, COMBINE, TILE) * t.lanes / m->steps * (double)ep * (double)eq;
  total *= others;
  return worth_sharing(m->t, BY_TILE, total * m->steps) ? total * uneven(m, (double)pn[0] * (double)qn[0] * shares) : total;
}

bool tile_copies(const Model *m, const Tile *t) {
  bool any = false;
  for (size_t i = 0; i < m->access.n; i++) any |= from_copy(m, &m->access.p[i], t);
  return any;
}

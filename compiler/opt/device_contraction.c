/* SPDX-License-Identifier: MIT */
/* device_contraction.c: chooses tiles for sums of products on a device, by the device's facts alone.
 *
 * A sum of products has two sides. A side consists of the nest's ranges that only one factor varies with. A block takes a tile
 * of both sides, and a thread takes copies along both. The panels of a tile go through shared memory (stage_shared.c). Ranges
 * that both factors vary with count products, and each product has its own blocks.
 *
 * For each side, the file lists ways to split its ranges into threads and copies. Several ways may
 * have equal numbers of threads and copies: the one that computes least behind the ends of ranges stays. Then all pairs of ways
 * are priced. A thread takes some instructions for each term, with its share of panels and barriers. The price is their number
 * times the rounds in which the device takes all blocks. opts_check judges the cheapest ones.
 *
 * If the device has a matrix unit for the factors, one range of each side becomes a side of matrices. Warps and copies take
 * matrices then. These ways are priced in the same instructions, and the cheapest way of both kinds wins.
 *
 * needs: a canonical nest   gives: opts that opts_check accepts   keeps: nests   breaks: nothing */
#include "opts.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
  WAYS = 64,               /* most ways of a side: one for each number of threads and copies */
  TRIED = 12,              /* pairs of ways that opts_check is asked about */
  BARRIER_THREADS = 256,   /* threads of a block whose barrier costs what the device's row says */
  ODD_THREADS = 8,         /* most threads along a range, if their number is no power of two */
  SPLIT = 3                /* most split ranges of a side; they are innermost */
};

typedef struct Split { int threads, copies; } Split; /* how one range is split */
typedef struct Way {       /* how one side is split */
  int threads, copies;     /* products over its ranges */
  int64_t blocks;
  double waste;            /* computed values for each needed value */
  Split split[SPLIT];
} Way;
typedef struct Side {
  int n;
  Ref range[MAX_RANGES];   /* ranges of the nest, outermost first */
  int64_t extent[MAX_RANGES], all;
  int place[MAX_RANGES];   /* indices in the nest */
  int first;               /* index of the outermost range that may be split */
  int beside;              /* the range along which the factor is contiguous; -1: along terms, or along none */
  bool terms_beside;
  int nways;
  Way way[WAYS];
} Side;

typedef struct Shape {
  IR *ir;
  Ref nest;
  const Target *t;
  const Device *d;
  StagedSum p;
  Side side[2];
  int64_t batch;           /* product of the extents of ranges that both factors vary with */
  int64_t terms;
  bool bytes;              /* one instruction sums BYTES_SUMMED products */
} Shape;

/* ---- ways ---- */
static void add_way(Side *s, const Way *w) {
  for (int i = 0; i < s->nways; i++) {
    if (s->way[i].threads != w->threads || s->way[i].copies != w->copies) continue;
    if (w->waste < s->way[i].waste) s->way[i] = *w;
    return;
  }
  if (s->nways < WAYS) s->way[s->nways++] = *w;
}

/* Other numbers than powers of two are worth trying if they divide the extent */
static bool worth_trying(int n, int64_t extent) { return !(n & (n - 1)) || extent % n == 0; }

/* Long rows of threads are powers of two: with 18 of them, products were slower on an H200 than any price says. */
static bool threads_worth_trying(int n, int64_t extent) { return n > ODD_THREADS ? !(n & (n - 1)) : worth_trying(n, extent); }

static void list_ways(const Ctx *c, Side *s, int k, const Way *from) {
  if (k == s->n) {
    add_way(s, from);
    return;
  }
  const int64_t extent = s->extent[k];
  for (int threads = 1; threads * from->threads <= tunable(c, device_side_threads) && threads < 2 * extent; threads++) {
    if (!threads_worth_trying(threads, extent)) continue;
    for (int copies = 1; copies * from->copies <= tunable(c, device_side_copies) && (copies - 1) * threads < extent; copies++) {
      const int64_t tile = (int64_t)threads * copies, blocks = (extent + tile - 1) / tile;
      Way w = *from;
      if (!worth_trying(copies, extent)) continue;
      w.threads *= threads;
      w.copies *= copies;
      w.blocks *= blocks;
      w.waste *= (double)(blocks * tile) / (double)extent;
      w.split[k - s->first] = (Split){ threads, copies };
      list_ways(c, s, k + 1, &w);
    }
  }
}

static void open_side(const Shape *x, Side *s, Ref factor) {
  const Node *red = node(x->ir, x->p.red);
  const Ref load = main_load(x->ir, factor);
  Way w = { 1, 1, 1, 1, { { 0, 0 } } };
  s->beside = -1;
  s->first = s->n > SPLIT ? s->n - SPLIT : 0;
  for (int k = 0; k < s->first; k++) w.blocks *= s->extent[k];
  list_ways(x->ir->ctx, s, s->first, &w);
  for (int k = 0; k < s->n && load; k++)
    if (memory_step(x->ir, load_index(node(x->ir, load)), s->range[k]) == 1) s->beside = k;
  for (int k = 1; k < red->nsrc && load && s->beside < 0; k++)
    s->terms_beside |= memory_step(x->ir, load_index(node(x->ir, load)), red->src[k]) == 1;
}

/* ---- prices ---- */
/* Length of a panel's contiguous pieces in memory */
static double run_of(const Side *s, const Way *w, int depth) {
  if (s->beside < 0) return s->terms_beside ? depth : 1;
  if (s->beside < s->first) return 1;
  const Split *x = &w->split[s->beside - s->first];
  return (double)fmin((double)x->threads * x->copies, (double)s->extent[s->beside]);
}

/* Instructions to copy a panel, for each term */
static double copy_cost(const Shape *x, const Side *s, const Way *w, int depth) {
  const double run = run_of(s, w, depth), segment = (double)x->d->segment / 4;
  const DeviceCosts *cost = &x->d->costs;
  return (double)w->threads * w->copies * (cost->copy + cost->request * (run < segment ? segment / run : 1));
}

/* parts: of a sum. inner: the side of the threads that are neighbours; inner_range: the index of their range */
typedef struct Choice { const Way *a, *b; int inner, inner_range, depth, parts; double price; } Choice;

static Choice choice_of(const Shape *x, const Way *a, const Way *b) {
  Choice c = { .a = a, .b = b, .parts = 1 };
  int last = -1;
  for (int f = 0; f < 2; f++)
    for (int k = x->side[f].first; k < x->side[f].n; k++) {
      const Split *split = &(f ? b : a)->split[k - x->side[f].first];
      if (split->threads < 2 || x->side[f].place[k] < last) continue;
      last = x->side[f].place[k];
      c.inner = f;
      c.inner_range = k;
    }
  return c;
}

/* Instructions to load an element of a factor without a panel. It is one if neighbouring
 * threads load the same element or neighbours. */
static double load_cost(const Shape *x, const Choice *c, int factor) {
  return c->inner != factor || x->side[factor].beside == c->inner_range ? 1 : x->d->costs.request;
}

/* Elements that a thread loads at once from a panel: copies along the innermost range that has some (stage_shared.c) */
static int vector_of(const Way *w) {
  int copies = 1;
  for (int k = 0; k < SPLIT; k++)
    if (w->split[k].copies > 1) copies = w->split[k].copies;
  return staged_vector(copies);
}

/* Instructions to load a term's factors from panels */
static double panel_loads(const Choice *c) {
  return (double)c->a->copies / vector_of(c->a) + (double)c->b->copies / vector_of(c->b);
}

/* Instructions that the threads of a block wait at a barrier: the more of them there are, the later the last one comes */
static double barrier_cost(const Shape *x, double threads) { return x->d->costs.barrier * threads / BARRIER_THREADS; }

/* Registers of a thread with so many sums and loaded factors */
static double registers_of(const Shape *x, double sums, double factors) {
  return sums + factors + tunable(x->ir->ctx, device_registers);
}

/* Threads of a unit's blocks that its registers have room for */
static double room_for(const Shape *x, double lanes, double registers) {
  return x->d->registers ? floor(x->d->registers / (registers * lanes)) * lanes : INFINITY;
}

/* The price of all blocks, and of adding the parts of sums. instructions: those of each thread; sums: its registers of sums;
 * factors: its registers of loaded factors */
static double price_of_blocks(const Shape *x, double blocks, double threads, double sums, double factors, int parts,
                              double instructions) {
  const double warp = fmax(x->d->warp, tunable(x->ir->ctx, device_warp_least));
  const double lanes = ceil(threads / warp) * warp; /* an incomplete warp takes as long as a full one */
  const double results = (double)x->side[0].all * (double)x->side[1].all * (double)x->batch;
  const double adds = parts > 1 ? x->d->costs.launch + results * x->d->costs.memory * (2 * parts + 1) / x->d->units : 0;
  const double each = ceil(blocks / x->d->units), room = room_for(x, lanes, registers_of(x, sums, factors));
  const double resident = fmin(fmin(each * lanes, room), fmax(x->d->unit_threads, lanes));
  if (!room) return INFINITY; /* sums would spill */
  /* independent sums of a thread hide latency */
  const double busy = fmin(1, resident * (sums >= 4 ? 2 : 1) / x->d->unit_threads);
  return instructions * lanes * each / busy + adds;
}

/* The price of the whole nest, in instructions of one unit, whose threads take turns. depth 0: no panels */
static double price(const Shape *x, const Choice *c) {
  const Way *a = c->a, *b = c->b;
  const int depth = c->depth;
  const double threads = (double)a->threads * b->threads, sums = (double)a->copies * b->copies;
  const DeviceCosts *cost = &x->d->costs;
  const double blocks = (double)a->blocks * (double)b->blocks * (double)x->batch * c->parts, terms = (double)x->terms / c->parts;
  double rounds = depth ? ceil(terms / depth) : 1, term = cost->term + sums;
  if (depth)
    term += panel_loads(c) + 2 * barrier_cost(x, threads) / depth +
            (copy_cost(x, &x->side[0], a, depth) + copy_cost(x, &x->side[1], b, depth)) / threads;
  if (depth && x->bytes) term -= (cost->term + sums + panel_loads(c)) * (BYTES_SUMMED - 1) / BYTES_SUMMED;
  if (!depth) term += a->copies * load_cost(x, c, 0) + b->copies * load_cost(x, c, 1);
  return price_of_blocks(x, blocks, threads, sums, (double)a->copies + b->copies, c->parts,
                         rounds * (depth ? depth : terms) * term);
}

/* ---- the best ---- */
typedef struct Best { int n; Choice choice[TRIED]; } Best; /* the cheapest first */

static void keep_choice(Best *b, const Choice *c) {
  if (c->price == INFINITY) return;
  int at = b->n < TRIED ? b->n++ : TRIED;
  if (at == TRIED && b->choice[TRIED - 1].price <= c->price) return;
  if (at == TRIED) at--;
  for (; at && b->choice[at - 1].price > c->price; at--) b->choice[at] = b->choice[at - 1];
  b->choice[at] = *c;
}

/* The outermost range of the reduction that `parts` divides; 0: there is none, or the parts would be too short */
static Ref parts_range(const Shape *x, int parts) {
  const Node *red = node(x->ir, x->p.red);
  if (x->terms / parts < tunable(x->ir->ctx, device_part_least) || keeps_order(x->ir, x->p.red, x->t)) return 0;
  for (int k = 1; k < red->nsrc; k++)
    if (range_extent(node(x->ir, red->src[k])) % parts == 0) return red->src[k];
  return 0;
}

/* Parts of sums are considered only while they give work to idle units. */
static void keep_best(const Shape *x, Best best[2], Choice c) {
  const double blocks = (double)c.a->blocks * (double)c.b->blocks * (double)x->batch;
  const int most = tunable(x->ir->ctx, device_parts_most);
  for (; c.parts == 1 || (c.parts <= most && blocks * c.parts <= 2 * x->d->units && parts_range(x, c.parts)); c.parts *= 2) {
    c.price = price(x, &c);
    keep_choice(&best[c.parts > 1], &c);
  }
}

/* Elements of both panels for each term. A panel without room for its pitch would have all of a warp's stores in one bank. */
static int64_t panel_elems(const Shape *x, const Choice *c) {
  int64_t elems = 0;
  for (int f = 0; f < 2; f++) {
    const Way *w = f ? c->b : c->a;
    const int64_t width = (int64_t)w->threads * w->copies;
    const bool spread = x->side[f].terms_beside && !x->bytes;
    elems += spread ? staged_pitch(x->d, width, c->depth, vector_of(w)) : width;
  }
  return elems;
}

static void try_pair(const Shape *x, const Way *a, const Way *b, Best best[2]) {
  const double products = (double)x->terms * (double)x->side[0].all * (double)x->side[1].all * (double)x->batch;
  const int bytes = dt_bytes((DType)node(x->ir, x->p.red)->dt), usual = tunable(x->ir->ctx, device_depth);
  const bool long_sums = products >= tunable(x->ir->ctx, device_long);
  if (a->threads * b->threads > x->d->max_threads || a->threads * b->threads < 2) return;
  if (a->copies * b->copies > (long_sums && x->d->shared_is_fast ? x->d->sums_long : x->d->sums)) return;
  Choice c = choice_of(x, a, b);
  if (!x->d->shared_is_fast) keep_best(x, best, c);
  for (c.depth = 4; c.depth <= 2 * usual && x->d->shared_is_fast; c.depth++) {
    if (x->bytes && c.depth % BYTES_SUMMED) continue;
    if (c.depth > x->terms || (c.depth != usual && x->terms % c.depth)) continue;
    if (panel_elems(x, &c) * c.depth * bytes <= x->d->shared_bytes) keep_best(x, best, c);
  }
}

static Opts opts_of(const Shape *x, const Choice *c) {
  const Nest nest = nest_open(x->ir, x->nest);
  Opts o = { .n = 0 };
  for (int k = 0; k < nest.n; k++) o.opt[o.n++] = (Opt){ .range = nest.ranges[k], .unroll = 1, .lanes = 1, .grid = true };
  for (int f = 0; f < 2; f++) {
    const Side *s = &x->side[f];
    for (int i = s->first; i < s->n; i++) {
      const Split split = (f ? c->b : c->a)->split[i - s->first];
      for (int k = 0; k < o.n; k++) {
        if (o.opt[k].range != s->range[i]) continue;
        o.opt[k].threads = split.threads > 1 ? split.threads : 0;
        o.opt[k].unroll = split.copies;
      }
    }
  }
  const Node *red = node(x->ir, x->p.red);
  if (c->depth) o.staged = red_range(red, 0), o.depth = c->depth;
  if (c->parts == 1) return o;
  o.split = parts_range(x, c->parts);
  o.sum_parts = c->parts;
  for (int k = 1; k < red->nsrc && c->depth; k++) /* panels need a range that is left in a part */
    if (red->src[k] != o.split || range_extent(node(x->ir, o.split)) > o.sum_parts) o.staged = red->src[k];
  return o;
}

/* ---- matrix units ---- */
enum {
  WARPS = 4,               /* most warps along one side */
  MATRIX_COPIES = 4,
  MATRIX_SUMS = 64,        /* most registers of a thread for sums */
  MATRIX_DEPTHS = 4        /* most steps of the unit in a panel */
};

typedef struct UnitChoice {
  const MatrixUnit *u;
  int first;               /* the side of the matrices' rows */
  int range[2];            /* for each side, the index of the range that matrices split */
  Way way[2];              /* threads: warps times values of a matrix's side */
  int depth, parts;
  double price;
} UnitChoice;

static double unit_price(const Shape *x, const UnitChoice *c) {
  const MatrixUnit *u = c->u;
  const Way *a = &c->way[0], *b = &c->way[1]; /* sides of factors 0 and 1 */
  const double warps = (double)a->threads * b->threads / u->m / u->n, threads = warps * u->threads;
  const double blocks = (double)a->blocks * (double)b->blocks * (double)x->batch * c->parts;
  const double terms = (double)x->terms / c->parts, rounds = ceil(terms / c->depth), copies = (double)a->copies * b->copies;
  const double multiply = copies * (double)u->m * u->n * u->k / u->products;
  const double load = c->way[c->first].copies * unit_elements(u, MATRIX_A) +
                      c->way[!c->first].copies * unit_elements(u, MATRIX_B);
  const double copy = (copy_cost(x, &x->side[0], a, c->depth) + copy_cost(x, &x->side[1], b, c->depth)) * c->depth / threads;
  const double round = (double)c->depth / u->k * (x->d->costs.term + multiply + load) + copy + 2 * barrier_cost(x, threads);
  return price_of_blocks(x, blocks, threads, copies * unit_elements(u, MATRIX_C), load * dt_bytes(u->a) / 4, c->parts,
                         rounds * round);
}

typedef struct UnitBest { int n; UnitChoice choice[TRIED]; } UnitBest; /* the cheapest first */

static void keep_unit(const Shape *x, UnitBest *b, UnitChoice c) {
  c.price = unit_price(x, &c);
  if (c.price == INFINITY) return;
  int at = b->n < TRIED ? b->n++ : TRIED;
  if (at == TRIED && b->choice[TRIED - 1].price <= c.price) return;
  if (at == TRIED) at--;
  for (; at && b->choice[at - 1].price > c.price; at--) b->choice[at] = b->choice[at - 1];
  b->choice[at] = c;
}

/* Splits one range of a side into warps and copies of matrices; the others stay as blocks of one value. False: most would be
 * empty */
static bool unit_way(const Side *s, int range, int extent, int warps, int copies, Way *out) {
  const int64_t tile = (int64_t)extent * warps * copies;
  *out = (Way){ extent * warps, copies, 1, 1, { { 0, 0 } } };
  if ((int64_t)extent * warps >= 2 * s->extent[range] || (int64_t)(copies - 1) * extent * warps >= s->extent[range]) return false;
  for (int k = 0; k < s->n; k++) {
    const int64_t blocks = k == range ? (s->extent[k] + tile - 1) / tile : s->extent[k];
    out->blocks *= blocks;
    if (k >= s->first) out->split[k - s->first] = k == range ? (Split){ extent * warps, copies } : (Split){ 1, 1 };
  }
  return true;
}

/* Tries all depths of panels and numbers of parts. */
static void try_depths(const Shape *x, UnitChoice c, UnitBest *best) {
  const MatrixUnit *u = c.u;
  const double blocks = (double)c.way[0].blocks * (double)c.way[1].blocks * (double)x->batch;
  const int most = tunable(x->ir->ctx, device_parts_most);
  for (int k = 1; k <= MATRIX_DEPTHS; k *= 2) {
    c.depth = k * u->k;
    if (c.depth > x->terms) break;
    for (c.parts = 1; c.parts == 1 || (c.parts <= most && blocks * c.parts <= 2 * x->d->units && parts_range(x, c.parts));
         c.parts *= 2)
      keep_unit(x, best, c);
  }
}

static void try_unit(const Shape *x, UnitChoice c, UnitBest *best) {
  const int of[2] = { c.first ? c.u->n : c.u->m, c.first ? c.u->m : c.u->n }; /* extents of a matrix along the sides */
  for (int wa = 1; wa <= WARPS; wa *= 2)
    for (int ca = 1; ca <= MATRIX_COPIES; ca *= 2)
      for (int wb = 1; wb <= WARPS && wa * wb * c.u->threads <= x->d->max_threads; wb *= 2)
        for (int cb = 1; cb <= MATRIX_COPIES; cb *= 2)
          if (ca * cb * unit_elements(c.u, MATRIX_C) <= MATRIX_SUMS &&
              unit_way(&x->side[0], c.range[0], of[0], wa, ca, &c.way[0]) &&
              unit_way(&x->side[1], c.range[1], of[1], wb, cb, &c.way[1]))
            try_depths(x, c, best);
}

static bool unit_takes(const Shape *x, const MatrixUnit *u, int first) {
  return node(x->ir, x->p.red)->dt == u->c && unit_factor(x->ir, x->p.factor[first], u->a) &&
         unit_factor(x->ir, x->p.factor[!first], u->b);
}

static Opts unit_opts(const Shape *x, const UnitChoice *c) {
  const Side *s = x->side;
  Choice plain = { .a = &c->way[0], .b = &c->way[1], .depth = c->depth, .parts = c->parts };
  Opts o = opts_of(x, &plain);
  o.unit = c->u;
  for (int k = 0; k < 2; k++) {
    const int f = k ? !c->first : c->first;
    o.side[k] = s[f].range[c->range[f]];
    for (int i = 0; i < o.n; i++) {
      const int warps = o.opt[i].range == o.side[k] ? o.opt[i].threads / (k ? c->u->n : c->u->m) : 0;
      if (o.opt[i].range == o.side[k]) o.opt[i].threads = warps > 1 ? warps : 0;
    }
  }
  return o;
}

/* Schedules with a matrix unit that cost less than `most`; -> their number. Other schedules keep half of the room. */
static int by_unit(const Shape *x, double most, int room, Opts *out) {
  UnitBest best = { .n = 0 };
  const MatrixUnit *u;
  int found = 0;
  for (int i = 0; (u = device_matrix_unit(x->d, i)); i++)
    for (int first = 0; first < 2; first++) {
      if (!unit_takes(x, u, first)) continue;
      for (int a = x->side[0].first; a < x->side[0].n; a++)
        for (int b = x->side[1].first; b < x->side[1].n; b++)
          try_unit(x, (UnitChoice){ .u = u, .first = first, .range = { a, b } }, &best);
    }
  for (int i = 0; i < best.n && found < (room + 1) / 2 && best.choice[i].price < most; i++) {
    out[found] = unit_opts(x, &best.choice[i]);
    found += !opts_check(x->ir, x->nest, x->t, &out[found]);
  }
  return found;
}

/* ---- shapes ---- */
/* Finds the reduction that sums products, with the most terms. False: there is none, or another reduction has more terms. */
static bool main_product(Shape *x) {
  Refs all = { 0 };
  double others = 0;
  ir_toposort(x->ir, &x->nest, 1, &all);
  for (size_t i = 0; i < all.n; i++) {
    const Node *red = node(x->ir, all.p[i]);
    StagedSum p;
    int64_t terms = 1;
    if (red->op != OP_RED) continue;
    bool counted = true;
    for (int k = 1; k < red->nsrc; k++) counted &= i64_mul(terms, range_extent(node(x->ir, red->src[k])), &terms);
    const bool product = counted && !staged_product(x->ir, x->nest, red_range(red, 0), &p);
    if (product && terms > x->terms) {
      others += (double)x->terms;
      x->terms = terms;
      x->p = p;
    } else others += (double)terms;
  }
  VEC_FREE(&all);
  return x->terms >= tunable(x->ir->ctx, device_terms_least) && others < (double)x->terms;
}

static bool open_shape(Shape *x) {
  const Nest nest = nest_open(x->ir, x->nest);
  int64_t results = 1;
  x->batch = x->side[0].all = x->side[1].all = 1;
  if (!main_product(x)) return false;
  x->bytes = sums_bytes(x->ir, x->d, &x->p);
  for (int k = 0; k < nest.n; k++) {
    const Ref r = nest.ranges[k];
    const int64_t extent = range_extent(node(x->ir, r));
    const bool in[2] = { ix_uses(x->ir, x->p.factor[0], r), ix_uses(x->ir, x->p.factor[1], r) };
    Side *s = in[0] ? &x->side[0] : &x->side[1];
    if (range_kind(node(x->ir, r)) != RK_LOOP || !extent || !i64_mul(results, extent, &results)) return false;
    if (!in[0] && !in[1]) return false; /* all values would share one sum */
    if (in[0] && in[1]) {
      x->batch *= extent;
      continue;
    }
    s->range[s->n] = r;
    s->place[s->n] = k;
    s->extent[s->n++] = extent;
    s->all *= extent;
  }
  const int least = tunable(x->ir->ctx, device_side_least);
  return results >= tunable(x->ir->ctx, device_results_least) && x->side[0].all >= least && x->side[1].all >= least;
}

/* Sums in parts come first only if they are clearly better; otherwise they are offered last. */
int device_contraction_best(IR *ir, Ref nest, const Target *t, int room, Opts *out) {
  Shape *x = xcalloc(1, sizeof *x);
  Best best[2] = { { .n = 0 }, { .n = 0 } }; /* [0] whole sums, [1] sums in parts */
  int found = 0;
  *x = (Shape){ .ir = ir, .nest = nest, .t = t, .d = t->dev };
  if (open_shape(x)) {
    for (int f = 0; f < 2; f++) open_side(x, &x->side[f], x->p.factor[f]);
    for (int i = 0; i < x->side[0].nways; i++)
      for (int k = 0; k < x->side[1].nways; k++) try_pair(x, &x->side[0].way[i], &x->side[1].way[k], best);
  }
  const double gain = tunable(ir->ctx, device_parts_gain) * t->dev->costs.doubt;
  const bool parts = best[0].n && best[1].n && best[1].choice[0].price * gain < best[0].choice[0].price;
  if (best[0].n) found = by_unit(x, best[parts].choice[0].price, room, out);
  const int order[2] = { parts, !parts }, ways = parts || room > 1 ? 2 : 1;
  for (int w = 0; w < ways; w++)
    for (int i = 0; i < best[order[w]].n && found < room; i++) {
      out[found] = opts_of(x, &best[order[w]].choice[i]);
      found += !opts_check(ir, nest, t, &out[found]);
    }
  free(x);
  return found;
}

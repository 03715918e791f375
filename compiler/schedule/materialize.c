/* SPDX-License-Identifier: MIT */
/* materialize.c: chooses the values that are stored. All others are computed inside the kernels that use them (fusion).
 *
 * One backward walk estimates for every node how often its elements would be evaluated if it were inlined into its consumers.
 * These costs are compared:
 *   inline:  (evaluations - elements) x work of one element
 *   store:   elements x the cost of storing and loading one
 * Some values must be stored:
 *   - graph outputs
 *   - sums of products (contractions), which need a kernel with registers of their own. A kernel has at most one; it is never
 *     below another reduction, nor beside a concatenation that is selected from, which needs all registers
 *   - operands of contractions that are not pure movement, since a contraction reads each operand many times and in scalars.
 *     Integers are stored in the few bits they come in: widening counts as movement
 *   - concatenations, whose parts are written in place
 *   - the data of a scatter, which is computed where the result will be
 *   - reductions in updates, whose nest has loops in its own order
 *   - what a walk reads
 *   - ops of loops, and what a loop reads from outside
 *   - values that are compared with a maximum or minimum
 *   - for ranges of sizes, masks that are computed from inputs, and factors of a contraction whose lanes lie apart
 *
 * A consumer may see a reduction through an EXPAND over the axes it reduced: a mean, a row maximum. The reduction is then
 * computed once, outside the loops that repeat it. This alone makes softmax and layer normalisation one kernel.
 *
 * needs: a folded graph    gives: Place.materialized, .select and .reads_halo    breaks: nothing */
#include "../ir/decisions.h"
#include "../target/matrix_units.h"
#include "sched.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const Ref MANY = UINT32_MAX;
enum { MEETING_MOST = 12 }; /* ops between a root and the contractions that meet in it: bounds the search */
enum { INPUT_MOST = 8, INPUT_USES = 4 }; /* ops between inputs and a value that is stored; uses of an element, at least */
enum { THREAD_ROW = 64 };   /* elements of a row per thread of a block; a longer row is better shared by several blocks */

typedef struct Info {
  double evals;         /* evaluations that the consumers seen so far request */
  double reduced;       /* product of the extents of enclosing reductions, unless hoisted out of them */
  Ref root;             /* the only stored consumer; MANY: several */
  Ref path;             /* the nearest node above that moves elements, or the root. Consumers with the same path request the
                           same element, which is computed once. MANY: several */
  int depth;            /* nodes on the longest path to a root */
  int regrouped;        /* reshapes on that path that split or merge axes */
  bool operand;         /* a contraction reads it */
  bool under;           /* inside a reduction that depends on it */
  bool chosen;          /* a gather chooses the element in each evaluation; no reduction is in between */
  bool selected;        /* part of a concatenation that its kernel selects from */
  bool update;          /* in the nest of a scatter's updates */
  bool must;            /* must be stored */
} Info;

static bool is_leaf(Op op) { return op == OP_CONST || op == OP_PARAM || op == OP_WEIGHT || op == OP_IOTA || op == OP_SIZE; }

/* A CAST that kernels make as they load counts as movement of the narrower value. bf16 is the upper half of f32. f16 needs a
 * conversion, which is cheap in lanes of a weight but not for single elements */
static bool widens(const IR *ir, const Node *x) {
  if (node_widens(ir, x)) return true;
  const Node *s = x->op == OP_CAST && x->dt == DT_F32 ? node(ir, operand(x)) : NULL;
  return s && (s->dt == DT_BF16 || (s->dt == DT_F16 && node(ir, view_base(ir, operand(x)))->op == OP_WEIGHT));
}

/* A matrix unit takes halves as they are stored. */
static bool is_for_unit(const IR *ir, const Node *x, const Target *t) {
  const Node *s = x->op == OP_CAST && x->dt == DT_F32 ? node(ir, operand(x)) : NULL;
  return s && (s->dt == DT_F16 || s->dt == DT_BF16) && device_multiplies(t->dev, (DType)s->dt);
}

/* Constants that fold.c and quantize_weights.c leave in few bits; readers convert them in registers */
static bool unpacks(const IR *ir, Ref r) {
  const Node *x = node(ir, r);
  return !x->varies && op_info[x->op].level == L_EXPR && x->op != OP_CONST;
}

/* Movement on the way down to a value reads elements of it more than once. */
static bool repeats(const IR *ir, Ref r) {
  for (; op_is_movement((Op)node(ir, r)->op) || widens(ir, node(ir, r)); r = operand(node(ir, r))) {
    const Node *x = node(ir, r), *y = node(ir, operand(x));
    if (dims_elems(x->dims, x->rank) > dims_elems(y->dims, y->rank)) return true;
  }
  return false;
}

static bool is_size_mask(const IR *ir, Ref r) {
  Need is;
  return graph_size_mask(ir, r, &is);
}

/* The terms of a reduction, below movement and below a selection of the entries of a run's size */
static Ref terms_of(const IR *ir, const Node *reduce) {
  const Ref r = view_base(ir, operand(reduce));
  return is_size_mask(ir, r) ? view_base(ir, where_yes(node(ir, r))) : r;
}

/* Below a reduction kernelize.c makes an end of a loop of it. Below a padding it is stored with a halo. */
static bool is_end_of_loop(const IR *ir, Ref r) {
  const Node *x = node(ir, r);
  return is_size_mask(ir, r) || (x->op == OP_CMPLT && node(ir, view_base(ir, rhs(x)))->op == OP_SIZE);
}

bool is_contraction(const IR *ir, Ref r) {
  const Node *x = node(ir, r);
  if (x->op != OP_REDUCE || reduce_op(x) != OP_ADD) return false;
  const Node *m = node(ir, terms_of(ir, x));
  return m->op == OP_MUL && lhs(m) != rhs(m) && (repeats(ir, lhs(m)) || repeats(ir, rhs(m)));
}

static int64_t reduced_elems(const IR *ir, const Node *x) { /* terms of one result of a REDUCE */
  const Node *s = node(ir, operand(x));
  int64_t n = dims_elems(x->dims, x->rank);
  return n ? dims_elems(s->dims, s->rank) / n : 0;
}

/* Cost of a gate at the border of a pad whose source cannot have a halo. Lanes along memory share a gate, unless their axis is
 * padded itself. */
static double gate_work(IR *ir, const Node *x, const Target *t) {
  Ref r = pad_data(x), idx[MAX_RANK], at[MAX_RANK];
  for (int a = 0; a < x->rank; a++) idx[a] = range_make(ir, node(ir, r)->dims[a], RK_LOOP);
  memcpy(at, idx, sizeof at);
  for (Ref next; r != view_base(ir, r); r = next) {
    Ref from[MAX_RANK];
    memcpy(from, at, sizeof from);
    view_index(ir, r, from, at);
    next = operand(node(ir, r));
  }
  const Node *y = node(ir, r);
  int inner = y->rank - 1;
  while (inner > 0 && y->dims[inner] == 1) inner--;
  for (int a = 0; a < x->rank && inner >= 0; a++)
    if ((pad_lo(x, a) || pad_hi(x, a)) && ix_uses(ir, at[inner], idx[a]))
      return t->vector_bytes ? rate(t, PAD_LANES, STORE) : rate(t, PAD, STORE);
  return rate(t, PAD, STORE);
}

/* Share of a pad's elements that are in its border or beside it. Readers of the others have no gates (opt/peel.c). */
static double border_share(const Node *x) {
  double inside = 1;
  for (int a = 0; a < x->rank; a++) inside *= fmax(0, 1 - (double)(pad_lo(x, a) + pad_hi(x, a)) / (double)x->dims[a]);
  return 1 - inside;
}

/* Work of one element with everything below it inlined, down to results of reductions. A contraction with a reduction among
 * several consumers will be stored. Attention scores are an example: the softmax reads them for its maximum and its
 * exponentials. For all its consumers such a contraction is a load. */
static void estimate_work(const IR *ir, const Target *t, const Refs *order, double *work) {
  const double hoisted = tunable(ir->ctx, hoisted_share);
  typedef struct Use { uint32_t users; bool reduced, holds; } Use; /* holds: inlines a contraction */
  Use *use = xmalloc(ir->n * sizeof *use);
  memset(use, 0, ir->n * sizeof *use);
  for (size_t i = order->n; i-- > 0;) {
    const Node *x = node(ir, order->p[i]);
    bool reduced = x->op == OP_REDUCE || (op_is_movement((Op)x->op) && use[order->p[i]].reduced);
    for (int k = 0; k < x->nsrc; k++) use[x->src[k]].users++, use[x->src[k]].reduced |= reduced;
  }
  for (size_t i = 0; i < order->n; i++) {
    Ref r = order->p[i];
    const Node *x = node(ir, r);
    double w = op_instructions(t, BY_STORE, (Op)x->op);
    use[r].holds = is_contraction(ir, r);
    for (int k = 0; k < x->nsrc; k++) {
      const Use *u = &use[x->src[k]];
      bool stored = u->holds && u->reduced && u->users > 1;
      w += stored ? 1 : work[x->src[k]];
      use[r].holds |= u->holds && !stored;
    }
    if (x->op == OP_REDUCE) w = (w + 1) * (double)reduced_elems(ir, x);
    if (x->op == OP_SCATTER || op_is_of_loops((Op)x->op)) w = 1; /* a load, for its readers */
    if (x->op == OP_WALK) w = (double)walk_steps(x) * 4 * op_instructions(t, BY_STORE, OP_WALK); /* four loads a step */
    /* hoisted out of the loop that repeats it */
    if (x->op == OP_EXPAND)
      w = w * (double)dims_elems(node(ir, operand(x))->dims, x->rank) / ((double)dims_elems(x->dims, x->rank) * hoisted + 1);
    work[r] = w > 1e15 ? 1e15 : w;
  }
  free(use);
}

/* All parts may have extent 1 and be arithmetic on elements of one value. A kernel that computes them side by side then loads
 * each element once. out[r]: r is a concatenation of such parts. */
static void find_selects(const IR *ir, const Refs *order, bool *out) {
  Ref *from = xmalloc(ir->n * sizeof *from); /* the only value that is not constant; 0: none */
  for (size_t i = 0; i < order->n; i++) {
    Ref r = order->p[i], one = 0;
    const Node *x = node(ir, r);
    bool parts = x->op == OP_CAT && x->nsrc <= tunable(ir->ctx, select_most) && x->dims[cat_axis(x)] == x->nsrc;
    for (int k = 0; k < x->nsrc; k++) {
      Ref q = from[x->src[k]];
      one = !one || one == q ? q : q ? MANY : one;
    }
    out[r] = parts && one && one != MANY && one != view_base(ir, cat_part(x, 0));
    bool inside = out[r] || op_is_movement((Op)x->op) || op_info[x->op].level == L_EXPR;
    from[r] = x->op == OP_CONST ? 0 : inside && one != MANY ? one : r; /* a result of several values counts as a value of its
                                                                          own */
  }
  free(from);
}

/* out[r]: computing r selects from a concatenation, unless that is stored. Looks down to contractions and to values with other
 * users */
static void find_selecting(const IR *ir, const Refs *order, const bool *selects, bool *out) {
  uint32_t *users = xmalloc(ir->n * sizeof *users);
  memset(users, 0, ir->n * sizeof *users);
  for (size_t i = 0; i < order->n; i++)
    for (int k = 0; k < node(ir, order->p[i])->nsrc; k++) users[node(ir, order->p[i])->src[k]]++;
  for (size_t i = 0; i < order->n; i++) {
    Ref r = order->p[i];
    const Node *x = node(ir, r);
    out[r] = selects[r];
    for (int k = 0; k < x->nsrc && !is_contraction(ir, r); k++) out[r] |= out[x->src[k]] && users[x->src[k]] == 1;
  }
  free(users);
}

static bool is_extreme(const IR *ir, Ref r) {
  const Node *x = node(ir, view_base(ir, r));
  return x->op == OP_REDUCE && (reduce_op(x) == OP_MAX || reduce_op(x) == OP_MIN);
}

/* A value computed twice may be rounded differently, and then equal no maximum of itself. */
static void store_compared(const IR *ir, const Refs *order, Info *info) {
  for (size_t i = 0; i < order->n; i++) {
    const Node *x = node(ir, order->p[i]);
    const bool compares = x->op == OP_CMPEQ || x->op == OP_CMPNE || x->op == OP_CMPLT || x->op == OP_CMPLE;
    for (int k = 0; k < 2 && compares; k++)
      if (is_extreme(ir, x->src[!k])) info[view_base(ir, x->src[k])].must = true;
  }
}

/* r is computed from inputs alone, element by element. */
static bool only_of_inputs(const IR *ir, Ref r, int depth) {
  const Node *x = node(ir, r);
  bool yes = depth < INPUT_MOST &&
             (x->op == OP_PARAM || !x->varies || op_is_movement((Op)x->op) || op_info[x->op].level == L_EXPR);
  for (int k = 0; k < x->nsrc && yes && x->varies; k++) yes = only_of_inputs(ir, x->src[k], depth + 1);
  return yes;
}

/* Memory of the caller ends where a run's size says, and vectors must end there, too. So a kernel of many elements reads few ones
 * that follow from inputs, such as a mask of attention, from memory of the plan. */
static void store_masks(const IR *ir, const Refs *order, Info *info) {
  for (size_t i = 0; i < order->n && ir->symbols.n; i++) {
    const Node *x = node(ir, order->p[i]);
    const Ref r = x->op == OP_EXPAND ? view_base(ir, operand(x)) : 0;
    const Node *y = node(ir, r);
    if (!r || op_info[y->op].level != L_EXPR || !y->varies || is_end_of_loop(ir, r) || dt_int((DType)y->dt)) continue;
    const bool often = dims_elems(y->dims, y->rank) * INPUT_USES <= dims_elems(x->dims, x->rank);
    if (often && only_of_inputs(ir, r, 0)) info[r].must = true;
  }
}

/* x, a reshape of s, does more than add and remove axes of extent 1. */
static bool regroups(const Node *x, const Node *s) {
  int a = 0;
  for (int i = 0; i < x->rank; i++) {
    if (x->dims[i] == 1) continue;
    while (a < s->rank && s->dims[a] == 1) a++;
    if (a == s->rank || s->dims[a++] != x->dims[i]) return true;
  }
  return false;
}

/* The value of the factor r in which each element is there once: below expansion and axes of extent 1. idx: the index into r;
 * becomes that into the value */
static Ref without_repeats(IR *ir, Ref r, Ref *idx) {
  for (;;) {
    const Node *x = node(ir, r), *y = x->nsrc ? node(ir, operand(x)) : NULL;
    if (x->op != OP_EXPAND && (x->op != OP_RESHAPE || regroups(x, y))) return r;
    Ref at[MAX_RANK];
    view_index(ir, r, idx, at);
    memcpy(idx, at, sizeof at);
    r = operand(x);
  }
}

/* The axis of `stored` along which a contraction's lanes run, if elements side by side in memory are terms of one sum. lane,
 * term: ranges of both. -1: lanes lie side by side, or their place is not known. */
static int lanes_apart(IR *ir, Ref stored, const Ref *idx, Ref lane, Ref term) {
  Ref r = stored, at[MAX_RANK], next[MAX_RANK], rest;
  const Node *x = node(ir, r);
  int64_t step = 0;
  int axis = -1;
  for (int a = 0; a < x->rank; a++)
    if (idx[a] == lane) axis = a;
  memcpy(at, idx, sizeof at);
  for (; op_is_movement((Op)x->op); r = operand(x), x = node(ir, r)) {
    view_index(ir, r, at, next);
    memcpy(at, next, sizeof at);
  }
  /* not a cache with some entries appended: copying all of it takes longer than one row of scores */
  const bool computed = x->op == OP_REDUCE || (op_info[x->op].level == L_EXPR && x->op != OP_WHERE);
  if (r == stored || !computed || !x->varies || x->loop || !x->rank || axis < 0) return -1;
  const Ref inner = at[x->rank - 1];
  return !ix_uses(ir, inner, lane) && ix_split(ir, inner, term, &step, &rest) && step == 1 ? axis : -1;
}

/* Stores factors of the contraction r again if its lanes lie apart in them. */
static void store_factors(Sched *s, Ref r, Info *info) {
  IR *ir = s->ir;
  const Node *x = node(ir, r), *m = node(ir, terms_of(ir, x)), *y = node(ir, operand(x));
  const int lanes = s->plan->in->target->vector_bytes / 4;
  int lane = x->rank - 1, term = -1;
  while (lane > 0 && x->dims[lane] == 1) lane--;
  for (int a = 0; a < m->rank; a++)
    if (reduce_axes(x) >> a & 1 && m->dims[a] > 1) term = a;
  if (m->dt != DT_F32 || x->loop || term < 0 || x->dims[lane] < lanes) return;
  if (m->rank != y->rank || memcmp(m->dims, y->dims, (size_t)m->rank * sizeof *m->dims)) return;
  for (int k = 0; k < 2; k++) {
    Ref range[MAX_RANK], idx[MAX_RANK];
    for (int a = 0; a < m->rank; a++) range[a] = idx[a] = range_make(ir, m->dims[a], RK_LOOP);
    const Ref stored = without_repeats(ir, m->src[k], idx);
    const int axis = lanes_apart(ir, stored, idx, range[lane], range[term]);
    y = node(ir, stored);
    if (axis < 0 || dims_elems(y->dims, y->rank) * lanes > dims_elems(m->dims, m->rank)) continue;
    info[stored].must = true;
    s->place[stored].across = 1 + axis;
  }
}

/* Panels of a fixed size put the lanes of a factor side by side (opt/stage.c). For ranges of sizes a kernel of its own does so,
 * which serves all tiles and rests: the keys of attention are an example. Each element must be read often. */
static void store_apart(Sched *s, Info *info) {
  const IR *ir = s->ir;
  const Target *t = s->plan->in->target;
  for (size_t i = 0; i < s->order.n && ir->symbols.n && t->vector_bytes && !t->dev; i++)
    if (is_contraction(ir, s->order.p[i])) store_factors(s, s->order.p[i], info);
}

typedef struct Fuse {
  Sched *s;
  Info *info;              /* by Ref */
  double *work;            /* work of one element with everything below it inlined */
  Ref *contraction;        /* by root: the contraction in its kernel */
  bool *selects, *selecting; /* find_selects(), find_selecting() */
  int *chain;              /* for a device: number of contractions in a row below a value; else NULL */
  int64_t row_elems;       /* elements of a row that registers hold from a reduction to the root */
} Fuse;

typedef enum { INLINED, MATERIALIZED, HALO, FATES } Fate; /* HALO: a pad that is read as its source with a halo */
static const char *const fate_name[FATES] = { [INLINED] = "inlined", [MATERIALIZED] = "materialized", [HALO] = "halo" };

/* Decides where structure allows several fates: the given one if it is among the allowed ones (bits), else the model's. */
static Fate open_fate(const Fuse *f, Ref r, Fate model, uint32_t allowed) {
  const IR *ir = f->s->ir;
  const Question q = ask_node(ir, "materialize", r);
  const int given = q.given ? word_index(fate_name, FATES, q.given) : FATES;
  const bool fits = allowed >> given & 1;
  if (q.given && !fits) answer_refused(ir, &q, "the value's readers do not allow it");
  const Fate fate = fits ? (Fate)given : model;
  answer_with(ir, &q, fate_name[fate]);
  return fate;
}

/* Computing the value as often as it is requested costs more than memory. */
static bool costs_more(const Fuse *f, Ref r) {
  const Node *x = node(f->s->ir, r);
  const double elems = (double)dims_elems(x->dims, x->rank), extra = f->info[r].evals - elems;
  return extra > 0 && extra * f->work[r] > elems * rate(f->s->plan->in->target, STORE_LOAD, STORE);
}

static Fate pad_fate(const Fuse *f, Ref r) {
  IR *ir = f->s->ir;
  const Node *x = node(ir, r);
  const Info *me = &f->info[r];
  const Target *t = f->s->plan->in->target;
  const int inlined_most = tunable(ir->ctx, inlined_most);
  const double memory = (double)dims_elems(x->dims, x->rank) * rate(t, STORE_LOAD, STORE);
  const Op base = (Op)node(ir, view_base(ir, pad_data(x)))->op;
  const bool fixed = base == OP_PARAM || base == OP_WEIGHT || op_is_of_loops(base) || !node_is_const(ir, pad_fill(x), NULL),
             whole = dt_float((DType)x->dt);
  const bool gates = me->depth <= inlined_most && (!me->operand || (fixed && whole));
  Fate model = INLINED;
  if (me->evals > 0 && (me->operand || costs_more(f, r) || me->evals * rate(t, PAD, STORE) > memory)) {
    /* the source's layout is fixed: a copy with the border, or gates */
    if (!fixed) model = HALO;
    else if (!whole || me->evals * border_share(x) * gate_work(ir, x, t) > memory) model = MATERIALIZED;
  } else if (me->operand || me->depth > inlined_most)
    return MATERIALIZED;
  return open_fate(f, r, model, 1u << MATERIALIZED | (uint32_t)!fixed << HALO | (uint32_t)gates << INLINED);
}

/* Length of the longest chain of contractions below each value */
static int *count_chains(const IR *ir, const Refs *order) {
  int *chain = xcalloc(ir->n, sizeof *chain);
  for (size_t i = 0; i < order->n; i++) {
    const Node *x = node(ir, order->p[i]);
    for (int k = 0; k < x->nsrc; k++)
      if (chain[x->src[k]] > chain[order->p[i]]) chain[order->p[i]] = chain[x->src[k]];
    chain[order->p[i]] += is_contraction(ir, order->p[i]);
  }
  return chain;
}

/* Whether `at`, part of a root, contains a contraction at the end of a longer chain than r. The root's kernel holds only one.
 * It should hold the later one: the earlier one is then stored, and can share a launch with the kernels before it
 * (group/join.c). */
static bool holds_later(const Fuse *f, Ref at, Ref r, int depth) {
  const Node *x = node(f->s->ir, at);
  if (!f->chain || depth > MEETING_MOST || f->chain[at] <= f->chain[r]) return false;
  if (is_contraction(f->s->ir, at)) return true;
  for (int k = 0; k < x->nsrc; k++)
    if (x->op != OP_REDUCE && x->op != OP_GATHER && x->op != OP_SCATTER && holds_later(f, x->src[k], r, depth + 1)) return true;
  return false;
}

/* A number that follows from sizes alone, such as the place of the last entry. Bounds of indices must see it. */
static bool is_of_sizes(const IR *ir, Ref r, int depth) {
  const Node *x = node(ir, r);
  bool yes = depth < INPUT_MOST && (x->op == OP_SIZE || x->op == OP_CONST || op_info[x->op].level == L_EXPR) && !x->rank;
  for (int k = 0; k < x->nsrc && yes; k++) yes = is_of_sizes(ir, x->src[k], depth + 1);
  return yes;
}

/* An i64 between constants or sizes, as the index of a gather that is kept among the entries of a run. Bounds must see that, too.
 * The value before it is kept may be stored. */
static bool is_kept_by_sizes(const IR *ir, Ref r) {
  const Node *x = node(ir, r);
  if (!ir->symbols.n || (x->op != OP_MIN && x->op != OP_MAX) || x->dt != DT_I64) return false;
  return is_of_sizes(ir, view_base(ir, lhs(x)), 0) || is_of_sizes(ir, view_base(ir, rhs(x)), 0);
}

/* Decides the fate of r, once all its consumers have made their requests */
static Fate fate_of(const Fuse *f, Ref r) {
  const IR *ir = f->s->ir;
  const Tunables *u = tunables_of(ir->ctx);
  const Node *x = node(ir, r);
  const Info *me = &f->info[r];
  const double elems = (double)dims_elems(x->dims, x->rank);
  const bool of_run = !me->must && (is_end_of_loop(ir, r) || is_of_sizes(ir, r, 0) || is_kept_by_sizes(ir, r));
  if (is_leaf((Op)x->op) || op_is_gathering((Op)x->op) || of_run) return INLINED;
  if (op_is_of_loops((Op)x->op)) return MATERIALIZED;
  if (me->must || x->op == OP_SCATTER || (x->op == OP_REDUCE && me->update) || me->regrouped > u->regrouped_most)
    return MATERIALIZED;
  if (x->op == OP_PAD) return pad_fate(f, r);
  if (x->op == OP_REDUCE && x->dt == DT_F16 && target_sums_halves(f->s->plan->in->target, 0)) return INLINED; /* half_sums.c */
  if (op_is_movement((Op)x->op) || widens(ir, x) || is_for_unit(ir, x, f->s->plan->in->target) || unpacks(ir, r)) {
    const Ref viewed = view_base(ir, r);
    const bool grows = elems > (double)dims_elems(node(ir, viewed)->dims, node(ir, viewed)->rank);
    return me->depth > 4 * u->inlined_most || (me->root == MANY && !grows && f->selects[viewed]) ? MATERIALIZED : INLINED;
  }
  if ((x->op == OP_CAT && !f->selects[r]) || me->operand || me->depth > u->inlined_most) return MATERIALIZED;
  if (is_contraction(ir, r))
    return me->under || me->selected || me->root == MANY || f->selecting[me->root] || f->contraction[me->root] ||
                   me->evals != elems || holds_later(f, me->root, r, 0)
               ? MATERIALIZED
               : INLINED;
  if (x->op == OP_REDUCE && me->under) return MATERIALIZED;
  if (me->evals <= elems) return INLINED;
  return open_fate(f, r, costs_more(f, r) ? MATERIALIZED : INLINED, 1u << MATERIALIZED | 1u << INLINED);
}

/* Changes *ask, the request for x, to the resulting request for its source q: number of evaluations, and enclosing reductions. */
static void ask_source(const IR *ir, const Node *x, Ref q, bool selects, Info *ask) {
  const Node *y = node(ir, q);
  const double elems = (double)dims_elems(x->dims, x->rank), below = (double)dims_elems(y->dims, y->rank);
  if (x->op == OP_REDUCE) {
    ask->evals *= (double)reduced_elems(ir, x);
    ask->reduced = (ask->reduced ? ask->reduced : 1) * (double)reduced_elems(ir, x);
    ask->under = true;
    ask->chosen = false; /* all terms are read, one after the other */
  } else if (x->op == OP_GATHER) {
    ask->chosen = q == gather_data(x); /* not an index: a nest that loads one may not be able to end at a size */
  } else if (x->op == OP_EXPAND) {
    const double factor = elems / (below ? below : 1);
    if (factor <= 1 || ask->chosen) return; /* code cannot tell which evaluations choose the same element */
    ask->evals /= factor; /* one evaluation serves all places of a kernel that use the same element */
    if (ask->root != MANY && ask->evals > below) ask->evals = below;
    if (ask->under && factor >= ask->reduced) ask->under = false, ask->reduced = 0;
  } else if (x->op == OP_SCATTER) {
    ask->evals = below;
  } else if (x->op == OP_PAD) {
    ask->evals *= below / (elems ? elems : 1);
  } else if (selects)
    ask->evals /= x->nsrc;
}

/* Values that a loop reads but does not change are computed before it. Movement and conversion of stored values cost nothing
 * there. Nor does a mask of the entries of a run's size, which would have no value behind these entries if it was stored. */
static void keep_out_of_loop(Fuse *f, const Node *x) {
  const IR *ir = f->s->ir;
  for (int k = 0; k < x->nsrc && body_of(x); k++) {
    const Ref r = view_base(ir, x->src[k]);
    const Node *y = node(ir, r);
    const bool sized = (y->op == OP_CMPLT && is_end_of_loop(ir, r)) || is_of_sizes(ir, r, 0) || is_kept_by_sizes(ir, r);
    if (!y->loop && y->varies && !is_leaf((Op)y->op) && !widens(ir, y) && !sized) f->info[r].must = true;
  }
}

/* Passes the requests for r on to its sources. */
static void tell_sources(Fuse *f, Ref r) {
  const IR *ir = f->s->ir;
  const Node *x = node(ir, r);
  const Info *me = &f->info[r];
  const bool selects = f->selects[r], selected = me->selected || selects;
  /* held in registers up to the root: heuristic.c, device_heuristic.c. Not if a run's size says how long the row is */
  const bool row = x->op == OP_REDUCE && me->root != MANY && reduced_elems(ir, x) <= f->row_elems &&
                   !is_size_mask(ir, operand(x));
  const bool moves = op_is_movement((Op)x->op) || selects || x->op == OP_REDUCE || x->op == OP_PAD || x->op == OP_GATHER ||
                     x->op == OP_WALK;
  const Ref above = row ? me->root : moves ? r : me->path;
  const int regrouped = me->regrouped + (x->op == OP_RESHAPE && regroups(x, node(ir, operand(x))));
  keep_out_of_loop(f, x);
  for (int k = 0; k < x->nsrc; k++) {
    Info *to = &f->info[x->src[k]], ask = *me;
    if (x->op == OP_PAD && k == 1) continue;
    if (x->op == OP_CAT && !selects) {
      to->must = true; /* written in place, as part of the whole */
      continue;
    }
    if (x->op == OP_WALK) f->info[view_base(ir, x->src[k])].must = true; /* read at places that data choose, in each step */
    ask_source(ir, x, x->src[k], selects, &ask);
    /* updates have their own nest, which shares no elements with the nest of the data */
    const bool update = x->op == OP_SCATTER && k > 0;
    /* a gather requests its index at its own place */
    const Ref path = update ? MANY : x->op == OP_GATHER && k == 1 ? me->path : above;
    to->update |= me->update || update;
    if (to->path && to->path == path && path != MANY) to->evals = to->evals > ask.evals ? to->evals : ask.evals;
    else to->evals += ask.evals;
    to->path = !to->path || to->path == path ? path : MANY;
    to->under |= ask.under;
    to->chosen |= ask.chosen;
    if (ask.reduced > to->reduced) to->reduced = ask.reduced;
    to->selected |= selected;
    to->operand |= me->operand || (selected && x->op == OP_WINDOW); /* windows overlap, so elements are read often */
    to->root = !to->root || to->root == me->root ? me->root : MANY;
    if (me->depth + 1 > to->depth) to->depth = me->depth + 1;
    if (regrouped > to->regrouped) to->regrouped = regrouped;
  }
  if (is_contraction(ir, r)) /* factors of its product are operands */
    for (int k = 0; k < 2; k++) f->info[node(ir, terms_of(ir, x))->src[k]].operand = true;
}

/* Elements of a row that a kernel computes once for a reduction and for the ops on its result. A CPU keeps them in registers. A
 * block of threads computes them twice, which takes less time than memory and another launch. */
static int64_t row_elems(const Target *t) {
  return t->dev ? (int64_t)THREAD_ROW * t->dev->max_threads : ROW_VECTORS * (t->vector_bytes / 4);
}

void sched_materialize(Sched *s) {
  const IR *ir = s->ir;
  Fuse f = { .s = s, .row_elems = row_elems(s->plan->in->target) };
  f.info = xmalloc(ir->n * sizeof *f.info);
  f.work = xmalloc(ir->n * sizeof *f.work);
  f.contraction = xmalloc(ir->n * sizeof *f.contraction);
  f.selects = xmalloc(ir->n * sizeof *f.selects);
  f.selecting = xmalloc(ir->n * sizeof *f.selecting);
  memset(f.info, 0, ir->n * sizeof *f.info);
  memset(f.contraction, 0, ir->n * sizeof *f.contraction);
  find_selects(ir, &s->order, f.selects);
  find_selecting(ir, &s->order, f.selects, f.selecting);
  const Device *dev = s->plan->in->target->dev;
  f.chain = dev && dev->max_threads > 1 ? count_chains(ir, &s->order) : NULL;
  estimate_work(ir, s->plan->in->target, &s->order, f.work);
  for (size_t i = 0; i < s->g->outputs.n; i++) f.info[s->g->outputs.p[i].ref].must = true;
  store_compared(ir, &s->order, f.info);
  store_masks(ir, &s->order, f.info);
  store_apart(s, f.info);

  for (size_t i = s->order.n; i-- > 0;) {
    const Ref r = s->order.p[i];
    const Node *x = node(ir, r);
    Info *me = &f.info[r];
    Place *p = &s->place[r];
    const Fate fate = fate_of(&f, r);
    p->materialized = fate == MATERIALIZED;
    p->reads_halo = fate == HALO;
    if (p->reads_halo) f.info[pad_data(x)].must = true; /* stored with a halo: layout.c */
    if (p->materialized) {
      p->select = f.selects[r];
      *me = (Info){ .evals = (double)dims_elems(x->dims, x->rank), .root = r, .path = r };
    }
    if (is_contraction(ir, r) && me->root != MANY) f.contraction[me->root] = r;
    tell_sources(&f, r);
  }
  free(f.info);
  free(f.work);
  free(f.contraction);
  free(f.chain);
  free(f.selects);
  free(f.selecting);
}

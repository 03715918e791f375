/* SPDX-License-Identifier: MIT */
/* graph_choices.c: tries other decisions of passes in the whole model: Winograd tiles or none, values that are stored or computed
 * again, layouts, kernel groups. A cost model has made these decisions.
 *
 * Each row of the table below makes a variant of the model: all decisions of a pass with a given answer get another one. The rows
 * with the most of the model's time at stake come first. Each needs time for a build and its runs. Bundles of the
 * variants and of the model run in turn. A decision concerns the nodes of the kernels that have its node. The time of a
 * kernel counts for these by the share of its nodes. A decision about a group concerns the kernels of the group in both answers.
 * Each decision takes the answer of the variant that saves most of this time, surely so. A last bundle has all decisions that
 * were changed, and must be faster than the model. Otherwise none is changed.
 *
 * Decisions that were tried are in the store, changed or not, and are not tried again. */
#include "graph_choices.h"
#include "../../compiler/bundle/bundle.h"
#include "../../compiler/cost/tunable.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LIVES = 4, MANY_LIVES = 24, LEAST_LIVES = 3, FIRST_LIVES = 2, MOST_SIDES = 10, TRIES = 2 };

/* from: an answer, of which '*' stands for any characters; to: the other answer. If `to` is NULL, `tunable` (tunable.h) makes the
 * pass's cost model give other answers. gain: the share of the kernels' time that the row may save, an estimate that orders the
 * rows */
typedef struct Row { const char *pass, *from, *to, *tunable; double gain; } Row;
static const Row rows[] = {
  { "winograd", "*x*", "none", NULL, 0.1 },
  { "group", "*-kernels-*", "alone", NULL, 0.1 },
  { "group", "*", NULL, "group_shares_least=16", 0.06 }, /* shorter chunks */
  { "group", "*", NULL, "l2_part.group=1", 0.06 },       /* values between kernels that fill the second level */
  { "group", "*", NULL, "group_run_least=64", 0.05 },    /* chunks that store short runs of memory */
  { "padding_split", "*", NULL, "padding_gain=1.3", 0.05 },
  { "winograd", "6x6", "4x4", NULL, 0.05 },
  { "winograd", "4x4", "6x6", NULL, 0.05 },
  { "materialize", "inlined", "materialized", NULL, 0.05 },
  { "prefetch", "*", NULL, "prefetch_least=0", 0.03 },
  { "layout", "axis-3", "axis-1", NULL, 0.03 },
  { "layout", "axis-1", "axis-3", NULL, 0.03 },
  { "materialize", "halo", "materialized", NULL, 0.03 },
  { "winograd", "none", "4x4", NULL, 0.02 },
  { "strips", "*-rows", "apart", NULL, 0.03 },
  { "prefetch", "panels-*", "none", NULL, 0.02 },
  { "padding_split", "axes-*", "none", NULL, 0.02 },
  { "materialize", "materialized", "inlined", NULL, 0.01 },
};
enum { ROWS = sizeof rows / sizeof *rows };

typedef struct Stretch { int first, n; } Stretch; /* kernels of a group, or of one that may begin with `first`; n 0: not known */

typedef struct Region { /* nodes and kernels that a decision concerns */
  uint32_t *node;       /* n interned names of nodes, ascending */
  size_t n;
  Stretch kernels;      /* if known, the decision concerns these and no others */
} Region;

typedef struct Tried { /* a decision of the model */
  Decision d;          /* value INSIDE: the model does not ask, since the kernel is inside a group */
  Region region;
  double best, ms;     /* ms of its nodes: on the best side, on the model's */
  const char *value;   /* the best side's answer; NULL: the model's */
  Region on_best;      /* as `region`, for the answer of the best side */
  int side;
} Tried;
static const char INSIDE[] = "inside-a-group";

typedef struct Made { /* decisions of a plan, in the order in which they were made */
  const Decision *d;
  Stretch *span;       /* by decision: if it is about a group, the kernels of the group */
  size_t n;
} Made;

typedef struct Trying {
  Races *r;
  const GraphAsk *ask;
  GraphChoices *out;
  const Plan *plan[MOST_SIDES + 2]; /* the model, sides, the choice */
  Side side[MOST_SIDES + 2];
  KernelOrigins *from[MOST_SIDES + 2]; /* by plan */
  const Row *row[MOST_SIDES + 1];
  Made made[MOST_SIDES + 1]; /* by side: with the tunable of its row, if there is one */
  int n;               /* sides so far, with the model */
  int lives;           /* most processes of a side in a comparison */
  int last;            /* the side with the final decisions; -1: none */
  VEC(Tried) all;
  VEC(Decision) chosen;
} Trying;

/* ---- plans ---- */

/* A plan with these decisions; the cost model makes the others. Writes all that were made into a lock file. */
static const Plan *plan_with(Ctx *c, const Trying *t, const Decision *d, size_t n, const char *lock) {
  const char *path = arena_printf(&c->model, "%s/try%d.tgc-lock", t->r->scratch, t->n);
  lock_write(c, &(Lock){ .chosen = d, .nchosen = n }, path);
  return plan_quietly(c, t->r, path, lock);
}

/* Path of a lock file with all decisions of the model, or of the choice */
static const char *made_path(Ctx *c, const Trying *t, const char *of) {
  return arena_printf(&c->model, "%s/%s.tgc-lock", t->r->scratch, of);
}

static double flops_of(const Plan *p) {
  double all = 0;
  for (size_t k = 0; k < p->kernels.n; k++) all += (double)p->kernels.p[k].flops;
  return all;
}

static bool matches(const char *value, const char *from) {
  for (; *from && *from != '*'; from++, value++)
    if (*from != *value) return false;
  if (!*from) return !*value;
  for (;; value++) {
    if (matches(value, from + 1)) return true;
    if (!*value) return false;
  }
}

/* ---- regions ---- */
static int by_number(const void *a, const void *b) {
  const uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
  return (x > y) - (x < y);
}

static uint32_t name_at(const Plan *p, const KernelOrigins *k, int i) {
  const char *text = p->ir->origins.p[k->origin[i]].text;
  return intern(p->ir->ctx, text, strlen(text));
}

static bool has_node(const Region *r, uint32_t name) { return r->n && bsearch(&name, r->node, r->n, sizeof name, by_number); }

static Region region_closed(const Plan *p, uint32_t *name, size_t all, Stretch kernels) {
  size_t n = 0;
  if (all) qsort(name, all, sizeof *name, by_number);
  for (size_t i = 0; i < all; i++)
    if (!i || name[i] != name[i - 1]) name[n++] = name[i];
  return (Region){ arena_dup(&p->ir->ctx->model, name, n * sizeof *name), n, kernels };
}

/* All nodes of the kernels that have this node */
static Region region_of(const Plan *p, const KernelOrigins *from, const char *node) {
  Ctx *c = p->ir->ctx;
  const uint32_t want = intern(c, node, strlen(node));
  VEC(uint32_t) all = { 0 };
  for (size_t k = 0; k < p->kernels.n; k++) {
    bool has = false;
    for (int i = 0; i < from[k].n; i++) has |= name_at(p, &from[k], i) == want;
    for (int i = 0; i < from[k].n && has; i++) VEC_PUSH(&all, name_at(p, &from[k], i));
  }
  const Region r = region_closed(p, all.p, all.n, (Stretch){ 0 });
  VEC_FREE(&all);
  return r;
}

static Region region_of_kernels(const Plan *p, const KernelOrigins *from, Stretch s) {
  VEC(uint32_t) all = { 0 };
  for (int k = s.first; k < s.first + s.n; k++)
    for (int i = 0; i < from[k].n; i++) VEC_PUSH(&all, name_at(p, &from[k], i));
  const Region r = region_closed(p, all.p, all.n, s);
  VEC_FREE(&all);
  return r;
}

static Stretch span_of_both(Stretch a, Stretch b) {
  if (!a.n || !b.n) return a.n ? a : b;
  const int first = a.first < b.first ? a.first : b.first, x = a.first + a.n, y = b.first + b.n;
  return (Stretch){ first, (x > y ? x : y) - first };
}

/* ms of a kernel in a life of the side; life -1: in all */
static double kernel_ms(const Side *x, size_t k, int life) {
  return life < 0 ? side_kernel_ms(x, k) : side_kernel_life_ms(x, k, (size_t)life);
}

/* ms of the region on a side. Variants with other groups have the same kernels; others need not. */
static double region_ms(const Trying *t, int side, const Region *r, int life) {
  const Plan *p = t->plan[side];
  const KernelOrigins *from = t->from[side];
  const bool same = r->kernels.n && p->kernels.n == t->plan[0]->kernels.n;
  const Side *x = &t->side[side];
  double ms = 0;
  for (int k = 0; same && k < r->kernels.n; k++) ms += kernel_ms(x, (size_t)(r->kernels.first + k), life);
  for (size_t k = 0; k < p->kernels.n && !same; k++) {
    int in = 0;
    for (int i = 0; i < from[k].n; i++) in += has_node(r, name_at(p, &from[k], i));
    if (in) ms += kernel_ms(x, k, life) * in / from[k].n;
  }
  return ms;
}

static bool overlap(const Region *a, const Region *b) {
  size_t both = 0;
  if (a->kernels.n && b->kernels.n)
    return a->kernels.first < b->kernels.first + b->kernels.n && b->kernels.first < a->kernels.first + a->kernels.n;
  for (size_t i = 0; i < a->n; i++) both += has_node(b, a->node[i]);
  return 2 * both > (a->n < b->n ? a->n : b->n);
}

/* ---- what to try ---- */

/* Decisions in a lock file. A decision about a group is made for its first kernel, in the order of kernels. n: the number of
 * kernels of the model */
static Made made_by(Ctx *c, size_t n, const char *lock) {
  Made m;
  int at = 0;
  m.d = decisions_given(lock_read(c, lock)->decisions, &m.n);
  m.span = ARENA_NEW(&c->model, Stretch, m.n + 1);
  for (size_t i = 0; i < m.n; i++) {
    if (strcmp(m.d[i].pass, "group")) continue;
    const int members = atoi(m.d[i].value); /* 0: alone */
    m.span[i] = (Stretch){ at, members > 1 ? members : 1 };
    at += m.span[i].n;
  }
  if (at != (int)n) memset(m.span, 0, m.n * sizeof *m.span); /* other kernels, or a later pass has joined some */
  return m;
}

static bool is_tried(const Trying *t, const Decision *d) {
  for (size_t i = 0; i < t->all.n; i++)
    if (!strcmp(t->all.p[i].d.pass, d->pass) && !strcmp(t->all.p[i].d.key, d->key)) return true;
  return false;
}

static void add_tried(Trying *t, const Made *m, size_t i, const char *value) {
  Tried x = { .d = m->d[i] };
  x.d.value = value;
  if (!x.d.about) x.d.about = "";
  x.d.about += *x.d.about == ' ';
  if (!*x.d.about && !m->span[i].n) return;
  x.region = m->span[i].n ? region_of_kernels(t->plan[0], t->from[0], m->span[i]) : region_of(t->plan[0], t->from[0], x.d.about);
  if (x.region.n) VEC_PUSH(&t->all, x);
}

/* Decisions of the model about nodes of its kernels */
static void read_decisions(Ctx *c, Trying *t) {
  const Made *m = &t->made[0];
  for (size_t i = 0; i < m->n; i++) {
    Decision d = m->d[i];
    bool any = false;
    for (int k = 0; k < ROWS; k++) any |= !strcmp(rows[k].pass, d.pass);
    if (!any) continue;
    const char *known = store_decision(c, t->ask->store, &t->ask->place, d.pass, d.key);
    if (!known) add_tried(t, m, i, d.value);
    if (!known || !strcmp(known, d.value)) continue;
    d.value = known;
    VEC_PUSH(&t->chosen, d);
  }
}

/* Decisions that the model does not ask for, since it has other groups */
static void add_inside(Trying *t, const Made *m, const char *pass) {
  for (size_t i = 0; i < m->n; i++)
    if (!strcmp(m->d[i].pass, pass) && m->span[i].n > 1 && !is_tried(t, &m->d[i])) add_tried(t, m, i, INSIDE);
}

static bool concerns(const Row *row, const Decision *d) {
  return !strcmp(d->pass, row->pass) && matches(d->value, row->from) && (!row->to || strcmp(d->value, row->to));
}

/* ms of the model that the row may save */
static double at_stake(const Trying *t, const Row *row) {
  Region all = { 0 };
  VEC(uint32_t) nodes = { 0 };
  for (size_t i = 0; i < t->all.n; i++) {
    const Tried *x = &t->all.p[i];
    for (size_t k = 0; concerns(row, &x->d) && k < x->region.n; k++) VEC_PUSH(&nodes, x->region.node[k]);
  }
  if (nodes.n) VEC_SORT(&nodes, by_number);
  all = (Region){ nodes.p, nodes.n, { 0 } };
  const double ms = nodes.n ? region_ms(t, 0, &all, -1) : 0;
  VEC_FREE(&nodes);
  return row->gain * ms;
}

typedef VEC(Decision) Decided;

/* Decisions of the cost model with the row's tunable */
static void decide_with(Ctx *c, Trying *t, const Row *row, Decided *d) {
  const Tunables *normal = c->tunables;
  const Target *target = t->r->target;
  const char *lock = arena_printf(&c->model, "%s/with%d.tgc-lock", t->r->scratch, t->n);
  Tunables *u = arena_dup(&c->model, tunables_of(c), sizeof *u);
  Made *m = &t->made[t->n];
  const char *why = tunables_set(&c->model, u, row->tunable);
  CHECK(!why);
  c->tunables = u;
  t->r->target = target_of(c, t->r->o);
  plan_with(c, t, t->chosen.p, t->chosen.n, lock);
  *m = made_by(c, t->plan[0]->kernels.n, lock);
  c->tunables = normal;
  t->r->target = target;
  for (size_t i = 0; i < m->n; i++)
    if (!strcmp(m->d[i].pass, row->pass)) VEC_PUSH(d, m->d[i]);
}

static bool same_decisions(const Made *a, const Made *b, const char *pass) {
  size_t i = 0, k = 0;
  for (;; i++, k++) {
    while (i < a->n && strcmp(a->d[i].pass, pass)) i++;
    while (k < b->n && strcmp(b->d[k].pass, pass)) k++;
    if (i == a->n || k == b->n) return i == a->n && k == b->n;
    if (strcmp(a->d[i].key, b->d[k].key) || strcmp(a->d[i].value, b->d[k].value)) return false;
  }
}

/* Whether the row's tunable changes no decision, or the same as another row's */
static bool is_seen(const Trying *t, const Row *row) {
  bool seen = false;
  for (int k = 0; k < t->n && row->tunable; k++)
    seen |= t->made[k].n && (!k || !strcmp(t->row[k]->pass, row->pass)) && same_decisions(&t->made[k], &t->made[t->n], row->pass);
  return seen;
}

/* The row's variant, if it differs from others, and the number of operations stays about the same */
static void add_side(Ctx *c, Trying *t, const Row *row) {
  Decided d = { 0 };
  for (size_t i = 0; i < t->chosen.n; i++) VEC_PUSH(&d, t->chosen.p[i]);
  t->made[t->n].n = 0;
  if (row->tunable) decide_with(c, t, row, &d);
  for (size_t i = 0; i < t->all.n; i++) {
    Decision x = t->all.p[i].d;
    if (row->tunable || !concerns(row, &x)) continue;
    x.value = row->to;
    VEC_PUSH(&d, x);
  }
  const Plan *p = is_seen(t, row) ? NULL : plan_with(c, t, d.p, d.n, NULL);
  VEC_FREE(&d);
  const double most = strcmp(row->pass, "winograd") ? tunable(c, tune_more_flops) : INFINITY;
  if (!p || flops_of(p) > most * flops_of(t->plan[0])) return;
  if (row->tunable) add_inside(t, &t->made[t->n], row->pass);
  t->plan[t->n] = p;
  t->from[t->n] = kernel_origins(p);
  t->row[t->n] = row;
  if (row->tunable) races_note(t->r, "decisions %s with %s", row->pass, row->tunable);
  else races_note(t->r, "decisions %s, %s in place of %s", row->pass, row->to, row->from);
  t->side[t->n] = side_open(c, t->r, p);
  t->n++;
}

/* Seconds of the last part: the build of the choice, and its comparison with the model */
static double choice_seconds(const Trying *t) {
  return t->r->plan + t->r->build + (t->ask->other ? 2 : 1) * sides_seconds(t->r, 2, LEAST_LIVES, t->lives);
}

/* A variant for each row, as long as there is time for it, for the comparison of all, and for the choice */
static void add_sides(Ctx *c, Trying *t) {
  double stake[ROWS];
  for (int k = 0; k < ROWS; k++) stake[k] = at_stake(t, &rows[k]);
  for (; t->n <= MOST_SIDES;) {
    int best = 0;
    for (int k = 1; k < ROWS; k++)
      if (stake[k] > stake[best]) best = k;
    const double last = sides_seconds(t->r, t->n + 1, LEAST_LIVES, t->lives) + choice_seconds(t);
    if (stake[best] <= 0) break;
    stake[best] = 0;
    const double build = strcmp(rows[best].pass, "layout") ? t->r->build : t->r->whole; /* another layout changes all kernels */
    if (clock_ms() + 1e3 * (t->r->plan + build + last) <= t->ask->end) add_side(c, t, &rows[best]);
  }
}

/* ---- choosing ---- */

/* The answer of a side to a decision, and the kernels of its group; NULL: that of the model */
static const char *answer_on(const Trying *t, int side, const Tried *x, Stretch *kernels) {
  const Row *row = t->row[side];
  const Made *m = &t->made[side];
  const char *value = row->to;
  *kernels = (Stretch){ 0 };
  if (strcmp(row->pass, x->d.pass) || !matches(x->d.value, row->from)) return NULL;
  for (size_t i = 0; i < m->n; i++)
    if (!strcmp(m->d[i].pass, x->d.pass) && !strcmp(m->d[i].key, x->d.key)) value = m->d[i].value, *kernels = m->span[i];
  return value && strcmp(value, x->d.value) ? value : NULL;
}

/* The region takes less time on the side in each pair of processes, but for accidents. */
static bool surely_faster(const Trying *t, int side, const Region *r) {
  Reals logs = { 0 };
  for (size_t i = 0; i < side_lives(&t->side[0]); i++) {
    const double before = region_ms(t, 0, r, (int)i), after = region_ms(t, side, r, (int)i);
    VEC_PUSH(&logs, before > 0 && after > 0 ? log(after / before) : 0);
  }
  const bool is = paired_trimmed(logs.p, logs.n).high < 1;
  VEC_FREE(&logs);
  return is;
}

/* Takes the side's answer if its kernels save more time than with the best answer so far. */
static void judge_on(const Trying *t, int side, Tried *x) {
  Stretch kernels;
  const char *value = answer_on(t, side, x, &kernels);
  if (!value) return;
  const Region own = x->region.kernels.n && kernels.n
                         ? region_of_kernels(t->plan[0], t->from[0], span_of_both(x->region.kernels, kernels))
                         : x->region;
  const double ms = region_ms(t, 0, &own, -1), best = region_ms(t, side, &own, -1);
  const bool worth = best < tunable(t->plan[0]->ir->ctx, tune_choice_gain) * ms && ms - best > x->ms - x->best;
  if (!worth || !surely_faster(t, side, &own)) return;
  x->ms = ms;
  x->best = best;
  x->value = value;
  x->on_best = own;
  x->side = side;
}

static void judge(Trying *t) {
  for (size_t i = 0; i < t->all.n; i++)
    for (int k = 1; k < t->n; k++) judge_on(t, k, &t->all.p[i]);
}

static int by_gain(const void *a, const void *b) {
  const Tried *x = a, *y = b;
  const double d = (y->ms - y->best) - (x->ms - x->best);
  return d > 0 ? 1 : d < 0 ? -1 : 0;
}

/* The changes with the largest gains. Changes of two variants do not concern the same nodes. */
static void choose(Trying *t) {
  VEC_SORT(&t->all, by_gain);
  for (size_t i = 0; i < t->all.n; i++) {
    Tried *x = &t->all.p[i];
    for (size_t k = 0; k < i && x->value; k++)
      if (t->all.p[k].value && t->all.p[k].side != x->side && overlap(&t->all.p[k].on_best, &x->on_best)) x->value = NULL;
  }
}

/* Adds the changes to the decisions that were chosen before. Returns their number. */
static size_t take_changes(Trying *t, size_t before) {
  t->chosen.n = before;
  for (size_t i = 0; i < t->all.n; i++) {
    Decision d = t->all.p[i].d;
    if (!t->all.p[i].value) continue;
    d.value = t->all.p[i].value;
    VEC_PUSH(&t->chosen, d);
  }
  return t->chosen.n - before;
}

/* Drops changes that do not save time beside the others. Returns whether there were any. */
static bool drop_losers(Trying *t) {
  const double worth = tunable(t->plan[0]->ir->ctx, validate_gain);
  bool any = false;
  for (size_t i = 0; i < t->all.n; i++) {
    Tried *x = &t->all.p[i];
    if (!x->value || region_ms(t, t->n, &x->on_best, -1) < worth * region_ms(t, 0, &x->on_best, -1)) continue;
    x->value = NULL;
    any = true;
  }
  return any;
}

static void report(const Trying *t, bool kept) {
  for (size_t i = 0; i < t->all.n && t->r->o->verbose; i++) {
    const Tried *x = &t->all.p[i];
    if (x->value)
      fprintf(stderr, "decided %s %s %s in place of %s: its kernels take %.4f ms, were %.4f: %s (%s)\n", x->d.pass, x->d.key,
              x->value, x->d.value, x->best, x->ms, kept ? "kept" : "not", x->d.about);
  }
}

/* Only decisions for which there was a side are known now. */
static void store_all(Trying *t, bool kept) {
  store_begin(t->ask->store, true);
  for (size_t i = 0; i < t->all.n; i++) {
    Decision d = t->all.p[i].d;
    bool tried = false;
    for (int k = 1; k < t->n; k++) tried |= !strcmp(t->row[k]->pass, d.pass) && matches(d.value, t->row[k]->from);
    if (kept && t->all.p[i].value) d.value = t->all.p[i].value;
    if (tried && d.value != INSIDE) store_put_decision(t->ask->store, &t->ask->place, &d);
  }
  store_commit(t->ask->store);
}

/* On another number of threads the choice may take a little longer, as long as it gains more on the asked one; an undecided
 * comparison is no reason against it. */
static bool is_faster(Ctx *c, Trying *t, int number) {
  const int threads[] = { t->ask->threads, t->ask->other };
  double both = 1;
  for (int i = 0; i < 2 && threads[i]; i++) {
    const int left = i || !threads[1] ? 1 : 2;
    const double worth = i ? tunable(c, validate_slack) : tunable(c, validate_gain);
    const double most = i ? tunable(c, validate_slack_end) : 1;
    const Lives lives = { t->lives, LEAST_LIVES, clock_ms() + (t->ask->end - clock_ms()) / left };
    const SidePair pair = { .without = &t->side[0], .with = &t->side[number], .plan = t->plan[0], .changed = t->plan[number] };
    const Paired x = sides_decide(c, t->r, &pair, lives, threads[i], worth, most), all = sides_paired(pair.without, pair.with);
    const double without = side_ms(&t->side[0]), with = side_ms(&t->side[number]);
    if (t->r->o->verbose)
      fprintf(stderr,
              "the model with these decisions, %d thread%s: %.4g ms, %.4g without; times %.4f, from %.4f to %.4f; by the changed "
              "kernels %.4f, from %.4f to %.4f\n",
              threads[i], threads[i] > 1 ? "s" : "", with, without, all.ratio, all.low, all.high, x.ratio, x.low, x.high);
    both *= x.ratio;
    if (x.ratio >= worth || both >= 1 || (!i && x.high >= most) || all.low > fmax(worth, 1)) return false;
    if (!i) t->out->without = without, t->out->with = with, t->out->gained = x;
  }
  return true;
}

/* Builds the model with all changes, and compares it. If they do not pass, those that win are tried without the others. */
static bool holds_together(Ctx *c, Trying *t, size_t before) {
  for (int i = 0; take_changes(t, before); i++) {
    side_close(&t->side[t->n]);
    t->plan[t->n] = plan_with(c, t, t->chosen.p, t->chosen.n, made_path(c, t, "choice"));
    t->from[t->n] = kernel_origins(t->plan[t->n]);
    t->side[t->n] = side_open(c, t->r, t->plan[t->n]);
    if (is_faster(c, t, t->n)) return true;
    if (i == TRIES - 1 || clock_ms() + 1e3 * choice_seconds(t) > t->ask->end || !drop_losers(t)) break;
  }
  return false;
}

static void try_all(Ctx *c, void *arg) {
  Trying *t = arg;
  const char *lock = made_path(c, t, "model");
  t->plan[0] = plan_with(c, t, NULL, 0, lock);
  t->from[0] = kernel_origins(t->plan[0]);
  t->made[0] = made_by(c, t->plan[0]->kernels.n, lock);
  read_decisions(c, t);
  t->n = 1;
  t->last = t->chosen.n ? -1 : 0;
  if (!t->all.n) return;
  Side *all[MOST_SIDES + 1];
  for (int k = 0; k <= MOST_SIDES; k++) all[k] = &t->side[k];
  t->side[0] = side_open(c, t->r, t->plan[0]);
  sides_measure(c, t->r, all, 1, (Lives){ FIRST_LIVES, 1, t->ask->end }, t->ask->threads);
  if (!side_stamped(&t->side[0])) return;
  t->lives = sides_lives(t->r, LIVES, MANY_LIVES);
  add_sides(c, t);
  t->out->sides = t->n - 1;
  if (t->n == 1) return;
  sides_measure(c, t->r, all, t->n, (Lives){ t->lives, LEAST_LIVES, t->ask->end - 1e3 * choice_seconds(t) }, t->ask->threads);
  const size_t before = t->chosen.n;
  judge(t);
  choose(t);
  t->out->tried = (int)t->all.n;
  const bool kept = holds_together(c, t, before);
  report(t, kept);
  store_all(t, kept);
  if (!kept) t->chosen.n = before;
  t->last = kept ? t->n : before ? -1 : 0;
  t->out->kept = (int)(t->chosen.n - before);
}

int graph_choices(Ctx *c, const GraphAsk *ask, GraphChoices *out) {
  Trying *t = ARENA_NEW(&c->model, Trying, 1);
  *t = (Trying){ .r = ask->r, .ask = ask, .out = out };
  const double seconds = ask->r->seconds;
  const Tunables *tunables = c->tunables;
  const Target *target = ask->r->target;
  ask->r->seconds *= tunable(c, tune_choice_runs);
  const int code = ctx_try(c, try_all, t);
  ask->r->seconds = seconds;
  ask->r->target = target;
  c->tunables = tunables;
  if (!code && t->last >= 0 && t->side[t->last].kernels) {
    out->side = t->side[t->last];
    out->plan = t->plan[t->last];
    out->made = made_path(c, t, t->last ? "choice" : "model");
    t->side[t->last] = (Side){ 0 };
  }
  for (int k = 0; k < MOST_SIDES + 2; k++) side_close(&t->side[k]);
  out->chosen = arena_dup(&c->model, t->chosen.p, t->chosen.n * sizeof *t->chosen.p);
  out->n = code ? 0 : t->chosen.n;
  VEC_FREE(&t->chosen);
  VEC_FREE(&t->all);
  return code;
}

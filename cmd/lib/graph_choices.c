/* SPDX-License-Identifier: MIT */
/* graph_choices.c: tries other decisions of passes in the whole model: Winograd tiles or none, values that are stored or computed
 * again, layouts, kernel groups. A cost model has made these decisions.
 *
 * Each row of the table below makes a variant of the model: all decisions of a pass with a given answer get another one. The rows
 * with the most of the model's time at stake come first. Each needs time for a build and its runs. Bundles of the
 * variants and of the model run in turn. A decision concerns the nodes of the kernels that have its node. The time of a
 * kernel counts for these by the share of its nodes. Each decision takes the answer of its fastest variant. A last bundle has all
 * decisions that were changed, and must be faster than the model. Otherwise none is changed.
 *
 * Decisions that were tried are in the store, changed or not, and are not tried again. */
#include "graph_choices.h"
#include "../../compiler/bundle/bundle.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LIVES = 4, LEAST_LIVES = 3, FIRST_LIVES = 2, MOST_SIDES = 8 };

/* from: an answer, of which '*' stands for any characters; to: the other answer; gain: the share of the kernels' time that it
 * may save, an estimate that orders the rows */
typedef struct Row { const char *pass, *from, *to; double gain; } Row;
static const Row rows[] = {
  { "winograd", "*x*", "none", 0.1 },
  { "group", "*-kernels-*", "alone", 0.1 },
  { "winograd", "6x6", "4x4", 0.05 },
  { "winograd", "4x4", "6x6", 0.05 },
  { "materialize", "inlined", "materialized", 0.05 },
  { "layout", "axis-3", "axis-1", 0.03 },
  { "layout", "axis-1", "axis-3", 0.03 },
  { "materialize", "halo", "materialized", 0.03 },
  { "winograd", "none", "4x4", 0.02 },
  { "strips", "*-rows", "apart", 0.03 },
  { "prefetch", "panels-*", "none", 0.02 },
  { "padding_split", "axes-*", "none", 0.02 },
  { "materialize", "materialized", "inlined", 0.01 },
};
enum { ROWS = sizeof rows / sizeof *rows };

typedef struct Region { /* nodes that a decision concerns */
  uint32_t *node;       /* interned names, ascending */
  size_t n;
} Region;

typedef struct Tried { /* a decision of the model */
  Decision d;
  Region region;
  double best, ms;     /* ms of its nodes: on the best side, on the model's */
  const char *value;   /* the best side's answer; NULL: the model's */
  int side;
} Tried;

typedef struct Trying {
  Races *r;
  const GraphAsk *ask;
  GraphChoices *out;
  const Plan *plan[MOST_SIDES + 2]; /* the model, sides, the choice */
  Side side[MOST_SIDES + 2];
  const Row *row[MOST_SIDES + 1];
  int n;               /* sides so far, with the model */
  int last;            /* the side with the final decisions; -1: none */
  VEC(Tried) all;
  VEC(Decision) chosen;
} Trying;

/* ---- plans ---- */

/* A plan with these decisions; the cost model makes the others. Writes all that were made into a lock file. */
static const Plan *plan_with(Ctx *c, const Trying *t, const Decision *d, size_t n, const char *lock) {
  Options o = *t->r->o;
  const bool quiet = c->quiet;
  const double begin = clock_ms();
  const char *path = arena_printf(&c->model, "%s/try%d.tgc-lock", t->r->scratch, t->n);
  lock_write(c, &(Lock){ .chosen = d, .nchosen = n }, path);
  o.schedule = path;
  o.lock = lock;
  o.no_store = o.quiet = true;
  c->quiet = true; /* a decision that is not legal is none */
  const Plan *p = plan_of(&o, load_graph(c, &o, NULL), t->r->target, NULL);
  c->quiet = quiet;
  t->r->plan = (clock_ms() - begin) * 1e-3;
  return p;
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
  if (all.n) VEC_SORT(&all, by_number);
  size_t n = 0;
  for (size_t i = 0; i < all.n; i++)
    if (!i || all.p[i] != all.p[i - 1]) all.p[n++] = all.p[i];
  const Region r = { arena_dup(&c->model, all.p, n * sizeof *all.p), n };
  VEC_FREE(&all);
  return r;
}

static double region_ms(const Plan *p, const KernelOrigins *from, const Side *x, const Region *r) {
  double ms = 0;
  for (size_t k = 0; k < p->kernels.n; k++) {
    int in = 0;
    for (int i = 0; i < from[k].n; i++) in += has_node(r, name_at(p, &from[k], i));
    if (in) ms += side_kernel_ms(x, k) * in / from[k].n;
  }
  return ms;
}

static bool overlap(const Region *a, const Region *b) {
  size_t both = 0;
  for (size_t i = 0; i < a->n; i++) both += has_node(b, a->node[i]);
  return 2 * both > (a->n < b->n ? a->n : b->n);
}

/* ---- what to try ---- */

/* Decisions of the model about nodes of its kernels */
static void read_decisions(Ctx *c, Trying *t, const char *lock) {
  const KernelOrigins *from = kernel_origins(t->plan[0]);
  const Lock *l = lock_read(c, lock);
  size_t n;
  const Decision *all = decisions_given(l->decisions, &n);
  for (size_t i = 0; i < n; i++) {
    Tried x = { .d = all[i] };
    bool any = false;
    for (int k = 0; k < ROWS; k++) any |= !strcmp(rows[k].pass, x.d.pass);
    if (!any || !x.d.about || !*x.d.about) continue;
    x.d.about += *x.d.about == ' ';
    x.region = region_of(t->plan[0], from, x.d.about);
    const char *known = store_decision(c, t->ask->store, &t->ask->place, x.d.pass, x.d.key);
    if (known && strcmp(known, x.d.value)) {
      x.d.value = known;
      VEC_PUSH(&t->chosen, x.d);
    } else if (!known && x.region.n) VEC_PUSH(&t->all, x);
  }
}

static bool concerns(const Row *row, const Decision *d) {
  return !strcmp(d->pass, row->pass) && matches(d->value, row->from) && strcmp(d->value, row->to);
}

/* ms of the model that the row may save */
static double at_stake(const Trying *t, const KernelOrigins *from, const Row *row) {
  Region all = { 0 };
  VEC(uint32_t) nodes = { 0 };
  for (size_t i = 0; i < t->all.n; i++) {
    const Tried *x = &t->all.p[i];
    for (size_t k = 0; concerns(row, &x->d) && k < x->region.n; k++) VEC_PUSH(&nodes, x->region.node[k]);
  }
  if (nodes.n) VEC_SORT(&nodes, by_number);
  all = (Region){ nodes.p, nodes.n };
  const double ms = nodes.n ? region_ms(t->plan[0], from, &t->side[0], &all) : 0;
  VEC_FREE(&nodes);
  return row->gain * ms;
}

/* The row's variant, if the number of operations stays about the same */
static bool add_side(Ctx *c, Trying *t, const Row *row) {
  VEC(Decision) d = { 0 };
  for (size_t i = 0; i < t->chosen.n; i++) VEC_PUSH(&d, t->chosen.p[i]);
  for (size_t i = 0; i < t->all.n; i++) {
    Decision x = t->all.p[i].d;
    if (!concerns(row, &x)) continue;
    x.value = row->to;
    VEC_PUSH(&d, x);
  }
  const Plan *p = plan_with(c, t, d.p, d.n, NULL);
  VEC_FREE(&d);
  const double most = strcmp(row->pass, "winograd") ? tunable(c, tune_more_flops) : INFINITY;
  if (flops_of(p) > most * flops_of(t->plan[0])) return false;
  t->plan[t->n] = p;
  t->row[t->n] = row;
  races_note(t->r, "decisions %s, %s in place of %s", row->pass, row->to, row->from);
  t->side[t->n] = side_open(c, t->r, p);
  t->n++;
  return true;
}

/* Seconds of the last part: the build of the choice, and its comparison with the model */
static double choice_seconds(const Trying *t) {
  return t->r->plan + t->r->build + (t->ask->other ? 2 : 1) * sides_seconds(t->r, 2, LEAST_LIVES, LIVES);
}

/* A variant for each row, as long as there is time for it, for the comparison of all, and for the choice */
static void add_sides(Ctx *c, Trying *t) {
  const KernelOrigins *from = kernel_origins(t->plan[0]);
  double stake[ROWS];
  for (int k = 0; k < ROWS; k++) stake[k] = at_stake(t, from, &rows[k]);
  for (; t->n <= MOST_SIDES;) {
    int best = 0;
    for (int k = 1; k < ROWS; k++)
      if (stake[k] > stake[best]) best = k;
    const double last = sides_seconds(t->r, t->n + 1, LEAST_LIVES, LIVES) + choice_seconds(t);
    if (stake[best] <= 0) break;
    stake[best] = 0;
    const double build = strcmp(rows[best].pass, "layout") ? t->r->build : t->r->whole; /* another layout changes all kernels */
    if (clock_ms() + 1e3 * (t->r->plan + build + last) <= t->ask->end) add_side(c, t, &rows[best]);
  }
}

/* ---- choosing ---- */
static void judge(Trying *t) {
  KernelOrigins *from[MOST_SIDES + 1];
  for (int k = 0; k < t->n; k++) from[k] = kernel_origins(t->plan[k]);
  for (size_t i = 0; i < t->all.n; i++) {
    Tried *x = &t->all.p[i];
    x->best = x->ms = region_ms(t->plan[0], from[0], &t->side[0], &x->region);
    for (int k = 1; k < t->n; k++) {
      if (strcmp(t->row[k]->pass, x->d.pass) || !matches(x->d.value, t->row[k]->from)) continue;
      const double ms = region_ms(t->plan[k], from[k], &t->side[k], &x->region);
      if (ms >= tunable(t->plan[0]->ir->ctx, tune_choice_gain) * x->ms || ms >= x->best) continue;
      x->best = ms;
      x->value = t->row[k]->to;
      x->side = k;
    }
  }
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
      if (t->all.p[k].value && t->all.p[k].side != x->side && overlap(&t->all.p[k].region, &x->region)) x->value = NULL;
    if (!x->value) continue;
    Decision d = x->d;
    d.value = x->value;
    VEC_PUSH(&t->chosen, d);
  }
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
    if (tried) store_put_decision(t->ask->store, &t->ask->place, &d);
  }
  store_commit(t->ask->store);
}

static bool is_faster(Ctx *c, Trying *t, int number) {
  const int threads[] = { t->ask->threads, t->ask->other };
  for (int i = 0; i < 2 && threads[i]; i++) {
    const int left = i || !threads[1] ? 1 : 2;
    const double worth = i ? tunable(c, validate_slack) : tunable(c, validate_gain);
    const double most = i ? tunable(c, validate_slack_end) : 1;
    const Lives lives = { LIVES, LEAST_LIVES, clock_ms() + (t->ask->end - clock_ms()) / left };
    const Paired x = sides_decide(c, t->r, &t->side[0], &t->side[number], lives, threads[i], worth, most);
    const double without = side_ms(&t->side[0]), with = side_ms(&t->side[number]);
    if (t->r->o->verbose)
      fprintf(stderr, "the model with these decisions, %d thread%s: %.4g ms, %.4g without; times %.4f, from %.4f to %.4f\n",
              threads[i], threads[i] > 1 ? "s" : "", with, without, x.ratio, x.low, x.high);
    if (x.ratio >= worth || x.high >= most) return false;
    if (!i) t->out->without = without, t->out->with = with;
  }
  return true;
}

static void try_all(Ctx *c, void *arg) {
  Trying *t = arg;
  const char *lock = arena_printf(&c->model, "%s/model.tgc-lock", t->r->scratch);
  t->plan[0] = plan_with(c, t, NULL, 0, lock);
  read_decisions(c, t, lock);
  t->n = 1;
  t->last = t->chosen.n ? -1 : 0;
  if (!t->all.n) return;
  Side *all[MOST_SIDES + 1];
  for (int k = 0; k <= MOST_SIDES; k++) all[k] = &t->side[k];
  t->side[0] = side_open(c, t->r, t->plan[0]);
  sides_measure(c, t->r, all, 1, (Lives){ FIRST_LIVES, 1, t->ask->end }, t->ask->threads);
  if (!side_stamped(&t->side[0])) return;
  add_sides(c, t);
  t->out->sides = t->n - 1;
  if (t->n == 1) return;
  sides_measure(c, t->r, all, t->n, (Lives){ LIVES, LEAST_LIVES, t->ask->end - 1e3 * choice_seconds(t) }, t->ask->threads);
  const size_t before = t->chosen.n;
  judge(t);
  choose(t);
  t->out->tried = (int)t->all.n;
  bool kept = t->chosen.n > before;
  if (kept) {
    t->plan[t->n] = plan_with(c, t, t->chosen.p, t->chosen.n, NULL);
    t->side[t->n] = side_open(c, t->r, t->plan[t->n]);
    kept = is_faster(c, t, t->n);
  }
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
  ask->r->seconds *= tunable(c, tune_choice_runs);
  const int code = ctx_try(c, try_all, t);
  ask->r->seconds = seconds;
  if (!code && t->last >= 0 && t->side[t->last].kernels) {
    out->side = t->side[t->last];
    out->plan = t->plan[t->last];
    t->side[t->last] = (Side){ 0 };
  }
  for (int k = 0; k < MOST_SIDES + 2; k++) side_close(&t->side[k]);
  out->chosen = arena_dup(&c->model, t->chosen.p, t->chosen.n * sizeof *t->chosen.p);
  out->n = code ? 0 : t->chosen.n;
  VEC_FREE(&t->chosen);
  VEC_FREE(&t->all);
  return code;
}

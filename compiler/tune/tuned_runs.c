/* SPDX-License-Identifier: MIT */
/* tuned_runs.c: the runs in which the tuner times and compares candidates, if the model has ranges of sizes.
 *
 * One schedule serves all sizes of a range. So a candidate is timed with the least, the typical and the greatest sizes. Results
 * are compared with further sizes, which leave other rests of tiles.
 *
 * needs: symbols of a model    gives: sizes of runs, and the mean of times in them    keeps: all */
#include "tune.h"
#include <math.h>
#include <string.h>

/* ---- the runs ---- */
/* The size of the range next to x */
static int64_t allowed(const Symbol *s, double x) {
  const double steps = fmax(0, round((x - (double)s->low) / (double)s->step));
  const int64_t size = s->low + (int64_t)steps * s->step;
  return size > s->high ? s->high : size;
}

/* A run without entries takes no time. */
static int64_t least(const Symbol *s) { return s->low ? s->low : s->step; }

/* Between the least size and the greatest one; each doubling counts alike. share: 0 to 1 */
static int64_t between(const Symbol *s, double share) {
  return allowed(s, (double)least(s) * pow((double)s->high / (double)least(s), share));
}

static int64_t middle(const Symbol *s) { return s->typical ? s->typical : between(s, 0.5); }

/* Sizes that leave other rests than those of timed runs; j counts from 0. */
static int64_t further(const Symbol *s, int j) {
  switch (j) {
  case 0: return allowed(s, (double)(s->high - s->step));
  case 1: return allowed(s, (double)(least(s) + s->step));
  default: return allowed(s, (double)between(s, 0.125 * (j - 1)) + (double)s->step);
  }
}

static const char *text_of(Ctx *c, const Symbols *all, const int64_t *sizes) {
  Sb s = { 0 };
  for (int k = 0; k < all->n; k++) sb_printf(&s, "%s%s=%lld", k ? "," : "", all->p[k].name, (long long)sizes[k]);
  return sb_keep(&s, &c->model);
}

static void add_run(Ctx *c, const Symbols *all, const TunedRun *x, TunedRuns *out) {
  for (int i = 0; i < out->n; i++)
    if (!memcmp(out->run[i].sizes, x->sizes, sizeof x->sizes)) {
      out->run[i].weight += x->weight;
      return;
    }
  out->run[out->n] = *x;
  out->run[out->n++].text = text_of(c, all, x->sizes);
}

TunedRuns tuned_runs(Ctx *c, const IR *ir) {
  int64_t (*const timed[TIMED_RUNS])(const Symbol *) = { least, middle, NULL };
  const Symbols *all = &ir->symbols;
  TunedRuns out = { 0 };
  bool typical = false;
  for (int k = 0; k < all->n; k++) typical |= all->p[k].typical > 0;
  const double inside = typical ? tunable(c, tune_typical) : 1.0 / TIMED_RUNS;
  for (int i = 0; i < TIMED_RUNS && all->n; i++) {
    TunedRun x = { .weight = i == 1 ? inside : (1 - inside) / (TIMED_RUNS - 1) };
    for (int k = 0; k < all->n; k++) x.sizes[k] = timed[i] ? timed[i](&all->p[k]) : all->p[k].high;
    add_run(c, all, &x, &out);
  }
  out.timed = out.n;
  for (int j = 0; out.n < TUNED_RUNS && j < TUNED_RUNS && all->n; j++) {
    TunedRun x = { 0 };
    for (int k = 0; k < all->n; k++) x.sizes[k] = further(&all->p[k], (j + k) % TUNED_RUNS);
    add_run(c, all, &x, &out);
  }
  return out;
}

int main_run(const TunedRuns *r) {
  int best = r->timed > 2; /* the one in the middle, if all are equal */
  for (int i = 0; i < r->timed; i++)
    if (r->run[i].weight > r->run[best].weight + 1e-9) best = i;
  return best;
}

/* ---- times ---- */
double mean_of_runs(const TunedRuns *r, const double *at) {
  double sum = 0;
  for (int i = 0; i < r->timed; i++) sum += r->run[i].weight * log(fmax(at[i], 1e-12));
  return exp(sum);
}

int run_that_loses(const TunedRuns *r, const double *at, const double *other, double most) {
  for (int i = 0; i < r->timed; i++)
    if (at[i] > 0 && other[i] > 0 && at[i] > most * other[i]) return i;
  return -1;
}

const char *times_of_runs(Ctx *c, const TunedRuns *r, const double *at) {
  Sb s = { 0 };
  for (int i = 0; i < r->timed; i++) sb_printf(&s, "%s%s %.4g us", i ? ", " : "", r->run[i].text, at[i]);
  return sb_keep(&s, &c->model);
}

/* ---- what a run needs ---- */
bool nest_is_sized(IR *ir, Ref nest) {
  Refs all = { 0 };
  bool is = false;
  ir_toposort(ir, &nest, 1, &all);
  for (size_t i = 0; i < all.n && ir->symbols.n; i++) {
    const Node *x = node(ir, all.p[i]);
    is |= x->op == OP_SIZE || (x->op == OP_RANGE && range_limit(x)) ||
          (x->op == OP_BUFFER && ir->bufs.p[buffer_id(x)].needed.n > 0);
  }
  VEC_FREE(&all);
  return is;
}

int64_t needed_elems(const IR *ir, const Buf *b, const int64_t *run) {
  int64_t elems = b->elems;
  for (int k = 0; k < b->needed.n && run; k++) {
    const Need *is = &b->needed.is[k];
    const int64_t now = extent_in_run(ir, is->of, run);
    if (now < is->extent) elems = elems / is->extent * now;
  }
  return elems;
}

bool element_counts(const IR *ir, const Buf *b, int64_t index, const int64_t *run) {
  if (!run || b->needed.n <= 0) return true;
  if (buf_ends_early(b)) return index < needed_elems(ir, b, run);
  bool yes = true;
  for (int k = 0; k < b->needed.n && yes; k++) {
    const Need *is = &b->needed.is[k];
    yes = index / is->inner % is->extent < extent_in_run(ir, is->of, run) - is->behind;
  }
  return yes;
}

const int64_t *size_values(const IR *ir, const int64_t *run) {
  int64_t *out = ARENA_NEW(&ir->ctx->model, int64_t, ir->sizes.n + 1);
  for (size_t i = 0; i < ir->sizes.n; i++) out[i] = size_in_run(ir, (int)i, run);
  return out;
}

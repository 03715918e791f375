/* SPDX-License-Identifier: MIT */
/* side_pair.c: compares two sides by the kernels that differ.
 *
 * A process may be some percent faster or slower for its whole life, and each kernel differently. Most kernels of two sides are
 * the same code for the same nodes. Differences of their times are accidents, so these kernels do not count. Then a change of a
 * few kernels shows in a few pairs of processes, where whole runs need hundreds. If the sides have other nests, kernels behind
 * such a nest find other data in the caches, so the next kernel counts, too.
 *
 * needs: two sides and their plans    gives: the ratio of their times, and its interval    keeps: plans */
#include "../../compiler/bundle/bundle.h"
#include "sides.h"
#include <math.h>
#include <string.h>

enum { AGAIN = 2 }; /* how often an undecided comparison goes on */

static const char *code_of(const Kernel *k) { return k->text ? strchr(k->text, '(') : NULL; } /* without the function's name */

bool kernels_alike(const Kernel *x, const Kernel *y, bool schedules) {
  bool same = x->nests.n == y->nests.n;
  for (size_t i = 0; i < x->nests.n && same; i++)
    same = !strcmp(x->nests.p[i].key, y->nests.p[i].key) && (!schedules || !strcmp(x->nests.p[i].opts, y->nests.p[i].opts));
  return same && (!schedules || x->chunks == y->chunks);
}

/* The kernels of a plan, and which of them the other plan has, too */
typedef struct Matching {
  const Plan *p;
  const KernelOrigins *from;
  size_t *other;           /* by kernel: 1 + number of the same kernel of the other plan; 0: it has none */
} Matching;

static Matching open_matching(const Plan *p) {
  return (Matching){ p, kernel_origins(p), ARENA_NEW(&p->ir->ctx->model, size_t, p->kernels.n + 1) };
}

static size_t first_of_group(const Plan *p, size_t k) {
  while (k && !p->kernels.p[k].group_size) k--;
  return k;
}

static bool same_nodes(const Matching *x, size_t k, const Matching *y, size_t j) {
  const KernelOrigins *a = &x->from[k], *b = &y->from[j];
  bool same = a->n == b->n;
  for (int i = 0; i < a->n && same; i++)
    same = !strcmp(x->p->ir->origins.p[a->origin[i]].text, y->p->ir->origins.p[b->origin[i]].text);
  return same;
}

/* The same code for the same nodes, at the same place of an equal group */
static bool same_kernel(const Matching *x, size_t k, const Matching *y, size_t j) {
  const Kernel *a = &x->p->kernels.p[k], *b = &y->p->kernels.p[j];
  const size_t f = first_of_group(x->p, k), g = first_of_group(y->p, j);
  const char *s = code_of(a), *t = code_of(b);
  return kernels_alike(a, b, true) && a->chunks_per_task == b->chunks_per_task && k - f == j - g &&
         x->p->kernels.p[f].group_size == y->p->kernels.p[g].group_size && (!s || !t || !strcmp(s, t)) && same_nodes(x, k, y, j);
}

/* The kernel at the same place is the most likely one. */
static void match(Matching *x, Matching *y) {
  const size_t n = y->p->kernels.n;
  for (size_t k = 0; k < x->p->kernels.n; k++)
    for (size_t i = 0; i < n && !x->other[k]; i++) {
      const size_t j = (k + i) % n;
      if (!y->other[j] && same_kernel(x, k, y, j)) x->other[k] = j + 1, y->other[j] = k + 1;
    }
}

/* Counts each kernel behind one that the other plan lacks. It goes backwards, so a kernel that counts for this reason does not
 * make the next one count. */
static void count_next(Matching *x, Matching *y) {
  for (size_t k = x->p->kernels.n; k-- > 0;) {
    const size_t j = x->other[k];
    if (!j) continue;
    if ((k && !x->other[k - 1]) || (j > 1 && !y->other[j - 2])) x->other[k] = y->other[j - 1] = 0;
  }
}

static bool same_nests(const Plan *x, const Plan *y) {
  bool same = x->kernels.n == y->kernels.n;
  for (size_t k = 0; k < x->kernels.n && same; k++) same = kernels_alike(&x->kernels.p[k], &y->kernels.p[k], false);
  return same;
}

/* ms of the kernels that the other plan lacks, in a life of the side */
static double changed_ms(const Matching *x, const Side *s, size_t life) {
  double ms = 0;
  for (size_t k = 0; k < x->p->kernels.n; k++)
    if (!x->other[k]) ms += side_kernel_life_ms(s, k, life);
  return ms;
}

static Paired changed_kernels(const SidePair *x) {
  Matching a = open_matching(x->plan), b = open_matching(x->changed);
  Reals logs = { 0 };
  match(&a, &b);
  if (!same_nests(x->plan, x->changed)) count_next(&a, &b);
  for (size_t i = 0; i < side_lives(x->without); i++)
    VEC_PUSH(&logs, log(1 + (changed_ms(&b, x->with, i) - changed_ms(&a, x->without, i)) / side_life_ms(x->without, i)));
  const Paired p = paired_trimmed(logs.p, logs.n);
  VEC_FREE(&logs);
  return p;
}

Paired side_pair_ratio(const SidePair *x) {
  const bool by_kernels = x->plan && side_stamped(x->without) && side_stamped(x->with);
  return paired_pooled(x->earlier, by_kernels ? changed_kernels(x) : sides_paired(x->without, x->with));
}

bool is_open(const Paired *x, double worth, double most) { return (x->ratio >= worth || x->high >= most) && x->low < worth; }

Paired sides_decide(Ctx *c, Races *r, const SidePair *pair, Lives lives, int threads, double worth, double most) {
  Side *const both[] = { pair->without, pair->with };
  sides_measure(c, r, both, 2, lives, threads);
  Paired x = side_pair_ratio(pair);
  for (int i = 0; i < AGAIN && is_open(&x, worth, most) && clock_ms() < lives.end; i++) {
    sides_go_on(c, r, both, 2, (Lives){ lives.most, 1, lives.end }, threads);
    x = side_pair_ratio(pair);
  }
  return x;
}

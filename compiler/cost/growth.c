/* SPDX-License-Identifier: MIT */
/* growth.c: answers passes that would spend memory on time, and withdraws such answers where a limit is exceeded. */
#include "growth.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *const optimize_name[OPTIMIZE_COUNT] = { NULL, "speed", "size", "ram", "small" };

Optimize optimize_named(const char *s) {
  if (!s) return OPTIMIZE_AUTO;
  return (Optimize)(OPTIMIZE_SPEED + word_index(optimize_name + OPTIMIZE_SPEED, OPTIMIZE_COUNT - OPTIMIZE_SPEED, s));
}

Optimize optimize_for(Optimize wish, const Target *t) {
  return wish != OPTIMIZE_AUTO ? wish : target_is_bare(t) ? OPTIMIZE_SMALL : OPTIMIZE_SPEED;
}

static bool weights_may_grow(const MemoryGoal *m) {
  return !m->same_weights && (m->optimize == OPTIMIZE_SPEED || m->optimize == OPTIMIZE_RAM);
}

static bool arena_may_grow(const MemoryGoal *m) {
  return !m->same_arena && (m->optimize == OPTIMIZE_SPEED || m->optimize == OPTIMIZE_SIZE);
}

bool growth_allowed(const IR *ir, const Growth *g) {
  const MemoryGoal *m = ir->memory;
  if (!m) return true;
  if ((g->weights > 0 && !weights_may_grow(m)) || (g->arena > 0 && !arena_may_grow(m))) return false;
  for (size_t i = 0; i < m->withdrawn.n; i++) {
    const Growth *w = &m->withdrawn.p[i];
    if (w->origin != g->origin || strcmp(w->form, g->form)) continue;
    if ((w->weights > 0 && g->weights >= w->weights) || (w->arena > 0 && g->arena >= w->arena)) return false;
  }
  return true;
}

void growth_granted(const IR *ir, const Growth *g) {
  if (ir->memory && (g->weights > 0 || g->arena > 0)) VEC_PUSH(&ir->memory->granted, *g);
}

static double worth(const Growth *g) { return g->weights > 0 ? g->gain / g->weights : INFINITY; }

static int by_worth(const void *a, const void *b) { /* the least cycles saved per byte first */
  const Growth *x = a, *y = b;
  const double p = worth(x), q = worth(y);
  return p < q ? -1 : p > q ? 1 : (x->origin > y->origin) - (x->origin < y->origin);
}

/* Several layers lie in the arena one after another, so the largest of them decide. */
static double largest_arena(const MemoryGoal *m) {
  double most = 0;
  for (size_t i = 0; i < m->granted.n; i++)
    if (m->granted.p[i].arena > most) most = m->granted.p[i].arena;
  return most;
}

bool growth_withdraw(MemoryGoal *m, double weights, double arena, Withdrawal how) {
  enum { NEAR = 2 }; /* forms that take half as much as the largest probably exceed the limit, too */
  const double large = largest_arena(m) / NEAR;
  const bool small_weights = weights <= 0, small_arena = arena <= 0;
  bool helps = false;
  if (m->granted.n) qsort(m->granted.p, m->granted.n, sizeof *m->granted.p, by_worth);
  for (size_t i = 0; i < m->granted.n; i++) {
    const Growth *g = &m->granted.p[i];
    Growth w = *g;
    if (weights <= 0) w.weights = 0;
    if (small_arena || g->arena < large) w.arena = 0;
    helps |= (!small_weights && g->weights > 0) || (!small_arena && g->arena > 0);
    if (w.weights > 0) weights -= g->weights;
    if (how != WITHDRAW_SIZE && w.weights > 0) w.weights = 1;
    if (how != WITHDRAW_SIZE && w.arena > 0) w.arena = 1;
    if (w.weights > 0 || w.arena > 0) VEC_PUSH(&m->withdrawn, w);
  }
  m->same_weights |= how == WITHDRAW_ALL && !small_weights;
  m->same_arena |= how == WITHDRAW_ALL && !small_arena;
  m->granted.n = 0;
  return helps;
}

void growth_free(MemoryGoal *m) {
  VEC_FREE(&m->granted);
  VEC_FREE(&m->withdrawn);
}

/* SPDX-License-Identifier: 0BSD */
/* tune_race.h: a race, in which candidates take turns until their times are known. tgc races the candidates of its search
 * (compiler/tune/race.c); a job of `tgc tune --job` races the candidates of its folder. A file that includes this one defines a
 * function `tell`, which writes a line to the process that watches the race.
 *
 * Each candidate runs once. Then they take turns, the incumbent among them, so that a change of the machine's speed affects all
 * of them. Each candidate runs with its data in the caches, and then after the caches were flushed. Slow candidates leave the
 * race. The median of a candidate's samples is its time. */
#ifndef TUNE_RACE_H
#define TUNE_RACE_H
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { RACE_ROUNDS = 5, RACE_FINALS = 6 };
#define RACE_LONG 0.001 /* seconds; the first run of a shorter candidate says too little */

typedef struct Meter { /* samples of one candidate */
  bool runs;                /* it takes part in the race */
  int repeat, n;
  double warm[RACE_ROUNDS + RACE_FINALS], cold[RACE_ROUNDS + RACE_FINALS];
  bool out; /* left the race */
} Meter;

typedef struct Race {
  int n;                   /* candidates; the first is the incumbent */
  const bool *bad;         /* by candidate: it does not take part */
  Meter *m;                /* zeros before the race */
  int rounds, finals;      /* rounds for all, then for the best: at most as many as a Meter has room for */
  int finalists;           /* number of candidates that run in the last rounds */
  double worth;            /* share of the incumbent's time: the last rounds take place if a candidate takes less; 0: always */
  double close;            /* factor on the leader's time; slower candidates leave the race after a round; 0: no such limit */
  double hopeless;         /* factor on the fastest candidate's time; slower candidates leave the race after their first run */
  double sample;           /* seconds that a warm sample takes at least */
  void *self;
  double (*once)(void *self, int kernel, int repeat); /* does `repeat` runs; returns the seconds of one run */
  /* takes a sample: seconds of a run with warm caches, the mean of `repeat` runs, and of one with cold caches */
  void (*take)(void *self, int kernel, int repeat, double *warm, double *cold);
} Race;

static int race_ascending(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static void race_sorted(const double *v, int n, double *out) {
  memcpy(out, v, (size_t)n * sizeof *out);
  qsort(out, (size_t)n, sizeof *out, race_ascending);
}

/* The median; for two samples the shorter one, because disturbances only lengthen samples. */
static double race_typical(const double *v, int n) {
  double s[RACE_ROUNDS + RACE_FINALS];
  race_sorted(v, n, s);
  return n == 2 ? s[0] : n % 2 ? s[n / 2] : (s[n / 2 - 1] + s[n / 2]) / 2;
}

static double race_spread(const double *v, int n) { /* relative spread of the middle half */
  double s[RACE_ROUNDS + RACE_FINALS];
  race_sorted(v, n, s);
  return (s[n * 3 / 4] - s[n / 4]) / s[n / 2];
}

static double race_score(const Meter *m) { return (race_typical(m->warm, m->n) + race_typical(m->cold, m->n)) / 2; }

static int race_by_score(const void *a, const void *b) {
  double x = race_score(*(Meter *const *)a), y = race_score(*(Meter *const *)b);
  return (x > y) - (x < y);
}

static void race_sample(Race *r, int kernel) {
  Meter *m = &r->m[kernel];
  r->take(r->self, kernel, m->repeat, &m->warm[m->n], &m->cold[m->n]);
  m->n++;
}

/* Runs all candidates once, in order, the incumbent first. A candidate that takes much longer than the fastest so far is out. */
static int race_line_up(Race *r) {
  double best = INFINITY;
  int left = 0;
  for (int i = 0; i < r->n; i++) {
    Meter *m = &r->m[i];
    if (r->bad[i]) continue;
    memset(m, 0, sizeof *m);
    m->runs = true;
    tell("first %d", i);
    double once = r->once(r->self, i, 1);
    tell("at %d", i);
    if (once < RACE_LONG) once = r->once(r->self, i, 1);
    tell("ran %d %.9f", i, once);
    if (once < best) best = once;
    m->repeat = once < r->sample ? (int)(r->sample / (once + 1e-9)) : 1;
    m->warm[0] = m->cold[0] = once;
    m->out = i && once > r->hopeless * best + 1e-6;
    m->n = m->out;
    left++;
  }
  return left;
}

/* A round of all candidates in the race. A candidate that takes more than `behind` times the leader's time leaves the race. */
static void race_turns(Race *r, double behind) {
  double lead = INFINITY;
  for (int i = 0; i < r->n; i++) {
    if (!r->m[i].runs || r->m[i].out) continue;
    tell("at %d", i);
    race_sample(r, i);
    lead = fmin(lead, race_score(&r->m[i]));
  }
  for (int i = 1; i < r->n; i++) r->m[i].out |= r->m[i].runs && race_score(&r->m[i]) > behind * lead;
}

/* Runs the race and tells the time of each candidate, the best first. order: room for r->n pointers. */
static void race_run(Race *r, Meter **order) {
  static const double behind[RACE_ROUNDS] = { 1.5, 1.3, 1.2, 1.15, 1.15 };
  Meter *m = r->m;
  int left = race_line_up(r);
  /* the first sample after a flush takes up to three times as long */
  if (!m[0].out && m[0].runs) race_sample(r, 0), m[0].n = 0;
  for (int i = 0; i < r->rounds; i++) race_turns(r, r->close > 0 ? fmin(r->close, behind[i]) : behind[i]);
  for (int i = 0, k = 0; i < r->n; i++)
    if (m[i].runs) order[k++] = &m[i];
  qsort(order, (size_t)left, sizeof *order, race_by_score);
  const bool decided = r->worth > 0 && left && m[0].runs && race_score(order[0]) >= r->worth * race_score(m);
  for (int k = 0; k < r->finals && !decided; k++)
    for (int i = 0; i < left; i++) {
      if ((i >= r->finalists && order[i] != m) || order[i]->out) continue;
      tell("at %d", (int)(order[i] - m));
      race_sample(r, (int)(order[i] - m));
    }
  for (int i = 0; i < left; i++)
    tell("time %d %.4f %.4f %.4f", (int)(order[i] - m), race_typical(order[i]->warm, order[i]->n) * 1e6,
         race_typical(order[i]->cold, order[i]->n) * 1e6, race_spread(order[i]->warm, order[i]->n));
  tell("end");
}
#endif

/* SPDX-License-Identifier: 0BSD */
/* tune_race.h: a race measures the times of candidates, which are code for different schedules of one nest. tgc races the
 * candidates of its search (compiler/tune/race.c). The program that `tgc tune --job` writes races the candidates of the job. A
 * file that includes this file must first declare a function `tell`. `tell` takes the arguments of printf, and writes a line to
 * the process that watches the race.
 *
 * At the start, each candidate runs once, or twice if its first run is short. Then candidates are measured in turn, in rounds, so
 * that a change of the machine's speed affects all of them. The first candidate is the incumbent, the best schedule so far. Slow
 * candidates leave the race; the incumbent never leaves.
 *
 * A sample is one measurement of a candidate. A sample has a warm time, with the data in the caches, and a cold time, after the
 * caches were flushed. The tuner may know the level of cache or memory where a run of the model finds the data. Then the data are
 * brought to this level before each run, and the warm time equals the cold time. The time of a candidate is the mean of the
 * typical warm time and the typical cold time (race_typical). */
#ifndef TUNE_RACE_H
#define TUNE_RACE_H
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { RACE_ROUNDS = 5, RACE_FINALS = 6 }; /* limits of Race.rounds and Race.finals */
/* Seconds. If a candidate's first run is shorter, the candidate runs again, because the first run also fills the caches. */
#define RACE_LONG 0.001

typedef struct Meter { /* the samples of one candidate */
  bool runs;                /* the candidate takes part in the race */
  int repeat, n;            /* repeat: number of runs for the warm time of a sample. n: number of samples so far */
  double warm[RACE_ROUNDS + RACE_FINALS], cold[RACE_ROUNDS + RACE_FINALS]; /* by sample: seconds of a run */
  bool out;                 /* the candidate has left the race */
} Meter;

typedef struct Race {
  int n;                   /* number of candidates; the first is the incumbent */
  const bool *bad;         /* by candidate: true if the candidate does not take part */
  Meter *m;                /* by candidate; zeros before the race */
  int rounds, finals;      /* rounds: number of rounds for all candidates. finals: number of last rounds, for the best
                              candidates */
  int finalists;           /* the last rounds are for the fastest `finalists` candidates, and for the incumbent */
  double worth;            /* the last rounds take place if the best time is below worth * the incumbent's time. They also take
                              place if `worth` is 0, or the incumbent is bad */
  double close;            /* after a round, candidates with a time above close * the best time leave the race; 0: no such
                              limit */
  double hopeless;         /* at the start, candidates with a time above hopeless * the best time so far leave the race */
  double sample;           /* the warm time of a sample is measured in as many runs as fit into this number of seconds, at least
                              in one run */
  void *self;              /* passed to the functions below. The argument `kernel` is the number of a candidate */
  double (*once)(void *self, int kernel, int repeat); /* makes `repeat` runs; returns the mean seconds of a run */
  /* Takes a sample. Sets *warm to the mean seconds of `repeat` runs with warm caches, and *cold to the seconds of a run with cold
   * caches. */
  void (*take)(void *self, int kernel, int repeat, double *warm, double *cold);
} Race;

static int race_ascending(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static void race_sorted(const double *v, int n, double *out) { /* copies n times from v to out, in ascending order */
  memcpy(out, v, (size_t)n * sizeof *out);
  qsort(out, (size_t)n, sizeof *out, race_ascending);
}

/* Returns the lower quartile of n times, because disturbances only lengthen times. */
static double race_typical(const double *v, int n) {
  double s[RACE_ROUNDS + RACE_FINALS];
  race_sorted(v, n, s);
  return s[n / 4];
}

static double race_spread(const double *v, int n) { /* the interquartile range of n times, divided by their median */
  double s[RACE_ROUNDS + RACE_FINALS];
  race_sorted(v, n, s);
  return (s[n * 3 / 4] - s[n / 4]) / s[n / 2];
}

/* The time by which candidates are compared: the mean of the typical warm and the typical cold time, in seconds */
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

/* The start of the race: runs the candidates in order. A candidate leaves the race if its time is above r->hopeless * the best
 * time so far. Returns the number of candidates that have run. */
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

/* A round: takes a sample of each candidate that is still in the race. Then candidates with a time above behind * the best time
 * leave the race. */
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

/* Runs the race. Then calls `tell` with a line "time" for each candidate that took part. The line has the candidate's number, the
 * typical warm and cold time in microseconds, and the spread of the warm times (race_spread). The lines are ordered by the times
 * that the candidates had before the last rounds. A line "end" follows. order: room for r->n pointers. After round i, candidates
 * with a time above behind[i] * the best time leave the race. */
static void race_run(Race *r, Meter **order) {
  static const double behind[RACE_ROUNDS] = { 1.5, 1.3, 1.2, 1.15, 1.15 };
  Meter *m = r->m;
  int left = race_line_up(r);
  /* The first sample of a race takes up to three times as long as later samples, so this sample is dropped. */
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

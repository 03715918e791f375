/* SPDX-License-Identifier: MIT */
/* trials.c: finds the trial of a schedule.
 *
 * needs: trials    gives: one of them    keeps: everything */
#include "tune.h"
#include <string.h>

Trial *trial_find(const Trials *t, const char *opts) {
  for (size_t i = 0; i < t->n; i++)
    if (!strcmp(t->p[i].opts, opts)) return &t->p[i];
  return NULL;
}

Trial *goal_trial(const Goal *g, const char *opts) {
  Trial *x = trial_find(&g->trials, opts);
  return x ? x : trial_find(&g->screened, opts);
}

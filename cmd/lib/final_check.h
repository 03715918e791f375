/* SPDX-License-Identifier: MIT */
/* final_check.h: compares the bundle with everything that `tgc tune` keeps with the bundle that a user has without tuning. */
#ifndef TGC_FINAL_CHECK_H
#define TGC_FINAL_CHECK_H
#include "sides.h"

typedef struct FinalCheck {
  bool done;               /* both bundles were compared */
  bool same;               /* both bundles have the same files, so nothing was measured */
  bool passed;             /* the tuned bundle is surely faster, or it is the same */
  int threads;
  double untuned, tuned;   /* ms of a run */
  Paired times;            /* the time with all that is kept, as a part of the time without tuning */
  Paired all;              /* `times`, pooled with what earlier comparisons say about this ratio */
} FinalCheck;
/* Estimates how many seconds final_check takes. Must be called after the first side_open and sides_measure with r. */
double final_seconds(Ctx *c, const Races *r);
typedef struct FinalAsk {
  const Plan *untuned, *tuned; /* plans of both bundles */
  Paired earlier;          /* the ratio of their times by earlier comparisons, which had other processes; n 0: not known */
  int threads;             /* number of threads that share a run */
  double end;              /* time in ms by clock_ms; afterwards no processes begin, beyond the least number */
} FinalAsk;
/* Builds and compares the bundles of both plans. Returns an exit code. */
int final_check(Ctx *c, Races *r, const FinalAsk *ask, FinalCheck *out);
#endif

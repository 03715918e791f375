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
} FinalCheck;
/* Estimates how many seconds final_check takes. Must be called after the first side_open and sides_measure with r. */
double final_seconds(Ctx *c, const Races *r);
/* Builds and compares the bundles of both plans. threads: number of threads that share a run. end: the time in ms by clock_ms at
 * which no further processes begin, beyond the least number. Returns an exit code. */
int final_check(Ctx *c, Races *r, const Plan *untuned, const Plan *tuned, int threads, double end, FinalCheck *out);
#endif

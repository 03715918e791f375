/* SPDX-License-Identifier: MIT */
/* walk.h: a walk over the neighbours of a schedule: schedules of the nest that differ from it in one respect. neighbours.c and
 * device_neighbours.c make such walks. */
#ifndef TGC_TUNE_WALK_H
#define TGC_TUNE_WALK_H
#include "tune.h"

typedef struct Walk {
  IR *ir;
  Ref nest;
  const Target *t;
  Refs ranges; /* ranges of the nest, then those of its reductions */
  int own; /* number of the nest's ranges */
  EachOpts each;
  void *arg;
} Walk;

/* Gives the schedule to `each` as text, if it is legal and its code is not too long */
void walk_offer(const Walk *w, const Opts *o);
#endif

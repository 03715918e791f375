/* SPDX-License-Identifier: MIT */
/* walk.h: a walk over the neighbours of a schedule: the legal schedules of a nest that differ from this schedule by a small
 * change. neighbours.c and device_neighbours.c make such walks. */
#ifndef TGC_TUNE_WALK_H
#define TGC_TUNE_WALK_H
#include "tune.h"

typedef struct Walk {
  IR *ir;
  Ref nest;
  const Target *t;
  Refs ranges; /* ranges of the loops around the nest's store, then ranges of the nest's reductions */
  int own; /* number of ranges around the store */
  EachOpts each; /* called for each neighbour */
  void *arg; /* the argument `arg` of `each` */
} Walk;

/* Calls w->each with the text of o, if the schedule o is legal, and code with this schedule is not too long (tunable
 * tune_variant_statements). */
void walk_offer(const Walk *w, const Opts *o);
#endif

/* SPDX-License-Identifier: MIT */
/* walk.h: a walk over the neighbours of a schedule. A neighbour is a schedule for the same nest that differs from this schedule
 * in one respect. neighbours.c and device_neighbours.c make such walks. */
#ifndef TGC_TUNE_WALK_H
#define TGC_TUNE_WALK_H
#include "tune.h"

typedef struct Walk {
  IR *ir;
  Ref nest;
  const Target *t;
  Refs ranges; /* ranges of the nest's loops around its store, then ranges of its reductions */
  int own; /* number of ranges around the store */
  EachOpts each; /* called for each neighbour */
  void *arg; /* the argument `arg` of `each` */
} Walk;

/* Calls w->each with the text of o, if the schedule o is legal and its code is not too long (tunable tune_variant_statements). */
void walk_offer(const Walk *w, const Opts *o);
#endif

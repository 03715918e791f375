/* SPDX-License-Identifier: MIT */
/* walk.h: a walk over the schedules of one nest, as neighbours.c and device_neighbours.c make it. */
#ifndef TGC_TUNE_WALK_H
#define TGC_TUNE_WALK_H
#include "tune.h"

typedef struct Walk {
  IR *ir;
  Ref nest;
  const Target *t;
  Refs ranges;
  int own; /* how many of the ranges are the nest's */
  EachOpts each;
  void *arg;
} Walk;

/* Gives the schedule to `each` as text, if it is legal and its code is not too long */
void walk_offer(const Walk *w, const Opts *o);
#endif

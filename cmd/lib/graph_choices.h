/* SPDX-License-Identifier: MIT */
/* graph_choices.h: builds a model several times, each time with other decisions of passes, and times each of these builds. */
#ifndef TGC_GRAPH_CHOICES_H
#define TGC_GRAPH_CHOICES_H
#include "sides.h"

typedef struct GraphAsk {  /* arguments of graph_choices */
  Races *r;                /* common data of all comparisons (sides.h) */
  Store *store;            /* the tuner's store. Decisions in the store are used, and builds do not try others in their place. The
                              decisions that graph_choices has tried are added to the store */
  Place place;             /* the place (tune.h) under which the store keeps these decisions */
  double end;              /* the time at which building and measuring must end, in ms by clock_ms */
  int threads;             /* number of threads that share a run of the model */
  int other;               /* another number of threads. The changed decisions are also timed with this number; 0: they are not */
} GraphAsk;
struct GraphChoices {      /* result of graph_choices */
  const Decision *chosen;  /* n decisions that replace decisions of the cost model */
  size_t n;
  int sides;               /* number of builds in which other decisions were tried */
  int tried, kept;         /* tried: number of decisions that could be changed; kept: number of decisions that were changed in
                              the end */
  double with, without;    /* if `kept` is not 0: ms of a run with the decisions in `chosen`, and ms of a run without them.
                              GraphAsk.threads threads share each run */
  Paired gained;           /* if `kept` is not 0: the time with `chosen`, as a part of the time without, by kernels that differ */
  Side side;               /* the side (sides.h) built with `chosen`; zeros: there is none */
  const Plan *plan;        /* the plan of `side`; NULL: there is no side */
  const char *made;        /* path of a lock file with all decisions of `plan`; NULL: there is no side */
};
int graph_choices(Ctx *c, const GraphAsk *ask, GraphChoices *out); /* returns an exit code */
#endif

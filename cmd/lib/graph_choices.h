/* SPDX-License-Identifier: MIT */
/* graph_choices.h: builds a model several times, each time with other decisions of passes, and times each of these builds. */
#ifndef TGC_GRAPH_CHOICES_H
#define TGC_GRAPH_CHOICES_H
#include "sides.h"

typedef struct GraphAsk {  /* the request */
  Races *r;                /* common data of all comparisons (sides.h) */
  Store *store;            /* the tuner's store. A decision in the store is used without being tried; the decisions that were
                              tried are added to the store */
  Place place;             /* the place (tune.h) under which the store keeps these decisions */
  double end;              /* the time at which building and measuring must end, in ms by clock_ms */
  int threads;             /* number of threads that share a run of the model */
  int other;               /* another number of threads, with which the best changes are also timed; 0: none */
} GraphAsk;
struct GraphChoices {      /* the result */
  const Decision *chosen;  /* n decisions that replace decisions of the cost model */
  size_t n;
  int sides;               /* number of builds that tried decisions */
  int tried, kept;         /* tried: number of decisions that could be changed; kept: number of decisions that stay changed */
  double with, without;    /* if `kept` is not 0: ms of a run with all changed decisions, and ms of a run without them, on
                              GraphAsk.threads threads */
  Side side;               /* the side (sides.h) built with `chosen`; zeros: there is none */
  const Plan *plan;        /* the plan of `side`; NULL: there is no side */
};
int graph_choices(Ctx *c, const GraphAsk *ask, GraphChoices *out); /* returns an exit code */
#endif

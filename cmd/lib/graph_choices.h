/* SPDX-License-Identifier: MIT */
/* graph_choices.h: builds a model several times, each time with other decisions of passes, and times each of these models. */
#ifndef TGC_GRAPH_CHOICES_H
#define TGC_GRAPH_CHOICES_H
#include "sides.h"

typedef struct GraphAsk {  /* the request */
  Races *r;                /* common data of all comparisons (sides.h) */
  Store *store;            /* the tuner's store. Decisions in the store are taken and not tried again; new decisions are added */
  Place place;             /* the place (tune.h) for which the store keeps these decisions */
  double end;              /* the time at which building and measuring must end, in ms by clock_ms */
  int threads;             /* number of threads that run the model */
  int other;               /* another number of threads, with which the changes are timed as well; 0: none */
} GraphAsk;
struct GraphChoices {      /* the result */
  const Decision *chosen;  /* n decisions that replace those of the cost model */
  size_t n;
  int sides;               /* number of models that were built to try decisions */
  int tried, kept;         /* tried: number of decisions that could be changed; kept: number of decisions that stay changed */
  double with, without;    /* if `kept` is not 0: ms of a run with all of the best changes, and without changes, on
                              GraphAsk.threads threads */
  Side side;               /* the model built with `chosen`; zeros: this model was not built */
  const Plan *plan;        /* the plan of `side` */
};
int graph_choices(Ctx *c, const GraphAsk *ask, GraphChoices *out); /* returns an exit code */
#endif

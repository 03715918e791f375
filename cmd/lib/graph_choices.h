/* SPDX-License-Identifier: MIT */
/* graph_choices.h: tries other decisions of passes, and times each in the whole model. */
#ifndef TGC_GRAPH_CHOICES_H
#define TGC_GRAPH_CHOICES_H
#include "sides.h"

typedef struct GraphAsk {
  Races *r;
  Store *store;
  Place place;             /* the place of the decisions in the store */
  double end;              /* the time, by clock_ms, at which building and measuring must end */
  int threads, other;      /* other: another number of threads that users may have; 0: none */
} GraphAsk;
struct GraphChoices {
  const Decision *chosen;  /* decisions that differ from the cost model's */
  size_t n;
  int sides, tried, kept;  /* models built with changed decisions; decisions that they change; changes that were kept */
  double with, without;    /* ms of a run, with the best changes together and without them */
  Side side;               /* the model built with `chosen`; empty: it was not built */
  const Plan *plan;        /* the plan of `side` */
};
int graph_choices(Ctx *c, const GraphAsk *ask, GraphChoices *out); /* an exit code */
#endif

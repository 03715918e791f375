/* SPDX-License-Identifier: MIT */
/* graph_choices.h: decisions of passes that are measured in whole models. */
#ifndef TGC_GRAPH_CHOICES_H
#define TGC_GRAPH_CHOICES_H
#include "sides.h"

typedef struct GraphAsk {
  Races *r;
  Store *store;
  Place place;             /* under which decisions are stored */
  double end;              /* the time, by clock_ms, at which building and measuring must end */
  int threads, other;      /* other: another number of threads that users may have; 0: none */
} GraphAsk;
struct GraphChoices {
  const Decision *chosen;  /* decisions other than those of the cost model */
  size_t n;
  int sides, tried, kept;  /* models built with other decisions; decisions that these change; changes that stayed */
  double with, without;    /* ms of a run, with the changes and without */
  Side side;               /* the model with the decisions, built; empty: it was not built */
  const Plan *plan;        /* its plan */
};
int graph_choices(Ctx *c, const GraphAsk *ask, GraphChoices *out); /* an exit code */
#endif

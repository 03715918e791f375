/* SPDX-License-Identifier: MIT */
/* plan_text.h: all decisions of the passes as text, and back: dumps that --stop-after writes and --start-after reads. */
#ifndef TGC_PLAN_TEXT_H
#define TGC_PLAN_TEXT_H
#include "driver.h"
#include "schedule/sched.h"

#define MOST_ELEMS ((int64_t)1 << 50) /* elements; limit of a buffer or tensor in a dump */

/* A dump after reading. Everything lives in g->ir->ctx->model. */
struct Resumed {
  const char *after;       /* last pass that ran */
  int pass;                /* index of this pass in passes.h */
  Graph *g;
  Plan *plan;              /* without the fields that options fill in */
  Place *place;            /* by Ref of the graph; NULL: the dump was written before materialize */
  uint32_t nplace;
  VEC(Tensor) in, exact;   /* a sample; empty: none */
  VEC(Setting) settings;   /* command-line options that the passes followed */
};

void plan_print(const Sched *s, const Plan *p, int pass, const CompileOptions *o, Sb *out);
/* The graph alone, annotated with decisions about its values: text for people, which tgc also reads as a model */
void plan_print_graph(const Sched *s, const Plan *p, Sb *out);
/* plan_check.c: checks that span several lines of a dump. Runs when the target is known. Fails with EX_BADMODEL. */
void plan_check(const Sched *s, const Plan *p, int pass);
#endif

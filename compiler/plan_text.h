/* SPDX-License-Identifier: MIT */
/* plan_text.h: dumps, which hold all decisions of the passes as text: --stop-after writes them and --start-after reads them. */
#ifndef TGC_PLAN_TEXT_H
#define TGC_PLAN_TEXT_H
#include "driver.h"
#include "schedule/sched.h"

#define MOST_ELEMS ((int64_t)1 << 50) /* most elements of a buffer or a tensor in a dump */

/* A dump after reading. Everything lives in g->ir->ctx->model. */
struct Resumed {
  const char *after;       /* last pass that ran */
  int pass;                /* index of this pass in passes.h */
  Graph *g;
  Plan *plan;              /* without the fields that come from CompileOptions */
  Place *place;            /* by Ref of the graph; NULL: the dump was written before materialize */
  uint32_t nplace;
  VEC(Tensor) in, exact;   /* inputs and exact outputs of a sample; empty: none */
  VEC(Setting) settings;   /* command-line options that the passes followed */
};

/* Appends the dump after pass number `pass` of passes.h */
void plan_print(const Sched *s, const Plan *p, int pass, const CompileOptions *o, Sb *out);
/* Appends the graph alone, with decisions about its values as attributes: text for people, which tgc also reads as a model */
void plan_print_graph(const Sched *s, const Plan *p, Sb *out);
/* plan_check.c: checks what depends on several lines of a dump. Call it when the target is known. Fails with EX_BADMODEL. */
void plan_check(const Sched *s, const Plan *p, int pass);
#endif

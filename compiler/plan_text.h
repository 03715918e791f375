/* plan_text.h: what passes have decided so far, as text and back: the dumps that --stop-after writes and --start-after reads. */
#ifndef TGC_PLAN_TEXT_H
#define TGC_PLAN_TEXT_H
#include "driver.h"
#include "schedule/sched.h"

#define MOST_ELEMS ((int64_t)1 << 50) /* of a buffer or a tensor in a dump */

/* A dump, read. Everything lives in g->ir->ctx->model. */
struct Resumed {
  const char *after;       /* the last pass that ran */
  int pass;                /* its place in passes.h */
  Graph *g;
  Plan *plan;              /* without what the options say */
  Place *place;            /* by Ref of the graph; NULL: the pass stands before materialize */
  uint32_t nplace;
  VEC(Tensor) in, exact;   /* a sample; empty: there is none */
  VEC(Setting) settings;   /* options of the command line that the passes followed */
};

void plan_print(const Sched *s, const Plan *p, int pass, const CompileOptions *o, Sb *out);
/* The graph alone, with what passes decided about its values: text for people, and a model without that */
void plan_print_graph(const Sched *s, const Plan *p, Sb *out);
/* plan_check.c: what the reader of the text cannot judge line by line; fails with EX_BADMODEL. After the target is known. */
void plan_check(const Sched *s, const Plan *p, int pass);
#endif

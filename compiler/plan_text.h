/* SPDX-License-Identifier: MIT */
/* plan_text.h: writes dumps, and describes a dump that plan_read (driver.h) has read. A dump is the state of a compilation as
 * text. The option --stop-after writes a dump, and the option --start-after reads a dump. */
#ifndef TGC_PLAN_TEXT_H
#define TGC_PLAN_TEXT_H
#include "driver.h"
#include "schedule/sched.h"

#define MOST_ELEMS ((int64_t)1 << 50) /* most elements of a buffer or a tensor in a dump */

/* The contents of a dump that was read, allocated in the arena Ctx.model */
struct Resumed {
  const char *after;       /* name of the last pass or step that ran */
  int pass;                /* number of this pass or step in passes.h */
  Graph *g;
  Plan *plan;              /* without the fields that come from CompileOptions */
  Place *place;            /* places (sched.h) of nplace nodes, by Ref; NULL: the dump was written before the pass materialize */
  uint32_t nplace;
  VEC(Tensor) in, exact;   /* inputs and exact outputs of a sample; empty: there is no sample */
  VEC(Setting) settings;   /* command-line options that the passes followed */
};

/* Appends the dump of the state after pass or step number `pass` of passes.h */
void plan_print(const Sched *s, const Plan *p, int pass, const CompileOptions *o, Sb *out);
/* Appends only the graph, with decisions about its nodes as attributes. tgc can read this text as a model, too. */
void plan_print_graph(const Sched *s, const Plan *p, Sb *out);
/* plan_check.c: checks the rules that concern several lines of a dump. Fails with EX_BADMODEL if the dump breaks a rule. p->in
 * must be set. pass: number of the last pass or step that ran */
void plan_check(const Sched *s, const Plan *p, int pass);
#endif

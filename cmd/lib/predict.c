/* SPDX-License-Identifier: MIT */
/* predict.c: the time that the cost model predicts for each kernel on one core. The facts are those that costs are for, else
 * those that rules assume for the target. */
#include "../cmd.h"
#include "../../compiler/lower/lower.h"

const CpuFacts *predict_facts(Ctx *c, const Target *t) {
  return cpu_facts_of(t, ARENA_NEW(&c->model, CpuFacts, 1));
}

const ProgramTime *predict_ms(Ctx *c, const Plan *p) {
  const Target *t = p->in->target;
  if (t->dev || t->variants) fail(c, EX_USAGE_, "--predict is for one CPU, and --isa '%s' is not", t->isa);
  const CpuFacts *f = predict_facts(c, t);
  ProgramTime *ms = ARENA_NEW(&c->model, ProgramTime, p->kernels.n + 1);
  const double cycle = 1e-6 / f->at[FACT_CLOCK];
  plan_time(p, f, ms);
  for (size_t k = 0; k < p->kernels.n; k++) {
    ms[k].issue *= cycle;
    ms[k].memory *= cycle;
    ms[k].total *= cycle;
  }
  return ms;
}

json_t *predicted_json(const ProgramTime *ms) {
  return json_pack("{s:f, s:f, s:f}", "ms", ms->total, "issue_ms", ms->issue, "memory_ms", ms->memory);
}

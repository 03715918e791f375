/* SPDX-License-Identifier: MIT */
/* driver.h: the tables of passes and steps, and functions that read dumps. */
#ifndef TGC_DRIVER_H
#define TGC_DRIVER_H
#include "ir/refmap.h"
#include "schedule/schedule.h"

/* ---- steps.c: the steps, which work on kernels. nest/steps.h has a row for each step ---- */
enum {
#define STEP(letter, name, scope, kinds, level, needs, gives, gloss) STEP_##name,
#include "nest/steps.h"
#undef STEP
  STEP_COUNT
};
typedef enum { SCOPE_NEST, SCOPE_KERNEL, SCOPE_PLAN } Scope; /* a step works on each nest, on each kernel, or on the whole plan */
/* The targets that a step serves: all targets, CPUs only, or only devices that run many threads (target/device.h) */
typedef enum { KIND_ANY, KIND_CPU, KIND_DEVICE } TargetKind;
typedef struct KernelStep {
  char letter;             /* names the step for the option -d */
  const char *name;
  void (*run)(Plan *p, Kernel *k); /* k: NULL for SCOPE_PLAN */
  Scope scope;
  TargetKind kind;
  Level level;             /* level of the text printed after the step */
  const char *needs, *gives, *gloss; /* for people. needs: what must exist before the step; gives: what the step adds; gloss: what
                              the step does */
} KernelStep;
extern const KernelStep step_table[STEP_COUNT];
extern const char *const scope_name[], *const kind_name[];
/* If step s serves the plan's target, runs s on all kernels, or on the plan. If p is a variant, kernels that the variant lacks
 * are skipped. A step of SCOPE_NEST also skips kernels that get the nests of another kernel (Kernel.as). begin, end: shares of
 * the compilation, from 0 to 1, that are done before and after the step, for ctx_progress */
void step_run(Plan *p, const KernelStep *s, double begin, double end);
bool step_serves(const Plan *p, const KernelStep *s); /* whether the step serves the plan's target */
void kernel_lower(Plan *p, int k);          /* turns Kernel.sink of kernel k into Kernel.prog: runs all steps on this kernel
                                               alone, except for steps of SCOPE_PLAN */
void steps_end(Plan *p);                    /* frees data that steps hand to each other */
/* Checks kernel k after step s has run. Calls ir_wrong if a nest of k is malformed, or if opts of a nest name a range that the
 * nest lacks. Also calls ir_wrong if a rest does not follow the nest that leaves it. known: the nests verified so far. Their
 * nodes are not checked again; newly verified nests are added */
void step_verify(const Plan *p, const KernelStep *s, const Kernel *k, RefMap *known);
void step_print(const Plan *p, int k, Sb *out); /* prints kernel k's nests, and the opts that no step has applied yet */

typedef struct PassInfo {
  char letter;            /* names the pass or step for the option -d */
  const char *name, *gloss;
  Level level;            /* level of the text printed after the pass or step */
  const KernelStep *step; /* the row of step_table; NULL: this is a pass */
} PassInfo;
/* passes.c: a list of all passes and steps, in the order in which they run. Passes and steps have numbers from 0 on */
int pass_count(void);             /* number of passes and steps together */
PassInfo pass_info(int i);        /* facts about pass or step number i */
int pass_named(const char *name); /* number of the pass or step with this name; pass_count() if there is none */

/* plan_text.c: reads the n bytes of a dump that --stop-after wrote. The result is for CompileOptions.resumed. path: path of the
 * dump, for messages. hooks: callbacks for references in the dump (ir.h). If the dump is malformed, fails with EX_BADMODEL and a
 * message that shows line and column */
Resumed *plan_read(Ctx *c, const char *text, size_t n, const char *path, const TextHooks *hooks);
const char *resumed_after(const Resumed *r);                /* last pass or step that ran before the dump was written */
const char *resumed_setting(const Resumed *r, const char *name); /* value of an option when the dump was written; NULL: the
                                                                    option was not given */
const Setting *resumed_settings(const Resumed *r, size_t *n); /* all *n options that were given when the dump was written */
Graph *resumed_graph(const Resumed *r);
bool resumed_sample(const Resumed *r, Sample *s);           /* fills in *s; false: the dump has no sample */
#endif

/* SPDX-License-Identifier: MIT */
/* driver.h: the table of passes and steps, for the command line, and functions that read dumps. */
#ifndef TGC_DRIVER_H
#define TGC_DRIVER_H
#include "ir/refmap.h"
#include "schedule/schedule.h"

/* ---- steps.c: the steps of kernels; their rows are in nest/steps.h ---- */
enum {
#define STEP(letter, name, scope, kinds, level, needs, gives, gloss) STEP_##name,
#include "nest/steps.h"
#undef STEP
  STEP_COUNT
};
typedef enum { SCOPE_NEST, SCOPE_KERNEL, SCOPE_PLAN } Scope; /* a step works on each nest, each kernel, or the whole plan */
/* Targets that a step serves: all, CPUs, or devices that run many threads (target/device.h) */
typedef enum { KIND_ANY, KIND_CPU, KIND_DEVICE } TargetKind;
typedef struct KernelStep {
  char letter;             /* names the step for the option -d */
  const char *name;
  void (*run)(Plan *p, Kernel *k); /* k: NULL for SCOPE_PLAN */
  Scope scope;
  TargetKind kind;
  Level level;             /* level of the text printed after the step */
  const char *needs, *gives, *gloss; /* for readers: what must be there before, what the step adds, what it does */
} KernelStep;
extern const KernelStep step_table[STEP_COUNT];
extern const char *const scope_name[], *const kind_name[];
/* Runs one step on all kernels, or on the plan, if the step serves the plan's target. Kernels that the variant lacks are skipped.
 * A step for nests also skips kernels that get the nests of another kernel (Kernel.as). begin, end: shares of the compilation,
 * from 0 to 1, that are done before and after the step, for ctx_progress */
void step_run(Plan *p, const KernelStep *s, double begin, double end);
bool step_serves(const Plan *p, const KernelStep *s); /* whether the step serves the plan's target */
void kernel_lower(Plan *p, int k);          /* runs all steps but those of SCOPE_PLAN on kernel k alone: from Kernel.sink to
                                               Kernel.prog */
void steps_end(Plan *p);                    /* frees data that steps hand to each other */
/* Calls ir_wrong if a nest of k is malformed, or if opts of a nest name a range that the nest lacks. known: the nests verified
 * before, which are skipped */
void step_verify(const Plan *p, const KernelStep *s, const Kernel *k, RefMap *known);
void step_print(const Plan *p, int k, Sb *out); /* prints kernel k's nests and the opts still to be applied */

typedef struct PassInfo {
  char letter;            /* names the pass or step for the option -d */
  const char *name, *gloss;
  Level level;            /* level of the text printed after the pass or step */
  const KernelStep *step; /* NULL: a pass */
} PassInfo;
/* passes.c */
int pass_count(void);
PassInfo pass_info(int i);
int pass_named(const char *name); /* number of the pass or step; pass_count(): there is none with this name */

/* plan_text.c: reads a dump that --stop-after wrote, for CompileOptions.resumed. Fails with EX_BADMODEL, line, column and
 * caret. */
Resumed *plan_read(Ctx *c, const char *text, size_t n, const char *path, const TextHooks *hooks);
const char *resumed_after(const Resumed *r);                /* last pass that ran before the dump was written */
const char *resumed_setting(const Resumed *r, const char *name); /* value of an option when the dump was written; NULL: the
                                                                    option was not given */
const Setting *resumed_settings(const Resumed *r, size_t *n); /* all n options given when the dump was written */
Graph *resumed_graph(const Resumed *r);
bool resumed_sample(const Resumed *r, Sample *s);           /* false: the dump has no sample */
#endif

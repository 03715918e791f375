/* driver.h: the table of passes and steps as the command line sees it, and dumps, from which compile_graph goes on. */
#ifndef TGC_DRIVER_H
#define TGC_DRIVER_H
#include "kernel/kernel.h"

typedef struct PassInfo {
  char letter;
  const char *name, *gloss;
  Level level;            /* of the text after it */
  const KernelStep *step; /* NULL: it is a pass */
} PassInfo;
/* passes.c */
int pass_count(void);
PassInfo pass_info(int i);
int pass_named(const char *name); /* pass_count(): there is none of that name */

/* plan_text.c: a dump that --stop-after wrote, for CompileOptions.resumed. Fails with EX_BADMODEL, line, column and caret. */
Resumed *plan_read(Ctx *c, const char *text, size_t n, const char *path, const TextHooks *hooks);
const char *resumed_after(const Resumed *r);                /* the last pass that ran */
const char *resumed_setting(const Resumed *r, const char *name); /* the value of an option then; NULL: it was not given */
const Setting *resumed_settings(const Resumed *r, size_t *n);
Graph *resumed_graph(const Resumed *r);
bool resumed_sample(const Resumed *r, Sample *s);           /* false: it has none */
#endif

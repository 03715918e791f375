/* SPDX-License-Identifier: MIT */
/* passes.c: the rows of passes.h, with the rows of steps.h at their place, by number and by name. */
#include "driver.h"
#include <string.h>

static const PassInfo rows[] = {
#define PASS(letter, name, run, level, gloss) { letter, #name, gloss, level, NULL },
#define STEP(letter, name, scope, kind, level, needs, gives, gloss) { letter, #name, gloss, level, &step_table[STEP_##name] },
#include "passes.h"
#undef PASS
#undef STEP
};

int pass_count(void) { return (int)(sizeof rows / sizeof *rows); }

PassInfo pass_info(int i) { return rows[i]; }

int pass_named(const char *name) {
  int i = 0;
  while (i < pass_count() && strcmp(rows[i].name, name)) i++;
  return i;
}

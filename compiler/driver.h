/* driver.h: the table of passes and steps as the command line sees it. */
#ifndef TGC_DRIVER_H
#define TGC_DRIVER_H
#include "kernel/kernel.h"

typedef struct PassInfo {
  char letter;
  const char *name, *gloss;
  Level level;            /* of the text after it */
  const KernelStep *step; /* NULL: it is a pass */
} PassInfo;
int pass_count(void);
PassInfo pass_info(int i);
#endif

/* driver.h: the pass table as the command line sees it. */
#ifndef TGC_DRIVER_H
#define TGC_DRIVER_H
#include "schedule/schedule.h"
typedef struct PassInfo { char letter; const char *name, *gloss; } PassInfo;
int pass_count(void);
PassInfo pass_info(int i);
#endif

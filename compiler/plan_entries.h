/* SPDX-License-Identifier: MIT */
/* plan_entries.h: joins the plans of several entries into one plan. */
#ifndef TGC_PLAN_ENTRIES_H
#define TGC_PLAN_ENTRIES_H
#include "schedule/schedule.h"
int *plan_order(const Graph *g); /* returns the numbers of the entries, in descending order of work; allocated in the model's
                                    arena */
/* q is the plan of entry number e of p's graph. Appends the kernels, packed weights and layouts of q to p. The buffers with the
 * numbers from first_buffer on must be those of q. The caller makes p's memory plan later. */
void plan_join(Plan *p, const Plan *q, int e, size_t first_buffer);
void plan_sort(Plan *p); /* puts the kernels into the order of the entries; to be called after the last plan_join */
#endif
